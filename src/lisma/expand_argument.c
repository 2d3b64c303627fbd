// SPDX-License-Identifier: MIT
//
// Parameters and arguments. One that is the same for all elements of an array is a constant; one
// that depends on the index takes the place of its name.
#include "lisma/expand_internal.h"

#include <string.h>

#define PARAMETERS_SHOWN 8u

void expand_report_argument(Expander* x, const AstPart* part, Span span, Str name,
                            const char* message) {
  Diag* diag = diag_add(x->diags, DIAG_E0217, span, "'%.*s' %s", STR_ARGS(name), message);
  TextBuffer others = {.arena = x->arena};
  bool known = false;
  for (uint32_t i = 0; i < part->parameters.count; i++) {
    Str parameter = part->parameters.data[i].name.head;
    known = known || str_equal(parameter, name);
    if (i >= PARAMETERS_SHOWN) continue;
    if (i) text_append_c(&others, ", ");
    text_append(&others, parameter);
  }
  if (!known && others.length)
    diag_hint(x->diags, diag, "it has %.*s", STR_ARGS(text_str(&others)));
  diag_note(x->diags, diag, part->name.span, "the part is declared here");
}

/// The argument for a parameter; NULL when there is none.
static const AstArgument* find_argument(const AstInstance* instance, Str name) {
  for (uint32_t i = 0; i < instance->arguments.count; i++) {
    if (str_equal(instance->arguments.data[i].name.head, name)) return &instance->arguments.data[i];
  }
  return NULL;
}

void expand_check_arguments(Expander* x, const Table* table, const AstInstance* instance) {
  for (uint32_t i = 0; i < instance->arguments.count; i++) {
    const AstArgument* argument = &instance->arguments.data[i];
    Str name = argument->name.head;
    const Member* member = expand_find_member(table, name);
    if (!member || member->kind != MEMBER_PARAMETER) {
      expand_report_argument(x, table->part, argument->name.span, name,
                             "is no parameter of this part");
    } else if (find_argument(instance, name) != argument) {
      expand_report_argument(x, table->part, argument->name.span, name, "is given twice");
    }
  }
}

/// Whether an expression, copied for a component, reads the index of an array of parts.
static bool reads_index(const AstExpr* e) {
  const Str* head = e->kind == AST_NAME ? &e->as.name.name.head : NULL;
  if (head && head->length && memchr(head->data, '#', head->length)) return true;
  for (uint32_t i = 0; ast_child(e, i); i++) {
    if (reads_index(ast_child(e, i))) return true;
  }
  return false;
}

Str expand_index_word(const AstInstance* instance, uint32_t i) {
  static const char* const usual[] = {"i", "j", "k"};
  Str given = instance->sizes.data[i].variable;
  return given.length ? given : str_from_c(usual[i < 3 ? i : 2]);
}

AstExpr* expand_loop_variable(Expander* x, Str variable, Span span) {
  AstExpr* e = ARENA_NEW(x->arena, AstExpr);
  e->kind = AST_NAME;
  e->depth = 1;
  e->span = span;
  e->as.name.name = (AstName){.span = span, .head = variable, .number = ++x->name_count};
  return e;
}

/// An argument of an array may read the index: a word that is none of the names around it.
static AstExpr* copy_argument(Expander* x, Component* parent, Component* u, const AstExpr* e) {
  uint32_t count = u->instance->sizes.count;
  if (count == 0) return expand_copy_expr(x, parent, e);
  Table* table = parent->table;
  uint32_t mark = table->hidden.count;
  for (uint32_t i = 0; i < count; i++) {
    base_vec_push(x->arena, &table->hidden, expand_index_word(u->instance, i));
  }
  AstExpr* copy = expand_copy_expr(x, parent, e);
  table->hidden.count = mark;
  return copy;
}

/// Replace the words for the indices by the variables of the loops, in a copy.
static void rename_indices(Expander* x, const Component* u, AstExpr* e) {
  AstName* name = e->kind == AST_NAME ? &e->as.name.name : NULL;
  for (uint32_t i = 0; name && ast_name_is_plain(name) && i < u->instance->sizes.count; i++) {
    if (!str_equal(name->head, expand_index_word(u->instance, i))) continue;
    name->head = u->variables[i];
    name->number = ++x->name_count;
    return;
  }
  for (uint32_t i = 0; ast_child(e, i); i++) {
    rename_indices(x, u, ast_child(e, i));
  }
}

AstExpr* expand_parameter_value(Expander* x, Component* u, uint32_t index) {
  const AstArgument* parameter = &u->table->part->parameters.data[index];
  const AstArgument* argument = find_argument(u->instance, parameter->name.head);
  if (!argument) return expand_copy_optional(x, u, parameter->value);
  AstExpr* value = copy_argument(x, u->parent, u, argument->value);
  if (u->instance->sizes.count) rename_indices(x, u, value);
  if (x->model->has_units && !value->usual)
    value->usual = expand_copy_optional(x, u, parameter->value);
  return value;
}

void expand_keep_defaults(Expander* x, Component* u, AstInstance* copy) {
  const AstArgumentList* parameters = &u->table->part->parameters;
  BASE_VEC(AstArgument) given = {0};
  BASE_VEC(AstArgument) usual = {0};
  for (uint32_t i = 0; i < parameters->count; i++) {
    const AstArgument* parameter = &parameters->data[i];
    const AstArgument* argument = find_argument(u->instance, parameter->name.head);
    if (!argument || !parameter->value) continue;
    AstArgument value = *argument;
    value.value = expand_parameter_value(x, u, i);
    base_vec_push(x->arena, &given, value);
    value.value = expand_copy_optional(x, u, parameter->value);
    base_vec_push(x->arena, &usual, value);
  }
  copy->arguments.data = given.data;
  copy->usual.data = usual.data;
  copy->arguments.count = copy->usual.count = given.count;
}

void expand_find_substitutes(Expander* x, Component* u) {
  uint32_t count = u->table->part->parameters.count;
  bool found = u->prefix.indices.count > 0;
  while (found) {
    found = false;
    for (uint32_t i = 0; i < count; i++) {
      if (u->substitutes[i]) continue;
      AstExpr* value = expand_parameter_value(x, u, i);
      if (!value || !reads_index(value)) continue;
      u->substitutes[i] = value;
      found = true;
    }
  }
}
