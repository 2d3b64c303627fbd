// SPDX-License-Identifier: MIT
//
// The spine under a brace: a beam of stiff parts (vertebrae) and elastic parts between them. The
// "time" of the simulation is the length along the spine. In a stiff part the line is straight
// (w'' = 0), in an elastic one it bends by the moment (w'' = M / EI); at each border the equations
// are exchanged by a time event, a brace force changes the shear where it acts. The beam is clamped
// below and free above.
#include <saltus/cdcsis.h>

#define PARTS 5

static double w[3];  // deflection, slope, curvature
static double part_elastic = 0.02, part_stiff = 0.03, stiffness = 0.5;  // m, m, N m^2
static double force = 20.0;  // of the brace at the top, N
static double total;

static double moment(double s) {
  return force * (total - s);
}

void blocks(void) {
  switch (sj) {
  case 1:  // elastic: the right side
    w[2] = moment(simtime) / stiffness;
    break;
  case 2:  // into a stiff part: the line goes on straight
    cancel("elastic");
    w[2] = 0.0;
    hold(part_stiff, 3);
    break;
  case 3:  // into an elastic part
    schedule(simtime, 1, 1, 0, "elastic");
    if (simtime + part_elastic < total - 1e-9) hold(part_elastic, 2);
    break;
  }
}

int main(void) {
  total = PARTS * (part_elastic + part_stiff) + part_elastic;
  schedule(0.0, 3, 0, 0, "border");
  integr(2, &w[1], w, 0, "line");
  graf(&w[0], 0.1, "deflection along the spine");
  graf(&w[2], 1.0, "curvature");
  wait(total, 0.001);

  // the same by hand, part by part: cubic in elastic parts, straight in stiff ones
  double deflection = 0.0, slope = 0.0, s = 0.0;
  for (int i = 0; i <= PARTS; i++) {
    double l = part_elastic, m0 = moment(s) / stiffness, dm = -force / stiffness;
    deflection += slope * l + m0 * l * l / 2 + dm * l * l * l / 6;
    slope += m0 * l + dm * l * l / 2;
    s += l;
    if (i == PARTS) break;
    deflection += slope * part_stiff;
    s += part_stiff;
  }
  printf("deflection = %.15g\nby_hand = %.15g\n", w[0], deflection);
  printf("slope = %.15g\nslope_by_hand = %.15g\n", w[1], slope);
  return cdcsis_status() < 0;
}
