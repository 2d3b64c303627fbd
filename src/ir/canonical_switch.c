// SPDX-License-Identifier: MIT
//
// Places of atoms, switches and hidden variables, and merging of equal atoms and switches.
//
// The names of switches and hidden variables tell where they stand in the text, so their order is
// taken from what they are: their conditions and start values. These read atoms, atoms read the
// states of switches (a piecewise function inside a relation), so all are ranked together, level by
// level: what an item reads is on a lower level and has its place already. Equal items of one level
// become one, which may make items of the next level equal.
#include "ir/canonical.h"

// ---------------------------------------------------------------------------------------------
// atoms

static bool is_switch(const Canon* canon, uint32_t automaton) {
  return canon->model->automata.data[automaton].kind == IR_AUTOMATON_SWITCH;
}

static bool atom_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  const IrAtom* atom = &canon->model->atoms.data[item];
  if (depth == 0) {
    *word = (uint64_t)atom->type << 8 | atom->relation;
    return true;
  }
  depth--;
  const IrTerm terms[] = {atom->g, atom->eps, atom->gamma};
  for (uint32_t i = 0; i < 3; i++) {
    if (depth <= terms[i].leaf_count) return canon_term_word(canon, terms[i], depth, word);
    depth -= terms[i].leaf_count + 1;
  }
  return false;
}

static bool span_before(Span a, Span b) {
  return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
}

/// Rank the atoms of one level; equal ones share a place, for which the first in the text stands.
static void rank_level_atoms(Canon* canon, uint32_t* items, uint32_t count) {
  IrModel* model = canon->model;
  CanonOrder* atoms = &canon->atoms;
  ir_sort(&canon->sorter, items, count, atom_word, NULL, canon);
  for (uint32_t i = 0; i < count; i++) {
    IrAtom* atom = &model->atoms.data[items[i]];
    if (canon->sorter.first.data[i]) {
      atoms->from[atoms->count++] = items[i];
    } else {
      IrAtom* kept = &model->atoms.data[atoms->from[atoms->count - 1]];
      if (span_before(atom->span, kept->span)) kept->span = atom->span;
      kept->bipolar = kept->bipolar || atom->bipolar;
      kept->kink = kept->kink && atom->kink;
    }
  }
  // only now: the places of one level must not be seen while that level is sorted
  for (uint32_t i = count, place = atoms->count; i-- > 0;) {
    atoms->to[items[i]] = place - 1;
    if (canon->sorter.first.data[i]) place--;
  }
}

// ---------------------------------------------------------------------------------------------
// switches

/// A switch that only selects values: no bodies, nothing that happens at its transitions.
static bool switch_is_plain(const Canon* canon, uint32_t automaton) {
  const IrModel* model = canon->model;
  if (model->automata.data[automaton].parent_body != IR_NONE) return false;
  if (canon->transition_first[automaton + 1] != canon->transition_first[automaton]) return false;
  uint32_t end = canon->state_first[automaton + 1];
  if (end - canon->state_first[automaton] != 2) return false;
  for (uint32_t i = canon->state_first[automaton]; i < end; i++) {
    const IrState* state = &model->states.data[canon->state_list[i]];
    bool empty = state->body == IR_NONE && state->action_count == 0 && !state->stop.data &&
                 !ir_term_present(state->invariant);
    if (!empty) return false;
  }
  return true;
}

static bool switch_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  if (depth == 0) {
    *word = canon->plain[item] ? 0 : 1;
    return true;
  }
  return canon_term_word(canon, canon->model->automata.data[item].condition, depth - 1, word);
}

static Str automaton_name(const Canon* canon, uint32_t automaton) {
  return names_get(&canon->model->names, canon->model->automata.data[automaton].name);
}

/// Whether switch `a` stands before the equal switch `b` in the text.
static bool switch_before(const Canon* canon, uint32_t a, uint32_t b) {
  Span left = canon->model->automata.data[a].span;
  Span right = canon->model->automata.data[b].span;
  if (span_before(left, right) || span_before(right, left)) return span_before(left, right);
  return str_compare_natural(automaton_name(canon, a), automaton_name(canon, b)) < 0;
}

static void merge_switch(Canon* canon, uint32_t kept, uint32_t other) {
  IrModel* model = canon->model;
  IrAutomaton* a = &model->automata.data[kept];
  const IrAutomaton* b = &model->automata.data[other];
  a->hidden = a->hidden && b->hidden;
  if (!switch_before(canon, other, kept)) return;
  a->name = b->name;
  a->span = b->span;
  for (uint32_t s = 0; s < 2; s++) {
    uint32_t into = canon->state_list[canon->state_first[kept] + s];
    uint32_t from = canon->state_list[canon->state_first[other] + s];
    model->states.data[into].span = model->states.data[from].span;
  }
}

/// Rank the switches of one level. Plain ones get their places; `if` blocks only get keys.
static void rank_level_switches(Canon* canon, uint32_t* items, uint32_t count, uint32_t* next_key) {
  CanonOrder* automata = &canon->automata;
  ir_sort(&canon->sorter, items, count, switch_word, NULL, canon);
  uint32_t kept = IR_NONE;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t item = items[i];
    bool first = canon->sorter.first.data[i];
    if (first) kept = item;
    if (canon->plain[item]) {
      if (first) {
        automata->from[automata->count++] = item;
      } else {
        merge_switch(canon, kept, item);
      }
      automata->to[item] = automata->count - 1;
    }
  }

  // only now: keys of one level must not be seen while that level is sorted
  uint32_t number = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t item = items[i];
    bool merged = !canon->sorter.first.data[i] && canon->plain[item];
    if (canon->sorter.first.data[i]) number = *next_key;
    canon->condition_class[item] = number;
    if (merged) {
      canon->state_key[item] = number;
      continue;
    }
    canon->state_key[item] = *next_key;
    *next_key += canon->state_first[item + 1] - canon->state_first[item];
  }
}

// ---------------------------------------------------------------------------------------------
// hidden variables

static bool hidden_var_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const Canon* canon = context;
  uint32_t start = canon->start_of[item];
  return start && canon_term_word(canon, canon->model->starts.data[start - 1].value, depth, word);
}

static void rank_level_hidden(Canon* canon, uint32_t* items, uint32_t count) {
  CanonOrder* vars = &canon->vars;
  ir_sort(&canon->sorter, items, count, hidden_var_word, canon_compare_vars, canon);
  for (uint32_t i = 0; i < count; i++) {
    vars->to[items[i]] = vars->count;
    vars->from[vars->count++] = items[i];
  }
}

// ---------------------------------------------------------------------------------------------

/// Items in order of their levels; returns where each level begins, and the number of levels.
static uint32_t* level_buckets(Canon* canon, const uint32_t* level, uint32_t count, uint32_t* items,
                               uint32_t* level_count) {
  uint32_t top = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (level[i] > top) top = level[i];
  }
  uint32_t* begin = ARENA_ARRAY(canon->arena, uint32_t, (size_t)top + 2);
  for (uint32_t i = 0; i < count; i++) {
    begin[level[i] + 1]++;
  }
  for (uint32_t l = 0; l <= top; l++) {
    begin[l + 1] += begin[l];
  }
  uint32_t* at = ARENA_ARRAY(canon->arena, uint32_t, (size_t)top + 1);
  memcpy(at, begin, ((size_t)top + 1) * sizeof *at);
  for (uint32_t i = 0; i < count; i++) {
    items[at[level[i]]++] = i;
  }
  *level_count = top + 1;
  return begin;
}

static void init_places(Canon* canon) {
  const IrModel* model = canon->model;
  canon->start_of = ir_first_starts(model, canon->arena);
  canon->atoms.from = ARENA_ARRAY(canon->arena, uint32_t, model->atoms.count);
  canon->atoms.to = ARENA_ARRAY(canon->arena, uint32_t, model->atoms.count);
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    canon->atoms.to[i] = IR_NONE;
  }
  canon->state_key = ARENA_ARRAY(canon->arena, uint32_t, model->automata.count);
  canon->condition_class = ARENA_ARRAY(canon->arena, uint32_t, model->automata.count);
  canon->plain = ARENA_ARRAY(canon->arena, bool, model->automata.count);
  for (uint32_t i = 0; i < model->automata.count; i++) {
    canon->state_key[i] = IR_NONE;
    canon->plain[i] = is_switch(canon, i) && switch_is_plain(canon, i);
  }
}

/// The items of one level, by kind.
typedef struct LevelItems {
  uint32_t *atoms, *switches, *hidden;
  uint32_t atom_count, switch_count, hidden_count;
} LevelItems;

static void split_level(const Canon* canon, const uint32_t* items, uint32_t count,
                        LevelItems* level) {
  uint32_t automata = canon->model->atoms.count;
  uint32_t vars = automata + canon->model->automata.count;
  level->atom_count = level->switch_count = level->hidden_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t item = items[i];
    if (item < automata) {
      level->atoms[level->atom_count++] = item;
    } else if (item < vars) {
      if (is_switch(canon, item - automata))
        level->switches[level->switch_count++] = item - automata;
    } else if (canon->model->vars.data[item - vars].hidden) {
      level->hidden[level->hidden_count++] = item - vars;
    }
  }
}

static void rank_levels(Canon* canon, uint32_t* next_key) {
  const IrModel* model = canon->model;
  uint32_t count = model->atoms.count + model->automata.count + model->vars.count;
  uint32_t* level = ARENA_ARRAY(canon->arena, uint32_t, count);
  ir_find_levels(model, canon->arena, level);
  uint32_t* items = ARENA_ARRAY(canon->arena, uint32_t, count);
  uint32_t level_count = 0;
  const uint32_t* begin = level_buckets(canon, level, count, items, &level_count);
  LevelItems here = {.atoms = ARENA_ARRAY(canon->arena, uint32_t, model->atoms.count),
                     .switches = ARENA_ARRAY(canon->arena, uint32_t, model->automata.count),
                     .hidden = ARENA_ARRAY(canon->arena, uint32_t, model->vars.count)};
  for (uint32_t l = 0; l < level_count; l++) {
    split_level(canon, items + begin[l], begin[l + 1] - begin[l], &here);
    rank_level_atoms(canon, here.atoms, here.atom_count);
    rank_level_switches(canon, here.switches, here.switch_count, next_key);
    rank_level_hidden(canon, here.hidden, here.hidden_count);
  }
}

void canon_rank_atoms(Canon* canon) {
  init_places(canon);
  uint32_t next_key = 0;
  for (uint32_t i = 0; i < canon->automata.count; i++) {
    uint32_t automaton = canon->automata.from[i];
    canon->state_key[automaton] = next_key;
    next_key += canon->state_first[automaton + 1] - canon->state_first[automaton];
  }

  rank_levels(canon, &next_key);
}
