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


NEVER = """x' = 1 - x;  x(t0) = 0;
n(t0) = 0;
state low [x >= 0.5] { set n = 1; } from init;
state high [x >= 1.2] {} from low;
state beyond [x >= 2] {} from high;
automaton door { state open [n > 3] {} from init; state shut [n < 1] {} from init, open; }
experiment { end = 10; }
"""


class ExplainRun(cli_case.CliCase):
    def test_states_that_were_never_entered(self):
        out = self.tell(NEVER)
        told = out[out.index("end at t = 10"):].splitlines()[1:]
        self.assertEqual(told, ["", "states that were never entered:", "  door: open, which asks for n > 3 in init (line 6)",
                                "  high, which asks for x ≥ 1.2 in low (line 4)"])
        self.assertNotIn("never entered", self.tell(RELAY))

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
                      "Sw2: init -> Open, because in this mode tau2 < 0, by a pulse (line 9)",
                      "wA 3.27 -> 0; pulse tau1 -0.0654", "pinnacle:", "wI stays 3.27",
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

    def test_what_fires_together_is_told_together(self):
        out = self.tell("vx' = A + 0.6*C - 3;  vy' = B + 0.8*C - 5;  x' = vx;  y' = vy;\n"
                        "x(t0) = 1;  y(t0) = 1;  vx(t0) = 0;  vy(t0) = 0;\n"
                        "contact a { gap = x; velocity = vx; force = A; }\n"
                        "contact b { gap = y; velocity = vy; force = B; }\n"
                        "contact c { gap = 0.6*x + 0.8*y; velocity = 0.6*vx + 0.8*vy;"
                        " force = C; }\n"
                        "experiment { end = 2; }\n")
        self.in_order(out, "a: free -> closed", "c: free -> closed",
                      "tried: a closed, b closed, c closed", "mythical", "b: closed -> free")
        self.assertNotIn("x' ", out)  # vx tells it

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

    def test_share_and_equivalent_value(self):
        out = self.tell(RELAY)
        self.in_order(out, "sliding begins", "the motion is 0.133975 of the flow above",
                      "u is 0.7320508", "between 1 and -1")
        slide = self.records(RELAY)[-1]
        self.assertEqual((slide["kind"], slide["type"]), ("slide-in", "critical"))
        self.assertAlmostEqual(slide["share"], 1 - 3 ** 0.5 / 2, 7)
        without, held, value = slide["equivalent"]["u"]
        self.assertEqual((without, held), (1, -1))
        self.assertAlmostEqual(value, 3 ** 0.5 - 1, 7)
        self.assertLess(slide["bracket"][1] - slide["bracket"][0], 1e-12)

    def test_share_half(self):
        slide = self.records("x' = -sign(x); x(t0) = 1;\nexperiment { end = 2; }\n")[-1]
        self.assertEqual((slide["kind"], slide["share"]), ("slide-in", 0.5))
        self.assertEqual(slide["equivalent"], {"x'": [1, -1, 0]})

    def test_share_where_sliding_ends(self):
        text = ("x' = if(x > 0, -2, 1) + a; x(t0) = 0.5; a' = %s; a(t0) = 0;\n"
                "experiment { end = 5; }\n")
        for rate, share, words in (("1", 1, "to the side where it holds"),
                                   ("-1", 0, "to the side where it does not hold")):
            begin, end = [r for r in self.records(text % rate) if r["kind"].startswith("slide")]
            self.assertGreater(begin["share"], 0)
            self.assertLess(begin["share"], 1)
            self.assertEqual(sorted(begin["equivalent"]), ["x'"])
            self.assertEqual((end["kind"], end["share"]), ("slide-out", share))
            self.assertNotIn("equivalent", end)
            self.in_order(self.tell(text % rate), "x > 0 (line 1)", words + ": sliding ends")

    def test_shares_by_value(self):
        for options in ((), ("--sliding", "utkin")):
            slide = self.records("u = if(x > 0, -2, 1); y = u^2; x' = u + y/8; x(t0) = 1;\n"
                                 "experiment { end = 2; }\n", *options)[-1]
            self.assertEqual(slide["kind"], "slide-in")
            without, held, value = slide["equivalent"]["u"]
            self.assertEqual((without, held), (1, -2))
            a = slide["share"]
            self.assertAlmostEqual(value, (1 - a) * 1 + a * -2, 9)
            wanted = 0 if options else 9 / 8 / (9 / 8 + 1.5)
            if options:  # u + u^2/8 = 0
                self.assertAlmostEqual(value, 0, 9)
            self.assertAlmostEqual(a, 1 / 3 if options else wanted, 9)

    def test_guard_as_it_was_asked(self):
        first, second = self.records(FREEWHEEL)[1:]
        (asked,) = first["guard"]
        self.assertEqual((asked["atom"], asked["holds"], asked["armed"], asked["located"]),
                         ("th >= 0.327", True, True, True))
        self.assertLess(abs(asked["g"]), 1e-12)
        self.assertNotIn("pulse", asked)
        self.assertNotIn("caused_by", first)
        (asked,) = second["guard"]
        self.assertAlmostEqual(asked["pulse"], 0.1308, 12)  # of -tau2: pulls
        self.assertTrue(asked["holds"])
        self.assertEqual(second["caused_by"], 0)
        # the constraints did not hold when the modes were entered, and do now
        for record in (first, second):
            before, after = record["residual"]
            self.assertGreater(before, 0.1)
            self.assertLess(after, 1e-12)

    def test_guard_tells_what_does_not_hold(self):
        hit = self.records("x' = 1; x(t0) = 0; y' = -1; y(t0) = 3;\n"
                           "state hit [x >= 1] || [y <= 0] {} from init;\n"
                           "experiment { end = 2; }\n")[-1]
        self.assertEqual(hit["atom"], ["x >= 1"])
        truths = {g["atom"]: (g["holds"], g["located"]) for g in hit["guard"]}
        self.assertEqual(truths, {"x >= 1": (True, True), "y <= 0": (False, False)})
        self.assertAlmostEqual({g["atom"]: g["g"] for g in hit["guard"]}["y <= 0"], -2, 9)

    def test_guard_of_events_that_concern_few(self):
        rooms = ("for i = 1:300 { T_[i]' = r_[i] - 0.1*(i/300)*T_[i]; T_[i](t0) = i/100;\n"
                 "  r_[i](t0) = 1;\n"
                 "  automaton room_[i] {\n"
                 "    state off [T_[i] >= 4] { set r_[i] = 0; } from init, on;\n"
                 "    state on [T_[i] <= 3.5] { set r_[i] = 1; } from off;\n"
                 "  }\n}\nexperiment { end = 8; }\n")
        asked = [g for r in self.records(rooms) for g in r.get("guard", [])]
        self.assertGreater(len(asked), 300)
        for one in asked:
            self.assertTrue(one["holds"])
            self.assertLess(abs(one["g"]), 1e-6)

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
