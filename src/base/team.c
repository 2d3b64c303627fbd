// SPDX-License-Identifier: MIT
//
// A thread waits for a new number of the task, takes its part and counts itself done. Both sides
// look for a while before they sleep: a step of a large model has a dozen tasks of less than a
// millisecond.
#define _POSIX_C_SOURCE 200809L
#include "base/team.h"

#include "base/alloc.h"

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)

BaseTeam* base_team_create(const SltAllocator* allocator, uint32_t threads) {
  (void)allocator;
  (void)threads;
  return NULL;
}

void base_team_free(BaseTeam* team) {
  (void)team;
}

void base_team_run(BaseTeam* team, size_t count, size_t grain, BaseTeamFn* fn, void* user) {
  (void)team;
  (void)grain;
  fn(user, 0, count);
}

#else

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#define TEAM_MAX   1024
#define TEAM_LOOKS 2000  // before sleeping

typedef struct Member {
  BaseTeam* team;
  uint32_t number;  // 0 is the caller
  pthread_t thread;
} Member;

struct BaseTeam {
  SltAllocator allocator;
  uint32_t asked;    // members that there is room for
  uint32_t started;  // members, the caller left out
  pthread_mutex_t lock;
  pthread_cond_t begins, ends;
  _Atomic uint64_t task;  // its number
  _Atomic uint32_t done;
  bool leave;
  BaseTeamFn* fn;
  void* user;
  size_t count, grain;
  Member members[];
};

static void run_part(const BaseTeam* team, uint32_t number) {
  size_t parts = (size_t)team->started + 1;
  size_t grains = (team->count + team->grain - 1) / team->grain;
  size_t begin = grains * number / parts * team->grain;
  size_t end = grains * (number + 1) / parts * team->grain;
  if (end > team->count) end = team->count;
  if (begin < end) team->fn(team->user, begin, end);
}

/// The number of the next task after `seen`.
static uint64_t next_task(BaseTeam* team, uint64_t seen) {
  uint64_t task = seen;
  for (uint32_t i = 0; i < TEAM_LOOKS && task == seen; i++) {
    task = atomic_load_explicit(&team->task, memory_order_acquire);
  }
  if (task != seen) return task;
  pthread_mutex_lock(&team->lock);
  while ((task = atomic_load(&team->task)) == seen) {
    pthread_cond_wait(&team->begins, &team->lock);
  }
  pthread_mutex_unlock(&team->lock);
  return task;
}

static void* work(void* user) {
  Member* member = user;
  BaseTeam* team = member->team;
  for (uint64_t task = next_task(team, 0); !team->leave; task = next_task(team, task)) {
    run_part(team, member->number);
    if (atomic_fetch_add(&team->done, 1) + 1 < team->started) continue;
    pthread_mutex_lock(&team->lock);
    pthread_cond_signal(&team->ends);
    pthread_mutex_unlock(&team->lock);
  }
  return NULL;
}

static void begin_task(BaseTeam* team) {
  pthread_mutex_lock(&team->lock);
  atomic_store(&team->done, 0);
  atomic_fetch_add(&team->task, 1);
  pthread_cond_broadcast(&team->begins);
  pthread_mutex_unlock(&team->lock);
}

static void await_all(BaseTeam* team) {
  for (uint32_t i = 0; i < TEAM_LOOKS; i++) {
    if (atomic_load_explicit(&team->done, memory_order_acquire) == team->started) return;
  }
  pthread_mutex_lock(&team->lock);
  while (atomic_load(&team->done) < team->started) {
    pthread_cond_wait(&team->ends, &team->lock);
  }
  pthread_mutex_unlock(&team->lock);
}

static size_t size_of(uint32_t threads) {
  return sizeof(BaseTeam) + threads * sizeof(Member);
}

/// Signals are for the caller's thread.
static void start_members(BaseTeam* team) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (team->started + 1 < team->asked) {
    Member* member = &team->members[team->started];
    *member = (Member){.team = team, .number = team->started + 1};
    if (pthread_create(&member->thread, NULL, work, member) != 0) break;
    team->started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

BaseTeam* base_team_create(const SltAllocator* allocator, uint32_t threads) {
  if (threads < 2) return NULL;
  if (threads > TEAM_MAX) threads = TEAM_MAX;
  BaseTeam* team = base_alloc(allocator, size_of(threads));
  if (!team) return NULL;
  team->allocator = *allocator;
  team->asked = threads;
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->begins, NULL);
  pthread_cond_init(&team->ends, NULL);
  start_members(team);
  if (team->started > 0) return team;
  base_team_free(team);
  return NULL;
}

void base_team_free(BaseTeam* team) {
  if (!team) return;
  team->leave = true;
  begin_task(team);
  for (uint32_t i = 0; i < team->started; i++) {
    pthread_join(team->members[i].thread, NULL);
  }
  pthread_cond_destroy(&team->ends);
  pthread_cond_destroy(&team->begins);
  pthread_mutex_destroy(&team->lock);
  SltAllocator allocator = team->allocator;
  base_free(&allocator, team, size_of(team->asked));
}

void base_team_run(BaseTeam* team, size_t count, size_t grain, BaseTeamFn* fn, void* user) {
  if (!team || count <= grain) {
    fn(user, 0, count);
    return;
  }
  team->fn = fn;
  team->user = user;
  team->count = count;
  team->grain = grain;
  begin_task(team);
  run_part(team, 0);
  await_all(team);
}

#endif
