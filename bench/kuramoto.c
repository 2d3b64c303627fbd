// SPDX-License-Identifier: MIT
//
// N = 300 of Kuramoto's oscillators, each of which reads all others by a `sum`; T = 20, rtol 1e-6.
// Time per accepted step. Opponent: Dormand-Prince with two nested loops. Error: difference of the
// first phase. Budget: 3 times.
#include "bench.h"

#define DP5_N  300
#define PULL   2.0
#define SPREAD 0.5

static inline void dp5_rhs(double t, const double* x, double* dx) {
  static double own[DP5_N];
  (void)t;
  for (int i = 0; i < DP5_N; i++) {
    if (own[i] == 0.0) own[i] = 1.0 + SPREAD * sin(i + 1.0);
    double sum = 0.0;
    for (int j = 0; j < DP5_N; j++) {
      sum += sin(x[j] - x[i]);
    }
    dx[i] = own[i] + PULL / DP5_N * sum;
  }
}
#include "dp5.h"

typedef struct Task {
  double t_end;
  SltModel* model;
  double phase;  // of the opponent, at the end
  double opponent_steps, saltus_steps;
} Task;

static double by_hand(void* user) {
  Task* task = user;
  static Dp5 s;
  double x[DP5_N];
  for (int i = 0; i < DP5_N; i++) {
    x[i] = 6.28 * (i + 1) / DP5_N;
  }
  dp5_start(&s, 0.0, x, 1e-3);
  task->opponent_steps = 0.0;
  while (s.t < task->t_end) {
    if (s.t + s.h > task->t_end) s.h = task->t_end - s.t;
    double error = dp5_attempt(&s);
    dp5_accept(&s);
    dp5_grow(&s, error);
    task->opponent_steps += 1.0;
  }
  task->phase = s.x[0];
  return 0.0;
}

static double by_saltus(void* user) {
  Task* task = user;
  SltSim* sim = bench_start(task->model, NULL);
  bench_advance(sim, task->t_end);
  double error = fabs(bench_value(sim, "th[1]") - task->phase);
  task->saltus_steps = (double)slt_sim_statistics(sim).steps;
  slt_sim_free(sim);
  return error;
}

int main(void) {
  char text[400];
  snprintf(text, sizeof text,
           "const N = %d, K = %g;\n"
           "for i = 1:N {\n"
           "  th[i](t0) = 6.28 * i / N;\n"
           "  th[i]' = 1 + %g * sin(i) + K / N * sum(j = 1:N, sin(th[j] - th[i]));\n"
           "}\n",
           DP5_N, PULL, SPREAD);
  Task task = {.t_end = bench_size(20.0, 0.5), .model = bench_model("kuramoto", text)};
  BenchRow row = bench_row("kuramoto", "a step of 300 oscillators that read each other by a sum");
  row.opponent = "DP5, two nested loops";
  row.unit = "step";
  row.budget = 3.0;
  row.error_budget = 1e-4;
  bench_compare(&row, by_hand, by_saltus, &task);
  row.units = task.opponent_steps;
  row.saltus_s *= task.opponent_steps / task.saltus_steps;
  bench_print(&row);
  slt_model_free(task.model);
  return 0;
}
