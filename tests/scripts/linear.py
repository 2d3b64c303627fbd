#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus steady and linearize: closed forms, random systems whose eigenvalues are known, bad input."""
import cmath
import csv
import io
import math
import os
import random
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class Linear(cli_case.CliCase):
    def matrices(self, command, text, *options):
        self.write("m.lisma", text)
        result = self.good(command, "m.lisma", *options, "-o", "-")
        out = {}
        for row in csv.DictReader(io.StringIO(result.out)):
            out.setdefault(row["matrix"], {})[int(row["row"]) - 1, int(row["column"]) - 1] = float(row["value"])
        return out

    def test_oscillator_in_units_from_small_to_large(self):
        for unit in (1e-9, 1.0, 1e9):
            m, k, c, f = 2*unit, 50*unit, 0.4*unit, 3*unit
            text = (f"const m = {m!r}, k = {k!r}, c = {c!r}, F = {f!r};\n"
                    "x'' = (F - k*x - c*x')/m; x(t0) = 0; x'(t0) = 0;\ny = 2*x + F;\n")
            got = self.matrices("linearize", text, "--inputs", "F,k", "--outputs", "y,x'")
            self.assertAlmostEqual(got["A"][1, 0], -25, delta=1e-12)
            self.assertAlmostEqual(got["A"][1, 1], -0.2, delta=1e-14)
            self.assertAlmostEqual(got["B"][1, 0]*m, 1, delta=1e-14)
            self.assertEqual((got["C"][0, 0], got["C"][1, 1], got["D"][0, 0]), (2, 1, 1))
            self.assertAlmostEqual(got["eigenvalue"][0, 0], -0.1, delta=1e-13)
            self.assertAlmostEqual(abs(got["eigenvalue"][0, 1]), math.sqrt(25 - 0.01), delta=1e-12)
            got = self.matrices("steady", text)
            self.assertAlmostEqual(got["x"][0, 0], f/k, delta=1e-14)

    def test_constrained_pendulum(self):
        # index 3 in x and y: the frequency of the pendulum, and no eigenvalues of what is held; units from small to large
        for unit in (1e-3, 1.0, 1e3):
            length, c = 2*unit, 0.3
            text = (f"const L = {length!r}, c = {c!r}, F = 0, grav = {9.81*unit!r};\n"
                    "x'' = -lam*x - c*x' + F; y'' = -lam*y - c*y' - grav; x^2 + y^2 = L^2;\n"
                    f"x(t0) = {0.8*unit!r}; y(t0) = {-math.sqrt(4 - 0.64)*unit!r}; x'(t0) = 0; y'(t0) = 0;\nexperiment {{ end = 1; }}\n")
            got = self.matrices("steady", text)
            values = sorted(got["x"].values())
            self.assertAlmostEqual(values[0]/length, -1, delta=1e-12)
            self.assertEqual(len(got["eigenvalue"]), 4)  # two numbers with two parts
            w = math.sqrt(9.81/2 - c*c/4)
            self.assertAlmostEqual(got["eigenvalue"][0, 0], -c/2, delta=1e-9)
            self.assertAlmostEqual(abs(got["eigenvalue"][0, 1]), w, delta=1e-9)
            self.assertIn("stable equilibrium", self.good("steady", "m.lisma").out)
        bad = self.fails(3, "linearize", "m.lisma", "--inputs", "L", "--outputs", "x")
        self.assertIn("move no constraint", bad.err)
        # by a force at rest the pendulum is a spring of 9.81/L
        start = text.split("x(t0)")[0] + f"x(t0) = 0; y(t0) = {-length!r}; x'(t0) = 0; y'(t0) = 0;\nexperiment {{ end = 1; }}\n"
        self.write("m.lisma", start)
        self.good("linearize", "m.lisma", "--inputs", "F", "--outputs", "x", "--response", "0.5:5:3", "-o", "r.csv", "-q")
        with open(self.path("r.csv"), encoding="utf-8") as f:
            for row in csv.DictReader(f):
                omega = float(row["omega"])
                expected = 1/(9.81/2 - omega*omega + 1j*omega*c)
                self.assertAlmostEqual(float(row["real"]), expected.real, delta=1e-9)
                self.assertAlmostEqual(float(row["imaginary"]), expected.imag, delta=1e-9)

    def test_sliding(self):
        # along x + y = 0 the flow is the mixture that keeps it: x' = -x + p, one eigenvalue of the three is left of two states
        text = ("const p = 2;\nx' = -x + p + u; x(t0) = 1; y' = x - p - 3*u + u; y(t0) = -1;\nz' = y - 2*z; z(t0) = 0;\n"
                "u = if(x + y > 0, 1, -1);\nexperiment { end = 5; }\n")
        # x' + y' = -u: u is 0 on the surface, so x' = p - x there, z follows -x
        got = self.matrices("steady", text, "--at", "0.5")
        self.assertAlmostEqual(got["x"][0, 0], 2, delta=1e-8)
        self.assertAlmostEqual(got["x"][1, 0], -2, delta=1e-8)
        self.assertAlmostEqual(got["x"][2, 0], -1, delta=1e-8)
        real = [got["eigenvalue"][i, 0] for i in range(2)]
        self.assertEqual(len(got["eigenvalue"]), 4)
        self.assertAlmostEqual(real[0], -1, delta=1e-7)
        self.assertAlmostEqual(real[1], -2, delta=1e-7)
        self.fails(3, "linearize", "m.lisma", "--at", "0.5", "--inputs", "p", "--outputs", "u", says="outputs are states")
        self.write("m.lisma", "x' = -delay(x, 1); x(t0) = 1;\n")
        self.fails(3, "steady", "m.lisma", says="infinitely many eigenvalues")

    def test_sliding_to_the_origin(self):
        # the surface x_n + ... + c1 x_1 = w makes (s + 2)(s + 3)... of a chain of integrators; its end is w/c1, or the origin
        for u in (1e-9, 1.0, 1e9):
            for w in (0.0, 1.0):
                text = (f"x' = y; x(t0) = {0.1*u};\ny' = z; y(t0) = 0;\n"
                        f"z' = {-2*u}*sign(z + 5*y + 6*x - {w*u}) - 0.1*x; z(t0) = {(w - 0.6)*u};\nexperiment {{ end = 1; }}\n")
                got = self.matrices("steady", text, "--at", "0.3")
                for i, expected in enumerate((w/6, 0, 0)):
                    self.assertAlmostEqual(got["x"][i, 0]/u, expected, delta=1e-9)
                self.assertEqual(len(got["eigenvalue"]), 4)
                self.assertAlmostEqual(got["eigenvalue"][0, 0], -2, delta=1e-6)
                self.assertAlmostEqual(got["eigenvalue"][1, 0], -3, delta=1e-6)

    def test_sliding_that_ends_before(self):
        # y' = x - 2 sign(y) slides along y = 0 as long as |x| < 2; x tends to an end within that range or beyond it
        for u in (1e-9, 1.0, 1e9):
            for end, left in ((1.5, False), (3, True), (-1.9, False), (-2.5, True)):
                text = (f"y' = x - {2*u!r}*sign(y); y(t0) = {0.5*u!r}; x' = {end*u!r} - x; x(t0) = 0;\n"
                        "experiment { end = 5; }\n")
                out = self.good("steady", self.model(text), "--at", "0.4").out
                self.assertEqual("it is left before" in out, left, out)
                self.assertIn("stable equilibrium", out)

    def test_random_systems(self):
        # blocks with known eigenvalues, mixed by rotations
        rng = random.Random(5)
        for case in range(8):
            n = 2 + case
            a = [[0.0]*n for _ in range(n)]
            expected = []
            i = 0
            while i < n:
                re, im = rng.uniform(-3, -0.1), rng.uniform(0.1, 5)
                if i + 1 < n and rng.random() < 0.6:
                    a[i][i], a[i][i+1], a[i+1][i], a[i+1][i+1] = re, im, -im, re
                    expected += [complex(re, im), complex(re, -im)]
                    i += 2
                else:
                    a[i][i] = re
                    expected.append(complex(re, 0))
                    i += 1
            for _ in range(3*n):
                p, q = rng.sample(range(n), 2)
                c, s = math.cos(turn := rng.uniform(0, 6)), math.sin(turn)
                for j in range(n):
                    a[p][j], a[q][j] = c*a[p][j] - s*a[q][j], s*a[p][j] + c*a[q][j]
                for j in range(n):
                    a[j][p], a[j][q] = c*a[j][p] - s*a[j][q], s*a[j][p] + c*a[j][q]
            point = [rng.uniform(-2, 2) for _ in range(n)]
            text = "".join(f"x{i}' = " + " + ".join(f"({a[i][j]!r})*(x{j} - ({point[j]!r}))" for j in range(n))
                           + f"; x{i}(t0) = 0;\n" for i in range(n))
            got = self.matrices("steady", text)
            for i in range(n):
                self.assertAlmostEqual(got["x"][i, 0], point[i], delta=1e-10)
            found = [complex(got["eigenvalue"][i, 0], got["eigenvalue"][i, 1]) for i in range(n)]
            for value in expected:
                best = min(found, key=lambda z: abs(z - value))
                self.assertLess(abs(best - value), 1e-9*max(1, abs(value)))
                found.remove(best)

    def test_response(self):
        self.write("m.lisma", "const F = 1;\nx'' = F - 4*x - 0.2*x'; x(t0) = 0; x'(t0) = 0;\n")
        result = self.good("linearize", "m.lisma", "--inputs", "F", "--outputs", "x", "--response", "0.1:100:31", "-o", "-")
        rows = list(csv.DictReader(io.StringIO(result.out)))
        self.assertEqual(len(rows), 31)
        for row in rows:
            w = float(row["omega"])
            expected = 1/(4 - w*w + 0.2j*w)
            self.assertLess(abs(complex(float(row["real"]), float(row["imaginary"])) - expected), 1e-13*abs(expected) + 1e-18)
            self.assertAlmostEqual(float(row["gain"]), abs(expected), delta=1e-12*abs(expected))
            self.assertAlmostEqual(float(row["phase"]), math.degrees(cmath.phase(expected)), delta=1e-9)

    def test_picture(self):
        self.write("m.lisma", "const F = 1;\nx'' = F - 4*x - 0.2*x'; x(t0) = 0; x'(t0) = 0;\n")
        self.good("linearize", "m.lisma", "--inputs", "F", "--outputs", "x,x'", "--response", "0.1:100:101", "-q", "--plot", "r.svg")
        words = "".join(xml.etree.ElementTree.fromstring(self.read("r.svg")).itertext())
        self.assertIn("gain x by F", words)
        self.assertIn("phase x' by F", words)
        self.fails(2, "linearize", "m.lisma", "--plot", "r.svg", says="draws a response")

    def test_modes(self):
        text = ("const a = 2;\nx' = a - x; x(t0) = 0;\nstate full [x >= 1] { x' = 0.5 - x; } from init;\n")
        self.write("m.lisma", text)
        result = self.good("steady", "m.lisma")
        self.assertIn("it is left before", result.out)
        result = self.good("steady", "m.lisma", "--at", "3")
        self.assertIn("main = full", result.out)
        self.assertIn("0.5", result.out)
        result = self.good("steady", "m.lisma", "--state", "x=1.5")
        self.assertIn("main = full", result.out)
        # a pendulum upright and hanging
        text = "const l = 1;\np'' = -g/l*sin(p) - 0.1*p'; p(t0) = 0.3; p'(t0) = 0;\n"
        self.assertIn("\nstable", self.good("steady", self.model(text)).out)
        self.assertIn("\nunstable", self.good("steady", self.model(text), "--state", "p=3").out)

    def model(self, text):
        self.write("m.lisma", text)
        return "m.lisma"

    def test_bad_input(self):
        for command in "steady", "linearize":
            self.fails(3, command, self.model("x' = 1/x; x(t0) = 0;\n"), says="not a finite number")
        self.fails(3, "steady", self.model("x' = 1; x(t0) = 0;\n"), says="no equilibrium")
        self.fails(1, "linearize", "m.lisma", "--inputs", "u", says="has no `u`")
        self.fails(2, "linearize", "m.lisma", "--response", "1:2:3", says="an output to an input")
        self.fails(2, "linearize", "m.lisma", "--response", "3:2:3", "--inputs", "x", "--outputs", "x", says="no range")
        self.fails(3, "linearize", "m.lisma", "--inputs", "x", says="can be no input")
        self.fails(2, "steady", "m.lisma", "--outputs", "x", says="no inputs")
        self.fails(2, "steady", "m.lisma", "--state", "x", says="gives no value")
        self.fails(3, "linearize", self.model("x' = -delay(x, 1); x(t0) = 1;\n"), says="infinitely many eigenvalues")


if __name__ == "__main__":
    cli_case.main()
