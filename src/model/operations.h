// SPDX-License-Identifier: MIT
//
// What the operations of the tape compute, in one place for all that execute them: instruction by
// instruction, over lanes, over instances. `a` and `b` are the operands.
//
// UNARY(name, value) and BINARY(name, value) are the executor's own macros.
#ifndef SALTUS_MODEL_OPERATIONS_H
#define SALTUS_MODEL_OPERATIONS_H

#include <math.h>

// these two are exact, so the machine's own instruction gives the bits of the call
#if defined(__GNUC__)
#define MODEL_SQRT(a) __builtin_sqrt(a)
#define MODEL_FABS(a) __builtin_fabs(a)
#else
#define MODEL_SQRT(a) sqrt(a)
#define MODEL_FABS(a) fabs(a)
#endif

static inline double model_sign(double a) {
  return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a == 0.0 ? 0.0 : a;
}

/// A truth between 0 and 1 is the share of a switch that slides.
static inline double model_select(double truth, double a, double b) {
  return truth == 0.0 ? b : truth == 1.0 ? a : truth * a + (1.0 - truth) * b;
}

/// Those that call nothing.
#define MODEL_PLAIN_OPERATIONS(UNARY, BINARY) \
  UNARY(MOVE, a) \
  UNARY(NEG, -a) \
  BINARY(ADD, a + b) \
  BINARY(SUB, a - b) \
  BINARY(MUL, a* b) \
  BINARY(DIV, a / b) \
  UNARY(SQUARE, a* a) \
  UNARY(RECIP, 1.0 / a) \
  UNARY(SQRT, MODEL_SQRT(a)) \
  UNARY(ABS, MODEL_FABS(a)) \
  UNARY(SIGN, model_sign(a)) \
  BINARY(MIN, a < b || a != a ? a : b) \
  BINARY(MAX, a > b || a != a ? a : b) \
  BINARY(LT, a < b ? 1.0 : 0.0) \
  BINARY(LE, a <= b ? 1.0 : 0.0) \
  BINARY(GT, a > b ? 1.0 : 0.0) \
  BINARY(GE, a >= b ? 1.0 : 0.0) \
  BINARY(EQ, a == b ? 1.0 : 0.0) \
  BINARY(NE, a != b ? 1.0 : 0.0) \
  BINARY(AND, ((a != 0.0) & (b != 0.0)) ? 1.0 : 0.0) \
  BINARY(OR, ((a != 0.0) | (b != 0.0)) ? 1.0 : 0.0) \
  UNARY(NOT, a == 0.0 ? 1.0 : 0.0)

#define MODEL_OPERATION_OF_FUNCTION(UNARY, name, word, call, ...) UNARY(name, call(a))
#define MODEL_OPERATIONS(UNARY, BINARY) \
  MODEL_PLAIN_OPERATIONS(UNARY, BINARY) \
  BASE_FUNCTIONS(MODEL_OPERATION_OF_FUNCTION, UNARY) \
  BINARY(POW, base_pow(a, b)) \
  UNARY(FLOOR, floor(a)) \
  UNARY(CEIL, ceil(a)) \
  BINARY(ATAN2, base_atan2(a, b)) \
  BINARY(POLYGAMMA, base_polygamma(a, b)) \
  BINARY(MOD, a - b * floor(a / b))

#endif
