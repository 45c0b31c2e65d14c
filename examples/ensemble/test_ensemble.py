"""Mean and spread of the study equal those of the same number of runs of the program without coupling."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
DIFFUSION = HERE.parent / "reaction-diffusion"
sys.path.append(str(DIFFUSION))
from monolithic import read_settings, simulate  # noqa: E402

EVALUATIONS, T_MAX = 8, 6.0


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of a few short evaluations: its run directory, and the tables that it wrote."""
    assert shutil.which("ligament"), "there is no command `ligament`; run `make build` first"
    subprocess.run([HERE.parent / "build", HERE.name], check=True)
    directory = tmp_path_factory.mktemp("ensemble") / "run"
    done = subprocess.run(
        ["ligament", "run", HERE / "ensemble.ymmsl", "--run-dir", directory, "-s",
         f"study.evaluations={EVALUATIONS}",
         "-s", f"macro.t_max={T_MAX}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
    )
    assert done.returncode == 0, done.stdout
    place = directory / "instances/study/workdir"
    tables = [list(csv.DictReader((place / name).read_text().splitlines())) for name in ("results.csv",
                                                                                         "statistics.csv")]
    return directory, *tables


def test_mean_and_spread_are_those_of_the_runs_that_were_made(study):
    _, results, statistics = study
    settings = read_settings(HERE / "ensemble.ymmsl")
    settings["macro.t_max"] = T_MAX
    ends = []
    for row in results:
        point = {"macro.D": float(row["macro.D"]), "micro.r": float(row["micro.r"])}
        _, _, history = simulate({**settings, **point})
        ends.append(history[-1])
    assert len({row["macro.D"] for row in results}) == EVALUATIONS
    found = {name: np.array([float(row[name]) for row in statistics]) for name in statistics[0]}
    np.testing.assert_allclose(found["mean"], np.mean(ends, axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["variance"], np.var(ends, axis=0, ddof=1), rtol=1e-6, atol=1e-12)
    for q in (0.05, 0.5, 0.95):
        np.testing.assert_allclose(found[f"quantile {q}"], np.quantile(ends, q, axis=0), rtol=1e-9, atol=1e-12)


def test_the_points_fill_both_ranges(study):
    _, results, _ = study
    values = np.array([[float(row["macro.D"]), float(row["micro.r"])] for row in results])
    # Sobol's first eight points: one in each eighth of both ranges.
    low, high = np.array([0.0018, 0.09]), np.array([0.0022, 0.11])
    for column in ((values - low) / (high - low) * 8).T:
        assert sorted(np.floor(column + 1e-9).astype(int)) == list(range(8))


def test_the_picture_is_drawn(study):
    directory, *_ = study
    subprocess.run([sys.executable, HERE / "plot.py", directory], check=True)
    assert (directory / "ensemble.png").stat().st_size > 10_000
