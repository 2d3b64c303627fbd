// SPDX-License-Identifier: MIT
//
// Stiff methods: orders measured on problems that depend on time and have algebraic equations, what
// is evaluated and factored, stiff decay, and the linear systems behind them.
#include "numeric/internal.h"
#include "test.h"

// x0' = -u x0, x1' = -2 t x1^2, 0 = u - cos(t) - (x1 - 1/(1 + t^2)); x0 = exp(-sin t), u = cos t
typedef struct Problem {
  NumLinear* linear;
  uint32_t algebraic;
  uint64_t calls, linearised;
} Problem;

static double bell(double t) {
  return 1.0 / (1.0 + t * t);
}

static double unknown_at(double t, const double* x) {
  return cos(t) + (x[1] - bell(t));
}

static SltStatus reduced(void* user, double t, const double* x, double* dx) {
  ((Problem*)user)->calls++;
  dx[0] = -unknown_at(t, x) * x[0];
  dx[1] = -2.0 * t * x[1] * x[1];
  return SLT_OK;
}

static SltStatus direct(void* user, double t, const double* y, double* out) {
  ((Problem*)user)->calls++;
  out[0] = -y[2] * y[0];
  out[1] = -2.0 * t * y[1] * y[1];
  out[2] = y[2] - unknown_at(t, y);
  return SLT_OK;
}

static SltStatus linearize(void* user, double t, double* xu, double* f, double* values, double* ft,
                           bool* timed) {
  Problem* p = user;
  const double* x = xu;
  double* u = xu + 2;
  double slope = 2.0 * t * bell(t) * bell(t);  // -d bell/dt
  p->linearised++;
  f[0] = -unknown_at(t, x) * x[0];
  f[1] = -2.0 * t * x[1] * x[1];
  *timed = true;
  ft[1] = -2.0 * x[1] * x[1];
  if (p->algebraic) {
    u[0] = unknown_at(t, x);
    double entries[] = {-u[0], -x[0], -4.0 * t * x[1], -1.0, 1.0};
    memcpy(values, entries, sizeof entries);
    ft[0] = 0.0;
    ft[2] = sin(t) - slope;
  } else {
    double entries[] = {-unknown_at(t, x), -x[0], -4.0 * t * x[1]};
    memcpy(values, entries, sizeof entries);
    ft[0] = -(-sin(t) + slope) * x[0];
  }
  return SLT_OK;
}

static void exact(double t, double* x) {
  x[0] = exp(-sin(t));
  x[1] = bell(t);
}

static NumStepper* make(const char* name, Problem* p, double rtol) {
  static const uint32_t ode_begin[] = {0, 2, 3};
  static const uint32_t ode_columns[] = {0, 1, 1};
  static const uint32_t dae_begin[] = {0, 2, 3, 5};
  static const uint32_t dae_columns[] = {0, 2, 1, 1, 2};
  const NumMethod* method = num_method_find(str_from_c(name));
  NumPattern pattern = {.states = 2,
                        .algebraic = p->algebraic,
                        .begin = p->algebraic ? dae_begin : ode_begin,
                        .columns = p->algebraic ? dae_columns : ode_columns};
  CHECK(num_linear_create(NULL, &pattern, &p->linear) == SLT_OK, "linear");
  NumOptions options = num_options();
  options.rtol = rtol;
  options.atol = rtol;
  NumStepper* s = NULL;
  void* storage = malloc(num_stepper_size(method, 2));
  assert_non_null(storage);
  CHECK(num_stepper_init(storage, method, 2, &options, &s) == SLT_OK, name);
  NumSystem system = {.linear = p->linear,
                      .linearize = linearize,
                      .stage = p->algebraic ? direct : NULL,
                      .user = p};
  num_stepper_set_rhs(s, reduced, p);
  num_stepper_set_system(s, &system);
  double x[2];
  exact(0.0, x);
  num_stepper_start(s, 0.0, 2, x, NULL);
  return s;
}

static void finish(NumStepper* s, Problem* p) {
  num_linear_free(p->linear);
  free(s);
}

static double error_of(const double* x, double t) {
  double want[2];
  exact(t, want);
  return fmax(fabs(x[0] - want[0]), fabs(x[1] - want[1]));
}

/// Constant steps to 1.6: error at the end, and the largest of dense output.
static void errors_with(const char* name, uint32_t algebraic, uint32_t steps, double* end,
                        double* dense) {
  Problem p = {.algebraic = algebraic};
  NumStepper* s = make(name, &p, 1e-3);
  *dense = 0.0;
  for (uint32_t k = 1; k <= steps; k++) {
    CHECK(num_stepper_attempt(s, 1.6 * k / steps) == SLT_OK, name);
    CHECK(num_dense_prepare(s) == SLT_OK, name);
    double x[2];
    for (int i = 1; i < 10; i++) {
      double t = s->trial.t0 + 0.1 * i * s->trial.h;
      num_dense_eval(s, t, x);
      *dense = fmax(*dense, error_of(x, t));
    }
    num_stepper_accept(s);
  }
  *end = error_of(s->x, 1.6);
  finish(s, &p);
}

TEST(orders_are_reached) {
  static const char* const names[] = {"rodas3", "rodas", "rodas5"};
  for (size_t m = 0; m < SLT_COUNT(names); m++) {
    for (uint32_t algebraic = 0; algebraic < 2; algebraic++) {
      const NumMethod* method = num_method_find(str_from_c(names[m]));
      double coarse[2];
      double fine[2];
      errors_with(names[m], algebraic, 40, &coarse[0], &coarse[1]);
      errors_with(names[m], algebraic, 80, &fine[0], &fine[1]);
      double order = log2(coarse[0] / fine[0]);
      double dense = log2(coarse[1] / fine[1]);
      if (order < method->order - 0.35 || dense < method->dense_order + 0.65) {
        print_error("%s, %u algebraic: order %.2f, dense %.2f\n", names[m], algebraic, order,
                    dense);
      }
      CHECK(order > method->order - 0.35, names[m]);
      CHECK(dense > fmin(method->order, method->dense_order + 1) - 0.35, names[m]);
    }
  }
}

TEST(tolerances_are_met) {
  static const char* const names[] = {"rodas3", "rodas", "rodas5"};
  for (size_t m = 0; m < SLT_COUNT(names); m++) {
    for (double rtol = 1e-3; rtol > 1e-9; rtol *= 0.1) {
      Problem p = {.algebraic = 1};
      NumStepper* s = make(names[m], &p, rtol);
      CHECK(num_stepper_choose_h(s, 3.0, (double)INFINITY) == SLT_OK, names[m]);
      while (s->t < 3.0) {
        CHECK(num_stepper_attempt(s, fmin(s->t + s->control.h_next, 3.0)) == SLT_OK, names[m]);
        if (s->trial.error > 1.0) {
          CHECK(num_stepper_reject(s) == SLT_OK, names[m]);
        } else {
          num_stepper_accept(s);
        }
      }
      CHECK(error_of(s->x, 3.0) < 50.0 * rtol, names[m]);
      CHECK(s->counters.rejected < 4 + s->counters.steps / 4, names[m]);
      finish(s, &p);
    }
  }
}

TEST(the_jacobian_outlasts_rejections) {
  Problem p = {0};
  NumStepper* s = make("rodas", &p, 1e-6);
  CHECK(num_stepper_attempt(s, 1.0) == SLT_OK && p.linearised == 1 && p.calls == 5, "first");
  CHECK(num_stepper_reject(s) == SLT_OK, "reject");
  // an end that is good enough is followed by a look at the middle
  CHECK(num_stepper_attempt(s, 0.01) == SLT_OK && p.linearised == 1 && p.calls == 11, "again");
  CHECK(s->counters.factors == 2, "another matrix");
  CHECK(num_stepper_attempt(s, 0.01) == SLT_OK && s->counters.factors == 2, "the same matrix");
  double x[2];
  memcpy(x, s->trial.x, sizeof x);
  num_stepper_accept(s);
  CHECK(num_stepper_attempt(s, 0.02) == SLT_OK && p.linearised == 2, "after acceptance");
  CHECK(s->counters.jacobians == 2 && s->counters.rhs == p.calls + 2, "counted");

  // a copy goes on with the same bits, and without a system it does not go on
  size_t size = num_stepper_size(s->method, 2);
  void* copy = malloc(size);
  assert_non_null(copy);
  memcpy(copy, s, size);
  NumStepper* twin = num_stepper_rebind(copy, reduced, &p);
  CHECK(num_stepper_attempt(twin, 0.03) == SLT_ERR_ARGUMENT, "no system");
  num_stepper_set_system(twin, &s->system);
  num_stepper_accept(s);
  double dense[2];
  double other[2];
  CHECK(num_dense_prepare(s) == SLT_OK && num_dense_prepare(twin) == SLT_OK, "dense");
  num_dense_eval(s, 0.015, dense);
  num_dense_eval(twin, 0.015, other);
  CHECK(memcmp(dense, other, sizeof dense) == 0, "same bits in the copy");
  CHECK(num_stepper_attempt(twin, 0.02) == SLT_OK && num_dense_prepare(twin) == SLT_OK, "again");
  num_dense_eval(twin, 0.015, other);
  CHECK(memcmp(dense, other, sizeof dense) == 0, "same bits");
  CHECK(memcmp(twin->trial.x, s->x, sizeof dense) == 0, "same end");
  free(copy);
  finish(s, &p);
}

// ---- stiff decay --------------------------------------------------------------------------------

static SltStatus decay(void* user, double t, const double* x, double* dx) {
  (void)user;
  dx[0] = -1e9 * (x[0] - cos(t)) - sin(t);
  return SLT_OK;
}

static SltStatus decay_linear(void* user, double t, double* x, double* f, double* values,
                              double* ft, bool* timed) {
  *timed = true;
  values[0] = -1e9;
  ft[0] = -1e9 * sin(t) - cos(t);
  return decay(user, t, x, f);
}

TEST(stiff_components_are_followed_with_long_steps) {
  static const char* const names[] = {"rodas3", "rodas", "rodas5"};
  for (size_t m = 0; m < SLT_COUNT(names); m++) {
    NumLinear* linear = NULL;
    CHECK(num_linear_create_full(NULL, 1, &linear) == SLT_OK, "linear");
    const NumMethod* method = num_method_find(str_from_c(names[m]));
    NumOptions options = num_options();
    NumStepper* s = NULL;
    void* storage = malloc(num_stepper_size(method, 1));
    assert_non_null(storage);
    CHECK(num_stepper_init(storage, method, 1, &options, &s) == SLT_OK, names[m]);
    NumSystem system = {.linear = linear, .linearize = decay_linear};
    num_stepper_set_rhs(s, decay, NULL);
    num_stepper_set_system(s, &system);
    double x[1] = {1.0};
    double worst = 0.0;
    num_stepper_start(s, 0.0, 1, x, NULL);
    CHECK(num_stepper_choose_h(s, 10.0, (double)INFINITY) == SLT_OK, names[m]);
    while (s->t < 10.0) {
      CHECK(num_stepper_attempt(s, fmin(s->t + s->control.h_next, 10.0)) == SLT_OK, names[m]);
      if (s->trial.error > 1.0) {
        CHECK(num_stepper_reject(s) == SLT_OK, names[m]);
        continue;
      }
      CHECK(num_dense_prepare(s) == SLT_OK, names[m]);
      for (int i = 1; i < 10; i++) {
        double t = s->trial.t0 + 0.1 * i * s->trial.h;
        worst = fmax(worst, fabs(num_dense_component(s, 0, t) - cos(t)));
      }
      num_stepper_accept(s);
    }
    CHECK_NEAR(s->x[0], cos(10.0), 2e-6, 0);
    CHECK(worst < 1e-5, names[m]);
    CHECK(s->counters.steps < (method->order == 3 ? 800 : 200), names[m]);
    num_linear_free(linear);
    free(s);
  }
}

TEST(a_layer_is_not_stepped_over) {
  // far from where it belongs the fast component moves at once: long steps would draw it as slow
  static const char* const names[] = {"rodas3", "rodas", "rodas5"};
  for (size_t m = 0; m < SLT_COUNT(names); m++) {
    NumLinear* linear = NULL;
    CHECK(num_linear_create_full(NULL, 1, &linear) == SLT_OK, "linear");
    const NumMethod* method = num_method_find(str_from_c(names[m]));
    NumOptions options = num_options();
    NumStepper* s = NULL;
    void* storage = malloc(num_stepper_size(method, 1));
    assert_non_null(storage);
    CHECK(num_stepper_init(storage, method, 1, &options, &s) == SLT_OK, names[m]);
    NumSystem system = {.linear = linear, .linearize = decay_linear};
    num_stepper_set_rhs(s, decay, NULL);
    num_stepper_set_system(s, &system);
    double x[1] = {1.0 + 1e-3};
    num_stepper_start(s, 0.0, 1, x, NULL);
    CHECK(num_stepper_attempt(s, 1e-2) == SLT_OK && s->trial.error > 1.0, names[m]);
    x[0] = 1.0 + 1e-7;
    num_stepper_restart(s, 0.0, 1, x, NULL);
    CHECK(num_stepper_attempt(s, 1e-3) == SLT_OK && s->trial.error < 1.0, names[m]);
    num_linear_free(linear);
    free(s);
  }
}

// ---- linear systems -----------------------------------------------------------------------------

typedef struct Matrix {
  uint32_t n, states;
  uint32_t begin[401];
  uint32_t columns[401 * 12];
} Matrix;

static void add(Matrix* a, uint32_t column) {
  a->columns[a->begin[a->n + 1]++] = column;
}

/// Rows with entries at the given distances (in steps of `stride`), and a few at random.
static void make_matrix(Matrix* a, uint32_t n, uint32_t algebraic, uint32_t stride, uint32_t more,
                        uint64_t* seed) {
  a->n = 0;
  a->states = n - algebraic;
  a->begin[0] = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint8_t row[400] = {0};
    a->begin[i + 1] = a->begin[i];
    a->n = i;
    row[i] = 1;
    if (i >= stride) row[i - stride] = 1;
    if (i + stride < n) row[i + stride] = 1;
    for (uint32_t k = 0; k < more; k++) {
      row[(uint32_t)test_uniform(seed, 0.0, (double)n - 0.001)] = 1;
    }
    for (uint32_t j = 0; j < n; j++) {
      if (row[j]) add(a, j);
    }
  }
  a->n = n;
}

/// The residual of a solution, relative.
static double residual(const Matrix* a, const double* values, double c, const double* x,
                       const double* b) {
  double worst = 0.0;
  for (uint32_t i = 0; i < a->n; i++) {
    double sum = i < a->states ? c * x[i] : 0.0;
    double size = fabs(b[i]) + fabs(sum);
    for (uint32_t k = a->begin[i]; k < a->begin[i + 1]; k++) {
      sum -= values[k] * x[a->columns[k]];
      size += fabs(values[k] * x[a->columns[k]]);
    }
    worst = fmax(worst, fabs(sum - b[i]) / size);
  }
  return worst;
}

TEST(linear_systems_are_solved_by_structure) {
  static const struct {
    const char* name;
    uint32_t n, algebraic, stride, more;
    NumLinearKind kind;
  } cases[] = {
      {"small", 5, 2, 1, 1, NUM_LINEAR_DENSE},
      {"tridiagonal", 300, 0, 1, 0, NUM_LINEAR_BLOCKS},
      {"shuffled line", 301, 0, 7, 0, NUM_LINEAR_BLOCKS},
      {"line with algebraic rows", 200, 60, 1, 0, NUM_LINEAR_BAND},
      {"scattered", 400, 0, 1, 1, NUM_LINEAR_SPARSE},
      {"scattered with algebraic rows", 400, 40, 1, 1, NUM_LINEAR_SPARSE},
      {"full", 40, 0, 1, 39, NUM_LINEAR_DENSE},
  };
  static Matrix a;
  uint64_t seed = 3;
  FOR_CASES(c, cases) {
    NumLinear* linear = NULL;
    if (c->more > 12) {
      CHECK(num_linear_create_full(NULL, c->n, &linear) == SLT_OK, c->name);
      num_linear_free(linear);
      continue;
    }
    make_matrix(&a, c->n, c->algebraic, c->stride, c->more, &seed);
    NumPattern pattern = {a.states, c->algebraic, 0, a.begin, a.columns};
    CHECK(num_linear_create(NULL, &pattern, &linear) == SLT_OK, c->name);
    if (num_linear_kind(linear) != c->kind) print_error("%s\n", c->name);
    CHECK(num_linear_kind(linear) == c->kind, c->name);
    if (c->kind == NUM_LINEAR_BAND || c->kind == NUM_LINEAR_BLOCKS) {
      uint32_t below = 0;
      uint32_t above = 0;
      num_linear_band(linear, &below, &above);
      CHECK(below == 1 && above == 1, c->name);
    }
    double x[400];
    double b[400];
    for (int round = 0; round < 5; round++) {
      double* values = num_linear_values(linear);
      for (uint32_t i = 0; i < a.n; i++) {
        for (uint32_t k = a.begin[i]; k < a.begin[i + 1]; k++) {
          values[k] = test_uniform(&seed, -1.0, 1.0);
          if (a.columns[k] == i && i >= a.states) values[k] -= 9.0;
        }
        b[i] = test_uniform(&seed, -1.0, 1.0);
      }
      double scale = pow(10.0, round);
      memcpy(x, b, sizeof x);
      CHECK(num_linear_factor(linear, 9.0 * scale) == SLT_OK, c->name);
      num_linear_solve(linear, x);
      CHECK(residual(&a, values, 9.0 * scale, x, b) < 1e-12, c->name);
    }
    num_linear_free(linear);
  }
}

/// Groups of `size` unknowns along a line, each meeting its neighbours: in full, or like by like.
static void make_line(Matrix* a, uint32_t n, uint32_t size, bool full) {
  uint32_t groups = n / size;
  a->states = n;
  a->begin[0] = 0;
  for (uint32_t i = 0; i < n; i++) {
    a->begin[i + 1] = a->begin[i];
    a->n = i;
    for (uint32_t j = 0; j < n; j++) {
      // unknown i is member i / groups of group i % groups: the order has to be found
      uint32_t apart = i % groups > j % groups ? i % groups - j % groups : j % groups - i % groups;
      if (apart == 0 || (apart == 1 && (full || i / groups == j / groups))) add(a, j);
    }
  }
  a->n = n;
}

TEST(blocks_along_a_line_are_eliminated_from_both_ends) {
  static Matrix a;
  uint64_t seed = 5;
  for (uint32_t size = 1; size <= 4; size++) {
    for (uint32_t groups = 14; groups <= 31; groups++) {
      for (int full = 0; full < 2; full++) {
        NumLinear* linear = NULL;
        uint32_t n = size * groups;
        make_line(&a, n, size, full);
        NumPattern pattern = {n, 0, 0, a.begin, a.columns};
        CHECK(num_linear_create(NULL, &pattern, &linear) == SLT_OK, "create");
        CHECK(num_linear_kind(linear) == NUM_LINEAR_BLOCKS, "kind");
        double* values = num_linear_values(linear);
        double x[400];
        double sum[400];
        double b[400];
        double add_to[400];
        // from a diagonal that dominates to one that is nothing: rows have to be exchanged there
        static const double diagonals[] = {1000.0, 20.0, 1.0, 0.0};
        for (size_t m = 0; m < SLT_COUNT(diagonals); m++) {
          for (uint32_t k = 0; k < a.begin[n]; k++)
            values[k] = test_uniform(&seed, -1.0, 1.0);
          for (uint32_t i = 0; i < n; i++) {
            b[i] = test_uniform(&seed, -1.0, 1.0);
            add_to[i] = test_uniform(&seed, -1.0, 1.0);
            sum[i] = b[i] - add_to[i];
            b[i] = sum[i] + add_to[i];
          }
          memcpy(x, b, sizeof x);
          CHECK(num_linear_factor(linear, diagonals[m]) == SLT_OK, "factors");
          num_linear_solve(linear, x);
          CHECK(residual(&a, values, diagonals[m], x, b) < (m < 2 ? 1e-13 : 1e-10), "solution");
          num_linear_solve_sum(linear, sum, add_to);
          CHECK(memcmp(sum, x, n * sizeof *x) == 0, "the same with a sum on the right");
        }
        num_linear_free(linear);
      }
    }
  }
}

/// A line with a few unknowns that everybody reads, and that read everybody or every third.
TEST(a_border_is_taken_apart) {
  static Matrix a;
  uint64_t seed = 8;
  for (uint32_t members = 1; members <= 3; members++) {
    NumLinear* linear = NULL;
    const uint32_t n = 150;
    a.states = n;
    a.begin[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
      bool border = i % 50 == 7 && i / 50 < members;
      a.begin[i + 1] = a.begin[i];
      a.n = i;
      for (uint32_t j = 0; j < n; j++) {
        bool other = j % 50 == 7 && j / 50 < members;
        bool beside = i + 1 >= j && j + 1 >= i;
        if (beside || other || (border && j % 3 == members % 3)) add(&a, j);
      }
    }
    a.n = n;
    NumPattern pattern = {n, 0, 0, a.begin, a.columns};
    CHECK(num_linear_create(NULL, &pattern, &linear) == SLT_OK, "create");
    CHECK(num_linear_kind(linear) == NUM_LINEAR_BORDER, "kind");
    double* values = num_linear_values(linear);
    static const double diagonals[] = {1000.0, 10.0, 1.0};
    for (size_t m = 0; m < SLT_COUNT(diagonals); m++) {
      double x[400];
      double b[400];
      for (uint32_t k = 0; k < a.begin[n]; k++)
        values[k] = test_uniform(&seed, -1.0, 1.0);
      for (uint32_t i = 0; i < n; i++)
        x[i] = b[i] = test_uniform(&seed, -1.0, 1.0);
      CHECK(num_linear_factor(linear, diagonals[m]) == SLT_OK, "factors");
      num_linear_solve(linear, x);
      CHECK(residual(&a, values, diagonals[m], x, b) < 1e-10, "solution");
    }
    values[0] = (double)NAN;
    CHECK(num_linear_factor(linear, 10.0) < 0, "not a number");
    num_linear_free(linear);
  }
}

/// Cells along a line that all read wide sums of cells, one sum reading another: unknowns of the
/// elimination alone. The solution is that of the full matrix into which they are multiplied out.
TEST(auxiliary_unknowns_are_the_full_matrix) {
  static Matrix a;
  uint64_t seed = 11;
  static const struct {
    uint32_t n, wide;
  } sizes[] = {{8, 1}, {150, 1}, {150, 2}, {200, 8}, {200, 12}};
  FOR_CASES(c, sizes) {
    const uint32_t n = c->n;
    a.states = n;
    a.begin[0] = 0;
    for (uint32_t i = 0; i < n + c->wide; i++) {
      a.begin[i + 1] = a.begin[i];
      a.n = i;
      for (uint32_t j = 0; j < n + c->wide; j++) {
        bool line = i < n && j < n && i + 1 >= j && j + 1 >= i;
        bool reads = i < n && j >= n && (i + j) % c->wide == 0;
        bool sums = i >= n && j < n && (i + j) % c->wide == 0;
        if (line || reads || sums || (i >= n && (j == i || j + 1 == i) && j >= n)) add(&a, j);
      }
    }
    a.n = n + c->wide;
    NumPattern pattern = {n, 0, c->wide, a.begin, a.columns};
    NumLinear* linear = NULL;
    CHECK(num_linear_create(NULL, &pattern, &linear) == SLT_OK, "create");
    if (n > 8) CHECK(num_linear_kind(linear) != NUM_LINEAR_DENSE, "kind");
    double* values = num_linear_values(linear);
    static double full[212][200];  // rows in states alone; those of the sums first
    memset(full, 0, sizeof full);
    for (uint32_t m = 0; m < a.n; m++) {
      uint32_t i = m < c->wide ? n + m : m - c->wide;
      for (uint32_t k = a.begin[i]; k < a.begin[i + 1]; k++) {
        uint32_t j = a.columns[k];
        values[k] = i == j && i >= n ? -1.0 : test_uniform(&seed, -1.0, 1.0);
        for (uint32_t q = 0; q < n; q++) {
          full[i][q] += j < n ? (q == j ? values[k] : 0.0) : i == j ? 0.0 : values[k] * full[j][q];
        }
      }
    }
    double x[200];
    double b[200] = {0};
    double zero[200] = {0};
    for (uint32_t i = 0; i < n; i++)
      x[i] = b[i] = test_uniform(&seed, -1.0, 1.0);
    CHECK(num_linear_factor(linear, 50.0) == SLT_OK, "factors");
    num_linear_solve(linear, x);
    double sum[200];
    memcpy(sum, b, sizeof sum);
    num_linear_solve_sum(linear, sum, zero);
    CHECK(memcmp(sum, x, n * sizeof *x) == 0, "the same with a sum on the right");
    for (uint32_t i = 0; i < n; i++) {
      double rest = 50.0 * x[i] - b[i];
      for (uint32_t j = 0; j < n; j++)
        rest -= full[i][j] * x[j];
      CHECK(fabs(rest) < 1e-11, "solution");
    }
    num_linear_free(linear);
  }
}

/// A line whose unknowns cannot be eliminated in their order without exchanging rows.
TEST(a_line_that_needs_other_pivots_gets_them) {
  static Matrix a;
  NumLinear* linear = NULL;
  make_line(&a, 60, 2, true);
  NumPattern pattern = {60, 0, 0, a.begin, a.columns};
  CHECK(num_linear_create(NULL, &pattern, &linear) == SLT_OK, "create");
  double* values = num_linear_values(linear);
  static const double tiny[] = {0.0, 1e-20, 1e-9};
  for (size_t m = 0; m < SLT_COUNT(tiny); m++) {
    double x[60];
    double b[60];
    for (uint32_t i = 0; i < 60; i++) {
      for (uint32_t k = a.begin[i]; k < a.begin[i + 1]; k++) {
        uint32_t j = a.columns[k];
        bool beside = i % 30 / 2 == j % 30 / 2 && i % 30 != j % 30 && i / 30 == j / 30;
        values[k] = beside ? -1.0 - 0.01 * i : i == j ? -tiny[m] : 0.0;
      }
      b[i] = 1.0 + i;
      x[i] = b[i];
    }
    CHECK(num_linear_factor(linear, 0.0) == SLT_OK, "factors");
    num_linear_solve(linear, x);
    CHECK(residual(&a, values, 0.0, x, b) < 1e-13, "solution");
  }
  num_linear_free(linear);
}

TEST(a_singular_matrix_is_refused) {
  static Matrix a;
  uint64_t seed = 1;
  static const uint32_t sizes[] = {4, 60};
  for (size_t m = 0; m < SLT_COUNT(sizes); m++) {
    NumLinear* linear = NULL;
    make_matrix(&a, sizes[m], 0, 1, 0, &seed);
    NumPattern pattern = {a.states, 0, 0, a.begin, a.columns};
    CHECK(num_linear_create(NULL, &pattern, &linear) == SLT_OK, "create");
    double* values = num_linear_values(linear);
    for (uint32_t k = 0; k < a.begin[a.n]; k++)
      values[k] = 0.0;
    for (uint32_t k = a.begin[1]; k < a.begin[2]; k++)
      values[k] = a.columns[k] == 1 ? 2.0 : 0.0;
    CHECK(num_linear_factor(linear, 2.0) == SLT_ERR_STRUCTURE, "row of zeros");
    CHECK(num_linear_factor(linear, 3.0) == SLT_OK, "another c");
    double ones[60];
    for (uint32_t i = 0; i < sizes[m]; i++)
      ones[i] = 1.0;
    CHECK_NEAR(num_linear_bound(linear, ones), 2.0, 0, 1e-15);
    values[0] = (double)NAN;
    CHECK(num_linear_factor(linear, 3.0) < 0, "not a number");
    num_linear_free(linear);
  }
}

TEST(differences_give_the_jacobian) {
  Problem p = {0};
  NumLinear* linear = NULL;
  CHECK(num_linear_create_full(NULL, 2, &linear) == SLT_OK, "create");
  double x[2] = {0.3, 0.8};
  double scale[2] = {1.0, 1.0};
  double f[2];
  double work[4];
  double ft[2];
  double want[3];
  double want_ft[2];
  bool timed = false;
  CHECK(linearize(&p, 0.7, x, f, want, want_ft, &timed) == SLT_OK, "exact");
  CHECK(num_linear_differences(linear, reduced, &p, 0.7, x, f, scale, 1.0, work, ft) == SLT_OK,
        "run");
  const double* values = num_linear_values(linear);
  CHECK_NEAR(values[0], want[0], 1e-6, 0);
  CHECK_NEAR(values[1], want[1], 1e-6, 0);
  CHECK_NEAR(values[2], 0.0, 1e-6, 0);
  CHECK_NEAR(values[3], want[2], 1e-6, 0);
  CHECK_NEAR(ft[0], want_ft[0], 1e-6, 0);
  CHECK_NEAR(ft[1], want_ft[1], 1e-6, 0);
  num_linear_free(linear);
}
