// SPDX-License-Identifier: MIT
//
// Modes whose equations must be differentiated, or solved several at a time.
//
// The offsets of sigma.c say how often each equation is differentiated (c) and which order of each
// unknown is then solved for (d). The differentiated equations F_i^(c_i) in the unknowns x_j^(d_j)
// have a system Jacobian whose pattern is that of the tight entries. Its block triangular form is
// the order of solution; single equations that are linear in their unknown become assignments as in
// an explicit mode. All lower derivatives x_j^(0 .. d_j - 1) are states, the less differentiated
// equations are constraints between them.
#include "symbolic/internal.h"

#include <limits.h>
#include <string.h>

#define ORDER_MAX      200
#define TERM_STEPS_MAX 200000u  // operations of an equation, differentiated

typedef struct Entry {
  int column, order;
} Entry;

static bool is_unknown(const SymImplicit* a, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR) return false;
  return ir_var(a->sym->ir, leaf.id).kind == IR_VAR_UNKNOWN &&
         a->vars[leaf.id].role != SYM_UNDETERMINED;
}

static SymTerm equation_term(const SymImplicit* a, uint32_t row) {
  return sym_term(a->sym, ir_equation(a->sym->ir, a->mode->equations[row]).term);
}

/// The entries of one row, each column once, what stands alone on the left first.
static int row_entries(const SymImplicit* a, uint32_t row, int* place, int begin, int* columns,
                       int* orders) {
  const IrEquation* equation = (IrEquation[]){ir_equation(a->sym->ir, a->mode->equations[row])};
  SymTerm term = equation_term(a, row);
  int at = begin;
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    if (!is_unknown(a, leaf)) continue;
    int column = (int)a->column_of_var[leaf.id];
    if (place[column] < begin) {
      place[column] = at;
      columns[at] = column;
      orders[at] = leaf.order;
      at++;
    } else if (leaf.order > orders[place[column]]) {
      orders[place[column]] = leaf.order;
    }
  }
  for (int k = begin; k < at; k++) {
    if (a->columns[columns[k]] != equation->lhs_var || k == begin) continue;
    int column = columns[k];
    int order = orders[k];
    columns[k] = columns[begin];
    orders[k] = orders[begin];
    columns[begin] = column;
    orders[begin] = order;
  }
  return at;
}

static SymSignature build_signature(const SymImplicit* a) {
  uint32_t rows = a->mode->equation_count;
  size_t entries = 0;
  for (uint32_t row = 0; row < rows; row++) {
    entries += equation_term(a, row).count;
  }
  if (entries >= INT_MAX) longjmp(*a->scratch->on_oom, 1);
  int* begin = ARENA_ARRAY(a->scratch, int, (size_t)rows + 1);
  int* columns = ARENA_ARRAY(a->scratch, int, entries);
  int* orders = ARENA_ARRAY(a->scratch, int, entries);
  int* place = ARENA_ARRAY(a->scratch, int, a->column_count);
  for (uint32_t j = 0; j < a->column_count; j++) {
    place[j] = -1;
  }
  for (uint32_t row = 0; row < rows; row++) {
    begin[row + 1] = row_entries(a, row, place, begin[row], columns, orders);
  }
  return (SymSignature){.row_count = (int)rows,
                        .column_count = (int)a->column_count,
                        .begin = begin,
                        .columns = columns,
                        .orders = orders};
}

/// Pattern of the system Jacobian.
static SymIncidence tight_entries(const SymImplicit* a, const SymSignature* s, const int* c,
                                  const int* d) {
  SymIncidence tight = {.row_count = s->row_count,
                        .column_count = s->column_count,
                        .begin = ARENA_ARRAY(a->scratch, int, (size_t)s->row_count + 1),
                        .columns = ARENA_ARRAY(a->scratch, int, (size_t)s->begin[s->row_count])};
  int at = 0;
  for (int row = 0; row < s->row_count; row++) {
    for (int k = s->begin[row]; k < s->begin[row + 1]; k++) {
      if (s->orders[k] + c[row] == d[s->columns[k]]) tight.columns[at++] = s->columns[k];
    }
    tight.begin[row + 1] = at;
  }
  return tight;
}

/// The member of a block that a leaf is the unknown of; IR_NONE for anything else.
static uint32_t member_of(const SymImplicit* a, const SymBlock* block, IrLeaf leaf) {
  if (!is_unknown(a, leaf) || leaf.when == IR_PRE) return IR_NONE;
  const SymVar* var = &a->vars[leaf.id];
  if (leaf.order != var->order || var->assign == IR_NONE) return IR_NONE;
  uint32_t member = var->assign - block->begin;
  return var->assign >= block->begin && member < block->count ? member : IR_NONE;
}

static bool is_pre_now(const SymImplicit* a, const SymBlock* block, IrLeaf leaf) {
  leaf.when = IR_NOW;
  return member_of(a, block, leaf) != IR_NONE;
}

/// How the coefficient `slope` over a row behaves.
static SymEntryKind entry_kind(SymImplicit* a, const SymBlock* block, ExprId slope,
                               const IrLeaf* row) {
  const SymShape* laid = sym_shape(a->sym, slope);
  SymEntryKind kind = SYM_ENTRY_FIXED;
  for (uint32_t i = 0; i < laid->count; i++) {
    const SymStep* step = &laid->steps[i];
    if (step->op == IR_TIME) kind = SYM_ENTRY_MOVES;
    if (step->op != IR_SLOT) continue;
    IrLeaf leaf = row[step->arg[0]];
    if (is_pre_now(a, block, leaf)) return SYM_ENTRY_UNKNOWN;
    if (leaf.kind != IR_LEAF_NUMBER && leaf.kind != IR_LEAF_PARAM) kind = SYM_ENTRY_MOVES;
  }
  return kind;
}

/// The coefficients of a block's unknowns in its equations; whether all are free of them.
static SymPattern block_pattern(SymImplicit* a, const SymBlock* block, bool* linear) {
  const SymAssign* assigns = a->mode->assigns + block->begin;
  uint32_t* begin = ARENA_ARRAY(a->scratch, uint32_t, (size_t)block->count + 1);
  uint32_t* seen = ARENA_ARRAY(a->scratch, uint32_t, block->count);
  BASE_VEC(uint32_t) columns = {0};
  BASE_VEC(uint8_t) kinds = {0};
  *linear = true;
  for (uint32_t i = 0; i < block->count; i++) {
    SymTerm term = assigns[i].value;
    for (uint32_t k = 0; k < term.count; k++) {
      uint32_t member = member_of(a, block, term.row[k]);
      if (member == IR_NONE || seen[member] == i + 1) continue;
      seen[member] = i + 1;
      ExprId slope =
          sym_partial(a->sym, a->scratch, term, assigns[member].var, assigns[member].order);
      // `b - b`: the coefficient vanishes, but what is computed from the equation reads b
      SymEntryKind kind = SYM_ENTRY_UNKNOWN;
      if (sym_present(slope)) {
        kind = entry_kind(a, block, slope, term.row);
        if (kind == SYM_ENTRY_UNKNOWN) *linear = false;
        ExprId value = {0};
        SymSolution how = sym_solve_for(a->sym, a->scratch, term, assigns[member].var,
                                        assigns[member].order, &value);
        if (how != SYM_EXPLICIT && how != SYM_LINEAR) kind = SYM_ENTRY_UNKNOWN;
      }
      base_vec_push(a->scratch, &columns, member);
      base_vec_push(a->scratch, &kinds, (uint8_t)kind);
    }
    begin[i + 1] = columns.count;
  }
  return (SymPattern){.begin = begin, .columns = columns.data, .kinds = kinds.data};
}

/// No shape when the equation grows out of all proportion: each derivative may double it.
static SymTerm differentiated(SymImplicit* a, uint32_t row, int times) {
  SymTerm term = equation_term(a, row);
  for (int k = 0; k < times; k++) {
    term = sym_total_derivative(a->sym, a->out, term, a->vars);
    if (sym_shape(a->sym, term.shape)->count > TERM_STEPS_MAX) return (SymTerm){0};
  }
  return term;
}

/// A single equation for one unknown: an assignment if it is linear, otherwise a block of one.
static SymSolution solve_scalar(SymImplicit* a, SymAssign* assign) {
  ExprId value = {0};
  SymSolution how =
      sym_solve_for(a->sym, a->scratch, assign->value, assign->var, assign->order, &value);
  if (how == SYM_EXPLICIT || how == SYM_LINEAR) {
    assign->value.shape = value;
    assign->kind = (uint8_t)how;
    assign->block = IR_NONE;
  }
  return how;
}

static bool same_leaf(IrLeaf a, IrLeaf b) {
  return a.kind == b.kind && a.id == b.id && a.order == b.order && a.when == b.when;
}

static bool same_term(SymTerm a, SymTerm b) {
  if (a.shape.index != b.shape.index || a.count != b.count) return false;
  for (uint32_t i = 0; i < a.count; i++) {
    if (!same_leaf(a.row[i], b.row[i])) return false;
  }
  return true;
}

static uint32_t term_hash(SymTerm term) {
  uint32_t hash = term.shape.index + 1;
  for (uint32_t i = 0; i < term.count; i++) {
    hash = (hash ^ term.row[i].id) * 0x9E3779B1u;
    hash ^= hash >> 15;
  }
  return hash;
}

/// Equations of elements that are written twice: two feet of a box that stick have the same speed.
/// Which unknowns they could be paired with says nothing then, since no numbers make them two.
static bool mark_copies(const SymImplicit* a, uint8_t* element, uint32_t count) {
  uint32_t slots = 4;
  while (slots < 2 * count) {
    slots *= 2;
  }
  uint32_t* table = ARENA_ARRAY(a->scratch, uint32_t, slots);
  bool any = false;
  for (uint32_t i = 0; i < a->mode->equation_count; i++) {
    if (element[i] == SYM_OTHER) continue;
    SymTerm term = equation_term(a, i);
    uint32_t at = term_hash(term) & (slots - 1);
    while (table[at] && !same_term(term, equation_term(a, table[at] - 1))) {
      at = (at + 1) & (slots - 1);
    }
    if (table[at]) element[i] = SYM_COPY;
    any |= table[at] != 0;
    if (!table[at]) table[at] = i + 1;
  }
  return any;
}

/// Equations of elements, and of states that are switched; NULL when there are none.
static uint8_t* find_elements(const SymImplicit* a, bool* copies) {
  uint8_t* element = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < a->mode->equation_count; i++) {
    bool switched = a->partners && a->partners[i].equation != IR_NONE;
    if (!switched && !ir_equation(a->sym->ir, a->mode->equations[i]).element) continue;
    if (!element) element = ARENA_ARRAY(a->scratch, uint8_t, a->mode->equation_count);
    element[i] = SYM_ELEMENT;
    count++;
  }
  *copies = element && mark_copies(a, element, count);
  return element;
}

/// Offsets, also where equations of elements say the same twice: then `redundant` is set.
static bool find_offsets(const SymImplicit* a, const SymSignature* signature, int* c, int* d,
                         int* row_of_column, const uint8_t** redundant) {
  *redundant = NULL;
  bool copies = false;
  const uint8_t* element = find_elements(a, &copies);
  if (!copies && sym_offsets(a->scratch, signature, c, d, row_of_column)) return true;
  if (!element) return false;
  uint8_t* found = ARENA_ARRAY(a->scratch, uint8_t, a->mode->equation_count);
  if (!sym_offsets_redundant(a->scratch, signature, element, c, d, row_of_column, found)) {
    return false;
  }
  *redundant = found;
  return true;
}

static void set_orders(SymImplicit* a, const int* c, const int* d, const uint8_t* redundant) {
  SymMode* mode = a->mode;
  uint8_t* offsets = ARENA_ARRAY(a->out, uint8_t, mode->equation_count);
  int largest = 0;
  int sum = 0;
  int repeated = 0;
  bool algebraic = false;
  for (uint32_t i = 0; i < mode->equation_count; i++) {
    offsets[i] = (uint8_t)c[i];
    mode->constraint_count += (uint32_t)c[i];
    if (redundant && redundant[i]) repeated += c[i];
    if (c[i] > largest) largest = c[i];
  }
  for (uint32_t j = 0; j < a->column_count; j++) {
    SymVar* var = &a->vars[a->columns[j]];
    var->order = (uint8_t)d[j];
    var->role = d[j] > 0 ? SYM_STATE : SYM_ALGEBRAIC;
    var->assign = IR_NONE;
    sum += d[j];
    algebraic |= d[j] == 0;
  }
  mode->offsets = offsets;
  mode->freedom = (uint32_t)(sum + repeated) - mode->constraint_count;
  mode->index = (uint32_t)largest + (algebraic ? 1 : 0);
}

static bool orders_fit(const SymImplicit* a, const int* c, const int* d) {
  for (uint32_t i = 0; i < a->column_count; i++) {
    if (c[i] > ORDER_MAX || d[i] > ORDER_MAX) return false;
  }
  return true;
}

static bool has_elements(const SymImplicit* a) {
  for (uint32_t i = 0; i < a->mode->equation_count; i++) {
    if (ir_equation(a->sym->ir, a->mode->equations[i]).element) return true;
  }
  return false;
}

/// Whether everything that is one too many has a partner.
static bool has_partners(const SymImplicit* a, const uint8_t* redundant) {
  for (uint32_t i = 0; i < a->mode->equation_count; i++) {
    if (redundant[i] && a->partners[i].equation == IR_NONE) return false;
  }
  return true;
}

/// Join what partners tie together, and pair equations and unknowns in that pattern; false where
/// there is nothing to relax.
static bool relax(SymImplicit* a, SymIncidence* tight, int* row_of_column,
                  const uint8_t* redundant) {
  if (redundant && !has_partners(a, redundant)) return false;
  int* match = ARENA_ARRAY(a->scratch, int, a->column_count);
  SymIncidence joined =
      sym_join_partners(a->sym, a->scratch, tight, a->partners, a->vars, a->column_of_var);
  if (sym_match(a->scratch, &joined, match) < (int)a->column_count) return false;
  if (!sym_partners_meet(a->scratch, &joined, match, redundant, a->partners)) return false;
  joined = sym_join_partners(a->sym, a->scratch, tight, a->partners, a->vars, a->column_of_var);
  if (sym_match(a->scratch, &joined, row_of_column) < (int)a->column_count) return false;
  *tight = joined;
  a->mode->partners = a->partners;
  return true;
}

static bool is_relaxed(const SymImplicit* a, const SymBlocks* blocks, uint32_t b) {
  for (int at = blocks->begin[b]; a->mode->partners && at < blocks->begin[b + 1]; at++) {
    if (a->mode->partners[blocks->rows[at]].equation != IR_NONE) return true;
  }
  return false;
}

const Diag* sym_analyse_implicit(SymImplicit* a) {
  SymMode* mode = a->mode;
  const Diag* before = mode->failure;
  int* c = ARENA_ARRAY(a->scratch, int, a->column_count);
  int* d = ARENA_ARRAY(a->scratch, int, a->column_count);
  int* row_of_column = ARENA_ARRAY(a->scratch, int, a->column_count);
  SymSignature signature = build_signature(a);
  const uint8_t* redundant = NULL;
  if (!find_offsets(a, &signature, c, d, row_of_column, &redundant)) return before;
  if (!orders_fit(a, c, d)) return before;
  set_orders(a, c, d, redundant);
  SymIncidence tight = tight_entries(a, &signature, c, d);
  mode->repeats = redundant != NULL;
  bool relaxed = a->partners && relax(a, &tight, row_of_column, redundant);
  if (redundant && !relaxed) {
    if (a->partners && !has_elements(a)) return before;
    tight = sym_join_redundant(a->scratch, &tight, row_of_column, redundant);
  }
  SymBlocks blocks = sym_blocks(a->scratch, &tight, row_of_column);
  SymAssign* assigns = ARENA_ARRAY(a->out, SymAssign, a->column_count);
  SymBlock* own = ARENA_ARRAY(a->out, SymBlock, blocks.count);
  mode->assigns = assigns;
  mode->blocks = own;
  mode->assign_count = 0;
  for (uint32_t b = 0; b < blocks.count; b++) {
    SymBlock block = {.begin = mode->assign_count,
                      .count = (uint32_t)(blocks.begin[b + 1] - blocks.begin[b])};
    for (int at = blocks.begin[b]; at < blocks.begin[b + 1]; at++) {
      uint32_t row = (uint32_t)blocks.rows[at];
      uint32_t var = a->columns[blocks.columns[at]];
      SymTerm value = differentiated(a, row, c[row]);
      if (!sym_present(value.shape)) return sym_fail_growth(a->failure, row, (uint32_t)c[row]);
      a->vars[var].assign = mode->assign_count;
      assigns[mode->assign_count++] = (SymAssign){.equation = mode->equations[row],
                                                  .var = var,
                                                  .order = a->vars[var].order,
                                                  .kind = SYM_IN_BLOCK,
                                                  .value = value,
                                                  .block = mode->block_count};
    }
    block.relaxed = is_relaxed(a, &blocks, b);
    if (block.count == 1) {
      SymSolution how = solve_scalar(a, &assigns[block.begin]);
      if (how == SYM_CANCELS && !block.relaxed) {
        return sym_fail_scalar(a->failure, (uint32_t)blocks.rows[blocks.begin[b]],
                               (uint32_t)blocks.columns[blocks.begin[b]], how);
      }
      if (how == SYM_EXPLICIT || how == SYM_LINEAR) continue;
    }
    SymPattern pattern = block_pattern(a, &block, &block.linear);
    block.torn_count = block.count;
    if (!block.relaxed) sym_tear(a->out, a->scratch, &pattern, &block);
    own[mode->block_count++] = block;
  }
  return NULL;
}
