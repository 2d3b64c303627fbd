// SPDX-License-Identifier: MIT
//
// Programs with loops give the bits of their tape: random shapes over many instances, with
// neighbours, shared parts, chains, sums, blocks of equations and outputs in any order.
#include "model/build_internal.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define STATES   400
#define INPUTS   50
#define TERM_MAX 24

typedef struct Fixture {
  Arena arena;
  TapeGraph graph;
  uint64_t seed;
  bool smooth;  // operations whose slopes are bounded
  uint32_t x[STATES];
  uint32_t input[INPUTS];
} Fixture;

static uint32_t random_below(Fixture* f, uint32_t bound) {
  f->seed = f->seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(f->seed >> 33) % bound;
}

static void begin(Fixture* f, uint64_t seed) {
  *f = (Fixture){.seed = seed};
  arena_init(&f->arena, NULL, &test_oom);
  tape_init(&f->graph, &f->arena);
  for (uint32_t i = 0; i < STATES; i++) {
    f->x[i] = tape_state(&f->graph, i);
  }
  for (uint32_t i = 0; i < INPUTS; i++) {
    f->input[i] = tape_input(&f->graph, i);
  }
}

/// A random expression, the same for every instance but for its leaves.
typedef struct Shape {
  struct {
    uint32_t op;  // IrOp
    uint32_t leaf[3];
    uint32_t arg[3];
    int32_t shift;  // of the neighbour that a leaf reads
  } steps[TERM_MAX];
  uint32_t count;
} Shape;

static const IrOp shape_ops[] = {IR_ADD, IR_SUB, IR_MUL,  IR_DIV, IR_MIN,  IR_MAX,    IR_LT,
                                 IR_NEG, IR_SIN, IR_SQRT, IR_ABS, IR_TANH, IR_SELECT, IR_ADD,
                                 IR_MUL, IR_SUB, IR_MOD,  IR_AND, IR_NOT,  IR_SIGN,   IR_POW};

static const IrOp smooth_ops[] = {IR_ADD, IR_SUB, IR_MUL, IR_SIN, IR_TANH, IR_NEG, IR_ABS};

static Shape random_shape(Fixture* f) {
  Shape shape = {.count = 1 + random_below(f, TERM_MAX)};
  for (uint32_t i = 0; i < shape.count; i++) {
    shape.steps[i].op = f->smooth ? smooth_ops[random_below(f, SLT_COUNT(smooth_ops))]
                                  : shape_ops[random_below(f, SLT_COUNT(shape_ops))];
    shape.steps[i].shift = (int32_t)random_below(f, 5) - 2;
    for (uint32_t k = 0; k < 3; k++) {
      shape.steps[i].leaf[k] = random_below(f, i ? 9 : 5);
      shape.steps[i].arg[k] = i ? i - 1 - random_below(f, i < 3 ? i : 3) : 0;
    }
  }
  return shape;
}

static uint32_t leaf(Fixture* f, const Shape* shape, uint32_t step, uint32_t which, uint32_t k,
                     const uint32_t* made, uint32_t previous) {
  uint32_t neighbour = (uint32_t)((int32_t)k + STATES + shape->steps[step].shift) % STATES;
  switch (shape->steps[step].leaf[which]) {
  case 0: return f->x[k % STATES];
  case 1: return f->x[neighbour];
  case 2: return f->input[(k * 7) % INPUTS];
  case 3: return tape_const(&f->graph, 0.5 + (double)which);
  case 4: return shape->steps[step].shift == 0 ? previous : f->x[k * 13 % STATES];
  default: return made[shape->steps[step].arg[which]];
  }
}

static uint32_t instance(Fixture* f, const Shape* shape, uint32_t k, uint32_t previous) {
  uint32_t made[TERM_MAX];
  for (uint32_t i = 0; i < shape->count; i++) {
    uint32_t a = leaf(f, shape, i, 0, k, made, previous);
    uint32_t b = leaf(f, shape, i, 1, k, made, previous);
    uint32_t c = leaf(f, shape, i, 2, k, made, previous);
    if (shape->steps[i].op == IR_SELECT) a = tape_op(&f->graph, IR_GT, a, c, 0);
    made[i] = tape_op(&f->graph, (IrOp)shape->steps[i].op, a, b, c);
  }
  return made[shape->count - 1];
}

static double number(Fixture* f) {
  return ((double)random_below(f, 4001) - 2000.0) / 700.0;
}

/// Bounds by blocks, as they are handed over.
typedef struct Bounds {
  double *lo, *hi;
  uint8_t* seen;
} Bounds;

static void take_bounds(void* user, uint32_t output, uint32_t count, const double* lo,
                        const double* hi) {
  const Bounds* bounds = user;
  CHECK(count <= MODEL_BOUND_LANES, "a block");
  for (uint32_t k = 0; k < count; k++) {
    bounds->seen[output + k]++;
    bounds->lo[output + k] = lo[k];
    bounds->hi[output + k] = hi[k];
  }
}

/// Bounds over blocks of instances are those of the tape on enclosures: the same bits where slopes
/// are bounded. Where they are not (a jump, a pole), which only the tape looks at, it rounds in
/// another way, and blocks are no narrower.
static void check_bounds(Fixture* f, const ModelProgram* program, const double* regs,
                         const double* env, const double* x) {
  if (!model_program_has_bounds(program)) return;
  uint32_t count = program->output_count;
  ModelDual* dual_regs = ARENA_ARRAY(&f->arena, ModelDual, program->reg_count);
  ModelDual* want = ARENA_ARRAY(&f->arena, ModelDual, count);
  ModelInterval* room = ARENA_ARRAY(&f->arena, ModelInterval, model_program_bound_room(program));
  Bounds bounds = {.lo = ARENA_ARRAY(&f->arena, double, count),
                   .hi = ARENA_ARRAY(&f->arena, double, count),
                   .seen = ARENA_ARRAY(&f->arena, uint8_t, count)};
  ModelDual x_dual[STATES];
  double lo[STATES];
  double hi[STATES];
  for (uint32_t i = 0; i < STATES; i++) {
    double width = random_below(f, 4) == 0 ? 0.0 : 1e-3 * (double)random_below(f, 1000);
    double size = !f->smooth && random_below(f, 400) == 0 ? 1e200 : 1.0;  // out of the ordinary
    lo[i] = size * (x[i] - width);
    hi[i] = size * (x[i] + width);
    x_dual[i] = (ModelDual){{lo[i], hi[i]}, {0.0, 0.0}};
  }
  ModelContext context = {0};
  ModelInterval t = {0.25, 0.5};
  model_program_bind_dual(program, env, dual_regs);
  model_program_enclose(program, &context, dual_regs, model_time(t.lo, t.hi), x_dual, want);
  model_program_bound(program, &context, regs, t, lo, hi, room, take_bounds, &bounds);
  for (uint32_t i = 0; i < count; i++) {
    bool same = bounds.lo[i] == want[i].v.lo && bounds.hi[i] == want[i].v.hi;
    bool wider = bounds.lo[i] <= want[i].v.lo && bounds.hi[i] >= want[i].v.hi;
    if (bounds.seen[i] == 1 && (f->smooth ? same : wider)) continue;
    print_error("output %u, given %u times: [%.17g, %.17g], not [%.17g, %.17g]\n", i,
                bounds.seen[i], bounds.lo[i], bounds.hi[i], want[i].v.lo, want[i].v.hi);
    fail();
  }
}

/// Runs both ways; returns whether there were loops.
static bool check_same(Fixture* f, const uint32_t* outputs, uint32_t count) {
  ModelProgram program = tape_finish(&f->graph, &f->arena, STATES, outputs, count);
  tape_roll(&f->arena, &f->arena, &program);
  if (!program.roll) return false;
  ModelProgram plain = program;
  plain.roll = NULL;
  double* regs = ARENA_ARRAY(&f->arena, double, program.reg_count);
  double* out = ARENA_ARRAY(&f->arena, double, count);
  double* want = ARENA_ARRAY(&f->arena, double, count);
  double env[INPUTS];
  double x[STATES];
  for (uint32_t run = 0; run < 2; run++) {
    for (uint32_t i = 0; i < INPUTS; i++) {
      env[i] = number(f);
    }
    for (uint32_t i = 0; i < STATES; i++) {
      x[i] = number(f);
    }
    ModelContext context = {0};
    model_program_bind(&program, env, regs);
    model_program_run(&program, &context, regs, 0.25, x, out);
    check_bounds(f, &program, regs, env, x);
    model_program_bind(&plain, env, regs);
    model_program_run(&plain, &context, regs, 0.25, x, want);
    for (uint32_t i = 0; i < count; i++) {
      bool both_nan = out[i] != out[i] && want[i] != want[i];
      if (!both_nan && memcmp(&out[i], &want[i], sizeof *out) != 0) {
        print_error("output %u of %u: %.17g, not %.17g\n", i, count, out[i], want[i]);
        fail();
      }
    }
  }
  return true;
}

/// A program of random shapes, both ways; whether it has loops.
static bool check_random(uint64_t seed, bool smooth) {
  Fixture f;
  begin(&f, seed);
  f.smooth = smooth;
  uint32_t outputs[4 * STATES];
  uint32_t count = 0;
  uint32_t shapes = 1 + random_below(&f, 4);
  for (uint32_t s = 0; s < shapes; s++) {
    Shape shape = random_shape(&f);
    uint32_t instances = 40 + random_below(&f, STATES - 40);
    uint32_t way = random_below(&f, 4);
    uint32_t previous = f.x[0];
    for (uint32_t k = 0; k < instances; k++) {
      uint32_t value = instance(&f, &shape, k, previous);
      previous = value;
      if (way < 3 || k % 3 == 0) outputs[count++] = value;
      // something else in between now and then
      if (way == 2 && k == instances / 2) previous = tape_op(&f.graph, IR_EXP, value, 0, 0);
    }
    if (way == 1) {
      // a sum over everything reads all instances one by one
      uint32_t sum = outputs[0];
      for (uint32_t i = 1; i < count; i++) {
        sum = tape_op(&f.graph, IR_ADD, sum, outputs[i], 0);
      }
      outputs[count - 1] = sum;
    }
  }
  if (random_below(&f, 3) == 0) {
    for (uint32_t i = count; i-- > 1;) {
      uint32_t other = random_below(&f, i + 1);
      uint32_t swap = outputs[i];
      outputs[i] = outputs[other];
      outputs[other] = swap;
    }
  }
  bool rolled = check_same(&f, outputs, count);
  arena_free(&f.arena);
  return rolled;
}

TEST(random_shapes_have_the_bits_of_the_tape) {
  uint32_t rolled = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    rolled += check_random(seed, false);
  }
  CHECK(rolled > 60, "most random shapes become loops");
}

TEST(smooth_shapes_have_the_bounds_of_the_tape) {
  uint32_t rolled = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    rolled += check_random(seed, true);
  }
  CHECK(rolled > 20, "many random shapes become loops");
}

/// Straight code reads values of several operations of a loop, which the tape has kept in registers
/// that other instances use as well: side by side they would overwrite each other. One random
/// program in a thousand is like that; these are.
TEST(values_that_straight_code_reads_are_not_overwritten) {
  static const uint64_t seeds[] = {963, 1557, 1597, 2408, 4538, 4646, 4879, 5098};
  for (size_t i = 0; i < SLT_COUNT(seeds); i++) {
    check_random(seeds[i], false);
  }
}

/// A stencil: differences that neighbours share are computed once, by the instance before.
TEST(shared_differences_of_neighbours_become_a_loop) {
  Fixture f;
  begin(&f, 7);
  uint32_t outputs[STATES - 2];
  for (uint32_t i = 1; i + 1 < STATES; i++) {
    uint32_t left = tape_op(&f.graph, IR_SUB, f.x[i], f.x[i - 1], 0);
    uint32_t right = tape_op(&f.graph, IR_SUB, f.x[i + 1], f.x[i], 0);
    uint32_t change = tape_op(&f.graph, IR_SUB, right, left, 0);
    outputs[i - 1] = tape_op(&f.graph, IR_MUL, change, f.input[0], 0);
  }
  CHECK(check_same(&f, outputs, STATES - 2), "a loop although instances read each other");
  arena_free(&f.arena);
}

/// A plate: neighbours follow each other but for the ends of rows, and beyond the last row, in the
/// middle of a block, lie inputs instead of states.
TEST(cells_of_a_plate_read_runs_of_neighbours) {
  enum { SIDE = 20 };
  Fixture f;
  begin(&f, 12);
  f.smooth = true;
  uint32_t outputs[STATES];
  for (uint32_t i = 0; i < STATES; i++) {
    uint32_t right = f.x[i - i % SIDE + (i + 1) % SIDE];
    uint32_t below = i + SIDE < STATES ? f.x[i + SIDE] : f.input[i + SIDE - STATES];
    uint32_t sum = tape_op(&f.graph, IR_ADD, right, below, 0);
    outputs[i] = tape_op(&f.graph, IR_SUB, sum, f.x[i], 0);
  }
  CHECK(check_same(&f, outputs, STATES), "a loop");
  arena_free(&f.arena);
}

/// Operations that are alike by chance: one operation repeated could not be a loop, since some read
/// others; the equations that they come from can. In two orders.
TEST(equations_of_one_operation_become_loops) {
  for (uint32_t order = 0; order < 2; order++) {
    Fixture f;
    begin(&f, 11);
    uint32_t outputs[2 * STATES];
    uint32_t count = 0;
    for (uint32_t part = 0; part < 2; part++) {
      for (uint32_t i = 1; i < STATES; i++) {
        uint32_t play = tape_op(&f.graph, IR_SUB, f.x[i - 1], f.x[i], 0);
        uint32_t taut = tape_op(&f.graph, IR_SUB, play, f.input[0], 0);
        uint32_t pushed = tape_op(&f.graph, IR_SUB, f.input[1], play, 0);
        if (part == 0) outputs[count++] = taut;
        if (part == order) outputs[count++] = pushed;
      }
    }
    CHECK(check_same(&f, outputs, count), "loops");
    arena_free(&f.arena);
  }
}

/// What depends on its predecessor in full must stay in order.
TEST(a_recursion_is_no_loop) {
  Fixture f;
  begin(&f, 8);
  uint32_t value = f.x[0];
  for (uint32_t i = 1; i < STATES; i++) {
    value = tape_op(&f.graph, IR_ADD, tape_op(&f.graph, IR_MUL, value, f.input[0], 0), f.x[i], 0);
  }
  CHECK(!check_same(&f, &value, 1), "stays on the tape");
  arena_free(&f.arena);
}

/// A block of equations between loops: it reads what one loop made, and the next reads its unknown.
TEST(blocks_of_equations_stand_between_loops) {
  Fixture f;
  begin(&f, 9);
  uint32_t outputs[2 * STATES];
  uint32_t sum = f.input[1];
  for (uint32_t i = 0; i < STATES; i++) {
    outputs[i] = tape_op(&f.graph, IR_MUL, f.x[i], f.input[0], 0);
    outputs[i] = tape_op(&f.graph, IR_TANH, outputs[i], 0, 0);
  }
  sum = tape_op(&f.graph, IR_ADD, outputs[3], outputs[STATES - 2], 0);
  uint32_t trial = tape_trial(&f.graph);
  uint32_t guess = tape_const(&f.graph, 0.0);
  uint32_t slope = tape_const(&f.graph, 2.0);
  TapeSolve solve = {.count = 1, .linear = true, .trials = &trial, .guesses = &guess};
  ModelEntry entry = {.row = 0, .column = 0, .reg = slope};
  solve.entries = &entry;
  solve.entry_count = 1;
  solve.body = tape_body(&f.graph);
  uint32_t twice = tape_op(&f.graph, IR_MUL, slope, trial, 0);
  uint32_t residual = tape_op(&f.graph, IR_SUB, twice, sum, 0);
  solve.residuals = &residual;
  uint32_t pick = 0;
  tape_solve(&f.graph, solve, &pick);
  for (uint32_t i = 0; i < STATES; i++) {
    uint32_t share = tape_op(&f.graph, IR_MUL, pick, outputs[i], 0);
    outputs[STATES + i] = tape_op(&f.graph, IR_SUB, share, f.x[i], 0);
  }
  CHECK(check_same(&f, outputs, 2 * STATES), "loops around the block");
  arena_free(&f.arena);
}

/// What stays beyond its fence, on either side of zero, is far; NaN is always near.
TEST(fences_tell_what_is_far_from_zero) {
  static const struct {
    double lo, hi, fence;
    bool near;
  } cases[] = {
      {-3.0, -2.0, 1.0, false}, {-3.0, -0.5, 1.0, true},          {2.0, 3.0, 1.0, false},
      {0.5, 3.0, 1.0, true},    {-3.0, 3.0, 1.0, true},           {-2.0, -1.0, 1.0, true},
      {-3.0, -2.0, NAN, true},  {-INFINITY, INFINITY, 1.0, true}, {-3.0, 3.0, -INFINITY, false}};
  for (uint32_t n = 1; n <= MODEL_BOUND_LANES; n += 7) {
    double lo[MODEL_BOUND_LANES];
    double hi[MODEL_BOUND_LANES];
    double fence[MODEL_BOUND_LANES];
    double near[MODEL_BOUND_LANES];
    bool clear = true;
    for (uint32_t k = 0; k < n; k++) {
      size_t c = (k + n) % SLT_COUNT(cases);
      lo[k] = cases[c].lo;
      hi[k] = cases[c].hi;
      fence[k] = cases[c].fence;
      clear = clear && !cases[c].near;
    }
    CHECK(model_bounds_clear(n, lo, hi, fence, near) == clear, "all of a block");
    for (uint32_t k = 0; k < n; k++) {
      CHECK((near[k] != 0.0) == cases[(k + n) % SLT_COUNT(cases)].near, "each of them");
    }
  }
}
