// SPDX-License-Identifier: MIT
//
// What the benchmarks share: a clock, runs in turns, and rows for scripts/bench.py.
//
// A benchmark is a program that prints lines of JSON, one per row:
//   {"name": ..., "opponent_s": ..., "saltus_s": ..., "ratio": ..., "error": ...}
// and may add what else is in BenchRow. Both sides run in turns, so that a busy machine is busy for
// both; the best time of each counts, since disturbances only ever add. Times are those of the
// thread on a processor.
//
// Environment: SALTUS_BENCH_SMOKE=1 makes everything tiny (does it run at all?),
// SALTUS_BENCH_COUNT=1 runs each side once and tells callgrind which instructions are whose,
// SALTUS_BENCH_NATIVE=FOLDER runs the equations as machine code that is kept in the folder.
#ifndef SALTUS_BENCH_H
#define SALTUS_BENCH_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <saltus/saltus.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifndef CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_TOGGLE_COLLECT   ((void)0)
#define CALLGRIND_DUMP_STATS_AT(a) ((void)(a))
#endif

#define BENCH_ROUNDS  15
#define BENCH_SECONDS 6.0  // no further round after this

/// One row of the table. NaN stands for "does not apply".
typedef struct BenchRow {
  const char* name;      // short, unique
  const char* what;      // the problem in words
  const char* opponent;  // who it is compared with
  const char* unit;      // what `units` counts: step, event, row, ...
  double units;
  double opponent_s, saltus_s;           // seconds for all of it
  double error, opponent_error;          // accuracy of the two
  double budget, error_budget, limit_s;  // what has to be reached: ratio, error, seconds
  double native_budget;                  // ratio with machine code, where that is asked for
  const char* note;
} BenchRow;

/// One side of a comparison: runs the whole problem once and returns its error.
typedef double BenchFn(void* user);

static inline bool bench_smoke(void) {
  return getenv("SALTUS_BENCH_SMOKE") != NULL;
}

static inline bool bench_counts(void) {
  return getenv("SALTUS_BENCH_COUNT") != NULL;
}

/// Size of a problem: all of it, a tenth to count instructions, next to nothing to try it out.
static inline double bench_size(double full, double smoke) {
  return bench_smoke() ? smoke : bench_counts() ? fmax(0.1 * full, smoke) : full;
}

static inline double bench_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// Time of this thread on a processor: others who are busy there are left out.
static inline double bench_cpu(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline BenchRow bench_row(const char* name, const char* what) {
  double none = (double)NAN;
  return (BenchRow){.name = name,
                    .what = what,
                    .units = none,
                    .opponent_s = none,
                    .saltus_s = none,
                    .error = none,
                    .opponent_error = none,
                    .budget = none,
                    .error_budget = none,
                    .limit_s = none,
                    .native_budget = none};
}

static inline double bench_once(BenchFn* fn, void* user, const char* side, double* error) {
  double began = bench_cpu();
  CALLGRIND_TOGGLE_COLLECT;
  *error = fn(user);
  CALLGRIND_TOGGLE_COLLECT;
  double taken = bench_cpu() - began;
  if (bench_counts()) CALLGRIND_DUMP_STATS_AT(side);
  return taken;
}

/// Run both in turns; best times and errors into the row. `opponent` may be NULL.
static inline void bench_compare(BenchRow* row, BenchFn* opponent, BenchFn* saltus, void* user) {
  int rounds = bench_smoke() || bench_counts() ? 1 : BENCH_ROUNDS;
  double began = bench_now();
  char side[100];
  row->opponent_s = opponent ? HUGE_VAL : (double)NAN;
  row->saltus_s = HUGE_VAL;
  for (int i = 0; i < rounds; i++) {
    if (opponent) {
      snprintf(side, sizeof side, "opponent %s", row->name);
      row->opponent_s =
          fmin(row->opponent_s, bench_once(opponent, user, side, &row->opponent_error));
    }
    snprintf(side, sizeof side, "saltus %s", row->name);
    row->saltus_s = fmin(row->saltus_s, bench_once(saltus, user, side, &row->error));
    if (i >= 2 && bench_now() - began > BENCH_SECONDS) break;
  }
}

static inline void bench_field(const char* name, double value) {
  printf(isfinite(value) ? ", \"%s\": %.6g" : ", \"%s\": null", name, value);
}

static inline void bench_words(const char* name, const char* text) {
  if (text) printf(", \"%s\": \"%s\"", name, text);
}

static inline void bench_print(const BenchRow* row) {
  printf("{\"name\": \"%s\"", row->name);
  bench_words("what", row->what);
  bench_words("opponent", row->opponent);
  bench_words("unit", row->unit);
  bench_field("units", row->units);
  bench_field("opponent_s", row->opponent_s);
  bench_field("saltus_s", row->saltus_s);
  bench_field("ratio", row->saltus_s / row->opponent_s);
  bench_field("error", row->error);
  bench_field("opponent_error", row->opponent_error);
  bench_field("budget", row->budget);
  bench_field("error_budget", row->error_budget);
  bench_field("limit_s", row->limit_s);
  bench_field("native_budget", row->native_budget);
  bench_words("note", row->note);
  printf("}\n");
  fflush(stdout);
}

/// A program with one row: compare, print, and end.
static inline int bench_one(BenchRow row, BenchFn* opponent, BenchFn* saltus, void* user,
                            SltModel* model) {
  bench_compare(&row, opponent, saltus, user);
  bench_print(&row);
  slt_model_free(model);
  return 0;
}

#ifdef BENCH_NATIVE
static const bool bench_uses_native = true;
#else
static const bool bench_uses_native = false;
#endif

/// Compile a model; with SALTUS_BENCH_NATIVE its equations become machine code when they are first
/// used, which the first round pays for. (Programs that define BENCH_NATIVE before this file: large
/// models would wait for the compiler.)
static inline SltModel* bench_model(const char* name, const char* text) {
  SltModel* model = NULL;
  if (slt_model_compile(name, text, strlen(text), NULL, &model) != SLT_OK) {
    fprintf(stderr, "%s: the model does not compile\n", name);
    exit(1);
  }
  const char* folder = getenv("SALTUS_BENCH_NATIVE");
  if (folder && bench_uses_native) {
    SltNativeOptions native = slt_native_options();
    native.when = SLT_NATIVE_ON;
    native.compiler = "/usr/bin/cc";
    native.cache = folder;
    if (slt_model_set_native(model, &native) < 0) exit(1);
  }
  return model;
}

/// A run with default options (NULL) or others.
static inline SltSim* bench_start(const SltModel* model, const SltSimOptions* options) {
  SltSimOptions usual = slt_sim_options();
  SltSim* sim = NULL;
  if (slt_sim_create(model, options ? options : &usual, &sim) != SLT_OK || slt_sim_start(sim) < 0) {
    fprintf(stderr, "the run does not start: %s\n", sim ? slt_sim_error(sim).message : "");
    exit(1);
  }
  return sim;
}

/// Run to t_end; returns the number of instants.
static inline uint64_t bench_advance(SltSim* sim, double t_end) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, t_end, NULL);
  }
  if (status < 0) {
    fprintf(stderr, "the run fails: %s\n", slt_sim_error(sim).message);
    exit(1);
  }
  return slt_sim_statistics(sim).instants;
}

static inline double bench_value(SltSim* sim, const char* name) {
  SltQuantity quantity;
  if (slt_sim_find(sim, name, &quantity) < 0) {
    fprintf(stderr, "no '%s' in the model\n", name);
    exit(1);
  }
  return slt_sim_get(sim, quantity);
}

/// Let runs of a model use machine code, and have that made by a short run. False without a
/// compiler.
static inline bool bench_native(SltModel* model, double t_short) {
  static const char* const compilers[] = {"/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"};
  SltNativeOptions options = slt_native_options();
  char folder[] = "/tmp/saltus-bench-XXXXXX";
  for (size_t i = 0; i < sizeof compilers / sizeof *compilers && !options.compiler; i++) {
    if (access(compilers[i], X_OK) == 0) options.compiler = compilers[i];
  }
  if (!options.compiler || !mkdtemp(folder)) return false;
  options.when = SLT_NATIVE_ON;
  options.cache = folder;
  options.cache_limit = 0;  // nothing is kept
  bool set = slt_model_set_native(model, &options) == SLT_OK;
  if (set) {
    SltSim* sim = bench_start(model, NULL);
    bench_advance(sim, t_short);
    slt_sim_free(sim);
  }
  rmdir(folder);
  return set && slt_model_native_report(model).programs > 0;
}

#endif
