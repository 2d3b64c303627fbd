// SPDX-License-Identifier: MIT
//
// Shared by the cyclic*.c files only.
#ifndef SALTUS_CLI_CYCLIC_H
#define SALTUS_CLI_CYCLIC_H

#include "run.h"

#include <saltus/saltus_rules.h>

/// Follows what changes at once in a scan (cyclic_events.c). Fill in what is wanted, then begin.
typedef struct CyclicWatch {
  SltEventFn* on_event;  // NULL: no records
  void* user;
  FILE* story;  // NULL: nothing is told
  bool all;     // tell every instant
  // the rest belongs to cyclic_events.c
  const SltCyclic* plant;
  double dt;
  uint32_t count;
  SltCondition* conditions;
  bool* held;  // per condition
  uint64_t instants;
} CyclicWatch;

/// Before the first cycle; false when memory is exhausted. Clear it in any case.
bool cyclic_watch_begin(CyclicWatch* watch, const SltCyclic* plant, double dt);
/// A cycle is over.
void cyclic_watch_cycle(CyclicWatch* watch);
void cyclic_watch_end(CyclicWatch* watch);
void cyclic_watch_clear(CyclicWatch* watch);

#endif
