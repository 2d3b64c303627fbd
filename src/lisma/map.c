// SPDX-License-Identifier: MIT
#include "lisma/map.h"

#include <string.h>

#define MAP_CAPACITY_MIN 16

static MapSlot* map_find(const Map* map, uint64_t a, uint64_t b) {
  uint32_t mask = map->capacity - 1;
  for (uint32_t at = (uint32_t)hash_mix(a, b) & mask;; at = (at + 1) & mask) {
    MapSlot* slot = &map->slots[at];
    if (slot->value == 0 || (slot->a == a && slot->b == b)) return slot;
  }
}

uint32_t map_get(const Map* map, uint64_t a, uint64_t b) {
  return map->count ? map_find(map, a, b)->value : 0;
}

static void map_grow(Map* map) {
  Map grown = {.arena = map->arena, .count = map->count};
  if (map->capacity > UINT32_MAX / 2) longjmp(*map->arena->on_oom, 1);
  grown.capacity = map->capacity ? 2 * map->capacity : MAP_CAPACITY_MIN;
  grown.slots = ARENA_ARRAY(map->arena, MapSlot, grown.capacity);
  for (uint32_t i = 0; i < map->capacity; i++) {
    const MapSlot* slot = &map->slots[i];
    if (slot->value) *map_find(&grown, slot->a, slot->b) = *slot;
  }
  *map = grown;
}

void map_set(Map* map, uint64_t a, uint64_t b, uint32_t value) {
  if (map->count >= map->capacity / 2) map_grow(map);
  MapSlot* slot = map_find(map, a, b);
  map->count += slot->value == 0;
  *slot = (MapSlot){.a = a, .b = b, .value = value};
}

void map_clear(Map* map) {
  if (map->count) memset(map->slots, 0, map->capacity * sizeof *map->slots);
  map->count = 0;
}
