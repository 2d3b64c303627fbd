// SPDX-License-Identifier: MIT
//
// The names of a part: what it declares, and what it mentions without declaring it.
#include "lisma/builtin.h"
#include "lisma/expand_internal.h"

Member* expand_find_member(const Table* table, Str name) {
  uint32_t id = names_find(&table->names, name);
  return id ? &table->members.data[id] : NULL;
}

/// The entry for a name, new or not.
static Member* add_member(Expander* x, Table* table, Str name, Span span) {
  uint32_t id = names_intern(&table->names, name);
  while (table->members.count <= id) {
    base_vec_push(x->arena, &table->members, (Member){.span = span});
  }
  return &table->members.data[id];
}

bool expand_is_hidden(const Table* table, Str name) {
  for (uint32_t i = table->hidden.count; i > 0; i--) {
    if (str_equal(table->hidden.data[i - 1], name)) return true;
  }
  return false;
}

/// In front of the name of an instance the word would be read with its meaning.
static void report_word(Expander* x, const AstName* name) {
  Diag* diag = diag_add(x->diags, DIAG_E0108, name->span,
                        "'%.*s' is a word of the language and cannot be the name of a part",
                        STR_ARGS(name->head));
  diag_hint(x->diags, diag, "choose another name, or write it in backquotes: `%.*s`",
            STR_ARGS(name->head));
}

static void report_twice(Expander* x, Str name, Span span, Span first) {
  Diag* diag = diag_add(x->diags, DIAG_E0201, span, "'%.*s' is declared twice", STR_ARGS(name));
  diag_note(x->diags, diag, first, "first declared here");
}

/// A name that can mean one thing only.
static Member* claim_member(Expander* x, Table* table, const AstName* name, MemberKind kind) {
  Member* known = expand_find_member(table, name->head);
  if (known) {
    report_twice(x, name->head, name->span, known->span);
    return NULL;
  }
  Member* member = add_member(x, table, name->head, name->span);
  member->kind = (uint8_t)kind;
  return member;
}

// First pass over a part: names that statements declare as something else than a variable.

static void declare_statement(Expander* x, Table* table, const AstStatement* s);

static void declare_block(Expander* x, Table* table, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    declare_statement(x, table, &block->statements.data[i]);
  }
}

static void declare_shared(Expander* x, Table* table, const AstName* name, MemberKind kind) {
  const Member* known = expand_find_member(table, name->head);
  if (!known) {
    Member* member = add_member(x, table, name->head, name->span);
    member->kind = (uint8_t)kind;
    member->indexed = name->indices.count > 0;
    return;
  }
  // others are told by the resolver, where they are a mistake
  bool other = known->kind == MEMBER_INSTANCE || known->kind == MEMBER_PORT ||
               known->kind == MEMBER_PARAMETER;
  if (other) report_twice(x, name->head, name->span, known->span);
}

/// A name of a part that hides one of the language. Included parts are somebody else's.
static void note_hidden(Expander* x, const Table* table, const AstName* name, bool constant) {
  bool told = table->part && ast_name_is_plain(name) && lisma_tells_hidden(name->head, constant);
  if (!told || source_part(x->model->source, name->span.begin)) return;
  diag_add(x->diags, DIAG_W0220, name->span, "this hides the built-in name '%.*s'",
           STR_ARGS(name->head));
}

static void declare_definitions(Expander* x, Table* table, const AstDefinitionList* list,
                                bool constants) {
  for (uint32_t i = 0; i < list->count; i++) {
    for (uint32_t k = 0; k < list->data[i].names.count; k++) {
      note_hidden(x, table, &list->data[i].names.data[k], constants);
      declare_shared(x, table, &list->data[i].names.data[k], MEMBER_SHARED);
    }
  }
}

static void declare_automaton(Expander* x, Table* table, const AstName* name) {
  Member* known = expand_find_member(table, name->head);
  Member* member = known ? known : add_member(x, table, name->head, name->span);
  if (!known || known->kind == MEMBER_VALUE) member->kind = MEMBER_AUTOMATON;
}

static void declare_statement(Expander* x, Table* table, const AstStatement* s) {
  switch ((int)s->kind) {
  case AST_CONST:
  case AST_MACRO: declare_definitions(x, table, &s->as.definitions, s->kind == AST_CONST); break;
  case AST_DATA: declare_shared(x, table, &s->as.data->name, MEMBER_SHARED); break;
  case AST_FUNCTION: declare_shared(x, table, &s->as.function->name, MEMBER_FUNCTION); break;
  case AST_INSTANCE:
    for (uint32_t i = 0; i < s->as.instances.count; i++) {
      const AstInstance* instance = &s->as.instances.data[i];
      Member* member = claim_member(x, table, &instance->name, MEMBER_INSTANCE);
      uint32_t ordinal = table->instance_count++;
      if (!member) continue;
      member->instance = instance;
      member->index = ordinal;
    }
    break;
  case AST_PORT: {
    Member* member = claim_member(x, table, &s->as.port.port->name, MEMBER_PORT);
    if (member) member->port = s->as.port.port;
    break;
  }
  case AST_ELEMENT: declare_automaton(x, table, &s->as.element->name); break;
  case AST_AUTOMATON: declare_automaton(x, table, s->as.automaton.name); break;
  case AST_FOR: declare_block(x, table, &s->as.loop.body); break;
  case AST_STATE:
    if (table->part && !expand_find_member(table, s->as.state->name.head)) {
      add_member(x, table, s->as.state->name.head, s->as.state->name.span)->kind = MEMBER_STATE;
    }
    break;
  default: break;
  }
}

static bool is_start_form(const AstExpr* call) {
  if (call->as.call.args.count != 1) return false;
  const AstExpr* argument = call->as.call.args.data[0];
  bool zero = argument->kind == AST_NUMBER && argument->as.number == 0.0;
  return zero ||
         (argument->kind == AST_NAME && ast_name_is_word(&argument->as.name.name, STR_LIT("t0")));
}

// What a part mentions is its own, unless the model around it has it.

static void mention(Expander* x, Table* table, const AstName* name, bool callee) {
  if (expand_is_hidden(table, name->head) && ast_name_is_plain(name)) return;
  if (ast_name_is_word(name, STR_LIT("zeno"))) return;
  if (callee || expand_find_member(table, name->head)) return;
  if (!name->quoted && ast_name_is_plain(name) && lisma_is_builtin_name(name->head)) return;
  const Member* outer = expand_find_member(x->top, name->head);
  if (outer && (outer->kind == MEMBER_SHARED || outer->kind == MEMBER_FUNCTION)) return;
  add_member(x, table, name->head, name->span);
}

static void mention_expr(Expander* x, Table* table, const AstExpr* e);

static void mention_range(Expander* x, Table* table, const AstRange* range) {
  mention_expr(x, table, range->first);
  if (range->last) mention_expr(x, table, range->last);
}

static void mention_reduction(Expander* x, Table* table, const AstExpr* e) {
  uint32_t mark = table->hidden.count;
  for (uint32_t i = 0; i < e->as.reduction.iterators.count; i++) {
    mention_range(x, table, &e->as.reduction.iterators.data[i].range);
    base_vec_push(x->arena, &table->hidden, e->as.reduction.iterators.data[i].variable);
  }
  mention_expr(x, table, e->as.reduction.body);
  table->hidden.count = mark;
}

static void mention_expr(Expander* x, Table* table, const AstExpr* e) {
  if (e->kind == AST_REDUCTION) {
    mention_reduction(x, table, e);
    return;
  }
  for (uint32_t i = 0; ast_child(e, i); i++) {
    if (!ast_is_choice(e, i)) mention_expr(x, table, ast_child(e, i));
  }
  if (e->kind == AST_NAME) mention(x, table, &e->as.name.name, false);
  if (e->kind == AST_QUALIFIED) mention(x, table, e->as.qualified.automaton, false);
  if (e->kind == AST_CALL) mention(x, table, e->as.call.callee, !is_start_form(e));
}

static void mention_statement(Expander* x, Table* table, const AstStatement* s);

static void mention_block(Expander* x, Table* table, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    mention_statement(x, table, &block->statements.data[i]);
  }
}

/// A name that is given a value here is the part's own, whatever the model around it has.
static void mention_target(Expander* x, Table* table, const AstName* name) {
  Member* known = expand_find_member(table, name->head);
  Member* member = known ? known : add_member(x, table, name->head, name->span);
  member->indexed = member->indexed || name->indices.count > 0;
}

/// ... of a variable, by an equation or a value at the start.
static void mention_variable(Expander* x, Table* table, const AstName* name) {
  if (!expand_find_member(table, name->head)) note_hidden(x, table, name, false);
  mention_target(x, table, name);
}

static void mention_targets(Expander* x, Table* table, const AstStatement* s) {
  if (s->kind == AST_EQUATION) {
    const AstExpr* lhs = s->as.equation.lhs;
    if (lhs->kind == AST_NAME && !expand_is_hidden(table, lhs->as.name.name.head)) {
      mention_variable(x, table, &lhs->as.name.name);
    }
  }
  for (uint32_t i = 0; s->kind == AST_INIT && i < s->as.init.items.count; i++) {
    mention_variable(x, table, &s->as.init.items.data[i].name);
  }
}

static void mention_hidden(Expander* x, Table* table, const AstBlock* block, Str variable) {
  uint32_t mark = table->hidden.count;
  base_vec_push(x->arena, &table->hidden, variable);
  mention_block(x, table, block);
  table->hidden.count = mark;
}

static void mention_settings(Expander* x, Table* table, const AstSettingList* settings) {
  for (uint32_t i = 0; i < settings->count; i++) {
    Str key = settings->data[i].key;
    if (str_equal(key, STR_LIT("inactive")) || str_equal(key, STR_LIT("select")))
      continue;  // words
    for (uint32_t k = 0; k < settings->data[i].values.count; k++) {
      const AstExpr* value = settings->data[i].values.data[k].expr;
      if (value) mention_expr(x, table, value);
    }
  }
}

static void mention_function(Expander* x, Table* table, const AstFunction* f) {
  uint32_t mark = table->hidden.count;
  for (uint32_t i = 0; i < f->parameters.count; i++) {
    base_vec_push(x->arena, &table->hidden, f->parameters.data[i].head);
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    base_vec_push(x->arena, &table->hidden, f->locals.data[i].names.data[0].head);
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    mention_expr(x, table, f->locals.data[i].value);
  }
  mention_expr(x, table, f->result);
  table->hidden.count = mark;
}

static void mention_at(Expander* x, Table* table, const AstStatement* s) {
  mention_expr(x, table, s->as.at.time);
  if (s->as.at.each) mention_expr(x, table, s->as.at.each);
  if (s->as.at.repeat) mention_expr(x, table, s->as.at.repeat);
  mention_block(x, table, &s->as.at.body);
}

static void mention_statement(Expander* x, Table* table, const AstStatement* s) {
  mention_targets(x, table, s);
  switch (s->kind) {
  case AST_CONST:
  case AST_MACRO:
    for (uint32_t i = 0; i < s->as.definitions.count; i++) {
      mention_expr(x, table, s->as.definitions.data[i].value);
    }
    break;
  case AST_EQUATION:
    if (s->as.equation.label) mention_target(x, table, s->as.equation.label);
    mention_expr(x, table, s->as.equation.lhs);
    mention_expr(x, table, s->as.equation.rhs);
    break;
  case AST_INIT:
    for (uint32_t i = 0; i < s->as.init.items.count; i++) {
      mention_expr(x, table, s->as.init.items.data[i].value);
    }
    break;
  case AST_DELETE:
    for (uint32_t i = 0; i < s->as.labels.count; i++) {
      mention_target(x, table, &s->as.labels.data[i]);
    }
    break;
  case AST_ATTRIBUTES:
    mention_target(x, table, &s->as.attributes.name);
    mention_settings(x, table, &s->as.attributes.settings);
    break;
  case AST_ANIMATE: mention_settings(x, table, &s->as.attributes.settings); break;
  case AST_CONTROL: mention_target(x, table, &s->as.control.name); break;
  case AST_ELEMENT: mention_block(x, table, &s->as.element->body); break;
  case AST_FOR:
    for (uint32_t i = 0; i < s->as.loop.ranges.count; i++) {
      mention_range(x, table, &s->as.loop.ranges.data[i]);
    }
    mention_hidden(x, table, &s->as.loop.body, s->as.loop.variable);
    break;
  case AST_IF:
    for (uint32_t i = 0; i < s->as.branches.count; i++) {
      const AstBranch* branch = &s->as.branches.data[i];
      if (branch->condition) mention_expr(x, table, branch->condition);
      mention_block(x, table, &branch->body);
    }
    break;
  case AST_STATE:
    if (s->as.state->guard) mention_expr(x, table, s->as.state->guard);
    if (s->as.state->has_body) mention_block(x, table, &s->as.state->body);
    break;
  case AST_AUTOMATON: mention_block(x, table, &s->as.automaton.body); break;
  case AST_AT: mention_at(x, table, s); break;
  case AST_INVARIANT: mention_expr(x, table, s->as.invariant); break;
  case AST_FUNCTION: mention_function(x, table, s->as.function); break;
  case AST_AFTER:
    mention_expr(x, table, s->as.after->delay);
    mention_expr(x, table, s->as.after->condition);
    mention_block(x, table, &s->as.after->body);
    break;
  case AST_CONNECT:
    for (uint32_t i = 0; i < s->as.connect.ports.count; i++) {
      mention_expr(x, table, s->as.connect.ports.data[i]);
    }
    break;
  case AST_DATA:
  case AST_ENERGY:
  case AST_EXPERIMENT:
  case AST_MEASURE:
  case AST_STOP:
  case AST_GOTO:
  case AST_PART:
  case AST_PORT:
  case AST_INSTANCE:
  case AST_INCLUDE: break;
  }
}

static Table* new_table(Expander* x, const AstPart* part, const AstBlock* body) {
  Table* table = ARENA_NEW(x->arena, Table);
  table->part = part;
  table->body = body;
  names_init(&table->names, x->arena);
  if (part) {
    for (uint32_t i = 0; i < part->parameters.count; i++) {
      Member* member = claim_member(x, table, &part->parameters.data[i].name, MEMBER_PARAMETER);
      if (member) member->index = i;
    }
  }
  declare_block(x, table, body);
  return table;
}

void expand_collect_parts(Expander* x) {
  const AstBlock* body = &x->model->body;
  x->top = new_table(x, NULL, body);
  for (uint32_t i = 0; i < body->statements.count; i++) {
    const AstStatement* s = &body->statements.data[i];
    if (s->kind != AST_PART) continue;
    if (s->as.part->is_word) report_word(x, &s->as.part->name);
    const AstPart* part = s->as.part;
    uint32_t known = names_find(&x->part_names, part->name.head);
    if (known) {
      report_twice(x, part->name.head, part->name.span, x->parts.data[known]->part->name.span);
      continue;
    }
    uint32_t id = names_intern(&x->part_names, part->name.head);
    while (x->parts.count <= id) {
      base_vec_push(x->arena, &x->parts, NULL);
    }
    x->parts.data[id] = new_table(x, part, &part->body);
  }
  for (uint32_t i = 0; i < x->parts.count; i++) {
    Table* table = x->parts.data[i];
    if (table) mention_block(x, table, table->body);
  }
}
