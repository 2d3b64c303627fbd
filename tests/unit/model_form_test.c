// SPDX-License-Identifier: MIT
//
// Polynomials along a step: their coefficients are those of the composed polynomial, up to the
// error that they state; and which outputs of a program are functions of one polynomial.
#include "model/model.h"
#include "test.h"

#include <saltus/saltus.h>

#define STATES 2
#define DEGREE 4

/// Binomial weights summed in long double: the reference.
static long double exact_value(const double* c, uint32_t degree, long double u) {
  long double work[MODEL_FORM_DEGREE_MAX + 1];
  for (uint32_t k = 0; k <= degree; k++) {
    work[k] = (long double)c[k];
  }
  for (uint32_t j = degree; j > 0; j--) {
    for (uint32_t k = 0; k < j; k++) {
      work[k] += u * (work[k + 1] - work[k]);
    }
  }
  return work[0];
}

static void draw_motion(uint64_t* seed, double* control, ModelMotion* motion) {
  for (uint32_t i = 0; i < STATES * MODEL_LANES; i++) {
    control[i] = test_uniform(seed, -2.0, 2.0) * pow(10.0, test_uniform(seed, -2.0, 2.0));
  }
  *motion = (ModelMotion){
      .t0 = test_uniform(seed, -10.0, 10.0), .control = control, .degree = DEGREE, .ulps = 1.0};
  motion->t1 = motion->t0 + test_uniform(seed, 0.01, 10.0);
}

static const ModelFormOperand time_operand = {MODEL_FORM_TIME, 0};
static const ModelFormOperand x = {MODEL_FORM_STATE, 0};
static const ModelFormOperand y = {MODEL_FORM_STATE, 1};
static const ModelFormOperand a = {MODEL_FORM_FIXED, 3};
static const ModelFormOperand b = {MODEL_FORM_FIXED, 4};

static ModelFormOperand value(uint32_t index) {
  return (ModelFormOperand){MODEL_FORM_VALUE, index};
}

TEST(coefficients_are_within_their_error) {
  // (x*x + a*y)/b - t*y, negated
  const ModelFormOp ops[] = {{MODEL_OP_SQUARE, x, x},
                             {MODEL_OP_MUL, a, y},
                             {MODEL_OP_ADD, value(0), value(1)},
                             {MODEL_OP_DIV, value(2), b},
                             {MODEL_OP_MUL, time_operand, y},
                             {MODEL_OP_SUB, value(3), value(4)},
                             {MODEL_OP_NEG, value(5), value(5)}};
  ModelPolynomial polynomial = {
      .ops = ops, .op_count = SLT_COUNT(ops), .degree = 2, .result = value(6)};
  for (uint64_t k = 1; k <= 2000; k++) {
    uint64_t seed = k;
    double control[STATES * MODEL_LANES];
    ModelMotion motion;
    draw_motion(&seed, control, &motion);
    double regs[5] = {0.0, 0.0, 0.0, test_uniform(&seed, -3.0, 3.0), test_uniform(&seed, 0.1, 3.0)};
    ModelForm form;
    CHECK(model_form_along(&polynomial, &motion, regs, &form), "made");
    CHECK(form.degree == 2 * DEGREE, "degree");
    CHECK(form.error < 1e-12 * (1.0 + form.size), "the error stays small");
    for (uint32_t i = 0; i <= 20; i++) {
      long double u = (long double)i / 20;
      long double state_x = exact_value(control, DEGREE, u);
      long double state_y = exact_value(control + MODEL_LANES, DEGREE, u);
      long double t =
          (long double)motion.t0 + u * ((long double)motion.t1 - (long double)motion.t0);
      long double want =
          -((state_x * state_x + (long double)regs[3] * state_y) / (long double)regs[4] -
            t * state_y);
      CHECK(fabsl(exact_value(form.c, form.degree, u) - want) <= (long double)form.error, "value");
      double slope = 0.0;
      double got = model_form_value(form.degree, form.c, (double)u, &slope);
      long double rounding = 2.0L * form.degree * 2.3e-16L * (long double)form.size;
      CHECK(fabsl((long double)got - exact_value(form.c, form.degree, u)) <= rounding,
            "fast value");
    }
  }
}

TEST(slopes_are_those_of_the_polynomial) {
  uint64_t seed = 7;
  for (uint32_t degree = 1; degree <= MODEL_FORM_DEGREE_MAX; degree++) {
    double c[MODEL_FORM_DEGREE_MAX + 1];
    double d[MODEL_FORM_DEGREE_MAX + 1];
    for (uint32_t k = 0; k <= degree; k++) {
      c[k] = test_uniform(&seed, -1.0, 1.0);
    }
    for (uint32_t k = 0; k < degree; k++) {
      d[k] = degree * (c[k + 1] - c[k]);
    }
    for (uint32_t i = 0; i <= 10; i++) {
      double u = 0.1 * i;
      double slope = 0.0;
      model_form_value(degree, c, u, &slope);
      CHECK(fabsl((long double)slope - exact_value(d, degree - 1, (long double)u)) <=
                1e-13L * degree,
            "slope");
    }
  }
}

TEST(squares_are_products) {
  const ModelFormOp square[] = {{MODEL_OP_SQUARE, x, x}};
  const ModelFormOp same[] = {{MODEL_OP_MUL, x, x}};
  const ModelFormOp copied[] = {{MODEL_OP_MOVE, x, x}, {MODEL_OP_MUL, x, value(0)}};
  ModelPolynomial polynomials[] = {{.ops = square, .op_count = 1, .degree = 2, .result = value(0)},
                                   {.ops = same, .op_count = 1, .degree = 2, .result = value(0)},
                                   {.ops = copied, .op_count = 2, .degree = 2, .result = value(1)}};
  for (uint64_t k = 1; k <= 200; k++) {
    uint64_t seed = k;
    double control[STATES * MODEL_LANES];
    double regs[5] = {0.0};
    ModelMotion motion;
    ModelForm forms[3];
    draw_motion(&seed, control, &motion);
    for (uint32_t i = 0; i < 3; i++) {
      CHECK(model_form_along(&polynomials[i], &motion, regs, &forms[i]), "made");
      for (uint32_t j = 0; j <= forms[0].degree; j++) {
        CHECK(fabs(forms[i].c[j] - forms[0].c[j]) <= forms[0].error, "the same coefficients");
      }
    }
  }
}

TEST(degrees_beyond_the_limit_and_wild_values_are_refused) {
  const ModelFormOp ops[] = {
      {MODEL_OP_SQUARE, x, x}, {MODEL_OP_SQUARE, value(0), value(0)}, {MODEL_OP_MUL, value(1), x}};
  ModelPolynomial fifth = {.ops = ops, .op_count = 3, .degree = 5, .result = value(2)};
  ModelPolynomial fourth = {.ops = ops, .op_count = 2, .degree = 4, .result = value(1)};
  double control[STATES * MODEL_LANES] = {1.0, 2.0, 3.0, 4.0, 5.0};
  ModelMotion motion = {.t1 = 1.0, .control = control, .degree = DEGREE, .ulps = 1.0};
  double regs[5] = {0.0};
  ModelForm form;
  CHECK(!model_form_along(&fifth, &motion, regs, &form), "degree 20");
  CHECK(model_form_along(&fourth, &motion, regs, &form) && form.degree == 16, "degree 16");
  CHECK(fabs(form.c[16] - 625.0) <= form.error, "5^4 at the end");
  control[2] = HUGE_VAL;
  CHECK(!model_form_along(&fourth, &motion, regs, &form), "infinite");
  control[2] = (double)NAN;
  CHECK(!model_form_along(&fourth, &motion, regs, &form), "not a number");
}
