// SPDX-License-Identifier: MIT
//
// A run from its start on: asking for time, finishing segments, writing from outside.
#include "engine/run/run.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FIRST_STEP 8.0  // longest first step after an event, in distances from the event before

/// Whether the mode that was left had the same states, and, if asked, the same values of them.
static bool same_states(const EngSim* sim, bool values) {
  const ModelMode* before = sim->core.mode_before;
  const ModelMode* mode = sim->core.mode;
  if (before->state_count != mode->state_count) return false;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    uint32_t env = mode->state_env[i];
    if (before->state_env[i] != env) return false;
    if (values && sim->values.before[env] != sim->env[env]) return false;
  }
  return true;
}

/// The motion begins in another mode: with the step size that its first step proposed last time.
/// The one of the mode that is left says little where the modes have time scales of their own:
/// trials would be rejected, or steps grow from too short ones, at every change.
static void recall_step_size(EngSim* sim) {
  EngCore* core = &sim->core;
  uint64_t key = eng_mode_key(sim);
  core->step.place = (uint32_t)(key >> 32) % ENG_STEP_MEMORY;
  EngStepMemory* memory = &core->step.memory[core->step.place];
  if (memory->mode != key) *memory = (EngStepMemory){.mode = key, .h = 0.0};
  if (memory->h > 0.0 && core->mode->state_count > 0) sim->stepper->control.h_next = memory->h;
}

/// A step was made, or a part of one.
static void note_step_size(EngSim* sim) {
  if (!sim->core.step.open) return;
  sim->core.step.open = false;
  sim->core.step.memory[sim->core.step.place].h = sim->stepper->control.h_next;
}

/// Whether the equations have values at the integrator's point.
static bool has_values(EngSim* sim) {
  const double* f = NULL;
  return num_stepper_derivative(sim->stepper, &f) >= 0 && eng_all_finite(f, sim->stepper->n);
}

/// Let the integrator go on from the environment's values.
static void restart_integration(EngSim* sim) {
  sim->core.local.running = false;
  NumStepper* stepper = sim->stepper;
  eng_bind_again(sim);
  if (sim->core.mode != sim->core.mode_before) {
    if (!same_states(sim, false)) eng_scales_enter(sim);
    recall_step_size(sim);
  }
  sim->core.step.open = true;
  sim->core.step.idle = 0.0;
  sim->core.step.attraction = 0.0;
  num_stepper_restart(stepper, sim->core.t, sim->core.mode->state_count, sim->x, NULL);
  eng_choose_stages(sim);
  sim->core.segment.trial_pending = false;
  // A crossing is located up to rounding, so the point may lie just before the region in which
  // the equations that were entered have values; the motion was on its way there.
  sim->core.step.nudged = !sim->core.step.to_limit && stepper->trial.dense_ready &&
                          !has_values(sim) && same_states(sim, true);
  if (sim->core.step.nudged) num_dense_derivative(stepper, sim->core.t, sim->values.tangent);
}

SltStatus eng_start(EngSim* sim) {
  if (sim->core.started) return SLT_ERR_ARGUMENT;
  sim->core.started = true;
  sim->core.t = sim->options.t_start;
  sim->core.mesh_t = sim->core.t;
  sim->core.stall.t = sim->core.t;
  sim->core.stall.last = -(double)INFINITY;
  sim->core.step.instant_t = sim->core.t;
  model_random_seed(&sim->core.random, sim->options.seed, 0);
  SltStatus status = sim->foreign ? eng_foreign_open_slow(sim) : SLT_OK;
  if (status >= 0) status = eng_init_values(sim);
  sim->dae.initial = true;
  sim->dae.tentative = true;
  sim->dae.from = NULL;
  if (status >= 0) status = eng_history_start(sim);
  if (status >= 0) status = eng_enter_mode(sim);
  if (status >= 0) status = eng_dae_follow_starts(sim);
  if (status >= 0) status = eng_queue_init(sim);
  bool changed = false;
  bool fired = false;
  if (status >= 0) status = eng_queue_take(sim, sim->core.t);
  if (status >= 0) status = eng_instant(sim, ENG_INSTANT_INITIAL, &changed, &fired);
  if (status >= 0) status = eng_memory_check(sim);
  bool derivative = false;
  const ModelVar* lost = status < 0 ? NULL : eng_not_finite(sim, &derivative);
  if (status < 0 || lost) {
    sim->core.failed = true;
    SLT_TRY(eng_foreign_check(sim));
    if (status < 0) return status;
    if (eng_fail_solve(sim)) return sim->error.status;
    EngCulprit culprit = eng_culprit(sim, sim->core.t, &lost->span);
    eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0802, &culprit.span,
             "at the start %s '%.*s' is not a finite number%s",
             derivative ? "the derivative of" : "the value of", STR_ARGS(lost->name), culprit.text);
    return eng_hint(sim,
                    "check the initial values: a division by zero, or a root or logarithm of a "
                    "negative number");
  }
  events_warn_of_absent_starts(sim);
  eng_bind(sim);
  if (sim->model->schedule_count > 0) eng_local_prepare(sim);
  eng_scales_enter(sim);
  num_stepper_start(sim->stepper, sim->core.t, sim->core.mode->state_count, sim->x, NULL);
  recall_step_size(sim);
  // before the first event the values before it are the initial ones
  memcpy(sim->values.before, sim->env, sim->model->env_count * sizeof(double));
  memcpy(sim->values.state_before, sim->state, sim->model->automaton_count * sizeof *sim->state);
  sim->core.mode_before = sim->core.mode;
  return sim->core.ended ? SLT_END : SLT_OK;
}

/// Events that follow each other ever faster stop time: report it instead of running for ever.
static SltStatus check_progress(EngSim* sim) {
  EngCore* core = &sim->core;
  if (sim->options.max_events && core->counts.instants > sim->options.max_events) {
    return eng_fail(sim, SLT_ERR_LIMIT, DIAG_E0806, NULL, "the limit of %s events is reached",
                    eng_number((double)sim->options.max_events).text);
  }
  double elapsed = fmax(core->t - sim->options.t_start, eng_horizon(sim));
  if (core->t - core->stall.t > fmax(ENG_STALL_SPAN * elapsed, DBL_EPSILON * fabs(core->t))) {
    core->stall.t = core->t;
    core->stall.count = 0;
  }
  if (++core->stall.count < ENG_STALL_INSTANTS) return SLT_OK;
  char mode[400];
  eng_describe_mode(sim, sim->state, mode, sizeof mode);
  eng_fail(sim, SLT_ERR_ZENO, DIAG_E0807, NULL,
           "events accumulate at t = %s: %s of them without time going on (mode %s)",
           eng_number(core->t).text, eng_number(core->stall.count).text, mode);
  return eng_hint(sim, "the model needs a state for what happens then, e.g. a ball at rest");
}

/// Give the part of the trial that lies behind us to the integrator.
static SltStatus commit_trial(EngSim* sim) {
  if (!sim->core.segment.trial_pending) return SLT_OK;
  sim->core.segment.trial_pending = false;
  // an event at the very point where the trial begins leaves nothing to commit
  if (sim->core.t <= sim->stepper->trial.t0) return SLT_OK;
  SltStatus status = SLT_OK;
  if (sim->core.t >= sim->stepper->trial.t) {
    num_stepper_accept(sim->stepper);
  } else {
    status = num_stepper_accept_until(sim->stepper, sim->core.t);
  }
  note_step_size(sim);
  if (sim->costs.on) eng_costs_step(sim);
  return status;
}

/// The same where the integration begins anew at the present point.
static void leave_trial(EngSim* sim) {
  if (!sim->core.segment.trial_pending) return;
  sim->core.segment.trial_pending = false;
  if (!(sim->core.t > sim->stepper->trial.t0)) return;
  const ModelMode* left = sim->core.mode_before;
  double* x = sim->pruning.x_lo;
  for (uint32_t i = 0; i < left->state_count; i++) {
    x[i] = sim->values.before[left->state_env[i]];
  }
  num_stepper_leave(sim->stepper, sim->core.t, x);
  note_step_size(sim);
}

SltStatus eng_instant_here(EngSim* sim, EngInstantKind kind, bool* fired) {
  bool changed = false;
  bool limit = sim->core.step.to_limit;
  SLT_TRY(eng_instant(sim, kind, &changed, fired));
  if (limit) sim->core.step.to_limit = false;  // it is reached, or something else came before
  eng_local_prepare(sim);
  if (*fired) {
    sim->core.step.first_bound = FIRST_STEP * (sim->core.t - sim->core.step.instant_t);
    sim->core.step.instant_t = sim->core.t;
  }
  // one that fires nothing, and leads back to itself without time passing, is no progress either
  bool stands = sim->core.t == sim->core.stall.last;
  sim->core.stall.last = sim->core.t;
  if (*fired || stands) SLT_TRY(check_progress(sim));
  if (changed || kind == ENG_INSTANT_INPUT) {
    leave_trial(sim);
    eng_order_instant(sim);
    restart_integration(sim);
    if (ENG_UNLIKELY(sim->foreign)) eng_foreign_instant_slow(sim);
  } else if (sim->core.segment.whole) {
    SLT_TRY(commit_trial(sim));
  }
  return SLT_OK;
}

/// Values at the end of a segment. Equations may have none on the far side of the crossing they are
/// left for (sqrt(h) of a level just below zero): then what follows from the states is as it was
/// just before.
static void sample_end(EngSim* sim) {
  double t = sim->core.t;
  // the search for the event has been here already
  bool there = sim->values.sampled && sim->values.sampled_t == t && !sim->core.full_stale;
  if (!there) eng_sample(sim, t);
  sim->values.sampled = false;
  if (!sim->core.segment.event || sim->detect.crossing_count == 0) return;
  if (eng_all_finite(sim->values.full, sim->core.mode->full.output_count)) return;
  eng_sample(sim, sim->detect.crossings[0].lo);
  num_dense_eval(sim->stepper, t, sim->x);
  eng_place_states(sim, sim->x);
}

/// What no state depends on may lose its values without stopping the run: say so once.
void eng_warn_of_values(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (!sim->report.to.on_warning || sim->values.warned) return;
  if (eng_all_finite(sim->values.full, mode->full.output_count)) return;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    if (var->hidden || mode->vars[v].role == MODEL_ROLE_UNDETERMINED) continue;
    if (isfinite(sim->env[var->env])) continue;
    sim->values.warned = true;
    bool empty = isnan(sim->env[var->env]);
    eng_warn(sim, DIAG_W0810, var->span, "at t = %s '%.*s' %s while that lasts",
             eng_number(sim->core.t).text, (int)(var->name.length < 100 ? var->name.length : 100),
             var->name.data,
             empty ? "is not a finite number; its cells stay empty"
                   : "is infinite; its cells say so");
    return;
  }
}

/// Whether the segment is a plain step, and nothing has to be computed from the states before
/// somebody asks: in a mode in which states are all there is, or along surfaces where nobody
/// waits for a warning about values that are not finite.
static bool is_plain_step(const EngSim* sim, bool along) {
  const EngCore* core = &sim->core;
  if (core->segment.event || core->segment.due || core->contact.active) return false;
  if (sim->detect.has_auxiliary || along != (core->slide.count > 0)) return false;
  if (along) {
    bool unobserved = !sim->report.to.on_warning || sim->values.warned;
    return core->slide.mixed && core->slide.by_value && unobserved;
  }
  return core->mode->implicit ? core->mode->implicit->lean : sim->programs.only_states;
}

/// Values at the end of the segment into the environment.
static SltStatus publish_end(EngSim* sim) {
  if (is_plain_step(sim, false)) {
    eng_take_trial_end(sim);
    return SLT_OK;
  }
  SLT_TRY(num_dense_prepare(sim->stepper));
  if (is_plain_step(sim, true)) {
    eng_sample_states(sim, sim->core.t);
    sim->values.sampled = false;
    return SLT_OK;
  }
  sample_end(sim);
  eng_warn_of_values(sim);
  if (ENG_UNLIKELY(sim->core.mode->implicit || sim->core.slide.count)) eng_dae_guess(sim);
  return SLT_OK;
}

/// Values were written from outside: guards that hold now fire now.
static SltStatus take_inputs(EngSim* sim, bool* fired) {
  sim->core.touched = false;
  sim->detect.crossing_count = 0;
  sim->dae.from = sim->core.mode;
  memset(sim->values.given, 0, sim->model->env_count);
  SLT_TRY(eng_enter_mode(sim));
  return eng_instant_here(sim, ENG_INSTANT_INPUT, fired);
}

/// Foreign blocks are told of a step, and may ask for an event.
static SltStatus foreign_step(EngSim* sim, bool* fired) {
  bool wants = false;
  SLT_TRY(eng_foreign_step_slow(sim, &wants));
  return wants ? take_inputs(sim, fired) : SLT_OK;
}

/// Time has come to the end of the segment.
static SltStatus finish_segment(EngSim* sim, bool* fired) {
  EngCore* core = &sim->core;
  *fired = false;
  core->t = core->segment.t1;
  core->segment.valid = false;
  if (ENG_UNLIKELY(sim->history.delays)) {
    SLT_TRY(eng_history_append_slow(sim, core->t));
    eng_history_pass_slow(sim, core->t);
    // a step as long as a delay ends where what jumped at its begin arrives
    core->segment.due |= eng_history_next_jump_slow(sim) <= core->t;
  }
  bool restart = false;
  bool instant = core->segment.event || core->segment.due;
  if (core->segment.due) SLT_TRY(eng_queue_take(sim, core->t));
  if (instant && core->local.running && eng_local_event_slow(sim, &restart)) {
    *fired = true;
    if (restart) {
      SLT_TRY(commit_trial(sim));
      restart_integration(sim);
    }
    return check_progress(sim);
  }
  eng_local_settle_active(sim);
  SLT_TRY(publish_end(sim));
  if (core->local.running && instant) eng_local_sync_slow(sim);
  eng_warn_least(sim);
  if (instant) {
    if (!core->segment.event) sim->detect.crossing_count = 0;
    return eng_instant_here(sim, ENG_INSTANT_EVENT, fired);
  }
  if (ENG_UNLIKELY(core->local.lazy)) {
    eng_local_mesh_slow(sim);
  } else if (ENG_UNLIKELY(core->pruned.lazy)) {
    eng_pruned_mesh_slow(sim);
  } else {
    eng_atoms_mesh(sim);
  }
  core->mesh_t = core->t;
  sim->detect.crossing_count = 0;
  // auxiliary relations are looked at here and nowhere else
  bool looks = sim->detect.has_auxiliary && eng_anything_enabled(sim);
  if (looks) return eng_instant_here(sim, ENG_INSTANT_EVENT, fired);
  SLT_TRY(commit_trial(sim));
  return ENG_UNLIKELY(sim->foreign) ? foreign_step(sim, fired) : SLT_OK;
}

static SltStatus fail_advance(EngSim* sim, SltStatus status) {
  sim->core.failed = true;
  SLT_TRY(eng_foreign_check(sim));
  if (sim->error.status >= 0 && status != SLT_ERR_CANCELLED) {
    eng_fail(sim, status, DIAG_E0802, NULL, "the step at t = %s failed: %s",
             eng_number(sim->core.t).text, slt_status_text(status));
  }
  return status;
}

SltStatus eng_leave_boundaries(EngSim* sim, bool* fired) {
  sim->core.leaves = false;
  *fired = false;
  if (!eng_atoms_leave(sim)) return SLT_OK;
  sim->core.segment.valid = false;
  SltStatus status = eng_instant_here(sim, ENG_INSTANT_EVENT, fired);
  sim->core.leaves |= *fired;  // other flows may take other relations off
  return status;
}

/// Between steps: programs of the mode may be given compiled code. Never changes a bit.
static void tune(EngSim* sim) {
  uint64_t count = sim->stepper->counters.rhs;
  uint64_t more = count > sim->programs.tune_seen ? count - sim->programs.tune_seen : 0;
  bool stiff = sim->stepper->method->stiff && sim->stiff.ready;
  uint64_t wait = sim->provider.tune(sim->provider.tuner, sim->core.mode,
                                     stiff ? sim->stiff.present : NULL, more);
  sim->programs.tune_seen = count;
  sim->programs.tune_at = wait < UINT64_MAX - count ? count + wait : UINT64_MAX;
  sim->programs.slot->tuned = wait == UINT64_MAX && sim->programs.slot->mode == sim->core.mode;
}

/// The next stretch of motion without an instant inside.
static SltStatus begin_segment(EngSim* sim) {
  if (sim->report.to.on_step && sim->report.to.on_step(sim->report.to.step_user, sim->core.t))
    return SLT_ERR_CANCELLED;
  if (ENG_UNLIKELY(sim->report.creep.count++ >= sim->report.creep.next)) eng_creep_look(sim);
  if (sim->provider.tune && sim->stepper->counters.rhs >= sim->programs.tune_at) tune(sim);
  SltStatus status = eng_next_segment(sim);
  if (status >= 0) status = eng_memory_check(sim);
  if (status >= 0) return SLT_OK;
  status = fail_advance(sim, status);
  // detection left the environment at a later point: show the one the motion has reached
  if (num_dense_covers(sim->stepper, sim->core.t)) eng_sample_states(sim, sim->core.t);
  return status;
}

SltStatus eng_ahead(EngSim* sim, double* until) {
  EngCore* core = &sim->core;
  *until = core->t;
  if (!core->started || core->failed || core->touched) return SLT_ERR_ARGUMENT;
  if (core->ended) return SLT_END;
  bool fired = false;
  SltStatus status = core->leaves ? eng_leave_boundaries(sim, &fired) : SLT_OK;
  if (status < 0) return fail_advance(sim, status);
  if (core->ended || fired) return core->ended ? SLT_END : SLT_EVENT;
  if (!core->segment.valid) SLT_TRY(begin_segment(sim));
  status = num_dense_prepare(sim->stepper);
  if (status < 0) return fail_advance(sim, status);
  *until = core->segment.t1;
  return SLT_OK;
}

SltStatus eng_look(EngSim* sim, double t) {
  EngCore* core = &sim->core;
  if (!core->segment.valid || !(t >= core->segment.t0 && t < core->segment.t1))
    return SLT_ERR_ARGUMENT;
  core->t = t;
  eng_sample_states(sim, t);
  return SLT_OK;
}

bool eng_course(const EngSim* sim, uint32_t state, const double* t, uint32_t count, double* x) {
  const EngCore* core = &sim->core;
  bool inside = core->segment.valid;
  for (uint32_t i = 0; i < count; i++)
    inside = inside && t[i] >= core->segment.t0 && t[i] < core->segment.t1;
  if (inside) num_dense_course(sim->stepper, state, t, count, x);
  return inside;
}

/// What the caller is told after an instant, or after none; SLT_OK: time goes on.
static SltStatus tell(EngSim* sim, SltStatus status, bool fired) {
  if (status >= 0) status = eng_memory_check(sim);
  if (status < 0) return fail_advance(sim, status);
  if (sim->core.ended) return SLT_END;
  return fired ? SLT_EVENT : SLT_OK;
}

SltStatus eng_advance(EngSim* sim, double t_stop, bool per_step) {
  EngCore* core = &sim->core;
  if (!core->started || core->failed || !(t_stop >= core->t)) return SLT_ERR_ARGUMENT;
  sim->motion.t_stop = t_stop;
  if (core->ended) return SLT_END;
  bool fired = false;
  SltStatus status = SLT_OK;
  while (core->t < t_stop || core->touched) {
    if (ENG_UNLIKELY(core->touched || core->leaves)) {
      status = core->touched ? take_inputs(sim, &fired) : eng_leave_boundaries(sim, &fired);
      status = tell(sim, status, fired);
      if (status != SLT_OK) return status;
      continue;
    }
    if (!core->segment.valid) SLT_TRY(begin_segment(sim));
    if (t_stop < core->segment.t1) {
      status = num_dense_prepare(sim->stepper);
      if (status < 0) return fail_advance(sim, status);
      core->t = t_stop;
      // what follows from the states is computed when it is asked for
      eng_sample_states(sim, t_stop);
      return SLT_OK;
    }
    status = finish_segment(sim, &fired);
    status = tell(sim, status, fired);
    if (status != SLT_OK || per_step) return status;
  }
  // only the next step tells whether equations without values here have some ahead
  bool known = core->segment.valid || core->full_stale;
  if (known || eng_all_finite(sim->values.full, core->mode->full.output_count)) return SLT_OK;
  SLT_TRY(begin_segment(sim));
  eng_warn_of_values(sim);
  return SLT_OK;
}

/// Bring the motion to the present time: what is written now holds from here on.
static SltStatus begin_writing(EngSim* sim) {
  EngCore* core = &sim->core;
  if (core->segment.trial_pending) {
    SLT_TRY(num_dense_prepare(sim->stepper));
    if (sim->history.delays) SLT_TRY(eng_history_append_slow(sim, core->t));
    // keep other values written at this time: sample only when nothing was written yet
    if (core->local.stale) {
      eng_local_refresh(sim);
    } else if (!core->touched) {
      eng_sample(sim, core->t);
    }
    SLT_TRY(commit_trial(sim));
  }
  core->segment.valid = false;
  core->touched = true;
  return SLT_OK;
}

SltStatus eng_change_param(EngSim* sim, uint32_t param, double value) {
  if (sim->core.failed || !sim->model->params[param].acts) return SLT_ERR_ARGUMENT;
  SLT_TRY(begin_writing(sim));
  SltStatus status = eng_replace_param(sim, param, value);
  eng_bind(sim);
  eng_evaluate_full(sim, sim->core.t);
  return status;
}

SltStatus eng_set(EngSim* sim, uint32_t var, uint32_t order, double value) {
  EngCore* core = &sim->core;
  if (!core->started || core->failed || !isfinite(value)) return SLT_ERR_ARGUMENT;
  const ModelVar* model = &sim->model->vars[var];
  const ModelVarMode* mode = &core->mode->vars[var];
  bool free = mode->role == MODEL_ROLE_DISCRETE || mode->role == MODEL_ROLE_UNDETERMINED ||
              (mode->role == MODEL_ROLE_STATE && order < mode->state_order);
  if (!free || order > model->max_order) return SLT_ERR_ARGUMENT;
  SLT_TRY(begin_writing(sim));
  sim->env[model->env + order] = value;
  // what follows from it follows at once
  eng_bind(sim);
  eng_evaluate_full(sim, core->t);
  return SLT_OK;
}
