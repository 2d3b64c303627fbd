// SPDX-License-Identifier: MIT
//
// Saltus, rule tables: what only tables can do. Cyclic execution at a fixed period for control
// systems and training equipment, conversion, explanation. Located execution of the same tables is
// slt_model_compile_file() in <saltus/saltus.h>.
//
//   SltRules* rules = NULL;
//   slt_rules_compile_file("plant.rules.md", NULL, &rules);
//   SltCyclic* plant = NULL;
//   slt_cyclic_create(rules, 0.001, NULL, &plant);
//   for (;;) {
//     slt_cyclic_set(plant, valve, position);   // inputs
//     slt_cyclic_cycle(plant);
//     level = slt_cyclic_get(plant, level_place);  // outputs
//   }
#ifndef SALTUS_RULES_API_H
#define SALTUS_RULES_API_H

#include <saltus/saltus.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SltRules SltRules;  ///< A model of rule tables. Immutable: share it between threads.

/// Read a document of rule tables. Options and statuses as for slt_model_compile().
SLT_API SltStatus slt_rules_compile(const char* name, const char* text, size_t length,
                                    const SltCompileOptions* options, SltRules** out);
/// Read a document of rule tables or a folder of CSV files.
/// @return as slt_rules_compile(), and SLT_ERR_IO when the file cannot be read.
SLT_API SltStatus slt_rules_compile_file(const char* path, const SltCompileOptions* options,
                                         SltRules** out);
/// Free tables. No cyclic execution of them may exist any more. Accepts NULL.
SLT_API void slt_rules_free(SltRules* rules);

typedef enum SltRulesFormat {
  SLT_RULES_MARKDOWN,     ///< all tables as one document, what was included written out
  SLT_RULES_LISMA,        ///< the equivalent equations
  SLT_RULES_EXPLANATION,  ///< equations per situation, who reads and writes what
  SLT_RULES_SETTINGS,     ///< one table as CSV; this and the next ones
  SLT_RULES_CONSTANTS,
  SLT_RULES_STATES,
  SLT_RULES_PREDICATES,
  SLT_RULES_SITUATIONS,
  SLT_RULES_RULES,
  SLT_RULES_DRAWING,
  SLT_RULES_CONTROLS
} SltRulesFormat;

/// Write a model of rule tables in another form.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_rules_write(const SltRules* rules, SltRulesFormat format, SltWriter writer);

/// What the tables say about a run; NaN means "not given".
typedef struct SltRulesSettings {
  bool cyclic;  ///< the model asks for cyclic execution
  double cycle, start, end, every;
  uint32_t rule_count;
} SltRulesSettings;

SLT_API SltRulesSettings slt_rules_settings(const SltRules* rules);

/// Cyclic execution of rule tables: write inputs, run one cycle, read outputs. One thread at a
/// time.
typedef struct SltCyclic SltCyclic;

/// Take all memory for the cycles of `rules`, which must outlive it.
/// @param dt         period, > 0.
/// @param allocator  NULL: the C library's.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_cyclic_create(const SltRules* rules, double dt, const SltAllocator* allocator,
                                    SltCyclic** out);
/// Accepts NULL.
SLT_API void slt_cyclic_free(SltCyclic* cyclic);
/// Seed of the run, as SltSimOptions has it [0]: noise depends on it and on the seeds of its rows.
/// @return SLT_OK, SLT_ERR_ARGUMENT (NULL).
SLT_API SltStatus slt_cyclic_seed(SltCyclic* cyclic, uint64_t seed);
/// Back to the initial values.
SLT_API void slt_cyclic_reset(SltCyclic* cyclic);

/// One scan of predicates, situations and rules. Takes no memory, and a time that is bounded by the
/// number of rows.
/// @return SLT_OK, or SLT_ERR_NOT_FINITE: a rule gave no finite number and left its variable as it
///         was (slt_cyclic_problem() says which); the scan was completed.
SLT_API SltStatus slt_cyclic_cycle(SltCyclic* cyclic);
SLT_API double slt_cyclic_time(const SltCyclic* cyclic);

/// Place of a constant, state, predicate or situation; valid for every execution of the same rules.
/// @return SLT_OK or SLT_ERR_NOT_FOUND.
SLT_API SltStatus slt_cyclic_find(const SltCyclic* cyclic, const char* name, uint32_t* place);
/// Value at a place; what is logical is 0 or 1.
SLT_API double slt_cyclic_get(const SltCyclic* cyclic, uint32_t place);
/// Write a state before a cycle: an input that no rule computes, or any other state. A constant can
/// be written too where it is an argument; coefficients and parameters were read at creation.
/// @return SLT_OK or SLT_ERR_ARGUMENT (predicates and situations are computed; value not finite).
SLT_API SltStatus slt_cyclic_set(SltCyclic* cyclic, uint32_t place, double value);

/// The states in the order of their table: what a recording holds.
SLT_API uint32_t slt_cyclic_column_count(const SltCyclic* cyclic);
SLT_API const char* slt_cyclic_column_name(const SltCyclic* cyclic, uint32_t column);
SLT_API uint32_t slt_cyclic_column_place(const SltCyclic* cyclic, uint32_t column);

typedef enum SltConditionKind {
  SLT_CONDITION_PREDICATE,
  SLT_CONDITION_SITUATION,
  SLT_CONDITION_STATE  ///< a logical state
} SltConditionKind;

/// Something that holds or does not: what a cycle can change at once.
typedef struct SltCondition {
  SltConditionKind kind;
  const char* name;
  const char* text;  ///< relation of a predicate, rows of a situation; "" for a logical state
  uint32_t place;    ///< for slt_cyclic_get()
  const char* file;  ///< where it is written
  uint32_t line;
} SltCondition;

/// Predicates, situations and logical states, in this order and each in that of its table.
SLT_API uint32_t slt_cyclic_condition_count(const SltCyclic* cyclic);
/// One of them; zeroed beyond the last one. Texts live as long as the rules.
SLT_API SltCondition slt_cyclic_condition(const SltCyclic* cyclic, uint32_t condition);

/// What has gone wrong so far.
typedef struct SltCyclicProblem {
  const char* rule;      ///< number of the first rule that gave no finite number; NULL for none
  const char* variable;  ///< of that rule
  const char* file;      ///< where it is written
  uint32_t line;
  uint64_t divisions;  ///< by zero: the variable kept its value
} SltCyclicProblem;

SLT_API SltCyclicProblem slt_cyclic_problem(const SltCyclic* cyclic);

#ifdef __cplusplus
}
#endif

#endif
