// SPDX-License-Identifier: MIT
//
// Units of quantities, checked on the expanded syntax tree: see units.c.
#ifndef SALTUS_LISMA_UNITS_H
#define SALTUS_LISMA_UNITS_H

#include "lisma/ast.h"

/// Units of names, by their heads.
typedef struct LismaUnits {
  NameTable names;
  Str* texts;  // by name id; empty where none is known
} LismaUnits;

/// Report equations, sums and comparisons whose sides have different units. Models that give no
/// units are left alone: NULL.
const LismaUnits* lisma_check_units(Arena* arena, const AstModel* model, DiagList* diags);
/// The unit of a written name; empty when none is known.
Str lisma_unit_of(const LismaUnits* units, Arena* arena, const AstName* name);

#endif
