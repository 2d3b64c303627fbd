// SPDX-License-Identifier: MIT
#include "base/base.h"

void base_sort_ascending(uint32_t* list, uint32_t count) {
  uint32_t gap = 1;
  while (gap < count / 3) {
    gap = 3 * gap + 1;
  }
  for (; gap > 0; gap /= 3) {
    for (uint32_t i = gap; i < count; i++) {
      uint32_t value = list[i];
      uint32_t at = i;
      for (; at >= gap && list[at - gap] > value; at -= gap) {
        list[at] = list[at - gap];
      }
      list[at] = value;
    }
  }
}

uint32_t base_find_sorted(const uint32_t* list, uint32_t count, uint32_t wanted) {
  uint32_t lo = 0;
  uint32_t hi = count;
  while (lo < hi) {
    uint32_t middle = lo + (hi - lo) / 2;
    if (list[middle] < wanted) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo < count && list[lo] == wanted ? lo : UINT32_MAX;
}
