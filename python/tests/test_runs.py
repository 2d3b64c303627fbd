# SPDX-License-Identifier: MIT
"""Models, runs, results and errors."""

import copy
import gc
import json
import math
import pickle
import tempfile
import unittest
import weakref
from pathlib import Path

import numpy as np
import saltus
from common import BALL, HEATER, JUMPER, MODELS, ROW, command


class Loading(unittest.TestCase):
    def test_text_and_file_are_told_apart(self):
        self.assertEqual(saltus.load(BALL).name, "model")
        self.assertEqual(saltus.load(str(MODELS / "ball.lisma")).name, "ball")
        self.assertEqual(saltus.load(MODELS / "ball.lisma").name, "ball")
        with self.assertRaises(FileNotFoundError) as caught:
            saltus.load("no_such.lisma")
        self.assertIn("no_such.lisma", str(caught.exception))
        # a path is never a text
        with self.assertRaises(FileNotFoundError):
            saltus.load(Path("x' = 1;"))

    def test_wrong_sources(self):
        for source in (None, 3, b"x' = 1;", ["x"], 1.5):
            with self.assertRaises((TypeError, FileNotFoundError)):
                saltus.load(source)
        with self.assertRaises(ValueError):
            saltus.load("x' = 1;", name="a\0b")

    def test_what_a_model_is(self):
        m = saltus.load(HEATER)
        self.assertEqual(list(m.variables), ["x", "u"])
        self.assertEqual(m.inputs, ["u"])
        self.assertTrue(m.variables["u"].discrete)
        self.assertEqual(list(m.constants), ["C"])
        self.assertEqual(m.automata, {"warm": ["init", "hot", "cooled"]})
        self.assertIn("x", m.explain())
        json.loads(m.explain("json"))
        self.assertIn("<svg", m.graph())
        self.assertIsNone(saltus.load("x' = 1;").graph())
        self.assertEqual(saltus.load(BALL).inputs, [])  # n is written by the model
        with self.assertRaises(ValueError):
            m.explain("xml")

    def test_constants_that_shape_the_model(self):
        m = saltus.load(ROW)
        self.assertTrue(m.constants["N"].fixed)
        self.assertEqual(len(saltus.load(ROW, params={"N": 5}).variables), 5)
        with self.assertRaises(ValueError) as caught:
            m.run(params={"N": 5})
        self.assertIn("saltus.load", str(caught.exception))
        with self.assertRaises(saltus.ModelError):
            saltus.load(ROW, params={"M": 5})

    def test_messages_have_places(self):
        with self.assertRaises(saltus.ModelError) as caught:
            saltus.load("x' = -x;\ny' = x +* 2;\n")
        e = caught.exception
        self.assertEqual((e.line, e.column), (2, 9))
        self.assertRegex(e.code, r"^E\d{4}$")
        self.assertEqual("x' = -x;\ny' = x +* 2;\n"[e.span[0] : e.span[1]], "*")
        self.assertIn("^", str(e))
        self.assertEqual(e.diagnostics[0].severity, "error")
        self.assertEqual(pickle.loads(pickle.dumps(e)).line, 2)
        warned = saltus.load("x' = -x; x(t0) = 1; state never [1 > 2] {} from init;").warnings
        self.assertEqual({w.severity for w in warned}, {"warning"})

    def test_models_are_pickled_by_their_text(self):
        m = pickle.loads(pickle.dumps(saltus.load(BALL, params={"e": 0.5})))
        self.assertEqual(m.run(until=1)["v"].tolist(), saltus.load(BALL).run(until=1, params={"e": 0.5})["v"].tolist())

    def test_a_pickled_file_that_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.lisma")
            path.write_text("x' = 1; x(t0) = 0;\n")
            m = saltus.load(path)
            kept = pickle.dumps(m)
            self.assertAlmostEqual(pickle.loads(kept).run(until=1).last("x"), 1)
            path.write_text("x' = 2; x(t0) = 0;\n")
            with self.assertRaisesRegex(ValueError, "is not what it was"):
                pickle.loads(kept)
            self.assertIs(copy.deepcopy(m), m)

    def test_format(self):
        self.assertEqual(saltus.format("x'=1;"), "x' = 1;\n")
        with self.assertRaises(RuntimeError):
            saltus.format("x' = ;")


class Results(unittest.TestCase):
    def test_same_bits_as_the_command_line(self):
        for name in ("ball", "buck", "stick_slip", "traffic_light", "sliding", "predator_prey"):
            path = MODELS / f"{name}.lisma"
            with tempfile.TemporaryDirectory() as folder:
                rows = Path(folder, "rows.csv")
                events = Path(folder, "events.jsonl")
                command("run", path, "-o", rows, "--events", events, "--quiet", "--until", 3, cwd=folder)
                result = saltus.load(path).run(until=3)
                mine = Path(folder, "mine.csv")
                result.save(mine)
                self.assertEqual(mine.read_bytes(), rows.read_bytes(), name)
                self.assertEqual(result.events.json_lines, events.read_text(), name)

    def test_the_experiment_gives_defaults(self):
        for path in sorted(MODELS.glob("*.lisma"))[::9]:
            with tempfile.TemporaryDirectory() as folder:
                command("run", path, "-o", "rows.csv", "--quiet", cwd=folder)
                result = saltus.load(path).run()
                result.save(Path(folder, "mine.csv"))
                self.assertEqual(Path(folder, "mine.csv").read_bytes(), Path(folder, "rows.csv").read_bytes(), path)

    def test_columns_own_their_memory(self):
        m = saltus.load(JUMPER)
        r = m.run(until=10)
        y, t = r["y"], r.t
        copies = y.copy(), t.copy()
        self.assertFalse(y.flags.owndata)  # not copied
        self.assertEqual(y.__array_interface__["data"][0], np.frombuffer(r._recording.column(1)).__array_interface__["data"][0])
        self.assertFalse(y.flags.writeable)
        with self.assertRaises(ValueError):
            y[0] = 1
        gone = weakref.ref(m)
        for k in range(20):
            m.run(until=10, params={"T": 1 + k / 10})  # other runs do not touch it
        del m, r
        gc.collect()
        self.assertIsNone(gone())
        junk = [np.full(4000, 7.0) for _ in range(50)]
        self.assertTrue(np.array_equal(y, copies[0]) and np.array_equal(t, copies[1]))
        del junk

    def test_views_keep_alive_what_they_show(self):
        view = memoryview(saltus.load(BALL).run(until=2)._recording.column(0))
        events = saltus.load(BALL).run(until=2).events.t
        gc.collect()
        self.assertEqual(len(view) % 8, 0)
        self.assertEqual(events[0], 0)

    def test_out(self):
        m = saltus.load(HEATER)
        r = m.run(until=6, out=["x'", "C", "warm.state", "x"])
        self.assertEqual(r.names, ["time", "x'", "C", "warm.state", "x"])
        self.assertEqual(r["warm.state"][0], "init")
        self.assertEqual(r.last("warm.state"), "hot")
        self.assertTrue(np.all(r["C"] == 2))
        self.assertEqual(m.run(until=1, out=[]).names, ["time"])
        self.assertEqual(m.run(until=1, out=("x",)).names, ["time", "x"])
        with self.assertRaises(TypeError):
            m.run(out="x")
        with self.assertRaises(TypeError):
            m.run(out=["x", 3])
        with self.assertRaises(saltus.UnknownName) as caught:
            m.run(out=["x", "y"])
        self.assertEqual(caught.exception.name, "y")
        with self.assertRaises(KeyError):
            m.run()["nothing"]
        with self.assertRaises(TypeError):
            m.run()[0]

    def test_rows(self):
        m = saltus.load(BALL)
        self.assertEqual(m.run(until=1, every=0.25, event_rows="none").t.tolist(), [0, 0.25, 0.5, 0.75, 1])
        self.assertEqual(m.run(until=1, samples=2, event_rows="none").rows, 3)
        self.assertEqual(m.run(until=0).rows, 1)
        r = m.run(until=1, samples=1)
        self.assertEqual(r.t[1], r.t[2])  # before and after the bounce
        self.assertLess(r["v"][1], 0)
        self.assertGreater(r["v"][2], 0)
        self.assertGreater(m.run(until=1, all_steps=True).rows, 3)
        for wrong in (dict(every=0), dict(every=-1), dict(every=math.nan), dict(samples=0), dict(samples=-5), dict(samples=2**70),
                      dict(every=1, samples=3), dict(event_rows="some"), dict(events=3), dict(until=math.inf),
                      dict(until=math.nan), dict(until=-1)):
            with self.assertRaises(ValueError, msg=str(wrong)):
                m.run(**wrong)
        for wrong in (dict(until="3"), dict(every="1"), dict(samples=1.5), dict(params=3), dict(params={"e": "1"}),
                      dict(on_event=3), dict(on_step="f"), dict(params={"e": None}), dict(params={3: 1}), dict(rtol="small"), dict(nonsense=1)):
            with self.assertRaises(TypeError, msg=str(wrong)):
                m.run(**wrong)
        for wrong in (dict(rtol=-1), dict(method="no"), dict(detection="no"), dict(seed=-1), dict(max_steps=1.5),
                      dict(params={"e": math.inf}), dict(params={"e": math.nan}), dict(params={"y": 1})):
            with self.assertRaises(ValueError, msg=str(wrong)):
                m.run(**wrong)

    def test_options(self):
        m = saltus.load(BALL)
        self.assertEqual(m.run(until=1, threads=2).last("y"), m.run(until=1).last("y"))
        for wrong in (0, -1, 1.5, "2", 10**9):
            with self.assertRaises(ValueError, msg=repr(wrong)):
                m.run(until=1, threads=wrong)
        with self.assertRaisesRegex(ValueError, "there is no method 'rk45'; there are .*rodas5"):
            m.run(until=1, method="rk45")
        # the options that an error lists are those that the documentation names
        with self.assertRaisesRegex(TypeError, "there is no option 'tol'") as caught:
            m.run(until=1, tol=1)
        listed = str(caught.exception).partition("there are ")[2].split(", ")
        self.assertEqual(listed, " ".join(saltus.Model.run.__doc__.partition("options     ")[2].partition("\n\n")[0].split()).split(", "))
        # numbers that equal True and False are as good as these
        self.assertIsNotNone(m.run(until=1, events=1).events[1].atom)
        with self.assertRaises(ValueError):
            m.run(until=1, events=0).modes  # noqa: B018

    def test_arguments_that_fail_by_themselves(self):
        class Bad:
            def __bool__(self):
                raise LookupError("mine")

            __float__ = __index__ = __bool__

        m = saltus.load(BALL)
        for wrong in (dict(all_steps=Bad()), dict(until=Bad()), dict(every=Bad()), dict(samples=Bad()), dict(rtol=Bad()),
                      dict(params={"e": Bad()}), dict(on_step=lambda t: Bad())):
            with self.assertRaises(LookupError, msg=str(wrong)):
                m.run(**{"until": 1, **wrong})
        with self.assertRaises(ValueError):
            m.run(until=1, every=1e-300)
        for name in ("until", "every", "rtol", "gamma"):
            with self.assertRaisesRegex(ValueError, f"{name} is too large"):
                m.run(**{"until": 1, name: 10**400})

    def test_numbers_of_other_kinds(self):
        m = saltus.load(BALL)
        r = m.run(until=np.float32(1), params={"e": np.float64(0.5), "h": np.int64(2)}, rtol=np.float64(1e-8))
        self.assertEqual(r["y"][0], 2)
        self.assertEqual(m.run(until=1, params={"h": True})["y"][0], 1)

    def test_a_parameter_that_changes_the_dict(self):
        params = {}

        class Sly:
            def __float__(self):
                params.update({f"k{i}": 1.0 for i in range(1000)})
                return 0.5

        params.update(e=Sly(), h=1.0)
        saltus.load(BALL).run(until=1, params=params)

    def test_at(self):
        r = saltus.load(JUMPER).run(until=3, every=0.25)
        self.assertEqual(r.at("n", 1.1), 1)
        self.assertAlmostEqual(r.at("v", 0.125), 3)
        self.assertEqual(r.at("n", [0.5, 1.5]).tolist(), [0, 1])
        with self.assertRaises(ValueError):
            r.at("n", 4)

    def test_modes(self):
        r = saltus.load(HEATER).run(until=6)
        band = r.modes["warm"]
        self.assertEqual(band.state, ["init", "hot"])
        self.assertAlmostEqual(band.start[1], 2 * math.log(4), places=6)
        self.assertEqual((band.start[0], band.end[-1]), (0, 6))
        self.assertEqual(band.at(0), "init")
        self.assertEqual(r.final_states, {"warm": "hot"})
        for name in ("traffic_light", "ball", "thermostat", "stick_slip"):
            m = saltus.load(MODELS / f"{name}.lisma")
            states = [f"{a}.state" for a in m.automata]
            r = m.run(until=20, out=states, event_rows="all")
            for state in states:
                band = r.modes[state.removesuffix(".state")]
                self.assertEqual([band.at(t) for t in r.t[1:-1:7]], _after(r, state)[1:-1:7].tolist(), name)
        with self.assertRaises(ValueError):
            saltus.load(HEATER).run(until=6, events=False).modes

    def test_events(self):
        r = saltus.load(JUMPER).run(until=5.5)
        self.assertEqual(len(r.events), 6)
        self.assertTrue(np.allclose(r.events.t[1:], [1, 2, 3, 4, 5], rtol=1e-9))
        self.assertEqual(r.events.kind.tolist(), ["initial"] + ["state"] * 5)
        self.assertEqual(r.events.target.tolist(), [None] + ["up"] * 5)
        self.assertTrue(all(r.events.certified))
        e = r.events[-1]
        self.assertEqual((e.source, e.target, e.event_class, e.cause), ("up", "up", "pinnacle", "crossing"))
        self.assertEqual(e.changed["n"], (4, 5))
        self.assertLessEqual(e.bracket[0], e.t)
        self.assertIsNone(e.energy)
        with self.assertRaises(AttributeError):
            e.nonsense
        with self.assertRaises(IndexError):
            r.events[6]
        self.assertEqual([x.t for x in r.events[1:3]], [x.t for x in list(r.events)[1:3]])
        light = saltus.load(JUMPER).run(until=5.5, events="light").events
        for a, b in zip(light, r.events):
            for key, value in a.as_dict().items():
                self.assertEqual(value, b.as_dict().get(key), key)
        self.assertEqual(len(saltus.load(JUMPER).run(until=5.5, events=False).events), 0)

    def test_pickled_results(self):
        r = saltus.load(BALL).run(until=3)
        s = pickle.loads(pickle.dumps(r))
        self.assertTrue(np.array_equal(r["y"], s["y"]))
        self.assertEqual(list(r.events), list(s.events))
        self.assertEqual(s.modes["main"].state, r.modes["main"].state)
        self.assertEqual(s.statistics["steps"], r.statistics["steps"])
        with self.assertRaises(ValueError):
            s.svg()

    def test_pictures_and_files(self):
        r = saltus.load(BALL).run(until=3)
        self.assertTrue(r.svg("y").lstrip().startswith("<"))
        with self.assertRaises(KeyError):
            r.svg("nothing")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ValueError):
                r.save(Path(folder, "rows.nothing"))
            r.save(Path(folder, "rows.jsonl"))
            self.assertEqual(json.loads(Path(folder, "rows.jsonl").read_text().splitlines()[0])["y"], 1)


def _after(result, name):
    """Texts of a column; of rows at the same time the last."""
    last = np.searchsorted(result.t, result.t, side="right") - 1
    return result[name][last]


class Failures(unittest.TestCase):
    def test_hints_name_arguments(self):
        """Hints speak of arguments of Python, not of options of the command line."""
        m = saltus.load("x' = -x; x(t0) = 1;")
        with self.assertRaisesRegex(ValueError, "fixed step: give it with step, or"):
            m.run(until=1, method="euler")
        with self.assertRaises(saltus.RunError) as caught:
            saltus.load("x' = x * x; x(t0) = 1;").run(until=2)
        self.assertNotIn("--", str(caught.exception))
        self.assertNotIn("--", caught.exception.hint)
        hint = saltus._errors.in_python("try a larger --rtol, a smaller --hmin, or --method dp54")
        self.assertEqual(hint, 'try a larger rtol, a smaller h_min, or method="dp54"')

    def test_a_run_that_fails_keeps_its_rows(self):
        with self.assertRaises(saltus.RunError) as caught:
            saltus.load("x' = x * x; x(t0) = 1;").run(until=2)
        e = caught.exception
        self.assertAlmostEqual(e.time, 1, places=4)
        self.assertEqual(e.line, 1)
        self.assertRegex(e.code, r"^E\d{4}$")
        self.assertTrue(e.hint)
        self.assertFalse(e.result.complete)
        self.assertGreater(e.result.rows, 100)
        self.assertIn("^", str(e))
        self.assertEqual(pickle.loads(pickle.dumps(e)).code, e.code)

    def test_a_run_that_cannot_start(self):
        with self.assertRaises(saltus.RunError) as caught:
            saltus.load("x' = ln(x); x(t0) = -1;").run()
        self.assertEqual(caught.exception.time, 0)
        with self.assertRaises(saltus.RunError):
            saltus.load("x' = ln(x); x(t0) = -1;").sim()

    def test_limits(self):
        with self.assertRaises(saltus.RunError) as caught:
            saltus.load(JUMPER).run(until=100, max_events=10)
        self.assertEqual(caught.exception.result.last("n"), 11)

    def test_the_model_stops_a_run(self):
        r = saltus.load("x' = 1; x(t0) = 0; state done [x >= 1] { stop \"enough\"; } from init;").run(until=5)
        self.assertTrue(r.stopped and r.complete)
        self.assertAlmostEqual(r.end, 1)
        self.assertEqual(r.events[-1].text, "enough")


class Callbacks(unittest.TestCase):
    def test_events_as_they_happen(self):
        seen = []
        r = saltus.load(JUMPER).run(until=4.5, on_event=seen.append)
        self.assertEqual(seen, list(r.events))
        seen = []
        saltus.load(JUMPER).run(until=4.5, on_event=seen.append, events=False)
        self.assertEqual(len(seen), 5)

    def test_exceptions_come_through(self):
        def fail(event):
            if event.n == 0 and event.t > 2.5:
                raise KeyError("mine")

        with self.assertRaises(KeyError) as caught:
            saltus.load(JUMPER).run(until=100, on_event=fail)
        self.assertLess(caught.exception.result.end, 10)
        self.assertAlmostEqual(caught.exception.result.events[-1].t, 3)

        def fail_step(t):
            if t > 3:
                raise OSError(5, "mine")

        with self.assertRaises(OSError) as caught:
            saltus.load(JUMPER).run(until=100, on_step=fail_step)
        self.assertLess(caught.exception.result.end, 10)

    def test_exceptions_that_take_no_attributes(self):
        class Closed(Exception):
            def __setattr__(self, name, value):
                raise AttributeError(name)

        def fail(t):
            raise Closed

        with self.assertRaises(Closed):
            saltus.load(BALL).run(until=1, on_step=fail)

    def test_copies(self):
        r = saltus.load(BALL).run(until=1)
        for other in (copy.copy(r), copy.deepcopy(r)):
            self.assertEqual(other.svg(), r.svg())

    def test_steps_can_end_a_run(self):
        r = saltus.load(JUMPER).run(until=100, on_step=lambda t: t > 5)
        self.assertFalse(r.complete)
        self.assertLess(r.end, 10)
        with self.assertRaises(TypeError):
            saltus.load(JUMPER).run(on_step=3)

    def test_other_runs_inside_a_callback(self):
        m = saltus.load(JUMPER)
        ends = []
        m.run(until=3.5, on_event=lambda e: ends.append(m.run(until=e.t + 0.1).end))
        self.assertEqual(len(ends), 4)


class Elsewhere(unittest.TestCase):
    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not there")
        r = saltus.load(BALL).run(until=3, out=["y", "main.state"])
        frame = r.to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(frame["y"].iloc[0], 1)
        self.assertEqual(frame.index.name, "time")
        self.assertEqual(len(r.events.to_pandas()), len(r.events))
        for make in (pandas.DataFrame, np.array):
            with self.assertRaisesRegex(TypeError, "to_pandas"):
                make(r)
        self.assertEqual(pandas.DataFrame(r.to_numpy()).columns.tolist(), r.names)

    def test_structured_arrays(self):
        r = saltus.load(BALL).run(until=1, out=["y", "main.state", "y"])
        table = r.to_numpy()
        self.assertEqual(table.dtype.names, ("time", "y", "main.state"))
        self.assertEqual(table["y"].tolist(), r["y"].tolist())
        self.assertEqual(table["main.state"][-1], "bounce")

    def test_xarray(self):
        try:
            import xarray  # noqa: F401
        except ImportError:
            self.skipTest("xarray is not there")
        data = saltus.load(BALL).run(until=3).to_xarray()
        self.assertEqual(float(data["y"][0]), 1)

    def test_matplotlib(self):
        try:
            import matplotlib

            matplotlib.use("Agg")
        except ImportError:
            self.skipTest("matplotlib is not there")
        r = saltus.load(HEATER).run(until=6)
        ax = r.plot("x")
        self.assertEqual(len([p for p in ax.patches]), 2)  # two states
        low, high = ax.get_ylim()
        self.assertLess(low + 0.06 * (high - low), r["x"].min())  # below the curve
        self.assertTrue(ax.get_autoscaley_on())
        jumper = saltus.load(JUMPER).run(until=2.5)
        ax = jumper.plot("v")
        line = ax.lines[0].get_xydata()
        gaps = np.isnan(line[:, 1])
        self.assertEqual(gaps.sum(), 2)
        self.assertEqual(len(ax.lines), 1 + 2)
        self.assertIsNotNone(jumper.plot("v", x="y"))
        self.assertEqual(len(saltus.load(HEATER).run(until=6, events=False).plot("x").patches), 0)
        with self.assertRaises(KeyError):
            jumper.plot("nothing")


class Tables(unittest.TestCase):
    def test_located_and_cyclic(self):
        path = MODELS / "rules" / "room.rules.md"
        self.assertGreater(saltus.load(path).run(until=10).rows, 10)
        rules = saltus.load_rules(path)
        self.assertIn("|", rules.write())
        self.assertIn("=", rules.write("lisma"))
        with self.assertRaises(ValueError):
            rules.write("nothing")
        cyclic = rules.cyclic(0.5)
        first = cyclic[cyclic.columns[0]]
        for _ in range(20):
            cyclic.cycle()
        self.assertAlmostEqual(cyclic.time, 10)
        values = [cyclic[n] for n in cyclic.columns]
        cyclic.reset()
        self.assertEqual(cyclic[cyclic.columns[0]], first)
        again = pickle.loads(pickle.dumps(rules)).cyclic(0.5)
        for _ in range(20):
            again.cycle()
        self.assertEqual([again[n] for n in again.columns], values)
        with self.assertRaises(KeyError):
            cyclic["nothing"]
        with self.assertRaises(KeyError):
            cyclic["nothing"] = 1
        with self.assertRaises(TypeError):
            del cyclic[cyclic.columns[0]]
        for dt in (0, -1, math.nan, math.inf):
            with self.assertRaises(ValueError):
                rules.cyclic(dt)
        with self.assertRaises(saltus.ModelError):
            saltus.load_rules("# Rules\n\n| # | variable |\n|---|---|\n| 1 | x |\n")


if __name__ == "__main__":
    unittest.main()
