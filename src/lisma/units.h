// SPDX-License-Identifier: MIT
//
// Units of quantities, checked on the expanded syntax tree: see units.c.
#ifndef SALTUS_LISMA_UNITS_H
#define SALTUS_LISMA_UNITS_H

#include "lisma/ast.h"

/// Units of names, by their heads.
typedef struct LismaUnits {
  NameTable names;
  Str* texts;   // by name id; empty where none is known
  bool* given;  // ... a value or an attribute tells it
  uint32_t count;
} LismaUnits;

/// Report equations, sums and comparisons whose sides have different units. Models that give no
/// units are left alone: NULL.
const LismaUnits* lisma_check_units(Arena* arena, const AstModel* model, DiagList* diags);
/// What the units call the family of a name with indices: an id among their names; 0 for one that
/// has no family.
uint32_t lisma_unit_family(const LismaUnits* units, Arena* arena, const AstName* name);

/// Two spellings that give one name: `family` with indices, x[i], and `member`, x1.
typedef struct LismaMeeting {
  uint32_t family, member;  // ids among the names of the units
} LismaMeeting;

typedef BASE_VEC(LismaMeeting) LismaMeetings;

/// Check once more, now that it is known which spellings mean one variable.
const LismaUnits* lisma_join_units(Arena* arena, const AstModel* model, const LismaUnits* units,
                                   const LismaMeetings* meetings, DiagList* diags);

#endif
