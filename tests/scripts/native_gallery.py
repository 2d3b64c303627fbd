#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Equations as machine code give the same bits as the tape, for every model of the gallery.

The cache stays in the build tree: a second run is quick.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402

COMPILER = next((p for p in map(shutil.which, ("cc", "gcc", "clang")) if p), None)
CACHE = os.path.join(suite.BUILD, "scratch", "native-gallery")


class Gallery(unittest.TestCase):
    """Every model gives the same rows and events, to the last byte."""

    def run_model(self, folder, path, native):
        name = os.path.join(folder, re.sub(r"\W", "_", path) + native)
        environment = dict(os.environ, XDG_CACHE_HOME=CACHE)
        done = subprocess.run(
            [cli_case.PROGRAM, "run", path, "--native", native, "-o", name + ".csv", "--events",
             name + ".jsonl"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, encoding="utf-8", timeout=250, check=False)
        results = [done.returncode]
        for path in (name + ".csv", name + ".jsonl"):
            # literal scans of rule tables write no events
            if os.path.exists(path):
                with open(path, "rb") as f:
                    results.append(f.read())
        return results, done.stderr

    def compare(self, folder, path):
        tape, _ = self.run_model(folder, path, "off")
        native, messages = self.run_model(folder, path, "on")
        wrong = [f"{path}: status, rows or events differ"] if tape != native else []
        return wrong, "as machine code" in messages

    @unittest.skipUnless(COMPILER, "there is no C compiler")
    def test_same_bits(self):
        models = [path for pattern in ("models/*.lisma", "models/dae/*.lisma", "models/stiff/*.lisma",
                                       "tests/cases/*.lisma", "models/rules/*.rules.md")
                  for path in sorted(glob.glob(os.path.join(cli_case.SOURCE, pattern)))]
        self.assertGreater(len(models), 50)
        models = suite.share(models)
        os.makedirs(CACHE, exist_ok=True)
        compiled, wrong = 0, []
        with tempfile.TemporaryDirectory() as folder, \
                concurrent.futures.ThreadPoolExecutor(2) as pool:
            for messages, native in pool.map(lambda path: self.compare(folder, path), models):
                wrong += messages
                compiled += native
        self.assertEqual(wrong, [])
        self.assertGreater(compiled, len(models) // 2)


if __name__ == "__main__":
    cli_case.main()
