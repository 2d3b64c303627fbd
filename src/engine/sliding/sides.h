// SPDX-License-Identifier: MIT
//
// Shared by the files about the sides of surfaces: sides.c, groups.c, decide.c, motion.c, exit.c.
#ifndef SALTUS_ENGINE_SLIDING_SIDES_H
#define SALTUS_ENGINE_SLIDING_SIDES_H

#include "engine/sliding/value.h"

static inline uint32_t* side_states(EngSim* sim, uint32_t row) {
  return sim->sliding.sides.states + (size_t)row * sim->model->automaton_count;
}

static inline uint8_t* side_truths(EngSim* sim, uint32_t row) {
  return sim->sliding.sides.truths + (size_t)row * sim->model->atom_count;
}

static inline double* side_flow(const EngSim* sim, uint32_t row) {
  return sim->sliding.sides.flows + (size_t)row * sim->values.n_max;
}

/// The row that shows a pattern of sides of a surface's group.
static inline uint32_t side_row(const EngSurface* s, uint32_t pattern) {
  return pattern ? s->row + pattern - 1u : 0u;
}

/// The pattern of a surface's group in a row.
static inline uint32_t side_pattern(const EngSurface* s, uint32_t row) {
  return row >= s->row && row < s->row + (1u << s->size) - 1u ? row - s->row + 1u : 0u;
}

static inline bool side_is_above(const EngSurface* s, uint32_t row) {
  return side_pattern(s, row) >> s->bit & 1u;
}

// ---- flags.c

enum { FLAGS_SETTLED, FLAGS_TARGET, FLAG_ROWS };  // places of values before those of the rows

SltStatus side_room_flags(EngSim* sim, uint32_t rows);
/// Set the flags that a transition sets.
void side_set_flags(EngSim* sim, const ModelTransition* t);
double* side_flags(EngSim* sim, uint32_t row);
/// States and flags that are published: of a row, of where the motion is, of where it goes to.
void side_note_row(EngSim* sim, uint32_t row);
void side_publish_row(EngSim* sim, uint32_t row);
void side_note_settled(EngSim* sim);
void side_publish_settled(EngSim* sim);
void side_note_target(EngSim* sim);

// ---- sides.c

/// Room for so many rows, and surfaces.
SltStatus side_room_rows(EngSim* sim, uint32_t rows);
SltStatus side_room(EngSim* sim, uint32_t surfaces);
/// The mode with the surfaces as their `above` says, from the states that are published on, without
/// resets; NULL for none. Leaves its states published.
SltStatus side_mode(EngSim* sim, const ModelMode** out);
/// Whether the published states, of a mode, mean what those of a row do: equations, flags, states
/// but for `init`, to which nothing leads back, and switches in branches that are taken.
bool side_means_row(EngSim* sim, const ModelMode* mode, uint32_t row);
/// The programs of a row's mode, with the published states and truths, which are the row's from now
/// on.
SltStatus side_bind(EngSim* sim, uint32_t row, const ModelMode* mode);
/// The same for a row whose states and truths are there.
SltStatus side_rebind(EngSim* sim, uint32_t row);
/// Where a row is looked at for x: beside surfaces that have an offset. May be x itself.
const double* side_point(EngSim* sim, uint32_t row, double t, const double* x);
/// Flow of a row, and rates of the surfaces that it shows a pattern of, into `rate`.
void side_evaluate(EngSim* sim, uint32_t row, double t, const double* x);
/// Enclosures of the flow (`flow` may be NULL) and of the rates at the present point, where states
/// are off by `pad` of them, by surface and pattern. `only`: of one surface and the states whose
/// flow it changes.
#define SIDE_CHANGES 16
typedef struct SideChanges {
  uint32_t surface, count, states[SIDE_CHANGES];
} SideChanges;
typedef double SidePad(const EngSim* sim, uint32_t state);
void side_enclose(EngSim* sim, uint32_t row, SidePad* pad, const SideChanges* only, ModelDual* flow,
                  ModelDual* bound);
double side_rounding(const EngSim* sim, uint32_t state);
double side_tolerance(const EngSim* sim, uint32_t state);
/// The flow of a row alone; where it was looked at.
const double* side_run_flow(EngSim* sim, uint32_t row, double t, const double* x);
/// Where a mode computes the rate of a surface: 2 * place, + 1: its negative. MODEL_NONE: nowhere.
uint32_t side_place(const EngSim* sim, uint32_t surface, const ModelMode* mode);
/// Rates of all relations of the present mode along a flow: g_dual[].d.
void side_rates_along(EngSim* sim, ModelDual time, const double* x, const double* flow);
/// g of a surface at x, and by how much it changes with the state that lifts it.
double side_slope(EngSim* sim, uint32_t surface, double t, const double* x, double* g);

// ---- groups.c

/// Side of a surface that the present states stand for: 1 above, -1 below, 0 neither, as at rest on
/// the surface (`sign(0)` is 0).
int side_present(EngSim* sim, const EngSurface* s);

/// Sort the surfaces into groups that depend on each other, and make the rows that are needed.
/// Surfaces that separate nothing, or cannot be crossed back, are left out. False: there are too
/// many that depend on each other.
SltStatus side_survey(EngSim* sim, bool* able);

// ---- decide.c

/// Surfaces of a group in the order of their bits; how many.
uint32_t side_members(const EngSim* sim, uint32_t group, uint32_t* members);
/// What each group does: `slides`, `above` and value_alpha of its surfaces.
bool side_decide(EngSim* sim);

// ---- joint.c

/// Flows of all rows, with the reactions of contacts that are closed, and rates of all surfaces in
/// all rows.
SltStatus side_evaluate_linked(EngSim* sim, double t, const double* x, bool pull);
/// Coefficients for which all surfaces have the wanted derivatives.
SltStatus side_solve_linked(EngSim* sim, const double* wanted, double* alpha);
/// Reactions of the contacts from those in the rows, with the weights of the rows as they are.
void side_combine_reactions(EngSim* sim);
/// What each surface and each contact does, by complementarity: like side_decide(), and the
/// reactions in the rows of contacts. False: it is no such problem, or has no solution.
bool side_complementarity(EngSim* sim);

// ---- motion.c

/// Weight of a row in a quantity of a group that shares rows; MODEL_NONE: of no group.
double side_row_weight(const EngSim* sim, uint32_t row, uint32_t owner);

/// Coefficients of all surfaces at (t, x) into `alpha`; `pull` draws the surfaces to zero.
SltStatus side_coefficients(EngSim* sim, double t, const double* x, bool pull, double* alpha);

/// Whether an enclosure says anything.
static inline bool side_is_bounded(ModelInterval a) {
  return isfinite(a.lo) && isfinite(a.hi);
}

#endif
