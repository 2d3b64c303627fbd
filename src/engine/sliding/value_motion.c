// SPDX-License-Identifier: MIT
//
// Sliding by value: derivatives and values along the surfaces, and where one of them is left.
#include "engine/detect/follow.h"
#include "engine/sliding/sides.h"

#include <math.h>
#include <string.h>

// ---- motion -------------------------------------------------------------------------------------

/// What slides is drawn to zero, what does not is all that is computed.
static void lean_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const EngValueProgram* program = &sim->sliding.program;
  const ModelContext* context = eng_context(sim);
  const ModelProgram* rhs = &sim->core.mode->rhs;
  double* regs = sim->sliding.sides.regs[0].rhs;
  if (program->part.code) {
    model_program_run_part(rhs, context, &program->part, regs, t, x, dx);
  } else {
    model_program_run(rhs, context, regs, t, x, dx);
  }
  model_scale_states(program->pulled, program->pulled_count, -sim->core.slide.stiffness, x, dx);
}

SltStatus eng_value_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const ModelMode* mode = sim->core.mode;
  EngSideRegs* regs = &sim->sliding.sides.regs[2];
  if (sim->core.slide.lean) {
    lean_rhs(sim, t, x, dx);
    return SLT_OK;
  }
  if (sim->core.slide.mixed) {
    value_run_ends(sim, t, x, dx);
    SLT_TRY(value_coefficients_of_flows(sim, dx, x, true, sim->sliding.motion.alpha));
    value_mix(sim, sim->sliding.motion.rhs, sim->sliding.motion.rhs_count, sim->sliding.motion.out,
              dx);
    return SLT_OK;
  }
  SltStatus status = value_coefficients_at(sim, t, x, true, sim->sliding.motion.alpha);
  if (status >= 0) {
    status = ENG_GROW(sim, regs->rhs, mode->rhs.reg_count);
  }
  if (status >= 0) {
    value_publish_coefficients(sim, sim->sliding.motion.alpha);
    model_program_bind(&mode->rhs, sim->env, regs->rhs);
    model_program_guess(&mode->rhs, sim->values.guess, regs->rhs);
    model_program_run(&mode->rhs, eng_context(sim), regs->rhs, t, x, dx);
  }
  value_publish_positions(sim);
  return status;
}

void eng_value_full(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->sliding.sides.regs[2];
  SltStatus status = SLT_OK;
  if (sim->active.reduced && sim->core.slide.local) eng_reduced_patch(sim);
  const EngDependency* dependency = sim->core.slide.lean ? eng_dependency(sim) : NULL;
  if (value_note_coefficients(sim, dependency, t, sim->x, sim->core.slide.count)) {
    memcpy(sim->sliding.motion.alpha, sim->sliding.motion.last,
           sim->core.slide.count * sizeof(double));
  } else {
    status = value_coefficients_at(sim, t, sim->x, false, sim->sliding.motion.alpha);
  }
  if (sim->core.slide.mixed) {
    if (status < 0) return;
    model_program_run(&mode->full, context, sim->sliding.sides.regs[0].full, t, sim->x,
                      sim->values.full);
    if (sim->core.slide.lean) {
      value_shift(sim, sim->sliding.motion.full, sim->sliding.motion.full_count,
                  sim->sliding.motion.full_shift, sim->values.full);
    } else {
      model_program_run(&mode->full, context, sim->sliding.sides.regs[1].full, t, sim->x,
                        sim->sliding.motion.out);
      value_mix(sim, sim->sliding.motion.full, sim->sliding.motion.full_count,
                sim->sliding.motion.out, sim->values.full);
    }
    eng_publish_full(sim);
    return;
  }
  if (status >= 0) {
    status = ENG_GROW(sim, regs->full, mode->full.reg_count);
  }
  if (status >= 0) {
    value_publish_coefficients(sim, sim->sliding.motion.alpha);
    model_program_bind(&mode->full, sim->env, regs->full);
    model_program_guess(&mode->full, sim->values.guess, regs->full);
    model_program_run(&mode->full, context, regs->full, t, sim->x, sim->values.full);
    eng_publish_full(sim);
  }
  value_publish_positions(sim);
}

bool eng_value_coefficients(EngSim* sim, double* alpha) {
  SltStatus status =
      value_coefficients_at(sim, sim->core.t, sim->x, false, sim->sliding.motion.alpha);
  if (!sim->core.slide.mixed) value_publish_positions(sim);
  if (status < 0) return false;
  memcpy(alpha, sim->sliding.motion.alpha, sim->core.slide.count * sizeof *alpha);
  return true;
}

void eng_value_side(EngSim* sim, uint32_t surface, bool above, const double* alpha, double* values,
                    uint8_t* known) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->sliding.sides.regs[2];
  if (ENG_GROW(sim, regs->full, mode->full.reg_count) < 0) {
    return;
  }
  memcpy(sim->sliding.motion.trial, alpha, sim->core.slide.count * sizeof *alpha);
  sim->sliding.motion.trial[surface] = above ? 1.0 : 0.0;
  value_publish_coefficients(sim, sim->sliding.motion.trial);
  model_program_bind(&mode->full, sim->env, regs->full);
  model_program_guess(&mode->full, sim->values.guess, regs->full);
  model_program_run(&mode->full, context, regs->full, sim->core.t, sim->x, sim->values.full);
  value_publish_positions(sim);
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    values[mode->full_env[i]] += sim->values.full[i];
    known[mode->full_env[i]] = 1;
  }
}

#define SAMPLED_PIECES 8  // of a step, where nothing can be proved

// ---- leaving ------------------------------------------------------------------------------------

/// The search for the exit of one surface.
typedef struct SurfaceExit {
  NumExit exit;
  uint32_t surface;
} SurfaceExit;

static SltStatus coefficients_on_trial(EngSim* sim, double t) {
  num_dense_eval(sim->stepper, t, sim->x);
  SltStatus status = value_coefficients_at(sim, t, sim->x, false, sim->sliding.motion.alpha);
  if (!sim->core.slide.mixed) value_publish_positions(sim);
  return status;
}

/// Coefficient of one surface alone; false where that is not possible.
static bool coefficient_on_trial(EngSim* sim, uint32_t surface, double t, double* alpha) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  const ModelProgram* rhs = &sim->core.mode->rhs;
  const ModelContext* context = eng_context(sim);
  EngTrialPoint point = {sim->stepper, t};
  double f[2] = {0.0, 0.0};
  if (!sim->core.slide.mixed) return false;
  bool shifted = sim->core.slide.lean;
  for (uint32_t end = 0; end < (shifted ? 1u : 2u); end++) {
    if (!model_program_run_output(rhs, context, sim->sliding.sides.regs[end].rhs, t,
                                  eng_trial_state, &point, s->state, &f[end])) {
      return false;
    }
  }
  if (shifted) {
    *alpha = f[0] / sim->sliding.motion.fall[surface];
    return true;
  }
  double sign = s->negative ? -1.0 : 1.0;
  double range = sign * f[0] - sign * f[1];
  *alpha = sign * f[0] / range;
  return range > 0.0;
}

/// The coefficients at the end of the trial before are those at the begin of this one, if nothing
/// has happened in between.
static bool coefficients_are_known(EngSim* sim, double t_from) {
  uint32_t n = sim->core.mode->state_count;
  if (sim->sliding.motion.last_t != t_from || t_from != sim->stepper->trial.t0) return false;
  return memcmp(sim->sliding.motion.last_x, sim->stepper->trial.x0, n * sizeof(double)) == 0;
}

static SltStatus look_at_surface(NumExit* e, double t, bool* above) {
  uint32_t surface = ((const SurfaceExit*)e)->surface;
  double a = 0.0;
  if (!coefficient_on_trial(e->user, surface, t, &a)) {
    SLT_TRY(coefficients_on_trial(e->user, t));
    a = ((EngSim*)e->user)->sliding.motion.alpha[surface];
  }
  e->coefficient = a;
  *above = a >= 1.0;
  if (!(a > 0.0 && a < 1.0)) e->surface = surface;
  return SLT_OK;
}

/// Derivative of a state that is a surface over [l, r], with the switches as on one side. False: it
/// has no bounds.
static bool enclose_derivative(EngSim* sim, uint32_t end, uint32_t state, double l, double r,
                               ModelInterval* out) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  EngSliding* w = &sim->sliding;
  ModelDual* regs = w->sides.regs[end].rhs_dual;
  ModelDual time = model_time(l, r);
  EngTrialPart part = {sim, num_dense_theta(sim->stepper, l), num_dense_theta(sim->stepper, r)};
  ModelDual found;
  if (model_program_enclose_output(rhs, eng_context(sim), regs, time, eng_enclose_dense, &part,
                                   state, &found)) {
    *out = found.v;
    return true;
  }
  // outputs are computed together only
  if (side_room(sim, 1) < 0) return false;
  for (uint32_t i = 0; i < rhs->state_count; i++) {
    w->sides.x[i] = eng_enclose_dense(&part, i);
  }
  model_program_enclose(rhs, eng_context(sim), regs, time, w->sides.x, w->sides.flow);
  *out = w->sides.flow[state].v;
  return true;
}

/// Whether a surface is not left in [l, r], for certain.
static bool prove_surface(NumExit* e, double l, double r) {
  EngSim* sim = e->user;
  uint32_t surface = ((const SurfaceExit*)e)->surface;
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  ModelInterval below;
  ModelInterval above;
  if (!sim->core.slide.mixed) return e->pieces >= SAMPLED_PIECES && (e->undecided = true);
  if (!enclose_derivative(sim, 0, s->state, l, r, &below)) return false;
  double fall = sim->sliding.motion.fall[surface];
  if (sim->core.slide.lean) {
    // the side above is lower by a number
    above = (ModelInterval){below.lo - fall, below.hi - fall};
  } else if (!enclose_derivative(sim, 1, s->state, l, r, &above)) {
    return false;
  }
  if (s->negative) return below.hi < 0.0 && above.lo > 0.0;
  return below.lo > 0.0 && above.hi < 0.0;
}

/// Coefficients of the touched surfaces at the end, one by one. False: there are many, or that is
/// not possible.
static bool update_touched(EngSim* sim, double middle, double t_end, uint32_t* count) {
  const EngDependency* dependency = sim->core.slide.lean ? eng_dependency(sim) : NULL;
  if (!dependency || !dependency->has_rows) return false;
  num_dense_eval(sim->stepper, middle, sim->probe.x);
  num_dense_eval(sim->stepper, t_end, sim->x);
  *count = 0;
  value_touch_changed(sim, dependency, sim->probe.x, count);
  value_touch_changed(sim, dependency, sim->x, count);
  value_forget_touched(sim, *count);
  if (*count > sim->core.slide.count / VALUE_PART_SHARE) return false;
  for (uint32_t k = 0; k < *count; k++) {
    uint32_t i = sim->sliding.motion.touched[k];
    if (!value_coefficient_of(sim, i, t_end, sim->x, &sim->sliding.motion.last[i])) return false;
  }
  return true;
}

/// The first exit of a surface, if it is before `first`.
static double exit_of(EngSim* sim, uint32_t i, double t_from, double first, uint32_t* surface,
                      bool* above) {
  SurfaceExit e = {.exit = {.user = sim,
                            .look = look_at_surface,
                            .prove = prove_surface,
                            .alone = sim->core.slide.mixed},
                   .surface = i};
  num_exit_search(&e.exit, t_from, fmin(first, sim->stepper->trial.t));
  if (e.exit.undecided) sim->core.counts.undecided++;
  double found = e.exit.t;
  // of several at once that of the first relation, whatever the order of the surfaces
  bool earlier = found < first ||
                 (found == first && isfinite(found) && *surface != i &&
                  sim->sliding.value.surfaces[i].atom < sim->sliding.value.surfaces[*surface].atom);
  if (!earlier) return first;
  *surface = i;
  *above = e.exit.above;
  return found;
}

double eng_value_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above) {
  uint32_t n = sim->core.slide.count;
  size_t states = sim->core.mode->state_count * sizeof(double);
  double t_end = sim->stepper->trial.t;
  double middle = t_from + 0.5 * (t_end - t_from);
  double first = (double)INFINITY;
  if (!coefficients_are_known(sim, t_from)) {
    if (coefficients_on_trial(sim, t_from) < 0) return t_from;
    memcpy(sim->sliding.motion.last, sim->sliding.motion.alpha, n * sizeof(double));
    memcpy(sim->sliding.motion.last_x, sim->x, states);
  }
  uint32_t touched = 0;
  bool few = update_touched(sim, middle, t_end, &touched);
  if (!few) {
    sim->sliding.motion.last_t = (double)NAN;
    if (coefficients_on_trial(sim, t_end) < 0) return first;
    memcpy(sim->sliding.motion.last, sim->sliding.motion.alpha, n * sizeof(double));
  }
  sim->sliding.motion.last_t = t_end;
  memcpy(sim->sliding.motion.last_x, sim->x, states);
  for (uint32_t k = 0; k < (few ? touched : n); k++) {
    uint32_t i = few ? sim->sliding.motion.touched[k] : k;
    first = exit_of(sim, i, t_from, first, surface, above);
  }
  return first;
}

void eng_value_leave(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t a = sim->sliding.value.surfaces[surface].first; a != MODEL_NONE;
       a = sim->sliding.value.next[a]) {
    EngAtom* atom = &sim->atoms[a];
    atom->truth = above == sim->sliding.value.same[a];
    atom->marks.left_now = true;
    sim->env[sim->model->atoms[a].env] = atom->truth ? 1.0 : 0.0;
  }
  memcpy(sim->probe.states, sim->state, sim->model->automaton_count * sizeof *sim->state);
  if (sim->active.reduced) {
    eng_reduced_leave(sim, surface, above);
  } else {
    for (uint32_t i = 0; i < sim->sliding.value.switch_count; i++) {
      const EngValueSwitch* s = &sim->sliding.value.switches[i];
      if (s->surface == surface) sim->probe.states[s->automaton] = above == s->rises ? 1 : 0;
    }
  }
  sim->core.slide = (EngSlide){.count = 0};
}
