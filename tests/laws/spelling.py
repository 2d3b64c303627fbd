# SPDX-License-Identifier: MIT
"""Other texts with the same meaning.

Each spelling is a class or function that takes the statements of a model and returns others; NotApplicable where the model
has nothing to rewrite in this way.
"""
import itertools
import random

import copies
import tree
from tree import NotApplicable, number, plain, variable


def new_name(statements, stem):
    """Names that no name of the model begins with."""
    heads = {head for _, head in tree.Collector(statements).declared}
    while any(head.startswith(stem) for head in heads):
        stem += "_"
    return stem


# -- relations by way of a variable or a macro -----------------------------------------------------

class Sides(tree.Rewriter):
    """Guards read `r <= 0` instead of `a <= b`, with r = a - b as a variable or as a macro."""

    def __init__(self, statements, kind):
        super().__init__()
        self.kind = kind
        self.stem = new_name(statements, "side")
        self.added = []
        self.local = 0  # inside of what is not a condition of a guard or an `if`

    def expr(self, e):
        if e[0] == "chain" and e[1] == tree.RELATION and not self.indices and self.movable(e):
            name = f"{self.stem}{len(self.added) + 1}"
            (_, left), (op, right) = e[2:]
            value = left if right == ["number", 0] else ["chain", tree.ADD, ["", left], ["-", right]]
            if self.kind == "macro":
                self.added.append(["macro", [[[plain(name)], value]]])
            else:
                self.added.append(["equation", None, variable(name), value])
            return ["chain", tree.RELATION, ["", variable(name)], [op, number(0)]]
        return self.inside(e)

    @staticmethod
    def movable(e):
        """What means the same at the top of a model."""
        seen = Seen()
        seen.expr(e)
        return not (seen.calls & {"pre", "post", "random", "uniform", "normal", "exponential", "noise"} or
                    "t0" in seen.heads)

    def statement(self, s):
        if s[0] in ("const", "macro", "element", "energy"):
            return s
        return super().statement(s)


class Seen(tree.Rewriter):
    def __init__(self):
        super().__init__()
        self.calls, self.heads = set(), set()

    def expr(self, e):
        if e[0] == "call":
            self.calls.add(e[1][0])
        if e[0] == "name":
            self.heads.add(e[1][0])
        return self.inside(e)


def sides(kind):
    def rewrite(statements):
        rewriter = Sides(statements, kind)
        result = rewriter.block(statements)
        if not rewriter.added:
            raise NotApplicable("no relation that could stand in an equation")
        return rewriter.added + result
    return rewrite


# -- switches --------------------------------------------------------------------------------------

class Switches(tree.Rewriter):
    """`if(c, a, b)` in global equations as another kind of switch."""

    def __init__(self, statements, form):
        super().__init__()
        self.form = form
        self.stem = new_name(statements, "switched")
        self.count = 0
        self.added = []
        self.inside_equation = False

    def equation(self, s):
        self.inside_equation = True
        result = super().equation(s)
        self.inside_equation = False
        return result

    def block(self, statements):
        return [s if s[0] in ("for", "state", "automaton", "at", "switch", "macro", "element", "energy")
                else self.statement(s) for s in statements]

    def expr(self, e):
        if e[0] == "call" and e[1][0] == "noEvent":
            return e
        if e[0] == "if" and self.inside_equation and not self.indices:
            _, condition, then, otherwise = [e[0], *map(self.expr, e[1:])]
            self.count += 1
            name = f"{self.stem}{self.count}"
            self.added += getattr(self, self.form)(name, condition, then, otherwise)
            return variable(name)
        return self.inside(e)

    @staticmethod
    def block_form(name, condition, then, otherwise):
        return [["switch", [[condition, [["equation", None, variable(name), then]]],
                            [None, [["equation", None, variable(name), otherwise]]]]]]

    @staticmethod
    def automaton_form(name, condition, then, otherwise):
        no = ["unary", "!", condition]
        init, on, off = plain("init"), plain("on"), plain("off")
        return [["equation", None, variable(name), otherwise],
                ["automaton", plain(name + "_a"), [
                    ["state", on, condition, None, [["equation", None, variable(name), then]], [init, off]],
                    ["state", off, no, None, [], [on]]]]]

    @staticmethod
    def label_form(name, condition, then, otherwise):
        label = plain(name + "_l")
        no = ["unary", "!", condition]
        init, on, off = plain("init"), plain("on"), plain("off")
        return [["equation", label, variable(name), otherwise],
                ["automaton", plain(name + "_a"), [
                    ["state", on, condition, None, [["equation", label, variable(name), then]], [init, off]],
                    ["state", off, no, None, [], [on]]]]]

    @staticmethod
    def flag_form(name, condition, then, otherwise):
        flag = plain(name + "_f")
        no = ["unary", "!", condition]
        init, on, off = plain("init"), plain("on"), plain("off")
        f = ["name", flag, 0]
        one_less = ["chain", tree.ADD, ["", number(1)], ["-", f]]
        value = ["chain", tree.ADD, ["", ["chain", tree.MULTIPLY, ["", f], ["*", then]]],
                 ["+", ["chain", tree.MULTIPLY, ["", one_less], ["*", otherwise]]]]
        return [["equation", None, variable(name), value], ["init", [[flag, 0, False, number(0)]]],
                ["automaton", plain(name + "_a"), [
                    ["state", on, condition, None, [["init", [[flag, 0, False, number(1)]]]], [init, off]],
                    ["state", off, no, None, [["init", [[flag, 0, False, number(0)]]]], [on]]]]]


def switches(form):
    def rewrite(statements):
        statements = piecewise_as_if(statements) or statements
        rewriter = Switches(statements, form + "_form")
        result = rewriter.block(statements)
        if not rewriter.count:
            raise NotApplicable("no switch in an equation")
        return result + rewriter.added
    return rewrite


class Piecewise(tree.Rewriter):
    """abs, min, max, sign as if()."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.live = False

    def equation(self, s):
        self.live = True
        result = super().equation(s)
        self.live = False
        return result

    def expr(self, e):
        if e[0] == "call" and e[1][0] == "noEvent":
            return e
        if not self.live or e[0] != "call" or e[1][0] not in ("abs", "min", "max", "sign"):
            return self.inside(e)
        self.count += 1
        head, arguments = e[1][0], [self.expr(a) for a in e[3]]
        if head == "abs":
            return ["if", relation(arguments[0], ">=", number(0)), arguments[0], ["unary", "-", arguments[0]]]
        if head == "sign":
            return ["if", relation(arguments[0], ">", number(0)), number(1),
                    ["if", relation(arguments[0], "<", number(0)), number(-1), number(0)]]
        value = arguments[0]
        for other in arguments[1:]:
            value = ["if", relation(value, ">=" if head == "max" else "<=", other), value, other]
        return value


def relation(left, op, right):
    return ["chain", tree.RELATION, ["", left], [op, right]]


def piecewise_as_if(statements):
    rewriter = Piecewise()
    result = rewriter.block(statements)
    return result if rewriter.count else None


def as_if(statements):
    result = piecewise_as_if(statements)
    if not result:
        raise NotApplicable("no abs, min, max or sign in an equation")
    return result


def block_as_function(statements):
    """`if` blocks whose branches give the same variables, as if() in equations."""
    result, count = [], 0
    for s in statements:
        made = one_block(s) if s[0] == "switch" else None
        result += made or [s]
        count += made is not None
    if not count:
        raise NotApplicable("no `if` block that gives the same variables in all branches")
    return result


def one_block(s):
    branches = s[1]
    if branches[-1][0] is not None:
        return None
    tables = []
    for _, body in branches:
        if any(x[0] != "equation" or x[1] or x[2][0] != "name" for x in body):
            return None
        tables.append({tree.text_of(x[2]): x for x in body})
    if any(set(t) != set(tables[0]) for t in tables):
        return None
    made = []
    for key, first in tables[0].items():
        value = tables[-1][key][3]
        for (condition, _), table in reversed(list(zip(branches, tables))[:-1]):
            value = ["if", condition, table[key][3], value]
        made.append(["equation", None, first[2], value])
    return made


# -- labels ----------------------------------------------------------------------------------------

def labelled(statements):
    """Equations that states replace by their left side get labels."""
    stem = new_name(statements, "group")
    lefts = {tree.text_of(s[2]) for s in statements
             if s[0] == "equation" and not s[1] and s[2][0] == "name"}
    replaced = {}
    for body in bodies(statements):
        for s in body:
            if s[0] == "equation" and not s[1] and tree.text_of(s[2]) in lefts:
                replaced.setdefault(tree.text_of(s[2]), plain(f"{stem}{len(replaced) + 1}"))
    if not replaced:
        raise NotApplicable("no equation that a state replaces by its left side")

    class Labels(tree.Rewriter):
        def equation(self, s):
            label = replaced.get(tree.text_of(s[2])) if not s[1] else s[1]
            return ["equation", label, s[2], s[3]]
    return Labels().block(statements)


def bodies(statements):
    for s in statements:
        if s[0] == "state" and s[4]:
            yield s[4]
            yield from bodies(s[4])
        elif s[0] == "automaton":
            yield from bodies(s[2])
        elif s[0] == "switch":
            for _, body in s[1]:
                yield body
                yield from bodies(body)


TOP = "states_at_the_top"


def as_automaton(statements):
    """The states at the top as an automaton with a name."""
    top = [s for s in statements if s[0] == "state"]
    if not top:
        raise NotApplicable("no states at the top")
    if any(s[0] == "for" and any(x[0] == "state" for x in s[3]) for s in statements):
        raise NotApplicable("states of the main automaton in a loop")
    name = plain(TOP)

    class Top(tree.Rewriter):
        def name(self, n, role):
            return name if role == "automaton" and n[0] == "main" else n

        def statement(self, s):
            if s[0] == "goto" and s[1] is None:
                return ["goto", name, s[2]]
            return super().statement(s)
    rest = [s for s in statements if s[0] != "state"]
    # the order of automata means something where they interfere: the states at the top come first
    return Top().block([["automaton", name, top], *rest])


# -- loops -----------------------------------------------------------------------------------------

class Flat(tree.Rewriter):
    """Loops, reductions and indices written out."""

    def __init__(self, statements):
        super().__init__()
        self.values = {}   # of constants
        self.loops = {}    # index -> value
        self.count = 0
        self.constants = {}
        for s in statements:
            if s[0] == "const":
                for names, value in s[1]:
                    for n in names:
                        self.constants[n[0]] = value

    def value(self, e):
        kind = e[0]
        if kind == "number":
            return e[1]
        if kind == "name" and not e[2]:
            head = e[1][0]
            if head in self.loops:
                return self.loops[head]
            if head in self.constants and not e[1][2]:
                return self.value(self.constants[head])
        if kind == "unary" and e[1] in "+-":
            return -self.value(e[2]) if e[1] == "-" else self.value(e[2])
        if kind == "power":
            return self.value(e[1]) ** self.value(e[2])
        if kind == "chain" and e[1] in (tree.ADD, tree.MULTIPLY):
            total = self.value(e[2][1])
            for op, x in e[3:]:
                v = self.value(x)
                total = {"+": total + v, "-": total - v, "*": total * v}[op] if op in "+-*" else \
                    total / v if op == "/" else total % v
            return total
        raise NotApplicable(f"a bound or index this harness cannot compute: {tree.text_of(e)}")

    def whole(self, e):
        value = self.value(e)
        if value != int(value):
            raise NotApplicable("an index that is not whole")
        return int(value)

    def name(self, name, role):
        head, quoted, indices = name
        if not indices:
            return name
        if any(len(subscripts) > 1 for subscripts, _ in indices):
            return [head, quoted, [[[number(self.whole(x)) for x in subscripts], tail]
                                   for subscripts, tail in indices]]
        text = head + "".join(str(self.whole(subscripts[0])) + tail for subscripts, tail in indices)
        return plain(text)

    def expr(self, e):
        if e[0] == "name" and not e[2] and not e[1][2] and e[1][0] in self.loops:
            return number(self.loops[e[1][0]])
        if e[0] == "reduction":
            return self.reduction(e)
        return self.inside(e)

    def reduction(self, e):
        self.count += 1
        terms = []
        for _ in self.instances(e[2]):
            terms.append(self.expr(e[3]))
        op, level, empty = ("*", tree.MULTIPLY, 1) if e[1] == "prod" else ("+", tree.ADD, 0)
        if not terms:
            return number(empty)
        return terms[0] if len(terms) == 1 else ["chain", level,
                                                 *[[op if i else "", x] for i, x in enumerate(terms)]]

    def instances(self, loops):
        if not loops:
            yield
            return
        index, (first, last) = loops[0]
        start = self.whole(first)
        end = self.whole(last) if last else start
        if end - start > 2000:
            raise NotApplicable("more than 2000 instances")
        for value in range(start, end + 1):
            self.loops[index] = value
            yield from self.instances(loops[1:])
        self.loops.pop(index, None)

    def block(self, statements):
        result = []
        for s in statements:
            if s[0] == "for":
                self.count += 1
                for span in s[2]:
                    for _ in self.instances([[s[1], span]]):
                        result += self.block(s[3])
            else:
                result.append(self.statement(s))
        return result


def flat(statements):
    rewriter = Flat(statements)
    result = rewriter.block(statements)
    if not rewriter.count:
        raise NotApplicable("no loop and no sum")
    return result


# -- names and order -------------------------------------------------------------------------------

class Backwards(tree.Rewriter):
    """Names whose alphabetical order is reversed: a prefix by the first letter."""

    def __init__(self, declared):
        super().__init__()
        self.declared = declared

    def constant(self, e):
        return self.expr(e)

    def name(self, name, role):
        head, quoted, indices = name = self.subscripts(name)
        if role == "state" or head not in self.declared or head in self.indices or head == "main":
            return name
        return [prefix(head) + head, quoted, indices]


def prefix(head):
    """Two letters that sort the other way round than the first of a name."""
    rank = 675 - min(675, ord(head[0]))
    return chr(97 + rank // 26) + chr(97 + rank % 26) + "_"


def renamed(statements):
    return Backwards(copies.declared_names(statements)).block(statements)


def old_name(name):
    if name == TOP:
        return "main"
    return name[3:] if len(name) > 3 and prefix(name[3:]) == name[:3] else name


FREE = ("const", "macro", "equation", "init", "attributes", "data", "energy")


def reordered(statements):
    """Other order of all but states, automata, times and elements."""
    free = [s for s in statements if s[0] in FREE]
    bound = [s for s in statements if s[0] not in FREE]
    dice = random.Random(len(tree.print_tree(statements)))
    dice.shuffle(free)
    slots = sorted(dice.randint(0, len(free)) for _ in bound)
    result = list(free)
    for at, s in reversed(list(zip(slots, bound))):
        result.insert(at, s)
    if copies.is_random(statements):
        raise NotApplicable("random numbers are drawn in the order of the text")
    return result


SPELLINGS = {
    "variable": sides("variable"), "macro": sides("macro"), "if": as_if, "if-block": switches("block"),
    "if-automaton": switches("automaton"), "if-label": switches("label"), "flag": switches("flag"),
    "if-function": block_as_function, "label": labelled, "automaton": as_automaton, "flat": flat,
    "names": renamed, "order": reordered,
}
