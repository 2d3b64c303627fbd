#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sweeps under mpirun: the same table and digest as one process, also after the job was killed on the way."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402

MODEL = ("const k = 0.8, h = 5;\ny' = v; y(t0) = h;\nv' = -9.81; v(t0) = 0;\n"
         "state hit [y <= 0] && [v < 0] { set v = -k*v; } from init, hit;\nexperiment { end = 2.5; }\n")
ARGUMENTS = ("--vary", "h=-1:9:300", "--vary", "k=0.3:0.9:10", "-m", "end(y)", "-m", "count(hit)")


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class Cluster(cli_case.CliCase):
    def mpirun(self, ranks, *arguments):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
        # the library's own memory stays when a process ends
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        return subprocess.Popen(["mpirun", "-np", str(ranks), cli_case.PROGRAM, "sweep", *arguments], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def digest(self, text):
        found = re.search(r"digest: (\w+)", text)
        self.assertTrue(found, text)
        return found.group(1)

    def test_same_table(self):
        self.write("m.lisma", MODEL)
        one = self.good("sweep", "m.lisma", *ARGUMENTS, "-j", "1", "-o", "one.csv")
        for ranks in (2, 3):
            run = self.mpirun(ranks, "m.lisma", *ARGUMENTS, "-o", "several.csv")
            _, err = run.communicate(timeout=120)
            if "this build knows nothing of MPI" in err:
                self.skipTest("built without MPI")
            self.assertEqual(run.returncode, 0, err)
            self.assertEqual(self.read("one.csv"), self.read("several.csv"))
            self.assertEqual(self.digest(one.err), self.digest(err))

    def test_killed_and_resumed(self):
        self.write("m.lisma", MODEL.replace("2.5", "40"))
        arguments = ("m.lisma", *ARGUMENTS[:1], "h=1:9:400", *ARGUMENTS[2:])
        whole = self.good("sweep", *arguments, "-j", "1", "-o", "one.csv")
        run = self.mpirun(2, *arguments, "-o", "part.csv")
        path = self.path("part.csv")
        while run.poll() is None:
            if os.path.exists(path) and os.path.getsize(path) > 20000:
                break
            time.sleep(0.02)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=60)
        if "this build knows nothing of MPI" in err:
            self.skipTest("built without MPI")
        # the signal may have come when all was done
        if os.path.exists(self.path("part.csv.part")):
            run = self.mpirun(3, *arguments, "-o", "part.csv", "--resume")
            _, err = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, err)
            self.assertEqual(self.digest(whole.err), self.digest(err))
        self.assertEqual(self.read("one.csv"), self.read("part.csv"))

    def test_bad_input_ends_all(self):
        self.write("m.lisma", MODEL)
        run = self.mpirun(2, "m.lisma", "--vary", "q=1:2:3", "-m", "end(y)", "-o", "x.csv")
        _, err = run.communicate(timeout=60)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("q", err)


if __name__ == "__main__":
    cli_case.main()
