// SPDX-License-Identifier: MIT
#include "ir/canonical.h"
#include "test.h"

typedef struct Keys {
  const Str* texts;
} Keys;

static bool text_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  Str text = ((const Keys*)context)->texts[item];
  if (depth >= text.length) return false;
  *word = (unsigned char)text.data[depth];
  return true;
}

static bool name_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  return canon_name_word(((const Keys*)context)->texts[item], depth, word);
}

static int name_compare(const void* context, uint32_t a, uint32_t b) {
  const Keys* keys = context;
  return str_compare_natural(keys->texts[a], keys->texts[b]);
}

static Str random_text(Arena* arena, uint64_t* seed, const char* letters, uint32_t longest) {
  uint32_t length = (uint32_t)(test_random(seed) % (longest + 1));
  char* data = arena_alloc(arena, (size_t)length + 1, 1);
  for (uint32_t i = 0; i < length; i++) {
    data[i] = letters[test_random(seed) % strlen(letters)];
  }
  return (Str){data, length};
}

static uint32_t* identity(Arena* arena, uint32_t count) {
  uint32_t* items = ARENA_ARRAY(arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    items[i] = i;
  }
  return items;
}

TEST(texts_are_sorted_stably) {
  TEST_ARENA(arena);
  uint64_t seed = 1;
  IrSorter sorter = {.arena = &arena};
  static const uint32_t counts[] = {0, 1, 2, 3, 23, 24, 25, 49, 200, 1023, 1024, 5000, 20000};
  for (size_t c = 0; c < SLT_COUNT(counts); c++) {
    uint32_t count = counts[c];
    Str* texts = ARENA_ARRAY(&arena, Str, count);
    for (uint32_t i = 0; i < count; i++) {
      texts[i] = random_text(&arena, &seed, "abc", c % 2 ? 4 : 9);
    }
    uint32_t* items = identity(&arena, count);
    ir_sort(&sorter, items, count, text_word, NULL, &(Keys){texts});
    for (uint32_t i = 1; i < count; i++) {
      int order = str_compare(texts[items[i - 1]], texts[items[i]]);
      CHECK(order < 0 || (order == 0 && items[i - 1] < items[i]), "stable order");
      CHECK(sorter.first.data[i] == (order != 0), "runs of equal ones");
    }
    CHECK(count == 0 || sorter.first.data[0], "the first begins a run");
  }
  arena_free(&arena);
}

static bool big_word(const void* context, uint32_t item, uint32_t depth, uint64_t* word) {
  const uint64_t* keys = context;
  if (depth > 0) return false;
  *word = keys[item];
  return true;
}

TEST(wide_words_are_sorted) {
  TEST_ARENA(arena);
  IrSorter sorter = {.arena = &arena};
  uint64_t seed = 2;
  static const uint32_t counts[] = {100, 3000};
  for (size_t c = 0; c < SLT_COUNT(counts); c++) {
    uint64_t* keys = ARENA_ARRAY(&arena, uint64_t, counts[c]);
    for (uint32_t i = 0; i < counts[c]; i++) {
      keys[i] = test_random(&seed);
    }
    uint32_t* items = identity(&arena, counts[c]);
    ir_sort(&sorter, items, counts[c], big_word, NULL, keys);
    for (uint32_t i = 1; i < counts[c]; i++) {
      CHECK(keys[items[i - 1]] < keys[items[i]], "order");
    }
  }
  uint32_t numbers[] = {7, 3, 3, 900000, 0};
  ir_sort_numbers(&sorter, numbers, SLT_COUNT(numbers));
  CHECK(numbers[0] == 0 && numbers[1] == 3 && numbers[2] == 3 && numbers[4] == 900000, "numbers");
  arena_free(&arena);
}

TEST(words_of_names_give_the_natural_order) {
  TEST_ARENA(arena);
  IrSorter sorter = {.arena = &arena};
  uint64_t seed = 3;
  enum { COUNT = 3000 };
  static const char* const alphabets[] = {"x_0129", "0123456789", "aZ_.05\xd0\xb0", "01"};
  static const uint32_t lengths[] = {8, 12, 14, 60};
  for (size_t c = 0; c < SLT_COUNT(alphabets); c++) {
    Str* texts = ARENA_ARRAY(&arena, Str, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
      texts[i] = random_text(&arena, &seed, alphabets[c], lengths[c]);
    }
    uint32_t* items = identity(&arena, COUNT);
    ir_sort(&sorter, items, COUNT, name_word, name_compare, &(Keys){texts});
    for (uint32_t i = 1; i < COUNT; i++) {
      int order = str_compare_natural(texts[items[i - 1]], texts[items[i]]);
      CHECK(order < 0 || (order == 0 && items[i - 1] < items[i]), "order");
      CHECK(sorter.first.data[i] == (order != 0), "runs");
    }
  }
  arena_free(&arena);
}

TEST(long_numbers_in_names) {
  TEST_ARENA(arena);
  IrSorter sorter = {.arena = &arena};
  // 254, 255, 256 and 1000 digits, with and without zeros in front
  static const uint32_t digits[] = {1000, 256, 255, 254, 1};
  Str texts[10];
  for (uint32_t i = 0; i < 10; i++) {
    TextBuffer text = {.arena = &arena};
    text_append_c(&text, i < 5 ? "x" : "x00");
    for (uint32_t k = 0; k < digits[i % 5]; k++) {
      text_append_char(&text, '7');
    }
    texts[i] = text_str(&text);
  }
  uint32_t* items = identity(&arena, 10);
  ir_sort(&sorter, items, 10, name_word, name_compare, &(Keys){texts});
  for (uint32_t i = 1; i < 10; i++) {
    CHECK(str_compare_natural(texts[items[i - 1]], texts[items[i]]) < 0, "order");
  }
  arena_free(&arena);
}
