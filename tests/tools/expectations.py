# SPDX-License-Identifier: MIT
"""Expectations about runs, as models/README.md describes them, and their check.

The gallery writes them in the comments of its models, tests/cases in a JSON file.
"""
import re
import shlex

import saltus_run

# a name is a word, perhaps with indices and primes, or anything in backquotes
WORD = re.compile(r"`[^`]*`'*|\"[^\"]*\"|\S+")


class Plan:
    """One run of a model and what is expected of it."""

    def __init__(self, options):
        self.options = options
        self.expectations = []  # (line number, words)

    def error_code(self):
        """Code of the error the run must end with, "" for any, None when it must succeed."""
        for _, words in self.expectations:
            if words[0] == "error":
                return words[1] if len(words) > 1 else ""
        return None

    def names(self):
        """Quantities to record, in order of appearance."""
        found = []
        for _, words in self.expectations:
            if words[0].startswith("t=") or words[0] in ("end", "min", "max", "least", "most"):
                if words[1] not in found:
                    found.append(words[1])
        return found

    def record_options(self):
        """What need not be written is not: a run can have a million events of which only the end is asked for."""
        places = {words[0].split("=")[0] for _, words in self.expectations}
        return {"events": not places <= {"end", "min", "max", "least", "most", "t", "error"},
                "event_rows": "none" if places <= {"end", "error"} else "all"}


def read_plans(path):
    plans = [Plan([])]
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = re.match(r"// (run|expect) (.*)", line)
            if not match:
                continue
            if match.group(1) == "run":
                plans.append(Plan(shlex.split(match.group(2))))
            else:
                plans[-1].expectations.append((number, WORD.findall(match.group(2))))
    return plans


def out_option(names):
    def quoted(name):
        base = name.rstrip("'")
        if base.startswith("`") or re.fullmatch(r"\w+", base):
            return name
        return f"`{base}`{name[len(base):]}"
    return ["--out", ",".join(quoted(n) for n in names)] if names else []


def column_name(word):
    return word.replace("`", "")


class Checker:
    """Checks one plan; runs up to other end times are made when a value there is asked for."""

    def __init__(self, path, plan):
        self.path = path
        self.plan = plan
        self.options = plan.options + out_option(plan.names())
        self.whole = saltus_run.run(path, *self.options, **plan.record_options())
        self.until = {}

    def options_until(self, time):
        options = list(self.options)
        if "--until" in options:
            at = options.index("--until")
            del options[at:at + 2]
        return options + ["--until", time]

    def at(self, time):
        if time not in self.until:
            # the last row is at the end time, after the events there
            run = saltus_run.run(self.path, *self.options_until(time), events=False)
            if run.status != 0:
                raise AssertionError(f"run until {time} ended with {run.status}: {run.errors}")
            self.until[time] = run
        return self.until[time]

    def status_problem(self):
        run, code = self.whole, self.plan.error_code()
        if code is None:
            return None if run.status == 0 else f"exit status {run.status}: {run.errors.strip()}"
        if run.status != 3:
            return f"exit status {run.status}, not 3: {run.errors.strip()}"
        return None if code in run.errors else f"no {code} in: {run.errors.strip()}"

    def instant(self, words, at=1):
        instants = self.whole.instants()
        index = int(words[at])
        if not 1 <= index <= len(instants):
            raise AssertionError(f"there are {len(instants)} events")
        return instants[index - 1]

    def value(self, words):
        """What an expectation `PLACE NAME VALUE TOLERANCE` speaks of."""
        place, name = words[0], column_name(words[1])
        if place.startswith("t="):
            time = place[2:]
            run = self.at(time.rstrip("-"))
            if not time.endswith("-"):
                return run.last(name)
            times = run.column("time")
            before = [k for k in range(len(times)) if times[k] == times[-1]][0]
            return run.column(name)[before]
        column = [v for v in self.whole.column(name) if v is not None]
        return {"end": column[-1], "min": min(column), "max": max(column)}[place]

    def problem(self, words):
        """None, or what is wrong."""
        kind = words[0]
        if kind == "error":
            return None  # checked with the exit status
        if kind == "events":
            return compare(len(self.whole.instants()), float(words[1]), 0.0)
        if kind == "event":
            return self.event_problem(words)
        if kind == "gap":
            first, second = self.instant(words, 1), self.instant(words, 2)
            return compare(second.t - first.t, float(words[3]), float(words[4]))
        if kind == "count":
            relation = words[1].strip('"')
            count = sum(i.has_atom(relation) for i in self.whole.instants())
            return compare(count, float(words[2]), 0.0)
        if kind == "records":
            records = [r for r in self.whole.records if r["kind"] != "initial"]
            count = sum(r["class"] == words[1] for r in records)
            return compare(count, float(words[2]), 0.0)
        if kind == "stop":
            texts = [r.get("text") for r in self.whole.records if r["kind"] == "stop"]
            return None if texts == [words[1].strip('"')] else f"stops with {texts}"
        if kind in ("least", "most"):
            return self.bound_problem(words)
        if len(words) != 4:
            return "cannot be read"
        return compare(self.value(words), float(words[2]), float(words[3]))

    def bound_problem(self, words):
        bound = float(words[2])
        values = [v for v in self.whole.column(column_name(words[1])) if v is not None]
        if words[0] == "least":
            return None if min(values) >= bound else f"got {min(values)!r}"
        return None if max(values) <= bound else f"got {max(values)!r}"

    def event_problem(self, words):
        instant = self.instant(words)
        what = words[2]
        if what == "time":
            return compare(instant.t, float(words[3]), float(words[4]))
        if what in ("before", "after"):
            pair = instant.changed(column_name(words[3]))
            if pair is None:
                return "not changed there"
            return compare(pair[0 if what == "before" else 1], float(words[4]), float(words[5]))
        if what == "impulse":
            # a mythical mode has pulses of its own: `impulse NAME` looks at the last record with it
            name = column_name(words[3])
            found = [r["impulses"][name] for r in instant.records if name in r["impulses"]]
            if not found:
                return "has no such impulse"
            return compare(found[-1], float(words[4]), float(words[5]))
        if what == "share":
            shares = [r["share"] for r in instant.records if "share" in r]
            return compare(shares[-1], float(words[3]), float(words[4])) if shares else "slides not"
        if what == "steps":
            times = self.whole.column("time")
            steps = len({t for t in times if t <= instant.t}) - 1
            return compare(steps, float(words[3]), 0.0)
        if what == "to":
            found = [(r["automaton"], r["to"]) for r in instant.records]
            wanted = (column_name(words[3]), column_name(words[4]))
            return None if wanted in found else f"goes to {found}"
        found = [r[what] for r in instant.records]
        return None if words[3] in found else f"has {found}"


def compare(got, want, tolerance):
    if saltus_run.near(got, want, tolerance):
        return None
    difference = f", off by {abs(got - want):.3g}" if isinstance(got, (int, float)) else ""
    return f"got {got!r}{difference}"


def failures(path, plan):
    """What is wrong with one run: (place in the plan, text) each."""
    checker = Checker(path, plan)
    problem = checker.status_problem()
    if problem:
        yield 0, f"run {' '.join(plan.options)}: {problem}"
    for place, words in plan.expectations:
        try:
            problem = checker.problem(words)
        except (AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            yield place, f"expect {' '.join(words)}: {problem}"
