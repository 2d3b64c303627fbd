#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ideal diodes in numbers. Each is an automaton, or an `if` block, that says v = 0 or i = 0; most combinations of
their states lack rank or contradict each other, and the one that holds must be found. Random networks are compared
with a linear complementarity problem solved by Lemke's method.

diodes.py [FIRST LAST]  compares the networks of these seeds; the test takes a slice of them.
"""
import csv
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import suite  # noqa: E402

SALTUS = os.environ.get("SALTUS", "saltus")


def lemke(m, q):
    """z >= 0 with w = m z + q >= 0 and w z = 0; None where the rays end."""
    n = len(q)
    if min(q) >= 0.0:
        return [0.0] * n
    rows = [[float(i == j) for j in range(n)] + [-x for x in m[i]] + [-1.0, q[i]] for i in range(n)]
    basis = list(range(n))
    r = min(range(n), key=lambda i: q[i])
    enter = 2 * n
    for _ in range(2000):
        pivot = rows[r][enter]
        rows[r] = [x / pivot for x in rows[r]]
        for i in range(n):
            if i != r and rows[i][enter] != 0.0:
                factor = rows[i][enter]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[r])]
        leave, basis[r] = basis[r], enter
        if leave == 2 * n:
            break
        enter = leave + n if leave < n else leave - n
        best = None
        for i in range(n):
            if rows[i][enter] > 1e-11:
                ratio = rows[i][-1] / rows[i][enter]
                key = (ratio if abs(ratio) > 1e-14 else 0.0, basis[i] != 2 * n, basis[i])
                if best is None or key < best:
                    best, r = key, i
        if best is None:
            return None
    z = [0.0] * n
    for i in range(n):
        if n <= basis[i] < 2 * n:
            z[basis[i] - n] = rows[i][-1]
    return z


def solve(a, b):
    n = len(b)
    a = [row[:] + [b[i]] for i, row in enumerate(a)]
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[p] = a[p], a[k]
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            if factor:
                a[i] = [x - factor * y for x, y in zip(a[i], a[k])]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (a[i][n] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return x


class Network:
    """Nodes tied to ground by resistors, current sources, capacitors behind resistors, up to 12 diodes anywhere."""

    def __init__(self, seed, volt=1.0, ampere=1.0):
        r = random.Random(seed)
        self.volt, self.ampere = volt, ampere
        ohm = volt / ampere
        n = self.nodes = r.randint(2, 7)
        self.resistors = [(k, r.randint(0, k - 1), round(r.uniform(0.5, 5), 2) * ohm) for k in range(1, n + 1)]
        for _ in range(r.randint(0, 3)):
            a, b = r.sample(range(n + 1), 2)
            self.resistors.append((a, b, round(r.uniform(0.5, 5), 2) * ohm))
        self.sources = []
        for _ in range(r.randint(1, 3)):
            a, b = r.sample(range(n + 1), 2)
            self.sources.append((a, b, round(r.uniform(1, 5), 2) * ampere, round(r.uniform(1, 6), 2),
                                 round(r.uniform(0, 6), 2)))
        self.capacitors = []
        for _ in range(r.randint(0, 2)):
            a, b = r.sample(range(n + 1), 2)
            self.capacitors.append((a, b, round(r.uniform(0.05, 1), 2) / ohm, round(r.uniform(0.5, 3), 2) * ohm))
        self.diodes = [tuple(r.sample(range(n + 1), 2)) for _ in range(r.randint(1, 12))]

    def text(self, spelling):
        lines = []
        terms = {k: [] for k in range(1, self.nodes + 1)}

        def node(k):
            return "e%d" % k if k else "0"

        def add(a, b, current):
            if a:
                terms[a].append("+ " + current)
            if b:
                terms[b].append("- " + current)

        for a, b, value in self.resistors:
            add(a, b, "(%s - %s)/%r" % (node(a), node(b), value))
        for a, b, size, rate, phase in self.sources:
            add(a, b, "%r*sin(%r*time + %r)" % (size, rate, phase))
        for k, (a, b, c, value) in enumerate(self.capacitors):
            current = "(%s - %s - u%d)/%r" % (node(a), node(b), k, value)
            add(a, b, current)
            lines.append("%r*u%d' = %s; u%d(t0) = 0;" % (c, k, current, k))
        for k, (a, b) in enumerate(self.diodes):
            add(a, b, "i%d" % k)
            lines.append("v%d = %s - %s;" % (k, node(a), node(b)))
            if spelling == "automaton":
                lines.append("d%d: i%d = 0;" % (k, k))
                lines.append("automaton D%d { state on [v%d > 0] { d%d: v%d = 0; } from init;"
                             " state init [i%d < 0] {} from on; }" % (k, k, k, k, k))
            else:
                lines.append("w%d = v%d + i%d*%r;" % (k, k, k, self.volt / self.ampere))
                lines.append("if (w%d > 0) { d%d: v%d = 0; } else { d%d: i%d = 0; }" % (k, k, k, k, k))
        lines += ["0 %s = 0;" % " ".join(terms[k]) for k in range(1, self.nodes + 1)]
        return "\n".join(lines) + "\n"

    def potentials(self, t, charges):
        """Of the nodes, with these voltages of the capacitors; None where Lemke's method finds none."""
        n = self.nodes
        g = [[0.0] * n for _ in range(n)]
        b = [0.0] * n

        def column(a, c):
            col = [0.0] * n
            if a:
                col[a - 1] += 1.0
            if c:
                col[c - 1] -= 1.0
            return col

        def conduct(a, c, value):
            col = column(a, c)
            for i in range(n):
                for j in range(n):
                    g[i][j] += value * col[i] * col[j]

        def inject(a, c, current):
            for i, x in enumerate(column(a, c)):
                b[i] -= x * current

        for a, c, value in self.resistors:
            conduct(a, c, 1.0 / value)
        for a, c, size, rate, phase in self.sources:
            inject(a, c, size * math.sin(rate * t + phase))
        for (a, c, _, value), u in zip(self.capacitors, charges):
            conduct(a, c, 1.0 / value)
            inject(a, c, -u / value)
        columns = [column(a, c) for a, c in self.diodes]
        moved = [solve(g, col) for col in columns]
        free = solve(g, b)
        m = [[sum(x * y for x, y in zip(col, other)) * self.ampere / self.volt for other in moved] for col in columns]
        q = [-sum(x * y for x, y in zip(col, free)) for col in columns]
        size = max(abs(x) for x in q) or 1.0
        z = lemke(m, [x / size for x in q])
        if z is None:
            return None
        currents = [x * size * self.ampere / self.volt for x in z]
        return [free[k] - sum(moved[j][k] * currents[j] for j in range(len(columns))) for k in range(n)]


def run(text, *options):
    with tempfile.TemporaryDirectory() as directory:
        model = os.path.join(directory, "m.lisma")
        with open(model, "w", encoding="utf-8") as out:
            out.write(text)
        result = subprocess.run([SALTUS, "run", model, "-q", "-o", os.path.join(directory, "m.csv"), *options],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
        if result.returncode:
            return None, result.stderr.decode("utf-8")
        with open(os.path.join(directory, "m.csv"), encoding="utf-8") as file:
            return list(csv.DictReader(file)), ""


def compare(seed, spelling, volt=1.0, ampere=1.0):
    """What is wrong with a network; None: nothing."""
    network = Network(seed, volt, ampere)
    rows, message = run(network.text(spelling), "--until", "2", "--every", "0.05")
    if rows is None:
        return "seed %d, %s: %s" % (seed, spelling, message)
    for row in rows:
        charges = [float(row["u%d" % k]) for k in range(len(network.capacitors))]
        wanted = network.potentials(float(row["time"]), charges)
        if wanted is None:
            continue
        for k in range(network.nodes):
            if abs(float(row["e%d" % (k + 1)]) - wanted[k]) > 2e-5 * volt:
                return "seed %d, %s: e%d is %s at %s, not %r" % (seed, spelling, k + 1, row["e%d" % (k + 1)],
                                                                 row["time"], wanted[k])
    return None


class Diodes(unittest.TestCase):
    def test_random_networks(self):
        for seed in range(suite.share(10)):
            self.assertIsNone(compare(seed, "automaton"))

    def test_networks_as_blocks(self):
        for seed in suite.share((4, 5, 8, 10, 12)):
            self.assertIsNone(compare(seed, "block"))

    def test_networks_in_other_units(self):
        for seed, volt, ampere in ((8, 1e3, 1e-3), (19, 1e-3, 1e3)):
            self.assertIsNone(compare(seed, "automaton", volt, ampere))

    def test_a_bridge(self):
        text = ("vs = %(U)r*sin(100*time);\nva - vb = vs;\nv1 = va - vp; v2 = vb - vp; v3 = -va; v4 = -vb;\n"
                "is + i1 - i3 = 0;\ni2 - i4 - is = 0;\n%(C)r*vp' = i1 + i2 - vp/%(R)r; vp(t0) = 0;\n")
        for k in range(1, 5):
            text += ("d%d: i%d = 0; automaton D%d { state on [v%d > 0] { d%d: v%d = 0; } from init;"
                     " state init [i%d < 0] {} from on; }\n" % (k, k, k, k, k, k, k))
        for volts in (10.0, 1e-3):
            rows, message = run(text % {"U": volts, "C": 1e-3, "R": 10.0}, "--until", "0.1")
            self.assertIsNotNone(rows, message)
            # it follows |vs| where that rises, and stays above it
            for row in rows:
                t = float(row["time"])
                if t <= math.pi / 200:
                    self.assertAlmostEqual(float(row["vp"]) / volts, math.sin(100 * t), delta=1e-5)
                self.assertGreaterEqual(float(row["vp"]) / volts, abs(math.sin(100 * t)) - 1e-5)

    def test_many(self):
        for count in (5, 50):
            # the largest of many sources reaches the load
            text = "".join("d_%d: i_%d = 0; v_%d = 10*sin(time + %r) - i_%d - u;\n"
                           "automaton D_%d { state on [v_%d > 0] { d_%d: v_%d = 0; } from init;"
                           " state init [i_%d < 0] {} from on; }\n" %
                           (k, k, k, 6.2 * k / count, k, k, k, k, k, k) for k in range(count))
            text += "u = 0.001*(%s);\n" % " + ".join("i_%d" % k for k in range(count))
            rows, message = run(text, "--until", "1", "--every", "0.5")
            self.assertIsNotNone(rows, message)
            for row in rows:
                t = float(row["time"])
                u = float(row["u"])
                total = sum(max(0.0, 10 * math.sin(t + 6.2 * k / count) - u) for k in range(count))
                self.assertAlmostEqual(u, 0.001 * total, delta=1e-5)

    def test_a_string_and_a_bundle(self):
        for count in (2, 9):
            # in series they share the voltage, in parallel the current; both leave something open
            nodes = ["s"] + ["n_%d" % k for k in range(1, count)] + ["o"]
            text = "s = 10*sin(time);\n"
            for k in range(count):
                text += ("v_%d = %s - %s; d_%d: i_%d = 0;\nautomaton D_%d { state on [v_%d > 0] { d_%d: v_%d = 0; }"
                         " from init; state init [i_%d < 0] {} from on; }\n" %
                         (k, nodes[k], nodes[k + 1], k, k, k, k, k, k, k))
                text += "i_%d = i_%d;\n" % (k, k + 1) if k + 1 < count else ""
            text += "i_%d = o/2 + j;\n" % (count - 1)
            text += "j = %s;\n" % " + ".join("k_%d" % k for k in range(count))
            for k in range(count):
                text += ("p_%d = o - 3; b_%d: k_%d = 0;\nautomaton B_%d { state on [p_%d > 0] { b_%d: p_%d = 0; }"
                         " from init; state init [k_%d < 0] {} from on; }\n" % (k, k, k, k, k, k, k, k))
            text = text.replace("p_0 = o - 3;", "p_0 = o - 3 - r;").replace("j = ", "r = j/4;\nj = ", 1)
            for k in range(1, count):
                text = text.replace("p_%d = o - 3;" % k, "p_%d = o - 3 - r;" % k)
            rows, message = run(text, "--until", "6", "--every", "0.25")
            self.assertIsNotNone(rows, message)
            for row in rows:
                s = 10 * math.sin(float(row["time"]))
                self.assertAlmostEqual(float(row["o"]), max(0.0, s), delta=1e-5)
                self.assertAlmostEqual(float(row["j"]), max(0.0, 4 * (max(0.0, s) - 3.0)), delta=1e-4)


def main():
    first, last = int(sys.argv[1]), int(sys.argv[2])
    failures = [compare(seed, spelling) for seed in range(first, last) for spelling in ("automaton", "block")]
    failures = [failure for failure in failures if failure]
    print("\n".join(failures) or "all agree")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) == 3:
        sys.exit(main())
    unittest.main()
