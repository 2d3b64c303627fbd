// SPDX-License-Identifier: MIT
//
// Polynomials by their Bernstein coefficients over an interval (G. Farin, "Curves and Surfaces for
// Computer-Aided Geometric Design", de Casteljau's algorithm).
#include "numeric/internal.h"

#include <string.h>

void num_bernstein_halve(const double* c, uint32_t degree, double* left, double* right) {
  double work[NUM_BERNSTEIN];
  memcpy(work, c, (degree + 1) * sizeof *work);
  for (uint32_t j = 0; j <= degree; j++) {
    left[j] = work[0];
    right[degree - j] = work[degree - j];
    for (uint32_t k = 0; k + j < degree; k++) {
      work[k] = 0.5 * (work[k] + work[k + 1]);
    }
  }
}

// two of de Casteljau's constructions
void num_bernstein_fit(const double* y, double* c) {
  c[0] = y[0];
  c[1] = (-13.0 * y[0] + 48.0 * y[1] - 36.0 * y[2] + 16.0 * y[3] - 3.0 * y[4]) / 12.0;
  c[2] = (13.0 * y[0] - 64.0 * y[1] + 120.0 * y[2] - 64.0 * y[3] + 13.0 * y[4]) / 18.0;
  c[3] = (-3.0 * y[0] + 16.0 * y[1] - 36.0 * y[2] + 48.0 * y[3] - 13.0 * y[4]) / 12.0;
  c[4] = y[4];
}

void num_bernstein_restrict(double* c, uint32_t degree, double from, double to) {
  if (to < 1.0) {
    double work[NUM_BERNSTEIN];
    memcpy(work, c, (degree + 1) * sizeof *work);
    for (uint32_t j = 0; j <= degree; j++) {
      c[j] = work[0];
      for (uint32_t k = 0; k + j < degree; k++) {
        work[k] += to * (work[k + 1] - work[k]);
      }
    }
  }
  if (from <= 0.0) return;
  double cut = to > 0.0 ? from / to : 0.0;
  double work[NUM_BERNSTEIN];
  memcpy(work, c, (degree + 1) * sizeof *work);
  for (uint32_t j = 0; j <= degree; j++) {
    c[degree - j] = work[degree - j];
    for (uint32_t k = 0; k + j < degree; k++) {
      work[k] += cut * (work[k + 1] - work[k]);
    }
  }
}
