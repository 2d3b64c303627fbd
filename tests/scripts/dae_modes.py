#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Modes with equations of their own: what is held, what is explained, what is refused."""
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import saltus_run  # noqa: E402


class ModeCase(cli_case.CliCase):
    def run_text(self, text, *options):
        """(rows as dictionaries, event records, messages) of a run that succeeds."""
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "-o", "m.csv", "--events", "m.jsonl", *options)
        table = saltus_run.read_table(self.read("m.csv"))
        rows = [dict(zip(table[0], row)) for row in table[1:]]
        records = [json.loads(line) for line in self.read("m.jsonl").splitlines()]
        return rows, records, result.err

    def fail_text(self, text, *options):
        self.write("m.lisma", text)
        result = self.saltus("run", "m.lisma", "-o", "m.csv", *options)
        self.assertNotEqual(result.status, 0)
        return result.err


class Undetermined(ModeCase):
    SUM = ("x' = 1; x(t0) = 0;\ny + z = x;\ne: z = 2*x;\n"
           "state b [time >= 1] { delete e; } from init;\nstate c [time >= 2] {} from b;\n"
           "experiment { end = 3; every = 0.5; }\n")

    def test_the_equations_that_are_left_hold(self):
        rows, records, messages = self.run_text(self.SUM)
        inside = [row for row in rows if 1 < row["time"] < 2]
        self.assertTrue(inside)
        for row in inside:
            self.assertIsNone(row["z"])
            self.assertAlmostEqual(row["y"], row["time"] - 2.0, delta=1e-12)
        self.assertAlmostEqual(rows[-1]["z"], 6.0, delta=1e-12)
        self.assertEqual([r["undetermined"] for r in records if "undetermined" in r], [["z"]])
        self.assertIn("undetermined z in mode b", messages)
        self.assertEqual(messages.count("W0825"), 1)

    def test_motions_go_on_rather_than_stop(self):
        rows, _, _ = self.run_text(
            "x' = v; x(t0) = 0;\ne: v' = -1; v(t0) = 3;\n"
            "state b [time >= 1] { delete e; } from init;\nstate c [time >= 2] {} from b;\n"
            "experiment { end = 3; every = 0.5; }\n")
        at = {row["time"]: row for row in rows}
        self.assertAlmostEqual(at[1.5]["x"], 3.5, delta=1e-9)
        self.assertIsNone(at[1.5]["v"])
        self.assertAlmostEqual(at[3]["v"], 1.0, delta=1e-9)
        self.assertAlmostEqual(at[3]["x"], 6.0, delta=1e-9)

    def test_a_multiplier_without_its_constraint_is_held(self):
        rows, _, messages = self.run_text(
            "const l = 5;\nx'' = -s*x; x(t0) = 4; x'(t0) = 0;\ny'' = -s*y - g; y(t0) = -3;\n"
            "cst: x*x + y*y = l*l;\nstate b [time >= 1] { delete cst; } from init;\n"
            "experiment { end = 2; every = 0.5; out = x, y, s; }\n")
        self.assertIn("nothing determines s in mode main=b", messages)
        self.assertEqual([row["s"] is None for row in rows], [row["time"] > 1 for row in rows[:3]] +
                         [True] * (len(rows) - 3))

    def test_explain_names_them(self):
        self.write("m.lisma", self.SUM)
        text = self.good("explain", "m.lisma").out
        part = text[text.index("mode main=b"):text.index("mode main=c")]
        self.assertIn("undetermined  z\n", part)
        self.assertIn("depends on undetermined values  y\n", part)

    def test_an_equation_that_no_state_has_is_missed(self):
        self.assertIn("E0521", self.fail_text("x' + y' = 1; x(t0) = 0;\n"
                                              "state b [x > 1] { delete e; } from init;\ne: z = x;\n"))

    def test_too_many_stay_an_error(self):
        self.assertIn("E0520", self.fail_text(
            "x' = 1; y = x;\nstate b [x > 1] { y + x = 2; x - y = 1; } from init;\n"
            "experiment { end = 2; }\n"))


class Energy(ModeCase):
    BALL = ("v' = -9.81; v(t0) = 0;\ny' = v; y(t0) = 19.62;\nenergy = v*v/2 + 9.81*y;\n"
            "state bounce [y <= 0] { v(t0) = -e*v; } from init, bounce;\n"
            "experiment { end = 3; }\n")

    def test_losses_are_told_in_records_and_summary(self):
        _, records, messages = self.run_text("const e = 0.5;\n" + self.BALL)
        before, after = records[-1]["energy"]
        self.assertAlmostEqual(after / before, 0.25, delta=1e-9)
        self.assertNotIn("W0826", messages)
        self.assertIn("energy       192.472 at the start, 48.118 at the end", messages)

    def test_gains_are_warned_of(self):
        _, _, messages = self.run_text("const e = 2;\n" + self.BALL)
        self.assertIn("W0826", messages)
        self.assertIn("577.417 created", messages)

    def test_a_plastic_closure_loses_what_its_jump_says(self):
        _, records, _ = self.run_text(
            "C1 * v1' = -i; v1(t0) = 3;\nC2 * v2' = i; v2(t0) = 0;\nsw: i = 0;\n"
            "const C1 = 1, C2 = 2;\nenergy = C1*v1*v1/2 + C2*v2*v2/2;\n"
            "state closed [time >= 1] { sw: v1 = v2; } from init;\nexperiment { end = 2; }\n")
        before, after = records[-1]["energy"]
        # half the sum of C (jump)^2: (1 * 2^2 + 2 * 1^2) / 2
        self.assertAlmostEqual(before - after, 3.0, delta=1e-12)


if __name__ == "__main__":
    unittest.main()
