#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The laws of the engine, over the gallery and over generated models. README.md says how to use it."""
import argparse
import concurrent.futures
import glob
import math
import os
import random
import re
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import copies  # noqa: E402
import generate  # noqa: E402
import records  # noqa: E402
import spelling  # noqa: E402
import tree  # noqa: E402
import units  # noqa: E402
from tree import NotApplicable  # noqa: E402

PROGRAM = os.environ.get("SALTUS") or os.path.join(tree.BUILD, "saltus")
GALLERY = ("models/*.lisma", "models/dae/*.lisma", "models/stiff/*.lisma", "models/ontology/*.lisma",
           "tests/cases/*.lisma")
POWERS = ("2^-40", "2^-20", "2^20", "2^40")
DECIMALS = ("1e-12", "1e-9", "1e-6", "1e-3", "1e3", "1e6", "1e9", "1e12")


def factor_of(text):
    return 2.0 ** int(text[2:]) if text.startswith("2^") else float(text)


class Subject:
    """A model with its reference run."""

    def __init__(self, ident, statements, folder=None):
        self.ident = ident
        self.folder = folder
        self.statements = units.prepare(statements)
        first = self.execute(tree.print_tree(self.statements), None)
        if first.status == 1:
            raise NotApplicable(f"is refused: {first.code}")
        self.names = tree.Names(self.statements, first.columns[1:])
        if first.status in ("timeout", "flood"):
            raise NotApplicable(f"the model itself: {first.status}")
        self.rtol = 1e-6
        if "rtol" in self.names.found.settings:
            self.rtol = self.names.found.settings["rtol"][0][1]
        self.first = first
        self.lock = threading.Lock()
        self.known = None

    @property
    def reference(self):
        with self.lock:
            if self.known is None:
                finer = self.execute(tree.print_tree(self.statements), self.rtol / 10)
                self.known = compare.Reference(self.first, finer, self.rtol)
            return self.known

    def execute(self, text, rtol=None):
        options = () if rtol is None else ("--rtol", repr(rtol))
        return compare.execute(PROGRAM, text, options, self.folder)

    def without_tolerance(self):
        if "atol" not in self.names.found.settings:
            return self
        return Subject(self.ident, units.without_tolerance(self.statements), self.folder)

    def discrete(self):
        """Variables that only resets change."""
        done = compare.explain(PROGRAM, tree.print_tree(self.statements), self.folder)
        return [v["name"] for v in done["variables"] if v["kind"] == "discrete"]

    def columns_scaled(self, scale):
        return {c: scale.get(self.names.root(c), 1.0) for c in self.names.columns}


class Case:
    """One transformation of one model."""

    def __init__(self, law, label, text, judge):
        self.law = law
        self.label = label
        self.text = text    # of the transformed model
        self.judge = judge  # run -> None or what differs


def unit_case(subject, law, label, scale=None, unit=1.0, shift=0.0, relation=1.0):
    rewriter = units.Units(subject.names, scale, unit, shift, lambda: relation)
    text = tree.print_tree(rewriter.block(subject.statements))
    value = subject.columns_scaled(scale or {})
    value.update({c: 1.0 / relation for c in subject.names.columns if c.endswith(".gap")})
    bits = all(math.frexp(abs(f))[0] == 0.5 for f in [unit, relation, *(scale or {}).values()]) and not shift

    def judge(run):
        other = compare.View(run, value, unit, shift)
        if bits:
            return compare.same_bits(subject.reference.view, other)
        # unscaled times have the rounding of the larger clock
        clock = math.ulp(abs(shift) + abs(subject.reference.span)) if shift else 0.0
        return subject.reference.differs(other, clock)

    return Case(law, label, text, judge)


def relations(subject, chosen):
    for label in chosen("relations", (*DECIMALS, *POWERS)):
        yield unit_case(subject, "relations", label, relation=factor_of(label))


def states(subject, chosen):
    if not subject.names.families():
        raise NotApplicable("no states")
    for label in chosen("states", (*DECIMALS, "-1", "-1e3", *POWERS)):
        yield unit_case(subject, "states", label,
                        scale=units.scaled_states(subject.names, factor_of(label)))


def state(subject, chosen):
    families = subject.names.families()
    if len(families) < 2:
        raise NotApplicable("fewer than two states")
    subject = subject.without_tolerance()
    labels = [f"{factor}:{family}" for factor in ("1e-6", "1e6", "2^-20", "2^20") for family in families[:6]]
    for label in chosen("state", labels):
        factor, family = label.split(":")
        yield unit_case(subject, "state", label,
                        scale=units.scaled_states(subject.names, factor_of(factor), family))


def clock(subject, chosen):
    for label in chosen("time", (*DECIMALS, *POWERS)):
        yield unit_case(subject, "time", label, unit=factor_of(label))


def shift(subject, chosen):
    for label in chosen("shift", ("-1e3", "1e3", "1e6")):
        resolution = math.ulp(abs(float(label)) + subject.reference.span)
        times = sorted({t for t, _, _ in subject.reference.view.events})
        gaps = [b - a for a, b in zip(times, times[1:]) if b - a > 4 * math.ulp(b)]
        shortest = min(gaps, default=subject.reference.span)
        if resolution > subject.rtol * shortest:
            raise NotApplicable("events closer together than the shifted clock resolves")
        yield unit_case(subject, "shift", label, shift=float(label))


def number(subject, chosen):
    for label in chosen("number", ("2", "5")):
        count = int(label)
        if count * subject.first.size > compare.BYTES / 2:
            raise NotApplicable("too many columns")
        text, made = copies.copies(subject.statements, count)

        def judge(run, made=made):
            for i, copy in enumerate(made):
                found = subject.reference.differs(compare.View(run, names=copy.name), only=kept_event)
                if found:
                    return f"copy {i}: {found}"
            return None

        yield Case("number", label, text, judge)


def beside(subject, chosen):
    """A model of another kind beside it changes nothing, whatever paths that takes through the engine."""
    for label in chosen("beside", list(copies.COMPANIONS)):
        text, made = copies.copies(subject.statements, 1)
        text += copies.COMPANIONS[label].replace("UNIT", repr(subject.reference.span / 10))

        def judge(run, copy=made[0]):
            return subject.reference.differs(compare.View(run, names=copy.name), only=kept_event, steps=100.0)

        yield Case("beside", label, text, judge)


def spelling_law(subject, chosen):
    reference = subject.reference
    for label in chosen("spelling", list(spelling.SPELLINGS)):
        try:
            text = tree.print_tree(spelling.SPELLINGS[label](subject.statements))
        except NotApplicable as reason:
            yield Case("spelling", label, None, reason)
            continue

        def judge(run, back=spelling.old_name if label in ("names", "automaton") else None):
            return reference.differs(compare.View(run, names=back), only=kept_event)

        yield Case("spelling", label, text, judge)


def kept_event(key):
    """Spellings leave events as they are, but those of switches, which they may move or make; switches of
    copies that read time alone are one switch."""
    kind, automaton = key[:2]
    return kind in ("state", "time") and "@" not in automaton and not automaton.startswith("switched")


def records_law(subject, chosen):
    columns = subject.names.columns
    kept = [c for c in columns if subject.names.root(c) in subject.names.differential]
    for label in chosen("records", ["replay"]):
        discrete = subject.discrete()

        def judge(run):
            if run.status == 1 or not run.rows:
                return None
            return records.contradiction(run, kept + discrete, discrete)

        yield Case("records", label, tree.print_tree(subject.statements), judge)


def runs(subject, chosen):
    """Generated models are well posed: each of them must run to its end."""
    if not subject.ident.startswith("gen:"):
        raise NotApplicable("not generated")
    for label in chosen("runs", ["run"]):
        yield Case("runs", label, tree.print_tree(subject.statements),
                   lambda run: None if run.status == 0 else f"ends with {run.state()}")


LAWS = {"relations": relations, "states": states, "state": state, "time": clock, "shift": shift,
        "number": number, "beside": beside, "spelling": spelling_law, "records": records_law, "runs": runs}


# -- models --------------------------------------------------------------------------------------

def gallery():
    for shape in GALLERY:
        for path in sorted(glob.glob(os.path.join(tree.SOURCE, shape))):
            yield os.path.relpath(path, tree.SOURCE)


def read_model(ident):
    if ident.startswith("gen:"):
        return generate.model(ident), None
    path = ident if os.path.exists(ident) else os.path.join(tree.SOURCE, ident)
    with open(path, encoding="utf-8") as file:
        return file.read(), os.path.dirname(os.path.abspath(path))


# -- results -------------------------------------------------------------------------------------

class Tally:
    def __init__(self):
        self.passed = {}
        self.passes = set()
        self.applied = {}
        self.reasons = {}
        self.failures = []

    def result(self, ident, law, label, found):
        key = (law, label.split(":")[0])
        self.applied[key] = self.applied.get(key, 0) + 1
        if found is None:
            self.passed[key] = self.passed.get(key, 0) + 1
            self.passes.add(f"{law} {label} {ident}")
        else:
            self.failures.append((law, label, ident, found))

    def skipped(self, law, ident, reason):
        self.reasons.setdefault((law, reason), []).append(ident)


def chooser(ident, given, sample):
    """Which factors a law takes for a model: the given ones, some by the model's name, or all."""
    def chosen(law, labels):
        if given:
            return given
        if sample and sample < len(labels):
            return sorted(random.Random(f"{law} {ident}").sample(list(labels), sample))
        return labels
    return chosen


def examine(ident, laws, given, sample, keep):
    """[(law, factor, failure or None)] of one model; (law, None, reason) where a law does not apply."""
    results = []
    try:
        text, folder = read_model(ident)
        subject = Subject(ident, tree.parse(text), folder)
    except NotApplicable as reason:
        return [(law, None, str(reason)) for law in laws]
    if keep:
        save(keep, ident, "reference", tree.print_tree(subject.statements))
    for law in laws:
        try:
            for case in LAWS[law](subject, chooser(ident, given, sample)):
                if case.text is None:
                    results.append((f"{law} {case.label}", None, str(case.judge)))
                    continue
                found = case.judge(subject.execute(case.text))
                if keep:
                    save(keep, ident, f"{law}-{case.label}", case.text)
                results.append((law, case.label, found))
        except NotApplicable as reason:
            results.append((law, None, str(reason)))
    return results


def save(folder, ident, what, text):
    os.makedirs(folder, exist_ok=True)
    name = ident.replace("/", "_").replace(":", "_").removesuffix(".lisma")
    with open(os.path.join(folder, f"{name}.{what}.lisma"), "w", encoding="utf-8") as file:
        file.write(text)


def command(law, label, ident):
    return f"tests/laws/laws.py --law {law} --factor {label} {ident}"


def report(tally, known, grouped=False):
    """Print the results; True if all is as known."""
    for key in sorted(tally.applied):
        law, label = key
        print(f"{law:10} {label:>8}  {tally.passed.get(key, 0):6} of {tally.applied[key]}")
    for (law, reason), idents in sorted(tally.reasons.items()):
        print(f"{law:10} not applicable to {len(idents)}: {reason}"
              f" ({', '.join(idents[:4])}{', ...' if len(idents) > 4 else ''})")
    fresh = [f for f in tally.failures if " ".join(f[:3]) not in known]
    if grouped:
        brief(fresh)
    for law, label, ident, found in () if grouped else fresh:
        print(f"FAIL {command(law, label, ident)}\n     {found}")
    better = sorted(known & tally.passes)
    for line in better:
        print(f"PASSES NOW, take it from the list of known failures: {line}")
    total = sum(tally.applied.values())
    print(f"{total - len(tally.failures)} of {total} passed, {len(tally.failures) - len(fresh)} known failures")
    return not fresh and not better


def kind_of(ident):
    if not ident.startswith("gen:"):
        return os.path.basename(ident)
    return ident.split(":")[1] if ident.count(":") == 2 else generate.kind(int(ident[4:])).__name__


def brief(failures):
    """Failures grouped by law, kind of model and what differs, the most frequent first."""
    groups = {}
    for law, label, ident, found in failures:
        words = re.match(r"(ends with \S+ ?(?:E\d+)?|no event|one more event|event|row|\D*?at\b|\S+)", found)
        what = re.sub(r"^(?!ends|no event|one more|event|row).* at$", "value", words.group(0))
        groups.setdefault((law, kind_of(ident), what), []).append((label, ident, found))
    for (law, kind, what), cases in sorted(groups.items(), key=lambda g: -len(g[1])):
        label, ident, found = cases[0]
        print(f"{len(cases):5}  {law:10} {kind:14} {what}\n       {command(law, label, ident)}\n       {found}")


def read_known(path):
    if not path or not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {line.strip() for line in file if line.strip() and not line.startswith("#")}


def write_known(path, tally, known):
    """Failures of this run, and known ones that it has not looked at."""
    failed = {" ".join(f[:3]) for f in tally.failures}
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in sorted(failed | (known - tally.passes))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="files, `gallery`, `gallery/N` (every N-th of it), gen:SEED, "
                        "gen:KIND:SEED")
    parser.add_argument("--law", action="append", choices=list(LAWS), help="one law; may be repeated")
    parser.add_argument("--factor", action="append", help="one factor; may be repeated")
    parser.add_argument("--generated", type=int, default=0, metavar="N", help="N generated models")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="seed of the first of them")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N factors for each model")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", metavar="FOLDER", help="keep the texts that were compared")
    parser.add_argument("--known", metavar="FILE", help="known failures: listed ones must fail, others pass")
    parser.add_argument("--update", action="store_true", help="write the known failures anew")
    parser.add_argument("--brief", action="store_true", help="group the failures, with an example of each kind")
    parser.add_argument("--progress", action="store_true", help="a line for each model")
    arguments = parser.parse_args()
    laws = arguments.law or list(LAWS)
    idents = []
    for ident in arguments.models or ([] if arguments.generated else ["gallery"]):
        every = re.fullmatch(r"gallery(?:/(\d+))?", ident)
        idents += list(gallery())[::int(every[1] or 1)] if every else [ident]
    idents += [f"gen:{seed}" for seed in range(arguments.first, arguments.first + arguments.generated)]
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tasks = [pool.submit(examine, ident, laws, arguments.factor, arguments.sample, arguments.keep)
                 for ident in idents]
        for ident, task in zip(idents, tasks):
            before = len(tally.failures)
            for law, label, found in task.result():
                if label is None:
                    tally.skipped(law, ident, found)
                else:
                    tally.result(ident, law, label, found)
            if arguments.progress:
                print(f"{ident}: {len(tally.failures) - before} failures", file=sys.stderr, flush=True)
    known = read_known(arguments.known)
    if arguments.update:
        write_known(arguments.known, tally, known)
        known = read_known(arguments.known)
    return 0 if report(tally, known, arguments.brief) else 1


if __name__ == "__main__":
    sys.exit(main())
