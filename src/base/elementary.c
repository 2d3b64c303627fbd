// SPDX-License-Identifier: MIT
#include "base/elementary.h"

#include "base/elementary_tables.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/// A number as a double and a much smaller rest.
typedef struct Pair {
  double hi, lo;
} Pair;

// ---- pairs --------------------------------------------------------------------------------------

static inline uint64_t bits_of(double x) {
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double of_bits(uint64_t bits) {
  double x = 0.0;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// a + b exactly, |a| >= |b|.
static inline Pair sum_of_ordered(double a, double b) {
  double s = a + b;
  return (Pair){s, b - (s - a)};
}

/// a + b exactly.
static inline Pair sum_of(double a, double b) {
  double s = a + b;
  double v = s - a;
  return (Pair){s, (a - (s - v)) + (b - v)};
}

/// a * b exactly (Dekker), as long as nothing overflows or is subnormal.
static inline Pair product_of(double a, double b) {
  const double splitter = 134217729.0;  // 2^27 + 1
  double p = a * b;
  double ca = splitter * a;
  double cb = splitter * b;
  double ah = ca - (ca - a);
  double bh = cb - (cb - b);
  double al = a - ah;
  double bl = b - bh;
  return (Pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline Pair pair_sum(Pair a, Pair b) {
  Pair s = sum_of(a.hi, b.hi);
  return sum_of_ordered(s.hi, s.lo + (a.lo + b.lo));
}

static inline Pair pair_product(Pair a, double b) {
  Pair p = product_of(a.hi, b);
  return sum_of_ordered(p.hi, p.lo + a.lo * b);
}

static inline Pair pair_quotient(Pair a, Pair b) {
  double q = a.hi / b.hi;
  Pair p = product_of(q, b.hi);
  double rest = ((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo);
  return sum_of_ordered(q, rest / b.hi);
}

static inline Pair pair_constant(const double c[2]) {
  return (Pair){c[0], c[1]};
}

/// The whole number nearest to |x| < 2^51.
static inline double nearest(double x) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + magic) - magic;
}

static inline double power_of_two(int k) {
  return of_bits((uint64_t)(k + 1023) << 52);
}

/// x * 2^k, also where the result is subnormal or too large.
static inline double scale(double x, int k) {
  if (k >= -1000 && k <= 1000) return x * power_of_two(k);
  if (k > 1000) {
    x *= power_of_two(1000);
    k -= 1000;
    if (k > 1000) k = 1000;
  } else {
    x *= power_of_two(-900);
    k += 900;
    if (k < -1000) k = -1000;
  }
  return x * power_of_two(k);
}

// ---- exponential functions ----------------------------------------------------------------------

/// e^(x + rest) = 2^k (hi + lo), |x| < 800: 2^(j/64) from a table times a polynomial.
static inline Pair exp_parts(double x, double rest, int* k) {
  double n = nearest(x * 92.332482616893656877);
  double r = ((x - n * ln2_64[0]) - n * ln2_64[1]) + (rest - n * ln2_64[2]);
  int whole = (int)n;
  const double* t = exp_table[whole & 63];
  double z = r * r;
  double p = r + z * ((0.5 + r * (1.0 / 6.0)) +
                      z * ((1.0 / 24.0 + r * (1.0 / 120.0)) + z * (1.0 / 720.0)));
  *k = (whole - (whole & 63)) / 64;
  return sum_of_ordered(t[0], t[0] * p + t[1]);
}

double base_exp(double x) {
  if (!(fabs(x) < 746.0)) return x != x ? x : x > 0.0 ? (double)INFINITY : 0.0;
  int k = 0;
  Pair e = exp_parts(x, 0.0, &k);
  return scale(e.hi + e.lo, k);
}

/// e^x and e^-x, halved; |x| < 700.
static inline void halves(double x, Pair* up, Pair* down) {
  int k = 0;
  Pair e = exp_parts(x, 0.0, &k);
  double factor = power_of_two(k - 1);
  *up = (Pair){e.hi * factor, e.lo * factor};
  e = exp_parts(-x, 0.0, &k);
  factor = power_of_two(k - 1);
  *down = (Pair){e.hi * factor, e.lo * factor};
}

/// For |x| < 0.5.
static Pair small_sinh(double x) {
  double z = x * x;
  double p = 1.0 / 6.0 +
             z * (1.0 / 120.0 +
                  z * (1.0 / 5040.0 +
                       z * (1.0 / 362880.0 + z * (1.0 / 39916800.0 + z * (1.0 / 6227020800.0)))));
  return sum_of_ordered(x, x * z * p);
}

double base_sinh(double x) {
  double size = fabs(x);
  if (!(size < 711.0)) return x * (double)INFINITY;
  if (size < 0.5) {
    Pair s = small_sinh(x);
    return s.hi + s.lo;
  }
  if (size >= 690.0) {
    double half = base_exp(0.5 * size);
    return copysign((0.5 * half) * half, x);
  }
  Pair up;
  Pair down;
  halves(size, &up, &down);
  Pair s = pair_sum(up, (Pair){-down.hi, -down.lo});
  return copysign(s.hi + s.lo, x);
}

double base_cosh(double x) {
  double size = fabs(x);
  if (!(size < 711.0)) return size != size ? x : (double)INFINITY;
  if (size >= 690.0) {
    double half = base_exp(0.5 * size);
    return (0.5 * half) * half;
  }
  Pair up;
  Pair down;
  halves(size, &up, &down);
  Pair c = pair_sum(up, down);
  return c.hi + c.lo;
}

double base_tanh(double x) {
  double size = fabs(x);
  if (size != size) return x;
  if (size > 20.0) return copysign(1.0, x);
  Pair up;
  Pair down;
  halves(size, &up, &down);
  Pair s = size < 0.5 ? small_sinh(size) : pair_sum(up, (Pair){-down.hi, -down.lo});
  Pair t = pair_quotient(s, pair_sum(up, down));
  return copysign(t.hi + t.lo, x);
}

// ---- logarithms ---------------------------------------------------------------------------------

/// x = 2^k m, where the table's factor times m is 1 + top + bottom.
typedef struct LogSplit {
  double k, top, bottom;
  const double* table;
} LogSplit;

static inline LogSplit log_split(double x) {
  int k = 0;
  if (x < DBL_MIN) {
    x *= 18014398509481984.0;  // 2^54
    k = -54;
  }
  uint64_t bits = bits_of(x);
  uint32_t part = (uint32_t)(bits >> 45) & 127;
  k += (int)(bits >> 52) - 1023 + (part >= 53);
  double m = of_bits((bits & 0xfffffffffffffu) | (uint64_t)(part >= 53 ? 1022 : 1023) << 52);
  const double* t = log_table[part];
  double top = of_bits(bits_of(m) & 0xffffffffffe00000u);
  return (LogSplit){(double)k, top * t[0] - 1.0, (m - top) * t[0], t};
}

/// ln(x) of a positive finite number.
static inline Pair log_parts(double x) {
  LogSplit split = log_split(x);
  const double* t = split.table;
  double k = split.k;
  Pair r = sum_of(split.top, split.bottom);
  Pair square = product_of(r.hi, r.hi);
  double z = r.hi;
  double w = square.hi;
  double p = z * w *
             (((1.0 / 3.0 - z * 0.25) + w * (0.2 - z * (1.0 / 6.0))) +
              w * w * ((1.0 / 7.0 - z * 0.125) + w * (1.0 / 9.0 - z * 0.1)));
  Pair s = sum_of(k * ln2[0], t[1]);
  Pair u = sum_of(s.hi, r.hi);
  Pair v = sum_of(u.hi, -0.5 * square.hi);
  double rest = (k * ln2[1] + t[2]) + s.lo + u.lo + v.lo;
  rest += (r.lo - r.hi * r.lo) - 0.5 * square.lo + p;
  return sum_of_ordered(v.hi, rest + k * ln2[2]);
}

/// What logarithms are beside those of positive finite numbers.
static double log_special(double x) {
  if (x == 0.0) return -(double)INFINITY;
  return x < 0.0 ? (double)NAN : x;
}

double base_log(double x) {
  if (!(x > 0.0 && x <= DBL_MAX)) return log_special(x);
  if (x > 0.99 && x < 1.01) {
    Pair l = log_parts(x);
    return l.hi + l.lo;
  }
  // as log_parts(), without what is lost in a double
  LogSplit s = log_split(x);
  double r = s.top + s.bottom;
  double w = r * r;
  double p = -0.5 * w + r * w *
                            (((1.0 / 3.0 - r * 0.25) + w * (0.2 - r * (1.0 / 6.0))) +
                             w * w * (1.0 / 7.0 - r * 0.125));
  Pair known = sum_of(s.k * ln2[0], s.table[1]);
  Pair sum = sum_of(known.hi, s.top);
  return sum.hi + (((s.k * ln2[1] + s.table[2]) + (known.lo + sum.lo)) + (s.bottom + p));
}

double base_log10(double x) {
  if (!(x > 0.0 && x <= DBL_MAX)) return log_special(x);
  Pair l = log_parts(x);
  Pair c = pair_constant(constants[2]);
  Pair p = pair_product(c, l.hi);
  return p.hi + (p.lo + c.hi * l.lo);
}

double base_log2(double x) {
  if (!(x > 0.0 && x <= DBL_MAX)) return log_special(x);
  int k = 0;
  double m = frexp(x, &k);
  if (m < 0.70710678118654752) {
    m *= 2.0;
    k--;
  }
  Pair l = log_parts(m);
  return (double)k + l.hi * 1.4426950408889634074;
}

/// ln(1 + u) for u > -1.
static Pair log1p_parts(Pair u) {
  if (fabs(u.hi) < 1e-9) {
    return sum_of_ordered(u.hi, u.lo - 0.5 * u.hi * u.hi);
  }
  Pair h = sum_of(1.0, u.hi);
  h = sum_of_ordered(h.hi, h.lo + u.lo);
  Pair l = log_parts(h.hi);
  return sum_of_ordered(l.hi, l.lo + h.lo / h.hi);
}

double base_log1p(double x) {
  if (!(x > -1.0 && x <= DBL_MAX)) return log_special(x == -1.0 ? 0.0 : x);
  if (x == 0.0) return x;
  Pair l = log1p_parts((Pair){x, 0.0});
  return l.hi + l.lo;
}

/// sqrt(a) as a pair.
static Pair root(Pair a) {
  double s = sqrt(a.hi);
  if (!(s > 0.0)) return (Pair){s, 0.0};
  Pair p = product_of(s, s);
  return sum_of_ordered(s, (((a.hi - p.hi) - p.lo) + a.lo) / (2.0 * s));
}

double base_asinh(double x) {
  double size = fabs(x);
  if (!(size < 1e150)) {
    return size <= DBL_MAX ? copysign(base_log(size) + 0.693147180559945309, x) : x;
  }
  if (size < 1e-4) return x == 0.0 ? x : x - x * x * x * (1.0 / 6.0);
  // ln(1 + x + x^2 / (1 + sqrt(1 + x^2)))
  Pair square = product_of(size, size);
  Pair r = root(pair_sum(square, (Pair){1.0, 0.0}));
  Pair u = pair_quotient(square, pair_sum(r, (Pair){1.0, 0.0}));
  Pair l = log1p_parts(pair_sum(u, (Pair){size, 0.0}));
  return copysign(l.hi + l.lo, x);
}

double base_acosh(double x) {
  if (!(x >= 1.0)) return (double)NAN;
  if (x > 1e150) return x <= DBL_MAX ? base_log(x) + 0.693147180559945309 : x;
  // ln(1 + u + sqrt(u (u + 2))), u = x - 1
  Pair u = sum_of(x, -1.0);
  Pair r = root(pair_sum(product_of(u.hi, u.hi), pair_product(u, 2.0)));
  if (u.lo != 0.0) r = root(pair_sum(product_of(x, x), (Pair){-1.0, 0.0}));
  Pair l = log1p_parts(pair_sum(u, r));
  return l.hi + l.lo;
}

double base_atanh(double x) {
  double size = fabs(x);
  if (!(size < 1.0)) return size == 1.0 ? copysign((double)INFINITY, x) : (double)NAN;
  if (size < 1e-4) return x + x * x * x * (1.0 / 3.0);
  Pair u = pair_quotient((Pair){2.0 * size, 0.0}, sum_of(1.0, -size));
  Pair l = log1p_parts(u);
  return copysign(0.5 * (l.hi + l.lo), x);
}

// ---- powers -------------------------------------------------------------------------------------

/// 0: not whole, 1: odd, 2: even.
static int parity(double y) {
  double size = fabs(y);
  if (size >= 9007199254740992.0) return 2;
  if (size != floor(size)) return 0;
  return fmod(size, 2.0) == 1.0 ? 1 : 2;
}

/// x^y, x > 0 and finite.
static double power_parts(double x, double y) {
  if (fabs(y) > 1e20) y = copysign(1e20, y);
  Pair l = log_parts(x);
  Pair p = product_of(l.hi, y);
  if (!(fabs(p.hi) < 800.0)) return p.hi > 0.0 ? (double)INFINITY : 0.0;
  int k = 0;
  Pair e = exp_parts(p.hi, p.lo + l.lo * y, &k);
  return scale(e.hi + e.lo, k);
}

/// Where the base is zero or infinite: |x|^y.
static double power_extreme(double x, double y) {
  bool large = (x == 0.0) == (y < 0.0);
  return large ? (double)INFINITY : 0.0;
}

double base_pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  double size = fabs(x);
  if (fabs(y) > DBL_MAX) {
    if (size == 1.0) return 1.0;
    return (size > 1.0) == (y > 0.0) ? (double)INFINITY : 0.0;
  }
  int whole = parity(y);
  double sign = x < 0.0 || (x == 0.0 && 1.0 / x < 0.0) ? -1.0 : 1.0;
  if (sign < 0.0 && x != 0.0 && size <= DBL_MAX && whole == 0) return (double)NAN;
  if (y == 1.0) return x;
  if (y == 2.0) return x * x;
  bool extreme = size == 0.0 || size > DBL_MAX;
  double value = extreme ? power_extreme(size, y) : power_parts(size, y);
  return sign < 0.0 && whole == 1 ? -value : value;
}

double base_cbrt(double x) {
  double size = fabs(x);
  if (!(size > 0.0 && size <= DBL_MAX)) return x;
  double guess = power_parts(size, 1.0 / 3.0);
  // one step of Newton: cubes of doubles have exact roots
  double better = guess - (guess - size / (guess * guess)) / 3.0;
  return copysign(better, x);
}

// ---- circular functions -------------------------------------------------------------------------

/// 64 bits of a number in words of 32, the least first, from a place on.
static uint64_t bits_from(const uint32_t* words, int place) {
  int word = place / 32;
  int shift = place % 32;
  uint64_t low = words[word] | (uint64_t)words[word + 1] << 32;
  if (shift == 0) return low;
  return low >> shift | (uint64_t)words[word + 2] << (64 - shift);
}

/// x - n pi/2 for large x > 0, and n modulo 4 (Payne and Hanek): of 2/pi those bits are multiplied
/// with x that make more than multiples of 4 and less than what can be seen.
static Pair reduce_large(double x, int* quadrant) {
  uint64_t bits = bits_of(x);
  int exponent = (int)(bits >> 52) - 1075;  // x = mantissa * 2^exponent
  uint64_t mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  int first = exponent > 2 ? (exponent - 2) / 32 : 0;
  uint32_t product[12] = {0};
  for (int i = 0; i < 7; i++) {
    // the word that is multiplied, the least first
    uint64_t word = two_over_pi[first + 6 - i];
    uint64_t low = word * (uint32_t)mantissa + product[i];
    product[i] = (uint32_t)low;
    uint64_t high = word * (mantissa >> 32) + product[i + 1] + (low >> 32);
    product[i + 1] = (uint32_t)high;
    product[i + 2] = (uint32_t)(high >> 32);
  }
  int behind = 32 * (first + 7) - exponent;  // bits behind the point
  uint64_t turn = bits_from(product, behind);
  uint64_t fraction = bits_from(product, behind - 64);
  uint64_t rest = bits_from(product, behind - 128);
  bool negative = fraction >> 63;
  *quadrant = (int)(turn + negative) & 3;
  if (negative) {
    fraction = ~fraction;
    rest = ~rest;
  }
  // 53 and 53 bits behind the leading zeros
  double a = (double)(fraction >> 11) * 0x1p-53;
  double b = (double)((fraction & 0x7ff) << 42 | rest >> 22) * 0x1p-106;
  double c = (double)(rest & 0x3fffff) * 0x1p-128;
  Pair f = sum_of_ordered(a, b + c);
  Pair r = pair_product(pair_constant(constants[1]), f.hi);
  r = sum_of_ordered(r.hi, r.lo + constants[1][0] * f.lo);
  return negative ? (Pair){-r.hi, -r.lo} : r;
}

/// x less a multiple of pi/2, at most about pi/4; finite x.
static inline Pair reduce(double x, int* quadrant) {
  double size = fabs(x);
  if (size < 0.785398163397448279) {
    *quadrant = 0;
    return (Pair){x, 0.0};
  }
  if (size < 1e5) {
    double n = nearest(x * 0.63661977236758134308);
    *quadrant = (int)n & 3;
    // products with the first two parts are exact, and so is the first difference
    Pair r = sum_of(x - n * half_pi[0], -n * half_pi[1]);
    return sum_of(r.hi, r.lo - n * half_pi[2]);
  }
  Pair r = reduce_large(size, quadrant);
  if (x > 0.0) return r;
  *quadrant = -*quadrant & 3;
  return (Pair){-r.hi, -r.lo};
}

/// sin(r), |r| <= pi/4.
static inline Pair sine(Pair r) {
  double z = r.hi * r.hi;
  double w = z * z;
  double p = ((-1.0 / 6.0 + z * (1.0 / 120.0)) + w * (-1.0 / 5040.0 + z * (1.0 / 362880.0))) +
             w * w *
                 ((-1.0 / 39916800.0 + z * (1.0 / 6227020800.0)) +
                  w * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)));
  return sum_of_ordered(r.hi, r.hi * z * p + r.lo * (1.0 - 0.5 * z));
}

/// cos(r), |r| <= pi/4.
static inline Pair cosine(Pair r) {
  double z = r.hi * r.hi;
  double w = z * z;
  double p =
      ((1.0 / 24.0 - z * (1.0 / 720.0)) + w * (1.0 / 40320.0 - z * (1.0 / 3628800.0))) +
      w * w * ((1.0 / 479001600.0 - z * (1.0 / 87178291200.0)) + w * (1.0 / 20922789888000.0));
  Pair c = sum_of_ordered(1.0, -0.5 * z);
  return sum_of_ordered(c.hi, c.lo + (w * p - r.hi * r.lo));
}

/// The sine (0) or cosine (1) of x.
static double circular(double x, int quarter) {
  if (!(fabs(x) <= DBL_MAX)) return (double)NAN;
  int quadrant = 0;
  Pair r = reduce(x, &quadrant);
  quadrant += quarter;
  Pair s = quadrant & 1 ? cosine(r) : sine(r);
  double value = s.hi + s.lo;
  return quadrant & 2 ? -value : value;
}

double base_sin(double x) {
  return fabs(x) < 1e-8 ? x : circular(x, 0);
}

double base_cos(double x) {
  return circular(x, 1);
}

double base_tan(double x) {
  if (!(fabs(x) <= DBL_MAX)) return (double)NAN;
  if (fabs(x) < 1e-8) return x;
  int quadrant = 0;
  Pair r = reduce(x, &quadrant);
  Pair s = sine(r);
  Pair c = cosine(r);
  Pair t = quadrant & 1 ? pair_quotient((Pair){-c.hi, -c.lo}, s) : pair_quotient(s, c);
  return t.hi + t.lo;
}

// ---- inverse circular functions -----------------------------------------------------------------

/// atan(n / d) for 0 <= n <= d, d > 0: from the nearest sixteenth.
static Pair atan_lower(Pair n, Pair d) {
  int k = (int)nearest(16.0 * (n.hi / d.hi));
  double c = k / 16.0;
  Pair upper = pair_sum(n, pair_product((Pair){-d.hi, -d.lo}, c));
  Pair t = pair_quotient(upper, pair_sum(d, pair_product(n, c)));
  double z = t.hi * t.hi;
  double w = z * z;
  double p = ((-1.0 / 3.0 + z * 0.2) + w * (-1.0 / 7.0 + z * (1.0 / 9.0))) +
             w * w * (-1.0 / 11.0 + z * (1.0 / 13.0));
  return pair_sum(pair_constant(atan_table[k]), sum_of_ordered(t.hi, t.lo + t.hi * z * p));
}

/// The angle of (x, y), both at least 0 and finite, not both 0.
static Pair angle(Pair y, Pair x) {
  if (y.hi <= x.hi) return atan_lower(y, x);
  Pair a = atan_lower(x, y);
  return pair_sum(pair_constant(constants[1]), (Pair){-a.hi, -a.lo});
}

double base_atan(double x) {
  double size = fabs(x);
  if (size != size || size < 1e-9) return x;
  if (size > 1e20) return copysign(constants[1][0], x);
  Pair a = angle((Pair){size, 0.0}, (Pair){1.0, 0.0});
  return copysign(a.hi + a.lo, x);
}

static Pair from_straight(Pair a) {
  return pair_sum(pair_constant(constants[0]), (Pair){-a.hi, -a.lo});
}

/// Both are brought near 1, as far as the smaller one counts.
static Pair angle_of(double y, double x) {
  if (x == 0.0 && y == 0.0) return (Pair){0.0, 0.0};
  if (y > DBL_MAX && x > DBL_MAX) return angle((Pair){1.0, 0.0}, (Pair){1.0, 0.0});
  if (y > DBL_MAX || x == 0.0) return pair_constant(constants[1]);
  if (x > DBL_MAX || y == 0.0) return (Pair){0.0, 0.0};
  int k = 0;
  frexp(fmax(x, y), &k);
  return angle((Pair){scale(y, -k), 0.0}, (Pair){scale(x, -k), 0.0});
}

double base_atan2(double y, double x) {
  if (x != x || y != y) return x + y;
  double up = fabs(y);
  double right = fabs(x);
  bool left = copysign(1.0, x) < 0.0;
  // a small angle may be too small for a pair
  if (!left && up < 1e-200 * right) return copysign(up / right, y);
  Pair a = angle_of(up, right);
  if (left) a = from_straight(a);
  return copysign(a.hi + a.lo, y);
}

/// sqrt(1 - x^2)
static Pair beside(double x) {
  Pair p = sum_of(1.0, -x);
  Pair q = sum_of(1.0, x);
  Pair a = product_of(p.hi, q.hi);
  return root(sum_of_ordered(a.hi, a.lo + (p.hi * q.lo + p.lo * q.hi)));
}

double base_asin(double x) {
  double size = fabs(x);
  if (!(size <= 1.0)) return (double)NAN;
  if (size < 1e-9) return x;
  Pair a = angle((Pair){size, 0.0}, beside(size));
  return copysign(a.hi + a.lo, x);
}

double base_acos(double x) {
  double size = fabs(x);
  if (!(size <= 1.0)) return (double)NAN;
  Pair a = angle(beside(size), (Pair){size, 0.0});
  if (x < 0.0) a = from_straight(a);
  return a.hi + a.lo;
}

// ---- special functions --------------------------------------------------------------------------

/// e^(-x^2), |x| < 26.
static double exp_of_square(double x) {
  Pair square = product_of(x, x);
  int k = 0;
  Pair e = exp_parts(-square.hi, -square.lo, &k);
  return scale(e.hi + e.lo, k);
}

/// 1 - erf(x) for x >= 0.5: the continued fraction, from behind.
static double erfc_large(double x) {
  double f = 0.0;
  for (int k = x < 2.0 ? (int)(240.0 / (x * x)) : 60; k > 0; k--)
    f = 0.5 * k / (x + f);
  return exp_of_square(x) / ((x + f) * 1.7724538509055160273);
}

double base_erf(double x) {
  double size = fabs(x);
  if (!(size < 6.0)) return x != x ? x : copysign(1.0, x);
  if (size >= 1.0) return copysign(1.0 - erfc_large(size), x);
  // 2/sqrt(pi) e^(-x^2) x (1 + z/3 (1 + z/5 (1 + ...))), z = 2 x^2: all terms have one sign
  double z = 2.0 * size * size;
  double total = 1.0;
  for (int k = 40; k > 0; k--)
    total = 1.0 + total * z / (2.0 * k + 1.0);
  Pair value = pair_product(pair_constant(constants[3]), size);
  return copysign(value.hi * (total * base_exp(-0.5 * z)), x);
}

double base_erfc(double x) {
  if (!(x >= 0.5)) return 1.0 - base_erf(x);
  return x < 26.0 ? erfc_large(x) : 0.0;
}

/// Gamma function from 12 on (Stirling).
static double gamma_large(double x) {
  if (x > 171.7) return (double)INFINITY;
  double y = 1.0 / x;
  double z = y * y;
  double series =
      1.0 / 12.0 -
      z * (1.0 / 360.0 -
           z * (1.0 / 1260.0 -
                z * (1.0 / 1680.0 -
                     z * (1.0 / 1188.0 - z * (691.0 / 360360.0 - z * (1.0 / 156.0 - z * 0.03))))));
  // x^x would overflow where its root does not
  double half = base_pow(x, 0.5 * x);
  return half * base_exp(-x) * half * (base_exp(series * y) * sqrt(6.2831853071795864769 * y));
}

/// Brought to 12 and more by the rule of the next: what rounding takes from x + k is put back.
static double gamma_positive(double x) {
  if (x == floor(x) && x < 24.0) {
    double product = 1.0;
    for (double k = 2.0; k < x; k += 1.0)
      product *= k;
    return product;
  }
  if (x >= 12.0) return gamma_large(x);
  Pair below = {1.0, 0.0};
  Pair top = {x, 0.0};
  for (double k = 1.0; top.hi < 12.0; k += 1.0) {
    Pair next = pair_product(below, top.hi);
    below = sum_of_ordered(next.hi, next.lo + below.hi * top.lo);
    top = sum_of(k, x);
  }
  double slope = base_log(top.hi) - 0.5 / top.hi;
  double value = gamma_large(top.hi) / below.hi;
  return value + value * (top.lo * slope - below.lo / below.hi);
}

double base_gamma(double x) {
  if (x != x || x > DBL_MAX) return x;
  if (x == 0.0) return 1.0 / x;
  if (x > 0.0) return gamma_positive(x);
  if (x == floor(x) || x < -DBL_MAX) return (double)NAN;
  if (x < -184.0) return fmod(floor(x), 2.0) == 0.0 ? 0.0 : -0.0;
  // reflected: sin(pi x) from the distance to the nearest whole number
  double n = nearest(x);
  double s = base_sin(constants[0][0] * (x - n));
  if (fmod(n, 2.0) != 0.0) s = -s;
  return constants[0][0] / (s * -x) / gamma_positive(-x);
}
