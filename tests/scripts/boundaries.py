#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Truth at a boundary: as written at the start and where values were set, then where the flow leads, at the same
time; counters beside surfaces; what the last instant of a run keeps."""
import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class Boundaries(cli_case.CliCase):
    def run_model(self, text, until="2", samples="10"):
        """Rows by name, records without that of the start, and what was said."""
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "-q", "-o", "m.csv", "--events", "m.jsonl", "--until", until,
                           "--samples", samples)
        lines = self.read("m.csv").splitlines()
        names = [n.strip('"') for n in lines[0].split(",")]
        rows = [dict(zip(names, map(float, line.split(",")))) for line in lines[1:]]
        records = [json.loads(line) for line in self.read("m.jsonl").splitlines()]
        return rows, [r for r in records if r["kind"] != "initial"], result.err

    # ---- the start and what was set ------------------------------------------------------------

    def test_relations_hold_as_written_at_the_start(self):
        # relation at its boundary, value as written there, value once time flows
        cases = (("time <= 0", 7, 1), ("time < 0", 1, 1), ("time >= 0", 7, 7), ("time > 0", 1, 7),
                 ("x <= c", 7, 1), ("x < c", 1, 1), ("x >= c", 7, 7), ("x > c", 1, 7),
                 ("2*x - c <= c", 7, 1), ("-x < -c", 1, 7), ("x*x > c*c", 1, 7))
        for c in (1.0, 3e-9, -7e8):
            for relation, first, then in cases:
                if c < 0 and "x*x" in relation:
                    continue
                text = f"const c = {c!r}; x' = abs(c); x(t0) = c; y = if({relation}, 7, 1);\n"
                rows, records, _ = self.run_model(text)
                self.assertEqual(rows[0]["y"], first, (c, relation))
                self.assertTrue(all(r["y"] == then for r in rows if r["time"] > 0), (c, relation))
                self.assertEqual([r["t"] for r in records], [0.0] * (first != then), (c, relation))

    def test_a_start_elsewhere(self):
        for start in (0.1, -5.0, 1e6):
            text = f"y = if(time <= {start!r}, 7, 1); experiment {{ start = {start!r}; }}\n"
            rows, records, _ = self.run_model(text, until=repr(start + 1))
            self.assertEqual([rows[0]["y"], rows[-1]["y"]], [7, 1])
            self.assertEqual([r["t"] for r in records], [start])

    def test_values_that_were_set(self):
        for c in (1.0, 1e-9, 5e7):
            text = f"const c = {c!r}; x' = c; x(t0) = 0; n(t0) = 0; y = if(x <= 2*c, 5, 6);\n" \
                   "at 1 { set x = 2*c; }\nstate s [x > 2*c] { set n = n + 1; } from init;\n"
            rows, records, _ = self.run_model(text)
            self.assertEqual([r["t"] for r in records], [1.0, 1.0, 1.0])
            self.assertEqual([r["y"] for r in rows if r["time"] == 1.0], [5, 5, 6])
            self.assertEqual(rows[-1]["n"], 1)

    def test_a_state_at_rest_on_its_boundary_is_on_no_side(self):
        # relation at x = 0, its value there
        for c in (1.0, 3e-9, 7e8):
            for value, wanted in (("sign(x)", 0), ("if(x > 0, 1, 2)", 2), ("if(x >= 0, 1, 2)", 1),
                                  ("sign(x) + 2*if(c*x > 0, 1, 0) + 5*if(x/c >= 0, 1, 0)", 5)):
                text = f"const c = {c!r}; x' = 0; x(t0) = 0; z' = {value}; z(t0) = 0;\n" \
                       "y' = -c*sign(y); y(t0) = c;\n"
                rows, records, _ = self.run_model(text)
                self.assertAlmostEqual(rows[-1]["z"], 2*wanted, 12, (c, value))
                self.assertEqual(len([r for r in records if r["kind"] == "slide-in"]), 1, (c, value))

    def test_motion_that_tends_to_a_boundary_does_not_cross_it(self):
        motions = ("x' = -k*(x - c);", "x' = k*c - k*x + w; w' = 0; w(t0) = 0;", "x' = -k*(x - c)/(1 + time);")
        for c in (1.0, 2e-9, 5e6):
            for k in (1.0, 50.0, 3000.0):
                for motion in motions:
                    text = f"const c = {c!r}, k = {k!r}; {motion} x(t0) = 2*c; n(t0) = 0; d(t0) = 0;\n" \
                           "d' = if(x > c, 1, 2); state s [x < c] { set n = n + 1; } from init, s;\n"
                    rows, _, _ = self.run_model(text, until="50")
                    self.assertEqual(rows[-1]["n"], 0, text)
                    self.assertAlmostEqual(rows[-1]["d"], 50.0, 6, text)

    def test_a_slow_crossing_of_what_is_drawn_along_is_one(self):
        # the state follows a ramp through the boundary at any pace
        for c in (1.0, 1e-9):
            for pace in (1.0, 1e-2, 1e-4):
                text = f"const c = {c!r}; x' = -100*(x - c*{pace}*(time - 5)); x(t0) = -5*{pace}*c; n(t0) = 0;\n" \
                       "state s [x > 0] { set n = time; } from init;\n"
                rows, _, _ = self.run_model(text, until="10")
                self.assertAlmostEqual(rows[-1]["n"], 5.01, 3, text)

    def test_resets_agree_with_their_guard(self):
        # ball with height c and speed v; the reset decides by the relation that has just fired
        spellings = (("x <= 0", "x <= 0"), ("x <= 0", "0 >= x"), ("x <= 0", "not (x > 0)"), ("0 >= x", "x <= 0"),
                     ("not (x > 0)", "x <= 0"), ("not (x > 0)", "not (0 < x)"), ("x < 0", "!(x >= 0)"),
                     ("x <= 0 && v < 0", "x <= 0"), ("low", "low"), ("low", "x <= 0"))
        heads = ("state s [{g}] {{ {r} }} from init, s;", "state s [{g}] {{ {r} }} from init; state s [{g}] from s;",
                 "state s [{g}] {{ {r} }} from init; state s [{g}] {{ {r} }} from s;",
                 "state s [{g}] {{ {r} set n = n + 1; }} from init; state s [{g}] {{ {r} }} from s;")
        for c in (1.0, 0.3, 7e-9, 1e6):
            for guard, asked in spellings:
                for head in heads:
                    states = head.format(g=guard, r=f"for i = 1:1 {{ set v = if({asked}, -0.8*v, v); }}")
                    text = f"const c = {c!r}; macro low = x <= 0; x' = v; v' = -c; x(t0) = c; v(t0) = 0; n(t0) = 0;\n"
                    rows, records, _ = self.run_model(text + states, until="6")
                    # falls for sqrt(2), then flies for 2*0.8^k*sqrt(2): 1.41, 3.68, 5.49
                    self.assertEqual(len(records), 3, (c, guard, asked, head))
                    t, v = 6 - math.sqrt(2) * (1 + 2 * 0.8 + 2 * 0.64), 0.512 * math.sqrt(2)
                    self.assertAlmostEqual(rows[-1]["x"] / c, v * t - t * t / 2, 6, (c, guard, asked, head))

    def test_a_ball_comes_to_rest_whatever_its_guard_and_reset_ask(self):
        for guard in ("x <= 0", "x < 0 && v < 0", "not (x > 0)", "not (x > 0 || v >= 0)"):
            for asked in (guard, "x <= 0", "x <= 0 && v < 0"):
                text = f"x' = v; v' = -1; x(t0) = 1; v(t0) = 0; state s [{guard}] {{ set v = if({asked}, -0.8*v, v); }} from init, s;\n"
                rows, _, _ = self.run_model(text, until="30")
                self.assertAlmostEqual(rows[-1]["x"], 0, 12, (guard, asked))
                self.assertEqual(rows[-1]["v"], 0, (guard, asked))

    def test_resets_of_branches_agree_with_their_condition(self):
        for c in (1.0, 0.3, 7e-9):
            text = f"const c = {c!r}; x' = -c; x(t0) = c/3; n(t0) = 0;\n" \
                   "if (x < 0) { set n = if(x < 0, 1, 2); }\n"
            rows, _, _ = self.run_model(text)
            self.assertEqual(rows[-1]["n"], 1, c)

    def test_resets_on_a_crossing_read_its_equality(self):
        # x(t) = c*t/T at multiples of T/10: the last digit of x falls on either side of its boundary
        forms = (
            ("set n = n + if(x >= 0.3*c, 1, 0);", 18), ("set n = n + if(x > 0.3*c, 1, 0);", 17),
            ("set n = n + if(x == 0.7*c, 1, 0);", 1), ("set n = n + if(y >= 0, 1, 0);", 18),
            ("set n = n + floor(x/c);", 12), ("set n = n + ceil(x/c);", 30), ("set n = n + sign(x - c);", 0),
            ("set n = n + if(mod(x, 0.5*c) <= 0, 1, 0);", 5), ("set n = n + if(time >= 0.3*T, 1, 0);", 18),
            ("set n = n + reached(x/c);", 18))
        for c, unit in ((1.0, 1.0), (3e-9, 7e-6), (0.3, 2e5)):
            for action, expected in forms:
                text = f"const c = {c!r}, T = {unit!r}; x' = c/T; x(t0) = 0; n(t0) = 0; y = x - 0.3*c;\n" \
                       f"function reached(u) = if(u >= 0.3, 1, 0); every 0.1*T {{ {action} }}\n"
                rows, _, _ = self.run_model(text, until=repr(2.05 * unit))
                self.assertEqual(rows[-1]["n"], expected, (c, unit, action))

    def test_relations_that_no_guard_decides_are_asked_as_they_stand(self):
        # entered by 'goto', long before the guard could hold; noEvent asks for the value at the crossing
        text = "x' = -1; x(t0) = 5; n(t0) = 0; m(t0) = 0; at 1 { goto s; }\n" \
               "state s [x <= 2] { set n = if(x <= 2, 1, 7); set m = if(noEvent(x <= 4.5), 1, 7); } from init;\n"
        rows, _, _ = self.run_model(text)
        self.assertEqual((rows[-1]["n"], rows[-1]["m"]), (7, 1))

    def test_signs_that_change_at_infinity_change_once(self):
        # how often x passes zero upwards or downwards is known; 1/x and cot(x) pass infinity there
        for c in (1, 1e-9, 1e9):
            for relation, motion, ups, downs in (
                    ("1/x", "x' = cos(time); x(t0) = -0.5;", 7, 7),
                    ("1/x", "x = sin(time) - 0.5;", 7, 7),
                    ("tan(x)", "x' = 1; x(t0) = 0.1;", 13, 12),
                    ("-cos(x)/sin(x)", "x' = 1; x(t0) = 0.1;", 12, 13)):
                text = (f"n(t0) = 0; m(t0) = 0; {motion}\n"
                        f"state up [{c!r}*({relation}) > 0] {{ set n = n + 1; }} from init, down;\n"
                        f"state down [{c!r}*({relation}) < 0] {{ set m = m + 1; }} from init, up;\n")
                rows, _, _ = self.run_model(text, until="39")
                self.assertEqual((rows[-1]["n"], rows[-1]["m"]), (ups, downs), (c, relation, motion))

    def test_resting_values_stay(self):
        rows, records, _ = self.run_model("x' = 0; x(t0) = 1; y = if(x <= 1, 7, 1); z = if(x < 1, 7, 1);\n")
        self.assertEqual(records, [])
        self.assertEqual({(r["y"], r["z"]) for r in rows}, {(7, 1)})

    def test_absent_initial_values_are_told_once(self):
        cases = (("x' = 1;", ["x"]), ("z' = x; x' = 1; x(t0) = 0;", ["z"]), ("b' = a; a' = 1;", ["b", "a"]),
                 ("x'' = -x; x(t0) = 1;", []), ("x' = v; x = sin(time);", []), ("x' = 1; at 0 { set x = 3; }", []),
                 ("x' = 1; at 0 { set x = 0; }", []), ("x' = 1; at 1 { set x = 0; }", ["x"]),
                 ("n(t0) = 0; at 1 { set n = 1; }", []), ("for i = 1:9 { x_[i]' = 1; }", [f"x_{i}" for i in range(1, 6)]))
        for text, names in cases:
            _, _, err = self.run_model(text + "\n")
            self.assertEqual(err.count("W0809"), 1 if names else 0, text)
            if names:
                self.assertIn(" for " + ", ".join(f"'{name}'" for name in names), err)
                self.assertEqual("and 4 more" in err, "for i" in text)

    def test_check_tells_what_the_first_instant_tells(self):
        cases = (("x' = -x;", 0, "W0809"), ("x = 1; x(t0) = 2; y' = x; y(t0) = 0;", 1, "E0820"),
                 ("x' = 1/y; x(t0) = 0; y(t0) = 0;", 1, "E0802"), ("x' = -x; x(t0) = 1;", 0, "no problems found"))
        for text, status, said in cases:
            result = self.saltus("check", self.write("m.lisma", text))
            self.assertEqual(result.status, status, text)
            self.assertIn(said, result.out + result.err, text)

    def test_what_is_set_happens_or_is_told(self):
        # computed at first and moving later, and the other way round; derivatives
        moves, computed = "y' = -1;", "y = 3*x;"
        for first, then, at in ((computed, moves, 0.5), (moves, computed, 1.5)):
            text = f"x' = 1; x(t0) = 0; law: {first} {'y(t0) = 4;' if first == moves else ''}\n" \
                   f"state s [time >= 1] {{ law: {then} }} from init; experiment {{ end = 2; }}\n"
            for way in (f"at {at} {{ set y = 7; }}", f"automaton a {{ state k [x >= {at}] {{ set y = 7; }} from init; }}"):
                self.write("m.lisma", text + way)
                result = self.saltus("run", "m.lisma", "-q", "-o", "m.csv")
                self.assertEqual((result.status, result.err.count("E0829")), (3, 1), text + way)
                other = way.replace(f"at {at} ", f"at {2 - at} ").replace(f">= {at}", f">= {2 - at}")
                rows, _, _ = self.run_model(text + other)
                self.assertTrue(any(r["y"] == 7 for r in rows), text + other)
        for equation, target in (("x' = 2; x(t0) = 0;", "x'"), ("x'' = 2; x(t0) = 0; x'(t0) = 0;", "x''")):
            self.write("m.lisma", f"{equation} at 0.5 {{ set {target} = 7; }}")
            self.assertIn("W0433", self.saltus("check", "m.lisma").err)
            self.assertIn("E0829", self.saltus("run", "m.lisma", "-q", "-o", "m.csv").err)
        # what constraints make dependent may be set, and so may speeds
        self.good("run", self.write("m.lisma", "x' = u; y' = v; u' = -F*x; v' = -F*y - 9.81; x*x + y*y = 1; x(t0) = 1;\n"
                                    "y(t0) ~ 0; u(t0) = 0; v(t0) = 0; at 0.5 { set u = 0, v = 0; }"), "-q", "-o", "m.csv")
        self.good("run", self.write("m.lisma", "x'' = -1; x(t0) = 0; x'(t0) = 0; at 0.5 { set x' = 7; }"), "-q", "-o", "m.csv")

    def test_what_stays_below_the_absolute_tolerance_is_told_at_the_end(self):
        text = "x' = -x; x(t0) = 1e-9; y' = x; y(t0) = 1; z' = 0; z(t0) = 0; w' = 1e-9; w(t0) = 0;\n"
        for options, names in (((), None), (("--atol", "1e-6"), "'x', 'w' stayed"), (("--atol", "3e-9"), "'x' stayed"),
                               (("--atol", "1e-12"), None)):
            result = self.good("run", self.write("m.lisma", text), "-q", "-o", "m.csv", *options)
            self.assertEqual(result.err.count("W0812"), 1 if names else 0, options)
            self.assertIn(names or "", result.err)

    # ---- counters beside surfaces --------------------------------------------------------------

    def test_a_counter_counts_the_arrival_at_a_surface(self):
        flows = ("if(x >= c, -c, c)", "if(x > c, -c, c)", "if(x < c, c, -c)", "if(2*x < 2*c, c, -c)", "-c*sign(x - c)")
        for c in (1.0, 1e-8):
            for flow in flows:
                for d in (0.0, 1e-16, 5e-7):
                    text = f"const c = {c!r}, d = {d!r}; x' = {flow}; x(t0) = 0.5*c; n(t0) = 0;\n" \
                           "at 1 { set x = c*(1 + d); }\nautomaton a {\n" \
                           "  state up [x >= c] { set n = n + 1; } from init, down;\n" \
                           "  state down [x < c] { set n = n + 1; } from up;\n}\n"
                    rows, records, err = self.run_model(text, until="3")
                    self.assertEqual(rows[-1]["n"], 1, (c, flow, d))
                    self.assertAlmostEqual(rows[-1]["x"] / c, 1, delta=1e-6)
                    self.assertLess(len(records), 10)
                    self.assertEqual(err, "")

    # ---- resets in branches ---------------------------------------------------------------------

    def test_a_reset_that_ends_its_own_branch(self):
        """The branch is left as soon as its reset has been carried out; the level saws down to 0 again and again."""
        for c, step in ((1.0, 1e-3), (1e6, 2e-3), (1e-7, 1e-3)):
            text = f"const c = {c!r}, d = {step!r}; p' = -c; p(t0) = 0.5*c;\n" \
                   "if (p < 0) { set p = d*c; p' = 0; }\n"
            rows, records, _ = self.run_model(text, until="1")
            resets = [r for r in records if r["changed"].get("p")]
            self.assertAlmostEqual(len(resets), 0.5 / step, delta=2)
            self.assertTrue(all(-1e-6 * c <= r["p"] <= 0.5 * c for r in rows))

    # ---- motion that sets out from zero --------------------------------------------------------

    def test_the_first_step_from_zero_is_tested(self):
        # at the start, at an event and released from a constraint, all with a rate of zero there
        begin = math.asin(2/3)/2
        exact = 0.75*(math.cos(2*begin) - math.cos(1.2)) - (0.6 - begin)
        for unit in (1.0, 1e-9, 3e7):
            force = f"{unit!r}*(1.5*sin(2*time) - 1)"
            for text in (f"v' = {force} + N; v(t0) = 0;\nb: v = 0; state go [N <= 0] {{ b: N = 0; }} from init;\n",
                         f"v' = if(b.go, {force}, 0); v(t0) = 0;\nautomaton b {{ state go [{force} >= 0] {{}} from init; }}\n",
                         f"v' = max({force}, 0); v(t0) = 0;\n"):
                rows, _, _ = self.run_model(text, until="0.6", samples="1")
                self.assertAlmostEqual(rows[-1]["v"]/unit, exact, delta=1e-6*exact, msg=text)

    def test_a_step_that_leaves_a_boundary_at_its_beginning_is_not_begun_for_ever(self):
        # u - c and i are zero at the start and rise at once: shorter steps find the crossing nearer in proportion
        for unit in (1.0, 1e-9, 1e5):
            text = (f"const T = {unit!r}; u' = 6*w/T; w' = -6*u/T; u(t0) = 0; w(t0) = 1; i = 0; c' = (i - c)/T; c(t0) = 0;\n"
                    "automaton d { state off [i <= 0] { i = 0; } from init, on;\n"
                    "  state on [u - c >= 0] { i = 10*(u - c); } from init, off; }\n")
            rows, _, _ = self.run_model(text, until=repr(10 * unit))
            self.assertAlmostEqual(rows[-1]["u"], math.sin(60), 4, unit)
            self.assertAlmostEqual(rows[-1]["c"], 0.65623, 4, unit)

    def test_schedules_that_rounding_tells_apart_are_one_instant(self):
        for unit in (1.0, 1e-12, 1e6):
            text = f"n(t0) = 0; m(t0) = 0; both(t0) = 0; last(t0) = -1;\n" \
                   f"at 0 each {0.1*unit!r} repeat * priority 2 {{ set n = n + 1, last = time; }}\n" \
                   f"at 0 each {0.3*unit!r} repeat * {{ set m = m + 1, both = both + if(last == time, 1, 0); }}\n" \
                   f"experiment {{ end = {7.3*unit!r}; }}\n"
            rows, _, _ = self.run_model(text, until=repr(7.3*unit), samples="1")
            self.assertEqual((rows[-1]["n"], rows[-1]["m"], rows[-1]["both"]), (74, 25, 25))

    # ---- equalities ----------------------------------------------------------------------------

    def test_an_equality_fires_at_each_zero_once(self):
        for unit in (1.0, 1e-9, 1e6):
            text = f"x' = {unit!r}*v; v' = -x/{unit!r}; x(t0) = {unit!r}; v(t0) = 0; n(t0) = 0; m(t0) = 0; k(t0) = 0;\n" \
                   "automaton a { state p [x == 0] { set n = n + 1; } from init, p; }\n" \
                   "automaton b { state p [x*x == 0] { set m = m + 1; } from init, p; }\n" \
                   f"automaton c {{ state p [x == {unit/2!r}] {{ set k = k + 1; }} from init, p; }}\n"
            rows, _, _ = self.run_model(text, until="20", samples="1")
            self.assertEqual((rows[-1]["n"], rows[-1]["m"], rows[-1]["k"]), (6, 6, 7), unit)

    def test_an_equality_holds_while_both_sides_stay_equal(self):
        for relation in ("v == 0", "0 == v", "not (v != 0)", "v >= 0 and v <= 0"):
            text = f"v' = 0; v(t0) = 0; F = 2*sin(time); n(t0) = 0;\nstate p [{relation} and F > 1] {{ set n = time; }} from init;\n"
            rows, _, _ = self.run_model(text)
            self.assertAlmostEqual(rows[-1]["n"], math.pi/6, places=9, msg=relation)
            rows, _, _ = self.run_model(text.replace("v(t0) = 0", "v(t0) = 1e-9"))
            self.assertEqual(rows[-1]["n"], 0, relation)

    def test_an_equality_holds_where_an_action_puts_the_value(self):
        text = "x' = 1; x(t0) = 5; n(t0) = 0;\nat 1 { set x = 2; }\nstate p [x == 2] { set n = time; } from init;\n"
        rows, _, _ = self.run_model(text)
        self.assertEqual(rows[-1]["n"], 1)

    # ---- what another mode computes ------------------------------------------------------------

    def test_a_diode_conducts_from_its_crossing_on(self):
        beside = {"nothing": "", "friction": "s' = v; v' = 0.8*sin(time/7) - sign(v); s(t0) = 0; v(t0) = 0;",
                  "a ball": "s' = v; v' = -9.81; s(t0) = 1; v(t0) = 0;\n"
                            "automaton b { state hit [s <= 0] { set v = -0.5*v; } from init, hit; }"}
        for name, companion in beside.items():
            text = "u' = 3*w; w' = -3*u; u(t0) = 0; w(t0) = 1; i = 0; c' = (i - c)/2; c(t0) = 0;\n" \
                   "automaton d { state off [i <= 0] { i = 0; } from init, on;\n" \
                   "  state on [u - c >= 0] { i = 10*(u - c); } from init, off; }\n" + companion
            rows, records, _ = self.run_model(text, until="200", samples="1")
            diode = [r for r in records if r["automaton"] == "d" and r["t"] > 1e-9]
            self.assertEqual(sum(r["class"] == "mythical" for r in diode), 0, name)
            self.assertEqual(len(diode), 191, name)
            self.assertAlmostEqual(rows[-1]["c"], 0.69605, places=4, msg=name)

    def test_motion_from_rest_is_decided_by_what_comes(self):
        for unit in (1.0, 1e-6, 1e4):
            friction = f"x' = v; v' = F - s; s = 0; F = 0.1*time/{unit**3!r}; x(t0) = 0; v(t0) = 0;\n" \
                       f"automaton f {{ state p [v > 0] {{ s = 0.2/{unit**2!r}; }} from init, n;\n" \
                       f"  state n [v < 0] {{ s = -0.2/{unit**2!r}; }} from init, p; }}\n"
            rows, _, _ = self.run_model(friction, until=repr(10*unit))
            self.assertAlmostEqual(rows[-1]["x"], 0.1*8**3/6, places=6, msg=unit)
            choke = f"u = 10*sin(300*time/{unit!r}); i' = if(d.on, 100*(u - c)/{unit!r}, 0);\n" \
                    f"c' = (1000*i - 100*c)/{unit!r}; i(t0) = 0; c(t0) = 0;\n" \
                    "automaton d { state on [u > c] {} from init, off; state off [i <= 0] { set i = 0; } from on; }\n"
            rows, records, _ = self.run_model(choke, until=repr(0.1*unit))
            self.assertEqual([r["to"] for r in records], ["on", "off"]*5, unit)

    def test_guards_that_both_hold_at_the_start_are_left_to_the_flow(self):
        text = "u' = 3*w; w' = -3*u; u(t0) = 0; w(t0) = 1; i = 0; c' = (i - c)/2; c(t0) = 0;\n" \
               "automaton d { state off [u - c <= 0] { i = 0; } from init, on;\n" \
               "  state on [u - c >= 0] { i = 10*(u - c); } from init, off; }\n"
        rows, _, _ = self.run_model(text, until="200", samples="1")
        self.assertAlmostEqual(rows[-1]["c"], 0.69606, places=4)
        self.write("m.lisma", "x' = 0; x(t0) = 0;\nautomaton d { state a [x <= 0] {} from init, b; state b [x >= 0] {} from a; }\n")
        self.fails(3, "run", "m.lisma", "--until", "1", says=("E0803",))

    # ---- surfaces left and met again -----------------------------------------------------------

    def test_surfaces_left_tangentially_are_met_again_in_any_number(self):
        cell = "T[i](t0) = 18 + 4*mod(i*0.618, 1); T[i]' = if(T[i] > 20, 0, 2) - 0.1*(T[i] - 10) + sin(3*time + i);"
        rows, _, _ = self.run_model(f"for i = 1:50 {{ {cell} }}\n", until="5")
        for i in (7, 37, 40, 43):
            alone, _, _ = self.run_model(cell.replace("T[i]", "T").replace("i*", f"{i}*").replace("+ i)", f"+ {i})"),
                                         until="5")
            self.assertAlmostEqual(rows[-1][f"T{i}"], alone[-1]["T"], delta=1e-3)

    def test_what_a_tried_mode_projects_has_not_moved(self):
        """A block turns round under friction that cannot hold it: one transition each time, wherever time starts."""
        for start in (0, -1e3, 1e3, 1e5):
            text = f"x' = v; x(t0) = -0.455; v(t0) = -0.479; v' = F - 2.32*x + 1.51*cos(0.455*(time - {start}));\n" \
                   "friction pad { velocity = v + 0.0817; force = F; kinetic = 0.381; static = 0.476; }\n" \
                   f"experiment {{ start = {start}; }}\n"
            _, records, _ = self.run_model(text, until=repr(start + 4.0))
            moves = [(r["from"], r["to"]) for r in records if r["t"] > start]
            self.assertEqual(moves, [("backward", "stick"), ("stick", "forward"), ("forward", "stick"),
                                     ("stick", "backward")], start)

    # ---- gotos and stops -----------------------------------------------------------------------

    def test_gotos_go_in_the_order_of_the_text(self):
        for first, then in (("zeta", "alpha"), ("alpha", "zeta")):
            for own in ("", "set q = 2;"):
                text = "q(t0) = 1;\nautomaton zeta { state b { set q = q * 10; } }\n" \
                       "automaton alpha { state b { set q = q + 5; } }\n" \
                       f"at 1 {{ goto {first}.b; {own} goto {then}.b; }}\n"
                q = 2 if own else 1
                for name in (first, then):
                    q = q * 10 if name == "zeta" else q + 5
                rows, _, _ = self.run_model(text)
                self.assertEqual(rows[-1]["q"], q, (first, own))

    def test_a_stop_keeps_the_equations_of_any_number_of_automata(self):
        for count in (1, 2, 8, 30):
            text = f"for i = 1:{count} {{ y_[i]' = 1; y_[i](t0) = 0.001*i; z_[i] = 2*y_[i];\n" \
                   "automaton p_[i] { state a [y_[i] >= 1] { y_[i]' = -1; z_[i] = 7*y_[i]; } from init;\n" \
                   "state landed [y_[i] <= 0.5] { stop; } from a; } }\n"
            rows, _, _ = self.run_model(text)
            self.assertAlmostEqual(rows[-1][f"y_{count}"], 0.5, places=9)
            for i in range(1, count + 1):
                self.assertAlmostEqual(rows[-1][f"z_{i}"], 7 * rows[-1][f"y_{i}"], places=12)


if __name__ == "__main__":
    unittest.main()
