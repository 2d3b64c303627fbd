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
