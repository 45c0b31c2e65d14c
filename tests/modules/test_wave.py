"""A wave of modules in C, Fortran and Python in blocks equals the wave of one process bit for bit."""

import sys
from pathlib import Path

import numpy
import pytest
import wave_model

HERE = Path(__file__).parent
SHAPE, EDGES, STEPS = (16, 13), ("periodic", "mirrored"), 7


@pytest.fixture(scope="session")
def folder(shared_object, tmp_path_factory):
    """The folder with the modules."""
    folder = tmp_path_factory.mktemp("modules")
    for source in ("wave.c", "damping.f90"):
        shared_object(HERE / source, folder / Path(source).with_suffix(".so"))
    return folder


def assembled(directory):
    """Returns the whole fields, from the files of all blocks, and the sum that each block has."""
    u, v, sums = numpy.full(SHAPE, numpy.nan), numpy.full(SHAPE, numpy.nan), []
    for path in directory.rglob("state*.npz"):
        state = numpy.load(path)
        place = tuple(slice(*ends) for ends in state["ends"])
        u[place], v[place] = state["u"], state["v"]
        sums.append(float(state["sum"]))
        assert state["step"] == STEPS
    return u, v, sums


@pytest.mark.parametrize("blocks", [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("arguments", [[], ["--poison"]])
def test_a_wave_of_modules_in_blocks_is_that_of_one_process(run, model, folder, blocks, arguments):
    command = [sys.executable, HERE / "simulation.py", folder, *arguments]
    done = run(model(command, SHAPE, blocks, EDGES, f"steps: {STEPS}, time_step: 0.5"))
    assert done.status == 0, done.text
    u, v, sums = assembled(done.directory)
    expected_u, expected_v = wave_model.alone(SHAPE, EDGES, STEPS, time_step=0.5)
    assert u.tobytes() == expected_u.tobytes() and v.tobytes() == expected_v.tobytes()
    assert len(sums) == blocks[0] * blocks[1] and len(set(sums)) == 1
