#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a round of an instant reads of the rounds before it: random automata whose resets and guards read
discrete variables, states, computed variables and each other's positions, in several spellings, alone and among
more than 16 automata, against an interpreter of the rules in docs/events.md.

Nothing moves between events, so all that happens happens at the start and at the times of `at` and `time`
guards. Values are halves and thresholds quarters: no relation is at its boundary. Automata go forward only."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SALTUS = os.environ.get("SALTUS", "saltus")
MODELS = int(os.environ.get("MODELS", "40"))
FIRST = int(os.environ.get("FIRST", "0"))
CROWD = 20
X_ALONE = r"\bx\b"


# ---- expressions: ("num", v), ("var", name), ("+", a, b), ("*", k, a), ("if", condition, a, b) ----------------------
# conditions: (">", a, level), ("in", automaton, state), ("not", c), ("and", a, b)

def leaves(model, e):
    """The variables that an expression is computed from, with computed ones followed."""
    if e[0] == "var":
        return leaves(model, model.computed[e[1]]) if e[1] in model.computed else {e[1]}
    return set().union(set(), *(leaves(model, part) for part in e[1:] if isinstance(part, tuple)))


def value(model, now, e):
    kind = e[0]
    if kind == "num":
        return e[1]
    if kind == "var":
        return value(model, now, model.computed[e[1]]) if e[1] in model.computed else now.values[e[1]]
    if kind == "+":
        return value(model, now, e[1]) + value(model, now, e[2])
    if kind == "*":
        return e[1] * value(model, now, e[2])
    if kind == "if":
        return value(model, now, e[2 if holds(model, now, e[1]) else 3])
    raise AssertionError(e)


def holds(model, now, c):
    kind = c[0]
    if kind == ">":
        return value(model, now, c[1]) > c[2]
    if kind == "in":
        return now.states[c[1]] == c[2]
    if kind == "not":
        return not holds(model, now, c[1])
    if kind == "and":
        return holds(model, now, c[1]) and holds(model, now, c[2])
    if kind == "after":
        return now.time >= c[1]
    raise AssertionError(c)


def asks_states_alone(c):
    return c[0] == "in" or (c[0] in ("not", "and") and all(asks_states_alone(p) for p in c[1:]))


def asked(c):
    return {c[1]} if c[0] == "in" else set().union(set(), *(asked(p) for p in c[1:] if isinstance(p, tuple)))


# ---- models ---------------------------------------------------------------------------------------------------------

class Transition:
    def __init__(self, start, guard, resets):
        self.start, self.to, self.guard, self.resets = start, start + 1, guard, resets


class Model:
    def __init__(self, draw):
        self.start = {f"d{i}": draw.randrange(4) for i in range(draw.choice([2, 3]))}
        self.start["x"] = draw.randrange(4) / 2
        self.names = [f"A{i}" for i in range(draw.choice([2, 3, 4, 5]))]
        self.sizes = {name: draw.choice([1, 1, 2]) for name in self.names}
        self.computed = {}
        for i in range(draw.choice([1, 2, 3])):
            self.computed[f"E{i}"] = self.formula(draw, 2)
        self.automata = {name: self.transitions(draw, name) for name in self.names}
        self.at = None
        if draw.random() < 0.3:
            goals = draw.sample(self.names, draw.choice([0, 1, 1, 2 if len(self.names) > 1 else 1]))
            self.at = self.resets(draw), goals

    def readable(self):
        return [*self.start, *self.computed, *self.computed]

    def formula(self, draw, depth):
        pick = draw.random()
        if depth == 0 or pick < 0.2:
            return ("var", draw.choice(self.readable())) if draw.random() < 0.8 else ("num", draw.randrange(5))
        if pick < 0.55:
            return "+", self.formula(draw, depth - 1), self.formula(draw, depth - 1)
        if pick < 0.65:
            return "*", draw.choice([-1, 2]), self.formula(draw, depth - 1)
        return "if", self.condition(draw), self.formula(draw, depth - 1), self.formula(draw, depth - 1)

    def condition(self, draw):
        if draw.random() < 0.35:
            return self.position(draw, None)
        return ">", ("var", draw.choice(self.readable())), draw.randrange(-1, 5) + 0.25

    def position(self, draw, but):
        name = draw.choice([n for n in self.names if n != but])
        test = "in", name, draw.randrange(self.sizes[name] + 1)
        return ("not", test) if draw.random() < 0.2 else test

    def resets(self, draw):
        names = draw.sample(list(self.start), draw.choice([0, 1, 1, 2]))
        return {name: self.formula(draw, draw.choice([0, 1, 2])) for name in names}

    def transitions(self, draw, name):
        made = []
        for state in range(self.sizes[name]):
            pick = draw.random()
            if pick < 0.3 or (name == "A0" and state == 0):
                guard = "after", 1
            elif pick < 0.65:
                guard = self.position(draw, name)
            else:
                guard = ">", ("var", draw.choice(self.readable())), draw.randrange(-1, 6) + 0.25
                if draw.random() < 0.3:
                    guard = "and", guard, self.position(draw, name)
            made.append(Transition(state, guard, self.resets(draw)))
        return made


# ---- the rules ------------------------------------------------------------------------------------------------------

class Now:
    def __init__(self, values, states, time):
        self.values, self.states, self.time = dict(values), dict(states), time

    def copy(self):
        return Now(self.values, self.states, self.time)


class Endless(Exception):
    pass


def guard_reads(model, c):
    if c[0] == ">":
        return leaves(model, c[1])
    return set().union(set(), *(guard_reads(model, p) for p in c[1:] if isinstance(p, tuple)))


def reads_and_writes(model, t):
    reads = guard_reads(model, t.guard)
    return reads.union(*(leaves(model, formula) for formula in t.resets.values())), set(t.resets)


def choose(model, enabled):
    """Of what is enabled, in the order of the text, those that do not interfere with those before."""
    chosen, read, written = [], set(), set()
    for name, t in enabled:
        reads, writes = reads_and_writes(model, t)
        if (reads | writes) & written or writes & read:
            continue
        chosen.append((name, t))
        read |= reads
        written |= writes
    return chosen


def enabled_of(model, now, name):
    for t in model.automata[name]:
        if t.start == now.states[name] and holds(model, now, t.guard):
            return t
    return None


def fire(model, now, chosen, order):
    before = now.copy()
    for name, t in chosen:
        order.append(name)
        now.states[name] = t.to
        for target, formula in t.resets.items():
            now.values[target] = value(model, before, formula)


def follow(model, now, entered, order):
    """Guards that ask for nothing but states, in rounds of their own."""
    pending = {}
    while True:
        for name in model.names:
            for t in model.automata[name]:
                if asks_states_alone(t.guard) and asked(t.guard) & entered:
                    found = enabled_of(model, now, name)
                    pending[name] = found if found and asks_states_alone(found.guard) else None
        chosen = choose(model, [(n, pending[n]) for n in model.names if pending.get(n)])
        if not chosen:
            return
        fire(model, now, chosen, order)
        entered = {name for name, _ in chosen}
        for name in entered:
            found = enabled_of(model, now, name)
            pending[name] = found if found and asks_states_alone(found.guard) else None


def settle(model, now, order):
    for _ in range(100):
        enabled = [(name, enabled_of(model, now, name)) for name in model.names]
        chosen = choose(model, [(name, t) for name, t in enabled if t])
        if not chosen:
            return
        fire(model, now, chosen, order)
        follow(model, now, {name for name, _ in chosen}, order)
    raise Endless


def interpret(model):
    now, order = Now(model.start, {name: 0 for name in model.names}, 0.0), []
    settle(model, now, order)
    now.time = 1.0
    if model.at:
        resets, goals = model.at
        before = now.copy()
        for target, formula in resets.items():
            now.values[target] = value(model, before, formula)
        for name in goals:
            before = now.copy()
            now.states[name] = model.sizes[name]
            for target, formula in entry_resets(model, name).items():
                now.values[target] = value(model, before, formula)
        follow(model, now, set(goals), order)
    settle(model, now, order)
    return now, order


def entry_resets(model, name):
    return model.automata[name][-1].resets


# ---- spellings ------------------------------------------------------------------------------------------------------

def state_name(index):
    return f"s{index}" if index else "init"


class Writer:
    """`how`: "variable", "out", "macro", "function", "part"; `blocks`: `if` blocks instead of if()."""

    def __init__(self, model, how, blocks):
        self.model, self.how, self.blocks = model, how, blocks

    def name(self, e):
        return {"macro": f"M{e}", "function": f"f{e}(x)", "part": f"p{e}.y"}.get(self.how, e)

    def text(self, e):
        kind = e[0]
        if kind == "num":
            return str(e[1])
        if kind == "var":
            if e[1] not in self.model.computed:
                return e[1]
            return f"({self.text(self.model.computed[e[1]])})" if self.how == "out" else self.name(e[1])
        if kind == "+":
            return f"({self.text(e[1])} + {self.text(e[2])})"
        if kind == "*":
            return f"({e[1]}*{self.text(e[2])})"
        return f"if({self.condition(e[1])}, {self.text(e[2])}, {self.text(e[3])})"

    def condition(self, c, atom=False):
        kind = c[0]
        if kind == ">":
            relation = f"{self.text(c[1])} > {c[2]}"
            return f"[{relation}]" if atom else relation
        if kind == "after":
            return "[time >= 1]"
        if kind == "in":
            return f"{c[1]}.{state_name(c[2])}"
        if kind == "not":
            return f"!({self.condition(c[1], atom)})"
        return f"{self.condition(c[1], atom)} && {self.condition(c[2], atom)}"

    def branches(self, name, e):
        if e[0] != "if" or not self.blocks:
            return f"{name} = {self.text(e)};"
        return (f"if ({self.condition(e[1])}) {{ {self.branches(name, e[2])} }} "
                f"else {{ {self.branches(name, e[3])} }}")

    def definition(self, name, e):
        if self.how == "macro":
            return f"macro M{name} = {self.text(e)};"
        if self.how == "function":
            return f"function f{name}(w) = {re.sub(X_ALONE, 'w', self.text(e))};"
        passed = f"  Pass p{name};  p{name}.u = {name};" if self.how == "part" else ""
        return self.branches(name, e) + passed

    def resets(self, resets):
        if not resets:
            return ""
        return "set " + ", ".join(f"{target} = {self.text(e)}" for target, e in resets.items()) + ";"

    def model_text(self, crowd):
        m, lines = self.model, []
        for name, start in m.start.items():
            lines.append(f"{name}(t0) = {start};" + ("  x' = 0;" if name == "x" else ""))
        if self.how == "part":
            lines.append("part Pass { y = u; }")
        lines += [self.definition(name, e) for name, e in m.computed.items()]
        for name in m.names:
            lines.append(f"automaton {name} {{")
            for t in m.automata[name]:
                lines.append(f"  state {state_name(t.to)} {self.condition(t.guard, True)} "
                             f"{{ {self.resets(t.resets)} }} from {state_name(t.start)};")
            lines.append("}")
        if m.at:
            goals = " ".join(f"goto {name}.{state_name(m.sizes[name])};" for name in m.at[1])
            lines.append(f"at 1 {{ {self.resets(m.at[0])} {goals} }}")
        if crowd:
            lines.append(f"for i = 1:{CROWD} {{ z_[i]' = 1; z_[i](t0) = 0; n_[i](t0) = 0; automaton c_[i] "
                         "{ state up [z_[i] >= 1.3 + i/100] { set n_[i] = n_[i] + 1; } from init; } }")
        return "\n".join([*lines, "experiment { end = 2; }", ""])


SPELLINGS = [(how, blocks) for how in ("variable", "part") for blocks in (False, True)] + \
            [("out", False), ("macro", False), ("function", False)]


def run(folder, text):
    path = folder / "model.lisma"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([SALTUS, "run", path, "-q", "-o", "-", "--samples", "1",
                           "--events", folder / "events.jsonl"], capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        return None, None, done.stderr
    lines = done.stdout.strip().splitlines()
    row = dict(zip(lines[0].split(","), (float(v) if v else None for v in lines[-1].split(","))))
    with open(folder / "events.jsonl", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    order = [r["automaton"] for r in records
             if r["kind"] == "state" and r["class"] != "mythical" and r["automaton"][0] == "A"]
    return row, order, done.stderr


def main():
    problems, compared, fired = [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(FIRST, FIRST + MODELS):
            model = Model(random.Random(seed))
            try:
                now, order = interpret(model)
            except (Endless, RecursionError):
                continue
            if any(abs(v) > 1e6 for v in now.values.values()):
                continue
            fired += len(order)
            for how, blocks in SPELLINGS:
                for crowd in (False, True):
                    text = Writer(model, how, blocks).model_text(crowd)
                    row, seen, said = run(folder, text)
                    where = f"seed {seed}, {how}{', blocks' if blocks else ''}{', crowd' if crowd else ''}"
                    compared += 1
                    if row is None:
                        problems.append(f"{where}: {said}\n{text}")
                        continue
                    wrong = [f"{n} = {row[n]} instead of {v}" for n, v in now.values.items()
                             if abs(row[n] - v) > 1e-9]
                    if wrong or seen != order:
                        problems.append(f"{where}: {', '.join(wrong)}; {seen} instead of {order}\n{text}")
    if fired < MODELS:
        problems.append(f"only {fired} transitions")
    print("\n".join(problems[:5]) or f"{compared} models with {fired} transitions each way: ok")
    if problems:
        print(len(problems), "of", compared)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
