// SPDX-License-Identifier: MIT
//
// What the engine needs beyond the programs of a mode when its equations are differentiated or
// solved in blocks: constraints between states, the system Jacobian, and texts for messages.
#include "model/build_internal.h"

#define FULL_MATRIX_MAX 2000u     // equations of a block: more only where elimination is sparse
#define BLOCK_MAX       2000000u  // equations of a block at all
#define SYSTEM_SMALL    100u      // equations: so many are kept as one system for messages alone
#define SYSTEM_MAX      20000u  // equations of a mode without constraints: more are not settled as one

/// Reads every quantity of the mode from the state vector of the program.
typedef struct RawScope {
  BuildScope base;  // first: BuildScope* points here
  ModelBuild* build;
  const SymMode* sym;
  const uint32_t* first;  // per variable: the state of its value
  uint32_t* value_of;     // per quantity of the layout: value + 1
} RawScope;

static bool is_solved(const SymVar* var) {
  return var->role == SYM_STATE || var->role == SYM_ALGEBRAIC;
}

static uint32_t raw_variable(const BuildScope* base, TapeGraph* graph, IrLeaf leaf) {
  const RawScope* scope = (const RawScope*)base;
  const BuildLayout* layout = &scope->build->layout;
  uint32_t* place = &scope->value_of[layout->var_quantity[leaf.id] + leaf.order];
  if (*place) return *place - 1;
  uint32_t value = 0;
  const SymVar* var = &scope->sym->vars[leaf.id];
  if (is_solved(var) && leaf.order <= var->order) {
    value = tape_state(graph, scope->first[leaf.id] + leaf.order);
  } else if (leaf.order >= layout->var_slots[leaf.id] ||
             (leaf.order > 0 && var->role == SYM_UNDETERMINED)) {
    value = tape_const(graph, 0.0);
  } else {
    value = tape_input(graph, layout->var_env[leaf.id] + leaf.order);
  }
  *place = value + 1;
  return value;
}

static RawScope raw_scope(ModelBuild* build, const SymMode* sym, const uint32_t* first) {
  return (RawScope){.base = {.variable = raw_variable},
                    .build = build,
                    .sym = sym,
                    .first = first,
                    .value_of =
                        ARENA_ARRAY(&build->scratch, uint32_t, build->layout.quantity_count)};
}

static bool seen_before(SymTerm term, uint32_t slot) {
  IrLeaf leaf = term.row[slot];
  for (uint32_t k = 0; k < slot; k++) {
    IrLeaf other = term.row[k];
    if (other.kind == leaf.kind && other.id == leaf.id && other.order == leaf.order) return true;
  }
  return false;
}

typedef BASE_VEC(ModelEntry) Entries;
typedef BASE_VEC(uint32_t) Values;

/// Slopes of a term with respect to the quantities it reads, or to those solved for only.
static void emit_slopes(RawScope* scope, TapeGraph* graph, SymTerm term, uint32_t row,
                        bool top_only, Entries* entries, Values* values) {
  ModelBuild* build = scope->build;
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    if (leaf.kind != IR_LEAF_VAR || leaf.when == IR_PRE || !is_solved(&scope->sym->vars[leaf.id]))
      continue;
    uint8_t order = scope->sym->vars[leaf.id].order;
    if (leaf.order > order || (top_only && leaf.order < order) || seen_before(term, k)) continue;
    SymTerm slope = term;
    slope.shape = sym_partial(&build->sym, &build->scratch, term, leaf.id, leaf.order);
    if (!slope.shape.index) continue;
    uint32_t value = build_emit(build, graph, &scope->base, slope);
    ModelEntry entry = {
        .row = row, .column = scope->first[leaf.id] + leaf.order, .reg = values->count};
    base_vec_push(&build->arena, entries, entry);
    base_vec_push(&build->scratch, values, value);
  }
}

// ---------------------------------------------------------------------------------------------

static void number_quantities(ModelBuild* build, const BuildSet* set, ModelImplicit* out,
                              uint32_t* first) {
  const SymMode* sym = set->sym;
  uint32_t var_count = build->ir->vars.count;
  uint32_t* top = ARENA_ARRAY(&build->arena, uint32_t, var_count);
  for (uint32_t v = 0; v < var_count; v++) {
    first[v] = out->quantity_count;
    top[v] = MODEL_NONE;
    if (!is_solved(&sym->vars[v])) continue;
    top[v] = out->quantity_count + sym->vars[v].order;
    out->quantity_count += sym->vars[v].order + 1u;
  }
  ModelQuantity* quantities = ARENA_ARRAY(&build->arena, ModelQuantity, out->quantity_count);
  for (uint32_t v = 0; v < var_count; v++) {
    for (uint32_t k = 0; is_solved(&sym->vars[v]) && k <= sym->vars[v].order; k++) {
      bool placed = k < build->layout.var_slots[v];
      bool state = k < sym->vars[v].order;
      quantities[first[v] + k] =
          (ModelQuantity){.var = v,
                          .order = k,
                          .env = placed ? build->layout.var_env[v] + k : MODEL_NONE,
                          .state = state ? set->state_of_var[v] + k : MODEL_NONE};
    }
  }
  out->quantities = quantities;
  out->top = top;
}

uint32_t build_equation_place(const SymMode* sym, uint32_t equation) {
  uint32_t lo = 0;
  uint32_t hi = sym->equation_count;
  while (lo + 1 < hi) {
    uint32_t middle = lo + (hi - lo) / 2;
    if (sym->equations[middle] <= equation) {
      lo = middle;
    } else {
      hi = middle;
    }
  }
  return lo;
}

/// The equations that the system is made of, ascending. Where all unknowns are computed one after
/// the other only those matter that something fixed is computed through: whatever states come of
/// them, the others just give other values.
static const uint32_t* system_equations(ModelBuild* build, const SymMode* sym, uint32_t* count) {
  Arena* scratch = &build->scratch;
  uint8_t* wanted = ARENA_ARRAY(scratch, uint8_t, sym->equation_count);
  uint32_t* stack = ARENA_ARRAY(scratch, uint32_t, sym->assign_count);
  uint8_t* seen = ARENA_ARRAY(scratch, uint8_t, sym->assign_count);
  uint32_t open = 0;
  for (uint32_t i = 0; !sym->offsets && i < build->model.start_count; i++) {
    const ModelStart* start = &build->model.starts[i];
    const SymVar* var = &sym->vars[start->var];
    bool computed = is_solved(var) && start->order >= var->order && var->assign != IR_NONE;
    if (!start->fixed || !computed || seen[var->assign]) continue;
    seen[var->assign] = 1;
    stack[open++] = var->assign;
  }
  while (open > 0) {
    const SymAssign* assign = &sym->assigns[stack[--open]];
    wanted[build_equation_place(sym, assign->equation)] = 1;
    for (uint32_t k = 0; k < assign->value.count; k++) {
      IrLeaf leaf = assign->value.row[k];
      if (leaf.kind != IR_LEAF_VAR || !is_solved(&sym->vars[leaf.id])) continue;
      const SymVar* var = &sym->vars[leaf.id];
      if (leaf.order < var->order || var->assign == IR_NONE || seen[var->assign]) continue;
      seen[var->assign] = 1;
      stack[open++] = var->assign;
    }
  }
  uint32_t* list = ARENA_ARRAY(&build->arena, uint32_t, sym->equation_count);
  *count = 0;
  for (uint32_t i = 0; i < sym->equation_count; i++) {
    if (sym->offsets || wanted[i]) list[(*count)++] = i;
  }
  return list;
}

/// Rows and their terms: constraints by level, then what determines the unknowns.
static SymTerm* number_rows(ModelBuild* build, const SymMode* sym, const uint32_t* equations,
                            uint32_t count, ModelImplicit* out) {
  uint32_t deepest = 0;
  for (uint32_t i = 0; sym->offsets && i < sym->equation_count; i++) {
    if (sym->offsets[i] > deepest) deepest = sym->offsets[i];
  }
  out->constraint_count = sym->constraint_count;
  out->row_count = sym->constraint_count + count;
  ModelRow* rows = ARENA_ARRAY(&build->arena, ModelRow, out->row_count);
  SymTerm* terms = ARENA_ARRAY(&build->scratch, SymTerm, out->row_count);
  SymTerm* present = ARENA_ARRAY(&build->scratch, SymTerm, sym->equation_count);
  uint32_t at = 0;
  uint32_t top = sym->constraint_count;
  for (uint32_t level = 0; level <= deepest; level++) {
    for (uint32_t k = 0; k < count; k++) {
      uint32_t i = equations[k];
      uint32_t offset = sym->offsets ? sym->offsets[i] : 0;
      if (level > offset) continue;
      present[i] = level == 0
                       ? sym_term(&build->sym, ir_equation(build->ir, sym->equations[i]).term)
                       : sym_total_derivative(&build->sym, &build->scratch, present[i], sym->vars);
      uint32_t row = level < offset ? at++ : top + k;
      rows[row] = (ModelRow){.equation = k, .level = level, .top = level == offset};
      terms[row] = present[i];
    }
  }
  out->rows = rows;
  return terms;
}

static ModelProgram emit_rows(ModelBuild* build, const BuildSet* set, const uint32_t* first,
                              uint32_t state_count, const SymTerm* terms, uint32_t count,
                              const ModelEntry** entries, uint32_t* entry_count) {
  TapeGraph graph;
  tape_init(&graph, &build->scratch);
  RawScope scope = raw_scope(build, set->sym, first);
  Entries found = {0};
  Values values = {0};
  for (uint32_t i = 0; i < count; i++) {
    uint32_t value = build_emit(build, &graph, &scope.base, terms[i]);
    base_vec_push(&build->scratch, &values, value);
  }
  for (uint32_t i = 0; i < count; i++) {
    emit_slopes(&scope, &graph, terms[i], i, false, &found, &values);
  }
  *entries = found.data;
  *entry_count = found.count;
  return tape_finish(&graph, &build->arena, state_count, values.data, values.count);
}

/// One step back to the constraints; left out where they are many.
static void emit_project(ModelBuild* build, const BuildSet* set, const SymTerm* terms,
                         ModelImplicit* out) {
  Arena* scratch = &build->scratch;
  TapeGraph graph;
  tape_init(&graph, scratch);
  RawScope scope = raw_scope(build, set->sym, set->state_of_var);
  Entries found = {0};
  Values values = {0};
  for (uint32_t i = 0; i < out->constraint_count; i++) {
    uint32_t value = build_emit(build, &graph, &scope.base, terms[i]);
    base_vec_push(scratch, &values, value);
  }
  for (uint32_t i = 0; i < out->constraint_count; i++) {
    emit_slopes(&scope, &graph, terms[i], i, false, &found, &values);
  }
  for (uint32_t k = 0; k < found.count; k++) {
    found.data[k].reg = values.data[found.data[k].reg];
  }
  uint32_t* weights = ARENA_ARRAY(scratch, uint32_t, set->state_count);
  for (uint32_t j = 0; j < set->state_count; j++) {
    weights[j] = tape_state(&graph, set->state_count + j);
  }
  ProjectSystem system = {.residuals = values.data,
                          .row_count = out->constraint_count,
                          .entries = found.data,
                          .entry_count = found.count,
                          .weights = weights,
                          .state_count = set->state_count};
  uint32_t* changes = ARENA_ARRAY(scratch, uint32_t, set->state_count);
  uint32_t outputs[2];
  if (!project_values(&graph, &system, &outputs[1], &outputs[0], changes)) return;
  Values all = {0};
  uint32_t* states = ARENA_ARRAY(&build->arena, uint32_t, set->state_count);
  uint32_t count = 0;
  base_vec_push(scratch, &all, outputs[0]);
  base_vec_push(scratch, &all, outputs[1]);
  for (uint32_t j = 0; j < set->state_count; j++) {
    if (changes[j] == TAPE_NONE) continue;
    states[count++] = j;
    base_vec_push(scratch, &all, changes[j]);
  }
  out->project_states = states;
  out->project = tape_finish(&graph, &build->arena, 2 * set->state_count, all.data, all.count);
  out->project.native = ARENA_NEW(&build->arena, ModelCode);
}

static void describe_equations(ModelBuild* build, const SymMode* sym, const uint32_t* equations,
                               uint32_t count, ModelImplicit* out) {
  ModelEquationText* texts = ARENA_ARRAY(&build->arena, ModelEquationText, count);
  for (uint32_t i = 0; i < count; i++) {
    const IrEquation* equation =
        (IrEquation[]){ir_equation(build->ir, sym->equations[equations[i]])};
    TextBuffer text = {.arena = &build->arena};
    ir_print_term(&text, build->ir, equation->term);
    texts[i] = (ModelEquationText){.text = text_str(&text),
                                   .place = build_place(build, &build->arena, equation->span),
                                   .span = equation->span};
  }
  out->equations = texts;
  out->equation_count = count;
  uint32_t* begin = ARENA_ARRAY(&build->arena, uint32_t, (size_t)sym->block_count + 1);
  uint32_t* members = ARENA_ARRAY(&build->arena, uint32_t, sym->assign_count);
  uint32_t at = 0;
  for (uint32_t b = 0; b < sym->block_count; b++) {
    for (uint32_t k = 0; k < sym->blocks[b].count; k++) {
      members[at++] = build_equation_place(sym, sym->assigns[sym->blocks[b].begin + k].equation);
    }
    begin[b + 1] = at;
  }
  out->block_begin = begin;
  out->block_equations = members;
  out->block_count = sym->block_count;
}

/// Whether an initial value is fixed of something that the mode computes: it constrains the states.
static bool fixes_computed(const ModelBuild* build, const SymMode* sym) {
  const Model* model = &build->model;
  for (uint32_t i = 0; i < model->start_count; i++) {
    const SymVar* var = &sym->vars[model->starts[i].var];
    if (model->starts[i].fixed && is_solved(var) && model->starts[i].order >= var->order) {
      return true;
    }
  }
  return false;
}

const ModelImplicit* build_implicit(ModelBuild* build, const BuildSet* set) {
  const SymMode* sym = set->sym;
  bool fixes = fixes_computed(build, sym);
  if (!sym->offsets && !fixes) return NULL;
  uint32_t count = 0;
  const uint32_t* equations = system_equations(build, sym, &count);
  bool small = count <= SYSTEM_MAX;
  ModelImplicit* out = ARENA_NEW(&build->arena, ModelImplicit);
  out->fixes_computed = fixes;
  out->settles = fixes;
  for (uint32_t b = 0; b < sym->block_count; b++) {
    out->iterates |= !sym->blocks[b].linear;
  }
  out->settles |= out->iterates;
  out->lean = !out->iterates && sym->offsets && set->rhs.code == set->full.code;
  for (uint32_t i = 0; i < sym->assign_count; i++) {
    out->lean &= sym->assigns[i].kind == SYM_IN_BLOCK || sym->assigns[i].order > 0;
  }
  out->explicit_order = !sym->offsets;
  out->freedom = sym->offsets ? sym->freedom : set->state_count;
  out->index = sym->index;
  out->repeats = sym->repeats;
  uint32_t* first = ARENA_ARRAY(&build->scratch, uint32_t, build->ir->vars.count);
  describe_equations(build, sym, equations, count, out);
  // without constraints every value of the states is consistent: the equations as one system serve
  // to find a first solution, and to explain why there is none
  bool wanted = out->settles || sym->partners || count <= SYSTEM_SMALL;
  if (sym->constraint_count == 0 && (!small || !wanted)) return out;
  number_quantities(build, set, out, first);
  const SymTerm* terms = number_rows(build, sym, equations, count, out);
  out->constraint =
      emit_rows(build, set, set->state_of_var, set->state_count, terms, out->constraint_count,
                &out->constraint_entries, &out->constraint_entry_count);
  out->constraint.native = ARENA_NEW(&build->arena, ModelCode);
  if (out->constraint_count && !out->repeats) emit_project(build, set, terms, out);
  out->system = emit_rows(build, set, first, out->quantity_count, terms, out->row_count,
                          &out->system_entries, &out->system_entry_count);
  return out;
}

const ModelImpulse* build_impulse(ModelBuild* build, const BuildSet* set, const uint32_t* atoms,
                                  uint32_t count) {
  if (!set->implicit || !set->implicit->top) return NULL;
  if (set->implicit->constraint_count == 0 && !set->sym->partners) return NULL;
  uint32_t* first = ARENA_ARRAY(&build->scratch, uint32_t, build->ir->vars.count);
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    if (is_solved(&set->sym->vars[v])) first[v] = set->implicit->top[v] - set->sym->vars[v].order;
  }
  TapeGraph graph;
  tape_init(&graph, &build->scratch);
  RawScope scope = raw_scope(build, set->sym, first);
  Entries found = {0};
  Values values = {0};
  for (uint32_t i = 0; i < count; i++) {
    SymTerm g = sym_term(&build->sym, ir_atom(build->ir, atoms[i]).g);
    emit_slopes(&scope, &graph, g, i, true, &found, &values);
  }
  if (found.count == 0) return NULL;
  ModelImpulse* impulse = ARENA_NEW(&build->arena, ModelImpulse);
  impulse->entries = found.data;
  impulse->entry_count = found.count;
  impulse->slopes =
      tape_finish(&graph, &build->arena, set->implicit->quantity_count, values.data, values.count);
  return impulse;
}

/// Whether the elimination of a large block fits into memory.
static bool block_fits(ModelBuild* build, const SymMode* sym, const SymBlock* block) {
  if (block->count <= FULL_MATRIX_MAX || block->relaxed) return true;
  if (block->count > BLOCK_MAX) return false;
  Arena* scratch = &build->scratch;
  Entries entries = {0};
  uint32_t* seen = ARENA_ARRAY(scratch, uint32_t, block->count);
  for (uint32_t i = 0; i < block->count; i++) {
    SymTerm term = sym->assigns[block->begin + i].value;
    for (uint32_t k = 0; k < term.count; k++) {
      IrLeaf leaf = term.row[k];
      if (leaf.kind != IR_LEAF_VAR || !is_solved(&sym->vars[leaf.id])) continue;
      const SymVar* var = &sym->vars[leaf.id];
      uint32_t at = var->assign - block->begin;
      bool inside = leaf.order == var->order && var->assign >= block->begin && at < block->count;
      if (!inside || seen[at] == i + 1) continue;
      seen[at] = i + 1;
      ModelEntry entry = {.row = i, .column = at, .reg = TAPE_NONE};
      base_vec_push(scratch, &entries, entry);
    }
  }
  return build_sparse(build, NULL, entries.data, entries.count, block->count) != NULL;
}

/// Blocks of so many equations, or so closely tied together, that they cannot be solved.
static const Diag* too_large(ModelBuild* build, const SymMode* sym) {
  const SymBlock* large = NULL;
  for (uint32_t b = 0; b < sym->block_count && !large; b++) {
    if (!block_fits(build, sym, &sym->blocks[b])) large = &sym->blocks[b];
  }
  if (!large) return NULL;
  DiagList list;
  diag_init(&list, &build->arena, build->ir->source);
  uint32_t first = sym->assigns[large->begin].equation;
  for (uint32_t k = 1; k < large->count; k++) {
    uint32_t equation = sym->assigns[large->begin + k].equation;
    if (equation < first) first = equation;
  }
  bool many = large->count > BLOCK_MAX;
  Diag* diag = diag_add(&list, DIAG_E0525, ir_equation(build->ir, first).span,
                        "%u equations of a mode must be solved together, more than the %u that "
                        "are supported%s",
                        large->count, many ? BLOCK_MAX : FULL_MATRIX_MAX,
                        many ? "" : " where each of them depends on most others");
  diag_hint(&list, diag, "solve the equations for their unknowns where that is possible");
  return diag;
}

const Diag* build_hidden_room(ModelBuild* build, const SymMode* sym) {
  if (!sym->offsets) return NULL;
  const Diag* large = too_large(build, sym);
  if (large) return large;
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &sym->vars[v];
    if (!is_solved(var) || var->order < build->layout.var_slots[v]) continue;
    DiagList list;
    diag_init(&list, &build->arena, build->ir->source);
    Str name = ir_var_name(build->ir, v);
    Diag* diag = diag_add(&list, DIAG_E0524, ir_var(build->ir, v).span,
                          "the equations of a mode must be differentiated until %.*s has %u "
                          "derivatives, which is more than is supported",
                          STR_ARGS(name), var->order);
    diag_hint(&list, diag,
              "replace a constraint by its time derivative, or give a derivative its own name");
    return diag;
  }
  return NULL;
}
