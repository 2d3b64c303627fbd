// SPDX-License-Identifier: MIT
//
// Places of names, numbers, nodes and equations.
#include "ir/canonical.h"

#define NAME_WORDS_MAX 4  // longer names are compared as texts from there on

uint32_t* canon_identity(Canon* canon, uint32_t count) {
  uint32_t* items = ARENA_ARRAY(canon->arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    items[i] = i;
  }
  return items;
}

static uint32_t* invert(Canon* canon, const uint32_t* from, uint32_t count) {
  uint32_t* to = ARENA_ARRAY(canon->arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    to[from[i]] = i;
  }
  return to;
}

CanonOrder canon_sort(Canon* canon, uint32_t count, IrWordFn* word, IrCompareFn* compare) {
  uint32_t* items = canon_identity(canon, count);
  ir_sort(&canon->sorter, items, count, word, compare, canon);
  return (CanonOrder){items, invert(canon, items, count), count};
}

void canon_classes(const Canon* canon, const uint32_t* items, uint32_t count, uint32_t* class_of) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0 && canon->sorter.first.data[i]) number++;
    class_of[items[i]] = number;
  }
}

// ---------------------------------------------------------------------------------------------
// names

/// Bytes of a name, recoded so that the order of bytes is the natural order of names: a run of
/// digits becomes '0', its length without leading zeros, and those digits.
typedef struct NameReader {
  Str name;
  uint32_t at;
  uint32_t digits_end;  // end of the run being copied
  uint8_t pending[5];   // the recoded length
  uint32_t pending_count;
} NameReader;

static bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

/// Begin a run of digits; its first byte, the '0', is returned by the caller.
static void name_begin_digits(NameReader* r) {
  while (r->at < r->name.length && r->name.data[r->at] == '0') {
    r->at++;
  }
  r->digits_end = r->at;
  while (r->digits_end < r->name.length && is_decimal(r->name.data[r->digits_end])) {
    r->digits_end++;
  }
  uint32_t length = r->digits_end - r->at;
  if (length < 255) {
    r->pending[0] = (uint8_t)length;
    r->pending_count = 1;
    return;
  }
  // big-endian behind a mark; stored backwards because bytes are taken from the end
  for (uint32_t k = 0; k < 4; k++) {
    r->pending[k] = (uint8_t)(length >> (8 * k));
  }
  r->pending[4] = 255;
  r->pending_count = 5;
}

static bool name_next(NameReader* r, uint8_t* byte) {
  if (r->pending_count) {
    *byte = r->pending[--r->pending_count];
    return true;
  }
  if (r->at >= r->name.length) return false;
  char c = r->name.data[r->at];
  if (r->at < r->digits_end || !is_decimal(c)) {
    *byte = (uint8_t)c;
    r->at++;
    return true;
  }
  name_begin_digits(r);
  *byte = '0';
  return true;
}

bool canon_name_word(Str name, uint32_t depth, uint64_t* word) {
  if (depth >= NAME_WORDS_MAX) return false;
  NameReader reader = {.name = name};
  uint8_t byte = 0;
  for (uint32_t i = 0; i < 8 * depth; i++) {
    if (!name_next(&reader, &byte)) return false;
  }
  if (!name_next(&reader, &byte)) return false;
  *word = (uint64_t)byte << 56;
  for (uint32_t shift = 56; shift > 0; shift -= 8) {
    if (!name_next(&reader, &byte)) break;
    *word |= (uint64_t)byte << (shift - 8);
  }
  return true;
}

static Str name_text(const Canon* canon, uint32_t id) {
  return names_get(&canon->model->names, id);
}

#define CANON_BY_NAME(entity, array, compare) \
  static bool entity##_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) { \
    const Canon* canon = context; \
    return canon_name_word(name_text(canon, canon->model->array.data[item].name), depth, word); \
  } \
  int compare(const void* context, uint32_t a, uint32_t b) { \
    const Canon* canon = context; \
    return str_compare_natural(name_text(canon, canon->model->array.data[a].name), \
                               name_text(canon, canon->model->array.data[b].name)); \
  }

CANON_BY_NAME(var, vars, canon_compare_vars)
CANON_BY_NAME(param, params, canon_compare_params)
CANON_BY_NAME(data, data, canon_compare_data)
CANON_BY_NAME(automaton, automata, canon_compare_automata)

static bool label_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  return canon_name_word(name_text(context, item), depth, word);
}

static int label_compare(const void* context, uint32_t a, uint32_t b) {
  return str_compare_natural(name_text(context, a), name_text(context, b));
}

/// Natural order of the names that are used as labels.
static void rank_labels(Canon* canon) {
  const IrModel* model = canon->model;
  canon->label_rank = ARENA_ARRAY(canon->arena, uint32_t, model->names.names.count);
  uint32_t* rank = canon->label_rank;
  uint32_t* labels =
      ARENA_ARRAY(canon->arena, uint32_t, (size_t)model->equations.count + model->deletes.count);
  uint32_t count = 0;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    uint32_t label = model->equations.data[i].label;
    if (label && rank[label]++ == 0) labels[count++] = label;
  }
  for (uint32_t i = 0; i < model->deletes.count; i++) {
    uint32_t label = model->deletes.data[i].label;
    if (label && rank[label]++ == 0) labels[count++] = label;
  }
  ir_sort(&canon->sorter, labels, count, label_word, label_compare, canon);
  for (uint32_t i = 0; i < count; i++) {
    rank[labels[i]] = i + 1;
  }
}

/// Places of the variables with a name of their own; those of hidden ones come later.
static void rank_visible_vars(Canon* canon) {
  const IrModel* model = canon->model;
  CanonOrder* vars = &canon->vars;
  vars->from = ARENA_ARRAY(canon->arena, uint32_t, model->vars.count);
  vars->to = ARENA_ARRAY(canon->arena, uint32_t, model->vars.count);
  for (uint32_t i = 0; i < model->vars.count; i++) {
    vars->to[i] = IR_NONE;
    if (!model->vars.data[i].hidden) vars->from[vars->count++] = i;
  }
  ir_sort(&canon->sorter, vars->from, vars->count, var_word, canon_compare_vars, canon);
  for (uint32_t i = 0; i < vars->count; i++) {
    vars->to[vars->from[i]] = i;
  }
}

/// Places of the automata with a name of their own.
static void rank_visible_automata(Canon* canon) {
  const IrModel* model = canon->model;
  CanonOrder* automata = &canon->automata;
  automata->from = ARENA_ARRAY(canon->arena, uint32_t, model->automata.count);
  automata->to = ARENA_ARRAY(canon->arena, uint32_t, model->automata.count);
  for (uint32_t i = 0; i < model->automata.count; i++) {
    const IrAutomaton* a = &model->automata.data[i];
    if (a->kind == IR_AUTOMATON_USER && !a->hidden) automata->from[automata->count++] = i;
  }
  ir_sort(&canon->sorter, automata->from, automata->count, automaton_word, canon_compare_automata,
          canon);
  for (uint32_t i = 0; i < automata->count; i++) {
    automata->to[automata->from[i]] = i;
  }
}

void canon_rank_names(Canon* canon) {
  const IrModel* model = canon->model;
  canon->params = canon_sort(canon, model->params.count, param_word, canon_compare_params);
  canon->data = canon_sort(canon, model->data.count, data_word, canon_compare_data);
  rank_visible_vars(canon);
  rank_visible_automata(canon);
  rank_labels(canon);
}

// ---------------------------------------------------------------------------------------------
// numbers

/// The order of these words is -NaN, -Inf, ..., -0, 0, ..., Inf, NaN.
static uint64_t double_word(double value) {
  uint64_t bits = ir_double_bits(value);
  uint64_t sign = UINT64_C(1) << 63;
  return bits & sign ? ~bits : bits | sign;
}

static bool number_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  if (depth > 0) return false;
  *word = double_word(canon->model->numbers.data[item]);
  return true;
}

static void mark_numbers(void* context, IrTerm* term) {
  Canon* canon = context;
  for (uint32_t k = 0; k < term->leaf_count; k++) {
    IrLeaf leaf = ir_leaf(canon->model, *term, k);
    if (leaf.kind == IR_LEAF_NUMBER) canon->numbers.to[leaf.id] = 1;
  }
}

void canon_rank_numbers(Canon* canon) {
  uint32_t count = canon->model->numbers.count;
  CanonOrder* numbers = &canon->numbers;
  numbers->from = ARENA_ARRAY(canon->arena, uint32_t, count);
  numbers->to = ARENA_ARRAY(canon->arena, uint32_t, count);
  ir_each_term(canon->model, mark_numbers, canon);
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (numbers->to[i]) numbers->from[used++] = i;
  }
  ir_sort(&canon->sorter, numbers->from, used, number_word, NULL, canon);
  canon_classes(canon, numbers->from, used, numbers->to);
  for (uint32_t i = 0; i < used; i++) {
    uint32_t place = numbers->to[numbers->from[i]];
    numbers->from[place] = numbers->from[i];
    numbers->count = place + 1;
  }
}

// ---------------------------------------------------------------------------------------------
// nodes

/// Place of argument `k`, or the raw number in it.
static uint32_t arg_rank(const Canon* canon, const IrNode* node, uint32_t k) {
  if (node->op == IR_SLOT && k == 0) return node->arg[0];
  if (node->op == IR_TABLE && k == 0) return canon->data.to[node->arg[0]];
  return canon->node_rank[node->arg[k]];
}

static bool node_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  const IrNode* node = &canon->model->pool.nodes.data[item];
  switch (depth) {
  case 0: *word = (uint64_t)node->op << 32 | arg_rank(canon, node, 0); return true;
  case 1: *word = (uint64_t)arg_rank(canon, node, 1) << 32 | arg_rank(canon, node, 2); return true;
  case 2: *word = double_word(node->value); return true;
  default: return false;
  }
}

/// Order nodes by the height of their trees, then by operator and arguments. All nodes a node
/// points at are lower, so the order follows from the structure alone.
void canon_rank_nodes(Canon* canon) {
  const IrPool* pool = &canon->model->pool;
  uint32_t count = pool->nodes.count;
  uint32_t* height = ARENA_ARRAY(canon->arena, uint32_t, count);
  uint32_t* begin = ARENA_ARRAY(canon->arena, uint32_t, (size_t)count + 2);
  uint32_t* items = ARENA_ARRAY(canon->arena, uint32_t, count);
  canon->node_rank = ARENA_ARRAY(canon->arena, uint32_t, count);

  uint32_t top = 0;
  for (uint32_t i = 1; i < count; i++) {
    const IrNode* node = &pool->nodes.data[i];
    for (uint32_t k = ir_first_arg(node->op); k < ir_op_arity((IrOp)node->op); k++) {
      if (height[i] <= height[node->arg[k]]) height[i] = height[node->arg[k]] + 1;
    }
    if (height[i] > top) top = height[i];
    begin[height[i] + 1]++;
  }
  for (uint32_t h = 0; h < top; h++) {
    begin[h + 1] += begin[h];
  }
  for (uint32_t i = 1; i < count; i++) {
    items[begin[height[i]]++] = i;
  }

  // begin[h] has moved to the end of height h
  uint32_t rank = 0;
  for (uint32_t h = 0; count > 1 && h <= top; h++) {
    uint32_t first = h ? begin[h - 1] : 0;
    ir_sort(&canon->sorter, items + first, begin[h] - first, node_word, NULL, canon);
    for (uint32_t i = first; i < begin[h]; i++) {
      canon->node_rank[items[i]] = ++rank;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// terms and equations

/// Place of what a leaf points at. One that has no place yet (only in a cycle, which is no valid
/// model) is told apart by its old index.
static uint64_t leaf_place(const Canon* canon, IrLeaf leaf) {
  uint64_t unplaced = UINT64_C(1) << 33 | leaf.id;
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_NUMBER: return canon->numbers.to[leaf.id];
  case IR_LEAF_PARAM: return canon->params.to[leaf.id];
  case IR_LEAF_VAR: {
    uint32_t place = canon->vars.to[leaf.id];
    return place == IR_NONE ? unplaced : place;
  }
  case IR_LEAF_ATOM: {
    uint32_t place = canon->atoms.to[leaf.id];
    return place == IR_NONE ? unplaced : place;
  }
  case IR_LEAF_MODE: {
    IrModeTest test = canon->model->mode_tests.data[leaf.id];
    uint32_t key = canon->state_key[test.automaton];
    return key == IR_NONE ? unplaced : (uint64_t)key + test.state;
  }
  case IR_LEAF_ENTRY: {
    if (leaf.id == IR_NONE) return 0;
    uint32_t key = canon->state_key[leaf.id];
    return key == IR_NONE ? unplaced : (uint64_t)key + 1;
  }
  }
  return leaf.id;
}

bool canon_term_word(const Canon* canon, IrTerm term, uint32_t depth, uint64_t* word) {
  if (depth > term.leaf_count) return false;
  if (depth == 0) {
    *word = canon->node_rank[term.shape.index];
    return true;
  }
  IrLeaf leaf = ir_leaf(canon->model, term, depth - 1);
  *word = (uint64_t)leaf.kind << 56 | leaf_place(canon, leaf) << 16 | (uint64_t)leaf.order << 8 |
          leaf.when;
  return true;
}

static bool equation_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  const IrEquation* e = &canon->model->equations.data[item];
  if (depth == 0) {
    uint32_t lhs = e->lhs_var == IR_NONE ? IR_NONE : canon->vars.to[e->lhs_var];
    *word = (uint64_t)canon->label_rank[e->label] << 32 | lhs;
    return true;
  }
  if (depth == 1) {
    *word = e->lhs_var == IR_NONE ? 0 : e->lhs_order;
    return true;
  }
  return canon_term_word(canon, e->term, depth - 2, word);
}

void canon_rank_equations(Canon* canon) {
  uint32_t count = canon->model->equations.count;
  CanonOrder order = canon_sort(canon, count, equation_word, NULL);
  canon->equation_items = order.from;
  canon->equation_place = order.to;
  canon->equation_class = ARENA_ARRAY(canon->arena, uint32_t, count);
  canon_classes(canon, order.from, count, canon->equation_class);
}
