#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus sens, fit and compare: closed forms, verdicts, recovered parameters, bad input."""
import csv
import io
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

G = 9.80665


class Experiment(cli_case.CliCase):
    def table(self, *arguments):
        result = self.good(*arguments, "-o", "-")
        return list(csv.DictReader(io.StringIO(result.out)))

    def sens(self, model, params, *measures, options=()):
        arguments = [part for m in measures for part in ("-m", m)]
        rows = self.table("sens", model, "--params", params, *arguments, *options)
        return {(r["measure"], r["parameter"]): r for r in rows}

    def derivative(self, row, expected, tolerance=1e-9):
        self.assertTrue(row["verdict"].startswith("exists"), row)
        self.assertAlmostEqual(float(row["derivative"]), expected, delta=tolerance*max(abs(expected), 1e-300) + 1e-12,
                               msg=str(row))


class Sens(Experiment):
    def test_event_times(self):
        # the time of an event and all that follows from it, in units from small to large
        for unit in (1e-6, 1.0, 1e6):
            self.write("m.lisma", f"const q = {2*unit}, a = {3*unit};\nx' = a; x(t0) = 0;\ny(t0) = 0;\n"
                       "state done [x >= q] { x' = -a; set y = time; } from init;\nexperiment { end = 5; }\n")
            rows = self.sens("m.lisma", "q,a,x(t0)", "time(main.done)", "end(x)", "end(y)", "max(x)")
            a, q = 3*unit, 2*unit
            self.derivative(rows["time(main.done)", "q"], 1/a)
            self.derivative(rows["time(main.done)", "a"], -q/a**2)
            self.derivative(rows["time(main.done)", "x(t0)"], -1/a)
            self.derivative(rows["end(x)", "q"], 2)
            self.derivative(rows["end(x)", "a"], -5)
            self.derivative(rows["end(y)", "q"], 1/a)
            self.derivative(rows["max(x)", "q"], 1)

    def test_impacts(self):
        self.write("m.lisma", "const k = 0.8, h = 10;\ny' = v; y(t0) = h;\nv' = -g; v(t0) = 0;\n"
                   "state b [y <= 0] && [v < 0] { v(t0) = -k*v; } from init, b;\nexperiment { end = 4; }\n")
        rows = self.sens("m.lisma", "k,h", "time(b)", "time(b, 2)", "at(y, 2)", "end(v)", "integral(y)", "max(v)")
        k, h = 0.8, 10.0
        t1 = math.sqrt(2*h/G)
        u = G*t1
        self.derivative(rows["time(b)", "h"], 1/u)
        self.derivative(rows["time(b, 2)", "k"], 2*t1)
        self.derivative(rows["time(b, 2)", "h"], (1 + 2*k)/u)
        self.derivative(rows["at(y, 2)", "k"], u*(2 - t1))
        self.derivative(rows["at(y, 2)", "h"], (k*G*(2 - t1) - k*u + G*(2 - t1))/u)
        self.derivative(rows["max(v)", "k"], u)
        # v at the end, after two impacts: k^2 u - g (4 - t2), t2 = t1 (1 + 2 k)
        self.derivative(rows["end(v)", "k"], 2*k*u + 2*G*t1)
        self.derivative(rows["end(v)", "h"], k*k*G/u + G*(1 + 2*k)/u)

    def test_sliding_and_structure(self):
        # x slides on 0 from t = 1/(1 + a) on; y integrates what keeps it there
        self.write("s.lisma", "const a = 0.5, c = 2;\nx' = a - sign(x); x(t0) = 0.5;\ny' = sign(x); y(t0) = 0;\n"
                   "experiment { end = 3; }\n")
        rows = self.sens("s.lisma", "a", "end(y)", "end(x)")
        # until 0.5/(1 - a) = 1 y grows by 1, then it grows with the equivalent value a
        a = 0.5
        self.derivative(rows["end(y)", "a"], 0.5/(1 - a)**2 + 3 - (0.5/(1 - a) + a*0.5/(1 - a)**2), 1e-7)
        # another equation takes over: a tank that runs empty
        self.write("t.lisma", "const q = 1;\nh' = -q*sqrt(h); h(t0) = 4;\nlevel(t0) = 0;\n"
                   "state low [h <= 1] { h' = -q*h; } from init;\nexperiment { end = 3; }\n")
        rows = self.sens("t.lisma", "q,h(t0)", "end(h)", "time(low)")
        self.derivative(rows["time(low)", "q"], -2)
        self.derivative(rows["time(low)", "h(t0)"], 0.5)
        # h(3) = exp(-q (3 - 2 (sqrt(h0) - 1)/q))
        self.derivative(rows["end(h)", "q"], -3*math.exp(-1), 1e-8)
        self.derivative(rows["end(h)", "h(t0)"], 0.5*math.exp(-1), 1e-8)

    def test_constraints(self):
        self.write("p.lisma", "const l = 1;\nx'' = -f*x; y'' = -f*y - g; x^2 + y^2 = l^2;\n"
                   "x(t0) = l*sin(0.1); x'(t0) = 0; y(t0) ~= -l*cos(0.1);\nexperiment { end = 1; }\n")
        rows = self.sens("p.lisma", "l", "end(x)")
        values = []
        for l in (1 - 1e-3, 1 + 1e-3):
            row = self.table("sweep", "p.lisma", "--vary", f"l={l}", "-m", "end(x)", "--rtol", "1e-12", "--atol",
                             "1e-14")[0]
            values.append(float(row["end(x)"]))
        self.derivative(rows["end(x)", "l"], (values[1] - values[0])/2e-3, 1e-4)

    def test_grazing_is_told_and_transversal_is_not(self):
        rng = random.Random(3)
        for case in range(6):
            w = rng.uniform(0.5, 3)
            a = rng.uniform(0.3, 40)
            grazes = case % 2 == 0
            level = a if grazes else a*rng.uniform(0.2, 0.95)
            self.write("g.lisma", f"const a = {a!r};\nx' = {w!r}*y; x(t0) = 0;\ny' = -{w!r}*x; y(t0) = a;\n"
                       f"state up [x >= {level!r}] {{ set y = y + {a!r}; }} from init;\nexperiment {{ end = {4/w!r}; }}\n")
            row = self.sens("g.lisma", "a", "end(x)")["end(x)", "a"]
            self.assertEqual(row["verdict"] != "exists", grazes, row)
            if grazes:
                self.assertAlmostEqual(float(row["changes_above"] or row["changes_below"]), a, delta=1e-6*a)

    def test_boundary_near_by_is_located(self):
        self.write("g.lisma", "const a = 1.004;\nx' = y; x(t0) = 0;\ny' = -x; y(t0) = a;\n"
                   "state up [x >= 1] { set y = y + 1; } from init;\nexperiment { end = 3; }\n")
        row = self.sens("g.lisma", "a", "time(up)")["time(up)", "a"]
        self.derivative(row, -1/(1.004*math.sqrt(1.004**2 - 1)), 1e-7)
        self.assertAlmostEqual(float(row["changes_below"]), 1.0, delta=1e-9)

    def test_ties_and_kinks(self):
        # two events at one time whose order matters: the measure jumps
        self.write("t.lisma", "const p = 1;\nx' = 1; x(t0) = 0;\nz(t0) = 1;\n"
                   "automaton A { state a [x >= 1] { set z = 2*z; } from init; }\n"
                   "automaton B { state b [x >= p] { set z = z + 1; } from init; }\nexperiment { end = 2; }\n")
        row = self.sens("t.lisma", "p", "end(z)")["end(z)", "p"]
        self.assertNotEqual(row["verdict"], "exists", row)
        # the larger of two: left and right differ, both are told
        self.write("k.lisma", "const p = 1;\nx' = p; x(t0) = 0;\ny' = 1; y(t0) = 0;\nexperiment { end = 2; }\n")
        row = self.sens("k.lisma", "p", "m = max(end(x), end(y))")["m", "p"]
        self.assertEqual(row["verdict"], "one-sided")
        self.assertAlmostEqual(float(row["left"]), 0, delta=1e-8)
        self.assertAlmostEqual(float(row["right"]), 2, delta=1e-8)

    def test_accumulation(self):
        # infinitely many impacts before the end: first ones and the rest do not mind
        self.write("z.lisma", "const k = 0.5, h = 1;\ny' = v; y(t0) = h;\nv' = -g; v(t0) = 0;\n"
                   "state b [y <= 0] && [v < 0] { v(t0) = -k*v; } from init, b;\nexperiment { end = 4; }\n")
        rows = self.sens("z.lisma", "k", "time(b, 3)", "end(y)")
        self.derivative(rows["time(b, 3)", "k"], math.sqrt(2/G)*(2 + 4*0.5))
        self.assertAlmostEqual(float(rows["end(y)", "k"]["value"]), 0, delta=1e-9)

    def test_bad_input(self):
        self.fails(2, "sens", "ball.lisma", says="needs parameters")
        self.fails(2, "sens", "ball.lisma", "--params", "k", says="what to measure")
        self.fails(1, "sens", "ball.lisma", "--params", "kk", "-m", "max(y)", says="did you mean k")
        self.write("f.lisma", "const a = -1;\nx' = sqrt(a - time); x(t0) = 0;\n")
        self.fails(3, "sens", "f.lisma", "--params", "a", "-m", "end(x)", says="does not start: at the start the derivative of 'x'")
        self.fails(3, "optimize", "f.lisma", "--minimize", "end(x)", "--params", "a", says="the measure: at the start the derivative")


class Rules(Experiment):
    def test_cells_of_rules(self):
        """Numbers in the rows of rules vary under the name of their cell: T = 20 + 70 exp(-k t), k in two cells."""
        model = os.path.join(cli_case.SOURCE, "models", "rules", "room.rules.md")
        end = "end(`Body temperature`)"
        for name, unit in (("rule 2.coefficient", 1000.0), ("rule 3.coefficient", -0.5), ("правило 2.коэффициент", 1000.0)):
            rows = self.table("sweep", model, "--vary", name + "=%g,%g" % (1e-3*unit, 2e-3*unit), "-m", end, "--rtol", "1e-10")
            for row, k in zip(rows, (1e-3, 2e-3)):
                self.assertAlmostEqual(float(row[end]), 20 + 70*math.exp(-3000*k), delta=1e-7)
            sens = self.table("sens", model, "--params", name, "-m", end)
            self.assertEqual(sens[0]["verdict"], "exists")
            self.assertAlmostEqual(float(sens[0]["derivative"])*unit, -3000*70*math.exp(-6), delta=1e-4)
        rows = self.table("sweep", model, "--vary", "rule 1.second coefficient=-1,-2", "--set", "rule 2.coefficient=1", "-m", end)
        for row, room in zip(rows, (20, 40)):
            self.assertAlmostEqual(float(row[end]), room + (90 - room)*math.exp(-3), delta=1e-3)
        for name in ("rule 9.coefficient", "rule 2.time constant", "rule 1.points"):
            self.fails(1, "sweep", model, "--vary", name + "=1,2", "-m", end, says="no constant")

    def test_tables_of_rules(self):
        """Constants of rules vary, and quantities with blanks in their names are measured: a body that cools down."""
        model = os.path.join(cli_case.SOURCE, "models", "rules", "room.rules.md")
        body = "end(`Body temperature`)"
        rows = self.table("sweep", model, "--vary", "heat transfer=1:3:3", "-m", body, "-m", "start(`Body temperature`)",
                          "--rtol", "1e-10", "--until", "3000")
        for row in rows:
            begin = float(row["start(`Body temperature`)"])
            cools = (begin - 20)*math.exp(-3*float(row["heat transfer"]))
            self.assertAlmostEqual(float(row[body]), 20 + cools, delta=1e-8)
        row = self.sens(model, "heat transfer", body, options=("--until", "3000"))[body, "heat transfer"]
        self.derivative(row, -3*(begin - 20)*math.exp(-6))


class Course(Experiment):
    def test_derivatives_along_a_run(self):
        """Of a ball in flight, after its bounce, and by the height that it falls from."""
        self.write("m.lisma", "const k = 0.8, h = 5;\ny' = v; y(t0) = h;\nv' = -10; v(t0) = 0;\n"
                   "state b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\nexperiment { end = 1.5; }\n")
        text = self.good("sens", "m.lisma", "--params", "k,y(t0)", "--out", "y,v", "--every", "0.25", "-o", "-", "-q").out
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([float(r["time"]) for r in rows], [0.25*i for i in range(7)])
        for r in rows:
            t = float(r["time"])
            got = [float(r[f"d {x}/d {p}"]) for x in "yv" for p in ("k", "y(t0)")]
            # falls for 1 s to -10 m/s; the impact moves by 0.1 s for each metre, and its speed by 1 m/s
            want = [10*(t - 1), 0.8*(t - 1) - 0.1*8 + 10*0.1*(t - 1), 10, 0.8 + 1] if t > 1 else [0, 1, 0, 0]
            if t != 1:
                for a, b in zip(got, want):
                    self.assertLess(abs(a - b), 1e-10, r)

    def test_bad_input(self):
        self.write("m.lisma", "const k = 2;\nx' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n")
        for arguments, says in (((), "sens needs parameters"), (("--params", "no"), "no constant or initial value"),
                                (("--params", "k", "-m", "end(x)"), "without measures"), (("--params", "k", "--every", "1e-12"), "too many rows")):
            self.assertIn(says, self.saltus("sens", "m.lisma", "--out", "x", *arguments).err)
        self.fails(1, "sens", "m.lisma", "--params", "k", "--out", "z", says="no `z`")


class Files(Experiment):
    def test_what_was_there_stays_until_there_are_rows(self):
        self.write("m.lisma", "const k = 2;\nx' = -k*x; x(t0) = 1;\nexperiment { end = 1; }\n")
        self.write("b.lisma", "x' = 1; x(t0) = 0; z(t0) = 0;\nstate s [x >= 2] { stop; } from init;\nexperiment { end = 5; }\n")
        wrong = (("sens", "m.lisma", "--params", "no", "-m", "end(x)"),
                 ("optimize", "m.lisma", "--minimize", "end(x)", "--params", "no"),
                 ("steady", "b.lisma"),
                 ("linearize", "b.lisma", "--at", "-1"),
                 ("linearize", "b.lisma", "--at", "3"))
        for arguments in wrong:
            self.write("kept.csv", "mine\n")
            result = self.saltus(*arguments, "-q", "-o", "kept.csv")
            self.assertNotEqual(result.status, 0, arguments)
            self.assertEqual(self.read("kept.csv"), "mine\n", arguments)
            self.assertNotIn(",", self.saltus(*arguments, "-q", "-o", "-").out, arguments)
        self.good("sens", "m.lisma", "--params", "k", "-m", "end(x)", "-q", "-o", "kept.csv")
        self.assertTrue(self.read("kept.csv").startswith("measure,parameter,"))
        self.fails(2, "linearize", "b.lisma", "--at", "3", says="the run goes from 0 to 2")


class Fit(Experiment):
    MODEL = ("const k = 30, d = 0.3, x0 = 1;\nx'' = -k*x - d*x'; x(t0) = x0; x'(t0) = 0;\n"
             "experiment { end = 3; }\n")

    def data(self, name, noise, k=40.0, d=0.5, x0=1.5, seed=1, missing=False, times=60):
        rng = random.Random(seed)
        w = math.sqrt(k - d*d/4)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write("time,x,unknown\n")
            for i in range(times):
                t = 0.05*i
                x = x0*math.exp(-d*t/2)*(math.cos(w*t) + d/(2*w)*math.sin(w*t))
                cell = "" if missing and i % 3 else repr(x + rng.gauss(0, noise))
                f.write(f"{t!r},{cell},7\n")
        return name

    def fit(self, *arguments):
        return {r["parameter"]: r for r in self.table("fit", *arguments)}

    def test_picture_and_report(self):
        self.write("m.lisma", self.MODEL)
        self.data("noisy.csv", 0.02, missing=True)
        self.good("fit", "m.lisma", "--data", "noisy.csv", "--data", "noisy.csv,x0=1.4", "--params", "k,d", "--plot", "fit.svg", "-q")
        svg = self.read("fit.svg")
        self.assertEqual(svg.count(">residual<"), 2)  # a panel for each file
        self.assertIn("fill-opacity=\"0.25\"", svg)  # the interval
        printed = self.good("fit", "m.lisma", "--data", "noisy.csv", "--params", "k,d", "--report", "fit.html").out
        page = self.read("fit.html")
        for part in ("<svg", "95 % interval", "<td>k</td>", "const k = 30", "--data noisy.csv"):
            self.assertIn(part, page)
        self.assertIn("95 % interval", printed)
        self.assertEqual(sorted(f for f in os.listdir(self.folder) if f.startswith("fit.")), ["fit.csv", "fit.html", "fit.svg"])

    def test_reports_of_all_commands(self):
        self.write("m.lisma", self.MODEL)
        self.data("data.csv", 0.0)
        for words, parts in ((("sweep", "--vary", "k=10:30:5", "-m", "max(x)"), ("<svg", "<th>member</th>")),
                             (("sens", "--params", "k", "-m", "max(x)"), ("<svg", "exists")),
                             (("measure", "-m", "a = max(x)"), ("<th>a</th>",)),
                             (("steady",), ("stable",)),
                             (("linearize",), ("eigenvalue",)),
                             (("compare", "--data", "data.csv", "--tol", "1e-9"), ("data.csv", "<svg", "differs"))):
            self.saltus(words[0], "m.lisma", *words[1:], "--report", "r.html")
            page = self.read("r.html")
            for part in (*parts, "</html>"):
                self.assertIn(part, page, words)
            os.remove(self.path("r.html"))
        self.fails(2, "sweep", "m.lisma", "--vary", "k=1:2:2", "-m", "max(x)", "-o", "-", "--report", "r.html")
        self.fails(2, "sweep", "m.lisma", "--vary", "k=1:2:2", "-m", "max(x)", "--report", "r.txt")

    def test_bad_requests(self):
        self.write("m.lisma", self.MODEL)
        self.data("d.csv", 0.01)
        self.write("early.csv", "time,x\n-3,1\n-2,1\n-1,1\n")
        for words, says in ((("--data", "early.csv", "--params", "k"), "before the run begins"),
                            (("--data", "d.csv", "--params", "k,k"), "`k` is there twice"),
                            (("--data", "d.csv,k=3", "--params", "k"), "is set for data 1"),
                            (("--data", "d.csv,x(t0)=3", "--params", "k"), "is no constant"),
                            (("--data", "d.csv", "--params", "seed"), "nothing depends smoothly on a seed")):
            self.fails(2, "fit", "m.lisma", *words, says=says)
        self.fails(1, "fit", "m.lisma", "--data", "d.csv,x00=3", "--params", "k", says="did you mean x0?")
        self.fails(2, "sens", "m.lisma", "--params", "d,d", "-m", "end(x)", says="`d` is there twice")
        # rows before the run have nothing to be compared with
        self.write("both.csv", self.read("d.csv").replace("x,unknown\n", "x,unknown\n-1.0,55,7\n", 1))
        self.assertEqual(self.fit("m.lisma", "--data", "both.csv", "--params", "k,d,x0"),
                         self.fit("m.lisma", "--data", "d.csv", "--params", "k,d,x0"))

    def test_columns_with_other_names(self):
        self.write("m.lisma", self.MODEL)
        self.data("named.csv", 0.0)
        text = self.read("named.csv")
        header, rest = text.split("\n", 1)
        self.write("other.csv", header.replace("time", "t [s]").replace("x", "position") + "\n" + rest)
        options = ("--params", "k,d,x0")
        named = self.table("fit", "m.lisma", "--data", "named.csv", *options)
        other = self.table("fit", "m.lisma", "--data", "other.csv", *options, "--columns", "x=position,time=t [s]")
        self.assertEqual(named, other)
        self.fails(1, "fit", "m.lisma", "--data", "other.csv", *options, "--columns", "x=speed,time=t [s]",
                   says="no column `speed`")
        self.fails(1, "fit", "m.lisma", "--data", "other.csv", *options, "--columns", "q=position,time=t [s]",
                   says="has no `q`")
        self.fails(2, "fit", "m.lisma", "--data", "other.csv", *options, "--columns", "x", says="gives no column")

    def test_decimal_commas(self):
        """Tables as spreadsheets write them: semicolons or tabs, decimal commas, a byte order mark, CRLF."""
        self.write("m.lisma", self.MODEL)
        self.data("d.csv", 0.01, missing=True)
        options = ("--params", "k,d,x0")
        plain = self.table("fit", "m.lisma", "--data", "d.csv", *options)
        lines = self.read("d.csv").split("\n")
        for separator in (";", "\t"):
            text = "\r\n".join(line.replace(",", separator).replace(".", ",") for line in lines)
            self.write("s.csv", b"\xef\xbb\xbf" + text.encode())
            self.assertEqual(self.table("fit", "m.lisma", "--data", "s.csv", *options), plain)
            self.good("compare", "d.csv", "s.csv", "--tol", "1e-15")
        self.write("bad.csv", "time,x\n0,1,5\n")
        self.assertIn("decimal commas", self.fails(2, "fit", "m.lisma", "--data", "bad.csv", "--params", "k").err)

    def test_exact_data(self):
        self.write("m.lisma", self.MODEL)
        for missing in (False, True):
            self.data("d.csv", 0.0, missing=missing)
            rows = self.fit("m.lisma", "--data", "d.csv", "--params", "k,d,x0")
            for name, value in (("k", 40), ("d", 0.5), ("x0", 1.5)):
                self.assertAlmostEqual(float(rows[name]["value"]), value, delta=2e-6*value)

    def test_intervals_cover(self):
        self.write("m.lisma", self.MODEL)
        inside = 0
        for seed in range(40):
            self.data("d.csv", 0.05, seed=seed)
            row = self.fit("m.lisma", "--data", "d.csv", "--params", "k,d,x0")["k"]
            inside += float(row["lower"]) <= 40 <= float(row["upper"])
        self.assertGreaterEqual(inside, 34)  # of 40 with probability 0.95 each: 1 in 1000 fails
        self.assertLess(inside, 41)

    def test_outliers(self):
        self.write("m.lisma", self.MODEL)
        self.data("d.csv", 0.001)
        lines = self.read("d.csv").splitlines()
        for i in (7, 20, 41):
            t = lines[i].split(",")[0]
            lines[i] = f"{t},5,7"
        self.write("d.csv", "\n".join(lines) + "\n")
        plain = abs(float(self.fit("m.lisma", "--data", "d.csv", "--params", "k,d,x0")["d"]["value"]) - 0.5)
        for loss in ("huber", "cauchy"):
            rows = self.fit("m.lisma", "--data", "d.csv", "--params", "k,d,x0", "--loss", loss)
            self.assertLess(abs(float(rows["d"]["value"]) - 0.5), 0.2*plain)

    def test_missed_events(self):
        """Entries that nobody has measured are empty cells; beside a column of times the numbers follow each other."""
        self.write("m.lisma", "const k = 0.8, h = 5;\ny' = v; y(t0) = h;\nv' = -10; v(t0) = 0;\n"
                   "state b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\n")
        k, h = 0.75, 4.2
        t, times = math.sqrt(h/5), []
        u = 10*t
        for _ in range(6):
            times.append(t)
            u *= k
            t += 2*u/10
        cells = ["" if i in (1, 4) else repr(t) for i, t in enumerate(times)]
        self.write("alone.csv", "time(b)\n" + "\n".join(cells) + "\n")
        self.write("two.csv", "time(b);y\n" + "\n".join(c.replace(".", ",") + ";" for c in cells) + "\n")
        self.write("timed.csv", "time,y,time(b)\n" + "".join(f"{0.1*i},{h - 5*(0.1*i)**2!r},{times[i - 3] if i > 2 else ''}\n"
                                                             for i in range(9)))
        for name in ("alone.csv", "two.csv", "timed.csv"):
            if name == "two.csv":
                self.fails(1, "fit", "m.lisma", "--data", name, "--params", "k,h", says="no column `time`")
                continue
            rows = self.fit("m.lisma", "--data", name, "--params", "k,h")
            self.assertAlmostEqual(float(rows["k"]["value"]), k, delta=1e-8)
            self.assertAlmostEqual(float(rows["h"]["value"]), h, delta=1e-8)

    def test_event_times_before_zero(self):
        """Events are waited for from where the run begins, wherever that is."""
        self.write("m.lisma", "const q = 4;\nx' = 1; x(t0) = 0;\nstate b [x >= q] { set x = 0; } from init, b;\n")
        for begin in (-20, 0, 1000):
            self.write("e.csv", "time(b)\n" + "".join(f"{begin + 3*i}\n" for i in range(1, 6)))
            rows = self.fit("m.lisma", "--data", "e.csv", "--params", "q", "--from", str(begin))
            self.assertAlmostEqual(float(rows["q"]["value"]), 3, delta=1e-8)

    def test_event_times(self):
        self.write("b.lisma", "const k = 0.6, h = 3;\ny' = v; y(t0) = h;\nv' = -g; v(t0) = 0;\n"
                   "state b [y <= 0] && [v < 0] { v(t0) = -k*v; } from init, b;\n")
        t1 = math.sqrt(2*5/G)
        times = [t1, t1*(1 + 2*0.8), t1*(1 + 2*0.8 + 2*0.64)]
        self.write("e.csv", "time(main.b)\n" + "".join(f"{t!r}\n" for t in times))
        rows = self.fit("b.lisma", "--data", "e.csv", "--params", "k,h")
        self.assertAlmostEqual(float(rows["k"]["value"]), 0.8, delta=1e-7)
        self.assertAlmostEqual(float(rows["h"]["value"]), 5, delta=1e-6)

    def test_rows_of_a_run_with_jumps(self):
        # rows before and after an event stand at one time, which moves with the parameters
        self.good("run", "ball.lisma", "-q", "--set", "k=0.75", "--until", "3", "-o", "r.csv")
        rows = self.fit("ball.lisma", "--data", "r.csv", "--params", "k", "--set", "k=0.7501")
        self.assertAlmostEqual(float(rows["k"]["value"]), 0.75, delta=1e-6)

    def test_several_files_with_their_own_settings(self):
        self.write("m.lisma", "const a = 1, load = 0;\nx' = -a*x + load; x(t0) = 1;\n")
        for load in (0, 2):
            rows = "".join(f"{t},{load/3 + (1 - load/3)*math.exp(-3*t)!r}\n" for t in (0.1, 0.3, 0.7))
            self.write(f"d{load}.csv", "time,x\n" + rows)
        rows = self.fit("m.lisma", "--data", "d0.csv", "--data", "d2.csv,load=2", "--params", "a")
        self.assertAlmostEqual(float(rows["a"]["value"]), 3, delta=1e-6)

    def test_what_the_data_do_not_determine(self):
        self.write("m.lisma", "const a = 1, b = 2;\nx' = -a*b*x; x(t0) = 1;\n")
        self.write("d.csv", "time,x\n" + "".join(f"{t},{math.exp(-3*t) + 1e-3*(-1)**i!r}\n"
                                                for i, t in enumerate((0.1, 0.2, 0.4, 0.8))))
        result = self.good("fit", "m.lisma", "--data", "d.csv", "--params", "a,b")
        self.assertIn("not determined by the data", result.out)
        rows = self.fit("m.lisma", "--data", "d.csv", "--params", "a,b")
        self.assertEqual(rows["a"]["deviation"], "Inf")
        self.assertAlmostEqual(float(rows["a"]["value"])*float(rows["b"]["value"]), 3, delta=0.05)

    def test_bounds_and_starts(self):
        # from far away the search ends elsewhere; beginnings all over the bounds find it
        self.write("m.lisma", "const w = 1;\nx' = w*y; x(t0) = 0;\ny' = -w*x; y(t0) = 1;\n")
        self.write("d.csv", "time,x\n" + "".join(f"{0.1*i},{math.sin(0.1*i*7)!r}\n" for i in range(1, 80)))
        rows = self.fit("m.lisma", "--data", "d.csv", "--params", "w", "--bounds", "w=0.5:10", "--starts", "20")
        self.assertAlmostEqual(float(rows["w"]["value"]), 7, delta=1e-6)
        rows = self.fit("m.lisma", "--data", "d.csv", "--params", "w", "--bounds", "w=0.5:6.9", "--starts", "20")
        self.assertLessEqual(float(rows["w"]["value"]), 6.9)

    def test_bad_input(self):
        self.write("m.lisma", self.MODEL)
        self.data("d.csv", 0.0)
        bad = lambda status, says, *a: self.fails(status, "fit", "m.lisma", *a, says=says)  # noqa: E731
        bad(2, "needs data and parameters", "--params", "k")
        bad(1, "no parameter `kk`", "--data", "d.csv", "--params", "kk")
        bad(2, "cross", "--data", "d.csv", "--params", "k", "--bounds", "k=5:1")
        bad(2, "no bounds of a parameter", "--data", "d.csv", "--params", "k", "--bounds", "d=1:5")
        self.write("none.csv", "time,y\n0,1\n1,2\n")
        bad(1, "column that the model knows", "--data", "none.csv", "--params", "k")
        self.write("few.csv", "time,x\n0,1\n1,2\n")
        bad(2, "cannot be found from 2 numbers", "--data", "few.csv", "--params", "k,d,x0")
        self.write("text.csv", "time,x\n0,1\n1,abc\n2,3\n3,4\n")
        bad(2, "row 2 of column `x` is `abc`, which is no number", "--data", "text.csv", "--params", "k")
        self.write("text.csv", "time,x\n0,1\nnoon,2\n2,3\n3,4\n")
        bad(2, "row 2 of column `time` is `noon`", "--data", "text.csv", "--params", "k")
        self.write("back.csv", "time,x\n1,1\n0,2\n2,3\n")
        bad(2, "not in order of time", "--data", "back.csv", "--params", "k")
        bad(2, "does not know", "--data", "d.csv", "--params", "k", "--loss", "l1")
        self.write("twice.csv", "time,x\n0,1\n0,1.1\n1,2\n1,2.1\n2,3\n2,3.1\n")
        bad(2, "stand at jumps", "--data", "twice.csv", "--params", "k")
        self.write("unit.csv", "time,x [mm]\n0,1\n1,2\n2,3\n")
        bad(1, "`time`, `x [mm]`", "--data", "unit.csv", "--params", "k")
        self.write("two.csv", "time,x,x,a,b\n0,1,1,1,1\n1,2,2,2,2\n2,3,3,3,3\n3,4,4,4,4\n")
        bad(2, "two columns `x`", "--data", "two.csv", "--params", "k")
        self.write("two.csv", "time,x,time\n0,1,0\n1,2,1\n2,3,2\n3,4,3\n")
        bad(2, "two columns `time`", "--data", "two.csv", "--params", "k")
        self.write("two.csv", "time,x,a,b\n0,1,1,1\n1,2,2,2\n2,3,3,3\n3,4,4,4\n")
        bad(2, "`x` and `a` of the data both stand for `x`", "--data", "two.csv", "--params", "k", "--columns", "x=a")
        self.write("two.csv", "time,a,b\n0,1,1\n1,2,2\n2,3,3\n3,4,4\n")
        self.good("fit", "m.lisma", "--data", "two.csv", "--params", "k", "--columns", "x=a,x=b")

    def test_data_elsewhere(self):
        """What is left out, and data that no experiment comes to, are told."""
        self.write("m.lisma", "const k = 1;\nx' = -k*x;  x(t0) = 3;\nexperiment { end = 2; }\n")
        rows = [(t / 10, 3 * math.exp(-0.5 * t / 10)) for t in range(30)]
        for shift, says in ((0.0, ""), (-0.95, "10 numbers of the data are left out"), (100.0, "it was run on to them")):
            self.write("d.csv", "time,x\n" + "".join(f"{t + shift!r},{x!r}\n" for t, x in rows))
            result = self.good("fit", "m.lisma", "--data", "d.csv", "--params", "k")
            self.assertIn(says, result.out)
            self.assertEqual("left out" in result.out, "left out" in says)
            self.assertEqual("run on" in result.out, "run on" in says)
        self.write("d.csv", "time,x\n" + "".join(f"{t!r},{x!r}\n" * 2 for t, x in rows))
        self.assertIn("60 residuals", self.good("fit", "m.lisma", "--data", "d.csv", "--params", "k").out)


class Optimize(Experiment):
    def setUp(self):
        super().setUp()
        self.write("m.lisma", "const a = 1, b = 1;\nx' = (a - 3)^2 + (b + 1)^2 + a*b/2; x(t0) = 0;\ny' = a + b; y(t0) = 0;\n"
                   "experiment { end = 1; }\n")
        result = self.saltus("optimize", "m.lisma", "--minimize", "end(x)", "--params", "a,b", "-q")
        if "NLopt" in result.err:
            self.assertEqual(result.status, 2)
            self.assertIn("libnlopt-dev", result.err)
            self.skipTest("this build has no NLopt")

    def optimize(self, *arguments, status=0):
        result = self.saltus("optimize", "m.lisma", *arguments)
        self.assertEqual(result.status, status, result.err)
        return {line.split()[0]: float(line.split()[1]) for line in result.out.splitlines()}

    def test_smooth(self):
        # gradient zero: 2 (a - 3) + b/2 = 0, 2 (b + 1) + a/2 = 0
        b = -(2 + 1.5)/(2 - 1/8)
        a = 3 - b/4
        best = (a - 3)**2 + (b + 1)**2 + a*b/2
        for search in ("gradient", "simplex"):
            found = self.optimize("--minimize", "end(x)", "--params", "a,b", "--search", search)
            self.assertAlmostEqual(found["a"], a, delta=1e-3)
            self.assertAlmostEqual(found["b"], b, delta=1e-3)
            self.assertAlmostEqual(found["end(x)"], best, delta=1e-6)

    def test_conditions_and_bounds(self):
        # on the line a + b = 4 the measure has its minimum where its derivative along it is zero
        a = min(((4*i/4000, ) for i in range(4001)), key=lambda p: (p[0] - 3)**2 + (5 - p[0])**2 + p[0]*(4 - p[0])/2)[0]
        found = self.optimize("--minimize", "end(x)", "--params", "a,b", "--subject-to", "end(y) >= 4", "--bounds", "a=0:4")
        self.assertAlmostEqual(found["a"], a, delta=2e-3)
        self.assertAlmostEqual(found["a"] + found["b"], 4, delta=1e-6)
        found = self.optimize("--maximize", "end(y)", "--params", "a", "--bounds", "a=0:2.5")
        self.assertAlmostEqual(found["a"], 2.5, delta=1e-9)
        self.optimize("--minimize", "end(x)", "--params", "a", "--bounds", "a=0:1", "--subject-to", "end(y) >= 9", status=3)

    def test_units(self):
        # the nearest point to (3, 1) with x + y <= 2 is (2, 0), and none has x + y <= -1 where both are positive
        for u in (1e-9, 1.0, 1e9):
            self.write("m.lisma", f"const a = {1.5*u}, b = {0.2*u};\nx' = 0; x(t0) = a;\ny' = 0; y(t0) = b;\n"
                       f"measure f = end((x - {3*u})^2 + (y - {u})^2);\nmeasure s = end(x + y);\nexperiment {{ end = 1; }}\n")
            for search in ("gradient", "simplex", "global"):
                found = self.optimize("--minimize", "f", "--params", "a,b", "--bounds", f"a={-5*u}:{5*u}",
                                      "--bounds", f"b={-5*u}:{5*u}", "--subject-to", f"s <= {2*u}", "--search", search)
                self.assertAlmostEqual(found["a"]/u, 2, delta=1e-5)
                self.assertAlmostEqual(found["b"]/u, 0, delta=1e-5)
            self.optimize("--minimize", "f", "--params", "a,b", "--bounds", f"a=0:{5*u}", "--bounds", f"b=0:{5*u}",
                          "--subject-to", f"s <= {-u}", status=3)

    def test_global(self):
        self.write("m.lisma", "const w = 1;\nx' = 0; x(t0) = sin(5*w) + 0.1*(w - 6)^2;\n")
        found = self.optimize("--minimize", "end(x)", "--params", "w", "--bounds", "w=0:10", "--search", "global",
                              "--evaluations", "1500")
        best = min(math.sin(5*w) + 0.1*(w - 6)**2 for w in (i/10000 for i in range(100001)))
        self.assertAlmostEqual(found["end(x)"], best, delta=1e-4)

    def test_history_and_bad_input(self):
        rows = self.table("optimize", "m.lisma", "--minimize", "end(x)", "--params", "a", "--subject-to", "end(y) <= 3")
        self.assertEqual(list(rows[0]), ["evaluation", "a", "end(x)", "subject_1", "feasible"])
        self.assertGreaterEqual(len(rows), 3)
        self.fails(2, "optimize", "m.lisma", "--params", "a", says="needs a measure")
        self.fails(1, "optimize", "m.lisma", "--minimize", "end(z)", "--params", "a", says="no `z`")
        self.fails(2, "optimize", "m.lisma", "--minimize", "end(x)", "--params", "a", "--subject-to", "end(y)",
                   says="no condition")
        self.fails(2, "optimize", "m.lisma", "--minimize", "end(x)", "--params", "a", "--search", "global",
                   says="needs bounds")
        self.fails(2, "optimize", "m.lisma", "--minimize", "end(x)", "--params", "a", "--bounds", "a=2:1", says="cross")


class Compare(Experiment):
    def setUp(self):
        super().setUp()
        self.good("run", "ball.lisma", "-q", "-o", "a.csv")

    def test_same_run_on_other_rows(self):
        self.good("run", "ball.lisma", "-q", "-o", "b.csv", "--samples", "777", "--rtol", "1e-9")
        result = self.good("compare", "a.csv", "b.csv", "--tol", "1e-5")
        self.assertIn("same", result.out)
        self.good("compare", "ball.lisma", "--data", "a.csv", "--tol", "1e-9")

    def test_later_jumps_are_shifts(self):
        self.good("run", "ball.lisma", "-q", "-o", "b.csv", "--set", "h=2.0002", "--until", "3")
        self.good("run", "ball.lisma", "-q", "-o", "a.csv", "--until", "3")
        self.good("compare", "a.csv", "b.csv", "--tol", "1e-3", "--quiet")
        self.fails(1, "compare", "a.csv", "b.csv", "--tol", "1e-6")

    def test_differences_are_found(self):
        self.good("run", "ball.lisma", "-q", "-o", "b.csv", "--set", "k=0.81")
        result = self.fails(1, "compare", "a.csv", "b.csv")
        self.assertIn("differs", result.out)
        self.fails(1, "compare", "ball.lisma", "--data", "a.csv", "--set", "k=0.81")

    def test_every_cell_counts(self):
        """Texts, infinities, and cells that one table lacks are differences like others."""
        lines = ["time,x,s", "0,1,a", "1,2,a", "1,2,b", "2,3,b", "3,4,b"]
        for row, cells in ((3, "1,2,c"), (4, "2,3,a"), (4, "2,3,"), (4, "2,Inf,b"), (4, "2,-Inf,b"), (4, "2,,b"), (4, "2,NaN,b"),
                           (4, "2,three,b"), (4, "2,3,7"), (5, "3,4,B")):
            other = lines[:row] + [cells] + lines[row + 1:]
            self.write("a.csv", "\n".join(lines) + "\n")
            self.write("b.csv", "\n".join(other) + "\n")
            for pair in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
                for tolerance in ("1e-6", "10"):
                    result = self.fails(1, "compare", *pair, "--tol", tolerance)
                    self.assertIn("differs", result.out)
            self.assertNotIn("differs", self.good("compare", "b.csv", "b.csv", "--tol", "1e-12").out)
        # a text that changes later is a shift, as a jump of a number is
        self.write("a.csv", "time,s\n0,a\n1,a\n1,b\n2,b\n")
        self.write("b.csv", "time,s\n0,a\n1.1,a\n1.1,b\n2,b\n")
        self.assertIn("0.1", self.fails(1, "compare", "a.csv", "b.csv").out)
        self.good("compare", "a.csv", "b.csv", "--time-tol", "0.2")

    def test_states_beside_data(self):
        rows = ["--out", "time,y,main.state", "--until", "3", "--samples", "50"]
        self.good("run", "ball.lisma", "-q", "-o", "s.csv", *rows)
        self.assertIn("main.state", self.good("compare", "ball.lisma", "--data", "s.csv", "--tol", "1e-9").out)
        text = self.read("s.csv")
        self.assertIn(",bounce", text)
        self.write("s.csv", text.replace(",bounce", ",rest", 1))
        result = self.fails(1, "compare", "ball.lisma", "--data", "s.csv", "--tol", "1e-9")
        self.assertIn("differs", result.out.split("main.state")[1])
        self.write("s.csv", "time,y\n0,2\n1,low\n")
        self.fails(2, "compare", "ball.lisma", "--data", "s.csv", says=["row 2", "`low`", "no number"])
        self.write("s.csv", "time,y\n0,\n1,\n")
        self.fails(2, "compare", "ball.lisma", "--data", "s.csv", says="no column with values")

    def test_what_is_not_compared_is_said(self):
        self.write("a.csv", "time,x,only_a\n0,1,1\n1,2,1\n2,3,1\n")
        self.write("b.csv", "time,x,only_b\n0,1,1\n1,2,1\n")
        result = self.good("compare", "a.csv", "b.csv")
        for said in ("in a.csv alone: only_a", "in b.csv alone: only_b", "not compared: 1 row outside"):
            self.assertIn(said, result.err)
        self.assertEqual(self.good("compare", "a.csv", "b.csv", "-q").err, "")
        self.write("d.csv", "time,y,z\n0,2,1\n1,0.5,1\n5,0,1\n")
        result = self.saltus("compare", "ball.lisma", "--data", "d.csv", "--until", "2", "--tol", "10")
        self.assertIn("in d.csv alone: z", result.err)
        self.assertIn("not compared: 1 row outside", result.err)

    def test_bad_input(self):
        self.fails(2, "compare", "a.csv", says="two tables")
        self.fails(2, "compare", "a.csv", "nothing.csv", says="nothing.csv")
        self.write("c.csv", "time,q\n0,1\n1,2\n")
        self.fails(2, "compare", "a.csv", "c.csv", says="no column in common")
        self.write("late.csv", "time,y\n100,1\n101,2\n")
        result = self.fails(1, "compare", "a.csv", "late.csv")
        self.assertIn("no time in common", result.out)
        self.write("back.csv", "time,y\n1,1\n0,2\n")
        self.fails(2, "compare", "a.csv", "back.csv", says="before that of the row above")
        self.write("untimed.csv", "t,y\n1,1\n0,2\n")
        self.fails(2, "compare", "a.csv", "untimed.csv", says="no column `time`")
        self.write("two.csv", "time,y,y\n0,1,1\n1,2,2\n")
        self.fails(2, "compare", "a.csv", "two.csv", says="the first table has 1 column `y`, the second 2")


if __name__ == "__main__":
    cli_case.main()
