// SPDX-License-Identifier: MIT
//
// Keys where there are only a few, without a call: see BaseKeys.
#ifndef SALTUS_BASE_KEYS_H
#define SALTUS_BASE_KEYS_H

#include "base/base.h"

/// Find a key or add it, where there are a few and room for one more. False: nothing is done.
static inline bool base_keys_quick(BaseKeys* keys, uint64_t key, uint64_t note,
                                   const BaseKey** again) {
  if (keys->count >= BASE_KEYS_FEW || keys->count >= keys->room) return false;
  *again = NULL;
  for (uint32_t i = 0; i < keys->count; i++) {
    if (keys->entries[i].key == key) *again = &keys->entries[i];
  }
  if (!*again) keys->entries[keys->count++] = (BaseKey){key, note};
  return true;
}

static inline void base_keys_reset(BaseKeys* keys) {
  if (keys->count > BASE_KEYS_FEW) base_keys_clear(keys);
  keys->count = 0;
}

#endif
