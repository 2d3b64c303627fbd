// SPDX-License-Identifier: MIT
//
// Blocks of equations that are solved together, as parts of a program.
//
// A block is a SOLVE operation with a body that computes residuals. Where tearing leaves few
// unknowns (symbolic/tearing.c), code in front of it finds the solution with less work and says
// whether it is to be trusted; the block itself is then only what to fall back upon:
//   - linear blocks are eliminated by straight code, without a loop or a table;
//   - Newton's method iterates on the torn unknowns alone, the others follow in its body; what
//   comes
//     of it is put into all equations of the block once.
#include "model/build_scope.h"

#define PIVOT_SAFE 1e-8   // divisors below, relative to their row, are left to the whole block
#define RESIDUAL   1e-10  // of an equation, by changes of its unknowns: Newton's last step

/// One block at one level, while it is emitted.
typedef struct BlockEmit {
  ModeScope* scope;
  const SymBlock* block;
  uint32_t index, level;
  ModelEntry* entries;  // coefficients: values, or TAPE_NONE as long as they are not emitted
  uint32_t entry_count;
  const uint32_t* row_begin;  // of entries
} BlockEmit;

static const SymAssign* member(const BlockEmit* e, uint32_t i) {
  return &e->scope->set->sym->assigns[e->block->begin + i];
}

static ScopeItem* member_item(const BlockEmit* e, uint32_t i) {
  const SymAssign* assign = member(e, i);
  uint32_t place = *scope_item(e->scope, assign->var, assign->order + e->level);
  return &e->scope->items.data[place - 1];
}

static uint32_t emit_term(const BlockEmit* e, SymTerm term) {
  return build_emit(e->scope->build, &e->scope->graph, &e->scope->base, term);
}

/// The member whose unknown a leaf is at this level; MODEL_NONE for anything else.
static uint32_t leaf_member(const BlockEmit* e, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR || leaf.when == IR_PRE) return MODEL_NONE;
  const SymVar* var = &e->scope->set->sym->vars[leaf.id];
  bool computed = var->role == SYM_STATE || var->role == SYM_ALGEBRAIC;
  if (!computed || leaf.order != var->order + e->level || var->assign == IR_NONE) return MODEL_NONE;
  uint32_t at = var->assign - e->block->begin;
  return var->assign >= e->block->begin && at < e->block->count ? at : MODEL_NONE;
}

/// Where the Jacobian has entries.
static void find_entries(BlockEmit* e) {
  ModelBuild* build = e->scope->build;
  Arena* scratch = &build->scratch;
  uint32_t n = e->block->count;
  uint32_t* begin = ARENA_ARRAY(scratch, uint32_t, (size_t)n + 1);
  uint32_t* seen = ARENA_ARRAY(scratch, uint32_t, n);
  BASE_VEC(ModelEntry) entries = {0};
  for (uint32_t i = 0; i < n; i++) {
    SymTerm term = member_item(e, i)->term;
    for (uint32_t k = 0; k < term.count; k++) {
      uint32_t j = leaf_member(e, term.row[k]);
      if (j == MODEL_NONE || seen[j] == i + 1) continue;
      seen[j] = i + 1;
      ExprId slope =
          sym_partial(&build->sym, scratch, term, term.row[k].id, (uint8_t)term.row[k].order);
      if (!slope.index) continue;
      ModelEntry entry = {.row = i, .column = j, .reg = TAPE_NONE};
      base_vec_push(scratch, &entries, entry);
    }
    begin[i + 1] = entries.count;
  }
  e->entries = entries.data;
  e->entry_count = entries.count;
  e->row_begin = begin;
}

/// Emit the coefficients, with the unknowns as they are in the scope now.
static void emit_entries(BlockEmit* e) {
  ModelBuild* build = e->scope->build;
  for (uint32_t k = 0; k < e->entry_count; k++) {
    SymTerm slope = member_item(e, e->entries[k].row)->term;
    const SymAssign* column = member(e, e->entries[k].column);
    slope.shape = sym_partial(&build->sym, &build->scratch, slope, column->var,
                              (uint8_t)(column->order + e->level));
    e->entries[k].reg = emit_term(e, slope);
  }
}

// ---- relaxation ---------------------------------------------------------------------------------

/// The product of the slopes of an equation and of a relation with respect to something that both
/// read: which way they go together. TAPE_NONE when there is no such thing.
static uint32_t emit_direction(const BlockEmit* e, uint32_t equation, uint32_t atom, bool falls) {
  ModelBuild* build = e->scope->build;
  if (atom == IR_NONE) return TAPE_NONE;
  SymTerm f = sym_term(&build->sym, ir_equation(build->ir, equation).term);
  SymTerm g = sym_term(&build->sym, ir_atom(build->ir, atom).g);
  for (uint32_t k = 0; k < f.count; k++) {
    if (f.row[k].kind != IR_LEAF_VAR) continue;
    uint32_t var = f.row[k].id;
    uint8_t order = (uint8_t)f.row[k].order;
    ExprId of_f = sym_partial(&build->sym, &build->scratch, f, var, order);
    ExprId of_g = sym_partial(&build->sym, &build->scratch, g, var, order);
    if (!of_f.index || !of_g.index) continue;
    f.shape = of_f;
    g.shape = of_g;
    TapeGraph* graph = &e->scope->graph;
    uint32_t product = tape_op(graph, IR_MUL, emit_term(e, f), emit_term(e, g), 0);
    return falls ? tape_op(graph, IR_NEG, product, product, product) : product;
  }
  return TAPE_NONE;
}

/// The sign with which a trace of the partner keeps a part passive: what leads to the other state
/// and what leads back grow against each other.
static uint32_t emit_passive_sign(const BlockEmit* e, uint32_t equation,
                                  const SymPartner* partner) {
  TapeGraph* graph = &e->scope->graph;
  if (partner->same_side) return tape_const(graph, 1.0);
  uint32_t back = emit_direction(e, equation, partner->back, partner->back_falls);
  uint32_t leave = emit_direction(e, partner->equation, partner->leave, partner->leave_falls);
  if (back == TAPE_NONE || leave == TAPE_NONE) return tape_const(graph, -1.0);
  return tape_op(graph, IR_SIGN, tape_op(graph, IR_MUL, back, leave, 0), 0, 0);
}

/// The entries, and behind them the slopes of the partners; solve->relax_count of these.
static ModelEntry* relaxed_entries(const BlockEmit* e, TapeSolve* solve) {
  ModelBuild* build = e->scope->build;
  Arena* scratch = &build->scratch;
  const SymMode* sym = e->scope->set->sym;
  BASE_VEC(ModelEntry) entries = {0};
  for (uint32_t k = 0; k < e->entry_count; k++) {
    base_vec_push(scratch, &entries, e->entries[k]);
  }
  uint32_t* seen = ARENA_ARRAY(scratch, uint32_t, e->block->count);
  for (uint32_t i = 0; i < e->block->count; i++) {
    uint32_t equation = member(e, i)->equation;
    const SymPartner* partner = &sym->partners[build_equation_place(sym, equation)];
    if (partner->equation == IR_NONE) continue;
    SymTerm term = sym_term(&build->sym, ir_equation(build->ir, partner->equation).term);
    uint32_t sign = emit_passive_sign(e, equation, partner);
    for (uint32_t k = 0; k < term.count; k++) {
      IrLeaf leaf = term.row[k];
      if (leaf.kind != IR_LEAF_VAR || leaf.when == IR_PRE) continue;
      uint32_t column = sym->vars[leaf.id].assign - e->block->begin;
      if (sym->vars[leaf.id].assign < e->block->begin || column >= e->block->count) continue;
      ExprId shape = sym_partial(&build->sym, scratch, term, leaf.id, (uint8_t)leaf.order);
      if (!shape.index || seen[column] == i + 1) continue;
      seen[column] = i + 1;
      SymTerm slope = term;
      slope.shape = shape;
      uint32_t value = tape_op(&e->scope->graph, IR_MUL, emit_term(e, slope), sign, 0);
      ModelEntry entry = {.row = i, .column = column, .reg = value};
      base_vec_push(scratch, &entries, entry);
    }
  }
  solve->relax_count = entries.count - e->entry_count;
  return entries.data;
}

static ModelEntry* copy_entries(const BlockEmit* e) {
  ModelEntry* copy = ARENA_ARRAY(&e->scope->build->scratch, ModelEntry, e->entry_count);
  for (uint32_t k = 0; k < e->entry_count; k++) {
    copy[k] = e->entries[k];
  }
  return copy;
}

/// Guess of an unknown: its value when the program was bound.
static uint32_t guess_value(ModeScope* scope, uint32_t var, uint32_t order) {
  const BuildLayout* layout = &scope->build->layout;
  if (order >= layout->var_slots[var]) return tape_const(&scope->graph, 0.0);
  return tape_input(&scope->graph, layout->var_env[var] + order);
}

// ---- linear blocks, torn ------------------------------------------------------------------------

/// What is left of each equation without the unknowns; false when that cannot be told.
static bool emit_rests(const BlockEmit* e, uint32_t* rests) {
  ModelBuild* build = e->scope->build;
  for (uint32_t i = 0; i < e->block->count; i++) {
    SymTerm term = member_item(e, i)->term;
    uint32_t* slots = ARENA_ARRAY(&build->scratch, uint32_t, term.count);
    uint32_t count = 0;
    for (uint32_t k = 0; k < term.count; k++) {
      if (leaf_member(e, term.row[k]) != MODEL_NONE) slots[count++] = k;
    }
    ExprId rest = {0};
    if (!sym_rest(&build->sym, term.shape, slots, count, &rest)) return false;
    rests[i] = TAPE_NONE;
    if (!rest.index) continue;
    term.shape = rest;
    rests[i] = emit_term(e, term);
  }
  return true;
}

/// Straight code for a linear block; its coefficients are emitted.
static bool offer_linear(const BlockEmit* e, uint32_t* offers, uint32_t* accept) {
  if (e->block->torn_count == e->block->count) return false;
  uint32_t* rests = ARENA_ARRAY(&e->scope->build->scratch, uint32_t, e->block->count);
  if (!emit_rests(e, rests)) return false;
  TearSystem system = {.count = e->block->count,
                       .entries = e->entries,
                       .entry_count = e->entry_count,
                       .rests = rests,
                       .rows = e->block->rows,
                       .columns = e->block->columns,
                       .torn_count = e->block->torn_count};
  return tear_linear(&e->scope->graph, &system, offers, accept);
}

// ---- nonlinear blocks, torn ---------------------------------------------------------------------

/// The solution of the k-th inner equation for its unknown; false when it has none.
static bool inner_term(const BlockEmit* e, uint32_t k, SymTerm* term) {
  ModelBuild* build = e->scope->build;
  const SymAssign* unknown = member(e, e->block->columns[k]);
  *term = member_item(e, e->block->rows[k])->term;
  SymSolution how = sym_solve_for(&build->sym, &build->scratch, *term, unknown->var,
                                  (uint8_t)(unknown->order + e->level), &term->shape);
  return how == SYM_EXPLICIT || how == SYM_LINEAR;
}

/// The unknowns that follow from the torn ones, in order.
static void emit_inner(const BlockEmit* e) {
  for (uint32_t k = 0; k < e->block->count - e->block->torn_count; k++) {
    SymTerm term;
    if (inner_term(e, k, &term)) {
      member_item(e, e->block->columns[k])->value = emit_term(e, term);
    }
  }
}

static uint32_t add_product(TapeGraph* graph, uint32_t sum, uint32_t a, uint32_t b) {
  uint32_t product = tape_op(graph, IR_MUL, a, b, b);
  return sum == TAPE_NONE ? product : tape_op(graph, IR_ADD, sum, product, product);
}

/// Row of the Jacobian with respect to the torn unknowns: a(t) + sum over inner j of a(j) s(j, t).
static void emit_torn_row(const BlockEmit* e, uint32_t row, uint32_t without,
                          const uint32_t* torn_of, const uint32_t* slopes, uint32_t* out) {
  TapeGraph* graph = &e->scope->graph;
  uint32_t torn = e->block->torn_count;
  for (uint32_t t = 0; t < torn; t++) {
    out[t] = TAPE_NONE;
  }
  for (uint32_t k = e->row_begin[row]; k < e->row_begin[row + 1]; k++) {
    uint32_t j = e->entries[k].column;
    if (j == without) continue;
    for (uint32_t t = 0; t < torn; t++) {
      if (torn_of[j] == t) {
        uint32_t a = e->entries[k].reg;
        out[t] = out[t] == TAPE_NONE ? a : tape_op(graph, IR_ADD, out[t], a, a);
      } else if (torn_of[j] == TAPE_NONE && slopes[(size_t)j * torn + t] != TAPE_NONE) {
        out[t] = add_product(graph, out[t], e->entries[k].reg, slopes[(size_t)j * torn + t]);
      }
    }
  }
}

static uint32_t entry_value(const BlockEmit* e, uint32_t row, uint32_t column) {
  for (uint32_t k = e->row_begin[row]; k < e->row_begin[row + 1]; k++) {
    if (e->entries[k].column == column) return e->entries[k].reg;
  }
  return TAPE_NONE;
}

/// Jacobian of the equations left over with respect to the torn unknowns.
static void emit_torn_jacobian(const BlockEmit* e, TapeSolve* solve) {
  Arena* scratch = &e->scope->build->scratch;
  TapeGraph* graph = &e->scope->graph;
  uint32_t n = e->block->count;
  uint32_t torn = e->block->torn_count;
  uint32_t inner = n - torn;
  uint32_t* torn_of = ARENA_ARRAY(scratch, uint32_t, n);
  uint32_t* slopes = ARENA_ARRAY(scratch, uint32_t, (size_t)n * torn);
  uint32_t* sums = ARENA_ARRAY(scratch, uint32_t, torn);
  for (uint32_t k = 0; k < n; k++) {
    torn_of[e->block->columns[k]] = k < inner ? TAPE_NONE : k - inner;
  }
  for (uint32_t k = 0; k < inner; k++) {
    uint32_t row = e->block->rows[k];
    uint32_t column = e->block->columns[k];
    emit_torn_row(e, row, column, torn_of, slopes, sums);
    uint32_t pivot = entry_value(e, row, column);
    for (uint32_t t = 0; t < torn; t++) {
      uint32_t* slope = &slopes[(size_t)column * torn + t];
      *slope = TAPE_NONE;
      if (sums[t] == TAPE_NONE) continue;
      uint32_t quotient = tape_op(graph, IR_DIV, sums[t], pivot, pivot);
      *slope = tape_op(graph, IR_NEG, quotient, quotient, quotient);
    }
  }
  BASE_VEC(ModelEntry) entries = {0};
  for (uint32_t r = 0; r < torn; r++) {
    emit_torn_row(e, e->block->rows[inner + r], MODEL_NONE, torn_of, slopes, sums);
    for (uint32_t t = 0; t < torn; t++) {
      ModelEntry entry = {.row = r, .column = t, .reg = sums[t]};
      if (sums[t] != TAPE_NONE) base_vec_push(scratch, &entries, entry);
    }
  }
  solve->entries = entries.data;
  solve->entry_count = entries.count;
}

/// 1 where no divisor is small beside its row, by the sizes of the unknowns; TAPE_NONE where all of
/// them are numbers.
static uint32_t emit_divisors(const BlockEmit* e, const uint32_t* sizes) {
  TapeGraph* graph = &e->scope->graph;
  uint32_t trust = TAPE_NONE;
  for (uint32_t k = 0; k < e->block->count - e->block->torn_count; k++) {
    uint32_t row = e->block->rows[k];
    uint32_t pivot = entry_value(e, row, e->block->columns[k]);
    double number = 0.0;
    if (tape_is_const(graph, pivot, &number)) continue;
    uint32_t size = TAPE_NONE;
    for (uint32_t m = e->row_begin[row]; m < e->row_begin[row + 1]; m++) {
      uint32_t slope = tape_op(graph, IR_ABS, e->entries[m].reg, 0, 0);
      size = add_product(graph, size, slope, sizes[e->entries[m].column]);
    }
    uint32_t least = tape_op(graph, IR_MUL, size, tape_const(graph, PIVOT_SAFE), 0);
    uint32_t slope = tape_op(graph, IR_ABS, pivot, 0, 0);
    uint32_t part = tape_op(graph, IR_MUL, slope, sizes[e->block->columns[k]], 0);
    uint32_t large = tape_op(graph, IR_GE, part, least, 0);
    trust = trust == TAPE_NONE ? large : tape_op(graph, IR_AND, trust, large, large);
  }
  return trust;
}

/// 1 where every equation of the block holds as well as Newton's method on all of it would make
/// it, and no divisor is small. Values that are no numbers, or infinite, hold nowhere.
static uint32_t emit_trust(const BlockEmit* e, const uint32_t* values) {
  TapeGraph* graph = &e->scope->graph;
  uint32_t n = e->block->count;
  uint32_t zero = tape_const(graph, 0.0);
  uint32_t* sizes = ARENA_ARRAY(&e->scope->build->scratch, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) {
    // what an unknown measures: what it is, or what it was guessed to be
    const SymAssign* unknown = member(e, i);
    uint32_t guess = guess_value(e->scope, unknown->var, unknown->order);
    uint32_t size = tape_op(graph, IR_ABS, values[i], 0, 0);
    sizes[i] = tape_op(graph, IR_MAX, size, tape_op(graph, IR_ABS, guess, 0, 0), 0);
  }
  uint32_t trust = emit_divisors(e, sizes);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t residual = emit_term(e, member_item(e, i)->term);
    uint32_t size = TAPE_NONE;
    for (uint32_t m = e->row_begin[i]; m < e->row_begin[i + 1]; m++) {
      uint32_t slope = tape_op(graph, IR_ABS, e->entries[m].reg, 0, 0);
      size = add_product(graph, size, slope, sizes[e->entries[m].column]);
    }
    uint32_t most = tape_op(graph, IR_MUL, size, tape_const(graph, RESIDUAL), 0);
    // the difference of two infinite numbers is none
    uint32_t left = tape_op(graph, IR_SUB, most, tape_op(graph, IR_ABS, residual, 0, 0), 0);
    uint32_t holds = tape_op(graph, IR_GE, left, zero, zero);
    trust = trust == TAPE_NONE ? holds : tape_op(graph, IR_AND, trust, holds, holds);
  }
  return trust;
}

/// Newton's method on the torn unknowns; the others follow from them.
static bool offer_newton(BlockEmit* e, uint32_t* offers, uint32_t* accept) {
  if (e->block->torn_count == e->block->count) return false;
  Arena* scratch = &e->scope->build->scratch;
  TapeGraph* graph = &e->scope->graph;
  uint32_t torn = e->block->torn_count;
  uint32_t inner = e->block->count - torn;
  for (uint32_t k = 0; k < inner; k++) {
    SymTerm term;
    if (!inner_term(e, k, &term)) return false;
  }
  uint32_t* trials = ARENA_ARRAY(scratch, uint32_t, torn);
  uint32_t* guesses = ARENA_ARRAY(scratch, uint32_t, torn);
  uint32_t* residuals = ARENA_ARRAY(scratch, uint32_t, torn);
  uint32_t* picks = ARENA_ARRAY(scratch, uint32_t, torn);
  TapeSolve solve = {.count = torn,
                     .tries = true,
                     .id = e->index,
                     .trials = trials,
                     .guesses = guesses,
                     .residuals = residuals};
  for (uint32_t t = 0; t < torn; t++) {
    const SymAssign* unknown = member(e, e->block->columns[inner + t]);
    guesses[t] = guess_value(e->scope, unknown->var, unknown->order);
    trials[t] = tape_trial(graph);
    member_item(e, e->block->columns[inner + t])->value = trials[t];
  }
  solve.body = tape_body(graph);
  emit_inner(e);
  for (uint32_t r = 0; r < torn; r++) {
    residuals[r] = emit_term(e, member_item(e, e->block->rows[inner + r])->term);
  }
  emit_entries(e);
  emit_torn_jacobian(e, &solve);
  tape_solve(graph, solve, picks);
  for (uint32_t t = 0; t < torn; t++) {
    member_item(e, e->block->columns[inner + t])->value = picks[t];
  }
  emit_inner(e);
  emit_entries(e);
  for (uint32_t i = 0; i < e->block->count; i++) {
    offers[i] = member_item(e, i)->value;
  }
  *accept = emit_trust(e, offers);
  return true;
}

// ---- the block ----------------------------------------------------------------------------------

/// Which unknowns are the last to hold what others hold too; NULL where none is.
static const bool* yielding(const BlockEmit* e) {
  const ModelBuild* build = e->scope->build;
  bool any = false;
  bool* out = ARENA_ARRAY(&e->scope->build->arena, bool, e->block->count);
  for (uint32_t i = 0; i < e->block->count; i++) {
    const SymAssign* unknown = member(e, i);
    out[i] = unknown->order == 0 && build->model.vars[unknown->var].yields;
    any |= out[i];
  }
  return any ? out : NULL;
}

void scope_emit_block(ModeScope* scope, const SymBlock* block, uint32_t index, uint32_t level) {
  Arena* scratch = &scope->build->scratch;
  BlockEmit e = {.scope = scope, .block = block, .index = index, .level = level};
  uint32_t* trials = ARENA_ARRAY(scratch, uint32_t, block->count);
  uint32_t* guesses = ARENA_ARRAY(scratch, uint32_t, block->count);
  uint32_t* residuals = ARENA_ARRAY(scratch, uint32_t, block->count);
  uint32_t* picks = ARENA_ARRAY(scratch, uint32_t, block->count);
  uint32_t* offers = ARENA_ARRAY(scratch, uint32_t, block->count);
  TapeSolve solve = {.count = block->count,
                     .linear = block->linear || level > 0,
                     .id = index,
                     .trials = trials,
                     .guesses = guesses,
                     .residuals = residuals};
  find_entries(&e);
  if (solve.linear) emit_entries(&e);
  bool offered = solve.linear ? offer_linear(&e, offers, &solve.accept)
                              : offer_newton(&e, offers, &solve.accept);
  if (offered) solve.offers = offers;
  for (uint32_t i = 0; i < block->count; i++) {
    const SymAssign* unknown = member(&e, i);
    guesses[i] = guess_value(scope, unknown->var, unknown->order);
    trials[i] = tape_trial(&scope->graph);
    member_item(&e, i)->value = trials[i];
  }
  solve.yields = yielding(&e);
  solve.body = tape_body(&scope->graph);
  for (uint32_t i = 0; i < block->count; i++) {
    residuals[i] = emit_term(&e, member_item(&e, i)->term);
  }
  if (!solve.linear) emit_entries(&e);
  solve.entries = block->relaxed ? relaxed_entries(&e, &solve) : copy_entries(&e);
  solve.entry_count = e.entry_count;
  if (!solve.relax_count) {
    solve.sparse =
        build_sparse(scope->build, &scope->graph, e.entries, e.entry_count, block->count);
  }
  if (!solve.relax_count && !solve.sparse && block->count > MODEL_FULL_MAX) {
    // numbers as pivots fill too much: the pairs by which the size of the block was judged
    solve.sparse = build_sparse(scope->build, NULL, e.entries, e.entry_count, block->count);
  }
  tape_solve(&scope->graph, solve, picks);
  for (uint32_t i = 0; i < block->count; i++) {
    member_item(&e, i)->value = picks[i];
  }
}

void scope_emit_direct(ModeScope* scope, const SymBlock* block, uint32_t index) {
  Arena* scratch = &scope->build->scratch;
  BlockEmit e = {.scope = scope, .block = block, .index = index};
  for (uint32_t i = 0; i < block->count; i++) {
    uint32_t state = scope->set->state_count + scope->direct_unknowns.count;
    DirectUnknown unknown = {.block = index, .index = i};
    base_vec_push(scratch, &scope->direct_unknowns, unknown);
    member_item(&e, i)->value = tape_state(&scope->graph, state);
  }
  for (uint32_t i = 0; i < block->count; i++) {
    uint32_t value = emit_term(&e, member_item(&e, i)->term);
    base_vec_push(scratch, &scope->residuals, value);
  }
}
