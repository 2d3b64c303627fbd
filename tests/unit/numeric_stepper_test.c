// SPDX-License-Identifier: MIT
//
// The stepper: orders measured on nonlinear problems, what is evaluated and what is not, exact
// times, dense output to the bit at its ends, failures that leave no trace, the same bits
// everywhere.
#include "numeric/numeric.h"
#include "test.h"

// Stuart-Landau oscillator and y' = -2 t y^2: nonlinear, dependent on time, with closed solution.
// `fail_from` makes the evaluation of that number and all later ones fail.
typedef struct Problem {
  uint64_t calls;
  uint64_t fail_from;
  double last_t;
} Problem;

static SltStatus landau(void* user, double t, const double* x, double* dx) {
  Problem* p = user;
  p->calls++;
  p->last_t = t;
  if (p->fail_from && p->calls >= p->fail_from) {
    return SLT_ERR_NO_CONVERGENCE;
  }
  double s = 1.0 - x[0] * x[0] - x[1] * x[1];
  dx[0] = -x[1] + x[0] * s;
  dx[1] = x[0] + x[1] * s;
  dx[2] = -2.0 * t * x[2] * x[2];
  return SLT_OK;
}

static void landau_exact(double t, double* x) {
  double r = 1.0 / sqrt(1.0 + 3.0 * exp(-2.0 * t));  // r(0) = 1/2
  x[0] = r * cos(t);
  x[1] = r * sin(t);
  x[2] = 1.0 / (1.0 + t * t);
}

static double distance(uint32_t n, const double* a, const double* b) {
  double largest = 0.0;
  for (uint32_t i = 0; i < n; i++) {
    largest = fmax(largest, fabs(a[i] - b[i]));
  }
  return largest;
}

static bool same_bits(uint32_t n, const double* a, const double* b) {
  return memcmp(a, b, n * sizeof *a) == 0;
}

static NumStepper* make(const char* name, uint32_t n, const NumOptions* given) {
  const NumMethod* method = num_method_find(str_from_c(name));
  NumOptions options = given ? *given : num_options();
  NumStepper* s = NULL;
  assert_non_null(method);
  if (!method->adaptive && options.h0 == 0.0) {
    options.h0 = 0.01;
  }
  void* storage = malloc(num_stepper_size(method, n));
  assert_non_null(storage);
  CHECK(num_stepper_init(storage, method, n, &options, &s) == SLT_OK, name);
  return s;
}

static NumStepper* make_landau(const char* name, Problem* problem) {
  NumStepper* s = make(name, 3, NULL);
  double x[3];
  landau_exact(0.0, x);
  num_stepper_set_rhs(s, landau, problem);
  num_stepper_start(s, 0.0, 3, x, NULL);
  s->control.h_next = 0.01;
  return s;
}

// ---- order --------------------------------------------------------------------------------------

typedef struct Errors {
  double end, dense, slope, local;
} Errors;

/// Constant steps over [0, 1.6]: error at the end, of dense output and its derivative between.
static Errors errors_with(const char* name, uint32_t steps) {
  Problem problem = {0};
  NumStepper* s = make_landau(name, &problem);
  Errors e = {0};
  double exact[3] = {0};
  double x[3];
  for (uint32_t k = 1; k <= steps; k++) {
    CHECK(num_stepper_attempt(s, 1.6 * k / steps) == SLT_OK, name);
    CHECK(num_dense_prepare(s) == SLT_OK, name);
    for (int i = 1; i < 10; i++) {
      double t = s->trial.t0 + 0.1 * i * s->trial.h;
      landau_exact(t, exact);
      num_dense_eval(s, t, x);
      e.dense = fmax(e.dense, distance(3, x, exact));
      double dx[3] = {0};
      landau(&problem, t, exact, dx);
      num_dense_derivative(s, t, x);
      e.slope = fmax(e.slope, distance(3, x, dx));
    }
    num_stepper_accept(s);
  }
  landau_exact(1.6, exact);
  e.end = distance(3, s->x, exact);

  // one step from the exact solution: the error of dense output alone
  landau_exact(0.4, x);
  num_stepper_restart(s, 0.4, 3, x, NULL);
  CHECK(num_stepper_attempt(s, 0.4 + 1.6 / steps) == SLT_OK, name);
  CHECK(num_dense_prepare(s) == SLT_OK, name);
  for (int i = 1; i < 10; i++) {
    double t = s->trial.t0 + 0.1 * i * s->trial.h;
    landau_exact(t, exact);
    num_dense_eval(s, t, x);
    e.local = fmax(e.local, distance(3, x, exact));
  }
  free(s);
  return e;
}

static void check_order(const char* name, const char* what, double coarse, double fine,
                        double order) {
  double got = log2(coarse / fine);
  if (!(fabs(got - order) < 0.45)) {
    print_error("%s, %s: order %.2f, expected %.2f (errors %.3g, %.3g)\n", name, what, got, order,
                coarse, fine);
    test_fail(__FILE__, __LINE__, name, what);
  }
}

TEST(orders_of_convergence) {
  static const struct {
    const char* name;
    uint32_t steps;
    double order, local, slope;
  } cases[] = {
      {"euler", 400, 1, 2, 1}, {"rk4", 64, 4, 4, 3},  {"merson", 64, 4, 4, 3},
      {"bs32", 64, 3, 4, 3},   {"dp54", 64, 5, 5, 4}, {"dop853", 12, 8, 8, 7},
  };
  FOR_CASES(c, cases) {
    Errors coarse = errors_with(c->name, c->steps);
    Errors fine = errors_with(c->name, 2 * c->steps);
    check_order(c->name, "end", coarse.end, fine.end, c->order);
    check_order(c->name, "dense", coarse.dense, fine.dense, c->order);
    check_order(c->name, "dense, one step", coarse.local, fine.local, c->local);
    check_order(c->name, "dense derivative", coarse.slope, fine.slope, c->slope);
  }
}

/// Adaptive run to t_end; returns the largest error of dense output on the way.
static double run_adaptive(NumStepper* s, double t_end) {
  double largest = 0.0;
  while (s->t < t_end) {
    double target = fmin(s->t + s->control.h_next, t_end);
    CHECK(num_stepper_attempt(s, target) == SLT_OK, "attempt");
    if (s->trial.error > 1.0) {
      CHECK(num_stepper_reject(s) == SLT_OK, "reject");
      continue;
    }
    CHECK(num_dense_prepare(s) == SLT_OK, "dense");
    for (int i = 1; i <= 4; i++) {
      double x[3];
      double exact[3] = {0};
      double t = s->trial.t0 + 0.25 * i * s->trial.h;
      num_dense_eval(s, t, x);
      landau_exact(t, exact);
      largest = fmax(largest, distance(3, x, exact));
    }
    num_stepper_accept(s);
  }
  return largest;
}

TEST(tolerance_is_kept) {
  static const char* const names[] = {"merson", "bs32", "dp54", "dop853"};
  for (size_t m = 0; m < SLT_COUNT(names); m++) {
    for (double rtol = 1e-4; rtol > 1e-9; rtol *= 1e-2) {
      Problem problem = {0};
      NumStepper* s = make_landau(names[m], &problem);
      num_stepper_set_tolerance(s, rtol, rtol, NULL);
      CHECK(num_stepper_choose_h(s, 10.0, (double)INFINITY) == SLT_OK, names[m]);
      double error = run_adaptive(s, 10.0);
      if (!(error < 100.0 * rtol)) {
        print_error("%s: rtol %g gives error %g\n", names[m], rtol, error);
      }
      CHECK(error < 100.0 * rtol, names[m]);
      CHECK(s->counters.rejected < 3 + s->counters.steps / 8, names[m]);
      free(s);
    }
  }
}

// ---- evaluations --------------------------------------------------------------------------------

TEST(evaluations_per_step) {
  static const struct {
    const char* name;
    uint64_t first, next, dense;  // right-hand sides: first step, later ones, later ones with dense
  } cases[] = {
      {"euler", 1, 1, 1}, {"rk4", 4, 4, 4},  {"merson", 5, 5, 5},
      {"bs32", 4, 3, 3},  {"dp54", 7, 6, 6}, {"dop853", 13, 12, 15},
  };
  FOR_CASES(c, cases) {
    Problem problem = {0};
    NumStepper* s = make_landau(c->name, &problem);
    CHECK(num_stepper_attempt(s, 0.01) == SLT_OK, c->name);
    CHECK(problem.calls == c->first, c->name);
    num_stepper_accept(s);
    CHECK(num_stepper_attempt(s, 0.02) == SLT_OK, c->name);
    CHECK(problem.calls == c->first + c->next, c->name);

    // a rejected step keeps f at its begin
    CHECK(num_stepper_reject(s) == SLT_OK, c->name);
    uint64_t before = problem.calls;
    CHECK(num_stepper_attempt(s, 0.015) == SLT_OK, c->name);
    uint64_t again = s->method->fsal ? c->next : c->first - 1;
    CHECK(problem.calls == before + again, c->name);

    // dense output evaluates the end at most once, and the next step takes it over
    CHECK(num_dense_prepare(s) == SLT_OK, c->name);
    CHECK(num_dense_prepare(s) == SLT_OK, c->name);
    num_stepper_accept(s);
    before = problem.calls;
    CHECK(num_stepper_attempt(s, 0.025) == SLT_OK, c->name);
    CHECK(num_dense_prepare(s) == SLT_OK, c->name);
    uint64_t with_dense = problem.calls - before;
    CHECK(with_dense == c->dense, c->name);
    CHECK(s->counters.rhs == problem.calls, c->name);
    free(s);
  }
}

TEST(f_is_reused_over_an_event) {
  Problem problem = {0};
  NumStepper* s = make_landau("dp54", &problem);
  CHECK(num_stepper_attempt(s, 0.1) == SLT_OK, "first");
  CHECK(num_stepper_accept_until(s, 0.1) == SLT_OK, "whole");
  CHECK(s->f_known, "f at the end is kept");
  CHECK(num_stepper_attempt(s, 0.2) == SLT_OK, "second");
  CHECK(problem.calls == 13, "f at the begin is not evaluated again");

  // part of a step: f is unknown; given f: not evaluated
  CHECK(num_stepper_accept_until(s, 0.15) == SLT_OK, "part");
  CHECK(!s->f_known && s->t == 0.15, "part");
  double f[3];
  landau(&problem, s->t, s->x, f);
  num_stepper_restart(s, s->t, 3, s->x, f);
  CHECK(s->f_known, "given");
  uint64_t before = problem.calls;
  CHECK(num_stepper_attempt(s, 0.2) == SLT_OK, "third");
  CHECK(problem.calls == before + 6, "given f is used");

  // x NULL: the state stays, f does not
  num_stepper_accept(s);
  double x[3];
  memcpy(x, s->x, sizeof x);
  num_stepper_restart(s, s->t, 3, NULL, NULL);
  CHECK(same_bits(3, x, s->x) && !s->f_known, "restart without x");
  free(s);
}

TEST(drift_is_a_straight_line) {
  static const char* const methods[] = {"euler", "rk4", "bs32", "dp54", "dop853"};
  FOR_CASES(name, methods) {
    Problem problem = {0};
    NumStepper* s = make_landau(*name, &problem);
    CHECK(num_stepper_attempt(s, 0.1) == SLT_OK, *name);
    num_stepper_accept(s);
    NumControl control = s->control;
    double x[3];
    memcpy(x, s->x, sizeof x);
    const double* f = NULL;
    CHECK(num_stepper_derivative(s, &f) == SLT_OK, *name);
    double slope[3];
    memcpy(slope, f, sizeof slope);
    uint64_t calls = problem.calls;
    double h = 0.125;
    CHECK(num_stepper_drift(s, s->t, NULL) == SLT_ERR_ARGUMENT, *name);
    CHECK(num_stepper_drift(s, s->t + h, NULL) == SLT_OK && s->trial.error == 0.0, *name);
    CHECK(num_dense_prepare(s) == SLT_OK && problem.calls == calls, "nothing is evaluated");
    for (uint32_t i = 0; i < 3; i++) {
      double middle = num_dense_component(s, i, s->trial.t0 + h / 2.0);
      CHECK(fabs(middle - (x[i] + slope[i] * h / 2.0)) <= 1e-15 * fabs(middle), *name);
      CHECK(num_dense_component_derivative(s, i, s->trial.t) == slope[i], *name);
    }
    num_stepper_accept(s);
    CHECK(!s->f_known && s->control.h_next == control.h_next, "control is left alone");

    // in a given direction: f at the committed point is still unknown if the trial is given up
    double given[3] = {1.0, -2.0, 0.0};
    memcpy(x, s->x, sizeof x);
    CHECK(num_stepper_drift(s, s->t + h, given) == SLT_OK && !s->f_known, *name);
    h = s->trial.h;
    CHECK(s->trial.x[0] == x[0] + h && s->trial.x[1] == x[1] - 2.0 * h, *name);
    free(s);
  }
}

TEST(restart_keeps_the_step) {
  Problem problem = {0};
  NumStepper* s = make_landau("dp54", &problem);
  (void)run_adaptive(s, 5.0);
  double h = s->control.h_next;
  double x[3] = {0.5, 0.1, 0.3};
  CHECK(h > 0.01, "has grown");
  num_stepper_restart(s, 5.0, 3, x, NULL);
  CHECK(s->control.h_next == h, "kept");
  num_stepper_start(s, 5.0, 3, x, NULL);
  CHECK(s->control.h_next == 0.0, "start forgets");
  free(s);
}

// ---- exact times, dense output ------------------------------------------------------------------

TEST(time_lands_exactly) {
  uint64_t seed = 7;
  for (uint32_t m = 0; m < num_method_count() && !num_method_get(m)->stiff; m++) {
    Problem problem = {0};
    NumStepper* s = make_landau(num_method_get(m)->name, &problem);
    for (int i = 0; i < 200; i++) {
      double target = s->t + test_uniform(&seed, 1e-9, 0.02);
      CHECK(num_stepper_attempt(s, target) == SLT_OK, "attempt");
      CHECK(s->trial.t == target, "trial");
      CHECK(num_dense_theta(s, target) == 1.0 && num_dense_theta(s, s->trial.t0) == 0.0, "theta");
      if (s->method->fsal) {
        CHECK(problem.last_t == target, "last stage at the end");
      }
      num_stepper_accept(s);
      CHECK(s->t == target, "committed");
    }
    CHECK(num_stepper_attempt(s, s->t) == SLT_ERR_ARGUMENT, "no step");
    CHECK(num_stepper_attempt(s, (double)NAN) == SLT_ERR_ARGUMENT, "no time");
    free(s);
  }
}

TEST(dense_ends_are_exact) {
  uint64_t seed = 11;
  for (uint32_t m = 0; m < num_method_count() && !num_method_get(m)->stiff; m++) {
    Problem problem = {0};
    NumStepper* s = make_landau(num_method_get(m)->name, &problem);
    for (int k = 0; k < 50; k++) {
      double from[3];
      double x[3];
      memcpy(from, s->x, sizeof from);
      CHECK(num_stepper_attempt(s, s->t + test_uniform(&seed, 0.01, 0.3)) == SLT_OK, "attempt");
      CHECK(num_dense_prepare(s) == SLT_OK, "prepare");
      num_dense_eval(s, s->trial.t0, x);
      CHECK(same_bits(3, x, from), "begin");
      num_dense_eval(s, s->trial.t, x);
      CHECK(same_bits(3, x, s->trial.x), "end");
      num_dense_derivative(s, s->trial.t0, x);
      CHECK(same_bits(3, x, s->trial.f0), "slope at the begin");
      if (s->method->dense_degree > 1) {
        num_dense_derivative(s, s->trial.t, x);
        CHECK(same_bits(3, x, s->trial.f), "slope at the end");
      }

      // continuous at the ends, and componentwise the same bits as the vector
      double near_end = nextafter(s->trial.t, 0.0);
      num_dense_eval(s, near_end, x);
      CHECK(distance(3, x, s->trial.x) < 1e-14, "continuous");
      for (uint32_t i = 0; i < 3; i++) {
        CHECK(num_dense_component(s, i, near_end) == x[i], "component");
      }
      num_stepper_accept(s);
    }
    free(s);
  }
}

/// Nonlinear, driven by time, and a plain integral: x = (exp(sin t), 1/(1 + t) + t^2, sin(3t)).
static SltStatus driven(void* user, double t, const double* x, double* dx) {
  (void)user;
  double z = x[1] - t * t;
  dx[0] = cos(t) * x[0];
  dx[1] = -z * z + 2.0 * t;
  dx[2] = 3.0 * cos(3.0 * t) + (x[0] - exp(sin(t))) * x[1];
  return SLT_OK;
}

/// Largest error inside one step from the solution at t = 0.3.
static double driven_error(double h, bool extend) {
  NumStepper* s = make("dp54", 3, NULL);
  const double t0 = 0.3;
  double x[3] = {exp(sin(t0)), 1.0 / (1.0 + t0) + t0 * t0, sin(3.0 * t0)};
  double worst = 0.0;
  num_stepper_set_rhs(s, driven, NULL);
  num_stepper_set_tolerance(s, 1e-15, 1e-15, NULL);
  num_stepper_start(s, t0, 3, x, NULL);
  CHECK(num_stepper_attempt(s, t0 + h) == SLT_OK, "attempt");
  CHECK(num_dense_prepare(s) == SLT_OK, "prepare");
  uint64_t before = s->counters.rhs;
  if (extend) {
    CHECK(num_dense_extend(s, t0 + 0.3 * h), "extended");
    CHECK(!num_dense_extend(s, t0 + 0.3 * h), "once");
    CHECK(s->counters.rhs == before + 2, "two evaluations");
  }
  for (int i = 1; i < 20; i++) {
    double t = t0 + 0.05 * i * h;
    const double exact[3] = {exp(sin(t)), 1.0 / (1.0 + t) + t * t, sin(3.0 * t)};
    num_dense_eval(s, t, x);
    worst = fmax(worst, distance(3, x, exact));
  }
  free(s);
  return worst;
}

TEST(extension_has_order_five) {
  double plain = log2(driven_error(0.2, false) / driven_error(0.1, false));
  double extended = log2(driven_error(0.2, true) / driven_error(0.1, true));
  if (!(plain < 5.5 && extended > 5.7)) {
    print_error("local orders %.2f and %.2f\n", plain, extended);
  }
  CHECK(plain < 5.5 && extended > 5.7, "one order more");
  CHECK(driven_error(0.1, true) < 0.25 * driven_error(0.1, false), "and smaller");
}

static SltStatus falling(void* user, double t, const double* x, double* dx) {
  (void)user;
  (void)t;
  dx[0] = x[1];
  dx[1] = -9.81;
  return SLT_OK;
}

TEST(exact_output_is_not_extended) {
  NumStepper* s = make("dp54", 2, NULL);
  const double x[2] = {10.0, 1.0};
  num_stepper_set_rhs(s, falling, NULL);
  num_stepper_start(s, 0.0, 2, x, NULL);
  CHECK(num_stepper_attempt(s, 0.7) == SLT_OK, "attempt");
  CHECK(num_dense_prepare(s) == SLT_OK, "prepare");
  CHECK(!num_dense_extend(s, 0.2) && s->trial.degree == 4, "a parabola needs no more");
  s->trial.error = 1.0;
  double most = num_dense_demand_most(s);
  for (int k = 0; k <= 1000; k++) {
    CHECK(num_dense_demand(s, k / 1000.0) <= most, "nowhere more");
  }
  CHECK(most > 1.0 && num_dense_demand(s, 0.5) == 0.0, "but there is somewhere");
  free(s);
}

TEST(dense_bases_agree_with_evaluation) {
  uint64_t seed = 3;
  for (uint32_t m = 0; m < num_method_count() && !num_method_get(m)->stiff; m++) {
    Problem problem = {0};
    const NumMethod* method = num_method_get(m);
    NumStepper* s = make_landau(method->name, &problem);
    for (int k = 0; k < 20; k++) {
      CHECK(num_stepper_attempt(s, s->t + 0.4) == SLT_OK, "attempt");
      CHECK(num_dense_prepare(s) == SLT_OK, "prepare");
      bool extended = k % 2 && num_dense_extend(s, s->trial.t0 + 0.25 * s->trial.h);
      CHECK(extended == (k % 2 && strcmp(method->name, "dp54") == 0), method->name);
      uint32_t degree = s->trial.degree;
      for (uint32_t i = 0; i < 3; i++) {
        double c[NUM_DENSE_DEGREE_MAX + 1];
        double b[NUM_DENSE_DEGREE_MAX + 1];
        double scale = 0.0;
        num_dense_power(s, i, c);
        num_dense_bernstein(s, i, b);
        CHECK(c[0] == s->trial.x0[i], "constant term");
        CHECK(b[0] == s->trial.x0[i] && b[degree] == s->trial.x[i], "ends of the hull");
        for (uint32_t j = 0; j <= degree; j++) {
          scale = fmax(scale, fabs(c[j]));
        }
        double t = s->trial.t0 + test_uniform(&seed, 0.0, 1.0) * s->trial.h;
        double theta = num_dense_theta(s, t);
        double power = 0.0;
        double slope = 0.0;
        for (uint32_t j = degree + 1; j-- > 0;) {
          slope = slope * theta + power;
          power = power * theta + c[j];
        }
        for (uint32_t r = 1; r <= degree; r++) {  // de Casteljau
          for (uint32_t j = 0; j + r <= degree; j++) {
            b[j] = (1.0 - theta) * b[j] + theta * b[j + 1];
          }
        }
        double value = num_dense_component(s, i, t);
        double derivative = num_dense_component_derivative(s, i, t);
        CHECK_NEAR(power, value, 1e-14 * scale, 0);
        CHECK_NEAR(b[0], value, 4e-15 * (1.0 + fabs(value)), 0);
        CHECK_NEAR(slope / s->trial.h, derivative, 1e-12 * scale, 0);
      }
      num_stepper_accept(s);
    }
    free(s);
  }
}

// what components share is in whatever is asked of the dense output, and in the end that is
// accepted
TEST(shared_parts_are_everywhere) {
  static const double weight[3] = {0.5, 0.0, -2.0};
  static const double c[5] = {1e-3, -2e-3, 3e-3, 1e-3, -5e-4};
  Problem problem = {0};
  NumStepper* s = make_landau("dp54", &problem);
  CHECK(num_stepper_attempt(s, 0.3) == SLT_OK && num_dense_prepare(s) == SLT_OK, "attempt");
  double plain[3], all[3];
  double at[] = {0.0, 0.1, 0.3};
  for (int k = 0; k < 3; k++) {
    num_dense_share(s, NULL, c);
    num_dense_eval(s, at[k], plain);
    num_dense_share(s, weight, c);
    num_dense_eval(s, at[k], all);
    double theta = num_dense_theta(s, at[k]);
    double value = c[0] + theta * (c[1] + theta * (c[2] + theta * (c[3] + theta * c[4])));
    for (uint32_t i = 0; i < 3; i++) {
      CHECK_NEAR(all[i], plain[i] + weight[i] * value, 1e-15, 0);
      CHECK(num_dense_component(s, i, at[k]) == all[i], "component");
      double power[NUM_DENSE_DEGREE_MAX + 1], b[NUM_DENSE_DEGREE_MAX + 1];
      num_dense_power(s, i, power);
      num_dense_bernstein(s, i, b);
      double sum = 0.0, slope = 0.0;
      for (uint32_t j = 5; j-- > 0;) {
        slope = slope * theta + sum;
        sum = sum * theta + power[j];
      }
      CHECK_NEAR(sum, all[i], 1e-14, 0);
      CHECK_NEAR(num_dense_component_derivative(s, i, at[k]), slope / 0.3, 1e-12, 0);
      if (k == 0) CHECK(b[0] == all[i], "begin of the hull");
      if (k == 2) CHECK(b[4] == all[i], "end of the hull");
    }
  }
  num_stepper_accept(s);
  CHECK(same_bits(3, s->x, all), "accepted");
  free(s);
}

TEST(dense_output_outlives_accept_and_restart) {
  for (uint32_t m = 0; m < num_method_count() && !num_method_get(m)->stiff; m++) {
    Problem problem = {0};
    NumStepper* s = make_landau(num_method_get(m)->name, &problem);
    double before[3];
    double after[3];
    double jump[3] = {9.0, 9.0, 9.0};
    CHECK(num_stepper_attempt(s, 0.01) == SLT_OK, "first");
    num_stepper_accept(s);
    CHECK(num_stepper_attempt(s, 0.3) == SLT_OK, "second");
    CHECK(num_dense_prepare(s) == SLT_OK, "prepare");
    num_dense_eval(s, 0.1, before);
    CHECK(num_stepper_accept_until(s, 0.2) == SLT_OK, "part");
    num_dense_eval(s, 0.2, after);
    CHECK(same_bits(3, after, s->x), "committed is dense output");
    num_stepper_restart(s, 0.2, 3, jump, jump);
    CHECK(s->x[0] == 9.0, "jumped");
    num_dense_eval(s, 0.1, after);
    CHECK(same_bits(3, before, after), "still there");
    num_dense_eval(s, 0.3, after);
    CHECK(same_bits(3, s->trial.x, after), "and its end");

    // prepared late, after accept: the same
    num_stepper_restart(s, 0.0, 3, before, NULL);
    CHECK(num_stepper_attempt(s, 0.1) == SLT_OK, "third");
    num_stepper_accept(s);
    CHECK(num_dense_prepare(s) == SLT_OK, "late");
    num_dense_eval(s, 0.1, after);
    CHECK(same_bits(3, s->x, after), "end");
    free(s);
  }
}

// ---- failures -----------------------------------------------------------------------------------

TEST(failing_rhs_leaves_the_state) {
  for (uint32_t m = 0; m < num_method_count() && !num_method_get(m)->stiff; m++) {
    const NumMethod* method = num_method_get(m);
    for (uint64_t at = 1; at <= method->stages; at++) {
      Problem problem = {0};
      NumStepper* s = make_landau(method->name, &problem);
      double x[3];
      CHECK(num_stepper_attempt(s, 0.01) == SLT_OK, method->name);
      num_stepper_accept(s);
      memcpy(x, s->x, sizeof x);
      bool knows_f = s->f_known;
      uint64_t needed = method->stages - (knows_f ? 1 : 0);
      if (at > needed) {
        free(s);
        continue;
      }
      problem.fail_from = problem.calls + at;
      CHECK(num_stepper_attempt(s, 0.02) == SLT_ERR_NO_CONVERGENCE, method->name);
      CHECK(s->t == 0.01 && same_bits(3, x, s->x), method->name);
      CHECK(!s->trial.valid && !s->trial.pending, method->name);
      CHECK(num_dense_prepare(s) == SLT_ERR_ARGUMENT, method->name);
      CHECK(num_stepper_reject(s) == SLT_OK, method->name);
      CHECK_NEAR(s->control.h_next, 0.0025, 0, 1e-12);
      CHECK(s->counters.failed == 1 && s->counters.rejected == 0, method->name);

      // repaired: the run goes on as if nothing had happened
      problem.fail_from = 0;
      CHECK(num_stepper_attempt(s, 0.02) == SLT_OK, method->name);
      Problem other = {0};
      NumStepper* twin = make_landau(method->name, &other);
      CHECK(num_stepper_attempt(twin, 0.01) == SLT_OK, method->name);
      num_stepper_accept(twin);
      CHECK(num_stepper_attempt(twin, 0.02) == SLT_OK, method->name);
      CHECK(same_bits(3, s->trial.x, twin->trial.x), method->name);
      free(twin);
      free(s);
    }
  }
}

TEST(failing_dense_stage_leaves_the_trial) {
  static const char* const names[] = {"rk4", "merson", "dop853"};
  for (size_t m = 0; m < SLT_COUNT(names); m++) {
    Problem problem = {0};
    NumStepper* s = make_landau(names[m], &problem);
    double x[3];
    CHECK(num_stepper_attempt(s, 0.01) == SLT_OK, names[m]);
    problem.fail_from = problem.calls + 1;
    memcpy(x, s->x, sizeof x);
    CHECK(num_dense_prepare(s) == SLT_ERR_NO_CONVERGENCE, names[m]);
    CHECK(num_stepper_accept_until(s, 0.005) == SLT_ERR_NO_CONVERGENCE, names[m]);
    CHECK(s->t == 0.0 && same_bits(3, x, s->x) && s->trial.pending, names[m]);
    problem.fail_from = 0;
    CHECK(num_stepper_accept_until(s, 0.005) == SLT_OK, names[m]);
    free(s);
  }
}

static SltStatus blow_up(void* user, double t, const double* x, double* dx) {
  (void)user;
  (void)t;
  dx[0] = x[0] * x[0];
  return SLT_OK;
}

TEST(not_a_number_is_an_error) {
  for (uint32_t m = 0; m < num_method_count() && !num_method_get(m)->stiff; m++) {
    const NumMethod* method = num_method_get(m);
    NumStepper* s = make(method->name, 1, NULL);
    double x[1] = {1e200};
    num_stepper_set_rhs(s, blow_up, NULL);
    num_stepper_start(s, 0.0, 1, x, NULL);
    CHECK(num_stepper_attempt(s, 1.0) == SLT_ERR_NOT_FINITE, method->name);
    CHECK(s->x[0] == 1e200 && s->t == 0.0, method->name);
    free(s);
  }
}

// ---- storage ------------------------------------------------------------------------------------

static SltStatus decay(void* user, double t, const double* x, double* dx) {
  (void)t;
  uint32_t n = *(const uint32_t*)user;
  for (uint32_t i = 0; i < n; i++) {
    dx[i] = -x[i] * (1.0 + 0.1 * i);
  }
  return SLT_OK;
}

TEST(number_of_components_may_change) {
  uint32_t n = 5;
  NumStepper* s = make("dp54", 20, NULL);
  double x[20];
  for (int i = 0; i < 20; i++) {
    x[i] = 1.0 + i;
  }
  num_stepper_set_rhs(s, decay, &n);
  num_stepper_start(s, 0.0, n, x, NULL);
  CHECK(num_stepper_attempt(s, 0.1) == SLT_OK && s->trial.n == 5, "five");
  CHECK(num_dense_prepare(s) == SLT_OK, "dense");
  num_stepper_accept(s);
  n = 20;
  num_stepper_restart(s, 0.1, n, x, NULL);
  CHECK_NEAR(num_dense_component(s, 4, 0.05), 5.0 * exp(-1.4 * 0.05), 0, 1e-7);
  CHECK(num_stepper_attempt(s, 0.2) == SLT_OK && s->trial.n == 20, "twenty");
  CHECK_NEAR(s->trial.x[19], 20.0 * exp(-2.9 * 0.1), 0, 1e-6);
  num_stepper_accept(s);
  n = 0;
  num_stepper_restart(s, 0.2, n, x, NULL);
  CHECK(num_stepper_attempt(s, 1.0) == SLT_OK && s->trial.error == 0.0, "none");
  num_stepper_accept(s);
  CHECK(s->t == 1.0 && s->control.h_next > 0.0, "none");
  free(s);
}

TEST(copied_storage_continues_with_the_same_bits) {
  for (uint32_t m = 0; m < num_method_count() && !num_method_get(m)->stiff; m++) {
    const NumMethod* method = num_method_get(m);
    Problem problem = {0};
    Problem other = {0};
    NumStepper* s = make_landau(method->name, &problem);
    size_t size = num_stepper_size(method, 3);
    for (int k = 0; k < 7; k++) {
      CHECK(num_stepper_attempt(s, s->t + s->control.h_next) == SLT_OK, method->name);
      num_stepper_accept(s);
    }
    CHECK(num_dense_prepare(s) == SLT_OK, method->name);
    void* copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, s, size);
    NumStepper* c = num_stepper_rebind(copy, landau, &other);
    double middle = 0.5 * (s->trial.t0 + s->trial.t);
    CHECK(num_dense_component(c, 1, middle) == num_dense_component(s, 1, middle), method->name);
    for (int k = 0; k < 7; k++) {
      CHECK(num_stepper_attempt(s, s->t + s->control.h_next) == SLT_OK, method->name);
      CHECK(num_stepper_attempt(c, c->t + c->control.h_next) == SLT_OK, method->name);
      num_stepper_accept(s);
      num_stepper_accept(c);
      CHECK(s->t == c->t && same_bits(3, s->x, c->x), method->name);
    }
    free(copy);
    free(s);
  }
}

TEST(options_are_checked) {
  NumOptions good = num_options();
  const NumMethod* dp54 = num_method_find(STR_LIT("dp54"));
  const NumMethod* rk4 = num_method_find(STR_LIT("rk4"));
  void* storage = malloc(num_stepper_size(dp54, 2));
  NumStepper* s = NULL;
  assert_non_null(storage);
  CHECK(num_stepper_init(storage, dp54, 2, &good, &s) == SLT_OK && s, "good");
  NumOptions o = good;
  o.rtol = -1.0;
  CHECK(num_stepper_init(storage, dp54, 2, &o, &s) == SLT_ERR_ARGUMENT && !s, "rtol");
  o = good;
  o.rtol = 0.0;
  o.atol = 0.0;
  CHECK(num_stepper_init(storage, dp54, 2, &o, &s) == SLT_ERR_ARGUMENT, "no tolerance");
  o = good;
  o.atol = (double)NAN;
  CHECK(num_stepper_init(storage, dp54, 2, &o, &s) == SLT_ERR_ARGUMENT, "atol");
  o = good;
  o.h_min = 1.0;
  o.h_max = 0.1;
  CHECK(num_stepper_init(storage, dp54, 2, &o, &s) == SLT_ERR_ARGUMENT, "limits");
  CHECK(num_stepper_init(storage, rk4, 2, &good, &s) == SLT_ERR_ARGUMENT, "fixed step without h0");
  free(storage);
  CHECK(num_stepper_size(dp54, UINT32_MAX) > UINT32_MAX, "large");
}

// ---- the same bits ------------------------------------------------------------------------------

// A chain of cubic oscillators, long enough for the wide loops. No libm function, and nothing that
// this file's own flags could turn into a fused multiply-add with another result.
static SltStatus chain(void* user, double t, const double* x, double* dx) {
  uint32_t n = *(const uint32_t*)user;
  uint32_t m = n / 2;
  for (uint32_t i = 0; i < m; i++) {
    double left = i > 0 ? x[i - 1] : 0.0;
    double right = i + 1 < m ? x[i + 1] : t * 0.015625;
    volatile double cube = x[i] * x[i] * x[i];
    dx[i] = x[m + i];
    dx[m + i] = left - 2.0 * x[i] + right - cube;
  }
  return SLT_OK;
}

static uint64_t trajectory_hash(const char* name, uint32_t n, NumNorm norm) {
  NumOptions options = num_options();
  options.norm = norm;
  NumStepper* s = make(name, n, &options);
  double x[40];
  double y[40];
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (uint32_t i = 0; i < n; i++) {
    x[i] = 1.0 / (1.0 + i);
  }
  num_stepper_set_rhs(s, chain, &n);
  num_stepper_start(s, 0.0, n, x, NULL);
  if (s->control.h_next == 0.0) {
    CHECK(num_stepper_choose_h(s, 3.0, (double)INFINITY) == SLT_OK, name);
  }
  while (s->t < 3.0) {
    CHECK(num_stepper_attempt(s, fmin(s->t + s->control.h_next, 3.0)) == SLT_OK, name);
    if (s->trial.error > 1.0) {
      CHECK(num_stepper_reject(s) == SLT_OK, name);
      continue;
    }
    CHECK(num_dense_prepare(s) == SLT_OK, name);
    num_dense_eval(s, s->trial.t0 + 0.25 * s->trial.h, y);
    hash = hash_bytes(y, n * sizeof *y, hash);
    num_stepper_accept(s);
    hash = hash_bytes(s->x, n * sizeof *x, hash);
    hash = hash_bytes(&s->control.h_next, sizeof s->control.h_next, hash);
  }
  free(s);
  return hash;
}

TEST(bits_do_not_depend_on_the_build) {
  static const struct {
    const char* name;
    uint32_t n;
    NumNorm norm;
    uint64_t want;
  } cases[] = {
      {"euler", 6, NUM_NORM_RMS, 0x109d7b985583df4a},
      {"rk4", 6, NUM_NORM_RMS, 0x8bb45be83e8998e7},
      {"merson", 6, NUM_NORM_RMS, 0xea2b7050cee673c9},
      {"bs32", 6, NUM_NORM_RMS, 0x8b8b5bc35dcb8756},
      {"dp54", 6, NUM_NORM_RMS, 0x786f722131c2eb6f},
      {"dp54", 6, NUM_NORM_MAX, 0xe2b734eed73fff6f},
      {"dp54", 38, NUM_NORM_RMS, 0x3f74c46fdadd9382},
      {"dop853", 6, NUM_NORM_RMS, 0xada301597ab49858},
      {"dop853", 38, NUM_NORM_MAX, 0xad401cf9a19c00e7},
  };
  bool same = true;
  FOR_CASES(c, cases) {
    uint64_t got = trajectory_hash(c->name, c->n, c->norm);
    if (got != c->want) {
      print_error("%s, n = %u: hash 0x%016llx\n", c->name, c->n, (unsigned long long)got);
    }
    same = same && got == c->want;
  }
  CHECK(same, "all methods");
}
