// SPDX-License-Identifier: MIT
//
// Sparse systems by KLU. The order of elimination is fixed when the system is made, from reference
// values that depend on the pattern alone (the diagonal dominates in the rows of states), and every
// later matrix is factored in that order: nothing is allocated in a step, and results do not depend
// on what was factored before. D/(h gamma) - J becomes diagonally dominant with smaller steps, so a
// matrix that does not suit the order makes the step shorter, not wrong. Rows of algebraic
// equations stay as they are however short the step: there, pivots are then chosen by the numbers,
// for that one matrix.
#include "numeric/linear.h"

#include <klu.h>
#include <limits.h>
#include <stdlib.h>

#define GROWTH_MIN 1e-9  // reciprocal growth of the factors below which they are not trusted
#define FLOP_COST  2.0   // ns
#define ENTRY_COST 2.0   // ns per entry and solution
#define SOLUTIONS  6.0
#define FLOPS_MANY 1e8  // a factorisation that is not made before it is asked for

struct NumSparse {
  klu_common common;
  klu_symbolic* symbolic;
  klu_numeric* numeric;
  klu_numeric* pivoted;  // factors by the numbers; NULL: those in the fixed order are good
  bool algebraic;        // has rows of algebraic equations
  uint32_t states;       // rows of differential equations, the first ones
  int n;
  int* begin;  // by columns
  int* rows;
};

/// One entry: counted in the first pass, put into its column in the second.
static void put(NumSparse* sparse, int pass, uint32_t row, uint32_t column) {
  int* at = &sparse->begin[column + (pass ? 1 : 2)];
  if (pass) {
    sparse->rows[*at] = (int)row;
  }
  (*at)++;
}

static void put_row(NumSparse* sparse, const NumPattern* pattern, int pass, uint32_t row) {
  bool placed = row >= pattern->states;  // its diagonal
  for (uint32_t k = pattern->begin[row]; k < pattern->begin[row + 1]; k++) {
    placed |= pattern->columns[k] == row;
    put(sparse, pass, row, pattern->columns[k]);
  }
  if (!placed) {
    put(sparse, pass, row, row);
  }
}

/// Columns from rows, with the diagonal of the states; rows ascend by construction.
static bool compress(const NumPattern* pattern, NumSparse* sparse) {
  uint32_t n = pattern->states + pattern->algebraic;
  size_t most = (size_t)pattern->begin[n] + pattern->states;
  if (n >= INT_MAX || most >= INT_MAX) {
    return false;
  }
  sparse->n = (int)n;
  sparse->algebraic = pattern->algebraic > 0;
  sparse->begin = calloc((size_t)n + 2, sizeof *sparse->begin);
  sparse->rows = malloc((most ? most : 1) * sizeof *sparse->rows);
  if (!sparse->begin || !sparse->rows) {
    return false;
  }
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < n; i++) {
      put_row(sparse, pattern, pass, i);
    }
    for (uint32_t j = 0; !pass && j < n; j++) {
      sparse->begin[j + 2] += sparse->begin[j + 1];
    }
  }
  return true;
}

static int count_of(const NumSparse* sparse) {
  return sparse->begin[sparse->n];
}

/// A number in [0.5, 1.5) that looks like no other.
static double generic(uint32_t row, uint32_t column) {
  uint64_t h = ((uint64_t)row << 32 | column) * UINT64_C(0x9e3779b97f4a7c15);
  h ^= h >> 29;
  h *= UINT64_C(0xbf58476d1ce4e5b9);
  return 0.5 + (double)(h >> 11) * 0x1p-53;
}

/// Pivots from the reference values.
static SltStatus choose_pivots(NumSparse* sparse) {
  double* values = malloc((size_t)(count_of(sparse) ? count_of(sparse) : 1) * sizeof *values);
  if (!values) {
    return SLT_ERR_NOMEM;
  }
  for (int j = 0; j < sparse->n; j++) {
    for (int k = sparse->begin[j]; k < sparse->begin[j + 1]; k++) {
      uint32_t i = (uint32_t)sparse->rows[k];
      double value = generic(i, (uint32_t)j);
      bool dominant = i == (uint32_t)j && i < sparse->states;
      values[k] = dominant ? 4.0 * (double)sparse->n : value;
    }
  }
  sparse->numeric =
      klu_factor(sparse->begin, sparse->rows, values, sparse->symbolic, &sparse->common);
  free(values);
  if (sparse->numeric && sparse->common.status == KLU_OK) {
    return SLT_OK;
  }
  return sparse->common.status == KLU_OUT_OF_MEMORY ? SLT_ERR_NOMEM : SLT_ERR_STRUCTURE;
}

SltStatus num_sparse_create(const NumPattern* pattern, NumSparse** out, double* cost) {
  *out = NULL;
  NumSparse* sparse = calloc(1, sizeof *sparse);
  if (!sparse) {
    return SLT_ERR_NOMEM;
  }
  SltStatus status = SLT_ERR_NOMEM;
  klu_defaults(&sparse->common);
  if (compress(pattern, sparse)) {
    sparse->symbolic = klu_analyze(sparse->n, sparse->begin, sparse->rows, &sparse->common);
    sparse->states = pattern->states;
    if (sparse->symbolic) {
      // somebody may ask what it would cost, and not want it then
      bool large = sparse->symbolic->est_flops > FLOPS_MANY && !sparse->algebraic;
      status = large ? SLT_OK : choose_pivots(sparse);
    } else if (sparse->common.status != KLU_OUT_OF_MEMORY) {
      status = SLT_ERR_STRUCTURE;
    }
  }
  if (status < 0) {
    num_sparse_free(sparse);
    return status;
  }
  double entries = sparse->symbolic->lnz + sparse->symbolic->unz;
  double flops = sparse->symbolic->est_flops;
  if (sparse->numeric) {
    entries = (double)sparse->numeric->lnz + (double)sparse->numeric->unz;
    klu_flops(sparse->symbolic, sparse->numeric, &sparse->common);
    flops = sparse->common.flops;
  }
  *cost = FLOP_COST * flops + (SOLUTIONS + 4.0) * ENTRY_COST * entries + 60.0 * (double)sparse->n;
  *out = sparse;
  return SLT_OK;
}

static void forget_pivoted(NumSparse* sparse) {
  if (sparse->pivoted) {
    klu_free_numeric(&sparse->pivoted, &sparse->common);
  }
}

void num_sparse_free(NumSparse* sparse) {
  if (!sparse) {
    return;
  }
  forget_pivoted(sparse);
  if (sparse->numeric) {
    klu_free_numeric(&sparse->numeric, &sparse->common);
  }
  if (sparse->symbolic) {
    klu_free_symbolic(&sparse->symbolic, &sparse->common);
  }
  free(sparse->begin);
  free(sparse->rows);
  free(sparse);
}

size_t num_sparse_count(const NumSparse* sparse) {
  return (size_t)count_of(sparse);
}

static size_t find(const NumSparse* sparse, uint32_t row, uint32_t column) {
  int lo = sparse->begin[column];
  int hi = sparse->begin[column + 1] - 1;
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2;
    if (sparse->rows[middle] < (int)row) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return (size_t)lo;
}

void num_sparse_places(const NumSparse* sparse, const NumPattern* pattern, uint32_t* place,
                       uint32_t* diagonal) {
  for (uint32_t i = 0; i < (uint32_t)sparse->n; i++) {
    for (uint32_t k = pattern->begin[i]; k < pattern->begin[i + 1]; k++) {
      place[k] = (uint32_t)find(sparse, i, pattern->columns[k]);
    }
    if (i < pattern->states) {
      diagonal[i] = (uint32_t)find(sparse, i, i);
    }
  }
}

/// Written so that a NaN fails.
static bool trusted(NumSparse* sparse, klu_numeric* numeric, double* values) {
  klu_common* common = &sparse->common;
  return common->status == KLU_OK &&
         klu_rgrowth(sparse->begin, sparse->rows, values, sparse->symbolic, numeric, common) &&
         common->rgrowth > GROWTH_MIN;
}

SltStatus num_sparse_factor(NumSparse* sparse, double* values) {
  klu_common* common = &sparse->common;
  forget_pivoted(sparse);
  if (!sparse->numeric) {
    SLT_TRY(choose_pivots(sparse));
  }
  if (klu_refactor(sparse->begin, sparse->rows, values, sparse->symbolic, sparse->numeric,
                   common) &&
      trusted(sparse, sparse->numeric, values)) {
    return SLT_OK;
  }
  if (!sparse->algebraic) {
    return SLT_ERR_STRUCTURE;
  }
  double preference = common->tol;
  common->tol = 1.0;  // the largest entry, not the diagonal where it is large enough
  sparse->pivoted = klu_factor(sparse->begin, sparse->rows, values, sparse->symbolic, common);
  common->tol = preference;
  if (sparse->pivoted && trusted(sparse, sparse->pivoted, values)) {
    return SLT_OK;
  }
  return common->status == KLU_OUT_OF_MEMORY ? SLT_ERR_NOMEM : SLT_ERR_STRUCTURE;
}

void num_sparse_solve(NumSparse* sparse, double* b) {
  klu_numeric* numeric = sparse->pivoted ? sparse->pivoted : sparse->numeric;
  (void)klu_solve(sparse->symbolic, numeric, sparse->n, 1, b, &sparse->common);
}
