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
  struct EngLocal* local = sim->local;
  local->enabled_count = 0;
  local->enabled_begin = 0;
  local->meet = MODEL_NONE;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    if (eng_is_barred(sim, a)) continue;
    uint32_t transition = eng_first_enabled(sim, a);
    if (transition == MODEL_NONE) continue;
    local->enabled[local->enabled_count++] = (LocalEnabled){a, transition, MODEL_NONE};
  }
}

/// What the automaton can do now, into the list.
static void ask_again(EngSim* sim, uint32_t automaton) {
  struct EngLocal* local = sim->local;
  uint32_t transition = eng_first_enabled(sim, automaton);
  uint32_t lo = 0;
  uint32_t hi = local->enabled_count;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (local->enabled[mid].automaton < automaton) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  LocalEnabled* at = &local->enabled[lo];
  if (lo < local->enabled_count && at->automaton == automaton) {
    // one that can do nothing stays in the list, and is passed over
    if (transition == at->transition) return;
    at->transition = transition;
    at->meets = MODEL_NONE;
    if (transition == MODEL_NONE) return;
    local->meet = MODEL_NONE;
    if (lo < local->enabled_begin) local->enabled_begin = lo;
    return;
  }
  if (transition == MODEL_NONE) return;
  local->meet = MODEL_NONE;
  if (lo < local->enabled_begin) local->enabled_begin = lo;
  memmove(at + 1, at, (local->enabled_count - lo) * sizeof *at);
  *at = (LocalEnabled){automaton, transition, MODEL_NONE};
  local->enabled_count++;
}

// ---- which of them fire -------------------------------------------------------------------------

static void unmark_actions(EngSim* sim, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    sim->marks[action->env] = 0;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      uint32_t env = model_term_input(&action->value, k);
      if (env == MODEL_NONE) continue;
      sim->marks[env < sim->model->env_count ? env : env - sim->model->env_count] = 0;
    }
  }
}

/// What eng_transition_collides() has marked for those that fire; others' time is not spent on it.
static void unmark(EngSim* sim, uint32_t count) {
  const Model* model = sim->model;
  for (uint32_t f = 0; f < count; f++) {
    const ModelTransition* t = &model->transitions[sim->fired[f]];
    const ModelState* to = &model->automata[t->automaton].states[t->to];
    for (uint32_t i = 0; i < t->guard.atom_count; i++) {
      const ModelAtom* atom = &model->atoms[t->guard.atoms[i]];
      for (uint32_t k = 0; k < atom->read_count; k++) {
        sim->marks[model->vars[atom->reads[k].var].env + atom->reads[k].order] = 0;
      }
    }
    unmark_actions(sim, t->action_begin, t->action_count);
    unmark_actions(sim, to->action_begin, to->action_count);
  }
  sim->marked_algebraic_read = false;
  sim->marked_state_write = false;
}

/// Whether the list's entry stays out of a round because of what fires in it already.
static bool stays_out(EngSim* sim, LocalEnabled* entry) {
  // those that met the last time mostly do it again, in the same place
  if (entry->meets != MODEL_NONE && (sim->marks[entry->meets] & ENG_WRITTEN)) return true;
  if (!eng_transition_collides(sim, entry->transition, false)) return false;
  entry->meets = sim->collides_at;
  return true;
}

/// The transitions of the next round into sim->fired; more than TOGETHER: too many.
static uint32_t choose_round(EngSim* sim) {
  struct EngLocal* local = sim->local;
  uint32_t count = 0;
  uint32_t i = local->enabled_begin;
  bool same = true;  // all but the first met others in one place
  uint32_t place = MODEL_NONE;
  while (i < local->enabled_count && local->enabled[i].transition == MODEL_NONE) {
    i++;
  }
  local->enabled_begin = i;
  for (; i < local->enabled_count; i++) {
    LocalEnabled* entry = &local->enabled[i];
    if (entry->transition == MODEL_NONE) continue;
    if (count > TOGETHER || (count > 0 && stays_out(sim, entry))) {
      if (place == MODEL_NONE) place = entry->meets;
      same &= entry->meets == place;
      continue;
    }
    if (count > 0) same = false;
    if (count++ == TOGETHER) continue;
    eng_transition_collides(sim, entry->transition, true);
    sim->fired[count - 1] = entry->transition;
    // where all the others wait for one value, the first that writes it keeps them out
    bool alone = local->meet != MODEL_NONE && (sim->marks[local->meet] & ENG_WRITTEN);
    if (count == 1 && alone) {
      place = local->meet;
      break;
    }
  }
  local->meet = same && count == 1 ? place : MODEL_NONE;
  unmark(sim, count < TOGETHER ? count : TOGETHER);
  return count;
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
  sim->group_count = 0;
  eng_trace_settling(sim);
  for (uint32_t i = 0; i < count; i++) {
    from[i] = sim->state[model->transitions[sim->fired[i]].automaton];
    SLT_TRY(eng_fire_transition(sim, sim->fired[i], *iteration));
  }
  eng_trace_candidate(sim);
  SLT_TRY(eng_apply_groups(sim));
  ++*iteration;
  local->touch++;
  local->touched_count = 0;
  for (uint32_t i = 0; i < sim->group_count; i++) {
    const EngGroup* group = &sim->groups[i];
    for (uint32_t k = 0; k < group->action_count; k++) {
      touch_value(sim, model->actions[group->action_begin + k].env);
    }
  }
  sim->group_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ModelAutomaton* a = &model->automata[model->transitions[sim->fired[i]].automaton];
    uint32_t now = sim->state[model->transitions[sim->fired[i]].automaton];
    if (a->states[from[i]].test_env != MODEL_NONE) touch_value(sim, a->states[from[i]].test_env);
    if (a->states[now].test_env != MODEL_NONE) touch_value(sim, a->states[now].test_env);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!enter(sim, model->transitions[sim->fired[i]].automaton, from[i])) *goes_on = false;
  }
  for (uint32_t i = 0; i < local->touched_count; i++) {
    if (!judge_touched(sim, local->touched[i])) *goes_on = false;
  }
  for (uint32_t i = 0; i < count; i++) {
    ask_again(sim, model->transitions[sim->fired[i]].automaton);
  }
  for (uint32_t i = 0; i < local->touched_count; i++) {
    uint32_t owner = local->index.owner[local->touched[i]];
    if (owner == LOCAL_SEVERAL) *goes_on = false;
    if (owner < LOCAL_SEVERAL) ask_again(sim, owner);
  }
  return SLT_OK;
}

SltStatus eng_local_rounds_now(EngSim* sim, uint32_t* iteration, bool* any) {
  if (!is_plain_now(sim)) return SLT_OK;
  struct EngLocal* local = sim->local;
  gather_enabled(sim);
  sim->quiet = local->enabled_count == 0;
  if (sim->quiet) return SLT_OK;
  eng_marks_clear(sim);
  bool goes_on = true;
  bool fired = false;
  while (goes_on && *iteration < sim->iteration_limit) {
    uint32_t count = choose_round(sim);
    sim->quiet = count == 0;
    if (count == 0 || count > TOGETHER) break;
    for (uint32_t i = 0; goes_on && i < count; i++) {
      goes_on = fires_plainly(sim, sim->fired[i]);
    }
    if (!goes_on) break;
    SLT_TRY(fire_round(sim, count, iteration, &goes_on));
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
