#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`saltus explain --run` tells what happened: causes, tried modes, values, classes; patterns are counted."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

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
experiment { end = 0.4; rtol = 1e-9; atol = 1e-12; eventeps = 1e-10; }
"""

# a mode whose reset is dropped with it; the state that takes over follows a switch
DROPPED = """x' = 1;  x(t0) = 0;
n(t0) = 0;
f = if(x > 0.75, 1, 0);
sw: F = 0;
automaton a {
  state hit [x >= 0.5] { sw: F = -1; set n = 5; x(t0) = 0.8; } from init;
  state out [F < 0] { sw: F = 0; } from hit;
}
experiment { end = 1; }
"""

RELAY = """x' = v;  x(t0) = 1;
u = -sign(x + v);
v' = u;  v(t0) = 0;
experiment { end = 5; rtol = 1e-9; }
"""


class ExplainRun(cli_case.CliCase):
    def tell(self, text, *options):
        self.write("m.lisma", text)
        return self.good("explain", "m.lisma", "--run", *options).out

    def records(self, text, *options):
        self.write("m.lisma", text)
        out = self.good("run", "m.lisma", "-q", "-o", "m.csv", "--events", "-", *options).out
        return [json.loads(line) for line in out.splitlines()]

    def in_order(self, out, *texts):
        at = 0
        for text in texts:
            found = out.find(text, at)
            self.assertGreaterEqual(found, 0, f"`{text}` is missing after:\n{out[:at]}\nin\n{out}")
            at = found + len(text)

    def test_mythical(self):
        out = self.tell(FREEWHEEL)
        self.in_order(out, "m.lisma from t = 0 to t = 0.4",
                      "t = 0.2, located to", "certified",
                      "Sw1: init -> Closed, because th >= 0.327 now (line 7)",
                      "tried: Sw1 Closed, Sw2 init",
                      "this mode would give wA 3.27 -> 0, wI 3.27 -> 0; pulses tau1 -0.1962, tau2 -0.1308",
                      "mythical:",
                      "Sw2: init -> Open, because in this mode tau2 < 0 (line 9)",
                      "wA 3.27 -> 0; pulse tau1 -0.0654", "pinnacle:",
                      "the motion goes on in Sw1 Closed, Sw2 Open",
                      "1 instant; records by class: 1 mythical, 1 pinnacle")
        first, second = self.records(FREEWHEEL)[1:]
        self.assertEqual(first["because"], "crossing")
        self.assertEqual(first["changed"], {})
        self.assertEqual(sorted(first["candidate"]), ["wA", "wI"])
        self.assertAlmostEqual(first["candidate"]["wI"][0], 3.27, 9)
        self.assertEqual(first["candidate"]["wI"][1], 0)
        self.assertEqual(second["because"], "candidate")
        self.assertNotIn("candidate", second)

    def test_dropped_reset(self):
        hit, out = [r for r in self.records(DROPPED) if r["automaton"] == "a"]
        self.assertEqual((hit["class"], hit["changed"]), ("mythical", {}))
        self.assertEqual(hit["candidate"]["n"], [0, 5])
        self.assertAlmostEqual(hit["candidate"]["x"][0], 0.5, 12)
        self.assertEqual(hit["candidate"]["x"][1], 0.8)
        self.assertEqual((out["class"], out["changed"]), ("interior", {}))

    def test_derivatives_that_jump(self):
        record = self.records("y'' = -9.81; y(t0) = 1; y'(t0) = 0;\n"
                              "state hit [y <= 0] { y'(t0) = -0.5 * y'; } from init, hit;\n"
                              "experiment { end = 0.5; }\n")[1]
        before, after = record["changed"]["y'"]
        self.assertAlmostEqual(before, -(2 * 9.81) ** 0.5, 6)
        self.assertEqual(after, -0.5 * before)

    def test_sliding(self):
        out = self.tell(RELAY)
        self.in_order(out, "t = 0.7320508", "on both sides of", "(line 2)", "sliding begins",
                      "the motion goes on, sliding", "1 sliding")

    def test_patterns_are_counted(self):
        short = self.good("explain", "ball.lisma", "--run").out
        every = self.good("explain", "ball.lisma", "--run", "--all").out
        self.in_order(short, "init -> bounce", "bounce again", "bounce again", "... the same ",
                      " more times, until t = ", "bounce -> rest")
        self.assertEqual(short.count("bounce again"), 2)
        self.assertEqual(every.count("bounce again"), 2 + int(short.split("the same ")[1].split()[0]))
        self.assertNotIn("...", every)
        self.assertEqual(short.splitlines()[-1], every.splitlines()[-1])

    def test_patterns_of_several_instants(self):
        out = self.tell("x' = r; x(t0) = 0; r(t0) = 1;\n"
                        "state up [x <= 0] { set r = 1; } from down;\n"
                        "state down [x >= 1] { set r = -1; } from init, up;\n"
                        "experiment { end = 20; }\n")
        self.in_order(out, "init -> down", "down -> up", "up -> down", "down -> up", "up -> down",
                      "the same 2 in turn, ", "end at t = 20")
        self.assertEqual(out.count("down -> up"), 2)

    def test_situations_of_rule_tables(self):
        path = os.path.join(cli_case.SOURCE, "models", "rules", "hoop.rules.md")
        out = self.good("explain", path, "--run", "--until", "1").out
        self.in_order(out, "braking becomes true: `Vy velocity` < 0 and `h height` < `R radius` (line",
                      "braking becomes false: no longer ")
        self.assertNotIn("true ->", out)

    def test_guards_without_relations(self):
        out = self.tell("x' = 1; x(t0) = 0;\n"
                        "automaton a { state hit [x >= 1] {} from init; state off {} from hit; }\n"
                        "automaton b { state too a.off {} from init; }\n"
                        "experiment { end = 2; }\n")
        self.in_order(out, "a: init -> hit, because x >= 1 now (line 2)", "a: hit -> off, at once (line 2)",
                      "b: init -> too, following the other states (line 3)")

    def test_json_is_the_file_of_events(self):
        self.write("m.lisma", FREEWHEEL)
        told = self.good("explain", "m.lisma", "--run", "--json").out
        written = self.good("run", "m.lisma", "-q", "-o", "m.csv", "--events", "-").out
        self.assertEqual(told, written)

    def test_rows_only_when_asked_for(self):
        before = sorted(os.listdir(self.folder))
        self.good("explain", "ball.lisma", "--run", "--set", "k=0.5", "--until", "1")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.good("explain", "ball.lisma", "--run", "-o", "rows.csv", "--events", "e.jsonl")
        self.assertTrue(self.read("rows.csv").startswith("time,y,v"))
        self.assertTrue(self.read("e.jsonl"))

    def test_usage(self):
        self.fails(2, "explain", "--run", says="needs a model")
        self.fails(2, "explain", "ball.lisma", "--run", "-o", "-", says="standard output")
        self.fails(2, "explain", "ball.lisma", "--run", "--json", "--all", says="--json")
        self.fails(2, "explain", "ball.lisma", "--run", "--untill", "2", says="--until")
        self.fails(2, "explain", "ball.lisma", "--all", says="--all")

    def test_a_run_that_fails(self):
        self.write("m.lisma", "x' = -1/x; x(t0) = 1;\nexperiment { end = 2; }\n")
        result = self.fails(3, "explain", "m.lisma", "--run")
        self.assertIn("the run ends here, at t = ", result.out)

    def test_no_rows(self):
        self.write("m.lisma", "x' = ln(x); x(t0) = -1;\n")
        self.fails(3, "run", "m.lisma", "-q", "-o", "m.csv", says="no rows were written")


if __name__ == "__main__":
    cli_case.main()
