// SPDX-License-Identifier: MIT
//
// Hashing and the table of interned names.
//
// The table is open addressing with linear probing. A slot is a pair of words, {id, hash}: looking
// at the hash first keeps most probes away from the names themselves.
#include "base/base.h"

#include <string.h>

__extension__ typedef unsigned __int128 U128;

#define HASH_A UINT64_C(0x9e3779b97f4a7c15)
#define HASH_B UINT64_C(0xbf58476d1ce4e5b9)
#define HASH_C UINT64_C(0x94d049bb133111eb)

#define NAME_SLOTS_MIN 64

// both halves of the 128-bit product: every input bit reaches every output bit
static uint64_t fold(uint64_t a, uint64_t b) {
  U128 product = (U128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_mix(uint64_t a, uint64_t b) {
  return fold(a ^ HASH_A, fold(b ^ HASH_B, HASH_C) ^ HASH_A);
}

// little-endian on every machine, so that hashes can be stored
static uint64_t load_word(const unsigned char* at, size_t length) {
  uint64_t word = 0;
  memcpy(&word, at, length);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

uint64_t hash_bytes(const void* data, size_t length, uint64_t seed) {
  const unsigned char* at = data;
  uint64_t hash = hash_mix(seed, length);
  for (; length >= 8; at += 8, length -= 8) {
    hash = hash_mix(hash, load_word(at, 8));
  }
  return length ? hash_mix(hash, load_word(at, length)) : hash;
}

void names_init(NameTable* table, Arena* arena) {
  *table = (NameTable){.arena = arena};
  base_vec_push(arena, &table->names, STR_LIT(""));
  table->slot_count = NAME_SLOTS_MIN;
  table->slots = ARENA_ARRAY(arena, uint32_t, 2 * (size_t)table->slot_count);
}

/// The slot of `name`, or the free one where it would go.
static uint32_t* find_slot(const NameTable* table, Str name, uint32_t hash) {
  uint32_t mask = table->slot_count - 1;
  for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
    uint32_t* slot = &table->slots[2 * (size_t)i];
    if (slot[0] == 0) return slot;
    if (slot[1] == hash && str_equal(table->names.data[slot[0]], name)) return slot;
  }
}

#define NAME_GROUP 16  // names that lie side by side: two lines of the cache

/// Names of a loop come one after the other: x_1, x_2... Those whose numbers differ in the last
/// bits only lie side by side, so that a million of them are not a million misses of the cache.
static uint32_t name_hash(Str name) {
  uint32_t digits = 0;
  uint32_t number = 0;
  uint32_t unit = 1;
  while (digits < 8 && digits < name.length) {
    char c = name.data[name.length - 1 - digits];
    if (c < '0' || c > '9') break;
    number += (uint32_t)(c - '0') * unit;
    unit *= 10;
    digits++;
  }
  uint64_t hash = hash_bytes(name.data, name.length - digits, digits);
  if (digits == 0) return (uint32_t)hash;
  hash = hash_mix(hash, number / NAME_GROUP);
  return ((uint32_t)hash & ~(uint32_t)(NAME_GROUP - 1)) | (number & (NAME_GROUP - 1));
}

static void names_grow(NameTable* table) {
  const uint32_t* old = table->slots;
  uint32_t old_count = table->slot_count;
  if (old_count > UINT32_MAX / 2) longjmp(*table->arena->on_oom, 1);
  table->slot_count = 2 * old_count;
  table->slots = ARENA_ARRAY(table->arena, uint32_t, 2 * (size_t)table->slot_count);
  uint32_t mask = table->slot_count - 1;
  for (uint32_t i = 0; i < old_count; i++) {
    const uint32_t* slot = &old[2 * (size_t)i];
    if (slot[0] == 0) continue;
    uint32_t at = slot[1] & mask;
    while (table->slots[2 * (size_t)at] != 0) {
      at = (at + 1) & mask;
    }
    memcpy(&table->slots[2 * (size_t)at], slot, 2 * sizeof *slot);
  }
}

/// A table that was filled without an index gets one.
static void names_index(NameTable* table) {
  uint32_t slot_count = NAME_SLOTS_MIN;
  while (table->names.count >= slot_count / 2) {
    if (slot_count > UINT32_MAX / 2) longjmp(*table->arena->on_oom, 1);
    slot_count *= 2;
  }
  table->slots = ARENA_ARRAY(table->arena, uint32_t, 2 * (size_t)slot_count);
  table->slot_count = slot_count;
  for (uint32_t id = 1; id < table->names.count; id++) {
    uint32_t hash = name_hash(table->names.data[id]);
    uint32_t* slot = find_slot(table, table->names.data[id], hash);
    slot[0] = id;
    slot[1] = hash;
  }
}

uint32_t names_intern(NameTable* table, Str name) {
  if (name.length == 0) return 0;
  if (table->slot_count == 0) names_index(table);
  uint32_t hash = name_hash(name);
  uint32_t* slot = find_slot(table, name, hash);
  if (slot[0] != 0) return slot[0];

  uint32_t id = table->names.count;
  if (id >= table->slot_count / 2) {
    names_grow(table);
    slot = find_slot(table, name, hash);
  }
  base_vec_push(table->arena, &table->names, str_copy(table->arena, name));
  slot[0] = id;
  slot[1] = hash;
  return id;
}

uint32_t names_find(const NameTable* table, Str name) {
  if (name.length == 0) return 0;
  for (uint32_t id = 1; table->slot_count == 0 && id < table->names.count; id++) {
    if (str_equal(table->names.data[id], name)) return id;
  }
  if (table->slot_count == 0) return 0;
  return find_slot(table, name, name_hash(name))[0];
}

Str names_get(const NameTable* table, uint32_t id) {
  return id < table->names.count ? table->names.data[id] : STR_LIT("");
}
