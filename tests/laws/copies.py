# SPDX-License-Identifier: MIT
"""Copies of a model beside each other, under other names."""
import re

import tree
from tree import NotApplicable

RANDOM = ("random", "uniform", "normal", "exponential")
BUILT_IN = set("""sin cos tan tg asin acos atan sinh cosh tanh atan2 exp ln log10 sqrt pow abs sign min max floor clamp
ceil mod if sum prod table delay der pre post noEvent random uniform normal exponential noise pi e g time TIME t t0
zeno init linear cubic main""".split())


# models of other kinds; each is through with what it does in some units of time
COMPANIONS = {
    "ball": "const T_b = UNIT; y_b' = v_b; v_b' = -9.81/T_b^2; y_b(t0) = 1; v_b(t0) = 0;\n"
            "automaton a_b { state hit_b [y_b <= 0] && [v_b < 0] { set v_b = -0.8*v_b; } from init, hit_b; }\n",
    "contact": "const T_b = UNIT; y_b' = v_b; v_b' = -9.81/T_b^2 + N_b; y_b(t0) = 1; v_b(t0) = 0;\n"
               "contact w_b { gap = y_b; force = N_b; restitution = 0.5; }\n",
    "twisting": "const T_b = UNIT; x_b' = v_b; v_b' = -(sign(x_b) + 0.5*sign(v_b))/T_b^2; x_b(t0) = 1; v_b(t0) = 0;\n",
    "rocking": "const T_b = UNIT; h_b' = w_b; w_b' = -4*sin(0.2*sign(h_b) - h_b)/T_b^2; h_b(t0) = 0.03; w_b(t0) = 0;\n"
               "automaton a_b { state up_b [h_b > 0] { set w_b = 0.8*w_b; } from down_b;\n"
               "  state down_b [h_b < 0] { set w_b = 0.8*w_b; } from init, up_b; }\n",
    "friction": "const T_b = UNIT; v_b' = (1.5*s_b - sign(v_b))/T_b; v_b(t0) = 0.5;\n"
                "s_b' = 3*c_b/T_b; c_b' = -3*s_b/T_b; s_b(t0) = 0; c_b(t0) = 1;\n",
    "relay": "const T_b = UNIT; x_b' = if(a_b.on_b, 1, -1)/T_b; x_b(t0) = 0.3;\n"
             "automaton a_b { state on_b [x_b <= 0] {} from init, off_b; state off_b [x_b >= 1] {} from on_b; }\n",
    "refill": "const T_b = UNIT; x_b' = -x_b/T_b; x_b(t0) = 1; n_b(t0) = 0;\n"
              "automaton a_b { state low_b [x_b <= 0.5] { set x_b = 1, n_b = n_b + 1; } from init, low_b; }\n",
    "ticks": "n_b(t0) = 0; every 0.37*UNIT { set n_b = n_b + 1; }\n",
    "decay": "const T_b = UNIT; x_b' = -1e5*(x_b - y_b)/T_b; y_b' = -y_b/T_b; x_b(t0) = 0; y_b(t0) = 1;\n",
    "vessels": "const T_b = UNIT; q_b = sign(x_b - y_b)*sqrt(abs(x_b - y_b)); x_b' = -q_b/T_b; y_b' = q_b/T_b;\n"
               "x_b(t0) = 1; y_b(t0) = 0;\n",
    "rectifier": "const T_b = UNIT; u_b' = 6*w_b/T_b; w_b' = -6*u_b/T_b; u_b(t0) = 0; w_b(t0) = 1; i_b = 0;\n"
                 "c_b' = (i_b - c_b)/T_b; c_b(t0) = 0;\n"
                 "automaton d_b { state off_b [i_b <= 0] { i_b = 0; } from init, on_b;\n"
                 "  state on_b [u_b - c_b >= 0] { i_b = 10*(u_b - c_b); } from init, off_b; }\n",
    "delay": "const T_b = UNIT; x_b' = -delay(x_b, 0.7*UNIT)/T_b; x_b(t0) = 1;\n",
    "floor": "const T_b = UNIT; x_b' = 3/T_b; x_b(t0) = 0.1; n_b = floor(x_b); y_b' = (n_b - y_b)/T_b; y_b(t0) = 0;\n",
    "rod": "const T_b = UNIT; x_b'' = l_b*x_b/T_b^2; y_b'' = (l_b*y_b - 9.81)/T_b^2; x_b^2 + y_b^2 = 1;\n"
           "x_b(t0) = 1; y_b(t0) = 0; x_b'(t0) = 0; y_b'(t0) = 0; l_b(t0) = 0;\n",
}


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
