// SPDX-License-Identifier: MIT
//
// Which programs are compiled, and when. A mode is looked up in the cache once it has been at work
// for about a millisecond, and given to the compiler once that is likely to pay. One compiler runs
// at a time; whoever comes between two steps looks whether it has finished.
#define _POSIX_C_SOURCE 200809L
#include "native/native.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOKUP_WORK         1000000  // operations of the tape, about 2 ns each
#define LOOKUP_EVALUATIONS  50
#define COMPILE_WORK        30000000
#define COMPILE_EVALUATIONS 500
#define EVALUATION_WORK     10       // of one evaluation beside its operations
#define JACOBIAN_SHARE      7        // evaluations of the equations beside one of the Jacobian
#define POLL_WAIT           2000     // evaluations between two looks at the compiler...
#define POLL_NS             1000000  // ...which are at least this far apart
#define UNITS_MAX           32       // modes beyond stay on the tape: there may be very many

/// A unit that waits for the compiler, or that the compiler works on.
typedef struct Pending {
  struct Pending* next;
  ModelCode* cells[NATIVE_UNIT_MAX];
  uint32_t count;
  Digest key;
  Arena arena;  // of the text
  Str text;
} Pending;

struct NativeTier {
  SltAllocator allocator;
  pthread_mutex_t mutex;  // guards all below, and the cells' own fields
  bool at_once;
  char *compiler_path, *cache_path;
  size_t compiler_size, cache_size;
  NativeCompiler compiler;
  NativeCache cache;
  bool ready;           // compiler and cache are there
  const char* problem;  // why not
  bool broken;          // something failed: no more attempts
  Pending* first;       // in order; the compiler works on this one if `job` runs
  Pending** last;
  NativeJob job;
  int64_t polled;  // clock of the last look, ns
  void* handles[UNITS_MAX];
  uint32_t handle_count, unit_count;
  NativeReport report;
};

// ---------------------------------------------------------------------------------------------
// creation

static bool copy_text(const SltAllocator* allocator, const char* text, char** out, size_t* size) {
  *size = text ? strlen(text) + 1 : 0;
  if (!text) return true;
  *out = base_alloc(allocator, *size);
  if (*out) memcpy(*out, text, *size);
  return *out != NULL;
}

SltStatus native_tier_create(const SltAllocator* allocator, const NativeOptions* options,
                             NativeTier** out) {
  *out = NULL;
  SltAllocator memory = base_allocator(allocator);
  NativeTier* tier = base_alloc(&memory, sizeof *tier);
  if (!tier) return SLT_ERR_NOMEM;
  tier->allocator = memory;
  tier->at_once = options->at_once;
  tier->cache.fd = -1;
  tier->cache.limit = options->limit;
  tier->last = &tier->first;
  if (pthread_mutex_init(&tier->mutex, NULL) != 0) {
    base_free(&memory, tier, sizeof *tier);
    return SLT_ERR_NOMEM;
  }
  if (!copy_text(&memory, options->compiler, &tier->compiler_path, &tier->compiler_size) ||
      !copy_text(&memory, options->cache, &tier->cache_path, &tier->cache_size)) {
    native_tier_free(tier);
    return SLT_ERR_NOMEM;
  }
  *out = tier;
  return SLT_OK;
}

static void free_pending(NativeTier* tier, Pending* pending) {
  arena_free(&pending->arena);
  base_free(&tier->allocator, pending, sizeof *pending);
}

static void pop_pending(NativeTier* tier) {
  Pending* done = tier->first;
  tier->first = done->next;
  if (!tier->first) tier->last = &tier->first;
  free_pending(tier, done);
}

void native_tier_free(NativeTier* tier) {
  if (!tier) return;
  SltAllocator memory = tier->allocator;
  native_job_cancel(&tier->job, &tier->cache);
  while (tier->first) {
    pop_pending(tier);
  }
  for (uint32_t i = 0; i < tier->handle_count; i++) {
    dlclose(tier->handles[i]);
  }
  native_cache_close(&tier->cache);
  base_free(&memory, tier->compiler_path, tier->compiler_size);
  base_free(&memory, tier->cache_path, tier->cache_size);
  pthread_mutex_destroy(&tier->mutex);
  base_free(&memory, tier, sizeof *tier);
}

/// Compiler and cache are looked for when they are needed first: most runs are too short for them.
static bool is_ready(NativeTier* tier) {
  if (tier->ready) return true;
  if (tier->problem) return false;
  if (!tier->compiler_path) {
    tier->problem = "no C compiler was found";
  } else if (!native_compiler_init(&tier->compiler, tier->compiler_path)) {
    tier->problem = "the C compiler cannot be run";
  } else if (!tier->cache_path) {
    tier->problem = "there is no cache folder";
  } else {
    tier->problem = native_cache_open(&tier->cache, tier->cache_path, tier->cache.limit, true);
  }
  tier->ready = !tier->problem;
  return tier->ready;
}

static void give_up(NativeTier* tier, const char* why) {
  tier->broken = true;
  if (!tier->report.note) tier->report.note = why;
}

// ---------------------------------------------------------------------------------------------
// units

/// Add a program that nobody has compiled or is compiling.
static void add_program(NativeUnit* unit, const ModelProgram* program, bool block, bool stages) {
  if (!program->native || program->native->claimed) return;
  for (uint32_t k = 0; k < unit->count; k++) {
    if (unit->programs[k]->native == program->native) return;
  }
  unit->programs[unit->count] = program;
  unit->block[unit->count] = block;
  unit->stages[unit->count++] = stages;
}

static NativeUnit programs_of_mode(const ModelMode* mode) {
  NativeUnit unit = {.count = 0};
  add_program(&unit, &mode->g_flow, true, false);
  add_program(&unit, &mode->rhs, false, true);
  add_program(&unit, &mode->full, false, false);
  add_program(&unit, &mode->g, false, false);
  add_program(&unit, &mode->gdot, false, false);
  if (mode->implicit && mode->implicit->constraint_count) {
    // where there is a step back to the constraints, nothing else asks for them in a hurry
    bool step = mode->implicit->project.output_count > 0;
    add_program(&unit, step ? &mode->implicit->project : &mode->implicit->constraint, false, false);
  }
  return unit;
}

/// What stiff methods add to a mode: a unit of its own, so that explicit runs do not pay for it.
static NativeUnit programs_of_stiff(const ModelStiff* stiff) {
  NativeUnit unit = {.count = 0};
  add_program(&unit, &stiff->jacobian, false, false);
  if (stiff->algebraic) add_program(&unit, &stiff->stage, false, false);
  return unit;
}

/// Text and key of a unit; NULL when it cannot be written.
static Pending* new_pending(NativeTier* tier, const NativeUnit* unit) {
  Pending* pending = base_alloc(&tier->allocator, sizeof *pending);
  if (!pending) {
    give_up(tier, "out of memory");
    return NULL;
  }
  jmp_buf oom;
  arena_init(&pending->arena, &tier->allocator, &oom);
  TextBuffer text = {.arena = &pending->arena};
  const char* volatile why = "out of memory";
  if (setjmp(oom) == 0) {
    why = native_write(&text, unit) ? NULL : "the equations are too long to be compiled";
    pending->text = text_str(&text);
  }
  pending->arena.on_oom = NULL;
  if (why) {
    if (!tier->report.note) tier->report.note = why;
    free_pending(tier, pending);
    return NULL;
  }
  for (uint32_t i = 0; i < unit->count; i++) {
    pending->cells[i] = unit->programs[i]->native;
  }
  pending->count = unit->count;
  Sha256 hash;
  sha256_init(&hash);
  sha256_add(&hash, &tier->compiler.identity, sizeof tier->compiler.identity);
  sha256_add(&hash, pending->text.data, pending->text.length);
  pending->key = sha256_digest(&hash);
  return pending;
}

/// Attach the code of an entry of the cache. The loader is led through the open folder, so what it
/// loads is what was looked at, whatever the names on the way to it mean by now.
static bool load(NativeTier* tier, const Pending* pending, const char* name) {
  char path[NATIVE_NAME_MAX + 40];
  snprintf(path, sizeof path, "/proc/self/fd/%d/%s", tier->cache.fd, name);
  if (tier->handle_count == UNITS_MAX) return false;
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const NativeEntry* entries = handle ? dlsym(handle, "saltus_native") : NULL;
  if (!entries) {
    // what the compiler wrote is no library: nobody should try again
    native_cache_remove(&tier->cache, name);
    if (handle) dlclose(handle);
    return false;
  }
  tier->handles[tier->handle_count++] = handle;
  for (uint32_t i = 0; i < pending->count; i++) {
    ModelCode* cell = pending->cells[i];
    atomic_store_explicit(&cell->run, entries[i].run, memory_order_release);
    atomic_store_explicit(&cell->block, entries[i].block, memory_order_release);
    atomic_store_explicit(&cell->stages, entries[i].stages, memory_order_release);
    tier->report.programs += entries[i].run != NULL;
  }
  return true;
}

static bool load_cached(NativeTier* tier, const Pending* pending) {
  char name[NATIVE_NAME_MAX];
  if (!native_cache_find(&tier->cache, &pending->key, name)) return false;
  if (!load(tier, pending, name)) return false;
  tier->report.loaded++;
  return true;
}

static void start_next(NativeTier* tier) {
  // other modes, or other processes, may have made the same code in the meantime
  while (tier->first && !tier->job.pid && load_cached(tier, tier->first)) {
    pop_pending(tier);
  }
  if (!tier->first || tier->job.pid || tier->broken) return;
  if (native_job_start(&tier->job, &tier->compiler, &tier->cache, tier->first->text)) return;
  give_up(tier, "the C compiler cannot be started, or the cache folder cannot be written");
}

/// The compiler has ended: take what it made.
static void finish_job(NativeTier* tier, NativeJobState state) {
  char name[NATIVE_NAME_MAX];
  if (state == NATIVE_JOB_FAILED) {
    give_up(tier, "the C compiler failed");
  } else if (!native_cache_store(&tier->cache, &tier->first->key, tier->job.object, name)) {
    give_up(tier, "the cache folder cannot be written");
  } else if (!load(tier, tier->first, name)) {
    give_up(tier, "the compiled code cannot be loaded");
  } else {
    tier->report.compiled++;
    native_cache_trim(&tier->cache, tier->cache.limit);
  }
  pop_pending(tier);
}

static void poll(NativeTier* tier, bool wait) {
  if (!tier->job.pid) return;
  struct timespec clock = {0};
  clock_gettime(CLOCK_MONOTONIC, &clock);
  int64_t now = (int64_t)clock.tv_sec * 1000000000 + clock.tv_nsec;
  if (!wait && now - tier->polled < POLL_NS) return;
  tier->polled = now;
  NativeJobState state = native_job_poll(&tier->job, &tier->cache, wait);
  if (state == NATIVE_JOB_RUNS) return;
  finish_job(tier, state);
  start_next(tier);
}

// ---------------------------------------------------------------------------------------------
// asked between steps

/// Look for the unit's code in the cache; where it is missing, and `compile`, have it made.
static void acquire(NativeTier* tier, const NativeUnit* unit, bool compile) {
  if (tier->broken || tier->unit_count >= UNITS_MAX) return;
  if (!is_ready(tier)) {
    if (compile) give_up(tier, tier->problem);
    return;
  }
  if (unit->count == 0) return;
  Pending* pending = new_pending(tier, unit);
  bool claim = compile || !pending;
  bool found = pending && !compile && load_cached(tier, pending);
  for (uint32_t i = 0; i < unit->count; i++) {
    unit->programs[i]->native->claimed = claim || found;
  }
  if (found || (pending && !compile)) {
    tier->unit_count += found;
    free_pending(tier, pending);
  } else if (pending) {
    tier->unit_count++;
    *tier->last = pending;
    tier->last = &pending->next;
    start_next(tier);
  }
}

/// Account for the work that a unit has done on the tape; `cell` is that of one of its programs.
/// Returns the number of evaluations until it is to be asked again.
static uint64_t consider(NativeTier* tier, const NativeUnit* unit, ModelCode* cell,
                         uint64_t operations, uint64_t evaluations) {
  // writing a long program takes as long as some of its evaluations
  uint64_t lookup = LOOKUP_WORK + LOOKUP_EVALUATIONS * operations;
  uint64_t compile = COMPILE_WORK + COMPILE_EVALUATIONS * operations;
  if (!cell->claimed) {
    uint64_t before = cell->work;
    cell->work += evaluations * operations;
    if (tier->at_once || (before < compile && cell->work >= compile)) {
      acquire(tier, unit, true);
    } else if (before < lookup && cell->work >= lookup) {
      acquire(tier, unit, false);
    }
  }
  if (cell->claimed || cell->work >= compile) return UINT64_MAX;
  uint64_t goal = cell->work < lookup ? lookup : compile;
  return (goal - cell->work) / operations + 1;
}

static uint64_t tune(NativeTier* tier, const ModelMode* mode, const ModelStiff* stiff,
                     uint64_t evaluations) {
  poll(tier, false);
  ModelCode* cell = mode->g_flow.native;
  if (mode->state_count == 0 || !cell || tier->broken) return UINT64_MAX;
  NativeUnit unit = programs_of_mode(mode);
  uint64_t wait =
      consider(tier, &unit, cell, (uint64_t)mode->rhs.code_count + EVALUATION_WORK, evaluations);
  if (stiff && stiff->jacobian.native) {
    // one Jacobian for several evaluations
    uint64_t share = (uint64_t)stiff->jacobian.code_count / JACOBIAN_SHARE + 1;
    unit = programs_of_stiff(stiff);
    uint64_t other = consider(tier, &unit, stiff->jacobian.native, share, evaluations);
    wait = other < wait ? other : wait;
  }
  while (tier->at_once && tier->first && !tier->broken) {
    poll(tier, true);
  }
  return tier->first && !tier->broken ? POLL_WAIT : wait;
}

uint64_t native_tier_tune(void* user, const ModelMode* mode, const ModelStiff* stiff,
                          uint64_t evaluations) {
  NativeTier* tier = user;
  pthread_mutex_lock(&tier->mutex);
  uint64_t wait = tune(tier, mode, stiff, evaluations);
  pthread_mutex_unlock(&tier->mutex);
  return wait;
}

void native_tier_kill(const NativeTier* tier) {
  int pid = tier->job.pid;
  if (pid > 0) kill(-pid, SIGKILL);
}

NativeReport native_tier_report(NativeTier* tier) {
  pthread_mutex_lock(&tier->mutex);
  NativeReport report = tier->report;
  pthread_mutex_unlock(&tier->mutex);
  return report;
}
