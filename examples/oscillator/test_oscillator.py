"""The coupled oscillator is as exact as one program, in Python and C++, and plots what it has computed."""

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest
from oscillator_alone import exact, monolithic
from curves import displacements, draw

HERE = Path(__file__).parent
MODEL = HERE / "oscillator.ymmsl"


@pytest.fixture(scope="module", autouse=True)
def built():
    subprocess.run([HERE.parent / "build", HERE.name], check=True)


def run(directory, *settings):
    words = [word for setting in settings for word in ("-s", setting)]
    done = subprocess.run(
        ["ligament", "run", MODEL, "--run-dir", directory, "--overcommit", *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    return directory


def coupled(directory):
    """The accepted displacements of both masses, as an array (windows + 1, 2)."""
    return np.stack([displacements(directory, name)[1] for name in ("record.csv", "record_right.csv")], axis=-1)


def test_the_coupled_masses_move_as_those_of_one_program(tmp_path):
    found = coupled(run(tmp_path / "run"))
    alone = monolithic(0.01, 100)
    np.testing.assert_allclose(found, alone, atol=1e-7)
    times = np.linspace(0, 1, 101)
    error, own = (np.abs(one - exact(times)).max() for one in (found, alone))
    assert error == pytest.approx(own, rel=1e-3)
    draw(tmp_path / "run", tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_shorter_windows_are_more_exact_by_the_order_of_the_rule(tmp_path):
    errors = []
    for window, until in ((0.02, 1.0), (0.01, 1.0)):
        found = coupled(run(tmp_path / f"run-{window}", f"coupling.window={window}", f"coupling.until={until}"))
        errors.append(np.abs(found - exact(np.linspace(0, 1, len(found)))).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("acceleration, iterations", [("none", 4), ("iqn-ils", 3.2), ("iqn-imvj", 3.2)])
def test_few_iterations_are_enough(tmp_path, acceleration, iterations):
    """Without acceleration, the developers of preCICE counted 4 in each window of the same problem."""
    directory = run(tmp_path / "run", f"coupling.acceleration={acceleration}")
    (path,) = directory.rglob("coupling.csv")
    with path.open() as file:
        counts = [int(row["iterations"]) for row in csv.DictReader(file)]
    assert len(counts) == 100 and np.mean(counts) <= iterations, counts
