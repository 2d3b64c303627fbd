// SPDX-License-Identifier: MIT
//
// Multilinear combinations: of 2^n values, one per pattern of n sides, with a coefficient per side.
// Sliding along n surfaces is such a combination of flows.
#include "numeric/internal.h"

#define NO_CHANGE  UINT32_MAX
#define ITERATIONS 30  // of Newton's method
#define PIVOT      1e-14
#define CONVERGED  1e-14  // changes of coefficients, which have no unit
#define DIVERGED   1e6

double num_multilinear_weight(uint32_t pattern, uint32_t mask, const double* alpha) {
  double w = 1.0;
  for (uint32_t k = 0; k < NUM_MULTILINEAR; k++) {
    if (!(mask >> k & 1u)) {
      continue;
    }
    w *= pattern >> k & 1u ? alpha[k] : 1.0 - alpha[k];
  }
  return w;
}

double num_multilinear_value(const double* values, uint32_t count, uint32_t mask, uint32_t fixed,
                             const double* alpha) {
  double all = 0.0;
  for (uint32_t pattern = 0; pattern < 1u << count; pattern++) {
    if ((pattern & ~mask) != (fixed & ~mask)) {
      continue;
    }
    all += num_multilinear_weight(pattern, mask, alpha) * values[pattern];
  }
  return all;
}

/// Equations "the combination of each row is the wanted number", in the coefficients of `mask`.
typedef struct Equations {
  const double (*values)[NUM_PATTERNS];
  uint32_t count, mask, fixed;
  uint32_t index[NUM_MULTILINEAR];  // of the unknowns among the coefficients
  uint32_t n;
} Equations;

/// Row i of Newton's matrix and its right-hand side, in the unit of the row.
static void newton_row(const Equations* e, uint32_t i, double wanted, double* alpha, double* a,
                       double* b) {
  const double* row = e->values[e->index[i]];
  double size = 0.0;
  *b = wanted - num_multilinear_value(row, e->count, e->mask, e->fixed, alpha);
  for (uint32_t j = 0; j < e->n; j++) {
    // exact: the combination is linear in each coefficient
    double saved = alpha[e->index[j]];
    alpha[e->index[j]] = 1.0;
    double high = num_multilinear_value(row, e->count, e->mask, e->fixed, alpha);
    alpha[e->index[j]] = 0.0;
    double low = num_multilinear_value(row, e->count, e->mask, e->fixed, alpha);
    alpha[e->index[j]] = saved;
    a[j] = high - low;
    size = num_max(size, num_abs(high - low));
  }
  for (uint32_t j = 0; j < e->n && size > 0.0; j++) {
    a[j] /= size;
  }
  if (size > 0.0) {
    *b /= size;
  }
}

bool num_multilinear_solve(const double values[][NUM_PATTERNS], uint32_t count, uint32_t mask,
                           uint32_t fixed, const double* wanted, double* alpha) {
  Equations e = {.values = values, .count = count, .mask = mask, .fixed = fixed};
  for (uint32_t k = 0; k < count; k++) {
    if (mask >> k & 1u) {
      e.index[e.n++] = k;
    }
  }
  for (uint32_t iteration = 0; iteration < (e.n == 1 ? 1u : ITERATIONS); iteration++) {
    double a[NUM_MULTILINEAR * NUM_MULTILINEAR];
    double b[NUM_MULTILINEAR];
    double scale[NUM_MULTILINEAR];
    double scratch[NUM_MULTILINEAR];
    uint32_t pivot[NUM_MULTILINEAR];
    for (uint32_t i = 0; i < e.n; i++) {
      newton_row(&e, i, wanted[e.index[i]], alpha, &a[(size_t)i * e.n], &b[i]);
    }
    if (num_lu_factor(e.n, a, PIVOT, scale, pivot, NULL) < 0) {
      return false;
    }
    num_lu_solve(e.n, a, pivot, scratch, b);
    double change = 0.0;
    for (uint32_t i = 0; i < e.n; i++) {
      alpha[e.index[i]] += b[i];
      change = num_max(change, num_abs(b[i]));
    }
    if (e.n == 1 || change < CONVERGED) {
      return true;
    }
    if (!(change < DIVERGED)) {
      return false;
    }
  }
  return false;
}

bool num_multilinear_search(const double values[][NUM_PATTERNS], uint32_t count, uint32_t mask,
                            uint32_t fixed, double* alpha) {
  static const double wanted[NUM_MULTILINEAR] = {0.0, 0.0, 0.0};
  static const double starts[] = {0.5, 0.15, 0.85};
  uint32_t tries = 1;
  for (uint32_t m = mask; m & (m - 1); m &= m - 1) {
    tries *= tries == 1 ? 9 : 3;
  }
  for (uint32_t attempt = 0; attempt < tries; attempt++) {
    uint32_t digits = attempt;
    for (uint32_t k = 0; k < count; k++) {
      alpha[k] = mask >> k & 1u ? starts[digits % 3] : 0.5;
      if (mask >> k & 1u) digits /= 3;
    }
    if (!num_multilinear_solve(values, count, mask, fixed, wanted, alpha)) continue;
    bool inside = true;
    for (uint32_t k = 0; k < count; k++) {
      if (mask >> k & 1u) inside &= alpha[k] >= 0.0 && alpha[k] <= 1.0;
    }
    if (inside) return true;
  }
  return false;
}

static NumInterval scaled(NumInterval a, double by) {
  return by < 0.0 ? (NumInterval){by * a.hi, by * a.lo} : (NumInterval){by * a.lo, by * a.hi};
}

static NumInterval sum(NumInterval a, NumInterval b) {
  return (NumInterval){a.lo + b.lo, a.hi + b.hi};
}

/// The combination with coefficients at these numbers, or its change with one of them.
static NumInterval combined(const NumInterval* values, uint32_t count, const double* alpha,
                            uint32_t change) {
  NumInterval all = {0.0, 0.0};
  uint32_t full = (1u << count) - 1u;
  for (uint32_t p = 0; p <= full; p++) {
    double w = change == NO_CHANGE ? num_multilinear_weight(p, full, alpha)
                                   : num_multilinear_weight(p, full & ~(1u << change), alpha) *
                                         (p >> change & 1u ? 1.0 : -1.0);
    all = sum(all, scaled(values[p], w));
  }
  return all;
}

/// Inverse of the middle of the matrix at `middle`; false: it has none.
static bool invert_middle(NumInterval values[][NUM_PATTERNS], uint32_t count, const double* middle,
                          double* inverse) {
  double a[NUM_MULTILINEAR * NUM_MULTILINEAR];
  double scale[NUM_MULTILINEAR];
  double scratch[NUM_MULTILINEAR];
  uint32_t pivot[NUM_MULTILINEAR];
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = 0; j < count; j++) {
      NumInterval d = combined(values[i], count, middle, j);
      a[i * count + j] = 0.5 * (d.lo + d.hi);
    }
  }
  if (num_lu_factor(count, a, 1e-14, scale, pivot, NULL) < 0) {
    return false;
  }
  for (uint32_t j = 0; j < count; j++) {
    double column[NUM_MULTILINEAR] = {0.0};
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
static NumInterval slope_over_box(const NumInterval* row, uint32_t count, const double* middle,
                                  const double* radius, uint32_t by) {
  NumInterval hull = {(double)INFINITY, -(double)INFINITY};
  for (uint32_t corner = 0; corner < 1u << count; corner++) {
    double at[NUM_MULTILINEAR];
    for (uint32_t c = 0; c < count; c++) {
      at[c] = middle[c] + (corner >> c & 1u ? radius[c] : -radius[c]);
    }
    NumInterval d = combined(row, count, at, by);
    hull = (NumInterval){num_min(hull.lo, d.lo), num_max(hull.hi, d.hi)};
  }
  return hull;
}

bool num_multilinear_inside(NumInterval values[][NUM_PATTERNS], uint32_t count,
                            const double* middle) {
  double inverse[NUM_MULTILINEAR * NUM_MULTILINEAR];
  if (!invert_middle(values, count, middle, inverse)) {
    return false;
  }
  // how far the solutions may be from the middle, as far as the system is linear
  double radius[NUM_MULTILINEAR];
  for (uint32_t i = 0; i < count; i++) {
    NumInterval step = {0.0, 0.0};
    for (uint32_t j = 0; j < count; j++) {
      step =
          sum(step, scaled(combined(values[j], count, middle, NO_CHANGE), inverse[i * count + j]));
    }
    radius[i] = 2.0 * num_max(num_abs(step.lo), num_abs(step.hi)) + 1e-12;
    if (!(middle[i] - radius[i] > 0.0 && middle[i] + radius[i] < 1.0)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    double moves = 0.0;
    for (uint32_t j = 0; j < count; j++) {
      NumInterval slope = {0.0, 0.0};
      for (uint32_t m = 0; m < count; m++) {
        NumInterval d = slope_over_box(values[m], count, middle, radius, j);
        slope = sum(slope, scaled(d, inverse[i * count + m]));
      }
      double unit = i == j ? 1.0 : 0.0;
      moves += num_max(num_abs(unit - slope.lo), num_abs(unit - slope.hi)) * radius[j];
    }
    if (!(0.5 * radius[i] + moves <= radius[i])) {
      return false;
    }
  }
  return true;
}
