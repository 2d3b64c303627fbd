# SPDX-License-Identifier: MIT
"""Syntax trees of LISMA models: read by laws_tree_tool, walked, and printed as text again.

A tree is a list of statements; every node is a list that begins with its kind.

expressions                                     statements
  number  value                                   const, macro   [[names, value], ...]
  name    NAME, derivatives                       data           NAME, file, options
  qualified  NAME, NAME                           equation       label or None, left, right
  call    NAME, derivatives, arguments            init           [[NAME, derivatives, guess, value], ...]
  reduction  sum|prod, [[index, range]], body     delete         names
  if      condition, value, value                 attributes     NAME, settings
  atom    type, eps, gamma, condition             energy         expression
  unary   operator, operand                       experiment     settings
  power   base, exponent                          element        contact|friction, NAME, settings
  chain   level, [operator, operand], ...         for            index, ranges, body
  text    a string (values of settings)           switch         [[condition or None, body], ...]
                                                  state          NAME, guard, like, body or None, [from]
NAME is [head, quoted, indices], an index is      automaton      NAME, body
[subscripts, tail]; settings are [[key, values]]; at             time, each, repeat, priority, body
a range is [first, last or None].                 invariant, stop, goto
"""
import json
import os
import re
import subprocess

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("SALTUS_BUILD") or os.path.join(SOURCE, "build", "release")

IMPLIES, OR, XOR, AND, EQUALITY, RELATION, ADD, MULTIPLY, UNARY, POWER, OPERAND = range(11)
TIME_NAMES = ("time", "TIME", "t")


class NotApplicable(Exception):
    """A transformation has no meaning for this model; the text says why."""


def parse_all(texts):
    """Trees of many texts; a text with errors gives the message instead."""
    tool = os.path.join(BUILD, "tests", "laws_tree_tool")
    data = b"".join(b"%d\n" % len(t) + t for t in (text.encode() for text in texts))
    done = subprocess.run([tool], input=data, stdout=subprocess.PIPE, check=True)
    trees = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return [tree["errors"] if isinstance(tree, dict) else tree for tree in trees]


def parse(text):
    tree = parse_all([text])[0]
    if isinstance(tree, str):
        raise NotApplicable("cannot be read: " + tree.splitlines()[0])
    return tree


# -- making nodes --------------------------------------------------------------------------------

def number(value):
    return ["number", value]


def plain(name):
    return [name, not re.fullmatch(r"[^\W\d]\w*", name), []]


def variable(name, order=0):
    return ["name", plain(name), order]


def times(factor, e):
    """factor * e, folded where e is a number."""
    if factor == 1:
        return e
    if e[0] == "number":
        return number(factor * e[1])
    return ["chain", MULTIPLY, ["", number(factor)], ["*", e]]


def over(e, divisor):
    if divisor == 1:
        return e
    return ["chain", MULTIPLY, ["", e], ["/", number(divisor)]]


def plus(e, offset):
    return e if offset == 0 else ["chain", ADD, ["", e], ["+", number(offset)]]


# -- printing ------------------------------------------------------------------------------------

def name_text(name):
    head, quoted, indices = name
    text = f"`{head}`" if quoted else head
    for subscripts, tail in indices:
        text += "[" + ", ".join(map(text_of, subscripts)) + "]" + tail
    return text


def range_text(span):
    first, last = span
    return text_of(first) + (":" + text_of(last) if last else "")


def strength(e):
    if e[0] == "chain":
        return e[1]
    if e[0] == "number" and (e[1] < 0 or str(e[1])[0] == "-"):
        return UNARY
    return {"unary": UNARY, "power": POWER}.get(e[0], OPERAND)


def operand(e, least):
    return "(" + text_of(e) + ")" if strength(e) < least else text_of(e)


def number_text(value):
    value = float(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def text_of(e):
    """An expression as text."""
    kind = e[0]
    if kind == "number":
        return number_text(e[1])
    if kind == "name":
        return name_text(e[1]) + "'" * e[2]
    if kind == "qualified":
        return name_text(e[1]) + "." + name_text(e[2])
    if kind == "call":
        return name_text(e[1]) + "'" * e[2] + "(" + ", ".join(map(text_of, e[3])) + ")"
    if kind == "reduction":
        loops = "".join(f"{index} = {range_text(span)}, " for index, span in e[2])
        return f"{e[1]}({loops}{text_of(e[3])})"
    if kind == "if":
        return "if(" + ", ".join(map(text_of, e[1:])) + ")"
    if kind == "atom":
        given = [f"{key} = {text_of(x)}" for key, x in (("eps", e[2]), ("gamma", e[3])) if x]
        return e[1] + (f"({', '.join(given)})" if given else "") + "[" + text_of(e[4]) + "]"
    if kind == "unary":
        return e[1] + operand(e[2], UNARY)
    if kind == "power":
        return operand(e[1], OPERAND) + "^" + operand(e[2], UNARY)
    if kind == "chain":
        return " ".join((op + " " if op else "") + operand(x, e[1] + 1) for op, x in e[2:])
    if kind == "text":
        return f'"{e[1]}"'
    raise NotApplicable(f"syntax this harness does not know: {kind}")


def settings_text(settings):
    return "{ " + "".join(f"{key} = {', '.join(map(text_of, values))}; "
                          for key, values in settings) + "}"


def init_text(name, order, guess, value):
    return f"{name_text(name)}{chr(39) * order}(t0) {'~' if guess else '='} {text_of(value)};"


def block_lines(body, indent):
    return [line for statement in body for line in lines_of(statement, indent + "  ")]


def lines_of(s, indent=""):
    """A statement as lines."""
    kind = s[0]
    if kind in ("const", "macro"):
        return [f"{indent}{kind} {' = '.join(map(name_text, names))} = {text_of(value)};"
                for names, value in s[1]]
    if kind == "data":
        options = "".join(", " + text_of(v) for v in s[3])
        return [f'{indent}data {name_text(s[1])} = "{s[2]}"{options};']
    if kind == "equation":
        label = name_text(s[1]) + ": " if s[1] else ""
        return [f"{indent}{label}{text_of(s[2])} = {text_of(s[3])};"]
    if kind == "init":
        return [indent + init_text(*item) for item in s[1]]
    if kind == "delete":
        return [f"{indent}delete {', '.join(map(name_text, s[1]))};"]
    if kind == "attributes":
        return [f"{indent}{name_text(s[1])} {settings_text(s[2])}"]
    if kind == "energy":
        return [f"{indent}energy = {text_of(s[1])};"]
    if kind == "experiment":
        return [f"{indent}experiment {settings_text(s[1])}"]
    if kind == "element":
        return [f"{indent}{s[1]} {name_text(s[2])} {settings_text(s[3])}"]
    if kind == "for":
        head = f"for {s[1]} = {', '.join(map(range_text, s[2]))}"
        return [f"{indent}{head} {{", *block_lines(s[3], indent), indent + "}"]
    if kind == "switch":
        lines = []
        for i, (condition, body) in enumerate(s[1]):
            word = ("if" if i == 0 else "} else if") if condition else "} else"
            given = f" ({text_of(condition)})" if condition else ""
            lines += [f"{indent}{word}{given} {{", *block_lines(body, indent)]
        return lines + [indent + "}"]
    if kind == "state":
        _, name, guard, like, body, sources = s
        head = f"{indent}state {name_text(name)}"
        head += " " + text_of(guard) if guard else ""
        head += " like " + name_text(like) if like else ""
        tail = f" from {', '.join(map(name_text, sources))};" if sources else ""
        if body is None:
            return [head + tail]
        return [head + " {", *block_lines(body, indent), f"{indent}}}{tail}"]
    if kind == "automaton":
        return [f"{indent}automaton {name_text(s[1])} {{", *block_lines(s[2], indent), indent + "}"]
    if kind == "at":
        _, when, each, repeat, priority, body = s
        head = f"{indent}at {text_of(when)}"
        head += f" each {text_of(each)}" if each else ""
        head += f" repeat {'*' if repeat == '*' else text_of(repeat)}" if repeat else ""
        head += f" priority {text_of(priority)}" if priority else ""
        return [head + " {", *block_lines(body, indent), indent + "}"]
    if kind == "invariant":
        return [f"{indent}invariant {text_of(s[1])};"]
    if kind == "stop":
        return [f'{indent}stop "{s[1]}";' if s[1] else f"{indent}stop;"]
    if kind == "goto":
        where = name_text(s[1]) + "." if s[1] else ""
        return [f"{indent}goto {where}{name_text(s[2])};"]
    raise NotApplicable(f"syntax this harness does not know: {kind}")


def print_tree(statements):
    return "\n".join(line for s in statements for line in lines_of(s)) + "\n"


# -- rewriting -----------------------------------------------------------------------------------

class Rewriter:
    """Rebuilds a tree. Subclasses change what they overwrite.

    `expr` sees every expression whose value or truth counts; bounds of loops, counts, priorities and
    subscripts go through `constant`, declared and used names through `name`.
    """

    def __init__(self):
        self.indices = []  # of the loops around

    def expr(self, e):
        return self.inside(e)

    def constant(self, e):
        return e

    def subscripts(self, name):
        """A name with its subscripts rewritten."""
        head, quoted, indices = name
        return [head, quoted, [[[self.constant(x) for x in subscripts], tail] for subscripts, tail in indices]]

    def name(self, name, role):
        """role: variable, const, label, state, automaton, data, element"""
        return name

    def inside(self, e):
        """The same node with its parts rewritten."""
        kind = e[0]
        if kind in ("number", "text"):
            return e
        if kind == "name":
            return ["name", self.name(e[1], "variable"), e[2]]
        if kind == "qualified":
            return ["qualified", self.name(e[1], "automaton"), self.name(e[2], "state")]
        if kind == "call":
            if e[1][0] == "table":
                data = ["name", self.name(e[3][0][1], "data"), 0]
                return ["call", e[1], e[2], [data, *map(self.expr, e[3][1:])]]
            return ["call", self.name(e[1], "variable"), e[2], [self.expr(a) for a in e[3]]]
        if kind == "reduction":
            loops = [[index, self.range(span)] for index, span in e[2]]
            self.indices += [index for index, _ in loops]
            body = self.expr(e[3])
            del self.indices[len(self.indices) - len(loops):]
            return ["reduction", e[1], loops, body]
        if kind == "if":
            return ["if", *map(self.expr, e[1:])]
        if kind == "atom":
            return ["atom", e[1], self.eps(e[2]) if e[2] else None, e[3], self.expr(e[4])]
        if kind == "unary":
            return ["unary", e[1], self.expr(e[2])]
        if kind == "power":
            return ["power", self.expr(e[1]), self.expr(e[2])]
        if kind == "chain":
            return ["chain", e[1], *[[op, self.expr(x)] for op, x in e[2:]]]
        raise NotApplicable(f"syntax this harness does not know: {kind}")

    def eps(self, e):
        return self.expr(e)

    def range(self, span):
        return [self.constant(span[0]), self.constant(span[1]) if span[1] else None]

    def block(self, statements):
        return [self.statement(s) for s in statements]

    def setting(self, key, values, owner):
        return [key, [v if v[0] == "text" else self.expr(v) for v in values]]

    def equation(self, s):
        label = self.name(s[1], "label") if s[1] else None
        return ["equation", label, self.expr(s[2]), self.expr(s[3])]

    def initial(self, name, order, guess, value):
        return [self.name(name, "variable"), order, guess, self.expr(value)]

    def state(self, s):
        _, name, guard, like, body, sources = s
        return ["state", self.name(name, "state"), self.expr(guard) if guard else None,
                self.name(like, "state") if like else None,
                None if body is None else self.block(body),
                [self.name(n, "state") for n in sources]]

    def at(self, s):
        _, when, each, repeat, priority, body = s
        return ["at", self.expr(when), self.expr(each) if each else None, *self.counts(s), self.block(body)]

    def counts(self, s):
        return [c if c is None or c == "*" else self.constant(c) for c in s[3:5]]

    def attributes(self, s):
        return ["attributes", self.name(s[1], "variable"),
                [self.setting(key, values, s) for key, values in s[2]]]

    def element(self, s):
        return ["element", s[1], self.name(s[2], "element"),
                [self.setting(key, values, s) for key, values in s[3]]]

    def experiment(self, s):
        return ["experiment", [self.setting(key, values, s) for key, values in s[1]]]

    def statement(self, s):
        kind = s[0]
        if kind == "const":
            return ["const", [[[self.name(n, "const") for n in names], self.expr(value)]
                              for names, value in s[1]]]
        if kind == "macro":
            return ["macro", [[[self.name(n, "const") for n in names], self.expr(value)]
                              for names, value in s[1]]]
        if kind == "data":
            return ["data", self.name(s[1], "data"), s[2], s[3]]
        if kind in ("equation", "state", "at", "attributes", "element", "experiment"):
            return getattr(self, kind)(s)
        if kind == "init":
            return ["init", [self.initial(*item) for item in s[1]]]
        if kind == "delete":
            return ["delete", [self.name(n, "label") for n in s[1]]]
        if kind in ("energy", "invariant"):
            return [kind, self.expr(s[1])]
        if kind == "for":
            ranges = [self.range(span) for span in s[2]]
            self.indices.append(s[1])
            body = self.block(s[3])
            self.indices.pop()
            return ["for", s[1], ranges, body]
        if kind == "switch":
            return ["switch", [[self.expr(c) if c else None, self.block(body)] for c, body in s[1]]]
        if kind == "automaton":
            return ["automaton", self.name(s[1], "automaton"), self.block(s[2])]
        if kind == "stop":
            return s
        if kind == "goto":
            return ["goto", self.name(s[1], "automaton") if s[1] else None, self.name(s[2], "state")]
        raise NotApplicable(f"syntax this harness does not know: {kind}")


# -- names ---------------------------------------------------------------------------------------

def pattern(name):
    """Regular expression of the variables that a name can mean."""
    head, _, indices = name
    text = re.escape(head)
    for subscripts, tail in indices:
        if len(subscripts) == 1:
            text += r"-?\d+"
        else:
            text += r"\[" + ",".join([r"-?\d+"] * len(subscripts)) + r"\]"
        text += re.escape(tail)
    return text


class Collector(Rewriter):
    """What a model declares and uses."""

    def __init__(self, tree):
        super().__init__()
        self.constants = []  # names of const and macro
        self.used = []       # names in expressions, with the highest derivative
        self.calls = set()
        self.declared = set()
        self.settings = {}   # of the experiment
        self.kinds = set()   # of statements
        self.nominal = []    # names with a nominal value
        self.forces = []     # of elements
        self.windows = False  # atoms with a window around their boundary
        self.block(tree)

    def expr(self, e):
        if e[0] == "name" and e[1][0] not in self.indices:
            self.used.append((e[1], e[2]))
        elif e[0] == "call":
            self.calls.add(e[1][0])
            self.used.append((e[1], e[2]))
            if e[1][0] == "der":
                self.used.append((e[3][0][1], 1))
        return self.inside(e)

    def name(self, name, role):
        if role == "const":
            self.constants.append(name)
        self.declared.add((role, name[0]))
        return name

    def setting(self, key, values, owner):
        if owner[0] == "attributes" and key == "nominal":
            self.nominal.append(owner[1])
        if owner[0] == "element" and key == "force":
            self.forces.append(values[0][1])
        return super().setting(key, values, owner)

    def initial(self, name, order, guess, value):
        self.used.append((name, order))
        return super().initial(name, order, guess, value)

    def experiment(self, s):
        self.settings = dict(s[1])
        return s

    def statement(self, s):
        self.kinds.add(s[0])
        return super().statement(s)


class Names:
    """Which names of a model are variables, and which of those are told apart by an index only.

    `columns` are the variables of a run. Variables that one name with an index can mean form a family, and
    get one factor.
    """

    def __init__(self, tree, columns):
        found = Collector(tree)
        self.found = found
        self.constant_patterns = {pattern(n) for n in found.constants}
        self.columns = columns
        self.family_of = {c: c for c in columns}
        self.differential = set()
        self.meaning = {}
        for name, order in found.used:
            members = self.members(name)
            for member in members[1:]:
                self.join(members[0], member)
        for name, order in found.used:
            if order > 0:
                self.differential.update(self.root(m) for m in self.members(name))

    def root(self, column):
        while self.family_of[column] != column:
            column = self.family_of[column]
        return column

    def join(self, a, b):
        self.family_of[self.root(b)] = self.root(a)

    def members(self, name):
        """Columns that a name can mean; empty for constants, macros, functions."""
        key = pattern(name)
        if key in self.meaning:
            return self.meaning[key]
        if name[2]:
            found = [c for c in self.columns if re.fullmatch(key, c)]
        else:
            found = [name[0]] if name[0] in self.family_of else []
        if found and key in self.constant_patterns:
            raise NotApplicable(f"'{name_text(name)}' means constants and variables")
        self.meaning[key] = found
        return found

    def family(self, name):
        members = self.members(name)
        return self.root(members[0]) if members else None

    def families(self):
        """Families of states, in the order of the columns."""
        seen = []
        for column in self.columns:
            root = self.root(column)
            if root in self.differential and root not in seen:
                seen.append(root)
        return seen

    def is_time(self, name):
        head = name[0]
        return (head in TIME_NAMES and not name[2] and not self.members(name) and
                pattern(name) not in self.constant_patterns)

    def is_start(self, name):
        return (name[0] == "t0" and not name[1] and not name[2] and not self.members(name) and
                pattern(name) not in self.constant_patterns)
