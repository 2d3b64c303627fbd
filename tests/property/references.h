// SPDX-License-Identifier: MIT
//
// What tests against independent references share: random numbers, model texts, runs at given
// times. SALTUS_CASES sets the number of cases, SALTUS_SEED the first of them; SALTUS_SHOW prints
// the texts.
#ifndef SALTUS_TEST_REFERENCES_H
#define SALTUS_TEST_REFERENCES_H

#include "test.h"

#include <saltus/saltus.h>

#define REF_TEXT  16384
#define REF_VALUE 20
#define REF_NAME  16
#define REF_KNOWN 1024   // listed failures
#define REF_STEPS 20000  // and events; a run that takes more does not get on

/// Numbers of a case: splitmix64.
typedef struct Dice {
  uint64_t state;
} Dice;

static double dice_unit(Dice* d) {
  uint64_t z = (d->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/// In the range, with three decimals, so that the text has the same number.
TEST_UNUSED static double dice_number(Dice* d, double low, double high) {
  return round(1000.0 * (low + (high - low) * dice_unit(d))) / 1000.0;
}

TEST_UNUSED static bool dice_chance(Dice* d, double share) {
  return dice_unit(d) < share;
}

TEST_UNUSED static int dice_whole(Dice* d, int low, int high) {
  return low + (int)(dice_unit(d) * (high - low + 1));
}

typedef struct ModelText {
  char data[REF_TEXT];
  size_t length;
} ModelText;

__attribute__((format(printf, 2, 3))) static void say(ModelText* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(text->data + text->length, REF_TEXT - text->length, format, arguments);
  va_end(arguments);
  CHECK(n >= 0 && text->length + (size_t)n < REF_TEXT, "the text fits");
  text->length += (size_t)n;
}

/// Values of the named variables at the given times; false with a message where the run fails. The
/// states are of the size of a unit: what has units among the options has it too.
static bool run_in_unit(const ModelText* text, double unit, char (*names)[REF_NAME], int count,
                        const double* times, int samples, double (*values)[REF_VALUE],
                        char message[256]) {
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  if (unit != 1.0) options.atol = 1e-9 * unit;
  bool right = slt_model_compile("model", text->data, text->length, NULL, &model) == SLT_OK;
  if (!right) snprintf(message, 256, "does not compile");
  if (right && slt_sim_create(model, &options, &sim) != SLT_OK) right = false;
  if (right && slt_sim_start(sim) < SLT_OK) right = false;
  for (int s = 0; right && s < samples; s++) {
    SltStatus status = SLT_OK;
    double reached = -INFINITY;
    uint64_t steps = 0;
    while (status >= SLT_OK && status != SLT_END && reached < times[s] && steps++ < REF_STEPS) {
      status = slt_sim_advance_step(sim, times[s], &reached);
    }
    if (status < SLT_OK || reached < times[s]) right = false;
    if (steps > REF_STEPS) snprintf(message, 256, "more than %d steps", REF_STEPS);
    for (int i = 0; right && i < count; i++) {
      SltQuantity quantity;
      right = slt_sim_find(sim, names[i], &quantity) == SLT_OK;
      if (right) values[s][i] = slt_sim_get(sim, quantity);
    }
  }
  if (!right && sim && slt_sim_error(sim).message[0]) {
    snprintf(message, 256, "%s", slt_sim_error(sim).message);
  }
  slt_sim_free(sim);
  slt_model_free(model);
  return right;
}

TEST_UNUSED static bool run_at(const ModelText* text, char (*names)[REF_NAME], int count,
                               const double* times, int samples, double (*values)[REF_VALUE],
                               char message[256]) {
  return run_in_unit(text, 1.0, names, count, times, samples, values, message);
}

// -- known failures ------------------------------------------------------------------------------

/// Cases of one test, with the seeds in tests/laws/known/NAME.txt that are known to fail. A listed
/// one that agrees is a failure like an unlisted one that does not. SALTUS_UPDATE writes the list
/// anew.
typedef struct Cases {
  const char* name;
  uint64_t first, count, wrong, better, known_count, failed_count;
  uint64_t known[REF_KNOWN], failed[REF_KNOWN];
} Cases;

static FILE* known_file(const Cases* cases, const char* mode) {
  char path[1024];
  const char* source = getenv("SALTUS_SOURCE");
  snprintf(path, sizeof path, "%s/tests/laws/known/%s.txt", source ? source : ".", cases->name);
  return fopen(path, mode);
}

TEST_UNUSED static void cases_begin(Cases* cases, const char* name, uint64_t count) {
  *cases =
      (Cases){.name = name, .first = test_setting("SALTUS_SEED", 1), .count = test_cases(count)};
  FILE* file = known_file(cases, "r");
  unsigned long long seed = 0;
  while (file && cases->known_count < REF_KNOWN && fscanf(file, "%llu", &seed) == 1) {
    cases->known[cases->known_count++] = seed;
  }
  if (file) fclose(file);
}

TEST_UNUSED static void cases_result(Cases* cases, uint64_t seed, bool right) {
  bool known = false;
  for (uint64_t i = 0; i < cases->known_count; i++) {
    known = known || cases->known[i] == seed;
  }
  if (known && right) {
    print_error("seed %llu agrees now: take it from tests/laws/known/%s.txt\n",
                (unsigned long long)seed, cases->name);
    cases->better++;
  }
  if (!known && !right) cases->wrong++;
  if (!right && cases->failed_count < REF_KNOWN) cases->failed[cases->failed_count++] = seed;
}

TEST_UNUSED static void cases_end(const Cases* cases) {
  printf("%llu cases, %llu disagree, %llu of them unknown\n", (unsigned long long)cases->count,
         (unsigned long long)cases->failed_count, (unsigned long long)cases->wrong);
  if (getenv("SALTUS_UPDATE")) {
    FILE* file = known_file(cases, "w");
    CHECK(file, "the list of known failures can be written");
    for (uint64_t i = 0; i < cases->failed_count; i++) {
      fprintf(file, "%llu\n", (unsigned long long)cases->failed[i]);
    }
    fclose(file);
    return;
  }
  CHECK(cases->wrong == 0, "agreement with the reference");
  CHECK(cases->better == 0, "known failures fail");
}

#endif
