// SPDX-License-Identifier: MIT
//
// Connections. Ports that are joined, by one `connect` or by several, are one node: their across
// quantities are equal, their through quantities sum to zero. Through quantities count into the
// part; a port of the part around is seen from its inside, so what enters there leaves here.
// A port that nothing joins lets nothing through, unless equations outside of its part say what
// does: the equation `flow = 0` is made where the others leave something undetermined for it.
//
// Nodes are found by union of the names of their variables, instance by instance, and the equations
// are written as terms: a row of a million connections has a handful of shapes.
#include "lisma/lower.h"

static uint32_t root_of(Lower* l, uint32_t port) {
  PortNode* ports = l->ports.all.data;
  while (ports[port].root != port) {
    ports[port].root = ports[ports[port].root].root;
    port = ports[port].root;
  }
  return port;
}

static bool push_names(Lower* l, const AstNameList* list) {
  for (uint32_t i = 0; i < list->count; i++) {
    uint32_t name = resolve_name(l, &list->data[i]);
    if (name == 0) return false;
    resolve_var(l, name, list->data[i].span);
    base_vec_push(l->scratch, &l->ports.names, name);
  }
  return true;
}

/// The node of a port, new or not; IR_NONE after an error.
static uint32_t find_port(Lower* l, const AstNameList* across, const AstNameList* through,
                          bool outer, Span span) {
  uint32_t first = l->ports.names.count;
  if (!push_names(l, across) || !push_names(l, through) || l->ports.names.count == first) {
    l->ports.names.count = first;
    return IR_NONE;
  }
  uint32_t key = l->ports.names.data[first];
  uint32_t known = map_get(&l->ports.ids, key, outer);
  if (known) {
    l->ports.names.count = first;
    return known - 1;
  }
  uint32_t port = l->ports.all.count;
  PortNode node = {.first = first,
                   .across = across->count,
                   .through = through->count,
                   .root = port,
                   .next = IR_NONE,
                   .outer = outer,
                   .span = span};
  base_vec_push(l->scratch, &l->ports.all, node);
  map_set(&l->ports.ids, key, outer, port + 1);
  return port;
}

void lower_port(Lower* l, const AstStatement* statement) {
  const AstPort* port = statement->as.port.port;
  uint32_t node = find_port(l, &port->across, &port->through, false, port->name.span);
  if (node == IR_NONE) return;
  PortNode* p = &l->ports.all.data[node];
  p->use = port->use;
  p->terminal = port->outermost ? port : NULL;
  for (uint32_t i = 0; i < p->across + p->through; i++) {
    Symbol symbol = *resolve_symbol(l, l->ports.names.data[p->first + i]);
    if (symbol.kind == SYM_VAR)
      l->names.vars.data[symbol.index].flags |= VAR_STRONG | VAR_IN_EQUATION;
  }
}

void lower_connect(Lower* l, const AstStatement* statement) {
  const AstConnectionList* list = &statement->as.connect.connections;
  uint32_t first = IR_NONE;
  for (uint32_t i = 0; i < list->count; i++) {
    const AstConnection* c = &list->data[i];
    uint32_t port = find_port(l, &c->across, &c->through, c->outer, statement->span);
    if (port == IR_NONE) continue;
    l->ports.all.data[port].joined = true;
    l->ports.all.data[port].span = statement->span;
    if (first == IR_NONE) {
      first = port;
    } else {
      uint32_t a = root_of(l, first);
      uint32_t b = root_of(l, port);
      // the older one leads: its set begins with it
      l->ports.all.data[a > b ? a : b].root = a > b ? b : a;
    }
  }
}

static ExprId quantity(Lower* l, const PortNode* port, uint32_t index) {
  Symbol symbol = *resolve_symbol(l, l->ports.names.data[port->first + index]);
  VarInfo* info = &l->names.vars.data[symbol.index];
  info->flags |= VAR_IN_EQUATION;
  info->uses++;
  return ir_term_var(&l->terms.builder, symbol.index, 0, IR_NOW);
}

static void add_equation(Lower* l, TermFrame frame, ExprId left, ExprId right, Span span) {
  IrTerm term = lower_end(l, frame, lower_op(l, IR_EQUALS, left, right));
  IrEquation equation = {.term = term, .body = 0, .lhs_var = IR_NONE, .span = span};
  base_vec_push(l->arena, &l->m->equations, equation);
}

/// Equal potentials and Kirchhoff's sum, of the set that begins with `root`.
static void add_node(Lower* l, uint32_t root) {
  const PortNode* first = &l->ports.all.data[root];
  for (uint32_t k = 0; k < first->across; k++) {
    for (uint32_t p = first->next; p != IR_NONE; p = l->ports.all.data[p].next) {
      TermFrame frame = lower_begin(l);
      ExprId left = quantity(l, &l->ports.all.data[p], k);
      ExprId right = quantity(l, first, k);
      add_equation(l, frame, left, right, l->ports.all.data[p].span);
    }
  }
  for (uint32_t k = 0; k < first->through; k++) {
    TermFrame frame = lower_begin(l);
    ExprId sum = {0};
    for (uint32_t p = root; p != IR_NONE; p = l->ports.all.data[p].next) {
      const PortNode* port = &l->ports.all.data[p];
      ExprId flow = quantity(l, port, port->across + k);
      if (sum.index == 0) {
        sum = port->outer ? lower_op(l, IR_NEG, flow, (ExprId){0}) : flow;
      } else {
        sum = lower_op(l, port->outer ? IR_SUB : IR_ADD, sum, flow);
      }
    }
    ExprId zero = ir_term_number(&l->terms.builder, 0.0);
    add_equation(l, frame, sum, zero, first->span);
  }
}

/// Variables that equations `a = b` say to be others, by either of them.
static void find_equals(Lower* l, Map* equals) {
  for (uint32_t i = 0; i < l->m->equations.count; i++) {
    const IrEquation* e = &l->m->equations.data[i];
    if (e->body != 0 || e->term.leaf_count != 2 || e->lhs_var == IR_NONE || e->lhs_order) continue;
    const IrNode* node = &l->m->pool.nodes.data[e->term.shape.index];
    IrLeaf a = ir_leaf(l->m, e->term, 0);
    IrLeaf b = ir_leaf(l->m, e->term, 1);
    bool slots = l->m->pool.nodes.data[node->arg[0]].op == IR_SLOT &&
                 l->m->pool.nodes.data[node->arg[1]].op == IR_SLOT;
    if (!slots || a.kind != IR_LEAF_VAR || b.kind != IR_LEAF_VAR || a.order || b.order) continue;
    map_set(equals, a.id, 0, b.id + 1);
    map_set(equals, b.id, 0, a.id + 1);
  }
}

/// Ports of the model as a whole: what others may join.
static void list_terminals(Lower* l) {
  Map equals = {.arena = l->scratch};
  bool known = false;
  for (uint32_t p = 0; p < l->ports.all.count; p++) {
    const PortNode* port = &l->ports.all.data[p];
    if (!port->terminal || !port->open) continue;
    if (!known) find_equals(l, &equals);
    known = true;
    Str name = port->terminal->name.head;
    for (uint32_t k = 0; k < port->across + port->through; k++) {
      Symbol symbol = *resolve_symbol(l, l->ports.names.data[port->first + k]);
      if (symbol.kind != SYM_VAR) continue;
      uint32_t other = map_get(&equals, symbol.index, 0);
      IrPortQuantity quantity = {.port = str_copy(l->arena, name), .through = k >= port->across};
      quantity.variable = names_get(&l->m->names, l->m->vars.data[symbol.index].name);
      if (other) quantity.given = names_get(&l->m->names, l->m->vars.data[other - 1].name);
      quantity.name = (Str){quantity.variable.data + name.length + 1,
                            quantity.variable.length - name.length - 1};
      base_vec_push(l->arena, &l->m->ports, quantity);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// ports that equations name

#define PLACE_WORK_MAX 100000000u  // leaves looked at

/// Which variable each global equation determines, as far as names tell.
typedef struct Placing {
  uint32_t* equation_of;  // variable -> equation + 1
  uint32_t* variable_of;  // equation -> variable + 1
  uint32_t* reached;      // variable -> search that has reached it
  uint32_t* via;          // ... from which equation
  uint32_t* queue;
  uint32_t search, seen;  // how many variables the last search has reached, in `found`
  uint32_t* found;
  uint64_t work;
} Placing;

/// A value that is given from outside is not what an equation is for.
static bool is_unknown(const Lower* l, uint32_t var) {
  if (l->m->vars.data[var].hidden) return false;
  unsigned flags = l->names.vars.data[var].flags;
  return (flags & VAR_STRONG) || !(flags & (VAR_FIXED | VAR_GUESS | VAR_SET));
}

/// Give an equation a variable, moving others to other variables if need be.
static bool place(const Lower* l, Placing* p, uint32_t equation) {
  uint32_t tail = 0;
  p->search++;
  p->seen = 0;
  p->queue[tail++] = equation;
  for (uint32_t head = 0; head < tail; head++) {
    IrTerm term = l->m->equations.data[p->queue[head]].term;
    p->work += term.leaf_count;
    for (uint32_t k = 0; k < term.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(l->m, term, k);
      uint32_t v = leaf.id;
      if (leaf.kind != IR_LEAF_VAR || p->reached[v] == p->search || !is_unknown(l, v)) continue;
      p->reached[v] = p->search;
      p->via[v] = p->queue[head];
      p->found[p->seen++] = v;
      if (p->equation_of[v]) {
        p->queue[tail++] = p->equation_of[v] - 1;
        continue;
      }
      for (uint32_t from = IR_NONE; from != equation;) {
        from = p->via[v];
        uint32_t before = p->variable_of[from];
        p->equation_of[v] = from + 1;
        p->variable_of[from] = v + 1;
        v = before - 1;
      }
      return true;
    }
  }
  return false;
}

static void place_all(const Lower* l, Placing* p, size_t room) {
  const IrModel* m = l->m;
  p->equation_of = ARENA_ARRAY(l->scratch, uint32_t, m->vars.count);
  p->reached = ARENA_ARRAY(l->scratch, uint32_t, m->vars.count);
  p->via = ARENA_ARRAY(l->scratch, uint32_t, m->vars.count);
  p->found = ARENA_ARRAY(l->scratch, uint32_t, m->vars.count);
  p->variable_of = ARENA_ARRAY(l->scratch, uint32_t, m->equations.count + room);
  p->queue = ARENA_ARRAY(l->scratch, uint32_t, m->equations.count + room);
  for (uint32_t i = 0; i < m->equations.count; i++) {
    uint32_t v = m->equations.data[i].lhs_var;
    if (m->equations.data[i].body || v == IR_NONE || p->equation_of[v]) continue;
    p->equation_of[v] = i + 1;
    p->variable_of[i] = v + 1;
  }
  for (uint32_t i = 0; i < m->equations.count && p->work < PLACE_WORK_MAX; i++) {
    if (!m->equations.data[i].body && !p->variable_of[i]) place(l, p, i);
  }
}

/// Close what the model leaves open. Where it is one of several ports and nothing tells which, none
/// of them is closed, and what is missing is told by name.
static void close_named(Lower* l, const uint32_t* ports, uint32_t count) {
  Placing p = {0};
  size_t room = 0;
  for (uint32_t i = 0; i < count; i++) {
    room += l->ports.all.data[ports[i]].through;
  }
  uint32_t first = l->m->equations.count;
  place_all(l, &p, room);
  bool* doubtful = ARENA_ARRAY(l->scratch, bool, room);
  uint32_t* owner = ARENA_ARRAY(l->scratch, uint32_t, room);
  for (uint32_t i = 0; i < count; i++) {
    add_node(l, ports[i]);
    for (uint32_t e = l->m->equations.count - l->ports.all.data[ports[i]].through;
         e < l->m->equations.count; e++) {
      owner[e - first] = ports[i];
      if (p.work >= PLACE_WORK_MAX || place(l, &p, e)) continue;
      doubtful[e - first] = true;
      for (uint32_t k = 0; k < p.seen; k++) {
        uint32_t other = p.equation_of[p.found[k]];
        if (other > first) doubtful[other - 1 - first] = true;
      }
    }
  }
  uint32_t kept = first;
  for (uint32_t e = first; e < l->m->equations.count; e++) {
    if (doubtful[e - first]) {
      l->ports.all.data[owner[e - first]].open = true;
    } else {
      l->m->equations.data[kept++] = l->m->equations.data[e];
    }
  }
  l->m->equations.count = kept;
}

void lower_connections(Lower* l) {
  uint32_t count = l->ports.all.count;
  if (count == 0) return;
  uint32_t* last = ARENA_ARRAY(l->scratch, uint32_t, count);  // of the list of each set
  uint32_t* named = ARENA_ARRAY(l->scratch, uint32_t, count);
  uint32_t named_count = 0;
  for (uint32_t p = 0; p < count; p++) {
    uint32_t root = root_of(l, p);
    if (root != p) l->ports.all.data[last[root]].next = p;
    last[root] = p;
  }
  for (uint32_t p = 0; p < count; p++) {
    PortNode* port = &l->ports.all.data[p];
    if (port->root != p || (!port->joined && port->outer)) continue;
    if (port->joined || port->use == AST_PORT_UNUSED) {
      add_node(l, p);
    } else if (port->use == AST_PORT_NAMED) {
      named[named_count++] = p;
    } else {
      port->open = true;
    }
  }
  if (named_count) close_named(l, named, named_count);
  list_terminals(l);
}
