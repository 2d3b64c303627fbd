// SPDX-License-Identifier: MIT
//
// Dense output, in one form for all methods (HNW I, II.6):
//
//   x(theta) = x0 + theta (r1 + (1 - theta) (r2 + theta (r3 + (1 - theta) (r4 + ...))))
//
// r1 = x1 - x0, r2 = h f0 - r1, r3 = r1 - h f1 - r2: the cubic Hermite polynomial, which is all
// there is for methods of degree 3. Later coefficients vanish with their derivative at both ends.
// r_j multiplies theta^a (1 - theta)^b, a = ceil(j/2), b = floor(j/2): a Bernstein polynomial of
// degree j up to its factor, so the form is well conditioned. Row 0 of the coefficients is not
// used. Stiff methods have coefficients r2, r3, ... of their own: combinations of their stages that
// are as smooth as the solution, which f at the ends is not.
#include "numeric/erk.h"

#include <string.h>

/// Stages of the output may have no values where those of the step have: a cubic goes through the
/// ends then.
static void smooth_rough(NumStepper* s) {
  const size_t n = s->trial.n;
  double zero = 0.0;
  for (size_t j = 4; j <= s->trial.degree; j++) {
    const double* r = s->dense + j * s->n_max;
    for (size_t i = 0; i < n; i++) {
      zero += r[i] - r[i];  // NaN for NaN and infinity
    }
  }
  s->trial.rough = zero != 0.0;
  for (size_t j = 4; s->trial.rough && j <= s->trial.degree; j++) {
    memset(s->dense + j * s->n_max, 0, n * sizeof *s->dense);
  }
}

SltStatus num_dense_prepare(NumStepper* s) {
  NumTrial* trial = &s->trial;
  if (!trial->valid) {
    return SLT_ERR_ARGUMENT;
  }
  if (trial->dense_ready) {
    return SLT_OK;
  }
  const size_t n = trial->n;
  const double h = trial->h;
  const double* restrict x0 = trial->x0;
  const double* restrict x1 = trial->x;
  double* restrict r1 = s->dense + s->n_max;
  // the later coefficients of implicit methods come with the step
  if (s->trial.degree == 1 || (num_has_own_output(s->method) && !trial->drift)) {
    for (size_t i = 0; i < n; i++) {
      r1[i] = x1[i] - x0[i];
    }
    trial->dense_ready = true;
    return SLT_OK;
  }
  if (trial->drift) {
    for (size_t i = 0; i < n; i++) {
      r1[i] = x1[i] - x0[i];
    }
    for (size_t j = 2; j <= s->trial.degree; j++) {
      double* r = s->dense + j * s->n_max;
      for (size_t i = 0; i < n; i++) {
        r[i] = 0.0;
      }
    }
    trial->dense_ready = true;
    return SLT_OK;
  }
  const double* f1 = NULL;
  SLT_TRY(num_stepper_trial_derivative(s, &f1));
  const double* restrict f0 = trial->f0;
  double* restrict r2 = s->dense + (size_t)2 * s->n_max;
  double* restrict r3 = s->dense + (size_t)3 * s->n_max;
  const bool small = n <= ERK_SMALL;
  ERK_FOR(double difference = x1[i] - x0[i]; double bend = h * f0[i] - difference;
          r1[i] = difference; r2[i] = bend; r3[i] = difference - h * f1[i] - bend);
  if (s->method->kernel->dense) {
    SLT_TRY(s->method->kernel->dense(s));
    smooth_rough(s);
  }
  trial->dense_ready = true;
  return SLT_OK;
}

// The quartic of dp54 has order 4 inside the step, like the estimate, and misses the term of
// theta^5 wherever time drives a component: f(t) = t^4 gives 0.2 theta^2 (1 - theta)^2 (1/2 -
// theta), where the estimate is 71/270000. (Trees in which f is applied to its own values have a
// smaller ratio.)
#define QUARTIC_RATIO 760.0
// What a step carries on is far better than its estimate; what an event carries on is to be so too.
#define QUARTIC_SHARE 0.1

double num_dense_demand(const NumStepper* s, double theta) {
  const NumTrial* trial = &s->trial;
  SLT_ASSERT(trial->dense_ready);
  bool plain = trial->degree == s->method->dense_degree && trial->f_known && !trial->drift &&
               !trial->rough && !trial->replaced && !s->shared.weight;
  if (!plain || !s->method->kernel->extend) return 0.0;
  double bow = theta * (1.0 - theta);
  return trial->error * QUARTIC_RATIO * bow * bow * num_abs(theta - 0.5) / QUARTIC_SHARE;
}

double num_dense_demand_most(const NumStepper* s) {
  return num_dense_demand(s, 0.27639320225002103);  // (5 - sqrt(5)) / 10
}

bool num_dense_extend(NumStepper* s, double t) {
  return num_dense_demand(s, num_dense_theta(s, t)) > 1.0 && s->method->kernel->extend(s);
}

// The estimate of the pair 3(2) is h^3 x'''/48: both of its trees of order 3 have that factor. In
// the form above x''' h^3 is -6 r3 in the middle of the step, and the next term takes 12 r4 away
// from it at one end and adds as much at the other. Higher terms are left out: this is an estimate.
double num_small_pair_error(NumStepper* s, double t) {
  SLT_ASSERT(s->trial.dense_ready);
  const size_t n = s->trial.n;
  const double part = (t - s->trial.t0) / s->trial.h;
  const double cube = part * part * part;
  const double rtol = s->options.rtol;
  const double* r3 = s->dense + (size_t)3 * s->n_max;
  const double* r4 = s->trial.degree > 3 ? r3 + s->n_max : NULL;
  for (size_t i = 0; i < n; i++) {
    double bend = num_abs(r3[i]) / 8.0 + (r4 ? num_abs(r4[i]) / 4.0 : 0.0);
    double size = num_max(num_abs(s->trial.x0[i]), num_abs(s->trial.x[i]));
    s->scaled[i] = cube * bend / (s->atol[i] + rtol * size);
  }
  return num_sqrt(num_norm_squared(s, s->scaled));
}

bool num_dense_covers(const NumStepper* s, double t) {
  return s->trial.dense_ready && t >= s->trial.t0 && t < s->trial.t;
}

double num_dense_theta(const NumStepper* s, double t) {
  return (t - s->trial.t0) / s->trial.h;
}

/// r_from + m (r_(from+1) + m' (...)), m = theta for even `from`, 1 - theta for odd.
static inline double nested(const double* r, size_t row, uint32_t degree, double theta) {
  double rest = 1.0 - theta;
  double value = r[degree * row];
  for (uint32_t j = degree - 1; j > 0; j--) {
    value = r[j * row] + (j % 2 ? rest : theta) * value;
  }
  return theta * value;
}

/// The same with its derivative in theta.
static inline double nested_slope(const double* r, size_t row, uint32_t degree, double theta) {
  double rest = 1.0 - theta;
  double value = r[degree * row];
  double slope = 0.0;
  for (uint32_t j = degree - 1; j > 0; j--) {
    slope = j % 2 ? rest * slope - value : theta * slope + value;
    value = r[j * row] + (j % 2 ? rest : theta) * value;
  }
  return value + theta * slope;
}

/// All components; inlined with a constant degree, so that the loop over them is the only one.
static inline void eval_rows(const NumStepper* s, uint32_t degree, double theta, double* restrict x,
                             const bool small) {
  const size_t n = s->trial.n;
  const size_t row = s->n_max;
  const double* restrict x0 = s->trial.x0;
  const double* restrict r = s->dense;
  ERK_FOR(x[i] = x0[i] + nested(r + i, row, degree, theta));
}

/// What the components share, without its weights.
static double shared_value(const NumStepper* s, double theta) {
  const double* c = s->shared.c;
  return c[0] + theta * (c[1] + theta * (c[2] + theta * (c[3] + theta * c[4])));
}

static double shared_slope(const NumStepper* s, double theta) {
  const double* c = s->shared.c;
  return c[1] + theta * (2.0 * c[2] + theta * (3.0 * c[3] + theta * 4.0 * c[4]));
}

static void eval_plain(const NumStepper* s, double t, double* x);
static void add_shared(const NumStepper* s, double t, double* x);

void num_dense_eval(const NumStepper* s, double t, double* x) {
  eval_plain(s, t, x);
  if (s->shared.weight) add_shared(s, t, x);
}

static void add_shared(const NumStepper* s, double t, double* x) {
  const double* weight = s->shared.weight;
  double value = shared_value(s, num_dense_theta(s, t));
  for (size_t i = 0; i < s->trial.n; i++) {
    x[i] += weight[i] * value;
  }
}

static void eval_plain(const NumStepper* s, double t, double* x) {
  const NumTrial* trial = &s->trial;
  // the ends need no coefficients
  if (t == trial->t0 || t == trial->t) {
    const double* end = t == trial->t ? trial->x : trial->x0;
    for (size_t i = 0; i < trial->n; i++) {
      x[i] = end[i];
    }
    return;
  }
  SLT_ASSERT(trial->dense_ready);
  double theta = num_dense_theta(s, t);
  if (s->trial.degree == 4 && trial->n <= ERK_SMALL) {
    eval_rows(s, 4, theta, x, true);
    return;
  }
  switch (s->trial.degree) {
  case 1: eval_rows(s, 1, theta, x, false); break;
  case 3: eval_rows(s, 3, theta, x, false); break;
  case 4: eval_rows(s, 4, theta, x, false); break;
  default: eval_rows(s, s->trial.degree, theta, x, false); break;
  }
}

static inline double plain_component(const NumStepper* s, uint32_t i, double t) {
  const NumTrial* trial = &s->trial;
  SLT_ASSERT(trial->dense_ready && i < trial->n);
  if (t == trial->t) {
    return trial->x[i];
  }
  if (t == trial->t0) {
    return trial->x0[i];
  }
  double theta = num_dense_theta(s, t);
  return trial->x0[i] + nested(s->dense + i, s->n_max, s->trial.degree, theta);
}

double num_dense_component(const NumStepper* s, uint32_t i, double t) {
  double value = plain_component(s, i, t);
  const double* weight = s->shared.weight;
  if (!weight || weight[i] == 0.0) return value;
  return value + weight[i] * shared_value(s, num_dense_theta(s, t));
}

#define PORTION 16  // times that are looked at together

/// x0 + theta (r1 + ...) at several times.
static void course_portion(const NumStepper* s, uint32_t i, const double* t, uint32_t count,
                           double* restrict x) {
  const double* r = s->dense + i;
  const double x0 = s->trial.x0[i];
  double theta[PORTION] = {0.0};
  double value[PORTION];
  for (uint32_t k = 0; k < count; k++) {
    theta[k] = num_dense_theta(s, t[k]);
  }
  for (uint32_t k = 0; k < PORTION; k++) {
    value[k] = r[(size_t)s->trial.degree * s->n_max];
  }
  for (uint32_t j = s->trial.degree - 1; j > 0; j--) {
    double rj = r[(size_t)j * s->n_max];
    for (uint32_t k = 0; k < PORTION; k++) {
      value[k] = rj + (j % 2 ? 1.0 - theta[k] : theta[k]) * value[k];
    }
  }
  for (uint32_t k = 0; k < count; k++) {
    x[k] = theta[k] == 0.0 ? x0 : x0 + theta[k] * value[k];
  }
}

void num_dense_course(const NumStepper* s, uint32_t i, const double* t, uint32_t count, double* x) {
  SLT_ASSERT(s->trial.dense_ready && i < s->trial.n);
  for (uint32_t k = 0; k < count; k += PORTION) {
    course_portion(s, i, t + k, count - k < PORTION ? count - k : PORTION, x + k);
  }
  const double* weight = s->shared.weight;
  for (uint32_t k = 0; weight && weight[i] != 0.0 && k < count; k++) {
    x[k] += weight[i] * shared_value(s, num_dense_theta(s, t[k]));
  }
}

double num_dense_component_derivative(const NumStepper* s, uint32_t i, double t) {
  const NumTrial* trial = &s->trial;
  SLT_ASSERT(trial->dense_ready && i < trial->n);
  if (s->shared.weight) {
    double theta = num_dense_theta(s, t);
    double slope = nested_slope(s->dense + i, s->n_max, s->trial.degree, theta);
    return (slope + s->shared.weight[i] * shared_slope(s, theta)) / trial->h;
  }
  if (!num_has_own_output(s->method)) {
    if (t == trial->t0 || s->trial.degree == 1) {
      return trial->f0[i];
    }
    if (t == trial->t) {
      return trial->f[i];
    }
  }
  double theta = num_dense_theta(s, t);
  return nested_slope(s->dense + i, s->n_max, s->trial.degree, theta) / trial->h;
}

void num_dense_derivative(const NumStepper* s, double t, double* dx) {
  for (uint32_t i = 0; i < s->trial.n; i++) {
    dx[i] = num_dense_component_derivative(s, i, t);
  }
}

void num_dense_power(const NumStepper* s, uint32_t i, double* c) {
  const uint32_t degree = s->trial.degree;
  const double* r = s->dense + i;
  SLT_ASSERT(s->trial.dense_ready && i < s->trial.n);
  for (uint32_t j = 0; j <= degree; j++) {
    c[j] = 0.0;
  }

  // c := r_j + m c, from the inside out
  c[0] = r[(size_t)degree * s->n_max];
  for (uint32_t j = degree - 1; j < degree; j--) {
    for (uint32_t k = degree; k > 0; k--) {
      c[k] = j % 2 ? c[k] - c[k - 1] : c[k - 1];
    }
    if (j % 2 == 0) {
      c[0] = 0.0;
    }
    c[0] += j == 0 ? s->trial.x0[i] : r[(size_t)j * s->n_max];
  }
  for (uint32_t j = 0; s->shared.weight && j < 5; j++) {
    c[j] += s->shared.weight[i] * s->shared.c[j];
  }
}

void num_dense_transfer(const NumStepper* s, const NumStepper* part, uint32_t k, double* c) {
  SLT_ASSERT(part->trial.dense_ready && part->trial.degree <= 4);
  const uint32_t degree = part->trial.degree;
  double own[NUM_DENSE_DEGREE_MAX + 1];
  num_dense_power(part, k, own);
  for (uint32_t j = 0; j < 5; j++) {
    c[j] = 0.0;
  }
  // its theta is scale theta + shift in ours
  double scale = s->trial.h / part->trial.h;
  double shift = -(part->trial.t0 - s->trial.t0) / part->trial.h;
  for (uint32_t j = degree + 1; j-- > 0;) {
    for (uint32_t m = 4; m > 0; m--) {
      c[m] = c[m] * shift + c[m - 1] * scale;
    }
    c[0] = c[0] * shift + own[j];
  }
}

void num_dense_share(NumStepper* s, const double* weight, const double* c) {
  // B_k = sum over j <= k of C(k, j) / C(4, j) c_j
  NumShared* shared = &s->shared;
  shared->weight = weight;
  if (!weight) return;
  SLT_ASSERT(s->trial.pending && s->trial.degree == 4);
  for (uint32_t j = 0; j < 5; j++) {
    shared->c[j] = c[j];
  }
  shared->b[0] = c[0];
  shared->b[1] = c[0] + c[1] / 4.0;
  shared->b[2] = c[0] + c[1] / 2.0 + c[2] / 6.0;
  shared->b[3] = c[0] + 0.75 * c[1] + c[2] / 2.0 + c[3] / 4.0;
  shared->b[4] = c[0] + (c[1] + (c[2] + (c[3] + c[4])));  // as evaluated at 1
  s->trial.f_known = false;
  s->trial.replaced = true;
}

void num_dense_settle(NumStepper* s) {
  const double* weight = s->shared.weight;
  if (!weight) return;
  double* x = s->x_row[s->row_end];
  double value = s->shared.b[4];
  for (size_t i = 0; i < s->trial.n; i++) {
    x[i] += weight[i] * value;
  }
  s->shared.weight = NULL;
}

void num_dense_replace(NumStepper* s, uint32_t i, const NumStepper* part, uint32_t k) {
  SLT_ASSERT(s->trial.pending && s->trial.dense_ready && s->trial.degree >= 1);
  double c[5];
  num_dense_transfer(s, part, k, c);
  double end = part->trial.x[k];
  if (s->shared.weight) {
    double weight = s->shared.weight[i];
    for (uint32_t j = 0; j < 5; j++) {
      c[j] -= weight * s->shared.c[j];
    }
    end -= weight * s->shared.b[4];
  }
  // from powers to the nested form
  double r[5] = {0.0, 0.0, 0.0, 0.0, c[4]};
  r[3] = -c[3] - 2.0 * r[4];
  r[2] = r[3] + r[4] - c[2];
  r[1] = c[1] - r[2];
  for (uint32_t j = 1; j <= s->trial.degree; j++) {
    s->dense[(size_t)j * s->n_max + i] = j <= 4 ? r[j] : 0.0;
  }
  s->x_row[s->row_begin][i] = c[0];
  s->x_row[s->row_end][i] = end;
  s->f_row[s->row_end][i] = part->trial.f[k];
  s->trial.f_known = false;
  s->trial.replaced = true;
}

/// Binomial coefficients up to NUM_DENSE_DEGREE_MAX.
static const double binomial[NUM_DENSE_DEGREE_MAX + 1][NUM_DENSE_DEGREE_MAX + 1] = {
    {1},
    {1, 1},
    {1, 2, 1},
    {1, 3, 3, 1},
    {1, 4, 6, 4, 1},
    {1, 5, 10, 10, 5, 1},
    {1, 6, 15, 20, 15, 6, 1},
    {1, 7, 21, 35, 35, 21, 7, 1},
};

static void bernstein_row(const NumStepper* s, uint32_t i, uint32_t degree, double* b) {
  // theta^a (1 - theta)^b = sum_k C(d - j, k - a) / C(d, k) B_k, degree elevation from j = a + b
  for (uint32_t k = 0; k <= degree; k++) {
    double sum = 0.0;
    for (uint32_t j = 1; j <= degree; j++) {
      uint32_t a = (j + 1) / 2;
      if (k >= a && k - a <= degree - j) {
        sum += s->dense[(size_t)j * s->n_max + i] * binomial[degree - j][k - a];
      }
    }
    b[k] = s->trial.x0[i] + sum / binomial[degree][k];
  }
  b[degree] = s->trial.x[i];
}

/// Degrees 4 and 5 written out: those of the default method.
static inline void bernstein_4(const NumStepper* s, uint32_t i, double* b) {
  const double* r = s->dense + i;
  const size_t row = s->n_max;
  double x0 = s->trial.x0[i];
  double r1 = r[row];
  double r2 = r[2 * row];
  double r3 = r[3 * row];
  double r4 = r[4 * row];
  b[0] = x0;
  b[1] = x0 + (r1 + r2) / 4.0;
  b[2] = x0 + (r1 * 3.0 + r2 * 2.0 + r3 + r4) / 6.0;
  b[3] = x0 + (r1 * 3.0 + r2 + r3) / 4.0;
  b[4] = s->trial.x[i];
}

static void bernstein_5(const NumStepper* s, uint32_t i, double* b) {
  const double* r = s->dense + i;
  const size_t row = s->n_max;
  double x0 = s->trial.x0[i];
  double r1 = r[row];
  double r2 = r[2 * row];
  double r3 = r[3 * row];
  double r4 = r[4 * row];
  double r5 = r[5 * row];
  b[0] = x0;
  b[1] = x0 + (r1 + r2) / 5.0;
  b[2] = x0 + (r1 * 4.0 + r2 * 3.0 + r3 + r4) / 10.0;
  b[3] = x0 + (r1 * 6.0 + r2 * 3.0 + r3 * 2.0 + r4 + r5) / 10.0;
  b[4] = x0 + (r1 * 4.0 + r2 + r3) / 5.0;
  b[5] = s->trial.x[i];
}

void num_dense_bernstein(const NumStepper* s, uint32_t i, double* b) {
  SLT_ASSERT(s->trial.dense_ready && i < s->trial.n);
  switch (s->trial.degree) {
  case 4: bernstein_4(s, i, b); break;
  case 5: bernstein_5(s, i, b); break;
  default: bernstein_row(s, i, s->trial.degree, b); break;
  }
  for (uint32_t j = 0; s->shared.weight && j < 5; j++) {
    b[j] += s->shared.weight[i] * s->shared.b[j];
  }
}

#define HULL_BLOCK 64

static inline double smaller(double a, double b) {
  return a < b ? a : b;
}

static inline double larger(double a, double b) {
  return a > b ? a : b;
}

/// Degree 4, as bernstein_4() has it, for a block; what is not finite makes `bad` NaN.
static void hull_4(const NumStepper* s, uint32_t first, uint32_t n, double* restrict lo,
                   double* restrict hi, double* restrict bad) {
  const size_t row = s->n_max;
  const double* x0 = s->trial.x0 + first;
  const double* x1 = s->trial.x + first;
  const double* r1 = s->dense + row + first;
  const double* r2 = s->dense + 2 * row + first;
  const double* r3 = s->dense + 3 * row + first;
  const double* r4 = s->dense + 4 * row + first;
  for (uint32_t k = 0; k < n; k++) {
    double b0 = x0[k];
    double b1 = b0 + (r1[k] + r2[k]) / 4.0;
    double b2 = b0 + (r1[k] * 3.0 + r2[k] * 2.0 + r3[k] + r4[k]) / 6.0;
    double b3 = b0 + (r1[k] * 3.0 + r2[k] + r3[k]) / 4.0;
    double b4 = x1[k];
    lo[k] = smaller(smaller(smaller(b0, b1), smaller(b2, b3)), b4);
    hi[k] = larger(larger(larger(b0, b1), larger(b2, b3)), b4);
    bad[k] = 0.0 * (b0 + b1 + b2 + b3 + b4);
  }
}

static void hull_row(const NumStepper* s, uint32_t i, double* lo, double* hi, double* bad) {
  double b[NUM_DENSE_DEGREE_MAX + 1];
  num_dense_bernstein(s, i, b);
  *lo = b[0];
  *hi = b[0];
  *bad = 0.0 * b[0];
  for (uint32_t j = 1; j <= s->trial.degree; j++) {
    *lo = smaller(*lo, b[j]);
    *hi = larger(*hi, b[j]);
    *bad += 0.0 * b[j];
  }
}

bool num_dense_hull(const NumStepper* s, double* restrict lo, double* restrict hi) {
  SLT_ASSERT(s->trial.dense_ready);
  bool plain = s->trial.degree == 4 && !s->shared.weight;
  double bad[HULL_BLOCK];
  double sum = 0.0;
  for (uint32_t first = 0; first < s->trial.n; first += HULL_BLOCK) {
    uint32_t n = s->trial.n - first < HULL_BLOCK ? s->trial.n - first : HULL_BLOCK;
    if (plain) hull_4(s, first, n, lo + first, hi + first, bad);
    for (uint32_t k = 0; !plain && k < n; k++) {
      hull_row(s, first + k, &lo[first + k], &hi[first + k], &bad[k]);
    }
    for (uint32_t k = 0; k < n; k++) {
      sum += bad[k];
    }
  }
  return sum == 0.0;
}
