#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/diagnostics.md has one section for every code, in the order of their numbers and with the
titles of src/base/diag_codes.def, and its examples are what saltus says."""
import os
import re
import subprocess
import sys

ROOT = os.environ.get("SALTUS_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
CODE = re.compile(r'^X\((\w+), "(\w+)", "(\w+)", SLT_\w+,\s*"(.*)"\)$', re.M)


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def main():
    definitions = read("src", "base", "diag_codes.def")
    codes = CODE.findall(definitions)
    problems = []
    if len(codes) != len(re.findall(r"^X\(", definitions, re.M)):
        problems.append("diag_codes.def has a line in another form")
    wanted = ["## %s %s: %s" % (text, mnemonic, title) for _, text, mnemonic, title in codes]
    wanted.sort(key=lambda line: (line[4:8], line[3]))
    found = re.findall(r"^## .*$", read("docs", "diagnostics.md"), re.M)
    problems += ["no section: " + line for line in wanted if line not in found]
    problems += ["no such code: " + line for line in found if line not in wanted]
    if not problems and found != wanted:
        at = next(i for i in range(len(wanted)) if found[i:i + 1] != wanted[i:i + 1])
        problems.append("out of order or twice: " + found[at])
    # messages of worlds have no model to show them: a unit test makes each of them
    units = "".join(read("tests", "unit", name) for name in sorted(os.listdir(
        os.path.join(ROOT, "tests", "unit"))))
    elsewhere = {"E0906", "E0909"}  # other failures, and every_allocation_may_fail
    problems += ["no unit test makes " + text for _, text, _, _ in codes
                 if text[1:3] == "09" and text not in units and text not in elsewhere]
    print("\n".join(problems) or "%d codes: ok" % len(codes))
    examples = subprocess.run([sys.executable, os.path.join(ROOT, "scripts",
                                                            "gen_diagnostics_examples.py"),
                               "--saltus", os.environ.get("SALTUS", "saltus"), "--check"])
    return 1 if problems or examples.returncode else 0


sys.exit(main())
