// SPDX-License-Identifier: MIT
//
// A man falls down a shaft and strikes its wall. The body is a point that falls with a horizontal
// push and a drag; where it meets the wall (state event) the normal velocity is reversed in part
// and the wall brakes the fall; at the bottom the run of its blocks ends.
#include <saltus/cdcsis.h>

static double x[3], y[3];  // place, velocity, acceleration
static double xw[4], yw[4];
static double width = 2.0, depth = 40.0, g = 9.81, drag = 0.0;
static double restitution = 0.6, rubbing = 0.2;
static double p_left, p_right, p_bottom;
static int strikes;
static double t_first, t_bottom, v_bottom;
static double a[] = {-0.25, 0.25, 0.25, -0.25, -0.25, 0.0, 1000.0};
static double b[] = {-0.6, -0.6, 0.6, 0.6, -0.6, 0.8, 0.18};
static double wall_a[] = {-1.2, -1.2, 1.2, 1.2}, wall_b[] = {1.0, -41.0, -41.0, 1.0};

static void strike(void) {
  double impulse = (1.0 + restitution) * fabs(x[1]);
  x[1] = -restitution * x[1];
  y[1] += rubbing * impulse * (y[1] < 0.0 ? 1.0 : -1.0);
  if (strikes++ == 0) t_first = simtime;
}

void blocks(void) {
  switch (sj) {
  case 1:
    x[2] = -drag * x[1];
    y[2] = -g - drag * y[1];
    anim(100.0, 46.0, 1.0, 1.0, 3.0 * x[0], y[0] + 20.0, 0.0, 7, a, b);
    break;
  case 2:
    if (event(width / 2 - x[0], p_right)) strike();
    if (event(x[0] + width / 2, p_left)) strike();
    if (event(y[0] + depth, p_bottom)) {
      t_bottom = simtime;
      v_bottom = y[1];
      cancel("fall");
    }
    break;
  }
}

int main(void) {
  cdcsis_method("dop853");
  cdcsis_tolerance(1e-10, 1e-12);
  x[1] = 3.0;
  schedule(0.0, 1, 1, 0, "motion");
  schedule(0.0, 2, -1, 0, "walls");
  integr(2, &x[1], x, xw, "fall");
  integr(2, &y[1], y, yw, "fall");
  anim(100.0, 46.0, 50.0, 50.0, 0.0, 20.0, 0.0, 4, wall_a, wall_b);
  graf(&y[0], 40.0, "height");
  graf(&x[0], 1.0, "distance from the middle");
  wait(5.0, 0.02);
  printf("t_first = %.12g\nstrikes = %d\n", t_first, strikes);
  printf("t_bottom = %.12g\nv_bottom = %.12g\ny_end = %.12g\n", t_bottom, v_bottom, y[0]);
  return cdcsis_status() < 0;
}
