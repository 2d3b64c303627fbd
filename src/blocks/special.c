// SPDX-License-Identifier: MIT
//
// Special functions behind statistics and random numbers. The C library's lgamma writes a global
// variable, so there is one of our own.
#include "blocks/blocks.h"

#include <math.h>

#define TINY   1e-300
#define ROUNDS 500
#define NEARLY 1e-15  // relative change at which a series or fraction has ended

double blk_log_gamma(double x) {
  double shift = 0.0;
  while (x < 10.0) {  // Stirling's series (DLMF 5.11.1) needs a large argument
    shift -= base_log(x);
    x += 1.0;
  }
  double r = 1.0 / (x * x);
  double series =
      (1.0 / 12 -
       r * (1.0 / 360 -
            r * (1.0 / 1260 - r * (1.0 / 1680 - r * (1.0 / 1188 - r * (691.0 / 360360)))))) /
      x;
  return shift + (x - 0.5) * base_log(x) - x + 0.91893853320467274178 + series;
}

static double not_zero(double x) {
  return fabs(x) < TINY ? TINY : x;
}

/// Continued fraction of the incomplete beta function (DLMF 8.17.22), by modified Lentz.
static double beta_fraction(double a, double b, double x) {
  double c = 1.0;
  double d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double f = d;
  for (int m = 1; m < ROUNDS; m++) {
    double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / not_zero(1.0 + even * d);
    c = not_zero(1.0 + even / c);
    f *= c * d;
    d = 1.0 / not_zero(1.0 + odd * d);
    c = not_zero(1.0 + odd / c);
    f *= c * d;
    if (fabs(c * d - 1.0) < NEARLY) break;
  }
  return f;
}

double blk_beta_share(double a, double b, double x) {
  if (!(x > 0.0)) return 0.0;
  if (!(x < 1.0)) return 1.0;
  double front = base_exp(blk_log_gamma(a + b) - blk_log_gamma(a) - blk_log_gamma(b) +
                          a * base_log(x) + b * base_log1p(-x));
  if (x <= (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double blk_gamma_share(double a, double x) {
  if (!(x > 0.0)) return 0.0;
  double front = base_exp(a * base_log(x) - x - blk_log_gamma(a));
  if (x < a + 1.0) {  // series (DLMF 8.7.1)
    double term = 1.0 / a;
    double sum = term;
    for (int n = 1; n < 10 * ROUNDS && term > NEARLY * sum; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return front * sum;
  }
  // continued fraction (DLMF 8.9.2), by modified Lentz
  double b = x + 1.0 - a;
  double c = 1.0 / TINY;
  double d = 1.0 / not_zero(b);
  double f = d;
  for (int n = 1; n < 10 * ROUNDS; n++) {
    double term = -n * (n - a);
    b += 2.0;
    d = 1.0 / not_zero(term * d + b);
    c = not_zero(b + term / c);
    f *= c * d;
    if (fabs(c * d - 1.0) < NEARLY) break;
  }
  return 1.0 - front * f;
}
