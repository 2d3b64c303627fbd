// SPDX-License-Identifier: MIT
//
// Stores: items first in, first out, or in an order of the user's; whoever fetches waits in order
// for an item that suits.
#include "blocks/blocks.h"

#include <string.h>

SltStatus blk_ring_push(SltWorld* world, BlkRing* ring, const void* element, size_t size) {
  if (ring->count == ring->capacity) {
    if (ring->capacity > UINT32_MAX / 2) return SLT_ERR_NOMEM;
    uint32_t capacity = ring->capacity ? 2 * ring->capacity : 16;
    unsigned char* data = base_alloc(&world->allocator, base_mul_size(capacity, size));
    if (!data) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
    for (uint32_t i = 0; i < ring->count; i++) {
      uint32_t at = (ring->first + i) % ring->capacity;
      memcpy(data + i * size, ring->data + at * size, size);
    }
    base_free(&world->allocator, ring->data, ring->capacity * size);
    ring->data = data;
    ring->first = 0;
    ring->capacity = capacity;
  }
  memcpy(ring->data + (size_t)((ring->first + ring->count) % ring->capacity) * size, element, size);
  ring->count++;
  return SLT_OK;
}

bool blk_ring_pop(BlkRing* ring, void* element, size_t size) {
  if (ring->count == 0) return false;
  memcpy(element, ring->data + ring->first * size, size);
  ring->first = (ring->first + 1) % ring->capacity;
  ring->count--;
  return true;
}

SltStatus slt_store_create(SltWorld* world, const char* name, uint32_t capacity, SltStore** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!world) return SLT_ERR_ARGUMENT;
  SltStore* store = base_alloc(&world->allocator, sizeof *store);
  if (!store) return SLT_ERR_NOMEM;
  store->world = world;
  store->capacity = capacity;
  store->name = blk_name(world, name);
  store->link = world->transactions.stores;
  world->transactions.stores = store;
  *out = store;
  return SLT_OK;
}

/// An item on its way to a fetcher.
typedef struct Delivery {
  SltStore* store;
  SltItemFn* fn;
  void* user;
  void* item;
} Delivery;

static void deliver(SltWorld* world, void* user) {
  Delivery delivery = *(Delivery*)user;
  base_free(&world->allocator, user, sizeof delivery);
  delivery.fn(world, delivery.user, delivery.item);
}

void blk_stores_clear(SltWorld* world) {
  for (uint32_t i = 1; i < world->nodes.count; i++) {
    const BlkNode* node = &world->nodes.all[i];
    if (node->state == BLK_PENDING && node->fn == deliver) {
      base_free(&world->allocator, node->user, sizeof(Delivery));
    }
  }
  for (SltStore* store = world->transactions.stores; store;) {
    SltStore* next = store->link;
    base_free(&world->allocator, store->items.data, store->items.capacity * sizeof(void*));
    base_free(&world->allocator, store->fetches.data, store->fetches.capacity * sizeof(BlkFetch));
    base_free(&world->allocator, store->putters.data, store->putters.capacity * sizeof(void*));
    base_free(&world->allocator, store, sizeof *store);
    store = next;
  }
  world->transactions.stores = NULL;
}

static void* ring_at(const BlkRing* ring, uint32_t position, size_t size) {
  return ring->data + (size_t)((ring->first + position) % ring->capacity) * size;
}

/// Take an element out of the middle; those before it move up.
static void ring_take(BlkRing* ring, uint32_t position, void* element, size_t size) {
  memcpy(element, ring_at(ring, position, size), size);
  for (uint32_t i = position; i > 0; i--) {
    memcpy(ring_at(ring, i, size), ring_at(ring, i - 1, size), size);
  }
  ring->first = (ring->first + 1) % ring->capacity;
  ring->count--;
}

static void* item_at(const SltStore* store, uint32_t position) {
  return *(void**)ring_at(&store->items, position, sizeof(void*));
}

/// Add an item behind those that go before it.
static SltStatus item_add(SltStore* store, void* item) {
  SLT_TRY(blk_ring_push(store->world, &store->items, &item, sizeof item));
  uint32_t at = store->items.count - 1;
  while (store->before && at > 0 &&
         store->before(item, item_at(store, at - 1), store->before_user)) {
    void* other = item_at(store, at - 1);
    memcpy(ring_at(&store->items, at, sizeof other), &other, sizeof other);
    memcpy(ring_at(&store->items, --at, sizeof item), &item, sizeof item);
  }
  return SLT_OK;
}

/// Position of the first item that suits; the number of items when none does.
static uint32_t find_item(const SltStore* store, const BlkFetch* fetch) {
  uint32_t at = 0;
  while (at < store->items.count && fetch->match &&
         !fetch->match(item_at(store, at), fetch->match_user)) {
    at++;
  }
  return at;
}

/// Send items on their way to who fetches.
static SltStatus match(SltStore* store) {
  SltWorld* world = store->world;
  uint32_t at = 0;
  while (store->items.count > 0 && at < store->fetches.count) {
    BlkFetch fetch;
    memcpy(&fetch, ring_at(&store->fetches, at, sizeof fetch), sizeof fetch);
    uint32_t item = fetch.fn ? find_item(store, &fetch) : 0;
    if (item == store->items.count) {
      at++;
      continue;
    }
    ring_take(&store->fetches, at, &fetch, sizeof fetch);
    if (!fetch.fn) continue;  // was cancelled
    Delivery* delivery = base_alloc(&world->allocator, sizeof *delivery);
    if (!delivery) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
    *delivery = (Delivery){store, fetch.fn, fetch.user, NULL};
    ring_take(&store->items, item, &delivery->item, sizeof delivery->item);
    SLT_TRY(blk_call_now(world, deliver, delivery, 0, NULL));
  }
  return SLT_OK;
}

/// Bring items and fetchers together, and let in who waits for room.
static SltStatus settle(SltStore* store) {
  for (;;) {
    SLT_TRY(match(store));
    bool room = store->capacity == 0 || store->items.count < store->capacity;
    void* waiting = NULL;
    if (!room || !blk_ring_pop(&store->putters, &waiting, sizeof waiting)) return SLT_OK;
    BlkProcess* process = waiting;
    SLT_TRY(item_add(store, process->item));
    blk_process_wake(store->world, process, SLT_OK);
  }
}

/// The fetcher `user` does not want any more; what is on its way to it goes back, to the front.
void blk_stores_forget(SltWorld* world, SltItemFn* fn, const void* user) {
  for (SltStore* store = world->transactions.stores; store; store = store->link) {
    for (uint32_t i = 0; i < store->fetches.count; i++) {
      uint32_t at = (store->fetches.first + i) % store->fetches.capacity;
      BlkFetch* fetch = (BlkFetch*)(void*)(store->fetches.data + at * sizeof *fetch);
      if (fetch->user == user && fetch->fn == fn) fetch->fn = NULL;
    }
  }
  for (uint32_t i = 1; i < world->nodes.count; i++) {
    const BlkNode* node = &world->nodes.all[i];
    if (node->state != BLK_PENDING || node->fn != deliver) continue;
    Delivery delivery = *(Delivery*)node->user;
    if (delivery.user != user || delivery.fn != fn) continue;
    base_free(&world->allocator, node->user, sizeof delivery);
    blk_node_cancel(world, i);
    SltStore* store = delivery.store;
    uint32_t count = store->items.count;
    if (item_add(store, delivery.item) < 0) return;
    for (uint32_t k = 0; k < count && !store->before; k++) {  // turn the ring until it stands first
      void* item = NULL;
      (void)blk_ring_pop(&store->items, &item, sizeof item);
      (void)blk_ring_push(world, &store->items, &item, sizeof item);
    }
    (void)settle(store);
  }
}

SltStatus blk_store_put(SltStore* store, void* item) {
  bool full = store->capacity > 0 && store->items.count >= store->capacity;
  if (full || store->putters.count > 0) return SLT_ERR_LIMIT;
  SLT_TRY(item_add(store, item));
  return settle(store);
}

SltStatus blk_store_get(SltStore* store, const BlkFetch* fetch) {
  SLT_TRY(blk_ring_push(store->world, &store->fetches, fetch, sizeof *fetch));
  return settle(store);
}

SltStatus slt_store_put(SltStore* store, void* item) {
  if (!store || !blk_may_change(store->world)) return SLT_ERR_ARGUMENT;
  if (store->world->probing) {
    BlkOp op = {.kind = BLK_OP_PUT, .object = store, .user = item};
    return blk_journal_add(store->world, &op);
  }
  return blk_store_put(store, item);
}

SltStatus slt_store_get(SltStore* store, SltItemFn* fn, void* user) {
  if (!store || !fn || !blk_may_change(store->world)) return SLT_ERR_ARGUMENT;
  if (store->world->probing) {
    BlkOp op = {.kind = BLK_OP_GET, .object = store, .fetch = fn, .user = user};
    return blk_journal_add(store->world, &op);
  }
  return blk_store_get(store, &(BlkFetch){.fn = fn, .user = user});
}

SltStatus slt_store_sort(SltStore* store, SltBeforeFn* before, void* user) {
  if (!store || store->items.count > 0) return SLT_ERR_ARGUMENT;
  store->before = before;
  store->before_user = user;
  return SLT_OK;
}

uint32_t slt_store_count(const SltStore* store) {
  return store ? store->items.count : 0;
}
