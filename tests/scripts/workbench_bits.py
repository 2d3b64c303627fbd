#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models of the gallery give the same bits natively and in the page with the engine inside (workbench/test/bits.mjs)."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import suite  # noqa: E402

WEB = os.path.join(suite.SOURCE, "build", "web", "build")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


if not shutil.which("node"):
    skip("there is no node")
if not os.path.exists(os.path.join(WEB, "saltus_web.wasm")):
    skip("the page with the engine inside is not built (make web)")
models = sys.argv[1:]
if not models and suite.SANITIZED:
    models = ["ball.lisma", "neurons.lisma", "dae/fragile_pendulum.lisma"]
sys.exit(subprocess.run(["node", os.path.join(suite.SOURCE, "workbench", "test", "bits.mjs"), os.environ["SALTUS"], WEB, *models],
                        check=False).returncode)
