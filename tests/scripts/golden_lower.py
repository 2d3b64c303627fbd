#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models with mistakes in their meaning and the exact messages they give:
tests/golden/lower/NAME.lisma, NAME.expected.

--update rewrites the expected files from what the compiler says now.
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


def check(tool, path, update):
    """One model; returns the number of failures."""
    name = os.path.basename(path)
    run = subprocess.run([tool, path], stdout=subprocess.PIPE)
    wanted = 1 if b": error[" in run.stdout else 0
    if run.returncode != wanted:
        print("%s: status %d, but the messages mean %d" % (name, run.returncode, wanted))
        return 1
    expected_path = path[:-len("lisma")] + "expected"
    if update:
        with open(expected_path, "wb") as expected:
            expected.write(run.stdout)
        return 0
    expected = open(expected_path, "rb").read() if os.path.exists(expected_path) else b""
    if expected == run.stdout:
        return 0
    lines = [t.decode("utf-8", "replace").splitlines() for t in (expected, run.stdout)]
    print("\n".join(difflib.unified_diff(*lines, name + " expected", "actual", lineterm="")))
    return 1


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--update", action="store_true", help="rewrite the expected files")
    options = arguments.parse_args()
    models = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "lower", "*.lisma")))
    failures = sum(check(suite.tool("lisma_check_tool"), path, options.update) for path in models)
    print("%d models, %d failures" % (len(models), failures))
    sys.exit(1 if failures else 0)


main()
