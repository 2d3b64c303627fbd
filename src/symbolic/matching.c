// SPDX-License-Identifier: MIT
//
// Matching, strong components and Dulmage-Mendelsohn parts of sparse systems.
//
// The matching is Duff's MC21, which drops what a search in vain has come by: where many equations
// have no partner the search would be quadratic otherwise. Components are SuiteSparse BTF's
// (Tarjan; Davis and Palamadai Natarajan, ACM TOMS 907, 2010). None of it is recursive. BTF reads
// matrices by columns: it is given our rows as its columns, so its "row" is our unknown.
#include "symbolic/internal.h"

#include <btf.h>
#include <limits.h>

/// Search for an alternating path from a row to a column without a partner.
typedef struct MatchSearch {
  const SymIncidence* incidence;
  int* row_of_column;
  int* seen;                   // per row: the last search that came by
  int* cheap;                  // per row: entries before have partners
  int *rows, *columns, *next;  // the path: rows, the columns they would take, entries to try next
  int* visited;                // rows of this search
  int visited_count;
} MatchSearch;

#define MATCH_DEAD INT_MAX  // no path begins here, now or ever

/// Go one row deeper: true when it has a column that is free.
static bool take_free(MatchSearch* m, int row, int depth) {
  int end = m->incidence->begin[row + 1];
  int at = m->cheap[row];
  bool found = false;
  for (; at < end && !found; at++) {
    m->columns[depth] = m->incidence->columns[at];
    found = m->row_of_column[m->columns[depth]] < 0;
  }
  m->cheap[row] = at;
  m->next[depth] = m->incidence->begin[row];
  return found;
}

static bool match_row(MatchSearch* m, int root) {
  int depth = 0;
  m->visited_count = 0;
  m->rows[0] = root;
  while (depth >= 0) {
    int row = m->rows[depth];
    if (m->seen[row] != root) {
      m->seen[row] = root;
      m->visited[m->visited_count++] = row;
      if (take_free(m, row, depth)) break;
    }
    int end = m->incidence->begin[row + 1];
    int at = m->next[depth];
    int taker = -1;
    for (; at < end && taker < 0; at++) {
      m->columns[depth] = m->incidence->columns[at];
      int owner = m->row_of_column[m->columns[depth]];
      if (m->seen[owner] != root && m->seen[owner] != MATCH_DEAD) taker = owner;
    }
    m->next[depth] = at;
    if (taker >= 0) {
      m->rows[++depth] = taker;
    } else {
      depth--;
    }
  }
  for (int k = depth; k >= 0; k--) {
    m->row_of_column[m->columns[k]] = m->rows[k];
  }
  return depth >= 0;
}

int sym_match(Arena* scratch, const SymIncidence* incidence, int* row_of_column) {
  size_t rows = (size_t)incidence->row_count;
  int* space = ARENA_ARRAY(scratch, int, 6 * rows + 1);
  MatchSearch m = {.incidence = incidence,
                   .row_of_column = row_of_column,
                   .seen = space,
                   .cheap = space + rows,
                   .rows = space + 2 * rows,
                   .columns = space + 3 * rows,
                   .next = space + 4 * rows,
                   .visited = space + 5 * rows};
  int matched = 0;
  for (int column = 0; column < incidence->column_count; column++) {
    row_of_column[column] = -1;
  }
  for (size_t row = 0; row < rows; row++) {
    m.seen[row] = -1;
    m.cheap[row] = incidence->begin[row];
  }
  for (int row = 0; row < incidence->row_count; row++) {
    if (match_row(&m, row)) {
      matched++;
      continue;
    }
    // what a search in vain came by will never be part of a path: it need not be tried again
    for (int k = 0; k < m.visited_count; k++) {
      m.seen[m.visited[k]] = MATCH_DEAD;
    }
  }
  return matched;
}

SymBlocks sym_blocks(Arena* scratch, const SymIncidence* incidence, const int* row_of_column) {
  int n = incidence->row_count;
  int* rows = ARENA_ARRAY(scratch, int, (size_t)n);
  int* columns = ARENA_ARRAY(scratch, int, (size_t)n);
  int* begin = ARENA_ARRAY(scratch, int, (size_t)n + 1);
  int* space = ARENA_ARRAY(scratch, int, 4 * (size_t)n);
  for (int i = 0; i < n; i++) {
    rows[i] = row_of_column[i];
  }
  // upper triangular for BTF: what is our row k has entries in our columns 0 .. k only
  int count = btf_strongcomp(n, incidence->begin, incidence->columns, rows, columns, begin, space);
  return (SymBlocks){.columns = columns, .rows = rows, .begin = begin, .count = (uint32_t)count};
}

/// An incidence that can be read both ways, and a set of rows and columns in it.
typedef struct Region {
  const SymIncidence* incidence;
  int* begin;  // rows of each column: rows[begin[c]] .. rows[begin[c + 1] - 1]
  int* rows;
  int* column_of_row;
  const int* row_of_column;
  uint8_t* has_row;
  uint8_t* has_column;
  int* queue;  // of rows, or of columns
  uint32_t queued;
} Region;

static void transpose(Region* region, Arena* scratch) {
  const SymIncidence* incidence = region->incidence;
  size_t columns = (size_t)incidence->column_count;
  int entries = incidence->begin[incidence->row_count];
  region->begin = ARENA_ARRAY(scratch, int, columns + 2);
  region->rows = ARENA_ARRAY(scratch, int, (size_t)entries);
  int* end = region->begin + 1;  // while filling, end[c] is where the next row of column c goes
  for (int k = 0; k < entries; k++) {
    end[incidence->columns[k] + 1]++;
  }
  for (size_t c = 1; c <= columns; c++) {
    end[c] += end[c - 1];
  }
  for (int row = 0; row < incidence->row_count; row++) {
    for (int k = incidence->begin[row]; k < incidence->begin[row + 1]; k++) {
      region->rows[end[incidence->columns[k]]++] = row;
    }
  }
}

static Region region_begin(Arena* scratch, const SymIncidence* incidence,
                           const int* row_of_column) {
  Region region = {.incidence = incidence, .row_of_column = row_of_column};
  size_t rows = (size_t)incidence->row_count;
  size_t columns = (size_t)incidence->column_count;
  transpose(&region, scratch);
  region.column_of_row = ARENA_ARRAY(scratch, int, rows);
  region.has_row = ARENA_ARRAY(scratch, uint8_t, rows);
  region.has_column = ARENA_ARRAY(scratch, uint8_t, columns);
  region.queue = ARENA_ARRAY(scratch, int, rows > columns ? rows : columns);
  for (size_t row = 0; row < rows; row++) {
    region.column_of_row[row] = -1;
  }
  for (int column = 0; column < incidence->column_count; column++) {
    if (row_of_column[column] >= 0) region.column_of_row[row_of_column[column]] = column;
  }
  return region;
}

static void reach(Region* region, uint8_t* has, int item) {
  if (has[item]) return;
  has[item] = 1;
  region->queue[region->queued++] = item;
}

/// row -> its columns -> the rows matched to them, from all unmatched rows
static void reach_over(Region* region) {
  const SymIncidence* incidence = region->incidence;
  for (int row = 0; row < incidence->row_count; row++) {
    if (region->column_of_row[row] < 0) reach(region, region->has_row, row);
  }
  for (uint32_t next = 0; next < region->queued; next++) {
    int row = region->queue[next];
    for (int k = incidence->begin[row]; k < incidence->begin[row + 1]; k++) {
      int column = incidence->columns[k];
      region->has_column[column] = 1;
      if (region->row_of_column[column] < 0) continue;
      reach(region, region->has_row, region->row_of_column[column]);
    }
  }
}

/// column -> the rows it stands in -> the columns matched to them, from all unmatched columns
static void reach_under(Region* region) {
  for (int column = 0; column < region->incidence->column_count; column++) {
    if (region->row_of_column[column] < 0) reach(region, region->has_column, column);
  }
  for (uint32_t next = 0; next < region->queued; next++) {
    int column = region->queue[next];
    for (int k = region->begin[column]; k < region->begin[column + 1]; k++) {
      int row = region->rows[k];
      region->has_row[row] = 1;
      if (region->column_of_row[row] < 0) continue;
      reach(region, region->has_column, region->column_of_row[row]);
    }
  }
}

static int first_of(const uint8_t* has, int count) {
  for (int i = 0; i < count; i++) {
    if (has[i]) return i;
  }
  return -1;
}

/// Keep what is connected to the first row (or, without rows, the first column).
static void keep_component(Region* region, Arena* scratch) {
  const SymIncidence* incidence = region->incidence;
  uint8_t* kept_row = ARENA_ARRAY(scratch, uint8_t, (size_t)incidence->row_count);
  uint8_t* kept_column = ARENA_ARRAY(scratch, uint8_t, (size_t)incidence->column_count);
  int first = first_of(region->has_row, incidence->row_count);
  region->queued = 0;
  if (first >= 0) {
    reach(region, kept_row, first);
  } else {
    first = first_of(region->has_column, incidence->column_count);
    if (first >= 0) kept_column[first] = 1;
  }
  for (uint32_t next = 0; next < region->queued; next++) {
    int row = region->queue[next];
    for (int k = incidence->begin[row]; k < incidence->begin[row + 1]; k++) {
      int column = incidence->columns[k];
      if (!region->has_column[column] || kept_column[column]) continue;
      kept_column[column] = 1;
      for (int e = region->begin[column]; e < region->begin[column + 1]; e++) {
        if (region->has_row[region->rows[e]]) reach(region, kept_row, region->rows[e]);
      }
    }
  }
  region->has_row = kept_row;
  region->has_column = kept_column;
}

static const uint32_t* list(Arena* scratch, const uint8_t* has, int count, uint32_t* found) {
  *found = 0;
  for (int i = 0; i < count; i++) {
    *found += has[i];
  }
  uint32_t* items = ARENA_ARRAY(scratch, uint32_t, *found);
  uint32_t at = 0;
  for (int i = 0; i < count; i++) {
    if (has[i]) items[at++] = (uint32_t)i;
  }
  return items;
}

static SymPart region_end(Region* region, Arena* scratch) {
  keep_component(region, scratch);
  const SymIncidence* incidence = region->incidence;
  SymPart part = {0};
  part.rows = list(scratch, region->has_row, incidence->row_count, &part.row_count);
  part.columns = list(scratch, region->has_column, incidence->column_count, &part.column_count);
  return part;
}

SymPart sym_over_part(Arena* scratch, const SymIncidence* incidence, const int* row_of_column) {
  Region region = region_begin(scratch, incidence, row_of_column);
  reach_over(&region);
  return region_end(&region, scratch);
}

SymPart sym_under_part(Arena* scratch, const SymIncidence* incidence, const int* row_of_column) {
  Region region = region_begin(scratch, incidence, row_of_column);
  reach_under(&region);
  return region_end(&region, scratch);
}

/// An alternating path inside the region from a column to a row without a partner; pairs along it.
static bool pair_column(const Region* region, int root, int* row_of_column, int* column_of_row,
                        int* from, int* queue) {
  int queued = 0;
  for (int row = 0; row < region->incidence->row_count; row++) {
    from[row] = -1;
  }
  queue[queued++] = root;
  for (int next = 0; next < queued; next++) {
    int column = queue[next];
    for (int k = region->begin[column]; k < region->begin[column + 1]; k++) {
      int row = region->rows[k];
      if (!region->has_row[row] || from[row] >= 0) continue;
      from[row] = column;
      if (column_of_row[row] >= 0) {
        queue[queued++] = column_of_row[row];
        continue;
      }
      for (;;) {
        int giver = from[row];
        int given = row_of_column[giver];
        row_of_column[giver] = row;
        column_of_row[row] = giver;
        if (giver == root) return true;
        row = given;
      }
    }
  }
  return false;
}

void sym_choose_held(Arena* scratch, const SymIncidence* incidence, const int* row_of_column,
                     const uint8_t* rank, const uint32_t* order, uint8_t* loose, uint8_t* held) {
  Region region = region_begin(scratch, incidence, row_of_column);
  reach_under(&region);
  size_t rows = (size_t)incidence->row_count;
  size_t columns = (size_t)incidence->column_count;
  int* pair_of_column = ARENA_ARRAY(scratch, int, columns);
  int* pair_of_row = ARENA_ARRAY(scratch, int, rows);
  int* from = ARENA_ARRAY(scratch, int, rows);
  int* queue = ARENA_ARRAY(scratch, int, columns + 1);
  for (size_t i = 0; i < columns; i++) {
    pair_of_column[i] = -1;
    loose[i] = region.has_column[i];
    held[i] = 0;
  }
  for (size_t i = 0; i < rows; i++) {
    pair_of_row[i] = -1;
  }
  // sets of columns that can be paired form a matroid: taking the best first is optimal
  for (unsigned level = 0; level <= UINT8_MAX; level++) {
    for (int i = 0; i < incidence->column_count; i++) {
      int column = order ? (int)order[i] : i;
      if (!region.has_column[column] || rank[column] != level) continue;
      held[column] = !pair_column(&region, column, pair_of_column, pair_of_row, from, queue);
    }
  }
}
