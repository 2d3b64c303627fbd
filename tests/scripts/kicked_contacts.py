#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Resets that drive closed gaps inward are impacts of these contacts: two bodies on each other at rest on a floor,
declared as contacts or written as resets, kicked at random in units from 1e-9 to 1e6, against the law of the impacts."""
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

COUNT = 60
NEAR = 1e-12


class Stack:
    """Masses, restitutions and the kick of one model; floor and upper contact have the numbers 0 and 1."""

    def __init__(self, draw):
        self.m = [round(draw.uniform(0.5, 3), 2) for _ in range(2)]
        self.e = [round(draw.uniform(0.1, 0.85), 2) for _ in range(2)]
        self.kick = [draw.choice([0, round(draw.uniform(-4, 2), 2)]) for _ in range(2)]
        self.unit = draw.choice([1, 1e-9, 1e-3, 1e6])
        self.how = draw.choice(["at 6 {{ set {}; }}", "automaton k {{ state a [time >= 6] {{ set {}; }} from init; }}",
                                "z' = 0; z(t0) = 0; automaton k {{ state a [time >= 6] {{ z' = 1; set {}; }} from init; }}"])

    def rates(self, v):
        return [v[0], v[1] - v[0]]

    def apply(self, v, impulse):
        return [v[0] + (impulse[0] - impulse[1])/self.m[0], v[1] + impulse[1]/self.m[1]]

    def together(self, v):
        """Impulses of a declared pair: what is driven inward is thrown back, what touches passes it on or opens."""
        rate = self.rates(v)
        hits = [r < -NEAR for r in rate]
        active = [i for i in range(2) if rate[i] <= NEAR]
        a = [[1/self.m[0], -1/self.m[0]], [-1/self.m[0], 1/self.m[0] + 1/self.m[1]]]
        while True:
            want = [-(1 + self.e[i]*hits[i])*rate[i] for i in range(2)]
            impulse = [0, 0]
            if len(active) == 1:
                impulse[active[0]] = want[active[0]]/a[active[0]][active[0]]
            elif active:
                det = a[0][0]*a[1][1] - a[0][1]*a[1][0]
                impulse = [(want[0]*a[1][1] - a[0][1]*want[1])/det, (a[0][0]*want[1] - a[1][0]*want[0])/det]
            pulled = [i for i in active if impulse[i] < -NEAR]
            if not pulled:
                return impulse
            active = [i for i in active if i not in pulled]

    def one_by_one(self, v):
        """Impulses of resets: of those that interfere the first in the text."""
        rate = self.rates(v)
        if rate[0] < -NEAR:
            return [-(1 + self.e[0])*rate[0]*self.m[0], 0]
        return [0, -(1 + self.e[1])*rate[1]*self.m[0]*self.m[1]/(self.m[0] + self.m[1])]

    def after(self, declared):
        v = list(self.kick)
        while min(self.rates(v)) < -NEAR:
            v = self.apply(v, self.together(v) if declared else self.one_by_one(v))
        return v

    def text(self, declared):
        m, e, unit = self.m, self.e, self.unit
        kick = self.how.format(", ".join(f"v{i + 1} = {k}*U" for i, k in enumerate(self.kick)))
        share = (1 + e[1])/(m[0] + m[1])
        forces = ("", "")
        laws = (f"automaton c1 {{ state h [y1 <= 0] && [v1 < 0] {{ set v1 = -{e[0]}*v1; }} from init, h; }}\n"
                f"automaton c2 {{ state h [y2 - y1 <= U] && [v2 - v1 < 0] {{ set v1 = v1 + {share*m[1]!r}*(v2 - v1),"
                f" v2 = v2 - {share*m[0]!r}*(v2 - v1); }} from init, h; }}\n")
        if declared:
            forces = (f" + (N1 - N2)/{m[0]}", f" + N2/{m[1]}")
            laws = (f"contact c1 {{ gap = y1; force = N1; restitution = {e[0]}; }}\n"
                    f"contact c2 {{ gap = y2 - y1 - U; velocity = v2 - v1; force = N2; restitution = {e[1]}; }}\n")
        return (f"const U = {unit};\ny1' = v1;  y2' = v2;  v1' = -9.81*U{forces[0]};  v2' = -9.81*U{forces[1]};\n"
                f"y1(t0) = 0.02*U;  y2(t0) = 1.05*U;  v1(t0) = 0;  v2(t0) = 0;\n{laws}{kick}\n"
                "experiment { end = 6.5; out = v1, v2; }\n")


def check(folder, seed, declared):
    """What is wrong with one model, or None."""
    stack = Stack(random.Random(seed))
    text = stack.text(declared)
    path = os.path.join(folder, "m.lisma")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    run = saltus_run.run(path, events=False)
    if run.status:
        return run.errors + text
    got = [v/stack.unit for v in [row for row in run.rows if row[0] <= 6 + 1e-9][-1][1:]]
    want = stack.after(declared)
    if max(abs(a - b) for a, b in zip(got, want)) > 1e-5:
        return f"{got} instead of {want}\n{text}"
    return None


def main():
    with tempfile.TemporaryDirectory(prefix="saltus-test-") as folder:
        for seed in range(COUNT):
            problem = check(folder, seed, seed % 2 == 0)
            if problem:
                sys.exit(f"seed {seed}: {problem}")
    print(f"{COUNT} models")


if __name__ == "__main__":
    main()
