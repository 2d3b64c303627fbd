#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What Python costs above C: bench.py BUILD [--runs N]

A run is: create, set a constant, record 20 rows and all events up to the end, take the rows. An advance is one call over a
hundredth of a second. The same calls in C are compiled here and run in the same minute, best of five each. Times are those of
the processor, and threads are asked for what they waited for besides a core, so that a busy machine changes little.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = "const e = 0.8; y' = v; v' = -9.81; y(t0) = 1; v(t0) = 0;\\nstate b [y <= 0 and v < 0] { set v = -e * v; } from init, b;\\n"
C = r"""
#include <saltus/saltus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static SltStatus swallow(void* u, const char* d, size_t n) { (void)u; (void)d; (void)n; return SLT_OK; }
static void one(SltModel* m) {
  SltSimOptions o = slt_sim_options(); SltRecorderOptions r = slt_recorder_options(); SltSim* s; SltRecorder* k;
  r.keep = true; r.bands = false; r.samples = 20; r.events = (SltWriter){swallow, NULL};
  slt_sim_create(m, &o, &s); slt_sim_set_constant(s, "e", 0.7); slt_recorder_create(s, &r, &k, NULL);
  slt_recorder_run(k, 1.0); SltTable* t = slt_recorder_take_table(k);
  slt_recorder_free(k); slt_sim_free(s); slt_table_free(t);
}
int main(void) {
  static const char text[] = "@MODEL@"; SltModel* m; int n = @RUNS@; double best = 1e9, fly = 1e9;
  slt_model_compile("ball", text, strlen(text), NULL, &m);
  for (int k = 0; k < 5; k++) {
    double a = now(); for (int i = 0; i < n; i++) one(m);
    double b = (now() - a) / n; if (b < best) best = b;
    SltSimOptions o = slt_sim_options(); SltSim* s; slt_sim_create(m, &o, &s); slt_sim_start(s);
    a = now(); for (int i = 1; i <= 100; i++) while (slt_sim_advance(s, i * 0.01, NULL) == SLT_EVENT) ;
    b = (now() - a) / 100; if (b < fly) fly = b; slt_sim_free(s);
  }
  printf("%.9g %.9g\n", best, fly); return 0;
}
"""


def in_c(build: Path, runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "bench.c"), Path(folder, "bench")
        source.write_text(C.replace("@MODEL@", MODEL).replace("@RUNS@", str(runs)))
        flags = [f"-I{ROOT / 'include'}", f"-L{build}", f"-Wl,-rpath,{build}", "-lsaltus", "-lm"]
        subprocess.run(["cc", "-O2", "-D_POSIX_C_SOURCE=200809L", source, "-o", program, *flags], check=True)
        run, fly = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
        return float(run), float(fly)


def best_of(count, function):
    return min(function() for _ in range(count))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda p: Path(p).resolve())
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--many", type=int, default=1_000_000, help="runs of the memory test; 0 leaves it out")
    given = parser.parse_args()
    sys.path.insert(0, str(given.build / "python"))
    import saltus

    m = saltus.load(MODEL.replace("\\n", "\n"), native="off")
    run_c, advance_c = in_c(given.build, given.runs)

    def run() -> float:
        start = time.process_time()
        for _ in range(given.runs):
            m.run(1, params={"e": 0.7}, samples=20)
        return (time.process_time() - start) / given.runs

    def advance() -> float:
        s = m.sim()
        start = time.process_time()
        for i in range(1, 101):
            s.advance(i * 0.01)
        return (time.process_time() - start) / 100

    run_py, advance_py = best_of(5, run), best_of(20, advance)
    print(f"run      C {run_c * 1e6:8.2f} us   Python {run_py * 1e6:8.2f} us   above {(run_py - run_c) * 1e6:6.2f} us")
    print(f"advance  C {advance_c * 1e6:8.2f} us   Python {advance_py * 1e6:8.2f} us   above {(advance_py - advance_c) * 1e6:6.2f} us")

    long = saltus.load("x' = y; y' = -x; x(t0) = 1; y(t0) = 0;", native="off")

    def schedule() -> tuple[float, float]:
        """Seconds that this thread has run, and stood in line for a core."""
        ran, queued, _ = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()
        return int(ran) * 1e-9, int(queued) * 1e-9

    def pool(workers: int, until: float, count: int) -> tuple[float, float]:
        """Processor time of all workers, and the share of the time with a core to be had that they ran."""
        ran, had = [], []

        def work() -> None:
            start, (ran0, queued0) = time.perf_counter(), schedule()
            for _ in range(count // workers):
                long.run(until, samples=10)
            ran1, queued1 = schedule()
            ran.append(ran1 - ran0)
            had.append(time.perf_counter() - start - (queued1 - queued0))

        threads = [threading.Thread(target=work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(ran), sum(ran) / sum(had)

    workers = os.cpu_count() or 1
    for until, count in ((20000, 16), (200, 1000), (20, 10000)):
        alone, (together, share) = best_of(3, lambda: pool(1, until, count))[0], best_of(3, lambda: pool(workers, until, count))
        print(f"threads  runs of {alone / count * 1e6:6.0f} us: {share * alone / together:.2f} of each core "
              f"({share:.2f} not waiting, {together / alone:.2f} of the work of one)")

    def interrupt() -> float:
        sent = []

        def kill() -> None:
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(0.3, kill).start()
        try:
            long.run(1e12, samples=10)
        except KeyboardInterrupt:
            return time.perf_counter() - sent[0]
        raise AssertionError("not interrupted")

    print(f"Ctrl-C   answered within {max(interrupt() for _ in range(5)) * 1e3:.1f} ms")
    if given.many:
        for _ in range(10000):
            m.run(1, params={"e": 0.7}, samples=20)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(given.many):
            m.run(1, params={"e": 0.7}, samples=20)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"memory   {grown} KiB more after {given.many} runs")


if __name__ == "__main__":
    main()
