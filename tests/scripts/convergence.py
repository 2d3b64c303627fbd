#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the order of every method, in the states and in the times of events.

A logistic curve p is reset whenever it reaches a half; beside it runs an equation that depends on
time. Both have closed forms, so the errors of the states at the end and of the event times are
known. With steps of length H, H/2, H/4, ... the errors fall as H to the order. Methods with error
control are held to the step H by --h0 and --hmax and by tolerances that everything satisfies.
"""
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

P0, S0, LEVEL, END = 0.1, 0.7, 0.5, 5.0

MODEL = f"""
p' = p * (1 - p);         p(t0) = {P0};
s' = -s * s * cos(time);  s(t0) = {S0};
state low bilateral[p * p >= {LEVEL ** 2}] {{ p(t0) = {P0}; }} from init, low;
"""

# how far the measured order may lie below the nominal one
SLACK = 0.35
# errors below this are rounding, not method
FLOOR = 2e-13


def exact_event_times():
    """p goes from P0 to LEVEL again and again."""
    duration = math.log(LEVEL / (1 - LEVEL) * (1 - P0) / P0)
    return [duration * k for k in range(1, int(END / duration) + 1)]


def exact_end():
    times = exact_event_times()
    ratio = P0 / (1 - P0) * math.exp(END - times[-1])
    return {"p": ratio / (1 + ratio), "s": 1 / (1 / S0 + math.sin(END))}


def methods():
    """(name, order, adaptive) from the program's own list."""
    status, out, errors = saltus_run.command("methods")
    assert status == 0, errors
    header, *lines = out.splitlines()
    assert header.split()[:5] == ["name", "order", "stages", "dense", "step"], header
    for line in lines:
        words = line.split()
        if words[1].isdigit():
            yield words[0], int(words[1]), words[4] == "adaptive"


def errors_at(path, method, adaptive, step):
    """Error of the states at the end, and of the event times."""
    options = ["--method", method, "--until", repr(END), "--samples", "1", "--event-eps", "1e-13"]
    if adaptive:
        options += ["--h0", repr(step), "--hmax", repr(step), "--rtol", "0.9", "--atol", "1e3"]
    else:
        options += ["--step", repr(step)]
    run = saltus_run.run(path, *options)
    assert run.status == 0, run.errors
    end = exact_end()
    state = max(abs(run.last(name) - value) for name, value in end.items())
    exact = exact_event_times()
    times = [i.t for i in run.instants()]
    assert len(times) == len(exact), f"{method}: events at {times}, not {exact}"
    return state, max(abs(a - b) for a, b in zip(times, exact))


def orders(errors, steps):
    """Slopes between neighbouring steps, as long as the finer error is above rounding."""
    return [math.log(errors[k] / errors[k + 1]) / math.log(steps[k] / steps[k + 1])
            for k in range(len(steps) - 1) if errors[k + 1] > FLOOR]


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="saltus-test-") as folder:
        path = os.path.join(folder, "convergence.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODEL)
        print(f"{'method':10} {'order':>5}   measured: states | event times")
        for name, order, adaptive in methods():
            # high orders need long steps to be above rounding, low ones short steps to be asymptotic
            first = {1: 0.01}.get(order, 0.1 if order < 8 else 0.4)
            steps = [first / 1.5 ** k for k in range(5)]
            pairs = [errors_at(path, name, adaptive, h) for h in steps]
            shown = []
            for which in zip(*pairs):
                measured = orders(which, steps)
                # the mean of the last ones: events fall on different places of their steps
                last = measured[-3:]
                mean = sum(last) / len(last) if last else math.nan
                fine = len(last) >= 2 and mean >= order - SLACK
                failed += not fine
                shown.append(f"{mean:5.2f}{'' if fine else '  <-- too low ' + str(which)}")
            print(f"{name:10} {order:5}   {' | '.join(shown)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
