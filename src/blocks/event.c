// SPDX-License-Identifier: MIT
//
// State events and passes over the check blocks.
//
// A memory belongs to a (transaction, site). It is armed when the last pass that was kept saw it
// with x > 0; it crosses when the present pass sees x <= 0. A memory that was not looked at in the
// last kept pass starts afresh. A memory that has fired neither fires nor arms within its instant:
// the located value may lie a rounding error on the positive side.
#include "blocks/blocks.h"

#include <string.h>

bool blk_has_checks(const SltWorld* world) {
  return world->nodes.active_count[1] > world->nodes.holes[1];
}

bool blk_memory_crosses(const SltWorld* world, const BlkMemory* memory) {
  return memory->pass == world->passes.present && memory->pass_last == world->passes.kept &&
         memory->x_last > 0.0 && memory->x <= 0.0 && memory->fired_instant != world->passes.instant;
}

static uint32_t* memory_slot(const BlkMemoryTable* table, uint64_t transaction, uint64_t site) {
  uint32_t mask = table->slot_count - 1;
  uint32_t at = (uint32_t)hash_mix(transaction, site) & mask;
  while (table->slots[at]) {
    const BlkMemory* memory = &table->data[table->slots[at] - 1];
    if (memory->transaction == transaction && memory->site == site) break;
    at = (at + 1) & mask;
  }
  return &table->slots[at];
}

/// Room for one more. Only called between passes or for a new memory, so indices may not move:
/// memories of the past are swept out in blk_check_keep().
static SltStatus memory_reserve(SltWorld* world) {
  BlkMemoryTable* table = &world->memory;
  SLT_TRY(blk_grow(world, &table->data, &table->capacity, table->count + 1, sizeof *table->data));
  if (2 * (table->count + 1) <= table->slot_count) return SLT_OK;
  uint32_t count = table->slot_count ? 2 * table->slot_count : 64;
  uint32_t* slots = base_alloc(&world->allocator, base_mul_size(count, sizeof *slots));
  if (!slots) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
  base_free(&world->allocator, table->slots, table->slot_count * sizeof *slots);
  table->slots = slots;
  table->slot_count = count;
  for (uint32_t i = 0; i < table->count; i++) {
    *memory_slot(table, table->data[i].transaction, table->data[i].site) = i + 1;
  }
  return SLT_OK;
}

static BlkMemory* memory_get(SltWorld* world, uint64_t transaction, uint64_t site) {
  BlkMemoryTable* table = &world->memory;
  uint32_t found = table->slot_count ? *memory_slot(table, transaction, site) : 0;
  if (!found) {
    if (memory_reserve(world) < 0) return NULL;
    table->data[table->count++] = (BlkMemory){.transaction = transaction, .site = site};
    found = table->count;
    *memory_slot(table, transaction, site) = found;
  }
  BlkMemory* memory = &table->data[found - 1];
  if (memory->pass != world->passes.present) {
    if (blk_grow(world, &table->touched, &table->touched_capacity, table->touched_count + 1,
                 sizeof *table->touched) < 0) {
      return NULL;
    }
    table->touched[table->touched_count++] = found - 1;
    memory->pass = world->passes.present;
  }
  return memory;
}

bool slt_world_event(SltWorld* world, double x, uint64_t site) {
  if (!world) return false;
  if (world->phase != BLK_CHECK) {
    blk_message(world, SLT_WARNING, DIAG_W0906, "event() outside of a check block is always false");
    return false;
  }
  const BlkNode* node = &world->nodes.all[world->nodes.current];
  uint64_t transaction =
      node->owner ? (uint64_t)world->transactions.all[node->owner].generation << 32 | node->owner
                  : 0;
  BlkMemory* memory = memory_get(world, transaction, site);
  if (!memory) return false;
  memory->x = x;
  if (!world->passes.live) return false;
  bool fires = memory->forced || blk_memory_crosses(world, memory);
  if (!fires) return false;
  memory->forced = false;
  memory->fired_instant = world->passes.instant;
  world->passes.fired = true;
  world->dirty = true;
  world->statistics.state_events++;
  return true;
}

// ---- debug: is a check block idempotent? --------------------------------------------------------

typedef void RegionFn(void* memory, size_t size, unsigned char** shadow);

static void region_save(void* memory, size_t size, unsigned char** shadow) {
  memcpy(*shadow, memory, size);
  *shadow += size;
}

static void region_load(void* memory, size_t size, unsigned char** shadow) {
  memcpy(memory, *shadow, size);
  *shadow += size;
}

/// All memory the world knows of. Graphs are read only, so they are compared but never written.
static void each_region(SltWorld* world, RegionFn* fn, unsigned char** shadow) {
  for (uint32_t i = 0; i < world->motion.order_count; i++) {
    BlkIntegrator* integrator = &world->motion.integrators[world->motion.order[i]];
    fn(integrator->out, integrator->count * sizeof *integrator->out, shadow);
  }
  for (uint32_t i = 0; i < world->regions.count; i++) {
    fn(world->regions.all[i].memory, world->regions.all[i].size, shadow);
  }
}

static size_t regions_size(const SltWorld* world) {
  size_t size = 0;
  for (uint32_t i = 0; i < world->motion.order_count; i++) {
    size += world->motion.integrators[world->motion.order[i]].count * sizeof(double);
  }
  for (uint32_t i = 0; i < world->regions.count; i++) {
    size += world->regions.all[i].size;
  }
  return size + world->record.watch_count * sizeof(double);
}

static void save_all(SltWorld* world, unsigned char* shadow) {
  each_region(world, region_save, &shadow);
  for (uint32_t i = 0; i < world->record.watch_count; i++) {
    memcpy(shadow, world->record.watches[i].signal, sizeof(double));
    shadow += sizeof(double);
  }
}

/// The block has run once; run it again and compare what it leaves behind.
static SltStatus check_twice(SltWorld* world, uint32_t node) {
  size_t size = regions_size(world);
  if (2 * size > world->regions.shadow_size) {
    unsigned char* shadow = base_realloc(&world->allocator, world->regions.shadow,
                                         world->regions.shadow_size, 2 * size);
    if (!shadow) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
    world->regions.shadow = shadow;
    world->regions.shadow_size = 2 * size;
  }
  uint32_t journal = world->journal.count;
  unsigned char* first = world->regions.shadow;
  save_all(world, first);
  blk_call_node(world, node);
  save_all(world, first + size);
  bool same = memcmp(first, first + size, size) == 0;
  uint32_t added = world->journal.count - journal;
  // the second run leaves no trace: what it added to the journal is undone, memory put back
  if (added > 0) {
    BlkOp* kept = world->journal.ops;
    uint32_t kept_capacity = world->journal.capacity;
    world->journal.ops = kept + journal;
    world->journal.count = added;
    blk_journal_undo(world);
    world->journal.ops = kept;
    world->journal.capacity = kept_capacity;
    world->journal.count = journal;
  }
  unsigned char* at = first;
  each_region(world, region_load, &at);
  if (!same) {
    blk_message(world, SLT_WARNING, DIAG_W0907,
                "check block '%s' gives another result when it is repeated at the same time",
                blk_name_text(world, world->nodes.all[node].name));
  }
  return SLT_OK;
}

// ---- passes -------------------------------------------------------------------------------------

SltStatus blk_check_pass(SltWorld* world, BlkPassKind kind) {
  BlkPhase outer = world->phase;
  world->passes.present++;
  world->memory.touched_count = 0;
  world->phase = BLK_CHECK;
  world->probing = kind == BLK_PASS_PROBE;
  world->passes.live = kind == BLK_PASS_LIVE;
  world->nodes.pass_depth++;
  if (world->probing) blk_streams_save(world);
  for (uint32_t i = 0; i < world->nodes.active_count[1]; i++) {
    uint32_t node = world->nodes.active[1][i];
    if (!node) continue;
    blk_call_node(world, node);
    if (world->options.debug && world->probing && world->failure.status >= 0) {
      (void)check_twice(world, node);
    }
  }
  world->nodes.pass_depth--;
  world->probing = false;
  world->passes.live = false;
  world->phase = outer;
  world->statistics.checks++;
  if (world->nodes.pass_depth == 0) blk_close_holes(world);
  return world->failure.status < 0 ? world->failure.status : SLT_OK;
}

/// Memories that were not looked at in this pass are dropped when they are the majority.
static void sweep(SltWorld* world) {
  BlkMemoryTable* table = &world->memory;
  if (table->count < 256 || table->touched_count * 2 > table->count) return;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < table->count; i++) {
    if (table->data[i].pass_last == world->passes.kept) table->data[kept++] = table->data[i];
  }
  table->count = kept;
  memset(table->slots, 0, table->slot_count * sizeof *table->slots);
  for (uint32_t i = 0; i < kept; i++) {
    *memory_slot(table, table->data[i].transaction, table->data[i].site) = i + 1;
  }
  table->touched_count = 0;
}

/// The pass stands: what it saw is what the next one compares with, what it wanted happens.
void blk_check_keep(SltWorld* world) {
  world->passes.kept = world->passes.present;
  for (uint32_t i = 0; i < world->memory.touched_count; i++) {
    BlkMemory* memory = &world->memory.data[world->memory.touched[i]];
    memory->x_earlier = memory->x_last;
    memory->pass_earlier = memory->pass_last;
    memory->pass_last = world->passes.present;
    // what fired in this instant is not armed by where it was located
    memory->x_last = memory->fired_instant == world->passes.instant ? 0.0 : memory->x;
  }
  if (world->journal.count > 0) blk_journal_apply(world);
  sweep(world);
}

/// The pass is taken back.
void blk_check_forget(SltWorld* world) {
  blk_journal_undo(world);
  blk_streams_restore(world);
}

void blk_memory_clear(SltWorld* world) {
  BlkMemoryTable* table = &world->memory;
  base_free(&world->allocator, table->data, table->capacity * sizeof *table->data);
  base_free(&world->allocator, table->slots, table->slot_count * sizeof *table->slots);
  base_free(&world->allocator, table->touched, table->touched_capacity * sizeof *table->touched);
  *table = (BlkMemoryTable){0};
}
