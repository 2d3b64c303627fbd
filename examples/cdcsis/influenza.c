// SPDX-License-Identifier: MIT
//
// An epidemic of influenza in a town: susceptible, infected, recovered. When the infected pass a
// threshold (state event) schools are closed for three weeks and contacts are halved; if the wave
// comes back, they close again. The vaccination begins on a fixed day (time event).
#include <saltus/cdcsis.h>

static double state[6];  // S, I, R and their rates
static double contacts = 0.5, recovery = 0.25, vaccination;
static double population = 1.0e5, threshold = 3.0e3;
static double p, p_peak, day_closed, peak, day_peak;
static int closings;

void blocks(void) {
  double* rate = state + 3;
  switch (sj) {
  case 1: {
    double infections = contacts * state[0] * state[1] / population;
    rate[0] = -infections - vaccination * state[0];
    rate[1] = infections - recovery * state[1];
    rate[2] = recovery * state[1] + vaccination * state[0];
    break;
  }
  case 2:  // do the infected pass the threshold?
    if (event(threshold - state[1], p)) {
      if (closings++ == 0) day_closed = simtime;
      contacts = 0.25;  // as many as recover
      schedule(simtime + 21.0, 3, 0, 0, "open");
    }
    // the height of the wave is where the rate leaves the positive values
    if (event(rate[1], p_peak) && state[1] > peak) {
      peak = state[1];
      day_peak = simtime;
    }
    break;
  case 3:  // schools open
    contacts = 0.5;
    break;
  case 4:  // vaccination begins
    vaccination = 0.004;
    break;
  }
}

int main(void) {
  cdcsis_method("dp54");
  cdcsis_tolerance(1e-9, 1e-6);
  state[0] = population - 10.0;
  state[1] = 10.0;
  schedule(0.0, 1, 1, 0, "rates");
  schedule(0.0, 2, -1, 0, "threshold");
  schedule(60.0, 4, 0, 0, "vaccination");
  integr(3, state + 3, state, 0, "epidemic");
  graf(&state[1], 1.0e4, "infected");
  graf(&state[0], 1.0e5, "susceptible");
  wait(200.0, 0.5);
  printf("day_closed = %.9g\nclosings = %d\n", day_closed, closings);
  printf("peak = %.9g\nday_peak = %.9g\n", peak, day_peak);
  printf("total = %.12g\n", state[0] + state[1] + state[2]);
  printf("recovered = %.9g\n", state[2]);
  return cdcsis_status() < 0;
}
