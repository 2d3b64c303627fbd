// SPDX-License-Identifier: MIT
//
// The tape near the end of its roots. sqrt(u), and u^p with p between 0 and 1, have no bounded
// slope at u = 0 and no value beyond it. Closer to zero than the tolerance of u, which no method
// resolves, they are replaced by the chord through zero, which has both; beyond, where only stages
// of a step look, by the odd function. The tolerance of every register follows from those of the
// states to first order.
#include "model/derivative.h"

#include <math.h>
#include <string.h>

#define BEYOND 8.0  // tolerances: arguments that may be on the wrong side of zero

/// An operation that is a root, or the slope of one.
typedef struct Root {
  double power;  // value: u^power
  bool slope;    // of u^(power + 1), up to that factor
} Root;

static bool is_power(const ModelInstr* pc, const double* regs, Root* root) {
  double power = pc->op == MODEL_OP_SQRT ? 0.5 : pc->op == MODEL_OP_POW ? regs[pc->b] : 1.0;
  *root = (Root){power, power < 0.0};
  return power > -1.0 && power < 1.0 && power != 0.0;
}

/// The chord, or its slope in place of that of the root.
static double near_zero(const ModelRoots* roots, const ModelInstr* pc, Root root, double u,
                        double width) {
  if (root.slope) return base_pow(width, root.power) / (root.power + 1.0);
  double end = pc->op == MODEL_OP_SQRT ? MODEL_SQRT(width) : base_pow(width, root.power);
  if (roots->slopes) return root.power * end;
  return u * (end / width);
}

/// False: it is as always.
static bool replace(ModelRoots* roots, const ModelInstr* pc, const double* regs, double* value) {
  Root root;
  if (!is_power(pc, regs, &root)) return false;
  double u = regs[pc->a];
  double tolerance = roots->room[pc->a];
  double width = roots->share * tolerance;
  if (!isfinite(u)) return false;
  // the tolerance of what has always been zero is not known
  roots->nearest = fmin(roots->nearest, u == 0.0 ? 0.0 : fabs(u) / tolerance);
  if (fabs(u) <= width && width > 0.0) {
    *value = near_zero(roots, pc, root, u, width);
    return true;
  }
  if (u >= 0.0 || (roots->strict && u < -BEYOND * tolerance)) return false;
  double beyond = pc->op == MODEL_OP_SQRT ? MODEL_SQRT(-u) : base_pow(-u, root.power);
  *value = root.slope || roots->slopes ? beyond : -beyond;
  return true;
}

static double spread(const ModelRoots* roots, const ModelContext* context, const ModelInstr* pc,
                     const double* regs, double self) {
  const double* tolerance = roots->room;
  double da = 0.0;
  double db = 0.0;
  bool two = model_op_operands(pc->op) == 2;
  double from_a = tolerance[pc->a];
  double from_b = two ? tolerance[pc->b] : 0.0;
  if (from_a == 0.0 && from_b == 0.0) return 0.0;
  if (pc->op == MODEL_OP_TABLE) {
    da = model_table_value(&context->tables[pc->b], regs[pc->a], 1);
  } else {
    model_op_slopes(pc->op, regs[pc->a], two ? regs[pc->b] : 0.0, self, &da, &db);
  }
  double sum = (from_a > 0.0 ? fabs(da) * from_a : 0.0) + (from_b > 0.0 ? fabs(db) * from_b : 0.0);
  return isfinite(sum) ? sum : 0.0;
}

static void run_select(const ModelRoots* roots, const ModelInstr* pc, double* regs) {
  bool first = regs[pc->dst] != 0.0;
  roots->room[pc->dst] = roots->room[first ? pc->a : pc->b];
  regs[pc->dst] = model_select(regs[pc->dst], regs[pc->a], regs[pc->b]);
}

/// One instruction; false: what it does is not known here.
static bool step(ModelRoots* roots, const ModelContext* context, const ModelInstr* pc,
                 double* regs) {
  double value = 0.0;
  if (pc->op == MODEL_OP_SELECT) {
    run_select(roots, pc, regs);
    return true;
  }
  bool table = pc->op == MODEL_OP_TABLE || pc->op == MODEL_OP_TABLE_SLOPE;
  bool two = model_op_operands(pc->op) == 2;
  bool chord = replace(roots, pc, regs, &value);
  if (table) {
    value = model_table_value(&context->tables[pc->b], regs[pc->a], pc->op != MODEL_OP_TABLE);
  } else if (!chord && !model_op_value(pc->op, regs[pc->a], two ? regs[pc->b] : 0.0, &value)) {
    return false;
  }
  // a chord is as uncertain as its argument makes it
  double by = chord ? fabs(value / regs[pc->a]) * roots->room[pc->a]
                    : spread(roots, context, pc, regs, value);
  regs[pc->dst] = value;
  roots->room[pc->dst] = isfinite(by) ? by : 0.0;
  return true;
}

bool model_roots_execute(const ModelProgram* program, const ModelContext* context,
                         const ModelInstr* code, double* regs) {
  ModelRoots* roots = context->roots;
  uint32_t n = program->state_count;
  if (program->solve_count > 0 || program->reg_count > roots->capacity || n > roots->state_count) {
    return false;
  }
  memset(roots->room, 0, program->reg_count * sizeof *roots->room);
  if (n) memcpy(roots->room + 1, roots->tolerance, n * sizeof *roots->room);
  for (const ModelInstr* pc = code; pc && pc->op != MODEL_OP_END; pc++) {
    if (!step(roots, context, pc, regs)) return false;
  }
  return true;
}

bool model_roots_run(const ModelProgram* program, const ModelContext* context, double* regs,
                     double t, const double* x, double* out) {
  regs[0] = t;
  if (program->state_count) memcpy(regs + 1, x, program->state_count * sizeof *regs);
  if (!model_roots_execute(program, context, program->code, regs)) return false;
  for (uint32_t i = 0; i < program->output_count; i++) {
    out[i] = regs[program->outputs[i]];
  }
  return true;
}

void model_roots_share(const ModelProgram* program, double* tolerance) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t i = 0; i < program->code_count; i++) {
      const ModelInstr* pc = &program->code[i];
      if (pc->op != MODEL_OP_ADD && pc->op != MODEL_OP_SUB) continue;
      uint32_t a = pc->a - 1;
      uint32_t b = pc->b - 1;
      if (a >= program->state_count || b >= program->state_count || tolerance[a] == tolerance[b]) {
        continue;
      }
      tolerance[a] = tolerance[b] = fmax(tolerance[a], tolerance[b]);
      changed = true;
    }
  }
}

bool model_program_has_roots(const ModelProgram* program) {
  for (uint32_t i = 0; i < program->code_count; i++) {
    uint32_t op = program->code[i].op;
    if (op == MODEL_OP_SQRT || op == MODEL_OP_POW) return program->solve_count == 0;
  }
  return false;
}
