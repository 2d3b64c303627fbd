// SPDX-License-Identifier: MIT
//
// The common operations on intervals, inlined: for the tape on enclosures, one instance at a time
// (enclose.c) or many (bound.c).
//
// For operands of ordinary size there is neither overflow nor a product of zero and infinity, and
// |x| * 2^-52 is a unit in the last place of x or more: bounds are moved outwards without looking
// at bits. A step's proof is made of little else.
#ifndef SALTUS_MODEL_INTERVAL_QUICK_H
#define SALTUS_MODEL_INTERVAL_QUICK_H

#include "model/interval.h"

#include <float.h>

#define ORDINARY 1e150

static inline bool is_ordinary(ModelInterval a) {
  return a.lo > -ORDINARY && a.hi < ORDINARY;
}

static inline ModelInterval outwards(double lo, double hi) {
  return (ModelInterval){lo - (__builtin_fabs(lo) * DBL_EPSILON + DBL_MIN),
                         hi + (__builtin_fabs(hi) * DBL_EPSILON + DBL_MIN)};
}

static inline ModelInterval quick_add(ModelInterval a, ModelInterval b) {
  return outwards(a.lo + b.lo, a.hi + b.hi);
}

static inline ModelInterval quick_sub(ModelInterval a, ModelInterval b) {
  return outwards(a.lo - b.hi, a.hi - b.lo);
}

static inline double least(double a, double b) {
  return a < b ? a : b;
}

static inline double greatest(double a, double b) {
  return a > b ? a : b;
}

/// a times a power of 2; where digits could be lost below the smallest numbers, outwards.
static inline ModelInterval quick_scale(ModelInterval a, double factor) {
  double p = a.lo * factor;
  double q = a.hi * factor;
  ModelInterval out = {least(p, q), greatest(p, q)};
  bool exact = (__builtin_fabs(p) >= DBL_MIN || a.lo == 0.0) &&
               (__builtin_fabs(q) >= DBL_MIN || a.hi == 0.0);
  return exact ? out : outwards(out.lo, out.hi);
}

static inline ModelInterval quick_mul(ModelInterval a, ModelInterval b) {
  double p = a.lo * b.lo;
  double q = a.lo * b.hi;
  double r = a.hi * b.lo;
  double s = a.hi * b.hi;
  return outwards(least(least(p, q), least(r, s)), greatest(greatest(p, q), greatest(r, s)));
}

static inline ModelInterval quick_square(ModelInterval a) {
  double p = a.lo * a.lo;
  double q = a.hi * a.hi;
  bool zero = a.lo <= 0.0 && a.hi >= 0.0;
  ModelInterval s = outwards(zero ? 0.0 : least(p, q), greatest(p, q));
  return (ModelInterval){greatest(s.lo, 0.0), s.hi};
}

/// The product; where one of the operands is a power of 2, without rounding.
static inline ModelInterval quick_times(ModelInterval a, ModelInterval b) {
  if (a.lo == a.hi && model_is_power_of_2(a.lo)) return quick_scale(b, a.lo);
  if (b.lo == b.hi && model_is_power_of_2(b.lo)) return quick_scale(a, b.lo);
  return quick_mul(a, b);
}

#endif
