// SPDX-License-Identifier: MIT
//
// One accepted step of a model with two states.
//
// Definition: the oscillator q' = p, p' = -q^3 - q from (1.3, 0.2), rtol 1e-6, atol 1e-9, T = 5e4,
// Dormand-Prince. Time per accepted step; a step whose length was rejected counts with the one that
// follows. Error: energy at the end, relative (no closed form is needed, and both lose it at the
// same rate).
// Opponent: the same method in a loop fused for the problem. Budget: 3 times its time on the tape,
// 1.5 times in native code.
#define DP5_N 2
static inline void dp5_rhs(double t, const double* x, double* dx) {
  (void)t;
  dx[0] = x[1];
  dx[1] = -x[0] * x[0] * x[0] - x[0];
}
#include "bench.h"
#include "dp5.h"

static const char text[] = "q' = p;               q(t0) = 1.3;\n"
                           "p' = -q * q * q - q;  p(t0) = 0.2;\n";

typedef struct Task {
  SltModel* model;
  double t_end;
  double opponent_steps, saltus_steps;
} Task;

static double energy(double q, double p) {
  return 0.5 * p * p + 0.25 * q * q * q * q + 0.5 * q * q;
}

static double by_hand(void* user) {
  Task* task = user;
  double x0[2] = {1.3, 0.2};
  Dp5 s;
  dp5_start(&s, 0.0, x0, 1e-3);
  long steps = 0;
  while (s.t < task->t_end) {
    double error = dp5_attempt(&s);
    dp5_accept(&s);
    dp5_grow(&s, error);
    steps++;
  }
  task->opponent_steps = (double)steps;
  return fabs(energy(s.x[0], s.x[1]) / energy(1.3, 0.2) - 1.0);
}

static double by_saltus(void* user) {
  Task* task = user;
  SltSimOptions options = slt_sim_options();
  options.method = "dp54";
  SltSim* sim = bench_start(task->model, &options);
  bench_advance(sim, task->t_end);
  task->saltus_steps = (double)slt_sim_statistics(sim).steps;
  double error = energy(bench_value(sim, "q"), bench_value(sim, "p")) / energy(1.3, 0.2) - 1.0;
  slt_sim_free(sim);
  return fabs(error);
}

static void compare(Task* task, const char* name, const char* what, double budget) {
  BenchRow row = bench_row(name, what);
  row.opponent = "DP5 fused";
  row.unit = "step";
  row.budget = budget;
  bench_compare(&row, by_hand, by_saltus, task);
  // per step of each: the controllers differ in detail
  row.units = task->opponent_steps;
  row.saltus_s *= task->opponent_steps / task->saltus_steps;
  bench_print(&row);
}

int main(void) {
  Task task = {.model = bench_model("step", text), .t_end = bench_size(5e4, 10.0)};
  compare(&task, "step", "one accepted step, 2 states, DP5, tape", 3.0);
  if (bench_native(task.model, 1.0)) {
    compare(&task, "step-native", "the same in machine code", 1.5);
  }
  slt_model_free(task.model);
  return 0;
}
