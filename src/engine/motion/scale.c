// SPDX-License-Identifier: MIT
//
// Scales of the variables: the largest magnitude that a variable, or one of its family, has had so
// far. The stepper follows those of its states at every committed point; here they are kept by
// entry of the environment, for modes that have other states, for snapshots and for whoever asks.
#include "engine/run/run.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define HELD_SHARE     1e-3  // of the way that a flow would take a state, where others hold it
#define SCATTER_POINTS 3
#define SCATTER_ULPS   64.0  // of the time: sources change by some roundings

static uint32_t entry_of(const EngSim* sim, uint32_t env) {
  return sim->scales.stand_in ? sim->scales.stand_in[env] : env;
}

void eng_scales_init(EngSim* sim) {
  const Model* model = sim->model;
  for (uint32_t i = 0; sim->scales.stand_in && i < model->env_count; i++) {
    sim->scales.stand_in[i] = i;
  }
  for (uint32_t v = 0; v < model->var_count; v++) {
    const ModelVar* var = &model->vars[v];
    const ModelVar* first = &model->vars[var->family];
    for (uint32_t k = 0; k < var->slots; k++) {
      if (k < first->slots && sim->scales.stand_in)
        sim->scales.stand_in[var->env + k] = first->env + k;
    }
    if (!var->sized) continue;
    for (uint32_t k = 0; k < var->slots; k++) {
      eng_scale_note(sim, var->env + k, var->nominal);
    }
  }
}

/// What the stepper has seen of the states it has.
static void take_over(EngSim* sim) {
  const NumStepper* stepper = sim->stepper;
  if (sim->scales.epoch == stepper->scales.epoch) return;
  sim->scales.epoch = stepper->scales.epoch;
  for (uint32_t i = 0; i < stepper->n; i++) {
    double* scale = &sim->scales.largest[sim->scales.of_state[i]];
    *scale = fmax(*scale, stepper->scales.value[i]);
  }
}

/// States of the same family among those of the mode.
static void find_families(EngSim* sim, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t entry = sim->scales.of_state[i];
    uint32_t first = sim->scales.first[entry];
    bool known = first < i && sim->scales.of_state[first] == entry;
    if (!known) sim->scales.first[entry] = i;
    sim->scales.family[i] = known ? first : i;
  }
}

void eng_scales_follow(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const ModelMode* known = sim->scales.mode;
  if (known == mode) return;
  take_over(sim);
  bool same =
      known && known->state_count == mode->state_count &&
      memcmp(known->state_env, mode->state_env, mode->state_count * sizeof *mode->state_env) == 0;
  if (same) sim->scales.mode = mode;
}

void eng_scales_enter(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  NumStepper* stepper = sim->stepper;
  take_over(sim);
  sim->scales.mode = mode;
  sim->core.step.covered = 0.0;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    eng_scale_note(sim, mode->state_env[i], sim->x[i]);
  }
  if (mode->implicit) eng_dae_scales(sim);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->scales.of_state[i] = entry_of(sim, mode->state_env[i]);
    sim->pruning.x_lo[i] = sim->scales.largest[sim->scales.of_state[i]];
  }
  if (sim->scales.family) find_families(sim, mode->state_count);
  num_stepper_set_scales(stepper, mode->state_count, sim->pruning.x_lo, sim->scales.family);
  sim->scales.epoch = stepper->scales.epoch;
}

void eng_scales_rebind(EngSim* sim) {
  sim->scales.mode = sim->core.mode;
  sim->stepper->scales.family = sim->scales.family;
  sim->scales.epoch = UINT64_MAX;
}

double eng_scale(EngSim* sim, uint32_t env) {
  take_over(sim);
  return sim->scales.largest[entry_of(sim, env)];
}

void eng_scale_note(EngSim* sim, uint32_t env, double value) {
  double* scale = &sim->scales.largest[entry_of(sim, env)];
  if (fabs(value) >= NUM_SCALE_LEAST) *scale = fmax(*scale, fabs(value));
}

void eng_warn_of_small(EngSim* sim) {
  EngNames small = {.count = 0};
  if (isnan(sim->options.atol) || !sim->report.to.on_warning || !sim->core.started) return;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    if (var->hidden || sim->core.mode->vars[v].role != MODEL_ROLE_STATE) continue;
    double scale = eng_scale(sim, var->env);
    if (scale > 0.0 && scale <= sim->options.atol) eng_names_add(&small, var);
  }
  if (small.count == 0 || !eng_warn_once(sim, ENG_WARNED_SMALL)) return;
  char names[ENG_NAMES_LENGTH];
  eng_names_text(&small, names);
  eng_warn(sim, DIAG_W0812, small.first[0]->span,
           "%s stayed below the absolute tolerance %s: %s errors were not controlled", names,
           eng_short(sim->options.atol).text, small.count > 1 ? "their" : "its");
}

double eng_absolute(EngSim* sim, uint32_t env) {
  if (!isnan(sim->options.atol)) return sim->options.atol;
  return NUM_SCALE_SHARE * sim->options.rtol * eng_scale(sim, env);
}

double eng_weight(EngSim* sim, uint32_t env, double value) {
  return eng_absolute(sim, env) + sim->options.rtol * fabs(value);
}

double eng_other_weight(const EngSim* sim, uint32_t state, double value) {
  double scale = sim->scales.largest[entry_of(sim, sim->core.mode->state_env[state])];
  double absolute =
      isnan(sim->options.atol) ? NUM_SCALE_SHARE * sim->options.rtol * scale : sim->options.atol;
  return absolute + sim->options.rtol * fabs(value);
}

// ---- rounding of rates --------------------------------------------------------------------------

/// Room to compute rates and their rounding in; NULL: there is none.
static ModelDual* rate_room(EngSim* sim) {
  size_t need = model_program_spread_room(&sim->core.mode->rhs);
  if (ENG_GROW(sim, sim->scales.rate_room, need) < 0) {
    sim->error = (EngError){0};
    return NULL;
  }
  return sim->scales.rate_room;
}

/// Rates at points that differ from the present one by a few roundings, for those of which no
/// enclosure is known: a block that leaves something open is solved by least squares.
static void find_scatter(EngSim* sim, double* noise, double* room) {
  const NumStepper* stepper = sim->stepper;
  const uint32_t n = sim->core.mode->state_count;
  double *x = room, *first = room + n, *rate = first + n, *most = rate + n;
  double time = fmax(fabs(stepper->t), eng_horizon(sim));
  for (int k = 0; k <= SCATTER_POINTS; k++) {
    double factor = 1.0 + k * DBL_EPSILON;
    for (uint32_t i = 0; i < n; i++) {
      x[i] = stepper->x[i] * factor;
      if (k == 0) most[i] = 0.0;
    }
    if (eng_rhs(sim, stepper->t + k * SCATTER_ULPS * DBL_EPSILON * time, x, k ? rate : first) < 0)
      break;
    for (uint32_t i = 0; k && i < n; i++) {
      most[i] = fmax(most[i], fabs(rate[i] - first[i]));
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!isfinite(noise[i])) noise[i] = most[i];
  }
}

/// A stiff method damps the rounding of fast rates.
static bool is_damped(const EngSim* sim) {
  return sim->stepper->method->stiff || sim->stepper->method->multistep;
}

/// Half width of the rates over states that are off by `pad`, at least by rounding, into `noise`.
static void enclose_rates(EngSim* sim, double* pad, double* noise, ModelDual* room) {
  const NumStepper* stepper = sim->stepper;
  for (uint32_t i = 0; i < stepper->n; i++) {
    pad[i] = fmax(pad[i], DBL_EPSILON * fabs(stepper->x[i]));
  }
  // flows that are combined to a smaller one leave the rounding of the larger
  model_program_spread(&sim->core.mode->rhs, eng_context(sim), sim->env,
                       model_interval_point(stepper->t), stepper->x, pad,
                       eng_is_held(sim) ? DBL_EPSILON : 0.0, noise, room);
  if (!eng_all_finite(noise, stepper->n)) find_scatter(sim, noise, (double*)room);
}

/// The next step, as long as one flow alone would not take all states out of their scales within
/// it: along surfaces a straight motion has steps of any length.
static double time_of_flow(const EngSim* sim, const double* flow) {
  const NumStepper* stepper = sim->stepper;
  double longest = 0.0;
  for (uint32_t i = 0; i < stepper->n; i++) {
    double time = stepper->scales.value[i] / fabs(flow[i]);
    if (isfinite(time)) longest = fmax(longest, time);
  }
  if (!(longest > 0.0)) longest = eng_horizon(sim);
  return longest > 0.0 ? fmin(stepper->control.h_next, longest) : stepper->control.h_next;
}

/// A state that opposing flows hold has a scale though it does not move: a part of the way that one
/// of them alone would take it in a step, which is returned. Within the tolerance of that it may be
/// off.
static double cover_held(EngSim* sim, double* pad, ModelDual* room) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  const NumStepper* stepper = sim->stepper;
  double* regs = (double*)room;
  double* flow = regs + rhs->reg_count;
  model_program_bind(rhs, sim->env, regs);
  model_program_guess(rhs, sim->values.guess, regs);
  model_program_run(rhs, &sim->values.flow_context, regs, stepper->t, stepper->x, flow);
  double time = time_of_flow(sim, flow);
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    double way = HELD_SHARE * time * fabs(flow[i]);
    pad[i] = isfinite(way) ? way : 0.0;
  }
  num_stepper_cover(sim->stepper, pad);
  return time;
}

/// What the noise of rates does to held states in a step is part of their scales as well.
static void cover_noise(EngSim* sim, double h, const double* noise, double* size) {
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    double least = NUM_NOISE_SHARE * h * noise[i] / (NUM_SCALE_SHARE * sim->options.rtol);
    size[i] = isfinite(least) ? least : 0.0;
  }
  num_stepper_cover(sim->stepper, size);
}

bool eng_scales_raise(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  NumStepper* stepper = sim->stepper;
  const uint32_t n = mode->state_count;
  const bool held = eng_is_held(sim);
  const bool damped = is_damped(sim);
  if (!stepper->options.by_scale || (damped && !held)) return false;
  ModelDual* room = rate_room(sim);
  if (!room) return false;
  double h = stepper->control.h_next;
  double* noise = num_stepper_noise(stepper, !damped);
  double* pad = sim->pruning.x_lo;
  memset(pad, 0, n * sizeof *pad);
  enclose_rates(sim, pad, noise, room);
  memset(pad, 0, n * sizeof *pad);
  if (held) h = cover_held(sim, pad, room);
  // what rounding does to a velocity it does to the position a step later
  for (uint32_t i = 0; i < n; i++) {
    pad[i] = fmax(h * noise[i], NUM_SCALE_SHARE * sim->options.rtol * pad[i]);
  }
  enclose_rates(sim, pad, noise, room);
  if (held) cover_noise(sim, h, noise, pad);
  sim->core.step.covered = held ? stepper->control.h_next : 0.0;
  bool raised = false;
  for (uint32_t i = 0; i < n; i++) {
    raised = raised || h * noise[i] > stepper->atol[i];
  }
  return raised;
}

void eng_scales_hold(EngSim* sim) {
  if (!eng_is_held(sim) || !sim->stepper->options.by_scale) return;
  bool longer = sim->stepper->control.h_next > 2.0 * sim->core.step.covered;
  bool stale = sim->stepper->scales.noise_steps == 0 && !is_damped(sim);
  ModelDual* room = NULL;
  if (longer || stale) {
    eng_scales_raise(sim);
  } else if (sim->core.step.open && (room = rate_room(sim))) {
    // other flows hold now, but what rounding does to them is about the same
    cover_held(sim, sim->pruning.x_lo, room);
  }
}
