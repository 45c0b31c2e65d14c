"""Tests of the bars. Run: python3 benchmarks/pingpong/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import KIB, MIB, Measurements, bars, boundary  # noqa: E402


def measurements(*rows, line=100.0):
    """Returns measurements from rows (program, mode, bytes, median_ns, ...one per repetition)."""
    m = Measurements()
    for program, mode, bytes_, *medians in rows:
        for median in medians:
            record = {"mode": mode, "bytes": bytes_, "median_ns": median}
            m.add(program, {**record, "line_before_ns": line, "line_after_ns": line})
    return m


def row(m, name):
    (found,) = [bar for bar in bars(m) if bar.name == name]
    return found


class Distances(unittest.TestCase):
    def test_one_cluster_has_no_boundary(self):
        self.assertIsNone(boundary([200, 205, 210, 220, 230, 235, 290]))

    def test_two_clusters_are_parted_between_them(self):
        found = boundary([25, 45, 50, 35, 220, 225, 210, 230])
        self.assertTrue(50 < found < 210)

    def test_a_single_outlier_is_no_second_cluster(self):
        self.assertIsNone(boundary([40, 41, 42, 43, 44, 45, 5000]))

    def test_nothing_measured_has_no_boundary(self):
        self.assertIsNone(boundary([]))

    def test_only_records_with_both_lines_at_the_chosen_place_count(self):
        m = Measurements()
        for before, after, median in [(40, 40, 1.0)] * 4 + [(220, 220, 3.0)] * 4 + [(40, 220, 2.0)]:
            lines = {"line_before_ns": before, "line_after_ns": after}
            m.add("file", {"mode": "plain", "bytes": 0, "median_ns": median, **lines})
        m.settle()
        m.place = "far"
        self.assertEqual(m.values("file", "plain", 0), [3.0] * 4)
        m.place = "near"
        self.assertEqual(m.values("file", "plain", 0), [1.0] * 4)


class Bars(unittest.TestCase):
    def test_the_better_mpi_is_chosen_by_size(self):
        m = measurements(
            ("openmpi/cma", "plain", KIB, 900.0),
            ("mpich/copy", "plain", KIB, 700.0),
            ("openmpi/cma", "plain", MIB, 60e3),
            ("mpich/copy", "plain", MIB, 90e3),
            ("ligament/view", "plain", KIB, 350.0),
            ("ligament/view", "plain", MIB, 70e3),
        )
        self.assertEqual(m.best_mpi("plain", KIB), "mpich/copy")
        self.assertEqual(m.best_mpi("plain", MIB), "openmpi/cma")
        self.assertTrue(row(m, "plain view vs MPI, 1 KiB").holds)
        self.assertFalse(row(m, "plain view vs MPI, 1 MiB").holds)

    def test_a_limit_has_no_further_allowance(self):
        mpi = ("mpich/copy", "plain", 0, 90.0)
        self.assertTrue(row(measurements(mpi, ("ligament/view", "plain", 0, 99.9)),
                            "plain view vs MPI, 0 B").holds)
        self.assertFalse(row(measurements(mpi, ("ligament/view", "plain", 0, 101.0)),
                             "plain view vs MPI, 0 B").holds)

    def test_small_messages_have_a_limit_of_their_own(self):
        for bytes_, limit in ((512, 0.9), (KIB, 1.5), (16 * KIB, 1.5), (32 * KIB, 0.9)):
            m = measurements(("mpich/copy", "plain", bytes_, 100.0), ("ligament/view", "plain", bytes_, 100.0))
            (bar,) = [bar for bar in bars(m) if bar.name.startswith("plain view")]
            self.assertEqual(bar.limit, limit)

    def test_the_value_is_the_ratio_of_medians_over_repetitions(self):
        m = measurements(
            ("bare/loan", "worked", MIB, 8.0, 9.0, 100.0), ("ligament/loan", "worked", MIB, 10.0, 10.0, 10.0)
        )
        bar = row(m, "worked loans vs bare loop, 1 MiB")
        self.assertAlmostEqual(bar.value, 0.9)
        self.assertEqual((min(bar.repetitions), max(bar.repetitions)), (0.8, 10.0))

    def test_what_was_not_measured_has_no_bar(self):
        self.assertEqual(bars(measurements(("mpich/copy", "plain", 0, 100.0))), [])

    def test_python_may_take_ten_times_as_long_as_c_when_empty(self):
        def of(c, python):
            return row(measurements(("ligament/view", "plain", 0, c), ("ligament/python", "plain", 0, python)),
                       "Python, 0 B")

        self.assertEqual([of(100.0, 990.0).holds, of(100.0, 1010.0).holds], [True, False])
        self.assertTrue(of(700.0, 6900.0).holds)

    def test_rows_and_looks_may_cost_5_percent(self):
        def holds(ours, theirs, bytes_=0):
            m = measurements(("ligament/view", "plain", bytes_, ours),
                             ("unwatched/view", "plain", bytes_, theirs))
            return [bar.holds for bar in bars(m)]

        self.assertEqual([holds(104.9, 100.0), holds(105.1, 100.0)], [[True], [False]])
        self.assertEqual([holds(1049.0, 1000.0, KIB), holds(1051.0, 1000.0, KIB)], [[True], [False]])
        self.assertEqual(holds(1.0, 1.0, MIB), [])


if __name__ == "__main__":
    unittest.main()
