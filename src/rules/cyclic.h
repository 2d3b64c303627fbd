// SPDX-License-Identifier: MIT
//
// Shared by the cyclic*.c files only: the tables as flat arrays for the literal interpreter.
#ifndef SALTUS_RULES_CYCLIC_H
#define SALTUS_RULES_CYCLIC_H

#include "rules/rules.h"

/// One operation of a predicate, for a stack of numbers.
typedef struct CyclicOp {
  uint8_t op;  // RulesOp; CONSTANT and STATE are places
  uint32_t place;
  double value;
} CyclicOp;

typedef struct CyclicPredicate {
  uint32_t begin, end;  // in ops
} CyclicPredicate;

/// A conjunction: places with a bit for "not".
typedef struct CyclicWhen {
  uint32_t begin, end;  // in literals
} CyclicWhen;

typedef struct CyclicRow {
  uint32_t situation;  // place, RULES_NONE for none
  bool first;
  uint32_t index;  // of the situation
  CyclicWhen when;
  uint32_t then_begin, then_end;  // in literals
} CyclicRow;

#define CYCLIC_PARAMS 5

typedef struct CyclicRule {
  uint8_t procedure;
  bool last;           // of the rules of its variable
  bool zero;           // its variable is 0 when none of them was active
  bool edge;           // wants to know when its situation begins
  bool first, second;  // has argument 1, 2
  bool keep, restart;
  uint32_t target;
  uint32_t a, b, c;  // places of arguments
  double k;
  double p[CYCLIC_PARAMS];  // what they are depends on the procedure
  CyclicWhen when;
  uint32_t memory;  // first of its numbers in `memory`
  uint32_t count;   // samples of a delay, cycles of a period, points of a table
  const RulesRule* source;
} CyclicRule;

struct RulesCyclic {
  const RulesModel* m;
  SltAllocator allocator;
  double dt;
  uint64_t seed;  // of the run
  double start;
  double t;
  uint64_t n;
  uint32_t failed;
  uint64_t divisions;

  double* v;  // constants, states, predicates, situations, numbers in argument cells, time
  uint32_t place_count, constant_count, state_count, predicate_count, situation_count, time_place;
  CyclicOp* ops;
  CyclicPredicate* predicates;
  uint32_t* literals;  // place*2 + negated (assigned: the value is the opposite)
  CyclicRow* rows;
  uint32_t row_count;
  CyclicRule* rules;
  uint32_t rule_count;
  double* memory;
  uint32_t memory_count;
  bool* active;  // by state

  char* block;  // everything above in one piece
  size_t block_size;
};

/// Room a rule needs in `memory`.
uint32_t cyclic_memory(const RulesModel* m, const RulesRule* rule, double dt);
/// Coefficient and parameters as numbers.
void cyclic_prepare(const RulesModel* m, CyclicRule* rule, double dt);
/// New value of the rule's variable. `rising`: its situation was false in the cycle before.
double cyclic_step(RulesCyclic* c, const CyclicRule* rule, bool rising);
/// What goes on while the situation does not hold: the past of an argument.
void cyclic_idle(RulesCyclic* c, const CyclicRule* rule);

#endif
