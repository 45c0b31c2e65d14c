"""Tests of the bars. Run: python3 benchmarks/mxn/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import Measurements, bars  # noqa: E402


def measured(private, loan, copies, shared, **peers):
    """Returns the measurements of one layout, with one time for each program."""
    m = Measurements()
    given = {"private arrays": private, "a loan": loan, "bare copies": copies, "bare shared": shared,
             **{f"MPI: {name}": time for name, time in peers.items()}}
    for what, time in given.items():
        m.add("2 to 2", what, time)
    return m


class Bars(unittest.TestCase):
    def test_the_fastest_mpi_counts(self):
        found = {bar.unit: bar.value for bar in bars(measured(10, 8, 9, 6, slow=40, fast=20))
                 if "private" in bar.name}
        self.assertEqual(found, {"times the best MPI": 2.0, "of the bare loop": 0.9})

    def test_a_loan_is_held_against_shared_memory(self):
        found = {bar.unit: bar for bar in bars(measured(10, 8, 9, 5, one=11)) if "loan" in bar.name}
        self.assertEqual(found["of the bare loop"].value, 5 / 8)
        self.assertFalse(found["of the bare loop"].holds)
        self.assertFalse(found["times the best MPI"].holds)
        self.assertTrue(all(bar.holds for bar in bars(measured(10, 6, 9, 5, one=11))))

    def test_without_an_mpi_the_bare_loop_is_left(self):
        self.assertEqual({bar.unit for bar in bars(measured(1, 1, 1, 1))}, {"of the bare loop"})


if __name__ == "__main__":
    unittest.main()
