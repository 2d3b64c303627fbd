// SPDX-License-Identifier: MIT
//
// Rounds over an active set: they cost what they touch.
//
// What fires is carried out on the environment and on the registers that hold copies of it; the
// event indicators that read what was assigned are judged again, and the automata that wait for
// them are asked. That is how an event of one automaton among 10 000 is carried out on a trial that
// stays valid for all others (local/instant.c), and how thousands of transitions that share a
// counter take a round each without looking at all values in each.
//
// The rounds are those of rounds.c: the same list of what may fire, the same firing, assigning and
// judging. They end where something is not plain (values read by many, computed values, many
// transitions at once), and the rounds on all values take over. Modes need not settle here: where
// automata are plain, nothing follows or rejects a candidate.
#include "engine/local/parts.h"

#define TOGETHER 64  // transitions of one round, at most

bool local_rounds_suit(const EngSim* sim) {
  const Model* model = sim->model;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    if (model->automata[a].kind == MODEL_AUTOMATON_SWITCH) return false;
    if (!sim->local->index.plain[a]) return false;
  }
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const ModelGuard* guard = &model->transitions[i].guard;
    if (guard->has_mode_test) return false;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      if (!local_reads_now(&model->atoms[guard->atoms[k]])) return false;
    }
  }
  return true;
}

static bool is_plain_now(const EngSim* sim) {
  const EngCore* core = &sim->core;
  return eng_local_is_prepared(sim) && sim->local->rounds && !core->slide.count &&
         !core->contact.active && !sim->contact.holds && !core->dwell.any && !sim->detect.has_pre &&
         sim->instant.zeno_automaton == MODEL_NONE && !core->exit.pending;
}

// ---- registers ----------------------------------------------------------------------------------

void local_patch(EngSim* sim, uint32_t env) {
  const LocalIndex* index = &sim->local->index;
  double* regs[LOCAL_PROGRAMS] = {sim->programs.rhs, sim->programs.full, sim->programs.g,
                                  sim->programs.g_flow, sim->programs.gdot};
  double value = sim->env[env];
  for (uint32_t i = index->regs.begin[env]; i < index->regs.begin[env + 1]; i++) {
    uint32_t program = index->regs.list[i] >> LOCAL_REG_BITS;
    uint32_t reg = index->regs.list[i] & ((1u << LOCAL_REG_BITS) - 1);
    regs[program][reg] = value;
    if (local_program(index->mode, program) != &index->mode->g_flow) continue;
    sim->programs.dual[reg] = model_dual_fixed(value);
    sim->core.local.margins = false;
    sim->core.margins.level_epoch++;
    sim->proof.stamp++;
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
      sim->programs.lanes[(size_t)reg * MODEL_LANES + lane] = value;
    }
  }
}

void eng_local_settle_active_slow(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  sim->active.stale = false;
  sim->pruning.stale = true;
  sim->active.indicator_count = 0;
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    if (sim->active.live[mode->atoms[i]]) sim->active.indicators[sim->active.indicator_count++] = i;
  }
}

// ---- what is enabled ----------------------------------------------------------------------------

bool local_ask(EngSim* sim, uint32_t automaton) {
  LocalInstant* now = &sim->local->now;
  if (sim->model->automata[automaton].kind != MODEL_AUTOMATON_SWITCH) {
    events_enabled_put(sim, automaton, eng_first_enabled(sim, automaton));
    return true;
  }
  for (uint32_t i = 0; i < now->switch_count; i++) {
    if (now->switches[i] == automaton) return true;
  }
  if (now->switch_count == ENG_LOCAL_MOVED) return false;
  now->switches[now->switch_count++] = automaton;
  return true;
}

/// Those of the switches that flip now come before the others; returns their number.
static uint32_t choose_flips(EngSim* sim) {
  LocalInstant* now = &sim->local->now;
  uint32_t count = 0;
  for (uint32_t i = 0; i < now->switch_count; i++) {
    uint32_t automaton = now->switches[i];
    if (!eng_switch_flips(sim, automaton)) continue;
    now->switches[i] = now->switches[count];
    now->switches[count++] = automaton;
  }
  return count;
}

static void gather_enabled(EngSim* sim) {
  events_enabled_clear(sim);
  for (uint32_t n = 0; n < sim->model->automaton_count; n++) {
    uint32_t a = events_nth_in_text(sim, (EngList){NULL, 0}, n);
    if (!eng_is_barred(sim, a)) (void)local_ask(sim, a);
  }
}

static bool is_wide(const EngSim* sim, uint32_t env) {
  const LocalIndex* index = &sim->local->index;
  if (env == MODEL_NONE) return false;
  uint32_t state = index->state_of_env[env];
  return index->wide[state == MODEL_NONE ? env : sim->model->env_count + state] != 0;
}

/// Whether an action can be carried out in place.
static bool action_suits(const EngSim* sim, const ModelAction* action) {
  if (action->guess || sim->values.computed[action->env] || is_wide(sim, action->env)) return false;
  for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
    uint32_t env = model_term_input(&action->value, k);
    if (env == MODEL_NONE) continue;
    if (env >= sim->model->env_count || sim->values.computed[env]) return false;
  }
  return true;
}

/// Whether the actions can be carried out in place; what they read is there then.
static bool actions_suit(EngSim* sim, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    if (!action_suits(sim, action)) return false;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      uint32_t env = model_term_input(&action->value, k);
      if (env != MODEL_NONE) local_fetch(sim, env);
    }
    local_fetch(sim, action->env);
    if (!local_note_change(sim, action->env)) return false;
  }
  return true;
}

bool local_is_plain_time(const EngSim* sim, const ModelSchedule* schedule) {
  bool plain = schedule->goto_count == 0 && !schedule->stops && schedule->priority >= 0 &&
               schedule->action_count <= LOCAL_STATES;
  for (uint32_t i = 0; plain && i < schedule->action_count; i++) {
    const ModelAction* action = &sim->model->actions[schedule->action_begin + i];
    plain = action_suits(sim, action) && local_reads_values(sim, &action->value);
  }
  return plain;
}

static bool fires_plainly(EngSim* sim, uint32_t transition) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelAutomaton* a = &sim->model->automata[t->automaton];
  const ModelState* to = &a->states[t->to];
  const ModelState* left = &a->states[sim->state[t->automaton]];
  return !is_wide(sim, to->test_env) && !is_wide(sim, left->test_env) &&
         !is_wide(sim, a->entry_env) && local_note_change(sim, a->entry_env) &&
         local_note_change(sim, to->test_env) && local_note_change(sim, left->test_env) &&
         actions_suit(sim, to->action_begin, to->action_count) &&
         actions_suit(sim, t->action_begin, t->action_count) && local_note_firing(sim, transition);
}

static bool flips_plainly(EngSim* sim, uint32_t automaton) {
  const ModelState* states = sim->model->automata[automaton].states;
  bool plain = local_note_flip(sim, automaton);
  for (uint32_t s = 0; s < 2; s++) {
    plain = plain && !is_wide(sim, states[s].test_env) &&
            local_note_change(sim, states[s].test_env) && states[s].action_count == 0;
  }
  return plain;
}

// ---- carrying them out --------------------------------------------------------------------------

static void touch_atom(EngSim* sim, uint32_t atom) {
  LocalTouched* touched = &sim->local->touched;
  if (touched->at[atom] == touched->stamp) return;
  touched->at[atom] = touched->stamp;
  touched->list[touched->count++] = atom;
}

static void touch_readers(EngSim* sim, uint32_t key) {
  const BaseLists* atoms = &sim->local->index.atoms;
  for (uint32_t k = atoms->begin[key]; k < atoms->begin[key + 1]; k++) {
    touch_atom(sim, atoms->list[k]);
  }
}

/// Copies of the value follow it, states whose motion it changes, and event indicators that read
/// it, or whose slope does. False: they are too many.
static bool touch_value(EngSim* sim, uint32_t env) {
  const struct EngLocal* local = sim->local;
  const LocalIndex* index = &local->index;
  if (env == MODEL_NONE || !local_sees_change(sim, env)) return true;
  uint32_t env_count = sim->model->env_count;
  uint32_t state = index->state_of_env[env];
  uint32_t key = state == MODEL_NONE ? env : env_count + state;
  local_patch(sim, env);
  if (state != MODEL_NONE) {
    if (!local_add_state(sim, state)) return false;
    local_set_state(sim, state, sim->env[env]);
  }
  touch_readers(sim, key);
  for (uint32_t k = index->rhs.begin[key]; k < index->rhs.begin[key + 1]; k++) {
    if (!local_add_state(sim, index->rhs.list[k])) return false;
    touch_readers(sim, env_count + index->rhs.list[k]);
  }
  return true;
}

/// Whether the guards of a state ask for an atom.
static bool state_asks(const EngSim* sim, const ModelState* state, uint32_t atom) {
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[state->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      if (guard->atoms[k] == atom) return true;
    }
  }
  return false;
}

/// Relations of the state that is left, if no state asks for them any more, do not matter from here
/// on; those of the new one do, and are judged. False: that concerns others, too.
static bool enter(EngSim* sim, uint32_t automaton, uint32_t from) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  const ModelState* left = &a->states[from];
  const ModelState* to = &a->states[sim->state[automaton]];
  bool alone = true;  // no other automaton asks for those of the state that is left
  // what follows here is all there is to it
  sim->programs.entered_state[automaton] = sim->state[automaton];
  for (uint32_t i = 0; i < left->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[left->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      if (state_asks(sim, to, guard->atoms[k])) continue;
      alone &= sim->local->index.owner[guard->atoms[k]] != LOCAL_SEVERAL;
      if (!local_keep_atom(sim, guard->atoms[k])) return false;
      sim->active.live[guard->atoms[k]] = 0;
      sim->active.stale = true;
    }
  }
  for (uint32_t i = 0; i < to->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[to->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      uint32_t id = guard->atoms[k];
      touch_atom(sim, id);
      if (sim->active.live[id]) continue;
      if (!local_keep_atom(sim, id)) return false;
      sim->active.live[id] = 1;
      sim->active.stale = true;
      if (!sim->atoms[id].relevant_start) sim->atoms[id].fresh = true;
    }
  }
  return alone;
}

/// Truth of a relation that may have changed. False: it cannot be decided here.
static bool judge_touched(EngSim* sim, uint32_t id) {
  if (!sim->active.live[id]) return true;
  if (!local_keep_atom(sim, id) || !local_present_value(sim, id)) return false;
  if (!local_tells_truth(sim, id)) return false;
  bool before = sim->atoms[id].truth;
  eng_atom_judge(sim, id);
  if (sim->atoms[id].truth != before) local_patch(sim, sim->atoms[id].env);
  return true;
}

static bool has_fired(const EngSim* sim, uint32_t automaton, uint32_t fired) {
  for (uint32_t i = 0; i < fired; i++) {
    if (sim->model->transitions[sim->events.fired[i]].automaton == automaton) return true;
  }
  return false;
}

/// Ask those who ask for the state of an automaton. False: that concerns others.
static bool ask_state_readers(EngSim* sim, uint32_t automaton) {
  const BaseLists* readers = &sim->events.readers;
  if (!readers->list) return true;
  for (uint32_t k = readers->begin[automaton]; k < readers->begin[automaton + 1]; k++) {
    uint32_t reader = readers->list[k];
    if (!sim->local->index.plain[reader] || !local_bring_guards(sim, reader)) return false;
    if (!local_ask(sim, reader)) return false;
  }
  return true;
}

/// Guards that ask for states alone are followed before any other. Whether what is enabled is all
/// of the one kind or all of the other.
static bool is_of_one_kind(const EngSim* sim) {
  const Events* events = &sim->events;
  uint32_t counts[2] = {0, 0};
  for (uint32_t i = events->enabled_begin; events->readers.list && i < events->enabled_count; i++) {
    uint32_t transition = events->enabled[i].transition;
    if (transition == MODEL_NONE) continue;
    counts[events_asks_states_alone(&sim->model->transitions[transition].guard)]++;
  }
  return counts[0] == 0 || counts[1] == 0;
}

/// Judge what was touched, and ask who waits for it. False: that concerns others.
static bool follow_touched(EngSim* sim, uint32_t fired) {
  const struct EngLocal* local = sim->local;
  const Model* model = sim->model;
  bool plain = true;
  for (uint32_t i = 0; i < local->touched.count; i++) {
    plain &= judge_touched(sim, local->touched.list[i]);
  }
  for (uint32_t i = 0; i < fired; i++) {
    uint32_t automaton = model->transitions[sim->events.fired[i]].automaton;
    plain = plain && local_ask(sim, automaton) && ask_state_readers(sim, automaton);
  }
  for (uint32_t i = 0; i < local->touched.count; i++) {
    uint32_t id = local->touched.list[i];
    uint32_t owner = local->index.owner[id];
    if (owner == MODEL_NONE || !sim->active.live[id]) continue;
    if (owner == LOCAL_SEVERAL) return false;
    uint32_t known = local->now.kept_count;
    if (!local_bring_guards(sim, owner)) return false;
    // who has fired was asked with the same truths
    bool asked = local->now.kept_count == known && has_fired(sim, owner, fired);
    if (!asked && !local_ask(sim, owner)) return false;
  }
  return plain && is_of_one_kind(sim);
}

/// Assign what is queued; what reads it is touched.
static SltStatus touch_assigned(EngSim* sim, bool* plain) {
  Events* events = &sim->events;
  SLT_TRY(events_assign(sim));
  sim->local->touched.stamp++;
  sim->local->touched.count = 0;
  for (uint32_t i = 0; i < events->assigned_count; i++) {
    *plain &= touch_value(sim, sim->model->actions[events->assigned[i].action].env);
  }
  events_forget_assigned(sim);
  return SLT_OK;
}

/// Fire what was chosen: so many transitions, and the first of the switches. `plain` false: what
/// was touched concerns others, too.
static SltStatus fire_round(EngSim* sim, uint32_t count, uint32_t flips, uint32_t* iteration,
                            bool* plain) {
  const Model* model = sim->model;
  const uint32_t* switches = sim->local->now.switches;
  Events* events = &sim->events;
  uint32_t from[TOGETHER];
  sim->dae.from = sim->core.mode;
  events_forget_assigned(sim);
  eng_trace_settling(sim);
  for (uint32_t i = 0; i < flips; i++) {
    eng_fire_switch(sim, switches[i], *iteration);
    sim->programs.entered_state[switches[i]] = sim->state[switches[i]];
  }
  for (uint32_t i = 0; i < count; i++) {
    from[i] = sim->state[model->transitions[events->fired[i]].automaton];
    SLT_TRY(eng_fire_transition(sim, events->fired[i], *iteration));
  }
  eng_trace_candidate(sim);
  SLT_TRY(touch_assigned(sim, plain));
  ++*iteration;
  for (uint32_t i = 0; i < flips; i++) {
    *plain &= touch_value(sim, model->automata[switches[i]].states[0].test_env);
    *plain &= touch_value(sim, model->automata[switches[i]].states[1].test_env);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t automaton = model->transitions[events->fired[i]].automaton;
    const ModelState* states = model->automata[automaton].states;
    *plain &= touch_value(sim, model->automata[automaton].entry_env);
    *plain &= touch_value(sim, states[from[i]].test_env);
    *plain &= touch_value(sim, states[sim->state[automaton]].test_env);
    *plain &= enter(sim, automaton, from[i]);
  }
  *plain &= follow_touched(sim, count);
  return SLT_OK;
}

SltStatus local_run_due(EngSim* sim, uint32_t* first, uint32_t* iteration, bool* plain) {
  Events* events = &sim->events;
  for (; *plain && *first < events->due_count; ++*first) {
    uint32_t index = events->due[*first];
    const ModelSchedule* schedule = &sim->model->schedules[index];
    if (!sim->local->index.plain_time[index] ||
        !actions_suit(sim, schedule->action_begin, schedule->action_count)) {
      break;
    }
    events_forget_assigned(sim);
    uint32_t record =
        eng_trace_schedule(sim, index, MODEL_NONE, MODEL_NONE, MODEL_NONE, (*iteration)++);
    EngGroup group = {schedule->action_begin, schedule->action_count, MODEL_NONE, record};
    SLT_TRY(events_queue_group(sim, group));
    SLT_TRY(touch_assigned(sim, plain));
    *plain = follow_touched(sim, 0) && *plain;
  }
  return SLT_OK;
}

SltStatus local_run_rounds(EngSim* sim, uint32_t* iteration, bool* fired, bool* plain, bool* back) {
  Events* events = &sim->events;
  while (*plain && !*back) {
    events->fired_count = 0;
    uint32_t count = events_enabled_choose(sim, TOGETHER);
    uint32_t flips = choose_flips(sim);
    events->quiet = count + flips == 0;
    if (events->quiet) break;
    *plain = count <= TOGETHER;
    for (uint32_t i = 0; *plain && i < flips; i++) {
      *plain = flips_plainly(sim, sim->local->now.switches[i]);
    }
    for (uint32_t i = 0; *plain && i < count; i++) {
      *plain = fires_plainly(sim, events->fired[i]);
    }
    if (!*plain) break;
    SLT_TRY(events_next_round(sim));
    uint64_t key = events->mode_key + events->values_key;
    SLT_TRY(fire_round(sim, count, flips, iteration, plain));
    *fired = true;
    // self loops that assign nothing are no repetition
    if (events->mode_key + events->values_key != key) SLT_TRY(events_comes_back(sim, back));
  }
  return SLT_OK;
}

/// All values and relations, as a round of the usual kind leaves them.
static SltStatus finish_rounds(EngSim* sim, bool plain) {
  sim->core.margins.stale = true;
  eng_local_settle_active(sim);
  SLT_TRY(eng_enter_mode(sim));
  if (!plain || sim->detect.has_separating) eng_atoms_update(sim);
  return SLT_OK;
}

SltStatus eng_local_due_slow(EngSim* sim, uint32_t* first, uint32_t* iteration) {
  bool plain = true;
  if (!is_plain_now(sim) || sim->events.due_count < 2) return SLT_OK;
  events_enabled_clear(sim);
  SLT_TRY(local_run_due(sim, first, iteration, &plain));
  return *first > 0 ? finish_rounds(sim, plain) : SLT_OK;
}

SltStatus eng_local_rounds_slow(EngSim* sim, uint32_t* iteration, bool* any, bool* back) {
  if (!is_plain_now(sim)) return SLT_OK;
  Events* events = &sim->events;
  sim->local->now.switch_count = 0;
  gather_enabled(sim);
  events->quiet = events->enabled_count == 0;
  bool plain = true;
  bool fired = false;
  SLT_TRY(local_run_rounds(sim, iteration, &fired, &plain, back));
  if (!fired) return SLT_OK;
  *any = true;
  return finish_rounds(sim, plain);
}
