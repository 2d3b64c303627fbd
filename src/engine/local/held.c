// SPDX-License-Identifier: MIT
//
// What contacts, surfaces and automata that dwell hold. Their motion is not that of the equations
// alone: flows are mixed, reactions added, guards barred. What is held is closed over who reads
// whom, so that events of all others leave it alone, and are carried out beside it.
#include "engine/local/parts.h"

#include <string.h>

enum { HELD = 1, HELD_BY_G };  // of states: ... and read by g of a surface or gap

static void hold_atom(EngSim* sim, uint32_t id);

/// The motion of a state is not that of its equation; relations that read it have other slopes.
static void hold_state(EngSim* sim, uint32_t state, uint8_t how) {
  LocalHeld* held = &sim->local->held;
  const BaseLists* atoms = &sim->local->index.atoms;
  uint32_t key = sim->model->env_count + state;
  if (held->keys[key] < how) held->keys[key] = how;
  for (uint32_t k = atoms->begin[key]; k < atoms->begin[key + 1]; k++) {
    if (!held->atoms[atoms->list[k]]) held->atoms[atoms->list[k]] = 1;
  }
}

/// The value may differ on the sides of a surface.
static void hold_value(EngSim* sim, uint32_t env) {
  LocalHeld* held = &sim->local->held;
  const LocalIndex* index = &sim->local->index;
  if (env == MODEL_NONE || held->keys[env]) return;
  held->keys[env] = HELD;
  if (index->state_of_env[env] != MODEL_NONE) hold_state(sim, index->state_of_env[env], HELD);
  for (uint32_t k = index->rhs.begin[env]; k < index->rhs.begin[env + 1]; k++) {
    hold_state(sim, index->rhs.list[k], HELD);
  }
  for (uint32_t k = index->atoms.begin[env]; k < index->atoms.begin[env + 1]; k++) {
    hold_atom(sim, index->atoms.list[k]);
  }
}

static void hold_atom(EngSim* sim, uint32_t id) {
  sim->local->held.atoms[id] = 2;
  hold_value(sim, sim->model->atoms[id].env);
}

static void hold_actions(EngSim* sim, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    hold_value(sim, sim->model->actions[i].env);
  }
}

static void hold_automaton(EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  if (sim->local->held.automata[automaton]) return;
  sim->local->held.automata[automaton] = 1;
  hold_value(sim, a->entry_env);
  for (uint32_t s = 0; s < a->state_count; s++) {
    const ModelState* state = &a->states[s];
    hold_value(sim, state->test_env);
    hold_actions(sim, state->action_begin, state->action_count);
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      const ModelTransition* t = &sim->model->transitions[state->outgoing[i]];
      hold_actions(sim, t->action_begin, t->action_count);
    }
  }
}

/// Whether a guard depends on what is held, as far as its relations tell.
static bool is_held(const EngSim* sim, const ModelGuard* guard) {
  bool depends = guard->has_mode_test && !events_asks_states_alone(guard);
  for (uint32_t k = 0; !depends && k < guard->atom_count; k++) {
    depends = sim->local->held.atoms[guard->atoms[k]] == 2;
  }
  return depends;
}

/// Automata that follow what is held, and those that ask for their states.
static void close_over_automata(EngSim* sim) {
  const Model* model = sim->model;
  uint8_t* held = sim->local->held.automata;
  const BaseLists* readers = &sim->events.readers;
  bool more = true;
  while (more) {
    more = false;
    for (uint32_t i = 0; i < model->transition_count; i++) {
      const ModelTransition* t = &model->transitions[i];
      if (is_held(sim, &t->guard)) hold_automaton(sim, t->automaton);
    }
    for (uint32_t a = 0; a < model->automaton_count; a++) {
      const ModelGuard* condition = model->automata[a].condition;
      if (condition && is_held(sim, condition)) hold_automaton(sim, a);
      if (held[a] != 1) continue;
      more = true;
      held[a] = 2;
      for (uint32_t k = 0; readers->list && k < readers->begin[a + 1] - readers->begin[a]; k++) {
        hold_automaton(sim, readers->list[readers->begin[a] + k]);
      }
    }
  }
}

/// Second derivatives of g count where a gap closes, or a limit point is slid along.
static void close_over_rates(EngSim* sim) {
  const uint8_t* keys = sim->local->held.keys + sim->model->env_count;
  const BaseLists* rhs = &sim->local->index.rhs;
  for (uint32_t state = 0; state < sim->core.mode->state_count; state++) {
    uint32_t key = sim->model->env_count + state;
    for (uint32_t k = rhs->begin[key]; k < rhs->begin[key + 1]; k++) {
      if (keys[rhs->list[k]] == HELD_BY_G) hold_state(sim, state, HELD);
    }
  }
}

static void hold_surface(EngSim* sim, uint32_t atom) {
  const BaseLists* reads = &sim->local->index.reads;
  hold_atom(sim, atom);
  for (uint32_t k = reads->begin[atom]; k < reads->begin[atom + 1]; k++) {
    hold_state(sim, reads->list[k], HELD_BY_G);
  }
}

void local_find_held(EngSim* sim) {
  const Model* model = sim->model;
  LocalHeld* held = &sim->local->held;
  bool any = eng_is_held(sim) || sim->core.dwell.any;
  if (!held->any && !any) return;
  held->any = any;
  memset(held->keys, 0, sim->local->index.key_count);
  memset(held->atoms, 0, model->atom_count);
  memset(held->automata, 0, model->automaton_count);
  for (uint32_t i = 0; i < model->atom_count; i++) {
    if (sim->atoms[i].sliding) hold_surface(sim, i);
  }
  for (uint32_t i = 0; sim->core.contact.active && i < sim->core.contact.count; i++) {
    const EngContact* contact = &sim->contact.closed[i];
    hold_surface(sim, contact->atom);
    hold_automaton(sim, model->transitions[contact->transition].automaton);
  }
  for (uint32_t a = 0; sim->core.dwell.any && a < model->automaton_count; a++) {
    if (eng_dwells(sim, a)) hold_automaton(sim, a);
  }
  close_over_automata(sim);
  close_over_rates(sim);
}

void eng_local_rejoin_slow(EngSim* sim) {
  const LocalHeld* held = &sim->local->held;
  sim->core.local.behind = false;
  if (sim->core.contact.active) (void)eng_contact_rebind(sim);
  if (sim->core.slide.count) (void)eng_slide_follow(sim, held->keys, held->atoms, held->automata);
}
