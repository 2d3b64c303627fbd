#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Delays: equations with a delay against their exact solutions, jumps that arrive where they must,
guards on delayed values, the order of every method, and rule tables in both executions."""
import math
import os
import sys
import tempfile
from fractions import Fraction

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

TIGHT = ["--rtol", "1e-10", "--atol", "1e-12"]


def integral(p):
    return [Fraction(0)] + [c / (k + 1) for k, c in enumerate(p)]


def value(p, s):
    return sum(c * s ** k for k, c in enumerate(p))


def method_of_steps(rate, start, stretches):
    """Polynomials of x' = rate * x(t - 1), x = start until t = 0, one for each unit of time."""
    before, x, out = [Fraction(start)], Fraction(start), []
    for _ in range(stretches):
        p = integral([rate * c for c in before])
        p[0] = x
        out.append(p)
        x, before = value(p, Fraction(1)), p
    return out


class Checks:
    def __init__(self, folder):
        self.folder, self.failed = folder, 0

    def check(self, good, text):
        if not good:
            self.failed += 1
            print("failed: " + text)

    def run(self, model, *options, name="delay.lisma", **more):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(model)
        run = saltus_run.run(path, *options, **more)
        assert run.status == 0, run.errors
        return run


def exact_solution(c):
    pieces = method_of_steps(Fraction(-1), 1, 8)
    for method in ("dp54", "dop853", "rodas", "merson"):
        run = c.run("x' = -delay(x, 1); x(t0) = 1;", "--until", "8", "--every", "0.125", "--method", method, *TIGHT)
        worst = 0.0
        for t, x in zip(run.column("time"), run.column("x")):
            k = min(int(t), 7)
            worst = max(worst, abs(x - float(value(pieces[k], Fraction(t) - k))))
        c.check(worst < 2e-9, f"x' = -x(t-1) by {method}: error {worst}")


def arrivals(c):
    run = c.run("""
u(t0) = 0;  at 0.3 { set u = 1; }  at 0.7 { set u = -2; }
y = delay(u, 0.5);  z = delay(y, 0.25);  v = delay(2 * u + y, 0.1, 7);
x' = y;  x(t0) = 0;
n(t0) = 0;  state on [z > 0.5] { set n = time; } from init;
""", "--until", "2", "--every", "0.1")
    jumps = {}
    for before, after in zip(run.rows, run.rows[1:]):
        for k, name in enumerate(run.columns):
            if before[0] == after[0] and before[k] != after[k]:
                jumps.setdefault(name, []).append((before[0], before[k], after[k]))
    wanted = {"y": [(0.3 + 0.5, 0, 1), (0.7 + 0.5, 1, -2)],
              "z": [(0.3 + 0.5 + 0.25, 0, 1), (0.7 + 0.5 + 0.25, 1, -2)],
              "v": [(0.1, 7, 0), (0.3 + 0.1, 0, 2), (0.7 + 0.1, 2, -4), (0.3 + 0.5 + 0.1, -4, -3),
                    (0.7 + 0.5 + 0.1, -3, -6)]}
    for name, places in wanted.items():
        c.check(jumps.get(name) == places, f"jumps of {name}: {jumps.get(name)}, not {places}")
    c.check(run.last("n") == 0.3 + 0.5 + 0.25, f"a guard on a chain of delays fires at {run.last('n')}")
    c.check(abs(run.last("x") - (0.4 - 2 * 0.8)) < 1e-12, f"the integral of a delayed step is {run.last('x')}")
    times = [r["t"] for r in run.records if r["kind"] == "time" and r.get("text", "").startswith("delay(")]
    c.check(times == sorted(t for places in wanted.values() for t, _, _ in places), f"records at {times}")


def values_of_any_kind(c):
    """States, computed values, discrete ones; with and without a value before the start."""
    run = c.run("""
const T = 0.75;
x' = v;  v' = -x;  x(t0) = 1;  v(t0) = 0;
product = x * v;
dx = delay(x, T);  dv = delay(v, T, 0.25);  dp = delay(x * v, T);  dq = delay(product, T);
line = delay(x, T, 1, linear);
if (time < 3) { w = 1 + x; } else { w = x - 2; }
dw = delay(w, T);
rate = delay(x', T);
""", "--until", "6", "--every", "0.05", "--rtol", "1e-8", "--atol", "1e-10")
    for row in run.rows:
        r = dict(zip(run.columns, row))
        t, s = r["time"], r["time"] - 0.75
        if abs(s - 3) < 1e-9 or abs(s) < 1e-9:
            continue
        x, v = (math.cos(s), -math.sin(s)) if s > 0 else (1.0, 0.0)
        wanted = {"dx": x, "dv": v if s > 0 else 0.25, "dp": x * v, "dq": x * v, "rate": v,
                  "dw": 1 + x if s < 3 else x - 2}
        for name, exact in wanted.items():
            c.check(abs(r[name] - exact) < 2e-7, f"{name}({t}) = {r[name]}, not {exact}")
        c.check(abs(r["line"] - x) < 0.05, f"line({t}) = {r['line']}, not {x}")
    lines = max(abs(r[run.columns.index("line")] - r[run.columns.index("dx")]) for r in run.rows)
    c.check(lines > 1e-5, "straight lines are straight")


def guards(c):
    """A peak of a delayed value a hair above a level is found however long the steps are, one a hair
    below is not; derivatives of delayed values are right on both sides of a kink."""
    for level, events in ((1 - 1e-7, 1), (1 + 1e-7, 0)):
        run = c.run(f"x' = -2 * (time - 2); x(t0) = -3; p(t0) = 0; "
                    f"state hit bilateral[delay(x, 1.7) > {level!r}] {{ set p = time; }} from init;", "--until", "8")
        hits = [i.t for i in run.instants() if any(r["kind"] == "state" for r in i.records)]
        c.check(len(hits) == events, f"level {level}: events at {hits}")
        if hits:
            c.check(abs(hits[0] - (3.7 - math.sqrt(1e-7))) < 1e-8, f"at {hits[0]}")
            certified = [r["certified"] for r in run.records if r["kind"] == "state"]
            c.check(certified == [True], "proved")
    run = c.run("x(t0) = 0; if (time < 1) { x' = 2; } else { x' = -3; } y = delay(x, 0.5); s = y';",
                "--until", "3", "--every", "0.25")
    for t, s in zip(run.column("time"), run.column("s")):
        wanted = 0 if t < 0.5 else 2 if t < 1.5 else -3
        if abs(t - 0.5) > 1e-9 and abs(t - 1.5) > 1e-9:
            c.check(abs(s - wanted) < 1e-9, f"slope of a delayed ramp at {t} is {s}")


def noise(c):
    """A value that cancels to zero while the motion slides jumps by rounding, which is no event."""
    run = c.run("x' = u; x(t0) = 0.5; u = 0; if (x > 0) { u = -1; } else { u = 1 + 0.3*sin(time); }\n"
                "z' = delay(u, 0.4) + delay(u, 0.31) + delay(u, 0.17); z(t0) = 0;", "--until", "20")
    arrivals = [r["t"] for r in run.records if r["kind"] == "time"]
    wanted = [0.5 + t for t in (0.17, 0.31, 0.4)]
    good = len(arrivals) == 3 and all(abs(a - b) < 1e-9 for a, b in zip(arrivals, wanted))
    c.check(good, f"{len(arrivals)} arrivals, the first at {arrivals[:5]}")
    c.check(abs(run.last("z") + 2.38) < 1e-9, f"z = {run.last('z')}")


def orders(c):
    """x' = -x(t - pi/2) with x = cos t before the start is cos t for ever."""
    model = "const T = 1.5707963267948966; x' = -d; x(t0) = 1; d = if(time < T, cos(time - T), delay(x, T));"
    status, out, errors = saltus_run.command("methods")
    assert status == 0, errors
    for line in out.splitlines()[1:]:
        words = line.split()
        if not words[1].isdigit() or "(SUNDIALS)" in line:
            continue
        name, order, dense, adaptive = words[0], int(words[1]), int(words[3]), words[4] == "adaptive"
        nominal = min(order, dense + 1)
        low, high = (0.02, 0.005) if nominal <= 2 else (0.2, 0.05) if nominal <= 5 else (0.5, 0.2)
        steps = [low * (high / low) ** (k / 4) for k in range(5)]
        sizes = []
        for h in steps:
            held = ["--h0", repr(h), "--hmax", repr(h), "--rtol", "0.9", "--atol", "1e3"] if adaptive else ["--step", repr(h)]
            run = c.run(model, "--until", "9", "--every", "0.25", "--method", name, *held)
            pairs = zip(run.column("time"), run.column("x"))
            sizes.append(math.sqrt(sum((x - math.cos(t)) ** 2 for t, x in pairs) / len(run.rows)))
        logs = [math.log(h) for h in steps], [math.log(max(e, 1e-16)) for e in sizes]
        mean = [sum(v) / len(v) for v in logs]
        slope = sum((a - mean[0]) * (b - mean[1]) for a, b in zip(*logs)) / sum((a - mean[0]) ** 2 for a in logs[0])
        print(f"{name:10} order {order}, dense output {dense}: measured {slope:.2f}")
        c.check(slope > nominal - 0.5, f"order of {name}: {slope:.2f} of {nominal}, errors {sizes}")


RULES = """
## Settings

| name | value |
|---|---|
| end | 6 |

## States

| name | initial |
|---|---|
| s | 0 |
| felt | 0 |
| m | 0.2 |

## Rules

| # | variable | procedure | coefficient | argument 1 | situation | parameter | value | parameter | value |
|---|---|---|---|---|---|---|---|---|---|
| 1 | s | pulse | 1 |  | EverTrue | period | 3 | width | 1 |
| 2 | felt | delay | 0.8 | m | EverTrue | time | 0.5 |  |  |
| 3 | m | integral | -1 | felt | EverTrue |  |  |  |  |
| 4 | m | integral | 1 | s | EverTrue |  |  |  |  |
"""


def executions(c):
    """The scan comes to the located run as its period goes to 0, with order one."""
    every = ["--every", "0.5"]
    exact = c.run(RULES, *every, *TIGHT, name="delay.rules.md").column("m")
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        m = c.run(RULES, *every, "--cyclic", repr(dt), name="delay.rules.md", events=False)
        table = dict(zip(m.column("time"), m.column("m")))
        located = dict(zip(c.run(RULES, *every, *TIGHT, name="delay.rules.md").column("time"), exact))
        errors.append(max(abs(table[t] - located[t]) for t in table if t in located and t > 0))
    ratios = [a / b for a, b in zip(errors, errors[1:])]
    c.check(all(1.6 < r < 2.5 for r in ratios) and errors[-1] < 5e-3, f"scan against located: {errors}")


def varying_lags(c):
    """Lags that vary: a solution in closed form, jumps where they must arrive, a lag that jumps itself."""
    for method in ("dp54", "dop853", "rodas", "merson"):
        run = c.run("w' = w * delay(w, time - ln(w), 10, 1) / time;  w(t0) = 1;\n"
                    "experiment { start = 1; end = 7; }", "--every", "0.25", "--method", method, *TIGHT)
        worst = max(abs(w - (t if t <= math.e else math.exp(t / math.e)))
                    for t, w in zip(run.column("time"), run.column("w")))
        c.check(worst < 1e-7, f"a lag by the state, by {method}: error {worst}")
    same = c.run("x' = -delay(x, 1 + 0 * x, 1);  x(t0) = 1;  z' = -delay(z, 1);  z(t0) = 1;",
                 "--until", "8", "--every", "0.25", *TIGHT)
    worst = max(abs(x - z) for x, z in zip(same.column("x"), same.column("z")))
    c.check(worst < 1e-9, f"a lag that varies by nothing: {worst}")
    run = c.run("""
u(t0) = 0;  at 1 { set u = 1; }  at 2 { set u = 3; }
tau = 0.5 + 0.3 * sin(time);  y = delay(u, tau, 1, 7);  x' = y;  x(t0) = 0;
""", "--until", "4", "--every", "0.5", *TIGHT)
    jumps = [(a[0], a[3], b[3]) for a, b in zip(run.rows, run.rows[1:]) if a[0] == b[0] and a[3] != b[3]]
    c.check([j[1:] for j in jumps] == [(7, 0), (0, 1), (1, 3)], f"jumps of a varying delay: {jumps}")
    for (t, _, _), source in zip(jumps, (0, 1, 2)):
        c.check(abs(t - 0.5 - 0.3 * math.sin(t) - source) < 1e-12, f"the jump at {source} arrives at {t}")
    times = [j[0] for j in jumps]
    area = 7 * times[0] + (times[2] - times[1]) + 3 * (4 - times[2])
    c.check(abs(run.column("x")[-1] - area) < 1e-9, f"its integral: {run.column('x')[-1]}, not {area}")
    run = c.run("""
u(t0) = 0;  at 1 { set u = 1; }  at 2 { set u = 3; }
tau(t0) = 0.5;  at 2.2 { set tau = 0.1; }  at 3 { set tau = 2; }
y = delay(u, tau, 2);  x' = y;  x(t0) = 0;
""", "--until", "6", "--every", "0.5", *TIGHT)
    c.check(abs(run.column("x")[-1] - (0.7 + 3 * 0.8 + 1 + 6)) < 1e-9, f"a lag that jumps: {run.rows[-1]}")


def main():
    with tempfile.TemporaryDirectory(prefix="saltus-test-") as folder:
        c = Checks(folder)
        for part in (exact_solution, arrivals, values_of_any_kind, guards, noise, orders, executions,
                     varying_lags):
            part(c)
    print("ok" if c.failed == 0 else f"{c.failed} failed")
    return 1 if c.failed else 0


sys.exit(main())
