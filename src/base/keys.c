// SPDX-License-Identifier: MIT
#include "base/base.h"

#include <string.h>

#define FIRST 8u  // entries that room is taken for at first

void base_keys_clear(BaseKeys* keys) {
  if (keys->count > BASE_KEYS_FEW) memset(keys->table, 0, keys->table_size * sizeof *keys->table);
  keys->count = 0;
}

void base_keys_free(BaseKeys* keys, const SltAllocator* a) {
  base_free(a, keys->entries, keys->room * sizeof *keys->entries);
  base_free(a, keys->table, keys->table_size * sizeof *keys->table);
  *keys = (BaseKeys){0};
}

/// Where a key is in the table, or the free place where it belongs.
static uint32_t* find_slot(const BaseKeys* keys, uint64_t key) {
  size_t mask = keys->table_size - 1;
  size_t at = (size_t)(key * 0x9E3779B97F4A7C15u >> 32) & mask;
  for (;; at = (at + 1) & mask) {
    uint32_t* slot = &keys->table[at];
    if (*slot == 0 || keys->entries[*slot - 1].key == key) return slot;
  }
}

const BaseKey* base_keys_find(const BaseKeys* keys, uint64_t key) {
  if (keys->count > BASE_KEYS_FEW) {
    uint32_t slot = *find_slot(keys, key);
    return slot ? &keys->entries[slot - 1] : NULL;
  }
  for (uint32_t i = 0; i < keys->count; i++) {
    if (keys->entries[i].key == key) return &keys->entries[i];
  }
  return NULL;
}

/// Room for one more entry, and in the table for twice as many.
static bool make_room(BaseKeys* keys, const SltAllocator* a) {
  if (keys->count == keys->room) {
    size_t room = keys->room ? 2 * (size_t)keys->room : FIRST;
    BaseKey* entries = base_realloc(a, keys->entries, keys->room * sizeof *entries,
                                    base_mul_size(room, sizeof *entries));
    if (!entries) return false;
    keys->entries = entries;
    keys->room = (uint32_t)room;
  }
  if (keys->count < BASE_KEYS_FEW) return true;
  size_t size = keys->table_size ? keys->table_size : 8 * (size_t)BASE_KEYS_FEW;
  while (size < 2 * ((size_t)keys->count + 1)) {
    size *= 2;
  }
  if (size == keys->table_size && keys->count > BASE_KEYS_FEW) return true;
  if (size != keys->table_size) {
    uint32_t* table = base_realloc(a, keys->table, keys->table_size * sizeof *table,
                                   base_mul_size(size, sizeof *table));
    if (!table) return false;
    keys->table = table;
    keys->table_size = size;
  }
  memset(keys->table, 0, size * sizeof *keys->table);
  for (uint32_t i = 0; i < keys->count; i++) {
    *find_slot(keys, keys->entries[i].key) = i + 1;
  }
  return true;
}

bool base_keys_add(BaseKeys* keys, const SltAllocator* a, uint64_t key, uint64_t note) {
  if (!make_room(keys, a)) return false;
  keys->entries[keys->count++] = (BaseKey){key, note};
  if (keys->count > BASE_KEYS_FEW) *find_slot(keys, key) = keys->count;
  return true;
}
