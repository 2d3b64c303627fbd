// SPDX-License-Identifier: MIT
//
// Which way the motion goes on from the surfaces it stands on, group by group.
//
// Let n_i(s) be the rate of g_i under the flow of the mode on sides s. Going on inside the region s
// is consistent when every n_i(s) points into it; going on along a subset of the surfaces is
// consistent when a convex combination of the flows keeps them at zero and every other n_j points
// off to its side (Filippov 1988; for two and more surfaces the multilinear combination of
// Alexander and Seidman). The smallest subset that is consistent is taken: where a motion can leave
// a surface it does. The present region comes first, so that an escaping point stays in its mode.
//
// A rate has a direction if it is beyond what rounding explains; one that has none leaves the
// question to the next derivative. At a limit point (the rates on both sides are below what the
// tolerances explain, and do not point at the surface from both sides) second derivatives decide,
// and the coefficient comes from them: a twisting controller at rest.
#include "engine/sliding/sides.h"

#include <math.h>

#define SLID_WIDTHS 100.0  // tolerances by which motion along a limit point may have drifted off it

uint32_t side_members(const EngSim* sim, uint32_t group, uint32_t* members) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    if (s->group == group) members[s->bit] = k, count++;
  }
  return count;
}

/// What is known of a group at the present point; by bit of the surface and pattern of sides.
typedef struct Group {
  uint32_t members[ENG_GROUP_MAX];
  uint32_t count, patterns;
  double value[ENG_GROUP_MAX][ENG_SIDES_MAX];  // the derivatives that decide
  double noise[ENG_GROUP_MAX][ENG_SIDES_MAX];  // ... and what rounding may do to them
  int sign[ENG_GROUP_MAX][ENG_SIDES_MAX];      // where the flow leads: 0 for nowhere
  uint8_t order[ENG_GROUP_MAX];
  uint32_t present;  // sides of the present mode
} Group;

static int sign_of(ModelInterval a) {
  return a.lo > 0.0 ? 1 : a.hi < 0.0 ? -1 : 0;
}

/// Whether the rates of a surface have no direction within the tolerances and do not point at it
/// from both sides, but second derivatives do.
static bool at_limit(const EngSim* sim, const Group* group, uint32_t bit) {
  const EngSliding* w = &sim->sliding;
  const ModelDual* bound = &w->sides.bound[(size_t)ENG_SIDES_MAX * group->members[bit]];
  const ModelDual* wide = &w->sides.wide[(size_t)ENG_SIDES_MAX * group->members[bit]];
  uint32_t atom = w->value.surfaces[group->members[bit]].atom;
  double widths = sim->atoms[atom].marks.slid ? SLID_WIDTHS : 1.0;
  bool attracts = false;
  for (uint32_t p = 0; p < group->patterns; p++) {
    ModelInterval v = wide[p].v;
    bool near_zero = !(fabs(v.lo + v.hi) > widths * (v.hi - v.lo));
    if (!near_zero || !side_is_bounded(bound[p].d)) return false;
    uint32_t below = p & ~(1u << bit);
    uint32_t above = p | 1u << bit;
    if (sign_of(bound[below].v) > 0 && sign_of(bound[above].v) < 0) return false;
    attracts |= sign_of(bound[below].d) > 0 && sign_of(bound[above].d) < 0;
  }
  return attracts;
}

static void look_at(EngSim* sim, uint32_t number, Group* group) {
  EngSliding* w = &sim->sliding;
  group->count = side_members(sim, number, group->members);
  group->patterns = 1u << group->count;
  group->present = 0;
  for (uint32_t bit = 0; bit < group->count; bit++) {
    uint32_t k = group->members[bit];
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    const ModelDual* bound = &w->sides.bound[(size_t)ENG_SIDES_MAX * k];
    if (s->stands_above) group->present |= 1u << bit;
    bool limit = s->offset == 0.0 && at_limit(sim, group, bit);
    group->order[bit] = limit ? 2 : 1;
    for (uint32_t p = 0; p < group->patterns; p++) {
      ModelInterval a = limit ? bound[p].d : bound[p].v;
      double middle = 0.5 * (a.lo + a.hi);
      double noise = 0.5 * (a.hi - a.lo);
      bool finite = isfinite(middle) && isfinite(noise);
      int sign = sign_of(a);
      group->value[bit][p] = finite && (sign || limit) ? middle : 0.0;
      group->noise[bit][p] = finite ? noise : 0.0;
      group->sign[bit][p] = sign || limit ? sign : sign_of(bound[p].d);
    }
  }
}

/// Where a surface outside of `mask` goes.
static int leads(const Group* group, uint32_t bit, uint32_t mask, uint32_t fixed,
                 const double* alpha) {
  if (!mask) return group->sign[bit][fixed];
  double value = num_multilinear_value(group->value[bit], group->count, mask, fixed, alpha);
  double noise = num_multilinear_value(group->noise[bit], group->count, mask, fixed, alpha);
  return value > noise ? 1 : value < -noise ? -1 : 0;
}

/// Whether the motion along `mask`, on sides `fixed` of the others, can go on.
static bool consistent(const Group* group, uint32_t mask, uint32_t fixed, double* alpha) {
  // coefficients are at an end where the flow of that side only begins to point at the surface
  if (mask && !num_multilinear_search(group->value, group->count, mask, fixed, alpha)) return false;
  for (uint32_t k = 0; k < group->count; k++) {
    if (mask >> k & 1u) continue;
    int to = leads(group, k, mask, fixed, alpha);
    // no direction at all: stay on the side of the present mode
    bool above = to > 0 || (to == 0 && (group->present >> k & 1u));
    if (above != ((fixed >> k & 1u) != 0)) return false;
  }
  // sliding along one surface needs both flows to point at it
  for (uint32_t k = 0; k < group->count; k++) {
    if (mask != 1u << k) continue;
    if (group->sign[k][fixed & ~mask] <= 0 || group->sign[k][fixed | mask] >= 0) return false;
  }
  return true;
}

/// Smallest consistent subset; among its sides the present ones first.
static bool choose(const Group* group, uint32_t* mask, uint32_t* fixed, double* alpha) {
  for (uint32_t size = 0; size <= group->count; size++) {
    for (uint32_t m = 0; m < group->patterns; m++) {
      if ((uint32_t)__builtin_popcount(m) != size) continue;
      for (uint32_t turn = 0; turn < group->patterns; turn++) {
        uint32_t f = group->present ^ turn;
        if ((f & m) != (group->present & m)) continue;
        if (!consistent(group, m, f, alpha)) continue;
        *mask = m;
        *fixed = f;
        return true;
      }
    }
  }
  return false;
}

static void warn_of_escaping(EngSim* sim, const Group* group, uint32_t fixed) {
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t bit = 1u << k;
    if (group->sign[k][fixed & ~bit] >= 0 || group->sign[k][fixed | bit] <= 0) continue;
    slide_warn_escaping(sim, group->members[k], (fixed & bit) != 0);
  }
}

bool side_decide(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  for (uint32_t row = 0; row < slide->rows; row++) {
    side_evaluate(sim, row, sim->core.t, sim->x);
    side_enclose(sim, row, side_tolerance, NULL, NULL, sim->sliding.sides.wide);
    side_enclose(sim, row, side_rounding, NULL, NULL, sim->sliding.sides.bound);
  }
  bool decided = true;
  for (uint32_t g = 0; g < slide->group_count; g++) {
    Group group;
    uint32_t mask = 0;
    uint32_t fixed = 0;
    double alpha[ENG_GROUP_MAX];
    look_at(sim, g, &group);
    bool found = choose(&group, &mask, &fixed, alpha);
    decided &= found;
    if (!found) fixed = group.present;
    if (found && !mask) warn_of_escaping(sim, &group, fixed);
    for (uint32_t bit = 0; bit < group.count; bit++) {
      EngSurface* s = &sim->sliding.value.surfaces[group.members[bit]];
      s->open = !found;
      s->slides = mask >> bit & 1u;
      s->above = fixed >> bit & 1u;
      s->order = group.order[bit];
      // no direction at all: not watched until it has left what the tolerances explain
      s->tangent = !s->slides && group.sign[bit][fixed] == 0;
      sim->sliding.motion.alpha[group.members[bit]] = s->slides ? alpha[bit] : s->above ? 1.0 : 0.0;
    }
  }
  return decided;
}
