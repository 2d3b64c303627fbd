# SPDX-License-Identifier: MIT
"""Threads, processes, signals, memory."""

import gc
import multiprocessing
import os
import pickle
import random
import resource
import signal
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import saltus
from common import BALL, HEATER, JUMPER, ROW, SOURCE

ENDLESS = "x' = y; y' = -x; x(t0) = 1; y(t0) = 0;"


def end_of(model):
    return model.run(until=3).last("y")


class Threads(unittest.TestCase):
    def test_one_model_in_many_threads(self):
        m = saltus.load(BALL)
        params = [{"e": 0.5 + k / 200} for k in range(60)]
        alone = [m.run(until=3, params=p)["y"].tobytes() for p in params]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda p: m.run(until=3, params=p)["y"].tobytes(), params))
        self.assertEqual(alone, together)

    def test_one_run_is_for_one_thread(self):
        entered, leave = threading.Event(), threading.Event()

        def hold(t):
            entered.set()
            leave.wait(30)

        s = saltus.load(JUMPER).sim(on_step=hold)
        worker = threading.Thread(target=lambda: s.advance(2))
        worker.start()
        self.assertTrue(entered.wait(30))
        for use in (lambda: s["y"], lambda: s.advance(3), lambda: s.time, s.close, s.snapshot):
            with self.assertRaises(RuntimeError):
                use()
        leave.set()
        worker.join()
        self.assertEqual(s.time, 2)

    def test_random_calls(self):
        """A thousand calls of all kinds from four threads; nothing but the exceptions that are meant to come."""
        texts = [BALL, HEATER, JUMPER, ROW, ENDLESS, "x' = x * x; x(t0) = 1;", "x' = ;"]
        shared = {"models": [saltus.load(t) for t in texts[:-1]], "sims": [], "kept": [], "results": []}
        expected = (ValueError, TypeError, RuntimeError, KeyError, IndexError, FileNotFoundError, saltus.SaltusError)
        wrong: list[BaseException] = []

        def call(r):
            model = r.choice(shared["models"])
            kind = r.randrange(18)
            if kind == 0:
                shared["models"][r.randrange(len(shared["models"]))] = saltus.load(r.choice(texts))
            elif kind == 1:
                shared["results"].append(model.run(until=r.choice([0, 1, 2, -1, "x"]), events=r.choice([True, False, "light"])))
            elif kind == 2:
                shared["sims"].append(model.sim(start=r.choice([0, 1, None, "a"])))
            elif kind == 3 and shared["sims"]:
                sim = r.choice(shared["sims"])
                sim.advance(sim.time + r.random())
            elif kind == 4 and shared["sims"]:
                shared["kept"].append(r.choice(shared["sims"]).snapshot())
            elif kind == 5 and shared["sims"] and shared["kept"]:
                r.choice(shared["sims"]).restore(r.choice(shared["kept"]))
            elif kind == 6 and shared["sims"]:
                r.choice(shared["sims"])[r.choice(["x", "y", "u", "n", "zzz", 3])] = r.choice([1, 0.5, None, "k", 1e300])
            elif kind == 7 and shared["sims"]:
                shared["sims"].pop(r.randrange(len(shared["sims"]))).close()
            elif kind == 8 and shared["results"]:
                result = r.choice(shared["results"])
                sum(float(np.nansum(result[n])) for n in result if result[n].dtype != object)
                list(result.events)
            elif kind == 9 and shared["results"]:
                shared["results"].clear()
            elif kind == 10:
                model.explain(r.choice(["text", "json", "ir", "no"]))
                model.graph()
            elif kind == 11:
                model.run(until=2, on_event=lambda e: model.names[0])
            elif kind == 12 and shared["sims"]:
                for _ in r.choice(shared["sims"]).events(until=r.random() * 5):
                    pass
            elif kind == 13:
                shared["kept"].clear()
                gc.collect()
            elif kind == 14:
                model.sweep({r.choice(["e", "T", "C", "none"]): r.choice(["0.5:0.9:4", [], [1, float("nan")], 3])},
                            {"end": r.choice(["end(y)", "max(x)", "no("])}, until=1, jobs=r.choice([1, 2]))
            elif kind == 15:
                model.sens({"end": r.choice(["end(y)", "end(x)", "mean(n)"])}, [r.choice(["e", "T", "C", "none"])], until=0.3)
            elif kind == 16:
                pickle.loads(pickle.dumps(r.choice([model, *shared["results"][-3:]])))
            elif kind == 17:
                rules = saltus.load_rules(SOURCE / "models" / "rules" / r.choice(["room.rules.md", "none.rules.md"]))
                rules.write(r.choice(["lisma", "explanation", "no"]))
                rules.cyclic(0.1).cycle()

        def work(seed):
            r = random.Random(seed)
            for _ in range(250):
                try:
                    call(r)
                except expected:
                    pass
                except AttributeError as e:  # the callback of kind 11
                    if "names" not in str(e):
                        wrong.append(e)
                except BaseException as e:
                    wrong.append(e)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


    def test_one_interpreter(self):
        """Types and callbacks belong to one interpreter: a second one of the process is refused in words."""
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            self.skipTest("no interpreters beside the main one here")
        other = interpreters.create()
        try:
            with self.assertRaisesRegex(interpreters.RunFailedError, "one interpreter of a process only"):
                interpreters.run_string(other, f"import sys; sys.path[:0] = {sys.path!r}; import saltus")
        finally:
            interpreters.destroy(other)
        self.assertTrue(saltus.load(BALL).run(until=1).complete)


@unittest.skipUnless(hasattr(os, "fork"), "no fork here")
class Processes(unittest.TestCase):
    def test_pools(self):
        m = saltus.load(BALL)
        alone = end_of(m)
        for way in ("fork", "spawn"):
            if way == "spawn" and "LD_PRELOAD" in os.environ:
                continue  # a sanitizer that starts twice is slow, and tells nothing more
            with multiprocessing.get_context(way).Pool(2) as pool:
                self.assertEqual(pool.map(end_of, [m] * 4), [alone] * 4)

    def test_forks_while_threads_run(self):
        """In the child a model that another thread was inside of says so; a new one works."""
        m = saltus.load(ENDLESS)
        idle = saltus.load(BALL)
        started, stop = threading.Event(), threading.Event()

        def on_step(t):
            started.set()
            return stop.is_set()

        worker = threading.Thread(target=lambda: m.run(until=1e9, samples=2, on_step=on_step))
        worker.start()
        self.assertTrue(started.wait(30))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                try:
                    m.run(until=1)
                except RuntimeError as e:
                    code = 2 if "forked" in str(e) else 3
                if code == 2 and idle.run(until=1).rows and saltus.load(BALL).run(until=1).rows:
                    code = 0
                del m
                gc.collect()
            finally:
                os._exit(code)
        status = os.waitpid(child, 0)[1]
        stop.set()
        worker.join()
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertTrue(m.run(until=1).complete)  # here nothing has happened

    def test_forks_inside_a_callback(self):
        """The thread that forks goes on in both processes: its run ends as it would have, and the model is of use."""
        m = saltus.load(JUMPER)
        whole = m.run(until=2.5).last("y")
        for use in (lambda f: m.run(until=2.5, on_event=f).last("y"), lambda f: self.advanced(m.sim(on_event=f), 2.5)):
            children = []

            def fork(event):
                children.append(os.fork() if len(children) == 1 else -1)

            end, code = use(fork), 1
            if 0 in children:
                try:
                    code = 0 if end == whole == m.run(until=2.5).last("y") == self.advanced(m.sim(), 2.5) else 2
                finally:
                    os._exit(code)
            self.assertEqual(end, whole)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(children[1], 0)[1]), 0)

    def advanced(self, sim, t):
        sim.advance(t)
        return sim["y"]


class Signals(unittest.TestCase):
    def test_an_interrupt_ends_a_run(self):
        m = saltus.load(ENDLESS)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt) as caught:
            m.run(until=1e12, samples=1000)
        timer.join()
        self.assertFalse(caught.exception.result.complete)
        self.assertGreater(caught.exception.result.end, 0)

    def test_an_interrupt_ends_a_step_with_many_rows(self):
        m = saltus.load("x' = -x; x(t0) = 1;")
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        begun = time.monotonic()
        timer.start()
        with self.assertRaises(KeyboardInterrupt) as caught:
            m.run(until=1e9, every=0.1, out=[])
        self.assertLess(time.monotonic() - begun, 5)
        self.assertGreater(caught.exception.result.rows, 1000)

    def test_an_interrupt_ends_an_advance_and_leaves_it_intact(self):
        s = saltus.load(ENDLESS).sim()
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            s.advance(1e12)
        timer.join()
        t = s.time
        self.assertEqual(s.advance(t + 1), t + 1)

    def test_other_handlers(self):
        class Mine(Exception):
            pass

        def handler(number, frame):
            raise Mine

        old = signal.signal(signal.SIGUSR1, handler)
        try:
            timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1))
            timer.start()
            with self.assertRaises(Mine):
                saltus.load(ENDLESS).run(until=1e12, samples=10)
            timer.join()
        finally:
            signal.signal(signal.SIGUSR1, old)


class Memory(unittest.TestCase):
    def test_nothing_is_left_behind(self):
        """Object counts and resident memory after many runs are those after a few."""
        m = saltus.load(BALL)

        def many(count):
            for k in range(count):
                r = m.run(until=1, params={"e": 0.5}, samples=20)
                r["y"], r.events[-1], r.modes
                s = m.sim(on_event=lambda e: None)
                kept = s.snapshot()
                s.advance(1)
                s.restore(kept)
                for bad in ("x' = ;", "nofile"):
                    try:
                        saltus.load(bad)
                    except (saltus.ModelError, OSError):
                        pass
                try:
                    m.run(params={"none": 1})
                except saltus.UnknownName:
                    pass
                try:
                    m.run(until=1, on_event=lambda e: 1 / 0)
                except ZeroDivisionError:
                    pass

        sanitized = "LD_PRELOAD" in os.environ  # its allocator keeps what was freed
        many(100)
        gc.collect()
        objects, size = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        references = [sys.getrefcount(x) for x in (None, True, saltus.Sim, saltus._saltus.Recording, m)]
        many(100 if sanitized else 2000)
        gc.collect()
        self.assertLess(len(gc.get_objects()) - objects, 50)
        for before, after in zip(references, [sys.getrefcount(x) for x in (None, True, saltus.Sim, saltus._saltus.Recording, m)]):
            self.assertLess(abs(after - before), 200)
        if not sanitized:
            self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size, 4096)  # KiB


if __name__ == "__main__":
    unittest.main()
