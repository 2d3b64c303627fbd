#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models of the gallery give the same bits natively and in the page with the engine inside (workbench/test/bits.mjs)."""
import os
import shutil
import subprocess
import sys

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
WEB = os.path.join(SOURCE, "build", "web", "build")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


if not shutil.which("node"):
    skip("there is no node")
if not os.path.exists(os.path.join(WEB, "saltus_web.wasm")):
    skip("the page with the engine inside is not built (make web)")
models = sys.argv[1:]
with open(os.path.join(os.environ["SALTUS_BUILD"], "CMakeCache.txt"), encoding="utf-8") as cache:
    if not models and any(line.startswith("SALTUS_SANITIZE:") and line.strip()[-1] != "=" for line in cache):
        models = ["ball.lisma", "neurons.lisma", "dae/fragile_pendulum.lisma"]
sys.exit(subprocess.run(["node", os.path.join(SOURCE, "workbench", "test", "bits.mjs"), os.environ["SALTUS"], WEB, *models],
                        check=False).returncode)
