// SPDX-License-Identifier: MIT
//
// A binary heap of what waits for its time.
#include "base/base.h"

static bool comes_first(BaseDue a, BaseDue b) {
  return a.t < b.t || (a.t == b.t && a.id < b.id);
}

void base_due_add(BaseDue* heap, uint32_t* count, double t, uint32_t id) {
  BaseDue due = {t, id};
  uint32_t at = (*count)++;
  for (; at > 0 && comes_first(due, heap[(at - 1) / 2]); at = (at - 1) / 2) {
    heap[at] = heap[(at - 1) / 2];
  }
  heap[at] = due;
}

void base_due_drop(BaseDue* heap, uint32_t* count) {
  BaseDue last = heap[--*count];
  uint32_t at = 0;
  for (uint32_t child = 1; child < *count; child = 2 * at + 1) {
    if (child + 1 < *count && comes_first(heap[child + 1], heap[child])) child++;
    if (!comes_first(heap[child], last)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = last;
}
