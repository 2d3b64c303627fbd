#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A value that is not finite is blamed on the smallest expression that made it, in the equation it stands in: at the start
and within the run, in loops, parts, states and behind computed values."""
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

# what stands in the model in place of BAD, as it is blamed; u falls from 1 through 0 at t = 1
BAD_LATER = ["sqrt(u)", "ln(u)", "u^1.5"]
BAD_NOW = ["1/(u - 1)", "ln(u - 2)", "sqrt(-u)", "acosh(u - 1)"]
FRAMES = [
    # model, line of the equation
    ("u' = -1; u(t0) = 1;\nx' = 2 + 3*BAD; x(t0) = 0;\n", 2),
    ("u' = -1; u(t0) = 1;\nx' = y; x(t0) = 0;\ny = 1 - BAD/4;\n", 3),
    ("u' = -1; u(t0) = 1;\nfor i = 1:3 {\n  x[i]' = i + BAD; x[i](t0) = 0;\n}\n", 3),
    ("u' = -1; u(t0) = 1;\nfunction f(a) = a + 1;\nx' = f(BAD); x(t0) = 0;\n", 3),
    ("u' = -1; u(t0) = 1;\nx' = 1; x(t0) = 0;\nstate s [x >= 0] {\n  x' = BAD;\n} from init;\n", 4),
]


class NotFinite(unittest.TestCase):
    def run_model(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.lisma")
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            return saltus_run.command("run", path, "-q", "-o", "-", "--until", "3", "--samples", "2")

    def check(self, frame, line, bad):
        text = frame.replace("BAD", "(" + bad + ")")
        status, out, errors = self.run_model(text)
        self.assertEqual(status, 3, text + errors)
        found = re.search(r"m\.lisma:(\d+):\d+: error\[E0802\]: .*: `(.*)` is (\S+)", errors)
        self.assertTrue(found, text + errors)
        self.assertEqual(int(found.group(1)), line, text + errors)
        self.assertEqual(found.group(2).replace(" ", ""), bad.replace(" ", ""), text + errors)
        self.assertIn(found.group(3), ("Inf", "-Inf", "NaN"))
        # rows hold what was reached, not what was looked at
        self.assertNotIn("nan", out.lower())
        return out

    def test_in_the_last_row(self):
        status, out, errors = self.run_model("x' = 1; x(t0) = 0; y = x;\nstate other [time >= 3] { y = sqrt(-x); } from init;\n")
        self.assertEqual(status, 0, errors)
        self.assertTrue(out.rstrip("\n").endswith(","), out)
        self.assertIn("W0810", errors)

    def test_in_relations(self):
        # condition, whether something depends on its lost value
        for condition, told in (("ln(x) > -1", True), ("x > 0 && ln(x) > -1", False), ("sqrt(x) > 0.5", True),
                                ("x > 0 && sqrt(x) > 0.5", False)):
            status, _, errors = self.run_model(f"x' = -1; x(t0) = 1; z(t0) = 0; z' = if({condition}, 1, 2);\n")
            self.assertEqual(status, 0, errors)
            self.assertEqual("W0810" in errors, told, condition + errors)

    def test_at_the_start(self):
        for frame, line in FRAMES:
            for bad in BAD_NOW:
                self.check(frame, line, bad)

    def test_within_the_run(self):
        for frame, line in FRAMES:
            for bad in BAD_LATER:
                out = self.check(frame, line, bad)
                last = out.strip().split("\n")[-1].split(",")
                self.assertTrue(all(last), out)
                self.assertGreaterEqual(float(last[1]), -1e-7, out)  # within tolerances of the end of a root


if __name__ == "__main__":
    unittest.main()
