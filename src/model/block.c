// SPDX-License-Identifier: MIT
//
// The tape over a block of MODEL_LANES points at once: each operation is decoded once and runs over
// the lanes, which the compiler turns into vector instructions. Same bits as the scalar tape.
#include "model/model.h"
#include "model/operations.h"

#include <string.h>

#define L MODEL_LANES

#define LANES(name, value) \
  case MODEL_OP_##name: \
    for (int k = 0; k < L; k++) { \
      double a = pa[k]; \
      double b = pb[k]; \
      (void)b; \
      (void)a; \
      pd[k] = (value); \
    } \
    break;

// NOLINTNEXTLINE(readability-function-cognitive-complexity): one case per operation
static void run_lanes(const ModelInstr* pc, const ModelContext* context, const double* pa,
                      const double* pb, double* pd) {
  switch (pc->op) {
    MODEL_OPERATIONS(LANES, LANES)
    LANES(SELECT, model_select(pd[k], a, b))
    LANES(PACK, model_pack(context->packs, a, b))
    LANES(TABLE, model_table_value(&context->tables[pc->b], a, 0))
    LANES(TABLE_SLOPE, model_table_value(&context->tables[pc->b], a, 1))
    LANES(TABLE_CURVE, model_table_value(&context->tables[pc->b], a, 2))
  default:
    // random functions stand in actions, which never run in blocks
    for (int k = 0; k < L; k++) {
      pd[k] = (double)NAN;
    }
    break;
  }
}

static void fill(double* lanes, double value) {
  for (int k = 0; k < L; k++) {
    lanes[k] = value;
  }
}

void model_program_bind_block(const ModelProgram* program, const double* env, double* regs) {
  for (uint32_t i = 0; i < program->const_count; i++) {
    fill(regs + (size_t)(program->const_begin + i) * L, program->consts[i]);
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    fill(regs + (size_t)program->inputs[i].reg * L, env[program->inputs[i].env]);
  }
}

void model_program_run_block(const ModelProgram* program, const ModelContext* context, double* regs,
                             const double* t, const double* x, double* out) {
  ModelBlockFn* run =
      program->native ? atomic_load_explicit(&program->native->block, memory_order_acquire) : NULL;
  if (run) {
    run(&model_host, program, context, regs, t, x, out);
    return;
  }
  memcpy(regs, t, L * sizeof *regs);
  if (program->state_count && x != regs + L) {
    memcpy(regs + L, x, (size_t)program->state_count * L * sizeof *regs);
  }
  const ModelInstr* pc = program->code;
  for (uint32_t i = 0; i < program->code_count; i++, pc++) {
    if (pc->op == MODEL_OP_END) continue;
    if (pc->op == MODEL_OP_SOLVE) {
      // blocks of points serve what is affine in the states: nothing that is solved for
      const ModelSolve* solve = &program->solves[pc->dst];
      for (uint32_t k = 0; k < solve->count; k++) {
        fill(regs + (size_t)solve->unknowns[k] * L, (double)NAN);
      }
      continue;
    }
    bool table = pc->op == MODEL_OP_TABLE || pc->op == MODEL_OP_TABLE_SLOPE ||
                 pc->op == MODEL_OP_TABLE_CURVE;
    uint32_t b = model_op_operands(pc->op) > 1 && !table ? pc->b : pc->a;
    run_lanes(pc, context, regs + (size_t)pc->a * L, regs + (size_t)b * L,
              regs + (size_t)pc->dst * L);
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    memcpy(out + (size_t)i * L, regs + (size_t)program->outputs[i] * L, L * sizeof *out);
  }
}
