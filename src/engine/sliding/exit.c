// SPDX-License-Identifier: MIT
//
// Where the motion leaves a surface: a coefficient comes to 0 or 1.
//
// Coefficients are enclosed over the whole step, like the relations that events wait for: the rates
// on all sides of a group over a piece of the dense output show that they stay inside (0, 1), or
// the piece is halved, the earlier half first. One surface is left where one of the two rates
// vanishes; for groups of several the enclosure is Krawczyk's, around the solution in the middle.
#include "engine/detect/bernstein.h"
#include "engine/detect/follow.h"
#include "engine/sliding/sides.h"

#include <math.h>
#include <string.h>

// ---- enclosures over a piece --------------------------------------------------------------------

/// The search in one group.
typedef struct GroupExit {
  EngExit exit;
  uint32_t members[ENG_GROUP_MAX];
  uint32_t count;
} GroupExit;

/// States of a row are looked at beside the surfaces that have an offset.
static void shift_row(EngSim* sim, uint32_t row) {
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    double slope = sim->sliding.motion.slope[k];
    if (s->offset == 0.0 || slope == 0.0) continue;
    double by = (side_is_above(s, row) ? s->offset : -s->offset) / slope;
    ModelInterval* x = &sim->sliding.sides.x[s->lifts].v;
    *x = (ModelInterval){x->lo + by, x->hi + by};
  }
}

/// Derivatives of the surfaces of a group over [l, r], by bit and pattern.
static void enclose_group(const GroupExit* search, double l, double r,
                          ModelInterval out[][ENG_SIDES_MAX]) {
  EngSim* sim = search->exit.sim;
  EngSliding* w = &sim->sliding;
  const ModelContext* context = eng_context(sim);
  const EngSurface* first = &sim->sliding.value.surfaces[search->members[0]];
  uint32_t n = sim->core.mode->state_count;
  bool second = false;
  for (uint32_t bit = 0; bit < search->count; bit++) {
    second |= sim->sliding.value.surfaces[search->members[bit]].order == 2;
  }
  for (uint32_t p = 0; p < 1u << search->count; p++) {
    uint32_t row = side_row(first, p);
    const ModelMode* mode = w->sides.regs[row].mode;
    for (uint32_t i = 0; i < n; i++) {
      w->sides.x[i] = eng_enclose_state(sim, i, l, r);
    }
    shift_row(sim, row);
    if (second) {
      model_program_enclose(&mode->rhs, context, w->sides.regs[row].rhs_dual, (ModelInterval){l, r},
                            w->sides.x, w->sides.flow);
      for (uint32_t i = 0; i < n; i++) {
        w->sides.x[i].d = w->sides.flow[i].v;
      }
    }
    model_program_enclose(&mode->gdot, context, w->sides.regs[row].gdot_dual, (ModelInterval){l, r},
                          w->sides.x, sim->proof.g_dual);
    for (uint32_t bit = 0; bit < search->count; bit++) {
      uint32_t k = search->members[bit];
      uint32_t place = w->sides.place[ENG_SIDES_MAX * k + p];
      ModelInterval found = {-(double)INFINITY, (double)INFINITY};
      if (place != MODEL_NONE) {
        ModelDual d = sim->proof.g_dual[place / 2];
        found = sim->sliding.value.surfaces[k].order == 2 ? d.d : d.v;
        if (place & 1u) found = (ModelInterval){-found.hi, -found.lo};
      }
      out[bit][p] = found;
    }
  }
}

static ModelInterval scaled(ModelInterval a, double by) {
  return by < 0.0 ? (ModelInterval){by * a.hi, by * a.lo} : (ModelInterval){by * a.lo, by * a.hi};
}

static ModelInterval sum(ModelInterval a, ModelInterval b) {
  return (ModelInterval){a.lo + b.lo, a.hi + b.hi};
}

/// Derivative of a surface with coefficients at these numbers, and its change with one of them.
static ModelInterval combined(const ModelInterval* values, uint32_t count, const double* alpha,
                              uint32_t change) {
  ModelInterval all = {0.0, 0.0};
  uint32_t full = (1u << count) - 1u;
  for (uint32_t p = 0; p <= full; p++) {
    double w = change == MODEL_NONE ? side_weight(p, full, alpha)
                                    : side_weight(p, full & ~(1u << change), alpha) *
                                          (p >> change & 1u ? 1.0 : -1.0);
    all = sum(all, scaled(values[p], w));
  }
  return all;
}

/// Inverse of the middle of the matrix at `middle`; false: it has none.
static bool invert_middle(ModelInterval values[][ENG_SIDES_MAX], uint32_t count,
                          const double* middle, double* inverse) {
  double a[ENG_GROUP_MAX * ENG_GROUP_MAX];
  double scale[ENG_GROUP_MAX];
  double scratch[ENG_GROUP_MAX];
  uint32_t pivot[ENG_GROUP_MAX];
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = 0; j < count; j++) {
      ModelInterval d = combined(values[i], count, middle, j);
      a[i * count + j] = 0.5 * (d.lo + d.hi);
    }
  }
  if (num_lu_factor(count, a, 1e-14, scale, pivot, NULL) < 0) return false;
  for (uint32_t j = 0; j < count; j++) {
    double column[ENG_GROUP_MAX] = {0.0};
    column[j] = 1.0;
    num_lu_solve(count, a, pivot, scratch, column);
    for (uint32_t i = 0; i < count; i++) {
      inverse[i * count + j] = column[i];
    }
  }
  return true;
}

/// Slope of a row by one coefficient over the box around `middle`: at its corners, the system being
/// linear in each coefficient.
static ModelInterval slope_over_box(const ModelInterval* row, uint32_t count, const double* middle,
                                    const double* radius, uint32_t by) {
  ModelInterval hull = {(double)INFINITY, -(double)INFINITY};
  for (uint32_t corner = 0; corner < 1u << count; corner++) {
    double at[ENG_GROUP_MAX];
    for (uint32_t c = 0; c < count; c++) {
      at[c] = middle[c] + (corner >> c & 1u ? radius[c] : -radius[c]);
    }
    ModelInterval d = combined(row, count, at, by);
    hull = (ModelInterval){fmin(hull.lo, d.lo), fmax(hull.hi, d.hi)};
  }
  return hull;
}

/// Krawczyk: whether the coefficients of a group stay inside (0, 1) for all derivatives in
/// `values`, by the solution `middle` for derivatives among them.
static bool stays_inside(ModelInterval values[][ENG_SIDES_MAX], uint32_t count,
                         const double* middle) {
  double inverse[ENG_GROUP_MAX * ENG_GROUP_MAX];
  if (!invert_middle(values, count, middle, inverse)) return false;
  // how far the solutions may be from the middle, as far as the system is linear
  double radius[ENG_GROUP_MAX];
  for (uint32_t i = 0; i < count; i++) {
    ModelInterval step = {0.0, 0.0};
    for (uint32_t j = 0; j < count; j++) {
      step =
          sum(step, scaled(combined(values[j], count, middle, MODEL_NONE), inverse[i * count + j]));
    }
    radius[i] = 2.0 * fmax(fabs(step.lo), fabs(step.hi)) + 1e-12;
    if (!(middle[i] - radius[i] > 0.0 && middle[i] + radius[i] < 1.0)) return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    double moves = 0.0;
    for (uint32_t j = 0; j < count; j++) {
      ModelInterval slope = {0.0, 0.0};
      for (uint32_t m = 0; m < count; m++) {
        ModelInterval d = slope_over_box(values[m], count, middle, radius, j);
        slope = sum(slope, scaled(d, inverse[i * count + m]));
      }
      double unit = i == j ? 1.0 : 0.0;
      moves += fmax(fabs(unit - slope.lo), fabs(unit - slope.hi)) * radius[j];
    }
    if (!(0.5 * radius[i] + moves <= radius[i])) return false;
  }
  return true;
}

/// Whether no surface of the group is left in [l, r], for certain; the coefficients in the middle
/// are in value_last.
static bool prove_group(EngExit* e, double l, double r) {
  const GroupExit* search = (const GroupExit*)e;
  ModelInterval values[ENG_GROUP_MAX][ENG_SIDES_MAX];
  if (e->sim->core.slide.linked) return false;
  enclose_group(search, l, r, values);
  if (search->count == 1) return values[0][0].lo > 0.0 && values[0][1].hi < 0.0;
  double middle[ENG_GROUP_MAX];
  for (uint32_t bit = 0; bit < search->count; bit++) {
    middle[bit] = e->sim->sliding.motion.last[search->members[bit]];
  }
  return stays_inside(values, search->count, middle);
}

/// The coefficients of a group at a time.
static SltStatus look_at_group(EngExit* e, double t, bool* above) {
  const GroupExit* search = (const GroupExit*)e;
  EngSim* sim = e->sim;
  num_dense_eval(sim->stepper, t, sim->x);
  SLT_TRY(side_coefficients(sim, t, sim->x, false, sim->sliding.motion.last));
  if (e->watched != MODEL_NONE) e->coefficient = sim->sliding.motion.last[e->watched];
  for (uint32_t bit = 0; bit < search->count; bit++) {
    double a = sim->sliding.motion.last[search->members[bit]];
    if (a > -e->slack && a < 1.0 + e->slack) continue;
    e->outside = fmax(e->outside, fmax(-a, a - 1.0));
    *above = a >= 1.0;
    e->surface = search->members[bit];
    break;
  }
  return SLT_OK;
}

double eng_slide_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above) {
  const EngSlide* slide = &sim->core.slide;
  double first = (double)INFINITY;
  if (slide->by_value) return eng_value_exit(sim, t_from, surface, above);
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    eng_control_state(sim, i);
  }
  for (uint32_t k = 0; k < slide->count; k++) {
    double g = 0.0;
    if (sim->sliding.value.surfaces[k].offset == 0.0) continue;
    num_dense_eval(sim->stepper, t_from, sim->x);
    sim->sliding.motion.slope[k] = side_slope(sim, k, t_from, sim->x, &g);
  }
  for (uint32_t g = 0; g < slide->group_count; g++) {
    GroupExit search = {.exit = {.sim = sim, .look = look_at_group, .prove = prove_group}};
    search.count = side_members(sim, g, search.members);
    search.exit.alone = search.count == 1 && !slide->linked;
    search.exit.may_slack = slide->linked;
    search.exit.blind = slide->linked;
    eng_exit_search(&search.exit, t_from, fmin(sim->stepper->trial.t, first));
    if (search.exit.undecided) sim->core.counts.undecided++;
    if (!(search.exit.t < first)) continue;
    first = search.exit.t;
    *surface = search.exit.left;
    *above = search.exit.above;
  }
  return first;
}
