#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What can go wrong around a run: no memory, sudden death, a full disk, a closed pipe.

  memory   every n-th allocation of the jobs fails, alone and with all behind it. A job that ends with
           status 0 has written what it always writes; any other one has said something, and what it
           has written is a beginning of that in whole lines. Nothing crashes or hangs.
  kill     runs with checkpoints are killed (SIGKILL) at random times and go on from the last
           checkpoint; in the end the rows are those of a run without an interruption.
  disk     files may not grow beyond a random size.
  pipe     the reader of standard output goes away after a random number of bytes.

Each of them takes a quarter of the time; memory is done earlier when every allocation has failed.

Usage: torture.py BUILD [--seconds S] [--seed N] [--only memory,kill,disk,pipe]
"""
import argparse
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import mat_file  # noqa: E402
BALL = "y' = v; y(t0) = 2; v' = -9.81; v(t0) = 0; n(t0) = 0;\n" \
       "state hit [y <= 0] && v < 0 { set v = -0.8*v, n = n + 1; } from init, hit;\nexperiment { end = 2.5; }\n"
LONG = "x' = y; x(t0) = 1; y' = -x; y(t0) = 0; n(t0) = 0;\n" \
       "state up [x >= 0] { set n = n + 1; } from init, down;\nstate down [x < 0] { set n = n + 1; } from up;\n" \
       "experiment { end = 60000; }\n"
# a contact that closes, a surface that is slid along, an equation to solve, a delay, a table
REST = "y' = v; y(t0) = 1; v' = -9.81; v(t0) = 0;\nstate hit [y <= 0] && v < 0 { set v = -0.5*v; } from init, hit;\n" \
       "z' = if(z > 0.5, -1, 1) + 0.1*sin(5*time); z(t0) = 0;\np' = -p; p(t0) = 2; p = a*a*a + a; a(t0) ~ 1;\n" \
       "q' = -delay(q, 0.3); q(t0) = 1;\ndata d = \"d.csv\";\nw = table(d, time);\n" \
       "automaton wet { state on [p < 1] { q' = 1 - q; } from init; }\nexperiment { end = 3; }\n"
STATUSES = (0, 1, 2, 3, 141)
FULL = (0, 3)  # without room a command has failed in its run
# name, arguments, files that are written line by line, files that are written as a whole
JOBS = [
    ("rows", ["run", "ball.lisma", "-q", "-o", "r.csv", "--events", "r.jsonl"], ["r.csv", "r.jsonl"], []),
    ("mat", ["run", "ball.lisma", "-q", "-o", "r.mat"], [], ["r.mat"]),
    ("gzip", ["run", "ball.lisma", "-q", "-o", "r.csv.gz"], ["r.csv.gz"], []),
    ("rest", ["run", "rest.lisma", "-q", "-o", "r.csv", "--events", "r.jsonl"], ["r.csv", "r.jsonl"], []),
    ("sweep", ["sweep", "ball.lisma", "-q", "-j", "1", "--vary", "y(t0)=1,2,3", "-m", "end(y)", "-o", "r.csv"], ["r.csv"], []),
    ("measure", ["measure", "rest.lisma", "-m", "max(v)", "-m", "count(wet.on)", "-o", "r.csv"], ["r.csv"], []),
    ("sens", ["sens", "ball.lisma", "-q", "--differences", "--params", "y(t0)", "-m", "end(y)", "-o", "r.csv"], ["r.csv"], []),
    ("picture", ["run", "ball.lisma", "-q", "-o", "r.csv", "--plot", "r.svg"], ["r.csv"], ["r.svg"]),
    ("report", ["run", "ball.lisma", "-q", "-o", "r.csv", "--report", "r.html"], ["r.csv"], ["r.html"]),
    ("checkpoint", ["run", "ball.lisma", "-q", "-o", "r.csv", "--checkpoint", "c"], ["r.csv"], []),
    ("story", ["explain", "ball.lisma", "--run"], ["stdout"], []),
    ("check", ["check", "big.lisma"], ["stdout"], []),
    ("cyclic", ["run", "hoop.rules.md", "-q", "--cyclic", "0.01", "-o", "r.csv"], ["r.csv"], []),
    ("convert", ["convert", "hoop.rules.md", "h.lisma"], [], ["h.lisma"]),
]


class Bench:
    def __init__(self, build, seed):
        self.program = os.path.abspath(os.path.join(build, "saltus"))
        self.random = random.Random(seed)
        self.problems = []
        self.folder = tempfile.mkdtemp(prefix="saltus-torture-")
        self.shim = os.path.join(self.folder, "failing_malloc.so")
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", self.shim,
                        os.path.join(ROOT, "tests", "torture", "failing_malloc.c"), "-ldl"], check=True)
        self.environment = dict(os.environ, XDG_STATE_HOME=os.path.join(self.folder, "state"),
                                XDG_CACHE_HOME=os.path.join(self.folder, "cache"), LC_ALL="C.UTF-8")

    def work(self):
        folder = os.path.join(self.folder, "work")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name, text in (("ball.lisma", BALL), ("long.lisma", LONG), ("rest.lisma", REST),
                           ("d.csv", "t,u\n0,1\n1,2\n3,3\n"),
                           ("big.lisma", "for i = 1:300 { x_[i]' = -i*x_[i]; x_[i](t0) = 1; }\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        shutil.copy(os.path.join(ROOT, "models", "rules", "hoop.rules.md"), folder)
        return folder

    def run(self, folder, arguments, extra=None, **options):
        """Status, standard output, standard error; a hang is None."""
        environment = dict(self.environment, **(extra or {}))
        try:
            done = subprocess.run([self.program, *arguments], cwd=folder, env=environment, timeout=60,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  check=False, **options)
        except subprocess.TimeoutExpired:
            return None, b"", b""
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def content(folder, name, out):
        if name == "stdout":
            return out
        try:
            with open(os.path.join(folder, name), "rb") as file:
                got = file.read()
        except FileNotFoundError:
            return None
        # what can be unpacked of it
        return zlib.decompressobj(31).decompress(got) if got and name.endswith(".gz") else got

    @staticmethod
    def is_whole(folder, name, got):
        """Not there, or what can be read: a run that fails keeps the rows it has."""
        if got is None or name.endswith(".lisma"):
            return True
        if name.endswith((".svg", ".html")):
            return got.endswith((b"</svg>\n", b"</html>\n"))
        try:
            return "names" in mat_file.read(os.path.join(folder, name))
        except (AssertionError, ValueError, struct.error):
            return False

    def complain(self, text):
        self.problems.append(text)
        print("  PROBLEM", text, flush=True)

    # ---- memory ---------------------------------------------------------------------------------

    def judge(self, what, folder, job, want, status, out, errors, statuses=STATUSES):
        _, _, lines, whole = job
        if status is None or status not in statuses:
            self.complain(f"{what}: status {status}: {errors[-200:]!r}")
            return
        if status != 0 and not errors:
            self.complain(f"{what}: status {status} without a word")
        for name in lines + whole:
            got = self.content(folder, name, out)
            if status == 0 and got != want[name] and name not in ("r.svg", "r.html"):
                self.complain(f"{what}: status 0 and {name} is not what it should be")
            elif status != 0 and name in whole and not self.is_whole(folder, name, got):
                self.complain(f"{what}: half of {name} was left behind")
            elif status != 0 and name in lines and got and name != "stdout":
                # rows end with one at the time of the failure; records are those of the run
                rows = name.endswith((".csv", ".gz"))
                if not want[name].startswith(got[:got.rfind(b"\n", 0, -1) + 1] if rows else got):
                    self.complain(f"{what}: {name} is no beginning")
                if not got.endswith(b"\n") and not name.endswith(".gz"):
                    self.complain(f"{what}: {name} ends inside of a line")
        for left in os.listdir(folder):
            if left.startswith(".saltus-"):
                self.complain(f"{what}: {left} was left behind")

    def memory(self, deadline):
        trials = failures = 0
        plans = []
        for job in JOBS:
            folder = self.work()
            count = os.path.join(self.folder, "count")
            status, out, errors = self.run(folder, job[1], {"LD_PRELOAD": self.shim, "SALTUS_FAIL_COUNT": count})
            if status != 0:
                self.complain(f"{job[0]}: fails by itself: {errors[-200:]!r}")
                continue
            want = {name: self.content(folder, name, out) for name in job[2] + job[3]}
            with open(count, encoding="utf-8") as file:
                total = int(file.read())
            plans += [(job, want, n, on) for n in range(1, total + 1) for on in (False, True)]
        self.random.shuffle(plans)
        for job, want, n, on in plans:
            if time.monotonic() > deadline:
                break
            folder = self.work()
            extra = {"LD_PRELOAD": self.shim, "SALTUS_FAIL_AT": str(n)}
            if on:
                extra["SALTUS_FAIL_ON"] = "1"
            status, out, errors = self.run(folder, job[1], extra)
            trials += 1
            failures += status != 0
            self.judge(f"{job[0]}, allocation {n}{' and on' if on else ''}", folder, job, want, status, out, errors)
        return f"memory: {trials} of {len(plans)} allocations failed in {len(JOBS)} jobs, {failures} jobs ended with it"

    # ---- sudden death ---------------------------------------------------------------------------

    def kill(self, deadline):
        folder = self.work()
        common = ["run", "long.lisma", "-q", "--every", "20", "--checkpoint", "c", "--checkpoint-every", "0.001"]
        self.run(folder, ["run", "long.lisma", "-q", "--every", "20", "-o", "want.csv", "--events", "want.jsonl"])
        want = [self.content(folder, name, b"") for name in ("want.csv", "want.jsonl")]
        trials = kills = resumes = 0
        while time.monotonic() < deadline:
            for name in ("r.csv", "r.jsonl", "c"):
                if os.path.exists(os.path.join(folder, name)):
                    os.remove(os.path.join(folder, name))
            for _ in range(1000):
                go_on = ["--resume", "c"] if os.path.exists(os.path.join(folder, "c")) else []
                resumes += bool(go_on)
                process = subprocess.Popen([self.program, *common, "-o", "r.csv", "--events", "r.jsonl", *go_on],
                                           cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE)
                try:
                    process.wait(timeout=self.random.uniform(0.15, 0.4))
                except subprocess.TimeoutExpired:
                    process.kill()
                    kills += 1
                _, errors = process.communicate()
                if process.returncode == 0:
                    break
                if process.returncode != -signal.SIGKILL:
                    self.complain(f"kill {trials}: status {process.returncode}: {errors[-200:]!r}")
                    break
            got = [self.content(folder, name, b"") for name in ("r.csv", "r.jsonl")]
            if got != want:
                self.complain(f"kill {trials}: the rows or records are others")
            trials += 1
        return f"kill: {trials} runs, {kills} kills, {resumes} resumes"

    # ---- disks and pipes ------------------------------------------------------------------------

    def disk(self, deadline):
        trials = failures = 0
        plans = [job for job in JOBS if job[0] not in ("story", "check")]
        wants = {}
        for job in plans:
            folder = self.work()
            status, out, _ = self.run(folder, job[1])
            wants[job[0]] = {name: self.content(folder, name, out) for name in job[2] + job[3]}
        while time.monotonic() < deadline:
            job = self.random.choice(plans)
            size = int(10 ** self.random.uniform(0, 5.2))
            folder = self.work()
            status, out, errors = self.run(folder, job[1], preexec_fn=lambda s=size: resource.setrlimit(
                resource.RLIMIT_FSIZE, (s, s)))
            trials += 1
            failures += status != 0
            self.judge(f"{job[0]}, {size} bytes", folder, job, wants[job[0]], status, out, errors, FULL)
        return f"disk: {trials} trials, {failures} of them full"

    def pipe(self, deadline):
        trials = closed = 0
        while time.monotonic() < deadline:
            folder = self.work()
            arguments = self.random.choice([["run", "long.lisma", "-q", "-o", "-", "--events", "r.jsonl"],
                                            ["explain", "ball.lisma", "--run", "--all"], ["explain", "big.lisma"]])
            process = subprocess.Popen([self.program, *arguments], cwd=folder, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdout.read(int(10 ** self.random.uniform(0, 5)))
            process.stdout.close()
            _, errors = process.stderr.read(), None
            status = process.wait(timeout=60)
            process.stderr.close()
            trials += 1
            closed += status == 141
            if status not in (0, 141):
                self.complain(f"pipe, {arguments}: status {status} {errors}")
            lines = self.content(folder, "r.jsonl", b"")
            if lines and not lines.endswith(b"\n"):
                self.complain(f"pipe, {arguments}: records end inside of a line")
        return f"pipe: {trials} trials, {closed} of them closed early"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="memory,kill,disk,pipe")
    given = parser.parse_args()
    bench = Bench(given.build, given.seed)
    parts = given.only.split(",")
    told = []
    try:
        for i, part in enumerate(parts):
            left = given.seconds / len(parts)
            told.append(getattr(bench, part)(time.monotonic() + left))
            print(told[-1], flush=True)
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
    print(f"torture: {len(bench.problems)} problem{'' if len(bench.problems) == 1 else 's'}; " + "; ".join(told))
    return 1 if bench.problems else 0


if __name__ == "__main__":
    sys.exit(main())
