#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The engine behind the workbench, as the page speaks with it: slices of a run are the run, values changed during
it can be replayed to the same bits, going back gives the same future, and files outside of the folder stay closed."""
import array
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

MODELS = os.path.join(saltus_run.SOURCE, "models")


class Engine:
    """The page's side."""

    def __init__(self, folder=MODELS):
        self.child = subprocess.Popen([saltus_run.PROGRAM, "serve", "--engine", folder],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()

    def ask_raw(self, body):
        self.child.stdin.write(struct.pack("<I", len(body)) + body)
        self.child.stdin.flush()
        size, = struct.unpack("<I", self.child.stdout.read(4))
        data = self.child.stdout.read(size)
        length, = struct.unpack("<I", data[:4])
        numbers = array.array("d")
        numbers.frombytes(data[(4 + length + 7) // 8 * 8:])
        return json.loads(data[4:4 + length]), numbers

    def ask(self, **request):
        return self.ask_raw(json.dumps(request).encode())

    def compile(self, path, text=None):
        if text is None:
            with open(os.path.join(MODELS, path), encoding="utf-8") as f:
                text = f.read()
        answer, _ = self.ask(op="compile", path=path, text=text)
        return answer

    def run(self, **settings):
        """A run to its end, in slices of ms; its answers and rows."""
        ms = settings.pop("ms", 5000)
        answer, numbers = self.ask(op="run", ms=ms, **settings)
        events = answer.get("events", [])
        while answer.get("state") == "running":
            answer, more = self.ask(op="more", ms=ms)
            numbers += more
            events += answer["events"]
        answer["events"] = events
        return answer, numbers


def rows(answer, numbers):
    width = answer["width"]
    return [tuple(numbers[i:i + width]) for i in range(0, len(numbers), width)]


GALLERY = ["ball.lisma", "thermostat.lisma", "relay.lisma", "stick_slip.lisma", "closed_space.lisma", "neurons.lisma",
           "rules/hoop.rules.md", "rules/hoop_rolling.rules.md"]


FALL = """const g0 = 10, h = 5, m = 2;
control h = 1:9;  control on = 0, 1;  on(t0) = 0;
y' = v;  y(t0) = h;  v' = -g0;  v(t0) = 0;
macro weight = m*g0;
energy = m*v^2/2 + m*g0*y;
state down [y <= 0] { y' = 0; v' = 0; v(t0) = 0; } from init;
animate { circle(0, y + h, m/4, "red"); text(0, 0, "{y*2:.1f} of {h}"); }
experiment { end = 2; }
"""


class Models(unittest.TestCase):
    def test_drawing_controls_and_macros(self):
        with Engine() as engine:
            model = engine.compile("fall.lisma", FALL)
            self.assertEqual([c["name"] for c in model["controls"]], ["h", "on"])
            self.assertEqual(model["controls"][0]["high"], 9)
            self.assertEqual(model["controls"][1]["values"], [0, 1])
            circle, text = model["drawing"]
            self.assertEqual((circle["kind"], circle["colour"], len(circle["numbers"])), ("circle", "red", 3))
            self.assertEqual(text["text"], "{2:.1f} of {3}")
            answer, numbers = engine.run()
            columns = answer["columns"]
            places = [columns.index(n) for n in circle["numbers"] + text["numbers"]]
            y = columns.index("y")
            for row in rows(answer, numbers):
                value = row[1 + y]
                self.assertEqual([row[1 + p] for p in places], [0, value + 5, 0.5, 0, 0, value * 2, 5])
                self.assertEqual(row[1 + columns.index("weight")], 20)
            # all of the energy goes at the impact
            energy = columns.index("{energy}")
            self.assertEqual(rows(answer, numbers)[0][1 + energy], 100)
            self.assertAlmostEqual(answer["statistics"]["energyEvents"], -100, 6)
            self.assertTrue(all(not row[-1] <= 0 for row in rows(answer, numbers)), "steps are positive")


    def test_drawing_of_tables(self):
        """The hoop draws itself where its tables say; a model that includes it adds to the drawing."""
        with Engine() as engine:
            model = engine.compile("rules/hoop_rolling.rules.md")
            self.assertTrue(model["ok"], model)
            shapes = model["drawing"]
            self.assertEqual([s["kind"] for s in shapes], ["line", "circle", "arrow", "text", "text"])
            self.assertEqual((shapes[1]["colour"], shapes[3]["text"]), ("steelblue", "h = {2:.0f} cm"))
            answer, numbers = engine.run()
            columns = answer["columns"]
            circle = [columns.index(n) for n in shapes[1]["numbers"]]
            height = columns.index("h height")
            for row in rows(answer, numbers):
                self.assertEqual([row[1 + c] for c in circle], [0, row[1 + height], 30])

    def test_controls_of_tables(self):
        """Constants, logical states and computed ones; LISMA and tables written again have the same."""
        text = """## Constants
| name | value |
|---|---|
| a gain | 2 |
## States
| name | initial | kind |
|---|---|---|
| x | 0 | real |
| on | true | logical |
## Rules
| # | variable | procedure | coefficient | argument 1 | situation |
|---|---|---|---|---|---|
| 1 | x | integral | 1 | a gain | on |
## Controls
| name | range |
|---|---|
| a gain | 0 : `a gain` * 5 |
| on | |
| x | 0, 1, 4 |
"""
        controls = [("a gain", 0, 10, []), ("on", None, None, [0, 1]), ("x", None, None, [0, 1, 4])]
        with Engine() as engine, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.rules.md")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            texts = {"m.rules.md": text}
            for name in ("again.rules.md", "again.lisma"):
                again = os.path.join(folder, name)
                subprocess.run([saltus_run.PROGRAM, "convert", path, again], check=True, capture_output=True)
                with open(again, encoding="utf-8") as f:
                    texts[name] = f.read()
            for name, written in texts.items():
                found = engine.compile(name, written)["controls"]
                self.assertEqual([(c["name"], c["low"], c["high"], c["values"]) for c in found], controls, name)


class Costs(unittest.TestCase):
    def test_named(self):
        """What is followed at every step, and the one fast state, are named first."""
        text = """x' = 50*cos(50*time); x(t0) = 0; slow' = 1e-3; slow(t0) = 0;
state on [x >= 0.5] { } from init, off;
state off [x <= -0.5] { } from on;
experiment { end = 2; }
"""
        with Engine() as engine:
            engine.compile("m.lisma", text)
            answer, _ = engine.run()
            self.assertEqual({c["name"] for c in answer["relations"]}, {"x >= 0.5", "x <= -0.5"})
            self.assertEqual({c["line"] for c in answer["relations"]}, {2, 3})
            self.assertEqual(answer["limits"][0]["name"], "x")
            self.assertGreater(answer["limits"][0]["steps"], 0.7 * answer["statistics"]["steps"])

    def test_rows_as_close_as_asked(self):
        with Engine() as engine:
            for every, count in ((1e-4, 10001), (0.5, 1001)):
                engine.compile("m.lisma", f"x' = 1; experiment {{ end = 1; every = {every}; }}")
                answer, numbers = engine.run()
                self.assertEqual(len(rows(answer, numbers)), count)


class Files(unittest.TestCase):
    def test_exports(self):
        """What the page writes has the rows of the command line, with the changes of the run."""
        changes = [{"t": 1.0, "name": "k", "value": 0.5}]
        with Engine() as engine, tempfile.TemporaryDirectory() as folder:
            engine.compile("ball.lisma")
            with open(os.path.join(MODELS, "ball.lisma"), encoding="utf-8") as f:
                text = f.read()

            def export(form, **more):
                answer, numbers = engine.ask(op="export", changes=changes, path="ball.lisma", text=text, **{"as": form}, **more)
                return answer, numbers.tobytes()[:answer.get("bytes", 0)]
            _, rows_here = export("csv", until=4)
            replay = os.path.join(folder, "r.jsonl")
            with open(replay, "w", encoding="utf-8") as f:
                f.write("".join(json.dumps(c) + "\n" for c in changes))
            subprocess.run([saltus_run.PROGRAM, "run", os.path.join(MODELS, "ball.lisma"), "--replay", replay, "--until", "4",
                            "-o", os.path.join(folder, "m.csv"), "--quiet", "--native", "off"], check=True)
            with open(os.path.join(folder, "m.csv"), "rb") as f:
                self.assertEqual(rows_here, f.read())
            self.assertTrue(export("mat")[1].startswith(b"MATLAB 5.0 MAT-file"))
            answer, picture = export("svg", panels=[{"names": "y,v", "log": False}])
            self.assertTrue(picture.startswith(b"<svg") and picture.rstrip().endswith(b"</svg>"), answer)
            answer, report = export("report", set={"k": 0.6})
            self.assertTrue("init → bounce".encode() in report, answer)
            self.assertTrue(b">0.5</td>" in report, "the value it has at the end")
            self.assertIn("error", export("docx")[0])
            self.assertIn("error", export("svg", panels=[{"names": "nothing"}])[0])


class Experiments(unittest.TestCase):
    """Closed forms: a fall from h takes sqrt(2 h / g)."""

    def test_sweep_in_slices(self):
        with Engine() as engine:
            engine.compile("fall.lisma", FALL)
            found = []
            while True:
                answer, numbers = engine.ask(op="sweep", design=["h=1:4:4", "g0=8,10"], measures=["time(main.down)"],
                                             set={"m": 7}, **{"from": len(found), "ms": 0})
                found += [tuple(numbers[i:i + 3]) for i in range(0, len(numbers), 3)]
                if len(found) >= answer["members"]:
                    break
            self.assertEqual(len(found), 8)
            for h, g0, t in found:
                self.assertAlmostEqual(t, (2 * h / g0) ** 0.5, 8)

    def test_sens_and_fit(self):
        with Engine() as engine:
            engine.compile("fall.lisma", FALL)
            answer, _ = engine.ask(op="sens", parameters=["h"], measures=["time(main.down)"], set={"g0": 8, "h": 4})
            derivative, = answer["derivatives"]
            self.assertEqual((derivative["verdict"], derivative["at"]), ("exists", 4))
            self.assertAlmostEqual(derivative["derivative"], 0.5 / 4, 6)
            data = "time,y\n" + "".join(f"{t / 10},{4 - 3 * (t / 10) ** 2}\n" for t in range(8))
            answer, _ = engine.ask(op="fit", data=data, parameters=["g0", "h"], set={"m": 3})
            values = {p["name"]: p["value"] for p in answer["parameters"]}
            self.assertAlmostEqual(values["g0"], 6, 5)
            self.assertAlmostEqual(values["h"], 4, 5)

    def test_refusals(self):
        with Engine() as engine:
            engine.compile("fall.lisma", FALL)
            for request in ({"op": "sweep", "design": ["q=1:2:3"], "measures": ["end(y)"]},
                            {"op": "sweep", "design": ["h=1:2:3"], "measures": ["end(zz)"]},
                            {"op": "sweep", "design": ["h=1:2:3"]}, {"op": "sweep", "design": ["h=1:2:9000", "g0=1:2:9000"], "measures": ["end(y)"]},
                            {"op": "sens", "parameters": ["q"], "measures": ["end(y)"]},
                            {"op": "fit", "data": "nothing", "parameters": ["h"]}, {"op": "fit", "parameters": ["h"]}):
                answer, _ = engine.ask(**request)
                self.assertIn("error", answer, request)


class Runs(unittest.TestCase):
    def test_slices_are_the_run(self):
        with Engine() as e:
            for model in GALLERY:
                with self.subTest(model):
                    self.assertTrue(e.compile(model)["ok"])
                    whole, numbers = e.run()
                    pieces, others = e.run(ms=0)
                    self.assertEqual(numbers.tobytes(), others.tobytes())
                    self.assertEqual(whole["events"], pieces["events"])
                    self.assertIn(whole["state"], ("done", "stopped"))

    def test_rows_equal_those_of_the_command_line(self):
        with Engine() as e, tempfile.TemporaryDirectory() as folder:
            for model in GALLERY[:4]:
                with self.subTest(model):
                    e.compile(model)
                    answer, numbers = e.run(samples=200)
                    file = os.path.join(folder, "rows.csv")
                    path = os.path.join(MODELS, model)
                    subprocess.run([saltus_run.PROGRAM, "run", path, "-o", file, "--samples", "200", "--quiet",
                                    "--native", "off"], check=True)
                    with open(file, encoding="utf-8") as f:
                        header = f.readline().rstrip("\n").split(",")
                        expected = {tuple(float(c) if c else None for c in line.split(",")) for line in f}
                    got = {tuple(None if v != v else v for v in row[:len(header)]) for row in rows(answer, numbers)}
                    self.assertEqual(expected - got, set())

    def test_events_one_by_one(self):
        with Engine() as e:
            e.compile("ball.lisma")
            whole, _ = e.run()
            answer, _ = e.ask(op="run", ms=0, to=0)
            times = []
            while answer["state"] == "running":
                answer, _ = e.ask(op="more", events=1, ms=5000)
                times += [event["t"] for event in answer["events"]]
            self.assertEqual(times, [event["t"] for event in whole["events"][1:]])


class Large(unittest.TestCase):
    def test_columns(self):
        """A large model hands over what its experiment names, or the first quantities; a small one all of them."""
        cells = "for i = 1:{n} {{ x[i]' = i; }} experiment {{ end = 1; {out} }}"
        with Engine() as e:
            for n, out, columns in ((20, "out = x7;", [f"x{i}" for i in range(1, 21)]),
                                    (5000, "", [f"x{i}" for i in range(1, 301)]),
                                    (5000, "out = x4999, x7;", ["x4999", "x7"])):
                self.assertTrue(e.compile("m.lisma", cells.format(n=n, out=out))["ok"])
                answer, numbers = e.ask(op="run", ms=5000)
                self.assertEqual((answer["state"], answer["columns"]), ("done", columns))
                last = rows(answer, numbers)[-1]
                self.assertEqual(last[0], 1.0)
                for name, value in zip(columns, last[1:]):
                    self.assertAlmostEqual(value, float(name[1:]), delta=1e-3)


class Changes(unittest.TestCase):
    def test_replay_and_back(self):
        """Random changes of a random constant at random times: a run with that list has the same bits, and so has
        the future after going back."""
        choice = random.Random(7)
        with Engine() as e:
            for model in GALLERY:
                with self.subTest(model):
                    compiled = e.compile(model)
                    names = [c["name"] for c in compiled["names"]["constants"] if not c["structural"]]
                    if not names:
                        continue
                    first, _ = e.ask(op="run", ms=0, to=0)
                    end = first["end"]
                    constants = first["constants"]
                    for t in sorted(choice.uniform(0, end) for _ in range(3)):
                        answer, _ = e.ask(op="more", to=t, ms=5000)
                        name = choice.choice(names)
                        value = constants[name] * choice.uniform(0.8, 1.25)
                        answer, _ = e.ask(op="change", name=name, value=value)
                    changed, numbers = e.ask(op="more", ms=5000)
                    self.assertIn(changed["state"], ("done", "stopped"))
                    last = numbers[-changed["width"]:]
                    again, others = e.run(changes=changed["changes"])
                    self.assertEqual(last.tobytes(), others[-again["width"]:].tobytes())
                    self.assertEqual(again["changes"], changed["changes"])
                    e.ask(op="back", to=choice.uniform(0, end))
                    # what was planned behind that time is gone; the rest stays
                    back, _ = e.ask(op="more", ms=5000)
                    replay, others = e.run(changes=back["changes"])
                    self.assertEqual(replay["state"], back["state"])

    def test_constant_equals_discrete_variable(self):
        """A constant changed from outside at T is a variable that `at T` sets."""
        law = "x' = v; v' = -{k}*x - 0.1*v; x(t0) = 1; state up [x > 0.5] {{ v(t0) = v*0.9; }} from init, up; " \
              "experiment {{ end = 8; }}"
        with Engine() as e:
            for t, value in ((0.7, 3.0), (2.25, 0.5), (5.0, 9.0)):
                e.compile("a.lisma", "const k = 2; " + law.format(k="k"))
                e.ask(op="run", ms=0, to=0)
                e.ask(op="more", to=t, ms=5000)
                e.ask(op="change", name="k", value=value)
                one, numbers = e.ask(op="more", ms=5000)
                got = rows(one, numbers)[-1]
                e.compile("b.lisma", f"q(t0) = 2; at {t} {{ set q = {value}; }} " + law.format(k="q"))
                two, numbers = e.run()
                names = [v["name"] for v in e.compile(
                    "b.lisma", f"q(t0) = 2; at {t} {{ set q = {value}; }} " + law.format(k="q"))["names"]["variables"]]
                expected = dict(zip(names, rows(two, numbers)[-1][1:]))
                self.assertAlmostEqual(got[1], expected["x"], delta=1e-5)
                self.assertAlmostEqual(got[2], expected["v"], delta=1e-5)

    def test_what_is_fixed_at_the_start(self):
        with Engine() as e:
            e.compile("a.lisma", "const T = 2, n = 3, k = 1; x' = k; at T { set x = 0; } "
                                 "for i = 1:n { y[i]' = i; }")
            e.ask(op="run", ms=5000, to=1)
            for name, value in (("T", 3), ("n", 4), ("nothing", 1), ("k", 1e999)):
                answer, _ = e.ask_raw(json.dumps({"op": "change", "name": name, "value": value}).encode())
                self.assertIn("error", answer, name)
            answer, _ = e.ask(op="change", name="k", value=2)
            self.assertNotIn("error", answer)
            answer, numbers = e.ask(op="more", to=1.5, ms=1000)
            self.assertAlmostEqual(rows(answer, numbers)[-1][1], 2.0)


class Nonsense(unittest.TestCase):
    def test_answers(self):
        with Engine() as e:
            for body in (b"", b"{", b"[]", b"3", b'{"op":7}', b'{"op":"run"}', b'{"op":"more"}', b'{"op":"back"}',
                         b'{"op":"compile"}', b'{"op":"rows","window":[1]}', b'{"op":"\xff"}'):
                answer, _ = e.ask_raw(body)
                self.assertIn("error", answer, body)
            self.assertFalse(e.compile("a.lisma", "x' = ;")["ok"])
            self.assertTrue(e.compile("a.lisma", "x' = 1;")["ok"])

    def test_files_outside_stay_closed(self):
        with tempfile.TemporaryDirectory() as folder:
            inside = os.path.join(folder, "in")
            os.mkdir(inside)
            for place in (folder, inside):
                with open(os.path.join(place, "d.csv"), "w", encoding="utf-8") as f:
                    f.write("t,y\n0,0\n1,5\n")
            os.symlink(os.path.join(folder, "d.csv"), os.path.join(inside, "link.csv"))
            with Engine(inside) as e:
                for name, good in (("d.csv", True), ("../d.csv", False), ("link.csv", False),
                                   ("a/../../d.csv", False), (os.path.join(folder, "d.csv"), False)):
                    answer = e.compile("m.lisma", f'data d = "{name}", y; x = table(d, time);')
                    self.assertEqual(answer["ok"], good, name)


if __name__ == "__main__":
    unittest.main()
