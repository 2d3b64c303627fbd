// SPDX-License-Identifier: MIT
#include "base/library.h"
#include "test.h"

#include <math.h>

// A code beyond the list is shown as E0000; goldens use it so that they do not depend on the list.
#define ANY_ERROR DIAG_CODE_COUNT

TEST(numbers_in_order) {
  uint32_t list[200];
  uint64_t state = 1;
  for (uint32_t count = 0; count <= SLT_COUNT(list); count++) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      list[i] = (uint32_t)(state >> 40) % (count + 1);
      sum += (uint64_t)list[i] * list[i];
    }
    base_sort_ascending(list, count);
    for (uint32_t i = 0; i < count; i++) {
      CHECK(i == 0 || list[i - 1] <= list[i], "ascending");
      sum -= (uint64_t)list[i] * list[i];
    }
    CHECK(sum == 0, "the same numbers");
    for (uint32_t i = 0; i < count; i++) {
      uint32_t place = base_find_sorted(list, count, list[i]);
      CHECK(place < count && list[place] == list[i], "found");
    }
    CHECK(base_find_sorted(list, count, count + 1) == UINT32_MAX, "not there");
  }
}

// Values of digamma, trigamma and on; the recurrence and the duplication of the argument hold.
TEST(polygamma_has_its_values) {
  static const struct {
    const char* name;
    double n, x, value;
  } cases[] = {
      {"-Euler's constant", 0.0, 1.0, -0.57721566490153286},
      {"half", 0.0, 0.5, -1.9635100260214235},
      {"left of zero", 0.0, -0.5, 0.036489973978576520},
      {"far right", 0.0, 1e6, 13.815510057964191},
      {"pi^2/6", 1.0, 1.0, 1.6449340668482264},
      {"trigamma left of zero", 1.0, -0.5, 8.9348022005446793},
      {"-2 zeta(3)", 2.0, 1.0, -2.4041138063191886},
      {"pi^4/15", 3.0, 1.0, 6.4939394022668291},
  };
  FOR_CASES(c, cases) {
    double got = base_polygamma(c->n, c->x);
    CHECK(fabs(got - c->value) <= 1e-14 * (1.0 + fabs(c->value)), c->name);
  }
  for (double x = 0.1; x < 30.0; x += 0.37) {
    double doubled = 0.5 * (base_polygamma(0, x) + base_polygamma(0, x + 0.5)) + log(2.0);
    CHECK(fabs(base_polygamma(0, 2 * x) - doubled) <= 1e-13 * (1.0 + fabs(doubled)), "doubled");
  }
  CHECK(isnan(base_polygamma(0.0, -3.0)), "a pole");
  CHECK(isnan(base_polygamma(0.5, 1.0)) && isnan(base_polygamma(1e300, 1.0)), "no such order");
}

TEST(status_texts) {
  CHECK(strcmp(slt_status_text(SLT_OK), "ok") == 0, "ok");
  CHECK(strcmp(slt_status_text(SLT_ERR_NOMEM), "out of memory") == 0, "nomem");
  CHECK(slt_status_text((SltStatus)12345) != NULL, "unknown");
  CHECK(strcmp(slt_version(), SLT_VERSION) == 0, "version");
}

TEST(sizes_saturate) {
  CHECK(base_mul_size(0, SIZE_MAX) == 0, "zero");
  CHECK(base_mul_size(SIZE_MAX, 0) == 0, "zero");
  CHECK(base_mul_size(3, 5) == 15, "small");
  CHECK(base_mul_size(SIZE_MAX / 2, 2) == SIZE_MAX - 1, "fits");
  CHECK(base_mul_size(SIZE_MAX / 2 + 1, 2) == SIZE_MAX, "overflow");
  CHECK(base_mul_size(SIZE_MAX, SIZE_MAX) == SIZE_MAX, "overflow");
  CHECK(base_add_size(1, 2) == 3, "small");
  CHECK(base_add_size(SIZE_MAX, 1) == SIZE_MAX, "overflow");
  CHECK(base_add_size(SIZE_MAX, SIZE_MAX) == SIZE_MAX, "overflow");
}

TEST(allocator_zeroes_and_balances) {
  TestAllocator counts = {0};
  SltAllocator given = test_allocator(&counts);
  SltAllocator a = base_allocator(&given);

  unsigned char* block = base_alloc(&a, 100);
  assert_non_null(block);
  for (int i = 0; i < 100; i++) {
    CHECK(block[i] == 0, "zeroed");
  }
  memset(block, 1, 100);
  block = base_realloc(&a, block, 100, 200);
  assert_non_null(block);
  CHECK(block[99] == 1 && block[100] == 0 && block[199] == 0, "tail zeroed");
  CHECK(counts.live_bytes == 200 && counts.live_blocks == 1, "counted");
  base_free(&a, block, 200);
  base_free(&a, NULL, 0);

  void* empty = base_alloc(&a, 0);
  CHECK(empty != NULL, "empty block");
  empty = base_realloc(&a, empty, 0, 0);
  CHECK(empty != NULL, "empty block again");
  base_free(&a, empty, 0);
  CHECK(counts.live_bytes == 0 && counts.live_blocks == 0, "balanced");

  CHECK(base_alloc(&a, SIZE_MAX) == NULL, "impossible size");
  counts.fail_at = counts.requests + 1;
  CHECK(base_alloc(&a, 1) == NULL, "failing allocator");
}

TEST(owner_gives_back_everything) {
  TestAllocator counts = {0};
  BaseOwner owner = {.inner = test_allocator(&counts)};
  SltAllocator a = base_owner_allocator(&owner);
  unsigned char* blocks[5];
  for (int i = 0; i < 5; i++) {
    blocks[i] = base_alloc(&a, 10);
    assert_non_null(blocks[i]);
    CHECK(blocks[i][0] == 0 && blocks[i][9] == 0, "zeroed");
    memset(blocks[i], i + 1, 10);
  }
  blocks[2] = base_realloc(&a, blocks[2], 10, 5000);
  assert_non_null(blocks[2]);
  CHECK(blocks[2][9] == 3 && blocks[2][10] == 0 && blocks[2][4999] == 0, "tail zeroed");
  base_free(&a, blocks[0], 10);
  base_free(&a, blocks[4], 10);
  base_free(&a, blocks[1], 10);
  CHECK(counts.live_blocks == 2 && blocks[3][5] == 4, "the others stay");
  counts.fail_at = counts.requests + 1;
  CHECK(base_realloc(&a, blocks[3], 10, 100) == NULL && blocks[3][5] == 4, "kept on failure");
  base_owner_free(&owner);
  CHECK(counts.live_bytes == 0 && counts.live_blocks == 0 && !owner.first, "balanced");
  base_owner_free(&owner);
}

TEST(default_allocator) {
  SltAllocator a = base_allocator(NULL);
  void* block = base_alloc(&a, 10);
  CHECK(block != NULL, "libc");
  base_free(&a, block, 10);
  SltAllocator none = {0};
  CHECK(base_allocator(&none).realloc_fn == a.realloc_fn, "filled in");
}

TEST(arena_blocks_are_zeroed_aligned_and_apart) {
  TEST_ARENA(arena);
  unsigned char* blocks[2000];
  size_t sizes[2000];
  uint64_t random = 1;
  for (size_t i = 0; i < SLT_COUNT(blocks); i++) {
    size_t align = (size_t)1 << test_random(&random) % 9;
    sizes[i] = test_random(&random) % (i % 50 == 0 ? 50000 : 300);
    blocks[i] = arena_alloc(&arena, sizes[i], align);
    CHECK((uintptr_t)blocks[i] % align == 0, "aligned");
    for (size_t k = 0; k < sizes[i]; k++) {
      CHECK(blocks[i][k] == 0, "zeroed");
    }
    memset(blocks[i], (int)(i % 251) + 1, sizes[i]);
  }
  for (size_t i = 0; i < SLT_COUNT(blocks); i++) {
    for (size_t k = 0; k < sizes[i]; k++) {
      CHECK(blocks[i][k] == i % 251 + 1, "apart");
    }
  }
  arena_free(&arena);
  CHECK(arena.head == NULL && arena.total == 0, "empty again");
  CHECK(arena_alloc(&arena, 1, 1) != NULL, "usable again");
  arena_free(&arena);
  arena_free(&arena);
}

TEST(arena_grow_keeps_contents) {
  TestAllocator counts = {0};
  SltAllocator allocator = test_allocator(&counts);
  Arena arena;
  arena_init(&arena, &allocator, &test_oom);

  // three blocks that grow in turn, from nothing to megabytes
  unsigned char* blocks[3] = {0};
  size_t sizes[3] = {0};
  for (unsigned round = 0; round < 60; round++) {
    unsigned which = round % 3;
    size_t size = sizes[which] * 2 + which;
    blocks[which] = arena_grow(&arena, blocks[which], sizes[which], size, 8);
    for (size_t k = 0; k < sizes[which]; k++) {
      CHECK(blocks[which][k] == which + 1, "kept");
    }
    for (size_t k = sizes[which]; k < size; k++) {
      CHECK(blocks[which][k] == 0, "tail zeroed");
    }
    memset(blocks[which], (int)which + 1, size);
    sizes[which] = size;
    arena_alloc(&arena, 10, 1);
  }
  CHECK(arena_grow(&arena, blocks[1], sizes[1], 1, 8) == blocks[1], "never shrinks");
  CHECK(arena.total == counts.live_bytes, "total is what was taken");
  arena_free(&arena);
  CHECK(counts.live_blocks == 0 && counts.live_bytes == 0, "all given back");
}

TEST(arena_newest_block_grows_in_place) {
  TEST_ARENA(arena);
  char* block = arena_alloc(&arena, 100, 8);
  CHECK(arena_grow(&arena, block, 100, 1000, 8) == block, "in place");
  arena_alloc(&arena, 1, 1);
  CHECK(arena_grow(&arena, block, 1000, 2000, 8) != block, "moved");
  arena_free(&arena);
}

TEST(arena_empty_blocks_have_addresses) {
  TEST_ARENA(arena);
  char* a = arena_alloc(&arena, 0, 1);
  char* b = arena_alloc(&arena, 0, 1);
  CHECK(a != b, "different");
  a = arena_grow(&arena, a, 0, 8, 1);
  b = arena_grow(&arena, b, 0, 8, 1);
  CHECK(a + 8 <= b || b + 8 <= a, "apart");
  arena_free(&arena);
}

/// Work that touches every kind of allocation.
static void busy_work(Arena* arena, size_t unused) {
  (void)unused;
  NameTable names;
  names_init(&names, arena);
  for (uint32_t i = 0; i < 3000; i++) {
    names_intern(&names, str_format(arena, "name_%u", i));
  }
  TextBuffer text = {.arena = arena};
  for (uint32_t i = 0; i < 20000; i++) {
    text_append_format(&text, "%u,", i);
  }
  CHECK(names.names.count == 3001 && text_str(&text).length > 0, "work done");
}

/// Run `work` with an arena; false when it left through the jump.
static bool completes(TestAllocator* counts, void (*work)(Arena*, size_t), size_t argument) {
  SltAllocator allocator = test_allocator(counts);
  jmp_buf oom;
  Arena arena;
  arena_init(&arena, &allocator, &oom);
  if (setjmp(oom)) {
    arena_free(&arena);
    return false;
  }
  work(&arena, argument);
  arena_free(&arena);
  return true;
}

// Out of memory at any request leaves through the jump, and nothing is lost.
TEST(arena_survives_every_failing_allocation) {
  bool done = false;
  size_t n = 0;
  while (!done) {
    TestAllocator counts = {.fail_at = ++n};
    done = completes(&counts, busy_work, 0);
    CHECK(counts.live_blocks == 0 && counts.live_bytes == 0, "nothing lost");
    assert_true(n < 1000);
  }
  CHECK(n > 5, "allocations did fail");
}

static void take_bytes(Arena* arena, size_t size) {
  arena_alloc(arena, size, 16);
}

static void reserve_elements(Arena* arena, size_t count) {
  BASE_VEC(uint32_t) v = {0};
  base_vec_push(arena, &v, 1u);
  base_vec_reserve(arena, &v, (uint32_t)count);
}

TEST(arena_refuses_impossible_sizes) {
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 8, SIZE_MAX / 2, (size_t)PTRDIFF_MAX + 1};
  TestAllocator counts = {0};
  for (size_t i = 0; i < SLT_COUNT(sizes); i++) {
    CHECK(!completes(&counts, take_bytes, sizes[i]), "too many bytes");
  }
  CHECK(!completes(&counts, reserve_elements, UINT32_MAX), "count does not fit");
  CHECK(completes(&counts, reserve_elements, 1000), "a usual count");
  CHECK(counts.live_bytes == 0, "balanced");
}

TEST(vec_grows) {
  TEST_ARENA(arena);
  BASE_VEC(double) numbers = {0};
  BASE_VEC(Span) spans = {0};
  for (uint32_t i = 0; i < 100000; i++) {
    base_vec_push(&arena, &numbers, (double)i);
    base_vec_push(&arena, &spans, (Span){i, i + 1});
  }
  CHECK(numbers.count == 100000 && spans.count == 100000, "count");
  for (uint32_t i = 0; i < numbers.count; i++) {
    CHECK(numbers.data[i] == (double)i, "numbers");
    CHECK(spans.data[i].begin == i && spans.data[i].end == i + 1, "spans");
  }
  base_vec_reserve(&arena, &numbers, 1000000);
  CHECK(numbers.capacity - numbers.count >= 1000000, "reserved");
  uint32_t capacity = numbers.capacity;
  base_vec_reserve(&arena, &numbers, 0);
  CHECK(numbers.capacity == capacity, "nothing to do");
  arena_free(&arena);
}

TEST(str_basics) {
  TEST_ARENA(arena);
  Str null = {NULL, 0};
  CHECK(str_from_c(NULL).length == 0, "null");
  CHECK(str_equal(null, STR_LIT("")), "empty");
  CHECK(!str_equal(null, STR_LIT("a")), "empty");
  CHECK(str_equal(STR_LIT("ab"), str_from_c("ab")), "equal");
  CHECK(str_compare(null, null) == 0, "empty");
  CHECK(str_compare(STR_LIT("a"), STR_LIT("ab")) < 0, "prefix first");
  CHECK(str_compare(STR_LIT("b"), STR_LIT("ab")) > 0, "bytes");
  CHECK(str_compare(STR_LIT("\xc3\xa9"), STR_LIT("z")) > 0, "bytes are unsigned");

  Str copy = str_copy(&arena, STR_LIT("hello"));
  CHECK(str_equal(copy, STR_LIT("hello")) && copy.data[5] == '\0', "copy");
  copy = str_copy(&arena, null);
  CHECK(copy.length == 0 && copy.data && copy.data[0] == '\0', "empty copy");

  Span joined = span_join((Span){5, 9}, (Span){2, 6});
  CHECK(joined.begin == 2 && joined.end == 9, "join");
  arena_free(&arena);
}

TEST(str_natural_order) {
  // strictly increasing
  static const char* const sorted[] = {"",
                                       "01",
                                       "1",
                                       "2",
                                       "10",
                                       "a",
                                       "a01",
                                       "a1",
                                       "a1b",
                                       "a2",
                                       "a10",
                                       "a10b2",
                                       "a10b10",
                                       "b",
                                       "x[1,2]",
                                       "x[1,10]",
                                       "x[2,1]",
                                       "x_9",
                                       "x_10",
                                       "x_99999999999999999999",
                                       "x_100000000000000000000",
                                       "xa"};
  for (size_t i = 0; i < SLT_COUNT(sorted); i++) {
    for (size_t k = 0; k < SLT_COUNT(sorted); k++) {
      int order = str_compare_natural(str_from_c(sorted[i]), str_from_c(sorted[k]));
      int want = (i > k) - (i < k);
      bool right = (order > 0) - (order < 0) == want;
      if (!right) print_error("'%s' and '%s': %d\n", sorted[i], sorted[k], order);
      CHECK(right, "order");
    }
  }
}

TEST(str_format_and_buffer) {
  TEST_ARENA(arena);
  Str s = str_format(&arena, "%s %.*s %u %d %c %zu%%", "a", STR_ARGS(STR_LIT("bcd")), 7u, -3, 'x',
                     (size_t)12);
  CHECK_STR(s, "a bcd 7 -3 x 12%", "format");
  CHECK(s.data[s.length] == '\0', "terminated");
  Str empty = names_get(&(NameTable){0}, 0);
  CHECK_STR(str_format(&arena, "%.*s|", STR_ARGS(empty)), "|", "empty argument");

  // longer than any first guess
  Str wide = str_format(&arena, "%5000d", 1);
  CHECK(wide.length == 5000 && wide.data[4999] == '1' && wide.data[5000] == '\0', "long");

  TextBuffer buffer = {.arena = &arena};
  CHECK_STR(text_str(&buffer), "", "empty");
  text_append_c(&buffer, "x = ");
  text_append_double(&buffer, 0.1);
  text_append_char(&buffer, ',');
  text_append(&buffer, STR_LIT(" y"));
  text_append(&buffer, (Str){NULL, 0});
  text_append_format(&buffer, " %u", 5u);
  CHECK_STR(text_str(&buffer), "x = 0.1, y 5", "buffer");
  text_append_format(&buffer, "%3000s", "");
  Str all = text_str(&buffer);
  CHECK(all.length == 3012 && all.data[3012] == '\0', "long format");
  arena_free(&arena);
}

TEST(str_edit_distance) {
  static const struct {
    const char* a;
    const char* b;
    uint32_t limit;
    uint32_t want;
  } cases[] = {
      {"", "", 3, 0},
      {"abc", "abc", 0, 0},
      {"abc", "abd", 3, 1},
      {"abc", "ab", 3, 1},
      {"abc", "acb", 3, 1},
      {"abcd", "badc", 3, 2},
      {"velocity", "velocty", 3, 1},
      {"kitten", "sitting", 9, 3},
      {"kitten", "sitting", 2, 3},
      {"", "abcdef", 3, 4},
      {"скорость", "скорсоть", 3, 1},
      {"ё", "е", 3, 1},
      {"abc", "xyz", UINT32_MAX, 3},
  };
  FOR_CASES(c, cases) {
    CHECK(str_distance(str_from_c(c->a), str_from_c(c->b), c->limit) == c->want, c->a);
    CHECK(str_distance(str_from_c(c->b), str_from_c(c->a), c->limit) == c->want, c->b);
  }
  char text[400];
  memset(text, 'a', sizeof text);
  Str whole = {text, sizeof text};
  Str part = {text, sizeof text - 1};
  CHECK(str_distance(whole, part, 3) == 4, "too long to compare");
  CHECK(str_distance(whole, whole, 3) == 0, "long but equal");
}

TEST(utf8_sequences) {
  static const struct {
    const char* name;
    const char* text;
    uint32_t size;
    uint32_t code;
  } cases[] = {
      {"empty", "", 0, 0},
      {"ascii", "a", 1, 'a'},
      {"two", "\xc3\xa9", 2, 0xe9},
      {"three", "\xe2\x82\xac", 3, 0x20ac},
      {"four", "\xf0\x9f\x98\x80", 4, 0x1f600},
      {"last", "\xf4\x8f\xbf\xbf", 4, 0x10ffff},
      {"beyond", "\xf4\x90\x80\x80", 0, 0},
      {"surrogate", "\xed\xa0\x80", 0, 0},
      {"overlong 2", "\xc0\xaf", 0, 0},
      {"overlong 3", "\xe0\x80\xaf", 0, 0},
      {"overlong 4", "\xf0\x80\x80\xaf", 0, 0},
      {"continuation", "\x80", 0, 0},
      {"cut", "\xe2\x82", 0, 0},
      {"wrong tail", "\xe2\x28\xa1", 0, 0},
      {"never", "\xff", 0, 0},
  };
  FOR_CASES(c, cases) {
    uint32_t code = 0;
    CHECK(utf8_decode(c->text, strlen(c->text), &code) == c->size, c->name);
    CHECK(code == c->code, c->name);
    CHECK(utf8_decode(c->text, strlen(c->text), NULL) == c->size, c->name);
  }
  CHECK(utf8_count(STR_LIT("")) == 0, "empty");
  CHECK(utf8_count(STR_LIT("a\xc3\xa9\xff\xe2\x82\xac")) == 4, "an invalid byte is one");
}

TEST(utf8_every_code_point) {
  for (uint32_t code = 0x80; code <= 0x10ffff; code++) {
    char text[4];
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    uint32_t rest = code;
    for (size_t i = size - 1; i > 0; i--, rest >>= 6) {
      text[i] = (char)(0x80 | (rest & 0x3f));
    }
    text[0] = (char)(lead[size] | rest);
    uint32_t got = 0;
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    uint32_t length = utf8_decode(text, size, &got);
    CHECK(surrogate ? length == 0 : (length == size && got == code), "code point");
  }
}

TEST(hashes) {
  CHECK(hash_bytes("abc", 3, 0) == hash_bytes("abc", 3, 0), "same");
  CHECK(hash_bytes("abc", 3, 0) != hash_bytes("abc", 3, 1), "seed");
  CHECK(hash_bytes("abc", 3, 0) != hash_bytes("abd", 3, 0), "text");
  CHECK(hash_bytes("", 0, 0) != hash_bytes("\0", 1, 0), "length");
  CHECK(hash_bytes(NULL, 0, 0) == hash_bytes("", 0, 0), "null");
  CHECK(hash_mix(1, 2) != hash_mix(2, 1), "order");
  CHECK(hash_mix(0, 0) != 0, "zero");

  // the low bits, which tables use, are spread: 2^16 sequential keys in 2^16 slots
  static uint8_t seen[65536];
  memset(seen, 0, sizeof seen);
  uint32_t used = 0;
  for (uint64_t i = 0; i < 65536; i++) {
    uint32_t slot = (uint32_t)(hash_mix(i, 0) & 65535);
    used += !seen[slot];
    seen[slot] = 1;
  }
  CHECK(used > 40000 && used < 43000, "random filling leaves 1/e empty");
}

TEST(names_intern_and_find) {
  TEST_ARENA(arena);
  NameTable names;
  names_init(&names, &arena);
  CHECK(names_intern(&names, STR_LIT("")) == 0, "no name");
  CHECK(names_find(&names, STR_LIT("x")) == 0, "unknown");
  CHECK(names_get(&names, 0).length == 0, "id 0");
  CHECK(names_get(&names, 99).length == 0, "unknown id");

  char text[32];
  for (uint32_t i = 0; i < 100000; i++) {
    snprintf(text, sizeof text, "x_%u", i);
    CHECK(names_intern(&names, str_from_c(text)) == i + 1, text);
  }
  for (uint32_t i = 0; i < 100000; i++) {
    snprintf(text, sizeof text, "x_%u", i);
    CHECK(names_intern(&names, str_from_c(text)) == i + 1, text);
    CHECK(names_find(&names, str_from_c(text)) == i + 1, text);
    CHECK_STR(names_get(&names, i + 1), text, text);
  }
  CHECK(names_find(&names, STR_LIT("x_100000")) == 0, "unknown");
  CHECK(names.names.count == 100001, "count");
  arena_free(&arena);
}

TEST(source_places) {
  TEST_ARENA(arena);
  Source source;
  source_init(&source, &arena, STR_LIT("m"), STR_LIT("ab\r\n\xc3\xa9x\n\nlast"));
  static const struct {
    uint32_t offset, line, column;
  } cases[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3},  {4, 2, 1},  {6, 2, 2}, {7, 2, 3},
               {8, 3, 1}, {9, 4, 1}, {12, 4, 4}, {13, 4, 5}, {99, 4, 5}};
  FOR_CASES(c, cases) {
    uint32_t line = 0;
    uint32_t column = 0;
    source_place(&source, c->offset, &line, &column);
    CHECK(line == c->line && column == c->column, "place");
  }
  CHECK_STR(source_line(&source, 1), "ab", "crlf");
  CHECK_STR(source_line(&source, 2), "\xc3\xa9x", "lf");
  CHECK_STR(source_line(&source, 3), "", "empty");
  CHECK_STR(source_line(&source, 4), "last", "no end of line");
  CHECK_STR(source_line(&source, 0), "", "no such line");
  CHECK_STR(source_line(&source, 5), "", "no such line");

  Source empty;
  source_init(&empty, &arena, STR_LIT("m"), (Str){NULL, 0});
  uint32_t line = 0;
  uint32_t column = 0;
  source_place(&empty, 5, &line, &column);
  CHECK(line == 1 && column == 1 && empty.line_count == 1, "empty text");
  arena_free(&arena);
}

TEST(diag_codes_are_consistent) {
  uint32_t count = DIAG_CODE_COUNT;
  for (uint32_t i = 0; i < count; i++) {
    const char* text = diag_code_text((DiagCode)i);
    char letter = diag_code_severity((DiagCode)i) == SLT_ERROR ? 'E' : 'W';
    CHECK(strlen(text) == 5 && strspn(text + 1, "0123456789") == 4, text);
    CHECK(text[0] == letter, text);
    const char* name = diag_code_name((DiagCode)i);
    CHECK(name[0] == letter && name[1] == '_', text);
    CHECK(diag_code_title((DiagCode)i)[0] != '\0', text);
    for (uint32_t k = 0; k < i; k++) {
      CHECK(strcmp(text, diag_code_text((DiagCode)k)) != 0, text);
      CHECK(strcmp(name, diag_code_name((DiagCode)k)) != 0, text);
    }
  }
  CHECK(strcmp(diag_code_text(ANY_ERROR), "E0000") == 0, "beyond the list");
}

TEST(diag_list_is_capped) {
  TEST_ARENA(arena);
  Source source;
  source_init(&source, &arena, STR_LIT("m"), STR_LIT("text"));
  DiagList list;
  diag_init(&list, &arena, &source);
  for (uint32_t i = 0; i < 1000; i++) {
    Diag* diag = diag_add(&list, ANY_ERROR, (Span){i % 4, i % 4}, "message %u", i);
    diag_hint(&list, diag, "hint %u", i);
    diag_note(&list, diag, (Span){0, 1}, "note %u", i);
  }
  CHECK(list.error_count == 1000 && list.warning_count == 0, "all are counted");
  CHECK(list.items.count == DIAG_LIMIT, "the limit is kept");
  CHECK_STR(list.items.data[99].message, "message 99", "last message");
  CHECK_STR(list.items.data[99].hint, "hint 99", "last hint");
  CHECK(list.items.data[99].notes.count == 1, "last note");

  diag_sort(&list);
  for (uint32_t i = 1; i < list.items.count; i++) {
    const Diag* before = &list.items.data[i - 1];
    const Diag* after = &list.items.data[i];
    CHECK(before->span.begin <= after->span.begin, "sorted");
    // "message 9" and "message 13" are in the order they came
    bool stable = before->span.begin < after->span.begin ||
                  str_compare_natural(before->message, after->message) < 0;
    CHECK(stable, "stable");
  }
  arena_free(&arena);
}

static Str render_one(Arena* arena, const char* text, Span span, bool colour) {
  Source* source = ARENA_NEW(arena, Source);
  source_init(source, arena, STR_LIT("ball.lisma"), str_from_c(text));
  DiagList list;
  diag_init(&list, arena, source);
  diag_add(&list, ANY_ERROR, span, "unknown name 'vv'");
  return diag_render(arena, source, &list.items.data[0], colour);
}

TEST(diag_render_goldens) {
  static const struct {
    const char* name;
    const char* text;
    Span span;
    const char* want;
  } cases[] = {
      {"middle",
       "v = 1;\n\ny' = vv;\n",
       {13, 15},
       "ball.lisma:3:6: error[E0000]: unknown name 'vv'\n"
       "    3 | y' = vv;\n"
       "      |      ^^\n"},
      {"empty span",
       "y' = vv;",
       {7, 7},
       "ball.lisma:1:8: error[E0000]: unknown name 'vv'\n"
       "    1 | y' = vv;\n"
       "      |        ^\n"},
      {"end of file",
       "y' = vv;\n",
       {9, 9},
       "ball.lisma:2:1: error[E0000]: unknown name 'vv'\n"
       "    2 |\n"
       "      | ^\n"},
      {"beyond the end",
       "vv",
       {50, 60},
       "ball.lisma:1:3: error[E0000]: unknown name 'vv'\n"
       "    1 | vv\n"
       "      |   ^\n"},
      {"several lines",
       "a = (b\n+ c\n);\n",
       {4, 13},
       "ball.lisma:1:5: error[E0000]: unknown name 'vv'\n"
       "    1 | a = (b\n"
       "      |     ^^\n"},
      {"tab",
       "\ty' =\tvv;",
       {6, 8},
       "ball.lisma:1:7: error[E0000]: unknown name 'vv'\n"
       "    1 |  y' = vv;\n"
       "      |       ^^\n"},
      {"control characters",
       "a\033[31m\x7f\x01 vv\xff\xe2\x80\xae;",
       {9, 11},
       "ball.lisma:1:10: error[E0000]: unknown name 'vv'\n"
       "    1 | a?[31m?? vv??;\n"
       "      |          ^^\n"},
      {"other scripts",
       "скорость = vv;",
       {19, 21},
       "ball.lisma:1:12: error[E0000]: unknown name 'vv'\n"
       "    1 | скорость = vv;\n"
       "      |            ^^\n"},
      {"crlf",
       "a;\r\nvv;\r\n",
       {4, 8},
       "ball.lisma:2:1: error[E0000]: unknown name 'vv'\n"
       "    2 | vv;\n"
       "      | ^^^\n"},
      {"file level", "", {0, 0}, "ball.lisma: error[E0000]: unknown name 'vv'\n"},
  };
  TEST_ARENA(arena);
  FOR_CASES(c, cases) {
    CHECK_STR(render_one(&arena, c->text, c->span, false), c->want, c->name);
  }
  CHECK_STR(render_one(&arena, "vv", (Span){0, 2}, true),
            "\033[1mball.lisma:1:1:\033[0m \033[1;31merror[E0000]\033[0m: "
            "\033[1munknown name 'vv'\033[0m\n"
            "\033[1;36m    1 |\033[0m vv\n"
            "\033[1;36m      |\033[0m \033[1;31m^^\033[0m\n",
            "colour");
  arena_free(&arena);
}

TEST(diag_render_hint_and_notes) {
  TEST_ARENA(arena);
  Source source;
  source_init(&source, &arena, STR_LIT("ball.lisma"), STR_LIT("v = 1;\ny' = vv;\n"));
  DiagList list;
  diag_init(&list, &arena, &source);
  Diag* diag = diag_add(&list, ANY_ERROR, (Span){12, 14}, "unknown name '%s'", "v\tv\033[1m");
  diag_hint(&list, diag, "did you mean '%s'?", "v");
  diag_note(&list, diag, (Span){0, 1}, "'v' is declared here");
  CHECK_STR(diag_render(&arena, &source, diag, false),
            "ball.lisma:2:6: error[E0000]: unknown name 'v v?[1m'\n"
            "    2 | y' = vv;\n"
            "      |      ^^\n"
            "  = hint: did you mean 'v'?\n"
            "  ball.lisma:1:1: note: 'v' is declared here\n"
            "    1 | v = 1;\n"
            "      | ^\n",
            "hint and note");
  CHECK_STR(diag_render(&arena, NULL, diag, false),
            "error[E0000]: unknown name 'v v?[1m'\n"
            "  = hint: did you mean 'v'?\n"
            "  note: 'v' is declared here\n",
            "no source");
  arena_free(&arena);
}

// Long lines show a window with the start of the span in it, whatever the place.
TEST(diag_render_cuts_long_lines) {
  TEST_ARENA(arena);
  char text[2001];
  for (uint32_t at = 0; at < 2000; at += 37) {
    for (uint32_t length = 0; length < 2000; length = 3 * length + 1) {
      memset(text, 'a', 2000);
      text[2000] = '\0';
      uint32_t end = at + length < 2000 ? at + length : 2000;
      memset(text + at, 'B', end - at);
      Str out = render_one(&arena, text, (Span){at, end}, false);

      const char* line = strchr(out.data, '\n') + 1;
      const char* carets = strchr(line, '\n') + 1;
      Str shown = {line + 8, (uint32_t)(carets - line) - 9};
      CHECK(utf8_count(shown) <= 162, "line is cut");
      bool cut_left = memcmp(shown.data, "…", strlen("…")) == 0;
      size_t indent = strcspn(carets, "^");
      size_t under = strspn(carets + indent, "^");
      CHECK(under > 0 && indent + under <= 8 + 162, "carets are short");
      size_t place = indent - 8 + (cut_left ? strlen("…") - 1 : 0);
      for (size_t k = 0; length > 0 && k < under; k++) {
        CHECK(shown.data[place + k] == 'B', "carets are under the span");
      }
    }
  }
  arena_free(&arena);
}

// Functions and variables are found by name; a file or a name that is not there is no crash.
TEST(library_load_finds_what_is_there) {
  struct {
    double (*cosine)(double);
    int* sign;
  } maths = {NULL, NULL};
  static const char* const names[] = {"cos", "signgam"};
  CHECK(library_load("libm.so.6", names, SLT_COUNT(names), &maths), "libm");
  CHECK(maths.cosine(0.0) == 1.0 && maths.sign, "both found");
  static const char* const wrong[] = {"cos", "no_such_function"};
  CHECK(!library_load("libm.so.6", wrong, SLT_COUNT(wrong), &maths), "a name");
  CHECK(!library_load("libnot_there.so.0", names, SLT_COUNT(names), &maths), "a file");
}
