#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models that compile and fail while they run, or in a mode that is checked late: exit status and
every word on standard error. tests/golden/run/NAME.lisma, NAME.expected.

A first line `// options: ...` is given to `saltus run`. --update rewrites the expected files.
"""
import difflib
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("SALTUS_SOURCE", pathlib.Path(__file__).parents[2]))
SALTUS = os.environ.get("SALTUS", "saltus")
FOLDER = ROOT / "tests" / "golden" / "run"
OPTIONS = "// options: "


def run(path):
    """Exit status and messages; rows go to standard output, so that no file is named."""
    first = path.read_text("utf-8").split("\n", 1)[0]
    options = shlex.split(first[len(OPTIONS):]) if first.startswith(OPTIONS) else []
    done = subprocess.run([SALTUS, "run", path.name, "-q", "-o", "-"] + options, cwd=FOLDER,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=60)
    return "exit %d\n%s" % (done.returncode, done.stderr.decode("utf-8", "replace"))


def main():
    update = "--update" in sys.argv[1:]
    models = sorted(FOLDER.glob("*.lisma"))
    failures = 0
    for path in models:
        found = run(path)
        if not found.startswith(("exit 1\n", "exit 3\n")):
            failures += 1
            print("%s: a model that fails must give 1 or 3:\n%s" % (path.name, found))
            continue
        expected = path.with_suffix(".expected")
        if update:
            expected.write_text(found, "utf-8")
            continue
        known = expected.read_text("utf-8") if expected.exists() else ""
        if known != found:
            failures += 1
            print("\n".join(difflib.unified_diff(known.splitlines(), found.splitlines(),
                                                 path.name + " expected", "actual", lineterm="")))
    print("%d models, %d failures" % (len(models), failures))
    return 1 if failures or not models else 0


sys.exit(main())
