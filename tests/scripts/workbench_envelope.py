#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Charts of the workbench cover every row and every event (workbench/test/envelope.mjs)."""
import os
import shutil
import subprocess
import sys

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDER = os.path.join(SOURCE, "workbench")
if not shutil.which("node") or not os.path.isdir(os.path.join(FOLDER, "node_modules", "esbuild")):
    print("skipped: there is no node, or the packages of workbench/ are not fetched (make page)")
    sys.exit(77)
sys.exit(subprocess.run(["node", os.path.join(FOLDER, "test", "envelope.mjs")], check=False).returncode)
