// SPDX-License-Identifier: MIT
//
// What stands in the way of every step and every instant, written out where it is used. Most of
// what the engine can do concerns few models: these functions ask whether there is anything to do
// before they call those that do it (`..._now`, see internal.h). An event passes through a hundred
// of them.
#ifndef SALTUS_ENGINE_GATES_H
#define SALTUS_ENGINE_GATES_H

#ifndef SALTUS_ENGINE_INTERNAL_H
#error "included by engine/internal.h"
#endif

/// A condition that holds in few models: what follows from it is laid aside, so that the way of an
/// event through the code is short.
#if defined(__GNUC__)
#define ENG_SELDOM(condition) __builtin_expect((condition) ? 1 : 0, 0)
#else
#define ENG_SELDOM(condition) (condition)
#endif

/// Nominal of the variable at a place of the environment.
static inline double eng_nominal(const EngSim* sim, uint32_t env) {
  return sim->env_nominal ? sim->env_nominal[env] : 1.0;
}

// ---- values and relations -----------------------------------------------------------------------

/// Dense output of the trial into sim->x, unless a search has just put it there.
static inline void eng_states_at(EngSim* sim, double t) {
  if (sim->searching && sim->dense_t == t) return;
  num_dense_eval(sim->stepper, t, sim->x);
  sim->dense_t = t;
}

static inline void eng_evaluate_gdot(EngSim* sim, double t) {
  model_program_run(&sim->core.mode->gdot, eng_context(sim), sim->gdot_regs, t, sim->x, sim->gdot);
}

/// g (and gdot) of the mode's atoms from sim->x at time t.
static inline void eng_evaluate_g(EngSim* sim, double t, bool with_slope) {
  const ModelMode* mode = sim->core.mode;
  // pre(x) means something in an instant only; while time flows it is x
  const ModelProgram* g = sim->in_instant ? &mode->g : &mode->g_flow;
  double* regs = sim->in_instant ? sim->g_regs : sim->g_flow_regs;
  model_program_run(g, eng_context(sim), regs, t, sim->x, sim->g);
  if (with_slope) eng_evaluate_gdot(sim, t);
  sim->core.guard_evaluations++;
}

/// Places of the atoms that are not at rest at a surface.
static inline const uint32_t* eng_loose(EngSim* sim, uint32_t* count) {
  if (ENG_SELDOM(sim->core.slide.count)) return eng_loose_now(sim, count);
  *count = sim->active_count;
  return sim->active;
}

/// eng_evaluate_g() for these alone, where they are few.
static inline void eng_evaluate_loose(EngSim* sim, double t, bool with_slope) {
  if (ENG_SELDOM(sim->core.slide.count || sim->narrow)) {
    eng_evaluate_loose_now(sim, t, with_slope);
  } else {
    eng_evaluate_g(sim, t, with_slope);
  }
}

static inline void eng_control_margin(EngSim* sim) {
  if (ENG_SELDOM(sim->core.margin_stale)) eng_control_margin_now(sim);
}

static inline double eng_extrapolate(EngSim* sim) {
  return ENG_SELDOM(sim->extrapolates) ? eng_extrapolate_now(sim) : (double)INFINITY;
}

static inline bool eng_impulse_truth(const EngSim* sim, uint32_t i, bool* truth) {
  return ENG_SELDOM(sim->dae.impulsive) && eng_impulse_truth_now(sim, i, truth);
}

static inline void eng_warn_least(EngSim* sim) {
  if (ENG_SELDOM(sim->dae.least != MODEL_NONE)) eng_warn_least_now(sim);
}

/// Whether and how the motion goes on along the surfaces that it stands at; `settled`: the mode is.
static inline SltStatus eng_slide_continue(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  *verdict = ENG_SLIDE_NONE;
  sim->slide_decided = false;
  sim->core.slide.count = 0;
  return ENG_SELDOM(sim->has_separating) ? eng_slide_continue_now(sim, settled, verdict) : SLT_OK;
}

/// At a mesh point: whether the motion has come to a surface that holds it, though nothing crosses.
static inline bool eng_slide_reached(EngSim* sim) {
  return ENG_SELDOM(sim->has_separating) && eng_slide_reached_now(sim);
}

static inline bool eng_far_find(EngSim* sim, double t_from) {
  return ENG_SELDOM(sim->has_bounds) && eng_far_find_now(sim, t_from);
}

/// False when the trial was not one on which relations were passed over.
static inline bool eng_far_mesh(EngSim* sim) {
  if (!sim->core.far_lazy) return false;
  eng_far_mesh_now(sim);
  return true;
}

static inline void eng_far_show(EngSim* sim, double t, const double* x) {
  if (ENG_SELDOM(sim->core.far_stale)) eng_far_show_now(sim, t, x);
}

/// g and slope of all relations are known, or about to be computed; truths or arming may have
/// changed.
static inline void eng_far_forget(EngSim* sim) {
  sim->core.far_lazy = false;
  sim->core.far_stale = false;
  sim->fences_stale = true;
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
  const EngChatter* c = &sim->chatter[automaton];
  return sim->core.dwelling && c->dwelling && sim->core.t < c->until;
}

/// End of the present dwell, INFINITY for none.
static inline double eng_dwell_end(const EngSim* sim) {
  return ENG_SELDOM(sim->core.dwelling) ? sim->core.dwell_until : (double)INFINITY;
}

static inline void eng_dwell_release(EngSim* sim) {
  if (ENG_SELDOM(sim->core.dwelling)) eng_dwell_release_now(sim);
}

// ---- delays and time events ---------------------------------------------------------------------

static inline SltStatus eng_past_append(EngSim* sim, double t) {
  return ENG_SELDOM(sim->pasts) ? eng_past_append_now(sim, t) : SLT_OK;
}

static inline void eng_past_instant(EngSim* sim, bool changed) {
  if (ENG_SELDOM(sim->pasts)) eng_past_instant_now(sim, changed);
}

static inline double eng_past_next_jump(const EngSim* sim) {
  return ENG_SELDOM(sim->pasts) ? eng_past_next_jump_now(sim) : (double)INFINITY;
}

static inline double eng_past_limit(const EngSim* sim) {
  return ENG_SELDOM(sim->pasts) ? eng_past_limit_now(sim) : (double)INFINITY;
}

static inline void eng_past_pass(EngSim* sim, double t) {
  if (ENG_SELDOM(sim->pasts)) eng_past_pass_now(sim, t);
}

static inline bool eng_past_arrive(EngSim* sim, double t, bool* jumped) {
  return ENG_SELDOM(sim->pasts) && eng_past_arrive_now(sim, t, jumped);
}

/// Next time event: firing of an `at`, or arrival of a jump.
static inline double eng_queue_next(const EngSim* sim) {
  return fmin(sim->core.t_schedule, eng_past_next_jump(sim));
}

static inline SltStatus eng_run_due(EngSim* sim, bool late, uint32_t* iteration, bool* any) {
  return ENG_SELDOM(sim->events.due_count) ? eng_run_due_now(sim, late, iteration, any) : SLT_OK;
}

// ---- local events -------------------------------------------------------------------------------

static inline void eng_local_prepare(EngSim* sim) {
  if (ENG_SELDOM(sim->local)) eng_local_prepare_now(sim);
}

static inline void eng_local_collect(EngSim* sim) {
  if (ENG_SELDOM(sim->local)) eng_local_collect_now(sim);
}

static inline bool eng_local_next(EngSim* sim) {
  return ENG_SELDOM(sim->core.local) && eng_local_next_now(sim);
}

static inline bool eng_local_event(EngSim* sim, bool* restart) {
  return ENG_SELDOM(sim->core.local) && eng_local_event_now(sim, restart);
}

static inline SltStatus eng_local_rounds(EngSim* sim, uint32_t* iteration, bool* any, bool* back) {
  return ENG_SELDOM(sim->local) ? eng_local_rounds_now(sim, iteration, any, back) : SLT_OK;
}

static inline void eng_local_settle_active(EngSim* sim) {
  if (ENG_SELDOM(sim->active_stale)) eng_local_settle_active_now(sim);
}

static inline bool eng_local_detect(EngSim* sim, double t_from, bool* found) {
  return ENG_SELDOM(sim->local) && eng_local_detect_now(sim, t_from, found);
}

static inline bool eng_local_mesh(EngSim* sim) {
  return ENG_SELDOM(sim->core.local_lazy) && eng_local_mesh_now(sim);
}

static inline void eng_local_forget_far(EngSim* sim) {
  if (ENG_SELDOM(sim->local)) eng_local_forget_far_now(sim);
}

static inline void eng_local_show_far(EngSim* sim, double t, const double* x) {
  if (ENG_SELDOM(sim->local)) eng_local_show_far_now(sim, t, x);
}

static inline void eng_local_sync(EngSim* sim) {
  if (ENG_SELDOM(sim->core.local)) eng_local_sync_now(sim);
}

#endif
