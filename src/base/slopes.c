// SPDX-License-Identifier: MIT
//
// Derivatives of the functions of one argument, on numbers.
#include "base/functions.h"

#include <math.h>

#define NUM(x)          (x)
#define ADD(x, y)       ((x) + (y))
#define SUB(x, y)       ((x) - (y))
#define MUL(x, y)       ((x) * (y))
#define NEG(x)          (-(x))
#define SQUARE(x)       ((x) * (x))
#define POLYGAMMA(n, x) base_polygamma(n, x)
#define CALL(NAME, x)   CALL_##NAME(x)
#define CALL_COS(x)     base_cos(x)
#define CALL_SIN(x)     base_sin(x)
#define CALL_SQRT(x)    sqrt(x)
#define CALL_COSH(x)    base_cosh(x)
#define CALL_SINH(x)    base_sinh(x)
#define CALL_EXP(x)     base_exp(x)
#define FACTOR(e)       (e)
#define DIVISOR(e)      (1.0 / (e))
#define ARG             argument
#define SELF            value

double base_function_slope(BaseFunction function, double argument, double value) {
  switch (function) {
#define SLOPE(X, NAME, word, call, lo, hi, enclosure, slope) \
  case BASE_FUNCTION_##NAME: return slope;
    BASE_FUNCTIONS(SLOPE, 0)
#undef SLOPE
  case BASE_FUNCTION_COUNT:
  default: return (double)NAN;
  }
}
