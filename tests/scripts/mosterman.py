#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--method mosterman is the algorithm as printed: Euler, mesh points, (x, x+), table 1; and what it costs."""
import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

CLUTCH = """const G = 9.81, J = 0.06, contact = 2.943;
th' = w;          th(t0) = 0;
J * w' = 0.1 * G; w(t0) = 0;
state hit [th >= contact] && [w > 0] { w(t0) = -w; } from init, free;
state free [pre(w) <= 0] {} from hit;
experiment { end = 2; }
"""
FREEWHEEL = """const JA = 0.02, I1 = 0.04;
JA * wA' = 0.981 + tau1 - tau2;
I1 * wI' = tau2;
th' = wA;
sw1: tau1 = 0;
sw2: wA = wI;
automaton Sw1 { state Closed [th >= 0.327] { sw1: wA = 0; } from init; }
automaton Sw2 {
  state Open [tau2 < 0] { sw2: tau2 = 0; } from init, Closed;
  state Closed [wA - wI > 0] { sw2: wA = wI; } from Open;
}
experiment { end = 0.4; rtol = 1e-9; atol = 1e-12; }
"""
CAM = """const A = 0.005, W = 200, m = 0.1, k = 1000, F0 = 4, Fm = 60;
macro cv = A * W * sin(W * time);
x' = v;  x(t0) = 0;
m * v' = -k * x - F0 + F;  v(t0) = 0;
F = if(v < cv, Fm, 0);
difference = v - cv;
experiment { end = 0.01; }
"""
# two collisions one after the other; each has a way back on the values before it
CRADLE = """v1' = 0; v1(t0) = 1;  x1' = v1; x1(t0) = -2;
v2' = 0; v2(t0) = 0;  x2' = v2; x2(t0) = 0;
v3' = 0; v3(t0) = 0;  x3' = v3; x3(t0) = 1;
automaton left {
  state hit [x2 - x1 <= 1] && [v1 - v2 > 0] { v1(t0) = v2; v2(t0) = v1; } from init, apart;
  state apart [pre(v1) - pre(v2) <= 0] {} from hit;
}
automaton right {
  state hit [x3 - x2 <= 1] && [v2 - v3 > 0] { v2(t0) = v3; v3(t0) = v2; } from init, apart;
  state apart [pre(v2) - pre(v3) <= 0] {} from hit;
}
experiment { end = 3; }
"""


class Mosterman(cli_case.CliCase):
    def run_model(self, text, *options):
        """Records of transitions, and rows as dictionaries."""
        self.write("m.lisma", text)
        self.good("run", "m.lisma", "-q", "-o", "m.csv", "--events", "e.jsonl", *options)
        records = [json.loads(line) for line in self.read("e.jsonl").splitlines()]
        lines = self.read("m.csv").splitlines()
        names = lines[0].split(",")
        rows = [dict(zip(names, map(float, line.split(",")))) for line in lines[1:]]
        return [r for r in records if r["kind"] != "initial"], rows

    def literal(self, text, step, *options):
        return self.run_model(text, "--method", "mosterman", "--step", str(step), *options)

    def test_mesh_points_and_euler(self):
        h, slope = 1e-3, 0.981 / 0.06
        records, _ = self.literal(CLUTCH, h)
        # the same recursion by hand
        th, w, n = 0.0, 0.0, 0
        while th < 2.943:
            th, w, n = th + h * w, w + h * slope, n + 1
        hit, free = records[:2]
        self.assertAlmostEqual(hit["t"], n * h, 12)
        self.assertEqual(hit["type"], "noEvent")
        self.assertFalse(hit["certified"])
        self.assertAlmostEqual(hit["changed"]["w"][0], w, 9)
        self.assertEqual((hit["class"], free["class"]), ("pinnacle", "interior"))
        self.assertEqual(free["t"], hit["t"])
        located, _ = self.run_model(CLUTCH)
        self.assertAlmostEqual(located[0]["t"], 0.6, 9)
        self.assertEqual([r["class"] for r in located], [r["class"] for r in records])

    def test_error_is_of_first_order(self):
        errors = []
        for step in (4e-3, 2e-3, 1e-3):
            _, rows = self.literal(CLUTCH, step, "--until", "0.5", "--samples", "1")
            errors.append(abs(rows[-1]["th"] - 0.5 * 0.981 / 0.06 * 0.25))
        self.assertAlmostEqual(errors[0] / errors[1], 2, 1)
        self.assertAlmostEqual(errors[1] / errors[2], 2, 1)

    def test_mythical_mode_keeps_the_state(self):
        records, rows = self.literal(FREEWHEEL, 1e-3)
        self.assertEqual([r["class"] for r in records], ["mythical", "pinnacle"])
        before = records[0]["candidate"]["wI"][0]
        self.assertLess(records[0]["impulses"]["tau2"], 0)
        self.assertEqual(rows[-1]["wI"], before)
        self.assertAlmostEqual(before, 3.27, 1)

    def test_chattering_and_equivalent_dynamics(self):
        h = 1e-4
        chatter, rows = self.literal(CAM, h, "--event-eps", "1e-9", "--all-steps")
        self.assertGreater(len(chatter), 50)
        self.assertFalse(any(r["kind"] == "slide-in" for r in chatter))
        worst = max(abs(r["difference"]) for r in rows[2:])
        # 60 N on 0.1 kg for one step
        self.assertTrue(0.01 < worst < 0.1, worst)
        slides, rows = self.literal(CAM, h, "--event-eps", "2e-4", "--all-steps")
        self.assertEqual([r["kind"] for r in slides], ["state", "slide-in"])
        smooth = [r["F"] for r in rows if r["time"] > 2 * h]
        self.assertTrue(all(0 < f < 60 for f in smooth))
        exact, rows = self.run_model(CAM)
        self.assertEqual([r["kind"] for r in exact], ["slide-in"])
        self.assertLess(max(abs(r["difference"]) for r in rows), 1e-6)

    def test_every_guard_reads_the_candidate(self):
        _, rows = self.run_model(CRADLE)
        self.assertEqual([rows[-1][v] for v in ("v1", "v2", "v3")], [0, 0, 1])
        # as printed, the second collision rejects the candidate of the first one, and its reset is
        # lost: the first ball goes on through the second
        records, rows = self.literal(CRADLE, 0.01)
        self.assertIn("mythical", [r["class"] for r in records])
        self.assertNotEqual([rows[-1][v] for v in ("v1", "v2", "v3")], [0, 0, 1])

    def test_pieces_give_the_same_bits(self):
        _, rows = self.literal(CAM, 1e-4, "--event-eps", "2e-4", "--every", "0.0005")
        _, fine = self.literal(CAM, 1e-4, "--event-eps", "2e-4", "--every", "0.00003")
        self.assertEqual(rows[-1], fine[-1])

    def test_usage(self):
        self.fails(2, "run", "ball.lisma", "--method", "mosterman", says="--step")
        self.fails(2, "run", "ball.lisma", "--method", "mosterman", "--step", "0.1", says="to itself")


if __name__ == "__main__":
    cli_case.main()
