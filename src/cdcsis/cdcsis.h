// SPDX-License-Identifier: MIT
//
// cdcsis: the dialect of J. Culik's CDCSIS on the public interface of worlds. Thin: a block number
// and a transaction become a record that the world's block carries; the rest is passed on.
//
// The contract of the original wants global variables, files and prints. All writable data is in
// globals.c, all printing and all files are in output.c; nothing else here has either.
#ifndef SALTUS_CDCSIS_INNER_H
#define SALTUS_CDCSIS_INNER_H

#define CDCSIS_NO_SHORT_NAMES 1
#include "base/base.h"

#include <saltus/cdcsis.h>

#include <stdio.h>
#include <stdlib.h>

#define CDCSIS_LINE_MAX 400

/// What a block of the world needs to know to call the user's `blocks`. Block number CDCSIS_OWNER:
/// not a block but the transaction itself, as the world knows it.
typedef struct CdcsisCall {
  int block;
  void* transaction;
  SltTransaction owner;
} CdcsisCall;

#define CDCSIS_OWNER INT32_MIN

/// How often a place with `event` was passed in the running block.
typedef struct CdcsisPlace {
  uint64_t place;
  uint32_t count;
} CdcsisPlace;

typedef struct CdcsisState {
  SltWorld* world;
  void (*blocks)(void);
  CdcsisCall** calls;  // by hash of (block, transaction)
  uint32_t call_count, call_slots;
  CdcsisPlace* places;
  uint32_t place_count, place_capacity;
  CdcsisLineFn* on_print;
  void* print_user;
  CdcsisLineFn* on_message;
  void* message_user;
  char prefix[256];
  bool prefix_set, no_files, debug;
  FILE* watcher;      // of `saltus watch`
  double rtol, atol;  // 0: the default
  char method[32];
  SltStatus status;
} CdcsisState;

/// The one simulation of the dialect; in globals.c.
extern CdcsisState cdcsis_state;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// output.c
void cdcsis_print_line(const char* line);
void cdcsis_message_line(const char* line);
/// Graphs and animation into files; a file that cannot be written gives a message.
void cdcsis_write_files(SltWorld* world);
/// Graphs and animation while they come, for `saltus watch`, which names a file in the environment.
void cdcsis_show_to_watcher(SltWorld* world);

#endif
