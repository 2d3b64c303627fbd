// SPDX-License-Identifier: MIT
//
// Shapes: layout, simplification, derivatives, solving for an unknown.
#include "ir_text.h"
#include "symbolic/symbolic.h"

/// Random expressions over a few slots, by random choice of operators.
typedef struct Random {
  uint64_t seed;
  IrPool* pool;
  uint32_t slots;
  bool smooth;  // differentiable everywhere, without poles near the arguments used
} Random;

static ExprId random_expr(Random* r, int depth);

static ExprId random_leaf(Random* r) {
  static const double numbers[] = {0.0, 1.0, 2.0, 3.0, 0.5, -1.0, -2.0, 0.25, 1.5};
  uint64_t pick = test_random(&r->seed) % 10;
  if (pick < 6) return ir_slot(r->pool, (uint32_t)(test_random(&r->seed) % r->slots));
  if (pick < 7) return ir_node(r->pool, IR_TIME, (ExprId){0}, (ExprId){0}, (ExprId){0});
  return ir_const(r->pool, numbers[test_random(&r->seed) % SLT_COUNT(numbers)]);
}

static ExprId random_condition(Random* r, int depth) {
  IrOp op = (IrOp)(IR_LT + test_random(&r->seed) % 6);
  ExprId a = random_expr(r, depth - 1);
  ExprId b = random_expr(r, depth - 1);
  ExprId relation = ir_node(r->pool, op, a, b, (ExprId){0});
  uint64_t pick = test_random(&r->seed) % 6;
  if (pick == 0) return ir_node(r->pool, IR_NOT, relation, (ExprId){0}, (ExprId){0});
  if (pick > 2 || depth < 2) return relation;
  ExprId other = random_condition(r, depth - 1);
  return ir_node(r->pool, pick == 1 ? IR_AND : IR_OR, relation, other, (ExprId){0});
}

static ExprId random_expr(Random* r, int depth) {
  static const IrOp smooth[] = {
#define ENTRY(X, name, ...) IR_##name,
      BASE_FUNCTIONS(ENTRY, )
#undef ENTRY
          IR_NEG,
      IR_ADD,
      IR_SUB,
      IR_MUL,
      IR_DIV,
      IR_POW,
      IR_SQRT,
      IR_ATAN2};
  static const IrOp rough[] = {IR_ABS, IR_SIGN, IR_FLOOR, IR_CEIL,
                               IR_MIN, IR_MAX,  IR_MOD,   IR_SELECT};
  if (depth <= 0 || test_random(&r->seed) % 8 == 0) return random_leaf(r);
  bool take_rough = !r->smooth && test_random(&r->seed) % 4 == 0;
  IrOp op = take_rough ? rough[test_random(&r->seed) % SLT_COUNT(rough)]
                       : smooth[test_random(&r->seed) % SLT_COUNT(smooth)];
  if (op == IR_SELECT) {
    ExprId condition = random_condition(r, depth - 1);
    ExprId a = random_expr(r, depth - 1);
    return ir_node(r->pool, op, condition, a, random_expr(r, depth - 1));
  }
  ExprId a = random_expr(r, depth - 1);
  ExprId b = {0};
  // an exponent that only simplification makes a number would change the last bit of the power
  if (ir_op_arity(op) > 1) b = random_expr(r, op == IR_POW ? 0 : depth - 1);
  return ir_node(r->pool, op, a, b, (ExprId){0});
}

static uint64_t seed_of(const char* test) {
  const char* given = getenv("SALTUS_TEST_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 0) : 20211;
  print_message("%s: seed %llu (SALTUS_TEST_SEED)\n", test, (unsigned long long)seed);
  return seed;
}

static void empty_model(IrModel* model, Arena* arena) {
  ir_model_init(model, arena, NULL);
}

/// Value of a shape, with the extreme sizes of its intermediate values, and whether one is 0.
typedef struct Traced {
  double value, largest, smallest;
  bool has_zero;
} Traced;

static Traced trace(Sym* sym, Arena* arena, ExprId shape, const double* slots) {
  const SymShape* laid = sym_shape(sym, shape);
  Traced result = {.smallest = HUGE_VAL};
  for (uint32_t i = 0; i < laid->count; i++) {
    result.value = sym_eval(sym, arena, laid->steps[i].expr, NULL, slots, 0.75);
    result.largest = fmax(result.largest, fabs(result.value));
    if (result.value != 0.0) result.smallest = fmin(result.smallest, fabs(result.value));
    result.has_zero |= result.value == 0.0 && laid->steps[i].op != IR_CONST;
    laid = sym_shape(sym, shape);
  }
  return result;
}

static bool same_value(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

TEST(simplify_keeps_values) {
  TEST_ARENA(arena);
  IrModel model;
  empty_model(&model, &arena);
  Random r = {.seed = seed_of("simplify_keeps_values"), .pool = &model.pool, .slots = 3};
  ExprId shapes[2000];
  for (size_t i = 0; i < SLT_COUNT(shapes); i++) {
    shapes[i] = random_expr(&r, 6);
  }
  Sym sym;
  sym_init(&sym, &arena, &model);
  for (size_t i = 0; i < SLT_COUNT(shapes); i++) {
    ExprId simple = sym_simplify(&sym, shapes[i]);
    CHECK(sym_shape(&sym, simple)->count <= sym_shape(&sym, shapes[i])->count, "not longer");
    for (int k = 0; k < 8; k++) {
      double slots[3];
      for (int j = 0; j < 3; j++) {
        slots[j] = k == 7 ? (double)NAN : test_uniform(&r.seed, -3.0, 3.0);
      }
      double before = sym_eval(&sym, &arena, shapes[i], NULL, slots, 0.75);
      double after = sym_eval(&sym, &arena, simple, NULL, slots, 0.75);
      // the sign of a zero may change, and with it anything
      if (!same_value(before, after) && !trace(&sym, &arena, shapes[i], slots).has_zero) {
        TextBuffer text = {.arena = &arena};
        text_append_format(&text, "shape %zu", i);
        test_check_near(__FILE__, __LINE__, text_str(&text).data, after, before, 0.0, 0.0);
        CHECK(false, text_str(&text).data);
      }
    }
  }
  arena_free(&arena);
}

TEST(identities) {
  static const struct {
    const char* in;
    const char* want;
  } cases[] = {
      {"x + 0", "x"},
      {"0 + x", "x"},
      {"x - 0", "x"},
      {"0 - x", "-x"},
      {"x*1", "x"},
      {"1*x", "x"},
      {"x/1", "x"},
      {"-(-x)", "x"},
      {"x^1", "x"},
      {"x^2", "x^2"},
      {"x + (-y)", "x - y"},
      {"x - (-y)", "x + y"},
      {"x*0", "x*0"},
      {"0/x", "0/x"},
      {"x - x", "x - x"},
      {"2*3*x", "6*x"},
      {"if(1 < 2, x, y)", "x"},
      {"if(x < y, x, x)", "x"},
      {"x*(3 - 2)", "x"},
      {"2^3 + x", "8 + x"},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    IrText text;
    const char* line = str_format(&arena, "macro m = %s", c->in).data;
    const IrModel* ir = ir_text(&text, &arena, line);
    Sym sym;
    sym_init(&sym, &arena, ir);
    SymTerm term = sym_term(&sym, ir->macros.data[0].value);
    TextBuffer out = {.arena = &arena};
    ir_print_expr(&out, &sym.view, sym_simplify(&sym, term.shape), term.row);
    CHECK_STR(text_str(&out), c->want, c->in);
  }
  arena_free(&arena);
}

/// Central difference with Richardson extrapolation, and an estimate of its own error.
static double difference(Sym* sym, Arena* arena, ExprId shape, const double* at, uint32_t slot,
                         double* error) {
  double estimates[2];
  for (int level = 0; level < 2; level++) {
    double h = level ? 2.718e-4 : 1e-3;  // no common multiple, so that jumps cannot hide
    double values[4];
    static const double steps[] = {-2.0, -1.0, 1.0, 2.0};
    for (int k = 0; k < 4; k++) {
      double moved[3] = {at[0], at[1], at[2]};
      moved[slot] += steps[k] * h;
      values[k] = sym_eval(sym, arena, shape, NULL, moved, 0.75);
    }
    estimates[level] = (values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * h);
  }
  *error = fabs(estimates[0] - estimates[1]);
  return estimates[1];
}

TEST(derivatives_against_differences) {
  TEST_ARENA(arena);
  IrModel model;
  empty_model(&model, &arena);
  Random r = {.seed = seed_of("derivatives_against_differences"), .pool = &model.pool, .slots = 3};
  ExprId shapes[1500];
  for (size_t i = 0; i < SLT_COUNT(shapes); i++) {
    r.smooth = i % 3 != 0;
    shapes[i] = random_expr(&r, 5);
  }
  Sym sym;
  sym_init(&sym, &arena, &model);
  uint32_t compared = 0;
  uint32_t undefined = 0;
  for (size_t i = 0; i < SLT_COUNT(shapes); i++) {
    for (uint32_t slot = 0; slot < 3; slot++) {
      ExprId derivative = sym_derivative(&sym, shapes[i], slot);
      double at[3];
      for (int j = 0; j < 3; j++) {
        at[j] = test_uniform(&r.seed, 0.2, 1.8);
      }
      double error = 0.0;
      double expected = difference(&sym, &arena, shapes[i], at, slot, &error);
      double got = sym_eval(&sym, &arena, derivative, NULL, at, 0.75);
      // where the difference itself is uncertain (kinks, poles, domain ends) nothing can be said
      double scale = 1.0 + fabs(expected);
      if (!(error <= 1e-9 * scale) || !isfinite(expected) || fabs(expected) > 50.0) continue;
      // and where large or tiny intermediate values make noise of it
      Traced traced = trace(&sym, &arena, shapes[i], at);
      if (traced.largest > 1e3 || traced.smallest < 1e-8) continue;
      if (!isfinite(got)) {
        // a derivative rule may meet 0*inf where the function is constant: 0^u, atan2 at infinity
        undefined++;
        continue;
      }
      CHECK_NEAR(got, expected, 1e-6, 1e-6);
      compared++;
    }
  }
  print_message("compared %u derivatives\n", compared);
  CHECK(compared > 1500 && undefined < compared / 50, "enough of them");
  arena_free(&arena);
}

static Str derivative_text(Arena* arena, const char* expression) {
  IrText text;
  const char* line =
      str_format(arena, "data T linear 0 0 1 1\nmacro m = %s\nx = 1\ny = 1", expression).data;
  const IrModel* ir = ir_text(&text, arena, line);
  Sym sym;
  sym_init(&sym, arena, ir);
  SymTerm term = sym_term(&sym, ir->macros.data[0].value);
  SymTerm total = sym_total_derivative(&sym, arena, term, NULL);
  TextBuffer out = {.arena = arena};
  ir_print_expr(&out, &sym.view, total.shape, total.row);
  return text_str(&out);
}

TEST(total_derivatives) {
  static const struct {
    const char* in;
    const char* want;
  } cases[] = {
      {"x", "x'"},
      {"x'", "x''"},
      {"t", "1"},
      {"t*t", "2*time"},
      {"x*y", "y*x' + x*y'"},
      {"x*x", "2*x*x'"},
      {"x/y", "(x' - x/y*y')/y"},
      {"x^2", "2*x*x'"},
      {"x^3", "3*x^2*x'"},
      {"sin(x)", "cos(x)*x'"},
      {"cos(x)", "-sin(x)*x'"},
      {"exp(x)", "exp(x)*x'"},
      {"sqrt(x)", "x'/(2*sqrt(x))"},
      {"abs(x)", "sign(x)*x'"},
      {"floor(x) + sign(x)", "0"},
      {"min(x, y)", "if(x < y, x', y')"},
      {"if(x < y, x, 3)", "if(x < y, x', 0)"},
      {"2.5*x + 7.5", "2.5*x'"},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) CHECK_STR(derivative_text(&arena, c->in), c->want, c->in);
  arena_free(&arena);
}

TEST(what_stands_still) {
  // parameters, discrete variables, truths, entry times: none of them moves
  TEST_ARENA(arena);
  IrText text;
  const IrModel* ir =
      ir_text(&text, &arena,
              "param k = 2\ndiscrete n\natom a = x - 1\nautomaton w\n"
              "macro m = k*n + if(a, k, n) + if(w.init, k, n) + entry(w) + entry()\n"
              "macro p = k*pre(x)\nx = 1");
  Sym sym;
  sym_init(&sym, &arena, ir);
  SymTerm still =
      sym_total_derivative(&sym, &arena, sym_term(&sym, ir->macros.data[0].value), NULL);
  CHECK(sym_is_number(&sym, still.shape, 0.0), "all zero");
  // between events pre(x) is x
  SymTerm moves =
      sym_total_derivative(&sym, &arena, sym_term(&sym, ir->macros.data[1].value), NULL);
  TextBuffer out = {.arena = &arena};
  ir_print_expr(&out, &sym.view, moves.shape, moves.row);
  CHECK_STR(text_str(&out), "k*x'", "pre");
  arena_free(&arena);
}

TEST(long_chains) {
  // 1e5 additions, and as deep as products get: no recursion anywhere
  TEST_ARENA(arena);
  IrModel model;
  empty_model(&model, &arena);
  const uint32_t count = 100000;
  ExprId sum = ir_slot(&model.pool, 0);
  for (uint32_t i = 1; i < count; i++) {
    sum = ir_node(&model.pool, IR_ADD, sum, ir_slot(&model.pool, i), (ExprId){0});
  }
  ExprId product = ir_slot(&model.pool, 0);
  for (uint32_t i = 1; i < count; i++) {
    product = ir_node(&model.pool, IR_MUL, product, ir_slot(&model.pool, i % 7), (ExprId){0});
  }
  ExprId equation = ir_node(&model.pool, IR_EQUALS, sum, ir_const(&model.pool, 0.0), (ExprId){0});
  Sym sym;
  sym_init(&sym, &arena, &model);
  CHECK(sym_shape(&sym, sum)->count == 2 * count - 1, "steps");
  ExprId d = sym_derivative(&sym, sum, count / 2);
  CHECK(sym_is_number(&sym, d, 1.0), "derivative of a sum");
  CHECK(sym_simplify(&sym, sum).index == sum.index, "already simple");
  double slots[7] = {1, 1, 1, 1, 1, 1, 1};
  double value = sym_eval(&sym, &arena, sym_derivative(&sym, product, 3), NULL, slots, 0.0);
  CHECK(value == floor((count - 4) / 7.0) + 1.0, "derivative of a product");
  uint32_t slot = 17;
  ExprId solved = {0};
  CHECK(sym_solve(&sym, equation, &slot, 1, &solved) == SYM_LINEAR, "solved");
  arena_free(&arena);
}

TEST(every_draw_counts) {
  // hash-consing makes one node of two draws; the layout makes two of it again
  TEST_ARENA(arena);
  IrText text;
  const IrModel* ir =
      ir_text(&text, &arena,
              "discrete n\nautomaton a\nstate s\n"
              "set n = (random() - random())*(random() - random()) + (n + 1)*(n + 1)\n"
              "from init when true");
  Sym sym;
  sym_init(&sym, &arena, ir);
  const SymShape* shape = sym_shape(&sym, ir->actions.data[0].value.shape);
  uint32_t draws = 0;
  uint32_t sums = 0;
  for (uint32_t i = 0; i < shape->count; i++) {
    draws += shape->steps[i].op == IR_RANDOM;
    sums += shape->steps[i].op == IR_ADD;
  }
  CHECK(draws == 4, "four draws");
  CHECK(sums == 2, "the rest is shared");

  arena_free(&arena);
}

/// Whether laying out a shape runs out of (permitted) memory.
static bool is_refused(const IrModel* model, ExprId shape) {
  jmp_buf refused;
  Arena arena;
  arena_init(&arena, NULL, &refused);
  bool done = setjmp(refused) != 0;
  if (!done) {
    Sym sym;
    sym_init(&sym, &arena, model);
    sym_shape(&sym, shape);
  }
  arena_free(&arena);
  return done;
}

TEST(doubled_draws_are_refused) {
  TEST_ARENA(arena);
  IrModel model;
  empty_model(&model, &arena);
  ExprId e = ir_node(&model.pool, IR_RANDOM, (ExprId){0}, (ExprId){0}, (ExprId){0});
  for (int i = 0; i < 40; i++) {
    if (i < 10) CHECK(!is_refused(&model, e), "some draws are fine");
    e = ir_node(&model.pool, IR_ADD, e, e, (ExprId){0});
  }
  CHECK(is_refused(&model, e), "2^40 of them are not");
  arena_free(&arena);
}

TEST(solving) {
  static const struct {
    const char* equation;
    const char* unknown;
    uint8_t order;
    SymSolution how;
    const char* want;
  } cases[] = {
      {"x' = v*2.5 - 0", "x", 1, SYM_EXPLICIT, "v*2.5 - 0"},
      {"2.5*v = x'", "x", 1, SYM_EXPLICIT, "2.5*v"},
      {"m*v' = -k*x", "v", 1, SYM_LINEAR, "-k*x/m"},
      {"2*x'' - 4*x' + 10*t*x - 3*t^2 = 0", "x", 2, SYM_LINEAR,
       "(3*time^2 - (10*time*x - 4*x'))/2"},
      {"x + y = 1", "y", 0, SYM_LINEAR, "1 - x"},
      {"x - y = 1", "y", 0, SYM_LINEAR, "x - 1"},
      {"-y = x", "y", 0, SYM_LINEAR, "-x"},
      {"m*(y + x)/k = 2*y", "y", 0, SYM_LINEAR, "-(m*x/k)/(m/k - 2)"},
      {"if(x < 1, 2*y, y) = z", "y", 0, SYM_LINEAR, "z/if(x < 1, 2, 1)"},
      {"x + y = y + z", "y", 0, SYM_CANCELS, ""},
      {"y*y = x", "y", 0, SYM_NONLINEAR, ""},
      {"sin(y) = x", "y", 0, SYM_NONLINEAR, ""},
      {"x/y = 1", "y", 0, SYM_NONLINEAR, ""},
      {"if(y < 1, x, z) = y", "y", 0, SYM_NONLINEAR, ""},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    IrText text;
    const char* line = str_format(&arena, "param m = 1\nparam k = 1\n%s", c->equation).data;
    const IrModel* ir = ir_text(&text, &arena, line);
    Sym sym;
    sym_init(&sym, &arena, ir);
    SymTerm term = sym_term(&sym, ir->equations.data[0].term);
    uint32_t var = ir_text_var(ir, c->unknown);
    uint32_t slot = 0;
    while (term.row[slot].kind != IR_LEAF_VAR || term.row[slot].id != var ||
           term.row[slot].order != c->order) {
      slot++;
    }
    ExprId value = {0};
    SymSolution how = sym_solve(&sym, term.shape, &slot, 1, &value);
    CHECK(how == c->how, c->equation);
    if (how != SYM_EXPLICIT && how != SYM_LINEAR) continue;
    TextBuffer out = {.arena = &arena};
    ir_print_expr(&out, &sym.view, value, term.row);
    CHECK_STR(text_str(&out), c->want, c->equation);
  }
  arena_free(&arena);
}

/// Random expression that is linear in slot 0 and anything in the others.
static ExprId random_linear(Random* r, int depth) {
  IrPool* pool = r->pool;
  if (depth == 0) return ir_slot(pool, 0);
  ExprId inner = random_linear(r, depth - 1);
  Random rest = *r;
  rest.slots = 2;
  ExprId other = random_expr(&rest, 2);
  r->seed = rest.seed;
  switch (test_random(&r->seed) % 6) {
  case 0: return ir_node(pool, IR_ADD, inner, other, (ExprId){0});
  case 1: return ir_node(pool, IR_SUB, other, inner, (ExprId){0});
  case 2: return ir_node(pool, IR_MUL, inner, other, (ExprId){0});
  case 3: return ir_node(pool, IR_MUL, other, inner, (ExprId){0});
  case 4: return ir_node(pool, IR_DIV, inner, other, (ExprId){0});
  default: return ir_node(pool, IR_NEG, inner, (ExprId){0}, (ExprId){0});
  }
}

TEST(solutions_satisfy_their_equations) {
  TEST_ARENA(arena);
  IrModel model;
  empty_model(&model, &arena);
  Random r = {
      .seed = seed_of("solutions_satisfy_their_equations"), .pool = &model.pool, .slots = 2};
  ExprId shapes[1000];
  for (size_t i = 0; i < SLT_COUNT(shapes); i++) {
    ExprId left = random_linear(&r, 1 + (int)(i % 6));
    ExprId right = i % 2 ? random_linear(&r, 1 + (int)(i % 3)) : ir_const(&model.pool, 1.0);
    shapes[i] = ir_node(&model.pool, IR_EQUALS, left, right, (ExprId){0});
  }
  Sym sym;
  sym_init(&sym, &arena, &model);
  uint32_t solved = 0;
  for (size_t i = 0; i < SLT_COUNT(shapes); i++) {
    // slot 0 may stand in the other factors too: then it is not linear, which must be noticed
    uint32_t slot = 0;
    ExprId value = {0};
    SymSolution how = sym_solve(&sym, shapes[i], &slot, 1, &value);
    if (how != SYM_EXPLICIT && how != SYM_LINEAR) continue;
    double slots[3] = {(double)NAN, test_uniform(&r.seed, 0.5, 2.0), 0.0};
    slots[0] = sym_eval(&sym, &arena, value, NULL, slots, 0.75);
    if (!isfinite(slots[0]) || fabs(slots[0]) > 1e6) continue;
    const IrNode* node = &sym.view.pool.nodes.data[shapes[i].index];
    double left = sym_eval(&sym, &arena, (ExprId){node->arg[0]}, NULL, slots, 0.75);
    node = &sym.view.pool.nodes.data[shapes[i].index];
    double right = sym_eval(&sym, &arena, (ExprId){node->arg[1]}, NULL, slots, 0.75);
    double largest = fmax(trace(&sym, &arena, shapes[i], slots).largest,
                          trace(&sym, &arena, value, slots).largest);
    if (!isfinite(left) || !isfinite(right) || !isfinite(largest)) continue;
    CHECK_NEAR(left, right, 1e-9 * (1.0 + largest), 1e-9);
    solved++;
  }
  print_message("%u equations solved\n", solved);
  CHECK(solved > 80, "enough of them");
  arena_free(&arena);
}

TEST(unshared_slots_are_solved_together) {
  // a front end that does not share slots: x stands in slots 0 and 1
  TEST_ARENA(arena);
  IrModel model;
  empty_model(&model, &arena);
  ExprId sum =
      ir_node(&model.pool, IR_ADD, ir_slot(&model.pool, 0), ir_slot(&model.pool, 1), (ExprId){0});
  ExprId equation = ir_node(&model.pool, IR_EQUALS, sum, ir_slot(&model.pool, 2), (ExprId){0});
  Sym sym;
  sym_init(&sym, &arena, &model);
  uint32_t slots[] = {0, 1};
  ExprId value = {0};
  CHECK(sym_solve(&sym, equation, slots, 2, &value) == SYM_LINEAR, "linear");
  double at[] = {0.0, 0.0, 5.0};
  CHECK(sym_eval(&sym, &arena, value, NULL, at, 0.0) == 2.5, "half each");
  arena_free(&arena);
}
