// SPDX-License-Identifier: MIT
//
// The engine of the paper with error control and located events instead of steps of 0.02 s, in
// which the shaft turns by two radians: the two displacements converge, the literal ones are 6 %
// off. The third graph is the turning velocity, which the paper shows as its figure 3.
#include <saltus/cdcsis.h>

static double y[3], alfa[3], fi[3];  // value, rate, acceleration
static double yw[4], alfaw[4], fiw[4];
static double k = 1.0e6, m = 500.0, Ip = 250.0, F1 = 1000.0, omega = 100.0;
static double T1 = 5.0, T2 = 1.0, T3 = 5.0;
static double damping_y, damping_alfa;

void blocks(void) {
  double force = F1 * sin(fi[0]);
  switch (sj) {
  case 1:
    y[2] = (force - k * y[0]) / m - 2.0 * damping_y * y[1];
    alfa[2] = (0.7 * force - 0.81 * k * alfa[0]) / Ip - 2.0 * damping_alfa * alfa[1];
    break;
  case 2: fi[2] = 0.0; break;
  case 3: fi[2] = -omega / T3; break;
  case 4: cancel("shaft"); break;
  case 5: printf("y_at_5_5 = %.10g\nalfa_at_5_5 = %.10g\n", y[0], alfa[0]); break;
  }
}

int main(void) {
  damping_y = 0.1418 * sqrt(k / m);
  damping_alfa = 0.1418 * sqrt(k * 0.81 / Ip);
  fi[2] = omega / T1;
  cdcsis_method("dp54");
  cdcsis_tolerance(1e-10, 1e-14);
  schedule(0.0, 1, 1, 0, "forces");
  schedule(T1, 2, 0, 0, "steady");
  schedule(5.5, 5, 0, 0, "look");
  schedule(T1 + T2, 3, 0, 0, "slower");
  schedule(T1 + T2 + T3, 4, 0, 0, "stop");
  graf(&y[0], 0.01, "vertical displacement");
  graf(&alfa[0], 0.01, "turning");
  graf(&fi[1], 100.0, "turning velocity");
  integr(2, &fi[1], fi, fiw, "shaft");
  integr(2, &y[1], y, yw, "y");
  integr(2, &alfa[1], alfa, alfaw, "alfa");
  wait(T1 + T2 + T3 + 0.5, 0.005);
  printf("fi_end = %.10g\nomega_end = %.10g\ny_end = %.10g\n", fi[0], fi[1], y[0]);
  return cdcsis_status() < 0;
}
