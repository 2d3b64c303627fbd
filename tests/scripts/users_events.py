#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What users of other simulators have reported about events: missed, doubled, misplaced, endless.

Each case is named after the public thread it comes from, with its lesson in one line, a model and
what is expected of it. Arguments, if any, are names of cases.
"""
import concurrent.futures
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

CASES = []


def case(name, lesson, model, *options):
    """Register the decorated check as a case; it gets a function that runs the model."""
    def register(check):
        CASES.append((name, lesson, model, list(options), check))
        return check
    return register


class Runner:
    def __init__(self, model, options):
        self.model = model
        self.options = options

    def __call__(self, *options, model=None):
        with tempfile.TemporaryDirectory(prefix="saltus-users-") as folder:
            path = os.path.join(folder, "model.lisma")
            with open(path, "w", encoding="utf-8") as file:
                file.write(model or self.model)
            return saltus_run.run(path, *self.options, *options)


def times(run):
    assert run.status == 0, run.errors
    return [i.t for i in run.instants()]


def near(got, want, tolerance):
    assert len(got) == len(want), f"{len(got)} events at {got}, not at {want}"
    for a, b in zip(got, want):
        assert abs(a - b) <= tolerance, f"event at {a!r}, not at {b!r}"


COUNTER = "n(t0) = 0;\nstate hit %s { set n = n + 1; } from init, hit;\n"


# ---- A. missed, wrong or doubled events ---------------------------------------------------------

@case("scipy#9228", "roots lie on the interpolant, not at step ends",
      "x' = 1; x(t0) = 0;\n" + COUNTER % "bilateral[sin(10*x) > 0.5]")
def scipy_9228(run):
    want = [(math.pi / 6 + 2 * math.pi * k) / 10 for k in range(16)]
    near(times(run("--until", "10")), [t for t in want if t < 10], 1e-9)


@case("DifferentialEquations.jl#258", "an event exactly on a step boundary is not lost",
      "x' = 1; x(t0) = 0;\n" + COUNTER % "bilateral[x >= 3]")
def differential_equations_258(run):
    for step in ("0.1", "0.3", "0.5", "1", "1.5", "3"):
        near(times(run("--method", "rk4", "--step", step)), [3.0], 1e-12)


@case("DiffEqBase.jl#634", "a valve that goes through five modes takes every one of them",
      "x' = cos(t); t' = 1; t(t0) = 0; x(t0) = 0; modes(t0) = 0;\n"
      "state low [x < -0.5] { set modes = modes + 1; } from init, left;\n"
      "state left [x >= -0.5] && [x < -0.1] { set modes = modes + 1; } from low, middle;\n"
      "state middle [x >= -0.1] && [x < 0.1] { set modes = modes + 1; } from left, right, init;\n"
      "state right [x >= 0.1] && [x < 0.5] { set modes = modes + 1; } from middle, high;\n"
      "state high [x >= 0.5] { set modes = modes + 1; } from right;\n")
def diffeqbase_634(run):
    done = run("--until", repr(4 * math.pi))
    # x = sin t: from the middle up and down, down and up, twice; eight modes a period, and the start
    assert done.status == 0, done.errors
    assert len(done.instants()) == 17, [(i.t, i.records[0]["to"]) for i in done.instants()]


@case("DifferentialEquations.jl#551", "at the event the relation holds: the right end is taken",
      "x' = 1; x(t0) = 0; y = x - 1;\n" + COUNTER % "bilateral[x > 1]")
def differential_equations_551(run):
    done = run("--until", "2")
    at = times(done)[0]
    y = [v for t, v in zip(done.column("time"), done.column("y")) if t == at]
    assert all(v > 0 for v in y), y


@case("DiffEqBase.jl#266", "a guard that is zero at the start: where it goes decides, also at a high order",
      "x' = 1; x(t0) = 0;\n" + COUNTER % "bilateral(eps = 0)[x*x*x > 0]")
def diffeqbase_266(run):
    assert len(times(run("--until", "1"))) <= 1
    down = run("--until", "1", model="x' = -1; x(t0) = 0;\n" + COUNTER % "bilateral[x*x*x > 0]")
    assert times(down) == [], times(down)


@case("DiffEqBase.jl#671", "the time of an event does not depend on how the guard is written",
      "x' = v; v' = -x; x(t0) = 1; v(t0) = 0;\n" + COUNTER % "bilateral(eps = 1e-12)[-x > 0]",
      "--rtol", "1e-10", "--atol", "1e-12")
def diffeqbase_671(run):
    plain = times(run("--until", "6"))
    for text in ("-x*x*x > 0", "-1e6*x > 0", "-1e-6*x > 0", "-x/(1 + v*v) > 0"):
        model = run.model.replace("-x > 0", text)
        near(times(run("--until", "6", model=model)), plain, 1e-7 if "x*x*x" in text else 1e-12)


@case("BioEnergeticFoodWebs.jl#58", "a dip is found however quick it is",
      "const w = 1e-4;\nx' = 1; x(t0) = 0;\n" +
      COUNTER % "shortliving[w*w - (x - 3.3)*(x - 3.3) > 0]", "--event-eps", "1e-12")
def food_webs_58(run):
    for width in ("1e-2", "1e-4", "1e-6"):
        near(times(run("--set", f"w={width}", "--event-eps", "1e-14")),
             [3.3 - float(width)], 1e-7)


@case("roadrunner#1358", "the output grid has no influence on events",
      "x' = 1; x(t0) = 0;\n" + COUNTER % "bilateral[0.0125 - abs(x - 4.05) > 0]")
def roadrunner_1358(run):
    found = [times(run(*grid)) for grid in
             (("--every", "0.1"), ("--every", "1"), ("--samples", "3"), ("--samples", "5000"))]
    assert all(f == found[0] for f in found), found
    hits = [t for t in found[0] if abs(t - 4.0375) < 1e-9]
    assert len(hits) == 1, found[0]


@case("roadrunner#281", "a condition in time alone is a time event",
      "x' = 1; x(t0) = 0;\n" + COUNTER % "[time == 10]")
def roadrunner_281(run):
    for samples in ("1", "7", "10", "100", "1001"):
        assert times(run("--until", "20", "--samples", samples)) == [10.0]


@case("roadrunner#439", "x <= 0 fires although rounding leaves x at 1e-16",
      "x' = -0.1; x(t0) = 1;\n" + COUNTER % "[x <= 0]")
def roadrunner_439(run):
    near(times(run("--until", "20")), [10.0], 1e-12)
    near(times(run("--until", "20", "--method", "rk4", "--step", "0.1")), [10.0], 1e-9)


@case("bdsim#2", "sources publish their own times of discontinuity",
      "x' = if(mod(time, 2) < 0.001, 1000, 0); x(t0) = 0;\n")
def bdsim_2(run):
    # nine whole pulses after the first: 0, 2, 4, ... 18
    assert abs(run("--until", "19").last("x") - 10) < 1e-6


@case("bdsim#31", "a step input is not smeared: two rows at its jump",
      "u = if(time >= 1, 1, 0); x' = u; x(t0) = 0;\n")
def bdsim_31(run):
    done = run("--until", "2", "--every", "0.5")
    u = [v for t, v in zip(done.column("time"), done.column("u")) if t == 1]
    assert u == [0, 1], u
    assert abs(done.last("x") - 1) < 1e-12


@case("scipy#18039", "no pulse of a piecewise source is stepped over",
      "u = if(time >= 1 && time < 1.01, 1, if(time >= 500 && time < 500.01, 1, 0));\n"
      "x' = u; x(t0) = 0;\n")
def scipy_18039(run):
    assert abs(run("--until", "1000").last("x") - 0.02) < 1e-9


@case("sundials#881", "a guard that stays at zero is legal, and cheap",
      "x' = 0; x(t0) = 0; y' = -y; y(t0) = 1; z' = -z*z; z(t0) = 1;\n"
      "n(t0) = 0;\n"
      "state a bilateral[x*y > 0] { set n = n + 1; } from init, a;\n"
      "state b bilateral[x*z - x*x*y > 0] { set n = n + 10; } from a, b;\n")
def sundials_881(run):
    done = run("--until", "100", "--hmax", "0.1")
    assert times(done) == []
    assert done.last("n") == 0


@case("sundials#57", "signs are compared, never multiplied: tiny guards do not underflow",
      "x' = 1; x(t0) = 0;\n" + COUNTER % "bilateral(eps = 0)[1e-200*(x - 2)*(x - 5)*(x - 5) > 0]")
def sundials_57(run):
    found = times(run("--until", "4"))
    near(found, [2.0], 1e-12)


@case("FMPy#730", "an event is the change from not holding to holding",
      "x' = 1; x(t0) = 0;\n"
      "n(t0) = 0; m(t0) = 0;\n"
      "automaton p { state hit bilateral[x > 1] { set n = n + 1; } from init, hit; }\n"
      "automaton q { state hit bilateral[x >= 1] { set m = m + 1; } from init, hit; }\n")
def fmpy_730(run):
    done = run("--until", "2")
    assert (done.last("n"), done.last("m")) == (1, 1)


@case("FMPy#399", "an indicator that hovers at 1e-10 does not fire thousands of times",
      "x' = 1; x(t0) = 0; s = 1e-10*sin(1000*x);\n" + COUNTER % "[s > 0]")
def fmpy_399(run):
    done = run("--until", "10", "--hmax", "0.5")
    assert done.status == 0
    assert done.last("n") < 1700, done.last("n")


@case("FMPy#882", "times that differ by rounding are one time",
      "x' = 1; x(t0) = 0; n(t0) = 0;\n"
      "at 0.1 each 0.1 repeat * { set n = n + 1; }\n"
      "at 0.3 { set n = n + 100; }\n")
def fmpy_882(run):
    done = run("--until", "1", "--every", "0.1")
    assert done.status == 0, done.errors
    assert done.last("n") == 110


@case("DiffEqBase.jl#1245", "an event is not found again where it was",
      "x' = 1; x(t0) = 0;\n" + COUNTER % "bilateral(eps = 0)[x - 0.1 > 0]")
def diffeqbase_1245(run):
    for start in ("0", "0.1", "1e-9"):
        done = run("--until", "3", model=run.model.replace("x(t0) = 0", f"x(t0) = -{start}"))
        assert len(times(done)) == 1, times(done)


@case("OpenModelica#8090", "no row violates the model: a - floor(a) is never negative",
      "a' = 1; a(t0) = -3; r = a - floor(a);\n")
def openmodelica_8090(run):
    done = run("--until", "7", "--samples", "1000")
    assert done.status == 0, done.errors
    assert min(done.column("r")) > -1e-12 and max(done.column("r")) < 1 + 1e-12


@case("drake#6064", "of several crossings in one step the first is taken",
      "x' = 1; x(t0) = 0; first(t0) = 0; n(t0) = 0;\n"
      "automaton a { state hit bilateral[(x - 2)*(x - 3)*(x - 4) > 0]"
      " { set n = n + 1; set first = if(n < 0.5, time, first); } from init, hit; }\n")
def drake_6064(run):
    done = run("--until", "10", "--h0", "10")
    near(times(done), [2.0, 4.0], 1e-9)


@case("diffrax#464", "events happen on accepted steps only",
      "x' = -1000*(x - cos(time)); x(t0) = 1;\n" + COUNTER % "bilateral[x > 1.5]")
def diffrax_464(run):
    # large explicit steps overshoot wildly; they are rejected, and so is what they saw
    assert times(run("--until", "2", "--h0", "1")) == []


@case("pathsim#9", "an event without action changes no bit of the solution",
      "x' = v; v' = -x - 0.1*v*v*v; x(t0) = 1; v(t0) = 0;\n")
def pathsim_9(run):
    alone = run("--until", "20")
    seen = run("--until", "20", model=run.model + "state seen [x > 0.3] {} from init, seen;\n"
               "state other [x*v > 0.1] {} from seen, other;\n")
    rows = {t: (x, v) for t, x, v in zip(*(seen.column(c) for c in ("time", "x", "v")))}
    assert len(seen.instants()) > 3
    for t, x, v in zip(*(alone.column(c) for c in ("time", "x", "v"))):
        assert rows[t] == (x, v), (t, rows[t], (x, v))


# ---- B. simultaneous and cascading events -------------------------------------------------------

def identical(count):
    return "".join(f"n_{i}(t0) = 0; automaton a_{i} {{ state hit bilateral[x > 1]"
                   f" {{ set n_{i} = n_{i} + 1; }} from init, hit; }}\n" for i in range(count))


@case("DifferentialEquations.jl#516", "N identical events are N events of one instant",
      "x' = 1; x(t0) = 0;\n" + identical(12))
def differential_equations_516(run):
    done = run("--until", "3")
    assert len(times(done)) == 1, times(done)
    assert all(done.last(f"n_{i}") == 1 for i in range(12))


@case("DiffEqBase.jl#837", "two simultaneous events do not stop time",
      "x' = 1; y' = 2; x(t0) = 0; y(t0) = 0;\n"
      "automaton a { state a1 [x >= 1] { x(t0) = 0; } from init, a1; }\n"
      "automaton b { state b1 [y >= 2] { y(t0) = 0; } from init, b1; }\n")
def diffeqbase_837(run):
    near(times(run("--until", "5.5")), [1, 2, 3, 4, 5], 1e-9)


@case("DiffEqBase.jl#889", "the same guard written twice is one guard",
      "x' = 1; x(t0) = 0; n(t0) = 0;\n"
      "state hit bilateral[x > 1] && bilateral[x > 1] { set n = n + 1; } from init, hit;\n")
def diffeqbase_889(run):
    done = run("--until", "3")
    assert len(times(done)) == 1 and done.last("n") == 1


@case("DiffEqBase.jl#519", "dependent collisions: each sees what the one before left",
      "x_1' = v_1; x_2' = v_2; x_3' = v_3; v_1' = 0; v_2' = 0; v_3' = 0;\n"
      "x_1(t0) = 0; x_2(t0) = 1; x_3(t0) = 2; v_1(t0) = 1; v_2(t0) = 0; v_3(t0) = 0;\n"
      "automaton left { state hit [x_1 >= x_2] && [v_1 > v_2] { v_1(t0) = v_2; v_2(t0) = v_1; }"
      " from init, hit; }\n"
      "automaton right { state hit [x_2 >= x_3] && [v_2 > v_3] { v_2(t0) = v_3; v_3(t0) = v_2; }"
      " from init, hit; }\n")
def diffeqbase_519(run):
    done = run("--until", "3")
    assert [done.last(v) for v in ("v_1", "v_2", "v_3")] == [0, 0, 1]


@case("OrdinaryDiffEq.jl#3230", "nothing fires twice",
      "x' = v; v' = -9.81; x(t0) = 1; v(t0) = 0;\n"
      "n(t0) = 0; state bounce [x <= 0] && [v < 0] { v(t0) = -v; set n = n + 1; }"
      " from init, bounce;\n")
def ordinary_diffeq_3230(run):
    found = times(run("--until", "20"))
    fall = math.sqrt(2 / 9.81)
    near(found, [fall * (1 + 2 * k) for k in range(len(found))], 1e-5)
    assert len(found) == int((20 / fall + 1) / 2)


@case("AMICI#2804", "a guard that is at zero after a reset does not fire again",
      "x' = 1; x(t0) = 0;\nn(t0) = 0;\n"
      "state reset [x >= 1] { x(t0) = 1; set n = n + 1; } from init, reset;\n")
def amici_2804(run):
    done = run("--until", "5")
    assert done.status == 0, done.errors
    assert done.last("n") == 1, done.last("n")


@case("Reference-FMUs#72", "time event and state event of one instant: the time event first",
      "x' = 1; x(t0) = 0; b(t0) = 0; c(t0) = 0;\n"
      "at 1 { set b = 10; }\n"
      "state hit [x >= 1] { set c = b; } from init;\n")
def reference_fmus_72(run):
    done = run("--until", "2")
    assert len(times(done)) == 1, times(done)
    assert done.last("c") == 10


@case("ModelingToolkit.jl#1394", "two balls land together",
      "".join(f"y_{i}' = v_{i}; v_{i}' = -9.81; y_{i}(t0) = 1; v_{i}(t0) = 0;\n"
              f"automaton ball_{i} {{ state bounce [y_{i} <= 0] && [v_{i} < 0]"
              f" {{ v_{i}(t0) = -0.9*v_{i}; }} from init, bounce; }}\n" for i in (1, 2)))
def modeling_toolkit_1394(run):
    done = run("--until", "3")
    assert done.column("y_1") == done.column("y_2")
    assert len(times(done)) == 4, times(done)


@case("modelica-buildings#947", "a timer costs no search: it is planned",
      "c' = 1; c(t0) = 0; n(t0) = 0;\n"
      "state tick [c >= 0.1] { c(t0) = 0; set n = n + 1; } from init, tick;\n")
def modelica_buildings_947(run):
    done = run("--until", "10.05")
    assert done.last("n") == 100, done.last("n")


# ---- sets, not accidents: order, scale, ends ----------------------------------------------------

@case("declaration order", "the order of declarations has no influence",
      "x' = v; v' = -x; x(t0) = 1; v(t0) = 0; n(t0) = 0;\n"
      "state hit [x < 0.2] { set n = n + 1; } from init, hit;\n")
def declaration_order(run):
    other = ("n(t0) = 0; v(t0) = 0; x(t0) = 1; v' = -x; x' = v;\n"
             "state hit [x < 0.2] { set n = n + 1; } from init, hit;\n")
    assert times(run("--until", "20")) == times(run("--until", "20", model=other))


@case("scale", "a guard scaled together with its eps gives the same events",
      "x' = v; v' = -x; x(t0) = 1; v(t0) = 0; n(t0) = 0;\n"
      "state hit unilateral(eps = 1e-6)[x - 0.2 < 0] { set n = n + 1; } from init, hit;\n")
def scale(run):
    plain = times(run("--until", "20"))
    for power in (-20, -10, 10, 20):
        factor = 2.0 ** power
        model = run.model.replace("1e-6", repr(1e-6 * factor)).replace(
            "x - 0.2 < 0", f"{factor!r}*(x - 0.2) < 0")
        assert times(run("--until", "20", model=model)) == plain


@case("start and end", "an event at the start, and one at the end of the run",
      "x' = 1; x(t0) = 0; n(t0) = 0;\n"
      "state hit [x >= 0] { set n = n + 1; } from init;\n"
      "state more [x >= 2] { set n = n + 10; } from hit;\n")
def start_and_end(run):
    done = run("--until", "2")
    assert times(done) == [0.0, 2.0], times(done)
    assert done.last("n") == 11


@case("unused relation", "a relation that nothing waits for makes no event",
      "x' = v; v' = -x; x(t0) = 1; v(t0) = 0; flag = 0;\n"
      "state never [time > 1000] && [x > 0.5] {} from init;\n")
def unused_relation(run):
    assert times(run("--until", "50")) == []


RELAYS = ("x' = if(%s[x > y], -2, 2); x(t0) = 1.5;\n"
          "y' = if(%s[y > x], -3, 1.5); y(t0) = 1;\n")
RELAYS_MEET = 0.5 / 3.5
RELAYS_END = 1.5 - 2 * RELAYS_MEET + (2 - 4 * 5 / 8.5) * (1 - RELAYS_MEET)  # x - y stays at 0


@case("OpenModelica#12190 Test1", "two relays on one surface slide along it: one event",
      RELAYS % ("", ""))
def two_relays_slide(run):
    done = run("--until", "1")
    near(times(done), [RELAYS_MEET], 1e-9)
    assert abs(done.last("x") - RELAYS_END) < 1e-7, done.last("x")
    assert abs(done.last("y") - RELAYS_END) < 1e-7, done.last("y")
    assert "W0803" not in done.errors, done.errors


@case("OpenModelica#12190 Test2", "a guard against slow runs has nothing to abort",
      RELAYS % ("", ""))
def two_relays_are_not_aborted(run):
    done = run("--until", "1", "--all-steps")
    near(times(done), [RELAYS_MEET], 1e-9)
    assert len(done.rows) < 60, f"{len(done.rows)} steps"


@case("OpenModelica#12190 Test3", "sliding by hand, noEvent and Euler, comes near the same motion",
      RELAYS % ("noEvent", "noEvent"))
def two_relays_by_hand(run):
    done = run("--until", "1", "--method", "euler", "--step", "0.0003")
    assert times(done) == []
    assert abs(done.last("x") - RELAYS_END) < 1e-3, done.last("x")
    assert abs(done.last("y") - RELAYS_END) < 1e-3, done.last("y")


@case("OpenModelica#12190 Test4", "a hundred events in a row that are meant are no chattering",
      "x' = if(on > 0, 10000, -10000); x(t0) = 0; on(t0) = 1; n(t0) = 0;\n"
      "state down [x >= 1] { set on = 0; set n = n + 1; } from init, up;\n"
      "state up [x <= 0] { set on = 1; set n = n + 1; } from down;\n")
def fast_is_not_chattering(run):
    done = run("--until", "0.10005")
    assert done.last("n") == 1000, done.last("n")
    assert abs(times(done)[-1] - 0.1) < 1e-9, times(done)[-1]
    assert not [r for r in done.records if r["kind"] == "chatter"]
    assert "W0803" not in done.errors, done.errors


def check(entry):
    name, lesson, model, options, function = entry
    try:
        function(Runner(model, options))
    except (AssertionError, KeyError, IndexError, TypeError, ValueError) as error:
        return f"{name} ({lesson}): {type(error).__name__}: {error}"
    return None


def main():
    wanted = sys.argv[1:]
    cases = [c for c in CASES if not wanted or c[0] in wanted]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [f for f in pool.map(check, cases) if f]
    for failure in failures:
        print(failure)
    print(f"{len(cases)} threads, {len(failures)} failed")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
