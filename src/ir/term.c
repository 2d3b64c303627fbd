// SPDX-License-Identifier: MIT
//
// Building terms: a shape in the pool and a row of leaves beside it.
//
// A million instances of one shape end in the same root, so what the end of a term needs to know
// about its root (which slots it uses, in which order, and the shape with its slots renumbered) is
// computed once per root and remembered.
#include "ir/internal.h"

#define TERM_LINEAR_MAX 16  // rows up to this length are searched leaf by leaf
#define TERM_ADDEND     1   // IrLeaf.pad in a builder: selected by the index of a sum

/// What ir_term_end() does with one root.
typedef struct TermPlan {
  ExprId shape;                     // the root with its slots renumbered
  uint32_t used_begin, used_count;  // slots of the row in the order of their first use, in `used`
} TermPlan;

typedef struct TermBuffer {
  IrLeaf* row;
  uint32_t* slots;
  uint32_t row_capacity, slot_count;
} TermBuffer;

struct IrWork {
  BASE_VEC(TermBuffer) spare;  // memory of closed builders
  BASE_VEC(uint32_t) plan_of;  // node -> plan + 1; 0 for none
  BASE_VEC(TermPlan) plans;
  BASE_VEC(uint32_t) used;
  BASE_VEC(uint32_t) stack;
  BASE_VEC(uint32_t) mark;    // node -> visit in which it was last seen
  BASE_VEC(uint32_t) mapped;  // node -> its renumbered copy, valid where marked
  BASE_VEC(uint32_t) slot_map;
  uint32_t visit;
  uint32_t* number_slots;  // open addressing: number + 1, 0 = free
  uint32_t number_slot_count;
};

static IrWork* work_of(IrModel* model) {
  if (!model->work) model->work = ARENA_NEW(model->arena, IrWork);
  return model->work;
}

void ir_work_reset(IrModel* model) {
  IrWork* work = work_of(model);
  if (work->plan_of.count) memset(work->plan_of.data, 0, work->plan_of.count * sizeof(uint32_t));
  work->plans.count = 0;
  work->used.count = 0;
  work->number_slots = NULL;
  work->number_slot_count = 0;
}

// ---------------------------------------------------------------------------------------------
// numbers

/// Whole numbers that differ in the last bits only lie side by side: loops count.
static uint32_t number_hash(double value) {
  if (value >= 0.0 && value < 4294967296.0) {
    uint32_t whole = (uint32_t)value;
    uint32_t group = (uint32_t)(hash_mix(whole / 16, 1) >> 32);
    if ((double)whole == value) return (group & ~15u) | (whole & 15u);
  }
  return (uint32_t)(hash_mix(ir_double_bits(value), 1) >> 32);
}

static void numbers_index(IrModel* model, uint32_t slot_count) {
  IrWork* work = work_of(model);
  uint32_t* slots = ARENA_ARRAY(model->arena, uint32_t, slot_count);
  for (uint32_t i = 0; i < model->numbers.count; i++) {
    uint32_t at = number_hash(model->numbers.data[i]) & (slot_count - 1);
    while (slots[at] != 0) {
      at = (at + 1) & (slot_count - 1);
    }
    slots[at] = i + 1;
  }
  work->number_slots = slots;
  work->number_slot_count = slot_count;
}

/// Index of a number, equal bits giving equal indices.
static uint32_t number_intern(IrModel* model, double value) {
  IrWork* work = work_of(model);
  uint32_t wanted = work->number_slot_count ? work->number_slot_count : 64;
  while (model->numbers.count >= wanted / 2) {
    if (wanted > UINT32_MAX / 2) longjmp(*model->arena->on_oom, 1);
    wanted *= 2;
  }
  if (wanted != work->number_slot_count) numbers_index(model, wanted);

  uint32_t mask = work->number_slot_count - 1;
  uint32_t at = number_hash(value) & mask;
  for (; work->number_slots[at] != 0; at = (at + 1) & mask) {
    uint32_t index = work->number_slots[at] - 1;
    if (ir_double_bits(model->numbers.data[index]) == ir_double_bits(value)) return index;
  }
  uint32_t index = model->numbers.count;
  base_vec_push(model->arena, &model->numbers, value);
  work->number_slots[at] = index + 1;
  return index;
}

// ---------------------------------------------------------------------------------------------
// rows

void ir_term_begin(IrTermBuilder* builder, IrModel* model) {
  *builder = (IrTermBuilder){.model = model};
  IrWork* work = work_of(model);
  if (work->spare.count == 0) return;
  TermBuffer buffer = work->spare.data[--work->spare.count];
  builder->row.data = buffer.row;
  builder->row.capacity = buffer.row_capacity;
  builder->slots = buffer.slots;
  builder->slot_count = buffer.slot_count;
}

static bool leaf_equal(IrLeaf a, IrLeaf b) {
  return a.id == b.id && a.kind == b.kind && a.order == b.order && a.when == b.when;
}

static uint64_t leaf_bits(IrLeaf leaf) {
  return (uint64_t)leaf.id << 32 | (uint64_t)leaf.kind << 16 | (uint64_t)leaf.order << 8 |
         leaf.when;
}

static uint32_t leaf_hash(IrLeaf leaf) {
  return (uint32_t)(hash_mix(leaf_bits(leaf), 2) >> 32);
}

/// Index all leaves of a long row but those of addends.
static void row_index(IrTermBuilder* builder) {
  Arena* arena = builder->model->arena;
  uint32_t wanted = builder->slot_count ? builder->slot_count : 4 * TERM_LINEAR_MAX;
  while (builder->row.count >= wanted / 2) {
    if (wanted > UINT32_MAX / 2) longjmp(*arena->on_oom, 1);
    wanted *= 2;
  }
  if (wanted != builder->slot_count) {
    builder->slots = ARENA_ARRAY(arena, uint32_t, wanted);
    builder->slot_count = wanted;
  } else {
    memset(builder->slots, 0, wanted * sizeof *builder->slots);
  }
  for (uint32_t i = 0; i < builder->row.count; i++) {
    if (builder->row.data[i].pad == TERM_ADDEND) continue;
    uint32_t at = leaf_hash(builder->row.data[i]) & (wanted - 1);
    while (builder->slots[at] != 0) {
      at = (at + 1) & (wanted - 1);
    }
    builder->slots[at] = i + 1;
  }
}

/// Slot of a leaf in a long row, which is indexed.
static uint32_t row_find(IrTermBuilder* builder, IrLeaf leaf) {
  if (builder->row.count >= builder->slot_count / 2) row_index(builder);
  uint32_t mask = builder->slot_count - 1;
  uint32_t at = leaf_hash(leaf) & mask;
  for (; builder->slots[at] != 0; at = (at + 1) & mask) {
    uint32_t slot = builder->slots[at] - 1;
    if (leaf_equal(builder->row.data[slot], leaf)) return slot;
  }
  uint32_t slot = builder->row.count;
  base_vec_push(builder->model->arena, &builder->row, leaf);
  builder->slots[at] = slot + 1;
  return slot;
}

/// A new slot at the end of the row.
static ExprId row_push(IrTermBuilder* builder, IrLeaf leaf) {
  base_vec_push(builder->model->arena, &builder->row, leaf);
  if (builder->row.count == TERM_LINEAR_MAX + 1) row_index(builder);
  return ir_slot(&builder->model->pool, builder->row.count - 1);
}

ExprId ir_term_leaf(IrTermBuilder* builder, IrLeaf leaf) {
  IrPool* pool = &builder->model->pool;
  leaf.pad = 0;
  if (builder->row.count > TERM_LINEAR_MAX) return ir_slot(pool, row_find(builder, leaf));

  for (uint32_t i = 0; i < builder->row.count; i++) {
    bool alone = builder->row.data[i].pad == TERM_ADDEND;
    if (!alone && leaf_equal(builder->row.data[i], leaf)) return ir_slot(pool, i);
  }
  return row_push(builder, leaf);
}

ExprId ir_term_addend_leaf(IrTermBuilder* builder, IrLeaf leaf) {
  leaf.pad = TERM_ADDEND;
  uint32_t end = builder->row.count;
  if (end > builder->addend + TERM_LINEAR_MAX) end = builder->addend + TERM_LINEAR_MAX;
  for (uint32_t i = builder->addend; i < end; i++) {
    IrLeaf other = builder->row.data[i];
    if (other.pad == TERM_ADDEND && leaf_equal(other, leaf)) {
      return ir_slot(&builder->model->pool, i);
    }
  }
  return row_push(builder, leaf);
}

ExprId ir_term_var(IrTermBuilder* builder, uint32_t var, uint8_t order, IrWhen when) {
  return ir_term_leaf(
      builder, (IrLeaf){.id = var, .kind = IR_LEAF_VAR, .order = order, .when = (uint8_t)when});
}

ExprId ir_term_param(IrTermBuilder* builder, uint32_t param) {
  return ir_term_leaf(builder, (IrLeaf){.id = param, .kind = IR_LEAF_PARAM});
}

ExprId ir_term_number(IrTermBuilder* builder, double value) {
  // numbers whose very value makes the form of an expression: x^2, 0.5*m, 1/r, x = 0
  double size = value < 0 ? -value : value;
  bool structural = size == 0 || size == 0.5 || size == 1 || size == 2 || size == 3 || size == 4;
  if (structural) return ir_const(&builder->model->pool, value);
  return ir_term_number_leaf(builder, value);
}

ExprId ir_term_number_leaf(IrTermBuilder* builder, double value) {
  uint32_t id = number_intern(builder->model, value);
  return ir_term_leaf(builder, (IrLeaf){.id = id, .kind = IR_LEAF_NUMBER});
}

// ---------------------------------------------------------------------------------------------
// the end of a term

/// Arrays beside the pool get as many elements as it has nodes; new ones are 0.
static void work_fit(IrModel* model) {
  IrWork* work = model->work;
  uint32_t count = model->pool.nodes.count;
  if (work->mapped.count >= count) return;
  base_vec_reserve(model->arena, &work->plan_of, count - work->plan_of.count);
  base_vec_reserve(model->arena, &work->mark, count - work->mark.count);
  base_vec_reserve(model->arena, &work->mapped, count - work->mapped.count);
  work->plan_of.count = count;
  work->mark.count = count;
  work->mapped.count = count;
}

/// Start a walk in which no node has been seen.
static void work_visit(IrWork* work) {
  if (++work->visit != 0) return;
  memset(work->mark.data, 0, work->mark.count * sizeof *work->mark.data);
  work->visit = 1;
}

/// Append the slots that `root` uses to `used`, in order of first use.
static void find_used(IrModel* model, ExprId root) {
  IrWork* work = model->work;
  work_visit(work);
  base_vec_push(model->arena, &work->stack, root.index);
  while (work->stack.count) {
    uint32_t index = work->stack.data[--work->stack.count];
    if (work->mark.data[index] == work->visit) continue;
    work->mark.data[index] = work->visit;
    const IrNode* node = &model->pool.nodes.data[index];
    if (node->op == IR_SLOT) base_vec_push(model->arena, &work->used, node->arg[0]);
    for (uint32_t k = ir_op_arity((IrOp)node->op); k-- > ir_first_arg(node->op);) {
      base_vec_push(model->arena, &work->stack, node->arg[k]);
    }
  }
}

/// Copy of one node whose arguments are mapped already.
static uint32_t map_node(IrModel* model, uint32_t index) {
  const IrWork* work = model->work;
  IrNode node = model->pool.nodes.data[index];
  if (node.op == IR_SLOT) return ir_slot(&model->pool, work->slot_map.data[node.arg[0]]).index;
  if (node.op == IR_TABLE) {
    return ir_table(&model->pool, node.arg[0], (ExprId){work->mapped.data[node.arg[1]]}).index;
  }
  ExprId arg[3] = {{0}, {0}, {0}};
  uint32_t arity = ir_op_arity((IrOp)node.op);
  if (arity == 0) return index;
  for (uint32_t k = 0; k < arity; k++) {
    arg[k].index = work->mapped.data[node.arg[k]];
  }
  return ir_node(&model->pool, (IrOp)node.op, arg[0], arg[1], arg[2]).index;
}

/// `root` with slot s replaced by slot_map[s].
static ExprId map_slots(IrModel* model, ExprId root) {
  IrWork* work = model->work;
  work_visit(work);
  base_vec_push(model->arena, &work->stack, root.index);
  while (work->stack.count) {
    uint32_t index = work->stack.data[work->stack.count - 1];
    const IrNode* node = &model->pool.nodes.data[index];
    uint32_t before = work->stack.count;
    for (uint32_t k = ir_first_arg(node->op); k < ir_op_arity((IrOp)node->op); k++) {
      if (work->mark.data[node->arg[k]] == work->visit) continue;
      base_vec_push(model->arena, &work->stack, node->arg[k]);
    }
    if (work->stack.count > before) continue;
    work->stack.count--;
    if (work->mark.data[index] == work->visit) continue;
    work->mapped.data[index] = map_node(model, index);
    work->mark.data[index] = work->visit;
  }
  return (ExprId){work->mapped.data[root.index]};
}

static const TermPlan* plan_of(IrModel* model, ExprId root, uint32_t row_count) {
  IrWork* work = work_of(model);
  work_fit(model);
  if (work->plan_of.data[root.index]) return &work->plans.data[work->plan_of.data[root.index] - 1];

  TermPlan plan = {.shape = root, .used_begin = work->used.count};
  find_used(model, root);
  plan.used_count = work->used.count - plan.used_begin;
  bool in_order = true;
  work->slot_map.count = 0;
  base_vec_reserve(model->arena, &work->slot_map, row_count);
  for (uint32_t k = 0; k < plan.used_count; k++) {
    uint32_t slot = work->used.data[plan.used_begin + k];
    SLT_ASSERT(slot < row_count);
    work->slot_map.data[slot] = k;
    in_order = in_order && slot == k;
  }
  if (!in_order) plan.shape = map_slots(model, root);
  base_vec_push(model->arena, &work->plans, plan);
  work->plan_of.data[root.index] = work->plans.count;
  return &work->plans.data[work->plans.count - 1];
}

IrTerm ir_term_end(IrTermBuilder* builder, ExprId root) {
  IrModel* model = builder->model;
  IrTerm term = {{0}, 0, 0};
  if (root.index != 0) {
    const TermPlan* plan = plan_of(model, root, builder->row.count);
    term = (IrTerm){plan->shape, model->leaves.count, plan->used_count};
    base_vec_reserve(model->arena, &model->leaves, plan->used_count);
    for (uint32_t k = 0; k < plan->used_count; k++) {
      uint32_t slot = model->work->used.data[plan->used_begin + k];
      IrLeaf* leaf = &model->leaves.data[model->leaves.count++];
      *leaf = builder->row.data[slot];
      leaf->pad = 0;
    }
  }
  TermBuffer buffer = {builder->row.data, builder->slots, builder->row.capacity,
                       builder->slot_count};
  base_vec_push(model->arena, &model->work->spare, buffer);
  *builder = (IrTermBuilder){.model = model};
  return term;
}

// ---------------------------------------------------------------------------------------------

bool ir_term_equal(const IrModel* model, IrTerm a, IrTerm b) {
  if (a.shape.index != b.shape.index || a.leaf_count != b.leaf_count) return false;
  for (uint32_t k = 0; k < a.leaf_count; k++) {
    if (!leaf_equal(ir_leaf(model, a, k), ir_leaf(model, b, k))) return false;
  }
  return true;
}

uint64_t ir_term_hash(const IrModel* model, IrTerm term) {
  uint64_t hash = model->pool.hashes.data[term.shape.index];
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(model, term, k);
    if (leaf.kind == IR_LEAF_NUMBER) {
      hash = hash_mix(hash, ir_double_bits(model->numbers.data[leaf.id]));
      leaf.id = 0;
    }
    hash = hash_mix(hash, leaf_bits(leaf));
  }
  return hash;
}
