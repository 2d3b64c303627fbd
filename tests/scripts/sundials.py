#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Methods of SUNDIALS on whole runs: stiff problems against references, modes of higher index, events of the
gallery, sliding and contacts. Skipped where it is not built in."""
import glob
import math
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

METHODS = ["bdf", "adams", "ida"]
STIFF = ["bdf", "ida"]

# the diode of script.stiff: the current is the root of an equation
DIODE = """
const R = 100, C = 1e-6, Is = 1e-12, Ut = 0.025;
e = sin(2 * pi * 50 * time);
C * v' = i - v / 1e5;  v(t0) = 0;
i = Is * (exp((e - v - R * i) / Ut) - 1);
i(t0) ~ 0;
experiment { end = 0.04; every = 0.001; rtol = 1e-8; atol = 1e-12; }
"""

SLIDES = """
x' = y;                x(t0) = 1;
y' = u - 0.1 * y;      y(t0) = 0;
u = if(x + y > 0, -2, 2);
experiment { end = 4; every = 0.1; rtol = 1e-8; }
"""

# a spike of a thousandth between two samples of the sine: no step may pass over it
SPIKE = """
x' = cos(time);  x(t0) = 0;
y' = 0;          y(t0) = 0;
state seen [x > 0.99999] { y(t0) = y + 1; } from init;
experiment { end = 3; }
"""


def gallery(*parts):
    return os.path.join(saltus_run.SOURCE, "models", *parts)


class Sundials(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="saltus-test-")
        self.addCleanup(self.folder.cleanup)

    def run_model(self, path, *options):
        run = saltus_run.run(path, *options)
        self.assertEqual(run.status, 0, run.errors)
        return run

    def run_text(self, text, *options):
        path = os.path.join(self.folder.name, "m.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.run_model(path, *options)

    def test_stiff_problems(self):
        """HIRES (Mazzia & Magherini's reference), Robertson, Van der Pol, as closely as the gallery asks."""
        for method in STIFF:
            with self.subTest(method=method):
                run = self.run_model(gallery("stiff", "hires.lisma"), "--method", method, "--rtol", "1e-8",
                                     "--atol", "1e-12", "--until", "321.8122")
                reference = saltus_run.run(gallery("stiff", "hires.lisma"), "--method", "rodas5",
                                           "--rtol", "1e-10", "--atol", "1e-14", "--until", "321.8122")
                self.compare(run, reference, 1e-5)
                for model in ("robertson", "robertson_dae", "van_der_pol", "rc_ladder"):
                    path = gallery("stiff", model + ".lisma")
                    run = self.run_model(path, "--method", method, "--samples", "3")
                    reference = self.run_model(path, "--method", "rodas", "--samples", "3")
                    self.compare(run, reference, 2e-4)

    def compare(self, run, reference, tolerance):
        self.assertEqual(run.columns, reference.columns)
        for name, value, want in zip(run.columns, run.rows[-1], reference.rows[-1]):
            if isinstance(want, float):
                self.assertAlmostEqual(value, want, delta=tolerance * max(1.0, abs(want)), msg=name)

    def test_blocks_are_algebraic_unknowns(self):
        reference = self.run_text(DIODE, "--method", "dop853", "--rtol", "1e-10", "--atol", "1e-14")
        for method in METHODS:
            run = self.run_text(DIODE, "--method", method)
            for column in ("v", "i"):
                scale = max(abs(v) for v in reference.column(column))
                worst = max(abs(a - b) for a, b in zip(run.column(column), reference.column(column)))
                self.assertLess(worst, 2e-5 * scale, f"{method}: {column}")

    def test_constraints_are_kept(self):
        """A pendulum of index 3: the length holds at every row though the method knows nothing of it."""
        for method in METHODS:
            run = self.run_model(gallery("dae", "pendulum.lisma"), "--method", method, "--rtol", "1e-7")
            for x, y in zip(run.column("x"), run.column("y")):
                self.assertAlmostEqual(math.hypot(x, y), 5, delta=1e-8)

    def test_events_of_the_gallery(self):
        """As many events of the same kinds, at the same times within what the tolerance allows."""
        models = ("thermostat", "ball_bilateral", "ball_unilateral", "tank", "sawtooth", "traffic_light",
                  "dead_zone", "relay", "belt", "cradle", "rectifier", "stick_slip",
                  "simultaneous", "stiff/thermostat", "dae/fragile_pendulum", "dae/rope", "dae/clutch_ideal")
        for model in models:
            path = gallery(model + ".lisma")
            reference = self.run_model(path)
            for method in METHODS:
                with self.subTest(model=model, method=method):
                    run = self.run_model(path, "--method", method, "--rtol", "1e-8", "--atol", "1e-10")
                    self.assertEqual([[r["kind"] for r in i.records] for i in run.instants()],
                                     [[r["kind"] for r in i.records] for i in reference.instants()])
                    for mine, other in zip(run.instants(), reference.instants()):
                        self.assertAlmostEqual(mine.t, other.t, delta=2e-4 * max(1.0, other.t))

    def test_motion_along_a_surface(self):
        reference = self.run_text(SLIDES, "--method", "dp54", "--rtol", "1e-9")
        for method in METHODS:
            run = self.run_text(SLIDES, "--method", method)
            self.assertEqual([[r["kind"] for r in i.records] for i in run.instants()],
                             [[r["kind"] for r in i.records] for i in reference.instants()])
            for column in ("x", "y"):
                self.assertAlmostEqual(run.last(column), reference.last(column), delta=2e-5)

    def test_detection_is_certified(self):
        for method in METHODS:
            run = self.run_text(SPIKE, "--method", method)
            times = [i.t for i in run.instants()]
            self.assertEqual(len(times), 1, method)
            self.assertAlmostEqual(times[0], math.asin(0.99999), delta=5e-3)
            self.assertTrue(all(r["certified"] for i in run.instants() for r in i.records))

    def test_rows_do_not_touch_the_motion(self):
        for method in METHODS:
            path = gallery("thermostat.lisma")
            coarse = saltus_run.run(path, "--method", method, "--samples", "3")
            fine = saltus_run.run(path, "--method", method, "--samples", "1001")
            self.assertEqual(coarse.rows[-1], fine.rows[-1])
            self.assertEqual([i.t for i in coarse.instants()], [i.t for i in fine.instants()])

    def test_the_gallery_is_there(self):
        self.assertGreater(len(glob.glob(gallery("stiff", "*.lisma"))), 5)

    def test_impacts_without_speed_close_the_contact(self):
        """Errors of these methods leave a ball a hair inside its table, where impacts do not shrink any more."""
        exact = self.run_model(gallery("vibrating_table.lisma"), "--until", "1")
        wanted = [e["t"] for e in exact.records if e["kind"] == "slide-out" and e["t"] > 0.4]
        self.assertEqual(len(wanted), 3)
        for method in METHODS:
            run = self.run_model(gallery("vibrating_table.lisma"), "--method", method, "--until", "1")
            ends = [e["t"] for e in run.records if e["kind"] == "slide-out" and e["t"] > 0.4]
            self.assertLess(len(run.records), 100, method)
            self.assertEqual(len(ends), len(wanted), method)
            for a, b in zip(ends, wanted):
                self.assertAlmostEqual(a, b, 4, method)



if __name__ == "__main__":
    if "(SUNDIALS)" not in saltus_run.command("methods")[1]:
        print("SUNDIALS is not built in")
        sys.exit(77)
    unittest.main()
