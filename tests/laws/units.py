# SPDX-License-Identifier: MIT
"""The same model in other units.

    old state = scale * new state       old time = unit * new time - shift
    relation a < b  ->  factor * a < factor * b

The new text is the old one with these put in for every state, derivative, time and relation, and with all that has a
unit (initial values, resets, windows, rest, nominal, tolerances, steps, times) divided by it.
"""
import tree
from tree import NotApplicable, number, over, plus, times

PIECEWISE = {"abs": True, "min": True, "max": True, "mod": True, "sign": False}  # has the unit of g
STEPS = ("every", "h0", "hmin", "hmax", "step")


class Units(tree.Rewriter):
    def __init__(self, names, scale=None, unit=1.0, shift=0.0, relation=None):
        super().__init__()
        self.names = names
        self.scale = scale or {}          # family -> factor
        self.unit = unit
        self.shift = shift
        self.relation = relation or (lambda: 1.0)
        self.last = 1.0                   # factor of the relation rewritten last

    def factor(self, name, order=0):
        """Old value = factor * new value, for the derivative of this order."""
        if name[0] in self.indices:
            return 1.0
        family = self.names.family(name)
        return self.scale.get(family, 1.0) / self.unit ** order if family else 1.0

    def expr(self, e):
        kind = e[0]
        if kind == "name":
            return self.named(e)
        if kind == "call":
            return self.call(e)
        if kind == "chain" and e[1] in (tree.RELATION, tree.EQUALITY):
            return self.compared(e)
        if kind == "atom":
            return self.atom(e)
        return self.inside(e)

    def named(self, e):
        name, order = e[1], e[2]
        if name[0] in self.indices:
            return e
        if self.names.is_time(name) or self.names.is_start(name):
            return times(self.unit, plus(e, -self.shift))
        return times(self.factor(name, order), e)

    def call(self, e):
        head, arguments = e[1][0], e[3]
        if self.names.members(e[1]):  # x(t0)
            return times(self.factor(e[1], e[2]), e)
        if head in ("pre", "post") and arguments[0][0] == "name":
            return times(self.factor(arguments[0][1], arguments[0][2]), e)
        if head == "der":
            order = int(arguments[1][1]) if len(arguments) > 1 else 1
            return times(self.factor(arguments[0][1], order), e)
        if head == "delay":
            return self.delay(e)
        if head in PIECEWISE:
            factor = self.relation()
            inner = ["call", e[1], 0, [times(factor, self.expr(a)) for a in arguments]]
            return over(inner, factor) if PIECEWISE[head] else inner
        return self.inside(e)

    def delay(self, e):
        value, lag, *rest = e[3]
        factor = self.factor(value[1], value[2]) if value[0] == "name" else 1.0
        inner = value if factor != 1.0 else self.expr(value)
        before = [over(self.expr(rest[0]), factor)] if rest else []
        return times(factor, ["call", e[1], 0, [inner, over(self.expr(lag), self.unit), *before,
                                                *rest[1:]]])

    def compared(self, e):
        factor = self.relation()
        self.last = factor
        return ["chain", e[1], *[[op, times(factor, self.expr(x))] for op, x in e[2:]]]

    def atom(self, e):
        condition = self.expr(e[4])
        eps = e[2] and times(self.last, self.expr(e[2]))
        return ["atom", e[1], eps, e[3], condition]

    def equation(self, s):
        _, label, left, right = s
        if left[0] == "name" and self.factor(left[1], left[2]) != 1.0:
            return ["equation", label, left, over(self.expr(right), self.factor(left[1], left[2]))]
        return ["equation", label, self.left(left), self.expr(right)]

    def left(self, e):
        return e if e[0] == "name" and not self.names.is_time(e[1]) else self.expr(e)

    def initial(self, name, order, guess, value):
        return [name, order, guess, over(self.expr(value), self.factor(name, order))]

    def at(self, s):
        _, when, each, repeat, priority, body = s
        return ["at", plus(over(self.expr(when), self.unit), self.shift),
                over(self.expr(each), self.unit) if each else None, repeat, priority,
                self.block(body)]

    def setting(self, key, values, owner):
        if owner[0] == "attributes":
            if key == "nominal":
                return [key, [over(self.expr(values[0]), abs(self.factor(owner[1])))]]
            return [key, values]
        return super().setting(key, values, owner)

    def element(self, s):
        _, kind, name, settings = s
        given = dict(settings)
        force = given["force"][0]
        if self.factor(force[1]) < 0:
            raise NotApplicable("the force of an element turned round")
        return ["element", kind, name, (self.contact if kind == "contact" else self.friction)(given)]

    def contact(self, given):
        """Gap and speed may be in any unit; the force keeps the variable it is given."""
        gap = given["gap"][0]
        scale = self.factor(gap[1], gap[2]) if gap[0] == "name" else 1.0
        factor = self.relation()
        kept = gap[0] == "name" and scale > 0 and factor == 1.0
        change = 1.0 / scale if kept else factor      # new gap / old gap
        new = {"gap": gap if kept else times(factor, self.expr(gap)), "force": given["force"][0]}
        for key in ("velocity", "rest"):
            if key in given:
                new[key] = times(change * self.unit, self.expr(given[key][0]))
        for key in ("restitution", "cascade"):
            if key in given:
                new[key] = self.expr(given[key][0])
        return self.same_order(given, new)

    def friction(self, given):
        force = given["force"][0]
        new = {"velocity": times(self.relation(), self.expr(given["velocity"][0])), "force": force}
        for key in ("kinetic", "static"):
            if key in given:
                new[key] = over(self.expr(given[key][0]), self.factor(force[1]))
        return self.same_order(given, new)

    @staticmethod
    def same_order(given, new):
        unknown = [key for key in given if key not in new]
        if unknown:
            raise NotApplicable(f"a setting this harness does not know: {unknown[0]}")
        return [[key, [new[key]]] for key in given]

    def experiment(self, s):
        return ["experiment", [self.option(key, values) for key, values in s[1]]]

    def option(self, key, values):
        if key in ("start", "end"):
            return [key, [plus(over(values[0], self.unit), self.shift)]]
        if key in STEPS:
            return [key, [over(values[0], self.unit)]]
        if key == "eventeps":
            return [key, [times(self.uniform(), values[0])]]
        if key == "atol":
            return [key, [over(values[0], self.unit_of_states())]]
        return [key, values]

    def uniform(self):
        """The factor of all relations, where there is one."""
        factors = {self.relation() for _ in range(8)}
        if len(factors) > 1:
            raise NotApplicable("one window for relations in different units")
        return factors.pop()


    def unit_of_states(self):
        """The factor of all states, where there is one."""
        factors = {abs(self.scale.get(family, 1.0)) for family in self.names.families()}
        if len(factors) > 1:
            raise NotApplicable("one absolute tolerance for states in different units")
        return factors.pop() if factors else 1.0


RUN_SETTINGS = {"start", "end", "step", "h0", "hmin", "hmax", "method", "rtol", "atol", "eventeps", "gamma", "detection"}


def prepare(statements):
    """The model to be compared: times written out, all variables recorded."""
    settings, rest = [], []
    for s in statements:
        if s[0] == "experiment":
            settings += s[1]
        else:
            rest.append(s)
    given = dict(settings)
    settings = [[key, values] for key, values in given.items() if key in RUN_SETTINGS]  # none of pictures
    if "start" not in given:
        settings.append(["start", [number(0)]])
    if "end" not in given:
        settings.append(["end", [number(10)]])
    return rest + [["experiment", settings]]


def without_tolerance(statements):
    """An absolute tolerance is one number for all states, and has no place where their units differ."""
    return [["experiment", [[key, values] for key, values in s[1] if key != "atol"]]
            if s[0] == "experiment" else s for s in statements]


def scaled_states(names, factor, only=None):
    return {family: factor for family in names.families() if only is None or family == only}
