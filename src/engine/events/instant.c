// SPDX-License-Identifier: MIT
//
// An instant from its begin to its end: what is due, rounds until nothing more is enabled, then
// what the motion goes on with. See events.h for its rules.
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

#define CONTACT_TURNS 8  // of contacts and surfaces that ask each other

bool eng_flow_changed(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (ENG_UNLIKELY(sim->core.slide.count || sim->instant.was_sliding || sim->core.contact.active))
    return true;
  if (mode->id != sim->core.mode_before->id || mode->state_count == 0) return true;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    if (sim->env[mode->state_env[i]] != sim->values.before[mode->state_env[i]]) return true;
  }
  const ModelProgram* programs[] = {&mode->rhs, &mode->full, &mode->g_flow, &mode->gdot};
  for (size_t p = 0; p < SLT_COUNT(programs); p++) {
    for (uint32_t i = 0; i < programs[p]->input_count; i++) {
      uint32_t env = programs[p]->inputs[i].env;
      if (env < sim->model->env_count && sim->env[env] != sim->values.before[env]) return true;
    }
  }
  return false;
}

static SltStatus check_invariants(EngSim* sim) {
  uint32_t a = events_broken_invariant(sim);
  if (a == MODEL_NONE) return SLT_OK;
  const ModelAutomaton* automaton = &sim->model->automata[a];
  const ModelState* state = &automaton->states[sim->state[a]];
  if (automaton->kind == MODEL_AUTOMATON_SWITCH) {
    return eng_fail(sim, SLT_ERR_INVARIANT, DIAG_E0814, &state->written->invariant_span,
                    "at t = %s this table is read beyond its ends", eng_short(sim->core.t).text);
  }
  eng_fail(sim, SLT_ERR_INVARIANT, DIAG_E0805, &state->written->invariant_span,
           "at t = %s state '%.*s' of '%.*s' leaves its invariant and no transition is enabled",
           eng_number(sim->core.t).text, STR_ARGS(state->written->name), STR_ARGS(automaton->name));
  return eng_hint(sim, "add a state that takes over from '%.*s', or widen the invariant",
                  STR_ARGS(state->written->name));
}

/// The model has a state for what comes after infinitely many events: enter it.
static SltStatus take_zeno_exit(EngSim* sim) {
  uint32_t iteration = eng_trace_count(sim);
  bool any = false;
  SltStatus status = events_run_to_rest(sim, &iteration, &any);
  sim->instant.zeno_automaton = MODEL_NONE;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    sim->instant.transitions[i].fired_now = false;
    sim->instant.transitions[i].exits = false;
  }
  return status;
}

/// What was before the start follows from the values at the start, which may be read from it: a
/// chain of delays takes a turn each.
static SltStatus settle_past(EngSim* sim) {
  for (uint32_t turn = 0; turn <= sim->model->delay_count + 1; turn++) {
    if (!eng_history_update_start(sim)) return SLT_OK;
    SLT_TRY(eng_start_values(sim, true));
    SLT_TRY(eng_enter_mode(sim));
    SLT_TRY(eng_dae_follow_starts(sim));
    eng_atoms_update(sim);
    SLT_TRY(eng_settle_initial_switches(sim));
  }
  return eng_history_circular(sim);
}

/// Values that a delay has held back.
static SltStatus take_arrivals(EngSim* sim, bool* any) {
  sim->history.arrived = sim->history.delays && eng_history_break_slow(sim, sim->core.t, any);
  if (!sim->history.arrived) return SLT_OK;
  sim->dae.from = sim->core.mode;
  memset(sim->values.given, 0, sim->model->env_count);
  sim->core.changes++;
  return SLT_OK;
}

void events_begin(EngSim* sim) {
  Events* events = &sim->events;
  events->rounds = 0;
  events->mode_key = 0;
  events->values_key = 0;
  events->copy.made = false;
  events->one_by_one = false;
  events->rejected_together = false;
}

static SltStatus carry_out(EngSim* sim, EngInstantKind kind, bool* any) {
  uint32_t iteration = 0;
  if (sim->detect.has_pre) events_save_values(sim);
  if (kind == ENG_INSTANT_EVENT) {
    eng_bind_states(sim);
    if (ENG_UNLIKELY(eng_slides_locally(sim))) eng_reduced_begin(sim);
  } else {
    eng_bind(sim);
  }
  // in a reduced one they are saved before something fires
  if (!sim->detect.has_pre && !sim->active.reduced) events_save_values(sim);
  eng_atoms_begin_instant(sim);
  eng_zeno_foresee(sim);
  SLT_TRY(take_arrivals(sim, any));
  if (kind == ENG_INSTANT_INITIAL) {
    for (uint32_t i = 0; i < sim->model->atom_count; i++) {
      sim->atoms[i].relevant_start = false;
      sim->atoms[i].fresh = true;
      sim->atoms[i].g_start = (double)NAN;
    }
    eng_atoms_update(sim);
    SLT_TRY(eng_settle_initial_switches(sim));
    SLT_TRY(settle_past(sim));
    sim->dae.tentative = false;
    if (sim->dae.contradicts) {
      SLT_TRY(eng_start_values(sim, false));
      SLT_TRY(eng_enter_mode(sim));
    }
    sim->dae.initial = false;
    eng_trace_mark(sim, SLT_EVENT_INITIAL, NULL, (Str){NULL, 0});
  }
  if (ENG_UNLIKELY(sim->core.exit.pending)) {
    SLT_TRY(events_leave_surface(sim, any));
  } else {
    bool initial = kind == ENG_INSTANT_INITIAL;
    sim->core.slide.count = 0;
    if (ENG_UNLIKELY(sim->history.arrived && !initial)) SLT_TRY(eng_enter_mode(sim));
    (initial || sim->history.arrived ? eng_atoms_update : eng_atoms_judge)(sim);
  }
  events_begin(sim);
  sim->events.looked &= kind == ENG_INSTANT_EVENT && !sim->events.due_count;
  sim->dae.decides = false;
  SLT_TRY(eng_run_due(sim, false, &iteration, any));
  SLT_TRY(events_run_to_rest(sim, &iteration, any));
  bool late = false;
  SLT_TRY(eng_run_due(sim, true, &iteration, &late));
  *any |= late;
  if (late) SLT_TRY(events_run_to_rest(sim, &iteration, any));
  return check_invariants(sim);
}

/// Records for the surfaces that are slid along now and were not, and the other way round.
static void trace_sliding(EngSim* sim, bool* fired) {
  bool leads = false;
  if (!sim->instant.was_sliding && !sim->core.slide.count) return;
  EngList atoms = eng_instant_atoms(sim);
  if (!sim->active.reduced) atoms.count = sim->model->atom_count;
  for (uint32_t n = 0; n < atoms.count; n++) {
    uint32_t i = sim->active.reduced ? sim->core.mode->atoms[atoms.at[n]] : n;
    if (!sim->atoms[i].marks.described_surface || eng_slides_along(sim, i, &leads)) continue;
    eng_trace_slide(sim, SLT_EVENT_SLIDE_OUT, i);
    *fired = true;
  }
  for (uint32_t n = 0; n < atoms.count; n++) {
    uint32_t i = sim->active.reduced ? sim->core.mode->atoms[atoms.at[n]] : n;
    if (!eng_slides_along(sim, i, &leads) || !leads || sim->atoms[i].marks.slid) continue;
    eng_trace_slide(sim, SLT_EVENT_SLIDE_IN, i);
    *fired = true;
  }
  if (!sim->core.slide.count) return;
  if (eng_reduced_unseen(sim)) {
    sim->core.full_stale = true;
    return;
  }
  eng_evaluate_full(sim, sim->core.t);
  eng_trace_equivalents(sim);
}

static void mark_sliding(EngSim* sim) {
  sim->active.followed_stale = true;
  sim->active.automata_stale = true;
  sim->dae.constant_count = 0;
  if (ENG_UNLIKELY(sim->core.mode->relaxed)) eng_dae_end_instant(sim);
  if (ENG_UNLIKELY(sim->core.contact.active)) {
    for (uint32_t i = 0; i < sim->model->atom_count; i++) {
      if (sim->atoms[i].marks.kept_by_contact) sim->atoms[i].sliding = true;
    }
  }
  if (!sim->core.slide.count) return;
  EngList atoms = eng_instant_atoms(sim);
  if (!sim->active.reduced) atoms.count = sim->model->atom_count;
  for (uint32_t n = 0; n < atoms.count; n++) {
    uint32_t i = sim->active.reduced ? sim->core.mode->atoms[atoms.at[n]] : n;
    bool leads = false;
    if (!eng_slides_along(sim, i, &leads)) continue;
    sim->atoms[i].sliding = true;
    sim->atoms[i].marks.describes_surface = leads;
  }
}

/// Contacts that close take speeds away: what has changed belongs to their record.
static SltStatus close_contacts(EngSim* sim, bool* changed) {
  const double* saved = sim->env + sim->model->env_count;
  events_save_values(sim);
  SLT_TRY(eng_contact_settle(sim, changed));
  const ModelMode* mode = sim->core.mode;
  for (uint32_t v = 0; sim->report.to.on_event && v < sim->model->var_count; v++) {
    if (mode->vars[v].role != MODEL_ROLE_STATE) continue;
    for (uint32_t order = 0; order < mode->vars[v].state_order; order++) {
      uint32_t env = sim->model->vars[v].env + order;
      if (sim->env[env] == saved[env]) continue;
      eng_trace_jump(sim, v, order, saved[env], sim->env[env]);
    }
  }
  return SLT_OK;
}

/// Where contacts have closed or opened, surfaces that the motion stands on see other flows: both
/// are asked until neither changes.
static SltStatus settle_together(EngSim* sim, bool* changed, bool* fired) {
  SLT_TRY(close_contacts(sim, changed));
  bool again = *changed && sim->detect.has_separating;
  for (uint32_t turn = 0; again && turn < CONTACT_TURNS; turn++) {
    uint32_t iteration = eng_trace_count(sim);
    bool any = false;
    again = false;
    sim->core.changes++;
    sim->core.slide.count = 0;
    eng_atoms_update(sim);
    SLT_TRY(events_run_to_rest(sim, &iteration, &any));
    *fired |= any;
    SLT_TRY(close_contacts(sim, &again));
    *changed |= again;
  }
  return SLT_OK;
}

/// Contacts that are closed after this instant, and the values with their reactions.
static SltStatus settle_contacts(EngSim* sim, bool* changed, bool* fired) {
  eng_active_complete(sim);
  SLT_TRY(settle_together(sim, changed, fired));
  SLT_TRY(eng_zeno_conclude(sim));
  sim->core.contact.active = sim->core.contact.count > 0;
  eng_bind(sim);
  if (sim->core.contact.active) SLT_TRY(eng_contact_rebind(sim));
  eng_evaluate_full(sim, sim->core.t);
  return SLT_OK;
}

/// What is latched and scheduled at the end of an instant. `anew`: the motion begins anew in any
/// case.
static void end_instant(EngSim* sim, bool anew, bool* changed) {
  eng_atoms_end_instant(sim);
  mark_sliding(sim);
  eng_edges_visit(sim, true);
  eng_schedule_linear(sim);
  sim->core.mesh_t = sim->core.t;
  *changed = anew || sim->history.arrived || eng_flow_changed(sim);
  if (ENG_UNLIKELY(sim->history.delays)) eng_history_instant_slow(sim, *changed);
  if (ENG_UNLIKELY(sim->core.stop_wanted)) {
    eng_trace_mark(sim, SLT_EVENT_STOP, &sim->instant.stop_span, sim->instant.stop_text);
    sim->core.ended = true;
  }
}

/// An instant that does not come to its end has not happened: values and modes are those before it.
static void take_back(EngSim* sim) {
  memcpy(sim->env, sim->values.before, sim->model->env_count * sizeof(double));
  memcpy(sim->state, sim->values.state_before, sim->model->automaton_count * sizeof *sim->state);
  sim->core.mode = sim->core.mode_before;
  sim->core.full_stale = false;
}

SltStatus eng_instant(EngSim* sim, EngInstantKind kind, bool* changed, bool* fired) {
  if (ENG_UNLIKELY(sim->report.observer)) sim->report.observer->begins(sim->report.observer->user);
  sim->core.local.moved_count = 0;
  sim->active.reduced = false;
  // constants are there since the start
  uint32_t first = kind == ENG_INSTANT_INITIAL ? 0 : sim->values.moving;
  memcpy(sim->values.before + first, sim->env + first,
         (sim->model->env_count - first) * sizeof(double));
  memcpy(sim->values.state_before, sim->state, sim->model->automaton_count * sizeof *sim->state);
  sim->core.mode_before = sim->core.mode;
  sim->core.stop_wanted = false;
  *fired = false;
  eng_trace_begin(sim);
  eng_trace_shares(sim);
  bool dwells = sim->core.dwell.any;
  if (ENG_UNLIKELY(dwells)) eng_dwell_release_slow(sim);
  if (ENG_UNLIKELY(sim->model->energy) && kind != ENG_INSTANT_INITIAL) eng_audit_begin(sim);
  sim->instant.running = true;
  sim->instant.was_sliding = sim->core.slide.count > 0;
  sim->instant.at_start = kind == ENG_INSTANT_INITIAL;
  bool released = sim->core.contact.active;
  sim->contact.holds = released;
  sim->core.contact.active = false;
  if (ENG_UNLIKELY(released)) eng_contact_begin_instant(sim, kind == ENG_INSTANT_INPUT);
  SltStatus status = carry_out(sim, kind, fired);
  if (status >= 0 && sim->dae.impulsive) {
    // the pulse is over: what is latched holds after it
    sim->dae.impulsive = false;
    eng_atoms_update(sim);
  }
  EngZenoVerdict zeno = ENG_ZENO_NONE;
  if (status >= 0) status = eng_zeno_check(sim, &zeno);
  if (zeno != ENG_ZENO_NONE) eng_active_complete(sim);
  if (status >= 0 && zeno == ENG_ZENO_EXIT) status = take_zeno_exit(sim);
  size_t states = sim->model->automaton_count * sizeof *sim->state;
  dwells |= memcmp(sim->state, sim->values.state_before, states) != 0;
  if (status >= 0 && dwells) status = eng_dwell_check(sim, &dwells);
  bool regrouped = false;
  bool settles = sim->core.contact.count > 0 || sim->contact.accumulating;
  if (ENG_UNLIKELY(status >= 0 && settles)) status = settle_contacts(sim, &regrouped, fired);
  if (status >= 0) trace_sliding(sim, fired);
  *fired |= regrouped;
  if (status >= 0) end_instant(sim, dwells || regrouped, changed);
  if (ENG_UNLIKELY(sim->active.reduced)) eng_reduced_end(sim);
  sim->instant.running = false;
  sim->contact.holds = false;
  if (*fired) sim->core.counts.instants++;
  bool audited = sim->model->energy || sim->core.mode->held_count > 0;
  if (ENG_UNLIKELY(status >= 0 && audited)) eng_audit_end(sim, kind == ENG_INSTANT_INITIAL);
  if (status >= 0) eng_warn_least(sim);
  eng_trace_end(sim);
  if (ENG_UNLIKELY(status < 0 && kind != ENG_INSTANT_INITIAL)) take_back(sim);
  if (ENG_UNLIKELY(sim->report.observer)) sim->report.observer->ends(sim->report.observer->user);
  sim->events.due_count = 0;
  sim->detect.crossing_count = 0;
  return status;
}
