// SPDX-License-Identifier: MIT
//
// Small linear blocks solved in place: elimination with row pivoting and one refinement, unrolled,
// every value a variable. Operation by operation what model_solve() does (model/solve.c), so the
// bits are the same; rows are exchanged here where it exchanges their numbers.
#include "native/write.h"

#include <float.h>

#define INLINE_MAX 6  // unknowns: the text grows with their cube

#define OUT(...) text_append_format(w->out, __VA_ARGS__)

static bool is_written(const ModelProgram* p, uint32_t at, uint32_t reg) {
  for (uint32_t i = at + 1; i < at + p->code[at].a; i++) {
    if (p->code[i].dst == reg) return true;
  }
  return false;
}

/// Whether the tables of a block name a register that has to be computed before it.
static bool is_in_tables(const ModelSolve* solve, uint32_t reg) {
  if (solve->offers && solve->accept == reg) return true;
  for (uint32_t k = 0; k < solve->count; k++) {
    if (solve->offers && solve->offers[k] == reg) return true;
    if (solve->residuals[k] == reg || (!solve->linear && solve->guesses[k] == reg)) return true;
  }
  for (uint32_t k = 0; k < solve->entry_count + solve->relax_count; k++) {
    if (solve->entries[k].reg == reg) return true;
  }
  return false;
}

/// Whether anything behind the block reads what its body has computed.
static bool is_read_later(const ModelProgram* p, uint32_t at, uint32_t reg) {
  for (uint32_t i = at + p->code[at].a + 1; i < p->code_count; i++) {
    const ModelInstr* pc = &p->code[i];
    if (pc->op == MODEL_OP_SOLVE) {
      if (is_in_tables(&p->solves[pc->dst], reg)) return true;
      continue;
    }
    if (native_reads(pc, reg)) return true;
    if (pc->op != MODEL_OP_END && pc->dst == reg) return false;
  }
  for (uint32_t i = 0; i < p->output_count; i++) {
    if (p->outputs[i] == reg) return true;
  }
  return false;
}

bool native_is_inline(const ModelProgram* p, uint32_t at) {
  const ModelSolve* solve = &p->solves[p->code[at].dst];
  if (!solve->linear || solve->count > INLINE_MAX || solve->relax_count) return false;
  for (uint32_t i = 0; i < solve->entry_count; i++) {
    if (is_written(p, at, solve->entries[i].reg)) return false;
  }
  // a matrix that cannot be factored leaves values of the body from another evaluation behind
  for (uint32_t i = at + 1; i < at + p->code[at].a; i++) {
    if (is_read_later(p, at, p->code[i].dst)) return false;
  }
  return true;
}

static void write_matrix(Writer* w, const ModelSolve* solve) {
  uint32_t n = solve->count;
  for (uint32_t i = 0; i < n * n; i++) {
    OUT("double a%u_%u = 0.0;\n", i / n, i % n);
  }
  for (uint32_t i = 0; i < solve->entry_count; i++) {
    const ModelEntry* entry = &solve->entries[i];
    OUT("a%u_%u += %s;\n", entry->row, entry->column, native_operand(w, entry->reg).text);
  }
  for (uint32_t i = 0; i < n; i++) {
    OUT("double s%u = 0.0;\n", i);
    for (uint32_t j = 0; j < n; j++) {
      OUT("m = __builtin_fabs(a%u_%u);\nif (!(m <= MAX)) break;\nif (m > s%u) s%u = m;\n", i, j, i,
          i);
    }
    OUT("if (s%u == 0.0) break;\ndouble w%u = s%u;\n", i, i, i);
  }
}

static void write_exchange(Writer* w, const char* name, uint32_t i, uint32_t k) {
  OUT("m = %s%u; %s%u = %s%u; %s%u = m;\n", name, i, name, i, name, k, name, k);
}

static void write_factors(Writer* w, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    OUT("int p%u = %u;\nbest = -1.0;\n", k, k);
    for (uint32_t i = k; i < n; i++) {
      OUT("m = __builtin_fabs(a%u_%u) / w%u;\nif (m > best) { best = m; p%u = %u; }\n", i, k, i, k,
          i);
    }
    OUT("if (!(best > %s)) break;\n", native_number(MODEL_PIVOT_MIN).text);
    for (uint32_t i = k + 1; i < n; i++) {
      OUT("if (p%u == %u) {\n", k, i);
      for (uint32_t j = 0; j < n; j++) {
        OUT("m = a%u_%u; a%u_%u = a%u_%u; a%u_%u = m;\n", i, j, i, j, k, j, k, j);
      }
      write_exchange(w, "w", i, k);
      OUT("}\n");
    }
    for (uint32_t i = k + 1; i < n; i++) {
      OUT("m = a%u_%u / a%u_%u;\na%u_%u = m;\nif (!(m == 0.0)) {\n", i, k, k, k, i, k);
      for (uint32_t j = k + 1; j < n; j++) {
        OUT("a%u_%u -= m * a%u_%u;\n", i, j, k, j);
      }
      OUT("}\n");
    }
  }
}

/// Residuals, their size, and a step of the unknowns.
static void write_pass(Writer* w, uint32_t at, const ModelSolve* solve, bool last) {
  const ModelProgram* p = w->program;
  uint32_t n = solve->count;
  OUT("{\n");
  for (uint32_t i = at + 1; i < at + p->code[at].a; i++) {
    native_operation(w, &p->code[i]);
  }
  OUT("double norm = 0.0;\n");
  for (uint32_t i = 0; i < n; i++) {
    OUT("double y%u = -%s;\n", i, native_operand(w, solve->residuals[i]).text);
    OUT("m = __builtin_fabs(y%u) / s%u;\nif (!(m <= MAX)) break;\nif (m > norm) norm = m;\n", i, i);
  }
  if (last) {
    for (uint32_t i = 0; i < n; i++) {
      OUT("m = __builtin_fabs(v%u);\nif (m > size) size = m;\n", w->where[solve->unknowns[i]]);
    }
    OUT("if (norm > %s * size) break;\n", native_number(MODEL_LINEAR_RESIDUAL).text);
  } else {
    OUT("size = norm;\n");
  }
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t i = k + 1; i < n; i++) {
      OUT("if (p%u == %u) { ", k, i);
      write_exchange(w, "y", i, k);
      OUT("}\n");
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < i; j++) {
      OUT("y%u -= a%u_%u * y%u;\n", i, i, j, j);
    }
  }
  for (uint32_t i = n; i-- > 0;) {
    for (uint32_t j = i + 1; j < n; j++) {
      OUT("y%u -= a%u_%u * y%u;\n", i, i, j, j);
    }
    OUT("y%u /= a%u_%u;\n", i, i, i);
  }
  for (uint32_t i = 0; i < n; i++) {
    OUT("v%u += y%u;\n", w->where[solve->unknowns[i]], i);
  }
  OUT("}\n");
}

static void fetch(Writer* w, uint32_t reg) {
  native_operand(w, reg);
}

/// Do something with every register that the body of the block at `at` reads and does not write.
static void each_from_outside(Writer* w, uint32_t at, void (*visit)(Writer* w, uint32_t reg)) {
  const ModelProgram* p = w->program;
  for (uint32_t i = at + 1; i < at + p->code[at].a; i++) {
    const ModelInstr* pc = &p->code[i];
    uint32_t operands = model_op_operands(pc->op);
    uint32_t read[] = {pc->a, pc->b, pc->dst};
    bool used[] = {operands > 0, operands > 1, pc->op == MODEL_OP_SELECT};
    for (uint32_t k = 0; k < 3; k++) {
      if (used[k] && !is_written(p, at, read[k])) visit(w, read[k]);
    }
  }
}

void native_write_linear(Writer* w, uint32_t number, uint32_t at) {
  const ModelProgram* p = w->program;
  const ModelSolve* solve = &p->solves[p->code[at].dst];
  uint32_t end = at + p->code[at].a;
  for (uint32_t i = 0; i < solve->count; i++) {
    OUT("double v%u = 0.0;\n", w->next);
    w->where[solve->unknowns[i]] = w->next++;
  }
  // what comes from outside is fetched outside: names made inside the loop end with it
  for (uint32_t i = 0; i < solve->entry_count; i++) {
    native_operand(w, solve->entries[i].reg);
  }
  for (uint32_t i = 0; i < solve->count; i++) {
    if (!is_written(p, at, solve->residuals[i])) native_operand(w, solve->residuals[i]);
  }
  each_from_outside(w, at, fetch);
  OUT("{\nint solved = 0;\ndo {\ndouble m, best, size;\n");
  write_matrix(w, solve);
  write_factors(w, solve->count);
  write_pass(w, at, solve, false);
  write_pass(w, at, solve, true);
  // without full rank the runtime knows what to do
  OUT("solved = 1;\n} while (0);\nif (!solved) {\n");
  each_from_outside(w, at, native_spill);
  for (uint32_t i = 0; i < solve->count; i++) {
    if (!is_written(p, at, solve->residuals[i])) native_spill(w, solve->residuals[i]);
  }
  for (uint32_t i = 0; i < solve->entry_count; i++) {
    native_spill(w, solve->entries[i].reg);
  }
  OUT("Body body = {H, C, R};\nH->solve(P, C, %u, R, p%u_s%u, &body);\n", p->code[at].dst, number,
      p->code[at].dst);
  for (uint32_t i = 0; i < solve->count; i++) {
    OUT("v%u = R[%u];\n", w->where[solve->unknowns[i]], solve->unknowns[i]);
  }
  OUT("}\n}\n");
  for (uint32_t i = 0; i < solve->count; i++) {
    OUT("R[%u] = v%u;\n", solve->unknowns[i], w->where[solve->unknowns[i]]);
  }
  for (uint32_t i = at + 1; i < end; i++) {
    w->where[p->code[i].dst] = IN_MEMORY;  // nobody asks
  }
}
