// SPDX-License-Identifier: MIT
//
// Building expressions with folding and identities. See symbolic.h for what may change.
#include "symbolic/internal.h"

#include <math.h>

ExprId sym_number(Sym* sym, double value) {
  return ir_const(&sym->view.pool, value);
}

/// The number that a constant or truth stands for.
static bool get_number(const Sym* sym, ExprId expr, double* value) {
  const IrNode* node = sym_node(sym, expr);
  if (node->op == IR_CONST) {
    *value = node->value;
  } else if (node->op == IR_TRUE || node->op == IR_FALSE) {
    *value = node->op == IR_TRUE ? 1.0 : 0.0;
  } else {
    return false;
  }
  return true;
}

bool sym_is_number(const Sym* sym, ExprId expr, double value) {
  const IrNode* node = sym_node(sym, expr);
  return sym_present(expr) && node->op == IR_CONST && node->value == value;
}

static bool is_op(const Sym* sym, ExprId expr, IrOp op) {
  return sym_node(sym, expr)->op == op;
}

static ExprId argument(const Sym* sym, ExprId expr, uint32_t which) {
  return (ExprId){sym_node(sym, expr)->arg[which]};
}

static bool op_folds(IrOp op) {
  switch ((int)op) {
  case IR_NIL:
  case IR_CONST:
  case IR_SLOT:
  case IR_TIME:
  case IR_TRUE:
  case IR_FALSE:
  case IR_TABLE:
  case IR_RANDOM:
  case IR_UNIFORM:
  case IR_NORMAL:
  case IR_NOISE:
  case IR_EXPONENTIAL:
  case IR_PACK:
  case IR_EQUALS: return false;
  default: return true;
  }
}

static ExprId make_truth(Sym* sym, bool value) {
  return ir_node(&sym->view.pool, value ? IR_TRUE : IR_FALSE, SYM_NO_EXPR, SYM_NO_EXPR,
                 SYM_NO_EXPR);
}

/// All arguments known: the result is.
static bool fold(Sym* sym, IrOp op, ExprId a, ExprId b, ExprId c, ExprId* result) {
  if (!op_folds(op)) return false;
  uint32_t arity = ir_op_arity(op);
  double values[3] = {0};
  if (arity > 0 && !get_number(sym, a, &values[0])) return false;
  if (arity > 1 && !get_number(sym, b, &values[1])) return false;
  if (arity > 2 && !get_number(sym, c, &values[2])) return false;
  double value = ir_apply(op, values[0], values[1], values[2]);
  bool is_truth = ir_op_is_boolean(op) || (op == IR_SELECT && !is_op(sym, b, IR_CONST));
  *result = is_truth ? make_truth(sym, value != 0.0) : sym_number(sym, value);
  return true;
}

static ExprId plain(Sym* sym, IrOp op, ExprId a, ExprId b) {
  return ir_node(&sym->view.pool, op, a, b, SYM_NO_EXPR);
}

static ExprId make_neg(Sym* sym, ExprId a) {
  if (is_op(sym, a, IR_NEG)) return argument(sym, a, 0);
  if (is_op(sym, a, IR_SUB)) return plain(sym, IR_SUB, argument(sym, a, 1), argument(sym, a, 0));
  return plain(sym, IR_NEG, a, SYM_NO_EXPR);
}

static ExprId make_add(Sym* sym, ExprId a, ExprId b) {
  if (sym_is_number(sym, a, 0.0)) return b;
  if (sym_is_number(sym, b, 0.0)) return a;
  if (is_op(sym, b, IR_NEG)) return plain(sym, IR_SUB, a, argument(sym, b, 0));
  if (is_op(sym, a, IR_NEG)) return plain(sym, IR_SUB, b, argument(sym, a, 0));
  return plain(sym, IR_ADD, a, b);
}

static ExprId make_sub(Sym* sym, ExprId a, ExprId b) {
  if (sym_is_number(sym, b, 0.0)) return a;
  if (sym_is_number(sym, a, 0.0)) return make_neg(sym, b);
  if (is_op(sym, b, IR_NEG)) return plain(sym, IR_ADD, a, argument(sym, b, 0));
  return plain(sym, IR_SUB, a, b);
}

static ExprId make_mul(Sym* sym, ExprId a, ExprId b) {
  if (sym_is_number(sym, a, 1.0)) return b;
  if (sym_is_number(sym, b, 1.0)) return a;
  if (sym_is_number(sym, a, -1.0)) return make_neg(sym, b);
  if (sym_is_number(sym, b, -1.0)) return make_neg(sym, a);
  bool both = is_op(sym, a, IR_NEG) && is_op(sym, b, IR_NEG);
  if (both) return plain(sym, IR_MUL, argument(sym, a, 0), argument(sym, b, 0));
  return plain(sym, IR_MUL, a, b);
}

static ExprId make_div(Sym* sym, ExprId a, ExprId b) {
  if (sym_is_number(sym, b, 1.0)) return a;
  if (sym_is_number(sym, b, -1.0)) return make_neg(sym, a);
  bool both = is_op(sym, a, IR_NEG) && is_op(sym, b, IR_NEG);
  if (both) return plain(sym, IR_DIV, argument(sym, a, 0), argument(sym, b, 0));
  return plain(sym, IR_DIV, a, b);
}

static ExprId make_pow(Sym* sym, ExprId a, ExprId b) {
  if (sym_is_number(sym, b, 1.0)) return a;
  if (sym_is_number(sym, b, 0.0)) return sym_number(sym, 1.0);  // as pow() has it, for any base
  return plain(sym, IR_POW, a, b);
}

/// `keep` is the truth that leaves the other operand as it is, its opposite decides alone.
static ExprId make_logic(Sym* sym, IrOp op, ExprId a, ExprId b, IrOp keep) {
  IrOp decide = keep == IR_TRUE ? IR_FALSE : IR_TRUE;
  if (is_op(sym, a, keep) || is_op(sym, b, decide)) return b;
  if (is_op(sym, b, keep) || is_op(sym, a, decide) || a.index == b.index) return a;
  return plain(sym, op, a, b);
}

static ExprId make_select(Sym* sym, ExprId condition, ExprId a, ExprId b) {
  if (is_op(sym, condition, IR_TRUE) || a.index == b.index) return a;
  if (is_op(sym, condition, IR_FALSE)) return b;
  return ir_node(&sym->view.pool, IR_SELECT, condition, a, b);
}

ExprId sym_make(Sym* sym, IrOp op, ExprId a, ExprId b, ExprId c) {
  ExprId folded;
  if (fold(sym, op, a, b, c, &folded)) return folded;
  switch ((int)op) {
  case IR_NEG: return make_neg(sym, a);
  case IR_ADD: return make_add(sym, a, b);
  case IR_SUB: return make_sub(sym, a, b);
  case IR_MUL: return make_mul(sym, a, b);
  case IR_DIV: return make_div(sym, a, b);
  case IR_POW: return make_pow(sym, a, b);
  case IR_AND: return make_logic(sym, op, a, b, IR_TRUE);
  case IR_OR: return make_logic(sym, op, a, b, IR_FALSE);
  case IR_NOT:
    if (is_op(sym, a, IR_NOT)) return argument(sym, a, 0);
    return plain(sym, op, a, b);
  case IR_SELECT: return make_select(sym, a, b, c);
  default: return ir_node(&sym->view.pool, op, a, b, c);
  }
}

ExprId sym_simplify(Sym* sym, ExprId shape) {
  SymMemoEntry* known = sym_memo_find(sym, SYM_MEMO_SIMPLE, shape, NULL, 0);
  if (known) return known->expr;
  const SymShape* laid = sym_shape(sym, shape);
  ExprId* simple = sym_work(sym, 0, laid->count);
  for (uint32_t i = 0; i < laid->count; i++) {
    const SymStep* step = &laid->steps[i];
    IrOp op = (IrOp)step->op;
    if (op == IR_TABLE) {
      simple[i] = ir_table(&sym->view.pool, step->arg[0], simple[step->arg[1]]);
      continue;
    }
    uint32_t arity = ir_op_arity(op);
    ExprId args[3] = {{0}};
    for (uint32_t k = 0; k < arity; k++) {
      args[k] = simple[step->arg[k]];
    }
    simple[i] = arity ? sym_make(sym, op, args[0], args[1], args[2]) : step->expr;
  }
  ExprId result = simple[laid->count - 1];
  sym_memo_add(sym, SYM_MEMO_SIMPLE, shape, NULL, 0)->expr = result;
  return result;
}
