// SPDX-License-Identifier: MIT
#include "lisma/ast.h"

static const AstLevel op_levels[] = {
#define X(name, level, text) level,
    AST_OP_LIST(X)
#undef X
};

static const char* const op_texts[] = {
#define X(name, level, text) text,
    AST_OP_LIST(X)
#undef X
};

static const char* const event_texts[] = {
#define X(name, text) text,
    AST_EVENT_LIST(X)
#undef X
};

AstLevel ast_op_level(AstOp op) {
  return op_levels[op];
}

const char* ast_op_text(AstOp op) {
  return op_texts[op];
}

const char* ast_event_text(AstEvent type) {
  return event_texts[type];
}

bool ast_path(const AstExpr* e, AstName* out) {
  if (e->kind == AST_NAME && e->order == 0) {
    *out = e->as.name.name;
    return true;
  }
  if (e->kind != AST_QUALIFIED) return false;
  *out = *e->as.qualified.automaton;
  out->member = e->as.qualified.state;
  out->span = e->span;
  return true;
}

/// The i-th subscript of a name and of the members behind it; what is left of i without one.
static AstExpr* subscript(const AstName* name, uint32_t* i) {
  for (; name; name = name->member) {
    for (uint32_t k = 0; k < name->indices.count; k++) {
      const AstExprList* list = &name->indices.data[k].subscripts;
      if (*i < list->count) return list->data[*i];
      *i -= list->count;
    }
  }
  return NULL;
}

static AstExpr* reduction_child(const AstExpr* e, uint32_t i) {
  const AstIteratorList* iterators = &e->as.reduction.iterators;
  for (uint32_t k = 0; k < iterators->count; k++) {
    const AstRange* range = &iterators->data[k].range;
    if (i == 0) return range->first;
    if (i == 1 && range->last) return range->last;
    i -= range->last ? 2 : 1;
  }
  return i == 0 ? e->as.reduction.body : NULL;
}

static AstExpr* nth(AstExpr* const* list, uint32_t count, uint32_t i) {
  for (uint32_t k = 0; k < count; k++) {
    if (list[k] && i-- == 0) return list[k];
  }
  return NULL;
}

AstExpr* ast_child(const AstExpr* e, uint32_t i) {
  AstExpr* found = NULL;
  switch (e->kind) {
  case AST_NAME: return subscript(&e->as.name.name, &i);
  case AST_QUALIFIED: return subscript(e->as.qualified.automaton, &i);
  case AST_CALL:
    found = subscript(e->as.call.callee, &i);
    if (found) return found;
    return i < e->as.call.args.count ? e->as.call.args.data[i] : NULL;
  case AST_REDUCTION: return reduction_child(e, i);
  case AST_CONDITIONAL: {
    AstExpr* parts[] = {e->as.conditional.condition, e->as.conditional.then_value,
                        e->as.conditional.else_value};
    return nth(parts, 3, i);
  }
  case AST_ATOM: {
    AstExpr* parts[] = {e->as.atom.condition, e->as.atom.eps, e->as.atom.gamma};
    return nth(parts, 3, i);
  }
  case AST_UNARY: return i == 0 ? e->as.unary.operand : NULL;
  case AST_POWER: {
    AstExpr* parts[] = {e->as.power.base, e->as.power.exponent};
    return nth(parts, 2, i);
  }
  case AST_CHAIN: return i < e->as.chain.links.count ? e->as.chain.links.data[i].operand : NULL;
  case AST_ERROR:
  case AST_NUMBER: break;
  }
  return NULL;
}

bool ast_is_choice(const AstExpr* e, uint32_t i) {
  static const char* const words[] = {"hold",  "extrapolate", "periodic",
                                      "error", "linear",      "cubic"};
  const AstName* callee = e->kind == AST_CALL && i >= 2 ? e->as.call.callee : NULL;
  bool takes = callee && (ast_name_is_word(callee, STR_LIT("table")) ||
                          ast_name_is_word(callee, STR_LIT("delay")));
  const AstExpr* child = takes ? ast_child(e, i) : NULL;
  for (size_t k = 0; child && child->kind == AST_NAME && k < SLT_COUNT(words); k++) {
    if (ast_name_is_word(&child->as.name.name, str_from_c(words[k]))) return true;
  }
  return false;
}

uint32_t ast_format_begin(Str text, uint32_t begin, uint32_t end) {
  uint32_t at = end;
  while (at > begin && text.data[at - 1] != ':')
    at--;
  return at > begin && at < end && text.data[at] == '.' ? at - 1 : end;
}
