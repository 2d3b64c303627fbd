// SPDX-License-Identifier: MIT
//
// Models as users write them, beside what somebody would write in C for the one problem: same
// tolerance, loops fused, -O3.
//
// calendar: N machines, each of which waits for a time of its own (`time >= due`), counts and sets
// the next one; T = 3. Opponent: a binary heap of the times. Error: difference of the counts of
// events. Budget: 5 times.
//
// gray_scott: 100 x 100 cells of Gray and Scott's reaction with periodic boundaries, T = 300, rtol
// 1e-6. Time per accepted step. Opponent: Dormand-Prince, the equations in one loop over the cells.
// Error: difference of u in the middle. Budget: 3 times.
#define SIDE  100
#define DP5_N (2 * SIDE * SIDE)
#define FEED  0.04
#define KILL  0.06

static inline void dp5_rhs(double t, const double* x, double* dx) {
  const double* restrict u = x;
  const double* restrict v = x + SIDE * SIDE;
  double* restrict du = dx;
  double* restrict dv = dx + SIDE * SIDE;
  (void)t;
  for (int i = 0; i < SIDE; i++) {
    int up = (i + 1) % SIDE * SIDE;
    int down = (i + SIDE - 1) % SIDE * SIDE;
    for (int j = 0; j < SIDE; j++) {
      int right = i * SIDE + (j + 1 < SIDE ? j + 1 : 0);
      int left = i * SIDE + (j > 0 ? j - 1 : SIDE - 1);
      int at = i * SIDE + j;
      double uvv = u[at] * v[at] * v[at];
      double lu = u[up + j] + u[down + j] + u[right] + u[left] - 4.0 * u[at];
      double lv = v[up + j] + v[down + j] + v[right] + v[left] - 4.0 * v[at];
      du[at] = 0.16 * lu - uvv + FEED * (1.0 - u[at]);
      dv[at] = 0.08 * lv + uvv - (FEED + KILL) * v[at];
    }
  }
}
#include "bench.h"
#include "dp5.h"

// ---- calendar -----------------------------------------------------------------------------------

typedef struct Calendar {
  long n;
  double t_end;
  SltModel* model;
  double events;  // of the opponent
} Calendar;

static SltModel* calendar_model(long n) {
  char text[600];
  snprintf(text, sizeof text,
           "const N = %ld;\n"
           "for i = 1:N {\n"
           "  n[i](t0) = 0; due[i](t0) = i / N;\n"
           "  automaton a[i] {\n"
           "    state tick [time >= due[i]] { set n[i] = n[i] + 1; set due[i] = due[i] + 1 + "
           "0.3 * i / N; } from init, tick;\n"
           "  }\n"
           "}\n",
           n);
  return bench_model("calendar", text);
}

static void sift(double* due, long* who, long n, long at) {
  double t = due[at];
  long own = who[at];
  for (long child = 2 * at + 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && due[child + 1] < due[child]) child++;
    if (due[child] >= t) break;
    due[at] = due[child];
    who[at] = who[child];
    at = child;
  }
  due[at] = t;
  who[at] = own;
}

static double calendar_by_hand(void* user) {
  Calendar* task = user;
  long n = task->n;
  double* due = malloc((size_t)n * sizeof *due);
  long* who = malloc((size_t)n * sizeof *who);
  double* counts = calloc((size_t)n, sizeof *counts);
  if (!due || !who || !counts) exit(1);
  for (long i = 0; i < n; i++) {
    due[i] = (double)(i + 1) / (double)n;
    who[i] = i;
  }
  task->events = 0.0;
  while (due[0] <= task->t_end) {
    counts[who[0]] += 1.0;
    task->events += 1.0;
    due[0] += 1.0 + 0.3 * (double)(who[0] + 1) / (double)n;
    sift(due, who, n, 0);
  }
  free(due);
  free(who);
  free(counts);
  return 0.0;
}

static double calendar_by_saltus(void* user) {
  const Calendar* task = user;
  SltSim* sim = bench_start(task->model, NULL);
  bench_advance(sim, task->t_end);
  double events = (double)slt_sim_statistics(sim).records - 1.0;  // without the initial one
  slt_sim_free(sim);
  return fabs(events - task->events) <= 1.0 ? 0.0 : fabs(events - task->events);
}

static void calendar(long n) {
  char name[40];
  char what[80];
  snprintf(name, sizeof name, "calendar_%ld", n);
  snprintf(what, sizeof what, "%ld machines that wait for times of their own, T = 3", n);
  Calendar task = {.n = n, .t_end = 3.0, .model = calendar_model(n)};
  BenchRow row = bench_row(name, what);
  row.opponent = "a heap";
  calendar_by_hand(&task);
  row.unit = "event";
  row.units = task.events;
  row.budget = 5.0;
  row.error_budget = 0.5;
  bench_compare(&row, calendar_by_hand, calendar_by_saltus, &task);
  bench_print(&row);
  slt_model_free(task.model);
}

// ---- Gray-Scott ---------------------------------------------------------------------------------

#define SPREAD 50.0

typedef struct Plate {
  double t_end;
  SltModel* model;
  double u;  // of the opponent, at the end, in the middle
  double opponent_steps, saltus_steps;
} Plate;

static SltModel* plate_model(void) {
  char text[1200];
  snprintf(text, sizeof text,
           "const N = %d, F = %g, K = %g, du = 0.16, dv = 0.08;\n"
           "for i = 1:N { for j = 1:N {\n"
           "  u[i,j]' = du * (u[mod(i,N)+1,j] + u[mod(i+N-2,N)+1,j] + u[i,mod(j,N)+1] + "
           "u[i,mod(j+N-2,N)+1] - 4 * u[i,j]) - u[i,j] * v[i,j]^2 + F * (1 - u[i,j]);\n"
           "  v[i,j]' = dv * (v[mod(i,N)+1,j] + v[mod(i+N-2,N)+1,j] + v[i,mod(j,N)+1] + "
           "v[i,mod(j+N-2,N)+1] - 4 * v[i,j]) + u[i,j] * v[i,j]^2 - (F + K) * v[i,j];\n"
           "  u[i,j](t0) = 1 - 0.5 * exp(-((i-N/2)^2 + (j-N/2)^2) / %g);\n"
           "  v[i,j](t0) = 0.25 * exp(-((i-N/2)^2 + (j-N/2)^2) / %g);\n"
           "} }\n",
           SIDE, FEED, KILL, SPREAD, SPREAD);
  return bench_model("gray_scott", text);
}

static double plate_by_hand(void* user) {
  Plate* task = user;
  static Dp5 s;
  static double x[DP5_N];
  for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++) {
      double a = i + 1 - 0.5 * SIDE;
      double b = j + 1 - 0.5 * SIDE;
      double bump = exp(-(a * a + b * b) / SPREAD);
      x[i * SIDE + j] = 1.0 - 0.5 * bump;
      x[SIDE * SIDE + i * SIDE + j] = 0.25 * bump;
    }
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
  task->u = s.x[(SIDE / 2 - 1) * SIDE + SIDE / 2 - 1];
  return 0.0;
}

static double plate_by_saltus(void* user) {
  Plate* task = user;
  SltSim* sim = bench_start(task->model, NULL);
  bench_advance(sim, task->t_end);
  char name[40];
  snprintf(name, sizeof name, "u[%d,%d]", SIDE / 2, SIDE / 2);
  double error = fabs(bench_value(sim, name) - task->u);
  task->saltus_steps = (double)slt_sim_statistics(sim).steps;
  slt_sim_free(sim);
  return error;
}

static void gray_scott(void) {
  Plate task = {.t_end = bench_size(300.0, 1.0), .model = plate_model()};
  BenchRow row = bench_row("gray_scott", "a step of Gray and Scott's reaction, 100 x 100 cells");
  row.opponent = "DP5, one loop";
  row.unit = "step";
  row.budget = 3.0;
  row.error_budget = 1e-4;
  bench_compare(&row, plate_by_hand, plate_by_saltus, &task);
  row.units = task.opponent_steps;
  row.saltus_s *= task.opponent_steps / task.saltus_steps;
  bench_print(&row);
  slt_model_free(task.model);
}

int main(void) {
  calendar(100);
  calendar(bench_smoke() ? 200 : 10000);
  gray_scott();
  return 0;
}
