#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the rule tables of the gallery that are compositions of equal parts.

  rules_generate.py plant        models/rules/plant.rules.md: a boiler and 14 tank units, 350 rules
  rules_generate.py oscillators  models/rules/oscillators.rules.md: five coupled oscillators
  rules_generate.py --check      whether the files in the tree are what this script writes

A unit of the plant is a tank with a level loop (PID, valve, interlock), a temperature loop (PID,
steam heater), a measured and a displayed level, a counter of alarms and an hour counter. All units
take steam from one boiler, whose pressure falls with the steam taken; its own loop moves the fuel.
"""
import pathlib
import sys

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models" / "rules"
UNITS = 14
RULE_HEADER = ("| # | variable | procedure | coefficient | argument 1 | argument 2 | situation "
               "| parameter | value | parameter | value | parameter | value | parameter | value |\n"
               + "|" + "---|" * 15 + "\n")


class Tables:
    """Collects rows and writes them as a document."""

    def __init__(self, prose, settings):
        self.prose, self.settings = prose, settings
        self.constants, self.states, self.predicates, self.situations, self.rules = [], [], [], [], []

    def rule(self, variable, procedure, k=1, a="", b="", when="EverTrue", **params):
        cells = [len(self.rules) + 1, variable, procedure, k, a, b, when]
        for name, value in params.items():
            cells += [name.replace("_", " "), value]
        self.rules.append(cells + [""] * (15 - len(cells)))

    def section(self, title, header, rows):
        if not rows:
            return ""
        columns = header.count("|") - 1
        lines = ["| " + " | ".join(str(c) for c in row) + " |\n" for row in rows]
        return f"\n## {title}\n\n{header}\n|{'---|' * columns}\n" + "".join(lines)

    def text(self):
        rules = "".join("| " + " | ".join(str(c) for c in row) + " |\n" for row in self.rules)
        return (self.prose
                + self.section("Settings", "| name | value |", self.settings)
                + self.section("Constants", "| name | value | unit |", self.constants)
                + self.section("States", "| name | initial | unit | kind |", self.states)
                + self.section("Predicates", "| name | relation |", self.predicates)
                + self.section("Situations", "| situation | when | then |", self.situations)
                + "\n## Rules\n\n" + RULE_HEADER + rules)


def unit(t, i):
    n = f"T{i}"

    def s(name):
        return f"{n} {name}"

    for name, initial, dimension in [
            ("setpoint", 1, "m"), ("head", 1, ""), ("command", 0.3, ""), ("valve", 0.3, ""),
            ("supply", 0, "kg/s"), ("feed", 0.3, "kg/s"), ("demand", 0.3, ""), ("outflow", 0.3, "kg/s"),
            ("net", 0, "kg/s"), ("level", 1, "m"), ("steam difference", 60, "deg"), ("heat", 0, "kW"),
            ("heater command", 0.2, ""), ("heater valve", 0.2, ""), ("cold difference", 0, "deg"),
            ("cooling", 0, "deg kg/s"), ("temperature", 60, "deg"), ("measured level", 1, "m"),
            ("displayed level", 1, "m"), ("alarms", 0, ""), ("hours", 0, "s"), ("steam", 0, "kg/s"),
            ("losses", 0, "kW"), ("level error", 0, "m")]:
        t.states.append([s(name), initial, dimension, "real"])
    t.states.append([s("interlock"), "false", "", "logical"])
    t.predicates += [[s("high"), f"`{s('level')}` > 1.6"], [s("low"), f"`{s('level')}` < 1.3"],
                     [s("hot"), f"`{s('temperature')}` > 85"]]
    t.situations += [[s("alarm"), f"`{s('high')}`", f"`{s('interlock')}`"],
                     [s("alarm"), f"`{s('hot')}`", ""],
                     ["", f"`{s('low')}`, not `{s('hot')}`", f"not `{s('interlock')}`"]]
    free = f"not `{s('interlock')}`"
    locked = f"`{s('interlock')}`"
    t.rule(s("setpoint"), "proportional", 0.3, s("demand"), second_coefficient=round(0.9 + 0.01 * i, 2))
    t.rule(s("level error"), "adding", 1, s("setpoint"), s("measured level"), second_coefficient=-1)
    t.rule(s("command"), "pid", 2, s("level error"), "", free, integral_time=30, upper_limit=1,
           lower_limit=0)
    t.rule(s("command"), "assign", 0, "", "", locked)
    t.rule(s("valve"), "smoothing", 1, s("command"), time_constant=2)
    t.rule(s("supply"), "multiplication", 1, s("valve"), "feed pressure")
    t.rule(s("feed"), "smoothing", 1, s("supply"), time_constant=1)
    t.rule(s("head"), "square root", 1, s("level"))
    t.rule(s("demand"), "pulse", 0.4, period=120 + 7 * i, width=50, start=10 + 3 * i)
    t.rule(s("outflow"), "multiplication", 1, s("demand"), s("head"))
    t.rule(s("net"), "adding", 1, s("feed"), s("outflow"), second_coefficient=-1)
    t.rule(s("level"), "integral", 0.05, s("net"), lower_limit=0, upper_limit=2)
    t.rule(s("measured level"), "delay", 1, s("level"), time=0.5)
    t.rule(s("displayed level"), "quantise", 1, s("measured level"), quantum=0.01)
    t.rule(s("steam difference"), "adding", 1, "steam temperature", s("temperature"),
           second_coefficient=-1)
    t.rule(s("heater command"), "pid", 0.05, "temperature setpoint", s("temperature"),
           integral_time=60, upper_limit=1, lower_limit=0)
    t.rule(s("heater valve"), "smoothing", 1, s("heater command"), time_constant=5)
    t.rule(s("heat"), "multiplication", 2, s("heater valve"), s("steam difference"))
    t.rule(s("steam"), "proportional", 0.0005, s("heat"))
    t.rule(s("cold difference"), "adding", 1, "feed temperature", s("temperature"),
           second_coefficient=-1)
    t.rule(s("cooling"), "multiplication", 1, s("cold difference"), s("feed"))
    t.rule(s("losses"), "proportional", 0.02, s("temperature"))
    t.rule(s("temperature"), "integral", 0.01, s("heat"))
    t.rule(s("temperature"), "integral", 0.02, s("cooling"))
    t.rule(s("alarms"), "counter", 1, "", "", s("alarm"))


def boiler(t):
    for name, initial, dimension in [
            ("steam taken", 0, "kg/s"), ("pressure", 8, "bar"), ("fuel command", 0.2, ""),
            ("fuel", 0.2, ""), ("steam made", 0, "kg/s"), ("balance", 0, "kg/s"),
            ("steam temperature", 150, "deg"), ("relief", 0, "kg/s"), ("excess", 0, "bar"),
            ("drum level", 0, "m"), ("feed water", 0.3, "kg/s"), ("drum balance", 0, "kg/s"),
            ("burner hours", 0, "s"), ("trips", 0, "")]:
        t.states.append([name, initial, dimension, "real"])
    t.states.append(["burner on", "true", "", "logical"])
    t.predicates += [["over pressure", "pressure > 11"], ["pressure fallen", "pressure < 9.5"]]
    t.situations += [["trip", "`over pressure`", "not `burner on`"],
                     ["", "`pressure fallen`", "`burner on`"]]
    t.rule("steam taken", "adding", 1, "T1 steam", "T2 steam")
    for i in range(3, UNITS + 1):
        t.states.append([f"steam taken {i}", 0, "kg/s", "real"])
        t.rule(f"steam taken {i}", "adding", 1, "steam taken" if i == 3 else f"steam taken {i - 1}",
               f"T{i} steam")
    taken = f"steam taken {UNITS}"
    t.rule("fuel command", "pid", 0.3, "pressure setpoint", "pressure", "burner on",
           integral_time=20, upper_limit=1, lower_limit=0)
    t.rule("fuel command", "assign", 0, "", "", "not `burner on`")
    t.rule("fuel", "smoothing", 1, "fuel command", time_constant=3)
    t.rule("steam made", "proportional", 2, "fuel")
    t.rule("excess", "dead zone", 1, "pressure", zone=10)
    t.rule("relief", "saturation", 0.5, "excess", upper_limit=2, lower_limit=0)
    t.rule("balance", "adding", 1, "steam made", taken, second_coefficient=-1)
    t.rule("pressure", "integral", 0.2, "balance")
    t.rule("pressure", "integral", -0.2, "relief")
    t.rule("steam temperature", "table", 1, "pressure",
           points="1 100; 4 144; 6 159; 8 170; 10 180; 12 188", outside="clamp")
    t.rule("feed water", "pid", 1, "drum setpoint", "drum level", integral_time=15, upper_limit=3,
           lower_limit=0)
    t.rule("drum balance", "adding", 1, "feed water", "steam made", second_coefficient=-1)
    t.rule("drum level", "integral", 0.1, "drum balance", lower_limit=-1, upper_limit=1)
    t.rule("burner hours", "timer", 1, "", "", "burner on", restart="no")
    t.rule("trips", "counter", 1, "", "", "trip")


def plant():
    prose = ("# A plant: one boiler, 14 tanks with level and temperature loops\n\n"
             "Written by `scripts/rules_generate.py plant`, which documents the composition: change it\n"
             "there. Boiler, tanks, valves, PID loops, interlocks and alarms; a model of the size the\n"
             "papers speak of, for cyclic execution in training equipment.\n\n"
             "Source: after the industrial installations mentioned by V. M. Shpakov; the numbers are\n"
             "chosen here.\n")
    t = Tables(prose, [["execution", "cyclic"], ["cycle", 0.001], ["end", 600], ["every", 1]])
    t.constants = [["feed pressure", 1, "bar"], ["feed temperature", 20, "deg"],
                   ["temperature setpoint", 70, "deg"], ["pressure setpoint", 8, "bar"],
                   ["drum setpoint", 0, "m"]]
    boiler(t)
    for i in range(1, UNITS + 1):
        unit(t, i)
    return t.text()


def oscillators():
    """theta_i' = w_i + (K/N) sum_j sin(theta_j - theta_i), i = 1..5."""
    prose = ("# Five coupled oscillators find a common rhythm\n\n"
             "Written by `scripts/rules_generate.py oscillators`. Each oscillator has a frequency of its\n"
             "own and is drawn towards all others. Above a critical coupling they run in step, at the\n"
             "mean of their frequencies, 1 rad/s, although nobody leads.\n\n"
             "Source: Y. Kuramoto, \"Chemical Oscillations, Waves, and Turbulence\", 1984: theta_i' = w_i +\n"
             "(K/N) sum sin(theta_j - theta_i), here with K = 2 and N = 5.\n")
    t = Tables(prose, [["end", 40], ["cycle", 0.001]])
    n = 5
    frequencies = [0.8, 0.9, 1.0, 1.1, 1.2]
    t.constants = [["K coupling", 2, ""]]
    t.constants += [[f"w{i + 1}", frequencies[i], "rad/s"] for i in range(n)]
    t.states = [[f"phase {i + 1}", round(1.3 * i - 2, 1), "rad", "real"] for i in range(n)]
    for i in range(1, n + 1):
        for j in range(i + 1, n + 1):
            t.states += [[f"from {i} to {j}", 0, "rad", "real"], [f"pull {i} {j}", 0, "", "real"]]
            t.rule(f"from {i} to {j}", "adding", 1, f"phase {j}", f"phase {i}", second_coefficient=-1)
            t.rule(f"pull {i} {j}", "sine", 1, f"from {i} to {j}")
    for i in range(1, n + 1):
        t.rule(f"phase {i}", "integral", 1, f"w{i}")
        for j in range(1, n + 1):
            if i == j:
                continue
            a, b = min(i, j), max(i, j)
            sign = "" if i < j else "-"
            t.rule(f"phase {i}", "integral", f"{sign}`K coupling`/{n}", f"pull {a} {b}")
    return t.text()


def main():
    makers = {"plant": plant, "oscillators": oscillators}
    if sys.argv[1:] == ["--check"]:
        stale = [n for n, make in makers.items()
                 if (MODELS / f"{n}.rules.md").read_text(encoding="utf-8") != make()]
        print("stale: " + ", ".join(stale) if stale else "generated tables: ok")
        sys.exit(1 if stale else 0)
    for name in sys.argv[1:] or makers:
        (MODELS / f"{name}.rules.md").write_text(makers[name](), encoding="utf-8")


main()
