"""Checkpoints that somebody asks for while the run goes on."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, LIMIT_S
from slow_cases import slow
from test_resume import calls, every, peers


def ends(run, *names):
    return [run.end(name) for name in names]


def many_steps(model):
    return model.replace("steps: 24", "steps: 150")


@pytest.mark.parametrize("lead", [0, 3])
def test_a_checkpoint_on_request_with_messages_on_their_way(start, going, lead):
    model = many_steps(peers(lead))
    plain = start(model)
    run = going(model)
    run.comes_to("fast", 10)
    number, at = run.saved()
    assert number == 1 and 10 <= at < 150
    second, later = run.saved()
    assert second == 2 and later > at
    assert run.ended().status == 0, run.text
    assert set(run.checkpoints()) == {1, 2}
    for name in ("fast", "slow"):
        assert run.end(name) == plain.end(name)
        # Each has saved for both checkpoints, and perhaps for a time that came too late for the other one.
        saves = [float(line.split()[1]) for line in run.file(name, "saves.txt").splitlines()]
        assert saves == sorted(set(saves)) and {at, later} <= set(saves) and saves[-1] == later
    for number in (1, 2):
        resumed = start(model, run.resume_file(number))
        assert resumed.status == 0 and "never received" not in resumed.text, resumed.text
        assert ends(resumed, "fast", "slow") == ends(plain, "fast", "slow")


def test_a_model_that_calls_another_is_saved_within_a_call(start, going):
    model = calls().replace("end: 12.0", "end: 60.0")
    plain = start(model)
    run = going(model)
    run.comes_to("macro", 5)
    number, at = run.saved("--at", "30.25")
    assert (number, at) == (1, 30.25)
    assert run.ended().status == 0, run.text
    assert run.file("macro", "saves.txt") == "saves 31.0\n"
    assert run.file("micro", "saves.txt") == "saves 30.3\n"
    resumed = start(model, run.resume_file(1))
    assert ends(resumed, "macro", "micro") == ends(plain, "macro", "micro")


def test_an_instance_without_state_is_saved_between_its_passes(start, going):
    model = calls("stateless").replace("end: 12.0", "end: 80.0")
    plain = start(model)
    run = going(model)
    run.comes_to("macro", 5)
    number, at = run.saved()
    assert run.ended().status == 0, run.text
    resumed = start(model, run.resume_file(number))
    assert resumed.status == 0 and resumed.end("macro") == plain.end("macro")


def test_a_time_that_is_over_is_refused(going):
    run = going(many_steps(peers()))
    run.comes_to("fast", 20)
    why = run.refused("--at", "3")
    assert "has passed 3 already: it is at" in why and ("fast" in why or "slow" in why)
    assert run.saved()[0] == 1
    assert run.ended().status == 0, run.text


def test_two_requests_at_once_are_one_checkpoint(going):
    run = going(many_steps(peers()))
    run.comes_to("fast", 5)
    both = [subprocess.Popen([COMMAND, "checkpoint", str(run.directory), "--json", "--wait", "--at", "40"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [json.loads(one.communicate(timeout=LIMIT_S)[0]) for one in both]
    assert [(answer["checkpoint"], answer["at"]) for answer in answers] == [(1, 40.0)] * 2
    assert answers[0]["change"] != answers[1]["change"]
    assert run.ended().status == 0, run.text
    assert list(run.checkpoints()) == [1]
    assert run.file("fast", "saves.txt") == "saves 40.0\n"


def test_a_request_at_the_moment_of_a_rule_is_the_rule_s_checkpoint(going):
    run = going(many_steps(peers()) + every(50.0, ", at_end: true"))
    run.comes_to("fast", 10)
    assert run.saved("--at", "50")[1] == 50.0
    status, answer = run.ask("--at", "500")
    assert status == 0 and answer["at"] == 500.0, "it is asked for, and the run ends before it"
    assert run.saved("--at", "501")[1] is None, "the one at the end is the last chance"
    assert run.ended().status == 0, run.text
    times = [one["model_time"] for one in run.checkpoints().values()]
    assert times == sorted(set(times), key=times.index) and times.count(50.0) == 1
    assert run.file("fast", "saves.txt").splitlines().count("saves 50.0") == 1


def test_an_instance_that_dies_before_its_save_leaves_the_last_good_checkpoint(start, going):
    model = many_steps(peers())
    plain = start(model)
    run = going(model)
    run.comes_to("fast", 5)
    number, at = run.saved()
    wait = subprocess.Popen([COMMAND, "checkpoint", str(run.directory), "--json", "--wait", "--at", "140"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run.comes_to("fast", run.steps("fast") + 5)
    os.kill(min(int(file.name) for file in run.numbers.iterdir()), signal.SIGKILL)
    said = "".join(wait.communicate(timeout=LIMIT_S))
    assert wait.returncode != 0
    assert "the checkpoint at 140 is not whole" in said and "no state for it has come from" in said
    assert run.ended().status != 0
    assert list(run.checkpoints()) == [number]
    resumed = start(model, run.resume_file(number))
    assert ends(resumed, "fast", "slow") == ends(plain, "fast", "slow")


def test_a_code_without_a_flag_is_named(going):
    run = going(calls("unflagged").replace("end: 12.0", "end: 60.0"))
    run.comes_to("macro", 3)
    for arguments in ([], ["--wait"], ["--at", "50"]):
        why = run.refused(*arguments)
        assert "micro does not say what it keeps" in why and "USES_CHECKPOINT_API" in why
    assert run.ended().status == 0, run.text
    assert run.refused().count("not-running") == 1


def test_a_request_that_the_run_does_not_live_to_see(going):
    run = going(many_steps(peers()))
    run.comes_to("fast", 100)
    why = run.refused("--wait", "--at", "1e6")
    assert "no instance is left" in why or "the run ends" in why
    assert run.ended().status == 0 and run.checkpoints() == {}


def test_people_s_changes_do_not_wait_for_a_checkpoint(going, monkeypatch):
    """All stand still although a checkpoint is asked for, and it is made when they go on."""
    monkeypatch.setenv("STEERS", "1")
    run = going(many_steps(peers()))
    run.comes_to("fast", 5)

    def steers(*words):
        done = subprocess.run([COMMAND, "steer", str(run.directory), *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr

    status, answer = run.ask("--at", "120")
    assert status == 0 and answer["at"] == 120.0
    steers("--pause")
    status, answer = run.ask()
    assert status == 0 and answer["at"] < 120.0, "they say how far they are while they stand"
    assert run.checkpoints() == {}
    steers("--resume")
    assert run.saved("--at", "130") == (3, 130.0)
    assert run.ended().status == 0, run.text
    made = [(one["what"], one["state"], one.get("checkpoint")) for one in run.record()["steering"]]
    assert [one for one in made if one[0] == "checkpoint"] == [
        ("checkpoint", "in force", number) for number in (2, 1, 3)]
    assert {number: one["model_time"] for number, one in run.checkpoints().items()} == {2: 120.0, 3: 130.0}


def test_a_request_can_be_withdrawn(going):
    run = going(many_steps(peers()))
    run.comes_to("fast", 5)
    change = run.ask("--at", "60")[1]["change"]
    done = subprocess.run([COMMAND, "steer", str(run.directory), "--withdraw", str(change)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert run.ended().status == 0, run.text
    assert run.checkpoints() == {} and run.file("fast", "saves.txt") == ""
    assert "withdrawn by" in run.record()["steering"][0]["reason"]


RULES = ["[{every: 0.5}]", "[{at: [0.4, 0.9, 1.6]}]", "[{start: 0.3, stop: 1.9, every: 0.4}]"]


@pytest.mark.parametrize("rules", [RULES[2], *slow(*RULES[:2])])
def test_rules_by_the_clock_on_the_wall(start, going, rules):
    model = many_steps(peers(2))
    plain = start(model)
    run = going(model + f"checkpoints: {{wallclock_time: {rules}}}\nligament: {{checkpoints: {{keep: 100}}}}\n")
    assert run.ended().status == 0, run.text
    found = run.checkpoints()
    # On a busy machine, all of the times but the last may lie before the first step.
    assert len(found) >= 1, run.text
    times = [found[number]["model_time"] for number in sorted(found)]
    assert times == sorted(set(times)) and None not in times
    assert "steering" not in run.record(), "nobody has asked"
    for number in found:
        resumed = start(model, run.resume_file(number))
        assert resumed.status == 0, resumed.text
        assert ends(resumed, "fast", "slow") == ends(plain, "fast", "slow")


def test_a_code_without_a_flag_is_refused_at_the_start_if_the_clock_asks(start):
    refused = start(calls("unflagged") + "checkpoints: {wallclock_time: [{every: 600}]}\n")
    assert refused.status != 0 and "checkpoint-flags" in refused.text and "micro" in refused.text


def test_no_checkpoint_is_promised_after_an_instance_that_may_fail_has_failed(going, python_code):
    code = python_code("code", """
        import time
        instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
            if instance.resuming():
                instance.load_snapshot()
            instance.should_init()
            number = 0
            while number < 3 or not os.path.exists(os.environ["NUMBERS"] + "/go"):
                number += 1
                open("steps.txt", "a").write(f"{number}\\n")
                if instance.name == "b" and number == 3:
                    os.abort()
                if instance.should_save_snapshot(float(number)):
                    instance.save_snapshot(Message(float(number), None, number))
                time.sleep(0.02)
            if instance.should_save_final_snapshot():
                instance.save_final_snapshot(Message(float(number), None, number))
        """)
    run = going(f"""
ymmsl_version: v0.2
models:
  m:
    components:
      a: {{ports: {{o_f: out}}, implementation: code}}
      b: {{ports: {{o_f: out}}, implementation: code}}
programs: {{code: {code}}}
ligament: {{may_fail: [b]}}
checkpoints: {{simulation_time: [{{every: 1}}]}}
""")
    log = run.directory / "manager.log"
    end = time.monotonic() + LIMIT_S
    while not (log.exists() and "no further checkpoint is saved: b has failed" in log.read_text()):
        assert run.process.poll() is None, run.ended().text
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.01)
    assert "b has failed, so its state cannot be saved" in run.refused("--wait")
    (run.numbers / "go").touch()
    assert run.ended().status == 0, run.text
