// SPDX-License-Identifier: MIT
//
// Linear complementarity by Lemke's method, and dense systems of which some unknowns are left out.
#include "numeric/internal.h"

#define NEGLIGIBLE     1e-13  // of the largest entry of a row scaled to 1
#define DEPENDENT      1e-10  // of a row: what elimination leaves of one that repeats others
#define PIVOTS_PER_ROW 50

// ---- Lemke's method -----------------------------------------------------------------------------
//
// Columns of the tableau: w (n, at first the unit matrix, later the inverse of the basis), z (n),
// the artificial z0, and the right side.

typedef struct Tableau {
  uint32_t n, columns;
  double* a;      // n rows
  double* basic;  // per row: the column that it stands for
} Tableau;

size_t num_lcp_room(uint32_t n) {
  size_t elimination = (size_t)n * n + 3 * (size_t)n;
  size_t tableau = (size_t)n * (2 * (size_t)n + 2) + 2 * (size_t)n;
  return tableau > elimination ? tableau : elimination;
}

static double* row_of(const Tableau* t, uint32_t i) {
  return t->a + (size_t)i * t->columns;
}

static void pivot(Tableau* t, uint32_t row, uint32_t column) {
  double* p = row_of(t, row);
  double factor = 1.0 / p[column];
  for (uint32_t k = 0; k < t->columns; k++) {
    p[k] *= factor;
  }
  p[column] = 1.0;
  for (uint32_t i = 0; i < t->n; i++) {
    double* r = row_of(t, i);
    double share = r[column];
    if (i == row || share == 0.0) continue;
    for (uint32_t k = 0; k < t->columns; k++) {
      r[k] -= share * p[k];
    }
    r[column] = 0.0;
  }
  t->basic[row] = column;
}

/// Whether row i comes before row k in the lexicographic order of (right side, inverse), divided by
/// their entries in the column.
static bool comes_first(const Tableau* t, uint32_t i, uint32_t k, uint32_t column) {
  const double* a = row_of(t, i);
  const double* b = row_of(t, k);
  double x = a[t->columns - 1] / a[column];
  double y = b[t->columns - 1] / b[column];
  if (num_abs(x - y) > NEGLIGIBLE * (num_abs(x) + num_abs(y))) return x < y;
  // the artificial variable leaves as soon as it can
  if (t->basic[i] == 2.0 * t->n || t->basic[k] == 2.0 * t->n) return t->basic[i] == 2.0 * t->n;
  for (uint32_t c = 0; c < t->n; c++) {
    x = a[c] / a[column];
    y = b[c] / b[column];
    if (num_abs(x - y) > NEGLIGIBLE * (num_abs(x) + num_abs(y))) return x < y;
  }
  return false;
}

static uint32_t leaving_row(const Tableau* t, uint32_t column) {
  uint32_t found = UINT32_MAX;
  for (uint32_t i = 0; i < t->n; i++) {
    if (row_of(t, i)[column] <= NEGLIGIBLE) continue;
    if (found == UINT32_MAX || comes_first(t, i, found, column)) found = i;
  }
  return found;
}

/// Root of the size of a diagonal entry, to a power of two: rows and columns divided by these do
/// not depend on the units of the pairs.
static double unit_of(uint32_t n, const double* m, uint32_t k) {
  int exponent = 0;
  frexp(m[(size_t)k * n + k], &exponent);
  return m[(size_t)k * n + k] != 0.0 ? ldexp(1.0, exponent / 2) : 1.0;
}

/// M and q in these units; `scale` keeps those of the rows.
static void fill(Tableau* t, const double* m, const double* q, double* scale) {
  for (uint32_t i = 0; i < t->n; i++) {
    scale[i] = unit_of(t->n, m, i);
  }
  for (uint32_t i = 0; i < t->n; i++) {
    double* r = row_of(t, i);
    for (uint32_t k = 0; k < t->n; k++) {
      r[k] = k == i;
      r[t->n + k] = -m[(size_t)i * t->n + k] / (scale[i] * scale[k]);
    }
    r[(size_t)2 * t->n] = -1.0;
    r[(size_t)2 * t->n + 1] = q[i] / scale[i];
    t->basic[i] = i;
  }
}

static bool lemke(Tableau* t) {
  uint32_t n = t->n;
  uint32_t row = 0;
  for (uint32_t i = 1; i < n; i++) {
    if (row_of(t, i)[2 * n + 1] < row_of(t, row)[2 * n + 1]) row = i;
  }
  if (!(row_of(t, row)[2 * n + 1] < 0.0)) return true;
  uint32_t leaves = row;
  pivot(t, row, 2 * n);
  for (uint32_t turn = 0; turn < PIVOTS_PER_ROW * (n + 1); turn++) {
    uint32_t enters = leaves < n ? leaves + n : leaves - n;
    row = leaving_row(t, enters);
    if (row == UINT32_MAX) return false;
    leaves = (uint32_t)t->basic[row];
    pivot(t, row, enters);
    if (leaves == 2 * n) return true;
  }
  return false;
}

bool num_lcp_solve(uint32_t n, const double* m, const double* q, double* z, double* w,
                   double* work) {
  double* scale = work;
  Tableau t = {.n = n, .columns = 2 * n + 2, .basic = work + n, .a = work + 2 * (size_t)n};
  fill(&t, m, q, scale);
  bool solved = lemke(&t);
  for (uint32_t i = 0; i < n; i++) {
    z[i] = 0.0;
    w[i] = 0.0;
  }
  for (uint32_t i = 0; solved && i < n; i++) {
    double value = num_max(row_of(&t, i)[2 * n + 1], 0.0);
    uint32_t column = (uint32_t)t.basic[i];
    if (column < n) w[column] = value * scale[column];
    if (column >= n && column < 2 * n) {
      z[column - n] = value / scale[column - n];
    }
  }
  return solved;
}

bool num_lcp_ambiguous(uint32_t n, const double* m) {
  for (uint32_t i = 0; i < n; i++) {
    if (!(m[(size_t)i * n + i] > 0.0)) return true;
  }
  return false;
}

// ---- equations ----------------------------------------------------------------------------------

/// Take what the rows before have solved out of row number `rank`.
static void eliminate_row(uint32_t n, double* u, double* right, const double* place,
                          uint32_t rank) {
  double* r = u + (size_t)rank * n;
  for (uint32_t p = 0; p < rank; p++) {
    uint32_t c = (uint32_t)place[p];
    double share = r[c] / u[(size_t)p * n + c];
    if (share == 0.0) continue;
    for (uint32_t k = 0; k < n; k++) {
      r[k] -= share * u[(size_t)p * n + k];
    }
    r[c] = 0.0;
    right[rank] -= share * right[p];
  }
}

void num_dense_solve_members(uint32_t n, const double* a, const double* b, const bool* in,
                             double* x, bool* carries, double* work) {
  double* u = work;  // rows as eliminated so far
  double* right = work + (size_t)n * n;
  double* size = right + n;
  double* place = size + n;  // column that each row was solved for
  uint32_t rank = 0;
  for (uint32_t i = 0; i < n; i++) {
    x[i] = 0.0;
    carries[i] = false;
  }
  // a row is taken up only if the rows before leave something of it
  for (uint32_t i = 0; i < n; i++) {
    if (!in[i]) continue;
    double* r = u + (size_t)rank * n;
    size[rank] = 0.0;
    for (uint32_t k = 0; k < n; k++) {
      r[k] = in[k] ? a[(size_t)i * n + k] : 0.0;
      size[rank] = num_max(size[rank], num_abs(r[k]));
    }
    right[rank] = b[i];
    eliminate_row(n, u, right, place, rank);
    // its own column if that is not much worse than the best: the others may be needed later
    uint32_t best = i;
    for (uint32_t k = 0; k < n; k++) {
      if (num_abs(r[k]) > 10.0 * num_abs(r[best])) best = k;
    }
    if (!(num_abs(r[best]) > DEPENDENT * size[rank])) continue;
    place[rank] = best;
    carries[best] = true;
    rank++;
  }
  for (uint32_t p = rank; p-- > 0;) {
    uint32_t c = (uint32_t)place[p];
    double sum = right[p];
    for (uint32_t k = 0; k < n; k++) {
      if (k != c) sum -= u[(size_t)p * n + k] * x[k];
    }
    x[c] = sum / u[(size_t)p * n + c];
  }
}
