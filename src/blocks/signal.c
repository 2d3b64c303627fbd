// SPDX-License-Identifier: MIT
//
// Measured signals as inputs of blocks, and the pace of a clock.
#if defined(__linux__) || defined(__APPLE__)
#define _DEFAULT_SOURCE 1  // clock_gettime, nanosleep
#endif
#include "blocks/blocks.h"

#include <math.h>
#include <time.h>

struct SltSignal {
  SltAllocator allocator;
  double* t;
  double* value;
  uint32_t count;
  uint32_t capacity;  // of both arrays, which are one block
  SltSignalKind kind;
};

/// Keeps a target at a signal's value in one world.
typedef struct Guide {
  struct Guide* next;
  const SltSignal* signal;
  double* target;
  uint32_t corner;  // the next point at which a step ends
} Guide;

SltStatus slt_signal_create(const SltTable* table, const char* time, const char* value,
                            SltSignalKind kind, SltSignal** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!table || !time || !value || (unsigned)kind > SLT_SIGNAL_STEP) return SLT_ERR_ARGUMENT;
  uint32_t t_column = table_find(table, time);
  uint32_t v_column = table_find(table, value);
  if (t_column == UINT32_MAX || v_column == UINT32_MAX) return SLT_ERR_NOT_FOUND;
  SltAllocator allocator = base_allocator(NULL);
  SltSignal* signal = base_alloc(&allocator, sizeof *signal);
  if (!signal) return SLT_ERR_NOMEM;
  signal->allocator = allocator;
  signal->kind = kind;
  size_t size = base_mul_size(table->row_count, 2 * sizeof(double));
  signal->t = base_alloc(&allocator, size);
  if (!signal->t) {
    slt_signal_free(signal);
    return SLT_ERR_NOMEM;
  }
  signal->capacity = table->row_count;
  signal->value = signal->t + table->row_count;
  uint32_t kept = 0;
  SltStatus status = SLT_OK;
  for (uint32_t r = 0; r < table->row_count; r++) {
    double t = table->columns[t_column].values[r];
    double v = table->columns[v_column].values[r];
    if (!isfinite(t) || !isfinite(v)) continue;
    if (kept > 0 && t < signal->t[kept - 1]) status = SLT_ERR_ARGUMENT;
    signal->t[kept] = t;
    signal->value[kept++] = v;
  }
  if (kept == 0) status = SLT_ERR_ARGUMENT;
  if (status < 0) {
    slt_signal_free(signal);
    return status;
  }
  signal->count = kept;
  *out = signal;
  return SLT_OK;
}

void slt_signal_free(SltSignal* signal) {
  if (!signal) return;
  base_free(&signal->allocator, signal->t, signal->capacity * (2 * sizeof(double)));
  SltAllocator allocator = signal->allocator;
  base_free(&allocator, signal, sizeof *signal);
}

double slt_signal_value(const SltSignal* signal, double t) {
  if (!signal) return (double)NAN;
  if (t < signal->t[0]) return signal->value[0];
  // the last point not after t: of two at one time the second one
  uint32_t lo = 0;
  uint32_t hi = signal->count;
  while (hi - lo > 1) {
    uint32_t middle = lo + (hi - lo) / 2;
    if (signal->t[middle] <= t) {
      lo = middle;
    } else {
      hi = middle;
    }
  }
  if (signal->kind == SLT_SIGNAL_STEP || lo + 1 == signal->count) return signal->value[lo];
  double part = (t - signal->t[lo]) / (signal->t[lo + 1] - signal->t[lo]);
  return signal->value[lo] + part * (signal->value[lo + 1] - signal->value[lo]);
}

/// The piece that ends at the next corner holds until that corner has been passed by an event: a
/// step that ends at a jump must not see its other side.
static void follow(SltWorld* world, void* user) {
  const Guide* guide = user;
  const SltSignal* signal = guide->signal;
  uint32_t k = guide->corner;
  double t = slt_world_time(world);
  if (k == 0 || k == signal->count) {
    *guide->target = signal->value[k == 0 ? 0 : k - 1];
  } else if (signal->kind == SLT_SIGNAL_STEP || !(signal->t[k] > signal->t[k - 1])) {
    *guide->target = signal->value[k - 1];
  } else {
    double part = (t - signal->t[k - 1]) / (signal->t[k] - signal->t[k - 1]);
    *guide->target = signal->value[k - 1] + part * (signal->value[k] - signal->value[k - 1]);
  }
}

/// A corner: nothing happens but that a step ends here.
static void next_corner(SltWorld* world, void* user) {
  Guide* guide = user;
  const SltSignal* signal = guide->signal;
  while (guide->corner < signal->count && signal->t[guide->corner] <= world->t) {
    guide->corner++;
  }
  if (guide->corner < signal->count) {
    (void)slt_world_call(world, signal->t[guide->corner], next_corner, guide, NULL);
  }
}

SltStatus slt_world_add_signal(SltWorld* world, const SltSignal* signal, double* target) {
  if (!world || !signal || !target) return SLT_ERR_ARGUMENT;
  Guide* guide = base_alloc(&world->allocator, sizeof *guide);
  if (!guide) return SLT_ERR_NOMEM;
  *guide = (Guide){.next = world->guides, .signal = signal, .target = target};
  world->guides = guide;
  SltBlockSpec spec = {.kind = SLT_BLOCK_CONTINUOUS,
                       .t = world->t,
                       .priority = BLK_PRIORITY_MAX,
                       .fn = follow,
                       .user = guide,
                       .name = "signal"};
  SLT_TRY(slt_block_schedule(world, &spec, NULL));
  return slt_world_call(world, world->t, next_corner, guide, NULL);
}

void blk_guides_clear(SltWorld* world) {
  for (Guide* guide = world->guides; guide;) {
    Guide* next = guide->next;
    base_free(&world->allocator, guide, sizeof *guide);
    guide = next;
  }
  world->guides = NULL;
}

// ---- pace ---------------------------------------------------------------------------------------

static double system_now(void* user) {
  (void)user;
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0.0;
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void system_sleep_until(void* user, double t) {
  double rest = t - system_now(user);
  if (!(rest > 0.0)) return;
  struct timespec pause = {.tv_sec = (time_t)rest};
  pause.tv_nsec = (long)((rest - (double)pause.tv_sec) * 1e9);
  (void)nanosleep(&pause, NULL);
}

SltStatus slt_world_pace(SltWorld* world, double speed, const SltClock* clock) {
  if (!world || !(speed >= 0.0) || isinf(speed)) return SLT_ERR_ARGUMENT;
  if (clock && (!clock->now || !clock->sleep_until)) return SLT_ERR_ARGUMENT;
  world->pace.factor = speed;
  world->pace.clock = clock ? *clock : (SltClock){system_now, system_sleep_until, NULL};
  world->plain_known = false;
  blk_pace_begin(world);
  return SLT_OK;
}

void blk_pace_begin(SltWorld* world) {
  if (world->pace.factor == 0.0) return;
  world->pace.clock_start = world->pace.clock.now(world->pace.clock.user);
  world->pace.t_start = world->t;
}

void blk_pace_wait(SltWorld* world) {
  double due = world->pace.clock_start + (world->t - world->pace.t_start) / world->pace.factor;
  double now = world->pace.clock.now(world->pace.clock.user);
  if (now < due) {
    world->pace.clock.sleep_until(world->pace.clock.user, due);
    return;
  }
  double late = now - due;
  // less than a microsecond is no lateness
  if (late < 1e-6) return;
  world->statistics.overruns++;
  if (late > world->statistics.worst_lateness) world->statistics.worst_lateness = late;
}

void slt_world_on_input(SltWorld* world, SltBlockFn* fn, void* user) {
  if (!world) return;
  world->pace.on_input = fn;
  world->pace.input_user = user;
  world->plain_known = false;
}
