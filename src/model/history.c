// SPDX-License-Identifier: MIT
//
// The history of a variable as piecewise polynomials in the Bernstein basis. A look is a function
// of the time alone, so it costs no bits however often and in whatever order it is asked.
#include "model/model.h"

#include <float.h>

#define PAST_ULPS \
  16.0  // rounding of de Casteljau's construction, in ulps of the largest coefficient

#define SHORT_ULPS 64.0

/// The last piece that begins at or before t; NaN gives the first.
static uint32_t find_piece(const ModelHistory* history, double t) {
  uint32_t low = history->begin;
  uint32_t high = history->end;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (t >= history->pieces[middle].t0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Over a few ulps of time a slope is rounding and nothing else.
static bool is_too_short(const ModelPiece* piece) {
  double from = piece->t0 < 0.0 ? -piece->t0 : piece->t0;
  double to = piece->t1 < 0.0 ? -piece->t1 : piece->t1;
  return !(piece->t1 - piece->t0 > SHORT_ULPS * DBL_EPSILON * (from > to ? from : to));
}

/// The piece whose slope holds at t: beside one that is too short, its neighbour's.
static uint32_t find_sloped(const ModelHistory* history, double t) {
  uint32_t found = find_piece(history, t);
  uint32_t i = found;
  while (i > history->begin && is_too_short(&history->pieces[i]))
    i--;
  if (!is_too_short(&history->pieces[i])) return i;
  for (i = found; i + 1 < history->end && is_too_short(&history->pieces[i]); i++) {
  }
  return i;
}

/// Where t lies in the piece: 0 at its begin, 1 at its end, and beyond them.
static double share_of(const ModelPiece* piece, double t) {
  double length = piece->t1 - piece->t0;
  double u = length > 0.0 ? (t - piece->t0) / length : 0.0;
  return u < 0.0 ? 0.0 : u > 1.0 ? 1.0 : u;
}

/// Coefficients of the derivative of an order; its degree is the result, the coefficients in `c`.
static uint32_t differentiate(const ModelPiece* piece, int order, double* c) {
  uint32_t degree = piece->degree;
  double length = piece->t1 - piece->t0;
  for (uint32_t i = 0; i <= degree; i++) {
    c[i] = piece->c[i];
  }
  for (int k = 0; k < order; k++) {
    if (degree == 0 || !(length > 0.0)) {
      c[0] = 0.0;
      return 0;
    }
    double scale = (double)degree / length;
    for (uint32_t i = 0; i < degree; i++) {
      c[i] = (c[i + 1] - c[i]) * scale;
    }
    degree--;
  }
  return degree;
}

double model_piece_size(const ModelPiece* piece) {
  double size = 0.0;
  for (uint32_t i = 0; i <= piece->degree; i++) {
    size = fmax(size, fabs(piece->c[i]));
  }
  return size;
}

double model_history_value(const ModelHistory* history, double t, int order) {
  if (history->end == history->begin) return 0.0 * t;
  const ModelPiece* piece =
      &history->pieces[order ? find_sloped(history, t) : find_piece(history, t)];
  double c[MODEL_PIECE_DEGREE + 1];
  uint32_t degree = differentiate(piece, order, c);
  double u = share_of(piece, t);
  for (uint32_t j = degree; j > 0; j--) {
    for (uint32_t k = 0; k < j; k++) {
      c[k] += u * (c[k + 1] - c[k]);
    }
  }
  return c[0] + 0.0 * t;  // a time that is no number has no history
}

// ---- enclosures ---------------------------------------------------------------------------------

/// Coefficients of the part over [from, to] of [0, 1].
static void restrict_to(double* c, uint32_t degree, double from, double to) {
  for (uint32_t j = degree; to < 1.0 && j > 0; j--) {
    // what de Casteljau's construction leaves on its other side, from the last on
    for (uint32_t k = degree; k > degree - j; k--) {
      c[k] = c[k - 1] + to * (c[k] - c[k - 1]);
    }
  }
  double cut = to > 0.0 ? from / to : 0.0;
  for (uint32_t j = degree; cut > 0.0 && j > 0; j--) {
    for (uint32_t k = 0; k < j; k++) {
      c[k] += cut * (c[k + 1] - c[k]);
    }
  }
}

static ModelInterval piece_enclose(const ModelPiece* piece, ModelInterval t, int order) {
  double c[MODEL_PIECE_DEGREE + 1];
  uint32_t degree = differentiate(piece, order, c);
  double largest = 0.0;
  for (uint32_t i = 0; i <= degree; i++) {
    double size = c[i] < 0.0 ? -c[i] : c[i];
    if (!(size <= largest)) largest = size;
  }
  // differences lose what is common to neighbours: the rounding of the values counts for slopes
  double size = 0.0;
  for (uint32_t i = 0; i <= piece->degree; i++) {
    double a = piece->c[i] < 0.0 ? -piece->c[i] : piece->c[i];
    if (!(a <= size)) size = a;
  }
  double length = piece->t1 - piece->t0;
  for (int k = 0; k < order && length > 0.0; k++) {
    size *= 2.0 * (double)piece->degree / length;
  }
  double pad = PAST_ULPS * DBL_EPSILON * (largest + (order > 0 ? size : 0.0));
  // shares are rounded as well: a few ulp wider
  double from = share_of(piece, t.lo) - 4.0 * DBL_EPSILON;
  double to = share_of(piece, t.hi) + 4.0 * DBL_EPSILON;
  restrict_to(c, degree, from > 0.0 ? from : 0.0, to < 1.0 ? to : 1.0);
  ModelInterval out = {c[0], c[0]};
  for (uint32_t i = 1; i <= degree; i++) {
    if (!(c[i] >= out.lo)) out.lo = c[i];
    if (!(c[i] <= out.hi)) out.hi = c[i];
  }
  out.lo -= pad;
  out.hi += pad;
  bool bounded = out.lo <= out.hi;  // false for NaN
  return bounded ? out : (ModelInterval){-__builtin_inf(), __builtin_inf()};
}

ModelInterval model_history_enclose(const ModelHistory* history, ModelInterval t, int order) {
  if (history->end == history->begin) return (ModelInterval){0.0, 0.0};
  uint32_t first = find_piece(history, t.lo);
  uint32_t last = find_piece(history, t.hi);
  ModelInterval all = piece_enclose(&history->pieces[first], t, order);
  for (uint32_t i = first + 1; i <= last; i++) {
    all = model_interval_hull(all, piece_enclose(&history->pieces[i], t, order));
  }
  // beyond the ends it stands still
  bool beyond =
      t.lo < history->pieces[history->begin].t0 || t.hi > history->pieces[history->end - 1].t1;
  if (order > 0 && beyond) all = model_interval_hull(all, (ModelInterval){0.0, 0.0});
  return all;
}

bool model_history_one_piece(const ModelHistory* history, ModelInterval t) {
  return history->end - history->begin < 2 ||
         find_piece(history, t.lo) == find_piece(history, t.hi);
}
