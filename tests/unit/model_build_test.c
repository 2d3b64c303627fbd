// SPDX-License-Identifier: MIT
//
// From the IR to programs: bits as written, the programs of modes, the tables of a model.
#include "ir_text.h"
#include "model/build.h"
#include "symbolic/symbolic.h"

typedef struct Built {
  IrText text;
  ModelBuild* build;
  const Model* model;
  double* env;   // present and previous values
  double* regs;  // for programs of the tables
} Built;

static void build_text(Built* b, Arena* arena, const char* text) {
  ir_text(&b->text, arena, text);
  CHECK(model_build_create(NULL, &b->text.model, &b->build) == SLT_OK, "created");
  b->model = model_build_model(b->build);
  b->env = ARENA_ARRAY(arena, double, 2 * (size_t)b->model->env_count);
  b->regs = ARENA_ARRAY(arena, double, b->model->scratch_regs);
}

static double run_table_program(const Built* b, const ModelTerm* term, double t) {
  ModelRandom random;
  model_random_seed(&random, 1, 1);
  ModelContext context = {.tables = b->model->tables, .random = &random};
  const ModelProgram* program = &term->shape->program;
  CHECK(program->output_count == 1 && program->reg_count <= b->model->scratch_regs, "program");
  return model_term_value(term, &context, b->model->numbers, b->env, t, b->regs);
}

static uint32_t var_of(const Built* b, const char* name) {
  return ir_text_var(&b->text.model, name);
}

static uint32_t automaton_of(const Built* b, const char* name) {
  for (uint32_t i = 0; i < b->model->automaton_count; i++) {
    if (str_equal(b->model->automata[i].name, str_from_c(name))) return i;
  }
  test_fail(__FILE__, __LINE__, name, "no such automaton");
}

static double* value_of(const Built* b, const char* name, uint32_t order) {
  const ModelVar* var = &b->model->vars[var_of(b, name)];
  CHECK(order <= var->max_order, name);
  return &b->env[var->env + order];
}

static void set_params(const Built* b) {
  for (uint32_t i = 0; i < b->model->param_count; i++) {
    b->env[b->model->params[i].env] = run_table_program(b, &b->model->params[i].value, 0.0);
  }
}

static const ModelMode* get_mode(const Built* b, const uint32_t* mode) {
  uint32_t first[64] = {0};
  const ModelMode* out = NULL;
  const Diag* failure = NULL;
  ModelProvider provider = model_build_provider(b->build);
  SltStatus status = provider.get(provider.user, mode ? mode : first, &out, &failure);
  CHECK(status == SLT_OK && out && !failure, failure ? failure->message.data : "mode");
  return out;
}

/// Run a program of a mode on the state values that are in the environment.
static double* run_mode(Arena* arena, const Built* b, const ModelMode* mode,
                        const ModelProgram* program, double t, const double* x) {
  double* states = ARENA_ARRAY(arena, double, mode->state_count);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    states[i] = x ? x[i] : b->env[mode->state_env[i]];
  }
  CHECK(program->state_count == mode->state_count, "states");
  double* regs = ARENA_ARRAY(arena, double, program->reg_count);
  double* out = ARENA_ARRAY(arena, double, program->output_count);
  ModelContext context = {.tables = b->model->tables};
  model_program_bind(program, b->env, regs);
  model_program_run(program, &context, regs, t, states, out);
  return out;
}

/// Derivatives and algebraic values into the environment, as the engine does it.
static void run_full(Arena* arena, const Built* b, const ModelMode* mode, double t) {
  const double* out = run_mode(arena, b, mode, &mode->full, t, NULL);
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    b->env[mode->full_env[i]] = out[i];
  }
}

static bool same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

// ---------------------------------------------------------------------------------------------
// bits

static ExprId random_expr(IrTermBuilder* b, uint64_t* seed, int depth, bool condition) {
  static const IrOp ops[] = {
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
      IR_ABS,
      IR_SIGN,
      IR_FLOOR,
      IR_CEIL,
      IR_ATAN2,
      IR_MIN,
      IR_MAX,
      IR_MOD,
      IR_SELECT,
      IR_ADD,
      IR_SUB,
      IR_MUL,
      IR_POW,
      IR_MUL,
      IR_ADD};
  IrPool* pool = &b->model->pool;
  if (condition) {
    IrOp op = (IrOp)(IR_LT + test_random(seed) % 9);
    bool logic = op == IR_AND || op == IR_OR || op == IR_NOT;
    if (logic && depth <= 0) op = IR_LE;
    logic = logic && depth > 0;
    ExprId left = random_expr(b, seed, depth - 1, logic);
    ExprId right = op == IR_NOT ? (ExprId){0} : random_expr(b, seed, depth - 1, logic);
    return ir_node(pool, op, left, right, (ExprId){0});
  }
  if (depth <= 0) {
    switch (test_random(seed) % 6) {
    case 0: return ir_term_number(b, (double)(test_random(seed) % 5) - 1.0);
    case 1: return ir_term_number_leaf(b, (double)(test_random(seed) % 5));
    case 2: return ir_node(pool, IR_TIME, (ExprId){0}, (ExprId){0}, (ExprId){0});
    case 3: return ir_term_param(b, (uint32_t)(test_random(seed) % 2));
    default: return ir_term_var(b, (uint32_t)(test_random(seed) % 3), 0, IR_NOW);
    }
  }
  IrOp op = ops[test_random(seed) % SLT_COUNT(ops)];
  ExprId a = random_expr(b, seed, depth - 1, op == IR_SELECT);
  uint32_t arity = ir_op_arity(op);
  // an exponent that only folding makes a number would change the last bit of the power
  int second_depth = op == IR_POW ? 0 : depth - 1;
  ExprId second = arity > 1 ? random_expr(b, seed, second_depth, false) : (ExprId){0};
  ExprId third = arity > 2 ? random_expr(b, seed, depth - 1, false) : (ExprId){0};
  return ir_node(pool, op, a, second, third);
}

static void add_random_macros(IrModel* ir, Arena* arena, uint64_t* seed, uint32_t count) {
  for (int i = 0; i < 3; i++) {
    IrVar var = {.name = names_intern(&ir->names, str_format(arena, "x%d", i))};
    base_vec_push(arena, &ir->vars, var);
  }
  for (int i = 0; i < 2; i++) {
    IrTermBuilder b;
    ir_term_begin(&b, ir);
    IrParam param = {.name = names_intern(&ir->names, str_format(arena, "p%d", i)),
                     .value = ir_term_end(&b, ir_term_number(&b, 0.0))};
    base_vec_push(arena, &ir->params, param);
  }
  for (uint32_t i = 0; i < count; i++) {
    IrTermBuilder b;
    ir_term_begin(&b, ir);
    ExprId root = random_expr(&b, seed, 1 + (int)(test_random(seed) % 6), false);
    IrMacro macro = {.name = names_intern(&ir->names, str_format(arena, "m%u", i)),
                     .value = ir_term_end(&b, root)};
    base_vec_push(arena, &ir->macros, macro);
  }
}

TEST(tape_has_the_bits_of_the_expression) {
  const char* given = getenv("SALTUS_TEST_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 0) : 4711;
  print_message("seed %llu (SALTUS_TEST_SEED)\n", (unsigned long long)seed);
  TEST_ARENA(arena);
  IrModel ir;
  ir_model_init(&ir, &arena, NULL);
  add_random_macros(&ir, &arena, &seed, 3000);
  ir_canonicalise(&ir);
  Built b = {0};
  CHECK(model_build_create(NULL, &ir, &b.build) == SLT_OK, "created");
  b.model = model_build_model(b.build);
  b.env = ARENA_ARRAY(&arena, double, b.model->env_count);
  b.regs = ARENA_ARRAY(&arena, double, b.model->scratch_regs);
  Sym sym;
  sym_init(&sym, &arena, &ir);
  static const double special[] = {0.0, -0.0, 1.0, -1.0, 2.0, 1e308, -1e-308};
  for (uint32_t i = 0; i < ir.macros.count; i++) {
    SymTerm term = sym_term(&sym, ir.macros.data[i].value);
    for (int round = 0; round < 10; round++) {
      for (uint32_t k = 0; k < b.model->env_count; k++) {
        b.env[k] = round < 7 ? test_uniform(&seed, -3.0, 3.0)
                             : special[test_random(&seed) % SLT_COUNT(special)];
      }
      double slots[256];
      for (uint32_t k = 0; k < term.count; k++) {
        IrLeaf leaf = term.row[k];
        slots[k] = leaf.kind == IR_LEAF_NUMBER  ? ir.numbers.data[leaf.id]
                   : leaf.kind == IR_LEAF_PARAM ? b.env[leaf.id]
                                                : b.env[b.model->vars[leaf.id].env];
      }
      double want = sym_eval(&sym, &arena, term.shape, term.row, slots, 0.25);
      double got = run_table_program(&b, &b.model->macros[i].value, 0.25);
      TextBuffer text = {.arena = &arena};
      if (!same_bits(got, want)) ir_print_term(&text, &ir, ir.macros.data[i].value);
      CHECK(same_bits(got, want), str_format(&arena, "%.*s", STR_ARGS(text_str(&text))).data);
    }
  }
  model_build_free(b.build);
  arena_free(&arena);
}

enum { SYSTEM = 40 };

/// Variables 0 .. SYSTEM/2 - 1 are states with x_i' = ..., the others algebraic; each reads states
/// and algebraic variables before it, and the equations are declared in any order.
static void random_system(IrModel* ir, Arena* arena, uint64_t* seed) {
  ir_model_init(ir, arena, NULL);
  uint32_t order[SYSTEM];
  for (uint32_t i = 0; i < SYSTEM; i++) {
    IrVar var = {.name = names_intern(&ir->names, str_format(arena, "x%u", i))};
    base_vec_push(arena, &ir->vars, var);
    order[i] = i;
  }
  for (uint32_t i = 0; i < 2; i++) {
    IrTermBuilder b;
    ir_term_begin(&b, ir);
    IrParam param = {.name = names_intern(&ir->names, str_format(arena, "p%u", i)),
                     .value = ir_term_end(&b, ir_term_number(&b, 0.0))};
    base_vec_push(arena, &ir->params, param);
  }
  for (uint32_t i = SYSTEM; i > 1; i--) {
    uint32_t j = (uint32_t)(test_random(seed) % i);
    uint32_t swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
  for (uint32_t k = 0; k < SYSTEM; k++) {
    uint32_t var = order[k];
    bool state = var < SYSTEM / 2;
    IrTermBuilder b;
    ir_term_begin(&b, ir);
    ExprId left = ir_term_var(&b, var, state, IR_NOW);
    ExprId right = random_expr(&b, seed, 3, false);
    for (int terms = 0; terms < 3; terms++) {
      uint64_t known = state ? SYSTEM : var;
      uint32_t other = (uint32_t)(test_random(seed) % known);
      right = ir_node(&ir->pool, terms % 2 ? IR_MUL : IR_ADD, right,
                      ir_term_var(&b, other, 0, IR_NOW), (ExprId){0});
    }
    IrEquation equation = {.lhs_var = var, .lhs_order = state};
    equation.term = ir_term_end(&b, ir_node(&ir->pool, IR_EQUALS, left, right, (ExprId){0}));
    base_vec_push(arena, &ir->equations, equation);
  }
  ir_canonicalise(ir);
}

/// The right side of an equation on values of the variables.
static double right_side(Sym* sym, Arena* arena, const IrEquation* equation, const double* values,
                         const double* params, double t) {
  SymTerm term = sym_term(sym, equation->term);
  double slots[256];
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    slots[k] = leaf.kind == IR_LEAF_NUMBER  ? sym->ir->numbers.data[leaf.id]
               : leaf.kind == IR_LEAF_PARAM ? params[leaf.id]
               : leaf.order                 ? 0.0
                                            : values[leaf.id];
  }
  ExprId right = {sym->view.pool.nodes.data[term.shape.index].arg[1]};
  return sym_eval(sym, arena, right, term.row, slots, t);
}

TEST(modes_have_the_bits_of_their_equations) {
  const char* given = getenv("SALTUS_TEST_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 0) : 815;
  print_message("seed %llu (SALTUS_TEST_SEED)\n", (unsigned long long)seed);
  for (int round = 0; round < 100; round++) {
    TEST_ARENA(arena);
    IrModel ir;
    random_system(&ir, &arena, &seed);
    Built b = {0};
    CHECK(model_build_create(NULL, &ir, &b.build) == SLT_OK, "created");
    b.model = model_build_model(b.build);
    b.env = ARENA_ARRAY(&arena, double, 2 * (size_t)b.model->env_count);
    const ModelMode* mode = get_mode(&b, NULL);
    CHECK(mode->state_count == SYSTEM / 2 && mode->full.output_count == SYSTEM, "all of them");
    double values[SYSTEM] = {0};
    double params[2] = {test_uniform(&seed, -2.0, 2.0), test_uniform(&seed, -2.0, 2.0)};
    double derivatives[SYSTEM] = {0};
    for (uint32_t i = 0; i < SYSTEM / 2; i++) {
      values[i] = test_uniform(&seed, -2.0, 2.0);
      b.env[b.model->vars[i].env] = values[i];
    }
    b.env[0] = params[0];
    b.env[1] = params[1];
    Sym sym;
    sym_init(&sym, &arena, &ir);
    // names are in order, so the canonical order is that of the numbers
    for (uint32_t pass = 0; pass < 2; pass++) {
      for (uint32_t var = 0; var < SYSTEM; var++) {
        if ((var < SYSTEM / 2) != (pass == 1)) continue;
        for (uint32_t e = 0; e < ir.equations.count; e++) {
          const IrEquation* equation = &ir.equations.data[e];
          if (equation->lhs_var != var) continue;
          double value = right_side(&sym, &arena, equation, values, params, 0.5);
          *(pass ? &derivatives[var] : &values[var]) = value;
        }
      }
    }
    const double* dx = run_mode(&arena, &b, mode, &mode->rhs, 0.5, NULL);
    const double* full = run_mode(&arena, &b, mode, &mode->full, 0.5, NULL);
    for (uint32_t i = 0; i < SYSTEM; i++) {
      const ModelVar* var = &b.model->vars[i];
      bool state = i < SYSTEM / 2;
      double want = state ? derivatives[i] : values[i];
      for (uint32_t k = 0; k < SYSTEM; k++) {
        if (mode->full_env[k] == var->env + state) CHECK(same_bits(full[k], want), "full");
      }
      if (state) CHECK(same_bits(dx[i], want), "rhs");
    }
    model_build_free(b.build);
    arena_free(&arena);
  }
}

TEST(tapes_are_short) {
  static const struct {
    const char* expression;
    uint32_t operations;
  } cases[] = {
      {"x", 0},
      {"3.5", 0},
      {"2*3 + 1", 0},
      {"x*1 + 0", 1},
      {"x*x", 1},
      {"x^2", 1},
      {"x^3", 2},
      {"1/x", 1},
      {"x^1/1", 0},
      {"-(-x)", 0},
      {"(x + y)*(y + x)", 2},
      {"(x - y)*(y - x)", 3},
      {"sin(x*y) + cos(y*x)", 4},
      {"if(1 < 2, x, y*y)", 0},
      {"if(x < y, x, y)", 2},
      {"if(b > 0, x, y)", 2},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Built b;
    build_text(&b, &arena,
               str_format(&arena, "macro m = %s\nx = 1\ny = 2\nb = 1", c->expression).data);
    CHECK(b.model->macros[0].value.shape->program.code_count == c->operations, c->expression);
    model_build_free(b.build);
  }
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// modes

TEST(programs_of_a_mode) {
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena,
             "param m = 2\nparam k = 3*m\nx'' = a\nm*a = f - c\nf = -k*x\nc = x'\nq' = x + t\n"
             "atom low = x - 1\nautomaton main\nstate fly\nfrom init when low");
  set_params(&b);
  const ModelMode* mode = get_mode(&b, NULL);
  CHECK(mode->state_count == 3, "q, x, x'");
  *value_of(&b, "x", 0) = 0.5;
  *value_of(&b, "x", 1) = -2.0;
  *value_of(&b, "q", 0) = 7.0;
  const double* dx = run_mode(&arena, &b, mode, &mode->rhs, 10.0, NULL);
  CHECK(dx[0] == 10.5, "q'");
  CHECK(dx[1] == -2.0, "x' is a state");
  CHECK(dx[2] == (-6.0 * 0.5 - -2.0) / 2.0, "x''");
  run_full(&arena, &b, mode, 10.0);
  CHECK(*value_of(&b, "f", 0) == -3.0 && *value_of(&b, "c", 0) == -2.0, "algebraic values");
  CHECK(*value_of(&b, "a", 0) == -0.5 && *value_of(&b, "x", 2) == -0.5, "x'' = a");
  CHECK(*value_of(&b, "q", 1) == 10.5, "q'");
  CHECK(mode->full.output_count == 5, "f c a x'' q'");
  CHECK(mode->vars[var_of(&b, "x")].role == MODEL_ROLE_STATE, "role");
  CHECK(mode->vars[var_of(&b, "x")].state_order == 2, "order");
  CHECK(mode->vars[var_of(&b, "a")].role == MODEL_ROLE_ALGEBRAIC, "role");
  CHECK(mode->atom_count == 1 && mode->g.output_count == 1, "one atom");
  CHECK(run_mode(&arena, &b, mode, &mode->g, 10.0, NULL)[0] == -0.5, "g");
  CHECK(run_mode(&arena, &b, mode, &mode->gdot, 10.0, NULL)[0] == -2.0, "gdot");
  CHECK(mode->rhs.code == mode->full.code, "one tape for both, everything is needed");
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(unneeded_values_are_not_computed_for_derivatives) {
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena,
             "x' = -x\ny = sin(cos(exp(x)))\natom a = x - 1\natom c = y - 1\n"
             "automaton main\nstate s\nfrom init when a");
  const ModelMode* mode = get_mode(&b, NULL);
  CHECK(mode->rhs.code_count == 1, "x only");
  CHECK(mode->full.code_count == 4, "all");
  CHECK(mode->atom_count == 1 && mode->g.code_count == 1, "x - 1 only");
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(roles_change_with_the_mode) {
  // y is a state in one mode, algebraic in the next, held in the third
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena,
             "x' = 1\ney: y' = 2*x\natom z = y' - 3\nautomaton main\nstate forced\ney: y = x*x*x\n"
             "from init when z\nstate gone\ndelete ey\nfrom forced when z");
  *value_of(&b, "x", 0) = 3.0;
  *value_of(&b, "y", 0) = 100.0;
  const ModelMode* modes[3];
  for (uint32_t s = 0; s < 3; s++) {
    modes[s] = get_mode(&b, &s);
  }
  CHECK(modes[0]->id != modes[1]->id && modes[1]->id != modes[2]->id, "ids");
  run_full(&arena, &b, modes[0], 0.0);
  CHECK(*value_of(&b, "y", 1) == 6.0, "y' from its equation");
  CHECK(run_mode(&arena, &b, modes[0], &modes[0]->g, 0.0, NULL)[0] == 3.0, "g reads y'");
  CHECK(run_mode(&arena, &b, modes[0], &modes[0]->gdot, 0.0, NULL)[0] == 2.0, "y'' = 2 x'");
  // algebraic: y' by differentiation, y'' by doing it twice
  run_full(&arena, &b, modes[1], 0.0);
  CHECK(*value_of(&b, "y", 0) == 27.0 && *value_of(&b, "y", 1) == 27.0, "y = x^3, y' = 3 x^2");
  CHECK(run_mode(&arena, &b, modes[1], &modes[1]->gdot, 0.0, NULL)[0] == 18.0, "y'' = 6 x");
  CHECK(modes[1]->vars[var_of(&b, "y")].role == MODEL_ROLE_ALGEBRAIC, "role");
  CHECK(modes[2]->vars[var_of(&b, "y")].role == MODEL_ROLE_UNDETERMINED, "role");
  CHECK(modes[2]->full.output_count == 1 && modes[2]->atom_count == 0, "only x'");
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(gdot_along_the_flow) {
  // central differences of g along the solution: error of order h^2
  static const char* const texts[] = {
      "x' = v\nv' = -x - 0.1*v\ne = x*x + v*v\natom a = e - t*sin(x)",
      "x'' = -sin(x) + u\nu = cos(3*t)/(1 + w*w)\nw = exp(-x)*x'\natom a = x'' + w - u",
      "x' = tanh(y)\ny' = atan2(x, 2 + y) + p\np = if(x < 5, x*y, 7)\natom a = max(p, x) - t^3",
      "data T cubic 0 0 1 2 2 1 4 3\nx' = table(T, x)\ny' = 1\nz = table(T, y)*x\natom a = z - x'",
      "2*x'' - 4*x' + 10*t*x - 3*t^2 = 0\natom a = sqrt(1 + x*x)*x' + ln(4 + x'')",
  };
  TEST_ARENA(arena);
  for (size_t i = 0; i < SLT_COUNT(texts); i++) {
    Built b;
    build_text(&b, &arena,
               str_format(&arena, "%s\nautomaton main\nstate s\nfrom init when a", texts[i]).data);
    const ModelMode* mode = get_mode(&b, NULL);
    double* x = ARENA_ARRAY(&arena, double, mode->state_count);
    for (uint32_t k = 0; k < mode->state_count; k++) {
      x[k] = 0.7 + 0.4 * k;
    }
    const double* f = run_mode(&arena, &b, mode, &mode->rhs, 0.3, x);
    double ends[2];
    const double h = 1e-5;
    for (int side = 0; side < 2; side++) {
      double step = side ? h : -h;
      double* moved = ARENA_ARRAY(&arena, double, mode->state_count);
      for (uint32_t k = 0; k < mode->state_count; k++) {
        moved[k] = x[k] + step * f[k];
      }
      ends[side] = run_mode(&arena, &b, mode, &mode->g, 0.3 + step, moved)[0];
    }
    double gdot = run_mode(&arena, &b, mode, &mode->gdot, 0.3, x)[0];
    CHECK_NEAR(gdot, (ends[1] - ends[0]) / (2.0 * h), 1e-6, 1e-6);
    model_build_free(b.build);
  }
  arena_free(&arena);
}

TEST(pre_is_a_value_of_its_own_in_an_instant) {
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena,
             "x' = 2\natom a = pre(x) - 1 + 0.5*x\nautomaton main\nstate s\n"
             "set x = pre(x)*10\nfrom init when a");
  const ModelMode* mode = get_mode(&b, NULL);
  uint32_t env = b.model->vars[var_of(&b, "x")].env;
  b.env[env] = 4.0;
  b.env[b.model->env_count + env] = 7.0;
  CHECK(run_mode(&arena, &b, mode, &mode->g, 0.0, NULL)[0] == 7.0 - 1.0 + 2.0, "in an instant");
  CHECK(run_mode(&arena, &b, mode, &mode->g_flow, 0.0, NULL)[0] == 4.0 - 1.0 + 2.0, "between");
  CHECK(run_mode(&arena, &b, mode, &mode->gdot, 0.0, NULL)[0] == 3.0, "moves like x");
  CHECK(run_table_program(&b, &b.model->actions[0].value, 0.0) == 70.0, "action");
  CHECK(b.model->actions[0].env == env, "target");
  CHECK(b.model->atoms[0].read_count == 2, "reads");
  model_build_free(b.build);
  arena_free(&arena);
}

/// A state as the programs ask for it one by one.
static double state_value(const void* user, uint32_t state) {
  return ((const double*)user)[state];
}

static ModelDual state_dual(const void* user, uint32_t state) {
  return (ModelDual){model_interval_point(((const double*)user)[state]), {-1.0, 1.0}};
}

/// Every output alone, in a mixed order: the bits and bounds of the whole run.
static void check_slices(Arena* arena, const Built* b, const ModelMode* mode,
                         const ModelProgram* program) {
  CHECK(program->slices != NULL, "slices");
  const double* all = run_mode(arena, b, mode, program, 0.5, NULL);
  double* x = ARENA_ARRAY(arena, double, mode->state_count);
  ModelDual* x_dual = ARENA_ARRAY(arena, ModelDual, mode->state_count);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    x[i] = b->env[mode->state_env[i]];
    x_dual[i] = state_dual(x, i);
  }
  double* regs = ARENA_ARRAY(arena, double, program->reg_count);
  ModelDual* dual_regs = ARENA_ARRAY(arena, ModelDual, program->reg_count);
  ModelDual* bounds = ARENA_ARRAY(arena, ModelDual, program->output_count);
  ModelContext context = {.tables = b->model->tables};
  ModelInterval t = {0.5, 0.75};
  SltAllocator allocator = base_allocator(NULL);
  ModelSingles singles;
  CHECK(model_singles_init(&singles, program, &allocator), "memory");
  model_program_bind(program, b->env, regs);
  model_program_bind_dual(program, b->env, dual_regs);
  model_program_enclose(program, &context, dual_regs, model_time(t.lo, t.hi), x_dual, bounds);
  for (uint32_t i = 0; i < 2 * program->output_count; i++) {
    uint32_t k = i * 7 % program->output_count;
    double value = 0.0;
    ModelDual bound = {0};
    if (!model_program_run_output(program, &context, regs, 0.5, state_value, x, k, &value)) {
      CHECK(program->slices->whole[k], "a part");
      continue;
    }
    CHECK(same_bits(value, all[k]), "output alone");
    CHECK(model_singles_run(&singles, program, &context, regs, 0.5, state_value, x, k, &value),
          "by its shape");
    CHECK(same_bits(value, all[k]), "the same by its shape");
    CHECK(model_program_enclose_output(program, &context, dual_regs, model_time(t.lo, t.hi),
                                       state_dual, x, k, &bound),
          "bounds");
    CHECK(same_bits(bound.v.lo, bounds[k].v.lo) && same_bits(bound.v.hi, bounds[k].v.hi) &&
              same_bits(bound.d.lo, bounds[k].d.lo) && same_bits(bound.d.hi, bounds[k].d.hi),
          "bounds alone");
  }
  model_singles_clear(&singles, &allocator);
}

TEST(outputs_alone_have_the_bits_of_the_whole) {
  TEST_ARENA(arena);
  TextBuffer text = {.arena = &arena};
  enum { CELLS = 40 };
  // a shared part of growing length, choices, and functions
  text_append_c(&text, "s0 = sin(t)\n");
  for (int i = 0; i < CELLS; i++) {
    text_append_format(&text, "s%d = s%d + cos(x%d)*%d\nx%d' = -x%d*s%d\n", i + 1, i, i, i + 2, i,
                       i, i);
    text_append_format(&text, "atom p%d = x%d*s%d - exp(x%d)/%d\n", i, i, i + 1, (i + 3) % CELLS,
                       i + 2);
    text_append_format(&text, "switch w%d = p%d\n", i, i);
  }
  Built b;
  build_text(&b, &arena, text_str(&text).data);
  for (int i = 0; i < CELLS; i++) {
    *value_of(&b, str_format(&arena, "x%d", i).data, 0) = 0.25 * i - 3.0;
  }
  const ModelMode* mode = get_mode(&b, NULL);
  CHECK(mode->atom_count == CELLS, "atoms");
  check_slices(&arena, &b, mode, &mode->g_flow);
  check_slices(&arena, &b, mode, &mode->gdot);
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(outputs_alone_are_one_program_for_each_shape) {
  TEST_ARENA(arena);
  TextBuffer text = {.arena = &arena};
  enum { CELLS = 40 };
  for (int i = 0; i < CELLS; i++) {
    text_append_format(&text, "x%d' = 1\natom p%d = x%d*x%d + sin(t/%d)\n", i, i, i,
                       (i + 1) % CELLS, i + 2);
    text_append_format(&text, "switch w%d = p%d\n", i, i);
  }
  text_append_c(&text, "atom q = x0 - 1\nswitch v = q\n");
  Built b;
  build_text(&b, &arena, text_str(&text).data);
  for (int i = 0; i < CELLS; i++) {
    *value_of(&b, str_format(&arena, "x%d", i).data, 0) = 0.25 * i - 3.0;
  }
  const ModelMode* mode = get_mode(&b, NULL);
  check_slices(&arena, &b, mode, &mode->g_flow);
  SltAllocator allocator = base_allocator(NULL);
  ModelSingles singles;
  CHECK(model_singles_init(&singles, &mode->g_flow, &allocator), "memory");
  CHECK(singles.output_count == CELLS + 1 && singles.shape_count == 2, "two shapes");
  model_singles_clear(&singles, &allocator);
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(many_modes_share_their_programs) {
  TEST_ARENA(arena);
  TextBuffer text = {.arena = &arena};
  enum { CELLS = 6 };
  for (int i = 0; i < CELLS; i++) {
    text_append_format(&text, "x%d' = -x%d*%d\natom hi%d = x%d - 21\natom lo%d = 19 - x%d\n", i, i,
                       i + 2, i, i, i, i);
    text_append_format(&text, "automaton a%d\nstate off\nfrom init when hi%d\nglobal\n", i, i);
  }
  Built b;
  build_text(&b, &arena, text_str(&text).data);
  const ModelMode* first = NULL;
  const ModelMode* shared = NULL;
  uint32_t own = 0;
  for (uint32_t vector = 0; vector < 1u << CELLS; vector++) {
    uint32_t mode[CELLS];
    uint32_t expected = 0;
    for (uint32_t i = 0; i < CELLS; i++) {
      mode[i] = vector >> i & 1;
      expected += mode[i] == 0;
      *value_of(&b, str_format(&arena, "x%u", i).data, 0) = 20.0 + i;
    }
    const ModelMode* m = get_mode(&b, mode);
    if (!first) first = m;
    CHECK(m->id == first->id && m->rhs.code == first->rhs.code, "same equations");
    // few modes have their own lists; then one serves all
    if (m->shared) {
      if (!shared) shared = m;
      CHECK(m == shared && m->atom_count == 2 * CELLS, "one for all");
      check_slices(&arena, &b, m, &m->g_flow);
      continue;
    }
    own++;
    CHECK(m->atom_count == expected && m->g.output_count == expected, "atoms of this mode");
    const double* g = run_mode(&arena, &b, m, &m->g, 0.0, NULL);
    const double* gdot = run_mode(&arena, &b, m, &m->gdot, 0.0, NULL);
    for (uint32_t k = 0; k < expected; k++) {
      // hi_i is the only kind of atom that leaves `init`
      const ModelAtom* atom = &b.model->atoms[m->atoms[k]];
      double x = b.env[b.model->vars[atom->reads[0].var].env];
      CHECK(g[k] == x - 21.0, "g");
      CHECK(gdot[k] == -x * (x - 18.0), "gdot");
      CHECK(k == 0 || m->atoms[k] > m->atoms[k - 1], "ascending");
    }
  }
  CHECK(get_mode(&b, NULL) == first, "cached");
  CHECK(own > 1 && own < 1u << CELLS && shared, "both kinds");
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(switches_and_nested_switches) {
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena,
             "x' = 1\natom p = x - 1\natom q = x - 2\natom r = x - 3\natom inv = 5 - x\n"
             "switch w = p and not q\nin w true\nx' = 2\nglobal\nautomaton main\nstate s\ny = 1\n"
             "invariant inv\nfrom init when true\nswitch inner = r\nin inner true\nx' = 3");
  uint32_t inner = automaton_of(&b, "inner");
  uint32_t main_one = automaton_of(&b, "main");
  uint32_t w = automaton_of(&b, "w");
  const ModelAutomaton* automata = b.model->automata;
  CHECK(automata[inner].parent_automaton == main_one && automata[inner].parent_state == 1,
        "nested");
  CHECK(automata[w].parent_automaton == MODEL_NONE, "not nested");
  CHECK(automata[w].has_bodies && automata[w].kind == MODEL_AUTOMATON_SWITCH, "w");
  CHECK(automata[w].condition->atom_count == 2, "p and q");
  uint32_t mode[3] = {0, 0, 0};
  const ModelMode* outside = get_mode(&b, mode);
  CHECK(outside->atom_count == 2, "inner is dormant");
  mode[inner] = 1;
  CHECK(get_mode(&b, mode)->id == outside->id, "a dormant switch does not matter");
  mode[main_one] = 1;
  const ModelMode* inside = get_mode(&b, mode);
  CHECK(inside->atom_count == 4, "with r and the invariant");
  CHECK(run_mode(&arena, &b, inside, &inside->rhs, 0.0, NULL)[0] == 3.0, "inner");
  mode[main_one] = 0;
  mode[w] = 1;
  const ModelMode* on = get_mode(&b, mode);
  CHECK(run_mode(&arena, &b, on, &on->rhs, 0.0, NULL)[0] == 2.0, "w");
  model_build_free(b.build);
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// tables of the model

TEST(tables_of_the_model) {
  TEST_ARENA(arena);
  Built b;
  build_text(
      &b, &arena,
      "param c = 3\nparam a = c + 1\nparam b = 2*a\nstart x = 2*y + a\nstart y = z + 1\n"
      "guess z = 4\nstart x' = y\nx'' = -x\ny' = 1\nz' = 1\ndiscrete n\n"
      "atom up = x - b\natom tick = n - 2\nmacro p = a*x\nenergy = x*x + n\n"
      "automaton main\nstate s\nset n = n + 1\nset x' = -x'\nfrom init s when up and tick\n"
      "state u\nfrom init when main.s or up\nfrom s u when tick\nset n = entry(main) + entry()\n"
      "at a each 2 { n = n*2 }");
  const Model* m = b.model;
  // parameters in order of evaluation
  CHECK_STR(m->params[0].name, "c", "param");
  CHECK_STR(m->params[1].name, "a", "param");
  CHECK_STR(m->params[2].name, "b", "param");
  set_params(&b);
  CHECK(b.env[m->params[2].env] == 8.0, "b = 2 (3 + 1)");
  for (uint32_t i = 0; i < m->start_count; i++) {
    const ModelStart* start = &m->starts[i];
    b.env[m->vars[start->var].env + start->order] = run_table_program(&b, &start->value, 0.0);
  }
  CHECK(*value_of(&b, "z", 0) == 4.0 && *value_of(&b, "y", 0) == 5.0, "starts");
  CHECK(*value_of(&b, "x", 0) == 14.0 && *value_of(&b, "x", 1) == 5.0, "starts");
  CHECK(!m->starts[0].fixed && m->starts[3].fixed, "a guess and a value");
  // columns in order of appearance
  CHECK(m->column_count == 4 && m->columns[0] == var_of(&b, "x"), "columns");
  CHECK(m->columns[3] == var_of(&b, "n"), "columns");
  CHECK(m->vars[var_of(&b, "n")].kind == MODEL_VAR_DISCRETE, "discrete");
  CHECK(run_table_program(&b, &m->macros[0].value, 0.0) == 56.0, "macro");
  CHECK(run_table_program(&b, m->energy, 0.0) == 196.0, "energy");
  CHECK(m->table_count == 0, "no tables");

  const ModelAutomaton* automaton = &m->automata[0];
  CHECK(automaton->state_count == 3 && automaton->entry_env != MODEL_NONE, "states");
  CHECK(m->start_time_env != MODEL_NONE, "start time");
  CHECK(automaton->states[0].test_env == MODEL_NONE, "nobody asks for init");
  CHECK(automaton->states[1].test_env != MODEL_NONE, "somebody asks for s");
  CHECK(automaton->states[0].outgoing_count == 2 && automaton->states[1].outgoing_count == 2,
        "out");
  CHECK(automaton->states[1].action_count == 2, "entry actions");
  const ModelTransition* t = &m->transitions[automaton->states[0].outgoing[0]];
  CHECK(t->to == 1 && t->guard.atom_count == 2 && !t->guard.has_mode_test, "first transition");
  CHECK(run_table_program(&b, &t->guard.term, 0.0) == 0.0, "false");
  for (uint32_t i = 0; i < m->atom_count; i++) {
    b.env[m->atoms[i].env] = 1.0;
  }
  CHECK(run_table_program(&b, &t->guard.term, 0.0) == 1.0, "true");
  t = &m->transitions[automaton->states[0].outgoing[1]];
  CHECK(t->guard.has_mode_test && t->line == 22, "second transition");

  const ModelAtom* up = &m->atoms[0];
  for (uint32_t i = 0; i < m->atom_count; i++) {
    if (m->atoms[i].continuous) up = &m->atoms[i];
    CHECK(m->atoms[i].continuous != m->atoms[i].time_only, "time only");
  }
  CHECK_STR(up->written->text, "atom up = x - b", "as written");
  CHECK(!up->options && up->written->line == 12, "defaults");
  CHECK(m->schedule_count == 1 && m->schedules[0].periodic, "schedule");
  CHECK(run_table_program(&b, &m->schedules[0].start, 0.0) == 4.0, "start");
  CHECK(run_table_program(&b, &m->schedules[0].period, 0.0) == 2.0, "period");
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(literal_actions_draw_each_time) {
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena,
             "discrete n\nautomaton a\nstate s\nset n = random() - random()\n"
             "from init when true");
  double got = run_table_program(&b, &b.model->actions[0].value, 0.0);
  ModelRandom random;
  model_random_seed(&random, 1, 1);
  double left = model_random_uniform(&random);
  CHECK(got == left - model_random_uniform(&random), "left to right, two draws");
  model_build_free(b.build);
  arena_free(&arena);
}

// ---------------------------------------------------------------------------------------------
// messages

static Str check_text(Arena* arena, Built* b, const char* text, uint32_t limit) {
  build_text(b, arena, text);
  DiagList diags;
  diag_init(&diags, arena, &b->text.source);
  model_build_check(b->build, limit, &diags);
  TextBuffer out = {.arena = arena};
  for (uint32_t i = 0; i < diags.items.count; i++) {
    const Diag* d = &diags.items.data[i];
    text_append_format(&out, "%s %.*s\n", diag_code_text(d->code), STR_ARGS(d->message));
  }
  return text_str(&out);
}

TEST(checks) {
  static const struct {
    const char* name;
    const char* text;
    uint32_t limit;
    const char* want;
  } cases[] = {
      {"sound", "x' = 1", 100, ""},
      {"start cycle", "start x = y\nstart y = 2*z\nstart z = x + y\nx' = 1\ny' = 1\nz' = 1", 100,
       "E0650 the initial values of x, y and z depend on each other in a circle\n"},
      {"start of itself", "start x = x + 1\nx' = 1", 100,
       "E0650 the initial value of x depends on itself\n"},
      {"one state is wrong", "x' = 1\nautomaton a\nstate s\nx' = 2\nstate u\nx = 1", 100,
       "W0520 a run that comes to it would end: too many equations in mode a=u: 2 for 1 unknown, "
       "x\n"},
      {"the same failure is told once",
       "x' = y\nautomaton a\nstate s\nz' = 2\nautomaton b\nstate s\nw' = 1", 100,
       "E0521 not enough equations in mode a=init, b=init: 1 for 2 unknowns, x and y\n"},
      {"the limit", "x' = 1\nautomaton a\nstate s\nx' = 2\nstate u\nx = 1", 1, ""},
      {"nothing but the first mode", "x' = 1\nautomaton a\nstate s\nx = 1", 0, ""},
      {"nested",
       "x' = 1\natom p = x\nautomaton a\nstate s\ny = 2\nswitch w = p\nin w true\nx + y = 2", 100,
       "W0520 a run that comes to it would end: too many equations in mode a=s, w=true: 3 for 2 "
       "unknowns, x and y\n"},
      {"equations that a state leaves out", "x' = 1\ny = 2*x\nz = y\nautomaton a\nstate s\ny = 3*z",
       100, ""},
      {"conflict",
       "x' = 1\natom p = x\nswitch v = p\nin v false\nx' = 4\nglobal\nswitch w = p\nin w true\nx' "
       "= 3",
       100,
       "W0520 a run that comes to it would end: two automata replace the equation of x in mode "
       "w=true, v=false\n"},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    Built b;
    Str got = check_text(&arena, &b, c->text, c->limit);
    CHECK_STR(got, c->want, c->name);
    model_build_free(b.build);
  }
  arena_free(&arena);
}

TEST(failures_are_cached_and_told_by_the_provider) {
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena, "x' = a\na + x = x + a");
  ModelProvider provider = model_build_provider(b.build);
  const ModelMode* mode = NULL;
  const Diag* failure = NULL;
  const Diag* again = NULL;
  CHECK(provider.get(provider.user, NULL, &mode, &failure) == SLT_ERR_STRUCTURE, "status");
  CHECK(!mode && failure && failure->code == DIAG_E0522, "failure");
  CHECK(provider.get(provider.user, NULL, &mode, &again) == SLT_ERR_STRUCTURE, "status");
  CHECK(failure == again, "the same message");
  model_build_free(b.build);
  // what is wrong with the whole model is wrong in each mode
  build_text(&b, &arena, "start x = x\nx' = 1");
  provider = model_build_provider(b.build);
  CHECK(provider.get(provider.user, NULL, &mode, &failure) == SLT_ERR_STRUCTURE, "status");
  CHECK(failure->code == DIAG_E0650, "failure");
  model_build_free(b.build);
  arena_free(&arena);
}

TEST(explanations) {
  static const char* const want = "mode main=fly\n"
                                  "states        q, x, x'\n"
                                  "algebraic     f\n"
                                  "undetermined  c\n"
                                  "discrete      n\n"
                                  "order of solution\n"
                                  "    1  f = -k*x   (line 4)\n"
                                  "    2  q' = 1   (line 9)\n"
                                  "    3  x'' = (f - n)/m   (line 3, from `m*x'' = f - n`)\n"
                                  "shapes: 3 for 3 equations\n"
                                  "    1  like q' = 1\n"
                                  "    1  like f = -k*x\n"
                                  "    1  like m*x'' = f - n\n"
                                  "programs: derivatives 4 operations, all values 4 operations\n";
  TEST_ARENA(arena);
  Built b;
  build_text(&b, &arena,
             "param m = 2\nparam k = 3\nm*x'' = f - n\nf = -k*x\ncst: c = x\ndiscrete n\n"
             "automaton main\nstate fly\nq' = 1\ndelete cst");
  uint32_t fly = 1;
  TextBuffer out = {.arena = &arena};
  model_build_explain(b.build, &fly, &out);
  // the order among independent equations is BTF's: compare as sets of lines
  Str got = text_str(&out);
  for (const char* line = want; *line;) {
    size_t length = strcspn(line, "\n");
    const char* body = strncmp(line, "    ", 4) == 0 ? line + 7 : line;
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%.*s\n", (int)(length - (size_t)(body - line)), body);
    if (!strstr(got.data, wanted)) print_error("%s\n", got.data);
    CHECK(strstr(got.data, wanted) != NULL, wanted);
    line += length + 1;
  }
  model_build_free(b.build);
  // a mode that fails explains its failure
  build_text(&b, &arena, "x' = a\na + x = x + a");
  TextBuffer failed = {.arena = &arena};
  model_build_explain(b.build, NULL, &failed);
  CHECK(strstr(text_str(&failed).data, "E0522: the model cannot be solved") != NULL, "failure");
  CHECK(strstr(text_str(&failed).data, "`a + x = x + a`") != NULL, "equations");
  model_build_free(b.build);
  arena_free(&arena);
}

/// Equations written out one by one, under names that mix their shapes: they are the same few loops
/// as if a `for` had made them, and so is their Jacobian.
TEST(flat_text_becomes_loops) {
  TEST_ARENA(arena);
  TextBuffer text = {.arena = &arena};
  const unsigned n = 600;
  for (unsigned i = 0; i < n; i++) {
    unsigned name = i * 7919u % 10007u;
    unsigned next = (i + 1) % n * 7919u % 10007u;
    const char* form = i % 3 == 0 ? "q%u' = sin(q%u)*1.%u - q%u\n" : "q%u' = q%u - q%u*1.%u\n";
    if (i % 3 == 0) text_append_format(&text, form, name, next, i, name);
    if (i % 3 != 0) text_append_format(&text, form, name, next, name, i);
  }
  Built b;
  build_text(&b, &arena, text_str(&text).data);
  const ModelMode* mode = get_mode(&b, NULL);
  const ModelStiff* stiff = NULL;
  ModelProvider provider = model_build_provider(b.build);
  uint32_t first[1] = {0};
  CHECK(provider.stiff(provider.user, first, &stiff) == SLT_OK, "Jacobian");
  const ModelProgram* programs[] = {&mode->rhs, &stiff->jacobian};
  for (size_t p = 0; p < SLT_COUNT(programs); p++) {
    const ModelRoll* roll = programs[p]->roll;
    CHECK(roll && roll->loop_count <= 4, "few loops");
    uint32_t covered = 0;
    for (uint32_t i = 0; i < roll->loop_count; i++) {
      covered += roll->loops[i].count * roll->loops[i].step_count;
    }
    CHECK(covered > programs[p]->code_count * 9 / 10, "nearly all of the code");
  }
  model_build_free(b.build);
  arena_free(&arena);
}
