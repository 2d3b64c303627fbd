// SPDX-License-Identifier: MIT
//
// Buck converter with a controller: three modes, 5001 events.
//
// Definition: 24 V, L = 50 uH, C = 100 uF, load 20 ohm then 2 ohm from 0.05 s, pulse width
// modulation with 20 kHz: the switch closes at k T and opens when t - k T reaches d T with
// d = clamp(0.3 + 0.005 (12 - v) + xi, 0.02, 0.95), xi' = 5 (12 - v). Ideal switch and diode:
// closed (L i' = 24 - v), free (L i' = -v), empty (i = 0, from i falling to 0 until the switch
// closes). From rest, T = 0.1 s, rtol 1e-6, atol 1e-9. Error: v at the end against a run of the
// opponent at rtol 1e-12. Opponent: Dormand-Prince fused for the problem, one right-hand side for
// the three modes, opening and emptying located on the dense output, closing and the load's change
// landed on. Budget: 2 times its time.
#define DP5_N 3
static double drive;      // voltage at the coil
static double conducts;   // 0 when the coil is empty
static double load = 20;  // ohm
static inline void dp5_rhs(double t, const double* x, double* dx) {
  (void)t;
  dx[0] = conducts * ((drive - x[1]) / 50e-6);
  dx[1] = (x[0] - x[1] / load) / 100e-6;
  dx[2] = 5.0 * (12.0 - x[1]);
}
#define BENCH_NATIVE
#include "bench.h"
#include "dp5.h"

#define PERIOD 50e-6

static const char text[] =
    "const Vin = 24, L = 50e-6, C = 100e-6, period = 50e-6;\n"
    "R(t0) = 20;\n"
    "start(t0) = 0;\n"
    "coil: L * i' = u - v;  i(t0) = 0;\n"
    "C * v' = i - v / R;    v(t0) = 0;\n"
    "xi' = 5 * (12 - v);    xi(t0) = 0;\n"
    "u = 0;\n"
    "macro duty = 0.3 + 0.005 * (12 - v) + xi;\n"
    "macro passed = (time - start) / period;\n"
    "state closed { u = Vin; }\n"
    "state open ([passed >= duty] && [passed >= 0.02]) || [passed >= 0.95] {\n"
    "} from closed;\n"
    "state empty [i <= 0] {\n"
    "  coil: i' = 0;\n"
    "  i(t0) = 0;\n"
    "} from open;\n"
    "at 0 each period repeat * { goto closed; set start = time; }\n"
    "at 0.05 { set R = 2; }\n";

enum { CLOSED, OPEN, EMPTY };

typedef struct Task {
  SltModel* model;
  double t_end, rtol, atol;
  double v;
  uint64_t events;
} Task;

static double period_start;

static double limited_duty(double v, double xi) {
  double d = 0.3 + 0.005 * (12.0 - v) + xi;
  return d < 0.02 ? 0.02 : d > 0.95 ? 0.95 : d;
}

static double opening(const Dp5* s, double theta, double* slope) {
  double dv;
  double dxi;
  double v = dp5_at(s, 1, theta, &dv);
  double xi = dp5_at(s, 2, theta, &dxi);
  double d = 0.3 + 0.005 * (12.0 - v) + xi;
  bool limited = d < 0.02 || d > 0.95;
  *slope = s->h_trial / PERIOD - (limited ? 0.0 : dxi - 0.005 * dv);
  return (s->t + theta * s->h_trial - period_start) / PERIOD - limited_duty(v, xi);
}

static double emptying(const Dp5* s, double theta, double* slope) {
  double di;
  double i = dp5_at(s, 0, theta, &di);
  *slope = -di;
  return -i;
}

static void enter(int mode) {
  drive = mode == CLOSED ? 24.0 : 0.0;
  conducts = mode == EMPTY ? 0.0 : 1.0;
}

/// Whether the mode is left inside the trial: then its point of time as a share of it.
static bool leaves(Dp5* s, int mode, double* theta) {
  if (mode == CLOSED) {
    double passed = (s->t + s->h_trial - period_start) / PERIOD;
    if (passed < limited_duty(s->xn[1], s->xn[2])) return false;
    dp5_dense(s);
    *theta = dp5_root(s, opening, 1.0, 0.0, 1.0, 0.9);
    return true;
  }
  if (mode == OPEN && s->xn[0] <= 0.0) {
    dp5_dense(s);
    *theta = dp5_root(s, emptying, 1.0, 0.0, 1.0, 0.9);
    return true;
  }
  return false;
}

static double simulate(Task* task) {
  double x0[3] = {0.0, 0.0, 0.0};
  int mode = CLOSED;
  uint64_t events = 0;
  long period = 0;
  double next = PERIOD;
  load = 20.0;
  period_start = 0.0;
  enter(mode);
  Dp5 s;
  dp5_start(&s, 0.0, x0, 1e-7);
  s.rtol = task->rtol;
  s.atol = task->atol;
  while (s.t < task->t_end) {
    double stop = load > 10.0 && next > 0.05 ? 0.05 : next;
    if (stop > task->t_end) stop = task->t_end;
    double wanted = s.h;
    bool lands = s.t + 1.01 * s.h >= stop;
    if (lands) s.h = stop - s.t;
    double error = dp5_try(&s);
    if (error > 1.0) {
      dp5_shrink(&s, error);
      continue;
    }
    double theta;
    if (leaves(&s, mode, &theta)) {
      double x[3] = {dp5_at(&s, 0, theta, NULL), dp5_at(&s, 1, theta, NULL),
                     dp5_at(&s, 2, theta, NULL)};
      if (mode == OPEN) x[0] = 0.0;
      mode = mode == CLOSED ? OPEN : EMPTY;
      enter(mode);
      s.h = wanted;
      dp5_restart(&s, s.t + theta * s.h_trial, x);
      events++;
      continue;
    }
    dp5_accept(&s);
    if (!lands) {
      dp5_grow(&s, error);
      continue;
    }
    s.t = stop;
    s.h = wanted;
    if (stop >= task->t_end) break;
    if (stop == next) {
      period++;
      period_start = next;
      next = (double)(period + 1) * PERIOD;
      mode = CLOSED;
      enter(mode);
    } else {
      load = 2.0;
    }
    dp5_restart(&s, s.t, s.x);
    events++;
  }
  task->events = events;
  return s.x[1];
}

static double by_hand(void* user) {
  Task* task = user;
  return fabs(simulate(task) - task->v);
}

static double by_saltus(void* user) {
  Task* task = user;
  SltSim* sim = bench_start(task->model, NULL);
  uint64_t events = bench_advance(sim, task->t_end);
  double error = fabs(bench_value(sim, "v") - task->v);
  slt_sim_free(sim);
  // the event at the end itself has happened too
  return events >= task->events && events <= task->events + 2 ? error : HUGE_VAL;
}

int main(void) {
  Task task = {.model = bench_model("buck", text),
               .t_end = bench_size(0.1, 0.001),
               .rtol = 1e-12,
               .atol = 1e-14};
  task.v = simulate(&task);
  task.rtol = 1e-6;
  task.atol = 1e-9;
  BenchRow row = bench_row("buck", "buck converter, 5001 events");
  row.opponent = "DP5 fused, events on dense output";
  row.unit = "event";
  row.budget = 2.0;
  bench_compare(&row, by_hand, by_saltus, &task);
  row.units = (double)task.events;
  bench_print(&row);
  slt_model_free(task.model);
  return 0;
}
