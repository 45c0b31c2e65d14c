"""Events between components of different domains are delivered at the same ticks as within one."""

import sys
from pathlib import Path

import pytest
from test_domains import spread  # noqa: F401

EXCHANGE = Path(__file__).resolve().parents[1] / "exchange"
sys.path.append(str(EXCHANGE))
from clocks import MS, Conduit, Graph  # noqa: E402

CASES = {
    "ranks": Graph([MS, 2 * MS], [20, 10], [Conduit(0, 1, 2 * MS)], [2, 3]),
    "pairwise": Graph([MS, MS], [20, 20], [Conduit(0, 1, 2 * MS, None, "pairwise")], [2, 3], passes=2,
                      one_of=3),
    "a loop of two passes": Graph([MS, MS], [10, 10], [Conduit(0, 1, MS), Conduit(1, 0, MS)], [2, 2], passes=2),
    "an early end": Graph([MS, MS], [30, 5], [Conduit(0, 1, 3 * MS)], passes=2),
}


@pytest.mark.parametrize("name", CASES)
def test_events_go_by_the_clocks_of_two_domains(spread, compile_c, tmp_path, name):  # noqa: F811
    graph = CASES[name]
    file = tmp_path / "clocks.ymmsl"
    file.write_text(graph.model(compile_c(EXCHANGE / "clock_part.c")))
    run = spread(file, "--on", "1=c0", "--on", "2=c1")
    assert run.wait() == [0, 0, 0], run.text()
    for component in range(2):
        outputs = sorted((run.directory / "instances" / f"c{component}").glob("output*.log"))
        assert len(outputs) == graph.ranks_of(component), outputs
        for rank, output in enumerate(outputs):
            assert graph.seen(output.read_text()) == graph.deliveries(component, rank)
