// SPDX-License-Identifier: MIT
//
// Bouncing ball, relaunched: cost of an event in a small model.
//
// Definition: y' = v, v' = -g, g = 9.81, from y = 0 with v0 = sqrt(2 g). At y = 0 the speed is
// reversed and e = 0.9 of it survives; relaunched with v0 when the rebound speed falls below 0.05.
// 1e5 bounces. Error: time of the last bounce against the closed form, relative.
// Opponent: Dormand-Prince fused for the problem, bounce located on its dense output by Newton's
// method, step size carried over, one step per flight. Budget: 2 times its time, error 1e-11.
#define DP5_N 2
static inline void dp5_rhs(double t, const double* x, double* dx) {
  (void)t;
  dx[0] = x[1];
  dx[1] = -9.81;
}
#define BENCH_NATIVE
#include "bench.h"
#include "dp5.h"

#define G      9.81
#define E_REST 0.9
#define V_MIN  0.05

static const char text[] = "const e = 0.9, v_min = 0.05, g = 9.81;\n"
                           "y' = v;   y(t0) = 0;\n"
                           "v' = -g;  v(t0) = sqrt(2 * g);\n"
                           "last(t0) = 0;\n"
                           "macro rebound = -e * v;\n"
                           "state flight [y <= 0] && noEvent[v < 0] {\n"
                           "  v(t0) = if(rebound < v_min, sqrt(2 * g), rebound);\n"
                           "  y(t0) = 0;\n"
                           "  last(t0) = time;\n"
                           "} from init, flight;\n";

typedef struct Ball {
  SltModel* model;
  long bounces;
} Ball;

static double relaunch(double speed) {
  double v = E_REST * speed;
  return v < V_MIN ? sqrt(2.0 * G) : v;
}

/// Time of the bounce with that number.
static double exact(long bounces) {
  long double t = 0.0L;
  double v = sqrt(2.0 * G);
  for (long i = 0; i < bounces; i++) {
    t += 2.0L * (long double)v / (long double)G;
    v = relaunch(v);
  }
  return (double)t;
}

static double height(const Dp5* s, double theta, double* slope) {
  return dp5_at(s, 0, theta, slope);
}

static double by_hand(void* user) {
  const Ball* ball = user;
  double x0[2] = {0.0, sqrt(2.0 * G)};
  Dp5 s;
  dp5_start(&s, 0.0, x0, 1.0);
  long done = 0;
  while (done < ball->bounces) {
    double error = dp5_attempt(&s);
    // rising or falling, and at the end still above: no bounce inside
    if (s.xn[0] > 0.0) {
      dp5_accept(&s);
      dp5_grow(&s, error);
      continue;
    }
    dp5_dense(&s);
    double theta = dp5_root(&s, height, -1.0, 0.0, 1.0, 0.9);
    double x[2] = {0.0, relaunch(-dp5_at(&s, 1, theta, NULL))};
    s.h = 1.05 * theta * s.h_trial;  // flights resemble each other
    dp5_restart(&s, s.t + theta * s.h_trial, x);
    done++;
  }
  double t = exact(ball->bounces);
  return fabs(s.t - t) / t;
}

static double by_saltus(void* user) {
  const Ball* ball = user;
  SltSim* sim = bench_start(ball->model, NULL);
  double t = exact(ball->bounces);
  bench_advance(sim, t * (1.0 + 1e-9) + 1e-9);
  double error = fabs(bench_value(sim, "last") - t) / t;
  if (slt_sim_statistics(sim).instants != (uint64_t)ball->bounces) error = HUGE_VAL;
  slt_sim_free(sim);
  return error;
}

int main(void) {
  Ball ball = {bench_model("ball", text), (long)bench_size(1e5, 100)};
  BenchRow row = bench_row("ball", "bouncing ball, relaunched, 1e5 bounces");
  row.opponent = "DP5 fused, events on dense output";
  row.unit = "event";
  row.units = (double)ball.bounces;
  row.budget = 2.0;
  row.error_budget = 1e-11;
  return bench_one(row, by_hand, by_saltus, &ball, ball.model);
}
