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

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("SALTUS_BUILD") or os.path.join(SOURCE, "build", "release")
TOOL = os.path.join(BUILD, "tests", "event_cost_tool")
BEGIN = 1e-4  # what happens before is not counted: the start, and the first look at everything

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
    "time events": "x[i]' = u[i] - x[i]; x[i](t0) = 0; u[i](t0) = 1; at i/N each 0.5+0.3*i/N repeat * { set u[i] = -u[i]; }",
    "queues": """q[i](t0) = if(i <= N/2, 2, 0); d[i](t0) = 1e9;
  automaton s[i] {
    state busy noEvent[q[i] > 0.5] { set d[i] = time + 0.5 + 0.3*mod(0.618*i, 1); } from init, idle;
    state idle [time >= d[i]] { set q[i] = q[i] - 1; set q[mod(i, N)+1] = q[mod(i, N)+1] + 1; } from busy;
  }""",
}

# what all do at one time
TOGETHER = {
    "time events at once": "x[i]' = u[i] - x[i]; x[i](t0) = 0; u[i](t0) = 1; at 0 each 0.1 repeat * { set u[i] = 1 - x[i]; }",
    "machines at once": """n[i](t0) = 0; d[i](t0) = 0;
  automaton a[i] { state tick [time >= d[i]] { set n[i] = n[i] + 1; set d[i] = d[i] + 0.1; } from init, tick; }""",
}


def model(spelling, n):
    text = OTHERS.get(spelling) or TOGETHER.get(spelling)
    if text:
        return "const N = %d;\nfor i = 1:N {\n  %s\n}\n" % (n, text)
    return "const N = %d;\nfor i = 1:N {\n  T[i](t0) = 18 + 4*i/N;\n  %s\n}\n" % (n, ROOMS[spelling])


def counts(models, end):
    """Instructions per event of each model (spelling, n), all in one process: valgrind translates the program once."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for spelling, n in models:
            paths.append(os.path.join(folder, f"m{len(paths)}.lisma"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(model(spelling, n))
        out = os.path.join(folder, "counts")
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={out}", TOOL, str(BEGIN),
             str(end), *paths], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        costs = {}
        for part, (one, events) in enumerate(zip(models, done.stdout.split(), strict=True), start=1):
            with open(f"{out}.{part}", encoding="utf-8") as file:
                counted = int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))
            costs[one] = counted / int(events)
            if int(events) <= (10 if one[0] in TOGETHER else one[1]):
                raise AssertionError(f"{one}: {events} events")
    return costs


class EventCosts(unittest.TestCase):
    def test_spelling_and_size(self):
        grown = ("flag", "variable")
        costs = counts([(spelling, 60) for spelling in ROOMS] + [(spelling, 240) for spelling in grown], 5)
        few = [costs[spelling, 60] for spelling in ROOMS]
        self.assertLess(max(few), 1.3 * min(few), costs)
        for spelling in grown:
            self.assertLess(costs[spelling, 240], 1.3 * costs[spelling, 60], spelling)

    def test_size_alone(self):
        costs = counts([(spelling, n) for spelling in OTHERS for n in (60, 240)], 2)
        for spelling in OTHERS:
            self.assertLess(costs[spelling, 240], 2 * costs[spelling, 60], spelling)

    def test_at_once(self):
        costs = counts([(spelling, n) for spelling in TOGETHER for n in (120, 960)], 2)
        for spelling in TOGETHER:
            self.assertLess(costs[spelling, 960], 2 * 8 * costs[spelling, 120], spelling)


def can_count():
    """Not without valgrind and its headers, nor with a program that has sanitizers in it."""
    usage = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", TOOL]
    return shutil.which("valgrind") and subprocess.run(usage, capture_output=True, check=False).returncode == 2


if __name__ == "__main__":
    if not can_count():
        sys.exit(77)
    unittest.main()
