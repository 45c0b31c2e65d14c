"""The examples that runs over several machines are compared with: what one program, without Ligament, gives for the whole
model."""

import subprocess
import sys
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Example:
    """An example whose programs are built. `model` is its file; `options` are for `ligament run`."""

    options = ()

    def __init__(self, tmp_path):
        self.folder, self.tmp_path = EXAMPLES / self.name, tmp_path
        self.model = self.folder / f"{self.name.replace('-', '_')}.ymmsl"
        subprocess.run(["make", "--no-print-directory", "-C", self.folder], check=True, stdout=subprocess.DEVNULL)

    def alone(self):
        """The arrays that one program gives, by name."""
        path = self.tmp_path / "alone.npz"
        script = f"import sys, numpy\nsave = lambda arrays: numpy.savez(sys.argv[1], **arrays)\n{self.script}"
        subprocess.run([sys.executable, "-c", script, path], cwd=self.folder, check=True)
        return dict(np.load(path))

    def check(self, run):
        """Whether a run's directory holds the same, but for rounding."""
        found = self.result(Path(run))
        for name, expected in self.alone().items():
            np.testing.assert_allclose(found[name], expected, rtol=self.near, atol=self.near, err_msg=name)


class ReactionDiffusion(Example):
    name, near = "reaction-diffusion", 1e-12
    script = ("from monolithic import read_settings, simulate\n"
              "save(dict(zip(('t', 'x', 'concentration'), simulate(read_settings('reaction_diffusion.ymmsl')))))")

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
