"""Tests of the bars. Run: python3 benchmarks/oversubscribed/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import LARGE, Measurements, bars  # noqa: E402


def hops(**by_program):
    m = Measurements()
    for program, cells in by_program.items():
        for (processes, bytes_), values in cells.items():
            m.hops[(program.replace("_", "/"), processes, bytes_)] = values
    return m


def held(m):
    return {bar.name: bar.holds for bar in bars(m)}


class Bars(unittest.TestCase):
    def test_nothing_measured_promises_nothing(self):
        self.assertEqual(bars(Measurements()), [])

    def test_the_fastest_configuration_of_open_mpi_counts(self):
        m = hops(ligament={(4, 0): [1.0]}, openmpi_a={(4, 0): [5.0]}, openmpi_b={(4, 0): [0.8]})
        (bar,) = bars(m)
        self.assertAlmostEqual(bar.value, 0.8)
        self.assertFalse(bar.holds)

    def test_among_32_an_empty_message_is_as_fast_and_among_8_a_little_less_will_do(self):
        m = hops(
            ligament={(8, 0): [10.0], (32, 0): [10.0]},
            openmpi_a={(8, 0): [9.0], (32, 0): [9.0]},
        )
        self.assertEqual(held(m), {"0 B among 8 vs Open MPI": True, "0 B among 32 vs Open MPI": False})

    def test_two_processes_on_two_cores_are_not_judged(self):
        self.assertEqual(bars(hops(ligament={(2, 0): [9.0]}, openmpi_a={(2, 0): [1.0]})), [])

    def test_mpich_is_left_far_behind_or_the_bar_fails(self):
        m = hops(ligament={(4, LARGE): [10.0]}, mpich={(4, LARGE): [499.0]})
        self.assertEqual(held(m), {"64 KiB among 4 vs MPICH": False})

    def test_a_hand_over_is_compared_with_a_futex_on_as_many_cores(self):
        m = Measurements()
        m.hand_overs = {("ligament", 1): [6.0], ("ligament", 2): [60.0], ("bare/futex", 1): [5.0]}
        self.assertEqual(held(m), {"hand-over to a parked one, 1 core": True})

    def test_the_busiest_of_the_blocked_counts(self):
        m = Measurements()
        m.blocked = {("ligament", 32): [0.05, 0.2], ("openmpi/cma", 2): [100.0]}
        self.assertEqual(held(m), {"processor time while blocked, 32 instances": False})


if __name__ == "__main__":
    unittest.main()
