// SPDX-License-Identifier: MIT
//
// Restart after an event, two states.
//
// Definition: the oscillator q' = p, p' = -q^3 - q from (1.3, 0.2); at t = 1, 2, 3, ... the speed
// is reversed, so the motion goes back and forth on one arc. T = 2e4, rtol 1e-6, atol 1e-9. Time
// per segment: what is left of the last step, the restart, and the steps up to the next event.
// Error: distance from the start after an even number of reversals, which undo each other.
// Opponent: Dormand-Prince fused for the problem, landing on the events, step size carried over.
// Budget: 2 times its time.
#define DP5_N 2
static inline void dp5_rhs(double t, const double* x, double* dx) {
  (void)t;
  dx[0] = x[1];
  dx[1] = -x[0] * x[0] * x[0] - x[0];
}
#define BENCH_NATIVE
#include "bench.h"
#include "dp5.h"

static const char text[] = "q' = p;               q(t0) = 1.3;\n"
                           "p' = -q * q * q - q;  p(t0) = 0.2;\n"
                           "at 1 each 1 repeat * { p(t0) = -p; }\n";

typedef struct Task {
  SltModel* model;
  double events;
} Task;

static double by_hand(void* user) {
  const Task* task = user;
  double x0[2] = {1.3, 0.2};
  Dp5 s;
  dp5_start(&s, 0.0, x0, 1e-2);
  for (double k = 1.0; k <= task->events; k += 1.0) {
    double wanted = s.h;
    while (s.t < k) {
      wanted = s.h;
      bool lands = s.t + 1.01 * s.h >= k;
      if (lands) s.h = k - s.t;
      double error = dp5_try(&s);
      if (error > 1.0) {
        dp5_shrink(&s, error);
        continue;
      }
      dp5_accept(&s);
      if (lands) {
        s.t = k;
        s.h = wanted;
      } else {
        dp5_grow(&s, error);
      }
    }
    double x[2] = {s.x[0], -s.x[1]};
    dp5_restart(&s, k, x);
  }
  return hypot(s.x[0] - 1.3, s.x[1] - 0.2);
}

static double by_saltus(void* user) {
  const Task* task = user;
  SltSimOptions options = slt_sim_options();
  options.method = "dp54";
  SltSim* sim = bench_start(task->model, &options);
  bench_advance(sim, task->events);
  double error = hypot(bench_value(sim, "q") - 1.3, bench_value(sim, "p") - 0.2);
  slt_sim_free(sim);
  return error;
}

int main(void) {
  Task task = {bench_model("restart", text), bench_size(2e4, 10.0)};
  BenchRow row = bench_row("restart", "restart after an event, 2 states");
  row.opponent = "DP5 fused, landing on the events";
  row.unit = "segment";
  row.units = task.events;
  row.budget = 2.0;
  return bench_one(row, by_hand, by_saltus, &task, task.model);
}
