#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Relations far from zero are passed over in blocks: what happens is the same to the last bit as when all are followed."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

# A relation with a boundary that the model must not be evaluated beyond has to be followed in every
# step, and all others with it. This one is far away. (A declared energy keeps events from being
# carried out alone, which has its own way of passing over relations.)
FOLLOW_ALL = """
automaton guard { state beyond unilateral[x_1 <= -1e9] { } from init; }
"""
BASIS = "energy = 0;\n"

# relations of one state, with a reset; many reach their limit, in different steps and in the same
CELLS = """const N = 300;
for i = 1:N {
  x_[i]' = 0.1 * (5 - x_[i]);  x_[i](t0) = mod(i * 0.6180339887498949, 1) + 1.2;
  automaton cell_[i] { state full [x_[i] >= 2] { x_[i](t0) = mod(i, 7) / 10; } from init, full; }
}
experiment { end = 4; out = x_1, x_77, x_300; }
"""

# switches back and forth, relations of two states, products, a limit that depends on time
MIXED = """const N = 300;
x_0 = 0;
for i = 1:N {
  x_[i]' = y_[i] + 0.02 * (x_[i-1] - x_[i]);  x_[i](t0) = 0.2 * sin(3 * i);
  y_[i]' = -x_[i] + if(x_[i] * y_[i] > 0.9 + i / N, -0.5, 0) - 0.1 * y_[i];
  y_[i](t0) = 0.5 + cos(5 * i);
  n_[i](t0) = 0;
  automaton far_[i] {
    state up [x_[i] - y_[i] >= 1.2 + 0.01 * time] { set n_[i] = n_[i] + 1; } from init, down;
    state down [x_[i] - y_[i] <= 0] { } from up;
  }
}
experiment { end = 5; out = x_1, y_7, x_300, n_3, n_200; }
"""

# relations that touch their limit without crossing, and such that are within their zone all along
TOUCHES = """const N = 300;
for i = 1:N {
  x_[i]' = q_[i];  x_[i](t0) = 0;
  q_[i]' = -x_[i];  q_[i](t0) = 1;
  c_[i](t0) = 0;
  automaton touch_[i] {
    state a [x_[i] >= 1 + (i - 150) * 2e-8] { set c_[i] = c_[i] + 1; } from init, b;
    state b [x_[i] <= 0] { } from a;
  }
}
experiment { end = 8; rtol = 1e-9; out = c_1, c_150, c_151, x_1; }
"""


class FarRelations(cli_case.CliCase):
    def run_model(self, text, *options):
        self.write("m.lisma", BASIS + text)
        self.good("run", "m.lisma", "-o", "m.csv", "--events", "e.jsonl", *options)
        return self.read("m.csv"), self.read("e.jsonl")

    def compare(self, text, events, *options):
        rows, records = self.run_model(text, *options)
        all_rows, all_records = self.run_model(text + FOLLOW_ALL, *options)
        self.assertEqual(rows, all_rows)
        known = [json.loads(line) for line in records.splitlines()]
        others = [json.loads(line) for line in all_records.splitlines()]
        for record in known + others:
            record.pop("line", None)
            record.pop("mode", None)
        self.assertEqual(known, others)
        self.assertGreater(len(known), events)
        self.assertTrue(all(r.get("certified", True) for r in known if r["kind"] == "state"))

    def test_cells(self):
        self.compare(CELLS, 200)

    def test_mixed(self):
        self.compare(MIXED, 100)

    def test_other_methods(self):
        for method in ("dop853", "rk4"):
            options = ("--step", "0.05") if method == "rk4" else ()
            self.compare(CELLS, 200, "--method", method, *options)

    def test_touches(self):
        self.compare(TOUCHES, 100)

    def test_pieces(self):
        # more rows, and a run in pieces, ask in the midst of steps
        _, records = self.run_model(MIXED, "--every", "0.013")
        _, same = self.run_model(MIXED, "--samples", "1")
        self.assertEqual(records, same)


if __name__ == "__main__":
    unittest.main()
