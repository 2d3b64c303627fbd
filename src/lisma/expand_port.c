// SPDX-License-Identifier: MIT
//
// Ports and connections: a port `p` with quantities v and i is the names p.v and p.i.
#include "lisma/expand_internal.h"

/// The names of a port's quantities, as they stand at `place`, or where they are declared.
static AstNameList flatten_quantities(Expander* x, const AstName* port, const AstNameList* list,
                                      const Span* place) {
  AstNameList out = {.count = list->count};
  if (list->count) out.data = ARENA_ARRAY(x->arena, AstName, list->count);
  for (uint32_t i = 0; i < list->count; i++) {
    NameMaker m = expand_begin_name(x, port);
    expand_append_word(&m, list->data[i].head);
    out.data[i] = expand_end_name(&m, &list->data[i]);
    if (place) out.data[i].span = *place;
  }
  return out;
}

void expand_copy_port(Expander* x, Component* u, const AstStatement* s, AstStatement* out) {
  const AstPort* port = s->as.port.port;
  AstPort* copy = ARENA_NEW(x->arena, AstPort);
  copy->name = expand_own_name(x, u, &port->name);
  copy->across = flatten_quantities(x, &copy->name, &port->across, NULL);
  copy->through = flatten_quantities(x, &copy->name, &port->through, NULL);
  copy->outermost = u->depth == 1 && u->instance->sizes.count == 0;
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

static Path connected_port(Expander* x, Component* u, const AstExpr* e) {
  AstName name = {0};
  Path path = {.kind = PATH_NAME};
  if (ast_path(e, &name)) path = expand_find_path(x, u, &name);
  if (path.kind == PATH_PORT || path.kind == PATH_BAD) return path;
  Diag* diag = diag_add(x->diags, DIAG_E0131, e->span, "'connect' joins ports, and this is none");
  diag_hint(x->diags, diag,
            path.kind == PATH_PART
                ? "it is a part: name one of its ports, as PART.PORT"
                : "a port is declared in a part: port p { across v; through i; }");
  return (Path){.kind = PATH_BAD};
}

void expand_copy_connect(Expander* x, Component* u, const AstStatement* s, AstStatement* out) {
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
    connection.across = flatten_quantities(x, &path.name, &path.port->across, &e->span);
    connection.through = flatten_quantities(x, &path.name, &path.port->through, &e->span);
    base_vec_push(x->arena, &list, connection);
  }
  out->as.connect.connections.data = list.data;
  out->as.connect.connections.count = list.count;
}

void expand_copy_equation(Expander* x, Component* u, const AstStatement* s, AstStatement* out) {
  if (s->as.equation.label) {
    out->as.equation.label = ARENA_NEW(x->arena, AstName);
    *out->as.equation.label = expand_own_name(x, u, s->as.equation.label);
  }
  AstExpr* lhs = expand_copy_expr(x, u, s->as.equation.lhs);
  out->as.equation.lhs = lhs;
  x->computes = lhs->kind == AST_NAME;
  out->as.equation.rhs = expand_copy_expr(x, u, s->as.equation.rhs);
  x->computes = false;
}

void expand_use_port(Expander* x, const Component* owner, const AstPort* port) {
  bool closes = port->through.count > 0;  // what has no flow cannot be closed by leaving it open
  if (closes && x->reads) return;
  uint64_t instance = (uint64_t)(uintptr_t)owner->instance;
  uint64_t key = (uint64_t)(uintptr_t)port;
  bool given = !closes || (x->bodies && !x->computes);
  if (given || !map_get(&x->uses, instance, key)) {
    map_set(&x->uses, instance, key, given ? AST_PORT_GIVEN : AST_PORT_NAMED);
  }
}

void expand_note_uses(Expander* x) {
  for (uint32_t i = 0; i < x->copies.count; i++) {
    const PortCopy* c = &x->copies.data[i];
    c->copy->use =
        (uint8_t)map_get(&x->uses, (uint64_t)(uintptr_t)c->instance, (uint64_t)(uintptr_t)c->port);
  }
}
