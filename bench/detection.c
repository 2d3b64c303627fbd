// SPDX-License-Identifier: MIT
//
// Cost of certification: every model of the gallery run with the detections "combined" (the
// algorithm that suits the type of each event, nothing proved) and "certified" (the same, and proof
// on every accepted step). Prints the time of a run with each (best of several), and the overhead
// of the proof for each model and over the whole gallery. Left out are models that fail on purpose,
// and those that one of the two does not get through because it misses events.
//
// Usage: detection [FOLDER OF MODELS]
#include "bench.h"

#include <dirent.h>

#define EVENTS_MAX 20000  // more are a sequence that does not end
#define MODELS_MAX 200
#define BATCH      0.01  // seconds: a run that takes less is repeated
#define ROUNDS     7

typedef struct Cost {
  double seconds;
  uint64_t steps, events, guards, not_certified;
} Cost;

/// One run from start to end; false when it fails.
static bool run(const SltModel* model, SltDetection detection, Cost* cost) {
  SltSimOptions options = slt_sim_options();
  options.detection = detection;
  options.max_events = EVENTS_MAX;
  SltSim* sim = NULL;
  if (slt_sim_create(model, &options, &sim) != SLT_OK) return false;
  double end = slt_model_experiment(model).end;
  if (isnan(end)) end = 10.0;
  double began = bench_cpu();
  SltStatus status = slt_sim_start(sim);
  while (status == SLT_OK || status == SLT_EVENT) {
    if (slt_sim_time(sim) >= end) break;
    status = slt_sim_advance(sim, end, NULL);
  }
  cost->seconds = bench_cpu() - began;
  SltStatistics s = slt_sim_statistics(sim);
  cost->steps = s.steps;
  cost->events = s.instants;
  cost->guards = s.guard_evaluations;
  cost->not_certified = s.not_certified;
  slt_sim_free(sim);
  return status >= 0;
}

/// Mean time of enough runs to be seen by the clock.
static double batch(const SltModel* model, SltDetection detection, int repetitions, Cost* cost) {
  double sum = 0.0;
  for (int i = 0; i < repetitions; i++) {
    run(model, detection, cost);
    sum += cost->seconds;
  }
  return sum / repetitions;
}

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

static size_t list_models(const char* folder, char** names) {
  DIR* dir = opendir(folder);
  size_t count = 0;
  if (!dir) return 0;
  for (struct dirent* entry = readdir(dir); entry && count < MODELS_MAX; entry = readdir(dir)) {
    size_t length = strlen(entry->d_name);
    if (length < 7 || strcmp(entry->d_name + length - 6, ".lisma") != 0) continue;
    names[count++] = strdup(entry->d_name);
  }
  closedir(dir);
  qsort(names, count, sizeof *names, by_name);
  return count;
}

/// Compare the two on one model; adds to the totals.
static void compare(const char* folder, const char* name, double* total) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  SltModel* model = NULL;
  if (slt_model_compile_file(path, NULL, &model) != SLT_OK) return;
  Cost plain;
  Cost proved;
  if (run(model, SLT_DETECTION_COMBINED, &plain) && run(model, SLT_DETECTION_CERTIFIED, &proved)) {
    int repetitions = bench_smoke() ? 1 : 1 + (int)(BATCH / fmax(proved.seconds, 1e-6));
    double best[2] = {HUGE_VAL, HUGE_VAL};
    for (int round = 0; round < (bench_smoke() ? 1 : ROUNDS); round++) {
      best[0] = fmin(best[0], batch(model, SLT_DETECTION_COMBINED, repetitions, &plain));
      best[1] = fmin(best[1], batch(model, SLT_DETECTION_CERTIFIED, repetitions, &proved));
    }
    printf("%-22.*s %9.3f %9.3f %+7.1f %% %8llu %7llu %6llu\n", (int)strlen(name) - 6, name,
           1e3 * best[0], 1e3 * best[1], 100.0 * (best[1] / best[0] - 1.0),
           (unsigned long long)proved.steps, (unsigned long long)proved.events,
           (unsigned long long)proved.not_certified);
    total[0] += best[0];
    total[1] += best[1];
    total[2] += log(best[1] / best[0]);
    total[3] += 1.0;
  }
  slt_model_free(model);
}

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : "models";
  static char* names[MODELS_MAX];
  size_t count = list_models(folder, names);
  if (bench_smoke() && count > 3) count = 3;
  if (count == 0) {
    fprintf(stderr, "no models in %s\n", folder);
    return 1;
  }
  double total[4] = {0.0, 0.0, 0.0, 0.0};
  printf("%-22s %9s %9s %9s %8s %7s %6s\n", "model", "combined", "certified", "overhead", "steps",
         "events", "n.cert");
  for (size_t i = 0; i < count; i++) {
    compare(folder, names[i], total);
    free(names[i]);
  }
  printf("%-22s %9.3f %9.3f %+7.1f %%   (geometric mean %+.1f %%; milliseconds)\n", "gallery",
         1e3 * total[0], 1e3 * total[1], 100.0 * (total[1] / total[0] - 1.0),
         100.0 * (exp(total[2] / fmax(total[3], 1.0)) - 1.0));
  BenchRow row = bench_row("certification", "proof of detection over the gallery, geometric mean");
  row.opponent = "detection without proof";
  row.unit = "model";
  row.units = total[3];
  row.opponent_s = total[0];
  row.saltus_s = total[0] * exp(total[2] / fmax(total[3], 1.0));
  row.budget = 1.15;
  bench_print(&row);
  return 0;
}
