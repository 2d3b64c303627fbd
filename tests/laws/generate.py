# SPDX-License-Identifier: MIT
"""Random hybrid models. `gen:SEED` is always the same text; its kind is the seed modulo the number of kinds.

Every kind is well posed: all runs must end by themselves without an error. Numbers have few digits, so that a failure
can be read, and are drawn such that events are not at special places by construction.
"""
import random


class Draw:
    """Random numbers with few digits."""

    def __init__(self, key):
        self.random = random.Random(key)

    def number(self, low, high, digits=3):
        return float(f"%.{digits}g" % self.random.uniform(low, high))

    def log(self, low, high):
        """Spread over magnitudes."""
        return self.number(low, high) if low <= 0 else float(
            "%.3g" % (low * (high / low) ** self.random.random()))

    def whole(self, low, high):
        return self.random.randint(low, high)

    def pick(self, *items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share


def hysteresis(d):
    """Heaters with hysteresis, each with its own room."""
    lines, n = [], d.whole(1, 3)
    for i in range(1, n + 1):
        low = d.number(15, 20)
        width = d.log(0.1, 4)
        a, power = d.number(0.05, 0.4), d.number(8, 20)
        outside = f"{d.number(0, 8)} + {d.number(0, 3)}*sin({d.number(0.05, 0.9)}*time)" if d.chance(0.5) \
            else f"{d.number(0, 8)}"
        lines += [f"T{i}' = {a}*({outside} - T{i}) + u{i};", f"T{i}(t0) = {d.number(10, 24)};",
                  f"u{i} = 0;", f"n{i}(t0) = 0;",
                  f"automaton room{i} {{",
                  f"  state on [T{i} <= {low}] {{ u{i} = {power}; set n{i} = n{i} + 1; }} from init, off;",
                  f"  state off [T{i} >= {low + width:.6g}] {{}} from init, on;", "}"]
    return lines, d.number(5, 30)


def bounce(d):
    """Masses that jump: floor, ceiling, moving floor, losses, air."""
    e = d.number(0.5, 0.97)
    drag = f" - {d.number(0.01, 0.3)}*v" if d.chance(0.5) else ""
    floor = f"{d.number(0.05, 0.3)}*sin({d.number(0.5, 3)}*time)" if d.chance(0.3) else "0"
    speed = f" && [v < {d.number(0.5, 2)}]" if floor != "0" else " && [v < 0]"
    lines = [f"const k = {e};", f"y' = v; y(t0) = {d.number(0.5, 8)};",
             f"v' = -{d.number(1, 12)}{drag}; v(t0) = {d.number(-3, 3)};", "n(t0) = 0;"]
    if floor == "0":
        lines.append(f"state bounce [y <= 0]{speed} {{ v(t0) = -k*v; set n = n + 1; }} from init, bounce;")
    else:
        lines += ["s = " + floor + ";", "r = v - s';",
                  "state bounce [y <= s] && [r < 0] { v(t0) = v - (1 + k)*r; set n = n + 1; } from init, bounce;"]
    if d.chance(0.4):
        lines += ["automaton box {", f"  state top [y >= {d.number(3, 9)}] && [v > 0]"
                  " { v(t0) = -v; } from init, top;", "}"]
    return lines, d.number(1, 3.5)


def rest(d):
    """Balls that come to rest, one or more, perhaps thrown again."""
    lines, n = [], d.whole(1, 3)
    for i in range(1, n + 1):
        lines += [f"y{i}' = v{i}; y{i}(t0) = {d.number(0.1, 3)};",
                  f"v{i}' = -{d.number(5, 12)}; v{i}(t0) = {d.number(-1, 2)};",
                  f"automaton ball{i} {{",
                  f"  state hit [y{i} <= 0] && [v{i} < 0] {{ v{i}(t0) = -{d.number(0.2, 0.8)}*v{i}; }}"
                  " from init, hit;", "}"]
        if d.chance(0.3):
            lines.append(f"at {d.number(3, 12)} {{ set v{i} = {d.number(0.5, 4)}; }}")
    return lines, d.number(6, 20)


def slide(d):
    """Relays that slide: entered and left inside steps."""
    a = d.number(0.6, 3)
    drive = f"{d.number(0.3, 1.9)}*{a}*sin({d.number(0.3, 3)}*time + {d.number(0, 3)})"
    form = d.whole(0, 3)
    if form == 0:
        lines = [f"x' = -{a}*sign(x) + {drive}; x(t0) = {d.number(-2, 2)};"]
    elif form == 1:
        lines = [f"u = if(x > {d.number(-1, 1)}, -{a}, {a});", f"x' = u + {drive}; x(t0) = {d.number(-2, 2)};",
                 f"z' = u - {d.number(0.2, 1)}*z; z(t0) = 0;"]
    elif form == 2:
        lines = ["p' = v; " f"p(t0) = {d.number(-2, 2)};", f"v(t0) = {d.number(-1, 1)};",
                 f"v' = -{d.number(0.5, 4)}*p - {a}*sign(v - {d.number(-0.5, 0.5)}) + {drive};"]
    else:
        lines = [f"x' = {drive} + s; x(t0) = {d.number(-2, 2)};",
                 f"y' = -y + x; y(t0) = {d.number(-1, 1)};",
                 f"if (x + {d.number(-0.3, 0.3)}*y > 0) {{ s = -{a}; }} else {{ s = {a}; }}"]
    return lines, d.number(4, 15)


def twist(d):
    """Two surfaces: friction between two bodies and the ground."""
    lines = [f"a' = p; a(t0) = {d.number(-1, 1)};", f"b' = q; b(t0) = {d.number(-1, 1)};",
             f"p' = -{d.number(0.5, 3)}*a - {d.number(0.2, 1)}*sign(p - q)"
             f" + {d.number(0.5, 2)}*cos({d.number(0.5, 2)}*time); p(t0) = {d.number(-1, 1)};",
             f"q' = -{d.number(0.5, 3)}*b + {d.number(0.1, 0.5)}*sign(p - q) - {d.number(0.2, 1)}*sign(q);"
             f" q(t0) = {d.number(-1, 1)};"]
    return lines, d.number(4, 12)


def kinks(d):
    """abs, max, min, dead zones: continuous switches."""
    w = d.number(0.5, 3)
    lines = [f"x' = v; x(t0) = {d.number(-2, 2)};",
             f"v' = -{w}*x - {d.number(0.05, 0.4)}*v*abs(v) + f; v(t0) = {d.number(-1, 1)};",
             d.pick(f"f = {d.number(-2, 2)}*max(x - {d.number(0.1, 1)}, 0) + min(x + {d.number(0.1, 1)}, 0);",
                    f"f = abs(x - {d.number(-1, 1)}) - {d.number(0, 2)};",
                    f"f = max({d.number(-1, 0)}, min({d.number(0.1, 1)}, {d.number(0.5, 2)}*x));",
                    f"f = if(x > {d.number(0, 1)}, {d.number(0, 1)}*(x - v), 0);"),
             f"q' = abs({d.log(1e-4, 10)}*sin({d.number(0.5, 4)}*time)) - {d.number(0.1, 1)}*q; q(t0) = 0;"]
    return lines, d.number(5, 20)


def refill(d):
    """Decay and refilling, counted; thresholds in states and in time."""
    c = d.log(1e-3, 1e3)
    level = d.number(0.1, 0.9)
    lines = [f"const c = {c};", f"x' = -{d.number(0.2, 2)}*x; x(t0) = {d.number(0.95, 1.3)}*c;", "n(t0) = 0;",
             f"state refill [x <= c*{level}] {{ set x = {d.number(1, 1.5)}*c, n = n + 1; }} from init, refill;"]
    if d.chance(0.5):
        lines += ["total' = x; total(t0) = 0;", "m(t0) = 0;", "automaton count {",
                  f"  state big [n >= {d.whole(2, 5)}] {{ set m = m + x/c; }} from init;", "}"]
    return lines, d.number(5, 20)


def schedule(d):
    """Times, sampled control, pulse width."""
    period = d.number(0.2, 1.5)
    lines = [f"x' = -{d.number(0.3, 2)}*x + {d.number(0.5, 3)}*u; x(t0) = {d.number(-1, 1)};",
             "u(t0) = 0; k(t0) = 0;",
             f"at {d.number(0, 0.5)} each {period} repeat * "
             f"{{ set u = {d.number(0.5, 2)}*({d.number(-1, 1)} - x), k = k + 1; }}"]
    if d.chance(0.6):
        lines += [f"w' = s - w; w(t0) = 0; s = 0;",
                  f"state closed {{ s = {d.number(1, 3)}; }}", "state open {}",
                  f"at 0 each {period} repeat * {{ goto closed; }}",
                  f"at {d.number(0.1, 0.9)*period:.4g} each {period} repeat * {{ goto open; }}"]
    if d.chance(0.4):
        lines.append(f"at {d.number(1, 4)} each {d.number(0.4, 2)} repeat {d.whole(2, 6)} "
                     f"{{ set x = x + {d.number(-1, 1)}; }}")
    return lines, d.number(3, 12)


def clocked(d):
    """Relations that mix time and states."""
    lines = [f"x' = if(sin({d.number(0.5, 4)}*time + {d.number(0, 3)}) > {d.number(-0.8, 0.8)}, "
             f"{d.number(0.5, 2)}, -{d.number(0.5, 2)}) - {d.number(0, 0.5)}*x; x(t0) = {d.number(-1, 1)};",
             "n(t0) = 0;",
             f"state up [x >= {d.number(0.1, 0.6)} + {d.number(0, 0.05)}*time] {{ set n = n + 1; }} from init, down;",
             f"state down [x <= -{d.number(0.1, 0.6)}] || [time >= t0 + {d.number(0.7, 3)}] "
             "{ set n = n + 10; } from up;"]
    return lines, d.number(5, 20)


def chain(d):
    """Automata that wait for each other within one instant."""
    n = d.whole(2, 5)
    lines = [f"x' = {d.number(0.3, 2)} - {d.number(0, 0.4)}*x; x(t0) = 0; q(t0) = 0;",
             "automaton a1 {", f"  state s [x >= {d.number(0.1, 0.7)}] "
             f"{{ set x = {d.number(-0.5, 0.05)}; set q = q + 1; }} from init, r;",
             f"  state r [x >= {d.number(0.1, 0.6)}] {{ set q = q*2; }} from s;", "}"]
    for i in range(2, n + 1):
        lines += [f"automaton a{i} {{",
                  f"  state s a{i - 1}.s {{ set q = q + {d.whole(1, 9)}; }} from init, r;",
                  f"  state r a{i - 1}.r {{}} from s;", "}"]
    return lines, d.number(4, 15)


def walls(d):
    """Oscillators with elastic walls and with a gap, as `if` blocks."""
    gap = d.number(0.1, 0.8)
    lines = [f"x' = v; x(t0) = {d.number(-1.5, 1.5)}; v(t0) = {d.number(-1, 1)};",
             f"v' = -{d.number(0.01, 0.3)}*v - f + {d.number(0, 1)}*cos({d.number(0.4, 3)}*time);",
             f"if (x > {gap}) {{ f = {d.log(1, 200)}*(x - {gap}); }}",
             f"else if (x < -{gap}) {{ f = {d.log(1, 200)}*(x + {gap}); }}", "else { f = 0; }"]
    return lines, d.number(4, 15)


def contact(d):
    """Declared contacts: a row of bodies between walls, on springs."""
    n = d.whole(1, 3)
    lines = []
    for i in range(1, n + 1):
        forces = [f"-{d.number(0.5, 6)}*(x{i} - {i + d.number(-0.4, 0.4):.3g})"]
        forces += [f"N{i}"] + ([f"-N{i + 1}"] if i < n else [])
        forces += [f"{d.number(0.2, 3)}*cos({d.number(0.5, 3)}*time + {d.number(0, 6)})"]
        lines += [f"x{i}' = v{i}; x{i}(t0) = {i + d.number(-0.2, 0.2):.3g};",
                  f"{d.number(0.5, 3)}*v{i}' = {' + '.join(forces)}; v{i}(t0) = {d.number(-1, 1)};"]
        left = "x1 - 0.5" if i == 1 else f"x{i} - x{i - 1} - 0.5"
        speed = "v1" if i == 1 else f"v{i} - v{i - 1}"
        lines.append(f"contact c{i} {{ gap = {left}; velocity = {speed}; force = N{i};"
                     f" restitution = {d.number(0.2, 0.8)}; }}")
    return lines, d.number(2, 6)


def friction(d):
    """Declared friction on a driven mass."""
    level = d.number(0.2, 1)
    lines = [f"x' = v; x(t0) = {d.number(-1, 1)};", f"v(t0) = {d.number(-1, 1)};",
             f"v' = F - {d.number(0.3, 3)}*x + {d.number(0.2, 2)}*cos({d.number(0.3, 2)}*time);",
             f"friction pad {{ velocity = v - {d.number(-0.3, 0.3)}; force = F; kinetic = {level};"
             f" static = {level + d.number(0, 0.6):.3g}; }}"]
    return lines, d.number(5, 20)


def constrained(d):
    """Constraints: pendulum, charge sharing, algebraic loops, a rope."""
    form = d.whole(0, 3)
    if form == 0:
        length = d.number(0.5, 5)
        angle = d.number(0.2, 1.2)
        import math
        x, y = length * math.sin(angle), -length * math.cos(angle)
        lines = [f"x' = vx; vx' = -T*x; x(t0) = {x!r}; vx(t0) = {d.number(-1, 1)};",
                 f"y' = vy; vy' = -T*y - 9.81; y(t0) ~ {y!r}; vy(t0) ~ 0;", f"x*x + y*y = {length * length!r};",
                 "n(t0) = 0;", "state through [x >= 0] { set n = n + 1; } from init, back;",
                 f"state back [x <= -{0.3 * length:.3g}] {{}} from through;"]
        return lines, d.number(2, 5)
    if form == 1:
        lines = [f"{d.number(0.5, 3)}*v1' = -i - {d.number(0, 0.3)}*v1; v1(t0) = {d.number(1, 5)};",
                 f"{d.number(0.5, 3)}*v2' = i - {d.number(0, 0.3)}*v2; v2(t0) = {d.number(0, 1)};", "sw: i = 0;",
                 f"state closed [time >= {d.number(0.5, 2)}] {{ sw: v1 = v2; }} from init;",
                 f"state open [v1 <= {d.number(0.2, 1)}] {{}} from closed;"]
        return lines, d.number(3, 6)
    if form == 2:
        lines = [f"x' = -y; x(t0) = {d.number(0.5, 2)};", f"y + {d.number(0.1, 1)}*y^3 = x + {d.number(0, 1)}*z;",
                 f"z = {d.number(0.2, 0.8)}*y - {d.number(0.1, 0.5)}*if(x > {d.number(0.1, 0.5)}, x, 0);",
                 "y(t0) ~ 0.5;"]
        return lines, d.number(2, 6)
    lines = [f"x' = vx; vx' = -T*x; x(t0) = {d.number(1, 3)};", "y' = vy; vy' = -T*y - 9.81; y(t0) = 0;",
             "rope: T = 0;", f"state taut [x*x + y*y >= {d.number(12, 25)}] "
             "{ rope: x*vx + y*vy = 0; } from init;"]
    return lines, d.number(1, 3)


def family(d):
    """Loops with automata and with switches in time."""
    n = d.whole(2, 6)
    lines = [f"for i = 1:{n} {{",
             f"  const s_[i] = {d.number(0.3, 0.8)} + {d.number(0.01, 0.2)}*i;",
             f"  V_[i]' = {d.number(0.6, 2)} - {d.number(0.1, 0.5)}*V_[i] + {d.number(0, 0.3)}*if(sin(time + 0.1*i) > 0.5, 1, 0);",
             f"  V_[i](t0) = {d.number(0, 0.2)}*i; n_[i](t0) = 0;",
             "  automaton cell_[i] { state fired [V_[i] >= s_[i]] { V_[i](t0) = "
             f"{d.number(-0.3, 0.1)}; n_[i](t0) = n_[i] + 1; }} from init, fired; }}", "}",
             f"mean = sum(i = 1:{n}, V_[i])/{n};"]
    return lines, d.number(3, 12)


def stiff(d):
    """A fast part beside a slow one, switched."""
    fast = d.log(100, 1e5)
    lines = [f"x' = -{fast}*(x - cos({d.number(0.3, 2)}*time)*s); x(t0) = {d.number(-1, 1)};",
             f"y' = x - {d.number(0.1, 1)}*y; y(t0) = 0;", "s(t0) = 1;",
             f"state down [y >= {d.number(0.1, 0.5)}] {{ set s = -1; }} from init, up;",
             f"state up [y <= -{d.number(0.1, 0.5)}] {{ set s = 1; }} from down;"]
    return lines, d.number(3, 10)


def delayed(d):
    """Delays."""
    lag = d.number(0.3, 1.5)
    lines = [f"x' = -{d.number(0.3, 1.2)}*delay(x, {lag}) + {d.number(0, 0.5)}*u; x(t0) = {d.number(0.5, 1.5)};",
             "u(t0) = 0;", f"state a [delay(x, {d.number(0.2, 0.9)}) <= 0] && [x <= 0] {{ set u = {d.number(0.2, 1)}; }} from init, b;",
             f"state b [x >= {d.number(0.2, 0.6)}] {{ set u = 0; }} from a;"]
    return lines, d.number(4, 12)


def stops(d):
    """Motions that an event stops on its surface, beside relations that share it."""
    c = d.log(1e-6, 1e6)
    low, high = d.pick(("x <= {0}", "x > {0}"), ("x < {0}", "x >= {0}"))
    level = f"{d.number(-0.5, 0.5)}*c"
    lines = [f"const c = {c};", f"x' = -{d.number(0.5, 2)}*x - {d.number(0.6, 2)}*c; x(t0) = c;", "n(t0) = 0;",
             f"state held [{low.format(level)}] {{ x' = 0; set n = n + 1; }} from init;",
             f"state free [time >= t0 + {d.number(0.3, 1.5)}] {{ set x = c; }} from held;",
             f"state held [{low.format(level)}] {{}} from free;", "k(t0) = 0; w' = if(x > 0, 1, -1)*c; w(t0) = 0;",
             "automaton side {", f"  state above [{high.format(level)}] {{ set k = k + 1; }} from init, below;",
             f"  state below [{low.format(level)}] {{}} from above;", "}"]
    return lines, d.number(2, 6)


def cells(d):
    """Heat or charge that spreads along a row of cells whose ends have equations of their own."""
    n, k = d.whole(20, 60), d.log(1, 1e4)
    lines = [f"T[0] = {d.number(0.5, 2)};", f"for i = 1:{n - 1} {{ T[i]' = {k}*(T[i-1] - 2*T[i] + T[i+1]);"
             " T[i](t0) = 0; }", f"T[{n}]' = {k}*(T[{n - 1}] - T[{n}]); T[{n}](t0) = 0;", "n(t0) = 0;",
             f"state warm [T[{d.whole(2, n // 2)}] >= {d.number(0.05, 0.3)}] {{ set n = n + 1; }} from init;"]
    return lines, d.number(0.5, 3) * n * n / k


def balances(d):
    """Equations of different sizes that are solved together: water and acid, a divider, a cubic."""
    acid, speed = d.log(1e-9, 1e-3), d.number(0.1, 1)
    lines = [f"H*OH = {d.log(1e-16, 1e-12)};", "H - OH = c; H(t0) ~ 1e-7;",
             f"c' = -{speed}*c; c(t0) = {acid};", f"z + {d.number(0.1, 2)}*z^3 = {d.log(1e-3, 1e3)}*c;",
             "n(t0) = 0;", f"state half [c <= {0.5 * acid:.4g}] {{ set n = n + 1; }} from init;"]
    return lines, d.number(2, 10)


KINDS = [hysteresis, bounce, rest, slide, twist, kinks, refill, schedule, clocked, chain, walls, contact,
         friction, constrained, family, stiff, delayed]
NAMED = [stops, cells, balances]  # gen:KIND:SEED alone, so that gen:SEED stays what it was


def kind(seed):
    return KINDS[seed % len(KINDS)]


def model(ident):
    """Text of gen:SEED or gen:KIND:SEED."""
    parts = ident.split(":")
    seed = int(parts[-1])
    make = next(k for k in KINDS + NAMED if k.__name__ == parts[1]) if len(parts) == 3 else kind(seed)
    lines, end = make(Draw(f"{make.__name__} {seed}"))
    return "\n".join(lines) + f"\nexperiment {{ end = {end}; }}\n"
