// SPDX-License-Identifier: MIT
//
// Checks of the pool and of terms. What holds for all terms of one shape is found once per shape.
#include "ir/verify.h"

static uint8_t op_type(uint32_t op) {
  if (op == IR_EQUALS) return VERIFY_EQUATION;
  if (op == IR_SLOT) return VERIFY_ANY;
  return ir_op_is_boolean((IrOp)op) ? VERIFY_TRUTH : VERIFY_NUMBER;
}

/// What argument `k` of an operator must be.
static uint8_t arg_type(uint32_t op, uint32_t k) {
  bool logical = op == IR_AND || op == IR_OR || op == IR_NOT || (op == IR_SELECT && k == 0);
  return logical ? VERIFY_TRUTH : VERIFY_NUMBER;
}

static bool verify_node(Verify* v, uint32_t index) {
  const IrNode* node = &v->model->pool.nodes.data[index];
  if (node->op == IR_NIL || node->op >= IR_OP_COUNT) {
    return verify_fail(v, "node %u: no such operator", index);
  }
  if (node->flags != 0) return verify_fail(v, "node %u: flags are not 0", index);
  if (node->op != IR_CONST && ir_double_bits(node->value) != 0) {
    return verify_fail(v, "node %u: a value, but no constant", index);
  }
  uint32_t arity = node->op == IR_SLOT ? 1 : ir_op_arity((IrOp)node->op);
  for (uint32_t k = arity; k < 3; k++) {
    if (node->arg[k] != 0) return verify_fail(v, "node %u: unused argument %u is set", index, k);
  }
  if (node->op == IR_TABLE && node->arg[0] >= v->model->data.count) {
    return verify_fail(v, "node %u: no such data", index);
  }
  if (!ir_expr_valid(&v->model->pool, (ExprId){index})) {
    return verify_fail(v, "node %u: an argument is not an earlier node", index);
  }
  for (uint32_t k = ir_first_arg(node->op); node->op != IR_SLOT && k < arity; k++) {
    if ((v->type[node->arg[k]] & arg_type(node->op, k)) == 0) {
      return verify_fail(v, "node %u: argument %u has the wrong type", index, k);
    }
  }
  v->type[index] = op_type(node->op);
  return true;
}

bool verify_pool(Verify* v) {
  const IrPool* pool = &v->model->pool;
  uint32_t count = pool->nodes.count;
  if (count == 0 || pool->nodes.data[0].op != IR_NIL) {
    return verify_fail(v, "the pool does not begin with nil");
  }
  if (pool->hashes.count != count) return verify_fail(v, "the pool has not one hash per node");
  v->type = ARENA_ARRAY(v->arena, uint8_t, count);
  v->need = ARENA_ARRAY(v->arena, uint8_t, count);
  v->needed = ARENA_ARRAY(v->arena, uint32_t, count);
  v->opened = ARENA_ARRAY(v->arena, uint32_t, count);
  v->shape_of = ARENA_ARRAY(v->arena, uint32_t, count);
  for (uint32_t i = 1; i < count; i++) {
    if (!verify_node(v, i)) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// shapes

static void need_node(Verify* v, uint32_t index, uint8_t type) {
  if (v->needed[index] != v->visit) {
    v->needed[index] = v->visit;
    v->need[index] = VERIFY_ANY;
  }
  v->need[index] &= type;
}

/// Walk over a shape from left to right; its slots go to `slots` in the order of their first use.
static VerifyShape walk_shape(Verify* v, uint32_t root) {
  VerifyShape shape = {.need_begin = v->needs.count};
  v->visit++;
  v->slots.count = 0;
  need_node(v, root, VERIFY_ANY);
  base_vec_push(v->arena, &v->stack, root);
  while (v->stack.count) {
    uint32_t index = v->stack.data[--v->stack.count];
    if (v->opened[index] == v->visit) continue;
    v->opened[index] = v->visit;
    const IrNode* node = &v->model->pool.nodes.data[index];
    if (node->op == IR_SLOT) base_vec_push(v->arena, &v->slots, index);
    if (node->op == IR_TIME) shape.reads_time = true;
    if (node->op >= IR_RANDOM && node->op <= IR_EXPONENTIAL) shape.reads_random = true;
    for (uint32_t k = ir_op_arity((IrOp)node->op); k-- > ir_first_arg(node->op);) {
      need_node(v, node->arg[k], arg_type(node->op, k));
      base_vec_push(v->arena, &v->stack, node->arg[k]);
    }
  }
  shape.slot_count = v->slots.count;
  return shape;
}

/// What is known about the shape under a valid root; NULL when it is broken.
static const VerifyShape* find_shape(Verify* v, uint32_t root) {
  if (v->shape_of[root] == 0) {
    VerifyShape shape = walk_shape(v, root);
    for (uint32_t k = 0; k < shape.slot_count; k++) {
      uint32_t index = v->slots.data[k];
      if (v->model->pool.nodes.data[index].arg[0] != k) {
        verify_fail(v, "shape %u: its slots are not numbered in the order of first use", root);
        return NULL;
      }
      if (v->need[index] == 0) {
        verify_fail(v, "shape %u: slot %u is used as a number and as a truth value", root, k);
        return NULL;
      }
      base_vec_push(v->arena, &v->needs, v->need[index]);
    }
    base_vec_push(v->arena, &v->shapes, shape);
    v->shape_of[root] = v->shapes.count;
  }
  return &v->shapes.data[v->shape_of[root] - 1];
}

// ---------------------------------------------------------------------------------------------
// terms

static uint8_t leaf_type(IrLeaf leaf) {
  return leaf.kind == IR_LEAF_ATOM || leaf.kind == IR_LEAF_MODE ? VERIFY_TRUTH : VERIFY_NUMBER;
}

static bool leaf_in_range(const IrModel* model, IrLeaf leaf) {
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_NUMBER: return leaf.id < model->numbers.count;
  case IR_LEAF_PARAM: return leaf.id < model->params.count;
  case IR_LEAF_VAR: return leaf.id < model->vars.count;
  case IR_LEAF_ATOM: return leaf.id < model->atoms.count;
  case IR_LEAF_MODE: return leaf.id < model->mode_tests.count;
  case IR_LEAF_ENTRY: return leaf.id == IR_NONE || leaf.id < model->automata.count;
  }
  return false;
}

static bool verify_leaf(Verify* v, const VerifyRule* rule, uint32_t index, uint32_t slot,
                        IrLeaf leaf) {
  const char* what = rule->what;
  if (leaf.kind > IR_LEAF_ENTRY || leaf.pad != 0) {
    return verify_fail(v, "%s %u: slot %u: no such kind of leaf", what, index, slot);
  }
  if (!leaf_in_range(v->model, leaf)) {
    return verify_fail(v, "%s %u: slot %u: index out of range", what, index, slot);
  }
  if ((rule->leaves >> leaf.kind & 1) == 0) {
    return verify_fail(v, "%s %u: slot %u: such a leaf must not stand here", what, index, slot);
  }
  bool var = leaf.kind == IR_LEAF_VAR;
  if (leaf.when > IR_POST || (!var && (leaf.order != 0 || leaf.when != 0))) {
    return verify_fail(v, "%s %u: slot %u: wrong order or instant", what, index, slot);
  }
  if (leaf.when != IR_NOW && !rule->when) {
    return verify_fail(v, "%s %u: slot %u: pre or post must not stand here", what, index, slot);
  }
  if (leaf.order != 0 && v->model->vars.data[leaf.id].kind == IR_VAR_DISCRETE) {
    return verify_fail(v, "%s %u: slot %u: derivative of a discrete variable", what, index, slot);
  }
  return true;
}

bool verify_term(Verify* v, const VerifyRule* rule, uint32_t index, IrTerm term) {
  const IrModel* model = v->model;
  const char* what = rule->what;
  if (!ir_term_present(term)) {
    if (!rule->optional) return verify_fail(v, "%s %u: a term is missing", what, index);
    if (term.leaf_count != 0) return verify_fail(v, "%s %u: leaves without shape", what, index);
    return true;
  }
  if (term.shape.index >= model->pool.nodes.count) {
    return verify_fail(v, "%s %u: no such shape", what, index);
  }
  if (term.leaf_begin > model->leaves.count ||
      term.leaf_count > model->leaves.count - term.leaf_begin) {
    return verify_fail(v, "%s %u: its leaves are out of range", what, index);
  }
  if ((v->type[term.shape.index] & rule->type) == 0) {
    return verify_fail(v, "%s %u: the term has the wrong type", what, index);
  }
  const VerifyShape* shape = find_shape(v, term.shape.index);
  if (!shape) return false;
  if (shape->slot_count != term.leaf_count) {
    return verify_fail(v, "%s %u: %u leaves for %u slots", what, index, term.leaf_count,
                       shape->slot_count);
  }
  if (shape->reads_time && !rule->time) {
    return verify_fail(v, "%s %u: time must not stand here", what, index);
  }
  if (shape->reads_random && !rule->random) {
    return verify_fail(v, "%s %u: a random number must not stand here", what, index);
  }
  bool bare = model->pool.nodes.data[term.shape.index].op == IR_SLOT;
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(model, term, k);
    if (!verify_leaf(v, rule, index, k, leaf)) return false;
    uint8_t need = bare ? rule->type : v->needs.data[shape->need_begin + k];
    if ((leaf_type(leaf) & need) == 0) {
      return verify_fail(v, "%s %u: slot %u has the wrong type", what, index, k);
    }
  }
  return true;
}
