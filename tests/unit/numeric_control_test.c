// SPDX-License-Identifier: MIT
//
// Step size control: what is proposed after which trial, bounds, stability, the first step.
#include "numeric/internal.h"
#include "test.h"

static double stiffness = 1000.0;  // set by the tests below

static SltStatus forced(void* user, double t, const double* x, double* dx) {
  (void)user;
  dx[0] = -stiffness * (x[0] - cos(t)) - sin(t);
  return SLT_OK;
}

static SltStatus relaxing(void* user, double t, const double* x, double* dx) {
  (void)user;
  (void)t;
  dx[0] = -stiffness * x[0];
  dx[1] = x[2];
  dx[2] = -x[1];
  return SLT_OK;
}

static SltStatus oscillator(void* user, double t, const double* x, double* dx) {
  (void)user;
  (void)t;
  dx[0] = x[1];
  dx[1] = -x[0];
  return SLT_OK;
}

static NumStepper* make(const char* name, uint32_t n, NumRhs* rhs, const NumOptions* options,
                        const double* x) {
  const NumMethod* method = num_method_find(str_from_c(name));
  assert_non_null(method);
  void* storage = malloc(num_stepper_size(method, n));
  NumStepper* s = NULL;
  assert_non_null(storage);
  CHECK(num_stepper_init(storage, method, n, options, &s) == SLT_OK, name);
  num_stepper_set_rhs(s, rhs, NULL);
  num_stepper_start(s, 0.0, n, x, NULL);
  return s;
}

/// Run to t_end; mean of |log(h_n / h_(n-1))|, the restlessness of the steps.
static double run(NumStepper* s, double t_end) {
  double sum = 0.0;
  double before = 0.0;
  CHECK(num_stepper_choose_h(s, t_end, (double)INFINITY) == SLT_OK, "first step");
  while (s->t < t_end) {
    CHECK(num_stepper_attempt(s, fmin(s->t + s->control.h_next, t_end)) == SLT_OK, "attempt");
    if (s->trial.error > 1.0) {
      CHECK(num_stepper_reject(s) == SLT_OK, "reject");
      continue;
    }
    num_stepper_accept(s);
    if (before > 0.0 && s->t < t_end) {
      sum += fabs(log(s->trial.h / before));
    }
    before = s->trial.h;
  }
  return sum / (double)s->counters.steps;
}

TEST(power_is_close_enough) {
  uint64_t seed = 5;
  for (int i = 0; i < 10000; i++) {
    double base = exp(test_uniform(&seed, -50.0, 50.0));
    double exponent = test_uniform(&seed, -1.0, 1.0);
    CHECK_NEAR(num_power(base, exponent), pow(base, exponent), 0, 2e-5);
  }
  CHECK_NEAR(num_power(1.0, -0.2), 1.0, 1e-9, 0);
  CHECK(num_power(1e300, 100.0) > 1e300, "saturates");
  CHECK(num_power(1e-300, 100.0) < 1e-300, "saturates");
}

TEST(stability_control_calms_the_steps) {
  static const struct {
    const char* name;
    double rtol;
  } cases[] = {{"merson", 1e-4}, {"bs32", 1e-6}, {"dp54", 1e-4}, {"dop853", 1e-6}};
  stiffness = 1000.0;
  FOR_CASES(c, cases) {
    NumOptions options = num_options();
    double x[1] = {0.0};
    options.rtol = c->rtol;
    options.atol = 1e-2 * c->rtol;
    options.stability = false;
    NumStepper* off = make(c->name, 1, forced, &options, x);
    double restless = run(off, 10.0);
    options.stability = true;
    NumStepper* on = make(c->name, 1, forced, &options, x);
    double calm = run(on, 10.0);
    CHECK(on->counters.rejected < off->counters.rejected, c->name);
    CHECK(on->counters.rejected <= 3, c->name);
    CHECK(calm <= restless && calm < 0.01, c->name);
    CHECK((double)on->counters.steps < 1.15 * (double)off->counters.steps, c->name);

    // the estimate is the eigenvalue, and the suspicion is raised
    CHECK(on->counters.stability_limited > on->counters.steps / 2, c->name);
    CHECK(on->control.lambda > 500.0 && on->control.lambda < 2000.0, c->name);
    CHECK(on->control.stiff_suspected && !off->control.stiff_suspected, c->name);
    CHECK_NEAR(on->x[0], cos(10.0), 1e-2 * sqrt(c->rtol), 0);
    free(on);
    free(off);
  }
}

TEST(stability_control_leaves_other_problems_alone) {
  static const char* const names[] = {"merson", "bs32", "dp54", "dop853"};
  for (size_t m = 0; m < SLT_COUNT(names); m++) {
    NumOptions options = num_options();
    double x[2] = {1.0, 0.0};
    options.stability = false;
    NumStepper* off = make(names[m], 2, oscillator, &options, x);
    (void)run(off, 100.0);
    options.stability = true;
    NumStepper* on = make(names[m], 2, oscillator, &options, x);
    (void)run(on, 100.0);
    CHECK((double)on->counters.steps <= 1.02 * (double)off->counters.steps, names[m]);
    CHECK(!on->control.stiff_suspected, names[m]);
    free(on);
    free(off);
  }
}

TEST(suspicion_of_a_fixed_step) {
  NumOptions options = num_options();
  double x[3] = {1.0, 1.0, 0.0};
  stiffness = 100.0;
  options.h0 = 0.03;  // h lambda = 3 > 2.785
  NumStepper* s = make("rk4", 3, relaxing, &options, x);
  for (int k = 1; k <= 40; k++) {
    CHECK(num_stepper_attempt(s, 0.03 * k) == SLT_OK, "attempt");
    num_stepper_accept(s);
    CHECK(s->control.h_next == 0.03, "stays fixed");
  }
  CHECK(s->control.stiff_suspected, "beyond the interval");
  CHECK_NEAR(s->control.lambda, 100.0, 0, 0.05);
  free(s);
}

TEST(bounds_of_proposals) {
  NumOptions options = num_options();
  double x[2] = {1.0, 0.0};
  options.h_max = 0.05;
  options.h_min = 0.01;
  NumStepper* s = make("dp54", 2, oscillator, &options, x);
  CHECK(num_stepper_choose_h(s, 10.0, (double)INFINITY) == SLT_OK, "choose");
  CHECK(s->control.h_next >= 0.01 && s->control.h_next <= 0.05, "first");
  for (int k = 0; k < 10; k++) {
    CHECK(num_stepper_attempt(s, s->t + s->control.h_next) == SLT_OK, "attempt");
    num_stepper_accept(s);
    CHECK(s->control.h_next <= 0.05, "largest");
  }
  CHECK(s->control.h_next == 0.05, "reached");

  // h_min ends the rejections
  num_stepper_set_tolerance(s, 1e-18, 1e-18, NULL);
  uint32_t tries = 0;
  for (;;) {
    CHECK(num_stepper_attempt(s, s->t + s->control.h_next) == SLT_OK, "attempt");
    CHECK(s->trial.error > 1.0 && ++tries < 10, "too inaccurate");
    if (num_stepper_reject(s) == SLT_ERR_STEP) {
      break;
    }
    CHECK(s->control.h_next >= 0.01, "smallest");
  }
  CHECK(s->control.h_next == 0.01, "at the limit");
  free(s);
}

TEST(rejection_stops_growth) {
  NumOptions options = num_options();
  double x[2] = {1.0, 0.0};
  NumStepper* s = make("dp54", 2, oscillator, &options, x);
  CHECK(num_stepper_attempt(s, 2.0) == SLT_OK && s->trial.error > 1.0, "much too long");
  double error = s->trial.error;
  CHECK(num_stepper_reject(s) == SLT_OK, "reject");
  double h = s->control.h_next;
  CHECK(h < 2.0 && h >= 0.4 * (1 - 1e-12), "lowered, not below a fifth");
  CHECK(error > 1.0, "error stays readable");

  // an accepted, much shorter step: no growth beyond it now, growth after the next
  s->control.h_next = 0.01;
  CHECK(num_stepper_attempt(s, 0.01) == SLT_OK, "short");
  CHECK(num_stepper_proposal(s) == 0.01, "announced");
  num_stepper_accept(s);
  CHECK(s->control.h_next == 0.01, "no growth");
  CHECK(num_stepper_attempt(s, 0.02) == SLT_OK, "next");
  double announced = num_stepper_proposal(s);
  num_stepper_accept(s);
  CHECK(s->control.h_next == announced && announced > 0.04 && announced <= 0.05, "growth");
  free(s);
}

TEST(shortened_step_keeps_the_wanted_one) {
  NumOptions options = num_options();
  double x[2] = {1.0, 0.0};
  NumStepper* s = make("dp54", 2, oscillator, &options, x);
  (void)run(s, 20.0);
  double wanted = s->control.h_next;
  CHECK(wanted > 0.05, "settled");
  for (double cut = 1e-13; cut < 0.02; cut *= 10.0) {
    double target = s->t + cut * wanted;
    if (target > s->t) {
      CHECK(num_stepper_attempt(s, target) == SLT_OK, "sliver");
      num_stepper_accept(s);
      CHECK(s->control.h_next == wanted, "kept over a sliver");
    }
  }

  // a part of a step keeps the proposal of the whole
  CHECK(num_stepper_attempt(s, s->t + wanted) == SLT_OK, "whole");
  CHECK(s->trial.error <= 1.0, "acceptable");
  double announced = num_stepper_proposal(s);
  CHECK(num_stepper_accept_until(s, s->trial.t0 + 0.1 * wanted) == SLT_OK, "part");
  CHECK(s->control.h_next == fmin(announced, fmax(s->trial.h, wanted)), "kept over an event");

  // but a short step that is already inaccurate lowers it
  s->control.h_next = 100.0;
  CHECK(num_stepper_attempt(s, s->t + 1.2 * wanted) == SLT_OK, "attempt");
  if (s->trial.error <= 1.0) {
    num_stepper_accept(s);
    CHECK(s->control.h_next < 3.0 * wanted, "lowered");
  }
  free(s);
}

/// A nonlinear motion of three components with time in it.
static SltStatus winding(void* user, double t, const double* x, double* dx) {
  (void)user;
  dx[0] = x[1] * x[2];
  dx[1] = sin(t) - x[0];
  dx[2] = -0.3 * x[2] + cos(x[0] * x[1]);
  return SLT_OK;
}

TEST(the_larger_pair_knows_the_error_of_the_smaller) {
  uint32_t compared = 0;
  for (uint32_t i = 0; i < 200; i++) {
    NumOptions options = num_options();
    options.rtol = 1e-7;
    double x[3] = {1.0 + 0.01 * i, 0.5 + 0.02 * i, 0.3 + 0.005 * i};
    NumStepper* large = make("dp54", 3, winding, &options, x);
    NumStepper* small = make("bs32", 3, winding, &options, x);
    double whole = 0.05;
    double part = whole * (0.3 + 0.0035 * i);
    CHECK(num_stepper_attempt(large, whole) == SLT_OK, "larger");
    CHECK(num_dense_prepare(large) == SLT_OK, "dense output");
    CHECK(num_stepper_attempt(small, part) == SLT_OK, "smaller");
    double foreseen = num_small_pair_error(large, part);
    CHECK(foreseen > 0.6 * small->trial.error, "not too small");
    compared += foreseen < 2.0 * small->trial.error;
    free(large);
    free(small);
  }
  CHECK(compared > 150, "and mostly close");
}

/// Run the oscillator with the pair that num_pairs_weigh() asks for; evaluations it took.
static uint64_t run_pairs(NumPairs* pairs, bool undisturbed) {
  NumOptions options = num_options();
  options.by_scale = true;
  double x[2] = {1.0, 0.0};
  const NumMethod* methods[] = {num_method_find(STR_LIT("dp54")),
                                num_method_find(STR_LIT("dop853"))};
  NumStepper* s = make("dop853", 2, oscillator, &options, x);
  num_stepper_switch(s, methods[0]);
  CHECK(num_stepper_choose_h(s, 300.0, (double)INFINITY) == SLT_OK, "first step");
  while (s->t < 300.0) {
    const NumMethod* method = methods[num_pairs_weigh(pairs, s, undisturbed)];
    if (method != s->method) num_stepper_switch(s, method);
    CHECK(num_stepper_attempt(s, s->t + s->control.h_next) == SLT_OK, "attempt");
    if (s->trial.error > 1.0) {
      CHECK(num_stepper_reject(s) == SLT_OK, "reject");
    } else {
      num_stepper_accept(s);
    }
  }
  CHECK(fabs(s->x[0] - cos(s->t)) < 1e-3, "value");
  uint64_t count = s->counters.rhs;
  free(s);
  return count;
}

TEST(the_larger_pair_stays_where_it_goes_farther) {
  NumPairs calm = {0};
  NumPairs disturbed = {0};
  uint64_t with = run_pairs(&calm, true);
  uint64_t without = run_pairs(&disturbed, false);
  CHECK(calm.phase == NUM_PAIR_LARGER && calm.patience == 0, "in use");
  CHECK(disturbed.phase == NUM_PAIR_SMALLER, "not tried");
  CHECK(with < 0.7 * (double)without, "evaluations");
}

TEST(tolerance_per_component) {
  double atol[2] = {1e-3, 1e-12};
  NumOptions options = num_options();
  double x[2] = {1.0, 0.0};
  options.rtol = 0.0;
  options.atol_vector = atol;
  NumStepper* s = make("dp54", 2, oscillator, &options, x);
  CHECK(num_stepper_attempt(s, 0.1) == SLT_OK, "attempt");
  double strict = s->trial.error;
  atol[1] = 1e-3;
  num_stepper_set_tolerance(s, 0.0, 0.0, atol);
  CHECK(num_stepper_attempt(s, 0.1) == SLT_OK, "attempt");
  CHECK(s->trial.error < 1e-6 * strict, "the vector counts");
  s->options.norm = NUM_NORM_MAX;
  CHECK(num_stepper_attempt(s, 0.1) == SLT_OK, "attempt");
  CHECK(s->trial.error > 0.0, "largest component");

  // no absolute tolerance, and a component that is and stays zero
  double zero[2] = {0.0, 0.0};
  num_stepper_set_tolerance(s, 1e-6, 0.0, NULL);
  num_stepper_start(s, 0.0, 2, zero, NULL);
  CHECK(num_stepper_attempt(s, 0.1) == SLT_OK && s->trial.error == 0.0, "zero stays zero");
  free(s);
}

TEST(max_norm_is_the_largest_component) {
  NumOptions options = num_options();
  double x[2] = {1.0, 0.0};
  NumStepper* s = make("dp54", 2, oscillator, &options, x);
  CHECK(num_stepper_attempt(s, 0.3) == SLT_OK, "rms");
  double rms = s->trial.error;
  s->options.norm = NUM_NORM_MAX;
  CHECK(num_stepper_attempt(s, 0.3) == SLT_OK, "max");
  CHECK(s->trial.error >= rms && s->trial.error <= rms * sqrt(2.0) * (1 + 1e-12), "between");
  free(s);
}

static SltStatus only_near(void* user, double t, const double* x, double* dx) {
  (void)user;
  if (t > 1e-9) {
    return SLT_ERR_NOT_FINITE;
  }
  dx[0] = 1.0 + x[0];
  return SLT_OK;
}

/// Nothing moves: two flows are in balance.
static SltStatus held(void* user, double t, const double* x, double* dx) {
  (void)user, (void)t, (void)x;
  dx[0] = 0.0;
  return SLT_OK;
}

/// One of them.
static SltStatus driven(void* user, double t, const double* x, double* dx) {
  (void)x;
  dx[0] = sin(t / *(const double*)user) - 1.0;
  return SLT_OK;
}

TEST(first_step_of_a_held_motion) {
  NumOptions options = num_options();
  options.by_scale = true;
  double times[] = {1e-9, 1.0, 1e9};
  double x[1] = {0.0};
  FOR_CASES(time, times) {
    NumStepper* s = make("dp54", 1, held, &options, x);
    num_stepper_set_rhs(s, held, (void*)time);
    CHECK(num_stepper_choose_h(s, 1e20, (double)INFINITY) == SLT_OK, "choose");
    CHECK(s->control.h_next < 1e-20, "nothing is known");
    num_stepper_start(s, 0.0, 1, x, NULL);
    CHECK(num_stepper_choose_h_held(s, 1e20, (double)INFINITY, driven) == SLT_OK, "choose");
    double h = s->control.h_next / *time;
    CHECK(h > 1e-7 && h < 1e-3, "by the time of the flow");
    CHECK(s->rhs == held, "the motion is the one it was");
    free(s);
  }
}

/// One component drifts, the other one rests at zero.
static SltStatus resting(void* user, double t, const double* x, double* dx) {
  (void)user;
  (void)t;
  (void)x;
  dx[0] = 1e-9;
  dx[1] = 0.0;
  return SLT_OK;
}

TEST(what_rests_at_zero_bounds_no_step) {
  static const char* const names[] = {"bs32", "merson", "dp54", "dop853"};
  static const double steps[] = {1e-9, 1.0, 1e9, 1e60};
  NumOptions options = num_options();
  options.by_scale = true;
  double x[2] = {1.0, 0.0};
  FOR_CASES(name, names) {
    FOR_CASES(h, steps) {
      NumStepper* s = make(*name, 2, resting, &options, x);
      CHECK(num_stepper_attempt(s, *h) == SLT_OK && s->trial.error <= 1.0, *name);
      free(s);
    }
  }
}

TEST(first_step) {
  NumOptions options = num_options();
  options.by_scale = true;
  double x[2] = {1.0, 0.5};
  NumStepper* s = make("dp54", 2, oscillator, &options, x);
  CHECK(num_stepper_choose_h(s, 100.0, (double)INFINITY) == SLT_OK, "choose");
  CHECK(s->control.h_next > 1e-4 && s->control.h_next < 1.0, "sensible");
  CHECK(s->counters.rhs == 2, "two evaluations");
  CHECK(num_stepper_attempt(s, s->control.h_next) == SLT_OK && s->trial.error < 1.0, "fits");
  CHECK(s->counters.rhs == 2 + 6, "f is kept");
  num_stepper_start(s, 0.0, 2, x, NULL);
  CHECK(num_stepper_choose_h(s, 1e-6, (double)INFINITY) == SLT_OK && s->control.h_next == 1e-6,
        "bounded");
  free(s);

  // f exists only close to the start: the probe moves there
  double y[1] = {1.0};
  s = make("dp54", 1, only_near, &options, y);
  CHECK(num_stepper_choose_h(s, 1.0, (double)INFINITY) == SLT_OK, "probe");
  CHECK(s->control.h_next > 0.0, "some step");
  num_stepper_start(s, 1.0, 1, y, NULL);
  CHECK(num_stepper_choose_h(s, 2.0, (double)INFINITY) == SLT_ERR_NOT_FINITE, "no f at all");
  free(s);
}
