// SPDX-License-Identifier: MIT
//
// One form for choices: equations of states as data.
//
// A state that replaces `T' = ...` makes another set of equations, and a thousand rooms of two
// states have 2^1000 sets. Where what is replaced is an explicit equation, the alternatives are one
// equation that selects by the state of its automaton, as `if` does:
//
//   T' = if(room is heating, (To - T)/tau + q, (To - T)/tau)
//
// Then there is one set of equations for all combinations, and a change of state is a change of a
// value (local.c: one that concerns few). It does not matter how the alternatives are written: by
// left side, as a labelled group, deleted and added, in an `if` block or in blocks within blocks.
// The selected alternative is computed by the operations it is written with, in their order.
//
// An automaton and the blocks in its bodies are a *cluster*. It is merged if that cannot be told
// from replacing: its bodies hold explicit equations, each of a quantity that all states determine
// and no other cluster edits (merge_value.c), and no loop and no guard of an automaton can see the
// difference (merge_graph.c). Anything else is a structural difference, and stays in its bodies.
// Models of few combinations stay as they are.
//
// A switch whose condition asks for states alone has no event of its own, in models of any size:
// its condition takes its place (merge_fold.c). A choice between equations of different quantities
// goes the other way (merge_split.c).
#include "ir/merge.h"

// ---------------------------------------------------------------------------------------------
// shapes

/// Nodes may have been added since the last visit.
static void make_room(Merge* m) {
  static const uint32_t spare = 1024;
  uint32_t count = m->model->pool.nodes.count;
  if (count <= m->node_room) return;
  m->node_room = count + count / 2 + spare;
  m->stamp = ARENA_ARRAY(m->scratch, uint32_t, m->node_room);
  m->copy = ARENA_ARRAY(m->scratch, uint32_t, m->node_room);
  m->visit = 0;
}

bool merge_visit(Merge* m, uint32_t root, MergeSee* see, void* user) {
  make_room(m);
  m->visit++;
  m->stack.count = 0;
  base_vec_push(m->scratch, &m->stack, root);
  while (m->stack.count) {
    uint32_t node = m->stack.data[m->stack.count - 1];
    const IrNode* n = &m->model->pool.nodes.data[node];
    uint32_t arity = n->op == IR_SLOT ? 0 : ir_op_arity((IrOp)n->op);
    bool ready = m->stamp[node] == m->visit;
    for (uint32_t k = ir_first_arg(n->op); !ready && k < arity; k++) {
      if (m->stamp[n->arg[k]] == m->visit) continue;
      base_vec_push(m->scratch, &m->stack, n->arg[k]);
      break;
    }
    if (!ready && m->stack.data[m->stack.count - 1] != node) continue;
    m->stack.count--;
    if (ready) continue;
    m->stamp[node] = m->visit;
    if (!see(m, node, user)) return false;
  }
  return true;
}

static bool copy_node(Merge* m, uint32_t node, void* user) {
  const ExprId* slots = user;
  IrPool* pool = &m->model->pool;
  IrNode n = pool->nodes.data[node];
  ExprId result;
  if (n.op == IR_SLOT) {
    result = slots[n.arg[0]];
  } else if (n.op == IR_CONST) {
    result = ir_const(pool, n.value);
  } else if (n.op == IR_TABLE) {
    result = ir_table(pool, n.arg[0], (ExprId){m->copy[n.arg[1]]});
  } else {
    uint32_t arity = ir_op_arity((IrOp)n.op);
    ExprId args[3] = {{0}, {0}, {0}};
    for (uint32_t k = 0; k < arity; k++) {
      args[k] = (ExprId){m->copy[n.arg[k]]};
    }
    result = ir_node(pool, (IrOp)n.op, args[0], args[1], args[2]);
  }
  m->copy[node] = result.index;
  return true;
}

ExprId merge_copy(Merge* m, uint32_t root, ExprId* slots) {
  merge_visit(m, root, copy_node, slots);
  return (ExprId){m->copy[root]};
}

static bool is_other_slot(Merge* m, uint32_t node, void* user) {
  const IrNode* n = &m->model->pool.nodes.data[node];
  return n->op != IR_SLOT || n->arg[0] != *(const uint32_t*)user;
}

bool merge_is_explicit(Merge* m, const IrEquation* e) {
  if (e->lhs_var == IR_NONE || e->element) return false;
  uint8_t* known = &m->plain[e->term.shape.index];
  if (!*known) {
    const IrNode* top = &m->model->pool.nodes.data[e->term.shape.index];
    const IrNode* left = &m->model->pool.nodes.data[top->arg[0]];
    bool plain = top->op == IR_EQUALS && left->op == IR_SLOT;
    uint32_t slot = left->arg[0];
    plain = plain && merge_visit(m, top->arg[1], is_other_slot, &slot);
    *known = plain ? 1 : 2;
  }
  if (*known != 1) return false;
  const IrNode* top = &m->model->pool.nodes.data[e->term.shape.index];
  IrLeaf leaf = ir_leaf(m->model, e->term, m->model->pool.nodes.data[top->arg[0]].arg[0]);
  return leaf.kind == IR_LEAF_VAR && leaf.id == e->lhs_var && leaf.order == e->lhs_order;
}

// ---------------------------------------------------------------------------------------------
// who edits what

double ir_combinations(const IrModel* model) {
  double count = 1.0;
  for (uint32_t a = 0; a < model->automata.count && count <= IR_COMBINATIONS_FEW; a++) {
    IrAutomaton automaton = ir_automaton(model, a);
    bool edits = false;
    for (uint32_t s = 0; s < automaton.state_count; s++) {
      edits |= ir_state(model, automaton.state_begin + s).body != IR_NONE;
    }
    if (edits) count *= (double)automaton.state_count;
  }
  return count;
}

static void block_implicit(Merge* m, const IrEquation* e) {
  for (uint32_t k = 0; k < e->term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(m->model, e->term, k);
    if (leaf.kind == IR_LEAF_VAR) m->vars[leaf.id].implicit = true;
  }
}

static void note_equations(Merge* m) {
  const IrModel* model = m->model;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    const IrEquation* e = &model->equations.data[i];
    if (!merge_is_explicit(m, e)) {
      block_implicit(m, e);
      continue;
    }
    MergeVar* var = &m->vars[e->lhs_var];
    if (var->explicit && var->order != e->lhs_order) var->implicit = true;
    var->explicit = true;
    var->order = e->lhs_order;
    if (e->body != 0) continue;
    if (var->base != IR_NONE) var->implicit = true;
    var->base = i;
  }
  for (uint32_t i = 0; i < model->equations.count; i++) {
    const IrEquation* e = &model->equations.data[i];
    for (uint32_t k = 0; k < e->term.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(model, e->term, k);
      bool value = leaf.kind == IR_LEAF_VAR;
      if (value && leaf.order > m->vars[leaf.id].order) m->vars[leaf.id].implicit = true;
    }
  }
  for (uint32_t i = 0; i < model->data.count; i++) {
    const IrData* data = &model->data.data[i];
    if (!data->history) continue;
    m->vars[data->var].blocked = true;
    if (data->lag != IR_NONE) m->vars[data->lag].blocked = true;
  }
}

static void claim(uint32_t* owner, uint32_t cluster) {
  *owner = *owner == IR_NONE || *owner == cluster ? cluster : MERGE_SEVERAL;
}

static void add_target(Merge* m, uint32_t root, uint32_t v) {
  MergeCluster* cluster = &m->clusters[root];
  MergeVar* var = &m->vars[v];
  if (var->cluster == root) return;
  if (var->cluster != IR_NONE) {
    var->blocked = true;
    cluster->good = false;
    return;
  }
  var->cluster = root;
  var->place = cluster->targets.count;
  base_vec_push(m->scratch, &cluster->targets, v);
  if (var->base == IR_NONE) return;
  uint32_t label = m->model->equations.data[var->base].label;
  if (label) claim(&m->label_guest[label], root);
}

/// The whole group is replaced or deleted.
static void add_label(Merge* m, uint32_t root, uint32_t label) {
  if (m->label_owner[label] == root) return;
  claim(&m->label_owner[label], root);
  for (uint32_t e = m->label_first[label]; e != 0; e = m->label_next[e - 1]) {
    const IrEquation* equation = &m->model->equations.data[e - 1];
    if (merge_is_explicit(m, equation)) {
      add_target(m, root, equation->lhs_var);
    } else {
      m->clusters[root].good = false;
    }
  }
}

static void add_body(Merge* m, uint32_t root, uint32_t b) {
  const IrModel* model = m->model;
  const IrBody* body = &model->bodies.data[b];
  for (uint32_t i = 0; i < body->delete_count; i++) {
    add_label(m, root, model->deletes.data[body->delete_begin + i].label);
  }
  for (uint32_t i = 0; i < body->equation_count; i++) {
    const IrEquation* e = &model->equations.data[body->equation_begin + i];
    if (!merge_is_explicit(m, e)) {
      m->clusters[root].good = false;
      continue;
    }
    add_target(m, root, e->lhs_var);
    if (e->label) add_label(m, root, e->label);
  }
}

/// Automata of elements, those that stop with the equations they find, and blocks inside the states
/// of an automaton, which sleep with these, stay as they are.
static bool is_usual(const Merge* m, uint32_t a) {
  const IrAutomaton* automaton = &m->model->automata.data[a];
  if (automaton->kind == IR_AUTOMATON_USER && automaton->hidden) return false;
  if (m->root[a] != a) return m->model->automata.data[m->root[a]].kind == IR_AUTOMATON_SWITCH;
  for (uint32_t s = 0; s < automaton->state_count; s++) {
    if (m->model->states.data[automaton->state_begin + s].stop.data) return false;
  }
  return true;
}

/// The automaton in whose bodies this one stands, at the top level.
static uint32_t find_root(const IrModel* model, uint32_t a) {
  for (;;) {
    uint32_t around = model->automata.data[a].parent_body;
    if (around == IR_NONE || around == 0) return a;
    a = model->bodies.data[around].automaton;
  }
}

static void find_clusters(Merge* m) {
  const IrModel* model = m->model;
  for (uint32_t a = model->automata.count; a-- > 0;) {
    m->root[a] = find_root(model, a);
    uint32_t around = model->automata.data[a].parent_body;
    if (around == IR_NONE || around == 0) continue;
    m->next_child[a] = m->first_child[around];
    m->first_child[around] = a + 1;
  }
  for (uint32_t b = 1; b < model->bodies.count; b++) {
    m->clusters[m->root[model->bodies.data[b].automaton]].good = true;
  }
  for (uint32_t a = 0; a < model->automata.count; a++) {
    if (!is_usual(m, a)) m->clusters[m->root[a]].good = false;
  }
  for (uint32_t b = 1; b < model->bodies.count; b++) {
    add_body(m, m->root[model->bodies.data[b].automaton], b);
  }
}

/// No other cluster edits the same, and nothing but a value is selected.
static bool is_alone(const Merge* m, uint32_t root) {
  const MergeCluster* cluster = &m->clusters[root];
  for (uint32_t t = 0; t < cluster->targets.count; t++) {
    const MergeVar* var = &m->vars[cluster->targets.data[t]];
    if (var->blocked || var->implicit) return false;
    if (var->base == IR_NONE) continue;
    uint32_t label = m->model->equations.data[var->base].label;
    if (label && m->label_owner[label] != IR_NONE && m->label_owner[label] != root) return false;
  }
  return true;
}

static bool owns_labels(const Merge* m, uint32_t root, uint32_t b) {
  const IrModel* model = m->model;
  const IrBody* body = &model->bodies.data[b];
  for (uint32_t i = 0; i < body->delete_count + body->equation_count; i++) {
    uint32_t label =
        i < body->delete_count
            ? model->deletes.data[body->delete_begin + i].label
            : model->equations.data[body->equation_begin + i - body->delete_count].label;
    if (!label) continue;
    uint32_t guest = m->label_guest[label];
    if (m->label_owner[label] != root || (guest != IR_NONE && guest != root)) return false;
  }
  return true;
}

static void choose_clusters(Merge* m) {
  const IrModel* model = m->model;
  for (uint32_t b = 1; b < model->bodies.count; b++) {
    uint32_t root = m->root[model->bodies.data[b].automaton];
    if (m->clusters[root].good && !owns_labels(m, root, b)) m->clusters[root].good = false;
  }
  for (uint32_t a = 0; a < model->automata.count; a++) {
    if (m->clusters[a].good && !is_alone(m, a)) m->clusters[a].good = false;
  }
}

// ---------------------------------------------------------------------------------------------
// rewriting

/// Equations of a cluster as selections; it stays as it is where that cannot be.
static bool merge_cluster(Merge* m, uint32_t root) {
  MergeCluster* cluster = &m->clusters[root];
  uint32_t* value = ARENA_ARRAY(m->scratch, uint32_t, (size_t)cluster->targets.count + 1);
  cluster->good = merge_resolve(m, root, value);
  for (uint32_t t = 0; t < cluster->targets.count && cluster->good; t++) {
    IrEquation equation = merge_equation(m, cluster->targets.data[t], value[t]);
    base_vec_push(m->scratch, &m->merged, equation);
  }
  return cluster->good;
}

/// Drop the bodies of merged automata.
static void drop_bodies(Merge* m, uint32_t* body_of) {
  IrModel* model = m->model;
  uint32_t bodies = 0;
  for (uint32_t b = 0; b < model->bodies.count; b++) {
    IrBody body = model->bodies.data[b];
    bool gone = body.automaton != IR_NONE && m->clusters[m->root[body.automaton]].good;
    body_of[b] = gone ? IR_NONE : bodies;
    if (!gone) model->bodies.data[bodies++] = body;
  }
  model->bodies.count = bodies;
  for (uint32_t b = 0; b < bodies; b++) {
    uint32_t* parent = &model->bodies.data[b].parent;
    if (*parent != IR_NONE) *parent = body_of[*parent];
  }
  for (uint32_t s = 0; s < model->states.count; s++) {
    uint32_t* body = &model->states.data[s].body;
    if (*body != IR_NONE) *body = body_of[*body];
  }
  for (uint32_t a = 0; a < model->automata.count; a++) {
    uint32_t* around = &model->automata.data[a].parent_body;
    if (*around != IR_NONE) *around = body_of[*around];
    if (m->clusters[m->root[a]].good) *around = IR_NONE;
  }
  uint32_t deletes = 0;
  for (uint32_t i = 0; i < model->deletes.count; i++) {
    IrDelete d = model->deletes.data[i];
    d.body = body_of[d.body];
    if (d.body != IR_NONE) model->deletes.data[deletes++] = d;
  }
  model->deletes.count = deletes;
}

/// The list of equations without those that were merged, and with what they became.
static void rewrite(Merge* m) {
  IrModel* model = m->model;
  uint32_t* body_of = ARENA_ARRAY(m->scratch, uint32_t, model->bodies.count);
  drop_bodies(m, body_of);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    IrEquation e = model->equations.data[i];
    const MergeVar* var = e.lhs_var == IR_NONE ? NULL : &m->vars[e.lhs_var];
    bool replaced = var && var->cluster != IR_NONE && m->clusters[var->cluster].good;
    e.body = body_of[e.body];
    if (!replaced) model->equations.data[kept++] = e;
  }
  model->equations.count = kept;
  for (uint32_t i = 0; i < m->merged.count; i++) {
    base_vec_push(model->arena, &model->equations, m->merged.data[i]);
  }
}

static uint32_t* filled(Merge* m, uint32_t count, uint32_t value) {
  uint32_t* list = ARENA_ARRAY(m->scratch, uint32_t, (size_t)count + 1);
  for (uint32_t i = 0; i < count; i++) {
    list[i] = value;
  }
  return list;
}

static void prepare(Merge* m) {
  IrModel* model = m->model;
  m->plain = ARENA_ARRAY(m->scratch, uint8_t, model->pool.nodes.count);
  m->test_of_state = filled(m, model->states.count, 0);
  for (uint32_t i = 0; i < model->mode_tests.count; i++) {
    IrModeTest test = model->mode_tests.data[i];
    m->test_of_state[model->automata.data[test.automaton].state_begin + test.state] = i + 1;
  }
  m->vars = ARENA_ARRAY(m->scratch, MergeVar, (size_t)model->vars.count + 1);
  for (uint32_t v = 0; v < model->vars.count; v++) {
    m->vars[v] = (MergeVar){.cluster = IR_NONE, .base = IR_NONE};
  }
  m->clusters = ARENA_ARRAY(m->scratch, MergeCluster, (size_t)model->automata.count + 1);
  m->root = filled(m, model->automata.count, 0);
  m->next_child = filled(m, model->automata.count, 0);
  m->first_child = filled(m, model->bodies.count, 0);
  uint32_t names = model->names.names.count;
  m->label_owner = filled(m, names, IR_NONE);
  m->label_guest = filled(m, names, IR_NONE);
  m->label_first = filled(m, names, 0);
  m->label_next = filled(m, model->equations.count, 0);
  for (uint32_t i = 0; i < model->equations.count; i++) {
    const IrEquation* e = &model->equations.data[i];
    if (e->body != 0 || e->label == 0) continue;
    m->label_next[i] = m->label_first[e->label];
    m->label_first[e->label] = i + 1;
  }
}

static bool merge_clusters(Merge* m) {
  prepare(m);
  note_equations(m);
  find_clusters(m);
  merge_block_loops_and_guards(m);
  choose_clusters(m);
  bool any = false;
  for (uint32_t a = 0; a < m->model->automata.count; a++) {
    if (m->clusters[a].good) any |= merge_cluster(m, a);
  }
  if (any) rewrite(m);
  return any;
}

bool ir_merge_alternatives(IrModel* model, Arena* scratch) {
  Merge merge = {.model = model, .scratch = scratch};
  bool many = ir_combinations(model) > IR_COMBINATIONS_FEW;
  bool splits = merge_can_split(model);
  if (many || splits || merge_can_fold(model)) ir_unpack(model);
  bool merged = many && merge_clusters(&merge);
  bool folded = merge_fold_switches(&merge);
  bool split = splits && merge_split_choices(&merge);
  return split || folded || merged;
}
