// SPDX-License-Identifier: MIT
//
// Parts. An instance `Tank upper(A = 2);` stands for the statements of its part with every name of
// the part under the name of the instance: h becomes upper.h. That happens here, on the syntax tree
// and before any name has a meaning, so what comes behind sees plain statements.
//
//   parts and instances  ->  Table  (per part: its names and what they are)
//                        ->  Unit   (per instance: prefix, values of its parameters, its own parts)
//                        ->  statements, copied per unit with names looked up in its table
//
// * An array `Tank row[1000];` is one unit and one copy, inside of a `for`: its names carry the
//   index, row[i].h. The tree grows with what is written, never with the number of instances.
// * Parameters are constants, upper.A; those of an array that are alike in all its elements are one
//   constant, row.A. Where the value depends on the index it takes the parameter's place.
// * Names of a part are its own: whatever it declares or mentions, unless the model around it has a
//   constant, macro, table or function of that name, or the language has.
// * Places stay those of the text of the part; an AST_INSTANCE statement around the copy keeps the
//   place of the instance for messages.
#include "lisma/expand.h"

#include "lisma/builtin.h"
#include "lisma/map.h"
#include "lisma/parser.h"

#define EXPAND_WORK_MAX 5000000u  // nodes of the tree that is made
#define UNIT_WORK       50u       // nodes that an instance counts for
#define EXPAND_DEPTH    64u        // parts inside of parts

typedef struct Table Table;
typedef struct Unit Unit;

typedef enum MemberKind {
  MEMBER_VALUE,      // variable, macro, label, function
  MEMBER_SHARED,     // constant, macro, table or function: what parts see of the model around them
  MEMBER_PARAMETER,  // index: of the part's parameters
  MEMBER_INSTANCE,
  MEMBER_PORT,
  MEMBER_AUTOMATON,  // or element
  MEMBER_STATE       // of the part's unnamed automaton
} MemberKind;

typedef struct Member {
  uint8_t kind;  // MemberKind
  uint32_t index;
  const AstInstance* instance;
  const AstPort* port;
  Span span;
} Member;

/// The names of a part, or of the model itself.
struct Table {
  const AstPart* part;  // NULL for the model
  const AstBlock* body;
  NameTable names;
  BASE_VEC(Member) members;  // by name id
  BASE_VEC(Str) hidden;      // loop indices and arguments around the present place
  uint32_t instance_count;
};

/// An instance, or the model itself.
struct Unit {
  Unit* parent;                 // NULL for the model
  const AstInstance* instance;  // NULL for the model
  Table* table;
  AstName prefix;         // name of the instance, with the indices of arrays; empty for the model
  Str shared;             // ... without them
  AstExpr** substitutes;  // per parameter: its value where it depends on an index, else NULL
  Str* variables;         // of the loops of an array
  uint32_t depth;
  BASE_VEC(Unit*) children;
};

/// A port of an instance and what it is a copy of.
typedef struct PortCopy {
  const AstInstance* instance;
  const AstPort* port;
  AstPort* copy;
} PortCopy;

typedef struct Expander {
  Arena* arena;
  const AstModel* model;
  DiagList* diags;
  Table* top;
  NameTable part_names;
  BASE_VEC(Table*) parts;  // by name id
  uint32_t name_count, loop_count;
  uint64_t work;
  bool stopped;
  Map uses;                   // (instance, port): its variables are named outside
  BASE_VEC(PortCopy) copies;  // ports of all instances
} Expander;

typedef BASE_VEC(AstStatement) Statements;

// ---------------------------------------------------------------------------------------------
// tables

static Member* find_member(const Table* table, Str name) {
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

static bool is_hidden(const Table* table, Str name) {
  for (uint32_t i = table->hidden.count; i > 0; i--) {
    if (str_equal(table->hidden.data[i - 1], name)) return true;
  }
  return false;
}

static void report_twice(Expander* x, Str name, Span span, Span first) {
  Diag* diag = diag_add(x->diags, DIAG_E0201, span, "'%.*s' is declared twice", STR_ARGS(name));
  diag_note(x->diags, diag, first, "first declared here");
}

/// A name that can mean one thing only.
static Member* claim_member(Expander* x, Table* table, const AstName* name, MemberKind kind) {
  Member* known = find_member(table, name->head);
  if (known) {
    report_twice(x, name->head, name->span, known->span);
    return NULL;
  }
  Member* member = add_member(x, table, name->head, name->span);
  member->kind = (uint8_t)kind;
  return member;
}

typedef void NameVisitor(Expander* x, Table* table, const AstName* name, bool callee);

static void visit_expr(Expander* x, Table* table, const AstExpr* e, NameVisitor* visit);

static void visit_name(Expander* x, Table* table, const AstName* name, bool callee,
                       NameVisitor* visit) {
  for (const AstName* n = name; n; n = n->member) {
    for (uint32_t i = 0; i < n->indices.count; i++) {
      const AstExprList* subscripts = &n->indices.data[i].subscripts;
      for (uint32_t k = 0; k < subscripts->count; k++) {
        visit_expr(x, table, subscripts->data[k], visit);
      }
    }
  }
  if (!is_hidden(table, name->head) || !ast_name_is_plain(name)) visit(x, table, name, callee);
}

static void visit_list(Expander* x, Table* table, const AstExprList* list, NameVisitor* visit) {
  for (uint32_t i = 0; i < list->count; i++) {
    visit_expr(x, table, list->data[i], visit);
  }
}

static void visit_range(Expander* x, Table* table, const AstRange* range, NameVisitor* visit) {
  visit_expr(x, table, range->first, visit);
  if (range->last) visit_expr(x, table, range->last, visit);
}

static bool is_start_form(const AstExpr* call) {
  if (call->as.call.args.count != 1) return false;
  const AstExpr* argument = call->as.call.args.data[0];
  bool zero = argument->kind == AST_NUMBER && argument->as.number == 0.0;
  return zero || (argument->kind == AST_NAME &&
                  ast_name_is_word(&argument->as.name.name, STR_LIT("t0")));
}

static void visit_expr(Expander* x, Table* table, const AstExpr* e, NameVisitor* visit) {
  switch (e->kind) {
  case AST_NAME: visit_name(x, table, &e->as.name.name, false, visit); break;
  case AST_QUALIFIED: visit_name(x, table, e->as.qualified.automaton, false, visit); break;
  case AST_CALL:
    visit_name(x, table, e->as.call.callee, !is_start_form(e), visit);
    visit_list(x, table, &e->as.call.args, visit);
    break;
  case AST_REDUCTION: {
    uint32_t mark = table->hidden.count;
    for (uint32_t i = 0; i < e->as.reduction.iterators.count; i++) {
      visit_range(x, table, &e->as.reduction.iterators.data[i].range, visit);
      base_vec_push(x->arena, &table->hidden, e->as.reduction.iterators.data[i].variable);
    }
    visit_expr(x, table, e->as.reduction.body, visit);
    table->hidden.count = mark;
    break;
  }
  case AST_CONDITIONAL:
    visit_expr(x, table, e->as.conditional.condition, visit);
    visit_expr(x, table, e->as.conditional.then_value, visit);
    visit_expr(x, table, e->as.conditional.else_value, visit);
    break;
  case AST_ATOM:
    visit_expr(x, table, e->as.atom.condition, visit);
    if (e->as.atom.eps) visit_expr(x, table, e->as.atom.eps, visit);
    if (e->as.atom.gamma) visit_expr(x, table, e->as.atom.gamma, visit);
    break;
  case AST_UNARY: visit_expr(x, table, e->as.unary.operand, visit); break;
  case AST_POWER:
    visit_expr(x, table, e->as.power.base, visit);
    visit_expr(x, table, e->as.power.exponent, visit);
    break;
  case AST_CHAIN:
    for (uint32_t i = 0; i < e->as.chain.links.count; i++) {
      visit_expr(x, table, e->as.chain.links.data[i].operand, visit);
    }
    break;
  case AST_ERROR:
  case AST_NUMBER: break;
  }
}

/// Names that a statement declares as something else than a variable: first pass over a part.
static void declare_statement(Expander* x, Table* table, const AstStatement* s);

static void declare_block(Expander* x, Table* table, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    declare_statement(x, table, &block->statements.data[i]);
  }
}

static void declare_shared(Expander* x, Table* table, const AstName* name) {
  if (find_member(table, name->head)) return;  // told by the resolver, where it is a mistake
  add_member(x, table, name->head, name->span)->kind = MEMBER_SHARED;
}

static void declare_definitions(Expander* x, Table* table, const AstDefinitionList* list) {
  for (uint32_t i = 0; i < list->count; i++) {
    for (uint32_t k = 0; k < list->data[i].names.count; k++) {
      declare_shared(x, table, &list->data[i].names.data[k]);
    }
  }
}

static void declare_automaton(Expander* x, Table* table, const AstName* name) {
  Member* known = find_member(table, name->head);
  Member* member = known ? known : add_member(x, table, name->head, name->span);
  if (!known || known->kind == MEMBER_VALUE) member->kind = MEMBER_AUTOMATON;
}

static void declare_statement(Expander* x, Table* table, const AstStatement* s) {
  switch ((int)s->kind) {
  case AST_CONST:
  case AST_MACRO: declare_definitions(x, table, &s->as.definitions); break;
  case AST_DATA: declare_shared(x, table, &s->as.data->name); break;
  case AST_FUNCTION: declare_shared(x, table, &s->as.function->name); break;
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
    if (table->part && !find_member(table, s->as.state->name.head)) {
      add_member(x, table, s->as.state->name.head, s->as.state->name.span)->kind = MEMBER_STATE;
    }
    break;
  default: break;
  }
}

// Second pass: what a part mentions is its own, unless the model around it has it.

static void mention_statement(Expander* x, Table* table, const AstStatement* s, NameVisitor* visit);

static void mention_block(Expander* x, Table* table, const AstBlock* block, NameVisitor* visit) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    mention_statement(x, table, &block->statements.data[i], visit);
  }
}

static void mention(Expander* x, Table* table, const AstName* name, bool callee) {
  if (callee || find_member(table, name->head)) return;
  if (!name->quoted && ast_name_is_plain(name) && lisma_is_builtin_name(name->head)) return;
  const Member* outer = find_member(x->top, name->head);
  if (outer && outer->kind == MEMBER_SHARED) return;
  add_member(x, table, name->head, name->span);
}

/// A name that is given a value here is the part's own, whatever the model around it has.
static void mention_target(Expander* x, Table* table, const AstName* name) {
  if (!find_member(table, name->head)) add_member(x, table, name->head, name->span);
}

static void mention_targets(Expander* x, Table* table, const AstStatement* s) {
  if (s->kind == AST_EQUATION) {
    const AstExpr* lhs = s->as.equation.lhs;
    if (lhs->kind == AST_NAME && !is_hidden(table, lhs->as.name.name.head)) {
      mention_target(x, table, &lhs->as.name.name);
    }
  }
  for (uint32_t i = 0; s->kind == AST_INIT && i < s->as.init.items.count; i++) {
    mention_target(x, table, &s->as.init.items.data[i].name);
  }
}

static void mention_hidden(Expander* x, Table* table, const AstBlock* block, Str variable,
                           NameVisitor* visit) {
  uint32_t mark = table->hidden.count;
  base_vec_push(x->arena, &table->hidden, variable);
  mention_block(x, table, block, visit);
  table->hidden.count = mark;
}

static void mention_settings(Expander* x, Table* table, const AstSettingList* settings,
                             NameVisitor* visit) {
  for (uint32_t i = 0; i < settings->count; i++) {
    for (uint32_t k = 0; k < settings->data[i].values.count; k++) {
      const AstExpr* value = settings->data[i].values.data[k].expr;
      if (value) visit_expr(x, table, value, visit);
    }
  }
}

static void mention_function(Expander* x, Table* table, const AstFunction* f, NameVisitor* visit) {
  uint32_t mark = table->hidden.count;
  for (uint32_t i = 0; i < f->parameters.count; i++) {
    base_vec_push(x->arena, &table->hidden, f->parameters.data[i].head);
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    base_vec_push(x->arena, &table->hidden, f->locals.data[i].names.data[0].head);
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    visit_expr(x, table, f->locals.data[i].value, visit);
  }
  visit_expr(x, table, f->result, visit);
  table->hidden.count = mark;
}

static void mention_at(Expander* x, Table* table, const AstStatement* s, NameVisitor* visit) {
  visit_expr(x, table, s->as.at.time, visit);
  if (s->as.at.each) visit_expr(x, table, s->as.at.each, visit);
  if (s->as.at.repeat) visit_expr(x, table, s->as.at.repeat, visit);
  mention_block(x, table, &s->as.at.body, visit);
}

static void mention_statement(Expander* x, Table* table, const AstStatement* s,
                              NameVisitor* visit) {
  mention_targets(x, table, s);
  switch (s->kind) {
  case AST_CONST:
  case AST_MACRO:
    for (uint32_t i = 0; i < s->as.definitions.count; i++) {
      visit_expr(x, table, s->as.definitions.data[i].value, visit);
    }
    break;
  case AST_EQUATION:
    if (s->as.equation.label) mention_target(x, table, s->as.equation.label);
    visit_expr(x, table, s->as.equation.lhs, visit);
    visit_expr(x, table, s->as.equation.rhs, visit);
    break;
  case AST_INIT:
    for (uint32_t i = 0; i < s->as.init.items.count; i++) {
      visit_expr(x, table, s->as.init.items.data[i].value, visit);
    }
    break;
  case AST_DELETE:
    for (uint32_t i = 0; i < s->as.labels.count; i++) {
      mention_target(x, table, &s->as.labels.data[i]);
    }
    break;
  case AST_ATTRIBUTES:
    mention_target(x, table, &s->as.attributes.name);
    mention_settings(x, table, &s->as.attributes.settings, visit);
    break;
  case AST_ELEMENT: mention_block(x, table, &s->as.element->body, visit); break;
  case AST_FOR:
    for (uint32_t i = 0; i < s->as.loop.ranges.count; i++) {
      visit_range(x, table, &s->as.loop.ranges.data[i], visit);
    }
    mention_hidden(x, table, &s->as.loop.body, s->as.loop.variable, visit);
    break;
  case AST_IF:
    for (uint32_t i = 0; i < s->as.branches.count; i++) {
      const AstBranch* branch = &s->as.branches.data[i];
      if (branch->condition) visit_expr(x, table, branch->condition, visit);
      mention_block(x, table, &branch->body, visit);
    }
    break;
  case AST_STATE:
    if (s->as.state->guard) visit_expr(x, table, s->as.state->guard, visit);
    if (s->as.state->has_body) mention_block(x, table, &s->as.state->body, visit);
    break;
  case AST_AUTOMATON: mention_block(x, table, &s->as.automaton.body, visit); break;
  case AST_AT: mention_at(x, table, s, visit); break;
  case AST_INVARIANT: visit_expr(x, table, s->as.invariant, visit); break;
  case AST_FUNCTION: mention_function(x, table, s->as.function, visit); break;
  case AST_AFTER:
    visit_expr(x, table, s->as.after->delay, visit);
    visit_expr(x, table, s->as.after->condition, visit);
    mention_block(x, table, &s->as.after->body, visit);
    break;
  case AST_CONNECT: visit_list(x, table, &s->as.connect.ports, visit); break;
  case AST_DATA:
  case AST_ENERGY:
  case AST_EXPERIMENT:
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
      Member* member =
          claim_member(x, table, &part->parameters.data[i].name, MEMBER_PARAMETER);
      if (member) member->index = i;
    }
  }
  declare_block(x, table, body);
  return table;
}

static void collect_parts(Expander* x) {
  const AstBlock* body = &x->model->body;
  x->top = new_table(x, NULL, body);
  for (uint32_t i = 0; i < body->statements.count; i++) {
    const AstStatement* s = &body->statements.data[i];
    if (s->kind != AST_PART) continue;
    const AstPart* part = s->as.part;
    uint32_t known = names_find(&x->part_names, part->name.head);
    if (known) {
      report_twice(x, part->name.head, part->name.span,
                   x->parts.data[known]->part->name.span);
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
    if (table) mention_block(x, table, table->body, mention);
  }
}

// ---------------------------------------------------------------------------------------------
// names under a prefix

static AstExpr* copy_expr(Expander* x, Unit* u, const AstExpr* e);

static bool count_work(Expander* x, Span span) {
  if (x->stopped) return false;
  if (++x->work <= EXPAND_WORK_MAX) return true;
  Diag* diag = diag_add(x->diags, DIAG_E0705, span, "the parts of this model make too long a text");
  diag_hint(x->diags, diag,
            "parts inside of parts multiply; many that are alike are an array: Tank row[1000];");
  x->stopped = true;
  return false;
}

static AstExprList copy_exprs(Expander* x, Unit* u, const AstExprList* list) {
  AstExprList out = {.count = list->count};
  if (list->count) out.data = ARENA_ARRAY(x->arena, AstExpr*, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    out.data[i] = copy_expr(x, u, list->data[i]);
  }
  return out;
}

/// A name in the making: head, indices and the text behind the last of them.
typedef struct NameMaker {
  Expander* x;
  TextBuffer text;  // of the head, or of the tail of the last index
  AstName name;
  BASE_VEC(AstIndex) indices;
} NameMaker;

static NameMaker begin_name(Expander* x, const AstName* prefix) {
  NameMaker m = {.x = x, .text = {.arena = x->arena}};
  uint32_t count = prefix->indices.count;
  for (uint32_t i = 0; i < count; i++) {
    base_vec_push(x->arena, &m.indices, prefix->indices.data[i]);
  }
  m.name.head = prefix->head;
  text_append(&m.text, count ? m.indices.data[count - 1].tail : prefix->head);
  return m;
}

static void close_text(NameMaker* m) {
  Str text = text_str(&m->text);
  if (m->indices.count) {
    m->indices.data[m->indices.count - 1].tail = text;
  } else {
    m->name.head = text;
  }
}

static void append_word(NameMaker* m, Str word) {
  bool empty = m->indices.count == 0 && m->text.length == 0;
  if (!empty) text_append_char(&m->text, '.');
  text_append(&m->text, word);
}

static void append_index(NameMaker* m, AstIndex index) {
  close_text(m);
  base_vec_push(m->x->arena, &m->indices, index);
  m->text = (TextBuffer){.arena = m->x->arena};
  text_append(&m->text, index.tail);
}

/// The indices of a written name, with what they hold looked up in the unit.
static void append_indices(NameMaker* m, Unit* u, const AstName* written, bool element) {
  for (uint32_t i = 0; i < written->indices.count; i++) {
    AstIndex index = written->indices.data[i];
    index.subscripts = copy_exprs(m->x, u, &index.subscripts);
    index.element = element;
    append_index(m, index);
  }
}

static AstName end_name(NameMaker* m, const AstName* written) {
  close_text(m);
  AstName name = m->name;
  name.span = written->span;
  name.quoted = written->quoted || m->name.head.length != written->head.length;
  name.number = ++m->x->name_count;
  name.indices.data = m->indices.data;
  name.indices.count = m->indices.count;
  return name;
}

/// A name as it is, with its indices looked up.
static AstName keep_name(Expander* x, Unit* u, const AstName* written) {
  AstName name = *written;
  name.number = ++x->name_count;
  name.member = NULL;
  if (written->indices.count == 0) return name;
  name.indices.data = ARENA_ARRAY(x->arena, AstIndex, written->indices.count);
  for (uint32_t i = 0; i < written->indices.count; i++) {
    name.indices.data[i] = written->indices.data[i];
    name.indices.data[i].subscripts = copy_exprs(x, u, &written->indices.data[i].subscripts);
  }
  return name;
}

/// NAME behind the prefix of a unit.
static AstName own_name(Expander* x, Unit* u, const AstName* written) {
  if (!u->parent) return keep_name(x, u, written);
  NameMaker m = begin_name(x, &u->prefix);
  append_word(&m, written->head);
  append_indices(&m, u, written, false);
  return end_name(&m, written);
}

// ---------------------------------------------------------------------------------------------
// paths

typedef enum PathKind { PATH_BAD, PATH_NAME, PATH_VALUE, PATH_STATE, PATH_PORT, PATH_PART } PathKind;

typedef struct Path {
  uint8_t kind;  // PathKind
  AstName name;  // PATH_NAME, PATH_PORT, PATH_PART; the automaton of PATH_STATE
  AstName state;
  const AstExpr* value;  // PATH_VALUE
  const AstPort* port;
  bool outer;  // a port of the unit itself
} Path;

/// The part of a unit that an instance stands for; NULL when it is in error.
static Unit* find_child(const Unit* u, const Member* member) {
  return member->index < u->children.count ? u->children.data[member->index] : NULL;
}

static Str near_member(const Table* table, Str name) {
  Str near = {NULL, 0};
  uint32_t best = 3;
  for (uint32_t i = 1; i < table->names.names.count; i++) {
    Str other = names_get(&table->names, i);
    uint32_t distance = str_distance(other, name, best);
    if (distance >= best || distance >= name.length) continue;
    best = distance;
    near = other;
  }
  return near;
}

static Path report_member(Expander* x, const Table* table, const AstName* name) {
  Str part = table->part->name.head;
  Diag* diag = diag_add(x->diags, DIAG_E0216, name->span, "the part '%.*s' has no member '%.*s'",
                        STR_ARGS(part), STR_ARGS(name->head));
  Str near = near_member(table, name->head);
  if (near.length) diag_hint(x->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  diag_note(x->diags, diag, table->part->name.span, "the part is declared here");
  return (Path){.kind = PATH_BAD};
}

static Path report_path(Expander* x, const AstName* name, const char* message) {
  diag_add(x->diags, DIAG_E0216, name->span, "'%.*s' %s", STR_ARGS(name->head), message);
  return (Path){.kind = PATH_BAD};
}

/// The indices behind the name of an instance are those of its array, no more and no less.
static bool check_element(Expander* x, const AstName* name, const AstInstance* instance) {
  uint32_t given = name->indices.count;
  bool array = instance->sizes.count > 0;
  bool fits = array ? given == 1 && name->indices.data[0].tail.length == 0 &&
                          name->indices.data[0].subscripts.count == instance->sizes.count
                    : given == 0;
  if (fits) return true;
  Diag* diag = diag_add(x->diags, DIAG_E0216, name->span,
                        array ? "'%.*s' is an array of parts with %u ind%s" : "'%.*s' is no array",
                        STR_ARGS(name->head), instance->sizes.count,
                        instance->sizes.count == 1 ? "ex" : "ices");
  diag_note(x->diags, diag, instance->span, "it is declared here");
  return false;
}

static bool has_quantity(const AstPort* port, Str name) {
  for (uint32_t i = 0; i < port->across.count; i++) {
    if (str_equal(port->across.data[i].head, name)) return true;
  }
  for (uint32_t i = 0; i < port->through.count; i++) {
    if (str_equal(port->through.data[i].head, name)) return true;
  }
  return false;
}

/// `p` or `p.v`, the prefix being made.
static Path port_path(NameMaker* m, const Unit* owner, const Unit* from, const AstName* name,
                      const AstPort* port) {
  Expander* x = m->x;
  append_word(m, name->head);
  Path path = {.kind = PATH_PORT, .port = port, .outer = owner == from};
  const AstName* quantity = name->member;
  if (!quantity) {
    path.name = end_name(m, name);
    return path;
  }
  if (!has_quantity(port, quantity->head) || quantity->member || quantity->indices.count) {
    return report_path(x, quantity, "is no quantity of this port");
  }
  if (owner != from) {
    map_set(&x->uses, (uint64_t)(uintptr_t)owner->instance, (uint64_t)(uintptr_t)port, 1);
  }
  append_word(m, quantity->head);
  path.kind = PATH_NAME;
  path.name = end_name(m, quantity);
  return path;
}

/// A parameter: its constant, or what takes its place.
static Path parameter_path(Expander* x, const Unit* owner, const Unit* from, const AstName* name,
                           uint32_t index) {
  Path path = {.kind = PATH_NAME};
  const AstExpr* value = owner->substitutes[index];
  if (!value) {
    NameMaker m = begin_name(x, &(AstName){.head = owner->shared});
    append_word(&m, name->head);
    path.name = end_name(&m, name);
    return path;
  }
  if (owner != from) {
    return report_path(x, name, "depends on the index of its array and is known inside only");
  }
  return (Path){.kind = PATH_VALUE, .value = value};
}

/// What a path from unit `u` leads to. The first name is known to be one of the unit's.
static Path follow_path(Expander* x, Unit* u, const AstName* name) {
  NameMaker m = begin_name(x, &u->prefix);
  Unit* at = u;
  for (;; name = name->member) {
    const Member* member = find_member(at->table, name->head);
    bool own_state = !member && at != u && ast_name_is_word(name, STR_LIT("state"));
    if (own_state) {
      return (Path){.kind = PATH_STATE, .name = end_name(&m, name), .state = keep_name(x, u, name)};
    }
    if (!member) return report_member(x, at->table, name);
    MemberKind kind = (MemberKind)member->kind;
    if (kind == MEMBER_INSTANCE) {
      Unit* child = find_child(at, member);
      if (!child || !check_element(x, name, member->instance)) return (Path){.kind = PATH_BAD};
      append_word(&m, name->head);
      append_indices(&m, u, name, true);
      if (!name->member) return (Path){.kind = PATH_PART, .name = end_name(&m, name)};
      at = child;
      continue;
    }
    if (kind == MEMBER_PORT) return port_path(&m, at, u, name, member->port);
    if (kind == MEMBER_STATE && at != u && !name->member) {
      return (Path){.kind = PATH_STATE, .name = end_name(&m, name), .state = keep_name(x, u, name)};
    }
    if (kind == MEMBER_AUTOMATON && name->member) {
      append_word(&m, name->head);
      append_indices(&m, u, name, false);
      const AstName* state = name->member;
      if (state->member) return report_path(x, state, "has no members");
      return (Path){
          .kind = PATH_STATE, .name = end_name(&m, name), .state = keep_name(x, u, state)};
    }
    if (name->member) return report_path(x, name, "has no members");
    if (kind == MEMBER_PARAMETER) return parameter_path(x, at, u, name, member->index);
    append_word(&m, name->head);
    append_indices(&m, u, name, false);
    return (Path){.kind = PATH_NAME, .name = end_name(&m, name)};
  }
}

static bool is_own(const Unit* u, const AstName* name) {
  if (is_hidden(u->table, name->head) && ast_name_is_plain(name)) return false;
  return find_member(u->table, name->head) != NULL;
}

/// What a written name, or path, means in a unit.
static Path find_path(Expander* x, Unit* u, const AstName* name) {
  if (is_own(u, name)) {
    const Member* member = find_member(u->table, name->head);
    bool plain = !name->member && member->kind != MEMBER_INSTANCE &&
                 member->kind != MEMBER_PORT && member->kind != MEMBER_PARAMETER;
    if (plain) return (Path){.kind = PATH_NAME, .name = own_name(x, u, name)};
    return follow_path(x, u, name);
  }
  if (name->member) {
    Diag* diag = diag_add(x->diags, DIAG_E0215, name->span, "there is no part '%.*s' here",
                          STR_ARGS(name->head));
    diag_hint(x->diags, diag, "'.' leads to a member of a part, or to a state of an automaton");
    return (Path){.kind = PATH_BAD};
  }
  return (Path){.kind = PATH_NAME, .name = keep_name(x, u, name)};
}

/// A name that has to be a name: of a target, a label, a setting.
static AstName copy_target(Expander* x, Unit* u, const AstName* name) {
  Path path = find_path(x, u, name);
  if (path.kind == PATH_NAME) return path.name;
  if (path.kind != PATH_BAD) report_path(x, name, "cannot be given a value");
  return keep_name(x, u, name);
}

// ---------------------------------------------------------------------------------------------
// expressions

static AstExpr* new_expr(Expander* x, const AstExpr* like) {
  AstExpr* e = ARENA_NEW(x->arena, AstExpr);
  *e = *like;
  return e;
}

static AstExpr* error_expr(Expander* x, const AstExpr* like) {
  AstExpr* e = new_expr(x, like);
  e->kind = AST_ERROR;
  return e;
}

static AstExpr* path_expr(Expander* x, const AstExpr* e, const Path* path, uint32_t order) {
  AstExpr* out = new_expr(x, e);
  switch ((PathKind)path->kind) {
  case PATH_NAME:
    out->kind = AST_NAME;
    out->as.name.name = path->name;
    out->as.name.order = order;
    return out;
  case PATH_VALUE:
    *out = *path->value;
    if (order) report_path(x, &e->as.name.name, "is a parameter and has no derivative");
    return out;
  case PATH_STATE:
    out->kind = AST_QUALIFIED;
    out->as.qualified.automaton = ARENA_NEW(x->arena, AstName);
    out->as.qualified.state = ARENA_NEW(x->arena, AstName);
    *out->as.qualified.automaton = path->name;
    *out->as.qualified.state = path->state;
    return out;
  case PATH_PORT:
  case PATH_PART:
    diag_add(x->diags, DIAG_E0216, e->span, "this is a %s, and a value is needed",
             path->kind == PATH_PORT ? "port" : "part");
    break;
  case PATH_BAD: break;
  }
  return error_expr(x, e);
}

/// `a.b`: a member of a part, or the state of an automaton.
static AstExpr* copy_qualified(Expander* x, Unit* u, const AstExpr* e) {
  const AstName* first = e->as.qualified.automaton;
  const Member* member = is_own(u, first) ? find_member(u->table, first->head) : NULL;
  bool part = member && (member->kind == MEMBER_INSTANCE || member->kind == MEMBER_PORT);
  if (part) {
    AstName path = *first;
    path.span = e->span;
    path.member = e->as.qualified.state;
    Path found = find_path(x, u, &path);
    return path_expr(x, e, &found, 0);
  }
  AstExpr* out = new_expr(x, e);
  out->as.qualified.automaton = ARENA_NEW(x->arena, AstName);
  out->as.qualified.state = ARENA_NEW(x->arena, AstName);
  *out->as.qualified.automaton = member ? own_name(x, u, first) : keep_name(x, u, first);
  *out->as.qualified.state = keep_name(x, u, e->as.qualified.state);
  return out;
}

static AstExpr* copy_call(Expander* x, Unit* u, const AstExpr* e) {
  AstExpr* out = new_expr(x, e);
  const AstName* callee = e->as.call.callee;
  out->as.call.callee = ARENA_NEW(x->arena, AstName);
  out->as.call.args = copy_exprs(x, u, &e->as.call.args);
  Path path = find_path(x, u, callee);
  if (path.kind == PATH_BAD) return error_expr(x, e);
  *out->as.call.callee = path.kind == PATH_NAME ? path.name : keep_name(x, u, callee);
  return out;
}

static AstRange copy_range(Expander* x, Unit* u, const AstRange* range) {
  AstRange out = *range;
  out.first = copy_expr(x, u, range->first);
  if (range->last) out.last = copy_expr(x, u, range->last);
  return out;
}

static AstExpr* copy_reduction(Expander* x, Unit* u, const AstExpr* e) {
  AstExpr* out = new_expr(x, e);
  uint32_t mark = u->table->hidden.count;
  uint32_t count = e->as.reduction.iterators.count;
  out->as.reduction.iterators.data = ARENA_ARRAY(x->arena, AstIterator, count);
  for (uint32_t i = 0; i < count; i++) {
    AstIterator* iterator = &out->as.reduction.iterators.data[i];
    *iterator = e->as.reduction.iterators.data[i];
    iterator->range = copy_range(x, u, &iterator->range);
    base_vec_push(x->arena, &u->table->hidden, iterator->variable);
  }
  out->as.reduction.body = copy_expr(x, u, e->as.reduction.body);
  u->table->hidden.count = mark;
  return out;
}

static AstExpr* copy_chain(Expander* x, Unit* u, const AstExpr* e) {
  AstExpr* out = new_expr(x, e);
  uint32_t count = e->as.chain.links.count;
  out->as.chain.links.data = ARENA_ARRAY(x->arena, AstLink, count);
  for (uint32_t i = 0; i < count; i++) {
    out->as.chain.links.data[i] = e->as.chain.links.data[i];
    out->as.chain.links.data[i].operand = copy_expr(x, u, e->as.chain.links.data[i].operand);
  }
  return out;
}

static AstExpr* copy_optional(Expander* x, Unit* u, const AstExpr* e) {
  return e ? copy_expr(x, u, e) : NULL;
}

static AstExpr* copy_expr(Expander* x, Unit* u, const AstExpr* e) {
  AstExpr* out = NULL;
  if (!count_work(x, e->span)) return error_expr(x, e);
  switch (e->kind) {
  case AST_NAME: {
    Path path = find_path(x, u, &e->as.name.name);
    return path_expr(x, e, &path, e->as.name.order);
  }
  case AST_QUALIFIED: return copy_qualified(x, u, e);
  case AST_CALL: return copy_call(x, u, e);
  case AST_REDUCTION: return copy_reduction(x, u, e);
  case AST_CHAIN: return copy_chain(x, u, e);
  case AST_CONDITIONAL:
    out = new_expr(x, e);
    out->as.conditional.condition = copy_expr(x, u, e->as.conditional.condition);
    out->as.conditional.then_value = copy_expr(x, u, e->as.conditional.then_value);
    out->as.conditional.else_value = copy_expr(x, u, e->as.conditional.else_value);
    return out;
  case AST_ATOM:
    out = new_expr(x, e);
    out->as.atom.condition = copy_expr(x, u, e->as.atom.condition);
    out->as.atom.eps = copy_optional(x, u, e->as.atom.eps);
    out->as.atom.gamma = copy_optional(x, u, e->as.atom.gamma);
    return out;
  case AST_UNARY:
    out = new_expr(x, e);
    out->as.unary.operand = copy_expr(x, u, e->as.unary.operand);
    return out;
  case AST_POWER:
    out = new_expr(x, e);
    out->as.power.base = copy_expr(x, u, e->as.power.base);
    out->as.power.exponent = copy_expr(x, u, e->as.power.exponent);
    return out;
  case AST_ERROR:
  case AST_NUMBER: break;
  }
  return new_expr(x, e);
}

// ---------------------------------------------------------------------------------------------
// statements

static void copy_statement(Expander* x, Unit* u, const AstStatement* s, Statements* out);

/// Statements of a block; with `states`, those of the unnamed automaton or all others.
typedef enum Filter { FILTER_ALL, FILTER_STATES, FILTER_OTHERS } Filter;

static bool holds_states(const AstStatement* s) {
  if (s->kind == AST_STATE) return true;
  for (uint32_t i = 0; s->kind == AST_FOR && i < s->as.loop.body.statements.count; i++) {
    if (holds_states(&s->as.loop.body.statements.data[i])) return true;
  }
  return false;
}

static AstBlock copy_block(Expander* x, Unit* u, const AstBlock* block, Filter filter);

static AstStatement copy_loop(Expander* x, Unit* u, const AstStatement* s, Filter filter) {
  AstStatement out = *s;
  uint32_t count = s->as.loop.ranges.count;
  out.as.loop.ranges.data = ARENA_ARRAY(x->arena, AstRange, count);
  for (uint32_t i = 0; i < count; i++) {
    out.as.loop.ranges.data[i] = copy_range(x, u, &s->as.loop.ranges.data[i]);
  }
  uint32_t mark = u->table->hidden.count;
  base_vec_push(x->arena, &u->table->hidden, s->as.loop.variable);
  out.as.loop.body = copy_block(x, u, &s->as.loop.body, filter);
  u->table->hidden.count = mark;
  return out;
}

static void copy_filtered(Expander* x, Unit* u, const AstStatement* s, Filter filter,
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

static AstBlock copy_block(Expander* x, Unit* u, const AstBlock* block, Filter filter) {
  Statements out = {0};
  for (uint32_t i = 0; i < block->statements.count && !x->stopped; i++) {
    copy_filtered(x, u, &block->statements.data[i], filter, &out);
  }
  AstBlock copy = {.span = block->span};
  copy.statements.data = out.data;
  copy.statements.count = out.count;
  return copy;
}

static AstDefinitionList copy_definitions(Expander* x, Unit* u, const AstDefinitionList* list) {
  AstDefinitionList out = {.count = list->count};
  out.data = ARENA_ARRAY(x->arena, AstDefinition, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    AstDefinition* d = &out.data[i];
    *d = list->data[i];
    d->names.data = ARENA_ARRAY(x->arena, AstName, d->names.count);
    for (uint32_t k = 0; k < d->names.count; k++) {
      d->names.data[k] = copy_target(x, u, &list->data[i].names.data[k]);
    }
    d->value = copy_expr(x, u, d->value);
  }
  return out;
}

static AstSettingList copy_settings(Expander* x, Unit* u, const AstSettingList* list) {
  AstSettingList out = {.count = list->count};
  if (list->count) out.data = ARENA_ARRAY(x->arena, AstSetting, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    AstSetting* setting = &out.data[i];
    *setting = list->data[i];
    setting->values.data = ARENA_ARRAY(x->arena, AstValue, setting->values.count);
    for (uint32_t k = 0; k < setting->values.count; k++) {
      AstValue* value = &setting->values.data[k];
      *value = list->data[i].values.data[k];
      if (value->expr) value->expr = copy_expr(x, u, value->expr);
    }
  }
  return out;
}

static AstElement* copy_element(Expander* x, Unit* u, const AstElement* element) {
  AstElement* out = ARENA_NEW(x->arena, AstElement);
  *out = *element;
  out->name = own_name(x, u, &element->name);
  out->settings = copy_settings(x, u, &element->settings);
  out->restitution = copy_optional(x, u, element->restitution);
  out->kinetic = copy_optional(x, u, element->kinetic);
  out->stiction = copy_optional(x, u, element->stiction);
  if (element->yields) {
    AstName* yields = ARENA_NEW(x->arena, AstName);
    *yields = copy_target(x, u, element->yields);
    out->yields = yields;
  }
  out->body = copy_block(x, u, &element->body, FILTER_ALL);
  return out;
}

static AstState* copy_state(Expander* x, Unit* u, const AstState* state) {
  AstState* out = ARENA_NEW(x->arena, AstState);
  *out = *state;
  out->name = keep_name(x, u, &state->name);
  out->guard = copy_optional(x, u, state->guard);
  out->priority = copy_optional(x, u, state->priority);
  if (state->like) {
    out->like = ARENA_NEW(x->arena, AstName);
    *out->like = keep_name(x, u, state->like);
  }
  if (state->has_body) out->body = copy_block(x, u, &state->body, FILTER_ALL);
  if (state->from.count) out->from.data = ARENA_ARRAY(x->arena, AstName, state->from.count);
  for (uint32_t i = 0; i < state->from.count; i++) {
    out->from.data[i] = keep_name(x, u, &state->from.data[i]);
  }
  return out;
}

static void copy_goto(Expander* x, Unit* u, const AstStatement* s, AstStatement* out) {
  const AstName* automaton = s->as.jump.automaton;
  AstName* state = ARENA_NEW(x->arena, AstName);
  *state = keep_name(x, u, s->as.jump.state);
  out->as.jump.state = state;
  if (!automaton) {
    if (!u->parent) return;
    out->as.jump.automaton = ARENA_NEW(x->arena, AstName);
    NameMaker m = begin_name(x, &u->prefix);
    *out->as.jump.automaton = end_name(&m, s->as.jump.state);
    return;
  }
  out->as.jump.automaton = ARENA_NEW(x->arena, AstName);
  Path path = find_path(x, u, automaton);
  bool fits = path.kind == PATH_NAME || path.kind == PATH_PART;
  *out->as.jump.automaton = fits ? path.name : keep_name(x, u, automaton);
}

static AstNameList flatten_quantities(Expander* x, const AstName* port, const AstNameList* list) {
  AstNameList out = {.count = list->count};
  if (list->count) out.data = ARENA_ARRAY(x->arena, AstName, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    NameMaker m = begin_name(x, port);
    append_word(&m, list->data[i].head);
    out.data[i] = end_name(&m, &list->data[i]);
  }
  return out;
}

static void copy_port(Expander* x, Unit* u, const AstStatement* s, AstStatement* out) {
  const AstPort* port = s->as.port.port;
  AstPort* copy = ARENA_NEW(x->arena, AstPort);
  copy->name = own_name(x, u, &port->name);
  copy->across = flatten_quantities(x, &copy->name, &port->across);
  copy->through = flatten_quantities(x, &copy->name, &port->through);
  out->as.port.port = copy;
  base_vec_push(x->arena, &x->copies, ((PortCopy){u->instance, port, copy}));
}

static bool same_quantities(const AstNameList* a, const AstNameList* b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    if (!str_equal(a->data[i].head, b->data[i].head)) return false;
  }
  return true;
}

static Path connected_port(Expander* x, Unit* u, const AstExpr* e) {
  AstName name = {0};
  if (e->kind == AST_NAME && e->as.name.order == 0) {
    name = e->as.name.name;
  } else if (e->kind == AST_QUALIFIED) {
    name = *e->as.qualified.automaton;
    name.member = e->as.qualified.state;
    name.span = e->span;
  }
  Path path = {.kind = PATH_NAME};
  if (name.head.length) path = find_path(x, u, &name);
  if (path.kind == PATH_PORT || path.kind == PATH_BAD) return path;
  Diag* diag = diag_add(x->diags, DIAG_E0131, e->span, "'connect' joins ports, and this is none");
  diag_hint(x->diags, diag, "a port is declared in a part: port p { across v; through i; }");
  return (Path){.kind = PATH_BAD};
}

static void copy_connect(Expander* x, Unit* u, const AstStatement* s, AstStatement* out) {
  BASE_VEC(AstConnection) list = {0};
  const AstPort* first = NULL;
  for (uint32_t i = 0; i < s->as.connect.ports.count; i++) {
    const AstExpr* e = s->as.connect.ports.data[i];
    Path path = connected_port(x, u, e);
    if (path.kind == PATH_BAD) continue;
    if (!first) first = path.port;
    if (!same_quantities(&first->across, &path.port->across) ||
        !same_quantities(&first->through, &path.port->through)) {
      Diag* diag = diag_add(x->diags, DIAG_E0131, e->span,
                            "this port has other quantities than the first one");
      diag_note(x->diags, diag, path.port->name.span, "it is declared here");
      diag_note(x->diags, diag, first->name.span, "the first one is declared here");
      continue;
    }
    AstConnection connection = {.span = e->span, .outer = path.outer};
    connection.across = flatten_quantities(x, &path.name, &path.port->across);
    connection.through = flatten_quantities(x, &path.name, &path.port->through);
    base_vec_push(x->arena, &list, connection);
  }
  out->as.connect.connections.data = list.data;
  out->as.connect.connections.count = list.count;
}

static AstFunction* copy_function(Expander* x, Unit* u, const AstFunction* f) {
  AstFunction* out = ARENA_NEW(x->arena, AstFunction);
  *out = *f;
  out->name = own_name(x, u, &f->name);
  uint32_t mark = u->table->hidden.count;
  for (uint32_t i = 0; i < f->parameters.count; i++) {
    base_vec_push(x->arena, &u->table->hidden, f->parameters.data[i].head);
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    base_vec_push(x->arena, &u->table->hidden, f->locals.data[i].names.data[0].head);
  }
  out->locals = copy_definitions(x, u, &f->locals);
  out->result = copy_expr(x, u, f->result);
  u->table->hidden.count = mark;
  return out;
}

static AstAfter* copy_after(Expander* x, Unit* u, const AstAfter* after) {
  AstAfter* out = ARENA_NEW(x->arena, AstAfter);
  *out = *after;
  out->delay = copy_expr(x, u, after->delay);
  out->condition = copy_expr(x, u, after->condition);
  out->body = copy_block(x, u, &after->body, FILTER_ALL);
  return out;
}

static void copy_init(Expander* x, Unit* u, const AstStatement* s, AstStatement* out) {
  uint32_t count = s->as.init.items.count;
  out->as.init.items.data = ARENA_ARRAY(x->arena, AstInit, count);
  for (uint32_t i = 0; i < count; i++) {
    AstInit* item = &out->as.init.items.data[i];
    *item = s->as.init.items.data[i];
    item->name = copy_target(x, u, &item->name);
    item->value = copy_expr(x, u, item->value);
  }
}

static void copy_branches(Expander* x, Unit* u, const AstStatement* s, AstStatement* out) {
  uint32_t count = s->as.branches.count;
  out->as.branches.data = ARENA_ARRAY(x->arena, AstBranch, count);
  for (uint32_t i = 0; i < count; i++) {
    AstBranch* branch = &out->as.branches.data[i];
    *branch = s->as.branches.data[i];
    branch->condition = copy_optional(x, u, branch->condition);
    branch->body = copy_block(x, u, &branch->body, FILTER_ALL);
  }
}

static AstNameList copy_targets(Expander* x, Unit* u, const AstNameList* list) {
  AstNameList out = {.count = list->count};
  out.data = ARENA_ARRAY(x->arena, AstName, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    out.data[i] = copy_target(x, u, &list->data[i]);
  }
  return out;
}

static void expand_instance(Expander* x, Unit* u, const AstInstance* instance, Statements* out);

static void copy_statement(Expander* x, Unit* u, const AstStatement* s, Statements* out) {
  AstStatement copy = *s;
  if (!count_work(x, s->span)) return;
  switch (s->kind) {
  case AST_CONST:
  case AST_MACRO: copy.as.definitions = copy_definitions(x, u, &s->as.definitions); break;
  case AST_DATA: {
    copy.as.data = ARENA_NEW(x->arena, AstData);
    *copy.as.data = *s->as.data;
    copy.as.data->name = own_name(x, u, &s->as.data->name);
    break;
  }
  case AST_EQUATION:
    if (s->as.equation.label) {
      copy.as.equation.label = ARENA_NEW(x->arena, AstName);
      *copy.as.equation.label = own_name(x, u, s->as.equation.label);
    }
    copy.as.equation.lhs = copy_expr(x, u, s->as.equation.lhs);
    copy.as.equation.rhs = copy_expr(x, u, s->as.equation.rhs);
    break;
  case AST_INIT: copy_init(x, u, s, &copy); break;
  case AST_DELETE: copy.as.labels = copy_targets(x, u, &s->as.labels); break;
  case AST_ATTRIBUTES:
    copy.as.attributes.name = copy_target(x, u, &s->as.attributes.name);
    copy.as.attributes.settings = copy_settings(x, u, &s->as.attributes.settings);
    break;
  case AST_EXPERIMENT:
    copy.as.attributes.settings = copy_settings(x, u, &s->as.attributes.settings);
    break;
  case AST_ENERGY: copy.as.energy = copy_expr(x, u, s->as.energy); break;
  case AST_ELEMENT: copy.as.element = copy_element(x, u, s->as.element); break;
  case AST_FOR: copy = copy_loop(x, u, s, FILTER_ALL); break;
  case AST_IF: copy_branches(x, u, s, &copy); break;
  case AST_STATE: copy.as.state = copy_state(x, u, s->as.state); break;
  case AST_AUTOMATON:
    copy.as.automaton.name = ARENA_NEW(x->arena, AstName);
    *copy.as.automaton.name = own_name(x, u, s->as.automaton.name);
    copy.as.automaton.body = copy_block(x, u, &s->as.automaton.body, FILTER_ALL);
    break;
  case AST_AT:
    copy.as.at.time = copy_expr(x, u, s->as.at.time);
    copy.as.at.each = copy_optional(x, u, s->as.at.each);
    copy.as.at.repeat = copy_optional(x, u, s->as.at.repeat);
    copy.as.at.priority = copy_optional(x, u, s->as.at.priority);
    copy.as.at.body = copy_block(x, u, &s->as.at.body, FILTER_ALL);
    break;
  case AST_INVARIANT: copy.as.invariant = copy_expr(x, u, s->as.invariant); break;
  case AST_GOTO: copy_goto(x, u, s, &copy); break;
  case AST_FUNCTION: copy.as.function = copy_function(x, u, s->as.function); break;
  case AST_PORT: copy_port(x, u, s, &copy); break;
  case AST_CONNECT: copy_connect(x, u, s, &copy); break;
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

// ---------------------------------------------------------------------------------------------
// instances

static void report_argument(Expander* x, const AstPart* part, Span span, Str name,
                            const char* message) {
  Diag* diag = diag_add(x->diags, DIAG_E0217, span, "'%.*s' %s", STR_ARGS(name), message);
  diag_note(x->diags, diag, part->name.span, "the part is declared here");
}

/// The argument for a parameter; NULL when there is none.
static const AstArgument* find_argument(const AstInstance* instance, Str name) {
  for (uint32_t i = 0; i < instance->arguments.count; i++) {
    if (str_equal(instance->arguments.data[i].name.head, name)) return &instance->arguments.data[i];
  }
  return NULL;
}

static void check_arguments(Expander* x, const Table* table, const AstInstance* instance) {
  for (uint32_t i = 0; i < instance->arguments.count; i++) {
    const AstArgument* argument = &instance->arguments.data[i];
    Str name = argument->name.head;
    const Member* member = find_member(table, name);
    if (!member || member->kind != MEMBER_PARAMETER) {
      report_argument(x, table->part, argument->name.span, name, "is no parameter of this part");
    } else if (find_argument(instance, name) != argument) {
      report_argument(x, table->part, argument->name.span, name, "is given twice");
    }
  }
}

/// Whether an expression, copied for a unit, reads the index of an array of parts.
static bool reads_index(Expander* x, const AstExpr* e);

static bool name_reads_index(Expander* x, const AstName* name) {
  for (uint32_t i = 0; i < name->head.length; i++) {
    if (name->head.data[i] == '#') return true;
  }
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstExprList* subscripts = &name->indices.data[i].subscripts;
    for (uint32_t k = 0; k < subscripts->count; k++) {
      if (reads_index(x, subscripts->data[k])) return true;
    }
  }
  return false;
}

static bool any_reads_index(Expander* x, const AstExprList* list) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (reads_index(x, list->data[i])) return true;
  }
  return false;
}

static bool reads_index(Expander* x, const AstExpr* e) {
  switch (e->kind) {
  case AST_NAME: return name_reads_index(x, &e->as.name.name);
  case AST_CALL: return any_reads_index(x, &e->as.call.args);
  case AST_REDUCTION: {
    for (uint32_t i = 0; i < e->as.reduction.iterators.count; i++) {
      const AstRange* range = &e->as.reduction.iterators.data[i].range;
      if (reads_index(x, range->first) || (range->last && reads_index(x, range->last))) return true;
    }
    return reads_index(x, e->as.reduction.body);
  }
  case AST_CONDITIONAL:
    return reads_index(x, e->as.conditional.condition) ||
           reads_index(x, e->as.conditional.then_value) ||
           reads_index(x, e->as.conditional.else_value);
  case AST_ATOM: return reads_index(x, e->as.atom.condition);
  case AST_UNARY: return reads_index(x, e->as.unary.operand);
  case AST_POWER: return reads_index(x, e->as.power.base) || reads_index(x, e->as.power.exponent);
  case AST_CHAIN:
    for (uint32_t i = 0; i < e->as.chain.links.count; i++) {
      if (reads_index(x, e->as.chain.links.data[i].operand)) return true;
    }
    return false;
  case AST_ERROR:
  case AST_NUMBER:
  case AST_QUALIFIED: break;
  }
  return false;
}

/// Names of the indices of an array as they are written: i, j, k unless they are given.
static Str index_word(const AstInstance* instance, uint32_t i) {
  static const char* const usual[] = {"i", "j", "k"};
  Str given = instance->sizes.data[i].variable;
  return given.length ? given : str_from_c(usual[i < 3 ? i : 2]);
}

static AstExpr* loop_variable(Expander* x, Str variable, Span span) {
  AstExpr* e = ARENA_NEW(x->arena, AstExpr);
  e->kind = AST_NAME;
  e->depth = 1;
  e->span = span;
  e->as.name.name = (AstName){.span = span, .head = variable, .number = ++x->name_count};
  return e;
}

/// An argument of an array may read the index: a word that is none of the names around it.
static AstExpr* copy_argument(Expander* x, Unit* parent, Unit* u, const AstExpr* e) {
  uint32_t count = u->instance->sizes.count;
  if (count == 0) return copy_expr(x, parent, e);
  Table* table = parent->table;
  uint32_t mark = table->hidden.count;
  for (uint32_t i = 0; i < count; i++) {
    base_vec_push(x->arena, &table->hidden, index_word(u->instance, i));
  }
  AstExpr* copy = copy_expr(x, parent, e);
  table->hidden.count = mark;
  return copy;
}

/// Replace the words for the indices by the variables of the loops, in a copy.
static void rename_indices(Expander* x, const Unit* u, AstExpr* e);

static void rename_name(Expander* x, const Unit* u, AstName* name) {
  for (uint32_t i = 0; ast_name_is_plain(name) && i < u->instance->sizes.count; i++) {
    if (str_equal(name->head, index_word(u->instance, i))) {
      name->head = u->variables[i];
      name->number = ++x->name_count;
      return;
    }
  }
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstExprList* subscripts = &name->indices.data[i].subscripts;
    for (uint32_t k = 0; k < subscripts->count; k++) {
      rename_indices(x, u, subscripts->data[k]);
    }
  }
}

static void rename_indices(Expander* x, const Unit* u, AstExpr* e) {
  switch (e->kind) {
  case AST_NAME: rename_name(x, u, &e->as.name.name); break;
  case AST_CALL:
    for (uint32_t i = 0; i < e->as.call.args.count; i++) {
      rename_indices(x, u, e->as.call.args.data[i]);
    }
    break;
  case AST_REDUCTION:
    for (uint32_t i = 0; i < e->as.reduction.iterators.count; i++) {
      AstIterator* iterator = &e->as.reduction.iterators.data[i];
      rename_indices(x, u, iterator->range.first);
      if (iterator->range.last) rename_indices(x, u, iterator->range.last);
    }
    rename_indices(x, u, e->as.reduction.body);
    break;
  case AST_CONDITIONAL:
    rename_indices(x, u, e->as.conditional.condition);
    rename_indices(x, u, e->as.conditional.then_value);
    rename_indices(x, u, e->as.conditional.else_value);
    break;
  case AST_ATOM: rename_indices(x, u, e->as.atom.condition); break;
  case AST_UNARY: rename_indices(x, u, e->as.unary.operand); break;
  case AST_POWER:
    rename_indices(x, u, e->as.power.base);
    rename_indices(x, u, e->as.power.exponent);
    break;
  case AST_CHAIN:
    for (uint32_t i = 0; i < e->as.chain.links.count; i++) {
      rename_indices(x, u, e->as.chain.links.data[i].operand);
    }
    break;
  case AST_ERROR:
  case AST_NUMBER:
  case AST_QUALIFIED: break;
  }
}

/// The value of a parameter, in the words of the model; NULL when there is none.
static AstExpr* parameter_value(Expander* x, Unit* u, uint32_t index) {
  const AstArgument* parameter = &u->table->part->parameters.data[index];
  const AstArgument* argument = find_argument(u->instance, parameter->name.head);
  if (!argument) return copy_optional(x, u, parameter->value);
  AstExpr* value = copy_argument(x, u->parent, u, argument->value);
  if (u->instance->sizes.count) rename_indices(x, u, value);
  return value;
}

/// Find the parameters that depend on an index: those that read others that do, too.
static void find_substitutes(Expander* x, Unit* u) {
  uint32_t count = u->table->part->parameters.count;
  bool found = u->prefix.indices.count > 0;
  while (found) {
    found = false;
    for (uint32_t i = 0; i < count; i++) {
      if (u->substitutes[i]) continue;
      AstExpr* value = parameter_value(x, u, i);
      if (!value || !reads_index(x, value)) continue;
      u->substitutes[i] = value;
      found = true;
    }
  }
}

static Table* find_part(Expander* x, const AstInstance* instance) {
  uint32_t id = names_find(&x->part_names, instance->type.head);
  if (id) return x->parts.data[id];
  Diag* diag = diag_add(x->diags, DIAG_E0215, instance->type.span, "there is no part '%.*s'",
                        STR_ARGS(instance->type.head));
  Str near = {NULL, 0};
  uint32_t best = 3;
  for (uint32_t i = 1; i < x->part_names.names.count; i++) {
    uint32_t distance = str_distance(names_get(&x->part_names, i), instance->type.head, best);
    if (distance >= best) continue;
    best = distance;
    near = names_get(&x->part_names, i);
  }
  Str word = lisma_word_hint(x->arena, &instance->type);
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

static bool check_cycle(Expander* x, const Unit* parent, const Table* table,
                        const AstInstance* instance) {
  bool deep = parent->depth >= EXPAND_DEPTH;
  for (const Unit* u = parent; u; u = u->parent) {
    if (u->table != table && !deep) continue;
    Diag* diag = diag_add(x->diags, DIAG_E0218, instance->span,
                          deep ? "parts inside of parts are nested too deeply"
                               : "the part '%.*s' contains itself",
                          STR_ARGS(table->part->name.head));
    diag_note(x->diags, diag, table->part->name.span, "it is declared here");
    return false;
  }
  return true;
}

/// `cascade[i].pump` and `cascade.pump`.
static void name_unit(Expander* x, Unit* u) {
  const AstInstance* instance = u->instance;
  NameMaker m = begin_name(x, &u->parent->prefix);
  append_word(&m, instance->name.head);
  NameMaker shared = begin_name(x, &(AstName){.head = u->parent->shared});
  append_word(&shared, instance->name.head);
  u->shared = end_name(&shared, &instance->name).head;
  if (instance->sizes.count) {
    AstIndex index = {.span = instance->name.span, .element = true};
    index.subscripts.count = instance->sizes.count;
    index.subscripts.data = ARENA_ARRAY(x->arena, AstExpr*, instance->sizes.count);
    u->variables = ARENA_ARRAY(x->arena, Str, instance->sizes.count);
    for (uint32_t i = 0; i < instance->sizes.count; i++) {
      Str word = index_word(instance, i);
      u->variables[i] = str_format(x->arena, "%.*s#%u", STR_ARGS(word), ++x->loop_count);
      index.subscripts.data[i] = loop_variable(x, u->variables[i], instance->name.span);
    }
    append_index(&m, index);
  }
  u->prefix = end_name(&m, &instance->name);
}

static void add_units(Expander* x, Unit* u);

static Unit* add_unit(Expander* x, Unit* parent, const AstInstance* instance) {
  Table* table = find_part(x, instance);
  if (!table || !check_cycle(x, parent, table, instance)) return NULL;
  check_arguments(x, table, instance);
  x->work += UNIT_WORK;
  if (!count_work(x, instance->span)) return NULL;
  Unit* u = ARENA_NEW(x->arena, Unit);
  u->parent = parent;
  u->instance = instance;
  u->table = table;
  u->depth = parent->depth + 1;
  name_unit(x, u);
  u->substitutes = ARENA_ARRAY(x->arena, AstExpr*, table->part->parameters.count);
  add_units(x, u);
  return u;
}

static void add_units(Expander* x, Unit* u) {
  const AstBlock* body = u->table->body;
  for (uint32_t i = 0; i < body->statements.count && !x->stopped; i++) {
    const AstStatement* s = &body->statements.data[i];
    if (s->kind != AST_INSTANCE || !count_work(x, s->span)) continue;
    for (uint32_t k = 0; k < s->as.instances.count; k++) {
      Unit* child = add_unit(x, u, &s->as.instances.data[k]);
      base_vec_push(x->arena, &u->children, child);
    }
  }
}

/// Constants for the parameters; those that depend on an index take their places instead.
static void expand_parameters(Expander* x, Unit* u, Statements* out) {
  const AstArgumentList* parameters = &u->table->part->parameters;
  AstStatement s = {.kind = AST_CONST, .span = u->instance->span};
  BASE_VEC(AstDefinition) list = {0};
  find_substitutes(x, u);
  for (uint32_t i = 0; i < parameters->count; i++) {
    if (u->substitutes[i]) continue;
    AstExpr* value = parameter_value(x, u, i);
    if (!value) {
      report_argument(x, u->table->part, u->instance->span, parameters->data[i].name.head,
                      "has no default and is not given here");
      continue;
    }
    AstDefinition definition = {.span = u->instance->span, .value = value};
    NameMaker m = begin_name(x, &(AstName){.head = u->shared});
    append_word(&m, parameters->data[i].name.head);
    definition.names.data = ARENA_NEW(x->arena, AstName);
    definition.names.data[0] = end_name(&m, &parameters->data[i].name);
    definition.names.data[0].span = u->instance->span;
    definition.names.count = 1;
    base_vec_push(x->arena, &list, definition);
  }
  s.as.definitions.data = list.data;
  s.as.definitions.count = list.count;
  if (list.count) base_vec_push(x->arena, out, s);
}

/// The unnamed automaton of a part has the name of the instance.
static void expand_states(Expander* x, Unit* u, Statements* out) {
  AstBlock states = copy_block(x, u, u->table->body, FILTER_STATES);
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
static AstStatement wrap_loops(Expander* x, Unit* u, AstStatement s) {
  const AstInstance* instance = u->instance;
  for (uint32_t i = instance->sizes.count; i > 0; i--) {
    const AstIterator* size = &instance->sizes.data[i - 1];
    AstStatement loop = {.kind = AST_FOR, .span = instance->span};
    AstRange range = copy_range(x, u->parent, &size->range);
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

static void push_instance(Expander* x, Unit* u, Statements* body, Statements* out) {
  if (body->count == 0) return;
  AstStatement s = {.kind = AST_INSTANCE, .span = u->instance->span};
  AstInstance* copy = ARENA_NEW(x->arena, AstInstance);
  *copy = *u->instance;
  copy->name = u->prefix;
  copy->body.span = u->instance->span;
  copy->body.statements.data = body->data;
  copy->body.statements.count = body->count;
  s.as.instances.data = copy;
  s.as.instances.count = 1;
  base_vec_push(x->arena, out, s);
}

/// The constants of a unit and of the parts inside of it stand before the loops of its arrays.
static void expand_constants(Expander* x, Unit* u, Statements* out) {
  Statements constants = {0};
  expand_parameters(x, u, &constants);
  for (uint32_t i = 0; i < u->children.count; i++) {
    if (u->children.data[i]) expand_constants(x, u->children.data[i], &constants);
  }
  push_instance(x, u, &constants, out);
}

static void expand_instance(Expander* x, Unit* parent, const AstInstance* instance,
                            Statements* out) {
  const Member* member = find_member(parent->table, instance->name.head);
  bool own = member && member->kind == MEMBER_INSTANCE && member->instance == instance;
  Unit* u = own ? find_child(parent, member) : NULL;
  if (!u) return;  // told before
  if (!parent->parent) expand_constants(x, u, out);
  Statements body = {0};
  for (uint32_t i = 0; i < u->table->body->statements.count && !x->stopped; i++) {
    copy_filtered(x, u, &u->table->body->statements.data[i], FILTER_OTHERS, &body);
  }
  expand_states(x, u, &body);
  Statements one = {0};
  push_instance(x, u, &body, &one);
  if (one.count) base_vec_push(x->arena, out, wrap_loops(x, u, one.data[0]));
}

/// Ports whose variables are named outside, and not by `connect` alone, are not left open.
static void close_ports(Expander* x) {
  for (uint32_t i = 0; i < x->copies.count; i++) {
    const PortCopy* c = &x->copies.data[i];
    c->copy->named =
        map_get(&x->uses, (uint64_t)(uintptr_t)c->instance, (uint64_t)(uintptr_t)c->port) != 0;
  }
}

const AstModel* lisma_expand(Arena* arena, const AstModel* model, DiagList* diags) {
  if (!model->has_parts) return model;
  Expander x = {.arena = arena, .model = model, .diags = diags, .name_count = model->name_count};
  x.uses.arena = arena;
  names_init(&x.part_names, arena);
  collect_parts(&x);
  Unit top = {.table = x.top, .shared = STR_LIT("")};
  add_units(&x, &top);
  AstModel* out = ARENA_NEW(arena, AstModel);
  *out = *model;
  out->body = copy_block(&x, &top, &model->body, FILTER_ALL);
  out->name_count = x.name_count;
  close_ports(&x);
  return out;
}
