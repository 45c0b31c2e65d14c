"""The example's physics; no water is lost between its codes, and coupling changes nothing, with any settings
and any number of reaches."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from network_alone import GRAVITY, REACHES, Gate, Reach, SettingReader, read_settings, simulate

HERE = Path(__file__).parent
MODEL = HERE / "canal_network.ymmsl"
# Half a day, with other waters, another step and other intervals.
OTHER = {
    "t_max": 43200.0, "dt": 12.5, "gauge_interval": 150.0, "weather_interval": 600.0, "frame_interval": 50.0,
    "film_interval": 500.0, "dx": 200.0, "river.cells": 20, "lower.cells": 75, "roughness": 0.03,
    "polder.level": -4.0,
    "weather.storm": 7200.0, "sluice.width": 25.0, "town.intake": 9.0,
}


@pytest.fixture(scope="module", autouse=True)
def built():
    assert shutil.which("ligament"), "there is no command `ligament`; run `make build` first"
    subprocess.run([HERE.parent / "build", HERE.name], check=True)


def run(directory, model=MODEL, settings=(), more=()):
    """Runs a model, with `more` arguments. Returns the finished process, and what the collector has written."""
    words = [word for name, value in dict(settings).items() for word in ("-s", f"{name}={value}")]
    done = subprocess.run(
        ["ligament", "run", model, *more, "--run-dir", directory, *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=300,
    )
    result = directory / "instances/collector/workdir/canal_network.npz"
    return done, dict(np.load(result)) if result.exists() else None


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The results of the model as it is."""
    directory = tmp_path_factory.mktemp("whole") / "run"
    done, found = run(directory)
    assert done.returncode == 0, done.stdout
    return directory, found


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The results of the model with other settings."""
    done, found = run(tmp_path_factory.mktemp("other") / "run", settings=OTHER)
    assert done.returncode == 0, done.stdout
    return found


def assert_equal(found, alone):
    for name, expected in alone.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-10, atol=1e-10, err_msg=name)


def test_many_codes_give_what_one_program_gives(whole):
    assert_equal(whole[1], simulate(read_settings(MODEL)))


def test_they_do_so_with_other_settings_too(other):
    assert other["river.levels"].shape == (864, 20) and other["lower.discharges"].shape == (864, 76)
    assert_equal(other, simulate(read_settings(MODEL) | OTHER))


def test_a_second_run_gives_the_same_to_the_last_bit(other, tmp_path):
    _, second = run(tmp_path / "run", settings=OTHER)
    assert other.keys() == second.keys()
    for name in other:
        np.testing.assert_array_equal(other[name], second[name])


def test_a_run_that_resumes_from_a_checkpoint_gives_the_same_to_the_last_bit(other, tmp_path):
    often = tmp_path / "often.ymmsl"
    often.write_text("ymmsl_version: v0.2\ncheckpoints: {simulation_time: [{every: 7000.0}]}\n"
                     "ligament: {checkpoints: {keep: 100}}\n")
    done, saved = run(tmp_path / "saved", settings=OTHER, more=[often])
    assert done.returncode == 0, done.stdout
    # The first state is saved after the first step, and the others at the films of the collector.
    numbers = sorted(int(path.parent.name) for path in tmp_path.glob("saved/checkpoints/*/checkpoint.json"))
    assert numbers == list(range(1, 8))
    for number in numbers:
        resume = tmp_path / f"saved/checkpoints/{number}/resume.ymmsl"
        done, resumed = run(tmp_path / f"resumed{number}", settings=OTHER, more=[resume])
        assert done.returncode == 0 and "never received" not in done.stdout, done.stdout
        for found in (saved, resumed):
            assert other.keys() == found.keys()
            for name in other:
                np.testing.assert_array_equal(other[name], found[name], err_msg=f"{name} from {number}")


def test_a_reach_holds_what_it_held_and_what_came_less_what_went(whole):
    for reach in REACHES:
        before, after, above, below, beside = whole[1][f"{reach}.balance"]
        assert below > 0
        assert after == pytest.approx(before + above - below + beside, rel=1e-12)


def test_no_water_is_lost_between_reaches(whole):
    above, below, beside = ({r: whole[1][f"{r}.balance"][i] for r in REACHES} for i in (2, 3, 4))
    assert below["river"] == above["upper"]
    assert below["upper"] == pytest.approx(above["north"] + above["south"], rel=1e-12)
    assert below["north"] + below["south"] == pytest.approx(above["lower"], rel=1e-12)
    assert below["polder"] == beside["south"]


def test_the_whole_network_gains_what_rain_brings_and_loses_what_town_and_sea_take(whole):
    balances = np.array([whole[1][f"{reach}.balance"] for reach in REACHES])
    settings = read_settings(MODEL)
    hours = np.arange(0, settings["t_max"], settings["weather_interval"]) / 3600
    taken = settings["town.intake"] - settings["town.swing"] * np.cos(2 * np.pi * hours / 24)
    drunk = taken.sum() * settings["weather_interval"]
    rained = whole[1]["river.balance"][2] + whole[1]["polder.balance"][4]
    to_sea = whole[1]["lower.balance"][3]
    gained = (balances[:, 1] - balances[:, 0]).sum()
    assert gained == pytest.approx(rained - drunk - to_sea, abs=1e-12 * balances[:, 0].sum())


def test_the_surge_shuts_the_sluice_and_pumping_goes_on(whole):
    settings, found = read_settings(MODEL), whole[1]
    sea = np.interp(found["time"], found["weather.time"], found["weather.sea"])
    out = found["lower.discharges"][:, -1]
    behind_doors = sea > found["lower.levels"][:, -1] + 0.05
    assert behind_doors.any() and not behind_doors.all()
    assert out[behind_doors].max() == pytest.approx(settings["sea_pump.capacity"])
    assert out[~behind_doors].max() > settings["sea_pump.capacity"] + 50


def test_the_collector_draws_a_picture_into_its_own_directory(whole):
    pictures = list(whole[0].rglob("*.png"))
    assert [picture.parent for picture in pictures] == [whole[0] / "instances/collector/workdir"]
    assert pictures[0].read_bytes().startswith(b"\x89PNG")


def test_a_steady_flow_has_the_slope_that_manning_s_formula_gives():
    ask = SettingReader({"dt": 20.0, "dx": 250.0, "width": 30.0, "roughness": 0.025, "bed_above": -3.0,
                "bed_below": -4.0,
                "level": 0.0, "cells": 40}, "")
    reach = Reach(ask)
    for _ in range(20000):
        reach.step(above=60.0, below=60.0, lateral=0.0)
    np.testing.assert_allclose(reach.flow, 60.0, rtol=1e-9)
    slope = -np.diff(reach.level) / ask.dx
    depth = np.maximum(reach.level[1:], reach.level[:-1]) - np.maximum(reach.bed[1:], reach.bed[:-1])
    area, radius = 30.0 * depth, 30.0 * depth / (30.0 + 2 * depth)
    np.testing.assert_allclose(area * radius ** (2 / 3) * np.sqrt(slope) / 0.025, 60.0, rtol=1e-8)


@pytest.mark.parametrize("above, below", [(1.0, 0.6), (0.2, 0.9)])
def test_the_flow_under_a_gate_tends_to_torricelli_s(above, below):
    ask = SettingReader({"dt": 20.0, "width": 10.0, "height": 3.0, "sill": -2.0, "coefficient": 0.6,
                "inertia_length": 250.0,
                "one_way": False}, "")
    gate = Gate(ask)
    for _ in range(5000):
        flow = gate.through(above, below, opening=0.5)
    head = above - below
    assert flow == pytest.approx(np.sign(head) * 0.6 * 15.0 * np.sqrt(2 * GRAVITY * abs(head)), rel=1e-9)


def canal(file, pieces, depth=4.0, cells=48):
    """Returns a model of one canal, cut into pieces with wide open gates between them. At the start, the water
    is higher by 2 cm in one half."""
    from ligament import Model

    model = Model("canal")
    model.settings.update({
        "t_max": 7200.0, "dt": 20.0, "gauge_interval": 20.0, "frame_interval": 20.0, "film_interval": 600.0,
        "cells": cells // pieces, "dx": 250.0, "width": 20.0, "bed_above": -depth, "bed_below": -depth,
        "roughness": 0.0,
        "sill": -depth, "height": 1e3, "coefficient": 1e9, "inertia_length": 250.0, "one_way": False,
    })
    for program in ("reach", "gate"):
        model.add_program(program, HERE / "build" / program)
    model.add_program("collector", "python3", [HERE / "collector.py"])
    names = [f"piece{i}" for i in range(pieces)]
    for i, name in enumerate(names):
        model.settings[f"{name}.level"] = 0.01 if i < pieces // 2 else -0.01
        s = ["above"] * (i > 0) + ["below"] * (i + 1 < pieces)
        o_i = ["level_above", "level_below", "levels", "discharges"]
        model.add(name, implementation="reach", ports={"o_i": o_i, "s": s, "o_f": ["balance"]})
    model.add("collector", implementation="collector", ports={"s": ["levels", "discharges", "balances"]})
    for i, name in enumerate(names):
        model.connect_all([(f"{name}.levels", f"collector.levels[{i}]"),
                           (f"{name}.balance", f"collector.balances[{i}]"),
                           (f"{name}.discharges", f"collector.discharges[{i}]")])
    for i, (upper, lower) in enumerate(zip(names, names[1:])):
        model.add(f"gate{i}", implementation="gate", ports={"f_init": ["above", "below"], "o_f": ["flow"]})
        model.connect_all([(f"{upper}.level_below", f"gate{i}.above"),
                           (f"{lower}.level_above", f"gate{i}.below"),
                           (f"gate{i}.flow", f"{upper}.below[0]"), (f"gate{i}.flow", f"{lower}.above[0]")])
    model.settings["collector.reaches"] = model.settings["collector.route"] = " ".join(names)
    model.save(file)
    return names


def test_water_does_the_same_in_however_many_reaches_a_canal_is_cut(tmp_path):
    waves = []
    for pieces in (2, 4, 8):
        names = canal(tmp_path / f"{pieces}.ymmsl", pieces)
        done, found = run(tmp_path / f"run{pieces}", tmp_path / f"{pieces}.ymmsl")
        assert done.returncode == 0, done.stdout
        waves.append(np.concatenate([found[f"{name}.levels"] for name in names], axis=1))
    np.testing.assert_allclose(waves[1], waves[0], atol=1e-13)
    np.testing.assert_allclose(waves[2], waves[0], atol=1e-13)

    # The water swings with a period of one wave there and back: 2 L / sqrt(g h) (Merian, 1828).
    place = (np.arange(48) + 0.5) / 48
    swing = waves[0] @ np.cos(np.pi * place)
    [down, up] = np.flatnonzero(np.signbit(swing[:-1]) != np.signbit(swing[1:]))[:2]
    crossings = [20.0 * (i + 1 + swing[i] / (swing[i] - swing[i + 1])) for i in (down, up)]
    assert 2 * (crossings[1] - crossings[0]) == pytest.approx(2 * 48 * 250 / np.sqrt(GRAVITY * 4), rel=0.005)


def commands():
    """Returns the commands of the README."""
    blocks = (HERE / "README.md").read_text().split("```\n")[1::2]
    return [line for block in blocks for line in block.splitlines() if line.startswith(("make ",
                                                                                        "ligament run "))]


def installed(tmp_path, files):
    """Returns a directory with only these files, and a shell with Ligament installed."""
    for file in files:
        shutil.copy(HERE / file, tmp_path)
    shell = dict(cwd=tmp_path, capture_output=True, text=True, timeout=300)
    if subprocess.run(["ligament", "config", "--cflags"], **shell).returncode != 0:
        pytest.skip(
            "Ligament is not installed; `make build` installs it into .venv, whose bin goes first in PATH")
    return lambda line: subprocess.run(["bash", "-c", line], **shell)


@pytest.mark.parametrize("program, files", {
    "reach": ["reach.f90"], "gate": ["gate.cpp", "order.hpp"], "pump": ["pump.cpp", "order.hpp"],
    "catchment": ["catchment.c"], "town": ["town.c"],
}.items())
def test_each_program_is_built_from_its_own_files_by_the_command_of_the_page(tmp_path, program, files):
    shell = installed(tmp_path, ["Makefile", *files])
    [command] = [line for line in commands() if "build/gate" in line]
    done = shell(command.replace("gate", program))
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.glob(f"build/{program}")) and "warning" not in done.stderr.lower()


@pytest.mark.slow
def test_the_folder_alone_is_enough_for_what_the_page_says_to_type(tmp_path):
    shell = installed(tmp_path, [path.name for path in HERE.iterdir() if path.is_file()])
    assert len(commands()) == 6
    for line in commands():
        done = shell(line)
        assert done.returncode == 0, line + "\n" + done.stdout + done.stderr
    assert len(list(tmp_path.glob("runs/canal_network-*/instances/collector/workdir/canal_network.png"))) == 4


@pytest.mark.parametrize("settings, words", [
    ({"dt": 60.0}, "dt is too long a step for waves in water as deep as this"),
    ({"film_interval": 70.0}, "film_interval must be a multiple of frame_interval"),
    ({"gauge_interval": 30.0}, "gauge_interval must be a multiple of dt"),
    ({"south.cells": 0}, "south reported an error: cells must be 1 or more"),
    ({"river.level": 1.0}, "the reach is dry at the start"),
    ({"town.intake": 3000.0}, "the reach has run dry"),
    ({"collector.reaches": "river upper"}, "names 2, and 6 are joined"),
    ({"controller.targets": "[1.0]"}, "the setting `targets` has 1 values, and there are 6 structures"),
])
def test_what_cannot_be_computed_ends_the_run_with_a_reason(tmp_path, settings, words):
    done, _ = run(tmp_path / "run", settings=settings)
    assert done.returncode == 1
    reason = next(line for line in done.stdout.splitlines() if line.startswith("ligament: the run failed"))
    assert words in reason, done.stdout
