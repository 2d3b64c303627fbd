// SPDX-License-Identifier: MIT
//
// Powers of ten with 128 significant bits, shared by reading and writing numbers.
#ifndef SALTUS_BASE_NUMBER_TABLE_H
#define SALTUS_BASE_NUMBER_TABLE_H

#include <stdint.h>

__extension__ typedef unsigned __int128 U128;

#define NUMBER_POWER_MIN (-342)
#define NUMBER_POWER_MAX 324

#define NUMBER_MANTISSA_BITS 52
#define NUMBER_HIDDEN_BIT    (UINT64_C(1) << NUMBER_MANTISSA_BITS)
#define NUMBER_INFINITY_BITS (UINT64_C(0x7ff) << NUMBER_MANTISSA_BITS)

/// 10^k ~ (high * 2^64 + low) * 2^r, rounded up, r = number_log2_power(k) - 127; exact for
/// 0 <= k <= NUMBER_POWER_EXACT.
typedef struct NumberPower {
  uint64_t high, low;
} NumberPower;

#define NUMBER_POWER_EXACT 55

extern const NumberPower number_powers[NUMBER_POWER_MAX - NUMBER_POWER_MIN + 1];

/// floor(log2(10^k)) for |k| <= 1233; the factor is log2(10) in 19 fractional bits.
static inline int32_t number_log2_power(int32_t k) {
  return (k * 1741647) >> 19;
}

#endif
