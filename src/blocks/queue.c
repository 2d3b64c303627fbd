// SPDX-License-Identifier: MIT
//
// The event queue: an implicit heap with four children. Half the levels of a binary heap and
// children side by side; a hole is moved to the bottom and then up, since what comes from the end
// of the array nearly always belongs near the bottom.
#include "blocks/blocks.h"

#include <string.h>

#define WAYS UINT64_C(4)

__extension__ typedef unsigned __int128 Rank;

static inline bool before(const BlkEntry* a, const BlkEntry* b) {
  return ((Rank)a->key << 64 | a->order) < ((Rank)b->key << 64 | b->order);
}

bool blk_entry_before(const BlkEntry* a, const BlkEntry* b) {
  return before(a, b);
}

uint64_t blk_order(int32_t priority, uint64_t sequence) {
  return (uint64_t)(BLK_PRIORITY_MAX - priority) << 48 | (sequence & (UINT64_MAX >> 16));
}

static void sift_up(BlkEntry* data, uint32_t at, BlkEntry entry) {
  while (at > 0) {
    uint32_t parent = (uint32_t)((at - 1) / WAYS);
    if (!before(&entry, &data[parent])) break;
    data[at] = data[parent];
    at = parent;
  }
  data[at] = entry;
}

/// Move the smallest child up until the hole is a leaf; returns the hole.
static inline uint32_t sink_hole(BlkEntry* data, uint32_t count, uint32_t at) {
  for (;;) {
    uint64_t first = (uint64_t)at * WAYS + 1;
    if (first + WAYS <= count) {
      // four children: two comparisons side by side, then one
      uint32_t c = (uint32_t)first;
      if (first * WAYS + 2 * WAYS < count) {
        __builtin_prefetch(&data[first * WAYS + 1]);
        __builtin_prefetch(&data[first * WAYS + 9]);
      }
      uint32_t left = c + before(&data[c + 1], &data[c]);
      uint32_t right = c + 2 + before(&data[c + 3], &data[c + 2]);
      uint32_t least = left + (right - left) * before(&data[right], &data[left]);
      data[at] = data[least];
      at = least;
      continue;
    }
    if (first >= count) return at;
    uint32_t least = (uint32_t)first;
    for (uint32_t c = least + 1; c < count; c++) {
      if (before(&data[c], &data[least])) least = c;
    }
    data[at] = data[least];
    at = least;
  }
}

SltStatus blk_heap_push(BlkHeap* heap, const SltAllocator* allocator, BlkEntry entry) {
  if (heap->count == heap->capacity) {
    if (heap->capacity > UINT32_MAX / 2) return SLT_ERR_NOMEM;
    uint32_t capacity = heap->capacity ? 2 * heap->capacity : 64;
    void* data = base_realloc(allocator, heap->data, heap->capacity * sizeof *heap->data,
                              base_mul_size(capacity, sizeof *heap->data));
    if (!data) return SLT_ERR_NOMEM;
    heap->data = data;
    heap->capacity = capacity;
  }
  sift_up(heap->data, heap->count++, entry);
  return SLT_OK;
}

BlkEntry blk_heap_pop(BlkHeap* heap) {
  BlkEntry first = heap->data[0];
  BlkEntry last = heap->data[--heap->count];
  if (heap->count > 0) {
    uint32_t hole = sink_hole(heap->data, heap->count, 0);
    sift_up(heap->data, hole, last);
  }
  return first;
}

void blk_heap_sweep(BlkHeap* heap, bool (*keep)(const void* user, const BlkEntry* entry),
                    const void* user) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < heap->count; i++) {
    if (keep(user, &heap->data[i])) heap->data[kept++] = heap->data[i];
  }
  heap->count = kept;
  heap->dead = 0;
  for (uint32_t i = (uint32_t)(kept / WAYS + 1); i-- > 0;) {
    if (i >= kept) continue;
    // an ordinary sift down: the entry is as likely large as small
    BlkEntry entry = heap->data[i];
    uint32_t at = i;
    for (;;) {
      uint64_t first = (uint64_t)at * WAYS + 1;
      if (first >= kept) break;
      uint32_t least = (uint32_t)first;
      for (uint32_t c = least + 1; c < kept && c < first + WAYS; c++) {
        if (before(&heap->data[c], &heap->data[least])) least = c;
      }
      if (!before(&heap->data[least], &entry)) break;
      heap->data[at] = heap->data[least];
      at = least;
    }
    heap->data[at] = entry;
  }
}

void blk_heap_clear(BlkHeap* heap, const SltAllocator* allocator) {
  base_free(allocator, heap->data, heap->capacity * sizeof *heap->data);
  *heap = (BlkHeap){0};
}
