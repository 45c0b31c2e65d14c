"""Recordings of whole runs, and their replays. One code in four languages stands in the middle of a model."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "conformance"))
programs = importlib.import_module("programs")

MACRO = """
import numpy as np
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["state"], Operator.S: ["result"]})
while instance.reuse_instance():
    field = np.arange(6.0).reshape(2, 3)
    for t in range(4):
        instance.send("state", Message(0.5 * t, 0.5 * t + 0.5 if t < 3 else None, field))
        field = field + instance.receive("result").data
"""
MICRO = """
import sys
from ligament import Instance, Message, Operator

instance = Instance({Operator.F_INIT: ["state"], Operator.O_F: ["result"]})
while instance.reuse_instance():
    state = instance.receive("state")
    field = state.data * instance.get_setting("factor", "float")
    if "changed" in sys.argv and state.timestamp == 1.0:
        field[1, 2] += 0.25
    instance.send("result", Message(state.timestamp, None, field))
"""
MODEL = """ymmsl_version: v0.1
model:
  name: two
  components:
    macro: {implementation: macro, ports: {o_i: state, s: result}}
    micro: {implementation: micro, ports: {f_init: state, o_f: result}}
  conduits:
    macro.state: micro.state
    micro.result: macro.result
settings:
  micro.factor: 0.3
implementations:
  macro: {executable: PYTHON, args: macro.py}
  micro: {executable: PROGRAM, args: ARGUMENTS}
"""


@pytest.fixture
def user(tmp_path):
    """The command `ligament` in a directory with the model above and its codes in Python."""
    (tmp_path / "macro.py").write_text(MACRO)
    (tmp_path / "micro.py").write_text(MICRO)
    (tmp_path / "tmp").mkdir()
    command = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")

    def run(*words, env=None, limit=120):
        variables = {**os.environ, "TMPDIR": run.temporary, **(env or {})}
        return subprocess.run([command, *map(str, words)], cwd=tmp_path, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=limit, env=variables)

    def model(text=MODEL, program=(sys.executable, "micro.py")):
        (tmp_path / "model.ymmsl").write_text(
            text.replace("PYTHON", sys.executable).replace("PROGRAM", json.dumps(str(program[0])))
            .replace("ARGUMENTS", json.dumps([str(word) for word in program[1:]])))

    def code(name, text):
        (tmp_path / f"{name}.py").write_text(
            "import sys\nfrom ligament import *\n" + textwrap.dedent(text))

    def record(*words, name="micro", limit=120):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        return run("run", "model.ymmsl", "--record", name, "--run-dir", "run", *words, limit=limit)

    run.temporary = str(tmp_path / "tmp")
    run.command = command
    run.path, run.model, run.code, run.record = tmp_path, model, code, record
    return run
