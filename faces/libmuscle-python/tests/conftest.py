"""Two environments for one program: one with the face, and the tests' own one, which has MUSCLE 3."""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

FACE = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).parent / "programs"
WATCHDOG_S = 120


def link_packages(site, without):
    """Links everything that the tests' own environment has, apart from MUSCLE 3 and the face."""
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(without):
            (site / entry.name).symlink_to(entry)


@pytest.fixture(scope="session")
def face(tmp_path_factory):
    """The interpreter of an environment that has Ligament, yMMSL and the face, and no MUSCLE 3."""
    home = tmp_path_factory.mktemp("face") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    site = next(home.glob("lib/python*/site-packages"))
    link_packages(site, ("libmuscle", "muscle3", "ligament_libmuscle"))
    (site / "face.pth").write_text(f"{FACE}\n")
    (home / "bin/ligament").symlink_to(shutil.which("ligament", path=Path(sys.executable).parent))
    return home / "bin/python"


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
