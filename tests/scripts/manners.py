#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events with manners: `after` against a model of its own, priorities, choice by lot, random initial values,
infinite constants; files from other folders; the tree of parts."""
import json
import math
import os
import random
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402


def after(changes, delay, persistent, trigger, end):
    """Firings of `after` by a plain simulation: changes are (time, truth, value)."""
    fired, due, busy, kept, value = [], None, False, None, None
    holds = False
    for t, truth, new in changes + [(end, False, None)]:
        if due is not None and due < t:
            fired.append((due, kept if trigger else value))
            due, busy = None, holds  # fires again only after it has fallen
        if new is None:
            break
        value = new
        if truth and not holds and not busy and due is None:
            due, kept = t + delay, value
        if not truth:
            if not persistent:
                due = None
            busy = False
        holds = truth
    return fired


class Manners(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text, name="model.lisma"):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def last(self, text, *options):
        status, out, errors = saltus_run.command("run", self.write(text), "-q", "-o", "-", "--samples", "1", *options)
        self.assertEqual(status, 0, errors)
        lines = out.strip().split("\n")
        return dict(zip(lines[0].split(","), lines[-1].split(",")))

    def test_after(self):
        draw = random.Random(5)
        for case in range(25):
            delay = draw.choice([0.5, 1.3, 2.7])
            persistent, trigger = draw.random() < 0.5, draw.random() < 0.5
            t, changes, text = 0.0, [], []
            for k in range(8):
                t += draw.choice([0.31, 0.8, 1.7, 3.1])
                truth = k % 2 == 0
                changes.append((t, truth, k + 1.0))
                text.append("at %r { set u = %d, v = %d; }" % (t, truth, k + 1))
            model = ("u(t0) = 0; v(t0) = 0; n(t0) = 0; s(t0) = 0; w(t0) = 0;\n%s\n"
                     "after %r [u > 0.5] %s%s { set n = n + 1, s = s + %s, w = w + v; }\n"
                     % ("\n".join(text), delay, "persistent " if persistent else "", "trigger " if trigger else "",
                        "0" if trigger else "time"))
            fired = after(changes, delay, persistent, trigger, 40)
            row = self.last(model, "--until", "40")
            self.assertEqual(float(row["n"]), len(fired), model)
            # the sum counts from its own value at the trigger where values are taken then
            if not trigger:
                self.assertAlmostEqual(float(row["s"]), sum(f[0] for f in fired), 9, model)
                self.assertAlmostEqual(float(row["w"]), sum(f[1] for f in fired), 9, model)

    def test_values_of_the_trigger(self):
        model = "x' = 1; x(t0) = 0; a(t0) = 0; b(t0) = 0; after 0.5 [x > 1] trigger { set a = x; } after 0.5 [x > 1] { set b = x; }"
        row = self.last(model, "--until", "3")
        self.assertAlmostEqual(float(row["a"]), 1, 6)
        self.assertAlmostEqual(float(row["b"]), 1.5, 6)

    def test_goto_of_after(self):
        """It enters a state as that of `at` does, with the resets of the body in view: from anywhere, in parts, and twice
        at one time."""
        body = ("z' = 1; z(t0) = 0; k(t0) = 0; %s [z > 1] %s { set k = 1; goto %sA; }\n"
                "%s state A %s { z' = -1; set k = k + 10; } %s %s")
        guarded, bare = ("[z > 100]", "from init;"), ("", "")
        for guard, source in (guarded, bare):
            for manner in ("", "persistent", "trigger"):
                text = body % ("after 0.5", manner, "m.", "automaton m {", guard, source, "}")
                row = self.last(text, "--until", "2")
                self.assertAlmostEqual(float(row["z"]), 1, 9)
                self.assertEqual(float(row["k"]), 11, text)
                row = self.last("part P { %s } P p; P r[2];" % text, "--until", "2")
                self.assertEqual([float(row[n]) for n in ("p.k", "r[1].k", "r[2].k")], [11, 11, 11], text)
        text = body % ("after 0.5", "", "", "", "", "", "")
        self.assertEqual(float(self.last(text, "--until", "2")["k"]), 11)
        for first, second, wanted in (("q", "p", 9), ("p", "q", 7)):
            row = self.last("z' = 1; z(t0) = 0; k(t0) = 0; after 0.5 [z > 1] { set k = 2; goto %s.A; goto %s.A; }\n"
                            "automaton p { state A { set k = k*3; } } automaton q { state A { set k = k + 1; } }"
                            % (first, second), "--until", "2")
            self.assertEqual(float(row["k"]), wanted)
        twice = ("k(t0) = 0; z' = 1; z(t0) = 0; automaton m { state A {} state B { set k = k + 1; } }\n"
                 "for i = 1:3 { after 1 [z > 0.5] { goto m.B; } } after 2 [z > 0.5] { goto m.A; } after 3 [z > 0.5] { goto m.B; }")
        row = self.last(twice, "--until", "5", "--out", "k,m.state")
        self.assertEqual((float(row["k"]), row["m.state"]), (4, "B"))

    def test_delays_that_are_none(self):
        for given, delay, told in (("d(t0) = -1;", "d", "-1"), ("macro D = 0.5 - z;", "D", "-0.5"), ("", "normal(-9, 1)", "-"),
                                   ("const D = inf;", "D", "Inf")):
            model = self.write("z' = 1; z(t0) = 0; k(t0) = 0; %s\nafter %s [z > 1] { set k = 1; }" % (given, delay))
            status, _, errors = saltus_run.command("run", model, "-q", "-o", "-", "--until", "3")
            self.assertEqual((status, errors.count("E0808")), (3, 1), errors)
            self.assertIn(":2:7: error", errors)
            self.assertIn("this delay is " + told, errors)
        # what only rounding puts below 0 is 0
        row = self.last("z' = 1; z(t0) = 0; k(t0) = 0; macro D = 1 - z; after D [z >= 1] { set k = time; }", "--until", "3")
        self.assertAlmostEqual(float(row["k"]), 1, 9)

    def test_measures_of_a_run(self):
        model = self.write("x' = 1; x(t0) = 0; measure a = foo(x);")
        told = [saltus_run.command(*words) for words in (("check", model), ("run", model, "-q", "-o", "-", "--until", "1"))]
        self.assertEqual([t[0] for t in told], [1, 1])
        self.assertEqual(told[0][2], told[1][2])
        self.assertIn("no function `foo`", told[1][2])

    def test_names_of_parts(self):
        for word in ("after", "set", "measure", "trigger"):
            status, _, errors = saltus_run.command("check", self.write("part %s(k=1) { x' = k; x(t0) = 0; } y = 1;" % word))
            self.assertEqual((status, errors.count("E0108")), (1, 1), errors)
        quoted = "part `after`(k=1) { x' = k; x(t0) = 0; } `after` a(k=2);"
        self.assertAlmostEqual(float(self.last(quoted, "--until", "1")["a.x"]), 2, 9)

    def test_priority(self):
        names = "abcd"
        draw = random.Random(3)
        for _ in range(12):
            given = [draw.choice([None, 0, 1, 2, 5]) for _ in names]
            states = ["state %s [time >= 1] %s {} from init;" % (n, "" if p is None else "priority %d" % p)
                      for n, p in zip(names, given)]
            wanted = min(range(4), key=lambda k: (-(given[k] or 0), k))
            row = self.last("\n".join(states), "--until", "2", "--out", "main.state")
            self.assertEqual(row["main.state"], names[wanted], states)

    def test_priority_of_automata(self):
        for first, second, wanted in ((1, 2, 1), (2, 1, 2), (0, 0, 2)):
            model = ("x(t0) = 0; automaton p priority %d { state s [time >= 1] { set x = 1; } from init; }\n"
                     "automaton q priority %d { state s [time >= 1] { set x = 2; } from init; }" % (first, second))
            self.assertEqual(float(self.last(model, "--until", "2")["x"]), wanted, model)

    def test_by_lot(self):
        model = "go(t0) = 0;" + "".join("n%d(t0) = 0;" % k for k in range(5)) + "".join(
            "state s%d [go > 0] && [%d != 4] %s { set n%d = n%d + 1, go = 0; } from init, s0, s1, s2, s3, s4;\n"
            % (k, k, "priority random" if k != 3 else "", k, k) for k in range(5)) + "at 1 each 1 repeat * { set go = 1; }"
        rows = [self.last(model, "--until", "900", "--seed", str(seed), "--event-rows", "none") for seed in (1, 1, 2)]
        self.assertEqual(rows[0], rows[1])
        self.assertNotEqual(rows[0], rows[2])
        for row in rows:
            counts = [float(row["n%d" % k]) for k in range(5)]
            self.assertEqual(sum(counts), 900)
            self.assertEqual(counts[3:], [0, 0])
            # six deviations of a fair lot
            self.assertLess(max(abs(c - 300) for c in counts[:3]), 6 * (900 * 2 / 9) ** 0.5)

    def test_lots_are_independent(self):
        """Automata that choose at one time choose each for itself, and what a state draws does not tell how it was chosen."""
        for when in ("1", "k/300"):
            model = ("for k = 1:300 { n[k](t0) = 0; x[k](t0) = 0; automaton A[k] {%s} }" % "".join(
                "state s%d [time >= %s] priority random { set n[k] = %d, x[k] = random(); } from init;" % (j, when, j) for j in range(1, 4))
                + "for j = 1:3 { m[j] = sum(k = 1:300, if(n[k] == j, 1, 0)); d[j] = sum(k = 1:300, if(n[k] == j, x[k], 0)); }")
            row = self.last(model, "--until", "2", "--out", "m1,m2,m3,d1,d2,d3", "--event-rows", "none")
            for j in range(1, 4):
                count, drawn = float(row["m%d" % j]), float(row["d%d" % j])
                self.assertLess(abs(count - 100), 5 * (300 * 2 / 9) ** 0.5, row)
                self.assertLess(abs(drawn / count - 0.5), 5 * (1 / 12 / count) ** 0.5, row)

    def test_random_initial_values(self):
        model = "for i = 1:400 { k[i](t0) = normal(3, 0.5); u[i](t0) = uniform(-1, 1); x[i]' = k[i] + u[i]; x[i](t0) = k[i]; }"
        rows = [self.last(model, "--until", "0", "--seed", seed) for seed in ("1", "1", "2")]
        self.assertEqual(rows[0], rows[1])
        self.assertNotEqual(rows[0], rows[2])
        for row in rows:
            k = [float(row["k%d" % i]) for i in range(1, 401)]
            u = [float(row["u%d" % i]) for i in range(1, 401)]
            self.assertEqual(k, [float(row["x%d" % i]) for i in range(1, 401)])
            self.assertLess(abs(sum(k) / 400 - 3), 0.15)
            self.assertLess(abs(sum((v - 3) ** 2 for v in k) / 400 - 0.25), 0.1)
            self.assertLess(abs(sum(u) / 400), 0.18)
            self.assertEqual(len(set(k + u)), 800)
        # what an action draws does not depend on it
        base = "x(t0) = 0; at 1 { set x = random(); }"
        with_start = self.last("k(t0) = random(); y = k;" + base, "--until", "2", "--seed", "7")
        self.assertEqual(self.last(base, "--until", "2", "--seed", "7")["x"], with_start["x"])

    def test_edges_of_signals_in_pieces(self):
        """A self loop fires where its guard becomes true, however many switches and pieces move for one value."""
        self.write("u,y\n-0.5,0.2\n0,-0.1\n0.4,0.7\n0.6,0.3\n", "pieces.csv")

        def table(u):
            u -= 1.1 * math.floor((u + 0.5) / 1.1)
            return -0.1 - 0.6 * u if u < 0 else -0.1 + 2 * u if u < 0.4 else 0.7 - 2 * (u - 0.4)

        def chain(u):
            return 2 if u > 0.9 else 1 if u > 0.3 else -1 if u < -0.3 else 0

        signals = [("s = mod(2*time, 1.5);", lambda t: 2 * t % 1.5),
                   ("s = rem(3*x, 1);", lambda t: math.fmod(3 * math.cos(t), 1)),
                   ("s = round(1.7*x);", lambda t: math.floor(1.7 * math.cos(t) + 0.5)),
                   ("s = floor(2.5*x) + ceil(1.3*x);",
                    lambda t: math.floor(2.5 * math.cos(t)) + math.ceil(1.3 * math.cos(t))),
                   ('data d = "pieces.csv"; s = table(d, x, periodic);', lambda t: table(math.cos(t))),
                   ("if (x > 0.9) { s = 2; } else if (x > 0.3) { s = 1; } else if (x < -0.3) { s = -1; } else { s = 0; }",
                    lambda t: chain(math.cos(t))),
                   ("s = if(x > 0.9, 2, if(x > 0.3, 1, if(x < -0.3, -1, 0)));", lambda t: chain(math.cos(t)))]
        times = [k * 7.3 / 50000 for k in range(1, 50001)]
        for text, signal in signals:
            for level in (-0.63, -0.07, 0.13, 0.47, 0.83):
                holds = [signal(t) > level for t in times]
                edges = [t for before, now, t in zip(holds, holds[1:], times[1:]) if now and not before]
                row = self.last("x' = v; v' = -x; x(t0) = 1; v(t0) = 0; n(t0) = 0; w(t0) = 0;" + text +
                                "state up [s > %g] { set n = n + 1, w = w + time; } from init, up;" % level,
                                "--until", "7.3", "--rtol", "1e-9")
                self.assertEqual(float(row["n"]), len(edges) + holds[0], (text, level))
                self.assertAlmostEqual(float(row["w"]), sum(edges), delta=2e-4 * (1 + len(edges)), msg=(text, level))

    def test_edges_of_alternatives(self):
        """A self loop does not fire where one alternative of its guard begins to hold while another does."""
        guards = [("[x > 0.31] || [v > 0.62]", lambda x, v: x > 0.31 or v > 0.62),
                  ("!(x > 0.31 && v < 0.62)", lambda x, v: x <= 0.31 or v >= 0.62),
                  ("((x > 0.31) implies (v > 0.62))", lambda x, v: x <= 0.31 or v > 0.62),
                  ("([x > 0.31] && [v < 0.2]) || [x < 0.9]", lambda x, v: x > 0.31 and v < 0.2 or x < 0.9),
                  ("(x > 0.31) xor (v > 0.62)", lambda x, v: (x > 0.31) != (v > 0.62))]
        for text, guard in guards:
            holds = [guard(math.cos(k / 2000), -math.sin(k / 2000)) for k in range(1, 40000)]
            edges = holds[0] + sum(now and not before for before, now in zip(holds, holds[1:]))
            row = self.last("x' = v; v' = -x; x(t0) = 1; v(t0) = 0; n(t0) = 0;"
                            "state up %s { set n = n + 1; } from init, up;" % text, "--until", "20", "--rtol", "1e-9")
            self.assertEqual(float(row["n"]), edges, text)

    def test_infinite_constants(self):
        row = self.last("const top = inf, low = -top; y' = 1; z = min(y, top); w = max(z, low); s = if(y < top, 1, 2);"
                        "state never [y > top] {} from init;", "--until", "2", "--out", "z,w,s,main.state,top")
        self.assertAlmostEqual(float(row["z"]), 2, 9)
        self.assertAlmostEqual(float(row["w"]), 2, 9)
        self.assertEqual((float(row["s"]), row["main.state"], row["top"]), (1, "init", "Inf"))
        for text in ("const a = 1/0;", "const b = 0, a = ln(b);", "const inf2 = 1e308*10;"):
            status, _, errors = saltus_run.command("check", self.write(text + " x' = 1;"))
            self.assertEqual((status, errors.count("E0309")), (1, 1), errors)

    def test_files_from_other_folders(self):
        self.write("part Tank { h' = 1; h(t0) = 0; }  include \"more/pump.lisma\";", "library/parts/tank.lisma")
        self.write("part Pump { q = 2; }", "library/parts/more/pump.lisma")
        model = self.write('include "parts/tank.lisma"; Tank a; Pump b;', "project/model.lisma")
        library = os.path.join(self.folder, "library")
        self.assertEqual(saltus_run.command("check", model)[0], 1)
        for command in (["check"], ["explain"], ["run", "-q", "-o", "-"]):
            status, _, errors = saltus_run.command(command[0], model, *command[1:], "--include", "/nowhere," + library)
            self.assertEqual(status, 0, errors)
        # the model's own folder comes first, and names do not lead out
        self.write("part Tank { h' = 5; h(t0) = 0; }  part Pump { q = 2; }", "project/parts/tank.lisma")
        status, out, errors = saltus_run.command("run", model, "-q", "-o", "-", "--until", "1", "--samples", "1",
                                                 "--include", library, "--out", "a.h")
        self.assertEqual((status, float(out.split()[-1].split(",")[1])), (0, 5), errors)
        for name in ("../library/parts/tank.lisma", library + "/parts/tank.lisma", "~/tank.lisma"):
            path = self.write('include "%s"; x\' = 1;' % name, "project/bad.lisma")
            status, _, errors = saltus_run.command("check", path, "--include", library)
            self.assertEqual((status, errors.count("E0214")), (1, 1), errors)

    def test_tree_of_parts(self):
        path = self.write("part Pump(k = 1) { q = k; }\npart Tank(A = 1) { Pump p(k = 3); h' = p.q/A; h(t0) = 0; }\n"
                          "Tank upper(A = 2), lower;\nTank row[4](A = 1 + i);\npart Unused { Pump q; }\n")
        status, out, errors = saltus_run.command("explain", path)
        self.assertEqual(status, 0, errors)
        tree = out[out.index("\nparts\n") + 7:].split("\n\n")[0].split("\n")
        self.assertEqual([line.split(None, 1) for line in tree],
                         [["upper", "Tank(A = 2)"], ["p", "Pump(k = 3)"], ["lower", "Tank"], ["p", "Pump(k = 3)"],
                          ["row[4]", "Tank(A = 1 + i)"], ["p", "Pump(k = 3)"]])
        self.assertEqual([len(line) - len(line.lstrip()) for line in tree], [2, 4, 2, 4, 2, 4])
        parts = json.loads(saltus_run.command("explain", path, "--json")[1])["parts"]
        self.assertEqual([(p["name"], p["line"], [q["part"] for q in p["parts"]]) for p in parts],
                         [("upper", 3, ["Pump(k = 3)"]), ("lower", 3, ["Pump(k = 3)"]), ("row[4]", 4, ["Pump(k = 3)"])])
        status, out, _ = saltus_run.command("explain", self.write("x' = 1;"))
        self.assertNotIn("parts", out)


if __name__ == "__main__":
    unittest.main()
