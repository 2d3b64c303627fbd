// SPDX-License-Identifier: MIT
//
// Systems that fall into small blocks but for a few unknowns that everybody reads, or that read
// everybody: a border. The rest is eliminated by its own structure, the border by what is left of
// it (Schur complement):
//
//   | B  E | | x |   | b |      S = D - F B^-1 E,  S z = d - F B^-1 b,  x = B^-1 b - (B^-1 E) z
//   | F  D | | z | = | d |
#include "numeric/linear.h"

#include <string.h>

#define DEGREE_MAX 32  // unknowns with more neighbours, equations read both ways, make the border
#define SINGULAR   1e-14

typedef struct BorderEntry {
  uint32_t row, column;  // in the border, or inside
  uint32_t entry;        // of J
} BorderEntry;

struct NumBorder {
  SltAllocator allocator;
  size_t bytes;  // of the block behind `members`
  NumLinear* inner;
  uint32_t states;  // unknowns beyond them have no c on the diagonal
  uint32_t inner_count, inner_entry_count;
  uint32_t count;  // unknowns of the border
  uint32_t members[NUM_BORDER_MAX];
  uint32_t* inside;       // unknowns inside, ascending
  uint32_t* inner_entry;  // entries of J that the inner system has
  BorderEntry* beside;    // E, then F, then D
  uint32_t e_count, f_count, d_count;
  double* solved;  // B^-1 E, one row per member
  double* y;
  double* f_values;  // entries of -F when the factors were made
  double s[NUM_BORDER_MAX * NUM_BORDER_MAX];
  double scratch[NUM_BORDER_MAX];
  uint32_t pivot[NUM_BORDER_MAX];
};

/// Members of the border into `place` (their number there, UINT32_MAX for others): auxiliary
/// unknowns, and those with many neighbours. False: none, or too many.
static bool find_members(const NumPattern* p, uint32_t* place, NumBorder* border) {
  const uint32_t n = p->states + p->auxiliary;
  memset(place, 0, n * sizeof *place);
  for (uint32_t i = 0; i < n; i++) {
    place[i] += p->begin[i + 1] - p->begin[i];
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      place[p->columns[k]]++;
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    bool member = i >= p->states || place[i] > 2 * DEGREE_MAX;
    if (member && border->count == NUM_BORDER_MAX) {
      return false;
    }
    place[i] = member ? border->count : UINT32_MAX;
    if (member) {
      border->members[border->count++] = i;
    }
  }
  return border->count > 0;
}

/// Number the unknowns inside.
static void find_inside(uint32_t n, const uint32_t* place, uint32_t* position, NumBorder* border) {
  for (uint32_t i = 0; i < n; i++) {
    position[i] = border->inner_count;
    if (place[i] == UINT32_MAX) {
      border->inside[border->inner_count++] = i;
    }
  }
}

/// The pattern of the inner system.
static void split_inner(const NumPattern* p, const uint32_t* place, const uint32_t* position,
                        NumBorder* border, uint32_t* begin, uint32_t* columns) {
  begin[0] = 0;
  for (uint32_t m = 0; m < border->inner_count; m++) {
    uint32_t i = border->inside[m];
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      if (place[p->columns[k]] != UINT32_MAX) {
        continue;
      }
      columns[border->inner_entry_count] = position[p->columns[k]];
      border->inner_entry[border->inner_entry_count++] = k;
    }
    begin[m + 1] = border->inner_entry_count;
  }
}

/// Entries with their row or their column in the border, or both; returns their number.
static uint32_t split_beside(const NumPattern* p, const uint32_t* place, const uint32_t* position,
                             bool row_in, bool column_in, BorderEntry* out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < p->states + p->auxiliary; i++) {
    if ((place[i] != UINT32_MAX) != row_in) {
      continue;
    }
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      uint32_t j = p->columns[k];
      if ((place[j] != UINT32_MAX) == column_in) {
        out[count++] = (BorderEntry){.row = row_in ? place[i] : position[i],
                                     .column = column_in ? place[j] : position[j],
                                     .entry = k};
      }
    }
  }
  return count;
}

static SltStatus take_memory(const SltAllocator* a, const NumPattern* p, NumBorder* border) {
  const size_t n = (size_t)p->states + p->auxiliary;
  const size_t entries = p->begin[n];
  size_t doubles = base_add_size(base_mul_size(n, (size_t)border->count + 1), entries);
  size_t words = base_add_size(n, entries);
  border->bytes = base_add_size(base_mul_size(doubles, sizeof(double)),
                                base_add_size(base_mul_size(words, sizeof(uint32_t)),
                                              base_mul_size(entries, sizeof(BorderEntry))));
  border->solved = base_alloc(a, border->bytes);
  if (!border->solved) {
    return SLT_ERR_NOMEM;
  }
  border->y = border->solved + n * border->count;
  border->f_values = border->y + n;
  border->inside = (uint32_t*)(border->f_values + entries);
  border->inner_entry = border->inside + n;
  border->beside = (BorderEntry*)(border->inner_entry + entries);
  return SLT_OK;
}

/// The inner system, and what lies beside it.
static SltStatus make(const SltAllocator* a, const NumPattern* p, const uint32_t* place,
                      uint32_t* work, NumBorder* border) {
  const uint32_t n = p->states + p->auxiliary;
  SLT_TRY(take_memory(a, p, border));
  uint32_t* position = work;
  uint32_t* begin = work + n;
  uint32_t* columns = begin + n + 1;
  find_inside(n, place, position, border);
  split_inner(p, place, position, border, begin, columns);
  BorderEntry* at = border->beside;
  border->e_count = split_beside(p, place, position, false, true, at);
  at += border->e_count;
  border->f_count = split_beside(p, place, position, true, false, at);
  at += border->f_count;
  border->d_count = split_beside(p, place, position, true, true, at);
  NumPattern inner = {.states = border->inner_count, .begin = begin, .columns = columns};
  return num_linear_create(a, &inner, &border->inner);
}

SltStatus num_border_create(const SltAllocator* a, const NumPattern* p, NumBorder** out,
                            double* cost) {
  *out = NULL;
  *cost = HUGE_VAL;
  const size_t n = (size_t)p->states + p->auxiliary;
  if (p->algebraic > p->auxiliary || n <= (size_t)2 * DEGREE_MAX) {
    return SLT_OK;
  }
  NumBorder* border = base_alloc(a, sizeof *border);
  size_t bytes = base_mul_size(base_add_size(3 * n + 1, p->begin[n]), sizeof(uint32_t));
  uint32_t* work = base_alloc(a, bytes);
  SltStatus status = border && work ? SLT_OK : SLT_ERR_NOMEM;
  if (border) {
    *border = (NumBorder){.allocator = *a, .states = p->states};
  }
  bool found = status >= 0 && find_members(p, work, border);
  if (found) {
    status = make(a, p, work, work + n, border);
  }
  base_free(a, work, bytes);
  if (!found || status < 0) {
    num_border_free(border);
    return status;
  }
  double members = border->count;
  *cost = num_linear_cost(border->inner) * (1.0 + 0.1 * members) + 8.0 * members * (double)n;
  *out = border;
  return SLT_OK;
}

void num_border_free(NumBorder* border) {
  if (!border) {
    return;
  }
  SltAllocator a = border->allocator;
  num_linear_free(border->inner);
  base_free(&a, border->solved, border->bytes);
  base_free(&a, border, sizeof *border);
}

SltStatus num_border_factor(NumBorder* border, const double* values, double c) {
  const uint32_t m = border->count;
  const size_t n = border->inner_count;
  double* inner = num_linear_values(border->inner);
  for (uint32_t k = 0; k < border->inner_entry_count; k++) {
    inner[k] = values[border->inner_entry[k]];
  }
  SLT_TRY(num_linear_factor(border->inner, c));
  const BorderEntry* e = border->beside;
  const BorderEntry* f = e + border->e_count;
  const BorderEntry* d = f + border->f_count;
  memset(border->solved, 0, n * m * sizeof *border->solved);
  for (uint32_t k = 0; k < border->e_count; k++) {
    border->solved[e[k].column * n + e[k].row] = -values[e[k].entry];
  }
  for (uint32_t j = 0; j < m; j++) {
    num_linear_solve(border->inner, border->solved + j * n);
  }
  memset(border->s, 0, sizeof border->s);
  for (uint32_t j = 0; j < m; j++) {
    border->s[j * m + j] = border->members[j] < border->states ? c : 0.0;
  }
  for (uint32_t k = 0; k < border->d_count; k++) {
    border->s[d[k].row * m + d[k].column] -= values[d[k].entry];
  }
  for (uint32_t k = 0; k < border->f_count; k++) {
    border->f_values[k] = values[f[k].entry];
    for (uint32_t j = 0; j < m; j++) {
      border->s[f[k].row * m + j] += values[f[k].entry] * border->solved[j * n + f[k].column];
    }
  }
  return num_lu_factor(m, border->s, SINGULAR, border->scratch, border->pivot, NULL);
}

void num_border_solve(NumBorder* border, double* b) {
  const uint32_t m = border->count;
  const size_t n = border->inner_count;
  double* restrict y = border->y;
  double z[NUM_BORDER_MAX];
  for (size_t i = 0; i < n; i++) {
    y[i] = b[border->inside[i]];
  }
  num_linear_solve(border->inner, y);
  for (uint32_t j = 0; j < m; j++) {
    z[j] = b[border->members[j]];
  }
  const BorderEntry* at = border->beside + border->e_count;
  for (uint32_t k = 0; k < border->f_count; k++) {
    z[at[k].row] += border->f_values[k] * y[at[k].column];
  }
  num_lu_solve(m, border->s, border->pivot, border->scratch, z);
  for (uint32_t j = 0; j < m; j++) {
    const double* restrict column = border->solved + j * n;
    for (size_t i = 0; i < n; i++) {
      y[i] -= column[i] * z[j];
    }
    b[border->members[j]] = z[j];
  }
  for (size_t i = 0; i < n; i++) {
    b[border->inside[i]] = y[i];
  }
}
