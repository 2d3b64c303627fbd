// SPDX-License-Identifier: MIT
//
// Partial derivatives of one value of a graph with respect to states and time, in reverse: each
// value that the output depends on hands its adjoint on to its operands. The cost is that of the
// output's own slice, whatever the number of states, and what equations have in common is computed
// once, since the adjoints are values of the same graph.
#include "model/build_internal.h"

#include <stdlib.h>
#include <string.h>

void tape_slopes_init(TapeSlopes* slopes, Arena* arena, uint32_t state_count) {
  *slopes = (TapeSlopes){.arena = arena};
  base_vec_reserve(arena, &slopes->column, state_count);
  if (state_count) memset(slopes->column.data, 0, state_count * sizeof *slopes->column.data);
  slopes->column.count = state_count;
}

// ---- the values still to be looked at, newest first ---------------------------------------------

static void push(TapeSlopes* s, uint32_t value) {
  base_vec_push(s->arena, &s->heap, value);
  uint32_t* heap = s->heap.data;
  uint32_t at = s->heap.count - 1;
  while (at > 0 && heap[(at - 1) / 2] < value) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = value;
}

static uint32_t pop(TapeSlopes* s) {
  uint32_t* heap = s->heap.data;
  uint32_t top = heap[0];
  uint32_t value = heap[--s->heap.count];
  uint32_t count = s->heap.count;
  uint32_t at = 0;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count && heap[child + 1] > heap[child]) child++;
    if (heap[child] <= value) break;
    heap[at] = heap[child];
    at = child;
  }
  if (count) heap[at] = value;
  return top;
}

// ---- rules --------------------------------------------------------------------------------------

typedef struct Rule {
  TapeSlopes* slopes;
  TapeGraph* graph;
  TapeValue value;
  uint32_t self;     // the value itself
  uint32_t adjoint;  // its adjoint
} Rule;

static uint32_t two(const Rule* r, IrOp op, uint32_t a, uint32_t b) {
  return tape_op(r->graph, op, a, b, 0);
}

static uint32_t one(const Rule* r, IrOp op, uint32_t a) {
  return tape_op(r->graph, op, a, 0, 0);
}

static uint32_t number(const Rule* r, double value) {
  return tape_const(r->graph, value);
}

static bool is_number(const TapeGraph* graph, uint32_t value) {
  return graph->values.data[value].op == TAPE_CONST;
}

/// Add to the adjoint of an operand; leaves that stand still have none.
static void give(const Rule* r, uint32_t operand, uint32_t slope) {
  uint32_t op = r->graph->values.data[operand].op;
  if (op == TAPE_CONST || op == TAPE_INPUT) return;
  uint32_t* place = &r->slopes->adjoint.data[operand];
  if (*place) {
    *place = two(r, IR_ADD, *place - 1, slope) + 1;
    return;
  }
  *place = slope + 1;
  push(r->slopes, operand);
}

static void give_scaled(const Rule* r, uint32_t operand, uint32_t factor) {
  give(r, operand, two(r, IR_MUL, factor, r->adjoint));
}

static void give_over(const Rule* r, uint32_t operand, uint32_t divisor) {
  give(r, operand, two(r, IR_DIV, r->adjoint, divisor));
}

/// The adjoint goes to the branch in force.
static void give_choice(const Rule* r, uint32_t condition, uint32_t a, uint32_t b) {
  uint32_t zero = number(r, 0.0);
  give(r, a, tape_op(r->graph, IR_SELECT, condition, r->adjoint, zero));
  give(r, b, tape_op(r->graph, IR_SELECT, condition, zero, r->adjoint));
}

static uint32_t square(const Rule* r, uint32_t a) {
  return two(r, IR_MUL, a, a);
}

static void derive_power(const Rule* r) {
  uint32_t a = r->value.a;
  uint32_t b = r->value.b;
  uint32_t lower = two(r, IR_POW, a, two(r, IR_SUB, b, number(r, 1.0)));
  give_scaled(r, a, two(r, IR_MUL, b, lower));
  if (is_number(r->graph, b) || r->graph->values.data[b].op == TAPE_INPUT) return;
  give_scaled(r, b, two(r, IR_MUL, r->self, one(r, IR_LN, a)));
}

static void derive_two(const Rule* r) {
  uint32_t a = r->value.a;
  uint32_t b = r->value.b;
  switch (r->value.op) {
  case MODEL_OP_ADD:
    give(r, a, r->adjoint);
    give(r, b, r->adjoint);
    break;
  case MODEL_OP_SUB:
    give(r, a, r->adjoint);
    give(r, b, one(r, IR_NEG, r->adjoint));
    break;
  case MODEL_OP_MUL:
    give_scaled(r, a, b);
    give_scaled(r, b, a);
    break;
  case MODEL_OP_DIV:
    give_over(r, a, b);
    give(r, b, one(r, IR_NEG, two(r, IR_MUL, r->self, two(r, IR_DIV, r->adjoint, b))));
    break;
  case MODEL_OP_POW: derive_power(r); break;
  case MODEL_OP_ATAN2: {
    uint32_t length = two(r, IR_ADD, square(r, a), square(r, b));
    give_scaled(r, a, two(r, IR_DIV, b, length));
    give_scaled(r, b, one(r, IR_NEG, two(r, IR_DIV, a, length)));
    break;
  }
  case MODEL_OP_POLYGAMMA:
    give_scaled(r, b, two(r, IR_POLYGAMMA, two(r, IR_ADD, a, number(r, 1.0)), b));
    break;
  case MODEL_OP_MIN: give_choice(r, two(r, IR_LT, a, b), a, b); break;
  case MODEL_OP_MAX: give_choice(r, two(r, IR_GT, a, b), a, b); break;
  case MODEL_OP_MOD:
    give(r, a, r->adjoint);
    give_scaled(r, b, one(r, IR_NEG, one(r, IR_FLOOR, two(r, IR_DIV, a, b))));
    break;
  default: break;  // truth values and random numbers have no slope
  }
}

/// A foreign function: its derivative by each argument, where that is not fixed.
static void derive_foreign(const Rule* r) {
  const uint32_t last = r->value.a;
  uint32_t count = 0;
  if (r->value.op != MODEL_OP_TABLE) return;
  for (uint32_t at = last; r->graph->values.data[at].op == MODEL_OP_PACK;
       at = r->graph->values.data[at].a) {
    count++;
  }
  for (uint32_t at = last, k = count; k-- > 0; at = r->graph->values.data[at].a) {
    uint32_t argument = r->graph->values.data[at].b;
    if (is_number(r->graph, argument) || r->graph->values.data[argument].op == TAPE_INPUT) continue;
    uint32_t by = two(r, IR_PACK, last, number(r, (double)k));
    give_scaled(r, argument, tape_table(r->graph, 1u << 30 | r->value.b, by));
  }
}

static void derive_table(const Rule* r) {
  if (r->graph->values.data[r->value.a].op == MODEL_OP_PACK) {
    derive_foreign(r);
    return;
  }
  if (r->value.op == MODEL_OP_TABLE_CURVE) return;
  uint32_t order = r->value.op == MODEL_OP_TABLE ? 1 : 2;
  give_scaled(r, r->value.a, tape_table(r->graph, order << 30 | r->value.b, r->value.a));
}

#define ARG             a
#define SELF            self
#define NUM(x)          number(r, x)
#define ADD(x, y)       two(r, IR_ADD, x, y)
#define SUB(x, y)       two(r, IR_SUB, x, y)
#define MUL(x, y)       two(r, IR_MUL, x, y)
#define NEG(x)          one(r, IR_NEG, x)
#define SQUARE(x)       square(r, x)
#define CALL(name, x)   one(r, IR_##name, x)
#define POLYGAMMA(n, x) two(r, IR_POLYGAMMA, n, x)
#define FACTOR(x)       give_scaled(r, a, x)
#define DIVISOR(x)      give_over(r, a, x)

static void derive_one(const Rule* r) {
  uint32_t a = r->value.a;
  uint32_t self = r->self;
  switch (r->value.op) {
  case MODEL_OP_MOVE: give(r, a, r->adjoint); break;
  case MODEL_OP_NEG: give(r, a, one(r, IR_NEG, r->adjoint)); break;
  case MODEL_OP_SQUARE: give_scaled(r, a, two(r, IR_MUL, number(r, 2.0), a)); break;
  case MODEL_OP_RECIP: give_scaled(r, a, one(r, IR_NEG, square(r, self))); break;
#define CASE(X, name, word, call, lo, hi, enclosure, slope) \
  case MODEL_OP_##name: slope; break;
    BASE_FUNCTIONS(CASE, )
#undef CASE
  case MODEL_OP_SQRT: give_over(r, a, two(r, IR_MUL, number(r, 2.0), self)); break;
  case MODEL_OP_ABS: give_scaled(r, a, one(r, IR_SIGN, a)); break;
  case MODEL_OP_TABLE:
  case MODEL_OP_TABLE_SLOPE:
  case MODEL_OP_TABLE_CURVE: derive_table(r); break;
  default: break;  // sign, floor and ceil stand still
  }
}

static void derive(const Rule* r) {
  if (r->value.op == MODEL_OP_SELECT) {
    give_choice(r, r->value.a, r->value.b, r->value.c);
  } else if (model_op_operands(r->value.op) == 2) {
    derive_two(r);
  } else if (model_op_operands(r->value.op) == 1) {
    derive_one(r);
  }
}

// ---- one output ---------------------------------------------------------------------------------

static int by_column(const void* a, const void* b) {
  uint32_t p = ((const TapeSlope*)a)->column;
  uint32_t q = ((const TapeSlope*)b)->column;
  return p < q ? -1 : p > q;
}

static void note(TapeSlopes* s, TapeGraph* graph, uint32_t column, uint32_t value) {
  uint32_t* known = &s->column.data[column];
  if (*known) {
    *known = tape_op(graph, IR_ADD, *known - 1, value, 0) + 1;
    return;
  }
  *known = value + 1;
  TapeSlope slope = {.column = column};
  base_vec_push(s->arena, &s->found, slope);
}

static bool is_zero(const TapeGraph* graph, uint32_t value) {
  const TapeValue* v = &graph->values.data[value];
  return v->op == TAPE_CONST && v->a == 0 && (v->b & 0x7fffffffu) == 0;
}

/// Values of the columns found, without those that vanish, by column.
static void collect(TapeSlopes* s, const TapeGraph* graph) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < s->found.count; i++) {
    TapeSlope slope = s->found.data[i];
    if (slope.column != TAPE_TIME_COLUMN) {
      slope.value = s->column.data[slope.column] - 1;
      s->column.data[slope.column] = 0;
    }
    if (!is_zero(graph, slope.value)) s->found.data[kept++] = slope;
  }
  s->found.count = kept;
  if (kept > 1) qsort(s->found.data, kept, sizeof *s->found.data, by_column);
}

void tape_slopes(TapeSlopes* s, TapeGraph* graph, uint32_t value) {
  s->found.count = 0;
  if (s->adjoint.count <= value) {
    // nothing behind the value has an adjoint
    uint32_t room = value + 1 - s->adjoint.count;
    base_vec_reserve(s->arena, &s->adjoint, room);
    memset(s->adjoint.data + s->adjoint.count, 0, room * sizeof *s->adjoint.data);
    s->adjoint.count = value + 1;
  }
  Rule rule = {.slopes = s, .graph = graph};
  give(&rule, value, tape_const(graph, 1.0));
  while (s->heap.count) {
    rule.self = pop(s);
    rule.value = graph->values.data[rule.self];
    rule.adjoint = s->adjoint.data[rule.self] - 1;
    s->adjoint.data[rule.self] = 0;
    s->visited++;
    uint32_t unknown = rule.self < s->cut_count && rule.self != value ? s->cut[rule.self] : 0;
    if (unknown) {
      note(s, graph, unknown - 1, rule.adjoint);
    } else if (rule.value.op == TAPE_STATE) {
      note(s, graph, rule.value.a, rule.adjoint);
    } else if (rule.value.op == TAPE_TIME) {
      TapeSlope slope = {.column = TAPE_TIME_COLUMN, .value = rule.adjoint};
      base_vec_push(s->arena, &s->found, slope);
    } else if (rule.value.op < MODEL_OP_COUNT) {
      derive(&rule);
    }
  }
  collect(s, graph);
}

// ---- wide values --------------------------------------------------------------------------------

#define WIDE 32  // states that a wide value reads, and values that read it, at least

/// Operands of a value that slopes are handed on to; returns their number.
static uint32_t operands_of(const TapeValue* value, uint32_t out[2]) {
  bool choice = value->op == MODEL_OP_SELECT;
  bool table = value->op == MODEL_OP_TABLE || value->op == MODEL_OP_TABLE_SLOPE;
  out[0] = choice ? value->b : value->a;
  out[1] = choice ? value->c : value->b;
  if (value->op >= MODEL_OP_COUNT) return 0;
  if (choice) return 2;
  return table ? 1 : model_op_operands(value->op);
}

typedef struct WideSearch {
  const TapeGraph* graph;
  Arena* arena;
  uint32_t* seen;  // per value: the search that has met it last
  const uint8_t* chosen;
  BASE_VEC(uint32_t) stack;
} WideSearch;

/// Whether a value reads many states, or wide values that were found before.
static bool reads_many(WideSearch* w, uint32_t value) {
  uint32_t found = 0;
  w->stack.count = 0;
  base_vec_push(w->arena, &w->stack, value);
  while (w->stack.count && found < WIDE) {
    uint32_t at = w->stack.data[--w->stack.count];
    const TapeValue* v = &w->graph->values.data[at];
    uint32_t operands[2];
    uint32_t count = operands_of(v, operands);
    if (w->seen[at] == value + 1) continue;
    w->seen[at] = value + 1;
    if (w->chosen[at] || v->op == TAPE_STATE) {
      found++;
      continue;
    }
    for (uint32_t i = 0; i < count; i++) {
      base_vec_push(w->arena, &w->stack, operands[i]);
    }
  }
  return found == WIDE;
}

uint32_t tape_wide_values(const TapeGraph* graph, Arena* scratch, const uint32_t** out) {
  const uint32_t count = graph->values.count;
  uint32_t* readers = ARENA_ARRAY(scratch, uint32_t, count);
  uint8_t* chosen = ARENA_ARRAY(scratch, uint8_t, count);
  BASE_VEC(uint32_t) wide = {0};
  for (uint32_t v = 0; v < count; v++) {
    uint32_t operands[2];
    uint32_t used = operands_of(&graph->values.data[v], operands);
    for (uint32_t i = 0; i < used; i++) {
      readers[operands[i]]++;
    }
  }
  WideSearch search = {.graph = graph,
                       .arena = scratch,
                       .seen = ARENA_ARRAY(scratch, uint32_t, count),
                       .chosen = chosen};
  for (uint32_t v = 0; v < count; v++) {
    uint32_t op = graph->values.data[v].op;
    bool computed = op < MODEL_OP_COUNT && op != MODEL_OP_PACK;
    if (!computed || readers[v] < WIDE || !reads_many(&search, v)) continue;
    chosen[v] = 1;
    base_vec_push(scratch, &wide, v);
  }
  *out = wide.data;
  return wide.count;
}
