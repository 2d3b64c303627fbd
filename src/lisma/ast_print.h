// SPDX-License-Identifier: MIT
//
// Canonical text of a syntax tree: one statement a line, two spaces of indentation, symbols for
// operator words, parentheses only where needed. Parsing the text gives an equal tree, so printing
// is a fixed point. Comments are not in the tree.
#ifndef SALTUS_LISMA_AST_PRINT_H
#define SALTUS_LISMA_AST_PRINT_H

#include "lisma/ast.h"

void ast_print_model(TextBuffer* out, const AstModel* model);
/// One statement at an indentation of `depth` levels, with its end of line.
void ast_print_statement(TextBuffer* out, const AstStatement* statement, uint32_t depth);
void ast_print_expr(TextBuffer* out, const AstExpr* expr);
void ast_print_name(TextBuffer* out, const AstName* name);

#endif
