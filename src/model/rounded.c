// SPDX-License-Identifier: MIT
//
// A term at a point that is known up to rounding.
//
// Every register has its value and bounds of what rounding may have made of it. Where a function
// jumps inside these bounds, the point counts as lying on the jump: both sides of a comparison are
// equal, floor and ceil give the whole number there, sign gives 0. So resets read the same truths
// as the guards of their instant, whichever side of a boundary the last digit has fallen on.
#include "model/model.h"

#include <float.h>
#include <math.h>

#undef fabs
#define fabs(a) __builtin_fabs(a)  // exact, and no call

#define FAR_ULPS 2.0  // first-order errors beyond which a comparison is sure

static bool steps(uint32_t op) {
  return op == MODEL_OP_SIGN || op == MODEL_OP_FLOOR || op == MODEL_OP_CEIL || op == MODEL_OP_MOD ||
         (op >= MODEL_OP_LT && op <= MODEL_OP_NE);
}

uint32_t model_program_steps(const ModelProgram* program) {
  uint32_t count = program->code_count;
  while (count > 0 && !steps(program->code[count - 1].op)) {
    count--;
  }
  return count;
}

/// Whether a number lies in bounds that have a width, and a finite one.
static bool is_within(ModelInterval bounds, double number) {
  return bounds.lo < bounds.hi && isfinite(bounds.hi - bounds.lo) && bounds.lo <= number &&
         number <= bounds.hi;
}

/// The value on the jump, if the operands lie on one.
static bool on_jump(uint32_t op, ModelInterval a, ModelInterval b, double* value) {
  double whole = 0.0;
  switch (op) {
  case MODEL_OP_SIGN: *value = 0.0; return is_within(a, 0.0);
  case MODEL_OP_FLOOR:
  case MODEL_OP_CEIL:
    whole = rint(0.5 * (a.lo + a.hi));
    *value = whole;
    return is_within(a, whole);
  case MODEL_OP_MOD:
    if (a.lo == a.hi && b.lo == b.hi) return false;
    a = model_interval_div(a, b);
    *value = 0.0;
    return is_within(a, rint(0.5 * (a.lo + a.hi)));
  default:
    *value = op == MODEL_OP_LE || op == MODEL_OP_GE || op == MODEL_OP_EQ;
    return is_within(model_interval_sub(a, b), 0.0);
  }
}

/// What rounding may have made of the result of an operation without a jump in its bounds.
static ModelInterval bounds_of(const ModelInstr* pc, const ModelContext* context,
                               const ModelInterval* bounds, double value) {
  switch (pc->op) {
  case MODEL_OP_TABLE:
  case MODEL_OP_TABLE_SLOPE:
  case MODEL_OP_TABLE_CURVE:
    return model_table_enclose(&context->tables[pc->b], bounds[pc->a],
                               (int)(pc->op - MODEL_OP_TABLE));
  case MODEL_OP_RANDOM:
  case MODEL_OP_UNIFORM:
  case MODEL_OP_NORMAL:
  case MODEL_OP_NOISE:
  case MODEL_OP_PACK:
  case MODEL_OP_EXPONENTIAL: return model_interval_point(value);
  default: break;
  }
  uint32_t b = model_op_operands(pc->op) > 1 ? pc->b : pc->a;
  return model_interval_apply(pc->op, bounds[pc->a], bounds[b]);
}

static void run_one(const ModelInstr* pc, const ModelContext* context, double* regs,
                    ModelInterval* bounds) {
  double value = 0.0;
  if (pc->op == MODEL_OP_SELECT) {
    ModelInterval taken = bounds[regs[pc->dst] != 0.0 ? pc->a : pc->b];
    model_instr_run(pc, context, regs);
    bounds[pc->dst] = taken;
  } else if (steps(pc->op) && on_jump(pc->op, bounds[pc->a], bounds[pc->b], &value)) {
    regs[pc->dst] = value;
    bounds[pc->dst] = model_interval_point(value);
  } else {
    model_instr_run(pc, context, regs);
    bounds[pc->dst] = bounds_of(pc, context, bounds, regs[pc->dst]);
  }
}

static void run_near(const ModelInstr* code, uint32_t count, const ModelContext* context,
                     double* regs, ModelInterval* bounds) {
  for (uint32_t i = 0; i < count; i++) {
    run_one(&code[i], context, regs, bounds);
  }
}

/// Values by the usual operations, with first-order bounds of their errors in bounds[].hi. False: a
/// comparison is within them, or there is an operation that is not usual. Most resets compare
/// numbers that are far apart.
static bool run_far(const ModelInstr* code, uint32_t count, double* regs, ModelInterval* bounds) {
  for (const ModelInstr* pc = code; pc < code + count; pc++) {
    bool compares = pc->op >= MODEL_OP_LT && pc->op <= MODEL_OP_GE;
    if (!compares && pc->op > MODEL_OP_MUL) return false;
    uint32_t second = pc->op <= MODEL_OP_NEG ? pc->a : pc->b;
    double a = regs[pc->a];
    double b = regs[second];
    double a_off = bounds[pc->a].hi;
    double b_off = bounds[second].hi;
    double value = 0.0;
    double off = 0.0;
    switch (pc->op) {
    case MODEL_OP_MOVE: value = a, off = a_off; break;
    case MODEL_OP_NEG: value = -a, off = a_off; break;
    case MODEL_OP_ADD: value = a + b, off = a_off + b_off; break;
    case MODEL_OP_SUB: value = a - b, off = a_off + b_off; break;
    case MODEL_OP_MUL: value = a * b, off = fabs(a) * b_off + fabs(b) * a_off; break;
    case MODEL_OP_LT: value = a < b; break;
    case MODEL_OP_LE: value = a <= b; break;
    case MODEL_OP_GT: value = a > b; break;
    case MODEL_OP_GE: value = a >= b; break;
    default: return false;
    }
    if (compares && !(fabs(a - b) > FAR_ULPS * (a_off + b_off))) return false;
    regs[pc->dst] = value;
    bounds[pc->dst].hi = compares ? 0.0 : off + DBL_EPSILON * fabs(value);
  }
  return true;
}

/// Values of inputs and constants, and in bounds[].hi by how much each may be off.
static void begin(const ModelTerm* term, const double* numbers, const double* env,
                  const ModelRounding* rounding, double* regs, ModelInterval* bounds) {
  const ModelProgram* program = &term->shape->program;
  for (uint32_t i = 0; i < program->const_count; i++) {
    regs[program->const_begin + i] = program->consts[i];
    bounds[program->const_begin + i].hi = 0.0;
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t reg = program->inputs[i].reg;
    uint32_t arg = term->args[program->inputs[i].env];
    regs[reg] = model_arg(arg, numbers, env);
    bool exact = arg < rounding->begin || arg & MODEL_ARG_NUMBER;
    bounds[reg].hi = exact ? 0.0 : rounding->of(rounding->user, arg);
  }
}

double model_term_rounded(const ModelTerm* term, const ModelContext* context, const double* numbers,
                          const double* env, double t, const ModelRounding* rounding, double* regs,
                          ModelInterval* bounds) {
  const ModelProgram* program = &term->shape->program;
  uint32_t first = program->const_begin + program->const_count;  // of those that are computed
  begin(term, numbers, env, rounding, regs, bounds);
  regs[0] = t;
  bounds[0].hi = rounding->time.hi - t;
  if (!run_far(program->code, term->shape->steps, regs, bounds)) {
    begin(term, numbers, env, rounding, regs, bounds);
    for (uint32_t reg = 0; reg < first; reg++) {
      double off = bounds[reg].hi;
      bounds[reg] = (ModelInterval){regs[reg] - off, regs[reg] + off};
    }
    bounds[0] = rounding->time;
    run_near(program->code, term->shape->steps, context, regs, bounds);
  }
  model_code_run(program->code + term->shape->steps, context, regs);
  return regs[program->outputs[0]];
}
