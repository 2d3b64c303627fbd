#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stiff methods on whole runs: every method on every kind of implicit mode, blocks as algebraic rows,
sliding and contacts, the choice of `auto`, and results that do not depend on how they are asked for."""
import math
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

STIFF = ["rodas3", "rodas", "rodas5"]

# a diode in series with a resistor charges a capacitor: i is the root of an equation, fast or slow
DIODE = """
const R = 100, C = 1e-6, Is = 1e-12, Ut = 0.025;
e = sin(2 * pi * 50 * time);
C * v' = i - v / 1e5;  v(t0) = 0;
i = Is * (exp((e - v - R * i) / Ut) - 1);
i(t0) ~ 0;
experiment { end = 0.04; every = 0.001; rtol = 1e-7; atol = 1e-12; }
"""

# a relay with a fast actuator that slides along x + y = 0
SLIDES = """
x' = y;                x(t0) = 1;
y' = u - 0.1 * y;      y(t0) = 0;
f' = (y - f) / 1e-4;   f(t0) = 0;
u = if(x + y > 0, -2, 2);
experiment { end = 4; every = 0.1; }
"""

OREGONATOR = """
y1' = 77.27 * (y2 + y1 * (1 - 8.375e-6 * y1 - y2));  y1(t0) = 1;
y2' = (y3 - (1 + y1) * y2) / 77.27;                  y2(t0) = 2;
y3' = 0.161 * (y1 - y3);                             y3(t0) = 3;
experiment { end = 360; }
"""
OFF_THE_CURVE = """
y' = -1e3 * (y - cos(time)) - sin(time);
y(t0) = 2;
experiment { end = 10; }
"""
FORCED = """
x' = -1e6 * (x - cos(time)) - sin(time);  x(t0) = 1;
experiment { end = 20; every = 0.5; }
"""

# cells that time drives: derivatives with respect to time stand beside the entries of the Jacobian
DRIVEN = """
const N = 60, k = 400;
x[0] = 0; x[N+1] = sin(3 * time);
for i = 1:N {
  x[i]' = k * (x[i-1] - 2 * x[i] + x[i+1]) - x[i]^3 + cos(time + 0.1 * i);
  x[i](t0) = 0;
}
experiment { end = 2; every = 0.5; }
"""

# cells that all read the same means; the texts differ in how these are written
MEAN_CELLS = """
const N = 80, k = 700;
x[0] = 0; x[N+1] = 1;
for i = 1:N {
  x[i]' = k * (x[i-1] - 2 * x[i] + x[i+1]) - x[i]^3 - %s;
  x[i](t0) = mod(0.618 * i, 1);
}
%s
experiment { end = 2; every = 0.5; }
"""
MEANS = [
    ("sum", "3 * (m - sin(time)) * x[i]", "m = sum(i = 1:N, x[i]) / N;"),
    ("inline", "3 * (sum(j = 1:N, x[j]) / N - sin(time)) * x[i]", ""),
    ("implicit", "3 * (m - sin(time)) * x[i]", "N * m = sum(i = 1:N, x[i]);"),
    ("shifted by time", "3 * m * x[i]", "m = sum(i = 1:N, x[i]) / N - sin(time);"),
    ("one cell after another", "3 * (s[N] / N - sin(time)) * x[i]",
     "s[0] = 0; for i = 1:N { s[i] = s[i-1] + x[i]; }"),
    ("two halves", "d[i] * (a + b - sin(time))",
     "a = sum(i = 1:40, x[i]) / N; b = sum(i = 41:80, x[i]) / N; for i = 1:N { d[i] = 3 * x[i]; }"),
    ("chosen", "3 * if(time > 1, m - sin(time), m - sin(time)) * x[i]", "m = sum(i = 1:N, x[i]) / N;"),
    ("one through another", "3 * (sqrt(q) - sin(time)) * x[i]", "m = sum(i = 1:N, x[i]) / N; q = m^2;"),
]

EASY = """
x' = y;   x(t0) = 1;
y' = -x;  y(t0) = 0;
experiment { end = 100; }
"""

# a long plant under a sampled controller: the samples, not the motion, say how long a step is;
# from t = {silent} on the controller sleeps
SAMPLED = """
const n = 40, k = 4;
for i = 2:n-1 {{ T[i]' = k * (T[i-1] - 2 * T[i] + T[i+1]);  T[i](t0) = 0; }}
T[1]' = k * (u - 2 * T[1] + T[2]);  T[1](t0) = 0;
T[n]' = k * (T[n-1] - T[n]);        T[n](t0) = 0;
u(t0) = 0;  z(t0) = 0;
at 0 each 0.01 repeat {times} {{ set z = z + 0.01 * (1 - T[5]);  set u = 2 * (1 - T[5]) + z; }}
experiment {{ end = 10; every = 0.5; }}
"""


def methods():
    status, out, errors = saltus_run.command("methods")
    assert status == 0, errors
    for line in out.splitlines()[1:]:
        words = line.split()
        if words[1].isdigit():
            yield words[0], int(words[1]), words[4] == "adaptive"


def gallery(*parts):
    return os.path.join(saltus_run.SOURCE, "models", *parts)


class Stiff(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="saltus-test-")
        self.addCleanup(self.folder.cleanup)

    def run_text(self, text, *options):
        path = os.path.join(self.folder.name, "m.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        run = saltus_run.run(path, *options)
        self.assertEqual(run.status, 0, run.errors)
        return run

    def test_every_method_runs_every_implicit_mode(self):
        """Fragile pendulum, pendulum of index 3, 2 and 1, forced voltage; by order of the method."""
        steps = {1: "1e-4", 4: "0.005"}
        loose = {1: 2e-2, 3: 1e-5}
        for name, order, adaptive in methods():
            more = ["--rtol", "1e-8"] if adaptive else ["--step", steps[order]]
            tolerance = loose.get(order, 2e-6)
            with self.subTest(method=name):
                for model in ("pendulum", "pendulum_index2", "pendulum_index1"):
                    run = saltus_run.run(gallery("dae", model + ".lisma"), "--method", name,
                                         "--until", "5", "--every", "1", *more)
                    self.assertEqual(run.status, 0, run.errors)
                    self.assertAlmostEqual(run.last("x"), 3.8356087233089524, delta=tolerance)
                    radius = math.hypot(run.last("x"), run.last("y"))
                    if model == "pendulum":
                        self.assertAlmostEqual(radius, 5, delta=1e-10 * 5)
                run = saltus_run.run(gallery("dae", "fragile_pendulum.lisma"), "--method", name, *more)
                self.assertEqual(run.status, 0, run.errors)
                broken = [i.t for i in run.instants()
                          if any(r.get("to") == "Falling" for r in i.records)]
                self.assertEqual(len(broken), 1)
                self.assertAlmostEqual(broken[0], 1.50374032, delta=max(tolerance, 1e-6))
                run = saltus_run.run(gallery("dae", "capacitor.lisma"), "--method", name, *more)
                self.assertEqual(run.status, 0, run.errors)
                self.assertAlmostEqual(run.last("i"), 1.0806046117362795, delta=1e-7)

    def test_blocks_are_algebraic_rows(self):
        reference = self.run_text(DIODE, "--method", "dop853", "--rtol", "1e-10", "--atol", "1e-14")
        for name in STIFF:
            run = self.run_text(DIODE, "--method", name)
            for column in ("v", "i"):
                scale = max(abs(v) for v in reference.column(column))
                worst = max(abs(a - b) for a, b in zip(run.column(column), reference.column(column)))
                self.assertLess(worst, 2e-5 * scale, f"{name}: {column}")

    def test_rows_of_a_ring_choose_their_pivots(self):
        """x' = -x by a ring of equations that elimination in the wrong direction makes grow by 3^60."""
        ring = ("x' = -z_1; x(t0) = 1;\nfor i = 1:59 { z_[i+1] = 3*z_[i] - 2*x; z_[i](t0) ~ 1; }\n"
                "z_60(t0) ~ 1;\n2*z_60 = sin(z_1 - x) + z_1 + x;\nexperiment { end = 1; every = 0.5; }\n")
        for name, _, adaptive in methods():
            if not adaptive:
                continue
            run = self.run_text(ring, "--method", name)
            for column in ("x", "z_1", "z_30", "z_60"):
                self.assertAlmostEqual(run.last(column), math.exp(-1), delta=2e-5, msg=name)

    def test_many_cells_driven_by_time(self):
        reference = self.run_text(DRIVEN, "--method", "dop853", "--rtol", "1e-9", "--atol", "1e-11")
        for name in STIFF:
            run = self.run_text(DRIVEN, "--method", name)
            for row, other in zip(run.rows, reference.rows):
                for value, want in zip(row, other):
                    self.assertAlmostEqual(value, want, delta=2e-5, msg=name)

    def test_means_in_every_equation(self):
        """Stiff cells that read means of all, in several texts: one motion, and no full matrix."""
        reference = None
        for name, reads, defines in MEANS:
            text = MEAN_CELLS % (reads, defines)
            if reference is None:
                reference = self.run_text(text, "--method", "dop853", "--rtol", "1e-9", "--atol", "1e-11")
            for method in ("rodas", "auto"):
                run = self.run_text(text, "--method", method)
                for column in ("x1", "x40", "x80"):
                    self.assertAlmostEqual(run.last(column), reference.last(column), delta=2e-5, msg=name)

    def test_motion_along_a_surface(self):
        reference = self.run_text(SLIDES, "--method", "dp54", "--rtol", "1e-9")
        for name in STIFF:
            run = self.run_text(SLIDES, "--method", name)
            kinds = [[r["kind"] for r in i.records] for i in run.instants()]
            self.assertEqual(kinds, [[r["kind"] for r in i.records] for i in reference.instants()])
            for column in ("x", "y", "f"):
                self.assertAlmostEqual(run.last(column), reference.last(column), delta=2e-5)

    def summary(self, text, *options):
        path = os.path.join(self.folder.name, "s.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        status, _, errors = saltus_run.command("run", path, "-o", os.path.join(self.folder.name, "s.csv"),
                                               *options)
        self.assertEqual(status, 0, errors)
        return errors

    def test_auto_sees_stiffness_where_steps_settle(self):
        """The error of the fast component holds the step inside the stability interval: it does not grow."""
        for text in (OREGONATOR, OFF_THE_CURVE):
            steps = int(self.summary(text).split("steps")[1].split()[0])
            best = int(self.summary(text, "--method", "rodas5").split("steps")[1].split()[0])
            self.assertLess(steps, 2 * best)

    def test_auto_says_what_it_does(self):
        run = self.run_text(FORCED)
        self.assertIn("method rodas5: stiff from t = ", self.summary(FORCED))
        for t, x in zip(run.column("time"), run.column("x")):
            self.assertAlmostEqual(x, math.cos(t), delta=1e-5)
        self.assertIn("method dp54: no sign of stiffness", self.summary(EASY, "--until", "5"))
        with open(gallery("stiff", "van_der_pol.lisma"), encoding="utf-8") as file:
            self.assertIn("switches between dp54 and rodas5", self.summary(file.read()))
        # the first method is the explicit one to the bit
        few = ("--until", "5")
        self.assertEqual(self.run_text(EASY, *few).rows, self.run_text(EASY, "--method", "dp54", *few).rows)

    def test_the_larger_pair_where_it_goes_farther(self):
        def evaluations(errors):
            return int(re.search(r"evaluations +([0-9]+)", errors).group(1))

        text = "x' = v; v' = -x; x(t0) = 1; v(t0) = 0; experiment { end = 400; }"
        summary = self.summary(text)
        self.assertIn("method dop853: no sign of stiffness; dop853 goes farther, from t = ", summary)
        self.assertLess(evaluations(summary), 0.6 * evaluations(self.summary(text, "--method", "dp54")))
        self.assertAlmostEqual(self.run_text(text).last("x"), math.cos(400), delta=1e-4)
        # events end it, and where they come often it is not tried
        often = text + " at 0 each 5 repeat 100 { set x = 1.001 * x; }"
        self.assertNotIn("dop853", self.summary(often))

    def test_the_smaller_pair_where_events_limit_the_steps(self):
        def evaluations(errors):
            return int(re.search(r"evaluations +([0-9]+)", errors).group(1))

        text = SAMPLED.format(silent=10, times="*")
        summary = self.summary(text)
        self.assertIn("method bs32: no sign of stiffness; bs32 where events limit the steps, from t = ", summary)
        larger = self.summary(text, "--method", "dp54")
        self.assertLess(evaluations(summary), 0.65 * evaluations(larger))
        # a rod that has always been at zero, heated late: no first step is so short that its far cells tell nothing
        late = self.run_text(text.replace("at 0 each", "at 5 each"), "--until", "15")
        self.assertAlmostEqual(late.last("T5"), self.run_text(text).last("T5"), delta=1e-5)
        reference = self.run_text(text, "--method", "dop853", "--rtol", "1e-10", "--atol", "1e-12")
        self.assertAlmostEqual(self.run_text(text).last("T5"), reference.last("T5"), delta=1e-6)
        # back again where they do not
        text = SAMPLED.format(silent=5, times="500")
        self.assertIn("method dp54: no sign of stiffness; bs32 where events", self.summary(text))
        reference = self.run_text(text, "--method", "dop853", "--rtol", "1e-10", "--atol", "1e-12")
        self.assertAlmostEqual(self.run_text(text).last("T5"), reference.last("T5"), delta=1e-6)

    def test_rows_do_not_touch_the_motion(self):
        for method in ("rodas", "auto"):
            for model in ("van_der_pol", "thermostat"):
                path = gallery("stiff", model + ".lisma")
                coarse = saltus_run.run(path, "--method", method, "--samples", "3")
                fine = saltus_run.run(path, "--method", method, "--samples", "1001")
                self.assertEqual(coarse.rows[-1], fine.rows[-1])
                self.assertEqual([i.t for i in coarse.instants()], [i.t for i in fine.instants()])


if __name__ == "__main__":
    unittest.main()
