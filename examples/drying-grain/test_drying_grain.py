"""The grain of a run agrees with one program and with the textbook, and no water is lost."""

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bed import DRIEST, SLOPE, Bed
from dryer import HOUR, Dryer
from kernel import Kernels, diffusivity

HERE = Path(__file__).parent
HOURS, STEPS, LAYERS = 8, 10, 10


def run(folder, *settings):
    """The moistures of all steps, their times, the temperatures of the hours, and the output of bed and
    dryer."""
    words = [word for setting in settings for word in ("-s", setting)]
    done = subprocess.run(["ligament", "run", HERE / "drying_grain.ymmsl", "--run-dir", folder / "run", *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout
    left = folder / "run" / "light" / "ligament.shipped" / "workdir"
    with open(left / "airs.csv") as file:
        temperatures = [float(row["temperature"]) for row in csv.DictReader(file)]
    said = (folder / "run" / "instances" / "bed" / "output.log").read_text()
    return np.load(left / "moistures.npy"), np.load(left / "moistures.times.npy"), temperatures, said


@pytest.fixture(scope="module")
def coupled(tmp_path_factory):
    return run(tmp_path_factory.mktemp("drying"))


def test_three_programs_on_three_scales_are_as_one(coupled):
    dryer = Dryer(0.008, 308.15, 0.02, 400.0, 343.15)
    bed = Bed(LAYERS, 0.15, 600.0, 0.2, 0.25, 0.008)
    kernels = Kernels(LAYERS, 0.003, 0.25)
    moistures, temperatures = [], []
    for _ in range(HOURS):
        temperatures.append(dryer.temperature)
        kernels.warm(dryer.temperature)
        for _ in range(STEPS):
            outlet = bed.outlet()
            kernels.advance(HOUR / STEPS, bed.surface())
            bed.advance(HOUR / STEPS, dryer.humidity, kernels.mean())
            moistures.append(bed.X)
        dryer.adapt(outlet)
    X, times, heated, said = coupled
    np.testing.assert_allclose(times, HOUR / STEPS * np.arange(1, HOURS * STEPS + 1), rtol=1e-12)
    np.testing.assert_allclose(X, moistures, rtol=1e-12)
    np.testing.assert_allclose(heated, temperatures, rtol=1e-12)
    assert temperatures[-1] > temperatures[0] + 5 and X.shape == (HOURS * STEPS, LAYERS)
    # The water that the grain has lost is in the air.
    assert float(said.split()[0]) == pytest.approx(600.0 * 0.15 * (0.25 - X[-1].mean()), rel=1e-6)
    assert np.all(np.diff(X[-1]) > 0), "the air comes from below"


def test_in_much_air_a_kernel_dries_as_the_textbook_says(tmp_path):
    """In a sphere whose surface has a constant value, the part 6/π² Σ exp(-n²π²Dt/R²)/n² of the difference is
    left (Crank, The Mathematics of Diffusion, 1975, equation 6.20)."""
    X, times, temperatures, _ = run(tmp_path, "flow=1e9", "gain=0.0", "layers=2", "hours=6")
    assert set(temperatures) == {308.15}
    n = np.arange(1, 400)[:, None]
    left = (6 / np.pi**2 / n**2 * np.exp(-((n * np.pi / 0.003) ** 2) * diffusivity(308.15) * times)).sum(axis=0)
    surface = DRIEST + SLOPE * 0.008
    for layer in range(2):
        np.testing.assert_allclose((X[10:, layer] - surface) / (0.25 - surface), left[10:], atol=0.01)
