#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random small systems of equations: whatever is accepted satisfies its equations.

No run may crash; a run that succeeds must give values whose residuals, computed here, are small on
every row. Systems that cannot be solved must say so with a code.
"""
import csv
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

NAMES = "abcd"
RTOL = 1e-8


def term(rng, names):
    name = rng.choice(names) + rng.choice(["", "", "'"])
    factor = rng.choice([-2, -1, 0.5, 1, 3])
    kind = rng.random()
    if kind < 0.6:
        return f"{factor}*{name}"
    if kind < 0.75:
        return f"{factor}*{name}*{rng.choice(names)}"
    if kind < 0.85:
        return f"{factor}*sin({name})"
    return f"{factor}*{name}*{name}*{name}"


def equation(rng, names):
    left = " + ".join(term(rng, names) for _ in range(rng.randint(1, 3)))
    right = rng.choice(["0.5", "sin(time)", "0", "1 + time"])
    return left, right


def value_of(expression, row, names):
    text = expression
    scope = {"sin": math.sin, "time": row["time"]}
    for name in names:
        text = text.replace(name + "'", f"d_{name}_")
    for name in names:
        scope[name] = row[name]
        scope[f"d_{name}_"] = row.get(name + "'", 0.0)
    return eval(text, {"__builtins__": {}}, scope)  # noqa: S307


def size_of(expression, row, names):
    """Sum of the terms' sizes: what the residual is compared with."""
    return sum(abs(value_of(part, row, names)) for part in expression.split(" + "))


def run(path, out):
    return subprocess.run([saltus_run.PROGRAM, "run", path, "-o", out, "--quiet", "--hmin",
                           "1e-6"], capture_output=True, text=True, timeout=10, check=False)


def check(rng, folder):
    """"accepted", "refused", or what is wrong."""
    names = NAMES[:rng.randint(1, 4)]
    equations = [equation(rng, names) for _ in names]
    text = "".join(f"{left} = {right};\n" for left, right in equations)
    text += "".join(f"{name}(t0) ~ {rng.choice(['0.3', '1', '-0.7'])};\n" for name in names
                    if any(name in left.replace("sin", "") for left, _ in equations))
    outputs = [n for n in names] + [n + "'" for n in names
                                    if any(n + "'" in left for left, _ in equations)]
    text += "experiment { end = 1; every = 0.25; rtol = 1e-8; atol = 1e-10; out = " + \
        ", ".join(outputs) + "; }\n"
    path = os.path.join(folder, "m.lisma")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    out = os.path.join(folder, "m.csv")
    try:
        result = run(path, out)
    except subprocess.TimeoutExpired:
        return f"does not end\n{text}"
    if result.returncode < 0 or "ERROR: " in result.stderr:
        return f"crashed: {result.stderr[:2000]}\n{text}"
    if result.returncode:
        return "refused" if "error[" in result.stderr else f"no code: {result.stderr}\n{text}"
    with open(out, encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if any(not v for v in line.values()):
                continue
            row = {k: float(v) for k, v in line.items()}
            for left, right in equations:
                residual = abs(value_of(left, row, names) - value_of(right, row, names))
                size = size_of(left, row, names) + abs(value_of(right, row, names)) + 1.0
                if not residual <= 1e-6 * size:
                    return f"{left} = {right} is off by {residual} at t = {row['time']}\n{text}"
    return "accepted"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rng = random.Random(7)
    found = {"accepted": 0, "refused": 0}
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            verdict = check(rng, folder)
            if verdict in found:
                found[verdict] += 1
            else:
                problems += 1
                print(f"system {number}: {verdict}")
    print(f"{count} systems: {found['accepted']} accepted, {found['refused']} refused, "
          f"{problems} problems")
    if found["accepted"] < count // 10:
        print("too few were accepted to tell anything")
        problems += 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
