// SPDX-License-Identifier: MIT
//
// Collects declarations that may be used before they are written: constants, macros, tables,
// automata and states. Loops are walked only if something in them is declared.
#include "lisma/lower.h"

#include <stdlib.h>
#include <string.h>

static void declare_state_block(Lower* l, const AstBlock* block, uint32_t automaton);
static void declare_value_block(Lower* l, const AstBlock* block);
static void declare_value_instance(Lower* l, const AstInstance* instance);

// ---------------------------------------------------------------------------------------------
// values

static void report_twice(Lower* l, uint32_t name, Span span, Symbol before, uint32_t kind) {
  Str text = lower_name(l, name);
  Diag* diag = NULL;
  if (before.kind == kind) {
    diag = lower_report(l, DIAG_E0201, span, "'%.*s' is declared twice", STR_ARGS(text));
  } else {
    diag = lower_report(l, DIAG_E0202, span, "'%.*s' is already %s", STR_ARGS(text),
                        resolve_kind_text(before.kind));
  }
  diag_note(l->diags, diag, resolve_symbol_span(l, before), "first declared here");
}

/// Claim a name for a declaration; 0 after reporting.
static uint32_t claim_name(Lower* l, const AstName* name, uint32_t kind, uint32_t index) {
  uint32_t id = resolve_name(l, name);
  if (id == 0) return 0;
  Symbol* symbol = resolve_symbol(l, id);
  if (symbol->kind != SYM_NONE) {
    report_twice(l, id, name->span, *symbol, kind);
    return 0;
  }
  resolve_define(l, id, (SymbolKind)kind, index);
  return id;
}

static void apply_overrides(Lower* l, Constant* constant) {
  Str name = lower_name(l, constant->name);
  const LismaOverride* given = lower_find_override(l, name);
  if (!given) return;
  constant->overridden = true;
  constant->state = EVAL_DONE;
  constant->number = given->value;
}

static void add_constant(Lower* l, uint32_t name, const AstExpr* value, Span span) {
  Constant constant = {
      .value = value, .name = name, .span = span, .bindings = resolve_keep_bindings(l)};
  if (l->options->override_count) apply_overrides(l, &constant);
  base_vec_push(l->scratch, &l->names.constants, constant);
  base_vec_push(l->arena, &l->m->params, (IrParam){.name = name, .span = span});
}

static void declare_constants(Lower* l, const AstDefinition* definition) {
  scale_note_declaration(l);
  for (uint32_t i = 0; i < definition->names.count; i++) {
    const AstName* written = &definition->names.data[i];
    uint32_t name = claim_name(l, written, SYM_PARAM, l->names.constants.count);
    if (name) add_constant(l, name, definition->value, written->span);
  }
}

uint32_t resolve_try_constants(Lower* l, const AstBlock* block) {
  uint32_t mark = l->names.constants.count;
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    for (uint32_t k = 0; s->kind == AST_CONST && k < s->as.definitions.count; k++) {
      const AstDefinition* definition = &s->as.definitions.data[k];
      for (uint32_t n = 0; n < definition->names.count; n++) {
        uint32_t name = resolve_name(l, &definition->names.data[n]);
        if (name == 0 || resolve_symbol(l, name)->kind != SYM_NONE) continue;
        resolve_define(l, name, SYM_PARAM, l->names.constants.count);
        add_constant(l, name, definition->value, definition->names.data[n].span);
      }
    }
  }
  return mark;
}

void resolve_forget_constants(Lower* l, uint32_t mark) {
  for (uint32_t i = mark; i < l->names.constants.count; i++) {
    resolve_symbol(l, l->names.constants.data[i].name)->kind = SYM_NONE;
  }
  l->names.constants.count = mark;
  l->m->params.count = mark;
}

static void declare_macro(Lower* l, const AstDefinition* definition) {
  const AstName* written = &definition->names.data[0];
  uint32_t name = claim_name(l, written, SYM_MACRO, l->names.macros.count);
  if (name == 0) return;
  Macro macro = {.value = definition->value,
                 .name = name,
                 .span = written->span,
                 .bindings = resolve_keep_bindings(l)};
  base_vec_push(l->scratch, &l->names.macros, macro);
}

/// The energy has a name like a macro, unless the model means something else by it.
static void declare_energy(Lower* l, const AstExpr* value) {
  uint32_t name = names_intern(&l->m->names, STR_LIT("energy"));
  if (resolve_symbol(l, name)->kind != SYM_NONE) return;
  resolve_define(l, name, SYM_MACRO, l->names.macros.count);
  Macro macro = {
      .value = value, .name = name, .span = value->span, .bindings = resolve_keep_bindings(l)};
  base_vec_push(l->scratch, &l->names.macros, macro);
}

static void declare_data(Lower* l, const AstStatement* statement) {
  uint32_t name = claim_name(l, &statement->as.data->name, SYM_DATA, l->m->data.count);
  if (name) lower_data(l, statement, name);
}

static void declare_values(Lower* l, const AstStatement* statement) {
  if (statement->kind == AST_DATA) declare_data(l, statement);
  if (statement->kind == AST_FUNCTION) lower_declare_function(l, statement->as.function);
  if (statement->kind == AST_ENERGY) declare_energy(l, statement->as.energy);
  if (statement->kind != AST_CONST && statement->kind != AST_MACRO) return;
  const AstDefinitionList* definitions = &statement->as.definitions;
  for (uint32_t i = 0; i < definitions->count; i++) {
    if (statement->kind == AST_CONST) {
      declare_constants(l, &definitions->data[i]);
    } else {
      declare_macro(l, &definitions->data[i]);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// automata

#define STATES_LINEAR 8u  // automata up to this size are searched state by state

uint32_t resolve_state(const Lower* l, uint32_t automaton, uint32_t name) {
  const AutomatonInfo* info = &l->automata.all.data[automaton];
  if (info->count > STATES_LINEAR) {
    uint32_t known = map_get(&l->automata.state_ids, automaton, name);
    return known ? known - 1 : IR_NONE;
  }
  uint32_t at = info->first;
  while (at != IR_NONE && l->automata.states.data[at].name != name) {
    at = l->automata.states.data[at].next;
  }
  return at;
}

/// Index an automaton that has just become too large for a linear search, or its newest state.
static void index_states(Lower* l, uint32_t automaton) {
  const AutomatonInfo* info = &l->automata.all.data[automaton];
  if (info->count <= STATES_LINEAR) return;
  bool all = info->count == STATES_LINEAR + 1;
  for (uint32_t at = all ? info->first : info->last; at != IR_NONE;
       at = l->automata.states.data[at].next) {
    map_set(&l->automata.state_ids, automaton, l->automata.states.data[at].name, at + 1);
  }
}

static uint32_t add_state(Lower* l, uint32_t automaton, uint32_t name, Span span) {
  uint32_t at = l->automata.states.count;
  AutomatonInfo* info = &l->automata.all.data[automaton];
  StateInfo state = {.name = name,
                     .automaton = automaton,
                     .index = info->count++,
                     .next = IR_NONE,
                     .span = span,
                     .like = IR_NONE,
                     .body = IR_NONE};
  if (info->last == IR_NONE) {
    info->first = at;
  } else {
    l->automata.states.data[info->last].next = at;
  }
  info->last = at;
  base_vec_push(l->scratch, &l->automata.states, state);
  index_states(l, automaton);
  resolve_symbol(l, name)->owner = automaton + 1;
  return at;
}

static uint32_t add_automaton(Lower* l, uint32_t name, Str initial, Span span) {
  AutomatonInfo info = {.name = name, .span = span, .first = IR_NONE, .last = IR_NONE};
  base_vec_push(l->scratch, &l->automata.all, info);
  uint32_t automaton = l->automata.all.count - 1;
  resolve_symbol(l, name)->automaton = automaton + 1;
  add_state(l, automaton, names_intern(&l->m->names, initial), span);
  return automaton;
}

/// Whether a block has statements that change equations.
static bool block_edits(const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind == AST_EQUATION || s->kind == AST_DELETE || s->kind == AST_IF) return true;
    if (s->kind == AST_FOR && block_edits(&s->as.loop.body)) return true;
  }
  return false;
}

typedef struct BodyTexts {
  Str* data;
  uint32_t count;
} BodyTexts;

static int compare_texts(const void* a, const void* b) {
  const Str* x = a;
  const Str* y = b;
  uint32_t length = x->length < y->length ? x->length : y->length;
  int order = length ? memcmp(x->data, y->data, length) : 0;
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

/// Whether a statement is a reset, or a loop of nothing else.
static bool is_reset(const AstStatement* s) {
  if (s->kind != AST_FOR) return s->kind == AST_INIT;
  const AstBlock* body = &s->as.loop.body;
  bool all = body->statements.count > 0;
  for (uint32_t i = 0; i < body->statements.count && all; i++) {
    all = is_reset(&body->statements.data[i]);
  }
  return all;
}

/// The statements of a body that are resets, or all others, as texts. They are printed and sorted,
/// since neither layout nor order means anything.
static BodyTexts body_texts(Lower* l, const AstBlock* body, bool resets) {
  BodyTexts out = {.data = ARENA_ARRAY(l->scratch, Str, body->statements.count + 1)};
  for (uint32_t i = 0; i < body->statements.count; i++) {
    const AstStatement* s = &body->statements.data[i];
    if (is_reset(s) != resets) continue;
    TextBuffer text = {.arena = l->scratch};
    ast_print_statement(&text, s, 0);
    out.data[out.count] = text_str(&text);
    out.data[out.count++].length -= text.length > 0;  // the end of its line
  }
  qsort(out.data, out.count, sizeof *out.data, compare_texts);
  return out;
}

/// What each of two bodies has and the other has not, or empty; false where they are the same.
static bool find_difference(const BodyTexts* a, const BodyTexts* b, Str* only_a, Str* only_b) {
  *only_a = *only_b = (Str){0};
  uint32_t i = 0;
  uint32_t k = 0;
  while (i < a->count || k < b->count) {
    int order = i == a->count ? 1 : k == b->count ? -1 : compare_texts(&a->data[i], &b->data[k]);
    if (order < 0 && only_a->length == 0) *only_a = a->data[i];
    if (order > 0 && only_b->length == 0) *only_b = b->data[k];
    i += order <= 0;
    k += order >= 0;
  }
  return only_a->length || only_b->length;
}

/// A state may be declared once per way that leads to it, each time with its body. The equations
/// are the same then; resets that differ belong to the way.
static void declare_again(Lower* l, StateInfo* state, const AstState* declaration) {
  const AstBlock* first = &state->with_body->body;
  Str here;
  Str there;
  BodyTexts before = body_texts(l, first, true);
  BodyTexts now = body_texts(l, &declaration->body, true);
  if (find_difference(&now, &before, &here, &there)) state->split = true;
  before = body_texts(l, first, false);
  now = body_texts(l, &declaration->body, false);
  if (now.count == 0 || !find_difference(&now, &before, &here, &there)) return;
  Diag* diag = lower_report(l, DIAG_E0404, declaration->name.span,
                            "the state '%.*s' has two different bodies",
                            STR_ARGS(lower_name(l, state->name)));
  diag_note(l->diags, diag, state->with_body->name.span, "the first one is here");
  if (here.length && there.length) {
    diag_hint(l->diags, diag, "here it has `%.*s`, there `%.*s`", STR_ARGS(here), STR_ARGS(there));
  } else {
    diag_hint(l->diags, diag, "only the body %s has `%.*s`", here.length ? "here" : "there",
              STR_ARGS(here.length ? here : there));
  }
}

static void declare_body(Lower* l, StateInfo* state, const AstState* declaration) {
  // empty braces of a further declaration are no second body
  if (!declaration->has_body || declaration->body.statements.count == 0) return;
  if (state->with_body) {
    declare_again(l, state, declaration);
    return;
  }
  state->with_body = declaration;
  state->edits = block_edits(&declaration->body);
}

static void declare_state(Lower* l, const AstState* declaration, uint32_t automaton) {
  uint32_t name = resolve_name(l, &declaration->name);
  if (name == 0) return;
  if (automaton == IR_NONE) {
    if (l->automata.main == IR_NONE) {
      l->automata.main = add_automaton(l, names_intern(&l->m->names, STR_LIT("main")),
                                       STR_LIT("init"), declaration->name.span);
    }
    automaton = l->automata.main;
  }
  uint32_t at = resolve_state(l, automaton, name);
  if (at == IR_NONE) at = add_state(l, automaton, name, declaration->name.span);
  l->automata.states.data[at].ways++;
  declare_body(l, &l->automata.states.data[at], declaration);
}

static void declare_automaton(Lower* l, const AstStatement* statement) {
  const AstName* written = statement->as.automaton.name;
  uint32_t name = resolve_name(l, written);
  if (name == 0) return;
  uint32_t known = resolve_symbol(l, name)->automaton;
  bool is_main = str_equal(lower_name(l, name), STR_LIT("main"));
  if (known || is_main) {
    Diag* diag = lower_report(l, DIAG_E0408, written->span, "the automaton '%.*s' %s",
                              STR_ARGS(lower_name(l, name)),
                              is_main ? "is the unnamed one" : "is declared twice");
    if (!is_main) {
      diag_note(l->diags, diag, l->automata.all.data[known - 1].span, "first declared here");
    } else {
      diag_hint(l->diags, diag,
                "states of 'main' stand outside of automaton blocks; choose "
                "another name");
    }
    return;
  }
  Str initial = statement->as.automaton.initial;
  if (initial.length == 0) initial = STR_LIT("init");
  uint32_t added = add_automaton(l, name, initial, written->span);
  l->automata.all.data[added].yields = statement->as.automaton.yields;
  declare_state_block(l, &statement->as.automaton.body, added);
}

// ---------------------------------------------------------------------------------------------

// loops: those that hold no declarations are not walked

static bool block_holds(const AstBlock* block, bool values) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    bool value = s->kind == AST_CONST || s->kind == AST_MACRO || s->kind == AST_DATA ||
                 s->kind == AST_FUNCTION;
    bool state = s->kind == AST_STATE || s->kind == AST_AUTOMATON || s->kind == AST_ELEMENT;
    if (values ? value : state) return true;
    if (s->kind == AST_INSTANCE && block_holds(&s->as.instances.data[0].body, values)) return true;
    if (s->kind == AST_FOR && block_holds(&s->as.loop.body, values)) return true;
  }
  return false;
}

static void declare_value_loop(Lower* l, const AstBlock* block, void* user) {
  (void)user;
  declare_value_block(l, block);
}

/// The values of a block. Loops whose bounds are known come first: the others may read what those
/// declare, as the order of the text means nothing.
static void declare_value_block(Lower* l, const AstBlock* block) {
  BASE_VEC(const AstStatement*) waiting = {0};
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    declare_values(l, s);
    if (s->kind == AST_INSTANCE) declare_value_instance(l, &s->as.instances.data[0]);
  }
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind != AST_FOR || !block_holds(&s->as.loop.body, true)) continue;
    LoopFit fit = resolve_loop_fits(l, s);
    if (fit == LOOP_FITS) resolve_loop(l, s, declare_value_loop, NULL);
    if (fit == LOOP_OPEN) base_vec_push(l->scratch, &waiting, s);
  }
  for (uint32_t i = 0; i < waiting.count; i++) {
    resolve_loop(l, waiting.data[i], declare_value_loop, NULL);
  }
}

static void declare_value_instance(Lower* l, const AstInstance* instance) {
  const AstInstance* outer = l->functions.instance;
  l->functions.instance = instance;
  declare_value_block(l, &instance->body);
  l->functions.instance = outer;
}

static void declare_state_loop(Lower* l, const AstBlock* block, void* user) {
  const uint32_t* automaton = user;
  declare_state_block(l, block, *automaton);
}

/// States and automata, in the order of the text: it is their priority.
static void declare_state_block(Lower* l, const AstBlock* block, uint32_t automaton) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind == AST_STATE) declare_state(l, s->as.state, automaton);
    if (s->kind == AST_AUTOMATON) declare_automaton(l, s);
    if (s->kind == AST_ELEMENT) declare_state_block(l, &s->as.element->body, IR_NONE);
    if (s->kind == AST_INSTANCE) {
      const AstInstance* outer = l->functions.instance;
      l->functions.instance = &s->as.instances.data[0];
      declare_state_block(l, &s->as.instances.data[0].body, automaton);
      l->functions.instance = outer;
    }
    if (s->kind != AST_FOR || !block_holds(&s->as.loop.body, false)) continue;
    bool outermost = l->names.bindings.count == 0;
    if (!outermost || resolve_loop_fits(l, s) != LOOP_REFUSED) {
      resolve_loop(l, s, declare_state_loop, &automaton);
    }
  }
}

/// Whether a value is made with conditions, or may be: inside of macros and functions.
static bool has_condition(Lower* l, const AstExpr* e) {
  if (e->kind == AST_CONDITIONAL || lower_is_condition(e)) return true;
  const AstName* called = e->kind == AST_NAME   ? &e->as.name.name
                          : e->kind == AST_CALL ? e->as.call.callee
                                                : NULL;
  uint32_t name = called ? names_find(&l->m->names, called->head) : 0;
  SymbolKind kind = name ? resolve_symbol(l, name)->kind : SYM_NONE;
  if (kind == SYM_MACRO || kind == SYM_FUNCTION) return true;
  const AstExpr* child = NULL;
  for (uint32_t i = 0; (child = ast_child(e, i)); i++) {
    if (has_condition(l, child)) return true;
  }
  return false;
}

static bool resets_ask(Lower* l, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind == AST_FOR && resets_ask(l, &s->as.loop.body)) return true;
    for (uint32_t k = 0; s->kind == AST_INIT && k < s->as.init.items.count; k++) {
      if (has_condition(l, s->as.init.items.data[k].value)) return true;
    }
  }
  return false;
}

/// Names of states that some `goto` leads to.
static void find_gotos(const Lower* l, const AstBlock* block, Map* found) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind == AST_FOR) find_gotos(l, &s->as.loop.body, found);
    if (s->kind == AST_AT) find_gotos(l, &s->as.at.body, found);
    if (s->kind == AST_INSTANCE) find_gotos(l, &s->as.instances.data[0].body, found);
    if (s->kind != AST_GOTO) continue;
    uint32_t name = names_find(&l->m->names, s->as.jump.state->head);
    if (name) map_set(found, name, 0, 1);
  }
}

/// Resets that ask conditions belong to the transitions where there are several: each asks the
/// relations of its own guard. What a `goto` enters has no guard to ask.
static void part_resets(Lower* l) {
  Map gotos = {.arena = l->scratch};
  find_gotos(l, &l->ast->body, &gotos);
  for (uint32_t i = 0; i < l->automata.states.count; i++) {
    StateInfo* state = &l->automata.states.data[i];
    if (!state->with_body) continue;
    uint32_t head = names_find(&l->m->names, state->with_body->name.head);
    if (map_get(&gotos, head, 0)) state->ways = 2;
    if (state->split || state->ways < 2 || map_get(&gotos, head, 0)) continue;
    state->alike = state->split = resets_ask(l, &state->with_body->body);
  }
}

void resolve_declarations(Lower* l) {
  declare_value_block(l, &l->ast->body);
  l->walk.instances = 0;
  declare_state_block(l, &l->ast->body, IR_NONE);
  part_resets(l);
  l->walk.instances = 0;
}

// ---------------------------------------------------------------------------------------------
// constants and macros as terms

void resolve_lower_constants(Lower* l) {
  Scope scope = {.kind = SCOPE_CONSTANT, .literal = true, .automaton = IR_NONE};
  for (uint32_t i = 0; i < l->names.constants.count; i++) {
    double number = 0.0;
    bool known = resolve_constant(l, i, &number);
    Constant constant = l->names.constants.data[i];
    IrTerm term = {{0}, 0, 0};
    if (known && !constant.overridden) {
      BindingMark mark = resolve_enter_bindings(l, constant.bindings);
      term = lower_term(l, constant.value, scope, NULL);
      resolve_leave_bindings(l, mark);
    }
    if (!ir_term_present(term)) {
      TermFrame frame = lower_begin(l);
      term = lower_end(l, frame, ir_term_number(&l->terms.builder, number));
    }
    l->m->params.data[i].value = term;
    if (l->walk.stopped) return;
  }
}

#define ACTS_WORK_MAX 10000u

/// The expression that a name stands for: macros that are only another name are followed.
static const AstExpr* follow_alias(Lower* l, const AstExpr* expr) {
  for (uint32_t i = 0; i < 100; i++) {
    bool plain = expr->kind == AST_NAME && ast_name_is_plain(&expr->as.name.name);
    if (!plain || expr->order) break;
    Symbol symbol = *resolve_symbol(l, resolve_plain(l, &expr->as.name.name));
    if (symbol.kind != SYM_MACRO) break;
    expr = l->names.macros.data[symbol.index].value;
  }
  return expr;
}

static bool acts(Lower* l, const AstExpr* expr, uint32_t* work);

static bool list_acts(Lower* l, const AstExprList* list, uint32_t* work) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (acts(l, list->data[i], work)) return true;
  }
  return false;
}

static bool call_acts(Lower* l, const AstExpr* expr, uint32_t* work) {
  const AstName* callee = expr->as.call.callee;
  const Function* function = lower_find_function(l, callee);
  if (function && function->kind == FUNCTION_RANDOM) return true;
  if (ast_name_is_word(callee, STR_LIT("pre"))) return true;
  if (ast_name_is_word(callee, STR_LIT("post"))) return true;
  return list_acts(l, &expr->as.call.args, work);
}

/// Whether an expression has a meaning in actions or guards only.
static bool acts(Lower* l, const AstExpr* expr, uint32_t* work) {
  if (++*work > ACTS_WORK_MAX) return false;
  switch (expr->kind) {
  case AST_NAME: {
    const AstExpr* meaning = follow_alias(l, expr);
    return meaning != expr && meaning->kind != AST_NAME && acts(l, meaning, work);
  }
  case AST_CALL: return call_acts(l, expr, work);
  case AST_REDUCTION: return acts(l, expr->as.reduction.body, work);
  case AST_CONDITIONAL:
    return acts(l, expr->as.conditional.condition, work) ||
           acts(l, expr->as.conditional.then_value, work) ||
           acts(l, expr->as.conditional.else_value, work);
  case AST_ATOM: return acts(l, expr->as.atom.condition, work);
  case AST_UNARY: return acts(l, expr->as.unary.operand, work);
  case AST_POWER:
    return acts(l, expr->as.power.base, work) || acts(l, expr->as.power.exponent, work);
  case AST_CHAIN:
    for (uint32_t i = 0; i < expr->as.chain.links.count; i++) {
      if (acts(l, expr->as.chain.links.data[i].operand, work)) return true;
    }
    return false;
  case AST_ERROR:
  case AST_NUMBER:
  case AST_QUALIFIED: break;
  }
  return false;
}

static void lower_macro(Lower* l, uint32_t index) {
  Scope scope = {.kind = SCOPE_LITERAL, .literal = true, .automaton = IR_NONE};
  Macro macro = l->names.macros.data[index];
  uint32_t work = 0;
  BindingMark mark;
  if (acts(l, macro.value, &work)) return;
  if (!resolve_enter_macro(l, index, macro.span, &mark)) return;
  if (lower_is_condition(follow_alias(l, macro.value))) {
    // nothing to record, but its names are checked
    Scope outer = l->terms.scope;
    l->terms.scope = scope;
    TermFrame frame = lower_begin(l);
    lower_condition(l, macro.value, (AtomStyle){.bipolar = true});
    lower_end(l, frame, (ExprId){0});
    l->terms.scope = outer;
  } else {
    IrTerm term = lower_term(l, macro.value, scope, NULL);
    IrMacro recorded = {.name = macro.name, .value = term, .span = macro.span};
    if (ir_term_present(term)) base_vec_push(l->arena, &l->m->macros, recorded);
  }
  resolve_leave_macro(l, index, mark);
}

/// A condition that shall be seen: variable = if(condition, 1, 0).
static uint32_t observe(Lower* l, uint32_t index) {
  Macro macro = l->names.macros.data[index];
  BindingMark mark;
  if (!lower_is_condition(follow_alias(l, macro.value))) return IR_NONE;
  if (!resolve_enter_macro(l, index, macro.span, &mark)) return IR_NONE;
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_EQUATION, .equation = true, .automaton = IR_NONE};
  TermFrame frame = lower_begin(l);
  Value value = lower_scalar(l, macro.value);
  uint32_t var = value.type == VALUE_BAD ? IR_NONE : resolve_new_var(l, macro.name, macro.span);
  ExprId equation = {0};
  if (var != IR_NONE) {
    ExprId left = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
    equation = lower_op(l, IR_EQUALS, left, value.e);
  }
  IrEquation added = {
      .term = lower_end(l, frame, equation), .body = 0, .lhs_var = var, .span = macro.span};
  l->terms.scope = outer;
  resolve_leave_macro(l, index, mark);
  if (var != IR_NONE) base_vec_push(l->arena, &l->m->equations, added);
  return var;
}

static void observe_conditions(Lower* l) {
  const LismaOptions* options = l->options;
  uint32_t* vars = ARENA_ARRAY(l->scratch, uint32_t, l->names.macros.count + 1);
  for (uint32_t i = 0; i < l->names.macros.count && !l->walk.stopped; i++) {
    bool wanted = false;
    for (uint32_t k = 0; k < options->observe_count; k++)
      wanted |= str_equal(options->observe[k], lower_name(l, l->names.macros.data[i].name));
    vars[i] = wanted ? observe(l, i) : IR_NONE;
  }
  // all conditions are lowered: from here on the names are those of the variables
  for (uint32_t i = 0; i < l->names.macros.count && !l->walk.stopped; i++) {
    if (vars[i] != IR_NONE) resolve_define(l, l->names.macros.data[i].name, SYM_VAR, vars[i]);
  }
}

void resolve_lower_macros(Lower* l) {
  for (uint32_t i = 0; i < l->names.macros.count && !l->walk.stopped; i++) {
    lower_macro(l, i);
  }
  if (l->options->observe_count > 0) observe_conditions(l);
}
