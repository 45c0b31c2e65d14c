"""The example's mathematics and physics, which coupling does not change."""

import json
import os
import shutil
import subprocess
import sys
import time
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from monolithic import half_of_diffusion, reaction, read_settings, simulate

HERE = Path(__file__).parent
MODEL = HERE / "reaction_diffusion.ymmsl"


@pytest.fixture(scope="module")
def settings():
    return read_settings(MODEL)


@pytest.fixture(scope="module")
def whole(settings):
    """The monolithic program's result for the settings of the model file."""
    return simulate(settings)


def changed(settings, **values):
    """Returns the settings with some of them replaced: macro__dt=1 stands for macro.dt."""
    settings = deepcopy(settings)
    settings.update({name.replace("__", "."): value for name, value in values.items()})
    return settings


def front(x, u, level=0.5):
    """Returns the last place at which the profile falls through `level`."""
    i = np.flatnonzero((u[:-1] >= level) & (u[1:] < level))[-1]
    return x[i] + (x[i + 1] - x[i]) * (u[i] - level) / (u[i] - u[i + 1])


def test_concentrations_stay_between_nothing_and_everything(whole):
    _, _, u = whole
    assert u.min() >= 0 and u.max() <= 1 + 1e-12


def test_diffusion_alone_keeps_the_amount(settings):
    _, _, u = simulate(changed(settings, micro__r=0.0))
    np.testing.assert_allclose(u.sum(axis=1), u[0].sum(), rtol=1e-12)


def test_diffusion_alone_widens_a_bell_as_the_heat_kernel_does(settings):
    seeds, D = [[10.0, 0.9, 0.3]], settings["macro.D"]
    t, x, u = simulate(changed(settings, micro__r=0.0, macro__seeds=seeds))
    width = np.sqrt(0.3**2 + 4 * D * t[-1])
    np.testing.assert_allclose(u[-1], 0.9 * 0.3 / width * np.exp(-(((x - 10) / width) ** 2)),
                               atol=2e-3 * u[-1].max())


def test_reaction_alone_is_logistic_growth(settings):
    u = np.array([1e-6, 0.01, 0.5, 0.99, 1.0])
    r, time = settings["micro.r"], 100 * settings["micro.t_max"]
    exact = u * np.exp(r * time) / (1 + u * (np.exp(r * time) - 1))
    np.testing.assert_allclose(reaction(u, r, time, settings["micro.dt"]), exact, rtol=1e-9)


def test_a_front_moves_at_the_speed_of_fisher_and_kolmogorov(settings):
    """Speed 2 sqrt(rD), approached as 1 - 3 / (4 r t) + 3 sqrt(pi) / (4 (r t)^1.5) (Ebert and van Saarloos,
    2000)."""
    r, D = settings["micro.r"], settings["macro.D"]
    t, x, u = simulate(changed(settings, macro__t_max=600.0, macro__seeds=[[0.0, 0.9, 0.1]]))
    early, late = (t.searchsorted(moment) for moment in (400.0, 600.0))
    speed = (front(x, u[late]) - front(x, u[early])) / (t[late] - t[early])
    rt = r * t[early : late + 1]
    expected = 2 * np.sqrt(r * D) * np.mean(1 - 3 / (4 * rt) + 3 * np.sqrt(np.pi) / (4 * rt**1.5))
    assert speed == pytest.approx(expected, rel=0.005)
    assert speed == pytest.approx(2 * np.sqrt(r * D), rel=0.02)


def test_halving_the_macro_step_quarters_the_error(settings):
    ends = []
    for dt in (0.25, 0.125, 0.0625):
        steps = changed(settings, macro__t_max=40.0, macro__dt=dt, micro__t_max=dt, micro__dt=dt / 10)
        ends.append(simulate(steps)[2][-1])
    ratio = np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max()
    assert np.log2(ratio) == pytest.approx(2, abs=0.1)


def test_the_macro_model_diffuses_as_the_monolithic_program_does(settings):
    diffusion = pytest.importorskip("diffusion", reason="the Python package ligament is not installed")
    u = np.random.default_rng(1).random(50)
    D, dx, dt = settings["macro.D"], settings["macro.dx"], settings["macro.dt"]
    np.testing.assert_array_equal(diffusion.diffuse(u, D, dx, dt / 2), half_of_diffusion(u, D, dx, dt))


def call(*words):
    """Runs the `ligament` of $LIGAMENT, or of the search path, and returns its output."""
    command = os.environ.get("LIGAMENT") or shutil.which("ligament")
    if not command:
        pytest.skip("there is no command ligament; run \"make build\" and set LIGAMENT to it")
    if not (HERE / "build/reaction").exists():
        pytest.skip("build/reaction is not built; run \"make\" in examples/reaction-diffusion")
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    done = subprocess.run([command, *map(str, words)], env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def coupled(tmp_path_factory):
    directory = tmp_path_factory.mktemp("coupled") / "run"
    call("run", MODEL, "--run-dir", directory)
    return directory


def model_time(run):
    """Returns the model time of the macro model, s."""
    instances = json.loads(call("status", run, "--json"))["instances"]
    return next(one["model_time"] for one in instances if one["name"] == "macro") or 0.0


def test_a_diffusion_coefficient_changed_on_the_way_changes_the_speed_of_the_front_from_then_on(tmp_path):
    again, r, D, then = tmp_path / "again", 0.2, 0.004, 0.01
    settings = {"macro.t_max": 300.0, "macro.dt": 0.125, "micro.t_max": 0.125, "micro.r": r,
                "macro.x_max": 25.0,
                "macro.dx": 0.05, "macro.D": D, "macro.seeds": [[0.0, 0.9, 0.1]]}
    words = ["run", MODEL, "--quiet", *(word for name, value in settings.items()
                                        for word in ("-s", f"{name}={value}"))]
    # The run takes a second or two to that time. A busy machine may miss it; then the run is started again.
    for attempt in range(10):
        first = tmp_path / f"first{attempt}"
        call(*words, "--detach", "--run-dir", first)
        while model_time(first) == 0.0:
            time.sleep(0.01)
        try:
            changed_at = json.loads(call("steer", first, f"macro.D={then}", "--at", "190", "--json"))["at"]
            break
        except AssertionError as error:
            late = any(why in str(error) for why in ("has passed 190 s already", "is not running"))
            if attempt == 9 or not late:
                raise
        finally:
            call("attach", first)
    call(*words, "--run-dir", again, "--steered", first)

    [result], [repeated] = first.rglob("concentration.npy"), again.rglob("concentration.npy")
    assert result.read_bytes() == repeated.read_bytes()
    t, x, u = (np.load(result.with_name(f"{name}.npy")) for name in ("t", "x", "concentration"))

    def speed(begin, end):
        early, late = t.searchsorted([begin, end])
        return (front(x, u[late]) - front(x, u[early])) / (t[late] - t[early])

    assert changed_at == 190.0
    assert speed(changed_at - 20.0, changed_at) == pytest.approx(2 * np.sqrt(r * D), rel=0.1)
    assert speed(changed_at + 60.0, changed_at + 100.0) == pytest.approx(2 * np.sqrt(r * then), rel=0.1)


def test_the_coupled_model_gives_what_the_monolithic_program_gives(whole, coupled):
    [result] = coupled.rglob("concentration.npy")
    for name, expected in zip(("t", "x", "concentration"), whole, strict=True):
        np.testing.assert_allclose(np.load(result.with_name(f"{name}.npy")), expected, rtol=1e-12, atol=1e-12)


def test_a_run_that_resumes_from_a_checkpoint_gives_the_same_to_the_last_bit(coupled, tmp_path):
    keep = tmp_path / "keep.ymmsl"
    keep.write_text("ymmsl_version: v0.2\nligament: {checkpoints: {keep: 100}}\n")
    saved = tmp_path / "saved"
    call("run", MODEL, HERE / "checkpoints.ymmsl", keep, "--run-dir", saved)
    numbers = sorted(int(file.parent.name) for file in saved.glob("checkpoints/*/checkpoint.json"))
    # The first one is after the first step, and the last one after the last step.
    assert numbers == list(range(1, 10))
    [expected] = coupled.rglob("concentration.npy")
    for number in numbers:
        resumed = tmp_path / f"resumed{number}"
        call("run", MODEL, saved / f"checkpoints/{number}/resume.ymmsl", "--run-dir", resumed)
        [result] = resumed.rglob("concentration.npy")
        assert result.read_bytes() == expected.read_bytes(), number


def test_the_picture_of_a_run_is_drawn_into_its_directory(coupled):
    drawn = subprocess.run(
        [sys.executable, HERE / "plot.py", coupled], capture_output=True, text=True, timeout=120, check=True
    )
    picture = Path(drawn.stdout.strip())
    assert picture.parent == coupled and picture.read_bytes().startswith(b"\x89PNG")
