// SPDX-License-Identifier: MIT
//
// Blocks of equations: linear, nonlinear, without full rank, without solution; and their
// enclosures.
#include "ir_text.h"
#include "model/build.h"
#include "model/solve_balance.h"
#include "model/solve_rank.h"

#define OUT_MAX 8  // and more than the unknowns of a test

typedef struct Block {
  IrText text;
  ModelBuild* build;
  const Model* model;
  const ModelMode* mode;
  double* env;
  double* regs;
} Block;

static void block_open(Block* b, Arena* arena, const char* text) {
  const Diag* failure = NULL;
  ir_text(&b->text, arena, text);
  CHECK(model_build_create(NULL, &b->text.model, &b->build) == SLT_OK, text);
  b->model = model_build_model(b->build);
  ModelProvider provider = model_build_provider(b->build);
  CHECK(provider.get(provider.user, NULL, &b->mode, &failure) == SLT_OK, text);
  b->env = ARENA_ARRAY(arena, double, 2 * (size_t)b->model->env_count);
  b->regs = ARENA_ARRAY(arena, double, b->mode->full.reg_count);
}

static void set_guess(Block* b, const char* name, double value) {
  b->env[b->model->vars[ir_text_var(&b->text.model, name)].env] = value;
}

/// All values of the mode into the environment; what became of the blocks.
static void block_run(Block* b, double t, const double* x, uint32_t* failed, uint32_t* least) {
  double out[OUT_MAX];
  ModelContext context = {.tables = b->model->tables, .failed = failed, .least = least};
  *failed = MODEL_NONE;
  *least = MODEL_NONE;
  CHECK(b->mode->full.output_count <= OUT_MAX, "room");
  model_program_bind(&b->mode->full, b->env, b->regs);
  model_program_run(&b->mode->full, &context, b->regs, t, x, out);
  for (uint32_t i = 0; i < b->mode->full.output_count; i++) {
    b->env[b->mode->full_env[i]] = out[i];
  }
}

static double value_of(const Block* b, const char* name) {
  return b->env[b->model->vars[ir_text_var(&b->text.model, name)].env];
}

/// A body between a stop and a brake, both of which could hold it: the brake yields.
TEST(what_yields_is_small_before_others) {
  static const bool yields[] = {false, true, false};
  double a[] = {1.0, 1.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 4.0};
  double b[] = {3.0, 6.0, 8.0};
  double order[3];
  double x[3];
  CHECK(model_rank_solve(3, a, b, 8.0, NULL, yields, order, x) == 2, "rank");
  CHECK(fabs(x[0] - 3.0) < 1e-5 && fabs(x[1]) < 1e-5 && fabs(x[2] - 2.0) < 1e-12, "shares");
}

TEST(equations_without_a_common_unknown_do_not_touch_each_other) {
  // two systems in one, their rows and columns dealt out in turn: what is zero in one of them stays
  // zero, however large the other is
  uint64_t seed = 3;
  for (int round = 0; round < 200; round++) {
    double a[64] = {0};
    double b[8], order[8], x[8];
    for (uint32_t i = 0; i < 8; i++) {
      for (uint32_t j = i % 2; j < 8; j += 2)
        a[i * 8 + j] = i == 6 ? a[4 * 8 + j] : (double)(test_random(&seed) % 2001) / 1000.0 - 1.0;
      b[i] = i % 2 ? (double)(test_random(&seed) % 1000) : 0.0;
    }
    CHECK(model_rank_solve(8, a, b, 1000.0, NULL, NULL, order, x) == 7, "one row is said twice");
    for (uint32_t j = 0; j < 8; j += 2)
      CHECK(x[j] == 0.0, "what was zero");
  }
}

TEST(blocks_are_solved) {
  static const struct {
    const char* text;
    double guess;  // of all unknowns
    double y, z;   // with x = 2 at t = 0
    bool failed, least;
  } cases[] = {
      {"x' = 0\ny + z = 3*x\ny - 2*z = 0", 0.0, 4.0, 2.0, false, false},
      // rows and columns of very different size
      {"x' = 0\n1e9*y + 1e3*z = 1e9*x\n1e-6*y - 1e-12*z = 2e-6", 0.0, 2.0, 0.0, false, false},
      // the guess chooses the root
      {"x' = 0\ny*y + z*z = 25\nx*y - z = 5", 3.0, 4.0, 3.0, false, false},
      {"x' = 0\ny*y + z*z = 25\nx*y - z = 5", -3.0, 0.0, -5.0, false, false},
      // far away: the first whole step would overshoot
      {"x' = 0\natan(y) + z = 0\nz + y*x = 0.25 - 0.25", 20.0, 0.0, 0.0, false, false},
      // one equation is twice the other one: the smallest solution
      {"x' = 0\ny + z = x\n2*y + 2*z = 2*x", 0.0, 1.0, 1.0, false, true},
      {"x' = 0\ny + 3*z = 5*x\n2*y + 6*z = 10*x", 0.0, 1.0, 3.0, false, true},
      // ... and twice something else
      {"x' = 0\ny + z = x\n2*y + 2*z = 2*x + 1", 0.0, (double)NAN, (double)NAN, true, false},
      // no real solution
      {"x' = 0\ny*y + z*z = -x\ny - z = 1", 1.0, (double)NAN, (double)NAN, true, false},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Block b;
    block_open(&b, &arena, c->text);
    set_guess(&b, "y", c->guess);
    set_guess(&b, "z", c->guess);
    double x = 2.0;
    uint32_t failed = 0;
    uint32_t least = 0;
    block_run(&b, 0.0, &x, &failed, &least);
    CHECK((failed != MODEL_NONE) == c->failed, c->text);
    CHECK((least != MODEL_NONE) == c->least, c->text);
    if (c->failed) {
      CHECK(isnan(value_of(&b, "y")) && isnan(value_of(&b, "z")), c->text);
    } else {
      CHECK_NEAR(value_of(&b, "y"), c->y, 1e-12, 1e-12);
      CHECK_NEAR(value_of(&b, "z"), c->z, 1e-9, 1e-12);
    }
    model_build_free(b.build);
  }
  arena_free(&arena);
}

TEST(smallest_solutions_of_random_systems) {
  uint64_t seed = 5;
  for (int round = 0; round < 200; round++) {
    // a of rank r as a product; b in its range, or beside it
    enum { N = 6 };
    uint32_t rank = (uint32_t)(test_random(&seed) % (N + 1));
    double left[N][N];
    double right[N][N];
    double a[N * N];
    double b[N] = {0.0};
    double copy[N * N];
    double right_side[N];
    double order[N];
    double x[N];
    double solution[N];
    for (uint32_t i = 0; i < N; i++) {
      solution[i] = test_uniform(&seed, -2.0, 2.0);
      for (uint32_t j = 0; j < N; j++) {
        left[i][j] = test_uniform(&seed, -1.0, 1.0);
        right[i][j] = test_uniform(&seed, -1.0, 1.0);
      }
    }
    for (uint32_t i = 0; i < N; i++) {
      for (uint32_t j = 0; j < N; j++) {
        a[i * N + j] = 0.0;
        for (uint32_t k = 0; k < rank; k++) {
          a[i * N + j] += left[i][k] * right[k][j];
        }
        b[i] += a[i * N + j] * solution[j];
      }
    }
    memcpy(copy, a, sizeof a);
    memcpy(right_side, b, sizeof b);
    CHECK(model_rank_solve(N, a, b, 1.0, NULL, NULL, order, x) == rank, "rank");
    double norm = 0.0;
    double other = 0.0;
    for (uint32_t i = 0; i < N; i++) {
      double sum = 0.0;
      for (uint32_t j = 0; j < N; j++) {
        sum += copy[i * N + j] * x[j];
      }
      CHECK_NEAR(sum, right_side[i], 1e-9, 1e-9);
      norm += x[i] * x[i];
      other += solution[i] * solution[i];
    }
    CHECK(norm <= other * (1.0 + 1e-9), "smallest");
    // orthogonal to the null space: a combination of the rows
    if (rank == N || rank == 0) continue;
    memcpy(a, copy, sizeof a);
    memcpy(b, right_side, sizeof b);
    b[0] += 1.0;
    b[1] -= 0.7;
    CHECK(model_rank_solve(N, a, b, 1.0, NULL, NULL, order, x) == MODEL_RANK_NONE || rank >= N - 1,
          "beside");
  }
}

// ---- torn blocks --------------------------------------------------------------------------------

enum { TORN_N = 6 };

/// A ring of equations with some chords; coefficients are numbers or times x. Returns the matrix
/// and right side at x.
static Str ring_text(Arena* arena, uint64_t* seed, double x, double* a, double* b) {
  TextBuffer out = {.arena = arena};
  text_append_c(&out, "x' = 0\n");
  memset(a, 0, TORN_N * TORN_N * sizeof *a);
  for (int i = 0; i < TORN_N; i++) {
    text_append_c(&out, "0 ");
    for (int j = 0; j < TORN_N; j++) {
      bool ring = j == i || j == (i + 1) % TORN_N;
      if (!ring && test_random(seed) % 5 != 0) continue;
      int number = 1 + (int)(test_random(seed) % 4);
      bool moves = test_random(seed) % 3 == 0;
      bool minus = test_random(seed) % 2 == 0;
      double value = moves ? number * x : number;
      a[i * TORN_N + j] = minus ? -value : value;
      text_append_format(&out, "%s%d*%sy_%d ", minus ? "- " : "+ ", number, moves ? "x*" : "", j);
    }
    b[i] = (double)(test_random(seed) % 10) - 4.5;
    text_append_format(&out, "= %s%d.5\n", b[i] < 0.0 ? "-" : "", (int)fabs(b[i]));
    b[i] = (b[i] < 0.0 ? -1.0 : 1.0) * ((int)fabs(b[i]) + 0.5);
  }
  return text_str(&out);
}

TEST(torn_blocks_give_what_elimination_gives) {
  uint64_t seed = 11;
  int solved = 0;
  int torn = 0;
  // at x = 0 the pivots that tearing hoped for vanish: the whole block is eliminated then
  static const double points[] = {1.0, -0.7, 1e-9, 0.0, 3e5};
  TEST_ARENA(arena);
  for (int round = 0; round < 200; round++) {
    double x = points[round % 5];
    double a[TORN_N * TORN_N];
    double right[TORN_N];
    double order[TORN_N];
    double want[TORN_N];
    uint64_t text_seed = seed;
    Str text = ring_text(&arena, &text_seed, x, a, right);
    double row_size[TORN_N] = {0.0};
    for (int i = 0; i < TORN_N; i++) {
      for (int j = 0; j < TORN_N; j++) {
        row_size[i] = fmax(row_size[i], fabs(a[i * TORN_N + j]));
      }
    }
    double copy[TORN_N * TORN_N];
    double right_copy[TORN_N];
    memcpy(copy, a, sizeof a);
    memcpy(right_copy, right, sizeof right);
    seed = text_seed;
    if (model_rank_solve(TORN_N, a, right, 1.0, NULL, NULL, order, want) != TORN_N) continue;
    Block b;
    block_open(&b, &arena, text.data);
    uint32_t failed = 0;
    uint32_t least = 0;
    block_run(&b, 0.0, &x, &failed, &least);
    for (uint32_t k = 0; k < b.mode->full.solve_count; k++) {
      torn += b.mode->full.solves[k].offers != NULL;
    }
    double y[TORN_N];
    double size = 1.0;
    for (int i = 0; failed == MODEL_NONE && i < TORN_N; i++) {
      char name[16];
      snprintf(name, sizeof name, "y_%d", i);
      y[i] = value_of(&b, name);
      size = fmax(size, fabs(y[i]));
    }
    for (int i = 0; failed == MODEL_NONE && i < TORN_N; i++) {
      double residual = -right_copy[i];
      for (int j = 0; j < TORN_N; j++) {
        residual += copy[i * TORN_N + j] * y[j];
      }
      CHECK(fabs(residual) <= 1e-11 * row_size[i] * size, text.data);
    }
    solved += failed == MODEL_NONE && least == MODEL_NONE;
    model_build_free(b.build);
  }
  CHECK(solved > 150 && torn > 100, "most of them");
  arena_free(&arena);
}

TEST(torn_newton) {
  static const struct {
    const char* text;
    double guess, y, z;  // with x = 2
  } cases[] = {
      // y is torn, z follows
      {"x' = 0\nz = x*y - 5\ny*y + z*z = 25", 3.0, 4.0, 3.0},
      {"x' = 0\nz = x*y - 5\ny*y + z*z = 25", -3.0, 0.0, -5.0},
      // the coefficient of what follows vanishes at the solution: z alone is open to y
      {"x' = 0\n(x - 2)*z + y = 1\ny*y + z*z*z = 9", 1.5, 1.0, 2.0},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Block b;
    block_open(&b, &arena, c->text);
    set_guess(&b, "y", c->guess);
    set_guess(&b, "z", c->guess);
    double x = 2.0;
    uint32_t failed = 0;
    uint32_t least = 0;
    block_run(&b, 0.0, &x, &failed, &least);
    CHECK(failed == MODEL_NONE && least == MODEL_NONE, c->text);
    CHECK_NEAR(value_of(&b, "y"), c->y, 1e-12, 1e-12);
    CHECK_NEAR(value_of(&b, "z"), c->z, 1e-12, 1e-12);
    model_build_free(b.build);
  }
  arena_free(&arena);
}

// ---- large blocks -------------------------------------------------------------------------------

/// A grid of nodes tied to their neighbours; coefficients on the diagonal vanish at x = 0, where
/// the order that was chosen without numbers does not do.
static Str grid_text(Arena* arena, int side, bool nonlinear) {
  TextBuffer out = {.arena = arena};
  text_append_c(&out, "x' = 0\n");
  for (int i = 0; i < side * side; i++) {
    text_append_format(&out, "x*9*u_%d", i);
    if (nonlinear) text_append_format(&out, " + u_%d*u_%d*u_%d", i, i, i);
    if (i % side) text_append_format(&out, " - u_%d", i - 1);
    if (i % side < side - 1) text_append_format(&out, " - 1.5*u_%d", i + 1);
    if (i >= side) text_append_format(&out, " - 2*u_%d", i - side);
    if (i < side * (side - 1)) text_append_format(&out, " - u_%d", i + side);
    text_append_format(&out, " = %d.25\n", i % 7);
  }
  return text_str(&out);
}

TEST(large_blocks_are_eliminated_sparse) {
  enum { SIDE_MAX = 20 };
  static const struct {
    int side;
    bool nonlinear;
    double x;
  } cases[] = {{10, false, 1.0},
               {10, true, 1.0},
               {SIDE_MAX, false, 1.0},
               {SIDE_MAX, true, 1.0},
               // 300 is the limit of full matrices: the other way to pivots on either side of it
               {10, false, 0.0},
               {SIDE_MAX, false, 0.0}};
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    char name[40];
    snprintf(name, sizeof name, "side %d at %g", c->side, c->x);
    Block b;
    Str text = grid_text(&arena, c->side, c->nonlinear);
    block_open(&b, &arena, text.data);
    const ModelProgram* full = &b.mode->full;
    CHECK(full->solve_count == 1 && full->solves[0].sparse, name);
    double* out = ARENA_ARRAY(&arena, double, full->output_count);
    uint32_t failed = MODEL_NONE;
    ModelContext context = {.tables = b.model->tables, .failed = &failed};
    model_program_bind(full, b.env, b.regs);
    model_program_run(full, &context, b.regs, 0.0, &c->x, out);
    CHECK(failed == MODEL_NONE, name);
    for (uint32_t i = 0; i < full->output_count; i++) {
      b.env[b.mode->full_env[i]] = out[i];
    }
    double u[SIDE_MAX * SIDE_MAX];
    double size = 1.0;
    int n = c->side * c->side;
    for (int i = 0; i < n; i++) {
      char unknown[16];
      snprintf(unknown, sizeof unknown, "u_%d", i);
      u[i] = value_of(&b, unknown);
      size = fmax(size, fabs(u[i]));
    }
    for (int i = 0; i < n; i++) {
      int s = c->side;
      double r = c->x * 9.0 * u[i] - (i % 7 + 0.25);
      if (c->nonlinear) r += u[i] * u[i] * u[i];
      if (i % s) r -= u[i - 1];
      if (i % s < s - 1) r -= 1.5 * u[i + 1];
      if (i >= s) r -= 2.0 * u[i - s];
      if (i < s * (s - 1)) r -= u[i + s];
      CHECK(fabs(r) <= 1e-11 * size, name);
    }
    model_build_free(b.build);
  }
  arena_free(&arena);
}

/// Each unknown is three times the one before, but for what they all are at the solution: errors
/// of the first grow to any size along the ring in one direction, and vanish in the other.
static Str growing_ring(Arena* arena, int count, const char* closing) {
  TextBuffer out = {.arena = arena};
  text_append_c(&out, "x' = 0\n");
  for (int i = 1; i < count; i++) {
    text_append_format(&out, "u_%d = 3*u_%d - 2*x\n", i + 1, i);
  }
  text_append_format(&out, "2*u_%d = u_1 + x + %s\n", count, closing);
  return text_str(&out);
}

TEST(errors_that_grow_along_a_ring_are_seen) {
  static const struct {
    int count;
    const char* closing;
  } cases[] = {// torn; full matrices; tables; pivots by numbers with full matrices, and by KLU
               {20, "sin(u_1 - x)"},  {39, "sin(u_1 - x)"},  {40, "sin(u_1 - x)"},
               {200, "sin(u_1 - x)"}, {400, "sin(u_1 - x)"}, {39, "1.5*(u_1 - x)"},
               {400, "1.5*(u_1 - x)"}};
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Block b;
    block_open(&b, &arena, growing_ring(&arena, c->count, c->closing).data);
    const ModelProgram* full = &b.mode->full;
    double* out = ARENA_ARRAY(&arena, double, full->output_count);
    double x = 0.3 + 1.0 / 7.0;
    uint32_t failed = MODEL_NONE;
    ModelContext context = {.tables = b.model->tables, .failed = &failed};
    model_program_bind(full, b.env, b.regs);
    model_program_run(full, &context, b.regs, 0.0, &x, out);
    CHECK(failed == MODEL_NONE, c->closing);
    for (uint32_t i = 0; i < full->output_count; i++) {
      b.env[b.mode->full_env[i]] = out[i];
    }
    for (int i = 1; i <= c->count; i++) {
      char unknown[16];
      snprintf(unknown, sizeof unknown, "u_%d", i);
      CHECK_NEAR(value_of(&b, unknown), x, 0.0, 1e-14);
    }
    model_build_free(b.build);
  }
  arena_free(&arena);
}

TEST(units_of_unknowns_may_differ_by_any_factor) {
  // b is 18 decades larger than what stands beside it
  static const char text[] =
      "x' = 0\n1e9*a + 1e-9*b + c = x\n1e-9*b + 1e9*c = 2 + a\n3e-9*b + 1e9*a - c = 1 + x";
  TEST_ARENA(arena);
  Block b;
  block_open(&b, &arena, text);
  double x = 0.5;
  uint32_t failed = 0;
  uint32_t least = 0;
  block_run(&b, 0.0, &x, &failed, &least);
  CHECK(failed == MODEL_NONE && least == MODEL_NONE, "solved");
  double a = value_of(&b, "a");
  double c = value_of(&b, "c");
  double part = 1e-9 * value_of(&b, "b");
  CHECK_NEAR(1e9 * a + part + c, x, 0.0, 1e-14);
  CHECK_NEAR(part + 1e9 * c, 2.0 + a, 0.0, 1e-14);
  CHECK_NEAR(3.0 * part + 1e9 * a - c, 1.0 + x, 0.0, 1e-14);
  CHECK_NEAR(part, 0.5 + c, 0.0, 1e-14);
  model_build_free(b.build);
  arena_free(&arena);
}

// ---- enclosures ---------------------------------------------------------------------------------

static bool full_env_is(const Block* b, uint32_t output, const char* name) {
  return b->mode->full_env[output] == b->model->vars[ir_text_var(&b->text.model, name)].env;
}

TEST(enclosures_hold_what_is_solved_for) {
  TEST_ARENA(arena);
  static const struct {
    const char* text;
    double guess, lo, hi;
    bool shown;
  } boxes[] = {
      {"x' = 1\ny + z = 3*x\ny - 2*z = sin(x)", 0.0, 0.9, 1.1, true},
      {"x' = 1\ny*y + z*z = 25\nx*y - z = 5", 3.0, 1.95, 2.05, true},
      {"x' = 1\nexp(y) + z = 3 + x\nz*z*z - y = x", 1.0, 0.45, 0.55, true},
      // the two roots meet at x = 0: nothing can be shown around it
      {"x' = 1\ny*y = x + z\nz = y*1e-9", 0.1, -0.01, 0.01, false},
      // no full rank: nothing is unique
      {"x' = 1\ny + z = x\n2*y + 2*z = 2*x", 0.0, 0.9, 1.1, false},
  };
  FOR_CASES(c, boxes) {
    Block b;
    block_open(&b, &arena, c->text);
    set_guess(&b, "y", c->guess);
    set_guess(&b, "z", c->guess);
    const ModelProgram* full = &b.mode->full;
    ModelDual* duals = ARENA_ARRAY(&arena, ModelDual, full->reg_count);
    ModelDual out[OUT_MAX];
    ModelContext context = {0};
    model_program_bind_dual(full, b.env, duals);
    ModelDual x = {{c->lo, c->hi}, {1.0, 1.0}};
    model_program_enclose(full, &context, duals, model_time(0.0, 0.0), &x, out);
    for (uint32_t i = 0; i < full->output_count; i++) {
      bool is_y = full_env_is(&b, i, "y");
      if (!is_y && !full_env_is(&b, i, "z")) continue;
      const char* name = is_y ? "y" : "z";
      bool bounded = isfinite(out[i].v.lo) && isfinite(out[i].v.hi);
      CHECK(bounded == c->shown, c->text);
      if (!bounded) continue;
      // values and slopes at many points lie inside, and the enclosure is not idle
      double low = HUGE_VAL;
      double high = -HUGE_VAL;
      for (int k = 0; k <= 20; k++) {
        uint32_t failed = 0;
        uint32_t least = 0;
        double value[3];
        double h = 1e-6;
        for (int side = -1; side <= 1; side++) {
          double at = c->lo + (c->hi - c->lo) * k / 20.0 + side * h;
          set_guess(&b, "y", c->guess);
          set_guess(&b, "z", c->guess);
          block_run(&b, 0.0, &at, &failed, &least);
          CHECK(failed == MODEL_NONE, c->text);
          value[side + 1] = value_of(&b, name);
        }
        CHECK(value[1] >= out[i].v.lo && value[1] <= out[i].v.hi, c->text);
        double slope = (value[2] - value[0]) / (2.0 * h);
        CHECK(slope >= out[i].d.lo - 1e-4 && slope <= out[i].d.hi + 1e-4, c->text);
        low = fmin(low, value[1]);
        high = fmax(high, value[1]);
      }
      CHECK(out[i].v.hi - out[i].v.lo <= 20.0 * (high - low) + 1e-6, c->text);
    }
    model_build_free(b.build);
  }
  arena_free(&arena);
}

/// Entries of a 3 x 3 matrix with a hole, its rows and columns in other units.
static void balance(const int* row_unit, const int* column_unit, double* row, double* column) {
  static const double values[] = {3.0, -0.5, 7.0, 0.25, 40.0, 1.0, 0.125};
  static const ModelEntry entries[] = {{0, 0, 0}, {0, 1, 1}, {1, 1, 2}, {1, 2, 3},
                                       {2, 0, 4}, {2, 2, 5}, {0, 2, 6}};
  ModelSolve solve = {.count = 3, .entries = entries, .entry_count = 7};
  double regs[7];
  for (uint32_t k = 0; k < 7; k++) {
    regs[k] = ldexp(values[k], row_unit[entries[k].row] + column_unit[entries[k].column]);
  }
  CHECK(model_balance(&solve, regs, row, column), "numbers");
}

TEST(balanced_units_follow_those_of_the_model) {
  static const int none[3] = {0, 0, 0};
  double row[3], column[3];
  balance(none, none, row, column);
  uint64_t seed = 11;
  for (int round = 0; round < 50; round++) {
    int row_unit[3], column_unit[3];
    double other_row[3], other_column[3];
    for (int i = 0; i < 3; i++) {
      row_unit[i] = (int)(test_random(&seed) % 121) - 60;
      column_unit[i] = (int)(test_random(&seed) % 121) - 60;
    }
    balance(row_unit, column_unit, other_row, other_column);
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 3; j++) {
        double unit = ldexp(1.0, row_unit[i] + column_unit[j]);
        CHECK(other_row[i] * other_column[j] * unit == row[i] * column[j], "the same matrix");
      }
    }
  }
  ModelEntry lone = {0, 0, 0};
  ModelSolve solve = {.count = 1, .entries = &lone, .entry_count = 1};
  double bad = (double)NAN;
  CHECK(!model_balance(&solve, &bad, row, column), "no number");
  double zero = 0.0;
  CHECK(model_balance(&solve, &zero, row, column) && row[0] == 1.0 && column[0] == 1.0, "nothing");
}

/// The same equations in units far apart: solved, found to lack rank, found to contradict each
/// other.
TEST(blocks_in_any_units) {
  static const struct {
    const char* text;  // with units of y and z, those times that of the second equation, and its
    double y;
    bool failed, least;
  } cases[] = {
      {"x' = 0\n%.17g*y + %.17g*z = 3*x\n%.17g*y - %.17g*z = 0", 4.0, false, false},
      {"x' = 0\n%.17g*y + %.17g*z = 3*x\n%.17g*y + %.17g*z = %.17g*x", 0.0, false, true},
      {"x' = 0\n%.17g*y + %.17g*z = 3*x\n%.17g*y + %.17g*z = -%.17g*x", 0.0, true, false},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    for (int k = -12; k <= 12; k += 4) {
      double a = pow(10.0, k), b = pow(10.0, -k / 2), e = pow(10.0, k / 4);
      char text[256];
      double second = c->least || c->failed ? 1.0 : 2.0;
      snprintf(text, sizeof text, c->text, a, b, e * a, second * e * b, 3.0 * e);
      Block block;
      block_open(&block, &arena, text);
      double x = 2.0;
      uint32_t failed = 0, least = 0;
      block_run(&block, 0.0, &x, &failed, &least);
      CHECK((failed != MODEL_NONE) == c->failed, text);
      CHECK((least != MODEL_NONE) == c->least, text);
      double y = a * value_of(&block, "y"), z = b * value_of(&block, "z");
      if (!c->failed) CHECK_NEAR(y + z, 6.0, 1e-9, 1e-9);
      if (!c->failed && !c->least) CHECK_NEAR(y, c->y, 1e-12, 1e-12);
      model_build_free(block.build);
    }
  }
  arena_free(&arena);
}
