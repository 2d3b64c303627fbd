// SPDX-License-Identifier: MIT
//
// lisma: the equation language. Text to syntax tree (parser.h), syntax tree to canonical text
// (ast_print.h), and text to the hybrid model of ir.h (here). Other modules include this header
// only.
#ifndef SALTUS_LISMA_H
#define SALTUS_LISMA_H

#include "ir/ir.h"
#include "lisma/ast.h"
#include "lisma/ast_print.h"
#include "lisma/parser.h"

#include <saltus/saltus.h>

/// A constant that is set from outside before compilation.
typedef struct LismaOverride {
  Str name;
  double value;
} LismaOverride;

/// How to compile. All zero is a valid value: no overrides, no data files.
typedef struct LismaOptions {
  const LismaOverride* overrides;
  uint32_t override_count;
  bool* applied;  // NULL, or room for override_count: whether the name is a constant of the model

  /// Contents of a data file, copied into `arena`. NULL: the model cannot read files.
  SltStatus (*load_file)(void* user, Str name, Arena* arena, Str* content);
  /// Where the file that was loaded last stands; empty: beside the model. NULL: all do.
  Str (*place_file)(void* user, Arena* arena);
  /// Text of the part that stands for a foreign file; else `problem` in words. NULL: there are
  /// none.
  bool (*describe_foreign)(void* user, Str name, Arena* arena, Str* text, Str* problem);
  void* user;

  // sizes beyond which a model is refused, with all loops written out; 0 for the usual ones
  uint32_t max_instances;  // of loops: 20 million
  uint32_t max_leaves;     // names and numbers in expressions: 50 million

  /// Loops of at least so many instances are lowered for a few of them, and the others are told
  /// from these where they are all alike; the model is the same. 0 for the usual 2000, UINT32_MAX:
  /// never.
  uint32_t sample_from;

  bool trust_units;  // units are words that nothing is inferred from

  const Str* observe;  // names of conditions that become variables, 1 where they hold
  uint32_t observe_count;
} LismaOptions;

/// Put the files that a model includes behind its text, as parts of the source. False when one of
/// them cannot be used, which is reported. To be called before the text is compiled; texts that
/// include nothing stay as they are.
bool lisma_include(Source* source, Arena* arena, const LismaOptions* options, DiagList* diags);

/// Text to hybrid model. `model` is initialised in any case and lives in `arena`; its spans refer
/// to `source`, which must outlive it. Messages are added to `diags` in the order of the text.
/// `options` may be NULL. False when there were errors: the model is then not fit for use.
bool lisma_compile(IrModel* model, Arena* arena, const Source* source, const LismaOptions* options,
                   DiagList* diags);

/// The text with its layout in order: indentation, spaces, blank lines. Comments and the author's
/// lines stay. False when it has errors, which are added to `diags`.
bool lisma_format(Arena* arena, const Source* source, DiagList* diags, Str* out);

/// A name that a text declares.
typedef struct LismaSymbol {
  SltSymbolKind kind;
  Str name;           // without indices
  Str container;      // automaton of a state, else the part; empty where there is none
  Str part;           // it is declared in; empty in the model itself
  Str type;           // of an instance: its part
  Span place, whole;  // of the name; of the statement or definition
} LismaSymbol;

typedef BASE_VEC(LismaSymbol) LismaSymbols;

/// What the text declares, each name where it stands first, in the order of the text. Mistakes do
/// not matter. `out` begins all zero and lives in `arena`.
void lisma_outline(Arena* arena, const Source* source, LismaSymbols* out);

/// An instance of a part, as the text has it: an array stands there once.
typedef struct LismaPart {
  Str name;        // `cascade[1000]`
  Str type;        // `Tank(A = 2)`
  uint32_t depth;  // 0 for parts of the model
  Span place;
} LismaPart;

typedef BASE_VEC(LismaPart) LismaParts;

/// The tree of parts in the order of a walk, each before those inside of it; at most 1000. Mistakes
/// do not matter. `out` begins all zero and lives in `arena`.
void lisma_parts(Arena* arena, const Source* source, LismaParts* out);

#endif
