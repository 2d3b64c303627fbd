// SPDX-License-Identifier: MIT
//
// Processes: the life of an element as one function. A process runs inside the event that resumes
// it; waiting means leaving its context and being resumed by a later event. Finished processes are
// kept with their stacks and used again.
#include "blocks/blocks.h"

#include <math.h>

#define GUARDED_MAX 8192  // stacks with guard pages; beyond, only the canary watches

/// Runs on the process's own stack.
static void process_main(void* user) {
  BlkProcess* process = user;
  SltWorld* world = process->world;
  process->fn(world, process->user);
  if (world->journal.count > 0 && !world->probing) blk_journal_apply(world);
  blk_process_release(world, process);
}

static bool process_lives(const SltWorld* world, SltProcess handle) {
  return handle.index && handle.index < world->processes.count &&
         world->processes.all[handle.index]->generation == handle.generation &&
         world->processes.all[handle.index]->alive;
}

static BlkProcess* process_new(SltWorld* world) {
  BlkProcess* process = world->processes.idle;
  if (process) {
    world->processes.idle = process->link;
    return process;
  }
  if (blk_grow(world, &world->processes.all, &world->processes.capacity, world->processes.count + 1,
               sizeof(void*)) < 0) {
    return NULL;
  }
  process = base_alloc(&world->allocator, sizeof *process);
  if (!process) return NULL;
  process->world = world;
  process->generation = 1;
  process->index = world->processes.count;
  bool guarded = world->processes.count < GUARDED_MAX;
  if (blk_context_create(&process->context, world->options.stack_size, guarded) < 0) {
    base_free(&world->allocator, process, sizeof *process);
    return NULL;
  }
  world->processes.all[world->processes.count++] = process;
  return process;
}

/// Wake those who wait for the end of a process.
static void wake_waiters(SltWorld* world, BlkProcess* ended) {
  for (uint32_t i = 1; i < world->processes.count && ended->awaited > 0; i++) {
    BlkProcess* process = world->processes.all[i];
    if (process->awaits != ended) continue;
    process->awaits = NULL;
    ended->awaited--;
    blk_process_wake(world, process, SLT_OK);
  }
}

/// Back to the idle ones.
void blk_process_release(SltWorld* world, BlkProcess* process) {
  process->alive = false;
  if (world->phase != BLK_FINAL) wake_waiters(world, process);
  process->generation++;
  if (process->generation == 0) process->generation = 1;
  process->link = world->processes.idle;
  world->processes.idle = process;
}

SltStatus slt_process_start(SltWorld* world, double t, SltProcessFn* fn, void* user,
                            const char* name, SltProcess* out) {
  if (out) *out = (SltProcess){0};
  if (!world || !fn || isnan(t)) return SLT_ERR_ARGUMENT;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  if (world->phase == BLK_FINAL) return SLT_ERR_CANCELLED;  // the world is being freed
  if (t < world->t) t = world->t;
  BlkProcess* process = process_new(world);
  if (!process) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
  process->fn = fn;
  process->user = user;
  process->name = blk_name(world, name);
  process->alive = true;
  process->started = false;
  process->cancelled = false;
  process->condition = NULL;
  process->request = (SltRequest){0};
  process->check = (SltBlock){0};
  process->awaits = NULL;
  process->awaited = 0;
  blk_context_prepare(&process->context, process_main, process);
  SltBlockSpec spec = {.fn = blk_process_resume, .user = process};
  uint32_t index = blk_node_new(world, &spec);
  if (!index) {
    blk_process_release(world, process);
    return SLT_ERR_NOMEM;
  }
  world->nodes.all[index].name = process->name;
  process->wake = (SltBlock){index, world->nodes.all[index].generation};
  if (out) *out = (SltProcess){process->index, process->generation};
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_START_PROCESS, .index = index, .t = t, .object = process};
    return blk_journal_add(world, &op);
  }
  return blk_node_insert(world, index, t);
}

bool slt_process_is_alive(const SltWorld* world, SltProcess process) {
  return world && process_lives(world, process);
}

/// The event that lets a process go on.
void blk_process_resume(SltWorld* world, void* user) {
  BlkProcess* process = user;
  process->wake = (SltBlock){0};
  process->started = true;
  BlkProcess* outer = world->processes.running;
  uint32_t current = world->nodes.current;
  world->processes.running = process;
  // its frames may run over several events: nobody's block is current inside
  blk_context_enter(&process->context);
  world->processes.running = outer;
  world->nodes.current = current;
  if (blk_context_overrun(&process->context)) {
    (void)blk_fail(world, SLT_ERR_LIMIT, DIAG_E0907,
                   "process '%s' has used more stack than it has (option stack_size)",
                   blk_name_text(world, process->name));
  }
}

void blk_process_wake(SltWorld* world, BlkProcess* process, SltStatus status) {
  process->status = status;
  if (process->wake.index) return;  // is on its way already
  SltBlockSpec spec = {.fn = blk_process_resume, .user = process};
  uint32_t index = blk_node_new(world, &spec);
  if (!index) return;
  world->nodes.all[index].name = process->name;
  process->wake = (SltBlock){index, world->nodes.all[index].generation};
  (void)blk_node_insert(world, index, world->t);
}

/// Whether the call comes from a process that may wait; reports why not.
static BlkProcess* waiting_process(SltWorld* world, SltStatus* status) {
  *status = SLT_ERR_ARGUMENT;
  if (!world || !world->processes.running) return NULL;
  if (world->processes.running->cancelled) {
    *status = SLT_ERR_CANCELLED;
    return NULL;
  }
  return world->phase == BLK_DISCRETE ? world->processes.running : NULL;
}

static SltStatus leave(SltWorld* world, BlkProcess* process) {
  if (world->journal.count > 0) blk_journal_apply(world);
  blk_context_leave(&process->context, false);
  return process->cancelled ? SLT_ERR_CANCELLED : process->status;
}

SltStatus blk_process_sleep(SltWorld* world) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  process->status = SLT_OK;
  return leave(world, process);
}

SltStatus slt_process_join(SltWorld* world, SltProcess other) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  if (!process_lives(world, other)) return SLT_OK;
  if (other.index == process->index) return SLT_ERR_ARGUMENT;
  process->awaits = world->processes.all[other.index];
  process->awaits->awaited++;
  return blk_process_sleep(world);
}

SltStatus slt_process_wait(SltWorld* world, double dt) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  if (!(dt >= 0.0)) return SLT_ERR_ARGUMENT;
  SltBlockSpec spec = {.fn = blk_process_resume, .user = process};
  uint32_t index = blk_node_new(world, &spec);
  if (!index) return SLT_ERR_NOMEM;
  world->nodes.all[index].name = process->name;
  process->wake = (SltBlock){index, world->nodes.all[index].generation};
  process->status = SLT_OK;
  SLT_TRY(blk_node_insert(world, index, world->t + dt));
  return leave(world, process);
}

static void request_granted(SltWorld* world, void* user) {
  BlkProcess* process = user;
  process->request = (SltRequest){0};
  blk_holder_add(process->resource, process);
  // patience may have a wake-up under way: it is void now
  if (process->wake.index) blk_node_cancel(world, process->wake.index);
  process->wake = (SltBlock){0};
  process->status = SLT_OK;
  blk_process_resume(world, process);
}

static void patience_over(SltWorld* world, void* user) {
  BlkProcess* process = user;
  process->status = SLT_END;
  SltRequest request = process->request;
  process->request = (SltRequest){0};
  if (request.index &&
      world->transactions.requests[request.index].generation == request.generation) {
    blk_request_withdraw(world, request.index);
  }
  blk_process_resume(world, process);
}

SltStatus slt_process_request(SltWorld* world, SltResource* resource, uint32_t units,
                              int32_t priority, double patience) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  if (!resource || resource->world != world || !(patience >= 0.0)) return SLT_ERR_ARGUMENT;
  SltRequestSpec spec = {
      .units = units, .priority = priority, .fn = request_granted, .user = process};
  process->resource = resource;
  process->units = units ? units : 1;
  process->priority = priority;
  SLT_TRY(slt_resource_request(resource, &spec, &process->request));
  process->status = SLT_OK;
  if (patience < HUGE_VAL) {
    SltBlockSpec block = {.fn = patience_over, .user = process, .priority = -1};
    uint32_t index = blk_node_new(world, &block);
    if (!index) return SLT_ERR_NOMEM;
    process->wake = (SltBlock){index, world->nodes.all[index].generation};
    SLT_TRY(blk_node_insert(world, index, world->t + patience));
  }
  return leave(world, process);
}

static void item_arrives(SltWorld* world, void* user, void* item) {
  BlkProcess* process = user;
  process->item = item;
  process->status = SLT_OK;
  blk_process_resume(world, process);
}

SltStatus slt_process_get(SltWorld* world, SltStore* store, void** item) {
  return slt_process_get_if(world, store, NULL, NULL, item);
}

SltStatus slt_process_get_if(SltWorld* world, SltStore* store, SltMatchFn* suits, void* user,
                             void** item) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  if (!store || store->world != world || !item) return SLT_ERR_ARGUMENT;
  BlkFetch fetch = {.fn = item_arrives, .user = process, .match = suits, .match_user = user};
  SLT_TRY(blk_store_get(store, &fetch));
  status = leave(world, process);
  *item = status == SLT_OK ? process->item : NULL;
  return status;
}

SltStatus slt_process_put(SltWorld* world, SltStore* store, void* item) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  if (!store || store->world != world) return SLT_ERR_ARGUMENT;
  status = blk_store_put(store, item);
  if (status != SLT_ERR_LIMIT) return status;
  process->item = item;
  void* waiting = process;
  SLT_TRY(blk_ring_push(world, &store->putters, &waiting, sizeof waiting));
  process->status = SLT_OK;
  return leave(world, process);
}

SltStatus slt_process_until(SltWorld* world, SltConditionFn* fn, void* user) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  if (!fn) return SLT_ERR_ARGUMENT;
  process->condition = fn;
  process->condition_user = user;
  world->processes.condition_count++;
  world->plain_known = false;
  return leave(world, process);
}

/// Look at all conditions; true when somebody was woken.
bool blk_conditions(SltWorld* world) {
  if (world->processes.condition_count == 0) return false;
  bool woke = false;
  for (uint32_t i = 1; i < world->processes.count; i++) {
    BlkProcess* process = world->processes.all[i];
    if (!process->alive || !process->condition) continue;
    BlkPhase outer = world->phase;
    world->phase = BLK_CONTINUOUS;  // a condition looks, it does not act
    bool holds = process->condition(world, process->condition_user);
    world->phase = outer;
    if (!holds) continue;
    process->condition = NULL;
    world->processes.condition_count--;
    world->plain_known = false;
    blk_process_wake(world, process, SLT_OK);
    woke = true;
  }
  return woke;
}

static void watch_quantity(SltWorld* world, void* user) {
  BlkProcess* process = user;
  double x = process->quantity(world, process->condition_user);
  if (slt_world_event(world, x, (uint64_t)(uintptr_t)process)) {
    (void)slt_block_cancel(world, process->check);
    process->check = (SltBlock){0};
    blk_process_wake(world, process, SLT_OK);
  }
}

SltStatus slt_process_until_event(SltWorld* world, SltQuantityFn* fn, void* user) {
  SltStatus status = SLT_OK;
  BlkProcess* process = waiting_process(world, &status);
  if (!process) return status;
  if (!fn) return SLT_ERR_ARGUMENT;
  process->quantity = fn;
  process->condition_user = user;
  SltBlockSpec spec = {.kind = SLT_BLOCK_CHECK,
                       .t = world->t,
                       .priority = -1,
                       .fn = watch_quantity,
                       .user = process,
                       .name = "until event"};
  SLT_TRY(slt_block_schedule(world, &spec, &process->check));
  process->status = SLT_OK;
  return leave(world, process);
}

// ---- cancelling and the end ---------------------------------------------------------------------

static void forget_putter(SltWorld* world, const BlkProcess* process) {
  for (SltStore* store = world->transactions.stores; store; store = store->link) {
    uint32_t count = store->putters.count;
    for (uint32_t i = 0; i < count; i++) {
      void* other = NULL;
      (void)blk_ring_pop(&store->putters, &other, sizeof other);
      if (other != process) (void)blk_ring_push(world, &store->putters, &other, sizeof other);
    }
  }
}

/// Units granted to a process that will not hear of it any more.
static void forget_grant(SltWorld* world, const BlkProcess* process) {
  for (uint32_t i = 1; i < world->nodes.count; i++) {
    const BlkNode* node = &world->nodes.all[i];
    if (node->state == BLK_PENDING && node->fn == request_granted && node->user == process) {
      blk_node_cancel(world, i);
      blk_resource_release(process->resource, process->units, 0);
    }
  }
}

/// Take away whatever the process waits for.
static void forget_waiting(SltWorld* world, BlkProcess* process) {
  if (process->wake.index) {
    blk_node_cancel(world, process->wake.index);
    process->wake = (SltBlock){0};
  }
  if (process->request.index && world->transactions.requests[process->request.index].generation ==
                                    process->request.generation) {
    blk_request_withdraw(world, process->request.index);
  }
  process->request = (SltRequest){0};
  if (process->awaits) process->awaits->awaited--;
  process->awaits = NULL;
  if (process->condition) {
    process->condition = NULL;
    world->processes.condition_count--;
    world->plain_known = false;
  }
  if (process->check.index && slt_block_is_alive(world, process->check)) {
    blk_node_cancel(world, process->check.index);
  }
  process->check = (SltBlock){0};
  forget_grant(world, process);
  forget_putter(world, process);
  blk_stores_forget(world, item_arrives, process);
}

void blk_process_cancel(SltWorld* world, BlkProcess* process) {
  if (!process->alive || process->cancelled) return;
  process->cancelled = true;
  if (process == world->processes.running) return;  // runs: its next waiting call says so
  forget_waiting(world, process);
  if (process->started) {
    blk_process_wake(world, process, SLT_ERR_CANCELLED);
  } else {
    blk_process_release(world, process);
  }
}

bool blk_process_interrupt(SltWorld* world, BlkProcess* process) {
  if (!process->alive || !process->started || process->cancelled ||
      process == world->processes.running) {
    return false;
  }
  forget_waiting(world, process);
  blk_process_wake(world, process, SLT_INTERRUPTED);
  return true;
}

SltStatus slt_process_interrupt(SltWorld* world, SltProcess handle) {
  if (!world || !blk_may_change(world)) return SLT_ERR_ARGUMENT;
  if (!process_lives(world, handle)) return SLT_ERR_NOT_FOUND;
  BlkProcess* process = world->processes.all[handle.index];
  if (world->probing) {
    BlkOp op = {
        .kind = BLK_OP_INTERRUPT_PROCESS, .object = process, .generation = handle.generation};
    return blk_journal_add(world, &op);
  }
  return blk_process_interrupt(world, process) ? SLT_OK : SLT_ERR_ARGUMENT;
}

SltProcess slt_process_current(const SltWorld* world) {
  if (!world || !world->processes.running) return (SltProcess){0};
  return (SltProcess){world->processes.running->index, world->processes.running->generation};
}

SltStatus slt_process_cancel(SltWorld* world, SltProcess handle) {
  if (!world) return SLT_ERR_ARGUMENT;
  if (!process_lives(world, handle)) {
    blk_message(world, SLT_WARNING, DIAG_W0904,
                "a process is cancelled that does not exist any more");
    return SLT_ERR_NOT_FOUND;
  }
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  BlkProcess* process = world->processes.all[handle.index];
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_CANCEL_PROCESS, .object = process, .generation = handle.generation};
    return blk_journal_add(world, &op);
  }
  blk_process_cancel(world, process);
  return SLT_OK;
}

void blk_processes_clear(SltWorld* world) {
  world->phase = BLK_FINAL;
  for (uint32_t i = 1; i < world->processes.count; i++) {
    BlkProcess* process = world->processes.all[i];
    if (!process->alive || !process->started) continue;
    // let it clean up: every waiting call inside says SLT_ERR_CANCELLED
    process->cancelled = true;
    process->status = SLT_ERR_CANCELLED;
    blk_process_resume(world, process);
  }
  world->phase = BLK_IDLE;
  for (uint32_t i = 1; i < world->processes.count; i++) {
    BlkProcess* process = world->processes.all[i];
    blk_context_free(&process->context);
    base_free(&world->allocator, process, sizeof *process);
  }
  base_free(&world->allocator, world->processes.all, world->processes.capacity * sizeof(void*));
  world->processes.count = 1;
}
