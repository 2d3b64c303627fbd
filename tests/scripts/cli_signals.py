#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing is lost: interrupts, closed pipes, full disks."""
import glob
import os
import pty
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import cli_case  # noqa: E402


class Interrupts(cli_case.CliCase):
    def wait_for_rows(self, name):
        """Until the first rows are in the file: the run is then well under way."""
        for _ in range(3000):
            if os.path.exists(self.path(name)) and os.path.getsize(self.path(name)) > 0:
                return
            time.sleep(0.02)
        self.fail("no rows come")

    def interrupt(self, number, *arguments):
        self.write("endless.lisma", cli_case.ENDLESS)
        process = self.popen("run", "endless.lisma", "--until", "1e9", "--every", "1", *arguments,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_for_rows("endless.csv")
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out.decode(), err.decode()

    def check_rows(self, text):
        lines = text.splitlines()
        self.assertTrue(text.endswith("\n"))
        self.assertGreater(len(lines), 10)
        for number, line in enumerate(lines[1:]):
            cells = line.split(",")
            self.assertEqual(len(cells), 3)
            if number < len(lines) - 2:
                self.assertEqual(float(cells[0]), number)

    def test_interrupt_keeps_the_rows(self):
        status, out, err = self.interrupt(signal.SIGINT)
        self.assertEqual((status, out), (130, ""))
        self.assertIn("interrupted at t = ", err)
        self.assertIn("endless.csv", err)
        self.check_rows(self.read("endless.csv"))
        rows = len(self.read("endless.csv").splitlines()) - 1
        self.assertIn(f"{rows} rows", err)

    def test_interrupt_with_rows_on_standard_output(self):
        self.write("endless.lisma", cli_case.ENDLESS)
        with open(self.path("rows"), "wb") as rows:
            process = self.popen("run", "endless.lisma", "--until", "1e9", "-q", "--every", "1",
                                 "-o", "-", stdout=rows, stderr=subprocess.PIPE)
            self.wait_for_rows("rows")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"interrupted", err)  # --quiet silences no failures
        self.check_rows(self.read("rows"))

    def test_terminate_keeps_the_rows(self):
        status, _, err = self.interrupt(signal.SIGTERM, "--events", "e.jsonl", "--plot", "p.svg")
        self.assertEqual(status, 143)
        self.check_rows(self.read("endless.csv"))
        self.assertTrue(self.read("e.jsonl").endswith("}\n"))
        self.assertIn("</svg>", self.read("p.svg"))

    def test_own_rows_are_overwritten_after_an_interrupt(self):
        self.interrupt(signal.SIGINT)
        self.good("run", "endless.lisma", "-q", "--until", "1")

    def test_rows_of_a_killed_run_are_overwritten(self):
        self.interrupt(signal.SIGKILL)
        self.good("run", "endless.lisma", "-q", "--until", "1")


class Pipes(cli_case.CliCase):
    def closed_pipe(self, *arguments):
        self.write("endless.lisma", cli_case.ENDLESS)
        process = self.popen("run", "endless.lisma", "--until", "1e7", "--every", "1", *arguments,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        return process.wait(timeout=60), first, err

    def test_closed_pipe_is_silent(self):
        status, first, err = self.closed_pipe("-o", "-", "-q")
        self.assertEqual((status, first, err), (141, b"time,x,y\n", b""))

    def test_closed_pipe_keeps_the_other_files(self):
        status, _, _ = self.closed_pipe("-o", "-", "-q", "--events", "e.jsonl")
        self.assertEqual(status, 141)
        self.assertTrue(self.read("e.jsonl").endswith("}\n"))

    def test_closed_pipe_of_short_commands(self):
        reader, writer = os.pipe()
        os.close(reader)
        for arguments in (["--help"], ["methods"], ["explain", "ball.lisma"], ["--version"],
                          ["run", "ball.lisma", "-q", "--plot", "-"]):
            self.assertEqual(self.saltus(*arguments, stdout=writer).status, 141, arguments)
        os.close(writer)

    def test_closed_standard_output(self):
        process = subprocess.run(["sh", "-c", '"$0" run ball.lisma -q -o - >&-', cli_case.PROGRAM],
                                 cwd=self.folder, stderr=subprocess.PIPE, check=False)
        self.assertEqual(process.returncode, 3)
        self.assertIn(b"standard output", process.stderr)
        # a file opened by the program must not become its standard error
        subprocess.run(["sh", "-c", '"$0" run ball.lisma -o rows.csv 2>&-', cli_case.PROGRAM],
                       cwd=self.folder, check=True)
        self.assertNotIn("wall time", self.read("rows.csv"))


class FullDisks(cli_case.CliCase):
    def test_full_device(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        self.fails(3, "run", "ball.lisma", "-o", "/dev/full", says=["/dev/full", "rows"])
        self.fails(3, "run", "ball.lisma", "-q", "--events", "/dev/full", says="/dev/full")
        self.assertTrue(self.read("ball.csv").endswith("\n"))
        with open("/dev/full", "wb") as full:
            self.fails(3, "run", "ball.lisma", "-q", "-o", "-", stdout=full, says="standard output")
            self.fails(3, "methods", stdout=full, says="standard output")
            self.fails(3, "explain", "ball.lisma", stdout=full, says="standard output")

    def test_what_is_safe_is_whole(self):
        self.write("endless.lisma", cli_case.ENDLESS)
        limit = 200000

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        result = self.fails(3, "run", "endless.lisma", "--until", "1e5", "--every", "1",
                            says="are safe in endless.csv", preexec_fn=small_files)
        text = self.read("endless.csv")
        self.assertTrue(text.endswith("\n"))
        self.assertGreater(len(text), limit - 200)
        self.assertIn(f"{len(text.splitlines()) - 1} rows are safe", result.err)


class Progress(cli_case.CliCase):
    def run_for(self, seconds, **options):
        self.write("endless.lisma", cli_case.ENDLESS)
        process = self.popen("run", "endless.lisma", "--until", "1e9", "--every", "1e3", **options)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        return process

    def test_plain_lines_without_a_terminal(self):
        process = self.run_for(2.8, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
        self.assertRegex(err.decode(), r"(?m)^\d+ %, t = .*event")
        self.assertNotIn(b"\r", err)

    def test_bar_on_a_terminal(self):
        master, slave = pty.openpty()
        process = self.run_for(1.2, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        text = b""
        try:
            while True:
                piece = os.read(master, 65536)
                if not piece:
                    break
                text += piece
        except OSError:
            pass  # the other end is closed
        process.wait(timeout=60)
        os.close(master)
        self.assertIn(b"\r[", text)
        self.assertIn(b" %", text)
        self.assertLessEqual(text.count(b"\r["), 15)
        self.assertIn(b"interrupted", text)


class Stuck(cli_case.CliCase):
    """A run that does not come to the end of a step: here it waits for a compiler that never ends."""

    def begin(self):
        self.write("m.lisma", cli_case.ENDLESS)
        self.write("cc", f"#!/bin/sh\necho $$ >{self.path('pid')}\nsleep 600\n")
        os.chmod(self.path("cc"), 0o755)
        environment = self.environment(SALTUS_CC=self.path("cc"), XDG_CACHE_HOME=self.path("cache"))
        run = self.popen("run", "m.lisma", "-q", "--native", "on", "--until", "1e6", "-o", "r.csv",
                         env=environment, stderr=subprocess.PIPE)
        self.addCleanup(run.stderr.close)
        end = time.monotonic() + 60
        while not (os.path.exists(self.path("pid")) and self.read("pid").endswith("\n")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return run, int(self.read("pid"))

    def check_end(self, run, compiler, status):
        self.assertEqual(run.wait(timeout=30), status)
        self.assertIn(b"ended at once", run.stderr.read())
        self.assertIn(self.read("r.csv")[-1:], ("", "\n"))
        for _ in range(100):
            try:
                with open(f"/proc/{compiler}/stat", encoding="utf-8") as file:
                    if file.read().rpartition(")")[2].split()[0] == "Z":
                        return
            except FileNotFoundError:
                return
            time.sleep(0.05)
        self.fail("the compiler is still there")

    def test_one_interrupt_is_enough(self):
        run, compiler = self.begin()
        run.send_signal(signal.SIGINT)
        self.check_end(run, compiler, 130)

    def test_a_second_one_does_not_wait(self):
        run, compiler = self.begin()
        run.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGTERM)
        self.check_end(run, compiler, 143)

    def test_limits(self):
        self.write("m.lisma", cli_case.ENDLESS)
        result = self.fails(3, "run", "m.lisma", "-q", "--until", "1e9", "--hmax", "1e-3", "--every", "1",
                            "-o", "r.csv", "--timeout", "0.3", says=["--timeout 0.3 was reached", "rows up to"])
        self.assertNotIn("at once", result.err)
        for limit in ("--max-steps", "--max-events"):
            self.fails(3, "run", "ball.lisma", "-q", "-o", "b.csv", "--checkpoint", "c", limit, "7",
                       says=[f"{limit} 7 was reached", "--resume c"])
            self.good("run", "ball.lisma", "-q", "-o", "b.csv", "--resume", "c")
            self.good("run", "ball.lisma", "-q", "-o", "whole.csv")
            self.assertEqual(self.read("b.csv"), self.read("whole.csv"))

    def test_an_instant_that_takes_long(self):
        """Limits and signals end it as they end a step: the rows before it are there, and the last one is what it began with."""
        rooms = "for i = 1:300 { x_[i]' = -x_[i]; x_[i](t0) = i; }\nk(t0) = 0;\n"
        chain = rooms + "automaton a { state s [k < 9e5] && [x_[1] < 0.5] { set k = k + 1; } from init, t; " \
                        "state t [k < 9e5] && [x_[2] < 1.1] { set k = k + 1; } from s; }\n"
        options = ("-q", "--until", "2", "--every", "0.1", "--event-rows", "none", "-o", "r.csv")
        for text in (chain, chain + "automaton b { state s [x_[3] < 1] {} from init; }\n"):
            self.write("m.lisma", text)
            result = self.fails(3, "run", "m.lisma", *options, "--checkpoint", "c", "--timeout", "0.3",
                                says=["--timeout 0.3 was reached at t = 0.69314", "8 rows up to", "before its first checkpoint"])
            self.assertNotIn("at once", result.err)
            last = self.read("r.csv").splitlines()[-1].split(",")
            self.assertAlmostEqual(float(last[1]), 0.5, 6)
            self.assertEqual(float(last[301]), 0)
            for signals in ((signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM)):
                run = self.popen("run", "m.lisma", *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(0.5)
                for number in signals:
                    run.send_signal(number)
                _, err = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 128 + signals[0], err)
                self.assertIn(b"8 rows up to t = 0.69314", err)
        self.write("m.lisma", chain.replace("x_[1] < 0.5", "x_[1] > 0").replace("x_[2] < 1.1", "x_[2] > 0"))
        self.fails(3, "run", "m.lisma", *options, "--timeout", "0.3", says=["was reached at t = 0", "no rows"])

    def test_new_files_go(self):
        """What is made as a whole and is not complete leaves nothing behind, whenever the signal comes."""
        self.write("m.lisma", "for i = 1:20 { x[i]' = -x[i]; x[i](t0) = i; }\nexperiment { end = 1; }\n")
        self.good("run", "m.lisma", "-q", "--samples", "30000", "-o", "rows.csv")
        ended = 0
        fmu = ["export", "m.lisma", "-o", "q.fmu", "--sources"]
        commands = [["run", "m.lisma", "-q", "--samples", "30000", "-o", "r.mat"], ["plot", "rows.csv", "-o", "r.svg"],
                    ["run", "m.lisma", "-q", "--samples", "30000", "-o", "r.csv", "--report", "r.html"]]
        for command in commands + [fmu] * (self.saltus(*fmu).status == 0):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                process = self.popen(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                while process.poll() is None and not glob.glob(self.path(".saltus*")) + glob.glob(self.path("q.fmu.*")):
                    time.sleep(0.001)
                if process.poll() is None:
                    process.send_signal(number)
                self.assertIn(process.wait(timeout=60), (0, -number, 128 + number), command)
                ended += process.returncode != 0
                self.assertEqual(glob.glob(self.path(".saltus*")) + glob.glob(self.path("q.fmu.*")), [], command)
        self.assertGreater(ended, 0)

    def test_a_reader_that_waits(self):
        """A signal that comes while standard output is full ends the run as any other."""
        self.write("m.lisma", "n(t0) = 0; at 1 each 1 repeat * { set n = n + 1; }\nexperiment { end = 1e7; }\n")
        process = self.popen("explain", "m.lisma", "--run", "--all", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertNotIn(b"cannot write", err)

    def test_a_run_that_creeps_says_so(self):
        for text in ("x' = exp(time)*cos(exp(time)); x(t0) = 0;\n",
                     "z' = 1; z(t0) = 0; x' = exp(2*z)*sin(exp(2*z)); x(t0) = 1;\n"):
            self.write("m.lisma", text)
            self.fails(3, "run", "m.lisma", "-q", "--until", "40", "-o", "r.csv", "--max-steps", "200000",
                       says=["W0811", "creeps", "'x' moves fastest"])
        self.assertNotIn("W0811", self.good("run", "ball.lisma", "-q", "-o", "r.csv").err)
        self.write("m.lisma", cli_case.ENDLESS)
        self.assertNotIn("W0811", self.good("run", "m.lisma", "-q", "--hmax", "0.01", "--until", "2000", "-o",
                                            "r.csv").err)


if __name__ == "__main__":
    cli_case.main()
