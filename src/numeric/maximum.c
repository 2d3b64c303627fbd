// SPDX-License-Identifier: MIT
//
// Maxima of a scalar function inside an interval.
#include "numeric/internal.h"

#define GOLDEN          0.3819660112501051  // (3 - sqrt(5)) / 2
#define MAX_EVALUATIONS 100

/// The three best points, best first, and the last two moves.
typedef struct Search {
  double lo, hi;
  double x, g_x;
  double w, g_w;
  double v, g_v;
  double move, move_before;
} Search;

/// Move from x to the top of the parabola through the three points, or a golden section of the
/// longer side where the parabola leaves the interval or does not shrink the moves.
static double next_move(Search* s, double tol) {
  double middle = 0.5 * (s->lo + s->hi);
  double before = s->move_before;
  s->move_before = s->move;
  if (num_abs(before) > tol) {
    double r = (s->x - s->w) * (s->g_v - s->g_x);
    double q = (s->x - s->v) * (s->g_w - s->g_x);
    double p = (s->x - s->v) * q - (s->x - s->w) * r;
    q = 2.0 * (q - r);
    p = q > 0.0 ? -p : p;
    q = num_abs(q);
    if (num_abs(p) < num_abs(0.5 * q * before) && p > q * (s->lo - s->x) &&
        p < q * (s->hi - s->x)) {
      double u = s->x + p / q;
      bool at_end = u - s->lo < 2.0 * tol || s->hi - u < 2.0 * tol;
      return !at_end ? p / q : s->x < middle ? tol : -tol;
    }
  }
  s->move_before = s->x < middle ? s->hi - s->x : s->lo - s->x;
  return GOLDEN * s->move_before;
}

/// Take the new point (u, g_u) into the search.
static void take_point(Search* s, double u, double g_u) {
  if (g_u >= s->g_x) {
    if (u < s->x) {
      s->hi = s->x;
    } else {
      s->lo = s->x;
    }
    s->v = s->w;
    s->g_v = s->g_w;
    s->w = s->x;
    s->g_w = s->g_x;
    s->x = u;
    s->g_x = g_u;
    return;
  }
  if (u < s->x) {
    s->lo = u;
  } else {
    s->hi = u;
  }
  if (g_u >= s->g_w || s->w == s->x) {
    s->v = s->w;
    s->g_v = s->g_w;
    s->w = u;
    s->g_w = g_u;
  } else if (g_u >= s->g_v || s->v == s->x || s->v == s->w) {
    s->v = u;
    s->g_v = g_u;
  }
}

SltStatus num_max_on_interval(NumFn* fn, void* user, double a, double b, double t_tol,
                              double g_stop, NumMaximum* best, uint32_t* evaluations) {
  const double relative = 1.5e-8;  // sqrt(epsilon): a maximum cannot be located better
  uint32_t unused = 0;
  uint32_t* count = evaluations ? evaluations : &unused;
  double first = a + GOLDEN * (b - a);
  Search s = {.lo = a, .hi = b, .x = first, .w = first, .v = first};
  *count = 1;
  SLT_TRY(fn(user, s.x, &s.g_x));
  s.g_w = s.g_x;
  s.g_v = s.g_x;
  *best = (NumMaximum){s.x, s.g_x};
  while (!(s.g_x > g_stop)) {
    if (s.g_x != s.g_x) {
      return SLT_ERR_NOT_FINITE;
    }
    double middle = 0.5 * (s.lo + s.hi);
    double tol = num_max(relative * (b - a), t_tol / 3.0) + 4.0 * DBL_EPSILON * num_abs(s.x);
    if (num_abs(s.x - middle) <= 2.0 * tol - 0.5 * (s.hi - s.lo)) {
      break;
    }
    if (*count == MAX_EVALUATIONS) {
      return SLT_ERR_NO_CONVERGENCE;
    }
    s.move = next_move(&s, tol);
    double least = s.move > 0.0 ? tol : -tol;
    double u = s.x + (num_abs(s.move) >= tol ? s.move : least);
    double g_u = 0.0;
    ++*count;
    SLT_TRY(fn(user, u, &g_u));
    if (g_u != g_u) {
      return SLT_ERR_NOT_FINITE;
    }
    take_point(&s, u, g_u);
    *best = (NumMaximum){s.x, s.g_x};
  }
  return SLT_OK;
}

// p(theta) = ga + m0 theta + b theta^2 + c theta^3 with m = h d. Where p' = 0 and p'' < 0:
// theta = (-b - s) / (3 c) = m0 / (s - b), s = sqrt(b^2 - 3 c m0); of the two the form that adds.
bool num_hermite_max(double ga, double gb, double da, double db, double h, double* theta,
                     double* value) {
  double m0 = h * da;
  double m1 = h * db;
  double rise = gb - ga;
  double b = 3.0 * rise - 2.0 * m0 - m1;
  double c = m0 + m1 - 2.0 * rise;
  double discriminant = b * b - 3.0 * c * m0;
  if (!(discriminant > 0.0)) {
    return false;
  }
  double root = num_sqrt(discriminant);
  double at = b > 0.0 ? (-b - root) / (3.0 * c) : m0 / (root - b);
  if (!(at > 0.0 && at < 1.0)) {
    return false;
  }
  *theta = at;
  *value = ga + at * (m0 + at * (b + at * c));
  return true;
}

double num_hermite_root(double ga, double gb, double da, double db, double h) {
  double m0 = h * da;
  double m1 = h * db;
  double rise = gb - ga;
  double b = 3.0 * rise - 2.0 * m0 - m1;
  double c = m0 + m1 - 2.0 * rise;
  double at = -ga / rise;
  for (uint32_t i = 0; i < 3; i++) {
    double g = ga + at * (m0 + at * (b + at * c));
    double next = at - g / (m0 + at * (2.0 * b + 3.0 * at * c));
    if (!(next > 0.0 && next < 1.0)) break;
    at = next;
  }
  return at;
}
