// SPDX-License-Identifier: MIT
#ifndef SALTUS_EXPERIMENT_PARALLEL_H
#define SALTUS_EXPERIMENT_PARALLEL_H

#include "experiment/experiment.h"

#include <pthread.h>
#include <stdatomic.h>

#define PARALLEL_JOBS 1024

/// Numbered work. `user`, `cancel` and `cancel_user` are set by whoever has it done.
typedef struct Parallel {
  void* user;
  SltSweepCancelFn* cancel;  // asked by the calling thread; may be NULL
  void* cancel_user;
  pthread_t caller;
  void (*work)(void* user, uint64_t number);
  uint64_t count;
  atomic_uint_fast64_t next;
  atomic_bool cancelled;
  atomic_bool failed;  // set by work that found no memory
} Parallel;

/// Have work 0 .. count - 1 done by `jobs` threads; 0: as many as there are processors.
/// SLT_ERR_CANCELLED, SLT_ERR_NOMEM.
SltStatus parallel_run(Parallel* p, uint32_t jobs, void (*work)(void* user, uint64_t number),
                       uint64_t count);
/// An SltStepFn of runs: whether the work was cancelled.
bool parallel_cancelled(void* user, double t);

#endif
