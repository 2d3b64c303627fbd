// SPDX-License-Identifier: MIT
//
// Balls on a billiard table. Shocks of two balls and of a ball with the barrier are state events;
// one check block looks at all of them in loops.
#include <saltus/cdcsis.h>

#define BALLS 3

static double pos[2 * BALLS], vel[2 * BALLS];
static double width = 2.54, height = 1.27, radius = 0.03;
static int barrier_shocks, ball_shocks;
static double p;
static double circle_a[] = {0.0, 1000.0}, circle_b[] = {0.0, 0.03};
static double table_a[] = {-1.27, 1.27, 1.27, -1.27, -1.27};
static double table_b[] = {-0.635, -0.635, 0.635, 0.635, -0.635};

/// Equal masses exchange their velocities along the line of centres.
static void shock(int i, int j) {
  double nx = pos[2 * j] - pos[2 * i];
  double ny = pos[2 * j + 1] - pos[2 * i + 1];
  double distance = sqrt(nx * nx + ny * ny);
  nx /= distance;
  ny /= distance;
  double u = (vel[2 * i] - vel[2 * j]) * nx + (vel[2 * i + 1] - vel[2 * j + 1]) * ny;
  vel[2 * i] -= u * nx;
  vel[2 * i + 1] -= u * ny;
  vel[2 * j] += u * nx;
  vel[2 * j + 1] += u * ny;
  ball_shocks++;
}

static void check(void) {
  for (int i = 0; i < BALLS; i++) {
    for (int c = 0; c < 2; c++) {
      double limit = (c == 0 ? width : height) / 2 - radius;
      double* v = &vel[2 * i + c];
      if (event(limit - pos[2 * i + c], p) && *v > 0.0) {
        *v = -*v;
        barrier_shocks++;
      }
      if (event(limit + pos[2 * i + c], p) && *v < 0.0) {
        *v = -*v;
        barrier_shocks++;
      }
    }
    for (int j = i + 1; j < BALLS; j++) {
      double dx = pos[2 * j] - pos[2 * i];
      double dy = pos[2 * j + 1] - pos[2 * i + 1];
      if (event(sqrt(dx * dx + dy * dy) - 2 * radius, p)) shock(i, j);
    }
  }
}

void blocks(void) {
  static double key[BALLS];
  switch (sj) {
  case 1:
    for (int i = 0; i < BALLS; i++) {
      ptrans = &key[i];  // three drawings with the same points
      anim(2.8, 1.5, 1.3, 0.7, pos[2 * i], pos[2 * i + 1], 0.0, 2, circle_a, circle_b);
    }
    ptrans = 0;
    break;
  case 2: check(); break;
  }
}

int main(void) {
  static const double start[] = {-0.8, 0.02, 0.5, 0.0, 0.57, 0.045};
  static const double speed[] = {2.0, 0.01, 0.0, 0.0, 0.0, 0.0};
  cdcsis_method("dp54");
  for (int i = 0; i < 2 * BALLS; i++) {
    pos[i] = start[i];
    vel[i] = speed[i];
  }
  schedule(0.0, 1, 1, 0, "draw");
  schedule(0.0, 2, -1, 0, "shocks");
  integr(2 * BALLS, vel, pos, 0, "balls");
  anim(2.8, 1.5, 1.3, 0.7, 0.0, 0.0, 0.0, 5, table_a, table_b);
  graf(&pos[0], 1.27, "x of the first ball");
  graf(&pos[2], 1.27, "x of the second ball");
  wait(10.0, 0.02);
  double energy = 0.0;
  for (int i = 0; i < 2 * BALLS; i++) {
    energy += 0.5 * vel[i] * vel[i];
  }
  printf("barrier_shocks = %d\nball_shocks = %d\n", barrier_shocks, ball_shocks);
  printf("energy = %.15g\nx0 = %.12g\ny0 = %.12g\n", energy, pos[0], pos[1]);
  return cdcsis_status() < 0;
}
