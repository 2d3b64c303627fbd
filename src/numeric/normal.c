// SPDX-License-Identifier: MIT
//
// Normal equations G G^T lambda = b of a sparse G with more columns than rows, by the factors
// L D L^T in the order of AMD. The matrix is positive definite (or made so by what is added to its
// diagonal), hence no pivots are chosen: pattern, order and places are found once, and nothing is
// allocated when numbers come. The factors are computed row by row (T. Davis, ACM TOMS 31, 2005,
// algorithm 849: the pattern of a row are the paths in the elimination tree from its entries).
#include "numeric/internal.h"

#include <amd.h>
#include <limits.h>
#include <string.h>

#define PAIRS_MAX   UINT64_C(40000000)  // products of entries
#define FACTORS_MAX UINT64_C(40000000)  // entries of L

struct NumNormal {
  SltAllocator allocator;
  size_t size;  // of the block that holds everything
  uint32_t n;
  uint32_t entry_count, pair_count, upper_count, lower_count;
  // pairs: upper[pair_place] += g[pair_a] g[pair_b], for entries of the same column
  uint32_t *pair_a, *pair_b, *pair_place;
  // the upper triangle in the order of elimination, by columns
  uint32_t *upper_begin, *upper_row, *diagonal;
  uint32_t *order, *parent;
  uint32_t *lower_begin, *lower_row, *lower_end, *pattern, *mark;
  double *upper, *lower, *pivot, *y, *scratch;
};

static void lay_out(NumNormal* s, NumCarver* c) {
  size_t n = s->n;
  s->upper = num_carve(c, s->upper_count, sizeof(double));
  s->lower = num_carve(c, s->lower_count, sizeof(double));
  s->pivot = num_carve(c, n, sizeof(double));
  s->y = num_carve(c, n, sizeof(double));
  s->scratch = num_carve(c, n, sizeof(double));
  s->pair_a = num_carve(c, s->pair_count, sizeof(uint32_t));
  s->pair_b = num_carve(c, s->pair_count, sizeof(uint32_t));
  s->pair_place = num_carve(c, s->pair_count, sizeof(uint32_t));
  s->upper_begin = num_carve(c, n + 1, sizeof(uint32_t));
  s->upper_row = num_carve(c, s->upper_count, sizeof(uint32_t));
  s->diagonal = num_carve(c, n, sizeof(uint32_t));
  s->order = num_carve(c, n, sizeof(uint32_t));
  s->parent = num_carve(c, n, sizeof(uint32_t));
  s->lower_begin = num_carve(c, n + 1, sizeof(uint32_t));
  s->lower_row = num_carve(c, s->lower_count, sizeof(uint32_t));
  s->lower_end = num_carve(c, n, sizeof(uint32_t));
  s->pattern = num_carve(c, n, sizeof(uint32_t));
  s->mark = num_carve(c, n, sizeof(uint32_t));
}

// ---- structure ----------------------------------------------------------------------------------

/// Work space while the structure is found; everything in one block.
typedef struct Plan {
  const NumEntry* entries;
  uint32_t entry_count, n, columns;
  uint32_t *column_begin, *by_column;  // entries of each column
  uint32_t *row_begin, *by_row;        // entries of each row
  int *begin, *rows, *order;           // the whole pattern for AMD
  uint32_t *place, *mark, *parent, *count;
  uint64_t pairs;
} Plan;

static void bucket(const Plan* p, bool by_row, uint32_t count, uint32_t* begin, uint32_t* list) {
  memset(begin, 0, ((size_t)count + 2) * sizeof *begin);
  for (uint32_t k = 0; k < p->entry_count; k++) {
    begin[(by_row ? p->entries[k].row : p->entries[k].column) + 2]++;
  }
  for (uint32_t i = 0; i < count; i++) {
    begin[i + 2] += begin[i + 1];
  }
  for (uint32_t k = 0; k < p->entry_count; k++) {
    list[begin[(by_row ? p->entries[k].row : p->entries[k].column) + 1]++] = k;
  }
}

/// Neighbours of row i, itself included, each once; their number.
static uint32_t neighbours(const Plan* p, uint32_t i, uint32_t stamp, uint32_t* out) {
  uint32_t count = 0;
  p->mark[i] = stamp;
  out[count++] = i;
  for (uint32_t k = p->row_begin[i]; k < p->row_begin[i + 1]; k++) {
    uint32_t column = p->entries[p->by_row[k]].column;
    for (uint32_t m = p->column_begin[column]; m < p->column_begin[column + 1]; m++) {
      uint32_t row = p->entries[p->by_column[m]].row;
      if (p->mark[row] == stamp) continue;
      p->mark[row] = stamp;
      out[count++] = row;
    }
  }
  return count;
}

/// Elimination tree and the sizes of the columns of L; false when they are too many.
static bool count_factors(const NumNormal* s, Plan* p, uint64_t* total) {
  *total = 0;
  for (uint32_t k = 0; k < s->n; k++) {
    p->parent[k] = UINT32_MAX;
    p->mark[k] = k;
    p->count[k] = 0;
    for (uint32_t e = s->upper_begin[k]; e < s->upper_begin[k + 1]; e++) {
      for (uint32_t i = s->upper_row[e]; p->mark[i] != k; i = p->parent[i]) {
        if (p->parent[i] == UINT32_MAX) p->parent[i] = k;
        p->count[i]++;
        (*total)++;
        p->mark[i] = k;
      }
    }
    if (*total > FACTORS_MAX) return false;
  }
  return true;
}

/// Columns of the upper triangle in the order of elimination; `fill` writes them.
static uint32_t upper_triangle(NumNormal* s, const Plan* p, const uint32_t* position, bool fill) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    p->mark[i] = UINT32_MAX;
  }
  for (uint32_t k = 0; k < s->n; k++) {
    if (fill) s->upper_begin[k] = at;
    uint32_t count = neighbours(p, s->order[k], k, p->place);
    for (uint32_t m = 0; m < count; m++) {
      uint32_t row = position[p->place[m]];
      if (row > k) continue;
      if (fill) s->upper_row[at] = row;
      if (fill && row == k) s->diagonal[k] = at;
      at++;
    }
  }
  if (fill) s->upper_begin[s->n] = at;
  return at;
}

static bool order_rows(Plan* p) {
  int at = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    p->mark[i] = UINT32_MAX;
  }
  for (uint32_t i = 0; i < p->n; i++) {
    p->begin[i] = at;
    uint32_t count = neighbours(p, i, i, p->place);
    for (uint32_t m = 0; m < count; m++) {
      p->rows[at++] = (int)p->place[m];
    }
  }
  p->begin[p->n] = at;
  int status = amd_order((int)p->n, p->begin, p->rows, p->order, NULL, NULL);
  return status == AMD_OK || status == AMD_OK_BUT_JUMBLED;
}

/// Where the product of two entries goes.
static void place_pairs(NumNormal* s, const Plan* p, const uint32_t* position) {
  uint32_t at = 0;
  // columns of the triangle one after the other: a row's place in the present one is in p->place
  for (uint32_t k = 0; k < s->n; k++) {
    for (uint32_t e = s->upper_begin[k]; e < s->upper_begin[k + 1]; e++) {
      p->place[s->upper_row[e]] = e;
    }
    uint32_t i = s->order[k];
    for (uint32_t r = p->row_begin[i]; r < p->row_begin[i + 1]; r++) {
      uint32_t a = p->by_row[r];
      uint32_t column = p->entries[a].column;
      for (uint32_t m = p->column_begin[column]; m < p->column_begin[column + 1]; m++) {
        uint32_t b = p->by_column[m];
        uint32_t row = position[p->entries[b].row];
        if (row > k) continue;
        s->pair_a[at] = a;
        s->pair_b[at] = b;
        s->pair_place[at++] = p->place[row];
      }
    }
  }
}

static void lay_out_plan(Plan* p, NumCarver* c) {
  p->column_begin = num_carve(c, (size_t)p->columns + 2, sizeof(uint32_t));
  p->by_column = num_carve(c, p->entry_count, sizeof(uint32_t));
  p->row_begin = num_carve(c, (size_t)p->n + 2, sizeof(uint32_t));
  p->by_row = num_carve(c, p->entry_count, sizeof(uint32_t));
  p->begin = num_carve(c, (size_t)p->n + 1, sizeof(int));
  p->order = num_carve(c, p->n, sizeof(int));
  p->place = num_carve(c, p->n, sizeof(uint32_t));
  p->mark = num_carve(c, p->n, sizeof(uint32_t));
  p->parent = num_carve(c, p->n, sizeof(uint32_t));
  p->count = num_carve(c, p->n, sizeof(uint32_t));
}

static SltStatus make(NumNormal** out, const SltAllocator* allocator, Plan* p) {
  NumNormal sizes = {.allocator = *allocator, .n = p->n, .entry_count = p->entry_count};
  // the order first: everything else is counted in it
  size_t order_bytes = base_mul_size(2 * (size_t)p->n + 1, sizeof(uint32_t));
  uint32_t* order = base_alloc(allocator, order_bytes);
  if (!order) return SLT_ERR_NOMEM;
  uint32_t* position = order + p->n;
  for (uint32_t k = 0; k < p->n; k++) {
    order[k] = (uint32_t)p->order[k];
    position[order[k]] = k;
  }
  sizes.order = order;
  sizes.upper_count = upper_triangle(&sizes, p, position, false);
  sizes.pair_count = (uint32_t)p->pairs;
  SltStatus status = SLT_ERR_NOMEM;
  NumNormal* s = NULL;
  // the triangle is needed to count the factors: made twice, once without room for them
  for (int pass = 0; pass < 2; pass++) {
    NumCarver c = {.base = NULL};
    num_carve(&c, 1, sizeof sizes);
    lay_out(&sizes, &c);
    s = base_alloc(allocator, c.used);
    if (!s) break;
    *s = sizes;
    s->size = c.used;
    c = (NumCarver){.base = (char*)s};
    num_carve(&c, 1, sizeof sizes);
    lay_out(s, &c);
    memcpy(s->order, order, p->n * sizeof *order);
    upper_triangle(s, p, position, true);
    uint64_t total = 0;
    bool fits = count_factors(s, p, &total);
    if (pass == 1) {
      place_pairs(s, p, position);
      memcpy(s->parent, p->parent, p->n * sizeof *s->parent);
      s->lower_begin[0] = 0;
      for (uint32_t k = 0; k < p->n; k++) {
        s->lower_begin[k + 1] = s->lower_begin[k] + p->count[k];
      }
      status = SLT_OK;
      break;
    }
    base_free(allocator, s, s->size);
    s = NULL;
    sizes.lower_count = (uint32_t)total;
    if (!fits) {
      status = SLT_ERR_LIMIT;
      break;
    }
  }
  base_free(allocator, order, order_bytes);
  *out = s;
  return status;
}

SltStatus num_normal_create(const SltAllocator* allocator, const NumEntry* entries,
                            uint32_t entry_count, uint32_t rows, uint32_t columns,
                            NumNormal** out) {
  *out = NULL;
  Plan p = {.entries = entries, .entry_count = entry_count, .n = rows, .columns = columns};
  if (rows >= INT_MAX / 2 || entry_count >= INT_MAX / 2) return SLT_ERR_LIMIT;
  NumCarver c = {.base = NULL};
  lay_out_plan(&p, &c);
  size_t bytes = c.used;
  char* block = base_alloc(allocator, bytes);
  if (!block) return SLT_ERR_NOMEM;
  c = (NumCarver){.base = block};
  lay_out_plan(&p, &c);
  bucket(&p, false, columns, p.column_begin, p.by_column);
  bucket(&p, true, rows, p.row_begin, p.by_row);
  uint64_t whole = rows;
  SltStatus status = SLT_ERR_LIMIT;
  for (uint32_t i = 0; i < rows; i++) {
    p.mark[i] = UINT32_MAX;
  }
  for (uint32_t j = 0; j < columns; j++) {
    for (uint32_t m = p.column_begin[j]; m < p.column_begin[j + 1]; m++) {
      uint32_t row = p.entries[p.by_column[m]].row;
      if (p.mark[row] == j) whole = UINT64_MAX / 2;  // a place twice
      p.mark[row] = j;
    }
    uint64_t count = p.column_begin[j + 1] - p.column_begin[j];
    whole += count * count;
    p.pairs += count * (count + 1) / 2;
  }
  if (whole >= UINT64_MAX / 2) status = SLT_ERR_ARGUMENT;
  if (whole <= PAIRS_MAX) {
    size_t room = base_mul_size((size_t)whole, sizeof(int));
    p.rows = base_alloc(allocator, room);
    status = p.rows ? SLT_OK : SLT_ERR_NOMEM;
    if (status == SLT_OK && !order_rows(&p)) status = SLT_ERR_NOMEM;
    if (p.rows) base_free(allocator, p.rows, room);
  }
  if (status == SLT_OK) status = make(out, allocator, &p);
  base_free(allocator, block, bytes);
  return status;
}

void num_normal_free(NumNormal* s) {
  if (!s) return;
  SltAllocator allocator = s->allocator;
  base_free(&allocator, s, s->size);
}

// ---- numbers ------------------------------------------------------------------------------------

static double diagonal_largest(const NumNormal* s) {
  double largest = 0.0;
  for (uint32_t k = 0; k < s->n; k++) {
    largest = num_max(largest, s->upper[s->diagonal[k]]);
  }
  return largest;
}

/// Row k of L from the entries of column k of the triangle: y is spread out and used up.
static double eliminate_row(NumNormal* s, uint32_t k) {
  uint32_t top = s->n;
  s->mark[k] = k;
  s->lower_end[k] = s->lower_begin[k];
  s->y[k] = 0.0;
  for (uint32_t e = s->upper_begin[k]; e < s->upper_begin[k + 1]; e++) {
    uint32_t i = s->upper_row[e];
    uint32_t length = 0;
    s->y[i] = s->upper[e];
    for (; s->mark[i] != k; i = s->parent[i]) {
      s->pattern[length++] = i;
      s->mark[i] = k;
    }
    while (length > 0) {
      s->pattern[--top] = s->pattern[--length];
    }
  }
  double pivot = s->y[k];
  s->y[k] = 0.0;
  for (; top < s->n; top++) {
    uint32_t i = s->pattern[top];
    double value = s->y[i];
    s->y[i] = 0.0;
    uint32_t end = s->lower_end[i];
    for (uint32_t e = s->lower_begin[i]; e < end; e++) {
      s->y[s->lower_row[e]] -= s->lower[e] * value;
    }
    double factor = value / s->pivot[i];
    pivot -= factor * value;
    s->lower_row[end] = k;
    s->lower[end] = factor;
    s->lower_end[i] = end + 1;
  }
  return pivot;
}

SltStatus num_normal_factor(NumNormal* s, const double* g, double regular, double tolerance) {
  memset(s->upper, 0, s->upper_count * sizeof *s->upper);
  for (uint32_t k = 0; k < s->pair_count; k++) {
    s->upper[s->pair_place[k]] += g[s->pair_a[k]] * g[s->pair_b[k]];
  }
  double largest = diagonal_largest(s);
  if (!(largest <= DBL_MAX)) return SLT_ERR_NOT_FINITE;
  double added = regular * (largest > 0.0 ? largest : 1.0);
  for (uint32_t k = 0; k < s->n; k++) {
    s->mark[k] = UINT32_MAX;
    s->y[k] = 0.0;
  }
  for (uint32_t k = 0; k < s->n; k++) {
    double* diagonal = &s->upper[s->diagonal[k]];
    *diagonal += added;
    double pivot = eliminate_row(s, k);
    // rounding may eat up what was added
    if (regular > 0.0 && pivot < 0.5 * added) pivot = added;
    if (!(pivot > tolerance * *diagonal)) return SLT_ERR_STRUCTURE;
    s->pivot[k] = pivot;
  }
  return SLT_OK;
}

void num_normal_solve(const NumNormal* s, double* b) {
  double* x = s->scratch;
  for (uint32_t k = 0; k < s->n; k++) {
    x[k] = b[s->order[k]];
  }
  for (uint32_t k = 0; k < s->n; k++) {
    for (uint32_t e = s->lower_begin[k]; e < s->lower_begin[k + 1]; e++) {
      x[s->lower_row[e]] -= s->lower[e] * x[k];
    }
  }
  for (uint32_t k = 0; k < s->n; k++) {
    x[k] /= s->pivot[k];
  }
  for (uint32_t k = s->n; k-- > 0;) {
    for (uint32_t e = s->lower_begin[k]; e < s->lower_begin[k + 1]; e++) {
      x[k] -= s->lower[e] * x[s->lower_row[e]];
    }
  }
  for (uint32_t k = 0; k < s->n; k++) {
    b[s->order[k]] = x[k];
  }
}
