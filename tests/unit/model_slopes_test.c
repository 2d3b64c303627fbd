// SPDX-License-Identifier: MIT
//
// Partial derivatives of programs: every operation against differences, patterns without entries
// that vanish, what rows have in common, blocks of equations as rows.
#include "ir_text.h"
#include "model/build_internal.h"

#define T0 0.37

typedef struct Fixture {
  Arena arena;
  TapeGraph graph;
  TapeSlopes slopes;
  uint32_t x[3];  // values of states
} Fixture;

static const double point[3] = {0.62, 1.3, -0.45};

static void begin(Fixture* f) {
  arena_init(&f->arena, NULL, &test_oom);
  tape_init(&f->graph, &f->arena);
  tape_slopes_init(&f->slopes, &f->arena, 3);
  for (uint32_t i = 0; i < 3; i++) {
    f->x[i] = tape_state(&f->graph, i);
  }
}

static double evaluate(Fixture* f, uint32_t value, double t, const double* x) {
  ModelProgram program = tape_finish(&f->graph, &f->arena, 3, &value, 1);
  double* regs = ARENA_ARRAY(&f->arena, double, program.reg_count);
  ModelContext context = {0};
  double out = 0.0;
  model_program_bind(&program, NULL, regs);
  model_program_run(&program, &context, regs, t, x, &out);
  return out;
}

/// The slopes of a value against differences of it.
static void check_slopes(Fixture* f, uint32_t value, const char* name) {
  tape_slopes(&f->slopes, &f->graph, value);
  uint32_t count = f->slopes.found.count;
  TapeSlope found[4];
  CHECK(count <= 4, name);
  if (count) memcpy(found, f->slopes.found.data, count * sizeof *found);
  double got[4] = {0};
  for (uint32_t i = 0; i < count; i++) {
    uint32_t column = found[i].column == TAPE_TIME_COLUMN ? 3 : found[i].column;
    CHECK(i == 0 || found[i].column > found[i - 1].column, "in order");
    got[column] = evaluate(f, found[i].value, T0, point);
  }
  for (uint32_t j = 0; j < 4; j++) {
    double h = 1e-5;
    double lo[3];
    double hi[3];
    memcpy(lo, point, sizeof lo);
    memcpy(hi, point, sizeof hi);
    if (j < 3) {
      lo[j] -= h;
      hi[j] += h;
    }
    double below = evaluate(f, value, j < 3 ? T0 : T0 - h, lo);
    double above = evaluate(f, value, j < 3 ? T0 : T0 + h, hi);
    double want = (above - below) / (2.0 * h);
    if (isnan(want)) continue;  // outside of its domain
    if (!(fabs(got[j] - want) <= 1e-7 * (1.0 + fabs(want)))) {
      print_error("%s: slope %u is %.10g, not %.10g\n", name, j, got[j], want);
    }
    CHECK(fabs(got[j] - want) <= 1e-7 * (1.0 + fabs(want)), name);
  }
}

TEST(every_operation_has_its_slope) {
  static const struct {
    const char* name;
    IrOp op;
  } cases[] = {
#define ENTRY(X, name, word, ...) {word, IR_##name},
      BASE_FUNCTIONS(ENTRY, )
#undef ENTRY
          {"neg", IR_NEG},
      {"add", IR_ADD},
      {"sub", IR_SUB},
      {"mul", IR_MUL},
      {"div", IR_DIV},
      {"pow", IR_POW},
      {"sqrt", IR_SQRT},
      {"abs", IR_ABS},
      {"sign", IR_SIGN},
      {"floor", IR_FLOOR},
      {"ceil", IR_CEIL},
      {"atan2", IR_ATAN2},
      {"min", IR_MIN},
      {"max", IR_MAX},
      {"mod", IR_MOD},
  };
  FOR_CASES(c, cases) {
    Fixture f;
    begin(&f);
    TapeGraph* g = &f.graph;
    bool binary = ir_op_arity(c->op) > 1;
    check_slopes(&f, tape_op(g, c->op, f.x[0], binary ? f.x[1] : 0, 0), c->name);
    // inside of something: the same operand twice, time, a square, a reciprocal
    uint32_t inner = tape_op(g, IR_MUL, f.x[0], f.x[0], 0);
    uint32_t other = tape_op(g, IR_ADD, f.x[1], tape_time(g), 0);
    uint32_t value = tape_op(g, c->op, inner, binary ? other : 0, 0);
    uint32_t over = tape_op(g, IR_DIV, tape_const(g, 1.0), f.x[2], 0);
    value = tape_op(g, IR_ADD, tape_op(g, IR_MUL, value, over, 0), f.x[0], 0);
    check_slopes(&f, value, c->name);
    arena_free(&f.arena);
  }
}

TEST(choices_and_constants) {
  Fixture f;
  begin(&f);
  TapeGraph* g = &f.graph;
  uint32_t condition = tape_op(g, IR_GT, f.x[0], f.x[1], 0);
  uint32_t square = tape_op(g, IR_MUL, f.x[1], f.x[1], 0);
  check_slopes(&f, tape_op(g, IR_SELECT, condition, f.x[0], square), "select");
  check_slopes(&f, tape_op(g, IR_POW, f.x[1], tape_const(g, 2.5), 0), "constant exponent");
  check_slopes(&f, tape_op(g, IR_POW, tape_const(g, 2.5), f.x[1], 0), "constant base");
  check_slopes(&f, f.x[2], "a state");
  CHECK(f.slopes.found.count == 1 && f.slopes.found.data[0].column == 2, "one entry");
  check_slopes(&f, tape_const(g, 3.0), "a number");
  CHECK(f.slopes.found.count == 0, "no entry");
  check_slopes(&f, condition, "a truth");
  check_slopes(&f, tape_time(g), "time");
  CHECK(f.slopes.found.count == 1 && f.slopes.found.data[0].column == TAPE_TIME_COLUMN, "time");
  arena_free(&f.arena);
}

TEST(blocks_are_rows) {
  TEST_ARENA(arena);
  IrText text;
  ir_text(&text, &arena,
          "x' = -x + y\n"
          "y + y*y*y = x + t\n"
          "z' = 2*x\n"
          "start x = 1\n"
          "guess y = 0\n"
          "start z = 0\n");
  ModelBuild* build = NULL;
  CHECK(model_build_create(NULL, &text.model, &build) == SLT_OK, "created");
  ModelProvider provider = model_build_provider(build);
  uint32_t mode[1] = {0};
  const ModelMode* compiled = NULL;
  const Diag* failure = NULL;
  const ModelStiff* stiff = NULL;
  CHECK(provider.get(provider.user, mode, &compiled, &failure) == SLT_OK, "mode");
  CHECK(provider.stiff(provider.user, mode, &stiff) == SLT_OK && stiff, "stiff");
  CHECK(compiled->state_count == 2 && stiff->algebraic == 1, "two states, one unknown");

  // x' reads x and y, z' reads x, the equation of y reads x and y and time
  static const uint32_t begin_rows[] = {0, 2, 3, 5};
  static const uint32_t columns[] = {0, 2, 0, 0, 2};
  CHECK(memcmp(stiff->begin, begin_rows, sizeof begin_rows) == 0, "rows");
  CHECK(memcmp(stiff->columns, columns, sizeof columns) == 0, "columns");
  CHECK(stiff->time_count == 1 && stiff->time_rows[0] == 2, "time");

  // the right-hand side leaves the unknown where `unknowns` says
  double* env = ARENA_ARRAY(&arena, double, 2 * (size_t)model_build_model(build)->env_count);
  double* regs = ARENA_ARRAY(&arena, double, compiled->rhs.reg_count);
  double* more = ARENA_ARRAY(&arena, double, stiff->stage.reg_count + stiff->jacobian.reg_count);
  ModelContext context = {0};
  double xu[3] = {1.5, 0.2, 0.0};
  double f[2];
  double out[3];
  double entries[6];
  model_program_bind(&compiled->rhs, env, regs);
  model_program_run(&compiled->rhs, &context, regs, 0.5, xu, f);
  xu[2] = regs[stiff->unknowns[0]];
  CHECK_NEAR(xu[2] + xu[2] * xu[2] * xu[2], 2.0, 1e-12, 0);
  model_program_bind(&stiff->stage, env, more);
  model_program_run(&stiff->stage, &context, more, 0.5, xu, out);
  CHECK(out[0] == f[0] && out[1] == f[1], "derivatives");
  CHECK(fabs(out[2]) < 1e-12, "residual");
  model_program_bind(&stiff->jacobian, env, more);
  model_program_run(&stiff->jacobian, &context, more, 0.5, xu, entries);
  CHECK(entries[0] == -1.0 && entries[1] == 1.0 && entries[2] == 2.0, "explicit rows");
  double sign = entries[3] < 0.0 ? 1.0 : -1.0;
  CHECK_NEAR(sign * entries[3], -1.0, 1e-15, 0);
  CHECK_NEAR(sign * entries[4], 1.0 + 3.0 * xu[2] * xu[2], 1e-12, 0);
  CHECK_NEAR(sign * entries[5], -1.0, 1e-15, 0);
  model_build_free(build);
  arena_free(&arena);
}

// A value between many states and many readers is one; partial sums and what reads it alone are
// not.
TEST(wide_values_are_found) {
  enum { N = 60 };
  for (uint32_t cells = 10; cells <= N; cells += 25) {
    Fixture f;
    begin(&f);
    TapeGraph* g = &f.graph;
    uint32_t sum = tape_state(g, 0);
    for (uint32_t i = 1; i < cells; i++)
      sum = tape_op(g, IR_ADD, sum, tape_state(g, i), 0);
    uint32_t mean = tape_op(g, IR_DIV, sum, tape_const(g, cells), 0);
    uint32_t root = tape_op(g, IR_SQRT, mean, 0, 0);
    uint32_t last = 0;
    for (uint32_t i = 0; i < cells; i++) {
      uint32_t away = tape_op(g, IR_SUB, tape_state(g, i), mean, 0);
      last = tape_op(g, IR_MUL, away, root, 0);
    }
    const uint32_t* wide = NULL;
    uint32_t count = tape_wide_values(g, &f.arena, &wide);
    CHECK(count == (cells > 32), "number");
    if (count) CHECK(wide[0] == mean, "the mean");
    if (!count) {
      arena_free(&f.arena);
      continue;
    }
    uint32_t* cut = ARENA_ARRAY(&f.arena, uint32_t, g->values.count);
    TapeSlopes slopes;
    tape_slopes_init(&slopes, &f.arena, cells + 1);
    cut[mean] = cells + 1;
    slopes.cut = cut;
    slopes.cut_count = g->values.count;
    tape_slopes(&slopes, g, last);
    CHECK(slopes.found.count == 2, "one state and the mean");
    CHECK(slopes.found.data[0].column == cells - 1 && slopes.found.data[1].column == cells,
          "columns");
    tape_slopes(&slopes, g, mean);
    CHECK(slopes.found.count == cells, "the mean itself");
    arena_free(&f.arena);
  }
}
