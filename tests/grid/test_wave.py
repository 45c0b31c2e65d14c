"""A wave in blocks equals the wave of one process bit for bit."""

import math
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import wave_model as wave
from compilers import ROOT, compiled, compiled_fortran

HERE = Path(__file__).parent
# Without contraction, the numbers equal NumPy's: no product has more digits for the sum that follows.
EXACT = ["-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      wave: {{implementation: wave}}
programs: {{wave: {{executable: {command[0]}, args: {arguments}}}}}
settings: {{ghosts: {ghosts}, steps: {steps}, order: {order}, split: {split}, out: {out}}}
ligament:
  {more}
  grids:
    wave: {{shape: {shape}, blocks: {blocks}, periodic: {periodic}, mirrored: {mirrored}}}
"""
AXES = ("x", "y", "z")


@pytest.fixture(scope="session")
def command(tmp_path_factory):
    """Returns the command that runs a block, by the language."""
    folder, made = tmp_path_factory.mktemp("blocks"), {}

    def of_c(compiler, source, standard):
        return [compiled([compiler, standard, *EXACT], HERE / source, folder / source)]

    def rust():
        subprocess.run(["cargo", "build", "--profile", "tests", "--locked", "--quiet", "-p", "ligament-grid",
                        "--example", "block"], cwd=ROOT, check=True)
        return [str(ROOT / "target/tests/examples/block")]

    def fortran():
        options = [*EXACT, "-Wno-maybe-uninitialized"]
        return [compiled_fortran(options, HERE / "block.f90", folder / "block-fortran")]

    commands = {"python": lambda: [sys.executable, str(HERE / "block.py")], "rust": rust, "fortran": fortran,
                "c": lambda: of_c("gcc", "block.c", "-std=c11"),
                "cpp": lambda: of_c("g++", "block.cpp", "-std=c++17")}

    def of(language):
        if language not in made:
            made[language] = commands[language]()
        return made[language]

    return of


def model(command, out, shape, blocks, edges, ghosts=1, steps=6, order="C", split=False,
          more="overcommit: true"):
    named = {kind: [AXES[axis] for axis, edge in enumerate(edges) if edge == kind] for kind in wave.PAD}
    return MODEL.format(command=command, arguments=command[1:], ghosts=ghosts, steps=steps, order=order,
                        split=str(split).lower(), out=out, more=more, shape=list(shape), blocks=list(blocks),
                        periodic=named["periodic"], mirrored=named["mirrored"])


def assembled(out, shape, number):
    """Returns the whole fields, from the files of all blocks."""
    fields, totals = [numpy.full(shape, numpy.nan), numpy.full(shape, numpy.nan, "float32")], []
    for block in range(number):
        with open(out / f"{block}.bin", "rb") as file:
            axes = int(numpy.fromfile(file, "int64", 1)[0])
            begin, end = numpy.fromfile(file, "int64", axes), numpy.fromfile(file, "int64", axes)
            place = tuple(slice(*ends) for ends in zip(begin, end))
            totals.append(numpy.fromfile(file, "float64", 3).tolist())
            for field in fields:
                own = field[place]
                own[...] = numpy.fromfile(file, field.dtype, own.size).reshape(own.shape)
    return fields, totals


EIGHT_RANKS = {"more": "overcommit: true\n  ranks: {wave: 8}"}
CASES = [
    ((41,), (4,), ("periodic",), {}),
    ((41,), (2,), ("periodic",), {"split": True}),
    ((30, 17), (2, 2), ("periodic", "open"), {}),
    ((30, 17), (1, 3), ("periodic", "mirrored"), {"ghosts": 2, "order": "F"}),
    ((19, 23), (2, 1), ("periodic", "periodic"), {"split": True, "ghosts": 3}),
    ((12, 11, 13), (2, 2, 2), ("periodic", "mirrored", "open"), {}),
    ((12, 11, 13), (2, 2, 2), ("periodic", "periodic", "periodic"), EIGHT_RANKS),
    ((12, 15, 13), (1, 1, 1), ("periodic", "mirrored", "periodic"), {"ghosts": 2}),
    ((90, 80, 70), (2, 1, 1), ("periodic", "periodic", "open"), {"ghosts": 3, "order": "F", "steps": 3}),
]


OTHERS = [
    ("c", (41,), (3,), ("periodic",), {"ghosts": 2}),
    ("c", (12, 11, 13), (2, 2, 2), ("periodic", "mirrored", "open"), {"order": "F", "split": True}),
    ("c", (16, 11, 13), (2, 2, 2), ("mirrored", "periodic", "periodic"), EIGHT_RANKS | {"ghosts": 3}),
    ("cpp", (30, 17), (2, 2), ("periodic", "open"), {}),
    ("cpp", (30, 17), (1, 3), ("periodic", "mirrored"), {"ghosts": 2, "order": "F", "split": True}),
    ("fortran", (41,), (3,), ("periodic",), {"ghosts": 2, "order": "F"}),
    ("fortran", (30, 17), (2, 2), ("periodic", "mirrored"), {"order": "F", "split": True}),
    ("fortran", (16, 11, 13), (2, 2, 2), ("mirrored", "periodic", "open"), EIGHT_RANKS | {"order": "F"}),
    ("rust", (30, 17), (2, 2), ("open", "mirrored"), {}),
    ("rust", (30, 17), (3, 1), ("periodic", "periodic"), {"ghosts": 3, "split": True}),
]

# One to eight blocks, as instances and as ranks, with each way of an exchange.
NUMBERS = {1: (1, 1, 1), 2: (1, 2, 1), 4: (2, 1, 2), 8: (2, 2, 2)}
WAYS = [("c", (16, 11, 13), blocks, ("periodic", "periodic", "periodic"),
         {"split": split, "ghosts": ghosts,
          "more": "overcommit: true" + (f"\n  ranks: {{wave: {number}}}" if is_ranks else "")})
        for number, blocks in NUMBERS.items() for is_ranks in (False, True)
        for split in (False, True) for ghosts in (1, 3)]


@pytest.mark.parametrize(("language", "shape", "blocks", "edges", "more"),
                         [("python", *case) for case in CASES] + OTHERS + WAYS)
def test_a_wave_in_blocks_is_that_of_one_process(run, command, tmp_path, language, shape, blocks, edges, more):
    done = run(model(command(language), tmp_path, shape, blocks, edges, **more))
    assert done.status == 0, done.text
    steps = more.get("steps", 6)
    expected = wave.alone(shape, edges, steps)
    # Wide ghosts beyond an edge take part in the steps between two exchanges. So, except beyond periodic edges,
    # they differ from the wave in one process, and the difference spreads by one point with each step.
    differs = [edge != "periodic" and more.get("ghosts", 1) > 1 for edge in edges]
    inner = tuple(slice(steps, -steps) if one else slice(None) for one in differs)
    fields, totals = assembled(tmp_path, shape, math.prod(blocks))
    for field, whole in zip(fields, expected):
        assert whole[inner].size > 0 and field[inner].tobytes() == whole[inner].tobytes()
    assert all(total == totals[0] for total in totals)
    assert totals[0][0] == math.fsum(fields[0].flat)
    assert totals[0][1:] == [fields[0].min(), fields[1].max()]
