// SPDX-License-Identifier: MIT
//
// A vehicle wheel that oscillates in its guide: mass on a spring, driven by the road, with dry
// friction. While it slips there is one degree of freedom more than while it sticks; both borders
// are state events. Blocks are put in and taken out where the structure changes.
#include <saltus/cdcsis.h>

static double x[3];  // displacement, velocity, acceleration
static double xw[4];
static double m = 25.0, k = 1.0e4, friction = 60.0, static_friction = 80.0;
static double road = 100.0, omega = 12.0;  // force of the road
static double direction;                   // of the slip: +1 or -1
static double p1, p2;
static double t_first_slip, stuck_time, t_stuck;
static int slips, sticks;

static double force(void) {
  return road * sin(omega * simtime) - k * x[0];
}

void blocks(void) {
  switch (sj) {
  case 1:  // slipping: the right side of the equation
    x[2] = (force() - direction * friction) / m;
    break;
  case 2:  // slipping: does it come to rest?
    if (event(direction * x[1], p1)) {
      x[1] = 0.0;
      cancel("slip");
      cancel("x");
      schedule(simtime, 3, -1, 0, "stick");
      t_stuck = simtime;
      sticks++;
    }
    break;
  case 3:  // sticking: does the force overcome the static friction?
    if (event(static_friction - fabs(force()), p2)) {
      direction = force() > 0.0 ? 1.0 : -1.0;
      cancel("stick");
      schedule(simtime, 1, 1, 0, "slip");
      schedule(simtime, 2, -1, 0, "slip");
      integr(2, &x[1], x, xw, "x");
      x[1] = direction * 1e-9;
      if (slips++ == 0) t_first_slip = simtime;
      stuck_time += simtime - t_stuck;
    }
    break;
  }
}

int main(void) {
  cdcsis_method("dp54");
  cdcsis_tolerance(1e-9, 1e-12);
  schedule(0.0, 3, -1, 0, "stick");
  graf(&x[0], 0.01, "displacement");
  graf(&x[1], 0.1, "velocity");
  wait(3.0, 0.005);
  printf("t_first_slip = %.12g\n", t_first_slip);
  printf("slips = %d\nsticks = %d\n", slips, sticks);
  printf("stuck_time = %.6g\n", stuck_time);
  return cdcsis_status() < 0;
}
