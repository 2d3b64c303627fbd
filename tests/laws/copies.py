# SPDX-License-Identifier: MIT
"""Copies of a model beside each other, under other names."""
import re

import tree
from tree import NotApplicable

RANDOM = ("random", "uniform", "normal", "exponential")
BUILT_IN = set("""sin cos tan tg asin acos atan sinh cosh tanh atan2 exp ln log10 sqrt pow abs sign min max floor clamp
ceil mod if sum prod table delay der pre post noEvent random uniform normal exponential noise pi e g time TIME t t0
zeno init linear cubic main""".split())


class Renamer(tree.Rewriter):
    """All names of a model with a suffix; the states at the top become an automaton of their own."""

    def __init__(self, declared, suffix):
        super().__init__()
        self.declared = declared
        self.suffix = suffix
        self.main = "main" + suffix

    def constant(self, e):
        return self.expr(e)

    def name(self, name, role):
        head, quoted, indices = self.subscripts(name)
        if head in self.indices and not quoted:
            return name
        if role == "automaton" and head == "main":
            return [self.main, False, []]
        if role in ("variable", "const", "data", "label", "element", "automaton"):
            if head not in self.declared:
                return [head, quoted, indices]
            if indices and indices[-1][1]:
                return [head, quoted, [*indices[:-1], [indices[-1][0], indices[-1][1] + self.suffix]]]
            if indices and len(indices[-1][0]) == 1:
                return [head, quoted, [*indices[:-1], [indices[-1][0], self.suffix]]]
            return [head + self.suffix, quoted, indices]
        return name  # states are named within their automaton

    def statement(self, s):
        if s[0] == "goto" and s[1] is None:
            return ["goto", [self.main, False, []], s[2]]
        return super().statement(s)


class Copy:
    """Where a copy stands in the text of all copies."""

    def __init__(self, suffix):
        self.suffix = suffix
        self.lines = {}  # line -> line in the text of the model

    def name(self, name):
        """Name in the model, None for what belongs to another copy."""
        switch = re.match(r"(\w+)@(\w+)", name)
        if switch:
            line = self.lines.get(int(switch[2])) if switch[2].isdigit() else None
            return f"{switch[1]}@{line}" if line else None
        if name == "main" + self.suffix:
            return "main"
        if self.suffix + "[" in name or self.suffix + "." in name:
            return name.replace(self.suffix, "")
        return name.removesuffix(self.suffix) if name.endswith(self.suffix) else None


def copies(statements, count):
    """(text, copies)"""
    if is_random(statements):
        raise NotApplicable("random numbers")
    if any(s[0] == "for" and any(x[0] == "state" for x in s[3]) for s in statements):
        raise NotApplicable("states of the main automaton in a loop")
    declared = declared_names(statements)
    lines, made, energies = [], [], []
    for i in range(count):
        copy = Copy(f"_c{i}")
        made.append(copy)
        renamer = Renamer(declared, copy.suffix)
        top, line = [], 1
        for s in statements:
            length = len(tree.lines_of(s))
            if s[0] == "energy":
                energies.append(renamer.expr(s[1]))
            elif s[0] == "state":
                top.append((line, tree.lines_of(renamer.statement(s), "  ")))
            elif s[0] != "experiment":
                append(lines, copy, line, tree.lines_of(renamer.statement(s)))
            line += length
        if top:
            lines.append(f"automaton {renamer.main} {{")
            for line, text in top:
                append(lines, copy, line, text)
            lines.append("}")
    rest = [s for s in statements if s[0] == "experiment"]
    if energies:
        total = ["chain", tree.ADD, *[["+" if i else "", e] for i, e in enumerate(energies)]]
        rest.append(["energy", total if len(energies) > 1 else energies[0]])
    return "\n".join(lines) + "\n" + tree.print_tree(rest), made


def append(lines, copy, line, text):
    for i, each in enumerate(text):
        lines.append(each)
        copy.lines[len(lines)] = line + i


def is_random(statements):
    return bool(tree.Collector(statements).calls & set(RANDOM))


def declared_names(statements):
    """Heads of the names of a model, its states excepted; built-in ones where the model declares them."""
    found = tree.Collector(statements)
    declared = {head for role, head in found.declared if role == "variable"} - BUILT_IN
    declared |= {head for role, head in found.declared if role not in ("variable", "state")} - {"main"}
    declared |= {n[0] for n in found.constants}
    return declared | {s[2][1][0] for s in equations(statements) if s[2][0] == "name"}


def equations(statements):
    for s in statements:
        if s[0] == "equation":
            yield s
        elif s[0] == "for":
            yield from equations(s[3])
