#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an event costs is counted in instructions: it does not depend on the spelling, nor on the size of the model."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

AUTOMATON = """automaton r[i] {
    state off [T[i] >= 22] { %s } from %son;
    state on [T[i] <= 18] { %s } from init, off;
  }"""
COOLS = "T[i]' = -0.1*(T[i]-10)"
HEATS = COOLS + " + 2*(1+i/N)"
PLAIN = AUTOMATON % ("", "init, ", "")

# rooms that heat and cool by themselves, in texts that mean the same
ROOMS = {
    "flag": COOLS + " + 2*u[i]*(1+i/N); u[i](t0) = 0;" + AUTOMATON % ("set u[i] = 0;", "init, ", "set u[i] = 1;"),
    "replaces": COOLS + ";" + AUTOMATON % (COOLS + ";", "", HEATS + ";"),
    "function": COOLS + " + if(r[i].on, 2*(1+i/N), 0);" + PLAIN,
    "variable": "P[i] = if(r[i].on, 2*(1+i/N), 0);" + COOLS + " + P[i];" + PLAIN,
}

BALL = "y[i]' = v[i]; v[i]' = -9.81; y[i](t0) = 1 + i/N; v[i](t0) = 0;"
BOUNCES = BALL + " automaton a[i] { state hit %s { set v[i] = -0.9*v[i]; } from init, hit; }"

SWINGS = "x[i]' = v[i]; x[i](t0) = 1 + i/N; v[i](t0) = 0; v[i]' = -16*(1+i/N)*x[i] %s;"
GROWS = "x[i]' = 1 + i/N; x[i](t0) = i/N; y[i]' = %s - y[i]; y[i](t0) = 0;"

# events of one among many, whatever switches and whatever it waits for
OTHERS = {
    "max": SWINGS % "- 8*max(0, x[i])",
    "sign": SWINGS % "- 0.1*sign(v[i])",
    "one threshold": SWINGS % "+ u[i]" + """ u[i](t0) = 0; automaton a[i] {
    state right [x[i] > 0.1] { set u[i] = 1; } from init, left;
    state left [x[i] <= 0.1] { set u[i] = 0; } from right;
  }""",
    "floor": GROWS % "floor(x[i])",
    "since entry": """x[i]' = n[i] - x[i]; x[i](t0) = 1; n[i](t0) = 0; automaton a[i] {
    state up [time >= t0 + 0.5 + 0.3*i/N] { set n[i] = 1; } from init, down;
    state down [time >= t0 + 0.4 + 0.2*i/N] { set n[i] = 0; } from up;
  }""",
    "asks for a state": BALL + """ k[i](t0) = 0;
  automaton a[i] {
    state down [v[i] < -3] {} from init, up;
    state up [y[i] <= 0] && [v[i] < 0] { set v[i] = -0.9*v[i]; } from down;
  }
  automaton b[i] {
    state counts [a[i].up] { set k[i] = k[i] + 1; } from init, waits;
    state waits [a[i].down] {} from counts;
  }""",
    "balls": BOUNCES % "[y[i] <= 0] && [v[i] < 0]",
    "speeds looked at": BOUNCES % "[y[i] <= 0] && noEvent[v[i] < 0]",
    "clocks": "c[i]' = 1; c[i](t0) = i/N; automaton a[i] { state tick [c[i] >= 1] { c[i](t0) = 0; } from init, tick; }",
    "queues": """q[i](t0) = if(i <= N/2, 2, 0); d[i](t0) = 1e9;
  automaton s[i] {
    state busy noEvent[q[i] > 0.5] { set d[i] = time + 0.5 + 0.3*mod(0.618*i, 1); } from init, idle;
    state idle [time >= d[i]] { set q[i] = q[i] - 1; set q[mod(i, N)+1] = q[mod(i, N)+1] + 1; } from busy;
  }""",
}


def model(spelling, n):
    if spelling in OTHERS:
        return "const N = %d;\nfor i = 1:N {\n  %s\n}\n" % (n, OTHERS[spelling])
    return "const N = %d;\nfor i = 1:N {\n  T[i](t0) = 18 + 4*i/N;\n  %s\n}\n" % (n, ROOMS[spelling])


class EventCosts(unittest.TestCase):
    def instructions(self, text, end):
        """Instructions of the whole process, and events."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.lisma")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(
                ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", cli_case.PROGRAM, "run", path,
                 "--until", str(end), "--samples", "1", "--event-rows", "none", "--out", "time", "--native", "off",
                 "-o", os.devnull],
                capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        counted = re.search(r"Collected : (\d+)", done.stderr)
        events = re.search(r"events +(\d+)", done.stderr)
        return int(counted.group(1)), int(events.group(1))

    def cost(self, spelling, n, end=5):
        """Instructions per event."""
        begin, none = self.instructions(model(spelling, n), 1e-4)
        all_of_it, events = self.instructions(model(spelling, n), end)
        self.assertGreater(events - none, n)
        return (all_of_it - begin) / (events - none)

    def test_spelling_and_size(self):
        costs = {spelling: self.cost(spelling, 60) for spelling in ROOMS}
        self.assertLess(max(costs.values()), 1.3 * min(costs.values()), costs)
        for spelling in ("flag", "variable"):
            self.assertLess(self.cost(spelling, 240), 1.3 * costs[spelling], spelling)

    def test_size_alone(self):
        for spelling in OTHERS:
            self.assertLess(self.cost(spelling, 240, 2), 2 * self.cost(spelling, 60, 2), spelling)


def can_count():
    """Not without valgrind, nor with a program that has sanitizers in it."""
    counts = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", cli_case.PROGRAM, "--version"]
    return shutil.which("valgrind") and subprocess.run(counts, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    if not can_count():
        sys.exit(77)
    unittest.main()
