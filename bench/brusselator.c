// SPDX-License-Identifier: MIT
//
// Brusselator with diffusion on a line: stiff and sparse.
//
// Definition: u_i' = A + u_i^2 v_i - (B + 1) u_i + k (u_(i-1) - 2 u_i + u_(i+1)), v_i' = B u_i -
// u_i^2 v_i + k (v_(i-1) - 2 v_i + v_(i+1)), A = 1, B = 3, k = (N + 1)^2/50, N inner cells on (0,
// 1), u0 = 1 + sin(2 pi x), v0 = 3, u = 1 and v = 3 at the ends, T = 10, rtol = atol = 1e-6. Error:
// largest difference to the opponent's solution at a tolerance of 1e-9 (1e-8 for the large one);
// 1e-5 is allowed. Opponent: RODAS4 with elimination of 2 x 2 blocks along the line, everything
// fused. Saltus: rodas. Budget: twice the time.
#define BENCH_NATIVE
#include "bench.h"
#include "rodas4.h"

#define A_FEED 1.0
#define B_FEED 3.0
#define PI     3.14159265358979323846

typedef struct Task {
  SltModel* model;
  size_t n;
  double t_end;
  double* reference;  // 2 n: u, v of each cell
  double* work;       // 2 n for each of the rows below
} Task;

enum { X, Y, F, U1, U2, U3, U4, U5, U6, ROWS };

static inline void rhs(size_t n, double k, const double* restrict x, double* restrict f) {
  for (size_t i = 0; i < n; i++) {
    double u = x[2 * i];
    double v = x[2 * i + 1];
    double ul = i > 0 ? x[2 * i - 2] : 1.0;
    double vl = i > 0 ? x[2 * i - 1] : 3.0;
    double ur = i + 1 < n ? x[2 * i + 2] : 1.0;
    double vr = i + 1 < n ? x[2 * i + 3] : 3.0;
    double reaction = u * u * v;
    f[2 * i] = A_FEED + reaction - (B_FEED + 1.0) * u + k * (ul - 2.0 * u + ur);
    f[2 * i + 1] = B_FEED * u - reaction + k * (vl - 2.0 * v + vr);
  }
}

/// Inverses of the pivots of c - J, four numbers per cell.
static void factor(size_t n, double k, double c, const double* restrict x, double* restrict p) {
  double last[4] = {0.0, 0.0, 0.0, 0.0};
  for (size_t i = 0; i < n; i++) {
    double u = x[2 * i];
    double v = x[2 * i + 1];
    double a00 = c - (2.0 * u * v - (B_FEED + 1.0) - 2.0 * k) - k * k * last[0];
    double a01 = -u * u - k * k * last[1];
    double a10 = -(B_FEED - 2.0 * u * v) - k * k * last[2];
    double a11 = c - (-u * u - 2.0 * k) - k * k * last[3];
    double inverse = 1.0 / (a00 * a11 - a01 * a10);
    last[0] = a11 * inverse;
    last[1] = -a01 * inverse;
    last[2] = -a10 * inverse;
    last[3] = a00 * inverse;
    memcpy(p + 4 * i, last, sizeof last);
  }
}

static void solve(size_t n, double k, const double* restrict p, double* restrict b) {
  for (size_t i = 1; i < n; i++) {
    const double* q = p + 4 * (i - 1);
    b[2 * i] += k * (q[0] * b[2 * i - 2] + q[1] * b[2 * i - 1]);
    b[2 * i + 1] += k * (q[2] * b[2 * i - 2] + q[3] * b[2 * i - 1]);
  }
  double u = 0.0;
  double v = 0.0;
  for (size_t i = n; i-- > 0;) {
    const double* q = p + 4 * i;
    double r = b[2 * i] + k * u;
    double s = b[2 * i + 1] + k * v;
    u = q[0] * r + q[1] * s;
    v = q[2] * r + q[3] * s;
    b[2 * i] = u;
    b[2 * i + 1] = v;
  }
}

#define LOOP for (size_t i = 0; i < m; i++)
#define STAGE(u, argument, sum) \
  do { \
    LOOP y[i] = (argument); \
    rhs(n, k, y, f); \
    LOOP(u)[i] = f[i] + hi * (sum); \
    solve(n, k, p, u); \
  } while (0)

/// One step from x; the new state is in y. Returns its error.
static double step(const Task* task, double* p, double h, double tolerance) {
  const size_t n = task->n;
  const size_t m = 2 * n;
  const double k = (double)(n + 1) * (double)(n + 1) / 50.0;
  const double hi = 1.0 / h;
  double* restrict x = task->work + X * m;
  double* restrict y = task->work + Y * m;
  double* restrict f = task->work + F * m;
  double* restrict u1 = task->work + U1 * m;
  double* restrict u2 = task->work + U2 * m;
  double* restrict u3 = task->work + U3 * m;
  double* restrict u4 = task->work + U4 * m;
  double* restrict u5 = task->work + U5 * m;
  double* restrict u6 = task->work + U6 * m;
  factor(n, k, hi / R4_GAMMA, x, p);
  STAGE(u1, x[i], 0.0);
  STAGE(u2, x[i] + R4_A21 * u1[i], R4_C21 * u1[i]);
  STAGE(u3, x[i] + R4_A31 * u1[i] + R4_A32 * u2[i], R4_C31 * u1[i] + R4_C32 * u2[i]);
  STAGE(u4, x[i] + R4_A41 * u1[i] + R4_A42 * u2[i] + R4_A43 * u3[i],
        R4_C41 * u1[i] + R4_C42 * u2[i] + R4_C43 * u3[i]);
  STAGE(u5, x[i] + R4_A51 * u1[i] + R4_A52 * u2[i] + R4_A53 * u3[i] + R4_A54 * u4[i],
        R4_C51 * u1[i] + R4_C52 * u2[i] + R4_C53 * u3[i] + R4_C54 * u4[i]);
  STAGE(u6, y[i] + u5[i],
        R4_C61 * u1[i] + R4_C62 * u2[i] + R4_C63 * u3[i] + R4_C64 * u4[i] + R4_C65 * u5[i]);
  double sum = 0.0;
  LOOP {
    y[i] += u6[i];
    double e = u6[i] / (tolerance + tolerance * fmax(fabs(x[i]), fabs(y[i])));
    sum += e * e;
  }
  return sqrt(sum / (double)m);
}

static void integrate(const Task* task, double tolerance) {
  size_t n = task->n;
  double* x = task->work;
  double* p = malloc(4 * n * sizeof *p);
  if (!p) exit(1);
  for (size_t i = 0; i < n; i++) {
    x[2 * i] = 1.0 + sin(2.0 * PI * (double)(i + 1) / (double)(n + 1));
    x[2 * i + 1] = 3.0;
  }
  double t = 0.0;
  double h = 1e-5;
  Rodas4Control control = {.last = 1.0};
  while (t < task->t_end) {
    if (t + 1.0000001 * h >= task->t_end) h = task->t_end - t;
    double error = step(task, p, h, tolerance);
    double factor = rodas4_factor(&control, error);
    if (error <= 1.0) {
      t += h;
      memcpy(x, task->work + Y * 2 * n, 2 * n * sizeof *x);
    }
    h *= factor;
  }
  free(p);
}

static double by_hand(void* user) {
  const Task* task = user;
  integrate(task, 1e-6);
  double worst = 0.0;
  for (size_t i = 0; i < 2 * task->n; i++) {
    worst = fmax(worst, fabs(task->work[i] - task->reference[i]));
  }
  return worst;
}

static double by_saltus(void* user) {
  const Task* task = user;
  SltSimOptions options = slt_sim_options();
  options.method = "rodas";
  options.atol = 1e-6;
  SltSim* sim = bench_start(task->model, &options);
  bench_advance(sim, task->t_end);
  double worst = 0.0;
  char name[40];
  for (size_t i = 0; i < task->n; i += task->n / 50) {
    snprintf(name, sizeof name, "u%zu", i + 1);
    worst = fmax(worst, fabs(bench_value(sim, name) - task->reference[2 * i]));
    snprintf(name, sizeof name, "v%zu", i + 1);
    worst = fmax(worst, fabs(bench_value(sim, name) - task->reference[2 * i + 1]));
  }
  slt_sim_free(sim);
  return worst;
}

static void run(const char* name, const char* what, size_t n, double t_end, double exact) {
  char text[800];
  snprintf(text, sizeof text,
           "const N = %zu, k = (N + 1)^2 / 50;\n"
           "u[0] = 1; u[N+1] = 1; v[0] = 3; v[N+1] = 3;\n"
           "for i = 1:N {\n"
           "  u[i]' = 1 + u[i]*u[i]*v[i] - 4*u[i] + k*(u[i-1] - 2*u[i] + u[i+1]);\n"
           "  v[i]' = 3*u[i] - u[i]*u[i]*v[i] + k*(v[i-1] - 2*v[i] + v[i+1]);\n"
           "  u[i](t0) = 1 + sin(2*pi*i/(N + 1));\n"
           "  v[i](t0) = 3;\n"
           "}\n",
           n);
  Task task = {.n = n, .t_end = t_end, .model = bench_model(name, text)};
  task.work = calloc(2 * n * ROWS, sizeof *task.work);
  task.reference = calloc(2 * n, sizeof *task.reference);
  if (!task.work || !task.reference) exit(1);
  integrate(&task, exact);
  memcpy(task.reference, task.work, 2 * n * sizeof *task.reference);
  BenchRow row = bench_row(name, what);
  row.opponent = "RODAS4, block tridiagonal";
  row.unit = "run";
  row.units = 1.0;
  row.budget = 2.0;
  row.error_budget = 1e-5;
  bench_compare(&row, by_hand, by_saltus, &task);
  bench_print(&row);
  free(task.work);
  free(task.reference);
  slt_model_free(task.model);
}

int main(void) {
  if (bench_smoke()) {
    run("brusselator", "Brusselator, N = 50, T = 0.1", 50, 0.1, 1e-9);
    return 0;
  }
  run("brusselator 500", "Brusselator, N = 500, T = 10", 500, 10.0, 1e-9);
  run("brusselator 1e5", "Brusselator, N = 100 000, T = 10", bench_counts() ? 5000 : 100000, 10.0,
      1e-8);
  return 0;
}
