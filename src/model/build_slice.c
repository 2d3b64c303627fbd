// SPDX-License-Identifier: MIT
//
// Facts about the atoms of a mode that the engine's decisions rest on: through which equations each
// is computed, and how it depends on time and states.
#include "model/build_internal.h"

/// Identity of the way a quantity is computed: 0 for what is not computed in this mode.
static uint64_t leaf_slice(const BuildSet* set, const uint64_t* assigned, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR) return 0;
  const SymVar* var = &set->sym->vars[leaf.id];
  bool computed =
      var->role == SYM_ALGEBRAIC || (var->role == SYM_STATE && leaf.order >= var->order);
  if (!computed || var->assign == IR_NONE) return 0;
  return hash_mix(assigned[var->assign], leaf.order);
}

/// An equation's own identity together with that of everything it is computed from.
static uint64_t* assigned_slices(ModelBuild* build, const BuildSet* set) {
  const SymMode* sym = set->sym;
  uint64_t* assigned = ARENA_ARRAY(&build->scratch, uint64_t, sym->assign_count);
  for (uint32_t i = 0; i < sym->assign_count; i++) {
    const SymAssign* assign = &sym->assigns[i];
    uint64_t hash = hash_mix(1, assign->equation);
    if (assign->kind == SYM_IN_BLOCK) {
      // all equations of a block have a part in each of its unknowns
      const SymBlock* block = &sym->blocks[assign->block];
      if (i > block->begin) {
        assigned[i] = assigned[block->begin];
        continue;
      }
      for (uint32_t m = 0; m < block->count; m++) {
        const SymAssign* member = &sym->assigns[block->begin + m];
        hash = hash_mix(hash, member->equation);
        for (uint32_t k = 0; k < member->value.count; k++) {
          IrLeaf leaf = member->value.row[k];
          bool earlier = leaf.kind == IR_LEAF_VAR && sym->vars[leaf.id].assign < block->begin;
          if (earlier) hash = hash_mix(hash, leaf_slice(set, assigned, leaf));
        }
      }
      assigned[i] = hash;
      continue;
    }
    for (uint32_t k = 0; k < assign->value.count; k++) {
      // the derivative being solved for stands in the row too; it has no slice of its own yet
      const SymVar* var = &sym->vars[assign->value.row[k].id];
      bool later = assign->value.row[k].kind == IR_LEAF_VAR && var->assign >= i;
      if (!later) hash = hash_mix(hash, leaf_slice(set, assigned, assign->value.row[k]));
    }
    assigned[i] = hash;
  }
  return assigned;
}

const uint64_t* build_slices(ModelBuild* build, const BuildSet* set, const uint32_t* atoms,
                             uint32_t count) {
  uint64_t* slices = ARENA_ARRAY(&build->arena, uint64_t, count);
  const uint64_t* assigned = assigned_slices(build, set);
  for (uint32_t i = 0; i < count; i++) {
    IrTerm g = build->ir->atoms.data[atoms[i]].g;
    uint64_t slice = 0;
    for (uint32_t k = 0; k < g.leaf_count; k++) {
      uint64_t part = leaf_slice(set, assigned, ir_leaf(build->ir, g, k));
      if (part) slice = hash_mix(slice, part);
    }
    slices[i] = slice;
  }
  return slices;
}

const uint8_t* build_classes(ModelBuild* build, const ModelProgram* program) {
  uint8_t* classes = ARENA_ARRAY(&build->arena, uint8_t, program->output_count);
  uint8_t* scratch = ARENA_ARRAY(&build->scratch, uint8_t, program->reg_count);
  model_program_classes(program, scratch, classes);
  return classes;
}
