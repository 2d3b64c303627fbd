// SPDX-License-Identifier: MIT
//
// Recording a million rows.
//
// Definition: the oscillator q' = p, p' = -q^3 - q from (1.3, 0.2), T = 1000, a row (time, q, p)
// every 1e-3 as CSV text that reads back to the same numbers, into a writer that counts bytes.
// Opponent: Dormand-Prince fused for the problem, rows from its dense output, numbers by
// snprintf("%.17g"), which is what a program in C has at hand. The note gives the time of the same
// run without rows: recording must not make the run slower than a hand-written one.
// Error: largest difference of q between the two at the end.
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
  double rows;
  double bytes;
  double q;
} Task;

static SltStatus count_bytes(void* user, const char* data, size_t length) {
  (void)data;
  *(double*)user += (double)length;
  return SLT_OK;
}

static double by_hand(void* user) {
  Task* task = user;
  double x0[2] = {1.3, 0.2};
  char buffer[65536];
  size_t used = 0;
  Dp5 s;
  dp5_start(&s, 0.0, x0, 1e-2);
  task->bytes = 0.0;
  for (double row = 0.0; row <= task->rows;) {
    double error = dp5_try(&s);
    if (error > 1.0) {
      dp5_shrink(&s, error);
      continue;
    }
    dp5_dense(&s);
    for (; row <= task->rows && row * 1e-3 <= s.t + s.h_trial; row += 1.0) {
      double theta = (row * 1e-3 - s.t) / s.h_trial;
      task->q = dp5_at(&s, 0, theta, NULL);
      double p = dp5_at(&s, 1, theta, NULL);
      used += (size_t)snprintf(buffer + used, sizeof buffer - used, "%.17g,%.17g,%.17g\n",
                               row * 1e-3, task->q, p);
      if (used < sizeof buffer - 100) continue;
      count_bytes(&task->bytes, buffer, used);
      used = 0;
    }
    dp5_accept(&s);
    dp5_grow(&s, error);
  }
  return (double)NAN;
}

static double run(Task* task, bool rows) {
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  if (slt_sim_create(task->model, &options, &sim) < 0) exit(1);
  if (rows) {
    SltRecorderOptions wanted = slt_recorder_options();
    wanted.every = 1e-3;
    wanted.rows = (SltWriter){.write = count_bytes, .user = &task->bytes};
    SltRecorder* recorder = NULL;
    if (slt_recorder_create(sim, &wanted, &recorder, NULL) < 0) exit(1);
    if (slt_recorder_run(recorder, task->rows * 1e-3) < 0) exit(1);
    slt_recorder_free(recorder);
  } else {
    if (slt_sim_start(sim) < 0) exit(1);
    bench_advance(sim, task->rows * 1e-3);
  }
  double q = bench_value(sim, "q");
  slt_sim_free(sim);
  return q;
}

static double by_saltus(void* user) {
  Task* task = user;
  task->bytes = 0.0;
  return fabs(run(task, true) - task->q);
}

int main(void) {
  Task task = {.model = bench_model("record", text), .rows = bench_size(1e6, 1000.0)};
  BenchRow row = bench_row("record", "a million rows of three numbers as CSV");
  row.opponent = "DP5 fused, dense output, snprintf";
  row.unit = "row";
  row.units = task.rows;
  row.budget = 1.0;
  bench_compare(&row, by_hand, by_saltus, &task);
  double began = bench_cpu();
  run(&task, false);
  char note[100];
  snprintf(note, sizeof note, "%.0f ms without rows", 1e3 * (bench_cpu() - began));
  row.note = note;
  bench_print(&row);
  slt_model_free(task.model);
  return 0;
}
