#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Broken rule tables and the exact messages they must give (tests/golden/rules). With --update the
expected texts are written anew. Every code of rule tables is met here or in the unit tests."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("SALTUS_SOURCE", pathlib.Path(__file__).parents[2]))
SALTUS = os.environ.get("SALTUS", "saltus")
FOLDER = ROOT / "tests/golden/rules"
ELSEWHERE = {"E1006", "E1010"}  # CSV quotes and sizes: tests/unit/rules_read_test.c


def check(path):
    done = subprocess.run([SALTUS, "check", path.name], cwd=FOLDER, capture_output=True,
                          encoding="utf-8", errors="replace")
    return f"exit {done.returncode}\n{done.stderr}"


def main():
    update = "--update" in sys.argv
    problems, seen = [], set()
    models = sorted(FOLDER.glob("*.rules.md"))
    for path in models:
        found = check(path)
        seen.update(re.findall(r"\[(E10\d\d)\]", found))
        expected = path.with_name(path.name.replace(".rules.md", ".expected"))
        if update:
            expected.write_text(found, encoding="utf-8")
        elif not expected.exists() or expected.read_text(encoding="utf-8") != found:
            problems.append(f"{path.name} gives\n{found}")
    codes = set(re.findall(r"X\((E10\d\d),", (ROOT / "src/base/diag_codes.def").read_text("utf-8")))
    missing = codes - seen - ELSEWHERE
    if missing:
        problems.append("no broken table for " + ", ".join(sorted(missing)))
    print("\n".join(problems) or f"{len(models)} tables: ok")
    return 1 if problems else 0


sys.exit(main())
