// SPDX-License-Identifier: MIT
//
// Numbered work on threads. Each piece puts its result into its own place, so that the number of
// threads leaves no trace.
#define _POSIX_C_SOURCE 200809L
#include "experiment/parallel.h"

#include <stdlib.h>
#include <unistd.h>

static void take_work(Parallel* p) {
  for (;;) {
    uint64_t number = atomic_fetch_add(&p->next, 1);
    if (number >= p->count || parallel_cancelled(p, 0.0) || atomic_load(&p->failed)) return;
    p->work(p->user, number);
  }
}

static void* worker(void* user) {
  take_work(user);
  return NULL;
}

SltStatus parallel_run(Parallel* p, uint32_t jobs, void (*work)(void* user, uint64_t number),
                       uint64_t count) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (jobs == 0) jobs = cores > 0 ? (uint32_t)cores : 1;
  if (jobs > PARALLEL_JOBS) jobs = PARALLEL_JOBS;
  if (jobs > count) jobs = count ? (uint32_t)count : 1;
  p->work = work;
  p->count = count;
  p->caller = pthread_self();
  atomic_store(&p->next, 0);
  pthread_t* threads = calloc(jobs, sizeof *threads);
  if (!threads) return SLT_ERR_NOMEM;
  uint32_t started = 0;
  while (started + 1 < jobs && pthread_create(&threads[started], NULL, worker, p) == 0)
    started++;
  take_work(p);
  for (uint32_t i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  free(threads);
  if (atomic_load(&p->cancelled)) return SLT_ERR_CANCELLED;
  return atomic_load(&p->failed) ? SLT_ERR_NOMEM : SLT_OK;
}

bool parallel_cancelled(void* user, double t) {
  Parallel* p = user;
  (void)t;
  bool asks = p->cancel && pthread_equal(pthread_self(), p->caller);
  if (asks && p->cancel(p->cancel_user)) atomic_store(&p->cancelled, true);
  return atomic_load_explicit(&p->cancelled, memory_order_relaxed);
}
