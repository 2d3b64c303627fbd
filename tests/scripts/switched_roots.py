#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions that end at the boundary of their switch: the equations in force have no values beyond
it (a root of abs, max or if), or no solution, so the crossing has to be reached from one side and passed without
evaluating either side on the other's ground. Random starts and speeds against closed forms, with
every adaptive method; a seed as argument reproduces a run."""
import concurrent.futures
import math
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

CASES = 120
METHODS = ["dp54", "bs32", "merson", "dop853"]
ARC = 2.3962804694711844  # integral of sqrt(sin) over half a turn


def make(rng):
    """A model in w, the end of its run and w there."""
    start, way, speed = rng.uniform(0.1, 3), rng.uniform(0.2, 5), rng.uniform(0.1, 3)
    line = f"x' = {speed}; x(t0) = {start}; w(t0) = 0; "
    sine = f"w(t0) = 0; s = sin({speed}*time); "
    kind = rng.randrange(9)
    if kind == 0:
        return line + f"w' = sqrt(abs({start + way} - x));", 2*way/speed, 4/3*way**1.5/speed
    if kind == 1:
        return line + f"w' = sqrt(max({start + way} - x, 0));", 2*way/speed, 2/3*way**1.5/speed
    if kind == 2:
        return sine + "w' = sqrt(abs(s));", 4*math.pi/speed, 4*ARC/speed
    if kind == 3:
        return sine + "w' = if(s > 0, sqrt(s), 0);", 4*math.pi/speed, 2*ARC/speed
    if kind == 4:
        return (sine + "if (s >= 0) { w' = sqrt(s); } else { w' = sqrt(-s); }", 4*math.pi/speed,
                4*ARC/speed)
    if kind == 5:  # a throw: x = speed/2 (r^2 - (t - r)^2)
        r = way/speed
        return (f"x' = v; v' = -{speed}; v(t0) = {way}; x(t0) = 0; w(t0) = 0; "
                "w' = sqrt(max(x, 0));", 3*r, math.sqrt(speed/2)*math.pi*r*r/2)
    if kind == 7:  # flow through a pipe that turns round; the guess may have the wrong sign
        guess = rng.choice(["", "w(t0) ~ 5; ", "w(t0) ~ -5; "])
        end = (start + way)/speed
        return (f"x' = 1; x(t0) = 0; s = {speed}*time - {start}; {guess}w*abs(w) + 0.3*w = s;", end,
                (math.sqrt(0.09 + 4*way) - 0.3)/2)
    if kind == 8:  # a root of multiplicity 3, at the time of a row
        return (f"x' = 1; x(t0) = 0; w*w*w = {speed}*(time - 2); w(t0) ~ 1;", 5.0,
                (3*speed)**(1/3))
    # a vessel: sqrt(x) falls evenly to 0
    return (f"x' = -{speed}*sqrt(max(x, 0)); x(t0) = {way}; w(t0) = 0; w' = x;",
            4*math.sqrt(way)/speed, 2/3*way**1.5/speed)


def check(number):
    rng = random.Random(f"{SEED}/{number}")
    model, end, wanted = make(rng)
    method = rng.choice(METHODS)
    with tempfile.TemporaryDirectory(prefix="saltus-roots-") as folder:
        path = os.path.join(folder, "model.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(model)
        run = saltus_run.run(path, "--method", method, "--until", repr(end), "--samples", "5")
    told = f"case {number}, {method}, until {end!r}: {model}"
    if run.status != 0:
        return f"{told}\n  {run.errors}"
    if any(value is None or not math.isfinite(value) for row in run.rows for value in row):
        return f"{told}\n  a value that is not finite"
    if abs(run.last("w") - wanted) > 2e-5*max(1, wanted):
        return f"{told}\n  w = {run.last('w')!r}, wanted {wanted!r}"
    return None


def check_fold():
    """The root vanishes in the midst of a step, and another one is far from it: the rows behind it
    get their values from the end of the step."""
    with tempfile.TemporaryDirectory(prefix="saltus-roots-") as folder:
        path = os.path.join(folder, "model.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write("x' = -x; x(t0) = 1; s = exp(time) - 5; w^3 - 0.01*w = s; w(t0) ~ 1;")
        run = saltus_run.run(path, "--method", "dp54", "--until", "5", "--samples", "400")
    if run.status != 0:
        return f"fold: {run.errors}"
    for row in run.rows:
        time, w = row[0], row[run.columns.index("w")]
        if w is None or not abs(w**3 - 0.01*w - math.exp(time) + 5) < 1e-9*math.exp(time):
            return f"fold: w = {w!r} at {time!r}"
    return None


SEED = sys.argv[1] if len(sys.argv) > 1 else "1"
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    failures = [told for told in pool.map(check, range(CASES)) if told]
fold = check_fold()
print("\n".join(failures + ([fold] if fold else [])))
print(f"{CASES - len(failures)} of {CASES} cases passed (seed {SEED})")
sys.exit(1 if failures or fold else 0)
