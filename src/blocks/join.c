// SPDX-License-Identifier: MIT
//
// Waiting for several things at once: a helper process waits for each of them, and the process
// itself for the helpers.
#include "blocks/blocks.h"

#include <math.h>

typedef struct Join Join;

/// Freed by the process that waits once it has ended, else by itself: the process has gone on.
typedef struct Helper {
  Join* join;  // NULL: nobody cares any more
  SltWait* wait;
  SltProcess process;
  bool ended;
} Helper;

struct Join {
  BlkProcess* process;
  Helper** helpers;
  uint32_t count, wanted;
};

static SltStatus wait_for(SltWorld* world, SltWait* wait) {
  switch (wait->kind) {
  case SLT_WAIT_TIME: return slt_process_wait(world, wait->time);
  case SLT_WAIT_UNITS:
    return slt_process_request(world, wait->resource, wait->units, wait->priority, HUGE_VAL);
  case SLT_WAIT_ITEM: return slt_process_get(world, wait->store, &wait->item);
  case SLT_WAIT_END: return slt_process_join(world, wait->process);
  case SLT_WAIT_CONDITION: return slt_process_until(world, wait->condition, wait->user);
  }
  return SLT_ERR_ARGUMENT;
}

static bool enough_done(const Join* join) {
  uint32_t done = 0;
  uint32_t ended = 0;
  for (uint32_t i = 0; i < join->count; i++) {
    ended += join->helpers[i]->ended;
    done += join->helpers[i]->ended && join->helpers[i]->wait->done;
  }
  return done >= join->wanted || ended == join->count;
}

static void helper_main(SltWorld* world, void* user) {
  Helper* helper = user;
  SltWait own = *helper->wait;
  own.status = wait_for(world, &own);
  own.done = own.status == SLT_OK;
  Join* join = helper->join;
  if (!join) {
    base_free(&world->allocator, helper, sizeof *helper);
    return;
  }
  if (own.done && own.kind == SLT_WAIT_UNITS) {
    blk_holder_give(own.resource, world->processes.running, join->process);
  }
  *helper->wait = own;
  helper->ended = true;
  // one that is on its way already, perhaps interrupted, hears of nothing else
  if (enough_done(join) && !join->process->wake.index && world->phase != BLK_FINAL) {
    blk_process_wake(world, join->process, SLT_OK);
  }
}

static SltStatus helper_start(SltWorld* world, Join* join, SltWait* wait) {
  Helper* helper = base_alloc(&world->allocator, sizeof *helper);
  if (!helper) return SLT_ERR_NOMEM;
  wait->done = false;
  wait->item = NULL;
  wait->status = SLT_OK;
  *helper = (Helper){.join = join, .wait = wait};
  SltStatus status =
      slt_process_start(world, world->t, helper_main, helper, NULL, &helper->process);
  if (status < 0) {
    base_free(&world->allocator, helper, sizeof *helper);
    return status;
  }
  join->helpers[join->count++] = helper;
  return SLT_OK;
}

/// Who still waits gives up, and leaves nothing behind.
static void helper_finish(SltWorld* world, Helper* helper) {
  bool begun = !helper->ended && world->processes.all[helper->process.index]->started;
  if (!helper->ended) {
    helper->join = NULL;
    (void)slt_process_cancel(world, helper->process);
  }
  if (!begun) base_free(&world->allocator, helper, sizeof *helper);
}

static SltStatus join_waits(SltWorld* world, SltWait* waits, uint32_t count, uint32_t wanted) {
  if (!world || !world->processes.running || !waits || count == 0) return SLT_ERR_ARGUMENT;
  Join join = {.process = world->processes.running, .wanted = wanted};
  join.helpers = base_alloc(&world->allocator, count * sizeof(Helper*));
  if (!join.helpers) return SLT_ERR_NOMEM;
  SltStatus status = SLT_OK;
  while (join.count < count && status >= 0) {
    status = helper_start(world, &join, &waits[join.count]);
  }
  if (status >= 0) status = blk_process_sleep(world);
  for (uint32_t i = 0; i < join.count; i++) {
    helper_finish(world, join.helpers[i]);
  }
  base_free(&world->allocator, join.helpers, count * sizeof(Helper*));
  for (uint32_t i = 0; i < count && status == SLT_OK && wanted == count; i++) {
    if (!waits[i].done) status = waits[i].status;
  }
  return status;
}

SltStatus slt_process_any(SltWorld* world, SltWait* waits, uint32_t count) {
  return join_waits(world, waits, count, 1);
}

SltStatus slt_process_all(SltWorld* world, SltWait* waits, uint32_t count) {
  return join_waits(world, waits, count, count);
}
