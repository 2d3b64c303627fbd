// SPDX-License-Identifier: MIT
//
// Torn linear blocks as straight code.
//
// Every inner unknown is p + s z, linear in the torn unknowns z: p and s follow along the order of
// solution. The equations left over become a small system for z, which is eliminated without a
// choice of pivots; then the inner unknowns follow once more, from the values of z, so that each
// fulfils its own equation to rounding. What can go wrong is seen in numbers: a pivot that came out
// of a cancellation (each carries the size of what was added up in it), and equations left over
// that do not hold. Both are checked whenever the code runs.
#include "model/build_internal.h"

#define PIVOT_LEFT 1e-8   // of the size of its terms: below, pivots have lost too many digits
#define RESIDUAL   1e-13  // of the size of its terms

/// A value, and the size of what was added up in it: TAPE_NONE stands for its own size, and a value
/// of TAPE_NONE for 0.
typedef struct Amount {
  uint32_t value, size;
} Amount;

static const Amount nothing = {TAPE_NONE, TAPE_NONE};

static uint32_t op2(TapeGraph* graph, IrOp op, uint32_t a, uint32_t b) {
  return tape_op(graph, op, a, b, b);
}

static uint32_t op1(TapeGraph* graph, IrOp op, uint32_t a) {
  return tape_op(graph, op, a, a, a);
}

static bool is_number(const TapeGraph* graph, uint32_t value, double wanted) {
  double number = 0.0;
  return tape_is_const(graph, value, &number) && number == wanted;
}

static uint32_t size_of(TapeGraph* graph, Amount a) {
  return a.size == TAPE_NONE ? op1(graph, IR_ABS, a.value) : a.size;
}

/// a + b, or a - b.
static Amount sum(TapeGraph* graph, Amount a, Amount b, bool minus) {
  if (b.value == TAPE_NONE) return a;
  if (a.value == TAPE_NONE) {
    return (Amount){minus ? op1(graph, IR_NEG, b.value) : b.value, b.size};
  }
  return (Amount){op2(graph, minus ? IR_SUB : IR_ADD, a.value, b.value),
                  op2(graph, IR_ADD, size_of(graph, a), size_of(graph, b))};
}

/// x times the value a.
static Amount times(TapeGraph* graph, uint32_t a, Amount x) {
  if (x.value == TAPE_NONE) return nothing;
  Amount out = {op2(graph, IR_MUL, a, x.value), TAPE_NONE};
  if (x.size != TAPE_NONE) out.size = op2(graph, IR_MUL, op1(graph, IR_ABS, a), x.size);
  return out;
}

static Amount divided(TapeGraph* graph, Amount x, uint32_t a) {
  if (x.value == TAPE_NONE || is_number(graph, a, 1.0)) return x;
  if (is_number(graph, a, -1.0)) return (Amount){op1(graph, IR_NEG, x.value), x.size};
  Amount out = {op2(graph, IR_DIV, x.value, a), TAPE_NONE};
  if (x.size != TAPE_NONE) out.size = op2(graph, IR_DIV, x.size, op1(graph, IR_ABS, a));
  return out;
}

/// to := to + a x, with the sign of a number a drawn into the sum.
static void accumulate(TapeGraph* graph, Amount* to, uint32_t a, Amount x) {
  double number = 0.0;
  if (tape_is_const(graph, a, &number) && number < 0.0) {
    *to = sum(graph, *to, times(graph, tape_const(graph, -number), x), true);
  } else {
    *to = sum(graph, *to, times(graph, a, x), false);
  }
}

typedef struct Tear {
  TapeGraph* graph;
  const TearSystem* system;
  const uint32_t* row_begin;  // of the entries
  uint32_t inner, torn;
  Amount* at_zero;  // per unknown: p
  Amount* slopes;   // per unknown and torn one: s
  Amount* matrix;   // torn rows of torn columns...
  Amount* right;    // ...and what is added to them
  uint32_t trust;   // 1 as long as nothing speaks against it; TAPE_NONE: nothing checked yet
} Tear;

static void require(Tear* t, uint32_t condition) {
  t->trust = t->trust == TAPE_NONE ? condition : op2(t->graph, IR_AND, t->trust, condition);
}

/// sum of a(j) x(j) over a row without the unknown `without`; torn unknowns from `torn` (TAPE_NONE:
/// they are left out).
static Amount row_sum(const Tear* t, uint32_t row, uint32_t without, const Amount* values,
                      uint32_t stride) {
  Amount total = nothing;
  for (uint32_t k = t->row_begin[row]; k < t->row_begin[row + 1]; k++) {
    const ModelEntry* entry = &t->system->entries[k];
    if (entry->column == without) continue;
    accumulate(t->graph, &total, entry->reg, values[(size_t)entry->column * stride]);
  }
  return total;
}

static uint32_t coefficient(const Tear* t, uint32_t row, uint32_t column) {
  for (uint32_t k = t->row_begin[row]; k < t->row_begin[row + 1]; k++) {
    if (t->system->entries[k].column == column) return t->system->entries[k].reg;
  }
  return TAPE_NONE;
}

static Amount rest_of(const Tear* t, uint32_t row) {
  return (Amount){t->system->rests[row], TAPE_NONE};
}

/// -(rest + total) / pivot, with the sign where it costs nothing.
static Amount solved(const Tear* t, Amount rest, Amount total, uint32_t pivot) {
  if (is_number(t->graph, pivot, -1.0)) return sum(t->graph, rest, total, false);
  Amount minus = sum(t->graph, sum(t->graph, nothing, total, true), rest, true);
  if (rest.value == TAPE_NONE && total.value == TAPE_NONE) return nothing;
  return divided(t->graph, minus, pivot);
}

/// p and s of the inner unknowns.
static void express_inner(const Tear* t) {
  const TearSystem* s = t->system;
  for (uint32_t k = 0; k < t->inner; k++) {
    uint32_t row = s->rows[k];
    uint32_t column = s->columns[k];
    uint32_t pivot = coefficient(t, row, column);
    t->at_zero[column] = solved(t, rest_of(t, row), row_sum(t, row, column, t->at_zero, 1), pivot);
    for (uint32_t z = 0; z < t->torn; z++) {
      Amount total = row_sum(t, row, column, t->slopes + z, t->torn);
      t->slopes[(size_t)column * t->torn + z] = solved(t, nothing, total, pivot);
    }
  }
}

static void small_system(const Tear* t) {
  for (uint32_t r = 0; r < t->torn; r++) {
    uint32_t row = t->system->rows[t->inner + r];
    t->right[r] = sum(t->graph, rest_of(t, row), row_sum(t, row, TAPE_NONE, t->at_zero, 1), false);
    for (uint32_t z = 0; z < t->torn; z++) {
      t->matrix[(size_t)r * t->torn + z] = row_sum(t, row, TAPE_NONE, t->slopes + z, t->torn);
    }
  }
}

/// A row with something in column k to eliminate it with, numbers first; TAPE_NONE for none.
static uint32_t pivot_row(const Tear* t, uint32_t k) {
  uint32_t found = TAPE_NONE;
  for (uint32_t r = k; r < t->torn; r++) {
    Amount a = t->matrix[(size_t)r * t->torn + k];
    double number = 0.0;
    if (a.value == TAPE_NONE) continue;
    if (tape_is_const(t->graph, a.value, &number)) {
      if (number != 0.0) return r;
      continue;
    }
    if (found == TAPE_NONE) found = r;
  }
  return found;
}

static void swap_rows(const Tear* t, uint32_t a, uint32_t b) {
  for (uint32_t z = 0; z < t->torn && a != b; z++) {
    Amount swap = t->matrix[(size_t)a * t->torn + z];
    t->matrix[(size_t)a * t->torn + z] = t->matrix[(size_t)b * t->torn + z];
    t->matrix[(size_t)b * t->torn + z] = swap;
  }
  Amount swap = t->right[a];
  t->right[a] = t->right[b];
  t->right[b] = swap;
}

/// Values of the torn unknowns, in the order of their numbers.
static bool eliminate(Tear* t, Amount* z) {
  TapeGraph* graph = t->graph;
  for (uint32_t k = 0; k < t->torn; k++) {
    uint32_t row = pivot_row(t, k);
    if (row == TAPE_NONE) return false;
    swap_rows(t, k, row);
    Amount* pivots = t->matrix + (size_t)k * t->torn;
    Amount pivot = pivots[k];
    if (pivot.size != TAPE_NONE) {
      uint32_t least = op2(graph, IR_MUL, pivot.size, tape_const(graph, PIVOT_LEFT));
      require(t, op2(graph, IR_GT, op1(graph, IR_ABS, pivot.value), least));
    }
    for (uint32_t r = k + 1; r < t->torn; r++) {
      Amount* entries = t->matrix + (size_t)r * t->torn;
      if (entries[k].value == TAPE_NONE) continue;
      uint32_t factor = divided(graph, entries[k], pivot.value).value;
      for (uint32_t j = k + 1; j < t->torn; j++) {
        entries[j] = sum(graph, entries[j], times(graph, factor, pivots[j]), true);
      }
      t->right[r] = sum(graph, t->right[r], times(graph, factor, t->right[k]), true);
    }
  }
  for (uint32_t k = t->torn; k-- > 0;) {
    const Amount* entries = t->matrix + (size_t)k * t->torn;
    Amount total = nothing;
    for (uint32_t j = k + 1; j < t->torn; j++) {
      if (entries[j].value == TAPE_NONE) continue;
      total = sum(graph, total, times(graph, entries[j].value, z[j]), false);
    }
    Amount value = solved(t, t->right[k], total, entries[k].value);
    z[k] = (Amount){value.value, TAPE_NONE};
  }
  return true;
}

/// The inner unknowns from the values of the torn ones.
static void insert_inner(const Tear* t, Amount* values) {
  for (uint32_t k = 0; k < t->inner; k++) {
    uint32_t row = t->system->rows[k];
    uint32_t column = t->system->columns[k];
    Amount value =
        solved(t, rest_of(t, row), row_sum(t, row, column, values, 1), coefficient(t, row, column));
    values[column] = (Amount){value.value, TAPE_NONE};
  }
}

/// The equations left over hold.
static void verify(Tear* t, const Amount* values) {
  TapeGraph* graph = t->graph;
  for (uint32_t r = 0; r < t->torn; r++) {
    uint32_t row = t->system->rows[t->inner + r];
    Amount residual = sum(graph, rest_of(t, row), row_sum(t, row, TAPE_NONE, values, 1), false);
    if (residual.value == TAPE_NONE) continue;
    uint32_t most = op2(graph, IR_MUL, size_of(graph, residual), tape_const(graph, RESIDUAL));
    require(t, op2(graph, IR_LE, op1(graph, IR_ABS, residual.value), most));
  }
}

bool tear_linear(TapeGraph* graph, const TearSystem* system, uint32_t* unknowns, uint32_t* accept) {
  Arena* arena = graph->arena;
  uint32_t n = system->count;
  Tear t = {.graph = graph,
            .system = system,
            .torn = system->torn_count,
            .inner = n - system->torn_count,
            .trust = TAPE_NONE};
  uint32_t* begin = ARENA_ARRAY(arena, uint32_t, (size_t)n + 1);
  for (uint32_t k = 0; k < system->entry_count; k++) {
    begin[system->entries[k].row + 1] = k + 1;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (begin[i + 1] < begin[i]) begin[i + 1] = begin[i];
  }
  t.row_begin = begin;
  t.at_zero = ARENA_ARRAY(arena, Amount, n);
  t.slopes = ARENA_ARRAY(arena, Amount, (size_t)n * t.torn);
  t.matrix = ARENA_ARRAY(arena, Amount, (size_t)t.torn * t.torn);
  t.right = ARENA_ARRAY(arena, Amount, t.torn);
  Amount* values = ARENA_ARRAY(arena, Amount, n);
  Amount* z = ARENA_ARRAY(arena, Amount, t.torn);
  for (uint32_t k = 0; k < n; k++) {
    t.at_zero[k] = nothing;
    for (uint32_t j = 0; j < t.torn; j++) {
      t.slopes[(size_t)k * t.torn + j] = nothing;
    }
  }
  for (uint32_t j = 0; j < t.torn; j++) {
    uint32_t column = system->columns[t.inner + j];
    t.slopes[(size_t)column * t.torn + j] = (Amount){tape_const(graph, 1.0), TAPE_NONE};
  }
  express_inner(&t);
  small_system(&t);
  if (!eliminate(&t, z)) return false;
  for (uint32_t j = 0; j < t.torn; j++) {
    values[system->columns[t.inner + j]] = z[j];
  }
  insert_inner(&t, values);
  verify(&t, values);
  for (uint32_t i = 0; i < n; i++) {
    unknowns[i] = values[i].value == TAPE_NONE ? tape_const(graph, 0.0) : values[i].value;
  }
  if (t.trust == TAPE_NONE) return false;
  *accept = t.trust;
  return true;
}
