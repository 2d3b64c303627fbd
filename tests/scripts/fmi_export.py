#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FMUs that `saltus export` writes, loaded as an importer would: steps, events, inputs, states, and misuse.

The loader is written from the standard's interface and shares nothing with the program. Communication points add
nothing to a run, so the values must be those of `saltus run`, to the last bit.
"""

import csv
import ctypes as c
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
import xml.etree.ElementTree as xml
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import suite  # noqa: E402

SALTUS = os.environ["SALTUS"]
SOURCE = Path(os.environ["SALTUS_SOURCE"])
MODELS = SOURCE / "models"
NAN = float("nan")
SANITIZED = "address" in suite.SANITIZED
failures = []


def check(condition, *what):
    if not condition:
        failures.append(" ".join(map(str, what)))
        print("FAILED:", *what)


def saltus(*words, cwd=None, good=True):
    run = subprocess.run([SALTUS, *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=120)
    if good and run.returncode:
        raise SystemExit(f"saltus {words}: {run.stderr}")
    return run


LOG2 = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_int, c.c_char_p, c.c_char_p, c.c_char_p)
LOG3 = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p, c.c_char_p)


class Callbacks2(c.Structure):
    _fields_ = [("logger", LOG2), ("allocate", c.c_void_p), ("free", c.c_void_p), ("finished", c.c_void_p), ("env", c.c_void_p)]


class Fmu:
    """An unpacked FMU of either version."""

    def __init__(self, path, folder):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        self.folder = Path(folder)
        root = xml.parse(self.folder / "modelDescription.xml").getroot()
        self.root = root
        self.version = int(root.get("fmiVersion")[0])
        self.token = root.get("guid") or root.get("instantiationToken")
        self.references = {v.get("name"): int(v.get("valueReference")) for v in root.find("ModelVariables")}
        self.variables = {v.get("name"): v for v in root.find("ModelVariables")}
        place = "linux64" if self.version == 2 else f"{os.uname().machine}-linux"
        name = next(root.iter(kind).__next__() for kind in ("ModelExchange", "CoSimulation")
                    if root.find(kind) is not None).get("modelIdentifier")
        self.library = c.CDLL(str(self.folder / "binaries" / place / f"{name}.so"))


class Instance:
    def __init__(self, fmu, token=None, events=False, early=False, resources=None):
        self.fmu, self.lib, self.messages = fmu, fmu.library, []
        where = str(fmu.folder / "resources") if resources is None else resources
        token = fmu.token if token is None else token
        self.v2 = fmu.version == 2
        if self.v2:
            self.log = LOG2(lambda env, name, status, category, text, *rest: self.messages.append(text))
            self.callbacks = Callbacks2(self.log, None, None, None, None)
            make = self.lib.fmi2Instantiate
            make.restype = c.c_void_p
            address = where if resources is not None else Path(where).as_uri()
            self.handle = make(b"one", 1, token.encode(), address.encode(), c.byref(self.callbacks), 0, 1)
        else:
            self.log = LOG3(lambda env, status, category, text: self.messages.append(text))
            make = self.lib.fmi3InstantiateCoSimulation
            make.restype = c.c_void_p
            self.handle = make(b"one", token.encode(), where.encode(), c.c_bool(False), c.c_bool(True), c.c_bool(events),
                               c.c_bool(early), None, c.c_size_t(0), None, self.log, None)
        self.handle = c.c_void_p(self.handle)

    def call(self, name, *arguments):
        return getattr(self.lib, f"fmi{self.fmu.version}{name}")(self.handle, *arguments)

    def initialize(self, start=0.0, **values):
        for name, value in values.items():
            assert self.set(name, value) == 0, (name, self.messages)
        if self.v2:
            status = self.call("SetupExperiment", 0, c.c_double(0), c.c_double(start), 0, c.c_double(0))
            status = status or self.call("EnterInitializationMode")
        else:
            status = self.call("EnterInitializationMode", c.c_bool(False), c.c_double(0), c.c_double(start), c.c_bool(False),
                               c.c_double(0))
        return status or self.call("ExitInitializationMode")

    def get(self, name):
        reference = c.c_uint(self.fmu.references[name] if isinstance(name, str) else name)
        value = c.c_double(NAN)
        if self.v2:
            status = self.call("GetReal", c.byref(reference), c.c_size_t(1), c.byref(value))
        else:
            status = self.call("GetFloat64", c.byref(reference), c.c_size_t(1), c.byref(value), c.c_size_t(1))
        assert status == 0, (name, self.messages)
        return value.value

    def state(self, name):
        reference = c.c_uint(self.fmu.references[name])
        if self.v2:
            value = c.c_int()
            status = self.call("GetInteger", c.byref(reference), c.c_size_t(1), c.byref(value))
        else:
            value = c.c_int64()
            status = self.call("GetInt64", c.byref(reference), c.c_size_t(1), c.byref(value), c.c_size_t(1))
        assert status == 0
        return value.value

    def set(self, name, value):
        reference = c.c_uint(self.fmu.references[name] if isinstance(name, str) else name)
        number = c.c_double(value)
        if self.v2:
            return self.call("SetReal", c.byref(reference), c.c_size_t(1), c.byref(number))
        return self.call("SetFloat64", c.byref(reference), c.c_size_t(1), c.byref(number), c.c_size_t(1))

    def step(self, t, h):
        """(status, event, terminate, early, reached)"""
        if self.v2:
            return self.call("DoStep", c.c_double(t), c.c_double(h), 1), False, False, False, t + h
        event, terminate, early, reached = c.c_bool(), c.c_bool(), c.c_bool(), c.c_double()
        status = self.call("DoStep", c.c_double(t), c.c_double(h), c.c_bool(True), c.byref(event), c.byref(terminate),
                           c.byref(early), c.byref(reached))
        return status, event.value, terminate.value, early.value, reached.value

    def update(self):
        flags = [c.c_bool() for _ in range(5)]
        next_time = c.c_double()
        status = self.call("UpdateDiscreteStates", *map(c.byref, flags), c.byref(next_time))
        return status, flags[1].value

    def save(self):
        word = "FMUstate" if self.v2 else "FMUState"
        state = c.c_void_p(None)
        assert self.call(f"Get{word}", c.byref(state)) == 0, self.messages
        return state

    def restore(self, state):
        return self.call("SetFMUstate" if self.v2 else "SetFMUState", state)

    def drop(self, state):
        self.call("FreeFMUstate" if self.v2 else "FreeFMUState", c.byref(state))

    def bytes_of(self, state):
        word = "FMUstate" if self.v2 else "FMUState"
        size = c.c_size_t()
        assert self.call(f"Serialized{word}Size", state, c.byref(size)) == 0
        buffer = (c.c_char * size.value)()
        assert self.call(f"Serialize{word}", state, buffer, size) == 0
        return bytes(buffer)

    def state_of(self, data):
        state = c.c_void_p(None)
        word = "DeSerializeFMUstate" if self.v2 else "DeserializeFMUState"
        assert self.call(word, data, c.c_size_t(len(data)), c.byref(state)) == 0
        return state

    def free(self):
        self.call("FreeInstance")


def export(folder, text_or_path, version, *options):
    if isinstance(text_or_path, Path):
        path = text_or_path
    else:
        path = Path(folder, f"model{version}.lisma")
        path.write_text(text_or_path)
    out = Path(folder, f"{path.stem}{version}.fmu")
    saltus("export", path, "--fmi", version, "-o", out, *options)
    # a folder of its own: a library that is loaded must not be overwritten
    return Fmu(out, tempfile.mkdtemp(dir=folder))


GALLERY = """ball thermostat buck predator_prey stick_slip traffic_light sliding tank relay bang_bang sawtooth overflow
    dry_friction table drive_cycle ladder rod servo pulse press second_order two_relays heated_rooms dead_zone
    shower simultaneous spring_masses names cradle boiler""".split()


def test_gallery(folder):
    """Each model, in one version or the other: the values of the direct run, to the last bit, at every communication point."""
    # with a sanitizer inside the library is twenty times as large, and so is the work of packing it
    for place, name in enumerate(suite.share(GALLERY)):
        path = MODELS / f"{name}.lisma"
        text = saltus("run", path, "--until", 4, "--every", 0.25, "--event-rows", "none", "-o", "-", "--quiet").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        for version in (2 + place % 2,):
            fmu = export(folder, path, version)
            one = Instance(fmu)
            check(one.handle.value, name, version, one.messages)
            check(one.initialize() == 0, name, one.messages)
            columns = [k for k in rows[0] if k in fmu.references and k != "time"]
            check(columns, name, "has columns")
            for k, row in enumerate(rows):
                if k:
                    status = one.step((k - 1) * 0.25, 0.25)[0]
                    check(status == 0, name, version, k, one.messages)
                for column in columns:
                    if row[column] == "":
                        check(math.isnan(one.get(column)), name, column)
                        continue
                    value = one.get(column)
                    if value != float(row[column]):
                        check(False, name, version, column, row["time"], value, row[column])
                        break
            one.free()


JUMPER = """const T = 1;
y' = v; v' = -8 / T ^ 2; y(t0) = 0; v(t0) = 4 / T; n(t0) = 0; u(t0) = 0;
w' = u; w(t0) = 0;
state up [y <= 0 and v < 0] { set v = 4 / T, y = 0, n = n + 1; } from init, up;
"""


def test_events(folder):
    """FMI 3: a step ends at the event, shows the values before it, and after handling those behind it."""
    fmu = export(folder, JUMPER, 3)
    one = Instance(fmu, events=True, early=True)
    check(one.initialize() == 0, one.messages)
    check(one.update() == (0, False), "initial event mode")
    check(one.call("EnterStepMode") == 0, one.messages)
    t, times = 0.0, []
    while t < 3.5:
        status, event, terminate, early, reached = one.step(t, 3.5 - t)
        check(status == 0 and not terminate, one.messages)
        t = reached
        if not event:
            continue
        check(early and one.get("v") < -3.9, "before the event", one.get("v"))
        n = one.get("n")
        check(one.call("EnterEventMode") == 0, one.messages)
        check(one.update() == (0, False), "update")
        check(one.get("v") == 4 and one.get("n") == n + 1, "behind the event")
        check(one.call("EnterStepMode") == 0, one.messages)
        times.append(t)
    check(len(times) == 3 and all(abs(a - b) < 1e-9 for a, b in zip(times, (1, 2, 3))), times)
    check(t == 3.5, "the end itself", t)
    check(one.state("main.state") == 2, "the second state")
    one.free()
    # without event mode, and without early return, steps go through events
    for events, early in ((False, True), (True, False), (False, False)):
        two = Instance(fmu, events=events, early=early)
        two.initialize()
        if events:
            two.call("EnterStepMode")
        status, event, terminate, returned, reached = two.step(0, 3.5)
        check((status, event, returned, reached) == (0, False, False, 3.5), "through events", events, early)
        check(two.get("n") == 3, "all of them")
        two.free()


def test_values(folder):
    """Inputs, parameters, states of the FMU."""
    for version in (2, 3):
        fmu = export(folder, JUMPER, version)
        kinds = {n: (v.get("causality"), v.get("variability")) for n, v in fmu.variables.items()}
        check(kinds["u"] == ("input", "discrete"), kinds)
        check(kinds["T"] == ("parameter", "tunable"), kinds)
        check(kinds["n"] == ("output", "discrete") and kinds["w"] == ("output", "continuous"), kinds)
        one = Instance(fmu)
        check(one.initialize(T=2.0, u=0.5) == 0, one.messages)
        check(one.get("u") == 0.5 and one.get("v") == 2, "given before the start")
        check(one.step(0, 1)[0] == 0 and abs(one.get("w") - 0.5) < 1e-9, "input")
        kept = one.save()
        check(one.set("u", 2) == 0, one.messages)
        check(one.step(1, 1.5)[0] == 0 and abs(one.get("w") - 3.5) < 1e-9, "input changed", one.get("w"))
        end = [one.get(n) for n in ("y", "v", "n", "w")]
        data = one.bytes_of(kept)
        check(one.restore(kept) == 0 and one.get("time") == 1, "back", one.messages)
        check(one.get("u") == 0.5 and one.set("u", 2) == 0, "with its input")
        one.step(1, 1.5)
        check([one.get(n) for n in ("y", "v", "n", "w")] == end, "the same bits again")
        other = Instance(fmu)
        state = other.state_of(data)
        check(other.restore(state) == 0 and other.get("time") == 1, "in another instance", other.messages)
        other.set("u", 2)
        other.step(1, 1.5)
        check([other.get(n) for n in ("y", "v", "n", "w")] == end, "the same bits there")
        other.drop(state)
        for damaged in (b"", data[:10], data[:-1], data[:60] + b"\xff" * 8 + data[68:], b"x" * len(data)):
            if version == 3 and not damaged:
                continue
            state = other.state_of(damaged)
            check(other.restore(state) != 0, "a damaged state is refused", len(damaged))
            other.drop(state)
        one.drop(kept)
        check(one.call("Reset") == 0 and one.initialize() == 0 and one.get("v") == 4, "reset")
        one.free()
        other.free()


def test_times_that_are_sums(folder):
    """Importers add up their steps: a thousand of 0.1 are not 100, and no event comes twice or is left out for that."""
    for version in (2, 3):
        one = Instance(export(folder, "n(t0) = 0; x' = 1; x(t0) = 0; at 0.1 each 0.1 repeat * { set n = n + 1; }", version))
        one.initialize()
        t = 0.0
        for _ in range(1000):
            check(one.step(t, 0.1)[0] == 0, version, t, one.messages)
            t += 0.1
        check(t != 100.0 and abs(one.get("n") - 1000) <= 1, version, one.get("n"))
        check(one.get("time") == t and abs(one.get("x") - t) < 1e-9, version, one.get("time"), t)
        one.free()


def test_steps_from_elsewhere(folder):
    """A step begins where the last one ended; one from another time is refused, and the run goes on from its own."""
    for version in (2, 3):
        one = Instance(export(folder, "x' = 1; x(t0) = 0;", version))
        one.initialize(start=3.0)
        check(one.step(0.0, 1.0)[0] == 3 and b"it is 3" in one.messages[-1], version, one.messages)
        check(one.step(3.0, 1.0)[0] == 0, version, one.messages)
        for t, h in ((3.0, 1.0), (3.5, 1.0), (4.5, 1.0), (100.0, 1.0), (0.0, 4.0)):
            check(one.step(t, h)[0] == 3, version, "a step from", t, one.messages)
        check(one.step(4.0, 1.0)[0] == 0 and abs(one.get("x") - 2.0) < 1e-12, version, one.get("x"), one.messages)
        one.free()


def test_stiffness_is_told(folder):
    """Steps that stability bounds are told from those that accuracy does."""
    for text, stiff in (("x' = -1e4*(x - cos(time)); x(t0) = 0;", True), ("x' = 300*v; v' = -300*x; x(t0) = 1; v(t0) = 0;", False)):
        path = Path(folder, "stiff.lisma")
        path.write_text(text + " experiment { end = 2; }")
        saltus("export", path, "--kind", "me", "-o", Path(folder, "stiff.fmu"))
        told = saltus("run", Path(folder, "stiff.fmu"), "-o", "-").stderr
        check(("it is stiff" in told) == stiff, text, told)


def test_stops_are_timed(folder):
    """A model that ends itself between communication points ends there in every interface, and its check says nothing of it."""
    path = Path(folder, "ends.lisma")
    path.write_text("x' = 1; x(t0) = 0; state done [x >= 0.7071] { stop; } from init; experiment { end = 2; every = 0.1; }")
    for version in (2, 3):
        fmu = Path(folder, "ends.fmu")
        saltus("export", path, "--kind", "both", "--fmi", version, "-o", fmu)
        for interface in ("me", "cs"):
            last = saltus("run", fmu, "--interface", interface, "-q", "-o", "-").stdout.split()[-1].split(",")
            check(abs(float(last[0]) - 0.7071) < 1e-9 and abs(float(last[1]) - 0.7071) < 1e-9, version, interface, last[:2])
        told = saltus("check", fmu)
        check("nothing found" in told.stdout and not told.stderr, told.stdout, told.stderr)


def test_tunable_parameters(folder):
    for version in (2, 3):
        fmu = export(folder, "const k = 1; x' = k; x(t0) = 0; const N = 2; for i = 1:N { z[i]' = k; z[i](t0) = 0; }", version)
        check(fmu.variables["N"].get("variability") == "constant", "a constant that shapes the model")
        one = Instance(fmu)
        one.initialize()
        one.step(0, 1)
        check(one.set("k", 3) == 0, one.messages)
        kept = one.save()
        one.step(1, 1)
        check(abs(one.get("x") - 4) < 1e-9, "tuned")
        check(one.restore(kept) == 0, one.messages)
        one.step(1, 1)
        check(abs(one.get("x") - 4) < 1e-9, "tuned, and gone back to", one.get("x"))
        one.drop(kept)
        check(one.set("N", 3) != 0 and one.messages, "not to be set")
        one.free()
        five = export(folder, "const N = 2; for i = 1:N { z[i]' = 1; z[i](t0) = 0; }", version, "--set", "N=5")
        check("z5" in five.references, "set for good")
        two = Instance(five)
        check(two.handle.value and two.initialize() == 0, two.messages)
        two.free()


def test_parameters_that_cannot_change(folder):
    """What is read at the start alone is fixed, and what follows from other constants is computed."""
    text = """const T = 1, h = 2, k = 3, d = 0.5, m = 2*h, unused = 4, w = 5;
    x' = -k*x; x(t0) = h + m; n(t0) = 0; y = delay(x, d); macro q = w*x;
    at T { set n = n + 1; }"""
    for version in (2, 3):
        fmu = export(folder, text, version)
        kinds = {n: (v.get("causality"), v.get("variability"), v.get("initial")) for n, v in fmu.variables.items()}
        for name in ("T", "h", "d", "unused"):
            check(kinds[name] == ("parameter", "fixed", "exact"), name, kinds[name])
        for name in ("k", "w"):
            check(kinds[name] == ("parameter", "tunable", "exact"), name, kinds[name])
        check(kinds["m"] == ("calculatedParameter", "fixed", "calculated"), kinds["m"])
        one = Instance(fmu)
        check(one.set("m", 7) != 0 and b"other constants" in one.messages[-1], one.messages)
        one.free()
        one = Instance(fmu)
        check(one.initialize(h=3.0) == 0 and one.get("m") == 6 and one.get("x") == 9, "follows")
        check(one.step(0, 0.5)[0] == 0 and one.set("h", 4) != 0, "fixed after the start")
        one.free()


def test_initial_values(folder):
    """Numbers that the model gives as initial values can be given from outside, and then it is the model with those numbers."""
    text = """const g = 9.81, h0 = 2;
    y'' = -g; y(t0) = 10; y'(t0) = -1/2; n(t0) = 0; u(t0) = 1;
    a' = -a + u; a(t0) = h0; b' = 1; b(t0) = 2*u; c' = 0; c(t0) = 0; r' = 0; r(t0) = uniform(1, 2); s' = 1; s(t0) = time;
    q^3 + q = 2 + a; q(t0) ~= 1;
    automaton m { state bounce [y < 0] { set y' = -0.8*pre(y'); set n = pre(n) + 1; } from init, bounce; }
    automaton k { state moved [c <= 0] { set c = 7; } from init; }
    experiment { end = 4; every = 0.25; }"""
    changed = text
    for old, new in (("y(t0) = 10", "y(t0) = 5"), ("y'(t0) = -1/2", "y'(t0) = 1"), ("n(t0) = 0", "n(t0) = 3"), ("u(t0) = 1", "u(t0) = 4"),
                     ("c(t0) = 0", "c(t0) = 0.5")):
        assert old in changed
        changed = changed.replace(old, new)
    Path(folder, "changed.lisma").write_text(changed)
    direct = list(csv.DictReader(io.StringIO(saltus("run", "changed.lisma", "-o", "-", "--event-rows", "none", cwd=folder).stdout)))
    given = {"y": 5.0, "y'": 1.0, "n": 3.0, "u": 4.0, "c": 0.5}
    for version in (2, 3):
        fmu = export(folder, text, version, "--kind", "both")
        kinds = {n: (v.get("initial"), (v[0] if version == 2 else v).get("start")) for n, v in fmu.variables.items()}
        wanted = {"y": ("exact", "10"), "y'": ("exact", "-0.5"), "n": ("exact", "0"), "c": ("approx", "0"), "q": ("approx", "1"),
                  "u": (None, "1")}
        wanted.update((name, ("calculated", None)) for name in ("a", "b", "r", "s", "y''", "a'"))
        for name, kind in wanted.items():
            check(kinds[name] == kind, version, name, kinds[name])
        structure = fmu.root.find("ModelStructure")
        unknowns = [int(e.get("index")) - 1 for e in structure.find("InitialUnknowns")] if version == 2 else \
            [int(e.get("valueReference")) for e in structure.findall("InitialUnknown")]
        names = {reference: name for name, reference in fmu.references.items()}
        unknowns = {names[u] for u in unknowns}
        check(not unknowns & {"y", "y'", "n", "u"} and unknowns >= {"a", "b", "c", "q", "y''"}, version, unknowns)
        for early in (True, False):  # before initialization mode, or within, where other values were already computed
            one = Instance(fmu)
            if early:
                check(one.initialize(**given) == 0, one.messages)
            else:
                if version == 2:
                    one.call("SetupExperiment", 0, c.c_double(0), c.c_double(0), 0, c.c_double(0))
                    one.call("EnterInitializationMode")
                else:
                    one.call("EnterInitializationMode", c.c_bool(False), c.c_double(0), c.c_double(0), c.c_bool(False), c.c_double(0))
                check(one.get("y") == 10 and one.get("b") == 2, "in initialization mode")
                check(all(one.set(name, value) == 0 for name, value in given.items()), one.messages)
                check(one.get("y") == 5 and one.get("b") == 8, "again in initialization mode")
                check(one.call("ExitInitializationMode") == 0, one.messages)
            check(one.set("y", 1.0) != 0 and b"fixed after initialization" in one.messages[-1], one.messages)
            check(one.set("a", 1.0) != 0, "what follows from a constant")
            for row in direct:
                t = float(row["time"])
                check(t == 0 or one.step(t - 0.25, 0.25)[0] == 0, one.messages)
                for name in "ynabcrsq":
                    check(one.get(name) == float(row[name]), version, early, t, name, one.get(name), row[name])
            check(one.call("Reset") == 0 and one.initialize() == 0 and one.get("y") == 10, "reset")
            one.free()
        words = [w for name, value in given.items() for w in ("--set", f"{name}={value}")]
        for kind, bound in (("cs", 0.0), ("me", 1e-5)):
            run = saltus("run", f"model{version}{version}.fmu", "--interface", kind, *words, "-o", "-", cwd=folder)
            last = list(csv.DictReader(io.StringIO(run.stdout)))[-1]
            for name in "ynabcrsq":
                check(abs(float(last[name]) - float(direct[-1][name])) <= bound, version, kind, name, last[name], direct[-1][name])


def test_values_before_events(folder):
    """Values before an event are those of the mode before it, also of states that only one of the two modes integrates."""
    out = Path(folder, "ball.fmu")
    saltus("export", MODELS / "contact_ball.lisma", "-o", out)
    run = saltus("check", out, good=False)
    check(run.returncode == 0 and "nothing found" in run.stdout, run.stdout)


def test_times(folder):
    """Steps that are added up end beside the grid by rounding: nobody falls behind."""
    for version in (2, 3):
        fmu = export(folder, JUMPER, version)
        one = Instance(fmu)
        one.initialize()
        t = 0.0
        for _ in range(1000):
            check(one.step(t, 0.001)[0] == 0, t, one.messages)
            t += 0.001
        check(abs(one.get("time") - 1) < 1e-12, one.get("time"))
        check(one.step(0.2, 0.1)[0] != 0, "a step into the past")
        for t, h in ((1, -1), (1, NAN), (NAN, 1), (1, math.inf)):
            check(one.step(t, h)[0] != 0, "no step", t, h)
        one.free()


def test_failures(folder):
    """A run that fails or stops says so once, and every later step too; nothing hangs."""
    for version in (2, 3):
        fmu = export(folder, "x' = x * x; x(t0) = 1;", version)
        one = Instance(fmu)
        one.initialize()
        check(one.step(0, 2)[0] == 3 and any(b"E0801" in m for m in one.messages), "a failure with its code", one.messages)
        check(one.step(0, 2)[0] == 3, "again")
        check(one.call("Reset") == 0 and one.initialize() == 0 and one.step(0, 0.5)[0] == 0, "after a reset it works")
        one.free()
        fmu = export(folder, 'x\' = 1; x(t0) = 0; state done [x >= 1] { stop "enough"; } from init;', version)
        one = Instance(fmu)
        one.initialize()
        status, event, terminate, early, reached = one.step(0, 5)
        check(status == 2 if version == 2 else (status == 0 and terminate and early and abs(reached - 1) < 1e-9), "stopped")
        if version == 2:
            value = c.c_int()
            check(one.call("GetBooleanStatus", 3, c.byref(value)) == 0 and value.value == 1, "terminated")
        check(one.step(1, 1)[0] in (0, 2), "stays stopped")
        one.free()


def test_misuse(folder):
    """Wrong tokens, folders, references and orders of calls: an error with a message, no crash."""
    for version in (2, 3):
        fmu = export(folder, JUMPER, version)
        for wrong in (dict(token="x"), dict(token=""), dict(resources="/nowhere"), dict(resources=""), dict(resources="file:///no%2")):
            one = Instance(fmu, **wrong)
            check(not one.handle.value and one.messages, wrong)
        one = Instance(fmu)
        check(one.step(0, 1)[0] == 3, "a step before initialization")
        check(one.call("ExitInitializationMode") == 3, "exit before enter")
        one.initialize()
        check(one.call("ExitInitializationMode") == 3, "twice")
        check(one.set("v", 1) == 3 and one.set("time", 1) == 3 and one.set(999, 1) == 3, "what cannot be set")
        check(one.set("u", NAN) == 3 and one.set("u", math.inf) == 3, "no numbers")
        if version == 3:
            check(one.call("EnterEventMode") == 3 and one.call("GetClock") == 3, "what it does not have")
        check(one.call("Terminate") == 0 and one.step(0, 1)[0] == 3, "after the end")
        one.free()
        many = [Instance(fmu) for _ in range(30 if SANITIZED else 1100)]
        check(all(m.handle.value and m.initialize() == 0 for m in many), "more than a thousand at once")
        for m in many:
            m.free()


def test_without_states(folder):
    for version in (2, 3):
        fmu = export(folder, "n(t0) = 0; m = 2 * n; at 1 each 1 repeat * { set n = n + 1; }", version)
        one = Instance(fmu)
        check(one.initialize() == 0, one.messages)
        one.step(0, 3.5)
        check(one.get("n") == 3 and one.get("m") == 6, "counts", one.get("n"))
        one.free()


def test_bytes(folder):
    """The same model gives the same file; no path of this machine is in it."""
    path = Path(folder, "same.lisma")
    path.write_text(JUMPER)
    for version in (2, 3):
        saltus("export", path, "--fmi", version, "-o", "a.fmu", cwd=folder)
        saltus("export", "same.lisma", "--fmi", version, "-o", "b.fmu", cwd=folder)
        a, b = Path(folder, "a.fmu").read_bytes(), Path(folder, "b.fmu").read_bytes()
        check(a == b, "the same bytes")
        with zipfile.ZipFile(Path(folder, "a.fmu")) as archive:
            for name in archive.namelist():
                check(not name.startswith("/") and ".." not in name, name)
                if not SANITIZED:  # it keeps names of sources
                    for place in (str(folder), str(SOURCE), os.environ.get("HOME", "/root") + "/"):
                        check(place.encode() not in archive.read(name), place, "in", name)


TERMINALS = """
part Load(m = 1) { port f { across w; through tau; }  m * speed' = f.tau;  speed(t0) = 0;  f.w = speed; }
part Wire(R = 1) {
  port p { across v; through i; }  port n { across v; through i; }
  p.v - n.v = R * p.i;  p.i + n.i = 0;
}
part Ground { port p { across v; through i; }  p.v = 0; }
Load a(m = 2);  a.f.tau = push;  push(t0) = 0.5;      // joined by others: terminals
Wire w(R = 5);  w.p.v = 3 * a.f.w;
Wire open;  Ground g;  connect(w.n, open.n, g.p);     // joined, or closed: none
Load row[3];  for i = 1:3 { row[i].f.tau = i; }
"""


def test_terminals(folder):
    """Ports that the model leaves to others; an input takes the place of the quantity that it is."""
    name = "terminalsAndIcons/terminalsAndIcons.xml"
    for version in (2, 3):
        out = Path(folder, f"terminals{version}.fmu")
        Path(folder, "t.lisma").write_text(TERMINALS)
        saltus("export", Path(folder, "t.lisma"), "--fmi", version, "-o", out)
        with zipfile.ZipFile(out) as archive:
            if version == 2:
                check(name not in archive.namelist(), "version 2.0 has no terminals")
                continue
            described = xml.fromstring(archive.read("modelDescription.xml"))
            root = xml.fromstring(archive.read(name))
        known = {v.get("name"): v.get("causality") for v in described.find("ModelVariables")}
        found = {t.get("name"): [(m.get("memberName"), m.get("variableName"), m.get("variableKind")) for m in t]
                 for t in root.find("Terminals")}
        check(found == {"a.f": [("w", "a.f.w", "signal"), ("tau", "push", "inflow")],
                        "w.p": [("v", "w.p.v", "signal"), ("i", "w.p.i", "inflow")]}, found)
        check(known["push"] == "input" and known["a.f.w"] == "output", known)
        check(all(m[1] in known for t in found.values() for m in t), "members are variables")


def test_references_and_columns(folder):
    """What stands for two things, or for none, is refused."""
    Path(folder, "r.lisma").write_text("x' = u - x;  x(t0) = 1;  u(t0) = 0;  experiment { end = 1; }\n")
    saltus("export", "r.lisma", "-o", "r.fmu", cwd=folder)
    Path(folder, "twice.csv").write_text("time,u,u\n0,1,2\n")
    check("two columns" in saltus("run", "r.fmu", "--input", "twice.csv", "-o", "o.csv", cwd=folder, good=False).stderr, "columns")
    for wrong in ("-1", "99999999999", "1x"):
        with zipfile.ZipFile(Path(folder, "r.fmu")) as old, zipfile.ZipFile(Path(folder, "w.fmu"), "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "modelDescription.xml":
                    data = data.replace(b'valueReference="1"', f'valueReference="{wrong}"'.encode(), 1)
                new.writestr(name, data)
        check("valueReference" in saltus("run", "w.fmu", "-o", "o.csv", cwd=folder, good=False).stderr, wrong)


def portable_library(folder, sources):
    """A library from the sources of an FMU without SuiteSparse. What does not know of it is taken as it was built."""
    written = [f for f in sources.rglob("*.c") if f.parent in (sources, sources / "fmi")
               or any(f"#include <{h}.h>" in f.read_text() for h in ("klu", "amd", "btf"))]
    out = Path(folder, "portable.so")
    multistep = ["-lsundials_cvode", "-lsundials_ida"] if "(SUNDIALS)" in saltus("methods").stdout else []
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wl,--no-undefined", "-Wl,--exclude-libs,ALL", "-I", sources, *written, "-o", out,
                    Path(os.environ["SALTUS_BUILD"], "libsaltus.a"), *multistep, "-lm", "-lpthread", "-ldl"], check=True)
    return out.read_bytes()


def test_sources(folder):
    """FMUs with sources: they are complete, listed as each version wants it, and need nothing but a C compiler."""
    for version in (2, 3):
        fmu = export(folder, JUMPER, version, "--sources", "--kind", "both")
        sources = fmu.folder / "sources"
        there = {str(f.relative_to(sources)) for f in sources.rglob("*.c")}
        if version == 2:
            lists = [fmu.root.findall(f"{kind}/SourceFiles/File") for kind in ("ModelExchange", "CoSimulation")]
        else:
            build = xml.parse(sources / "buildDescription.xml").getroot()
            lists = [build.findall("BuildConfiguration/SourceFileSet/SourceFile")]
            check(build.find("BuildConfiguration").get("modelIdentifier") == "model3", "the name of the library")
        check(all({f.get("name") for f in files} == there for files in lists) and len(there) > 100, version, "all are listed")
        for file in sources.rglob("*.[ch]"):
            for name in re.findall(r'^#include "([^"]+)"', file.read_text(), re.M):
                check((sources / name).exists() or (file.parent / name).exists(), file.name, "includes", name)
        check((sources / "LICENSE").exists(), "the licence")
    if SANITIZED or not Path(os.environ["SALTUS_BUILD"], "libsaltus.a").exists():
        return
    library = portable_library(folder, sources)
    for name in ("thermostat", "spring_masses", "rod", "heated_rooms", "dae/bridge", "dae/slider_crank"):
        path, made = MODELS / f"{name}.lisma", Path(folder, "made.fmu")
        end = 0.02 if "dae" in name else 2
        saltus("export", path, "-o", made)
        with zipfile.ZipFile(made) as old, zipfile.ZipFile(Path(folder, "other.fmu"), "w") as new:
            for entry in old.namelist():
                new.writestr(entry, library if entry.endswith(".so") else old.read(entry))
        words = ("--until", end, "--every", end / 4, "--quiet", "-o", "-")
        a, b = ([[float(v or "nan") for v in row] for row in list(csv.reader(io.StringIO(saltus("run", f, *words).stdout)))[1:]]
                for f in (made, Path(folder, "other.fmu")))
        check(len(a) == len(b) and all(abs(x - y) <= 1e-7 * (abs(x) + abs(y)) + 1e-12 or x != x
                                       for p, q in zip(a, b) for x, y in zip(p, q)), name, "gives the same values", a[-1], b[-1])


def test_command(folder):
    path = Path(folder, "named model.lisma")
    path.write_text(JUMPER)
    saltus("export", path, cwd=folder)
    check(Path(folder, "named model.fmu").exists(), "the usual name")
    with zipfile.ZipFile(Path(folder, "named model.fmu")) as archive:
        check(any(n.endswith("/named_model.so") for n in archive.namelist()), "an identifier")
    for words, code in ((["export"], 2), (["export", "nofile.lisma"], 1), (["export", path, "--fmi", "4"], 2),
                        (["export", path, "--kind", "xy"], 2), (["export", path, "--kind"], 2),
                        (["export", path, "-o", path], 2), (["export", path, "-o", "/nowhere/x.fmu"], 2),
                        (["export", path, "--set", "nothing=1"], 1)):
        run = saltus(*words, cwd=folder, good=False)
        check(run.returncode == code and run.stderr, words, run.returncode, run.stderr)
    check(path.read_text() == JUMPER, "the model is as it was")
    tables = SOURCE / "models" / "rules"
    for name, cyclic in (("plant", True), ("room", False)):
        run = saltus("export", tables / f"{name}.rules.md", "-o", Path(folder, "tables.fmu"))
        check(("asks for cyclic execution" in run.stderr) == cyclic, name, run.stderr)


def main(tests):
    if SANITIZED and "LD_PRELOAD" not in os.environ:  # it must be there before the interpreter is
        library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        os.execve(sys.executable, [sys.executable, *sys.argv],
                  dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS="detect_leaks=0"))
    if "built without libzip" in saltus("export", good=False).stderr:
        print("skipped: the program was built without libzip (Debian: libzip-dev)")
        return 77
    for name, test in list(tests.items()):
        if name.startswith("test_"):
            begun = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                test(Path(folder))
            print(name, f"{time.process_time() - begun:.1f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(globals()))
