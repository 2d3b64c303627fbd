// SPDX-License-Identifier: MIT
//
// The structure of one mode as text for people.
#include "model/build_internal.h"

#define LINES_MAX 100  // of one list
#define NAMES_MAX 40   // in one line

typedef struct Explain {
  const uint32_t* mode;
  TextBuffer out;
} Explain;

static void append_place(ModelBuild* build, TextBuffer* out, Span span) {
  text_append_c(out, "   (");
  text_append(out, build_place(build, &build->scratch, span));
}

static const char* plural(uint32_t count) {
  return count == 1 ? "" : "s";
}

static bool has_role(const SymVar* var, SymRole role) {
  return var->role == (uint8_t)role;
}

/// "states       x, v, v'": the variables of one role, states with their orders.
static void explain_role(ModelBuild* build, TextBuffer* out, const SymMode* sym, SymRole role,
                         const char* title) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &sym->vars[v];
    if (!has_role(var, role)) continue;
    uint32_t orders = role == SYM_STATE ? var->order : 1;
    for (uint32_t k = 0; k < orders; k++, count++) {
      if (count >= NAMES_MAX) continue;
      text_append_c(out, count ? ", " : title);
      sym_unknown_text(out, build->ir, v, (uint8_t)k);
    }
  }
  if (count > NAMES_MAX) text_append_format(out, " and %u more", count - NAMES_MAX);
  if (count) text_append_char(out, '\n');
}

/// "with what is undetermined held: y, x'": what the equations leave a choice of.
static void explain_loose(ModelBuild* build, TextBuffer* out, const SymMode* sym) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &sym->vars[v];
    if (!var->loose || has_role(var, SYM_UNDETERMINED)) continue;
    if (count++ >= NAMES_MAX) continue;
    text_append_c(out, count > 1 ? ", " : "depends on undetermined values  ");
    sym_unknown_text(out, build->ir, v, 0);
  }
  if (count > NAMES_MAX) text_append_format(out, " and %u more", count - NAMES_MAX);
  if (count) text_append_char(out, '\n');
}

/// What is differentiated, and what that leaves to choose.
/// Whether a computed quantity is another one, its negative, or a constant.
static bool is_alias(const ModelBuild* build, const SymMode* sym, const SymAssign* assign) {
  if (assign->kind == SYM_IN_BLOCK || sym->vars[assign->var].role != SYM_ALGEBRAIC) return false;
  const IrNode* nodes = build->sym.view.pool.nodes.data;
  const IrNode* node = &nodes[assign->value.shape.index];
  if (node->op == IR_NEG) node = &nodes[node->arg[0]];
  return node->op == IR_CONST || node->op == IR_SLOT;
}

static uint32_t count_aliases(const ModelBuild* build, const SymMode* sym) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < sym->assign_count; i++) {
    count += is_alias(build, sym, &sym->assigns[i]);
  }
  return count;
}

static void explain_aliases(const ModelBuild* build, TextBuffer* out, const SymMode* sym) {
  uint32_t count = count_aliases(build, sym);
  if (count == 0) return;
  text_append_format(out, "aliases       %u quantit%s another one, its negative, or a constant\n",
                     count, count == 1 ? "y that is" : "ies that are");
}

static void explain_implicit(ModelBuild* build, TextBuffer* out, const SymMode* sym) {
  if (!sym->offsets) return;
  uint32_t linear = 0;
  uint32_t largest = 0;
  for (uint32_t b = 0; b < sym->block_count; b++) {
    linear += sym->blocks[b].linear;
    if (sym->blocks[b].count > largest) largest = sym->blocks[b].count;
  }
  text_append_format(out, "implicit      index %u, %u degree%s of freedom, %u constraint%s\n",
                     sym->index, sym->freedom, plural(sym->freedom), sym->constraint_count,
                     plural(sym->constraint_count));
  if (sym->block_count) {
    text_append_format(out, "blocks        %u linear, %u nonlinear, the largest of %u equation%s\n",
                       linear, sym->block_count - linear, largest, plural(largest));
  }
  uint32_t shown = 0;
  for (uint32_t i = 0; i < sym->equation_count; i++) {
    if (sym->offsets[i] == 0) continue;
    if (shown == 0) text_append_c(out, "differentiated\n");
    if (shown++ >= LINES_MAX) continue;
    const IrEquation* equation = (IrEquation[]){ir_equation(build->ir, sym->equations[i])};
    text_append_format(out, "%5u time%s  ", sym->offsets[i], plural(sym->offsets[i]));
    ir_print_term(out, build->ir, equation->term);
    append_place(build, out, equation->span);
    text_append_c(out, ")\n");
  }
  if (shown > LINES_MAX) text_append_format(out, "       and %u more\n", shown - LINES_MAX);
}

static void explain_names(ModelBuild* build, TextBuffer* out, const SymMode* sym,
                          const SymBlock* block, const uint32_t* members, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    const SymAssign* member = &sym->assigns[block->begin + members[k]];
    if (k) text_append_c(out, ", ");
    sym_unknown_text(out, build->ir, member->var, member->order);
  }
}

static void explain_line(ModelBuild* build, TextBuffer* out, SymTerm term, uint32_t equation) {
  ir_print_expr(out, &build->sym.view, term.shape, term.row);
  Span span = ir_equation(build->ir, equation).span;
  append_place(build, out, span);
  text_append_c(out, ")\n");
}

/// The value of the k-th inner unknown of a torn block.
static SymTerm inner_value(ModelBuild* build, const SymMode* sym, const SymBlock* block,
                           uint32_t k) {
  const SymAssign* unknown = &sym->assigns[block->begin + block->columns[k]];
  SymTerm term = sym->assigns[block->begin + block->rows[k]].value;
  sym_solve_for(&build->sym, &build->scratch, term, unknown->var, unknown->order, &term.shape);
  return term;
}

/// What follows from the torn unknowns, and what determines them.
static void explain_torn(ModelBuild* build, TextBuffer* out, const SymMode* sym,
                         const SymBlock* block) {
  uint32_t inner = block->count - block->torn_count;
  for (uint32_t k = 0; k < inner && k < LINES_MAX; k++) {
    const SymAssign* unknown = &sym->assigns[block->begin + block->columns[k]];
    text_append_c(out, "         ");
    sym_unknown_text(out, build->ir, unknown->var, unknown->order);
    text_append_c(out, " = ");
    explain_line(build, out, inner_value(build, sym, block, k),
                 sym->assigns[block->begin + block->rows[k]].equation);
  }
  if (inner > LINES_MAX) text_append_format(out, "         and %u more\n", inner - LINES_MAX);
  text_append_c(out, "       and ");
  explain_names(build, out, sym, block, block->columns + inner, block->torn_count);
  text_append_c(out, " from\n");
  for (uint32_t k = inner; k < block->count; k++) {
    const SymAssign* left = &sym->assigns[block->begin + block->rows[k]];
    text_append_c(out, "         ");
    explain_line(build, out, left->value, left->equation);
  }
}

/// "a, b, c: together, linear" and its equations.
static void explain_block(ModelBuild* build, TextBuffer* out, const SymMode* sym,
                          const SymBlock* block) {
  for (uint32_t k = 0; k < block->count && k < NAMES_MAX; k++) {
    const SymAssign* member = &sym->assigns[block->begin + k];
    if (k) text_append_c(out, ", ");
    sym_unknown_text(out, build->ir, member->var, member->order);
  }
  if (block->count > NAMES_MAX) text_append_format(out, " and %u more", block->count - NAMES_MAX);
  bool torn = block->torn_count < block->count;
  text_append_format(out, ": %s, %s",
                     block->linear      ? "linear equations solved together"
                     : block->count > 1 ? "nonlinear equations solved together by Newton's method"
                                        : "by Newton's method",
                     torn ? "torn: given " : "from\n");
  if (torn) {
    explain_names(build, out, sym, block, block->columns + block->count - block->torn_count,
                  block->torn_count);
    text_append_c(out, ",\n");
    explain_torn(build, out, sym, block);
    return;
  }
  for (uint32_t k = 0; k < block->count && k < LINES_MAX; k++) {
    const SymAssign* member = &sym->assigns[block->begin + k];
    text_append_c(out, "         ");
    explain_line(build, out, member->value, member->equation);
  }
}

static void explain_assign(ModelBuild* build, TextBuffer* out, const SymAssign* assign) {
  const IrEquation* equation = (IrEquation[]){ir_equation(build->ir, assign->equation)};
  sym_unknown_text(out, build->ir, assign->var, assign->order);
  text_append_c(out, " = ");
  ir_print_expr(out, &build->sym.view, assign->value.shape, assign->value.row);
  append_place(build, out, equation->span);
  if (assign->kind == SYM_LINEAR) {
    text_append_c(out, ", from `");
    ir_print_term(out, build->ir, equation->term);
    text_append_char(out, '`');
  }
  text_append_c(out, ")\n");
}

static void explain_order(ModelBuild* build, TextBuffer* out, const SymMode* sym) {
  text_append_c(out, "order of solution\n");
  for (uint32_t i = 0; i < sym->assign_count && i < LINES_MAX; i++) {
    text_append_format(out, "%5u  ", i + 1);
    if (sym->assigns[i].kind == SYM_IN_BLOCK) {
      const SymBlock* block = &sym->blocks[sym->assigns[i].block];
      explain_block(build, out, sym, block);
      i = block->begin + block->count - 1;
      continue;
    }
    explain_assign(build, out, &sym->assigns[i]);
  }
  if (sym->assign_count > LINES_MAX) {
    text_append_format(out, "       and %u more\n", sym->assign_count - LINES_MAX);
  }
}

/// Instances of each shape of equation, in order of first occurrence.
static void explain_shapes(ModelBuild* build, TextBuffer* out, const SymMode* sym) {
  const IrModel* ir = build->ir;
  uint32_t* instances = ARENA_ARRAY(&build->scratch, uint32_t, ir->pool.nodes.count);
  uint32_t shapes = 0;
  for (uint32_t i = 0; i < sym->equation_count; i++) {
    shapes += instances[ir_equation(ir, sym->equations[i]).term.shape.index]++ == 0;
  }
  text_append_format(out, "shapes: %u for %u equation%s\n", shapes, sym->equation_count,
                     plural(sym->equation_count));
  uint32_t shown = 0;
  for (uint32_t i = 0; i < sym->equation_count && shown < LINES_MAX; i++) {
    IrTerm term = ir_equation(ir, sym->equations[i]).term;
    uint32_t* count = &instances[term.shape.index];
    if (*count == 0) continue;
    text_append_format(out, "%5u  like ", *count);
    ir_print_term(out, ir, term);
    text_append_char(out, '\n');
    *count = 0;
    shown++;
  }
  if (shapes > LINES_MAX) text_append_format(out, "       and %u more\n", shapes - LINES_MAX);
}

// ---------------------------------------------------------------------------------------------
// the same as JSON

static void json_string(TextBuffer* out, Str text) {
  static const char hex[] = "0123456789abcdef";
  text_append_char(out, '"');
  for (uint32_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c == '"' || c == '\\') text_append_char(out, '\\');
    if (c < 0x20) {
      text_append_c(out, "\\u00");
      text_append_char(out, hex[c >> 4]);
      text_append_char(out, hex[c & 15]);
    } else {
      text_append_char(out, (char)c);
    }
  }
  text_append_char(out, '"');
}

static void json_unknown(ModelBuild* build, TextBuffer* out, uint32_t var, uint32_t order) {
  TextBuffer name = {.arena = &build->scratch};
  sym_unknown_text(&name, build->ir, var, (uint8_t)order);
  json_string(out, text_str(&name));
}

/// ["x","x'"]: the variables of a role, states with their orders.
static void json_role(ModelBuild* build, TextBuffer* out, const SymMode* sym, const char* key,
                      SymRole role) {
  uint32_t count = 0;
  text_append_format(out, "\"%s\":[", key);
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    const SymVar* var = &sym->vars[v];
    if (!has_role(var, role)) continue;
    uint32_t orders = role == SYM_STATE ? var->order : 1;
    for (uint32_t k = 0; k < orders; k++) {
      if (count++) text_append_char(out, ',');
      json_unknown(build, out, v, k);
    }
  }
  text_append_c(out, "],");
}

static void json_equation(ModelBuild* build, TextBuffer* out, uint32_t equation) {
  const IrEquation* e = (IrEquation[]){ir_equation(build->ir, equation)};
  TextBuffer text = {.arena = &build->scratch};
  ir_print_term(&text, build->ir, e->term);
  text_append_c(out, "\"text\":");
  json_string(out, text_str(&text));
  text_append_format(out, ",\"line\":%u", build_line(build, e->span));
}

static void json_equations(ModelBuild* build, TextBuffer* out, const SymMode* sym) {
  text_append_c(out, "\"equations\":[");
  for (uint32_t i = 0; i < sym->equation_count; i++) {
    if (i) text_append_char(out, ',');
    text_append_char(out, '{');
    json_equation(build, out, sym->equations[i]);
    text_append_format(out, ",\"differentiated\":%u}", sym->offsets ? sym->offsets[i] : 0);
  }
  text_append_c(out, "],");
}

static const char* how_text(const SymMode* sym, const SymAssign* assign) {
  if (assign->kind != SYM_IN_BLOCK) return assign->kind == SYM_LINEAR ? "solved" : "assigned";
  return sym->blocks[assign->block].linear ? "linear" : "newton";
}

/// Torn blocks: the unknowns that are solved for, and how the others follow.
static void json_torn(ModelBuild* build, TextBuffer* out, const SymMode* sym,
                      const SymBlock* block) {
  if (block->torn_count == block->count) return;
  uint32_t inner = block->count - block->torn_count;
  text_append_c(out, ",\"torn\":[");
  for (uint32_t k = inner; k < block->count; k++) {
    const SymAssign* unknown = &sym->assigns[block->begin + block->columns[k]];
    if (k > inner) text_append_char(out, ',');
    json_unknown(build, out, unknown->var, unknown->order);
  }
  text_append_c(out, "],\"inner\":[");
  for (uint32_t k = 0; k < inner; k++) {
    const SymAssign* unknown = &sym->assigns[block->begin + block->columns[k]];
    uint32_t equation = sym->assigns[block->begin + block->rows[k]].equation;
    SymTerm value = inner_value(build, sym, block, k);
    TextBuffer text = {.arena = &build->scratch};
    ir_print_expr(&text, &build->sym.view, value.shape, value.row);
    text_append_c(out, k ? ",{\"unknown\":" : "{\"unknown\":");
    json_unknown(build, out, unknown->var, unknown->order);
    text_append_c(out, ",\"value\":");
    json_string(out, text_str(&text));
    text_append_format(out, ",\"line\":%u}",
                       build_line(build, ir_equation(build->ir, equation).span));
  }
  text_append_char(out, ']');
}

/// The order of solution: what is computed at once, how, and from which equations.
static void json_order(ModelBuild* build, TextBuffer* out, const SymMode* sym) {
  text_append_c(out, "\"order\":[");
  for (uint32_t i = 0; i < sym->assign_count;) {
    const SymAssign* assign = &sym->assigns[i];
    bool block = assign->kind == SYM_IN_BLOCK;
    uint32_t count = block ? sym->blocks[assign->block].count : 1;
    text_append_format(out, "%s{\"how\":\"%s\",\"unknowns\":[", i ? "," : "",
                       how_text(sym, assign));
    for (uint32_t k = 0; k < count; k++) {
      if (k) text_append_char(out, ',');
      json_unknown(build, out, sym->assigns[i + k].var, sym->assigns[i + k].order);
    }
    text_append_c(out, "],\"equations\":[");
    for (uint32_t k = 0; k < count; k++) {
      text_append_format(out, "%s{", k ? "," : "");
      json_equation(build, out, sym->assigns[i + k].equation);
      text_append_char(out, '}');
    }
    text_append_c(out, "]");
    if (block) json_torn(build, out, sym, &sym->blocks[assign->block]);
    text_append_c(out, "}");
    i += count;
  }
  text_append_c(out, "],");
}

static void json_mode(ModelBuild* build, void* argument) {
  Explain* explain = argument;
  TextBuffer* out = &explain->out;
  const BuildSet* set = build_set(build, explain->mode);
  const SymMode* sym = set->sym;
  if (!sym || set->failure) return;
  json_role(build, out, sym, "integrated", SYM_STATE);
  json_role(build, out, sym, "undetermined", SYM_UNDETERMINED);
  text_append_c(out, "\"depends_on_undetermined\":[");
  uint32_t count = 0;
  for (uint32_t v = 0; v < build->ir->vars.count; v++) {
    if (!sym->vars[v].loose || has_role(&sym->vars[v], SYM_UNDETERMINED)) continue;
    if (count++) text_append_char(out, ',');
    json_unknown(build, out, v, 0);
  }
  text_append_format(out, "],\"aliases\":%u,", count_aliases(build, sym));
  json_equations(build, out, sym);
  json_order(build, out, sym);
}

static void explain_failure(TextBuffer* out, const Diag* failure) {
  text_append_format(out, "%s: ", diag_code_text(failure->code));
  text_append(out, failure->message);
  text_append_char(out, '\n');
  for (uint32_t i = 0; i < failure->notes.count; i++) {
    text_append_c(out, "       ");
    text_append(out, failure->notes.data[i].text);
    text_append_char(out, '\n');
  }
  if (failure->hint.length) {
    text_append_c(out, "       hint: ");
    text_append(out, failure->hint);
    text_append_char(out, '\n');
  }
}

/// Large blocks whose order of elimination is fixed.
static void explain_sparse(TextBuffer* out, const BuildSet* set) {
  for (uint32_t i = 0; i < set->full.solve_count; i++) {
    const ModelSparse* sparse = set->full.solves[i].sparse;
    if (!sparse) continue;
    uint32_t n = sparse->count;
    text_append_format(
        out, "eliminated sparse%s: a block of %u equations, %u entries, %u in the factors\n",
        set->full.solves[i].offers ? " where torn values do not fit" : "", n,
        sparse->entry_begin[n], n + sparse->lower_begin[n] + sparse->upper_begin[n]);
  }
}

static void explain_programs(TextBuffer* out, const BuildSet* set) {
  text_append_format(out, "programs: derivatives %u operations, all values %u operations\n",
                     set->rhs.code_count, set->full.code_count);
}

static void explain_mode(ModelBuild* build, void* argument) {
  Explain* explain = argument;
  TextBuffer* out = &explain->out;
  BuildSet* set = build_set(build, explain->mode);
  text_append_c(out, "mode ");
  if (!sym_mode_text(out, build->ir, explain->mode)) text_append_c(out, "(the only one)");
  text_append_char(out, '\n');
  if (build->failure) explain_failure(out, build->failure);
  const SymMode* sym = set->sym;
  if (sym) {
    explain_role(build, out, sym, SYM_STATE, "states        ");
    explain_role(build, out, sym, SYM_ALGEBRAIC, "algebraic     ");
    explain_role(build, out, sym, SYM_UNDETERMINED, "undetermined  ");
    explain_loose(build, out, sym);
    explain_role(build, out, sym, SYM_DISCRETE, "discrete      ");
    if (!set->failure) explain_aliases(build, out, sym);
    if (!set->failure) explain_implicit(build, out, sym);
  }
  if (set->failure) explain_failure(out, set->failure);
  if (!sym) return;
  if (!set->failure) explain_order(build, out, sym);
  explain_shapes(build, out, sym);
  if (set->failure || build->failure) return;
  build_compile_set(build, set);
  explain_sparse(out, set);
  explain_programs(out, set);
}

static void explain_with(ModelBuild* build, const uint32_t* mode, TextBuffer* out,
                         BuildWork* work) {
  Explain explain = {.mode = mode, .out = {.arena = &build->arena}};
  pthread_mutex_lock(&build->mutex);
  bool done = build_guarded(build, work, &explain);
  pthread_mutex_unlock(&build->mutex);
  // the caller's arena may leave by a jump: only without the lock
  if (!done) longjmp(*out->arena->on_oom, 1);
  text_append(out, (Str){explain.out.data, explain.out.length});
}

void model_build_explain(ModelBuild* build, const uint32_t* mode, TextBuffer* out) {
  explain_with(build, mode, out, explain_mode);
}

void model_build_explain_json(ModelBuild* build, const uint32_t* mode, TextBuffer* out) {
  explain_with(build, mode, out, json_mode);
}
