// SPDX-License-Identifier: MIT
//
// Which atoms, switches and hidden variables read which. Conditions read atoms; an atom with a
// piecewise function in it reads the state of a switch, or the hidden variable that numbers the
// pieces of a step function; such a variable stands for the expression it starts with. In a valid
// model nothing reads itself.
#include "ir/internal.h"

#define LEVEL_OPEN IR_NONE  // being visited

/// Atoms, then automata, then variables, in one numbering.
typedef struct Levels {
  const IrModel* model;
  Arena* arena;
  uint32_t automaton_begin, var_begin, count;
  uint32_t* start_of;  // variable -> its first start + 1
  uint32_t* level;     // 0: not visited
  bool cyclic;
  BASE_VEC(struct LevelVisit { uint32_t item, next; }) stack;
} Levels;

static uint32_t leaf_item(const Levels* levels, IrLeaf leaf) {
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_ATOM: return leaf.id;
  case IR_LEAF_MODE:
    return levels->automaton_begin + levels->model->mode_tests.data[leaf.id].automaton;
  case IR_LEAF_ENTRY: return leaf.id == IR_NONE ? IR_NONE : levels->automaton_begin + leaf.id;
  case IR_LEAF_VAR: return levels->var_begin + leaf.id;
  case IR_LEAF_NUMBER:
  case IR_LEAF_PARAM: break;
  }
  return IR_NONE;
}

/// What leaf number `k` of an item's terms points at; false behind the last leaf.
static bool level_read(const Levels* levels, uint32_t item, uint32_t k, uint32_t* read) {
  const IrModel* model = levels->model;
  IrTerm terms[3] = {{{0}, 0, 0}, {{0}, 0, 0}, {{0}, 0, 0}};
  if (item < levels->automaton_begin) {
    const IrAtom* atom = &model->atoms.data[item];
    terms[0] = atom->g;
    terms[1] = atom->eps;
    terms[2] = atom->gamma;
  } else if (item < levels->var_begin) {
    terms[0] = model->automata.data[item - levels->automaton_begin].condition;
  } else {
    uint32_t start = levels->start_of[item - levels->var_begin];
    if (start) terms[0] = model->starts.data[start - 1].value;
  }
  for (uint32_t i = 0; i < 3; i++) {
    if (k < terms[i].leaf_count) {
      *read = leaf_item(levels, ir_leaf(model, terms[i], k));
      return true;
    }
    k -= terms[i].leaf_count;
  }
  return false;
}

/// Level of an item and of everything it reads.
static void level_find(Levels* levels, uint32_t item) {
  uint32_t* level = levels->level;
  base_vec_push(levels->arena, &levels->stack, (struct LevelVisit){item, 0});
  level[item] = LEVEL_OPEN;
  while (levels->stack.count) {
    struct LevelVisit* visit = &levels->stack.data[levels->stack.count - 1];
    uint32_t read = IR_NONE;
    bool more = level_read(levels, visit->item, visit->next, &read);
    visit->next++;
    if (more && read != IR_NONE && level[read] == LEVEL_OPEN) levels->cyclic = true;
    if (more && read != IR_NONE && level[read] == 0) {
      level[read] = LEVEL_OPEN;
      base_vec_push(levels->arena, &levels->stack, (struct LevelVisit){read, 0});
    }
    if (more) continue;

    uint32_t highest = 0;
    for (uint32_t k = 0; level_read(levels, visit->item, k, &read); k++) {
      bool known = read != IR_NONE && level[read] != LEVEL_OPEN;
      if (known && level[read] > highest) highest = level[read];
    }
    level[visit->item] = highest + 1;
    levels->stack.count--;
  }
}

uint32_t* ir_first_starts(const IrModel* model, Arena* arena) {
  uint32_t* start_of = ARENA_ARRAY(arena, uint32_t, model->vars.count);
  for (uint32_t i = model->starts.count; i-- > 0;) {
    start_of[model->starts.data[i].var] = i + 1;
  }
  return start_of;
}

bool ir_find_levels(const IrModel* model, Arena* arena, uint32_t* level) {
  uint32_t automata = model->atoms.count;
  uint32_t vars = automata + model->automata.count;
  Levels levels = {.model = model,
                   .arena = arena,
                   .automaton_begin = automata,
                   .var_begin = vars,
                   .count = vars + model->vars.count,
                   .start_of = ir_first_starts(model, arena),
                   .level = level};
  for (uint32_t i = 0; i < model->automata.count; i++) {
    if (model->automata.data[i].kind != IR_AUTOMATON_SWITCH) level[automata + i] = 1;
  }
  for (uint32_t i = 0; i < model->vars.count; i++) {
    if (!model->vars.data[i].hidden) level[vars + i] = 1;
  }
  for (uint32_t i = 0; i < levels.count; i++) {
    if (level[i] == 0) level_find(&levels, i);
  }
  return !levels.cyclic;
}
