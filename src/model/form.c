// SPDX-License-Identifier: MIT
//
// Polynomials of time and states along a step, in Bernstein form.
//
// The form of a product is a weighted mean of products of coefficients (Farouki & Rajan, Computer
// Aided Geometric Design 5, 1988, eq. 44):
//   c_k = sum over i + j = k of C(n, i) C(m, j) / C(n + m, k) a_i b_j.
// Errors are carried along: what the coefficients of the operands are off by, and what rounding
// adds, which is some units in the last place of the largest magnitudes involved since the weights
// are positive and add up to 1.
#include "model/model.h"

#include <float.h>
#include <math.h>

#define OPS_MAX      24     // operations of a polynomial
#define PRODUCT_ULPS 24.0   // of a sum of up to 17 products of three factors, and a quotient
#define ORDINARY     1e100  // beyond it nothing is said
#define NEWTON_LIMIT 60     // iterations for a root

/// Binomial coefficients.
static const double binomial[MODEL_FORM_DEGREE_MAX + 1][MODEL_FORM_DEGREE_MAX + 1] = {
    {1},
    {1, 1},
    {1, 2, 1},
    {1, 3, 3, 1},
    {1, 4, 6, 4, 1},
    {1, 5, 10, 10, 5, 1},
    {1, 6, 15, 20, 15, 6, 1},
    {1, 7, 21, 35, 35, 21, 7, 1},
    {1, 8, 28, 56, 70, 56, 28, 8, 1},
    {1, 9, 36, 84, 126, 126, 84, 36, 9, 1},
    {1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1},
    {1, 11, 55, 165, 330, 462, 462, 330, 165, 55, 11, 1},
    {1, 12, 66, 220, 495, 792, 924, 792, 495, 220, 66, 12, 1},
    {1, 13, 78, 286, 715, 1287, 1716, 1716, 1287, 715, 286, 78, 13, 1},
    {1, 14, 91, 364, 1001, 2002, 3003, 3432, 3003, 2002, 1001, 364, 91, 14, 1},
    {1, 15, 105, 455, 1365, 3003, 5005, 6435, 6435, 5005, 3003, 1365, 455, 105, 15, 1},
    {1, 16, 120, 560, 1820, 4368, 8008, 11440, 12870, 11440, 8008, 4368, 1820, 560, 120, 16, 1},
};

static inline double magnitude(double a) {
  return __builtin_fabs(a);
}

// degree 4 is that of the default method, and written out
static inline double value_of_degree_4(const double* c, double u, double* slope) {
  double a0 = c[0] + u * (c[1] - c[0]);
  double a1 = c[1] + u * (c[2] - c[1]);
  double a2 = c[2] + u * (c[3] - c[2]);
  double a3 = c[3] + u * (c[4] - c[3]);
  double b0 = a0 + u * (a1 - a0);
  double b1 = a1 + u * (a2 - a1);
  double b2 = a2 + u * (a3 - a2);
  double d0 = b0 + u * (b1 - b0);
  double d1 = b1 + u * (b2 - b1);
  *slope = 4.0 * (d1 - d0);
  return d0 + u * (d1 - d0);
}

double model_form_value(uint32_t degree, const double* c, double u, double* slope) {
  if (degree == 4) return value_of_degree_4(c, u, slope);
  // sum of C(n, k) c_k u^k (1 - u)^(n - k): from the end whose power is the larger one, by the
  // quotient of the two, which is at most 1 (Volk & Schumaker, BIT 26, 1986)
  const bool left = u <= 0.5;
  const double most = left ? 1.0 - u : u;
  const double quotient = (left ? u : 1.0 - u) / most;
  const double* weight = binomial[degree];
  const double* weight_slope = binomial[degree - 1];
  double value = 0.0;
  double change = 0.0;
  double power = 1.0;
  if (left) {
    value = c[degree];
    for (uint32_t k = degree; k-- > 0;) {
      change = change * quotient + weight_slope[k] * (c[k + 1] - c[k]);
      value = value * quotient + weight[k] * c[k];
      power *= most;
    }
  } else {
    value = c[0];
    for (uint32_t k = 0; k < degree; k++) {
      change = change * quotient + weight_slope[k] * (c[k + 1] - c[k]);
      value = value * quotient + weight[k + 1] * c[k + 1];
      power *= most;
    }
  }
  *slope = (double)degree * change * (power / most);
  return value * power;
}

void model_form_hull(uint32_t degree, const double* c, ModelInterval* value,
                     ModelInterval* change) {
  *value = (ModelInterval){c[0], c[0]};
  *change = (ModelInterval){HUGE_VAL, -HUGE_VAL};
  for (uint32_t j = 0; j < degree; j++) {
    double next = c[j + 1];
    double difference = next - c[j];
    value->lo = next < value->lo ? next : value->lo;
    value->hi = next > value->hi ? next : value->hi;
    change->lo = difference < change->lo ? difference : change->lo;
    change->hi = difference > change->hi ? difference : change->hi;
  }
}

double model_form_turn(uint32_t degree, const double* c, double sign, double* bend) {
  double n = (double)degree;
  uint32_t k = 1;
  while (k < degree && sign * (c[k + 1] - c[k]) < 0.0) {
    k++;
  }
  if (k == degree) return -1.0;
  double before = c[k] - c[k - 1];
  double behind = c[k + 1] - c[k];
  *bend = n * (n - 1.0) * (behind - before);
  return ((double)(k - 1) + before / (before - behind)) / (n - 1.0);
}

bool model_form_turns_once(uint32_t degree, const double* c, double noise, double sign) {
  uint32_t j = 0;
  while (j < degree && sign * (c[j + 1] - c[j]) < -noise) {
    j++;
  }
  if (j == 0 || j == degree) return false;
  if (sign * (c[j + 1] - c[j]) <= noise) j++;
  if (j == degree) return false;
  for (; j < degree; j++) {
    if (!(sign * (c[j + 1] - c[j]) > noise)) return false;
  }
  return true;
}

static inline double root_of_degree(uint32_t degree, const double* c, double from, double until,
                                    double start, double level, double* slope) {
  double lo = from;
  double hi = until;
  double u = start;
  for (uint32_t i = 0; i < NEWTON_LIMIT; i++) {
    double value =
        (degree == 4 ? value_of_degree_4(c, u, slope) : model_form_value(degree, c, u, slope)) -
        level;
    if (value < 0.0) {
      lo = u;
    } else {
      hi = u;
    }
    double next = u - value / *slope;
    if (!(next >= lo && next <= hi)) next = 0.5 * (lo + hi);
    double move = magnitude(next - u);
    u = next;
    if (move <= 1e-7 * u) break;  // quadratic convergence: the next one is at rounding
  }
  return u;
}

double model_form_root(uint32_t degree, const double* c, double from, double until, double start,
                       double level, double* slope) {
  if (degree == 4) return root_of_degree(4, c, from, until, start, level, slope);
  return root_of_degree(degree, c, from, until, start, level, slope);
}

double model_form_parabola_root(uint32_t degree, const double* c, double level) {
  double slope = (double)degree * (c[1] - c[0]);
  double bend = c[degree] - c[0] - slope;
  double rise = level - c[0];
  double root = slope * slope + 4.0 * bend * rise;
  return root >= 0.0 ? 2.0 * rise / (slope + __builtin_sqrt(root)) : 0.5;
}

static inline void measure(ModelForm* form) {
  double size = 0.0;
  for (uint32_t k = 0; k <= form->degree; k++) {
    double a = magnitude(form->c[k]);
    size = a > size || a != a ? a : size;  // a NaN stays
  }
  form->size = size;
}

static void copy_form(ModelForm* to, const ModelForm* from, double sign) {
  to->degree = from->degree;
  to->size = from->size;
  to->error = from->error;
  for (uint32_t k = 0; k <= from->degree; k++) {
    to->c[k] = sign * from->c[k];
  }
}

/// The square of degree 4, that of the default method, written out.
static void square_of_4(const double* c, double* out) {
  double a0 = c[0];
  double a1 = 4.0 * c[1];
  double a2 = 6.0 * c[2];
  double a3 = 4.0 * c[3];
  double a4 = c[4];
  out[0] = a0 * a0;
  out[1] = 2.0 * (a0 * a1) / 8.0;
  out[2] = (2.0 * (a0 * a2) + a1 * a1) / 28.0;
  out[3] = 2.0 * (a0 * a3 + a1 * a2) / 56.0;
  out[4] = (2.0 * (a0 * a4 + a1 * a3) + a2 * a2) / 70.0;
  out[5] = 2.0 * (a1 * a4 + a2 * a3) / 56.0;
  out[6] = (2.0 * (a2 * a4) + a3 * a3) / 28.0;
  out[7] = 2.0 * (a3 * a4) / 8.0;
  out[8] = a4 * a4;
}

/// Times a number that is known to `off`.
static void multiple(const ModelForm* a, double factor, double off, ModelForm* out) {
  double size = magnitude(factor);
  double rounding = model_is_power_of_2(factor) ? 0.0 : DBL_EPSILON * a->size * size;
  double error = size * a->error + a->size * off + a->error * off + rounding + DBL_MIN;
  for (uint32_t k = 0; k <= a->degree; k++) {
    out->c[k] = factor * a->c[k];
  }
  out->degree = a->degree;
  out->error = error;
  measure(out);
}

static void product(const ModelForm* a, const ModelForm* b, ModelForm* out) {
  if (a->degree == 0 || b->degree == 0) {
    const ModelForm* fixed = a->degree == 0 ? a : b;
    multiple(fixed == a ? b : a, fixed->c[0], fixed->error, out);
    return;
  }
  const uint32_t n = a->degree;
  const uint32_t m = b->degree;
  double left[MODEL_FORM_DEGREE_MAX + 1];
  double sum[MODEL_FORM_DEGREE_MAX + 1];
  for (uint32_t i = 0; i <= n; i++) {
    left[i] = binomial[n][i] * a->c[i];
  }
  for (uint32_t k = 0; k <= n + m; k++) {
    sum[k] = 0.0;
  }
  for (uint32_t j = 0; j <= m; j++) {
    double right = binomial[m][j] * b->c[j];
    for (uint32_t i = 0; i <= n; i++) {
      sum[i + j] += left[i] * right;
    }
  }
  double error = a->size * b->error + b->size * a->error + a->error * b->error +
                 PRODUCT_ULPS * DBL_EPSILON * a->size * b->size + DBL_MIN;
  out->degree = n + m;
  for (uint32_t k = 0; k <= n + m; k++) {
    out->c[k] = sum[k] / binomial[n + m][k];
  }
  out->error = error;
  measure(out);
}

static void square(const ModelForm* a, ModelForm* out) {
  if (a->degree != 4) {
    product(a, a, out);
    return;
  }
  square_of_4(a->c, out->c);
  out->degree = 8;
  out->error = a->error * (2.0 * a->size + a->error) +
               PRODUCT_ULPS * DBL_EPSILON * a->size * a->size + DBL_MIN;
  measure(out);
}

/// The same polynomial with a higher degree.
static void elevate(const ModelForm* a, uint32_t degree, ModelForm* out) {
  ModelForm ones = {.degree = degree - a->degree, .size = 1.0};
  for (uint32_t k = 0; k <= ones.degree; k++) {
    ones.c[k] = 1.0;
  }
  product(a, &ones, out);
}

static void sum_of(const ModelForm* a, const ModelForm* b, double sign, ModelForm* out) {
  ModelForm higher;
  if (a->degree < b->degree) {
    elevate(a, b->degree, &higher);
    a = &higher;
  } else if (b->degree < a->degree) {
    elevate(b, a->degree, &higher);
    b = &higher;
  }
  double error = a->error + b->error + DBL_EPSILON * (a->size + b->size) + DBL_MIN;
  uint32_t degree = a->degree;
  for (uint32_t k = 0; k <= degree; k++) {
    out->c[k] = a->c[k] + sign * b->c[k];
  }
  out->degree = degree;
  out->error = error;
  measure(out);
}

/// Divided by what is fixed.
static bool quotient(const ModelForm* a, const ModelForm* b, ModelForm* out) {
  double divisor = b->c[0];
  double least = magnitude(divisor) - b->error;
  if (!(least > 0.0)) return false;
  double error = (a->error + (a->size + a->error) * (b->error / least)) / least;
  bool exact = b->error == 0.0 && model_is_power_of_2(divisor);
  if (!exact) error = error * (1.0 + 8.0 * DBL_EPSILON) + 4.0 * DBL_EPSILON * (a->size / least);
  error += DBL_MIN;
  for (uint32_t k = 0; k <= a->degree; k++) {
    out->c[k] = a->c[k] / divisor;
  }
  out->degree = a->degree;
  out->error = error;
  measure(out);
  return true;
}

/// x*x is written in two ways.
static bool is_same(const ModelFormOp* op) {
  return op->a.kind == op->b.kind && op->a.index == op->b.index;
}

static bool apply(const ModelFormOp* op, const ModelForm* a, const ModelForm* b, ModelForm* out) {
  switch (op->op) {
  case MODEL_OP_MOVE: copy_form(out, a, 1.0); break;
  case MODEL_OP_NEG: copy_form(out, a, -1.0); break;
  case MODEL_OP_ADD: sum_of(a, b, 1.0, out); break;
  case MODEL_OP_SUB: sum_of(a, b, -1.0, out); break;
  case MODEL_OP_MUL:
    if (is_same(op)) {
      square(a, out);
    } else {
      product(a, b, out);
    }
    break;
  case MODEL_OP_SQUARE: square(a, out); break;
  case MODEL_OP_DIV:
    if (!quotient(a, b, out)) return false;
    break;
  default: return false;
  }
  // false for NaN too
  return out->size < ORDINARY && out->error < ORDINARY;
}

/// An operand that is no result of an operation.
static void leaf(ModelFormOperand operand, const ModelMotion* motion, const double* regs,
                 ModelForm* out) {
  if (operand.kind == MODEL_FORM_FIXED) {
    out->degree = 0;
    out->c[0] = regs[operand.index];
    out->size = magnitude(out->c[0]);
    out->error = 0.0;
    return;
  }
  if (operand.kind == MODEL_FORM_TIME) {
    out->degree = 1;
    out->c[0] = motion->t0;
    out->c[1] = motion->t1;
  } else {
    const double* control = motion->control + (size_t)operand.index * MODEL_LANES;
    out->degree = motion->degree;
    for (uint32_t k = 0; k <= motion->degree; k++) {
      out->c[k] = control[k];
    }
  }
  measure(out);
  out->error = motion->ulps * DBL_EPSILON * out->size + DBL_MIN;
}

bool model_form_along(const ModelPolynomial* polynomial, const ModelMotion* motion,
                      const double* regs, ModelForm* out) {
  if (polynomial->degree * motion->degree > MODEL_FORM_DEGREE_MAX) return false;
  ModelForm values[OPS_MAX];
  ModelForm leaves[2];
  for (uint32_t i = 0; i < polynomial->op_count; i++) {
    const ModelFormOp* op = &polynomial->ops[i];
    const ModelForm* operands[2] = {&leaves[0], &leaves[1]};
    for (uint32_t k = 0; k < model_op_operands(op->op); k++) {
      ModelFormOperand operand = k ? op->b : op->a;
      if (operand.kind == MODEL_FORM_VALUE) {
        operands[k] = &values[operand.index];
      } else {
        leaf(operand, motion, regs, &leaves[k]);
      }
    }
    // the last operation gives the result
    ModelForm* to = i + 1 == polynomial->op_count ? out : &values[i];
    if (!apply(op, operands[0], operands[1], to)) return false;
  }
  if (polynomial->op_count == 0) leaf(polynomial->result, motion, regs, out);
  return out->size < ORDINARY;
}
