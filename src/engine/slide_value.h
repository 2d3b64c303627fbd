// SPDX-License-Identifier: MIT
//
// Shared by slide_value.c and slide_local.c.
#ifndef SALTUS_ENGINE_SLIDE_VALUE_H
#define SALTUS_ENGINE_SLIDE_VALUE_H

#include "engine/internal.h"

#define VALUE_RATE_TOLERANCE 1e-9  // relative to the largest rate: smaller ones have no direction

#define NO_SURFACE    UINT32_MAX
#define MANY_SURFACES (UINT32_MAX - 1)

static inline uint32_t value_join(uint32_t a, uint32_t b) {
  if (a == b || b == NO_SURFACE) return a;
  return a == NO_SURFACE ? b : MANY_SURFACES;
}

/// Whether a relation may be part of a surface, wherever the motion is.
bool value_may_bound(const EngSim* sim, uint32_t atom);
/// Whether g is so small that the relation may be at its boundary.
bool value_is_at_zero(const EngSim* sim, uint32_t atom, double g);
/// A relation of a surface; `same`: its g has the sign of the surface's.
void value_add_relation(EngSim* sim, uint32_t surface, uint32_t atom, bool same);
/// The surface that a set of switch entries hangs on: NO_SURFACE, MANY_SURFACES, or its number.
uint32_t value_label(const EngSim* sim, const EngHang* hang, uint32_t set);
/// Flows below and above all surfaces: `below`, value_out.
void value_run_ends(EngSim* sim, double t, const double* x, double* below);
/// By how much the outputs behind these parts are shifted across their surfaces, at the present
/// point; the flows are in side_f and value_out.
void value_measure_parts(EngSim* sim, uint32_t first_rhs, uint32_t first_full);
/// The shares of the first surfaces without a pull at a point, into value_last, from those that are
/// noted there for another one: only what reads something that differs is computed. False: nothing
/// is noted, or too much differs.
bool value_note_shares(EngSim* sim, const EngHang* hang, double t, const double* x,
                       uint32_t surfaces);
/// The equations of what does not slide, where they are few: value_part.
SltStatus value_choose_part(EngSim* sim);
/// Side of a surface that the present positions of its switches stand for.
bool value_present_side(const EngSim* sim, uint32_t surface);
/// Truths of a surface's relations as on one side, held, so that nothing fires because of them.
void value_latch(EngSim* sim, uint32_t surface, bool above);

#endif
