// SPDX-License-Identifier: MIT
//
// Shared by the files about sliding by value.
#ifndef SALTUS_ENGINE_SLIDING_VALUE_H
#define SALTUS_ENGINE_SLIDING_VALUE_H

#include "engine/run/run.h"

#define VALUE_PART_SHARE 4  // few: one in so many

#define SLIDE_KEPT    (UINT32_MAX - 1)  // a relation that the motion keeps at zero
#define SLIDE_KINK    (UINT32_MAX - 2)  // ... at whose zero the flows are continuous
#define NO_SURFACE    UINT32_MAX
#define MANY_SURFACES (UINT32_MAX - 1)

/// Which way a rate leads, of the rates below and above a surface: 0 where rounding explains it.
static inline int value_direction(double rate, double low, double high) {
  double noise = 0x1p-40 * (fabs(low) + fabs(high));
  return rate > noise ? 1 : rate < -noise ? -1 : 0;
}

static inline uint32_t value_join(uint32_t a, uint32_t b) {
  if (a == b || b == NO_SURFACE) return a;
  return a == NO_SURFACE ? b : MANY_SURFACES;
}

/// Whether a relation may be part of a surface, wherever the motion is.
bool value_may_bound(const EngSim* sim, uint32_t atom);
/// Whether a state is zero within its tolerance.
bool value_is_at_zero(const EngSim* sim, uint32_t state);
/// Whether g of a relation of the present mode is.
bool slide_is_at_zero(EngSim* sim, uint32_t index, double g);
/// A relation of a surface; `same`: its g has the sign of the surface's.
void value_add_relation(EngSim* sim, uint32_t surface, uint32_t atom, bool same);
/// The surface that a set of switch entries depends on: NO_SURFACE, MANY_SURFACES, or its number.
uint32_t value_label(const EngSim* sim, const EngDependency* dependency, uint32_t set);
/// Flows below and above all surfaces: `below`, value_out.
void value_run_ends(EngSim* sim, double t, const double* x, double* below);
/// By how much the outputs behind these parts are shifted across their surfaces, at the present
/// point; the flows are in side_f and value_out.
void value_measure_parts(EngSim* sim, uint32_t first_rhs, uint32_t first_full);
/// The coefficients of the first surfaces without a pull at a point, into value_last, from those
/// that are noted there for another one: only what reads something that differs is computed. False:
/// nothing is noted, or too much differs.
bool value_note_coefficients(EngSim* sim, const EngDependency* dependency, double t,
                             const double* x, uint32_t surfaces);
/// The equations of what does not slide, where they are few: value_part.
SltStatus value_choose_part(EngSim* sim);
/// Side of a surface that the present positions of its switches stand for.
bool value_present_side(const EngSim* sim, uint32_t surface);
/// Truths of a surface's relations as on one side, held, so that nothing fires because of them.
void value_latch(EngSim* sim, uint32_t surface, bool above);

// ---- sliding/surfaces.c

typedef enum EngKeep { ENG_KEEP_WANTED, ENG_KEEP_SEPARATING, ENG_KEEP_SLIDING } EngKeep;

/// Two points and times beside the present one.
void slide_probe_point(const EngSim* sim, uint32_t point, double* x);
double slide_probe_time(const EngSim* sim, uint32_t point);
/// g of a mode's relations at a point; the mode's states are published.
SltStatus slide_values(EngSim* sim, const ModelMode* mode, double t, const double* x, double* g);
/// The surfaces that the motion stands on. `many`: they may be looked for among the states first.
SltStatus slide_find_surfaces(EngSim* sim, bool many);
/// Leave out the surfaces that are not to be kept, and what belongs to them; renumbers. Whether
/// there were any.
bool slide_keep(EngSim* sim, EngKeep what);
/// Truths of a surface's relations as on one side, in the environment.
void slide_impose(EngSim* sim, uint32_t surface, bool above);
/// Both flows lead away from the surface: what follows is a choice, and said once.
void slide_warn_escaping(EngSim* sim, uint32_t surface, bool above);
/// Values of the surfaces beside the present point, for slide_recognise().
SltStatus slide_note_probes(EngSim* sim);
/// Relations of another mode, whose states are published, that belong to the surfaces; values of
/// all its relations stay in side_g.
SltStatus slide_recognise(EngSim* sim, const ModelMode* mode);

// ---- sliding/coefficient.c

/// Switches of the surfaces take the positions that the coefficients say.
void value_publish_coefficients(EngSim* sim, const double* alpha);
/// ... and their own again.
void value_publish_positions(EngSim* sim);
/// Rates of the surfaces from the flows on both sides: where g is a state they are components.
void value_rates_of_flows(EngSim* sim, const double* below);
/// Coefficients from the flows on both sides.
SltStatus value_coefficients_of_flows(EngSim* sim, const double* below, const double* x, bool pull,
                                      double* alpha);
/// Rates of all surfaces at both ends of the coefficients: value_low, value_high.
SltStatus value_ends_at(EngSim* sim, double t, const double* x);
/// Coefficients for which every sliding surface moves at the wanted rate, from the rates at the
/// ends. False when the iteration does not settle.
bool value_refine(EngSim* sim, double t, const double* x, const double* wanted, double* alpha);
/// The surfaces whose coefficient may be another one at x than was noted for value_last_x:
/// something they read is.
void value_touch_changed(EngSim* sim, const EngDependency* dependency, const double* x,
                         uint32_t* count);
/// The list is used and may be made anew.
void value_forget_touched(EngSim* sim, uint32_t count);
/// The coefficient of one surface; false: that is not possible.
bool value_coefficient_of(EngSim* sim, uint32_t surface, double t, const double* x, double* alpha);
/// Coefficients at (t, x); `pull` draws the surfaces to zero.
SltStatus value_coefficients_at(EngSim* sim, double t, const double* x, bool pull, double* alpha);

// ---- sliding/strategy.c

/// How the motion along the present surfaces is computed.
SltStatus value_choose_strategy(EngSim* sim);
/// By how much what depends on the surfaces is shifted across them, at the present point. (It is
/// the same everywhere but for rounding.)
void value_measure_shifts(EngSim* sim);
/// Outputs of both sides combined, each with the coefficient of the surface it depends on.
void value_mix(const EngSim* sim, const EngValuePart* parts, uint32_t count, const double* high,
               double* out);
/// The same from the side below and the shifts.
void value_shift(const EngSim* sim, const EngValuePart* parts, uint32_t count, const double* shifts,
                 double* out);

#endif
