// SPDX-License-Identifier: MIT
//
// Shared by those who work on Bernstein coefficients: certify.c and control.c.
#ifndef SALTUS_ENGINE_BERNSTEIN_H
#define SALTUS_ENGINE_BERNSTEIN_H

#include "engine/run/run.h"

#define COEFFICIENTS   (MODEL_FORM_DEGREE_MAX + 1)
#define BERNSTEIN_ULPS 16.0  // rounding of coefficients, in ulps of the largest magnitude involved

_Static_assert(NUM_DENSE_DEGREE_MAX < MODEL_LANES, "control points of a step fit into one block");
_Static_assert(NUM_DENSE_DEGREE_MAX <= MODEL_FORM_DEGREE_MAX, "and into a piece");
_Static_assert(COEFFICIENTS <= NUM_BERNSTEIN, "which can be split");

// Inlined, because the compiler may not know the functions of the C library here (see the build's
// flags for the same bits everywhere).
static inline double smaller(double a, double b) {
  return a < b ? a : b;
}

static inline double larger(double a, double b) {
  return a > b ? a : b;
}

static inline void copy(double* to, const double* from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    to[i] = from[i];
  }
}

#endif
