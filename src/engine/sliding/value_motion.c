// SPDX-License-Identifier: MIT
//
// Sliding by value: derivatives and values along the surfaces, and where one of them is left.
#include "engine/detect.h"
#include "engine/sliding/value.h"

#include <math.h>
#include <string.h>

// ---- motion -------------------------------------------------------------------------------------

/// One run of the equations: what is shifted by the surfaces follows from the side below.
static void shifted_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const EngSlide* slide = &sim->core.slide;
  const ModelContext* context = eng_context(sim);
  const ModelProgram* rhs = &sim->core.mode->rhs;
  if (slide->lean && sim->value_part.code) {
    model_program_run_part(rhs, context, &sim->value_part, sim->sliding.regs[0].rhs, t, x, dx);
  } else {
    model_program_run(rhs, context, sim->sliding.regs[0].rhs, t, x, dx);
  }
  if (!slide->lean) {
    value_shares_of_shifted(sim, dx, x, true, sim->value_share);
    value_shift(sim, sim->value_rhs, sim->value_rhs_count, sim->value_rhs_shift, dx);
  }
  // the shares are those with which the surfaces are drawn to zero
  double pull = -slide->stiffness;
  if (slide->lean) {
    model_scale_states(sim->value_pulled, sim->value_pulled_count, pull, x, dx);
  }
  for (uint32_t i = 0; !slide->lean && i < slide->count; i++) {
    uint32_t state = sim->value_state[i];
    dx[state] = pull * x[state];
  }
}

SltStatus eng_value_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->sliding.regs[2];
  if (sim->core.slide.shifted) {
    shifted_rhs(sim, t, x, dx);
    return SLT_OK;
  }
  if (sim->core.slide.direct) {
    value_run_ends(sim, t, x, dx);
    SLT_TRY(value_shares_of_flows(sim, dx, x, true, sim->value_share));
    value_mix(sim, sim->value_rhs, sim->value_rhs_count, sim->value_out, dx);
    return SLT_OK;
  }
  SltStatus status = value_shares_at(sim, t, x, true, sim->value_share);
  if (sim->core.slide.mixed) {
    SLT_TRY(status);
    model_program_run(&mode->rhs, context, sim->sliding.regs[0].rhs, t, x, dx);
    model_program_run(&mode->rhs, context, sim->sliding.regs[1].rhs, t, x, sim->value_out);
    value_mix(sim, sim->value_rhs, sim->value_rhs_count, sim->value_out, dx);
    return SLT_OK;
  }
  if (status >= 0) {
    status =
        eng_grow(sim, (void**)&regs->rhs, &regs->rhs_capacity, mode->rhs.reg_count, sizeof(double));
  }
  if (status >= 0) {
    value_publish_shares(sim, sim->value_share);
    model_program_bind(&mode->rhs, sim->env, regs->rhs);
    model_program_guess(&mode->rhs, sim->guess, regs->rhs);
    model_program_run(&mode->rhs, context, regs->rhs, t, x, dx);
  }
  value_publish_positions(sim);
  return status;
}

void eng_value_full(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->sliding.regs[2];
  SltStatus status = SLT_OK;
  if (sim->narrow && sim->core.slide.local) eng_narrow_patch(sim);
  const EngHang* hang = sim->core.slide.lean ? eng_hang(sim) : NULL;
  if (value_note_shares(sim, hang, t, sim->x, sim->core.slide.count)) {
    memcpy(sim->value_share, sim->value_last, sim->core.slide.count * sizeof(double));
  } else {
    status = value_shares_at(sim, t, sim->x, false, sim->value_share);
  }
  if (sim->core.slide.mixed) {
    if (status < 0) return;
    model_program_run(&mode->full, context, sim->sliding.regs[0].full, t, sim->x, sim->full);
    if (sim->core.slide.shifted) {
      value_shift(sim, sim->value_full, sim->value_full_count, sim->value_full_shift, sim->full);
    } else {
      model_program_run(&mode->full, context, sim->sliding.regs[1].full, t, sim->x, sim->value_out);
      value_mix(sim, sim->value_full, sim->value_full_count, sim->value_out, sim->full);
    }
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      sim->env[mode->full_env[i]] = sim->full[i];
    }
    return;
  }
  if (status >= 0) {
    status = eng_grow(sim, (void**)&regs->full, &regs->full_capacity, mode->full.reg_count,
                      sizeof(double));
  }
  if (status >= 0) {
    value_publish_shares(sim, sim->value_share);
    model_program_bind(&mode->full, sim->env, regs->full);
    model_program_guess(&mode->full, sim->guess, regs->full);
    model_program_run(&mode->full, context, regs->full, t, sim->x, sim->full);
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      sim->env[mode->full_env[i]] = sim->full[i];
    }
  }
  value_publish_positions(sim);
}

bool eng_value_shares(EngSim* sim, double* share) {
  SltStatus status = value_shares_at(sim, sim->core.t, sim->x, false, sim->value_share);
  if (!sim->core.slide.mixed) value_publish_positions(sim);
  if (status < 0) return false;
  memcpy(share, sim->value_share, sim->core.slide.count * sizeof *share);
  return true;
}

void eng_value_side(EngSim* sim, uint32_t surface, bool above, const double* share, double* values,
                    uint8_t* known) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->sliding.regs[2];
  if (eng_grow(sim, (void**)&regs->full, &regs->full_capacity, mode->full.reg_count,
               sizeof(double)) < 0) {
    return;
  }
  memcpy(sim->value_trial, share, sim->core.slide.count * sizeof *share);
  sim->value_trial[surface] = above ? 1.0 : 0.0;
  value_publish_shares(sim, sim->value_trial);
  model_program_bind(&mode->full, sim->env, regs->full);
  model_program_guess(&mode->full, sim->guess, regs->full);
  model_program_run(&mode->full, context, regs->full, sim->core.t, sim->x, sim->full);
  value_publish_positions(sim);
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    values[mode->full_env[i]] += sim->full[i];
    known[mode->full_env[i]] = 1;
  }
}

// ---- leaving ------------------------------------------------------------------------------------

typedef struct Exit {
  EngSim* sim;
  uint32_t surface;
  bool above;
} Exit;

static SltStatus shares_on_trial(EngSim* sim, double t) {
  num_dense_eval(sim->stepper, t, sim->x);
  SltStatus status = value_shares_at(sim, t, sim->x, false, sim->value_share);
  if (!sim->core.slide.mixed) value_publish_positions(sim);
  return status;
}

/// Share of one surface alone; false where that is not possible.
static bool share_on_trial(EngSim* sim, uint32_t surface, double t, double* share) {
  const EngSurface* s = &sim->value_surfaces[surface];
  const ModelProgram* rhs = &sim->core.mode->rhs;
  const ModelContext* context = eng_context(sim);
  EngTrialPoint point = {sim->stepper, t};
  double f[2] = {0.0, 0.0};
  if (!sim->core.slide.direct) return false;
  bool shifted = sim->core.slide.shifted;
  for (uint32_t end = 0; end < (shifted ? 1u : 2u); end++) {
    if (!model_program_run_output(rhs, context, sim->sliding.regs[end].rhs, t, eng_trial_state,
                                  &point, s->state, &f[end])) {
      return false;
    }
  }
  if (shifted) {
    *share = f[0] / sim->value_fall[surface];
    return true;
  }
  double sign = s->negative ? -1.0 : 1.0;
  double range = sign * f[0] - sign * f[1];
  *share = sign * f[0] / range;
  return range > 0.0;
}

static SltStatus exit_function(void* user, double t, double* value) {
  const Exit* e = user;
  double a = 0.0;
  if (!share_on_trial(e->sim, e->surface, t, &a)) {
    SLT_TRY(shares_on_trial(e->sim, t));
    a = e->sim->value_share[e->surface];
  }
  *value = e->above ? a - 1.0 : -a;
  return SLT_OK;
}

/// The shares at the end of the trial before are those at the begin of this one, if nothing has
/// happened in between.
static bool shares_are_known(EngSim* sim, double t_from) {
  uint32_t n = sim->core.mode->state_count;
  if (sim->value_last_t != t_from || t_from != sim->stepper->trial.t0) return false;
  return memcmp(sim->value_last_x, sim->stepper->trial.x0, n * sizeof(double)) == 0;
}

static double distance(double share, bool above) {
  return above ? share - 1.0 : -share;
}

/// Shares of the touched surfaces in the middle and at the end, one by one. False: there are many,
/// or that is not possible.
static bool share_touched(EngSim* sim, double middle, double t_end, uint32_t* count) {
  const EngHang* hang = sim->core.slide.lean ? eng_hang(sim) : NULL;
  if (!hang || !hang->has_rows) return false;
  num_dense_eval(sim->stepper, middle, sim->probe_x);
  num_dense_eval(sim->stepper, t_end, sim->x);
  *count = 0;
  value_touch_changed(sim, hang, sim->probe_x, count);
  value_touch_changed(sim, hang, sim->x, count);
  value_forget_touched(sim, *count);
  if (*count > sim->core.slide.count / VALUE_PART_SHARE) return false;
  for (uint32_t k = 0; k < *count; k++) {
    uint32_t i = sim->value_touched[k];
    if (!value_share_of(sim, i, middle, sim->probe_x, &sim->value_middle[i]) ||
        !value_share_of(sim, i, t_end, sim->x, &sim->value_last[i])) {
      return false;
    }
  }
  return true;
}

/// The first exit of a surface, if it is before `first`.
static double exit_of(EngSim* sim, uint32_t i, const double t[3], double first, uint32_t* surface,
                      bool* above) {
  double between = sim->value_middle[i];
  double last = sim->value_last[i];
  if (between >= 0.0 && between <= 1.0 && last >= 0.0 && last <= 1.0) return first;
  for (uint32_t side = 0; side < 2; side++) {
    Exit e = {sim, i, side == 1};
    double g[3] = {distance(sim->value_begin[i], e.above), distance(between, e.above),
                   distance(last, e.above)};
    double found = eng_exit_time(exit_function, &e, t, g);
    // of several at once that of the first relation, whatever the order of the surfaces
    bool earlier =
        found < first || (found == first && isfinite(found) && *surface != i &&
                          sim->value_surfaces[i].atom < sim->value_surfaces[*surface].atom);
    if (!earlier) continue;
    first = found;
    *surface = i;
    *above = e.above;
  }
  return first;
}

double eng_value_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above) {
  uint32_t n = sim->core.slide.count;
  size_t states = sim->core.mode->state_count * sizeof(double);
  double t_end = sim->stepper->trial.t;
  double middle = t_from + 0.5 * (t_end - t_from);
  double first = (double)INFINITY;
  if (!shares_are_known(sim, t_from)) {
    if (shares_on_trial(sim, t_from) < 0) return t_from;
    memcpy(sim->value_last, sim->value_share, n * sizeof(double));
    memcpy(sim->value_last_x, sim->x, states);
  }
  memcpy(sim->value_begin, sim->value_last, n * sizeof(double));
  uint32_t touched = 0;
  bool few = share_touched(sim, middle, t_end, &touched);
  if (!few) {
    sim->value_last_t = (double)NAN;
    if (shares_on_trial(sim, middle) < 0) return first;
    memcpy(sim->value_middle, sim->value_share, n * sizeof(double));
    if (shares_on_trial(sim, t_end) < 0) return first;
    memcpy(sim->value_last, sim->value_share, n * sizeof(double));
  }
  sim->value_last_t = t_end;
  memcpy(sim->value_last_x, sim->x, states);
  for (uint32_t k = 0; k < (few ? touched : n); k++) {
    uint32_t i = few ? sim->value_touched[k] : k;
    first = exit_of(sim, i, (double[3]){t_from, middle, t_end}, first, surface, above);
  }
  return first;
}

void eng_value_leave(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t a = sim->value_surfaces[surface].first; a != MODEL_NONE; a = sim->value_next[a]) {
    EngAtom* atom = &sim->atoms[a];
    atom->truth = above == sim->value_same[a];
    atom->left_now = true;
    sim->env[sim->model->atoms[a].env] = atom->truth ? 1.0 : 0.0;
  }
  memcpy(sim->side_work, sim->state, sim->model->automaton_count * sizeof *sim->state);
  if (sim->narrow) {
    eng_narrow_leave(sim, surface, above);
  } else {
    for (uint32_t i = 0; i < sim->value_switch_count; i++) {
      const EngValueSwitch* s = &sim->value_switches[i];
      if (s->surface == surface) sim->side_work[s->automaton] = above == s->rises ? 1 : 0;
    }
  }
  sim->core.slide = (EngSlide){.count = 0};
}
