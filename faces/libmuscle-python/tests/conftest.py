"""Two environments for one program: one with the face, and the tests' own one, which has MUSCLE 3."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from environment import FACE, make_environment

__all__ = ["FACE", "PROGRAMS", "WATCHDOG_S", "call", "records"]
PROGRAMS = Path(__file__).parent / "programs"
WATCHDOG_S = 120


@pytest.fixture(scope="session")
def face(tmp_path_factory):
    """The interpreter of an environment that has Ligament, yMMSL and the face, and no MUSCLE 3."""
    return make_environment(tmp_path_factory.mktemp("face") / "venv")


@pytest.fixture(scope="session")
def peer():
    """The interpreter of an environment that has MUSCLE 3."""
    try:
        metadata.distribution("muscle3")
    except metadata.PackageNotFoundError:
        pytest.skip("muscle3 is not installed")
    return Path(sys.executable)


def call(interpreter, *words, cwd, status=0, **environment):
    """Runs Python to its end, and returns the process; its home is the folder where it works."""
    variables = {**os.environ, "HOME": str(cwd), "PYTHONWARNINGS": "ignore", **environment}
    variables.pop("PYTHONPATH", None)
    done = subprocess.run([interpreter, *map(str, words)], cwd=cwd, env=variables, capture_output=True,
                          text=True, timeout=WATCHDOG_S)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def records(folder):
    """The lines that each instance has written, by its name."""
    return {path.stem: path.read_text().splitlines() for path in sorted(folder.glob("*.record"))}
