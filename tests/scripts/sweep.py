#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus sweep and measures: closed forms, any number of threads, kills, bad input."""
import csv
import io
import math
import os
import random
import signal
import statistics
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

FALL = """const y0 = 10, k = 0.8, c = 0;
y' = v;   y(t0) = y0;
v' = -g - c*v;  v(t0) = 0;
state bounce [y <= 0] && [v < 0] { v(t0) = -k * v; } from init, bounce;
measure hit = time(main.bounce);
experiment { end = 3; }
"""
G = 9.80665

WAVE = """const w = 3, a = 2;
x' = w*y;  x(t0) = 0;
y' = -w*x; y(t0) = a;
on(t0) = 0;
state up [x >= 1] { set on = 1; } from init, down;
state down [x <= -1] { set on = 0; } from up;
experiment { end = 5; rtol = 1e-12; atol = 1e-14; }
"""


class Sweep(cli_case.CliCase):
    def setUp(self):
        super().setUp()
        self.write("fall.lisma", FALL)
        self.write("wave.lisma", WAVE)

    def rows(self, *arguments):
        result = self.good("sweep", *arguments, "-q", "-o", "-")
        return list(csv.DictReader(io.StringIO(result.out)))

    def near(self, a, b, tolerance=1e-9):
        self.assertAlmostEqual(float(a), b, delta=tolerance * max(1.0, abs(b)))

    def test_names_with_marks(self):
        self.write("w.lisma", "const `a b` = 1;\nx(t0) = `a b`;\n")
        for name in ("a b", "`a b`"):
            self.assertEqual([(r["a b"], r["end(x)"]) for r in self.rows("w.lisma", "--vary", name + "=1,2", "-m", "end(x)")],
                             [("1", "1"), ("2", "2")])

    def test_values_of_ranges(self):
        # what is written is what is meant: the numbers of a range are those nearest to their decimals, and seeds are whole
        self.write("r.lisma", "const k = 1;\nx(t0) = normal(0, 1); y(t0) = k;\n")
        rows = self.rows("r.lisma", "--vary", "k=0:10:101", "-m", "end(y)")
        self.assertEqual([r["k"] for r in rows], [repr(i/10).removesuffix(".0") for i in range(101)])
        rows = self.rows("r.lisma", "--vary", "seed=0:1999:2000", "-m", "end(x)")
        self.assertEqual([r["seed"] for r in rows], [str(i) for i in range(2000)])
        self.assertEqual(len({r["end(x)"] for r in rows}), 2000)
        self.assertEqual([r["seed"] for r in self.rows("r.lisma", "--vary", "seed=0:5:3", "-m", "end(x)")], ["0", "3", "5"])

    def test_quantiles(self):
        # from the least value to the greatest, of what flows, jumps, has kinks or stands still; z falls, so its levels are known
        self.write("q.lisma", "x' = 3*cos(3*time); x(t0) = 0;\nz' = -z; z(t0) = 1;\ns(t0) = 1;\nat 1 { set s = 5; }\n"
                              "at 2.5 { set s = -3; }\nexperiment { end = 4; rtol = 1e-10; }\n")
        formulas = ("x", "x^2", "abs(x)", "x*z", "s", "x + s", "1e-12*x + 1e-12", "7")
        shares = (0, 1e-9, 0.1, 0.5, 0.999, 1)
        asked = [f"{kind}({f})" for f in formulas for kind in ("min", "max")]
        asked += [f"quantile({f}, {q})" for f in formulas + ("z",) for q in shares]
        row = self.rows("q.lisma", "--vary", "seed=1", *[part for m in asked for part in ("-m", m)])[0]
        for f in formulas:
            least, greatest = float(row[f"min({f})"]), float(row[f"max({f})"])
            levels = [float(row[f"quantile({f}, {q})"]) for q in shares]
            self.assertEqual(levels, sorted(levels), f)
            self.assertAlmostEqual(levels[0], least, delta=1e-12*max(abs(least), abs(greatest)), msg=f)
            self.assertAlmostEqual(levels[-1], greatest, delta=1e-12*max(abs(least), abs(greatest)), msg=f)
        for q in shares:
            self.assertAlmostEqual(float(row[f"quantile(z, {q})"]), math.exp(-4*(1 - q)), delta=1e-9)

    def test_as_many_measures_as_are_asked_for(self):
        self.write("n.lisma", "const k = 0.5;\nfor i = 1:150 { x[i]' = -k*i*x[i]; x[i](t0) = i; }\nexperiment { end = 1; rtol = 1e-10; }\n")
        asked = [part for i in range(1, 151) for part in ("-m", f"e{i} = end(x[{i}])", "-m", f"m{i} = max(x[{i}]) + e{i}/{i}")]
        asked += ["-m", "sum = " + " + ".join(f"end(x[{i}])" for i in range(1, 151)), "-m", "half = sum/2"]
        row = self.rows("n.lisma", "--vary", "k=0.02", *asked)[0]
        self.near(row["half"], 0.5*sum(i*math.exp(-0.02*i) for i in range(1, 151)))
        for i in range(1, 151):
            self.near(row[f"e{i}"], i*math.exp(-0.02*i))
            self.near(row[f"m{i}"], i + math.exp(-0.02*i))
        self.good("sens", "n.lisma", "--set", "k=0.02", "--params", "k", *asked, "-o", "n.csv", "-q")
        for found in csv.DictReader(io.StringIO(self.read("n.csv"))):
            if not found["measure"][1:].isdigit():
                continue
            i = int(found["measure"][1:])
            expected = -i*math.exp(-0.02*i)*(i if found["measure"][0] == "e" else 1)
            self.near(found["derivative"], expected, 1e-8)

    def test_as_many_parameters_as_vary(self):
        n = 100
        names = [f"k{i}" for i in range(n)]
        total = " + ".join(names)
        self.write("p.lisma", "const " + ", ".join(f"{k} = 0" for k in names) + f";\nx' = 0; x(t0) = {total};\nexperiment {{ end = 1; }}\n")
        arguments = [part for k in names for part in ("--vary", f"{k}~normal(0, 1)")]
        arguments += ["--correlate", "k0,k99=0.9", "--correlate", "k3,k70=-0.8", "--sample", "random", "2000"]
        rows = self.rows("p.lisma", *arguments, "-m", "end(x)")
        drawn = [[float(r[k]) for k in names] for r in rows]
        for row, values in zip(rows, drawn):
            self.near(row["end(x)"], math.fsum(values), 1e-12)
        for a, b, expected in ((0, 99, 0.9), (3, 70, -0.8), (5, 6, 0), (0, 98, 0)):
            found = sum(v[a]*v[b] for v in drawn)/len(drawn)
            self.assertAlmostEqual(found, expected, delta=0.1, msg=str((a, b)))
        for i in range(n):
            self.assertAlmostEqual(sum(v[i]**2 for v in drawn)/len(drawn), 1, delta=0.2, msg=str(i))

    def test_measures_of_a_wave(self):
        measures = ["max(x)", "min(x)", "mean(x)", "rms(x)", "integral(x)", "at(x, 1.25)", "end(y)", "start(y)",
                    "quantile(x, 0.25)", "max(abs(x))", "max(x*y)", "time(main.up)", "time(main.up, 2)",
                    "count(main.up)", "duration(main.up)", "ratio = max(x) / a", "twice = 2*ratio - w",
                    "max(max(x), 7)"]
        arguments = [part for m in measures for part in ("-m", m)]
        for row in self.rows("wave.lisma", "--vary", "a=2,4.5", "--vary", "w=3:5:3", *arguments):
            a, w = float(row["a"]), float(row["w"])
            s, c = math.sin(5*w), math.cos(5*w)
            self.near(row["max(x)"], a)
            self.near(row["min(x)"], -a)
            self.near(row["integral(x)"], a*(1 - c)/w)
            self.near(row["mean(x)"], a*(1 - c)/w/5)
            self.near(row["rms(x)"], a*math.sqrt(0.5 - math.sin(10*w)/(20*w)))
            self.near(row["at(x, 1.25)"], a*math.sin(1.25*w))
            self.near(row["end(y)"], a*c)
            self.near(row["start(y)"], a)
            self.near(row["max(abs(x))"], a)
            self.near(row["max(x*y)"], a*a/2)
            self.near(row["time(main.up)"], math.asin(1/a)/w)
            self.near(row["time(main.up, 2)"], (2*math.pi + math.asin(1/a))/w)
            self.near(row["ratio"], 1)
            self.near(row["twice"], 2 - w)
            self.near(row["max(max(x), 7)"], 7)
            # time below a level, by counting fine samples
            q = float(row["quantile(x, 0.25)"])
            below = sum(a*math.sin(w*5*(i + 0.5)/20000) <= q for i in range(20000)) / 20000
            self.assertAlmostEqual(below, 0.25, delta=2e-4)
            ups = [(2*math.pi*i + math.asin(1/a))/w for i in range(10)]
            downs = [(2*math.pi*i + math.pi + math.asin(1/a))/w for i in range(10)]
            self.assertEqual(int(float(row["count(main.up)"])), sum(t < 5 for t in ups))
            spent = sum(max(0.0, min(d, 5) - min(u, 5)) for u, d in zip(ups, downs))
            self.near(row["duration(main.up)"], spent, 1e-8)
            del s

    def test_measures_between_rows_and_steps(self):
        # the peak of a flight lies inside of a step, whatever the tolerance
        for rtol in ("1e-3", "1e-9"):
            row = self.rows("fall.lisma", "--vary", "k=0.5", "-m", "at(y, 1.9)", "-m", "max(v)", "--rtol", rtol)[0]
            hit = math.sqrt(20/G)
            up = 0.5*G*hit
            self.near(row["max(v)"], up, 1e-8)
            self.near(row["at(y, 1.9)"], up*(1.9 - hit) - G/2*(1.9 - hit)**2, 1e-8)

    def test_measures_that_turn_often_within_a_step(self):
        # a straight line is one long step, over which a formula may do anything
        self.write("line.lisma", "const k = 1;\nx' = k; x(t0) = 0;\nexperiment { end = 10; }\n")
        halves = 200/math.pi
        rest = (halves - math.floor(halves))*math.pi
        expected = {"integral(abs(sin(20*x)))": (2*math.floor(halves) + 1 - math.cos(rest))/20,
                    "integral(sin(200*x)^2)": 5 - math.sin(4000)/800,
                    "mean(max(sin(30*x), 0))": 0.32,
                    "max(abs(sin(20*x)) - 0.001*x)": math.sqrt(1 - 5e-5**2) - 0.001*math.acos(5e-5)/20,
                    "integral(sqrt(x))": 2/3*10**1.5,
                    # rounding does not get better by halving
                    "integral((1e5 + sin(x)) - 1e5)": 1 - math.cos(10)}
        arguments = [part for m in expected for part in ("-m", m)]
        row = self.rows("line.lisma", "--vary", "k=1", *arguments)[0]
        for name, value in expected.items():
            self.near(row[name], value, 1e-11)

    def test_measures_of_the_model(self):
        row = self.rows("fall.lisma", "--vary", "y0=5")[0]
        self.near(row["hit"], math.sqrt(10/G))
        self.write("bad.lisma", FALL + "measure m = max(yy);\n")
        self.fails(1, "check", "bad.lisma", says="yy")

    def test_states_never_entered_and_undetermined(self):
        self.write("m.lisma", "x' = 1; x(t0) = 0;\nstate on [x >= 100] { set x = 0; } from init;\n")
        row = self.rows("m.lisma", "--vary", "x(t0)=0,1", "-m", "time(main.on)", "-m", "count(main.init)",
                        "-m", "end(x)")[1]
        self.assertEqual((row["time(main.on)"], row["count(main.init)"]), ("", "1"))
        self.near(row["end(x)"], 11)

    def test_grid_order_and_initial_values(self):
        rows = self.rows("fall.lisma", "--vary", "k=1,2", "--vary", "v(t0)=-1:1:3", "-m", "start(v)")
        self.assertEqual([(r["k"], r["v(t0)"], r["start(v)"]) for r in rows],
                         [(k, v, v) for k in "12" for v in ("-1", "0", "1")])

    def test_equal_ratios(self):
        rows = self.rows("fall.lisma", "--vary", "k=log(1:1000:4)", "-m", "k")
        for row, k in zip(rows, (1, 10, 100, 1000)):
            self.near(row["k"], k)

    def test_distributions(self):
        self.write("d.csv", "q,w\n1,5\n2,6\n4,7\n")
        kinds = {"uniform(2, 4)": (3, 2/math.sqrt(12)), "normal(1, 0.1)": (1, 0.1),
                 "lognormal(0, 0.5)": (math.exp(0.125), math.exp(0.125)*math.sqrt(math.exp(0.25) - 1)),
                 "triangular(0, 1, 5)": (2, math.sqrt((25 + 1 - 5)/18)),
                 "loguniform(1, 10)": (9/math.log(10), math.sqrt(99/2/math.log(10) - (9/math.log(10))**2)),
                 "empirical(d.csv, q)": (7/3, math.sqrt(14/9))}
        for text, (mean, deviation) in kinds.items():
            for sample in ("random", "lhs", "sobol"):
                rows = self.rows("fall.lisma", "--vary", "c~" + text, "--sample", sample, "1024", "-m", "c",
                                 "--until", "0.001")
                values = [float(r["c"]) for r in rows]
                slack = 0.12 if sample == "random" else 0.02
                self.assertAlmostEqual(statistics.mean(values), mean, delta=slack*deviation, msg=text + sample)
                self.assertAlmostEqual(statistics.pstdev(values), deviation, delta=0.1*deviation, msg=text + sample)

    def test_strata(self):
        # a Latin hypercube and Sobol's sequence fill every stratum of every parameter once
        names = ["a", "b", "c"]
        self.write("u.lisma", "const a = 0, b = 0, c = 0;\nx' = a + b + c; x(t0) = 0;\n")
        vary = [p for n in names for p in ("--vary", n + "=0:1")]
        for sample in ("lhs", "sobol"):
            rows = self.rows("u.lisma", *vary, "--sample", sample, "64", "--seed", "5", "-m", "a", "--until", "0.01")
            for n in names:
                strata = sorted(int(float(r[n])*64) for r in rows)
                self.assertEqual(strata, list(range(64)), (sample, n))

    def test_correlated(self):
        self.write("u.lisma", "const a = 0, b = 0;\nx' = a + b; x(t0) = 0;\n")
        rows = self.rows("u.lisma", "--vary", "a~normal(0, 1)", "--vary", "b~normal(3, 2)", "--correlate", "b,a=-0.6",
                         "--sample", "lhs", "4000", "-m", "a", "--until", "0.01")
        a = [float(r["a"]) for r in rows]
        b = [(float(r["b"]) - 3)/2 for r in rows]
        self.assertAlmostEqual(sum(x*y for x, y in zip(a, b))/len(a), -0.6, delta=0.05)

    def test_failing_members_are_rows(self):
        self.write("f.lisma", "const a = 1;\nx' = sqrt(a - time); x(t0) = 0;\n")
        result = self.saltus("sweep", "f.lisma", "--vary", "a=0.5,3,-1", "--until", "1", "-m", "end(x)", "-o", "f.csv")
        self.assertEqual(result.status, 3)  # scripts notice, and the table is whole
        with open(os.path.join(self.folder, "f.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([r["status"] for r in rows], ["failed", "done", "failed"])
        self.assertTrue(rows[0]["message"].startswith("E08"))
        self.assertEqual(rows[0]["end(x)"], "")
        self.near(rows[1]["end(x)"], 2/3*(3**1.5 - 2**1.5), 1e-5)
        result = self.saltus("sweep", "f.lisma", "--vary", "a=-1,-2", "-m", "end(x)", "-o", "-")
        self.assertEqual(result.status, 3)
        self.assertIn("2 failed", result.err)

    def digest(self, *arguments):
        result = self.good("sweep", *arguments)
        return [line for line in result.err.splitlines() if line.startswith("digest: ")][0]

    def test_same_bits_for_any_number_of_threads(self):
        for model, vary in (("fall.lisma", "k~uniform(0.3, 0.9)"), ("wave.lisma", "w~normal(3, 0.5)")):
            arguments = [model, "--vary", vary, "--sample", "lhs", "300", "-m", "max(v)" if "fall" in model
                         else "max(y)", "-m", "time(main.%s)" % ("bounce" if "fall" in model else "up")]
            outputs = []
            for jobs in ("1", "2", "7"):
                outputs.append((self.digest(*arguments, "-j", jobs, "-o", "s.csv"), self.read("s.csv")))
            self.assertEqual(outputs[0], outputs[1])
            self.assertEqual(outputs[0], outputs[2])

    def test_kills_and_resumes(self):
        arguments = ["wave.lisma", "--vary", "a=2:9:400", "-m", "max(x)", "-m", "quantile(y, 0.3)"]
        whole = self.digest(*arguments, "-o", "whole.csv")
        resume = []
        rng = random.Random(7)
        for kind in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
            process = self.popen("sweep", *arguments, "-o", "s.csv", "-q", "-j", str(rng.randint(1, 4)), *resume,
                                 stderr=-3)
            deadline = time.monotonic() + 20
            rows = rng.randint(3, 60)
            before = self.read("s.csv").count("\n") if resume else 0
            while process.poll() is None and time.monotonic() < deadline:
                if os.path.exists(self.path("s.csv")) and self.read("s.csv").count("\n") > before + rows:
                    process.send_signal(kind)
                    break
                time.sleep(0.002)
            process.wait()
            if process.returncode == 0:
                break
            resume = ["--resume"]
        if process.returncode != 0:
            # a line that was cut off is made again
            with open(self.path("s.csv"), "a", encoding="utf-8") as f:
                f.write("17,3.")
            self.assertEqual(self.digest(*arguments, "-o", "s.csv", "--resume"), whole)
        self.assertEqual(self.read("s.csv"), self.read("whole.csv"))
        self.fails(2, "sweep", *arguments, "-o", "s.csv", "--resume", says="no sweep was interrupted")

    def test_resume_refuses_other_options(self):
        arguments = ["wave.lisma", "--vary", "a=2:9:4", "-m", "max(x)", "-o", "s.csv"]
        self.good("sweep", *arguments)
        self.write("s.csv.part", "0"*64)
        self.fails(2, "sweep", *arguments, "--resume", says="another model or other options")

    def test_formats_and_trajectories(self):
        self.good("sweep", "fall.lisma", "--vary", "k=0.5:0.9:5", "-o", "s.mat", "--trajectories", "members")
        self.assertTrue(os.path.getsize(self.path("s.mat")) > 300)
        self.assertEqual(sorted(os.listdir(self.path("members"))), [f"member-{i}.csv" for i in range(5)])
        self.assertEqual([f for f in os.listdir(self.folder) if "part" in f], [])

    def test_pictures(self):
        kinds = {"curve": (("--vary", "k=0.5:0.9:9"), "end(y)"),
                 "map": (("--vary", "k=0.5:0.9:9", "--vary", "y(t0)=1:3:5"), "0.9"),
                 "bands": (("--vary", "k=0.5:0.9:9", "--vary", "y(t0)=1:3:5", "--vary", "v(t0)=0:1:3"), "5 to 95 %"),
                 "seeds": (("--vary", "k=0.5:0.9:9", "--vary", "seed=1:5:5"), "5 to 95 %"),
                 "matrix": (("--vary", "k~normal(0.7, 0.05)", "--vary", "y(t0)=1:3", "--sample", "lhs", "50"), "y(t0)")}
        self.write("b.lisma", "const k = 0.8;\ny' = v; y(t0) = 2;\nv' = -9.81; v(t0) = 0;\n"
                   "state hit [y <= 0] && [v < 0] { set v = -k*v; } from init, hit;\nexperiment { end = 1.5; }\n")
        for kind, (vary, text) in kinds.items():
            sweep = ("sweep", "b.lisma", *vary, "-m", "end(y)", "-m", "time(hit, 2)", "-q", "-o", "p.csv", "--plot")
            self.good(*sweep, "p.svg")
            svg = self.read("p.svg")
            self.assertIn("<svg", svg)
            self.assertIn(text, svg, kind)
            self.assertNotIn("nan", svg.lower(), kind)
            self.assertIn("time(hit, 2)", svg, kind)
            drawn = self.good(*sweep, "-").out
            self.assertIn(text, drawn, kind)
            self.assertGreater(len(set(drawn)), 8, kind)
            with open(self.path("p.png"), "wb"):
                pass
            self.good(*sweep, "p.png", env=self.environment(ASAN_OPTIONS="detect_leaks=0"))  # fonts stay loaded
            with open(self.path("p.png"), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n", kind)

    def test_seeds_are_whole(self):
        self.write("n.lisma", "x(t0) = normal(0, 1);\n")
        for seeds in ("=1.5,2", "=-1", "=-3:3:7", "=1e300", "~normal(0, 5)"):
            self.fails(2, "sweep", "n.lisma", "--vary", "seed" + seeds, "--sample", "lhs", "3", "-m", "end(x)", says="whole numbers")

    def test_seed_varies(self):
        self.write("n.lisma", "x(t0) = 0;\nat 0 each 1 repeat 5 { set x = uniform(0, 1); }\n")
        rows = self.rows("n.lisma", "--vary", "seed=1:3:3", "-m", "end(x)")
        self.assertEqual(len({r["end(x)"] for r in rows}), 3)

    def test_bad_input(self):
        def bad(status, says, *arguments):
            result = self.fails(status, "sweep", *arguments, says=says)
            self.assertIn("saltus: error:", result.err)
        vary = ("fall.lisma", "--vary", "k=0.5:0.9:5")
        bad(2, "something that varies", "fall.lisma")
        bad(1, "did you mean y0", "fall.lisma", "--vary", "yo=1")
        bad(2, "name of another column", *vary, "--measure", "k = max(y)")
        bad(2, "name of another column", *vary, "--measure", "status = max(y)")
        bad(1, "y(t0) is its initial value", "fall.lisma", "--vary", "y=1")
        bad(2, "the range is empty", "fall.lisma", "--vary", "k=2:1:5")
        self.write("words.csv", "k\n0.5\nhalf\n")
        bad(2, "row 2 of column `k` is `half`", "fall.lisma", "--vary", "k~empirical(words.csv, k)", "--sample", "random", "3")
        bad(2, "how many values", "fall.lisma", "--vary", "k=0:1:0")
        bad(2, "no way to vary", "fall.lisma", "--vary", "k=a,b")
        bad(2, "varied twice", *vary, "--vary", "k=1")
        bad(1, "no distribution `gauss`", "fall.lisma", "--vary", "k~gauss(0, 1)")
        bad(2, "a grid needs values", "fall.lisma", "--vary", "k~normal(0, 1)")
        bad(2, "needs the number", *vary, "--sample", "lhs")
        bad(2, "does not know", *vary, "--sample", "sobel", "5")
        bad(2, "no correlation", *vary, "--correlate", "k,y0=2")
        bad(2, "10^15", "fall.lisma", *(p for n in ("k", "y0", "c") for p in ("--vary", n + "=0:1:1000000")))
        bad(1, "the model has no `yy`", *vary, "-m", "max(yy)")
        bad(2, "say what of it", *vary, "-m", "y")
        bad(1, "no state `rest`", *vary, "-m", "time(main.rest)")
        bad(1, "no automaton `m`", *vary, "-m", "time(m.rest)")
        bad(2, "between 0 and 1", *vary, "-m", "quantile(y, 2)")
        bad(1, "there is no function `mx`", *vary, "-m", "mx(y)")
        bad(2, "expected", *vary, "-m", "max(y")
        bad(2, "the formula ends", *vary, "-m", "max(y) max(v)")
        bad(2, "two measures", *vary, "-m", "a=max(y)", "-m", "a=min(y)")
        bad(2, "cannot be written", *vary, "-m", "max(y)", "-o", "x.xlsx")
        bad(2, "the runs would end", *vary, "--until", "-1")
        self.write("shape.lisma", "const n = 3;\nfor i = 1:n { x[i]' = 1; x[i](t0) = 0; }\n")
        bad(2, "shapes the model", "shape.lisma", "--vary", "n=1,2", "-m", "end(x1)")

    def test_a_billion_members_begin_at_once(self):
        process = self.popen("sweep", "fall.lisma", "--vary", "k=0:1:1000000000", "-o", "s.csv", stderr=-1)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if os.path.exists(self.path("s.csv")) and self.read("s.csv").count("\n") > 100:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        err = process.communicate()[1].decode()
        self.assertEqual(process.returncode, 130)
        self.assertIn("of 1000000000 members", err)


if __name__ == "__main__":
    cli_case.main()
