// SPDX-License-Identifier: MIT
//
// Initial values of modes that constrain their states. Those that are fixed move as they are
// written; the constraints say how the others follow, in the order in which the run releases them:
// derivatives that nobody gave, guesses, values that nobody gave.
#include "sensitivity/internal.h"

#include <math.h>
#include <string.h>

#define SMALL 1e-9  // of rows, by the sizes of what they are made of: they hold

typedef enum Release { RELEASE_FREE, RELEASE_GUESS, RELEASE_DEFAULT, RELEASE_NEVER } Release;

/// The constraints to first order, c rows: the states' columns, then what is left of the rows.
typedef struct Constraints {
  const ModelImplicit* im;
  uint32_t n, c, count;
  double* matrix;    // c rows of n
  double* left;      // c rows of `count`: how the constraints move with the rows as they are
  double* size;      // per row: of its terms
  uint32_t* column;  // of the states that follow, which are...
  uint32_t moves;    // ...so many, of which...
  uint32_t rank;     // ...these have a pivot
} Constraints;

static Release release_of(const Sensitivity* s, uint32_t place) {
  for (uint32_t i = 0; i < s->model->start_count; i++) {
    const ModelStart* start = &s->model->starts[i];
    if (s->model->vars[start->var].env + start->order != place) continue;
    return start->fixed ? RELEASE_NEVER : RELEASE_GUESS;
  }
  for (uint32_t v = 0; v < s->model->var_count; v++) {
    if (place > s->model->vars[v].env && place - s->model->vars[v].env < s->model->vars[v].slots) {
      return RELEASE_FREE;
    }
  }
  return RELEASE_DEFAULT;
}

static bool linearise(Sensitivity* s, Constraints* l, double* x, double* rows) {
  const ModelMode* mode = s->after.mode;
  for (uint32_t i = 0; i < l->n; i++) {
    uint32_t place = mode->state_env[i];
    x[i] = s->after.env[place];
    memcpy(rows + (size_t)i * l->count, s->after.d + (size_t)place * l->count,
           l->count * sizeof *rows);
  }
  return sensitivity_constraints(s, &s->after, x, rows, l->matrix, l->left, l->size);
}

static void swap_rows(const Constraints* l, uint32_t a, uint32_t b) {
  for (uint32_t j = 0; j < l->n; j++) {
    double keep = l->matrix[(size_t)a * l->n + j];
    l->matrix[(size_t)a * l->n + j] = l->matrix[(size_t)b * l->n + j];
    l->matrix[(size_t)b * l->n + j] = keep;
  }
  for (uint32_t k = 0; k < l->count; k++) {
    double keep = l->left[(size_t)a * l->count + k];
    l->left[(size_t)a * l->count + k] = l->left[(size_t)b * l->count + k];
    l->left[(size_t)b * l->count + k] = keep;
  }
  double keep = l->size[a];
  l->size[a] = l->size[b];
  l->size[b] = keep;
}

static void subtract_row(const Constraints* l, uint32_t from, uint32_t pivot, double factor) {
  for (uint32_t j = 0; j < l->n; j++)
    l->matrix[(size_t)from * l->n + j] -= factor * l->matrix[(size_t)pivot * l->n + j];
  for (uint32_t k = 0; k < l->count; k++)
    l->left[(size_t)from * l->count + k] -= factor * l->left[(size_t)pivot * l->count + k];
}

/// The row with the largest entry of a column, from a row on.
static uint32_t largest_entry(const Constraints* l, uint32_t from, uint32_t column) {
  uint32_t best = from;
  for (uint32_t i = from; i < l->c; i++) {
    double a = fabs(l->matrix[(size_t)i * l->n + column]);
    if (a > fabs(l->matrix[(size_t)best * l->n + column])) best = i;
  }
  return best;
}

/// Eliminate columns in their order; those with a pivot come first then, in the order of the rows.
static void eliminate(Constraints* l) {
  for (uint32_t j = 0; j < l->moves && l->rank < l->c; j++) {
    uint32_t column = l->column[j];
    uint32_t p = l->rank;
    swap_rows(l, p, largest_entry(l, p, column));
    double pivot = l->matrix[(size_t)p * l->n + column];
    if (!(fabs(pivot) > SMALL * l->size[p])) continue;
    for (uint32_t i = 0; i < l->c; i++) {
      double factor = l->matrix[(size_t)i * l->n + column] / pivot;
      if (i != p && factor != 0.0) subtract_row(l, i, p, factor);
    }
    l->column[j] = l->column[p];
    l->column[p] = column;
    l->rank++;
  }
}

static bool holds(const Constraints* l, uint32_t row) {
  for (uint32_t k = 0; k < l->count; k++) {
    if (!(fabs(l->left[(size_t)row * l->count + k]) <= SMALL * l->size[row])) return false;
  }
  return true;
}

/// Whether another state could move in the place of the one that follows.
static bool is_open(const Constraints* l, uint32_t row) {
  for (uint32_t j = l->rank; j < l->moves; j++) {
    double entry = l->matrix[(size_t)row * l->n + l->column[j]];
    if (fabs(entry) > SMALL * l->size[row]) return true;
  }
  return false;
}

/// Which states may follow when everything up to `limit` is released, the first released first.
static void choose(const Sensitivity* s, Constraints* l, Release limit) {
  l->moves = 0;
  l->rank = 0;
  for (Release release = RELEASE_FREE; release <= limit; release++) {
    for (uint32_t i = 0; i < l->n; i++) {
      if (release_of(s, s->after.mode->state_env[i]) == release) l->column[l->moves++] = i;
    }
  }
}

static void follow(Sensitivity* s, const Constraints* l) {
  for (uint32_t p = 0; p < l->rank; p++) {
    double pivot = l->matrix[(size_t)p * l->n + l->column[p]];
    double* row = s->after.d + (size_t)s->after.mode->state_env[l->column[p]] * l->count;
    for (uint32_t k = 0; k < l->count; k++)
      row[k] -= l->left[(size_t)p * l->count + k] / pivot;
  }
}

/// With what is released up to a limit. Behind the last one are fixed values that contradict each
/// other beside the parameter: there is no run there, and nothing to be known.
static bool try_release(Sensitivity* s, Constraints* l, Release limit, double* x, double* rows,
                        bool* open) {
  if (!linearise(s, l, x, rows)) return false;
  choose(s, l, limit);
  eliminate(l);
  for (uint32_t i = 0; i < l->rank; i++)
    *open |= !holds(l, i) && is_open(l, i);
  bool last = limit + 1 == RELEASE_NEVER;
  for (uint32_t i = l->rank; !last && i < l->c; i++) {
    if (!holds(l, i)) return false;
  }
  if (!*open) follow(s, l);
  return !*open;
}

bool sensitivity_start_constrained(Sensitivity* s) {
  const ModelMode* mode = s->after.mode;
  Constraints l = {.im = mode->implicit,
                   .n = mode->state_count,
                   .c = mode->implicit->constraint_count,
                   .count = s->count};
  size_t matrix = (size_t)l.c * l.n;
  size_t left = (size_t)l.c * l.count;
  size_t rows = (size_t)l.n * l.count;
  double* x = sensitivity_room(s, &s->matrix, matrix + left + l.c + 2 * (size_t)l.n + rows);
  if (!x) return false;
  l.matrix = x + l.n;
  l.left = l.matrix + matrix;
  l.size = l.left + left;
  l.column = (uint32_t*)(l.size + l.c);
  double* state_rows = l.size + l.c + l.n;
  bool open = false;
  if (!linearise(s, &l, x, state_rows)) return false;
  bool all = true;
  for (uint32_t i = 0; i < l.c; i++)
    all &= holds(&l, i);
  for (Release limit = RELEASE_FREE; !all && !open && limit < RELEASE_NEVER; limit++)
    all = try_release(s, &l, limit, x, state_rows, &open);
  return all;
}
