// SPDX-License-Identifier: MIT
//
// Correctly rounded reading of decimals. Three ways, each exact where it answers:
//   1. few digits and a small exponent: one operation on doubles, exact operands (Clinger 1990);
//   2. the first 19 digits times a 128-bit power of ten: the error of the product is known, and
//      unless it hides which side of the midpoint the number is on, the answer stands (the idea of
//      Lemire, "Number parsing at a gigabyte per second", 2021);
//   3. integers of any size compare the number with the midpoint.
#include "base/number.h"
#include "base/number_table.h"

#include <string.h>

#define PREFIX_DIGITS 19         // that surely fit 64 bits
#define BIG_DIGITS    800        // more than the 767 digits a midpoint of two doubles can have
#define BIG_LIMBS     80         // 5120 bits; the largest operand has about 3800
#define EXPONENT_MAX  100000000  // exponents saturate here; texts are shorter than 2^32

/// A decimal as it stands in the text: value = 0.d1 d2 d3... * 10^point.
typedef struct DecimalText {
  const char* digits;  // from the first nonzero digit; may contain the point
  const char* end;     // behind the last digit
  uint64_t prefix;     // the first PREFIX_DIGITS digits
  uint32_t count;      // digits from the first nonzero one
  int64_t point;
} DecimalText;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The digits with their optional point. Returns the place behind them, NULL if there is no digit.
static const char* scan_digits(const char* at, const char* end, DecimalText* text) {
  bool any = false;
  bool fraction = false;
  *text = (DecimalText){.digits = at, .end = at};
  for (; at < end; at++) {
    if (*at == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(*at)) break;
    any = true;
    if (text->count == 0 && *at == '0') {
      text->point -= fraction;
      continue;
    }
    if (text->count == 0) text->digits = at;
    if (text->count < PREFIX_DIGITS) text->prefix = 10 * text->prefix + (uint64_t)(*at - '0');
    text->count++;
    text->point += !fraction;
    text->end = at + 1;
  }
  return any ? at : NULL;
}

/// An exponent, if a whole one is there. Returns the place behind it.
static const char* scan_exponent(const char* at, const char* end, int64_t* exponent) {
  *exponent = 0;
  if (at == end || (*at != 'e' && *at != 'E')) return at;
  const char* digit = at + 1;
  bool negative = digit < end && *digit == '-';
  if (digit < end && (*digit == '-' || *digit == '+')) digit++;
  if (digit == end || !is_digit(*digit)) return at;
  int64_t value = 0;
  for (; digit < end && is_digit(*digit); digit++) {
    if (value < INT64_C(1000) * EXPONENT_MAX) value = 10 * value + (*digit - '0');
  }
  *exponent = negative ? -value : value;
  return digit;
}

/// Unsigned integer of fixed capacity, lowest limb first.
typedef struct BigInt {
  uint32_t count;
  uint64_t limbs[BIG_LIMBS];
} BigInt;

static void big_multiply_add(BigInt* big, uint64_t factor, uint64_t addend) {
  U128 carry = addend;
  for (uint32_t i = 0; i < big->count; i++) {
    carry += (U128)big->limbs[i] * factor;
    big->limbs[i] = (uint64_t)carry;
    carry >>= 64;
  }
  if (carry && big->count < BIG_LIMBS) big->limbs[big->count++] = (uint64_t)carry;
}

static void big_multiply_power_of_ten(BigInt* big, int64_t power) {
  for (; power >= 19; power -= 19) {
    big_multiply_add(big, UINT64_C(10000000000000000000), 0);
  }
  for (; power > 0; power--) {
    big_multiply_add(big, 10, 0);
  }
}

static void big_shift_left(BigInt* big, uint32_t bits) {
  for (; bits >= 32; bits -= 32) {
    big_multiply_add(big, UINT64_C(1) << 32, 0);
  }
  big_multiply_add(big, UINT64_C(1) << bits, 0);
}

static int big_compare(const BigInt* a, const BigInt* b) {
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (uint32_t i = a->count; i-- > 0;) {
    if (a->limbs[i] != b->limbs[i]) return a->limbs[i] < b->limbs[i] ? -1 : 1;
  }
  return 0;
}

/// The digits as an integer. More than BIG_DIGITS only matter as "a bit more than these", which one
/// further digit expresses. `*scale` receives the power of ten that belongs to the integer.
static void big_from_text(BigInt* big, const DecimalText* text, int64_t* scale) {
  big->count = 0;
  uint32_t taken = 0;
  bool more = false;
  for (const char* at = text->digits; at < text->end; at++) {
    if (*at == '.') continue;
    if (taken < BIG_DIGITS) {
      big_multiply_add(big, 10, (uint64_t)(*at - '0'));
      taken++;
    } else if (*at != '0') {
      more = true;
      break;
    }
  }
  if (more) {
    big_multiply_add(big, 10, 1);
    taken++;
  }
  *scale = text->point - taken;
}

/// Does the number round to a double above the one with these bits? True when it is beyond the
/// midpoint to the next, and at the midpoint if that makes the last bit even.
static bool rounds_above(const DecimalText* text, uint64_t bits) {
  uint64_t fraction = bits & (NUMBER_HIDDEN_BIT - 1);
  int32_t biased = (int32_t)(bits >> NUMBER_MANTISSA_BITS);
  uint64_t mantissa = biased ? fraction | NUMBER_HIDDEN_BIT : fraction;
  int32_t exponent = (biased ? biased : 1) - 1075 - 1;  // of the midpoint 2 * mantissa + 1

  BigInt number;
  BigInt middle = {.count = 1, .limbs = {2 * mantissa + 1}};
  int64_t scale = 0;
  big_from_text(&number, text, &scale);
  if (scale >= 0) {
    big_multiply_power_of_ten(&number, scale);
  } else {
    big_multiply_power_of_ten(&middle, -scale);
  }
  if (exponent >= 0) {
    big_shift_left(&middle, (uint32_t)exponent);
  } else {
    big_shift_left(&number, (uint32_t)-exponent);
  }
  int order = big_compare(&number, &middle);
  return order > 0 || (order == 0 && (bits & 1));
}

/// Bits of prefix * 10^power, rounded to nearest even. Returns whether the product decides it;
/// otherwise `*bits` is next to the answer. prefix > 0, power within the table and <= 308.
static bool round_product(uint64_t prefix, int32_t power, uint64_t* bits) {
  int zeros = __builtin_clzll(prefix);
  uint64_t w = prefix << zeros;
  NumberPower g = number_powers[power - NUMBER_POWER_MIN];
  U128 low = (U128)w * g.low;
  U128 high = (U128)w * g.high + (uint64_t)(low >> 64);
  bool more = (uint64_t)low != 0;
  int32_t exponent = 64 + number_log2_power(power) - zeros;  // of the highest bit of `high`
  if (!(high >> 127)) {
    high = high << 1 | (uint64_t)low >> 63;
    more = (uint64_t)low << 1 != 0;
    exponent--;
  }

  if (exponent > 1023) {
    *bits = NUMBER_INFINITY_BITS;
    return true;
  }
  int32_t kept = exponent >= -1022 ? 53 : 53 + (exponent + 1022);
  if (kept <= 0) {
    *bits = 0;
    return kept < 0;
  }
  int32_t dropped = 128 - kept;
  uint64_t mantissa = (uint64_t)(high >> dropped);
  U128 half = (U128)1 << (dropped - 1);
  U128 tail = high & ((half << 1) - 1);
  uint64_t base = kept == 53 ? (uint64_t)(exponent + 1023) << NUMBER_MANTISSA_BITS : 0;
  *bits = base + (kept == 53 ? mantissa - NUMBER_HIDDEN_BIT : mantissa);

  if (power >= 0 && power <= NUMBER_POWER_EXACT) {
    *bits += tail > half || (tail == half && (more || (mantissa & 1)));
    return true;
  }
  // the power was rounded up by less than 1, so the product is too large by less than 2^65 (after
  // normalisation), which is less than 3 units of `high`
  *bits += tail > half;
  return tail < half || tail > half + 2;
}

static uint64_t round_text(const DecimalText* text) {
  uint32_t taken = text->count < PREFIX_DIGITS ? text->count : PREFIX_DIGITS;
  int64_t power = text->point - taken;
  if (text->prefix == 0 || power < NUMBER_POWER_MIN) return 0;
  if (power > 308) return NUMBER_INFINITY_BITS;

  uint64_t bits = 0;
  bool sure = round_product(text->prefix, (int32_t)power, &bits);
  if (taken < text->count) {
    // digits were left out: sure if the next prefix gives the same
    uint64_t next = 0;
    sure = sure && round_product(text->prefix + 1, (int32_t)power, &next) && next == bits;
  }
  if (sure) return bits;
  while (bits < NUMBER_INFINITY_BITS && rounds_above(text, bits)) {
    bits++;
  }
  while (bits > 0 && !rounds_above(text, bits - 1)) {
    bits--;
  }
  return bits;
}

/// Both operands are exact doubles, so one rounding happens, and it is the right one.
static bool read_exactly(const DecimalText* text, double* value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  int64_t power = text->point - text->count;
  if (text->count > 15 || power < -22 || power > 22) return false;
  double digits = (double)text->prefix;
  *value = power < 0 ? digits / powers[-power] : digits * powers[power];
  return true;
}

uint32_t number_read(Str s, bool allow_sign, double* value) {
  *value = 0.0;
  if (s.length == 0) return 0;
  const char* end = s.data + s.length;
  bool has_sign = allow_sign && (s.data[0] == '-' || s.data[0] == '+');
  DecimalText text;
  const char* at = scan_digits(s.data + has_sign, end, &text);
  if (!at) return 0;
  int64_t exponent = 0;
  at = scan_exponent(at, end, &exponent);
  text.point += exponent;

  if (!read_exactly(&text, value)) {
    uint64_t bits = round_text(&text);
    memcpy(value, &bits, sizeof bits);
  }
  if (has_sign && s.data[0] == '-') *value = -*value;
  return (uint32_t)(at - s.data);
}
