"""The example as on its page: NEST, NEURON and Arbor from PyPI; its spikes are compared with those of NEST
alone."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DURATION_MS = 500


@pytest.mark.slow
def test_spikes_are_those_of_nest_alone(tmp_path):
    environment = {**os.environ, "PATH": f"{ROOT}/target/release:{ROOT}/.venv/bin:{os.environ['PATH']}"}

    def run(*command, folder=HERE):
        done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=900)
        assert done.returncode == 0, done.stdout
        return done.stdout

    run("make")
    run("ligament", "run", HERE / "cortex.ymmsl", "--run-dir", tmp_path / "run", "--overcommit",
        folder=tmp_path)
    python, spikes = HERE / ".venv/bin/python", tmp_path / "run/instances/raster/workdir/spikes.csv"
    run(python, HERE / "alone.py", DURATION_MS, tmp_path / "alone.csv", folder=tmp_path)
    printed = run(python, HERE / "plot.py", spikes, tmp_path / "alone.csv", DURATION_MS,
                  tmp_path / "cortex.png")
    assert (tmp_path / "cortex.png").stat().st_size > 10_000
    assert "3642 of 3642 spikes are equal" in printed, printed
