#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print the lines reached by the tests, per module and, below 80 %, per file.

Reads the counters of a build with --coverage through gcov's JSON; needs nothing beyond gcc.
Usage: coverage.py BUILD
"""
import collections
import json
import pathlib
import subprocess
import sys


def read_counters(build):
    """{file: {line: count}} of everything under src/ and cli/."""
    root = pathlib.Path(__file__).resolve().parent.parent
    lines = collections.defaultdict(collections.Counter)
    for notes in sorted(build.rglob("*.gcno")):
        result = subprocess.run(
            ["gcov", "--json-format", "--stdout", str(notes)],
            capture_output=True, text=True, check=False, cwd=build)
        for document in result.stdout.splitlines():
            if not document.startswith("{"):
                continue
            for entry in json.loads(document)["files"]:
                path = pathlib.Path(entry["file"])
                path = path if path.is_absolute() else build / path
                try:
                    name = path.resolve().relative_to(root)
                except ValueError:
                    continue
                if name.parts[0] not in ("src", "cli"):
                    continue
                for line in entry["lines"]:
                    lines[str(name)][line["line_number"]] += line["count"]
    return lines


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/coverage").resolve()
    modules = collections.defaultdict(lambda: [0, 0])
    low = []
    for name, counts in sorted(read_counters(build).items()):
        reached, total = sum(1 for count in counts.values() if count), len(counts)
        parts = pathlib.Path(name).parts
        module = "/".join(parts[:2]) if parts[0] == "src" else parts[0]
        modules[module][0] += reached
        modules[module][1] += total
        if total and reached < 0.8 * total:
            low.append((reached / total, name))
    total = [sum(column) for column in zip(*modules.values())] or [0, 0]
    for module, (reached, count) in sorted(modules.items()) + [("all", total)]:
        print(f"{module:16} {reached:6} of {count:6} lines  {100 * reached / max(count, 1):5.1f} %")
    for share, name in sorted(low):
        print(f"  low: {name} {100 * share:.0f} %")


main()
