// SPDX-License-Identifier: MIT
//
// A chain of blocks with dry friction: a thousand surfaces at once.
//
// Definition: N = 1000 unit masses, springs of 100 between them and to the left wall, which moves
// with 0.5 sin 2t; Coulomb level 1 at every mass; from rest, T = 5, rtol 1e-6, atol 1e-9. Error:
// the largest difference of the first 20 positions at the end from a run of the opponent at rtol
// 1e-11. Opponent: Dormand-Prince for the problem; every block is stuck or slips in a direction;
// turning and breaking loose are located on the dense output, the first one wins. Budget: 3 times
// its time.
#define BLOCKS 1000
#define DP5_N  (2 * BLOCKS)  // positions, then velocities
#define BENCH_NATIVE
#include "bench.h"
static double direction[BLOCKS];  // of the slip; 0: stuck
static inline double pull(double t, const double* x, int i) {
  double left = i > 0 ? x[i - 1] : 0.5 * sin(2.0 * t);
  double right = i + 1 < BLOCKS ? x[i + 1] : x[i];
  return 100.0 * (left - 2.0 * x[i] + right);
}
static inline void dp5_rhs(double t, const double* x, double* dx) {
  for (int i = 0; i < BLOCKS; i++) {
    dx[i] = x[BLOCKS + i];
    dx[BLOCKS + i] = direction[i] == 0.0 ? 0.0 : pull(t, x, i) - direction[i];
  }
}
#include "dp5.h"

static const char text[] = "const N = 1000;\n"
                           "for i = 1:N {\n"
                           "  x_[i]' = v_[i];  x_[i](t0) = 0;  v_[i](t0) = 0;\n"
                           "  F_[i] = -sign(v_[i]);\n"
                           "}\n"
                           "v_[1]' = 100*(0.5*sin(2*time) - 2*x_[1] + x_[2]) + F_[1];\n"
                           "for i = 2:N-1 { v_[i]' = 100*(x_[i-1] - 2*x_[i] + x_[i+1]) + F_[i]; }\n"
                           "v_[N]' = 100*(x_[N-1] - x_[N]) + F_[N];\n";

#define SEEN 20

typedef struct Task {
  SltModel* model;
  double t_end, rtol, atol;
  double x[SEEN];
  uint64_t events;
} Task;

static int watched;

/// Velocity of the watched block against its direction: positive once it has turned.
static double turning(const Dp5* s, double theta, double* slope) {
  double d;
  double v = dp5_at(s, BLOCKS + watched, theta, &d);
  *slope = -direction[watched] * d;
  return -direction[watched] * v;
}

/// Pull on the watched block beyond what friction holds.
static double breaking(const Dp5* s, double theta, double* slope) {
  double t = s->t + theta * s->h_trial;
  double dl = cos(2.0 * t) * s->h_trial;
  double dm = 0.0;
  double dr = 0.0;
  double left = watched > 0 ? dp5_at(s, watched - 1, theta, &dl) : 0.5 * sin(2.0 * t);
  double middle = dp5_at(s, watched, theta, &dm);
  double right = middle;
  dr = dm;
  if (watched + 1 < BLOCKS) right = dp5_at(s, watched + 1, theta, &dr);
  double force = 100.0 * (left - 2.0 * middle + right);
  double sign = force < 0.0 ? -1.0 : 1.0;
  *slope = sign * 100.0 * (dl - 2.0 * dm + dr);
  return sign * force - 1.0;
}

/// First event of the trial; 2 for none.
static double first_event(Dp5* s, int* block) {
  double first = 2.0;
  bool dense = false;
  for (int i = 0; i < BLOCKS; i++) {
    bool slips = direction[i] != 0.0;
    bool happens = slips ? direction[i] * s->xn[BLOCKS + i] < 0.0
                         : fabs(pull(s->t + s->h_trial, s->xn, i)) > 1.0;
    if (!happens) continue;
    if (!dense) dp5_dense(s);
    dense = true;
    watched = i;
    double theta = dp5_root(s, slips ? turning : breaking, 1.0, 0.0, 1.0, 0.9);
    if (theta >= first) continue;
    first = theta;
    *block = i;
  }
  return first;
}

static void simulate(Task* task, double* x) {
  static Dp5 s;
  static double at[DP5_N];
  memset(at, 0, sizeof at);
  memset(direction, 0, sizeof direction);
  dp5_start(&s, 0.0, at, 1e-4);
  s.rtol = task->rtol;
  s.atol = task->atol;
  task->events = 0;
  while (s.t < task->t_end) {
    bool lands = s.t + 1.01 * s.h >= task->t_end;
    if (lands) s.h = task->t_end - s.t;
    double error = dp5_try(&s);
    if (error > 1.0) {
      dp5_shrink(&s, error);
      continue;
    }
    int block = 0;
    double theta = first_event(&s, &block);
    if (theta <= 1.0) {
      double t = s.t + theta * s.h_trial;
      for (int i = 0; i < DP5_N; i++) {
        at[i] = dp5_at(&s, i, theta, NULL);
      }
      double force = pull(t, at, block);
      // a block that turns sticks if it can; one that breaks loose goes where it is pulled
      bool slipped = direction[block] != 0.0;
      direction[block] = slipped && fabs(force) <= 1.0 ? 0.0 : force > 0.0 ? 1.0 : -1.0;
      at[BLOCKS + block] = 0.0;
      dp5_restart(&s, t, at);
      task->events++;
      continue;
    }
    dp5_accept(&s);
    if (!lands) dp5_grow(&s, error);
    if (lands) s.t = task->t_end;
  }
  memcpy(x, s.x, SEEN * sizeof *x);
}

static double largest(const double* a, const double* b) {
  double difference = 0.0;
  for (int i = 0; i < SEEN; i++) {
    difference = fmax(difference, fabs(a[i] - b[i]));
  }
  return difference;
}

static double by_hand(void* user) {
  Task* task = user;
  double x[SEEN];
  simulate(task, x);
  return largest(x, task->x);
}

static double by_saltus(void* user) {
  Task* task = user;
  SltSim* sim = bench_start(task->model, NULL);
  bench_advance(sim, task->t_end);
  double x[SEEN];
  for (int i = 0; i < SEEN; i++) {
    char name[16];
    snprintf(name, sizeof name, "x_%d", i + 1);
    x[i] = bench_value(sim, name);
  }
  slt_sim_free(sim);
  return largest(x, task->x);
}

int main(void) {
  Task task = {.model = bench_model("friction_chain", text),
               .t_end = bench_size(5.0, 0.1),
               .rtol = 1e-11,
               .atol = 1e-14};
  simulate(&task, task.x);
  task.rtol = 1e-6;
  task.atol = 1e-9;
  BenchRow row = bench_row("friction_chain", "1000 blocks with dry friction, T = 5");
  row.opponent = "DP5, turning and breaking loose located";
  row.unit = "event";
  row.budget = 3.0;
  bench_compare(&row, by_hand, by_saltus, &task);
  row.units = (double)task.events;
  bench_print(&row);
  slt_model_free(task.model);
  return 0;
}
