// SPDX-License-Identifier: MIT
//
// The clock on the wall, in seconds from some point on. For files that ask for POSIX.
#ifndef SALTUS_CLI_CLOCK_H
#define SALTUS_CLI_CLOCK_H

#include <time.h>

static inline double wall_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
