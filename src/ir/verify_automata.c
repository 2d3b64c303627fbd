// SPDX-License-Identifier: MIT
//
// Checks of automata, their states and transitions, and of who owns which body.
#include "ir/verify.h"

#define LEAVES_TRUTH (1u << IR_LEAF_ATOM | 1u << IR_LEAF_MODE)

static const VerifyRule condition_rule = {
    .what = "condition of automaton", .type = VERIFY_TRUTH, .leaves = LEAVES_TRUTH};
static const VerifyRule guard_rule = {
    .what = "guard of transition", .type = VERIFY_TRUTH, .leaves = LEAVES_TRUTH, .optional = true};
static const VerifyRule invariant_rule = {
    .what = "invariant of state", .type = VERIFY_TRUTH, .leaves = LEAVES_TRUTH, .optional = true};

/// Visible automata come first, then switches, then hidden automata.
static uint32_t automaton_rank(const IrAutomaton* a) {
  if (a->kind == IR_AUTOMATON_SWITCH) return 1;
  return a->hidden ? 2 : 0;
}

static bool verify_automaton_order(Verify* v, uint32_t index) {
  const IrModel* model = v->model;
  const IrAutomaton* a = &model->automata.data[index];
  if (a->name == 0 || a->name >= model->names.names.count) {
    return verify_fail(v, "automaton %u: no such name", index);
  }
  if (index == 0) return true;
  const IrAutomaton* last = &model->automata.data[index - 1];
  bool ordered = automaton_rank(last) <= automaton_rank(a);
  if (automaton_rank(a) == 0 && ordered) {
    ordered = str_compare_natural(names_get(&model->names, last->name),
                                  names_get(&model->names, a->name)) < 0;
  }
  return ordered || verify_fail(v, "automaton %u: not in the canonical order", index);
}

static bool verify_kind(Verify* v, uint32_t index) {
  const IrAutomaton* a = &v->model->automata.data[index];
  if (a->kind > IR_AUTOMATON_SWITCH) return verify_fail(v, "automaton %u: no such kind", index);
  if (a->kind == IR_AUTOMATON_USER) {
    if (ir_term_present(a->condition) || a->parent_body != IR_NONE) {
      return verify_fail(v, "automaton %u: has what only a switch has", index);
    }
    return a->state_count > 0 || verify_fail(v, "automaton %u: has no state", index);
  }
  if (a->state_count != 2 || a->transition_count != 0) {
    return verify_fail(v, "automaton %u: a switch has two states and no transitions", index);
  }
  if (!verify_term(v, &condition_rule, index, a->condition)) return false;
  if (a->parent_body == IR_NONE || a->parent_body == 0) return true;
  if (a->parent_body >= v->model->bodies.count) {
    return verify_fail(v, "automaton %u: no such body around it", index);
  }
  // outer blocks come before inner ones
  uint32_t owner = v->model->bodies.data[a->parent_body].automaton;
  return owner < index || verify_fail(v, "automaton %u: comes before what is around it", index);
}

static bool verify_states(Verify* v, uint32_t automaton) {
  const IrModel* model = v->model;
  const IrAutomaton* a = &model->automata.data[automaton];
  for (uint32_t i = a->state_begin; i < a->state_begin + a->state_count; i++) {
    const IrState* s = &model->states.data[i];
    if (s->automaton != automaton) return verify_fail(v, "state %u: not its automaton", i);
    if (s->name >= model->names.names.count) return verify_fail(v, "state %u: no such name", i);
    bool valid = verify_term(v, &invariant_rule, i, s->invariant) &&
                 verify_span(v, "state", i, s->span) &&
                 verify_span(v, "invariant of state", i, s->invariant_span);
    if (!valid) return false;
    if (s->body == IR_NONE) continue;
    if (s->body >= model->bodies.count) return verify_fail(v, "state %u: no such body", i);
    const IrBody* body = &model->bodies.data[s->body];
    bool own = body->automaton == automaton && body->state == i - a->state_begin;
    if (!own) return verify_fail(v, "state %u: its body belongs to another", i);
  }
  return true;
}

static bool verify_transitions(Verify* v, uint32_t automaton, uint32_t* next_from) {
  const IrModel* model = v->model;
  const IrAutomaton* a = &model->automata.data[automaton];
  for (uint32_t i = a->transition_begin; i < a->transition_begin + a->transition_count; i++) {
    const IrTransition* t = &model->transitions.data[i];
    if (t->automaton != automaton) return verify_fail(v, "transition %u: not its automaton", i);
    if (t->to >= a->state_count) return verify_fail(v, "transition %u: no such target", i);
    bool valid = verify_term(v, &guard_rule, i, t->guard) &&
                 verify_span(v, "transition", i, t->span) &&
                 verify_range(v, "sources of transition", i, t->from_begin, t->from_count,
                              next_from, model->from_states.count);
    if (!valid) return false;
    for (uint32_t k = t->from_begin; k < *next_from; k++) {
      uint32_t from = model->from_states.data[k];
      if (from >= a->state_count) return verify_fail(v, "transition %u: no such source", i);
      if (k > t->from_begin && model->from_states.data[k - 1] >= from) {
        return verify_fail(v, "transition %u: its sources are not sorted", i);
      }
    }
  }
  return true;
}

/// Bodies stand in the order of their owners; those that `like` leads through end somewhere.
static bool verify_owners(Verify* v) {
  const IrModel* model = v->model;
  const IrBody* bodies = model->bodies.data;
  uint32_t count = model->bodies.count;
  bool global = count > 0 && bodies[0].automaton == IR_NONE && bodies[0].state == IR_NONE &&
                bodies[0].parent == IR_NONE;
  if (!global) return verify_fail(v, "the first body is not the global one");
  for (uint32_t i = 1; i < count; i++) {
    const IrBody* b = &bodies[i];
    bool owned = b->automaton < model->automata.count &&
                 b->state < model->automata.data[b->automaton].state_count;
    if (!owned) return verify_fail(v, "body %u: no such owner", i);
    uint32_t state = model->automata.data[b->automaton].state_begin + b->state;
    if (model->states.data[state].body != i) return verify_fail(v, "body %u: not its owner's", i);
    bool ordered = i == 1 || bodies[i - 1].automaton < b->automaton ||
                   (bodies[i - 1].automaton == b->automaton && bodies[i - 1].state < b->state);
    if (!ordered) return verify_fail(v, "body %u: not in the order of its owners", i);
    if (b->parent == IR_NONE) continue;
    bool sibling =
        b->parent > 0 && b->parent < count && bodies[b->parent].automaton == b->automaton;
    if (!sibling) return verify_fail(v, "body %u: like a body of another automaton", i);
  }

  // walk up from each body that was not met before; meeting the present walk again is a cycle
  uint32_t* walk = ARENA_ARRAY(v->arena, uint32_t, count);
  for (uint32_t i = 1; i < count; i++) {
    uint32_t at = i;
    for (; at != IR_NONE && walk[at] == 0; at = bodies[at].parent) {
      walk[at] = i;
    }
    if (at != IR_NONE && walk[at] == i) return verify_fail(v, "body %u: like itself", i);
  }
  return true;
}

static bool verify_mode_tests(Verify* v) {
  const IrModel* model = v->model;
  for (uint32_t i = 0; i < model->mode_tests.count; i++) {
    IrModeTest test = model->mode_tests.data[i];
    bool known = test.automaton < model->automata.count &&
                 test.state < model->automata.data[test.automaton].state_count;
    if (!known) return verify_fail(v, "mode test %u: no such state", i);
    if (i == 0) continue;
    IrModeTest last = model->mode_tests.data[i - 1];
    bool ordered = last.automaton < test.automaton ||
                   (last.automaton == test.automaton && last.state < test.state);
    if (!ordered) return verify_fail(v, "mode test %u: not sorted", i);
  }
  return true;
}

bool verify_automata(Verify* v) {
  const IrModel* model = v->model;
  uint32_t state = 0;
  uint32_t transition = 0;
  for (uint32_t i = 0; i < model->automata.count; i++) {
    const IrAutomaton* a = &model->automata.data[i];
    bool valid = verify_range(v, "states of automaton", i, a->state_begin, a->state_count, &state,
                              model->states.count) &&
                 verify_range(v, "transitions of automaton", i, a->transition_begin,
                              a->transition_count, &transition, model->transitions.count) &&
                 verify_automaton_order(v, i) && verify_kind(v, i) &&
                 verify_span(v, "automaton", i, a->span);
    if (!valid) return false;
  }
  if (state != model->states.count) return verify_fail(v, "a state has no automaton");
  if (transition != model->transitions.count) {
    return verify_fail(v, "a transition has no automaton");
  }

  uint32_t next_from = 0;
  for (uint32_t i = 0; i < model->automata.count; i++) {
    if (!verify_states(v, i) || !verify_transitions(v, i, &next_from)) return false;
  }
  if (next_from != model->from_states.count) return verify_fail(v, "a source has no transition");
  return verify_owners(v) && verify_mode_tests(v);
}
