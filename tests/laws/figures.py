#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of the source: fields of the largest structs, lines of the engine, complexity of functions, and calls and files of one
bounce of a ball.

Each figure has a limit, which is where it stands, and a goal. Above the limit the test fails; limits only go down.
`--complexity` also asks clang-tidy, which takes minutes.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("SALTUS_BUILD") or os.path.join(SOURCE, "build", "release")
LIMITS = os.path.join(SOURCE, "tests", "laws", "figures.json")
BOUNCE = 40  # the bounce that is counted, long after the first


def sources(folder="src", endings=("c", "h")):
    return sorted(path for ending in endings
                  for path in glob.glob(os.path.join(SOURCE, folder, "**", "*." + ending), recursive=True))


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"^#(?:\\\n|[^\n])*", "", text, flags=re.M)


def matching(text, start):
    """Position behind the brace that closes the one at start."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def count_fields(body):
    """Declarators of a struct, those of nested anonymous structs and unions one by one."""
    nested = 0
    while True:
        inner = re.search(r"\b(?:struct|union)\s*\{|\bAST_LIST\(", body)
        if not inner or not inner.group().endswith("{"):
            break
        end = matching(body, inner.end() - 1)
        nested += count_fields(body[inner.end():end - 1])
        tail = body.find(";", end)
        body = body[:inner.start()] + body[tail + 1:]
    fields = 0
    for declaration in body.split(";"):
        declaration = re.sub(r"\([^()]*\)|\[[^\]]*\]|\{[^}]*\}", "", declaration)
        if declaration.strip():
            fields += 1 + declaration.count(",")
    return nested + fields


def structs():
    """{name: fields}"""
    found = {}
    for path in sources() + sources("include") + sources("cli"):
        with open(path, encoding="utf-8") as file:
            text = without_comments(file.read())
        for head in re.finditer(r"\bstruct\s+(\w+)\s*\{", text):
            end = matching(text, head.end() - 1)
            found[head.group(1)] = count_fields(text[head.end():end - 1])
    return found


def engine_lines():
    return sum(len(open(path, encoding="utf-8").readlines()) for path in sources("src/engine"))


def calls(bounces, folder):
    """{function: calls} of a run with that many bounces, counted by callgrind."""
    out = os.path.join(folder, f"calls.{bounces}")
    program = os.path.join(BUILD, "tests", "laws_bounce")
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, str(bounces)],
                   check=True, stderr=subprocess.DEVNULL, env={**os.environ, "LD_BIND_NOW": "1"})
    names, counts, callee = {}, collections.Counter(), None
    with open(out, encoding="utf-8") as file:
        for line in file:
            named = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line)
            if named:
                if named[2]:
                    names[named[1]] = re.sub(r"'\d+$", "", named[2].strip())
                callee = named[1]
            elif line.startswith("calls="):
                counts[names.get(callee, callee)] += int(line[6:].split()[0])
    return counts


def definitions():
    """{function: file}; of a name that several files have, the engine's counts."""
    places = {}
    for path in sorted(sources(), key=lambda path: os.sep + "engine" + os.sep in path):
        with open(path, encoding="utf-8") as file:
            text = without_comments(file.read())
        for found in re.finditer(r"^[A-Za-z_][\w\s\*]*?\b(\w+)\([^;{}]*\)\s*\{", text, flags=re.M):
            places[found.group(1)] = os.path.relpath(path, SOURCE)
    return places


def bounce():
    """(calls, files) of one more bounce of the optimised program, inlined functions left out."""
    with tempfile.TemporaryDirectory(prefix="saltus-laws-") as folder:
        less, more = calls(BOUNCE, folder), calls(BOUNCE + 1, folder)
    places = definitions()
    extra = {name: more[name] - less[name] for name in more if more[name] > less[name]}
    own = {name: count for name, count in extra.items() if re.sub(r"\..*", "", name) in places}
    files = collections.Counter()
    for name, count in own.items():
        files[places[re.sub(r"\..*", "", name)]] += count
    return sum(own.values()), files


def complexity():
    """{function: cognitive complexity} above 25, by clang-tidy."""
    found = {}
    names = [path for path in sources(endings=("c",))]
    config = ("{Checks: '-*,readability-function-cognitive-complexity', CheckOptions: "
              "[{key: readability-function-cognitive-complexity.Threshold, value: 25}]}")
    done = subprocess.run(["clang-tidy", "-p", BUILD, "--quiet", f"--config={config}", *names],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    for match in re.finditer(r"function '(\w+)' has cognitive complexity of (\d+)", done.stdout.decode()):
        found[match[1]] = int(match[2])
    return found


def measure(with_complexity):
    figures, remarks = {}, {}
    sizes = sorted(structs().items(), key=lambda item: -item[1])
    figures["fields of the largest struct"] = sizes[0][1]
    remarks["fields of the largest struct"] = ", ".join(f"{name} {count}" for name, count in sizes[:8])
    figures["structs over 40 fields"] = sum(count > 40 for _, count in sizes)
    figures["lines of src/engine"] = engine_lines()
    if shutil.which("valgrind") and os.path.exists(os.path.join(BUILD, "tests", "laws_bounce")):
        count, files = bounce()
        figures["calls of a bounce"], figures["files of a bounce"] = count, len(files)
        remarks["files of a bounce"] = ", ".join(f"{os.path.basename(f)} {n}" for f, n in files.most_common())
    if with_complexity and shutil.which("clang-tidy"):
        worst = sorted(complexity().items(), key=lambda item: -item[1])
        figures["functions of complexity over 25"] = len(worst)
        remarks["functions of complexity over 25"] = ", ".join(f"{name} {n}" for name, n in worst[:12])
    return figures, remarks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--complexity", action="store_true")
    parser.add_argument("--update", action="store_true", help="lower the limits to what is measured")
    arguments = parser.parse_args()
    figures, remarks = measure(arguments.complexity)
    with open(LIMITS, encoding="utf-8") as file:
        table = json.load(file)
    bad = []
    for name, value in figures.items():
        entry = table[name]
        if arguments.update:
            entry["limit"] = min(entry["limit"], value)
        above = value > entry["limit"]
        print(f"{name:34} {value:6}   limit {entry['limit']:6}   goal {entry['goal']:6}{'   ABOVE' if above else ''}")
        if name in remarks:
            print(f"    {remarks[name]}")
        if above:
            bad.append(name)
    if arguments.update:
        lines = [f'  "{name}": {json.dumps(entry)}' for name, entry in table.items()]
        with open(LIMITS, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(lines) + "\n}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
