#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random rows of masses with springs, walls, contacts of any restitution and dry friction: every run ends,
nothing passes through anything, and neither motion nor impacts make energy."""
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

COUNT = 100
ENERGY = re.compile(r"at the end: motion ([-0-9.e+]+)(?:, events ([-0-9.e+]+))?")


def mass(draw, i, count, wall):
    """The equations of one mass, and its part of the energy."""
    m = round(draw.uniform(0.3, 3), 2)
    push = round(draw.uniform(-2, 2), 3) if draw.random() < 0.5 else 0
    forces = [str(push)]
    energy = f"{m / 2}*v{i}^2 - ({push})*x{i}"
    text = f"x{i}' = v{i};  x{i}(t0) = {i + round(draw.uniform(-0.2, 0.2), 3)};  v{i}(t0) = {round(draw.uniform(-3, 3), 3)};\n"
    if i > 1 or wall:
        forces.append(f"N{i - 1}")
    if i < count or wall:
        forces.append(f"(-N{i})")
    if draw.random() < 0.3:
        forces.append(f"(-5*(x{i} - {i}))")
        energy += f" + 2.5*(x{i} - {i})^2"
    if draw.random() < 0.5:
        forces.append(f"F{i}")
        kinetic = round(draw.uniform(0.2, 1.5), 2)
        text += (f"friction f{i} {{ velocity = v{i}; force = F{i}; kinetic = {kinetic}; "
                 f"static = {round(kinetic * draw.choice([1, 1.3]), 3)}; }}\n")
    return text + f"{m}*v{i}' = {' + '.join(forces)};\n", energy


def model(draw):
    count = draw.randint(2, 5)
    wall = draw.random() < 0.7
    gaps = {i: f"x{i + 1} - x{i} - 0.5" for i in range(1, count)}
    if wall:
        gaps[0] = "x1"
        gaps[count] = f"{count + 1} - x{count}"
    parts = [mass(draw, i, count, wall) for i in range(1, count + 1)]
    text = "".join(part[0] for part in parts)
    for i, gap in gaps.items():
        restitution = draw.choice([0, 0.3, 0.7, 0.9, 1] if 0 < i < count else [0, 0.5, 0.8])
        text += f"contact c{i} {{ gap = {gap}; force = N{i}; restitution = {restitution}; }}\n"
        text += f"macro gap{i} = {gap};\n"
    text += f"energy = {' + '.join(part[1] for part in parts)};\nexperiment {{ end = 8; }}\n"
    return text, [f"gap{i}" for i in gaps]


def check(folder, seed):
    """What is wrong with one model, or None."""
    text, gaps = model(random.Random(seed))
    path = os.path.join(folder, "m.lisma")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    rows = os.path.join(folder, "m.csv")
    run = subprocess.run([saltus_run.PROGRAM, "run", path, "-o", rows, "--samples", "200", "--out", ",".join(gaps)],
                         capture_output=True, text=True, timeout=saltus_run.TIMEOUT, check=False)
    if run.returncode:
        return run.stderr + text
    with open(rows, encoding="utf-8") as file:
        next(file)
        least = min(float(cell) for line in file for cell in line.split(",")[1:])
    found = ENERGY.search(run.stderr)
    made = max(float(part or 0) for part in found.groups())
    if least < -1e-5 or made > 1e-4:
        return f"gap {least}, energy {made}\n{text}"
    return None


def main():
    with tempfile.TemporaryDirectory(prefix="saltus-test-") as folder:
        for seed in range(COUNT):
            problem = check(folder, seed)
            if problem:
                sys.exit(f"seed {seed}: {problem}")
    print(f"{COUNT} models")


if __name__ == "__main__":
    main()
