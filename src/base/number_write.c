// SPDX-License-Identifier: MIT
//
// Shortest decimal that reads back to the same double, by the Schubfach method: R. Giulietti, "The
// Schubfach way to render doubles" (2020). Constant time: three products with a power of ten.
#include "base/number.h"
#include "base/number_table.h"

#include <string.h>

#define DIGITS_MAX 17

/// digits * 10^exponent; digits > 0, with at most DIGITS_MAX digits.
typedef struct Decimal {
  uint64_t digits;
  int32_t exponent;
} Decimal;

/// floor(g * c / 2^128), with the lowest bit set when the quotient is not exact ("round to odd"),
/// so that comparisons with integers stay right.
static inline uint64_t product_to_odd(NumberPower g, uint64_t c) {
  U128 low = (U128)g.low * c;
  U128 high = (U128)g.high * c + (uint64_t)(low >> 64);
  return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/// The shortest decimal in the rounding interval of a positive finite double; of several the
/// closest, of two equally close the even one.
static Decimal shortest_decimal(uint64_t bits) {
  uint64_t fraction = bits & (NUMBER_HIDDEN_BIT - 1);
  int32_t biased = (int32_t)(bits >> NUMBER_MANTISSA_BITS);
  uint64_t c = biased ? fraction | NUMBER_HIDDEN_BIT : fraction;
  int32_t q = (biased ? biased : 1) - 1075;

  // below a power of two doubles are closer together than above it
  uint64_t closer = fraction == 0 && biased > 1;
  uint64_t odd = c & 1;  // the ends of the interval belong to it only if c is even

  // k = floor(log10(2^q)), of 3/4 2^q if the interval is not symmetric; then scale by 10^-k so that
  // the interval is 1 to 10 units wide. All values carry two more fractional bits.
  int32_t k = (q * 1262611 - (closer ? 524031 : 0)) >> 22;
  int32_t h = q + number_log2_power(-k) + 1;
  NumberPower g = number_powers[-k - NUMBER_POWER_MIN];
  uint64_t lower = product_to_odd(g, (4 * c - 2 + closer) << h) + odd;
  uint64_t value = product_to_odd(g, (4 * c) << h);
  uint64_t upper = product_to_odd(g, (4 * c + 2) << h) - odd;

  // one digit less: at most one multiple of ten lies in the interval
  uint64_t s = value / 4;
  uint64_t tens = s / 10;
  if (tens > 0) {
    bool below = lower <= 40 * tens;
    bool above = 40 * tens + 40 <= upper;
    if (below != above) return (Decimal){tens + above, k + 1};
  }
  bool below = lower <= 4 * s;
  bool above = 4 * s + 4 <= upper;
  if (below != above) return (Decimal){s + above, k};

  // both neighbours are inside: the closer one
  uint64_t middle = 4 * s + 2;
  bool up = value > middle || (value == middle && (s & 1));
  return (Decimal){s + up, k};
}

static const uint64_t small_powers[] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
};

static int32_t digit_count(uint64_t d) {
  int32_t bits = 64 - __builtin_clzll(d);
  int32_t estimate = (bits * 1233) >> 12;  // bits * log10(2)
  return estimate + (d >= small_powers[estimate]);
}

/// Eight decimal digits as eight bytes, the first digit lowest: all divided at once.
static inline uint64_t eight_digits(uint32_t x) {
  uint64_t fours = x / 10000 | (uint64_t)(x % 10000) << 32;
  uint64_t hundreds = ((fours * 10486) >> 20) & UINT64_C(0x7f0000007f);
  uint64_t twos = hundreds + ((fours - 100 * hundreds) << 16);
  uint64_t tens = ((twos * 103) >> 10) & UINT64_C(0x000f000f000f000f);
  return tens + ((twos - 10 * tens) << 8);
}

static inline void store_digits(char* out, uint64_t bytes) {
  bytes |= UINT64_C(0x3030303030303030);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bytes = __builtin_bswap64(bytes);
#endif
  memcpy(out, &bytes, 8);
}

/// Write all DIGITS_MAX digits of d; returns how many remain without the zeros at the end.
static int32_t write_digits(char* out, uint64_t d) {
  uint64_t rest = d % small_powers[16];
  uint64_t middle = eight_digits((uint32_t)(rest / small_powers[8]));
  uint64_t last = eight_digits((uint32_t)(rest % small_powers[8]));
  out[0] = (char)('0' + d / small_powers[16]);
  store_digits(out + 1, middle);
  store_digits(out + 9, last);
  if (last) return 17 - __builtin_clzll(last) / 8;
  return middle ? 9 - __builtin_clzll(middle) / 8 : 1;
}

static char* write_exponent(char* at, int32_t exponent) {
  *at++ = 'e';
  if (exponent < 0) *at++ = '-';
  uint32_t e = (uint32_t)(exponent < 0 ? -exponent : exponent);
  if (e >= 100) *at++ = (char)('0' + e / 100);
  if (e >= 10) *at++ = (char)('0' + e / 10 % 10);
  *at++ = (char)('0' + e % 10);
  return at;
}

/// Write a decimal in plain or exponent notation. Copies have fixed sizes, which is fast; what they
/// write behind the end stays within NUMBER_TEXT_MAX.
static char* write_decimal(char* out, Decimal decimal) {
  int32_t count = digit_count(decimal.digits);
  int32_t exponent = decimal.exponent + count - 1;  // of the first digit
  uint64_t digits = decimal.digits * small_powers[DIGITS_MAX - count];

  if (exponent < 0 && exponent >= -5) {
    memcpy(out, "0.00000", 8);
    char* at = out + 1 - exponent;
    return at + write_digits(at, digits);
  }
  count = write_digits(out, digits);
  if (exponent >= 0 && exponent <= 16) {
    if (count <= exponent + 1) return out + exponent + 1;  // the zeros are already there
    char tail[32];
    memcpy(tail, out + 1, 16);
    out[exponent + 1] = '.';
    if (exponent <= 12) {
      memcpy(out + exponent + 2, tail + exponent, 16);
    } else {
      memcpy(out + exponent + 2, tail + exponent, (size_t)(count - exponent - 1));
    }
    return out + count + 1;
  }
  if (count == 1) return write_exponent(out + 1, exponent);
  memmove(out + 2, out + 1, 16);
  out[1] = '.';
  return write_exponent(out + count + 1, exponent);
}

uint32_t number_write(char* out, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  char* at = out;
  uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
  if (magnitude > NUMBER_INFINITY_BITS) {
    memcpy(out, "NaN", 4);
    return 3;
  }
  if (bits != magnitude) *at++ = '-';
  if (magnitude == NUMBER_INFINITY_BITS) {
    memcpy(at, "Inf", 3);
    at += 3;
  } else if (magnitude == 0) {
    *at++ = '0';
  } else {
    // an integer below 2^53 is its own shortest form
    double size = bits != magnitude ? -value : value;
    uint64_t whole = size < 0x1p53 ? (uint64_t)size : 0;
    bool is_whole = whole && (double)whole == size;
    at = write_decimal(at, is_whole ? (Decimal){whole, 0} : shortest_decimal(magnitude));
  }
  *at = '\0';
  return (uint32_t)(at - out);
}
