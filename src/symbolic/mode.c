// SPDX-License-Identifier: MIT
//
// Analysis of one product mode: which unknowns its equations determine, and in which order.
//
// The unknowns are the highest derivatives that occur (order 0: an algebraic variable). If they and
// the equations can be paired and sorted into scalar blocks, each linear in its unknown, the mode
// is a sequence of assignments. All that can go wrong is told with the equations that are to blame:
// the pairing is first tried on highest derivatives; where that fails, pairing with variables of
// any order tells a contradiction (too many or too few equations) from a constraint between states.
#include "symbolic/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct Analysis {
  Sym* sym;
  Arena* out;
  Arena* scratch;
  const IrModel* ir;
  SymMode* mode;
  SymVar* vars;
  uint32_t* columns;  // variable of each column
  uint32_t* column_of_var;
  uint32_t column_count;
  SymFailure failure;
  const uint8_t* held;   // per variable: no unknown, though equations read it; NULL: none
  const uint8_t* loose;  // per variable: its equations leave a choice; NULL: none
} Analysis;

static bool is_unknown(const Analysis* a, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR || ir_var(a->ir, leaf.id).kind != IR_VAR_UNKNOWN) return false;
  return !a->held || !a->held[leaf.id];
}

static SymTerm equation_term(const Analysis* a, uint32_t row) {
  return sym_term(a->sym, ir_equation(a->ir, a->mode->equations[row]).term);
}

/// Roles and highest orders from the leaves of all equations.
static void find_unknowns(Analysis* a) {
  uint32_t var_count = a->ir->vars.count;
  for (uint32_t v = 0; v < var_count; v++) {
    bool unknown = ir_var(a->ir, v).kind == IR_VAR_UNKNOWN;
    a->vars[v] = (SymVar){.role = unknown ? SYM_UNDETERMINED : SYM_DISCRETE,
                          .assign = IR_NONE,
                          .loose = a->loose && a->loose[v]};
  }
  a->column_count = 0;
  for (uint32_t row = 0; row < a->mode->equation_count; row++) {
    SymTerm term = equation_term(a, row);
    for (uint32_t k = 0; k < term.count; k++) {
      IrLeaf leaf = term.row[k];
      if (!is_unknown(a, leaf)) continue;
      SymVar* var = &a->vars[leaf.id];
      if (leaf.order > var->order) var->order = leaf.order;
      var->role = var->order > 0 ? SYM_STATE : SYM_ALGEBRAIC;
    }
  }
  for (uint32_t v = 0; v < var_count; v++) {
    if (a->vars[v].role != SYM_STATE && a->vars[v].role != SYM_ALGEBRAIC) continue;
    a->column_of_var[v] = a->column_count;
    a->columns[a->column_count++] = v;
  }
}

static bool counts(const Analysis* a, IrLeaf leaf, bool any_order) {
  return is_unknown(a, leaf) && (any_order || leaf.order == a->vars[leaf.id].order);
}

/// Entries of one row; what stands alone on the left comes first, as the pairing to try first.
static void add_row(const Analysis* a, SymIncidence* incidence, uint32_t row, bool any_order) {
  const IrEquation* equation = (IrEquation[]){ir_equation(a->ir, a->mode->equations[row])};
  SymTerm term = equation_term(a, row);
  int begin = incidence->begin[row];
  int at = begin;
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    if (!counts(a, leaf, any_order)) continue;
    incidence->columns[at] = (int)a->column_of_var[leaf.id];
    if (leaf.id == equation->lhs_var && at > begin) {
      int first = incidence->columns[begin];
      incidence->columns[begin] = incidence->columns[at];
      incidence->columns[at] = first;
    }
    at++;
  }
  incidence->begin[row + 1] = at;
}

static SymIncidence build_incidence(const Analysis* a, bool any_order) {
  uint32_t rows = a->mode->equation_count;
  uint64_t entries = 0;
  for (uint32_t row = 0; row < rows; row++) {
    entries += equation_term(a, row).count;
  }
  // BTF counts in int
  if (entries >= INT_MAX || rows >= INT_MAX / 5) longjmp(*a->scratch->on_oom, 1);
  SymIncidence incidence = {.row_count = (int)rows,
                            .column_count = (int)a->column_count,
                            .begin = ARENA_ARRAY(a->scratch, int, (size_t)rows + 1),
                            .columns = ARENA_ARRAY(a->scratch, int, (size_t)entries)};
  for (uint32_t row = 0; row < rows; row++) {
    add_row(a, &incidence, row, any_order);
  }
  return incidence;
}

/// Whether all equations of the model together could determine a variable. Where they could not,
/// an equation was forgotten; where they could, a mode has left some of them out.
static bool determined_somewhere(const Analysis* a, const uint8_t* held) {
  const IrModel* ir = a->ir;
  uint64_t entries = 0;
  for (uint32_t i = 0; i < ir->equations.count; i++) {
    entries += ir_equation(ir, i).term.leaf_count;
  }
  if (entries >= INT_MAX || ir->equations.count >= INT_MAX / 5) longjmp(*a->scratch->on_oom, 1);
  SymIncidence all = {.row_count = (int)ir->equations.count,
                      .column_count = (int)ir->vars.count,
                      .begin = ARENA_ARRAY(a->scratch, int, (size_t)ir->equations.count + 1),
                      .columns = ARENA_ARRAY(a->scratch, int, (size_t)entries)};
  int at = 0;
  for (uint32_t i = 0; i < ir->equations.count; i++) {
    SymTerm term = sym_term(a->sym, ir_equation(ir, i).term);
    for (uint32_t k = 0; k < term.count; k++) {
      if (is_unknown(a, term.row[k])) all.columns[at++] = (int)term.row[k].id;
    }
    all.begin[i + 1] = at;
  }
  int* row_of_column = ARENA_ARRAY(a->scratch, int, ir->vars.count);
  uint8_t* rank = ARENA_ARRAY(a->scratch, uint8_t, ir->vars.count);
  uint8_t* loose = ARENA_ARRAY(a->scratch, uint8_t, ir->vars.count);
  uint8_t* left = ARENA_ARRAY(a->scratch, uint8_t, ir->vars.count);
  sym_match(a->scratch, &all, row_of_column);
  sym_choose_held(a->scratch, &all, row_of_column, rank, NULL, loose, left);
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    if (held[v] && loose[v]) return false;
  }
  return true;
}

static int compare_places(const void* a, const void* b) {
  uint64_t left = *(const uint64_t*)a;
  uint64_t right = *(const uint64_t*)b;
  return left < right ? -1 : left > right;
}

/// Columns as their variables come in the text.
static const uint32_t* order_of_text(const Analysis* a) {
  uint64_t* places = ARENA_ARRAY(a->scratch, uint64_t, a->column_count);
  uint32_t* order = ARENA_ARRAY(a->scratch, uint32_t, a->column_count);
  for (uint32_t j = 0; j < a->column_count; j++) {
    places[j] = (uint64_t)ir_var(a->ir, a->columns[j]).appearance << 32 | j;
  }
  if (a->column_count) qsort(places, a->column_count, sizeof *places, compare_places);
  for (uint32_t j = 0; j < a->column_count; j++) {
    order[j] = (uint32_t)places[j];
  }
  return order;
}

/// A mode that has too few equations: the variables that keep their values, such that the others
/// follow. False when the equations are not there in any mode.
static bool hold_undetermined(Analysis* a, const SymIncidence* any, const int* row_of_column) {
  uint32_t var_count = a->ir->vars.count;
  uint8_t* rank = ARENA_ARRAY(a->scratch, uint8_t, a->column_count);
  uint8_t* loose_column = ARENA_ARRAY(a->scratch, uint8_t, a->column_count);
  uint8_t* held_column = ARENA_ARRAY(a->scratch, uint8_t, a->column_count);
  uint8_t* held = ARENA_ARRAY(a->scratch, uint8_t, var_count);
  uint8_t* loose = ARENA_ARRAY(a->scratch, uint8_t, var_count);
  // a motion goes on rather than stops, and what stands alone on a left side is meant to be
  // computed
  for (uint32_t j = 0; j < a->column_count; j++) {
    rank[j] = a->vars[a->columns[j]].order > 0 ? 0 : 2;
  }
  for (uint32_t row = 0; row < a->mode->equation_count; row++) {
    uint32_t var = ir_equation(a->ir, a->mode->equations[row]).lhs_var;
    if (var == IR_NONE) continue;
    uint32_t column = a->column_of_var[var];
    if (column < a->column_count && a->columns[column] == var && rank[column] == 2) {
      rank[column] = 1;
    }
  }
  sym_choose_held(a->scratch, any, row_of_column, rank, order_of_text(a), loose_column,
                  held_column);
  for (uint32_t j = 0; j < a->column_count; j++) {
    held[a->columns[j]] = held_column[j];
    loose[a->columns[j]] = loose_column[j];
  }
  if (!determined_somewhere(a, held)) return false;
  a->held = held;
  a->loose = loose;
  return true;
}

/// Why there is no perfect pairing of equations and highest derivatives.
static const Diag* explain_singular(Analysis* a, const SymIncidence* highest,
                                    const int* row_of_highest) {
  SymIncidence any = build_incidence(a, true);
  int* row_of_column = ARENA_ARRAY(a->scratch, int, a->column_count);
  uint32_t matched = (uint32_t)sym_match(a->scratch, &any, row_of_column);
  if (matched < a->mode->equation_count) {
    return sym_fail_over(&a->failure, sym_over_part(a->scratch, &any, row_of_column));
  }
  if (matched < a->column_count) {
    if (hold_undetermined(a, &any, row_of_column)) return NULL;
    return sym_fail_under(&a->failure, sym_under_part(a->scratch, &any, row_of_column));
  }
  return sym_fail_index(&a->failure, sym_over_part(a->scratch, highest, row_of_highest));
}

/// The slots in which an unknown stands; more than one only if a front end did not share them.
static uint32_t find_slots(SymTerm term, uint32_t var, uint8_t order, uint32_t* slots) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    bool same = leaf.kind == IR_LEAF_VAR && leaf.id == var && leaf.order == order;
    if (same) slots[count++] = k;
  }
  return count;
}

/// Turn the scalar block of (row, column) into an assignment.
static SymSolution solve_block(Analysis* a, uint32_t row, uint32_t column, uint32_t* slots,
                               SymAssign* assign) {
  uint32_t var = a->columns[column];
  uint8_t order = a->vars[var].order;
  SymTerm term = equation_term(a, row);
  uint32_t slot_count = find_slots(term, var, order, slots);
  SymSolution how = sym_solve(a->sym, term.shape, slots, slot_count, &term.shape);
  *assign = (SymAssign){.equation = a->mode->equations[row],
                        .var = var,
                        .order = order,
                        .kind = (uint8_t)how,
                        .value = term,
                        .block = IR_NONE};
  return how;
}

static const Diag* solve_blocks(Analysis* a, const SymIncidence* highest,
                                const int* row_of_column) {
  SymBlocks blocks = sym_blocks(a->scratch, highest, row_of_column);
  SymAssign* assigns = ARENA_ARRAY(a->out, SymAssign, a->column_count);
  a->mode->assigns = assigns;
  uint32_t widest = 0;
  for (uint32_t row = 0; row < a->mode->equation_count; row++) {
    uint32_t count = equation_term(a, row).count;
    if (count > widest) widest = count;
  }
  uint32_t* slots = ARENA_ARRAY(a->scratch, uint32_t, widest);
  for (uint32_t b = 0; b < blocks.count; b++) {
    int at = blocks.begin[b];
    int size = blocks.begin[b + 1] - at;
    if (size > 1) {
      return sym_fail_loop(&a->failure, blocks.rows + at, blocks.columns + at, (uint32_t)size);
    }
    uint32_t row = (uint32_t)blocks.rows[at];
    uint32_t column = (uint32_t)blocks.columns[at];
    SymSolution how = solve_block(a, row, column, slots, &assigns[b]);
    if (how != SYM_EXPLICIT && how != SYM_LINEAR) {
      return sym_fail_scalar(&a->failure, row, column, how);
    }
    a->vars[a->columns[column]].assign = b;
    a->mode->assign_count++;
  }
  return NULL;
}

/// The mode as a sequence of assignments, or why it is none. Sets a->held when there are too few
/// equations: then there is neither.
static const Diag* solve_explicit(Analysis* a) {
  find_unknowns(a);
  SymIncidence highest = build_incidence(a, false);
  int* row_of_column = ARENA_ARRAY(a->scratch, int, a->column_count);
  uint32_t matched = (uint32_t)sym_match(a->scratch, &highest, row_of_column);
  bool perfect = matched == a->mode->equation_count && matched == a->column_count;
  return perfect ? solve_blocks(a, &highest, row_of_column)
                 : explain_singular(a, &highest, row_of_column);
}

static bool has_elements(const Analysis* a) {
  for (uint32_t row = 0; row < a->mode->equation_count; row++) {
    if (ir_equation(a->ir, a->mode->equations[row]).element) return true;
  }
  return false;
}

/// Partners of the equations, where some of them are coupled: NULL for most modes.
static SymPartner* find_partners(Analysis* a, uint32_t count, const uint32_t* mode) {
  const Diag* failure = a->mode->failure;
  bool over = failure && failure->code == DIAG_E0520;
  if (a->column_count != count || (failure && !over && failure->code != DIAG_E0522)) return NULL;
  SymPartner* partners =
      sym_partners(a->sym, a->out, a->scratch, a->mode->equations, count, mode, over);
  if (!partners || failure) return partners;
  SymIncidence highest = build_incidence(a, false);
  int* row_of_column = ARENA_ARRAY(a->scratch, int, a->column_count);
  sym_match(a->scratch, &highest, row_of_column);
  SymIncidence joined =
      sym_join_partners(a->sym, a->scratch, &highest, partners, a->vars, a->column_of_var);
  bool meet = sym_partners_meet(a->scratch, &joined, row_of_column, NULL, partners);
  return meet ? partners : NULL;
}

const SymMode* sym_analyse(Sym* sym, Arena* out, Arena* scratch, const uint32_t* equations,
                           uint32_t count, const uint32_t* mode) {
  uint32_t var_count = sym->ir->vars.count;
  SymMode* result = ARENA_NEW(out, SymMode);
  uint32_t* own = ARENA_ARRAY(out, uint32_t, count);
  if (count) memcpy(own, equations, count * sizeof *own);
  SymVar* vars = ARENA_ARRAY(out, SymVar, var_count);
  *result = (SymMode){.equations = own, .equation_count = count, .vars = vars};
  Analysis a = {.sym = sym,
                .out = out,
                .scratch = scratch,
                .ir = sym->ir,
                .mode = result,
                .vars = vars,
                .columns = ARENA_ARRAY(scratch, uint32_t, var_count),
                .column_of_var = ARENA_ARRAY(scratch, uint32_t, var_count)};
  a.failure = (SymFailure){.sym = sym,
                           .scratch = scratch,
                           .mode = mode,
                           .equations = own,
                           .columns = a.columns,
                           .vars = vars};
  result->failure = solve_explicit(&a);
  // with too few equations some variables are held, and the rest is looked at again
  if (a.held) result->failure = solve_explicit(&a);
  // too many equations may be those of contacts that agree with each other, or of ideal switches
  SymPartner* partners = find_partners(&a, count, mode);
  bool implicit_may_do =
      partners || (result->failure && (result->failure->code == DIAG_E0522 || has_elements(&a)));
  if (implicit_may_do && a.column_count == count) {
    SymImplicit implicit = {.sym = sym,
                            .out = out,
                            .scratch = scratch,
                            .mode = result,
                            .vars = vars,
                            .columns = a.columns,
                            .column_of_var = a.column_of_var,
                            .column_count = a.column_count,
                            .failure = &a.failure,
                            .partners = partners};
    result->failure = sym_analyse_implicit(&implicit);
  }
  return result;
}
