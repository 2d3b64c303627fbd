// SPDX-License-Identifier: MIT
//
// Enclosures contain what they claim to: every operation against dense sampling of its arguments,
// at extrema, at the ends of domains, for huge, tiny and infinite arguments; slopes against finite
// differences. A bound that is too tight by one unit in the last place is a failure.
#include "model/model.h"
#include "test.h"

#include <float.h>

#define SAMPLES 400

static const char* const op_names[] = {
#define X(name, count) #name,
    MODEL_OP_LIST(X)
#undef X
};

/// What the tape computes.
static double tape(uint32_t op, double a, double b) {
  ModelInstr code[] = {{.op = op, .dst = 2, .a = 0, .b = 1}, {.op = MODEL_OP_END}};
  uint32_t output = 2;
  ModelProgram program = {.code = code,
                          .code_count = 1,
                          .state_count = 1,
                          .reg_count = 3,
                          .outputs = &output,
                          .output_count = 1};
  ModelContext context = {0};
  double regs[3] = {0};
  double out = 0.0;
  model_program_run(&program, &context, regs, a, &b, &out);
  return out;
}

/// Value and slope enclosed, with a and b moving at the speeds da and db.
static ModelDual enclose(uint32_t op, ModelDual a, ModelDual b) {
  ModelInstr code[] = {{.op = op, .dst = 2, .a = 0, .b = 1}, {.op = MODEL_OP_END}};
  uint32_t output = 2;
  ModelProgram program = {.code = code,
                          .code_count = 1,
                          .state_count = 2,
                          .reg_count = 4,
                          .outputs = &output,
                          .output_count = 1};
  code[0].a = 1;
  code[0].b = 2;
  code[0].dst = 3;
  output = 3;
  ModelContext context = {0};
  ModelDual regs[4] = {0};
  ModelDual x[2] = {a, b};
  ModelDual out = {0};
  model_program_enclose(&program, &context, regs, model_time(0.0, 0.0), x, &out);
  return out;
}

static bool contains(ModelInterval a, double value) {
  return a.lo <= value && value <= a.hi;
}

static const uint32_t unary[] = {
#define ENTRY(X, name, ...) MODEL_OP_##name,
    BASE_FUNCTIONS(ENTRY, )
#undef ENTRY
        MODEL_OP_NEG,
    MODEL_OP_SQUARE,
    MODEL_OP_RECIP,
    MODEL_OP_SQRT,
    MODEL_OP_ABS,
    MODEL_OP_SIGN,
    MODEL_OP_FLOOR,
    MODEL_OP_CEIL,
    MODEL_OP_NOT};
static const uint32_t binary[] = {
    MODEL_OP_ADD,       MODEL_OP_SUB, MODEL_OP_MUL, MODEL_OP_DIV, MODEL_OP_POW, MODEL_OP_ATAN2,
    MODEL_OP_POLYGAMMA, MODEL_OP_MIN, MODEL_OP_MAX, MODEL_OP_MOD, MODEL_OP_LT,  MODEL_OP_LE,
    MODEL_OP_GT,        MODEL_OP_GE,  MODEL_OP_EQ,  MODEL_OP_NE,  MODEL_OP_AND, MODEL_OP_OR};

static const double special[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 0.5,
                                 -0.5,
                                 1.5707963267948966,
                                 -1.5707963267948966,
                                 3.141592653589793,
                                 -3.141592653589793,
                                 4.71238898038469,
                                 6.283185307179586,
                                 2.0,
                                 3.0,
                                 -2.0,
                                 1e-8,
                                 -1e-8,
                                 1e-300,
                                 -1e-300,
                                 4.9406564584124654e-324,
                                 1e8,
                                 1e10,
                                 -1e10,
                                 709.0,
                                 -745.0,
                                 1e154,
                                 -1e154,
                                 1e300,
                                 -1e300,
                                 DBL_MAX,
                                 -DBL_MAX};

/// Sample k of an interval: its ends, next to them, and evenly between.
static double sample(ModelInterval a, int k) {
  if (k == 0) return a.lo;
  if (k == 1) return a.hi;
  if (k == 2) return nextafter(a.lo, a.hi);
  if (k == 3) return nextafter(a.hi, a.lo);
  // written so that the width cannot overflow
  double f = (double)(k - 4) / (double)(SAMPLES - 5);
  double x = a.lo * (1.0 - f) + a.hi * f;
  return x < a.lo ? a.lo : x > a.hi ? a.hi : x;
}

static void check_op(uint32_t op, ModelInterval a, ModelInterval b, int step) {
  ModelInterval v = model_interval_apply(op, a, b);
  char name[300];
  bool two = model_op_operands(op) > 1;
  snprintf(name, sizeof name, "%s([%a, %a], [%a, %a]) = [%a, %a]", op_names[op], a.lo, a.hi, b.lo,
           b.hi, v.lo, v.hi);
  CHECK(!isnan(v.lo) && !isnan(v.hi) && v.lo <= v.hi, name);
  CHECK(v.lo < HUGE_VAL && v.hi > -HUGE_VAL, name);
  for (int k = 0; k < SAMPLES; k += step) {
    for (int m = 0; m < (two ? SAMPLES : 1); m += step * 7) {
      double value = tape(op, sample(a, k), sample(b, m));
      // an undefined value has no place; an infinite one is the overflow of a large one
      if (isnan(value)) continue;
      if (value > DBL_MAX) value = DBL_MAX;
      if (value < -DBL_MAX) value = -DBL_MAX;
      if (!contains(v, value)) {
        char longer[500];
        snprintf(longer, sizeof longer, "%s lacks %a at %a, %a", name, value, sample(a, k),
                 sample(b, m));
        CHECK(false, longer);
      }
    }
  }
}

static ModelInterval random_interval(uint64_t* seed) {
  double scale = pow(10.0, test_uniform(seed, -3.0, 3.0));
  double middle = test_uniform(seed, -1.0, 1.0) * scale;
  double width = pow(10.0, test_uniform(seed, -16.0, 1.0)) * fabs(middle);
  if (test_uniform(seed, 0.0, 1.0) < 0.1) middle = special[(size_t)test_uniform(seed, 0.0, 19.99)];
  return (ModelInterval){middle - width, middle + width};
}

TEST(every_operation_contains_its_values) {
  uint64_t seed = 5;
  for (size_t i = 0; i < SLT_COUNT(unary); i++) {
    for (int k = 0; k < 1500; k++) {
      check_op(unary[i], random_interval(&seed), (ModelInterval){0.0, 0.0}, 3);
    }
  }
  for (size_t i = 0; i < SLT_COUNT(binary); i++) {
    for (int k = 0; k < 1500; k++) {
      ModelInterval a = random_interval(&seed);
      ModelInterval b = random_interval(&seed);
      if (binary[i] == MODEL_OP_POW && k % 2) b.lo = b.hi = floor(test_uniform(&seed, -6.0, 7.0));
      check_op(binary[i], a, b, 9);
    }
  }
}

TEST(special_arguments) {
  for (size_t i = 0; i < SLT_COUNT(special); i++) {
    for (size_t j = 0; j < SLT_COUNT(special); j++) {
      if (special[i] > special[j]) continue;
      ModelInterval a = {special[i], special[j]};
      for (size_t op = 0; op < SLT_COUNT(unary); op++) {
        check_op(unary[op], a, (ModelInterval){0.0, 0.0}, 5);
      }
      for (size_t op = 0; op < SLT_COUNT(binary); op++) {
        for (size_t k = 0; k < SLT_COUNT(special); k += 3) {
          check_op(binary[op], a, (ModelInterval){special[k], special[k]}, 29);
          if (special[k] < 2.0) check_op(binary[op], a, (ModelInterval){special[k], 2.0}, 29);
        }
      }
    }
  }
}

TEST(unbounded_arguments) {
  ModelInterval ends[] = {{-HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -1.0}, {-HUGE_VAL, 0.0},
                          {0.0, HUGE_VAL},       {1.0, HUGE_VAL},   {-1.0, HUGE_VAL}};
  ModelInterval parts[] = {{-1e9, 1e9}, {-1e9, -1.0}, {-1e9, 0.0},
                           {0.0, 1e9},  {1.0, 1e9},   {-1.0, 1e9}};
  for (size_t i = 0; i < SLT_COUNT(ends); i++) {
    for (size_t op = 0; op < SLT_COUNT(unary); op++) {
      ModelInterval wide = model_interval_apply(unary[op], ends[i], (ModelInterval){0.0, 0.0});
      for (int k = 0; k < SAMPLES; k++) {
        double value = tape(unary[op], sample(parts[i], k), 0.0);
        CHECK(isnan(value) || contains(wide, value), op_names[unary[op]]);
      }
    }
    for (size_t op = 0; op < SLT_COUNT(binary); op++) {
      for (size_t j = 0; j < SLT_COUNT(ends); j++) {
        ModelInterval wide = model_interval_apply(binary[op], ends[i], ends[j]);
        for (int k = 0; k < SAMPLES; k += 3) {
          double value = tape(binary[op], sample(parts[i], k), sample(parts[j], (k * 7) % SAMPLES));
          CHECK(isnan(value) || contains(wide, value), op_names[binary[op]]);
        }
      }
    }
  }
}

/// Mean slope between two points of the motion: contained if the slope is enclosed everywhere
/// between them, with room for the rounding of the quotient.
static void check_slope(uint32_t op, double a, double da, double b, double db, double h) {
  ModelDual x = {{fmin(a, a + da * h), fmax(a, a + da * h)}, {da, da}};
  ModelDual y = {{fmin(b, b + db * h), fmax(b, b + db * h)}, {db, db}};
  ModelDual out = enclose(op, x, y);
  CHECK(!isnan(out.d.lo) && !isnan(out.d.hi) && out.d.lo <= out.d.hi, op_names[op]);
  for (int k = 0; k < 20; k++) {
    double s0 = h * k / 20.0;
    double s1 = h * (k + 1) / 20.0;
    double f0 = tape(op, a + da * s0, b + db * s0);
    double f1 = tape(op, a + da * s1, b + db * s1);
    if (!isfinite(f0) || !isfinite(f1)) continue;
    double slope = (f1 - f0) / (s1 - s0);
    // rounding of the values, and of the arguments times how steep the function is there
    double steep = fmax(fabs(out.d.lo), fabs(out.d.hi)) / fmax(fabs(da) + fabs(db), 1e-300);
    double moved = (fabs(a) + fabs(b) + h * (fabs(da) + fabs(db))) * fmax(steep, 1.0);
    double noise = 8.0 * DBL_EPSILON * (fmax(fabs(f0), fabs(f1)) + moved) / (s1 - s0);
    if (!isfinite(noise)) continue;
    char name[300];
    snprintf(name, sizeof name, "%s at %a (%a) and %a (%a), h %a: slope %a not in [%a, %a]",
             op_names[op], a, da, b, db, h, slope, out.d.lo, out.d.hi);
    CHECK(out.d.lo - noise <= slope && slope <= out.d.hi + noise, name);
  }
}

TEST(slopes_contain_finite_differences) {
  uint64_t seed = 11;
  for (int k = 0; k < 60000; k++) {
    size_t i = (size_t)test_uniform(&seed, 0.0, (double)(SLT_COUNT(unary) + SLT_COUNT(binary)));
    uint32_t op = i < SLT_COUNT(unary) ? unary[i] : binary[i - SLT_COUNT(unary)];
    double reach = test_uniform(&seed, 0.0, 1.0) < 0.5 ? 1.2 : 8.0;
    double a = test_uniform(&seed, -reach, reach);
    double b = test_uniform(&seed, -reach, reach);
    double da = test_uniform(&seed, -2.0, 2.0);
    double db = test_uniform(&seed, 0.0, 1.0) < 0.3 ? 0.0 : test_uniform(&seed, -2.0, 2.0);
    if (op == MODEL_OP_POW && db == 0.0) b = floor(b * 2.0) / 2.0;
    check_slope(op, a, da, b, db, pow(10.0, test_uniform(&seed, -2.0, 0.5)));
  }
}

TEST(no_slope_across_poles_and_jumps) {
  struct {
    uint32_t op;
    ModelInterval a, b;
  } cases[] = {
      {MODEL_OP_RECIP, {-1.0, 1.0}, {0.0, 0.0}}, {MODEL_OP_TAN, {1.0, 2.0}, {0.0, 0.0}},
      {MODEL_OP_DIV, {1.0, 1.0}, {-1.0, 1.0}},   {MODEL_OP_ATAN2, {-1.0, 1.0}, {-2.0, -1.0}},
      {MODEL_OP_POW, {-1.0, 1.0}, {-1.0, -1.0}}, {MODEL_OP_POW, {-1.0, 1.0}, {-2.0, -2.0}},
      {MODEL_OP_MOD, {0.5, 1.5}, {1.0, 1.0}},    {MODEL_OP_FLOOR, {0.5, 1.5}, {0.0, 0.0}},
      {MODEL_OP_SIGN, {-0.5, 1.5}, {0.0, 0.0}},  {MODEL_OP_LN, {-0.5, 1.5}, {0.0, 0.0}},
      {MODEL_OP_SQRT, {-0.5, 1.5}, {0.0, 0.0}},  {MODEL_OP_ASIN, {0.5, 1.5}, {0.0, 0.0}},
      {MODEL_OP_LT, {-0.5, 1.5}, {0.0, 0.0}},    {MODEL_OP_LOG10, {-0.5, 1.5}, {0.0, 0.0}},
  };
  for (size_t i = 0; i < SLT_COUNT(cases); i++) {
    ModelDual a = {cases[i].a, {1.0, 1.0}};
    ModelDual b = {
        cases[i].b,
        {cases[i].b.lo < cases[i].b.hi ? 1.0 : 0.0, cases[i].b.lo < cases[i].b.hi ? 1.0 : 0.0}};
    ModelDual out = enclose(cases[i].op, a, b);
    CHECK(out.d.lo < 0.0 && out.d.hi > 0.0, op_names[cases[i].op]);
    CHECK(out.d.lo == -HUGE_VAL && out.d.hi == HUGE_VAL, op_names[cases[i].op]);
  }
}

TEST(tables_contain_their_values_and_slopes) {
  double x[] = {0.0, 0.5, 2.0, 2.25, 5.0};
  double y[] = {1.0, 3.0, 2.0, 2.0, -4.0};
  double slope[5];
  model_table_slopes(x, y, 5, slope);
  ModelPiece pieces[] = {{-1.0, 0.5, {2.0}, 0, 6},
                         {0.5, 1.25, {2.0, -1.0, 3.0, 8.0, 0.25}, 4, 1},
                         {1.25, 3.0, {0.25, 7.0}, 1, 1},
                         {3.0, 5.5, {7.0, 3.0, 1.0, -2.0, 4.0, 1e3, -1e3, 7.5}, 7, 1}};
  ModelHistory history = {pieces, 0, 4};
  ModelTable tables[] = {{x, y, NULL, 5, NULL, NULL},
                         {x, y, slope, 5, NULL, NULL},
                         {x, y, NULL, 1, NULL, NULL},
                         {x, y, slope, 2, NULL, NULL},
                         {.history = &history}};
  uint64_t seed = 3;
  for (int k = 0; k < 20000; k++) {
    const ModelTable* table = &tables[k % 5];
    double lo = test_uniform(&seed, -2.0, 7.0);
    if (k % 7 == 0) lo = x[k % 5];
    ModelInterval a = {lo, lo + pow(10.0, test_uniform(&seed, -9.0, 0.7))};
    for (int order = 0; order < 3; order++) {
      ModelInterval v = model_table_enclose(table, a, order);
      for (int m = 0; m < SAMPLES; m += 5) {
        double value = model_table_value(table, sample(a, m), order);
        char name[200];
        snprintf(name, sizeof name, "table %d, order %d at %a in [%a, %a]: %a not in [%a, %a]",
                 k % 4, order, sample(a, m), a.lo, a.hi, value, v.lo, v.hi);
        CHECK(contains(v, value), name);
      }
    }
  }
}

// A power with an exponent that is no whole number begins at 0: what rounding puts beside its
// beginning does not lose all that is known of it.
TEST(powers_begin_at_zero) {
  const double exponents[] = {0.3, 0.999, 1.05, 1.5, 5.0 / 3.0, 2.5, 7.1};
  for (size_t i = 0; i < SLT_COUNT(exponents); i++) {
    double b = exponents[i];
    for (double below = 0.0; below<1.0; below = below> 0.0 ? 10.0 * below : 1e-300) {
      ModelInterval base = {-below, 1e-6};
      ModelInterval v = model_interval_apply(MODEL_OP_POW, base, (ModelInterval){b, b});
      CHECK(v.lo == 0.0 && v.hi >= pow(1e-6, b) && v.hi <= 1.001 * pow(1e-6, b), "one point");
      v = model_interval_apply(MODEL_OP_POW, base, (ModelInterval){b, b + 1e-4});
      CHECK(v.lo == 0.0 && v.hi >= pow(1e-6, b) && v.hi <= 1.001 * pow(1e-6, b), "a range");
    }
    ModelInterval negative = {-2.0, -1.0};
    ModelInterval v = model_interval_apply(MODEL_OP_POW, negative, (ModelInterval){b, b});
    CHECK(isinf(v.lo) && isinf(v.hi), "no values");
  }
  // exponents among which there is a whole number have values on both sides
  ModelInterval v =
      model_interval_apply(MODEL_OP_POW, (ModelInterval){-3.0, 1.0}, (ModelInterval){2.9, 3.1});
  CHECK(v.lo <= -27.0, "a whole number between");
}

TEST(bounds_are_not_wasteful) {
  // a proof needs bounds that shrink with their arguments
  for (size_t i = 0; i < SLT_COUNT(unary); i++) {
    double from = isnan(tape(unary[i], 0.3, 0.0)) ? 1.3 : 0.3;  // inside of its domain
    ModelInterval a = {from, from + 1e-6};
    ModelInterval v = model_interval_apply(unary[i], a, (ModelInterval){0.0, 0.0});
    CHECK(v.hi - v.lo < 2e-5, op_names[unary[i]]);
  }
  for (size_t i = 0; i < SLT_COUNT(binary); i++) {
    if (binary[i] == MODEL_OP_POLYGAMMA) continue;  // its first argument is a whole number
    ModelInterval v = model_interval_apply(binary[i], (ModelInterval){0.3, 0.3 + 1e-6},
                                           (ModelInterval){0.7, 0.7});
    CHECK(v.hi - v.lo < 2e-5, op_names[binary[i]]);
  }
}

// A change of units by a power of 2 loses no digits, and bounds follow it without widening; where
// digits are lost below the smallest normal number, they are widened.
TEST(powers_of_2_are_exact) {
  uint64_t seed = 5;
  for (int k = 0; k < 500; k++) {
    double lo = test_uniform(&seed, -3.0, 3.0);
    ModelDual a = {{lo, lo + test_uniform(&seed, 0.0, 1.0)}, {-0.3, 0.7}};
    double factor = ldexp(k % 2 ? -1.0 : 1.0, (int)test_uniform(&seed, -40.0, 40.0));
    ModelDual c = {{factor, factor}, {0.0, 0.0}};
    ModelDual up = enclose(MODEL_OP_MUL, a, c);
    ModelDual same = enclose(MODEL_OP_MUL, c, a);
    ModelDual back = enclose(MODEL_OP_DIV, up, c);
    CHECK(up.v.lo == same.v.lo && up.v.hi == same.v.hi, "either way round");
    CHECK(up.v.hi - up.v.lo == fabs(factor) * a.v.hi - fabs(factor) * a.v.lo, "as wide as before");
    CHECK(back.v.lo == a.v.lo && back.v.hi == a.v.hi, "and back");
    CHECK(back.d.lo == a.d.lo && back.d.hi == a.d.hi, "slopes too");
  }
  ModelInterval least = {3.0 * DBL_MIN, 5.0 * DBL_MIN};
  ModelInterval tiny = {ldexp(1.0, -30), ldexp(1.0, -30)};
  ModelInterval lost = model_interval_mul(least, tiny);
  CHECK(lost.lo < least.lo * tiny.lo && lost.hi > least.hi * tiny.lo, "subnormal");
  CHECK(!model_is_power_of_2(3.0) && !model_is_power_of_2(0.0), "others");
  CHECK(!model_is_power_of_2((double)INFINITY) && !model_is_power_of_2((double)NAN), "no numbers");
}
