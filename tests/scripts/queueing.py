#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The five programs of docs/queueing.md beside those in SimPy: the numbers that both print agree as random numbers do."""
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# what to read from the outputs of the C program and of SimPy, and by how much they may differ
NUMBERS = {
    "bank": [(r"(\d+) customers left", r"(\d+) customers left", 0.3)],
    "shop": [(r"ordinary: .* (\S+) \+-", r"ordinary: .* (\S+) min", 0.3), (r"urgent: .* (\S+) \+-", r"urgent: .* (\S+) min", 0.1)],
    "harbour": [(r"stayed (\S+) ", r"stayed (\S+) ", 0.1), (r"(\d+) went", r"(\d+) went", 0.5)],
    "stock": [(rf"mark {m}: cost +(\S+) ", rf"mark {m}: cost (\S+) ", 0.06) for m in (20, 40, 60)],
    "network": [(rf"{k} .*median +(\S+),", rf"{k}: .*median (\S+),", 0.1) for k in ("ordinary", "urgent")],
}


def python_with_simpy():
    for program in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(program) and subprocess.run([program, "-c", "import simpy; simpy.Environment"],
                                                      capture_output=True, check=False).returncode == 0:
            return program
    return None


def main():
    with open(os.path.join(SOURCE, "docs", "queueing.md"), encoding="utf-8") as f:
        page = f.read()
    programs = dict(re.findall(r"<!-- not run: (\w+)\.py;[^\n]*-->\n```python\n(.*?)```", page, re.S))
    printed = dict(re.findall(r"-o (\w+) && \./\w+\n(.*?)```", page, re.S))
    assert set(programs) == set(printed) == set(NUMBERS), (sorted(programs), sorted(printed))
    python = python_with_simpy()
    if not python:
        print("skipped: no SimPy (Debian: python3-simpy3)")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs.items():
            path = os.path.join(folder, name + "_simpy.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            out = subprocess.run([python, path], capture_output=True, text=True, check=True, timeout=120).stdout
            for ours, theirs, share in NUMBERS[name]:
                a, b = (float(re.search(pattern, text).group(1)) for pattern, text in ((ours, printed[name]), (theirs, out)))
                if abs(a - b) > share * abs(a):
                    print(f"{name}: {a} here, {b} in SimPy")
                    failed += 1
    print(f"{len(programs)} programs, {failed} numbers differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
