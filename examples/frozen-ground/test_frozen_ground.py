"""The ground through three years agrees with one program and with the textbook."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from ground import Ground

HERE = Path(__file__).parent
DAY, YEAR = 86400.0, 365 * 86400.0
MEAN, SWING = 4.0, 14.0
SOILS = {"sand": 0.74e-6, "clay": 0.42e-6}


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """The folder with the files of a run's sinks, and the run's own folder."""
    run = tmp_path_factory.mktemp("frozen") / "run"
    done = subprocess.run(["ligament", "run", HERE / "frozen_ground.ymmsl", "--run-dir", run],
                          stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    return run / "light" / "ligament.shipped" / "workdir", run


def alone(diffusivity):
    """The same by one program: profiles (K) at each quarter of a day."""
    air = np.loadtxt(HERE / "air.csv", delimiter=",", skiprows=2)[:, 1] + 273.15
    quarters = np.interp(np.arange(4 * (len(air) - 1) + 1) / 4, np.arange(len(air)), air)
    ground = Ground(20.0, 0.05, diffusivity, MEAN + 273.15)
    profiles = [ground.temperature]
    for temperature in quarters[1:]:
        ground.advance(DAY / 4, temperature)
        profiles.append(ground.temperature)
    return np.array(profiles)


def test_sources_filters_and_sinks_change_nothing(left):
    profiles, days = np.load(left[0] / "profiles.npy"), np.load(left[0] / "profiles.times.npy")
    table = np.loadtxt(left[0] / "table.csv", delimiter=",", skiprows=1)
    assert profiles.shape == (110, 2, 401) and table.shape == (3 * 365 + 1, 3)
    np.testing.assert_allclose(days, 10 * np.arange(110), rtol=1e-12)
    np.testing.assert_allclose(table[:, 0], np.arange(3 * 365 + 1), rtol=1e-12)
    for i, diffusivity in enumerate(SOILS.values()):
        expected = alone(diffusivity)
        np.testing.assert_allclose(profiles[:, i], expected[::40], rtol=1e-12)
        np.testing.assert_allclose(table[:, 1 + i], expected[::4, 20] - 273.15, atol=1e-9)


def test_the_seasons_go_into_the_ground_as_the_textbook_says(left):
    """A wave at the surface is weaker and later below: exp(-z/d) sin(ωt - z/d) with d = √(2 a/ω) (Carslaw and
    Jaeger, Conduction of Heat in Solids, 1959, section 2.6)."""
    table = np.loadtxt(left[0] / "table.csv", delimiter=",", skiprows=1)
    assert (left[0] / "table.csv").read_text().startswith("time,sand,clay\n")
    third = table[:, 0] >= 730
    angle = 2 * np.pi * table[third, 0] / 365
    for i, diffusivity in enumerate(SOILS.values()):
        d = np.sqrt(diffusivity * YEAR / np.pi)
        expected = MEAN + SWING * np.exp(-1 / d) * np.sin(angle - 1 / d)
        np.testing.assert_allclose(table[third, 1 + i], expected, atol=0.15)


def test_each_year_has_its_line_in_the_log(left):
    lines = [line for line in (left[1] / "manager.log").read_text().splitlines()
             if "mean of sand and clay" in line]
    assert len(lines) == 4
