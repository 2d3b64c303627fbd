// SPDX-License-Identifier: MIT
//
// Rounds of an instant in which much is enabled and each transition touches little.
//
// When a tick moves the limits of 10 000 thermostats, thousands of them switch in the same instant,
// and where they share a counter each has a round of its own: it reads what the one before has
// written. A round on all values for each of them would cost the square of their number. Here a
// round costs what it touches: the enabled transitions are kept in a list, in the order in which a
// round asks the automata; what fires is carried out on the environment and the registers that hold
// copies of it; the relations that read it are judged again, and the automata that ask for them.
//
// The result is that of rounds of the usual kind, which take over (instant.c) as soon as something
// is not plain: values read by many, computed values, many transitions that fire together. Modes
// need not settle here: where all automata are plain, nothing follows or rejects a candidate.
#include "engine/local.h"

#include <string.h>

#define TOGETHER 16  // transitions of one round, at most

static bool reads_only_now(const Model* model, const ModelGuard* guard) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const ModelAtom* atom = &model->atoms[guard->atoms[i]];
    for (uint32_t k = 0; k < atom->read_count; k++) {
      if (atom->reads[k].when != MODEL_NOW) return false;
    }
  }
  return !guard->has_mode_test;
}

bool local_rounds_suit(const EngSim* sim) {
  const Model* model = sim->model;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    if (!sim->local->index.plain[a]) return false;
  }
  for (uint32_t i = 0; i < model->transition_count; i++) {
    if (!reads_only_now(model, &model->transitions[i].guard)) return false;
  }
  return true;
}

static bool is_plain_now(const EngSim* sim) {
  const EngCore* core = &sim->core;
  return local_is_prepared(sim) && sim->local->rounds && !core->slide.count &&
         !core->contact.active && !sim->contact_holds && !core->dwelling && !sim->has_pre &&
         sim->zeno_automaton == MODEL_NONE && !core->exit_pending;
}

// ---- what is enabled ----------------------------------------------------------------------------

static void gather_enabled(EngSim* sim) {
  events_enabled_clear(sim);
  for (uint32_t n = 0; n < sim->model->automaton_count; n++) {
    uint32_t a = events_nth_in_text(sim, NULL, n);
    if (!eng_is_barred(sim, a)) events_enabled_put(sim, a, eng_first_enabled(sim, a));
  }
}

/// What the automaton can do now, into the list.
static void ask_again(EngSim* sim, uint32_t automaton) {
  events_enabled_put(sim, automaton, eng_first_enabled(sim, automaton));
}

/// Whether the actions can be carried out in place. `changes`: one of them changes a value.
static bool actions_suit(EngSim* sim, uint32_t begin, uint32_t count, bool* changes) {
  const LocalIndex* index = &sim->local->index;
  uint32_t env_count = sim->model->env_count;
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    if (action->guess || sim->env_computed[action->env]) return false;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      uint32_t env = model_term_input(&action->value, k);
      if (env == MODEL_NONE) continue;
      if (env >= env_count || sim->env_computed[env]) return false;
    }
    uint32_t state = index->state_of_env[action->env];
    if (index->wide[state == MODEL_NONE ? action->env : env_count + state]) return false;
    *changes |= eng_eval(sim, &action->value) != sim->env[action->env];
  }
  return true;
}

static bool is_wide(const EngSim* sim, uint32_t env) {
  return env != MODEL_NONE && sim->local->index.wide[env];
}

static bool fires_plainly(EngSim* sim, uint32_t transition) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelAutomaton* a = &sim->model->automata[t->automaton];
  const ModelState* to = &a->states[t->to];
  const ModelState* left = &a->states[sim->state[t->automaton]];
  // rounds that change no values may lead round and round: that is watched by the usual ones
  bool changes = false;
  ModelRandom random = sim->core.random;
  bool suit = !is_wide(sim, to->test_env) && !is_wide(sim, left->test_env) &&
              actions_suit(sim, to->action_begin, to->action_count, &changes) &&
              actions_suit(sim, t->action_begin, t->action_count, &changes);
  sim->core.random = random;
  return suit && changes;
}

// ---- carrying them out --------------------------------------------------------------------------

static void touch_atom(EngSim* sim, uint32_t atom) {
  struct EngLocal* local = sim->local;
  if (local->touched_at[atom] == local->touch) return;
  local->touched_at[atom] = local->touch;
  local->touched[local->touched_count++] = atom;
}

static void touch_readers(EngSim* sim, uint32_t key) {
  const LocalReaders* atoms = &sim->local->index.atoms;
  for (uint32_t k = atoms->begin[key]; k < atoms->begin[key + 1]; k++) {
    touch_atom(sim, atoms->list[k]);
  }
}

/// Copies of the value follow it, and relations that read it, or whose slope does.
static void touch_value(EngSim* sim, uint32_t env) {
  const LocalIndex* index = &sim->local->index;
  uint32_t env_count = sim->model->env_count;
  uint32_t state = index->state_of_env[env];
  uint32_t key = state == MODEL_NONE ? env : env_count + state;
  local_patch(sim, env);
  if (state != MODEL_NONE) sim->x[state] = sim->env[env];
  touch_readers(sim, key);
  for (uint32_t k = index->rhs.begin[key]; k < index->rhs.begin[key + 1]; k++) {
    touch_readers(sim, env_count + index->rhs.list[k]);
  }
}

static void touch_guards(EngSim* sim, const ModelState* state) {
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[state->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      touch_atom(sim, guard->atoms[k]);
    }
  }
}

static double present_state(const void* user, uint32_t state) {
  const EngSim* sim = user;
  return sim->x[state];
}

/// Truth of a relation that may have changed, and who asks for it.
static bool judge_touched(EngSim* sim, uint32_t id) {
  EngAtom* atom = &sim->atoms[id];
  bool before = atom->truth;
  if (!sim->live[id]) return true;
  if (!eng_output(sim, ENG_SINGLE_G, sim->core.t, present_state, sim, id, &sim->g[id]) ||
      !eng_output(sim, ENG_SINGLE_SLOPE, sim->core.t, present_state, sim, id, &sim->gdot[id])) {
    return false;
  }
  eng_atom_judge(sim, id);
  if (atom->truth != before) local_patch(sim, sim->model->atoms[id].env);
  return true;
}

/// False: others ask for relations of the state that was left.
static bool enter(EngSim* sim, uint32_t automaton, uint32_t from) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  const ModelState* to = &a->states[sim->state[automaton]];
  bool alone = local_leaves_alone(sim, &a->states[from], to);
  sim->entered_state[automaton] = sim->state[automaton];  // what follows here is all there is to it
  local_leave_guards(sim, &a->states[from], to);
  for (uint32_t i = 0; i < to->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[to->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      EngAtom* atom = &sim->atoms[guard->atoms[k]];
      if (sim->live[guard->atoms[k]]) continue;
      sim->live[guard->atoms[k]] = 1;
      sim->active_stale = true;
      if (!atom->relevant_start) atom->fresh = true;
    }
  }
  touch_guards(sim, to);
  return alone;
}

/// Fire what was chosen. `goes_on` false: what was touched concerns others, too.
static SltStatus fire_round(EngSim* sim, uint32_t count, uint32_t* iteration, bool* goes_on) {
  struct EngLocal* local = sim->local;
  const Model* model = sim->model;
  uint32_t from[TOGETHER];
  sim->dae.from = sim->core.mode;
  events_forget_assigned(sim);
  eng_trace_settling(sim);
  for (uint32_t i = 0; i < count; i++) {
    from[i] = sim->state[model->transitions[sim->events.fired[i]].automaton];
    SLT_TRY(eng_fire_transition(sim, sim->events.fired[i], *iteration));
  }
  eng_trace_candidate(sim);
  SLT_TRY(events_assign(sim));
  ++*iteration;
  local->touch++;
  local->touched_count = 0;
  for (uint32_t i = 0; i < sim->events.assigned_count; i++) {
    touch_value(sim, model->actions[sim->events.assigned[i].action].env);
  }
  events_forget_assigned(sim);
  for (uint32_t i = 0; i < count; i++) {
    const ModelAutomaton* a = &model->automata[model->transitions[sim->events.fired[i]].automaton];
    uint32_t now = sim->state[model->transitions[sim->events.fired[i]].automaton];
    if (a->states[from[i]].test_env != MODEL_NONE) touch_value(sim, a->states[from[i]].test_env);
    if (a->states[now].test_env != MODEL_NONE) touch_value(sim, a->states[now].test_env);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!enter(sim, model->transitions[sim->events.fired[i]].automaton, from[i])) *goes_on = false;
  }
  for (uint32_t i = 0; i < local->touched_count; i++) {
    if (!judge_touched(sim, local->touched[i])) *goes_on = false;
  }
  for (uint32_t i = 0; i < count; i++) {
    ask_again(sim, model->transitions[sim->events.fired[i]].automaton);
  }
  for (uint32_t i = 0; i < local->touched_count; i++) {
    uint32_t owner = local->index.owner[local->touched[i]];
    if (owner == LOCAL_SEVERAL) *goes_on = false;
    if (owner < LOCAL_SEVERAL) ask_again(sim, owner);
  }
  return SLT_OK;
}

/// Rounds that change values may still lead back to where they began.
static SltStatus check_repetition(EngSim* sim) {
  Events* events = &sim->events;
  uint64_t key = sim->events.mode_key + events->values_key;
  const struct EventsSeenEntry* again = NULL;
  SLT_TRY(events_seen_add(sim, &events->path, key, sim->core.changes, &again));
  return again ? events_check_repetition(sim, key) : SLT_OK;
}

SltStatus eng_local_rounds_now(EngSim* sim, uint32_t* iteration, bool* any) {
  if (!is_plain_now(sim)) return SLT_OK;
  Events* events = &sim->events;
  gather_enabled(sim);
  events->quiet = events->enabled_count == 0;
  if (events->quiet) return SLT_OK;
  bool goes_on = true;
  bool fired = false;
  while (goes_on) {
    events->fired_count = 0;
    uint32_t count = events_enabled_choose(sim, TOGETHER);
    events->quiet = count == 0;
    if (count == 0 || count > TOGETHER) break;
    for (uint32_t i = 0; goes_on && i < count; i++) {
      goes_on = fires_plainly(sim, events->fired[i]);
    }
    if (!goes_on) break;
    if (++events->rounds > EVENTS_ROUNDS_MAX) return events_too_many_rounds(sim);
    SLT_TRY(fire_round(sim, count, iteration, &goes_on));
    SLT_TRY(check_repetition(sim));
    fired = true;
  }
  if (!fired) return SLT_OK;
  *any = true;
  sim->core.margin_stale = true;
  // all values and relations, as a round of the usual kind leaves them
  eng_local_settle_active(sim);
  SLT_TRY(eng_enter_mode(sim));
  if (!goes_on || sim->has_separating) eng_atoms_update(sim);
  return SLT_OK;
}
