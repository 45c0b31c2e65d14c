"""The demo, the physics of each code, and the independence of the results from the MPI and the number of
ranks."""

import shutil
import subprocess
from pathlib import Path

import ligament
import numpy as np
import pytest
import yaml
from flow_checks import checks, flow
from geometry import lumen
from ligament import Instance, Message, Operator
from plot import narrowing, read

HERE = Path(__file__).resolve().parent
MODEL = HERE / "restenosis.ymmsl"
ONE_DIMENSIONAL = HERE / "one_dimensional.ymmsl"
SETTINGS = yaml.safe_load(MODEL.read_text())["settings"]
# A run for tests of how the codes work together; its results do not matter.
SHORT = {"t_max": 2.5, "flow.steps_first": 40, "flow.steps": 20}
# The keys by which MPICH starts a model's programs, where the `mpirun` in PATH is Open MPI's.
BY_MPICH = "ligament: {mpirun: {flow_3d_mpich: mpirun.mpich}}"


@pytest.fixture(scope="module", autouse=True)
def built():
    if subprocess.run([HERE / "java", "--version"], capture_output=True).returncode != 0:
        pytest.skip("there is no JDK of version 22 or newer")
    subprocess.run([HERE.parent / "build", HERE.name], check=True)
    with pytest.MonkeyPatch.context() as patch:
        # Open MPI refuses root unless it is told twice; CI is root.
        patch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
        patch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        yield


@pytest.fixture(scope="module")
def mpich(built):
    if shutil.which("mpicxx.mpich") is None:
        pytest.skip("MPICH is not installed")
    subprocess.run([HERE.parent / "build", HERE.name, "mpich"], check=True)


def run(directory, *files, settings=(), more=None):
    """Runs the model with these files on top of it, and `more` given as text. Returns the process and the
    film."""
    if more:
        text = directory.with_suffix(".ymmsl")
        text.write_text(f"ymmsl_version: v0.2\n{more}\n")
        files = [*files, text]
    words = [word for name, value in dict(settings).items() for word in ("-s", f"{name}={value}")]
    command = ["ligament", "run", MODEL, *files, "--run-dir", directory, *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)
    return done, read(directory) if done.returncode == 0 else None


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A short run of the model as it is: Open MPI, and two ranks."""
    done, film = run(tmp_path_factory.mktemp("two") / "run", settings=SHORT)
    assert done.returncode == 0, done.stdout
    return film


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The files of the demo."""
    runs = tmp_path_factory.mktemp("demo") / "runs"
    done = subprocess.run([HERE / "demo.sh", runs], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return runs


@pytest.mark.slow
def test_the_demo_draws_its_picture(demo):
    assert (demo / "restenosis.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_it_is_as_large_as_it_should_be(demo):
    assert SETTINGS["nodes_along"] * SETTINGS["nodes_across"] ** 2 >= 100_000
    assert len(read(demo / "without-drug")["tissue0"]) >= 2000


@pytest.mark.slow
def test_the_vessel_narrows_less_with_drug(demo):
    without, with_drug = (narrowing(read(demo / name)) for name in ("without-drug", "with-drug"))
    assert without[0] == pytest.approx(with_drug[0]) and without[0] < 0.02
    assert without[-1] > 0.2
    assert with_drug[-1] < 0.75 * without[-1]
    assert (np.diff(without) > -0.01).all()


@pytest.mark.slow
def test_the_friction_rises_as_the_vessel_narrows_and_stops_the_cells(demo):
    film = read(demo / "without-drug")
    assert film["shear"][-1].max() > 1.5 * film["shear"][0].max()
    assert (np.diff(film["resistance"]) > -0.01 * film["resistance"][0]).all()


@pytest.mark.slow
def test_as_much_blood_flows_through_each_layer_however_narrow_it_is(demo):
    film = read(demo / "without-drug")
    dx = SETTINGS["length"] / SETTINGS["nodes_along"]
    across = SETTINGS["nodes_across"]
    x = dx * (np.arange(across) - (across - 1) / 2)
    flow_rate = np.pi * dx * (film["section"] * abs(x)).sum(axis=2)
    np.testing.assert_allclose(flow_rate, SETTINGS["flow.flow_rate"], rtol=0.02)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The results of both solvers for the vessels with known flow, and the settings."""
    folder = tmp_path_factory.mktemp("checks")
    three, settings = flow(folder / "three")
    one, _ = flow(folder / "one", ONE_DIMENSIONAL)
    return dict(three), dict(one), settings


@pytest.mark.parametrize("number", range(6))
def test_the_flow_is_as_it_must_be_where_it_is_known(solved, number):
    found = list(checks(*solved))
    assert len(found) == 6
    assert found[number].good, found[number]


@pytest.mark.parametrize(
    "what, factor, noticed", [("section", 1.03, 1), ("shear", 0.97, 1), ("resistance", 1.2, 3)]
)
def test_a_flow_that_is_wrong_does_not_pass_the_checks(solved, what, factor, noticed):
    three, one, settings = solved
    wrong = {**three, what: factor * three[what]}
    assert sum(not check.good for check in checks(wrong, one, settings)) == noticed


def test_one_word_takes_the_one_dimensional_solver(tmp_path):
    text = MODEL.read_text()
    assert text.count("implementation: flow_3d ") == 1
    changed = tmp_path / "changed"
    shutil.copytree(HERE, changed, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    (changed / MODEL.name).write_text(text.replace("implementation: flow_3d ", "implementation: flow_1d "))
    command = ["ligament", "run", changed / MODEL.name, "--run-dir", tmp_path / "run", "-s", "t_max=2.5"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    film = read(tmp_path / "run")
    viscosity = 1e-6 * SETTINGS["flow.density"] * SETTINGS["flow.viscosity"]
    poiseuille = 4 * viscosity * SETTINGS["flow.flow_rate"] / (np.pi * film["lumen"] ** 3)
    np.testing.assert_allclose(film["shear"], poiseuille)


def test_the_folder_alone_is_enough_where_ligament_is_installed(tmp_path):
    if subprocess.run(["ligament", "config", "--cflags"], capture_output=True).returncode != 0:
        pytest.skip(
            "Ligament is not installed; `make build` installs it into .venv, whose bin goes first in PATH")
    alone = tmp_path / "alone"
    shutil.copytree(HERE, alone, ignore=shutil.ignore_patterns("build", "runs", "__pycache__"))
    shell = dict(cwd=alone, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    short = "-s t_max=2.5 -s flow.steps_first=20 -s flow.steps=20"
    for line in ("make LIGAMENT=installed", f"ligament run {MODEL.name} {short}"):
        done = subprocess.run(line.split(), **shell)
        assert done.returncode == 0, done.stdout + done.stderr
    assert len(read(alone / "runs/latest")["time"]) == 2


@pytest.mark.parametrize("ranks", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
def test_however_many_ranks_compute_the_flow_is_the_same(tmp_path, two, ranks):
    resources = f"resources: {{restenosis.flow: {{mpi_processes: {ranks}}}}}"
    done, others = run(tmp_path / "others", settings=SHORT, more=resources)
    assert done.returncode == 0, done.stdout
    for name in ("shear", "resistance", "section"):
        np.testing.assert_allclose(others[name], two[name], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_mpich_computes_what_open_mpi_does(tmp_path, two, mpich):
    done, film = run(tmp_path / "run", HERE / "mpich.ymmsl", settings=SHORT, more=BY_MPICH)
    assert done.returncode == 0, done.stdout
    for name in ("shear", "resistance", "section"):
        np.testing.assert_allclose(film[name], two[name], rtol=1e-9, atol=1e-9)


def test_the_radius_of_the_lumen_is_that_of_the_innermost_cells():
    length, nodes, size = 5.12, 64, 0.02
    z = np.arange(256) * length / 256
    bulge = 1.44 - 0.3 * np.exp(-(((z - length / 2) / 0.6) ** 2))
    rows = [np.column_stack([z, bulge + depth, np.full(256, size)]) for depth in (size, 3 * size)]
    cells = np.concatenate(rows)
    found = lumen(cells, length, nodes, 0.1)
    middle = (np.arange(nodes) + 0.5) * length / nodes
    np.testing.assert_allclose(found, np.interp(middle, z, bulge, period=length), atol=0.01)
    with pytest.raises(ValueError, match="a hole"):
        lumen(cells[cells[:, 0] < 4], length, nodes, 0.1)


def closed():
    """Replaces the geometry mapper: a vessel without lumen."""
    instance = Instance({Operator.F_INIT: ["tissue"], Operator.O_F: ["lumen"]})
    while instance.reuse_instance():
        time = instance.receive("tissue").timestamp
        instance.send("lumen", Message(time, data=np.zeros(SETTINGS["nodes_along"])))


def no_flow():
    """Replaces a flow solver."""
    instance = Instance({Operator.F_INIT: ["lumen"], Operator.O_F: ["shear", "resistance", "section"]})
    while instance.reuse_instance():
        time = instance.receive("lumen").timestamp
        instance.send("shear", Message(time, data=np.zeros(SETTINGS["nodes_along"])))
        instance.send("resistance", Message(time, data=0.0))
        instance.send("section", Message(time, data=np.zeros((64, 40))))


@pytest.mark.parametrize("threads", ["1", pytest.param("3", marks=pytest.mark.slow)])
def test_no_drug_is_lost_or_made_by_diffusion_however_many_threads_there_are(tmp_path, monkeypatch, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    ligament.run(MODEL, {"geometry": closed, "flow": no_flow}, run_dir=tmp_path / "run", show="nothing",
                 settings={"t_max": 5.0, "drug.decay": 0.0, "cells.drug_limit": 0.0})
    film = read(tmp_path / "run")
    across, along = film["drug"].shape[1:]
    h = SETTINGS["length"] / along
    r = SETTINGS["radius"] + SETTINGS["wall"] - h * (across - 0.5 - np.arange(across))
    amount = (film["drug"].sum(axis=2) * r).sum(axis=1)
    released = 1 - np.exp(-(film["time"] + SETTINGS["dt"]) / SETTINGS["drug.release_time"])
    np.testing.assert_allclose(amount / amount[0], released / released[0], rtol=1e-9)
    # The amount is that of all struts, in the resolution of the grid.
    strut = SETTINGS["strut"]
    struts = len(SETTINGS["struts"]) * (strut / h) ** 2 * (SETTINGS["radius"] + strut / 2)
    assert amount[0] == pytest.approx(SETTINGS["drug.dose"] * released[0] * struts, rel=0.25)


def test_a_step_that_is_too_long_for_the_drug_ends_the_run_with_a_reason(tmp_path):
    done, _ = run(tmp_path / "run", ONE_DIMENSIONAL, settings={"drug.substeps": 20})
    assert done.returncode == 1 and "the step of the drug is too long for its" in done.stdout, done.stdout
