// SPDX-License-Identifier: MIT
//
// Random numbers of the public interface, on the streams of the models.
#include "blocks/blocks.h"

#include <math.h>

_Static_assert(sizeof(SltRandom) == sizeof(ModelRandom), "one stream, two names");

/// The public struct is the model's by another name; a copy of 32 bytes costs nothing.
static ModelRandom* inner(SltRandom* random) {
  return (ModelRandom*)(void*)random;
}

void slt_random_init(SltRandom* random, uint64_t seed, uint64_t stream) {
  if (random) model_random_seed(inner(random), seed, stream);
}

double slt_random_uniform(SltRandom* random, double lo, double hi) {
  return lo + (hi - lo) * model_random_uniform(inner(random));
}

double slt_random_exponential(SltRandom* random, double mean) {
  return mean * model_random_exponential(inner(random));
}

double slt_random_normal(SltRandom* random, double mean, double deviation) {
  return mean + deviation * model_random_normal(inner(random));
}

double slt_random_lognormal(SltRandom* random, double mean, double deviation) {
  // moments of the variable to those of its logarithm
  double ratio = deviation / mean;
  double variance = base_log1p(ratio * ratio);
  double centre = base_log(mean) - 0.5 * variance;
  return base_exp(centre + sqrt(variance) * model_random_normal(inner(random)));
}

double slt_random_empirical(SltRandom* random, const double* values, const double* weights,
                            uint32_t count) {
  if (!values || count == 0) return (double)NAN;
  return values[weights ? slt_random_discrete(random, weights, count)
                        : slt_random_index(random, count)];
}

uint32_t slt_random_index(SltRandom* random, uint32_t count) {
  uint32_t index = (uint32_t)(model_random_uniform(inner(random)) * count);
  return index < count ? index : (count ? count - 1 : 0);
}
