"""Tests of the bars. Run: python3 benchmarks/checkpoint/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import Measurements, bars  # noqa: E402


class Bars(unittest.TestCase):
    def test_nothing_measured_promises_nothing(self):
        self.assertEqual(bars(Measurements()), [])

    def test_a_checkpoint_is_compared_with_the_bare_program_of_its_repetition(self):
        m = Measurements(held=[(1.3, 1.0), (4.0, 1.0), (2.6, 2.0)], grown=[1, 3, 2])
        held, memory = bars(m)
        self.assertAlmostEqual(held.value, 1.3)
        self.assertEqual(memory.value, 3)
        self.assertTrue(held.holds and memory.holds)

    def test_one_instance_with_too_much_memory_fails(self):
        self.assertFalse(bars(Measurements(held=[(1, 1)], grown=[1, 65]))[1].holds)

    def test_a_restart_that_takes_half_as_long_again_fails(self):
        (bar,) = bars(Measurements(restarts=[(1.5, 1.0)]))
        self.assertFalse(bar.holds)

    def test_calls_have_a_limit_for_each_language(self):
        fast, slow = bars(Measurements(calls={"C": [9.0], "Python": [101.0]}))
        self.assertTrue(fast.holds)
        self.assertFalse(slow.holds)

    def test_a_recording_may_take_the_time_of_a_bare_loop_more(self):
        (bar,) = bars(Measurements(recorded=[(2.0, 1.0, 1.0)]))
        self.assertAlmostEqual(bar.value, 1.0)


if __name__ == "__main__":
    unittest.main()
