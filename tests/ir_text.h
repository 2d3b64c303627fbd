// SPDX-License-Identifier: MIT
//
// Small models for tests of what comes after the front ends: one statement per line, straight into
// the IR. Not a language for people; mistakes end the test.
//
//   param k = 2*m          discrete n             start x' = 1        guess x = 1
//   macro p = m*v          data T linear 0 1 2 5  (or cubic)          energy = x*x
//   atom low = x - 1       g of a relation g > 0, read by that name in conditions
//   [label:] lhs = rhs     equation of the current body; anything not declared is an unknown
//   automaton a            with the state `init`; statements after it still go to the global body
//   state s                of the automaton; equations, `set x = e`, `delete l` after it are its
//   own from init s when c     transition into the current state invariant c            of the
//   current state switch w = c           two-state automaton; `in w false` and `in w true` select a
//   body global                 back to the global body at 1 each 2 { n = n + 1 }   schedule with
//   one action
//
// Expressions: numbers, names with primes, t, + - * / ^, functions by the names of ir.h, relations,
// and or not, if(c, a, b), table(T, x), pre(x), post(x), entry(a), entry(), AUTOMATON.STATE.
#ifndef SALTUS_TESTS_IR_TEXT_H
#define SALTUS_TESTS_IR_TEXT_H

#include "ir/ir.h"
#include "test.h"

#include <ctype.h>

typedef struct IrText {
  IrModel model;
  Source source;
  const char* at;
  IrTermBuilder builder;
  uint32_t automaton, state, body;  // where statements go
  uint32_t appearance;
  struct {
    char name[32];
    uint32_t atom;
  } atoms[64];
  uint32_t atom_count;
} IrText;

static ExprId irt_or(IrText* p);

_Noreturn static void irt_fail(IrText* p, const char* what) {
  print_error("ir_text: %s at: %.60s\n", what, p->at);
  test_fail(__FILE__, __LINE__, "ir_text", what);
}

static void irt_space(IrText* p) {
  while (*p->at == ' ') {
    p->at++;
  }
}

static bool irt_take(IrText* p, const char* text) {
  irt_space(p);
  size_t length = strlen(text);
  if (strncmp(p->at, text, length) != 0) return false;
  bool is_word = isalpha((unsigned char)text[0]) != 0;
  if (is_word && (isalnum((unsigned char)p->at[length]) || p->at[length] == '_')) return false;
  p->at += length;
  return true;
}

static void irt_need(IrText* p, const char* text) {
  if (!irt_take(p, text)) irt_fail(p, text);
}

static Str irt_word(IrText* p) {
  irt_space(p);
  const char* begin = p->at;
  while (isalnum((unsigned char)*p->at) || *p->at == '_' || (unsigned char)*p->at >= 0x80) {
    p->at++;
  }
  if (p->at == begin) irt_fail(p, "a name");
  return (Str){begin, (uint32_t)(p->at - begin)};
}

static uint32_t irt_name(IrText* p) {
  return names_intern(&p->model.names, irt_word(p));
}

static uint32_t irt_find_param(const IrText* p, uint32_t name) {
  for (uint32_t i = 0; i < p->model.params.count; i++) {
    if (p->model.params.data[i].name == name) return i;
  }
  return IR_NONE;
}

static uint32_t irt_var(IrText* p, uint32_t name) {
  for (uint32_t i = 0; i < p->model.vars.count; i++) {
    if (p->model.vars.data[i].name == name) return i;
  }
  IrVar var = {.name = name, .nominal = 1.0, .appearance = p->appearance++};
  base_vec_push(p->model.arena, &p->model.vars, var);
  return p->model.vars.count - 1;
}

static uint8_t irt_primes(IrText* p) {
  uint8_t order = 0;
  while (*p->at == '\'') {
    p->at++;
    order++;
  }
  return order;
}

static uint32_t irt_find_automaton(const IrText* p, uint32_t name) {
  for (uint32_t i = 0; i < p->model.automata.count; i++) {
    if (p->model.automata.data[i].name == name) return i;
  }
  return IR_NONE;
}

/// States of an automaton are not contiguous before canonicalisation: count them.
static uint32_t irt_find_state(IrText* p, uint32_t automaton, uint32_t name, uint32_t* global) {
  uint32_t local = 0;
  for (uint32_t i = 0; i < p->model.states.count; i++) {
    if (p->model.states.data[i].automaton != automaton) continue;
    *global = i;
    if (p->model.states.data[i].name == name) return local;
    local++;
  }
  irt_fail(p, "no such state");
}

static ExprId irt_leaf(IrText* p, IrLeafKind kind, uint32_t id) {
  return ir_term_leaf(&p->builder, (IrLeaf){.id = id, .kind = (uint8_t)kind});
}

static ExprId irt_when(IrText* p, IrWhen when) {
  irt_need(p, "(");
  uint32_t var = irt_var(p, irt_name(p));
  ExprId expr = ir_term_var(&p->builder, var, irt_primes(p), when);
  irt_need(p, ")");
  return expr;
}

static ExprId irt_table(IrText* p) {
  irt_need(p, "(");
  uint32_t name = irt_name(p);
  irt_need(p, ",");
  ExprId argument = irt_or(p);
  irt_need(p, ")");
  for (uint32_t i = 0; i < p->model.data.count; i++) {
    if (p->model.data.data[i].name == name) return ir_table(&p->model.pool, i, argument);
  }
  irt_fail(p, "no such table");
}

static ExprId irt_entry(IrText* p) {
  irt_need(p, "(");
  if (irt_take(p, ")")) return irt_leaf(p, IR_LEAF_ENTRY, IR_NONE);
  uint32_t automaton = irt_find_automaton(p, irt_name(p));
  irt_need(p, ")");
  return irt_leaf(p, IR_LEAF_ENTRY, automaton);
}

static ExprId irt_call(IrText* p, IrOp op) {
  ExprId args[3] = {{0}};
  irt_need(p, "(");
  for (uint32_t k = 0; k < ir_op_arity(op); k++) {
    if (k) irt_need(p, ",");
    args[k] = irt_or(p);
  }
  irt_need(p, ")");
  return ir_node(&p->model.pool, op, args[0], args[1], args[2]);
}

static ExprId irt_mode_test(IrText* p, uint32_t automaton) {
  irt_need(p, ".");
  uint32_t global = 0;
  uint32_t state = irt_find_state(p, automaton, irt_name(p), &global);
  base_vec_push(p->model.arena, &p->model.mode_tests, (IrModeTest){automaton, state});
  return irt_leaf(p, IR_LEAF_MODE, p->model.mode_tests.count - 1);
}

static ExprId irt_named(IrText* p) {
  if (irt_take(p, "true"))
    return ir_node(&p->model.pool, IR_TRUE, (ExprId){0}, (ExprId){0}, (ExprId){0});
  if (irt_take(p, "pre")) return irt_when(p, IR_PRE);
  if (irt_take(p, "post")) return irt_when(p, IR_POST);
  if (irt_take(p, "table")) return irt_table(p);
  if (irt_take(p, "entry")) return irt_entry(p);
  if (irt_take(p, "t"))
    return ir_node(&p->model.pool, IR_TIME, (ExprId){0}, (ExprId){0}, (ExprId){0});
  for (uint32_t op = IR_SIN; op < IR_EQUALS; op++) {
    bool is_word = isalpha((unsigned char)ir_op_text((IrOp)op)[0]) != 0;
    bool infix = op == IR_AND || op == IR_OR || op == IR_NOT || op == IR_TABLE;
    if (is_word && !infix && irt_take(p, ir_op_text((IrOp)op))) return irt_call(p, (IrOp)op);
  }
  Str word = irt_word(p);
  for (uint32_t i = 0; i < p->atom_count; i++) {
    if (str_equal(word, str_from_c(p->atoms[i].name))) {
      return irt_leaf(p, IR_LEAF_ATOM, p->atoms[i].atom);
    }
  }
  uint32_t name = names_intern(&p->model.names, word);
  uint32_t param = irt_find_param(p, name);
  if (param != IR_NONE) return ir_term_param(&p->builder, param);
  uint32_t automaton = irt_find_automaton(p, name);
  if (automaton != IR_NONE && *p->at == '.') return irt_mode_test(p, automaton);
  uint32_t var = irt_var(p, name);
  return ir_term_var(&p->builder, var, irt_primes(p), IR_NOW);
}

static ExprId irt_binary(IrText* p, IrOp op, ExprId a, ExprId b) {
  return ir_node(&p->model.pool, op, a, b, (ExprId){0});
}

static ExprId irt_atom_expr(IrText* p) {
  irt_space(p);
  if (irt_take(p, "(")) {
    ExprId inner = irt_or(p);
    irt_need(p, ")");
    return inner;
  }
  if (isdigit((unsigned char)*p->at) || *p->at == '.') {
    double value = 0.0;
    uint32_t read = number_read(str_from_c(p->at), false, &value);
    if (read == 0) irt_fail(p, "a number");
    p->at += read;
    return ir_term_number(&p->builder, value);
  }
  return irt_named(p);
}

static ExprId irt_unary(IrText* p) {
  if (irt_take(p, "-")) return irt_binary(p, IR_NEG, irt_unary(p), (ExprId){0});
  if (irt_take(p, "not")) return irt_binary(p, IR_NOT, irt_unary(p), (ExprId){0});
  ExprId base = irt_atom_expr(p);
  return irt_take(p, "^") ? irt_binary(p, IR_POW, base, irt_unary(p)) : base;
}

static ExprId irt_product(IrText* p) {
  ExprId left = irt_unary(p);
  for (;;) {
    if (irt_take(p, "*")) {
      left = irt_binary(p, IR_MUL, left, irt_unary(p));
    } else if (irt_take(p, "/")) {
      left = irt_binary(p, IR_DIV, left, irt_unary(p));
    } else {
      return left;
    }
  }
}

static ExprId irt_sum(IrText* p) {
  ExprId left = irt_product(p);
  for (;;) {
    if (irt_take(p, "+")) {
      left = irt_binary(p, IR_ADD, left, irt_product(p));
    } else if (irt_take(p, "-")) {
      left = irt_binary(p, IR_SUB, left, irt_product(p));
    } else {
      return left;
    }
  }
}

static ExprId irt_relation(IrText* p) {
  static const IrOp ops[] = {IR_LE, IR_GE, IR_EQ, IR_NE, IR_LT, IR_GT};
  ExprId left = irt_sum(p);
  for (size_t i = 0; i < SLT_COUNT(ops); i++) {
    if (irt_take(p, ir_op_text(ops[i]))) return irt_binary(p, ops[i], left, irt_sum(p));
  }
  return left;
}

static ExprId irt_and(IrText* p) {
  ExprId left = irt_relation(p);
  while (irt_take(p, "and")) {
    left = irt_binary(p, IR_AND, left, irt_relation(p));
  }
  return left;
}

static ExprId irt_or(IrText* p) {
  ExprId left = irt_and(p);
  while (irt_take(p, "or")) {
    left = irt_binary(p, IR_OR, left, irt_and(p));
  }
  return left;
}

static IrTerm irt_term(IrText* p) {
  ir_term_begin(&p->builder, &p->model);
  return ir_term_end(&p->builder, irt_or(p));
}

static uint32_t irt_body(IrText* p, uint32_t automaton, uint32_t local, uint32_t global) {
  IrState* state = &p->model.states.data[global];
  if (state->body == IR_NONE) {
    state->body = p->model.bodies.count;
    IrBody body = {.automaton = automaton, .state = local, .parent = IR_NONE};
    base_vec_push(p->model.arena, &p->model.bodies, body);
  }
  return p->model.states.data[global].body;
}

static void irt_add_state(IrText* p, uint32_t automaton, uint32_t name, Span span) {
  IrState state = {.name = name, .automaton = automaton, .body = IR_NONE, .span = span};
  base_vec_push(p->model.arena, &p->model.states, state);
}

static void irt_add_automaton(IrText* p, uint32_t name, IrAutomatonKind kind, Span span) {
  IrAutomaton automaton = {
      .name = name, .kind = (uint8_t)kind, .parent_body = IR_NONE, .span = span};
  base_vec_push(p->model.arena, &p->model.automata, automaton);
  p->automaton = p->model.automata.count - 1;
}

static void irt_equation(IrText* p, Span span) {
  IrEquation equation = {.body = p->body, .lhs_var = IR_NONE, .span = span};
  const char* rest = p->at;
  while (isalnum((unsigned char)*rest) || *rest == '_') {
    rest++;
  }
  if (*rest == ':') {
    equation.label = irt_name(p);
    p->at++;
  }
  ir_term_begin(&p->builder, &p->model);
  ExprId left = irt_sum(p);
  irt_need(p, "=");
  const IrNode* node = &p->model.pool.nodes.data[left.index];
  if (node->op == IR_SLOT) {
    IrLeaf leaf = p->builder.row.data[node->arg[0]];
    if (leaf.kind == IR_LEAF_VAR) {
      equation.lhs_var = leaf.id;
      equation.lhs_order = leaf.order;
    }
  }
  ExprId right = irt_sum(p);
  equation.term = ir_term_end(&p->builder, irt_binary(p, IR_EQUALS, left, right));
  base_vec_push(p->model.arena, &p->model.equations, equation);
}

static void irt_start(IrText* p, IrStartKind kind, Span span) {
  IrStart start = {.kind = (uint8_t)kind, .span = span};
  start.var = irt_var(p, irt_name(p));
  start.order = irt_primes(p);
  irt_need(p, "=");
  start.value = irt_term(p);
  base_vec_push(p->model.arena, &p->model.starts, start);
}

static IrAction irt_action(IrText* p, Span span) {
  IrAction action = {.kind = IR_ACTION_SET, .span = span};
  action.var = irt_var(p, irt_name(p));
  action.order = irt_primes(p);
  irt_need(p, "=");
  action.value = irt_term(p);
  return action;
}

static void irt_set(IrText* p, Span span) {
  IrAction action = irt_action(p, span);
  IrState* state = &p->model.states.data[p->state];
  if (state->action_count++ == 0) state->action_begin = p->model.actions.count;
  base_vec_push(p->model.arena, &p->model.actions, action);
}

static void irt_schedule(IrText* p, Span span) {
  IrSchedule schedule = {.count = 1, .span = span, .start = irt_term(p)};
  if (irt_take(p, "each")) {
    schedule.period = irt_term(p);
    schedule.count = -1;
  }
  irt_need(p, "{");
  schedule.action_begin = p->model.actions.count;
  schedule.action_count = 1;
  IrAction action = irt_action(p, span);
  irt_need(p, "}");
  base_vec_push(p->model.arena, &p->model.actions, action);
  base_vec_push(p->model.arena, &p->model.schedules, schedule);
}

static bool irt_reads_continuous(const IrText* p, IrTerm term) {
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(&p->model, term, k);
    if (leaf.kind == IR_LEAF_VAR && p->model.vars.data[leaf.id].kind == IR_VAR_UNKNOWN) return true;
  }
  return false;
}

static void irt_atom(IrText* p, Span span) {
  Str name = irt_word(p);
  irt_need(p, "=");
  const char* begin = p->at;
  IrAtom atom = {.g = irt_term(p), .relation = IR_REL_GT, .span = span};
  bool reads_time = false;
  for (const char* c = begin; c < p->at; c++) {
    bool alone = !isalnum((unsigned char)c[-1]) && !isalnum((unsigned char)c[1]);
    reads_time |= *c == 't' && alone;
  }
  atom.continuous = reads_time || irt_reads_continuous(p, atom.g);
  snprintf(p->atoms[p->atom_count].name, sizeof p->atoms[0].name, "%.*s", STR_ARGS(name));
  p->atoms[p->atom_count++].atom = p->model.atoms.count;
  base_vec_push(p->model.arena, &p->model.atoms, atom);
}

static void irt_transition(IrText* p, Span span) {
  IrTransition t = {.automaton = p->automaton, .span = span};
  uint32_t global = 0;
  t.to = irt_find_state(p, p->automaton, p->model.states.data[p->state].name, &global);
  t.from_begin = p->model.from_states.count;
  while (!irt_take(p, "when")) {
    uint32_t from = irt_find_state(p, p->automaton, irt_name(p), &global);
    base_vec_push(p->model.arena, &p->model.from_states, from);
    t.from_count++;
  }
  t.guard = irt_term(p);
  base_vec_push(p->model.arena, &p->model.transitions, t);
}

static void irt_data(IrText* p, Span span) {
  IrData data = {.name = irt_name(p), .span = span};
  data.interpolation = irt_take(p, "cubic") ? IR_CUBIC : IR_LINEAR;
  if (data.interpolation == IR_LINEAR) irt_need(p, "linear");
  double* values = ARENA_ARRAY(p->model.arena, double, 64);
  for (irt_space(p); *p->at && *p->at != '\n'; irt_space(p)) {
    uint32_t half = data.count % 2 ? 32 : 0;
    uint32_t read = number_read(str_from_c(p->at), true, &values[half + data.count / 2]);
    if (read == 0) irt_fail(p, "a number");
    p->at += read;
    data.count++;
  }
  data.count /= 2;
  data.x = values;
  data.y = values + 32;
  base_vec_push(p->model.arena, &p->model.data, data);
}

static void irt_automaton(IrText* p, Span span) {
  irt_add_automaton(p, irt_name(p), IR_AUTOMATON_USER, span);
  irt_add_state(p, p->automaton, names_intern(&p->model.names, STR_LIT("init")), span);
  p->state = p->model.states.count - 1;
}

static void irt_state(IrText* p, Span span) {
  uint32_t name = irt_name(p);
  irt_add_state(p, p->automaton, name, span);
  uint32_t local = irt_find_state(p, p->automaton, name, &p->state);
  p->body = irt_body(p, p->automaton, local, p->state);
}

static void irt_switch(IrText* p, Span span) {
  uint32_t parent = p->body;
  irt_add_automaton(p, irt_name(p), IR_AUTOMATON_SWITCH, span);
  irt_need(p, "=");
  uint32_t automaton = p->automaton;
  IrTerm condition = irt_term(p);
  p->model.automata.data[automaton].condition = condition;
  p->model.automata.data[automaton].parent_body = parent;
  irt_add_state(p, automaton, names_intern(&p->model.names, STR_LIT("false")), span);
  irt_add_state(p, automaton, names_intern(&p->model.names, STR_LIT("true")), span);
}

static void irt_in(IrText* p) {
  p->automaton = irt_find_automaton(p, irt_name(p));
  uint32_t local = irt_find_state(p, p->automaton, irt_name(p), &p->state);
  p->body = irt_body(p, p->automaton, local, p->state);
}

static void irt_param(IrText* p, Span span) {
  IrParam param = {.name = irt_name(p), .span = span, .appearance = p->appearance++};
  irt_need(p, "=");
  param.value = irt_term(p);
  base_vec_push(p->model.arena, &p->model.params, param);
}

static void irt_discrete(IrText* p) {
  uint32_t var = irt_var(p, irt_name(p));
  p->model.vars.data[var].kind = IR_VAR_DISCRETE;
}

static void irt_macro(IrText* p, Span span) {
  IrMacro macro = {.name = irt_name(p), .span = span};
  irt_need(p, "=");
  macro.value = irt_term(p);
  base_vec_push(p->model.arena, &p->model.macros, macro);
}

static void irt_delete(IrText* p, Span span) {
  IrDelete deletion = {.body = p->body, .label = irt_name(p), .span = span};
  base_vec_push(p->model.arena, &p->model.deletes, deletion);
}

static void irt_statement(IrText* p, Span span) {
  if (irt_take(p, "param")) {
    irt_param(p, span);
  } else if (irt_take(p, "discrete")) {
    irt_discrete(p);
  } else if (irt_take(p, "start")) {
    irt_start(p, IR_START_FIXED, span);
  } else if (irt_take(p, "guess")) {
    irt_start(p, IR_START_GUESS, span);
  } else if (irt_take(p, "macro")) {
    irt_macro(p, span);
  } else if (irt_take(p, "energy")) {
    irt_need(p, "=");
    p->model.energy = irt_term(p);
  } else if (irt_take(p, "data")) {
    irt_data(p, span);
  } else if (irt_take(p, "atom")) {
    irt_atom(p, span);
  } else if (irt_take(p, "automaton")) {
    irt_automaton(p, span);
  } else if (irt_take(p, "state")) {
    irt_state(p, span);
  } else if (irt_take(p, "switch")) {
    irt_switch(p, span);
  } else if (irt_take(p, "in")) {
    irt_in(p);
  } else if (irt_take(p, "global")) {
    p->body = 0;
  } else if (irt_take(p, "from")) {
    irt_transition(p, span);
  } else if (irt_take(p, "invariant")) {
    p->model.states.data[p->state].invariant = irt_term(p);
  } else if (irt_take(p, "set")) {
    irt_set(p, span);
  } else if (irt_take(p, "delete")) {
    irt_delete(p, span);
  } else if (irt_take(p, "at")) {
    irt_schedule(p, span);
  } else {
    irt_equation(p, span);
  }
  irt_space(p);
  if (*p->at && *p->at != '\n') irt_fail(p, "end of the statement");
}

/// The model of a text, in canonical order; it lives as long as `arena` and `p`.
static const IrModel* ir_text(IrText* p, Arena* arena, const char* text) {
  memset(p, 0, sizeof *p);
  source_init(&p->source, arena, STR_LIT("test.lisma"), str_from_c(text));
  ir_model_init(&p->model, arena, &p->source);
  for (p->at = text; *p->at;) {
    irt_space(p);
    uint32_t begin = (uint32_t)(p->at - text);
    uint32_t end = begin + (uint32_t)strcspn(p->at, "\n");
    if (end > begin) irt_statement(p, (Span){begin, end});
    p->at = text + end;
    if (*p->at) p->at++;
  }
  ir_canonicalise(&p->model);
  Str why = {0};
  if (!ir_verify(&p->model, arena, &why)) {
    print_error("ir_text: %.*s\n", STR_ARGS(why));
    test_fail(__FILE__, __LINE__, "ir_text", "the model is not valid");
  }
  return &p->model;
}

/// Index of a variable by name.
TEST_UNUSED static uint32_t ir_text_var(const IrModel* model, const char* name) {
  uint32_t id = names_find(&model->names, str_from_c(name));
  for (uint32_t i = 0; i < model->vars.count; i++) {
    if (model->vars.data[i].name == id) return i;
  }
  test_fail(__FILE__, __LINE__, name, "no such variable");
}

#endif
