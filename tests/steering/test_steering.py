"""Settings that change while a model runs: in all instances from the same model time on, or in none; halts; and
a repetition of the run."""

import json
import os
import signal
import subprocess

import pytest
from conftest import LONE


def in_force(table, at, before, after):
    """Returns true if the setting has one value before a time, and another from it on."""
    assert table and {value for time, value in table if time < at} == {before}
    assert {value for time, value in table if time >= at} == {after}


def test_a_change_is_in_force_in_all_from_the_same_model_time_on_and_a_run_of_the_record_gives_the_same(
    steered):
    run = steered()
    run.starts()
    run.reaches(5.0)
    told = run.steer("D=0.25")
    record = run.ends()
    at = told["at"]
    assert 5.0 < at < 400.0
    for instance in ("macro", "micro"):
        in_force(run.table(instance), at, 0.5, 0.25)
    change, = record["steering"]
    assert change["state"] == "in force" and change["model_time"] == at and change["what"] == "set"
    assert change["settings"] == [{"name": "D", "from": "0.5", "to": "0.25"}]
    assert "@" in change["who"] and change["asked"].endswith("Z")
    lines = [json.loads(line) for line in (run.path / "run/journal.jsonl").read_text().splitlines()]
    assert [line["state"] for line in lines if line["event"] == "steering"] == ["asked", "agreed", "in force"]

    run.starts("--steered", "run", run="again")
    again = run.ends("again")
    for instance in ("macro", "micro"):
        assert run.table(instance) == run.table(instance, "again")
    assert [one["model_time"] for one in again["steering"]] == [at]


def test_a_change_at_a_time_to_come_and_one_that_is_read_once_a_pass(steered):
    run = steered()
    run.starts()
    run.reaches(3.0)
    assert run.steer("macro.D=1", "--at", "6012 h")["at"] == 250.5
    assert run.steer("micro.k=7", "--at", "300.25")["at"] == 300.25
    run.ends()
    in_force(run.table("macro"), 250.5, 0.5, 1.0)
    assert {value for _, value in run.table("micro")} == {0.5}
    in_force(run.table("micro", name="passes.txt"), 300.25, 2.0, 7.0)


def test_a_change_is_in_force_in_all_domains_from_the_same_model_time_on(steered):
    run = steered()
    processes = run.starts_in_two_domains()
    try:
        run.reaches(5.0)
        at = run.steer("D=0.25", "--patience", "60s")["at"]
        run.steer("micro.k=7", "--at", "300.25", "--patience", "60s")
        assert "has passed 1 d already" in run.steer("D=0.1", "--at", "1", "--patience", "60s", status=1)
        run.steer("--pause", "--patience", "60s")
        run.waits_until(lambda status: status.get("halt", {}).get("held"))
        run.steer("--resume")
        run.is_let_go()
        assert [process.wait(timeout=120) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for instance in ("macro", "micro"):
        in_force(run.table(instance), at, 0.5, 0.25)
    in_force(run.table("micro", name="passes.txt"), 300.25, 2.0, 7.0)


def test_what_cannot_be_is_refused_with_the_reason_and_the_run_goes_on(steered):
    run = steered()
    run.starts()
    run.reaches(20.0)
    for words, why in (
        (["D=1.5"], "1 mm^2/s is the most"), (["D=-0.1"], "the least"), (["D=.nan"], "finite"),
        (["D=warm"], "type float"),
        (["D=[1.0]"], "type float"), (["n=2.5"], "type int"), (["t_max=1"], "not-steerable"),
        (["d=1"], "did you mean \"D\""),
        (["D"], "no \"=\""), (["D=0.1", "D=0.2"], "twice"), (["D=0.1", "micro.k=2"], "another moment"),
        (["D=0.1", "--at", "2"], "has passed 2 d already"),
    ):
        assert why in run.steer(*words, status=1), words
    assert "4096 are the most" in run.steer("D=" + 100_000 * "1", status=1)
    assert run.steer("D=0.1", "--dry-run")["instances"] == ["macro", "micro"]
    listed = {one["name"]: one for one in run.steer()["steerable"]}
    assert (listed["D"]["min"], listed["D"]["max"], listed["D"]["unit"],
            listed["D"]["value"]) == (0.0, 1.0, "mm^2/s", "0.5")
    assert listed["micro.k"]["apply"] == "restart" and listed["n"]["type"] == "int"
    record = run.ends()
    assert {one["state"] for one in record["steering"]} == {"refused"}
    assert {value for _, value in run.table("macro")} == {0.5}


def test_nothing_changes_where_one_never_calls_steer_and_nobody_waits_for_it_any_more(steered):
    run = steered(micro="deaf")
    run.starts()
    run.reaches(5.0)
    assert "micro has not called steer(t) yet" in run.steer("D=0.1", "--patience", "3s", status=1)
    assert run.steer("macro.D=0.1")["ok"]
    assert "did you mean" in run.steer("makro.D=0.1", status=1)
    pending = subprocess.Popen([run.ligament, "steer", "run", "D=0.2", "--patience", "100s"], cwd=run.path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    held = run.waits_until(lambda status: [one for one in status["instances"] if one["state"] == "held"])
    assert [one["name"] for one in held] == ["macro"] and "change 3" in held[0]["waits_for"]
    assert run.steer("--withdraw")["change"] == 3
    assert "withdrawn by" in pending.communicate(timeout=100)[1] and pending.returncode == 1
    run.ends()
    assert {value for _, value in run.table("macro")} == {0.5, 0.1}


def test_a_halt_waits_for_nobody_who_never_calls_steer_and_says_at_once_who_that_is(steered):
    run = steered(lone=LONE)
    run.starts()
    run.reaches(5.0)
    # No test waits this long.
    told = run.steer("--pause", "--patience", "600s")
    assert told["unsteered"] == ["lone"]
    held = run.waits_until(lambda status: status.get("halt", {}).get("held"))
    assert "lone" not in held
    assert "lone has never called steer(t): it goes on until it waits for others" in run.call("steer", "run")
    assert "lone has never called steer(t)" in (run.path / "run/manager.log").read_text()
    run.steer("--resume")
    assert "lone has never called steer(t)" in run.call("steer", "run", "--pause")
    run.steer("--resume")
    assert run.ends()["state"] == "done"


@pytest.mark.parametrize("signals", [[signal.SIGSTOP, signal.SIGCONT], [signal.SIGKILL]])
def test_one_that_is_stopped_or_killed_between_accepting_and_the_time_makes_it_then_or_never(steered, signals):
    run = steered()
    run.starts()
    run.reaches(20.0)
    # This time is so far away that it does not come before the signal, on any machine.
    at = run.steer("D=0.25", "--at", "200")["at"]
    [pid] = [one["pid"] for one in json.loads(run.call("status", "run",
                                                       "--json"))["instances"] if one["name"] == "micro"]
    os.kill(pid, signals[0])
    run.is_let_go()
    if signals[0] == signal.SIGSTOP:
        # The macro model waits for the micro model, and makes no further steps.
        run.waits_until(lambda status: any(one.get("stopped") for one in status["instances"]))
        assert max(time for time, _ in run.table("macro")) < at
        os.kill(pid, signals[1])
    killed = signals[0] == signal.SIGKILL
    record = run.ends(status=1 if killed else 0)
    assert record["state"] == ("failed" if killed else "done") and record["steering"][0]["model_time"] == at
    for instance in ("macro", "micro"):
        table = run.table(instance)
        assert {value for time, value in table if time < at} == {0.5}
        assert {value for time, value in table if time >= at} == (set() if killed else {0.25})


def test_a_run_stands_still_makes_a_step_goes_on_to_a_time_and_goes_on(steered):
    run = steered()
    run.starts()
    run.reaches(5.0)
    at = run.steer("--pause")["at"]
    run.waits_until(lambda status: status.get("halt", {}).get("held"))
    steps = len(run.table("macro"))
    assert "stands still" in run.call("steer", "run")
    assert "to stand still from" in run.steer("--pause", status=1)
    # The instances agree on a change while none of them makes a step.
    assert run.steer("D=0.75")["at"] >= at
    until = run.steer("--step")["until"]
    assert until > at
    run.waits_until(lambda status: status["halt"]["held"])
    assert len(run.table("macro")) <= steps + 1
    run.is_let_go()
    assert run.steer("--until", "350")["until"] == 350.0
    run.waits_until(lambda status: status["halt"]["held"])
    assert max(time for name in ("macro", "micro") for time, _ in run.table(name)) < 350.0
    run.steer("--resume")
    record = run.ends()
    assert len(run.table("macro")) == 400 and record["state"] == "done"
    waited = json.loads(run.call("timeline", "run", "--json"))
    assert "steering" in json.dumps(waited)


def test_a_run_stops_at_a_model_time(steered):
    run = steered()
    run.starts()
    assert run.steer("--stop", "--at", "200")["at"] == 200.0
    record = run.ends(status=1)
    assert record["state"] == "stopped"
    assert max(time for time, _ in run.table("macro")) == 199.0


def test_one_that_ends_before_the_time_does_not_keep_the_others_from_making_the_change(steered):
    run = steered()
    run.starts("--setting", "t_max=200.0")
    run.reaches(5.0)
    run.steer("D=0.1", "--at", "1000")
    record = run.ends()
    assert record["state"] == "done" and record["steering"][0]["model_time"] == 1000.0
    assert {value for _, value in run.table("macro")} == {0.5}
