// SPDX-License-Identifier: MIT
//
// Resources: units, a queue by priority and order of arrival, figures. A grant is an event of its
// own at the present time, so whoever releases is never run over by whoever comes next.
#include "blocks/blocks.h"

#include <math.h>

SltStatus slt_resource_create(SltWorld* world, const char* name, uint32_t units,
                              SltResource** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!world || units == 0) return SLT_ERR_ARGUMENT;
  SltResource* resource = base_alloc(&world->allocator, sizeof *resource);
  if (!resource) return SLT_ERR_NOMEM;
  resource->world = world;
  resource->units = units;
  resource->name = blk_name(world, name);
  slt_level_set(&resource->queue_level, world->t, 0.0);
  slt_level_set(&resource->use_level, world->t, 0.0);
  resource->link = world->transactions.resources;
  world->transactions.resources = resource;
  *out = resource;
  return SLT_OK;
}

void blk_resources_clear(SltWorld* world) {
  for (SltResource* resource = world->transactions.resources; resource;) {
    SltResource* next = resource->link;
    blk_heap_clear(&resource->queue, &world->allocator);
    base_free(&world->allocator, resource->holders, resource->holder_capacity * sizeof(BlkHolder));
    base_free(&world->allocator, resource, sizeof *resource);
    resource = next;
  }
  world->transactions.resources = NULL;
}

static uint32_t request_new(SltWorld* world) {
  uint32_t index = world->transactions.request_free;
  if (index) {
    world->transactions.request_free = world->transactions.requests[index].next;
    return index;
  }
  if (blk_grow(world, &world->transactions.requests, &world->transactions.request_capacity,
               world->transactions.request_count + 1, sizeof *world->transactions.requests) < 0) {
    return 0;
  }
  index = world->transactions.request_count++;
  world->transactions.requests[index].generation = 1;
  return index;
}

void blk_request_free(SltWorld* world, uint32_t index) {
  BlkRequest* request = &world->transactions.requests[index];
  if (request->owner) {
    if (request->prev) {
      world->transactions.requests[request->prev].next = request->next;
    } else {
      world->transactions.all[request->owner].requests = request->next;
    }
    if (request->next) world->transactions.requests[request->next].prev = request->prev;
  }
  request->generation++;
  if (request->generation == 0) request->generation = 1;
  request->alive = false;
  request->next = world->transactions.request_free;
  world->transactions.request_free = index;
}

/// Give the units and let the asker know.
static void grant(SltResource* resource, uint32_t index) {
  SltWorld* world = resource->world;
  BlkRequest* request = &world->transactions.requests[index];
  resource->in_use += request->units;
  resource->granted++;
  double waited = world->t - request->t;
  slt_tally_add(&resource->wait_tally, waited);
  if (waited > 0.0) resource->waited++;
  SltBlockFn* fn = request->fn;
  void* user = request->user;
  uint32_t owner = request->owner;
  if (owner) {
    request->granted = true;  // its owner's end gives the units back
  } else {
    blk_request_free(world, index);
  }
  if (fn) (void)blk_call_now(world, fn, user, owner, NULL);
}

// ---- those who wait -----------------------------------------------------------------------------

static bool request_waits(const void* user, const BlkEntry* entry) {
  const SltWorld* world = user;
  const BlkRequest* request = &world->transactions.requests[entry->slot];
  return request->generation == entry->generation && request->alive && !request->granted;
}

static SltStatus wait_add(SltResource* resource, uint32_t index) {
  BlkRequest* requests = resource->world->transactions.requests;
  BlkRequest* request = &requests[index];
  uint32_t last = resource->line_last;
  if (last && request->order < requests[last].order) {
    BlkEntry entry = {0, request->order, index, request->generation};
    return blk_heap_push(&resource->queue, &resource->world->allocator, entry);
  }
  request->in_line = true;
  request->before = last;
  request->behind = 0;
  *(last ? &requests[last].behind : &resource->line_first) = index;
  resource->line_last = index;
  return SLT_OK;
}

static void wait_remove(SltResource* resource, uint32_t index) {
  SltWorld* world = resource->world;
  BlkRequest* request = &world->transactions.requests[index];
  if (request->in_line) {
    uint32_t before = request->before;
    uint32_t behind = request->behind;
    *(before ? &world->transactions.requests[before].behind : &resource->line_first) = behind;
    *(behind ? &world->transactions.requests[behind].before : &resource->line_last) = before;
    request->in_line = false;
    return;
  }
  // its entry is stale as soon as the request is freed
  BlkHeap* queue = &resource->queue;
  if (++queue->dead > 64 && queue->dead > queue->count / 2) {
    request->alive = false;
    blk_heap_sweep(queue, request_waits, world);
  }
}

/// The request to be served first; 0 for none.
static uint32_t wait_first(SltResource* resource) {
  SltWorld* world = resource->world;
  BlkHeap* queue = &resource->queue;
  while (queue->count > 0 && !request_waits(world, &queue->data[0])) {
    (void)blk_heap_pop(queue);
    if (queue->dead > 0) queue->dead--;
  }
  uint32_t first = resource->line_first;
  if (queue->count == 0) return first;
  bool line = first && world->transactions.requests[first].order < queue->data[0].order;
  return line ? first : queue->data[0].slot;
}

/// Serve the queue as far as units reach; strictly in order.
static void serve(SltResource* resource) {
  SltWorld* world = resource->world;
  bool changed = false;
  while (resource->waiting > 0) {
    uint32_t index = wait_first(resource);
    uint32_t wanted = world->transactions.requests[index].units;
    if (resource->in_use >= resource->units || wanted > resource->units - resource->in_use) break;
    if (world->transactions.requests[index].in_line) {
      wait_remove(resource, index);
    } else {
      (void)blk_heap_pop(&resource->queue);
    }
    resource->waiting--;
    changed = true;
    grant(resource, index);
  }
  if (changed) slt_level_set(&resource->queue_level, world->t, (double)resource->waiting);
}

/// After units were given back: serve, and note what is in use once nobody else can be served.
void blk_resource_serve(SltResource* resource) {
  serve(resource);
  slt_level_set(&resource->use_level, resource->world->t, (double)resource->in_use);
}

void blk_request_apply(SltWorld* world, uint32_t index, int32_t priority) {
  BlkRequest* request = &world->transactions.requests[index];
  SltResource* resource = request->resource;
  resource->requests++;
  bool room =
      resource->in_use < resource->units && request->units <= resource->units - resource->in_use;
  if (resource->waiting == 0 && room) {
    grant(resource, index);
    slt_level_set(&resource->use_level, world->t, (double)resource->in_use);
    return;
  }
  request->order = blk_order(priority, world->sequence++);
  if (wait_add(resource, index) < 0) {
    (void)blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
    return;
  }
  resource->waiting++;
  slt_level_set(&resource->queue_level, world->t, (double)resource->waiting);
  // one of higher priority may fit where the first of the others does not
  if (room) blk_resource_serve(resource);
}

SltStatus slt_resource_request(SltResource* resource, const SltRequestSpec* spec, SltRequest* out) {
  if (out) *out = (SltRequest){0};
  if (!resource || !spec || spec->units > resource->units || spec->priority > BLK_PRIORITY_MAX ||
      spec->priority < -BLK_PRIORITY_MAX) {
    return SLT_ERR_ARGUMENT;
  }
  SltWorld* world = resource->world;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  uint32_t owner = blk_owner_find(world, spec->transaction);
  if (spec->transaction.index && !owner) return SLT_ERR_NOT_FOUND;
  uint32_t index = request_new(world);
  if (!index) return SLT_ERR_NOMEM;
  BlkRequest* request = &world->transactions.requests[index];
  *request = (BlkRequest){.resource = resource,
                          .fn = spec->fn,
                          .user = spec->user,
                          .t = world->t,
                          .generation = request->generation,
                          .owner = owner,
                          .units = spec->units ? spec->units : 1,
                          .alive = true};
  if (owner) {
    request->next = world->transactions.all[owner].requests;
    if (request->next) world->transactions.requests[request->next].prev = index;
    world->transactions.all[owner].requests = index;
  }
  if (out) *out = (SltRequest){index, request->generation};
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_REQUEST, .index = index, .priority = spec->priority};
    return blk_journal_add(world, &op);
  }
  blk_request_apply(world, index, spec->priority);
  return world->failure.status < 0 ? world->failure.status : SLT_OK;
}

/// Withdraw a waiting request, or give back the units of a granted one.
void blk_request_withdraw(SltWorld* world, uint32_t index) {
  BlkRequest* request = &world->transactions.requests[index];
  SltResource* resource = request->resource;
  bool granted = request->granted;
  uint32_t units = request->units;
  if (!granted) wait_remove(resource, index);
  blk_request_free(world, index);
  if (granted) {
    resource->in_use -= units < resource->in_use ? units : resource->in_use;
  } else {
    resource->withdrawn++;
    resource->waiting--;
    slt_level_set(&resource->queue_level, world->t, (double)resource->waiting);
  }
  blk_resource_serve(resource);
}

SltStatus slt_request_cancel(SltResource* resource, SltRequest handle) {
  if (!resource) return SLT_ERR_ARGUMENT;
  SltWorld* world = resource->world;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  if (!handle.index || handle.index >= world->transactions.request_count) return SLT_ERR_NOT_FOUND;
  const BlkRequest* request = &world->transactions.requests[handle.index];
  if (request->generation != handle.generation || !request->alive || request->granted) {
    return SLT_ERR_NOT_FOUND;
  }
  if (world->probing) {
    BlkOp op = {
        .kind = BLK_OP_CANCEL_REQUEST, .index = handle.index, .generation = handle.generation};
    return blk_journal_add(world, &op);
  }
  blk_request_withdraw(world, handle.index);
  return SLT_OK;
}

/// Units granted in the name of a transaction are noted there; take them off.
static void forget_grants(SltWorld* world, const SltResource* resource, uint32_t owner,
                          uint32_t units) {
  for (uint32_t i = world->transactions.all[owner].requests; i && units > 0;) {
    BlkRequest* request = &world->transactions.requests[i];
    uint32_t next = request->next;
    if (request->resource == resource && request->granted) {
      uint32_t taken = request->units < units ? request->units : units;
      request->units -= taken;
      units -= taken;
      if (request->units == 0) blk_request_free(world, i);
    }
    i = next;
  }
}

// ---- processes that have units ------------------------------------------------------------------

static bool is_holder(const BlkHolder* holder, const BlkProcess* process) {
  return holder->process == process->index && holder->generation == process->generation;
}

void blk_holder_add(SltResource* resource, const BlkProcess* process) {
  if (blk_grow(resource->world, &resource->holders, &resource->holder_capacity,
               resource->holder_count + 1, sizeof *resource->holders) < 0) {
    return;
  }
  resource->holders[resource->holder_count++] =
      (BlkHolder){process->index, process->generation, process->units, process->priority};
}

void blk_holder_give(SltResource* resource, const BlkProcess* from, const BlkProcess* to) {
  for (uint32_t i = 0; i < resource->holder_count; i++) {
    BlkHolder* holder = &resource->holders[i];
    if (!is_holder(holder, from)) continue;
    holder->process = to->index;
    holder->generation = to->generation;
  }
}

static void holder_remove(SltResource* resource, uint32_t index) {
  resource->holder_count--;
  for (uint32_t i = index; i < resource->holder_count; i++) {
    resource->holders[i] = resource->holders[i + 1];
  }
}

/// The process gives units back, the last ones it got first.
static void holder_forget(SltResource* resource, const BlkProcess* process, uint32_t units) {
  for (uint32_t i = resource->holder_count; i-- > 0 && units > 0;) {
    BlkHolder* holder = &resource->holders[i];
    if (!is_holder(holder, process)) continue;
    uint32_t taken = holder->units < units ? holder->units : units;
    holder->units -= taken;
    units -= taken;
    if (holder->units == 0) holder_remove(resource, i);
  }
}

bool blk_holder_has(const SltResource* resource, const BlkProcess* process, uint32_t units) {
  uint32_t has = 0;
  for (uint32_t i = 0; i < resource->holder_count; i++) {
    if (is_holder(&resource->holders[i], process)) has += resource->holders[i].units;
  }
  return has >= units;
}

/// Position of who has to give way first to somebody of this priority: the least important, and of
/// these the last who came. The number of holders when nobody has to.
static uint32_t find_victim(const SltResource* resource, int32_t priority) {
  uint32_t found = resource->holder_count;
  for (uint32_t i = 0; i < resource->holder_count; i++) {
    const BlkHolder* holder = &resource->holders[i];
    const BlkProcess* process = resource->world->processes.all[holder->process];
    if (!process->alive || !is_holder(holder, process) || holder->priority >= priority) continue;
    if (found == resource->holder_count || holder->priority <= resource->holders[found].priority) {
      found = i;
    }
  }
  return found;
}

SltStatus slt_process_preempt(SltWorld* world, SltResource* resource, uint32_t units,
                              int32_t priority, double patience) {
  if (!world || !world->processes.running || !resource || resource->world != world)
    return SLT_ERR_ARGUMENT;
  uint32_t wanted = units ? units : 1;
  while (wanted <= resource->units && resource->units - resource->in_use < wanted) {
    uint32_t victim = find_victim(resource, priority);
    if (victim == resource->holder_count) break;
    BlkHolder holder = resource->holders[victim];
    holder_remove(resource, victim);
    resource->in_use -= holder.units;
    resource->preempted++;
    (void)blk_process_interrupt(world, world->processes.all[holder.process]);
  }
  return slt_process_request(world, resource, units, priority, patience);
}

void blk_resource_release(SltResource* resource, uint32_t units, uint32_t owner) {
  SltWorld* world = resource->world;
  if (units > resource->in_use) units = resource->in_use;
  if (world->processes.running) holder_forget(resource, world->processes.running, units);
  if (owner && world->transactions.all[owner].alive) forget_grants(world, resource, owner, units);
  resource->in_use -= units;
  blk_resource_serve(resource);
}

SltStatus slt_resource_release(SltResource* resource, uint32_t units, SltTransaction transaction) {
  if (!resource) return SLT_ERR_ARGUMENT;
  SltWorld* world = resource->world;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  if (units == 0) units = 1;
  if (units > resource->in_use) {
    blk_message(world, SLT_WARNING, DIAG_W0910,
                "resource '%s': %u units are released but only %u are in use; ignored",
                blk_name_text(world, resource->name), units, resource->in_use);
    return SLT_ERR_ARGUMENT;
  }
  if (world->processes.running && resource->preempted > 0 && !transaction.index &&
      !blk_holder_has(resource, world->processes.running, units)) {
    blk_message(world, SLT_WARNING, DIAG_W0910,
                "resource '%s': a process releases units that were taken from it; ignored",
                blk_name_text(world, resource->name));
    return SLT_ERR_ARGUMENT;
  }
  uint32_t owner = blk_owner_find(world, transaction);
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_RELEASE, .object = resource, .units = units, .owner = owner};
    return blk_journal_add(world, &op);
  }
  blk_resource_release(resource, units, owner);
  return SLT_OK;
}

SltStatus slt_resource_set_units(SltResource* resource, uint32_t units) {
  if (!resource || units == 0) return SLT_ERR_ARGUMENT;
  SltWorld* world = resource->world;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_SET_UNITS, .object = resource, .units = units};
    return blk_journal_add(world, &op);
  }
  resource->units = units;
  blk_resource_serve(resource);
  return SLT_OK;
}

uint32_t slt_resource_in_use(const SltResource* resource) {
  return resource ? resource->in_use : 0;
}

uint32_t slt_resource_queue_length(const SltResource* resource) {
  return resource ? resource->waiting : 0;
}

SltResourceStatistics slt_resource_statistics(const SltResource* resource) {
  if (!resource) return (SltResourceStatistics){0};
  double t = resource->world->t;
  return (SltResourceStatistics){.waiting = slt_tally_summary(&resource->wait_tally, 0.95),
                                 .queue = slt_level_summary(&resource->queue_level, t, 0.95),
                                 .in_use = slt_level_summary(&resource->use_level, t, 0.95),
                                 .requests = resource->requests,
                                 .granted = resource->granted,
                                 .withdrawn = resource->withdrawn,
                                 .waited = resource->waited,
                                 .preempted = resource->preempted};
}

void slt_resource_clear_statistics(SltResource* resource) {
  if (!resource) return;
  double t = resource->world->t;
  resource->wait_tally = (SltTally){0};
  resource->queue_level = (SltLevel){0};
  resource->use_level = (SltLevel){0};
  slt_level_set(&resource->queue_level, t, (double)resource->waiting);
  slt_level_set(&resource->use_level, t, (double)resource->in_use);
  resource->requests = 0;
  resource->granted = 0;
  resource->withdrawn = 0;
  resource->waited = 0;
}
