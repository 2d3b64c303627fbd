// SPDX-License-Identifier: MIT
//
// Built-in names, and which of them the model declares itself. That has to be known before the
// first expression is read, since a declaration may stand anywhere.
#include "lisma/builtin.h"
#include "lisma/lower.h"

typedef struct BuiltinName {
  const char* text;
  Builtin builtin;
  bool tell;  // hiding it deserves a note
} BuiltinName;

static const BuiltinName builtin_names[BUILTIN_NAME_COUNT] = {
    {"pi", BUILTIN_PI, true},     {"e", BUILTIN_E, true},       {"g", BUILTIN_G, true},
    {"time", BUILTIN_TIME, true}, {"TIME", BUILTIN_TIME, true}, {"t", BUILTIN_TIME, false},
    {"t0", BUILTIN_T0, true},     {"true", BUILTIN_TRUE, true}, {"false", BUILTIN_FALSE, true},
    {"inf", BUILTIN_INF, true},   {"nan", BUILTIN_NAN, true},
};

bool lisma_is_builtin_name(Str name) {
  for (uint32_t i = 0; i < BUILTIN_NAME_COUNT; i++) {
    if (str_equal(name, str_from_c(builtin_names[i].text))) return true;
  }
  return false;
}

static bool is_number(const BuiltinName* name) {
  return name->builtin != BUILTIN_TIME && name->builtin != BUILTIN_T0;
}

bool lisma_tells_hidden(Str name, bool constant) {
  for (uint32_t i = 0; i < BUILTIN_NAME_COUNT; i++) {
    const BuiltinName* builtin = &builtin_names[i];
    if (!str_equal(name, str_from_c(builtin->text))) continue;
    return builtin->tell && !(constant && is_number(builtin));
  }
  return false;
}

static void scan_block(Lower* l, const AstBlock* block);

/// What all names that indices make of a head are noted under, beside the head itself.
static uint32_t family_of(Lower* l, Str head) {
  return names_intern(&l->m->names, str_format(l->scratch, "%.*s[", STR_ARGS(head)));
}

bool lower_is_logical(Lower* l, const AstName* name) {
  const Map* logical = &l->functions.logical;
  if (logical->count == 0) return false;
  if (map_get(logical, names_intern(&l->m->names, name->head), 0)) return true;
  // b1 may be b[i] for an i
  Str head = name->head;
  while (head.length > 1 && head.data[head.length - 1] >= '0' &&
         head.data[head.length - 1] <= '9') {
    head.length--;
  }
  bool pasted = ast_name_is_plain(name) && head.length < name->head.length;
  return pasted && map_get(logical, family_of(l, head), 0);
}

/// A name whose value is written as a condition can stand where one is needed; whether names,
/// functions and choices are conditions is found when all of them are known.
static void note_logical(Lower* l, const AstName* name, const AstExpr* value) {
  bool named = value->kind == AST_NAME && value->order == 0;
  bool word = named && (ast_name_is_word(&value->as.name.name, STR_LIT("true")) ||
                        ast_name_is_word(&value->as.name.name, STR_LIT("false")));
  uint32_t ids[] = {names_intern(&l->m->names, name->head),
                    ast_name_is_plain(name) ? 0 : family_of(l, name->head)};
  if (word || lower_is_condition(value)) {
    for (uint32_t i = 0; i < 2 && ids[i]; i++) {
      map_set(&l->functions.logical, ids[i], 0, 1);
    }
  } else if (named || value->kind == AST_CALL) {
    for (uint32_t i = 0; i < 2 && ids[i]; i++) {
      base_vec_push(l->scratch, &l->functions.copies, ((NamedValue){ids[i], 0, value}));
    }
  } else if (value->kind == AST_CONDITIONAL &&
             value->as.conditional.else_value->kind != AST_NUMBER) {
    note_logical(l, name, value->as.conditional.then_value);
  }
}

/// All that copy a name whose value is a condition are conditions, and so on.
static void follow_copies(Lower* l, const Map* copied, uint32_t name) {
  BASE_VEC(uint32_t) open = {0};
  base_vec_push(l->scratch, &open, name);
  while (open.count) {
    name = open.data[--open.count];
    for (uint32_t i = map_get(copied, name, 0); i; i = l->functions.copies.data[i - 1].next) {
      uint32_t copy = l->functions.copies.data[i - 1].name;
      if (map_get(&l->functions.logical, copy, 0)) continue;
      map_set(&l->functions.logical, copy, 0, 1);
      base_vec_push(l->scratch, &open, copy);
    }
  }
}

void resolve_logical(Lower* l) {
  Map copied = {.arena = l->scratch};
  BASE_VEC(uint32_t) found = {0};
  for (uint32_t i = 0; i < l->functions.copies.count; i++) {
    NamedValue* copy = &l->functions.copies.data[i];
    if (lower_means_condition(l, copy->value)) base_vec_push(l->scratch, &found, copy->name);
    if (copy->value->kind != AST_NAME) continue;
    uint32_t source = names_intern(&l->m->names, copy->value->as.name.name.head);
    copy->next = map_get(&copied, source, 0);
    map_set(&copied, source, 0, i + 1);
    if (lower_is_logical(l, &copy->value->as.name.name))
      base_vec_push(l->scratch, &found, copy->name);
  }
  for (uint32_t i = 0; i < found.count; i++) {
    map_set(&l->functions.logical, found.data[i], 0, 1);
    follow_copies(l, &copied, found.data[i]);
  }
}

static void declare(Lower* l, const AstName* name) {
  if (!ast_name_is_plain(name)) return;
  resolve_symbol(l, resolve_plain(l, name))->is_variable = true;
  if (name->head.length > 5) return;
  for (uint32_t i = 0; i < BUILTIN_NAME_COUNT; i++) {
    Span* shadowed = &l->names.shadowed[i];
    if (shadowed->end == 0 && str_equal(name->head, str_from_c(builtin_names[i].text))) {
      *shadowed = name->span;
    }
  }
}

static void scan_list(Lower* l, const AstExprList* list);

/// Names under a derivative mark are declarations wherever they stand.
static void scan_expr(Lower* l, const AstExpr* expr) {
  switch (expr->kind) {
  case AST_NAME:
    if (expr->order) declare(l, &expr->as.name.name);
    break;
  case AST_CALL:
    if (ast_name_is_word(expr->as.call.callee, STR_LIT("der")) && expr->as.call.args.count &&
        expr->as.call.args.data[0]->kind == AST_NAME) {
      declare(l, &expr->as.call.args.data[0]->as.name.name);
    }
    scan_list(l, &expr->as.call.args);
    break;
  case AST_REDUCTION: scan_expr(l, expr->as.reduction.body); break;
  case AST_CONDITIONAL:
    scan_expr(l, expr->as.conditional.condition);
    scan_expr(l, expr->as.conditional.then_value);
    scan_expr(l, expr->as.conditional.else_value);
    break;
  case AST_ATOM: scan_expr(l, expr->as.atom.condition); break;
  case AST_UNARY: scan_expr(l, expr->as.unary.operand); break;
  case AST_POWER:
    scan_expr(l, expr->as.power.base);
    scan_expr(l, expr->as.power.exponent);
    break;
  case AST_CHAIN:
    for (uint32_t i = 0; i < expr->as.chain.links.count; i++) {
      scan_expr(l, expr->as.chain.links.data[i].operand);
    }
    break;
  case AST_ERROR:
  case AST_NUMBER:
  case AST_QUALIFIED: break;
  }
}

static void scan_list(Lower* l, const AstExprList* list) {
  for (uint32_t i = 0; i < list->count; i++) {
    scan_expr(l, list->data[i]);
  }
}

/// `const g = 9.81;` is a constant for a constant, and plainly meant.
static void note_constant(Lower* l, const AstName* name) {
  for (uint32_t i = 0; i < BUILTIN_NAME_COUNT; i++) {
    if (is_number(&builtin_names[i]) && l->names.shadowed[i].begin == name->span.begin)
      l->names.shadow_meant[i] = true;
  }
}

static void scan_definitions(Lower* l, const AstDefinitionList* definitions, bool constants) {
  for (uint32_t i = 0; i < definitions->count; i++) {
    for (uint32_t k = 0; k < definitions->data[i].names.count; k++) {
      declare(l, &definitions->data[i].names.data[k]);
      if (constants)
        note_logical(l, &definitions->data[i].names.data[k], definitions->data[i].value);
      if (constants) note_constant(l, &definitions->data[i].names.data[k]);
    }
    scan_expr(l, definitions->data[i].value);
  }
}

static void scan_equation(Lower* l, const AstStatement* statement) {
  const AstExpr* lhs = statement->as.equation.lhs;
  if (lhs->kind == AST_NAME) {
    declare(l, &lhs->as.name.name);
    if (lhs->order == 0) note_logical(l, &lhs->as.name.name, statement->as.equation.rhs);
  }
  scan_expr(l, lhs);
  scan_expr(l, statement->as.equation.rhs);
}

static void scan_statement(Lower* l, const AstStatement* statement) {
  switch (statement->kind) {
  case AST_CONST: scan_definitions(l, &statement->as.definitions, true); break;
  case AST_MACRO: scan_definitions(l, &statement->as.definitions, false); break;
  case AST_DATA: declare(l, &statement->as.data->name); break;
  case AST_EQUATION: scan_equation(l, statement); break;
  case AST_INIT:
    for (uint32_t i = 0; i < statement->as.init.items.count; i++) {
      declare(l, &statement->as.init.items.data[i].name);
      note_logical(l, &statement->as.init.items.data[i].name,
                   statement->as.init.items.data[i].value);
      scan_expr(l, statement->as.init.items.data[i].value);
    }
    break;
  case AST_FOR:
    resolve_symbol(l, names_intern(&l->m->names, statement->as.loop.variable))->is_index = true;
    scan_block(l, &statement->as.loop.body);
    break;
  case AST_IF:
    for (uint32_t i = 0; i < statement->as.branches.count; i++) {
      const AstBranch* branch = &statement->as.branches.data[i];
      if (branch->condition) scan_expr(l, branch->condition);
      scan_block(l, &branch->body);
    }
    break;
  case AST_STATE:
    if (statement->as.state->guard) scan_expr(l, statement->as.state->guard);
    if (statement->as.state->has_body) scan_block(l, &statement->as.state->body);
    break;
  case AST_ELEMENT: scan_block(l, &statement->as.element->body); break;
  case AST_AUTOMATON: scan_block(l, &statement->as.automaton.body); break;
  case AST_AT: scan_block(l, &statement->as.at.body); break;
  case AST_ENERGY: scan_expr(l, statement->as.energy); break;
  case AST_INVARIANT: scan_expr(l, statement->as.invariant); break;
  case AST_INSTANCE:
    for (uint32_t i = 0; i < statement->as.instances.count; i++) {
      scan_block(l, &statement->as.instances.data[i].body);
    }
    break;
  case AST_AFTER: scan_block(l, &statement->as.after->body); break;
  case AST_DELETE:
  case AST_ATTRIBUTES:
  case AST_EXPERIMENT:
  case AST_MEASURE:
  case AST_ANIMATE:
  case AST_CONTROL:
  case AST_STOP:
  case AST_GOTO:
  case AST_FUNCTION:
  case AST_PART:
  case AST_PORT:
  case AST_CONNECT:
  case AST_INCLUDE: break;
  }
}

static void scan_block(Lower* l, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    scan_statement(l, &block->statements.data[i]);
  }
}

void resolve_init(Lower* l) {
  names_init(&l->names.template_names, l->scratch);
  base_vec_push(l->scratch, &l->names.index_nodes, (IndexNode){0});  // 0 means "no child"
  scan_block(l, &l->ast->body);
  for (uint32_t i = 0; i < BUILTIN_NAME_COUNT; i++) {
    const BuiltinName* builtin = &builtin_names[i];
    uint32_t name = names_intern(&l->m->names, str_from_c(builtin->text));
    Span shadowed = l->names.shadowed[i];
    if (shadowed.end == 0) {
      resolve_define(l, name, SYM_BUILTIN, (uint32_t)builtin->builtin);
    } else if (builtin->tell && !l->names.shadow_meant[i]) {
      lower_report(l, DIAG_W0220, shadowed, "this hides the built-in name '%s'", builtin->text);
    }
  }
}
