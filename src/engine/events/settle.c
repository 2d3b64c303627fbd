// SPDX-License-Identifier: MIT
//
// From what has fired to a committed mode.
//
// A round starts from committed values x_k. What fires assigns, and guards that ask for nothing but
// states of other automata are followed at once, in rounds of their own: what one has assigned the
// next one reads. At the end of that chain the equations of the new mode are solved: that is the
// *candidate*. Switches (`if`, `abs`, ...) follow it. A guard that reads a quantity the new mode
// computes in another way (a force, a voltage: see reads_candidate) may reject it: it was mythical,
// what was assigned with a state that is left now is dropped, and the transition goes on from x_k.
// Guards on states and on quantities that did not change their meaning are read in the next round,
// on committed values only.
#include "base/keys.h"
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

SltStatus eng_endless(EngSim* sim) {
  if (eng_zeno_suspected(sim)) return sim->error.status;
  char path[1200];
  uint32_t count = eng_trace_count(sim);
  eng_trace_path(sim, count > 20 ? count - 20 : 0, path, sizeof path);
  eng_fail(sim, SLT_ERR_MODE_LOOP, DIAG_E0803, NULL, "at t = %s the modes repeat without end: %s",
           eng_number(sim->core.t).text, path);
  return eng_hint(sim, "the guards of these states contradict each other; time cannot go on");
}

void events_begin_round(EngSim* sim) {
  sim->dae.from = sim->core.mode;
  if (sim->model->automaton_count)
    memcpy(sim->events.begun, sim->state, sim->model->automaton_count * sizeof *sim->state);
  sim->events.round_key = sim->events.values_key;
  eng_trace_settling(sim);
  events_forget_assigned(sim);
  if (!sim->detect.has_pre) return;
  // what was committed is the past of this round
  events_save_values(sim);
  eng_bind(sim);
  eng_atoms_update(sim);
}

// ---- guards that ask for states alone -----------------------------------------------------------

/// What an automaton can do because of the states of others; MODEL_NONE: nothing.
static uint32_t follows_states(EngSim* sim, uint32_t automaton) {
  uint32_t transition = eng_first_enabled(sim, automaton);
  if (transition == MODEL_NONE) return MODEL_NONE;
  const ModelTransition* t = &sim->model->transitions[transition];
  bool leaves = t->to != sim->state[automaton];
  return leaves && events_asks_states_alone(&t->guard) ? transition : MODEL_NONE;
}

/// Those who ask for states that have changed.
static void ask_readers(EngSim* sim) {
  Events* events = &sim->events;
  for (uint32_t i = 0; i < events->entered_count; i++) {
    uint32_t a = events->entered[i];
    events->is_entered[a] = false;
    for (uint32_t k = events->readers.begin[a]; k < events->readers.begin[a + 1]; k++) {
      uint32_t reader = events->readers.list[k];
      if (!eng_automaton_active(sim, reader)) continue;
      events_enabled_put(sim, reader, follows_states(sim, reader));
    }
  }
  events->entered_count = 0;
}

/// A configuration was reached without solving equations; fails when it has no end.
static SltStatus check_chain(EngSim* sim) {
  Events* events = &sim->events;
  SLT_TRY(events_next_round(sim));
  uint64_t key = sim->events.mode_key + events->values_key;
  const BaseKey* again = NULL;
  SLT_TRY(eng_keys_add(sim, &events->chain, key, sim->core.changes, &again));
  if (!again) return SLT_OK;
  return again->note == sim->core.changes ? eng_endless(sim) : events_check_repetition(sim, key);
}

/// Judge the relations of a condition, if it compares nothing that has yet to be solved for.
static bool judge_explicit(EngSim* sim, const ModelGuard* condition) {
  for (uint32_t i = 0; i < condition->atom_count; i++) {
    const ModelAtom* atom = &sim->model->atoms[condition->atoms[i]];
    for (uint32_t k = 0; k < atom->read_count; k++) {
      uint32_t env = sim->model->vars[atom->reads[k].var].env + atom->reads[k].order;
      if (sim->values.computed[env] && events_visit_origins(sim, env, NULL, NULL)) return false;
    }
    uint32_t index = eng_atom_place(sim->core.mode, condition->atoms[i]);
    if (index != MODEL_NONE) eng_atom_judge(sim, index);
  }
  return true;
}

/// Switches follow the candidate, or what is known of it before it is solved for.
static uint32_t flip_switches(EngSim* sim, uint32_t iteration, bool solved) {
  uint32_t fired = 0;
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (sim->model->automata[a].kind != MODEL_AUTOMATON_SWITCH || eng_is_barred(sim, a)) continue;
    if (!solved && !judge_explicit(sim, sim->model->automata[a].condition)) continue;
    if (!eng_automaton_active(sim, a) || !eng_switch_flips(sim, a)) continue;
    eng_fire_switch(sim, a, iteration);
    fired++;
  }
  return fired;
}

/// So do the pieces of floor() and of tables.
static SltStatus move_pieces(EngSim* sim, uint32_t iteration, uint32_t* fired) {
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (!sim->model->automata[a].hidden || eng_is_barred(sim, a)) continue;
    uint32_t transition = eng_first_enabled(sim, a);
    if (transition == MODEL_NONE || !eng_automaton_active(sim, a)) continue;
    SLT_TRY(eng_fire_transition(sim, transition, iteration));
    ++*fired;
  }
  return SLT_OK;
}

SltStatus events_follow_assigned(EngSim* sim, uint32_t iteration) {
  for (uint32_t moved = 1; moved > 0;) {
    SLT_TRY(eng_preview_mode(sim));
    bool solved = !sim->core.mode->implicit;
    if (solved) eng_atoms_update(sim);
    if (!solved) eng_evaluate_g(sim, sim->core.t, true);
    moved = flip_switches(sim, iteration, solved);
    if (moved == 0 && solved) SLT_TRY(move_pieces(sim, iteration, &moved));
    SLT_TRY(events_assign(sim));
    if (moved > 0) SLT_TRY(check_chain(sim));
  }
  return SLT_OK;
}

/// Whether a transition assigns what it reads from computed values.
static bool assigns_computed(const EngSim* sim, uint32_t transition) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  return events_reads_computed(sim, t->action_begin, t->action_count) ||
         events_reads_computed(sim, to->action_begin, to->action_count);
}

/// Assign what is queued, fire the guards that ask for the states that were entered, and so on.
static SltStatus follow_states(EngSim* sim, uint32_t* iteration) {
  Events* events = &sim->events;
  SLT_TRY(events_assign(sim));
  if (!events->readers.list || events->entered_count == 0) return SLT_OK;
  events_enabled_clear(sim);
  base_keys_reset(&events->chain);
  for (;;) {
    ask_readers(sim);
    const uint32_t* fired = events->fired + events->fired_count;  // behind those of the round
    uint32_t count = events_enabled_choose(sim, sim->model->automaton_count);
    if (count == 0) return SLT_OK;
    SLT_TRY(check_chain(sim));
    bool computed = false;
    for (uint32_t i = 0; i < count; i++)
      computed |= assigns_computed(sim, fired[i]);
    if (computed) SLT_TRY(events_follow_assigned(sim, *iteration));
    ++*iteration;
    for (uint32_t i = 0; i < count; i++) {
      SLT_TRY(eng_fire_transition(sim, fired[i], *iteration));
    }
    SLT_TRY(events_assign(sim));
    for (uint32_t i = 0; i < count; i++) {
      uint32_t a = sim->model->transitions[fired[i]].automaton;
      events_enabled_put(sim, a, follows_states(sim, a));
    }
  }
}

// ---- candidates ---------------------------------------------------------------------------------

/// Through which equations a quantity is computed; 0 where it is none of those that are.
static uint64_t provenance_of(const ModelMode* mode, const ModelRead* read) {
  return mode->provenance ? mode->provenance[read->var] : 0;
}

static bool is_state(const ModelMode* mode, const ModelRead* read) {
  const ModelVarMode* var = &mode->vars[read->var];
  return var->role == MODEL_ROLE_STATE && read->order < var->state_order;
}

/// The mode of the committed values with its switches as they are now: the branches of an `if` are
/// no other way to compute something, as those of if() are none.
static const ModelMode* compared_mode(EngSim* sim, const ModelMode* from) {
  uint32_t* states = sim->events.begun;
  bool moved = false;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    bool flipped = states[a] != sim->state[a];
    if (!flipped || sim->model->automata[a].kind != MODEL_AUTOMATON_SWITCH) continue;
    states[a] = sim->state[a];
    moved |= sim->model->automata[a].has_bodies;
  }
  const ModelMode* mode = NULL;
  const Diag* failure = NULL;
  // one that has no solution can have computed nothing
  if (!from || !moved || eng_get_mode(sim, states, &mode, &failure) < 0) return from;
  return mode;
}

/// A guard is read on the candidate, and may reject it, when it asks for post(x) or when the new
/// mode computes something it reads in another way than the mode of the committed values did
/// (whether or not anybody has asked for it there). What was a state has its value from before.
static bool reads_candidate(const EngSim* sim, const ModelGuard* guard, const ModelMode* from) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const ModelAtom* atom = &sim->model->atoms[guard->atoms[i]];
    for (uint32_t k = 0; k < atom->read_count; k++) {
      const ModelRead* read = &atom->reads[k];
      if (read->when == MODEL_POST) return true;
      if (!from || is_state(from, read) || is_state(mode, read)) continue;
      uint64_t provenance = provenance_of(mode, read);
      if (provenance != 0 && provenance != provenance_of(from, read)) return true;
    }
  }
  return false;
}

/// The same where it asks for an impulse: what was assigned meets equations that held before it.
static bool reads_impulse(EngSim* sim, const ModelGuard* guard) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t index = eng_atom_place(sim->core.mode, guard->atoms[i]);
    bool truth = false;
    if (index != MODEL_NONE && eng_impulse_truth(sim, index, &truth)) return true;
  }
  return false;
}

/// Switches, then pieces, and only then guards are asked: for values that are what they say. What a
/// guard is while they still move is no edge of it. `quiet`: nothing is enabled at all.
static SltStatus follow_switches(EngSim* sim, uint32_t iteration, uint32_t* fired, bool* quiet) {
  *fired = flip_switches(sim, iteration, true);
  if (*fired == 0) SLT_TRY(move_pieces(sim, iteration, fired));
  *quiet = *fired == 0 && !events_any_enabled(sim, NULL);
  return events_assign(sim);
}

/// Fire the transitions that reject the candidate; its records from `first` on are mythical. One
/// that contradicts the values has to be rejected.
static SltStatus reject_candidate(EngSim* sim, const ModelMode* from, uint32_t first,
                                  uint32_t iteration, uint32_t* fired) {
  Events* events = &sim->events;
  *fired = 0;
  bool mythical = false;
  from = compared_mode(sim, from);
  EngList automata = eng_instant_automata(sim);
  // what friction has to bear is known once no contact pulls
  for (uint32_t n = 0; n < 2 * automata.count && !(n == automata.count && *fired); n++) {
    uint32_t a = events_nth_in_text(sim, automata, n % automata.count);
    if (sim->model->automata[a].yields != (n >= automata.count) || eng_is_barred(sim, a)) continue;
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH) continue;
    uint32_t transition = eng_first_enabled(sim, a);
    if (transition == MODEL_NONE) continue;
    const ModelGuard* guard = &sim->model->transitions[transition].guard;
    // one that asks for what was assigned tells what has happened, whatever holds after it
    bool struck = guard->atom_count == 1 && sim->atoms[guard->atoms[0]].kind.struck;
    bool reads = !struck && reads_candidate(sim, guard, from);
    if (!reads && !reads_impulse(sim, guard)) continue;
    // equations that were there before leave what has been assigned
    if (reads && !mythical) {
      eng_trace_mythical(sim, first);
      sim->core.stop_wanted = false;
      mythical = true;
    }
    if (reads) events_drop_assigned(sim, a);
    SLT_TRY(eng_fire_transition(sim, transition, iteration));
    (*fired)++;
    if (events->one_by_one) break;
  }
  events->rejected_together |= *fired > 1;
  if (*fired == 0 && sim->dae.contradicts) return sim->error.status = SLT_ERR_STRUCTURE;
  return SLT_OK;
}

/// A relation that was taken for reached but only grazes its boundary: the motion turns round
/// inside the zone.
static bool only_grazes(const EngSim* sim, uint32_t id) {
  const EngAtom* atom = &sim->atoms[id];
  if (!atom->located || !atom->located_truth) return false;
  return fabs(atom->g_start) <= fmax(atom->zone, atom->eps);
}

/// A relation that holds because it is at its boundary, up to rounding: a body at rest is neither
/// slower nor faster.
static bool only_touches(EngSim* sim, const ModelMode* from, uint32_t id) {
  const EngAtom* atom = &sim->atoms[id];
  if (!sim->model->atoms[id].continuous || !sim->active.live[id] || !atom->truth) return false;
  uint32_t index = eng_atom_place(from, id);
  if (index == MODEL_NONE) return false;
  eng_control_margin(sim);
  return fabs(sim->detect.g[index]) <= sim->proof.margin[index];
}

/// Relations of a guard that only graze or touch are not reached for now.
static bool let_go(EngSim* sim, const ModelMode* from, const ModelGuard* guard) {
  bool found = false;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (!only_grazes(sim, guard->atoms[i]) && !only_touches(sim, from, guard->atoms[i])) continue;
    found = true;
    // it stays in its zone, and waits until it has left it
    atom->truth = false;
    atom->marks.tangential = true;
    atom->marks.held = true;
    atom->held_changes = (uint32_t)sim->core.changes;
    sim->env[sim->model->atoms[guard->atoms[i]].env] = 0.0;
  }
  return found;
}

/// What was set and is computed by the mode would be lost. States that depend on others through
/// constraints are chosen by the analysis, and may be set.
static SltStatus check_assigned(EngSim* sim) {
  const Events* events = &sim->events;
  for (uint32_t i = 0; i < events->assigned_count; i++) {
    const ModelAction* action = &sim->model->actions[events->assigned[i].action];
    const ModelVar* var = &sim->model->vars[action->var];
    const ModelVarMode* now = &sim->core.mode->vars[action->var];
    bool moves = now->role == MODEL_ROLE_STATE && action->order >= now->state_order;
    bool computed = moves || now->role == MODEL_ROLE_ALGEBRAIC;
    if (!computed || action->guess || var->hidden) continue;
    char mode[300];
    eng_describe_mode(sim, sim->state, mode, sizeof mode);
    eng_fail(sim, SLT_ERR_SEMANTIC, DIAG_E0829, &action->span,
             "at t = %s '%.*s%.*s' is set, and an equation%s%s computes it",
             eng_number(sim->core.t).text, STR_ARGS(var->name), (int)action->order, "''''''''",
             mode[0] ? " of the mode " : "", mode);
    return eng_hint(sim,
                    "what is set would be gone at once: set what the equation reads, or leave the "
                    "equation out of the mode");
  }
  return SLT_OK;
}

static SltStatus make_candidate(EngSim* sim) {
  eng_trace_candidate(sim);
  SLT_TRY(eng_enter_mode(sim));
  if (sim->events.assigned_count) SLT_TRY(check_assigned(sim));
  eng_atoms_update(sim);
  return SLT_OK;
}

/// All candidates were rejected and lead back to where the round began. If what fired were
/// relations that only graze their boundaries, or rest on them, they were not reached after all,
/// and nothing happens. (Of two brakes on one wheel one holds it, and the other, at its limit, is
/// at rest without holding.)
static SltStatus return_to_start(EngSim* sim, const ModelMode* from, bool* returned) {
  Events* events = &sim->events;
  *returned = false;
  if (events->mode_key + events->values_key != events->tried.entries[0].key) return SLT_OK;
  events_forget_assigned(sim);
  events_take_up_values(sim);
  SLT_TRY(make_candidate(sim));
  for (uint32_t i = 0; i < events->fired_count; i++) {
    uint32_t id = events->fired[i];
    const ModelGuard* guard = events->fired_switch[i] ? sim->model->automata[id].condition
                                                      : &sim->model->transitions[id].guard;
    *returned |= let_go(sim, from, guard);
  }
  return SLT_OK;
}

/// No candidate holds: back to where the round began, if nothing was reached there, or an error.
static SltStatus give_up(EngSim* sim, const ModelMode* from, uint32_t first_record) {
  bool returned = false;
  SLT_TRY(return_to_start(sim, from, &returned));
  if (!returned) return eng_endless(sim);
  eng_trace_mythical(sim, first_record);
  for (uint32_t i = first_record; i < eng_trace_count(sim); i++)
    eng_trace_fallen(sim, i);
  return SLT_OK;
}

SltStatus events_settle(EngSim* sim, const ModelMode* from, uint32_t first_record,
                        uint32_t* iteration) {
  Events* events = &sim->events;
  for (bool first = true;; first = false) {
    // what has fired so far has changed states and truths, but no value
    if (!first) events_take_up_values(sim);
    SLT_TRY(follow_states(sim, iteration));
    const BaseKey* again = NULL;
    uint64_t key = events->mode_key + events->values_key;
    SLT_TRY(eng_keys_add(sim, &events->tried, key, 0, &again));
    if (again) {
      bool found = false;
      SLT_TRY(eng_dae_complement(sim, &found));
      if (found) break;
      return give_up(sim, from, first_record);
    }
    // equations that contradict the values may belong to a state that is left
    sim->dae.tentative = true;
    SltStatus status = make_candidate(sim);
    sim->dae.tentative = false;
    SLT_TRY(status);
    if (sim->dae.contradicted != MODEL_NONE) {
      // no equations hold here, and the signs of what is infinite say where to go
      bool found = false;
      SLT_TRY(eng_dae_complement(sim, &found));
      if (found) break;
    }
    ++*iteration;
    SLT_TRY(events_next_round(sim));
    bool quiet = false;
    uint32_t followed = 0;
    SLT_TRY(follow_switches(sim, *iteration, &followed, &quiet));
    if (followed > 0) continue;
    // the next round would ask the same guards about the same values
    events->quiet = quiet && !sim->detect.has_pre;
    if (quiet && !sim->dae.contradicts) break;
    uint32_t next_first = eng_trace_count(sim);
    uint32_t fired = 0;
    SLT_TRY(reject_candidate(sim, from, first_record, *iteration, &fired));
    if (fired == 0) break;
    first_record = next_first;
  }
  events_forget_assigned(sim);
  return SLT_OK;
}
