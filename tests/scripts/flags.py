#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flags: what states set to numbers is a mode by another name. Cells whose equations change at a boundary, written
with states and with flags, have one motion; so do cells that slide, or whose guards read the flag."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

CELLS = """
const N = 60;
T_0 = 0; T_[N+1] = 2;
for i = 1:N {
  T_[i](t0) = 0.9 + 0.2 * mod(i * 0.6180339887498949, 1);
%s}
experiment { end = %s; every = %s; }
"""
FLOW = "4 * (T_[i-1] - 2 * T_[i] + T_[i+1])"


def automaton(cold, warm, below="T_[i] < 1", above="T_[i] >= 1"):
    return (f"  automaton c_[i] {{\n    state cold [{below}] {{ {cold} }} from init, warm;\n"
            f"    state warm [{above}] {{ {warm} }} from init, cold;\n  }}\n")


# what is heated where it is cold, the more the colder; first by a state that replaces the equation
CROSSING = [
    f"  T_[i]' = {FLOW};\n" + automaton(f"T_[i]' = {FLOW} + 1 - T_[i];", ""),
    f"  T_[i]' = {FLOW} + u_[i] * (1 - T_[i]); u_[i](t0) = 0;\n" + automaton("set u_[i] = 1;", "set u_[i] = 0;"),
    f"  T_[i]' = {FLOW} + q_[i]; q_[i] = u_[i] * (1 - T_[i]); u_[i](t0) = 0;\n"
    + automaton("set u_[i] = 1;", "set u_[i] = 0;"),
    f"  T_[i]' = {FLOW} + a_[i] - b_[i] * T_[i]; a_[i](t0) = 0; b_[i](t0) = 0;\n"
    + automaton("set a_[i] = 1; set b_[i] = 1;", "set a_[i] = 0; set b_[i] = 0;"),
    f"  T_[i]' = {FLOW} + max(0, 1 - T_[i]);\n",
]
# relays: both flows lead to the boundary
SLIDING = [
    "  T_[i]' = -1 + 0.1 * (T_[i-1] - T_[i]);\n" + automaton("T_[i]' = 1 + 0.1 * (T_[i-1] - T_[i]);", ""),
    "  T_[i]' = 2 * u_[i] - 1 + 0.1 * (T_[i-1] - T_[i]); u_[i](t0) = 0;\n"
    + automaton("set u_[i] = 1;", "set u_[i] = 0;"),
]
# the flag moves the boundary itself: thermostats
MOVED = [
    f"  T_[i]' = {FLOW} - 2;\n" + automaton(f"T_[i]' = {FLOW} + 2;", "", "T_[i] < 0.95", "T_[i] >= 1.05"),
    f"  T_[i]' = {FLOW} + 4 * u_[i] - 2; u_[i](t0) = 0;\n"
    + automaton("set u_[i] = 1;", "set u_[i] = 0;", "T_[i] < 0.95 + 0 * u_[i]", "T_[i] >= 1.15 - 0.1 * u_[i]"),
]


class Flags(unittest.TestCase):
    def compare(self, texts, end, tolerance):
        runs = []
        for body in texts:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.lisma")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(CELLS % (body, end, end / 4))
                runs.append(saltus_run.run(path, "--event-rows", "none", "--rtol", "1e-9", "--atol", "1e-12"))
            self.assertEqual(runs[-1].status, 0, runs[-1].errors)
        for i in (1, 20, 41, 60):
            for run in runs[1:]:
                self.assertEqual(len(run.rows), len(runs[0].rows))
                for value, want in zip(run.column(f"T_{i}"), runs[0].column(f"T_{i}")):
                    self.assertAlmostEqual(value, want, delta=tolerance)

    def test_boundaries_that_are_crossed(self):
        self.compare(CROSSING, 0.4, 1e-7)

    def test_boundaries_that_are_slid_along(self):
        self.compare(SLIDING, 0.4, 1e-7)

    def test_boundaries_that_flags_move(self):
        self.compare(MOVED, 0.2, 1e-6)


if __name__ == "__main__":
    unittest.main()
