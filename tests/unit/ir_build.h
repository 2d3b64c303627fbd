// SPDX-License-Identifier: MIT
//
// Models for the tests of ir/, written as text. A small reader with LISMA's precedences:
// "k*x' + sin(y)", "x' = v", "pre(x) > 0", "[x > 1] and not @main.up", "if(c, a, b)". A name is a
// parameter when it was declared so, otherwise a variable that is made at its first use.
#ifndef SALTUS_IR_BUILD_H
#define SALTUS_IR_BUILD_H

#include "ir/ir.h"
#include "test.h"

typedef struct Reader {
  IrModel* model;
  IrTermBuilder builder;
  const char* at;
} Reader;

static ExprId read_or(Reader* r);

static void skip_space(Reader* r) {
  while (*r->at == ' ') {
    r->at++;
  }
}

static bool accept(Reader* r, const char* text) {
  skip_space(r);
  size_t length = strlen(text);
  if (strncmp(r->at, text, length) != 0) return false;
  r->at += length;
  return true;
}

static void expect(Reader* r, const char* text) {
  if (!accept(r, text)) test_fail(__FILE__, __LINE__, r->at, text);
}

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static Str read_word(Reader* r) {
  skip_space(r);
  const char* begin = r->at;
  if (*begin == '`') {
    const char* end = strchr(begin + 1, '`');
    r->at = end + 1;
    return (Str){begin + 1, (uint32_t)(end - begin - 1)};
  }
  while (is_word_char(*r->at)) {
    r->at++;
  }
  return (Str){begin, (uint32_t)(r->at - begin)};
}

static bool accept_word(Reader* r, const char* word) {
  const char* before = r->at;
  if (accept(r, word) && !is_word_char(*r->at)) return true;
  r->at = before;
  return false;
}

TEST_UNUSED static uint32_t find_var(IrModel* m, Str name) {
  uint32_t id = names_intern(&m->names, name);
  for (uint32_t i = 0; i < m->vars.count; i++) {
    if (m->vars.data[i].name == id) return i;
  }
  IrVar var = {.name = id, .appearance = m->vars.count};
  base_vec_push(m->arena, &m->vars, var);
  return m->vars.count - 1;
}

TEST_UNUSED static uint32_t find_param(IrModel* m, Str name) {
  uint32_t id = names_find(&m->names, name);
  for (uint32_t i = 0; id && i < m->params.count; i++) {
    if (m->params.data[i].name == id) return i;
  }
  return IR_NONE;
}

static uint32_t find_automaton(const IrModel* m, Str name) {
  for (uint32_t i = 0; i < m->automata.count; i++) {
    if (str_equal(names_get(&m->names, m->automata.data[i].name), name)) return i;
  }
  return IR_NONE;
}

/// Number of a state inside its automaton; works before and after the canonical order.
static uint32_t find_state(const IrModel* m, uint32_t automaton, Str name) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < m->states.count; i++) {
    if (m->states.data[i].automaton != automaton) continue;
    if (str_equal(names_get(&m->names, m->states.data[i].name), name)) return number;
    number++;
  }
  return IR_NONE;
}

TEST_UNUSED static void add_data(IrModel* m, const char* name) {
  static const double points[] = {0, 1, 2};
  IrData data = {.x = points, .y = points, .count = 3};
  data.name = names_intern(&m->names, str_from_c(name));
  base_vec_push(m->arena, &m->data, data);
}

static uint32_t add_mode_test(IrModel* m, uint32_t automaton, uint32_t state) {
  base_vec_push(m->arena, &m->mode_tests, (IrModeTest){automaton, state});
  return m->mode_tests.count - 1;
}

static ExprId op2(Reader* r, IrOp op, ExprId a, ExprId b) {
  return ir_node(&r->model->pool, op, a, b, (ExprId){0});
}

static ExprId read_variable(Reader* r, Str name, IrWhen when) {
  uint8_t order = 0;
  while (*r->at == '\'') {
    r->at++;
    order++;
  }
  return ir_term_var(&r->builder, find_var(r->model, name), order, when);
}

static IrAtomType read_atom_type(Reader* r) {
  if (accept_word(r, "unilateral")) return IR_ATOM_UNILATERAL;
  if (accept_word(r, "bilateral")) return IR_ATOM_BILATERAL;
  if (accept_word(r, "shortliving")) return IR_ATOM_SHORTLIVING;
  if (accept_word(r, "noEvent")) return IR_ATOM_NOEVENT;
  return IR_ATOM_CRITICAL;
}

/// `[a > b]`: an atom of its own.
static ExprId read_atom(Reader* r, IrAtomType type) {
  expect(r, "[");
  Reader inner = {.model = r->model, .at = r->at};
  ir_term_begin(&inner.builder, r->model);
  IrAtom atom = {.type = (uint8_t)type};
  ExprId relation = read_or(&inner);
  const IrNode node = r->model->pool.nodes.data[relation.index];
  bool turned = node.op == IR_LT || node.op == IR_LE;
  ExprId left = {node.arg[turned ? 1 : 0]};
  ExprId right = {node.arg[turned ? 0 : 1]};
  bool equal = node.op == IR_EQ;
  bool strict = node.op == IR_LT || node.op == IR_GT;
  atom.relation = equal ? IR_REL_EQ : strict ? IR_REL_GT : IR_REL_GE;
  atom.g = ir_term_end(&inner.builder, op2(r, IR_SUB, left, right));
  r->at = inner.at;
  expect(r, "]");
  base_vec_push(r->model->arena, &r->model->atoms, atom);
  return ir_term_leaf(&r->builder, (IrLeaf){.id = r->model->atoms.count - 1, .kind = IR_LEAF_ATOM});
}

/// `curve, x)` behind `table(`.
static ExprId read_table(Reader* r) {
  Str name = read_word(r);
  expect(r, ",");
  ExprId argument = read_or(r);
  expect(r, ")");
  for (uint32_t i = 0; i < r->model->data.count; i++) {
    Str known = names_get(&r->model->names, r->model->data.data[i].name);
    if (str_equal(known, name)) return ir_table(&r->model->pool, i, argument);
  }
  test_fail(__FILE__, __LINE__, r->at, "no such data");
}

static ExprId read_call(Reader* r, Str name) {
  if (str_equal(name, STR_LIT("table"))) return read_table(r);
  for (int op = IR_SIN; op < IR_OP_COUNT; op++) {
    if (!str_equal(name, str_from_c(ir_op_text((IrOp)op)))) continue;
    ExprId args[3] = {{0}, {0}, {0}};
    for (uint32_t k = 0; k < ir_op_arity((IrOp)op); k++) {
      if (k) expect(r, ",");
      args[k] = read_or(r);
    }
    expect(r, ")");
    return ir_node(&r->model->pool, (IrOp)op, args[0], args[1], args[2]);
  }
  test_fail(__FILE__, __LINE__, r->at, "no such function");
}

static ExprId read_number(Reader* r) {
  double value = 0;
  r->at += number_read(str_from_c(r->at), false, &value);
  return ir_term_number(&r->builder, value);
}

/// `@main.up`: truth of being in a state; `@main.t0`: when it was entered.
static ExprId read_mode(Reader* r) {
  uint32_t automaton = find_automaton(r->model, read_word(r));
  expect(r, ".");
  if (accept_word(r, "t0")) {
    return ir_term_leaf(&r->builder, (IrLeaf){.id = automaton, .kind = IR_LEAF_ENTRY});
  }
  uint32_t test = add_mode_test(r->model, automaton, find_state(r->model, automaton, read_word(r)));
  return ir_term_leaf(&r->builder, (IrLeaf){.id = test, .kind = IR_LEAF_MODE});
}

static ExprId read_primary(Reader* r) {
  skip_space(r);
  if (accept(r, "(")) {
    ExprId e = read_or(r);
    expect(r, ")");
    return e;
  }
  if (accept(r, "@")) return read_mode(r);
  if ((*r->at >= '0' && *r->at <= '9') || *r->at == '.') return read_number(r);
  const char* before = r->at;
  IrAtomType type = read_atom_type(r);
  if (*r->at == '[') return read_atom(r, type);
  r->at = before;

  Str name = read_word(r);
  if (name.length == 0) test_fail(__FILE__, __LINE__, r->at, "an expression");
  bool pre = str_equal(name, STR_LIT("pre"));
  bool post = str_equal(name, STR_LIT("post"));
  if (accept(r, "(")) {
    if (!pre && !post) return read_call(r, name);
    ExprId e = read_variable(r, read_word(r), pre ? IR_PRE : IR_POST);
    expect(r, ")");
    return e;
  }
  if (str_equal(name, STR_LIT("time"))) return op2(r, IR_TIME, (ExprId){0}, (ExprId){0});
  if (str_equal(name, STR_LIT("true"))) return op2(r, IR_TRUE, (ExprId){0}, (ExprId){0});
  uint32_t param = find_param(r->model, name);
  if (param != IR_NONE) return ir_term_param(&r->builder, param);
  return read_variable(r, name, IR_NOW);
}

static ExprId read_power(Reader* r) {
  ExprId base = read_primary(r);
  if (accept(r, "^")) return op2(r, IR_POW, base, read_power(r));
  return base;
}

static ExprId read_unary(Reader* r) {
  if (accept(r, "-")) return op2(r, IR_NEG, read_unary(r), (ExprId){0});
  if (accept_word(r, "not")) return op2(r, IR_NOT, read_unary(r), (ExprId){0});
  return read_power(r);
}

static ExprId read_product(Reader* r) {
  ExprId left = read_unary(r);
  for (;;) {
    if (accept(r, "*")) {
      left = op2(r, IR_MUL, left, read_unary(r));
    } else if (accept(r, "/")) {
      left = op2(r, IR_DIV, left, read_unary(r));
    } else {
      return left;
    }
  }
}

static ExprId read_sum(Reader* r) {
  ExprId left = read_product(r);
  for (;;) {
    if (accept(r, "+")) {
      left = op2(r, IR_ADD, left, read_product(r));
    } else if (accept(r, "-")) {
      left = op2(r, IR_SUB, left, read_product(r));
    } else {
      return left;
    }
  }
}

static ExprId read_relation(Reader* r) {
  ExprId left = read_sum(r);
  if (accept(r, "<=")) return op2(r, IR_LE, left, read_sum(r));
  if (accept(r, ">=")) return op2(r, IR_GE, left, read_sum(r));
  if (accept(r, "<")) return op2(r, IR_LT, left, read_sum(r));
  if (accept(r, ">")) return op2(r, IR_GT, left, read_sum(r));
  if (accept(r, "==")) return op2(r, IR_EQ, left, read_sum(r));
  if (accept(r, "!=")) return op2(r, IR_NE, left, read_sum(r));
  return left;
}

static ExprId read_and(Reader* r) {
  ExprId left = read_relation(r);
  while (accept_word(r, "and")) {
    left = op2(r, IR_AND, left, read_relation(r));
  }
  return left;
}

static ExprId read_or(Reader* r) {
  ExprId left = read_and(r);
  while (accept_word(r, "or")) {
    left = op2(r, IR_OR, left, read_and(r));
  }
  return left;
}

/// An expression, or an equation when there is a `=`.
static IrTerm read_term(IrModel* m, const char* text) {
  Reader r = {.model = m, .at = text};
  ir_term_begin(&r.builder, m);
  ExprId root = read_or(&r);
  if (accept(&r, "=")) root = op2(&r, IR_EQUALS, root, read_or(&r));
  skip_space(&r);
  if (*r.at != '\0') test_fail(__FILE__, __LINE__, text, r.at);
  return ir_term_end(&r.builder, root);
}

// ---------------------------------------------------------------------------------------------
// entities

TEST_UNUSED static uint32_t add_param(IrModel* m, const char* name, const char* value) {
  IrParam param = {.name = names_intern(&m->names, str_from_c(name))};
  param.value = read_term(m, value);
  base_vec_push(m->arena, &m->params, param);
  return m->params.count - 1;
}

TEST_UNUSED static uint32_t add_var(IrModel* m, const char* name, IrVarKind kind) {
  uint32_t var = find_var(m, str_from_c(name));
  m->vars.data[var].kind = (uint8_t)kind;
  return var;
}

TEST_UNUSED static void add_start(IrModel* m, const char* name, uint8_t order, IrStartKind kind,
                                  const char* value) {
  IrStart start = {.var = find_var(m, str_from_c(name)), .order = order, .kind = (uint8_t)kind};
  start.value = read_term(m, value);
  base_vec_push(m->arena, &m->starts, start);
}

/// "x' = v" or "label: x + y = 1".
TEST_UNUSED static uint32_t add_equation(IrModel* m, uint32_t body, const char* text) {
  IrEquation e = {.body = body, .lhs_var = IR_NONE};
  const char* colon = text;
  while (is_word_char(*colon)) {
    colon++;
  }
  if (*colon == ':') {
    e.label = names_intern(&m->names, (Str){text, (uint32_t)(colon - text)});
    text = colon + 1;
  }
  e.term = read_term(m, text);
  uint32_t left = m->pool.nodes.data[e.term.shape.index].arg[0];
  if (m->pool.nodes.data[left].op == IR_SLOT) {
    IrLeaf leaf = ir_leaf(m, e.term, m->pool.nodes.data[left].arg[0]);
    if (leaf.kind == IR_LEAF_VAR) {
      e.lhs_var = leaf.id;
      e.lhs_order = leaf.order;
    }
  }
  base_vec_push(m->arena, &m->equations, e);
  return m->equations.count - 1;
}

TEST_UNUSED static void add_delete(IrModel* m, uint32_t body, const char* label) {
  base_vec_push(m->arena, &m->deletes,
                (IrDelete){.body = body, .label = names_intern(&m->names, str_from_c(label))});
}

TEST_UNUSED static uint32_t add_automaton(IrModel* m, const char* name) {
  IrAutomaton a = {.name = names_intern(&m->names, str_from_c(name)), .parent_body = IR_NONE};
  base_vec_push(m->arena, &m->automata, a);
  return m->automata.count - 1;
}

static uint32_t add_state(IrModel* m, uint32_t automaton, const char* name) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < m->states.count; i++) {
    number += m->states.data[i].automaton == automaton;
  }
  IrState s = {
      .name = names_intern(&m->names, str_from_c(name)), .automaton = automaton, .body = IR_NONE};
  base_vec_push(m->arena, &m->states, s);
  return number;
}

/// Index of a state in the model's array.
static uint32_t state_index(const IrModel* m, uint32_t automaton, uint32_t state) {
  for (uint32_t i = 0; i < m->states.count; i++) {
    if (m->states.data[i].automaton == automaton && state-- == 0) return i;
  }
  return IR_NONE;
}

static uint32_t add_body(IrModel* m, uint32_t automaton, uint32_t state, uint32_t like) {
  IrBody body = {.automaton = automaton, .state = state, .parent = like};
  base_vec_push(m->arena, &m->bodies, body);
  m->states.data[state_index(m, automaton, state)].body = m->bodies.count - 1;
  return m->bodies.count - 1;
}

TEST_UNUSED static void add_transition(IrModel* m, uint32_t automaton, uint32_t from, uint32_t to,
                                       const char* guard) {
  IrTransition t = {.automaton = automaton,
                    .from_begin = m->from_states.count,
                    .from_count = 1,
                    .to = to,
                    .action_begin = m->actions.count};
  if (guard) t.guard = read_term(m, guard);
  base_vec_push(m->arena, &m->from_states, from);
  base_vec_push(m->arena, &m->transitions, t);
}

/// One more action of the transition, state or schedule that was added last.
TEST_UNUSED static void add_action(IrModel* m, const char* name, IrActionKind kind,
                                   const char* value) {
  IrAction action = {.var = find_var(m, str_from_c(name)), .kind = (uint8_t)kind};
  action.value = read_term(m, value);
  base_vec_push(m->arena, &m->actions, action);
}

/// A switch, with bodies for both branches when it stands in one. `bodies` receives them.
TEST_UNUSED static uint32_t add_switch(IrModel* m, const char* name, uint32_t parent_body,
                                       const char* condition, uint32_t bodies[2]) {
  IrTerm term = read_term(m, condition);
  uint32_t a = add_automaton(m, name);
  m->automata.data[a].kind = IR_AUTOMATON_SWITCH;
  m->automata.data[a].condition = term;
  m->automata.data[a].parent_body = parent_body;
  add_state(m, a, "false");
  add_state(m, a, "true");
  for (uint32_t s = 0; bodies && s < 2; s++) {
    bodies[s] = add_body(m, a, s, IR_NONE);
  }
  return a;
}

// ---------------------------------------------------------------------------------------------

TEST_UNUSED static Str print_term(const IrModel* m, Arena* arena, IrTerm term) {
  TextBuffer out = {.arena = arena};
  ir_print_term(&out, m, term);
  return text_str(&out);
}

TEST_UNUSED static Str print_model(const IrModel* m, Arena* arena) {
  TextBuffer out = {.arena = arena};
  ir_print_model(&out, m);
  return text_str(&out);
}

static bool build_guarded(Arena* arena, jmp_buf* oom, void (*build)(IrModel* m)) {
  if (setjmp(*oom)) return false;
  IrModel* m = ARENA_NEW(arena, IrModel);
  ir_model_init(m, arena, NULL);
  build(m);
  return true;
}

/// Fail the n-th allocation and all after it, for every n, until `build` gets through.
TEST_UNUSED static void check_every_failure(void (*build)(IrModel* m)) {
  bool done = false;
  for (size_t n = 1; !done; n++) {
    TestAllocator counting = {.fail_at = n, .fail_rest = true};
    SltAllocator allocator = test_allocator(&counting);
    jmp_buf oom;
    Arena arena;
    arena_init(&arena, &allocator, &oom);
    done = build_guarded(&arena, &oom, build);
    arena_free(&arena);
    CHECK(counting.live_blocks == 0, "everything is freed");
  }
}

/// Fail with what the verifier says.
TEST_UNUSED static void check_valid(const IrModel* m, Arena* arena, const char* case_name) {
  Str why = {NULL, 0};
  if (ir_verify(m, arena, &why)) return;
  test_fail(__FILE__, __LINE__, case_name, str_copy(arena, why).data);
}

#endif
