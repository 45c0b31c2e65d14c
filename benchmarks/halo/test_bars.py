"""Tests of the bars. Run: python3 benchmarks/halo/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import LOOP, OURS, Measurements, bars  # noqa: E402


def measured(edge, **programs):
    """Returns the measurements of one case: the times of each program."""
    m = Measurements()
    for program, times in programs.items():
        for time in times:
            m.add((edge, 1, 1), {"ours": OURS, "loop": LOOP}.get(program, program), time)
    return m


class Bars(unittest.TestCase):
    def test_the_fastest_mpi_counts(self):
        found = {bar.unit: bar.value for bar in bars(measured(128, ours=[10], loop=[9], slow=[40], fast=[20]))}
        self.assertEqual(found, {"times the best MPI": 2.0, "of the bare loop": 0.9})

    def test_ratios_are_those_of_one_repetition(self):
        m = measured(128, ours=[10, 20, 40], loop=[10, 20, 20], one=[10, 40, 40])
        values = {bar.unit: (bar.value, bar.repetitions) for bar in bars(m)}
        self.assertEqual(values["times the best MPI"], (1.0, [1.0, 2.0, 1.0]))
        self.assertEqual(values["of the bare loop"], (1.0, [1.0, 1.0, 0.5]))

    def test_small_blocks_may_be_slower(self):
        self.assertTrue(all(bar.holds for bar in bars(measured(64, ours=[100], loop=[90], one=[92]))))
        larger = {bar.unit: bar.holds for bar in bars(measured(128, ours=[100], loop=[90], one=[92]))}
        self.assertEqual(larger, {"times the best MPI": False, "of the bare loop": True})
        self.assertFalse(bars(measured(64, ours=[100], loop=[80]))[0].holds)

    def test_without_an_mpi_the_bare_loop_is_left(self):
        self.assertEqual([bar.unit for bar in bars(measured(64, ours=[1], loop=[1]))], ["of the bare loop"])


if __name__ == "__main__":
    unittest.main()
