# SPDX-License-Identifier: MIT
"""One small model per procedure of rule tables, with the response it must have.

Each case is (name, rules, shown, expected): the rows of its table of rules, the variables worth a
picture, and expected(t) -> {variable: value} in closed form (two of them where the executions differ
by definition), or None where the two executions are compared with each other only. tests/scripts/rules_procedures.py runs them in both executions,
scripts/rules_pictures.py draws the pictures of docs/rules.md from the same runs.
"""
import math

HEADER = "| # | variable | procedure | coefficient | argument 1 | argument 2 | situation | " \
         "parameter | value | parameter | value | parameter | value | parameter | value |\n" \
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"

# s: a sine of period 5; r: a ramp from -2 to 3; both from t = 0 to 10
SINE = ("s", "sine source", 1, "", "", "EverTrue", {"frequency": 0.2})
RAMP = ("r", "adding", 0.5, "time", "offset of r", "EverTrue", {})
SQUARE = ("q", "pulse", 1, "", "", "EverTrue", {"period": 4, "width": 2, "start": 1})


def s(t):
    return math.sin(2 * math.pi * 0.2 * t)


def r(t):
    return 0.5 * t - 2


def q(t):
    return 1.0 if t >= 1 and (t - 1) % 4 < 2 else 0.0


def lag(t, rise, tau):
    """Response of a lag to a step at t = 1."""
    return 1 - math.exp(-(t - rise) / tau) if t > rise else 0.0


def oscillation(t, period, damping):
    w = 1 / period
    d = w * math.sqrt(1 - damping * damping)
    return 1 - math.exp(-damping * w * t) * (math.cos(d * t) + damping * w / d * math.sin(d * t))


def clip(x, low, high):
    return max(low, min(high, x))


def table(x):
    points = [(-1, 0), (0, 1), (1, 0.5), (2, 2)]
    if x <= -1:
        return 0.0
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x < x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return 2.0


def backlash_of_sine(t):
    """Play of half width 0.3 on the sine: follows upwards, rests, follows downwards."""
    if t <= 0:
        return 0.0
    phase = t % 5
    cycle_one = t < 5
    if phase <= 1.25:
        return max(0.0 if cycle_one else -0.7, s(t) - 0.3)
    if phase <= 3.75:
        return min(0.7, s(t) + 0.3)
    return max(-0.7, s(t) - 0.3)


def hysteresis_of_sine(t):
    """Up from the first crossing of 0.5, down from -0.5."""
    up = 5 / 12
    if t < up:
        return 0.0
    phase = (t - up) % 5
    return 2.0 if phase < 2.5 else -2.0


def assigned(t):
    """Reset to -1 when s > 0 and r > -1 begins: at 2 and at 5; grows with slope 1 otherwise."""
    return t if t < 2 else t - 3 if t < 5 else t - 6


def assigned_cyclic(t):
    """Held at -1 as long as the situation lasts: until 2.5 and until 7.5."""
    return t if t < 2 else -1.0 if t < 2.5 else t - 3.5 if t < 5 else -1.0 if t < 7.5 else t - 8.5


def timer(t):
    """Time since s > 0 began; kept while it does not hold."""
    phase = t % 5
    return phase if phase < 2.5 else 2.5


CASES = [
    ("multiplication", [SINE, RAMP, ("y", "multiplication", 2, "s", "r", "EverTrue", {})], "s r y",
     lambda t: {"y": 2 * s(t) * r(t)}),
    ("proportional", [SINE, ("y", "proportional", 2, "s", "", "EverTrue", {"second coefficient": 1})],
     "s y", lambda t: {"y": 2 * s(t) + 1}),
    ("adding", [SINE, RAMP, ("y", "adding", 1, "s", "r", "EverTrue", {"second coefficient": -1})],
     "s r y", lambda t: {"y": s(t) - r(t)}),
    ("division", [SINE, ("d", "proportional", 1, "s", "", "EverTrue", {"second coefficient": 2}),
                  ("y", "division", 3, "s", "d", "EverTrue", {})], "s y",
     lambda t: {"y": 3 * s(t) / (s(t) + 2)}),
    ("integral", [SINE, ("y", "integral", 2, "s", "", "EverTrue", {})], "s y",
     lambda t: {"y": 2 * (1 - math.cos(2 * math.pi * 0.2 * t)) / (2 * math.pi * 0.2)}),
    ("integral with limits", [RAMP, ("y", "integral", 1, "r", "", "EverTrue",
                                     {"lower limit": -2, "upper limit": 3})], "r y",
     # down along t^2/4 - 2t to -2, waits until r > 0 at t = 4, up to 3 at t = 4 + sqrt(20)
     lambda t: {"y": 0.25 * t * t - 2 * t if t < 4 - math.sqrt(8)
                else -2.0 if t < 4 else min(3.0, -2 + 0.25 * (t - 4) ** 2)}),
    ("differentiation", [("z", "integral", 1, "s", "", "EverTrue", {}), SINE,
                         ("y", "differentiation", 3, "z", "", "EverTrue", {})], "s y",
     lambda t: {"y": 3 * s(t)} if t > 0 else {}),
    ("differentiation, filtered", [RAMP, ("y", "differentiation", 2, "r", "", "EverTrue",
                                          {"filter": 0.5})], "r y",
     lambda t: {"y": 1 - math.exp(-t / 0.5)}),
    ("smoothing", [("u", "step", 1, "", "", "EverTrue", {"start": 1}),
                   ("y", "smoothing", 1, "u", "", "EverTrue", {"time constant": 1.5})], "u y",
     lambda t: {"y": lag(t, 1, 1.5)}),
    ("absolute", [SINE, ("y", "absolute", 2, "s", "", "EverTrue", {})], "s y",
     lambda t: {"y": 2 * abs(s(t))}),
    ("relay", [SINE, ("y", "relay", 2, "s", "", "EverTrue", {"upper limit": 1, "lower limit": -0.5})],
     "s y", lambda t: {"y": 2.0 if s(t) > 0 else -1.0} if t % 2.5 > 1e-9 else {}),
    ("relay with hysteresis", [SINE, ("y", "relay with hysteresis", 2, "s", "", "EverTrue",
                                      {"zone": 0.5})], "s y",
     lambda t: {"y": hysteresis_of_sine(t)}),
    ("dead zone", [SINE, ("y", "dead zone", 2, "s", "", "EverTrue", {"zone": 0.4})], "s y",
     lambda t: {"y": 2 * (s(t) - clip(s(t), -0.4, 0.4))}),
    ("saturation", [SINE, ("y", "saturation", 2, "s", "", "EverTrue",
                           {"upper limit": 1, "lower limit": -1.5})], "s y",
     lambda t: {"y": clip(2 * s(t), -1.5, 1)}),
    ("delay", [SINE, ("y", "delay", 1, "s", "", "EverTrue", {"time": 1})], "s y",
     lambda t: {"y": s(t - 1) if t > 1 else 0.0}),
    ("backlash", [("z", "integral", 1, "c", "", "EverTrue", {}),
                  ("c", "cosine", 1.2566370614359172, "time", "", "EverTrue",
                   {"second coefficient": 1.2566370614359172}),
                  ("y", "backlash", 1, "z", "", "EverTrue", {"zone": 0.3})], "z y",
     lambda t: {"y": backlash_of_sine(t)}),
    ("quantise", [RAMP, ("y", "quantise", 1, "r", "", "EverTrue", {"quantum": 0.5})], "r y",
     lambda t: {"y": 0.5 * math.floor(r(t) / 0.5 + 0.5)} if abs((t + 0.5) % 1) > 0.02 else {}),
    ("quantise, up and down", [SINE, ("y", "quantise", 1, "s", "", "EverTrue", {"quantum": 0.5})], "s y",
     lambda t: {"y": 0.5 * math.floor(s(t) / 0.5 + 0.5)}
     if abs(s(t) / 0.5 + 0.5 - round(s(t) / 0.5 + 0.5)) > 0.05 else {}),
    ("sample-hold", [SINE, ("y", "sample-hold", 1, "s", "", "EverTrue", {"period": 0.7})], "s y",
     lambda t: {"y": s(0.7 * math.floor(t / 0.7 + 1e-9))} if (t + 0.01) % 0.7 > 0.02 else {}),
    ("table", [RAMP, ("y", "table", 1, "r", "", "EverTrue", {"points": "-1 0; 0 1; 1 0.5; 2 2"})],
     "r y", lambda t: {"y": table(r(t))}),
    ("table, cubic", [RAMP, ("y", "table", 1, "r", "", "EverTrue",
                             {"points": "-1 0; 0 1; 1 0.5; 2 2", "interpolation": "cubic"})],
     "r y", None),
    ("sine", [RAMP, ("y", "sine", 2, "r", "", "EverTrue", {"second coefficient": 3, "phase": 0.5})],
     "r y", lambda t: {"y": 2 * math.sin(3 * r(t) + 0.5)}),
    ("cosine", [RAMP, ("y", "cosine", 2, "r", "", "EverTrue", {"second coefficient": 3})], "r y",
     lambda t: {"y": 2 * math.cos(3 * r(t))}),
    ("exponential", [RAMP, ("y", "exponential", 2, "r", "", "EverTrue", {"second coefficient": 0.5})],
     "r y", lambda t: {"y": 2 * math.exp(0.5 * r(t))}),
    ("logarithm", [("d", "adding", 1, "time", "1", "EverTrue", {}),
                   ("y", "logarithm", 2, "d", "", "EverTrue", {})], "d y",
     lambda t: {"y": 2 * math.log(t + 1)}),
    ("square root", [("d", "adding", 1, "time", "1", "EverTrue", {}),
                     ("y", "square root", 2, "d", "", "EverTrue", {})], "d y",
     lambda t: {"y": 2 * math.sqrt(t + 1)}),
    ("power", [RAMP, ("y", "power", 0.5, "r", "", "EverTrue", {"exponent": 3})], "r y",
     lambda t: {"y": 0.5 * r(t) ** 3}),
    ("minimum", [SINE, RAMP, ("y", "minimum", 1, "s", "r", "EverTrue", {})], "s r y",
     lambda t: {"y": min(s(t), r(t))}),
    ("maximum", [SINE, RAMP, ("y", "maximum", 1, "s", "r", "EverTrue", {})], "s r y",
     lambda t: {"y": max(s(t), r(t))}),
    ("select", [SINE, RAMP, ("y", "select", 1, "s", "r", "EverTrue", {"otherwise": "offset of r"})],
     "s r y", lambda t: {"y": s(t) if r(t) > 0 else -2.0} if abs(t - 4) > 0.02 else {}),
    ("sign", [SINE, ("y", "sign", 2, "s", "", "EverTrue", {})], "s y",
     lambda t: {"y": math.copysign(2, s(t))} if t % 2.5 > 0.02 else {}),
    ("step", [("y", "step", 2, "", "", "EverTrue", {"start": 3})], "y",
     lambda t: {"y": 2.0 if t > 3 else 0.0} if abs(t - 3) > 0.02 else {}),
    ("ramp", [("y", "ramp", 2, "", "", "EverTrue", {"start": 3, "slope": 0.5})], "y",
     lambda t: {"y": max(0.0, t - 3)}),
    ("pulse", [("y", "pulse", 2, "", "", "EverTrue", {"period": 3, "width": 1, "start": 0.5})], "y",
     lambda t: {"y": 2.0 if t >= 0.5 and (t - 0.5) % 3 < 1 else 0.0}
     if (t - 0.48) % 3 > 0.04 and (t - 1.48) % 3 > 0.04 else {}),
    ("sine source", [("y", "sine source", 2, "", "", "EverTrue", {"frequency": 0.3, "phase": 0.5})],
     "y", lambda t: {"y": 2 * math.sin(2 * math.pi * 0.3 * t + 0.5)}),
    ("noise", [("y", "noise", 1, "", "", "EverTrue", {"period": 0.05, "seed": 7})], "y", None),
    ("oscillator", [("u", "step", 1, "", "", "EverTrue", {}),
                    ("y", "oscillator", 1, "u", "", "EverTrue",
                     {"time constant": 0.5, "damping": 0.3})], "u y",
     lambda t: {"y": oscillation(t, 0.5, 0.3)}),
    ("PID", [("w", "step", 1, "", "", "EverTrue", {"start": 1}),
             ("x", "smoothing", 2, "y", "", "EverTrue", {"time constant": 1}),
             ("y", "pid", 1.5, "w", "x", "EverTrue",
              {"integral time": 1, "derivative time": 0.2, "upper limit": 1.2, "lower limit": 0})],
     "w x y", None),
    ("counter", [SINE, ("y", "counter", 1, "", "", "s > 0", {})], "s y",
     lambda t: {"y": math.floor(t / 5) + 1.0} if 0.02 < t % 5 < 4.98 else {}),
    ("timer", [SINE, ("y", "timer", 1, "", "", "s > 0", {})], "s y",
     lambda t: {"y": timer(t)} if t % 5 > 0.02 else {}),
    ("latch", [SINE, SQUARE, ("n", "proportional", -1, "s", "", "EverTrue", {}),
               ("y", "latch", 1, "q", "n", "EverTrue", {})], "q n y",
     # set while the pulse is on, cleared while the sine is negative (clearing wins)
     lambda t: {"y": 1.0 if (1.0 < t < 2.5) or (5.0 < t < 7.5) else 0.0}
     if all(abs(t - e) > 0.02 for e in (1, 2.5, 5, 7.5, 10)) else {}),
    ("assign", [("y", "integral", 1, "1", "", "EverTrue", {}), SINE,
                ("y", "assign", -1, "", "", "s > 0, r > -1", {}), RAMP], "s y",
     (lambda t: {"y": assigned(t)} if min(abs(t - 2), abs(t - 5), abs(t - 10)) > 0.02 else {},
      lambda t: {"y": assigned_cyclic(t)} if min(abs(t - 2), abs(t - 5)) > 0.02 else {})),
    ("guarded value", [SINE, ("y", "proportional", 1, "s", "", "s > 0", {})], "s y",
     lambda t: {"y": max(0.0, s(t))}),
    ("guarded integral", [SINE, ("y", "integral", 1, "s", "", "s > 0", {})], "s y",
     lambda t: {"y": 1.5915494309189535 * math.floor(t / 5) + (1 - math.cos(
         2 * math.pi * 0.2 * min(t % 5, 2.5))) / (2 * math.pi * 0.2)}),
]


def text(case, settings=()):
    """The model of a case as a Markdown document."""
    name, rules, _, _ = case
    states = []
    for rule in rules:
        if rule[0] not in states:
            states.append(rule[0])
    out = [f"# {name}\n\n## Settings\n\n| name | value |\n|---|---|\n| end | 10 |\n"]
    out += [f"| {key} | {value} |\n" for key, value in settings]
    out.append("\n## Constants\n\n| name | value |\n|---|---|\n| offset of r | -2 |\n")
    out.append("\n## States\n\n| name | initial |\n|---|---|\n")
    out += [f"| {state} | 0 |\n" for state in states]
    predicates = [p for p in ("s > 0", "r > -1") if p[0] in states]
    if predicates:
        out.append("\n## Predicates\n\n| name | relation |\n|---|---|\n")
        out += [f"| {p} | {p} |\n" for p in predicates]
    out.append("\n## Rules\n\n" + HEADER)
    for number, (variable, procedure, k, a, b, when, params) in enumerate(rules, 1):
        cells = [number, variable, procedure, k, a, b, when]
        for key, value in params.items():
            cells += [key, value]
        cells += [""] * (15 - len(cells))
        out.append("| " + " | ".join(str(c) for c in cells) + " |\n")
    return "".join(out)
