#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw the pictures of docs/rules.md from real runs: the response of every procedure (located
execution) and the charts of the hoop. Usage: rules_pictures.py SALTUS"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/tools"))
import rules_cases  # noqa: E402

OUT = ROOT / "docs/rules"


def draw(saltus, model, columns, name, *options):
    quoted = ",".join(f"`{c}`" for c in columns)
    subprocess.run([saltus, "run", model, "-q", "-o", pathlib.Path(model).parent / "out.csv",
                    "--out", quoted, "--plot", OUT / f"{name}.svg", *options], check=True)


def main():
    saltus = sys.argv[1]
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in rules_cases.CASES:
            name, _, shown, _ = case
            slug = re.sub(r"[^a-z0-9]+", "_", name.lower())
            path = pathlib.Path(folder) / f"{slug}.rules.md"
            path.write_text(rules_cases.text(case), encoding="utf-8")
            draw(saltus, path, shown.split(), slug, "--samples", "200")
        for part in ("hoop", "hoop_rolling"):
            text = (ROOT / f"models/rules/{part}.rules.md").read_text(encoding="utf-8")
            (pathlib.Path(folder) / f"{part}.rules.md").write_text(text, encoding="utf-8")
        hoop = pathlib.Path(folder) / "hoop.rules.md"
        rolling = pathlib.Path(folder) / "hoop_rolling.rules.md"
        draw(saltus, hoop, ["h height"], "hoop_height", "--samples", "400")
        draw(saltus, hoop, ["Fy spring"], "hoop_force", "--until", "3", "--samples", "2000")
        draw(saltus, rolling, ["h height", "Vx velocity", "Angle vel."], "hoop_rolling", "--until", "3",
             "--samples", "400")


main()
