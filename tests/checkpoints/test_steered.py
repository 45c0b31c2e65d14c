"""Runs with steered settings that are resumed: no change is lost, and no setting that the user gives."""

import subprocess
import time

import pytest
from conftest import COMMAND, LIMIT_S

# It computes x = 2 x + k in each of five steps, and saves before it comes to the steering of the next step.
CODE = """
    import time
    instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        if instance.resuming():
            saved = instance.load_snapshot()
            time_now, x = saved.timestamp, saved.data
        if instance.should_init():
            time_now, x = 0.0, 0.0
        while time_now < 5.0:
            instance.steer(time_now)
            numbers = os.environ.get("NUMBERS")
            # A request is answered in a call.
            while time_now == 0.0 and numbers and not os.path.exists(f"{numbers}/go"):
                instance.steer(time_now)
                time.sleep(0.01)
            x = 2.0 * x + instance.get_setting("k", "float")
            time_now += 1.0
            crash = os.environ.get("CRASH")
            if time_now == 3.0 and crash and os.path.exists(crash):
                os.remove(crash)
                os.abort()
            if instance.should_save_snapshot(time_now):
                instance.save_snapshot(Message(time_now, None, x))
        open("end.txt", "w").write(str(x))
        if instance.should_save_final_snapshot():
            instance.save_final_snapshot(Message(time_now, None, x))
"""


def model_of(code):
    return f"""
ymmsl_version: v0.2
models: {{one: {{components: {{code: {{ports: {{o_f: out}}, implementation: code}}}}}}}}
programs: {{code: {code}}}
settings: {{k: 1.0}}
checkpoints: {{simulation_time: [{{every: 1}}]}}
ligament: {{steerable: {{k: {{}}}}, checkpoints: {{keep: 9}}}}
"""


def steer(run, *words):
    return subprocess.run([COMMAND, "steer", str(run.directory), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S)


def steered(run):
    """Sets k to 10 from the time 1.5 on, which is between two steps, and lets the code go on."""
    end = time.monotonic() + LIMIT_S
    while (asked := steer(run, "k=10.0", "--at", "1.5")).returncode != 0:
        assert run.process.poll() is None, run.ended().text
        assert time.monotonic() < end, asked.stderr
    (run.numbers / "go").touch()
    assert run.ended().status == 0, run.text
    return run


@pytest.fixture
def run(going, python_code):
    run = steered(going(model_of(python_code("code", CODE))))
    assert run.end("code") == "94.0"
    return run


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_change_between_two_steps_is_not_lost(run, start, number):
    resumed = start(run.directory.parent / "model.ymmsl", arguments=["--resume", f"{run.directory}@{number}"])
    assert resumed.status == 0 and resumed.end("code") == "94.0", resumed.text
    assert resumed.record()["steering"][0]["settings"][0]["to"] == "10.0"


def test_a_setting_of_the_resumed_run_replaces_the_steered_one(run, start):
    resumed = start(run.directory.parent / "model.ymmsl",
                    arguments=["--resume", f"{run.directory}@3", "-s", "k=3.0"])
    # At 3 x is 16: 2 (2 · 16 + 3) + 3.
    assert resumed.status == 0 and resumed.end("code") == "73.0", resumed.text


def test_a_change_between_two_steps_is_not_lost_in_a_restart(going, python_code, tmp_path, monkeypatch):
    crash = tmp_path / "crash"
    crash.touch()
    monkeypatch.setenv("CRASH", str(crash))
    run = steered(going(model_of(python_code("code", CODE)), arguments=["--restarts", "1"]))
    assert run.restarted(1).end("code") == "94.0", run.text
