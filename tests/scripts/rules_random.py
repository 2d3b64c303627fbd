#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random tables, run in both executions: procedures with and without a memory, guarded by predicates
of a sine and its integral, with every policy for unguarded values. Away from events the scan with a
short period and the located run agree, whatever the procedures and situations are."""
import csv
import io
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

SALTUS = os.environ.get("SALTUS", "saltus")
COUNT, DT, END, EVERY = 40, 2e-4, 6.0, 0.25
NEAR = 0.01      # distance to an event that a cycle or two may decide
TOLERANCE = 0.01

# procedure: arguments (s or z are drawn for a; b is the other one), parameters to choose from
PROCEDURES = {
    "pid": ("ab", [["integral time", 1.3], ["integral time", 1.3, "derivative time", 0.4],
                   ["integral time", 1.3, "upper limit", 0.8]]),
    "relay with hysteresis": ("a", [["zone", 0.3]]),
    "latch": ("ab", [[]]),
    "sample-hold": ("a", [["period", 0.37]]),
    "timer": ("", [[], ["restart", "no"]]),
    "counter": ("", [[]]),
    "delay": ("a", [["time", 0.437], ["time", 0.437, "interpolation", "linear"]]),
    "backlash": ("z", [["zone", 0.2]]),
    "relay": ("a", [[], ["keep", "yes"], ["upper limit", 0.5, "lower limit", -2]]),
    "differentiation": ("a", [["filter", 0.3]]),
    "oscillator": ("a", [["time constant", 0.6, "damping", 0.2]]),
    "smoothing": ("a", [["time constant", 0.6]]),
    "integral": ("a", [[], ["upper limit", 0.4], ["upper limit", 0.5, "lower limit", -0.2]]),
    "power": ("a", [["exponent", 3]]),
    "table": ("a", [["points", "-1 0; 0 1; 1 0.5; 2 2"],
                    ["points", "-1 0; 0 1; 1 0.5; 2 2", "outside", "extrapolate"],
                    ["points", "-1 0; 0 1; 1 0.5; 2 2", "interpolation", "cubic"]]),
    "select": ("ab", [["otherwise", 0.3]]),
    "pulse": ("", [["period", 1.1, "width", 0.4]]),
    "ramp": ("", [["start", 1.2]]),
    "saturation": ("a", [["upper limit", 0.5]]),
    "dead zone": ("a", [["zone", 0.3]]),
    "quantise": ("a", [["quantum", 0.25]]),
    "absolute": ("a", [[]]),
    "minimum": ("ab", [[]]),
    "sine": ("a", [["second coefficient", 2]]),
    "exponential": ("a", [[]]),
    "assign": ("", [[]]),
}


def table(title, header, rows):
    bars = "|" + "---|" * len(header)
    lines = ["| " + " | ".join(str(c) for c in row) + " |" for row in [header] + rows]
    return "\n".join([f"## {title}", "", lines[0], bars] + lines[1:]) + "\n\n"


def model(seed):
    draw = random.Random(seed)
    phase = round(draw.uniform(0, 3), 2)
    rules = [["s", "sine source", 1, "", "", "", "frequency", round(draw.uniform(0.2, 0.6), 3), "phase", phase],
             ["z", "integral", round(draw.uniform(0.5, 1.5), 2), "s", "", ""]]
    states = [["s", repr(math.sin(phase))], ["z", 0]]
    for i in range(3):
        name = draw.choice(sorted(PROCEDURES))
        arguments, parameters = PROCEDURES[name]
        a = "z" if arguments == "z" else draw.choice("sz") if arguments else ""
        b = {"s": "z", "z": "s"}[a] if arguments == "ab" else ""
        k = round(draw.uniform(0.3, 2) * draw.choice([1, -1]), 2)
        situation = draw.choice(["EverTrue", "p", "q", "not p", "p, q"])
        rules.append([f"y{i}", name, k, a, b, situation] + draw.choice(parameters))
        states.append([f"y{i}", draw.choice([0, 0, 0.3])])
    rules = [[n + 1] + row + [""] * (12 - len(row)) for n, row in enumerate(rules)]
    header = ["#", "variable", "procedure", "coefficient", "argument 1", "argument 2", "situation"]
    return (table("Settings", ["name", "value"], [["unguarded", draw.choice(["auto", "auto", "hold", "zero"])]])
            + table("States", ["name", "initial"], states)
            + table("Predicates", ["name", "relation"],
                    [["p", f"s > {round(draw.uniform(-0.8, 0.8), 3)}"], ["q", f"z < {round(draw.uniform(0, 0.6), 3)}"]])
            + table("Rules", header + ["parameter", "value"] * 3, rules))


def run(path, *options):
    done = subprocess.run([SALTUS, "run", path, "-q", "-o", "-", "--until", str(END), "--every", str(EVERY),
                           *options], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    rows = list(csv.reader(io.StringIO(done.stdout)))
    return {round(float(row[0]), 9): dict(zip(rows[0], map(float, row))) for row in rows[1:]}


def main():
    problems, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        path, records = pathlib.Path(folder) / "random.rules.md", pathlib.Path(folder) / "events.jsonl"
        for seed in [int(a) for a in sys.argv[1:]] or range(COUNT):
            path.write_text(model(seed), encoding="utf-8")
            try:
                located = run(path, "--events", str(records))
                cyclic = run(path, "--cyclic", str(DT))
            except RuntimeError as error:
                problems.append(f"seed {seed}: {error}")
                continue
            lines = records.read_text(encoding="utf-8").splitlines()
            # samples of a delay are no events in this sense
            events = {json.loads(line)["t"] for line in lines if '"kind":"time"' not in line or "delay" not in path.read_text()}
            for t, row in located.items():
                if t not in cyclic or t == 0 or any(abs(t - e) < NEAR for e in events):
                    continue
                for name, value in row.items():
                    compared += 1
                    if name != "time" and abs(value - cyclic[t][name]) > TOLERANCE * (1 + abs(value)):
                        problems.append(f"seed {seed}: {name}({t}) = {value} located, {cyclic[t][name]} cyclic")
                        break
    print("\n".join(problems) or f"{compared} values of {COUNT} tables: ok")
    return 1 if problems or compared < 1000 else 0


sys.exit(main())
