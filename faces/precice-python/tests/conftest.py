"""The tests import the package `precice` from this folder; nothing is installed."""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PATHS = [str(HERE.parent), str(HERE), str(ROOT / "examples/oscillator")]
sys.path[:0] = PATHS


class Outcome:
    """A run that is over."""

    def __init__(self, status, text, directory):
        self.status, self.text, self.directory = status, text, directory

    def said(self, instance):
        """The last line of an instance."""
        return (self.directory / "instances" / instance / "output.log").read_text().strip().splitlines()[-1]


@pytest.fixture
def coupled(tmp_path):
    """Converts the text of a configuration, and runs it with a command for each participant."""
    from precice.convert import main

    runs = (tmp_path / f"run{number}" for number in itertools.count())

    def coupled(text, samples=1, **programs):
        ligament = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
        assert ligament, "there is no command `ligament`; run `make build` first"
        configuration, model = tmp_path / "precice-config.xml", tmp_path / "model.ymmsl"
        configuration.write_text(text)
        words = [word for name, command in programs.items()
                 for word in ("--program", f"{name.replace('_', '-')}={command}")]
        assert main([str(configuration), "-o", str(model), "--samples", str(samples), *words]) == 0
        directory = next(runs)
        environment = {**os.environ, "PYTHONPATH": ":".join(PATHS)}
        done = subprocess.run([ligament, "run", str(model), "--run-dir", str(directory), "--overcommit"],
                              cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        return Outcome(done.returncode, done.stdout, directory)

    return coupled
