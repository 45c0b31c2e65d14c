"""The contents of a recording, and what a replay says about a code that does something else."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest
from conftest import MICRO, ROOT


@pytest.fixture
def recorded(user):
    """A run of the model in which the micro model was recorded."""
    user.model()
    done = user.record()
    assert done.returncode == 0, done.stderr
    return user


def replayed(user, text, *words):
    """Replays the micro model with another text."""
    (user.path / "other.py").write_text(text)
    return user("replay", "run", "--only", "micro", *words, "--", sys.executable, "other.py")


@pytest.mark.parametrize("old, new, words", [
    ('None, field)', 'state.timestamp + 1.0, field)', "port result at 0: next timestamp 1.0, recorded none"),
    ('Message(state.timestamp,', 'Message(state.timestamp + 0.25,',
     "port result at 0: timestamp 0.25, recorded 0.0"),
    ('None, field)', 'None, field[:1])',
     "port result at 0: data: an array of float64 [1, 3], recorded of float64 [2, 3]"),
    ('None, field)', 'None, field.astype("float32"))',
     "port result at 0: data: an array of float32 [2, 3], recorded of float64 [2, 3]"),
    ('None, field)', 'None, {"field": field})',
     "port result at 0: data: a map of 1, recorded an array of float64 [2, 3]"),
    ('    instance.send("result"', '    if state.timestamp < 1.2:\n        instance.send("result"',
     "the code takes a message on port state, where the recording has that it sent a message on port result at "
     "1.5"),
    ('    instance.send("result"', '    for i in range(2):\n        instance.send("result"',
     "the code fails, where the recording has that it took a message on port state at 0.5"),
    ('["state"]', '["state", "more"]',
     "the code declares the port more (F_INIT), which the recording does not have"),
    ('Operator.O_F: ["result"]', 'Operator.O_I: ["result"]',
     "the code declares the port result (O_I), which was result (O_F) when it was recorded"),
    ('    state = instance.receive("state")', '    break',
     "the code ends port result within a pass, where the recording has that it sent a message on port result "
     "at 0"),
    ('    state = instance.receive("state")', '    os._exit(3)',
     "the program ended (exit status 3) before its instance had done all that was recorded"),
    ('    state = instance.receive("state")', '    instance.error_shutdown("no tissue")\n    sys.exit(1)',
     "the code fails, where the recording has that it sent a message on port result at 0"),
])
def test_what_another_code_does_first_is_named(recorded, old, new, words):
    assert old in MICRO
    done = replayed(recorded, "import os\n" + MICRO.replace(old, new))
    assert (done.returncode, done.stdout) == (1, f"micro: {words}\n"), done.stdout + done.stderr


def test_a_program_that_makes_no_instance_is_named(recorded):
    done = recorded("replay", "run", "--only", "micro", "--", "/bin/true")
    assert done.returncode == 1 and "the program ended (exit status 0) before" in done.stdout, done.stderr
    done = recorded("replay", "run", "--only", "micro", "--", "./nothing")
    assert done.returncode == 2 and "cannot be started" in done.stderr, done.stderr


def test_the_line_for_a_debugger_replays_by_hand(recorded):
    line = recorded("replay", "run", "--only", "micro", "--manual")
    assert line.returncode == 0, line.stderr
    done = subprocess.run(["sh", "-c", line.stdout], cwd=recorded.path, capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stderr) == (0, "ligament replay: 4 messages as recorded\n")


def test_a_recording_that_is_cut_short_is_replayed_as_far_as_it_goes(recorded):
    file = recorded.path / "run/records/micro.recording"
    whole = file.read_bytes()
    counts = []
    for length in range(len(whole) // 2, len(whole) - 1, len(whole) // 5):
        file.write_bytes(whole[:length])
        done = recorded("replay", "run", "--only", "micro", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        [outcome] = json.loads(done.stdout.splitlines()[-1])["instances"]
        assert outcome["state"] == "cut" and "was cut short and ends here" in outcome["text"], outcome
        counts.append(outcome["messages"])
    assert counts == sorted(counts) and counts[0] < counts[-1]


@pytest.mark.parametrize("at", [0, 8, 200, -40, -5])
def test_a_recording_that_was_changed_is_refused_before_the_program_starts(recorded, at):
    file = recorded.path / "run/records/micro.recording"
    whole = bytearray(file.read_bytes())
    whole[at] ^= 0x20
    file.write_bytes(whole)
    done = recorded("replay", "run", "--only", "micro", "--", "/bin/touch", recorded.path / "started")
    words = {0: "it is no recording", 8: "has version"}.get(at, "cannot be used")
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not (recorded.path / "started").exists()


def test_what_is_not_there_is_named(recorded):
    done = recorded("replay", "run", "--only", "macro")
    assert done.returncode == 2 and 'no recording of "macro"; it has micro' in done.stderr, done.stderr
    shutil.rmtree(recorded.path / "run/records")
    done = recorded("replay", "run", "--only", "micro")
    assert done.returncode == 2 and "ligament run --record micro" in done.stderr, done.stderr
    done = recorded("replay", "walk", "--only", "micro")
    assert done.returncode == 2 and "walk" in done.stderr, done.stderr
    for name, words in [("mikro", 'did you mean "micro"?'), ("micro,nothing", 'no instance "nothing"')]:
        done = recorded.record(name=name)
        assert done.returncode == 2 and words in done.stderr, done.stderr


def test_the_recording_of_another_instance_is_refused(user):
    user.model()
    assert user.record(name="micro,macro").returncode == 0
    assert user("replay", "run", "--only", "macro").stdout == "macro: 4 messages as recorded\n"
    records = user.path / "run/records"
    shutil.copy(records / "macro.recording", records / "micro.recording")
    done = user("replay", "run", "--only", "micro")
    assert done.returncode == 2 and "micro" in done.stderr, done.stderr


def test_runs_that_are_not_recorded_yet_are_refused(user):
    user.model()
    model = user.path / "model.ymmsl"
    model.write_text(model.read_text() + "checkpoints: {simulation_time: [{every: 1.0}]}\n")
    done = user.record()
    assert done.returncode == 2 and "--ignore checkpoints" in done.stderr, done.stderr
    assert list((user.path / "run").iterdir()) == []
    assert user.record("--ignore", "checkpoints").returncode == 0


def test_a_full_disk_ends_the_recording_and_not_the_run(user):
    user.model()
    place = user.path / "small"
    place.mkdir()
    command = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
    text = (user.path / "macro.py").read_text().replace("np.arange(6.0).reshape(2, 3)", "np.ones((500, 500))")
    (user.path / "macro.py").write_text(text)
    script = (f"mount -t tmpfs -o size=6m none {place} && {command} run model.ymmsl --record micro --run-dir "
              f"{place}/run; echo status $?; cp -r {place}/run kept")
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], cwd=user.path, capture_output=True,
                          text=True, timeout=120, check=False)
    said = done.stdout + done.stderr
    if "unshare" in said:
        pytest.skip(said)
    assert "status 0" in said and "recording-stopped" in said and "the run goes on" in said, said
    shutil.move(user.path / "kept", user.path / "run")
    done = user("replay", "run", "--only", "micro", "--json")
    [outcome] = json.loads(done.stdout.splitlines()[-1])["instances"]
    assert (outcome["state"], done.returncode) == ("cut", 0), done.stdout + done.stderr


def test_a_run_that_records_nothing_has_no_records(user):
    user.model()
    done = user("run", "model.ymmsl", "--run-dir", "run")
    assert done.returncode == 0, done.stderr
    assert not (user.path / "run/records").exists()


def test_a_program_ends_with_the_replay_that_started_it(recorded):
    (recorded.path / "other.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(300)\n")
    words = [recorded.command, "replay", "run", "--only", "micro", "--", sys.executable, "other.py"]
    with subprocess.Popen(words, cwd=recorded.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "TMPDIR": recorded.temporary}) as replay:
        assert replay.stdout.readline() == "begun\n"
        replay.kill()
        # The program has this pipe, too, so its end is the program's.
        begun = time.monotonic()
        assert replay.stdout.read() == ""
        assert time.monotonic() - begun < 60
