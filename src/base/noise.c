// SPDX-License-Identifier: MIT
//
// Normal numbers by count: splitmix64 of seed and count, then the polar form of Box and Muller.
#include "base/elementary.h"
#include "base/text.h"

#include <math.h>

#define TWO_PI     6.283185307179586
#define WHOLE_LAST 9e18  // beyond, a double is no 64-bit number

static uint64_t whole(double value) {
  return fabs(value) < WHOLE_LAST ? (uint64_t)(int64_t)value : 0;
}

double noise_normal(uint64_t run, double seed, double count) {
  uint64_t stream = run ? hash_mix(run, whole(seed)) : whole(seed);
  uint64_t state = hash_mix(stream, whole(count) + 1);
  double u[2];
  for (uint32_t i = 0; i < 2; i++) {
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    u[i] = ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
  }
  return sqrt(-2.0 * base_log(u[0])) * base_cos(TWO_PI * u[1]);
}
