// SPDX-License-Identifier: MIT
//
// Parts. An instance `Tank upper(A = 2);` stands for the statements of its part with every name of
// the part under the name of the instance: h becomes upper.h. That happens here, on the syntax tree
// and before any name has a meaning, so what comes behind sees plain statements.
//
//   parts and instances  ->  Table  (per part: its names and what they are)
//                        ->  Component   (per instance: prefix, values of its parameters, its own
//                        parts)
//                        ->  statements, copied per component with names looked up in its table
//
// * An array `Tank row[1000];` is one component and one copy, inside of a `for`: its names carry
// the
//   index, row[i].h. The tree grows with what is written, never with the number of instances.
// * Parameters are constants, upper.A; those of an array that are alike in all its elements are one
//   constant, row.A. Where the value depends on the index it takes the parameter's place.
// * Names of a part are its own: whatever it declares or mentions, unless the model around it has a
//   constant, macro, table or function of that name, or the language has.
// * Places stay those of the text of the part; an AST_INSTANCE statement around the copy keeps the
//   place of the instance for messages.
#include "lisma/expand.h"

#include "lisma/expand_internal.h"
#include "lisma/parser.h"

#define EXPAND_WORK_MAX 5000000u  // nodes of the tree that is made
#define COMPONENT_WORK  50u       // nodes that an instance counts for
#define EXPAND_DEPTH    64u       // parts inside of parts

bool expand_count_work(Expander* x, Span span) {
  if (x->stopped) return false;
  if (++x->work <= EXPAND_WORK_MAX) return true;
  Diag* diag = diag_add(x->diags, DIAG_E0705, span, "the parts of this model make too long a text");
  diag_hint(x->diags, diag,
            "parts inside of parts multiply; many that are alike are an array: Tank row[1000];");
  x->stopped = true;
  return false;
}

static Table* find_part(Expander* x, const AstInstance* instance) {
  uint32_t id = names_find(&x->part_names, instance->type.head);
  if (id) return x->parts.data[id];
  Diag* diag = diag_add(x->diags, DIAG_E0215, instance->type.span, "there is no part '%.*s'",
                        STR_ARGS(instance->type.head));
  Str near = {NULL, 0};
  uint32_t best = expand_near_limit(instance->type.head);
  for (uint32_t i = 1; i < x->part_names.names.count; i++) {
    uint32_t distance = str_distance(names_get(&x->part_names, i), instance->type.head, best);
    if (distance >= best) continue;
    best = distance;
    near = names_get(&x->part_names, i);
  }
  Str word = lisma_word_hint(x->arena, &instance->type, instance->behind_state);
  if (near.length) {
    diag_hint(x->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  } else if (word.length) {
    diag_hint(x->diags, diag, "%.*s", STR_ARGS(word));
  } else {
    diag_hint(x->diags, diag, "a part is declared by part %.*s { ... }, or by a file to include",
              STR_ARGS(instance->type.head));
  }
  return NULL;
}

static bool check_cycle(Expander* x, const Component* parent, const Table* table,
                        const AstInstance* instance) {
  bool deep = parent->depth >= EXPAND_DEPTH;
  for (const Component* u = parent; u; u = u->parent) {
    if (u->table != table && !deep) continue;
    Diag* diag = diag_add(x->diags, DIAG_E0218, instance->span,
                          deep ? "parts inside of parts are nested too deeply"
                               : "the part '%.*s' contains itself",
                          STR_ARGS(table->part->name.head));
    diag_note(x->diags, diag, table->part->name.span, "it is declared here");
    if (!deep) {
      diag_hint(x->diags, diag, "several of a kind are an array: %.*s row[10];",
                STR_ARGS(table->part->name.head));
    }
    return false;
  }
  return true;
}

/// `cascade[i].pump` and `cascade.pump`.
static void name_component(Expander* x, Component* u) {
  const AstInstance* instance = u->instance;
  NameMaker m = expand_begin_name(x, &u->parent->prefix);
  expand_append_word(&m, instance->name.head);
  NameMaker shared = expand_begin_name(x, &(AstName){.head = u->parent->shared});
  expand_append_word(&shared, instance->name.head);
  u->shared = expand_end_name(&shared, &instance->name).head;
  if (instance->sizes.count) {
    AstIndex index = {.span = instance->name.span, .element = true};
    index.subscripts.count = instance->sizes.count;
    index.subscripts.data = ARENA_ARRAY(x->arena, AstExpr*, instance->sizes.count);
    u->variables = ARENA_ARRAY(x->arena, Str, instance->sizes.count);
    for (uint32_t i = 0; i < instance->sizes.count; i++) {
      Str word = expand_index_word(instance, i);
      u->variables[i] = str_format(x->arena, "%.*s#%u", STR_ARGS(word), ++x->loop_count);
      index.subscripts.data[i] = expand_loop_variable(x, u->variables[i], instance->name.span);
    }
    expand_append_index(&m, index);
  }
  u->prefix = expand_end_name(&m, &instance->name);
}

static void add_components(Expander* x, Component* u);

static Component* add_component(Expander* x, Component* parent, const AstInstance* instance) {
  Table* table = find_part(x, instance);
  if (!table || !check_cycle(x, parent, table, instance)) return NULL;
  table->used = true;
  expand_check_arguments(x, table, instance);
  x->work += COMPONENT_WORK;
  if (!expand_count_work(x, instance->span)) return NULL;
  Component* u = ARENA_NEW(x->arena, Component);
  u->parent = parent;
  u->instance = instance;
  u->table = table;
  u->depth = parent->depth + 1;
  name_component(x, u);
  u->substitutes = ARENA_ARRAY(x->arena, AstExpr*, table->part->parameters.count);
  add_components(x, u);
  return u;
}

static void add_components(Expander* x, Component* u) {
  const AstBlock* body = u->table->body;
  for (uint32_t i = 0; i < body->statements.count && !x->stopped; i++) {
    const AstStatement* s = &body->statements.data[i];
    if (s->kind != AST_INSTANCE || !expand_count_work(x, s->span)) continue;
    for (uint32_t k = 0; k < s->as.instances.count; k++) {
      Component* child = add_component(x, u, &s->as.instances.data[k]);
      base_vec_push(x->arena, &u->children, child);
    }
  }
}

/// Constants for the parameters; those that depend on an index take their places instead.
static void expand_parameters(Expander* x, Component* u, Statements* out) {
  const AstArgumentList* parameters = &u->table->part->parameters;
  AstStatement s = {.kind = AST_CONST, .span = u->instance->span};
  BASE_VEC(AstDefinition) list = {0};
  expand_find_substitutes(x, u);
  for (uint32_t i = 0; i < parameters->count; i++) {
    if (u->substitutes[i]) continue;
    AstExpr* value = expand_parameter_value(x, u, i);
    if (!value) {
      expand_report_argument(x, u->table->part, u->instance->span, parameters->data[i].name.head,
                             "has no default and is not given here");
      continue;
    }
    AstDefinition definition = {.span = u->instance->span, .value = value};
    NameMaker m = expand_begin_name(x, &(AstName){.head = u->shared});
    expand_append_word(&m, parameters->data[i].name.head);
    definition.names.data = ARENA_NEW(x->arena, AstName);
    definition.names.data[0] = expand_end_name(&m, &parameters->data[i].name);
    definition.names.data[0].span = u->instance->span;
    definition.names.count = 1;
    base_vec_push(x->arena, &list, definition);
  }
  s.as.definitions.data = list.data;
  s.as.definitions.count = list.count;
  if (list.count) base_vec_push(x->arena, out, s);
}

/// The unnamed automaton of a part has the name of the instance.
static void expand_states(Expander* x, Component* u, Statements* out) {
  AstBlock states = expand_copy_block(x, u, u->table->body, FILTER_STATES);
  if (states.statements.count == 0) return;
  AstStatement s = {.kind = AST_AUTOMATON, .span = u->instance->span};
  s.as.automaton.name = ARENA_NEW(x->arena, AstName);
  *s.as.automaton.name = u->prefix;
  s.as.automaton.name->span = u->instance->name.span;
  s.as.automaton.name->number = ++x->name_count;
  s.as.automaton.body = states;
  base_vec_push(x->arena, out, s);
}

/// The loops around the copy for an array, the first index outermost.
static AstStatement wrap_loops(Expander* x, Component* u, AstStatement s) {
  const AstInstance* instance = u->instance;
  for (uint32_t i = instance->sizes.count; i > 0; i--) {
    const AstIterator* size = &instance->sizes.data[i - 1];
    AstStatement loop = {.kind = AST_FOR, .span = instance->span};
    AstRange range = expand_copy_range(x, u->parent, &size->range);
    if (!range.last) {
      // a size counts from 1 on
      range.last = range.first;
      range.first = ARENA_NEW(x->arena, AstExpr);
      *range.first = (AstExpr){.kind = AST_NUMBER, .depth = 1, .span = range.last->span};
      range.first->as.number = 1.0;
    }
    loop.as.loop.variable = u->variables[i - 1];
    loop.as.loop.variable_span = size->span;
    loop.as.loop.ranges.data = ARENA_NEW(x->arena, AstRange);
    loop.as.loop.ranges.data[0] = range;
    loop.as.loop.ranges.count = 1;
    loop.as.loop.body.span = instance->span;
    loop.as.loop.body.statements.data = ARENA_NEW(x->arena, AstStatement);
    loop.as.loop.body.statements.data[0] = s;
    loop.as.loop.body.statements.count = 1;
    s = loop;
  }
  return s;
}

static void push_instance(Expander* x, Component* u, Statements* body, Statements* out) {
  if (body->count == 0) return;
  AstStatement s = {.kind = AST_INSTANCE, .span = u->instance->span};
  AstInstance* copy = ARENA_NEW(x->arena, AstInstance);
  *copy = *u->instance;
  copy->name = u->prefix;
  copy->name.number = ++x->name_count;
  copy->body.span = u->instance->span;
  copy->body.statements.data = body->data;
  copy->body.statements.count = body->count;
  s.as.instances.data = copy;
  s.as.instances.count = 1;
  base_vec_push(x->arena, out, s);
}

static void expand_functions(Expander* x, Component* u, Statements* out) {
  for (uint32_t i = 0; i < u->table->body->statements.count && !x->stopped; i++) {
    AstStatement s = u->table->body->statements.data[i];
    if (s.kind != AST_FUNCTION) continue;
    s.as.function = expand_copy_function(x, u, s.as.function);
    base_vec_push(x->arena, out, s);
  }
}

/// The constants and functions of a component and of the parts inside of it stand before the loops
/// of its arrays.
static void expand_constants(Expander* x, Component* u, Statements* out) {
  Statements constants = {0};
  expand_parameters(x, u, &constants);
  expand_functions(x, u, &constants);
  for (uint32_t i = 0; i < u->children.count; i++) {
    if (u->children.data[i]) expand_constants(x, u->children.data[i], &constants);
  }
  push_instance(x, u, &constants, out);
}

void expand_instance(Expander* x, Component* parent, const AstInstance* instance, Statements* out) {
  const Member* member = expand_find_member(parent->table, instance->name.head);
  bool own = member && member->kind == MEMBER_INSTANCE && member->instance == instance;
  Component* u = own ? expand_find_child(parent, member) : NULL;
  if (!u) return;  // told before
  if (!parent->parent) expand_constants(x, u, out);
  Statements body = {0};
  for (uint32_t i = 0; i < u->table->body->statements.count && !x->stopped; i++) {
    expand_copy_filtered(x, u, &u->table->body->statements.data[i], FILTER_OTHERS, &body);
  }
  expand_states(x, u, &body);
  Statements one = {0};
  push_instance(x, u, &body, &one);
  if (one.count == 0) return;
  AstInstance* copy = one.data[0].as.instances.data;
  copy->element = u->prefix.indices.count > 0;
  if (x->model->has_units) expand_keep_defaults(x, u, copy);
  base_vec_push(x->arena, out, wrap_loops(x, u, one.data[0]));
}

/// One instance of a part that has none, with something for each parameter without a default.
static AstInstance try_part(Expander* x, const AstPart* part) {
  BASE_VEC(AstArgument) given = {0};
  for (uint32_t i = 0; i < part->parameters.count; i++) {
    AstArgument argument = part->parameters.data[i];
    if (argument.value) continue;
    argument.value = ARENA_NEW(x->arena, AstExpr);
    *argument.value = (AstExpr){.kind = AST_NUMBER, .depth = 1, .span = argument.span};
    argument.value->as.number = 1.0;
    base_vec_push(x->arena, &given, argument);
  }
  AstInstance instance = {
      .span = part->name.span, .type = part->name, .name = part->name, .tried = true};
  if (expand_find_member(x->top, part->name.head)) {  // the model means something else by it
    instance.name.head = str_format(x->arena, "part %.*s", STR_ARGS(part->name.head));
  }
  instance.arguments.data = given.data;
  instance.arguments.count = given.count;
  return instance;
}

/// Parts without an instance. Those of included files are somebody else's, and not looked at.
static void find_unused(Expander* x, AstModel* out) {
  BASE_VEC(AstInstance) unused = {0};
  for (uint32_t i = 0; i < x->parts.count; i++) {
    const Table* table = x->parts.data[i];
    bool tried =
        table && !table->used && !source_part(x->model->source, table->part->name.span.begin);
    if (tried) base_vec_push(x->arena, &unused, try_part(x, table->part));
  }
  out->unused.data = unused.data;
  out->unused.count = unused.count;
}

const AstModel* lisma_expand(Arena* arena, const AstModel* model, DiagList* diags) {
  if (!model->has_parts) return model;
  Expander x = {.arena = arena, .model = model, .diags = diags, .name_count = model->name_count};
  x.uses.arena = arena;
  names_init(&x.part_names, arena);
  uint32_t errors = diags->error_count;
  expand_collect_parts(&x);
  if (diags->error_count != errors) return model;  // what a name means is not clear
  Component top = {.table = x.top, .shared = STR_LIT("")};
  add_components(&x, &top);
  AstModel* out = ARENA_NEW(arena, AstModel);
  *out = *model;
  out->body = expand_copy_block(&x, &top, &model->body, FILTER_ALL);
  out->name_count = x.name_count;
  expand_note_uses(&x);
  find_unused(&x, out);
  return out;
}
