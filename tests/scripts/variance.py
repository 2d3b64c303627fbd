#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus sens --sobol: closed forms, with and without members that fail, on any number of threads."""
import csv
import io
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

RANGE = f"{-math.pi!r}:{math.pi!r}"


class Variance(cli_case.CliCase):
    def shares(self, text, samples, vary, *options):
        self.write("m.lisma", text)
        arguments = [part for v in vary for part in ("--vary", v)]
        result = self.good("sens", "m.lisma", "--sobol", str(samples), *arguments, "-m", "end(x)", "-q", "-o", "-", *options)
        return {r["parameter"]: r for r in csv.DictReader(io.StringIO(result.out))}

    def check(self, rows, expected):
        for name, (first, total) in expected.items():
            row = rows[name]
            for key, value in (("first", first), ("total", total)):
                error = float(row[key + "_error"])
                self.assertLess(error, 0.09, row)
                self.assertLess(abs(float(row[key]) - value), 2.0*error + 0.003, (row, value))

    # the function of Ishigami and Homma, as the end of a motion
    MODEL = "x' = sin(a) + 7*sin(b)^2 + 0.1*c^4*sin(a); x(t0) = 0;\nexperiment { end = 1; }\n"
    SHARES = {"a": (0.3139, 0.5576), "b": (0.4424, 0.4424), "c": (0.0, 0.2437)}

    def test_closed_form(self):
        rows = self.shares("const a = 0, b = 0, c = 0;\n" + self.MODEL, 3000, [f"{n}={RANGE}" for n in "abc"])
        self.check(rows, self.SHARES)
        self.assertEqual({r["failed"] for r in rows.values()}, {"0"})

    def test_failures_leave_no_bias(self):
        # three of ten members have no square root to go on with, whatever the others are
        text = "const a = 0, b = 0, c = 0, d = 0;\n" + self.MODEL + "z' = sqrt(0.7 - d); z(t0) = 0;\n"
        rows = self.shares(text, 6000, [f"{n}={RANGE}" for n in "abc"] + ["d=0:1"])
        self.check(rows, dict(self.SHARES, d=(0.0, 0.0)))
        failed = int(rows["a"]["failed"])/(6*6000)
        self.assertAlmostEqual(failed, 0.3, delta=0.02)
        mean, variance = float(rows["a"]["mean"]), float(rows["a"]["variance"])
        self.assertAlmostEqual(mean, 3.5, delta=0.2)
        self.assertAlmostEqual(variance, 13.84, delta=1.0)

    def test_events_and_threads(self):
        # time of an event: linear in two parameters of one distribution
        text = ("const q = 1, p = 1;\ny' = 1; y(t0) = 0;\nx(t0) = 0;\nstate up [y >= 2*q + p] { set x = time; } from init;\n"
                "experiment { end = 9; }\n")
        vary = ["q~normal(1, 0.1)", "p~normal(1, 0.1)"]
        tables = [self.shares(text, 2000, vary, "-j", jobs) for jobs in ("1", "3")]
        self.assertEqual(tables[0], tables[1])
        self.check(tables[0], {"q": (0.8, 0.8), "p": (0.2, 0.2)})

    def test_bad_input(self):
        self.write("m.lisma", "const k = 1;\nx' = k; x(t0) = 0;\n")
        self.fails(2, "sens", "m.lisma", "--sobol", "100", "-m", "end(x)", says="needs parameters with distributions")
        self.fails(2, "sens", "m.lisma", "--sobol", "2", "--vary", "k=1:2", "-m", "end(x)", says="--sobol")
        self.fails(1, "sens", "m.lisma", "--sobol", "100", "--vary", "q=1:2", "-m", "end(x)", says="no parameter `q`")


if __name__ == "__main__":
    cli_case.main()
