// SPDX-License-Identifier: MIT
//
// base: what every module stands on. Memory, text, places, diagnostics, numbers; libc only.
#ifndef SALTUS_BASE_H
#define SALTUS_BASE_H

#include "base/alloc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/functions.h"
#include "base/lanes.h"
#include "base/number.h"
#include "base/sha256.h"
#include "base/team.h"
#include "base/text.h"
#include "base/unit.h"

/// Internal propagation of errors: the only control-flow macro in the code base.
#define SLT_TRY(expr) \
  do { \
    SltStatus try_status = (expr); \
    if (try_status < 0) return try_status; \
  } while (0)

/// Guards an invariant of our own code in debug builds; never replaces a check of input.
#ifdef SLT_CHECK_INVARIANTS
#define SLT_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define SLT_ASSERT(condition) ((void)0)
#endif

#define SLT_COUNT(array) (sizeof(array) / sizeof *(array))

/// Put numbers in order where they are (Shell's method: short lists, nearly in order mostly).
void base_sort_ascending(uint32_t* list, uint32_t count);

/// What waits for its time, in a heap: heap[0] is the first, by number among those of one time.
typedef struct BaseDue {
  double t;
  uint32_t id;
} BaseDue;

void base_due_add(BaseDue* heap, uint32_t* count, double t, uint32_t id);
void base_due_drop(BaseDue* heap, uint32_t* count);

/// Lists by key, behind each other in one array.
typedef struct BaseLists {
  uint32_t* begin;  // per key and one more
  uint32_t* list;
  uint32_t key_count, count;
  bool filling;
} BaseLists;

/// Adds all values by base_lists_add(); called twice, to count them and to list them.
typedef void BaseListsVisit(BaseLists* lists, void* user);
void base_lists_add(BaseLists* lists, uint32_t key, uint32_t value);
/// Make the lists, in place of those that are there. False: memory is short.
bool base_lists_make(BaseLists* lists, const SltAllocator* a, uint32_t key_count,
                     BaseListsVisit* visit, void* user);
void base_lists_free(BaseLists* lists, const SltAllocator* a);

#define BASE_KEYS_FEW 16u  // keys that are compared one by one

typedef struct BaseKey {
  uint64_t key, note;
} BaseKey;

/// Keys in the order in which they were met, with a number for each.
typedef struct BaseKeys {
  BaseKey* entries;
  uint32_t count, room;
  uint32_t* table;  // places + 1 by key, once there are more than a few; a power of two
  size_t table_size;
} BaseKeys;

void base_keys_clear(BaseKeys* keys);
void base_keys_free(BaseKeys* keys, const SltAllocator* a);
/// The entry of a key; NULL for none.
const BaseKey* base_keys_find(const BaseKeys* keys, uint64_t key);
/// Add a key that is not there. False: memory is short.
bool base_keys_add(BaseKeys* keys, const SltAllocator* a, uint64_t key, uint64_t note);

/// Where a number stands in an ascending list; UINT32_MAX when it does not.
uint32_t base_find_sorted(const uint32_t* list, uint32_t count, uint32_t wanted);

/// The member that stands for the set of `i`, where `parent` leads from each member towards it.
static inline uint32_t base_root(uint32_t* parent, uint32_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

/// A number of [1, 1.5) that is another one for every pair.
static inline double base_wobble(uint32_t a, uint32_t b) {
  uint64_t key = (((uint64_t)b << 32 | a) + 1) * 0x9E3779B97F4A7C15u;
  key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9u;
  key = (key ^ key >> 27) * 0x94D049BB133111EBu;
  return 1.0 + 0x1p-54 * (double)(key >> 11);
}

#endif
