// SPDX-License-Identifier: MIT
//
// The runtime half of the module: operations of the tape, tables, random numbers.
#include "model/model.h"
#include "test.h"

#include <time.h>

/// Run one operation on registers 1 and 2 into register 3.
static double run_op(ModelOp op, double a, double b) {
  ModelInstr code[] = {{.op = MODEL_OP_MOVE, .dst = 3, .a = 4},
                       {.op = (uint32_t)op, .dst = 3, .a = 1, .b = 2},
                       {.op = MODEL_OP_END}};
  uint32_t output = 3;
  double regs[5] = {0.0, a, b, 0.0, 1.0};
  ModelProgram program = {
      .code = code, .code_count = 2, .reg_count = 5, .outputs = &output, .output_count = 1};
  ModelContext context = {0};
  double out = 0.0;
  model_program_bind(&program, NULL, regs);
  model_program_run(&program, &context, regs, 0.0, NULL, &out);
  return out;
}

static bool same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

TEST(a_part_of_a_program_computes_its_outputs_alone) {
  // x1' = x2, x2' = sin(x1) * x3, x3' = t + x3; registers: t, x1 to x3, temporaries
  ModelInstr code[] = {{.op = MODEL_OP_SIN, .dst = 4, .a = 1},
                       {.op = MODEL_OP_MUL, .dst = 4, .a = 4, .b = 3},
                       {.op = MODEL_OP_ADD, .dst = 5, .a = 0, .b = 3},
                       {.op = MODEL_OP_END}};
  uint32_t outputs[] = {2, 4, 5};
  ModelProgram program = {.code = code,
                          .code_count = 3,
                          .state_count = 3,
                          .reg_count = 6,
                          .outputs = outputs,
                          .output_count = 3};
  ModelContext context = {0};
  double regs[6] = {0.0};
  double x[] = {0.3, -1.7, 2.5};
  double whole[3];
  model_program_run(&program, &context, regs, 0.25, x, whole);
  ModelInstr some[] = {code[2], code[3]};
  uint32_t reads[] = {2};
  ModelPartOutput plain[] = {{.output = 0, .from = 1, .count = 1}};
  ModelPartOutput others[] = {{.output = 2, .from = 5, .count = 1}};
  ModelPart part = {.code = some,
                    .reads = reads,
                    .plain = plain,
                    .outputs = others,
                    .read_count = 1,
                    .plain_count = 1,
                    .output_count = 1};
  double fresh[6] = {0.0};
  double out[] = {9.0, 9.0, 9.0};
  model_program_run_part(&program, &context, &part, fresh, 0.25, x, out);
  CHECK(same_bits(out[0], whole[0]), "an output that is a state");
  CHECK(same_bits(out[2], whole[2]), "an output that is computed");
  CHECK(out[1] == 9.0, "one that was not asked for");
  ModelPartOutput runs[] = {{.output = 0, .from = 1, .count = 2}};
  model_scale_states(runs, 1, -2.0, x, out);
  CHECK(out[0] == 3.4 && out[1] == -5.0, "multiples of states");
  CHECK(same_bits(out[2], whole[2]), "others stay");
}

TEST(operations_are_those_of_c_and_of_base) {
  // volatile: the compiler must not fold what it is compared with
  static const double values[] = {0.0,  -0.0, 1.0,  -1.0,  0.5,     2.0,   3.0,      -2.5,
                                  1e-8, 1e8,  0.75, 100.0, -1e-300, 1e300, HUGE_VAL, -HUGE_VAL};
  for (size_t i = 0; i < SLT_COUNT(values); i++) {
    for (size_t j = 0; j < SLT_COUNT(values); j++) {
      volatile double a = values[i];
      volatile double b = values[j];
      struct {
        ModelOp op;
        double want;
      } cases[] = {
          {MODEL_OP_MOVE, a},
          {MODEL_OP_NEG, -a},
          {MODEL_OP_ADD, a + b},
          {MODEL_OP_SUB, a - b},
          {MODEL_OP_MUL, a * b},
          {MODEL_OP_DIV, a / b},
          {MODEL_OP_POW, base_pow(a, b)},
          {MODEL_OP_SQUARE, a * a},
          {MODEL_OP_RECIP, 1.0 / a},
          {MODEL_OP_SIN, base_sin(a)},
          {MODEL_OP_COS, base_cos(a)},
          {MODEL_OP_TAN, base_tan(a)},
          {MODEL_OP_ASIN, base_asin(a)},
          {MODEL_OP_ACOS, base_acos(a)},
          {MODEL_OP_ATAN, base_atan(a)},
          {MODEL_OP_SINH, base_sinh(a)},
          {MODEL_OP_COSH, base_cosh(a)},
          {MODEL_OP_TANH, base_tanh(a)},
          {MODEL_OP_EXP, base_exp(a)},
          {MODEL_OP_LN, base_log(a)},
          {MODEL_OP_LOG10, base_log10(a)},
          {MODEL_OP_SQRT, sqrt(a)},
          {MODEL_OP_ABS, fabs(a)},
          {MODEL_OP_FLOOR, floor(a)},
          {MODEL_OP_CEIL, ceil(a)},
          {MODEL_OP_ATAN2, base_atan2(a, b)},
          {MODEL_OP_MIN, a < b ? a : b},
          {MODEL_OP_MAX, a > b ? a : b},
          {MODEL_OP_MOD, a - b * floor(a / b)},
          {MODEL_OP_LT, a < b},
          {MODEL_OP_LE, a <= b},
          {MODEL_OP_GT, a > b},
          {MODEL_OP_GE, a >= b},
          {MODEL_OP_EQ, a == b},
          {MODEL_OP_NE, a != b},
          {MODEL_OP_AND, a != 0 && b != 0},
          {MODEL_OP_OR, a != 0 || b != 0},
          {MODEL_OP_NOT, a == 0},
          {MODEL_OP_SELECT, a},
          {MODEL_OP_SIGN, (double)((a > 0) - (a < 0))},
      };
      for (size_t k = 0; k < SLT_COUNT(cases); k++) {
        double got = run_op(cases[k].op, a, b);
        char name[64];
        snprintf(name, sizeof name, "op %d of %g and %g", (int)cases[k].op, a, b);
        CHECK(same_bits(got, cases[k].want), name);
      }
    }
  }
}

TEST(nan_comes_through) {
  double nan = (double)NAN;
  CHECK(isnan(run_op(MODEL_OP_MIN, nan, 1.0)) && isnan(run_op(MODEL_OP_MIN, 1.0, nan)), "min");
  CHECK(isnan(run_op(MODEL_OP_MAX, nan, 1.0)) && isnan(run_op(MODEL_OP_MAX, 1.0, nan)), "max");
  CHECK(isnan(run_op(MODEL_OP_SIGN, nan, 0.0)), "sign");
  CHECK(run_op(MODEL_OP_LE, nan, 1.0) == 0.0, "relations are false");
  CHECK(isnan(run_op(MODEL_OP_RANDOM, 0.0, 0.0)), "no stream");
}

// ---------------------------------------------------------------------------------------------
// tables

TEST(linear_tables) {
  static const double x[] = {0.0, 1.0, 3.0};
  static const double y[] = {0.0, 2.0, -2.0};
  ModelTable table = {.x = x, .y = y, .count = 3};
  static const struct {
    double x, value, slope;
  } cases[] = {{0.0, 0.0, 2.0},  {0.5, 1.0, 2.0},   {1.0, 2.0, -2.0},
               {2.0, 0.0, -2.0}, {4.0, -4.0, -2.0}, {-1.0, -2.0, 2.0}};
  FOR_CASES(c, cases) {
    CHECK_NEAR(model_table_value(&table, c->x, 0), c->value, 0.0, 1e-15);
    CHECK_NEAR(model_table_value(&table, c->x, 1), c->slope, 0.0, 1e-15);
    CHECK(model_table_value(&table, c->x, 2) == 0.0, "no curvature");
  }
  CHECK(isnan(model_table_value(&table, (double)NAN, 0)), "nan");
  ModelTable point = {.x = x, .y = y + 1, .count = 1};
  CHECK(model_table_value(&point, 7.0, 0) == 2.0 && model_table_value(&point, 7.0, 1) == 0.0,
        "one point");
}

TEST(cubic_tables_are_smooth_and_monotone) {
  uint64_t seed = 5;
  for (int round = 0; round < 200; round++) {
    double x[12];
    double y[12];
    double slope[12];
    uint32_t count = 2 + (uint32_t)(test_random(&seed) % 10);
    for (uint32_t i = 0; i < count; i++) {
      x[i] = (i ? x[i - 1] : 0.0) + test_uniform(&seed, 0.1, 2.0);
      y[i] = test_uniform(&seed, -1.0, 1.0);
    }
    model_table_slopes(x, y, count, slope);
    ModelTable table = {.x = x, .y = y, .slope = slope, .count = count};
    for (uint32_t i = 0; i + 1 < count; i++) {
      CHECK_NEAR(model_table_value(&table, x[i], 0), y[i], 1e-13, 0.0);
      // both sides of a point have its slope
      double eps = 1e-9;
      if (i) CHECK_NEAR(model_table_value(&table, x[i] - eps, 1), slope[i], 1e-5, 1e-5);
      CHECK_NEAR(model_table_value(&table, x[i] + eps, 1), slope[i], 1e-5, 1e-5);
      // no value leaves the range of the two ends, and the derivatives agree with differences
      double low = fmin(y[i], y[i + 1]) - 1e-12;
      double high = fmax(y[i], y[i + 1]) + 1e-12;
      for (int k = 0; k <= 20; k++) {
        double at = x[i] + (x[i + 1] - x[i]) * (0.01 + 0.98 * k / 20.0);
        double value = model_table_value(&table, at, 0);
        CHECK(value >= low && value <= high, "monotone");
        double h = 1e-5;
        double d1 =
            (model_table_value(&table, at + h, 0) - model_table_value(&table, at - h, 0)) / (2 * h);
        double d2 =
            (model_table_value(&table, at + h, 1) - model_table_value(&table, at - h, 1)) / (2 * h);
        bool inside = at - h > x[i] && at + h < x[i + 1];
        if (!inside) continue;
        CHECK_NEAR(model_table_value(&table, at, 1), d1, 1e-6, 1e-6);
        CHECK_NEAR(model_table_value(&table, at, 2), d2, 1e-6, 1e-6);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------
// random numbers

TEST(random_reference) {
  // xoshiro256++ with the state {1, 2, 3, 4}: the published first outputs, as (0, 1)
  static const uint64_t reference[] = {41943041, 58720359, 3588806011781223, 3591011842654386};
  ModelRandom random = {{1, 2, 3, 4}};
  for (size_t i = 0; i < SLT_COUNT(reference); i++) {
    double want = ((double)(reference[i] >> 12) + 0.5) * 0x1p-52;
    CHECK(model_random_uniform(&random) == want, "reference");
  }
}

TEST(random_streams) {
  ModelRandom a;
  ModelRandom b;
  model_random_seed(&a, 1, 2);
  model_random_seed(&b, 2, 1);
  CHECK(memcmp(&a, &b, sizeof a) != 0, "seed and stream are different things");
  model_random_seed(&b, 1, 2);
  CHECK(model_random_uniform(&a) == model_random_uniform(&b), "reproducible");
  // one number each, whatever the distribution
  model_random_normal(&a);
  model_random_exponential(&b);
  CHECK(memcmp(&a, &b, sizeof a) == 0, "in step");
}

TEST(random_moments) {
  ModelRandom random;
  model_random_seed(&random, 42, 0);
  double sums[3][2] = {{0}};
  const int count = 400000;
  double tail = 0.0;
  for (int i = 0; i < count; i++) {
    double draws[3];
    draws[0] = model_random_uniform(&random);
    draws[1] = model_random_normal(&random);
    draws[2] = model_random_exponential(&random);
    CHECK(draws[0] > 0.0 && draws[0] < 1.0, "open interval");
    for (int k = 0; k < 3; k++) {
      sums[k][0] += draws[k];
      sums[k][1] += draws[k] * draws[k];
    }
    tail += fabs(draws[1]) > 2.0;
  }
  static const double means[] = {0.5, 0.0, 1.0};
  static const double squares[] = {1.0 / 3.0, 1.0, 2.0};
  for (int k = 0; k < 3; k++) {
    CHECK_NEAR(sums[k][0] / count, means[k], 0.006, 0.0);
    CHECK_NEAR(sums[k][1] / count, squares[k], 0.02, 0.0);
  }
  CHECK_NEAR(tail / count, 0.0455, 0.002, 0.0);
}

TEST(random_operations) {
  ModelInstr code[] = {{.op = MODEL_OP_UNIFORM, .dst = 3, .a = 1, .b = 2},
                       {.op = MODEL_OP_NORMAL, .dst = 4, .a = 1, .b = 2},
                       {.op = MODEL_OP_EXPONENTIAL, .dst = 5, .a = 2},
                       {.op = MODEL_OP_RANDOM, .dst = 6},
                       {.op = MODEL_OP_END}};
  static const uint32_t outputs[] = {3, 4, 5, 6};
  ModelProgram program = {
      .code = code, .code_count = 4, .reg_count = 7, .outputs = outputs, .output_count = 4};
  ModelRandom random;
  ModelRandom again;
  model_random_seed(&random, 7, 7);
  again = random;
  ModelContext context = {.random = &random};
  double regs[7] = {0.0, 10.0, 12.0};
  double out[4];
  model_program_run(&program, &context, regs, 0.0, NULL, out);
  CHECK(out[0] == 10.0 + 2.0 * model_random_uniform(&again), "uniform");
  CHECK(out[1] == 10.0 + 12.0 * model_random_normal(&again), "normal");
  CHECK(out[2] == 12.0 * model_random_exponential(&again), "exponential");
  CHECK(out[3] == model_random_uniform(&again), "random");
}

TEST(cost_of_an_instruction) {
  // x_i' = a_i (x_{i-1} - 2 x_i + x_{i+1}): what a tape of small equations looks like
  enum { EQUATIONS = 50, PER_EQUATION = 5 };
  ModelInstr code[EQUATIONS * PER_EQUATION + 1];
  uint32_t outputs[EQUATIONS];
  uint32_t at = 0;
  for (uint32_t i = 0; i < EQUATIONS; i++) {
    uint32_t x = 1 + i;
    uint32_t left = 1 + (i + EQUATIONS - 1) % EQUATIONS;
    uint32_t right = 1 + (i + 1) % EQUATIONS;
    uint32_t a = 1 + EQUATIONS;
    uint32_t t = a + 1 + i;
    code[at++] = (ModelInstr){MODEL_OP_ADD, t, x, x};
    code[at++] = (ModelInstr){MODEL_OP_SUB, t, left, t};
    code[at++] = (ModelInstr){MODEL_OP_ADD, t, t, right};
    code[at++] = (ModelInstr){MODEL_OP_MUL, t, a, t};
    code[at++] = (ModelInstr){MODEL_OP_NEG, t, t, 0};
    outputs[i] = t;
  }
  code[at] = (ModelInstr){.op = MODEL_OP_END};
  double regs[2 + 2 * EQUATIONS] = {0};
  double x[EQUATIONS];
  double out[EQUATIONS];
  for (uint32_t i = 0; i < EQUATIONS; i++) {
    x[i] = i;
  }
  ModelProgram program = {.code = code,
                          .code_count = at,
                          .state_count = EQUATIONS,
                          .reg_count = 2 + 2 * EQUATIONS,
                          .outputs = outputs,
                          .output_count = EQUATIONS};
  ModelContext context = {0};
  const int runs = 20000;
  struct timespec begin;
  struct timespec end;
  timespec_get(&begin, TIME_UTC);
  for (int i = 0; i < runs; i++) {
    model_program_run(&program, &context, regs, 0.0, x, out);
  }
  timespec_get(&end, TIME_UTC);
  double ns = 1e9 * (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec);
  print_message("%.2f ns per instruction\n", ns / runs / at);
}
