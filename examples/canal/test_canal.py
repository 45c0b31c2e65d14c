"""A duct in sections equals that of one program to the last bit; its flow is right; as a reach of the network
of canals, it loses no water."""

import shutil
import subprocess
from pathlib import Path

import network
import numpy as np
import pytest
import yaml
from alone import series, simulate

HERE = Path(__file__).parent
MODEL = HERE / "canal.ymmsl"
NETWORK = HERE.parent / "canal-network"
# A run that is short, and begins with noise, so that a wrong ghost changes a number.
SHAPE, STEPS, NOISE, VISCOSITY, ACCELERATION = (17, 9, 8), 7, 0.01, 0.05, 2e-4
# Maximum difference of the lattice from the analytic flow, as a part of the largest velocity.
PROFILE_TOLERANCE = 0.003
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True,
         "timeout": 300}


@pytest.fixture(scope="module", autouse=True)
def built():
    assert shutil.which("ligament"), "there is no command `ligament`; run `make build` first"
    for folder in (HERE, NETWORK):
        subprocess.run([HERE.parent / "build", folder.name], check=True)


def run(directory, model, settings=()):
    """Runs a model that is a mapping."""
    directory.mkdir(exist_ok=True)
    file = directory / "model.ymmsl"
    file.write_text(yaml.safe_dump(model, sort_keys=False))
    words = [word for name, value in dict(settings).items() for word in ("-s", f"{name}={value}")]
    return subprocess.run(["ligament", "run", file, "--run-dir", directory / "run", "--overcommit", *words],
                          **QUIET)


def duct(shape=SHAPE, blocks=(1, 1, 1), ranks=0, periodic="x"):
    """Returns the example's model with another grid, in instances, or in this many ranks of one instance."""
    model = yaml.safe_load(MODEL.read_text())
    model["programs"]["duct"]["executable"] = str(HERE / "build/duct")
    grid = {"shape": list(shape), "blocks": list(blocks), "periodic": periodic}
    model["ligament"] = {"grids": {"duct": grid}}
    if ranks:
        model["ligament"]["ranks"] = {"duct": ranks}
    return model


def flow(directory, shape, blocks):
    """Returns density and velocity of the whole duct, from the files of all sections."""
    whole = np.full((*shape, 4), np.nan)
    ends = [[points * i // count for i in range(count + 1)] for points, count in zip(shape, blocks)]
    for number, place in enumerate(np.ndindex(*blocks)):
        [file] = (directory / "run").rglob(f"flow-{number}.npy")
        part = tuple(slice(end[i], end[i + 1]) for end, i in zip(ends, place))
        assert np.load(file).shape == whole[part].shape
        whole[part] = np.load(file)
    return whole


BLOCKS = [(1, 1, 1), (2, 1, 1), (4, 1, 1), (1, 2, 2), (8, 1, 1), (2, 2, 2)]
# Blocks, and true if they are ranks of one instance. `make test` has some of them.
SECTIONS = [(blocks, ranks) for blocks in BLOCKS for ranks in (False, True)]
QUICK = [((1, 1, 1), False), ((2, 1, 1), True), ((1, 2, 2), False), ((2, 2, 2), True)]


@pytest.mark.parametrize("blocks, ranks", [
    pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in SECTIONS], ids=str)
def test_sections_give_what_one_program_gives_to_the_last_bit(tmp_path, blocks, ranks):
    expected = simulate(SHAPE, STEPS, VISCOSITY, ACCELERATION, NOISE)
    ways = [(1, "true"), (1, "false"), (2, "true"), (2, "false")]
    shown = 3 if ranks else 0
    if blocks[1] > 1:
        ways = [(1, "false"), (3, "true")]
    for ghosts, overlap in ways:
        folder = tmp_path / f"{ghosts}{overlap}"
        settings = {"t_max": STEPS * 0.05, "noise": NOISE, "ghosts": ghosts, "overlap": overlap,
                    "show": shown}
        done = run(folder, duct(blocks=blocks, ranks=int(np.prod(blocks)) if ranks else 0), settings)
        assert done.returncode == 0, done.stdout
        assert flow(folder, SHAPE, blocks).tobytes() == expected.tobytes(), (ghosts, overlap)


def test_the_flow_has_the_profile_of_a_rectangular_duct(tmp_path):
    """The steady flow of a lattice differs by the square of its spacing, which is one tenth of the depth here;
    the test below measures the order. 80 s are eight times the time in which a flow of this depth settles."""
    shape = (4, 40, 10)
    done = run(tmp_path, duct(shape, (2, 1, 1)))
    assert done.returncode == 0, done.stdout
    found, expected = flow(tmp_path, shape, (2, 1, 1)), series(40, 10, VISCOSITY, ACCELERATION)
    np.testing.assert_allclose(found[..., 1], np.broadcast_to(expected, shape), rtol=0,
                               atol=PROFILE_TOLERANCE * expected.max())
    assert np.abs(found[..., 2:]).max() < PROFILE_TOLERANCE * expected.max()
    assert found[..., 0].mean() == pytest.approx(1, abs=1e-12)


def test_half_the_spacing_gives_a_quarter_of_the_error():
    errors = []
    for finer in (1, 2):
        ny, nz = 8 * finer, 4 * finer
        # A flow so slow that only the spacing matters.
        acceleration = 1e-6 / finer**3
        found = simulate((1, ny, nz), 300 * finer**2, 0.1, acceleration)[0, :, :, 1]
        expected = series(ny, nz, 0.1, acceleration)
        errors.append(np.abs(found - expected).max() / expected.max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.3)


def test_walls_and_ends_keep_the_mass():
    for flows in ((0.0, 0.0), (0.02, 0.02), (0.01, 0.03)):
        before = simulate((12, 5, 4), 0, 0.05, noise=0.02)[..., 0].sum()
        after = simulate((12, 5, 4), 9, 0.05, noise=0.02, flows=flows)[..., 0].sum()
        assert after - before == pytest.approx(9 * 20 * (flows[0] - flows[1]), abs=1e-12)


DRIVER = """
import numpy
from ligament import Instance, Message, Operator
instance = Instance({Operator.O_I: ["flows[]"], Operator.S: ["profile[]"]})
while instance.reuse_instance():
    for turn in range(3):
        for rank in range(2):
            instance.send("flows", Message(0.1 * turn, data=numpy.array([1.0, 0.5])), rank)
        parts = [instance.receive("profile", rank).data for rank in range(2)]
    numpy.save("profile.npy", numpy.concatenate(parts))
"""


def test_what_flows_through_the_ends_is_what_somebody_else_says(tmp_path):
    (tmp_path / "driver.py").write_text(DRIVER)
    model = duct((12, 5, 4), (2, 1, 1), ranks=2, periodic=[])
    model["models"]["canal"]["components"]["driver"] = {
        "description": "x", "ports": {"o_i": "flows", "s": "profile"}, "implementation": "driver"}
    model["models"]["canal"]["components"]["duct"]["ports"] = {"f_init": "flows", "o_f": "profile"}
    model["models"]["canal"]["conduits"] = {"driver.flows": "duct.flows", "duct.profile": "driver.profile"}
    model["programs"]["driver"] = {"executable": "python3", "args": str(tmp_path / "driver.py")}
    done = run(tmp_path, model, {"t_max": 0.1, "noise": NOISE, "acceleration": 0.0})
    assert done.returncode == 0, done.stdout
    [file] = (tmp_path / "run").rglob("profile.npy")
    whole = simulate((12, 5, 4), 6, VISCOSITY, noise=NOISE, flows=(1 / 20, 0.5 / 20))
    np.testing.assert_allclose(np.load(file), whole[..., 0].mean(axis=(1, 2)), rtol=1e-14)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Returns what the collector has after half a day: with a lattice as upper canal, and without."""
    found = []
    for name, model in (("lattice", network.model()),
                        ("reach", NETWORK / "canal_network.ymmsl")):
        folder = tmp_path_factory.mktemp(name)
        if isinstance(model, Path):
            shutil.copytree(NETWORK, folder / "network", ignore=shutil.ignore_patterns("runs"))
            file = folder / "network" / model.name
            done = subprocess.run(["ligament", "run", file, "--run-dir", folder / "run", "--overcommit", "-s",
                                   "t_max=43200.0"], **QUIET)
        else:
            done = run(folder, model, {"t_max": 43200.0})
        assert done.returncode == 0, done.stdout
        found.append(dict(np.load(folder / "run/instances/collector/workdir/canal_network.npz")))
    return found


def test_a_lattice_in_the_network_of_canals_loses_no_water(networks):
    balance, reaches = networks[0]["upper.balance"], networks[0]
    before, after, above, below, beside = balance
    assert beside == 0 and below > 0
    assert after == pytest.approx(before + above - below, rel=1e-12)
    assert above == reaches["river.balance"][3]
    assert below == pytest.approx(reaches["north.balance"][2] + reaches["south.balance"][2], rel=1e-12)
    # The collector's levels and discharges must describe the same volume.
    settings = yaml.safe_load((NETWORK / "canal_network.ymmsl").read_text())["settings"]
    bed = (settings["upper.bed_above"] + settings["upper.bed_below"]) / 2
    volume = settings["upper.width"] * settings["dx"] * (reaches["upper.levels"][-1] - bed).sum()
    assert volume == pytest.approx(after, rel=1e-12)
    gained = reaches["upper.discharges"][:, 0] - reaches["upper.discharges"][:, -1]
    assert np.abs(gained).max() > 1


def test_its_water_does_much_the_same_as_that_of_a_reach(networks):
    lattice, reach = networks
    for name in ("upper", "lower", "river"):
        difference = lattice[f"{name}.levels"] - reach[f"{name}.levels"]
        assert 0 < np.sqrt((difference**2).mean()) < 0.06


@pytest.mark.parametrize("settings, words", [
    ({"t_max": 0.12}, "t_max must be a multiple of dt"),
    ({"viscosity": 0.0}, "viscosity must be above 0"),
    ({"ghosts": 0}, "ghosts must be 1 or more"),
    ({"ghosts": 5}, "has 5 ghosts, and the smallest block has 4 points along x"),
    ({"acceleration": 0.5, "t_max": 5.0}, "the fluid is faster than its sound"),
])
def test_what_cannot_be_computed_ends_the_run_with_a_reason(tmp_path, settings, words):
    done = run(tmp_path, duct((8, 5, 5), (2, 1, 1)), {"t_max": 0.1} | settings)
    assert done.returncode == 1 and words in " ".join(done.stdout.split()), done.stdout


@pytest.mark.parametrize("periodic, words", [
    ("[]", "the duct goes on along x, and its grid ends there"),
    ("[x, z]", "the duct ends along z, and its grid goes on there; leave z out of `periodic`"),
])
def test_a_grid_with_other_edges_than_the_duct_is_refused(tmp_path, periodic, words):
    done = run(tmp_path, duct((8, 5, 5), (2, 1, 1), periodic=yaml.safe_load(periodic)), {"t_max": 0.1})
    assert done.returncode == 1 and words in " ".join(done.stdout.split()), done.stdout


def test_a_grid_of_two_axes_is_no_duct(tmp_path):
    done = run(tmp_path, duct((8, 8), (1, 1)), {"t_max": 0.1})
    assert done.returncode == 1 and "a duct has three axes" in done.stdout, done.stdout


def test_a_lattice_whose_waves_are_too_fast_is_refused(tmp_path):
    done = run(tmp_path, network.model(shape=(32, 16, 8)), {"t_max": 3600.0})
    words = " ".join(done.stdout.split())
    assert done.returncode == 1 and "a grid with 32 points along x should have 40" in words, done.stdout


def commands():
    """Returns the commands of the README."""
    blocks = (HERE / "README.md").read_text().split("```\n")[1::2]
    begins = ("make ", "ligament run ", "python3 ", "./demo.sh")
    return [line for block in blocks for line in block.splitlines() if line.startswith(begins)]


@pytest.mark.slow
def test_the_folders_alone_are_enough_for_what_the_page_says_to_type(tmp_path):
    for folder in (HERE, NETWORK):
        copy = tmp_path / folder.name
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("build", "runs", "__pycache__"))
    shell = dict(cwd=tmp_path / HERE.name, capture_output=True, text=True, timeout=300)
    if subprocess.run(["ligament", "config", "--cflags"], **shell).returncode != 0:
        pytest.skip("Ligament is not installed; `make build` installs it into .venv, whose bin goes first in "
                    "PATH")
    assert len(commands()) == 7
    for line in commands():
        if line == "make demo EXAMPLE=canal":
            continue  # a command for the root of the repository
        done = subprocess.run(["bash", "-c", line], **shell)
        assert done.returncode == 0, line + "\n" + done.stdout + done.stderr
    [picture] = tmp_path.rglob("runs/**/canal.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
