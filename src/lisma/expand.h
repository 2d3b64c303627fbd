// SPDX-License-Identifier: MIT
//
// Parts to plain statements, on the syntax tree: see expand.c.
#ifndef SALTUS_LISMA_EXPAND_H
#define SALTUS_LISMA_EXPAND_H

#include "lisma/ast.h"

/// A tree without parts, instances and paths. `model` itself when there is nothing to expand.
const AstModel* lisma_expand(Arena* arena, const AstModel* model, DiagList* diags);

#endif
