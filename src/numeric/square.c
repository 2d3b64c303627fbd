// SPDX-License-Identifier: MIT
//
// Square sparse systems that are solved for one matrix only, by KLU with its row pivoting.
#include "numeric/internal.h"

#include <klu.h>
#include <limits.h>
#include <stdlib.h>

struct NumSquare {
  klu_common common;
  klu_symbolic* symbolic;
  klu_numeric* numeric;
  int n;
  int *begin, *rows;
  double* values;
};

/// Columns with ascending rows; what has the same place is added up in the order given.
static bool compress(NumSquare* s, const NumEntry* entries, const double* values, uint32_t count) {
  size_t n = (size_t)s->n;
  s->begin = calloc(n + 2, sizeof *s->begin);
  s->rows = malloc(((size_t)count + 1) * sizeof *s->rows);
  s->values = malloc(((size_t)count + 1) * sizeof *s->values);
  int* by_row = malloc(((size_t)count + 1) * sizeof *by_row);
  int* row_begin = calloc(n + 2, sizeof *row_begin);
  bool made = s->begin && s->rows && s->values && by_row && row_begin;
  if (made) {
    for (uint32_t k = 0; k < count; k++) {
      row_begin[entries[k].row + 2]++;
      s->begin[entries[k].column + 2]++;
    }
    for (size_t i = 0; i < n; i++) {
      row_begin[i + 2] += row_begin[i + 1];
      s->begin[i + 2] += s->begin[i + 1];
    }
    for (uint32_t k = 0; k < count; k++) {
      by_row[row_begin[entries[k].row + 1]++] = (int)k;
    }
    for (uint32_t m = 0; m < count; m++) {
      const NumEntry* entry = &entries[by_row[m]];
      int at = s->begin[entry->column + 1]++;
      s->rows[at] = (int)entry->row;
      s->values[at] = values[by_row[m]];
    }
    int to = 0;
    for (size_t j = 0; j < n; j++) {
      int from = s->begin[j];
      int end = s->begin[j + 1];
      s->begin[j] = to;
      for (; from < end; from++) {
        bool again = to > s->begin[j] && s->rows[to - 1] == s->rows[from];
        if (again) {
          s->values[to - 1] += s->values[from];
        } else {
          s->rows[to] = s->rows[from];
          s->values[to++] = s->values[from];
        }
      }
    }
    s->begin[n] = to;
  }
  free(by_row);
  free(row_begin);
  return made;
}

/// Pivots that are rounding beside the largest entry of their row make the matrix singular. KLU
/// scales rows by their largest entries (scale = 2), so the diagonal of U is relative already.
static bool has_rank(const NumSquare* s, double tolerance, uint32_t* bad) {
  const double* diagonal = s->numeric->Udiag;
  for (int k = 0; k < s->n; k++) {
    if (num_abs(diagonal[k]) > tolerance) continue;
    if (bad) *bad = (uint32_t)s->symbolic->Q[k];
    return false;
  }
  return true;
}

SltStatus num_square_create(const NumEntry* entries, const double* values, uint32_t entry_count,
                            uint32_t n, double tolerance, uint32_t* bad, NumSquare** out) {
  *out = NULL;
  if (n >= INT_MAX || entry_count >= INT_MAX) return SLT_ERR_LIMIT;
  for (uint32_t k = 0; k < entry_count; k++) {
    if (!(num_abs(values[k]) <= DBL_MAX)) return SLT_ERR_NOT_FINITE;
  }
  NumSquare* s = calloc(1, sizeof *s);
  if (!s) return SLT_ERR_NOMEM;
  s->n = (int)n;
  klu_defaults(&s->common);
  s->common.tol = 1.0;  // the largest entry, not one that is large enough
  SltStatus status = compress(s, entries, values, entry_count) ? SLT_OK : SLT_ERR_NOMEM;
  if (status == SLT_OK) {
    s->symbolic = klu_analyze(s->n, s->begin, s->rows, &s->common);
    if (s->symbolic) {
      s->numeric = klu_factor(s->begin, s->rows, s->values, s->symbolic, &s->common);
    }
    if (!s->numeric) {
      status = s->common.status == KLU_OUT_OF_MEMORY ? SLT_ERR_NOMEM : SLT_ERR_STRUCTURE;
      if (bad && s->common.status == KLU_SINGULAR && s->common.singular_col >= 0) {
        *bad = (uint32_t)s->common.singular_col;
      }
    } else if (!has_rank(s, tolerance, bad)) {
      status = SLT_ERR_STRUCTURE;
    }
  }
  if (status < 0) {
    num_square_free(s);
    return status;
  }
  *out = s;
  return SLT_OK;
}

void num_square_solve(NumSquare* s, double* b) {
  (void)klu_solve(s->symbolic, s->numeric, s->n, 1, b, &s->common);
}

void num_square_free(NumSquare* s) {
  if (!s) return;
  if (s->numeric) klu_free_numeric(&s->numeric, &s->common);
  if (s->symbolic) klu_free_symbolic(&s->symbolic, &s->common);
  free(s->begin);
  free(s->rows);
  free(s->values);
  free(s);
}
