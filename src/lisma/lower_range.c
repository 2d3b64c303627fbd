// SPDX-License-Identifier: MIT
//
// Which values an expression can take at all, by interval arithmetic in which every variable and
// every constant may be anything: enough to see that `x*x < 0` or `abs(v) <= -1` never holds.
#include "lisma/lower.h"

#include <math.h>

#define RANGE_DEPTH_MAX 40u
#define RANGE_WORK_MAX  400u

typedef struct Range {
  double lo, hi;
} Range;

typedef struct Ranger {
  const Lower* l;
  uint32_t work;
} Ranger;

static Range range_all(void) {
  return (Range){-(double)INFINITY, (double)INFINITY};
}

/// NaN means that nothing is known.
static Range range_clean(Range r) {
  if (isnan(r.lo)) r.lo = -(double)INFINITY;
  if (isnan(r.hi)) r.hi = (double)INFINITY;
  return r;
}

static Range range_mul(Range a, Range b) {
  double products[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  Range r = {products[0], products[0]};
  for (int i = 0; i < 4; i++) {
    if (isnan(products[i])) return range_all();  // 0 * infinity
    r.lo = fmin(r.lo, products[i]);
    r.hi = fmax(r.hi, products[i]);
  }
  return r;
}

static Range range_of(Ranger* w, ExprId e, uint32_t depth);

static Range range_leaf(const Lower* l, uint32_t slot) {
  IrLeaf leaf = l->terms.builder.row.data[slot];
  if (leaf.kind != IR_LEAF_NUMBER) return range_all();
  double value = l->m->numbers.data[leaf.id];
  return (Range){value, value};
}

static Range range_square(Range a) {
  double most = fmax(a.lo * a.lo, a.hi * a.hi);
  bool spans = a.lo <= 0.0 && a.hi >= 0.0;
  return (Range){spans ? 0.0 : fmin(a.lo * a.lo, a.hi * a.hi), most};
}

static Range range_pow(Ranger* w, const IrNode* node, uint32_t depth) {
  Range base = range_of(w, (ExprId){node->arg[0]}, depth);
  Range exponent = range_of(w, (ExprId){node->arg[1]}, depth);
  bool even = exponent.lo == exponent.hi && fmod(exponent.lo, 2.0) == 0.0 && exponent.lo > 0.0;
  if (even && exponent.lo == 2.0) return range_square(base);
  return even ? (Range){0.0, (double)INFINITY} : range_all();
}

static Range range_node(Ranger* w, const IrNode* node, uint32_t depth) {
  Range a = {0.0, 0.0};
  Range b = {0.0, 0.0};
  uint32_t arity = ir_op_arity((IrOp)node->op);
  if (arity > 0 && node->op != IR_TABLE) a = range_of(w, (ExprId){node->arg[0]}, depth);
  if (arity > 1) b = range_of(w, (ExprId){node->arg[1]}, depth);
  switch ((int)node->op) {
  case IR_NEG: return (Range){-a.hi, -a.lo};
  case IR_ADD: return (Range){a.lo + b.lo, a.hi + b.hi};
  case IR_SUB: return (Range){a.lo - b.hi, a.hi - b.lo};
  case IR_MUL: return node->arg[0] == node->arg[1] ? range_square(a) : range_mul(a, b);
  case IR_POW: return range_pow(w, node, depth);
  case IR_SIGN: return (Range){-1.0, 1.0};
  case IR_SQRT: return (Range){0.0, (double)INFINITY};
#define CASE(X, name, word, call, lo, hi, ...) \
  case IR_##name: return (Range){lo, hi};
    BASE_FUNCTIONS(CASE, )  // NOLINT(bugprone-branch-clone): a table
#undef CASE
  case IR_ABS: {
    Range square = range_square(a);
    return (Range){sqrt(square.lo), sqrt(square.hi)};
  }
  case IR_MIN: return (Range){fmin(a.lo, b.lo), fmin(a.hi, b.hi)};
  case IR_MAX: return (Range){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
  default: return range_all();
  }
}

static Range range_of(Ranger* w, ExprId e, uint32_t depth) {
  if (depth > RANGE_DEPTH_MAX || ++w->work > RANGE_WORK_MAX) return range_all();
  IrNode node = w->l->m->pool.nodes.data[e.index];
  if (node.op == IR_CONST) return (Range){node.value, node.value};
  if (node.op == IR_SLOT) return range_leaf(w->l, node.arg[0]);
  return range_clean(range_node(w, &node, depth + 1));
}

uint8_t lower_range_truth(Lower* l, ExprId g, uint8_t relation) {
  Ranger w = {.l = l};
  Range r = range_of(&w, g, 0);
  if (relation == IR_REL_GT) return r.hi <= 0.0 ? VALUE_NEVER : r.lo > 0.0 ? VALUE_ALWAYS : 0;
  if (relation == IR_REL_GE) return r.hi < 0.0 ? VALUE_NEVER : r.lo >= 0.0 ? VALUE_ALWAYS : 0;
  return r.hi < 0.0 || r.lo > 0.0 ? VALUE_NEVER : 0;
}
