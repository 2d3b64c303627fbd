// SPDX-License-Identifier: MIT
//
// Linear systems of stiff methods: one object per sparsity pattern, which knows the cheapest way to
// solve them and holds everything a step needs.
#include "numeric/linear.h"

#include <string.h>

#define DENSE_ALWAYS 12  // up to here nothing else can be cheaper
#define PIVOT_MIN    1e-14
#define TICK         6.0  // solutions per factorisation, for the estimate of costs

static double dense_cost(double n) {
  return 0.15 * n * n * n + TICK * 0.6 * n * n;
}

static double band_cost(double n, double below, double above) {
  double width = below + above + 1.0;
  return n * (below * (2.0 + 0.5 * width) + 6.0) + TICK * n * (2.0 + 0.6 * (width + below));
}

/// Two products per entry and solution hide behind each other; the rest is what a row costs.
static double block_cost(double n, double size) {
  return n * (4.0 + 2.0 * size * size) + TICK * n * (1.5 + 0.9 * size);
}

// ---- memory -------------------------------------------------------------------------------------

static void lay_out(NumLinear* linear, NumCarver* c) {
  size_t n = linear->n;
  bool band = linear->kind == NUM_LINEAR_BAND;
  bool line = linear->kind == NUM_LINEAR_BLOCKS || linear->kind == NUM_LINEAR_BORDER;
  size_t padded = (size_t)linear->blocks.count * linear->blocks.size;
  size_t area = (size_t)linear->blocks.size * linear->blocks.size;
  linear->begin = num_carve(c, n + 1, sizeof *linear->begin);
  linear->columns = num_carve(c, linear->entry_count, sizeof *linear->columns);
  linear->place = num_carve(c, line ? 0 : linear->entry_count, sizeof *linear->place);
  linear->diagonal = num_carve(c, line ? 0 : linear->rows.states, sizeof *linear->diagonal);
  linear->order = num_carve(c, band ? n : padded, sizeof *linear->order);
  linear->position = num_carve(c, padded ? n : 0, sizeof *linear->position);
  linear->blocks.source = num_carve(c, 3 * area * linear->blocks.count, sizeof(uint32_t));
  linear->blocks.y = num_carve(c, padded, sizeof(double));
  linear->values = num_carve(c, (size_t)linear->entry_count + 1, sizeof(double));
  linear->store = num_carve(c, linear->store_count, sizeof(double));
  linear->lower = num_carve(c, band ? base_mul_size(n, linear->below) : 0, sizeof(double));
  linear->scratch = num_carve(c, n, sizeof(double));
  linear->extended = num_carve(c, linear->rows.count < n ? n : 0, sizeof(double));
  linear->pivot = num_carve(c, n, sizeof *linear->pivot);
  for (uint32_t j = 1; j <= NUM_LINEAR_STAGES; j++) {
    linear->rows.u[j] = num_carve(c, n, sizeof(double));
  }
  linear->rows.xu = num_carve(c, n, sizeof(double));
  linear->rows.y = num_carve(c, n, sizeof(double));
  linear->rows.out = num_carve(c, n, sizeof(double));
  linear->rows.ft = num_carve(c, n, sizeof(double));
}

// ---- choice -------------------------------------------------------------------------------------

typedef struct Choice {
  NumLinearKind kind;
  uint32_t below, above;
  uint32_t block, offset;  // unknowns of a block, empty places before the first; 0: no blocks
  uint32_t* order;         // of the band, or NULL
  NumSparse* sparse;
  NumBorder* border;
  double cost;
} Choice;

/// Neighbours of each unknown: who stands in whose equation.
static void make_graph(const NumPattern* p, uint32_t* begin, uint32_t* neighbours) {
  uint32_t n = p->states + p->algebraic;
  memset(begin, 0, ((size_t)n + 2) * sizeof *begin);
  for (int pass = 0; pass < 2; pass++) {
    uint32_t* at = begin + (pass ? 1 : 2);
    for (uint32_t i = 0; i < n; i++) {
      for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
        uint32_t j = p->columns[k];
        if (i == j) {
          continue;
        }
        if (pass) {
          neighbours[at[i]] = j;
          neighbours[at[j]] = i;
        }
        at[i]++;
        at[j]++;
      }
    }
    for (uint32_t i = 0; !pass && i < n; i++) {
      begin[i + 2] += begin[i + 1];
    }
  }
}

/// Width of the band in an order; `position` is its inverse.
static void measure_band(const NumPattern* p, const uint32_t* position, Choice* choice) {
  uint32_t n = p->states + p->algebraic;
  choice->below = 0;
  choice->above = 0;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      uint32_t row = position[i];
      uint32_t column = position[p->columns[k]];
      if (row > column && row - column > choice->below) {
        choice->below = row - column;
      }
      if (column > row && column - row > choice->above) {
        choice->above = column - row;
      }
    }
  }
}

/// Whether every entry lies in its block or in one beside it.
static bool blocks_fit(const NumPattern* p, const uint32_t* position, uint32_t size,
                       uint32_t offset) {
  uint32_t n = p->states + p->algebraic;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t row = (position[i] + offset) / size;
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      uint32_t column = (position[p->columns[k]] + offset) / size;
      if (row > column + 1 || column > row + 1) {
        return false;
      }
    }
  }
  return true;
}

/// The smallest blocks that the order falls into. Algebraic unknowns have no diagonal to rely on.
static void find_blocks(const NumPattern* p, const uint32_t* position, Choice* choice) {
  choice->block = 0;
  if (p->algebraic > 0 || choice->below >= 2 * NUM_BLOCK_MAX ||
      choice->above >= 2 * NUM_BLOCK_MAX) {
    return;
  }
  for (uint32_t size = 1; size <= NUM_BLOCK_MAX; size++) {
    for (uint32_t offset = 0; offset < size; offset++) {
      if (blocks_fit(p, position, size, offset)) {
        choice->block = size;
        choice->offset = offset;
        return;
      }
    }
  }
}

/// Order and width of the band. `order` has room for n numbers.
static SltStatus find_band(const SltAllocator* a, const NumPattern* p, Choice* choice) {
  size_t n = (size_t)p->states + p->algebraic;
  size_t edges = base_mul_size(2, p->begin[n]);
  size_t count = base_add_size(base_add_size(n + 2, edges), base_mul_size(3, n));
  size_t bytes = base_mul_size(count, sizeof(uint32_t));
  uint32_t* begin = base_alloc(a, bytes);
  if (!begin) {
    return SLT_ERR_NOMEM;
  }
  uint32_t* neighbours = begin + n + 2;
  uint32_t* work = neighbours + edges;
  make_graph(p, begin, neighbours);
  num_order_band((uint32_t)n, begin, neighbours, choice->order, work);
  for (uint32_t i = 0; i < n; i++) {
    work[choice->order[i]] = i;
  }
  measure_band(p, work, choice);
  find_blocks(p, work, choice);
  base_free(a, begin, bytes);
  return SLT_OK;
}

static SltStatus choose(const SltAllocator* a, const NumPattern* p, Choice* choice) {
  double n = (double)p->states + (double)p->algebraic;
  double best = dense_cost(n);
  choice->kind = NUM_LINEAR_DENSE;
  choice->cost = best;
  if (n <= DENSE_ALWAYS) {
    return SLT_OK;
  }
  SLT_TRY(find_band(a, p, choice));
  double banded = band_cost(n, choice->below, choice->above);
  if (banded < best) {
    best = banded;
    choice->kind = NUM_LINEAR_BAND;
    choice->cost = best;
  }
  double blocks = choice->block ? block_cost(n, choice->block) : HUGE_VAL;
  if (blocks < best) {
    best = blocks;
    choice->kind = NUM_LINEAR_BLOCKS;
    choice->cost = best;
  }
  // a sparse method has its price per entry too: not worth a look where the others are close to it
  double entries = (double)p->begin[p->states + p->algebraic];
  if (best <= 60.0 * (entries + n)) {
    return SLT_OK;
  }
  double cost = 0.0;
  SLT_TRY(num_border_create(a, p, &choice->border, &cost));
  if (cost < best) {
    best = cost;
    choice->kind = NUM_LINEAR_BORDER;
    choice->cost = cost;
  }
  if (best <= 60.0 * (entries + n)) {
    return SLT_OK;
  }
  SLT_TRY(num_sparse_create(p, &choice->sparse, &cost));
  if (cost < best) {
    choice->kind = NUM_LINEAR_SPARSE;
    choice->cost = cost;
    return SLT_OK;
  }
  num_sparse_free(choice->sparse);
  choice->sparse = NULL;
  return SLT_OK;
}

// ---- making -------------------------------------------------------------------------------------

static void place_band(const NumLinear* linear, const NumPattern* p, uint32_t* position,
                       uint32_t* place, uint32_t* diagonal) {
  size_t width = (size_t)linear->below + linear->above + 1;
  for (uint32_t i = 0; i < linear->n; i++) {
    position[linear->order[i]] = i;
  }
  for (uint32_t i = 0; i < linear->n; i++) {
    size_t row = (size_t)position[i] * width + linear->below;
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      place[k] = (uint32_t)(row + position[p->columns[k]] - position[i]);
    }
    if (i < p->states) {
      diagonal[i] = (uint32_t)row;
    }
  }
}

/// Where the blocks find their entries: towards the middle what comes before is eliminated.
static void place_blocks(const NumLinear* linear, const NumPattern* p, uint32_t offset,
                         const uint32_t* plain, uint32_t* order, uint32_t* position,
                         uint32_t* source) {
  const NumBlocks* blocks = &linear->blocks;
  const uint32_t size = blocks->size;
  const uint32_t area = size * size;
  for (size_t i = 0; i < (size_t)blocks->count * size; i++) {
    order[i] = UINT32_MAX;
  }
  for (uint32_t i = 0; i < linear->n; i++) {
    order[offset + i] = plain[i];
    position[plain[i]] = i;
  }
  for (size_t k = 0; k < (size_t)3 * area * blocks->count; k++) {
    source[k] = linear->entry_count;
  }
  for (uint32_t i = 0; i < linear->n; i++) {
    uint32_t row = position[i] + offset;
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      uint32_t column = position[p->columns[k]] + offset;
      uint32_t block = row / size;
      int side = (int)(column / size) - (int)block;
      uint32_t part = (uint32_t)(block <= blocks->middle ? 1 + side : 1 - side);
      size_t at = ((size_t)3 * block + part) * area;
      source[at + (size_t)(row % size) * size + column % size] = k;
    }
  }
}

static void place_dense(const NumLinear* linear, const NumPattern* p, uint32_t* place,
                        uint32_t* diagonal) {
  for (uint32_t i = 0; i < linear->n; i++) {
    for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
      place[k] = i * linear->n + p->columns[k];
    }
    if (i < p->states) {
      diagonal[i] = i * linear->n + i;
    }
  }
}

/// Numbers that the matrix and its factors take. Blocks leave room for the band that takes over
/// where rows must be exchanged.
static size_t store_needed(const NumLinear* linear, const Choice* choice) {
  const size_t n = linear->n;
  const size_t width = (size_t)linear->below + linear->above + 1;
  const NumBlocks* blocks = &linear->blocks;
  switch (linear->kind) {
  case NUM_LINEAR_DENSE: return base_mul_size(n, n);
  case NUM_LINEAR_BAND: return base_mul_size(n, width);
  case NUM_LINEAR_SPARSE: return num_sparse_count(choice->sparse);
  case NUM_LINEAR_BORDER: return 0;
  case NUM_LINEAR_BLOCKS: break;
  }
  size_t factors = base_mul_size(blocks->count, (size_t)3 * blocks->size * blocks->size);
  size_t band = base_mul_size(n, width + linear->below);
  return factors > band ? factors : band;
}

static SltStatus make(const SltAllocator* a, const NumPattern* p, Choice* choice, NumLinear** out) {
  NumLinear shape = {.allocator = *a,
                     .kind = choice->kind,
                     .n = p->states + p->algebraic,
                     .below = choice->below,
                     .above = choice->above,
                     .cost = choice->cost};
  shape.entry_count = p->begin[shape.n];
  shape.rows.states = p->states;
  shape.rows.count = shape.n - p->auxiliary;
  if (choice->kind == NUM_LINEAR_BLOCKS && choice->block > 0) {
    shape.blocks.size = choice->block;
    shape.blocks.count = (shape.n + choice->offset + choice->block - 1) / choice->block;
    shape.blocks.middle = shape.blocks.count / 2;
  }
  shape.store_count = store_needed(&shape, choice);
  NumCarver carver = {NULL, (sizeof shape + 7) & ~(size_t)7};
  lay_out(&shape, &carver);
  shape.block_size = carver.used;
  NumLinear* linear = base_alloc(a, shape.block_size);
  if (!linear) {
    return SLT_ERR_NOMEM;
  }
  *linear = shape;
  carver = (NumCarver){(char*)linear, (sizeof shape + 7) & ~(size_t)7};
  lay_out(linear, &carver);
  memcpy((void*)linear->begin, p->begin, ((size_t)linear->n + 1) * sizeof *p->begin);
  if (linear->entry_count) {
    memcpy((void*)linear->columns, p->columns, linear->entry_count * sizeof *p->columns);
  }
  linear->values[linear->entry_count] = 0.0;
  uint32_t* place = (uint32_t*)linear->place;
  uint32_t* diagonal = (uint32_t*)linear->diagonal;
  if (linear->kind == NUM_LINEAR_BLOCKS && choice->order) {
    uint32_t* order = (uint32_t*)linear->order;
    place_blocks(linear, p, choice->offset, choice->order, order, (uint32_t*)linear->position,
                 (uint32_t*)linear->blocks.source);
    linear->blocks.order = order;
    linear->order = order + choice->offset;
    linear->blocks.lower = linear->store;
    linear->blocks.upper =
        linear->store + (size_t)linear->blocks.count * choice->block * choice->block;
    linear->lower = linear->store + (size_t)linear->n * (linear->below + linear->above + 1);
  } else if (linear->kind == NUM_LINEAR_BAND && choice->order) {
    memcpy((void*)linear->order, choice->order, linear->n * sizeof *choice->order);
    place_band(linear, p, linear->pivot, place, diagonal);
  } else if (linear->kind == NUM_LINEAR_DENSE) {
    place_dense(linear, p, place, diagonal);
  } else if (linear->kind == NUM_LINEAR_BORDER) {
    linear->border = choice->border;
    choice->border = NULL;
  } else {
    num_sparse_places(choice->sparse, p, place, diagonal);
    linear->sparse = choice->sparse;
    choice->sparse = NULL;
  }
  *out = linear;
  return SLT_OK;
}

SltStatus num_linear_create(const SltAllocator* allocator, const NumPattern* pattern,
                            NumLinear** out) {
  *out = NULL;
  SltAllocator a = base_allocator(allocator);
  NumPattern all = *pattern;  // here auxiliary unknowns are algebraic ones
  all.algebraic += all.auxiliary;
  size_t n = (size_t)all.states + all.algebraic;
  size_t order_size = base_mul_size(n ? n : 1, sizeof(uint32_t));
  Choice choice = {.order = base_alloc(&a, order_size)};
  if (!choice.order) {
    return SLT_ERR_NOMEM;
  }
  SltStatus status = choose(&a, &all, &choice);
  if (status >= 0) {
    status = make(&a, &all, &choice, out);
  }
  num_sparse_free(choice.sparse);
  num_border_free(choice.border);
  base_free(&a, choice.order, order_size);
  return status;
}

SltStatus num_linear_create_full(const SltAllocator* allocator, uint32_t states, NumLinear** out) {
  *out = NULL;
  SltAllocator a = base_allocator(allocator);
  size_t entries = base_mul_size(states, states);
  size_t bytes = base_mul_size(base_add_size(entries, (size_t)states + 1), sizeof(uint32_t));
  if (entries > UINT32_MAX) {
    return SLT_ERR_NOMEM;
  }
  uint32_t* begin = base_alloc(&a, bytes);
  if (!begin) {
    return SLT_ERR_NOMEM;
  }
  uint32_t* columns = begin + states + 1;
  for (uint32_t i = 0; i < states; i++) {
    begin[i + 1] = (i + 1) * states;
    for (uint32_t j = 0; j < states; j++) {
      columns[(size_t)i * states + j] = j;
    }
  }
  NumPattern pattern = {.states = states, .begin = begin, .columns = columns};
  Choice choice = {.kind = NUM_LINEAR_DENSE, .cost = dense_cost((double)states)};
  SltStatus status = make(&a, &pattern, &choice, out);
  base_free(&a, begin, bytes);
  return status;
}

void num_linear_free(NumLinear* linear) {
  if (!linear) {
    return;
  }
  SltAllocator a = linear->allocator;
  num_sparse_free(linear->sparse);
  num_border_free(linear->border);
  base_free(&a, linear, linear->block_size);
}

// ---- use ----------------------------------------------------------------------------------------

NumLinearRows* num_linear_rows(NumLinear* linear) {
  return &linear->rows;
}

NumLinearKind num_linear_kind(const NumLinear* linear) {
  return linear->kind;
}

void num_linear_band(const NumLinear* linear, uint32_t* below, uint32_t* above) {
  bool band = linear->kind == NUM_LINEAR_BAND || linear->kind == NUM_LINEAR_BLOCKS;
  *below = band ? linear->below : 0;
  *above = band ? linear->above : 0;
}

double num_linear_cost(const NumLinear* linear) {
  return linear->cost;
}

double* num_linear_values(NumLinear* linear) {
  return linear->values;
}

/// Two equations, the commonest stiff system: rows exchanged in place, reciprocals on the diagonal.
static SltStatus factor_two(NumLinear* linear) {
  double* a = linear->store;
  double top = num_max(num_abs(a[0]), num_abs(a[1]));
  double low = num_max(num_abs(a[2]), num_abs(a[3]));
  if (!num_finite(top) || !num_finite(low) || a[0] != a[0] || a[2] != a[2]) {
    return SLT_ERR_NOT_FINITE;
  }
  bool swap = num_abs(a[2]) * top > num_abs(a[0]) * low;
  linear->pivot[0] = swap;
  double p = swap ? a[2] : a[0];
  double q = swap ? a[3] : a[1];
  double factor = (swap ? a[0] : a[2]) / p;
  double rest = (swap ? a[1] : a[3]) - factor * q;
  if (!(num_abs(p) > PIVOT_MIN * (swap ? low : top)) ||
      !(num_abs(rest) > PIVOT_MIN * (swap ? top : low))) {
    return SLT_ERR_STRUCTURE;
  }
  a[0] = 1.0 / p;
  a[1] = q;
  a[2] = factor;
  a[3] = 1.0 / rest;
  return SLT_OK;
}

static inline void solve_two(const NumLinear* linear, double* b) {
  const double* a = linear->store;
  double first = linear->pivot[0] ? b[1] : b[0];
  double second = (linear->pivot[0] ? b[0] : b[1]) - a[2] * first;
  b[1] = second * a[3];
  b[0] = (first - a[1] * b[1]) * a[0];
}

static SltStatus factor_dense(NumLinear* linear) {
  const uint32_t n = linear->n;
  if (n == 2) {
    return factor_two(linear);
  }
  SLT_TRY(num_lu_factor(n, linear->store, PIVOT_MIN, linear->scratch, linear->pivot, NULL));
  for (uint32_t i = 0; i < n; i++) {
    double* diagonal = &linear->store[(size_t)i * n + i];
    *diagonal = 1.0 / *diagonal;
  }
  return SLT_OK;
}

static void solve_dense(const NumLinear* linear, double* b) {
  const uint32_t n = linear->n;
  double* restrict y = linear->scratch;
  for (uint32_t i = 0; i < n; i++) {
    const double* row = linear->store + (size_t)i * n;
    double sum = b[linear->pivot[i]];
    for (uint32_t j = 0; j < i; j++) {
      sum -= row[j] * y[j];
    }
    y[i] = sum;
  }
  for (uint32_t i = n; i-- > 0;) {
    const double* row = linear->store + (size_t)i * n;
    double sum = y[i];
    for (uint32_t j = i + 1; j < n; j++) {
      sum -= row[j] * b[j];
    }
    b[i] = sum * row[i];
  }
}

static SltStatus factor_band(NumLinear* linear) {
  return num_band_factor(linear->n, linear->below, linear->above, linear->store, linear->lower,
                         linear->pivot)
             ? SLT_OK
             : SLT_ERR_STRUCTURE;
}

/// Blocks along a line; where rows must be exchanged, the band that they make.
static SltStatus factor_blocks(NumLinear* linear, double c) {
  linear->pivoted = !num_blocks_factor(&linear->blocks, linear->values, c);
  if (!linear->pivoted) {
    return SLT_OK;
  }
  const size_t width = (size_t)linear->below + linear->above + 1;
  double* restrict store = linear->store;
  memset(store, 0, linear->n * width * sizeof *store);
  for (uint32_t i = 0; i < linear->n; i++) {
    double* row = store + linear->position[i] * width + linear->below;
    for (uint32_t k = linear->begin[i]; k < linear->begin[i + 1]; k++) {
      row[(ptrdiff_t)linear->position[linear->columns[k]] - (ptrdiff_t)linear->position[i]] =
          -linear->values[k];
    }
    row[0] += c;
  }
  return factor_band(linear);
}

SltStatus num_linear_factor(NumLinear* linear, double c) {
  if (linear->kind == NUM_LINEAR_BLOCKS) {
    return factor_blocks(linear, c);
  }
  if (linear->kind == NUM_LINEAR_BORDER) {
    return num_border_factor(linear->border, linear->values, c);
  }
  double* restrict store = linear->store;
  memset(store, 0, linear->store_count * sizeof *store);
  for (uint32_t k = 0; k < linear->entry_count; k++) {
    store[linear->place[k]] = -linear->values[k];
  }
  for (uint32_t i = 0; i < linear->rows.states; i++) {
    store[linear->diagonal[i]] += c;
  }
  if (linear->kind == NUM_LINEAR_DENSE) {
    return factor_dense(linear);
  }
  return linear->kind == NUM_LINEAR_SPARSE ? num_sparse_factor(linear->sparse, store)
                                           : factor_band(linear);
}

static void solve_band(NumLinear* linear, double* b) {
  double* restrict ordered = linear->scratch;
  for (uint32_t i = 0; i < linear->n; i++) {
    ordered[i] = b[linear->order[i]];
  }
  num_band_solve(linear->n, linear->below, linear->above, linear->store, linear->lower,
                 linear->pivot, ordered);
  for (uint32_t i = 0; i < linear->n; i++) {
    b[linear->order[i]] = ordered[i];
  }
}

static void solve_all(NumLinear* linear, double* b) {
  switch (linear->kind) {
  case NUM_LINEAR_DENSE:
    if (linear->n == 2) {
      solve_two(linear, b);
    } else {
      solve_dense(linear, b);
    }
    break;
  case NUM_LINEAR_SPARSE: num_sparse_solve(linear->sparse, b); break;
  case NUM_LINEAR_BAND: solve_band(linear, b); break;
  case NUM_LINEAR_BORDER: num_border_solve(linear->border, b); break;
  case NUM_LINEAR_BLOCKS:
    if (linear->pivoted) {
      solve_band(linear, b);
    } else {
      num_blocks_solve(&linear->blocks, b, NULL);
    }
    break;
  }
}

void num_linear_solve(NumLinear* linear, double* b) {
  const uint32_t seen = linear->rows.count;
  if (seen == linear->n) {
    solve_all(linear, b);
    return;
  }
  memcpy(linear->extended, b, seen * sizeof *b);
  memset(linear->extended + seen, 0, (linear->n - seen) * sizeof *b);
  solve_all(linear, linear->extended);
  memcpy(b, linear->extended, seen * sizeof *b);
}

void num_linear_solve_sum(NumLinear* linear, double* restrict b, const double* restrict add) {
  if (linear->kind == NUM_LINEAR_BLOCKS && !linear->pivoted) {
    num_blocks_solve(&linear->blocks, b, add);
    return;
  }
  for (uint32_t i = 0; i < linear->rows.count; i++) {
    b[i] += add[i];
  }
  num_linear_solve(linear, b);
}

void num_linear_fold(const NumLinear* linear, double* column) {
  const uint32_t seen = linear->rows.count;
  const uint32_t auxiliary = linear->n - seen;
  for (uint32_t k = 0; auxiliary && k < linear->n; k++) {
    uint32_t row = k < auxiliary ? seen + k : k - auxiliary;
    for (uint32_t e = linear->begin[row + 1]; e-- > linear->begin[row];) {
      uint32_t j = linear->columns[e];
      if (j < seen) {
        break;
      }
      column[row] += j == row ? 0.0 : linear->values[e] * column[j];
    }
  }
}

double num_linear_bound(const NumLinear* linear, const double* scale) {
  if (linear->n > linear->rows.states) {
    return HUGE_VAL;
  }
  double* column = linear->rows.out;
  double rows = 0.0;
  double columns = 0.0;
  for (uint32_t j = 0; j < linear->n; j++) {
    column[j] = 0.0;
  }
  for (uint32_t i = 0; i < linear->n; i++) {
    double sum = 0.0;
    for (uint32_t k = linear->begin[i]; k < linear->begin[i + 1]; k++) {
      uint32_t j = linear->columns[k];
      double size = num_abs(linear->values[k]) * (scale[i] > 0.0 ? scale[j] / scale[i] : 0.0);
      sum += size;
      column[j] += size;
    }
    rows = num_max(rows, sum);
  }
  for (uint32_t j = 0; j < linear->n; j++) {
    columns = num_max(columns, column[j]);
  }
  return num_min(rows, columns);
}

// ---- differences --------------------------------------------------------------------------------

#define SQRT_EPSILON 1.4901161193847656e-8

SltStatus num_linear_differences(NumLinear* linear, NumRhs* rhs, void* user, double t,
                                 const double* x, const double* f, const double* scale, double span,
                                 double* work, double* ft) {
  const uint32_t n = linear->n;
  double* moved = work;
  double* there = work + n;
  memcpy(moved, x, n * sizeof *x);
  for (uint32_t j = 0; j < n; j++) {
    // along the motion first, where the model is defined
    double size = SQRT_EPSILON * num_max(num_abs(x[j]), scale[j]);
    double step = f[j] < 0.0 ? -size : size;
    moved[j] = x[j] + step;
    SltStatus status = rhs(user, t, moved, there);
    if (status < 0) {
      moved[j] = x[j] - step;
      SLT_TRY(rhs(user, t, moved, there));
    }
    step = moved[j] - x[j];
    moved[j] = x[j];
    for (uint32_t i = 0; i < n; i++) {
      linear->values[(size_t)i * n + j] = step != 0.0 ? (there[i] - f[i]) / step : 0.0;
    }
  }
  double ahead = SQRT_EPSILON * num_max(num_abs(t), span);
  double later = t + ahead;
  if (rhs(user, later, x, there) < 0) {
    later = t - ahead;
    SLT_TRY(rhs(user, later, x, there));
  }
  for (uint32_t i = 0; i < n; i++) {
    ft[i] = (there[i] - f[i]) / (later - t);
  }
  return SLT_OK;
}

#define STEP_TURNS 3  // of Newton's method where a step is nearly linear

/// Give the states units in which they measure about one: powers of two, which change no digit.
static void rescale(NumLinear* linear, const double* unit, double* measure) {
  const uint32_t states = linear->rows.states;
  for (uint32_t i = 0; i < states; i++) {
    int exponent = 0;
    frexp(unit[i], &exponent);
    measure[i] = ldexp(1.0, exponent);
  }
  for (uint32_t i = 0; i < linear->n; i++) {
    double row = i < states ? measure[i] : 1.0;
    for (uint32_t k = linear->begin[i]; k < linear->begin[i + 1]; k++) {
      uint32_t j = linear->columns[k];
      linear->values[k] *= (j < states ? measure[j] : 1.0) / row;
    }
  }
}

SltStatus num_linear_step(NumLinear* linear, NumRhs* rhs, void* user, double t, double span,
                          const double* unit, double* x) {
  const uint32_t states = linear->rows.states;
  double* from = linear->rows.xu;
  double* move = linear->rows.out;
  double* measure = linear->rows.y;
  rescale(linear, unit, measure);
  SLT_TRY(num_linear_factor(linear, 1.0 / span));
  memcpy(from, x, states * sizeof *x);
  for (uint32_t turn = 0; turn < STEP_TURNS; turn++) {
    SLT_TRY(rhs(user, t, x, move));
    for (uint32_t i = 0; i < linear->rows.count; i++) {
      move[i] = i < states ? (move[i] - (x[i] - from[i]) / span) / measure[i] : 0.0;
    }
    num_linear_solve(linear, move);
    for (uint32_t i = 0; i < states; i++) {
      x[i] += measure[i] * move[i];
    }
  }
  return SLT_OK;
}

uint32_t num_linear_reach(const NumLinear* linear, uint32_t* list, uint32_t count, uint8_t* known) {
  for (uint32_t k = 0; k < count; k++) {
    for (uint32_t e = linear->begin[list[k]]; e < linear->begin[list[k] + 1]; e++) {
      uint32_t j = linear->columns[e];
      if (!known[j]) list[count++] = j;
      known[j] = 1;
    }
  }
  return count;
}
