#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Broken models and the exact messages they give: tests/golden/syntax/NAME.lisma, NAME.expected.

--update rewrites the expected files from what the parser says now.
"""
import argparse
import difflib
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import suite  # noqa: E402


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--update", action="store_true", help="rewrite the expected files")
    options = arguments.parse_args()

    models = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "syntax", "*.lisma")))
    failures = 0
    tool = suite.tool("lisma_parse_tool")
    for path in models:
        name = os.path.basename(path)
        with open(path, "rb") as model:
            run = subprocess.run([tool, "--name", name], stdin=model, stdout=subprocess.PIPE)
        if run.returncode != 1:
            failures += 1
            print("%s: status %d; a broken model must give 1" % (name, run.returncode))
        expected_path = path[:-len("lisma")] + "expected"
        if options.update:
            with open(expected_path, "wb") as expected:
                expected.write(run.stdout)
            continue
        expected = open(expected_path, "rb").read() if os.path.exists(expected_path) else b""
        if expected != run.stdout:
            failures += 1
            lines = [t.decode("utf-8", "replace").splitlines() for t in (expected, run.stdout)]
            print("\n".join(difflib.unified_diff(*lines, name + " expected", "actual",
                                                 lineterm="")))
    print("%d models, %d failures" % (len(models), failures))
    sys.exit(1 if failures else 0)


main()
