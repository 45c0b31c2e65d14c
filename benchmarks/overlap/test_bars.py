"""Tests of the bars. Run: python3 benchmarks/overlap/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import Measurements, bars  # noqa: E402


def steps(without, with_):
    return [{"sends": False, "seconds": s} for s in without] + [{"sends": True, "seconds": s} for s in with_]


class Bars(unittest.TestCase):
    def test_nothing_measured_promises_nothing(self):
        self.assertEqual(bars(Measurements()), [])

    def test_medians_of_steps_are_compared_within_a_repetition(self):
        m = Measurements()
        m.add("ligament/loan", steps([1.0, 1.0, 9.0], [1.02, 1.02, 9.0]))
        m.add("ligament/loan", steps([2.0, 2.0, 2.0], [2.02, 2.02, 2.02]))
        m.add("ligament/loan", steps([1.0, 1.0, 1.0], [1.5, 1.5, 1.5]))
        (bar,) = bars(m)
        self.assertAlmostEqual(bar.value, 1.02)
        self.assertTrue(bar.holds)

    def test_a_step_that_is_four_percent_longer_fails(self):
        m = Measurements()
        m.add("ligament/send", steps([1.0], [1.04]))
        self.assertFalse(bars(m)[0].holds)

    def test_others_are_measured_and_not_judged(self):
        m = Measurements()
        m.add("openmpi", steps([1.0], [1.5]))
        self.assertEqual(bars(m), [])


if __name__ == "__main__":
    unittest.main()
