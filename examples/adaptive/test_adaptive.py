"""The wall reaches the steady state of theory, makes only the necessary requests, and all of its pool
answer."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))
from wall import Conductivities, between, step  # noqa: E402

COLD, HOT, THICKNESS = 20.0, 320.0, 0.2


def exact(temperature):
    """Conductivity of a chessboard: the geometric mean of both conductivities (Dykhne, 1970), here of 1 and 1 +
    (T - 20) / 100."""
    return np.sqrt(1 + (np.asarray(temperature) - COLD) / 100)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the example: its directory, its record, and the output of the wall."""
    assert shutil.which("ligament"), "there is no command `ligament`; run `make build` first"
    subprocess.run([HERE.parent / "build", HERE.name], check=True)
    directory = tmp_path_factory.mktemp("adaptive") / "run"
    done = subprocess.run(["ligament", "run", HERE / "adaptive.ymmsl", "--run-dir", directory],
                          stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    return directory, json.loads((directory / "run.json").read_text()), np.load(
        directory / "instances/wall/workdir/wall.npz")


def test_the_micro_model_conducts_as_a_chessboard_does(run):
    _, _, wall = run
    temperatures, conductivities = wall["known"].T
    # Finite volumes conduct a little less around the corners; the difference grows with that of the materials.
    error = conductivities / exact(temperatures) - 1
    assert np.all(error <= 1e-12) and np.all(error > -0.01), error
    assert abs(error[np.argmin(abs(temperatures - COLD))]) < 1e-4


def test_the_wall_comes_to_its_steady_state(run):
    _, _, wall = run
    # The flow is the same everywhere, so the integral of the conductivity, (1 + w)^1.5, falls linearly through
    # the wall.
    steady = COLD + 100 * ((1 + 7 * wall["x"] / THICKNESS) ** (2 / 3) - 1)
    np.testing.assert_allclose(wall["temperature"][-1], steady, atol=0.5)


def test_the_wall_is_that_of_a_program_which_knows_all_conductivities(run):
    _, _, wall = run
    dt, dx = wall["t"][1], wall["x"][1] - wall["x"][0]
    profile, worst = np.full(wall["x"].size, COLD), 0.0
    for at, found in enumerate(wall["temperature"][1:]):
        faces = np.array([COLD, COLD + (HOT - COLD) * min(1.0, (at + 1) * dt / 3600.0)])
        profile = step(profile, faces, exact(between(profile, faces)), dt, dx, 2e6)
        worst = max(worst, abs(found - profile).max())
    assert worst < 1.0, f"{worst} K of {HOT - COLD}"


def test_it_asks_for_what_it_does_not_know_yet_and_for_no_more(run):
    _, record, wall = run
    asked, known = wall["asked"], wall["known"]
    assert asked.sum() == len(known), "nothing is asked for twice"
    # There are several requests at first, then some as the heat comes in, and none once the hot face is hot.
    assert asked[0] > 3 and np.all(asked[40:] == 0) and np.count_nonzero(asked) > 3
    assert asked.sum() < asked.size * (wall["x"].size + 1) / 40
    made = {one["name"]: one["iterations"] for one in record["instances"] if one["name"].startswith("cell")}
    assert len(made) == 3 and sum(made.values()) == len(known) and min(made.values()) > 0, made


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_what_lies_between_is_as_good_as_asked_for(tolerance):
    table = Conductivities(50.0, tolerance)
    temperatures = np.linspace(COLD, HOT, 401)
    rounds = 0
    while lacking := table.lacking(temperatures):
        rounds += 1
        for temperature in lacking:
            table.learn(temperature, float(exact(temperature)))
    assert rounds < 10
    assert np.max(abs(table.at(temperatures) / exact(temperatures) - 1)) < 1.5 * tolerance
    # The points are denser where the curve bends more.
    nodes = np.array(sorted(table.known))
    assert tolerance > 1e-3 or np.diff(nodes)[0] < np.diff(nodes)[-1]


def test_the_picture_is_drawn(run):
    directory, *_ = run
    subprocess.run([sys.executable, HERE / "plot.py", directory], check=True)
    assert (directory / "adaptive.png").stat().st_size > 10_000
