// SPDX-License-Identifier: MIT
//
// What the outputs of a program are computed from, found by walking back from them.
#include "model/model.h"

#include <string.h>

size_t model_origins_room(const ModelProgram* program, uint32_t env_count) {
  return 5 * (size_t)program->code_count + 2 * (size_t)program->reg_count + env_count;
}

static void note_operands(ModelOrigins* o, uint32_t at) {
  const ModelInstr* pc = &o->program->code[at];
  uint32_t* of = o->of + 3 * (size_t)at;
  uint32_t operands = model_op_operands(pc->op);
  memset(of, 0, 3 * sizeof *of);
  if (pc->op == MODEL_OP_SOLVE) {
    const ModelSolve* solve = &o->program->solves[pc->dst];
    for (uint32_t k = 0; k < solve->count; k++) {
      o->last[solve->unknowns[k]] = at + 1;
    }
    return;
  }
  if (operands > 0) of[0] = o->last[pc->a];
  if (operands > 1) of[1] = o->last[pc->b];
  // the condition stands in the target
  if (pc->op == MODEL_OP_SELECT) of[2] = o->last[pc->dst];
  o->last[pc->dst] = at + 1;
}

void model_origins_find(ModelOrigins* o, const ModelMode* mode, uint32_t env_count,
                        uint32_t* room) {
  const ModelProgram* program = &mode->full;
  *o = (ModelOrigins){.program = program, .mode_id = mode->id, .of = room};
  o->stack = o->of + 3 * (size_t)program->code_count;
  o->seen = o->stack + program->code_count;
  o->last = o->seen + program->code_count;
  o->env = o->last + program->reg_count;
  o->output = o->env + program->reg_count;
  memset(o->seen, 0, program->code_count * sizeof *o->seen);
  memset(o->last, 0, program->reg_count * sizeof *o->last);
  memset(o->env, 0xff, program->reg_count * sizeof *o->env);
  memset(o->output, 0xff, env_count * sizeof *o->output);
  for (uint32_t i = 0; i < program->state_count; i++) {
    o->env[i + 1] = mode->state_env[i];
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    o->env[program->inputs[i].reg] = program->inputs[i].env;
  }
  for (uint32_t i = 0; i < program->code_count; i++) {
    note_operands(o, i);
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    o->output[mode->full_env[i]] = program->outputs[i];
  }
}

bool model_origins_visit(ModelOrigins* o, uint32_t env, ModelVisitFn* visit, void* user) {
  const ModelProgram* program = o->program;
  bool solved = false;
  uint32_t output = o->output[env];
  if (output == MODEL_NONE) return false;
  uint32_t count = 0;
  o->stamp++;
  if (o->last[output]) o->stack[count++] = o->last[output] - 1;
  if (!o->last[output] && o->env[output] != MODEL_NONE && visit) visit(user, o->env[output]);
  while (count > 0 && !solved) {
    uint32_t at = o->stack[--count];
    const ModelInstr* pc = &program->code[at];
    uint32_t operands = model_op_operands(pc->op);
    uint32_t regs[3] = {pc->a, pc->b, pc->dst};
    solved = pc->op == MODEL_OP_SOLVE;
    for (uint32_t k = 0; k < 3; k++) {
      uint32_t from = o->of[3 * (size_t)at + k];
      bool reads = k < operands || (k == 2 && pc->op == MODEL_OP_SELECT);
      if (!reads) continue;
      if (from == 0 && o->env[regs[k]] != MODEL_NONE && visit) visit(user, o->env[regs[k]]);
      if (from == 0 || o->seen[from - 1] == o->stamp) continue;
      o->seen[from - 1] = o->stamp;
      o->stack[count++] = from - 1;
    }
  }
  // what is solved together with others is computed from everything, as far as anybody knows
  for (uint32_t r = 0; solved && visit && r < program->reg_count; r++) {
    if (o->env[r] != MODEL_NONE) visit(user, o->env[r]);
  }
  return solved;
}
