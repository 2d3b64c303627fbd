// SPDX-License-Identifier: MIT
//
// Functions of one argument: a line here is all that the program knows about one.
//
// F(X, NAME, word, call, lo, hi, enclosure, slope)
//   NAME       IR_NAME in expressions, MODEL_OP_NAME on the tape
//   word       its name in models and in printed equations
//   call       the function that gives its value: on the tape, in compiled code, at
//   compilation lo, hi     bounds of its values, rounded outwards enclosure  its values where the
//   argument is in the interval `a`, in the words of
//              model/interval.c; it is cut to lo and hi
//   slope      its derivative at the argument ARG where its value is SELF: FACTOR(e) or DIVISOR(e),
//              by which the derivative of the argument is multiplied or divided. Whoever
//              differentiates gives NUM ADD SUB MUL NEG CALL their meaning: numbers for the
//              enclosures of slopes, expressions for derivatives.
//
// Functions that are made of others (sec, clamp, log) are written in the language itself:
// lisma/prelude.def.
#ifndef SALTUS_BASE_FUNCTIONS_H
#define SALTUS_BASE_FUNCTIONS_H

#include "base/elementary.h"

#include <math.h>

/// The n-th derivative of the logarithmic derivative of the gamma function.
double base_polygamma(double n, double x);

#define BASE_HALF_PI 1.5707963267948968
#define BASE_PI      3.1415926535897936

#define BASE_FUNCTIONS(F, X) \
  F(X, SIN, "sin", base_sin, -1.0, 1.0, sine(a), FACTOR(CALL(COS, ARG))) \
  F(X, COS, "cos", base_cos, -1.0, 1.0, cosine(a), FACTOR(NEG(CALL(SIN, ARG)))) \
  F(X, TAN, "tan", base_tan, -HUGE_VAL, HUGE_VAL, tangent(a), FACTOR(ADD(NUM(1.0), SQUARE(SELF)))) \
  F(X, ASIN, "asin", base_asin, -BASE_HALF_PI, BASE_HALF_PI, rising_in(base_asin, a, -1.0, 1.0), \
    DIVISOR(CALL(SQRT, SUB(NUM(1.0), SQUARE(ARG))))) \
  F(X, ACOS, "acos", base_acos, 0.0, BASE_PI, falling_in(base_acos, a, -1.0, 1.0), \
    DIVISOR(NEG(CALL(SQRT, SUB(NUM(1.0), SQUARE(ARG)))))) \
  F(X, ATAN, "atan", base_atan, -BASE_HALF_PI, BASE_HALF_PI, rising(base_atan, a), \
    DIVISOR(ADD(NUM(1.0), SQUARE(ARG)))) \
  F(X, SINH, "sinh", base_sinh, -HUGE_VAL, HUGE_VAL, rising(base_sinh, a), \
    FACTOR(CALL(COSH, ARG))) \
  F(X, COSH, "cosh", base_cosh, 1.0, HUGE_VAL, valley(base_cosh, a, 0.0, 1.0), \
    FACTOR(CALL(SINH, ARG))) \
  F(X, TANH, "tanh", base_tanh, -1.0, 1.0, rising(base_tanh, a), \
    FACTOR(SUB(NUM(1.0), SQUARE(SELF)))) \
  F(X, ASINH, "asinh", base_asinh, -HUGE_VAL, HUGE_VAL, rising(base_asinh, a), \
    DIVISOR(CALL(SQRT, ADD(NUM(1.0), SQUARE(ARG))))) \
  F(X, ACOSH, "acosh", base_acosh, 0.0, HUGE_VAL, rising_in(base_acosh, a, 1.0, HUGE_VAL), \
    DIVISOR(CALL(SQRT, SUB(SQUARE(ARG), NUM(1.0))))) \
  F(X, ATANH, "atanh", base_atanh, -HUGE_VAL, HUGE_VAL, rising_in(base_atanh, a, -1.0, 1.0), \
    DIVISOR(SUB(NUM(1.0), SQUARE(ARG)))) \
  F(X, EXP, "exp", base_exp, 0.0, HUGE_VAL, rising(base_exp, a), FACTOR(SELF)) \
  F(X, LN, "ln", base_log, -HUGE_VAL, HUGE_VAL, logarithm(base_log, a), DIVISOR(ARG)) \
  F(X, LOG10, "log10", base_log10, -HUGE_VAL, HUGE_VAL, logarithm(base_log10, a), \
    DIVISOR(MUL(NUM(2.302585092994046), ARG))) \
  F(X, ERF, "erf", base_erf, -1.0, 1.0, rising(base_erf, a), \
    FACTOR(MUL(NUM(1.1283791670955126), CALL(EXP, NEG(SQUARE(ARG)))))) \
  F(X, GAMMA, "gamma", base_gamma, -HUGE_VAL, HUGE_VAL, gamma_function(a), \
    FACTOR(MUL(SELF, POLYGAMMA(NUM(0.0), ARG))))

#define BASE_FUNCTION_NAMED(X, NAME, ...) BASE_FUNCTION_##NAME,
typedef enum BaseFunction {
  BASE_FUNCTIONS(BASE_FUNCTION_NAMED, 0) BASE_FUNCTION_COUNT
} BaseFunction;

/// Derivative of a function at an argument where it has the value given, in numbers.
double base_function_slope(BaseFunction function, double argument, double value);

#endif
