#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dry friction written as a steep saturation: a block under a force that swings, against the closed form for friction
that is a jump, which differs by the width of the saturation alone. The saturation is narrower than the tolerance of the
speed, so no error of a step shows where the block sticks or passes through rest. Seeds as arguments reproduce cases."""
import math
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

CASES = 48
METHODS = ("auto", "auto", "rodas5", "rodas", "rodas3")


def root(f, a, b):
    """Where f changes its sign between a and b."""
    below = f(a) < 0
    for _ in range(200):
        middle = (a + b)/2
        if (f(middle) < 0) == below:
            a = middle
        else:
            b = middle
    return b


def speed_at(amplitude, end):
    """v' = amplitude*sin(t) - sign(v) from rest, phase by phase."""
    t, v, side = 0.0, 0.0, 0
    step = 1e-3
    while t < end:
        if side == 0:  # sticks until the force exceeds the friction
            force = lambda s: abs(amplitude*math.sin(s)) - 1  # noqa: E731
            if force(t) <= 0:
                later = t
                while later < end and force(later + step) <= 0:
                    later += step
                t = root(force, later, later + step) if later < end else end
            side = 1 if math.sin(t) > 0 else -1
            v = 0.0
            continue
        begin, start = t, v

        def speed(s, begin=begin, start=start, side=side):
            return side*(start + amplitude*(math.cos(begin) - math.cos(s)) - side*(s - begin))
        later = t + step
        while later < end and speed(later) > 0:
            later += step
        if later >= end and speed(end) > 0:
            return side*speed(end)
        t = root(speed, later - step, later)
        v = 0.0
        side = 0
    return 0.0


def spell(rng, argument, steepness, level):
    ramp = f"{steepness!r}*({argument})"
    return rng.choice([f"max(-{level!r}, min({level!r}, {ramp}))", f"min({level!r}, max(-{level!r}, {ramp}))",
                       f"if({ramp} > {level!r}, {level!r}, if({ramp} < -{level!r}, -{level!r}, {ramp}))",
                       f"({level!r}*(abs({ramp}/{level!r} + 1) - abs({ramp}/{level!r} - 1))/2)"])


def check(seed):
    rng = random.Random(f"friction/{seed}")
    amplitude = rng.uniform(1.05, 5)
    end = rng.uniform(5, 30)
    unit = rng.choice((1.0, 1.0, 1e-9, 1e6))
    pace = rng.choice((1.0, 1.0, 1e-6, 1e4))  # seconds per unit of time
    steepness = 10.0**rng.uniform(7, 12)
    # v in units/pace, forces in units/pace^2
    level = unit/pace**2
    friction = spell(rng, "v", steepness/pace, level)
    text = (f"v' = {amplitude*level!r}*sin(time/{pace!r}) - {friction};\n"
            f"x' = v; v(t0) = 0; x(t0) = 0;\n")
    method = rng.choice(METHODS)
    rtol = rng.choice((1e-4, 1e-6, 1e-6)) if method != "rodas3" else 1e-4
    with tempfile.TemporaryDirectory(prefix="saltus-friction-") as folder:
        path = os.path.join(folder, "model.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        run = saltus_run.run(path, "--method", method, "--until", repr(end*pace), "--samples", "5", "--rtol", repr(rtol),
                             "--timeout", "10")
    told = f"case {seed}, {method}, rtol {rtol}, until {end*pace!r}: {text}"
    if run.status != 0:
        return f"{told}\n  {run.errors}"
    v, wanted = run.last("v")*pace/unit, speed_at(amplitude, end)
    if abs(v - wanted) > 30*rtol*amplitude + 30/steepness:
        return f"{told}\n  v = {v!r}, wanted {wanted!r}"
    return None


SEEDS = sys.argv[1:] or [str(i) for i in range(CASES)]
failures = [told for told in map(check, SEEDS) if told]
print("\n".join(failures))
print(f"{len(SEEDS) - len(failures)} of {len(SEEDS)} cases passed")
sys.exit(1 if failures else 0)
