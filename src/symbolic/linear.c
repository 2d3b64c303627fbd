// SPDX-License-Identifier: MIT
//
// Solving one equation for one unknown that it is linear in.
//
// A sweep over the steps writes each as coefficient*unknown + rest. Doing both in one sweep, rather
// than differentiating and setting the unknown to 0, leaves no products with 0 behind and sees at
// once where the unknown is not linear.
#include "symbolic/internal.h"

/// Zero is no expression. Steps without the unknown have no coefficient and themselves as rest.
typedef struct Linear {
  ExprId coefficient;
  ExprId rest;
} Linear;

static ExprId add(Sym* sym, ExprId a, ExprId b) {
  if (!sym_present(a)) return b;
  return sym_present(b) ? sym_make2(sym, IR_ADD, a, b) : a;
}

static ExprId sub(Sym* sym, ExprId a, ExprId b) {
  if (!sym_present(b)) return a;
  return sym_present(a) ? sym_make2(sym, IR_SUB, a, b) : sym_make1(sym, IR_NEG, b);
}

static ExprId apply(Sym* sym, IrOp op, ExprId a, ExprId b) {
  return sym_present(a) ? sym_make2(sym, op, a, b) : SYM_NO_EXPR;
}

static ExprId negate(Sym* sym, ExprId a) {
  return sym_present(a) ? sym_make1(sym, IR_NEG, a) : SYM_NO_EXPR;
}

static ExprId select(Sym* sym, ExprId condition, ExprId a, ExprId b) {
  if (!sym_present(a) && !sym_present(b)) return SYM_NO_EXPR;
  if (!sym_present(a)) a = sym_number(sym, 0.0);
  if (!sym_present(b)) b = sym_number(sym, 0.0);
  return sym_make(sym, IR_SELECT, condition, a, b);
}

static bool has_unknown(Linear x) {
  return sym_present(x.coefficient);
}

/// factor * x, with the factor on the side where it was written.
static Linear scaled(Sym* sym, Linear x, ExprId factor, bool factor_first) {
  Linear result = {SYM_NO_EXPR, SYM_NO_EXPR};
  if (factor_first) {
    result.coefficient = sym_make2(sym, IR_MUL, factor, x.coefficient);
    if (sym_present(x.rest)) result.rest = sym_make2(sym, IR_MUL, factor, x.rest);
  } else {
    result.coefficient = sym_make2(sym, IR_MUL, x.coefficient, factor);
    result.rest = apply(sym, IR_MUL, x.rest, factor);
  }
  return result;
}

/// One step that reads the unknown; false when it is not linear in it.
static bool linear_step(Sym* sym, const SymStep* step, Linear a, Linear b, Linear c,
                        Linear* result) {
  switch ((int)step->op) {
  case IR_NEG: *result = (Linear){negate(sym, a.coefficient), negate(sym, a.rest)}; return true;
  case IR_ADD:
    *result = (Linear){add(sym, a.coefficient, b.coefficient), add(sym, a.rest, b.rest)};
    return true;
  case IR_SUB:
    *result = (Linear){sub(sym, a.coefficient, b.coefficient), sub(sym, a.rest, b.rest)};
    return true;
  case IR_MUL:
    if (has_unknown(a) && has_unknown(b)) return false;
    *result = has_unknown(a) ? scaled(sym, a, b.rest, false) : scaled(sym, b, a.rest, true);
    return true;
  case IR_DIV:
    if (has_unknown(b)) return false;
    *result =
        (Linear){apply(sym, IR_DIV, a.coefficient, b.rest), apply(sym, IR_DIV, a.rest, b.rest)};
    return true;
  case IR_SELECT:
    if (has_unknown(a)) return false;
    *result = (Linear){select(sym, a.rest, b.coefficient, c.coefficient),
                       select(sym, a.rest, b.rest, c.rest)};
    return true;
  default: return false;
  }
}

static bool is_solved_slot(const SymStep* step, const uint32_t* slots, uint32_t count) {
  if (step->op != IR_SLOT) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (slots[i] == step->arg[0]) return true;
  }
  return false;
}

/// Write every step below the root as a linear form. The forms live in the two work spaces.
static bool linear_sweep(Sym* sym, const SymShape* shape, const uint32_t* slots, uint32_t count) {
  ExprId* coefficients = sym_work(sym, 0, shape->count);
  ExprId* rests = sym_work(sym, 1, shape->count);
  for (uint32_t i = 0; i + 1 < shape->count; i++) {
    const SymStep* step = &shape->steps[i];
    Linear result = {SYM_NO_EXPR, step->expr};
    if (is_solved_slot(step, slots, count)) {
      result = (Linear){sym_number(sym, 1.0), SYM_NO_EXPR};
    } else if (step->op != IR_SLOT) {
      Linear args[3] = {{{0}, {0}}};
      uint32_t first = step->op == IR_TABLE ? 1 : 0;
      uint32_t end = step->op == IR_TABLE ? 2 : ir_op_arity((IrOp)step->op);
      bool found = false;
      for (uint32_t k = first; k < end; k++) {
        args[k] = (Linear){coefficients[step->arg[k]], rests[step->arg[k]]};
        found |= has_unknown(args[k]);
      }
      if (found && !linear_step(sym, step, args[0], args[1], args[2], &result)) return false;
    }
    coefficients[i] = result.coefficient;
    rests[i] = result.rest;
  }
  return true;
}

/// `lone` = `other`, where the unknown stands alone on one side only.
static bool is_explicit(const Sym* sym, Linear lone, Linear other) {
  return sym_is_number(sym, lone.coefficient, 1.0) && !sym_present(lone.rest) &&
         !has_unknown(other);
}

/// left = right for the unknown: (right.rest - left.rest) / (left.coefficient - right.coefficient).
static SymSolution solve_sides(Sym* sym, Linear left, Linear right, ExprId* value) {
  if (is_explicit(sym, left, right)) {
    *value = right.rest;
    return SYM_EXPLICIT;
  }
  if (is_explicit(sym, right, left)) {
    *value = left.rest;
    return SYM_EXPLICIT;
  }
  // keep the coefficient on the side that has it, so that signs stay as written
  bool on_left = has_unknown(left);
  ExprId coefficient = on_left ? sub(sym, left.coefficient, right.coefficient) : right.coefficient;
  if (!sym_present(coefficient) || sym_is_number(sym, coefficient, 0.0)) return SYM_CANCELS;
  ExprId rest = on_left ? sub(sym, right.rest, left.rest) : sub(sym, left.rest, right.rest);
  if (!sym_present(rest)) rest = sym_number(sym, 0.0);
  *value = sym_make2(sym, IR_DIV, rest, coefficient);
  return SYM_LINEAR;
}

SymSolution sym_solve(Sym* sym, ExprId shape, const uint32_t* slots, uint32_t slot_count,
                      ExprId* value) {
  uint32_t key_size = slot_count * (uint32_t)sizeof *slots;
  SymMemoEntry* known = sym_memo_find(sym, SYM_MEMO_SOLVE, shape, slots, key_size);
  if (!known) {
    const SymShape* laid = sym_shape(sym, shape);
    const SymStep* root = &laid->steps[laid->count - 1];
    SymSolution how = SYM_NONLINEAR;
    ExprId solved = SYM_NO_EXPR;
    if (root->op == IR_EQUALS && linear_sweep(sym, laid, slots, slot_count)) {
      Linear left = {sym->work[0].data[root->arg[0]], sym->work[1].data[root->arg[0]]};
      Linear right = {sym->work[0].data[root->arg[1]], sym->work[1].data[root->arg[1]]};
      how = solve_sides(sym, left, right, &solved);
    }
    known = sym_memo_add(sym, SYM_MEMO_SOLVE, shape, slots, key_size);
    known->expr = solved;
    known->tag = (uint32_t)how;
  }
  *value = known->expr;
  return (SymSolution)known->tag;
}

SymSolution sym_solve_for(Sym* sym, Arena* scratch, SymTerm term, uint32_t var, uint8_t order,
                          ExprId* value) {
  uint32_t* slots = ARENA_ARRAY(scratch, uint32_t, term.count);
  uint32_t count = 0;
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    bool same = leaf.kind == IR_LEAF_VAR && leaf.id == var && leaf.order == order;
    if (same && leaf.when != IR_PRE) slots[count++] = k;
  }
  return sym_solve(sym, term.shape, slots, count, value);
}

bool sym_rest(Sym* sym, ExprId shape, const uint32_t* slots, uint32_t slot_count, ExprId* rest) {
  uint32_t key_size = slot_count * (uint32_t)sizeof *slots;
  SymMemoEntry* known = sym_memo_find(sym, SYM_MEMO_REST, shape, slots, key_size);
  if (!known) {
    const SymShape* laid = sym_shape(sym, shape);
    const SymStep* root = &laid->steps[laid->count - 1];
    ExprId value = SYM_NO_EXPR;
    // the coefficients of all together mean nothing, what is left beside them does
    bool linear = root->op == IR_EQUALS && linear_sweep(sym, laid, slots, slot_count);
    if (linear) {
      value = sub(sym, sym->work[1].data[root->arg[0]], sym->work[1].data[root->arg[1]]);
    }
    if (sym_present(value) && sym_is_number(sym, value, 0.0)) value = SYM_NO_EXPR;
    known = sym_memo_add(sym, SYM_MEMO_REST, shape, slots, key_size);
    known->expr = value;
    known->tag = linear;
  }
  *rest = known->expr;
  return known->tag;
}
