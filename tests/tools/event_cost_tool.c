// SPDX-License-Identifier: MIT
//
// event_cost_tool BEGIN END FILE...: runs each model to END and prints how many events lie behind
// BEGIN. Under callgrind the instructions of that stretch are dumped, one part for each model:
// event_costs.py counts with it what an event costs. Records are made as for somebody who reads
// them.
#include <saltus/saltus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifndef CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_TOGGLE_COLLECT ((void)0)
#define CALLGRIND_DUMP_STATS     ((void)0)
#define USAGE                    77  // nothing can be counted
#else
#define USAGE 2
#endif

static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  char* text = NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    long size = ftell(file);
    text = size < 0 ? NULL : calloc((size_t)size + 1, 1);
    rewind(file);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) text[0] = '\0';
  }
  fclose(file);
  return text;
}

static void take(void* user, const SltEvent* event) {
  (void)user;
  (void)event;
}

static bool advance(SltSim* sim, double t) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, t, NULL);
  }
  return status == SLT_OK;
}

static bool count(const char* path, double begin, double end) {
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  char* text = read_text(path);
  bool good = text && slt_model_compile(path, text, strlen(text), NULL, &model) == SLT_OK &&
              slt_sim_create(model, &options, &sim) == SLT_OK;
  if (good) {
    slt_sim_on_event(sim, take, NULL);
    good = slt_sim_start(sim) == SLT_OK && advance(sim, begin);
  }
  if (good) {
    uint64_t before = slt_sim_statistics(sim).instants;
    CALLGRIND_TOGGLE_COLLECT;
    good = advance(sim, end);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS;
    printf("%.0f\n", (double)(slt_sim_statistics(sim).instants - before));
  }
  slt_sim_free(sim);
  slt_model_free(model);
  free(text);
  return good;
}

int main(int argc, char** argv) {
  if (argc < 4) return USAGE;
  for (int i = 3; i < argc; i++) {
    if (count(argv[i], strtod(argv[1], NULL), strtod(argv[2], NULL))) continue;
    fprintf(stderr, "%s does not run to its end\n", argv[i]);
    return 1;
  }
  return 0;
}
