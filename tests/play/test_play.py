"""`ligament play`: one submodel alone, against a right and a wrong program, and against programs that fail."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

MICRO = """
import sys
import time
from ligament import Instance, Message, Operator

# A final message is the only one of its pass; others may come at any time.
end = Operator.O_I if {"twice", "endless"} & set(sys.argv) else Operator.O_F
ports = {Operator.F_INIT: ["start"], Operator.O_I: ["seen[]"], Operator.O_F: []}
ports[end] = ports[end] + ["end"]
instance = Instance(ports)
while instance.reuse_instance():
    start = instance.receive("start")
    k = instance.get_setting("k", "float")
    if instance.is_connected("seen"):
        instance.set_port_length("seen", 2)
        for slot in range(2):
            instance.send("seen", Message(start.timestamp, data=slot), slot=slot)
    data = start.data * k + (1e-12 if "near" in sys.argv else 0)
    instance.send("end", Message(start.timestamp, start.timestamp + 1, data))
    if "twice" in sys.argv:
        instance.send("end", Message(start.timestamp, data="more"))
    while "endless" in sys.argv:
        instance.send("end", Message(start.timestamp, data="more"))
    if "once" in sys.argv:
        break
"""

CASE = """ligament_case: 1
description: an array is scaled
ports: {f_init: start, o_f: end}
settings: {k: 2.0}
messages:
  - {to: start, timestamp: 0.5, data: {array: {data: [[1, 2], [3, 4]]}}}
  - {from: end, timestamp: 0.5, next_timestamp: 1.5, data: {array: {data: [[2, 4], [6, 8]]}}}
  - {to: start, timestamp: 2.0, data: {array: {data: [1]}}}
  - {from: end, data: {array: {data: [2.0]}}}
"""


@pytest.fixture
def play(tmp_path):
    (tmp_path / "micro.py").write_text(MICRO)

    def run(case, *words, options=()):
        (tmp_path / "case.yaml").write_text(case)
        (tmp_path / "tmp").mkdir(exist_ok=True)
        command = ["ligament", "play", "case.yaml", *options, "--", *(words or (sys.executable, "micro.py"))]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})

    run.left = lambda: sorted(path.name for path in (tmp_path / "tmp").iterdir())
    return run


def micro(*words):
    return [sys.executable, "micro.py", *words]


def test_a_right_submodel_passes_and_leaves_nothing(play):
    done = play(CASE)
    assert (done.returncode, done.stdout) == (0, "2 of 2 messages as expected\n"), done.stderr
    assert play.left() == []


def test_a_wrong_value_is_named_with_line_place_and_distance(play):
    done = play(CASE.replace("[6, 8]", "[6, 9]"))
    assert done.returncode == 1
    assert "case.yaml:7: end: at 0.5: data[1, 1]: 8.0, expected 9.0 (off by 1.0)\n" in done.stdout
    assert "1 of 2 messages as expected" in done.stdout
    assert "run directory: " in done.stdout and len(play.left()) == 1


def test_a_tolerance_admits_what_is_near(play):
    assert play(CASE, *micro("near")).returncode == 1
    assert play(CASE.replace("messages:", "tolerance: 1.0e-9\nmessages:"), *micro("near")).returncode == 0


def test_a_message_that_is_not_expected_is_an_error(play):
    done = play(CASE.replace("o_f: end", "o_i: end"), *micro("twice"))
    assert done.returncode == 1
    assert 'that the case does not expect: "more"' in done.stdout


def test_a_submodel_that_sends_without_end_is_ended(play):
    case = CASE.replace("o_f: end", "o_i: end").split("  - {to: start, timestamp: 2.0")[0]
    done = play(case, *micro("endless"))
    assert done.returncode == 1
    assert done.stdout.count("that the case does not expect") == 20


def test_nothing_temporary_stays_of_a_run_that_was_to_be_elsewhere(play):
    wrong = play(CASE.replace("[2.0]", "[2.5]"), options=["--run-dir", "kept"])
    assert wrong.returncode == 1 and "run directory: kept" in wrong.stdout
    refused = play(CASE, options=["--run-dir", "kept"])
    assert refused.returncode == 2 and "holds a run already" in refused.stderr
    assert play.left() == []


def test_a_submodel_that_ends_early_is_named(play):
    done = play(CASE, *micro("once"))
    assert done.returncode == 1
    assert "case.yaml:9: end: the submodel ended before it sent this message" in done.stdout


def test_slots_are_fed_and_compared(play):
    case = CASE.replace("o_f: end}", "o_f: end, o_i: 'seen[]'}")
    seen = "".join(f"  - {{from: seen, slot: {slot}, data: {slot}}}\n" for slot in range(2))
    case = case.replace("  - {from: end", seen + "  - {from: end")
    done = play(case)
    assert (done.returncode, done.stdout) == (0, "6 of 6 messages as expected\n"), done.stderr
    wrong = play(case.replace("slot: 1, data: 1", "slot: 1, data: 2"))
    assert wrong.returncode == 1 and "case.yaml:8: seen[1]: at 0.5: 1, expected 2" in wrong.stdout


def test_a_failure_of_the_submodel_is_told_as_that_of_a_run(play):
    done = play(CASE.replace("k:", "q:"))
    assert done.returncode == 1
    assert 'the setting "k" is not set' in done.stderr and "Traceback" in done.stderr


def test_no_answer_is_waited_for_no_longer_than_said(play):
    silent = ("from ligament import Instance\nimport signal\ni = "
              "Instance()\ni.reuse_instance()\nsignal.pause()\n")
    done = play(CASE, sys.executable, "-c", silent, options=["--timeout", "1s"])
    assert done.returncode == 1
    assert "case.yaml:7: end: nothing came within 1 s" in done.stdout


def test_a_mistake_in_the_case_is_bad_use_and_starts_nothing(play):
    done = play(CASE.replace("- {to: start", "- {to: strat", 1))
    assert done.returncode == 2
    assert 'case.yaml:6:10: error: the case has no port "strat"; did you mean "start"?' in done.stderr
    assert play.left() == []
    missing = play(CASE, "./weather")
    assert missing.returncode == 2 and "weather" in missing.stderr
    assert play.left() == []


def test_scripts_get_json(play):
    right = json.loads(play(CASE, options=["--json"]).stdout)
    assert (right["ok"], right["right"], right["wrong"]) == (True, 2, [])
    wrong = json.loads(play(CASE.replace("[2.0]", "[2.5]"), options=["--json"]).stdout)
    assert (wrong["ok"], wrong["wrong"][0]["line"]) == (False, 9)
    assert Path(wrong["run_directory"]).is_dir()


def is_up(record):
    """Waits for the first status of a run, and returns it."""
    return {key: value for key, value in json.loads(record.read_text()).items()
            if value} if record.exists() else {}


def test_a_submodel_can_be_started_by_hand(tmp_path):
    (tmp_path / "micro.py").write_text(MICRO)
    (tmp_path / "case.yaml").write_text(CASE)
    playing = subprocess.Popen(["ligament", "play", "case.yaml", "--manual", "--run-dir", "run"], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = playing.stderr.readline()
    assert said.startswith("start the submodel: ligament join ") and said.endswith(
        " submodel -- PROGRAM\n"), said
    deadline = time.monotonic() + 60
    while "agent" not in is_up(tmp_path / "run/run.json"):
        assert time.monotonic() < deadline and playing.poll() is None
        time.sleep(0.05)
    subprocess.run(["ligament", "join", tmp_path / "run", "submodel", "--", sys.executable,
                    tmp_path / "micro.py"],
                   check=True, timeout=60)
    printed, _ = playing.communicate(timeout=60)
    assert (playing.returncode, printed) == (0, "2 of 2 messages as expected\n")
