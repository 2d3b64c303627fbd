#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Communicating vessels in any number: flows that are roots of differences of levels are not Lipschitz where levels
are equal, and levels become equal in finite time. Random rows, rings and stars of 2 to 8 vessels, alone
and beside equations that are solved, in several spellings, units and methods, against small implicit steps of the same network; two vessels alone also against the
closed form. Seeds as arguments reproduce cases."""
import math
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

CASES = 40
TIMEOUT = "60"  # seconds of a run that creeps
METHODS = ("auto", "auto", "auto", "dp54", "rodas5", "rodas")


class Network:
    """Vessels (area, level) and pipes (from, to, conductance), inflow into the first one for a while, a leak."""

    def __init__(self, rng):
        n = rng.randint(2, 8)
        self.n = n
        self.area = [10.0**rng.uniform(-1, 1) if rng.random() < 0.5 else 1.0 for _ in range(n)]
        start = rng.choice(("random", "one full", "slope", "alternating", "equal"))
        self.level = [{"random": rng.uniform(0, 2), "one full": float(n if i == 0 else 0), "slope": 2*(n - 1 - i)/(n - 1),
                       "alternating": 0.5 + i % 2, "equal": 1.0}[start] for i in range(n)]
        pipes = [(i, i + 1) for i in range(n - 1)]
        shape = rng.choice(("row", "row", "ring", "star", "grid"))
        if shape == "ring" and n > 2:
            pipes.append((n - 1, 0))
        if shape == "star":
            pipes = [(0, i) for i in range(1, n)]
        if shape == "grid" and n % 2 == 0 and n > 2:
            half = n//2
            pipes = [(r*half + c, r*half + c + 1) for r in range(2) for c in range(half - 1)]
            pipes += [(c, half + c) for c in range(half)]
        k = 10.0**rng.uniform(-1, 1)
        self.pipes = [(a, b, k*(rng.uniform(0.5, 2) if rng.random() < 0.5 else 1.0)) for a, b in pipes]
        self.end = rng.uniform(3, 30)*sum(self.area)/k/math.sqrt(n)
        self.inflow = rng.choice((0.0, 0.0, 0.3*k)) if start != "equal" else 0.3*k
        self.begin = rng.uniform(0, 0.3)*self.end
        self.stop = self.begin + rng.uniform(0.05, 0.2)*self.end
        self.leak = rng.choice((0.0, 0.0, 0.0, 0.2*k))

    def flows(self, h, t, eps):
        """Rates of the levels, and their Jacobian, with roots as sqrt of d*d/sqrt(d*d + eps*eps)."""
        n = self.n
        f = [0.0]*n
        jac = [[0.0]*n for _ in range(n)]

        def root(d):
            s = (d*d + eps*eps)**0.25
            return d/s, 1/s - 0.5*d*d/s**5
        for a, b, k in self.pipes:
            q, dq = root(h[a] - h[b])
            for i, sign in ((a, -1.0), (b, 1.0)):
                f[i] += sign*k*q/self.area[i]
                jac[i][a] += sign*k*dq/self.area[i]
                jac[i][b] -= sign*k*dq/self.area[i]
        if self.begin <= t < self.stop:
            f[0] += self.inflow/self.area[0]
        q, dq = root(h[n - 1])
        f[n - 1] -= self.leak*q/self.area[n - 1]
        jac[n - 1][n - 1] -= self.leak*dq/self.area[n - 1]
        return f, jac

    def reference(self, end):
        """Levels by implicit Euler steps, extrapolated from three step sizes."""
        answers = [self.march(end, count) for count in (100, 200, 400)]
        first = [[2*b - a for a, b in zip(answers[i], answers[i + 1])] for i in range(2)]
        return first[1], max(abs(a - b) for a, b in zip(first[0], first[1]))

    def march(self, end, count):
        # steps begin and end where the inflow changes
        marks = sorted({0.0, end, *[t for t in (self.begin, self.stop) if 0 < t < end and self.inflow]})
        h = list(self.level)
        for a, b in zip(marks, marks[1:]):
            steps = max(1, math.ceil(count*(b - a)/end))
            dt = (b - a)/steps
            for i in range(steps):
                h = self.step(h, a + (i + 0.5)*dt, dt)
        return h

    def step(self, h, t, dt):
        y = list(h)
        for eps in (1e-3, 1e-6, 1e-9):  # from a smooth problem to the sharp one
            for _ in range(60):
                f, jac = self.flows(y, t, eps)
                rest = [y[i] - h[i] - dt*f[i] for i in range(self.n)]
                matrix = [[(1.0 if i == j else 0.0) - dt*jac[i][j] for j in range(self.n)] for i in range(self.n)]
                move = solve(matrix, rest)
                y = [a - b for a, b in zip(y, move)]
                if max(map(abs, move)) < 1e-13:
                    break
        return y


def solve(a, b):
    n = len(b)
    rows = [a[i] + [b[i]] for i in range(n)]
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k]/rows[k][k]
            if factor:
                rows[i] = [x - factor*y for x, y in zip(rows[i], rows[k])]
    x = [0.0]*n
    for k in reversed(range(n)):
        x[k] = (rows[k][n] - sum(rows[k][j]*x[j] for j in range(k + 1, n)))/rows[k][k]
    return x


SPELLINGS = {
    "sign": "sign({d})*sqrt(abs({d}))",
    "if": "if({d} > 0, sqrt({d}), -sqrt(-({d})))",
    "function": "flow({d})",
    "power": "abs({d})^0.5*sign({d})",
    "pow": "pow(abs({d}), 0.5)*sign({d})",
    "quotient": "({d})/sqrt(abs({d}))",
    "max": "(sqrt(max({d}, 0)) - sqrt(max(-({d}), 0)))",
}


def text_of(net, spelling, unit, pace):
    """Levels in units of `unit`, times in units of `pace`; pipes carry k*sqrt(unit)/pace."""
    lines = []
    if spelling == "function":
        lines.append("function flow(d) = sign(d)*sqrt(abs(d));")
    inward = [[] for _ in range(net.n)]
    for number, (a, b, k) in enumerate(net.pipes):
        flow = SPELLINGS[spelling].format(d=f"h_{a} - h_{b}")
        lines.append(f"q_{number} = {k*math.sqrt(unit)/pace!r}*{flow};")
        inward[a].append(f"- q_{number}")
        inward[b].append(f"+ q_{number}")
    if net.inflow:
        inward[0].append(f"+ if(time >= {net.begin*pace!r} and time < {net.stop*pace!r}, {net.inflow*unit/pace!r}, 0)")
    if net.leak:
        inward[-1].append(f"- {net.leak*math.sqrt(unit)/pace!r}*sqrt(max(h_{net.n - 1}, 0))")
    for i in range(net.n):
        lines.append(f"h_{i}' = (0 {' '.join(inward[i])})/{net.area[i]!r}; h_{i}(t0) = {net.level[i]*unit!r};")
    return "\n".join(lines) + "\n"


def check(seed):
    rng = random.Random(f"vessels/{seed}")
    net = Network(rng)
    spelling = rng.choice(tuple(SPELLINGS))
    unit = rng.choice((1.0, 1.0, 1e-9, 1e-3, 1e6))
    pace = rng.choice((1.0, 1.0, 1e-6, 1e4))
    method = rng.choice(METHODS)
    text = text_of(net, spelling, unit, pace)
    if rng.random() < 0.3:  # equations that are solved, which have nothing to do with it
        text += f"w + 0.5*w^3 = z; z' = (1 - w)/{net.end*pace!r}; z(t0) = 0;\n"
    with tempfile.TemporaryDirectory(prefix="saltus-vessels-") as folder:
        path = os.path.join(folder, "model.lisma")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        run = saltus_run.run(path, "--method", method, "--until", repr(net.end*pace), "--samples", "8",
                             "--timeout", TIMEOUT)
    told = f"case {seed}, {net.n} vessels, {spelling}, {method}, until {net.end*pace!r}:\n{text}"
    if run.status != 0:
        return f"{told}  {run.errors}"
    return compare(net, run, unit, told)


def compare(net, run, unit, told):
    size = max(max(net.level), 1.0)
    for row in run.rows:
        if any(value is None or not math.isfinite(value) for value in row):
            return f"{told}  a value that is not finite"
        levels = [row[run.columns.index(f"h_{i}")]/unit for i in range(net.n)]
        if min(levels) < -1e-5*size:
            return f"{told}  a level below the ground: {levels}"
        time = row[0]/run.rows[-1][0]*net.end
        poured = net.inflow*max(0.0, min(time, net.stop) - net.begin)
        mass = sum(a*(x - y) for a, x, y in zip(net.area, levels, net.level)) - poured
        if not net.leak and abs(mass) > 1e-5*size*sum(net.area):
            return f"{told}  mass {mass!r} appears at {time!r}"
    wanted, doubt = net.reference(net.end)
    off = max(abs(a - b) for a, b in zip(levels, wanted))
    if off > 3e-4*size + 3*doubt:
        return f"{told}  levels {levels}, wanted {wanted} +- {doubt}"
    if net.n == 2 and not net.leak and not net.inflow:
        (_, _, k), = net.pipes
        fall = k*(1/net.area[0] + 1/net.area[1])
        d = max(0.0, math.sqrt(abs(net.level[0] - net.level[1])) - fall*net.end/2)**2
        if abs(abs(levels[0] - levels[1]) - d) > 2e-5*size:
            return f"{told}  difference {levels[0] - levels[1]!r}, wanted {d!r}"
    return None


def main():
    seeds = sys.argv[1:] or [str(i) for i in range(CASES)]
    failed = 0
    for told in map(check, seeds):
        if told:
            failed += 1
            print(told, flush=True)
    print(f"{len(seeds) - failed} of {len(seeds)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
