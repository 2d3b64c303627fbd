// SPDX-License-Identifier: MIT
//
// What a second thread gains: time of the clock with one thread and with two.
//
// Rows: a step of 1e6 cells of a chain, and of Gray and Scott's reaction in 500 x 500 cells.
// Opponent: the same run with one thread; Saltus: with two. Budget: 1/1.6 of the time. The note
// says what a second thread gains where nothing but memory is moved, measured in between: a machine
// whose memory one thread keeps busy gains nothing by a second. Error: difference of the results,
// which are the same bits.
#include "bench.h"

#include <pthread.h>

#define ROUNDS 5
#define MOVED  (size_t)4000000  // numbers

typedef struct Part {
  const double* from;
  double* to;
  size_t count;
} Part;

static void* move(void* user) {
  const Part* part = user;
  for (size_t i = 0; i < part->count; i++) {
    part->to[i] = 2.0 * part->from[i] + part->to[i];
  }
  return NULL;
}

/// Time of the clock in which so many threads move all numbers.
static double time_to_move(double* numbers, int threads) {
  Part parts[2];
  pthread_t other;
  size_t share = MOVED / (size_t)threads;
  for (int k = 0; k < threads; k++) {
    size_t at = (size_t)k * share;
    parts[k] = (Part){.from = numbers + at, .to = numbers + MOVED + at, .count = share};
  }
  double began = bench_now();
  bool two = threads > 1 && pthread_create(&other, NULL, move, &parts[1]) == 0;
  move(&parts[0]);
  if (two) pthread_join(other, NULL);
  return bench_now() - began;
}

static double time_to_run(const SltModel* model, uint32_t threads, double t_end, const char* name,
                          double* value) {
  SltSimOptions options = slt_sim_options();
  options.threads = threads;
  options.method = "dp54";
  SltSim* sim = bench_start(model, &options);
  double began = bench_now();
  bench_advance(sim, t_end);
  double taken = bench_now() - began;
  *value = bench_value(sim, name);
  slt_sim_free(sim);
  return taken;
}

static void compare(BenchRow row, SltModel* model, double t_end, const char* name) {
  double memory[2] = {HUGE_VAL, HUGE_VAL};
  double one = 0.0;
  double two = 0.0;
  double* numbers = calloc(2 * MOVED, sizeof *numbers);
  if (!numbers) exit(1);
  row.opponent = "one thread";
  row.opponent_s = HUGE_VAL;
  row.saltus_s = HUGE_VAL;
  for (int i = 0; i < (bench_smoke() ? 1 : ROUNDS); i++) {
    row.opponent_s = fmin(row.opponent_s, time_to_run(model, 1, t_end, name, &one));
    row.saltus_s = fmin(row.saltus_s, time_to_run(model, 2, t_end, name, &two));
    memory[0] = fmin(memory[0], time_to_move(numbers, 1));
    memory[1] = fmin(memory[1], time_to_move(numbers, 2));
  }
  free(numbers);
  char note[100];
  snprintf(note, sizeof note, "two threads move memory %.2f times as fast as one",
           memory[0] / memory[1]);
  row.note = note;
  row.error = fabs(one - two);
  row.error_budget = 0.0;
  row.budget = 1.0 / 1.6;
  bench_print(&row);
  slt_model_free(model);
}

int main(void) {
  char text[1200];
  long n = bench_smoke() ? 30000 : 1000000;
  snprintf(text, sizeof text,
           "const N = %ld;\nu[0] = 0; u[N+1] = 1;\n"
           "for i = 1:N { u[i]' = 0.2 * (u[i-1] - 2 * u[i] + u[i+1]) + 0.1 * u[i] * (1 - u[i]);\n"
           "  u[i](t0) = 0.5 + 0.4 * cos(20 * i / N); }\n",
           n);
  BenchRow row = bench_row("threads_chain", "1e6 cells of a chain, two threads");
  compare(row, bench_model("chain", text), 5.0, "u1");
  snprintf(text, sizeof text,
           "const N = %d, F = 0.04, K = 0.06, du = 0.16, dv = 0.08;\n"
           "for i = 1:N { for j = 1:N {\n"
           "  u[i,j]' = du * (u[mod(i,N)+1,j] + u[mod(i+N-2,N)+1,j] + u[i,mod(j,N)+1] + "
           "u[i,mod(j+N-2,N)+1] - 4 * u[i,j]) - u[i,j] * v[i,j]^2 + F * (1 - u[i,j]);\n"
           "  v[i,j]' = dv * (v[mod(i,N)+1,j] + v[mod(i+N-2,N)+1,j] + v[i,mod(j,N)+1] + "
           "v[i,mod(j+N-2,N)+1] - 4 * v[i,j]) + u[i,j] * v[i,j]^2 - (F + K) * v[i,j];\n"
           "  u[i,j](t0) = 1 - 0.5 * exp(-((i-N/2)^2 + (j-N/2)^2) / 50);\n"
           "  v[i,j](t0) = 0.25 * exp(-((i-N/2)^2 + (j-N/2)^2) / 50);\n"
           "} }\n",
           bench_smoke() ? 110 : 500);
  row = bench_row("threads_gray_scott", "Gray and Scott, 500 x 500 cells, two threads");
  compare(row, bench_model("plate", text), 20.0, "u[1,1]");
  return 0;
}
