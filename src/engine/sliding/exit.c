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

// ---- enclosures over a piece --------------------------------------------------------------------

/// The search in one group.
typedef struct GroupExit {
  NumExit exit;
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
                          NumInterval out[][NUM_PATTERNS]) {
  EngSim* sim = search->exit.user;
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
      model_program_enclose(&mode->rhs, context, w->sides.regs[row].rhs_dual, model_time(l, r),
                            w->sides.x, w->sides.flow);
      for (uint32_t i = 0; i < n; i++) {
        w->sides.x[i].d = w->sides.flow[i].v;
      }
    }
    for (uint32_t bit = 0; bit < search->count; bit++) {
      uint32_t k = search->members[bit];
      uint32_t place = w->sides.place[ENG_SIDES_MAX * k + p];
      ModelInterval found = {-(double)INFINITY, (double)INFINITY};
      if (place != MODEL_NONE) {
        uint32_t index = place / 2;
        model_program_enclose_some(&mode->gdot, context, w->sides.regs[row].gdot_dual,
                                   model_time(l, r), w->sides.x, &index, 1, sim->proof.g_dual);
        ModelDual d = sim->proof.g_dual[index];
        found = sim->sliding.value.surfaces[k].order == 2 ? d.d : d.v;
        if (place & 1u) found = (ModelInterval){-found.hi, -found.lo};
      }
      out[bit][p] = (NumInterval){found.lo, found.hi};
    }
  }
}

/// Whether no surface of the group is left in [l, r], for certain; the coefficients in the middle
/// are in value_last.
static bool prove_group(NumExit* e, double l, double r) {
  const GroupExit* search = (const GroupExit*)e;
  const EngSim* sim = e->user;
  NumInterval values[NUM_MULTILINEAR][NUM_PATTERNS];
  if (sim->core.slide.linked) return false;
  enclose_group(search, l, r, values);
  if (search->count == 1) return values[0][0].lo > 0.0 && values[0][1].hi < 0.0;
  double middle[ENG_GROUP_MAX];
  for (uint32_t bit = 0; bit < search->count; bit++) {
    middle[bit] = sim->sliding.motion.last[search->members[bit]];
  }
  return num_multilinear_inside(values, search->count, middle);
}

/// The coefficients of a group at a time.
static SltStatus look_at_group(NumExit* e, double t, bool* above) {
  const GroupExit* search = (const GroupExit*)e;
  EngSim* sim = e->user;
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
    GroupExit search = {.exit = {.user = sim, .look = look_at_group, .prove = prove_group}};
    search.count = side_members(sim, g, search.members);
    search.exit.alone = search.count == 1 && !slide->linked;
    search.exit.may_slack = slide->linked;
    search.exit.blind = slide->linked;
    num_exit_search(&search.exit, t_from, fmin(sim->stepper->trial.t, first));
    if (search.exit.undecided) sim->core.counts.undecided++;
    if (!(search.exit.t < first)) continue;
    first = search.exit.t;
    *surface = search.exit.left;
    *above = search.exit.above;
  }
  return first;
}
