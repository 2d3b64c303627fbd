// SPDX-License-Identifier: MIT
//
// How well an event indicator g is known at the present point. Two bounds, both with the unit of g
// and made of nothing but the model's own numbers:
//   rho    what rounding may have done to g. It locates crossings, decides truth, and re-arms.
//   sigma  what errors within the tolerances may have done to g. It is asked where flows differ on
//          the two sides of g = 0, and where g touches zero.
// Both come from the tape evaluated on intervals: the states a little wider than they are.
#include "engine/detect/bernstein.h"
#include "engine/detect/follow.h"

#include <float.h>
#include <math.h>

#define STEPS       4.0  // weights by which a state may be off: several steps, and few states of many
#define NOISE_STEPS 64.0   // steps over which the rounding of a rate may have gathered
#define TIME_ULPS   16.0   // a located time may be off by so many roundings
#define WINDOW_MOST 1e-6   // of the scale of g: the window of types that take a distance for zero
#define WINDOW_MIN  2e-13  // ... with the tightest tolerances, which it follows

/// By how much each state may be off, and its derivative along the flow.
typedef double StatePad(EngSim* sim, uint32_t state);

typedef struct Box {
  EngSim* sim;
  StatePad* pad;
} Box;

/// What rounding of its rate does to a state, where the stepper has the states of the mode.
static double rounding_of_rate(const EngSim* sim, uint32_t state) {
  return sim->scales.mode == sim->core.mode ? num_stepper_rounding(sim->stepper, state) : 0.0;
}

double eng_state_rounding(EngSim* sim, uint32_t state) {
  double own = DBL_EPSILON * larger(sim->proof.margin_x[state], fabs(sim->x[state]));
  return BERNSTEIN_ULPS * larger(own, rounding_of_rate(sim, state));
}

double eng_state_pad(EngSim* sim, uint32_t state) {
  double rounding = NOISE_STEPS * rounding_of_rate(sim, state);
  return STEPS * larger(eng_state_weight(sim, state, sim->x[state]), rounding);
}

static double window_of_state(EngSim* sim, uint32_t state) {
  double share = fmin(WINDOW_MOST, fmax(WINDOW_MIN, sim->options.rtol));
  return share * larger(sim->proof.margin_x[state], fabs(sim->x[state]));
}

static double impulse_of_state(EngSim* sim, uint32_t state) {
  double scale = eng_scale(sim, sim->core.mode->state_env[state]);
  return ENG_IMPULSE_MIN * larger(scale, fabs(sim->x[state]));
}

static ModelDual boxed_state(const void* user, uint32_t state) {
  const Box* box = user;
  EngSim* sim = box->sim;
  double x = sim->x[state];
  double pad = box->pad(sim, state);
  double rate = sim->env[sim->core.mode->state_env[state] + 1];
  // terms that cancel in a rate are not larger than what moves the state within a step
  double h = sim->stepper->control.h_next;
  double terms = h > 0.0 ? larger(sim->proof.margin_x[state], fabs(x)) / h : 0.0;
  double rate_pad = BERNSTEIN_ULPS * DBL_EPSILON * larger(fabs(rate), terms);
  return (ModelDual){{x - pad, x + pad}, {rate - rate_pad, rate + rate_pad}};
}

/// The present values with the rates from before the instant.
static ModelDual state_before(const void* user, uint32_t state) {
  const EngSim* sim = ((const Box*)user)->sim;
  double x = sim->x[state];
  double rate = sim->values.before[sim->core.mode->state_env[state] + 1];
  return (ModelDual){{x, x}, {rate, rate}};
}

ModelInterval eng_rounded_time(const EngSim* sim) {
  double pad = BERNSTEIN_ULPS * DBL_EPSILON * fabs(sim->core.t);
  return (ModelInterval){sim->core.t - pad, sim->core.t + pad};
}

ModelDual eng_enclose_output(EngSim* sim, const ModelProgram* program, ModelDual* regs,
                             ModelDual time, ModelStateDualFn* state, const void* user,
                             uint32_t output) {
  const ModelContext* context = eng_context(sim);
  ModelDual found;
  if (model_program_enclose_output(program, context, regs, time, state, user, output, &found)) {
    return found;
  }
  for (uint32_t i = 0; i < program->state_count; i++) {
    sim->proof.x_dual[i] = state(user, i);
  }
  model_program_enclose(program, context, regs, time, sim->proof.x_dual, sim->proof.g_dual);
  return sim->proof.g_dual[output];
}

/// A point, and the direction of one state.
typedef struct Direction {
  const double* x;
  uint32_t state;
} Direction;

static ModelDual along_state(const void* user, uint32_t state) {
  const Direction* d = user;
  double slope = state == d->state ? 1.0 : 0.0;
  return (ModelDual){{d->x[state], d->x[state]}, {slope, slope}};
}

ModelDual eng_enclose_along(EngSim* sim, uint32_t index, double t, const double* x,
                            uint32_t state) {
  Direction direction = {x, state};
  return eng_enclose_output(sim, &sim->core.mode->g_flow, sim->programs.dual, model_time(t, t),
                            along_state, &direction, index);
}

/// g and its slope over the states as `dual` gives them; time is off by its rounding.
static ModelDual enclose_g(EngSim* sim, uint32_t index, ModelStateDualFn* dual, Box box) {
  ModelInterval t = eng_rounded_time(sim);
  return eng_enclose_output(sim, &sim->core.mode->g_flow, sim->programs.dual,
                            model_time(t.lo, t.hi), dual, &box, index);
}

/// g and its slope along the flow over the box.
static ModelDual enclose_box(EngSim* sim, uint32_t index, StatePad* pad) {
  return enclose_g(sim, index, boxed_state, (Box){sim, pad});
}

/// Half of its width; 0 where nothing is known.
static double half_width(ModelInterval a) {
  double width = 0.5 * (a.hi - a.lo);
  return isfinite(width) ? width : 0.0;
}

double eng_time_rho(const EngSim* sim, double gdot) {
  double span = larger(fabs(sim->core.t), sim->stepper->control.h_next);
  if (sim->core.segment.trial_pending || sim->values.searching)
    span = larger(span, sim->stepper->trial.h);
  return TIME_ULPS * DBL_EPSILON * fabs(gdot) * span;
}

double eng_rho(EngSim* sim, uint32_t index) {
  eng_control_margin(sim);
  return sim->proof.margin[index] + eng_time_rho(sim, sim->detect.gdot[index]);
}

bool eng_sign_is_sure(EngSim* sim, uint32_t index) {
  eng_control_margin(sim);
  ModelInterval g = enclose_box(sim, index, eng_state_rounding).v;
  return !isfinite(g.hi - g.lo) || g.lo > 0.0 || g.hi < 0.0;
}

double eng_sigma(EngSim* sim, uint32_t index) {
  return larger(half_width(enclose_box(sim, index, eng_state_pad).v), eng_rho(sim, index));
}

double eng_slope_rho(EngSim* sim, uint32_t index) {
  eng_control_margin(sim);
  return half_width(enclose_box(sim, index, eng_state_rounding).d);
}

double eng_impulse_rho(EngSim* sim, uint32_t index) {
  return larger(half_width(enclose_box(sim, index, impulse_of_state).v), eng_rho(sim, index));
}

double eng_slope_before(EngSim* sim, uint32_t index) {
  ModelInterval slope = enclose_g(sim, index, state_before, (Box){sim, NULL}).d;
  bool sure = slope.lo > 0.0 || slope.hi < 0.0;
  return sure && isfinite(slope.lo) && isfinite(slope.hi) ? 0.5 * (slope.lo + slope.hi) : 0.0;
}

double eng_window(EngSim* sim, uint32_t index) {
  eng_control_margin(sim);
  return half_width(enclose_box(sim, index, window_of_state).v);
}
