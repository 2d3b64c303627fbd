#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""W0802: a relation that only grazes its boundary says how badly its time is conditioned, and that is true."""
import json
import math
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

# x = 1 - (1 - t)^2 reaches 1 - depth at t = 1 - sqrt(depth), with the slope 2 sqrt(depth)
MODEL = """const depth = 1e-8;
x' = 2 - 2 * time;  x(t0) = 0;
touches(t0) = 0;
state touch [x >= 1 - depth] { set touches = touches + 1; } from init, touch;
experiment { end = 2; rtol = 1e-10; atol = 1e-12; }
"""


class Grazing(cli_case.CliCase):
    def run_model(self, depth, *options, text=MODEL):
        """Times of the events, and what was said."""
        self.write("m.lisma", text)
        result = self.good("run", "m.lisma", "-q", "-o", "m.csv", "--events", "e.jsonl",
                           "--set", f"depth={depth}", *options)
        records = [json.loads(line) for line in self.read("e.jsonl").splitlines()]
        return [r["t"] for r in records if r["kind"] == "state"], result.err

    def test_a_clear_crossing_says_nothing(self):
        times, said = self.run_model(0.25)
        self.assertEqual(said, "")
        self.assertAlmostEqual(times[0], 0.5, 9)

    def test_the_shift_it_tells_of_is_real(self):
        times, said = self.run_model(1e-11)
        match = re.search(r"m\.lisma:4:14: warning\[W0802\]: at t = (\S+) .* an error of (\S+) "
                          r"moves the event by (\S+), or undoes it", said)
        self.assertTrue(match, said)
        at, error, shift = (float(x) for x in match.groups())
        self.assertEqual(said.count("W0802"), 1)
        self.assertAlmostEqual(at, 1 - math.sqrt(1e-11), 6)
        # the boundary moved by just that error: the event comes earlier by about what is told ...
        earlier, _ = self.run_model(1e-11 + error)
        moved = times[0] - earlier[0]
        self.assertAlmostEqual(moved, math.sqrt(1e-11 + error) - math.sqrt(1e-11), 6)
        self.assertTrue(0.5 < moved / shift < 2, f"{moved} instead of {shift}")
        # ... or, beyond the zone, not at all
        none, said = self.run_model(1e-11 - 2 * error)
        self.assertEqual((none, said), ([], ""))

    def test_conditioning_grows_towards_the_apex(self):
        # the same error of the boundary moves the event the more, the flatter it is crossed
        moves = []
        for depth in (1e-2, 1e-4, 1e-6):
            exact, _ = self.run_model(depth)
            moved, _ = self.run_model(depth + 1e-7)
            moves.append(exact[0] - moved[0])
            self.assertAlmostEqual(exact[0], 1 - math.sqrt(depth), 7)
            self.assertAlmostEqual(moves[-1], 1e-7 / (2 * math.sqrt(depth)), delta=0.1 * moves[-1])
        self.assertTrue(moves[0] < moves[1] < moves[2])

    def test_a_smaller_zone_is_content(self):
        _, said = self.run_model(1e-8, "--event-eps", "1e-12")
        self.assertEqual(said, "")


if __name__ == "__main__":
    cli_case.main()
