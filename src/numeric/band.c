// SPDX-License-Identifier: MIT
//
// Systems with a band of entries around the diagonal.
//
// When a column is eliminated, the rows that can hold it all begin with it: rows are moved to the
// left as they lose their first entry. So rows can be exchanged without any room beside the band,
// and every inner loop runs over adjacent numbers.
#include "numeric/internal.h"

#if defined(__GNUC__)
#define BAND_INLINE static inline __attribute__((always_inline))
#else
#define BAND_INLINE static inline
#endif

/// Let the first rows, which reach out of the matrix, begin with column 0.
static void move_to_edge(uint32_t n, uint32_t below, size_t width, double* a) {
  for (uint32_t i = 0; i < below && i < n; i++) {
    double* row = a + (size_t)i * width;
    uint32_t gap = below - i;
    for (size_t j = 0; j + gap < width; j++) {
      row[j] = row[j + gap];
    }
    for (size_t j = width - gap; j < width; j++) {
      row[j] = 0.0;
    }
  }
}

static void swap(size_t width, double* p, double* q) {
  for (size_t j = 0; j < width; j++) {
    double keep = p[j];
    p[j] = q[j];
    q[j] = keep;
  }
}

BAND_INLINE bool factor_any(uint32_t n, uint32_t below, uint32_t above, double* a, double* lower,
                            uint32_t* pivot) {
  const size_t width = (size_t)below + above + 1;
  move_to_edge(n, below, width, a);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t last = n - k > below ? k + below : n - 1;
    double* restrict top = a + (size_t)k * width;
    uint32_t best = k;
    double largest = num_abs(top[0]);
    for (uint32_t i = k + 1; i <= last; i++) {
      double size = num_abs(a[(size_t)i * width]);
      if (size > largest) {
        largest = size;
        best = i;
      }
    }
    pivot[k] = best;
    if (!(largest > 0.0) || !num_finite(largest)) {
      return false;
    }
    if (best != k) {
      swap(width, top, a + (size_t)best * width);
    }
    double reciprocal = 1.0 / top[0];
    for (uint32_t i = k + 1; i <= last; i++) {
      double* restrict row = a + (size_t)i * width;
      double factor = row[0] * reciprocal;
      lower[(size_t)k * below + (i - k - 1)] = factor;
      for (size_t j = 1; j < width; j++) {
        row[j - 1] = row[j] - factor * top[j];
      }
      row[width - 1] = 0.0;
    }
    for (uint32_t i = last - k; i < below; i++) {
      lower[(size_t)k * below + i] = 0.0;
    }
    top[0] = reciprocal;
  }
  return true;
}

// Sums end with the unknown found last, so that each waits for one product only.

static void solve_wide(uint32_t n, uint32_t below, uint32_t above, const double* restrict a,
                       const double* restrict lower, const uint32_t* restrict pivot,
                       double* restrict b) {
  const size_t width = (size_t)below + above + 1;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t best = pivot[k];
    double value = b[best];
    b[best] = b[k];
    b[k] = value;
    uint32_t count = n - k > below ? below : n - 1 - k;
    for (uint32_t i = 0; i < count; i++) {
      b[k + 1 + i] -= lower[(size_t)k * below + i] * value;
    }
  }
  for (uint32_t k = n; k-- > 0;) {
    const double* row = a + (size_t)k * width;
    double sum = b[k];
    for (size_t j = n - k < width ? n - k : width; j-- > 1;) {
      sum -= row[j] * b[k + j];
    }
    b[k] = sum * row[0];
  }
}

#define NARROW_MAX 3  // below and above

/// The same for a band whose width the compiler knows: the unknowns at work stay in registers.
/// Beyond the last row there are zeros to work on.
BAND_INLINE void solve_narrow(uint32_t n, uint32_t below, uint32_t above, const double* restrict a,
                              const double* restrict lower, const uint32_t* restrict pivot,
                              double* restrict b) {
  const size_t width = (size_t)below + above + 1;
  double w[2 * NARROW_MAX + 1];
  for (uint32_t i = 0; i <= below; i++) {
    w[i] = i < n ? b[i] : 0.0;
  }
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t i = 1; i <= below; i++) {
      if (pivot[k] == k + i) {
        double keep = w[0];
        w[0] = w[i];
        w[i] = keep;
      }
    }
    b[k] = w[0];
    for (uint32_t i = 1; i <= below; i++) {
      w[i - 1] = w[i] - lower[(size_t)k * below + (i - 1)] * b[k];
    }
    w[below] = n - k > below + 1 ? b[k + below + 1] : 0.0;
  }
  for (size_t j = 1; j < width; j++) {
    w[j] = 0.0;
  }
  for (uint32_t k = n; k-- > 0;) {
    const double* row = a + (size_t)k * width;
    double sum = b[k];
    for (size_t j = width - 1; j > 0; j--) {
      sum -= row[j] * w[j];
    }
    for (size_t j = width - 1; j > 1; j--) {
      w[j] = w[j - 1];
    }
    w[1] = sum * row[0];
    b[k] = w[1];
  }
}

// Narrow bands get loops of fixed length; the bits are the same.
#define NARROW(below, above, CALL) \
  if ((below) == 1 && (above) == 1) { \
    CALL(1, 1); \
  } else if ((below) == 2 && (above) == 2) { \
    CALL(2, 2); \
  } else if ((below) == 3 && (above) == 3) { \
    CALL(3, 3); \
  } else { \
    CALL(below, above); \
  }

bool num_band_factor(uint32_t n, uint32_t below, uint32_t above, double* a, double* lower,
                     uint32_t* pivot) {
#define CALL(p, q) return factor_any(n, p, q, a, lower, pivot)
  NARROW(below, above, CALL)
#undef CALL
}

void num_band_solve(uint32_t n, uint32_t below, uint32_t above, const double* a,
                    const double* lower, const uint32_t* pivot, double* b) {
#define CALL(p, q) \
  if ((p) == (q) && (p) <= NARROW_MAX) { \
    solve_narrow(n, p, q, a, lower, pivot, b); \
  } else { \
    solve_wide(n, p, q, a, lower, pivot, b); \
  }
  NARROW(below, above, CALL)
#undef CALL
}
