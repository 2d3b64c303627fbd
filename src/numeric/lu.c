// SPDX-License-Identifier: MIT
//
// Small dense LU. Row-major, right-looking: the inner loop runs along rows, every entry sees its
// updates in the order of the columns, whatever the compiler makes of it.
#include "numeric/internal.h"

/// Row with the largest pivot relative to its scale, from `k` on.
static uint32_t find_pivot(uint32_t n, const double* a, const double* scale, uint32_t k) {
  uint32_t best = k;
  double largest = -1.0;
  for (uint32_t i = k; i < n; i++) {
    double size = num_abs(a[(size_t)i * n + k]) * scale[i];
    if (size > largest) {
      largest = size;
      best = i;
    }
  }
  return best;
}

/// Reciprocal of the largest modulus of each row. SLT_ERR_NOT_FINITE when an entry is not a number.
static SltStatus row_scales(uint32_t n, const double* a, double* scale) {
  for (uint32_t i = 0; i < n; i++) {
    double largest = 0.0;
    double check = 0.0;
    for (uint32_t j = 0; j < n; j++) {
      double entry = a[(size_t)i * n + j];
      check += entry - entry;
      largest = num_max(largest, num_abs(entry));
    }
    if (check != 0.0) {
      return SLT_ERR_NOT_FINITE;
    }
    scale[i] = largest > 0.0 ? 1.0 / num_max(largest, DBL_MIN) : 0.0;
  }
  return SLT_OK;
}

static void swap_rows(uint32_t n, double* a, double* scale, uint32_t* pivot, uint32_t i,
                      uint32_t k) {
  double* restrict p = a + (size_t)i * n;
  double* restrict q = a + (size_t)k * n;
  for (uint32_t j = 0; j < n; j++) {
    double keep = p[j];
    p[j] = q[j];
    q[j] = keep;
  }
  double keep = scale[i];
  scale[i] = scale[k];
  scale[k] = keep;
  uint32_t index = pivot[i];
  pivot[i] = pivot[k];
  pivot[k] = index;
}

SltStatus num_lu_factor(uint32_t n, double* a, double tolerance, double* scale, uint32_t* pivot,
                        uint32_t* bad) {
  SLT_TRY(row_scales(n, a, scale));
  for (uint32_t i = 0; i < n; i++) {
    pivot[i] = i;
  }
  for (uint32_t k = 0; k < n; k++) {
    uint32_t best = find_pivot(n, a, scale, k);
    double size = num_abs(a[(size_t)best * n + k]) * scale[best];
    if (!(size > tolerance)) {
      if (bad) {
        *bad = k;
      }
      return SLT_ERR_STRUCTURE;
    }
    if (best != k) {
      swap_rows(n, a, scale, pivot, best, k);
    }
    const double* restrict top = a + (size_t)k * n;
    for (uint32_t i = k + 1; i < n; i++) {
      double* restrict row = a + (size_t)i * n;
      double factor = row[k] / top[k];
      row[k] = factor;
      if (factor == 0.0) {
        continue;
      }
      for (uint32_t j = k + 1; j < n; j++) {
        row[j] -= factor * top[j];
      }
    }
  }
  return SLT_OK;
}

void num_lu_solve(uint32_t n, const double* lu, const uint32_t* pivot, double* scratch, double* b) {
  // P A = L U: row i of the factors is row pivot[i] of A
  for (uint32_t i = 0; i < n; i++) {
    const double* row = lu + (size_t)i * n;
    double sum = b[pivot[i]];
    for (uint32_t j = 0; j < i; j++) {
      sum -= row[j] * scratch[j];
    }
    scratch[i] = sum;
  }
  for (uint32_t i = n; i-- > 0;) {
    const double* row = lu + (size_t)i * n;
    double sum = scratch[i];
    for (uint32_t j = i + 1; j < n; j++) {
      sum -= row[j] * b[j];
    }
    b[i] = sum / row[i];
  }
}

void num_lu_solve_transposed(uint32_t n, const double* lu, const uint32_t* pivot, double* scratch,
                             double* b) {
  // A^T x = b: U^T z = b, L^T y = z, x = P^T y
  for (uint32_t i = 0; i < n; i++) {
    scratch[i] = b[i];
  }
  for (uint32_t i = 0; i < n; i++) {
    const double* row = lu + (size_t)i * n;
    scratch[i] /= row[i];
    for (uint32_t j = i + 1; j < n; j++) {
      scratch[j] -= row[j] * scratch[i];
    }
  }
  for (uint32_t i = n; i-- > 0;) {
    const double* row = lu + (size_t)i * n;
    for (uint32_t j = 0; j < i; j++) {
      scratch[j] -= row[j] * scratch[i];
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    b[pivot[i]] = scratch[i];
  }
}
