// SPDX-License-Identifier: MIT
//
// A million cells with one guard each: from the text to the first step, memory, and what a step
// costs.
//
// Definition: T_i' = 0.1 (5 - T_i), T_i(0) = i/N; automaton i empties its cell when T_i reaches 2.
// Rows: text to first step of 1e5 and 1e6 cells (limit 3 s for the latter, at most 12 times the
// former, at most 1.5 GB); 20 000 different equations as flat text (limit 2 s); a step of 1e5
// cells. Opponent of the step: Dormand-Prince fused into one loop over the cells, all stages of a
// cell in registers (the cells do not touch each other, and whoever knows that uses it), with a
// test of its guard at the end. Error: of T_1 against the closed form.
#define _DEFAULT_SOURCE  // struct rusage in full
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 10
#define STEP  0.02

static const char body[] = "const k = 0.1;\n"
                           "for i = 1:N {\n"
                           "  T_[i]' = k * (5 - T_[i]);\n"
                           "  T_[i](t0) = i / N;\n"
                           "  automaton cell_[i] {\n"
                           "    state full [T_[i] >= 2] { T_[i](t0) = 0; } from init, full;\n"
                           "  }\n"
                           "}\n";

static SltModel* cells_model(long n) {
  char text[600];
  snprintf(text, sizeof text, "const N = %ld;\n%s", n, body);
  return bench_model("cells", text);
}

// ---- text to first step -------------------------------------------------------------------------

static uint64_t next_random(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 33;
}

/// A random expression over the n unknowns, so that hardly two are alike.
static char* random_expression(char* at, uint64_t* seed, long n, int depth) {
  static const char* const functions[] = {"sin", "cos", "tanh", "atan", "exp"};
  uint64_t r = next_random(seed);
  if (depth == 0) {
    if (r % 2) return at + sprintf(at, "x_%ld", (long)(next_random(seed) % (uint64_t)n));
    return at + sprintf(at, "0.%03ld", (long)(next_random(seed) % 1000));
  }
  if (r % 10 < 3) {
    at += sprintf(at, "%s(", functions[next_random(seed) % 5]);
  } else {
    *at++ = '(';
    at = random_expression(at, seed, n, depth - 1);
    *at++ = "+-*"[next_random(seed) % 3];
  }
  at = random_expression(at, seed, n, depth - 1);
  *at++ = ')';
  return at;
}

static SltModel* flat_model(long n) {
  char* text = malloc((size_t)n * 400 + 1);
  if (!text) exit(1);
  char* at = text;
  uint64_t seed = 1;
  for (long i = 0; i < n; i++) {
    at += sprintf(at, "x_%ld' = -x_%ld + ", i, i);
    at = random_expression(at, &seed, n, 4);
    at += sprintf(at, ";\n");
  }
  SltModel* model = bench_model("flat", text);
  free(text);
  return model;
}

typedef struct Ready {
  double seconds, bytes;
} Ready;

/// In a process of its own, so that memory is its own too.
static Ready measure(bool flat, long n) {
  Ready ready = {(double)NAN, (double)NAN};
  int ends[2];
  if (pipe(ends) != 0) return ready;
  pid_t child = fork();
  if (child == 0) {
    double began = bench_cpu();
    SltModel* model = flat ? flat_model(n) : cells_model(n);
    SltSim* sim = bench_start(model, NULL);
    if (slt_sim_advance_step(sim, 1.0, NULL) < 0) _exit(1);
    ready.seconds = bench_cpu() - began;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    ready.bytes = 1024.0 * (double)usage.ru_maxrss;
    bool sent = write(ends[1], &ready, sizeof ready) == (ssize_t)sizeof ready;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  if (child > 0 && read(ends[0], &ready, sizeof ready) != (ssize_t)sizeof ready) {
    ready = (Ready){(double)NAN, (double)NAN};
  }
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return ready;
}

static double print_ready(const char* name, const char* what, bool flat, long n, double limit) {
  Ready ready = measure(flat, n);
  char note[100];
  snprintf(note, sizeof note, "%.0f MB, %.0f bytes for each", 1e-6 * ready.bytes,
           ready.bytes / (double)n);
  BenchRow row = bench_row(name, what);
  row.unit = flat ? "equation" : "cell";
  row.units = (double)n;
  row.saltus_s = ready.seconds;
  row.limit_s = limit;
  row.note = note;
  bench_print(&row);
  return ready.seconds;
}

// ---- a step -------------------------------------------------------------------------------------

typedef struct Cells {
  SltModel* model;
  long n;
  double* x;
} Cells;

static inline double slope(double x) {
  return 0.1 * (5.0 - x);
}

/// One step of one cell.
static inline double cell_step(double x) {
  const double h = STEP;
  double k1 = slope(x);
  double k2 = slope(x + h * (1.0 / 5 * k1));
  double k3 = slope(x + h * (3.0 / 40 * k1 + 9.0 / 40 * k2));
  double k4 = slope(x + h * (44.0 / 45 * k1 - 56.0 / 15 * k2 + 32.0 / 9 * k3));
  double k5 = slope(
      x + h * (19372.0 / 6561 * k1 - 25360.0 / 2187 * k2 + 64448.0 / 6561 * k3 - 212.0 / 729 * k4));
  double k6 = slope(x + h * (9017.0 / 3168 * k1 - 355.0 / 33 * k2 + 46732.0 / 5247 * k3 +
                             49.0 / 176 * k4 - 5103.0 / 18656 * k5));
  return x + h * (35.0 / 384 * k1 + 500.0 / 1113 * k3 + 125.0 / 192 * k4 - 2187.0 / 6784 * k5 +
                  11.0 / 84 * k6);
}

static double by_hand(void* user) {
  Cells* c = user;
  for (long i = 0; i < c->n; i++) {
    c->x[i] = (double)(i + 1) / (double)c->n;
  }
  for (int step = 0; step < STEPS; step++) {
    for (long i = 0; i < c->n; i++) {
      double x = cell_step(c->x[i]);
      c->x[i] = x >= 2.0 ? 0.0 : x;
    }
  }
  double exact = 5.0 + (1.0 / (double)c->n - 5.0) * exp(-0.1 * STEP * STEPS);
  return fabs(c->x[0] - exact);
}

static double by_saltus(void* user) {
  const Cells* c = user;
  SltSimOptions options = slt_sim_options();
  options.method = "dp54";
  options.h0 = STEP;
  options.h_max = STEP;
  static SltSim* sim = NULL;
  static double t = 0.0;
  if (!sim) sim = bench_start(c->model, &options);
  t += STEP * STEPS;
  bench_advance(sim, t);
  double exact = 5.0 + (1.0 / (double)c->n - 5.0) * exp(-0.1 * t);
  return fabs(bench_value(sim, "T_1") - exact);
}

static void compare_steps(long n) {
  Cells c = {.model = cells_model(n), .n = n, .x = calloc((size_t)n, sizeof(double))};
  if (!c.x) exit(1);
  BenchRow row = bench_row("cells-step", "a step of 1e5 guarded cells");
  row.opponent = "Dormand-Prince fused into one loop over the cells";
  row.unit = "step";
  row.units = STEPS;
  bench_compare(&row, by_hand, by_saltus, &c);
  bench_print(&row);
  free(c.x);
  slt_model_free(c.model);
}

int main(void) {
  long n = (long)bench_size(1e5, 100);
  print_ready("cells-1e5", "1e5 guarded cells, text to first step", false, n, (double)NAN);
  print_ready("cells-1e6", "1e6 guarded cells, text to first step", false, 10 * n, 3.0);
  print_ready("flat", "20 000 different equations, text to first step", true,
              (long)bench_size(20000, 100), 2.0);
  compare_steps(n);
  return 0;
}
