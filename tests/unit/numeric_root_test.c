// SPDX-License-Identifier: MIT
//
// Bracketing roots and maxima: properties over random cubics, nasty functions, guarantees.
#include "numeric/numeric.h"
#include "test.h"

#include <float.h>

typedef struct Cubic {
  double r[3], scale;  // scale (t - r0) (t - r1) (t - r2)
  uint32_t calls;
} Cubic;

static SltStatus cubic(void* user, double t, double* g) {
  Cubic* c = user;
  c->calls++;
  *g = c->scale * (t - c->r[0]) * (t - c->r[1]) * (t - c->r[2]);
  return SLT_OK;
}

static NumRootOptions root_options(double t_tol) {
  return (NumRootOptions){
      .t_tol = t_tol, .g_window = HUGE_VAL, .side = NUM_SIDE_ANY, .max_evaluations = 500};
}

static NumBracket bracket_of(NumFn* fn, void* user, double lo, double hi) {
  NumBracket b = {.lo = lo, .hi = hi};
  CHECK(fn(user, lo, &b.g_lo) == SLT_OK && fn(user, hi, &b.g_hi) == SLT_OK, "ends");
  return b;
}

TEST(roots_of_random_cubics) {
  uint64_t seed = 42;
  uint64_t total = 0;
  uint32_t worst = 0;
  const int runs = 20000;
  for (int k = 0; k < runs; k++) {
    Cubic c = {.scale = exp(test_uniform(&seed, -20.0, 20.0))};
    for (int i = 0; i < 3; i++) {
      c.r[i] = test_uniform(&seed, -1.5, 2.5);
    }
    if (k % 2) {
      c.scale = -c.scale;
    }
    NumBracket b = bracket_of(cubic, &c, 0.0, 1.0);
    if ((b.g_lo > 0.0) == (b.g_hi > 0.0)) {
      continue;
    }
    NumRootOptions options = root_options(1e-13);
    NumBracket start = b;
    uint32_t count = 0;
    c.calls = 0;
    CHECK(num_root_bracket(cubic, &c, &options, &b, &count) == SLT_OK, "converges");
    CHECK(count == c.calls, "counted");
    CHECK(b.hi - b.lo <= 1e-13, "narrow");
    CHECK(b.lo >= start.lo && b.hi <= start.hi && b.lo < b.hi, "inside");
    CHECK((b.g_lo > 0.0) == (start.g_lo > 0.0) && (b.g_hi > 0.0) == (start.g_hi > 0.0), "signs");
    double g = 0.0;
    (void)cubic(&c, b.lo, &g);
    CHECK(g == b.g_lo, "value at lo");
    (void)cubic(&c, b.hi, &g);
    CHECK(g == b.g_hi, "value at hi");
    double nearest = 1.0;
    for (int i = 0; i < 3; i++) {
      nearest = fmin(nearest, fmax(fabs(b.lo - c.r[i]), fabs(b.hi - c.r[i])));
    }
    CHECK(nearest <= 1e-13 + 1e-15, "a root");
    total += count;
    worst = count > worst ? count : worst;
  }
  if (total > 10u * (unsigned)runs || worst > 3 * 44) {
    print_error("evaluations: mean %.2f, worst %u\n", (double)total / runs, worst);
  }
  CHECK(total < 10u * (unsigned)runs, "few evaluations");
  CHECK(worst <= 3 * 44, "bounded evaluations");
}

TEST(slopes_save_evaluations) {
  uint64_t seed = 4;
  uint64_t total = 0;
  int runs = 0;
  for (int k = 0; k < 5000; k++) {
    Cubic c = {.scale = 1.0};
    for (int i = 0; i < 3; i++) {
      c.r[i] = test_uniform(&seed, -1.5, 2.5);
    }
    NumBracket b = bracket_of(cubic, &c, 0.0, 1.0);
    if ((b.g_lo > 0.0) == (b.g_hi > 0.0)) {
      continue;
    }
    NumRootOptions options = root_options(1e-13);
    options.has_slopes = true;
    double* r = c.r;
    options.slope_lo = r[0] * r[1] + r[1] * r[2] + r[2] * r[0];
    options.slope_hi = (1 - r[0]) * (1 - r[1]) + (1 - r[1]) * (1 - r[2]) + (1 - r[2]) * (1 - r[0]);
    uint32_t count = 0;
    CHECK(num_root_bracket(cubic, &c, &options, &b, &count) == SLT_OK, "converges");
    CHECK(b.hi - b.lo <= 1e-13 && (b.g_lo > 0.0) != (b.g_hi > 0.0), "bracket");
    total += count;
    runs++;

    // wrong slopes cost evaluations, nothing else
    b = bracket_of(cubic, &c, 0.0, 1.0);
    options.slope_lo = test_uniform(&seed, -1e3, 1e3);
    options.slope_hi = k % 3 ? test_uniform(&seed, -1e3, 1e3) : (double)NAN;
    CHECK(num_root_bracket(cubic, &c, &options, &b, &count) == SLT_OK, "converges");
    CHECK(b.hi - b.lo <= 1e-13 && count <= 3 * 44 + 8, "bracket");
  }
  CHECK((double)total < 4.0 * runs, "few evaluations");
}

static SltStatus late(void* user, double t, double* g) {
  (void)user;
  double d = t - 20777.25;
  *g = d * (1.0 + 0.1 * d) + 1e-13;
  return SLT_OK;
}

TEST(tolerance_below_rounding) {
  NumRootOptions options = root_options(1e-15);
  NumBracket b = bracket_of(late, NULL, 20776.0, 20779.0);
  uint32_t count = 0;
  CHECK(num_root_bracket(late, NULL, &options, &b, &count) == SLT_OK, "converges");
  CHECK(nextafter(b.lo, b.hi) == b.hi && count < 16, "adjacent, without bisecting all the way");
}

static SltStatus step_at_third(void* user, double t, double* g) {
  *g = t < 1.0 / 3.0 ? -1.0 : 1e12;
  if (user) ++*(uint32_t*)user;
  return SLT_OK;
}

static SltStatus infinite(void* user, double t, double* g) {
  (void)user;
  *g = t < 0.7 ? -HUGE_VAL : HUGE_VAL;
  return SLT_OK;
}

static SltStatus flat(void* user, double t, double* g) {
  (void)user;
  double d = t - 0.9;
  *g = d * d * d * d * d * d * d * d * d;
  return SLT_OK;
}

static SltStatus tiny(void* user, double t, double* g) {
  (void)user;
  *g = 1e-200 * (t - 0.25);  // a product of two values would be zero
  return SLT_OK;
}

static SltStatus steep(void* user, double t, double* g) {
  (void)user;
  *g = exp(40.0 * t) - 1e4;
  return SLT_OK;
}

TEST(roots_of_nasty_functions) {
  static const struct {
    const char* name;
    NumFn* fn;
    double root;
  } cases[] = {{"jump", step_at_third, 1.0 / 3.0},
               {"infinite", infinite, 0.7},
               {"flat", flat, 0.9},
               {"tiny", tiny, 0.25},
               {"steep", steep, 0.2302585092994046}};
  FOR_CASES(c, cases) {
    NumRootOptions options = root_options(1e-12);
    NumBracket b = bracket_of(c->fn, NULL, 0.0, 1.0);
    uint32_t count = 0;
    CHECK(num_root_bracket(c->fn, NULL, &options, &b, &count) == SLT_OK, c->name);
    CHECK(b.lo <= c->root + 1e-16 && c->root <= b.hi + 1e-16 && b.hi - b.lo <= 1e-12, c->name);
    CHECK(count <= 3 * 41, c->name);
  }
}

TEST(root_to_adjacent_doubles) {
  uint32_t calls = 0;
  NumRootOptions options = root_options(0.0);
  NumBracket b = bracket_of(step_at_third, &calls, 0.0, 1.0);
  CHECK(num_root_bracket(step_at_third, &calls, &options, &b, NULL) == SLT_OK, "no window");
  CHECK(nextafter(b.lo, 1.0) == b.hi && b.hi == 1.0 / 3.0, "adjacent");

  // the window can not be reached: g jumps over it
  options.g_window = 0.5;
  options.side = NUM_SIDE_HI;
  b = bracket_of(step_at_third, &calls, 0.0, 1.0);
  CHECK(num_root_bracket(step_at_third, &calls, &options, &b, NULL) == SLT_ERR_NO_CONVERGENCE,
        "jump");
  CHECK(b.g_lo < 0.0 && b.g_hi > 0.0 && nextafter(b.lo, 1.0) == b.hi, "still a bracket");
}

TEST(window_and_side) {
  static const struct {
    const char* name;
    NumSide side;
  } cases[] = {{"lo", NUM_SIDE_LO}, {"hi", NUM_SIDE_HI}, {"any", NUM_SIDE_ANY}};
  FOR_CASES(c, cases) {
    NumRootOptions options = root_options(1.0);  // time alone is satisfied at once
    options.g_window = 1e-6;
    options.side = c->side;
    NumBracket b = bracket_of(steep, NULL, 0.0, 1.0);
    CHECK(num_root_bracket(steep, NULL, &options, &b, NULL) == SLT_OK, c->name);
    CHECK(c->side != NUM_SIDE_LO || fabs(b.g_lo) <= 1e-6, c->name);
    CHECK(c->side != NUM_SIDE_HI || fabs(b.g_hi) <= 1e-6, c->name);
    CHECK(fmin(fabs(b.g_lo), fabs(b.g_hi)) <= 1e-6, c->name);
    CHECK(b.g_lo < 0.0 && b.g_hi > 0.0, c->name);
  }
}

static SltStatus identity(void* user, double t, double* g) {
  (void)user;
  *g = t;
  return SLT_OK;
}

TEST(zero_belongs_to_a_side) {
  NumRootOptions options = root_options(1e-12);
  NumBracket b = {-1.0, 1.0, -1.0, 1.0};
  options.zero_is_positive = true;
  CHECK(num_root_bracket(identity, NULL, &options, &b, NULL) == SLT_OK, "nonstrict");
  CHECK(b.g_lo < 0.0 && b.g_hi >= 0.0, "nonstrict");
  b = (NumBracket){-1.0, 1.0, -1.0, 1.0};
  options.zero_is_positive = false;
  CHECK(num_root_bracket(identity, NULL, &options, &b, NULL) == SLT_OK, "strict");
  CHECK(b.g_lo <= 0.0 && b.g_hi > 0.0, "strict");

  // a zero at an end is an end like any other
  b = (NumBracket){-1.0, 0.0, -1.0, 0.0};
  CHECK(num_root_bracket(identity, NULL, &options, &b, NULL) == SLT_ERR_ARGUMENT, "strict");
  options.zero_is_positive = true;
  CHECK(num_root_bracket(identity, NULL, &options, &b, NULL) == SLT_OK && b.hi == 0.0, "end");
}

typedef struct Failing {
  uint32_t calls, fail_at;
  bool nan;
} Failing;

static SltStatus failing(void* user, double t, double* g) {
  Failing* f = user;
  if (++f->calls == f->fail_at) {
    if (!f->nan) return SLT_ERR_CANCELLED;
    *g = (double)NAN;
    return SLT_OK;
  }
  return steep(NULL, t, g);
}

TEST(root_failures_keep_the_bracket) {
  for (uint32_t at = 1; at <= 4; at++) {
    for (int nan = 0; nan < 2; nan++) {
      NumRootOptions options = root_options(1e-12);
      NumBracket b = bracket_of(steep, NULL, 0.0, 1.0);
      Failing f = {.fail_at = at, .nan = nan};
      SltStatus want = nan ? SLT_ERR_NOT_FINITE : SLT_ERR_CANCELLED;
      CHECK(num_root_bracket(failing, &f, &options, &b, NULL) == want, "status");
      CHECK(b.lo < b.hi && b.g_lo < 0.0 && b.g_hi > 0.0, "bracket");
    }
  }
  NumRootOptions options = root_options(1e-12);
  options.max_evaluations = 3;
  NumBracket b = bracket_of(flat, NULL, 0.0, 1.0);
  CHECK(num_root_bracket(flat, NULL, &options, &b, NULL) == SLT_ERR_NO_CONVERGENCE, "limit");
  CHECK(b.lo <= 0.9 && 0.9 <= b.hi, "bracket");
  b = (NumBracket){0.0, 1.0, 1.0, 2.0};
  CHECK(num_root_bracket(steep, NULL, &options, &b, NULL) == SLT_ERR_ARGUMENT, "no bracket");
}

// ---- maxima -------------------------------------------------------------------------------------

static SltStatus hill(void* user, double t, double* g) {
  double d = t - *(const double*)user;
  *g = 2.0 - d * d - 0.3 * d * d * d * d;
  return SLT_OK;
}

static SltStatus tent(void* user, double t, double* g) {
  *g = -fabs(t - *(const double*)user);
  return SLT_OK;
}

TEST(maxima_are_found) {
  uint64_t seed = 9;
  for (int k = 0; k < 1000; k++) {
    double top = test_uniform(&seed, 5.0, 6.0);
    NumMaximum best = {0};
    uint32_t count = 0;
    CHECK(num_max_on_interval(hill, &top, 5.0, 6.0, 1e-9, HUGE_VAL, &best, &count) == SLT_OK,
          "hill");
    CHECK_NEAR(best.t, top, 1e-7, 0);
    CHECK(count < 40, "few evaluations");
    CHECK(num_max_on_interval(tent, &top, 5.0, 6.0, 1e-9, HUGE_VAL, &best, &count) == SLT_OK,
          "tent");
    CHECK_NEAR(best.t, top, 1e-7, 0);
    CHECK(best.t > 5.0 && best.t < 6.0 && count < 100, "inside");
  }

  // at an end, and stopping early
  double top = 7.0;
  NumMaximum best = {0};
  uint32_t count = 0;
  CHECK(num_max_on_interval(hill, &top, 5.0, 6.0, 1e-9, HUGE_VAL, &best, NULL) == SLT_OK, "end");
  CHECK_NEAR(best.t, 6.0, 1e-6, 0);
  top = 5.5;
  CHECK(num_max_on_interval(hill, &top, 5.0, 6.0, 1e-9, 1.9, &best, &count) == SLT_OK, "early");
  CHECK(best.g > 1.9 && count <= 3, "early");
}

TEST(maximum_failures) {
  Failing f = {.fail_at = 3};
  NumMaximum best = {0};
  CHECK(num_max_on_interval(failing, &f, 0.0, 1.0, 1e-9, HUGE_VAL, &best, NULL) ==
            SLT_ERR_CANCELLED,
        "status");
  f = (Failing){.fail_at = 4, .nan = true};
  CHECK(num_max_on_interval(failing, &f, 0.0, 1.0, 1e-9, HUGE_VAL, &best, NULL) ==
            SLT_ERR_NOT_FINITE,
        "nan");
  CHECK(best.t > 0.0 && best.t < 1.0, "best so far");
}

TEST(hermite_maximum_by_search) {
  uint64_t seed = 77;
  int found = 0;
  for (int k = 0; k < 20000; k++) {
    double ga = test_uniform(&seed, -1.0, 1.0);
    double gb = test_uniform(&seed, -1.0, 1.0);
    double da = test_uniform(&seed, -5.0, 5.0);
    double db = test_uniform(&seed, -5.0, 5.0);
    double h = test_uniform(&seed, 0.1, 3.0);
    double theta = 0.0;
    double value = 0.0;
    bool has = num_hermite_max(ga, gb, da, db, h, &theta, &value);
    if (da > 0.0 && db < 0.0) {
      CHECK(has, "rise and fall has a maximum");
    }
    double best = fmax(ga, gb);
    double best_at = ga > gb ? 0.0 : 1.0;
    for (int i = 1; i < 200; i++) {
      double t = i / 200.0;
      double u = 1.0 - t;
      double p = ga * (1 + 2 * t) * u * u + gb * (3 - 2 * t) * t * t + h * da * t * u * u -
                 h * db * t * t * u;
      if (p > best) {
        best = p;
        best_at = t;
      }
    }
    if (best_at > 0.0 && best_at < 1.0) {
      CHECK(has && theta > 0.0 && theta < 1.0, "found");
      CHECK_NEAR(theta, best_at, 0.006, 0);
      CHECK(value >= best - 1e-12 && value <= best + 0.01, "value");
      found++;
    }
  }
  CHECK(found > 5000, "enough cases");
  double theta = 0.0;
  double value = 0.0;
  CHECK(num_hermite_max(0.0, 0.0, 1.0, -1.0, 2.0, &theta, &value), "parabola");
  CHECK_NEAR(theta, 0.5, 1e-15, 0);
  CHECK_NEAR(value, 0.5, 1e-15, 0);
  CHECK(!num_hermite_max(0.0, 1.0, 1.0, 1.0, 1.0, &theta, &value), "line");
  CHECK(!num_hermite_max((double)NAN, 1.0, 1.0, 1.0, 1.0, &theta, &value), "nan");
}

TEST(hermite_root_by_halving) {
  uint64_t seed = 78;
  for (int k = 0; k < 20000; k++) {
    double ga = test_uniform(&seed, -1.0, -0.01);
    double gb = test_uniform(&seed, 0.01, 1.0);
    double sign = k % 2 ? 1.0 : -1.0;
    double h = test_uniform(&seed, 0.1, 3.0);
    double rise = gb - ga;
    // slopes that are not far from the mean one: the cubic rises all along
    double m0 = rise * test_uniform(&seed, 0.2, 2.0);
    double m1 = rise * test_uniform(&seed, 0.2, 2.0);
    double lo = 0.0;
    double hi = 1.0;
    for (int i = 0; i < 60; i++) {
      double t = 0.5 * (lo + hi);
      double u = 1.0 - t;
      double p =
          ga * (1 + 2 * t) * u * u + gb * (3 - 2 * t) * t * t + m0 * t * u * u - m1 * t * t * u;
      *(p < 0.0 ? &lo : &hi) = t;
    }
    double root = num_hermite_root(sign * ga, sign * gb, sign * m0 / h, sign * m1 / h, h);
    CHECK(root > 0.0 && root < 1.0, "inside");
    CHECK_NEAR(root, lo, 0.02, 0);
  }
}
