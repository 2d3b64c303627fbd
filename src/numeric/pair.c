// SPDX-License-Identifier: MIT
//
// Which of two explicit pairs goes farther for the same number of evaluations. How long the steps
// of the larger one would be cannot be seen in those of the smaller one, so it is tried where
// nothing disturbs the motion, and stays in use while that pays. What is compared is counted, not
// measured by a clock: the same run makes the same choice everywhere.
#include "numeric/internal.h"

#define WINDOW         64    // steps of the smaller pair that tell its pace
#define SETTLING       4     // first steps of the larger one, until its step size has settled
#define TRIAL          16    // ... that tell its pace
#define TERM           1024  // ... after which the smaller one is measured again
#define GAIN           1.1   // from which on the larger one stays
#define PATIENCE_GROWS 4     // where it did not
#define PATIENCE_MAX   4096  // windows

static void begin(NumPairs* pairs, const NumStepper* s, uint8_t phase) {
  pairs->phase = phase;
  pairs->steps = s->counters.steps;
  pairs->rhs = s->counters.rhs;
  pairs->t = s->t;
}

static double pace(const NumPairs* pairs, const NumStepper* s) {
  return (s->t - pairs->t) / (double)(s->counters.rhs - pairs->rhs);
}

/// A window of the smaller pair is over.
static void end_window(NumPairs* pairs, const NumStepper* s) {
  pairs->pace = pace(pairs, s);
  begin(pairs, s, pairs->waits > 0 ? NUM_PAIR_SMALLER : NUM_PAIR_SETTLES);
  pairs->waits -= pairs->waits > 0;
}

/// The larger pair was tried.
static void end_trial(NumPairs* pairs, const NumStepper* s) {
  bool pays = pace(pairs, s) >= GAIN * pairs->pace;
  begin(pairs, s, pays ? NUM_PAIR_LARGER : NUM_PAIR_SMALLER);
  uint32_t patience = pairs->patience ? PATIENCE_GROWS * pairs->patience : 1;
  pairs->patience = pays ? 0 : patience < PATIENCE_MAX ? patience : PATIENCE_MAX;
  pairs->waits = pairs->patience;
}

bool num_pairs_weigh(NumPairs* pairs, const NumStepper* s, bool undisturbed) {
  uint64_t steps = s->counters.steps - pairs->steps;
  bool over = pairs->phase == NUM_PAIR_LARGER && steps >= TERM;
  if (!undisturbed || over) {
    begin(pairs, s, NUM_PAIR_SMALLER);
  } else if (pairs->phase == NUM_PAIR_SMALLER && steps >= WINDOW) {
    end_window(pairs, s);
  } else if (pairs->phase == NUM_PAIR_SETTLES && steps >= SETTLING) {
    begin(pairs, s, NUM_PAIR_TRIED);
  } else if (pairs->phase == NUM_PAIR_TRIED && steps >= TRIAL) {
    end_trial(pairs, s);
  }
  return pairs->phase != NUM_PAIR_SMALLER;
}
