#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files for editors have the words of the language, all of them and no others."""
import os
import subprocess
import sys

ROOT = os.environ.get("SALTUS_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.exit(subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "gen_editors.py"),
                         "--check"]).returncode)
