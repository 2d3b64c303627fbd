// SPDX-License-Identifier: MIT
//
// Cost of one accepted step of the stepper against a loop fused by hand for the one problem.
//
// Problem: a ring of n/2 oscillators, q_i' = p_i,
// p_i' = -q_i^3 - q_i + 0.1 (q_(i-1) - 2 q_i + q_(i+1)), integrated with rtol 1e-6, atol 1e-9. The
// opponent has the right-hand side inlined, constant tableau, FSAL by pointer exchange, and the
// same controller class. Prints nanoseconds per accepted step (best of several runs) and the ratio.
#include "bench.h"
#include "numeric/numeric.h"

static inline void ring(size_t n, const double* restrict x, double* restrict dx) {
  size_t m = n / 2;
  if (m == 1) {
    dx[0] = x[1];
    dx[1] = -x[0] * x[0] * x[0] - x[0];
    return;
  }
  for (size_t i = 0; i < m; i++) {
    size_t left = i == 0 ? m - 1 : i - 1;
    size_t right = i + 1 == m ? 0 : i + 1;
    dx[i] = x[m + i];
    dx[m + i] = -x[i] * x[i] * x[i] - x[i] + 0.1 * (x[left] - 2.0 * x[i] + x[right]);
  }
}

static SltStatus ring_rhs(void* user, double t, const double* x, double* dx) {
  (void)t;
  ring(*(const size_t*)user, x, dx);
  return SLT_OK;
}

static void start_values(size_t n, double* x) {
  for (size_t i = 0; i < n; i++) {
    x[i] = 1.0 + 0.3 * sin(0.7 * (double)i);
  }
}

// ---- fused by hand ------------------------------------------------------------------------------

typedef struct Fused {
  double *x, *y, *xn, *k1, *k2, *k3, *k4, *k5, *k6, *k7;
} Fused;

static inline double fused_try(size_t n, double h, Fused* w) {
  double* restrict x = w->x;
  double* restrict y = w->y;
  double* restrict xn = w->xn;
  double* restrict k1 = w->k1;
  double* restrict k2 = w->k2;
  double* restrict k3 = w->k3;
  double* restrict k4 = w->k4;
  double* restrict k5 = w->k5;
  double* restrict k6 = w->k6;
  double* restrict k7 = w->k7;
  for (size_t i = 0; i < n; i++) {
    y[i] = x[i] + h * (0.2 * k1[i]);
  }
  ring(n, y, k2);
  for (size_t i = 0; i < n; i++) {
    y[i] = x[i] + h * (3.0 / 40 * k1[i] + 9.0 / 40 * k2[i]);
  }
  ring(n, y, k3);
  for (size_t i = 0; i < n; i++) {
    y[i] = x[i] + h * (44.0 / 45 * k1[i] - 56.0 / 15 * k2[i] + 32.0 / 9 * k3[i]);
  }
  ring(n, y, k4);
  for (size_t i = 0; i < n; i++) {
    y[i] = x[i] + h * (19372.0 / 6561 * k1[i] - 25360.0 / 2187 * k2[i] + 64448.0 / 6561 * k3[i] -
                       212.0 / 729 * k4[i]);
  }
  ring(n, y, k5);
  for (size_t i = 0; i < n; i++) {
    y[i] = x[i] + h * (9017.0 / 3168 * k1[i] - 355.0 / 33 * k2[i] + 46732.0 / 5247 * k3[i] +
                       49.0 / 176 * k4[i] - 5103.0 / 18656 * k5[i]);
  }
  ring(n, y, k6);
  for (size_t i = 0; i < n; i++) {
    xn[i] = x[i] + h * (35.0 / 384 * k1[i] + 500.0 / 1113 * k3[i] + 125.0 / 192 * k4[i] -
                        2187.0 / 6784 * k5[i] + 11.0 / 84 * k6[i]);
  }
  ring(n, xn, k7);
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    double e = h * (71.0 / 57600 * k1[i] - 71.0 / 16695 * k3[i] + 71.0 / 1920 * k4[i] -
                    17253.0 / 339200 * k5[i] + 22.0 / 525 * k6[i] - 1.0 / 40 * k7[i]);
    double a = fabs(x[i]) > fabs(xn[i]) ? fabs(x[i]) : fabs(xn[i]);
    e /= 1e-9 + 1e-6 * a;
    sum += e * e;
  }
  return sqrt(sum / (double)n);
}

static inline uint64_t fused_run(size_t n, double t_end, double* block) {
  Fused w = {block,         block + n,     block + 2 * n, block + 3 * n, block + 4 * n,
             block + 5 * n, block + 6 * n, block + 7 * n, block + 8 * n, block + 9 * n};
  start_values(n, w.x);
  ring(n, w.x, w.k1);
  double t = 0.0;
  double h = 1e-3;
  double previous = 1e-4;
  uint64_t steps = 0;
  while (t < t_end) {
    double e = fused_try(n, h, &w);
    if (e <= 1.0) {
      double* swap = w.x;
      w.x = w.xn;
      w.xn = swap;
      swap = w.k1;
      w.k1 = w.k7;
      w.k7 = swap;
      t += h;
      steps++;
      double f = 0.9 * pow(e, -0.17) * pow(previous, 0.04);
      h *= f < 0.2 ? 0.2 : f > 5.0 ? 5.0 : f;
      previous = e > 1e-4 ? e : 1e-4;
    } else {
      h *= 0.9 * pow(e, -0.2);
    }
  }
  return steps;
}

// ---- the stepper --------------------------------------------------------------------------------

static uint64_t stepper_run(NumStepper* s, size_t n, double t_end, const double* x0, bool dense) {
  num_stepper_start(s, 0.0, (uint32_t)n, x0, NULL);
  s->control.h_next = 1e-3;
  uint64_t before = s->counters.steps;
  while (s->t < t_end) {
    if (num_stepper_attempt(s, s->t + s->control.h_next) < 0) {
      return 0;
    }
    if (s->trial.error > 1.0) {
      (void)num_stepper_reject(s);
      continue;
    }
    if (dense) {
      (void)num_dense_prepare(s);
    }
    num_stepper_accept(s);
  }
  return s->counters.steps - before;
}

typedef struct Result {
  double ns;
  uint64_t steps;
  uint64_t rhs;
} Result;

static Result stepper_time(const char* name, size_t n, double t_end, bool stability, bool dense) {
  const NumMethod* method = num_method_find(str_from_c(name));
  NumOptions options = num_options();
  options.stability = stability;
  options.h0 = 1e-3;
  void* storage = malloc(num_stepper_size(method, (uint32_t)n));
  double* x0 = malloc(n * sizeof *x0);
  NumStepper* s = NULL;
  Result best = {1e30, 0, 0};
  start_values(n, x0);
  if (storage && num_stepper_init(storage, method, (uint32_t)n, &options, &s) == SLT_OK) {
    num_stepper_set_rhs(s, ring_rhs, &n);
    for (int run = 0; run < (bench_smoke() ? 1 : 7); run++) {
      uint64_t rhs = s->counters.rhs;
      double from = bench_cpu();
      uint64_t steps = stepper_run(s, n, t_end, x0, dense);
      double ns = (bench_cpu() - from) * 1e9 / (double)steps;
      if (ns < best.ns) {
        best = (Result){ns, steps, s->counters.rhs - rhs};
      }
    }
  }
  free(storage);
  free(x0);
  return best;
}

static Result fused_time(size_t n, double t_end) {
  double* block = malloc(10 * n * sizeof *block);
  Result best = {1e30, 0, 0};
  for (int run = 0; block && run < (bench_smoke() ? 1 : 7); run++) {
    double from = bench_cpu();
    uint64_t steps = n == 2 ? fused_run(2, t_end, block) : fused_run(n, t_end, block);
    double ns = (bench_cpu() - from) * 1e9 / (double)steps;
    if (ns < best.ns) {
      best = (Result){ns, steps, 0};
    }
  }
  free(block);
  return best;
}

int main(void) {
  static const struct {
    size_t n;
    double t_end;
  } cases[] = {{2, 20000.0}, {10, 4000.0}, {100, 400.0}, {1000, 40.0}};
  printf("%6s %-8s %9s %10s %10s %8s\n", "n", "method", "steps", "ns/step", "+dense", "ratio");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double t_end = bench_size(cases[i].t_end, 0.01 * cases[i].t_end);
    Result fused = fused_time(cases[i].n, t_end);
    printf("%6zu %-8s %9llu %10.1f\n", cases[i].n, "fused", (unsigned long long)fused.steps,
           fused.ns);
    Result off = stepper_time("dp54", cases[i].n, t_end, false, false);
    printf("%6zu %-8s %9llu %10.1f %10s %8.2f\n", cases[i].n, "no-stab",
           (unsigned long long)off.steps, off.ns, "", off.ns / fused.ns);
    for (uint32_t m = 0; m < num_method_count(); m++) {
      const NumMethod* method = num_method_get(m);
      if (!method->adaptive || method->stiff) {
        continue;
      }
      Result plain = stepper_time(method->name, cases[i].n, t_end, true, false);
      Result dense = stepper_time(method->name, cases[i].n, t_end, true, true);
      printf("%6zu %-8s %9llu %10.1f %10.1f %8.2f\n", cases[i].n, method->name,
             (unsigned long long)plain.steps, plain.ns, dense.ns - plain.ns, plain.ns / fused.ns);
      if (i > 0 || strcmp(method->name, "dp54") != 0) continue;
      BenchRow row = bench_row("kernel", "one accepted step, 2 states, DP5, right-hand side in C");
      row.opponent = "DP5 fused";
      row.unit = "step";
      row.units = (double)plain.steps;
      row.opponent_s = 1e-9 * fused.ns * row.units;
      row.saltus_s = 1e-9 * plain.ns * row.units;
      row.budget = 1.5;
      bench_print(&row);
    }
  }
  return 0;
}
