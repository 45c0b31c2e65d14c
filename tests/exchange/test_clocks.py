"""Events go by the clocks of both ends: each is delivered at the tick that the written rule names, in chains,
forks, joins and loops, with equal and unequal ticks, over ranks, and in each pass."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from clocks import MS, Conduit, Graph, drawn, drawn_pair

HERE = Path(__file__).parent
SERIES = int(os.environ.get("LIGAMENT_GRAPHS", "40"))  # `make test-all` has more
# Graphs whose loops `ligament check` gives advice on.
ADVISED = min(SERIES, 60)
PAIRS = int(os.environ.get("LIGAMENT_SERIES", "6"))

# Chains, forks, joins and loops, with equal and unequal ticks, with and without latency.
CASES = {
    "equal ticks, no latency": Graph([MS, MS], [10, 10], [Conduit(0, 1, 0)]),
    "equal ticks, a latency": Graph([MS, MS], [10, 10], [Conduit(0, 1, 3 * MS)]),
    "equal ticks, one tick in an exchange": Graph([MS, MS], [10, 10], [Conduit(0, 1, 5 * MS, 1)]),
    "equal ticks, many ticks in an exchange": Graph([MS, MS], [10, 10], [Conduit(0, 1, 5 * MS, 4)]),
    "more ticks in an exchange than latency": Graph([MS, MS], [10, 10], [Conduit(0, 1, 0, 3)]),
    "the sender is slower": Graph([5 * MS, MS], [4, 20], [Conduit(0, 1, 5 * MS)]),
    "the sender is slower, no latency": Graph([5 * MS, MS], [4, 20], [Conduit(0, 1, 0)]),
    "the sender is faster": Graph([MS, 5 * MS], [20, 4], [Conduit(0, 1, 5 * MS)]),
    "the sender is faster, no latency": Graph([MS, 5 * MS], [20, 4], [Conduit(0, 1, 0)]),
    "a latency between ticks": Graph([MS, MS], [10, 10], [Conduit(0, 1, 2 * MS + 300)]),
    "ticks without a common measure": Graph([3 * MS, 2 * MS], [10, 15], [Conduit(0, 1, 4 * MS)]),
    "ticks of a nanosecond and three": Graph([3, 1], [10, 30], [Conduit(0, 1, 7)]),
    "the receiver ends early": Graph([MS, MS], [20, 5], [Conduit(0, 1, 2 * MS)]),
    "the sender ends early": Graph([MS, MS], [5, 20], [Conduit(0, 1, 2 * MS)]),
    "the pass ends within an exchange": Graph([MS, MS], [5, 20], [Conduit(0, 1, 4 * MS, 4)]),
    "a chain": Graph([MS] * 4, [10] * 4, [Conduit(0, 1, MS), Conduit(1, 2, 0), Conduit(2, 3, 2 * MS)]),
    "a chain of unequal ticks": Graph([MS, 2 * MS, 5 * MS], [20, 10, 4],
                                      [Conduit(0, 1, 2 * MS), Conduit(1, 2, 5 * MS)]),
    "a fork": Graph([MS] * 3, [10] * 3, [Conduit(0, 1, MS), Conduit(0, 2, 4 * MS)]),
    "a fork of unequal ticks": Graph([MS, 2 * MS, 3 * MS], [12, 6, 4], [Conduit(0, 1, MS), Conduit(0, 2, 0)]),
    "a join": Graph([MS] * 3, [10] * 3, [Conduit(0, 2, MS), Conduit(1, 2, 3 * MS)]),
    "a join of unequal ticks": Graph([MS, 4 * MS, 2 * MS], [16, 4, 8],
                                     [Conduit(0, 2, 0), Conduit(1, 2, 6 * MS)]),
    "a fork and a join": Graph([MS] * 4, [10] * 4, [Conduit(0, 1, 0), Conduit(0, 2, 2 * MS), Conduit(1, 3, MS),
                                                    Conduit(2, 3, 0)]),
    "a detour and a direct way": Graph([MS] * 3, [40] * 3,
                                       [Conduit(0, 2, 30 * MS, 1), Conduit(0, 1, MS), Conduit(1, 2, MS)]),
    "two conduits between two": Graph([MS, MS], [10, 10], [Conduit(0, 1, 0), Conduit(0, 1, 5 * MS)]),
    "a loop of two": Graph([MS, MS], [10, 10], [Conduit(0, 1, MS), Conduit(1, 0, MS)]),
    "a loop of two, one side without latency": Graph([MS, MS], [10, 10],
                                                     [Conduit(0, 1, 2 * MS, 1), Conduit(1, 0, 0)]),
    "a loop of two, unequal ticks": Graph([MS, 5 * MS], [20, 4], [Conduit(0, 1, MS), Conduit(1, 0, 5 * MS)]),
    "a loop of two, latency between ticks": Graph([2 * MS, 3 * MS], [15, 10],
                                                  [Conduit(0, 1, 4 * MS), Conduit(1, 0, 5 * MS)]),
    "a loop of three": Graph([MS] * 3, [10] * 3, [Conduit(0, 1, MS), Conduit(1, 2, MS), Conduit(2, 0, MS)]),
    "a loop of three, all slack in one": Graph([MS, 2 * MS, 3 * MS], [12, 6, 4],
                                               [Conduit(0, 1, 0), Conduit(1, 2, 0),
                                            Conduit(2, 0, 6 * MS, 1)]),
    "a loop with oneself": Graph([MS], [10], [Conduit(0, 0, MS)]),
    "a loop with oneself and others": Graph([MS, MS], [10, 10],
                                            [Conduit(0, 0, 3 * MS), Conduit(0, 1, MS), Conduit(1, 0, MS)]),
    "two loops through one": Graph([MS] * 3, [10] * 3,
                                   [Conduit(0, 1, MS), Conduit(1, 0, MS), Conduit(1, 2, 2 * MS),
                                    Conduit(2, 1, MS)]),
    "ranks": Graph([MS, MS], [10, 10], [Conduit(0, 1, 2 * MS)], [2, 3]),
    "ranks to one": Graph([MS, 2 * MS], [10, 5], [Conduit(0, 1, 2 * MS)], [3, 1]),
    "one to ranks": Graph([2 * MS, MS], [5, 10], [Conduit(0, 1, 0)], [1, 3]),
    "a loop with ranks": Graph([MS, MS], [10, 10], [Conduit(0, 1, MS), Conduit(1, 0, MS)], [2, 2]),
    "two passes": Graph([MS, MS], [7, 7], [Conduit(0, 1, 2 * MS)], passes=2),
    "two passes, the receiver ends early": Graph([MS, MS], [20, 4], [Conduit(0, 1, 3 * MS)], passes=2),
    "two passes of a loop with ranks": Graph([MS, 2 * MS], [8, 4],
                                             [Conduit(0, 1, MS), Conduit(1, 0, 2 * MS)], [2, 2], passes=2),
    "three passes of a join": Graph([MS] * 3, [9, 3, 6], [Conduit(0, 2, 0), Conduit(1, 2, MS)], passes=3),
}


@pytest.fixture
def program(compile_c):
    return compile_c(HERE / "clock_part.c")




def check(run, program, graph):
    done = run(graph.model(program), "--overcommit", limit=60)
    assert done.status == 0, done.text
    for component in range(len(graph.ticks)):
        for rank in range(graph.ranks_of(component)):
            expected = graph.deliveries(component, rank)
            name = f"output.{rank}.log" if graph.ranks_of(component) > 1 else "output.log"
            assert graph.seen(done.file(f"c{component}", name)) == expected, f"c{component}, rank {rank}"


@pytest.mark.parametrize("name", CASES)
def test_events_are_delivered_at_the_tick_that_the_rule_names(run, program, name):
    assert CASES[name].has_time()
    check(run, program, CASES[name])


@pytest.mark.parametrize("seed", range(SERIES))
def test_a_drawn_graph_that_check_accepts_runs_to_its_end(run, ligament, program, tmp_path, seed):
    graph = drawn(seed)
    if graph.has_time():
        check(run, program, graph)
        return
    done = run(graph.model(program), "--overcommit", limit=60)
    assert done.status == 2 and "[exchange-loop]" in done.text, done.text


@pytest.mark.parametrize("seed", range(PAIRS))
def test_each_rank_gets_what_it_wants_by_both_routings(run, program, seed):
    check(run, program, drawn_pair(seed))


@pytest.mark.parametrize("seed", range(ADVISED))
def test_the_advice_on_a_loop_helps(ligament, program, tmp_path, seed):
    """Each piece of advice mends the loop that it names, so their number is at most the number of conduits."""
    graph = drawn(seed)
    text = graph.model(program)
    for _ in range(4 * len(graph.conduits)):
        (tmp_path / "model.ymmsl").write_text(text)
        done = subprocess.run([ligament, "check", "model.ymmsl"], cwd=tmp_path, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        if "[exchange-loop]" not in done.stdout:
            break
        name, keys = re.search(r'give "(\S+ -> \S+)" the keys \{(.*?)\}', done.stdout).groups()
        text = re.sub(rf"{re.escape(name)}: .*", f"{name}: {{events: 1000, {keys}}}", text)
    assert done.returncode == 0, done.stdout
