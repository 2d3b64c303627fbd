// SPDX-License-Identifier: MIT
//
// Expressions of a part, copied for a component.
#include "lisma/expand_internal.h"

AstExprList expand_copy_exprs(Expander* x, Component* u, const AstExprList* list) {
  AstExprList out = {.count = list->count};
  if (list->count) out.data = ARENA_ARRAY(x->arena, AstExpr*, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    out.data[i] = expand_copy_expr(x, u, list->data[i]);
  }
  return out;
}

static AstExpr* new_expr(Expander* x, const AstExpr* like) {
  AstExpr* e = ARENA_NEW(x->arena, AstExpr);
  *e = *like;
  return e;
}

static AstExpr* error_expr(Expander* x, const AstExpr* like) {
  AstExpr* e = new_expr(x, like);
  e->kind = AST_ERROR;
  return e;
}

static AstExpr* path_expr(Expander* x, const AstExpr* e, const Path* path, uint16_t order) {
  AstExpr* out = new_expr(x, e);
  switch ((PathKind)path->kind) {
  case PATH_NAME:
    out->kind = AST_NAME;
    out->as.name.name = path->name;
    out->order = order;
    return out;
  case PATH_VALUE:
    *out = *path->value;
    if (order) expand_report_path(x, &e->as.name.name, "is a parameter and has no derivative");
    return out;
  case PATH_STATE:
    out->kind = AST_QUALIFIED;
    out->as.qualified.automaton = ARENA_NEW(x->arena, AstName);
    out->as.qualified.state = ARENA_NEW(x->arena, AstName);
    *out->as.qualified.automaton = path->name;
    *out->as.qualified.state = path->state;
    return out;
  case PATH_PORT:
  case PATH_PART:
    diag_add(x->diags, DIAG_E0216, e->span, "this is a %s, and a value is needed",
             path->kind == PATH_PORT ? "port" : "part");
    break;
  case PATH_BAD: break;
  }
  return error_expr(x, e);
}

/// `a.b`: a member of a part, or the state of an automaton.
static AstExpr* copy_qualified(Expander* x, Component* u, const AstExpr* e) {
  const AstName* first = e->as.qualified.automaton;
  const Member* member = expand_is_own(u, first) ? expand_find_member(u->table, first->head) : NULL;
  bool part = member && (member->kind == MEMBER_INSTANCE || member->kind == MEMBER_PORT);
  if (part) {
    AstName path = *first;
    path.span = e->span;
    path.member = e->as.qualified.state;
    Path found = expand_find_path(x, u, &path);
    return path_expr(x, e, &found, 0);
  }
  AstExpr* out = new_expr(x, e);
  out->as.qualified.automaton = ARENA_NEW(x->arena, AstName);
  out->as.qualified.state = ARENA_NEW(x->arena, AstName);
  *out->as.qualified.automaton =
      member ? expand_own_name(x, u, first) : expand_keep_name(x, u, first);
  *out->as.qualified.state = expand_keep_name(x, u, e->as.qualified.state);
  return out;
}

static AstExpr* copy_call(Expander* x, Component* u, const AstExpr* e) {
  AstExpr* out = new_expr(x, e);
  const AstName* callee = e->as.call.callee;
  out->as.call.callee = ARENA_NEW(x->arena, AstName);
  out->as.call.args = expand_copy_exprs(x, u, &e->as.call.args);
  Path path = expand_find_path(x, u, callee);
  if (path.kind == PATH_BAD) return error_expr(x, e);
  *out->as.call.callee = path.kind == PATH_NAME ? path.name : expand_keep_name(x, u, callee);
  return out;
}

AstRange expand_copy_range(Expander* x, Component* u, const AstRange* range) {
  AstRange out = *range;
  out.first = expand_copy_expr(x, u, range->first);
  if (range->last) out.last = expand_copy_expr(x, u, range->last);
  return out;
}

static AstExpr* copy_reduction(Expander* x, Component* u, const AstExpr* e) {
  AstExpr* out = new_expr(x, e);
  uint32_t mark = u->table->hidden.count;
  uint32_t count = e->as.reduction.iterators.count;
  out->as.reduction.iterators.data = ARENA_ARRAY(x->arena, AstIterator, count);
  for (uint32_t i = 0; i < count; i++) {
    AstIterator* iterator = &out->as.reduction.iterators.data[i];
    *iterator = e->as.reduction.iterators.data[i];
    iterator->range = expand_copy_range(x, u, &iterator->range);
    base_vec_push(x->arena, &u->table->hidden, iterator->variable);
  }
  out->as.reduction.body = expand_copy_expr(x, u, e->as.reduction.body);
  u->table->hidden.count = mark;
  return out;
}

static AstExpr* copy_chain(Expander* x, Component* u, const AstExpr* e) {
  AstExpr* out = new_expr(x, e);
  uint32_t count = e->as.chain.links.count;
  out->as.chain.links.data = ARENA_ARRAY(x->arena, AstLink, count);
  for (uint32_t i = 0; i < count; i++) {
    out->as.chain.links.data[i] = e->as.chain.links.data[i];
    out->as.chain.links.data[i].operand = expand_copy_expr(x, u, e->as.chain.links.data[i].operand);
  }
  return out;
}

AstExpr* expand_copy_optional(Expander* x, Component* u, const AstExpr* e) {
  return e ? expand_copy_expr(x, u, e) : NULL;
}

AstExpr* expand_copy_expr(Expander* x, Component* u, const AstExpr* e) {
  AstExpr* out = NULL;
  if (!expand_count_work(x, e->span)) return error_expr(x, e);
  switch (e->kind) {
  case AST_NAME: {
    Path path = expand_find_path(x, u, &e->as.name.name);
    return path_expr(x, e, &path, e->order);
  }
  case AST_QUALIFIED: return copy_qualified(x, u, e);
  case AST_CALL: return copy_call(x, u, e);
  case AST_REDUCTION: return copy_reduction(x, u, e);
  case AST_CHAIN: return copy_chain(x, u, e);
  case AST_CONDITIONAL:
    out = new_expr(x, e);
    out->as.conditional.condition = expand_copy_expr(x, u, e->as.conditional.condition);
    out->as.conditional.then_value = expand_copy_expr(x, u, e->as.conditional.then_value);
    out->as.conditional.else_value = expand_copy_expr(x, u, e->as.conditional.else_value);
    return out;
  case AST_ATOM:
    out = new_expr(x, e);
    out->as.atom.condition = expand_copy_expr(x, u, e->as.atom.condition);
    out->as.atom.eps = expand_copy_optional(x, u, e->as.atom.eps);
    out->as.atom.gamma = expand_copy_optional(x, u, e->as.atom.gamma);
    return out;
  case AST_UNARY:
    out = new_expr(x, e);
    out->as.unary.operand = expand_copy_expr(x, u, e->as.unary.operand);
    return out;
  case AST_POWER:
    out = new_expr(x, e);
    out->as.power.base = expand_copy_expr(x, u, e->as.power.base);
    out->as.power.exponent = expand_copy_expr(x, u, e->as.power.exponent);
    return out;
  case AST_ERROR:
  case AST_NUMBER: break;
  }
  return new_expr(x, e);
}
