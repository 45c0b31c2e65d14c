"""Checks the flow solvers in vessels whose flow is known: python3 flow_checks.py [RUN-DIRECTORY]

It runs the model itself, once with each solver, with a geometry mapper that does not look at the cells: it
gives first a straight vessel, and then a smooth throat that is narrower by a fifth.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import ligament
import numpy as np
from ligament import Instance, Message, Operator

HERE = Path(__file__).resolve().parent
NARROWER = 0.2


def vessels():
    """Replaces the geometry mapper."""
    instance = Instance({Operator.F_INIT: ["tissue"], Operator.O_F: ["lumen"]})
    radius, nodes = instance.get_setting("radius", "float"), instance.get_setting("nodes_along", "int")
    z = (np.arange(nodes) + 0.5) / nodes
    narrowing = 0.0
    while instance.reuse_instance():
        tissue = instance.receive("tissue")
        lumen = radius * (1 - narrowing * np.sin(np.pi * z) ** 2)
        instance.send("lumen", Message(tissue.timestamp, tissue.next_timestamp, lumen))
        narrowing = NARROWER


def flow(directory, *files):
    """Returns the results of the solver of these model files for both vessels, as the recorder has them, and
    the settings."""
    model = ligament.Model.load(HERE / "restenosis.ymmsl", *files)
    steps = {"dt": 2.5, "t_max": 2.5, "flow.steps": model.settings["flow.steps_first"]}
    ligament.run(model, {"geometry": vessels}, settings=steps, run_dir=directory, show="nothing")
    return np.load(directory / "instances/recorder/workdir/restenosis.npz"), model.settings


class Check(NamedTuple):
    """A result, its expected value, and the permitted difference relative to that."""

    what: str
    found: float
    wanted: float
    tolerance: float

    @property
    def good(self):
        return abs(self.found / self.wanted - 1) <= self.tolerance

    def __str__(self):
        word = "good" if self.good else "BAD "
        return f"{word}  {self.what}: {self.found:.4g}, should be {self.wanted:.4g} within {self.tolerance:.0%}"


def checks(three, one, settings):
    """All checks of both solvers for both vessels."""
    radius, length = settings["radius"], settings["length"]
    viscosity = 1e-6 * settings["flow.density"] * settings["flow.viscosity"]  # Pa s
    flow_rate = settings["flow.flow_rate"]
    nodes = settings["nodes_across"]
    r = length / settings["nodes_along"] * (np.arange(nodes) - (nodes - 1) / 2)
    fastest = 2 * flow_rate / (np.pi * radius**2)
    parabola = fastest * np.maximum(1 - (r / radius) ** 2, 0)
    straight, throat = three["shear"]
    middle = len(throat) // 2
    poiseuille = 4 * viscosity * flow_rate / (np.pi * radius**3)
    worst = abs(three["section"][0] - parabola).max() / fastest
    yield Check("straight: the worst velocity, beside the fastest one", 1 + worst, 1, 0.02)
    yield Check("straight: wall shear [Pa]", straight.mean(), poiseuille, 0.02)
    resistance = 2 * length / (radius * flow_rate) * poiseuille
    yield Check("straight: resistance [Pa s/mm3]", three["resistance"][0], resistance, 0.02)
    rise = throat[middle] / straight[middle]
    yield Check("throat: wall shear, per the straight one's", rise, (1 - NARROWER) ** -3, 0.1)
    for vessel, a, b in zip(("straight", "throat"), three["resistance"], one["resistance"]):
        yield Check(f"{vessel}: resistance in three dimensions, per that in one", a / b, 1, 0.15)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        runs = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        three, settings = flow(runs / "three-dimensional")
        one, _ = flow(runs / "one-dimensional", HERE / "one_dimensional.ymmsl")
    found = list(checks(three, one, settings))
    print(*found, sep="\n")
    sys.exit(not all(check.good for check in found))


if __name__ == "__main__":
    main()
