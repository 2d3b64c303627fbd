# SPDX-License-Identifier: MIT
"""Run the saltus program and read what it writes: rows and event records."""
import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("SALTUS") or os.path.join(SOURCE, "build", "release", "saltus")
TIMEOUT = 280  # seconds; a hanging run fails with its command line

if not os.path.exists(PROGRAM):
    sys.exit(f"there is no program {PROGRAM}; build it, or name it in the environment as SALTUS")


class Instant:
    """All records with one time that were made together."""

    def __init__(self, records):
        self.records = records
        self.t = records[0]["t"]

    def changed(self, name):
        """Value of a variable before the first and after the last change in this instant."""
        pairs = [r["changed"][name] for r in self.records if name in (r.get("changed") or {})]
        return (pairs[0][0], pairs[-1][1]) if pairs else None

    def has_atom(self, text):
        """Whether a relation, as the model writes it, was part of a guard that fired here."""
        return any(text in (r.get("atom") or []) for r in self.records)


class Run:
    """One finished run."""

    def __init__(self, command, status, errors, table, events):
        self.command = command
        self.status = status
        self.errors = errors
        self.columns = table[0] if table else []
        self.rows = table[1:] if table else []
        self.records = events

    def column(self, name):
        """Values of a column; None where it is undetermined, text for states of automata."""
        try:
            at = self.columns.index(name)
        except ValueError:
            raise KeyError(f"no column '{name}' (there are: {', '.join(self.columns)})") from None
        return [row[at] for row in self.rows]

    def last(self, name):
        return self.column(name)[-1]

    def instants(self):
        """Instants in which something happened, the initial one included only if it did."""
        groups = []
        for record in self.records:
            if record["n"] == 0 or not groups:
                groups.append([])
            groups[-1].append(record)
        quiet = ("initial", "stop")
        return [Instant(g) for g in groups if any(r["kind"] not in quiet for r in g)]


def cell(text):
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def read_table(text):
    rows = list(csv.reader(io.StringIO(text)))
    return [rows[0]] + [[cell(c) for c in row] for row in rows[1:]] if rows else []


def read_events(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def command(*arguments, cwd=None, program=PROGRAM):
    """Run the program; (exit status, standard output, standard error)."""
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=cwd, timeout=TIMEOUT, check=False)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "replace")


def run_files(model, options=(), program=PROGRAM, events=True, event_rows="all"):
    """Run a model; (exit status, standard error, CSV text, events text)."""
    with tempfile.TemporaryDirectory(prefix="saltus-test-") as folder:
        rows = os.path.join(folder, "rows.csv")
        lines = os.path.join(folder, "events.jsonl")
        # extremes and corners are at events: rows there, unless nobody asks for them
        arguments = ["run", model, "-o", rows, "--quiet", "--event-rows", event_rows, *options]
        if events:
            arguments += ["--events", lines]
        status, _, errors = command(*arguments, cwd=folder, program=program)
        return status, errors, content(rows), content(lines)


def content(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def run(model, *options, program=PROGRAM, events=True, event_rows="all"):
    """Run a model file and read the results. The caller looks at `status`."""
    status, errors, rows, lines = run_files(model, options, program, events, event_rows)
    return Run([program, "run", model, *options], status, errors, read_table(rows),
               read_events(lines))


def near(got, want, tolerance):
    """Within an absolute tolerance; 0 means equal."""
    if not isinstance(got, (int, float)) or math.isnan(got):
        return False
    return abs(got - want) <= tolerance
