// SPDX-License-Identifier: MIT
//
// Rewrites the model once every entity has its place.
#include "ir/canonical.h"

#define ELEMENT_MAX 128  // bytes of the largest entity

/// Make `order`, which has room for `old_count` places, name every element: those that it left out
/// come last.
static void complete(Canon* canon, uint32_t* order, uint32_t count, uint32_t old_count) {
  if (count == old_count) return;
  bool* named = ARENA_ARRAY(canon->arena, bool, old_count);
  for (uint32_t i = 0; i < count; i++) {
    named[order[i]] = true;
  }
  for (uint32_t i = 0; i < old_count; i++) {
    if (!named[i]) order[count++] = i;
  }
}

/// Reorder an array where it is, cycle by cycle: at a million cells a copy of it would be large.
/// Wears `order` out.
static void permute(void* data, size_t size, uint32_t* order, uint32_t count) {
  char* at = data;
  char first[ELEMENT_MAX];
  SLT_ASSERT(size <= sizeof first);
  for (uint32_t i = 0; i < count; i++) {
    if (order[i] == i) continue;
    memcpy(first, at + i * size, size);
    uint32_t to = i;
    while (order[to] != i) {
      uint32_t from = order[to];
      memcpy(at + to * size, at + from * size, size);
      order[to] = to;
      to = from;
    }
    memcpy(at + to * size, first, size);
    order[to] = to;
  }
}

#define CANON_PERMUTE(canon, vec, order, new_count) \
  do { \
    _Static_assert(sizeof *(vec)->data <= ELEMENT_MAX, "room for one element"); \
    complete((canon), (order), (new_count), (vec)->count); \
    permute((vec)->data, sizeof *(vec)->data, (order), (vec)->count); \
    (vec)->count = (new_count); \
  } while (0)

static uint32_t moved(CanonOrder order, uint32_t old) {
  return old == IR_NONE ? IR_NONE : order.to[old];
}

// ---------------------------------------------------------------------------------------------
// orders of what belongs to the entities ranked so far

static bool start_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  const IrStart* start = &canon->model->starts.data[item];
  if (depth > 0) return canon_term_word(canon, start->value, depth - 1, word);
  *word = (uint64_t)canon->vars.to[start->var] << 16 | (uint64_t)start->order << 8 | start->kind;
  return true;
}

static bool action_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  const IrAction* action = &canon->model->actions.data[item];
  if (depth > 0) return canon_term_word(canon, action->value, depth - 1, word);
  *word = (uint64_t)canon->vars.to[action->var] << 16 | (uint64_t)action->order << 8 | action->kind;
  return true;
}

static bool equation_place_word(const void* context, uint32_t item, uint32_t depth,
                                uint64_t* word) {
  const Canon* canon = context;
  if (depth > 0) return false;
  uint32_t body = canon->bodies.to[canon->model->equations.data[item].body];
  *word = (uint64_t)body << 32 | canon->equation_place[item];
  return true;
}

static bool delete_place_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  const IrDelete* d = &canon->model->deletes.data[item];
  if (depth > 0) return false;
  *word = (uint64_t)canon->bodies.to[d->body] << 32 | canon->label_rank[d->label];
  return true;
}

static bool mode_test_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  IrModeTest test = canon->model->mode_tests.data[item];
  if (depth > 0) return false;
  *word = (uint64_t)canon->automata.to[test.automaton] << 32 | test.state;
  return true;
}

static bool goto_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  IrGoto to = canon->model->gotos.data[item];
  if (depth > 0) return false;
  *word = (uint64_t)canon->automata.to[to.automaton] << 32 | to.state;
  return true;
}

static bool action_place_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  if (depth > 0) return false;
  *word = canon->action_place[item];
  return true;
}

/// Put the actions of one group, all of which happen at once, in order.
static void sort_group(Canon* canon, uint32_t begin, uint32_t count) {
  if (count < 2) return;
  ir_sort(&canon->sorter, canon->action_items + begin, count, action_place_word, NULL, canon);
}

static void rank_actions(Canon* canon) {
  const IrModel* model = canon->model;
  uint32_t count = model->actions.count;
  CanonOrder order = canon_sort(canon, count, action_word, NULL);
  canon->action_place = order.to;
  canon->action_class = ARENA_ARRAY(canon->arena, uint32_t, count);
  canon_classes(canon, order.from, count, canon->action_class);
  canon->action_items = canon_identity(canon, count);
  for (uint32_t i = 0; i < model->states.count; i++) {
    sort_group(canon, model->states.data[i].action_begin, model->states.data[i].action_count);
  }
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    const IrTransition* t = &model->transitions.data[i];
    sort_group(canon, t->action_begin, t->action_count);
  }
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    const IrSchedule* s = &model->schedules.data[i];
    sort_group(canon, s->action_begin, s->action_count);
  }
}

static void rank_mode_tests(Canon* canon) {
  CanonOrder* tests = &canon->mode_tests;
  *tests = canon_sort(canon, canon->model->mode_tests.count, mode_test_word, NULL);
  uint32_t count = tests->count;
  canon_classes(canon, tests->from, count, tests->to);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t place = tests->to[tests->from[i]];
    tests->from[place] = tests->from[i];
    tests->count = place + 1;
  }
}

// ---------------------------------------------------------------------------------------------
// schedules

typedef struct ScheduleOrder {
  const Canon* canon;
  uint32_t* start_class;
  uint32_t* period_class;
  uint32_t* goto_items;
} ScheduleOrder;

static bool schedule_start_word(const void* context, uint32_t item, uint32_t depth,
                                uint64_t* word) {
  const Canon* canon = context;
  return canon_term_word(canon, canon->model->schedules.data[item].start, depth, word);
}

static bool schedule_period_word(const void* context, uint32_t item, uint32_t depth,
                                 uint64_t* word) {
  const Canon* canon = context;
  return canon_term_word(canon, canon->model->schedules.data[item].period, depth, word);
}

static bool schedule_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const ScheduleOrder* order = context;
  const Canon* canon = order->canon;
  const IrSchedule* s = &canon->model->schedules.data[item];
  const uint64_t head[] = {
      (uint64_t)order->start_class[item] << 32 | order->period_class[item],
      (uint64_t)s->count + (UINT64_C(1) << 63),
      (uint64_t)((int64_t)s->priority - INT32_MIN),
      s->stop.data ? hash_bytes(s->stop.data, s->stop.length, 1) : 0,
      (uint64_t)s->goto_count << 32 | s->action_count,
  };
  if (depth < SLT_COUNT(head)) {
    *word = head[depth];
    return true;
  }
  depth -= (uint32_t)SLT_COUNT(head);
  if (depth < s->goto_count)
    return goto_word(canon, order->goto_items[s->goto_begin + depth], 0, word);
  depth -= s->goto_count;
  if (depth >= s->action_count) return false;
  *word = canon->action_class[canon->action_items[s->action_begin + depth]];
  return true;
}

static uint32_t* schedule_classes(Canon* canon, IrWordFn* word) {
  uint32_t count = canon->model->schedules.count;
  uint32_t* classes = ARENA_ARRAY(canon->arena, uint32_t, count);
  uint32_t* items = canon_identity(canon, count);
  ir_sort(&canon->sorter, items, count, word, NULL, canon);
  canon_classes(canon, items, count, classes);
  return classes;
}

static void apply_schedules(Canon* canon) {
  IrModel* model = canon->model;
  ScheduleOrder order = {canon, schedule_classes(canon, schedule_start_word),
                         schedule_classes(canon, schedule_period_word),
                         canon_identity(canon, model->gotos.count)};
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    const IrSchedule* s = &model->schedules.data[i];
    ir_sort(&canon->sorter, order.goto_items + s->goto_begin, s->goto_count, goto_word, NULL,
            canon);
  }
  uint32_t* items = canon_identity(canon, model->schedules.count);
  ir_sort(&canon->sorter, items, model->schedules.count, schedule_word, NULL, &order);
  CANON_PERMUTE(canon, &model->schedules, items, model->schedules.count);

  uint32_t old_count = model->gotos.count;
  IrGoto* old = ARENA_ARRAY(canon->arena, IrGoto, old_count);
  if (old_count) memcpy(old, model->gotos.data, old_count * sizeof *old);
  model->gotos.count = 0;
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    IrSchedule* s = &model->schedules.data[i];
    uint32_t begin = model->gotos.count;
    for (uint32_t k = 0; k < s->goto_count; k++) {
      IrGoto to = old[order.goto_items[s->goto_begin + k]];
      to.automaton = canon->automata.to[to.automaton];
      base_vec_push(model->arena, &model->gotos, to);
    }
    s->goto_begin = begin;
  }
}

// ---------------------------------------------------------------------------------------------
// moving entities

static void apply_names(Canon* canon) {
  IrModel* model = canon->model;
  CANON_PERMUTE(canon, &model->vars, canon->vars.from, canon->vars.count);
  CANON_PERMUTE(canon, &model->params, canon->params.from, canon->params.count);
  CANON_PERMUTE(canon, &model->data, canon->data.from, canon->data.count);
  CANON_PERMUTE(canon, &model->numbers, canon->numbers.from, canon->numbers.count);
  CANON_PERMUTE(canon, &model->atoms, canon->atoms.from, canon->atoms.count);
  for (uint32_t i = 0; i < model->data.count; i++) {
    IrData* data = &model->data.data[i];
    if (!data->history) continue;
    data->var = canon->vars.to[data->var];
    if (data->lag != IR_NONE) data->lag = canon->vars.to[data->lag];
  }
  for (uint32_t i = 0; i < model->vars.count; i++) {
    IrVar* var = &model->vars.data[i];
    var->max_order = 0;
    var->start_begin = 0;
    var->start_count = 0;
  }
}

static void apply_starts(Canon* canon) {
  IrModel* model = canon->model;
  uint32_t count = model->starts.count;
  CanonOrder order = canon_sort(canon, count, start_word, NULL);
  CANON_PERMUTE(canon, &model->starts, order.from, count);
  for (uint32_t i = 0; i < count; i++) {
    IrStart* start = &model->starts.data[i];
    start->var = canon->vars.to[start->var];
  }
}

static void apply_equations(Canon* canon) {
  IrModel* model = canon->model;
  CanonOrder order = canon_sort(canon, model->equations.count, equation_place_word, NULL);
  CANON_PERMUTE(canon, &model->equations, order.from, order.count);
  for (uint32_t i = 0; i < order.count; i++) {
    IrEquation* e = &model->equations.data[i];
    e->body = canon->bodies.to[e->body];
    e->lhs_var = moved(canon->vars, e->lhs_var);
  }
  order = canon_sort(canon, model->deletes.count, delete_place_word, NULL);
  CANON_PERMUTE(canon, &model->deletes, order.from, order.count);
  for (uint32_t i = 0; i < order.count; i++) {
    model->deletes.data[i].body = canon->bodies.to[model->deletes.data[i].body];
  }
}

static void apply_mode_tests(Canon* canon) {
  IrModel* model = canon->model;
  CANON_PERMUTE(canon, &model->mode_tests, canon->mode_tests.from, canon->mode_tests.count);
  for (uint32_t i = 0; i < model->mode_tests.count; i++) {
    IrModeTest* test = &model->mode_tests.data[i];
    test->automaton = canon->automata.to[test->automaton];
  }
}

static void apply_from_states(Canon* canon) {
  IrModel* model = canon->model;
  uint32_t old_count = model->from_states.count;
  uint32_t* old = ARENA_ARRAY(canon->arena, uint32_t, old_count);
  if (old_count) memcpy(old, model->from_states.data, old_count * sizeof *old);
  model->from_states.count = 0;
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    IrTransition* t = &model->transitions.data[i];
    uint32_t* from = old + t->from_begin;
    uint32_t begin = model->from_states.count;
    ir_sort_numbers(&canon->sorter, from, t->from_count);
    for (uint32_t k = 0; k < t->from_count; k++) {
      if (k > 0 && from[k] == from[k - 1]) continue;
      base_vec_push(model->arena, &model->from_states, from[k]);
    }
    t->from_begin = begin;
    t->from_count = model->from_states.count - begin;
  }
}

/// Automata with their states and transitions; merged automata lose theirs.
static void apply_automata(Canon* canon) {
  IrModel* model = canon->model;
  uint32_t* states = ARENA_ARRAY(canon->arena, uint32_t, model->states.count);
  uint32_t* transitions = ARENA_ARRAY(canon->arena, uint32_t, model->transitions.count);
  uint32_t state_count = 0;
  uint32_t transition_count = 0;
  for (uint32_t i = 0; i < canon->automata.count; i++) {
    uint32_t old = canon->automata.from[i];
    IrAutomaton* a = &model->automata.data[old];
    a->state_begin = state_count;
    a->transition_begin = transition_count;
    for (uint32_t k = canon->state_first[old]; k < canon->state_first[old + 1]; k++) {
      states[state_count++] = canon->state_list[k];
    }
    for (uint32_t k = canon->transition_first[old]; k < canon->transition_first[old + 1]; k++) {
      transitions[transition_count++] = canon->transition_list[k];
    }
    a->state_count = state_count - a->state_begin;
    a->transition_count = transition_count - a->transition_begin;
    a->parent_body = moved(canon->bodies, a->parent_body);
  }
  CANON_PERMUTE(canon, &model->automata, canon->automata.from, canon->automata.count);
  CANON_PERMUTE(canon, &model->states, states, state_count);
  CANON_PERMUTE(canon, &model->transitions, transitions, transition_count);
  for (uint32_t i = 0; i < state_count; i++) {
    IrState* state = &model->states.data[i];
    state->automaton = canon->automata.to[state->automaton];
    state->body = moved(canon->bodies, state->body);
  }
  for (uint32_t i = 0; i < transition_count; i++) {
    IrTransition* t = &model->transitions.data[i];
    t->automaton = canon->automata.to[t->automaton];
  }
  apply_from_states(canon);
}

static void apply_bodies(Canon* canon) {
  IrModel* model = canon->model;
  CANON_PERMUTE(canon, &model->bodies, canon->bodies.from, canon->bodies.count);
  for (uint32_t i = 0; i < model->bodies.count; i++) {
    IrBody* body = &model->bodies.data[i];
    body->automaton = moved(canon->automata, body->automaton);
    body->parent = moved(canon->bodies, body->parent);
    body->equation_begin = body->equation_count = 0;
    body->delete_begin = body->delete_count = 0;
  }
}

// ---------------------------------------------------------------------------------------------
// actions

static uint32_t append_group(Canon* canon, const IrAction* old, uint32_t begin, uint32_t count) {
  IrModel* model = canon->model;
  uint32_t at = model->actions.count;
  for (uint32_t k = 0; k < count; k++) {
    IrAction action = old[canon->action_items[begin + k]];
    action.var = canon->vars.to[action.var];
    base_vec_push(model->arena, &model->actions, action);
  }
  return at;
}

/// Groups in the order of their owners, which have moved already.
static void apply_actions(Canon* canon) {
  IrModel* model = canon->model;
  uint32_t count = model->actions.count;
  IrAction* old = ARENA_ARRAY(canon->arena, IrAction, count);
  if (count) memcpy(old, model->actions.data, count * sizeof *old);
  model->actions.count = 0;
  for (uint32_t i = 0; i < model->states.count; i++) {
    IrState* s = &model->states.data[i];
    s->action_begin = append_group(canon, old, s->action_begin, s->action_count);
  }
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    IrTransition* t = &model->transitions.data[i];
    t->action_begin = append_group(canon, old, t->action_begin, t->action_count);
  }
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    IrSchedule* s = &model->schedules.data[i];
    s->action_begin = append_group(canon, old, s->action_begin, s->action_count);
  }
}

// ---------------------------------------------------------------------------------------------
// terms

/// The pool and the rows as they were.
typedef struct Rewrite {
  Canon* canon;
  const IrNode* nodes;
  const IrLeaf* leaves;
  uint32_t* mapped;  // old node -> new one, 0 while it has none
  BASE_VEC(uint32_t) stack;
} Rewrite;

static ExprId rewrite_node(Rewrite* r, const IrNode* node) {
  IrPool* pool = &r->canon->model->pool;
  if (node->op == IR_CONST) return ir_const(pool, node->value);
  if (node->op == IR_SLOT) return ir_slot(pool, node->arg[0]);
  if (node->op == IR_TABLE) {
    return ir_table(pool, r->canon->data.to[node->arg[0]], (ExprId){r->mapped[node->arg[1]]});
  }
  ExprId arg[3] = {{0}, {0}, {0}};
  for (uint32_t k = 0; k < ir_op_arity((IrOp)node->op); k++) {
    arg[k].index = r->mapped[node->arg[k]];
  }
  return ir_node(pool, (IrOp)node->op, arg[0], arg[1], arg[2]);
}

static ExprId rewrite_shape(Rewrite* r, ExprId root) {
  base_vec_push(r->canon->arena, &r->stack, root.index);
  while (r->stack.count) {
    uint32_t index = r->stack.data[r->stack.count - 1];
    const IrNode* node = &r->nodes[index];
    uint32_t before = r->stack.count;
    for (uint32_t k = ir_op_arity((IrOp)node->op); k-- > ir_first_arg(node->op);) {
      if (r->mapped[node->arg[k]] == 0) base_vec_push(r->canon->arena, &r->stack, node->arg[k]);
    }
    if (r->stack.count > before) continue;
    r->stack.count--;
    if (r->mapped[index] == 0) r->mapped[index] = rewrite_node(r, node).index;
  }
  return (ExprId){r->mapped[root.index]};
}

static IrLeaf rewrite_leaf(const Canon* canon, IrLeaf leaf) {
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_NUMBER: leaf.id = canon->numbers.to[leaf.id]; break;
  case IR_LEAF_PARAM: leaf.id = canon->params.to[leaf.id]; break;
  case IR_LEAF_VAR: leaf.id = canon->vars.to[leaf.id]; break;
  case IR_LEAF_ATOM: leaf.id = canon->atoms.to[leaf.id]; break;
  case IR_LEAF_MODE: leaf.id = canon->mode_tests.to[leaf.id]; break;
  case IR_LEAF_ENTRY: leaf.id = moved(canon->automata, leaf.id); break;
  }
  return leaf;
}

static void rewrite_term(void* context, IrTerm* term) {
  Rewrite* r = context;
  IrModel* model = r->canon->model;
  uint32_t begin = model->leaves.count;
  base_vec_reserve(model->arena, &model->leaves, term->leaf_count);
  for (uint32_t k = 0; k < term->leaf_count; k++) {
    IrLeaf leaf = r->leaves[term->leaf_begin + k];
    model->leaves.data[model->leaves.count++] = rewrite_leaf(r->canon, leaf);
  }
  term->leaf_begin = begin;
  term->shape = rewrite_shape(r, term->shape);
}

static void apply_terms(Canon* canon) {
  IrModel* model = canon->model;
  IrPool* pool = &model->pool;
  uint32_t node_count = pool->nodes.count;
  uint32_t leaf_count = model->leaves.count;
  IrNode* nodes = ARENA_ARRAY(canon->arena, IrNode, node_count);
  IrLeaf* leaves = ARENA_ARRAY(canon->arena, IrLeaf, leaf_count);
  memcpy(nodes, pool->nodes.data, node_count * sizeof *nodes);
  if (leaf_count) memcpy(leaves, model->leaves.data, leaf_count * sizeof *leaves);

  // the memory of the pool and of the rows is used again
  pool->nodes.count = 1;
  pool->hashes.count = 1;
  memset(pool->slots, 0, pool->slot_count * sizeof *pool->slots);
  model->leaves.count = 0;
  Rewrite rewrite = {.canon = canon,
                     .nodes = nodes,
                     .leaves = leaves,
                     .mapped = ARENA_ARRAY(canon->arena, uint32_t, node_count)};
  ir_each_term(model, rewrite_term, &rewrite);
  ir_work_reset(model);
}

// ---------------------------------------------------------------------------------------------
// what follows from the rest

static void derive_ranges(IrModel* model) {
  for (uint32_t i = model->starts.count; i-- > 0;) {
    IrVar* var = &model->vars.data[model->starts.data[i].var];
    var->start_begin = i;
    var->start_count++;
  }
  for (uint32_t i = model->equations.count; i-- > 0;) {
    IrBody* body = &model->bodies.data[model->equations.data[i].body];
    body->equation_begin = i;
    body->equation_count++;
  }
  for (uint32_t i = model->deletes.count; i-- > 0;) {
    IrBody* body = &model->bodies.data[model->deletes.data[i].body];
    body->delete_begin = i;
    body->delete_count++;
  }
}

static void derive_orders(IrModel* model) {
  for (uint32_t i = 0; i < model->equations.count; i++) {
    IrTerm term = model->equations.data[i].term;
    for (uint32_t k = 0; k < term.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(model, term, k);
      if (leaf.kind != IR_LEAF_VAR) continue;
      IrVar* var = &model->vars.data[leaf.id];
      if (leaf.order > var->max_order) var->max_order = leaf.order;
    }
  }
}

void canon_apply(Canon* canon) {
  IrModel* model = canon->model;
  rank_actions(canon);
  rank_mode_tests(canon);
  // what is sorted by its terms, before any term changes
  apply_starts(canon);
  apply_schedules(canon);
  apply_equations(canon);
  apply_mode_tests(canon);
  apply_automata(canon);
  apply_bodies(canon);
  apply_actions(canon);
  apply_names(canon);
  apply_terms(canon);

  derive_ranges(model);
  derive_orders(model);
  ir_decide_continuous(model, canon->arena);
}
