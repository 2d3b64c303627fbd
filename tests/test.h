// SPDX-License-Identifier: MIT
//
// A thin layer over cmocka. A test file contains only
//
//   #include "test.h"
//   TEST(name_of_the_test) { CHECK(1 + 1 == 2, "sum"); }
//
// Registration and main() are automatic. The first argument of the program is a filter with '*' and
// '?'. Failing checks name their case, so tables of cases need no further words.
#ifndef SALTUS_TEST_H
#define SALTUS_TEST_H

// cmocka wants these four first
#include "base/base.h"

#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST_MAX    512
#define TEST_UNUSED __attribute__((unused))

static struct CMUnitTest test_list[TEST_MAX];
static size_t test_count;
static jmp_buf test_oom;  // set in main(), which outlives every test

static void test_register(const char* name, CMUnitTestFunction function) {
  if (test_count == TEST_MAX) {
    fprintf(stderr, "more than %d tests in one file\n", TEST_MAX);
    exit(2);
  }
  test_list[test_count++] = (struct CMUnitTest){.name = name, .test_func = function};
}

/// Define and register a test.
#define TEST(name) \
  static void name(void** test_state); \
  __attribute__((constructor)) static void test_register_##name(void) { \
    test_register(#name, name); \
  } \
  static void name(TEST_UNUSED void** test_state)

/// Fail unless `condition`; `case_name` (a C string) says which case it was.
#define CHECK(condition, case_name) \
  do { \
    if (!(condition)) test_fail(__FILE__, __LINE__, (case_name), #condition); \
  } while (0)

/// |actual - expected| <= abs + rel * |expected|; NaN is near nothing, an infinity only to itself.
#define CHECK_NEAR(actual, expected, abs_tol, rel_tol) \
  test_check_near(__FILE__, __LINE__, #actual, (actual), (expected), (abs_tol), (rel_tol))

/// Compare a Str with a C string and show both when they differ.
#define CHECK_STR(actual, expected, case_name) \
  test_check_str(__FILE__, __LINE__, (case_name), (actual), (expected))

/// `FOR_CASES(c, cases) CHECK(f(c->in) == c->want, c->name);`
#define FOR_CASES(item, table) \
  for (const __typeof__((table)[0])* item = (table); item < (table) + SLT_COUNT(table); item++)

/// An arena for the rest of the test; call arena_free(&name) at the end.
#define TEST_ARENA(name) \
  Arena name; \
  arena_init(&name, NULL, &test_oom)

_Noreturn TEST_UNUSED static void test_fail(const char* file, int line, const char* case_name,
                                            const char* what) {
  print_error("%s:%d: case '%s': %s\n", file, line, case_name, what);
  _fail(file, line);
  exit(2);  // _fail() does not return, but its header does not say so
}

TEST_UNUSED static void test_check_near(const char* file, int line, const char* what, double actual,
                                        double expected, double abs_tol, double rel_tol) {
  if (actual == expected) return;
  if (fabs(actual - expected) <= abs_tol + rel_tol * fabs(expected)) return;
  print_error("%s:%d: %s is %.17g, expected %.17g (difference %.3g)\n", file, line, what, actual,
              expected, actual - expected);
  _fail(file, line);
}

TEST_UNUSED static void test_check_str(const char* file, int line, const char* case_name,
                                       Str actual, const char* expected) {
  if (str_equal(actual, str_from_c(expected))) return;
  print_error("%s:%d: case '%s':\n--- actual\n%.*s\n--- expected\n%s\n", file, line, case_name,
              STR_ARGS(actual), expected);
  _fail(file, line);
}

/// An allocator that counts, and that can be told to fail: `fail_at` n > 0 makes the n-th request
/// fail, and all after it when `fail_rest`.
typedef struct TestAllocator {
  size_t requests;
  size_t live_blocks;
  size_t live_bytes;
  size_t fail_at;
  bool fail_rest;
} TestAllocator;

TEST_UNUSED static void* test_allocate(void* user, void* pointer, size_t old_size, size_t size) {
  TestAllocator* t = user;
  if (size == 0) {
    if (pointer) {
      t->live_blocks--;
      t->live_bytes -= old_size;
    }
    free(pointer);
    return NULL;
  }
  t->requests++;
  bool fails =
      t->fail_at && (t->requests == t->fail_at || (t->fail_rest && t->requests > t->fail_at));
  if (fails) return NULL;
  void* moved = realloc(pointer, size);
  if (!moved) return NULL;
  if (!pointer) {
    t->live_blocks++;
    old_size = 0;
  }
  t->live_bytes += size - old_size;
  return moved;
}

TEST_UNUSED static SltAllocator test_allocator(TestAllocator* t) {
  return (SltAllocator){.realloc_fn = test_allocate, .user = t};
}

/// A number from the environment.
TEST_UNUSED static uint64_t test_setting(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/// Sanitized builds are several times slower and repeat less: of seeds, models and cases they take
/// every N-th, with N from SALTUS_TEST_SHARE.
TEST_UNUSED static uint32_t test_every(void) {
  uint64_t every = test_setting("SALTUS_TEST_SHARE", 1);
  return every ? (uint32_t)every : 1;
}

/// How many of so many random cases; SALTUS_CASES sets the number itself.
TEST_UNUSED static uint64_t test_cases(uint64_t count) {
  return test_setting("SALTUS_CASES", (count + test_every() - 1) / test_every());
}

/// Reproducible random bits (splitmix64); `*state` is the seed.
TEST_UNUSED static uint64_t test_random(uint64_t* state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/// Uniform in [low, high).
TEST_UNUSED static double test_uniform(uint64_t* state, double low, double high) {
  return low + (high - low) * ((double)(test_random(state) >> 11) * 0x1p-53);
}

int main(int argc, char** argv) {
  if (setjmp(test_oom)) {
    fprintf(stderr, "out of memory in an arena of a test\n");
    return 2;
  }
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return _cmocka_run_group_tests(argv[0], test_list, test_count, NULL, NULL);
}

#endif
