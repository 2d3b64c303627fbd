// SPDX-License-Identifier: MIT
//
// Which expression made a value infinite, or no number: the first equation in the order of solution
// whose result is not finite, and in it the smallest expression that is not though what it is made
// of is.
#include "model/build_internal.h"

#include <math.h>

typedef struct Search {
  const uint32_t* mode;
  const double* env;
  double t;
  ModelCulprit* out;
  bool found;
} Search;

static double leaf_value(const ModelBuild* build, const Search* s, IrLeaf leaf) {
  const Model* m = &build->model;
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_NUMBER: return build->sym.view.numbers.data[leaf.id];
  case IR_LEAF_PARAM: return s->env[m->params[leaf.id].env];
  case IR_LEAF_VAR: return s->env[m->vars[leaf.id].env + leaf.order];
  case IR_LEAF_ATOM: return s->env[m->atoms[leaf.id].env];
  case IR_LEAF_MODE:
  case IR_LEAF_ENTRY: break;
  }
  return 0.0;  // finite, which is all that counts here
}

/// Mark the expressions that a term is made of.
static bool* find_members(ModelBuild* build, ExprId root) {
  const IrPool* pool = &build->sym.view.pool;
  bool* member = ARENA_ARRAY(&build->scratch, bool, (size_t)root.index + 1);
  member[root.index] = true;
  for (uint32_t i = root.index; i > 0; i--) {
    const IrNode* node = &pool->nodes.data[i];
    if (!member[i] || node->op == IR_SLOT) continue;
    uint32_t first = node->op == IR_TABLE ? 1 : 0;
    for (uint32_t k = first; k < ir_op_arity((IrOp)node->op); k++) {
      member[node->arg[k]] = true;
    }
  }
  return member;
}

/// The value of an expression from those of its operands. A table is taken for finite.
static double node_value(const ModelBuild* build, const Search* s, SymTerm term, uint32_t index,
                         const double* value, bool* operands) {
  const IrNode* node = &build->sym.view.pool.nodes.data[index];
  double x[3] = {0.0, 0.0, 0.0};
  *operands = true;
  switch ((int)node->op) {
  case IR_SLOT: return leaf_value(build, s, term.row[node->arg[0]]);
  case IR_CONST: return node->value;
  case IR_TIME: return s->t;
  case IR_TABLE: return isfinite(value[node->arg[1]]) ? 0.0 : (double)NAN;
  default: break;
  }
  for (uint32_t k = 0; k < ir_op_arity((IrOp)node->op); k++) {
    x[k] = value[node->arg[k]];
    *operands = *operands && isfinite(x[k]);
  }
  if (node->op == IR_PACK) return x[0] + x[1];  // a list of arguments: finite if they are
  return ir_apply((IrOp)node->op, x[0], x[1], x[2]);
}

/// The condition of `if(c, nan, x)` and its kin, where the value that is chosen is a number that is
/// not finite; {0} for none.
static ExprId find_refusal(const ModelBuild* build, uint32_t index, const double* value) {
  const IrPool* pool = &build->sym.view.pool;
  const IrNode* node = &pool->nodes.data[index];
  if (node->op != IR_SELECT) return (ExprId){0};
  uint32_t chosen = value[node->arg[0]] != 0.0 ? node->arg[1] : node->arg[2];
  bool number = pool->nodes.data[chosen].op == IR_SLOT || pool->nodes.data[chosen].op == IR_CONST;
  return (ExprId){number && !isfinite(value[chosen]) ? node->arg[0] : 0};
}

/// The smallest part of a term that is not finite; {0} for none.
static ExprId find_part(ModelBuild* build, const Search* s, SymTerm term, double* result) {
  uint32_t root = term.shape.index;
  const bool* member = find_members(build, term.shape);
  double* value = ARENA_ARRAY(&build->scratch, double, (size_t)root + 1);
  for (uint32_t i = 1; i <= root; i++) {
    if (!member[i]) continue;
    bool operands = false;
    value[i] = node_value(build, s, term, i, value, &operands);
    bool leaf = build->sym.view.pool.nodes.data[i].op == IR_SLOT;
    ExprId refusal = find_refusal(build, i, value);
    s->out->condition = refusal.index != 0;
    if (refusal.index) return refusal;
    if (isfinite(value[i]) || !operands || leaf) continue;
    *result = value[i];
    return (ExprId){i};
  }
  return (ExprId){0};
}

static void search(ModelBuild* build, void* argument) {
  Search* s = argument;
  const BuildSet* set = build_set(build, s->mode);
  const SymMode* sym = set->sym;
  for (uint32_t i = 0; sym && i < sym->assign_count; i++) {
    const SymAssign* assign = &sym->assigns[i];
    double now = s->env[build->model.vars[assign->var].env + assign->order];
    if (isfinite(now) || assign->kind == SYM_IN_BLOCK) continue;
    ExprId part = find_part(build, s, assign->value, &s->out->value);
    if (part.index == 0) continue;
    TextBuffer text = {.arena = &build->arena};
    ir_print_expr(&text, &build->sym.view, part, assign->value.row);
    s->out->text = text_str(&text);
    s->out->span = ir_equation(build->ir, assign->equation).span;
    s->found = true;
    return;
  }
}

bool build_find_culprit(void* user, const uint32_t* mode, const double* env, double t,
                        ModelCulprit* out) {
  ModelBuild* build = user;
  Search s = {.mode = mode, .env = env, .t = t, .out = out};
  pthread_mutex_lock(&build->mutex);
  bool done = build_guarded(build, search, &s);
  pthread_mutex_unlock(&build->mutex);
  return done && s.found;
}
