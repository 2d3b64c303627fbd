// SPDX-License-Identifier: MIT
//
// Statements: equations, initial values, loops, `if` blocks.
#include "lisma/lower.h"

#define RESET_DEPTH_MAX 64u  // deeper expressions are not looked through for a warning

static void lower_statement(Lower* l, const AstStatement* statement, const Site* site);

uint32_t lower_add_body(Lower* l, uint32_t automaton, uint32_t state) {
  IrBody body = {.automaton = automaton, .state = state, .parent = IR_NONE};
  base_vec_push(l->arena, &l->m->bodies, body);
  return l->m->bodies.count - 1;
}

// ---------------------------------------------------------------------------------------------
// equations

/// A left side that is a single name must be a variable.
static bool check_lone_name(Lower* l, const AstExpr* lhs) {
  const AstName* written = &lhs->as.name.name;
  uint32_t name = resolve_name(l, written);
  if (name == 0) return false;
  Str text = lower_name(l, name);
  if (ast_name_is_plain(written) && resolve_binding(l, name)) {
    lower_report(l, DIAG_E0202, lhs->span,
                 "'%.*s' is a loop index and cannot be determined by an "
                 "equation",
                 STR_ARGS(text));
    return false;
  }
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind == SYM_VAR || symbol.kind == SYM_NONE) return true;
  Diag* diag = lower_report(l, DIAG_E0202, lhs->span,
                            "'%.*s' is %s and cannot be determined by an "
                            "equation",
                            STR_ARGS(text), resolve_kind_text(symbol.kind));
  if (symbol.kind == SYM_PARAM && lower_is_member(text)) {
    diag_hint(l->diags, diag, "a parameter is given where the part is made: Tank upper(A = 2);");
  }
  diag_note(l->diags, diag, resolve_symbol_span(l, symbol), "it is declared here");
  return false;
}

static bool reads_variable(const IrModel* m, IrTerm term) {
  for (uint32_t i = 0; i < term.leaf_count; i++) {
    if (ir_leaf(m, term, i).kind == IR_LEAF_VAR) return true;
  }
  return false;
}

static void note_fixed_edit(Lower* l, const Site* site, uint32_t label, uint32_t equation) {
  if (site->fixed_if == 0) return;
  FixedEdit edit = {
      .body = site->body, .depth = site->fixed_if, .label = label, .equation = equation};
  base_vec_push(l->scratch, &l->terms.fixed_edits, edit);
}

static void add_equation(Lower* l, const AstStatement* statement, const Site* site, IrTerm term) {
  const AstExpr* lhs = statement->as.equation.lhs;
  uint32_t label = 0;
  if (statement->as.equation.label) {
    label = resolve_name(l, statement->as.equation.label);
    if (label == 0) return;
  }
  Span span = span_join(lhs->span, statement->as.equation.rhs->span);
  IrEquation equation = {.term = term,
                         .body = site->body,
                         .label = label,
                         .lhs_var = IR_NONE,
                         .span = span,
                         .element = statement->as.equation.element};
  uint32_t order = 0;
  uint32_t var = 0;
  if (lower_variable(l, lhs, &var, &order)) {
    equation.lhs_var = var;
    equation.lhs_order = (uint8_t)order;
    l->names.vars.data[var].flags |= VAR_STRONG;
  }
  base_vec_push(l->arena, &l->m->equations, equation);
  note_fixed_edit(l, site, label, l->m->equations.count - 1);
}

/// Whether an expression reads a slot.
static bool reads_slot(const IrPool* pool, ExprId e, ExprId slot) {
  if (e.index == slot.index) return true;
  const IrNode* node = &pool->nodes.data[e.index];
  if (node->op == IR_SLOT) return false;
  for (uint32_t k = node->op == IR_TABLE ? 1 : 0; k < ir_op_arity((IrOp)node->op); k++) {
    if (reads_slot(pool, (ExprId){node->arg[k]}, slot)) return true;
  }
  return false;
}

/// `v = -0.8*v;` in a state is an equation for v, and hardly ever meant as one.
static void warn_of_reset(Lower* l, const AstStatement* statement, const Site* site, ExprId left,
                          ExprId right) {
  const AstExpr* lhs = statement->as.equation.lhs;
  const AstExpr* rhs = statement->as.equation.rhs;
  bool in_state = site->actions && !site->in_at && !statement->as.equation.element;
  if (!in_state || lhs->kind != AST_NAME || lhs->order > 0) return;
  if (rhs->depth > RESET_DEPTH_MAX || !reads_slot(&l->m->pool, right, left)) return;
  Diag* diag = lower_report(l, DIAG_W0431, span_join(lhs->span, rhs->span),
                            "this is an equation, and holds as long as the state does");
  diag_hint(l->diags, diag,
            "to change '%.*s' once, when the state is entered, write set %.*s = ...",
            STR_ARGS(lhs->as.name.name.head), STR_ARGS(lhs->as.name.name.head));
}

static void lower_equation(Lower* l, const AstStatement* statement, const Site* site) {
  const AstExpr* lhs = statement->as.equation.lhs;
  bool fine = lhs->kind != AST_NAME || check_lone_name(l, lhs);
  Scope scope = {.kind = SCOPE_EQUATION, .equation = true, .automaton = site->automaton};
  Scope outer = l->terms.scope;
  l->terms.scope = scope;
  TermFrame frame = lower_begin(l);
  Value left = fine ? lower_value(l, lhs) : lower_value_bad();
  Value right = lower_scalar(l, statement->as.equation.rhs);
  bool bad = left.type == VALUE_BAD || right.type == VALUE_BAD;
  ExprId root = {0};
  if (!bad) warn_of_reset(l, statement, site, left.e, right.e);
  if (!bad) root = lower_op(l, IR_EQUALS, left.e, right.e);
  IrTerm term = lower_end(l, frame, root);
  l->terms.scope = outer;
  if (bad) {
    l->walk.uncertain = true;
    return;
  }
  if (!reads_variable(l->m, term)) {
    Span span = span_join(lhs->span, statement->as.equation.rhs->span);
    Diag* diag = lower_report(l, DIAG_E0502, span, "this equation contains no variable");
    diag_hint(l->diags, diag, "a named value is declared with 'const' or 'macro'");
    return;
  }
  add_equation(l, statement, site, term);
}

static void lower_delete(Lower* l, const AstStatement* statement, const Site* site) {
  for (uint32_t i = 0; i < statement->as.labels.count; i++) {
    const AstName* written = &statement->as.labels.data[i];
    uint32_t label = resolve_name(l, written);
    if (label == 0) continue;
    if (site->fixed_if) {
      note_fixed_edit(l, site, label, IR_NONE);
      continue;
    }
    IrDelete edit = {.body = site->body, .label = label, .span = written->span};
    base_vec_push(l->arena, &l->m->deletes, edit);
  }
}

// ---------------------------------------------------------------------------------------------
// initial values and resets

static bool same_value(Lower* l, IrTerm a, IrTerm b) {
  double x = 0.0;
  double y = 1.0;
  if (ir_term_equal(l->m, a, b)) return true;
  return resolve_term_value(l, a, &x) && resolve_term_value(l, b, &y) && x == y;
}

static Str target_text(Lower* l, uint32_t var, uint32_t order) {
  TextBuffer out = {.arena = l->scratch};
  text_append(&out, lower_name(l, l->m->vars.data[var].name));
  for (uint32_t i = 0; i < order; i++) {
    text_append_char(&out, '\'');
  }
  text_append_c(&out, "(t0)");
  return text_str(&out);
}

/// Whether it stands in the text that is made for an FMU.
static bool is_generated(const Lower* l, Span span) {
  const SourcePart* part = source_part(l->source, span.begin);
  return part && part->generated;
}

/// A second initial value for the same thing.
static void merge_start(Lower* l, uint32_t index, const IrStart* second) {
  IrStart* first = &l->m->starts.data[index];
  Str text = target_text(l, second->var, second->order);
  if (first->kind != second->kind) {
    // the fixed one wins: a guess beside it is of no use
    const IrStart* guess = first->kind == IR_START_GUESS ? first : second;
    const IrStart* fixed = first->kind == IR_START_GUESS ? second : first;
    if (!is_generated(l, guess->span)) {  // a default that nobody has written is no mistake
      Diag* diag = lower_report(l, DIAG_W0620, guess->span, "this guess is not used: %.*s is fixed",
                                STR_ARGS(text));
      diag_note(l->diags, diag, fixed->span, "it is fixed here");
    }
    if (first->kind == IR_START_GUESS) *first = *second;
    return;
  }
  if (same_value(l, first->value, second->value)) return;
  Diag* diag = lower_report(l, DIAG_E0601, second->span, "%.*s is given two different values",
                            STR_ARGS(text));
  if (is_generated(l, first->span)) {
    diag_hint(l->diags, diag,
              "initial values of an FMU are arguments: fmu name = \"file\" (x(t0) = 1);");
  } else {
    diag_note(l->diags, diag, first->span, "the first one is here");
  }
}

uint32_t lower_find_start(const Lower* l, uint32_t var, uint32_t order) {
  return order ? map_get(&l->terms.starts, var, order) : l->names.vars.data[var].start;
}

static void add_start(Lower* l, const AstInit* item, uint32_t var) {
  Scope scope = {.kind = SCOPE_START, .literal = true, .automaton = IR_NONE};
  IrTerm value = lower_term(l, item->value, scope, NULL);
  l->names.vars.data[var].flags |= item->guess ? VAR_GUESS : VAR_FIXED;
  if (!ir_term_present(value)) return;
  l->m->vars.data[var].unbounded |= resolve_names_unbounded(l, item->value);
  IrStart start = {.var = var,
                   .order = (uint8_t)item->order,
                   .kind = item->guess ? IR_START_GUESS : IR_START_FIXED,
                   .value = value,
                   .span = item->span};
  uint32_t known = lower_find_start(l, var, item->order);
  if (known) {
    merge_start(l, known - 1, &start);
    return;
  }
  base_vec_push(l->arena, &l->m->starts, start);
  if (item->order) {
    map_set(&l->terms.starts, var, item->order, l->m->starts.count);
  } else {
    l->names.vars.data[var].start = l->m->starts.count;
  }
}

/// An action of the present group on the same thing.
static uint32_t find_action(const Lower* l, uint32_t var, uint32_t order) {
  const VarInfo* info = &l->names.vars.data[var];
  if (info->group != l->automata.action_group) return IR_NONE;
  if (l->automata.actions.data[info->action].order == order) return info->action;
  for (uint32_t i = 0; i < l->automata.actions.count; i++) {
    const IrAction* action = &l->automata.actions.data[i];
    if (action->var == var && action->order == order) return i;
  }
  return IR_NONE;
}

static void add_action(Lower* l, const AstInit* item, uint32_t var, const Site* site) {
  Scope scope = {.kind = SCOPE_ACTION,
                 .literal = true,
                 .entry_is_now = !site->in_at,
                 .automaton = site->automaton,
                 .guard = site->guard};
  IrTerm value = lower_term(l, item->value, scope, NULL);
  l->names.vars.data[var].flags |= item->guess ? VAR_GUESS : VAR_SET;
  if (!ir_term_present(value)) return;
  uint32_t known = find_action(l, var, item->order);
  if (known != IR_NONE) {
    Diag* diag = lower_report(l, DIAG_E0414, item->span, "'%.*s' is given two values at once",
                              STR_ARGS(lower_name(l, l->m->vars.data[var].name)));
    diag_note(l->diags, diag, l->automata.actions.data[known].span, "the first one is here");
    diag_hint(l->diags, diag,
              "all resets of one body happen together and read the values before "
              "the event");
    return;
  }
  IrAction action = {.var = var,
                     .order = (uint8_t)item->order,
                     .kind = item->guess ? IR_ACTION_GUESS : IR_ACTION_SET,
                     .value = value,
                     .span = item->span};
  VarInfo* info = &l->names.vars.data[var];
  info->group = l->automata.action_group;
  info->action = l->automata.actions.count;
  base_vec_push(l->scratch, &l->automata.actions, action);
}

void lower_init(Lower* l, const AstStatement* statement, const Site* site) {
  for (uint32_t i = 0; i < statement->as.init.items.count; i++) {
    const AstInit* item = &statement->as.init.items.data[i];
    uint32_t var = 0;
    if (!lower_target(l, &item->name, item->order, site->actions, &var)) continue;
    if (item->hidden) {
      l->m->vars.data[var].hidden = true;
      l->m->vars.data[var].memory = item->rebound;
      l->m->vars.data[var].kind = IR_VAR_DISCRETE;
    }
    if (site->actions) {
      add_action(l, item, var, site);
    } else {
      add_start(l, item, var);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// if

/// The condition of a branch: decided at compilation, or a term to be followed in the run.
typedef enum BranchKind { BRANCH_BAD, BRANCH_NEVER, BRANCH_ALWAYS, BRANCH_SWITCH } BranchKind;

static BranchKind branch_condition(Lower* l, const AstExpr* expr, const Site* site, IrTerm* term) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_GUARD, .automaton = site->automaton};
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .bipolar = true, .shared = true};
  TermFrame frame = lower_begin(l);
  Value value = lower_condition(l, expr, style);
  BranchKind kind = BRANCH_SWITCH;
  if (value.type == VALUE_BAD) {
    kind = BRANCH_BAD;
  } else {
    uint32_t op = l->m->pool.nodes.data[value.e.index].op;
    if (op == IR_TRUE) kind = BRANCH_ALWAYS;
    if (op == IR_FALSE) kind = BRANCH_NEVER;
  }
  if (kind != BRANCH_SWITCH) value.e.index = 0;
  *term = lower_end(l, frame, value.e);
  l->terms.scope = outer;
  return kind;
}

static uint32_t branch_body(Lower* l, uint32_t automaton, uint32_t state) {
  uint32_t body = lower_add_body(l, automaton, state);
  l->m->states.data[l->m->automata.data[automaton].state_begin + state].body = body;
  return body;
}

static bool holds_resets(const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind == AST_INIT) return true;
    if (s->kind == AST_FOR && holds_resets(&s->as.loop.body)) return true;
  }
  return false;
}

/// Whether a block has resets, and nothing else.
static bool has_only_resets(const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    bool loop = s->kind == AST_FOR && has_only_resets(&s->as.loop.body);
    if (s->kind != AST_INIT && !loop) return false;
  }
  return block->statements.count > 0;
}

/// Whether no branch edits equations.
static bool chain_has_only_resets(const AstBranchList* branches) {
  for (uint32_t i = 0; i < branches->count; i++) {
    if (!has_only_resets(&branches->data[i].body)) return false;
  }
  return true;
}

/// A branch that may have resets. Where no branch of its chain edits equations, the automaton of
/// the resets is all there is to it; elsewhere it waits for the switch.
typedef struct ResetBranch {
  const AstBranchList* branches;
  uint32_t place;
  bool alone;
} ResetBranch;

/// This condition holds, and those before it do not. The condition stands beside the switch that
/// it moves, too: impacts written so have their gap in their guard.
static ExprId reset_condition(Lower* l, const ResetBranch* branch, const Site* site) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_GUARD, .automaton = site->automaton};
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .bipolar = true, .shared = true};
  ExprId all = lower_body_holds(l, site->body);
  bool bare = site->body == 0;  // nothing is asked for yet
  for (uint32_t i = branch->alone ? 0 : branch->place; i <= branch->place; i++) {
    const AstExpr* condition = branch->branches->data[i].condition;
    if (!condition) continue;
    ExprId one = lower_condition(l, condition, style).e;
    if (i < branch->place) one = lower_op(l, IR_NOT, one, (ExprId){0});
    all = bare ? one : lower_op(l, IR_AND, all, one);
    bare = false;
  }
  l->terms.scope = outer;
  return all;
}

/// A branch: its equations, and an automaton for its resets, which happen when it is entered.
static void lower_branch(Lower* l, const AstBranch* branch, const Site* site, ResetBranch resets) {
  const AstBlock* block = &branch->body;
  if (!holds_resets(block)) {
    lower_block(l, block, site);
    return;
  }
  // the group of a state around it goes on behind the branch
  uint32_t count = l->automata.actions.count;
  IrAction* kept = ARENA_ARRAY(l->scratch, IrAction, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    kept[i] = l->automata.actions.data[i];
  }
  Str stop = l->automata.stop;
  lower_begin_actions(l);
  Site inside = *site;
  inside.actions = true;
  lower_block(l, block, &inside);
  if (l->automata.actions.count > 0) {
    Span span = resets.alone ? branch->span : block->span;
    uint32_t name =
        resets.alone ? lower_line_name(l, "if", span) : lower_place_name(l, "set", span);
    TermFrame frame = lower_begin(l);
    ExprId holds = reset_condition(l, &resets, site);
    uint32_t automaton = lower_entry_resets(l, name, frame, holds, span);
    // elsewhere the switch of the branch is what people see
    l->m->automata.data[automaton].hidden = !resets.alone;
  }
  lower_begin_actions(l);
  for (uint32_t i = 0; i < count; i++) {
    base_vec_push(l->scratch, &l->automata.actions, kept[i]);
  }
  l->automata.stop = stop;
}

/// A branch that is decided before the run stands where the chain does. Whether the chain ends with
/// it.
static bool lower_decided(Lower* l, const AstBranch* branch, BranchKind kind, const Site* site,
                          Site* at, ResetBranch resets) {
  if (at->body == site->body) at->fixed_if = site->fixed_if + 1;
  // what follows is the branch, unless it is a switch again
  if (kind != BRANCH_NEVER) lower_branch(l, branch, at, resets);
  return kind == BRANCH_ALWAYS;
}

/// `else if` stands in the false branch of what is before it, and so on down the chain.
static void lower_if(Lower* l, const AstStatement* statement, const Site* site) {
  Site at = *site;
  at.guard = (IrTerm){{0}, 0, 0};  // a branch has its own condition
  const AstBranchList* branches = &statement->as.branches;
  bool only_resets = chain_has_only_resets(branches);
  bool follows = false;  // a condition that is not known before the run
  for (uint32_t i = 0; i < branches->count; i++) {
    const AstBranch* branch = &branches->data[i];
    ResetBranch resets = {branches, i, only_resets && follows};
    if (!branch->condition) {
      lower_branch(l, branch, &at, resets);
      return;
    }
    IrTerm condition = {{0}, 0, 0};
    BranchKind kind = branch_condition(l, branch->condition, &at, &condition);
    if (kind == BRANCH_BAD) l->walk.uncertain = true;
    if (kind != BRANCH_SWITCH) {
      if (lower_decided(l, branch, kind, site, &at, resets)) return;
      continue;
    }
    follows = true;
    resets.alone = only_resets;
    if (only_resets) {
      Site inside = at;
      inside.guard = condition;
      lower_branch(l, branch, &inside, resets);
      continue;
    }
    Span head = {branch->span.begin, branch->condition->span.end};
    uint32_t automaton = lower_add_switch(l, condition, at.body, head);
    Site inside = at;
    inside.guard = condition;
    inside.fixed_if = 0;
    inside.body = branch_body(l, automaton, 1);
    lower_branch(l, branch, &inside, resets);
    if (i + 1 == branches->count) return;
    at = inside;
    at.body = branch_body(l, automaton, 0);
  }
}

// ---------------------------------------------------------------------------------------------

static void lower_loop_body(Lower* l, const AstBlock* block, void* user) {
  const Site* site = user;
  for (uint32_t i = 0; i < block->statements.count && !l->walk.stopped; i++) {
    lower_statement(l, &block->statements.data[i], site);
  }
}

static void lower_loop(Lower* l, const AstStatement* statement, const Site* site) {
  uint32_t name = names_intern(&l->m->names, statement->as.loop.variable);
  Symbol hidden = *resolve_symbol(l, name);
  if (hidden.kind != SYM_NONE && hidden.kind != SYM_BUILTIN) {
    Diag* diag =
        lower_report(l, DIAG_W0221, statement->as.loop.variable_span,
                     "inside this loop '%.*s' is the index and not the %s of the same name",
                     STR_ARGS(statement->as.loop.variable), resolve_kind_text(hidden.kind) + 2);
    diag_note(l->diags, diag, resolve_symbol_span(l, hidden), "which is declared here");
  }
  Site inside = *site;
  bool outermost = l->names.bindings.count == 0;
  if (outermost && resolve_loop_fits(l, statement) == LOOP_REFUSED) {
    l->walk.uncertain = true;
    return;
  }
  resolve_loop(l, statement, lower_loop_body, &inside);
}

static void lower_energy(Lower* l, const AstStatement* statement) {
  const AstExpr* value = statement->as.energy;
  if (l->settings.energy_span.end) {
    Diag* diag = lower_report(l, DIAG_E0609, value->span, "the energy is given twice");
    diag_note(l->diags, diag, l->settings.energy_span, "the first one is here");
    return;
  }
  l->settings.energy_span = value->span;
  Scope scope = {.kind = SCOPE_LITERAL, .literal = true, .automaton = IR_NONE};
  l->m->energy = lower_term(l, value, scope, NULL);
  l->m->energy_span = value->span;
  IrMacro recorded = {.name = names_intern(&l->m->names, STR_LIT(LOWER_ENERGY_NAME)),
                      .value = l->m->energy,
                      .span = value->span};
  if (ir_term_present(recorded.value)) base_vec_push(l->arena, &l->m->macros, recorded);
}

/// A static level below the kinetic one makes a body that can neither stick nor slide.
static void check_levels(Lower* l, const AstElement* element) {
  if (!element->kinetic) return;
  const AstExpr* static_level = element->stiction ? element->stiction : element->kinetic;
  double kinetic = 0.0;
  double stiction = 0.0;
  Scope scope = {.kind = SCOPE_LITERAL, .literal = true, .automaton = IR_NONE};
  if (!resolve_term_value(l, lower_term(l, element->kinetic, scope, NULL), &kinetic)) return;
  l->terms.level_is_known = true;
  if (!resolve_term_value(l, lower_term(l, static_level, scope, NULL), &stiction)) return;
  if (kinetic < 0.0) {
    lower_report(l, DIAG_E0417, element->kinetic->span, "a level of friction cannot be negative");
  } else if (stiction < kinetic) {
    Diag* diag = lower_report(
        l, DIAG_E0417, static_level->span, "the static level %.*s is below the kinetic level %.*s",
        STR_ARGS(lower_number_text(l, stiction)), STR_ARGS(lower_number_text(l, kinetic)));
    diag_hint(l->diags, diag,
              "a body holds up to the static level and then slides at the kinetic one");
  }
}

static void check_restitution(Lower* l, const AstElement* element) {
  double value = 0.0;
  Scope scope = {.kind = SCOPE_LITERAL, .literal = true, .automaton = IR_NONE};
  if (!element->restitution) return;
  if (!resolve_term_value(l, lower_term(l, element->restitution, scope, NULL), &value)) return;
  if (value < 0.0) {
    Diag* diag =
        lower_report(l, DIAG_E0418, element->restitution->span, "the restitution %.*s is negative",
                     STR_ARGS(lower_number_text(l, value)));
    diag_hint(
        l->diags, diag,
        "it is the share of the speed that an impact gives back: 0 for none, 1 for all of it");
  } else if (value > 1.0) {
    Diag* diag = lower_report(l, DIAG_W0432, element->restitution->span,
                              "with the restitution %.*s every impact creates energy",
                              STR_ARGS(lower_number_text(l, value)));
    diag_hint(l->diags, diag,
              "an active bumper does that; the share of the speed that is given back is at most 1 "
              "otherwise");
  }
}

/// The force of a friction is the last to hold what contacts hold as well.
static void mark_yielding(Lower* l, const AstElement* element) {
  uint32_t var = 0;
  if (element->yields && lower_target(l, element->yields, 0, false, &var)) {
    l->m->vars.data[var].yields = true;
  }
}

static void lower_element(Lower* l, const AstStatement* statement, const Site* site) {
  check_restitution(l, statement->as.element);
  check_levels(l, statement->as.element);
  lower_block(l, &statement->as.element->body, site);
  mark_yielding(l, statement->as.element);
  l->terms.level_is_known = false;
}

static void lower_instance(Lower* l, const AstInstance* instance, const Site* site) {
  const AstInstance* outer = l->functions.instance;
  l->functions.instance = instance;
  uint64_t key = (uint64_t)(uintptr_t)instance;
  if (!map_get(&l->functions.parts_seen, key, 0)) {
    map_set(&l->functions.parts_seen, key, 0, 1);
    base_vec_push(l->scratch, &l->functions.parts, instance);
  }
  if (instance->element) map_set(&l->functions.elements, resolve_name(l, &instance->name), 0, 1);
  lower_block(l, &instance->body, site);
  l->functions.instance = outer;
}

static void lower_statement(Lower* l, const AstStatement* statement, const Site* site) {
  switch (statement->kind) {
  case AST_EQUATION: lower_equation(l, statement, site); break;
  case AST_INIT: lower_init(l, statement, site); break;
  case AST_DELETE: lower_delete(l, statement, site); break;
  case AST_ATTRIBUTES: lower_attributes(l, statement); break;
  case AST_ENERGY: lower_energy(l, statement); break;
  case AST_EXPERIMENT: lower_experiment(l, statement); break;
  case AST_MEASURE: lower_measure(l, statement); break;
  case AST_ANIMATE: lower_animate(l, statement); break;
  case AST_CONTROL: lower_control(l, statement); break;
  case AST_ELEMENT: lower_element(l, statement, site); break;
  case AST_FOR: lower_loop(l, statement, site); break;
  case AST_IF: lower_if(l, statement, site); break;
  case AST_STATE: lower_state(l, statement, site); break;
  case AST_AUTOMATON: lower_automaton(l, statement, site); break;
  case AST_AT: lower_at(l, statement); break;
  case AST_INVARIANT: lower_invariant(l, statement, site); break;
  case AST_STOP: lower_stop(l, statement); break;
  case AST_GOTO: lower_goto(l, statement); break;
  case AST_PORT: lower_port(l, statement); break;
  case AST_CONNECT: lower_connect(l, statement); break;
  case AST_INSTANCE: lower_instance(l, &statement->as.instances.data[0], site); break;
  case AST_AFTER: lower_after(l, statement, site); break;
  case AST_FUNCTION:
  case AST_PART:
  case AST_INCLUDE:
  case AST_CONST:
  case AST_MACRO:
  case AST_DATA: break;
  }
}

void lower_block(Lower* l, const AstBlock* block, const Site* site) {
  for (uint32_t i = 0; i < block->statements.count && !l->walk.stopped; i++) {
    lower_statement(l, &block->statements.data[i], site);
  }
}
