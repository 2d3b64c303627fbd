// SPDX-License-Identifier: MIT
//
// Parser of LISMA: text to syntax tree. Hand-written recursive descent with two tokens of
// look-ahead; the grammar is docs/grammar.md, and tests/scripts/grammar_ll2.py holds the two
// together. One mistake gives one message, then parsing goes on behind it.
#ifndef SALTUS_LISMA_PARSER_H
#define SALTUS_LISMA_PARSER_H

#include "lisma/ast.h"

/// Read a model. Never NULL; errors are added to `diags`. The tree lives in `arena` and points
/// into `source->text`. After errors the tree is what could be read: fit for editors, not for
/// lowering.
const AstModel* lisma_parse(Arena* arena, const Source* source, DiagList* diags);

/// What to write instead of a statement that begins with this name, or instead of this name behind
/// the body of a state; empty when nothing is known.
Str lisma_word_hint(Arena* arena, const AstName* name, bool behind_state);

#endif
