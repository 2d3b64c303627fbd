// SPDX-License-Identifier: MIT
//
// Following one atom over a step: what it waits for, and the plain search by signs, end slopes and
// extrema. Where the slopes at the ends of a piece tell of an extremum inside, it is found first
// and the piece is split there, so that g is monotone as far as end slopes can tell; a change of
// truth is then bracketed and shrunk to rounding.
#include "engine/detect/follow.h"

#include <float.h>
#include <math.h>

#define FINE_PIECES      5     // of a step, for short-living atoms and foreign indicators
#define GRAZE_FRACTION   1e-3  // refine an extremum that comes this close, relative to g
#define ROOT_EVALUATIONS 200
#define SHORT_TAPE       48

double eng_trial_state(const void* user, uint32_t state) {
  const EngTrialPoint* point = user;
  return num_dense_component(point->stepper, state, point->t);
}

/// What one atom needs and no more: false when its programs cannot be run in parts.
static bool follower_slice(const EngFollower* f, double t, double* g, double* gdot) {
  EngSim* sim = f->sim;
  const ModelMode* mode = sim->core.mode;
  // picking out instructions costs more than running a few too many
  const ModelProgram* whole = gdot ? &mode->gdot : &mode->g_flow;
  if (whole->code_count + whole->state_count + whole->output_count <= SHORT_TAPE) return false;
  EngTrialPoint point = {sim->stepper, t};
  if (gdot && !eng_output(sim, ENG_SINGLE_SLOPE, t, eng_trial_state, &point, f->index, gdot)) {
    return false;
  }
  return eng_output(sim, ENG_SINGLE_G, t, eng_trial_state, &point, f->index, g);
}

void eng_follower_value(const EngFollower* f, double t, double* g, double* gdot) {
  EngSim* sim = f->sim;
  if (follower_slice(f, t, g, gdot)) {
    sim->core.counts.guard_evaluations++;
    return;
  }
  eng_g_at(sim, t, gdot != NULL);
  *g = sim->detect.g[f->index];
  if (gdot) *gdot = sim->detect.gdot[f->index];
}

/// The same for g itself, threshold included.
static bool crossed(const EngFollower* f, double g) {
  return eng_follower_beyond(f, f->sign * g - f->threshold);
}

void eng_follower_aim(EngFollower* f) {
  f->sign = f->truth ? -1.0 : 1.0;
  f->threshold = f->armed ? 0.0 : f->zone;
}

/// sign*g - threshold: the crossing is where this becomes positive.
static SltStatus crossing_function(void* user, double t, double* value) {
  EngFollower* f = user;
  double g = 0.0;
  eng_follower_value(f, t, &g, NULL);
  *value = f->sign * g - f->threshold;
  return SLT_OK;
}

/// Where in its bracket the event is placed: at the side the type asks for; a critical one as near
/// to the crossing as rounding allows. (Always to the right would be late by half a unit in the
/// last place on average, and in a long run of impacts such shares add up.)
static bool nearer_left(const EngFollower* f, const NumBracket* b) {
  if (f->model->type == MODEL_ATOM_UNILATERAL) return true;
  if (f->model->type != MODEL_ATOM_CRITICAL) return false;
  bool narrow = b->hi - b->lo <= 16.0 * DBL_EPSILON * fmax(fabs(b->lo), fabs(b->hi));
  return narrow && fabs(b->g_lo) < fabs(b->g_hi);
}

void eng_follower_bracket(EngFollower* f, double a, double b, double ga, double gb,
                          EngCrossing* out) {
  NumBracket bracket = {a, b, f->sign * ga - f->threshold, f->sign * gb - f->threshold};
  NumRootOptions options = {.t_tol = 4.0 * DBL_EPSILON * fmax(fabs(a), fabs(b)),
                            .g_window = (double)INFINITY,
                            .side = NUM_SIDE_HI,
                            .zero_is_positive = eng_follower_zero_counts(f),
                            .max_evaluations = ROOT_EVALUATIONS};
  if (crossed(f, ga)) {
    bracket.hi = a;
  } else {
    // a failing search leaves a valid, if wider, bracket: good enough to go on with
    num_root_bracket(crossing_function, f, &options, &bracket, NULL);
  }
  eng_follower_place(f, &bracket, out);
}

void eng_follower_place(EngFollower* f, const NumBracket* found, EngCrossing* out) {
  double t = nearer_left(f, found) ? found->lo : found->hi;
  double g = 0.0;
  double slope = 0.0;
  eng_follower_value(f, t, &g, &slope);
  // a sign that changes at infinity, where g falls all the time, has no place between its sides
  if (f->sign * slope < 0.0) t = found->hi;
  *out = eng_crossing(f->index, t, found->lo, found->hi, slope, f->sign > 0.0, false);
  out->leaves = f->threshold > 0.0;
}

/// Extremum search: `threshold` holds the sign, +1 for a maximum, -1 for a minimum.
static SltStatus extremum_function(void* user, double t, double* value) {
  EngFollower* f = user;
  double g = 0.0;
  eng_follower_value(f, t, &g, NULL);
  *value = f->threshold * g;
  return SLT_OK;
}

static void extremum(const EngFollower* f, const EngPiece* p, double sign, double* t, double* g) {
  EngFollower probe = *f;
  probe.threshold = sign;
  NumMaximum best = {p->a, sign * p->ga};
  double tol = 1e-9 * (p->b - p->a);
  num_max_on_interval(extremum_function, &probe, p->a, p->b, tol, (double)INFINITY, &best, NULL);
  *t = best.t;
  *g = sign * best.g;
}

/// Whether the way to an extremum towards the other side is worth refining.
static bool may_touch(const EngFollower* f, const EngPiece* p) {
  double theta = 0.0;
  double peak = 0.0;
  double s = f->sign;
  if (!num_hermite_max(s * p->ga, s * p->gb, s * p->da, s * p->db, p->b - p->a, &theta, &peak)) {
    return false;
  }
  double rise = fabs(peak - s * p->ga);
  return peak > -fmax(f->atom->eps, fabs(p->ga) * GRAZE_FRACTION) - 0.25 * rise;
}

/// A peak that stays below the boundary but inside eps: an event for the types that detect early.
static bool grazes(const EngFollower* f, double g) {
  uint8_t type = f->model->type;
  if (type == MODEL_ATOM_BILATERAL || !f->armed) return false;
  if (f->model->relation == MODEL_REL_EQ) return fabs(g) <= f->atom->eps;
  if (f->model->bipolar) return false;
  return f->sign > 0.0 && g > -f->atom->eps;
}

/// g first goes towards the boundary, then away again.
static bool peak_crosses(EngFollower* f, const EngPiece* p, EngCrossing* out) {
  if (!may_touch(f, p)) return false;
  double t = p->a;
  double g = p->ga;
  extremum(f, p, f->sign, &t, &g);
  if (crossed(f, g)) {
    eng_follower_bracket(f, p->a, t, p->ga, g, out);
    return true;
  }
  if (!grazes(f, g)) return false;
  *out = eng_crossing(f->index, t, p->a, p->b, 0.0, true, false);
  return true;
}

/// From the turning point (t, g) on the atom is armed and waits for g to come up to the end.
static bool rises_after(EngFollower* f, double t, double g, const EngPiece* p, EngCrossing* out) {
  f->armed = true;
  eng_follower_aim(f);
  if (!crossed(f, p->gb) || crossed(f, g)) return false;
  eng_follower_bracket(f, t, p->b, g, p->gb, out);
  return true;
}

/// First crossing on one piece; carries truth and arming to its end when there is none.
static bool piece_crosses(EngFollower* f, const EngPiece* p, EngCrossing* out) {
  double t = p->a;
  double g = p->ga;
  if (!eng_follower_waits(f)) {
    // true, and nobody waits for its becoming false: it may fall and rise again
    if (!(p->da < 0.0 && p->db > 0.0) || f->atom->kind.asymptotic) return false;
    extremum(f, p, -1.0, &t, &g);
    if (eng_relation_holds(f->model->relation, g)) return false;
    f->truth = false;
    return rises_after(f, t, g, p, out);
  }
  eng_follower_aim(f);
  double da = f->sign * p->da;
  double db = f->sign * p->db;
  // away from the boundary, then towards it: the turning point re-arms. At its last crossing an
  // atom may set out without a slope.
  bool sets_out = !f->armed && crossed(f, p->gb);
  if ((da < 0.0 || sets_out) && db > 0.0 && !f->atom->kind.asymptotic) {
    extremum(f, p, -f->sign, &t, &g);
    double fall = f->sign * (p->ga - g);
    bool same = f->model->relation == MODEL_REL_EQ && f->sign * g >= -f->zone;  // the same touch
    if (same) fall = da = 0.0;
    if (da < 0.0 || fall > f->sim->proof.margin[f->index]) return rises_after(f, t, g, p, out);
  }
  if (crossed(f, p->gb)) {
    eng_follower_bracket(f, p->a, p->b, p->ga, p->gb, out);
    return true;
  }
  return da > 0.0 && db < 0.0 && peak_crosses(f, p, out);
}

/// Still at its last crossing and not moving, as far as rounding lets one see.
static bool is_quiet(const EngFollower* f, const EngPiece* p) {
  double noise = 2.0 * f->sim->proof.margin[f->index];
  double h = p->b - p->a;
  return !f->armed && fabs(p->ga) <= noise && fabs(p->gb) <= noise && fabs(p->da) * h <= noise &&
         fabs(p->db) * h <= noise;
}

bool eng_follow(EngFollower* f, const EngPiece* whole, EngCrossing* out) {
  if (is_quiet(f, whole)) return false;
  bool fine = (f->model->type == MODEL_ATOM_SHORTLIVING || f->sim->foreign) &&
              f->sim->options.detection != SLT_DETECTION_INTERPOLATION;
  // blocks that may lack rank have no enclosure
  uint32_t pieces = fine ? FINE_PIECES : f->sim->core.mode->relaxed ? ENG_DAE_PIECES : 1;
  EngPiece piece = *whole;
  for (uint32_t k = 1; k <= pieces; k++) {
    piece.b = whole->b;
    piece.gb = whole->gb;
    piece.db = whole->db;
    if (k < pieces) {
      piece.b = whole->a + (whole->b - whole->a) * ((double)k / pieces);
      if (fine) {
        eng_follower_value(f, piece.b, &piece.gb, &piece.db);
      } else {
        eng_dae_relation(f->sim, k - 1, piece.b, f->index, &piece.gb, &piece.db);
      }
    }
    if (piece_crosses(f, &piece, out)) return true;
    piece.a = piece.b;
    piece.ga = piece.gb;
    piece.da = piece.db;
  }
  return false;
}

static bool crosses_by_end(EngFollower* f, const EngPiece* whole) {
  if (!eng_follower_waits(f)) return false;
  eng_follower_aim(f);
  return crossed(f, whole->gb);
}

/// The sign test at step ends alone: the traditional way.
bool eng_follow_ends(EngFollower* f, const EngPiece* whole, EngCrossing* out) {
  if (!crosses_by_end(f, whole)) return false;
  eng_follower_bracket(f, whole->a, whole->b, whole->ga, whole->gb, out);
  return true;
}

/// The truth at the mesh point alone: step 1 of the extrapolation algorithm as it is printed.
bool eng_follow_mesh(EngFollower* f, const EngPiece* whole, EngCrossing* out) {
  if (!crosses_by_end(f, whole)) return false;
  *out = eng_crossing(f->index, whole->b, whole->a, whole->b, whole->db, f->sign > 0.0, false);
  out->leaves = f->threshold > 0.0;
  return true;
}
