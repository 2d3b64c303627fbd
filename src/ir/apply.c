// SPDX-License-Identifier: MIT
//
// Operations on numbers, for whoever folds constants or evaluates at compilation: by the same
// operations and the same libm calls as the tape's (compiled with -fno-builtin -ffp-contract=off).
#include "ir/ir.h"

#include <math.h>

static double truth(bool value) {
  return value ? 1.0 : 0.0;
}

// a NaN on either side comes through
static double smaller(double a, double b) {
  return a < b || a != a ? a : b;
}

static double larger(double a, double b) {
  return a > b || a != a ? a : b;
}

static double sign(double a) {
  return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a == 0.0 ? 0.0 : a;
}

static double power(double a, double b) {
  if (b == 2.0) return a * a;
  if (b == 3.0) return a * a * a;
  return base_pow(a, b);
}

static double apply_function(IrOp op, double a) {
  switch ((int)op) {
#define CASE(X, name, word, call, ...) \
  case IR_##name: return call(a);
    BASE_FUNCTIONS(CASE, )
#undef CASE
  case IR_SQRT: return sqrt(a);
  case IR_ABS: return fabs(a);
  case IR_SIGN: return sign(a);
  case IR_FLOOR: return floor(a);
  case IR_CEIL: return ceil(a);
  default: return (double)NAN;
  }
}

static double apply_truth(IrOp op, double a, double b) {
  switch ((int)op) {
  case IR_TRUE: return 1.0;
  case IR_FALSE: return 0.0;
  case IR_LT: return truth(a < b);
  case IR_LE: return truth(a <= b);
  case IR_GT: return truth(a > b);
  case IR_GE: return truth(a >= b);
  case IR_EQ: return truth(a == b);
  case IR_NE: return truth(a != b);
  case IR_AND: return truth(a != 0.0 && b != 0.0);
  case IR_OR: return truth(a != 0.0 || b != 0.0);
  case IR_NOT: return truth(a == 0.0);
  default: return (double)NAN;
  }
}

double ir_apply(IrOp op, double a, double b, double c) {
  switch ((int)op) {
  case IR_NEG: return -a;
  case IR_ADD: return a + b;
  case IR_SUB: return a - b;
  case IR_MUL: return a * b;
  case IR_DIV: return a / b;
  case IR_POW: return power(a, b);
  case IR_ATAN2: return base_atan2(a, b);
  case IR_POLYGAMMA: return base_polygamma(a, b);
  case IR_MIN: return smaller(a, b);
  case IR_MAX: return larger(a, b);
  case IR_MOD: return a - b * floor(a / b);
  case IR_SELECT: return a != 0.0 ? b : c;
  case IR_EQUALS: return a - b;
  default: break;
  }
  return ir_op_is_boolean(op) ? apply_truth(op, a, b) : apply_function(op, a);
}
