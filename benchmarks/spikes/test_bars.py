"""Tests of the figures that are computed from measurements. Run: python3 benchmarks/spikes/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import Measurements, bars  # noqa: E402


class Bars(unittest.TestCase):
    def setUp(self):
        self.measured = Measurements()
        for seconds in (1, 2, 3):
            self.measured.add("one way, arrays", 2, "ours, shared", seconds)
            self.measured.add("one way, arrays", 2, "MUSIC, collective", 20 * seconds)

    def test_the_fastest_way_of_music_counts(self):
        self.measured.add("one way, arrays", 2, "MUSIC, point-to-point", 12)
        [bar] = bars(self.measured)
        self.assertEqual(bar.value, 6)
        self.assertTrue(bar.holds)

    def test_a_slow_exchange_does_not_hold(self):
        self.measured.add("one way, arrays", 2, "MUSIC, point-to-point", 9)
        self.assertFalse(bars(self.measured)[0].holds)

    def test_without_a_run_of_music_there_is_no_bar(self):
        self.measured.add("one way, arrays", 4, "ours, shared", 1)
        self.measured.add("one way, arrays", 4, "bare loop", 1)
        self.assertEqual(len(bars(self.measured)), 1)


if __name__ == "__main__":
    unittest.main()
