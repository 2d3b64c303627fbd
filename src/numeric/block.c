// SPDX-License-Identifier: MIT
//
// Systems of small blocks along a line: each block of unknowns meets itself and its neighbours.
//
// Elimination runs from both ends towards the middle at once (twisted factorisation): each end
// waits for its own last result only, so the two hide each other's latency. A block keeps three
// matrices:
//
//   lower   L = A P    y = b - L y(block before)             on the way to the middle
//   pivot   P = 1 / (D - A W(block before))
//   next    W = P U    x = P y - W x(block towards the middle)      on the way back
//
// A couples to the block before, U to that towards the middle. Rows are not exchanged. That is
// right where the diagonal dominates, as that of c - J does for short steps; what else there is
// shows in numbers that grow, or in a block that is nearly singular, and the caller eliminates with
// pivoting.
#include "numeric/linear.h"

#if defined(__GNUC__)
#define BLOCK_INLINE static inline __attribute__((always_inline))
#else
#define BLOCK_INLINE static inline
#endif

#define GROWTH_MAX 100.0  // digits that elimination may cost: terms beside the entries of their row
#define LOST_MAX   1e-5   // ... and what may be left of a pivot inside a block

#define AREA(b) ((size_t)(b) * (b))

// ---- factors ------------------------------------------------------------------------------------

/// out = p q, all b x b.
BLOCK_INLINE void multiply(uint32_t b, const double* p, const double* q, double* out) {
  for (uint32_t r = 0; r < b; r++) {
    for (uint32_t k = 0; k < b; k++) {
      double sum = p[(size_t)r * b] * q[k];
      for (uint32_t m = 1; m < b; m++) {
        sum += p[r * b + m] * q[m * b + k];
      }
      out[r * b + k] = sum;
    }
  }
}

/// One step of Gauss and Jordan in place; `size` and `largest` tell what a pivot was made of and
/// what stood in its row.
BLOCK_INLINE bool eliminate(uint32_t b, uint32_t k, double* d, double* size,
                            const double* largest) {
  double* pivot = d + (size_t)k * b;
  bool fine = num_abs(pivot[k]) > LOST_MAX * size[k];
  double reciprocal = 1.0 / pivot[k];
  pivot[k] = 1.0;
  for (uint32_t j = 0; j < b; j++) {
    pivot[j] *= reciprocal;
  }
  for (uint32_t r = 0; r < b; r++) {
    double* row = d + (size_t)r * b;
    double factor = r == k ? 0.0 : row[k];
    row[k] = r == k ? row[k] : 0.0;
    for (uint32_t j = 0; j < b; j++) {
      double term = factor * pivot[j];
      // the part right of the pivot and below is what is still to be eliminated
      bool open = r > k && j > k;
      fine = fine && !(open && num_abs(term) > GROWTH_MAX * largest[r]);
      size[r] += open && j == r ? num_abs(term) : 0.0;
      row[j] -= term;
    }
  }
  return fine;
}

/// d becomes its inverse. False when it is singular or close to it.
BLOCK_INLINE bool invert(uint32_t b, double* d) {
  if (b == 1) {
    bool fine = d[0] != 0.0;
    d[0] = 1.0 / d[0];
    return fine;
  }
  if (b == 2) {
    double main = d[0] * d[3];
    double other = d[1] * d[2];
    double determinant = main - other;
    bool fine = num_abs(determinant) > LOST_MAX * (num_abs(main) + num_abs(other));
    double reciprocal = 1.0 / determinant;
    double keep = d[0];
    d[0] = d[3] * reciprocal;
    d[1] = -d[1] * reciprocal;
    d[2] = -d[2] * reciprocal;
    d[3] = keep * reciprocal;
    return fine;
  }
  double size[4];
  double largest[4];
  bool fine = true;
  for (uint32_t r = 0; r < b; r++) {
    size[r] = num_abs(d[r * b + r]);
    largest[r] = 0.0;
    for (uint32_t k = 0; k < b; k++) {
      largest[r] = num_max(largest[r], num_abs(d[r * b + k]));
    }
  }
  for (uint32_t k = 0; k < b; k++) {
    fine = eliminate(b, k, d, size, largest) && fine;
  }
  return fine;
}

typedef struct Entries {
  const uint32_t* source;  // three matrices per block: places of their entries in `values`
  const double* values;
  double c;
} Entries;

/// The three matrices of block i as they stand in c - J.
BLOCK_INLINE void load(uint32_t b, const Entries* e, uint32_t i, double* before, double* d,
                       double* next) {
  const uint32_t* source = e->source + 3 * AREA(b) * i;
  for (uint32_t k = 0; k < b * b; k++) {
    before[k] = -e->values[source[k]];
    d[k] = -e->values[source[b * b + k]];
    next[k] = -e->values[source[2 * b * b + k]];
  }
  for (uint32_t r = 0; r < b; r++) {
    d[r * b + r] += e->c;
  }
}

/// d -= before * w; false when the terms are large beside the entries of the row.
BLOCK_INLINE bool reduce(uint32_t b, const double* before, const double* w, const double* next,
                         double* d) {
  bool fine = true;
  double term[16];
  multiply(b, before, w, term);
  for (uint32_t r = 0; r < b; r++) {
    double largest = 0.0;
    double grown = 0.0;
    for (uint32_t k = 0; k < b; k++) {
      largest = num_max(largest, num_max(num_abs(d[r * b + k]), num_abs(next[r * b + k])));
      largest = num_max(largest, num_abs(before[r * b + k]));
      grown = num_max(grown, num_abs(term[r * b + k]));
      d[r * b + k] -= term[r * b + k];
    }
    fine = fine && grown <= GROWTH_MAX * largest;
  }
  return fine;
}

#define NO_BLOCK UINT32_MAX

/// Block i from block `last`, towards the middle; at an end there is none before.
BLOCK_INLINE bool factor_block(uint32_t b, const NumBlocks* f, const Entries* e, uint32_t i,
                               uint32_t last) {
  const size_t area = AREA(b);
  double before[16];
  double d[16];
  double next[16];
  bool fine = true;
  load(b, e, i, before, d, next);
  if (last != NO_BLOCK) {
    const double* pivot = f->upper + 2 * area * last;
    multiply(b, before, pivot, f->lower + area * i);
    fine = reduce(b, before, pivot + area, next, d);
  } else {
    for (uint32_t k = 0; k < b * b; k++) {
      f->lower[area * i + k] = 0.0;
    }
  }
  fine = invert(b, d) && fine;
  double* out = f->upper + 2 * area * i;
  for (uint32_t k = 0; k < b * b; k++) {
    out[k] = d[k];
  }
  multiply(b, d, next, out + area);
  return fine;
}

/// The middle one has neighbours on both sides and nothing behind it; where there is no second
/// neighbour (a single block, two blocks), its entries are 0.
BLOCK_INLINE bool factor_middle(uint32_t b, const NumBlocks* f, const Entries* e) {
  const size_t area = AREA(b);
  const uint32_t m = f->middle;
  double sides[2][16];
  double d[16];
  load(b, e, m, sides[0], d, sides[1]);
  double* out = f->upper + 2 * area * m;
  bool fine = true;
  for (uint32_t side = 0; side < 2; side++) {
    if (side ? m + 1 == f->count : m == 0) {
      continue;
    }
    const double* pivot = f->upper + 2 * area * (side ? m + 1 : m - 1);
    multiply(b, sides[side], pivot, side ? out + area : f->lower + area * m);
    fine = reduce(b, sides[side], pivot + area, sides[1 - side], d) && fine;
  }
  fine = invert(b, d) && fine;
  double total = 0.0;
  for (uint32_t k = 0; k < b * b; k++) {
    out[k] = d[k];
    total += d[k];
  }
  // a number that is none, or too large, passes through to here
  return fine && num_finite(total);
}

// One function per size: there the loops over a block are unrolled.
typedef bool FactorBlock(const NumBlocks* f, const Entries* e, uint32_t i, uint32_t last);
typedef bool FactorMiddle(const NumBlocks* f, const Entries* e);

#define FACTOR(b) \
  static bool factor_block_##b(const NumBlocks* f, const Entries* e, uint32_t i, uint32_t last) { \
    return factor_block(b, f, e, i, last); \
  } \
  static bool factor_middle_##b(const NumBlocks* f, const Entries* e) { \
    return factor_middle(b, f, e); \
  }
FACTOR(1)
FACTOR(2)
FACTOR(3)
FACTOR(4)

static FactorBlock* const factor_blocks[] = {factor_block_1, factor_block_2, factor_block_3,
                                             factor_block_4};
static FactorMiddle* const factor_middles[] = {factor_middle_1, factor_middle_2, factor_middle_3,
                                               factor_middle_4};

bool num_blocks_factor(const NumBlocks* f, const double* values, double c) {
  const Entries e = {.source = f->source, .values = values, .c = c};
  const uint32_t m = f->middle;
  const uint32_t end = f->count - 1;
  FactorBlock* block = factor_blocks[f->size - 1];
  bool fine = true;
  // the left side has as many blocks as the right one, or one more; both go on side by side
  for (uint32_t j = 0; j < m; j++) {
    fine = block(f, &e, j, j ? j - 1 : NO_BLOCK) && fine;
    if (j < end - m) {
      fine = block(f, &e, end - j, j ? end - j + 1 : NO_BLOCK) && fine;
    }
  }
  return factor_middles[f->size - 1](f, &e) && fine;
}

// ---- solution -----------------------------------------------------------------------------------

/// Right-hand side of block i: b + add where there is an `add`. Places beyond the unknowns are 0.
BLOCK_INLINE void gather(uint32_t b, const NumBlocks* f, const double* x, const double* add,
                         uint32_t i, bool edge, double* out) {
  for (uint32_t r = 0; r < b; r++) {
    uint32_t at = f->order[(size_t)i * b + r];
    if (edge && at == UINT32_MAX) {
      out[r] = 0.0;
    } else {
      out[r] = add ? x[at] + add[at] : x[at];
    }
  }
}

BLOCK_INLINE void scatter(uint32_t b, const NumBlocks* f, double* x, uint32_t i, bool edge,
                          const double* value) {
  for (uint32_t r = 0; r < b; r++) {
    uint32_t at = f->order[(size_t)i * b + r];
    if (!edge || at != UINT32_MAX) {
      x[at] = value[r];
    }
  }
}

/// y -= matrix * v. Sums end with what was found last in `v`.
BLOCK_INLINE void subtract(uint32_t b, const double* matrix, const double* v, double* y) {
  double sum[4];
  for (uint32_t r = 0; r < b; r++) {
    sum[r] = matrix[(size_t)r * b] * v[0];
    for (uint32_t k = 1; k < b; k++) {
      sum[r] += matrix[r * b + k] * v[k];
    }
  }
  for (uint32_t r = 0; r < b; r++) {
    y[r] -= sum[r];
  }
}

BLOCK_INLINE void apply(uint32_t b, const double* matrix, const double* v, double* out) {
  for (uint32_t r = 0; r < b; r++) {
    double sum = matrix[(size_t)r * b] * v[0];
    for (uint32_t k = 1; k < b; k++) {
      sum += matrix[r * b + k] * v[k];
    }
    out[r] = sum;
  }
}

/// y of block i, `v` being that of the block before; it takes its place.
BLOCK_INLINE void forward(uint32_t b, const NumBlocks* f, const double* x, const double* add,
                          uint32_t i, bool edge, double* v) {
  double y[4];
  gather(b, f, x, add, i, edge, y);
  subtract(b, f->lower + AREA(b) * i, v, y);
  for (uint32_t r = 0; r < b; r++) {
    v[r] = y[r];
    f->y[(size_t)i * b + r] = y[r];
  }
}

/// Solution of block i, `v` being that of the block towards the middle; it takes its place.
BLOCK_INLINE void backward(uint32_t b, const NumBlocks* f, double* x, uint32_t i, bool edge,
                           double* v) {
  const double* upper = f->upper + 2 * AREA(b) * i;
  double value[4];
  apply(b, upper, f->y + (size_t)i * b, value);
  subtract(b, upper + AREA(b), v, value);
  for (uint32_t r = 0; r < b; r++) {
    v[r] = value[r];
  }
  scatter(b, f, x, i, edge, value);
}

BLOCK_INLINE void solve_any(uint32_t b, const NumBlocks* f, double* restrict x,
                            const double* restrict add) {
  const uint32_t m = f->middle;
  const uint32_t end = f->count - 1;
  double left[4] = {0.0, 0.0, 0.0, 0.0};
  double right[4] = {0.0, 0.0, 0.0, 0.0};
  double middle[4];
  double y[4];
  // at the ends `lower` is 0, and so are the values before
  if (m > 0) {
    forward(b, f, x, add, 0, true, left);
  }
  if (m < end) {
    forward(b, f, x, add, end, true, right);
  }
  for (uint32_t j = 1; j < end - m; j++) {
    forward(b, f, x, add, j, false, left);
    forward(b, f, x, add, end - j, false, right);
  }
  if (m > end - m && m > 1) {
    forward(b, f, x, add, m - 1, false, left);
  }
  gather(b, f, x, add, m, true, y);
  if (m > 0) {
    subtract(b, f->lower + AREA(b) * m, left, y);
  }
  if (m < end) {
    subtract(b, f->upper + 2 * AREA(b) * m + AREA(b), right, y);
  }
  apply(b, f->upper + 2 * AREA(b) * m, y, middle);
  scatter(b, f, x, m, true, middle);
  for (uint32_t r = 0; r < b; r++) {
    left[r] = middle[r];
    right[r] = middle[r];
  }
  if (m > end - m && m > 1) {
    backward(b, f, x, m - 1, false, left);
  }
  for (uint32_t j = end - m; j-- > 1;) {
    backward(b, f, x, j, false, left);
    backward(b, f, x, end - j, false, right);
  }
  if (m > 0) {
    backward(b, f, x, 0, true, left);
  }
  if (m < end) {
    backward(b, f, x, end, true, right);
  }
}

void num_blocks_solve(const NumBlocks* f, double* b, const double* add) {
  switch (f->size) {
  case 1: solve_any(1, f, b, add); break;
  case 2: solve_any(2, f, b, add); break;
  case 3: solve_any(3, f, b, add); break;
  default: solve_any(4, f, b, add); break;
  }
}
