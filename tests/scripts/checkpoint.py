#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--checkpoint and --resume: a run in two parts writes the bytes of a run in one, whatever the model and
wherever it is cut; what does not fit is refused with its reason."""
import glob
import math
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402
import suite  # noqa: E402

SOURCE = os.environ.get("SALTUS_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SLOW = {"plant.rules.md", "thermostats.lisma", "friction_chain.lisma", "neurons.lisma"}
BALL = "y' = v; v' = -9.81; y(t0) = 10; v(t0) = 0;\nconst e = 0.8;\n" \
       "state hit [y < 0] { set v = -e * v; } from init;\nstate init [v > 0] {} from hit;\n"


def gallery():
    patterns = ("*.lisma", "dae/*.lisma", "stiff/*.lisma", "ontology/*.lisma", "rules/*.rules.md")
    paths = [p for pattern in patterns for p in sorted(glob.glob(os.path.join(SOURCE, "models", pattern)))]
    return [p for p in paths if os.path.basename(p) not in SLOW]


class Checkpoints(cli_case.CliCase):
    def binary(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_the_gallery_in_two_parts(self):
        # every other model, each cut somewhere else; rows on a grid that the cut is not on
        compared = 0
        for number, path in suite.share(list(enumerate(gallery()))[::2]):
            with open(path, encoding="utf-8") as file:
                end = re.search(r"\bend *[=|] *([0-9.e+-]+)", file.read())
            end = min(float(end.group(1)) if end else 10.0, 20.0)
            cut = end * (0.137 + 0.71 * (number * 0.618034 % 1.0))
            common = ["run", path, "-q", "--every", repr(end / 40)]
            whole = self.saltus(*common, "--until", repr(end), "-o", "w.csv", "--events", "w.jsonl")
            parts = ["-o", "r.csv", "--events", "r.jsonl"]
            first = self.saltus(*common, "--until", repr(cut), *parts, "--checkpoint", "c")
            if first.status != 0 or not os.path.exists(self.path("c")):
                continue  # fails, or stops, before the cut: nothing to go on from
            second = self.saltus(*common, "--until", repr(end), *parts, "--resume", "c")
            self.assertEqual(second.status, whole.status, f"{path}: {second.err}")
            for kind in ("csv", "jsonl"):
                self.assertEqual(self.binary("w." + kind), self.binary("r." + kind), f"{path} cut at {cut}: {kind}")
            compared += 1
            os.remove(self.path("c"))
        self.assertGreater(compared, 35 // suite.SHARE)

    def test_many_parts_and_other_rows(self):
        self.write("ball.lisma", BALL)
        for rows in (["--all-steps"], ["--samples", "37"], ["--every", "0.1"]):
            if rows[0] != "--samples":  # samples are counted from the end of the first part
                self.good("run", "ball.lisma", "-q", "--until", "9", *rows, "-o", "w.csv", "--events", "w.jsonl")
            files = ["-o", "r.csv", "--events", "r.jsonl"]
            self.good("run", "ball.lisma", "-q", "--until", "1.23", *rows, *files, "--checkpoint", "c")
            for until in ("1.23", "1.24", "4", "4.000001", "9"):
                self.good("run", "ball.lisma", "-q", "--until", until, *rows, *files, "--resume", "c", "--checkpoint", "c")
            if rows[0] != "--samples":
                self.assertEqual(self.read("w.csv"), self.read("r.csv"), rows)
                self.assertEqual(self.read("w.jsonl"), self.read("r.jsonl"), rows)
            times = [float(line.split(",")[0]) for line in self.read("r.csv").splitlines()[1:]]
            self.assertEqual(times, sorted(times))
            self.assertEqual(times[-1], 9.0)

    def test_a_cut_beside_a_point_of_the_grid(self):
        # the row of the end stands for a point that lies before it by rounding; one behind it is still to come
        self.write("ball.lisma", BALL)
        for cut, rows in ((math.nextafter(0.5, 1), 11), (math.nextafter(0.5, 0), 11), (0.5, 11), (0.55, 11)):
            common = ["run", "ball.lisma", "-q", "--every", "0.1", "-o", "r.csv"]
            self.good(*common, "--until", repr(cut), "--checkpoint", "c")
            self.good(*common, "--until", "1", "--resume", "c")
            times = [float(line.split(",")[0]) for line in self.read("r.csv").splitlines()[1:]]
            self.assertEqual(len(times), rows, f"cut at {cut!r}: {times}")
            for k, t in enumerate(times):
                self.assertAlmostEqual(t, 0.1 * k, delta=1e-12)

    def test_interrupt(self):
        # interrupted wherever it happens to be, twice, then to the end
        self.write("endless.lisma", cli_case.ENDLESS)
        common = ["run", "endless.lisma", "-q", "--every", "1", "-o", "r.csv", "--checkpoint", "c"]
        for resume in ([], ["--resume", "c"]):
            size = os.path.getsize(self.path("r.csv")) if resume else 0
            process = self.popen(*common, "--until", "1e9", *resume, stderr=subprocess.PIPE)
            for _ in range(3000):
                if os.path.exists(self.path("r.csv")) and os.path.getsize(self.path("r.csv")) > size + 100000:
                    break
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertIn("--resume c", err.decode())
        last = float(self.read("r.csv").splitlines()[-1].split(",")[0])
        end = repr(float(int(last) + 100))
        self.good(*common, "--until", end, "--resume", "c")
        self.good("run", "endless.lisma", "-q", "--every", "1", "-o", "w.csv", "--until", end)
        self.assertEqual(self.read("w.csv"), self.read("r.csv"))

    def test_from_time_to_time(self):
        # killed without warning: the last checkpoint is whole
        self.write("endless.lisma", cli_case.ENDLESS)
        process = self.popen("run", "endless.lisma", "-q", "--until", "1e9", "--every", "1", "-o", "r.csv",
                             "--checkpoint", "c", "--checkpoint-every", "0.1", stderr=subprocess.PIPE)
        for _ in range(3000):
            if os.path.exists(self.path("c")):
                break
            time.sleep(0.02)
        time.sleep(0.5)
        process.kill()
        process.communicate(timeout=60)
        last = float(self.read("r.csv").splitlines()[-2].split(",")[0])
        end = repr(float(int(last) + 100))
        self.good("run", "endless.lisma", "-q", "--every", "1", "-o", "r.csv", "--until", end, "--resume", "c")
        self.good("run", "endless.lisma", "-q", "--every", "1", "-o", "w.csv", "--until", end)
        self.assertEqual(self.read("w.csv"), self.read("r.csv"))

    def test_what_does_not_fit(self):
        self.write("ball.lisma", BALL)
        common = ["run", "ball.lisma", "-q", "--every", "0.1"]
        self.good(*common, "--until", "2", "-o", "r.csv", "--checkpoint", "c")
        go_on = [*common, "--until", "4", "--resume"]
        rows = ["-o", "r.csv"]
        before = self.read("r.csv")
        self.write("nothing", "nothing")
        with open(self.path("broken"), "wb") as file:
            content = bytearray(self.binary("c"))
            content[-200] ^= 1
            file.write(content)
        with open(self.path("short"), "wb") as file:
            file.write(self.binary("c")[:-100])
        self.fails(2, *go_on, "missing", *rows, says="missing")
        self.fails(2, *go_on, "nothing", *rows, says=["nothing: it is no checkpoint", "--checkpoint FILE"])
        self.fails(2, *go_on, "broken", *rows, says="it is damaged")
        self.fails(2, *go_on, "short", *rows, says="it is damaged")
        self.fails(2, *go_on, "c", *rows, "--rtol", "1e-8", says=["rtol was 1e-6 and is 1e-8", "options"])
        self.fails(2, *go_on, "c", *rows, "--method", "rodas", says="the method was auto and is rodas")
        self.fails(2, *go_on, "c", *rows, "--set", "e=0.7", says="the constant e was 0.8 and is 0.7")
        self.fails(2, *go_on, "c", *rows, "--seed", "3", says="the seed")
        self.fails(2, *go_on, "c", *rows, "--out", "y", says="the columns are not the same")
        self.fails(2, "run", "ball.lisma", "-q", "--every", "0.2", "--until", "4", "--resume", "c", *rows,
                   says="not at the same distances")
        self.fails(2, *common, "--until", "1", "--resume", "c", *rows, says=["t = 2", "--until"])
        self.fails(2, *go_on, "c", "-o", "other.csv", says=["other.csv", "results up to the checkpoint"])
        os.link(self.path("ball.lisma"), self.path("link.csv"))
        self.fails(2, *go_on, "c", "-o", "link.csv", says="would overwrite")
        self.fails(2, *go_on, "c", "-o", "nothing", says="does not hold the results")
        self.fails(2, *go_on, "c", "-o", "-", says="went to a file")
        self.fails(2, *go_on, "c", *rows, "--plot", "p.svg", says=["--plot", "saltus plot"])
        self.fails(2, "run", "ball.lisma", "--checkpoint", "c2", "-o", "x.mat", says=".mat")
        self.fails(2, "run", "ball.lisma", "--checkpoint", "ball.lisma", says="would overwrite")
        self.fails(2, "run", "ball.lisma", "--checkpoint-every", "3", says="--checkpoint")
        self.fails(2, "explain", "ball.lisma", "--run", "--resume", "c", says="--resume")
        self.assertEqual(self.read("r.csv"), before)
        self.write("ball.lisma", BALL + "// another text\n")
        self.fails(2, *go_on, "c", *rows, says="the model has changed since")
        self.write("ball.lisma", BALL)
        self.good(*go_on, "c", *rows)

    def test_a_checkpoint_that_cannot_be_written(self):
        """Known before the run where the place is wrong; else the run goes on, says so once, and has failed in the end."""
        self.write("ball.lisma", BALL)
        run = ["run", "ball.lisma", "-q", "--until", "2", "-o", "r.csv", "--checkpoint"]
        self.fails(2, *run, "no/where", says="cannot write no/where")
        self.assertFalse(os.path.exists(self.path("r.csv")))
        self.good(*run, "c")  # there is a key now
        result = self.fails(3, *run, "/dev/full", "--checkpoint-every", "0.001", says="cannot write /dev/full")
        self.assertEqual(result.err.count("cannot write"), 1)
        self.assertTrue(self.read("r.csv").splitlines()[-1].startswith("2,"))
        tables = os.path.join(SOURCE, "models", "rules", "hoop.rules.md")
        self.fails(2, "run", tables, "--cyclic", "0.001", "--checkpoint", "c", says="no checkpoints")

    def test_standard_output(self):
        self.write("ball.lisma", BALL)
        whole = self.good("run", "ball.lisma", "-q", "--every", "0.5", "--until", "4", "-o", "-").out
        first = self.good("run", "ball.lisma", "-q", "--every", "0.5", "--until", "2", "-o", "-", "--checkpoint", "c").out
        second = self.good("run", "ball.lisma", "-q", "--every", "0.5", "--until", "4", "-o", "-", "--resume", "c").out
        self.assertEqual(first + second, whole)


cli_case.main()
