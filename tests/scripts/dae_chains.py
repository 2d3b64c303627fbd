#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random chains of pendulums, gears and circuits whose index and degrees of freedom are known.

Each is analysed (`explain --json`), run, and its constraints and conserved quantity are checked on
every row; a variant with one constraint too many must be refused by name.
"""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402


def program():
    return saltus_run.PROGRAM


def pendulums(rng):
    """n masses on rods, one below the other: n angles, each with its speed, are free."""
    n = rng.randint(1, 4)
    lines, macros = [], []
    x, y, energy = 0.0, 0.0, []
    for i in range(1, n + 1):
        angle, length, mass = rng.uniform(-2, 2), rng.uniform(0.5, 2), rng.uniform(0.5, 2)
        x0, y0 = x, y
        x, y = x + length * math.sin(angle), y - length * math.cos(angle)
        up = ("0", "0") if i == 1 else (f"x_{i - 1}", f"y_{i - 1}")
        below_x = f" + s_{i + 1}*(x_{i + 1} - x_{i})" if i < n else ""
        below_y = f" + s_{i + 1}*(y_{i + 1} - y_{i})" if i < n else ""
        lines += [f"{mass}*x_{i}'' = -s_{i}*(x_{i} - {up[0]}){below_x}; x_{i}(t0) = {x!r}; "
                  f"x_{i}'(t0) = 0;",
                  f"{mass}*y_{i}'' = -s_{i}*(y_{i} - {up[1]}){below_y} - {mass}*9.81; "
                  f"y_{i}(t0) ~ {y!r};",
                  f"(x_{i} - {up[0]})*(x_{i} - {up[0]}) + (y_{i} - {up[1]})*(y_{i} - {up[1]}) = "
                  f"{(x - x0) ** 2 + (y - y0) ** 2!r};"]
        energy.append(f"{mass}*((x_{i}'*x_{i}' + y_{i}'*y_{i}')/2 + 9.81*y_{i})")
        macros.append((f"rod_{i}", f"sqrt((x_{i} - {up[0]})*(x_{i} - {up[0]}) + (y_{i} - {up[1]})*"
                                   f"(y_{i} - {up[1]})) - {math.hypot(x - x0, y - y0)!r}"))
    return {"name": "pendulums", "lines": lines, "freedom": 2 * n, "index": 3, "zero": macros,
            "constant": "+".join(energy), "surplus": "x_1 = 0.1;"}


def gears(rng):
    """n inertias on one shaft of ideal gears: one degree of freedom."""
    n = rng.randint(2, 6)
    lines, zero, energy = [], [], []
    ratio = [rng.uniform(0.3, 3) for _ in range(n)]
    for i in range(1, n + 1):
        inertia = rng.uniform(0.5, 2)
        left = f" - {ratio[i - 2]!r}*tau_{i - 1}" if i > 1 else ""
        right = f" + tau_{i}" if i < n else ""
        lines.append(f"{inertia!r}*w_{i}' = 0{left}{right};" + (" w_1(t0) = 2;" if i == 1 else ""))
        energy.append(f"{inertia!r}*w_{i}*w_{i}/2")
        if i < n:
            lines.append(f"w_{i} = {ratio[i - 1]!r}*w_{i + 1};")
            zero.append((f"gear_{i}", f"w_{i} - {ratio[i - 1]!r}*w_{i + 1}"))
    return {"name": "gears", "lines": lines, "freedom": 1, "index": 2, "zero": zero,
            "constant": "+".join(energy), "surplus": "w_1 = 1;"}


def circuit(rng):
    """A loop of n capacitors (one of them is not free) with an inductor across the first."""
    n = rng.randint(2, 5)
    capacity = [rng.uniform(0.5, 2) for _ in range(n)]
    lines, energy = [], []
    for i in range(1, n + 1):
        lines.append(f"{capacity[i - 1]!r}*u_{i}' = i_{i};" + (f" u_{i}(t0) = {i};" if i < n else ""))
        energy.append(f"{capacity[i - 1]!r}*u_{i}*u_{i}/2")
    lines.append("+".join(f"u_{i}" for i in range(1, n + 1)) + " = 0;")
    lines.append("1.5*j' = u_1; j(t0) = 0.3;")
    lines.append("i_1 + j = i_2;")
    lines += [f"i_{i} = i_{i + 1};" for i in range(2, n)]
    energy.append("1.5*j*j/2")
    return {"name": "circuit", "lines": lines, "freedom": n, "index": 2,
            "zero": [("loop", "+".join(f"u_{i}" for i in range(1, n + 1)))],
            "constant": "+".join(energy), "surplus": "u_1 + j = 1;"}


def run(arguments, folder):
    return subprocess.run([program()] + arguments, capture_output=True, text=True, cwd=folder,
                          timeout=120, check=False)


def check(case, folder, number):
    text = "\n".join(case["lines"]) + "\n"
    outputs = [name for name, _ in case["zero"]] + ["total"]
    text += "".join(f"macro {name} = {value};\n" for name, value in case["zero"])
    text += f"macro total = {case['constant']};\n"
    text += f"experiment {{ end = 5; every = 0.1; rtol = 1e-9; atol = 1e-11; out = " + \
        ", ".join(outputs) + "; }\n"
    path = os.path.join(folder, "m.lisma")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    result = run(["explain", "--json", path], folder)
    mode = json.loads(result.stdout)["modes"][0]
    problems = []
    if (mode["states"], mode["implicit"]["index"]) != (case["freedom"], case["index"]):
        problems.append(f"freedom and index {mode['states']}, {mode['implicit']['index']}, "
                        f"not {case['freedom']}, {case['index']}")
    result = run(["run", path, "-o", os.path.join(folder, "m.csv")], folder)
    if result.returncode:
        problems.append(result.stderr)
    else:
        with open(os.path.join(folder, "m.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for name, _ in case["zero"]:
            drift = max(abs(float(row[name])) for row in rows)
            if not drift <= 1e-10:
                problems.append(f"{name} drifts by {drift}")
        totals = [float(row["total"]) for row in rows]
        change = max(totals) - min(totals)
        if not change <= 1e-5 * max(1.0, abs(totals[0])):
            problems.append(f"energy changes by {change}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(case["lines"] + [case["surplus"]]) + "\nexperiment { end = 1; }\n")
    result = run(["check", path], folder)
    if result.returncode == 0 or "E0520" not in result.stderr + result.stdout:
        problems.append("one equation too many is not refused: " + result.stderr[:300])
    for problem in problems:
        print(f"{case['name']} {number}: {problem}\n{text}")
    return len(problems)


def main():
    rng = random.Random(20260)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(51):
            failures += check((pendulums, gears, circuit)[number % 3](rng), folder, number)
    print(f"51 systems, {failures} problems")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
