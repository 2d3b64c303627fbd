// SPDX-License-Identifier: MIT
//
// Pryce's structural analysis: a transversal of largest total order, and the smallest offsets.
//
// The assignment problem is solved by the primal-dual method. Orders are small whole numbers, so
// the dual variables move in steps of one, and a step is exactly what Pantelides' algorithm does
// when it differentiates the equations that it could not pair: both find the same numbers. The
// smallest offsets follow from any best transversal by a fixed point (Pryce 2001, section 3).
#include "symbolic/internal.h"

#include <string.h>

typedef struct Search {
  const SymSignature* s;
  int* c;
  int* d;
  int* row_of_column;
  int* column_of_row;
  int* parent;  // per column: the row from which it was reached; -1: not reached
  int* queue;   // rows reached
  int queued;
  int* reached;  // columns with a parent: few, so that a search costs what it looks at
  int reached_count;
} Search;

static int max_of(int a, int b) {
  return a > b ? a : b;
}

/// Alternating paths over tight entries from an unmatched row. The free column at the end of one,
/// or -1 when there is none; then the rows in the queue must be differentiated once more.
static int search_from(Search* search, int root) {
  const SymSignature* s = search->s;
  for (int k = 0; k < search->reached_count; k++) {
    search->parent[search->reached[k]] = -1;
  }
  search->reached_count = 0;
  search->queued = 0;
  search->queue[search->queued++] = root;
  for (int next = 0; next < search->queued; next++) {
    int row = search->queue[next];
    for (int k = s->begin[row]; k < s->begin[row + 1]; k++) {
      int column = s->columns[k];
      bool tight = s->orders[k] + search->c[row] == search->d[column];
      if (!tight || search->parent[column] >= 0) continue;
      search->parent[column] = row;
      search->reached[search->reached_count++] = column;
      if (search->row_of_column[column] < 0) return column;
      search->queue[search->queued++] = search->row_of_column[column];
    }
  }
  return -1;
}

static void augment(Search* search, int column, int root) {
  for (;;) {
    int row = search->parent[column];
    int next = search->column_of_row[row];
    search->row_of_column[column] = row;
    search->column_of_row[row] = column;
    if (row == root) return;
    column = next;
  }
}

static void differentiate(Search* search) {
  for (int i = 0; i < search->queued; i++) {
    search->c[search->queue[i]]++;
  }
  for (int k = 0; k < search->reached_count; k++) {
    search->d[search->reached[k]]++;
  }
}

/// c := smallest, from the transversal.
static void canonical(const Search* search) {
  const SymSignature* s = search->s;
  memset(search->c, 0, (size_t)s->row_count * sizeof *search->c);
  for (bool changed = true; changed;) {
    changed = false;
    for (int j = 0; j < s->column_count; j++) {
      search->d[j] = 0;
    }
    for (int row = 0; row < s->row_count; row++) {
      for (int k = s->begin[row]; k < s->begin[row + 1]; k++) {
        int* d = &search->d[s->columns[k]];
        *d = max_of(*d, s->orders[k] + search->c[row]);
      }
    }
    for (int row = 0; row < s->row_count; row++) {
      for (int k = s->begin[row]; k < s->begin[row + 1]; k++) {
        if (s->columns[k] != search->column_of_row[row]) continue;
        int c = search->d[s->columns[k]] - s->orders[k];
        changed |= c != search->c[row];
        search->c[row] = c;
      }
    }
  }
}

bool sym_offsets(Arena* scratch, const SymSignature* s, int* c, int* d, int* row_of_column) {
  size_t rows = (size_t)s->row_count;
  size_t columns = (size_t)s->column_count;
  if (rows != columns) return false;
  Search search = {.s = s,
                   .c = c,
                   .d = d,
                   .row_of_column = row_of_column,
                   .column_of_row = ARENA_ARRAY(scratch, int, rows),
                   .parent = ARENA_ARRAY(scratch, int, columns),
                   .queue = ARENA_ARRAY(scratch, int, rows),
                   .reached = ARENA_ARRAY(scratch, int, columns)};
  // with any order there must be a transversal, or the search would differentiate for ever
  SymIncidence any = {.row_count = s->row_count,
                      .column_count = s->column_count,
                      .begin = (int*)s->begin,
                      .columns = (int*)s->columns};
  if (sym_match(scratch, &any, row_of_column) < s->row_count) return false;
  for (size_t i = 0; i < rows; i++) {
    c[i] = 0;
    d[i] = 0;
    row_of_column[i] = -1;
    search.column_of_row[i] = -1;
    search.parent[i] = -1;
  }
  for (int k = 0; k < s->begin[s->row_count]; k++) {
    d[s->columns[k]] = max_of(d[s->columns[k]], s->orders[k]);
  }
  for (int row = 0; row < s->row_count; row++) {
    int column = search_from(&search, row);
    while (column < 0) {
      differentiate(&search);
      column = search_from(&search, row);
    }
    augment(&search, column, row);
  }
  canonical(&search);
  return true;
}
