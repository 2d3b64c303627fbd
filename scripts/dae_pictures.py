#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw the pictures of docs/modes.md from real runs: the fragile pendulum with the gap in T where nothing
determines it, the drift of the radius of "ISMA 2015 and 2021" over 1000 s, the rope, the bridge.
Usage: dae_pictures.py SALTUS"""
import csv
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "docs/img"
MODELS = ROOT / "models/dae"


def run(saltus, model, columns, rows, *options):
    subprocess.run([saltus, "run", model, "-q", "-o", rows, "--out", ",".join(columns), *options],
                   check=True)


def drift(saltus, folder):
    """Both radii less 5 in one table: r of 2015 and r of 2021."""
    radii = {}
    for name in ("isma_2015", "isma_2021"):
        rows = folder / f"{name}.csv"
        run(saltus, MODELS / f"{name}.lisma", ["r"], rows)
        with open(rows, encoding="utf-8") as file:
            radii[name] = [(row["time"], float(row["r"])) for row in csv.DictReader(file)]
    table = folder / "ISMA 2015 and 2021"
    with open(table, "w", encoding="utf-8") as file:
        file.write("time,drift of 2015,drift of 2021\n")
        for (t, old), (_, new) in zip(radii["isma_2015"], radii["isma_2021"]):
            file.write(f"{t},{old - 5!r},{new - 5!r}\n")
    subprocess.run([saltus, "plot", table, "-o", OUT / "isma_drift.svg"], check=True)
    for name, rows in radii.items():
        print(f"{name}: largest distance of r from 5 is {max(abs(r - 5) for _, r in rows):.3g}")


def main():
    saltus = sys.argv[1]
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        rows = folder / "rows.csv"
        run(saltus, MODELS / "fragile_pendulum.lisma", ["x", "y", "T"], rows, "--plot",
            OUT / "fragile_pendulum.svg")
        run(saltus, MODELS / "rope.lisma", ["x", "y", "s"], rows, "--until", "2.5", "--plot",
            OUT / "rope.svg")
        run(saltus, MODELS / "bridge.lisma", ["v", "vs", "i"], rows, "--every", "0.0001",
            "--plot", OUT / "bridge.svg")
        drift(saltus, folder)


if __name__ == "__main__":
    main()
