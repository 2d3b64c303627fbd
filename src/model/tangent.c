// SPDX-License-Identifier: MIT
//
// The tape on values with derivatives: forward mode, several directions at once. What a block of
// equations is solved for is differentiated through the equations, not through the iteration.
#include "model/derivative.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A program being run: the derivatives of register r are the row d[r * count].
typedef struct Tape {
  const ModelContext* context;
  const ModelSolve* solves;
  double* regs;
  double* d;
  uint32_t count;
  const ModelSeeds* seeds;
} Tape;

bool model_op_value(uint32_t op, double a, double b, double* value) {
  switch (op) {
#define UNARY(name, result) BINARY(name, result)
#define BINARY(name, result) \
  case MODEL_OP_##name: *value = (result); return true;
    MODEL_OPERATIONS(UNARY, BINARY)
#undef UNARY
#undef BINARY
  default: return false;
  }
}

void model_op_slopes(uint32_t op, double a, double b, double self, double* da, double* db) {
  *da = 0.0;
  *db = 0.0;
  switch (op) {
#define SLOPE(X, NAME, ...) \
  case MODEL_OP_##NAME: *da = base_function_slope(BASE_FUNCTION_##NAME, a, self); break;
    BASE_FUNCTIONS(SLOPE, 0)
#undef SLOPE
  case MODEL_OP_MOVE: *da = 1.0; break;
  case MODEL_OP_NEG: *da = -1.0; break;
  case MODEL_OP_ADD: *da = *db = 1.0; break;
  case MODEL_OP_SUB: *da = 1.0, *db = -1.0; break;
  case MODEL_OP_MUL: *da = b, *db = a; break;
  case MODEL_OP_DIV: *da = 1.0 / b, *db = -self / b; break;
  case MODEL_OP_POW:
    *da = b == 0.0 ? 0.0 : b * base_pow(a, b - 1.0);
    *db = a > 0.0 ? self * base_log(a) : 0.0;
    break;
  case MODEL_OP_SQUARE: *da = 2.0 * a; break;
  case MODEL_OP_RECIP: *da = -self * self; break;
  case MODEL_OP_SQRT: *da = 0.5 / self; break;
  case MODEL_OP_ABS: *da = a < 0.0 ? -1.0 : 1.0; break;
  case MODEL_OP_ATAN2: *da = b / (a * a + b * b), *db = -a / (a * a + b * b); break;
  case MODEL_OP_POLYGAMMA: *db = base_polygamma(a + 1.0, b); break;
  case MODEL_OP_MIN:
  case MODEL_OP_MAX: *(self == a ? da : db) = 1.0; break;
  case MODEL_OP_MOD: *da = 1.0, *db = -floor(a / b); break;
  default: break;
  }
}

/// row := da * (row of a) + db * (row of b). What does not move stays so beside an infinite slope.
static void combine(const Tape* tape, uint32_t to, double da, uint32_t a, double db, uint32_t b) {
  double* row = tape->d + (size_t)to * tape->count;
  const double* first = tape->d + (size_t)a * tape->count;
  const double* second = tape->d + (size_t)b * tape->count;
  for (uint32_t k = 0; k < tape->count; k++) {
    double from_a = da == 0.0 || first[k] == 0.0 ? 0.0 : da * first[k];
    double from_b = db == 0.0 || second[k] == 0.0 ? 0.0 : db * second[k];
    row[k] = from_a + from_b;
  }
}

static void clear_row(const Tape* tape, uint32_t reg) {
  for (uint32_t k = 0; k < tape->count; k++)
    tape->d[(size_t)reg * tape->count + k] = 0.0;
}

static bool stands_still(const Tape* tape, uint32_t reg) {
  for (uint32_t k = 0; k < tape->count; k++) {
    if (tape->d[(size_t)reg * tape->count + k] != 0.0) return false;
  }
  return true;
}

/// A history has a derivative of its own.
static bool add_history(const Tape* tape, const ModelInstr* pc, double x, int order) {
  if (!tape->count || !tape->seeds->history) return true;
  double* row = calloc(tape->count, sizeof *row);
  bool good = row && tape->seeds->history(tape->seeds->user, pc->b, x, order, row);
  for (uint32_t k = 0; good && k < tape->count; k++)
    tape->d[(size_t)pc->dst * tape->count + k] += row[k];
  free(row);
  return good;
}

static bool run_table(const Tape* tape, const ModelInstr* pc, int order) {
  const ModelTable* table = &tape->context->tables[pc->b];
  double x = tape->regs[pc->a];
  double slope = order < 2 ? model_table_value(table, x, order + 1) : 0.0;
  combine(tape, pc->dst, slope, pc->a, 0.0, pc->a);
  tape->regs[pc->dst] = model_table_value(table, x, order);
  return !table->history || add_history(tape, pc, x, order);
}

static void run_select(const Tape* tape, const ModelInstr* pc) {
  double share = tape->regs[pc->dst];
  double a = tape->regs[pc->a];
  double b = tape->regs[pc->b];
  for (uint32_t k = 0; k < tape->count; k++) {
    double* to = &tape->d[(size_t)pc->dst * tape->count + k];
    double moves = *to == 0.0 ? 0.0 : (a - b) * *to;
    *to = moves + model_select(share, tape->d[(size_t)pc->a * tape->count + k],
                               tape->d[(size_t)pc->b * tape->count + k]);
  }
  tape->regs[pc->dst] = model_select(share, a, b);
}

static bool run_code(const Tape* tape, const ModelInstr* pc);

// ---- blocks of equations ------------------------------------------------------------------------

typedef struct Body {
  Tape tape;
  const ModelInstr* code;
  bool good;
} Body;

static void run_values(void* user) {
  Body* body = user;
  body->good &= run_code(&body->tape, body->code);
}

static void swap_rows(uint32_t count, double* a, uint32_t i, uint32_t k) {
  for (uint32_t j = 0; j < count; j++) {
    double keep = a[(size_t)i * count + j];
    a[(size_t)i * count + j] = a[(size_t)k * count + j];
    a[(size_t)k * count + j] = keep;
  }
}

/// Row i less a multiple of row k, from a column on.
static void subtract_row(uint32_t count, double* a, uint32_t i, uint32_t k, double factor,
                         uint32_t from) {
  for (uint32_t j = from; j < count; j++) {
    a[(size_t)i * count + j] -= factor * a[(size_t)k * count + j];
  }
}

bool model_eliminate(uint32_t n, uint32_t count, double* a, double* x) {
  for (uint32_t k = 0; k < n; k++) {
    uint32_t best = k;
    for (uint32_t i = k + 1; i < n; i++) {
      if (fabs(a[(size_t)i * n + k]) > fabs(a[(size_t)best * n + k])) best = i;
    }
    if (!(fabs(a[(size_t)best * n + k]) > 0.0)) return false;
    swap_rows(n, a, k, best);
    swap_rows(count, x, k, best);
    for (uint32_t i = 0; i < n; i++) {
      double factor = i == k ? 0.0 : a[(size_t)i * n + k] / a[(size_t)k * n + k];
      if (factor == 0.0) continue;
      subtract_row(n, a, i, k, factor, k);
      subtract_row(count, x, i, k, factor, 0);
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < count; j++)
      x[(size_t)i * count + j] /= a[(size_t)i * n + i];
  }
  return true;
}

/// Derivatives of the unknowns, at their solution: J du = -(dr with the unknowns held).
static bool differentiate_block(const Tape* tape, const ModelSolve* solve, const ModelInstr* code) {
  uint32_t n = solve->count;
  uint32_t count = tape->count;
  for (uint32_t i = 0; i < n; i++)
    clear_row(tape, solve->unknowns[i]);
  if (!run_code(tape, code)) return false;
  double* a = calloc((size_t)n * n + (size_t)n * count + 1, sizeof *a);
  if (!a) return false;
  double* x = a + (size_t)n * n;
  for (uint32_t i = 0; i < solve->entry_count; i++) {
    const ModelEntry* entry = &solve->entries[i];
    a[(size_t)entry->row * n + entry->column] += tape->regs[entry->reg];
  }
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < count; k++)
      x[(size_t)i * count + k] = -tape->d[(size_t)solve->residuals[i] * count + k];
  }
  bool good = model_eliminate(n, count, a, x);
  for (uint32_t i = 0; good && i < n; i++)
    memcpy(tape->d + (size_t)solve->unknowns[i] * count, x + (size_t)i * count, count * sizeof *x);
  free(a);
  return good && run_code(tape, code);
}

static bool run_solve(const Tape* tape, const ModelInstr* pc) {
  const ModelSolve* solve = &tape->solves[pc->dst];
  if (solve->relax_count) return false;
  if (model_solve_accept(solve, tape->regs)) {
    for (uint32_t i = 0; i < solve->count; i++)
      combine(tape, solve->unknowns[i], 1.0, solve->offers[i], 0.0, solve->offers[i]);
    return true;
  }
  Body body = {*tape, pc + 1, true};
  body.tape.count = 0;
  body.tape.solves = NULL;
  ModelSolved solved = model_solve(solve, tape->regs, run_values, &body);
  if (solved == MODEL_UNSOLVED && solve->tries) {
    for (uint32_t i = 0; i < solve->count; i++)
      clear_row(tape, solve->unknowns[i]);
    return true;
  }
  if (solved != MODEL_SOLVED || !body.good) return false;
  Tape inner = *tape;
  inner.solves = NULL;
  return tape->count == 0 || differentiate_block(&inner, solve, pc + 1);
}

// ---- programs -----------------------------------------------------------------------------------

/// A draw is scaled and moved by its operands; the number itself stands.
static bool run_draw(const Tape* tape, const ModelInstr* pc) {
  ModelRandom* random = tape->context->random;
  double a = tape->regs[pc->a];
  double b = pc->op == MODEL_OP_UNIFORM || pc->op == MODEL_OP_NORMAL ? tape->regs[pc->b] : 0.0;
  if (!random) return false;
  double drawn = pc->op == MODEL_OP_NORMAL        ? model_random_normal(random)
                 : pc->op == MODEL_OP_EXPONENTIAL ? model_random_exponential(random)
                                                  : model_random_uniform(random);
  switch (pc->op) {
  case MODEL_OP_UNIFORM:
    combine(tape, pc->dst, 1.0 - drawn, pc->a, drawn, pc->b);
    tape->regs[pc->dst] = a + (b - a) * drawn;
    return true;
  case MODEL_OP_NORMAL:
    combine(tape, pc->dst, 1.0, pc->a, drawn, pc->b);
    tape->regs[pc->dst] = a + b * drawn;
    return true;
  case MODEL_OP_EXPONENTIAL:
    combine(tape, pc->dst, drawn, pc->a, 0.0, pc->a);
    tape->regs[pc->dst] = 0.0 + a * drawn;
    return true;
  default:
    clear_row(tape, pc->dst);
    tape->regs[pc->dst] = drawn;
    return true;
  }
}

/// Where an operation has no derivative that is known nothing can be said.
static bool run_special(const Tape* tape, const ModelInstr* pc) {
  switch (pc->op) {
  case MODEL_OP_SELECT: run_select(tape, pc); return true;
  case MODEL_OP_TABLE: return run_table(tape, pc, 0);
  case MODEL_OP_TABLE_SLOPE: return run_table(tape, pc, 1);
  case MODEL_OP_TABLE_CURVE: return stands_still(tape, pc->a) && run_table(tape, pc, 2);
  case MODEL_OP_SOLVE: return run_solve(tape, pc);
  case MODEL_OP_RANDOM:
  case MODEL_OP_UNIFORM:
  case MODEL_OP_NORMAL:
  case MODEL_OP_EXPONENTIAL: return run_draw(tape, pc);
  default: return false;
  }
}

static bool run_code(const Tape* tape, const ModelInstr* pc) {
  for (; pc->op != MODEL_OP_END; pc++) {
    bool two = model_op_operands(pc->op) == 2;
    double a = tape->regs[pc->a];
    double b = two ? tape->regs[pc->b] : 0.0;
    double value = 0.0;
    if (pc->op != MODEL_OP_SOLVE && model_op_value(pc->op, a, b, &value)) {
      double da = 0.0;
      double db = 0.0;
      if (tape->count) model_op_slopes(pc->op, a, b, value, &da, &db);
      combine(tape, pc->dst, da, pc->a, db, two ? pc->b : pc->a);
      tape->regs[pc->dst] = value;
      continue;
    }
    if (!run_special(tape, pc)) return false;
    if (pc->op == MODEL_OP_SOLVE) pc += pc->a;
  }
  return true;
}

size_t model_tangent_room(const ModelProgram* program, uint32_t count) {
  return (size_t)program->reg_count * (1 + (size_t)count);
}

static Tape new_tape(const ModelProgram* program, const ModelContext* context,
                     const ModelSeeds* seeds, double* room) {
  uint32_t count = seeds->count;
  Tape tape = {.context = context,
               .solves = program->solves,
               .regs = room,
               .d = room + program->reg_count,
               .count = count,
               .seeds = seeds};
  memset(room, 0, model_tangent_room(program, count) * sizeof *room);
  if (program->const_count) {
    memcpy(room + program->const_begin, program->consts, program->const_count * sizeof *room);
  }
  return tape;
}

static void copy_row(const Tape* tape, uint32_t reg, const double* row) {
  if (row && tape->count) {
    memcpy(tape->d + (size_t)reg * tape->count, row, tape->count * sizeof *row);
  }
}

/// The row of a place of the environment; pre(x) moves as x does.
static const double* env_row(const ModelSeeds* seeds, uint32_t env) {
  if (!seeds->env) return NULL;
  return seeds->env + (size_t)(env % seeds->env_count) * seeds->count;
}

static bool finish(const Tape* tape, const ModelProgram* program, double* out, double* d_out) {
  if (program->code_count && !run_code(tape, program->code)) return false;
  for (uint32_t i = 0; i < program->output_count; i++) {
    uint32_t reg = program->outputs[i];
    out[i] = tape->regs[reg];
    if (tape->count) {
      memcpy(d_out + (size_t)i * tape->count, tape->d + (size_t)reg * tape->count,
             tape->count * sizeof *d_out);
    }
  }
  return true;
}

bool model_program_tangent(const ModelProgram* program, const ModelContext* context,
                           const double* env, double t, const double* x, const ModelSeeds* seeds,
                           double* room, double* out, double* d_out) {
  Tape tape = new_tape(program, context, seeds, room);
  tape.regs[0] = t;
  copy_row(&tape, 0, seeds->time);
  for (uint32_t i = 0; i < program->state_count; i++) {
    tape.regs[1 + i] = x[i];
    copy_row(&tape, 1 + i, seeds->states ? seeds->states + (size_t)i * seeds->count : NULL);
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    tape.regs[program->inputs[i].reg] = env[program->inputs[i].env];
    copy_row(&tape, program->inputs[i].reg, env_row(seeds, program->inputs[i].env));
  }
  return finish(&tape, program, out, d_out);
}

bool model_term_tangent(const ModelTerm* term, const ModelContext* context, const double* numbers,
                        const double* env, double t, const ModelSeeds* seeds, double* room,
                        double* out, double* d_out) {
  const ModelProgram* program = &term->shape->program;
  Tape tape = new_tape(program, context, seeds, room);
  tape.regs[0] = t;
  copy_row(&tape, 0, seeds->time);
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t arg = term->args[program->inputs[i].env];
    tape.regs[program->inputs[i].reg] = model_arg(arg, numbers, env);
    if (!(arg & MODEL_ARG_NUMBER)) copy_row(&tape, program->inputs[i].reg, env_row(seeds, arg));
  }
  return finish(&tape, program, out, d_out);
}
