// SPDX-License-Identifier: MIT
//
// Switches that ask for states alone.
//
// `if(room.off, 0, 2)` makes a switch that follows the state of the room. There is nothing to be
// located and nothing that happens at its transitions: whoever asks for the switch may as well ask
// for the room. So its condition takes its place, and the switch goes.
#include "ir/merge.h"

/// Whether a condition asks for states, and for nothing else.
static bool asks_states_alone(const IrModel* model, IrTerm condition) {
  for (uint32_t k = 0; k < condition.leaf_count; k++) {
    if (ir_leaf(model, condition, k).kind != IR_LEAF_MODE) return false;
  }
  return condition.leaf_count > 0;
}

static bool can_fold(const IrModel* model, uint32_t a) {
  IrAutomaton automaton = ir_automaton(model, a);
  if (automaton.kind != IR_AUTOMATON_SWITCH || automaton.parent_body != IR_NONE) return false;
  if (!asks_states_alone(model, automaton.condition)) return false;
  for (uint32_t s = 0; s < 2; s++) {
    IrState state = ir_state(model, automaton.state_begin + s);
    if (state.body != IR_NONE || state.action_count > 0) return false;
  }
  return true;
}

bool merge_can_fold(const IrModel* model) {
  for (uint32_t a = 0; a < model->automata.count; a++) {
    if (can_fold(model, a)) return true;
  }
  return false;
}

typedef struct Fold {
  Merge* m;
  const bool* folded;  // per automaton
} Fold;

static bool asks_for_folded(const Fold* f, IrLeaf leaf) {
  return leaf.kind == IR_LEAF_MODE && f->folded[f->m->model->mode_tests.data[leaf.id].automaton];
}

/// A term in which questions for switches that go are their conditions.
static ExprId copy_term(const Fold* f, IrTermBuilder* builder, IrTerm term) {
  IrModel* model = f->m->model;
  ExprId* slots = ARENA_ARRAY(f->m->scratch, ExprId, (size_t)term.leaf_count + 1);
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(model, term, k);
    if (!asks_for_folded(f, leaf)) {
      slots[k] = ir_term_leaf(builder, leaf);
      continue;
    }
    IrModeTest test = model->mode_tests.data[leaf.id];
    slots[k] = copy_term(f, builder, model->automata.data[test.automaton].condition);
    if (test.state == 0)
      slots[k] = ir_node(&model->pool, IR_NOT, slots[k], (ExprId){0}, (ExprId){0});
  }
  return merge_copy(f->m, term.shape.index, slots);
}

static void fold_term(void* context, IrTerm* term) {
  const Fold* f = context;
  bool asks = false;
  for (uint32_t k = 0; k < term->leaf_count && !asks; k++) {
    asks = asks_for_folded(f, ir_leaf(f->m->model, *term, k));
  }
  if (!asks) return;
  IrTermBuilder builder;
  ir_term_begin(&builder, f->m->model);
  *term = ir_term_end(&builder, copy_term(f, &builder, *term));
}

/// Take automata out of the lists; nobody asks for them any more.
static void drop_automata(IrModel* model, Arena* scratch, const bool* dropped) {
  uint32_t* place = ARENA_ARRAY(scratch, uint32_t, (size_t)model->automata.count + 1);
  uint32_t automata = 0;
  uint32_t states = 0;
  for (uint32_t a = 0; a < model->automata.count; a++) {
    place[a] = dropped[a] ? IR_NONE : automata;
    if (dropped[a]) continue;
    IrAutomaton automaton = model->automata.data[a];
    for (uint32_t s = 0; s < automaton.state_count; s++) {
      IrState state = model->states.data[automaton.state_begin + s];
      state.automaton = automata;
      model->states.data[states + s] = state;
    }
    automaton.state_begin = states;
    states += automaton.state_count;
    model->automata.data[automata++] = automaton;
  }
  model->automata.count = automata;
  model->states.count = states;
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    model->transitions.data[i].automaton = place[model->transitions.data[i].automaton];
  }
  for (uint32_t i = 1; i < model->bodies.count; i++) {
    model->bodies.data[i].automaton = place[model->bodies.data[i].automaton];
  }
  for (uint32_t i = 0; i < model->gotos.count; i++) {
    model->gotos.data[i].automaton = place[model->gotos.data[i].automaton];
  }
  for (uint32_t i = 0; i < model->leaves.count; i++) {
    IrLeaf* leaf = &model->leaves.data[i];
    bool entry = leaf->kind == IR_LEAF_ENTRY && leaf->id != IR_NONE;
    if (entry) leaf->id = place[leaf->id];
  }
  uint32_t tests = 0;
  uint32_t* test_place = ARENA_ARRAY(scratch, uint32_t, (size_t)model->mode_tests.count + 1);
  for (uint32_t i = 0; i < model->mode_tests.count; i++) {
    IrModeTest test = model->mode_tests.data[i];
    test_place[i] = tests;
    test.automaton = place[test.automaton];
    if (test.automaton != IR_NONE) model->mode_tests.data[tests++] = test;
  }
  model->mode_tests.count = tests;
  for (uint32_t i = 0; i < model->leaves.count; i++) {
    IrLeaf* leaf = &model->leaves.data[i];
    if (leaf->kind == IR_LEAF_MODE) leaf->id = test_place[leaf->id];
  }
}

bool merge_fold_switches(Merge* m) {
  IrModel* model = m->model;
  bool* folded = ARENA_ARRAY(m->scratch, bool, (size_t)model->automata.count + 1);
  bool any = false;
  for (uint32_t a = 0; a < model->automata.count; a++) {
    folded[a] = can_fold(model, a);
    any |= folded[a];
  }
  if (!any) return false;
  Fold fold = {m, folded};
  ir_each_term(model, fold_term, &fold);
  drop_automata(model, m->scratch, folded);
  return true;
}
