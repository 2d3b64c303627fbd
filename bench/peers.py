#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Other simulators on the problems of this folder, where they are installed: SciPy and SimPy (Python
# modules), GNU Octave and Scilab (programs), SUNDIALS (headers and libraries for the C compiler).
# Prints one row of JSON per problem and peer, without a ratio of its own: `opponent_s` is the time of
# the peer, and scripts/bench.py shows it in the table beside the others. What is not installed is
# left out silently.
#
# Definitions are those of ball.c (1000 bounces instead of 1e5: interpreters are slow) and queue.c
# (1e5 customers instead of 1e6). The row of SUNDIALS says which version was used, and that it is the
# library as installed: distributions may build it without optimisation.
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

G, E, V_MIN = 9.81, 0.9, 0.05
BOUNCES = 1000
CUSTOMERS = 100000


def emit(name, what, unit, units, seconds, error=None, note=None):
    row = {"name": name, "what": what, "unit": unit, "units": units, "opponent_s": seconds,
           "error": error, "note": note, "peer": True}
    print(json.dumps({k: v for k, v in row.items() if v is not None}), flush=True)


def relaunch(speed):
    v = E * speed
    return math.sqrt(2 * G) if v < V_MIN else v


def last_bounce():
    t, v = 0.0, math.sqrt(2 * G)
    for _ in range(BOUNCES):
        t += 2 * v / G
        v = relaunch(v)
    return t


def scipy_ball():
    from scipy.integrate import solve_ivp
    import scipy

    def fall(t, x):
        return [x[1], -G]

    def floor(t, x):
        return x[0] if x[1] < 0 else 1.0

    floor.terminal = True
    floor.direction = -1
    began = time.process_time()
    t, x = 0.0, [0.0, math.sqrt(2 * G)]
    for _ in range(BOUNCES):
        run = solve_ivp(fall, (t, t + 10), x, events=floor, rtol=1e-6, atol=1e-9)
        t = run.t[-1]
        x = [0.0, relaunch(-run.y[1][-1])]
    exact = last_bounce()
    emit("ball_scipy", f"bouncing ball, {BOUNCES} bounces: SciPy {scipy.__version__}, RK45", "event",
         BOUNCES, time.process_time() - began, abs(t - exact) / exact)


def simpy_queue():
    import random
    import simpy

    waits = []

    def customer(env, server):
        came = env.now
        with server.request() as turn:
            yield turn
            waits.append(env.now - came)
            yield env.timeout(random.expovariate(1.0))

    def source(env, server):
        for _ in range(CUSTOMERS):
            yield env.timeout(random.expovariate(0.8))
            env.process(customer(env, server))

    random.seed(1)
    env = simpy.Environment()
    server = simpy.Resource(env, capacity=1)
    env.process(source(env, server))
    began = time.process_time()
    env.run()
    seconds = time.process_time() - began
    emit("queue_simpy", f"queue M/M/1, {CUSTOMERS} customers: SimPy {simpy.__version__}", "event",
         2 * CUSTOMERS, seconds, None, f"mean wait {sum(waits) / len(waits):.2f} (theory 4)")


OCTAVE = """
function [value, stop, direction] = floor_event(t, x)
  value = x(1); stop = 1; direction = -1;
end
g = %(g)r; t = 0; x = [0; sqrt(2*g)];
options = odeset('RelTol', 1e-6, 'AbsTol', 1e-9, 'Events', @floor_event);
began = cputime;
for k = 1:%(count)d
  [ts, xs] = ode45(@(t, x) [x(2); -g], [t, t + 10], [1e-12; x(2)], options);
  t = ts(end); v = -xs(end, 2) * %(e)r;
  if v < %(v_min)r; v = sqrt(2*g); end
  x = [0; v];
end
printf('%%.17g %%.17g\\n', cputime - began, t);
"""


def octave_ball():
    count = BOUNCES // 10
    text = OCTAVE % {"g": G, "e": E, "v_min": V_MIN, "count": count}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "ball.m"
        script.write_text("1;\n" + text)
        done = subprocess.run(["octave", "--no-gui", "--quiet", str(script)], capture_output=True,
                              text=True, timeout=300, check=True)
    seconds, _ = map(float, done.stdout.split()[-2:])
    emit("ball_octave", f"bouncing ball, {count} bounces: GNU Octave, ode45", "event", count, seconds)


SCILAB = """
function dx = fall(t, x), dx = [x(2); -%(g)r]; endfunction
function g = ground(t, x), g = x(1); endfunction
t = 0; v = sqrt(2*%(g)r); tic();
for k = 1:%(count)d
  [x, rd] = ode("root", [1e-12; v], t, t + 10, 1e-6, 1e-9, fall, 1, ground);
  t = rd(1); v = -x(2, $) * %(e)r;
  if v < %(v_min)r then v = sqrt(2*%(g)r); end
end
mprintf("%%.17g %%.17g\\n", toc(), t);
exit;
"""


def scilab_ball():
    count = BOUNCES // 10
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "ball.sce"
        script.write_text(SCILAB % {"g": G, "e": E, "v_min": V_MIN, "count": count})
        done = subprocess.run(["scilab-cli", "-nb", "-f", str(script)], capture_output=True, text=True,
                              timeout=300, check=True)
    seconds, _ = map(float, done.stdout.split()[-2:])
    emit("ball_scilab", f"bouncing ball, {count} bounces: Scilab, lsodar", "event", count, seconds)


SUNDIALS = r"""
#include <arkode/arkode_erkstep.h>
#include <nvector/nvector_serial.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#if SUNDIALS_VERSION_MAJOR >= 7
typedef sunrealtype real;
#define CONTEXT(c) SUNContext_Create(SUN_COMM_NULL, &c)
#elif SUNDIALS_VERSION_MAJOR >= 6
typedef realtype real;
#define CONTEXT(c) SUNContext_Create(NULL, &c)
#endif
static int fall(real t, N_Vector x, N_Vector dx, void* user) {
  N_VGetArrayPointer(dx)[0] = N_VGetArrayPointer(x)[1];
  N_VGetArrayPointer(dx)[1] = -9.81;
  (void)t; (void)user;
  return 0;
}
static int ground(real t, N_Vector x, real* g, void* user) {
  (void)t; (void)user;
  g[0] = N_VGetArrayPointer(x)[0];
  return 0;
}
int main(void) {
  SUNContext context;
  CONTEXT(context);
  N_Vector x = N_VNew_Serial(2, context);
  double v = sqrt(2 * 9.81);
  N_VGetArrayPointer(x)[0] = 0;
  N_VGetArrayPointer(x)[1] = v;
  void* ark = ERKStepCreate(fall, 0.0, x, context);
  ERKStepSStolerances(ark, 1e-6, 1e-9);
  ERKStepRootInit(ark, 1, ground);
  int direction = -1;
  ERKStepSetRootDirection(ark, &direction);
  real t = 0;
  clock_t began = clock();
  for (int k = 0; k < BOUNCES; k++) {
    int flag = ERKStepEvolve(ark, t + 100, x, &t, ARK_NORMAL);
    if (flag != ARK_ROOT_RETURN) return 1;
    v = -0.9 * N_VGetArrayPointer(x)[1];
    if (v < 0.05) v = sqrt(2 * 9.81);
    N_VGetArrayPointer(x)[0] = 0;
    N_VGetArrayPointer(x)[1] = v;
    ERKStepReInit(ark, fall, t, x);  // after ERKStepReset short flights are missed
  }
  printf("%.17g %.17g %d.%d\n", (double)(clock() - began) / CLOCKS_PER_SEC, (double)t,
         SUNDIALS_VERSION_MAJOR, SUNDIALS_VERSION_MINOR);
  return 0;
}
"""


def sundials_ball():
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "ball.c", Path(folder) / "ball"
        source.write_text(f"#define BOUNCES {BOUNCES}\n" + SUNDIALS)
        build = ["cc", "-O3", str(source), "-o", str(program), "-lsundials_arkode",
                 "-lsundials_nvecserial", "-lm"]
        if subprocess.run(build, capture_output=True).returncode != 0:
            build += ["-lsundials_core"]
            if subprocess.run(build, capture_output=True).returncode != 0:
                return
        done = subprocess.run([str(program)], capture_output=True, text=True, timeout=300, check=True)
    seconds, t, version = done.stdout.split()[-3:]
    exact = last_bounce()
    emit("ball_sundials", f"bouncing ball, {BOUNCES} bounces: SUNDIALS {version} ERKStep", "event",
         BOUNCES, float(seconds), abs(float(t) - exact) / exact, "the library as it is installed")


def installed(module):
    import importlib.util
    return importlib.util.find_spec(module) is not None


def main():
    peers = [(installed("scipy"), scipy_ball), (installed("simpy"), simpy_queue),
             (shutil.which("octave"), octave_ball), (shutil.which("scilab-cli"), scilab_ball),
             (Path("/usr/include/arkode/arkode_erkstep.h").exists(), sundials_ball)]
    for there, run in peers:
        if not there:
            continue
        try:
            run()
        except Exception as problem:  # a peer that fails is no reason to lose the other rows
            print(f"{run.__name__}: {problem}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
