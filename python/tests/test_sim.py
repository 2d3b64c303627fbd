# SPDX-License-Identifier: MIT
"""Runs under the caller's control."""

import gc
import math
import pickle
import unittest
import weakref

import saltus
from common import BALL, HEATER, JUMPER


class Advancing(unittest.TestCase):
    def test_pieces_give_the_same_bits(self):
        m = saltus.load(BALL)
        whole, pieces = m.sim(), m.sim()
        whole.advance(3)
        for k in range(1, 301):
            pieces.advance(k * 3 / 300)
        self.assertEqual(whole.values().tolist(), pieces.values().tolist())
        self.assertEqual(whole.time, 3)
        self.assertEqual(whole["y"], m.run(until=3).last("y"))

    def test_events_one_by_one(self):
        s = saltus.load(JUMPER).sim()
        times = []
        for instant in s.events(until=3.5):
            times.append(instant.t)
            self.assertEqual(instant.records[0].target, "up")
            self.assertAlmostEqual(s.before("v"), -4)
            self.assertAlmostEqual(s["v"], 4)
            self.assertEqual(s["n"], len(times))
        self.assertEqual(len(times), 3)
        self.assertEqual(s.time, 3.5)
        self.assertEqual(list(s.events(until=3.5)), [])

    def test_events_that_the_caller_passes(self):
        s = saltus.load(JUMPER).sim()
        met = []
        for instant in s.events(until=3.5):
            met.append([record.t for record in instant.records])
            s.advance(s.time + 1.5)  # over an event, and at last over the end
        self.assertEqual([len(times) for times in met], [1, 1])
        self.assertAlmostEqual(met[1][0], 3)
        self.assertEqual(s.time, met[1][0] + 1.5)
        self.assertEqual(list(s.events(until=1)), [])

    def test_initial_values(self):
        m = saltus.load(BALL)
        s = m.sim(params={"y(t0)": 4, "h": 2})
        self.assertEqual(s["y"], 4)
        self.assertEqual(m.run(until=0.1, params={"y(t0)": 4})["y"][0], 4)
        self.assertEqual(m.run(until=0.1, params={"h": 3})["y"][0], 3)
        for call in (m.sim, m.run):
            with self.assertRaisesRegex(saltus.UnknownName, "z"):
                call(params={"z(t0)": 1})
            with self.assertRaisesRegex(ValueError, "finite"):
                call(params={"y(t0)": math.inf})
            with self.assertRaisesRegex(TypeError, "mapping"):
                call(params=["h"])

    def test_names_that_are_nearly_right(self):
        s = saltus.load(BALL).sim()
        calls = [lambda: s["main.stat"], lambda: s.get_many(["main.stat"]), lambda: s.is_determined("main.stat")]
        for call in [*calls, lambda: s.__setitem__("main.stat", 1)]:
            with self.assertRaisesRegex(saltus.UnknownName, "did you mean 'main.state'"):
                call()

    def test_steps(self):
        s = saltus.load("x' = -x; x(t0) = 1;").sim()
        count = 0
        while s.time < 1:
            s.step(1)
            count += 1
        self.assertTrue(1 < count < 1000)
        self.assertAlmostEqual(s["x"], math.exp(-1), places=6)

    def test_wrong_times(self):
        s = saltus.load(BALL).sim()
        s.advance(1)
        for t in (0.5, math.nan, math.inf, -math.inf):
            with self.assertRaises(ValueError):
                s.advance(t)
        for t in (None, "2", [2], 1j):
            with self.assertRaises(TypeError):
                s.advance(t)
        self.assertEqual(s.advance(1), 1)

    def test_a_model_that_stops(self):
        s = saltus.load("x' = 1; x(t0) = 0; state done [x >= 1] { stop; } from init;").sim()
        self.assertAlmostEqual(s.advance(5), 1)
        self.assertTrue(s.stopped)
        self.assertAlmostEqual(s.advance(6), 1)
        self.assertEqual(len(list(saltus.load("x' = 1; x(t0) = 0; state d [x >= 1] { stop; } from init;").sim().events(5))), 1)

    def test_start(self):
        self.assertEqual(saltus.load("x' = 1; x(t0) = 0;").sim(start=5).time, 5)
        self.assertEqual(saltus.load(BALL).sim(params={"h": 3})["y"], 3)


class Values(unittest.TestCase):
    def test_inputs(self):
        s = saltus.load(HEATER).sim()
        s.advance(1)
        s["u"] = 0
        x = s["x"]
        s.advance(3)
        self.assertAlmostEqual(s["x"], x * math.exp(-1), places=6)
        self.assertEqual(s.states, {"warm": "init"})
        s["x"] = 0.8  # guards that hold now fire with the next advance
        s.advance(3)
        self.assertEqual(s["warm.state"], "hot")
        self.assertEqual(s.get("x'"), -0.4)

    def test_constants_during_a_run(self):
        s = saltus.load("const k = 1; x' = k; x(t0) = 0;").sim()
        s.advance(1)
        s["k"] = 3
        s.advance(2)
        self.assertAlmostEqual(s["x"], 4)

    def test_constants_without_effect_are_refused(self):
        s = saltus.load("const h = 1, c = 2*h, T = 1, k = 1; x' = k; x(t0) = c; n(t0) = 0; at T { set n = 1; }").sim()
        for name in ("h", "c", "T"):
            with self.assertRaises(ValueError):
                s[name] = 3
        s["k"] = 2

    def test_what_cannot_be_written(self):
        s = saltus.load("x' = y; y = -x; x(t0) = 1; const k = 2;").sim()
        for name, value, error in (
            ("y", 1, ValueError),
            ("time", 1, ValueError),
            ("nothing", 1, KeyError),
            ("x", math.nan, ValueError),
            ("x", math.inf, ValueError),
            ("x", None, ValueError),
            ("x", "1", TypeError),
            (3, 1, TypeError),
        ):
            with self.assertRaises(error, msg=name):
                s[name] = value
        with self.assertRaises(TypeError):
            del s["x"]
        with self.assertRaises(KeyError):
            s["nothing"]
        with self.assertRaises(TypeError):
            s[0]
        with self.assertRaises(TypeError):
            s.values("x")
        self.assertEqual(s.values(["x", "k"]).tolist(), [1, 2])

    def test_snapshots(self):
        s = saltus.load(BALL).sim()
        s.advance(0.3)
        kept = s.snapshot()
        s.advance(2)
        end = s.values().tolist()
        s.restore(kept)
        self.assertEqual(s.time, 0.3)
        s.advance(2)
        self.assertEqual(s.values().tolist(), end)
        other = saltus.load(BALL).sim()
        with self.assertRaises(ValueError):
            other.restore(kept)
        for wrong in (None, b"123", 5, object()):
            with self.assertRaises(TypeError):
                s.restore(wrong)
        sim = weakref.ref(s)
        del s
        gc.collect()
        self.assertIsNotNone(sim())  # the snapshot keeps it
        sim().restore(kept)
        del kept
        gc.collect()
        self.assertIsNone(sim())

    def test_a_failure_can_be_undone(self):
        s = saltus.load("x' = x * x * u; x(t0) = 1; u(t0) = 1;").sim()
        s.advance(0.5)
        kept = s.snapshot()
        with self.assertRaises(saltus.RunError) as caught:
            s.advance(5)
        self.assertIsNone(caught.exception.result)
        with self.assertRaises(saltus.RunError):
            s.advance(5)
        s.restore(kept)
        s["u"] = -1
        self.assertEqual(s.advance(5), 5)

    def test_closing(self):
        with saltus.load(BALL).sim() as s:
            kept = s.snapshot()
        for use in (lambda: s["y"], lambda: s.advance(1), lambda: s.time, lambda: s.restore(kept), lambda: s.states):
            with self.assertRaises(ValueError):
                use()
        s.close()
        self.assertIn("closed", repr(s))

    def test_a_run_cannot_be_pickled(self):
        with self.assertRaises(TypeError):
            pickle.dumps(saltus.load(BALL).sim())


class Callbacks(unittest.TestCase):
    def test_events_and_steps(self):
        seen = []
        s = saltus.load(JUMPER).sim(on_event=seen.append)
        s.advance(2.5)
        self.assertEqual([e.kind for e in seen], ["initial", "state", "state"])
        stops = saltus.load(JUMPER).sim(on_step=lambda t: t > 1.5)
        self.assertLess(stops.advance(9), 3)

    def test_exceptions(self):
        def fail(event):
            if event.t > 1.5:
                raise ZeroDivisionError("mine")

        s = saltus.load(JUMPER).sim(on_event=fail)
        with self.assertRaises(ZeroDivisionError):
            s.advance(10)
        self.assertLess(s.time, 4)
        with self.assertRaises(ZeroDivisionError):
            s.advance(10)

        def at_once(event):
            raise ZeroDivisionError("mine")

        with self.assertRaises(ZeroDivisionError):
            saltus.load(JUMPER).sim(on_event=at_once)

    def test_a_run_cannot_be_used_inside_its_own_callback(self):
        errors = []

        def inside(event):
            for use in (lambda: s["y"], lambda: s.advance(9), lambda: s.snapshot(), lambda: s.close()):
                try:
                    use()
                except (RuntimeError, NameError) as e:
                    errors.append(type(e))

        s = saltus.load(JUMPER).sim(on_event=inside)
        errors.clear()
        s.advance(1.5)
        self.assertEqual(errors, [RuntimeError] * 4)
        self.assertEqual(s.time, 1.5)

    def test_cycles_of_references_are_collected(self):
        holder = []
        s = saltus.load(JUMPER).sim(on_event=lambda e: holder)
        holder.append(s)
        gone = weakref.ref(s)
        del s, holder
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
