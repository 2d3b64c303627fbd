#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the gallery with every method, way of detection and a few tolerances in a build with sanitizers, and say how many
runs there were. A report of a sanitizer, a crash or a run that does not end is a failure; a message about the model is not.

sanitize.py BUILD [--seconds S] [--jobs N] [--only TEXT] [--share P --seed N]   (a random share of the runs, 0..1)
"""
import argparse
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


def methods(program):
    lines = subprocess.run([program, "methods"], capture_output=True, text=True, check=True).stdout.split("\n")
    return [line.split()[0] for line in lines if line and line[0].isalpha() and line.split()[0] != "name"]


def run(program, model, method, detection, rtol, seconds):
    """None, or what is wrong."""
    # every run ends by itself, whatever the model's own end is
    command = [program, "run", model, "-q", "-o", "/dev/null", "--method", method, "--detection", detection, "--rtol", rtol,
               "--samples", "20", "--timeout", str(seconds), "--max-events", "20000", "--max-steps", "200000"]
    if method in ("rk4", "euler", "rk2"):
        command += ["--step", "0.01"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20 * seconds + 60,
                                cwd=os.path.dirname(model), check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    if result.returncode < 0:
        return "ends by signal %d" % -result.returncode
    found = [line for line in result.stderr.split("\n") if any(report in line for report in REPORTS)]
    return found[0] if found else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    program = os.path.abspath(os.path.join(options.build, "saltus"))
    models = sorted(glob.glob(os.path.join(ROOT, "models", "**", "*.lisma"), recursive=True))
    models = [m for m in models if options.only in m and os.sep + "parts" + os.sep not in m]
    jobs = list(itertools.product(models, methods(program), DETECTION, TOLERANCES))
    if options.share < 1.0:
        jobs = random.Random(options.seed).sample(jobs, max(1, round(options.share * len(jobs))))
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda job: run(program, *job, options.seconds), jobs)
        for job, wrong in zip(jobs, results):
            if wrong:
                failures += 1
                print("%s: %s" % (" ".join([os.path.relpath(job[0], ROOT), *job[1:]]), wrong), flush=True)
    print("sanitize: %d models, %d runs, %d failures" % (len({job[0] for job in jobs}), len(jobs), failures))
    return 1 if failures else 0


sys.exit(main())
