"""Tests of the bars. Run: python3 benchmarks/languages/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import KIB, Measurements, bars  # noqa: E402


def measurements(**one_way):
    """Returns measurements from one-way times in ns by language, each as {bytes: ns}."""
    m = Measurements()
    for language, times in one_way.items():
        for bytes_, ns in times.items():
            m.add(language, bytes_, [100 * ns, 100 * ns, 2 * ns, 2 * ns, 2 * ns], 2)
    return m


def holds(m):
    return {bar.name: bar.holds for bar in bars(m)}


class Bars(unittest.TestCase):
    def test_the_first_messages_do_not_count_and_half_a_round_trip_does(self):
        m = measurements(c={0: 100})
        self.assertEqual(m.median("c", 0), 100)
        self.assertEqual(m.firsts["c"], [5000])

    def test_compiled_languages_are_as_fast_as_c_but_for_small_messages(self):
        self.assertTrue(holds(measurements(c={0: 100}, cpp={0: 129}))["cpp, 0 B"])
        self.assertFalse(holds(measurements(c={0: 100}, cpp={0: 131}))["cpp, 0 B"])
        self.assertTrue(holds(measurements(c={64 * KIB: 1000}, rust={64 * KIB: 1099}))["rust, 64 KiB"])
        self.assertFalse(holds(measurements(c={64 * KIB: 1000}, fortran={64 * KIB: 1101}))["fortran, 64 KiB"])

    def test_java_may_be_slower_the_smaller_its_messages(self):
        self.assertTrue(holds(measurements(c={0: 100}, java={0: 249}))["java, 0 B"])
        self.assertFalse(holds(measurements(c={KIB: 100}, java={KIB: 251}))["java, 1 KiB"])
        self.assertTrue(holds(measurements(c={64 * KIB: 2000}, java={64 * KIB: 2599}))["java, 64 KiB"])
        self.assertFalse(holds(measurements(c={1024 * KIB: 40e3}, java={1024 * KIB: 42.1e3}))["java, 1 MiB"])

    def test_python_may_take_ten_times_as_long_when_empty_and_is_only_reported_else(self):
        c = {0: 100, KIB: 100}
        self.assertEqual(holds(measurements(c=c, python={0: 990, KIB: 9000})), {"python, 0 B": True})
        self.assertEqual(holds(measurements(c=c, python={0: 1010})), {"python, 0 B": False})

    def test_a_slower_machine_changes_no_verdict(self):
        for slower in (1, 7):
            m = measurements(c={0: 100 * slower}, java={0: 240 * slower}, python={0: 1500 * slower})
            self.assertEqual(holds(m), {"java, 0 B": True, "python, 0 B": False})

    def test_a_language_is_compared_with_the_run_of_c_just_before_it(self):
        m = Measurements()
        for c, cpp in ((100, 120), (400, 480), (400, 500)):
            m.add("c", 0, [2 * c], 0)
            m.add("cpp", 0, [2 * cpp], 0)
        self.assertEqual([bar.value for bar in bars(m)], [1.2])

    def test_without_c_nothing_is_compared(self):
        self.assertEqual(bars(measurements(java={0: 250}, python={0: 900})), [])


if __name__ == "__main__":
    unittest.main()
