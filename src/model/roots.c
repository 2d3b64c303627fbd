// SPDX-License-Identifier: MIT
//
// The tape near the end of its roots. sqrt(u), and u^p with p between 0 and 1, have no bounded
// slope at u = 0 and no value beyond it. Closer to zero than the tolerance of u, which no method
// resolves, they are replaced by the chord through zero, which has both; beyond, where only stages
// of a step look, by the odd function. The tolerance of every register follows from those of the
// states to first order.
#include "model/derivative.h"

#include <math.h>
#include <stdlib.h>
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
static double near_zero(const ModelInstr* pc, Root root, double u, double width) {
  if (root.slope) return base_pow(width, root.power) / (root.power + 1.0);
  double end = pc->op == MODEL_OP_SQRT ? MODEL_SQRT(width) : base_pow(width, root.power);
  return u * (end / width);
}

/// False: it is as always. `inverse`: see ModelRoots.
static bool replace(ModelRoots* roots, const ModelInstr* pc, const double* regs, double* value,
                    double* inverse) {
  Root root;
  if (!is_power(pc, regs, &root)) return false;
  double u = regs[pc->a];
  double tolerance = roots->room[pc->a];
  double width = roots->share * tolerance;
  if (!isfinite(u)) return false;
  // the tolerance of what has always been zero is not known
  roots->nearest = fmin(roots->nearest, u == 0.0 ? 0.0 : fabs(u) / tolerance);
  if (fabs(u) <= width && width > 0.0) {
    *value = near_zero(pc, root, u, width);
    if (pc->op == MODEL_OP_SQRT) *inverse = 2.0 / MODEL_SQRT(width);
    return true;
  }
  if (u >= 0.0 || (roots->strict && u < -BEYOND * tolerance)) return false;
  double beyond = pc->op == MODEL_OP_SQRT ? MODEL_SQRT(-u) : base_pow(-u, root.power);
  *value = root.slope ? beyond : -beyond;
  if (pc->op == MODEL_OP_SQRT) *inverse = 1.0 / beyond;
  return true;
}

/// A program being run near the end of its roots.
typedef struct Tape {
  ModelRoots* roots;
  const ModelContext* context;
  const ModelSolve* solves;
  double* regs;
} Tape;

static double spread(const Tape* tape, const ModelInstr* pc, double self) {
  const double* tolerance = tape->roots->room;
  double a = tape->regs[pc->a];
  double da = 0.0;
  double db = 0.0;
  bool two = model_op_operands(pc->op) == 2;
  double from_a = tolerance[pc->a];
  double from_b = two ? tolerance[pc->b] : 0.0;
  if (from_a == 0.0 && from_b == 0.0) return 0.0;
  if (pc->op == MODEL_OP_TABLE) {
    da = model_table_value(&tape->context->tables[pc->b], a, 1);
  } else {
    model_op_slopes(pc->op, a, two ? tape->regs[pc->b] : 0.0, self, &da, &db);
  }
  double sum = (from_a > 0.0 ? fabs(da) * from_a : 0.0) + (from_b > 0.0 ? fabs(db) * from_b : 0.0);
  return isfinite(sum) ? sum : 0.0;
}

static void run_select(const Tape* tape, const ModelInstr* pc) {
  double* regs = tape->regs;
  bool first = regs[pc->dst] != 0.0;
  tape->roots->room[pc->dst] = tape->roots->room[first ? pc->a : pc->b];
  tape->roots->inverse[pc->dst] = tape->roots->inverse[first ? pc->a : pc->b];
  regs[pc->dst] = model_select(regs[pc->dst], regs[pc->a], regs[pc->b]);
}

/// Derivatives of a root divide by it, or by a multiple of it: what they multiply with instead.
static double inverse_of(const Tape* tape, const ModelInstr* pc) {
  const double* inverse = tape->roots->inverse;
  if (pc->op == MODEL_OP_NEG) return -inverse[pc->a];
  if (pc->op != MODEL_OP_MUL) return 0.0;
  if (inverse[pc->a] != 0.0) return inverse[pc->a] / tape->regs[pc->b];
  return inverse[pc->b] != 0.0 ? inverse[pc->b] / tape->regs[pc->a] : 0.0;
}

static bool divides_by_root(const Tape* tape, const ModelInstr* pc, double* value) {
  const double* inverse = tape->roots->inverse;
  if (pc->op == MODEL_OP_RECIP) *value = inverse[pc->a];
  if (pc->op == MODEL_OP_DIV) *value = tape->regs[pc->a] * inverse[pc->b];
  return (pc->op == MODEL_OP_RECIP && inverse[pc->a] != 0.0) ||
         (pc->op == MODEL_OP_DIV && inverse[pc->b] != 0.0);
}

/// One operation. What it is not differentiated for has no tolerance.
static void step(const Tape* tape, const ModelInstr* pc) {
  double* regs = tape->regs;
  double* tolerance = tape->roots->room;
  double value = 0.0;
  double inverse = 0.0;
  if (pc->op == MODEL_OP_SELECT) {
    run_select(tape, pc);
    return;
  }
  double a = regs[pc->a];
  double by = 0.0;
  bool two = model_op_operands(pc->op) == 2;
  if (replace(tape->roots, pc, regs, &value, &inverse)) {
    by = fabs(value / a) * tolerance[pc->a];  // a chord is as uncertain as its argument makes it
  } else if (divides_by_root(tape, pc, &value)) {
    by = spread(tape, pc, value);
  } else if (model_op_value(pc->op, a, two ? regs[pc->b] : 0.0, &value)) {
    by = spread(tape, pc, value);
    inverse = inverse_of(tape, pc);
  } else {
    model_instr_run(pc, tape->context, regs);
    value = regs[pc->dst];
    if (pc->op == MODEL_OP_TABLE) by = spread(tape, pc, value);
  }
  regs[pc->dst] = value;
  tolerance[pc->dst] = isfinite(by) ? by : 0.0;
  tape->roots->inverse[pc->dst] = isfinite(inverse) ? inverse : 0.0;
}

static void run_code(const Tape* tape, const ModelInstr* pc);

typedef struct Body {
  const Tape* tape;
  const ModelInstr* code;
} Body;

static void run_body(void* user) {
  const Body* body = user;
  run_code(body->tape, body->code);
}

/// How far the tolerances of what a block reads move its unknowns, by its Jacobian; where that is
/// not at hand, or is singular, they have none.
static void spread_over_unknowns(const Tape* tape, const ModelSolve* solve) {
  uint32_t n = solve->count;
  double* tolerance = tape->roots->room;
  double* a = solve->sparse || solve->linear ? NULL : calloc((size_t)n * n + n, sizeof *a);
  double* x = a ? a + (size_t)n * n : NULL;
  for (uint32_t i = 0; a && i < solve->entry_count; i++) {
    const ModelEntry* entry = &solve->entries[i];
    a[(size_t)entry->row * n + entry->column] += tape->regs[entry->reg];
  }
  for (uint32_t i = 0; a && i < n; i++) {
    x[i] = tolerance[solve->residuals[i]];
  }
  bool good = a && model_eliminate(n, 1, a, x);
  for (uint32_t i = 0; i < n; i++) {
    tolerance[solve->unknowns[i]] = good && isfinite(x[i]) ? fabs(x[i]) : 0.0;
  }
  free(a);
}

static void run_solve(const Tape* tape, const ModelInstr* pc) {
  const ModelSolve* solve = &tape->solves[pc->dst];
  double* tolerance = tape->roots->room;
  if (model_solve_accept(solve, tape->regs)) {
    for (uint32_t i = 0; i < solve->count; i++) {
      tolerance[solve->unknowns[i]] = tolerance[solve->offers[i]];
    }
    return;
  }
  for (uint32_t i = 0; i < solve->count; i++) {
    tolerance[solve->unknowns[i]] = 0.0;
  }
  Body body = {tape, pc + 1};
  model_solve_note(model_solve(solve, tape->regs, run_body, &body), solve, tape->context);
  spread_over_unknowns(tape, solve);
}

static void run_code(const Tape* tape, const ModelInstr* pc) {
  for (; pc->op != MODEL_OP_END; pc++) {
    if (pc->op == MODEL_OP_SOLVE) {
      run_solve(tape, pc);
      pc += pc->a;
    } else {
      step(tape, pc);
    }
  }
}

bool model_roots_execute(const ModelProgram* program, const ModelContext* context,
                         const ModelInstr* code, double* regs) {
  ModelRoots* roots = context->roots;
  if (2 * (size_t)program->reg_count > roots->capacity) return false;
  // algebraic unknowns of stiff methods follow the states
  uint32_t n =
      program->state_count < roots->state_count ? program->state_count : roots->state_count;
  memset(roots->room, 0, 2 * (size_t)program->reg_count * sizeof *roots->room);
  roots->inverse = roots->room + program->reg_count;
  if (n) memcpy(roots->room + 1, roots->tolerance, n * sizeof *roots->room);
  Tape tape = {roots, context, program->solves, regs};
  if (code) run_code(&tape, code);
  return true;
}

void model_roots_run(const ModelProgram* program, const ModelContext* context, double* regs,
                     double t, const double* x, double* out) {
  regs[0] = t;
  if (program->state_count) memcpy(regs + 1, x, program->state_count * sizeof *regs);
  if (!model_roots_execute(program, context, program->code, regs)) {
    model_program_run_plain(program, context, regs, t, x, out);
    return;
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    out[i] = regs[program->outputs[i]];
  }
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
    if (op == MODEL_OP_SQRT || op == MODEL_OP_POW) return true;
  }
  return false;
}
