// SPDX-License-Identifier: MIT
//
// Facts about the atoms of a mode that the engine's decisions rest on: through which equations each
// is computed, and how it depends on time and states.
#include "model/build_internal.h"

#include <string.h>

/// Identity of the way a quantity is computed: 0 for what is not computed in this mode.
static uint64_t leaf_slice(const BuildSet* set, const uint64_t* assigned, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR) return 0;
  const SymVar* var = &set->sym->vars[leaf.id];
  bool computed =
      var->role == SYM_ALGEBRAIC || (var->role == SYM_STATE && leaf.order >= var->order);
  if (!computed || var->assign == IR_NONE) return 0;
  return hash_mix(assigned[var->assign], leaf.order);
}

/// What is not computed adds nothing: it must not matter where in the order its own equation
/// stands.
static uint64_t mix_leaf(uint64_t hash, const BuildSet* set, const uint64_t* assigned,
                         IrLeaf leaf) {
  uint64_t part = leaf_slice(set, assigned, leaf);
  return part ? hash_mix(hash, part) : hash;
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
          if (earlier) hash = mix_leaf(hash, set, assigned, leaf);
        }
      }
      assigned[i] = hash;
      continue;
    }
    for (uint32_t k = 0; k < assign->value.count; k++) {
      // the derivative being solved for stands in the row too; it has no slice of its own yet
      const SymVar* var = &sym->vars[assign->value.row[k].id];
      bool later = assign->value.row[k].kind == IR_LEAF_VAR && var->assign >= i;
      if (!later) hash = mix_leaf(hash, set, assigned, assign->value.row[k]);
    }
    assigned[i] = hash;
  }
  return assigned;
}

const uint64_t* build_provenance(ModelBuild* build, BuildSet* set) {
  if (set->provenance || build->ir->automata.count == 0) return set->provenance;
  uint64_t* provenance = ARENA_ARRAY(&build->arena, uint64_t, build->ir->vars.count);
  const uint64_t* assigned = assigned_slices(build, set);
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &set->sym->vars[v];
    bool computed = var->role == SYM_ALGEBRAIC || var->role == SYM_STATE;
    if (computed && var->assign != IR_NONE) provenance[v] = assigned[var->assign];
  }
  set->provenance = provenance;
  return provenance;
}

const uint64_t* build_slices(ModelBuild* build, const BuildSet* set, const uint32_t* atoms,
                             uint32_t count) {
  uint64_t* slices = ARENA_ARRAY(&build->arena, uint64_t, count);
  const uint64_t* assigned = assigned_slices(build, set);
  for (uint32_t i = 0; i < count; i++) {
    IrTerm g = ir_atom(build->ir, atoms[i]).g;
    uint64_t slice = 0;
    for (uint32_t k = 0; k < g.leaf_count; k++) {
      slice = mix_leaf(slice, set, assigned, ir_leaf(build->ir, g, k));
    }
    slices[i] = slice;
  }
  return slices;
}

const uint8_t* build_classes(ModelBuild* build, const ModelProgram* program) {
  uint8_t* classes = ARENA_ARRAY(&build->arena, uint8_t, program->output_count);
  uint8_t* scratch = ARENA_ARRAY(&build->scratch, uint8_t, program->reg_count);
  model_program_classes(program, UINT32_MAX, scratch, classes);
  return classes;
}

static uint64_t state_bit(const ModelProgram* program, uint32_t reg) {
  return reg >= 1 && reg <= program->state_count ? (uint64_t)1 << (reg - 1) : 0;
}

const uint64_t* build_states_read(ModelBuild* build, const ModelProgram* program) {
  const ModelSlices* slices = program->slices;
  if (!slices || program->state_count > 64) return NULL;
  uint64_t* read = ARENA_ARRAY(&build->arena, uint64_t, program->output_count);
  for (uint32_t k = 0; k < program->output_count; k++) {
    if (slices->whole[k]) read[k] = ~(uint64_t)0;
    read[k] |= state_bit(program, program->outputs[k]);
    for (uint32_t i = slices->begin[k]; i < slices->begin[k + 1]; i++) {
      const ModelInstr* pc = &program->code[slices->instrs[i]];
      uint32_t operands = model_op_operands(pc->op);
      if (operands > 0) read[k] |= state_bit(program, pc->a);
      if (operands > 1) read[k] |= state_bit(program, pc->b);
    }
  }
  return read;
}

// ---------------------------------------------------------------------------------------------
// slices of programs

// Lists of instructions may be this much longer than the program and its outputs. Where many
// outputs share a long part (a sum over everything), listing it for each would be quadratic.
#define SLICE_SHARE  4
#define SLICE_OUTPUT 16

/// Who computed the operands of each instruction: instruction + 1, 0 for a leaf.
typedef struct Origins {
  uint32_t (*of)[3];
  uint32_t* last;  // per register
} Origins;

static Origins find_origins(Arena* scratch, const ModelProgram* program) {
  Origins origins = {.last = ARENA_ARRAY(scratch, uint32_t, program->reg_count)};
  origins.of = arena_alloc(scratch, base_mul_size(sizeof *origins.of, program->code_count),
                           sizeof(uint32_t));
  for (uint32_t i = 0; i < program->code_count; i++) {
    const ModelInstr* pc = &program->code[i];
    uint32_t operands = model_op_operands(pc->op);
    if (operands > 0) origins.of[i][0] = origins.last[pc->a];
    if (operands > 1) origins.of[i][1] = origins.last[pc->b];
    // the condition stands in the target
    if (pc->op == MODEL_OP_SELECT) origins.of[i][2] = origins.last[pc->dst];
    origins.last[pc->dst] = i + 1;
  }
  return origins;
}

const ModelSlices* build_output_slices(ModelBuild* build, const ModelProgram* program) {
  if (program->solve_count > 0) return NULL;
  Arena* scratch = &build->work;
  Origins origins = find_origins(scratch, program);
  uint64_t room =
      (uint64_t)program->code_count * SLICE_SHARE + (uint64_t)program->output_count * SLICE_OUTPUT;
  if (room > UINT32_MAX / 2) room = UINT32_MAX / 2;
  ModelSlices* slices = ARENA_NEW(&build->arena, ModelSlices);
  uint32_t* begin = ARENA_ARRAY(&build->arena, uint32_t, (size_t)program->output_count + 1);
  uint8_t* whole = ARENA_ARRAY(&build->arena, uint8_t, program->output_count);
  uint32_t* seen = ARENA_ARRAY(scratch, uint32_t, program->code_count);
  BASE_VEC(uint32_t) list = {0};
  for (uint32_t k = 0; k < program->output_count; k++) {
    // the list itself is the stack: what stands behind `next` is still to be looked at
    begin[k] = list.count;
    uint32_t origin = origins.last[program->outputs[k]];
    if (origin) base_vec_push(scratch, &list, origin - 1);
    if (origin) seen[origin - 1] = k + 1;
    for (uint32_t next = begin[k]; next < list.count && list.count <= room; next++) {
      uint32_t instr = list.data[next];
      for (uint32_t m = 0; m < 3; m++) {
        uint32_t from = origins.of[instr][m];
        if (!from || seen[from - 1] == k + 1) continue;
        seen[from - 1] = k + 1;
        base_vec_push(scratch, &list, from - 1);
      }
    }
    if (list.count > room) {
      list.count = begin[k];
      whole[k] = 1;
      room -= (room - begin[k]) / 2;  // so that hopeless attempts become cheap
    }
    if (list.count > begin[k]) base_sort_ascending(list.data + begin[k], list.count - begin[k]);
  }
  begin[program->output_count] = list.count;
  uint32_t* instrs = ARENA_ARRAY(&build->arena, uint32_t, list.count);
  if (list.count) memcpy(instrs, list.data, list.count * sizeof *instrs);
  *slices = (ModelSlices){.begin = begin, .instrs = instrs, .whole = whole};
  arena_free(scratch);
  return slices;
}
