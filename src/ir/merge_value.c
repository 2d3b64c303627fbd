// SPDX-License-Identifier: MIT
//
// What a cluster of automata makes of the equations it edits, as values that select by state.
#include "ir/merge.h"

/// The targets of a cluster while its bodies are applied. An absent value: no equation.
typedef struct Env {
  uint32_t count;
  uint32_t* value;
  uint32_t* label;  // of the group it belongs to
  uint32_t* layer;  // body that wrote it + 1
} Env;

static Env env_create(Merge* m, uint32_t count) {
  return (Env){count, ARENA_ARRAY(m->scratch, uint32_t, (size_t)count + 1),
               ARENA_ARRAY(m->scratch, uint32_t, (size_t)count + 1),
               ARENA_ARRAY(m->scratch, uint32_t, (size_t)count + 1)};
}

static Env env_copy(Merge* m, const Env* from) {
  Env env = env_create(m, from->count);
  memcpy(env.value, from->value, from->count * sizeof *env.value);
  memcpy(env.label, from->label, from->count * sizeof *env.label);
  return env;
}

static uint32_t value_create(Merge* m, uint32_t automaton, uint32_t first) {
  base_vec_push(m->scratch, &m->values, (MergeValue){automaton, first});
  return m->values.count - 1;
}

// ---------------------------------------------------------------------------------------------
// bodies

/// Remove the equations of a group that the present body did not write itself.
static void clear_label(Env* env, uint32_t label, uint32_t layer) {
  for (uint32_t t = 0; t < env->count; t++) {
    if (env->label[t] == label && env->layer[t] != layer) env->value[t] = IR_NONE;
  }
}

/// Whether two equations say the same: a state may repeat what holds anyway.
static bool is_same(const Merge* m, uint32_t value, uint32_t equation) {
  if (value == IR_NONE || m->values.data[value].automaton != IR_NONE) return false;
  const IrEquation* all = m->model->equations.data;
  return ir_term_equal(m->model, all[m->values.data[value].first].term, all[equation].term);
}

static bool apply_body(Merge* m, uint32_t b, Env* env) {
  const IrModel* model = m->model;
  const IrBody* body = &model->bodies.data[b];
  uint32_t layer = b + 1;
  for (uint32_t i = 0; i < body->delete_count; i++) {
    clear_label(env, model->deletes.data[body->delete_begin + i].label, layer);
  }
  Env before = env_copy(m, env);
  for (uint32_t i = 0; i < body->equation_count; i++) {
    uint32_t label = model->equations.data[body->equation_begin + i].label;
    if (label) clear_label(env, label, layer);
  }
  for (uint32_t i = 0; i < body->equation_count; i++) {
    uint32_t equation = body->equation_begin + i;
    const IrEquation* e = &model->equations.data[equation];
    uint32_t t = m->vars[e->lhs_var].place;
    if (env->layer[t] == layer) return false;
    // with a label it stands beside what has another one
    if (e->label && env->value[t] != IR_NONE) return false;
    if (env->value[t] == IR_NONE) env->label[t] = e->label;
    env->layer[t] = layer;
    uint32_t old = before.value[t];
    env->value[t] = is_same(m, old, equation) ? old : value_create(m, IR_NONE, equation);
  }
  return true;
}

static bool resolve(Merge* m, uint32_t a, Env* env);

/// The blocks in a body: they do not see each other, and no two edit the same.
static bool apply_children(Merge* m, uint32_t b, Env* env) {
  if (m->first_child[b] == 0) return true;
  Env before = env_copy(m, env);
  for (uint32_t c = m->first_child[b]; c != 0; c = m->next_child[c - 1]) {
    Env own = env_copy(m, &before);
    if (!resolve(m, c - 1, &own)) return false;
    for (uint32_t t = 0; t < env->count; t++) {
      if (own.value[t] == before.value[t]) continue;
      if (env->value[t] != before.value[t]) return false;
      env->value[t] = own.value[t];
      env->label[t] = own.label[t];
    }
  }
  return true;
}

/// What a state is like comes first.
static bool apply_chain(Merge* m, uint32_t b, Env* env) {
  if (b == IR_NONE) return true;
  return apply_chain(m, m->model->bodies.data[b].parent, env) && apply_body(m, b, env) &&
         apply_children(m, b, env);
}

/// One value for a target out of those in the states of the automaton; false where some have none.
static bool select_value(Merge* m, uint32_t a, const Env* states, uint32_t count, uint32_t t,
                         Env* env) {
  uint32_t absent = 0;
  bool same = true;
  for (uint32_t s = 0; s < count; s++) {
    absent += states[s].value[t] == IR_NONE;
    same = same && states[s].value[t] == states[0].value[t] &&
           states[s].label[t] == states[0].label[t];
  }
  env->label[t] = states[0].label[t];
  env->value[t] = states[0].value[t];
  if (same) return true;
  if (absent > 0) return false;
  uint32_t first = m->alternatives.count;
  for (uint32_t s = 0; s < count; s++) {
    base_vec_push(m->scratch, &m->alternatives, states[s].value[t]);
  }
  env->value[t] = value_create(m, a, first);
  return true;
}

static bool resolve(Merge* m, uint32_t a, Env* env) {
  const IrAutomaton* automaton = &m->model->automata.data[a];
  Env* states = ARENA_ARRAY(m->scratch, Env, automaton->state_count);
  for (uint32_t s = 0; s < automaton->state_count; s++) {
    states[s] = env_copy(m, env);
    uint32_t body = m->model->states.data[automaton->state_begin + s].body;
    if (!apply_chain(m, body, &states[s])) return false;
  }
  for (uint32_t t = 0; t < env->count; t++) {
    if (!select_value(m, a, states, automaton->state_count, t, env)) return false;
  }
  return true;
}

bool merge_resolve(Merge* m, uint32_t automaton, uint32_t* value_of_target) {
  const MergeCluster* cluster = &m->clusters[automaton];
  Env env = env_create(m, cluster->targets.count);
  for (uint32_t t = 0; t < env.count; t++) {
    uint32_t base = m->vars[cluster->targets.data[t]].base;
    bool there = base != IR_NONE;
    env.value[t] = there ? value_create(m, IR_NONE, base) : IR_NONE;
    env.label[t] = there ? m->model->equations.data[base].label : 0;
  }
  if (!resolve(m, automaton, &env)) return false;
  for (uint32_t t = 0; t < env.count; t++) {
    if (env.value[t] == IR_NONE) return false;
    value_of_target[t] = env.value[t];
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// equations

static ExprId right_side(Merge* m, IrTermBuilder* builder, uint32_t equation) {
  IrTerm term = m->model->equations.data[equation].term;
  ExprId* slots = ARENA_ARRAY(m->scratch, ExprId, (size_t)term.leaf_count + 1);
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    slots[k] = ir_term_leaf(builder, ir_leaf(m->model, term, k));
  }
  return merge_copy(m, m->model->pool.nodes.data[term.shape.index].arg[1], slots);
}

static ExprId state_test(Merge* m, IrTermBuilder* builder, uint32_t a, uint32_t s) {
  IrModel* model = m->model;
  uint32_t* test = &m->test_of_state[model->automata.data[a].state_begin + s];
  if (*test == 0) {
    base_vec_push(model->arena, &model->mode_tests, (IrModeTest){a, s});
    *test = model->mode_tests.count;
  }
  return ir_term_leaf(builder, (IrLeaf){.id = *test - 1, .kind = IR_LEAF_MODE});
}

/// The value that most states have, the first of these.
static uint32_t usual_value(const uint32_t* values, uint32_t count) {
  uint32_t best = 0;
  uint32_t most = 0;
  for (uint32_t s = 0; s < count; s++) {
    uint32_t times = 0;
    for (uint32_t r = s; r < count; r++) {
      times += values[r] == values[s];
    }
    if (times > most) best = s;
    if (times > most) most = times;
  }
  return values[best];
}

static ExprId build_value(Merge* m, IrTermBuilder* builder, uint32_t value) {
  MergeValue v = m->values.data[value];
  if (v.automaton == IR_NONE) return right_side(m, builder, v.first);
  uint32_t count = m->model->automata.data[v.automaton].state_count;
  uint32_t usual = usual_value(m->alternatives.data + v.first, count);
  ExprId result = build_value(m, builder, usual);
  for (uint32_t s = count; s-- > 0;) {
    uint32_t own = m->alternatives.data[v.first + s];
    if (own == usual) continue;
    ExprId chosen = build_value(m, builder, own);
    ExprId test = state_test(m, builder, v.automaton, s);
    result = ir_node(&m->model->pool, IR_SELECT, test, chosen, result);
  }
  return result;
}

/// The first equation that a value selects from.
static uint32_t first_equation(const Merge* m, uint32_t value) {
  MergeValue v = m->values.data[value];
  while (v.automaton != IR_NONE) {
    v = m->values.data[m->alternatives.data[v.first]];
  }
  return v.first;
}

IrEquation merge_equation(Merge* m, uint32_t var, uint32_t value) {
  IrModel* model = m->model;
  IrTermBuilder builder;
  ir_term_begin(&builder, model);
  ExprId lhs = ir_term_var(&builder, var, m->vars[var].order, IR_NOW);
  ExprId rhs = build_value(m, &builder, value);
  IrEquation equation = model->equations.data[first_equation(m, value)];
  equation.term = ir_term_end(&builder, ir_node(&model->pool, IR_EQUALS, lhs, rhs, (ExprId){0}));
  equation.body = 0;
  equation.label = 0;
  return equation;
}
