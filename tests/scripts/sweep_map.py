#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus sweep --map: boundaries of event sequences against closed forms, the same for any number of threads."""
import csv
import io
import math
import os
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class Map(cli_case.CliCase):
    def map(self, text, *options):
        self.write("m.lisma", text)
        result = self.good("sweep", "m.lisma", "--map", *options, "-q", "-o", "-")
        return list(csv.DictReader(io.StringIO(result.out)))

    def test_impacts_before_the_end(self):
        for unit in (1e-6, 1.0, 1e6):  # of length
            a = 9.81*unit
            rows = self.map(f"const k = 0.8, h = 1;\ny' = v; y(t0) = h*{unit!r};\nv' = -{a!r}; v(t0) = 0;\n"
                            "state b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\nexperiment { end = 3; }\n",
                            "--vary", "h=2:20:7", "--vary", "k=0.5:0.8:4")
            found = [r for r in rows if r["kind"] == "boundary" and "accumulation" not in r["events"]]
            self.assertGreater(len(found), 10)
            for r in found:
                h, k = float(r["h"]), float(r["k"])
                t1 = math.sqrt(2*h/9.81)
                # some impact is at the very end
                off = min(abs(t1*(1 + 2*sum(k**i for i in range(1, n))) - 3) for n in range(1, 60))
                self.assertLess(off, 1e-9, r)

    def test_grazing_and_order(self):
        # x reaches 1 for a >= 1 + b; the order of two events changes where p = q
        rows = self.map("const a = 1, b = 0;\nx' = y; x(t0) = 0;\ny' = -x; y(t0) = a;\n"
                        "state up [x >= 1 + b] { set y = 0.5*y; } from init;\nexperiment { end = 3; }\n",
                        "--vary", "a=0.7:1.9:5", "--vary", "b=0:0.5:3")
        found = [r for r in rows if r["kind"] == "boundary"]
        self.assertGreater(len(found), 3)
        for r in found:
            self.assertAlmostEqual(float(r["a"]), 1 + float(r["b"]), delta=1e-9)
        rows = self.map("const p = 1, q = 1;\nx' = 2; x(t0) = 0;\n"
                        "automaton A { state a [x >= p] from init; }\nautomaton B { state b [x >= q^2] from init; }\n"
                        "experiment { end = 3; }\n", "--vary", "p=0.5:2:4", "--vary", "q=0.8:1.3:3")
        orders = {r["events"] for r in rows if r["kind"] == "point"}
        self.assertEqual(orders, {"A.a B.b", "B.b A.a"})
        for r in rows:
            if r["kind"] == "boundary":
                self.assertAlmostEqual(float(r["p"]), float(r["q"])**2, delta=1e-9)

    def test_a_sequence_between_two_points(self):
        # three regions on one edge of the grid
        rows = self.map("const p = 0;\nx' = 1; x(t0) = 0;\nstate a [x >= 1 - p] from init;\nstate b [x >= 2 - p] from a;\n"
                        "experiment { end = 0.5; }\n", "--vary", "p=0:3:2")
        found = [(float(r["p"]), r["sequence"], r["beyond"]) for r in rows if r["kind"] == "boundary"]
        self.assertEqual([f[1:] for f in found], [("0", "2"), ("2", "1")])
        self.assertAlmostEqual(found[0][0], 0.5, delta=1e-9)
        self.assertAlmostEqual(found[1][0], 1.5, delta=1e-9)

    def test_threads_leave_no_trace(self):
        self.write("m.lisma", "const k = 0.8, h = 1;\ny' = v; y(t0) = h;\nv' = -9.81; v(t0) = 0;\n"
                   "state b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\nexperiment { end = 2; }\n")
        tables = {self.good("sweep", "m.lisma", "--map", "--vary", "h=1:9:4", "--vary", "k=0.5:0.8:4", "-q", "-o", "-", "-j",
                            jobs).out for jobs in ("1", "2", "7")}
        self.assertEqual(len(tables), 1)

    def test_pictures(self):
        self.write("m.lisma", "const p = 1, q = 1;\nx' = 2; x(t0) = 0;\nautomaton A { state a [x >= p] from init; }\n"
                   "automaton B { state b [x >= q^2] from init; }\nexperiment { end = 3; }\n")
        for vary, cells in ((("p=0.5:2:4", "q=0.8:1.3:3"), 12), (("p=0.5:2:4",), 4)):
            arguments = [part for v in vary for part in ("--vary", v)]
            self.good("sweep", "m.lisma", "--map", *arguments, "-q", "-o", "map.csv", "--plot", "map.svg")
            root = xml.etree.ElementTree.fromstring(self.read("map.svg"))
            words = "".join(root.itertext())
            self.assertIn("A.a B.b", words)
            rects = [e for e in root.iter() if e.tag.endswith("rect")]
            self.assertGreaterEqual(len(rects), cells + 2)
        self.good("sens", "m.lisma", "--params", "p,q", "-m", "time(A.a)", "-m", "time(B.b)", "-q", "--plot", "bars.svg")
        words = "".join(xml.etree.ElementTree.fromstring(self.read("bars.svg")).itertext())
        self.assertIn("time(B.b) by q", words)
        self.fails(2, "sweep", "m.lisma", "--vary", "p=1:2:2", "-m", "time(A.a)", "--plot", "x.svg", "-o", "-",
                   says="rows that are in a file")
        self.fails(2, "sweep", "m.lisma", "--vary", "p=1:2:2", "-m", "time(A.a)", "--plot", "x.bmp", says=".svg, .png")

    def test_bad_input(self):
        self.write("m.lisma", "const k = 1;\nx' = k; x(t0) = 0;\n")
        self.fails(2, "sweep", "m.lisma", "--map", "--vary", "k~normal(1, 0.1)", "--sample", "random", "5", "-o", "-",
                   says="needs a grid")
        self.fails(2, "sweep", "m.lisma", "--map", "--vary", "k=0:1:2000000", "-o", "-", says="at most a million")


if __name__ == "__main__":
    cli_case.main()
