#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Every benchmark runs in its tiny form and prints rows that the runner understands; the runner
# writes its table and its picture. Times are not looked at.
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

source = Path(os.environ["SALTUS_SOURCE"])
build = Path(os.environ["SALTUS_BUILD"])
programs = sorted(p.stem for p in (source / "bench").glob("*.c"))
built = [p for p in programs if (build / "bench" / p).exists()]
if not built:
    print("the benchmarks are not built here")
    sys.exit(77)

with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(
        [sys.executable, str(source / "scripts" / "bench.py"), str(build), "--smoke", "--out", folder],
        capture_output=True, text=True, timeout=250)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
        sys.exit("a benchmark fails")
    results = json.loads((Path(folder) / "results.json").read_text())
    table = (Path(folder) / "table.md").read_text()
    picture = (Path(folder) / "size.svg").read_text()

missing = [p for p in programs if p not in built]
if missing:
    sys.exit(f"not built: {', '.join(missing)}")
names = [row["name"] for row in results["rows"]]
if len(names) != len(set(names)):
    sys.exit(f"rows with the same name: {sorted(names)}")
wanted = {"ball", "billiard", "buck", "pendulum", "restart", "step", "record", "start", "queue",
          "kernel", "certification"}
if not wanted <= set(names):
    sys.exit(f"rows are missing: {sorted(wanted - set(names))}")
for row in results["rows"]:
    if not row.get("saltus_s", 0) > 0:
        sys.exit(f"no time in row {row['name']}")
    if (row.get("what") or row["name"]) not in table:
        sys.exit(f"row {row['name']} is not in the table")
    if "error" in row and not row["error"] < 1.0:
        sys.exit(f"row {row['name']}: error {row['error']}")
sizes = [point["n"] for point in results["curves"] if point.get("curve") == "cells"]
if sizes != [10, 100] or "<polyline" not in picture:
    sys.exit(f"the curve of cost over size has the points {sizes}")
texts = [point for point in results["curves"] if "spelling" in point]
if not texts or not all(point["run_s"] for point in texts):
    sys.exit("a text of the spelling table does not run")
print(f"{len(built)} benchmarks, {len(names)} rows")
