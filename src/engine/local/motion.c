// SPDX-License-Identifier: MIT
//
// Motion of the few states that a local instant touches, and what it does to all others.
//
// The states whose equations read what was changed are integrated anew from the instant to the end
// of the trial, with the same method and tolerance; their polynomials take the place of the old
// ones. States that read what moves otherwise now, and are left alone, get an error from it. It is
// bounded by the integral of the change times the sensitivity of their equations, and summed up
// over the events of a trial; when it reaches a tenth of the tolerance, the trial ends.
#include "engine/local/parts.h"

#include <math.h>
#include <string.h>

double local_step_for(double h, double error) {
  return 0.9 * h * base_pow(error, -0.2);
}

double local_point_state(const void* user, uint32_t state) {
  const LocalPoint* point = user;
  const struct EngLocal* local = point->sim->local;
  for (uint32_t k = 0; k < local->state_count; k++) {
    if (local->states[k] == state) return point->x[k];
  }
  return num_dense_component(point->sim->stepper, state, point->t);
}
static SltStatus part_rhs(void* user, double t, const double* x, double* dx) {
  EngSim* sim = user;
  const struct EngLocal* local = sim->local;
  LocalPoint point = {sim, t, x};
  for (uint32_t k = 0; k < local->state_count; k++) {
    if (!eng_output(sim, ENG_SINGLE_RHS, t, local_point_state, &point, local->states[k], &dx[k])) {
      return SLT_ERR_STEP;
    }
  }
  return SLT_OK;
}

/// How much a unit of one state, over a unit of time, moves its readers, in their tolerances.
static double wide_sensitivity(EngSim* sim, uint32_t state) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  double t = sim->stepper->trial.t;
  double delta = 16.0 * local_tolerance(sim, state);
  double* x = sim->probe.x;
  memcpy(x, sim->stepper->trial.x, mode->state_count * sizeof *x);
  double* plain = sim->probe.flow;
  double* moved = sim->probe.flow + sim->values.n_max;
  model_program_run(&mode->rhs, context, sim->programs.rhs, t, x, plain);
  x[state] += delta;
  model_program_run(&mode->rhs, context, sim->programs.rhs, t, x, moved);
  double worst = 0.0;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double rate = fabs(moved[i] - plain[i]) / local_tolerance(sim, i);
    if (i != state && !(rate <= worst)) worst = rate;
  }
  return worst / delta;
}

/// Error of all readers of a widely read state, in their tolerances.
static double wide_drift(EngSim* sim, uint32_t state, double area) {
  EngCore* core = &sim->core;
  uint32_t k = 0;
  while (k < SLT_COUNT(core->local.wide_state) && core->local.wide_state[k] != state &&
         core->local.wide_state[k] != MODEL_NONE) {
    k++;
  }
  if (k == SLT_COUNT(core->local.wide_state)) return (double)INFINITY;
  if (core->local.wide_state[k] == MODEL_NONE) {
    core->local.wide_state[k] = state;
    core->local.wide_rate[k] = wide_sensitivity(sim, state);
  }
  return core->local.wide_rate[k] * area;
}

/// The error that events leave with others grows with the third power of the step: with its
/// square for each of them, and with their number. Aim at half of what is allowed.
static void shorten(EngSim* sim, double drift) {
  EngCore* core = &sim->core;
  double factor = isfinite(drift) ? base_cbrt(0.5 * LOCAL_SHARE / drift) : 0.1;
  double bound = fmax(factor, 0.1) * sim->stepper->trial.h;
  // steps that see few events would cost more than beginning anew at each of them
  core->local.bound = bound > LOCAL_EVENTS * core->local.spacing ? bound : 0.0;
}

static bool moves_along(const struct EngLocal* local, uint32_t state) {
  bool found = false;
  for (uint32_t k = 0; k < local->state_count; k++) {
    found |= local->states[k] == state;
  }
  return found;
}

/// What a change of one state, so large at the end and over the time, does to its readers; `ends`:
/// where the states would have been. Returns the one for which it is too much, or MODEL_NONE.
static uint32_t moved_reader(EngSim* sim, uint32_t key, const double* ends, double end_change,
                             double area) {
  const struct EngLocal* local = sim->local;
  const BaseLists* rhs = &local->index.rhs;
  double t1 = local->part->trial.t;
  for (uint32_t r = rhs->begin[key]; r < rhs->begin[key + 1]; r++) {
    uint32_t reader = rhs->list[r];
    if (moves_along(local, reader)) continue;
    double rates[2] = {0.0, 0.0};
    for (int side = 0; side < 2; side++) {
      LocalPoint point = {sim, t1, side ? local->part->trial.x : ends};
      eng_output(sim, ENG_SINGLE_RHS, t1, local_point_state, &point, reader, &rates[side]);
    }
    double rate = fabs(rates[1] - rates[0]) / fmax(end_change, 1e-300);
    sim->waiting.drift[reader] += rate * area / local_tolerance(sim, reader);
    // written so that NaN fails
    if (sim->waiting.drift[reader] <= LOCAL_SHARE) continue;
    return reader;
  }
  return MODEL_NONE;
}

/// Whether the motion of something that is held reads a state: it is left by its own rules then.
static bool moves_held(const EngSim* sim, uint32_t key) {
  const BaseLists* rhs = &sim->local->index.rhs;
  bool held = false;
  for (uint32_t r = rhs->begin[key]; sim->local->held.any && r < rhs->begin[key + 1]; r++) {
    held |= local_is_held(sim, rhs->list[r]);
  }
  return held;
}

/// What the change of the motion does to those that are left alone. `reader`: a state for which it
/// is too much, if it is that of one.
static bool drift_is_small(EngSim* sim, uint32_t* reader) {
  struct EngLocal* local = sim->local;
  const LocalIndex* index = &local->index;
  const NumStepper* part = local->part;
  double t1 = part->trial.t;
  double rest = part->trial.h;
  double middle = part->trial.t0 + 0.5 * rest;
  double ends[LOCAL_STATES];
  double spent = sim->core.local.spent;
  local->shares = false;
  for (uint32_t k = 0; k < local->state_count; k++) {
    ends[k] = num_dense_component(sim->stepper, local->states[k], t1);
  }
  for (uint32_t k = 0; k < local->state_count; k++) {
    uint32_t state = local->states[k];
    uint32_t key = sim->model->env_count + state;
    double begin_change =
        fabs(local->x[k] - num_dense_component(sim->stepper, state, part->trial.t0));
    double middle_change = fabs(num_dense_component(part, k, middle) -
                                num_dense_component(sim->stepper, state, middle));
    double end_change = fabs(part->trial.x[k] - ends[k]);
    double area = fmax(begin_change, fmax(middle_change, end_change)) * rest;
    if (!(area > 0.0)) continue;
    if (moves_held(sim, key)) return false;
    if (state == index->shared && sim->core.local.reach > 0.0) {
      if (local_share_is_idle(sim, area, &spent)) continue;
      local->shares = true;
      if (local_share_next(sim, k)) continue;
      shorten(sim, 2.0 * LOCAL_SHARE);
      return false;
    }
    if (index->wide[key] & 1) {
      spent += wide_drift(sim, state, area);
      continue;
    }
    *reader = moved_reader(sim, key, ends, end_change, area);
    if (*reader != MODEL_NONE) return false;
  }
  if (!(spent <= LOCAL_SHARE)) {
    shorten(sim, spent);
    return false;
  }
  sim->core.local.spent = spent;
  return true;
}

/// The states of the instant to the end of the trial, in one step.
static bool integrate_part(EngSim* sim) {
  const struct EngLocal* local = sim->local;
  NumStepper* part = local->part;
  num_stepper_set_rhs(part, part_rhs, sim);
  num_stepper_set_tolerance(part, sim->options.rtol, 0.0, local->atol);
  num_stepper_start(part, sim->core.t, local->state_count, local->x, NULL);
  if (num_stepper_attempt(part, sim->stepper->trial.t) < 0) return false;
  // few states on their own ask for shorter steps than the mean of all
  double longer = sim->stepper->trial.h / part->trial.h;
  double error = part->trial.error * longer * longer * longer * longer * longer;
  if (!(part->trial.error <= 1.0)) {
    if (isfinite(error)) sim->core.local.bound = local_step_for(sim->stepper->trial.h, error);
    return false;
  }
  sim->core.local.error = fmax(sim->core.local.error, fmin(error, 100.0));
  return num_dense_prepare(part) >= 0;
}

bool local_integrate(EngSim* sim) {
  struct EngLocal* local = sim->local;
  if (local->state_count == 0) return true;
  for (;;) {
    for (uint32_t k = 0; k < LOCAL_STATES; k++) {
      local->atol[k] = k < local->state_count ? sim->stepper->atol[local->states[k]] : 1.0;
    }
    uint32_t reader = MODEL_NONE;
    if (!integrate_part(sim)) return false;
    if (drift_is_small(sim, &reader)) return true;
    if (reader == MODEL_NONE) return false;
    if (local->state_count == LOCAL_STATES || !local_widen(sim, reader)) {
      shorten(sim, sim->waiting.drift[reader]);
      return false;
    }
    sim->waiting.drift[reader] = 0.0;
  }
}
