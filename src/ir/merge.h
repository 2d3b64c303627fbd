// SPDX-License-Identifier: MIT
//
// Work space of ir_merge_alternatives(), shared by the merge*.c files only.
#ifndef SALTUS_IR_MERGE_H
#define SALTUS_IR_MERGE_H

#include "ir/internal.h"

/// A variable and the one quantity of it (itself or a derivative) that explicit equations compute.
typedef struct MergeVar {
  uint32_t cluster;  // automaton whose cluster edits it; IR_NONE: none
  uint32_t place;    // among the targets of the cluster
  uint32_t base;     // its explicit equation among the global ones; IR_NONE: none
  uint8_t order;     // of the quantity
  bool explicit;     // has such equations
  bool implicit;     // stands in equations that are not, or has several quantities
  bool blocked;      // equations of it stay in the bodies they are written in
} MergeVar;

/// What a target is computed by: an equation, or by the state of an automaton.
typedef struct MergeValue {
  uint32_t automaton;  // IR_NONE: an equation
  uint32_t first;      // the equation; or the value of its first state in `alternatives`
} MergeValue;

/// An automaton at the top level together with the `if` blocks inside its bodies.
typedef struct MergeCluster {
  bool good;                   // edits equations, and they can be merged
  BASE_VEC(uint32_t) targets;  // variables
} MergeCluster;

typedef struct Merge {
  IrModel* model;
  Arena* scratch;
  MergeVar* vars;
  MergeCluster* clusters;  // per automaton, those at the top level count
  uint32_t* root;          // automaton -> the one at the top level around it
  uint32_t* first_child;   // body -> automaton in it + 1
  uint32_t* next_child;    // automaton -> the next one in the same body + 1
  uint32_t* label_first;   // label -> its first global equation + 1
  uint32_t* label_next;
  uint32_t* label_owner;  // label -> cluster that replaces or deletes it; MERGE_SEVERAL
  uint32_t* label_guest;  // label -> cluster that replaces single equations of it
  uint8_t* plain;         // per node: a shape that was looked at: 1 explicit, 2 not
  uint32_t* stamp;        // per node: visit in which it was seen
  uint32_t* copy;         // ... and its copy
  uint32_t visit, node_room;
  BASE_VEC(uint32_t) stack;
  uint32_t* test_of_state;  // mode test + 1
  BASE_VEC(MergeValue) values;
  BASE_VEC(uint32_t) alternatives;
  BASE_VEC(IrEquation) merged;
} Merge;

#define MERGE_SEVERAL (IR_NONE - 1)

/// Visit the nodes below `root`, children first, until `see` says no.
typedef bool MergeSee(Merge* m, uint32_t node, void* user);
bool merge_visit(Merge* m, uint32_t root, MergeSee* see, void* user);

/// A copy of the expression in which these stand in its slots.
ExprId merge_copy(Merge* m, uint32_t root, ExprId* slots);

/// Whether the equation is its left side, alone, and a right side that does not read it.
bool merge_is_explicit(Merge* m, const IrEquation* equation);

/// Block variables whose alternatives are more than another value: see merge_graph.c.
void merge_block_loops_and_guards(Merge* m);

/// What each target of a cluster is computed by, whatever the states; false where there is no one
/// quantity for each state.
bool merge_resolve(Merge* m, uint32_t automaton, uint32_t* value_of_target);
/// The equation of a variable that has this value.
IrEquation merge_equation(Merge* m, uint32_t var, uint32_t value);

/// Whether there is a switch to be folded, in a packed model too.
bool merge_can_fold(const IrModel* model);
/// Conditions of switches that ask for states alone take the place of the switches. True when
/// something was changed.
bool merge_fold_switches(Merge* m);

/// Whether there may be a choice to be split, in a packed model too.
bool merge_can_split(const IrModel* model);
/// Equations that are equations of other quantities in other states become equations of these. True
/// when something was changed.
bool merge_split_choices(Merge* m);

#endif
