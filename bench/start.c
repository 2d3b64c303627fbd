// SPDX-License-Identifier: MIT
//
// Whole process: from its start to the first row of a small model.
//
// Definition: `saltus run models/ball.lisma -q -o -` with its output in a pipe; time from the
// creation of the process to the first complete row behind the header (best of several). There is
// no opponent. Budget: 10 ms.
//
// Usage: start [PROGRAM [MODEL]], from the root of the source tree.
#include "bench.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

/// Seconds to the second line of the program's output; infinite when there is none.
static double first_row(const char* program, const char* model) {
  int ends[2];
  if (pipe(ends) != 0) return HUGE_VAL;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char* const arguments[] = {(char*)program, "run", (char*)model, "-q", "-o", "-", NULL};
  pid_t child = 0;
  double began = bench_now();
  double seconds = HUGE_VAL;
  int status = posix_spawn(&child, program, &actions, NULL, arguments, environ);
  close(ends[1]);
  char buffer[65536];
  int lines = 0;
  ssize_t count = 0;
  while (status == 0 && (count = read(ends[0], buffer, sizeof buffer)) > 0) {
    for (ssize_t i = 0; i < count; i++) {
      if (buffer[i] == '\n' && ++lines == 2) seconds = bench_now() - began;
    }
  }
  close(ends[0]);
  posix_spawn_file_actions_destroy(&actions);
  if (status == 0) waitpid(child, NULL, 0);
  return seconds;
}

int main(int argc, char** argv) {
  // beside the folder of the benchmarks
  char beside[1000];
  snprintf(beside, sizeof beside, "%s", argv[0]);
  char* cut = strrchr(beside, '/');
  snprintf(cut ? cut : beside, sizeof beside - (size_t)((cut ? cut : beside) - beside),
           "/../saltus");
  const char* program = argc > 1 ? argv[1] : beside;
  const char* model = argc > 2 ? argv[2] : "models/ball.lisma";
  BenchRow row = bench_row("start", "whole process, small model: first row");
  row.unit = "process";
  row.units = 1.0;
  row.limit_s = 0.010;
  row.saltus_s = HUGE_VAL;
  for (int i = 0; i < (bench_smoke() ? 1 : 40); i++) {
    row.saltus_s = fmin(row.saltus_s, first_row(program, model));
  }
  bench_print(&row);
  return isfinite(row.saltus_s) ? 0 : 1;
}
