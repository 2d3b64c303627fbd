// SPDX-License-Identifier: MIT
//
// Names under the prefix of a component: `h` in the component `upper` is upper.h; and paths from
// one component to members of others.
#include "lisma/expand_internal.h"

NameMaker expand_begin_name(Expander* x, const AstName* prefix) {
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

void expand_append_word(NameMaker* m, Str word) {
  bool empty = m->indices.count == 0 && m->text.length == 0;
  if (!empty) text_append_char(&m->text, '.');
  text_append(&m->text, word);
}

void expand_append_index(NameMaker* m, AstIndex index) {
  close_text(m);
  base_vec_push(m->x->arena, &m->indices, index);
  m->text = (TextBuffer){.arena = m->x->arena};
  text_append(&m->text, index.tail);
}

/// The indices of a written name, with what they hold looked up in the component.
static void append_indices(NameMaker* m, Component* u, const AstName* written, bool element) {
  for (uint32_t i = 0; i < written->indices.count; i++) {
    AstIndex index = written->indices.data[i];
    index.subscripts = expand_copy_exprs(m->x, u, &index.subscripts);
    index.element = element;
    expand_append_index(m, index);
  }
}

AstName expand_end_name(NameMaker* m, const AstName* written) {
  close_text(m);
  AstName name = m->name;
  name.span = written->span;
  name.quoted = written->quoted || m->name.head.length != written->head.length;
  name.number = ++m->x->name_count;
  name.indices.data = m->indices.data;
  name.indices.count = m->indices.count;
  return name;
}

AstName expand_keep_name(Expander* x, Component* u, const AstName* written) {
  AstName name = *written;
  name.number = ++x->name_count;
  name.member = NULL;
  if (written->indices.count == 0) return name;
  name.indices.data = ARENA_ARRAY(x->arena, AstIndex, written->indices.count);
  for (uint32_t i = 0; i < written->indices.count; i++) {
    name.indices.data[i] = written->indices.data[i];
    name.indices.data[i].subscripts = expand_copy_exprs(x, u, &written->indices.data[i].subscripts);
  }
  return name;
}

AstName expand_own_name(Expander* x, Component* u, const AstName* written) {
  if (!u->parent) return expand_keep_name(x, u, written);
  NameMaker m = expand_begin_name(x, &u->prefix);
  expand_append_word(&m, written->head);
  append_indices(&m, u, written, false);
  return expand_end_name(&m, written);
}

Component* expand_find_child(const Component* u, const Member* member) {
  return member->index < u->children.count ? u->children.data[member->index] : NULL;
}

static Str near_member(const Table* table, Str name) {
  Str near = {NULL, 0};
  uint32_t best = expand_near_limit(name);
  for (uint32_t i = 1; i < table->names.names.count; i++) {
    Str other = names_get(&table->names, i);
    uint32_t distance = str_distance(other, name, best);
    if (distance >= best) continue;
    best = distance;
    near = other;
  }
  return near;
}

#define MEMBERS_SHOWN 8u

/// `a (port), s, v`: ports first, since a wrong name in `connect` is mostly meant to be one.
static Str list_members(Expander* x, const Table* table) {
  TextBuffer text = {.arena = x->arena};
  uint32_t shown = 0;
  for (uint32_t pass = 0; pass < 2; pass++) {
    for (uint32_t i = 1; i < table->names.names.count; i++) {
      Str name = names_get(&table->names, i);
      const Member* member = expand_find_member(table, name);
      bool port = member && member->kind == MEMBER_PORT;
      bool wanted = pass == 0 ? port : member && !port && member->kind != MEMBER_FUNCTION;
      if (!wanted || shown == MEMBERS_SHOWN) continue;
      if (shown++) text_append_c(&text, ", ");
      text_append(&text, name);
      if (port) text_append_c(&text, " (port)");
    }
  }
  return text_str(&text);
}

static Path report_member(Expander* x, const Table* table, const AstName* name) {
  Str part = table->part->name.head;
  Diag* diag = diag_add(x->diags, DIAG_E0216, name->span, "the part '%.*s' has no member '%.*s'",
                        STR_ARGS(part), STR_ARGS(name->head));
  Str near = near_member(table, name->head);
  Str members = near.length ? near : list_members(x, table);
  if (members.length) {
    diag_hint(x->diags, diag, near.length ? "did you mean '%.*s'?" : "it has %.*s",
              STR_ARGS(members));
  }
  diag_note(x->diags, diag, table->part->name.span, "the part is declared here");
  return (Path){.kind = PATH_BAD};
}

Path expand_report_path(Expander* x, const AstName* name, const char* message) {
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
  if (array && given == 0) {
    diag_hint(x->diags, diag, "name one of its elements: %.*s[1%s]", STR_ARGS(name->head),
              instance->sizes.count == 1 ? "" : ", ...");
  }
  diag_note(x->diags, diag, instance->span, "it is declared here");
  return false;
}

/// Ports, parameters and functions of a part are no arrays.
static bool check_single(Expander* x, const AstName* name, const Member* member) {
  MemberKind kind = (MemberKind)member->kind;
  bool single = kind == MEMBER_PORT || kind == MEMBER_PARAMETER || kind == MEMBER_FUNCTION;
  if (!single || ast_name_is_plain(name)) return true;
  Diag* diag =
      diag_add(x->diags, DIAG_E0216, name->span, "'%.*s' is no array", STR_ARGS(name->head));
  diag_note(x->diags, diag, member->span, "it is declared here");
  return false;
}

static bool has_quantity(const AstNameList* list, Str name) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (str_equal(list->data[i].head, name)) return true;
  }
  return false;
}

/// `p` or `p.v`, the prefix being made.
static Path port_path(NameMaker* m, const Component* owner, const Component* from,
                      const AstName* name, const AstPort* port) {
  Expander* x = m->x;
  expand_append_word(m, name->head);
  Path path = {.kind = PATH_PORT, .port = port, .outer = owner == from};
  const AstName* quantity = name->member;
  if (!quantity) {
    path.name = expand_end_name(m, name);
    return path;
  }
  bool known =
      has_quantity(&port->through, quantity->head) || has_quantity(&port->across, quantity->head);
  if (!known || quantity->member || quantity->indices.count) {
    return expand_report_path(x, quantity, "is no quantity of this port");
  }
  if (owner != from) expand_use_port(x, owner, port);
  expand_append_word(m, quantity->head);
  path.kind = PATH_NAME;
  path.name = expand_end_name(m, quantity);
  return path;
}

/// A parameter: its constant, or what takes its place.
static Path parameter_path(Expander* x, const Component* owner, const Component* from,
                           const AstName* name, uint32_t index) {
  Path path = {.kind = PATH_NAME};
  const AstExpr* value = owner->substitutes[index];
  if (!value) {
    NameMaker m = expand_begin_name(x, &(AstName){.head = owner->shared});
    expand_append_word(&m, name->head);
    path.name = expand_end_name(&m, name);
    return path;
  }
  if (owner != from) {
    return expand_report_path(x, name,
                              "depends on the index of its array and is known inside only");
  }
  return (Path){.kind = PATH_VALUE, .value = value};
}

/// A function of a part is one for all elements of an array, under the name without indices; what
/// depends on the element is taken from the place of the call, which is inside of the part.
AstName expand_function_name(Expander* x, const Component* u, const AstName* written) {
  NameMaker m = expand_begin_name(x, &(AstName){.head = u->shared});
  expand_append_word(&m, written->head);
  return expand_end_name(&m, written);
}

static Path state_path(NameMaker* m, Component* from, const AstName* name, const AstName* state) {
  return (Path){.kind = PATH_STATE,
                .name = expand_end_name(m, name),
                .state = expand_keep_name(m->x, from, state)};
}

/// A member that is no part itself: where a path ends.
static Path member_path(NameMaker* m, Component* owner, Component* from, const AstName* name,
                        const Member* member) {
  Expander* x = m->x;
  MemberKind kind = (MemberKind)member->kind;
  if (!check_single(x, name, member)) return (Path){.kind = PATH_BAD};
  if (kind == MEMBER_PORT) return port_path(m, owner, from, name, member->port);
  if (kind == MEMBER_STATE && owner != from && !name->member)
    return state_path(m, from, name, name);
  if (kind == MEMBER_AUTOMATON && name->member) {
    expand_append_word(m, name->head);
    append_indices(m, from, name, false);
    const AstName* state = name->member;
    if (state->member) return expand_report_path(x, state, "has no members");
    return state_path(m, from, name, state);
  }
  if (name->member) return expand_report_path(x, name, "has no members");
  if (kind == MEMBER_PARAMETER) return parameter_path(x, owner, from, name, member->index);
  if (kind == MEMBER_FUNCTION) {
    if (owner != from) return expand_report_path(x, name, "is a function and known inside only");
    return (Path){.kind = PATH_NAME, .name = expand_function_name(x, owner, name)};
  }
  expand_append_word(m, name->head);
  append_indices(m, from, name, false);
  return (Path){.kind = PATH_NAME, .name = expand_end_name(m, name)};
}

/// `row.k`: a parameter that all elements of an array share; NULL for anything else.
static const Member* shared_parameter(const AstName* name, const AstInstance* instance,
                                      const Component* child) {
  if (instance->sizes.count == 0 || name->indices.count || !name->member) return NULL;
  const Member* member = expand_find_member(child->table, name->member->head);
  return member && member->kind == MEMBER_PARAMETER ? member : NULL;
}

/// A name without the digits at its end.
static Str stem_of(Str name) {
  while (name.length && name.data[name.length - 1] >= '0' && name.data[name.length - 1] <= '9')
    name.length--;
  return name;
}

/// The member that another spelling means: `z3` is an element of `z[k]`, and `z[k]` may be `z3`.
static const Member* find_spelling(const Table* table, const AstName* name) {
  if (name->member || name->quoted) return NULL;
  if (ast_name_is_plain(name)) {
    const Member* family = expand_find_member(table, stem_of(name->head));
    return family && family->indexed ? family : NULL;
  }
  for (uint32_t i = 1; i < table->names.names.count; i++) {
    Str other = names_get(&table->names, i);
    Str stem = stem_of(other);
    const Member* member = expand_find_member(table, other);
    bool value = member && (member->kind == MEMBER_VALUE || member->kind == MEMBER_SHARED);
    if (value && stem.length < other.length && str_equal(stem, name->head)) return member;
  }
  return NULL;
}

/// What a path from component `u` leads to. The first name is known to be one of the component's.
static Path follow_path(Expander* x, Component* u, const AstName* name) {
  NameMaker m = expand_begin_name(x, &u->prefix);
  Component* at = u;
  for (;; name = name->member) {
    const Member* member = expand_find_member(at->table, name->head);
    bool own_state = !member && at != u && ast_name_is_word(name, STR_LIT("state"));
    if (own_state) return state_path(&m, u, name, name);
    if (!member) member = find_spelling(at->table, name);
    if (!member) return report_member(x, at->table, name);
    if (member->kind != MEMBER_INSTANCE) return member_path(&m, at, u, name, member);
    Component* child = expand_find_child(at, member);
    const Member* parameter = child ? shared_parameter(name, member->instance, child) : NULL;
    if (parameter) return parameter_path(x, child, u, name->member, parameter->index);
    if (!child || !check_element(x, name, member->instance)) return (Path){.kind = PATH_BAD};
    expand_append_word(&m, name->head);
    append_indices(&m, u, name, true);
    if (!name->member) return (Path){.kind = PATH_PART, .name = expand_end_name(&m, name)};
    at = child;
  }
}

bool expand_is_own(const Component* u, const AstName* name) {
  if (expand_is_hidden(u->table, name->head) && ast_name_is_plain(name)) return false;
  return expand_find_member(u->table, name->head) != NULL;
}

Path expand_find_path(Expander* x, Component* u, const AstName* name) {
  if (expand_is_own(u, name)) {
    const Member* member = expand_find_member(u->table, name->head);
    bool plain = !name->member && member->kind != MEMBER_INSTANCE && member->kind != MEMBER_PORT &&
                 member->kind != MEMBER_PARAMETER && member->kind != MEMBER_FUNCTION;
    if (plain) return (Path){.kind = PATH_NAME, .name = expand_own_name(x, u, name)};
    return follow_path(x, u, name);
  }
  if (name->member) {
    Diag* diag = diag_add(x->diags, DIAG_E0215, name->span, "there is no part '%.*s' here",
                          STR_ARGS(name->head));
    diag_hint(x->diags, diag, "'.' leads to a member of a part, or to a state of an automaton");
    return (Path){.kind = PATH_BAD};
  }
  return (Path){.kind = PATH_NAME, .name = expand_keep_name(x, u, name)};
}

void expand_copy_control(Expander* x, Component* u, const AstStatement* s, AstStatement* out) {
  const AstName* name = &s->as.control.name;
  Path path = name->member ? expand_find_path(x, u, name) : (Path){.kind = PATH_NAME};
  if (path.kind == PATH_STATE) {
    AstName* state = ARENA_NEW(x->arena, AstName);
    *state = path.state;
    out->as.control.name = path.name;
    out->as.control.state = state;
  } else if (path.kind != PATH_BAD) {
    out->as.control.name = expand_copy_target(x, u, name);
  }
}

AstName expand_copy_target(Expander* x, Component* u, const AstName* name) {
  Path path = expand_find_path(x, u, name);
  if (path.kind == PATH_NAME) return path.name;
  if (path.kind != PATH_BAD) expand_report_path(x, name, "cannot be given a value");
  return expand_keep_name(x, u, name);
}
