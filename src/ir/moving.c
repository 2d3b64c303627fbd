// SPDX-License-Identifier: MIT
//
// Which variables move between events. Discrete ones do not, nor do those that explicit equations
// of every mode make of such alone: `y = n + 1` is as discrete as n. What is not recognised here
// counts as moving.
#include "ir/internal.h"

typedef enum Motion { MOTION_UNKNOWN, MOTION_OPEN, MOTION_STEADY, MOTION_MOVES } Motion;

typedef struct Moving {
  const IrModel* model;
  Arena* arena;
  const bool* reads_time;  // per node
  uint8_t* motion;         // per variable
  uint32_t* first;         // per variable: its last explicit equation, IR_NONE: none
  uint32_t* next;          // per equation: the one before it of the same variable
  uint32_t* edits;         // per label: how many bodies replace or delete its group
  BASE_VEC(struct MovingVisit { uint32_t var, equation, leaf; }) stack;
} Moving;

/// Bodies other than the global one with an equation or a `delete` of each label.
static void count_edits(Moving* m) {
  const IrModel* model = m->model;
  size_t label_count = (size_t)model->names.names.count + 1;
  uint32_t* body = ARENA_ARRAY(m->arena, uint32_t, label_count);  // 0: none yet
  m->edits = ARENA_ARRAY(m->arena, uint32_t, label_count);
  for (uint32_t i = 0; i < model->equations.count; i++) {
    const IrEquation* e = &model->equations.data[i];
    if (!e->label || e->body == 0 || body[e->label] == e->body) continue;
    body[e->label] = e->body;
    m->edits[e->label]++;
  }
  for (uint32_t i = 0; i < model->deletes.count; i++)
    m->edits[model->deletes.data[i].label]++;
}

static void list_equations(Moving* m) {
  const IrModel* model = m->model;
  m->motion = ARENA_ARRAY(m->arena, uint8_t, model->vars.count);
  m->first = ARENA_ARRAY(m->arena, uint32_t, model->vars.count);
  m->next = ARENA_ARRAY(m->arena, uint32_t, model->equations.count);
  for (uint32_t i = 0; i < model->vars.count; i++)
    m->first[i] = IR_NONE;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    const IrEquation* e = &model->equations.data[i];
    if (e->lhs_var == IR_NONE || e->lhs_order != 0) continue;
    m->next[i] = m->first[e->lhs_var];
    m->first[e->lhs_var] = i;
  }
  count_edits(m);
}

/// Whether every mode has an explicit equation of the variable: a global one, and another in each
/// body that edits the group of that one.
static bool is_always_explicit(const Moving* m, uint32_t var) {
  const IrEquation* equations = m->model->equations.data;
  for (uint32_t g = m->first[var]; g != IR_NONE; g = m->next[g]) {
    if (equations[g].body != 0) continue;
    uint32_t label = equations[g].label, given = 0, body = 0;
    for (uint32_t i = m->first[var]; i != IR_NONE && label; i = m->next[i]) {
      if (equations[i].label != label || equations[i].body == body) continue;
      body = equations[i].body;
      given += body != 0;
    }
    if (!label || given == m->edits[label]) return true;
  }
  return false;
}

/// What is known of a variable; one that has to be looked at is opened.
static Motion motion_of(Moving* m, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR) return MOTION_STEADY;
  const IrVar* var = &m->model->vars.data[leaf.id];
  if (var->kind == IR_VAR_DISCRETE) return MOTION_STEADY;
  if (var->max_order > 0 || leaf.order > 0) return MOTION_MOVES;
  if (!m->first) list_equations(m);
  if (m->motion[leaf.id] != MOTION_UNKNOWN) return (Motion)m->motion[leaf.id];
  if (!is_always_explicit(m, leaf.id)) return MOTION_MOVES;
  m->motion[leaf.id] = MOTION_OPEN;
  base_vec_push(m->arena, &m->stack,
                (struct MovingVisit){.var = leaf.id, .equation = m->first[leaf.id]});
  return MOTION_UNKNOWN;
}

/// Look at what is on the stack until it is empty.
static void visit(Moving* m) {
  while (m->stack.count > 0) {
    struct MovingVisit* at = &m->stack.data[m->stack.count - 1];
    if (at->equation == IR_NONE) {
      m->motion[at->var] = MOTION_STEADY;
      m->stack.count--;
      continue;
    }
    IrTerm term = m->model->equations.data[at->equation].term;
    Motion motion = m->reads_time[term.shape.index] ? MOTION_MOVES : MOTION_STEADY;
    while (motion == MOTION_STEADY && at->leaf < term.leaf_count) {
      IrLeaf leaf = ir_leaf(m->model, term, at->leaf);
      bool itself = leaf.kind == IR_LEAF_VAR && leaf.id == at->var;
      if (!itself) motion = motion_of(m, leaf);
      if (motion == MOTION_STEADY) at->leaf++;
    }
    if (motion == MOTION_UNKNOWN) continue;
    if (motion == MOTION_STEADY) {
      at->equation = m->next[at->equation];
      at->leaf = 0;
      continue;
    }
    m->motion[at->var] = MOTION_MOVES;
    m->stack.count--;
  }
}

static bool is_continuous(Moving* m, IrTerm term) {
  bool continuous = m->reads_time[term.shape.index];
  for (uint32_t k = 0; k < term.leaf_count && !continuous; k++) {
    IrLeaf leaf = ir_leaf(m->model, term, k);
    Motion motion = motion_of(m, leaf);
    if (motion == MOTION_UNKNOWN) {
      visit(m);
      motion = (Motion)m->motion[leaf.id];
    }
    continuous = motion == MOTION_MOVES;
  }
  return continuous;
}

/// Per node: whether it reads the time.
static bool* nodes_reading_time(const IrPool* pool, Arena* arena) {
  bool* reads = ARENA_ARRAY(arena, bool, pool->nodes.count);
  for (uint32_t i = 1; i < pool->nodes.count; i++) {
    const IrNode* node = &pool->nodes.data[i];
    reads[i] = node->op == IR_TIME;
    for (uint32_t k = ir_first_arg(node->op); k < ir_op_arity((IrOp)node->op); k++) {
      reads[i] = reads[i] || reads[node->arg[k]];
    }
  }
  return reads;
}

bool* ir_continuous_atoms(const IrModel* model, Arena* arena) {
  bool* continuous = ARENA_ARRAY(arena, bool, model->atoms.count);
  Moving m = {.model = model, .arena = arena};
  m.reads_time = nodes_reading_time(&model->pool, arena);
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    continuous[i] = is_continuous(&m, model->atoms.data[i].g);
  }
  return continuous;
}

void ir_decide_continuous(IrModel* model, Arena* scratch) {
  const bool* continuous = ir_continuous_atoms(model, scratch);
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    model->atoms.data[i].continuous = continuous[i];
  }
}
