// SPDX-License-Identifier: MIT
//
// The end of a motion that lasts as long as some numbers stay inside of their ranges: coefficients
// of a sliding motion in (0, 1), reactions of contacts above 0. They are proved to stay inside over
// a piece of the trial, or the piece is halved, the earlier half first.
#include "numeric/numeric.h"

#include <float.h>
#include <math.h>

#define DEPTH_MAX   24    // halvings of a step
#define DEPTH_BLIND 4     // ... where nothing can be proved
#define SLACK_MAX   1e-6  // how far outside of its range a number may begin
#define SLACK_MIN   1e-12
#define PIECES_MAX  400  // pieces of a step

/// Distance of a coefficient from the end it leaves by: negative while sliding goes on.
static SltStatus exit_function(void* user, double t, double* value) {
  NumExit* e = user;
  bool above = false;
  e->surface = NUM_NO_MEMBER;
  SLT_TRY(e->look(e, t, &above));
  *value = (e->watched_above ? e->coefficient - 1.0 : -e->coefficient) - e->slack;
  return SLT_OK;
}

/// Whether a surface is left at t: which, and to which side.
static SltStatus left_at(NumExit* e, double t, uint32_t* surface, bool* above) {
  e->watched = NUM_NO_MEMBER;
  e->surface = NUM_NO_MEMBER;
  SLT_TRY(e->look(e, t, above));
  *surface = e->surface;
  return SLT_OK;
}

/// An exit between a time at which nothing is left and one at which `surface` is.
static void bracket_exit(NumExit* e, double l, double r, uint32_t surface, bool above) {
  NumBracket bracket = {l, r, 0.0, 0.0};
  NumRootOptions options = {.t_tol = 4.0 * DBL_EPSILON * fmax(fabs(l), fabs(r)),
                            .g_window = (double)INFINITY,
                            .side = NUM_SIDE_HI,
                            .zero_is_positive = true,
                            .max_evaluations = 200};
  e->watched = surface;
  e->watched_above = above;
  double found = r;
  if (exit_function(e, l, &bracket.g_lo) >= 0 && exit_function(e, r, &bracket.g_hi) >= 0 &&
      bracket.g_lo < 0.0 && bracket.g_hi >= 0.0) {
    num_root_bracket(exit_function, e, &options, &bracket, NULL);
    found = bracket.hi;
  }
  e->t = found;
  e->left = surface;
  e->above = above;
}

/// The first exit in [l, r]; nothing is left at l.
static void search_piece(NumExit* e, double l, double r, uint32_t depth) {
  bool above = false;
  uint32_t left = NUM_NO_MEMBER;
  double m = l + 0.5 * (r - l);
  if (left_at(e, m, &left, &above) < 0) {
    e->undecided = true;
    return;
  }
  if (left == NUM_NO_MEMBER && e->prove(e, l, r)) return;
  e->pieces++;
  if (m > l && m < r && depth < (e->blind ? DEPTH_BLIND : DEPTH_MAX) && e->pieces < PIECES_MAX) {
    search_piece(e, l, m, depth + 1);
    if (isfinite(e->t)) return;
    if (left == NUM_NO_MEMBER) {
      search_piece(e, m, r, depth + 1);
      return;
    }
    bracket_exit(e, l, m, left, above);
    return;
  }
  if (left == NUM_NO_MEMBER && left_at(e, r, &left, &above) < 0) left = NUM_NO_MEMBER;
  if (left != NUM_NO_MEMBER) bracket_exit(e, l, r, left, above);
  // at an exit nothing is left to be proved
  e->undecided |= left == NUM_NO_MEMBER || e->pieces >= PIECES_MAX;
}

void num_exit_search(NumExit* e, double l, double r) {
  e->t = (double)INFINITY;
  bool above = false;
  uint32_t left = NUM_NO_MEMBER;
  if (e->alone && e->prove(e, l, r)) return;
  if (e->may_slack) {
    // what takes over from another begins at its end, give or take rounding
    e->outside = 0.0;
    if (left_at(e, l, &left, &above) >= 0 && left != NUM_NO_MEMBER && e->outside < SLACK_MAX) {
      e->slack = 2.0 * e->outside + SLACK_MIN;
      left = NUM_NO_MEMBER;
    }
  }
  // rounding may have a coefficient at its end where the motion begins
  if (left_at(e, l, &left, &above) < 0 || left != NUM_NO_MEMBER) {
    e->t = l;
    e->left = left;
    e->above = above;
    return;
  }
  search_piece(e, l, r, 0);
  if (isfinite(e->t) || left_at(e, r, &left, &above) < 0 || left == NUM_NO_MEMBER) return;
  bracket_exit(e, l, r, left, above);
}
