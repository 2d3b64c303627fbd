// SPDX-License-Identifier: MIT
//
// Places of `if` blocks, hidden automata and bodies.
//
// Like other switches, an `if` block is ordered by what it is, not by where it stands: by the body
// around it, its condition and what its branches contain. Outer blocks get their places first.
#include "ir/canonical.h"

/// What the bodies contain, as numbers that can be compared: classes of equations, ranks of deleted
/// labels, both ascending. Body b owns equations[equation_begin[b] .. equation_begin[b + 1]).
typedef struct Contents {
  uint32_t* equation_begin;
  uint32_t* equations;
  uint32_t* delete_begin;
  uint32_t* deletes;
} Contents;

typedef struct BlockOrder {
  const Canon* canon;
  Contents contents;
} BlockOrder;

static bool delete_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  if (depth > 0) return false;
  *word = canon->label_rank[canon->model->deletes.data[item].label];
  return true;
}

/// Turn counts in begin[b + 1] into beginnings.
static void accumulate(uint32_t* begin, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    begin[i + 1] += begin[i];
  }
}

static Contents find_contents(Canon* canon) {
  const IrModel* model = canon->model;
  uint32_t body_count = model->bodies.count;
  Contents c = {
      .equation_begin = ARENA_ARRAY(canon->arena, uint32_t, (size_t)body_count + 1),
      .equations = ARENA_ARRAY(canon->arena, uint32_t, model->equations.count),
      .delete_begin = ARENA_ARRAY(canon->arena, uint32_t, (size_t)body_count + 1),
      .deletes = ARENA_ARRAY(canon->arena, uint32_t, model->deletes.count),
  };
  uint32_t* at = ARENA_ARRAY(canon->arena, uint32_t, body_count);
  for (uint32_t i = 0; i < model->equations.count; i++) {
    c.equation_begin[model->equations.data[i].body + 1]++;
  }
  accumulate(c.equation_begin, body_count);
  memcpy(at, c.equation_begin, body_count * sizeof *at);
  for (uint32_t i = 0; i < model->equations.count; i++) {
    uint32_t equation = canon->equation_items[i];
    c.equations[at[model->equations.data[equation].body]++] = canon->equation_class[equation];
  }

  for (uint32_t i = 0; i < model->deletes.count; i++) {
    c.delete_begin[model->deletes.data[i].body + 1]++;
  }
  accumulate(c.delete_begin, body_count);
  memcpy(at, c.delete_begin, body_count * sizeof *at);
  CanonOrder deletes = canon_sort(canon, model->deletes.count, delete_word, NULL);
  for (uint32_t i = 0; i < model->deletes.count; i++) {
    const IrDelete* d = &model->deletes.data[deletes.from[i]];
    c.deletes[at[d->body]++] = canon->label_rank[d->label];
  }
  return c;
}

/// Word `*depth` of a list: its length, then its numbers. False, with `*depth` reduced, behind it.
static bool list_word(const uint32_t* list, uint32_t begin, uint32_t end, uint32_t* depth,
                      uint64_t* word) {
  uint32_t count = end - begin;
  if (*depth > count) {
    *depth -= count + 1;
    return false;
  }
  *word = *depth == 0 ? count : list[begin + *depth - 1];
  return true;
}

/// The body that an automaton's block stands in; IR_NONE at the top level.
static uint32_t outer_body(const IrModel* model, uint32_t automaton) {
  uint32_t body = model->automata.data[automaton].parent_body;
  return body == 0 ? IR_NONE : body;
}

static bool block_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const BlockOrder* order = context;
  const Canon* canon = order->canon;
  const IrModel* model = canon->model;
  uint32_t outer = outer_body(model, item);
  if (depth == 0) {
    const IrBody* body = outer == IR_NONE ? NULL : &model->bodies.data[outer];
    bool owned = body && body->automaton != IR_NONE;
    *word = owned ? ((uint64_t)canon->automata.to[body->automaton] + 1) << 32 | body->state : 0;
    return true;
  }
  if (depth == 1) {
    *word = canon->condition_class[item];
    return true;
  }
  depth -= 2;
  const Contents* c = &order->contents;
  for (uint32_t i = canon->state_first[item]; i < canon->state_first[item + 1]; i++) {
    uint32_t b = model->states.data[canon->state_list[i]].body;
    uint32_t list = b == IR_NONE ? 0 : b;
    uint32_t last = b == IR_NONE ? 0 : b + 1;
    uint32_t e0 = c->equation_begin[list];
    uint32_t e1 = c->equation_begin[last];
    uint32_t d0 = c->delete_begin[list];
    uint32_t d1 = c->delete_begin[last];
    if (list_word(c->equations, e0, e1, &depth, word)) return true;
    if (list_word(c->deletes, d0, d1, &depth, word)) return true;
  }
  return false;
}

/// Blocks that cannot be told apart by what they are: by name.
static int block_compare(const void* context, uint32_t a, uint32_t b) {
  return canon_compare_automata(((const BlockOrder*)context)->canon, a, b);
}

/// The automaton around an automaton's block, or IR_NONE.
static uint32_t outer_automaton(const IrModel* model, uint32_t automaton) {
  uint32_t outer = outer_body(model, automaton);
  return outer == IR_NONE ? IR_NONE : model->bodies.data[outer].automaton;
}

/// How many blocks stand around each block. A cycle, which is no valid model, is cut.
static uint32_t* find_depths(Canon* canon) {
  const IrModel* model = canon->model;
  uint32_t count = model->automata.count;
  uint32_t* depth = ARENA_ARRAY(canon->arena, uint32_t, count);  // + 1; 0 while unknown
  uint32_t* path = ARENA_ARRAY(canon->arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t length = 0;
    uint32_t a = i;
    while (a != IR_NONE && depth[a] == 0) {
      depth[a] = 1;
      path[length++] = a;
      a = outer_automaton(model, a);
    }
    uint32_t above = a == IR_NONE ? 0 : depth[a];
    while (length > 0) {
      depth[path[--length]] = ++above;
    }
  }
  return depth;
}

static bool depth_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const uint32_t* depths = context;
  if (depth > 0) return false;
  *word = depths[item];
  return true;
}

static bool body_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  const IrBody* body = &canon->model->bodies.data[item];
  if (depth > 0) return false;
  if (item == 0) {
    *word = 0;
  } else if (body->automaton == IR_NONE) {
    *word = UINT64_MAX;
  } else {
    *word = ((uint64_t)canon->automata.to[body->automaton] + 1) << 32 | body->state;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// hidden automata

/// The variables that hidden automata change, of which they are the machinery.
typedef struct HiddenOrder {
  const Canon* canon;
  uint32_t* lowest;  // automaton -> lowest place among the variables it changes
} HiddenOrder;

static bool hidden_automaton_word(const void* context, uint32_t item, uint32_t depth,
                                  uint64_t* word) {
  if (depth > 0) return false;
  *word = ((const HiddenOrder*)context)->lowest[item];
  return true;
}

static int hidden_automaton_compare(const void* context, uint32_t a, uint32_t b) {
  return canon_compare_automata(((const HiddenOrder*)context)->canon, a, b);
}

static void place_automata(CanonOrder* automata, const uint32_t* items, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    automata->to[items[i]] = automata->count;
    automata->from[automata->count++] = items[i];
  }
}

static void rank_hidden(Canon* canon, uint32_t* items) {
  const IrModel* model = canon->model;
  HiddenOrder order = {canon, ARENA_ARRAY(canon->arena, uint32_t, model->automata.count)};
  uint32_t count = 0;
  for (uint32_t i = 0; i < model->automata.count; i++) {
    order.lowest[i] = IR_NONE;
    const IrAutomaton* a = &model->automata.data[i];
    if (a->kind == IR_AUTOMATON_USER && a->hidden) items[count++] = i;
  }
  for (uint32_t i = 0; count > 0 && i < model->transitions.count; i++) {
    const IrTransition* t = &model->transitions.data[i];
    for (uint32_t k = 0; k < t->action_count; k++) {
      uint32_t place = canon->vars.to[model->actions.data[t->action_begin + k].var];
      if (place < order.lowest[t->automaton]) order.lowest[t->automaton] = place;
    }
  }
  ir_sort(&canon->sorter, items, count, hidden_automaton_word, hidden_automaton_compare, &order);
  place_automata(&canon->automata, items, count);
}

// ---------------------------------------------------------------------------------------------

static void rank_blocks(Canon* canon, uint32_t* blocks) {
  const IrModel* model = canon->model;
  uint32_t count = 0;
  for (uint32_t i = 0; i < model->automata.count; i++) {
    bool block = model->automata.data[i].kind == IR_AUTOMATON_SWITCH && !canon->plain[i];
    if (block) blocks[count++] = i;
  }
  if (count == 0) return;
  BlockOrder order = {canon, find_contents(canon)};
  const uint32_t* depths = find_depths(canon);
  ir_sort(&canon->sorter, blocks, count, depth_word, NULL, depths);
  for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && depths[blocks[end]] == depths[blocks[begin]]) {
      end++;
    }
    ir_sort(&canon->sorter, blocks + begin, end - begin, block_word, block_compare, &order);
    place_automata(&canon->automata, blocks + begin, end - begin);
  }
}

void canon_rank_automata(Canon* canon) {
  uint32_t* items = ARENA_ARRAY(canon->arena, uint32_t, canon->model->automata.count);
  rank_blocks(canon, items);
  rank_hidden(canon, items);
  canon->bodies = canon_sort(canon, canon->model->bodies.count, body_word, NULL);
}
