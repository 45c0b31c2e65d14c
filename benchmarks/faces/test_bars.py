"""The bars of `benchmarks/run faces` hold and fail as their limits say."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from bars import bars, exchange_bars, window_bars  # noqa: E402


def test_a_bar_holds_at_its_limit_and_fails_beyond():
    assert all(bar.holds for bar in bars({0: [(100_000.0, 2000.0, 1000.0)]}))
    assert [bar.holds for bar in bars({0: [(99_000.0, 2000.0, 999.0)]})] == [False, False]


def test_large_messages_have_no_bar():
    assert bars({1 << 20: [(1.0, 1.0, 1.0)]}) == []
    assert [bar.name for bar in bars({256 << 10: [(1.0, 1.0, 1.0)]})] == ["face beside MUSCLE 3, 256 KiB"]


def test_exchanges_and_windows_are_beside_their_own_loops():
    times = {1024: [(105.0, 100.0)], 65536: [(106.0, 100.0)]}
    assert [bar.holds for bar in exchange_bars(times)] == [True, False]
    assert [bar.holds for bar in window_bars([(120.0, 100.0), (130.0, 100.0), (110.0, 100.0)])] == [True]
