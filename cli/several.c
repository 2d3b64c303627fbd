// SPDX-License-Identifier: MIT
//
// `saltus run A B`: one model after the other, and `--watch`: again when one of them changes.
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- several models -----------------------------------------------------------------------------

/// Whether an argument names an output: the option itself, or `option=`; its value then.
static const char* output_value(const char* argument, bool* follows) {
  static const char* const options[] = {"-o",     "--output", "--events",
                                        "--plot", "--report", "--checkpoint"};
  *follows = false;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    size_t length = strlen(options[i]);
    if (strcmp(argument, options[i]) == 0) {
      *follows = true;
      return NULL;
    }
    if (strncmp(argument, options[i], length) == 0 && argument[length] == '=') {
      return argument + length + 1;
    }
  }
  return NULL;
}

/// With `%` the name of the model; NULL after a message.
static char* named_for(const char* text, const char* value, const char* model) {
  const char* percent = strchr(value, '%');
  if (!percent && strcmp(value, "-") != 0) {
    cli_error("several models cannot share the output %s", value);
    cli_hint("%% stands for the name of the model: %%.csv");
    return NULL;
  }
  char* title = path_title(model, "");
  size_t size = title ? strlen(text) + strlen(title) + 1 : 0;
  char* named = title ? malloc(size) : NULL;
  if (named && percent) {
    snprintf(named, size, "%.*s%s%s", (int)(percent - text), text, title, percent + 1);
  } else if (named) {
    snprintf(named, size, "%s", text);
  }
  free(title);
  if (!named) out_of_memory();
  return named;
}

/// The arguments of one of the models.
static int run_one(int argc, char** argv, const int* places, int count, int which, RunFn* run) {
  char** own = calloc((size_t)argc + 1, sizeof *own);
  char** made = calloc((size_t)argc + 1, sizeof *made);
  int exit = own && made ? CLI_DONE : out_of_memory();
  const char* model = argv[places[which]];
  int used = 0;
  int word = 0;
  bool follows = false;
  for (int i = 0; i < argc && exit == CLI_DONE; i++) {
    if (word < count && places[word] == i && word++ != which) continue;
    bool before = follows;
    const char* value = output_value(argv[i], &follows);
    if (before) value = argv[i];
    own[used] = argv[i];
    if (value) {
      own[used] = made[i] = named_for(argv[i], value, model);
      if (!made[i]) exit = CLI_USAGE;
    }
    used++;
  }
  if (exit == CLI_DONE) exit = run(used, own);
  for (int i = 0; made && i < argc; i++)
    free(made[i]);
  free((void*)made);
  free((void*)own);
  return exit;
}

/// All of them, whatever becomes of one; the status is that of the first that failed.
static int run_all(int argc, char** argv, const int* places, int count, RunFn* run) {
  int exit = count < 2 ? run(argc, argv) : CLI_DONE;
  for (int i = 0; i < count && count > 1; i++) {
    int one = run_one(argc, argv, places, count, i, run);
    if (exit == CLI_DONE) exit = one;
    if (one > CLI_SIGNAL || one == CLI_USAGE) break;
  }
  inputs_clear();
  return exit;
}

// ---- changes ------------------------------------------------------------------------------------

/// What changes when a file does.
static uint64_t stamp_of(const char* path) {
  uint64_t stamp = 1469598103934665603u;
  struct stat file = {0};
  bool there = stat(path, &file) == 0;
  const uint64_t parts[] = {there, (uint64_t)file.st_mtim.tv_sec, (uint64_t)file.st_mtim.tv_nsec,
                            (uint64_t)file.st_size, (uint64_t)file.st_ino};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    stamp = (stamp ^ parts[k]) * 1099511628211u;
  return stamp;
}

/// ... of the models together, and of the first `count` files that they have named.
static uint64_t stamp_of_all(char** argv, const int* places, int models, uint32_t count) {
  uint64_t stamp = 0;
  for (int i = 0; i < models; i++)
    stamp += stamp_of(argv[places[i]]);
  for (uint32_t i = 0; i < count; i++)
    stamp += stamp_of(inputs_named()->items[i]);
  return stamp;
}

static void rest(long milliseconds) {
  struct timespec time = {.tv_nsec = milliseconds * 1000000L};
  nanosleep(&time, NULL);
}

static bool any_exists(char** argv, const int* places, int count) {
  for (int i = 0; i < count; i++) {
    if (access(argv[places[i]], F_OK) == 0) return true;
  }
  return false;
}

static int watch(int argc, char** argv, const int* places, int count, RunFn* run) {
  for (int i = 0; i < count; i++) {
    if (strcmp(argv[places[i]], "-") != 0) continue;
    cli_error("--watch needs a file: standard input does not change");
    return CLI_USAGE;
  }
  // a name that is wrong from the beginning is no file that could change
  if (!any_exists(argv, places, count)) return run_all(argc, argv, places, count, run);
  for (;;) {
    uint32_t known = inputs_named()->count;
    uint64_t stamp = stamp_of_all(argv, places, count, known);
    int exit = run_all(argc, argv, places, count, run);
    if (exit > CLI_SIGNAL || exit == CLI_USAGE) return exit;
    if (stdout_finish(CLI_DONE) != CLI_DONE) return CLI_PIPE;
    uint32_t named = inputs_named()->count;
    for (uint32_t i = known; i < named; i++)
      stamp += stamp_of(inputs_named()->items[i]);
    cli_note("waiting for a change; Ctrl-C ends");
    while (stamp_of_all(argv, places, count, named) == stamp)
      rest(200);
    rest(50);  // an editor may not have written everything
  }
}

static bool wants_watch(int argc, char** argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--watch") == 0) return true;
  }
  return false;
}

int run_several(int argc, char** argv, RunFn* run) {
  int* places = calloc((size_t)argc + 1, sizeof *places);
  if (!places) return out_of_memory();
  int count = run_words(argc, argv, places);
  int exit = CLI_USAGE;
  if (count >= 0 && wants_watch(argc, argv)) {
    exit = watch(argc, argv, places, count, run);
  } else if (count >= 0) {
    exit = run_all(argc, argv, places, count, run);
  }
  free(places);
  return exit;
}
