// SPDX-License-Identifier: MIT
#include "amd.h"
#include "btf.h"
#include "klu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- orders -------------------------------------------------------------------------------------

int amd_order(int n, const int* begin, const int* rows, int* order, double* control, double* info) {
  (void)rows;
  (void)control;
  (void)info;
  int* place = calloc((size_t)n + 2, sizeof *place);
  if (!place) return AMD_OUT_OF_MEMORY;
  for (int j = 0; j < n; j++) {
    int entries = begin[j + 1] - begin[j];
    place[(entries < n ? entries : n) + 1]++;
  }
  for (int k = 0; k < n; k++)
    place[k + 1] += place[k];
  for (int j = 0; j < n; j++) {
    int entries = begin[j + 1] - begin[j];
    order[place[entries < n ? entries : n]++] = j;
  }
  free(place);
  return AMD_OK;
}

/// Tarjan's search, without recursion.
typedef struct Search {
  const int *begin, *rows, *columns;
  int *number, *low, *next, *path;  // number 0: not seen, -1: in a component
  int* order;                       // components grow from its begin, the open nodes from its end
  int seen, open, done;
} Search;

static void enter(Search* s, int node, int depth) {
  s->number[node] = s->low[node] = ++s->seen;
  s->next[node] = s->begin[s->columns[node]];
  s->path[depth] = node;
  s->order[--s->open] = node;
}

/// The next node to go to from one, or -1: all of its edges have been followed.
static int follow(Search* s, int node) {
  int end = s->begin[s->columns[node] + 1];
  while (s->next[node] < end) {
    int to = s->rows[s->next[node]++];
    if (s->number[to] == 0) return to;
    if (s->number[to] > 0 && s->number[to] < s->low[node]) s->low[node] = s->number[to];
  }
  return -1;
}

/// The open nodes down to this one are a component.
static void close_component(Search* s, int node) {
  int last = -1;
  while (last != node) {
    last = s->order[s->open++];
    s->number[last] = -1;
    s->order[s->done++] = last;
  }
}

static int components(Search* s, int n, int* blocks) {
  int count = 0;
  for (int root = 0; root < n; root++) {
    if (s->number[root] != 0) continue;
    int depth = 0;
    enter(s, root, depth);
    while (depth >= 0) {
      int node = s->path[depth];
      int to = follow(s, node);
      if (to >= 0) {
        enter(s, to, ++depth);
        continue;
      }
      if (s->low[node] == s->number[node]) {
        blocks[count++] = s->done;
        close_component(s, node);
      }
      depth--;
      if (depth >= 0 && s->low[node] < s->low[s->path[depth]] && s->number[node] > 0)
        s->low[s->path[depth]] = s->low[node];
    }
  }
  blocks[count] = n;
  return count;
}

int btf_strongcomp(int n, int* begin, int* rows, int* columns, int* order, int* blocks, int* work) {
  size_t size = (size_t)n;
  Search s = {.begin = begin,
              .rows = rows,
              .columns = columns,
              .number = work,
              .low = work + size,
              .next = work + 2 * size,
              .path = work + 3 * size,
              .order = order,
              .open = n};
  memset(s.number, 0, size * sizeof *s.number);
  int count = components(&s, n, blocks);
  for (int k = 0; k < n; k++)
    s.path[k] = columns[order[k]];
  memcpy(columns, s.path, size * sizeof *columns);
  return count;
}

// ---- factors ------------------------------------------------------------------------------------

int klu_defaults(klu_common* common) {
  *common = (klu_common){.tol = 0.001, .scale = 2, .singular_col = -1};
  return 1;
}

klu_symbolic* klu_analyze(int n, int* begin, int* rows, klu_common* common) {
  klu_symbolic* symbolic = calloc(1, sizeof *symbolic);
  if (symbolic) symbolic->Q = calloc((size_t)n + 1, sizeof *symbolic->Q);
  common->status = KLU_OK;
  if (symbolic && symbolic->Q && amd_order(n, begin, rows, symbolic->Q, NULL, NULL) == AMD_OK) {
    double entries = begin[n];
    symbolic->n = n;
    symbolic->lnz = symbolic->unz = entries;
    symbolic->est_flops = n > 0 ? 2.0 * entries * entries / n : 0.0;
    return symbolic;
  }
  klu_free_symbolic(&symbolic, common);
  common->status = KLU_OUT_OF_MEMORY;
  return NULL;
}

static int reserve(klu_factors* factor, int used, int more) {
  if (used + more <= factor->room) return 1;
  int room = 2 * (used + more);
  int* rows = realloc(factor->rows, (size_t)room * sizeof *rows);
  if (rows) factor->rows = rows;
  double* values = realloc(factor->values, (size_t)room * sizeof *values);
  if (values) factor->values = values;
  if (rows && values) factor->room = room;
  return rows && values;
}

static void put(klu_factors* factor, int* used, int row, double value) {
  factor->rows[*used] = row;
  factor->values[(*used)++] = value;
}

static void scale_rows(klu_numeric* f, const int* begin, const int* rows, const double* values,
                       int scales) {
  for (int i = 0; i < f->n; i++)
    f->scale[i] = scales ? 0.0 : 1.0;
  for (int p = 0; scales && p < begin[f->n]; p++)
    f->scale[rows[p]] = fmax(f->scale[rows[p]], fabs(values[p]));
  for (int i = 0; i < f->n; i++) {
    if (!(f->scale[i] > 0.0)) f->scale[i] = 1.0;
  }
}

/// A column of the matrix into `work`, less what the first k pivots make of it. The entries at
/// these are the column of U.
static void eliminate(klu_numeric* f, int k) {
  for (int j = 0; j < k; j++) {
    double factor = f->work[f->pivot[j]];
    if (factor == 0.0) continue;
    for (int p = f->l.begin[j]; p < f->l.begin[j + 1]; p++)
      f->work[f->l.rows[p]] -= factor * f->l.values[p];
    f->flops += 2.0 * (f->l.begin[j + 1] - f->l.begin[j]);
  }
}

/// The row of the next pivot: the diagonal where it is large enough, else the largest; -1: all 0.
static int choose(const klu_numeric* f, int diagonal, double tol) {
  int best = -1;
  double largest = 0.0;
  for (int i = 0; i < f->n; i++) {
    if (f->number[i] >= 0 || !(fabs(f->work[i]) > largest)) continue;
    largest = fabs(f->work[i]);
    best = i;
  }
  int fits = f->number[diagonal] < 0 && fabs(f->work[diagonal]) >= tol * largest;
  return best >= 0 && fits && f->work[diagonal] != 0.0 ? diagonal : best;
}

/// Store column k of both factors; `work` is empty again.
static int store(klu_numeric* f, int k) {
  int u = f->u.begin[k];
  int l = f->l.begin[k];
  if (!reserve(&f->u, u, k) || !reserve(&f->l, l, f->n)) return 0;
  for (int j = 0; j < k; j++) {
    double value = f->work[f->pivot[j]];
    f->work[f->pivot[j]] = 0.0;
    if (value != 0.0) put(&f->u, &u, j, value);
  }
  f->Udiag[k] = f->work[f->pivot[k]];
  f->work[f->pivot[k]] = 0.0;
  for (int i = 0; i < f->n; i++) {
    double value = f->work[i];
    f->work[i] = 0.0;
    if (value != 0.0) put(&f->l, &l, i, value / f->Udiag[k]);
  }
  f->u.begin[k + 1] = u;
  f->l.begin[k + 1] = l;
  return 1;
}

/// All columns; `fixed`: with the pivots that there are.
static int factorize(klu_numeric* f, const klu_symbolic* symbolic, const int* begin,
                     const int* rows, const double* values, int fixed, klu_common* common) {
  common->status = KLU_OK;
  common->singular_col = -1;
  f->flops = 0.0;
  scale_rows(f, begin, rows, values, common->scale > 0);
  memset(f->work, 0, (size_t)f->n * sizeof *f->work);
  for (int i = 0; i < f->n; i++)
    f->number[i] = -1;
  for (int k = 0; k < f->n; k++) {
    int column = symbolic->Q[k];
    for (int p = begin[column]; p < begin[column + 1]; p++)
      f->work[rows[p]] += values[p] / f->scale[rows[p]];
    eliminate(f, k);
    int row = fixed ? f->pivot[k] : choose(f, column, common->tol);
    if (row < 0 || f->work[row] == 0.0 || f->work[row] != f->work[row]) {
      common->status = KLU_SINGULAR;
      common->singular_col = column;
      return 0;
    }
    f->pivot[k] = row;
    f->number[row] = k;
    if (store(f, k)) continue;
    common->status = KLU_OUT_OF_MEMORY;
    return 0;
  }
  f->lnz = f->l.begin[f->n] + f->n;
  f->unz = f->u.begin[f->n] + f->n;
  return 1;
}

klu_numeric* klu_factor(int* begin, int* rows, double* values, klu_symbolic* symbolic,
                        klu_common* common) {
  size_t n = (size_t)symbolic->n + 1;
  klu_numeric* f = calloc(1, sizeof *f);
  if (f) {
    f->n = symbolic->n;
    f->l.begin = calloc(n, sizeof *f->l.begin);
    f->u.begin = calloc(n, sizeof *f->u.begin);
    f->pivot = calloc(n, sizeof *f->pivot);
    f->number = calloc(n, sizeof *f->number);
    f->Udiag = calloc(n, sizeof *f->Udiag);
    f->scale = calloc(n, sizeof *f->scale);
    f->work = calloc(n, sizeof *f->work);
  }
  common->status = KLU_OUT_OF_MEMORY;
  int made = f && f->l.begin && f->u.begin && f->pivot && f->number && f->Udiag && f->scale &&
             f->work && reserve(&f->l, 0, 1) && reserve(&f->u, 0, 1);
  if (made && factorize(f, symbolic, begin, rows, values, 0, common)) return f;
  klu_free_numeric(&f, common);
  return NULL;
}

int klu_refactor(int* begin, int* rows, double* values, klu_symbolic* symbolic,
                 klu_numeric* numeric, klu_common* common) {
  return factorize(numeric, symbolic, begin, rows, values, 1, common);
}

int klu_solve(klu_symbolic* symbolic, klu_numeric* numeric, int stride, int count, double* b,
              klu_common* common) {
  const klu_numeric* f = numeric;
  (void)common;
  for (; count > 0; count--, b += stride) {
    for (int i = 0; i < f->n; i++)
      b[i] /= f->scale[i];
    for (int k = 0; k < f->n; k++) {
      f->work[k] = b[f->pivot[k]];
      for (int p = f->l.begin[k]; p < f->l.begin[k + 1]; p++)
        b[f->l.rows[p]] -= f->work[k] * f->l.values[p];
    }
    for (int k = f->n - 1; k >= 0; k--) {
      f->work[k] /= f->Udiag[k];
      for (int p = f->u.begin[k]; p < f->u.begin[k + 1]; p++)
        f->work[f->u.rows[p]] -= f->work[k] * f->u.values[p];
    }
    for (int k = 0; k < f->n; k++) {
      b[symbolic->Q[k]] = f->work[k];
      f->work[k] = 0.0;
    }
  }
  return 1;
}

int klu_rgrowth(int* begin, int* rows, double* values, klu_symbolic* symbolic, klu_numeric* numeric,
                klu_common* common) {
  common->rgrowth = 1.0;
  for (int k = 0; k < numeric->n; k++) {
    int column = symbolic->Q[k];
    double before = 0.0;
    double after = fabs(numeric->Udiag[k]);
    for (int p = begin[column]; p < begin[column + 1]; p++)
      before = fmax(before, fabs(values[p] / numeric->scale[rows[p]]));
    for (int p = numeric->u.begin[k]; p < numeric->u.begin[k + 1]; p++)
      after = fmax(after, fabs(numeric->u.values[p]));
    if (after > 0.0) common->rgrowth = fmin(common->rgrowth, before / after);
  }
  return 1;
}

int klu_flops(klu_symbolic* symbolic, klu_numeric* numeric, klu_common* common) {
  (void)symbolic;
  common->flops = numeric->flops;
  return 1;
}

int klu_free_symbolic(klu_symbolic** symbolic, klu_common* common) {
  (void)common;
  if (*symbolic) free((*symbolic)->Q);
  free(*symbolic);
  *symbolic = NULL;
  return 1;
}

static void free_factor(klu_factors* factor) {
  free(factor->begin);
  free(factor->rows);
  free(factor->values);
}

int klu_free_numeric(klu_numeric** numeric, klu_common* common) {
  klu_numeric* f = *numeric;
  (void)common;
  *numeric = NULL;
  if (!f) return 1;
  free_factor(&f->l);
  free_factor(&f->u);
  free(f->pivot);
  free(f->number);
  free(f->Udiag);
  free(f->scale);
  free(f->work);
  free(f);
  return 1;
}
