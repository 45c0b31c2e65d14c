"""Tests of what is computed from measurements. Run: python3 benchmarks/languages/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import KIB, Measurements, bars  # noqa: E402


def measurements(**one_way):
    """One-way times in ns by language, each as {bytes: ns}."""
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

    def test_thirty_ns_or_ten_percent_are_allowed_to_compiled_languages(self):
        self.assertTrue(holds(measurements(c={0: 100}, cpp={0: 130}))["cpp beyond C, 0 B"])
        self.assertFalse(holds(measurements(c={0: 100}, cpp={0: 131}))["cpp beyond C, 0 B"])
        self.assertTrue(holds(measurements(c={KIB: 1000}, rust={KIB: 1100}))["rust beyond C, 1 KiB"])
        self.assertFalse(holds(measurements(c={KIB: 1000}, fortran={KIB: 1101}))["fortran beyond C, 1 KiB"])

    def test_java_has_150_ns_for_small_and_500_ns_or_5_percent_for_large_ones(self):
        self.assertTrue(holds(measurements(c={0: 100}, java={0: 250}))["java beyond C, 0 B"])
        self.assertFalse(holds(measurements(c={KIB: 100}, java={KIB: 251}))["java beyond C, 1 KiB"])
        self.assertTrue(holds(measurements(c={64 * KIB: 2000}, java={64 * KIB: 2500}))["java beyond C, 64 KiB"])
        self.assertFalse(holds(measurements(c={1024 * KIB: 40e3}, java={1024 * KIB: 42.1e3}))["java beyond C, 1 MiB"])

    def test_python_may_take_a_microsecond_when_empty_and_is_only_reported_else(self):
        found = holds(measurements(python={0: 990, KIB: 9000}))
        self.assertEqual(found, {"python, 0 B": True})

    def test_a_language_is_compared_with_the_run_of_c_just_before_it(self):
        m = Measurements()
        for c, cpp in ((100, 120), (400, 420), (400, 425)):
            m.add("c", 0, [2 * c], 0)
            m.add("cpp", 0, [2 * cpp], 0)
        self.assertEqual([bar.value for bar in bars(m)], [20])

    def test_without_c_nothing_is_compared(self):
        self.assertEqual(bars(measurements(java={0: 250})), [])


if __name__ == "__main__":
    unittest.main()
