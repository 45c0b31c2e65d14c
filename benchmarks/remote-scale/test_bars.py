"""Tests of the bars and models. Run: python3 benchmarks/remote-scale/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import bars  # noqa: E402
from cases import Case, model  # noqa: E402


def run(memory, connections):
    return {"start_s": 1.0, "end_s": 1.0, "memory": memory, "connections": connections}


class Bars(unittest.TestCase):
    def test_nothing_measured_promises_nothing(self):
        self.assertEqual(bars({}, "least"), [])

    def test_more_connections_than_of_one_pair_fail(self):
        found = {"least": [run(1e8, 3)], "many": [run(3e9, 3), run(3e9, 4)]}
        self.assertEqual({bar.name: bar.holds for bar in bars(found, "least")},
                         {"memory of many": True, "connections of many": False})

    def test_more_than_four_gigabytes_fail(self):
        (bar, _) = bars({"least": [run(1e8, 3)], "many": [run(4.1e9, 3)]}, "least")
        self.assertFalse(bar.holds)


class Models(unittest.TestCase):
    def test_each_instance_has_its_conduits_all_of_them_to_the_other_machine(self):
        text = model(Case("ten", 20, 10), "/folder")
        pairs = [line.split(": ") for line in text.splitlines() if ".o" in line and ".i" in line]
        self.assertEqual(len(pairs), 100)
        for one, other in pairs:
            self.assertNotEqual(one.strip()[0], other[0])
        ends = [end.strip() for pair in pairs for end in pair]
        self.assertEqual(len(set(ends)), 200)
        self.assertEqual(sum(end.startswith("a3.") for end in ends), 10)

    def test_more_conduits_than_there_are_others_are_refused(self):
        with self.assertRaises(ValueError):
            Case("few", 4, 10)


if __name__ == "__main__":
    unittest.main()
