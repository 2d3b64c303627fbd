// SPDX-License-Identifier: MIT
//
// Flags: variables that nothing moves, and that states set to numbers. A state that sets a flag
// which the equations read is a mode by another name: the motion may slide between two of them, and
// each side of a surface has its own values of the flags.
#include "engine/sliding/sides.h"

#include <string.h>

/// The time is in the first register.
static bool reads_time(const ModelProgram* program, const ModelInstr* pc) {
  if (pc->op == MODEL_OP_END) return program->outputs[0] == 0;
  uint32_t operands = model_op_operands(pc->op);
  return (operands > 0 && pc->a == 0) || (operands > 1 && pc->b == 0);
}

static bool is_number(const EngSim* sim, const ModelTerm* value) {
  const ModelProgram* program = &value->shape->program;
  for (uint32_t i = 0; i < model_term_inputs(value); i++) {
    uint32_t env = model_term_input(value, i);
    if (env != MODEL_NONE && env >= sim->values.moving) return false;
  }
  const ModelInstr* pc = program->code;
  for (; pc->op != MODEL_OP_END; pc++) {
    if (pc->op == MODEL_OP_RANDOM || reads_time(program, pc)) return false;
  }
  return !reads_time(program, pc);
}

void eng_flags_init(EngSim* sim) {
  const Model* model = sim->model;
  uint8_t* is_flag = sim->sliding.is_flag;
  for (uint32_t i = 0; i < model->action_count; i++) {
    const ModelAction* action = &model->actions[i];
    is_flag[action->env] = model->vars[action->var].max_order == 0;
  }
  for (uint32_t i = 0; i < model->action_count; i++) {
    const ModelAction* action = &model->actions[i];
    if (action->guess || !is_number(sim, &action->value)) is_flag[action->env] = 0;
  }
  for (uint32_t i = 0; i < model->env_count; i++) {
    sim->sliding.flags.count += is_flag[i];
  }
}

static bool only_flags(const EngSim* sim, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    if (!sim->sliding.is_flag[sim->model->actions[i].env]) return false;
  }
  return true;
}

bool eng_sets_only_flags(const EngSim* sim, const ModelTransition* t) {
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  return only_flags(sim, t->action_begin, t->action_count) &&
         only_flags(sim, to->action_begin, to->action_count);
}

static void set(EngSim* sim, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    if (!sim->sliding.is_flag[action->env]) continue;
    sim->env[action->env] = eng_eval(sim, &action->value);
  }
}

void side_set_flags(EngSim* sim, const ModelTransition* t) {
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  set(sim, to->action_begin, to->action_count);
  set(sim, t->action_begin, t->action_count);
}

// ---- values by row ------------------------------------------------------------------------------

SltStatus side_room_flags(EngSim* sim, uint32_t rows) {
  EngFlags* f = &sim->sliding.flags;
  if (!f->env) {
    SLT_TRY(ENG_GROW(sim, f->env, f->count));
    for (uint32_t i = 0, n = 0; i < sim->model->env_count; i++) {
      if (sim->sliding.is_flag[i]) f->env[n++] = i;
    }
  }
  return ENG_GROW(sim, f->values, ((size_t)rows + FLAG_ROWS) * f->count);
}

static double* values_of(EngSim* sim, uint32_t place) {
  return sim->sliding.flags.values + (size_t)place * sim->sliding.flags.count;
}

static void note(EngSim* sim, uint32_t place) {
  for (uint32_t i = 0; i < sim->sliding.flags.count; i++) {
    values_of(sim, place)[i] = sim->env[sim->sliding.flags.env[i]];
  }
}

static void publish(EngSim* sim, uint32_t place) {
  for (uint32_t i = 0; i < sim->sliding.flags.count; i++) {
    sim->env[sim->sliding.flags.env[i]] = values_of(sim, place)[i];
  }
}

double* side_flags(EngSim* sim, uint32_t row) {
  return values_of(sim, row + FLAG_ROWS);
}

void side_note_row(EngSim* sim, uint32_t row) {
  memcpy(side_states(sim, row), sim->state, sim->model->automaton_count * sizeof *sim->state);
  note(sim, row + FLAG_ROWS);
}

void side_publish_row(EngSim* sim, uint32_t row) {
  eng_publish_states(sim, side_states(sim, row));
  publish(sim, row + FLAG_ROWS);
}

void side_note_settled(EngSim* sim) {
  memcpy(sim->probe.settled, sim->state, sim->model->automaton_count * sizeof *sim->state);
  note(sim, FLAGS_SETTLED);
}

void side_publish_settled(EngSim* sim) {
  eng_publish_states(sim, sim->probe.settled);
  publish(sim, FLAGS_SETTLED);
}

void side_note_target(EngSim* sim) {
  memcpy(sim->probe.states, sim->state, sim->model->automaton_count * sizeof *sim->state);
  note(sim, FLAGS_TARGET);
  sim->sliding.flags.moved = sim->sliding.flags.count > 0;
}

void eng_slide_move_flags(EngSim* sim) {
  if (!sim->sliding.flags.moved) return;
  sim->sliding.flags.moved = false;
  publish(sim, FLAGS_TARGET);
}
