"""The echo in blocks equals the mathematics in one program bit for bit, and returns at the right time."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from echo_alone import simulate

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHAPE, STEPS = (30, 16, 14), 60
SETTINGS = {"time_step": 4.0e-5, "amplitude": 10.0, "frequency": 1500.0, "radius": 0.2}
PATH = f"{ROOT / 'target/release'}:{ROOT / '.venv/bin'}:{os.environ['PATH']}"


@pytest.fixture(scope="session")
def modules():
    subprocess.run([HERE.parent / "build", HERE.name], check=True)


def run(directory, model):
    """Runs a model beside the example's files. Returns its run directory."""
    file = HERE / f"{directory.name}.tmp.ymmsl"
    file.write_text(model)
    try:
        command = ["ligament", "run", file, "--run-dir", directory / "run", "--overcommit"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300,
                              env={**os.environ, "PATH": PATH})
    finally:
        file.unlink()
    assert done.returncode == 0, done.stdout
    return directory / "run"


def small(blocks, arguments="args: echo.py", more=""):
    """The example's model with a small room."""
    text = (HERE / "echo.ymmsl").read_text().replace("args: echo.py", arguments)
    text = re.sub(r"shape: .*?blocks: \[.*?\]", f"shape: {list(SHAPE)}, blocks: {list(blocks)}", text)
    text = text.replace("ligament:\n", f"ligament:\n{more}")
    for name, value in {**SETTINGS, "steps": STEPS}.items():
        text = re.sub(rf"room\.{name}: \S+", f"room.{name}: {value!r}", text)
    return text


def heard(directory):
    """The microphone's signal: time, pressure, and the largest pressure in the room."""
    return np.loadtxt(next(directory.rglob("microphone.txt"))).T


RANKS = {"more": "  ranks: {room: 4}\n"}


@pytest.mark.parametrize(("blocks", "more"), [
    ((1, 1, 1), {}),
    ((2, 1, 1), {}),
    ((2, 2, 1), {}),
    ((2, 1, 2), RANKS),
])
def test_the_echo_in_blocks_is_that_of_one_program(modules, tmp_path, blocks, more):
    times, signal, largest = heard(run(tmp_path, small(blocks, **more)))
    u, expected = simulate(SHAPE, STEPS, SETTINGS)
    assert len(times) == STEPS and signal.tobytes() == expected.tobytes()
    assert largest[-1] == np.abs(u).max() > 0.0


def test_the_readme_has_the_plan(modules):
    expected = re.search(r"```console\n\$ .*?\n(.*?)```", (HERE / "README.md").read_text(), re.S).group(1)
    done = subprocess.run(["python3", "echo.py", "--plan"], cwd=HERE, capture_output=True, text=True,
                          timeout=60, env={**os.environ, "PATH": PATH})
    assert done.stdout.startswith(expected.partition("…")[0]), done.stdout + done.stderr


def test_no_module_reads_or_writes_what_it_does_not_declare(modules, tmp_path):
    _, signal, _ = heard(run(tmp_path, small((2, 2, 1), "args: [echo.py, --poison]")))
    assert signal.tobytes() == simulate(SHAPE, STEPS, SETTINGS)[1].tobytes()
