"""The same codes and rules under MUSCLE 3: each instance saves in the same steps."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CALLS, implementations
from slow_cases import slow

RULES = {
    "every": "{simulation_time: [{every: 2.5}]}",
    "several": "{at_end: true, simulation_time: [{every: 2.5}, {at: [3.3, 7.0]}]}",
    "a range": "{at_end: true, simulation_time: [{every: 3, start: 2, stop: 9}]}",
}


def described(model):
    """The model with the descriptions that MUSCLE 3 asks for, and with its library."""
    model = model.replace("ports: {", "description: x\n        ports: {")
    model = model.replace("    components:", "    description: x\n    components:")
    model = model.replace("{executable: ", "{description: x, env: {LIBRARY: libmuscle}, executable: ")
    return model + "resources: {calls.macro: {threads: 1}, calls.micro: {threads: 1}}\n"


@pytest.mark.parametrize("name", ["several", *slow("every", "a range")])
def test_muscle_3_saves_in_the_same_steps(start, tmp_path, name):
    pytest.importorskip("libmuscle", reason="pip install muscle3==0.11.0")
    model = CALLS.replace("MICRO", "micro") + implementations("macro", "micro")
    model += f"checkpoints: {RULES[name]}\n"
    theirs, file = tmp_path / "theirs", tmp_path / "theirs.ymmsl"
    theirs.mkdir()
    file.write_text(described(model))
    manager = Path(sys.executable).with_name("muscle_manager")
    subprocess.run([manager, "--start-all", "--run-dir", theirs, file], check=True, timeout=120, cwd=tmp_path)
    ours = start(model)
    assert ours.status == 0, ours.text
    for instance in ("macro", "micro"):
        saves = (theirs / "instances" / instance / "workdir" / "saves.txt").read_text()
        assert ours.file(instance, "saves.txt") == saves, instance
        assert len(saves.splitlines()) >= 3
