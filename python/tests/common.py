# SPDX-License-Identifier: MIT
"""Places and models that the tests share."""

import os
import subprocess
from pathlib import Path

SOURCE = Path(os.environ["SALTUS_SOURCE"])
PROGRAM = os.environ["SALTUS"]
MODELS = SOURCE / "models"

BALL = """\
const g0 = 9.81, e = 0.8, h = 1;
y' = v; v' = -g0; y(t0) = h; v(t0) = 0; n(t0) = 0;
state bounce [y <= 0 and v < 0] { set v = -e * v, n = n + 1; } from init, bounce;
"""
#: bounces for ever, each as high as the one before: exact times
JUMPER = """\
const T = 1;
y' = v; v' = -8 / T ^ 2; y(t0) = 0; v(t0) = 4 / T; n(t0) = 0;
state up [y <= 0 and v < 0] { set v = 4 / T, y = 0, n = n + 1; } from init, up;
"""
HEATER = """\
const C = 2;
x' = (u - x) / C; x(t0) = 0; u(t0) = 1;
automaton warm {
  state hot [x >= 0.75] {} from init;
  state cooled [x < 0.5] {} from hot;
}
"""
ROW = """\
const N = 3;
for i = 1:N { x[i]' = -i * x[i]; x[i](t0) = 1; }
"""


def command(*words, **options):
    """Run the program; its standard output."""
    run = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, timeout=120, **options)
    if run.returncode:
        raise AssertionError(run.stderr.decode())
    return run.stdout
