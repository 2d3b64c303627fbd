// SPDX-License-Identifier: MIT
//
// Keeping pace with the clock, and the report of what came late.
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "run.h"

#include <errno.h>
#include <math.h>
#include <time.h>

void pace_begin(Pace* pace, double factor) {
  *pace = (Pace){.factor = factor, .begun = wall_clock()};
}

void pace_wait(Pace* pace, double model_time, double period) {
  if (!(pace->factor > 0.0)) return;
  double due = pace->begun + model_time / pace->factor;
  double late = wall_clock() - due;
  if (late > 0.0) {
    if (late > period / pace->factor) pace->overruns++;
    if (late > pace->worst) pace->worst = late;
    return;
  }
  // an interrupt ends the waiting, and soon after the run
  while (late < 0.0 && !progress_signal()) {
    double whole = floor(-late);
    struct timespec wait = {.tv_sec = (time_t)whole, .tv_nsec = (long)((-late - whole) * 1e9)};
    if (nanosleep(&wait, NULL) != 0 && errno != EINTR) return;
    late = wall_clock() - due;
  }
}

void pace_print(FILE* out, const Pace* pace, const char* what) {
  if (!(pace->factor > 0.0)) return;
  cli_print(out, "  overruns     %llu %s a whole period late; worst lateness %.3f ms\n",
            (unsigned long long)pace->overruns, what, 1e3 * pace->worst);
}
