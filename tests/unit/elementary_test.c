// SPDX-License-Identifier: MIT
//
// The elementary functions against those of the C library in extended precision, their special
// values, their inverses, and bits that must be the same on every machine.
#include "base/elementary.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef double Function(double x);
typedef long double Reference(long double x);

typedef struct Case {
  const char* name;
  Function* own;
  Reference* reference;
  double low, high, ulps;
} Case;

static const Case cases[] = {
    {"exp", base_exp, expl, -700.0, 700.0, 0.51},
    {"exp", base_exp, expl, -1.0, 1.0, 0.51},
    {"log", base_log, logl, 1e-300, 1e300, 0.51},
    {"log", base_log, logl, 0.5, 2.0, 0.51},
    {"log10", base_log10, log10l, 1e-3, 1e5, 0.51},
    {"log2", base_log2, log2l, 1e-3, 1e5, 2.0},
    {"log1p", base_log1p, log1pl, -0.9, 3.0, 0.51},
    {"sin", base_sin, sinl, -100.0, 100.0, 0.95},
    {"cos", base_cos, cosl, -100.0, 100.0, 0.95},
    {"tan", base_tan, tanl, -50.0, 50.0, 0.98},
    {"sin", base_sin, sinl, -90000.0, 90000.0, 0.95},
    {"asin", base_asin, asinl, -1.0, 1.0, 0.51},
    {"acos", base_acos, acosl, -1.0, 1.0, 0.51},
    {"atan", base_atan, atanl, -20.0, 20.0, 0.51},
    {"sinh", base_sinh, sinhl, -5.0, 5.0, 0.8},
    {"cosh", base_cosh, coshl, -600.0, 600.0, 0.51},
    {"tanh", base_tanh, tanhl, -5.0, 5.0, 0.9},
    {"asinh", base_asinh, asinhl, -50.0, 50.0, 0.6},
    {"acosh", base_acosh, acoshl, 1.0, 50.0, 0.6},
    {"atanh", base_atanh, atanhl, -0.999, 0.999, 0.6},
    {"cbrt", base_cbrt, cbrtl, -1e9, 1e9, 0.9},
    {"erf", base_erf, erfl, -4.0, 4.0, 4.0},
    {"erfc", base_erfc, erfcl, -3.0, 20.0, 8.0},
    {"gamma", base_gamma, tgammal, 0.01, 170.0, 20.0},
    {"gamma", base_gamma, tgammal, -20.0, -0.01, 20.0},
};

static double ulps_between(double value, long double exact) {
  double near = (double)exact;
  double ulp = nextafter(fabs(near), (double)INFINITY) - fabs(near);
  return (double)(fabsl((long double)value - exact) / (long double)ulp);
}

TEST(errors) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const Case* c = &cases[i];
    for (int k = 0; k <= 4000; k++) {
      double part = k / 4000.0;
      double x = c->low + (c->high - c->low) * part * part * part;
      long double exact = c->reference((long double)x);
      if (fabsl(exact) < 1e-290L || !isfinite((double)exact)) continue;
      double error = ulps_between(c->own(x), exact);
      if (error > c->ulps) fail_msg("%s(%.17g): %g ulps", c->name, x, error);
    }
  }
}

TEST(powers) {
  for (int i = 0; i < 60; i++) {
    for (int k = -40; k <= 40; k++) {
      double x = 0.013 * pow(1.3, i);
      double y = 0.37 * k;
      assert_true(ulps_between(base_pow(x, y), powl((long double)x, (long double)y)) < 0.51);
    }
  }
  assert_true(base_pow(-2.0, 3.0) == -8.0 && base_pow(-2.0, -2.0) == 0.25);
  assert_true(isnan(base_pow(-2.0, 0.5)) && base_pow(0.0, -1.0) == (double)INFINITY);
  assert_true(base_pow(0.5, 1e300) == 0.0 && base_pow(2.0, 1e300) == (double)INFINITY);
  assert_true(base_pow((double)NAN, 0.0) == 1.0 && isnan(base_pow((double)NAN, 1.0)));
  for (int k = -1074; k < 1024; k++)
    assert_true(base_pow(2.0, (double)k) == ldexp(1.0, k));
}

/// Angles far beyond what can be reduced by subtraction: sin^2 + cos^2 = 1, and known digits.
TEST(large_angles) {
  assert_true(base_sin(1e22) == -0.8522008497671888);
  assert_true(base_cos(1e22) == 0.523214785395139);
  assert_true(base_sin(0x1p1023) == 0.5631277798508839 || base_sin(0x1p1023) == 0.563127779850884);
  for (int k = 17; k < 1020; k++) {
    double x = ldexp(1.37, k);
    double s = base_sin(x);
    double c = base_cos(x);
    assert_true(fabs(s * s + c * c - 1.0) < 1e-15);
    assert_true(fabs(base_tan(x) * c - s) < 1e-15 * (1.0 + fabs(base_tan(x))));
    assert_true(base_sin(-x) == -s && base_cos(-x) == c);
  }
}

TEST(angles_of_points) {
  for (int i = -20; i <= 20; i++) {
    for (int k = -20; k <= 20; k++) {
      if (i == 0 && k == 0) continue;
      double y = 0.3 * i;
      double x = 0.7 * k;
      long double exact = atan2l((long double)y, (long double)x);
      if (exact != 0.0L) assert_true(ulps_between(base_atan2(y, x), exact) < 0.51);
    }
  }
  const double ends[] = {0.0, -0.0, 1.0, -1.0, (double)INFINITY, -(double)INFINITY, 1e-310, 1e308};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
      double own = base_atan2(ends[i], ends[k]);
      double other = atan2(ends[i], ends[k]);
      assert_true(fabs(own - other) <= 4.5e-16 * fabs(other));
      assert_true(signbit(own) == signbit(other));
    }
  }
}

/// The functions of the C library agree on what is not finite and on signs of zero.
TEST(special_values) {
  static const struct {
    Function *own, *other;
  } pairs[] = {{base_exp, exp},   {base_log, log},     {base_log10, log10}, {base_log1p, log1p},
               {base_sin, sin},   {base_cos, cos},     {base_tan, tan},     {base_asin, asin},
               {base_acos, acos}, {base_atan, atan},   {base_sinh, sinh},   {base_cosh, cosh},
               {base_tanh, tanh}, {base_asinh, asinh}, {base_acosh, acosh}, {base_atanh, atanh},
               {base_erf, erf},   {base_cbrt, cbrt}};
  static const double values[] = {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 800.0, -800.0, 1e-320, 1e300};
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
    assert_true(isnan(pairs[p].own((double)NAN)));
    for (int k = -1; k <= 1; k += 2) {
      double own = pairs[p].own(k * (double)INFINITY);
      double other = pairs[p].other(k * (double)INFINITY);
      assert_true((isnan(own) && isnan(other)) || fabs(own - other) < 1e-15 || own == other);
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
      double own = pairs[p].own(values[i]);
      double other = pairs[p].other(values[i]);
      bool same = (isnan(own) && isnan(other)) || own == other ||
                  fabs(own - other) <= 4.5e-16 * fabs(other);
      if (!same) fail_msg("case %zu, value %g: %.17g, not %.17g", p, values[i], own, other);
      if (own == 0.0) assert_true(signbit(own) == signbit(other));
    }
  }
}

/// One number over very many calls: it changes with a bit of any of them.
TEST(bits) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int k = 0; k < 1000; k++) {
      double value = cases[i].own(cases[i].low + (cases[i].high - cases[i].low) * k / 1000.0);
      uint64_t bits = 0;
      memcpy(&bits, &value, sizeof bits);
      if (value != value) bits = 0;
      hash = (hash ^ bits) * 1099511628211u;
    }
  }
  for (int k = 0; k < 1000; k++) {
    double value = base_pow(0.1 + 0.01 * k, 3.0 - 0.007 * k) + base_atan2(0.3 * k - 50.0, 20.0 - k);
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 1099511628211u;
  }
  if (hash != 0x2fd89e9a9ed4246du) fail_msg("other bits: %016llx", (unsigned long long)hash);
}
