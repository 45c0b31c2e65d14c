"""Runs that can never go on: each ends by itself, with exit status 1, and names the instances that wait for
each other."""

import contextlib
import dataclasses
import os
import signal

import pytest
from test_slow import SLOW


@dataclasses.dataclass
class Case:
    """A cast, the instances of the deadlock, and parts of the reason."""

    scripts: dict
    conduits: list
    knot: set
    parts: list
    options: str = ""
    multiplicity: dict | None = None


DEADLOCKS = {
    "both receive before they send": Case(
        {"left": "receive in; send out", "right": "receive in; send out"},
        ["left.out: right.in", "right.out: left.in"],
        {"left", "right"},
        ["left waits at left.in for a message from right.out (for ",
         "one of them has to send before it receives: for example right at right.out, before it waits at "
         "right.in"],
    ),
    "a ring of three after fifty laps": Case(
        {
            "a": "x50 send out, receive in; receive in",
            "b": "x50 receive in, send out; receive in",
            "c": "x50 receive in, send out; receive in",
        },
        ["a.out: b.in", "b.out: c.in", "c.out: a.in"],
        {"a", "b", "c"},
        ["a waits at a.in for a message from c.out", "b waits at b.in", "c waits at c.in"],
    ),
    "one that waits for itself": Case(
        {"narcissus": "receive in; send out"},
        ["narcissus.out: narcissus.in"],
        {"narcissus"},
        ["narcissus waits at narcissus.in for a message from narcissus.out", "before it receives from itself"],
    ),
    "any of several, all of which wait": Case(
        {"hub": "any a b; send out", "one": "receive in; send out", "two": "receive in; send out"},
        ["one.out: hub.a", "two.out: hub.b", "hub.out: [one.in, two.in]"],
        {"hub", "one", "two"},
        ["hub waits for a message at any of hub.a from one.out, hub.b from two.out"],
    ),
    "a full conduit that no memory would do for": Case(
        {"flood": "x20000 send many; send first", "order": "receive first; x20000 receive many"},
        ["flood.many: order.many", "flood.first: order.first"],
        {"flood", "order"},
        ["flood waits at flood.many until order.many is read", "would need a budget of 4.0 MiB", "given more"],
        "{memory: 4 MiB, budget: 1 MiB}",
    ),
    "no memory left for what must be sent first": Case(
        {"flood": "x300 send many 200000; send first", "order": "receive first; x300 receive many"},
        ["flood.many: order.many", "flood.first: order.first"],
        {"flood", "order"},
        ["flood waits for memory to send in", "messages take", "raise \"memory:\""],
        "{memory: 16 MiB, budget: 1 GiB}",
    ),
    "slots of a vector port in an order that cannot be": Case(
        {"hub": "x3 send out[0]; receive in[2]; send out[1]; send out[2]", "leaf": "receive in; send out"},
        ["hub.out: leaf.in", "leaf.out: hub.in"],
        {"hub", "leaf[2]"},
        ["hub waits at hub.in[2] for a message from leaf[2].out",
         "leaf[2] waits at leaf[2].in for a message from hub"],
        multiplicity={"leaf": 3},
    ),
    "one message fewer than is waited for": Case(
        {"macro": "x100 send out, receive in; receive in", "micro": "x101 receive in, send out"},
        ["macro.out: micro.in", "micro.out: macro.in"],
        {"macro", "micro"},
        ["macro waits at macro.in", "micro waits at micro.in for a message from macro.out"],
    ),
    "some wait behind, and one computes on": Case(
        {
            "left": "receive in; send out; send more",
            "right": "receive in; send out",
            "behind": "receive in",
            "busy": "compute 100",
        },
        ["left.out: right.in", "right.out: left.in", "left.more: behind.in"],
        {"left", "right"},
        ["left waits at left.in", "right waits at right.in"],
    ),
    "two pairs, after a time-out that did not help": Case(
        {
            "a": "within in 0.3; receive in; send out",
            "b": "sleep 0.5; receive in; send out",
            "c": "x20 send out, receive in",
            "d": "x20 receive in, send out",
        },
        ["a.out: b.in", "b.out: a.in", "c.out: d.in", "d.out: c.in"],
        {"a", "b"},
        ["a waits at a.in for a message from b.out", "b waits at b.in for a message from a.out"],
    ),
}


def begin(play, case, **options):
    return play(case.scripts, case.conduits, ligament_options=case.options, multiplicity=case.multiplicity,
                **options)


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_deadlock_ends_the_run_and_is_named(name, play):
    case = DEADLOCKS[name]
    with begin(play, case) as run:
        is_named(case, *run.end())
        assert not run.disagreements()


def is_named(case, status, output, record):
    assert status == 1, output
    assert record["state"] == "failed"
    assert record["reason"].startswith("deadlock: "), output
    for part in case.parts:
        assert part in record["reason"], record["reason"]
    waits = {wait["instance"]: wait for wait in record["deadlock"]}
    assert case.knot <= set(waits)
    for name in case.knot:
        assert set(waits[name]["waits_on"]) & case.knot and waits[name]["waits_since"] > 0
    # The wait that never ended counts as waiting, not as computing.
    waited = {one["name"]: one["waiting"] for one in record["instances"]}
    for name in case.knot:
        assert waited[name] >= waits[name]["waits_since"], (waited, waits)
    # The reason comes first, and no instance is blamed because the run ended it.
    assert output.index("deadlock: ") < output.index("run directory"), output
    assert not [one for one in record["instances"] if one["state"] == "failed"], record["instances"]


# The messages and the part that the reader's views keep are together larger than the memory. The reader asks
# for the rest once it has its views: while more is on its way than views may hold, it would copy what it gets.
HOLDING = ({"flood": "x38 send many 200000; receive rest; x57 send many 200000; send first"},
           ["flood.many: order.many", "flood.first: order.first", "order.rest: flood.rest"])


def test_memory_that_views_hold_is_a_deadlock_where_nobody_else_could_drop_them(play, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    scripts, conduits = HOLDING
    scripts = scripts | {"order": "x38 hold many; send rest; receive first; x57 receive many"}
    with play(scripts, conduits, ligament_options="{memory: 16 MiB, budget: 1 GiB}") as run:
        status, output, record = run.end()
    assert status == 1 and record["reason"].startswith("deadlock: "), output
    assert "flood waits for memory to send in" in record["reason"], record["reason"]
    assert "order holds views of messages of " in record["reason"], record["reason"]


def test_memory_that_another_thread_may_give_back_is_only_warned_of_and_the_run_goes_on(play, monkeypatch):
    # Threads of OpenBLAS do not block the signal, so one of them could get it and end the process.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    scripts, conduits = HOLDING
    scripts = scripts | {"order": "x38 hold many; drop; send rest; receive first; x57 receive many"}
    with play(scripts, conduits, ligament_options="{memory: 16 MiB, budget: 1 GiB}") as run:
        stands = run.until(lambda _: "Unless another thread" in run.log())
        warning = next(line for line in run.log().splitlines() if "Unless another thread" in line)
        for part in ["flood waits for memory", "order waits at order.first",
                     "order holds views of messages of "]:
            assert part in warning, warning
        os.kill(stands["order"]["pid"], signal.SIGUSR1)
        status, output, record = run.end()
    assert status == 0 and record["state"] == "done", output


def test_dead_and_slow_runs_are_told_apart_when_all_go_on_at_once(play, tmp_path):
    def room(kind, n):
        room = tmp_path / f"{kind}-{n}"
        room.mkdir()
        return room

    with contextlib.ExitStack() as stack:
        dead = [
            (case, stack.enter_context(begin(play, case, directory=room("dead", n))))
            for n, case in enumerate(DEADLOCKS.values())
        ]
        slow = [
            stack.enter_context(
                play(scripts, conduits, ligament_options="".join(options), directory=room("slow", n)))
            for n, (scripts, conduits, *options) in enumerate(SLOW.values())
        ]
        assert len(dead) >= 10 and len(slow) >= 10
        for case, run in dead:
            is_named(case, *run.end())
            assert not run.disagreements()
        for run in slow:
            status, output, record = run.end()
            assert status == 0 and record["state"] == "done", output
            assert not run.disagreements()
