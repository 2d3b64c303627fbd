#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the order of every method, in the states and in the times of events.

A logistic curve p is reset whenever it reaches a half; beside it runs an equation that depends on
time. Both have closed forms, so the errors of the states and of the event times are known. With
steps of length H the errors are proportional to H to the order: the slope of a line through them on
logarithmic scales. Methods with error control are held to the step H by --h0 and --hmax and by
tolerances that everything satisfies.
"""
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

P0, S0, LEVEL, END = 0.1, 0.7, 0.5, 20.0
DURATION = math.log(LEVEL / (1 - LEVEL) * (1 - P0) / P0)  # p goes from P0 to LEVEL
EVENT_COUNT = int(END / DURATION)

MODEL = f"""
p' = p * (1 - p);         p(t0) = {P0};
s' = -s * s * cos(time);  s(t0) = {S0};
state low bilateral[p * p >= {LEVEL ** 2}] && noEvent[p > {P0}] {{ p(t0) = {P0}; }} from init, low;
"""

# longest and shortest step by order: above rounding, yet short enough for the order to show
RANGES = {1: (0.02, 0.001), 3: (0.1, 0.01), 4: (0.2, 0.02), 5: (0.3, 0.04), 8: (1.0, 0.25)}
STEP_COUNT = 10
SLACK = 0.5      # how far the measured order may lie below the nominal one
NEAR_EVENT = 0.01 # rows closer than this to an event are left out: p jumps there


def exact(time):
    ratio = P0 / (1 - P0) * math.exp(math.fmod(time, DURATION))
    return ratio / (1 + ratio), 1 / (1 / S0 + math.sin(time))


def methods():
    """(name, order, adaptive) from the program's own list."""
    status, out, errors = saltus_run.command("methods")
    assert status == 0, errors
    header, *lines = out.splitlines()
    assert header.split()[:5] == ["name", "order", "stages", "dense", "step"], header
    for line in lines:
        words = line.split()
        # multistep methods have many orders: script.sundials
        if words[1].isdigit() and "(SUNDIALS)" not in line:
            yield words[0], int(words[1]), words[4] == "adaptive"


def mean_square(values):
    return math.sqrt(sum(v * v for v in values) / len(values))


def errors_at(path, method, adaptive, step):
    """Errors of the states and of the event times with steps of one length."""
    options = ["--method", method, "--until", repr(END), "--every", "0.1", "--event-eps", "1e-13"]
    if adaptive:
        options += ["--h0", repr(step), "--hmax", repr(step), "--rtol", "0.9", "--atol", "1e3"]
    else:
        options += ["--step", repr(step)]
    run = saltus_run.run(path, *options)
    assert run.status == 0, run.errors
    states = []
    for time, p, s in zip(run.column("time"), run.column("p"), run.column("s")):
        to_event = abs(time - DURATION * round(time / DURATION))
        if time == 0.0 or to_event > NEAR_EVENT:
            states += [p - exact(time)[0], s - exact(time)[1]]
    times = [instant.t for instant in run.instants()]
    assert len(times) == EVENT_COUNT, f"{method}, step {step}: events at {times}"
    return mean_square(states), mean_square([t - (k + 1) * DURATION for k, t in enumerate(times)])


def slope(steps, errors):
    """Slope of the straight line through the logarithms."""
    x, y = [math.log(v) for v in steps], [math.log(v) for v in errors]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
            / sum((a - mean_x) ** 2 for a in x))


def main():
    failed = count = 0
    with tempfile.TemporaryDirectory(prefix="saltus-test-") as folder:
        path = os.path.join(folder, "convergence.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODEL)
        print("method     order   measured: states | event times")
        for name, order, adaptive in methods():
            longest, shortest = RANGES[order]
            steps = [longest * (shortest / longest) ** (k / (STEP_COUNT - 1))
                     for k in range(STEP_COUNT)]
            pairs = [errors_at(path, name, adaptive, h) for h in steps]
            measured = [slope(steps, errors) for errors in zip(*pairs)]
            low = [m for m in measured if m < order - SLACK]
            failed += len(low)
            count += 1
            mark = "   too low: " + ", ".join(f"{a:.1e}/{b:.1e}" for a, b in pairs) if low else ""
            print(f"{name:10} {order:5}   {measured[0]:16.2f} | {measured[1]:11.2f}{mark}")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
