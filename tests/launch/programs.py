"""The programs and the model of these tests: a source that counts, and workers that add one and print their
machine."""

SOURCE = """
import os, time
from ligament import Instance, Message, Operator
instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["back[]"]})
while instance.reuse_instance():
    slots = instance.get_port_length("out")
    for step in range(instance.get_setting("steps")):
        for slot in range(slots):
            instance.send("out", Message(float(step), data=step), slot)
        for slot in range(slots):
            assert instance.receive("back", slot).data == step + 1
        time.sleep(instance.get_setting("pause"))
print("all came back")
"""

WORKER = """
import os
from ligament import Instance, Message, Operator
print("runs on", os.environ.get("SLURMD_NODENAME") or os.environ.get("AT", "?"), flush=True)
instance = Instance({Operator.F_INIT: ["into"], Operator.O_F: ["final"]})
while instance.reuse_instance():
    message = instance.receive("into")
    if instance.get_setting("fail_at") == message.data:
        raise SystemExit("this worker was told to fail")
    instance.send("final", Message(message.timestamp, data=message.data + 1))
"""

MODEL = """ymmsl_version: v0.2
models:
  counting:
    components:
      source: {{implementation: source, ports: {{o_i: out, s: back}}}}
      worker: {{implementation: worker, multiplicity: {workers}, ports: {{f_init: into, o_f: final}}}}
    conduits:
      source.out: worker.into
      worker.final: source.back
settings: {{steps: 20, pause: 0.0, fail_at: -1}}
programs:
  source: {{executable: python3, args: source.py}}
  worker: {{executable: python3, args: worker.py}}
"""


def write(where, workers=2):
    """Writes the model and its programs into a directory, and returns the model's path."""
    (where / "source.py").write_text(SOURCE)
    (where / "worker.py").write_text(WORKER)
    (where / "counting.ymmsl").write_text(MODEL.format(workers=workers))
    return where / "counting.ymmsl"


def output(run, instance):
    """Returns the output of an instance."""
    return (run / "instances" / instance / "output.log").read_text()
