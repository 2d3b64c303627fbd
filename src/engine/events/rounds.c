// SPDX-License-Identifier: MIT
//
// Rounds of transitions on committed values until nothing more is enabled, time events, and the
// question how the flow goes on from where they end.
#include "base/keys.h"
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

// ---- rounds -------------------------------------------------------------------------------------

/// One round on committed values; `fired` false when nothing is enabled.
static SltStatus run_round(EngSim* sim, uint64_t mode_key, uint32_t* iteration, bool* fired) {
  Events* events = &sim->events;
  const ModelMode* from = sim->core.mode;
  *fired = false;
  events_begin_round(sim);
  if (events->quiet) return SLT_OK;
  uint32_t first_record = eng_trace_count(sim);
  if (!events->looked) events_gather(sim, eng_instant_automata(sim));
  events->looked = false;
  uint32_t switches = events->fired_count;
  uint32_t chosen = events_enabled_choose(sim, sim->model->automaton_count);
  memset(events->fired_switch + switches, false, chosen);
  events->fired_count += chosen;
  if (events->one_by_one && events->fired_count > 1) events->fired_count = 1;
  if (events->fired_count == 0) return SLT_OK;
  *fired = true;
  if (sim->core.full_stale) eng_evaluate_full(sim, sim->core.t);
  if (!sim->detect.has_pre) events_save_values(sim);
  memset(sim->values.given, 0, sim->model->env_count);
  bool stays = switches == 0;
  for (uint32_t i = 0; i < events->fired_count; i++) {
    uint32_t id = events->fired[i];
    if (events->fired_switch[i]) {
      eng_fire_switch(sim, id, *iteration);
      continue;
    }
    const ModelTransition* t = &sim->model->transitions[id];
    if (t->to != sim->state[t->automaton]) stays = false;
    SLT_TRY(eng_fire_transition(sim, id, *iteration));
  }
  // self loops alone leave the mode as it is: that is no repetition
  const BaseKey* again = NULL;
  base_keys_reset(&events->tried);
  uint64_t key = mode_key + events->round_key;
  if (!stays) SLT_TRY(eng_keys_add(sim, &events->tried, key, 0, &again));
  return events_settle(sim, from, first_record, iteration);
}

/// Nothing more follows from the pulses of the committed values: from here on forces are finite,
/// and what they say is asked in a round of its own. (A tip that was stopped by a pulse may be
/// pulled off its floor at once by the rotation it was left with.)
static void pulse_is_over(EngSim* sim) {
  sim->dae.impulsive = false;
  sim->events.quiet = false;
  eng_atoms_update(sim);
}

SltStatus events_comes_back(EngSim* sim, bool* back) {
  Events* events = &sim->events;
  uint64_t key = events->mode_key + events->values_key;
  const BaseKey* again = NULL;
  SLT_TRY(eng_keys_add(sim, &events->path, key, sim->core.changes, &again));
  *back = again && again->note == sim->core.changes;
  return again && !*back ? events_check_repetition(sim, key) : SLT_OK;
}

/// Rounds until nothing is enabled. `undecided`: they lead back to a mode with nothing changed.
static SltStatus run_rounds(EngSim* sim, uint32_t* iteration, bool* any, bool* undecided) {
  Events* events = &sim->events;
  bool back = false;
  events->quiet = false;
  *undecided = false;
  base_keys_reset(&events->path);
  SLT_TRY(events_comes_back(sim, &back));
  if (ENG_UNLIKELY(sim->local)) SLT_TRY(eng_local_rounds_slow(sim, iteration, any, undecided));
  if (!events->looked) events_enabled_clear(sim);
  if (*undecided) return SLT_OK;
  uint64_t key = sim->events.mode_key;
  for (;;) {
    bool fired = false;
    SLT_TRY(run_round(sim, key, iteration, &fired));
    if (!fired && !sim->dae.impulsive) return SLT_OK;
    if (!fired) {
      pulse_is_over(sim);
      continue;
    }
    *any = true;
    uint64_t before = key;
    uint64_t values = events->round_key;
    key = sim->events.mode_key;
    if (key == before && events->values_key == values) continue;  // self loops that assign nothing
    SLT_TRY(events_comes_back(sim, &back));
    if (!back) continue;
    if (sim->dae.decides) {
      // where complementary states led back to is where they hold: the crossing was only touched
      sim->dae.decides = false;
      continue;
    }
    *undecided = events->one_by_one || !events->rejected_together;
    if (*undecided) return SLT_OK;
    // what rejects a mode together may lead past the one that holds, for ever: one after the other
    events->one_by_one = true;
    base_keys_reset(&events->path);
    SLT_TRY(events_comes_back(sim, &back));
  }
}

// ---- going on from surfaces ---------------------------------------------------------------------

/// Take over the states in probe.states; every change is a record.
static SltStatus move_to_side(EngSim* sim, uint32_t iteration) {
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (sim->state[a] == sim->probe.states[a]) continue;
    // where the flow leads from the start is where the run begins
    if (!sim->instant.at_start)
      eng_trace_flow(sim, a, sim->state[a], sim->probe.states[a], iteration);
    events_enter_state(sim, a, sim->probe.states[a]);
  }
  eng_slide_move_flags(sim);
  sim->dae.from = sim->core.mode;
  memset(sim->values.given, 0, sim->model->env_count);
  eng_trace_settling(sim);
  SLT_TRY(eng_enter_mode(sim));
  eng_atoms_update(sim);
  return SLT_OK;
}

/// Whether something fires at the surface that was reached and takes no part in the motion: a
/// counter counts before it is asked how the flow goes on.
static bool observer_is_enabled(EngSim* sim) {
  return sim->detect.has_separating && sim->events.has_observers &&
         sim->detect.crossing_count > 0 && events_any_enabled(sim, eng_only_observes);
}

SltStatus events_run_to_rest(EngSim* sim, uint32_t* iteration, bool* any) {
  for (;;) {
    // where the flows on both sides point at the surface nothing fires: the motion goes along it
    EngSlideVerdict verdict = ENG_SLIDE_NONE;
    if (!observer_is_enabled(sim)) SLT_TRY(eng_slide_continue(sim, false, &verdict));
    bool undecided = false;
    bool fired = false;
    SLT_TRY(run_rounds(sim, iteration, &fired, &undecided));
    *any |= fired;
    if (!fired && verdict == ENG_SLIDE_ALONG) return SLT_OK;
    SLT_TRY(eng_slide_continue(sim, true, &verdict));
    if (verdict != ENG_SLIDE_MOVES) {
      bool goes_on = !undecided || verdict == ENG_SLIDE_ALONG || sim->instant.slide_decided;
      if (goes_on || eng_dwell_undecided(sim)) return SLT_OK;
      if (!sim->instant.at_start) return eng_endless(sim);
      // as written the guards contradict each other at the start: from here on the flow decides
      sim->instant.at_start = false;
      base_keys_reset(&sim->events.path);
      eng_atoms_update(sim);
      continue;
    }
    if (!sim->instant.at_start) eng_trace_boundary(sim);
    *any = true;
    sim->core.slide.count = 0;
    SLT_TRY(events_next_round(sim));
    SLT_TRY(move_to_side(sim, ++*iteration));
  }
}

SltStatus events_leave_surface(EngSim* sim, bool* any) {
  sim->core.exit.pending = false;
  *any = true;
  eng_slide_leave(sim, sim->core.exit.surface, sim->core.exit.above);
  return move_to_side(sim, 0);
}

// ---- time events --------------------------------------------------------------------------------

/// What an `at` assigns belongs to no candidate, and stays when one is rejected.
static SltStatus assign_scheduled(EngSim* sim, const ModelSchedule* schedule, uint32_t record) {
  EngGroup group = {schedule->action_begin, schedule->action_count, MODEL_NONE, record};
  SLT_TRY(events_queue_group(sim, group));
  return events_assign(sim);
}

/// What an `at` assigns comes first, then what the states assign that it enters, in the order of
/// the text: each reads what was assigned before it.
static SltStatus run_schedule(EngSim* sim, uint32_t index, uint32_t* iteration) {
  const ModelSchedule* schedule = &sim->model->schedules[index];
  const ModelMode* from = sim->core.mode;
  events_save_values(sim);
  events_begin_round(sim);
  base_keys_reset(&sim->events.tried);
  sim->events.fired_count = 0;
  uint32_t first_record = eng_trace_count(sim);
  memset(sim->values.given, 0, sim->model->env_count);
  if (schedule->goto_count == 0) {
    uint32_t record =
        eng_trace_schedule(sim, index, MODEL_NONE, MODEL_NONE, MODEL_NONE, *iteration);
    SLT_TRY(assign_scheduled(sim, schedule, record));
  }
  for (uint32_t i = 0; i < schedule->goto_count; i++) {
    uint32_t a = schedule->gotos[i].automaton;
    uint32_t to = schedule->gotos[i].state;
    const ModelState* state = &sim->model->automata[a].states[to];
    uint32_t record = eng_trace_schedule(sim, index, a, sim->state[a], to, *iteration);
    if (i == 0) SLT_TRY(assign_scheduled(sim, schedule, record));
    if (events_reads_computed(sim, state->action_begin, state->action_count))
      SLT_TRY(events_follow_assigned(sim, *iteration));
    SLT_TRY(events_note_move(sim, a));
    events_enter_state(sim, a, to);
    EngGroup group = {state->action_begin, state->action_count, a, record};
    SLT_TRY(events_queue_group(sim, group));
    SLT_TRY(events_assign(sim));
  }
  if (schedule->stops) {
    sim->core.stop_wanted = true;
    sim->instant.stop_text = schedule->stop_text;
    sim->instant.stop_span = schedule->span;
  }
  return events_settle(sim, from, first_record, iteration);
}

SltStatus eng_run_due_slow(EngSim* sim, bool late, uint32_t* iteration, bool* any) {
  uint32_t first = 0;
  if (!late && sim->local) SLT_TRY(eng_local_due_slow(sim, &first, iteration));
  *any |= first > 0;
  for (uint32_t i = first; i < sim->events.due_count; i++) {
    if ((sim->model->schedules[sim->events.due[i]].priority < 0) != late) continue;
    SLT_TRY(run_schedule(sim, sim->events.due[i], iteration));
    *any = true;
  }
  return SLT_OK;
}
