"""The reference for runs of the examples over several machines: the results of one program without Ligament, or
of a run on one machine."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Example:
    """An example with its built programs. `model` is its file; `options` are for `ligament run`."""

    options = ()

    def __init__(self, tmp_path):
        self.folder, self.tmp_path = EXAMPLES / self.name, tmp_path
        self.model = self.folder / f"{self.name.replace('-', '_')}.ymmsl"
        subprocess.run([EXAMPLES / "build", self.name], check=True)

    def alone(self):
        """Returns the arrays that one program computes, by name."""
        path = self.tmp_path / "alone.npz"
        script = f"import sys, numpy\nsave = lambda arrays: numpy.savez(sys.argv[1], **arrays)\n{self.script}"
        subprocess.run([sys.executable, "-c", script, path], cwd=self.folder, check=True)
        return dict(np.load(path))

    def check(self, run):
        """Returns true if the directory of a run has the same results, except for rounding."""
        found = self.result(Path(run))
        for name, expected in self.alone().items():
            np.testing.assert_allclose(found[name], expected, rtol=self.near, atol=self.near, err_msg=name)


class ReactionDiffusion(Example):
    name, near = "reaction-diffusion", 1e-12
    script = ("from monolithic import read_settings, simulate\n"
              "save(dict(zip(('t', 'x', 'concentration'), "
              "simulate(read_settings('reaction_diffusion.ymmsl')))))")

    def result(self, run):
        [one] = run.rglob("concentration.npy")
        return {name: np.load(one.with_name(f"{name}.npy")) for name in ("t", "x", "concentration")}


class CanalNetwork(Example):
    name, near = "canal-network", 1e-10
    options = ("-s", "t_max=21600.0")
    script = ("from network_alone import read_settings, simulate\n"
              "save(simulate({**read_settings('canal_network.ymmsl'), 't_max': 21600.0}))")

    def result(self, run):
        [one] = run.rglob("canal_network.npz")
        return dict(np.load(one))


class Restenosis(Example):
    """Some steps of the example with Java, MPI and OpenMP. There is no program for the whole, so the reference
    is a run on one machine, which is made once."""

    name, near = "restenosis", 1e-9
    options = ("-s", "t_max=5.0", "-s", "flow.steps_first=40", "-s", "flow.steps=20")
    # Open MPI refuses root unless it is told twice; CI is root.
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def __init__(self, tmp_path, ligament):
        if subprocess.run([EXAMPLES / self.name / "java", "--version"], capture_output=True).returncode != 0:
            pytest.skip("there is no JDK of version 22 or newer")
        super().__init__(tmp_path)
        self.ligament = ligament

    @functools.cache
    def alone(self):
        words = [self.ligament, "run", self.model, "--run-dir", self.tmp_path / "alone", "-q", *self.options]
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                       **self.environment}
        subprocess.run(words, check=True, timeout=120, env=environment)
        return self.result(self.tmp_path / "alone")

    def result(self, run):
        [one] = run.rglob("restenosis.npz")
        found = dict(np.load(one))
        assert len(found["time"]) == 3
        return found
