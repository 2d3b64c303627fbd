// SPDX-License-Identifier: MIT
//
// Units of quantities, checked on the expanded syntax tree: see units.c.
#ifndef SALTUS_LISMA_UNITS_H
#define SALTUS_LISMA_UNITS_H

#include "lisma/ast.h"

/// Report equations, sums and comparisons whose sides have different units. Models that give no
/// units are left alone.
void lisma_check_units(Arena* arena, const AstModel* model, DiagList* diags);

#endif
