// SPDX-License-Identifier: MIT
//
// Shared by the files of ir/ only.
#ifndef SALTUS_IR_INTERNAL_H
#define SALTUS_IR_INTERNAL_H

#include "ir/ir.h"

#include <string.h>

/// The expressions among the arguments of a node are arg[first .. arity).
static inline uint32_t ir_first_arg(uint32_t op) {
  return op == IR_TABLE ? 1 : 0;
}

static inline uint64_t ir_double_bits(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Forget everything the term builder knows about the pool and the numbers; they were rebuilt.
void ir_work_reset(IrModel* model);

/// Call `visit` for every term of the model that is present, in a fixed order of entities.
typedef void IrTermFn(void* context, IrTerm* term);
void ir_each_term(IrModel* model, IrTermFn* visit, void* context);

/// Per atom: whether it reads the time or a variable that moves between events.
bool* ir_continuous_atoms(const IrModel* model, Arena* arena);

/// Variable -> index of its first start + 1, or 0.
uint32_t* ir_first_starts(const IrModel* model, Arena* arena);
/// Levels of the atoms, behind them of the automata, behind them of the variables: each is higher
/// than what it reads (see levels.c); what has a name of its own is on level 1. `level` comes in
/// zeroed. False when something reads itself.
bool ir_find_levels(const IrModel* model, Arena* arena, uint32_t* level);

// ---------------------------------------------------------------------------------------------
// sorting

typedef struct IrPair {
  uint64_t key;
  uint32_t item;
} IrPair;

/// Word number `depth` of an item's key; false behind its last word.
typedef bool IrWordFn(const void* context, uint32_t item, uint32_t depth, uint64_t* word);
/// Order of two items whose words are all equal; may be NULL.
typedef int IrCompareFn(const void* context, uint32_t a, uint32_t b);

/// Stable sorting of items by keys that are sequences of words, compared like texts: a word is
/// asked for only where the words before it are equal. O(n log n) plus the words looked at.
typedef struct IrSorter {
  Arena* arena;
  BASE_VEC(IrPair) pairs;  // twice the number of items: room for merging
  BASE_VEC(uint32_t) ended;
  BASE_VEC(struct IrSortRange { uint32_t begin, end, depth; }) stack;
  BASE_VEC(bool) first;  // after ir_sort(): whether an item differs from the one before it
} IrSorter;

void ir_sort(IrSorter* sorter, uint32_t* items, uint32_t count, IrWordFn* word,
             IrCompareFn* compare, const void* context);
/// Sort numbers ascending.
void ir_sort_numbers(IrSorter* sorter, uint32_t* numbers, uint32_t count);

#endif
