"""Writes the model of the network of canals whose upper canal is a lattice of two sections:
network.py MODEL.ymmsl"""

import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
NETWORK = HERE.parent / "canal-network"
# Points of the lattice along the canal and across it. Along it, the lattice's sound is as fast as the network's
# waves.
SHAPE, SECTIONS = (40, 16, 8), 2
# In points squared a step. At 60 m^3/s, the water then has the slope of Manning's formula.
VISCOSITY = 0.0567


def located(program):
    """A program of the network as a model in another folder names it."""
    words = {key: program[key].split() for key in ("executable", "args") if key in program}
    found = [str(NETWORK / word) if (NETWORK / word).is_file() else word for word in words.get("args", [])]
    [executable] = words["executable"]
    executable = str(NETWORK / executable) if "/" in executable else executable
    return {**program, "executable": executable, "args": found}


def model(shape=SHAPE, sections=SECTIONS, viscosity=VISCOSITY):
    """The model, as a mapping."""
    network = yaml.safe_load((NETWORK / "canal_network.ymmsl").read_text())
    parts = network["models"]["canal_network"]
    ports = parts["components"]["upper"]["ports"]
    parts["components"]["upper"] = {
        "description": "Levels and discharges into densities and masses, and back", "implementation": "ends",
        "ports": {**ports, "o_i": [*ports["o_i"], "flows"], "s": [*ports["s"], "profile"]}}
    parts["components"]["duct"] = {
        "description": "The water of the upper canal, in sections", "implementation": "duct",
        "ports": {"f_init": "flows", "o_f": "profile"}}
    parts["conduits"] |= {"upper.flows": "duct.flows", "duct.profile": "upper.profile"}
    network["programs"] = {name: located(program) for name, program in network["programs"].items()}
    network["programs"] |= {"ends": {"executable": "python3", "args": [str(HERE / "ends.py")]},
                            "duct": {"executable": str(HERE / "build/duct")}}
    settings = network["settings"]
    settings |= {"upper.planes": shape[0], "upper.points_across": shape[1] * shape[2],
                 "duct.t_max": settings["dt"], "duct.viscosity": viscosity}
    network["ligament"] |= {"ranks": {"duct": sections},
                            "grids": {"duct": {"shape": list(shape), "blocks": [sections, 1, 1]}}}
    return network


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: network.py MODEL.ymmsl")
    Path(sys.argv[1]).write_text(yaml.safe_dump(model(), sort_keys=False))
