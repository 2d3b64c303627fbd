#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FMUs inside of models: `fmu pump = "pump.fmu" (p0 = 1e5);`.

Those of others are made as in fmi_import.py; those of our own come from `saltus export`. Values are compared with closed
forms and with direct runs; what is wrong with an FMU has to be a message and never a crash or a hang of the program.
"""

import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fmi_import import CS, EXACT, ME, MODELS, XML, XML3, check, failures, make, make3, rows_of, saltus  # noqa: E402

EXPORTS = """ball thermostat stick_slip sliding relay bang_bang tank overflow dry_friction table_edge two_relays heated_rooms
    traffic_light contact_ball backspin brake clutch_ideal fragile_pendulum rope servo drive_train boiler vehicle ball_slides
    predator_prey sawtooth simultaneous spring_masses cradle second_order bridge table buck""".split()


def run(folder, text, *words, name="model.lisma", seconds=60):
    Path(folder, name).write_text(text)
    return saltus("run", name, *words, cwd=folder, seconds=seconds)


def jumps(rows, name):
    return [b["time"] for a, b in zip(rows, rows[1:]) if b[name] > a[name]]


def test_events_of_any_scale(folder):
    """Indicators of 1, 1e-10, 1e7 and nothing but a sign are events of the run, recorded as not proved."""
    for fault in ("", "TINY", "HUGE_ONE", "SIGNS", "FLAT", "UPWARD"):
        path = make(folder, *filter(None, [fault]))
        ran = run(folder, f'fmu b = "{path}";', "--until", 1.2, "-o", "-", "--rtol", 1e-9, "--events", "e.jsonl")
        check(ran.returncode == 0, fault, ran.stderr)
        times = jumps(rows_of(ran), "b.n")
        check(len(times) >= 3, fault, times)
        check(all(abs(a - b) < 1e-8 for a, b in zip(times, EXACT)), fault, times[:4], EXACT[:4])
        records = [json.loads(line) for line in Path(folder, "e.jsonl").read_text().splitlines()]
        fired = [r for r in records if r["kind"] == "state"]
        check(fired and not any(r["certified"] for r in fired), fault, "nobody has proved these")
        check(any("event indicator 1" in a for r in fired for a in r["atom"]), fault, fired[0]["atom"])
        check("not certified" in ran.stderr, ran.stderr)


def test_touching_zero(folder):
    """An indicator that touches zero from below, beside one of 1e7, is no event."""
    ran = run(folder, f'fmu b = "{make(folder, indicators=3)}";', "--until", 0.44, "-o", "-")
    check(ran.returncode == 0 and "events       0" in ran.stderr, ran.stderr)


def test_indicators_over_time(folder):
    """Indicators of time alone, with nothing beside them that would keep steps short."""
    Path(folder, "wave.lisma").write_text("y = sin(time); n(t0) = 0; state a [y > 0.5] { set n = n + 1; } from init, b;\n"
                                          "state b [y < 0.5] {} from a; experiment { end = 7; }")
    saltus("export", Path(folder, "wave.lisma"), "--kind", "me", "-o", Path(folder, "wave.fmu"))
    for beside in ("", "z' = 1; z(t0) = 0;"):
        ran = run(folder, f'fmu b = "{Path(folder, "wave.fmu")}"; {beside}', "--until", 7, "-o", "-")
        times = jumps(rows_of(ran), "b.n")
        check(len(times) == 2 and abs(times[0] - math.pi / 6) < 1e-9 and abs(times[1] - 13 * math.pi / 6) < 1e-9, beside, times)


def test_the_end_of_co_simulation(folder):
    """A block that ends the simulation ends the run where it has come to, not a communication point before."""
    Path(folder, "ends.lisma").write_text("x' = 1; x(t0) = 0; state s [x >= 0.7] { stop \"far enough\"; } from init;\n")
    for version in (2, 3):
        saltus("export", Path(folder, "ends.lisma"), "--fmi", version, "-o", Path(folder, "ends.fmu"))
        ran = run(folder, f'fmu b = "{Path(folder, "ends.fmu")}" (step = 0.25);', "--until", 2, "-o", "-")
        last = rows_of(ran)[-1]
        check(ran.returncode == 0 and abs(float(last["time"]) - 0.7) < 1e-9, version, last, ran.stderr)
        check(abs(float(last["b.x"]) - 0.7) < 1e-9, version, last)


def test_time_events_and_wishes(folder):
    ran = run(folder, f'fmu b = "{make(folder, "CLOCK", indicators=0)}";', "--until", 0.35, "-o", "-")
    times = jumps(rows_of(ran), "b.n")
    check(times == [0.1, 0.2, 0.1 * 3], times, ran.stderr)
    ran = run(folder, f'fmu b = "{make(folder, "ALWAYS", indicators=0)}";', "--until", 0.4, "-o", "-")
    check(ran.returncode == 0 and abs(rows_of(ran)[-1]["b.h"] - (1 - 9.81 * 0.08)) < 1e-9, ran.stderr)
    ran = run(folder, f'fmu b = "{make(folder, "ENDS")}";', "--until", 3, "-o", "-")
    check(ran.returncode == 0 and "has ended the simulation" in ran.stderr, ran.stderr)
    check(abs(rows_of(ran)[-1]["time"] - EXACT[1]) < 1e-5, rows_of(ran)[-1])
    ran = run(folder, f'fmu b = "{make(folder, "ENDS_AT_ONCE")}";', "--until", 3, "-o", "-")
    check(ran.returncode == 0 and "has ended the simulation" in ran.stderr and rows_of(ran)[-1]["time"] == 0, ran.stderr)
    ran = run(folder, f'fmu b = "{make(folder, "STEP_TERMINATES")}";', "--until", 3, "-o", "-")
    check(ran.returncode == 0 and "has ended the simulation" in ran.stderr, ran.stderr)
    check(0.2 < rows_of(ran)[-1]["time"] < 1, rows_of(ran)[-1])


def test_stiffness(folder):
    """Derivatives by differences, of the FMU, and wrong ones of the FMU: no more steps than the equations themselves take."""
    slopes = ME.replace("modelIdentifier", 'providesDirectionalDerivative="true" modelIdentifier')
    for faults, interfaces in ((["ROBERTSON"], ME), (["ROBERTSON"], slopes), (["ROBERTSON", "WRONG_SLOPES"], slopes)):
        for indicators in (0, 1):
            path = make(folder, *faults, interfaces=interfaces, indicators=indicators)
            ran = run(folder, f'fmu b = "{path}";', "--until", 1e6, "-o", "-", "--rtol", 1e-8)
            steps = int(ran.stderr.split("steps")[1].split()[0]) if ran.returncode == 0 else -1
            check(0 < steps < 1000, faults, interfaces, steps, ran.stderr)
            check(abs(rows_of(ran)[-1]["b.h"] - 0.00203148392) < 1e-9, faults, rows_of(ran)[-1])


def test_bad_libraries(folder):
    """A crash is a message with the name of the block, and the rows until then are there."""
    def tried(fault):
        return run(folder, f'fmu b = "{make(folder, fault)}";', "--until", 2, "-o", f"{fault}.csv", "--every", 0.01,
                   name=f"{fault}.lisma")
    faults = {"HANG": "did not end within 10 s", "CRASH": "crashed", "CRASH_EARLY": "crashed", "EXIT": "ended its process", "STANDS": "stopped its process",
              "CLOSE": "closed", "FAIL": "returned Error", "MEMORY": "E0813", "NOT_A_NUMBER": "no finite values",
              "STUCK": "does not end", "GARBLES": "has written into", "NAN_INDICATOR": "no finite values",
              "DUE_AGAIN": "without time going on", "NAN_EVENT": "not a number"}
    with ThreadPoolExecutor(3) as pool:  # some of them are waited for
        for (fault, words), ran in zip(faults.items(), pool.map(tried, faults)):
            check(ran.returncode == 3, fault, ran.returncode, ran.stderr)
            check(words in ran.stderr, fault, ran.stderr)
            if fault in ("CRASH", "EXIT", "FAIL", "HANG"):
                check(len(Path(folder, f"{fault}.csv").read_text().splitlines()) > 1, fault, "rows are kept")
                check("E0813" in ran.stderr and "'b'" in ran.stderr, fault, ran.stderr)
                check(f"{fault}.lisma:1:9" in ran.stderr and "fmu b =" in ran.stderr, "where it is asked for", ran.stderr)


def test_crashes_at_any_time(folder):
    """A process that ends between two questions: what it has not looked at is no motion."""
    for _ in range(5):
        ran = run(folder, f'fmu b = "{make(folder, "CRASH_ASIDE")}";', "--until", 30, "--every", 0.01, "-o", "-")
        check(ran.returncode in (0, 3) and ("crashed" in ran.stderr) == (ran.returncode == 3), ran.returncode, ran.stderr)
        check(all(row["b.h"] > -1e-6 for row in rows_of(ran)), "it stays above the floor", rows_of(ran)[-3:])


def test_messages(folder):
    no_states = XML.replace("{derivatives}", '<Unknown index="1"/>')
    for text, words in (('fmu b = "nowhere.fmu";', "there is no such file"), ('fmu b = "model.lisma";', "model.lisma"),
                        (f'fmu b = "{make(folder, interfaces="")}";', "neither"),
                        (f'fmu b = "{make(folder)}" (mass = 1);', "mass"), ("fmu b = 3;", "name of a file"),
                        (f'fmu b = "{make(folder)}"; x = b.q;', "b.q"),
                        (f'fmu b = "{make(folder, xml=no_states)}";', "not among its variables"),
                        (f'fmu b = "{make(folder, library=False)}";', "no library"),
                        (f'fmu b = "{make(folder, token="other")}";', "makes no instance")):
        ran = run(folder, text, "-o", "-", "--until", 1)
        check(ran.returncode in (1, 3) and words in ran.stderr, text, ran.returncode, ran.stderr)
    # names that no model can have, or that are the part's own, are left out; what is out of proportion is refused
    strange = "".join(f'<ScalarVariable name="{n}" valueReference="0" causality="output"><Real/></ScalarVariable>'
                      for n in ("a&#10;b = 1;", "a`; x = 1; `b", "", "n" * 5000, ":n", ":next"))
    ran = run(folder, f'fmu b = "{make(folder, more=strange)}";', "-o", "-", "--until", 0.1)
    check(ran.returncode == 0 and ran.stdout.startswith("time,b.h,b.v,b.n\n"), ran.stdout[:80], ran.stderr)
    crowd = XML.replace("{derivatives}", '<Unknown index="4"/>' * 100000)
    ran = run(folder, f'fmu b = "{make(folder, xml=crowd)}";', "-o", "-", "--until", 0.1)
    check(ran.returncode == 1 and "too many variables" in ran.stderr, ran.stderr)
    # a model that uses the word as a name stays legal
    ran = run(folder, "fmu' = -fmu; fmu(t0) = 1; part fmux { y = 1; } fmux q;", "-o", "-", "--until", 1)
    check(ran.returncode == 0, ran.stderr)


def test_equations_and_inputs(folder):
    """An FMU among equations: a plant of second order in an FMU, its controller in the model."""
    Path(folder, "plant.lisma").write_text("const m = 1; x' = v; v' = (F - x) / m; F(t0) = 0; x(t0) = 0; v(t0) = 0; y = x + 0.5*v;\n")
    direct = """const m = 2; x' = v; v' = (F - x) / m; x(t0) = 0; v(t0) = 0; y = x + 0.5*v;
    F = 3 * (1 - y); n(t0) = 0; state up [x >= 0.5] { set n = n + 1; } from init;"""
    model = """F = 3 * (1 - p.y); p.F = F; n(t0) = 0; state up [p.x >= 0.5] { set n = n + 1; } from init;"""
    want = rows_of(run(folder, direct, "--until", 5, "--every", 0.5, "--rtol", 1e-10, "-o", "-", "--event-rows", "none"))
    for version in (2, 3):
        made = saltus("export", "plant.lisma", "--kind", "me", "--fmi", version, "-o", "plant.fmu", cwd=folder)
        check(made.returncode == 0, made.stderr)
        ran = run(folder, 'fmu p = "plant.fmu" (m = 2);' + model, "--until", 5, "--every", 0.5, "--rtol", 1e-10, "-o", "-",
                  "--event-rows", "none")
        check(ran.returncode == 0, ran.stderr)
        for a, b in zip(want, rows_of(ran)):
            for name in ("x", "v", "y"):
                check(abs(a[name] - b["p." + name]) < 1e-8, version, name, a["time"], a[name], b["p." + name])
            check(a["n"] == b["n"], version, "n", a["time"])
    # a stiff method asks for its derivatives
    ran = run(folder, 'fmu p = "plant.fmu" (m = 2);' + model, "--until", 5, "--every", 0.5, "--rtol", 1e-7, "--method", "rodas",
              "-o", "-", "--event-rows", "none")
    check(ran.returncode == 0 and abs(rows_of(ran)[-1]["p.x"] - want[-1]["x"]) < 1e-5, ran.stderr)
    # twice the same file: two blocks with memories of their own
    ran = run(folder, 'fmu p = "plant.fmu"; fmu q = "plant.fmu" (m = 4); p.F = 1; q.F = 1;', "--until", 2, "-o", "-")
    last = rows_of(ran)[-1]
    check(abs(last["p.x"] - (1 - math.cos(2))) < 1e-5 and abs(last["q.x"] - (1 - math.cos(1))) < 1e-5, last)


def test_arrays_of_parts(folder):
    """A part that holds an FMU, three times: processes and events of their own."""
    Path(folder, "lag.lisma").write_text("x' = u - x; x(t0) = 0; u(t0) = 0; n(t0) = 0; state up [x >= 0.5] { set n = 1; } from init;")
    check(saltus("export", "lag.lisma", "--kind", "me", "-o", "lag.fmu", cwd=folder).returncode == 0, "export")
    ran = run(folder, 'part Cell { fmu p = "lag.fmu"; p.u = u; } Cell c[3]; c[1].u = 1; c[2].u = 2; c[3].u = 4;', "--until", 1,
              "-o", "-", "--rtol", 1e-9)
    check(ran.returncode == 0, ran.stderr)
    for i, u in ((1, 1), (2, 2), (3, 4)):
        rows = [(row["time"], row[f"c[{i}].p.n"]) for row in rows_of(ran)]
        first = next(t for t, n in rows if n == 1)
        check(abs(first + math.log(1 - 0.5 / u)) < 1e-8, i, first)
        check(abs(rows_of(ran)[-1][f"c[{i}].p.x"] - u * (1 - math.exp(-1))) < 1e-7, i)


def test_arrays(folder):
    """Elements are members; values and derivatives by explicit and stiff methods agree with the equations written out."""
    text = f'''fmu s = "{make3(folder)}" (`A[1,2]` = -2, `A[2,2]` = -0.5);
s.`u[1]` = sin(time) - w;  s.`u[2]` = 0.1;  w' = s.`y[1,2]`;  w(t0) = 0;
s.`c[1]`(t0) = 0;
a' = -a - 2*b + sin(time) - v;  a(t0) = 1;
b' = -0.5*b + 0.1;  b(t0) = 2;
v' = a*b;  v(t0) = 0;  n(t0) = 0;
state low [a <= 0] {{ set n = n + 1; }} from init;  state high [a > 0] {{ }} from low;'''
    for method in ("dp54", "rodas5"):
        ran = run(folder, text, "--until", 2, "--rtol", 1e-9, "--method", method, "-o", "-")
        check(ran.returncode == 0 and "warning" not in ran.stderr, method, ran.stderr)
        rows = rows_of(ran)
        for mine, theirs, bound in (("a", "s.x[1]", 1e-7), ("b", "s.x[2]", 1e-7), ("v", "w", 1e-6)):
            check(all(abs(row[mine] - row[theirs]) < bound for row in rows), method, theirs, rows[-1])
        check(rows[-1]["n"] == rows[-1]["s.n"] == 1, method, rows[-1])


def test_loops_through_an_fmu(folder):
    """An algebraic loop through an output that reads an input at once is solved."""
    Path(folder, "gain.lisma").write_text("y = 0.5 * u + x; x' = -x; x(t0) = 1; u(t0) = 0;\n")
    check(saltus("export", "gain.lisma", "--kind", "me", "-o", "gain.fmu", cwd=folder).returncode == 0, "export")
    ran = run(folder, 'fmu p = "gain.fmu"; p.u = 1 - p.y;', "--until", 1, "-o", "-", "--every", 0.5, "--rtol", 1e-10)
    check(ran.returncode == 0, ran.stderr)
    for row in rows_of(ran):
        check(abs(row["p.y"] - (0.5 + math.exp(-row["time"])) / 1.5) < 1e-7, row)


START = """const h = 1, e = 0.8;
y' = v;  y(t0) = 1;
v' = -9.81;  v(t0) = 0;
u(t0) = 0;  hits(t0) = 0;
w' = u - w;  w(t0) = 2 * y(t0) + h;
c' = u;  c(t0) = 3 * u;
q' = -q;  q(t0) = h;
z = 2 * y + u;
state bounce [y <= 0 and v < 0] { set v = -e * v, hits = hits + 1; } from init, bounce;
"""


def test_initial_values(folder):
    """An FMU begins with the start values and inputs that the model gives it."""
    names = ["b.y", "b.v", "b.w", "b.c", "b.q", "b.hits", "b.z"]
    Path(folder, "start.lisma").write_text(START)
    cases = [("h = 7, y(t0) = 3, hits(t0) = 5", "2", [], [3, 0, 13, 6, 7, 5, 8]),
             ("h = 7, y(t0) = 3, `hits`(t0) = 5", "2", ["b.y(t0)=5", "b.hits(t0)=9"], [5, 0, 17, 6, 7, 9, 12]),
             ("h = 7", "-b.q", [], [1, 0, 9, -21, 7, 0, -5])]
    for version in ("2", "3"):
        for kind in ("cs", "me"):
            saltus("export", "start.lisma", "--fmi", version, "--kind", kind, "-o", "start.fmu", cwd=folder)
            for given, u, sets, wanted in cases:
                words = [word for one in sets for word in ("--set", one)]
                text = f'fmu b = "start.fmu" ({given}); b.u = {u};'
                result = run(folder, text, "--until", "1", "--out", ",".join(names), "-o", "-", *words)
                check(result.returncode == 0, f"{version} {kind} {given}: {result.stderr}")
                # co-simulation has the outputs of its inputs after its first event
                first = [row for row in rows_of(result) if row["time"] == 0.0][-1]
                check([first[name] for name in names] == wanted, f"{version} {kind} {given} {u}: {first}")
    result = run(folder, 'fmu b = "start.fmu" (w(t0) = 4);')
    check("'w(t0)' is no parameter" in result.stderr, result.stderr)
    result = run(folder, 'fmu b = "start.fmu"; b.y(t0) = 4;')
    check("initial values of an FMU are arguments" in result.stderr, result.stderr)
    Path(folder, "model.lisma").write_text('fmu b = "start.fmu";')
    result = saltus("sweep", "model.lisma", "--vary", "b.y(t0)=1,4", "-m", "m = max(b.w)", "--until", "1", "-o", "-", cwd=folder)
    check(result.returncode == 0, result.stderr)
    rows = list(csv.DictReader(result.stdout.splitlines()))
    check([float(row["m"]) for row in rows] == [3, 9], f"a sweep over an initial value: {result.stdout}")


def test_inputs_that_belong_to_events(folder):
    """Discrete inputs are set in events alone; the FMU refuses them elsewhere."""
    more = '''<ScalarVariable name="d" valueReference="3" causality="input" variability="discrete"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="u" valueReference="4" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="seen" valueReference="3" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="flow" valueReference="4" causality="output"><Real/></ScalarVariable>'''
    path = make(folder, more=more)
    ran = run(folder, f'fmu b = "{path}"; b.d = s; s(t0) = 1; at 0.2 {{ set s = 5; }} b.u = 10*time;', "--until", 0.4, "--every",
              0.05, "-o", "-")
    check(ran.returncode == 0, ran.stderr)
    for row in rows_of(ran):
        if row["time"] != 0.2:
            check(row["b.seen"] == (1 if row["time"] < 0.2 else 5), row)
        check(abs(row["b.flow"] - 10 * row["time"]) < 1e-12, row)


def test_communication(folder):
    """Co-simulation: exact where inputs stand still, of first order where they move, back where they jump."""
    Path(folder, "lag.lisma").write_text("x' = u - x; x(t0) = 0; u(t0) = 0;\n")
    loop = "p.u = 2*(1 - p.x); y' = 2*(1 - y) - y; y(t0) = 0; err = p.x - y;"
    for version in (2, 3):
        check(saltus("export", "lag.lisma", "--fmi", version, "-o", "lag.fmu", cwd=folder).returncode == 0, "export")
        errors = []
        for k in range(4):
            ran = run(folder, f'fmu p = "lag.fmu" (step = {0.1 / 2 ** k});' + loop, "--until", 2, "-o", "-", "--out", "err")
            check(ran.returncode == 0, ran.stderr)
            errors.append(abs(rows_of(ran)[-1]["err"]))
        ratios = [a / b for a, b in zip(errors, errors[1:])]
        check(all(1.7 < r < 2.2 for r in ratios), version, "first order", errors)
        # an input that jumps inside a communication step: the FMU goes back and meets it
        ran = run(folder, 'fmu p = "lag.fmu" (step = 1); p.u = s; s(t0) = 0; at 0.3 { set s = 1; }', "--until", 3, "-o", "-",
                  "--rtol", 1e-9)
        check(abs(rows_of(ran)[-1]["p.x"] - (1 - math.exp(-2.7))) < 1e-7, version, rows_of(ran)[-1])
    # an FMU that cannot go back is told at its next point
    path = make(folder, interfaces=CS)
    ran = run(folder, f'fmu b = "{path}" (step = 0.1);', "--until", 1, "-o", "-")
    check(ran.returncode == 0, ran.stderr)
    ran = run(folder, f'fmu b = "{make(folder, "STEP_FAILS", interfaces=CS)}" (step = 0.1);', "--until", 1, "-o", "-")
    check(ran.returncode == 3 and "DoStep returned Error" in ran.stderr, ran.stderr)


def test_events_at_communication_points(folder):
    """A step that comes back where it began, for an event there: the event happens, and the step is made."""
    modes = 'canHandleVariableCommunicationStepSize="true" hasEventMode="true" canReturnEarlyAfterIntermediateUpdate="true"'
    xml = re.sub(r"<ModelExchange[^>]*/>", "", XML3).replace('canHandleVariableCommunicationStepSize="true"', modes)
    fmu = make3(folder, xml=xml)
    for way in (5, 6):
        alone = saltus("run", fmu, "--set", f"c[2]={way}", "--every", 0.5, "--until", 1, "-o", "-", "--out", "x")
        block = run(folder, f'fmu b = "{fmu}" (step = 0.5); b.`c[1]` = 0; b.`c[2]` = {way};', "--until", 1, "-o", "-", "--every", 0.5)
        for ran, name in ((alone, "x[2]"), (block, "b.x[2]")):
            check(ran.returncode == (0 if way == 5 else 3), way, name, ran.stderr)
            if way == 6:
                check("without time going on" in ran.stderr, name, ran.stderr)
            else:
                check(rows_of(ran)[-1][name] == 0.5, name, rows_of(ran)[-1])


def same(folder, name, direct, ran, bound, prefix=""):
    """Rows of a run against those of the direct one, at its times."""
    check(ran.returncode == 0, name, prefix, ran.stderr)
    there = {row["time"]: row for row in rows_of(ran)}
    sizes = {k: max((abs(float(r[k])) for r in direct if is_number(r[k])), default=0.0) for k in direct[0]}
    for row in direct[1:]:
        # what lies at an event has two values
        got = there.get(float(row["time"]), {})
        for column, value in row.items():
            if is_number(value) and not math.isnan(got.get(prefix + column, math.nan)):
                wrong = abs(got[prefix + column] - float(value))
                check(wrong <= bound * sizes[column], name, prefix, column, row["time"], got[prefix + column], value)


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False  # nothing, or the state of an automaton


def test_round_trip(folder):
    """Models of the gallery as FMUs, alone and inside of models, give the values of the direct run.

    Co-simulation does so to the last bit, since communication points add nothing.
    """
    for place, name in enumerate(EXPORTS):
        path = next(p for p in (MODELS / f"{name}.lisma", MODELS / "dae" / f"{name}.lisma") if p.exists())
        # multiples of the distance are exact, and none is the time of an event, which rounding moves
        end = {"bridge": 0.046875, "buck": 0.0234375, "cradle": 4.5}.get(name, 3)
        words = ("--until", end, "--every", end / 12, "-o", "-", "--quiet")
        more = ("--rtol", 1e-9, "--event-rows", "none")
        direct = list(csv.DictReader(saltus("run", path, *words, *more).stdout.splitlines()))
        made = saltus("export", path, "--kind", "both", "--fmi", 2 + place % 2, "-o", f"{name}.fmu", cwd=folder)
        check(made.returncode == 0, name, made.stderr)
        same(folder, name, direct, run(folder, f'fmu m = "{name}.fmu";', *words, *more), 2e-5, "m.")
        same(folder, name, direct, saltus("run", f"{name}.fmu", "--rtol", 1e-9, *words, cwd=folder), 2e-5)
        same(folder, name, direct, saltus("run", f"{name}.fmu", "--rtol", 1e-9, "--interface", "cs", *words, cwd=folder), 0.0)
        if place % 4 == 0:
            made = saltus("export", path, "--fmi", 3 - place // 4 % 2, "-o", f"{name}.fmu", cwd=folder)
            check(made.returncode == 0, name, made.stderr)
            same(folder, name, direct, run(folder, f'fmu m = "{name}.fmu" (step = {end / 12!r});', *words, *more), 0.0, "m.")
            checked = saltus("check", f"{name}.fmu", cwd=folder)
            check(checked.returncode == 0, name, checked.stdout, checked.stderr)


def main():
    if "built without" in saltus("run", "x.fmu").stderr:
        print("skipped: the program was built without libzip or expat (Debian: libzip-dev, libexpat1-dev)")
        return 77
    cache = Path(os.environ["SALTUS_BUILD"], "CMakeCache.txt").read_text()
    sanitized = any(line.startswith("SALTUS_SANITIZE:") and "address" in line for line in cache.splitlines())
    ours = ("test_round_trip", "test_arrays_of_parts", "test_equations_and_inputs", "test_loops_through_an_fmu", "test_communication",
            "test_initial_values")
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (sanitized and name in ours):
            continue  # an FMU that is sanitized itself cannot be loaded
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
        print(name, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
