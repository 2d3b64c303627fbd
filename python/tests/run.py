#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run one file of the package's tests, or say why it cannot be run here: run.py FILE [MODULE]...

Exit status 77 (CTest: skipped) where a module that the tests need is missing.
"""

import importlib
import sys
import unittest
from pathlib import Path

PACKAGES = {"nbconvert": "python3-nbconvert", "ipykernel": "python3-ipykernel", "mypy": "mypy"}


def main() -> int:
    file, *needed = sys.argv[1:]
    for module in ["numpy", *needed]:
        try:
            importlib.import_module(module)
        except ImportError:
            package = PACKAGES.get(module, f"python3-{module}")
            print(f"skipped: {sys.executable} has no module {module} (Debian: {package}, or scripts/setup.sh python)")
            return 77
    sys.path.insert(0, str(Path(__file__).parent))
    suite = unittest.defaultTestLoader.loadTestsFromName(Path(file).stem)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
