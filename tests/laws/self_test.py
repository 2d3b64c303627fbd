#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The harness itself: printed trees are the models they were read from, and a comparison that should fail does."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import laws  # noqa: E402
import tree  # noqa: E402
import units  # noqa: E402

BALL = """
y' = v; y(t0) = 1; v' = -9.81; v(t0) = 0; n(t0) = 0;
state bounce [y <= 0] && [v < 0] { set v = -0.9*v, n = n + 1; } from init, bounce;
experiment { end = 3; }
"""


def texts():
    """All models but those made of parts, whose syntax the laws report as not known to them."""
    for ident in laws.gallery():
        text = laws.read_model(ident)[0]
        try:
            tree.print_tree(tree.parse(text))
        except tree.NotApplicable as reason:
            print(f"{ident}: {reason}")
            continue
        yield ident, text
    for seed in range(1, 35):
        yield f"gen:{seed}", laws.read_model(f"gen:{seed}")[0]


def printed_trees_are_the_same():
    idents, sources = zip(*texts())
    trees = tree.parse_all(sources)
    again = tree.parse_all([tree.print_tree(t) for t in trees])
    for ident, first, second in zip(idents, trees, again):
        assert tree.print_tree(first) == tree.print_tree(second), ident
        assert tree.Rewriter().block(first) == first, ident


def the_factor_one_changes_nothing():
    for ident, text in texts():
        statements = units.prepare(tree.parse(text))
        names = tree.Names(statements, [])
        assert units.Units(names).block(statements) == statements, ident


def differences_are_seen():
    """A threshold, a reset, a state or an event that is not transformed with the rest is a failure."""
    subject = laws.Subject("ball", tree.parse(BALL))
    right = laws.unit_case(subject, "states", "1e3", scale=units.scaled_states(subject.names, 1e3)).text
    wrong = {
        "a threshold": right.replace("1000 * y <= 0", "1000 * y <= 0.01"),
        "a reset": right.replace("-0.9 * (1000 * v)", "-0.9001 * (1000 * v)"),
        "a rate": right.replace("-9.81 / 1000", "-9.82 / 1000"),
        "a counter": right.replace("n + 1", "n + 2"),
        "an end": right.replace("end = 3", "end = 2"),
    }
    value = subject.columns_scaled(units.scaled_states(subject.names, 1e3))
    for what, text in wrong.items():
        assert text != right, f"{what} is not there:\n{right}"
        found = subject.reference.differs(compare.View(subject.execute(text), value))
        assert found, f"{what} that differs is not seen"


def main():
    printed_trees_are_the_same()
    the_factor_one_changes_nothing()
    differences_are_seen()


if __name__ == "__main__":
    main()
