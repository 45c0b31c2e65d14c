"""Tests of the bars. Run: python3 benchmarks/startup/test_bars.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from bars import light_bars, process_bars  # noqa: E402


class Verdict(unittest.TestCase):
    def test_each_bar_of_processes_holds_and_fails_by_its_own_figure(self):
        good = {"ours": [2e-3, 2.5e-3], "limited": [2e-3, 3e-3], "alone": [0.5e-3, 0.5e-3], "beyond": 0.2e6}
        self.assertEqual([bar.holds for bar in process_bars(**good)], [True] * 3)
        for at, worse in enumerate(({"ours": [3.1e-3] * 2}, {"limited": [3.1e-3] * 2}, {"beyond": 1.1e6})):
            holds = [bar.holds for bar in process_bars(**{**good, **worse})]
            self.assertEqual(holds, [other != at for other in range(3)])

    def test_each_bar_of_light_components_holds_and_fails_by_its_own_figure(self):
        good = {"runs": [[0.4], [0.45]], "threads": [0.08], "memory": 90e6}
        self.assertEqual([bar.holds for bar in light_bars("web", **good)], [True] * 3)
        for at, worse in enumerate(({"runs": [[0.5], [0.45]]}, {"runs": [[0.4], [0.5]]}, {"memory": 110e6})):
            holds = [bar.holds for bar in light_bars("web", **{**good, **worse})]
            self.assertEqual(holds, [other != at for other in range(3)])

    def test_a_slower_machine_changes_no_verdict(self):
        for slower in (1, 9):
            bars = process_bars([2e-3 * slower], [4e-3 * slower], [0.5e-3 * slower], 0)
            self.assertEqual([bar.holds for bar in bars], [True, False, True])


if __name__ == "__main__":
    unittest.main()
