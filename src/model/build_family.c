// SPDX-License-Identifier: MIT
//
// Families: variables of one kind, which share their scale. The instances of a loop are a family,
// and so are the equations of one shape that stand in a text very often. The ends of a row of cells
// have equations of their own; they belong to it because they are added to its members as they
// are.
#include "model/build_internal.h"

#include <math.h>

#define REPEATS_MIN     32   // equations of one shape that make a family, wherever they stand
#define LEAVES_MIN      4    // ... if the shape says something: a' = b is everybody's
#define COEFFICIENT_MAX 2.0  // ratio: a difference of second order has a 2 in the middle
#define FACTORS_MAX     4    // of a summand; longer products are something else

/// Equations of one shape and order that were seen so far.
typedef struct Shape {
  uint32_t count;
  uint32_t var;  // of the last of them
  Span span;
} Shape;

typedef struct Families {
  const IrModel* ir;
  ModelVar* vars;  // `family`: another member, or the one that stands for all
  bool* joined;    // per variable: it is not alone
} Families;

/// The one that stands for a family: its first variable.
static uint32_t find(Families* f, uint32_t var) {
  while (f->vars[var].family != var) {
    f->vars[var].family = f->vars[f->vars[var].family].family;
    var = f->vars[var].family;
  }
  return var;
}

static void join(Families* f, uint32_t a, uint32_t b) {
  f->joined[a] = true;
  f->joined[b] = true;
  a = find(f, a);
  b = find(f, b);
  f->vars[a < b ? b : a].family = a < b ? a : b;
}

/// The variable whose derivative an equation gives; IR_NONE: none, or several.
static uint32_t moved_variable(const IrModel* ir, const IrEquation* e) {
  if (e->lhs_var != IR_NONE && e->lhs_order > 0) return e->lhs_var;
  uint32_t moved = IR_NONE;
  for (uint32_t k = 0; k < e->term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(ir, e->term, k);
    if (leaf.kind != IR_LEAF_VAR || leaf.order == 0 || leaf.id == moved) continue;
    if (moved != IR_NONE) return IR_NONE;
    moved = leaf.id;
  }
  return moved;
}

/// Equations that are written once and stand for many, or are written many times.
static void join_repeated(Families* f, Arena* scratch) {
  const IrModel* ir = f->ir;
  Shape* shapes = ARENA_ARRAY(scratch, Shape, ir->pool.nodes.count);
  for (uint32_t i = 0; i < ir->equations.count; i++) {
    IrEquation e = ir_equation(ir, i);
    if (moved_variable(ir, &e) != IR_NONE) shapes[e.term.shape.index].count++;
  }
  for (uint32_t i = 0; i < ir->pool.nodes.count; i++) {
    shapes[i].var = IR_NONE;
  }
  for (uint32_t i = 0; i < ir->equations.count; i++) {
    IrEquation e = ir_equation(ir, i);
    uint32_t var = moved_variable(ir, &e);
    if (var == IR_NONE) continue;
    Shape* shape = &shapes[e.term.shape.index];
    bool one_text = shape->span.begin == e.span.begin && shape->span.end == e.span.end;
    bool many = shape->count >= REPEATS_MIN && e.term.leaf_count >= LEAVES_MIN;
    if (shape->var != IR_NONE && shape->var != var && (one_text || many)) join(f, shape->var, var);
    shape->var = var;
    shape->span = e.span;
  }
}

/// What a summand is, as far as its shape tells: the product of a number and some slots.
typedef struct Summand {
  double number;
  uint32_t count;  // 0: something else, or a number alone
  uint32_t slots[FACTORS_MAX];
} Summand;

/// Two summands of one sum.
typedef struct Pair {
  Summand a, b;
} Pair;

/// Sums in the shapes of the model.
typedef struct Sums {
  Arena* scratch;
  const IrPool* pool;
  Summand* first;           // per node: a summand of the sum that it is, or itself
  uint32_t* seen;           // per node: shape for which it was looked at last
  uint32_t *begin, *count;  // per shape: its pairs
  BASE_VEC(Pair) pairs;
  BASE_VEC(uint32_t) stack;
} Sums;

/// a b, if both are products.
static Summand product_of(const Sums* sums, const IrNode* node) {
  Summand none = {0};
  Summand product = {.number = 1.0};
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t op = sums->pool->nodes.data[node->arg[k]].op;
    const Summand* part = &sums->first[node->arg[k]];
    bool plain = op == IR_CONST || ((op == IR_SLOT || op == IR_MUL) && part->count > 0);
    if (!plain || product.count + part->count > FACTORS_MAX) return none;
    product.number *= part->number;
    for (uint32_t m = 0; m < part->count; m++) {
      product.slots[product.count++] = part->slots[m];
    }
  }
  return product;
}

static Summand first_summand(const Sums* sums, const IrNode* node) {
  switch (node->op) {
  case IR_CONST: return (Summand){.number = node->value};
  case IR_SLOT: return (Summand){1.0, 1, {node->arg[0]}};
  case IR_NEG: return sums->first[node->arg[0]];
  case IR_MUL: return product_of(sums, node);
  case IR_ADD:
  case IR_SUB: break;
  default: return (Summand){0};
  }
  Summand left = sums->first[node->arg[0]];
  return left.count == 0 ? sums->first[node->arg[1]] : left;
}

/// Pairs of a shape, found once.
static void find_pairs(Sums* sums, uint32_t shape) {
  if (sums->count[shape] != IR_NONE) return;
  sums->begin[shape] = sums->pairs.count;
  base_vec_push(sums->scratch, &sums->stack, shape);
  while (sums->stack.count) {
    uint32_t at = sums->stack.data[--sums->stack.count];
    if (sums->seen[at] == shape) continue;
    sums->seen[at] = shape;
    const IrNode* node = &sums->pool->nodes.data[at];
    if (node->op == IR_ADD || node->op == IR_SUB) {
      Pair pair = {sums->first[node->arg[0]], sums->first[node->arg[1]]};
      bool both = pair.a.count > 0 && pair.b.count > 0;
      if (both) base_vec_push(sums->scratch, &sums->pairs, pair);
    }
    uint32_t arity = ir_op_arity((IrOp)node->op);
    for (uint32_t k = node->op == IR_TABLE ? 1 : 0; k < arity; k++) {
      base_vec_push(sums->scratch, &sums->stack, node->arg[k]);
    }
  }
  sums->count[shape] = sums->pairs.count - sums->begin[shape];
}

/// A summand of a term: a variable times a number and parameters.
typedef struct Multiple {
  uint32_t var;  // IR_NONE: it is none
  double number;
  uint32_t params[FACTORS_MAX];
  uint32_t param_count;
} Multiple;

static Multiple multiple_of(const IrModel* ir, IrTerm term, const Summand* summand) {
  Multiple m = {.var = IR_NONE, .number = fabs(summand->number)};
  for (uint32_t k = 0; k < summand->count; k++) {
    IrLeaf leaf = ir_leaf(ir, term, summand->slots[k]);
    bool var = leaf.kind == IR_LEAF_VAR && leaf.order == 0 && m.var == IR_NONE;
    if (var) {
      m.var = leaf.id;
    } else if (leaf.kind == IR_LEAF_NUMBER) {
      m.number *= fabs(ir->numbers.data[leaf.id]);
    } else if (leaf.kind == IR_LEAF_PARAM) {
      m.params[m.param_count++] = leaf.id;
    } else {
      return (Multiple){.var = IR_NONE};
    }
  }
  return m;
}

/// Whether two variables stand in a sum with nearly the same coefficient.
static bool are_alike(const Multiple* a, const Multiple* b) {
  if (a->var == IR_NONE || b->var == IR_NONE || a->param_count != b->param_count) return false;
  for (uint32_t k = 0; k < a->param_count; k++) {
    if (a->params[k] != b->params[k]) return false;
  }
  return a->number <= COEFFICIENT_MAX * b->number && b->number <= COEFFICIENT_MAX * a->number;
}

/// What is added to a member of a family with the same coefficient, or twice that, has its unit.
static void join_neighbours(Families* f, Arena* scratch) {
  const IrModel* ir = f->ir;
  uint32_t count = ir->pool.nodes.count;
  Sums sums = {.scratch = scratch, .pool = &ir->pool};
  sums.first = ARENA_ARRAY(scratch, Summand, count);
  sums.seen = ARENA_ARRAY(scratch, uint32_t, count);
  sums.begin = ARENA_ARRAY(scratch, uint32_t, count);
  sums.count = ARENA_ARRAY(scratch, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    sums.first[i] = first_summand(&sums, &ir->pool.nodes.data[i]);
    sums.seen[i] = IR_NONE;
    sums.count[i] = IR_NONE;
  }
  for (uint32_t i = 0; i < ir->equations.count; i++) {
    IrEquation e = ir_equation(ir, i);
    uint32_t shape = e.term.shape.index;
    find_pairs(&sums, shape);
    for (uint32_t k = 0; k < sums.count[shape]; k++) {
      const Pair* pair = &sums.pairs.data[sums.begin[shape] + k];
      Multiple a = multiple_of(ir, e.term, &pair->a);
      Multiple b = multiple_of(ir, e.term, &pair->b);
      if (!are_alike(&a, &b) || !(f->joined[a.var] || f->joined[b.var])) continue;
      if (find(f, a.var) != find(f, b.var)) join(f, a.var, b.var);
    }
  }
}

static bool has_families(const Families* f) {
  for (uint32_t v = 0; v < f->ir->vars.count; v++) {
    if (f->joined[v]) return true;
  }
  return false;
}

void build_families(ModelBuild* build, ModelVar* vars) {
  const IrModel* ir = build->ir;
  Families f = {.ir = ir, .vars = vars};
  f.joined = ARENA_ARRAY(&build->scratch, bool, ir->vars.count);
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    vars[v].family = v;
    f.joined[v] = false;
  }
  join_repeated(&f, &build->scratch);
  if (has_families(&f)) join_neighbours(&f, &build->scratch);
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    vars[v].family = find(&f, v);
  }
}
