// SPDX-License-Identifier: MIT
//
// Pendulum of index 3: constraints kept over a long time.
//
// Definition: x'' = -s x, y'' = -s y - g, x^2 + y^2 = 1, g = 9.81, from (1, 0) at rest, T = 1000,
// rtol 1e-6, atol 1e-9. Error: distance of the end point from that of the angle form (DP5 at
// rtol 1e-12). Beside it the largest drift |x^2 + y^2 - 1| at 1000 times: 1e-10 is allowed.
// Opponent: Dormand-Prince fused for the problem with s eliminated by hand, position and speed
// projected onto the circle after each step. Budget: 2.5 times its time, drift 1e-10.
#define DP5_N 4
#define G     9.81
static inline void dp5_rhs(double t, const double* x, double* dx) {
  (void)t;
  // 0 = (x^2 + y^2)''/2 = v^2 - s (x^2 + y^2) - g y
  double s = (x[2] * x[2] + x[3] * x[3] - G * x[1]) / (x[0] * x[0] + x[1] * x[1]);
  dx[0] = x[2];
  dx[1] = x[3];
  dx[2] = -s * x[0];
  dx[3] = -s * x[1] - G;
}
#define BENCH_NATIVE
#include "bench.h"
#include "dp5.h"

static const char text[] = "const g = 9.81;\n"
                           "x' = v;  x(t0) = 1;\n"
                           "y' = w;  y(t0) = 0;\n"
                           "v' = -s * x;      v(t0) = 0;\n"
                           "w' = -s * y - g;  w(t0) = 0;\n"
                           "x * x + y * y = 1;\n";

typedef struct Task {
  SltModel* model;
  double t_end;
  double x, y;
  double drift;
} Task;

/// The angle form by the classical Runge-Kutta method with a step far below what is needed.
static void solve(Task* task) {
  long n = (long)(task->t_end * 2000.0);
  long double h = (long double)task->t_end / (long double)n;
  long double a = acosl(-1.0L) / 2.0L;  // from the lowest point
  long double w = 0.0L;
  for (long i = 0; i < n; i++) {
    long double k1 = w;
    long double l1 = -(long double)G * sinl(a);
    long double k2 = w + 0.5L * h * l1;
    long double l2 = -(long double)G * sinl(a + 0.5L * h * k1);
    long double k3 = w + 0.5L * h * l2;
    long double l3 = -(long double)G * sinl(a + 0.5L * h * k2);
    long double k4 = w + h * l3;
    long double l4 = -(long double)G * sinl(a + h * k3);
    a += h / 6.0L * (k1 + 2.0L * (k2 + k3) + k4);
    w += h / 6.0L * (l1 + 2.0L * (l2 + l3) + l4);
  }
  task->x = (double)sinl(a);
  task->y = (double)-cosl(a);
}

static void project(double* x) {
  double r = sqrt(x[0] * x[0] + x[1] * x[1]);
  x[0] /= r;
  x[1] /= r;
  double radial = x[0] * x[2] + x[1] * x[3];
  x[2] -= radial * x[0];
  x[3] -= radial * x[1];
}

static double by_hand(void* user) {
  const Task* task = user;
  double x0[4] = {1.0, 0.0, 0.0, 0.0};
  Dp5 s;
  dp5_start(&s, 0.0, x0, 1e-3);
  for (;;) {
    double error = dp5_attempt(&s);
    if (s.t + s.h_trial >= task->t_end) break;
    dp5_accept(&s);
    project(s.x);
    dp5_rhs(s.t, s.x, s.k1);
    dp5_grow(&s, error);
  }
  dp5_dense(&s);
  double theta = (task->t_end - s.t) / s.h_trial;
  return hypot(dp5_at(&s, 0, theta, NULL) - task->x, dp5_at(&s, 1, theta, NULL) - task->y);
}

static double by_saltus(void* user) {
  Task* task = user;
  SltSim* sim = bench_start(task->model, NULL);
  task->drift = 0.0;
  for (int i = 1; i <= 1000; i++) {
    bench_advance(sim, task->t_end * i / 1000.0);
    double x = bench_value(sim, "x");
    double y = bench_value(sim, "y");
    task->drift = fmax(task->drift, fabs(x * x + y * y - 1.0));
  }
  double error = hypot(bench_value(sim, "x") - task->x, bench_value(sim, "y") - task->y);
  slt_sim_free(sim);
  return error;
}

int main(void) {
  Task task = {.model = bench_model("pendulum", text), .t_end = bench_size(1000.0, 5.0)};
  solve(&task);
  BenchRow row = bench_row("pendulum", "pendulum of index 3, T = 1000");
  row.opponent = "DP5 fused + projection";
  row.unit = "second";
  row.units = task.t_end;
  row.budget = 2.5;
  char note[100];
  bench_compare(&row, by_hand, by_saltus, &task);
  snprintf(note, sizeof note, "drift %.1e, allowed 1e-10", task.drift);
  row.note = note;
  bench_print(&row);
  slt_model_free(task.model);
  return 0;
}
