// SPDX-License-Identifier: MIT
//
// Tearing of blocks (Elmqvist and Otter 1994; the choice of variables follows Cellier's rules).
//
// A few unknowns of a block are taken as given, such that the others follow one after the other,
// each from an equation that is linear in it; what is left over are as many equations as unknowns
// were torn. Finding the fewest is NP-hard, so the choice is greedy: the unknown that lets most
// equations be solved at once, then the one that stands in most of them, then the first.
//
// Dividing by a coefficient is only safe when it does not vanish. Those made of numbers and
// parameters are preferred; coefficients that move with time and states are divided by where
// without them too many unknowns would have to be torn. Which values are good enough is decided
// where there are numbers: every torn block carries checks, and the whole block behind them.
#include "symbolic/internal.h"

// beyond these the block is better eliminated as a whole
#define TORN_MAX 8u
#define WORK_MAX 3000u  // operations, about

typedef struct Tearing {
  uint32_t count;
  const SymPattern* pattern;
  const uint32_t* by_column;  // rows of column j: by_column[column_begin[j]] ...
  const uint32_t* column_begin;
  uint8_t allowed;  // worst SymEntryKind to divide by
  uint32_t* open;   // per row: unknowns not known yet
  uint8_t* row_used;
  uint8_t* known;  // per column
  uint32_t* rows;  // the result
  uint32_t* columns;
  uint32_t inner;  // pairs found
  uint32_t* torn;
  uint32_t torn_count;
  uint32_t* queue;  // rows with one unknown left
  uint32_t queue_begin, queue_end;
} Tearing;

static void learn(Tearing* t, uint32_t column) {
  t->known[column] = 1;
  for (uint32_t k = t->column_begin[column]; k < t->column_begin[column + 1]; k++) {
    uint32_t row = t->by_column[k];
    if (--t->open[row] == 1 && !t->row_used[row]) t->queue[t->queue_end++] = row;
  }
}

/// Solve every equation that has one unknown left, and what follows from that.
static void follow(Tearing* t) {
  while (t->queue_begin < t->queue_end) {
    uint32_t row = t->queue[t->queue_begin++];
    for (uint32_t k = t->pattern->begin[row]; k < t->pattern->begin[row + 1]; k++) {
      uint32_t column = t->pattern->columns[k];
      if (t->known[column] || t->pattern->kinds[k] > t->allowed) continue;
      t->row_used[row] = 1;
      t->rows[t->inner] = row;
      t->columns[t->inner++] = column;
      learn(t, column);
      break;
    }
  }
}

/// Whether a row with two unknowns left can be solved for the other one.
static bool gives_other(const Tearing* t, uint32_t row, uint32_t column) {
  for (uint32_t k = t->pattern->begin[row]; k < t->pattern->begin[row + 1]; k++) {
    uint32_t other = t->pattern->columns[k];
    if (other != column && !t->known[other]) return t->pattern->kinds[k] <= t->allowed;
  }
  return false;
}

static uint32_t best_column(const Tearing* t) {
  uint32_t best = UINT32_MAX;
  uint32_t best_gain = 0;
  uint32_t best_degree = 0;
  for (uint32_t j = 0; j < t->count; j++) {
    if (t->known[j]) continue;
    uint32_t gain = 0;
    uint32_t degree = 0;
    for (uint32_t k = t->column_begin[j]; k < t->column_begin[j + 1]; k++) {
      uint32_t row = t->by_column[k];
      if (t->row_used[row]) continue;
      degree++;
      gain += t->open[row] == 2 && gives_other(t, row, j);
    }
    bool better =
        best == UINT32_MAX || gain > best_gain || (gain == best_gain && degree > best_degree);
    if (!better) continue;
    best = j;
    best_gain = gain;
    best_degree = degree;
  }
  return best;
}

/// False when too many unknowns would have to be torn.
static bool choose(Tearing* t, uint8_t allowed) {
  t->allowed = allowed;
  t->inner = 0;
  t->torn_count = 0;
  t->queue_begin = 0;
  t->queue_end = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    t->open[i] = t->pattern->begin[i + 1] - t->pattern->begin[i];
    t->row_used[i] = 0;
    t->known[i] = 0;
  }
  for (uint32_t i = 0; i < t->count; i++) {
    if (t->open[i] == 1) t->queue[t->queue_end++] = i;
  }
  follow(t);
  while (t->inner + t->torn_count < t->count) {
    if (t->torn_count >= TORN_MAX) return false;
    uint32_t column = best_column(t);
    t->torn[t->torn_count++] = column;
    learn(t, column);
    follow(t);
  }
  uint64_t torn = t->torn_count;
  uint64_t work = (uint64_t)t->pattern->begin[t->count] * (torn + 3) + torn * torn * torn;
  return torn < t->count && work <= WORK_MAX;
}

static void transpose(Arena* scratch, Tearing* t) {
  const SymPattern* p = t->pattern;
  uint32_t* begin = ARENA_ARRAY(scratch, uint32_t, (size_t)t->count + 2);
  uint32_t* rows = ARENA_ARRAY(scratch, uint32_t, p->begin[t->count]);
  for (uint32_t k = 0; k < p->begin[t->count]; k++) {
    begin[p->columns[k] + 2]++;
  }
  for (uint32_t j = 0; j < t->count; j++) {
    begin[j + 2] += begin[j + 1];
  }
  for (uint32_t i = 0; i < t->count; i++) {
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      rows[begin[p->columns[k] + 1]++] = i;
    }
  }
  t->column_begin = begin;
  t->by_column = rows;
}

void sym_tear(Arena* out, Arena* scratch, const SymPattern* pattern, SymBlock* block) {
  uint32_t n = block->count;
  block->torn_count = n;
  if (n < 2) return;
  Tearing t = {.count = n,
               .pattern = pattern,
               .open = ARENA_ARRAY(scratch, uint32_t, n),
               .row_used = ARENA_ARRAY(scratch, uint8_t, n),
               .known = ARENA_ARRAY(scratch, uint8_t, n),
               .rows = ARENA_ARRAY(scratch, uint32_t, n),
               .columns = ARENA_ARRAY(scratch, uint32_t, n),
               .torn = ARENA_ARRAY(scratch, uint32_t, n),
               .queue = ARENA_ARRAY(scratch, uint32_t, n)};
  transpose(scratch, &t);
  if (!choose(&t, SYM_ENTRY_FIXED) && !choose(&t, SYM_ENTRY_MOVES)) return;
  uint32_t* rows = ARENA_ARRAY(out, uint32_t, n);
  uint32_t* columns = ARENA_ARRAY(out, uint32_t, n);
  uint32_t at = t.inner;
  for (uint32_t k = 0; k < t.inner; k++) {
    rows[k] = t.rows[k];
    columns[k] = t.columns[k];
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!t.row_used[i]) rows[at++] = i;
  }
  for (uint32_t k = 0; k < t.torn_count; k++) {
    columns[t.inner + k] = t.torn[k];
  }
  block->rows = rows;
  block->columns = columns;
  block->torn_count = t.torn_count;
}
