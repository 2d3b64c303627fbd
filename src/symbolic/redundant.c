// SPDX-License-Identifier: MIT
//
// Equations of contacts that say what others say already.
//
// A table on four legs: four gaps are zero, and three of them say where the table is. The fourth
// equation has nothing to determine, while one of the four forces has no equation. Equations of
// elements (`contact`, `friction`) may be too many in this way. Those that cannot be paired are
// differentiated as often as the others around them, and stand in for the forces that are left
// open: with these they form a block without full rank, whose smallest solution is taken at run
// time if its equations agree.
#include "symbolic/internal.h"

#include <limits.h>

typedef struct Pairing {
  const SymSignature* s;
  int* row_of_column;
  int* column_of_row;
  int* parent;
  int* queue;
} Pairing;

/// Pair one more row by an alternating path; rows that are paired stay so. False when there is
/// none.
static bool pair_row(Pairing* p, int root) {
  const SymSignature* s = p->s;
  int queued = 0;
  for (int j = 0; j < s->column_count; j++) {
    p->parent[j] = -1;
  }
  p->queue[queued++] = root;
  for (int next = 0; next < queued; next++) {
    int row = p->queue[next];
    for (int k = s->begin[row]; k < s->begin[row + 1]; k++) {
      int column = s->columns[k];
      if (p->parent[column] >= 0) continue;
      p->parent[column] = row;
      if (p->row_of_column[column] >= 0) {
        p->queue[queued++] = p->row_of_column[column];
        continue;
      }
      for (;;) {
        int owner = p->parent[column];
        int before = p->column_of_row[owner];
        p->row_of_column[column] = owner;
        p->column_of_row[owner] = column;
        if (owner == root) return true;
        column = before;
      }
    }
  }
  return false;
}

/// Equations of elements come last, so that they are the ones left over; copies are left over in
/// any case. False when others are.
static bool pair_all(Pairing* p, const uint8_t* element) {
  for (int turn = SYM_OTHER; turn <= SYM_ELEMENT; turn++) {
    for (int row = 0; row < p->s->row_count; row++) {
      if (element[row] != turn) continue;
      if (!pair_row(p, row) && turn == SYM_OTHER) return false;
    }
  }
  return true;
}

/// Offsets of the equations that are paired, without the unknowns that are not.
static bool offsets_of_rest(Arena* scratch, const Pairing* p, int* c, int* d, int* row_of_column) {
  const SymSignature* s = p->s;
  size_t rows = (size_t)s->row_count;
  int* row_to = ARENA_ARRAY(scratch, int, rows);
  int* row_from = ARENA_ARRAY(scratch, int, rows);
  int* column_to = ARENA_ARRAY(scratch, int, rows);
  int* column_from = ARENA_ARRAY(scratch, int, rows);
  int n = 0;
  int columns = 0;
  for (int row = 0; row < s->row_count; row++) {
    if (p->column_of_row[row] >= 0) row_from[n++] = row;
    bool paired = p->row_of_column[row] >= 0;
    column_to[row] = paired ? columns : -1;
    if (paired) column_from[columns++] = row;
  }
  int* begin = ARENA_ARRAY(scratch, int, rows + 1);
  int* entries = ARENA_ARRAY(scratch, int, (size_t)s->begin[s->row_count]);
  int* orders = ARENA_ARRAY(scratch, int, (size_t)s->begin[s->row_count]);
  int at = 0;
  for (int i = 0; i < n; i++) {
    row_to[row_from[i]] = i;
    for (int k = s->begin[row_from[i]]; k < s->begin[row_from[i] + 1]; k++) {
      if (column_to[s->columns[k]] < 0) continue;
      entries[at] = column_to[s->columns[k]];
      orders[at++] = s->orders[k];
    }
    begin[i + 1] = at;
  }
  SymSignature rest = {n, columns, begin, entries, orders};
  int* rest_c = ARENA_ARRAY(scratch, int, rows);
  int* rest_d = ARENA_ARRAY(scratch, int, rows);
  int* rest_row = ARENA_ARRAY(scratch, int, rows);
  if (!sym_offsets(scratch, &rest, rest_c, rest_d, rest_row)) return false;
  for (int i = 0; i < n; i++) {
    c[row_from[i]] = rest_c[i];
    d[column_from[i]] = rest_d[i];
    row_of_column[column_from[i]] = row_from[rest_row[i]];
  }
  return true;
}

/// The unknowns left over get the order they need, the equations left over what their unknowns
/// allow, and each other.
static bool place_leftovers(const Pairing* p, int* c, int* d, int* row_of_column,
                            uint8_t* redundant) {
  const SymSignature* s = p->s;
  for (int row = 0; row < s->row_count; row++) {
    for (int k = s->begin[row]; p->column_of_row[row] >= 0 && k < s->begin[row + 1]; k++) {
      int column = s->columns[k];
      bool open = p->row_of_column[column] < 0;
      if (open && s->orders[k] + c[row] > d[column]) d[column] = s->orders[k] + c[row];
    }
  }
  int column = 0;
  for (int row = 0; row < s->row_count; row++) {
    redundant[row] = p->column_of_row[row] < 0;
    if (!redundant[row]) continue;
    int times = INT_MAX;
    for (int k = s->begin[row]; k < s->begin[row + 1]; k++) {
      int room = d[s->columns[k]] - s->orders[k];
      if (room < times) times = room;
    }
    while (column < s->column_count && p->row_of_column[column] >= 0) {
      column++;
    }
    if (times < 0 || times == INT_MAX || column == s->column_count) return false;
    c[row] = times;
    row_of_column[column++] = row;
  }
  return true;
}

bool sym_offsets_redundant(Arena* scratch, const SymSignature* s, const uint8_t* element, int* c,
                           int* d, int* row_of_column, uint8_t* redundant) {
  size_t n = (size_t)s->row_count;
  if (s->row_count != s->column_count) return false;
  Pairing p = {.s = s,
               .row_of_column = ARENA_ARRAY(scratch, int, n),
               .column_of_row = ARENA_ARRAY(scratch, int, n),
               .parent = ARENA_ARRAY(scratch, int, n),
               .queue = ARENA_ARRAY(scratch, int, n)};
  for (size_t i = 0; i < n; i++) {
    p.row_of_column[i] = -1;
    p.column_of_row[i] = -1;
    c[i] = 0;
    d[i] = 0;
  }
  return pair_all(&p, element) && offsets_of_rest(scratch, &p, c, d, row_of_column) &&
         place_leftovers(&p, c, d, row_of_column, redundant);
}

/// Columns that share a choice with those of the redundant rows: what any of them leaves open moves
/// the others.
static uint8_t* open_columns(Arena* scratch, const SymIncidence* tight, const int* row_of_column,
                             const uint8_t* redundant) {
  uint8_t* open = ARENA_ARRAY(scratch, uint8_t, (size_t)tight->column_count);
  int* column_of_row = ARENA_ARRAY(scratch, int, (size_t)tight->row_count);
  for (int j = 0; j < tight->column_count; j++) {
    column_of_row[row_of_column[j]] = j;
    open[j] = redundant[row_of_column[j]];
  }
  for (bool more = true; more;) {
    more = false;
    for (int row = 0; row < tight->row_count; row++) {
      if (redundant[row] || open[column_of_row[row]]) continue;
      for (int k = tight->begin[row]; k < tight->begin[row + 1]; k++) {
        if (!open[tight->columns[k]]) continue;
        open[column_of_row[row]] = 1;
        more = true;
        break;
      }
    }
  }
  return open;
}

SymIncidence sym_join_redundant(Arena* scratch, const SymIncidence* tight, const int* row_of_column,
                                const uint8_t* redundant) {
  const uint8_t* open = open_columns(scratch, tight, row_of_column, redundant);
  size_t count = 0;
  size_t rows = 0;
  for (int i = 0; i < tight->row_count; i++) {
    count += open[i];
    rows += redundant[i];
  }
  size_t entries = (size_t)tight->begin[tight->row_count] + rows * count;
  if (entries >= INT_MAX) longjmp(*scratch->on_oom, 1);
  SymIncidence joined = {.row_count = tight->row_count,
                         .column_count = tight->column_count,
                         .begin = ARENA_ARRAY(scratch, int, (size_t)tight->row_count + 1),
                         .columns = ARENA_ARRAY(scratch, int, entries)};
  int at = 0;
  for (int row = 0; row < tight->row_count; row++) {
    for (int k = tight->begin[row]; k < tight->begin[row + 1]; k++) {
      if (!redundant[row] || !open[tight->columns[k]]) joined.columns[at++] = tight->columns[k];
    }
    for (int j = 0; redundant[row] && j < tight->column_count; j++) {
      if (open[j]) joined.columns[at++] = j;
    }
    joined.begin[row + 1] = at;
  }
  return joined;
}
