#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Event models of many kinds beside what an exact simulation of the same says: chains, ties, counters, schedules,
automata that interfere, computed pieces. Motions are run in several units of time."""
import math
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class EventModels(cli_case.CliCase):
    def expect(self, text, until, **values):
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "-q", "-o", "-", "--until", repr(until), "--samples", "4")
        lines = result.out.splitlines()
        row = dict(zip(lines[0].split(","), map(float, lines[-1].split(","))))
        for name, value in values.items():
            self.assertAlmostEqual(row[name], value, delta=1e-5 * max(1, abs(value)), msg=f"{name} of\n{text}")

    # ---- instants ------------------------------------------------------------------------------

    def test_sequences_within_an_instant(self):
        """Collatz: each value follows from the one before, through mod() of what was just assigned."""
        for start in (6, 7, 27):
            n, steps = start, 0
            while n > 1:
                n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
            self.expect(f"n(t0) = {start}; k(t0) = 0; automaton c {{ state go [time >= 1] {{}} from init;\n"
                        "  state even [n > 1 && mod(n, 2) < 0.5] { set n = n/2, k = k + 1; } from go, odd, again;\n"
                        "  state again [n > 1 && mod(n, 2) < 0.5] { set n = n/2, k = k + 1; } from even;\n"
                        "  state odd [n > 1 && mod(n, 2) > 0.5] { set n = 3*n + 1, k = k + 1; } from go, even, again; }\n",
                        2, n=1, k=steps)

    def test_pieces_are_what_they_say_in_every_round(self):
        """Guards that ask for floor, ceil, mod, abs, max of values that earlier rounds have assigned."""
        rng = random.Random(5)
        exact = {"floor(%s/3)": lambda v: math.floor(v / 3), "ceil(%s/4)": lambda v: math.ceil(v / 4),
                 "mod(%s, 7)": lambda v: v % 7, "abs(%s - 5)": lambda v: abs(v - 5), "max(%s, 3)": lambda v: max(v, 3)}
        for piece, value in exact.items():
            for through in (False, True):
                # a chain of single steps: each adds what the piece is, plus one
                start, count = rng.randrange(1, 9), rng.randrange(3, 8)
                v = start
                text = f"v(t0) = {start}; s = {piece % 'v'};\n"
                read = "s" if through else piece % "v"
                text += "automaton a0 { state on [time >= 1] {} from init; }\n"
                for i in range(1, count + 1):
                    goal = value(v)
                    text += f"automaton a{i} {{ state on a{i - 1}.on && [{read} > {goal - 0.25} && {read} < {goal + 0.25}]\n" \
                            f"  {{ set v = v + {goal + 1}; }} from init; }}\n"
                    v += goal + 1
                self.expect(text, 2, v=v, s=value(v))

    def test_equalities_of_values_that_only_touch(self):
        """One event for each touch and each crossing, in any unit, from either side."""
        for unit in (1e-9, 1.0, 1e9):
            for value, level, times in (("1 - cos(time)", 2, 3), ("cos(time)", 1, 4), ("cos(time)", -1, 3),
                                        ("sin(time)^2", 0, 7), ("abs(sin(time))", 1, 6), ("sin(time)", 0.5, 7),
                                        ("1 - cos(time) + 1e-3*sin(time)^2", 2, 3)):
                self.expect(f"x = {unit!r}*({value}); n(t0) = 0;\n"
                            f"state s [x == {unit * level!r}] {{ set n = n + 1; }} from init, s;\n", 20, n=times)
            self.expect(f"x' = v; v' = -x; x(t0) = {unit!r}; v(t0) = 0; n(t0) = 0; y = x*x;\n"
                        "state s [y == 0] { set n = n + 1; } from init, s;\n", 20, n=6)

    def test_orders_of_ties(self):
        for names in (("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")):
            steps = {"a": lambda q: 2 * q + 1, "b": lambda q: 3 * q + 1, "c": lambda q: q - 5}
            words = {"a": "2*q + 1", "b": "3*q + 1", "c": "q - 5"}
            q = 1
            for name in names:
                q = steps[name](q)
            for guard in ("[x >= 1]", "[2*x >= 2]", "[time >= 1]", "[x >= 1 && time > 0.5]"):
                text = "x' = 1; x(t0) = 0; q(t0) = 1;\n"
                text += "".join(f"automaton {n} {{ state s {guard} {{ set q = {words[n]}; }} from init; }}\n" for n in names)
                self.expect(text, 2, q=q)

    def test_schedules_and_states(self):
        self.expect("q(t0) = 1; at 1 { set q = q + 1; } at 1 priority 2 { set q = q*10; }\n"
                    "at 1 priority -1 { set q = q - 100; } state s [q >= 5] { set q = q*2; } from init;\n", 2, q=-78)
        self.expect("a(t0) = 1; b(t0) = 2; at 1 each 1 repeat 3 { set a = b, b = a; }\n", 5, a=2, b=1)
        self.expect("a(t0) = 0; b(t0) = 1; at 1 each 1 repeat 10 { set a = b, b = a + b; }\n", 20, a=55, b=89)
        self.expect("n(t0) = 0; at 0.1 each 0.1 repeat * { set n = n + 1; }\n", 10, n=100)
        self.expect("x' = 1; x(t0) = 0; q(t0) = 1; at 1 { set q = q + 1; } state s [x >= 1] { set q = q*10; } from init;\n",
                    2, q=20)

    def test_random_schedules(self):
        """Bodies that are due together, in the order of priority and text, and counters that follow them."""
        for seed in range(8):
            rng = random.Random(seed)
            bodies = [(rng.choice([1, 2, 3]), rng.choice([1, 2, 5]), rng.choice([-1, 0, 0, 0, 3]), rng.choice([2, 3, -1]),
                       rng.randrange(4)) for _ in range(4)]
            limit = rng.randrange(20, 60)
            text = "q(t0) = 1; n(t0) = 0;\n" + "".join(
                f"at {t} each {p} repeat * priority {k} {{ set q = {a}*q + {b}; }}\n" for t, p, k, a, b in bodies)
            text += f"automaton c {{ state s [q > {limit}] {{ set q = q - {2 * limit}, n = n + 1; }} from init, r;\n" \
                    f"  state r [q < -{limit}] {{ set q = q + {2 * limit}, n = n + 1; }} from s; }}\n"
            q, n, inside = 1, 0, False
            for now in range(1, 7):
                due = sorted((b for b in bodies if now >= b[0] and (now - b[0]) % b[1] == 0), key=lambda b: -b[2])
                for late in (False, True):
                    for _, _, k, a, b in due:
                        if (k < 0) == late:
                            q = a * q + b
                    while (q < -limit) if inside else (q > limit):
                        q, n, inside = q + (2 * limit if inside else -2 * limit), n + 1, not inside
            self.expect(text, 6.5, q=q, n=n)

    def test_levels_and_states_in_chains(self):
        self.expect("n(t0) = 0; automaton a { state on [time >= 1] { set n = n + 1; } from init;\n"
                    "  state off b.on { set n = n + 10; } from on; }\n"
                    "automaton b { state on a.on { set n = n + 100; } from init;\n"
                    "  state off a.off { set n = n + 1000; } from on; }\n", 2, n=1111)
        self.expect("x0(t0) = 0; at 1 { set x0 = 1; }\n" + "".join(
            f"x{i}(t0) = 0; automaton a{i} {{ state s [x{i - 1} >= 1] {{ set x{i} = x{i - 1} + 1; }} from init; }}\n"
            for i in range(1, 200)), 2, x199=200)
        self.expect("x' = 1; x(t0) = 0; w(t0) = 0; state a [x >= 1] { set w = 1; } from init;\n"
                    "state b [x >= 1] { set w = 2; } from init; state c [x >= 1] { set w = w + 10; } from a;\n", 2, w=11)

    def test_a_ripple_counter(self):
        bits = 6
        text = "c0(t0) = 0; at 1 each 1 repeat * { set c0 = 1 - c0; }\n" + "".join(
            f"c{i}(t0) = 0; automaton d{i} {{ state low [c{i - 1} < 0.5] {{}} from init, high;\n"
            f"  state high [c{i - 1} > 0.5] {{ set c{i} = 1 - c{i}; }} from low; }}\n" for i in range(1, bits))
        for ticks in (5, 21, 40):
            count = [0] * bits
            for _ in range(ticks):
                rises = True
                for i in range(bits):
                    if not rises:
                        break
                    count[i] ^= 1
                    rises = count[i] == 1
            self.expect(text, ticks + 0.5, **{f"c{i}": count[i] for i in range(bits)})

    # ---- motion between events -----------------------------------------------------------------

    def test_counts_along_motions(self):
        for s in (1.0, 1e-6, 1e5):  # units of time
            rate = 1 / s
            head = f"const w = {rate!r}; macro tau = w*time;\n"
            self.expect(head + "x' = w; x(t0) = 0; n(t0) = 0; state r [x >= 1] { set x = 0, n = n + 1; } from init, r;\n",
                        7.5 * s, n=7, x=0.5)
            self.expect(head + "z' = w; z(t0) = 0; n(t0) = 0; automaton s { state hi [sin(tau) >= 0.5] { set n = n + 1; } from init, lo;\n"
                               "state lo [sin(tau) <= -0.5] { set n = n + 1; } from hi; }\n", 20 * s, n=7)
            self.expect(head + "n(t0) = 0; x' = w*cos(tau); x(t0) = 0; state z [x == 0.5] { set n = n + 1; } from init, z;\n",
                        10 * s, n=4)
            self.expect(head + "z' = w; z(t0) = 0; n(t0) = 0; y = if(sin(tau) > 0, 1, 0);\n"
                               "automaton a { state u [y > 0.5] { set n = n + 1; } from init, d;\n"
                               "state d [y < 0.5] { set n = n + 1; } from u; }\n", 10 * s, n=4)
            self.expect(head + "y' = w*max(sin(tau), 0); y(t0) = 0;\n", 4 * math.pi * s, y=4)
            self.expect(head + "x' = w; x(t0) = 0; y = floor(x); s' = w*y; s(t0) = 0;\n", 4.5 * s, y=4, s=8)
            self.expect(head + "s' = w*mod(tau, 2); s(t0) = 0;\n", 5 * s, s=4.5)
            self.expect(head + "x' = w; x(t0) = 0; n(t0) = 0; if (sin(x) > 0) { set n = n + 1; }\n", 20 * s, n=4)

    def test_bounces(self):
        for e in (0.8, 0.9, 1.0):
            t, v, n = math.sqrt(2 / 9.81), math.sqrt(2 * 9.81), 0
            while t < 2.1:
                n, v = n + 1, v * e
                t += 2 * v / 9.81
            self.expect("y' = v; v' = -9.81; y(t0) = 1; v(t0) = 0; n(t0) = 0;\n"
                        f"state b [y <= 0 && v < 0] {{ set v = -{e}*v, n = n + 1; }} from init, b;\n", 2.1, n=n)

    def test_a_thermostat(self):
        def exact(end):
            t, x, on = 0.0, 20.0, True
            while True:
                lasts = math.log((30 - x) / 8) if on else math.log((x - 10) / 10)
                if t + lasts > end:
                    d = math.exp(t - end)
                    return 30 - (30 - x) * d if on else 10 + (x - 10) * d
                t, x, on = t + lasts, 22.0 if on else 20.0, not on
        texts = ("T' = 30*u + 10*(1 - u) - T; u(t0) = 1; state off [T >= 22] { set u = 0; } from init, on;\n"
                 "state on [T <= 20] { set u = 1; } from off;\n",
                 "T' = 30 - T; state off [T >= 22] { T' = 10 - T; } from init, on; state on [T <= 20] { T' = 30 - T; } from off;\n",
                 "heat: q = 30; T' = q - T; state off [T >= 22] { heat: q = 10; } from init, on; state on [T <= 20] {} from off;\n")
        for text in texts:
            for end in (1.0, 4.2, 10.0):
                self.expect("T(t0) = 20; " + text, end, T=exact(end))

    def building(self, seed, change=0.0):
        """Rooms with thermostats, driven by time; every number of it is changed by a part of itself, up or down."""
        rng, sides = random.Random(seed), random.Random(-seed)

        def number(lo, hi):
            return repr(rng.uniform(lo, hi) * (1 + change * sides.choice((-1, 1))))
        count, text = rng.choice((1, 1, 2, 3, 5, 8)), ""
        outside = f"(-5 + {number(2, 8)}*sin({number(0.1, 3)}*time))"
        for i in range(1, count + 1):
            beside = f" - {number(0.01, 0.3)}*(T{i} - T{rng.randrange(1, count + 1)})" if rng.random() < 0.7 else ""
            text += f"T{i}' = -{number(0.1, 1.2)}*(T{i} - {outside}){beside}\n" \
                    f"  + {number(20, 60)}*(1 + {number(0.1, 0.6)}*sin({number(0.3, 8)}*time))*h{i};\n" \
                    f"T{i}(t0) = {number(10, 24)}; h{i}(t0) = {rng.choice((0, 1))}; automaton a{i} {{\n" \
                    f"  state on [T{i} <= {number(17, 19.5)}] {{ set h{i} = 1; }} from off;\n" \
                    f"  state off [T{i} >= {number(20, 23)}] {{ set h{i} = 0; }} from on, init; }}\n"
        return text

    def test_events_are_as_exact_as_the_steps(self):
        """What a run at 1e-6 is off by, beside what a change of the data by 1e-6 makes: each event goes on from a point
        inside a step, where time drives what it reads."""
        def values(text, rtol):
            self.write("m.lisma", text)
            rows = self.good("run", "m.lisma", "-q", "-o", "-", "--until", "20", "--samples", "41", "--event-rows", "none",
                             "--rtol", rtol).out.splitlines()
            return [float(v) for row in rows[1:] for v in row.split(",")]

        def farthest(a, b):
            return max(abs(p - q) for p, q in zip(a, b))
        parts = []
        for seed in range(60):
            exact = values(self.building(seed), "1e-11")
            effect = farthest(exact, values(self.building(seed, 1e-6), "1e-11"))
            parts.append(farthest(exact, values(self.building(seed), "1e-6")) / effect)
        parts.sort()
        self.assertLess(parts[-1], 5, parts)
        self.assertLess(parts[54], 0.8, parts)
        self.assertLess(parts[30], 0.1, parts)

    def test_powers_that_begin_at_the_start(self):
        """A thermostat reads a power, at its beginning, within a bounded function: no tolerance loses the state of it."""
        for drive, before in (("sin(0.4*time^%s)", ""), ("tanh(x^%s)", "x' = x + 1; x(t0) = 0;"), ("cos(abs(x)^%s)", "x' = 1; x(t0) = 0;"),
                              ("1/(1 + time^%s)", "")):
            for power in ("1.05", "1.3", "1.7", "2.5"):
                text = (f"{before} T' = -0.3*(T - 6*{drive % power}) + 52*h; T(t0) = 21; h(t0) = 1; n(t0) = 0; automaton a {{\n"
                        "state on [T <= 18.6] { set h = 1, n = n + 1; } from off; state off [T >= 20.1] { set h = 0; } from on, init; }\n")
                self.write("m.lisma", text)
                found = []
                for rtol in ("1e-8", "1e-10", "1e-12"):
                    rows = self.good("run", "m.lisma", "-q", "-o", "-", "--until", "5", "--samples", "5", "--event-rows", "none",
                                     "--rtol", rtol, "--out", "T,n").out.splitlines()
                    found.append([float(v) for row in rows[1:] for v in row.split(",")])
                for other in found[1:]:
                    self.assertLess(max(abs(a - b) for a, b in zip(found[0], other)), 1e-4, text)


if __name__ == "__main__":
    unittest.main()
