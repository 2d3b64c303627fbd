// SPDX-License-Identifier: MIT
//
// How outputs of a program depend on time and states. Registers are reused along the tape, so
// the class of a register is that of its present content.
#include "model/model.h"

static uint8_t class_of(uint32_t op, uint8_t a, uint8_t b) {
  uint8_t worst = a > b ? a : b;
  switch (op) {
  case MODEL_OP_MOVE:
  case MODEL_OP_NEG: return a;
  case MODEL_OP_ADD:
  case MODEL_OP_SUB: return worst;
  case MODEL_OP_MUL:
    return a == MODEL_CLASS_FIXED || b == MODEL_CLASS_FIXED ? worst : MODEL_CLASS_OTHER;
  case MODEL_OP_DIV: return b == MODEL_CLASS_FIXED ? a : MODEL_CLASS_OTHER;
  default: return worst == MODEL_CLASS_FIXED ? MODEL_CLASS_FIXED : MODEL_CLASS_OTHER;
  }
}

static uint8_t class_of_instr(const ModelInstr* pc, const uint8_t* classes) {
  uint32_t operands = model_op_operands(pc->op);
  if (operands == 0) return MODEL_CLASS_OTHER;  // random functions
  uint8_t a = classes[pc->a];
  uint8_t b = operands > 1 ? classes[pc->b] : MODEL_CLASS_FIXED;
  if (pc->op != MODEL_OP_SELECT) return class_of(pc->op, a, b);
  // a fixed choice passes its side on; the condition is in the target
  return classes[pc->dst] != MODEL_CLASS_FIXED ? MODEL_CLASS_OTHER : a > b ? a : b;
}

void model_program_classes(const ModelProgram* program, uint32_t moving, uint8_t* classes,
                           uint8_t* out) {
  for (uint32_t i = 0; i < program->reg_count; i++) {
    classes[i] = i <= program->state_count ? MODEL_CLASS_AFFINE : MODEL_CLASS_FIXED;
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    if (program->inputs[i].env >= moving) classes[program->inputs[i].reg] = MODEL_CLASS_AFFINE;
  }
  for (uint32_t i = 0; i < program->code_count; i++) {
    const ModelInstr* pc = &program->code[i];
    if (pc->op == MODEL_OP_END) continue;
    if (pc->op == MODEL_OP_SOLVE) {
      const ModelSolve* solve = &program->solves[pc->dst];
      for (uint32_t k = 0; k < solve->count; k++) {
        classes[solve->unknowns[k]] = MODEL_CLASS_OTHER;
      }
      continue;
    }
    classes[pc->dst] = class_of_instr(pc, classes);
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    out[i] = classes[program->outputs[i]];
  }
}

/// How a register depends on one state while time flows.
enum { STANDS, MOVES, AFFINE, OTHER };

static uint8_t dependence_of(const ModelInstr* pc, uint8_t a, uint8_t b) {
  uint8_t worst = a > b ? a : b;
  if (worst < AFFINE) return worst;
  switch (pc->op) {
  case MODEL_OP_MOVE:
  case MODEL_OP_NEG: return a;
  case MODEL_OP_ADD:
  case MODEL_OP_SUB: return worst;
  case MODEL_OP_MUL: return a == STANDS || b == STANDS ? worst : OTHER;
  case MODEL_OP_DIV: return b == STANDS ? a : OTHER;
  default: return OTHER;
  }
}

bool model_program_affine_in(const ModelProgram* program, uint32_t state, uint8_t* scratch) {
  for (uint32_t i = 0; i < program->reg_count; i++) {
    scratch[i] = i <= program->state_count ? MOVES : STANDS;
  }
  scratch[1 + state] = AFFINE;
  for (uint32_t i = 0; i < program->code_count; i++) {
    const ModelInstr* pc = &program->code[i];
    uint32_t operands = model_op_operands(pc->op);
    uint8_t a = operands > 0 ? scratch[pc->a] : STANDS;
    uint8_t b = operands > 1 ? scratch[pc->b] : STANDS;
    uint8_t worst = a > b ? a : b;
    // the condition of a choice stands in the target
    scratch[pc->dst] = pc->op != MODEL_OP_SELECT    ? dependence_of(pc, a, b)
                       : scratch[pc->dst] == STANDS ? worst
                                                    : OTHER;
  }
  for (uint32_t k = 0; k < program->output_count; k++) {
    if (k != state && scratch[program->outputs[k]] == OTHER) return false;
  }
  return true;
}
