"""Tests of the fit and of the models. Run: python3 benchmarks/startup/test_fit.py"""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from cases import chain  # noqa: E402
from fit import least_squares, solve  # noqa: E402
from lib.runs import web  # noqa: E402


class Fit(unittest.TestCase):
    def test_exact_values_give_their_coefficients_back(self):
        ns, ms = [1, 10, 100, 1000, 1000], [0, 50, 400, 10, 50000]
        values = [0.02 + 3e-4 * n + 7e-6 * m for n, m in zip(ns, ms)]
        a, b, c = least_squares([[1] * 5, ns, ms], values)
        self.assertAlmostEqual(a, 0.02)
        self.assertAlmostEqual(b, 3e-4)
        self.assertAlmostEqual(c, 7e-6)

    def test_one_bad_value_does_not_tilt_a_fit_of_many(self):
        ns = list(range(1, 301, 10))
        values = [0.01 + 1e-3 * n for n in ns]
        values[3] *= 1.2
        _, b = least_squares([[1] * len(ns), ns], values)
        self.assertAlmostEqual(b, 1e-3, delta=3e-5)

    def test_cases_that_are_all_alike_are_refused(self):
        with self.assertRaises(ValueError):
            solve([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0])


class Models(unittest.TestCase):
    def test_a_chain_has_a_conduit_between_each_two(self):
        text = chain(4, "/bin/true")
        self.assertEqual(text.count(".out: p"), 3)
        self.assertIn("p2.out: p3.in", text)

    def test_each_component_of_a_web_sends_as_many_messages_as_it_receives(self):
        text = web(10, 40, "/bin/true")
        lines = [line for line in text.splitlines() if "implementation: node" in line]
        self.assertEqual(len(lines), 10)
        for line in lines:
            self.assertIn("o_i: [o0, o1, o2, o3], s: [i0, i1, i2, i3]", line)

    def test_no_conduit_of_a_web_leads_back_to_its_own_component(self):
        conduits = [line.split() for line in web(7, 70, "/bin/true").splitlines() if ".o" in line]
        self.assertEqual(len(conduits), 70)
        for sender, receiver in conduits:
            self.assertNotEqual(sender.split(".")[0], receiver.split(".")[0])

    def test_a_web_without_conduits_has_components_only(self):
        text = web(3, 0, "/bin/true")
        self.assertEqual(text.count("implementation: node"), 3)
        self.assertNotIn("conduits", text)


if __name__ == "__main__":
    unittest.main()
