// SPDX-License-Identifier: MIT
//
// Sparse elimination in large blocks. The order of the pivots is fixed when the block is built
// (build_sparse.c), so that a solution is a walk through tables: no memory, no search, no history.
// Numbers that do not suit the order are seen by their pivots and residuals; then KLU chooses rows
// by their sizes.
#include "model/solve_sparse.h"

#include <float.h>
#include <klu.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIVOT_FIXED 1e-7  // of the row's largest entry: below, other pivots are looked for
#define GROWN_MAX   1e6   // of the row's largest entry: what elimination makes above is not trusted

size_t model_sparse_room(const ModelSparse* sparse) {
  return (size_t)sparse->lower_begin[sparse->count] + sparse->upper_begin[sparse->count] +
         2 * (size_t)sparse->count;
}

typedef struct Factors {
  double *lower, *upper, *diagonal, *row;
} Factors;

static Factors factors_in(const ModelSparse* s, double* work) {
  Factors f = {.lower = work};
  f.upper = f.lower + s->lower_begin[s->count];
  f.diagonal = f.upper + s->upper_begin[s->count];
  f.row = f.diagonal + s->count;
  return f;
}

/// The entries of row k of the order, spread out; their largest size, negative when one is not a
/// number.
static double spread_row(const ModelSolve* solve, const double* regs, uint32_t k, double* row) {
  const ModelSparse* s = solve->sparse;
  for (uint32_t m = s->lower_begin[k]; m < s->lower_begin[k + 1]; m++) {
    row[s->lower[m]] = 0.0;
  }
  for (uint32_t m = s->upper_begin[k]; m < s->upper_begin[k + 1]; m++) {
    row[s->upper[m]] = 0.0;
  }
  row[k] = 0.0;
  double largest = 0.0;
  for (uint32_t m = s->entry_begin[k]; m < s->entry_begin[k + 1]; m++) {
    double value = regs[solve->entries[s->entry[m]].reg];
    row[s->entry_column[m]] += value;
    if (!(fabs(value) <= DBL_MAX)) return -1.0;
    if (fabs(value) > largest) largest = fabs(value);
  }
  return largest;
}

bool model_sparse_factor(const ModelSolve* solve, const double* regs, double* scale, double* work) {
  const ModelSparse* s = solve->sparse;
  Factors f = factors_in(s, work);
  for (uint32_t k = 0; k < s->count; k++) {
    double largest = spread_row(solve, regs, k, f.row);
    if (!(largest > 0.0)) return false;
    scale[s->rows[k]] = largest;
    for (uint32_t m = s->lower_begin[k]; m < s->lower_begin[k + 1]; m++) {
      uint32_t before = s->lower[m];
      double factor = f.row[before] / f.diagonal[before];
      if (!(fabs(f.row[before]) <= GROWN_MAX * largest)) return false;
      f.lower[m] = factor;
      if (factor == 0.0) continue;
      for (uint32_t u = s->upper_begin[before]; u < s->upper_begin[before + 1]; u++) {
        f.row[s->upper[u]] -= factor * f.upper[u];
      }
    }
    f.diagonal[k] = f.row[k];
    if (!(fabs(f.row[k]) > PIVOT_FIXED * largest)) return false;
    // pivots may all be large enough and the entries still grow, row after row
    double grown = fabs(f.row[k]);
    for (uint32_t m = s->upper_begin[k]; m < s->upper_begin[k + 1]; m++) {
      f.upper[m] = f.row[s->upper[m]];
      if (fabs(f.upper[m]) > grown) grown = fabs(f.upper[m]);
    }
    if (!(grown <= GROWN_MAX * largest)) return false;
  }
  return true;
}

void model_sparse_solve(const ModelSolve* solve, const double* regs, const double* work,
                        double* step) {
  const ModelSparse* s = solve->sparse;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): read only here
  Factors f = factors_in(s, (double*)(uintptr_t)work);
  for (uint32_t k = 0; k < s->count; k++) {
    double sum = -regs[solve->residuals[s->rows[k]]];
    for (uint32_t m = s->lower_begin[k]; m < s->lower_begin[k + 1]; m++) {
      sum -= f.lower[m] * f.row[s->lower[m]];
    }
    f.row[k] = sum;
  }
  for (uint32_t k = s->count; k-- > 0;) {
    double sum = f.row[k];
    for (uint32_t m = s->upper_begin[k]; m < s->upper_begin[k + 1]; m++) {
      sum -= f.upper[m] * f.row[s->upper[m]];
    }
    f.row[k] = sum / f.diagonal[k];
    step[s->columns[k]] = f.row[k];
  }
}

// ---- pivots by numbers --------------------------------------------------------------------------

struct ModelPivoted {
  klu_common common;
  klu_symbolic* symbolic;
  klu_numeric* numeric;
  int n;
  int *begin, *rows, *next;
  double* values;
  const double *row, *column;  // units; NULL: as they are
};

static double unit_of(const ModelPivoted* p, const ModelEntry* entry) {
  return p->row ? p->row[entry->row] * p->column[entry->column] : 1.0;
}

/// By columns, rows ascending: entries come by rows.
static bool compress(ModelPivoted* p, const ModelSolve* solve, const double* regs, double* scale) {
  size_t n = solve->count;
  for (uint32_t i = 0; i < solve->count; i++) {
    scale[i] = 0.0;
  }
  for (uint32_t k = 0; k < solve->entry_count; k++) {
    const ModelEntry* entry = &solve->entries[k];
    double size = fabs(regs[entry->reg]) * unit_of(p, entry);
    if (!(size <= DBL_MAX)) return false;
    if (size > scale[entry->row]) scale[entry->row] = size;
    p->begin[entry->column + 1]++;
  }
  for (size_t j = 0; j < n; j++) {
    if (scale[j] == 0.0) return false;
    p->begin[j + 1] += p->begin[j];
    p->next[j] = p->begin[j];
  }
  for (uint32_t k = 0; k < solve->entry_count; k++) {
    const ModelEntry* entry = &solve->entries[k];
    int at = p->next[entry->column]++;
    p->rows[at] = (int)entry->row;
    p->values[at] = regs[entry->reg] * unit_of(p, entry) / scale[entry->row];
  }
  return true;
}

static bool has_rank(const ModelPivoted* p) {
  const double* diagonal = p->numeric->Udiag;
  for (int k = 0; k < p->n; k++) {
    if (!(fabs(diagonal[k]) > MODEL_PIVOT_MIN)) return false;
  }
  return true;
}

ModelPivoted* model_pivoted_create(const ModelSolve* solve, const double* regs, const double* row,
                                   const double* column, double* scale) {
  ModelPivoted* p = calloc(1, sizeof *p);
  if (!p) return NULL;
  size_t n = solve->count;
  p->n = (int)n;
  p->row = row;
  p->column = column;
  p->begin = calloc(n + 1, sizeof *p->begin);
  p->next = calloc(n + 1, sizeof *p->next);
  p->rows = malloc(((size_t)solve->entry_count + 1) * sizeof *p->rows);
  p->values = malloc(((size_t)solve->entry_count + 1) * sizeof *p->values);
  klu_defaults(&p->common);
  p->common.scale = 0;  // rows are scaled already
  p->common.tol = 1.0;
  bool made = p->begin && p->next && p->rows && p->values && compress(p, solve, regs, scale);
  if (made) p->symbolic = klu_analyze(p->n, p->begin, p->rows, &p->common);
  if (p->symbolic) {
    p->numeric = klu_factor(p->begin, p->rows, p->values, p->symbolic, &p->common);
  }
  if (p->numeric && has_rank(p)) return p;
  model_pivoted_free(p);
  return NULL;
}

void model_pivoted_solve(ModelPivoted* p, const ModelSolve* solve, const double* regs,
                         const double* scale, double* step) {
  for (uint32_t i = 0; i < solve->count; i++) {
    step[i] = -regs[solve->residuals[i]] * (p->row ? p->row[i] : 1.0) / scale[i];
  }
  (void)klu_solve(p->symbolic, p->numeric, p->n, 1, step, &p->common);
}

void model_pivoted_free(ModelPivoted* p) {
  if (!p) return;
  if (p->numeric) klu_free_numeric(&p->numeric, &p->common);
  if (p->symbolic) klu_free_symbolic(&p->symbolic, &p->common);
  free(p->begin);
  free(p->next);
  free(p->rows);
  free(p->values);
  free(p);
}
