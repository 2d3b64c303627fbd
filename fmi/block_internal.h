// SPDX-License-Identifier: MIT
//
// What a part asks its block for: a class, and which of it. The text that block.c writes and the
// answers of block_run.c agree on these numbers.
#ifndef SALTUS_FMI_BLOCK_INTERNAL_H
#define SALTUS_FMI_BLOCK_INTERNAL_H

#include "block.h"
#include "block_wire.h"

#define BLOCK_CLASS 1000000u  // items of a class at most

typedef enum BlockClass {
  ITEM_OUTPUT,  // of the point, or of the communication point
  ITEM_RATE,
  ITEM_GUARD,  // an indicator; below zero in the other domain
  ITEM_STATE,  // after the event
  ITEM_EVENT,  // 0: number of the event, 1: time of the next one, 2: whether the FMU has ended
  ITEM_START,  // states at the start
  ITEM_FIRST,  // time of the first time event
  ITEM_TOLD,   // 0, the number of events at the start: parameters and start values are told
  ITEM_CLASSES
} BlockClass;

/// A file that models use: unpacked once.
typedef struct FmuFile {
  char* path;
  int64_t changed, size;  // of the file, when it was unpacked
  char folder[1100];
  FmuDescription d;
  BlockLayout layout;
  double step;  // between communication points
  struct FmuFile* next;
} FmuFile;

typedef struct Block Block;

Block* block_create(const FmuFile* file, double t_start, double rtol, double seconds, char* problem,
                    size_t size);
double block_value(void* block, const double* args, uint32_t count, int order);
bool block_step(void* block);
const char* block_problem(void* block);
void block_close(void* block);

#endif
