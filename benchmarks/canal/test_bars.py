"""Tests of the bars. Run: python3 benchmarks/canal/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import OURS, Measurements, bars  # noqa: E402


def measured(size, ours, **peers):
    m = Measurements()
    for value in ours:
        m.add(size, OURS, value)
    for name, values in peers.items():
        for value in values:
            m.add(size, f"MPI: {name}", value)
    return m


class Bars(unittest.TestCase):
    def test_nothing_measured_promises_nothing(self):
        self.assertEqual(bars(Measurements()), [])
        self.assertEqual(bars(measured(4, [1.0])), [])

    def test_the_best_peer_is_compared_within_a_repetition(self):
        (bar,) = bars(measured(4, [1.0, 2.0, 4.0], pack=[0.96, 1.92, 3.0], types=[9.0, 9.0, 9.0]))
        self.assertAlmostEqual(bar.value, 0.96)
        self.assertTrue(bar.holds)
        self.assertEqual((min(bar.repetitions), bar.unit), (0.75, "of pack"))

    def test_a_small_duct_has_a_wider_limit(self):
        self.assertFalse(bars(measured(1, [1.0], pack=[0.92]))[0].holds)
        self.assertTrue(bars(measured(0.5, [1.0], pack=[0.92]))[0].holds)

    def test_two_sites_are_compared_with_one_machine_by_the_round_trip(self):
        m = Measurements()
        for rtt in (4, 42):
            m.add_sites(4, rtt, (100.0, 120.0))
        near, far = bars(m)
        self.assertFalse(near.holds)
        self.assertTrue(far.holds)


if __name__ == "__main__":
    unittest.main()
