#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comparison of the detection modes in docs/events.md: an object between two circles, with the
method and the settings of E. A. Popov and Yu. V. Shornikov (2021), three starts, four detections, and
the same model with its auxiliary relations turned into ordinary ones.

detection_table.py --saltus PROGRAM          print the table
detection_table.py --saltus PROGRAM --check  compare it with the one in docs/events.md
detection_table.py --saltus PROGRAM --times  print run times (median of many) instead
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = os.path.join(ROOT, "models", "closed_space.lisma")
PAGE = os.path.join(ROOT, "docs", "events.md")
STARTS = [("-1.1", "-1", 72), ("-2", "-2", 69), ("-1.1", "-1.1", 72)]  # x, y, reflections
MODES = ["extrapolation", "interpolation", "combined", "certified"]


def plain_model():
    with open(MODEL, encoding="utf-8") as file:
        return file.read().replace("noEvent[", "[")


def summary(saltus, model, start, mode):
    """Figures of one run, from its summary."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [saltus, "run", model, "--set", "x0=" + start[0], "--set", "y0=" + start[1],
             "--detection", mode, "--samples", "1", "-o", os.path.join(folder, "rows.csv")],
            stderr=subprocess.PIPE, check=True, timeout=60)
    text = done.stderr.decode("utf-8")
    number = {name: float(re.search(pattern, text).group(1)) for name, pattern in (
        ("steps", r"steps +(\d+)"), ("events", r"events +(\d+)"),
        ("equations", r"evaluations +(\d+)"), ("guards", r"(\d+) of the guards"),
        ("time", r"wall time +([\d.]+)"))}
    if re.search(r"wall time +[\d.]+ us", text):
        number["time"] /= 1000
    return number


def table(saltus, plain):
    lines = ["| start | detection | steps | evaluations | of the guards | events | missed | "
             "without `noEvent`: steps | evaluations | of the guards |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for start in STARTS:
        for mode in MODES:
            typed = summary(saltus, MODEL, start, mode)
            other = summary(saltus, plain, start, mode)
            missed = start[2] - typed["events"]
            cells = [f"({start[0]}, {start[1]})", f"`{mode}`"] + [
                f"{v:.0f}" for v in (typed["steps"], typed["equations"], typed["guards"],
                                     typed["events"], missed, other["steps"],
                                     other["equations"], other["guards"])]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def times(saltus, plain):
    for mode in MODES:
        median = [statistics.median(summary(saltus, model, STARTS[2], mode)["time"]
                                    for _ in range(25)) for model in (MODEL, plain)]
        print(f"{mode:14} {median[0]:7.3f} ms, without noEvent {median[1]:7.3f} ms: "
              f"{100 * (median[0] / median[1] - 1):+.0f} %")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--saltus", default=os.environ.get("SALTUS", "saltus"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "closed_space.lisma")
        with open(plain, "w", encoding="utf-8") as file:
            file.write(plain_model())
        if options.times:
            times(options.saltus, plain)
            return 0
        made = table(options.saltus, plain)
    if not options.check:
        sys.stdout.write(made)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        if made in file.read():
            return 0
    print("docs/events.md has another table than this:\n" + made)
    return 1


if __name__ == "__main__":
    sys.exit(main())
