"""Runs that seem to hang, but do not: each of them goes on to its end."""

import os
import signal
import subprocess

import pytest

# Scripts and conduits, then the section `ligament:` of the model. A wait of two seconds covers several rounds
# of the manager.
SLOW = {
    "a computation of seconds": (
        {"macro": "send out; receive in", "micro": "receive in; compute 2.5; send out"},
        ["macro.out: micro.in", "micro.out: macro.in"],
    ),
    "two that wait for each other with time-outs": (
        {"left": "within in 2; send out", "right": "within in 2.5; send out"},
        ["left.out: right.in", "right.out: left.in"],
    ),
    "a peer that waits for it with a time-out": (
        {"patient": "receive in; send out", "timed": "within in 2.5; send out; receive in"},
        ["patient.out: timed.in", "timed.out: patient.in"],
    ),
    "any of several, of which one is slow": (
        {"hub": "any a b; send out; any a b", "stuck": "receive in; send out", "slow": "sleep 2.5; send out"},
        ["stuck.out: hub.a", "slow.out: hub.b", "hub.out: stuck.in"],
    ),
    "full conduits in a cycle, which larger budgets save": (
        {
            "left": "x400 send many 10000; send first; receive last; x300 receive much",
            "right": "x300 send much 10000; send last; receive first; x400 receive many",
        },
        ["left.many: right.many", "left.first: right.first", "right.much: left.much", "right.last: left.last"],
        "{budget: 100 kB}",
    ),
    "a ring of twelve on few cores": (
        {f"p{i}": ("x150 send out, receive in" if i == 0 else "x150 receive in, send out") for i in range(12)},
        [f"p{i}.out: p{(i + 1) % 12}.in" for i in range(12)],
    ),
    "one that registers late": (
        {"early": "receive in; send out", "late": "late 2.5; send out; receive in"},
        ["early.out: late.in", "late.out: early.in"],
    ),
    "a receiver that comes when its sender is gone": (
        {"sender": "x100 send out 5000", "slow": "sleep 2.5; x100 receive in"},
        ["sender.out: slow.in"],
    ),
    "one that asks again and again instead of waiting": (
        {"asks": "poll in; send out", "slow": "compute 2.5; send out; receive in"},
        ["asks.out: slow.in", "slow.out: asks.in"],
    ),
    "one that sends to itself first": (
        {"echo": "x1000 send out 100, receive in; sleep 2; send out; receive in"},
        ["echo.out: echo.in"],
    ),
    "one that frees memory late": (
        {"flood": "x60 send out 1000000", "slow": "sleep 2.5; x60 receive in"},
        ["flood.out: slow.in"],
        "{memory: 16 MiB, budget: 1 GiB}",
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_run_is_left_alone(name, play):
    scripts, conduits, *options = SLOW[name]
    with play(scripts, conduits, ligament_options="".join(options)) as run:
        status, output, record = run.end()
    assert status == 0, output
    assert record["state"] == "done" and "deadlock" not in record
    assert "wait for each other:" not in output, output
    if "budgets save" in name:
        assert "the budget of" in run.log()


def test_a_stopped_process_that_has_been_sent_to_is_not_called_dead(play, tmp_path):
    go = tmp_path / "go"
    scripts = {"macro": f"receive ready; await {go}; send out; receive in",
               "micro": "send ready; receive in; send out"}
    conduits = ["macro.out: micro.in", "micro.out: macro.in", "micro.ready: macro.ready"]
    with play(scripts, conduits) as run:
        waits = run.until(lambda s: s["micro"].get("waits_for") == "macro.out"
                          and s["macro"]["state"] == "computing")
        os.kill(waits["micro"]["pid"], signal.SIGSTOP)
        go.touch()
        # Both status pages show that the instances wait for each other; but a message has arrived that its
        # receiver has not seen.
        both = run.until(lambda s: s["macro"].get("waits_for") == "micro.out" and s["macro"]["waits_since"] > 2)
        assert both["micro"]["waits_for"] == "macro.out" and both["micro"]["stopped"]
        os.kill(waits["micro"]["pid"], signal.SIGCONT)
        status, output, _ = run.end()
    assert status == 0, output


def test_a_deadlock_with_a_stopped_process_is_called_one_when_it_goes_on(play, tmp_path):
    go = tmp_path / "go"
    scripts = {"left": f"await {go}; receive in; send out", "right": "receive in; send out"}
    with play(scripts, ["left.out: right.in", "right.out: left.in"]) as run:
        waits = run.until(lambda s: s["right"].get("waits_for") == "left.out"
                          and s["left"]["state"] == "computing")
        os.kill(waits["right"]["pid"], signal.SIGSTOP)
        go.touch()
        run.until(lambda s: s["left"].get("waits_for") == "right.out" and s["left"]["waits_since"] > 1.5)
        os.kill(waits["right"]["pid"], signal.SIGCONT)
        status, output, record = run.end()
    assert status == 1 and record["reason"].startswith("deadlock: "), output


def test_an_instance_that_is_still_to_be_started_by_hand_is_waited_for(play, ligament):
    scripts = {"left": "receive in; send out", "right": "send out; receive in"}
    with play(scripts, ["left.out: right.in", "right.out: left.in"], "--manual", "right") as run:
        run.until(lambda s: s["left"].get("waits_since", 0) > 1.5)
        # The program of the component in the model.
        text = (run.directory.parent / "cast.ymmsl").read_text()
        executable = text.split("right: {executable: ")[1].split(",")[0]
        joined = subprocess.run([ligament, "join", str(run.directory), "right", "--", executable,
                                 scripts["right"]])
        assert joined.returncode == 0
        status, output, _ = run.end()
    assert status == 0, output


def test_everybody_is_told_who_waits_for_whom_also_of_a_stopped_process(play):
    scripts = {"left": "within in 100", "right": "stop; send out", "third": "any a b"}
    conduits = ["right.out: [left.in, third.a]", "left.out: third.b"]
    with play(scripts, conduits) as run:
        told = run.until(lambda s: s["right"].get("stopped") and all(s[n].get("waits_for") for n in ("left",
                                                                                                     "third")))
        assert told["left"]["waits_with_timeout"] and told["left"]["waits_on"] == ["right"]
        assert told["third"]["waits_for"] == "any of right.out, left.out"
        assert told["third"]["waits_on"] == ["left", "right"]
        os.kill(run.process.pid, signal.SIGQUIT)
        run.until(lambda _: "how the run stands" in run.log())
        os.kill(told["right"]["pid"], signal.SIGCONT)
        status, output, _ = run.end()
    assert status == 0, output
    assert "how the run stands" in output
    for line in ["waiting to receive, right.out, for ", "(with a time-out)", "its process is stopped",
                 "any of right.out"]:
        assert line in output, output
