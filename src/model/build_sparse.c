// SPDX-License-Identifier: MIT
//
// The order of elimination in a large block, from its pattern alone: unknowns are paired with
// equations, numbers preferred as pivots; AMD orders the pairs; then the entries that elimination
// makes are counted and listed. A walk through these tables is all that is left to run time.
#include "model/build_internal.h"

#include <amd.h>
#include <limits.h>

#define SPARSE_FROM 40u       // unknowns: smaller blocks are as quick with full matrices
#define FACTORS_MAX 8000000u  // entries of the factors
#define FULL_ENOUGH 0.3       // share of entries from which a full matrix is as good

typedef struct Order {
  Arena* scratch;
  const ModelEntry* entries;
  uint32_t entry_count, n;
  const uint32_t* row_begin;  // of the entries
  uint32_t* row_of;           // per unknown: the equation it is paired with
  uint32_t *rows, *columns;   // in the order of elimination
  uint32_t* position;         // per unknown
} Order;

/// Pair unknowns with equations.
static bool pair(TapeGraph* graph, Order* o) {
  int* begin = ARENA_ARRAY(o->scratch, int, (size_t)o->n + 1);
  int* columns = ARENA_ARRAY(o->scratch, int, o->entry_count);
  int* row_of = ARENA_ARRAY(o->scratch, int, o->n);
  int at = 0;
  for (uint32_t i = 0; i < o->n; i++) {
    // numbers first, then the unknown that the equation was paired with in the analysis
    for (int pass = 0; pass < 3; pass++) {
      for (uint32_t k = o->row_begin[i]; k < o->row_begin[i + 1]; k++) {
        double number = 0.0;
        uint32_t value = o->entries[k].reg;
        bool fixed = graph && value != TAPE_NONE && tape_is_const(graph, value, &number);
        int when = fixed && number != 0.0 ? 0 : o->entries[k].column == i ? 1 : 2;
        if (when == pass) columns[at++] = (int)o->entries[k].column;
      }
    }
    begin[i + 1] = at;
  }
  SymIncidence incidence = {
      .row_count = (int)o->n, .column_count = (int)o->n, .begin = begin, .columns = columns};
  if (sym_match(o->scratch, &incidence, row_of) != (int)o->n) return false;
  for (uint32_t j = 0; j < o->n; j++) {
    o->row_of[j] = (uint32_t)row_of[j];
  }
  return true;
}

/// The pairs in the order of least fill.
static bool arrange(Order* o) {
  int* begin = ARENA_ARRAY(o->scratch, int, (size_t)o->n + 1);
  int* rows = ARENA_ARRAY(o->scratch, int, o->entry_count);
  int* order = ARENA_ARRAY(o->scratch, int, o->n);
  int at = 0;
  for (uint32_t j = 0; j < o->n; j++) {
    uint32_t row = o->row_of[j];
    for (uint32_t k = o->row_begin[row]; k < o->row_begin[row + 1]; k++) {
      rows[at++] = (int)o->entries[k].column;
    }
    begin[j + 1] = at;
  }
  int status = amd_order((int)o->n, begin, rows, order, NULL, NULL);
  if (status != AMD_OK && status != AMD_OK_BUT_JUMBLED) return false;
  for (uint32_t k = 0; k < o->n; k++) {
    o->columns[k] = (uint32_t)order[k];
    o->rows[k] = o->row_of[order[k]];
    o->position[order[k]] = k;
  }
  return true;
}

typedef BASE_VEC(uint32_t) List;

/// A row of the factors as a list of columns that ascends: `next` links them.
static void insert(uint32_t* next, uint32_t after, uint32_t column) {
  while (next[after] < column) {
    after = next[after];
  }
  if (next[after] == column) return;
  next[column] = next[after];
  next[after] = column;
}

/// Where the upper row of `column` has an entry in `row`, behind it; 0 if it has none.
static uint32_t behind_entry(const List* upper, uint32_t begin, uint32_t end, uint32_t row) {
  while (begin < end) {
    uint32_t middle = begin + (end - begin) / 2;
    if (upper->data[middle] == row) return middle + 1;
    if (upper->data[middle] < row) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return 0;
}

/// Columns of both factors, row by row; false when they are too many. Where an earlier row was met
/// by a later one both below and above the diagonal, the later one has all that stands behind it
/// (symmetric pruning: Eisenstat and Liu, SIAM J. Sci. Comput. 14, 1993).
static bool find_factors(const Order* o, uint32_t* lower_begin, List* lower, uint32_t* upper_begin,
                         List* upper) {
  // a list through columns, n is its end and n + 1 its head
  uint32_t n = o->n;
  uint32_t* next = ARENA_ARRAY(o->scratch, uint32_t, (size_t)n + 2);
  uint32_t* pruned = ARENA_ARRAY(o->scratch, uint32_t, n);  // end of an upper row; 0: all of it
  for (uint32_t i = 0; i < n; i++) {
    next[n + 1] = n;
    next[n] = UINT32_MAX;
    uint32_t row = o->rows[i];
    for (uint32_t k = o->row_begin[row]; k < o->row_begin[row + 1]; k++) {
      insert(next, n + 1, o->position[o->entries[k].column]);
    }
    uint32_t column = next[n + 1];
    for (; column < i; column = next[column]) {
      base_vec_push(o->scratch, lower, column);
      uint32_t after = column;
      uint32_t end = pruned[column] ? pruned[column] : upper_begin[column + 1];
      for (uint32_t m = upper_begin[column]; m < end; m++) {
        insert(next, after, upper->data[m]);
        after = upper->data[m];
      }
    }
    for (; column < n; column = next[column]) {
      if (column > i) base_vec_push(o->scratch, upper, column);
    }
    lower_begin[i + 1] = lower->count;
    upper_begin[i + 1] = upper->count;
    for (uint32_t m = lower_begin[i]; m < lower->count; m++) {
      uint32_t c = lower->data[m];
      if (!pruned[c]) pruned[c] = behind_entry(upper, upper_begin[c], upper_begin[c + 1], i);
    }
    if (lower->count + upper->count > FACTORS_MAX) return false;
  }
  return true;
}

static const uint32_t* kept(Arena* arena, const List* list) {
  uint32_t* copy = ARENA_ARRAY(arena, uint32_t, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    copy[i] = list->data[i];
  }
  return copy;
}

/// Entries of each row in the order of elimination.
static void list_entries(Arena* arena, const Order* o, ModelSparse* out) {
  uint32_t* begin = ARENA_ARRAY(arena, uint32_t, (size_t)o->n + 1);
  uint32_t* entry = ARENA_ARRAY(arena, uint32_t, o->entry_count);
  uint32_t* column = ARENA_ARRAY(arena, uint32_t, o->entry_count);
  uint32_t at = 0;
  for (uint32_t i = 0; i < o->n; i++) {
    uint32_t row = o->rows[i];
    for (uint32_t k = o->row_begin[row]; k < o->row_begin[row + 1]; k++) {
      entry[at] = k;
      column[at++] = o->position[o->entries[k].column];
    }
    begin[i + 1] = at;
  }
  out->entry_begin = begin;
  out->entry = entry;
  out->entry_column = column;
}

const ModelSparse* build_sparse(ModelBuild* build, TapeGraph* graph, const ModelEntry* entries,
                                uint32_t entry_count, uint32_t n) {
  if (n < SPARSE_FROM || entry_count >= INT_MAX) return NULL;
  Arena* scratch = &build->scratch;
  uint32_t* row_begin = ARENA_ARRAY(scratch, uint32_t, (size_t)n + 1);
  for (uint32_t k = 0; k < entry_count; k++) {
    row_begin[entries[k].row + 1] = k + 1;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (row_begin[i + 1] < row_begin[i]) row_begin[i + 1] = row_begin[i];
  }
  ModelSparse* out = ARENA_NEW(&build->arena, ModelSparse);
  uint32_t* lower_begin = ARENA_ARRAY(&build->arena, uint32_t, (size_t)n + 1);
  uint32_t* upper_begin = ARENA_ARRAY(&build->arena, uint32_t, (size_t)n + 1);
  Order o = {.scratch = scratch,
             .entries = entries,
             .entry_count = entry_count,
             .n = n,
             .row_begin = row_begin,
             .row_of = ARENA_ARRAY(scratch, uint32_t, n),
             .rows = ARENA_ARRAY(&build->arena, uint32_t, n),
             .columns = ARENA_ARRAY(&build->arena, uint32_t, n),
             .position = ARENA_ARRAY(scratch, uint32_t, n)};
  List lower = {0};
  List upper = {0};
  if (!pair(graph, &o) || !arrange(&o)) return NULL;
  if (!find_factors(&o, lower_begin, &lower, upper_begin, &upper)) return NULL;
  if ((double)lower.count + upper.count > FULL_ENOUGH * n * n) return NULL;
  *out = (ModelSparse){.count = n,
                       .rows = o.rows,
                       .columns = o.columns,
                       .lower_begin = lower_begin,
                       .lower = kept(&build->arena, &lower),
                       .upper_begin = upper_begin,
                       .upper = kept(&build->arena, &upper)};
  list_entries(&build->arena, &o, out);
  return out;
}
