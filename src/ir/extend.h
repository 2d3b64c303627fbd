// SPDX-License-Identifier: MIT
//
// Work space of ir_extend(), shared by the extend*.c files only.
//
// A list of entities is looked at as a table of words, one row per entity. In a model of loops most
// of the table consists of *runs*: `count` blocks of `period` rows each, in which every word is
// base + k * step in block k. The same loops with one instance more have the same runs, with counts
// and bases that grow by a fixed amount each, and that is how runs of any size are known.
#ifndef SALTUS_IR_EXTEND_H
#define SALTUS_IR_EXTEND_H

#include "ir/internal.h"

#define EXTEND_SAMPLES    3
#define EXTEND_WORDS_MAX  28  // of the longest row
#define EXTEND_NAME_PARTS 4   // numbers in a name that may count
#define EXTEND_PERIOD_MAX 96  // rows of an instance in one list
#define EXTEND_RUN_MIN    8   // fewer blocks are no run
#define EXTEND_NEAR       4   // what is fixed must stay that far below the end of a sample

/// Rows of words; all lists of a model in the same order.
typedef struct ExtendTable {
  uint32_t* words;  // count * width
  uint32_t count;
  uint32_t width;
  uint32_t free;  // bit w: word w may differ between blocks and between sizes
} ExtendTable;

typedef struct ExtendRun {
  uint32_t begin;   // first row in the table it was found in
  uint32_t period;  // rows of a block
  uint32_t count;   // blocks
  uint32_t count_slope;
  uint32_t* base;   // period * width
  uint32_t* step;   // from block to block
  uint32_t* slope;  // from size to size
} ExtendRun;

typedef BASE_VEC(ExtendRun) ExtendRuns;

/// Split a table into runs, single rows being runs of one block.
void extend_find_runs(Arena* arena, const ExtendTable* table, ExtendRuns* runs);
/// The runs of three successive sizes as one list with slopes; false when they do not agree.
bool extend_join_runs(Arena* arena, const ExtendTable* tables, ExtendRuns* samples);
/// Runs with their slopes applied `more` times. False when a count does not fit.
bool extend_apply_slopes(ExtendRuns* runs, const ExtendTable* table, uint32_t more);
uint32_t extend_rows(const ExtendRuns* runs);
/// Write all rows of the runs; `stride` bytes from row to row, at least 4 * width.
void extend_write(const ExtendRuns* runs, uint32_t width, void* out, size_t stride);

/// Whether a word takes other values in a larger model.
static inline bool extend_grows(const ExtendRun* run, uint32_t word) {
  return run->slope[word] != 0 || (run->step[word] != 0 && run->count_slope != 0);
}

// ---------------------------------------------------------------------------------------------
// tables of a model

#define EXTEND_LISTS(X) \
  X(params, IrParam) \
  X(vars, IrVar) \
  X(starts, IrStart) \
  X(equations, IrEquation) \
  X(deletes, IrDelete) \
  X(bodies, IrBody) \
  X(atoms, IrAtom) \
  X(mode_tests, IrModeTest) \
  X(automata, IrAutomaton) \
  X(states, IrState) \
  X(transitions, IrTransition) \
  X(from_states, uint32_t) \
  X(actions, IrAction) \
  X(gotos, IrGoto) \
  X(schedules, IrSchedule) \
  X(macros, IrMacro)

enum {
#define X(list, type) EXTEND_##list,
  EXTEND_LISTS(X)
#undef X
      EXTEND_leaves,  // NOLINT(readability-identifier-naming): like those of the lists
  EXTEND_names,       // NOLINT(readability-identifier-naming)
  EXTEND_TABLES
};

/// What the tables of several models share.
typedef struct ExtendTexts {
  Arena* arena;
  NameTable texts;     // of entities
  NameTable odd;       // bits of numbers that are not whole, or too large
  NameTable outlines;  // names with \1 in place of their numbers
} ExtendTexts;

// rows of texts and of leaves
#define EXTEND_TEXT_NULL  0u
#define EXTEND_TEXT_EMPTY 1u
#define EXTEND_TEXT_FIRST 2u  // + id in texts
#define EXTEND_WHOLE      1u  // `pad` of a leaf whose id is the number itself
#define EXTEND_ODD        2u  // ... an id in `odd`

void extend_texts_init(ExtendTexts* texts, Arena* arena);
/// All lists of a model as tables.
void extend_read(ExtendTexts* texts, const IrModel* model, ExtendTable* tables);
/// Write the runs of list `which` into the model. Not for leaves, names and what is packed.
void extend_write_list(ExtendTexts* texts, IrModel* model, uint32_t which, ExtendRuns* runs);
/// Keep the runs of the lists that are packed.
void extend_pack(ExtendTexts* texts, IrModel* model, ExtendRuns* runs);

/// Numbers and rows of leaves. False when the numbers do not follow each other.
bool extend_write_leaves(ExtendTexts* texts, IrModel* model, const ExtendRuns* runs);
/// Whether terms keep their shapes and, where it depends on their numbers, their order in a model
/// that is `more` larger. `runs` have slopes.
bool extend_numbers_keep_order(Arena* arena, IrModel* sample, const ExtendRuns* runs,
                               uint32_t more);

void extend_write_names(ExtendTexts* texts, IrModel* model, const ExtendRuns* runs);
/// Whether no name that is there once would come among those of a loop. `runs` have slopes.
bool extend_names_keep_apart(const IrModel* sample, const ExtendRuns* runs);

#endif
