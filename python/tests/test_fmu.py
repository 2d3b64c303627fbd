# SPDX-License-Identifier: MIT
"""FMUs inside of models, from Python."""

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import saltus
from common import JUMPER, PROGRAM, command

SANITIZED = "asan" in PROGRAM or "tsan" in PROGRAM  # an FMU that is sanitized itself cannot be loaded


@unittest.skipIf(SANITIZED, "FMUs of a sanitized library cannot be loaded")
class Blocks(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        (self.folder / "jumper.lisma").write_text(JUMPER)
        for kind in ("me", "cs"):
            try:
                command("export", "jumper.lisma", "--kind", kind, "-o", f"{kind}.fmu", cwd=self.folder)
            except AssertionError as e:
                if "libzip" in str(e):
                    self.skipTest("built without libzip")
                raise

    def model(self, text):
        path = self.folder / "model.lisma"
        path.write_text(text)
        return saltus.load(path)

    def test_values_and_events(self):
        r = self.model('fmu j = "me.fmu" (T = 2); twice = 2 * j.y;').run(until=5, rtol=1e-9)
        events = [e for e in r.events if e.automaton == "j.fmu" and e.kind == "state"]
        down = [e.t for e in events if "j.v" in e.changed]
        self.assertEqual([round(t, 9) for t in down], [2.0, 4.0])
        self.assertFalse(any(e.certified for e in events))
        self.assertAlmostEqual(r["twice"][-1], 2 * r["j.y"][-1], places=14)
        self.assertAlmostEqual(r["j.y"][-1], 1.0, places=7)

    def test_threads(self):
        m = self.model('fmu j = "me.fmu"; fmu k = "cs.fmu" (step = 0.25);')
        with ThreadPoolExecutor(4) as pool:
            ends = set(pool.map(lambda i: (m.run(until=2.5)["j.y"][-1], m.run(until=2.5)["k.y"][-1]), range(8)))
        self.assertEqual(len(ends), 1, ends)

    def test_many_runs(self):
        """Runs with few files to be had: nothing of one is left when the next begins."""
        m = self.model('fmu j = "me.fmu";')
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 12, limits[1]))
        try:
            ends = {m.run(until=1.5, samples=2)["j.y"][-1] for _ in range(15)}
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.assertEqual(len(ends), 1)

    def test_snapshots_put_the_fmu_back(self):
        sim = self.model('fmu j = "me.fmu";').sim()
        sim.advance(0.9)
        kept = sim.snapshot()
        sim.advance(1.5)
        first = sim["j.y"]
        sim.restore(kept)
        sim.advance(1.5)
        self.assertEqual(sim["j.y"], first)

    def test_the_thread_that_made_a_run_may_end(self):
        m = self.model('fmu j = "me.fmu";')
        made = []
        thread = threading.Thread(target=lambda: made.append(m.sim()))
        thread.start()
        thread.join()
        time.sleep(0.3)
        made[0].advance(2.5)
        self.assertEqual(made[0]["j.y"], m.run(until=2.5).last("j.y"))

    def test_forks(self):
        """The child of a fork neither ends the FMU of a run of its parent nor moves it; runs of its own are its own."""
        m = self.model('fmu j = "me.fmu";')
        sim = m.sim()
        sim.advance(0.5)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with self.assertRaisesRegex(saltus.RunError, "forked"):
                    sim.advance(2.5)
                sim.close()
                code = 0 if m.run(until=1.5).complete else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        sim.advance(2.5)
        self.assertEqual(sim["j.y"], m.run(until=2.5).last("j.y"))

    def test_fmus_end_with_the_program(self):
        """Whatever they are doing: here the process of one waits for a question, and its owner is killed."""
        path = self.folder / "model.lisma"
        path.write_text('fmu j = "me.fmu";')
        script = f"import saltus; s = saltus.load({str(path)!r}).sim(); print('ready', flush=True); input()"
        program = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with program:
            self.assertEqual(program.stdout.readline(), b"ready\n")
            children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
            self.assertEqual(len(children), 1)
            program.kill()
        for _ in range(100):
            if not Path(f"/proc/{children[0]}").exists():
                return
            time.sleep(0.1)
        self.fail("the process of the FMU is still there")

    def test_what_fails_is_an_exception(self):
        with self.assertRaises(saltus.ModelError) as caught:
            self.model('fmu j = "nowhere.fmu";')
        self.assertIn("E0220", str(caught.exception))
        m = self.model('fmu j = "me.fmu";')
        os.unlink(self.folder / "me.fmu")
        with self.assertRaises(saltus.RunError) as caught:
            m.run(until=1)
        self.assertIn("there is no such file", str(caught.exception))
        # nobody has written the text that stands for an FMU: the place is where it is asked for
        self.assertIn('fmu j = "me.fmu";', str(caught.exception))
        self.assertEqual(caught.exception.line, 1)


if __name__ == "__main__":
    unittest.main()
