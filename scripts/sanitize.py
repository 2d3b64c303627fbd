#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the gallery with every method, way of detection and a few tolerances in a build with sanitizers, and count.

A report of a sanitizer, a crash and a run that does not end are failures; a message about the model is not. Where a method
refuses a model nothing was tried: such runs are counted apart, and every reason is shown once. Each run is cut after some steps, events and seconds: by then it has passed
through the code that its combination asks for, and the whole of them takes about an hour of one core.

The order is drawn with --seed: the first third of it has every model with every method and way of detection at one of the
tolerances, the next ones at the others. So a share of the runs is spread over all of them, and the same seed makes the same ones.

sanitize.py BUILD [--seconds S] [--jobs N] [--only TEXT] [--share P] [--seed N] [--skip N]   (the first N of them are done)
"""
import argparse
import collections
import concurrent.futures
import glob
import itertools
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DETECTION = ["certified", "combined", "extrapolation", "interpolation"]
TOLERANCES = ["1e-3", "1e-6", "1e-10"]
REPORTS = ("ERROR: AddressSanitizer", "runtime error:", "ERROR: LeakSanitizer")
GOOD = ("done", "cut", "told")
FIXED_STEPS = 1000
LIMITS = ["--max-steps", "2000", "--max-events", "200"]
PATIENCE = 60  # seconds beyond the limit of a run: a sanitized start on a busy machine


def methods(program):
    """Name of every method, and whether it needs a step."""
    lines = subprocess.run([program, "methods"], capture_output=True, text=True, check=True).stdout.split("\n")
    return [(line.split()[0], " fixed " in line) for line in lines if line and not line.startswith("name")]


def span(program, model):
    """How long a run of the model is, in its own time."""
    rows = subprocess.run([program, "run", model, "-q", "-o", "-", "--samples", "1", "--event-rows", "none", "--timeout", "5"],
                          capture_output=True, text=True, cwd=os.path.dirname(model), check=False).stdout.split("\n")
    times = [float(row.split(",")[0]) for row in rows[1:] if row]
    return times[-1] - times[0] if len(times) > 1 and times[-1] > times[0] else 1.0


def run(program, model, method, detection, rtol, seconds, spans):
    """How the run ended: "done", "cut", "told", why it was "refused: ...", or what is wrong."""
    name, fixed = method
    command = [program, "run", model, "-q", "-o", "/dev/null", "--method", name, "--detection", detection, "--rtol", rtol,
               "--samples", "20", "--timeout", str(seconds), *LIMITS]
    if fixed:
        command += ["--step", repr(spans[model] / FIXED_STEPS)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds + PATIENCE,
                                cwd=os.path.dirname(model), check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    found = [line for line in result.stderr.split("\n") if any(report in line for report in REPORTS)]
    if found:
        return found[0]
    if result.returncode < 0:
        return "ends by signal %d" % -result.returncode
    if result.returncode == 2:
        return "refused: " + result.stderr.strip().split("\n")[0]
    if result.returncode not in (0, 1, 3):
        return "status %d" % result.returncode
    if result.returncode == 0:
        return "done"
    return "cut" if "--max-" in result.stderr or "--timeout" in result.stderr else "told"


def in_order(combinations, rng):
    """Three times all combinations, each time with another of the tolerances."""
    rng.shuffle(combinations)
    first = [rng.randrange(len(TOLERANCES)) for _ in combinations]
    return [(*combination, TOLERANCES[(first[i] + turn) % len(TOLERANCES)])
            for turn in range(len(TOLERANCES)) for i, combination in enumerate(combinations)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0)
    options = parser.parse_args()
    program = os.path.abspath(os.path.join(options.build, "saltus"))
    models = sorted(glob.glob(os.path.join(ROOT, "models", "**", "*.lisma"), recursive=True))
    models = [m for m in models if options.only in m and os.sep + "parts" + os.sep not in m]
    jobs = in_order(list(itertools.product(models, methods(program), DETECTION)), random.Random(options.seed))
    jobs = jobs[options.skip:max(1, round(options.share * len(jobs)))]
    ends = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        spans = dict(zip(models, pool.map(lambda model: span(program, model), models)))
        results = pool.map(lambda job: run(program, *job, options.seconds, spans), jobs)
        for (model, method, *how), end in zip(jobs, results):
            ends[end] += 1
            if sum(ends.values()) % 500 == 0:
                print("%d of %d" % (sum(ends.values()), len(jobs)), flush=True)
            if end not in GOOD and (not end.startswith("refused") or ends[end] == 1):
                print("%s: %s" % (" ".join([os.path.relpath(model, ROOT), method[0], *how]), end), flush=True)
    hangs = ends["does not end"]
    refused = sum(count for end, count in ends.items() if end.startswith("refused"))
    failures = len(jobs) - refused - sum(ends[end] for end in GOOD)
    print("sanitize: %d models, %d runs (%d to their end, %d cut at a limit, %d with a message, %d refused), %d hangs, "
          "%d other failures" % (len({job[0] for job in jobs}), len(jobs), *(ends[end] for end in GOOD), refused, hangs,
                                 failures - hangs))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
