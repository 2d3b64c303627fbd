// SPDX-License-Identifier: MIT
//
// Enclosures: a program evaluated over intervals of time and state, with rigour.
//
// Every register holds an interval that contains all values the expression can take, and one that
// contains all values of its derivative along a given motion of the states (forward mode). Sums,
// products, quotients and roots are computed in round to nearest and widened by one unit in the
// last place on each side, which covers directed rounding. Functions of libm are widened by
// MODEL_LIBM_ULPS: glibc documents errors of at most 2 ulp for those used here (its manual, "Errors
// in Math Functions", x86_64), and doubles of the reduction add less than another.
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

ModelInterval model_interval_point(double value);
ModelInterval model_interval_hull(ModelInterval a, ModelInterval b);
ModelInterval model_interval_add(ModelInterval a, ModelInterval b);
ModelInterval model_interval_sub(ModelInterval a, ModelInterval b);
ModelInterval model_interval_mul(ModelInterval a, ModelInterval b);
ModelInterval model_interval_div(ModelInterval a, ModelInterval b);

/// One operation of the tape on intervals; `op` is a ModelOp with one or two operands (the second
/// ignored for one), SELECT, tables and random functions excepted.
ModelInterval model_interval_apply(uint32_t op, ModelInterval a, ModelInterval b);

#endif
