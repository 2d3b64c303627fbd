// SPDX-License-Identifier: MIT
//
// Blocks: the pool, the queue of what is to come, the lists of what is active, cancelling.
#include "blocks/blocks.h"

#include <math.h>
#include <string.h>

static bool entry_lives(const void* user, const BlkEntry* entry) {
  const SltWorld* world = user;
  return world->nodes.all[entry->slot].generation == entry->generation;
}

/// 0 when memory is exhausted.
uint32_t blk_node_new(SltWorld* world, const SltBlockSpec* spec) {
  uint32_t index = world->nodes.free;
  if (index) {
    world->nodes.free = world->nodes.all[index].next;
  } else {
    if (world->nodes.count == world->nodes.capacity || !world->nodes.all) {
      if (blk_grow(world, &world->nodes.all, &world->nodes.capacity, world->nodes.count + 1,
                   sizeof *world->nodes.all) < 0) {
        return 0;
      }
    }
    index = world->nodes.count++;
    world->nodes.all[index].generation = 1;
  }
  BlkNode* node = &world->nodes.all[index];
  node->fn = spec->fn;
  node->user = spec->user;
  node->priority = spec->priority;
  node->kind = (uint8_t)spec->kind;
  node->state = BLK_RESERVED;
  node->name = 0;
  node->chain = 0;
  node->owner = 0;
  node->next = 0;
  node->prev = 0;
  return index;
}

/// The node dies: handles and queue entries of it are stale from here on.
void blk_node_free(SltWorld* world, uint32_t index) {
  BlkNode* node = &world->nodes.all[index];
  if (node->owner) blk_owner_unlink(world, index);
  node->generation++;
  if (node->generation == 0) node->generation = 1;
  node->state = BLK_FREE;
  node->next = world->nodes.free;
  world->nodes.free = index;
}

/// Append to the ring of what happens at once.
static SltStatus push_soon(SltWorld* world, BlkEntry entry) {
  if (world->soon.count == world->soon.capacity) {
    if (world->soon.capacity > UINT32_MAX / 4) return SLT_ERR_NOMEM;
    uint32_t capacity = world->soon.capacity ? 2 * world->soon.capacity : 64;
    BlkEntry* ring = base_alloc(&world->allocator, base_mul_size(capacity, sizeof *ring));
    if (!ring) return SLT_ERR_NOMEM;
    for (uint32_t i = 0; i < world->soon.count; i++) {
      ring[i] = world->soon.ring[(world->soon.first + i) & (world->soon.capacity - 1)];
    }
    base_free(&world->allocator, world->soon.ring, world->soon.capacity * sizeof *ring);
    world->soon.ring = ring;
    world->soon.first = 0;
    world->soon.capacity = capacity;
  }
  world->soon.ring[(world->soon.first + world->soon.count++) & (world->soon.capacity - 1)] = entry;
  return SLT_OK;
}

SltStatus blk_node_insert(SltWorld* world, uint32_t index, double t) {
  BlkNode* node = &world->nodes.all[index];
  bool now = t <= world->t && world->running;
  node->state = BLK_PENDING;
  // only what a running event schedules without delay lengthens the chain
  node->chain = now ? world->nodes.chain + 1 : 0;
  node->soon = now && node->priority == 0;
  BlkEntry entry = {blk_time_key(t), blk_order(node->priority, world->sequence++), index,
                    node->generation};
  SltStatus status =
      node->soon ? push_soon(world, entry) : blk_heap_push(&world->queue, &world->allocator, entry);
  if (status < 0) {
    blk_node_free(world, index);
    return blk_fail(world, status, DIAG_E0909, "out of memory");
  }
  return SLT_OK;
}

SltStatus blk_call_now(SltWorld* world, SltBlockFn* fn, void* user, uint32_t owner, SltBlock* out) {
  SltBlockSpec spec = {.fn = fn, .user = user};
  uint32_t index = blk_node_new(world, &spec);
  if (!index) return SLT_ERR_NOMEM;
  if (owner) blk_owner_link(world, owner, index);
  if (out) *out = (SltBlock){index, world->nodes.all[index].generation};
  return blk_node_insert(world, index, world->t);
}

/// A time that is not a number counts as an error, one in the past as now.
static SltStatus check_time(SltWorld* world, double* t, const char* name) {
  if (isnan(*t)) {
    blk_message(world, SLT_WARNING, DIAG_W0902,
                "block '%s' is scheduled at a time that is not a number", name ? name : "");
    return SLT_ERR_ARGUMENT;
  }
  if (*t < world->t) {
    if (*t < world->t - blk_time_eps(world->t)) {
      blk_message(world, SLT_WARNING, DIAG_W0901,
                  "block '%s' is scheduled in the past; it runs now", name ? name : "");
    }
    *t = world->t;
  }
  return SLT_OK;
}

static SltStatus put_in(SltWorld* world, uint32_t index, double t, SltBlock* out) {
  SltBlock handle = {index, world->nodes.all[index].generation};
  if (world->probing) {
    BlkOp op = {.kind = BLK_OP_INSERT_NODE, .index = index, .t = t};
    SLT_TRY(blk_journal_add(world, &op));
  } else {
    SLT_TRY(blk_node_insert(world, index, t));
  }
  if (out) *out = handle;
  return SLT_OK;
}

SltStatus slt_block_schedule(SltWorld* world, const SltBlockSpec* spec, SltBlock* out) {
  if (out) *out = (SltBlock){0};
  if (!world || !spec || !spec->fn || (unsigned)spec->kind > SLT_BLOCK_CHECK ||
      spec->priority > BLK_PRIORITY_MAX || spec->priority < -BLK_PRIORITY_MAX) {
    return SLT_ERR_ARGUMENT;
  }
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  double t = spec->t;
  SLT_TRY(check_time(world, &t, spec->name));
  uint32_t owner = blk_owner_find(world, spec->transaction);
  if (spec->transaction.index && !owner) return SLT_ERR_NOT_FOUND;
  uint32_t index = blk_node_new(world, spec);
  if (!index) return SLT_ERR_NOMEM;
  if (spec->name) world->nodes.all[index].name = blk_name(world, spec->name);
  if (owner) blk_owner_link(world, owner, index);
  if (spec->kind != SLT_BLOCK_DISCRETE) world->plain_known = false;
  return put_in(world, index, t, out);
}

SltStatus slt_world_call(SltWorld* world, double t, SltBlockFn* fn, void* user, SltBlock* out) {
  if (out) *out = (SltBlock){0};
  if (!world || !fn) return SLT_ERR_ARGUMENT;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  if (!(t >= world->t)) SLT_TRY(check_time(world, &t, NULL));
  SltBlockSpec spec = {.fn = fn, .user = user};
  uint32_t index = blk_node_new(world, &spec);
  if (!index) return SLT_ERR_NOMEM;
  return put_in(world, index, t, out);
}

SltStatus slt_block_hold(SltWorld* world, double dt, SltBlockFn* fn, void* user, SltBlock* out) {
  if (out) *out = (SltBlock){0};
  if (!world || !world->nodes.current || world->processes.running || !fn) return SLT_ERR_ARGUMENT;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  BlkNode running = world->nodes.all[world->nodes.current];
  double t = world->t + dt;
  SLT_TRY(check_time(world, &t, blk_name_text(world, running.name)));
  SltBlockSpec spec = {
      .kind = (SltBlockKind)running.kind, .priority = running.priority, .fn = fn, .user = user};
  uint32_t index = blk_node_new(world, &spec);
  if (!index) return SLT_ERR_NOMEM;
  world->nodes.all[index].name = running.name;
  if (running.owner) blk_owner_link(world, running.owner, index);
  return put_in(world, index, t, out);
}

static bool block_lives(const SltWorld* world, SltBlock block) {
  return block.index && block.index < world->nodes.count &&
         world->nodes.all[block.index].generation == block.generation &&
         world->nodes.all[block.index].state != BLK_FREE;
}

bool slt_block_is_alive(const SltWorld* world, SltBlock block) {
  return world && block_lives(world, block);
}

SltBlock slt_block_current(const SltWorld* world) {
  if (!world || !world->nodes.current) return (SltBlock){0};
  return (SltBlock){world->nodes.current, world->nodes.all[world->nodes.current].generation};
}

const char* slt_block_name(const SltWorld* world, SltBlock block) {
  if (!world || !block_lives(world, block)) return "";
  return blk_name_text(world, world->nodes.all[block.index].name);
}

SltStatus slt_block_cancel(SltWorld* world, SltBlock block) {
  if (!world) return SLT_ERR_ARGUMENT;
  if (!block_lives(world, block)) {
    blk_message(world, SLT_WARNING, DIAG_W0904,
                "a block is cancelled that does not exist any more");
    return SLT_ERR_NOT_FOUND;
  }
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  BlkOp op = {.kind = BLK_OP_CANCEL_NODE, .index = block.index, .generation = block.generation};
  SLT_TRY(blk_journal_add(world, &op));
  if (world->phase == BLK_IDLE) blk_journal_apply(world);
  return SLT_OK;
}

SltStatus slt_world_cancel(SltWorld* world, const char* name) {
  if (!world || !name) return SLT_ERR_ARGUMENT;
  if (!blk_may_change(world)) return SLT_ERR_ARGUMENT;
  uint32_t id = blk_name_find(world, name);
  // resolved here and not when the block returns: what is scheduled after this call stays
  bool found = false;
  for (uint32_t i = 1; id && i < world->nodes.count; i++) {
    if (world->nodes.all[i].name != id || world->nodes.all[i].state == BLK_FREE) continue;
    BlkOp op = {
        .kind = BLK_OP_CANCEL_NODE, .index = i, .generation = world->nodes.all[i].generation};
    SLT_TRY(blk_journal_add(world, &op));
    found = true;
  }
  for (uint32_t i = 1; id && i < world->motion.integrator_count; i++) {
    if (world->motion.integrators[i].name != id || world->motion.integrators[i].state == BLK_FREE)
      continue;
    BlkOp op = {.kind = BLK_OP_CANCEL_INTEGRATOR,
                .index = i,
                .generation = world->motion.integrators[i].generation};
    SLT_TRY(blk_journal_add(world, &op));
    found = true;
  }
  if (!found) {
    blk_message(world, SLT_WARNING, DIAG_W0905, "cancel: there is nothing of the name '%s'", name);
    return SLT_ERR_NOT_FOUND;
  }
  if (world->phase == BLK_IDLE) blk_journal_apply(world);
  return SLT_OK;
}

static void take_from_list(SltWorld* world, uint32_t index) {
  int list = world->nodes.all[index].kind == SLT_BLOCK_CHECK;
  for (uint32_t i = 0; i < world->nodes.active_count[list]; i++) {
    if (world->nodes.active[list][i] == index) {
      world->nodes.active[list][i] = 0;
      world->nodes.holes[list]++;
      break;
    }
  }
  if (world->nodes.pass_depth == 0) blk_close_holes(world);
  world->plain_known = false;
  world->dirty = true;
}

void blk_close_holes(SltWorld* world) {
  for (int list = 0; list < 2; list++) {
    if (world->nodes.holes[list] == 0) continue;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world->nodes.active_count[list]; i++) {
      if (world->nodes.active[list][i])
        world->nodes.active[list][kept++] = world->nodes.active[list][i];
    }
    world->nodes.active_count[list] = kept;
    world->nodes.holes[list] = 0;
  }
}

void blk_node_cancel(SltWorld* world, uint32_t index) {
  BlkNode* node = &world->nodes.all[index];
  if (node->state == BLK_ACTIVE) {
    take_from_list(world, index);
  } else if (node->state == BLK_PENDING) {
    *(node->soon ? &world->soon.dead : &world->queue.dead) += 1;
  } else if (node->state == BLK_RUNNING || node->state == BLK_FREE) {
    return;  // a discrete block that runs is spent anyway
  }
  blk_node_free(world, index);
  if (world->queue.dead > 64 && world->queue.dead > world->queue.count / 2) {
    blk_heap_sweep(&world->queue, entry_lives, world);
  }
}

/// Larger priorities first; among equals what came first.
SltStatus blk_node_activate(SltWorld* world, uint32_t index) {
  int list = world->nodes.all[index].kind == SLT_BLOCK_CHECK;
  SLT_TRY(blk_grow(world, &world->nodes.active[list], &world->nodes.active_capacity[list],
                   world->nodes.active_count[list] + 1, sizeof *world->nodes.active[list]));
  uint32_t* active = world->nodes.active[list];
  uint32_t at = world->nodes.active_count[list]++;
  while (at > 0 && world->nodes.all[active[at - 1]].priority < world->nodes.all[index].priority) {
    active[at] = active[at - 1];
    at--;
  }
  active[at] = index;
  world->nodes.all[index].state = BLK_ACTIVE;
  world->plain_known = false;
  world->dirty = true;
  return SLT_OK;
}

double blk_queue_time(SltWorld* world) {
  while (world->soon.count > 0) {
    const BlkEntry* first = &world->soon.ring[world->soon.first];
    if (entry_lives(world, first)) return blk_key_time(first->key);
    world->soon.first = (world->soon.first + 1) & (world->soon.capacity - 1);
    world->soon.count--;
    world->soon.dead--;
  }
  BlkHeap* queue = &world->queue;
  while (queue->count > 0 && !entry_lives(world, &queue->data[0])) {
    (void)blk_heap_pop(queue);
    queue->dead--;
  }
  return queue->count > 0 ? blk_key_time(queue->data[0].key) : HUGE_VAL;
}

BlkEntry blk_queue_pop(SltWorld* world) {
  BlkHeap* queue = &world->queue;
  if (world->soon.count > 0) {
    // something of the same time with a priority, or scheduled long ago, may come before
    while (queue->count > 0 && !entry_lives(world, &queue->data[0])) {
      (void)blk_heap_pop(queue);
      queue->dead--;
    }
    BlkEntry first = world->soon.ring[world->soon.first];
    if (queue->count == 0 || blk_entry_before(&first, &queue->data[0])) {
      world->soon.first = (world->soon.first + 1) & (world->soon.capacity - 1);
      world->soon.count--;
      return first;
    }
  }
  return blk_heap_pop(queue);
}

bool blk_queue_take(SltWorld* world, double t_end, BlkEntry* out) {
  BlkHeap* queue = &world->queue;
  while (world->soon.count == 0 && queue->count > 0) {
    if (entry_lives(world, &queue->data[0])) {
      if (queue->data[0].key > blk_time_key(t_end)) return false;
      *out = blk_heap_pop(queue);
      return true;
    }
    (void)blk_heap_pop(queue);
    queue->dead--;
  }
  if (blk_queue_time(world) > t_end) return false;
  *out = blk_queue_pop(world);
  return true;
}

/// Call an active or running block; its cancellings take effect when it has returned.
void blk_call_node(SltWorld* world, uint32_t index) {
  uint32_t outer = world->nodes.current;
  world->nodes.current = index;
  BlkNode* node = &world->nodes.all[index];
  node->fn(world, node->user);
  world->nodes.current = outer;
  if (world->journal.count > 0 && !world->probing) blk_journal_apply(world);
}
