// SPDX-License-Identifier: MIT
//
// The pool of derived expressions, what is remembered about shapes, and their layout as steps.
#include "symbolic/internal.h"

#include <string.h>

#define MEMO_SLOTS_MIN  64
#define DRAWN_STEPS_MAX (1u << 20)  // of a shape whose random draws are written out

/// Enter a node of the IR into our pool. Order and contents are the same, so is the index.
static void copy_node(IrPool* pool, const IrNode* node) {
  IrOp op = (IrOp)node->op;
  if (op == IR_CONST) {
    ir_const(pool, node->value);
  } else if (op == IR_SLOT) {
    ir_slot(pool, node->arg[0]);
  } else if (op == IR_TABLE) {
    ir_table(pool, node->arg[0], (ExprId){node->arg[1]});
  } else {
    ir_node(pool, op, (ExprId){node->arg[0]}, (ExprId){node->arg[1]}, (ExprId){node->arg[2]});
  }
}

void sym_init(Sym* sym, Arena* arena, const IrModel* ir) {
  *sym = (Sym){.arena = arena, .ir = ir, .view = *ir};
  ir_pool_init(&sym->view.pool, arena);
  for (uint32_t i = 1; i < ir->pool.nodes.count; i++) {
    copy_node(&sym->view.pool, &ir->pool.nodes.data[i]);
  }
  SLT_ASSERT(sym->view.pool.nodes.count == ir->pool.nodes.count);
}

SymTerm sym_term(const Sym* sym, IrTerm term) {
  const IrLeaf* row = term.leaf_count ? sym->ir->leaves.data + term.leaf_begin : NULL;
  return (SymTerm){.shape = term.shape, .count = term.leaf_count, .row = row};
}

// ---------------------------------------------------------------------------------------------
// memory

static uint64_t memo_hash(SymMemoKind kind, ExprId shape, const void* key, uint32_t key_size) {
  uint64_t seed = (uint64_t)kind << 32 | shape.index;
  return hash_bytes(key, key_size, seed);
}

static bool memo_matches(const SymMemoEntry* entry, const SymMemoEntry* wanted) {
  return entry->hash == wanted->hash && entry->kind == wanted->kind &&
         entry->shape.index == wanted->shape.index && entry->key_size == wanted->key_size &&
         (wanted->key_size == 0 || memcmp(entry->key, wanted->key, wanted->key_size) == 0);
}

static SymMemoEntry** memo_slot(const SymMemo* memo, const SymMemoEntry* wanted) {
  uint32_t mask = memo->slot_count - 1;
  for (uint32_t i = (uint32_t)wanted->hash & mask;; i = (i + 1) & mask) {
    SymMemoEntry** slot = &memo->slots[i];
    if (!*slot || memo_matches(*slot, wanted)) return slot;
  }
}

static void memo_grow(Sym* sym) {
  SymMemo* memo = &sym->memo;
  SymMemo larger = {.slot_count = memo->slot_count ? 2 * memo->slot_count : MEMO_SLOTS_MIN,
                    .count = memo->count};
  larger.slots = ARENA_ARRAY(sym->arena, SymMemoEntry*, larger.slot_count);
  for (uint32_t i = 0; i < memo->slot_count; i++) {
    if (memo->slots[i]) *memo_slot(&larger, memo->slots[i]) = memo->slots[i];
  }
  *memo = larger;
}

SymMemoEntry* sym_memo_find(Sym* sym, SymMemoKind kind, ExprId shape, const void* key,
                            uint32_t key_size) {
  if (sym->memo.slot_count == 0) return NULL;
  SymMemoEntry wanted = {.hash = memo_hash(kind, shape, key, key_size),
                         .key = key,
                         .key_size = key_size,
                         .kind = (uint32_t)kind,
                         .shape = shape};
  return *memo_slot(&sym->memo, &wanted);
}

SymMemoEntry* sym_memo_add(Sym* sym, SymMemoKind kind, ExprId shape, const void* key,
                           uint32_t key_size) {
  SymMemoEntry* entry = ARENA_NEW(sym->arena, SymMemoEntry);
  void* copy = arena_alloc(sym->arena, key_size, 1);
  if (key_size) memcpy(copy, key, key_size);
  *entry = (SymMemoEntry){.hash = memo_hash(kind, shape, key, key_size),
                          .key = copy,
                          .key_size = key_size,
                          .kind = (uint32_t)kind,
                          .shape = shape};
  if (2 * (sym->memo.count + 1) > sym->memo.slot_count) memo_grow(sym);
  *memo_slot(&sym->memo, entry) = entry;
  sym->memo.count++;
  return entry;
}

ExprId* sym_work(Sym* sym, int which, uint32_t count) {
  if (count > sym->work[which].capacity) base_vec_reserve(sym->arena, &sym->work[which], count);
  if (count) memset(sym->work[which].data, 0, count * sizeof(ExprId));
  return sym->work[which].data;
}

// ---------------------------------------------------------------------------------------------
// layout

typedef struct Layout {
  Sym* sym;
  uint32_t stamp;
  const uint8_t* draws;  // second pass: per position of the first, whether it draws numbers
} Layout;

static bool op_draws(IrOp op) {
  return op == IR_RANDOM || op == IR_UNIFORM || op == IR_NORMAL || op == IR_EXPONENTIAL;
}

static uint32_t arg_begin(IrOp op) {
  return op == IR_TABLE ? 1 : 0;
}

static uint32_t arg_end(IrOp op) {
  return op == IR_TABLE ? 2 : ir_op_arity(op);
}

/// Position of a node that is laid out already and may be shared.
static bool find_place(const Layout* layout, uint32_t node, uint32_t* position) {
  uint64_t place = layout->sym->places[node];
  *position = (uint32_t)place;
  return place >> 32 == layout->stamp;
}

/// Whether each occurrence of a node stands for itself.
static bool is_drawn(const Layout* layout, uint32_t node) {
  if (!layout->draws) return false;
  uint64_t place = layout->sym->places[node];
  return place >> 32 == layout->stamp - 1 && layout->draws[(uint32_t)place];
}

static void push_node(Sym* sym, uint32_t node) {
  base_vec_push(sym->arena, &sym->stack, (uint64_t)node << 32);
}

/// Append a node whose arguments are the topmost positions in `values`.
static void append_step(Layout* layout, uint32_t index, uint32_t* values, uint32_t* value_count) {
  Sym* sym = layout->sym;
  IrNode node = sym->view.pool.nodes.data[index];
  IrOp op = (IrOp)node.op;
  SymStep step = {.op = node.op, .expr = {index}, .value = node.value};
  if (op == IR_SLOT || op == IR_TABLE) step.arg[0] = node.arg[0];
  uint32_t begin = arg_begin(op);
  uint32_t end = arg_end(op);
  *value_count -= end - begin;
  for (uint32_t i = begin; i < end; i++) {
    step.arg[i] = values[*value_count + i - begin];
  }
  // doubling a draw thirty times over is a way to ask for more memory than there is
  bool too_long = layout->draws && sym->steps.count >= DRAWN_STEPS_MAX;
  if (too_long) longjmp(*sym->arena->on_oom, 1);
  uint32_t position = sym->steps.count;
  base_vec_push(sym->arena, &sym->steps, step);
  if (!is_drawn(layout, index)) {
    sym->places[index] = (uint64_t)layout->stamp << 32 | position;
  }
  values[(*value_count)++] = position;
}

/// Postorder over arguments from left to right. An entry of the stack is a node and the number of
/// its arguments that are done; the positions of finished arguments wait in `values`.
static void lay_out(Layout* layout, uint32_t root) {
  Sym* sym = layout->sym;
  BASE_VEC(uint32_t) values = {0};
  sym->steps.count = 0;
  sym->stack.count = 0;
  push_node(sym, root);
  while (sym->stack.count) {
    uint64_t* top = &sym->stack.data[sym->stack.count - 1];
    uint32_t index = (uint32_t)(*top >> 32);
    uint32_t done = (uint32_t)*top;
    uint32_t position = 0;
    base_vec_reserve(sym->arena, &values, 1);
    if (done == 0 && find_place(layout, index, &position)) {
      values.data[values.count++] = position;
      sym->stack.count--;
      continue;
    }
    const IrNode* node = &sym->view.pool.nodes.data[index];
    uint32_t arg = arg_begin((IrOp)node->op) + done;
    if (arg < arg_end((IrOp)node->op)) {
      (*top)++;
      push_node(sym, node->arg[arg]);
    } else {
      sym->stack.count--;
      append_step(layout, index, values.data, &values.count);
    }
  }
}

/// Which steps draw random numbers or read one that does. NULL when none does.
static const uint8_t* find_draws(Sym* sym) {
  uint8_t* draws = NULL;
  for (uint32_t i = 0; i < sym->steps.count; i++) {
    const SymStep* step = &sym->steps.data[i];
    IrOp op = (IrOp)step->op;
    if (op_draws(op) && !draws) draws = ARENA_ARRAY(sym->arena, uint8_t, sym->steps.count);
    if (!draws) continue;
    draws[i] = op_draws(op);
    for (uint32_t arg = arg_begin(op); arg < arg_end(op); arg++) {
      draws[i] |= draws[step->arg[arg]];
    }
  }
  return draws;
}

static void reserve_places(Sym* sym) {
  uint32_t wanted = sym->view.pool.nodes.count;
  if (sym->stamp >= UINT32_MAX - 2) {
    memset(sym->places, 0, sym->place_count * sizeof *sym->places);
    sym->stamp = 0;
  }
  if (wanted <= sym->place_count) return;
  uint32_t count = wanted + wanted / 2 + 64;
  sym->places = arena_grow(sym->arena, sym->places, sym->place_count * sizeof *sym->places,
                           count * sizeof *sym->places, _Alignof(uint64_t));
  sym->place_count = count;
}

static const SymShape* new_shape(Sym* sym, ExprId shape) {
  reserve_places(sym);
  Layout layout = {.sym = sym, .stamp = ++sym->stamp};
  lay_out(&layout, shape.index);
  layout.draws = find_draws(sym);
  if (layout.draws) {
    layout.stamp = ++sym->stamp;
    lay_out(&layout, shape.index);
  }

  SymShape* result = ARENA_NEW(sym->arena, SymShape);
  SymStep* steps = ARENA_ARRAY(sym->arena, SymStep, sym->steps.count);
  memcpy(steps, sym->steps.data, sym->steps.count * sizeof *steps);
  *result = (SymShape){.steps = steps, .count = sym->steps.count};
  for (uint32_t i = 0; i < result->count; i++) {
    if (steps[i].op != IR_SLOT) continue;
    if (steps[i].arg[0] >= result->slot_count) result->slot_count = steps[i].arg[0] + 1;
  }
  sym_memo_add(sym, SYM_MEMO_SHAPE, shape, NULL, 0)->pointer = result;
  return result;
}

const SymShape* sym_shape(Sym* sym, ExprId shape) {
  if (shape.index == sym->last_expr.index && sym->last_shape) return sym->last_shape;
  const SymMemoEntry* known = sym_memo_find(sym, SYM_MEMO_SHAPE, shape, NULL, 0);
  const SymShape* result = known ? known->pointer : new_shape(sym, shape);
  sym->last_expr = shape;
  sym->last_shape = result;
  return result;
}
