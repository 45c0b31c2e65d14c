"""Tests of the models and bars. Run: python3 benchmarks/light/test_light.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import bars  # noqa: E402
from cases import row  # noqa: E402
from lib.runs import ends, web  # noqa: E402


class Models(unittest.TestCase):
    def test_in_a_row_each_waits_for_the_one_before_it(self):
        text = row(3, "/bin/true", "/bin/false")
        for conduit in ("gate.out: c0.start", "c0.end: c1.start", "c1.end: c2.start"):
            self.assertIn(f"    {conduit}\n", text)
        self.assertEqual(text.count("implementation: node"), 3)

    def test_more_instances_than_there_may_be_unless_said_are_said(self):
        self.assertIn("  instances: 10001\n", row(10_000, "/bin/true", "/bin/true"))
        self.assertNotIn("instances:", row(10, "/bin/true", "/bin/true"))

    def test_all_components_of_a_web_have_as_many_conduits(self):
        pairs = list(ends(20, 200))
        self.assertEqual({[sender for sender, _ in pairs].count(i) for i in range(20)}, {10})
        self.assertEqual({[receiver for _, receiver in pairs].count(i) for i in range(20)}, {10})
        self.assertIn("args: ['7']", web(20, 200, "/bin/true", 7))


class Verdict(unittest.TestCase):
    def test_each_bar_holds_and_fails_by_its_own_figure(self):
        good = {"seconds": [(2.0, 1.0), (2.5, 1.0), (3.5, 1.0)], "memory": 900e6, "rates": [(2e6, 1e6)]}
        self.assertEqual([bar.holds for bar in bars("web", **good)], [True] * 3)
        for at, worse in enumerate(({"seconds": [(3.1, 1.0)]}, {"memory": 1.1e9}, {"rates": [(1e6, 2e6)]})):
            holds = [bar.holds for bar in bars("web", **{**good, **worse})]
            self.assertEqual(holds, [other != at for other in range(3)])


if __name__ == "__main__":
    unittest.main()
