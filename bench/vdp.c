// SPDX-License-Identifier: MIT
//
// Van der Pol's oscillator, stiff: creeping along a curve, then a jump.
//
// Definition: y' = z, z' = mu (1 - y^2) z - y, mu = 1000, y0 = (2, 0), T = 2000, rtol 1e-6, atol
// 1e-9. Error: |y(T) - 1.706167732170483| (reference value of the test set for initial value
// problem solvers); 2e-6 is allowed. Opponent: RODAS4 fused for the problem, exact Jacobian,
// elimination by hand. Saltus: default options, that is auto, which changes between dp54 and
// rodas5. Budget: twice the time.
#define BENCH_NATIVE
#include "bench.h"
#include "rodas4.h"

#define MU    1000.0
#define Y_END 1.706167732170483
#define R_TOL 1e-6
#define A_TOL 1e-9

static const char text[] = "const mu = 1000;\n"
                           "y' = z;                         y(t0) = 2;\n"
                           "z' = mu * (1 - y * y) * z - y;  z(t0) = 0;\n";

typedef struct Task {
  SltModel* model;
  double t_end;
} Task;

/// (1/(h gamma) - J) u = b for the present y, z.
typedef struct Matrix {
  double c, j21, w22, inverse;
} Matrix;

static inline void solve(const Matrix* m, double* b) {
  // rows: c u0 - u1 = b0, -j21 u0 + w22 u1 = b1
  double u0 = (m->w22 * b[0] + b[1]) * m->inverse;
  double u1 = (m->j21 * b[0] + m->c * b[1]) * m->inverse;
  b[0] = u0;
  b[1] = u1;
}

#define STAGE(u, p, q, s0, s1) \
  do { \
    (u)[0] = (q) + hi * (s0); \
    (u)[1] = MU * (1.0 - (p) * (p)) * (q) - (p) + hi * (s1); \
    solve(&m, (u)); \
  } while (0)

static double by_hand(void* user) {
  const Task* task = user;
  double x[2] = {2.0, 0.0};
  double t = 0.0;
  double h = 1e-4;
  Rodas4Control control = {.last = 1.0};
  while (t < task->t_end) {
    if (t + 1.0000001 * h >= task->t_end) h = task->t_end - t;
    double hi = 1.0 / h;
    Matrix m = {.c = hi / R4_GAMMA};
    m.j21 = -2.0 * MU * x[0] * x[1] - 1.0;
    m.w22 = m.c - MU * (1.0 - x[0] * x[0]);
    m.inverse = 1.0 / (m.c * m.w22 - m.j21);
    double u1[2];
    double u2[2];
    double u3[2];
    double u4[2];
    double u5[2];
    double u6[2];
    STAGE(u1, x[0], x[1], 0.0, 0.0);
    STAGE(u2, x[0] + R4_A21 * u1[0], x[1] + R4_A21 * u1[1], R4_C21 * u1[0], R4_C21 * u1[1]);
    STAGE(u3, x[0] + R4_A31 * u1[0] + R4_A32 * u2[0], x[1] + R4_A31 * u1[1] + R4_A32 * u2[1],
          R4_C31 * u1[0] + R4_C32 * u2[0], R4_C31 * u1[1] + R4_C32 * u2[1]);
    STAGE(u4, x[0] + R4_A41 * u1[0] + R4_A42 * u2[0] + R4_A43 * u3[0],
          x[1] + R4_A41 * u1[1] + R4_A42 * u2[1] + R4_A43 * u3[1],
          R4_C41 * u1[0] + R4_C42 * u2[0] + R4_C43 * u3[0],
          R4_C41 * u1[1] + R4_C42 * u2[1] + R4_C43 * u3[1]);
    double y = x[0] + R4_A51 * u1[0] + R4_A52 * u2[0] + R4_A53 * u3[0] + R4_A54 * u4[0];
    double z = x[1] + R4_A51 * u1[1] + R4_A52 * u2[1] + R4_A53 * u3[1] + R4_A54 * u4[1];
    STAGE(u5, y, z, R4_C51 * u1[0] + R4_C52 * u2[0] + R4_C53 * u3[0] + R4_C54 * u4[0],
          R4_C51 * u1[1] + R4_C52 * u2[1] + R4_C53 * u3[1] + R4_C54 * u4[1]);
    y += u5[0];
    z += u5[1];
    STAGE(u6, y, z,
          R4_C61 * u1[0] + R4_C62 * u2[0] + R4_C63 * u3[0] + R4_C64 * u4[0] + R4_C65 * u5[0],
          R4_C61 * u1[1] + R4_C62 * u2[1] + R4_C63 * u3[1] + R4_C64 * u4[1] + R4_C65 * u5[1]);
    y += u6[0];
    z += u6[1];
    double e0 = u6[0] / (A_TOL + R_TOL * fmax(fabs(x[0]), fabs(y)));
    double e1 = u6[1] / (A_TOL + R_TOL * fmax(fabs(x[1]), fabs(z)));
    double error = sqrt(0.5 * (e0 * e0 + e1 * e1));
    double factor = rodas4_factor(&control, error);
    if (error <= 1.0) {
      t += h;
      x[0] = y;
      x[1] = z;
    }
    h *= factor;
  }
  return fabs(x[0] - Y_END);
}

static double by_saltus(void* user) {
  const Task* task = user;
  SltSim* sim = bench_start(task->model, NULL);
  bench_advance(sim, task->t_end);
  double error = fabs(bench_value(sim, "y") - Y_END);
  slt_sim_free(sim);
  return error;
}

int main(void) {
  Task task = {.model = bench_model("vdp", text), .t_end = bench_size(2000.0, 20.0)};
  BenchRow row = bench_row("vdp", "Van der Pol, mu = 1000, T = 2000");
  row.opponent = "RODAS4 fused";
  row.unit = "run";
  row.units = 1.0;
  row.budget = 2.0;
  if (task.t_end == 2000.0) row.error_budget = 2e-6;
  return bench_one(row, by_hand, by_saltus, &task, task.model);
}
