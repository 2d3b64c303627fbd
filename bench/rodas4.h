// SPDX-License-Identifier: MIT
//
// RODAS of order 4(3) as the hand-written opponents use it: the coefficients of Hairer & Wanner II,
// IV.7, and a controller of the same class as the library's.
#ifndef SALTUS_BENCH_RODAS4_H
#define SALTUS_BENCH_RODAS4_H

#include <math.h>

#define R4_GAMMA 0.25
#define R4_A21   1.544
#define R4_A31   0.9466785280815826
#define R4_A32   0.2557011698983284
#define R4_A41   3.314825187068521
#define R4_A42   2.896124015972201
#define R4_A43   0.9986419139977817
#define R4_A51   1.221224509226641
#define R4_A52   6.019134481288629
#define R4_A53   12.53708332932087
#define R4_A54   -0.687886036105895
#define R4_C21   -5.6688
#define R4_C31   -2.430093356833875
#define R4_C32   -0.2063599157091915
#define R4_C41   -0.1073529058151375
#define R4_C42   -9.594562251023355
#define R4_C43   -20.47028614809616
#define R4_C51   7.496443313967647
#define R4_C52   -10.24680431464352
#define R4_C53   -33.99990352819905
#define R4_C54   11.7089089320616
#define R4_C61   8.083246795921522
#define R4_C62   -7.981132988064893
#define R4_C63   -31.52159432874371
#define R4_C64   16.31930543123136
#define R4_C65   -6.058818238834054

typedef struct Rodas4Control {
  double last;   // error of the last accepted step
  int rejected;  // the step before was
} Rodas4Control;

/// Factor of the next step; an error above 1 is a rejection.
static inline double rodas4_factor(Rodas4Control* c, double error) {
  double e = fmax(error, 1e-10);
  if (error > 1.0) {
    c->rejected = 1;
    return fmax(0.2, 0.9 * pow(e, -0.25));
  }
  double factor = 0.9 * pow(e, -0.2125) * pow(c->last, 0.05);
  factor = fmin(fmax(factor, 0.2), c->rejected ? 1.0 : 5.0);
  c->rejected = 0;
  c->last = fmax(e, 1e-4);
  return factor;
}

#endif
