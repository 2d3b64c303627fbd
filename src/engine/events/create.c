// SPDX-License-Identifier: MIT
//
// What an instant works with: made once, before a run.
#include "engine/run/run.h"

#include <stdlib.h>
#include <string.h>

/// Which automaton each place of the environment tells the state of; MODEL_NONE: none.
static uint32_t* owners_of_tests(EngSim* sim) {
  const Model* model = sim->model;
  uint32_t* owner = base_alloc(&sim->options.allocator, model->env_count * sizeof *owner);
  if (!owner) return NULL;
  memset(owner, 0xff, model->env_count * sizeof *owner);
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    for (uint32_t s = 0; s < model->automata[a].state_count; s++) {
      uint32_t env = model->automata[a].states[s].test_env;
      if (env != MODEL_NONE) owner[env] = a;
    }
  }
  return owner;
}

typedef struct Asking {
  const Model* model;
  const uint32_t* owner;
} Asking;

/// For each automaton, those whose guards ask for its state and nothing else.
static void visit_readers(BaseLists* lists, void* user) {
  const Asking* asking = user;
  for (uint32_t i = 0; i < asking->model->transition_count; i++) {
    const ModelTransition* t = &asking->model->transitions[i];
    if (!events_asks_states_alone(&t->guard)) continue;
    for (uint32_t k = 0; k < model_term_inputs(&t->guard.term); k++) {
      uint32_t env = model_term_input(&t->guard.term, k);
      uint32_t asked = env == MODEL_NONE ? MODEL_NONE : asking->owner[env];
      if (asked != MODEL_NONE) base_lists_add(lists, asked, t->automaton);
    }
  }
}

/// The lists of who asks for whose state.
static SltStatus list_readers(EngSim* sim) {
  const Model* model = sim->model;
  const SltAllocator* a = &sim->options.allocator;
  uint32_t* owner = owners_of_tests(sim);
  Asking asking = {model, owner};
  bool made = owner && base_lists_make(&sim->events.readers, a, model->automaton_count,
                                       visit_readers, &asking);
  base_free(a, owner, model->env_count * sizeof *owner);
  if (sim->events.readers.count == 0) base_lists_free(&sim->events.readers, a);
  return made ? SLT_OK : SLT_ERR_NOMEM;
}

typedef struct Ranked {
  uint32_t rank, automaton;
} Ranked;

static int compare_ranks(const void* a, const void* b) {
  const Ranked* x = a;
  const Ranked* y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return (x->automaton > y->automaton) - (x->automaton < y->automaton);
}

/// The automata in the order of the text, where that is not the one of the model.
static SltStatus order_automata(EngSim* sim) {
  const Model* model = sim->model;
  Events* events = &sim->events;
  uint32_t n = model->automaton_count;
  bool ordered = true;
  for (uint32_t a = 1; a < n; a++) {
    ordered &= model->automata[a - 1].rank <= model->automata[a].rank;
  }
  if (ordered) return SLT_OK;
  SLT_TRY(ENG_GROW(sim, events->in_text, n));
  Ranked* ranked = base_alloc(&sim->options.allocator, n * sizeof *ranked);
  if (!ranked) return SLT_ERR_NOMEM;
  for (uint32_t a = 0; a < n; a++) {
    ranked[a] = (Ranked){model->automata[a].rank, a};
  }
  qsort(ranked, n, sizeof *ranked, compare_ranks);
  for (uint32_t a = 0; a < n; a++) {
    events->in_text[a] = ranked[a].automaton;
  }
  base_free(&sim->options.allocator, ranked, n * sizeof *ranked);
  return SLT_OK;
}

static SltStatus take_room(EngSim* sim) {
  const Model* model = sim->model;
  Events* events = &sim->events;
  const SltAllocator* a = &sim->options.allocator;
  size_t n = model->automaton_count;
  events->enabled = base_alloc(a, n * sizeof *events->enabled);
  events->fired = base_alloc(a, 2 * n * sizeof *events->fired);
  events->fired_switch = base_alloc(a, n * sizeof *events->fired_switch);
  events->entered = base_alloc(a, n * sizeof *events->entered);
  events->is_entered = base_alloc(a, n * sizeof *events->is_entered);
  events->left = base_alloc(a, n * sizeof *events->left);
  events->equation_state = base_alloc(a, n * sizeof *events->equation_state);
  events->begun = base_alloc(a, n * sizeof *events->begun);
  events->marks.env = base_alloc(a, model->env_count);
  events->due = base_alloc(a, model->schedule_count * sizeof *events->due);
  bool all = events->enabled && events->fired && events->fired_switch && events->entered &&
             events->is_entered && events->left && events->equation_state && events->begun &&
             events->marks.env && events->due;
  return all ? SLT_OK : SLT_ERR_NOMEM;
}

static bool has_observers(const Model* model) {
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const ModelTransition* t = &model->transitions[i];
    const ModelAutomaton* a = &model->automata[t->automaton];
    bool assigns = t->action_count > 0 || a->states[t->to].action_count > 0;
    if (assigns && !a->has_bodies) return true;
  }
  return false;
}

SltStatus events_create(EngSim* sim) {
  SLT_TRY(take_room(sim));
  sim->events.has_observers = has_observers(sim->model);
  SLT_TRY(order_automata(sim));
  return list_readers(sim);
}
