"""Tests of the bars. Run: python3 benchmarks/mpi-wait/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import Measurements, bars  # noqa: E402


def only(**measured):
    """Returns the only bar for these measurements."""
    m = Measurements()
    for name, values in measured.items():
        getattr(m, name).update(values)
    [bar] = bars(m)
    return bar


class Bars(unittest.TestCase):
    def test_each_mpi_has_its_own_share_of_a_core(self):
        self.assertTrue(only(shares={"openmpi": [0.5, 0.4, 0.9]}).holds)
        self.assertFalse(only(shares={"openmpi": [0.6]}).holds)
        self.assertTrue(only(shares={"mpich": [1.5]}).holds)
        self.assertFalse(only(shares={"mpich": [1.6]}).holds)

    def test_who_computes_may_take_five_percent_more(self):
        self.assertTrue(only(beside={"mpich": [1.04, 2.0, 1.04]}, alone={"mpich": [1.0, 1.0, 1.0]}).holds)
        self.assertFalse(only(beside={"mpich": [1.06]}, alone={"mpich": [1.0]}).holds)

    def test_small_messages_may_take_twice_and_large_ones_a_tenth_longer_than_mpi_bcast(self):
        small, large = ("openmpi", 8), ("openmpi", 1 << 20)
        self.assertTrue(only(given={small: [1790]}, bcast={small: [900]}).holds)
        self.assertFalse(only(given={small: [1810]}, bcast={small: [900]}).holds)
        self.assertTrue(only(given={large: [109e3]}, bcast={large: [100e3]}).holds)
        self.assertFalse(only(given={large: [111e3]}, bcast={large: [100e3]}).holds)

    def test_a_start_may_take_a_quarter_longer_than_the_launchers_own(self):
        key = ("mpich", 4)
        self.assertTrue(only(begun={key: [0.24, 0.3]}, launched={key: [0.2, 0.25]}).holds)
        self.assertFalse(only(begun={key: [0.26]}, launched={key: [0.2]}).holds)

    def test_what_was_not_measured_has_no_bar(self):
        self.assertEqual(bars(Measurements()), [])


if __name__ == "__main__":
    unittest.main()
