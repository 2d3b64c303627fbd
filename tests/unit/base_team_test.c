// SPDX-License-Identifier: MIT
//
// Teams of threads: every iteration once, in parts that begin at multiples of the grain, again and
// again.
#include "base/base.h"
#include "test.h"

#define MOST 10000

typedef struct Task {
  size_t grain, count;
  uint32_t times[MOST];
  bool misplaced;
} Task;

static void count_iterations(void* user, size_t begin, size_t end) {
  Task* task = user;
  if (begin % task->grain != 0 || end > task->count) task->misplaced = true;
  for (size_t i = begin; i < end; i++) {
    task->times[i]++;  // nobody else has i
  }
}

static void check_team(uint32_t threads, size_t count, size_t grain) {
  static Task task;
  SltAllocator allocator = base_allocator(NULL);
  BaseTeam* team = base_team_create(&allocator, threads);
  task = (Task){.grain = grain, .count = count};
  for (int round = 0; round < 50; round++) {
    base_team_run(team, count, grain, count_iterations, &task);
  }
  base_team_free(team);
  size_t wrong = 0;
  for (size_t i = 0; i < MOST; i++) {
    wrong += task.times[i] != (i < count ? 50u : 0u);
  }
  CHECK(wrong == 0, "every iteration once a task");
  CHECK(!task.misplaced, "parts begin at multiples of the grain");
}

TEST(every_iteration_runs_once) {
  static const uint32_t threads[] = {0, 1, 2, 3, 7};
  static const size_t counts[] = {0, 1, 63, 64, 65, 1000, MOST};
  for (size_t t = 0; t < SLT_COUNT(threads); t++) {
    for (size_t c = 0; c < SLT_COUNT(counts); c++) {
      check_team(threads[t], counts[c], 1);
      check_team(threads[t], counts[c], 64);
    }
  }
}

TEST(one_thread_is_no_team) {
  SltAllocator allocator = base_allocator(NULL);
  CHECK(base_team_create(&allocator, 0) == NULL, "none");
  CHECK(base_team_create(&allocator, 1) == NULL, "one");
  base_team_free(NULL);
}
