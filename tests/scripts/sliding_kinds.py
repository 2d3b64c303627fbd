#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sliding and what is none: kinks, limit points, surfaces that hold, exits inside of steps, several at once.
Every kind is tried on generated siblings: other gains, other units of states, time and relations, copies."""
import json
import math
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

FACTORS = (1.0, 1e-6, 1e3)


def number(value):
    return repr(float(value))


class Kinds(cli_case.CliCase):
    def run_text(self, text, end, *options):
        """Last row, number of steps, records, and what was said."""
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "--until", number(end), "--samples", "2", "-o", "r.csv",
                           "--events", "r.jsonl", *options)
        said = result.out + result.err
        header, *_, last = self.read("r.csv").strip().split("\n")
        row = dict(zip(header.split(","), map(float, last.split(","))))
        steps = int(re.search(r"steps +(\d+)", said).group(1))
        records = [json.loads(line) for line in self.read("r.jsonl").splitlines()]
        return row, steps, records, said

    @staticmethod
    def slides(records):
        return [r for r in records if r["kind"] == "slide-in" or r["class"] == "sliding"]

    def test_a_kink_is_no_surface(self):
        for size in (1e-9, 1e-4, 1.0, 1e5):
            for text in (f"x = {size}*sin(time); d' = abs(x); d(t0) = 0;",
                         f"x = {size}*sin(time); d' = max(x, -x); d(t0) = 0;",
                         f"x' = {size}*cos(time); x(t0) = 0; d' = if(x > 0, x, -x); d(t0) = 0;"):
                with self.subTest(text):
                    row, _, records, _ = self.run_text(text, 100.0, *self.tolerance(size))
                    turns = math.floor(100.0 / math.pi)
                    exact = size * (2 * turns + 1 - math.cos(100.0 - turns * math.pi))
                    self.assertAlmostEqual(row["d"] / size, exact / size, delta=2e-3)
                    self.assertEqual(self.slides(records), [])

    def test_blocks_that_begin_at_rest_under_a_force_that_begins_at_zero(self):
        # between its sides the flow stands still at first: sin(2*t) lifts the block over its friction at t = pi/12
        def exact(t, lifted=math.pi/12):
            return (math.cos(2*lifted) - math.cos(2*t))/2 - (t - lifted)/2

        turned = "automaton {0} {{{{ state on v {1} 0 {{{{ {2} = {3}; }}}} from init, off; state off !(v {1} 0) {{{{}}}} from on; }}}}"
        below = turned.format("low", "<", "q", -1)
        above = turned.format("high", ">", "s", 1)
        for unit in FACTORS:
            for friction in ("s = sign(v);", "s = if(v > 0, 1, if(v < 0, -1, 0));",
                             "if (v > 0) {{ s = 1; }} else if (v < 0) {{ s = -1; }} else {{ s = 0; }}",
                             f"q = 0; s = q; {below} {above}", f"q = 0; s = q; {above} {below}"):
                with self.subTest(friction, unit=unit):
                    text = f"v' = {unit!r}*(sin(2*time) - 0.5*s); v(t0) = 0; " + friction.format()
                    row, _, records, _ = self.run_text(text, 1.0)
                    self.assertAlmostEqual(row["v"]/unit, exact(1.0), delta=1e-5)
                    self.assertTrue(self.slides(records))

    def test_blocks_that_begin_sticking_on_a_belt(self):
        # a straight motion until the spring pulls harder than the friction, at x = 1 and t = 5; then x'' = 1 - x
        exact = (1 + 0.2*math.sin(3), 0.2*math.cos(3))
        for unit in (1.0, 1e-9, 1e6):
            for friction in (f"if(v < {0.2*unit!r}, {unit!r}, -{unit!r})", f"{unit!r}*sign({0.2*unit!r} - v)"):
                with self.subTest(friction):
                    row, _, _, _ = self.run_text(f"x' = v; v' = -x + {friction}; x(t0) = 0; v(t0) = {0.2*unit!r};\n", 8.0)
                    self.assertAlmostEqual(row["x"]/unit, exact[0], delta=1e-5)
                    self.assertAlmostEqual(row["v"]/unit, exact[1], delta=1e-5)

    def test_any_number_leave_together(self):
        # a relation in time alone is no surface, however many surfaces the motion is on when it changes
        for copies in (1, 3, 4, 5, 17, 40):
            for drive in ("d = if(time > 7, 3, 0);", "d_[i] = if(time > 7, 3, 0);"):
                name = "d_[i]" if "[" in drive else "d"
                loop = f"for i = 1:{copies} {{ z_[i]' = -sign(z_[i]) + {name}; z_[i](t0) = 1;"
                text = f"{loop} {drive} }}\n" if "[" in drive else f"{drive} {loop} }}\n"
                with self.subTest(text):
                    row, steps, _, _ = self.run_text(text, 10.0)
                    self.assertAlmostEqual(row[f"z_{copies}"], 6.0, delta=1e-9)
                    self.assertLess(steps, 60)

    def test_staircases_are_slid_along(self):
        # flows that point at a step of floor and its kin: where the motion comes to rest
        cases = (("0.5 - floor(x)", 1.7, 1.0), ("0.5 - floor(x)", 0.2, 1.0), ("-0.5 - floor(x)", 3.3, 0.0),
                 ("0.5 - ceil(x)", -1.4, 0.0), ("0.5 - ceil(x)", 4.1, 0.0), ("mod(x, 1) - 0.5", 0.7, 1.0),
                 ("mod(x, 1) - 0.5", 0.3, 0.0), ("0.3 - round(x)", 0.0, 0.5), ("-2.5 - trunc(x)", 1.1, -3.0))
        for flow, start, rest in cases:
            for unit, copies in ((1.0, 1), (1e-9, 1), (4e6, 3)):
                scaled = flow.replace("x", f"(x_[i]/{unit!r})")
                text = f"for i = 1:{copies} {{ x_[i]' = {unit!r}*({scaled}); x_[i](t0) = {start*unit!r}; }}\n"
                with self.subTest(text):
                    row, steps, records, _ = self.run_text(text, 20.0)
                    self.assertAlmostEqual(row[f"x_{copies}"]/unit, rest, delta=1e-6)
                    self.assertTrue(self.slides(records))
                    self.assertLess(steps, 300)

    def test_a_ladder_of_diodes(self):
        rng = random.Random(3)
        for stages in (2, 4, 6):
            g = [rng.uniform(20, 150) for _ in range(stages)]
            lines = ["v_0 = 5*sin(6.283185307179586*time);"]
            for i in range(1, stages + 1):
                flow = f"max(v_{i - 1} - v_{i}, 0)*{g[i - 1]}"
                if i < stages:
                    flow += f" - max(v_{i} - v_{i + 1}, 0)*{g[i]}"
                lines.append(f"v_{i}' = {flow} - v_{i}; v_{i}(t0) = 0;")
            row, _, records, _ = self.run_text("\n".join(lines), 3.0)
            self.assertEqual(self.slides(records), [])
            v = [0.0] * (stages + 1)
            h = 2e-5
            for n in range(int(3.0 / h)):
                v[0] = 5 * math.sin(2 * math.pi * n * h)
                q = [max(v[i] - v[i + 1], 0.0) * g[i] for i in range(stages)] + [0.0]
                for i in range(1, stages + 1):
                    v[i] += h * (q[i - 1] - q[i] - v[i])
            for i in range(1, stages + 1):
                self.assertAlmostEqual(row[f"v_{i}"], v[i], delta=2e-3)

    def twist(self, copies, strong, weak, load, unit=1.0, time=1.0):
        lines = [f"for i = 1:{copies} {{",
                 f"x_[i]' = v_[i]; v_[i]' = {unit / time ** 2}*(-{strong}*sign(x_[i]) - {weak}*sign(v_[i])"
                 f" + {load}*sin(time/{time}));",
                 f"x_[i](t0) = {unit}; v_[i](t0) = 0; }}"]
        return "\n".join(lines)

    def test_twisting_controllers_come_to_rest(self):
        rng = random.Random(5)
        for case in range(6):
            weak = rng.uniform(1.0, 3.0)
            strong = weak + rng.uniform(1.5, 4.0)
            load = rng.uniform(0.0, 0.5)
            for unit in FACTORS:
                time = (1.0, 1e3)[case % 2]
                text = self.twist(1, strong, weak, load, unit, time)
                row, steps, _, said = self.run_text(text, 30 * time, *self.tolerance(unit))
                self.assertLess(abs(row["x_1"]), 1e-6 * unit, text)
                self.assertLess(steps, 1000, text)
                self.assertNotIn("W0803", said, text)

    @staticmethod
    def tolerance(unit):
        return ("--atol", number(1e-9 * unit))

    def test_copies_cost_what_one_costs_and_agree(self):
        models = {
            "twist": lambda n: self.twist(n, 5.0, 3.0, 0.0),
            "spiral": lambda n: f"for i = 1:{n} {{ x_[i]' = -sign(x_[i]) + 2*sign(y_[i]);"
                                " y_[i]' = -2*sign(x_[i]) - sign(y_[i]); x_[i](t0) = 1; y_[i](t0) = 0.5; }",
            "bang": lambda n: f"for i = 1:{n} {{ x_[i]' = v_[i]; v_[i]' = -sign(x_[i] + v_[i]*abs(v_[i])/2);"
                              " x_[i](t0) = 1; v_[i](t0) = 0; }",
            "if": lambda n: f"for i = 1:{n} {{ x_[i](t0) = 1;"
                            " if (x_[i] > 0) { x_[i]' = -1; } else { x_[i]' = 1.3; } }",
        }
        for name, text in models.items():
            _, alone, _, _ = self.run_text(text(1), 10.0)
            for copies in (2, 4, 7):
                row, steps, _, said = self.run_text(text(copies), 10.0)
                self.assertLessEqual(steps, 1.5 * alone + 5, f"{name} x {copies}")
                self.assertNotIn("W0803", said, f"{name} x {copies}")
                for key in {k.rsplit("_", 1)[0] for k in row if "_" in k}:
                    values = {row[f"{key}_{i}"] for i in range(1, copies + 1)}
                    self.assertEqual(len(values), 1, f"{name} x {copies}: {key}")
                    self.assertLess(abs(values.pop()), 1e-6, f"{name} x {copies}: {key}")

    def test_spirals_at_tight_tolerances(self):
        text = "x' = -sign(x) + 2*sign(y); y' = -2*sign(x) - sign(y); x(t0) = 1; y(t0) = 0.5;"
        for rtol in ("1e-4", "1e-6", "1e-8", "1e-10"):
            row, steps, _, _ = self.run_text(text, 10.0, "--rtol", rtol)
            self.assertLess(max(abs(row["x"]), abs(row["y"])), 1e-8, rtol)
            self.assertLess(steps, 200, rtol)

    def test_motion_comes_to_rest_in_finite_time(self):
        rng = random.Random(7)
        for power in (0.3, 0.5, 0.8):
            for unit in FACTORS:
                k = rng.uniform(0.5, 2.0)
                text = f"x' = -{k * unit}*sign(x)*abs(x/{unit})^{power}; x(t0) = {unit};"
                row, steps, _, _ = self.run_text(text, 20.0, *self.tolerance(unit))
                self.assertLess(abs(row["x"]), 1e-9 * unit, text)
                self.assertLess(steps, 400, text)
                # half of the way in time, x = (1 - k (1 - p) t)^(1/(1 - p))
                row, _, _, _ = self.run_text(text, 0.5 / (k * (1.0 - power)), *self.tolerance(unit))
                self.assertAlmostEqual(row["x"] / unit, 0.5 ** (1.0 / (1.0 - power)), delta=1e-5, msg=text)

    def test_controllers_of_finite_time_come_to_rest(self):
        rng = random.Random(17)
        for copies in (1, 3):
            for case in range(4):
                far, near = rng.uniform(0.15, 0.3), rng.uniform(0.3, 0.5)
                force = [rng.uniform(1.0, 3.0) for _ in range(2)]
                unit = FACTORS[case % 3]
                text = (f"for i = 1:{copies} {{ x_[i]' = v_[i]; v_[i]' = {unit}*(-{force[0]}*sign(x_[i])*abs(x_[i]/{unit})^{far}"
                        f" - {force[1]}*sign(v_[i])*abs(v_[i]/{unit})^{near}); x_[i](t0) = {unit}; v_[i](t0) = 0; }}")
                row, steps, _, _ = self.run_text(text, 60.0)
                self.assertLess(abs(row["x_1"]), 1e-8 * unit, text)
                self.assertLess(steps, 3000, text)

    def test_a_quotient_by_a_magnitude_is_a_sign(self):
        for relay in ("sign(w)", "w/abs(w)", "2*w/(2*abs(w))", "-(-w/abs(w))"):
            row, steps, records, _ = self.run_text(f"w' = -{relay} + 0.5*sin(time); w(t0) = 1;", 20.0)
            self.assertLess(abs(row["w"]), 1e-9, relay)
            self.assertLess(steps, 30, relay)
            self.assertEqual(len(self.slides(records)), 1, relay)
        for root in ("x/sqrt(abs(x))", "x/abs(x)^0.5", "sign(x)*sqrt(abs(x))"):
            row, _, _, _ = self.run_text(f"x' = -2*{root} + 0.5; x(t0) = 0;", 20.0)
            self.assertAlmostEqual(row["x"], 0.0625, delta=1e-6, msg=root)

    def test_what_decays_for_ever_is_not_held(self):
        for text in ("x' = -x; x(t0) = 1; n' = abs(x); n(t0) = 0;",
                     "x' = -x*(1 + abs(x)); x(t0) = 1;",
                     "x' = if(x > 0, -x, -2*x); x(t0) = 1;"):
            row, _, records, _ = self.run_text(text, 15.0)
            self.assertEqual(self.slides(records), [], text)
            self.assertGreater(row["x"], 0.0, text)

    def test_vessels_meet_and_part(self):
        for method in ("auto", "dp54", "rodas"):
            text = ("q = 0.5*sign(h1 - h2)*sqrt(abs(h1 - h2)); f = if(time > 5, 0.1, 0);\n"
                    "h1' = f - q; h2' = q; h1(t0) = 1; h2(t0) = 0;")
            row, steps, records, _ = self.run_text(text, 10.0, "--method", method)
            self.assertAlmostEqual(row["h1"] + row["h2"], 1.5, delta=1e-6, msg=method)
            # the difference at which half of the inflow passes: 2*0.5*sqrt(d) = 0.1
            self.assertAlmostEqual(row["h1"] - row["h2"], 0.01, delta=1e-4, msg=method)
            self.assertLess(steps, 300, method)
            self.assertEqual(self.slides(records), [], method)

    def test_rows_of_vessels_meet_together(self):
        def one_full(i, n):
            return n if i == 1 else 0

        def slope(i, n):
            return 2 * (n - i) / (n - 1)

        def alternating(i, n):
            return 0.5 + i % 2

        for n, unit, start in ((3, 1.0, one_full), (3, 1e-6, one_full), (4, 1.0, one_full), (4, 1e5, one_full),
                               (5, 1.0, one_full), (5, 1e5, slope), (6, 1.0, slope), (6, 1e-6, alternating),
                               (8, 1.0, slope), (8, 1.0, alternating)):
            flow = f"sqrt({unit})*"
            lines = [f"q{i} = {flow}sign(h{i} - h{i + 1})*sqrt(abs(h{i} - h{i + 1}));" for i in range(1, n)]
            for i in range(1, n + 1):
                into = f"q{i - 1}" if i > 1 else "0"
                out = f"q{i}" if i < n else "0"
                lines.append(f"h{i}' = {into} - {out}; h{i}(t0) = {start(i, n) * unit};")
            row, steps, records, _ = self.run_text("\n".join(lines), 60.0)
            for i in range(1, n + 1):
                self.assertAlmostEqual(row[f"h{i}"], unit, delta=1e-6 * unit, msg=(n, unit))
            self.assertLess(steps, 600, (n, unit))
            self.assertEqual(self.slides(records), [], (n, unit))

    @staticmethod
    def pushed(level, base, peak, at, width, end):
        """Where a block goes that dry friction holds: small steps."""
        h = width / 2000
        t, x, v = at - 6 * width, 0.0, 0.0
        while t < end and (t < at + 6 * width or v > 0):
            force = base + peak * math.exp(-(((t + h / 2) - at) / width) ** 2)
            rate = force - level if v > 0 or force > level else 0.0
            before = v
            v = max(0.0, v + h * rate)
            x += h * (before + v) / 2
            t += h
        return x

    def test_a_short_push_moves_what_sticks(self):
        rng = random.Random(11)
        for blocks in (1, 2, 6):
            level = rng.uniform(0.8, 2.0)
            width = rng.uniform(0.02, 0.3)
            at = [rng.uniform(20, 70) for _ in range(blocks)]
            peak = [rng.uniform(1.5, 4.0) * level for _ in range(blocks)]
            lines = []
            for i in range(blocks):
                lines.append(f"x_{i}' = v_{i}; v_{i}' = {0.4 * level} + {peak[i]}*exp(-((time - {at[i]})/{width})^2)"
                             f" - {level}*sign(v_{i}); x_{i}(t0) = 0; v_{i}(t0) = 0;")
            row, _, _, _ = self.run_text("\n".join(lines), 100.0)
            for i in range(blocks):
                exact = self.pushed(level, 0.4 * level, peak[i], at[i], width, 100.0)
                self.assertAlmostEqual(row[f"x_{i}"], exact, delta=2e-3 * (exact + 1e-3), msg=f"{blocks}: {i}")

    def test_rocking_blocks_come_to_rest_and_rock_again(self):
        # impacts on both sides of th = 0 accumulate; the reference integrates with small steps
        spellings = (
            "w' = -4*c*sin(0.2*sign(th) - th/c) + d; automaton a { state u [th > 0] { set w = 0.9*w; } from v;"
            " state v [th < 0] { set w = 0.9*w; } from init, u; }",
            "w' = -4*c*sin(0.2*s - th/c) + d; s(t0) = 1; automaton a { state u [th > 0] { set w = 0.9*w, s = 1; } from v;"
            " state v [th < 0] { set w = 0.9*w, s = -1; } from init, u; }",
            "w' = -4*c*sin(0.2 - th/c) + d; automaton a {"
            " state u [th > 0] { w' = -4*c*sin(0.2 - th/c) + d; set w = 0.9*w; } from v;"
            " state v [th < 0] { w' = -4*c*sin(-0.2 - th/c) + d; set w = 0.9*w; } from init, u; }",
            "w' = -4*c*sin(0.2 - th/c) + d; automaton a {"
            " state u [th >= 0] && [w > 0] { w' = -4*c*sin(0.2 - th/c) + d; set w = 0.9*w; } from v;"
            " state v [th <= 0] && [w < 0] { w' = -4*c*sin(-0.2 - th/c) + d; set w = 0.9*w; } from init, u; }")
        for force, end in ((0.5, 0.0), (1.5, 4.72858)):
            for c in FACTORS:
                for spelling in spellings:
                    text = (f"const c = {number(c)}; th' = w; th(t0) = 0.1*c; w(t0) = 0;"
                            f" d = if(time > 12, {force}*c*sin(3*(time - 12)), 0); {spelling}")
                    row, _, _, _ = self.run_text(text, 16)
                    self.assertAlmostEqual(row["th"] / c, end, 3, text)

    def test_a_motion_at_rest_stays_there_beside_impacts_of_others(self):
        text = ("x' = v; v' = -sign(x) - 0.5*sign(v); x(t0) = 1; v(t0) = 0; th' = w; th(t0) = 0.17; w(t0) = 0;"
                " w' = -4*sin(0.2*sign(th) - th); automaton a { state u [th > 0] { set w = 0.9*w; } from d;"
                " state d [th < 0] { set w = 0.9*w; } from init, u; }")
        _, _, records, _ = self.run_text(text, 9.5)
        self.assertEqual(len([r for r in records if r["kind"] == "slide-in"]), 1)

    def test_relays_that_read_their_own_output_are_contradictions(self):
        # neither position is consistent between e = -c and e = c, whatever the form; the other sign is hysteresis
        for c in FACTORS:
            head = f"const c = {number(c)}; y' = 10*c*u; y(t0) = -10*c; e = 10*c*sin(time) - y"
            for relay in ("u = sign(e - c*u);", "u = if(e - c*u > 0, 1, -1);",
                          "u = 1; if (e - c*u < 0) { u = -1; }",
                          "u = 1; automaton a { state p [e - c*u > 0] { u = 1; } from init, m;"
                          " state m [e - c*u < 0] { u = -1; } from init, p; }"):
                self.write("m.lisma", f"{head}; {relay}")
                self.fails(3, "run", "m.lisma", "--until", "5", "-q", "-o", "r.csv", says="E0803")
                row, _, records, _ = self.run_text(f"{head}; {relay}".replace("- c*u", "+ c*u"), 5)
                self.assertFalse(self.slides(records), relay)
                self.assertGreater(len(records), 4, relay)
                self.assertLessEqual(abs(10 * c * math.sin(5) - row["y"]), 1.2 * c, relay)

    def test_random_relays_against_small_steps(self):
        rng = random.Random(13)
        for case in range(25):
            a = [rng.uniform(-1.5, 0.5) for _ in range(4)]
            b = [rng.uniform(-1, 1) for _ in range(2)]
            c = [rng.uniform(-1, 1) for _ in range(2)]
            k = rng.uniform(0.5, 2.0)
            w = rng.uniform(0.5, 3.0)
            drive = rng.uniform(0.5, 3.0)
            gain = -(c[0] * b[0] + c[1] * b[1])
            sign = 1.0 if gain >= 0 else -1.0  # so that the relay attracts
            unit = FACTORS[case % 3]
            scale = 10.0 ** rng.randrange(-6, 7)
            relay = f"{sign * k * unit}*sign({scale}*({c[0]}*x + {c[1]}*y))"
            text = (f"x' = {a[0]}*x + {a[1]}*y + {b[0]}*{relay} + {drive * unit}*sin({w}*time);\n"
                    f"y' = {a[2]}*x + {a[3]}*y + {b[1]}*{relay}; x(t0) = {0.5 * unit}; y(t0) = {-0.3 * unit};")
            row, _, _, _ = self.run_text(text, 5.0, *self.tolerance(unit))
            ends = []
            for h in (4e-4, 1e-4):
                x, y = 0.5, -0.3
                for n in range(int(round(5.0 / h))):
                    s = c[0] * x + c[1] * y
                    u = sign * k * ((s > 0) - (s < 0))
                    dx = a[0] * x + a[1] * y + b[0] * u + drive * math.sin(w * (n + 0.5) * h)
                    dy = a[2] * x + a[3] * y + b[1] * u
                    x, y = x + h * dx, y + h * dy
                ends.append((x, y))
            size = 1 + abs(ends[1][0]) + abs(ends[1][1])
            off = max(abs(ends[0][i] - ends[1][i]) for i in range(2))
            if off > 0.02 * size:
                continue  # the reference has not made up its mind
            self.assertLess(abs(row["x"] / unit - ends[1][0]), 5e-3 * size + 3 * off, text)
            self.assertLess(abs(row["y"] / unit - ends[1][1]), 5e-3 * size + 3 * off, text)


if __name__ == "__main__":
    unittest.main()
