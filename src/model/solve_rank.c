// SPDX-License-Identifier: MIT
//
// Linear systems that say the same twice and leave something open (floating potentials, ideal
// switches in parallel): where the equations agree, the smallest solution.
//
// Householder elimination with column pivoting finds the rank; the solution with zeros for what is
// left open is then moved along the null space to the smallest one, so that the result depends on
// the system alone and not on which columns were taken.
#include "model/solve_rank.h"

#include <float.h>
#include <math.h>

#define RANK_MIN  1e-11  // pivots below, relative to the largest one, are rounding
#define AGREEMENT 1e-9   // of the equations beyond the rank, relative
#define YIELD     1e-3   // weight of an unknown that leaves the load to others, its square counts

static double column_norm(const double* a, uint32_t n, uint32_t from, uint32_t column) {
  double sum = 0.0;
  for (uint32_t i = from; i < n; i++) {
    sum += a[(size_t)i * n + column] * a[(size_t)i * n + column];
  }
  return sqrt(sum);
}

static void swap_columns(double* a, uint32_t n, uint32_t j, uint32_t k, double* order) {
  for (uint32_t i = 0; i < n; i++) {
    double swap = a[(size_t)i * n + j];
    a[(size_t)i * n + j] = a[(size_t)i * n + k];
    a[(size_t)i * n + k] = swap;
  }
  double swap = order[j];
  order[j] = order[k];
  order[k] = swap;
}

/// The row with the largest entry of column k comes first: the error of a row then stays small
/// beside that row (Cox and Higham 1998), and rows that share no unknown never touch each other.
static void pivot_row(double* a, uint32_t n, uint32_t k, double* b) {
  uint32_t best = k;
  for (uint32_t i = k + 1; i < n; i++) {
    if (fabs(a[(size_t)i * n + k]) > fabs(a[(size_t)best * n + k])) best = i;
  }
  for (uint32_t j = k; best != k && j <= n; j++) {
    double* upper = j < n ? &a[(size_t)k * n + j] : &b[k];
    double* lower = j < n ? &a[(size_t)best * n + j] : &b[best];
    double swap = *upper;
    *upper = *lower;
    *lower = swap;
  }
}

/// Reflect rows k.. so that column k has zeros below its diagonal; b goes along.
static void reflect(double* a, uint32_t n, uint32_t k, double norm, double* b) {
  double* pivot = &a[(size_t)k * n + k];
  double alpha = *pivot > 0.0 ? -norm : norm;
  double first = *pivot - alpha;
  double beta = first * alpha;  // minus half the square of the vector
  for (uint32_t j = k + 1; j <= n; j++) {
    double* entry = j < n ? &a[(size_t)k * n + j] : &b[k];
    double sum = first * *entry;
    for (uint32_t i = k + 1; i < n; i++) {
      sum += a[(size_t)i * n + k] * (j < n ? a[(size_t)i * n + j] : b[i]);
    }
    sum /= beta;
    *entry += sum * first;
    for (uint32_t i = k + 1; i < n; i++) {
      double* below = j < n ? &a[(size_t)i * n + j] : &b[i];
      *below += sum * a[(size_t)i * n + k];
    }
  }
  *pivot = alpha;
}

/// b := R11^-1 b for the leading rank x rank triangle.
static void back_substitute(const double* a, uint32_t n, uint32_t rank, double* b,
                            uint32_t stride) {
  for (uint32_t i = rank; i-- > 0;) {
    double sum = b[(size_t)i * stride];
    for (uint32_t j = i + 1; j < rank; j++) {
      sum -= a[(size_t)i * n + j] * b[(size_t)j * stride];
    }
    b[(size_t)i * stride] = sum / a[(size_t)i * n + i];
  }
}

static double square_of(const double* weight, double column) {
  double w = weight ? weight[(uint32_t)column] : 1.0;
  return w * w;
}

/// Solve the k x k system I + T^T T, its squares by the weights of the unknowns, in the lower right
/// corner by Cholesky; z at b + rank.
static void smallest(double* a, uint32_t n, uint32_t rank, double* b, const double* weight,
                     const double* order) {
  uint32_t open = n - rank;
  double* m = a + (size_t)rank * n + rank;
  double* z = b + rank;
  for (uint32_t i = 0; i < open; i++) {
    z[i] = 0.0;
    for (uint32_t r = 0; r < rank; r++) {
      z[i] += square_of(weight, order[r]) * a[(size_t)r * n + rank + i] * b[r];
    }
    for (uint32_t j = 0; j <= i; j++) {
      double sum = i == j ? square_of(weight, order[rank + i]) : 0.0;
      for (uint32_t r = 0; r < rank; r++) {
        sum +=
            square_of(weight, order[r]) * a[(size_t)r * n + rank + i] * a[(size_t)r * n + rank + j];
      }
      for (uint32_t l = 0; l < j; l++) {
        sum -= m[(size_t)i * n + l] * m[(size_t)j * n + l];
      }
      m[(size_t)i * n + j] = i == j ? sqrt(sum) : sum / m[(size_t)j * n + j];
    }
    for (uint32_t l = 0; l < i; l++) {
      z[i] -= m[(size_t)i * n + l] * z[l];
    }
    z[i] /= m[(size_t)i * n + i];
  }
  for (uint32_t i = open; i-- > 0;) {
    for (uint32_t l = i + 1; l < open; l++) {
      z[i] -= m[(size_t)l * n + i] * z[l];
    }
    z[i] /= m[(size_t)i * n + i];
  }
}

/// Unknowns that yield count as so much larger than they are: of all solutions the one in which
/// they are smallest is the smallest.
static void weigh(uint32_t n, const bool* yields, double* a) {
  for (uint32_t j = 0; yields && j < n; j++) {
    for (uint32_t i = 0; yields[j] && i < n; i++) {
      a[(size_t)i * n + j] *= YIELD;
    }
  }
}

/// Triangular form of the columns, the largest first; returns their rank, MODEL_RANK_NONE where
/// something is not finite.
static uint32_t triangular_form(uint32_t n, double* a, double* b, double* order) {
  double largest = 0.0;
  uint32_t rank = 0;
  for (; rank < n; rank++) {
    uint32_t best = rank;
    double best_norm = -1.0;
    for (uint32_t j = rank; j < n; j++) {
      double norm = column_norm(a, n, rank, j);
      if (!(norm <= DBL_MAX)) return MODEL_RANK_NONE;
      if (norm > best_norm) {
        best = j;
        best_norm = norm;
      }
    }
    if (rank == 0) largest = best_norm;
    if (!(best_norm > RANK_MIN * largest)) break;
    if (best != rank) swap_columns(a, n, rank, best, order);
    pivot_row(a, n, rank, b);
    reflect(a, n, rank, best_norm, b);
  }
  return rank;
}

uint32_t model_rank_solve(uint32_t n, double* a, double* b, double size, const double* weight,
                          const bool* yields, double* order, double* x) {
  weigh(n, yields, a);
  for (uint32_t j = 0; j < n; j++) {
    order[j] = (double)j;
  }
  uint32_t rank = triangular_form(n, a, b, order);
  if (rank == MODEL_RANK_NONE) return rank;
  for (uint32_t i = 0; i < n; i++) {
    if (!(fabs(b[i]) <= DBL_MAX) || (i >= rank && fabs(b[i]) > AGREEMENT * size)) {
      return MODEL_RANK_NONE;
    }
  }
  back_substitute(a, n, rank, b, 1);
  for (uint32_t j = rank; j < n; j++) {
    back_substitute(a, n, rank, a + j, n);
  }
  smallest(a, n, rank, b, weight, order);
  for (uint32_t i = 0; i < rank; i++) {
    for (uint32_t j = rank; j < n; j++) {
      b[i] -= a[(size_t)i * n + j] * b[j];
    }
  }
  for (uint32_t j = 0; j < n; j++) {
    uint32_t k = (uint32_t)order[j];
    x[k] = yields && yields[k] ? YIELD * b[j] : b[j];
  }
  return rank;
}
