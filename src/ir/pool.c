// SPDX-License-Identifier: MIT
//
// The pool of hash-consed expressions.
//
// Nodes are looked up by the indices of their arguments, which is fast; beside each node stands a
// hash of its whole structure, which does not depend on the order in which nodes were made.
#include "ir/ir.h"

#include <string.h>

#define POOL_SLOTS_MIN 256

#define POOL_HASH_A UINT64_C(0x9e3779b97f4a7c15)
#define POOL_HASH_B UINT64_C(0xbf58476d1ce4e5b9)
#define POOL_HASH_C UINT64_C(0x94d049bb133111eb)

static const uint8_t op_arities[] = {
#define X(name, arity, text) [name] = arity,
    IR_OP_LIST(X)
#undef X
};

static const char* const op_texts[] = {
#define X(name, arity, text) [name] = text,
    IR_OP_LIST(X)
#undef X
};

uint32_t ir_op_arity(IrOp op) {
  return (uint32_t)op < IR_OP_COUNT ? op_arities[op] : 0;
}

const char* ir_op_text(IrOp op) {
  return (uint32_t)op < IR_OP_COUNT ? op_texts[op] : "?";
}

bool ir_op_is_relation(IrOp op) {
  return op >= IR_LT && op <= IR_NE;
}

bool ir_op_is_boolean(IrOp op) {
  return ir_op_is_relation(op) || (op >= IR_AND && op <= IR_NOT) || op == IR_TRUE || op == IR_FALSE;
}

void ir_pool_init(IrPool* pool, Arena* arena) {
  *pool = (IrPool){.arena = arena};
  base_vec_push(arena, &pool->nodes, (IrNode){.op = IR_NIL});
  base_vec_push(arena, &pool->hashes, 0);
  pool->slots = ARENA_ARRAY(arena, uint32_t, POOL_SLOTS_MIN);
  pool->slot_count = POOL_SLOTS_MIN;
}

static uint64_t node_bits(const IrNode* node) {
  uint64_t bits = 0;
  memcpy(&bits, &node->value, sizeof bits);
  return bits;
}

/// For the table only: depends on the indices of the arguments.
static uint64_t node_hash(const IrNode* node) {
  uint64_t h = ((uint64_t)node->op << 32 | node->arg[0]) * POOL_HASH_A;
  h ^= h >> 32;
  h += (uint64_t)node->arg[1] << 32 | node->arg[2];
  h = (h ^ node_bits(node)) * POOL_HASH_B;
  h ^= h >> 29;
  h *= POOL_HASH_C;
  return h ^ h >> 32;
}

/// Which arguments of a node are raw numbers and not expressions.
static bool arg_is_raw(const IrNode* node, uint32_t k) {
  return (node->op == IR_SLOT || node->op == IR_TABLE) && k == 0;
}

/// Of the structure: equal for equal expressions in any pool.
static uint64_t node_structural_hash(const IrPool* pool, const IrNode* node) {
  uint64_t h = hash_mix(node->op, node_bits(node));
  for (uint32_t k = 0; k < 3; k++) {
    bool raw = arg_is_raw(node, k);
    h = hash_mix(h, raw ? node->arg[k] : pool->hashes.data[node->arg[k]]);
  }
  return h;
}

static bool node_equal(const IrNode* a, const IrNode* b) {
  // bits, not values: NaN equals itself and -0 differs from 0
  return a->op == b->op && a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] &&
         a->arg[2] == b->arg[2] && node_bits(a) == node_bits(b);
}

static void pool_grow(IrPool* pool) {
  if (pool->slot_count > UINT32_MAX / 2) longjmp(*pool->arena->on_oom, 1);
  uint32_t count = 2 * pool->slot_count;
  uint32_t* slots = ARENA_ARRAY(pool->arena, uint32_t, count);
  for (uint32_t i = 1; i < pool->nodes.count; i++) {
    uint32_t at = (uint32_t)node_hash(&pool->nodes.data[i]) & (count - 1);
    while (slots[at] != 0) {
      at = (at + 1) & (count - 1);
    }
    slots[at] = i;
  }
  pool->slots = slots;
  pool->slot_count = count;
}

static ExprId pool_intern(IrPool* pool, const IrNode* node) {
  uint64_t hash = node_hash(node);
  uint32_t mask = pool->slot_count - 1;
  uint32_t at = (uint32_t)hash & mask;
  for (; pool->slots[at] != 0; at = (at + 1) & mask) {
    uint32_t index = pool->slots[at];
    if (node_equal(&pool->nodes.data[index], node)) return (ExprId){index};
  }
  if (pool->nodes.count >= pool->slot_count / 2) {
    pool_grow(pool);
    mask = pool->slot_count - 1;
    for (at = (uint32_t)hash & mask; pool->slots[at] != 0;) {
      at = (at + 1) & mask;
    }
  }

  // room for both before either changes: a failing allocation leaves the pool as it was
  base_vec_reserve(pool->arena, &pool->hashes, 1);
  base_vec_reserve(pool->arena, &pool->nodes, 1);
  uint32_t index = pool->nodes.count++;
  pool->nodes.data[index] = *node;
  pool->hashes.data[pool->hashes.count++] = node_structural_hash(pool, node);
  pool->slots[at] = index;
  return (ExprId){index};
}

ExprId ir_const(IrPool* pool, double value) {
  return pool_intern(pool, &(IrNode){.op = IR_CONST, .value = value});
}

ExprId ir_slot(IrPool* pool, uint32_t slot) {
  return pool_intern(pool, &(IrNode){.op = IR_SLOT, .arg = {slot}});
}

ExprId ir_node(IrPool* pool, IrOp op, ExprId a, ExprId b, ExprId c) {
  SLT_ASSERT(op > IR_SLOT && op < IR_OP_COUNT && op != IR_TABLE);
  uint32_t arity = ir_op_arity(op);
  IrNode node = {.op = (uint16_t)op};
  if (arity > 0) node.arg[0] = a.index;
  if (arity > 1) node.arg[1] = b.index;
  if (arity > 2) node.arg[2] = c.index;
  for (uint32_t k = 0; k < arity; k++) {
    SLT_ASSERT(node.arg[k] != 0 && node.arg[k] < pool->nodes.count);
  }
  return pool_intern(pool, &node);
}

ExprId ir_table(IrPool* pool, uint32_t data, ExprId argument) {
  SLT_ASSERT(argument.index != 0 && argument.index < pool->nodes.count);
  return pool_intern(pool, &(IrNode){.op = IR_TABLE, .arg = {data, argument.index}});
}

bool ir_expr_valid(const IrPool* pool, ExprId id) {
  if (id.index == 0 || id.index >= pool->nodes.count) return false;
  const IrNode* node = &pool->nodes.data[id.index];
  if (node->op == IR_NIL || node->op >= IR_OP_COUNT) return false;
  for (uint32_t k = 0; k < ir_op_arity((IrOp)node->op); k++) {
    if (arg_is_raw(node, k)) continue;
    if (node->arg[k] == 0 || node->arg[k] >= id.index) return false;
  }
  return true;
}
