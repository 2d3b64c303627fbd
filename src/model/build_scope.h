// SPDX-License-Identifier: MIT
//
// The unknowns of a mode while its programs are made. Shared by build_mode.c and build_block.c.
#ifndef SALTUS_MODEL_BUILD_SCOPE_H
#define SALTUS_MODEL_BUILD_SCOPE_H

#include "model/build_internal.h"

/// An unknown that a program needs.
typedef struct ScopeItem {
  SymTerm term;
  uint32_t value;  // in the graph, once emitted
} ScopeItem;

/// An unknown of a block that is not solved.
typedef struct DirectUnknown {
  uint32_t block, index;
} DirectUnknown;

typedef struct ModeScope {
  BuildScope base;  // first: BuildScope* points here
  ModelBuild* build;
  const BuildSet* set;
  bool pre_is_now;
  bool rates_given;  // rates of states are read from the environment
  TapeGraph graph;
  uint32_t* item_of;  // per quantity, 0 for none: item + 1; its value + 1 if it is not computed
  BASE_VEC(ScopeItem) items;
  uint32_t top_level;
  bool direct;                   // unknowns of blocks are further states, not solved for
  BASE_VEC(uint32_t) residuals;  // direct: values of their equations
  BASE_VEC(DirectUnknown) direct_unknowns;
} ModeScope;

static inline uint32_t* scope_item(const ModeScope* scope, uint32_t var, uint32_t order) {
  return &scope->item_of[scope->build->layout.var_quantity[var] + order];
}

/// Solve a block for its unknowns, differentiated `level` times more than the equations need: then
/// it is linear with the same coefficients.
void scope_emit_block(ModeScope* scope, const SymBlock* block, uint32_t index, uint32_t level);
/// The block as algebraic equations between further states.
void scope_emit_direct(ModeScope* scope, const SymBlock* block, uint32_t index);

#endif
