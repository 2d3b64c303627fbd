// SPDX-License-Identifier: MIT
//
// Equations of automata as data.
//
// A state that replaces `T' = ...` makes another set of equations, and a thousand rooms of two
// states have 2^1000 sets. Where what is replaced is an explicit equation, the alternatives are one
// equation that selects by the state of its automaton, as `if` does:
//
//   T' = if(room is heating, (To - T)/tau + q, (To - T)/tau)
//
// Then there is one set of equations for all combinations, and a change of state is a change of a
// value (local.c: one that concerns few). The selected alternative is computed by the operations it
// is written with, in their order.
//
// An automaton is merged if that cannot be told from replacing: its bodies hold explicit equations
// without labels, each of a quantity that all its states determine and no other automaton edits;
// and nobody looks at the quantity itself but the equations of motion. (A guard that reads what the
// new mode computes in another way may reject that mode; a loop of equations may be one in some
// modes only.) Models of few combinations stay as they are.
#include "ir/internal.h"

#include <string.h>

#define MERGE_FROM 256.0  // combinations of states

/// What is known about the variable that is edited.
typedef struct MergeVar {
  uint32_t automaton;  // that edits it; IR_NONE: none
  uint32_t base;       // its one explicit equation in the global body; IR_NONE: none
  uint32_t writers;    // explicit equations in the global body
  uint8_t order;       // of the quantity edited
  uint8_t read;        // 1 + highest order that is read, own left sides left out
  bool blocked;
} MergeVar;

typedef struct Merge {
  IrModel* model;
  Arena* scratch;
  MergeVar* vars;
  bool* automata;   // per automaton: its states have bodies, and all of it can be merged
  uint8_t* plain;   // per node: a shape that was looked at: 1 explicit, 2 not
  uint32_t* stamp;  // per node: visit in which it was seen
  uint32_t* copy;   // ... and its copy
  uint32_t visit, node_count;
  BASE_VEC(uint32_t) stack;
  uint32_t* test_of_state;  // mode test + 1
  BASE_VEC(IrEquation) merged;
} Merge;

// ---------------------------------------------------------------------------------------------
// shapes

/// Visit the nodes below `root`, children first, until `see` says no.
typedef bool MergeSee(Merge* m, uint32_t node, void* user);

static bool visit_nodes(Merge* m, uint32_t root, MergeSee* see, void* user) {
  m->visit++;
  m->stack.count = 0;
  base_vec_push(m->scratch, &m->stack, root);
  while (m->stack.count) {
    uint32_t node = m->stack.data[m->stack.count - 1];
    const IrNode* n = &m->model->pool.nodes.data[node];
    uint32_t first = n->op == IR_TABLE ? 1 : 0;
    uint32_t arity = n->op == IR_SLOT ? 0 : ir_op_arity((IrOp)n->op);
    bool ready = m->stamp[node] == m->visit;
    for (uint32_t k = first; !ready && k < arity; k++) {
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

static bool is_other_slot(Merge* m, uint32_t node, void* user) {
  const IrNode* n = &m->model->pool.nodes.data[node];
  return n->op != IR_SLOT || n->arg[0] != *(const uint32_t*)user;
}

/// Whether the equation is its left side, alone, and a right side that does not read it.
static bool is_plain_equation(Merge* m, const IrEquation* e) {
  if (e->lhs_var == IR_NONE || e->label || e->element) return false;
  uint8_t* known = &m->plain[e->term.shape.index];
  if (!*known) {
    const IrNode* top = &m->model->pool.nodes.data[e->term.shape.index];
    const IrNode* left = &m->model->pool.nodes.data[top->arg[0]];
    bool plain = top->op == IR_EQUALS && left->op == IR_SLOT;
    uint32_t slot = left->arg[0];
    plain = plain && visit_nodes(m, top->arg[1], is_other_slot, &slot);
    *known = plain ? 1 : 2;
  }
  const IrNode* top = &m->model->pool.nodes.data[e->term.shape.index];
  if (*known != 1) return false;
  IrLeaf leaf = ir_leaf(m->model, e->term, m->model->pool.nodes.data[top->arg[0]].arg[0]);
  return leaf.kind == IR_LEAF_VAR && leaf.id == e->lhs_var && leaf.order == e->lhs_order;
}

// ---------------------------------------------------------------------------------------------
// what may be merged

/// Combinations of the states of automata that edit equations.
static double combinations(const IrModel* model) {
  double count = 1.0;
  for (uint32_t a = 0; a < model->automata.count && count <= MERGE_FROM; a++) {
    IrAutomaton automaton = ir_automaton(model, a);
    bool edits = false;
    for (uint32_t s = 0; s < automaton.state_count; s++) {
      edits |= ir_state(model, automaton.state_begin + s).body != IR_NONE;
    }
    if (edits) count *= (double)automaton.state_count;
  }
  return count;
}

/// Numbers, parameters and values: nothing that has events of its own.
static bool reads_plainly(const IrModel* model, IrTerm term) {
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(model, term, k);
    bool value = leaf.kind == IR_LEAF_VAR && leaf.when == IR_NOW;
    if (!value && leaf.kind != IR_LEAF_NUMBER && leaf.kind != IR_LEAF_PARAM) return false;
  }
  return true;
}

/// Note which variables the automaton's bodies edit; false: not in the way that is merged here.
static bool note_edits(Merge* m, uint32_t a) {
  const IrModel* model = m->model;
  const IrAutomaton* automaton = &model->automata.data[a];
  bool good = automaton->kind == IR_AUTOMATON_USER && !automaton->hidden &&
              automaton->parent_body == IR_NONE;
  bool any = false;
  for (uint32_t s = 0; s < automaton->state_count; s++) {
    uint32_t b = model->states.data[automaton->state_begin + s].body;
    if (b == IR_NONE) continue;
    any = true;
    const IrBody* body = &model->bodies.data[b];
    good &= body->parent == IR_NONE && body->delete_count == 0;
    for (uint32_t i = 0; i < body->equation_count; i++) {
      const IrEquation* e = &model->equations.data[body->equation_begin + i];
      if (e->lhs_var == IR_NONE) {
        good = false;
        continue;
      }
      MergeVar* var = &m->vars[e->lhs_var];
      bool first = var->automaton == IR_NONE;
      if (first) var->order = e->lhs_order;
      if (!first && (var->automaton != a || var->order != e->lhs_order)) var->blocked = true;
      if (first) var->automaton = a;
      if (!is_plain_equation(m, e) || !reads_plainly(model, e->term)) good = false;
    }
  }
  return good && any;
}

/// Own left sides are no reading.
static void note_reads(Merge* m, IrTerm term, const IrEquation* equation) {
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(m->model, term, k);
    if (leaf.kind != IR_LEAF_VAR) continue;
    bool own = equation && leaf.id == equation->lhs_var && leaf.order == equation->lhs_order &&
               is_plain_equation(m, equation);
    MergeVar* var = &m->vars[leaf.id];
    if (!own && leaf.order + 1 > var->read) var->read = (uint8_t)(leaf.order + 1);
  }
}

/// An algebraic quantity may be read by equations of motion alone, of quantities that nobody reads.
static void block_readers(Merge* m, const IrEquation* equation) {
  bool motion = equation && is_plain_equation(m, equation) && equation->lhs_order > 0 &&
                m->vars[equation->lhs_var].read <= equation->lhs_order;
  IrTerm term = equation->term;
  for (uint32_t k = 0; k < term.leaf_count && !motion; k++) {
    IrLeaf leaf = ir_leaf(m->model, term, k);
    if (leaf.kind != IR_LEAF_VAR || leaf.id == equation->lhs_var) continue;
    MergeVar* var = &m->vars[leaf.id];
    if (var->automaton != IR_NONE && var->order == 0) var->blocked = true;
  }
}

static void block_atoms(Merge* m) {
  const IrModel* model = m->model;
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    IrTerm g = model->atoms.data[i].g;
    for (uint32_t k = 0; k < g.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(model, g, k);
      if (leaf.kind != IR_LEAF_VAR) continue;
      MergeVar* var = &m->vars[leaf.id];
      if (var->automaton != IR_NONE && leaf.order >= var->order) var->blocked = true;
    }
  }
  for (uint32_t i = 0; i < model->data.count; i++) {
    if (model->data.data[i].past) m->vars[model->data.data[i].var].blocked = true;
  }
}

static void look_at_equations(Merge* m) {
  const IrModel* model = m->model;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    const IrEquation* e = &model->equations.data[i];
    note_reads(m, e->term, e);
    if (e->body != 0 || e->lhs_var == IR_NONE) continue;
    MergeVar* var = &m->vars[e->lhs_var];
    var->writers++;
    bool usable = is_plain_equation(m, e) && reads_plainly(model, e->term);
    if (usable) var->base = i;
    if (!usable || var->writers > 1) var->blocked = true;
  }
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    note_reads(m, model->atoms.data[i].g, NULL);
  }
  for (uint32_t i = 0; i < model->equations.count; i++) {
    block_readers(m, &model->equations.data[i]);
  }
  block_atoms(m);
}

/// The equation for a variable in a state of the automaton's own; IR_NONE for none.
static uint32_t own_equation(const IrModel* model, uint32_t a, uint32_t s, uint32_t var,
                             uint32_t* count) {
  uint32_t b = model->states.data[model->automata.data[a].state_begin + s].body;
  uint32_t found = IR_NONE;
  *count = 0;
  if (b == IR_NONE) return IR_NONE;
  const IrBody* body = &model->bodies.data[b];
  for (uint32_t i = 0; i < body->equation_count; i++) {
    if (model->equations.data[body->equation_begin + i].lhs_var != var) continue;
    found = body->equation_begin + i;
    ++*count;
  }
  return found;
}

/// Whether every state has one equation for the variable, and nobody else looks at it.
static bool can_merge(const Merge* m, uint32_t a, uint32_t v) {
  const MergeVar* var = &m->vars[v];
  const IrAutomaton* automaton = &m->model->automata.data[a];
  if (var->blocked || var->automaton != a) return false;
  if (var->order > 0 && var->read > var->order) return false;
  bool based = var->base != IR_NONE;
  if (based && m->model->equations.data[var->base].lhs_order != var->order) return false;
  for (uint32_t s = 0; s < automaton->state_count; s++) {
    uint32_t count = 0;
    own_equation(m->model, a, s, v, &count);
    if (count > 1 || (count == 0 && !based)) return false;
  }
  return true;
}

static bool all_can_merge(const Merge* m, uint32_t a) {
  const IrModel* model = m->model;
  const IrAutomaton* automaton = &model->automata.data[a];
  for (uint32_t s = 0; s < automaton->state_count; s++) {
    uint32_t b = model->states.data[automaton->state_begin + s].body;
    if (b == IR_NONE) continue;
    const IrBody* body = &model->bodies.data[b];
    for (uint32_t i = 0; i < body->equation_count; i++) {
      if (!can_merge(m, a, model->equations.data[body->equation_begin + i].lhs_var)) return false;
    }
  }
  return true;
}

/// Bodies in which others stand, or that others are like, stay.
static void keep_outer_bodies(Merge* m) {
  const IrModel* model = m->model;
  for (uint32_t a = 0; a < model->automata.count; a++) {
    uint32_t around = model->automata.data[a].parent_body;
    if (around != IR_NONE && around != 0) m->automata[model->bodies.data[around].automaton] = false;
  }
  for (uint32_t b = 1; b < model->bodies.count; b++) {
    uint32_t parent = model->bodies.data[b].parent;
    if (parent != IR_NONE) m->automata[model->bodies.data[parent].automaton] = false;
  }
}

// ---------------------------------------------------------------------------------------------
// merging

typedef struct MergeCopy {
  IrTermBuilder* builder;
  IrTerm term;
} MergeCopy;

static bool copy_node(Merge* m, uint32_t node, void* user) {
  const MergeCopy* copy = user;
  IrModel* model = m->model;
  IrNode n = model->pool.nodes.data[node];
  ExprId result;
  if (n.op == IR_SLOT) {
    result = ir_term_leaf(copy->builder, ir_leaf(model, copy->term, n.arg[0]));
  } else if (n.op == IR_CONST) {
    result = ir_const(&model->pool, n.value);
  } else if (n.op == IR_TABLE) {
    result = ir_table(&model->pool, n.arg[0], (ExprId){m->copy[n.arg[1]]});
  } else {
    uint32_t arity = ir_op_arity((IrOp)n.op);
    ExprId args[3] = {{0}, {0}, {0}};
    for (uint32_t k = 0; k < arity; k++) {
      args[k] = (ExprId){m->copy[n.arg[k]]};
    }
    result = ir_node(&model->pool, (IrOp)n.op, args[0], args[1], args[2]);
  }
  m->copy[node] = result.index;
  return true;
}

static ExprId right_side(Merge* m, IrTermBuilder* builder, uint32_t equation) {
  MergeCopy copy = {builder, m->model->equations.data[equation].term};
  uint32_t root = m->model->pool.nodes.data[copy.term.shape.index].arg[1];
  visit_nodes(m, root, copy_node, &copy);
  return (ExprId){m->copy[root]};
}

static ExprId state_test(Merge* m, IrTermBuilder* builder, uint32_t a, uint32_t s) {
  IrModel* model = m->model;
  uint32_t* test = &m->test_of_state[model->automata.data[a].state_begin + s];
  if (*test == 0) {
    base_vec_push(model->arena, &model->mode_tests, (IrModeTest){a, s});
    *test = model->mode_tests.count;
  }
  return ir_term_leaf(builder, (IrLeaf){.id = *test - 1, .kind = IR_LEAF_MODE});
}

/// One equation for the variable: what the states replace, from the last one on.
static void merge_variable(Merge* m, uint32_t a, uint32_t v) {
  IrModel* model = m->model;
  MergeVar* var = &m->vars[v];
  uint32_t count = 0;
  uint32_t left = model->automata.data[a].state_count;
  uint32_t other = var->base;
  while (other == IR_NONE) {
    other = own_equation(model, a, --left, v, &count);
  }
  IrTermBuilder builder;
  ir_term_begin(&builder, model);
  ExprId lhs = ir_term_var(&builder, v, var->order, IR_NOW);
  ExprId value = right_side(m, &builder, other);
  while (left-- > 0) {
    uint32_t own = own_equation(model, a, left, v, &count);
    if (own == IR_NONE) continue;
    ExprId chosen = right_side(m, &builder, own);
    value = ir_node(&model->pool, IR_SELECT, state_test(m, &builder, a, left), chosen, value);
  }
  IrEquation equation = model->equations.data[other];
  equation.term = ir_term_end(&builder, ir_node(&model->pool, IR_EQUALS, lhs, value, (ExprId){0}));
  equation.body = 0;
  base_vec_push(m->scratch, &m->merged, equation);
}

/// The list of equations without those that were merged, and with what they became.
static void rewrite(Merge* m) {
  IrModel* model = m->model;
  uint32_t* body_of = ARENA_ARRAY(m->scratch, uint32_t, model->bodies.count);
  uint32_t bodies = 0;
  for (uint32_t b = 0; b < model->bodies.count; b++) {
    IrBody body = model->bodies.data[b];
    bool gone = body.automaton != IR_NONE && m->automata[body.automaton];
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
  }
  for (uint32_t i = 0; i < model->deletes.count; i++) {
    model->deletes.data[i].body = body_of[model->deletes.data[i].body];
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    IrEquation e = model->equations.data[i];
    const MergeVar* var = e.lhs_var == IR_NONE ? NULL : &m->vars[e.lhs_var];
    bool replaced = e.body == 0 && var && var->automaton != IR_NONE && m->automata[var->automaton];
    e.body = body_of[e.body];
    if (e.body != IR_NONE && !replaced) model->equations.data[kept++] = e;
  }
  model->equations.count = kept;
  for (uint32_t i = 0; i < m->merged.count; i++) {
    base_vec_push(model->arena, &model->equations, m->merged.data[i]);
  }
}

static void prepare(Merge* m) {
  IrModel* model = m->model;
  m->node_count = model->pool.nodes.count;
  m->vars = ARENA_ARRAY(m->scratch, MergeVar, model->vars.count);
  m->automata = ARENA_ARRAY(m->scratch, bool, model->automata.count);
  m->plain = ARENA_ARRAY(m->scratch, uint8_t, m->node_count);
  m->stamp = ARENA_ARRAY(m->scratch, uint32_t, m->node_count);
  m->copy = ARENA_ARRAY(m->scratch, uint32_t, m->node_count);
  m->test_of_state = ARENA_ARRAY(m->scratch, uint32_t, model->states.count);
  for (uint32_t v = 0; v < model->vars.count; v++) {
    m->vars[v] = (MergeVar){.automaton = IR_NONE, .base = IR_NONE};
  }
  for (uint32_t i = 0; i < model->mode_tests.count; i++) {
    IrModeTest test = model->mode_tests.data[i];
    m->test_of_state[model->automata.data[test.automaton].state_begin + test.state] = i + 1;
  }
}

bool ir_merge_alternatives(IrModel* model, Arena* scratch) {
  if (!(combinations(model) > MERGE_FROM)) return false;
  ir_unpack(model);
  Merge merge = {.model = model, .scratch = scratch};
  prepare(&merge);
  for (uint32_t a = 0; a < model->automata.count; a++) {
    merge.automata[a] = note_edits(&merge, a);
  }
  look_at_equations(&merge);
  keep_outer_bodies(&merge);
  bool any = false;
  for (uint32_t a = 0; a < model->automata.count; a++) {
    merge.automata[a] = merge.automata[a] && all_can_merge(&merge, a);
    any |= merge.automata[a];
  }
  if (!any) return false;
  for (uint32_t v = 0; v < model->vars.count; v++) {
    uint32_t a = merge.vars[v].automaton;
    if (a != IR_NONE && merge.automata[a]) merge_variable(&merge, a, v);
  }
  rewrite(&merge);
  return true;
}
