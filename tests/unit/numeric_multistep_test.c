// SPDX-License-Identifier: MIT
//
// The methods of SUNDIALS behind the stepper's interface: accuracy at the steps and between them on
// problems with closed forms, output that is continuous to the bit, bounds, restarts, failures.
#include "numeric/internal.h"
#include "test.h"

/// Without SUNDIALS there is nothing to test; ctest shows that as skipped.
__attribute__((constructor)) static void skip_without_sundials(void) {
  if (!num_method_find(STR_LIT("bdf"))) {
    printf("SUNDIALS is not built in\n");
    exit(77);
  }
}

static const char* const names[] = {"bdf", "adams", "ida"};

// x0' = -u x0, x1' = -2 t x1^2, 0 = u - cos(t) - (x1 - 1/(1 + t^2)); x0 = exp(-sin t), u = cos t
typedef struct Problem {
  NumLinear* linear;
  NumMultistep* past;
  NumStepper* s;
  uint32_t algebraic;
  double wall;  // no values for x0 below
} Problem;

static double bell(double t) {
  return 1.0 / (1.0 + t * t);
}

static double unknown_at(double t, const double* x) {
  return cos(t) + (x[1] - bell(t));
}

static SltStatus reduced(void* user, double t, const double* x, double* dx) {
  if (x[0] < ((Problem*)user)->wall) return SLT_ERR_STEP;
  dx[0] = -unknown_at(t, x) * x[0];
  dx[1] = -2.0 * t * x[1] * x[1];
  return SLT_OK;
}

static SltStatus direct(void* user, double t, const double* y, double* out) {
  if (y[0] < ((Problem*)user)->wall) return SLT_ERR_STEP;
  out[0] = -y[2] * y[0];
  out[1] = -2.0 * t * y[1] * y[1];
  out[2] = y[2] - unknown_at(t, y);
  return SLT_OK;
}

static SltStatus linearize(void* user, double t, double* xu, double* f, double* values, double* ft,
                           bool* timed) {
  Problem* p = user;
  f[0] = -unknown_at(t, xu) * xu[0];
  f[1] = -2.0 * t * xu[1] * xu[1];
  *timed = false;
  (void)ft;
  if (p->algebraic) {
    xu[2] = unknown_at(t, xu);
    double entries[] = {-xu[2], -xu[0], -4.0 * t * xu[1], -1.0, 1.0};
    memcpy(values, entries, sizeof entries);
  } else {
    double entries[] = {-unknown_at(t, xu), -xu[0], -4.0 * t * xu[1]};
    memcpy(values, entries, sizeof entries);
  }
  return SLT_OK;
}

static void exact(double t, double* x) {
  x[0] = exp(-sin(t));
  x[1] = bell(t);
}

static double error_of(const double* x, double t) {
  double want[2];
  exact(t, want);
  return fmax(fabs(x[0] - want[0]), fabs(x[1] - want[1]));
}

static void begin(Problem* p, const char* name, uint32_t algebraic, double rtol) {
  static const uint32_t ode_begin[] = {0, 2, 3};
  static const uint32_t ode_columns[] = {0, 1, 1};
  static const uint32_t dae_begin[] = {0, 2, 3, 5};
  static const uint32_t dae_columns[] = {0, 2, 1, 1, 2};
  *p = (Problem){.algebraic = algebraic, .wall = -HUGE_VAL};
  const NumMethod* method = num_method_find(str_from_c(name));
  NumPattern pattern = {.states = 2,
                        .algebraic = algebraic,
                        .begin = algebraic ? dae_begin : ode_begin,
                        .columns = algebraic ? dae_columns : ode_columns};
  CHECK(num_linear_create(NULL, &pattern, &p->linear) == SLT_OK, "linear");
  CHECK(num_multistep_create(NULL, method, 2, algebraic, &p->past) == SLT_OK, name);
  NumOptions options = num_options();
  options.rtol = rtol;
  options.atol = rtol;
  void* storage = malloc(num_stepper_size(method, 2));
  assert_non_null(storage);
  CHECK(num_stepper_init(storage, method, 2, &options, &p->s) == SLT_OK, name);
  NumSystem system = {.linear = p->linear,
                      .linearize = linearize,
                      .stage = algebraic ? direct : NULL,
                      .multistep = p->past,
                      .user = p};
  num_stepper_set_rhs(p->s, reduced, p);
  num_stepper_set_system(p->s, &system);
  double x[2];
  exact(0.0, x);
  num_stepper_start(p->s, 0.0, 2, x, NULL);
  CHECK(num_stepper_choose_h(p->s, 10.0, (double)INFINITY) == SLT_OK, name);
}

static void end(Problem* p) {
  num_linear_free(p->linear);
  num_multistep_free(p->past);
  free(p->s);
}

/// One accepted step towards `t_bound`.
static void step(NumStepper* s, double t_bound, const char* name) {
  double target = fmin(s->t + s->control.h_next, t_bound);
  CHECK(num_stepper_attempt(s, target) == SLT_OK, name);
  CHECK(s->trial.t > s->t && s->trial.t <= target, name);
  CHECK(s->trial.error <= 1.0, name);
  CHECK(num_dense_prepare(s) == SLT_OK, name);
}

/// Largest error of output and of its slope over the trial.
static double output_error(const NumStepper* s, double* slope) {
  double worst = 0.0;
  for (int i = 1; i < 8; i++) {
    double t = s->trial.t0 + s->trial.h * i / 8.0;
    double x[2];
    double dx[2];
    num_dense_eval(s, t, x);
    num_dense_derivative(s, t, dx);
    worst = fmax(worst, error_of(x, t));
    *slope = fmax(*slope, fabs(dx[1] + 2.0 * t * bell(t) * bell(t)));
  }
  return worst;
}

TEST(tolerances_are_met) {
  static const double tolerances[] = {1e-4, 1e-6, 1e-8, 1e-10};
  FOR_CASES(name, names) {
    for (uint32_t algebraic = 0; algebraic < 2; algebraic++) {
      double first = 0.0;
      for (size_t i = 0; i < SLT_COUNT(tolerances); i++) {
        Problem p;
        double worst = 0.0;
        double slope = 0.0;
        begin(&p, *name, algebraic, tolerances[i]);
        while (p.s->t < 6.0) {
          step(p.s, 6.0, *name);
          worst = fmax(worst, output_error(p.s, &slope));
          num_stepper_accept(p.s);
        }
        CHECK(p.s->t == 6.0, "the end is met");
        CHECK(error_of(p.s->x, 6.0) < 200.0 * tolerances[i], *name);
        CHECK(worst < 400.0 * tolerances[i], *name);
        CHECK(slope < 1e5 * pow(tolerances[i], 0.75), *name);
        // high orders: six digits more cost less than twelve times the steps
        if (i == 0) first = (double)p.s->counters.steps;
        CHECK((double)p.s->counters.steps < 12.0 * first, *name);
        CHECK(p.s->counters.rhs < 4 * p.s->counters.steps + 30, "one or two evaluations a step");
        end(&p);
      }
    }
  }
}

TEST(output_is_continuous_to_the_bit) {
  FOR_CASES(name, names) {
    Problem p;
    begin(&p, *name, 1, 1e-6);
    double last[2];
    exact(0.0, last);
    for (int i = 0; i < 60; i++) {
      step(p.s, 100.0, *name);
      const NumTrial* trial = &p.s->trial;
      double x[2];
      double b[NUM_DENSE_DEGREE_MAX + 1];
      num_dense_eval(p.s, trial->t0, x);
      CHECK(memcmp(x, last, sizeof x) == 0, "begin");
      for (uint32_t k = 0; k < 2; k++) {
        num_dense_bernstein(p.s, k, b);
        CHECK(b[0] == last[k] && b[p.s->method->dense_degree] == trial->x[k], "control points");
        double c[NUM_DENSE_DEGREE_MAX + 1];
        num_dense_power(p.s, k, c);
        double sum = 0.0;
        for (uint32_t j = p.s->method->dense_degree + 1; j-- > 0;)
          sum = 0.3 * sum + c[j];
        CHECK_NEAR(num_dense_component(p.s, k, trial->t0 + 0.3 * trial->h), sum, 1e-13, 1e-13);
        // the output near the end runs into the end
        CHECK_NEAR(num_dense_component(p.s, k, trial->t - 1e-9 * trial->h), trial->x[k], 1e-8, 0);
      }
      memcpy(last, trial->x, sizeof last);
      num_stepper_accept(p.s);
    }
    end(&p);
  }
}

TEST(events_begin_anew_with_the_same_accuracy) {
  FOR_CASES(name, names) {
    Problem p;
    begin(&p, *name, 1, 1e-8);
    int events = 0;
    while (p.s->t < 6.0) {
      step(p.s, 6.0, *name);
      double event = 0.75 * (events + 1);
      if (event < p.s->trial.t && events < 7) {
        CHECK(num_stepper_accept_until(p.s, event) == SLT_OK, *name);
        CHECK(p.s->t == event && !p.s->past, *name);
        CHECK(error_of(p.s->x, event) < 1e-5, *name);
        events++;
        double x[2];
        exact(event, x);
        num_stepper_restart(p.s, event, 2, x, NULL);
        continue;
      }
      num_stepper_accept(p.s);
      CHECK(p.s->past, *name);
    }
    CHECK(events == 7, *name);
    CHECK(error_of(p.s->x, 6.0) < 2e-6, *name);
    end(&p);
  }
}

TEST(a_trial_may_be_repeated) {
  FOR_CASES(name, names) {
    Problem p;
    begin(&p, *name, 0, 1e-6);
    for (int i = 0; i < 20; i++) {
      step(p.s, 100.0, *name);
      num_stepper_accept(p.s);
    }
    double t = p.s->t;
    double x[2] = {p.s->x[0], p.s->x[1]};
    double h = p.s->control.h_next;
    static const double parts[] = {1.0, 0.3, 1e-3, 1e-13, 0.5};
    for (size_t i = 0; i < SLT_COUNT(parts); i++) {
      double target = fmax(t + parts[i] * h, nextafter(t, 100.0));
      CHECK(num_stepper_attempt(p.s, target) == SLT_OK, *name);
      CHECK(p.s->t == t && memcmp(p.s->x, x, sizeof x) == 0, "committed point");
      CHECK(p.s->trial.t > t && p.s->trial.t <= target, *name);
      CHECK(error_of(p.s->trial.x, p.s->trial.t) < 1e-3, *name);
    }
    end(&p);
  }
}

TEST(a_failing_right_hand_side_is_reported) {
  FOR_CASES(name, names) {
    for (uint32_t algebraic = 0; algebraic < 2; algebraic++) {
      Problem p;
      begin(&p, *name, algebraic, 1e-6);
      p.wall = 0.7;  // x0 falls to 1/e at pi/2
      SltStatus status = SLT_OK;
      for (int i = 0; i < 2000 && status >= 0; i++) {
        status = num_stepper_attempt(p.s, p.s->t + p.s->control.h_next);
        if (status >= 0) num_stepper_accept(p.s);
      }
      CHECK(status == SLT_ERR_STEP, *name);
      // the last correction of a step is not evaluated any more
      CHECK(p.s->x[0] >= 0.7 - 1e-5 && p.s->x[0] < 0.8, *name);
      CHECK(error_of(p.s->x, p.s->t) < 1e-3, *name);
      end(&p);
    }
  }
}

TEST(what_is_remembered_belongs_to_the_point) {
  FOR_CASES(name, names) {
    Problem p;
    begin(&p, *name, 0, 1e-6);
    for (int i = 0; i < 20; i++) {
      step(p.s, 100.0, *name);
      num_stepper_accept(p.s);
    }
    CHECK(p.s->past, "goes on");
    // a small correction of the end does not matter, a large one does
    for (int large = 0; large < 2; large++) {
      CHECK(num_stepper_attempt(p.s, p.s->t + p.s->control.h_next) == SLT_OK, *name);
      double x[2] = {p.s->trial.x[0] + (large ? 1e-3 : 1e-8), p.s->trial.x[1]};
      num_stepper_correct(p.s, x);
      num_stepper_accept(p.s);
      CHECK(p.s->x[0] == x[0], "corrected");
      CHECK(p.s->past == !large, "past");
    }
    // a copy goes on within the tolerance
    num_stepper_rebind(p.s, reduced, &p);
    CHECK(!p.s->past, "copy");
    CHECK(num_stepper_attempt(p.s, p.s->t + 0.1) == SLT_ERR_ARGUMENT, "no system yet");
    end(&p);
  }
}

// two hundred cells of diffusion: blocks along a line, stiff
#define CELLS 200

static SltStatus diffuse(void* user, double t, const double* x, double* dx) {
  (void)user, (void)t;
  double k = (CELLS + 1.0) * (CELLS + 1.0);
  for (int i = 0; i < CELLS; i++) {
    dx[i] = k * ((i > 0 ? x[i - 1] : 0.0) - 2.0 * x[i] + (i + 1 < CELLS ? x[i + 1] : 0.0));
  }
  return SLT_OK;
}

static SltStatus linearize_diffusion(void* user, double t, double* xu, double* f, double* values,
                                     double* ft, bool* timed) {
  (void)ft;
  double k = (CELLS + 1.0) * (CELLS + 1.0);
  size_t count = 0;
  *timed = false;
  for (int i = 0; i < CELLS; i++) {
    if (i > 0) values[count++] = k;
    values[count++] = -2.0 * k;
    if (i + 1 < CELLS) values[count++] = k;
  }
  return diffuse(user, t, xu, f);
}

TEST(large_stiff_systems_use_their_structure) {
  static uint32_t starts[CELLS + 1];
  static uint32_t columns[3 * CELLS];
  static double x[CELLS];
  static const char* const stiff[] = {"bdf", "ida"};
  const double pi = 3.14159265358979323846;
  for (uint32_t i = 0; i < CELLS; i++) {
    starts[i + 1] = starts[i];
    for (uint32_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < CELLS; j++)
      columns[starts[i + 1]++] = j;
    x[i] = sin(pi * (i + 1) / (CELLS + 1.0));
  }
  FOR_CASES(name, stiff) {
    const NumMethod* method = num_method_find(str_from_c(*name));
    NumPattern pattern = {.states = CELLS, .begin = starts, .columns = columns};
    NumSystem system = {.linearize = linearize_diffusion};
    CHECK(num_linear_create(NULL, &pattern, &system.linear) == SLT_OK, "linear");
    CHECK(num_multistep_create(NULL, method, CELLS, 0, &system.multistep) == SLT_OK, *name);
    NumOptions options = num_options();
    NumStepper* s = NULL;
    void* storage = malloc(num_stepper_size(method, CELLS));
    assert_non_null(storage);
    CHECK(num_stepper_init(storage, method, CELLS, &options, &s) == SLT_OK, *name);
    num_stepper_set_rhs(s, diffuse, NULL);
    num_stepper_set_system(s, &system);
    num_stepper_start(s, 0.0, CELLS, x, NULL);
    CHECK(num_stepper_choose_h(s, 0.2, (double)INFINITY) == SLT_OK, *name);
    while (s->t < 0.2) {
      step(s, 0.2, *name);
      num_stepper_accept(s);
    }
    // the first eigenfunction of the difference operator
    double half = sin(0.5 * pi / (CELLS + 1.0));
    double rate = 4.0 * (CELLS + 1.0) * (CELLS + 1.0) * half * half;
    CHECK_NEAR(s->x[CELLS / 2], x[CELLS / 2] * exp(-0.2 * rate), 1e-9, 1e-4);
    CHECK(s->counters.steps < 300 && s->counters.jacobians < 60, *name);
    num_linear_free(system.linear);
    num_multistep_free(system.multistep);
    free(storage);
  }
}
