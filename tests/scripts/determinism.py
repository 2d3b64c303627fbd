#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Same model, same options, same bits.

1. The order of declarations means nothing, but for random numbers and for times due at once: the
   statements of each gallery model are shuffled, at the top and inside of bodies (only the order of
   the states of one automaton is kept), and the rows must be the same to the last byte, the events
   the same but for their places in the text.
2. Compilers and optimisation mean nothing: the program is built with another compiler and without
   optimisation, and rows and events must be the same to the last byte. With SALTUS_BUILDS=all it is
   built in further ways (`make portability`). Sanitizers do not reach these builds, so a sanitized
   suite leaves them out.
"""
import concurrent.futures
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import expectations  # noqa: E402
import saltus_run  # noqa: E402
import suite  # noqa: E402

SHUFFLES = 3
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|`[^`\n]*`|\w+|\s+|.", re.S)

# compiler, options; all code gets the same level, the kernels included
BUILDS = {
    "clang -O2": ["clang", "-O2 -DNDEBUG"],
    "gcc -O0": ["gcc", "-O0"],
}
MORE_BUILDS = {"gcc -O3": ["gcc", "-O3 -DNDEBUG"]}  # which is what a release gives its kernels
if os.environ.get("SALTUS_BUILDS") == "all":
    BUILDS.update(MORE_BUILDS)


# ----------------------------------------------------------------------------------------------
# shuffling

def tokens_of(text):
    return [t for t in TOKEN.findall(text) if not t.startswith(("//", "/*"))]


def next_word(tokens, at):
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    return tokens[at] if at < len(tokens) else ""


def statements(tokens):
    """Split the tokens of a block, or of a whole model, into its statements."""
    found, current, depth = [], [], 0
    for at, token in enumerate(tokens):
        current.append(token)
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        if depth:
            continue
        ends = token == ";" or (token == "}" and next_word(tokens, at + 1) not in ("from", "else"))
        if ends:
            found.append(current)
            current = []
    if "".join(current).strip():
        found.append(current)
    return found


def first_word(statement):
    return next_word(statement, 0)


def holds_states(statement):
    """A state of the unnamed automaton, or a loop that makes such states."""
    word = first_word(statement)
    return word == "state" or (word == "for" and "state" in statement and
                               "automaton" not in statement)


def shuffled_bodies(statement, randomly):
    """The statement with the statements of its bodies in another order."""
    word = first_word(statement)
    if word not in ("state", "for", "if", "at", "automaton"):
        return "".join(statement)
    out, at = [], 0
    while at < len(statement):
        out.append(statement[at])
        at += 1
        if out[-1] != "{":
            continue
        begin, depth = at, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(statement[at], 0)
            at += 1
        out.append(shuffled_block(statement[begin:at - 1], randomly))
        out.append("}")
    return "".join(out)


def shuffled_block(tokens, randomly):
    parts = statements(tokens)
    ordered = [p for p in parts if holds_states(p)]
    randomly.shuffle(parts)
    # states keep their order among each other
    again = iter(ordered)
    parts = [next(again) if holds_states(p) else p for p in parts]
    return "\n".join(shuffled_bodies(p, randomly).strip() for p in parts) + "\n"


def shuffled(text, seed):
    return shuffled_block(tokens_of(text), random.Random(seed))


# ----------------------------------------------------------------------------------------------
# comparing

def without_places(events):
    """Event records without what depends on where in the text something stands."""
    records, changes = [], {}
    for line in events.splitlines():
        record = json.loads(line)
        record.pop("line")
        record.pop("n")
        if record["kind"] == "time":
            record["iter"] = 0
        record["guard"] = sorted(json.dumps(g, sort_keys=True) for g in record.get("guard") or [])
        # what an instant does to computed values is told with its last record
        jumps = changes.setdefault(record["t"], {})
        for variable, values in record.pop("changed").items():
            jumps.setdefault(variable, []).append(values)
        told_last = ("residual", "candidate", "impulses") if record["class"] == "mythical" else "residual"
        for key in [k for k in record if k.startswith(told_last)]:
            record.pop(key)
        record["automaton"] = re.sub(r"@\d+:\d+|(?<=^after):\d+", "@", record["automaton"] or "")
        record["atom"] = sorted(" ".join(a.split()) for a in record["atom"])
        records.append(json.dumps(record, sort_keys=True))
    # switches that fire together have no order but that of their places
    ordered = sorted(records, key=lambda r: (json.loads(r)["t"], json.loads(r)["iter"], r))
    return ordered + [json.dumps([t, jumps], sort_keys=True) for t, jumps in sorted(changes.items())]


# who draws which random number, and which of two times that are due at once comes first, is the
# order of the text
# ... as is the order of the unknowns around the nodes of parts, and so their rounding
ORDER_MATTERS = re.compile(r"\b(random|uniform|normal|exponential)\s*\(|\binclude\b")
# two automata set one variable in the same instant: the delivery comes when the shelf runs empty
SET_TWICE = {"inventory.lisma"}


def first_difference(a, b):
    for number, (x, y) in enumerate(zip(a, b), 1):
        if x != y:
            return f"line {number}:\n  {x}\n  {y}"
    return f"{len(a)} and {len(b)} lines"


def check_order(path):
    """Messages about one model with its statements in other orders."""
    name = os.path.basename(path)
    status, errors, rows, events = saltus_run.run_files(path)
    if status != 0:
        return [f"{name}: {errors}"]
    columns = saltus_run.read_table(rows)[0][1:]
    options = expectations.out_option(columns)
    messages = []
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if ORDER_MATTERS.search(text) or name in SET_TWICE:
        return []
    with tempfile.TemporaryDirectory(prefix="saltus-test-") as folder:
        for table in glob.glob(os.path.join(os.path.dirname(path), "*.csv")):
            shutil.copy(table, folder)
        parts = os.path.join(os.path.dirname(path), "parts")
        if os.path.isdir(parts):
            shutil.copytree(parts, os.path.join(folder, "parts"))
        for seed in range(SHUFFLES):
            other = os.path.join(folder, name)
            with open(other, "w", encoding="utf-8") as file:
                file.write(shuffled(text, seed))
            status, errors, other_rows, other_events = saltus_run.run_files(other, options)
            if status != 0:
                messages.append(f"{name}, shuffle {seed}: exit status {status}: {errors}")
            elif other_rows != rows:
                difference = first_difference(rows.splitlines(), other_rows.splitlines())
                messages.append(f"{name}, shuffle {seed}: other rows, {difference}")
            elif without_places(other_events) != without_places(events):
                difference = first_difference(without_places(events), without_places(other_events))
                messages.append(f"{name}, shuffle {seed}: other events, {difference}")
    return messages


def build(name):
    """Build the program in another way; its path."""
    compiler, flags = BUILDS[name]
    folder = os.path.join(suite.BUILD, "determinism", name.replace(" ", ""))
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    for command in (["cmake", "-S", saltus_run.SOURCE, "-B", folder, *generator,
                     f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Debug",
                     f"-DCMAKE_C_FLAGS_DEBUG={flags}", "-DSALTUS_TESTS=OFF",
                     "-DSALTUS_EXAMPLES=OFF"],
                    ["cmake", "--build", folder, "--target", "saltus_cli"]):
        # a build takes as long as the machine is busy; the suite has a limit of its own
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise SystemExit(f"building with {name} failed:\n{done.stdout.decode()}")
    return os.path.join(folder, "saltus")


def check_program(job):
    """Message about one model run by another build of the program."""
    path, name, program = job
    mine, other = saltus_run.run_files(path), saltus_run.run_files(path, program=program)
    for what, index in (("exit status", 0), ("rows", 2), ("events", 3)):
        if mine[index] != other[index]:
            difference = first_difference(str(mine[index]).splitlines(),
                                          str(other[index]).splitlines())
            return [f"{os.path.basename(path)}: other {what} with {name}, {difference}"]
    return []


def main():
    gallery = os.path.join(saltus_run.SOURCE, "models")
    models = sys.argv[1:] or suite.share(sorted(glob.glob(os.path.join(gallery, "*.lisma")) +
                                                glob.glob(os.path.join(gallery, "ontology", "*.lisma"))))
    builds = [] if suite.SANITIZED else [name for name in BUILDS if shutil.which(BUILDS[name][0])]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check_order, models))
        for name in builds:
            program = build(name)
            results += pool.map(check_program, [(m, name, program) for m in models])
    for messages in results:
        failed += len(messages)
        for message in messages:
            print(message)
    print(f"{len(models)} models, {SHUFFLES} orders, builds: {', '.join(builds) or 'none'}; "
          f"{failed} failed")
    return 1 if failed or not models else 0


if __name__ == "__main__":
    sys.exit(main())
