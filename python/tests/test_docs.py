# SPDX-License-Identifier: MIT
"""The pages say what happens."""

import doctest
import importlib.util
import os
import subprocess
import sys
import unittest
from pathlib import Path

import saltus
from common import SOURCE


class Pages(unittest.TestCase):
    def test_examples(self):
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        failed, tried = doctest.testfile(str(SOURCE / "docs" / "python.md"), module_relative=False, optionflags=flags)
        self.assertGreater(tried, 20)
        self.assertEqual(failed, 0)
        self.assertEqual(doctest.testmod(saltus).failed, 0)

    def test_everything_public_is_documented(self):
        for name in saltus.__all__:
            thing = getattr(saltus, name)
            self.assertTrue(thing.__doc__, name)
            for method, value in vars(thing).items() if isinstance(thing, type) else ():
                if not method.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{method}")


class Types(unittest.TestCase):
    def test_types(self):
        if importlib.util.find_spec("mypy") is None or "LD_PRELOAD" in os.environ:
            self.skipTest("mypy is not there, or would be slow under a sanitizer")
        package = Path(saltus.__file__).parent
        run = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", "mypy_cache",
             "--allow-untyped-calls", "-p", "saltus"],
            capture_output=True, text=True, cwd=package.parent, env={"PATH": "/usr/bin:/bin", "MYPYPATH": str(package.parent)},
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
