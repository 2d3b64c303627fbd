#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""floor, ceil, mod and tables on signals that rise, fall, turn round and jump: away from the
boundaries of their pieces they are what the signal says, whichever way it came there."""
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

KNOTS = [(-2, 1), (-1, 0), (0, 2), (1, -1), (2, 0)]
PERIOD = 0.7
MODEL = """
x(t0) = 2.25; x' = -0.5;
c(t0) = 0; b(t0) = 0; w(t0) = 0.25;
at 1 each 1 repeat * { set c = c - 0.5; }
at 1 each 1 repeat * { set w = w - 0.25; set b = time; }
u_1 = x;                          // falls through whole numbers
u_2 = 3*sin(1.3*time);
u_3 = -(time - 4)^3/8;            // falls through 0 with slope 0
u_4 = 2.5 - 0.25*time;            // falls, linear in time
u_5 = 2*cos(time);                // begins at a boundary, touches it from above
u_6 = -2*cos(time);               // ... and from below
u_7 = 2 - (time - 3)^2/4;
u_8 = c + 0.25*sin(2.5*time);     // jumps to boundaries
u_9 = c;
u_10 = w - 0.25*(time - b);       // reaches 0 at the very time of a time event
data tab = "knots.csv";
for i = 1:10 {
  floor_[i] = floor(u_[i]); ceil_[i] = ceil(u_[i]); mod_[i] = mod(u_[i], 0.7); table_[i] = table(tab, u_[i]);
}
experiment { end = 9; }
"""


def table(u):
    """Straight lines between the knots; the outer ones go on."""
    k = 0
    while k + 2 < len(KNOTS) and u > KNOTS[k + 1][0]:
        k += 1
    (x0, y0), (x1, y1) = KNOTS[k:k + 2]
    return y0 + (y1 - y0) * (u - x0) / (x1 - x0)


def far(u, period):
    """Whether u is not at a multiple of the period, so that rounding cannot decide."""
    return abs(u / period - round(u / period)) > 1e-6


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pieces.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODEL)
        with open(os.path.join(folder, "knots.csv"), "w", encoding="utf-8") as file:
            file.write("x,y\n" + "".join(f"{x},{y}\n" for x, y in KNOTS))
        run = saltus_run.run(path, "--every", "0.03")
    if run.status != 0:
        print(run.errors)
        return 1
    checked = 0
    for i in range(1, 11):
        columns = [run.column(f"{name}_{i}") for name in ("u", "floor", "ceil", "mod", "table")]
        for t, u, low, high, rest, value in zip(run.column("time"), *columns):
            wanted = [("floor", low, math.floor(u), far(u, 1)), ("ceil", high, math.ceil(u), far(u, 1)),
                      ("mod", rest, u - PERIOD * math.floor(u / PERIOD), far(u, PERIOD)),
                      ("table", value, table(u), True)]
            for name, found, expected, decided in wanted:
                checked += 1
                if decided and not abs(found - expected) <= 1e-9:
                    problems.append(f"{name}(u_{i}) = {found} at t = {t}, u = {u}: expected {expected}")
    print("\n".join(problems[:20]) or f"{checked} values: ok")
    return 1 if problems else 0


sys.exit(main())
