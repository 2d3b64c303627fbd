// SPDX-License-Identifier: MIT
//
// Programs as C text. Nothing but numbers and register indices of the programs gets into it: no
// name, no text of the model.
//
// Registers of the tape become variables that are assigned once, so the compiler sees the data flow
// and not the reuse of registers. Only what the runtime has to see is in the registers in memory:
// around the solution of a block of equations, its body being a function of its own.
#include "native/write.h"

#include "numeric/numeric.h"

#include <stdio.h>
#include <string.h>

#define ROLL_FROM     600  // operations: longer programs become loops
#define STAGES_STATES 8
#define STAGES_CODE   64

// How the operations read in C; `a`, `b` are the operands, `d` the register's value before. The
// tape has the same expressions (exec.c); a test compares them on every kind of number.
static const char* const expressions[MODEL_OP_COUNT] = {
    [MODEL_OP_MOVE] = "a",
    [MODEL_OP_NEG] = "-a",
    [MODEL_OP_ADD] = "a + b",
    [MODEL_OP_SUB] = "a - b",
    [MODEL_OP_MUL] = "a * b",
    [MODEL_OP_DIV] = "a / b",
    [MODEL_OP_POW] = "H->base_pow(a, b)",
    [MODEL_OP_SQUARE] = "a * a",
    [MODEL_OP_RECIP] = "1.0 / a",
#define ENTRY(X, name, word, call, ...) [MODEL_OP_##name] = "H->" #call "(a)",
    BASE_FUNCTIONS(ENTRY, )
#undef ENTRY
        [MODEL_OP_SQRT] = "__builtin_sqrt(a)",
    [MODEL_OP_ABS] = "__builtin_fabs(a)",
    [MODEL_OP_SIGN] = "a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a == 0.0 ? 0.0 : a",
    [MODEL_OP_FLOOR] = "H->floor(a)",
    [MODEL_OP_CEIL] = "H->ceil(a)",
    [MODEL_OP_ATAN2] = "H->base_atan2(a, b)",
    [MODEL_OP_POLYGAMMA] = "H->base_polygamma(a, b)",
    [MODEL_OP_MIN] = "a < b || a != a ? a : b",
    [MODEL_OP_MAX] = "a > b || a != a ? a : b",
    [MODEL_OP_MOD] = "a - b * H->floor(a / b)",
    [MODEL_OP_LT] = "a < b ? 1.0 : 0.0",
    [MODEL_OP_LE] = "a <= b ? 1.0 : 0.0",
    [MODEL_OP_GT] = "a > b ? 1.0 : 0.0",
    [MODEL_OP_GE] = "a >= b ? 1.0 : 0.0",
    [MODEL_OP_EQ] = "a == b ? 1.0 : 0.0",
    [MODEL_OP_NE] = "a != b ? 1.0 : 0.0",
    [MODEL_OP_AND] = "a != 0.0 && b != 0.0 ? 1.0 : 0.0",
    [MODEL_OP_OR] = "a != 0.0 || b != 0.0 ? 1.0 : 0.0",
    [MODEL_OP_NOT] = "a == 0.0 ? 1.0 : 0.0",
    [MODEL_OP_SELECT] = "d == 0.0 ? b : d == 1.0 ? a : d * a + (1.0 - d) * b",
    [MODEL_OP_TABLE] = "H->table(C, b, a, 0)",
    [MODEL_OP_TABLE_SLOPE] = "H->table(C, b, a, 1)",
    [MODEL_OP_TABLE_CURVE] = "H->table(C, b, a, 2)",
};

// ModelHost and the signatures, as the unit sees them.
#define STRING(...) #__VA_ARGS__
#define EXPAND(...) STRING(__VA_ARGS__)
#define X1(name)    double (*name)(double);
#define X2(name)    double (*name)(double, double);
static const char prelude[] =
    "typedef struct Host { " EXPAND(MODEL_HOST_UNARY(X1)) EXPAND(MODEL_HOST_BINARY(
        X2)) "double (*table)(const void*, unsigned, double, int);"
             "void (*solve)(const void*, const void*, unsigned, double*, void (*)(void*), void*);"
             " } Host;\n"
             "typedef struct Body { const Host* H; const void* C; double* R; } Body;\n"
             "typedef void Run(const Host*, const void*, const void*, double*, double, const "
             "double*,"
             " double*);\n"
             "typedef void Block(const Host*, const void*, const void*, double*, const double*,"
             " const double*, double*);\n"
             "typedef struct Stages { double t, h, t_end; const double *x, *k1; double* k;"
             " unsigned long stride; double *y, *x_end, *k7; } Stages;\n"
             "typedef void Steps(const Host*, const void*, const void*, double*, const Stages*);\n"
             "typedef struct Entry { Run* run; Block* block; Steps* stages; } Entry;\n"
             "typedef struct Instr { unsigned op, dst, a, b; } Instr;\n"
             "#define MAX 0x1.fffffffffffffp1023\n"
             "#define OP(name, a, b, d, ...) static inline __attribute__((always_inline)) double "
             "name("
             "const Host* H, const void* C, a, b, d) { return __VA_ARGS__; }\n";

/// Hexadecimal, by hand: printf would ask the locale for the point.
Operand native_number(double value) {
  union {
    double value;
    uint64_t bits;
  } u = {.value = value};
  Operand o;
  uint64_t fraction = u.bits & ((UINT64_C(1) << 52) - 1);
  int exponent = (int)(u.bits >> 52 & 0x7ff);
  int power = exponent ? exponent - 1023 : -1022;
  snprintf(o.text, sizeof o.text, "(%s0x%d.%013llxp%d)", u.bits >> 63 ? "-" : "", exponent != 0,
           (unsigned long long)fraction, power);
  return o;
}

static bool is_finite(double value) {
  return value - value == 0.0;
}

static Operand variable(uint32_t number) {
  Operand o;
  snprintf(o.text, sizeof o.text, "v%u", number);
  return o;
}

/// The value of a register that is in memory or was handed to the function.
static Operand load(Writer* w, uint32_t reg) {
  const ModelProgram* p = w->program;
  bool given = reg <= p->state_count && !w->body && w->where[reg] == IN_PLACE;
  Operand o = variable(w->next);
  text_append_format(w->out, "const double %s = ", o.text);
  if (given && reg == 0) {
    text_append_c(w->out, w->lanes ? "T[k]" : "t");
  } else if (given) {
    text_append_format(w->out, w->lanes ? "X[%u + k]" : "X[%u]",
                       (reg - 1) * (w->lanes ? MODEL_LANES : 1));
  } else {
    // inputs and constants are the same in all lanes, and nothing else is read from there
    text_append_format(w->out, "R[%u]", reg * (w->lanes ? MODEL_LANES : 1));
  }
  text_append_c(w->out, ";\n");
  w->where[reg] = w->next++;
  return o;
}

Operand native_operand(Writer* w, uint32_t reg) {
  const ModelProgram* p = w->program;
  if (reg >= p->const_begin && reg < p->const_begin + p->const_count) {
    double value = p->consts[reg - p->const_begin];
    if (is_finite(value)) return native_number(value);
  }
  if (w->where[reg] == IN_PLACE || w->where[reg] == IN_MEMORY) return load(w, reg);
  return variable(w->where[reg]);
}

static bool is_table(uint32_t op) {
  return op == MODEL_OP_TABLE || op == MODEL_OP_TABLE_SLOPE || op == MODEL_OP_TABLE_CURVE;
}

void native_operation(Writer* w, const ModelInstr* pc) {
  Operand a = native_operand(w, pc->a);
  Operand b = {"0"};
  Operand d = {"0"};
  if (is_table(pc->op)) snprintf(b.text, sizeof b.text, "%u", pc->b);
  if (model_op_operands(pc->op) > 1) b = native_operand(w, pc->b);
  if (pc->op == MODEL_OP_SELECT) d = native_operand(w, pc->dst);
  text_append_format(w->out, "const double v%u = op%u(H, C, %s, %s, %s);\n", w->next, pc->op,
                     a.text, b.text, d.text);
  w->where[pc->dst] = w->next++;
}

// ---------------------------------------------------------------------------------------------
// blocks of equations

bool native_reads(const ModelInstr* pc, uint32_t reg) {
  uint32_t operands = model_op_operands(pc->op);
  return (operands > 0 && pc->a == reg) || (operands > 1 && pc->b == reg) ||
         (pc->op == MODEL_OP_SELECT && pc->dst == reg);
}

/// Whether the body of the block at `at` leaves a value in `reg` that anybody reads.
static bool leaves(const ModelProgram* p, uint32_t at, uint32_t reg) {
  const ModelInstr* pc = &p->code[at];
  const ModelSolve* solve = &p->solves[pc->dst];
  for (uint32_t i = 0; i < solve->count; i++) {
    if (solve->residuals[i] == reg) return true;
  }
  for (uint32_t i = 0; i < solve->entry_count + solve->relax_count; i++) {
    if (solve->entries[i].reg == reg) return true;
  }
  for (uint32_t i = at + pc->a + 1; i < p->code_count; i++) {
    const ModelInstr* later = &p->code[i];
    // what a later block reads is stored before it; its tables are part of that
    if (later->op == MODEL_OP_SOLVE) return true;
    if (native_reads(later, reg)) return true;
    if (later->op != MODEL_OP_END && later->dst == reg) return false;
  }
  for (uint32_t i = 0; i < p->output_count; i++) {
    if (p->outputs[i] == reg) return true;
  }
  return false;
}

static void reset(Writer* w) {
  memset(w->where, 0xff, w->program->reg_count * sizeof *w->where);
}

static void write_body(Writer* w, uint32_t number, uint32_t at) {
  const ModelProgram* p = w->program;
  uint32_t end = at + p->code[at].a;
  text_append_format(w->out,
                     "static void p%u_s%u(void* user) {\n"
                     "const Body* body = user;\n"
                     "const Host* const H = body->H;\nconst void* const C = body->C;\n"
                     "double* const R = body->R;\n(void)H;\n(void)C;\n",
                     number, p->code[at].dst);
  reset(w);
  w->body = true;
  for (uint32_t i = at + 1; i < end; i++) {
    native_operation(w, &p->code[i]);
  }
  w->body = false;
  for (uint32_t i = at + 1; i < end; i++) {
    uint32_t reg = p->code[i].dst;
    if (w->where[reg] == IN_MEMORY || !leaves(p, at, reg)) continue;
    text_append_format(w->out, "R[%u] = v%u;\n", reg, w->where[reg]);
    w->where[reg] = IN_MEMORY;  // once
  }
  text_append_c(w->out, "}\n");
}

/// Put a register's value where the runtime and the body look for it.
void native_spill(Writer* w, uint32_t reg) {
  const ModelProgram* p = w->program;
  bool leaf = reg > p->state_count && reg < p->const_begin + p->const_count;
  if (leaf || w->where[reg] == IN_MEMORY) return;
  if (w->where[reg] == IN_PLACE && reg > p->state_count) return;
  Operand value = native_operand(w, reg);
  text_append_format(w->out, "R[%u] = %s;\n", reg, value.text);
}

/// Everything that the body of a block and its tables name to memory, or only into variables.
static void for_block(Writer* w, uint32_t at, void (*visit)(Writer*, uint32_t)) {
  const ModelProgram* p = w->program;
  const ModelSolve* solve = &p->solves[p->code[at].dst];
  for (uint32_t i = at + 1; i < at + p->code[at].a; i++) {
    const ModelInstr* inner = &p->code[i];
    uint32_t operands = model_op_operands(inner->op);
    if (operands > 0) visit(w, inner->a);
    if (operands > 1) visit(w, inner->b);
    if (inner->op == MODEL_OP_SELECT) visit(w, inner->dst);
  }
  for (uint32_t i = 0; i < solve->count; i++) {
    visit(w, solve->residuals[i]);
    if (!solve->linear) visit(w, solve->guesses[i]);
  }
  for (uint32_t i = 0; i < solve->entry_count + solve->relax_count; i++) {
    visit(w, solve->entries[i].reg);
  }
}

/// States come from the caller's array: they get a name before a branch that needs one.
static void fetch(Writer* w, uint32_t reg) {
  if (reg <= w->program->state_count && w->where[reg] == IN_PLACE) load(w, reg);
}

/// A block that comes with a solution: solved only where that is not to be trusted. What its body
/// computes is read by nobody else.
static void write_offered(Writer* w, uint32_t number, uint32_t at) {
  const ModelProgram* p = w->program;
  const ModelInstr* pc = &p->code[at];
  const ModelSolve* solve = &p->solves[pc->dst];
  for_block(w, at, fetch);
  // first everything that makes names of its own
  native_operand(w, solve->accept);
  for (uint32_t i = 0; i < solve->count; i++) {
    native_operand(w, solve->offers[i]);
  }
  for (uint32_t i = 0; i < solve->count; i++) {
    Operand offer = native_operand(w, solve->offers[i]);
    text_append_format(w->out, "double v%u = %s;\n", w->next + i, offer.text);
  }
  Operand accept = native_operand(w, solve->accept);
  text_append_format(w->out, "if (__builtin_expect(%s == 0.0, 0)) {\n", accept.text);
  for_block(w, at, native_spill);
  text_append_format(w->out, "Body body = {H, C, R};\nH->solve(P, C, %u, R, p%u_s%u, &body);\n",
                     pc->dst, number, pc->dst);
  for (uint32_t i = 0; i < solve->count; i++) {
    text_append_format(w->out, "v%u = R[%u];\n", w->next + i, solve->unknowns[i]);
  }
  text_append_c(w->out, "}\n");
  for (uint32_t i = 0; i < solve->count; i++) {
    w->where[solve->unknowns[i]] = w->next++;
    text_append_format(w->out, "R[%u] = v%u;\n", solve->unknowns[i], w->next - 1);
  }
}

static void write_solve(Writer* w, uint32_t number, uint32_t at) {
  const ModelProgram* p = w->program;
  const ModelInstr* pc = &p->code[at];
  const ModelSolve* solve = &p->solves[pc->dst];
  uint32_t end = at + pc->a;
  for_block(w, at, native_spill);
  text_append_format(w->out,
                     "{\nBody body = {H, C, R};\nH->solve(P, C, %u, R, p%u_s%u, &body);\n}\n",
                     pc->dst, number, pc->dst);
  for (uint32_t i = at + 1; i < end; i++) {
    w->where[p->code[i].dst] = IN_MEMORY;
  }
  for (uint32_t i = 0; i < solve->count; i++) {
    w->where[solve->unknowns[i]] = IN_MEMORY;
  }
}

// ---------------------------------------------------------------------------------------------
// programs

static void write_outputs(Writer* w) {
  const ModelProgram* p = w->program;
  uint32_t lanes = w->lanes ? MODEL_LANES : 1;
  const char* lane = w->lanes ? " + k" : "";
  // first all values, then all stores: they may go where states come from
  for (uint32_t i = 0; i < p->output_count; i++) {
    native_operand(w, p->outputs[i]);
  }
  for (uint32_t i = 0; i < p->output_count; i++) {
    Operand value = native_operand(w, p->outputs[i]);
    text_append_format(w->out, "O[%u%s] = %s;\n", i * lanes, lane, value.text);
  }
}

static void write_run(Writer* w, uint32_t number, bool inlined) {
  const ModelProgram* p = w->program;
  for (uint32_t i = 0; i < p->code_count; i++) {
    if (p->code[i].op != MODEL_OP_SOLVE) continue;
    write_body(w, number, i);
  }
  text_append_format(w->out,
                     "static %svoid p%u(const Host* H, const void* P, const void* C, double* R,"
                     " double t, const double* X, double* O) {\n",
                     inlined ? "inline __attribute__((always_inline)) " : "", number);
  reset(w);
  for (uint32_t i = 0; i < p->code_count; i++) {
    const ModelInstr* pc = &p->code[i];
    if (pc->op == MODEL_OP_SOLVE) {
      if (p->solves[pc->dst].offers) {
        write_offered(w, number, i);
      } else if (native_is_inline(p, i)) {
        native_write_linear(w, number, i);
      } else {
        write_solve(w, number, i);
      }
      i += pc->a;
    } else {
      native_operation(w, pc);
    }
  }
  write_outputs(w);
  text_append_c(w->out, "}\n");
}

static void write_block(Writer* w, uint32_t number) {
  const ModelProgram* p = w->program;
  text_append_format(w->out,
                     "static void b%u(const Host* H, const void* P, const void* C,"
                     " double* restrict R, const double* restrict T, const double* restrict X,"
                     " double* restrict O) {\nfor (int k = 0; k < %d; k++) {\n",
                     number, MODEL_LANES);
  reset(w);
  w->lanes = true;
  for (uint32_t i = 0; i < p->code_count; i++) {
    native_operation(w, &p->code[i]);
  }
  write_outputs(w);
  w->lanes = false;
  text_append_c(w->out, "}\n}\n");
}

/// Operations on the way through a program whose blocks all come with a solution; UINT32_MAX when
/// one does not.
static uint32_t straight_count(const ModelProgram* p) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < p->code_count; i++, count++) {
    const ModelInstr* pc = &p->code[i];
    if (pc->op != MODEL_OP_SOLVE) continue;
    if (!p->solves[pc->dst].offers) return UINT32_MAX;
    i += pc->a;
  }
  return count;
}

/// Short enough that a step is one function, its arrays variables.
static bool has_stages(const NativeUnit* unit, uint32_t number) {
  const ModelProgram* p = unit->programs[number];
  return unit->stages[number] && p->state_count > 0 && p->state_count <= STAGES_STATES &&
         p->output_count == p->state_count && straight_count(p) <= STAGES_CODE;
}

static bool has_block(const NativeUnit* unit, uint32_t number) {
  const ModelProgram* p = unit->programs[number];
  uint64_t size = (uint64_t)p->code_count + p->output_count;
  return unit->block[number] && p->solve_count == 0 && size <= ROLL_FROM;
}

/// y := x + h * sum of a_j k_j for one row of the method, in the order of operations of
/// numeric/erk.h.
static void write_stage_argument(const Writer* w, const NumStageRow* row) {
  for (uint32_t i = 0; i < w->program->state_count; i++) {
    text_append_format(w->out, "y[%u] = x[%u] + h * (", i, i);
    for (uint32_t k = 0; k < row->count; k++) {
      text_append_format(w->out, "%s%s * k%u[%u]", k ? " + " : "",
                         native_number(row->terms[k].a).text, row->terms[k].stage, i);
    }
    text_append_c(w->out, ");\n");
  }
}

/// The stages of dp54 around the program.
static void write_stages(const Writer* w, uint32_t number) {
  uint32_t n = w->program->state_count;
  text_append_format(w->out,
                     "static void f%u(const Host* H, const void* P, const void* C, double* R,"
                     " const Stages* s) {\nconst double h = s->h;\ndouble y[%u], x[%u], k1[%u]",
                     number, n, n, n);
  for (uint32_t stage = 2; stage <= 7; stage++) {
    text_append_format(w->out, ", k%u[%u]", stage, n);
  }
  text_append_c(w->out, ";\n");
  for (uint32_t i = 0; i < n; i++) {
    text_append_format(w->out, "x[%u] = s->x[%u];\nk1[%u] = s->k1[%u];\n", i, i, i, i);
  }
  for (uint32_t stage = 2; stage <= 7; stage++) {
    const NumStageRow* row = &num_dp54_rows[stage - 2];
    write_stage_argument(w, row);
    for (uint32_t i = 0; stage >= 6 && i < n; i++) {
      text_append_format(w->out, "s->%s[%u] = y[%u];\n", stage == 6 ? "y" : "x_end", i, i);
    }
    Operand c = native_number(row->c);
    text_append_format(w->out, "p%u(H, P, C, R, ", number);
    text_append_format(w->out, row->c == 1.0 ? "s->t_end" : "s->t + %s * h", c.text);
    text_append_format(w->out, ", y, k%u);\n", stage);
    for (uint32_t i = 0; i < n; i++) {
      text_append_format(w->out, stage < 7 ? "s->k[%u * s->stride + %u]" : "s->k7[%u + %u]",
                         stage < 7 ? stage - 2 : 0, i);
      text_append_format(w->out, " = k%u[%u];\n", stage, i);
    }
  }
  text_append_c(w->out, "}\n");
}

static bool is_writable(const ModelProgram* p) {
  for (uint32_t i = 0; i < p->code_count; i++) {
    uint32_t op = p->code[i].op;
    if (op == MODEL_OP_SOLVE || op == MODEL_OP_END) continue;
    if (op >= MODEL_OP_COUNT || !expressions[op]) return false;
  }
  return true;
}

static void write_prelude(TextBuffer* out) {
  text_append_c(out, prelude);
  for (uint32_t op = 0; op < MODEL_OP_COUNT; op++) {
    if (!expressions[op]) continue;
    text_append_format(out, "OP(op%u, double a, %s b, double d, %s)\n", op,
                       is_table(op) ? "unsigned" : "double", expressions[op]);
  }
}

/// Write the functions of program `i`; false when it cannot be written.
static bool write_program(Writer* w, const NativeUnit* unit, uint32_t i) {
  const ModelProgram* p = w->program;
  if (!is_writable(p)) return false;
  uint64_t size = (uint64_t)p->code_count + p->output_count;
  if (size > ROLL_FROM && native_write_rolled(w, i)) return true;
  if (size > NATIVE_CODE_MAX) return false;
  write_run(w, i, has_stages(unit, i));
  if (has_stages(unit, i)) write_stages(w, i);
  if (has_block(unit, i)) write_block(w, i);
  return true;
}

uint32_t native_write(TextBuffer* out, const NativeUnit* unit) {
  uint32_t regs = 0;
  for (uint32_t i = 0; i < unit->count; i++) {
    if (unit->programs[i]->reg_count > regs) regs = unit->programs[i]->reg_count;
  }
  write_prelude(out);
  Writer w = {.out = out, .where = ARENA_ARRAY(out->arena, uint32_t, regs)};
  bool written[NATIVE_UNIT_MAX];
  uint32_t count = 0;
  for (uint32_t i = 0; i < unit->count; i++) {
    w.program = unit->programs[i];
    written[i] = write_program(&w, unit, i);
    count += written[i];
  }
  text_append_c(out, "__attribute__((visibility(\"default\"))) const Entry saltus_native[] = {\n");
  for (uint32_t i = 0; i < unit->count; i++) {
    text_append_format(out, written[i] ? "{p%u, " : "{0, ", i);
    text_append_format(out, written[i] && has_block(unit, i) ? "b%u, " : "0, ", i);
    text_append_format(out, written[i] && has_stages(unit, i) ? "f%u},\n" : "0},\n", i);
  }
  text_append_c(out, "};\n");
  return count;
}
