// SPDX-License-Identifier: MIT
//
// Loaded before the C library: the allocation with the number SALTUS_FAIL_AT fails, and all later
// ones too where SALTUS_FAIL_ON is set. At the end the number of allocations goes to the file
// SALTUS_FAIL_COUNT.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static unsigned long count, fail_at;
static bool fail_on, ready, finding;

static void* (*real_malloc)(size_t);
static void* (*real_calloc)(size_t, size_t);
static void* (*real_realloc)(void*, size_t);
static void* (*real_mmap)(void*, size_t, int, int, int, off_t);

// what dlsym() asks for before the real functions are known
static char early[4096];
static size_t early_used;

static void* take_early(size_t size) {
  size_t at = early_used;
  early_used += (size + 15) & ~(size_t)15;
  return early_used <= sizeof early ? early + at : NULL;
}

/// At the first allocation, which may be that of another library before prepare() runs.
static void find_real(void) {
  if (finding || real_realloc) return;
  finding = true;
  real_malloc = dlsym(RTLD_NEXT, "malloc");
  real_calloc = dlsym(RTLD_NEXT, "calloc");
  real_realloc = dlsym(RTLD_NEXT, "realloc");
  finding = false;
}

__attribute__((constructor)) static void prepare(void) {
  find_real();
  real_mmap = dlsym(RTLD_NEXT, "mmap");
  const char* text = getenv("SALTUS_FAIL_AT");
  fail_at = text ? strtoul(text, NULL, 10) : 0;
  fail_on = getenv("SALTUS_FAIL_ON") != NULL;
  ready = true;
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("SALTUS_FAIL_COUNT");
  unsigned long total = count;
  ready = false;
  FILE* file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%lu\n", total);
  fclose(file);
}

static bool fails(void) {
  if (!ready) return false;
  count++;
  bool now = fail_at && (fail_on ? count >= fail_at : count == fail_at);
  if (now) errno = ENOMEM;
  return now;
}

void* malloc(size_t size) {
  find_real();
  if (!real_malloc) return take_early(size);
  return fails() ? NULL : real_malloc(size);
}

void* calloc(size_t items, size_t size) {
  find_real();
  if (!real_calloc) return take_early(items * size);
  return fails() ? NULL : real_calloc(items, size);
}

void* realloc(void* pointer, size_t size) {
  find_real();
  return fails() ? NULL : real_realloc(pointer, size);
}

void* mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  if (!real_mmap) real_mmap = dlsym(RTLD_NEXT, "mmap");
  if (fd == -1 && fails()) return MAP_FAILED;
  return real_mmap(at, length, protection, flags, fd, offset);
}
