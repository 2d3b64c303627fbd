# SPDX-License-Identifier: MIT
"""A test case that runs the program in a folder of its own."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import saltus_run  # noqa: E402

PROGRAM = os.path.abspath(saltus_run.PROGRAM)
SOURCE = saltus_run.SOURCE

BALL = """// a ball that bounces and rests
const k = 0.8, h = 2;
y' = v;  y(t0) = h;
v' = -g; v(t0) = 0;
bounces(t0) = 0;
state rest unilateral[y <= 0] && v < 0 && v > -0.05 {
  y' = 0; v' = 0; set y = 0; set v = 0; set bounces = bounces + 1;
} from bounce;
state bounce unilateral[y <= 0] && v < 0 {
  set v = -k * v;
  set bounces = bounces + 1;
} from init, bounce;
experiment { end = 8; }
"""

# runs for as long as one lets it
ENDLESS = "x' = y;  x(t0) = 1;\ny' = -x; y(t0) = 0;\n"


class Result:
    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err


class CliCase(unittest.TestCase):
    """self.saltus("run", ...) runs in an empty folder that has ball.lisma."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.addCleanup(self._folder.cleanup)
        self.write("ball.lisma", BALL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(self.path(name), mode, **({} if mode == "wb" else {"encoding": "utf-8"})) as f:
            f.write(text)
        return name

    def read(self, name):
        with open(self.path(name), encoding="utf-8", newline="") as f:
            return f.read()

    def environment(self, **extra):
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
        environment.update(extra)
        return environment

    def popen(self, *arguments, **options):
        options.setdefault("env", self.environment())
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, **options)

    def saltus(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("env", self.environment())
        options.setdefault("timeout", 120)
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              check=False, **options)
        decode = lambda b: (b or b"").decode("utf-8", "replace")  # noqa: E731
        return Result(done.returncode, decode(done.stdout), decode(done.stderr))

    def good(self, *arguments, **options):
        """Must succeed; returns the result."""
        result = self.saltus(*arguments, **options)
        self.assertEqual(result.status, 0, f"{arguments}\n{result.out}\n{result.err}")
        return result

    def fails(self, status, *arguments, says=(), **options):
        """Must end with `status` and say all of `says` on standard error, in one short message."""
        result = self.saltus(*arguments, **options)
        self.assertEqual(result.status, status, f"{arguments}\n{result.out}\n{result.err}")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.err, f"{arguments}")
        return result


def main():
    unittest.main(verbosity=1)
