// SPDX-License-Identifier: MIT
//
// The tape backwards: how a weighted sum of its outputs depends on what it reads (reverse mode).
// The values are computed first, with the slopes of every operation; then weights are carried from
// the outputs to the inputs. A block of equations is passed through its equations: the weights of
// its unknowns become weights of the residuals through the transposed Jacobian.
#include "model/derivative.h"

#include <stdlib.h>
#include <string.h>

/// An operation that was done: register `dst` was made of `a`, `b` and what it held itself.
typedef struct Step {
  uint32_t dst, a, b;
  double da, db, dc;
} Step;

/// A block that was solved: the step before which it was, and its Jacobian.
typedef struct Solved {
  const ModelSolve* solve;
  size_t step;
  double* jacobian;
} Solved;

typedef struct Trace {
  const ModelContext* context;
  const ModelSolve* solves;
  double* regs;
  Step* steps;
  size_t count, capacity;
  Solved* solved;
  size_t solved_count, solved_capacity;
} Trace;

static bool add_step(Trace* trace, Step step) {
  if (trace->count == trace->capacity) {
    size_t capacity = trace->capacity ? 2 * trace->capacity : 64;
    Step* steps = realloc(trace->steps, capacity * sizeof *steps);
    if (!steps) return false;
    trace->steps = steps;
    trace->capacity = capacity;
  }
  trace->steps[trace->count++] = step;
  return true;
}

static bool trace_table(Trace* trace, const ModelInstr* pc, int order) {
  const ModelTable* table = &trace->context->tables[pc->b];
  double x = trace->regs[pc->a];
  if (table->history || order > 1) return false;
  Step step = {.dst = pc->dst, .a = pc->a, .b = pc->a};
  step.da = model_table_value(table, x, order + 1);
  trace->regs[pc->dst] = model_table_value(table, x, order);
  return add_step(trace, step);
}

static bool trace_select(Trace* trace, const ModelInstr* pc) {
  double share = trace->regs[pc->dst];
  double a = trace->regs[pc->a];
  double b = trace->regs[pc->b];
  Step step = {.dst = pc->dst, .a = pc->a, .b = pc->b, .da = share, .db = 1.0 - share, .dc = a - b};
  trace->regs[pc->dst] = model_select(share, a, b);
  return add_step(trace, step);
}

static bool trace_code(Trace* trace, const ModelInstr* pc);

// ---- blocks of equations ------------------------------------------------------------------------

typedef struct Body {
  Trace trace;
  const ModelInstr* code;
  bool good;
} Body;

static void run_body(void* user) {
  Body* body = user;
  body->trace.count = 0;
  body->good &= trace_code(&body->trace, body->code);
}

static bool note_solved(Trace* trace, const ModelSolve* solve) {
  if (trace->solved_count == trace->solved_capacity) {
    size_t capacity = trace->solved_capacity ? 2 * trace->solved_capacity : 4;
    Solved* solved = realloc(trace->solved, capacity * sizeof *solved);
    if (!solved) return false;
    trace->solved = solved;
    trace->solved_capacity = capacity;
  }
  double* jacobian = calloc((size_t)solve->count * solve->count + 1, sizeof *jacobian);
  if (!jacobian) return false;
  for (uint32_t i = 0; i < solve->entry_count; i++) {
    const ModelEntry* entry = &solve->entries[i];
    // transposed
    jacobian[(size_t)entry->column * solve->count + entry->row] += trace->regs[entry->reg];
  }
  trace->solved[trace->solved_count++] = (Solved){solve, trace->count, jacobian};
  return true;
}

static bool clear_unknowns(Trace* trace, const ModelSolve* solve) {
  bool good = true;
  for (uint32_t i = 0; i < solve->count; i++) {
    uint32_t reg = solve->unknowns[i];
    good &= add_step(trace, (Step){.dst = reg, .a = reg, .b = reg});
  }
  return good;
}

/// The residuals with the unknowns held, the unknowns by them, then all of it once more.
static bool trace_solve(Trace* trace, const ModelInstr* pc) {
  const ModelSolve* solve = &trace->solves[pc->dst];
  bool good = true;
  if (solve->relax_count) return false;
  if (model_solve_accept(solve, trace->regs)) {
    for (uint32_t i = 0; i < solve->count; i++) {
      Step step = {.dst = solve->unknowns[i], .a = solve->offers[i], .b = solve->offers[i]};
      step.da = 1.0;
      good &= add_step(trace, step);
    }
    return good;
  }
  Body body = {{.context = trace->context, .regs = trace->regs}, pc + 1, true};
  ModelSolved solved = model_solve(solve, trace->regs, run_body, &body);
  free(body.trace.steps);
  if (solved == MODEL_UNSOLVED && solve->tries) return clear_unknowns(trace, solve);
  if (solved != MODEL_SOLVED || !body.good) return false;
  const ModelSolve* outer = trace->solves;
  trace->solves = NULL;
  good = clear_unknowns(trace, solve) && trace_code(trace, pc + 1) && note_solved(trace, solve) &&
         trace_code(trace, pc + 1);
  trace->solves = outer;
  return good;
}

static bool trace_special(Trace* trace, const ModelInstr* pc) {
  switch (pc->op) {
  case MODEL_OP_SELECT: return trace_select(trace, pc);
  case MODEL_OP_TABLE: return trace_table(trace, pc, 0);
  case MODEL_OP_TABLE_SLOPE: return trace_table(trace, pc, 1);
  case MODEL_OP_SOLVE: return trace->solves && trace_solve(trace, pc);
  default: return false;
  }
}

static bool trace_code(Trace* trace, const ModelInstr* pc) {
  for (; pc->op != MODEL_OP_END; pc++) {
    bool two = model_op_operands(pc->op) == 2;
    double a = trace->regs[pc->a];
    double b = two ? trace->regs[pc->b] : 0.0;
    double value = 0.0;
    if (pc->op != MODEL_OP_SOLVE && model_op_value(pc->op, a, b, &value)) {
      Step step = {.dst = pc->dst, .a = pc->a, .b = two ? pc->b : pc->a};
      model_op_slopes(pc->op, a, b, value, &step.da, &step.db);
      trace->regs[pc->dst] = value;
      if (!add_step(trace, step)) return false;
      continue;
    }
    if (!trace_special(trace, pc)) return false;
    if (pc->op == MODEL_OP_SOLVE) pc += pc->a;
  }
  return true;
}

// ---- backwards ----------------------------------------------------------------------------------

/// Weights of the unknowns to weights of the residuals: J^T m = -w.
static bool pass_block(const Solved* solved, double* bars) {
  const ModelSolve* solve = solved->solve;
  double* weights = malloc(((size_t)solve->count + 1) * sizeof *weights);
  if (!weights) return false;
  for (uint32_t i = 0; i < solve->count; i++) {
    weights[i] = -bars[solve->unknowns[i]];
    bars[solve->unknowns[i]] = 0.0;
  }
  bool good = model_eliminate(solve->count, 1, solved->jacobian, weights);
  for (uint32_t i = 0; good && i < solve->count; i++)
    bars[solve->residuals[i]] += weights[i];
  free(weights);
  return good;
}

static bool go_back(const Trace* trace, double* bars) {
  size_t block = trace->solved_count;
  for (size_t i = trace->count; i-- > 0;) {
    while (block && trace->solved[block - 1].step == i + 1) {
      if (!pass_block(&trace->solved[--block], bars)) return false;
    }
    const Step* step = &trace->steps[i];
    double bar = bars[step->dst];
    if (bar == 0.0) continue;
    bars[step->dst] = step->dc == 0.0 ? 0.0 : step->dc * bar;
    if (step->da != 0.0) bars[step->a] += step->da * bar;
    if (step->db != 0.0) bars[step->b] += step->db * bar;
  }
  return true;
}

static void clear_trace(Trace* trace) {
  for (size_t i = 0; i < trace->solved_count; i++)
    free(trace->solved[i].jacobian);
  free(trace->solved);
  free(trace->steps);
}

bool model_program_adjoint(const ModelProgram* program, const ModelContext* context,
                           const double* read, const double* weights, double* bars) {
  double* regs = calloc(2 * (size_t)program->reg_count + 1, sizeof *regs);
  if (!regs) return false;
  double* back = regs + program->reg_count;
  Trace trace = {.context = context, .solves = program->solves, .regs = regs};
  if (program->const_count) {
    memcpy(regs + program->const_begin, program->consts, program->const_count * sizeof *regs);
  }
  uint32_t states = program->state_count;
  memcpy(regs, read, (1 + (size_t)states) * sizeof *regs);
  for (uint32_t i = 0; i < program->input_count; i++)
    regs[program->inputs[i].reg] = read[1 + states + i];
  bool good = program->code_count == 0 || trace_code(&trace, program->code);
  for (uint32_t i = 0; i < program->output_count; i++)
    back[program->outputs[i]] += weights[i];
  good = good && go_back(&trace, back);
  for (uint32_t i = 0; good && i <= states; i++)
    bars[i] += back[i];
  for (uint32_t i = 0; good && i < program->input_count; i++)
    bars[1 + states + i] += back[program->inputs[i].reg];
  clear_trace(&trace);
  free(regs);
  return good;
}
