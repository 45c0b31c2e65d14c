"""Whoever watches or asks a run comes to the run that goes on after its restart."""

import json
import subprocess
import time

import pytest
from conftest import COMMAND, LIMIT_S, Run
from test_resume import calls, every

CRASH_STEP = 20


@pytest.fixture
def restarted(going, tmp_path, monkeypatch):
    """Starts a run that dies after a while, and goes on as another one."""
    crashes = tmp_path / "crashes"
    crashes.mkdir()
    (crashes / f"macro-{CRASH_STEP}").touch()
    monkeypatch.setenv("CRASHES", str(crashes))
    model = calls().replace("end: 12.0", "end: 80.0") + every(4.0)
    run = going(model, pause="0.05", arguments=["--restarts", "1"])
    run.comes_to("macro", 2)
    return run


def begun(run, *words):
    return subprocess.Popen([COMMAND, *words, str(run.directory)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            cwd=run.directory.parent)


def told(process):
    return process.communicate(timeout=LIMIT_S)[0]


def asked(run, *words):
    return subprocess.run([COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S, cwd=run.directory.parent)


def comes_back(run):
    """Waits until the next run has made steps; returns it."""
    next_run = Run(subprocess.CompletedProcess([], 0, ""), run.directory.with_name("run-restart1"))
    end = time.monotonic() + LIMIT_S
    while not next_run.file("macro", "steps.txt"):
        assert time.monotonic() < end and run.process.poll() is None
        time.sleep(0.02)
    return next_run


def test_attach_and_logs_follow_a_restart(restarted):
    attached, record = begun(restarted, "attach"), begun(restarted, "attach", "--json")
    followed = begun(restarted, "logs", "-f")
    output = subprocess.Popen([COMMAND, "logs", "-f", str(restarted.directory), "macro"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, cwd=restarted.directory.parent)
    assert restarted.ended().status == 0, restarted.text
    text = told(attached)
    assert attached.returncode == 0, text
    assert "run goes on in" in text and "run-restart1" in text
    assert text.index("SIGKILL") < text.index("run goes on in")
    assert json.loads(told(record))["run"] == "run-restart1" and record.returncode == 0
    log = told(followed)
    assert "run goes on in" in log
    assert log.count("checkpoint 1 is saved") == 2, log
    assert "goes on in" in told(output) and output.returncode == 0


def test_steer_checkpoint_and_view_reach_the_restart(restarted):
    run = restarted
    next_run = comes_back(run)
    assert run.record()["continued_by"] == str(next_run.directory)
    saved = asked(run, "checkpoint", str(run.directory), "--wait", "--json")
    assert saved.returncode == 0, saved.stderr
    listed = json.loads(asked(run, "steer", str(run.directory), "--json").stdout)
    assert [one["what"] for one in listed["changes"]] == ["checkpoint"]
    page = subprocess.Popen([COMMAND, "view", str(run.directory), "--json"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, text=True, cwd=run.directory.parent)
    try:
        assert json.loads(page.stdout.readline())["run"] == "run-restart1"
    finally:
        page.terminate()
        page.communicate()
    assert run.ended().status == 0, run.text
    number = json.loads(saved.stdout)["checkpoint"]
    assert next_run.record()["steering"][0]["checkpoint"] == number


def test_a_run_that_fails_for_good_keeps_nobody_waiting(going, tmp_path, monkeypatch):
    (tmp_path / "crashes").mkdir()
    (tmp_path / "crashes" / "macro-4").touch()
    monkeypatch.setenv("CRASHES", str(tmp_path / "crashes"))
    run = going(calls() + every(4.0))
    run.comes_to("macro", 1)
    attached = begun(run, "attach")
    assert run.ended().status != 0
    text = told(attached)
    assert attached.returncode == run.status and "goes on" not in text, text
