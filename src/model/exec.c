// SPDX-License-Identifier: MIT
//
// The tape interpreter. Compiled with -fno-builtin -ffp-contract=off: every operation is the IEEE
// operation or the libm call that its name says, so that generated code can give the same bits.
#include "model/model.h"
#include "model/operations.h"

#include <math.h>
#include <string.h>

// Computed goto: each operation jumps to the next by itself, which the branch predictor likes.
// Other compilers get the same bodies inside a switch.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpedantic"
#define DISPATCH() goto* labels[pc->op]
#define OP(name)   label_##name:
#define NEXT() \
  do { \
    pc++; \
    DISPATCH(); \
  } while (0)
#define LOOP_BEGIN() \
  static const void* const labels[] = {MODEL_OP_LIST(LABEL)}; \
  DISPATCH();
#define LABEL(name, operands) &&label_##name,
#define LOOP_END()
#else
#define OP(name) case MODEL_OP_##name:
#define NEXT()   break
#define LOOP_BEGIN() \
  for (;; pc++) { \
    switch (pc->op) {
#define LOOP_END() \
  default: return; \
    } \
    }
#endif

#define A regs[pc->a]
#define B regs[pc->b]
#define D regs[pc->dst]

#define UNARY(name, value) \
  OP(name) { \
    double a = A; \
    D = (value); \
    NEXT(); \
  }
#define BINARY(name, value) \
  OP(name) { \
    double a = A; \
    double b = B; \
    D = (value); \
    NEXT(); \
  }

uint32_t model_op_operands(uint32_t op) {
  static const uint8_t operands[] = {
#define X(name, count) count,
      MODEL_OP_LIST(X)
#undef X
  };
  return op < MODEL_OP_COUNT ? operands[op] : 0;
}

static double table_at(const ModelContext* context, uint32_t table, double x, int order) {
  return model_table_value(&context->tables[table], x, order);
}

/// One draw scaled by `spread` and moved by `middle`; NaN where no stream was given.
static double draw(const ModelContext* context, double (*from)(ModelRandom*), double middle,
                   double spread) {
  if (!context->random) return (double)NAN;
  return middle + spread * from(context->random);
}

static void execute(const ModelInstr* pc, const ModelContext* context, const ModelProgram* program,
                    double* regs, double* out);

typedef struct Body {
  const ModelInstr* code;
  const ModelContext* context;
  double* regs;
} Body;

static void run_body(void* user) {
  const Body* body = user;
  execute(body->code, body->context, NULL, body->regs, NULL);
}

static void solve(const ModelInstr* pc, const ModelContext* context, const ModelSolve* block,
                  double* regs) {
  if (model_solve_accept(block, regs)) return;
  Body body = {pc + 1, context, regs};
  model_solve_note(model_solve(block, regs, run_body, &body), block, context);
}

/// Execute code to its end, then write the program's outputs if they are asked for: tapes of small
/// models are shorter than a call.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): one body per operation
static void execute(const ModelInstr* pc, const ModelContext* context, const ModelProgram* program,
                    double* regs, double* out) {
  // cppcheck-suppress syntaxError
  LOOP_BEGIN()
  MODEL_OPERATIONS(UNARY, BINARY)
  BINARY(SELECT, model_select(D, a, b))
  UNARY(TABLE, table_at(context, pc->b, a, 0))
  UNARY(TABLE_SLOPE, table_at(context, pc->b, a, 1))
  UNARY(TABLE_CURVE, table_at(context, pc->b, a, 2))
  OP(RANDOM) {
    D = draw(context, model_random_uniform, 0.0, 1.0);
    NEXT();
  }
  BINARY(UNIFORM, draw(context, model_random_uniform, a, b - a))
  BINARY(NORMAL, draw(context, model_random_normal, a, b))
  BINARY(NOISE, context->random ? noise_normal(context->seed, a, b) : (double)NAN)
  UNARY(EXPONENTIAL, draw(context, model_random_exponential, 0.0, a))
  BINARY(PACK, model_pack(context->packs, a, b))
  OP(SOLVE) {
    solve(pc, context, &program->solves[pc->dst], regs);
    pc += pc->a;
    NEXT();
  }
  OP(END) {
    for (uint32_t i = 0; out && i < program->output_count; i++) {
      out[i] = regs[program->outputs[i]];
    }
    return;
  }
  LOOP_END()
}

#if defined(__GNUC__)
#define PLAIN_BEGIN() \
  static const void* const plain[] = {[0 ... MODEL_OP_COUNT - 1] = &&plain_other, \
                                      MODEL_PLAIN_OPERATIONS(PLAIN_ENTRY, PLAIN_ENTRY) \
                                          PLAIN_ENTRY(SELECT, )}; \
  goto* plain[pc->op];
#define PLAIN_ENTRY(name, value) [MODEL_OP_##name] = &&plain_##name,
#define PLAIN_OP(name)           plain_##name:
#define PLAIN_NEXT() \
  do { \
    pc++; \
    goto* plain[pc->op]; \
  } while (0)
#define PLAIN_OTHER() \
  plain_other:
#pragma GCC diagnostic ignored "-Woverride-init"
#else
#define PLAIN_BEGIN() \
  for (;; pc++) { \
    switch (pc->op) {
#define PLAIN_OP(name) case MODEL_OP_##name:
#define PLAIN_NEXT()   break
#define PLAIN_OTHER() \
  default: goto other; \
    } \
    } \
  other:
#endif
#define PLAIN_UNARY(name, value) \
  PLAIN_OP(name) { \
    double a = A; \
    D = (value); \
    PLAIN_NEXT(); \
  }
#define PLAIN_BINARY(name, value) \
  PLAIN_OP(name) { \
    double a = A; \
    double b = B; \
    D = (value); \
    PLAIN_NEXT(); \
  }

void model_program_bind(const ModelProgram* program, const double* env, double* regs) {
  if (program->const_count) {
    memcpy(regs + program->const_begin, program->consts, program->const_count * sizeof *regs);
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    regs[program->inputs[i].reg] = env[program->inputs[i].env];
  }
}

bool model_program_bind_inputs(const ModelProgram* program, const double* env, double* regs) {
  bool changed = false;
  for (uint32_t i = 0; i < program->input_count; i++) {
    double value = env[program->inputs[i].env];
    changed |= !(regs[program->inputs[i].reg] == value);
    regs[program->inputs[i].reg] = value;
  }
  return changed;
}

void model_program_guess(const ModelProgram* program, const double* env, double* regs) {
  for (uint32_t i = 0; i < program->solve_count; i++) {
    const ModelSolve* solve = &program->solves[i];
    for (uint32_t k = 0; !solve->linear && k < solve->count; k++) {
      if (solve->guess_env[k] == MODEL_NONE) continue;
      double guess = env[solve->guess_env[k]];
      if (isfinite(guess)) regs[solve->guesses[k]] = guess;
    }
  }
}

#define FEW_STATES 8  // a call costs more than copying so many

/// Written out: of so few a loop is the larger part.
static inline void copy_few(double* to, const double* from, uint32_t count) {
  switch (count) {
  case 8: to[7] = from[7];  // fall through
  case 7: to[6] = from[6];  // fall through
  case 6: to[5] = from[5];  // fall through
  case 5: to[4] = from[4];  // fall through
  case 4: to[3] = from[3];  // fall through
  case 3: to[2] = from[2];  // fall through
  case 2: to[1] = from[1];  // fall through
  case 1: to[0] = from[0];  // fall through
  default: break;
  }
}

static inline void copy_states(double* to, const double* from, uint32_t count) {
  if (count > FEW_STATES) {
    memcpy(to, from, count * sizeof *to);
  } else {
    copy_few(to, from, count);
  }
}

static void execute_straight(const ModelProgram* program, const ModelContext* context,
                             const ModelInstr* code, double* regs) {
  execute(code, context, program, regs, NULL);
}

/// The way of programs with loops and of many states.
#if defined(__GNUC__)
__attribute__((noinline))  // or the others save registers for it
#endif
static void
interpret_large(const ModelProgram* program, const ModelContext* context, double* regs,
                const double* x, double* out) {
  bool loops_only = program->roll && program->roll->loops_only;
  if (!loops_only) memcpy(regs + 1, x, program->state_count * sizeof *regs);
  if (program->roll) {
    model_roll_run(program, context, regs, loops_only ? x : NULL, out, execute_straight);
  } else {
    execute(program->code, context, program, regs, out);
  }
}

/// Small models have hardly any operations but those that call nothing: a function that calls none
/// saves no registers.
void model_program_interpret(const ModelProgram* program, const ModelContext* context, double* regs,
                             double t, const double* x, double* out) {
  regs[0] = t;
  if (program->roll || program->state_count > FEW_STATES) {
    interpret_large(program, context, regs, x, out);
    return;
  }
  copy_few(regs + 1, x, program->state_count);
  static const ModelInstr nothing = {.op = MODEL_OP_END};
  const ModelInstr* pc = program->code ? program->code : &nothing;
  PLAIN_BEGIN()
  MODEL_PLAIN_OPERATIONS(PLAIN_UNARY, PLAIN_BINARY)
  PLAIN_BINARY(SELECT, model_select(D, a, b))
  PLAIN_OTHER()
  if (pc->op != MODEL_OP_END) {
    execute(pc, context, program, regs, out);
    return;
  }
  if (!out) return;
  const uint32_t* from = program->outputs;
  uint32_t count = program->output_count;
  for (; count > 4; count--) {
    out[count - 1] = regs[from[count - 1]];
  }
  switch (count) {                 // as in copy_few()
  case 4: out[3] = regs[from[3]];  // fall through
  case 3: out[2] = regs[from[2]];  // fall through
  case 2: out[1] = regs[from[1]];  // fall through
  case 1: out[0] = regs[from[0]];  // fall through
  default: break;
  }
}

void model_scale_states(const ModelPartOutput* runs, uint32_t count, double factor,
                        const double* restrict x, double* restrict out) {
  for (uint32_t i = 0; i < count; i++) {
    const double* from = x + runs[i].from;
    double* to = out + runs[i].output;
    for (uint32_t k = 0; k < runs[i].count; k++) {
      to[k] = factor * from[k];
    }
  }
}

void model_program_run_part(const ModelProgram* program, const ModelContext* context,
                            const ModelPart* part, double* regs, double t, const double* x,
                            double* out) {
  regs[0] = t;
  for (uint32_t i = 0; i < part->read_count; i++) {
    regs[part->reads[i] + 1] = x[part->reads[i]];
  }
  if (!context->roots || !model_roots_execute(program, context, part->code, regs)) {
    execute(part->code, context, program, regs, NULL);
  }
  for (uint32_t i = 0; i < part->plain_count; i++) {
    copy_states(out + part->plain[i].output, x + part->plain[i].from, part->plain[i].count);
  }
  for (uint32_t i = 0; i < part->output_count; i++) {
    copy_states(out + part->outputs[i].output, regs + part->outputs[i].from,
                part->outputs[i].count);
  }
}

void model_code_run(const ModelInstr* code, const ModelContext* context, double* regs) {
  execute(code, context, NULL, regs, NULL);
}

void model_instr_run(const ModelInstr* instr, const ModelContext* context, double* regs) {
  const ModelInstr code[2] = {*instr, {.op = MODEL_OP_END}};
  execute(code, context, NULL, regs, NULL);
}

/// A term that computes nothing: a number, a value of the environment, or the time.
static double plain_value(const ModelTerm* term, const double* numbers, const double* env,
                          double t) {
  const ModelProgram* program = &term->shape->program;
  uint32_t reg = program->outputs[0];
  if (reg == 0) return t;
  if (reg - program->const_begin < program->const_count) {
    return program->consts[reg - program->const_begin];
  }
  uint32_t i = 0;
  while (program->inputs[i].reg != reg) {
    i++;
  }
  return model_arg(term->args[program->inputs[i].env], numbers, env);
}

double model_term_value(const ModelTerm* term, const ModelContext* context, const double* numbers,
                        const double* env, double t, double* regs) {
  const ModelProgram* program = &term->shape->program;
  if (program->code_count == 0) return plain_value(term, numbers, env, t);
  copy_states(regs + program->const_begin, program->consts, program->const_count);
  for (uint32_t i = 0; i < program->input_count; i++) {
    regs[program->inputs[i].reg] = model_arg(term->args[program->inputs[i].env], numbers, env);
  }
  regs[0] = t;
  execute(program->code, context, program, regs, NULL);
  return regs[program->outputs[0]];
}

#define SLICE_CHUNK 32

/// Fetch an operand that is a state.
static void fetch_state(const ModelProgram* program, double* regs, ModelStateFn* state,
                        const void* user, uint32_t reg) {
  if (reg >= 1 && reg <= program->state_count) regs[reg] = state(user, reg - 1);
}

void model_program_visit_reads(const ModelProgram* program, uint32_t output, ModelReadFn* visit,
                               void* user) {
  const ModelSlices* slices = program->slices;
  visit(user, program->outputs[output]);
  for (uint32_t i = slices->begin[output]; i < slices->begin[output + 1]; i++) {
    const ModelInstr* pc = &program->code[slices->instrs[i]];
    uint32_t operands = model_op_operands(pc->op);
    if (operands > 0) visit(user, pc->a);
    if (operands > 1) visit(user, pc->b);
  }
}

bool model_program_run_output(const ModelProgram* program, const ModelContext* context,
                              double* regs, double t, ModelStateFn* state, const void* user,
                              uint32_t output, double* value) {
  const ModelSlices* slices = program->slices;
  if (!slices || slices->whole[output] || context->roots) return false;
  ModelInstr chunk[SLICE_CHUNK + 1];
  regs[0] = t;
  uint32_t end = slices->begin[output + 1];
  for (uint32_t i = slices->begin[output]; i < end;) {
    uint32_t count = 0;
    for (; count < SLICE_CHUNK && i < end; count++, i++) {
      const ModelInstr* instr = &program->code[slices->instrs[i]];
      uint32_t operands = model_op_operands(instr->op);
      if (operands > 0) fetch_state(program, regs, state, user, instr->a);
      if (operands > 1) fetch_state(program, regs, state, user, instr->b);
      chunk[count] = *instr;
    }
    chunk[count] = (ModelInstr){.op = MODEL_OP_END};
    execute(chunk, context, NULL, regs, NULL);
  }
  fetch_state(program, regs, state, user, program->outputs[output]);
  *value = regs[program->outputs[output]];
  return true;
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

bool model_singles_run(const ModelSingles* singles, const ModelProgram* program,
                       const ModelContext* context, double* regs, double t, ModelStateFn* state,
                       const void* user, uint32_t output, double* value) {
  uint32_t number = output < singles->output_count ? singles->shape[output] : MODEL_NONE;
  if (number == MODEL_NONE) {
    return model_program_run_output(program, context, regs, t, state, user, output, value);
  }
  const ModelSingleShape* shape = &singles->shapes[number];
  const uint32_t* row = singles->rows + singles->row_begin[output];
  double own[MODEL_SINGLE_REGS];
  regs[0] = t;
  for (uint32_t i = 0; i < shape->state_count; i++) {
    own[i] = state(user, row[i] - 1);
  }
  for (uint32_t i = shape->state_count; i < shape->leaf_count; i++) {
    own[i] = regs[row[i]];
  }
  execute(singles->code + shape->code, context, NULL, own, NULL);
  *value = own[shape->output];
  return true;
}
