#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops of thousands of instances, which are lowered for a few of them, run like those that are written out."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from cli_case import CliCase  # noqa: E402

# a bound that is computed keeps a loop from being sampled
BOUNDS = {"sampled": "N", "written": "(N)*1"}

CELLS = """
const N = 2500, k = 0.1;
for i = 1:%s {
  T_[i]' = k * (5 - T_[i]) + c_[i];
  T_[i](t0) = i / N;
  automaton cell_[i] {
    state full [T_[i] >= 2] { T_[i](t0) = 0; n_[i](t0) = n_[i] + i; } from init, full;
  }
  n_[i](t0) = 0;
  automaton cooler_[i] { state on [T_[i] > 1.5] { c_[i] = -0.1; } from init; }
  c_[i] = 0;
}
experiment { end = 8; every = 2; out = T_1, T_2, T_1250, T_2500, n_2499; }
"""

ROD = """
const N = 2500;
for i = 2:%s { x_[i]' = x_[i-1] - 2*x_[i] + x_[i+1] + max(0, x_[i] - 0.5); }
x_1 = 1; x_[N+1] = 0;
experiment { end = 0.5; every = 0.5; out = x_2, x_5, x_2500; }
"""


class LargeLoops(CliCase):
    def both(self, text, *arguments):
        results = {}
        for name, bound in BOUNDS.items():
            self.write("model.lisma", text % bound)
            results[name] = self.saltus(arguments[0], "model.lisma", *arguments[1:])
            self.assertEqual(results[name].status, 0, results[name].err)
        return results

    def test_runs_and_events_are_the_same(self):
        for text in (CELLS, ROD):
            results = self.both(text, "run", "-o", "-")
            self.assertGreater(len(results["sampled"].out.splitlines()), 2)
            self.assertEqual(results["sampled"].out, results["written"].out)
        results = self.both(CELLS, "run", "-o", "rows.csv", "--events", "-")
        self.assertIn("cooler_7", results["sampled"].out)
        self.assertEqual(results["sampled"].out, results["written"].out)

    def test_explanations_are_the_same(self):
        results = self.both(CELLS, "explain", "--ir")
        self.assertIn("cell_2500", results["sampled"].out)
        self.assertEqual(results["sampled"].out, results["written"].out)
        results = self.both(ROD, "explain")
        about = [r.out.splitlines() for r in results.values()]
        self.assertEqual(about[0][4:], about[1][4:])

    def test_messages_are_those_of_the_whole_text(self):
        self.write("model.lisma", CELLS % "N" + "T_2400' = 1;\n")
        result = self.saltus("check", "model.lisma")
        self.assertNotEqual(result.status, 0)
        self.assertIn("T_2400", result.err)


if __name__ == "__main__":
    unittest.main()
