#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Derivatives through events: closed forms and cases that other programs got wrong, generated models against differences
of runs, and verdicts at grazing, tie and accumulation points.

SALTUS_SENS_MODELS and SALTUS_SENS_POINTS make it heavier (`make sensitivities`)."""
import cmath
import csv
import io
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402

MODELS = int(os.environ.get("SALTUS_SENS_MODELS", suite.share(40)))
POINTS = int(os.environ.get("SALTUS_SENS_POINTS", suite.share(30)))
H = 1e-40  # of complex steps: derivatives without cancellation


class Sens(cli_case.CliCase):
    def sens(self, text, params, *measures, options=()):
        self.write("m.lisma", text)
        arguments = [part for m in measures for part in ("-m", m)]
        rows = self.table("m.lisma", params, arguments, options)
        if "--differences" not in options:
            self.backwards(rows, self.table("m.lisma", params, arguments, (*options, "--adjoint")), text)
        return rows

    def table(self, path, params, arguments, options):
        result = self.good("sens", path, "--params", params, *arguments, "-q", "-o", "-", *options)
        return {(r["measure"], r["parameter"]): r for r in csv.DictReader(io.StringIO(result.out))}

    def backwards(self, rows, other, text):
        """What is found backwards is what is found forwards."""
        for key, row in rows.items():
            back = other[key]
            if row["verdict"] != "exists":
                self.assertNotEqual(back["verdict"], "exists", (row, back, text))
                continue
            self.assertEqual(back["verdict"], "exists", (row, back, text))
            a, b = float(row["derivative"]), float(back["derivative"])
            self.assertLessEqual(abs(a - b), 1e-10*max(abs(a), abs(b)) + 1e-13, (row, back, text))

    def near(self, row, expected, tolerance=1e-9):
        self.assertEqual(row["verdict"], "exists", row)
        self.assertLessEqual(abs(float(row["derivative"]) - expected), tolerance*abs(expected) + 1e-13, (row, expected))


class Threads(Sens):
    def test_time_of_a_terminating_event(self):
        # the value was right to the last bit, the derivative wrong by 1e-5: dT/dq = 1
        for q in (0.1, 0.37, 0.4, 1.0, 2.9):
            rows = self.sens(f"const q = {q};\nu' = 1; u(t0) = 0;\nstate done [u >= q] {{ stop \"there\"; }} from init;\n"
                             "experiment { end = 5; }\n", "q", "time(done)", "end(u)", "integral(u)")
            self.near(rows["time(done)", "q"], 1)
            self.near(rows["end(u)", "q"], 1)
            self.near(rows["integral(u)", "q"], q)

    def test_root_inside_of_a_step(self):
        for q in (0.05, 0.4, 0.77, 0.99):
            rows = self.sens(f"const q = {q};\nu' = w; u(t0) = 0;\nw' = -u; w(t0) = 1;\n"
                             "state done [u >= q] { stop \"there\"; } from init;\nexperiment { end = 2; }\n", "q",
                             "time(done)", "end(w)")
            self.near(rows["time(done)", "q"], 1/math.sqrt(1 - q*q))
            self.near(rows["end(w)", "q"], -q/math.sqrt(1 - q*q))

    def test_event_placed_before_its_boundary(self):
        # the window before the boundary follows the tolerance; one that is given makes the run noise, which has no derivative
        text = ("const p = 9.81;\ny' = v; y(t0) = 1;\nv' = -p; v(t0) = 0;\n"
                "state hit unilateral%s[y <= 0] { set v = -v; } from init, hit;\nexperiment { end = 100; }\n")
        rows = self.sens(text % "", "p", "end(v)", "end(y)")
        self.near(rows["end(v)", "p"], -49.880875850584)
        self.near(rows["end(y)", "p"], 11.912414941613)
        for row in self.sens(text % "(eps = 1e-4)", "p", "end(v)", "end(y)").values():
            self.assertTrue(row["verdict"].startswith("none"), row)

    def test_reading_beside_an_unrelated_event(self):
        # a ball, and a second motion whose event falls within an ulp of the time that is read
        p, h = 9.8, 50.0
        for t in (5.0, math.nextafter(5.0, 0), math.nextafter(5.0, 9)):
            text = (f"const p = {p}, h = {h};\ny' = v; y(t0) = h;\nv' = -p; v(t0) = 0;\nx' = w; x(t0) = 0;\nw' = 0; w(t0) = 2;\n"
                    "automaton ball { state hit [y <= 0] && [v < 0] { set v = -v; } from init, hit; }\n"
                    "automaton wall { state back [x >= 10] { set w = -w; } from init; }\nexperiment { end = 8; }\n")
            rows = self.sens(text, "p,h", f"at(y, {t!r})", f"at(v, {t!r})")
            t1 = math.sqrt(2*h/p)
            # after the impact: y = p t1 (t - t1) - p (t - t1)^2/2
            dt1 = -t1/(2*p)
            self.near(rows[f"at(y, {t!r})", "p"], t1*(t - t1) + p*dt1*(t - t1) - p*t1*dt1 - (t - t1)**2/2 + p*(t - t1)*dt1)
            self.near(rows[f"at(v, {t!r})", "p"], t1 + p*dt1 - (t - t1) + p*dt1)

    def test_reading_at_the_event_itself(self):
        # the same, asked for by what moves the second event: its speed jumps at the time that is read, its way bends
        text = ("const h = 50;\ny' = v; y(t0) = h;\nv' = -9.8; v(t0) = 0;\nx' = w; x(t0) = 0;\nw' = 0; w(t0) = 2;\n"
                "automaton ball { state hit [y <= 0] && [v < 0] { set v = -v; } from init, hit; }\n"
                "automaton wall { state back [x >= 10] { set w = -0.9*w; } from init; }\nexperiment { end = 8; }\n")
        rows = self.sens(text, "h,x(t0),w(t0)", "at(x, 5)", "at(w, 5)", "at(y, 5)", "end(x)")
        t1 = math.sqrt(100/9.8)
        self.near(rows["at(y, 5)", "h"], (9.8*(5 - t1) - 9.8*t1 + 9.8*(5 - t1))/(9.8*t1))
        for name, dx in (("x(t0)", 1), ("w(t0)", 5)):
            jumps = rows["at(w, 5)", name]  # at an event the value after it counts, which it keeps to the right
            self.assertTrue(jumps["verdict"].startswith("one-sided") and "jumps" in jumps["reason"], jumps)
            row = rows["at(x, 5)", name]
            self.assertTrue(row["verdict"].startswith("one-sided"), row)
            self.assertAlmostEqual(float(row["left"]), dx, delta=1e-7)
            self.assertAlmostEqual(float(row["right"]), -0.9*dx, delta=1e-7)
            self.near(rows["at(y, 5)", name], 0)
        self.near(rows["end(x)", "x(t0)"], -0.9)
        self.near(rows["end(x)", "w(t0)"], -0.9*8)

    def test_motion_after_an_event_in_time(self):
        # x grows until p and stands; before, at and behind the event, with an event and without one
        for spelling in ("x' = if(time < p, 1, 0);", "x' = 1;\nstate still [time >= p] { x' = 0; } from init;",
                         "x' = u; u(t0) = 1;\nat p { set u = 0; }"):
            for p in (0.98, 1.0, 1.3):
                rows = self.sens(f"const p = {p};\n{spelling}\nx(t0) = 0;\nexperiment {{ end = 2; }}\n", "p", "end(x)",
                                 f"at(x, {p - 0.1})", f"at(x, {p + 0.1})", "integral(x)")
                self.near(rows["end(x)", "p"], 1)
                self.near(rows[f"at(x, {p - 0.1})", "p"], 0)
                self.near(rows[f"at(x, {p + 0.1})", "p"], 1)
                self.near(rows["integral(x)", "p"], 2 - p)

    def test_switching_planes(self):
        # two linear modes, switched on two lines through the origin
        def run(a, b, end):
            """x(end), and the time of the second switch, by closed forms; complex arguments differentiate."""
            w = math.sqrt(1000.0)
            modes = [(-100.0, 10.0), (10.0, -100.0)]  # off-diagonal of x' = x + [0 m; n 0] x
            x, y, t, times = 0 + 0j, 1 + 0j, 0 + 0j, []
            mode = 0
            while True:
                m, n = modes[mode]
                slope = (a, b)[mode]
                # y cos + n/w x sin = slope (x cos + m/w y sin)
                phase = cmath.atan((slope*x - y)/(n/w*x - slope*m/w*y))
                step = phase/w
                while step.real <= 1e-12:
                    step += math.pi/w
                final = (t + step).real > end
                if final:
                    step = end - t
                c, s, e = cmath.cos(w*step), cmath.sin(w*step)/w, cmath.exp(step)
                x, y = e*(x*c + m*s*y), e*(y*c + n*s*x)
                t += step
                if final:
                    return x, y, times
                times.append(t)
                mode = 1 - mode
        a, b, end = 2.75, 0.36, 0.2
        text = (f"const a = {a}, b = {b};\nk(t0) = 0;\nx' = if(k > 0.5, x + 10*y, x - 100*y); x(t0) = 0;\n"
                "y' = if(k > 0.5, -100*x + y, 10*x + y); y(t0) = 1;\n"
                "automaton s {\n  state two [y - a*x CROSS_A 0] { set k = 1; } from init, one;\n"
                "  state one [y - b*x CROSS_B 0] { set k = 0; } from two;\n}\n"
                f"experiment {{ end = {end}; }}\n")
        # x turns negative first in mode one: y - a x falls or rises through zero as the closed form tells
        x, y, times = run(a, b, end)
        self.assertGreaterEqual(len(times), 2)
        signs = []
        for mode, slope in ((0, a), (1, b)):
            m, n = [(-100.0, 10.0), (10.0, -100.0)][mode]
            # on the line y = slope x with x = 1 or -1, whichever is met
            t = times[mode].real
            px, py, _ = run(a, b, t - 1e-9)
            g = (py - slope*px).real
            signs.append(">=" if g < 0 else "<=")
        text = text.replace("CROSS_A", signs[0]).replace("CROSS_B", signs[1])
        rows = self.sens(text, "a,b", "end(x)", "end(y)", "time(s.one)")
        for name, da, db in (("a", H*1j, 0), ("b", 0, H*1j)):
            dx, dy, dt = run(a + da, b + db, end)
            self.near(rows["end(x)", name], dx.imag/H)
            self.near(rows["end(y)", name], dy.imag/H)
            self.near(rows["time(s.one)", name], dt[1].imag/H)

    def test_events_that_update_what_triggers_them(self):
        # state-triggered, state-updating, several at once and in an order; forward and adjoint
        def run(a, b, q, x0, end=4.0):
            x, y, t = x0 + 0j, 0j, 0j
            rest = a/b
            while True:
                tau = -cmath.log((q - rest)/(x - rest))/b
                last = (t + tau).real > end
                tau = end - t if last else tau
                decay = cmath.exp(-b*tau)
                y += rest*tau + (x - rest)*(1 - decay)/b
                x = rest + (x - rest)*decay
                if last:
                    return x, y
                t += tau
                x, y = x - 0.5*q - 0.1*y, 0.3*y*x
                y = y + 0.2*x  # the second automaton, with the values that the first has left
        values = (1.2, 0.4, 0.9, 0.05)
        names = ("a", "b", "q", "x(t0)")
        rows = self.sens("const a = 1.2, b = 0.4, q = 0.9;\nx' = a - b*x; x(t0) = 0.05;\ny' = x; y(t0) = 0;\n"
                         "automaton E { state e [x >= q] { set x = x - 0.5*q - 0.1*y; set y = 0.3*y*x; } from init, e; }\n"
                         "automaton F { state f [E.e] && [n < E_count] { set y = y + 0.2*x; set n = n + 1; } from init, f; }\n"
                         "n(t0) = 0; E_count(t0) = 0;\nexperiment { end = 4; }\n".replace(
                             "set y = 0.3*y*x; }", "set y = 0.3*y*x; set E_count = E_count + 1; }"), ",".join(names),
                         "end(x)", "end(y)")
        for i, name in enumerate(names):
            moved = [v + (H*1j if k == i else 0) for k, v in enumerate(values)]
            x, y = run(*moved)
            self.near(rows["end(x)", name], x.imag/H)
            self.near(rows["end(y)", name], y.imag/H)

    def test_many_impacts(self):
        k, h, g = 0.9, 10.0, 9.81
        rows = self.sens(f"const k = {k}, h = {h}, a = {g};\ny' = v; y(t0) = h;\nv' = -a; v(t0) = 0;\n"
                         "state b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\nexperiment { end = 12; }\n", "k,h,a",
                         "time(b, 5)", "end(y)", "duration(b)", "count(b)")

        def ball(k, h, a, number, end):
            t1 = cmath.sqrt(2*h/a)
            t, u, entries = t1, k*a*t1, [t1]
            while (t + 2*u/a).real < end:
                t, u = t + 2*u/a, k*u
                entries.append(t)
            return entries[number - 1], u*(end - t) - a*(end - t)**2/2
        for name, d in (("k", (H*1j, 0, 0)), ("h", (0, H*1j, 0)), ("a", (0, 0, H*1j))):
            t5, y = ball(k + d[0], h + d[1], g + d[2], 5, 12.0)
            self.near(rows["time(b, 5)", name], t5.imag/H)
            self.near(rows["end(y)", name], y.imag/H)
            self.near(rows["count(b)", name], 0)

    def test_times_that_depend_on_parameters(self):
        text = ("const p = 0.7, q = 0.25;\nx' = u; x(t0) = 0;\nu(t0) = 1;\nat p each q repeat 5 { set u = u + x; }\nexperiment { end = 2; }\n")
        rows = self.sens(text, "p,q", "end(x)", "end(u)")

        def run(p, q):
            x, u, t, k = 0j, 1 + 0j, 0j, 0
            while k < 5:
                tick = p + k*q
                x, t = x + u*(tick - t), tick
                u, k = u + x, k + 1
            return x + u*(2.0 - t), u
        for name, d in (("p", (H*1j, 0)), ("q", (0, H*1j))):
            x, u = run(0.7 + d[0], 0.25 + d[1])
            self.near(rows["end(x)", name], x.imag/H)
            self.near(rows["end(u)", name], u.imag/H)

    def test_sliding_begins_and_ends(self):
        a, c, x0, end = 0.5, 2.0, 0.5, 6.0
        for spelling in ("x' = a*time - c*sign(x);\ny' = sign(x);",
                         "x' = a*time - c*u;\ny' = u;\nu = 1;\nstate neg [x < 0] { u = -1; } from init, pos;\n"
                         "state pos [x > 0] { u = 1; } from neg;"):
            rows = self.sens(f"const a = {a}, c = {c}, x0 = {x0};\n{spelling}\nx(t0) = x0; y(t0) = 0;\n"
                             f"experiment {{ end = {end}; }}\n", "a,c,x0", "end(x)", "end(y)")

            def run(a, c, x0):
                t1 = (c - cmath.sqrt(c*c - 2*a*x0))/a  # x reaches 0
                t2 = c/a                                # and leaves it
                x = a*(end*end - t2*t2)/2 - c*(end - t2)
                y = t1 + a*(t2*t2 - t1*t1)/(2*c) + end - t2
                return x, y
            for name, d in (("a", (H*1j, 0, 0)), ("c", (0, H*1j, 0)), ("x0", (0, 0, H*1j))):
                x, y = run(a + d[0], c + d[1], x0 + d[2])
                self.near(rows["end(x)", name], x.imag/H)
                self.near(rows["end(y)", name], y.imag/H)

    def test_sticking_from_the_start(self):
        # a block at rest that friction holds: the flows of both sides cancel, and nothing moves until it tears loose
        text = ("const c = 1.5, w = 2;\nx' = y; x(t0) = 1;\ny' = -x - c*sign(y) + 2*sin(w*time); y(t0) = 0;\n"
                "experiment { end = 6; }\n")
        other = self.sens(text, "c,w", "end(x)", "end(y)", options=("--differences",))
        for rtol in ("1e-12", "1e-11", "1e-13"):
            exact = self.sens(text, "c,w", "end(x)", "end(y)", "at(y, 1.0)", options=("--rtol", rtol))
            for key, row in exact.items():
                self.near(row, float(other[key]["derivative"]) if key in other else 0.0, 1e-8)

    def test_units_of_bodies_that_come_to_rest(self):
        # a fall of 1 s from u with u 2/s^2, then bounces that last 2 k^n: areas of parabolas
        k = 0.5
        area, by_k = 2/3 + 4/3*k**3/(1 - k**3), 4*k*k/(1 - k**3)**2
        for u in (1e-9, 1e-6, 1.0, 1e6, 1e9):
            rows = self.sens(f"const k = {k}, h = {u};\ny' = v; y(t0) = h;\nv' = {-2*u}; v(t0) = 0;\n"
                             "state hit [y <= 0] && [v < 0] { set v = -k*v; } from init, hit;\nexperiment { end = 5; }\n",
                             "k,h", "integral(y)", options=("--differences",))
            for name, expected in (("k", by_k*u), ("h", 1.5*area)):
                row = rows["integral(y)", name]
                self.assertEqual(row["verdict"], "exists by differences", (u, row))
                self.assertLessEqual(abs(float(row["derivative"]) - expected), 1e-8*abs(expected), (u, row))

    def test_beside_an_event_that_grazes(self):
        # what the grazing event does not touch keeps all its digits, in any unit
        def height(v):
            t = v - (v*v - 4)**0.5
            return 2 - 0.5*(v - t)*(3 - t) - 0.5*(3 - t)**2
        expected = 2*height(4 + H*1j).imag/H
        for u in (1e-9, 1.0, 1e7):
            rows = self.sens(f"const v0 = {2*u};\ny' = v; y(t0) = 0;\nv' = {-u}; v(t0) = v0;\nz' = w; z(t0) = 0;\n"
                             f"w' = {-u}; w(t0) = 2*v0;\nautomaton A {{ state touch [y >= {2*u}] {{ set v = -v; }} from init; }}\n"
                             f"automaton B {{ state touch [z >= {2*u}] {{ set w = -0.5*w; }} from init; }}\n"
                             "experiment { end = 3; }\n", "v0", "end(y)", "end(z)")
            self.assertEqual(rows["end(y)", "v0"]["verdict"], "one-sided")
            self.near(rows["end(z)", "v0"], expected, 1e-12)

    def test_random_numbers(self):
        # the numbers stand, what scales and moves them does not
        text = ("const a = 2, q = 0.7;\ns(t0) = normal(a, 0.3);\ny' = s - y; y(t0) = 0;\n"
                "at 0.5 each 0.5 { set s = uniform(0, a)*normal(1, 0.1*a) + exponential(a) + random(); }\n"
                "x' = 1 + 0.2*x; x(t0) = uniform(0, 0.1*a);\n"
                "state hit [x >= q] { set x = uniform(0, 0.15*a)*x; } from init, hit;\nexperiment { end = 3; }\n")
        measures = ("end(y)", "end(s)", "end(x)", "time(hit, 3)")
        exact = self.sens(text, "a,q", *measures)
        other = self.sens(text, "a,q", *measures, options=("--differences",))
        for key, row in exact.items():
            noise = 1e-10*abs(float(row["value"])/float(row["at"]))  # of differences of runs
            expected = float(other[key]["derivative"])
            self.assertEqual(row["verdict"], "exists", row)
            self.assertLessEqual(abs(float(row["derivative"]) - expected), 1e-8*abs(expected) + noise, key)

    def test_integrals_between_times_and_of_kinks(self):
        # x = exp(-a t) until q, where it starts again from 1
        a, q, lo, hi, level = 0.9, 0.4, 0.5, 2.1, 0.7
        rows = self.sens(f"const a = {a}, q = {q};\nx' = -a*x; x(t0) = 1;\nstate s [x <= q] {{ set x = 1; }} from init, s;\n"
                         "experiment { end = 3; }\n", "a,q", f"integral(x, {lo}, {hi})", f"mean(x, {lo}, {hi})",
                         f"integral(abs(x - {level}))", f"rms(x, {lo}, {hi})")

        def area(a, q, t, level=0):  # of abs(x - level) until t; only its derivative matters
            period = -cmath.log(q)/a
            full = int((t/period).real)
            pieces = [period]*full + [t - full*period]
            total = 0
            for piece in pieces:
                turn = -cmath.log(level)/a if level else piece
                turn = turn if turn.real < piece.real else piece
                parts = ((0, turn, 1), (turn, piece, -1))
                for begin, end, sign in parts:
                    total += sign*((cmath.exp(-a*begin) - cmath.exp(-a*end))/a - level*(end - begin))
            return total

        def square(a, q, t):
            return area(2*a, q*q, t)

        for name, da, dq in (("a", H*1j, 0), ("q", 0, H*1j)):
            def between(f):
                return f(a + da, q + dq, hi) - f(a + da, q + dq, lo)
            self.near(rows[f"integral(x, {lo}, {hi})", name], between(area).imag/H)
            self.near(rows[f"mean(x, {lo}, {hi})", name], between(area).imag/H/(hi - lo))
            self.near(rows[f"rms(x, {lo}, {hi})", name], cmath.sqrt(between(square)/(hi - lo)).imag/H)
            self.near(rows[f"integral(abs(x - {level}))", name], area(a + da, q + dq, 3, level).imag/H)

    def test_motions_that_have_forgotten_where_they_began(self):
        # Lorenz: after 20 s the derivative of the mean can be followed, after 60 s it is 10^16 and that of nothing
        for end, verdict in ((20, "exists"), (60, "none by differences")):
            rows = self.sens("const r = 28;\nx' = 10*(y - x); x(t0) = 1;\ny' = x*(r - z) - y; y(t0) = 1;\n"
                             f"z' = x*y - 8/3*z; z(t0) = 1;\nexperiment {{ end = {end}; }}\n", "r", "mean(z)")
            self.assertEqual(rows["mean(z)", "r"]["verdict"], verdict, rows)

    def test_derivatives_that_bend_near_by(self):
        # chaos: a derivative of 10^6 is another one at a distance of 10^-7
        for r, n in ((3.9, 18), (3.99, 22), (3.7, 25)):
            rows = self.sens(f"const r = {r};\nz(t0) = 0.3;\nat 1 each 1 repeat {n} {{ set z = r*z*(1 - z); }}\n"
                             f"experiment {{ end = {n + 0.5}; }}\n", "r,z(t0)", "end(z)")
            for name, d in (("r", (H*1j, 0)), ("z(t0)", (0, H*1j))):
                z = 0.3 + d[1]
                for _ in range(n):
                    z = (r + d[0])*z*(1 - z)
                self.near(rows["end(z)", name], z.imag/H)

    def test_behind_an_accumulation(self):
        # a ball that rests while it goes on sideways: what has come to rest does not depend on how
        rows = self.sens("const k = 0.5, h = 1, c = 0.3;\ny' = v; y(t0) = h;\nv' = -9.81; v(t0) = 0;\nx' = u; x(t0) = 0;\n"
                         "u' = -c*u; u(t0) = 2;\nstate b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\n"
                         "experiment { end = 3; }\n", "k,h,c", "end(y)", "end(v)", "end(x)")
        for (measure, name), row in rows.items():
            c, e = 0.3, math.exp(-0.9)
            expected = -2*(1 - e)/c**2 + 2*3*e/c if (measure, name) == ("end(x)", "c") else 0
            self.assertTrue(row["verdict"].startswith("exists"), row)
            self.assertAlmostEqual(float(row["derivative"]), expected, delta=1e-8)

    def test_stops_and_dry_friction(self):
        # a slider that comes to rest at either stop, again and again: what a wheel of switches does with each of the last
        # impacts, and on which side of a standstill rounding falls, is no other sequence of events
        text = ("const m = 2, n = 0.7, k = 40, c = 0.8, F = 12, w = 3.1, e = 0.6, L = 0.35, mu = 0.15;\n"
                "x' = v; x(t0) = 0;\nv' = (F*sin(w*time) - k*(x - y) - c*(v - u))/m; v(t0) = 0;\n"
                "y' = u; y(t0) = 0;\nu' = (k*(x - y) + c*(v - u))/n - mu*g*sign(u); u(t0) = 0;\n"
                "state right [y >= L] && [u > 0] { set u = -e*u; } from init, left, right;\n"
                "state left [y <= -L] && [u < 0] { set u = -e*u; } from init, left, right;\nexperiment { end = 3; }\n")
        rows = self.sens(text, "k,e", "end(x)", "integral(y)")
        for (measure, name), row in rows.items():
            self.assertEqual(row["verdict"], "exists by differences", row)
        for name, expected in ("k", -0.0417280694), ("e", -0.480671505):
            self.assertAlmostEqual(float(rows["end(x)", name]["derivative"]), expected, delta=1e-7*abs(expected))

    def test_what_no_order_of_impacts_moves(self):
        # a sleeve that rattles into its mesh: when it does depends on everything, where it comes to rest on nothing
        model = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "gear_box.lisma")
        rows = self.table(model, "z,Fs", ("-m", "end(x)", "-m", "end(vy)", "-m", "time(meshed)"), ())
        for (measure, _), row in rows.items():
            if measure == "time(meshed)":
                self.assertTrue(row["verdict"].startswith("none"), row)
            else:
                self.assertTrue(row["verdict"].startswith("exists"), row)
                self.assertEqual(float(row["derivative"]), 0, row)

    def test_structure_changes(self):
        # a tank that empties by another law below a level, and a variable that only the second mode has
        text = ("const q = 1, l = 1, r = 2;\nh' = -q*sqrt(h); h(t0) = 4;\nz(t0) = 0;\nz' = 0;\n"
                "state low [h <= l] { h' = -q*h; z' = -r*z; set z = h*q + time; } from init;\nexperiment { end = 4; }\n")
        rows = self.sens(text, "q,l,r", "end(h)", "end(z)", "time(low)")

        def run(q, l, r):
            t = 2*(2 - cmath.sqrt(l))/q
            return t, l*cmath.exp(-q*(4 - t)), (l*q + t)*cmath.exp(-r*(4 - t))
        for name, d in (("q", (H*1j, 0, 0)), ("l", (0, H*1j, 0)), ("r", (0, 0, H*1j))):
            t, h, z = run(1 + d[0], 1 + d[1], 2 + d[2])
            self.near(rows["time(low)", name], t.imag/H)
            self.near(rows["end(h)", name], h.imag/H)
            self.near(rows["end(z)", name], z.imag/H)

    def test_delays_by_the_method_of_steps(self):
        # x' = -a x(t - d), x = x0 before the start: a polynomial between multiples of d
        def exact(d, a, x0, t):
            steps = int(t/d.real) + 1
            return x0*sum((-a)**k*(t - (k - 1)*d)**k/math.factorial(k) for k in range(steps + 1))
        for d, a, t in ((1, 1, 3.0), (0.7, 1.3, 2.9), (0.31, 0.9, 2.0)):
            rows = self.sens(f"const d = {d}, a = {a}, x0 = 1.5;\nx' = -a*delay(x, d); x(t0) = x0;\n"
                             f"experiment {{ end = {t}; }}\n", "d,a,x0", f"at(x, {0.9*t})")
            for name, step in (("d", (H*1j, 0, 0)), ("a", (0, H*1j, 0)), ("x0", (0, 0, H*1j))):
                value = exact(d + step[0], a + step[1], 1.5 + step[2], 0.9*t)
                self.near(rows[f"at(x, {0.9*t})", name], value.imag/H)

    def test_delays_of_jumps(self):
        # a sawtooth that is read late: what it loses arrives a delay after the moving event
        a, q, d, end = 0.8, 0.5, 0.37, 2.3
        text = (f"const a = {a}, q = {q}, d = {d};\nx' = a; x(t0) = 0;\ny' = delay(x, d); y(t0) = 0;\n"
                "z = x^2; w' = delay(z, 2*d, 0.25); w(t0) = 0;\n"
                f"state back [x >= q] {{ set x = 0; }} from init, back;\nexperiment {{ end = {end}; }}\n")
        rows = self.sens(text, "a,q,d", "end(y)", "end(w)", "time(back, 3)")

        def saw(a, q, upto, power):
            """Integral of the sawtooth to a power from 0 to a time."""
            period, total, t = q/a, 0j, 0j
            while (t + period).real < upto.real:
                total += a**power*period**(power + 1)/(power + 1)
                t += period
            return total + a**power*(upto - t)**(power + 1)/(power + 1)
        for name, step in (("a", (H*1j, 0, 0)), ("q", (0, H*1j, 0)), ("d", (0, 0, H*1j))):
            p, l, late = a + step[0], q + step[1], d + step[2]
            self.near(rows["end(y)", name], saw(p, l, end - late, 1).imag/H)
            self.near(rows["end(w)", name], (0.25*2*late + saw(p, l, end - 2*late, 2)).imag/H)
            self.near(rows["time(back, 3)", name], (3*l/p + 0j).imag/H)

    def test_delays_that_meet(self):
        # one delay twice, and twice the delay: two breaking points an ulp apart
        text = ("const d = 0.4, a = 1.3, q = 0.5, r = 0.3;\nx' = a - 0.2*delay(x, d, 0.1); x(t0) = 0;\n"
                "y' = delay(x, 2*d) - y*delay(y, d); y(t0) = 1;\nz = x*y;\nw' = delay(z, 0.3) - w; w(t0) = 0;\n"
                "state fire [x >= q] { set x = r*x; } from init, fire;\nexperiment { end = 3; }\n")
        measures = ("end(x)", "end(y)", "end(w)", "max(w)", "integral(y)", "time(fire, 2)")
        exact = self.sens(text, "d,a,q,r", *measures)
        other = self.sens(text, "d,a,q,r", *measures, options=("--differences",))
        for key, row in exact.items():
            self.assertEqual(row["verdict"], "exists", row)
            a, b = float(row["derivative"]), float(other[key]["derivative"])
            self.assertLessEqual(abs(a - b), 1e-8*abs(b), (key, row, other[key]))

    def pendulum(self, l, g, x0, k, q, end):
        """x(end), y(end) of a pendulum with a wall at x = q, by its angle; complex arguments differentiate."""
        def slope(s):
            return s[1], -g/l*cmath.sin(s[0])

        def step(s, h):
            a = slope(s)
            b = slope((s[0] + h/2*a[0], s[1] + h/2*a[1]))
            c = slope((s[0] + h/2*b[0], s[1] + h/2*b[1]))
            e = slope((s[0] + h*c[0], s[1] + h*c[1]))
            return tuple(s[i] + h/6*(a[i] + 2*b[i] + 2*c[i] + e[i]) for i in range(2))
        s, t, h, wall = (cmath.asin(x0/l), 0j), 0j, 5e-4, cmath.asin(q/l)
        while t.real < end - 1e-13:
            size = min(h, end - t.real) if t.imag == 0 else h
            size = end - t if t.real + h >= end else size
            after = step(s, size)
            if after[0].real <= wall.real and s[1].real < 0:
                size = (wall - s[0])/s[1]
                for _ in range(30):
                    after = step(s, size)
                    size += (wall - after[0])/after[1]
                after = step(s, size)
                s, t = (after[0], -k*after[1]), t + size
                continue
            s, t = after, t + size
        return l*cmath.sin(s[0]), -l*cmath.cos(s[0])

    def test_constraints_of_the_states(self):
        # index 3: a pendulum in x and y against the same one in its angle, with impacts; y begins as a guess
        values = dict(l=1.1, g0=9.81, x0=0.6, k=0.7, q=0.3)
        text = ("const " + ", ".join(f"{n} = {v}" for n, v in values.items()) + ";\n"
                "x'' = -f*x; y'' = -f*y - g0; x^2 + y^2 = l^2;\nx(t0) = x0; x'(t0) = 0; y(t0) ~= -0.7;\n"
                "state hit [x <= q] && [x' < 0] { set x' = -k*x'; set y' = -k*y'; } from init, hit;\n"
                "experiment { end = 1.2; }\n")
        rows = self.sens(text, ",".join(values), "end(x)", "end(y)")
        for name in values:
            moved = {n: v + (H*1j if n == name else 0j) for n, v in values.items()}
            x, y = self.pendulum(moved["l"], moved["g0"], moved["x0"], moved["k"], moved["q"], 1.2)
            self.near(rows["end(x)", name], x.imag/H)
            self.near(rows["end(y)", name], y.imag/H)

    def test_constraints_over_a_long_time(self):
        # 190 turns: what the rows lose across the constraint must not grow with the square of the time
        end = "experiment { end = 60; }\n"
        measures = ("px = end(x)", "py = end(y)")
        exact = self.sens("const g0 = 9.81, w = 20;\na'' = -g0*sin(a); a(t0) = 0; a'(t0) = w;\nmacro x = sin(a);\nmacro y = -cos(a);\n"
                          + end, "g0,w", *measures)
        rows = self.sens("const g0 = 9.81, w = 20;\nx'' = -s*x; x(t0) = 0; x'(t0) = w;\ny'' = -s*y - g0; y(t0) = -1;\n"
                         "x*x + y*y = 1;\n" + end, "g0,w", *measures)
        for key, row in exact.items():
            self.near(rows[key], float(row["derivative"]), 2e-7)

    def test_initial_values_without_a_way_beside_them(self):
        rows = self.sens("const l = 1, a = 9.81;\nx'' = -f*x; y'' = -f*y - a; x^2 + y^2 = l^2;\nx(t0) = 0.6; x'(t0) = 0; "
                         "y(t0) = -0.8; y'(t0) = 0;\nexperiment { end = 1; }\n", "l,a", "end(x)")
        self.assertEqual(rows["end(x)", "a"]["verdict"], "exists")
        self.assertEqual(rows["end(x)", "l"]["verdict"], "none by differences")
        self.assertIn("the runs beside the parameter fail", rows["end(x)", "l"]["reason"])

    def test_what_is_not_followed_is_told(self):
        rows = self.sens("const d = 1;\nx' = -delay(x, d, 1, linear); x(t0) = 1;\nexperiment { end = 3; }\n", "d", "end(x)")
        row = rows["end(x)", "d"]
        self.assertTrue(row["verdict"].endswith("by differences"), row)
        self.assertIn("a delay with straight lines", row["reason"])


class Generated(Sens):
    """Random models: what is followed along the run against differences of tight runs."""

    def impacts(self, rng):
        return (f"const k = {rng.uniform(0.5, 0.95)!r}, c = {rng.uniform(0.05, 0.4)!r}, h = {rng.uniform(1, 5)!r};\n"
                "y' = v; y(t0) = h;\nv' = -9.81 - c*v*abs(v); v(t0) = 0;\n"
                "state b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\n"), "k,c,h", ("end(y)", "end(v)", "time(b)", "max(v)"), 1.6

    def resets(self, rng):
        return (f"const a = {rng.uniform(0.5, 2)!r}, q = {rng.uniform(0.5, 0.9)!r}, r = {rng.uniform(0.1, 0.6)!r};\n"
                "x' = a*(1 + 0.3*sin(time)) - 0.2*x; x(t0) = 0;\ny' = x - y; y(t0) = 0;\nn(t0) = 0;\n"
                "state fire [x >= q] { set x = x - q*r - 0.1*y; set n = n + y*q; } from init, fire;\n"), "a,q,r", (
                    "end(x)", "end(n)", "end(y)", "time(fire)", "integral(y)"), 3.3

    def relays(self, rng):
        w = rng.uniform(0.2, 0.5)
        return (f"const on = {rng.uniform(0.3, 0.5)!r}, gap = {w!r}, p = {rng.uniform(1.5, 3)!r};\n"
                "x' = p*u - x; x(t0) = 0;\nu(t0) = 1;\ny' = x*x; y(t0) = 0;\n"
                "automaton A { state off [x >= on + gap] { set u = 0; } from init, run; state run [x <= on] { set u = 1; } from off; }\n"
                ), "on,gap,p", ("end(x)", "end(y)", "time(A.off)", "duration(A.off)", "mean(x)"), 4.1

    def structures(self, rng):
        return (f"const m = {rng.uniform(0.5, 2)!r}, k = {rng.uniform(20, 60)!r}, l = {rng.uniform(0.2, 0.4)!r};\n"
                "x' = v; x(t0) = 1;\nfree: v' = -3 - 0.1*v; v(t0) = 0;\n"
                "automaton A { state touch [x <= l] { free: v' = -3 + k/m*(l - x) - 0.5*v; } from init, fly;\n"
                "  state fly [x >= l] { free: v' = -3 - 0.1*v; } from touch; }\n"), "m,k,l", (
                    "end(x)", "end(v)", "min(x)", "time(A.fly)"), 1.9

    def sliding(self, rng):
        return (f"const c = {rng.uniform(1.5, 3)!r}, w = {rng.uniform(0.5, 1.5)!r}, a = {rng.uniform(2.0, 3.5)!r};\n"
                "x' = a*sin(w*time) - c*sign(x - 0.1*y) - 0.2*x; x(t0) = 0.8;\ny' = x - 0.5*y; y(t0) = 0.3;\n"), "c,w,a", (
                    "end(x)", "end(y)", "integral(x)"), 5.0

    def stiff(self, rng):
        return (f"const k = {10**rng.uniform(3, 4.5)!r}, a = {rng.uniform(1, 3)!r}, q = {rng.uniform(0.4, 0.6)!r};\n"
                "x' = -k*(x - y^2); x(t0) = 1;\ny' = -a*x*y; y(t0) = 1;\nz(t0) = 0;\n"
                "state low [y <= q] { set z = x*time; set y = 2*q; } from init, low;\n"), "a,q", ("end(y)", "end(z)", "time(low)"), 1.5

    def reactions(self, rng):
        # networks with a rate in pieces, and events that species trigger and that change species, two of them in one instant
        return (f"const k1 = {rng.uniform(0.5, 2)!r}, k2 = {rng.uniform(0.3, 1)!r}, q = {rng.uniform(0.3, 0.45)!r}, dose = {rng.uniform(0.3, 0.8)!r};\n"
                f"A' = -k1*A; A(t0) = 1;\nB' = k1*A - k2*B*if(A > {rng.uniform(0.2, 0.3)!r}, 1, 2); B(t0) = 0;\n"
                "C' = k2*B*if(A > 0.25, 1, 2) - 0.1*C^2; C(t0) = 0;\nfed(t0) = 0;\n"
                f"automaton feed {{ state f [C >= q] {{ set C = {rng.uniform(0.2, 0.5)!r}*C; set A = A + dose - 0.1*B; set fed = fed + 1; }} from init, f; }}\n"
                "automaton drain { state d [fed > done] { set B = 0.7*B + 0.05*A; set done = done + 1; } from init, d; }\n"
                "done(t0) = 0;\n"), "k1,k2,q,dose", ("end(A)", "end(B)", "end(C)", "time(feed.f)", "integral(C)"), 4.0

    def test_against_differences(self):
        kinds = (self.impacts, self.resets, self.relays, self.structures, self.sliding, self.stiff, self.reactions)
        followed = compared = 0
        for case in range(MODELS):
            rng = random.Random(1000 + case)
            text, params, measures, end = kinds[case % len(kinds)](rng)
            text += f"experiment {{ end = {end*rng.uniform(0.7, 1.3)!r}; }}\n"
            exact = self.sens(text, params, *measures)
            other = self.sens(text, params, *measures, options=("--differences",))
            for key, row in exact.items():
                followed += row["verdict"] == "exists"
                if not (row["verdict"].startswith("exists") and other[key]["verdict"].startswith("exists")):
                    # a boundary right beside the parameter: none may claim what the other denies by far
                    continue
                compared += 1
                a, b = float(row["derivative"]), float(other[key]["derivative"])
                slack = 20*float(other[key]["error"] or 0) + 1e-9
                self.assertLessEqual(abs(a - b), 1e-5*max(abs(a), abs(b)) + slack, (case, key, row, other[key], text))
        self.assertGreater(followed, 0.9*MODELS*8)
        self.assertGreater(compared, 0.9*MODELS*8)


class Verdicts(Sens):
    """Points where no derivative exists are told, others are not."""

    def grazing(self, rng, special):
        w, a = rng.uniform(0.5, 3), rng.uniform(0.3, 40)*10**rng.randint(-3, 3)
        level = a if special else a*rng.uniform(0.2, 0.97)
        return (f"const a = {a!r};\nx' = {w!r}*y; x(t0) = 0;\ny' = -{w!r}*x; y(t0) = a;\n"
                f"state up [x >= {level!r}] {{ set y = y + {a!r}; }} from init;\nexperiment {{ end = {4/w!r}; }}\n"), "a", "end(x)"

    def ceiling(self, rng, special):
        h = rng.uniform(0.5, 5)
        v = math.sqrt(2*9.81*h)*(1 if special else rng.choice((rng.uniform(0.7, 0.98), rng.uniform(1.02, 1.3))))
        return (f"const v0 = {v!r};\ny' = v; y(t0) = 0;\nv' = -9.81; v(t0) = v0;\n"
                f"state touch [y >= {h!r}] {{ set v = -v; }} from init;\nexperiment {{ end = {1.3*math.sqrt(2*h/9.81)!r}; }}\n"), "v0", "end(y)"

    def tie(self, rng, special):
        a, q = rng.uniform(0.5, 2), rng.uniform(0.5, 1.5)
        p = q if special else q*rng.choice((rng.uniform(0.6, 0.95), rng.uniform(1.05, 1.5)))
        return (f"const p = {p!r};\nx' = {a!r}; x(t0) = 0;\nz' = z; z(t0) = 1;\n"
                f"automaton A {{ state a [x >= {q!r}] {{ set z = {rng.uniform(1.5, 3)!r}*z; }} from init; }}\n"
                f"automaton B {{ state b [x >= p] {{ set z = z + {rng.uniform(0.5, 2)!r}; }} from init; }}\n"
                f"experiment {{ end = {2.5/a*q!r}; }}\n"), "p", "end(z)"

    def accumulation(self, rng, special):
        k, h = rng.uniform(0.3, 0.7), rng.uniform(0.5, 4)
        t = math.sqrt(2*h/9.81)*(1 + k)/(1 - k)
        read = t if special else t*rng.choice((rng.uniform(0.3, 0.8), rng.uniform(1.03, 1.19)))
        return (f"const k = {k!r};\ny' = v; y(t0) = {h!r};\nv' = -9.81; v(t0) = 0;\n"
                f"state b [y <= 0] && [v < 0] {{ set v = -k*v; }} from init, b;\nexperiment {{ end = {1.2*t!r}; }}\n"), "k", f"at(v, {read!r})"

    def drag(self, rng, special):
        # a constant drag, turned round at each impact and at each top
        k, h, c, g = rng.uniform(0.4, 0.85), rng.uniform(0.5, 3), rng.uniform(0.2, 3), 9.81
        v, r = math.sqrt(2*(g - c)*h), k*math.sqrt((g - c)/(g + c))
        t = v/(g - c) + k*v*(1/(g + c) + 1/math.sqrt(g*g - c*c))/(1 - r)
        read = t if special else t*rng.choice((rng.uniform(0.3, 0.8), rng.uniform(1.03, 1.19)))
        return (f"const k = {k!r}, c = {c!r};\ny' = v; y(t0) = {h!r};\nv' = -{g!r} - c*sign(v); v(t0) = 0;\n"
                f"state b [y <= 0] && [v < 0] {{ set v = -k*v; }} from init, b;\nexperiment {{ end = {1.2*t!r}; }}\n"
                ), rng.choice("kc"), f"at(v, {read!r})"

    def test_points(self):
        kinds = (self.grazing, self.ceiling, self.tie, self.accumulation, self.drag)
        for case in range(POINTS):
            for special in (True, False):
                rng = random.Random(77 + case)
                text, parameter, measure = kinds[case % len(kinds)](rng, special)
                row = self.sens(text, parameter, measure)[measure, parameter]
                self.assertEqual(not row["verdict"].startswith("exists"), special, (case, row, text))


if __name__ == "__main__":
    cli_case.main()
