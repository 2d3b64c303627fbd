// SPDX-License-Identifier: MIT
//
// What follows from what: states that are marked may have any value, and what is known less well
// then than without them depends on them. Enclosures over all values cannot overlook anything, as
// values at a few points could. What an output of a program reads, its instructions tell.
#include "model/model.h"

#include <math.h>
#include <string.h>

size_t model_reach_room(const ModelProgram* rhs, const ModelProgram* out) {
  size_t duals = model_program_spread_room(rhs) + model_program_spread_room(out);
  return rhs->state_count + 2 * ((size_t)rhs->output_count + out->output_count) +
         duals * (sizeof(ModelDual) / sizeof(double));
}

/// Whether each output depends on the marked states.
static void find_dependent(const ModelProgram* program, const ModelContext* context,
                           const double* env, double t, const double* x, const double* marks,
                           double* depends, double* room) {
  double* none = room;
  double* still = none + program->state_count;
  ModelDual* duals = (ModelDual*)(still + program->output_count);
  ModelInterval time = model_interval_point(t);
  memset(none, 0, program->state_count * sizeof *none);
  model_program_spread(program, context, env, time, x, none, 0.0, still, duals);
  model_program_spread(program, context, env, time, x, marks, 0.0, depends, duals);
  for (uint32_t i = 0; i < program->output_count; i++) {
    depends[i] = depends[i] <= still[i] ? 0.0 : HUGE_VAL;
  }
}

void model_reach(const ModelProgram* rhs, const ModelProgram* out, const ModelContext* context,
                 const double* env, double t, const double* x, double* marks, double* depends,
                 double* room) {
  double* rates = room;
  bool more = true;
  while (more) {
    find_dependent(rhs, context, env, t, x, marks, rates, rates + rhs->output_count);
    more = false;
    for (uint32_t i = 0; i < rhs->state_count; i++) {
      if (marks[i] != 0.0 || rates[i] == 0.0) continue;
      marks[i] = HUGE_VAL;
      more = true;
    }
  }
  find_dependent(out, context, env, t, x, marks, depends, room);
}

/// Register `index` of those that an instruction reads; MODEL_NONE behind the last.
static uint32_t operand(const ModelInstr* pc, uint32_t index) {
  bool selects = pc->op == MODEL_OP_SELECT;  // its condition stands in the target
  uint32_t count = selects ? 3 : model_op_operands(pc->op);
  const uint32_t read[] = {pc->a, pc->b, pc->dst};
  return index < count ? read[index] : MODEL_NONE;
}

bool model_output_reads_input(const ModelProgram* program, uint32_t output, uint32_t first_env) {
  const ModelSlices* slices = program->slices;
  if (!slices) return false;
  uint32_t first = 1 + program->state_count;
  for (uint32_t i = slices->begin[output]; i < slices->begin[output + 1]; i++) {
    const ModelInstr* pc = &program->code[slices->instrs[i]];
    for (uint32_t k = 0; operand(pc, k) != MODEL_NONE; k++) {
      uint32_t input = operand(pc, k) - first;
      if (input < program->input_count && program->inputs[input].env >= first_env) return true;
    }
  }
  return false;
}

bool model_mode_reads(const ModelMode* mode, uint32_t index, ModelVisitFn* visit, void* user) {
  const ModelProgram* program = &mode->g_flow;
  const ModelSlices* slices = program->slices;
  if (mode->atom_states) {
    for (uint32_t i = 0; i < mode->state_count; i++) {
      if (mode->atom_states[index] >> i & 1u) visit(user, i);
    }
    return true;
  }
  if (!slices || slices->whole[index]) return false;
  for (uint32_t i = slices->begin[index]; i < slices->begin[index + 1]; i++) {
    const ModelInstr* pc = &program->code[slices->instrs[i]];
    for (uint32_t k = 0; operand(pc, k) != MODEL_NONE; k++) {
      if (operand(pc, k) - 1 < program->state_count) visit(user, operand(pc, k) - 1);
    }
  }
  uint32_t output = program->outputs[index] - 1;
  if (output < program->state_count) visit(user, output);
  return true;
}
