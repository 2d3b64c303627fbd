#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FMUs for model exchange that `saltus export` writes, integrated by somebody else.

The integrator below is a classical Runge-Kutta method with bisection, written from the standard's text. It shares nothing
with the program: event times and values must be those of closed forms.
"""

import ctypes as c
import math
import sys
from pathlib import Path

from fmi_export import Callbacks2, Instance, LOG2, LOG3, SOURCE, check, export, main, saltus


class EventInfo2(c.Structure):
    _fields_ = [("again", c.c_int), ("terminate", c.c_int), ("nominals", c.c_int), ("values", c.c_int), ("has_next", c.c_int),
                ("next", c.c_double)]


class Exchange(Instance):
    """An instance for model exchange of either version."""

    def __init__(self, fmu):  # pylint: disable=super-init-not-called
        self.fmu, self.lib, self.messages, self.v2 = fmu, fmu.library, [], fmu.version == 2
        where = fmu.folder / "resources"
        if self.v2:
            self.log = LOG2(lambda env, name, status, category, text, *rest: self.messages.append(text))
            self.callbacks = Callbacks2(self.log, None, None, None, None)
            make = self.lib.fmi2Instantiate
            make.restype = c.c_void_p
            self.handle = make(b"one", 0, fmu.token.encode(), where.as_uri().encode(), c.byref(self.callbacks), 0, 1)
            self.n = len(fmu.root.findall("ModelStructure/Derivatives/Unknown"))
            self.m = int(fmu.root.get("numberOfEventIndicators"))
        else:
            self.log = LOG3(lambda env, status, category, text: self.messages.append(text))
            make = self.lib.fmi3InstantiateModelExchange
            make.restype = c.c_void_p
            self.handle = make(b"one", fmu.token.encode(), str(where).encode(), c.c_bool(False), c.c_bool(True), None, self.log)
            self.n = len(fmu.root.findall("ModelStructure/ContinuousStateDerivative"))
            self.m = len(fmu.root.findall("ModelStructure/EventIndicator"))
        self.handle = c.c_void_p(self.handle)
        self.next = math.inf
        self.ended = False
        self.events = []
        self.error = 0.0  # of the integrator, in the first state

    def vector(self, name, n):
        values = (c.c_double * max(n, 1))()
        status = self.call(name, values, c.c_size_t(n))
        assert status == 0, (name, status, self.messages)
        return list(values)[:n]

    def rates(self):
        return self.vector("GetDerivatives" if self.v2 else "GetContinuousStateDerivatives", self.n)

    def indicators(self):
        return self.vector("GetEventIndicators", self.m)

    def states(self):
        return self.vector("GetContinuousStates", self.n)

    def go(self, t, x):
        assert self.call("SetTime", c.c_double(t)) == 0
        if self.n:
            assert self.call("SetContinuousStates", (c.c_double * self.n)(*x), c.c_size_t(self.n)) == 0, self.messages

    def event(self):
        """The event iteration, and back to continuous time."""
        again, self.changed = True, False
        while again and not self.ended:
            if self.v2:
                info = EventInfo2()
                status = self.call("NewDiscreteStates", c.byref(info))
                again, self.ended, has_next, self.next = info.again, bool(info.terminate), info.has_next, info.next
                self.changed |= bool(info.values)
            else:
                flags, following = [c.c_bool() for _ in range(5)], c.c_double()
                status = self.call("UpdateDiscreteStates", *map(c.byref, flags), c.byref(following))
                again, self.ended, has_next, self.next = flags[0].value, flags[1].value, flags[4].value, following.value
                self.changed |= flags[3].value
            assert status == 0, self.messages
            self.next = self.next if has_next else math.inf
        self.call("EnterContinuousTimeMode")

    def done(self):
        """After a step: whether an event is wanted."""
        wanted, end = (c.c_int(), c.c_int()) if self.v2 else (c.c_bool(), c.c_bool())
        first = 1 if self.v2 else c.c_bool(True)
        assert self.call("CompletedIntegratorStep", first, c.byref(wanted), c.byref(end)) == 0, self.messages
        self.ended = self.ended or bool(end.value)
        return bool(wanted.value)

    def begin(self, start=0.0, **values):
        assert self.initialize(start, **values) == 0, self.messages
        self.event()


def step(one, t, x, h):
    """Classical Runge-Kutta."""
    def f(s, y):
        one.go(s, y)
        return one.rates()
    k1 = f(t, x)
    k2 = f(t + h / 2, [a + h / 2 * b for a, b in zip(x, k1)])
    k3 = f(t + h / 2, [a + h / 2 * b for a, b in zip(x, k2)])
    k4 = f(t + h, [a + h * b for a, b in zip(x, k3)])
    return [a + h / 6 * (p + 2 * q + 2 * r + s) - one.error * (i == 0) for i, (a, p, q, r, s) in enumerate(zip(x, k1, k2, k3, k4))]


def domains(one):
    return [z > 0 for z in one.indicators()]


def run(one, t, end, h):
    """Integrate to `end`; event times are noted in one.events."""
    x = one.states()
    while t < end and not one.ended:
        size = min(h, end - t, one.next - t)
        one.go(t, x)
        before = domains(one)
        target = min(end, one.next) if size < h else t + size
        after = step(one, t, x, target - t)
        one.go(target, after)
        crossed = domains(one) != before
        if crossed:
            low, high = 0.0, target - t
            while True:
                middle = low + (high - low) / 2
                if not low < middle < high or t + middle in (t + low, t + high):
                    break
                there = step(one, t, x, middle)
                one.go(t + middle, there)
                low, high = (low, middle) if domains(one) != before else (middle, high)
            target, after = t + high, step(one, t, x, high)
            one.go(target, after)
        wanted = one.done()
        t, x = target, after
        if crossed or wanted or t >= one.next:
            one.events.append(t)
            assert one.call("EnterEventMode") == 0
            one.event()
            x = one.states()
            check(all(z != 0.0 for z in one.indicators()), "an event leaves an indicator at zero", t, one.indicators())
    return t


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-300)


BALL = """const T = {T}, L = {L};
y' = v; v' = -8 * L / T ^ 2; y(t0) = 0; v(t0) = 4 * L / T; n(t0) = 0;
state up [{k} * y <= 0 and v < 0] {{ set v = 4 * L / T, n = n + 1; }} from init, up;
"""


def test_units(folder):
    """A ball that comes down at 1, 2, 3, ... in units of time, length and relation from 1e-9 to 1e9: the same events."""
    for place, (T, L, k) in enumerate(((1, 1, 1), (1e-9, 1, 1e7), (1e6, 1e9, 1e-10), (1, 1e-9, 1e-10), (3, 0.7, 1e9))):
        one = Exchange(export(folder, BALL.format(T=repr(T), L=repr(L), k=repr(k)), 2 + place % 2, "--kind", "me"))
        one.begin()
        run(one, 0.0, 5.5 * T, 0.37 * T)
        # the speed changes its sign half way, and y leaves its boundary at the start: events that change nothing
        found = [e / T for e in one.events if e > 1e-250]
        wanted = [i / 2 for i in range(1, 12)][:len(found)]
        check(len(found) >= 10 and all(near(a, b, 1e-13) for a, b in zip(found, wanted)), T, L, k, found)
        check(one.get("n") == 5.0, "bounces", T, one.get("n"))
        one.free()


def test_points_are_points(folder):
    """Rates and indicators depend on the point alone, whatever was looked at in between."""
    for version in (2, 3):
        one = Exchange(export(folder, BALL.format(T=1, L=1, k=1), version, "--kind", "both"))
        one.begin()
        run(one, 0.0, 2.25, 0.1)
        points = [(2.25 + 0.01 * k, [0.3 - 0.1 * k, 1.0 - k]) for k in range(8)]

        def values(point):
            one.go(*point)
            return one.rates() + one.indicators()
        first = [values(p) for p in points]
        check([values(p) for p in reversed(points)] == first[::-1], version, "in another order")
        one.free()


LIMIT = """x' = if(n > 0, -1, 1); x(t0) = 0; n(t0) = 0; state over [x >= 1] { set n = n + 1; } from init;"""


def test_small_unknowns(folder):
    """What is solved for may be as small as the rounding of its equation: there are values all the same."""
    one = Exchange(export(folder, (SOURCE / "models" / "lunar_lander.lisma").read_text(), 3, "--kind", "me"))
    one.begin()
    for t in (0.0, 1e-9, 3e-5, 1e-3, 0.1, 300.0, 0.0, 1e-3):
        one.go(t, [15000 - 0.81 * t * t, 2500.0, -1.62 * t])
        check(all(map(math.isfinite, one.indicators())), "indicators at", t, one.indicators())
        burn = one.get("T")
        left = -1.62 * t - 3000 * math.log1p(-8 * burn / 2500) - 1.62 * burn
        check(abs(left) < 1e-11 * max(1.0, t), "T at", t, burn, left)
    one.free()


def test_located_by_others(folder):
    """Importers stop at zero itself, or a few roundings before it, and are not told of anything but changed states.

    The event happens where they say that there is one, and they are made to begin anew though no state has changed.
    """
    for version in (2, 3):
        fmu = export(folder, LIMIT, version, "--kind", "me")
        for x, fires in ((1.0, 1), (1.0 - 3e-16, 1), (1.0 + 1e-12, 1), (1.0 - 1e-9, 0)):
            one = Exchange(fmu)
            one.begin()
            one.go(x, [x])
            one.call("EnterEventMode")
            one.event()
            check(one.get("n") == fires and one.changed == bool(fires), version, x, one.get("n"), one.changed)
            check(one.states() == [x], "the state is what it was", one.states())
            one.free()


def test_events_that_are_no_chattering(folder):
    """A switch in the rhythm of a clock is followed however long the run is: its steps are those of the importer."""
    text = "n(t0) = 0; x' = -x; x(t0) = 1; at 0 each 1e-4 repeat * { set n = n + 1; goto a; } at 5e-5 each 1e-4 repeat * { goto b; } " \
           "state a {} state b {}"
    one = Exchange(export(folder, text, 3, "--kind", "me"))
    one.begin()
    t, times = 0.0, []
    while t < 0.1:
        t = one.next
        one.go(t, [1.0])
        one.done()
        one.call("EnterEventMode")
        one.event()
        times.append(t)
    check(all(near(a, 5e-5 * (k + 1), 1e-12) for k, a in enumerate(times)), "times", len(times), times[-1])
    one.free()


FLOOR = """y' = v; v' = -9.81; y(t0) = 0.2; v(t0) = 0;
state hit [y <= 0 and v < 0] { set v = -0.5 * v; } from init, hit;
"""


def test_integrators_with_errors(folder):
    """A ball that comes to rest stays on the floor also where its flights are known to 1e-5 of the first one alone."""
    one = Exchange(export(folder, FLOOR, 2, "--kind", "me"))
    one.begin()
    one.error = 1e-6  # of the height, in every step
    run(one, 0.0, 2.0, 0.05)
    check(abs(one.get("y")) < 1e-3 and abs(one.get("v")) < 1e-3, "it lies", one.get("y"), one.get("v"))
    one.free()


SWING = """x' = vx; vx' = -T*x - 0.1*vx; x(t0) = 0.6; vx(t0) ~ 0;
y' = vy; vy' = -T*y - g - 0.1*vy; y(t0) = -0.8; vy(t0) ~ 0;
rod: x*x + y*y = 1; n(t0) = 0;
state below [{q} {below} 0] {{ set n = n + 1; }} from init, above;
state above [{q} {above} 0] {{}} from below;
"""


def test_boundaries_under_constraints(folder):
    """Two guards with one boundary: the states of an importer satisfy constraints to its tolerance, and that has no say in an event."""
    for k, q in enumerate(("x", "x - 0.1", "y + 0.9", "vx - 0.3", "vy - 0.2", "x * y")):
        path = Path(folder, f"swing{k}.lisma")
        below, above = (("<=", ">="), ("<", ">="), ("<=", ">"))[k % 3]
        path.write_text(SWING.format(q=q, below=below, above=above))
        ran = saltus("run", path, "-q", "--until", 5, "--rtol", 1e-9, "--out", "n", "--samples", 1, "-o", "-")
        wanted = float(ran.stdout.split()[-1].split(",")[1])
        one = Exchange(export(folder, path, 2 + k % 2, "--kind", "me"))
        one.begin()
        run(one, 0.0, 5.0, 0.02)
        check(one.get("n") == wanted > 1, q, one.get("n"), wanted, one.messages)
        one.free()


MODES = """eq: x' = -x; x(t0) = 1; u(t0) = 0; {when}
state s [{guard}] {{ eq: x = 2 + time; }} from init;
state back [time >= 2] {{ eq: x' = 1; }} from s;
"""


def test_modes_that_compute(folder):
    """What one mode integrates and another computes is an output beside a state; unforeseen, it is an error."""
    for version in (2, 3):
        fmu = export(folder, MODES.format(when="", guard="time >= 1"), version, "--kind", "me")
        one = Exchange(fmu)
        one.begin()
        check("state of x" in fmu.references and one.n == 1, list(fmu.references))
        for end, x, kept in ((0.5, math.exp(-0.5), math.exp(-0.5)), (1.5, 3.5, 0.0), (3.0, 5.0, 5.0)):
            run(one, one.get("time"), end, 0.01)
            check(near(one.get("x"), x, 1e-9) and near(one.get("state of x"), kept, 1e-9), version, end, one.get("x"))
            check(one.states() == [one.get("state of x")], "the state is the one that is integrated")
            check(one.rates() == [one.get("derivative of state of x")], "and so is its rate")
        one.free()
        one = Exchange(export(folder, MODES.format(when="", guard="u > 0.5"), version, "--kind", "me"))
        one.begin()
        run(one, 0.0, 0.5, 0.1)
        one.call("EnterEventMode")
        one.set("u", 1.0)
        try:
            one.event()
            check(False, version, "a mode that nobody foresaw")
        except AssertionError:
            check(any(b"computes x" in m for m in one.messages), one.messages)
        one.free()


TIMES = """n(t0) = 0; late(t0) = 0; x' = 1; x(t0) = 0;
at 0.3 each 0.7 repeat 100 { set n = n + 1; }
state after [time >= 0.9] { set late = 1; } from init;
"""


def test_time_events(folder):
    for version in (2, 3):
        one = Exchange(export(folder, TIMES, version, "--kind", "me"))
        one.begin()
        run(one, 0.0, 3.0, 10.0)
        wanted = [0.3, 0.9, 1.0, 1.7, 2.4]
        check(len(one.events) == 5 and all(near(a, b, 4e-16) for a, b in zip(one.events, wanted)), one.events)


class Deaf(Exchange):
    """An importer that does not know when time events are due, as after a state that was read from a file."""

    def event(self):
        super().event()
        self.next = math.inf


def test_time_events_that_nobody_stops_at(folder):
    for version in (2, 3):
        one = Deaf(export(folder, TIMES, version, "--kind", "me"))
        one.begin()
        run(one, 0.0, 3.0, 0.01)
        check(one.get("n") == 4 and one.get("late") == 1, version, one.get("n"), one.get("late"), one.events)
        check(all(a - 0.011 < b <= a for a, b in zip(one.events, [0.3, 0.9, 1.0, 1.7, 2.4])), "late by a step", one.events)
        check(one.get("n") == 4.0 and one.get("late") == 1.0 and near(one.get("x"), 3.0, 1e-12), "counted")
        one.free()


INPUT = "x' = u - x; x(t0) = 0; u(t0) = 0; n(t0) = 0; state over [u >= 0.5] { set n = n + 1; } from init; " \
        "state under [u < 0.5] {} from over; state once [u >= 0.5] { set n = n + 1; } from under;"


def test_inputs(folder):
    """Inputs that change continuously, and those that jump in an event."""
    for version in (2, 3):
        fmu = export(folder, INPUT, version, "--kind", "me")
        check(fmu.variables["u"].get("variability") == "continuous", "variability")
        one = Exchange(fmu)
        one.begin()
        one.go(0.1, one.states())
        check(one.set("u", 0.25) == 0 and one.rates() == [0.25], "a rate follows", one.rates())
        before = domains(one)
        check(one.set("u", 0.75) == 0 and domains(one) != before, "an indicator follows")
        one.call("EnterEventMode")
        one.event()
        check(one.get("n") == 1.0 and domains(one) != before, "it fires", one.get("n"))
        one.call("EnterEventMode")
        one.set("u", 0.0)
        one.event()
        one.call("EnterEventMode")
        one.set("u", 1.0)
        one.event()
        check(one.get("n") == 2.0, "in an event too", one.get("n"))
        check(one.set("u", math.nan) != 0 and one.set("x", 1.0) != 0, "not these")
        one.free()


def test_states_are_kept(folder):
    """A run goes on from a saved state, here or in another instance, with the same bits."""
    for version in (2, 3):
        fmu = export(folder, BALL.format(T=1, L=1, k=1), version, "--kind", "me")
        word = "state" if version == 2 else "State"
        one, other = Exchange(fmu), Exchange(fmu)
        one.begin()
        run(one, 0.0, 1.75, 0.1)
        state, size = c.c_void_p(), c.c_size_t()
        check(one.call(f"GetFMU{word}", c.byref(state)) == 0, one.messages)
        check(one.call(f"SerializedFMU{word}Size", state, c.byref(size)) == 0, "a size")
        data = (c.c_char * size.value)()
        check(one.call(f"SerializeFMU{word}", state, data, size) == 0, "bytes")

        def rest(instance):
            instance.events = []
            run(instance, 1.75, 4.2, 0.1)
            return instance.events + instance.states() + [instance.get("n")]
        first = rest(one)
        check(one.call(f"SetFMU{word}", state) == 0 and rest(one) == first, "the same again", version)
        taken = c.c_void_p()
        check(other.initialize() == 0, "another one")
        name = f"DeSerializeFMU{word}" if version == 2 else f"DeserializeFMU{word}"
        check(other.call(name, data, size, c.byref(taken)) == 0 and other.call(f"SetFMU{word}", taken) == 0, other.messages)
        check(rest(other) == first, "elsewhere", version)
        one.call(f"FreeFMU{word}", c.byref(state))
        other.call(f"FreeFMU{word}", c.byref(taken))
        one.free()
        other.free()


def test_misuse(folder):
    for version in (2, 3):
        one = Exchange(export(folder, BALL.format(T=1, L=1, k=1), version, "--kind", "both"))
        check(one.call("SetTime", c.c_double(1)) != 0, "before the start")
        one.begin()
        check(one.call("SetTime", c.c_double(math.nan)) != 0, "no time")
        check(one.call("SetContinuousStates", (c.c_double * 2)(math.nan, 0), c.c_size_t(2)) != 0, "no state")
        check(one.call("SetContinuousStates", (c.c_double * 3)(), c.c_size_t(3)) != 0, "too many")
        check(one.call("GetEventIndicators", (c.c_double * 99)(), c.c_size_t(99)) != 0, "not so many")
        check(one.step(0.0, 1.0)[0] != 0, "steps are of the other kind")
        check(len(one.messages) >= 5, one.messages)
        run(one, 0.0, 2.25, 0.1)
        check(one.get("n") == 2.0, "and it works all the same")
        one.free()
    path = Path(folder, "past.lisma")
    path.write_text("x' = -delay(x, 1); x(t0) = 1;")
    for kind, code in (("me", 3), ("both", 3), ("cs", 0)):
        made = saltus("export", path, "--kind", kind, cwd=folder, good=False)
        check(made.returncode == code and (code == 0 or "delay" in made.stderr), kind, made.stderr)


# sliding, contacts that close, constraints, states that change, many events, stops
LIMITED = """const k = 2; x' = v; v' = -k*sin(x) - 0.1*v + 3*u; x(t0) = 0.5; v(t0) = 1; u(t0) = 0.25;
y = x*v + u^2; n(t0) = 0; state up [x >= 10] { set n = 1; } from init;
"""


def derivative(one, unknowns, knowns, seed):
    """dv of the unknowns along the knowns, by names."""
    refs = lambda names: (c.c_uint * len(names))(*[one.fmu.references[n] for n in names])
    out = (c.c_double * len(unknowns))()
    words = [refs(unknowns), c.c_size_t(len(unknowns)), refs(knowns), c.c_size_t(len(knowns)), (c.c_double * len(seed))(*seed)]
    words += [out] if one.v2 else [c.c_size_t(len(seed)), out, c.c_size_t(len(unknowns))]
    status = one.call("GetDirectionalDerivative", *words)
    return status, list(out)


def test_directional_derivatives(folder):
    """Rates and outputs along states and inputs, against the derivatives worked out by hand."""
    path = Path(folder, "swing.lisma")
    path.write_text(LIMITED)
    for version in (2, 3):
        one = Exchange(export(folder, path, version, "--kind", "me"))
        one.begin()
        at = {"x": 0.7, "v": -0.3}
        order = ["x", "v"] if one.states()[0] == 0.5 else ["v", "x"]
        one.go(0.1, [at[n] for n in order])
        x, v = at["x"], at["v"]
        status, got = derivative(one, ["y"], ["x", "v", "u"], [1.0, 2.0, -1.0])
        check(status == 0 and abs(got[0] - (v + 2 * x - 2 * 0.25)) < 1e-12, version, got, one.messages)
        rates = [n for n in one.fmu.references if n in ("v'", "der(v)")]
        check(len(rates) == 1, list(one.fmu.references))
        for knowns, seed, want in ((["x"], [1.0], -2 * math.cos(x)), (["u"], [1.0], 3.0), (["v", "x"], [2.0, 0.5], -0.2 - math.cos(x))):
            status, got = derivative(one, rates, knowns, seed)
            check(status == 0 and abs(got[0] - want) < 1e-12, version, knowns, got, want, one.messages)
        check(derivative(one, ["k"], ["x"], [1.0])[0] == 3, "a parameter is no unknown")
        check(derivative(one, ["y"], ["n"], [1.0])[0] == 3, "what is kept is no known")
        check(one.states() == [at[n] for n in order], "the point stays where it was")


if __name__ == "__main__":
    sys.exit(main({k: v for k, v in globals().items() if k.startswith("test_")}))
