// SPDX-License-Identifier: MIT
//
// base: what every module stands on. Memory, text, places, diagnostics, numbers; libc only.
#ifndef SALTUS_BASE_H
#define SALTUS_BASE_H

#include "base/alloc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/functions.h"
#include "base/lanes.h"
#include "base/number.h"
#include "base/sha256.h"
#include "base/team.h"
#include "base/text.h"
#include "base/unit.h"

/// Internal propagation of errors: the only control-flow macro in the code base.
#define SLT_TRY(expr) \
  do { \
    SltStatus try_status = (expr); \
    if (try_status < 0) return try_status; \
  } while (0)

/// Guards an invariant of our own code in debug builds; never replaces a check of input.
#ifdef SLT_CHECK_INVARIANTS
#define SLT_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define SLT_ASSERT(condition) ((void)0)
#endif

#define SLT_COUNT(array) (sizeof(array) / sizeof *(array))

/// Put numbers in order where they are (Shell's method: short lists, nearly in order mostly).
void base_sort_ascending(uint32_t* list, uint32_t count);
/// Where a number stands in an ascending list; UINT32_MAX when it does not.
uint32_t base_find_sorted(const uint32_t* list, uint32_t count, uint32_t wanted);

#endif
