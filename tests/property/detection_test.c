// SPDX-License-Identifier: MIT
//
// No event is missed, none is doubled: guards with exactly known roots along trajectories that the
// integrator follows to rounding. Every family is compiled once; each case is a run with its own
// constants. SALTUS_CASES sets the number of cases, SALTUS_SEED repeats a failing one.
#include "test.h"

#include <saltus/saltus.h>

#define MAX_ROOTS  8
#define MAX_EVENTS 64
#define T_END      10.0

typedef struct Events {
  double t[MAX_EVENTS];
  double lo[MAX_EVENTS], hi[MAX_EVENTS];
  bool certified[MAX_EVENTS];
  uint32_t count;
} Events;

typedef struct Expected {
  double t[MAX_ROOTS];
  uint32_t count;
} Expected;

static void keep_event(void* user, const SltEvent* event) {
  Events* events = user;
  if (event->kind != SLT_EVENT_STATE) return;
  if (events->count < MAX_EVENTS) {
    events->t[events->count] = event->t;
    events->lo[events->count] = event->bracket[0];
    events->hi[events->count] = event->bracket[1];
    events->certified[events->count] = event->certified;
  }
  events->count++;
}

static SltModel* compile(const char* text) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("case", text, strlen(text), NULL, &model) == SLT_OK, text);
  return model;
}

/// Run to T_END with some step limit, so that steps of all sizes occur.
static void run(const SltModel* model, const char* const* names, const double* values,
                uint32_t count, double h_max, Events* events) {
  SltSimOptions options = slt_sim_options();
  options.h_max = h_max;
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  for (uint32_t i = 0; i < count; i++) {
    CHECK(slt_sim_set_constant(sim, names[i], values[i]) == SLT_OK, names[i]);
  }
  slt_sim_on_event(sim, keep_event, events);
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, T_END, NULL);
  }
  CHECK(status == SLT_OK, slt_sim_error(sim).message);
  slt_sim_free(sim);
}

static void compare(const Expected* expected, const Events* events, double tolerance,
                    const char* family, uint64_t seed) {
  char name[200];
  snprintf(name, sizeof name, "%s, SALTUS_SEED=%llu: %u events for %u roots", family,
           (unsigned long long)seed, events->count, expected->count);
  CHECK(events->count == expected->count, name);
  for (uint32_t i = 0; i < expected->count; i++) {
    snprintf(name, sizeof name,
             "%s, SALTUS_SEED=%llu: event %u at %.17g, root %.17g, bracket %.17g .. %.17g", family,
             (unsigned long long)seed, i, events->t[i], expected->t[i], events->lo[i],
             events->hi[i]);
    CHECK(fabs(events->t[i] - expected->t[i]) <= tolerance, name);
    CHECK(events->lo[i] - tolerance <= expected->t[i] &&
              expected->t[i] <= events->hi[i] + tolerance,
          name);
    CHECK(events->certified[i], name);
    CHECK(i == 0 || events->t[i] >= events->t[i - 1], name);
  }
}

static void sort(double* values, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    for (uint32_t k = i; k > 0 && values[k] < values[k - 1]; k--) {
      double swap = values[k];
      values[k] = values[k - 1];
      values[k - 1] = swap;
    }
  }
}

/// Roots in (0, T_END), some of them close pairs; sorted.
static void draw_roots(uint64_t* seed, uint32_t count, double closest, double* roots) {
  for (uint32_t i = 0; i < count; i++) {
    roots[i] = test_uniform(seed, 0.05, T_END - 0.5);
    bool close = i > 0 && test_uniform(seed, 0.0, 1.0) < 0.3;
    if (close) roots[i] = roots[i - 1] + closest * test_uniform(seed, 1.0, 100.0);
  }
  sort(roots, count);
  // apart by more than the resolution of time
  for (uint32_t i = 1; i < count; i++) {
    if (roots[i] - roots[i - 1] < closest) roots[i] = roots[i - 1] + closest;
  }
}

static double random_step(uint64_t* seed) {
  return pow(10.0, test_uniform(seed, -1.0, 1.3));
}

/// Where sign * product(t - root) becomes positive.
static void rising_roots(const double* roots, uint32_t count, double sign, Expected* expected) {
  // beyond the last root the product is positive
  bool positive = (count % 2 == 0) == (sign > 0.0);
  expected->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    positive = !positive;
    if (positive) expected->t[expected->count++] = roots[i];
  }
}

#define GUARDED(type, relation) \
  "n(t0) = 0;\n" \
  "state hit " type "[" relation "] { set n = n + 1; } from init, hit;\n"

TEST(polynomial_guards_on_a_clock) {
  SltModel* model = compile("const s = 1, a = 1, b = 2, c = 3, d = 4;\n"
                            "x' = 1; x(t0) = 0;\n" GUARDED(
                                "bilateral(eps = 0)", "s*(x - a)*(x - b)*(x - c)*(x - d) > 0"));
  static const char* const names[] = {"s", "a", "b", "c", "d"};
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint64_t cases = test_cases(30000);
  for (uint64_t k = 0; k < cases; k++) {
    uint64_t seed = first + k;
    double values[5];
    values[0] = test_uniform(&seed, 0.0, 1.0) < 0.5 ? -1.0 : 1.0;
    draw_roots(&seed, 4, 1e-9, values + 1);
    Expected expected = {.count = 0};
    rising_roots(values + 1, 4, values[0], &expected);
    // true from the start on: that is an event of the initial instant
    if (values[0] > 0.0) {
      memmove(expected.t + 1, expected.t, expected.count * sizeof *expected.t);
      expected.t[0] = 0.0;
      expected.count++;
    }
    Events events = {.count = 0};
    run(model, names, values, 5, random_step(&seed), &events);
    compare(&expected, &events, 1e-9, "polynomial", first + k);
  }
  slt_model_free(model);
}

TEST(double_roots_touch_once) {
  SltModel* model = compile(
      "const a = 1, b = 2;\n"
      "x' = 1; x(t0) = 0;\n" GUARDED("bilateral(eps = 0)", "-(x - a)*(x - a)*(b - x) >= 0"));
  static const char* const names[] = {"a", "b"};
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint64_t cases = test_cases(10000);
  for (uint64_t k = 0; k < cases; k++) {
    uint64_t seed = first + k;
    double values[2];
    draw_roots(&seed, 2, 1e-3, values);
    Expected expected = {.t = {values[0], values[1]}, .count = 2};
    Events events = {.count = 0};
    run(model, names, values, 2, random_step(&seed), &events);
    // a double root is conditioned like the square root of rounding
    compare(&expected, &events, 2e-7, "double root", first + k);
  }
  slt_model_free(model);
}

TEST(affine_guards_on_cubics) {
  // y is the cubic with three given roots; its derivatives are integrated along
  SltModel* model = compile("const s = 1, a = 1, b = 2, c = 3;\n"
                            "y' = u; u' = w; w' = 6*s;\n"
                            "y(t0) = -s*a*b*c; u(t0) = s*(a*b + b*c + a*c);\n"
                            "w(t0) = -2*s*(a + b + c);\n" GUARDED("bilateral(eps = 0)", "y > 0"));
  static const char* const names[] = {"s", "a", "b", "c"};
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint64_t cases = test_cases(30000);
  for (uint64_t k = 0; k < cases; k++) {
    uint64_t seed = first + k;
    double values[4];
    values[0] = test_uniform(&seed, 0.0, 1.0) < 0.5 ? -1.0 : 1.0;
    draw_roots(&seed, 3, 1e-3, values + 1);
    Expected expected = {.count = 0};
    rising_roots(values + 1, 3, values[0], &expected);
    if (values[0] < 0.0) {
      memmove(expected.t + 1, expected.t, expected.count * sizeof *expected.t);
      expected.t[0] = 0.0;
      expected.count++;
    }
    Events events = {.count = 0};
    run(model, names, values, 4, random_step(&seed), &events);
    // rounding of the integrated values moves a root by that over the slope there
    double tolerance = 1e-9;
    for (uint32_t i = 1; i < 4; i++) {
      double slope = 1.0;
      for (uint32_t j = 1; j < 4; j++) {
        if (j != i) slope *= fabs(values[i] - values[j]);
      }
      tolerance = fmax(tolerance, 1e-11 / slope);
    }
    compare(&expected, &events, tolerance, "cubic", first + k);
  }
  slt_model_free(model);
}

TEST(trigonometric_guards) {
  SltModel* model =
      compile("const w = 1, p = 0, L = 0.5;\n"
              "x' = 1; x(t0) = 0;\n" GUARDED("bilateral(eps = 0)", "sin(w*x + p) - L > 0"));
  static const char* const names[] = {"w", "p", "L"};
  const double pi = 3.14159265358979323846;
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint64_t cases = test_cases(20000);
  for (uint64_t k = 0; k < cases; k++) {
    uint64_t seed = first + k;
    double w = test_uniform(&seed, 0.3, 3.0);
    double L = test_uniform(&seed, -0.9999, 0.9999);
    // start in the trough
    double values[3] = {w, -0.5 * pi, L};
    Expected expected = {.count = 0};
    for (uint32_t i = 0; i < MAX_ROOTS; i++) {
      double t = (asin(L) + 0.5 * pi + 2.0 * pi * i) / w;
      if (t < T_END - 1e-6) expected.t[expected.count++] = t;
    }
    Events events = {.count = 0};
    run(model, names, values, 3, random_step(&seed), &events);
    compare(&expected, &events, 1e-8, "sine", first + k);
  }
  slt_model_free(model);
}

TEST(rational_guards) {
  SltModel* model = compile("const s = 1, a = 1, b = 2, c = 3;\n"
                            "x' = 1; x(t0) = 0;\n" GUARDED(
                                "bilateral(eps = 0)", "s*(x - a)*(x - b)*(x - c)/(1 + x*x) > 0"));
  static const char* const names[] = {"s", "a", "b", "c"};
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint64_t cases = test_cases(20000);
  for (uint64_t k = 0; k < cases; k++) {
    uint64_t seed = first + k;
    double values[4] = {test_uniform(&seed, 0.0, 1.0) < 0.5 ? -1.0 : 1.0};
    draw_roots(&seed, 3, 1e-8, values + 1);
    Expected expected = {.count = 0};
    rising_roots(values + 1, 3, values[0], &expected);
    if (values[0] < 0.0) {
      memmove(expected.t + 1, expected.t, expected.count * sizeof *expected.t);
      expected.t[0] = 0.0;
      expected.count++;
    }
    Events events = {.count = 0};
    run(model, names, values, 4, random_step(&seed), &events);
    compare(&expected, &events, 1e-9, "rational", first + k);
  }
  slt_model_free(model);
}
