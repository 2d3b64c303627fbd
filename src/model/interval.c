// SPDX-License-Identifier: MIT
//
// Interval extensions of the operations of the tape.
#include "model/model.h"

#include <float.h>
#include <math.h>

#define PI         3.14159265358979323846
#define TRIG_LARGE 1e9   // arguments beyond: the whole range, the reduction is not followed
#define TRIG_ULPS  16.0  // extrema this close to an end count as inside: multiples of pi are rounded

#define GAMMA_PLACE     1.4616321449683623  // where the gamma function is least
#define GAMMA_BOTTOM    0.8856031944108886  // and how much it is there, rounded downwards
#define GAMMA_ULPS      16                  // besides MODEL_LIBM_ULPS
#define POLYGAMMA_ERROR 1e-13               // relative, and absolute below 1

static const ModelInterval anything = {-HUGE_VAL, HUGE_VAL};

// ---- rounding -----------------------------------------------------------------------------------

/// The double `ulps` places above (or below) x; infinities stay, zero is left for subnormals.
static inline double shift(double x, int ulps) {
  union {
    double value;
    int64_t bits;
  } u = {.value = x};
  if (!(x >= -DBL_MAX && x <= DBL_MAX)) return x;
  // order doubles like integers: negative ones count downwards from -0
  int64_t key = u.bits < 0 ? INT64_MIN - u.bits : u.bits;
  key += ulps;
  u.bits = key < 0 ? INT64_MIN - key : key;
  return u.value;
}

/// Bounds computed in round to nearest, moved outwards. An overflow stands for a large finite
/// value: it bounds on its own side only.
static inline ModelInterval widen(double lo, double hi, int ulps) {
  if (lo != lo || hi != hi) return anything;
  if (lo > DBL_MAX) lo = DBL_MAX;
  if (hi < -DBL_MAX) hi = -DBL_MAX;
  return (ModelInterval){shift(lo, -ulps), shift(hi, ulps)};
}

static inline double least(double a, double b) {
  return a < b ? a : b;
}

static inline double greatest(double a, double b) {
  return a > b ? a : b;
}

// ---- arithmetic ---------------------------------------------------------------------------------

ModelInterval model_interval_point(double value) {
  return isnan(value) ? anything : (ModelInterval){value, value};
}

ModelInterval model_interval_hull(ModelInterval a, ModelInterval b) {
  return (ModelInterval){least(a.lo, b.lo), greatest(a.hi, b.hi)};
}

ModelInterval model_interval_add(ModelInterval a, ModelInterval b) {
  return widen(a.lo + b.lo, a.hi + b.hi, 1);
}

ModelInterval model_interval_sub(ModelInterval a, ModelInterval b) {
  return widen(a.lo - b.hi, a.hi - b.lo, 1);
}

/// 0 * infinity is 0 here: an infinite end stands for arbitrarily large finite values.
static double product(double a, double b) {
  return a == 0.0 || b == 0.0 ? 0.0 : a * b;
}

/// a / divisor or a * factor, for a power of 2.
static bool scaled(double p, double q, ModelInterval a, ModelInterval* out) {
  bool exact = (fabs(p) >= DBL_MIN || a.lo == 0.0) && (fabs(q) >= DBL_MIN || a.hi == 0.0);
  *out = (ModelInterval){least(p, q), greatest(p, q)};
  return exact && fabs(p) <= DBL_MAX && fabs(q) <= DBL_MAX;
}

static bool is_exact(ModelInterval a) {
  return a.lo == a.hi && model_is_power_of_2(a.lo);
}

ModelInterval model_interval_mul(ModelInterval a, ModelInterval b) {
  ModelInterval out;
  if (is_exact(a) && scaled(b.lo * a.lo, b.hi * a.lo, b, &out)) return out;
  if (is_exact(b) && scaled(a.lo * b.lo, a.hi * b.lo, a, &out)) return out;
  double p = product(a.lo, b.lo);
  double q = product(a.lo, b.hi);
  double r = product(a.hi, b.lo);
  double s = product(a.hi, b.hi);
  return widen(least(least(p, q), least(r, s)), greatest(greatest(p, q), greatest(r, s)), 1);
}

ModelInterval model_interval_div(ModelInterval a, ModelInterval b) {
  ModelInterval out;
  if (b.lo <= 0.0 && b.hi >= 0.0) return anything;
  if (is_exact(b) && scaled(a.lo / b.lo, a.hi / b.lo, a, &out)) return out;
  double p = a.lo / b.lo;
  double q = a.lo / b.hi;
  double r = a.hi / b.lo;
  double s = a.hi / b.hi;
  if (isnan(p) || isnan(q) || isnan(r) || isnan(s)) return anything;
  return widen(least(least(p, q), least(r, s)), greatest(greatest(p, q), greatest(r, s)), 1);
}

static ModelInterval negate(ModelInterval a) {
  return (ModelInterval){-a.hi, -a.lo};
}

static ModelInterval square(ModelInterval a) {
  double p = a.lo * a.lo;
  double q = a.hi * a.hi;
  bool zero = a.lo <= 0.0 && a.hi >= 0.0;
  ModelInterval s = widen(zero ? 0.0 : least(p, q), greatest(p, q), 1);
  if (s.lo < 0.0) s.lo = 0.0;
  return s;
}

// ---- functions ----------------------------------------------------------------------------------

static ModelInterval rising(double (*f)(double), ModelInterval a) {
  return widen(f(a.lo), f(a.hi), MODEL_LIBM_ULPS);
}

static ModelInterval clip(ModelInterval a, double lo, double hi) {
  return (ModelInterval){greatest(a.lo, lo), least(a.hi, hi)};
}

/// Whether phase + k*2*pi lies in [a.lo, a.hi] for some integer k, with a margin: quotient, product
/// and sum err by less than 4 ulp of the argument together.
static bool holds_phase(ModelInterval a, double phase) {
  double margin = TRIG_ULPS * DBL_EPSILON * greatest(8.0, greatest(-a.lo, a.hi));
  double k = ceil((a.lo - margin - phase) / (2.0 * PI));
  return phase + k * 2.0 * PI <= a.hi + margin;
}

static ModelInterval sine(ModelInterval a) {
  if (!(fabs(a.lo) < TRIG_LARGE && fabs(a.hi) < TRIG_LARGE)) return (ModelInterval){-1.0, 1.0};
  double p = base_sin(a.lo);
  double q = base_sin(a.hi);
  ModelInterval s = widen(least(p, q), greatest(p, q), MODEL_LIBM_ULPS);
  if (holds_phase(a, 0.5 * PI)) s.hi = 1.0;
  if (holds_phase(a, -0.5 * PI)) s.lo = -1.0;
  return clip(s, -1.0, 1.0);
}

static ModelInterval cosine(ModelInterval a) {
  if (!(fabs(a.lo) < TRIG_LARGE && fabs(a.hi) < TRIG_LARGE)) return (ModelInterval){-1.0, 1.0};
  double p = base_cos(a.lo);
  double q = base_cos(a.hi);
  ModelInterval s = widen(least(p, q), greatest(p, q), MODEL_LIBM_ULPS);
  if (holds_phase(a, 0.0)) s.hi = 1.0;
  if (holds_phase(a, PI)) s.lo = -1.0;
  return clip(s, -1.0, 1.0);
}

static ModelInterval tangent(ModelInterval a) {
  if (!(fabs(a.lo) < TRIG_LARGE && fabs(a.hi) < TRIG_LARGE)) return anything;
  if (holds_phase(a, 0.5 * PI) || holds_phase(a, -0.5 * PI)) return anything;
  return rising(base_tan, a);
}

/// Outside of [lo, hi] the function is undefined: nothing can be said.
static ModelInterval rising_in(double (*f)(double), ModelInterval a, double lo, double hi) {
  return a.lo < lo || a.hi > hi ? anything : rising(f, a);
}

static ModelInterval falling_in(double (*f)(double), ModelInterval a, double lo, double hi) {
  return a.lo < lo || a.hi > hi ? anything : widen(f(a.hi), f(a.lo), MODEL_LIBM_ULPS);
}

static ModelInterval logarithm(double (*f)(double), ModelInterval a) {
  return a.lo > 0.0 ? rising(f, a) : anything;
}

/// A function that falls to `bottom` at `place` and rises behind it.
static ModelInterval valley(double (*f)(double), ModelInterval a, double place, double bottom) {
  double p = f(a.lo);
  double q = f(a.hi);
  bool inside = a.lo <= place && a.hi >= place;
  return widen(inside ? bottom : least(p, q), greatest(p, q), MODEL_LIBM_ULPS);
}

/// Between the poles at 0, -1, -2, ... nothing is said; errors are larger here.
static ModelInterval gamma_function(ModelInterval a) {
  if (!(a.lo > 0.0)) return anything;
  ModelInterval v = valley(base_gamma, a, GAMMA_PLACE, GAMMA_BOTTOM);
  return widen(v.lo, v.hi, GAMMA_ULPS);
}

/// Orders are known numbers: even ones rise, odd ones fall.
static ModelInterval polygamma(ModelInterval n, ModelInterval a) {
  if (!(a.lo > 0.0) || n.lo != n.hi) return anything;
  double p = base_polygamma(n.lo, a.lo);
  double q = base_polygamma(n.lo, a.hi);
  double lo = least(p, q);
  double hi = greatest(p, q);
  double error = POLYGAMMA_ERROR * (1.0 + greatest(fabs(lo), fabs(hi)));
  return widen(lo - error, hi + error, 1);
}

static ModelInterval angle(ModelInterval y, ModelInterval x) {
  // away from the cut on the negative x axis the extrema are at the corners
  if (x.lo <= 0.0 && y.lo <= 0.0 && y.hi >= 0.0) return (ModelInterval){-PI * 1.1, PI * 1.1};
  double p = base_atan2(y.lo, x.lo);
  double q = base_atan2(y.lo, x.hi);
  double r = base_atan2(y.hi, x.lo);
  double s = base_atan2(y.hi, x.hi);
  return widen(least(least(p, q), least(r, s)), greatest(greatest(p, q), greatest(r, s)),
               MODEL_LIBM_ULPS);
}

/// Of a base from 0 on: it is monotonous in both.
static ModelInterval power_of_corners(ModelInterval a, ModelInterval b) {
  double p = base_pow(a.lo, b.lo);
  double q = base_pow(a.lo, b.hi);
  double r = base_pow(a.hi, b.lo);
  double s = base_pow(a.hi, b.hi);
  if (isnan(p) || isnan(q) || isnan(r) || isnan(s)) return anything;
  ModelInterval corners = widen(least(least(p, q), least(r, s)),
                                greatest(greatest(p, q), greatest(r, s)), MODEL_LIBM_ULPS);
  return clip(corners, 0.0, HUGE_VAL);
}

static ModelInterval power(ModelInterval a, ModelInterval b) {
  bool whole = b.lo == b.hi && b.lo == floor(b.lo) && fabs(b.lo) < 1e9;
  // below 0 it has no values: rounding of a base that begins there is no reason to know nothing
  bool begins = b.lo > 0.0 && a.hi >= 0.0 && floor(b.hi) < b.lo;
  if (begins) return power_of_corners((ModelInterval){greatest(a.lo, 0.0), a.hi}, b);
  if (a.lo > 0.0) return power_of_corners(a, b);
  if (!whole || (b.lo <= 0.0 && a.hi >= 0.0)) return anything;
  double p = base_pow(a.lo, b.lo);
  double q = base_pow(a.hi, b.lo);
  bool even = fmod(b.lo, 2.0) == 0.0;
  double lo = least(p, q);
  if (even && a.hi >= 0.0) lo = 0.0;
  return widen(lo, greatest(p, q), MODEL_LIBM_ULPS);
}

static ModelInterval remainder_of(ModelInterval a, ModelInterval b) {
  if (b.lo <= 0.0 && b.hi >= 0.0) return anything;
  ModelInterval quotient = model_interval_div(a, b);
  ModelInterval cell = {floor(quotient.lo), floor(quotient.hi)};
  return model_interval_sub(a, model_interval_mul(b, cell));
}

static ModelInterval truth(bool surely, bool possibly) {
  return (ModelInterval){surely ? 1.0 : 0.0, possibly ? 1.0 : 0.0};
}

static ModelInterval sign_of(ModelInterval a) {
  return (ModelInterval){a.lo > 0.0    ? 1.0
                         : a.lo == 0.0 ? 0.0
                                       : -1.0,
                         a.hi < 0.0    ? -1.0
                         : a.hi == 0.0 ? 0.0
                                       : 1.0};
}

static ModelInterval absolute(ModelInterval a) {
  if (a.lo >= 0.0) return a;
  if (a.hi <= 0.0) return negate(a);
  return (ModelInterval){0.0, greatest(-a.lo, a.hi)};
}

static bool surely_true(ModelInterval a) {
  return a.lo > 0.0 || a.hi < 0.0;
}

static bool possibly_true(ModelInterval a) {
  return !(a.lo == 0.0 && a.hi == 0.0);
}

static ModelInterval relation(uint32_t op, ModelInterval a, ModelInterval b) {
  bool same_point = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
  bool apart = a.hi < b.lo || b.hi < a.lo;
  switch (op) {
  case MODEL_OP_LT: return truth(a.hi < b.lo, a.lo < b.hi);
  case MODEL_OP_LE: return truth(a.hi <= b.lo, a.lo <= b.hi);
  case MODEL_OP_GT: return truth(a.lo > b.hi, a.hi > b.lo);
  case MODEL_OP_GE: return truth(a.lo >= b.hi, a.hi >= b.lo);
  case MODEL_OP_EQ: return truth(same_point, !apart);
  case MODEL_OP_NE: return truth(apart, !same_point);
  case MODEL_OP_AND:
    return truth(surely_true(a) && surely_true(b), possibly_true(a) && possibly_true(b));
  case MODEL_OP_OR:
    return truth(surely_true(a) || surely_true(b), possibly_true(a) || possibly_true(b));
  default: return truth(!possibly_true(a), !surely_true(a));
  }
}

static ModelInterval function(uint32_t op, ModelInterval a, ModelInterval b) {
  switch (op) {
#define CASE(X, name, word, call, lo, hi, enclosure, slope) \
  case MODEL_OP_##name: return clip(enclosure, lo, hi);
    BASE_FUNCTIONS(CASE, )
#undef CASE
  case MODEL_OP_SQRT:
    if (a.lo < 0.0) return anything;
    return clip(widen(sqrt(a.lo), sqrt(a.hi), 1), 0.0, HUGE_VAL);
  case MODEL_OP_ATAN2: return angle(a, b);
  case MODEL_OP_POLYGAMMA: return polygamma(a, b);
  case MODEL_OP_POW: return power(a, b);
  case MODEL_OP_MOD: return remainder_of(a, b);
  default: return anything;
  }
}

ModelInterval model_interval_apply(uint32_t op, ModelInterval a, ModelInterval b) {
  switch (op) {
  case MODEL_OP_MOVE: return a;
  case MODEL_OP_NEG: return negate(a);
  case MODEL_OP_ADD: return model_interval_add(a, b);
  case MODEL_OP_SUB: return model_interval_sub(a, b);
  case MODEL_OP_MUL: return model_interval_mul(a, b);
  case MODEL_OP_DIV: return model_interval_div(a, b);
  case MODEL_OP_SQUARE: return square(a);
  case MODEL_OP_RECIP: return model_interval_div((ModelInterval){1.0, 1.0}, a);
  case MODEL_OP_ABS: return absolute(a);
  case MODEL_OP_SIGN: return sign_of(a);
  case MODEL_OP_FLOOR: return (ModelInterval){floor(a.lo), floor(a.hi)};
  case MODEL_OP_CEIL: return (ModelInterval){ceil(a.lo), ceil(a.hi)};
  case MODEL_OP_MIN: return (ModelInterval){least(a.lo, b.lo), least(a.hi, b.hi)};
  case MODEL_OP_MAX: return (ModelInterval){greatest(a.lo, b.lo), greatest(a.hi, b.hi)};
  case MODEL_OP_LT:
  case MODEL_OP_LE:
  case MODEL_OP_GT:
  case MODEL_OP_GE:
  case MODEL_OP_EQ:
  case MODEL_OP_NE:
  case MODEL_OP_AND:
  case MODEL_OP_OR:
  case MODEL_OP_NOT: return relation(op, a, b);
  default: return function(op, a, b);
  }
}
