// SPDX-License-Identifier: MIT
//
// Derivatives of shapes: one forward sweep over the steps that carries the derivative of each step
// along given seeds. A zero derivative is no expression at all, so nothing is multiplied by it.
#include "symbolic/internal.h"

#include <string.h>

/// u and v are the arguments of a step, w its result; du and dv their derivatives, zero or not.
typedef struct Rule {
  Sym* sym;
  ExprId u, v, w;
  ExprId du, dv;
} Rule;

static ExprId number(const Rule* rule, double value) {
  return sym_number(rule->sym, value);
}

static ExprId one(const Rule* rule, IrOp op, ExprId a) {
  return sym_make1(rule->sym, op, a);
}

static ExprId two(const Rule* rule, IrOp op, ExprId a, ExprId b) {
  return sym_make2(rule->sym, op, a, b);
}

/// Product and sum where zero is no expression.
static ExprId scale(const Rule* rule, ExprId derivative, ExprId factor) {
  return sym_present(derivative) ? two(rule, IR_MUL, factor, derivative) : SYM_NO_EXPR;
}

static ExprId plus(const Rule* rule, ExprId a, ExprId b) {
  if (!sym_present(a)) return b;
  return sym_present(b) ? two(rule, IR_ADD, a, b) : a;
}

static ExprId minus(const Rule* rule, ExprId a, ExprId b) {
  if (!sym_present(b)) return a;
  return sym_present(a) ? two(rule, IR_SUB, a, b) : one(rule, IR_NEG, b);
}

static ExprId over(const Rule* rule, ExprId a, ExprId b) {
  return sym_present(a) ? two(rule, IR_DIV, a, b) : SYM_NO_EXPR;
}

static ExprId square(const Rule* rule, ExprId a) {
  return two(rule, IR_MUL, a, a);
}

static ExprId derive_product(const Rule* r) {
  if (r->u.index == r->v.index) return scale(r, r->du, two(r, IR_MUL, number(r, 2.0), r->u));
  return plus(r, scale(r, r->du, r->v), scale(r, r->dv, r->u));
}

static ExprId derive_quotient(const Rule* r) {
  return over(r, minus(r, r->du, scale(r, r->dv, r->w)), r->v);
}

static ExprId derive_power(const Rule* r) {
  ExprId result = SYM_NO_EXPR;
  if (sym_present(r->du)) {
    ExprId lower = two(r, IR_POW, r->u, two(r, IR_SUB, r->v, number(r, 1.0)));
    result = scale(r, r->du, two(r, IR_MUL, r->v, lower));
  }
  if (sym_present(r->dv)) {
    ExprId factor = two(r, IR_MUL, r->w, one(r, IR_LN, r->u));
    result = plus(r, result, scale(r, r->dv, factor));
  }
  return result;
}

static ExprId derive_polygamma(const Rule* r) {
  ExprId next = two(r, IR_ADD, r->u, number(r, 1.0));
  return scale(r, r->dv, two(r, IR_POLYGAMMA, next, r->v));
}

static ExprId derive_atan2(const Rule* r) {
  ExprId cross = minus(r, scale(r, r->du, r->v), scale(r, r->dv, r->u));
  return over(r, cross, two(r, IR_ADD, square(r, r->u), square(r, r->v)));
}

/// The derivative of the branch in force.
static ExprId derive_choice(const Rule* r, ExprId condition, ExprId da, ExprId db) {
  if (!sym_present(da) && !sym_present(db)) return SYM_NO_EXPR;
  if (!sym_present(da)) da = number(r, 0.0);
  if (!sym_present(db)) db = number(r, 0.0);
  return sym_make(r->sym, IR_SELECT, condition, da, db);
}

static ExprId derive_mod(const Rule* r) {
  ExprId turns = one(r, IR_FLOOR, two(r, IR_DIV, r->u, r->v));
  return minus(r, r->du, scale(r, r->dv, turns));
}

#define ARG             r->u
#define SELF            r->w
#define NUM(x)          number(r, x)
#define ADD(x, y)       two(r, IR_ADD, x, y)
#define SUB(x, y)       two(r, IR_SUB, x, y)
#define MUL(x, y)       two(r, IR_MUL, x, y)
#define NEG(x)          one(r, IR_NEG, x)
#define SQUARE(x)       square(r, x)
#define CALL(name, x)   one(r, IR_##name, x)
#define POLYGAMMA(n, x) two(r, IR_POLYGAMMA, n, x)
#define FACTOR(x)       scale(r, r->du, x)
#define DIVISOR(x)      over(r, r->du, x)

/// Functions of one argument; du is not zero.
static ExprId derive_function(const Rule* r, IrOp op) {
  switch ((int)op) {
#define CASE(X, name, word, call, lo, hi, enclosure, slope) \
  case IR_##name: return slope;
    BASE_FUNCTIONS(CASE, )
#undef CASE
  case IR_SQRT: return over(r, r->du, two(r, IR_MUL, number(r, 2.0), r->w));
  case IR_ABS: return scale(r, r->du, one(r, IR_SIGN, r->u));
  default: return SYM_NO_EXPR;
  }
}

static ExprId derive_step(const Rule* r, IrOp op) {
  switch ((int)op) {
  case IR_NEG: return sym_present(r->du) ? one(r, IR_NEG, r->du) : SYM_NO_EXPR;
  case IR_ADD: return plus(r, r->du, r->dv);
  case IR_SUB: return minus(r, r->du, r->dv);
  case IR_MUL: return derive_product(r);
  case IR_DIV: return derive_quotient(r);
  case IR_POW: return derive_power(r);
  case IR_ATAN2: return derive_atan2(r);
  case IR_POLYGAMMA: return derive_polygamma(r);
  case IR_MIN: return derive_choice(r, two(r, IR_LT, r->u, r->v), r->du, r->dv);
  case IR_MAX: return derive_choice(r, two(r, IR_GT, r->u, r->v), r->du, r->dv);
  case IR_MOD: return derive_mod(r);
  default: return sym_present(r->du) ? derive_function(r, op) : SYM_NO_EXPR;
  }
}

static ExprId derive_table(const Rule* r, uint32_t data) {
  uint32_t order = SYM_TABLE_ORDER(data) + 1;
  if (!sym_present(r->du) || order > 2) return SYM_NO_EXPR;
  uint32_t next = order << 30 | SYM_TABLE_DATA(data);
  return scale(r, r->du, ir_table(&r->sym->view.pool, next, r->u));
}

/// Both sides; an equation stays an equation.
static ExprId derive_equation(const Rule* r) {
  ExprId left = sym_present(r->du) ? r->du : number(r, 0.0);
  ExprId right = sym_present(r->dv) ? r->dv : number(r, 0.0);
  return ir_node(&r->sym->view.pool, IR_EQUALS, left, right, SYM_NO_EXPR);
}

/// A foreign function: the sum of its derivatives by its arguments, each times that of the
/// argument. What derivatives it has of a higher order nobody knows.
static ExprId derive_foreign(const Rule* r, const SymShape* shape, const ExprId* d,
                             uint32_t table) {
  const SymStep* steps = shape->steps;
  uint32_t data = steps[table].arg[0];
  uint32_t last = steps[table].arg[1];
  uint32_t count = 0;
  ExprId sum = SYM_NO_EXPR;
  if (SYM_TABLE_ORDER(data) > 0) return SYM_NO_EXPR;
  for (uint32_t at = last; steps[at].op == IR_PACK; at = steps[at].arg[0])
    count++;
  for (uint32_t at = last, k = count; k-- > 0; at = steps[at].arg[0]) {
    ExprId argument = d[steps[at].arg[1]];
    if (!sym_present(argument)) continue;
    ExprId by = two(r, IR_PACK, steps[last].expr, number(r, (double)k));
    sum = plus(r, sum, scale(r, argument, ir_table(&r->sym->view.pool, 1u << 30 | data, by)));
  }
  return sum;
}

ExprId sym_tangent(Sym* sym, const SymShape* shape, const ExprId* seeds, ExprId time_seed) {
  const SymStep* steps = shape->steps;
  ExprId* d = sym_work(sym, 0, shape->count);
  for (uint32_t i = 0; i < shape->count; i++) {
    const SymStep* step = &steps[i];
    IrOp op = (IrOp)step->op;
    Rule rule = {.sym = sym, .w = step->expr};
    if (op == IR_SLOT) {
      d[i] = seeds[step->arg[0]];
    } else if (op == IR_TIME) {
      d[i] = time_seed;
    } else if (op == IR_TABLE && steps[step->arg[1]].op == IR_PACK) {
      d[i] = derive_foreign(&rule, shape, d, i);
    } else if (op == IR_TABLE) {
      rule.u = steps[step->arg[1]].expr;
      rule.du = d[step->arg[1]];
      d[i] = derive_table(&rule, step->arg[0]);
    } else if (op == IR_SELECT) {
      ExprId condition = steps[step->arg[0]].expr;
      d[i] = derive_choice(&rule, condition, d[step->arg[1]], d[step->arg[2]]);
    } else if (ir_op_arity(op) > 0 && !ir_op_is_boolean(op)) {
      bool binary = ir_op_arity(op) > 1;
      rule.u = steps[step->arg[0]].expr;
      rule.du = d[step->arg[0]];
      rule.v = binary ? steps[step->arg[1]].expr : SYM_NO_EXPR;
      rule.dv = binary ? d[step->arg[1]] : SYM_NO_EXPR;
      d[i] = op == IR_EQUALS ? derive_equation(&rule) : derive_step(&rule, op);
    }
  }
  return d[shape->count - 1];
}

ExprId sym_derivative(Sym* sym, ExprId shape, uint32_t slot) {
  SymMemoEntry* known = sym_memo_find(sym, SYM_MEMO_DERIVATIVE, shape, &slot, sizeof slot);
  if (known) return known->expr;
  const SymShape* laid = sym_shape(sym, shape);
  ExprId* seeds = sym_work(sym, 1, laid->slot_count);
  if (slot < laid->slot_count) seeds[slot] = sym_number(sym, 1.0);
  ExprId result = sym_tangent(sym, laid, seeds, SYM_NO_EXPR);
  if (!sym_present(result)) result = sym_number(sym, 0.0);
  sym_memo_add(sym, SYM_MEMO_DERIVATIVE, shape, &slot, sizeof slot)->expr = result;
  return result;
}

static bool leaf_moves(const Sym* sym, IrLeaf leaf, const SymVar* vars) {
  if (leaf.kind != IR_LEAF_VAR) return false;
  if (ir_var(sym->ir, leaf.id).kind != IR_VAR_UNKNOWN) return false;
  return !vars || vars[leaf.id].role != SYM_UNDETERMINED;
}

/// Total derivative of a shape whose slots move where `moves` says; the j-th moving slot gets its
/// derivative from slot count + j.
static ExprId total_shape(Sym* sym, ExprId shape, const uint8_t* moves, uint32_t count) {
  SymMemoEntry* known = sym_memo_find(sym, SYM_MEMO_TOTAL, shape, moves, count);
  if (known) return known->expr;
  const SymShape* laid = sym_shape(sym, shape);
  uint32_t room = laid->slot_count > count ? laid->slot_count : count;
  ExprId* seeds = sym_work(sym, 1, room);
  uint32_t next = count;
  for (uint32_t k = 0; k < count; k++) {
    if (moves[k]) seeds[k] = ir_slot(&sym->view.pool, next++);
  }
  ExprId result = sym_tangent(sym, laid, seeds, sym_number(sym, 1.0));
  if (!sym_present(result)) result = sym_number(sym, 0.0);
  sym_memo_add(sym, SYM_MEMO_TOTAL, shape, moves, count)->expr = result;
  return result;
}

SymTerm sym_total_derivative(Sym* sym, Arena* rows, SymTerm term, const SymVar* vars) {
  uint8_t* moves = ARENA_ARRAY(rows, uint8_t, term.count);
  uint32_t moving = 0;
  for (uint32_t k = 0; k < term.count; k++) {
    moves[k] = leaf_moves(sym, term.row[k], vars);
    moving += moves[k];
  }
  IrLeaf* row = ARENA_ARRAY(rows, IrLeaf, (size_t)term.count + moving);
  if (term.count) memcpy(row, term.row, term.count * sizeof *row);
  uint32_t at = term.count;
  for (uint32_t k = 0; k < term.count; k++) {
    if (!moves[k]) continue;
    row[at] = term.row[k];
    row[at].order++;
    row[at++].when = IR_NOW;
  }
  ExprId shape = total_shape(sym, term.shape, moves, term.count);
  return (SymTerm){.shape = shape, .count = at, .row = row};
}

ExprId sym_partial(Sym* sym, Arena* scratch, SymTerm equation, uint32_t var, uint8_t order) {
  uint32_t* slots = ARENA_ARRAY(scratch, uint32_t, equation.count);
  uint32_t count = 0;
  for (uint32_t k = 0; k < equation.count; k++) {
    IrLeaf leaf = equation.row[k];
    bool same = leaf.kind == IR_LEAF_VAR && leaf.id == var && leaf.order == order;
    if (same && leaf.when != IR_PRE) slots[count++] = k;
  }
  if (count == 0) return SYM_NO_EXPR;
  uint32_t key_size = count * (uint32_t)sizeof *slots;
  SymMemoEntry* known = sym_memo_find(sym, SYM_MEMO_PARTIAL, equation.shape, slots, key_size);
  if (known) return known->expr;
  const SymShape* laid = sym_shape(sym, equation.shape);
  ExprId* seeds =
      sym_work(sym, 1, laid->slot_count > equation.count ? laid->slot_count : equation.count);
  for (uint32_t i = 0; i < count; i++) {
    seeds[slots[i]] = sym_number(sym, 1.0);
  }
  ExprId result = sym_tangent(sym, laid, seeds, SYM_NO_EXPR);
  if (sym_present(result) && sym_node(sym, result)->op == IR_EQUALS) {
    ExprId left = {sym_node(sym, result)->arg[0]};
    ExprId right = {sym_node(sym, result)->arg[1]};
    result = sym_is_number(sym, right, 0.0)  ? left
             : sym_is_number(sym, left, 0.0) ? sym_make1(sym, IR_NEG, right)
                                             : sym_make2(sym, IR_SUB, left, right);
  }
  if (sym_present(result) && sym_is_number(sym, result, 0.0)) result = SYM_NO_EXPR;
  sym_memo_add(sym, SYM_MEMO_PARTIAL, equation.shape, slots, key_size)->expr = result;
  return result;
}

bool sym_reads(Sym* sym, ExprId shape, const IrLeaf* row,
               bool (*asks)(const void* user, IrLeaf leaf), const void* user) {
  const SymShape* laid = sym_shape(sym, shape);
  for (uint32_t i = 0; i < laid->count; i++) {
    const SymStep* step = &laid->steps[i];
    if (step->op == IR_SLOT && row[step->arg[0]].kind == IR_LEAF_VAR &&
        asks(user, row[step->arg[0]])) {
      return true;
    }
  }
  return false;
}
