#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every procedure of rule tables, in both executions, against its closed form; where there is none
the two executions are compared with each other."""
import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("SALTUS_SOURCE", pathlib.Path(__file__).parents[2]))
SALTUS = os.environ.get("SALTUS", "saltus")
sys.path.insert(0, str(ROOT / "tests/tools"))
import rules_cases  # noqa: E402

DT = 1e-3
LOCATED = 2e-5   # sine through 1e-6 relative tolerance
CYCLIC = 8e-3    # an order of dt for the in-place integrals


def run(model, *options):
    done = subprocess.run([SALTUS, "run", model, "-q", "-o", "-", *options], capture_output=True,
                          text=True, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    rows = list(csv.reader(io.StringIO(done.stdout)))
    header = rows[0]
    # of two rows at one time the one after the event
    table = {}
    for row in rows[1:]:
        table[round(float(row[0]), 9)] = {n: float(v) for n, v in zip(header, row) if v != ""}
    return table


def compare(name, table, expected, tolerance):
    worst, place = 0.0, None
    for t, row in table.items():
        for variable, value in expected(t).items():
            error = abs(row[variable] - value)
            if error > worst:
                worst, place = error, (t, variable, row[variable], value)
    if worst > tolerance:
        return f"{name}: {place[1]} at t = {place[0]} is {place[2]}, expected {place[3]}"
    return None


def noise_is_normal(table):
    values = [row["y"] for row in table.values()]
    mean = sum(values) / len(values)
    square = sum(v * v for v in values) / len(values)
    return abs(mean) < 0.35 and 0.6 < square < 1.5 and len(set(values)) > 150


def main():
    problems = []
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for case in rules_cases.CASES:
            name, _, _, expected = case
            if wanted and name not in wanted:
                continue
            path = pathlib.Path(folder) / "case.rules.md"
            path.write_text(rules_cases.text(case), encoding="utf-8")
            try:
                located = run(path, "--every", "0.05", "--rtol", "1e-8")
                cyclic = run(path, "--every", "0.05", "--cyclic", str(DT))
            except RuntimeError as error:
                problems.append(f"{name}: {error}")
                continue
            if name == "noise":
                if not noise_is_normal(located) or not noise_is_normal(cyclic):
                    problems.append(f"{name}: not normal")
                continue
            if expected:
                # a row of the cyclic run holds what the cycle before its time computed
                shifted = {t - DT: row for t, row in cyclic.items() if t > 0}
                pair = expected if isinstance(expected, tuple) else (expected, expected)
                problems.append(compare(f"{name}, located", located, pair[0], LOCATED))
                problems.append(compare(f"{name}, cyclic", shifted, pair[1], CYCLIC))
            else:
                common = [t for t in located if t in cyclic and abs(t - 1) > 0.02 and t > 0]
                gap = max(abs(located[t]["y"] - cyclic[t]["y"]) for t in common)
                if gap > 0.05:
                    problems.append(f"{name}: executions differ by {gap}")
    problems = [p for p in problems if p]
    header = (ROOT / "src/rules/model.h").read_text(encoding="utf-8")
    listed = header[header.index("#define RULES_PROCEDURE_LIST"):header.index("typedef enum RulesClass")]
    used = {rule[1] for case in rules_cases.CASES for rule in case[1]}
    problems += [f"no case for {n}" for n in re.findall(r'X\((?:.|\n)*?"([^"|]+)[|"]', listed)
                 if n not in used | {"remove"}]
    print("\n".join(problems) or f"{len(rules_cases.CASES)} procedures: ok")
    return 1 if problems else 0


sys.exit(main())
