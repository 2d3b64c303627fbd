// SPDX-License-Identifier: MIT
//
// Motion along surfaces: the convex combination of the flows on their sides.
//
// Along one surface the coefficient of the side above is alpha = n(0)/(n(0) - n(1)), from the rates
// of g on both sides; groups of surfaces that depend on each other have the multilinear
// combination. A term draws g to zero at a rate of about the step size, so that rounding cannot
// accumulate.
#include "engine/sliding/sides.h"

#include <string.h>

/// Weights of the patterns of a surface's group.
static double* weights_of(const EngSim* sim, uint32_t group) {
  return &sim->sliding.sides.weight[(size_t)ENG_SIDES_MAX * group];
}

static void find_weights(EngSim* sim, const double* alpha) {
  for (uint32_t g = 0; g < sim->core.slide.group_count; g++) {
    uint32_t members[ENG_GROUP_MAX];
    double own[ENG_GROUP_MAX] = {0.0};
    uint32_t count = side_members(sim, g, members);
    for (uint32_t bit = 0; bit < count; bit++) {
      own[bit] = alpha[members[bit]];
    }
    double* weight = weights_of(sim, g);
    for (uint32_t p = 0; p < 1u << count; p++) {
      weight[p] = num_multilinear_weight(p, (1u << count) - 1u, own);
    }
  }
}

double side_row_weight(const EngSim* sim, uint32_t row, uint32_t owner) {
  const EngSlide* slide = &sim->core.slide;
  const EngSurface* surfaces = sim->sliding.value.surfaces;
  if (slide->group_count == 1) return weights_of(sim, 0)[side_pattern(&surfaces[0], row)];
  bool owned = owner != MODEL_NONE && !surfaces[owner].serial;
  double base = owned ? weights_of(sim, surfaces[owner].group)[0] : 1.0;
  for (uint32_t k = 0; k < slide->count; k++) {
    const EngSurface* s = &surfaces[k];
    if (!s->serial || s->bit != 0) continue;
    uint32_t pattern = side_pattern(s, row);
    if (pattern) return weights_of(sim, s->group)[pattern];
    base -= 1.0 - weights_of(sim, s->group)[0];
  }
  if (row == 0) return base;
  uint32_t pattern = owned ? side_pattern(&surfaces[owner], row) : 0;
  return pattern ? weights_of(sim, surfaces[owner].group)[pattern] : 0.0;
}

/// Derivatives that the pull asks for, by bit.
static void wanted_of(const EngSim* sim, const uint32_t* members, uint32_t count, bool pull,
                      double* wanted) {
  double k = sim->core.slide.stiffness;
  for (uint32_t bit = 0; bit < count; bit++) {
    const EngSurface* s = &sim->sliding.value.surfaces[members[bit]];
    double g = sim->proof.g_dual[s->index].v.lo;
    wanted[bit] = !pull           ? 0.0
                  : s->order == 2 ? -2.0 * k * sim->sliding.sides.speed[members[bit]] - k * k * g
                                  : -k * g;
  }
}

static bool solve_group(EngSim* sim, uint32_t group, bool pull, double* alpha) {
  uint32_t members[ENG_GROUP_MAX];
  double values[ENG_GROUP_MAX][ENG_SIDES_MAX];
  double wanted[ENG_GROUP_MAX];
  double own[ENG_GROUP_MAX];
  uint32_t count = side_members(sim, group, members);
  for (uint32_t bit = 0; bit < count; bit++) {
    memcpy(values[bit], &sim->sliding.sides.rate[(size_t)ENG_SIDES_MAX * members[bit]],
           sizeof values[bit]);
    own[bit] = sim->sliding.motion.alpha[members[bit]];
  }
  wanted_of(sim, members, count, pull, wanted);
  if (!num_multilinear_solve((const double(*)[ENG_SIDES_MAX])values, count, (1u << count) - 1u, 0,
                             wanted, own)) {
    return false;
  }
  for (uint32_t bit = 0; bit < count; bit++) {
    alpha[members[bit]] = own[bit];
  }
  return true;
}

/// All surfaces at once.
static SltStatus solve_linked(EngSim* sim, bool pull, double* alpha) {
  const EngSlide* slide = &sim->core.slide;
  double* wanted = sim->sliding.motion.wanted;
  for (uint32_t k = 0; k < slide->count; k++) {
    wanted_of(sim, &k, 1, pull, &wanted[k]);
  }
  SLT_TRY(side_solve_linked(sim, wanted, alpha));
  if (!sim->core.contact.active) return SLT_OK;
  find_weights(sim, alpha);
  side_combine_reactions(sim);
  return SLT_OK;
}

SltStatus side_coefficients(EngSim* sim, double t, const double* x, bool pull, double* alpha) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->linked) SLT_TRY(side_evaluate_linked(sim, t, x, pull));
  for (uint32_t row = 0; row < slide->rows && !slide->linked; row++) {
    side_evaluate(sim, row, t, x);
  }
  if (pull) {
    const ModelMode* mode = sim->core.mode;
    model_program_run(&mode->g_flow, eng_context(sim), sim->programs.g_flow, t, x, sim->probe.g);
    for (uint32_t k = 0; k < slide->count; k++) {
      uint32_t index = sim->sliding.value.surfaces[k].index;
      sim->proof.g_dual[index].v.lo = sim->probe.g[index];
    }
  }
  if (slide->linked) return solve_linked(sim, pull, alpha);
  for (uint32_t g = 0; g < slide->group_count; g++) {
    if (!solve_group(sim, g, pull, alpha)) return SLT_ERR_NO_CONVERGENCE;
  }
  return SLT_OK;
}

bool eng_slide_reactions(EngSim* sim, double t, const double* x) {
  return side_coefficients(sim, t, x, false, sim->sliding.motion.trial) >= 0;
}

bool eng_slide_complementarity(EngSim* sim) {
  return side_complementarity(sim);
}

SltStatus eng_slide_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) return eng_value_rhs(sim, t, x, dx);
  double* alpha = sim->sliding.motion.trial;
  SLT_TRY(side_coefficients(sim, t, x, true, alpha));
  find_weights(sim, alpha);
  uint32_t n = sim->core.mode->state_count;
  for (uint32_t i = 0; i < n; i++) {
    dx[i] = 0.0;
  }
  for (uint32_t row = 0; row < slide->rows; row++) {
    const double* f = side_flow(sim, row);
    double whole = slide->group_count == 1 ? side_row_weight(sim, row, MODEL_NONE) : 0.0;
    for (uint32_t i = 0; i < n; i++) {
      double w = slide->group_count == 1
                     ? whole
                     : side_row_weight(sim, row, sim->sliding.value.of_state[i]);
      if (w != 0.0) dx[i] += w * f[i];
    }
  }
  return SLT_OK;
}

/// Computed values of all rows, combined with these coefficients, added to `values`.
static void combine_values(EngSim* sim, double t, const double* alpha, double* values,
                           uint8_t* known) {
  const EngSlide* slide = &sim->core.slide;
  find_weights(sim, alpha);
  for (uint32_t row = 0; row < slide->rows; row++) {
    EngSideRegs* r = &sim->sliding.sides.regs[row];
    const ModelMode* mode = r->mode;
    model_program_run(&mode->full, eng_context(sim), r->full, t, side_point(sim, row, t, sim->x),
                      sim->values.full);
    // quantities that only some sides compute keep the part those sides give
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      uint32_t env = mode->full_env[i];
      double w = side_row_weight(sim, row, sim->sliding.value.of_env[env]);
      if (w != 0.0) values[env] += w * sim->values.full[i];
      if (known) known[env] = 1;
    }
  }
}

void eng_slide_full(EngSim* sim, double t) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) {
    eng_value_full(sim, t);
    return;
  }
  if (side_coefficients(sim, t, sim->x, false, sim->sliding.motion.trial) < 0) return;
  for (uint32_t row = 0; row < slide->rows; row++) {
    const ModelMode* mode = sim->sliding.sides.regs[row].mode;
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      sim->env[mode->full_env[i]] = 0.0;
    }
  }
  combine_values(sim, t, sim->sliding.motion.trial, sim->env, NULL);
}

bool eng_slide_coefficients(EngSim* sim, double* alpha) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) return eng_value_coefficients(sim, alpha);
  return side_coefficients(sim, sim->core.t, sim->x, false, alpha) >= 0;
}

void eng_slide_side(EngSim* sim, uint32_t surface, bool above, const double* alpha, double* values,
                    uint8_t* known) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) {
    eng_value_side(sim, surface, above, alpha, values, known);
    return;
  }
  memcpy(sim->sliding.motion.trial, alpha, slide->count * sizeof *alpha);
  sim->sliding.motion.trial[surface] = above ? 1.0 : 0.0;
  combine_values(sim, sim->core.t, sim->sliding.motion.trial, values, known);
}

uint32_t eng_slide_atom(const EngSim* sim, uint32_t surface) {
  return sim->sliding.value.surfaces[surface].atom;
}

bool eng_slides_along(const EngSim* sim, uint32_t atom, bool* describes) {
  *describes = false;
  if (!sim->core.slide.count || sim->sliding.value.of_atom[atom] == MODEL_NONE) return false;
  uint32_t surface = sim->sliding.value.of_atom[atom];
  *describes = surface != SLIDE_KEPT && sim->sliding.value.surfaces[surface].atom == atom;
  return true;
}
