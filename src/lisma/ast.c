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
