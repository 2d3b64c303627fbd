// SPDX-License-Identifier: MIT
//
// Choices that are more than another value: equations of states after all.
//
// `0 = if(v + i > 0, v, i)` determines v in one case and i in the other, and the mode of which it
// is a part may have other states, constraints and ranks in each. So do `min(i, -v) = 0`, and `f*v
// + (1 - f)*i = 0` where the states of an automaton set f to numbers. Such an equation becomes one
// for each state of the automaton that it asks, as if it were written in its states. Equations that
// read the same quantities in all states, and those that are explicit, stay as they are, unless
// something that one of them reads is read by another in the other state (`v = if(s > 0, 0, s)`,
// `i = if(s > 0, s, 0)`): then it is that which is determined in another way.
#include "ir/merge.h"

#include <math.h>

/// A discrete variable that is a number in each state of one automaton.
typedef struct Flag {
  uint32_t automaton;  // IR_NONE: not known to be one
  double* value;       // per state, NaN: not set there
  bool spoilt;
} Flag;

typedef struct Split {
  Merge* m;
  Flag* flags;        // per variable
  bool* splits;       // per automaton: it decides what an equation determines
  uint32_t* only[2];  // per variable: switch while that is false or true it is read, + 1
  bool* seen;         // per variable, work space
  BASE_VEC(IrEquation) added;
} Split;

// ---------------------------------------------------------------------------------------------
// flags

static bool number_of(const IrModel* model, IrTerm term, double* value) {
  const IrNode* node = &model->pool.nodes.data[term.shape.index];
  if (node->op == IR_CONST) *value = node->value;
  if (node->op != IR_SLOT) return node->op == IR_CONST;
  IrLeaf leaf = ir_leaf(model, term, node->arg[0]);
  if (leaf.kind != IR_LEAF_NUMBER) return false;
  *value = model->numbers.data[leaf.id];
  return true;
}

static void note_action(Split* s, uint32_t a, uint32_t state, const IrAction* action) {
  const IrModel* model = s->m->model;
  Flag* flag = &s->flags[action->var];
  double value = 0.0;
  bool plain = action->kind == IR_ACTION_SET && action->order == 0 &&
               (flag->automaton == IR_NONE || flag->automaton == a) &&
               number_of(model, action->value, &value);
  flag->spoilt |= !plain;
  if (!plain) return;
  if (flag->automaton == IR_NONE) {
    uint32_t count = model->automata.data[a].state_count;
    flag->automaton = a;
    flag->value = ARENA_ARRAY(s->m->scratch, double, count);
    for (uint32_t i = 0; i < count; i++) {
      flag->value[i] = (double)NAN;
    }
  }
  flag->value[state] = value;
}

static void spoil(Split* s, uint32_t begin, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    s->flags[s->m->model->actions.data[begin + i].var].spoilt = true;
  }
}

/// What an automaton begins with: the initial value, and it must not come back to it with another.
static void note_starts(Split* s) {
  const IrModel* model = s->m->model;
  for (uint32_t i = 0; i < model->starts.count; i++) {
    const IrStart* start = &model->starts.data[i];
    Flag* flag = &s->flags[start->var];
    double value = 0.0;
    if (flag->automaton == IR_NONE) continue;
    if (start->order != 0 || start->kind != IR_START_FIXED ||
        !number_of(model, start->value, &value) ||
        (!isnan(flag->value[0]) && flag->value[0] != value)) {
      flag->spoilt = true;
      continue;
    }
    bool comes_back = false;
    const IrAutomaton* automaton = &model->automata.data[flag->automaton];
    for (uint32_t t = 0; t < automaton->transition_count; t++) {
      comes_back |= model->transitions.data[automaton->transition_begin + t].to == 0;
    }
    flag->spoilt |= comes_back && isnan(flag->value[0]);
    flag->value[0] = value;
  }
}

static void find_flags(Split* s) {
  const IrModel* model = s->m->model;
  for (uint32_t v = 0; v < model->vars.count; v++) {
    s->flags[v] =
        (Flag){.automaton = IR_NONE, .spoilt = model->vars.data[v].kind != IR_VAR_DISCRETE};
  }
  for (uint32_t i = 0; i < model->states.count; i++) {
    const IrState* state = &model->states.data[i];
    uint32_t a = state->automaton;
    for (uint32_t k = 0; k < state->action_count; k++) {
      note_action(s, a, i - model->automata.data[a].state_begin,
                  &model->actions.data[state->action_begin + k]);
    }
  }
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    spoil(s, model->transitions.data[i].action_begin, model->transitions.data[i].action_count);
  }
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    spoil(s, model->schedules.data[i].action_begin, model->schedules.data[i].action_count);
  }
  note_starts(s);
  for (uint32_t v = 0; v < model->vars.count; v++) {
    Flag* flag = &s->flags[v];
    uint32_t count =
        flag->automaton == IR_NONE ? 0 : model->automata.data[flag->automaton].state_count;
    for (uint32_t i = 0; i < count; i++) {
      flag->spoilt |= isnan(flag->value[i]);
    }
    if (flag->spoilt) flag->automaton = IR_NONE;
  }
}

// ---------------------------------------------------------------------------------------------
// one equation

/// The automaton whose state a leaf depends on; IR_NONE for none.
static uint32_t asked_by(const Split* s, IrLeaf leaf) {
  if (leaf.kind == IR_LEAF_MODE) return s->m->model->mode_tests.data[leaf.id].automaton;
  bool value = leaf.kind == IR_LEAF_VAR && leaf.when == IR_NOW && leaf.order == 0;
  return value ? s->flags[leaf.id].automaton : IR_NONE;
}

/// The one automaton whose states an equation asks for; IR_NONE: none, or several.
static uint32_t asks(const Split* s, const IrEquation* e) {
  uint32_t found = IR_NONE;
  for (uint32_t k = 0; k < e->term.leaf_count; k++) {
    uint32_t a = asked_by(s, ir_leaf(s->m->model, e->term, k));
    if (a == IR_NONE || a == found) continue;
    if (found != IR_NONE) return IR_NONE;
    found = a;
  }
  if (found == IR_NONE) return IR_NONE;
  const IrAutomaton* automaton = &s->m->model->automata.data[found];
  return automaton->parent_body == IR_NONE && !automaton->hidden ? found : IR_NONE;
}

static bool known(const IrPool* pool, uint32_t node, double* value) {
  const IrNode* n = &pool->nodes.data[node];
  if (n->op == IR_TRUE || n->op == IR_FALSE) *value = n->op == IR_TRUE ? 1.0 : 0.0;
  if (n->op == IR_CONST) *value = n->value;
  return n->op == IR_TRUE || n->op == IR_FALSE || n->op == IR_CONST;
}

/// The number that a node is; NaN, which is equal to nothing, where it is none.
static double value_or_nan(const IrPool* pool, uint32_t node) {
  double value = (double)NAN;
  known(pool, node, &value);
  return value;
}

static uint32_t fold_product(double a, double b, const uint32_t* arg) {
  if (a == 0.0 || b == 1.0) return arg[0];
  return b == 0.0 || a == 1.0 ? arg[1] : 0;
}

/// What is left of a product, a sum or a choice of which one part is a number; 0: all of it.
static uint32_t fold(IrPool* pool, IrOp op, const uint32_t* arg) {
  double a = ir_op_arity(op) > 0 ? value_or_nan(pool, arg[0]) : (double)NAN;
  double b = ir_op_arity(op) > 1 ? value_or_nan(pool, arg[1]) : (double)NAN;
  switch ((int)op) {
  case IR_SELECT: return isnan(a) ? 0 : arg[a != 0.0 ? 1 : 2];
  case IR_MUL: return fold_product(a, b, arg);
  case IR_ADD: return b == 0.0 ? arg[0] : a == 0.0 ? arg[1] : 0;
  case IR_SUB: return !isnan(a - b) ? ir_const(pool, a - b).index : b == 0.0 ? arg[0] : 0;
  case IR_DIV: return a == 0.0 || b == 1.0 ? arg[0] : 0;
  case IR_NEG: return isnan(a) ? 0 : ir_const(pool, -a).index;
  default: return 0;
  }
}

static bool fold_node(Merge* m, uint32_t node, void* user) {
  const ExprId* slots = user;
  IrPool* pool = &m->model->pool;
  IrNode n = pool->nodes.data[node];
  ExprId none = {0};
  if (n.op == IR_SLOT) {
    m->copy[node] = slots[n.arg[0]].index;
    return true;
  }
  if (n.op == IR_CONST) {
    m->copy[node] = ir_const(pool, n.value).index;
    return true;
  }
  uint32_t arg[3] = {0, 0, 0};
  for (uint32_t k = ir_first_arg(n.op); k < ir_op_arity((IrOp)n.op); k++) {
    arg[k] = m->copy[n.arg[k]];
  }
  uint32_t rest = 0;
  double truth = 0.0;
  if (n.op == IR_TABLE) {
    rest = ir_table(pool, n.arg[0], (ExprId){arg[1]}).index;
  } else if (n.op == IR_NOT && known(pool, arg[0], &truth)) {
    rest = ir_node(pool, truth != 0.0 ? IR_FALSE : IR_TRUE, none, none, none).index;
  } else {
    rest = fold(pool, (IrOp)n.op, arg);
  }
  if (!rest) {
    rest = ir_node(pool, (IrOp)n.op, (ExprId){arg[0]}, (ExprId){arg[1]}, (ExprId){arg[2]}).index;
  }
  m->copy[node] = rest;
  return true;
}

/// The equation while its automaton is in a state.
static IrTerm in_state(Split* s, IrTerm term, uint32_t automaton, uint32_t state) {
  IrModel* model = s->m->model;
  IrTermBuilder builder;
  ir_term_begin(&builder, model);
  ExprId none = {0};
  ExprId* slots = ARENA_ARRAY(s->m->scratch, ExprId, (size_t)term.leaf_count + 1);
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(model, term, k);
    if (asked_by(s, leaf) != automaton) {
      slots[k] = ir_term_leaf(&builder, leaf);
    } else if (leaf.kind == IR_LEAF_MODE) {
      bool here = model->mode_tests.data[leaf.id].state == state;
      slots[k] = ir_node(&model->pool, here ? IR_TRUE : IR_FALSE, none, none, none);
    } else {
      slots[k] = ir_const(&model->pool, s->flags[leaf.id].value[state]);
    }
  }
  merge_visit(s->m, term.shape.index, fold_node, slots);
  return ir_term_end(&builder, (ExprId){s->m->copy[term.shape.index]});
}

/// Mark the variables that a term reads, or take the marks away; how many of them were not so yet.
static uint32_t mark_unknowns(Split* s, IrTerm term, bool mark) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(s->m->model, term, k);
    if (leaf.kind != IR_LEAF_VAR || s->m->model->vars.data[leaf.id].kind == IR_VAR_DISCRETE) {
      continue;
    }
    count += s->seen[leaf.id] != mark;
    s->seen[leaf.id] = mark;
  }
  return count;
}

static bool reads_more(Split* s, IrTerm a, IrTerm b) {
  mark_unknowns(s, b, true);
  bool more = mark_unknowns(s, a, true) > 0;
  mark_unknowns(s, a, false);
  mark_unknowns(s, b, false);
  return more;
}

/// Whether the states of the automaton make it an equation of other quantities.
static bool differs(Split* s, const IrEquation* e, uint32_t automaton) {
  IrTerm first = in_state(s, e->term, automaton, 0);
  for (uint32_t i = 1; i < s->m->model->automata.data[automaton].state_count; i++) {
    IrTerm other = in_state(s, e->term, automaton, i);
    if (reads_more(s, first, other) || reads_more(s, other, first)) return true;
  }
  return false;
}

/// Variables that only one state of a switch lets an explicit equation read: the switch splits
/// where another one reads them in the other state.
static void note_only(Split* s, const IrEquation* e, uint32_t a) {
  IrModel* model = s->m->model;
  if (model->automata.data[a].kind != IR_AUTOMATON_SWITCH) return;
  for (uint32_t state = 0; state < 2; state++) {
    IrTerm here = in_state(s, e->term, a, state);
    IrTerm there = in_state(s, e->term, a, 1 - state);
    mark_unknowns(s, there, true);
    for (uint32_t k = 0; k < here.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(model, here, k);
      if (leaf.kind != IR_LEAF_VAR || s->seen[leaf.id]) continue;
      s->only[state][leaf.id] = a + 1;
      s->splits[a] |= s->only[1 - state][leaf.id] == a + 1;
    }
    mark_unknowns(s, there, false);
  }
}

// ---------------------------------------------------------------------------------------------
// the model

static uint32_t body_of(IrModel* model, uint32_t automaton, uint32_t state) {
  uint32_t* body = &model->states.data[model->automata.data[automaton].state_begin + state].body;
  if (*body == IR_NONE) {
    *body = model->bodies.count;
    IrBody added = {.automaton = automaton, .state = state, .parent = IR_NONE};
    base_vec_push(model->arena, &model->bodies, added);
  }
  return *body;
}

/// Whether nothing is left of an equation, as of `0 = k*(a - b)` while k is 0.
static bool says_nothing(const IrModel* model, IrTerm term) {
  const IrNode* top = &model->pool.nodes.data[term.shape.index];
  double left = 0.0;
  double right = 1.0;
  return top->op == IR_EQUALS && known(&model->pool, top->arg[0], &left) &&
         known(&model->pool, top->arg[1], &right) && left == right;
}

static void delete_label(IrModel* model, uint32_t body, const IrEquation* e) {
  IrDelete gone = {.body = body, .label = e->label, .span = e->span};
  base_vec_push(model->arena, &model->deletes, gone);
}

/// The equation becomes that of the first state; false where nothing is left of it there.
static bool split_equation(Split* s, IrEquation* e, uint32_t automaton, uint32_t number) {
  IrModel* model = s->m->model;
  IrTerm whole = e->term;
  if (e->lhs_var == IR_NONE) {
    Str name = str_format(s->m->scratch, "choice@%u", number);
    e->label = names_intern(&model->names, name);
  }
  e->term = in_state(s, whole, automaton, 0);
  bool stays = !says_nothing(model, e->term);
  for (uint32_t i = 1; i < model->automata.data[automaton].state_count; i++) {
    IrEquation other = *e;
    other.term = in_state(s, whole, automaton, i);
    if (ir_term_equal(model, other.term, e->term)) continue;
    other.body = body_of(model, automaton, i);
    if (!says_nothing(model, other.term)) {
      base_vec_push(s->m->scratch, &s->added, other);
    } else if (stays) {
      delete_label(model, other.body, e);
    }
  }
  return stays;
}

/// An equation that stands for itself, outside of all states.
static bool stands_alone(const IrEquation* e) {
  return e->body == 0 && e->label == 0 && !e->element;
}

/// Derivatives are values, whatever they are computed from.
static bool may_split(const IrEquation* e) {
  return stands_alone(e) && (e->lhs_var == IR_NONE || e->lhs_order == 0);
}

bool merge_can_split(const IrModel* model) {
  bool asks_states = model->mode_tests.count > 0;
  for (uint32_t v = 0; v < model->vars.count && !asks_states; v++) {
    asks_states = ir_var(model, v).kind == IR_VAR_DISCRETE;
  }
  for (uint32_t i = 0; i < model->equations.count && asks_states; i++) {
    IrEquation e = ir_equation(model, i);
    if (!may_split(&e)) continue;
    for (uint32_t k = 0; k < e.term.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(model, e.term, k);
      if (leaf.kind == IR_LEAF_MODE) return true;
      if (leaf.kind == IR_LEAF_VAR && ir_var(model, leaf.id).kind == IR_VAR_DISCRETE) return true;
    }
  }
  return false;
}

bool merge_split_choices(Merge* m) {
  IrModel* model = m->model;
  Split s = {.m = m,
             .flags = ARENA_ARRAY(m->scratch, Flag, (size_t)model->vars.count + 1),
             .splits = ARENA_ARRAY(m->scratch, bool, (size_t)model->automata.count + 1),
             .seen = ARENA_ARRAY(m->scratch, bool, (size_t)model->vars.count + 1),
             .only = {ARENA_ARRAY(m->scratch, uint32_t, (size_t)model->vars.count + 1),
                      ARENA_ARRAY(m->scratch, uint32_t, (size_t)model->vars.count + 1)}};
  find_flags(&s);
  bool any = false;
  uint32_t count = model->equations.count;
  for (uint32_t i = 0; i < count; i++) {
    IrEquation e = model->equations.data[i];
    uint32_t a = may_split(&e) ? asks(&s, &e) : IR_NONE;
    if (a == IR_NONE || s.splits[a]) continue;
    if (e.lhs_var == IR_NONE) s.splits[a] = differs(&s, &e, a);
    if (e.lhs_var != IR_NONE) note_only(&s, &e, a);
    any |= s.splits[a];
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; any && i < count; i++) {
    IrEquation e = model->equations.data[i];
    uint32_t a = may_split(&e) ? asks(&s, &e) : IR_NONE;
    bool splits = a != IR_NONE && s.splits[a] && differs(&s, &e, a);
    if (!splits || split_equation(&s, &e, a, i)) model->equations.data[kept++] = e;
  }
  if (any) model->equations.count = kept;
  for (uint32_t i = 0; i < s.added.count; i++) {
    base_vec_push(model->arena, &model->equations, s.added.data[i]);
  }
  return any;
}
