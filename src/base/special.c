// SPDX-License-Identifier: MIT
//
// Functions that the C library lacks.
#include "base/functions.h"

#include <stdbool.h>

#define ASYMPTOTIC_FROM 15.0   // arguments from which the series below is exact to rounding
#define STEPS_MAX       400.0  // beyond, on the left, the gamma function itself has no values
#define ORDER_MAX       100.0

/// (2k + n - 1)!/(2k)!
static double rising_quotient(double k, double n) {
  double product = n == 0.0 ? 0.5 / k : 1.0;
  for (double j = 1.0; j < n; j++) {
    product *= 2.0 * k + j;
  }
  return product;
}

/// Polygamma at a large x, by its asymptotic series: B_2k (2k + n - 1)!/(2k)! / x^(2k + n).
static double asymptotic(double n, double x) {
  static const double bernoulli[] = {1.0 / 6.0,       -1.0 / 30.0,      1.0 / 42.0, -1.0 / 30.0,
                                     5.0 / 66.0,      -691.0 / 2730,    7.0 / 6.0,  -3617.0 / 510.0,
                                     43867.0 / 798.0, -174611.0 / 330.0};
  double sign = fmod(n, 2.0) == 0.0 ? -1.0 : 1.0;
  double total = 0.0;
  for (int k = 10; k >= 1; k--) {
    total += bernoulli[k - 1] * rising_quotient(k, n) * base_pow(x, -(2.0 * k + n));
  }
  if (n == 0.0) return base_log(x) - 0.5 / x - total;
  double lead = base_gamma(n) * base_pow(x, -n) + 0.5 * base_gamma(n + 1.0) * base_pow(x, -n - 1.0);
  return sign * (lead + total);
}

double base_polygamma(double n, double x) {
  bool order = n >= 0.0 && n <= ORDER_MAX && n == floor(n);
  if (!order || !(x > -STEPS_MAX) || (x <= 0.0 && x == floor(x))) {
    return (double)NAN;
  }
  // psi_n(x) = psi_n(x + 1) - (-1)^n n! / x^(n+1), from the largest argument downwards
  double steps = x < ASYMPTOTIC_FROM + n ? ceil(ASYMPTOTIC_FROM + n - x) : 0.0;
  double total = asymptotic(n, x + steps);
  double factor = fmod(n, 2.0) == 0.0 ? base_gamma(n + 1.0) : -base_gamma(n + 1.0);
  for (double k = steps - 1.0; k >= 0.0; k--) {
    total -= factor / base_pow(x + k, n + 1.0);
  }
  return total;
}
