"""A run whose processes are asked to end from outside, one after the other, as batch systems do."""

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

MODEL = """ymmsl_version: v0.1
model:
  name: asked
  components:
    one: {{implementation: one, ports: {{o_f: out}}}}
    two: {{implementation: one, ports: {{f_init: in}}}}
  conduits: {{one.out: two.in}}
implementations:
  one: {one}
"""
PROGRAM = """
import os, time
open("pid", "w").write(str(os.getpid()))
time.sleep(600)
"""


def pid_of(directory, instance):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for file in (directory / "instances" / instance).rglob("pid"):
            if text := file.read_text():
                return int(text)
        time.sleep(0.01)
    raise AssertionError(f"{instance} did not start")


@pytest.mark.parametrize("everybody", [True, False], ids=["everybody", "one of them"])
def test_a_run_is_interrupted_if_everybody_is_asked_and_fails_if_one_instance_is(ligament, tmp_path,
                                                                                 python_program, everybody):
    directory = tmp_path / "run"
    (tmp_path / "model.ymmsl").write_text(MODEL.format(one=python_program("one", PROGRAM)))
    run = subprocess.Popen([ligament, "run", "model.ymmsl", "--run-dir", directory], cwd=tmp_path, text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    first, second = (pid_of(directory, name) for name in ("one", "two"))
    os.kill(first, signal.SIGTERM)
    if everybody:
        until = time.monotonic() + 60
        while os.path.exists(f"/proc/{first}"):  # the agent has seen its end
            assert time.monotonic() < until
            time.sleep(0.001)
        run.send_signal(signal.SIGTERM)
        with contextlib.suppress(ProcessLookupError):  # the run may have ended it already
            os.kill(second, signal.SIGTERM)
    said, _ = run.communicate(timeout=60)
    state = json.loads((directory / "run.json").read_text())["state"]
    if everybody:
        assert (run.returncode, state) == (130, "interrupted"), said
    else:
        assert (run.returncode, state) == (1, "failed"), said
        assert "one" in said and "SIGTERM" in said, said
