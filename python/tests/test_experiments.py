# SPDX-License-Identifier: MIT
"""Experiments: against closed forms, and what nobody should write."""

import math
import pickle
import signal
import tempfile
import threading
import types
import unittest
from pathlib import Path

import numpy as np
import saltus
from common import BALL, JUMPER, command

FALL = {"fall": "time(main.bounce)"}
DECAY = "const k = 2, a = 3; x' = -k * x; x(t0) = a;"


class Sweeps(unittest.TestCase):
    def test_closed_form_and_arrays(self):
        m = saltus.load(BALL)
        s = m.sweep({"h": np.linspace(0.5, 4, 8), "g0": [9.81, 1.62]}, FALL, until=10)
        self.assertEqual((len(s), s.parameters, s.measures), (16, ["h", "g0"], ["fall"]))
        np.testing.assert_allclose(s["fall"], np.sqrt(2 * s["h"] / s["g0"]), rtol=1e-9)
        self.assertFalse(s.failed.any() or s.failures)
        self.assertEqual(s["h"].tolist()[:4], [0.5, 0.5, 1.0, 1.0])  # the last parameter varies fastest
        self.assertIn("16 runs", repr(s))

    def test_same_as_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "ball.lisma")
            path.write_text(BALL)
            text = command("sweep", path, "--vary", "e=0.5:0.9:5", "--measure", "peak = max(y)", "--until", "3", "-o", "-", cwd=folder)
            rows = text.decode().splitlines()
            at = rows[0].split(",").index("peak")
            s = saltus.load(path).sweep({"e": "0.5:0.9:5"}, "peak = max(y)", until=3)
            self.assertEqual([float(r.split(",")[at]) for r in rows[1:6]], s["peak"].tolist())

    def test_jobs_make_no_difference(self):
        m = saltus.load(BALL)
        values = [
            m.sweep({"e": "~uniform(0.3, 0.9)", "h": "~normal(2, 0.1)"}, "end(y)", until=2, sampling="sobol", samples=64,
                    seed=3, correlate={("e", "h"): 0.5}, jobs=jobs)["end(y)"].tobytes()
            for jobs in (1, 2, 5)
        ]
        self.assertEqual(len(set(values)), 1)

    def test_members_that_fail(self):
        s = saltus.load("const k = 1; x' = k * x * x; x(t0) = 1;").sweep({"k": [0.5, 2, 0.25]}, "end(x)", until=1)
        self.assertEqual(s.failed.tolist(), [False, True, False])
        self.assertTrue(math.isnan(s["end(x)"][1]))
        self.assertEqual(s.failures[1][0], "E0801")
        self.assertAlmostEqual(s["end(x)"][0], 2.0, places=5)
        self.assertIn("1 failed", repr(s))

    def test_tables(self):
        frame = saltus.load(DECAY).sweep({"k": [1, 2]}, "end(x)", until=1).to_pandas()
        self.assertEqual(list(frame.columns), ["k", "end(x)", "status"])

    def test_wrong_arguments(self):
        m = saltus.load(BALL)
        for kind, call in (
            (ValueError, lambda: m.sweep({"nobody": [1]}, FALL)),
            (ValueError, lambda: m.sweep({"h": "1:"}, FALL)),
            (ValueError, lambda: m.sweep({"h": [math.nan]}, FALL)),
            (ValueError, lambda: m.sweep({"h": []}, FALL)),
            (ValueError, lambda: m.sweep({"h": [[1, 2]]}, FALL)),
            (ValueError, lambda: m.sweep({"h": [1]}, "max(nobody)")),
            (ValueError, lambda: m.sweep({"h": [1]}, "max(")),
            (ValueError, lambda: m.sweep({"h": [1]}, "h = max(y)")),
            (ValueError, lambda: m.sweep({"h": [1]}, "status = max(y)")),
            (ValueError, lambda: m.sweep({"h": [1]}, FALL, sampling="best")),
            (ValueError, lambda: m.sweep({"h": "0:1"}, FALL, sampling="lhs")),
            (ValueError, lambda: m.sweep({"h": [1]}, FALL, samples=3)),
            (ValueError, lambda: m.sweep({"h": [1]}, FALL, seed=-1)),
            (ValueError, lambda: m.sweep({"h": [1]}, FALL, jobs=-1)),
            (ValueError, lambda: m.sweep({"h": [1]}, FALL, rtol=-1)),
            (TypeError, lambda: m.sweep({"h": [1]}, FALL, until="3")),
            (TypeError, lambda: m.sweep({"h": [1]}, FALL, banana=1)),
            (KeyError, lambda: m.sweep({"h": [1]}, FALL, until=1)["nobody"]),
        ):
            with self.assertRaises(kind):
                call()

    def test_interrupt(self):
        m = saltus.load(JUMPER)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with self.assertRaises(KeyboardInterrupt):
            m.sweep({"T": np.linspace(1e-4, 2e-4, 2000)}, "end(n)", until=100)
        self.assertEqual(len(m.sweep({"T": [1]}, "end(n)", until=1.5)), 1)

    def test_threads(self):
        m = saltus.load(BALL)
        wanted = m.sweep({"h": "1:2:9"}, FALL, until=3)["fall"].tobytes()
        found = []
        threads = [threading.Thread(target=lambda: found.append(m.sweep({"h": "1:2:9"}, FALL, until=3)["fall"].tobytes()))
                   for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [wanted] * 4)

    def test_results_outlive_the_model(self):
        s = saltus.load(DECAY).sweep({"k": [1, 2]}, "end(x)", until=1)
        self.assertAlmostEqual(s["end(x)"][1], 3 * math.exp(-2), places=6)
        again = pickle.loads(pickle.dumps(s))
        self.assertEqual(again["end(x)"].tolist(), s["end(x)"].tolist())


class Sensitivities(unittest.TestCase):
    def test_through_an_event(self):
        m = saltus.load(BALL)
        s = m.sens(FALL, ["h", "g0"], until=1)
        self.assertAlmostEqual(s["fall", "h"].derivative, 1 / math.sqrt(2 * 9.81), places=8)
        self.assertAlmostEqual(s["fall", "g0"].derivative, -0.5 * math.sqrt(2 / 9.81**3), places=8)
        self.assertEqual((s.matrix.shape, len(s), s[0].verdict), ((1, 2), 2, "exists"))
        at = m.sens(FALL, {"h": 4.0}, until=3)[0]
        self.assertAlmostEqual(at.derivative, 1 / math.sqrt(8 * 9.81), places=8)
        for call in (lambda: m.sens(FALL, "h"), lambda: m.sens(FALL, ["nobody"]), lambda: m.sens(FALL, {"h": math.nan}),
                     lambda: m.sens(FALL, ["h"], reach=-1), lambda: m.sens(FALL, ["h"], reach=math.inf)):
            with self.assertRaises((TypeError, ValueError)):
                call()


class Fits(unittest.TestCase):
    def test_known_parameters(self):
        t = np.linspace(0, 2, 21)
        m = saltus.load(DECAY)
        f = m.fit({"time": t, "x": 5 * np.exp(-0.7 * t)}, {"k": (0.1, 10), "a": 4})
        self.assertAlmostEqual(f["k"].value, 0.7, places=5)
        self.assertAlmostEqual(f.params["a"], 5, places=5)
        self.assertTrue(f.converged and f.rms < 1e-5 and f.correlation.shape == (2, 2))
        self.assertAlmostEqual(m.run(until=1, params=f.params).last("x"), 5 * math.exp(-0.7), places=4)

    def test_kinds_of_data(self):
        import pandas

        t = np.linspace(0, 1, 11)
        m = saltus.load(DECAY)
        x = 3 * np.exp(-1.5 * t)
        x[4] = math.nan  # not measured
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "data.csv")
            path.write_text("time,x\n" + "".join(f"{a},{'' if b != b else b}\n" for a, b in zip(t.tolist(), x.tolist())))
            for data in ({"time": t, "x": x}, pandas.DataFrame({"x": x}, index=t), path, str(path), [path, path]):
                self.assertAlmostEqual(m.fit(data, {"k": 1})["k"].value, 1.5, places=5)
        self.assertAlmostEqual(m.fit(m.run(until=1), {"k": 1})["k"].value, 2.0, places=5)
        masked = np.ma.array(np.where(t > 0.6, 1e6, x), mask=t > 0.6)
        missing = pandas.Series(x).astype("Float64")
        missing[2] = pandas.NA
        single = np.array([None if v != v else v for v in x.tolist()], dtype=object)
        for column in (masked, missing, single, x.astype(np.float32), np.repeat(x, 2)[::2]):
            self.assertAlmostEqual(m.fit({"time": t, "x": column}, {"k": 1})["k"].value, 1.5, places=5)
        table = np.rec.fromarrays([t, x], names="time,x")
        self.assertAlmostEqual(m.fit(table, {"k": 1})["k"].value, 1.5, places=5)
        dates = pandas.DataFrame({"x": x}, index=pandas.to_datetime(t, unit="s"))
        doubled = m.fit({"time": np.repeat(t, 2), "x": np.repeat(x, 2)}, {"k": 1})
        self.assertAlmostEqual(doubled["k"].value, 1.5, places=5)
        early = m.fit({"time": t - 0.25, "x": x}, {"k": 1})
        self.assertEqual((early.points, early.left_out), (7, 3))
        for data, words in (
            (dates, "dates"),
            ({"time": t.astype("timedelta64[s]"), "x": x}, "dates"),
            ({"time": t, "x": ["a"] * 11}, "column x"),
            ({"time": t, "x": x + 1j}, "complex"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                m.fit(data, {"k": 1})
        with self.assertRaisesRegex(ValueError, "no column 'time'"):  # numbers of rows are no times
            m.fit(pandas.DataFrame({"t": t, "x": x}), {"k": 1})
        self.assertAlmostEqual(m.fit({"time": t, "x": 2 * x}, {"k": 1}, settings={"a": 6})["k"].value, 1.5, places=5)

    def test_wrong_arguments(self):
        m = saltus.load(DECAY)
        data = {"time": [0, 1], "x": [3, 1]}
        for call in (
            lambda: m.fit(data, {"nobody": 1}),
            lambda: m.fit(data, {}),
            lambda: m.fit(data, {"k": (2, 1)}),
            lambda: m.fit(data, {"k": (1, 2, 3, 4)}),
            lambda: m.fit({"x": [1]}, {"k": 1}),
            lambda: m.fit({"time": [0, 1], "x": [1]}, {"k": 1}),
            lambda: m.fit(3, {"k": 1}),
            lambda: m.fit([], {"k": 1}),
            lambda: m.fit(data, "k"),
            lambda: m.fit(data, {"k": 1}, loss="none"),
            lambda: m.fit(data, {"k": 1}, settings=[{}, {}]),
        ):
            with self.assertRaises((TypeError, ValueError)):
                call()


class Optima(unittest.TestCase):
    def test_known_optimum(self):
        m = saltus.load(DECAY)
        try:
            o = m.optimize("(end(x) - 1.5)^2", {"k": (1, 0.1, 5)}, until=1)
        except saltus.SaltusError as missing:
            self.skipTest(str(missing))
        self.assertAlmostEqual(o.params["k"], math.log(2), places=4)
        self.assertEqual(len(o.history["k"]), len(o.history["feasible"]))
        o = m.optimize("end(x)", {"k": (1, 0.1, 5)}, until=1, constraints=["end(x) >= 1"], search="simplex")
        self.assertAlmostEqual(o.value, 1.0, places=5)
        self.assertTrue(o.feasible)
        with self.assertRaises(ValueError):
            m.optimize("end(x)", {"k": 1}, constraints="end(x) = 3")
        with self.assertRaises(ValueError):
            m.optimize("end(x)", {"k": 1}, search="luck")


class Comparisons(unittest.TestCase):
    def test_runs(self):
        m = saltus.load(BALL)
        a, b = m.run(until=2), m.run(until=2, rtol=1e-10, every=0.01)
        self.assertTrue(all(c.within for c in saltus.compare(a, b, tol=1e-4).values()))
        moved = saltus.compare(a, m.run(until=2, params={"h": 1.01}), tol=1e-4)
        self.assertFalse(moved["y"].within)
        self.assertEqual(moved["v"].jumps, (3, 3))
        with self.assertRaises(ValueError):
            saltus.compare(a, {"time": [0, 1], "other": [1, 2]})
        for tol in (-1.0, math.nan, math.inf):
            with self.assertRaises(ValueError):
                saltus.compare(a, b, tol=tol)


class Refusals(unittest.TestCase):
    def test_failed_runs_have_codes(self):
        m = saltus.load("const k = 1; x' = k*x*x; x(t0) = 1;")
        with self.assertRaises(saltus.RunError) as caught:
            m.sens("end(x)", ["k"], until=3)
        self.assertEqual(caught.exception.code, "E0801")
        with self.assertRaises(saltus.RunError) as caught:
            m.fit({"time": [1, 2, 3], "x": [1, 2, 3]}, {"k": 2})
        self.assertEqual(caught.exception.code, "E0801")

    def test_names_that_stand_twice(self):
        m = saltus.load("const k = 1; x' = k; x(t0) = 0;")
        self.assertEqual(m.run(until=1, out=["x", "k", "x"]).names, ["time", "x", "k"])
        with self.assertRaisesRegex(TypeError, "str"):
            m.run(until=1, out=["x", ["k"]])
        pandas = types.SimpleNamespace(columns=["time", "x", "x"], index=[0])
        with self.assertRaisesRegex(ValueError, "two columns"):
            m.fit(pandas, {"k": 2})

    def test_nothing_to_measure(self):
        with self.assertRaisesRegex(ValueError, "what to measure"):
            saltus.load("const k = 1; x' = k; x(t0) = 0;").sweep({"k": [1, 2]})

    def test_nothing_to_vary(self):
        m = saltus.load("const k = 1; x' = k; x(t0) = 0;")
        s = m.sweep({}, "end(x)", until=2)
        self.assertEqual((len(s), s.parameters), (1, []))
        self.assertAlmostEqual(s["end(x)"][0], 2)

    def test_ends_that_cannot_be(self):
        m = saltus.load("const k = 1; x' = k; x(t0) = 0; experiment { start = 2; end = 4; }")
        calls = [
            lambda until: m.run(until=until),
            lambda until: m.sweep({"k": [1, 2]}, "end(x)", until=until),
            lambda until: m.sens("end(x)", ["k"], until=until),
            lambda until: m.optimize("end(x)", {"k": (0, 1)}, until=until),
        ]
        for call in calls:
            with self.assertRaisesRegex(ValueError, "before it starts"):
                call(1)
            with self.assertRaisesRegex(ValueError, "finite"):
                call(math.inf)
        with self.assertRaisesRegex(ValueError, "before it starts"):
            m.sweep({"k": [1]}, "end(x)", start=5)
        self.assertEqual(m.sweep({"k": [3]}, "end(x)", until=2)["end(x)"], [0])

    def test_settings_of_other_kinds(self):
        m = saltus.load("const k = 1, a = 1; x' = k; x(t0) = 0;")
        drawn = {"k": "~normal(1, 0.1)", "a": "~normal(1, 0.1)"}
        for wrong in (3, "k", ["k"], {"k": 1}, {("k",): 1}):
            with self.assertRaises(TypeError):
                m.sweep(drawn, "end(x)", sampling="random", samples=3, correlate=wrong)
        s = m.sweep(drawn, "end(x)", sampling="random", samples=3, correlate={("k", "a"): np.float64(0.5)})
        self.assertEqual(len(s), 3)
        with self.assertRaises(TypeError):
            m.sweep(["k"], "end(x)")
        with self.assertRaises(TypeError):
            m.optimize("end(x)", {"k": (0, 1)}, constraints=[3])
        with self.assertRaisesRegex(ValueError, "a constraint is"):
            m.optimize("end(x)", {"k": (0, 1)}, constraints="max(x) <= much")

    def test_settings_without_effect(self):
        m = saltus.load("const k = 1; x' = k; x(t0) = 0;")
        data = {"time": [0, 1, 2], "x": [0, 2, 4]}
        for weights, message in (({"y": 1}, "no `y` to weigh"), ({"x": -1}, "from 0 on"), ({"x": math.inf}, "from 0 on")):
            with self.assertRaisesRegex(ValueError, message):
                m.fit(data, {"k": 1}, weights=weights)
        self.assertAlmostEqual(m.fit(data, {"k": 1}, weights={"x": 2})["k"].value, 2)
        with self.assertRaisesRegex(ValueError, "tolerance"):
            m.optimize("end(x)", {"k": (0, 1)}, tolerance=-1)
        with self.assertRaisesRegex(ValueError, "bound"):
            m.optimize("end(x)", {"k": (0, 1)}, constraints="max(x) <= nan")
        with self.assertRaisesRegex(ValueError, "at most"):
            m.sweep({"k": [1]}, "end(x)", jobs=2**32)

    def test_misplaced_keys(self):
        m = saltus.load("const k = 1; x' = k; x(t0) = 0;")
        with self.assertRaises(TypeError):
            m.sens({"e": "end(x)"}, ["k"])["e"]
        with self.assertRaises(TypeError):
            m.run(until=1).events["t"]
        apart = saltus.compare({"time": [0, 1], "x": [1, 1]}, {"time": [5, 6], "x": [1, 1]})
        self.assertIn("no time in common", repr(apart["x"]))


if __name__ == "__main__":
    unittest.main()
