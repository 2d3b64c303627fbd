#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Contacts, dry friction, accumulations and chattering, seen from the command line."""
import itertools
import json
import math
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from cli_case import CliCase, SOURCE  # noqa: E402

USER_REST = """
y' = v;   y(t0) = 10;
v' = -9.81;  v(t0) = 0;
state bounce [y <= 0] && [v < 0] { v(t0) = -0.8*v; } from init, bounce;
state rest zeno { y' = 0; v' = 0; y(t0) = 0; v(t0) = 0; } from bounce;
experiment { end = 20; rtol = 1e-9; }
"""

TANKS = """
x1' = 0.25;  x1(t0) = 0;
x2' = -0.5;  x2(t0) = 1;
state second [x2 <= 0] { x1' = -0.5; x2' = 0.25; } from init, first;
state first [x1 <= 0] { x1' = 0.25; x2' = -0.5; } from second;
experiment { end = 5; }
"""

CHAIN = """
const N = 100, k = 100;
for i = 1:N {
  x_[i]' = v_[i];  x_[i](t0) = 0;  v_[i](t0) = 0;
  friction f_[i] { velocity = v_[i]; force = F_[i]; kinetic = 1; static = 1.2; }
}
v_[1]' = k*(0.5*sin(2*time) - 2*x_[1] + x_[2]) + F_[1];
for i = 2:N-1 { v_[i]' = k*(x_[i-1] - 2*x_[i] + x_[i+1]) + F_[i]; }
v_[N]' = k*(x_[N-1] - x_[N]) + F_[N];
experiment { end = 1.5; }
"""


# a ball comes to rest on a table that moves
BALL = """
y' = v;  v' = -9.81;  y(t0) = 0.3;  v(t0) = 0;
s = 0.05*sin(5*time);
w = 0.25*cos(5*time);
automaton ball { state hit [y < s] && [v < w] { set v = w - 0.5*(v - w); } from init, hit; }
"""

CRADLE = """
v1' = -N1;  v2' = N1 - N2;  v3' = N2;
x1' = v1;  x2' = v2;  x3' = v3;
x1(t0) = -1;  v1(t0) = 1;  x2(t0) = 1;  x3(t0) = 2;
contact %s { gap = x2 - x1 - 1; velocity = v2 - v1; force = N1; restitution = %s; }
contact %s { gap = x3 - x2 - 1; velocity = v3 - v2; force = N2; restitution = %s; }
experiment { end = 3; out = v1, v2, v3; }
"""

# a box falls on its two feet
BOX = """
const m = 2, J = 0.1, L = 0.5, e = 0.6, phi0 = 0;
m*vy' = NA + NB - m*9.81;  y' = vy;  y(t0) = 1;  vy(t0) = 0;
J*w' = (NB - NA)*L;  phi' = w;  phi(t0) = phi0;  w(t0) = 0;
contact %s { gap = y - L*phi; velocity = vy - L*w; force = NA; restitution = e; }
contact %s { gap = y + L*phi; velocity = vy + L*w; force = NB; restitution = e; }
experiment { end = 3; out = y, vy, phi, w, NA, NB; }
"""


def swing(angle, rate, h):
    """One step of a pendulum of length 1, by Runge and Kutta."""
    a1, b1 = rate, -9.8*math.sin(angle)
    a2, b2 = rate + h/2*b1, -9.8*math.sin(angle + h/2*a1)
    a3, b3 = rate + h/2*b2, -9.8*math.sin(angle + h/2*a2)
    a4, b4 = rate + h*b3, -9.8*math.sin(angle + h*a3)
    return angle + h/6*(a1 + 2*a2 + 2*a3 + a4), rate + h/6*(b1 + 2*b2 + 2*b3 + b4)


def tension(angle, rate):
    return rate**2 + 9.8*math.cos(angle)


def first_true(test, h, end):
    """The first time at which a test becomes true that is asked every h, or the end."""
    k = 1
    while k*h < end and not test(k*h):
        k += 1
    low, high = (k - 1)*h, min(k*h, end)
    for _ in range(60 if test(high) else 0):
        middle = (low + high)/2
        low, high = (low, middle) if test(middle) else (middle, high)
    return high


def rope(x, u, v, end):
    """A mass on a rope of length 1 whose impacts take the speed along it: where it is at the end."""
    t, y, taut = 0.0, 0.0, False
    while t < end:
        if taut:
            angle, rate, h = math.atan2(x, -y), v*x - u*y, 1e-3
            while t < end and tension(angle, rate) >= 0:
                step = min(h, end - t)
                step = first_true(lambda s: tension(*swing(angle, rate, s)) < 0, step, step)
                angle, rate = swing(angle, rate, step)
                t += step
            x, y, u, v = math.sin(angle), -math.cos(angle), rate*math.cos(angle), rate*math.sin(angle)
        else:
            flight = first_true(lambda s: s > 1e-6 and (x + u*s)**2 + (y + v*s - 4.9*s*s)**2 >= 1, 1e-3, end - t)
            x, y, v, t = x + u*flight, y + v*flight - 4.9*flight**2, v - 9.8*flight, t + flight
            along = (u*x + v*y)*(t < end)
            u, v = u - along*x, v - along*y
        taut = not taut and u*u + v*v - 9.8*y > 0
    return x, y, u, v


def stack(n, e):
    """n balls on each other at rest on the floor, but the last one, which falls from 1 above."""
    lines = []
    for i in range(1, n + 1):
        push = f"N{i} - N{i + 1}" if i < n else f"N{i}"
        gap, speed = (f"y{i} - y{i - 1} - 1", f"v{i} - v{i - 1}") if i > 1 else ("y1", "v1")
        lines.append(f"v{i}' = {push} - 9.81;  y{i}' = v{i};  v{i}(t0) = 0;"
                     f"  y{i}(t0) = {i if i == n else i - 1};\n"
                     f"contact c{i} {{ gap = {gap}; velocity = {speed}; force = N{i};"
                     f" restitution = {e}; }}")
    return "\n".join(lines) + "\nexperiment { end = 6; }\n"


# a table on four legs, pushed down over the first one
TABLE = """
const m = 4, a = 1, b = 0.5, push = 6;
m*v' = N1 + N2 + N3 + N4 - m*10 - F;  z' = v;  z(t0) = z0;  const z0 = 0;
p' = b*(N1 + N2 - N3 - N4) - b*F;  al' = p;
q' = a*(N1 - N2 - N3 + N4) - a*F;  be' = q;
F = push*time;
contact %s { gap = z + b*al + a*be; velocity = v + b*p + a*q; force = N1; }
contact %s { gap = z + b*al - a*be; velocity = v + b*p - a*q; force = N2; }
contact %s { gap = z - b*al - a*be; velocity = v - b*p - a*q; force = N3; }
contact %s { gap = z - b*al + a*be; velocity = v - b*p + a*q; force = N4; }
experiment { end = 2; out = N1, N2, N3, N4, z, v; }
"""


DERIVED_CRADLE = """const N = 5;
for i = 1:N { x_[i]' = v_[i];  x_[i](t0) = if(i < 2, -2, i);  v_[i](t0) = if(i < 2, 1, 0); }
for i = 1:N-1 { contact c_[i] { gap = x_[i+1] - x_[i] - 1; force = P_[i]; restitution = 1; cascade = 1; } }
v_[1]' = -P_[1];
for i = 2:N-1 { v_[i]' = P_[i-1] - P_[i]; }
v_[N]' = P_[N-1];
experiment { end = 5; }
"""

# z is computed alike in all states, though nobody asks for it before A
PASSED_THROUGH = """x' = 1;  z = 2*x;  n(t0) = 0;  w = 1;
state A [x >= 1] { %s set n = n + 1; } from init;
state B [z >= 1] {} from A;
experiment { end = 2; }
"""


class Contact(CliCase):
    def run_model(self, text, *options):
        """Rows as a list of dicts, records, messages."""
        self.write("model.lisma", text)
        result = self.good("run", "model.lisma", "-q", "--events", "events.jsonl",
                           "-o", "rows.csv", *options)
        lines = self.read("rows.csv").splitlines()
        names = lines[0].split(",")
        rows = [dict(zip(names, map(float, line.split(",")))) for line in lines[1:]]
        records = [json.loads(line) for line in self.read("events.jsonl").splitlines()]
        return rows, records, result.err

    def test_bounces_as_branches(self):
        """An `if` with nothing but resets is the automaton that a state would be: the same events, and the same rest."""
        ball = "y' = v; y(t0) = %s; v' = %s; v(t0) = %s; n(t0) = 0;\n"
        hit = "state hit [y <= 0] && v < 0 { set v = -0.8*v; set n = n + 1; } from init, hit;\n"
        branch = "if (y <= 0 && v < 0) { set v = -0.8*v; set n = n + 1; }\n"
        row = "n(t0) = 0;\nfor i = 1:3 {\n  y_[i]' = v_[i]; y_[i](t0) = i; v_[i]' = -9.81; v_[i](t0) = 0;\n  %s\n}\n" \
              "y = y_[1] + 2*y_[2] + 4*y_[3]; v = v_[1] + v_[2] + v_[3];\n"
        reset = "set v_[i] = -0.5*v_[i]; set m_[i] = m_[i] + 1;"
        earth, tiny, thrown = (1, -9.81, 0), (1e-9, -9.81e-9, 0), (1, -9.81, 9)
        for one, other in ((ball % earth + branch, ball % earth + hit), (ball % tiny + branch, ball % tiny + hit),
                           (ball % earth + "state on [time >= 0.1] { %s } from init;\n" % branch, ball % earth + hit),
                           (ball % thrown + branch[:-1] + " else if (y >= 2 && v > 0) { set v = -0.5*v; set n = n + 100; }\n",
                            ball % thrown + "automaton low { %s}\nautomaton high { %s}\n"
                            % (hit, "state top [y >= 2] && v > 0 { set v = -0.5*v; set n = n + 100; } from init, top; ")),
                           (row % f"if (y_[i] <= 0 && v_[i] < 0) {{ {reset} }} m_[i](t0) = 0;",
                            row % f"automaton a_[i] {{ state h [y_[i] <= 0] && v_[i] < 0 {{ {reset} }} from init, h; }} m_[i](t0) = 0;")):
            found = []
            for text in (one, other):
                self.write("m.lisma", text + "experiment { end = 6; out = y, v, n; }\n")
                self.good("run", "m.lisma", "-q", "-o", "r.csv", "--samples", "12", "--event-rows", "none")
                found.append([[float(cell) for cell in line.split(",")] for line in self.read("r.csv").splitlines()[1:]])
            for a, b in zip(*found, strict=True):
                self.assertEqual(a[3], b[3], one)
                for k in (1, 2):
                    self.assertAlmostEqual(a[k], b[k], delta=1e-7 * max(abs(line[k]) for line in found[1]), msg=one)

    def test_carried_as_far_as_the_table_goes(self):
        """Steps grow where nothing happens: the edge may be anywhere in one, and the bodies go on however it is met."""
        for method, rtol, edge in itertools.product(("dp54", "dop853"), (1e-3, 1e-6, 1e-12), (1.1, 2.3, 3.0, 3.7)):
            self.write("t.lisma", f"x' = 1; x(t0) = 0;\ny' = v; y(t0) = 0.2;\nv' = -10; v(t0) = 0;\n"
                       f"state hit [y <= 0 && v < 0 && x < {edge}] {{ set v = -0.5*v; }} from init, hit;\nexperiment {{ end = 4; }}\n")
            out = self.good("measure", "t.lisma", "-m", "end(y)", "--method", method, "--rtol", str(rtol), "--atol", str(1e-3*rtol),
                            "-o", "-").out
            self.assertAlmostEqual(float(out.split("\n")[1]), -5*(4 - edge)**2, delta=1e-6 + 10*rtol, msg=str((method, rtol, edge)))

    def test_a_state_for_what_comes_after(self):
        rows, records, err = self.run_model(USER_REST, "--out", "y,v")
        rest = [r for r in records if r["to"] == "rest"]
        self.assertEqual(len(rest), 1)
        self.assertAlmostEqual(rest[0]["t"], 12.85058, delta=1e-4)
        self.assertEqual(sum(r["kind"] == "zeno" for r in records), 1)
        self.assertEqual((rows[-1]["y"], rows[-1]["v"]), (0, 0))
        self.assertEqual(err, "")

    def rest_time(self, text, rtol, *options):
        self.write("rest.lisma", text)
        out = self.good("measure", "rest.lisma", "--rtol", str(rtol), *options, "-o", "-", "-q").out
        return float(out.split("\n")[1])

    def test_a_state_for_what_comes_after_is_entered_at_any_height_and_time(self):
        """Where rounding hides the last flights, of a floor far from 0 or a long time after it, the sequence ends there."""
        for height in (0, 1, -1000, 1e6):
            for start in (0, 1e6, 1e9):
                for rtol in (1e-6, 1e-12):
                    found = self.rest_time(
                        f"y' = v; y(t0) = {height + 5}; v' = -10; v(t0) = 0;\nstate hit [y <= {height}] && [v < 0] {{ set v = -0.6*v; }}"
                        f" from init, hit;\nstate rest zeno {{ stop; }} from hit;\nmeasure t = time(rest) - {start};\n"
                        f"experiment {{ start = {start}; end = {start + 10}; }}\n", rtol)
                    self.assertAlmostEqual(found, 4, delta=1e-3, msg=str((height, start, rtol)))

    def test_zeno_stop_and_dwell(self):
        self.write("model.lisma", USER_REST)
        self.fails(3, "run", "model.lisma", "-q", "--zeno", "stop", says="E0807")
        self.write("model.lisma", TANKS)
        self.fails(3, "run", "model.lisma", "-q", says="E0807")
        rows, records, err = self.run_model(TANKS, "--zeno", "dwell")
        self.assertIn("W0803", err)
        self.assertGreater(sum(r["kind"] == "chatter" for r in records), 0)
        # what flows out of both tanks and in is kept: 0.25 a second less in all
        self.assertAlmostEqual(rows[-1]["x1"] + rows[-1]["x2"], 1 - 0.25 * 5, delta=1e-3)
        times = [r["t"] for r in records if r["kind"] == "state" and r["t"] > 4.1]
        gaps = [b - a for a, b in zip(times, times[1:]) if b > a]
        self.assertGreater(min(gaps), 1e-5)

    def test_sliding_off_chatters_and_says_so(self):
        model = "x' = 0.5 - sign(x);  x(t0) = 1;\nexperiment { end = 3; }\n"
        _, records, err = self.run_model(model)
        self.assertEqual((err, len(records)), ("", 2))
        rows, records, err = self.run_model(model, "--sliding", "off")
        self.assertIn("W0803", err)
        self.assertTrue(any(r["kind"] == "chatter" for r in records))
        self.assertGreater(len(records), 1000)
        self.assertLess(len(records), 100000)
        self.assertAlmostEqual(rows[-1]["x"], 0, delta=1e-3)
        self.fails(3, "run", "model.lisma", "-q", "--sliding", "off", "--zeno", "stop", says="E0807")
        # from the start on there is no longer step to compare with: the tolerances tell
        model = "x' = 0.5 - sign(x);  x(t0) = 0;\nexperiment { end = 0.3; }\n"
        rows, records, err = self.run_model(model, "--sliding", "off")
        self.assertIn("W0803", err)
        self.assertLess(len(records), 100000)
        self.assertAlmostEqual(rows[-1]["x"], 0, delta=1e-2)

    def test_a_side_without_values_says_nothing(self):
        """Comparisons with what is not a number must not decide: no sliding, an error that says so."""
        self.write("model.lisma", "x' = if(x > 0, -1, sqrt(x - 1e-3));  x(t0) = 1;\n"
                   "experiment { end = 2; }\n")
        result = self.saltus("run", "model.lisma", "-q", "-o", "r.csv", "--events", "e.jsonl")
        self.assertEqual(result.status, 3)
        self.assertIn("E0802", result.err)
        kinds = [json.loads(line)["kind"] for line in self.read("e.jsonl").splitlines()]
        self.assertEqual(kinds, ["initial", "state"])

    def test_both_ways_away_is_told(self):
        rows, _, err = self.run_model("x' = if(x > 0, 1, -1);  x(t0) = 0;\n", "--until", "1")
        self.assertIn("W0804", err)
        self.assertAlmostEqual(rows[-1]["x"], -1, delta=1e-9)
        _, _, err = self.run_model("x' = if(x > 0, 1, 2);  x(t0) = -1;\n", "--until", "1")
        self.assertEqual(err, "")

    def test_sliding_costs_the_same_at_every_tolerance(self):
        model = ("x' = v;  x(t0) = 1;\nv' = -sign(x + v);  v(t0) = 0;\n"
                 "experiment { end = 5; }\n")
        for exponent in range(4, 11):
            rows, records, err = self.run_model(model, "--rtol", f"1e-{exponent}", "--atol",
                                                f"1e-{exponent + 3}", "--all-steps")
            self.assertEqual(err, "")
            self.assertEqual([r["kind"] for r in records], ["initial", "slide-in"])
            self.assertAlmostEqual(rows[-1]["x"], 0.732050808 * math.exp(0.732050808 - 5),
                                   delta=10 ** -(exponent - 1.5))
            self.assertLess(len(rows), 400)

    def test_values_or_flows_are_combined(self):
        # u stands for -0.3; flows with u = 1 and u = -1 both have y' = 1
        model = ("x' = 0.3 + u;  x(t0) = 0.5;\ny' = u^2;  y(t0) = 0;\nu = -sign(x);\n"
                 "experiment { end = 2; }\n")
        enters = 0.5 / 0.7
        rows, records, _ = self.run_model(model)
        self.assertAlmostEqual(rows[-1]["y"], 2, delta=1e-7)
        rows, records, _ = self.run_model(model, "--sliding", "utkin")
        self.assertEqual([r["kind"] for r in records], ["initial", "slide-in"])
        self.assertAlmostEqual(rows[-1]["y"], enters + 0.09 * (2 - enters), delta=1e-7)
        self.assertAlmostEqual(rows[-1]["u"], -0.3, delta=1e-9)
        # linear in what switches: the same motion
        model = "x' = v;  x(t0) = 1;\nv' = -sign(x + v);  v(t0) = 0;\n"
        for option in ("on", "utkin"):
            rows, _, _ = self.run_model(model, "--until", "2", "--rtol", "1e-9", "--sliding", option)
            self.assertAlmostEqual(rows[-1]["x"], 0.206005059, delta=1e-7)

    def test_many_surfaces_at_once(self):
        model = """
const N = 40, k = 100;
for i = 1:N {
  x_[i]' = v_[i];  x_[i](t0) = 0;  v_[i](t0) = 0;
  F_[i] = -sign(v_[i]);
}
v_[1]' = k*(0.5*sin(2*time) - 2*x_[1] + x_[2]) + F_[1];
for i = 2:N-1 { v_[i]' = k*(x_[i-1] - 2*x_[i] + x_[i+1]) + F_[i]; }
v_[N]' = k*(x_[N-1] - x_[N]) + F_[N];
experiment { end = 2; rtol = 1e-8; }
"""
        slid, records, err = self.run_model(model, "--samples", "5")
        self.assertEqual(err, "")
        self.assertLess(len({r["t"] for r in records}), 100)
        stuck, _, _ = self.run_model(model.replace(
            "F_[i] = -sign(v_[i]);",
            "friction f_[i] { velocity = v_[i]; force = F_[i]; kinetic = 1; }"), "--samples", "5")
        values, _, _ = self.run_model(model, "--samples", "5", "--sliding", "utkin")
        for i in range(1, 41):
            for other in (stuck, values):
                self.assertAlmostEqual(slid[-1][f"x_{i}"], other[-1][f"x_{i}"], delta=1e-6)
            self.assertLessEqual(abs(slid[-1][f"F_{i}"]), 1 + 1e-9)
            self.assertAlmostEqual(slid[-1][f"F_{i}"], stuck[-1][f"F_{i}"], delta=1e-4)

    def test_friction_holds_up_to_its_static_level(self):
        rows, records, _ = self.run_model(
            "v' = time + F;  v(t0) = 0;\n"
            "friction f { velocity = v; force = F; kinetic = 1; static = 2; }\n", "--until", "4")
        away = [r for r in records if r["to"] == "forward"]
        self.assertEqual(len(away), 1)
        self.assertAlmostEqual(away[0]["t"], 2, delta=1e-9)
        self.assertEqual(away[0]["atom"], ["force < -static"])
        self.assertAlmostEqual(rows[-1]["v"], 0.5 * (16 - 4) - 2, delta=1e-7)

    def test_a_plastic_contact_closes_and_opens(self):
        rows, records, _ = self.run_model(
            "y' = v;  y(t0) = 1;\nv' = -10 + N + if(time < 2, 0, 12);  v(t0) = 0;\n"
            "contact floor { gap = y; force = N; }\n", "--until", "3")
        moves = [(r["to"], round(r["t"], 6)) for r in records if r["automaton"] == "floor"]
        self.assertEqual(moves, [("closed", round(math.sqrt(0.2), 6)), ("free", 2)])
        self.assertAlmostEqual(rows[-1]["y"], 1, delta=1e-6)

    def test_what_lies_on_the_floor_stays_there(self):
        rows, records, err = self.run_model(
            "y' = v; v' = N - 9.81; y(t0) = 0; v(t0) = 0;\n"
            "contact c { gap = y; velocity = v; force = N; restitution = 0.8; }\n"
            "experiment { end = 3; }\n")
        self.assertEqual([(r["kind"], r["to"]) for r in records[1:]], [("state", "closed")])
        self.assertTrue(records[1]["certified"])
        self.assertEqual({(row["y"], row["v"], row["N"]) for row in rows[1:]}, {(0, 0, 9.81)})

    def test_a_ball_falls_on_a_stack(self):
        for n, e in ((2, 0.02), (2, 0.5), (2, 0.7), (3, 0.3), (5, 0.6)):
            rows, records, err = self.run_model(stack(n, e))
            for i in range(1, n + 1):
                self.assertAlmostEqual(rows[-1][f"y{i}"], i - 1, 5, (n, e, i))
                self.assertAlmostEqual(rows[-1][f"v{i}"], 0, 5, (n, e, i))
                self.assertAlmostEqual(rows[-1][f"N{i}"], 9.81 * (n + 1 - i), 5, (n, e, i))

    def test_bodies_that_touch(self):
        glued = [-1 / 3, 2 / 3, 2 / 3]
        for names in ("ab", "ba"):
            rows, records, err = self.run_model(CRADLE % (names[0], 1, names[1], 1))
            for name, speed in zip(("v1", "v2", "v3"), glued):
                self.assertAlmostEqual(rows[-1][name], speed, 12)

    def test_a_cascade(self):
        for names in ("ab", "ba"):
            text = CRADLE % (names[0], "1; cascade = 1", names[1], "1; cascade = 1")
            rows, records, err = self.run_model(text)
            self.assertEqual([rows[-1][v] for v in ("v1", "v2", "v3")], [0, 0, 1])
            knock = [r["class"] for r in records if abs(r["t"] - 1) < 1e-9]
            self.assertEqual((knock.count("mythical"), knock.count("pinnacle")), (1, 2))
        for loss in (0.9, 0.5):
            setting = f"{loss}; cascade = 1"
            rows, records, err = self.run_model(CRADLE % ("a", setting, "b", setting))
            first = (1 + loss) / 2  # speed of the second ball, then of the third
            self.assertAlmostEqual(rows[-1]["v3"], first * first, 9)
            self.assertAlmostEqual(sum(rows[-1][v] for v in ("v1", "v2", "v3")), 1, 12)

    def test_a_cascade_without_a_velocity(self):
        """The rate of a gap is derived: five balls exchange their speeds all the same."""
        for count in (3, 4, 5):
            rows, records, err = self.run_model(DERIVED_CRADLE, "--set", f"N={count}")
            speeds = [rows[-1][f"v_{i + 1}"] for i in range(count)]
            self.assertEqual(speeds, [0] * (count - 1) + [1])

    def test_resets_of_a_state_that_is_left_at_once(self):
        """Only what the new mode computes in another way can make it mythical."""
        for edit in ("", "w = 3;"):
            rows, records, err = self.run_model(PASSED_THROUGH % edit)
            self.assertEqual(rows[-1]["n"], 1)

    def test_feet_that_hit_together(self):
        told = []
        for names in ("AB", "BA"):
            rows, records, err = self.run_model(BOX % tuple(names))
            self.assertLess(max(max(abs(row["phi"]), abs(row["w"])) for row in rows), 1e-25)
            self.assertEqual((rows[-1]["vy"], rows[-1]["NA"], rows[-1]["NB"]), (0, 9.81, 9.81))
            self.assertEqual(sum(r["to"] == "closed" for r in records), 2)
            self.assertEqual(sum(r["kind"] == "zeno" for r in records), 2)
            told.append([list(row.values()) for row in rows])
        for a, b in zip(*told):
            for x, y in zip(a, b):
                self.assertAlmostEqual(x, y, delta=1e-15)
        # without loss no energy is lost, from wherever it falls
        rows, records, err = self.run_model(BOX % ("A", "B"), "--set", "e=1", "--set", "phi0=0.3")
        for row in rows:
            energy = row["vy"] ** 2 + 0.05 * row["w"] ** 2 + 2 * 9.81 * row["y"]
            self.assertAlmostEqual(energy, 2 * 9.81, 4)

    def test_a_table_on_four_legs(self):
        """Four legs where three would do: the smallest forces."""
        for names in (("c1", "c2", "c3", "c4"), ("d", "a", "c", "b")):
            rows, records, err = self.run_model(TABLE % names)
            self.assertIn("W0827", err)
            for row in rows[1:]:
                push = 6 * row["time"]
                wanted = (10 + 3 * push / 4, 10 + push / 4, 10 - push / 4, 10 + push / 4)
                for i, force in enumerate(wanted):
                    self.assertAlmostEqual(row[f"N{i + 1}"], force, 9)
            self.assertEqual({(row["z"], row["v"]) for row in rows}, {(0, 0)})
        # pushed harder, the leg across lifts: the smallest forces still push
        rows, records, err = self.run_model(TABLE % ("c1", "c2", "c3", "c4"), "--set", "push=30")
        opens = [r for r in records if r["to"] == "free"]
        self.assertEqual(opens[0]["automaton"], "c3")
        self.assertAlmostEqual(opens[0]["t"], 40 / 30, 6)
        # let fall, it lands with all legs at once, and their impulses are equal
        rows, records, err = self.run_model(TABLE % ("c1", "c2", "c3", "c4"), "--set", "push=0",
                                            "--set", "z0=0.2")
        pulses = [r["impulses"] for r in records if r["impulses"]]
        self.assertEqual(len(pulses), 1)
        for pulse in pulses[0].values():
            self.assertAlmostEqual(pulse, 2, 9)  # a fourth of 4 kg from 2 m/s
        self.assertAlmostEqual(rows[-1]["v"], 0, 12)

    def test_walls_of_a_corner(self):
        rows, records, err = self.run_model(
            "vx' = A + 0.6*C - 3;  vy' = B + 0.8*C - 5;  x' = vx;  y' = vy;\n"
            "x(t0) = 1;  y(t0) = 1;  vx(t0) = 0;  vy(t0) = 0;\n"
            "contact a { gap = x; velocity = vx; force = A; }\n"
            "contact b { gap = y; velocity = vy; force = B; }\n"
            "contact c { gap = 0.6*x + 0.8*y; velocity = 0.6*vx + 0.8*vy; force = C; }\n"
            "experiment { end = 2; }\n")
        last = rows[-1]
        self.assertAlmostEqual(last["x"], 0, 12)
        self.assertAlmostEqual(last["y"], 0, 12)
        self.assertAlmostEqual(last["A"] + 0.6 * last["C"], 3, 9)
        self.assertAlmostEqual(last["B"] + 0.8 * last["C"], 5, 9)
        # two walls are enough, and which of them close is for rounding to decide
        self.assertGreaterEqual(min(last["A"], last["B"], last["C"]), 0)

    def test_two_supports_side_by_side(self):
        rows, records, err = self.run_model(
            "2*v' = A + B - 20;  y' = v;  y(t0) = 1;  v(t0) = 0;\n"
            "contact a { gap = y; force = A; restitution = 0.5; }\n"
            "contact b { gap = y; force = B; restitution = 0.5; }\n"
            "experiment { end = 4; }\n")
        self.assertAlmostEqual(rows[-1]["y"], 0, 9)
        self.assertAlmostEqual(rows[-1]["A"], 10, 9)
        self.assertAlmostEqual(rows[-1]["B"], 10, 9)
        first = [r for r in records if r["impulses"]][0]["impulses"]
        self.assertAlmostEqual(first["A"], first["B"], 9)
        self.assertAlmostEqual(first["A"] + first["B"], 2 * 1.5 * 20 ** 0.5, 6)

    def test_two_brakes_on_one_wheel(self):
        rows, records, err = self.run_model(
            "0.1*w' = P + Q + 3*time - 2;  w(t0) = -1;\n"
            "friction a { velocity = w; force = P; kinetic = 0.5; static = 0.8; }\n"
            "friction b { velocity = w; force = Q; kinetic = 0.7; static = 1; }\n"
            "experiment { end = 3; out = w, P, Q; }\n")
        stuck = [row for row in rows if 0.7 < row["time"] < 1.19]
        for row in stuck:
            self.assertAlmostEqual(row["w"], 0, delta=1e-15)
            self.assertAlmostEqual(row["P"], (2 - 3 * row["time"]) / 2, 9)
            self.assertAlmostEqual(row["Q"], row["P"], 9)
        slip = [r["t"] for r in records if r["to"] == "forward"]
        self.assertAlmostEqual(slip[-1], 1.2, 6)  # the weaker one gives way and the other follows

    def test_supports_that_contradict_each_other(self):
        self.write("model.lisma", "2*v' = A + B - 20;  y' = v;  s = 0.1*time^2;\n"
                   "contact a { gap = y; velocity = v; force = A; }\n"
                   "contact b { gap = y + s; velocity = v + 0.2*time; force = B; }\n"
                   "experiment { end = 4; }\n")
        result = self.saltus("run", "model.lisma", "-q", "-o", "rows.csv")
        self.assertEqual(result.status, 3)
        self.assertRegex(result.err, "E082[0-9]")

    def test_impacts_through_a_rod_of_masses(self):
        # two masses on a string that is taut: the impact of the lower one stops both
        rows, records, _ = self.run_model(
            "y' = v;  y(t0) = 1;  v' = -10 + N - T;  v(t0) = 0;\n"
            "z' = w;  z(t0) = 2;  2*w' = -20 + T;  w(t0) = 0;\nz - y = 1;\n"
            "contact floor { gap = y; force = N; restitution = 0.5; }\n", "--until", "0.6")
        hit = [r for r in records if r["to"] == "hit"][0]
        self.assertAlmostEqual(hit["impulses"]["N"], 1.5 * 3 * math.sqrt(20), delta=1e-6)
        self.assertAlmostEqual(hit["changed"]["w"][1], 0.5 * math.sqrt(20), delta=1e-6)
        self.assertGreater(rows[-1]["y"], 0)

    def test_a_contact_outlasts_what_happens_elsewhere(self):
        # other automata change the mode, and another motion comes to slide: the ball stays on its table
        rows, records, _ = self.run_model(
            BALL + "x' = 1;  x(t0) = 0;\n"
            "automaton count { state hit [x > 1] { set x = 0; } from init, hit; }\n"
            "automaton half { state on [x > 0.5] {} from init, off;  state off [x < 0.5] {} from on; }\n"
            "u' = -0.4*sign(u);  u(t0) = 1;\n", "--until", "5", "--every", "0.25")
        self.assertEqual([r["atom"] for r in records if r["kind"] == "slide-in"], [["sign(u)"]])
        self.assertEqual([r for r in records if r["kind"] == "slide-out"], [])
        for row in rows:
            if row["time"] > 1:
                self.assertAlmostEqual(row["y"], row["s"], delta=1e-6)
                self.assertAlmostEqual(row["v"], row["w"], delta=1e-5)

    def test_a_closed_contact_that_is_thrown_off_or_pushed(self):
        rows, records, _ = self.run_model(
            BALL.replace("s = 0.05*sin(5*time);", "s' = w;  s(t0) = 0;").replace("w = 0.25*cos(5*time);", "w(t0) = 0;")
            + "at 2 { set v = 3; }\nat 5 { set w = 1; }\n", "--until", "7", "--every", "0.1")
        # what pushes it is an impact
        self.assertEqual([r["t"] for r in records if r["kind"] == "slide-out"], [2.0, 5.0])
        height = max(row["y"] for row in rows if 2 < row["time"] < 3)
        self.assertAlmostEqual(height, 9 / 2 / 9.81, delta=0.01)
        for row in rows:
            self.assertGreater(row["y"] - row["s"], -1e-6)
        self.assertAlmostEqual(rows[-1]["y"], rows[-1]["s"], delta=1e-6)

    def test_a_closed_contact_opens_where_the_bodies_are_taken_apart(self):
        # by a reset of either of them, by a switch, in a stack; in any unit of length
        for unit in (1, 1e-9, 1e6):
            g = 9.81 * unit
            body = f"y' = v; v' = {-g!r} + N; y(t0) = 0; v(t0) = 0; contact c {{ gap = y - f; force = N; }}\n"
            above = f"z' = w; w' = {-g!r} + M; z(t0) = 0; w(t0) = 0; contact d {{ gap = z - y; force = M; }}\n"
            away = 2 * unit
            for text, y in ((body + f"f(t0) = 0; at 1 {{ set f = {-away!r}; }}", -0.05 * g),
                            (body + f"f = if(time < 1, 0, {-away!r});", -0.05 * g),
                            (body + f"f(t0) = 0; at 1 {{ set y = {away!r}; }}", away - 0.05 * g),
                            (body.replace("+ N;", "+ N - M;") + above + f"f = if(time < 1, 0, {-away!r});",
                             -0.05 * g)):
                rows, _, _ = self.run_model(text, "--until", "1.31622776601684", "--out", "y,v,N")
                self.assertAlmostEqual(rows[-1]["y"] / unit, y / unit, delta=1e-6, msg=text)
                self.assertEqual(rows[-1]["N"], 0)
        # bodies that are pushed into each other are an error
        self.write("model.lisma", body + "f(t0) = 0; at 1 { set f = 1e6; }")
        message = self.saltus("run", "model.lisma", "--until", "2", "-o", "rows.csv").err
        self.assertIn("E0821", message)
        self.assertIn("`y - f = 0` (line 1) is off by -1000000, with y = 0", message)

    def test_what_follows_from_impacts_ends_with_them(self):
        # a cabin with a brake bounces to rest at its upper stop; the brake changes its direction at every bounce
        # and between them, and its changes accumulate where the bounces do
        cabin = ("const m = 500; h' = v; h(t0) = 5; m*v' = 4000*sin(0.8*time) + B%s; v(t0) = 0;"
                 "friction brake { velocity = v; force = B; kinetic = 600; static = 900; } %s experiment { end = 5; }")
        stops = (" - N", "contact top { gap = 10 - h; force = N; restitution = 0.2; }")
        by_hand = ("", "state hit [h >= 10] && [v > 0] { v(t0) = -0.2*v; } from init, hit;")
        ends = []
        for force, impact in (stops, by_hand):
            rows, _, _ = self.run_model(cabin % (force, impact), "--every", "0.5", "--out", "h,v,B")
            at_rest = [row for row in rows if 2.5 <= row["time"] <= 4.2]
            self.assertGreater(len(at_rest), 3)
            for row in at_rest:
                self.assertAlmostEqual(row["h"], 10, delta=1e-6)
                self.assertAlmostEqual(row["v"], 0, delta=1e-6)
            # the brake holds alone until the pull is beyond its static level
            let_go = next(row["time"] for row in rows if row["time"] > 4 and row["B"] >= 900 - 1e-6)
            self.assertAlmostEqual(let_go, (2 * math.pi - (math.pi - math.asin(0.225))) / 0.8, delta=1e-6)
            ends.append(rows[-1]["h"])
        self.assertAlmostEqual(ends[0], ends[1], delta=1e-6)

    def test_a_ball_with_spin_on_a_round_obstacle(self):
        # its centre is 1.1 from that of the obstacle at the impact; friction stops the sliding of its surface
        rows, records, _ = self.run_model(
            "const R = 1, r = 0.1, J = 0.004, mu = 0.3; x' = u; y' = v; x(t0) = 0.2; y(t0) = 3; u(t0) = 0;"
            "v(t0) = 0; om(t0) = 5; d = sqrt(x^2 + y^2); nx = x/d; ny = y/d; u' = N*nx - F*ny;"
            "v' = -9.81 + N*ny + F*nx; J*om' = F*r; slip = -u*ny + v*nx + r*om;"
            "contact bump { gap = d - R - r; force = N; restitution = 0.7; }"
            "friction skin { velocity = slip; force = F; kinetic = mu*N; } experiment { end = 1; }")
        ny = math.sqrt(1.1 ** 2 - 0.2 ** 2) / 1.1
        nx = 0.2 / 1.1
        speed = math.sqrt(2 * 9.81 * (3 - 1.1 * ny))
        pulse = (speed * nx - 0.1 * 5) / (1 + 0.1 ** 2 / 0.004)
        self.assertAlmostEqual(rows[-1]["om"], 5 + pulse * 0.1 / 0.004, delta=1e-6)
        impact = [r for r in records if r["class"] == "pinnacle"]
        self.assertEqual(len(impact), 1)
        self.assertAlmostEqual(impact[0]["impulses"]["N"], 1.7 * speed * ny, delta=1e-6)
        # a derivative that the mode before did not have is no change
        changed = [name for r in records for name in r["changed"]]
        self.assertIn("bump.gap'", changed)
        self.assertNotIn("d'", changed)

    def test_a_closed_contact_pushes_along_a_surface_or_off_it(self):
        """The resets push u by 0.1/1.5 of what they push v: at rest that is a force against dry friction."""
        push = 9.81 * 0.1 / 1.5
        for level, unit in ((2, 1), (0.5, 1), (0.9 * push, 1e-6), (5 * push, 1e6)):
            rows, _, _ = self.run_model(
                f"y' = v;  v' = -9.81*{unit};  y(t0) = 0.3*{unit};  v(t0) = 0;\n"
                f"u' = -{level}*{unit}*sign(u);  u(t0) = 0.01*{unit};\n"
                "automaton ball { state hit [y <= 0] && [v < 0] { set v = -0.5*v; set u = u - 0.1*v; }"
                " from init, hit; }\n", "--until", "2", "--every", "0.5")
            gained = (rows[-1]["u"] - rows[-2]["u"]) / unit
            self.assertAlmostEqual(gained, 0.5 * max(0, push - level), 6)

    def test_rest_does_not_depend_on_how_events_are_found(self):
        """The ball on the shaking table rests once a period with every detection that is certain of its
        impacts, and leaves at the same times."""
        path = os.path.join(SOURCE, "models", "vibrating_table.lisma")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        wanted = None
        for options in ((), ("--method", "rodas"), ("--method", "dop853")):
            rows, records, _ = self.run_model(text, *options)
            ends = [r["t"] for r in records if r["kind"] == "slide-out" and r["t"] > 0.4]
            self.assertLess(len(records), 200)
            wanted = wanted or ends
            self.assertEqual(len(ends), len(wanted))
            for a, b in zip(ends, wanted):
                self.assertAlmostEqual(a, b, 6)

    def test_impacts_of_branches_that_edit_equations(self):
        """An `if` with equations beside its `set`: it rests, is thrown back, and lifts off, as a state does."""
        for rtol in ("1e-4", "1e-6", "1e-9"):
            for unit in (1e-9, 1.0, 1e9):
                text = f"const u = {unit!r};\ny' = v; v' = -9.81*u + F; y(t0) = u; v(t0) = 0; q(t0) = 0; a = 0; q' = a;\n" \
                       "F = if(time > 7 && time < 7.1, 400*u, 0);\n" \
                       "if (y <= 0 && v < 0) { a = 1; set v = -0.5*v; }\nat 5 { set v = -3*u; }\n"
                for until, v in ((4.5, 0), (5.1, 1.5 - 0.981), (6.9, 0), (7.1, 39.019)):
                    self.write("m.lisma", text)
                    out = self.good("run", "m.lisma", "-q", "-o", "-", "--samples", "1", "--until", repr(until), "--rtol", rtol,
                                    "--out", "v,q").out
                    end = [float(c) for c in out.splitlines()[-1].split(",")]
                    self.assertAlmostEqual(end[1] / unit, v, delta=1e-3, msg=(rtol, unit, until))
                    self.assertEqual(end[2], 0, (rtol, unit, until))

    def test_contacts_of_resets_are_as_many_as_there_are(self):
        ball = "y%d' = v%d;  v%d' = -9.81;  y%d(t0) = HEIGHT;  v%d(t0) = 0;\n"
        hit = "automaton b%d { state hit [y%d <= 0] && [v%d < 0] { set v%d = -0.5*v%d; } from init, hit; }\n"
        for count in (2, 20):
            for apart in (0, 0.1):
                text = "".join((part % ((n,) * 5)).replace("HEIGHT", f"{0.3 + apart*n}")
                               for n in range(1, count + 1) for part in (ball, hit))
                rows, records, _ = self.run_model(text, "--until", "20")
                self.assertEqual(len([r for r in records if r["kind"] == "zeno"]), count)
                for n in range(1, count + 1):
                    self.assertAlmostEqual(rows[-1][f"y{n}"], 0, delta=1e-9)
                    self.assertAlmostEqual(rows[-1][f"v{n}"], 0, delta=1e-9)

    def test_closed_contacts_of_one_body(self):
        # a ball in a corner, and one that is carried by an inclined plane
        corner = "x' = u;  y' = v;  u' = -3;  v' = -9.81;  x(t0) = 1;  y(t0) = 0.7;  u(t0) = 0.3;  v(t0) = 0;\n" \
            "automaton f { state b [y <= 0] && noEvent[v < 0] { set v = -E*v; } from init, b; }\n" \
            "automaton w { state b [x <= 0] && noEvent[u < 0] { set u = -E*u; } from init, b; }\n"
        plane = f"const nx = {-math.sin(0.4)}, ny = {math.cos(0.4)};\n" \
            "x' = u;  y' = v;  u' = 0;  v' = -9.81;  x(t0) = 0;  y(t0) = 1;  u(t0) = 0;  v(t0) = 0;\n" \
            "d = x*nx + y*ny;  s = u*nx + v*ny;\n" \
            "automaton p { state b [d <= 0] && noEvent[s < 0] { set u = u - (1 + E)*s*nx, v = v - (1 + E)*s*ny; }" \
            " from init, b; }\n"
        for e in (0.03, 0.3, 0.8):
            rows, _, _ = self.run_model(f"const E = {e};\n" + corner, "--until", "30")
            self.assertAlmostEqual(rows[-1]["x"], 0, delta=1e-9)
            self.assertAlmostEqual(rows[-1]["y"], 0, delta=1e-9)
            rows, _, _ = self.run_model(f"const E = {e};\n" + plane, "--until", "10")
            self.assertAlmostEqual(rows[-1]["d"], 0, delta=1e-6)
            self.assertAlmostEqual(rows[-1]["u"], -98.1*math.sin(0.4)*math.cos(0.4), delta=1e-4)

    def test_a_contact_outlasts_what_its_automaton_does_next(self):
        """Balls in a box whose walls are states of one automaton, in any order, or joined in one guard; each
        rests on the floor while it goes on between the walls."""
        walls = {"F": "[y_[i] <= 0] && [v_[i] < 0] { set v_[i] = -0.5*v_[i]; }",
                 "L": "[x_[i] <= 0] && [u_[i] < 0] { set u_[i] = -u_[i]; }",
                 "R": "[x_[i] >= S] && [u_[i] > 0] { set u_[i] = -u_[i]; }"}
        either = {"F": walls["F"],
                  "W": "[x_[i] >= S] && [u_[i] > 0] || [x_[i] <= 0] && [u_[i] < 0] { set u_[i] = -u_[i]; }"}
        kinds = [{k: walls[k] for k in order} for order in itertools.permutations(walls)]
        kinds += [either, dict(reversed(either.items()))]
        variants = itertools.cycle(((1, 1), (1e-9, 2), (1e7, 7), (1, 40), (1e-9, 1)))
        for states, (unit, copies) in zip(kinds*2, variants):
            text = f"const S = {unit};\nfor i = 1:{copies} {{\nx_[i]' = u_[i];  u_[i]' = 0;  x_[i](t0) = 0.3*S;" \
                "  u_[i](t0) = (1 + 0.1*i)*S;\ny_[i]' = v_[i];  v_[i]' = -9*S;  y_[i](t0) = S/i;  v_[i](t0) = 0;\n" \
                "automaton box_[i] {\n" + "".join(f"state {name} {does} from init, {', '.join(states)};\n"
                                                  for name, does in states.items()) + "} }\n"
            rows, _, _ = self.run_model(text, "--until", "6", "--samples", "1", "--event-rows", "none")
            for i in range(1, copies + 1):
                self.assertAlmostEqual(rows[-1][f"y_{i}"]/unit, 0, delta=1e-9)
                self.assertAlmostEqual(rows[-1][f"v_{i}"]/unit, 0, delta=1e-9)
                way = (0.3 + (1 + 0.1*i)*6) % 2
                self.assertAlmostEqual(rows[-1][f"x_{i}"]/unit, min(way, 2 - way), delta=1e-8)

    def test_a_contact_lasts_as_long_as_its_impact_leads_out(self):
        """At 6 a ball at rest is taken to a state with the floor, or to one without."""
        for copies in (1, 2, 7, 40):
            for up, down in (("init, b, up", 0), ("init, b", -4.5*3**2)):
                rows, _, _ = self.run_model(
                    f"for i = 1:{copies} {{ y_[i]' = v_[i];  v_[i]' = -9;  y_[i](t0) = 1;  v_[i](t0) = 0;\n"
                    "automaton a_[i] { state b [y_[i] <= 0] && [v_[i] < 0] { set v_[i] = -0.5*v_[i]; }"
                    f" from {up};  state up {{}} }}\nat 6 {{ goto a_[i].up; }} }}\n",
                    "--until", "9", "--samples", "1", "--event-rows", "none")
                for i in range(1, copies + 1):
                    self.assertAlmostEqual(rows[-1][f"y_{i}"], down, delta=1e-6)

    def test_two_contacts_of_one_automaton(self):
        """A ball comes to rest in a corner whose walls are states of one automaton."""
        for e, pull in itertools.product((0.1, 0.5, 0.8), (2, 9)):
            rows, _, _ = self.run_model(
                f"x' = u;  u' = -{pull};  y' = v;  v' = -9;  x(t0) = 1;  y(t0) = 1;  u(t0) = 0;  v(t0) = 0;\n"
                f"state fx [x <= 0] && [u < 0] {{ set u = -{e}*u; }} from init, fx, fy;\n"
                f"state fy [y <= 0] && [v < 0] {{ set v = -{e}*v; }} from init, fx, fy;\n",
                "--until", "30", "--samples", "1", "--event-rows", "none")
            for name in "xuyv":
                self.assertAlmostEqual(rows[-1][name], 0, delta=1e-9)

    def test_a_gap_that_is_taken_away_is_open(self):
        """Balls at rest are lifted by a reset, or roll over the edge of a table: they fall from there."""
        ball = "y_[i]' = v_[i];  v_[i]' = -9.8*S;  y_[i](t0) = S/i;  v_[i](t0) = 0;\n" \
            "automaton a_[i] { state b [y_[i] <= h_[i]] && [v_[i] < 0] { set v_[i] = -0.5*v_[i]; } from init, b; }\n"
        lifted = "h_[i] = 0;\nat 5 { set y_[i] = 0.2*S; }\n"
        edges = ("x_[i]' = 0.4;  x_[i](t0) = 0;  h_[i] = if(x_[i] < 2, 0, -S);\n",
                 "x_[i]' = 0.4;  x_[i](t0) = 0;  h_[i](t0) = 0;\n"
                 "automaton e_[i] { state off [x_[i] >= 2] { set h_[i] = -S; } from init; }\n")
        for unit, copies in ((1, 1), (1e-9, 2), (1e7, 7), (1, 40)):
            for table, height in (lifted, 0.2), (edges[0], 0), (edges[1], 0):
                rows, records, _ = self.run_model(
                    f"const S = {unit};\nfor i = 1:{copies} {{\n{table}{ball}}}\n", "--until", "5.1", "--samples", "1",
                    "--event-rows", "none")
                self.assertEqual(len([r for r in records if r["kind"] == "slide-out"]), copies)
                for i in range(1, copies + 1):
                    self.assertAlmostEqual(rows[-1][f"y_{i}"]/unit, height - 4.9*0.1**2, delta=1e-8)

    def test_what_is_assigned_stays_where_a_constraint_lets_go(self):
        """A reset meets a constraint that cannot hold it: the contact, the friction or the clutch lets go, and the value
        that was assigned is the one that the motion goes on with."""
        leap = "y_[i]' = v_[i];  y_[i](t0) = 0;  v_[i]' = -9.8*S + N_[i];  v_[i](t0) = 0;\n" \
            "contact b_[i] { gap = y_[i]; force = N_[i]; %s }\n"
        kick = "y_[i]' = v_[i];  y_[i](t0) = 0;  v_[i]' = F_[i];  v_[i](t0) = 0;  w_[i](t0) = 0;\n" \
            "friction f_[i] { velocity = v_[i] - w_[i]; force = F_[i]; kinetic = S; }\n"
        clutch = "y_[i]' = S - M_[i];  2*v_[i]' = M_[i] - 0.5*S;  y_[i](t0) = 0;  v_[i](t0) = 0;  l_[i]: M_[i] = 0;\n" \
            "automaton c_[i] { state on [y_[i] >= v_[i]] { l_[i]: y_[i] = v_[i]; } from init, off;\n" \
            "state off [M_[i] < 0] {} from on; }\n"
        at, by = "at 1 { set %s; }\n", "automaton k_[i] { state kick [time >= 1] { set %s; } from init; }\n"
        cases = [(leap % e, when % "v_[i] = 3*S", 0.6 - 4.9*0.2**2, 3 - 9.8*0.2)
                 for e in ("", "restitution = 0.5;") for when in (at, by)]
        cases += [(kick, when % "v_[i] = 2*S", 0.4 - 0.5*0.2**2, 1.8) for when in (at, by)]
        cases += [(kick, when % "w_[i] = 2*S", 0.5*0.2**2, 0.2) for when in (at, by)]
        cases += [(clutch, when % "v_[i] = 5*S", 0.5/3 + 0.2, 4.95) for when in (at, by)]
        for (model, reset, y, v), (unit, copies) in zip(cases*2, itertools.cycle(((1, 1), (1e-9, 2), (1e7, 7)))):
            rows, records, _ = self.run_model(
                f"const S = {unit};\nfor i = 1:{copies} {{\n{model}{reset}}}\n", "--until", "1.2", "--samples", "1",
                "--event-rows", "none")
            for i in range(1, copies + 1):
                self.assertAlmostEqual(rows[-1][f"y_{i}"]/unit, y, delta=1e-6)
                self.assertAlmostEqual(rows[-1][f"v_{i}"]/unit, v, delta=1e-6)

    def test_contacts_of_one_guard(self):
        """Walls joined by `||`, or given by two transitions to one state, whose resets tell them apart: each closes by
        itself, is struck by itself and ends by itself."""
        resets = "{ set u = if(x <= 1e-6*S && u < 0, -0.5*u, u), v = if(y <= 1e-6*S && v < 0, -0.5*v, v); }"
        x, y = "[x <= 0] && [u < 0]", "[y <= 0] && [v < 0]"
        for states in (f"state f {x} || {y} {resets} from init, f;", f"state f {y} || {x} {resets} from init, f;",
                       f"state f {x} {resets} from init, f;\nstate f {y} from init, f;"):
            for unit, pull in itertools.product((1, 1e-9, 1e7), (2, 9)):
                rows, records, _ = self.run_model(
                    f"const S = {unit};\nx' = u;  u' = a;  y' = v;  v' = -9*S;  x(t0) = S;  y(t0) = S;  u(t0) = 0;"
                    f"  v(t0) = 0;  a(t0) = -{pull}*S;\n{states}\nat 8 {{ set u = -2*S; }}\nat 12 {{ set a = 3*S; }}",
                    "--until", "13", "--samples", "13", "--event-rows", "none")
                self.assertAlmostEqual(rows[7]["x"]/unit, 0, delta=1e-9)
                self.assertAlmostEqual(rows[12]["x"]/unit, 0, delta=1e-9)
                self.assertAlmostEqual(rows[13]["x"]/unit, 1.5, delta=1e-9)
                for name in "yv":
                    self.assertAlmostEqual(rows[13][name]/unit, 0, delta=1e-9)
                closed = [r["atom"] for r in records if r["kind"] == "zeno"]
                self.assertEqual((closed.count(["x <= 0"]), closed.count(["y <= 0"])), (2, 1))

    def test_a_rope_without_restitution(self):
        """Parabolas while it is slack, a pendulum while it is taut, and impacts that leave it slack at once, against
        another integration; gaps are computed from what a constraint kept, and released without a speed."""
        for x, u, v in ((0.4, 2, 1), (0.6, 2, 1), (0.7, 2, 1), (0.8, 1, 2), (0.5, 3, -1)):
            wanted = rope(x, u, v, 5)
            for unit in (1, 1e-9, 1e7):
                rows, records, _ = self.run_model(
                    f"const S = {unit};\nx' = u;  u' = -F*x/r;  y' = v;  v' = -F*y/r - 9.8*S;  r = sqrt(x*x + y*y);\n"
                    f"x(t0) = {x}*S;  y(t0) = 0;  u(t0) = {u}*S;  v(t0) = {v}*S;\n"
                    "contact rope { gap = S - r; force = F; }", "--until", "5", "--samples", "1", "--event-rows", "none")
                for name, value in zip("xyuv", wanted):
                    self.assertAlmostEqual(rows[-1][name]/unit, value, delta=1e-4)
                self.assertTrue(all(r["certified"] for r in records))

    def test_an_impact_that_leaves_at_once(self):
        """The table falls away faster than the body does where they meet: the impact takes the speed, and it flies on."""
        for unit in (1, 1e-9, 1e7):
            rows, records, _ = self.run_model(
                f"const S = {unit};\ny' = v;  y(t0) = 0.6*S;  v' = -S + N;  v(t0) = -1.2*S;\nf = 0.5*S*cos(2*time);\n"
                "contact c { gap = y - f; force = N; }", "--until", "0.2", "--samples", "1", "--event-rows", "none")
            t = next(r["t"] for r in records if r["to"] == "closed")
            y = 0.5*math.cos(2*t) - math.sin(2*t)*(0.2 - t) - 0.5*(0.2 - t)**2
            self.assertAlmostEqual(0.6 - 1.2*t - 0.5*t*t, 0.5*math.cos(2*t), delta=1e-9)
            self.assertAlmostEqual(rows[-1]["y"]/unit, y, delta=1e-6)

    def test_bodies_that_rest_on_each_other(self):
        # two balls on each other and on the floor; a rope between a mass on the floor and one that hangs
        stack = "y1' = v1;  y2' = v2;  v1' = -9.81;  v2' = -9.81;  y1(t0) = 1;  y2(t0) = 2;  v1(t0) = 0;  v2(t0) = 0;\n" \
            "automaton f { state b [y1 <= 0] && noEvent[v1 < 0] { set v1 = -e*v1; } from init, b; }\n" \
            "automaton p { state b [y2 - y1 <= 0.5] && noEvent[v2 < v1] {\n" \
            "set v1 = (v1 + m*v2 - m*e*(v1 - v2))/(1 + m), v2 = (v1 + m*v2 + e*(v1 - v2))/(1 + m); } from init, b; }\n"
        rope = stack.replace("y2(t0) = 2", "y2(t0) = 0.99").replace("y2 - y1 <= 0.5", "y1 + y2 <= 1.9") \
            .replace("v2 < v1]", "v1 + v2 < 0]") \
            .replace("v1 = (v1 + m*v2 - m*e*(v1 - v2))/(1 + m)", "v1 = v1 - (1 + e)*(v1 + v2)*m/(1 + m)") \
            .replace("v2 = (v1 + m*v2 + e*(v1 - v2))/(1 + m)", "v2 = v2 - (1 + e)*(v1 + v2)/(1 + m)")
        for e in (0.1, 0.5, 0.8):
            for m in (0.1, 0.5, 1, 10):
                given = f"const e = {e}, m = {m};\n"
                rows, records, _ = self.run_model(given + stack, "--until", "30")
                self.assertLess(len(records), 10000)
                self.assertAlmostEqual(rows[-1]["y1"], 0, delta=1e-9)
                self.assertAlmostEqual(rows[-1]["y2"], 0.5, delta=1e-9)
                if m >= 1:
                    continue  # the mass that hangs would go down
                rows, records, _ = self.run_model(given + rope, "--until", "30")
                self.assertLess(len(records), 10000)
                self.assertAlmostEqual(rows[-1]["y1"], 0, delta=1e-9)
                self.assertAlmostEqual(rows[-1]["y2"], 1.9, delta=1e-9)

    def test_lift_off_inside_a_step(self):
        # at rest nothing limits the steps but the pull that comes
        ball = "y' = v;  v' = PULL - 9.81;  y(t0) = 1;  v(t0) = 0;\n" \
            "automaton a { state b [y <= 0] && noEvent[v < 0] { set v = -0.5*v; } from init, b; }\n"
        smooth = ball.replace("PULL", "400*exp(-((time - T)/0.01)^2)")
        for t in (10, 57.123, 91.7):
            rows, records, _ = self.run_model(smooth.replace("T)", f"{t})"), "--until", f"{t + 0.05}")
            start = t - 0.01*math.sqrt(math.log(400/9.81))
            ends = [r["t"] for r in records if r["kind"] == "slide-out"]
            self.assertEqual(len(ends), 1)
            self.assertAlmostEqual(ends[0], start, delta=1e-9)
            part = 400*0.01*math.sqrt(math.pi)/2*(math.erf(5) + math.erf(math.sqrt(math.log(400/9.81))))
            self.assertAlmostEqual(rows[-1]["v"], part - 9.81*(t + 0.05 - start), delta=1e-4)
        rows, _, _ = self.run_model(ball.replace("PULL", "if(time > 10 && time < 10.1, 400, 0)"), "--until", "10.1")
        self.assertAlmostEqual(rows[-1]["v"], 39.019, delta=1e-6)

    def test_what_is_computed_from_rates_sees_the_reaction(self):
        rows, _, _ = self.run_model(
            "y' = v;  v' = -9.81;  y(t0) = 1;  v(t0) = 0;  a = v';  F = 2*a + 19.62;  q' = a;  q(t0) = 0;\n"
            "p' = 3*q' + 1;  p(t0) = 0;\n"
            "automaton b { state hit [y <= 0] && noEvent[v < 0] { set v = -0.5*v; } from init, hit; }\n",
            "--until", "3")
        rest = math.sqrt(2/9.81)*3
        self.assertEqual((rows[-1]["a"], rows[-1]["F"]), (0, 19.62))
        self.assertAlmostEqual(rows[-1]["q"], -9.81*rest, delta=1e-3)
        self.assertAlmostEqual(rows[-1]["p"], 3*rows[-1]["q"] + 3, delta=1e-9)

    def test_what_else_resets_change_goes_to_its_limit(self):
        rows, _, _ = self.run_model(
            "x' = u;  y' = v;  u' = 0;  v' = -9.81;  x(t0) = 0;  y(t0) = 1;  u(t0) = 3;  v(t0) = 0;  n(t0) = 0;\n"
            "automaton a { state b [y <= 0] && noEvent[v < 0] { set v = -0.5*v, y = 0, u = 0.9*u, n = n + 1; }"
            " from init, b; }\n", "--until", "20")
        self.assertEqual((rows[-1]["y"], rows[-1]["v"]), (0, 0))
        self.assertAlmostEqual(rows[-1]["u"], 0, delta=1e-12)
        self.assertLess(rows[-1]["n"], 100)

    def test_a_hysteresis_that_vanishes(self):
        # switches ever faster, and slides from where it has; up and down at different speeds, several of them
        for n, up, down, unit, hour, width in (
                (1, 2.1, 1.9, 1, 1, "max(1 - s, 0)"), (1, 3.7, 0.9, 1e-9, 1e5, "if(s < 1, 1 - s, 0)"),
                (3, 1.3, 2.2, 3e7, 1e-4, "max(1 - s, 0)"), (2, 4.1, 4.3, 1, 1, "2*max(1 - s, 0)")):
            text = f"s = time/{hour};  w = {unit}*{width};\n" + "".join(
                f"x{i}' = if(r{i}.up, {up}, -{down})*{unit/hour};  x{i}(t0) = 0;  q{i}' = if(r{i}.up, 1, 0)/{hour};  q{i}(t0) = 0;\n"
                f"automaton r{i} {{ state up [x{i} <= -w] {{}} from init, down;  state down [x{i} >= w] {{}} from up; }}\n"
                for i in range(n))
            rows, records, _ = self.run_model(text, "--until", str(3*hour), "--out", "*")
            self.assertIn("slide-in", {r["kind"] for r in records})
            for i in range(n):
                self.assertLess(abs(rows[-1][f"x{i}"]), 1e-6*unit)
                # x = 0 at both ends: the time in state up has the share that balances the speeds
                self.assertAlmostEqual(rows[-1][f"q{i}"], 3*down/(up + down), delta=1e-5)

    def test_resets_that_accumulate_and_are_no_impacts_are_said(self):
        """A clock that ticks ever faster closes nothing, however it is written."""
        for tick in ("state s [x >= w] { %s } from init, s;", "if (x >= w) { %s }"):
            self.write("m.lisma", "x' = 1;  x(t0) = 0;  w(t0) = 1;\n" + tick % "set x = 0; set w = 0.5*w;")
            self.fails(3, "run", "m.lisma", "-q", "-o", "m.csv", "--until", "8", says=["E0807", "ever faster"])

    def test_a_cradle_passes_impacts_on(self):
        # balls that touch without a force between them, from the start and after each swing
        for n, unit in (3, 1), (5, 1e-9), (8, 3e7):
            rows, _, _ = self.run_model(
                f"for i = 1:{n} {{ x_[i]' = v_[i];  v_[i]' = -x_[i];  v_[i](t0) = 0; }}\n"
                f"x_1(t0) = -{unit};  for i = 2:{n} {{ x_[i](t0) = 0; }}\n"
                f"for i = 1:{n - 1} {{ automaton c_[i] {{ state hit [x_[i+1] <= x_[i]]"
                " { set v_[i] = v_[i+1], v_[i+1] = v_[i]; } from init, hit; } }\n", "--until", "6")
            end = [rows[-1][f"x_{i}"]/unit for i in range(1, n + 1)]
            self.assertAlmostEqual(end[0], -math.cos(6), delta=2e-5)
            self.assertLess(max(abs(x) for x in end[1:]), 1e-6)

    def test_a_rope_that_swings_round(self):
        """A weight on a rope whose impacts have come to an end swings from one side to the other: it stays on the circle,
        and its energy stays."""
        for share, speed, unit in itertools.product((1, 1.3), (0, -1), (1, 1e-9, 1e6)):
            rows, _, _ = self.run_model(
                f"const S = {unit};\nx' = u;  y' = w;  u' = 0;  w' = -9.81*S;\n"
                f"x(t0) = -0.95*S;  y(t0) = -0.1*S;  u(t0) = 0;  w(t0) = {speed}*S;\n"
                f"automaton rope {{ state h [x^2 + y^2 >= S^2] && [x*u + y*w > 0] {{\n"
                f"  set u = u - {share}*(x*u + y*w)*x/(x^2 + y^2), w = w - {share}*(x*u + y*w)*y/(x^2 + y^2); }} from init, h; }}\n",
                "--until", "4")
            taut = [row for row in rows if row["time"] > 0.7]
            for row in taut:
                self.assertAlmostEqual(math.hypot(row["x"], row["y"])/unit, 1, delta=1e-5)
            energy = [(row["u"]**2 + row["w"]**2)/2/unit**2 + 9.81*row["y"]/unit for row in taut]
            self.assertLess(max(energy) - min(energy), 1e-3)

    def test_resets_that_jump(self):
        """Impacts that rub: the reaction follows sign(u) as long as the body slides on the floor, also through zero.
        Where it would have to stick, no direction follows from the resets, and the run says so."""
        model = ("const S = %r;\ny' = v;  v' = -9.81*S;  x' = u;  u' = %r*S;\n"
                 "y(t0) = 0.1*S;  v(t0) = 0;  x(t0) = 0;  u(t0) = %r*S;\n"
                 "automaton b { state h [y <= 0] && [v < 0] { set v = -0.5*v, u = %s; } from init, h; }\n")
        forms = ("u + 0.3*v*sign(u)", "if(u > 0, u + 0.3*v, u - 0.3*v)", "sign(u)*max(0, abs(u) + 0.3*v)")
        flight = math.sqrt(2*0.1/9.81)
        for form, unit in itertools.product(forms, (1, 1e-9, 1e6)):
            for push, u in ((1, 6), (-1, -6), (3, 2)):
                rows, _, _ = self.run_model(model % (unit, push, u, form), "--until", "2", "--samples", "2")
                slows = math.copysign(0.2*9.81, u)
                self.assertAlmostEqual(rows[-1]["u"]/unit, u + (push - slows)*2, delta=1e-5)
            # where it is pushed back it turns round, and slides the other way
            rows, _, _ = self.run_model(model % (unit, -4, 3, form), "--until", "2", "--samples", "2")
            turns = 3/(4 + 0.2*9.81)
            if "max" not in form:
                self.assertAlmostEqual(rows[-1]["u"]/unit, (0.2*9.81 - 4)*(2 - turns), delta=1e-4)
            self.write("model.lisma", model % (unit, 0.5, 3, form))
            self.fails(3, "run", "model.lisma", "-q", "--until", "4", says="E0807")
        self.assertGreater(turns, flight)

    def test_a_chain_of_a_hundred_blocks(self):
        rows, records, _ = self.run_model(CHAIN, "--samples", "10")
        moved = [i for i in range(1, 101) if rows[-1][f"x_{i}"] != 0]
        self.assertGreater(len(moved), 3)
        self.assertLess(len(moved), 60)
        self.assertTrue(any(r["class"] == "mythical" or r["to"] == "stick" for r in records))
        for i in range(1, 101):
            self.assertLessEqual(abs(rows[-1][f"F_{i}"]), 1.2 + 1e-6)


if __name__ == "__main__":
    unittest.main()
