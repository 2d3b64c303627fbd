// SPDX-License-Identifier: MIT
//
// Programs under construction: a graph of values without duplicates, turned into a register tape.
//
// Values are made in an order in which they can be computed, and that order is kept. Commutative
// operands are put into one order where that cannot change a bit (a + b is b + a; min and max are
// not that simple). Registers are given to values by last use, so that temporaries of a large model
// stay in the cache.
#include "model/build_internal.h"
#include "model/solve_relax.h"

#include <string.h>

#define TAPE_SLOTS_MIN   64
#define TAPE_LINE        8  // slots in a cache line
#define TAPE_GENERATIONS 255

static const ModelInstr end_only[] = {{.op = MODEL_OP_END}};

static uint64_t* new_slots(Arena* arena, uint32_t count) {
  size_t line = TAPE_LINE * sizeof(uint64_t);
  return arena_alloc(arena, base_mul_size(sizeof(uint64_t), count), line);
}

void tape_init(TapeGraph* graph, Arena* arena) {
  *graph = (TapeGraph){.arena = arena, .generation = 1, .slot_count = TAPE_SLOTS_MIN};
  graph->slots = new_slots(arena, graph->slot_count);
}

void tape_reset(TapeGraph* graph) {
  graph->values.count = 0;
  graph->solves.count = 0;
  if (++graph->generation > TAPE_GENERATIONS) {
    memset(graph->slots, 0, graph->slot_count * sizeof *graph->slots);
    graph->generation = 1;
  }
}

static uint64_t value_hash(const TapeValue* value) {
  uint64_t low = (uint64_t)value->op << 32 | value->a;
  uint64_t high = (uint64_t)value->b << 32 | value->c;
  uint64_t h = low * UINT64_C(0x9e3779b97f4a7c15);
  h ^= h >> 32;
  h = (h ^ high) * UINT64_C(0xbf58476d1ce4e5b9);
  h ^= h >> 29;
  return h * UINT64_C(0x94d049bb133111eb);
}

static bool value_equal(const TapeValue* a, const TapeValue* b) {
  return a->op == b->op && a->a == b->a && a->b == b->b && a->c == b->c;
}

/// Upper half of a slot: 8 bits of generation, 24 of hash, so that a look at the slot nearly always
/// decides without a look at the value.
static uint32_t slot_tag(const TapeGraph* graph, uint64_t hash) {
  return graph->generation << 24 | (uint32_t)(hash >> 8 & 0xffffff);
}

/// Whether the search ends in this slot: it is free, or it holds `value`.
static bool slot_ends(const TapeGraph* graph, uint64_t slot, const TapeValue* value, uint32_t tag) {
  if (slot >> 56 != graph->generation) return true;
  return slot >> 32 == tag && value_equal(&graph->values.data[(uint32_t)slot], value);
}

/// The slot that holds `value`, or the free one where it would go.
///
/// Operations are looked for first in the line of slots that belongs to their newest operand: what
/// is made one after the other then lies side by side, which for a million equations is the
/// difference between the cache and the memory. Where that line is full (a million relations with
/// one number that came after the states) it is that of another operand, and then the hash decides.
/// Inputs lie side by side as the environment does.
static uint64_t* find_slot(const TapeGraph* graph, const TapeValue* value, uint64_t hash) {
  uint32_t mask = graph->slot_count - 1;
  uint32_t tag = slot_tag(graph, hash);
  if (value->op < MODEL_OP_COUNT) {
    uint32_t newest = value->a > value->b ? value->a : value->b;
    uint32_t older = value->a > value->b ? value->b : value->a;
    if (value->c > newest) newest = value->c;
    for (uint32_t turn = 0; turn < 2; turn++) {
      uint64_t* line = &graph->slots[2 * (turn ? older : newest) / TAPE_LINE * TAPE_LINE & mask];
      for (uint32_t i = 0; i < TAPE_LINE; i++) {
        if (slot_ends(graph, line[i], value, tag)) return &line[i];
      }
    }
  }
  uint32_t start = (uint32_t)(hash >> 32);
  if (value->op == TAPE_INPUT) {
    TapeValue group = {.op = TAPE_INPUT, .a = value->a / TAPE_LINE};
    start = (uint32_t)(value_hash(&group) >> 32) / TAPE_LINE * TAPE_LINE + value->a % TAPE_LINE;
  }
  for (uint32_t i = start & mask;; i = (i + 1) & mask) {
    if (slot_ends(graph, graph->slots[i], value, tag)) return &graph->slots[i];
  }
}

static void grow_slots(TapeGraph* graph, uint32_t count) {
  uint32_t old_count = graph->slot_count;
  const uint64_t* old = graph->slots;
  uint64_t* slots = new_slots(graph->arena, count);
  graph->slots = slots;
  graph->slot_count = count;
  for (uint32_t i = 0; i < old_count; i++) {
    if (old[i] >> 56 != graph->generation) continue;
    const TapeValue* value = &graph->values.data[(uint32_t)old[i]];
    *find_slot(graph, value, value_hash(value)) = old[i];
  }
}

void tape_reserve(TapeGraph* graph, uint64_t more) {
  uint64_t wanted = graph->values.count + more;
  if (wanted > UINT32_MAX / 4) longjmp(*graph->arena->on_oom, 1);
  base_vec_reserve(graph->arena, &graph->values, (uint32_t)more);
  uint32_t count = graph->slot_count;
  while (count / 2 < wanted) {
    count *= 2;
  }
  if (count > graph->slot_count) grow_slots(graph, count);
}

static uint32_t push_value(TapeGraph* graph, TapeValue value) {
  base_vec_push(graph->arena, &graph->values, value);
  return graph->values.count - 1;
}

static uint32_t intern(TapeGraph* graph, TapeValue value) {
  uint64_t hash = value_hash(&value);
  uint64_t* slot = find_slot(graph, &value, hash);
  if (*slot >> 56 == graph->generation) return (uint32_t)*slot;
  if (graph->values.count >= graph->slot_count / 2) {
    tape_reserve(graph, graph->slot_count / 2);
    slot = find_slot(graph, &value, hash);
  }
  uint32_t index = push_value(graph, value);
  *slot = (uint64_t)slot_tag(graph, hash) << 32 | index;
  return index;
}

uint32_t tape_time(TapeGraph* graph) {
  return intern(graph, (TapeValue){.op = TAPE_TIME});
}

uint32_t tape_state(TapeGraph* graph, uint32_t state) {
  return push_value(graph, (TapeValue){.op = TAPE_STATE, .a = state});
}

uint32_t tape_input(TapeGraph* graph, uint32_t env) {
  return intern(graph, (TapeValue){.op = TAPE_INPUT, .a = env});
}

uint32_t tape_const(TapeGraph* graph, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  TapeValue leaf = {.op = TAPE_CONST, .a = (uint32_t)bits, .b = (uint32_t)(bits >> 32)};
  return intern(graph, leaf);
}

static double const_value(const TapeValue* value) {
  uint64_t bits = (uint64_t)value->b << 32 | value->a;
  double number = 0.0;
  memcpy(&number, &bits, sizeof number);
  return number;
}

bool tape_is_const(const TapeGraph* graph, uint32_t value, double* number) {
  const TapeValue* v = &graph->values.data[value];
  if (v->op != TAPE_CONST) return false;
  *number = const_value(v);
  return true;
}

static bool is_const(const TapeGraph* graph, uint32_t value, double wanted) {
  double number = 0.0;
  return tape_is_const(graph, value, &number) && number == wanted;
}

static const uint8_t tape_ops[IR_OP_COUNT] = {
#define ENTRY(X, name, ...) [IR_##name] = MODEL_OP_##name,
    BASE_FUNCTIONS(ENTRY, )
#undef ENTRY
        [IR_NEG] = MODEL_OP_NEG,
    [IR_ADD] = MODEL_OP_ADD,
    [IR_SUB] = MODEL_OP_SUB,
    [IR_MUL] = MODEL_OP_MUL,
    [IR_DIV] = MODEL_OP_DIV,
    [IR_POW] = MODEL_OP_POW,
    [IR_SQRT] = MODEL_OP_SQRT,
    [IR_ABS] = MODEL_OP_ABS,
    [IR_SIGN] = MODEL_OP_SIGN,
    [IR_FLOOR] = MODEL_OP_FLOOR,
    [IR_CEIL] = MODEL_OP_CEIL,
    [IR_ATAN2] = MODEL_OP_ATAN2,
    [IR_POLYGAMMA] = MODEL_OP_POLYGAMMA,
    [IR_MIN] = MODEL_OP_MIN,
    [IR_MAX] = MODEL_OP_MAX,
    [IR_MOD] = MODEL_OP_MOD,
    [IR_LT] = MODEL_OP_LT,
    [IR_LE] = MODEL_OP_LE,
    [IR_GT] = MODEL_OP_GT,
    [IR_GE] = MODEL_OP_GE,
    [IR_EQ] = MODEL_OP_EQ,
    [IR_NE] = MODEL_OP_NE,
    [IR_AND] = MODEL_OP_AND,
    [IR_OR] = MODEL_OP_OR,
    [IR_NOT] = MODEL_OP_NOT,
    [IR_SELECT] = MODEL_OP_SELECT,
    [IR_RANDOM] = MODEL_OP_RANDOM,
    [IR_UNIFORM] = MODEL_OP_UNIFORM,
    [IR_NORMAL] = MODEL_OP_NORMAL,
    [IR_NOISE] = MODEL_OP_NOISE,
    [IR_EXPONENTIAL] = MODEL_OP_EXPONENTIAL,
    [IR_PACK] = MODEL_OP_PACK,
    [IR_EQUALS] = MODEL_OP_SUB,
};

static bool draws(IrOp op) {
  return op == IR_RANDOM || op == IR_UNIFORM || op == IR_NORMAL || op == IR_EXPONENTIAL;
}

static bool commutes(IrOp op) {
  return op == IR_ADD || op == IR_MUL || op == IR_EQ || op == IR_NE || op == IR_AND || op == IR_OR;
}

/// All operands are numbers: so is the result, by the operations of run time.
static bool fold(TapeGraph* graph, IrOp op, uint32_t a, uint32_t b, uint32_t c, uint32_t* result) {
  uint32_t arity = ir_op_arity(op);
  double x[3] = {0};
  if (op == IR_PACK || op == IR_NOISE) return false;  // only a run can tell
  if (arity > 0 && !tape_is_const(graph, a, &x[0])) return false;
  if (arity > 1 && !tape_is_const(graph, b, &x[1])) return false;
  if (arity > 2 && !tape_is_const(graph, c, &x[2])) return false;
  *result = tape_const(graph, ir_apply(op, x[0], x[1], x[2]));
  return true;
}

static uint32_t square(TapeGraph* graph, uint32_t a) {
  return intern(graph, (TapeValue){.op = MODEL_OP_SQUARE, .a = a});
}

/// Forms that give the same bits with less work.
static bool shortcut(TapeGraph* graph, IrOp op, uint32_t a, uint32_t b, uint32_t c, uint32_t* out) {
  switch ((int)op) {
  case IR_NEG:
    if (graph->values.data[a].op != MODEL_OP_NEG) return false;
    *out = graph->values.data[a].a;
    return true;
  case IR_MUL:
    if (a == b) {
      *out = square(graph, a);
    } else if (is_const(graph, a, 1.0)) {
      *out = b;
    } else if (is_const(graph, b, 1.0)) {
      *out = a;
    } else {
      return false;
    }
    return true;
  case IR_DIV:
    if (is_const(graph, b, 1.0)) {
      *out = a;
    } else if (is_const(graph, a, 1.0)) {
      *out = intern(graph, (TapeValue){.op = MODEL_OP_RECIP, .a = b});
    } else {
      return false;
    }
    return true;
  case IR_POW:
    if (is_const(graph, b, 1.0)) {
      *out = a;
    } else if (is_const(graph, b, 2.0)) {
      *out = square(graph, a);
    } else if (is_const(graph, b, 3.0)) {
      *out = tape_op(graph, IR_MUL, square(graph, a), a, a);
    } else {
      return false;
    }
    return true;
  case IR_SELECT:
    if (graph->values.data[a].op == TAPE_CONST) {
      *out = is_const(graph, a, 0.0) ? c : b;
    } else if (b == c) {
      *out = b;
    } else {
      return false;
    }
    return true;
  default: return false;
  }
}

uint32_t tape_op(TapeGraph* graph, IrOp op, uint32_t a, uint32_t b, uint32_t c) {
  if (op == IR_TRUE || op == IR_FALSE) return tape_const(graph, op == IR_TRUE ? 1.0 : 0.0);
  uint32_t arity = ir_op_arity(op);
  TapeValue value = {.op = tape_ops[op]};
  if (arity > 0) value.a = a;
  if (arity > 1) value.b = b;
  if (arity > 2) value.c = c;
  if (draws(op)) return push_value(graph, value);

  uint32_t result = 0;
  if (fold(graph, op, a, b, c, &result)) return result;
  if (shortcut(graph, op, a, b, c, &result)) return result;
  if (commutes(op) && value.a > value.b) {
    value.a = b;
    value.b = a;
  }
  return intern(graph, value);
}

uint32_t tape_table(TapeGraph* graph, uint32_t data, uint32_t argument) {
  static const uint32_t ops[] = {MODEL_OP_TABLE, MODEL_OP_TABLE_SLOPE, MODEL_OP_TABLE_CURVE};
  uint32_t order = SYM_TABLE_ORDER(data);
  if (order > 2) return tape_const(graph, 0.0);
  return intern(graph, (TapeValue){.op = ops[order], .a = argument, .b = SYM_TABLE_DATA(data)});
}

uint32_t tape_trial(TapeGraph* graph) {
  return push_value(graph, (TapeValue){.op = TAPE_TRIAL});
}

uint32_t tape_body(TapeGraph* graph) {
  return push_value(graph, (TapeValue){.op = TAPE_BODY, .a = graph->solves.count});
}

/// Values made between two others are not found again: the program may not have come by there.
static void forget(TapeGraph* graph, uint32_t after, uint32_t before) {
  for (uint32_t i = after + 1; i < before; i++) {
    const TapeValue* value = &graph->values.data[i];
    if (value->op >= MODEL_OP_COUNT) continue;
    uint64_t* slot = find_slot(graph, value, value_hash(value));
    // searches go on behind the slot; nobody looks for what it holds now
    if (*slot >> 56 == graph->generation) *slot = (*slot >> 32 << 32) | after;
  }
}

void tape_solve(TapeGraph* graph, TapeSolve solve, uint32_t* picks) {
  uint32_t index = graph->solves.count;
  base_vec_push(graph->arena, &graph->solves, solve);
  uint32_t value = push_value(graph, (TapeValue){.op = MODEL_OP_SOLVE, .a = index});
  for (uint32_t i = 0; i < solve.count; i++) {
    picks[i] = push_value(graph, (TapeValue){.op = TAPE_PICK, .a = value, .b = solve.trials[i]});
  }
  if (solve.offers) forget(graph, solve.body, value);
}

// ---------------------------------------------------------------------------------------------
// from values to code

/// Operands of a value that are values: 0 .. 3, in a, b, c.
static uint32_t value_arity(const TapeValue* value) {
  static const uint8_t arities[] = {
#define X(name, operands) operands,
      MODEL_OP_LIST(X)
#undef X
  };
  if (value->op >= MODEL_OP_COUNT) return 0;
  return value->op == MODEL_OP_SELECT ? 3 : arities[value->op];
}

static uint32_t operand(const TapeValue* value, uint32_t which) {
  return which == 0 ? value->a : which == 1 ? value->b : value->c;
}

static void mark_solve(TapeGraph* graph, const TapeSolve* solve, uint32_t position) {
  uint32_t* last_use = graph->last_use.data;
  const uint32_t* lists[] = {solve->residuals, solve->linear ? NULL : solve->guesses};
  for (uint32_t i = 0; i < solve->count; i++) {
    last_use[solve->trials[i]] = UINT32_MAX;
    for (size_t k = 0; k < SLT_COUNT(lists); k++) {
      if (lists[k] && last_use[lists[k][i]] == 0) last_use[lists[k][i]] = position + 1;
    }
  }
  for (uint32_t i = 0; i < solve->entry_count + solve->relax_count; i++) {
    uint32_t* use = &last_use[solve->entries[i].reg];
    if (*use == 0) *use = position + 1;
  }
  if (solve->offers) {
    if (last_use[solve->accept] == 0) last_use[solve->accept] = position + 1;
    for (uint32_t i = 0; i < solve->count; i++) {
      if (last_use[solve->offers[i]] == 0) last_use[solve->offers[i]] = position + 1;
    }
  }
  last_use[solve->body] = UINT32_MAX;
}

/// A value is used last where the first use is met that has not been seen, going backwards.
static void note_use(uint32_t* last_use, uint32_t value, uint32_t where) {
  if (last_use[value] == 0) last_use[value] = where;
}

/// Find what the outputs need and where each value is used last. Returns the number of operations.
static uint32_t mark(TapeGraph* graph, const uint32_t* outputs, uint32_t output_count) {
  uint32_t count = graph->values.count;
  graph->last_use.count = 0;
  base_vec_reserve(graph->arena, &graph->last_use, count);
  uint32_t* last_use = graph->last_use.data;
  if (count) memset(last_use, 0, count * sizeof *last_use);
  for (uint32_t i = 0; i < output_count; i++) {
    last_use[outputs[i]] = UINT32_MAX;
  }
  uint32_t operations = 0;
  // inside the body of a block: what was there before it must last until it ends
  uint32_t body = UINT32_MAX;
  uint32_t body_end = 0;
  for (uint32_t i = count; i-- > 0;) {
    if (i == body) body = UINT32_MAX;
    if (last_use[i] == 0) continue;
    const TapeValue* value = &graph->values.data[i];
    operations += value->op < MODEL_OP_COUNT;
    if (value->op == MODEL_OP_SOLVE) {
      mark_solve(graph, &graph->solves.data[value->a], i);
      body = graph->solves.data[value->a].body;
      body_end = i;
      operations++;  // for the end of the body
    }
    if (value->op == TAPE_PICK) {
      note_use(last_use, value->a, i + 1);
      note_use(last_use, value->b, UINT32_MAX);
    }
    uint32_t arity = value_arity(value);
    for (uint32_t k = 0; k < arity; k++) {
      bool outside = body != UINT32_MAX && operand(value, k) < body;
      note_use(last_use, operand(value, k), outside ? body_end + 1 : i + 1);
    }
  }
  return operations;
}

uint32_t tape_count(TapeGraph* graph, const uint32_t* outputs, uint32_t output_count) {
  return mark(graph, outputs, output_count);
}

typedef struct Finish {
  TapeGraph* graph;
  ModelInstr* code;
  uint32_t code_count;
  uint32_t next_reg;
  Arena* out;
  ModelSolve* solves;
  uint32_t solve_count;
  uint32_t solve_at;  // position of the open block's instruction
} Finish;

/// Registers of leaves, in the fixed order of ModelProgram.
static void place_leaves(Finish* f, Arena* arena, ModelProgram* program) {
  TapeGraph* graph = f->graph;
  const uint32_t* live = graph->last_use.data;
  for (uint32_t i = 0; i < graph->values.count; i++) {
    if (!live[i]) continue;
    program->input_count += graph->values.data[i].op == TAPE_INPUT;
    program->const_count += graph->values.data[i].op == TAPE_CONST;
  }
  ModelInput* inputs = ARENA_ARRAY(arena, ModelInput, program->input_count);
  double* consts = ARENA_ARRAY(arena, double, program->const_count);
  uint32_t input_begin = 1 + program->state_count;
  program->const_begin = input_begin + program->input_count;
  f->next_reg = program->const_begin + program->const_count;
  uint32_t input = 0;
  uint32_t number = 0;
  for (uint32_t i = 0; i < graph->values.count; i++) {
    if (!live[i]) continue;
    const TapeValue* value = &graph->values.data[i];
    uint32_t* reg = &graph->reg.data[i];
    if (value->op == TAPE_TIME) {
      *reg = 0;
    } else if (value->op == TAPE_STATE) {
      *reg = 1 + value->a;
    } else if (value->op == TAPE_INPUT) {
      *reg = input_begin + input;
      inputs[input++] = (ModelInput){.reg = *reg, .env = value->a};
    } else if (value->op == TAPE_CONST) {
      *reg = program->const_begin + number;
      consts[number++] = const_value(value);
    } else if (value->op == TAPE_TRIAL) {
      *reg = f->next_reg++;
    } else if (value->op == TAPE_PICK) {
      *reg = graph->reg.data[value->b];
    }
  }
  program->inputs = inputs;
  program->consts = consts;
}

static uint32_t take_reg(Finish* f) {
  TapeGraph* graph = f->graph;
  if (graph->free_regs.count) return graph->free_regs.data[--graph->free_regs.count];
  return f->next_reg++;
}

static bool ends_at(const TapeGraph* graph, uint32_t value, uint32_t position) {
  bool temporary = graph->values.data[value].op < MODEL_OP_COUNT;
  return temporary && graph->last_use.data[value] == position + 1;
}

static void release(Finish* f, uint32_t value, uint32_t position) {
  TapeGraph* graph = f->graph;
  if (!ends_at(graph, value, position)) return;
  base_vec_push(graph->arena, &graph->free_regs, graph->reg.data[value]);
  graph->last_use.data[value] = UINT32_MAX;  // once only, also for x op x
}

static void append(Finish* f, uint32_t op, uint32_t dst, uint32_t a, uint32_t b) {
  f->code[f->code_count++] = (ModelInstr){.op = op, .dst = dst, .a = a, .b = b};
}

/// The condition's register becomes the result's; it must not be that of a branch.
static void append_select(Finish* f, uint32_t position) {
  TapeGraph* graph = f->graph;
  const TapeValue* value = &graph->values.data[position];
  const uint32_t* reg = graph->reg.data;
  uint32_t condition = value->a;
  bool in_place =
      ends_at(graph, condition, position) && condition != value->b && condition != value->c;
  uint32_t dst = in_place ? reg[condition] : take_reg(f);
  if (in_place) {
    graph->last_use.data[condition] = UINT32_MAX;
  } else {
    append(f, MODEL_OP_MOVE, dst, reg[condition], 0);
  }
  append(f, MODEL_OP_SELECT, dst, reg[value->b], reg[value->c]);
  release(f, condition, position);
  release(f, value->b, position);
  release(f, value->c, position);
  graph->reg.data[position] = dst;
}

static const uint32_t* solve_regs(const Finish* f, const uint32_t* values, uint32_t count) {
  uint32_t* regs = ARENA_ARRAY(f->out, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    regs[i] = f->graph->reg.data[values[i]];
  }
  return regs;
}

/// The body ends: the block's table is complete now.
static void append_solve(Finish* f, uint32_t position) {
  TapeGraph* graph = f->graph;
  const TapeSolve* from = &graph->solves.data[graph->values.data[position].a];
  append(f, MODEL_OP_END, 0, 0, 0);
  f->code[f->solve_at].a = f->code_count - f->solve_at - 1;
  uint32_t entry_count = from->entry_count + from->relax_count;
  ModelEntry* entries = ARENA_ARRAY(f->out, ModelEntry, entry_count);
  for (uint32_t i = 0; i < entry_count; i++) {
    entries[i] = from->entries[i];
    entries[i].reg = graph->reg.data[from->entries[i].reg];
  }
  uint32_t* guess_env = ARENA_ARRAY(f->out, uint32_t, from->count);
  for (uint32_t i = 0; i < from->count; i++) {
    const TapeValue* guess = &graph->values.data[from->guesses[i]];
    guess_env[i] = guess->op == TAPE_INPUT ? guess->a : MODEL_NONE;
  }
  bool offered = from->offers != NULL;
  f->solves[f->solve_count++] =
      (ModelSolve){.count = from->count,
                   .linear = from->linear,
                   .tries = from->tries,
                   .id = from->id,
                   .accept = offered ? graph->reg.data[from->accept] : 0,
                   .offers = offered ? solve_regs(f, from->offers, from->count) : NULL,
                   .unknowns = solve_regs(f, from->trials, from->count),
                   .guesses = from->linear ? NULL : solve_regs(f, from->guesses, from->count),
                   .guess_env = guess_env,
                   .yields = from->yields,
                   .residuals = solve_regs(f, from->residuals, from->count),
                   .entries = entries,
                   .entry_count = from->entry_count,
                   .relax_count = from->relax_count,
                   .sparse = from->sparse,
                   .work = f->next_reg};
  size_t room = from->relax_count ? model_relax_room(from->count)
                                  : model_solve_room(from->count, from->sparse);
  if (room > UINT32_MAX / 2 - f->next_reg) longjmp(*graph->arena->on_oom, 1);
  f->next_reg += (uint32_t)room;
  for (uint32_t i = 0; i < from->count; i++) {
    release(f, from->residuals[i], position);
  }
  for (uint32_t i = 0; i < entry_count; i++) {
    release(f, from->entries[i].reg, position);
  }
  for (uint32_t i = 0; offered && i < from->count; i++) {
    release(f, from->offers[i], position);
  }
  if (offered) release(f, from->accept, position);
}

static void append_value(Finish* f, uint32_t position) {
  TapeGraph* graph = f->graph;
  const TapeValue* value = &graph->values.data[position];
  if (value->op == MODEL_OP_SOLVE) {
    append_solve(f, position);
    return;
  }
  if (value->op == MODEL_OP_SELECT) {
    append_select(f, position);
    return;
  }
  const uint32_t* reg = graph->reg.data;
  uint32_t arity = value_arity(value);
  bool is_table = arity == 1 && value->op >= MODEL_OP_TABLE && value->op <= MODEL_OP_TABLE_CURVE;
  uint32_t a = arity > 0 ? reg[value->a] : 0;
  uint32_t b = arity > 1 ? reg[value->b] : is_table ? value->b : 0;
  if (arity > 0) release(f, value->a, position);
  if (arity > 1) release(f, value->b, position);
  uint32_t dst = take_reg(f);
  append(f, value->op, dst, a, b);
  graph->reg.data[position] = dst;
}

static uint32_t count_selects(const TapeGraph* graph) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < graph->values.count; i++) {
    count += graph->last_use.data[i] && graph->values.data[i].op == MODEL_OP_SELECT;
  }
  return count;
}

ModelProgram tape_finish(TapeGraph* graph, Arena* arena, uint32_t state_count,
                         const uint32_t* outputs, uint32_t output_count) {
  uint32_t operations = mark(graph, outputs, output_count);
  graph->reg.count = 0;
  graph->free_regs.count = 0;
  base_vec_reserve(graph->arena, &graph->reg, graph->values.count);
  ModelProgram program = {.code = end_only, .state_count = state_count};
  Finish f = {.graph = graph, .out = arena};
  if (graph->solves.count) f.solves = ARENA_ARRAY(arena, ModelSolve, graph->solves.count);
  place_leaves(&f, arena, &program);
  if (operations) {
    size_t room = (size_t)operations + count_selects(graph) + 1;
    f.code = ARENA_ARRAY(arena, ModelInstr, room);
    for (uint32_t i = 0; i < graph->values.count; i++) {
      if (!graph->last_use.data[i]) continue;
      uint32_t op = graph->values.data[i].op;
      if (op < MODEL_OP_COUNT) append_value(&f, i);
      if (op == TAPE_BODY) {
        f.solve_at = f.code_count;
        append(&f, MODEL_OP_SOLVE, f.solve_count, 0, 0);
      }
    }
    program.code_count = f.code_count;
    append(&f, MODEL_OP_END, 0, 0, 0);
    program.code = f.code;
  }
  program.reg_count = f.next_reg;
  program.solves = f.solves;
  program.solve_count = f.solve_count;
  uint32_t* registers = ARENA_ARRAY(arena, uint32_t, output_count);
  for (uint32_t i = 0; i < output_count; i++) {
    registers[i] = graph->reg.data[outputs[i]];
  }
  program.outputs = registers;
  program.output_count = output_count;
  return program;
}
