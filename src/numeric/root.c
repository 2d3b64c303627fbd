// SPDX-License-Identifier: MIT
//
// Roots of a scalar function inside a bracket.
#include "numeric/internal.h"

#define PATIENCE 8

/// Chandrupatla's three points: the newest, the other end of the bracket, the one before.
typedef struct Points {
  double a, g_a;
  double b, g_b;
  double c, g_c;
} Points;

/// Place of the next point, as a fraction of the way from a to b: inverse quadratic interpolation
/// where the three values are monotone enough for it to be safe, else 1/2 (Chandrupatla, Adv. Eng.
/// Software 28, 1997). NaN from infinite values gives 1/2 too.
static double next_fraction(const Points* p) {
  double xi = (p->a - p->b) / (p->c - p->b);
  double phi = (p->g_a - p->g_b) / (p->g_c - p->g_b);
  if (!(phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi)) {
    return 0.5;
  }
  double t =
      p->g_a / (p->g_b - p->g_a) * (p->g_c / (p->g_b - p->g_c)) +
      (p->c - p->a) / (p->b - p->a) * (p->g_a / (p->g_c - p->g_a)) * (p->g_b / (p->g_c - p->g_b));
  return t >= 0.0 && t <= 1.0 ? t : 0.5;
}

/// The first point: where the secant passes through zero.
static double first_fraction(const Points* p) {
  double t = p->g_a / (p->g_a - p->g_b);
  return t >= 0.0 && t <= 1.0 ? t : 0.5;
}

static bool is_positive(const NumRootOptions* options, double g) {
  return g > 0.0 || (g == 0.0 && options->zero_is_positive);
}

/// (t, g) becomes the newest point; it replaces the end it shares its sign with.
static void take_point(Points* p, double t, double g, bool same_sign) {
  if (same_sign) {
    p->c = p->a;
    p->g_c = p->g_a;
  } else {
    p->c = p->b;
    p->g_c = p->g_b;
    p->b = p->a;
    p->g_b = p->g_a;
  }
  p->a = t;
  p->g_a = g;
}

/// The cubic with the values and slopes of the bracket, as a function of theta in [0, 1].
typedef struct Hermite {
  double c0, c1, c2, c3;
} Hermite;

static Hermite hermite_of(const NumRootOptions* options, const NumBracket* b) {
  double h = b->hi - b->lo;
  double m0 = h * options->slope_lo;
  double m1 = h * options->slope_hi;
  double rise = b->g_hi - b->g_lo;
  return (Hermite){b->g_lo, m0, 3.0 * rise - 2.0 * m0 - m1, m0 + m1 - 2.0 * rise};
}

/// A sign change of the cubic by Newton's method within bisection (Press et al., rtsafe); its slope
/// there into `slope`. A start for the search, no more: a few digits are enough.
static double hermite_root(const Hermite* c, bool lo_positive, double* slope) {
  double lo = 0.0;
  double hi = 1.0;
  double theta = 0.5;
  for (uint32_t i = 0; i < 20; i++) {
    double value = c->c0 + theta * (c->c1 + theta * (c->c2 + theta * c->c3));
    *slope = c->c1 + theta * (2.0 * c->c2 + theta * (3.0 * c->c3));
    if ((value > 0.0) == lo_positive) {
      lo = theta;
    } else {
      hi = theta;
    }
    double next = theta - value / *slope;
    if (!(next > lo && next < hi)) {
      next = 0.5 * (lo + hi);
    }
    bool done = num_abs(next - theta) <= 1e-5 * next;  // then next is good to 1e-10
    theta = next;
    if (done) {
      break;
    }
  }
  return theta;
}

static void set_bracket(NumBracket* bracket, const Points* p) {
  bool a_first = p->a < p->b;
  bracket->lo = a_first ? p->a : p->b;
  bracket->hi = a_first ? p->b : p->a;
  bracket->g_lo = a_first ? p->g_a : p->g_b;
  bracket->g_hi = a_first ? p->g_b : p->g_a;
}

static bool in_window(const NumRootOptions* options, const NumBracket* bracket) {
  bool lo = num_abs(bracket->g_lo) <= options->g_window;
  bool hi = num_abs(bracket->g_hi) <= options->g_window;
  switch (options->side) {
  case NUM_SIDE_LO: return lo;
  case NUM_SIDE_HI: return hi;
  case NUM_SIDE_ANY: break;
  }
  return lo || hi;
}

/// A point strictly inside (a, b) at `fraction`, kept half a tolerance (at least a unit in the last
/// place) from both ends: a root near the newest point is then enclosed by the next one. False: a
/// and b are adjacent.
static bool next_point(const Points* p, double fraction, double t_tol, double* t) {
  double lo = num_min(p->a, p->b);
  double hi = num_max(p->a, p->b);
  double width = hi - lo;
  double last_place = DBL_EPSILON * num_max(num_abs(lo), num_abs(hi));
  double margin = width > t_tol ? num_max(0.5 * t_tol, last_place) : last_place;
  margin = num_min(margin / width, 0.5);
  fraction = num_min(num_max(fraction, margin), 1.0 - margin);
  *t = p->a + fraction * (p->b - p->a);
  if (*t > lo && *t < hi) {
    return true;
  }
  *t = lo + 0.5 * width;
  return *t > lo && *t < hi;
}

/// The search: the three points, and what decides how the next one is placed.
typedef struct Search {
  Points p;
  double fraction;    // proposed place of the next point
  double slope;       // of g at the first point, from the cubic; 0: not known
  double halving;     // width that has to be halved by the third point from here
  uint32_t since;     // points since then
  uint32_t patience;  // points that may do without, as long as g itself falls quickly
} Search;

static Search search_begin(const NumRootOptions* options, const NumBracket* b) {
  Search s = {.p = {.a = b->hi, .g_a = b->g_hi, .b = b->lo, .g_b = b->g_lo},
              .halving = b->hi - b->lo,
              .patience = PATIENCE};
  if (options->has_slopes) {
    Hermite cubic = hermite_of(options, b);
    double theta = hermite_root(&cubic, is_positive(options, b->g_lo), &s.slope);
    s.fraction = 1.0 - theta;
    s.slope /= s.halving;
  } else {
    s.fraction = first_fraction(&s.p);
  }
  return s;
}

static void search_take(Search* s, double t, double g, bool same_sign, double width) {
  Points* p = &s->p;
  bool converging = num_abs(g) <= 0.25 * num_min(num_abs(p->g_a), num_abs(p->g_b));
  take_point(p, t, g, same_sign);
  s->fraction = next_fraction(p);
  if (s->slope != 0.0) {
    double newton = -g / s->slope / (p->b - p->a);
    s->fraction = newton >= 0.0 && newton <= 1.0 ? newton : s->fraction;
    s->slope = 0.0;
  }
  if (width <= 0.5 * s->halving) {
    s->halving = width;
    s->since = 0;
  } else if (converging && s->patience > 0) {
    s->patience--;
  } else if (s->since < 2) {
    s->since++;
  }
}

SltStatus num_root_bracket(NumFn* fn, void* user, const NumRootOptions* options,
                           NumBracket* bracket, uint32_t* evaluations) {
  uint32_t unused = 0;
  uint32_t* count = evaluations ? evaluations : &unused;
  *count = 0;
  if (!(bracket->lo < bracket->hi) ||
      is_positive(options, bracket->g_lo) == is_positive(options, bracket->g_hi)) {
    return SLT_ERR_ARGUMENT;
  }
  Search s = search_begin(options, bracket);
  while (bracket->hi - bracket->lo > options->t_tol || !in_window(options, bracket)) {
    double t = 0.0;
    double g = 0.0;
    if (!next_point(&s.p, s.since == 2 ? 0.5 : s.fraction, options->t_tol, &t)) {
      return in_window(options, bracket) ? SLT_OK : SLT_ERR_NO_CONVERGENCE;
    }
    if (*count == options->max_evaluations) {
      return SLT_ERR_NO_CONVERGENCE;
    }
    ++*count;
    SLT_TRY(fn(user, t, &g));
    if (g != g) {
      return SLT_ERR_NOT_FINITE;
    }
    bool same_sign = is_positive(options, g) == is_positive(options, s.p.g_a);
    double width = num_abs((same_sign ? s.p.b : s.p.a) - t);
    search_take(&s, t, g, same_sign, width);
    set_bracket(bracket, &s.p);
  }
  return SLT_OK;
}
