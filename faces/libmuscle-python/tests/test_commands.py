"""The commands `muscle_manager` and `muscle3`, and the records that they leave."""

import os
import re
import shutil
import sqlite3
import subprocess
import time
import tomllib

import pytest
from conftest import PROGRAMS, WATCHDOG_S, call

QUESTIONS = """
from libmuscle import ProfileDatabase

with ProfileDatabase("run/performance.sqlite") as profile:
    names, *times = profile.instance_stats()
    print(names, all(time >= 0 for part in times for time in part), times[0][0] > 0.04)
    waited = profile.time_taken(etype="RECEIVE_WAIT", instance="micro", aggregate="sum")
    print(waited > 0, profile.resource_stats())
"""


@pytest.fixture
def model(face, tmp_path):
    """A folder with a model of two programs."""
    for name in ("macro.py", "micro.py"):
        shutil.copy(PROGRAMS / name, tmp_path)
    text = (PROGRAMS / "commands.ymmsl").read_text().replace("PYTHON", str(face))
    (tmp_path / "model.ymmsl").write_text(text)
    (tmp_path / "run").mkdir()
    return tmp_path


def manage(face, folder, *words, status=0, end="done"):
    """Runs muscle_manager on the model; `end` is how its macro ends."""
    file = folder / "end.ymmsl"
    file.write_text(f"ymmsl_version: v0.2\nsettings: {{end: {end}}}\n")
    return call(face, "-m", "muscle3.muscle_manager", *words, "model.ymmsl", "end.ymmsl", cwd=folder,
                status=status)


def test_muscle_manager_leaves_the_files_that_muscle3_leaves(face, model):
    done = manage(face, model, "--start-all", "--run-dir", "run")
    assert "Simulation completed successfully." in done.stdout
    assert "Output may be found in run" in done.stdout
    run = model / "run"
    assert "received 4.0 8000.0" in (run / "instances/macro/stdout.txt").read_text()
    assert "INFO" in (run / "muscle3_manager.log").read_text().upper()
    assert "commands" in (run / "configuration.ymmsl").read_text()


def test_a_run_directory_is_named_as_there(face, model):
    manage(face, model, "--start-all")
    (run,) = model.glob("run_commands_*")
    assert (run / "performance.sqlite").is_file()


def test_the_profile_has_the_events_of_the_run(face, model):
    manage(face, model, "--start-all", "--run-dir", "run")
    database = sqlite3.connect(model / "run/performance.sqlite")
    question = "select instance, type, start_time, stop_time, port, operator from all_events"
    rows = database.execute(question).fetchall()
    assert {"macro", "micro"} == {row[0] for row in rows}
    assert all(row[2] <= row[3] for row in rows)
    kinds = {row[1] for row in rows}
    assert {"REGISTER", "CONNECT", "RECEIVE", "RECEIVE_WAIT", "DEREGISTER"} <= kinds
    assert abs(min(row[2] for row in rows) * 1e-9 - time.time()) < 3600
    assert ("micro", "RECEIVE_WAIT", "in", "F_INIT") in {(row[0], row[1], row[4], row[5]) for row in rows}
    database.close()
    assert call(face, "-c", QUESTIONS, cwd=model).stdout == "['macro', 'micro'] True True\nTrue {}\n"


def test_the_profile_is_drawn(face, model):
    manage(face, model, "--start-all", "--run-dir", "run")
    profile = ("-m", "muscle3.muscle3", "profile", "run/performance.sqlite")
    call(face, *profile, "-i", "-t", cwd=model, MPLBACKEND="agg")
    assert "does not record cores" in call(face, *profile, "-r", cwd=model, status=1).stderr
    assert "-i, -r or -t" in call(face, *profile, cwd=model, status=1).stdout


def test_a_file_that_is_no_profile_is_named(face, model):
    (model / "other.sqlite").write_text("no database")
    profile = ("-m", "muscle3.muscle3", "profile", "other.sqlite", "-i")
    assert "other.sqlite: file is not a database" in call(face, *profile, cwd=model, status=1).stderr


def test_a_model_with_sections_of_ligament_has_a_profile_in_a_directory_of_any_name(face, model):
    with (model / "model.ymmsl").open("a") as file:
        file.write("ligament: {scales: {macro: {time_step: 10 ms, total_time: 1 s}}}\n")
    run = model / "50% of a run?"
    manage(face, model, "--start-all", "--run-dir", run)
    question = ("from libmuscle import ProfileDatabase; import sys\n"
                "with ProfileDatabase(sys.argv[1]) as profile: print(profile.instance_stats()[0])")
    said = call(face, "-c", question, run / "performance.sqlite", cwd=model).stdout
    assert said == "['macro', 'micro']\n"


def test_a_model_with_ports_on_a_timeline_of_their_own_has_a_profile(face, model):
    text = (model / "model.ymmsl").read_text()
    (model / "model.ymmsl").write_text(text.replace("{o_i: out, s: in}", "{timeline fine: {o_i: out, s: in}}"))
    manage(face, model, "--start-all", "--run-dir", "run")
    assert (model / "run/performance.sqlite").is_file()


def test_an_error_shutdown_with_exit_status_0_fails_no_run(face, model):
    manage(face, model, "--start-all", "--run-dir", "run", end="in order")
    assert "this macro is to end so: in order" in (model / "run/muscle3_manager.log").read_text()


def test_the_level_of_the_log_concerns_the_lines_of_the_run_only(face, model):
    manage(face, model, "--start-all", "--run-dir", "run", "--log-level", "ERROR", end="in order")
    log = (model / "run/muscle3_manager.log").read_text()
    assert " macro: registered" in log and "this macro is to end so: in order" in log
    assert " run: " in (model / "run/manager.log").read_text() and " run: " not in log


def test_an_error_shutdown_with_another_status_fails_the_run(face, model):
    done = manage(face, model, "--start-all", "--run-dir", "run", status=1, end="badly")
    assert "An error occurred during execution" in done.stdout
    assert "this macro is to end so: badly" in done.stdout


PROGRAMS_SECTION = re.compile("programs:.*?(?=settings:)", re.S)


@pytest.mark.parametrize("missing", ["(?!)", PROGRAMS_SECTION, "        implementation: micro\n"],
                         ids=["nothing", "programs", "implementation"])
def test_instances_are_started_by_hand_also_without_programs(face, model, missing):
    text = (model / "model.ymmsl").read_text()
    (model / "model.ymmsl").write_text(re.sub(missing, "", text))
    file = model / "location"
    words = ("-m", "muscle3.muscle_manager", "--run-dir", "run", "--location-file", "location", "model.ymmsl")
    variables = {**os.environ, "HOME": str(model)}
    manager = subprocess.Popen([face, *words], cwd=model, env=variables)
    try:
        begin = time.monotonic()
        while not (file.is_file() and file.read_text()) and time.monotonic() - begin < WATCHDOG_S:
            assert manager.poll() is None
            time.sleep(0.02)
        location = file.read_text()
        micro = subprocess.Popen([face, "micro.py", "--muscle-instance=micro", f"--muscle-manager={location}"],
                                 cwd=model, env=variables)
        done = call(face, "macro.py", cwd=model, MUSCLE_INSTANCE="macro", MUSCLE_MANAGER=location)
        assert "received 4.0 8000.0" in done.stdout
        assert (micro.wait(WATCHDOG_S), manager.wait(WATCHDOG_S)) == (0, 0)
    finally:
        manager.terminate()
        manager.wait(WATCHDOG_S)


@pytest.mark.parametrize("environment, text", [
    ({}, "MUSCLE_INSTANCE=NAME"),
    ({"MUSCLE_INSTANCE": "micro"}, "nothing says where the run is"),
    ({"MUSCLE_INSTANCE": "micro", "MUSCLE_MANAGER": "tcp:localhost:9000"}, "an address of MUSCLE 3's manager"),
    ({"MUSCLE_INSTANCE": "micro", "MUSCLE_MANAGER": "nowhere"}, "the run directory nowhere does not exist"),
])
def test_a_program_without_a_run_says_what_is_missing(face, model, environment, text):
    assert text in call(face, "micro.py", cwd=model, status=1, **environment).stderr


def test_a_model_with_a_mistake_is_refused(face, model):
    (model / "model.ymmsl").write_text("ymmsl_version: v0.2\nmodels: 3\n")
    done = manage(face, model, "--start-all", status=1)
    assert "model.ymmsl:2" in done.stderr


def test_a_directory_that_holds_a_run_is_refused_and_left_alone(face, model):
    manage(face, model, "--start-all", "--run-dir", "run")
    (model / "run/performance.sqlite").unlink()
    done = manage(face, model, "--start-all", "--run-dir", "run", status=1)
    assert "holds a run already" in done.stderr
    assert not (model / "run/performance.sqlite").exists()


def test_what_is_not_there_says_so(face, model):
    for words, text in ((("resources", "-c", "4", "model.ymmsl"), "ligament submit --dry-run"),
                        (("snapshot", "some.pack"), "snapshots are not read")):
        assert text in call(face, "-m", "muscle3.muscle3", *words, cwd=model, status=1).stderr


def test_the_face_refuses_to_be_used_beside_muscle3(peer, tmp_path):
    face_folder = PROGRAMS.parents[1]
    program = f"import sys; sys.path.insert(0, {str(face_folder)!r}); import libmuscle"
    assert "pip uninstall muscle3" in call(peer, "-c", program, cwd=tmp_path, status=1).stderr


def test_the_extra_of_the_python_package_brings_this_package():
    root = PROGRAMS.parents[3]
    ours, package = (tomllib.loads((root / path).read_text())["project"]
                     for path in ("faces/libmuscle-python/pyproject.toml", "bindings/python/pyproject.toml"))
    assert package["optional-dependencies"]["muscle3"] == [ours["name"]]
    assert package["name"] in ours["dependencies"]
    workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]
    assert ours["version"] == workspace["version"]
    for command in ours["scripts"].values():
        module, _, function = command.partition(":")
        file = root / "faces/libmuscle-python" / f"{module.replace('.', '/')}.py"
        assert f"def {function}(" in file.read_text()
