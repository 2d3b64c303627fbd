// SPDX-License-Identifier: MIT
//
// Enclosures: a program evaluated over intervals of time and state, with rigour.
//
// Every register holds an interval that contains all values the expression can take, and one that
// contains all values of its derivative along a given motion of the states (forward mode).
//
// Widening. The exact value of an operation lies in the interval, and so does what the tape
// computes in round to nearest:
//   + - * / sqrt, square, 1/x     one unit in the last place outwards on each side: rounding errs
//   by
//                                 half a unit. Overflow: the finite end is the largest double
//   * / by a power of 2            exact, but for results that are subnormal
//   functions of base/elementary  MODEL_LIBM_ULPS outwards at the ends where the function is
//                                 monotone; they err by less, gamma by 20 ulp
//   sin, cos, tan                 an extremum or pole within 16 ulp of the argument (of 8 for small
//                                 ones) from an end counts as inside; beyond 1e9 the reduction is
//                                 not followed: the whole range
//   pow                           corners for a positive base, whole exponents for others
//   abs, min, max, floor, ceil,   exact: no widening
//   sign, relations
//   mod                           a - b*floor(a/b) from the above
// Where an operation is undefined or has a pole inside its arguments the value is "anything", and
// so is the slope of everything whose value is not bounded: what cannot be bounded is never flat,
// never monotone. The same for a jump inside: the cut of atan2, floor, sign, relations.
#ifndef SALTUS_MODEL_INTERVAL_H
#define SALTUS_MODEL_INTERVAL_H

#include "base/base.h"

#define MODEL_LIBM_ULPS 4

typedef struct ModelInterval {
  double lo, hi;  // lo <= hi; never NaN: "anything" is [-inf, inf]
} ModelInterval;

/// A value and its time derivative.
typedef struct ModelDual {
  ModelInterval v, d;
} ModelDual;

/// Time that passes, anywhere in [lo, hi].
static inline ModelDual model_time(double lo, double hi) {
  return (ModelDual){{lo, hi}, {1.0, 1.0}};
}

/// Whether a number is a power of 2, or minus one: products with it change no digits.
static inline bool model_is_power_of_2(double factor) {
  union {
    double value;
    uint64_t bits;
  } u = {.value = factor};
  uint64_t exponent = u.bits >> 52 & 0x7ff;
  return (u.bits & 0xfffffffffffffu) == 0 && exponent != 0 && exponent != 0x7ff;
}

ModelInterval model_interval_point(double value);
ModelInterval model_interval_hull(ModelInterval a, ModelInterval b);
ModelInterval model_interval_add(ModelInterval a, ModelInterval b);
ModelInterval model_interval_sub(ModelInterval a, ModelInterval b);
ModelInterval model_interval_mul(ModelInterval a, ModelInterval b);
ModelInterval model_interval_div(ModelInterval a, ModelInterval b);

/// One operation of the tape on intervals; `op` is a ModelOp with one or two operands (the second
/// ignored for one), SELECT, tables and random functions excepted.
ModelInterval model_interval_apply(uint32_t op, ModelInterval a, ModelInterval b);

struct ModelTable;
/// Values (order 0), slopes (1), curvatures (2) or their slopes (3) of a table over all x.
ModelInterval model_table_enclose(const struct ModelTable* table, ModelInterval x, int order);
/// Whether all of x lies between two neighbouring points.
bool model_table_one_segment(const struct ModelTable* table, ModelInterval x);

#endif
