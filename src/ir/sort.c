// SPDX-License-Identifier: MIT
//
// Sorting by sequences of words: sort by the first word, then every run of equal first words by the
// second, and so on. A million variables or equations are told apart by a word or two, so a longer
// key (the leaves of an implicit equation) is read only where it is needed.
#include "ir/internal.h"

#define SORT_INSERTION_MAX 24
#define SORT_RADIX_MIN     1024

static void insertion_sort(IrPair* pairs, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    IrPair pair = pairs[i];
    uint32_t at = i;
    for (; at > 0 && pairs[at - 1].key > pair.key; at--) {
      pairs[at] = pairs[at - 1];
    }
    pairs[at] = pair;
  }
}

/// Stable, bottom-up; `spare` has room for `count` pairs.
static void merge_sort(IrPair* pairs, IrPair* spare, uint32_t count) {
  for (uint32_t i = 0; i < count; i += SORT_INSERTION_MAX) {
    uint32_t left = count - i;
    insertion_sort(pairs + i, left < SORT_INSERTION_MAX ? left : SORT_INSERTION_MAX);
  }
  for (size_t width = SORT_INSERTION_MAX; width < count; width *= 2) {
    for (size_t low = 0; low < count; low += 2 * width) {
      size_t middle = low + width < count ? low + width : count;
      size_t high = low + 2 * width < count ? low + 2 * width : count;
      size_t a = low;
      size_t b = middle;
      for (size_t k = low; k < high; k++) {
        bool left = a < middle && (b == high || pairs[a].key <= pairs[b].key);
        spare[k] = left ? pairs[a++] : pairs[b++];
      }
    }
    memcpy(pairs, spare, count * sizeof *pairs);
  }
}

/// Stable, byte by byte from the lowest; bytes in which all keys agree are skipped.
static void radix_sort(IrPair* pairs, IrPair* spare, uint32_t count) {
  uint64_t varying = 0;
  for (uint32_t i = 1; i < count; i++) {
    varying |= pairs[i].key ^ pairs[0].key;
  }
  IrPair* from = pairs;
  IrPair* to = spare;
  for (uint32_t shift = 0; shift < 64; shift += 8) {
    if ((varying >> shift & 0xff) == 0) continue;
    uint32_t at[256] = {0};
    for (uint32_t i = 0; i < count; i++) {
      at[from[i].key >> shift & 0xff]++;
    }
    uint32_t sum = 0;
    for (uint32_t digit = 0; digit < 256; digit++) {
      uint32_t n = at[digit];
      at[digit] = sum;
      sum += n;
    }
    for (uint32_t i = 0; i < count; i++) {
      to[at[from[i].key >> shift & 0xff]++] = from[i];
    }
    IrPair* swap = from;
    from = to;
    to = swap;
  }
  if (from != pairs) memcpy(pairs, from, count * sizeof *pairs);
}

static void sort_pairs(IrPair* pairs, IrPair* spare, uint32_t count) {
  uint32_t sorted = 1;
  while (sorted < count && pairs[sorted - 1].key <= pairs[sorted].key) {
    sorted++;
  }
  if (sorted >= count) return;
  if (count <= SORT_INSERTION_MAX) {
    insertion_sort(pairs, count);
  } else if (count < SORT_RADIX_MIN) {
    merge_sort(pairs, spare, count);
  } else {
    radix_sort(pairs, spare, count);
  }
}

/// Room for `count` items.
static void sorter_fit(IrSorter* sorter, uint32_t count) {
  if (count > UINT32_MAX / 2) longjmp(*sorter->arena->on_oom, 1);
  sorter->pairs.count = 0;
  sorter->ended.count = 0;
  sorter->first.count = 0;
  base_vec_reserve(sorter->arena, &sorter->pairs, 2 * count);
  base_vec_reserve(sorter->arena, &sorter->ended, count);
  base_vec_reserve(sorter->arena, &sorter->first, count);
  if (count) memset(sorter->first.data, 0, count * sizeof *sorter->first.data);
  sorter->first.count = count;
}

/// Items with equal words: merge sort by comparison, stable.
static void sort_equal(IrSorter* sorter, uint32_t* items, uint32_t begin, uint32_t end,
                       IrCompareFn* compare, const void* context) {
  uint32_t count = end - begin;
  if (!compare || count < 2) return;
  uint32_t* list = items + begin;
  uint32_t* spare = sorter->ended.data;  // free between two ranges
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t low = 0; low < count; low += 2 * width) {
      size_t middle = low + width < count ? low + width : count;
      size_t high = low + 2 * width < count ? low + 2 * width : count;
      size_t a = low;
      size_t b = middle;
      for (size_t k = low; k < high; k++) {
        bool left = a < middle && (b == high || compare(context, list[a], list[b]) <= 0);
        spare[k] = left ? list[a++] : list[b++];
      }
    }
    memcpy(list, spare, count * sizeof *list);
  }
  for (uint32_t i = 1; i < count; i++) {
    if (compare(context, list[i - 1], list[i]) != 0) sorter->first.data[begin + i] = true;
  }
}

/// Sort one range by its word `range.depth`; push the runs that are still equal.
static void sort_range(IrSorter* sorter, uint32_t* items, struct IrSortRange range, IrWordFn* word,
                       IrCompareFn* compare, const void* context) {
  uint32_t count = 0;
  uint32_t ended = 0;
  IrPair* pairs = sorter->pairs.data;
  for (uint32_t i = range.begin; i < range.end; i++) {
    IrPair pair = {0, items[i]};
    if (word(context, items[i], range.depth, &pair.key)) {
      pairs[count++] = pair;
    } else {
      sorter->ended.data[ended++] = items[i];
    }
  }
  sort_pairs(pairs, pairs + sorter->pairs.capacity / 2, count);

  // a key that has ended comes before its continuations
  memcpy(items + range.begin, sorter->ended.data, ended * sizeof *items);
  uint32_t begin = range.begin + ended;
  sorter->first.data[range.begin] = true;
  if (count) sorter->first.data[begin] = true;
  uint32_t run = 0;
  for (uint32_t i = 0; i < count; i++) {
    items[begin + i] = pairs[i].item;
    bool last = i + 1 == count || pairs[i + 1].key != pairs[i].key;
    if (!last) continue;
    if (i > run) {
      struct IrSortRange rest = {begin + run, begin + i + 1, range.depth + 1};
      base_vec_push(sorter->arena, &sorter->stack, rest);
    }
    if (i + 1 < count) sorter->first.data[begin + i + 1] = true;
    run = i + 1;
  }
  sort_equal(sorter, items, range.begin, begin, compare, context);
}

void ir_sort(IrSorter* sorter, uint32_t* items, uint32_t count, IrWordFn* word,
             IrCompareFn* compare, const void* context) {
  sorter_fit(sorter, count);
  if (count == 0) return;
  sorter->stack.count = 0;
  base_vec_push(sorter->arena, &sorter->stack, (struct IrSortRange){0, count, 0});
  while (sorter->stack.count) {
    struct IrSortRange range = sorter->stack.data[--sorter->stack.count];
    sort_range(sorter, items, range, word, compare, context);
  }
}

void ir_sort_numbers(IrSorter* sorter, uint32_t* numbers, uint32_t count) {
  sorter_fit(sorter, count);
  IrPair* pairs = sorter->pairs.data;
  for (uint32_t i = 0; i < count; i++) {
    pairs[i] = (IrPair){numbers[i], numbers[i]};
  }
  sort_pairs(pairs, pairs + sorter->pairs.capacity / 2, count);
  for (uint32_t i = 0; i < count; i++) {
    numbers[i] = pairs[i].item;
  }
}
