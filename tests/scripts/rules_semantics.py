#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rule tables mean, in both executions: unguarded values, several rules of one variable,
disjunctions, logical states that are set and reset, range predicates, inputs; and the command line
of cyclic execution."""
import csv
import io
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("SALTUS_SOURCE", pathlib.Path(__file__).parents[2]))
SALTUS = os.environ.get("SALTUS", "saltus")
SCRATCH = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(SCRATCH.name)
DT = 1e-3
problems = []


def saltus(*arguments):
    return subprocess.run([SALTUS, *[str(a) for a in arguments]], cwd=FOLDER, capture_output=True,
                          text=True, encoding="utf-8")


def table(header, rows):
    lines = [header] + ["|" + "---|" * (header.count("|") - 1)] + rows
    return "\n".join(lines) + "\n"


def model(rules, states, predicates=(), situations=(), settings=(), constants=()):
    """A document; rules are 'variable; procedure; coefficient; argument 1; argument 2; situation'."""
    parts = ["## Settings\n", table("| name | value |", ["| end | 10 |"] + [f"| {s} |" for s in settings])]
    if constants:
        parts += ["## Constants\n", table("| name | value |", [f"| {c} |" for c in constants])]
    parts += ["## States\n", table("| name | initial | kind |", [f"| {s} |" for s in states])]
    if predicates:
        parts += ["## Predicates\n", table("| name | relation | x1 | a | x2 | x3 | b | x4 | strict |",
                                           [f"| {p} |" for p in predicates])]
    if situations:
        parts += ["## Situations\n", table("| situation | when | then |", [f"| {s} |" for s in situations])]
    rows = [f"| {i + 1} | " + " | ".join(c.strip() for c in r.split(";")) + " |"
            for i, r in enumerate(rules)]
    parts += ["## Rules\n", table("| # | variable | procedure | coefficient | argument 1 | argument 2 "
                                  "| situation | parameter | value | parameter | value | parameter | value |", rows)]
    return "\n".join(parts)


def run(text, *options):
    path = FOLDER / "model.rules.md"
    path.write_text(text, encoding="utf-8")
    done = saltus("run", path, "-q", "-o", "-", "--every", "0.05", *options)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    rows = list(csv.reader(io.StringIO(done.stdout)))
    out = {}
    for row in rows[1:]:
        out[round(float(row[0]), 9)] = dict(zip(rows[0], map(float, row)))
    return out


def expect(name, text, expected, skip=()):
    """Both executions against expected(t) -> {variable: value}, but near the times of `skip`."""
    for kind, options, tolerance in (("located", ["--rtol", "1e-8"], 2e-5),
                                     ("cyclic", ["--cyclic", str(DT)], 1e-2)):
        try:
            rows = run(text, *options)
        except RuntimeError as error:
            problems.append(f"{name}, {kind}: {error}")
            continue
        for t, row in rows.items():
            at = t - DT if kind == "cyclic" else t
            if t == 0 or any(abs(t - s) < 0.02 for s in skip):
                continue
            wrong = [(v, row[v], e) for v, e in expected(at).items() if abs(row[v] - e) > tolerance]
            if wrong:
                problems.append(f"{name}, {kind}: at t = {t} {wrong}")
                break


RAMP = "r; ramp; 1; ; ; ; slope; 1"


def check_unguarded():
    rules = [RAMP, "y; proportional; 2; r; ; early", "i; integral; 1; r; ; early"]
    states = ["r | 0 |", "y | 5 |", "i | 1 |"]
    for policy, y, i in (("auto", 0.0, 5.5), ("hold", 6.0, 5.5), ("zero", 0.0, 0.0)):
        expect(f"unguarded {policy}",
               model(rules, states, ["early | r < 3 | | | | | | |"], settings=[f"unguarded | {policy}"]),
               lambda t, y=y, i=i: {"y": 2 * t if t < 3 else y, "i": 1 + t * t / 2 if t < 3 else i}, [3])
    # nothing was active yet: the initial value counts
    late = [RAMP, "y; proportional; 2; r; ; late"]
    for policy, y in (("auto", 0.0), ("hold", 5.0), ("zero", 0.0)):
        expect(f"unguarded {policy} at the start",
               model(late, states[:2], ["late | r > 3 | | | | | | |"], settings=[f"unguarded | {policy}"]),
               lambda t, y=y: {"y": 2 * t if t > 3 else y}, [3])


    # what acts at instants keeps its value, unless everything unguarded is zero
    for policy, y in (("auto", 7.0), ("hold", 7.0), ("zero", 0.0)):
        expect(f"unguarded {policy}, assignment",
               model([RAMP, "y; assign; 7; ; ; middle"], ["r | 0 |", "y | 5 |"],
                     ["middle | | r | 3 | | r | 4 | |"], settings=[f"unguarded | {policy}"]),
               lambda t, y=y: {"y": 7.0 if 3 < t < 4 else (y and 5.0) if t < 3 else y}, [3, 4])
    # the first cycle changes logical states before it comes to the rules
    expect("unguarded hold, logical states first",
           model([RAMP, "y; proportional; 2; r; ; q"], ["r | 0 |", "y | 5 |", "q | true | logical"],
                 ["early | r < 3 | | | | | | |"], [" | early | not q", " | not early | q"],
                 settings=["unguarded | hold"]),
           lambda t: {"y": 2 * t if t > 3 else 5.0, "q": 1.0 if t > 3 else 0.0}, [3])


    # a quotient keeps its value while its divisor is zero
    for guard, before in (("", 0.0), ("EverTrue", 0.0)):
        expect(f"division by zero {guard}",
               model([RAMP, "b; pulse; 2; ; ; ; period; 4 ; width; 2; start; 1",
                      f"y; division; 3; r; b; {guard}"],
                     ["r | 0 |", "b | 0 |", "y | 0 |"]),
               lambda t, before=before: {"y": before if t < 1 else 1.5 * t if (t - 1) % 4 < 2 else
                                         1.5 * (3 + 4 * ((t - 1) // 4))}, [1, 3, 5, 7, 9])
    expect("division by what goes through zero",
           model([RAMP, "b; adding; 1; r; -5", "y; division; 1; 1; b"], ["r | 0 |", "b | 0 |", "y | 0 |"]),
           lambda t: {"y": 1 / (t - 5)} if abs(t - 5) > 0.5 else {}, [5])


def check_several_rules():
    predicates = ["a | r > 2 | | | | | | |", "b | r > 4 | | | | | | |", "c | r > 6 | | | | | | |"]
    expect("the last active function counts",
           model([RAMP, "y; proportional; 1; r", "y; proportional; 2; r; ; a", "y; proportional; 3; r; ; b"],
                 ["r | 0 |", "y | 0 |"], predicates),
           lambda t: {"y": t * (3 if t > 4 else 2 if t > 2 else 1)}, [2, 4])
    expect("assignments have their place in the list",
           model([RAMP, "y; assign; 7; ; ; a", "y; proportional; 2; r; ; b", "y; assign; -1; ; ; c"],
                 ["r | 0 |", "y | 0 |"], predicates),
           lambda t: {"y": -1.0 if t > 6 else 2 * t if t > 4 else 7.0 if t > 2 else 0.0}, [2, 4, 6])
    expect("integrals add up",
           model([RAMP, "y; integral; 1; 1", "y; integral; 2; 1; ; a", "y; integral; -3; 1; ; b"],
                 ["r | 0 |", "y | 0 |"], predicates),
           lambda t: {"y": t if t < 2 else 2 + 3 * (t - 2) if t < 4 else 8.0})
    expect("a function beats integrals, which go on from its value",
           model([RAMP, "y; integral; 1; 1", "y; proportional; -1; r; ; b, not c"],
                 ["r | 0 |", "y | 0 |"], predicates),
           lambda t: {"y": t if t < 4 else -t if t < 6 else -6 + (t - 6)}, [4, 6])


def check_logic():
    predicates = ["low |  | | | | r | 2 | | yes", "high | | r | 5 | | | | |", "middle | | r | 3 | | r | 4 | |"]
    states = ["r | 0 |", "y | 0 |", "q | false | logical", "p | true | logical"]
    expect("a disjunction of rows",
           model([RAMP, "y; proportional; 1; 1; ; out"], states[:2], predicates,
                 ["out | low |", "out | high |"]),
           lambda t: {"y": 1.0 if t < 2 or t > 5 else 0.0}, [2, 5])
    expect("negation and conjunction in a rule",
           model([RAMP, "y; proportional; 1; 1; ; not low, not high"], states[:2], predicates),
           lambda t: {"y": 1.0 if 2 < t < 5 else 0.0}, [2, 5])
    expect("logical states are set, reset and kept",
           model([RAMP, "y; proportional; 1; 1; ; q, p"], states, predicates,
                 [" | middle | q", " | high | not q, not p"]),
           lambda t: {"q": 1.0 if 3 < t < 5 else 0.0, "p": 1.0 if t < 5 else 0.0,
                      "y": 1.0 if 3 < t < 5 else 0.0}, [3, 5])
    expect("the last row that holds decides",
           model([RAMP, "y; proportional; 1; 1; ; q"], states, predicates,
                 [" | high | q", " | high, middle | q", " | middle | not q", " | low | q"]),
           lambda t: {"q": 1.0 if t < 3 or t > 5 else 0.0}, [3, 5])
    expect("a situation of situations, and one that also assigns",
           model([RAMP, "y; proportional; 1; 1; ; both"], states, predicates,
                 ["in | middle | q", "both | in, p |"]),
           lambda t: {"y": 1.0 if 3 < t < 4 else 0.0, "q": 1.0 if t > 3 else 0.0}, [3, 4])
    expect("an input that nobody sets stays what it is",
           model([RAMP, "y; proportional; 1; r; ; p, not q"], states, predicates), lambda t: {"y": t})
    expect("an absolute value that must not be zero",
           model([RAMP, "y; proportional; 1; 1; ; moving", "d; adding; 1; r; -5", "a; absolute; 1; d"],
                 ["r | 0 |", "y | 0 |", "d | 0 |", "a | 0 |"], ["moving | a > 0 | | | | | | |"]),
           lambda t: {"y": 1.0, "a": abs(t - 5)}, [5])


BOILER = model(["level; integral; 3; 1; ; pump", "level; integral; -1; 1; ; EverTrue",
                "drum; relay with hysteresis; 1; gap; ; EverTrue; zone; 0.5", "gap; adding; -1; level; 5"],
               ["level | 0 |", "drum | 0 |", "gap | 0 |", "alarm on | true | logical", "pump | false | logical"],
               predicates=["high | level > 6 | | | | | | |", "low | level < 4 | | | | | | |"],
               situations=["too high | high | not pump, alarm on", "too low | low, not high | pump, not `alarm on`"])


def check_changes():
    """Predicates, situations and logical states as columns, records, words and a page, in both executions."""
    path = FOLDER / "boiler.rules.md"
    path.write_text(BOILER, encoding="utf-8")
    columns = "level,high,low,too high,too low,alarm on,pump"
    ends = {}
    for options in ((), ("--cyclic", "0.001")):
        done = saltus("run", path, "-q", "-o", "-", "--every", "0.5", "--out", columns, *options)
        rows = list(csv.reader(io.StringIO(done.stdout)))
        ends[options] = rows[-1][2:]
        for t, level, high, low, *_ in rows[1:]:
            sure = min(abs(float(level) - 6), abs(float(level) - 4)) > 0.01
            if sure and float(t) > 0 and (int(high), int(low)) != (float(level) > 6, float(level) < 4):
                problems.append(f"columns of predicates at {t}: {level}, {high}, {low} {options}")
        done = saltus("run", path, "-q", "-o", "rows.csv", "--events", "events.jsonl", "--report", "page.html", *options)
        if done.returncode or "too low" not in (FOLDER / "page.html").read_text("utf-8"):
            problems.append(f"report and events {options}: {done.stderr}")
        records = [json.loads(line) for line in (FOLDER / "events.jsonl").read_text("utf-8").splitlines()]
        pump = [(r["t"], r["from"], r["to"]) for r in records if r["automaton"] == "pump"]
        if [p[1:] for p in pump[:2]] != [("false", "true"), ("true", "false")]:
            problems.append(f"records of a logical state {options}: {pump[:3]}")
        if any(word in json.dumps(records) for word in ("@", "| integral")):
            problems.append(f"records show how tables are run {options}")
        told = saltus("explain", "--run", "--all", path, *options).stdout
        for words in ("pump becomes true", "alarm on becomes false"):
            if words not in told:
                problems.append(f"explain --run {options} does not say '{words}': {told}")
        if not told.count("\nt = ") == len({r["t"] for r in records if options == () or r["kind"] != "initial"}):
            problems.append(f"explain --run {options}: {told.count(chr(10) + 't = ')} instants")
    if ends[()] != ends[("--cyclic", "0.001")]:
        problems.append(f"both executions end with {ends}")
    if "becomes" not in saltus("explain", "--run", "--json", path, "--cyclic", "0.1").stdout:
        lines = saltus("explain", "--run", "--json", path, "--cyclic", "0.1").stdout.splitlines()
        if len(lines) < 10 or not all(json.loads(line) for line in lines):
            problems.append(f"explain --run --json --cyclic: {lines[:2]}")


def check_clock(hoop):
    """Pace, interrupts and folders of tables."""
    for options in (["--cyclic", "0.01"], []):
        begun = time.monotonic()
        done = saltus("run", hoop, "--until", "2", "--realtime=5", "-o", "rows.csv", *options)
        if done.returncode or "overruns" not in done.stderr or time.monotonic() - begun < 0.38:
            problems.append(f"--realtime=5 {options}: {time.monotonic() - begun} s, {done.stderr}")
    for options in (["--cyclic", "0.01"], ["--every", "0.01"]):
        rows = FOLDER / "paced.csv"
        rows.unlink(missing_ok=True)
        run = subprocess.Popen([SALTUS, "run", str(hoop), "--until", "1000", "--all-steps" if "--cyclic" in
                                options else "-q", "--realtime", "-o", str(rows), *options],
                               stderr=subprocess.PIPE, text=True, encoding="utf-8")
        while not rows.exists() or rows.stat().st_size < 500:  # rows come as their time comes
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[1]
        if run.returncode != 130 or "interrupted at t = " not in said:
            problems.append(f"interrupted {options}: exit {run.returncode}, {said}")
        if not rows.read_text(encoding="utf-8").endswith("\n"):
            problems.append(f"interrupted {options}: the last row is not whole")
    saltus("convert", hoop, "tables")
    text = (FOLDER / "tables/settings.csv").read_text(encoding="utf-8")
    (FOLDER / "tables/settings.csv").write_text(text + "execution,cyclic\n", encoding="utf-8")
    done = saltus("run", "tables/", "--until", "0.005")
    if done.returncode or "50 of 8 rules" not in done.stderr or not (FOLDER / "tables.csv").exists():
        problems.append(f"a folder that asks for cyclic execution: {done.stderr}")
    # as a spreadsheet of another country saves it: semicolons, decimal commas, a byte order mark
    rows = (FOLDER / "tables/states.csv").read_text(encoding="utf-8").replace(",", ";").replace("400", "400,5")
    (FOLDER / "tables/states.csv").write_text("\ufeff" + rows, encoding="utf-8")
    done = saltus("run", "tables", "--until", "0", "--out", "h height", "-o", "-", "-q")
    if done.stdout.splitlines()[1:] != ["0,400.5"]:
        problems.append(f"a decimal comma: {done.stdout}{done.stderr}")
    (FOLDER / "tables/settings.csv").write_text("name,value\nfrequency,1\n", encoding="utf-8")
    done = saltus("check", "tables/")
    if "tables/settings.csv:2:1: error[E105" not in done.stderr:
        problems.append(f"a place in a CSV file: {done.stderr}")
    done = saltus("run", hoop, "--cyclic", "0.01", "--rtol", "1e-9")
    if done.returncode != 2 or "--rtol" not in done.stderr:
        problems.append(f"--rtol with --cyclic: {done.stderr}")


def check_command_line():
    hoop = ROOT / "models/rules/hoop.rules.md"
    done = saltus("run", hoop, "--cyclic", "0.001", "--until", "1", "-o", "rows.csv", "--out",
                  "`h height`,braking,`h < R`", "--every", "0.1", "--set", "g gravity=100", "--plot",
                  "rows.svg")
    rows = (FOLDER / "rows.csv").read_text(encoding="utf-8").splitlines()
    if done.returncode or len(rows) != 12 or rows[0] != "time,h height,braking,h < R":
        problems.append(f"cyclic run: {done.stderr} {rows[:2]} {len(rows)}")
    if abs(float(rows[-1].split(",")[1]) - (400 - 100 * 1.001 / 2)) > 1e-6:
        problems.append(f"--set with --cyclic: {rows[-1]}")
    if not (FOLDER / "rows.svg").exists():
        problems.append("--plot with --cyclic writes no picture")
    done = saltus("run", hoop, "--cyclic", "0.01", "--until", "0.2", "--realtime", "-o", "rows.csv")
    if done.returncode or "overruns" not in done.stderr or "20 of 8 rules" not in done.stderr:
        problems.append(f"--realtime: {done.stderr}")
    for arguments, status, words in ((("run", hoop, "--cyclic", "0"), 2, "--cyclic"),
                                     (("run", hoop, "--cyclic", "1", "-o", "x.mat"), 2, "CSV"),
                                     (("explain", "--run", hoop, "--cyclic", "1", "--graph", "x.svg"), 2, "--graph"),
                                     (("run", hoop, "--cyclic", "1", "--out", "nobody"), 1, "nobody"),
                                     (("convert", hoop), 2, "convert"),
                                     (("convert", hoop, "x.txt"), 2, ".rules.md"),
                                     (("convert", hoop, hoop), 2, "same")):
        done = saltus(*arguments)
        if done.returncode != status or words not in done.stderr:
            problems.append(f"{arguments}: exit {done.returncode}, {done.stderr}")
    check_clock(hoop)
    check_changes()
    text = saltus("explain", hoop).stdout
    for words in ("`Fy spring` = 60000*`R - h`    while braking", "`Fy spring` = 0 otherwise",
                  "h height     written by 7; read by 8; predicate `h < R`"):
        if words not in text:
            problems.append(f"explain does not say: {words}")
    (FOLDER / "kettle.rules.md").write_text(
        model(["flow; proportional; 1; 2000; ; on, not `boils, at last`", "T; integral; 1/(c*m); flow"],
              ["T | 20 |", "flow | 0 |", "on | true | logical"], ["boils, at last | T >= 100 | | | | | | |"],
              [" | `boils, at last` | not on"], constants=["c | 4200", "m | 1.5"]), encoding="utf-8")
    text = saltus("explain", "kettle.rules.md").stdout
    for words in ("flow = 2000    while on, not `boils, at last`", "when `boils, at last`: set on = false",
                  "on    set by situation rows 1; read by situation rows -; situation of rules 1",
                  "c     written by -; read by 2", "m     written by -; read by 2"):
        if words not in text:
            problems.append(f"explain does not say: {words}\n{text}")


def check_starter():
    """The heater of `saltus new` has a hysteresis: it switches every 100 ln(16/14), and never slides
    along a boundary that is crossed one way only."""
    done = saltus("new", "room.rules.md")
    run_ = saltus("run", "room.rules.md", "--events", "room.jsonl", "-o", "room.csv", "-q")
    if done.returncode or run_.returncode:
        problems.append(f"the model of `saltus new`: {done.stderr}{run_.stderr}")
        return
    with open(FOLDER / "room.jsonl", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    times = [r["t"] for r in records if r["automaton"] == "heating"]
    if any(r["kind"] != "state" for r in records[1:]) or len(times) != 43:
        problems.append(f"the heater: {len(times)} switches, {sorted(set(r['kind'] for r in records))}")
    for a, b in zip(times, times[1:]):
        if abs(b - a - 100 * math.log(16 / 14)) > 1e-4:
            problems.append(f"the heater switches at {a} and {b}")
            break
    if saltus("new", "room.rules.md").returncode == 0:
        problems.append("`saltus new` overwrites a model")


def check_noise():
    """Both executions give the same numbers; they follow from the seeds of row and run alone."""
    def draws(rules, *options):
        rows = run(model(rules, ["y | 0 |", "z | 0 |"]), "--until", "4", *options)
        return [[rows[t][name] for t in (0.1, 1.1, 2.1, 3.1)] for name in "yz"]

    row = "%s; noise; %s; ; ; %s; period; 1; %s; %s"
    plain = [row % ("y", 1, "EverTrue", "seed", 7), row % ("z", 2, "EverTrue", "seed", 8)]
    y, z = draws(plain)
    same = {"the scan": draws(plain, "--cyclic", str(DT)), "once more": draws(plain),
            "the scan, seeded": None, "seeded": None}
    same["seeded"] = draws(plain, "--seed", "5")
    same["the scan, seeded"] = draws(plain, "--seed", "5", "--cyclic", str(DT))
    if same["the scan"] != [y, z] or same["once more"] != [y, z] or same["seeded"] != same["the scan, seeded"]:
        problems.append(f"noise is not a function of its seeds: {y}, {z}, {same}")
    if len(set(y)) < 4 or y == [v / 2 for v in z] or same["seeded"][0] == y:
        problems.append("noise: other seeds, other numbers")
    other = draws([row % ("y", 1, "EverTrue", "", ""), row % ("z", 1, "EverTrue", "seed", 1)])
    if other[0] != other[1]:
        problems.append("noise: rows with the same seed, and the default of 1")
    alone = draws([row % ("y", 1, "EverTrue", "seed", 7)])
    if alone[0] != y:
        problems.append("noise: another row shifts the numbers")


def check_zero_at_start():
    """`zero` and what guards itself, or is guarded by a logical state that is set at the start: the
    logical states come first, as in a scan."""
    zero = ["unguarded | zero"]
    steps = [float(k) for k in range(11)]
    for start in (0, 2):
        expect(f"integral guarded by itself from {start}",
               model(["x; integral; 1; 1; ; p"], [f"x | {start} |"], ["p | x < 1 | | | | | | |"], settings=zero),
               lambda t: {"x": t % 1.0}, skip=steps)
    expect("timer guarded by itself",
           model(["x; timer; 1; ; ; p"], ["x | 2 |"], ["p | x < 1 | | | | | | |"], settings=zero),
           lambda t: {"x": t % 1.0}, skip=steps)
    now = ["p | time >= 0 | | | | | | |"]
    expect("integral of a situation that begins at the start",
           model(["x; integral; 1; 1; ; q", "y; proportional; 1; 3; ; q"], ["x | 0.5 |", "y | 0.25 |", "q | false | logical"],
                 now, [" | p | q"], settings=zero), lambda t: {"x": 0.5 + t, "y": 3, "q": 1}, skip=[0.0])
    expect("integral of a situation that ends at the start",
           model(["x; integral; 1; 1; ; q"], ["x | 0.5 |", "q | true | logical"], now, [" | p | not q"], settings=zero),
           lambda t: {"x": 0, "q": 0}, skip=[0.0])
    expect("a logical state that its own variable sets",
           model(["x; integral; 1; 1; ; q"], ["x | 2 |", "q | false | logical"], ["p | x > 1 | | | | | | |"], [" | p | q"],
                 settings=zero), lambda t: {"x": 2 + t, "q": 1}, skip=[0.0])
    expect("function and integral side by side",
           model(["x; integral; 1; 1; ; p", "x; proportional; 1; 5; ; q"], ["x | 0 |"],
                 ["p | time < 2 | | | | | | |", "q | time > 4 | | | | | | |"], settings=zero),
           lambda t: {"x": t if t < 2 else 0 if t < 4 else 5}, skip=[0.0, 2.0, 4.0])


def main():
    check_starter()
    check_noise()
    check_zero_at_start()
    check_unguarded()
    check_several_rules()
    check_logic()
    check_command_line()
    print("\n".join(problems) or "rule tables mean what they say: ok")
    return 1 if problems else 0


sys.exit(main())
