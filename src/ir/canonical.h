// SPDX-License-Identifier: MIT
//
// Work space of ir_canonicalise(), shared by the canonical_*.c files only.
//
// First every entity gets a place that follows from names and structure alone (canonical_rank.c,
// canonical_switch.c, canonical_body.c); nothing in the model moves meanwhile, so all indices and
// terms in this struct are the old ones. Then the model is rewritten in one go (canonical_apply.c).
#ifndef SALTUS_IR_CANONICAL_H
#define SALTUS_IR_CANONICAL_H

#include "ir/internal.h"

/// A new order of some entities.
typedef struct CanonOrder {
  uint32_t* from;  // new place -> old index
  uint32_t* to;    // old index -> new place; several old ones may share a place (merged)
  uint32_t count;  // new number of entities
} CanonOrder;

typedef struct Canon {
  IrModel* model;
  Arena* arena;  // scratch, gone after ir_canonicalise()
  IrSorter sorter;

  CanonOrder vars, params, data, numbers, atoms, automata, bodies, mode_tests;
  uint32_t* label_rank;  // name id -> place of the label in natural order; 0 for no label
  uint32_t* node_rank;   // node -> place in an order by structure

  // states of an automaton: state_list[state_first[a] .. state_first[a + 1])
  uint32_t* state_first;
  uint32_t* state_list;
  uint32_t* transition_first;
  uint32_t* transition_list;

  // while places are being found: automaton -> number of its first state among all states ranked
  // so far, IR_NONE while it has none
  uint32_t* state_key;
  uint32_t* start_of;         // variable -> its first start + 1
  bool* plain;                // automaton -> it is a switch that only selects values
  uint32_t* condition_class;  // switches that are not merged: equal for equal conditions

  uint32_t* equation_items;  // equations in order, bodies apart
  uint32_t* equation_place;  // old index -> place in equation_items
  uint32_t* equation_class;  // old index -> number shared by equations that are equal
  uint32_t* action_place;    // old index -> place in an order by structure
  uint32_t* action_class;
  uint32_t* action_items;  // actions, each group in its new order
} Canon;

/// 0, 1, ..., count - 1.
uint32_t* canon_identity(Canon* canon, uint32_t count);
/// Sort entities 0 .. count - 1; nothing is merged.
CanonOrder canon_sort(Canon* canon, uint32_t count, IrWordFn* word, IrCompareFn* compare);
/// Number of the class of equal items, per place in the order just made by ir_sort().
void canon_classes(const Canon* canon, const uint32_t* items, uint32_t count, uint32_t* class_of);

void canon_rank_names(Canon* canon);
void canon_rank_numbers(Canon* canon);
void canon_rank_nodes(Canon* canon);

/// Words of a term: its shape, then its leaves.
bool canon_term_word(const Canon* canon, IrTerm term, uint32_t depth, uint64_t* word);
/// Words of a name; the rest of a long name is left to the comparison of texts.
bool canon_name_word(Str name, uint32_t depth, uint64_t* word);
/// Natural order of names; the context is the Canon.
int canon_compare_vars(const void* context, uint32_t a, uint32_t b);
int canon_compare_params(const void* context, uint32_t a, uint32_t b);
int canon_compare_data(const void* context, uint32_t a, uint32_t b);
int canon_compare_automata(const void* context, uint32_t a, uint32_t b);

/// Order and merge atoms and the switches of expressions; order hidden variables.
void canon_rank_atoms(Canon* canon);
/// Order the `if` blocks and hidden automata, and thereby all automata and bodies.
void canon_rank_automata(Canon* canon);
void canon_rank_equations(Canon* canon);

void canon_apply(Canon* canon);

#endif
