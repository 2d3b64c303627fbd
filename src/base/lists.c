// SPDX-License-Identifier: MIT
#include "base/base.h"

#include <string.h>

void base_lists_add(BaseLists* lists, uint32_t key, uint32_t value) {
  uint32_t at = lists->begin[key]++;
  if (lists->filling) lists->list[at] = value;
}

bool base_lists_make(BaseLists* lists, const SltAllocator* a, uint32_t key_count,
                     BaseListsVisit* visit, void* user) {
  base_lists_free(lists, a);
  *lists = (BaseLists){.key_count = key_count};
  lists->begin = base_alloc(a, base_mul_size((size_t)key_count + 1, sizeof *lists->begin));
  if (!lists->begin) return false;
  visit(lists, user);
  for (uint32_t key = 0; key <= key_count; key++) {
    uint32_t count = lists->begin[key];
    lists->begin[key] = lists->count;
    lists->count += count;
  }
  lists->list = base_alloc(a, base_mul_size((size_t)lists->count + 1, sizeof *lists->list));
  if (!lists->list) return false;
  lists->filling = true;
  visit(lists, user);
  // filling has moved every begin to the next one
  memmove(lists->begin + 1, lists->begin, key_count * sizeof *lists->begin);
  lists->begin[0] = 0;
  return true;
}

void base_lists_free(BaseLists* lists, const SltAllocator* a) {
  base_free(a, lists->begin, ((size_t)lists->key_count + 1) * sizeof *lists->begin);
  base_free(a, lists->list, ((size_t)lists->count + 1) * sizeof *lists->list);
  *lists = (BaseLists){0};
}
