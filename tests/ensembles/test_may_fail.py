"""An instance that may fail, and that goes on after it has reported its failure. The messages for it stay
unchanged until it has ended, and the run does not wait for it without end."""

import json
import subprocess

MODEL = """ymmsl_version: v0.1
model:
  name: goes_on
  components:
    macro: {implementation: macro, ports: {o_i: field}}
    micro: {implementation: micro, ports: {f_init: field}}
  conduits: {macro.field: micro.field}
implementations:
  macro: {executable: python3, args: macro.py}
  micro: {executable: python3, args: micro.py}
ligament: {may_fail: [micro]}
"""
MACRO = """
import numpy as np
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["field"]})
while instance.reuse_instance():
    for step in range(200):
        instance.send("field", Message(float(step), data=np.full(200_000, float(step))))
    print("all are sent")
"""
# The component checks the message that it received as long as it lives, and reports a change.
MICRO = """
import time
from ligament import Instance, Operator

instance = Instance({Operator.F_INIT: ["field"]})
instance.reuse_instance()
field = instance.receive("field").data
instance.error_shutdown("it diverges")
until = time.monotonic() + LIVES
while time.monotonic() < until:
    if (field != 0.0).any():
        print("what was sent has changed", flush=True)
        break
    time.sleep(0.001)
print("it ends", flush=True)
"""


def run(ligament, tmp_path, lives):
    for name, text in {"model.ymmsl": MODEL, "macro.py": MACRO,
                       "micro.py": MICRO.replace("LIVES", str(lives))}.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run([ligament, "run", "model.ymmsl", "--run-dir", "run"], cwd=tmp_path,
                          stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    record = json.loads((tmp_path / "run/run.json").read_text())
    said = {name: (tmp_path / "run/instances" / name / "output.log").read_text() for name in ("macro", "micro")}
    assert done.returncode == 0 and record["state"] == "done", done.stdout
    assert "it diverges" in (tmp_path / "run/manager.log").read_text()
    # The other instance goes on as if the message had been received.
    assert "all are sent" in said["macro"]
    return said["micro"]


def test_what_one_was_sent_that_has_failed_stays_as_it_is_until_it_is_gone(ligament, tmp_path):
    said = run(ligament, tmp_path, 1.0)
    assert "has changed" not in said and "it ends" in said


def test_one_that_has_failed_and_does_not_end_is_ended(ligament, tmp_path):
    said = run(ligament, tmp_path, 3600.0)
    assert "has changed" not in said and "it ends" not in said
