// SPDX-License-Identifier: MIT
//
// native: programs of modes as machine code. They are written out as C, compiled by the machine's
// own compiler while the tape goes on running, kept in a cache by content, and attached to the
// programs between two steps. Every result has the same bits as the tape's; whatever goes wrong
// here leaves the tape in force and a note.
//
//   write*.c  programs to C text, numbers and register indices only
//   cache.c   the folder of compiled units
//   job.c     one run of the compiler as a child process, never through a shell
//   tier.c    which programs, when; loading
#ifndef SALTUS_NATIVE_H
#define SALTUS_NATIVE_H

#include "model/model.h"

// ---------------------------------------------------------------------------------------------
// C text (write.c)

#define NATIVE_ABI      4     // of the generated code: part of every key
#define NATIVE_CODE_MAX 4000  // operations without repetition: beyond, compilers take too long
#define NATIVE_UNIT_MAX 8     // programs in one unit

/// What a unit exports as `saltus_native`, one per program. `block` and `stages` may be NULL.
typedef struct NativeEntry {
  ModelRunFn* run;
  ModelBlockFn* block;
  ModelStagesFn* stages;
} NativeEntry;

/// Programs that are compiled together.
typedef struct NativeUnit {
  const ModelProgram* programs[NATIVE_UNIT_MAX];
  bool block[NATIVE_UNIT_MAX];   // also for blocks of points
  bool stages[NATIVE_UNIT_MAX];  // also whole steps, where the program is short
  uint32_t count;
} NativeUnit;

/// Write a unit as C. Depends on the programs alone. Programs that cannot be written (too long, too
/// irregular) have no entry. Returns the number of the others.
uint32_t native_write(TextBuffer* out, const NativeUnit* unit);

// ---------------------------------------------------------------------------------------------
// the cache (cache.c)

#define NATIVE_NAME_MAX 96  // of a file in the cache

/// A folder of compiled units, open. Files in it: `KEY.so`, an ELF object with a footer that holds
/// key and content hash; `tmp-*`, work in progress.
typedef struct NativeCache {
  int fd;
  const char* path;  // borrowed
  uint64_t limit;    // bytes
} NativeCache;

/// Open the folder. Where it is missing it is made, or without `make` taken for an empty one. NULL,
/// or why it cannot be used (static).
const char* native_cache_open(NativeCache* cache, const char* path, uint64_t limit, bool make);
void native_cache_close(NativeCache* cache);

/// Whether a sound entry for `key` is there; its name into `name`. Unsound ones are removed.
bool native_cache_find(const NativeCache* cache, const Digest* key, char* name);
/// Turn a finished file `from` into the entry for `key`. False when that fails; `from` is gone in
/// any case.
bool native_cache_store(const NativeCache* cache, const Digest* key, const char* from, char* name);

void native_cache_remove(const NativeCache* cache, const char* name);

typedef struct NativeCacheInfo {
  uint64_t entries, bytes;
} NativeCacheInfo;

NativeCacheInfo native_cache_info(const NativeCache* cache);
/// Remove entries, the longest unused first, until `limit` bytes are left; abandoned work too.
/// Returns the number of entries removed.
uint64_t native_cache_trim(const NativeCache* cache, uint64_t limit);

// ---------------------------------------------------------------------------------------------
// the compiler (job.c)

typedef struct NativeCompiler {
  const char* path;  // borrowed; absolute
  Digest identity;
} NativeCompiler;

/// Identity from path, size and time of the file, and the options it is called with. False when
/// there is no such program.
bool native_compiler_init(NativeCompiler* compiler, const char* path);

/// The compiler at work.
typedef struct NativeJob {
  int pid;  // 0: none
  char source[NATIVE_NAME_MAX], object[NATIVE_NAME_MAX];
} NativeJob;

typedef enum NativeJobState { NATIVE_JOB_RUNS, NATIVE_JOB_DONE, NATIVE_JOB_FAILED } NativeJobState;

/// Write the text into the cache's folder and start the compiler on it.
bool native_job_start(NativeJob* job, const NativeCompiler* compiler, const NativeCache* cache,
                      Str text);
/// How it stands; `wait` until it has ended. After the end the source is gone, and after a failure
/// the object too.
NativeJobState native_job_poll(NativeJob* job, const NativeCache* cache, bool wait);
/// End it and leave nothing behind.
void native_job_cancel(NativeJob* job, const NativeCache* cache);

// ---------------------------------------------------------------------------------------------
// the tier (tier.c)

typedef struct NativeTier NativeTier;

typedef struct NativeOptions {
  bool at_once;          // compile each mode when it is entered, and wait for it
  const char* compiler;  // NULL: none
  const char* cache;     // folder
  uint64_t limit;        // of the cache, bytes
} NativeOptions;

typedef struct NativeReport {
  uint32_t programs;  // with compiled code
  uint32_t compiled;  // units by this tier
  uint32_t loaded;    // units found in the cache
  const char* note;   // why programs stay on the tape (static), NULL when nothing went wrong
} NativeReport;

/// SLT_OK or SLT_ERR_NOMEM. Options are copied.
SltStatus native_tier_create(const SltAllocator* allocator, const NativeOptions* options,
                             NativeTier** out);
/// No program that it gave code to may run any more.
void native_tier_free(NativeTier* tier);
/// ModelProvider.tune; `tier` is a NativeTier. Several threads may call it.
uint64_t native_tier_tune(void* tier, const ModelMode* mode, const ModelStiff* stiff,
                          uint64_t evaluations);
NativeReport native_tier_report(NativeTier* tier);
/// End a compiler that is at work, for a program that ends without freeing anything. Takes no lock:
/// for signal handlers.
void native_tier_kill(const NativeTier* tier);

#endif
