// SPDX-License-Identifier: MIT
//
// rules: models as tables of rules on situations (V. M. Shpakov, "An Approach to Implementation of
// Physical Simulation Models"). Other modules include this header only.
//
// Data flow: text (Markdown, or CSV files) -> raw tables of cells (read_*.c) -> RulesModel with all
// names looked up (build_*.c) -> either of two executions. `located`: the model is written as LISMA
// text (write_*.c), which the one compiler of equations turns into the IR (locate.c); what
// `convert` and `explain` show is therefore what runs. `cyclic`: the literal scan of the lists with
// a fixed dt (cyclic*.c).
#ifndef SALTUS_RULES_H
#define SALTUS_RULES_H

#include "lisma/lisma.h"
#include "rules/model.h"

/// Contents of another file named by a model, copied into `arena`.
typedef SltStatus RulesLoadFn(void* user, Str name, Arena* arena, Str* content);

typedef struct RulesOptions {
  const LismaOverride* overrides;  // of constants
  uint32_t override_count;
  bool* applied;  // NULL, or room for override_count
  RulesLoadFn* load_file;
  void* user;
  const Str* observe;  // predicates and situations that become variables
  uint32_t observe_count;
} RulesOptions;

/// Read a model and the files it includes. `source` is initialised here with the text of all of
/// them; spans and `diags` refer to it. `model` is always initialised; false after errors.
/// `csv_folder`: `name` is a folder, its tables come through `load_file` and `text` is not used.
bool rules_read(RulesModel* model, Arena* arena, Source* source, Str name, Str text,
                bool csv_folder, const RulesOptions* options, DiagList* diags);

/// The equivalent equations as LISMA text. `map` (may be NULL) receives which part of the text
/// comes from which place of the source.
typedef struct RulesMapping {
  uint32_t begin;  // of the text written; reaches to the next mapping
  Span span;       // of the source
} RulesMapping;

/// How people are told of an automaton of the text.
typedef struct RulesShown {
  Str name;
  bool hidden;  // not at all
  Str initial;  // what its initial state means; empty: nothing
} RulesShown;

typedef struct RulesMap {
  BASE_VEC(RulesMapping) items;
  BASE_VEC(Str) hidden;  // names of helper variables
  BASE_VEC(RulesShown) automata;
} RulesMap;

Str rules_write_lisma(const RulesModel* model, Arena* arena, RulesMap* map);

/// Located execution: the equations as IR, with spans in the model's source.
bool rules_lower(const RulesModel* model, IrModel* ir, Arena* arena, const Source* source,
                 const RulesOptions* options, DiagList* diags);

/// The tables again, as Markdown or as one CSV file per section.
Str rules_write_markdown(const RulesModel* model, Arena* arena);
Str rules_write_csv(const RulesModel* model, RulesSection section, Arena* arena);
/// "rules.csv" for RULES_SECTION_RULES.
const char* rules_csv_name(RulesSection section);

/// Fill in the texts of predicates and situations.
void rules_write_conditions(RulesModel* model, Arena* arena);

/// Equations per situation, and who reads and writes what.
Str rules_write_explanation(const RulesModel* model, Arena* arena);

// ---- the literal interpreter
// ----------------------------------------------------------------------

typedef struct RulesCyclic RulesCyclic;

/// Takes all memory here; NULL when there is none. `model` must outlive it.
RulesCyclic* rules_cyclic_create(const RulesModel* model, double dt, const SltAllocator* allocator);
void rules_cyclic_free(RulesCyclic* cyclic);
/// Seed of the run, which noise is mixed with; 0 from the beginning.
void rules_cyclic_seed(RulesCyclic* cyclic, uint64_t seed);
/// Initial values, time 0, cycle 0.
void rules_cyclic_reset(RulesCyclic* cyclic);
/// One scan of all lists. False when a rule gave a value that is not finite; the value before it
/// stays, and rules_cyclic_failed() names the rule.
bool rules_cyclic_cycle(RulesCyclic* cyclic);
double rules_cyclic_time(const RulesCyclic* cyclic);
uint64_t rules_cyclic_count(const RulesCyclic* cyclic);
uint32_t rules_cyclic_failed(const RulesCyclic* cyclic);     // rule, UINT32_MAX for none
uint64_t rules_cyclic_divisions(const RulesCyclic* cyclic);  // divisions by zero so far

/// Values by place: constants, then states (logical ones 0 or 1), predicates, situations.
uint32_t rules_cyclic_find(const RulesCyclic* cyclic, Str name);  // UINT32_MAX when there is none
double rules_cyclic_get(const RulesCyclic* cyclic, uint32_t place);
bool rules_cyclic_set(RulesCyclic* cyclic, uint32_t place, double value);

#endif
