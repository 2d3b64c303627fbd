#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workbench in a real browser (workbench/test/browser.mjs), in front of `saltus serve` and, where it is built, as a page
with the engine inside."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import suite  # noqa: E402

FOLDER = os.path.join(suite.SOURCE, "workbench")


def skip(why):
    print(f"skipped: {why} (scripts/setup.sh workbench browser; make page)")
    sys.exit(77)


if not shutil.which("node"):
    skip("there is no node")
if not shutil.which("chromium"):
    skip("there is no chromium")
if not os.path.isdir(os.path.join(FOLDER, "node_modules", "playwright-core")):
    skip("the packages of workbench/ are not fetched")
probe = subprocess.run([os.environ["SALTUS"], "serve", "--listen", "nowhere"], capture_output=True, text=True, check=False)
if "no address" not in probe.stderr:
    skip(probe.stderr.strip().splitlines()[0])
words = sys.argv[1:]
if not words and suite.SANITIZED:
    words = ["steps"]  # what the engine does is looked at by other tests too; the page is the same
sys.exit(subprocess.run(["node", os.path.join(FOLDER, "test", "browser.mjs"), *words], check=False).returncode)
