# SPDX-License-Identifier: MIT
"""Run models and compare the runs.

Two criteria. `same_bits`: every row and record is the same number after unscaling. `agree`: events and values
differ by at most ten times what the reference itself changes when its tolerance is divided by ten, as far as those two
runs agree; FLOOR and the rounding of time are what arithmetic alone may change.
"""
import bisect
import csv
import io
import json
import math
import os
import re
import signal
import subprocess
import tempfile

SAMPLES = 60
FLOOR = 1e-8       # of the largest value of a column, of the length of the run
COLUMNS = 200      # that are compared in models with more, spread evenly
DISAGREE = 1e-2    # of the largest value: from here on the reference does not agree with itself
SECONDS = int(os.environ.get("LAWS_SECONDS", "5"))  # of the processor, for one run
BYTES = 1 << 24                                     # of a file that a run writes

QUIET = ("initial", "stop")


class Run:
    """What a run has written."""

    def __init__(self, status, errors, rows, records):
        self.status = status
        self.errors = errors
        code = re.search(r"\b(E\d{4})\b", errors)
        self.code = code.group(1) if code else ""
        table = list(csv.reader(io.StringIO(rows)))
        self.columns = table[0] if table else []
        self.rows = [[number_of(cell) for cell in row] for row in table[1:]
                     if len(row) == len(self.columns)]
        self.records = records
        self.size = len(rows)

    def state(self):
        return f"{self.status}{' ' + self.code if self.code else ''}"


def number_of(cell):
    return float(cell) if cell else None


def execute(program, text, options=(), folder=None):
    with tempfile.TemporaryDirectory(prefix="saltus-laws-") as scratch:
        model = os.path.join(scratch, "model.lisma")
        with open(model, "w", encoding="utf-8") as file:
            file.write(text)
        link_tables(folder, scratch)
        arguments = ["prlimit", f"--cpu={SECONDS}", f"--fsize={BYTES}", program, "run", "model.lisma", "-q",
                     "-o", "rows.csv", "--events", "events.jsonl", "--native", "off",
                     "--samples", str(SAMPLES), *options]
        done = subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=scratch,
                              check=False)
        rows, events = (content(os.path.join(scratch, name)) for name in ("rows.csv", "events.jsonl"))
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Run("timeout", "", "", [])
        if done.returncode == -signal.SIGXFSZ or max(len(rows), len(events)) >= BYTES:
            return Run("flood", "", "", [])
        records = [json.loads(line) for line in events.splitlines() if line.endswith("}")]
        return Run(done.returncode, done.stderr.decode("utf-8", "replace"), rows, records)


def content(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read(BYTES)


def explain(program, text, folder=None):
    """What `saltus explain` says about a model."""
    with tempfile.TemporaryDirectory(prefix="saltus-laws-") as scratch:
        model = os.path.join(scratch, "model.lisma")
        with open(model, "w", encoding="utf-8") as file:
            file.write(text)
        link_tables(folder, scratch)
        done = subprocess.run([program, "explain", "--json", "model.lisma"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, cwd=scratch, check=False)
        return json.loads(done.stdout) if done.stdout else {"variables": []}


def link_tables(folder, scratch):
    for name in os.listdir(folder) if folder else ():
        if name.endswith(".csv"):
            os.symlink(os.path.join(folder, name), os.path.join(scratch, name))


# -- what is compared ----------------------------------------------------------------------------

def place(automaton):
    """A switch is known by its line, since columns move when the text is rewritten."""
    return automaton.split(":")[0] if "@" in automaton else automaton


class Columns:
    """Columns by name, unscaled when they are asked for."""

    def __init__(self, rows, factors, places):
        places.pop(None, None)
        self.rows, self.factors, self.places, self.made = rows, factors, places, {}

    def get(self, name):
        if name not in self.made:
            at, factor = self.places.get(name), self.factors.get(name, 1.0)
            self.made[name] = None if at is None else [
                None if row[at] is None else factor * row[at] for row in self.rows]
        return self.made[name]

    __getitem__ = get

    def compared(self):
        names = list(self.places)
        return names[::1 + len(names) // COLUMNS]


class View:
    """A run in the units of the reference."""

    def __init__(self, run, value=None, unit=1.0, shift=0.0, names=None):
        """value: column -> factor; names: new name -> reference name, others are left out."""
        value = value or {}
        names = names or (lambda name: name)
        self.status = run.state()
        self.stopped = any(r["kind"] == "stop" for r in run.records)
        self.times = [unit * (row[0] - shift) for row in run.rows]
        self.values = Columns(run.rows, value, {names(c): at for at, c in enumerate(run.columns) if at})
        self.events = []  # (time, key, changed)
        for record in run.records:
            if record["kind"] in QUIET:
                continue
            automaton = record["automaton"] or f"if@{record['line']}"
            automaton = names(automaton)
            if automaton is None:
                continue
            changed = {}
            for name, pair in (record.get("changed") or {}).items():
                order = len(name) - len(name.rstrip("'"))
                known = names(name.rstrip("'"))
                if known is None:
                    continue
                factor = value.get(known, 1.0) / unit ** order
                changed[known + "'" * order] = [None if x is None else factor * x for x in pair]
            key = (record["kind"], place(automaton), record["from"], record["to"])
            self.events.append((unit * (record["t"] - shift), key, changed))

    def scale(self, column):
        return max((abs(x) for x in self.values[column] if x is not None), default=0.0)


def close(a, b, tolerance):
    if a is None or b is None:
        return a is b
    if a == b:
        return True
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= tolerance


def same_bits(reference, other, events=True):
    """First difference as text, or None."""
    if reference.status != other.status:
        return f"ends with {other.status}, not {reference.status}"
    columns = reference.values.compared()
    for i, (t, u) in enumerate(zip(reference.times, other.times)):
        if t != u:
            return f"row {i} at {u!r}, not {t!r}"
        for column in columns:
            values, there = reference.values[column], other.values.get(column)
            if there is None:
                return f"no column {column}"
            if values[i] != there[i] and not both_nan(values[i], there[i]):
                return f"{column} at {t!r} is {there[i]!r}, not {values[i]!r}"
    if len(reference.times) != len(other.times):
        return f"{len(other.times)} rows, not {len(reference.times)}"
    if events:
        for a, b in zip(reference.events, other.events):
            if a[:2] != b[:2]:
                return f"event {describe(b)}, not {describe(a)}"
            if a[2] != b[2]:
                return f"event {describe(b)} changes {b[2]}, not {a[2]}"
        if len(reference.events) != len(other.events):
            return f"{len(other.events)} events, not {len(reference.events)}"
    return None


def both_nan(a, b):
    return a is not None and b is not None and math.isnan(a) and math.isnan(b)


def describe(event):
    kind, automaton, source, target = event[1]
    return f"{kind} {automaton} {source or ''}->{target or ''} at {event[0]:.12g}"


class Reference:
    """A run, and how far a run with a tenth of its tolerance agrees with it."""

    def __init__(self, run, finer, rtol):
        self.run = run
        self.view = view = View(run)
        self.finer = finer_view = View(finer)
        self.rtol = rtol
        self.start = view.times[0] if view.times else 0.0
        self.span = (view.times[-1] - self.start) if view.times else 0.0
        self.time_floor = FLOOR * (self.span or 1.0)
        self.agree_events = self.compare_events(finer_view)
        self.event_slack = min(1e-3 * self.span, max(
            (w for kept, _ in self.agree_events.values() for _, w in kept), default=self.time_floor))
        self.grid = self.grid_rows(view)
        self.agree_values = {c: self.compare_values(c, finer_view) for c in view.values.compared()}

    def grid_rows(self, view):
        """(time, row) of the points of the grid that no event lies at."""
        rows = []
        count = len(view.times)
        moved = sorted(t for v in (view, self.finer) for t, _, _ in v.events)
        for k in range(SAMPLES + 1):
            t = self.start + k * self.span / SAMPLES
            near = self.time_floor
            low = bisect.bisect_left(view.times, t - near)
            high = bisect.bisect_right(view.times, t + near)
            if high - low == 1 and not within(moved, t, self.event_slack):
                rows.append((t, low))
        if count and (not rows or rows[-1][1] != count - 1) and not within(
                moved, view.times[-1], self.event_slack):
            rows.append((view.times[-1], count - 1))
        return rows

    def compare_events(self, finer):
        """key -> (times here, tolerance of each); cut off where the two runs part."""
        mine, theirs = by_key(self.view.events), by_key(finer.events)
        agreed = {}
        for key in set(mine) | set(theirs):
            a, b = mine.get(key, []), theirs.get(key, [])
            worst, kept, limit = 0.0, [], math.inf
            for i in range(max(len(a), len(b))):
                if i >= len(a) or i >= len(b):
                    limit = a[i] if i < len(a) else b[i]
                    break
                worst = max(worst, abs(a[i] - b[i]))
                if worst > DISAGREE * self.span:
                    limit = min(a[i], b[i])
                    break
                kept.append((a[i], 10 * worst + self.time_floor))
            agreed[key] = (kept, limit)
        return agreed

    def compare_values(self, column, finer):
        """[(time, row, tolerance)] and where the two runs part."""
        scale = self.view.scale(column)
        worst, kept = 0.0, []
        mine, theirs = self.view.values[column], finer.values.get(column)
        for t, row in self.grid:
            at = nearest(finer.times, t, self.time_floor)
            if theirs is None or at is None:
                continue
            a, b = mine[row], theirs[at]
            if a is None or b is None or not math.isfinite(a) or not math.isfinite(b):
                if a is not None and b is None or a is None and b is not None:
                    break
                kept.append((t, row, 0.0))
                continue
            worst = max(worst, abs(a - b))
            if worst > DISAGREE * scale and a != b:
                break
            kept.append((t, row, 10 * worst + FLOOR * scale))
        return kept


    def differs(self, other, clock=0.0, only=None, steps=0.0):
        """First difference of another run beyond what this one allows, as text, or None.

        `clock` is the rounding of time in the other run, if it is another one: events are rounded to it, and what
        follows them may differ by the tolerance. `only` says which events are compared. `steps`: the other run has
        steps of its own, and differs by so many tolerances.
        """
        if self.view.status != other.status:
            return f"ends with {other.status}, not {self.view.status}"
        return (self.end_differs(other, clock) or self.events_differ(other, clock, only, steps) or
                self.values_differ(other, clock, steps))

    def end_differs(self, other, clock):
        """A run may stop by itself, but at the same time."""
        if not self.view.times or not other.times or not self.finer.times:
            return None if len(self.view.times) == len(other.times) else "rows are missing"
        end = self.view.times[-1]
        allowed = 10 * abs(end - self.finer.times[-1]) + self.time_floor + 16 * clock
        allowed += self.rtol * self.span if clock else 0.0
        return None if abs(other.times[-1] - end) <= allowed else f"ends at {other.times[-1]:.12g}, not {end:.12g}"

    def events_differ(self, other, clock, only, steps):
        end = self.start + self.span
        there = by_key(other.events)
        first = None
        for key in set(self.agree_events) | set(there):
            if only and not only(key):
                continue
            kept, limit = self.agree_events.get(key, ([], math.inf))
            times = there.get(key, [])
            for i, (t, tolerance) in enumerate(kept):
                tolerance += 16 * clock + (self.rtol * (t - self.start) if clock else 0.0)
                tolerance += steps * self.rtol * self.span
                if i >= len(times):
                    if abs(end - t) > tolerance:
                        first = earliest(first, t, f"no event {describe((t, key))}")
                    break
                if abs(times[i] - t) > tolerance:
                    first = earliest(first, min(t, times[i]),
                                     f"event {describe((times[i], key))}, not at {t:.12g}"
                                     f" (allowed {tolerance:.2g})")
                    break
            else:
                if len(times) > len(kept) and times[len(kept)] < min(limit, end) - self.slack(kept, clock) \
                        - steps * self.rtol * self.span:
                    extra = times[len(kept)]
                    first = earliest(first, extra, f"one more event {describe((extra, key))}")
        return first[1] if first else None

    def slack(self, kept, clock):
        return max((tolerance for _, tolerance in kept), default=self.time_floor) + 16 * clock

    def values_differ(self, other, clock, steps):
        moved = sorted(t for t, _, _ in other.events)
        for column, kept in self.agree_values.items():
            theirs = other.values.get(column)
            if theirs is None:
                return f"no column {column}"
            spare = 16 * clock * self.slope(column) + self.rtol * self.view.scale(column) if clock else 0.0
            spare += steps * self.rtol * self.view.scale(column)
            for t, row, tolerance in kept:
                at = nearest(other.times, t, self.time_floor + 4 * clock)
                if at is None or within(moved, t, self.event_slack + 4 * clock):
                    continue
                a, b = self.view.values[column][row], theirs[at]
                if both_nan(a, b):
                    continue
                if not close(a, b, tolerance + spare):
                    return f"{column} at {t:.9g} is {b!r}, not {a!r} (allowed {tolerance:.2g})"
        return None

    def slope(self, column):
        """Largest slope between rows that are not too close together."""
        rows = [(t, v) for t, v in zip(self.view.times, self.view.values[column]) if v is not None]
        return max((abs((b[1] - a[1]) / (b[0] - a[0])) for a, b in zip(rows, rows[1:])
                    if b[0] - a[0] > 1e-6 * self.span), default=0)


def earliest(first, t, text):
    return (t, text) if first is None or t < first[0] else first


def by_key(events):
    times = {}
    for t, key, _ in events:
        times.setdefault(key, []).append(t)
    return times


def within(times, t, near):
    at = bisect.bisect_left(times, t - near)
    return at < len(times) and times[at] <= t + near


def nearest(times, t, near):
    """The one row at a time; None where an event lies there."""
    low = bisect.bisect_left(times, t - near)
    high = bisect.bisect_right(times, t + near)
    if high - low == 1:
        return low
    if high == len(times) and high - low > 1 and t >= times[-1] - near:
        return high - 1
    return None
