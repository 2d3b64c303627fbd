// SPDX-License-Identifier: MIT
//
// A map from pairs of words to numbers > 0, in an arena. Keys are compared exactly.
#ifndef SALTUS_LISMA_MAP_H
#define SALTUS_LISMA_MAP_H

#include "base/base.h"

typedef struct MapSlot {
  uint64_t a, b;
  uint32_t value;  // 0: free
} MapSlot;

/// All zero but the arena is an empty map.
typedef struct Map {
  Arena* arena;
  MapSlot* slots;
  uint32_t capacity;  // power of two
  uint32_t count;
} Map;

/// 0 when the key is absent.
uint32_t map_get(const Map* map, uint64_t a, uint64_t b);
/// Set the value (> 0) of a key.
void map_set(Map* map, uint64_t a, uint64_t b, uint32_t value);
/// Forget everything, keep the memory.
void map_clear(Map* map);

#endif
