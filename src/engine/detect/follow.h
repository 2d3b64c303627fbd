// SPDX-License-Identifier: MIT
//
// Shared by detection and its certification.
#ifndef SALTUS_ENGINE_DETECT_FOLLOW_H
#define SALTUS_ENGINE_DETECT_FOLLOW_H

#include "engine/run/run.h"

/// A time of the trial, to ask for its states one by one.
typedef struct EngTrialPoint {
  const NumStepper* stepper;
  double t;
} EngTrialPoint;

/// A state there, for model_program_run_output(); `user` is an EngTrialPoint.
double eng_trial_state(const void* user, uint32_t state);

/// One atom along the trial step.
typedef struct EngFollower {
  EngSim* sim;
  uint32_t index;  // in the mode's list
  const ModelAtom* model;
  EngAtom* atom;
  double zone;       // |g| beyond which it is clear of its last crossing
  double sign;       // +1: waits for g to rise, -1: to fall
  double threshold;  // of sign*g
  bool truth, armed;
} EngFollower;

/// A part of the step.
typedef struct EngPiece {
  double a, b;    // times
  double ga, gb;  // g there
  double da, db;  // slopes there
} EngPiece;

/// Whether a change of the atom's truth interests anybody. If not, it may fall silently, and only
/// rising again does.
static inline bool eng_follower_waits(const EngFollower* f) {
  return !f->truth || f->model->bipolar;
}
/// Set sign and threshold to what the atom waits for from here on.
void eng_follower_aim(EngFollower* f);
/// Whether zero already belongs to the side the atom waits for.
static inline bool eng_follower_zero_counts(const EngFollower* f) {
  if (f->model->relation == MODEL_REL_EQ) return true;
  return (f->model->relation == MODEL_REL_GE) == (f->sign > 0.0);
}
/// Whether sign*g = phi is on the side the atom waits for, threshold left aside.
static inline bool eng_follower_beyond(const EngFollower* f, double phi) {
  return eng_follower_zero_counts(f) ? phi >= 0.0 : phi > 0.0;
}
void eng_follower_value(const EngFollower* f, double t, double* g, double* gdot);
/// Shrink a bracket of sign*g - threshold to rounding and place the event by the atom's type.
void eng_follower_bracket(EngFollower* f, double a, double b, double ga, double gb,
                          EngCrossing* out);

/// The same where the bracket, of sign*g - threshold, is as narrow as it can be.
void eng_follower_place(EngFollower* f, const NumBracket* found, EngCrossing* out);

/// First crossing on a piece by signs, end slopes and extrema; carries truth and arming to its end
/// when there is none.
bool eng_follow(EngFollower* f, const EngPiece* whole, EngCrossing* out);
/// First crossing by the sign at the ends alone.
bool eng_follow_ends(EngFollower* f, const EngPiece* whole, EngCrossing* out);
/// Crossing placed at the end of the step that it lies in.
bool eng_follow_mesh(EngFollower* f, const EngPiece* whole, EngCrossing* out);

/// The same with proof: true means that `out` is the first crossing there is, false that there is
/// none, unless `decided` is false: then the budget was spent. `control`: Bernstein coefficients of
/// g over the whole step, each within `margin`; NULL for atoms that are not affine.
bool eng_certify(EngFollower* f, const EngPiece* whole, const double* control, double margin,
                 EngCrossing* out, bool* decided);

/// Whether a crossing is nothing but errors of a motion that comes to rest at the boundary
/// (asymptote.c): the follower goes on without it.
bool eng_crosses_by_error(EngFollower* f, const EngPiece* piece, const EngCrossing* c);

/// An atom of the mode as a function of one polynomial; NULL where it is none.
const ModelComposed* eng_composed(const EngSim* sim, uint32_t index);

/// A part of the trial.
typedef struct EngTrialPart {
  const EngSim* sim;
  double from, to;  // in steps
} EngTrialPart;

/// A state and its slope over a part of the trial (EngTrialPart), from the dense output.
ModelDual eng_enclose_dense(const void* user, uint32_t state);
/// A state and its slope over [l, r] of the trial; control points are in place.
ModelDual eng_enclose_state(const EngSim* sim, uint32_t state, double l, double r);
/// Values and slopes of the mode's atoms over [l, r] of the trial; control points are in place.
void eng_enclose_atoms(EngSim* sim, double l, double r, ModelDual* out);
/// The same for one of them, without the others where that is possible.
ModelDual eng_enclose_atom(EngSim* sim, uint32_t index, double l, double r);

#endif
