"""A run over machines that ssh reaches goes on from its last checkpoint, without the machine that was lost."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import call, until

CODE = """
import time
from ligament import Instance, InstanceFlags, Message, Operator
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]}, InstanceFlags.USES_CHECKPOINT_API)
while instance.reuse_instance():
    number, value = instance.load_snapshot().data if instance.resuming() else [0, 1.0]
    instance.should_init()
    while number < 40:
        instance.send("out", Message(float(number), None, value))
        value = 0.5 * value + 0.25 * instance.receive("in").data
        number += 1
        time.sleep(instance.get_setting("pause", "float"))
        if instance.should_save_snapshot(float(number)):
            instance.save_snapshot(Message(float(number), None, [number, value]))
    if instance.should_save_final_snapshot():
        instance.save_final_snapshot(Message(float(number), None, [number, value]))
print(repr(value))
"""

MODEL = """ymmsl_version: v0.2
models:
  two:
    components:
      fast: {{ports: {{o_i: out, s: in}}, implementation: code}}
      slow: {{ports: {{o_i: out, s: in}}, implementation: code}}
    conduits: {{fast.out: slow.in, slow.out: fast.in}}
programs: {{code: {{executable: {python}, args: {code}}}}}
settings: {{pause: 0.0}}
checkpoints: {{simulation_time: [{{every: 2}}]}}
"""


def output(run, instance):
    return Path(run, "instances", instance, "output.log").read_text()


@pytest.mark.parametrize("places, left", [([], ["east"]), (["--on", "west=slow"], ["east", "west"])],
                         ids=["anywhere", "fixed"])
def test_a_lost_machine_is_left_out_if_the_model_fits_on_the_others(site, tmp_path, places, left):
    code = tmp_path / "code.py"
    code.write_text(CODE)
    (tmp_path / "two.ymmsl").write_text(MODEL.format(python=sys.executable, code=code))
    plain = tmp_path / "plain"
    call("ligament", "run", "two.ymmsl", "--run-dir=plain", cwd=tmp_path, check=0)
    scratch = tmp_path / "scratch"
    site.write_text(site.read_text() + f"scratch: {scratch}\n")
    run = subprocess.Popen(
        ["ligament", "run", "two.ymmsl", "--hosts=east:2,west:2", f"--site={site}", "--run-dir=r",
         "--restarts=1", "-s", "pause=0.1", *places],
        cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until(lambda: (tmp_path / "r/checkpoints/2/checkpoint.json").exists() or run.poll() is not None,
          "the second checkpoint")
    status = json.loads(call("ligament", "status", "--json", tmp_path / "r", cwd=tmp_path, check=0).stdout)
    os.kill(status["domains"][2]["pid"], signal.SIGKILL)
    said = run.communicate(timeout=120)[0]
    assert run.returncode == 0, said
    first, second = (json.loads((tmp_path / name / "run.json").read_text()) for name in ("r", "r-restart1"))
    assert [one["name"] for one in first["domains"] if one.get("lost")] == ["west"], said
    assert [one["name"] for one in second["domains"]][1:] == left, said
    assert ("goes on without west" in said) == (left == ["east"]), said
    for instance in ("fast", "slow"):
        assert output(tmp_path / "r-restart1", instance) == output(plain, instance)
