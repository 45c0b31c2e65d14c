"""Tests of the handling of failed programs. Run: python3 benchmarks/wan/test_failures.py"""

import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from failures import Failures  # noqa: E402
from lib.machine import CannotMeasure  # noqa: E402


class OfPrograms(unittest.TestCase):
    def test_a_peer_that_fails_is_reported_and_what_comes_after_it_is_measured(self):
        failures, measured = Failures(), []
        with contextlib.redirect_stdout(io.StringIO()) as told:
            for program in ("bare", "iperf3", "scp", "ours"):
                with failures.of(program, "15 ms, cubic, 0 %"):
                    if program == "bare":
                        raise CannotMeasure("message 1 came,\nand not 0")
                    if program == "scp":
                        raise AssertionError("status 1")
                    measured.append(program)
        self.assertEqual(measured, ["iperf3", "ours"])
        self.assertEqual(failures.lines, ["15 ms, cubic, 0 %: bare failed: message 1 came, and not 0",
                                          "15 ms, cubic, 0 %: scp failed: status 1"])
        self.assertEqual(told.getvalue().split("\n")[:2], [f"  {line}" for line in failures.lines])

    def test_where_ours_fails_nothing_is_left_to_measure(self):
        with self.assertRaises(CannotMeasure), Failures().of("ours", "somewhere"):
            raise CannotMeasure("no")

    def test_a_mistake_in_the_benchmark_itself_is_no_failure_of_a_peer(self):
        with self.assertRaises(KeyError), Failures().of("bare", "somewhere"):
            raise KeyError("bars")


if __name__ == "__main__":
    unittest.main()
