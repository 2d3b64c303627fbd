#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random automata with hysteresis, two at a time, over a turning plane: the same transitions in the
same order as a scan in small steps finds, and the same end.

Guards are conjunctions of thresholds, negations of thresholds that other guards use, and states of
the other automaton. Where the scan itself has no answer (a loop of modes, chattering), the model is
left out; how many may be is limited."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

SALTUS = os.environ.get("SALTUS", "saltus")
MODELS = 60
END, DT = 6.0, 1e-3
OPPOSITE = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}
HOLDS = {">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
         "<": lambda a, b: a < b}


def draw_model(draw):
    """Automata as {name: (states, [(from, to, guard)])}; a guard is a list of literals, each of them
    ("atom", (variable, relation, level), negated) or ("state", (automaton, state), negated)."""
    sizes = {"A": draw.choice([2, 3]), "B": 2}
    known = []

    def literal(name):
        if draw.random() < 0.2:
            other = "B" if name == "A" else "A"
            return "state", (other, draw.randrange(sizes[other])), draw.random() < 0.3
        return "atom", draw.choice(known), draw.random() < 0.3

    automata = {}
    for name, count in sizes.items():
        base, transitions = {}, []
        for a in range(count):
            for b in range(count):
                if a == b or (count > 2 and draw.random() < 0.25):
                    continue
                if (b, a) in base:  # the way back lies beyond a gap
                    variable, relation, level = base[b, a]
                    gap = draw.choice([0.3, 0.7, 1.2, 2.0])
                    level = round(level - gap if relation[0] == ">" else level + gap, 2)
                    atom = variable, OPPOSITE[relation], level
                else:
                    atom = draw.choice("xy"), draw.choice(list(HOLDS)), round(draw.uniform(-1.5, 1.5), 2)
                base[a, b] = atom
                known.append(atom)
                more = [literal(name) for _ in range(draw.choice([0, 0, 1, 1, 2]))]
                transitions.append((a, b, [("atom", atom, False), *more]))
        automata[name] = count, transitions
    push = {(name, state, v): round(draw.uniform(-1.5, 1.5), 2)
            for name, count in sizes.items() for state in range(count) for v in "xy"}
    start = {v: round(draw.uniform(-1.5, 1.5), 2) + 0.005 for v in "xy"}  # on no threshold
    return automata, push, start, round(draw.uniform(0.8, 2.5), 2)


def state_name(index):
    return f"s{index}" if index else "init"


def write_guard(guard):
    words = []
    for kind, what, negated in guard:
        text = f"[{' '.join(str(w) for w in what)}]" if kind == "atom" else f"{what[0]}.{state_name(what[1])}"
        words.append(f"!({text})" if negated else text)
    return " && ".join(words)


def write_model(model):
    automata, push, start, turn = model
    lines = [f"x' = A_x + B_x - 0.05*x + {turn}*y;  x(t0) = {start['x']};",
             f"y' = A_y + B_y - 0.05*y - {turn}*x;  y(t0) = {start['y']};"]
    for name, (_, transitions) in automata.items():
        lines += [f"{name}_{v} = {push[name, 0, v]};" for v in "xy"]
        lines.append(f"automaton {name} {{")
        written = {0}
        for a, b, guard in transitions:
            body = "" if b in written else " ".join(f"{name}_{v} = {push[name, b, v]};" for v in "xy")
            written.add(b)
            lines.append(f"  state {state_name(b)} {write_guard(guard)} {{ {body} }} from {state_name(a)};")
        lines.append("}")
    return "\n".join([*lines, f"experiment {{ end = {END}; }}", ""])


def scan(model):
    """The transitions and the end, by steps of DT; None where it does not settle."""
    automata, push, start, turn = model
    state = {name: 0 for name in automata}
    x, y, seen, recent = start["x"], start["y"], [], []

    def holds(guard):
        for kind, what, negated in guard:
            if kind == "atom":
                truth = HOLDS[what[1]](x if what[0] == "x" else y, what[2])
            else:
                truth = state[what[0]] == what[1]
            if truth == negated:
                return False
        return True

    for step in range(round(END / DT) + 1):
        for rounds in range(16):
            fired = {}
            for name, (_, transitions) in automata.items():
                enabled = (b for a, b, guard in transitions if a == state[name] and holds(guard))
                fired[name] = next(enabled, None)
            fired = {name: to for name, to in fired.items() if to is not None}
            if not fired:
                break
            seen += [(name, state_name(state[name]), state_name(to)) for name, to in fired.items()]
            state.update(fired)
            recent = [s for s in recent if s > step - 50] + [step]
        if rounds == 15 or len(recent) > 4:
            return None
        if step == round(END / DT):
            return seen, x, y
        fx = push["A", state["A"], "x"] + push["B", state["B"], "x"]
        fy = push["A", state["A"], "y"] + push["B", state["B"], "y"]
        mx = x + DT / 2 * (fx - 0.05 * x + turn * y)
        my = y + DT / 2 * (fy - 0.05 * y - turn * x)
        x, y = x + DT * (fx - 0.05 * mx + turn * my), y + DT * (fy - 0.05 * my - turn * mx)
    return None


def run(folder, text):
    path = folder / "model.lisma"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([SALTUS, "run", path, "-q", "-o", "-", "--out", "x,y", "--samples", "2",
                           "--events", folder / "events.jsonl"],
                          capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        return done
    with open(folder / "events.jsonl", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    seen = [(r["automaton"], r["from"], r["to"]) for r in records
            if r["kind"] == "state" and r["class"] != "mythical"]
    slides = any(r["kind"] == "slide-in" for r in records)
    row = done.stdout.strip().splitlines()[-1].split(",")
    return done, seen, float(row[1]), float(row[2]), slides


def main():
    problems, compared, events = [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        for seed in range(MODELS):
            model = draw_model(random.Random(seed))
            expected = scan(model)
            if expected is None:
                continue
            text = write_model(model)
            result = run(pathlib.Path(name), text)
            if not isinstance(result, tuple):
                # a state that no draw leads to is a mistake in a model, and said to be one
                if "error[E040" not in result.stderr:
                    problems.append(f"seed {seed}: {result.stderr}\n{text}")
                continue
            _, seen, x, y, slides = result
            compared += 1
            events += len(seen)
            far = max(abs(x - expected[1]), abs(y - expected[2]))
            if slides or seen != expected[0] or far > 0.05:
                problems.append(f"seed {seed}: {seen} to ({x}, {y}), the scan finds {expected[0]} to "
                                f"{expected[1:]}\n{text}")
    if compared < MODELS * 0.7:
        problems.append(f"only {compared} of {MODELS} models could be compared")
    print("\n".join(problems) or f"{compared} models with {events} transitions: ok")
    return 1 if problems else 0


sys.exit(main())
