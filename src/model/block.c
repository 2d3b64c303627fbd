// SPDX-License-Identifier: MIT
//
// The tape over a block of MODEL_LANES points at once: each operation is decoded once and runs over
// the lanes, which the compiler turns into vector instructions. Same bits as the scalar tape.
#include "model/model.h"
#include "model/operations.h"

#define L MODEL_LANES

static void fill(double* lanes, double value) {
  for (int k = 0; k < L; k++) {
    lanes[k] = value;
  }
}

// Results are gathered beside the registers: so the compiler sees that no lane is read after it was
// written, and combines them.
#define LANES(name, value) \
  case MODEL_OP_##name: { \
    const double* pa = regs + (size_t)pc->a * L; \
    for (uint32_t k = 0; k < used; k++) { \
      double a = pa[k]; \
      lanes[k] = (value); \
    } \
    break; \
  }
#define LANES_OF_TWO(name, value) \
  case MODEL_OP_##name: { \
    const double* pa = regs + (size_t)pc->a * L; \
    const double* pb = regs + (size_t)pc->b * L; \
    for (uint32_t k = 0; k < used; k++) { \
      double a = pa[k]; \
      double b = pb[k]; \
      lanes[k] = (value); \
    } \
    break; \
  }

// NOLINTNEXTLINE(readability-function-cognitive-complexity): one case per operation
static inline __attribute__((always_inline)) void run_some(const ModelProgram* program,
                                                           const ModelInstr* pc,
                                                           const ModelContext* context,
                                                           double* regs, uint32_t used) {
  double lanes[L];
  double* pd = regs + (size_t)pc->dst * L;
  switch (pc->op) {
    MODEL_OPERATIONS(LANES, LANES_OF_TWO)
    LANES_OF_TWO(SELECT, model_select(pd[k], a, b))
    LANES_OF_TWO(PACK, model_pack(context->packs, a, b))
    LANES(TABLE, model_table_value(&context->tables[pc->b], a, 0))
    LANES(TABLE_SLOPE, model_table_value(&context->tables[pc->b], a, 1))
    LANES(TABLE_CURVE, model_table_value(&context->tables[pc->b], a, 2))
  case MODEL_OP_END: return;
  case MODEL_OP_SOLVE:
    // what is solved for has no place in blocks
    for (uint32_t i = 0; i < program->solves[pc->dst].count; i++)
      fill(regs + (size_t)program->solves[pc->dst].unknowns[i] * L, (double)NAN);
    return;
  default:
    // random functions stand in actions, which never run in blocks
    for (int k = 0; k < L; k++) {
      lanes[k] = (double)NAN;
    }
    break;
  }
  for (uint32_t k = 0; k < used; k++)
    pd[k] = lanes[k];
  for (uint32_t k = used; k < L; k++)
    pd[k] = pd[0];
}

/// The number of lanes is known where all are used, and vectors come out of it.
static void run_lanes(const ModelProgram* program, const ModelInstr* pc,
                      const ModelContext* context, double* regs, uint32_t used) {
  if (used == L) {
    run_some(program, pc, context, regs, L);
  } else {
    run_some(program, pc, context, regs, used);
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

bool model_program_has_lanes(const ModelProgram* program) {
  if (program->roll || program->solve_count) return false;
  for (uint32_t i = 0; i < program->code_count; i++) {
    switch (program->code[i].op) {
    case MODEL_OP_RANDOM:
    case MODEL_OP_UNIFORM:
    case MODEL_OP_NORMAL:
    case MODEL_OP_NOISE:
    case MODEL_OP_EXPONENTIAL:
    case MODEL_OP_PACK: return false;
    default: break;
    }
  }
  return true;
}

void model_program_bind_lanes(const ModelProgram* program, const double* const* bound,
                              double* regs) {
  for (uint32_t i = 0; i < program->const_count; i++) {
    fill(regs + (size_t)(program->const_begin + i) * L, program->consts[i]);
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t reg = program->inputs[i].reg;
    double* lanes = regs + (size_t)reg * L;
    for (int k = 0; k < L; k++) {
      lanes[k] = bound[k][reg];
    }
  }
}

static void copy(double* to, const double* from) {
  for (int k = 0; k < L; k++) {
    to[k] = from[k];
  }
}

static void run_code(const ModelProgram* program, const ModelContext* context, double* regs,
                     uint32_t used) {
  const ModelInstr* pc = program->code;
  for (uint32_t i = 0; i < program->code_count; i++, pc++)
    run_lanes(program, pc, context, regs, used);
}

#if BASE_LANES_WIDE
#define HALVES(name, value) \
  case MODEL_OP_##name: \
    for (uint32_t half = 0; half < L; half += L / 2) { \
      BaseHalf a = BASE_HALF_OF(pa + half); \
      BASE_HALF_AT(pd + half) = (value); \
    } \
    break;
#define HALVES_OF_TWO(name, value) \
  case MODEL_OP_##name: \
    for (uint32_t half = 0; half < L; half += L / 2) { \
      BaseHalf a = BASE_HALF_OF(pa + half); \
      BaseHalf b = BASE_HALF_OF(regs + (size_t)pc->b * L + half); \
      BASE_HALF_AT(pd + half) = (value); \
    } \
    break;

/// With halves for the operations that most programs consist of.
BASE_LANES_TARGET static void run_code_wide(const ModelProgram* program,
                                            const ModelContext* context, double* regs,
                                            uint32_t used) {
  const ModelInstr* pc = program->code;
  for (uint32_t i = 0; i < program->code_count; i++, pc++) {
    const double* pa = regs + (size_t)pc->a * L;
    double* pd = regs + (size_t)pc->dst * L;
    switch ((int)pc->op) {
      HALVES(MOVE, a)
      HALVES(NEG, -a)
      HALVES_OF_TWO(ADD, a + b)
      HALVES_OF_TWO(SUB, a - b)
      HALVES_OF_TWO(MUL, a * b)
      HALVES_OF_TWO(DIV, a / b)
      HALVES(SQUARE, a * a)
      HALVES(RECIP, 1.0 / a)
    default: run_lanes(program, pc, context, regs, used); break;
    }
  }
}
#endif

void model_program_run_block(const ModelProgram* program, const ModelContext* context, double* regs,
                             const double* t, const double* x, uint32_t used, double* out) {
  ModelBlockFn* run =
      program->native ? atomic_load_explicit(&program->native->block, memory_order_acquire) : NULL;
  if (run) {
    run(&model_host, program, context, regs, t, x, out);
    return;
  }
  copy(regs, t);
  for (uint32_t i = 0; x != regs + L && i < program->state_count; i++)
    copy(regs + (size_t)(1 + i) * L, x + (size_t)i * L);
#if BASE_LANES_WIDE
  (BASE_LANES_ARE_WIDE() ? run_code_wide : run_code)(program, context, regs, used);
#else
  run_code(program, context, regs, used);
#endif
  for (uint32_t i = 0; i < program->output_count; i++)
    copy(out + (size_t)i * L, regs + (size_t)program->outputs[i] * L);
}
