#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events near boundaries that the motion only tends to, and near those that hold it: random linear systems against their
exact solutions, thresholds approached by several states, decays, limited integrators beside observers, arrivals at rest;
in many units and spellings."""
import math
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402

RTOL = 1e-6
SHARE = 1e-3  # of the tolerance: that of a state whose value is 0
UNITS = ((1, 1, 1), (1e-9, 1, 1e6), (1e6, 1e-6, 1e-9), (3.7, 1e3, 1))  # of states, of time, factor of relations
SURE = 150.0  # tolerances by which a motion must cross and come back for a crossing to be certain
NONE = 1e-4  # ... below which it has none


def inverse(matrix):
    n = len(matrix)
    rows = [row[:] + [float(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i])]
    return [row[n:] for row in rows]


def times(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


class System:
    """x' = A (x - rest) with eigenvalues that are known: decays, oscillations, double roots."""

    def __init__(self, draw):
        self.n = n = draw.choice((2, 3, 4, 5))
        self.blocks = []
        while (left := n - sum(size for size, _, _, _ in self.blocks)) > 0:
            kind = draw.choice(("decay", "decay", "oscillation", "double")) if left > 1 else "decay"
            size = 1 if kind == "decay" else 2
            self.blocks.append((size, kind, -10 ** draw.uniform(-1, 1), 10 ** draw.uniform(-1, 1)))
        shape = [[draw.uniform(-1, 1) + 2 * (i == j) for j in range(n)] for i in range(n)]
        self.shape, back = shape, inverse(shape)
        core = [[0.0] * n for _ in range(n)]
        at = 0
        for size, kind, rate, speed in self.blocks:
            for i in range(at, at + size):
                core[i][i] = rate
            if size == 2:
                core[at][at + 1] = speed if kind == "oscillation" else 1.0
                core[at + 1][at] = -speed if kind == "oscillation" else 0.0
            at += size
        self.matrix = times(times(shape, core), back)
        self.slowest = min(-rate for _, _, rate, _ in self.blocks)
        self.fastest = max(math.hypot(rate, speed) for _, _, rate, speed in self.blocks)
        # the tolerance of a state that goes to zero is smaller than what others, that do not, would do to it
        size = draw.choice((0.0, 1.0))
        self.rest = [size * draw.choice((draw.uniform(0.5, 2), draw.uniform(-2, -0.5))) for _ in range(n)]
        self.start = [rest + draw.uniform(-2, 2) for rest in self.rest]
        self.begin = [sum(a * (x - r) for a, x, r in zip(row, self.start, self.rest)) for row in back]

    def of_unknown(self):
        return [block for block in self.blocks for _ in range(block[0])]

    def way(self, weights, t):
        """sum of weights * (x - rest) at time t; the weights are those of the blocks."""
        total, at = 0.0, 0
        for size, kind, rate, speed in self.blocks:
            decay = math.exp(rate * t)
            c, d = self.begin[at], self.begin[at + size - 1]
            if kind == "decay":
                values = (c,)
            elif kind == "double":
                values = (c + t * d, d)
            else:
                sine, cosine = math.sin(speed * t), math.cos(speed * t)
                values = (c * cosine + d * sine, d * cosine - c * sine)
            total += decay * sum(w * v for w, v in zip(weights[at:], values))
            at += size
        return total


class Asymptotes(cli_case.CliCase):
    def last(self, text, until):
        """The last row, by name."""
        self.write("m.lisma", text)
        self.good("run", "m.lisma", "-q", "-o", "m.csv", "--until", repr(until), "--samples", "1", "--event-rows", "none")
        lines = self.read("m.csv").splitlines()
        return dict(zip((n.strip('"') for n in lines[0].split(",")), map(float, lines[-1].split(","))))

    def assert_last(self, text, until, **wanted):
        row = self.last(text, until)
        for name, value in wanted.items():
            self.assertAlmostEqual(row[name], value, delta=1e-5 * abs(value) if value else 1e-9, msg=text)

    # ---- linear systems ------------------------------------------------------------------------

    def bounds(self, system, reads, offset, until):
        """How often the exact g = reads . (x - rest) - offset rises through zero, certainly and at most, and what the
        tolerances may do to it."""
        n = system.n
        steps = int(min(20000, max(2000, until * system.fastest * 10)))
        sizes = [max(abs(rest + system.way(system.shape[i], until * k / 200)) for k in range(200))
                 for i, rest in enumerate(system.rest)]
        tolerance = sum(abs(a) * RTOL * (abs(rest) + SHARE * size)
                        for a, rest, size in zip(reads, system.rest, sizes))
        weights = [sum(reads[i] * system.shape[i][k] for i in range(n)) for k in range(n)]
        slow = [abs(w) for w, block in zip(weights, system.of_unknown()) if -block[2] < 2 * system.slowest]
        if max(slow) < 0.1 * max(map(abs, weights)):
            return None  # what hides the slowest motion shows nothing but its errors
        g = [system.way(weights, until * k / steps) - offset * tolerance for k in range(steps + 1)]
        rises = [k for k in range(steps) if g[k] < 0 <= g[k + 1]]
        least = most = int(g[0] >= 0)
        for j, k in enumerate(rises):
            peak = max(g[k + 1:rises[j + 1] + 1] if j + 1 < len(rises) else g[k + 1:])
            valley = -min(g[rises[j - 1] if j else 0:k + 1])
            least += min(peak, valley) > SURE * tolerance
            most += min(peak, valley) > NONE * tolerance
        if rises and offset <= -0.05 and valley > SURE * tolerance and not peak > SURE * tolerance:
            least += 1  # the equilibrium is beyond the boundary
        return least, most, tolerance

    def counter_problem(self, seed):
        """What is wrong with a counter of rises through a level at the equilibrium, or beside it; None: nothing."""
        draw = random.Random(seed)
        system = System(draw)
        n = system.n
        units = [10 ** draw.uniform(-9, 9) if draw.random() < 0.5 else 1.0 for _ in range(n)]
        second, factor = draw.choice((1.0, 1.0, 1e-9, 1e6)), draw.choice((1.0, 1e-9, 1e9))
        reads = [draw.uniform(-1, 1) if draw.random() < 0.6 else 0.0 for _ in range(n)]
        if not any(reads):
            reads[-1] = 1.0
        offset = draw.choice((0, 0, 0, -0.3, 0.3, -0.05, 0.05, 30, -30))
        until = draw.choice((40, 80)) / system.slowest
        bounds = self.bounds(system, reads, offset, until)
        if not bounds:
            return None
        least, most, tolerance = bounds
        level = sum(a * rest for a, rest in zip(reads, system.rest)) + offset * tolerance
        text = "n(t0) = 0;\n"
        for i in range(n):
            terms = (f"({system.matrix[i][j] * units[i] / units[j] / second!r})*(x{j} - ({system.rest[j] * units[j]!r}))"
                     for j in range(n))
            text += f"x{i}' = {' + '.join(terms)}; x{i}(t0) = {system.start[i] * units[i]!r};\n"
        g = " + ".join(f"({factor * reads[i] / units[i]!r})*x{i}" for i in range(n) if reads[i])
        text += f"state s [{g} >= {factor * level!r}] {{ set n = n + 1; }} from init, s;\n"
        count = self.last(text, until * second)["n"]
        return None if least <= count <= most else f"{count}, not {least} to {most}\n{text}"

    def test_counters_of_linear_systems(self):
        count, wrong = suite.share(150), []
        for seed in range(count):
            problem = self.counter_problem(seed)
            if problem:
                wrong.append(f"seed {seed}: {problem}")
        # now and then a motion that is not at rest yet stays within its errors of the boundary
        self.assertLessEqual(len(wrong), 1 + count // 100, "\n".join(wrong))

    # ---- time alone ----------------------------------------------------------------------------

    def test_waves_of_time_in_models_without_states(self):
        for seed in range(suite.share(60)):
            draw = random.Random(2000 + seed)
            speed, level = 10 ** draw.uniform(-9, 9), draw.uniform(-0.999, 0.999)
            shift = draw.choice((0.0, 0.0, math.pi / 2, math.pi, draw.uniform(0, 6)))
            turns = draw.uniform(1, 20)
            # falls through the level where the phase passes acos(level)
            first = (math.acos(level) - shift) % (2 * math.pi)
            count = math.floor((2 * math.pi * turns - first) / (2 * math.pi)) + 1
            if abs((2 * math.pi * turns - first) % (2 * math.pi)) < 1e-3 or math.cos(shift) <= level + 1e-9:
                continue
            wave = f"cos({speed!r}*time + {shift!r})"
            for text in (f"state s [{wave} <= {level!r}] {{ set n = n + 1; }} from init, s;",
                         f"x = {wave}; state s [x < {level!r}] {{ set n = n + 1; }} from init, r; state r [x > {level!r}] {{}} from s;"):
                self.assert_last("n(t0) = 0; " + text, 2 * math.pi * turns / speed, n=count)

    # ---- kinks ---------------------------------------------------------------------------------

    def test_kinks_of_motion_at_rest_have_no_wrong_side(self):
        for seed in range(suite.share(40)):
            draw = random.Random(1000 + seed)
            system, unit = System(draw), 10 ** draw.uniform(-9, 9)
            text = ""
            for i in range(system.n):
                terms = (f"({system.matrix[i][j]!r})*x{j}" for j in range(system.n))
                text += f"x{i}' = {' + '.join(terms)}; x{i}(t0) = {unit * (system.start[i] - system.rest[i])!r};\n"
            text += "y = abs(x0); root = sqrt(abs(x0)); top = max(x0, -x0); z' = abs(x1); z(t0) = 0;\n"
            self.write("m.lisma", text)
            self.good("run", "m.lisma", "-q", "-o", "m.csv", "--until", repr(80 / system.slowest), "--samples", "300")
            lines = self.read("m.csv").splitlines()
            rows = [dict(zip(lines[0].split(","), (float(cell or "nan") for cell in line.split(",")))) for line in lines[1:]]
            for row in rows:
                self.assertEqual((row["y"], row["top"]), (abs(row["x0"]), abs(row["x0"])), text)
                self.assertAlmostEqual(row["root"], math.sqrt(row["y"]), delta=1e-9 * row["root"], msg=text)

    # ---- thresholds that several states approach -----------------------------------------------

    def test_motion_of_several_states_that_tends_to_a_boundary(self):
        for c, second, factor in UNITS:
            g = f"{factor!r}*(x - c)"
            motions = ("a' = (c - a)/T; x' = (a - x)/T; a(t0) = 0; x(t0) = 0;",
                       "a' = (c - a)/T; b' = (a - b)/T; x' = (b - x)/T; a(t0) = 0; b(t0) = 0; x(t0) = 0;",
                       "x' = v; v' = ((c - x)/T - 2*v)/T; x(t0) = 0; v(t0) = 0;",
                       "x' = v; v' = ((c - x)/T - 5*v)/T; x(t0) = 0; v(t0) = 0;",
                       "a' = -a/T; x' = (1 + a)*(c - x)/T; a(t0) = 3; x(t0) = 0;",
                       "x' = x*(1 - x/c)/T; x(t0) = 0.1*c;",
                       "x' = (c - x)^3/c^2/T; x(t0) = 0;")
            observers = (f"n(t0) = 0; state f [{g} >= 0] {{ set n = n + 1; }} from init, g; state g [{g} < 0] {{ set n = n + 10; }} from f;",
                         f"n(t0) = 0; state f [{g} >= 0] {{ set n = n + 1; }} from init, f;",
                         f"n(t0) = 0; state f [{g} >= 0 && time >= 60*T] {{ set n = n + 1; }} from init, f;",
                         f"n(t0) = 0; k(t0) = 0; every 0.7*T {{ set k = k + 1; }} state f [{g} > 0] {{ set n = n + 1; }} from init, f;",
                         f"n' = if({g} >= 0, 1, 0); n(t0) = 0;",
                         f"n(t0) = 0; if ({g} >= 0) {{ n' = 1; }} else {{ n' = 0; }}",
                         "y' = sin(time/T)/T; y(t0) = 0; n(t0) = 0; state f [x >= c] { set n = n + 1; } from init, f;")
            for motion in motions:
                for observer in suite.share(observers):
                    self.assert_last(f"const c = {c!r}, T = {second!r}; {motion} {observer}", 100 * second, n=0)

    def test_many_of_them(self):
        text = "for i = 1:100 { a_[i]' = i - a_[i]; x_[i]' = a_[i] - x_[i]; a_[i](t0) = 0; x_[i](t0) = 0; n_[i](t0) = 0;\n" \
            "automaton m_[i] { state s [x_[i] >= i] { set n_[i] = n_[i] + 1; } from init, s; } }\n"
        row = self.last(text, 60)
        self.assertEqual({row[f"n_{i}"] for i in range(1, 101)}, {0})

    def test_an_equilibrium_beside_the_boundary_decides(self):
        for c, second, factor in UNITS:
            for share, wanted in ((1.0000005, 1), (0.9999995, 0), (1.00000002, 1), (0.99999998, 0)):
                for state in ("init", "init, s"):
                    for motion in ("x' = (%r*c - x)/T; x(t0) = 0;", "a' = (%r*c - a)/T; x' = (a - x)/T; a(t0) = 0; x(t0) = 0;"):
                        text = f"const c = {c!r}, T = {second!r}; {motion % share} n(t0) = 0;\n" \
                               f"state s [{factor!r}*x >= {factor!r}*c] {{ set n = n + 1; }} from {state};\n"
                        self.assert_last(text, 100 * second, n=wanted)

    def test_what_moves_on_from_its_rest_crosses(self):
        for c, second, factor in UNITS:
            head = f"const c = {c!r}, T = {second!r}; x' = (a - x)/T; a(t0) = 0; x(t0) = 0; n(t0) = 0;\n" \
                   f"state s [{factor!r}*(x - c) >= 0] {{ set n = n + 1; }} from init, t; state t [x < c] {{ set n = n + 10; }} from s;\n"
            for motion, wanted in (("a' = (c - a)/T; at 60*T { set a = 2*c; }", 1), ("a' = (c - a)/T; at 60*T { set a = c/2; }", 0),
                                   ("a' = (c*if(time < 60*T, 1, 1.1) - a)/T;", 1), ("a' = (c*if(time < 60*T, 1, 0.9) - a)/T;", 0),
                                   ("a' = (c*(1 + 1e-3*max(time/T - 60, 0)) - a)/T;", 1)):
                self.assert_last(head + motion, 160 * second, n=wanted)

    def test_decays_and_oscillations_end_without_an_error(self):
        for c, second, factor in UNITS:
            head = f"const c = {c!r}, T = {second!r}; n(t0) = 0; state s [{factor!r}*x <= 0] {{ set n = n + 1; }} from init, s;\n"
            decay = "a' = -a/T; x' = (a - 2*x)/T; a(t0) = c; x(t0) = c/2;"
            self.assert_last(head + decay, 300 * second, n=0)
            swing = "x' = v; v' = (-x/T - 0.5*v)/T; x(t0) = c; v(t0) = 0;"
            self.assert_last(head + swing, 20 * second, n=3)
            # every 6.49 T, and 2e-5 of the height before each time: nine above the tolerance
            self.assertIn(self.last(head + swing, 900 * second)["n"], (9, 10, 11, 12, 13))

    def test_small_motions_cross(self):
        for size in (1.0, 5e-7, 1e-12):
            for factor in (1.0, 1e-9, 1e9):
                text = f"x' = {size!r}*cos(time); x(t0) = 0; y' = 1 - y; y(t0) = 0; n(t0) = 0;\n" \
                       f"state s [{factor!r}*x > 0] {{ set n = n + 1; }} from init, s;\n"
                self.assert_last(text, 100, n=16)

    # ---- boundaries that are reached -----------------------------------------------------------

    def test_limited_integrators_beside_observers(self):
        for c, second, factor in UNITS:
            g = f"{factor!r}*(x - c)"
            observer = f"n(t0) = 0; state f [{g} >= 0] {{ set n = n + 1; }} from init, g; state g [{g} < 0] {{ set n = n + 10; }} from f;"
            limits = ("x' = if(x >= c && u > 0, 0, u);", "x' = if(x < c || u < 0, u, 0);", "x' = if(u > 0 && c <= x, 0, u);",
                      "if (x >= c && u > 0) { x' = 0; } else { x' = u; }", "x' = if(x >= c, min(u, 0), u);",
                      "x' = u; automaton l { state held [x >= c && u > 0] { x' = 0; } from init, free; state free [u <= 0] { x' = u; } from held; }")
            for limit in limits:
                for u, wanted in (("c/T*(2 - time/T)", 0.5), ("if(time < 2.5*T, 1, -1)*c/T", 0.5),
                                  ("2*c/T*cos(time/T)", 2 * math.sin(3) - 1)):
                    text = f"const c = {c!r}, T = {second!r}; {limit} u = {u}; x(t0) = 0; {observer}"
                    self.assert_last(text, 3 * second, n=11, x=wanted * c)

    def test_an_integrator_between_two_limits(self):
        for c, second, factor in UNITS:
            i = f"{factor!r}*i"
            text = f"const c = {c!r}, T = {second!r}; i' = if(i >= c && e > 0 || i <= -c && e < 0, 0, e); e = 2*c*cos(time/T)/T;\n" \
                   f"i(t0) = 0; n(t0) = 0; state up [{i} >= {factor!r}*c] {{ set n = n + 1; }} from init, mid;\n" \
                   "state mid [i < c && i > -c] { set n = n + 10; } from up, down; state down [i <= -c] { set n = n + 100; } from mid;\n"
            self.assert_last(text, 9 * second, n=132)

    def test_a_motion_that_ends_at_its_boundary_has_reached_it(self):
        for c, second, factor in UNITS:
            g = f"{factor!r}*(x - c)"
            for motion in ("x' = v; v' = if(v > 0, -2*c/T/T, 0); x(t0) = 0; v(t0) = 2*c/T;",
                           "x' = if(time < T, 2*c/T*(1 - time/T), 0); x(t0) = 0;"):
                text = f"const c = {c!r}, T = {second!r}; {motion} n(t0) = 0;\n" \
                       f"state f [{g} >= 0] {{ set n = n + 1; }} from init, g; state g [{g} < 0] {{ set n = n + 10; }} from f;\n"
                self.assert_last(text, 5 * second, n=1)
            text = f"const c = {c!r}, T = {second!r}; h' = -sqrt(c)*sqrt(max(h, 0))/T; h(t0) = c; x = c - h; n(t0) = 0;\n" \
                   f"state f [{g} >= 0] {{ set n = n + 1; }} from init;\n"
            self.assert_last(text, 5 * second, n=1)


if __name__ == "__main__":
    unittest.main()
