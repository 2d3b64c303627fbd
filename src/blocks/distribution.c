// SPDX-License-Identifier: MIT
//
// Distributions by inversion: one number of the stream gives one value, which grows with it. So
// variants of a model can be compared on the same chances, and antithetic streams work.
#include "blocks/blocks.h"

#include <math.h>

#define HALVINGS      200
#define POISSON_LARGE 700.0  // exp(-mean) is about to vanish beyond

double slt_random_triangular(SltRandom* random, double least, double likely, double greatest) {
  double u = slt_random_uniform(random, 0.0, 1.0);
  double width = greatest - least;
  double rise = likely - least;
  if (!(width > 0.0)) return least;
  if (u * width < rise) return least + sqrt(u * width * rise);
  return greatest - sqrt((1.0 - u) * width * (greatest - likely));
}

double slt_random_weibull(SltRandom* random, double shape, double scale) {
  return scale * base_pow(slt_random_exponential(random, 1.0), 1.0 / shape);
}

/// Where a growing function of (a, b) reaches u, within [lo, hi].
static double invert(double (*share)(double a, double b, double x), double a, double b, double u,
                     double lo, double hi) {
  for (int i = 0; i < HALVINGS; i++) {
    double middle = 0.5 * (lo + hi);
    if (middle <= lo || middle >= hi) break;
    if (share(a, b, middle) < u) {
      lo = middle;
    } else {
      hi = middle;
    }
  }
  return 0.5 * (lo + hi);
}

static double gamma_share(double a, double unused, double x) {
  (void)unused;
  return blk_gamma_share(a, x);
}

double slt_random_gamma(SltRandom* random, double shape, double mean) {
  double u = slt_random_uniform(random, 0.0, 1.0);
  if (!(shape > 0.0) || isnan(mean)) return (double)NAN;
  double hi = shape + 1.0;
  while (blk_gamma_share(shape, hi) < u && hi < 1e300) {
    hi *= 2.0;
  }
  return mean / shape * invert(gamma_share, shape, 0.0, u, 0.0, hi);
}

double slt_random_erlang(SltRandom* random, uint32_t stages, double mean) {
  return slt_random_gamma(random, (double)stages, mean);
}

double slt_random_beta(SltRandom* random, double a, double b) {
  double u = slt_random_uniform(random, 0.0, 1.0);
  if (!(a > 0.0) || !(b > 0.0)) return (double)NAN;
  return invert(blk_beta_share, a, b, u, 0.0, 1.0);
}

/// P(X <= n) of Poisson's distribution is what is left above its mean of a gamma distribution.
static uint64_t poisson_large(double mean, double u) {
  uint64_t lo = 0;
  uint64_t hi = (uint64_t)(mean + 40.0 * sqrt(mean)) + 40;
  while (lo < hi) {
    uint64_t middle = lo + (hi - lo) / 2;
    if (1.0 - blk_gamma_share((double)middle + 1.0, mean) < u) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo;
}

uint64_t slt_random_poisson(SltRandom* random, double mean) {
  double u = slt_random_uniform(random, 0.0, 1.0);
  if (!(mean > 0.0)) return 0;
  if (mean > POISSON_LARGE) return poisson_large(mean, u);
  double term = base_exp(-mean);
  double sum = term;
  uint64_t n = 0;
  while (sum < u && term > 0.0) {
    n++;
    term *= mean / (double)n;
    sum += term;
  }
  return n;
}

uint32_t slt_random_discrete(SltRandom* random, const double* weights, uint32_t count) {
  double rest = slt_random_uniform(random, 0.0, 1.0);
  double total = 0.0;
  uint32_t last = 0;
  if (!weights) return 0;
  for (uint32_t i = 0; i < count; i++) {
    total += weights[i];
  }
  rest *= total;
  for (uint32_t i = 0; i < count; i++) {
    if (!(weights[i] > 0.0)) continue;
    last = i;
    rest -= weights[i];
    if (rest < 0.0) break;
  }
  return last;
}
