#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The index of the gallery is whole: every model stands in it once, says in words what it is, and names its source.

What the models promise in numbers is checked by models.py.
"""
import glob
import os
import re
import sys

SOURCE = os.environ["SALTUS_SOURCE"]
MODELS = os.path.join(SOURCE, "models")
FIELDS = ["Mechanics", "Robotics", "Electronics", "Power", "traffic", "Heat", "Processes", "Biology", "Epidemics", "Logistics",
          "Games", "Music"]
LEAST = 80


def comment(path):
    """The comment that a model begins with."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    return "\n".join(line[2:].strip() for line in lines[:end])


def complaints():
    with open(os.path.join(MODELS, "README.md"), encoding="utf-8") as file:
        index = file.read()
    paths = [p for p in glob.glob(os.path.join(MODELS, "**", "*.lisma"), recursive=True) if "/parts/" not in p]
    if len(paths) < LEAST:
        yield f"only {len(paths)} models"
    for field in FIELDS:
        if not re.search(rf"^## .*{field}", index, re.M):
            yield f"no models of the field {field}"
    for path in paths:
        name = os.path.relpath(path, MODELS)
        rows = re.findall(rf"^\|.*\]\({re.escape(name)}\)", index, re.M)
        if len(rows) != 1:
            yield f"{name}: stands {len(rows)} times in the index"
        text = comment(path)
        words = re.split(r"\n\n|\n(?:Source|expect|run )", text)[0]
        if len(words.split()) < 5:
            yield f"{name}: does not say what it is"
        if not re.search(r"^Source: \S", text, re.M):
            yield f"{name}: names no source"
    for name in re.findall(r"\]\(([\w/]+\.lisma)\)", index):
        if not os.path.exists(os.path.join(MODELS, name)):
            yield f"{name}: in the index, but not there"


def main():
    found = list(complaints())
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
