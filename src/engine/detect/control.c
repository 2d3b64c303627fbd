// SPDX-License-Identifier: MIT
//
// Control points: relations evaluated where their Bernstein coefficients over a step are, and
// margins, how far rounding may move them there. What certify.c proves rests on these.
#include "engine/detect/bernstein.h"
#include "engine/detect/follow.h"

#include <float.h>
#include <math.h>

#define MARGIN_SLACK 1e-3  // states that have shrunk by more than this get new margins

// ---- control points -----------------------------------------------------------------------------

// Margins: how far rounding may move g at a control point. They are made for states, inputs and a
// time of certain sizes and hold up to twice of these; an atom keeps its margin in all modes that
// compute its g in the same way.

/// What a margin stands for; never 0.
static uint64_t margin_key(const EngSim* sim, uint32_t index) {
  const ModelMode* mode = sim->core.mode;
  uint64_t way = mode->atom_slice ? mode->atom_slice[index] : mode->id + 1u;
  return (way ^ ((uint64_t)sim->core.margins.epoch << 32)) * 0x9E3779B97F4A7C15u | 1u;
}

static inline void set_margin(EngSim* sim, uint32_t index, double width) {
  EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  // room for states, and for what they are multiplied with, to grow to twice their sizes
  atom->margin.size = isfinite(width) ? 4.0 * width + DBL_MIN : DBL_MIN;
  atom->margin.key = margin_key(sim, index);
}

static void take_margins(void* user, uint32_t output, uint32_t count, const double* lo,
                         const double* hi) {
  for (uint32_t k = 0; k < count; k++) {
    set_margin(user, output + k, hi[k] - lo[k]);
  }
}

/// g enclosed over states and time that are off by BERNSTEIN_ULPS of the sizes in margin_x.
static void compute_margins(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  double t_pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->core.margins.t;
  ModelDual time = model_time(t - t_pad, t + t_pad);
  if (sim->pruning.has_bounds) {
    for (uint32_t i = 0; i < mode->state_count; i++) {
      double pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->proof.margin_x[i];
      sim->pruning.x_lo[i] = sim->x[i] - pad;
      sim->pruning.x_hi[i] = sim->x[i] + pad;
    }
    model_program_bound(&mode->g_flow, context, sim->programs.g_flow, time.v, sim->pruning.x_lo,
                        sim->pruning.x_hi, sim->pruning.room, take_margins, sim);
    return;
  }
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->proof.margin_x[i];
    sim->proof.x_dual[i] = (ModelDual){{sim->x[i] - pad, sim->x[i] + pad}, {0.0, 0.0}};
  }
  model_program_enclose(&mode->g_flow, context, sim->programs.dual, time, sim->proof.x_dual,
                        sim->proof.g_dual);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    set_margin(sim, i, sim->proof.g_dual[i].v.hi - sim->proof.g_dual[i].v.lo);
  }
}

/// A state that is off by BERNSTEIN_ULPS of its size.
static ModelDual padded_state(const void* user, uint32_t state) {
  const EngSim* sim = user;
  double pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->proof.margin_x[state];
  return (ModelDual){{sim->x[state] - pad, sim->x[state] + pad}, {0.0, 0.0}};
}

/// The margin of one atom alone; false: that is not possible.
static bool compute_margin(EngSim* sim, uint32_t i, double t) {
  const ModelMode* mode = sim->core.mode;
  double t_pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->core.margins.t;
  ModelDual g;
  if (!model_program_enclose_output(&mode->g_flow, eng_context(sim), sim->programs.dual,
                                    model_time(t - t_pad, t + t_pad), padded_state, sim, i, &g)) {
    return false;
  }
  set_margin(sim, i, g.v.hi - g.v.lo);
  return true;
}

/// Margins of the atoms that matter, for the sizes as they are noted.
static void fetch_margins(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  // what is inactive gets its own when it becomes active
  bool awake = !sim->instant.running && sim->core.slide.local;
  EngList list = awake ? eng_followed(sim) : eng_instant_atoms(sim);
  bool few = list.count <= mode->atom_count / 8;
  bool missing = false;
  sim->pruning.stale = true;
  for (uint32_t place = 0; place < list.count; place++) {
    uint32_t i = list.at[place];
    if (sim->atoms[mode->atoms[i]].margin.key == margin_key(sim, i)) continue;
    missing |= !few || !compute_margin(sim, i, t);
  }
  if (missing) compute_margins(sim, t);
  for (uint32_t place = 0; place < list.count; place++) {
    uint32_t i = list.at[place];
    sim->proof.margin[i] = sim->atoms[mode->atoms[i]].margin.size;
  }
}

/// Note a size that is larger than the margins allow for.
static inline bool outgrows(double* size, double value) {
  if (fabs(value) <= 2.0 * *size) return false;
  *size = fabs(value);
  return true;
}

/// The largest of all that g may read, as it is now.
static double ordinary_size(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  double size = fabs(sim->core.t);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    size = larger(size, fabs(sim->x[i]));
  }
  for (uint32_t i = 0; i < mode->g_flow.input_count; i++) {
    size = larger(size, fabs(sim->env[mode->g_flow.inputs[i].env]));
  }
  return size;
}

/// A value that has become far smaller, a limit that was "infinite" before, gets a new size:
/// margins made for the old one would hide what g does now. (Zero tells no size: a switch goes
/// there and back. It counts as small where nothing comes near the old size: `ordinary`, which is
/// found once for all that are asked together, NaN before.)
static bool shrinks(const EngSim* sim, double* size, double value, double* ordinary) {
  double least = MARGIN_SLACK * *size;
  value = fabs(value);
  if (!(value < least)) return false;
  if (value == 0.0) {
    if (isnan(*ordinary)) *ordinary = ordinary_size(sim);
    value = *ordinary;
  }
  if (!(value < least)) return false;
  *size = value;
  return true;
}

void eng_control_jumps(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  double ordinary = (double)NAN;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    uint32_t env = mode->state_env[i];
    // what an event has set; a motion that comes by zero has its size from the trial
    if (!(fabs(sim->x[i]) < MARGIN_SLACK * fabs(sim->values.before[env]))) continue;
    if (!shrinks(sim, &sim->proof.margin_size[env], sim->x[i], &ordinary)) continue;
    sim->core.margins.epoch++;
    sim->core.margins.stale = true;
  }
}

void eng_control_margin_slow(EngSim* sim) {
  EngCore* core = &sim->core;
  const ModelMode* mode = core->mode;
  core->margins.stale = false;
  double ordinary = (double)NAN;
  bool changed = outgrows(&core->margins.t, core->t);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double* size = &sim->proof.margin_size[mode->state_env[i]];
    changed |= outgrows(size, sim->x[i]);
    sim->proof.margin_x[i] = *size;
  }
  for (uint32_t i = 0; i < mode->g_flow.input_count; i++) {
    uint32_t env = mode->g_flow.inputs[i].env;
    if (env >= sim->model->env_count) continue;
    changed |= outgrows(&sim->proof.margin_size[env], sim->env[env]);
    changed |= shrinks(sim, &sim->proof.margin_size[env], sim->env[env], &ordinary);
  }
  if (changed) core->margins.epoch++;
  fetch_margins(sim, core->t);
}

static inline bool is_asked(uint64_t states, uint32_t state) {
  return state >= 64 || (states >> state & 1) != 0;
}

static inline double control_size(const EngSim* sim, uint32_t state) {
  // lanes beyond the degree repeat the last one
  const double* lanes = sim->proof.control_x + (size_t)state * MODEL_LANES;
  double a = larger(fabs(lanes[0]), fabs(lanes[1]));
  double b = larger(fabs(lanes[2]), fabs(lanes[3]));
  double size = larger(larger(a, b), fabs(lanes[4]));
  for (uint32_t j = 5; j <= sim->stepper->trial.degree; j++) {
    size = larger(fabs(lanes[j]), size);
  }
  return size;
}

/// Whether the margins fit the coefficients of a state over the trial. (One that is zero all along
/// has not lost its size.)
static inline bool margin_fits(const EngSim* sim, uint32_t state) {
  double size = control_size(sim, state);
  double fitted = sim->proof.margin_x[state];
  return size <= 2.0 * fitted && (size >= MARGIN_SLACK * fitted || size == 0.0);
}

static bool time_fits(const EngSim* sim) {
  return fabs(sim->stepper->trial.t) <= 2.0 * sim->core.margins.t;
}

static inline void refit_state(EngSim* sim, uint32_t i, double size) {
  if (size > 0.0) sim->proof.margin_x[i] = size;
  sim->proof.margin_size[sim->core.mode->state_env[i]] = sim->proof.margin_x[i];
}

static void refit_margins(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  sim->core.margins.t = fabs(sim->stepper->trial.t);
  sim->core.margins.epoch++;
  copy(sim->x, sim->stepper->trial.x, mode->state_count);
  fetch_margins(sim, sim->stepper->trial.t);
}

bool eng_bound_states(EngSim* sim) {
  uint32_t count = sim->core.mode->state_count;
  eng_control_margin(sim);
  if (!num_dense_hull(sim->stepper, sim->pruning.x_lo, sim->pruning.x_hi)) return false;
  if (!time_fits(sim) || !model_bounds_fit(count, sim->pruning.x_lo, sim->pruning.x_hi,
                                           sim->proof.margin_x, MARGIN_SLACK)) {
    for (uint32_t i = 0; i < count; i++) {
      refit_state(sim, i, larger(fabs(sim->pruning.x_lo[i]), fabs(sim->pruning.x_hi[i])));
    }
    refit_margins(sim);
    num_dense_hull(sim->stepper, sim->pruning.x_lo,
                   sim->pruning.x_hi);  // the room was used for the margins
  }
  model_bounds_widen(count, BERNSTEIN_ULPS * DBL_EPSILON, sim->pruning.x_lo, sim->pruning.x_hi);
  return true;
}

/// A state at one control point of the trial.
typedef struct ControlPoint {
  const EngSim* sim;
  uint32_t lane;
} ControlPoint;

static double control_state(const void* user, uint32_t state) {
  const ControlPoint* point = user;
  return point->sim->proof.control_x[(size_t)state * MODEL_LANES + point->lane];
}

/// A state at the end of the trial, off by what rounding may do to it.
static ModelDual rounded_state(const void* user, uint32_t state) {
  const EngSim* sim = user;
  double pad = BERNSTEIN_ULPS * DBL_EPSILON * sim->proof.margin_x[state];
  double x = sim->stepper->trial.x[state];
  return (ModelDual){{x - pad, x + pad}, {0.0, 0.0}};
}

static inline double* control_lanes(EngSim* sim, uint32_t state) {
  uint32_t degree = sim->stepper->trial.degree;
  double* lanes = sim->proof.control_x + (size_t)state * MODEL_LANES;
  num_dense_bernstein(sim->stepper, state, lanes);
  double last = lanes[degree];
  for (uint32_t j = 5; j < MODEL_LANES; j++) {
    lanes[j] = j > degree ? last : lanes[j];
  }
  for (uint32_t j = degree + 1; j < 5; j++) {
    lanes[j] = last;
  }
  return lanes;
}

void eng_control_state(EngSim* sim, uint32_t state) {
  sim->proof.stamp++;
  const double* lanes = control_lanes(sim, state);
  for (uint32_t j = 0; j < MODEL_LANES; j++) {
    sim->proof.margin_x[state] = larger(sim->proof.margin_x[state], fabs(lanes[j]));
  }
}

static void control_register(void* user, uint32_t reg) {
  EngSim* sim = user;
  if (reg >= 1 && reg <= sim->core.mode->g_flow.state_count) control_lanes(sim, reg - 1);
}

void eng_control_states_of(EngSim* sim, uint32_t index) {
  model_program_visit_reads(&sim->core.mode->g_flow, index, control_register, sim);
}

void eng_control_atom(EngSim* sim, uint32_t index, double t_from) {
  const ModelMode* mode = sim->core.mode;
  const NumStepper* s = sim->stepper;
  const EngAtom* atom = &sim->atoms[mode->atoms[index]];
  if (atom->margin.key == margin_key(sim, index) && eng_local_margin_holds(sim, index)) {
    sim->proof.margin[index] = atom->margin.size;
    eng_control_values(sim, index, t_from);
    return;
  }
  const ModelContext* context = eng_context(sim);
  ModelDual g = {0};
  double t_pad = BERNSTEIN_ULPS * DBL_EPSILON * fabs(s->trial.t);
  ModelDual end = model_time(s->trial.t - t_pad, s->trial.t + t_pad);
  if (model_program_enclose_output(&mode->g_flow, context, sim->programs.dual, end, rounded_state,
                                   sim, index, &g)) {
    double width = g.v.hi - g.v.lo;
    sim->proof.margin[index] = isfinite(width) ? 4.0 * width + DBL_MIN : DBL_MIN;
  }
  eng_control_values(sim, index, t_from);
}

void eng_control_values(EngSim* sim, uint32_t index, double t_from) {
  const ModelMode* mode = sim->core.mode;
  const NumStepper* s = sim->stepper;
  // what is linear in time is scheduled: nobody asks for its way
  if (isfinite(sim->atoms[mode->atoms[index]].t_linear)) return;
  if (mode->atom_class[index] == MODEL_CLASS_OTHER) {
    if (eng_composed(sim, index)) return;
    sim->proof.g_whole[index] = eng_enclose_atom(sim, index, t_from, s->trial.t);
    return;
  }
  uint32_t degree = s->trial.degree;
  double* control = sim->proof.control_g + (size_t)index * MODEL_LANES;
  for (uint32_t j = 0; j < MODEL_LANES; j++) {
    if (j > degree) {
      control[j] = control[degree];
      continue;
    }
    ControlPoint point = {sim, j};
    double t = s->trial.t0 + s->trial.h * ((double)j / (double)degree);
    eng_output(sim, ENG_SINGLE_G, t, control_state, &point, index, &control[j]);
  }
}

void eng_control_points(EngSim* sim, uint64_t states, bool affine) {
  sim->proof.stamp++;
  const ModelMode* mode = sim->core.mode;
  const NumStepper* s = sim->stepper;
  const ModelContext* context = eng_context(sim);
  eng_control_margin(sim);
  bool fit = time_fits(sim);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    if (!is_asked(states, i)) continue;
    control_lanes(sim, i);
    fit &= margin_fits(sim, i);
  }
  if (!fit) {
    for (uint32_t i = 0; i < mode->state_count; i++) {
      if (is_asked(states, i)) refit_state(sim, i, control_size(sim, i));
    }
    refit_margins(sim);
  }
  if (!affine) return;
  double t[MODEL_LANES];
  for (uint32_t j = 0; j < MODEL_LANES; j++) {
    t[j] = s->trial.t0 + s->trial.h;
  }
  for (uint32_t j = 0, n = s->trial.degree; j < n; j++) {
    t[j] = s->trial.t0 + s->trial.h * ((double)j / (double)n);
  }
  model_program_run_block(&mode->g_flow, context, sim->programs.lanes, t, sim->proof.control_x,
                          MODEL_LANES, sim->proof.control_g);
}
