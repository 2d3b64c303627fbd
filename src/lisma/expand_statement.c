// SPDX-License-Identifier: MIT
//
// Statements of a part, copied for a component.
#include "lisma/expand_internal.h"

static void copy_statement(Expander* x, Component* u, const AstStatement* s, Statements* out);

/// What an expression reads is determined elsewhere.
static AstExpr* copy_read(Expander* x, Component* u, const AstExpr* e) {
  x->reads = true;
  AstExpr* out = expand_copy_optional(x, u, e);
  x->reads = false;
  return out;
}

static bool holds_states(const AstStatement* s) {
  if (s->kind == AST_STATE) return true;
  for (uint32_t i = 0; s->kind == AST_FOR && i < s->as.loop.body.statements.count; i++) {
    if (holds_states(&s->as.loop.body.statements.data[i])) return true;
  }
  return false;
}

static AstStatement copy_loop(Expander* x, Component* u, const AstStatement* s, Filter filter) {
  AstStatement out = *s;
  uint32_t count = s->as.loop.ranges.count;
  out.as.loop.ranges.data = ARENA_ARRAY(x->arena, AstRange, count);
  for (uint32_t i = 0; i < count; i++) {
    out.as.loop.ranges.data[i] = expand_copy_range(x, u, &s->as.loop.ranges.data[i]);
  }
  uint32_t mark = u->table->hidden.count;
  base_vec_push(x->arena, &u->table->hidden, s->as.loop.variable);
  out.as.loop.body = expand_copy_block(x, u, &s->as.loop.body, filter);
  u->table->hidden.count = mark;
  return out;
}

void expand_copy_filtered(Expander* x, Component* u, const AstStatement* s, Filter filter,
                          Statements* out) {
  bool states = holds_states(s);
  if (filter == FILTER_STATES && !states) return;
  if (filter == FILTER_OTHERS && s->kind == AST_STATE) return;
  if (filter != FILTER_ALL && states && s->kind == AST_FOR) {
    base_vec_push(x->arena, out, copy_loop(x, u, s, filter));
    return;
  }
  copy_statement(x, u, s, out);
}

AstBlock expand_copy_block(Expander* x, Component* u, const AstBlock* block, Filter filter) {
  Statements out = {0};
  for (uint32_t i = 0; i < block->statements.count && !x->stopped; i++) {
    expand_copy_filtered(x, u, &block->statements.data[i], filter, &out);
  }
  AstBlock copy = {.span = block->span};
  copy.statements.data = out.data;
  copy.statements.count = out.count;
  return copy;
}

/// The body of a state or a branch.
static AstBlock copy_body(Expander* x, Component* u, const AstBlock* block) {
  x->bodies++;
  AstBlock copy = expand_copy_block(x, u, block, FILTER_ALL);
  x->bodies--;
  return copy;
}

static AstDefinitionList copy_definitions(Expander* x, Component* u,
                                          const AstDefinitionList* list) {
  AstDefinitionList out = {.count = list->count};
  out.data = ARENA_ARRAY(x->arena, AstDefinition, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    AstDefinition* d = &out.data[i];
    *d = list->data[i];
    d->names.data = ARENA_ARRAY(x->arena, AstName, d->names.count);
    for (uint32_t k = 0; k < d->names.count; k++) {
      d->names.data[k] = expand_copy_target(x, u, &list->data[i].names.data[k]);
    }
    d->value = expand_copy_expr(x, u, d->value);
  }
  return out;
}

static AstValueList copy_values(Expander* x, Component* u, const AstValueList* list) {
  AstValueList out = {.count = list->count};
  if (list->count) out.data = ARENA_ARRAY(x->arena, AstValue, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    out.data[i] = list->data[i];
    if (out.data[i].expr) out.data[i].expr = expand_copy_expr(x, u, out.data[i].expr);
  }
  return out;
}

static AstSettingList copy_settings(Expander* x, Component* u, const AstSettingList* list) {
  AstSettingList out = {.count = list->count};
  if (list->count) out.data = ARENA_ARRAY(x->arena, AstSetting, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    AstSetting* setting = &out.data[i];
    *setting = list->data[i];
    setting->values = copy_values(x, u, &list->data[i].values);
  }
  return out;
}

static AstElement* copy_element(Expander* x, Component* u, const AstElement* element) {
  AstElement* out = ARENA_NEW(x->arena, AstElement);
  *out = *element;
  out->name = expand_own_name(x, u, &element->name);
  out->settings = copy_settings(x, u, &element->settings);
  out->restitution = expand_copy_optional(x, u, element->restitution);
  out->kinetic = expand_copy_optional(x, u, element->kinetic);
  out->stiction = expand_copy_optional(x, u, element->stiction);
  if (element->yields) {
    AstName* yields = ARENA_NEW(x->arena, AstName);
    *yields = expand_copy_target(x, u, element->yields);
    out->yields = yields;
  }
  out->body = expand_copy_block(x, u, &element->body, FILTER_ALL);
  return out;
}

static AstState* copy_state(Expander* x, Component* u, const AstState* state) {
  AstState* out = ARENA_NEW(x->arena, AstState);
  *out = *state;
  out->name = expand_keep_name(x, u, &state->name);
  out->guard = copy_read(x, u, state->guard);
  out->priority = expand_copy_optional(x, u, state->priority);
  if (state->like) {
    out->like = ARENA_NEW(x->arena, AstName);
    *out->like = expand_keep_name(x, u, state->like);
  }
  if (state->has_body) out->body = copy_body(x, u, &state->body);
  if (state->from.count) out->from.data = ARENA_ARRAY(x->arena, AstName, state->from.count);
  for (uint32_t i = 0; i < state->from.count; i++) {
    out->from.data[i] = expand_keep_name(x, u, &state->from.data[i]);
  }
  return out;
}

static void copy_goto(Expander* x, Component* u, const AstStatement* s, AstStatement* out) {
  const AstName* automaton = s->as.jump.automaton;
  AstName* state = ARENA_NEW(x->arena, AstName);
  *state = expand_keep_name(x, u, s->as.jump.state);
  out->as.jump.state = state;
  if (!automaton) {
    if (!u->parent) return;
    out->as.jump.automaton = ARENA_NEW(x->arena, AstName);
    NameMaker m = expand_begin_name(x, &u->prefix);
    *out->as.jump.automaton = expand_end_name(&m, s->as.jump.state);
    return;
  }
  out->as.jump.automaton = ARENA_NEW(x->arena, AstName);
  Path path = expand_find_path(x, u, automaton);
  bool fits = path.kind == PATH_NAME || path.kind == PATH_PART;
  *out->as.jump.automaton = fits ? path.name : expand_keep_name(x, u, automaton);
}
AstFunction* expand_copy_function(Expander* x, Component* u, const AstFunction* f) {
  AstFunction* out = ARENA_NEW(x->arena, AstFunction);
  *out = *f;
  out->of_part = u->parent != NULL;
  out->name = expand_function_name(x, u, &f->name);
  uint32_t mark = u->table->hidden.count;
  for (uint32_t i = 0; i < f->parameters.count; i++) {
    base_vec_push(x->arena, &u->table->hidden, f->parameters.data[i].head);
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    base_vec_push(x->arena, &u->table->hidden, f->locals.data[i].names.data[0].head);
  }
  out->locals = copy_definitions(x, u, &f->locals);
  out->result = expand_copy_expr(x, u, f->result);
  u->table->hidden.count = mark;
  return out;
}

static AstAfter* copy_after(Expander* x, Component* u, const AstAfter* after) {
  AstAfter* out = ARENA_NEW(x->arena, AstAfter);
  *out = *after;
  out->delay = copy_read(x, u, after->delay);
  out->condition = copy_read(x, u, after->condition);
  out->body = expand_copy_block(x, u, &after->body, FILTER_ALL);
  return out;
}

static void copy_init(Expander* x, Component* u, const AstStatement* s, AstStatement* out) {
  uint32_t count = s->as.init.items.count;
  out->as.init.items.data = ARENA_ARRAY(x->arena, AstInit, count);
  for (uint32_t i = 0; i < count; i++) {
    AstInit* item = &out->as.init.items.data[i];
    *item = s->as.init.items.data[i];
    item->name = expand_copy_target(x, u, &item->name);
    item->value = copy_read(x, u, item->value);
  }
}

static void copy_branches(Expander* x, Component* u, const AstStatement* s, AstStatement* out) {
  uint32_t count = s->as.branches.count;
  out->as.branches.data = ARENA_ARRAY(x->arena, AstBranch, count);
  for (uint32_t i = 0; i < count; i++) {
    AstBranch* branch = &out->as.branches.data[i];
    *branch = s->as.branches.data[i];
    branch->condition = copy_read(x, u, branch->condition);
    branch->body = copy_body(x, u, &branch->body);
  }
}

static AstNameList copy_targets(Expander* x, Component* u, const AstNameList* list) {
  AstNameList out = {.count = list->count};
  out.data = ARENA_ARRAY(x->arena, AstName, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    out.data[i] = expand_copy_target(x, u, &list->data[i]);
  }
  return out;
}

static void copy_statement(Expander* x, Component* u, const AstStatement* s, Statements* out) {
  AstStatement copy = *s;
  if (!expand_count_work(x, s->span)) return;
  switch (s->kind) {
  case AST_CONST:
  case AST_MACRO: copy.as.definitions = copy_definitions(x, u, &s->as.definitions); break;
  case AST_DATA: {
    copy.as.data = ARENA_NEW(x->arena, AstData);
    *copy.as.data = *s->as.data;
    copy.as.data->name = expand_own_name(x, u, &s->as.data->name);
    break;
  }
  case AST_EQUATION: expand_copy_equation(x, u, s, &copy); break;
  case AST_INIT: copy_init(x, u, s, &copy); break;
  case AST_DELETE: copy.as.labels = copy_targets(x, u, &s->as.labels); break;
  case AST_ATTRIBUTES:
    copy.as.attributes.name = expand_copy_target(x, u, &s->as.attributes.name);
    copy.as.attributes.settings = copy_settings(x, u, &s->as.attributes.settings);
    break;
  case AST_CONTROL:
    expand_copy_control(x, u, s, &copy);
    copy.as.control.values = copy_values(x, u, &s->as.control.values);
    break;
  case AST_ANIMATE:
  case AST_EXPERIMENT:
    copy.as.attributes.settings = copy_settings(x, u, &s->as.attributes.settings);
    break;
  case AST_MEASURE: break;  // stands at the top level alone
  case AST_ENERGY: copy.as.energy = copy_read(x, u, s->as.energy); break;
  case AST_ELEMENT: copy.as.element = copy_element(x, u, s->as.element); break;
  case AST_FOR: copy = copy_loop(x, u, s, FILTER_ALL); break;
  case AST_IF: copy_branches(x, u, s, &copy); break;
  case AST_STATE: copy.as.state = copy_state(x, u, s->as.state); break;
  case AST_AUTOMATON:
    copy.as.automaton.name = ARENA_NEW(x->arena, AstName);
    *copy.as.automaton.name = expand_own_name(x, u, s->as.automaton.name);
    copy.as.automaton.body = expand_copy_block(x, u, &s->as.automaton.body, FILTER_ALL);
    break;
  case AST_AT:
    copy.as.at.time = copy_read(x, u, s->as.at.time);
    copy.as.at.each = copy_read(x, u, s->as.at.each);
    copy.as.at.repeat = expand_copy_optional(x, u, s->as.at.repeat);
    copy.as.at.priority = expand_copy_optional(x, u, s->as.at.priority);
    copy.as.at.body = expand_copy_block(x, u, &s->as.at.body, FILTER_ALL);
    break;
  case AST_INVARIANT: copy.as.invariant = copy_read(x, u, s->as.invariant); break;
  case AST_GOTO: copy_goto(x, u, s, &copy); break;
  case AST_FUNCTION:
    if (u->parent) return;  // stands before the loops of arrays: expand_constants()
    copy.as.function = expand_copy_function(x, u, s->as.function);
    break;
  case AST_PORT: expand_copy_port(x, u, s, &copy); break;
  case AST_CONNECT: expand_copy_connect(x, u, s, &copy); break;
  case AST_AFTER: copy.as.after = copy_after(x, u, s->as.after); break;
  case AST_INSTANCE:
    for (uint32_t i = 0; i < s->as.instances.count; i++) {
      expand_instance(x, u, &s->as.instances.data[i], out);
    }
    return;
  case AST_PART:
  case AST_INCLUDE: return;
  case AST_STOP: break;
  }
  base_vec_push(x->arena, out, copy);
}
