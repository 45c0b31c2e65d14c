"""Tests of the bars. Run: python3 benchmarks/wan/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import Cell, Measurements, bars  # noqa: E402

MIB = 1 << 20
CLEAN, LOSSY = Cell(100, 0, "bbr"), Cell(100, 0.1, "bbr")


def held(m):
    return {bar.name: bar.holds for bar in bars(m)}


class Bars(unittest.TestCase):
    def test_nothing_measured_promises_nothing(self):
        self.assertEqual(bars(Measurements()), [])

    def test_large_messages_are_held_against_the_best_number_of_bare_streams(self):
        m = Measurements()
        m.speed = {(CLEAN, "bare/16", 64 * MIB, "first"): [400, 500, 450],
                   (CLEAN, "bare/64", 64 * MIB, "first"): [300],
                   (CLEAN, "ours", 64 * MIB, "first"): [404]}
        self.assertEqual(held(m), {"100 ms, bbr, 0 %: 64 MiB, first": False})

    def test_where_segments_are_lost_less_of_it_will_do(self):
        m = Measurements()
        m.speed = {(LOSSY, "bare/16", 64 * MIB, "later"): [100], (LOSSY, "ours", 64 * MIB, "later"): [81]}
        self.assertEqual(held(m), {"100 ms, bbr, 0.1 %: 64 MiB, later": True})

    def test_of_iperf3_only_the_larger_size_is_compared(self):
        m = Measurements()
        m.speed = {(CLEAN, "ours", size, "first"): [90] for size in (64 * MIB, 256 * MIB)}
        m.speed |= {(CLEAN, "iperf3/8", size, "first"): [100] for size in (64 * MIB, 256 * MIB)}
        self.assertEqual(held(m), {"100 ms, bbr, 0 %: 256 MiB, first": False})

    def test_small_messages_and_those_after_silence_are_held_against_ping(self):
        m = Measurements()
        m.ping = {CLEAN: [100.2]}
        m.small = {(CLEAN, "ours"): [50.29], (CLEAN, "bare/16"): [70]}
        m.silence = {(CLEAN, "ours", 20 << 10): [54.0], (CLEAN, "ours", MIB): [113.0],
                     (CLEAN, "ours", 4 * MIB): [335.0]}
        self.assertEqual(held(m), {
            "100 ms, bbr, 0 %: 64 B": True,
            "100 ms, bbr, 0 %: 20 KiB after 3 s of silence": True,
            "100 ms, bbr, 0 %: 1 MiB after 3 s of silence": False,
            "100 ms, bbr, 0 %: 4 MiB after 3 s of silence": True,
        })

    def test_each_relay_may_cost_a_part_of_the_speed_and_of_a_round_trip(self):
        m = Measurements()
        m.speed = {(CLEAN, program, 64 * MIB, "later"): [value] for program, value in
                   (("ours", 100), ("relay", 94), ("trunk", 91))}
        m.small = {(CLEAN, "ours"): [50.1], (CLEAN, "relay"): [50.19], (CLEAN, "trunk"): [50.31]}
        self.assertEqual(held(m), {
            "100 ms, bbr, 0 %: 64 MiB, later, relay": False,
            "100 ms, bbr, 0 %: 64 MiB, later, trunk": True,
            "100 ms, bbr, 0 %: 64 B, relay": True,
            "100 ms, bbr, 0 %: 64 B, trunk": False,
        })

    def test_small_messages_beside_large_ones_are_held_against_bare_beside_its_own(self):
        m = Measurements()
        m.beside = {(CLEAN, "bare/16"): [60, 61, 62], (CLEAN, "bare/64"): [70], (CLEAN, "ours"): [62.1],
                    (CLEAN, "run"): [62.3]}
        name = "100 ms, bbr, 0 %: 64 B while large ones flow"
        self.assertEqual(held(m), {f"{name}, ours": True, f"{name}, run": False})

    def test_processor_time_is_held_against_the_best_number_of_bare_streams(self):
        m = Measurements()
        m.speed = {(CLEAN, "bare/16", 64 * MIB, "later"): [400], (CLEAN, "bare/64", 64 * MIB, "later"): [500]}
        m.processor = {(CLEAN, "bare/16"): [2], (CLEAN, "bare/64"): [1], (CLEAN, "ours"): [2.1]}
        self.assertEqual(held(m), {"100 ms, bbr, 0 %: processor time per GB": False})

    def test_what_has_a_link_of_its_own_has_bars_of_its_own(self):
        m = Measurements()
        m.steps, m.flaps, m.gaps, m.runs = {"ours": [1.1],
                                            "bare": [4]}, {"ours": [99]}, {"ours": [3.6]}, {CLEAN: [1.5, 1.4]}
        self.assertEqual([bar.holds for bar in bars(m)], [True, True, True, False])

    def test_copies_are_held_against_the_path_and_scp(self):
        m = Measurements()
        m.speed = {(CLEAN, "ours", 64 * MIB, "first"): [400]}
        m.copies = {(CLEAN, "cp", 256 * MIB): [370], (CLEAN, "scp", 256 * MIB): [80]}
        m.many, m.appears = {(CLEAN, "cp"): [2.0], (CLEAN, "scp"): [200.0]}, {CLEAN: [0.81]}
        self.assertEqual([bar.holds for bar in bars(m)], [True, False, False, True])


if __name__ == "__main__":
    unittest.main()
