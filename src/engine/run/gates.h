// SPDX-License-Identifier: MIT
//
// What stands in the way of every step and every instant, written out where it is used. Most of
// what the engine can do concerns few models: these functions ask whether there is anything to do
// before they call those that do it (`..._slow`). An event passes through a hundred
// of them.
#ifndef SALTUS_ENGINE_RUN_GATES_H
#define SALTUS_ENGINE_RUN_GATES_H

#ifndef SALTUS_ENGINE_RUN_RUN_H
#error "included by engine/run/run.h"
#endif

/// A condition that holds in few models: what follows from it is laid aside, so that the way of an
/// event through the code is short.
#define ENG_UNLIKELY(condition) __builtin_expect((condition) ? 1 : 0, 0)

static inline SltStatus eng_memory_check(EngSim* sim) {
  return ENG_UNLIKELY(sim->memory.lost) ? eng_memory_check_slow(sim) : SLT_OK;
}

/// What programs need besides registers.
static inline const ModelContext* eng_context(const EngSim* sim) {
  return &sim->values.context;
}

/// Whether the flow along surfaces has the reactions of closed contacts in it.
static inline bool eng_slide_has_reactions(const EngSim* sim) {
  return sim->core.slide.count && sim->core.slide.linked;
}

/// Whether nobody sees what is computed from the states in the present instant: then it is computed
/// when somebody asks (core.full_stale).
static inline bool eng_reduced_unseen(const EngSim* sim) {
  return sim->active.reduced && !sim->report.to.on_event && !sim->model->energy;
}

/// What an instant looks at: places in the mode's list of atoms, and automata.
static inline EngList eng_instant_atoms(const EngSim* sim) {
  const EngActiveSet* active = &sim->active;
  return active->reduced ? (EngList){active->followed, active->followed_count}
                         : (EngList){active->indicators, active->indicator_count};
}

static inline EngList eng_instant_automata(const EngSim* sim) {
  const EngActiveSet* active = &sim->active;
  return active->reduced ? (EngList){active->automata, active->automaton_count}
                         : (EngList){NULL, sim->model->automaton_count};
}

static inline uint32_t eng_nth(EngList list, uint32_t i) {
  return list.at ? list.at[i] : i;
}

/// The same for a state of the present mode.
static inline double eng_state_weight(const EngSim* sim, uint32_t state, double value) {
  if (ENG_UNLIKELY(sim->scales.mode != sim->core.mode)) return eng_other_weight(sim, state, value);
  double absolute = sim->stepper->atol[state];
  return (isfinite(absolute) ? absolute : 0.0) + sim->options.rtol * fabs(value);
}

/// Whether a glance tells that nothing of the automaton is enabled.
static inline bool eng_is_barred(const EngSim* sim, uint32_t automaton) {
  uint32_t gate = sim->instant.gates[sim->instant.gate_begin[automaton] + sim->state[automaton]];
  return gate != MODEL_NONE && sim->env[gate] == 0.0;
}

/// The n-th automaton that an instant looks at, in the order of the text where that is all of them.
static inline uint32_t events_nth_in_text(const EngSim* sim, EngList automata, uint32_t n) {
  if (automata.at) return automata.at[n];
  return sim->events.in_text ? sim->events.in_text[n] : n;
}

/// Whether surfaces that are slid along can come and go one by one.
static inline bool eng_slides_locally(const EngSim* sim) {
  return sim->core.slide.count && sim->core.slide.local;
}

/// From here on the instant looks at everything.
static inline void eng_active_complete(EngSim* sim) {
  if (ENG_UNLIKELY(sim->active.reduced)) eng_active_complete_slow(sim);
}

// ---- values and relations -----------------------------------------------------------------------

/// A state of a point, for programs that read few of them (ModelStateFn).
static inline double eng_point_state(const void* point, uint32_t state) {
  return ((const double*)point)[state];
}

/// Dense output of the trial into sim->x, unless a search has just put it there.
static inline void eng_states_at(EngSim* sim, double t) {
  if (sim->values.searching && sim->values.dense_t == t) return;
  if (t == sim->stepper->trial.t) {
    eng_states_at_end(sim);
    return;
  }
  num_dense_eval(sim->stepper, t, sim->x);
  sim->values.dense_t = t;
  sim->values.epoch++;
}

/// States into the environment.
static inline void eng_place_states(EngSim* sim, const double* x) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->state_count; i++)
    sim->env[mode->state_env[i]] = x[i];
}

static inline void eng_evaluate_gdot(EngSim* sim, double t) {
  sim->detect.gdot_epoch = 0;
  model_program_run(&sim->core.mode->gdot, eng_context(sim), sim->programs.gdot, t, sim->x,
                    sim->detect.gdot);
}

/// g (and gdot) of the mode's atoms from sim->x at time t.
static inline void eng_evaluate_g(EngSim* sim, double t, bool with_slope) {
  const ModelMode* mode = sim->core.mode;
  sim->detect.g_epoch = 0;
  // pre(x) means something in an instant only; while time flows it is x
  const ModelProgram* g = sim->instant.running ? &mode->g : &mode->g_flow;
  double* regs = sim->instant.running ? sim->programs.g : sim->programs.g_flow;
  model_program_run(g, eng_context(sim), regs, t, sim->x, sim->detect.g);
  if (with_slope) eng_evaluate_gdot(sim, t);
  sim->core.counts.guard_evaluations++;
}

/// The same on the trial, as far as a search has not just been there.
static inline void eng_g_at(EngSim* sim, double t, bool with_slope) {
  EngDetection* detect = &sim->detect;
  eng_states_at(sim, t);
  if (detect->g_epoch != sim->values.epoch) eng_evaluate_g(sim, t, false);
  detect->g_epoch = sim->values.epoch;
  if (!with_slope) return;
  if (detect->gdot_epoch != sim->values.epoch) eng_evaluate_gdot(sim, t);
  detect->gdot_epoch = sim->values.epoch;
}

/// Places of the atoms that are not at rest at a surface.
static inline EngList eng_followed(EngSim* sim) {
  if (ENG_UNLIKELY(sim->core.slide.count)) return eng_followed_slow(sim);
  return (EngList){sim->active.indicators, sim->active.indicator_count};
}

/// eng_evaluate_g() for these alone, where they are few.
static inline void eng_evaluate_followed(EngSim* sim, double t, bool with_slope) {
  if (ENG_UNLIKELY(sim->core.slide.count || sim->active.reduced)) {
    eng_evaluate_followed_slow(sim, t, with_slope);
  } else {
    eng_evaluate_g(sim, t, with_slope);
  }
}

static inline void eng_control_margin(EngSim* sim) {
  if (ENG_UNLIKELY(sim->core.margins.stale)) eng_control_margin_slow(sim);
}

static inline bool eng_impulse_truth(const EngSim* sim, uint32_t i, bool* truth) {
  return ENG_UNLIKELY(sim->dae.impulsive) && eng_impulse_truth_slow(sim, i, truth);
}

static inline void eng_warn_least(EngSim* sim) {
  if (ENG_UNLIKELY(sim->dae.least != MODEL_NONE)) eng_warn_least_slow(sim);
}

/// Whether and how the motion goes on along the surfaces that it stands at; `settled`: the mode is.
static inline SltStatus eng_slide_continue(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  *verdict = ENG_SLIDE_NONE;
  sim->instant.slide_decided = false;
  sim->core.slide.count = 0;
  return ENG_UNLIKELY(sim->detect.has_separating) ? eng_slide_continue_slow(sim, settled, verdict)
                                                  : SLT_OK;
}

static inline void eng_pruned_show(EngSim* sim, double t, const double* x) {
  if (ENG_UNLIKELY(sim->core.pruned.stale)) eng_pruned_show_slow(sim, t, x);
}

/// g and slope of all relations are known, or about to be computed; truths or arming may have
/// changed.
static inline void eng_pruned_forget(EngSim* sim) {
  sim->core.pruned.lazy = false;
  sim->core.pruned.stale = false;
  sim->pruning.stale = true;
}

/// Whether the motion goes along surfaces or on contacts.
static inline bool eng_is_held(const EngSim* sim) {
  return sim->core.slide.count || sim->core.contact.active;
}

// ---- automata -----------------------------------------------------------------------------------

/// Identity of the present product mode.
static inline uint64_t eng_mode_key(const EngSim* sim) {
  uint64_t key = 1;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    key = (key ^ sim->state[a]) * 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
  }
  return key;
}

/// Whether a switch inside a state's body has a say at present.
static inline bool eng_automaton_active(const EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  while (a->parent_automaton != MODEL_NONE) {
    if (sim->state[a->parent_automaton] != a->parent_state) return false;
    a = &sim->model->automata[a->parent_automaton];
  }
  return true;
}

/// Whether the automaton has to keep its state now.
static inline bool eng_dwells(const EngSim* sim, uint32_t automaton) {
  const EngChatter* c = &sim->instant.chatter[automaton];
  return sim->core.dwell.any && c->dwelling && sim->core.t < c->until;
}

/// End of the present dwell, INFINITY for none.
static inline double eng_dwell_end(const EngSim* sim) {
  return ENG_UNLIKELY(sim->core.dwell.any) ? sim->core.dwell.until : (double)INFINITY;
}

// ---- delays and time events ---------------------------------------------------------------------

static inline SltStatus eng_foreign_check(EngSim* sim) {
  return ENG_UNLIKELY(sim->foreign) ? eng_foreign_check_slow(sim) : SLT_OK;
}

/// Next time event: firing of an `at`, or arrival of a jump.
static inline double eng_queue_next(const EngSim* sim) {
  double t = sim->core.calendar.t_schedule;
  return ENG_UNLIKELY(sim->history.delays) ? fmin(t, eng_history_next_jump_slow(sim)) : t;
}

/// Whether a trial ends at the next time event. Earlier ones are handled as local events.
static inline bool eng_ends_at_event(const EngSim* sim, double t_end) {
  double next = eng_queue_next(sim);
  return next <= t_end && next >= t_end - num_time_resolution(t_end);
}

static inline SltStatus eng_run_due(EngSim* sim, bool late, uint32_t* iteration, bool* any) {
  return ENG_UNLIKELY(sim->events.due_count) ? eng_run_due_slow(sim, late, iteration, any) : SLT_OK;
}

// ---- local events -------------------------------------------------------------------------------

static inline void eng_local_prepare(EngSim* sim) {
  if (ENG_UNLIKELY(sim->local)) eng_local_prepare_slow(sim);
}

static inline void eng_local_settle_active(EngSim* sim) {
  if (ENG_UNLIKELY(sim->active.stale)) eng_local_settle_active_slow(sim);
  if (ENG_UNLIKELY(sim->core.local.behind)) eng_local_rejoin_slow(sim);
}

static inline void eng_local_forget_far(EngSim* sim) {
  if (ENG_UNLIKELY(sim->local)) eng_local_forget_far_slow(sim);
}

static inline void eng_local_show_far(EngSim* sim, double t, const double* x) {
  if (ENG_UNLIKELY(sim->local)) eng_local_show_far_slow(sim, t, x);
}

#endif
