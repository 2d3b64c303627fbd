// SPDX-License-Identifier: MIT
//
// Billiard between two circles: events of nonlinear guards, one of them met and left within a step.
//
// Definition: a point with unit speed between circles of radii 5 and 1, reflected by both. Start
// (3, 0), angular momentum 0.5, outward radial speed, T = 1e5, no limit on the step: 24337
// reflections. Error: distance of the end point from the exact one (every flight is a chord of the
// same length that turns the point by the same angle).
// Opponent: Dormand-Prince fused for the problem; each trial is checked for its least distance from
// the centre, reflections are located on the dense output by Newton's method. Budget: 2 times its
// time, all reflections, error 1e-6.
#define DP5_N 4
static inline void dp5_rhs(double t, const double* x, double* dx) {
  (void)t;
  dx[0] = x[2];
  dx[1] = x[3];
  dx[2] = 0.0;
  dx[3] = 0.0;
}
#define BENCH_NATIVE
#include "bench.h"
#include "dp5.h"

#define R_OUTER 5.0
#define R_INNER 1.0
#define A       0.5  // distance of every flight's line from the centre

static const char text[] = "const R_O = 5, R_I = 1;\n"
                           "macro r = sqrt(x * x + y * y);\n"
                           "macro outward = x * vx + y * vy;\n"
                           "x' = vx;  x(t0) = 3;\n"
                           "y' = vy;  y(t0) = 0;\n"
                           "vx' = 0;  vx(t0) = sqrt(35) / 6;\n"
                           "vy' = 0;  vy(t0) = 1 / 6;\n"
                           "state motion ([r >= R_O] && noEvent[outward >= 0]) || ([r <= R_I] && "
                           "noEvent[outward <= 0]) {\n"
                           "  vx(t0) = vx - 2 * outward / r / r * x;\n"
                           "  vy(t0) = vy - 2 * outward / r / r * y;\n"
                           "} from init, motion;\n";

typedef struct Billiard {
  SltModel* model;
  double t_end;
  long reflections;
  double x, y;  // exact end
} Billiard;

/// Where the exact motion is at t_end. A flight of the line at distance A from the centre: with s
/// measured from the point nearest to it, the polar angle is atan(s / A) from there.
static void solve(Billiard* b) {
  double outer = sqrt(R_OUTER * R_OUTER - A * A);
  double inner = sqrt(R_INNER * R_INNER - A * A);
  double s = sqrt(9.0 - A * A);  // start: r = 3, going outwards
  double angle = 0.0;            // polar angle of the point
  double left = b->t_end;
  double flight = outer - s;
  long count = 0;
  bool outwards = true;
  while (left >= flight) {
    angle += outwards ? atan(outer / A) - atan(s / A) : atan(-inner / A) - atan(s / A);
    left -= flight;
    outwards = !outwards;
    s = outwards ? inner : -outer;
    flight = outer - inner;
    count++;
  }
  angle += atan((s + left) / A) - atan(s / A);
  double r = hypot(s + left, A);
  b->x = r * cos(angle);
  b->y = r * sin(angle);
  b->reflections = count;
}

static double outer_guard(const Dp5* s, double theta, double* slope) {
  double dx;
  double dy;
  double x = dp5_at(s, 0, theta, &dx);
  double y = dp5_at(s, 1, theta, &dy);
  *slope = 2.0 * (x * dx + y * dy);
  return x * x + y * y - R_OUTER * R_OUTER;
}

static double inner_guard(const Dp5* s, double theta, double* slope) {
  double dx;
  double dy;
  double x = dp5_at(s, 0, theta, &dx);
  double y = dp5_at(s, 1, theta, &dy);
  *slope = -2.0 * (x * dx + y * dy);
  return R_INNER * R_INNER - (x * x + y * y);
}

/// Where the distance from the centre is least, from the radial speeds at both ends.
static double nearest(const Dp5* s) {
  double lo = 0.0;
  double hi = 1.0;
  double theta = 0.5;
  for (int i = 0; i < 60; i++) {
    double vx;
    double vy;
    double x = dp5_at(s, 0, theta, &vx);
    double y = dp5_at(s, 1, theta, &vy);
    double radial = x * vx + y * vy;
    if (radial < 0.0) {
      lo = theta;
    } else {
      hi = theta;
    }
    double next = theta - radial / (vx * vx + vy * vy);
    if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
    if (fabs(next - theta) <= 1e-9) return next;
    theta = next;
  }
  return theta;
}

static void reflect(Dp5* s, double theta) {
  double x[4];
  for (int i = 0; i < 4; i++) {
    x[i] = dp5_at(s, i, theta, NULL);
  }
  double outward = x[0] * x[2] + x[1] * x[3];
  double r2 = x[0] * x[0] + x[1] * x[1];
  double f = 2.0 * outward / r2;
  x[2] -= f * x[0];
  x[3] -= f * x[1];
  s->h = 1.05 * theta * s->h_trial;
  dp5_restart(s, s->t + theta * s->h_trial, x);
}

/// Reflect at the first contact of the trial; false when there is none.
static bool meets(Dp5* s) {
  double start = s->x[0] * s->x[2] + s->x[1] * s->x[3];
  double end = s->xn[0] * s->xn[2] + s->xn[1] * s->xn[3];
  dp5_dense(s);
  if (start < 0.0) {
    double turn = end > 0.0 ? nearest(s) : 1.0;
    double slope;
    if (inner_guard(s, turn, &slope) > 0.0) {
      reflect(s, dp5_root(s, inner_guard, 1.0, 0.0, turn, 0.9 * turn));
      return true;
    }
  }
  if (end > 0.0 && s->xn[0] * s->xn[0] + s->xn[1] * s->xn[1] > R_OUTER * R_OUTER) {
    reflect(s, dp5_root(s, outer_guard, 1.0, 0.0, 1.0, 0.95));
    return true;
  }
  return false;
}

static double by_hand(void* user) {
  const Billiard* b = user;
  double x0[4] = {3.0, 0.0, sqrt(35.0) / 6.0, 1.0 / 6.0};
  Dp5 s;
  dp5_start(&s, 0.0, x0, 1.0);
  long count = 0;
  for (;;) {
    double error = dp5_attempt(&s);
    double t = s.t;
    bool met = meets(&s);
    double reached = met ? s.t : t + s.h_trial;
    if (reached > b->t_end) {
      double theta = (b->t_end - t) / s.h_trial;
      double x = dp5_at(&s, 0, theta, NULL);
      double y = dp5_at(&s, 1, theta, NULL);
      return count == b->reflections ? hypot(x - b->x, y - b->y) : HUGE_VAL;
    }
    if (met) {
      count++;
      continue;
    }
    dp5_accept(&s);
    dp5_grow(&s, error);
  }
}

static double by_saltus(void* user) {
  const Billiard* b = user;
  SltSim* sim = bench_start(b->model, NULL);
  uint64_t count = bench_advance(sim, b->t_end);
  double error = hypot(bench_value(sim, "x") - b->x, bench_value(sim, "y") - b->y);
  slt_sim_free(sim);
  return count == (uint64_t)b->reflections ? error : HUGE_VAL;
}

int main(void) {
  Billiard b = {.model = bench_model("billiard", text), .t_end = bench_size(1e5, 100.0)};
  solve(&b);
  BenchRow row = bench_row("billiard", "billiard between circles, T = 1e5");
  row.opponent = "DP5 fused, events on dense output";
  row.unit = "event";
  row.units = (double)b.reflections;
  row.budget = 2.0;
  row.error_budget = 1e-6;
  return bench_one(row, by_hand, by_saltus, &b, b.model);
}
