// SPDX-License-Identifier: MIT
//
// Least squares by Levenberg's and Marquardt's method (Moré's scaling by the columns of the
// Jacobian), within bounds. The Jacobian is followed along the run, through its events; where that
// is not possible it is made of central differences. A run that fails makes a step that is not
// taken.
//
// An own implementation: cminpack has neither bounds, robust losses nor a way to say that a trial
// failed, and its loop is a page.
#include "experiment/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIT_COOKIE    0x51a17009u
#define FIT_STEP      1e-4   // of differences, relative
#define FIT_SMALL     1e-10  // relative change of parameters that ends the search
#define FIT_REDUCED   1e-13  // ... of the sum of squares
#define FIT_DAMPING   1e-3   // to begin with
#define FIT_GIVE_UP   1e12   // damping
#define FIT_CONDITION 1e6    // beyond it a direction is not determined

typedef struct Search {
  Fit* fit;
  double p[FIT_PARAMETERS];
  double *r, *trial, *jacobian, *weights;  // jacobian: column by column
  double cost;
  uint32_t iterations;
  bool converged;
} Search;

SltFitOptions slt_fit_options(void) {
  return (SltFitOptions){.sim = slt_sim_options(), .iterations = 100, .cookie = FIT_COOKIE};
}

// ---- losses -------------------------------------------------------------------------------------

static int compare_numbers(const void* a, const void* b) {
  const double* x = a;
  const double* y = b;
  return (*x > *y) - (*x < *y);
}

/// Size of a usual residual: the median of their magnitudes, as of a normal distribution.
static double usual_size(const double* r, uint64_t m, double* work) {
  for (uint64_t i = 0; i < m; i++)
    work[i] = fabs(r[i]);
  qsort(work, m, sizeof *work, compare_numbers);
  return work[m / 2] / 0.6745;
}

/// Weights of the residuals by the loss: iteratively reweighted least squares.
static void make_weights(Search* s) {
  const Fit* fit = s->fit;
  SltLoss loss = fit->options->loss;
  double size = loss == SLT_LOSS_SQUARES ? 1.0 : usual_size(s->r, fit->m, s->trial);
  for (uint64_t i = 0; i < fit->m; i++) {
    double u = size > 0.0 ? fabs(s->r[i]) / size : 0.0;
    s->weights[i] = loss == SLT_LOSS_HUBER    ? (u <= 1.345 ? 1.0 : 1.345 / u)
                    : loss == SLT_LOSS_CAUCHY ? 1.0 / (1.0 + u * u / (2.385 * 2.385))
                                              : 1.0;
  }
}

static double weighted_cost(const Search* s, const double* r) {
  double sum = 0.0;
  for (uint64_t i = 0; i < s->fit->m; i++)
    sum += s->weights[i] * r[i] * r[i];
  return sum;
}

// ---- steps --------------------------------------------------------------------------------------

static double scale_of(const Fit* fit, uint32_t i, double value) {
  if (value != 0.0) return fabs(value);
  double width = fit->out[i].upper - fit->out[i].lower;
  return isfinite(width) && width > 0.0 ? 0.1 * width : 1.0;
}

static double clamp(const Fit* fit, uint32_t i, double value) {
  return fmin(fmax(value, fit->out[i].lower), fit->out[i].upper);
}

/// Derivatives of the residuals by differences; at a bound, or where a run fails, to the other side
/// alone.
static SltStatus take_differences(Search* s) {
  Fit* fit = s->fit;
  for (uint32_t k = 0; k < fit->n; k++) {
    double h = FIT_STEP * scale_of(fit, k, s->p[k]);
    double moved[FIT_PARAMETERS];
    double* column = s->jacobian + (uint64_t)k * fit->m;
    memcpy(moved, s->p, sizeof moved);
    moved[k] = clamp(fit, k, s->p[k] + h);
    double above = moved[k] - s->p[k];
    SltStatus status = above > 0.0 ? fit_residuals(fit, moved, column, NULL) : SLT_ERR_ARGUMENT;
    if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) return status;
    if (status < 0) {
      above = 0.0;
      memcpy(column, s->r, fit->m * sizeof *column);
    }
    moved[k] = clamp(fit, k, s->p[k] - h);
    double below = s->p[k] - moved[k];
    status = below > 0.0 ? fit_residuals(fit, moved, s->trial, NULL) : SLT_ERR_ARGUMENT;
    if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) return status;
    if (status < 0) {
      below = 0.0;
      memcpy(s->trial, s->r, fit->m * sizeof *column);
    }
    if (!(above + below > 0.0)) return SLT_ERR_NOT_FINITE;
    for (uint64_t i = 0; i < fit->m; i++)
      column[i] = (column[i] - s->trial[i]) / (above + below);
  }
  return SLT_OK;
}

/// ... along the runs, where these do nothing that is not differentiated.
static SltStatus differentiate(Search* s) {
  SltStatus status = fit_residuals(s->fit, s->p, s->trial, s->jacobian);
  bool ended = status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM;
  return status >= 0 || ended ? status : take_differences(s);
}

/// The normal equations: a = J' W J, g = J' W r.
static void normal_equations(const Search* s, double* a, double* g) {
  const Fit* fit = s->fit;
  for (uint32_t i = 0; i < fit->n; i++) {
    const double* x = s->jacobian + (uint64_t)i * fit->m;
    for (uint32_t k = 0; k <= i; k++) {
      const double* y = s->jacobian + (uint64_t)k * fit->m;
      double sum = 0.0;
      for (uint64_t j = 0; j < fit->m; j++)
        sum += s->weights[j] * x[j] * y[j];
      a[i * fit->n + k] = a[k * fit->n + i] = sum;
    }
    double sum = 0.0;
    for (uint64_t j = 0; j < fit->m; j++)
      sum += s->weights[j] * x[j] * s->r[j];
    g[i] = sum;
  }
}

/// Cholesky's factor of a + damping * diagonal; false where that is not positive.
static bool factor_damped(uint32_t n, const double* a, double damping, double* l) {
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k <= i; k++) {
      double sum = a[i * n + k];
      if (i == k) sum += damping * (sum > 0.0 ? sum : 1.0);
      for (uint32_t j = 0; j < k; j++)
        sum -= l[i * n + j] * l[k * n + j];
      if (i == k && !(sum > 0.0)) return false;
      l[i * n + k] = i == k ? sqrt(sum) : sum / l[k * n + k];
    }
  }
  return true;
}

/// Solve (a + damping * diagonal) x = -g; false where that is not positive.
static bool solve_step(uint32_t n, const double* a, const double* g, double damping, double* x) {
  double l[FIT_PARAMETERS * FIT_PARAMETERS];
  if (!factor_damped(n, a, damping, l)) return false;
  for (uint32_t i = 0; i < n; i++) {
    double sum = -g[i];
    for (uint32_t k = 0; k < i; k++)
      sum -= l[i * n + k] * x[k];
    x[i] = sum / l[i * n + i];
  }
  for (uint32_t i = n; i-- > 0;) {
    double sum = x[i];
    for (uint32_t k = i + 1; k < n; k++)
      sum -= l[k * n + i] * x[k];
    x[i] = sum / l[i * n + i];
  }
  return true;
}

/// A parameter that stands at a bound and is pushed against it stays there: it leaves the
/// equations.
static void hold_at_bounds(const Search* s, double* a, double* g) {
  const Fit* fit = s->fit;
  for (uint32_t i = 0; i < fit->n; i++) {
    bool held = (s->p[i] <= fit->out[i].lower && g[i] > 0.0) ||
                (s->p[i] >= fit->out[i].upper && g[i] < 0.0);
    if (!held) continue;
    g[i] = 0.0;
    for (uint32_t k = 0; k < fit->n; k++)
      a[i * fit->n + k] = a[k * fit->n + i] = i == k ? 1.0 : 0.0;
  }
}

/// Try steps until one is better; false where none is.
static SltStatus improve(Search* s, const double* a, const double* g, double* damping,
                         bool* better) {
  Fit* fit = s->fit;
  *better = false;
  while (*damping < FIT_GIVE_UP) {
    double step[FIT_PARAMETERS] = {0.0};
    double moved[FIT_PARAMETERS];
    double largest = 0.0;
    bool solved = solve_step(fit->n, a, g, *damping, step);
    for (uint32_t i = 0; solved && i < fit->n; i++) {
      moved[i] = clamp(fit, i, s->p[i] + step[i]);
      largest = fmax(largest, fabs(moved[i] - s->p[i]) / scale_of(fit, i, s->p[i]));
    }
    if (solved && largest < FIT_SMALL) {
      s->converged = true;
      return SLT_OK;
    }
    SltStatus status = solved ? fit_residuals(fit, moved, s->trial, NULL) : SLT_ERR_ARGUMENT;
    if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) return status;
    double cost = status >= 0 ? weighted_cost(s, s->trial) : HUGE_VAL;
    if (cost < s->cost) {
      s->converged = s->cost - cost <= FIT_REDUCED * s->cost;
      memcpy(s->p, moved, fit->n * sizeof *moved);
      memcpy(s->r, s->trial, fit->m * sizeof *s->r);
      *damping = fmax(*damping / 5.0, 1e-12);
      *better = true;
      return SLT_OK;
    }
    *damping *= 4.0;
  }
  s->converged = true;  // nothing near by is better
  return SLT_OK;
}

static SltStatus search(Search* s) {
  Fit* fit = s->fit;
  double a[FIT_PARAMETERS * FIT_PARAMETERS] = {0.0};
  double g[FIT_PARAMETERS] = {0.0};
  double damping = FIT_DAMPING;
  SLT_TRY(fit_residuals(fit, s->p, s->r, NULL));
  s->converged = false;
  for (s->iterations = 0; s->iterations < fit->options->iterations && !s->converged;
       s->iterations++) {
    make_weights(s);
    s->cost = weighted_cost(s, s->r);
    if (s->cost == 0.0) s->converged = true;
    SLT_TRY(differentiate(s));
    normal_equations(s, a, g);
    hold_at_bounds(s, a, g);
    bool better = false;
    if (!s->converged) SLT_TRY(improve(s, a, g, &damping, &better));
  }
  make_weights(s);
  s->cost = weighted_cost(s, s->r);
  return differentiate(s);
}

// ---- what the data determine --------------------------------------------------------------------

/// Columns or rows p and q, `stride` apart, turned into each other.
static void turn(uint32_t n, double* a, size_t p, size_t q, size_t stride, double c, double s) {
  for (uint32_t k = 0; k < n; k++) {
    double x = a[p + k * stride];
    double y = a[q + k * stride];
    a[p + k * stride] = c * x - s * y;
    a[q + k * stride] = s * x + c * y;
  }
}

/// Jacobi's rotations.
void symmetric_eigen(uint32_t n, double* a, double* values, double* vectors) {
  for (uint32_t i = 0; i < n * n; i++)
    vectors[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
  for (int sweep = 0; sweep < 60; sweep++) {
    double off = 0.0;
    for (uint32_t p = 0; p < n; p++) {
      for (uint32_t q = p + 1; q < n; q++) {
        off += fabs(a[p * n + q]);
        if (a[p * n + q] == 0.0) continue;
        double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
        double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
        double c = 1.0 / sqrt(t * t + 1.0);
        double sn = t * c;
        turn(n, a, p, q, n, c, sn);
        turn(n, a, (size_t)p * n, (size_t)q * n, 1, c, sn);
        turn(n, vectors, p, q, n, c, sn);
      }
    }
    if (off < 1e-300) break;
  }
  for (uint32_t i = 0; i < n; i++)
    values[i] = a[i * n + i];
}

double student_95(uint64_t freedom) {
  // Cornish and Fisher's expansion; the first degrees, where it is poor, from tables
  static const double first[] = {12.706204736432095, 4.302652729911275, 3.182446305284263,
                                 2.776445105197794, 2.570581836614740};
  if (freedom >= 1 && freedom <= 5) return first[freedom - 1];
  double z = 1.959963984540054;
  double v = (double)freedom;
  double z2 = z * z;
  return z * (1.0 + (z2 + 1.0) / (4.0 * v) + ((5.0 * z2 + 16.0) * z2 + 3.0) / (96.0 * v * v) +
              (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / (384.0 * v * v * v));
}

/// Whether a parameter takes part in a direction that the data do not determine.
static bool is_lost(uint32_t n, uint32_t i, const double* values, const double* vectors,
                    double floor_value) {
  bool lost = false;
  for (uint32_t j = 0; j < n; j++)
    lost |= !(values[j] > floor_value) && fabs(vectors[i * n + j]) > 1e-3;
  return lost;
}

/// Deviations, intervals and correlations from the eigenvalues of the scaled normal matrix: what
/// the data do not determine is infinite there, not large.
static void describe(const Search* s, SltFitResult* result) {
  Fit* fit = s->fit;
  uint32_t n = fit->n;
  double a[FIT_PARAMETERS * FIT_PARAMETERS] = {0.0};
  double g[FIT_PARAMETERS] = {0.0};
  double scale[FIT_PARAMETERS];
  double values[FIT_PARAMETERS] = {0.0};
  double vectors[FIT_PARAMETERS * FIT_PARAMETERS] = {0.0};
  normal_equations(s, a, g);
  for (uint32_t i = 0; i < n; i++)
    scale[i] = scale_of(fit, i, s->p[i]);
  for (uint32_t i = 0; i < n * n; i++)
    a[i] *= scale[i / n] * scale[i % n];
  symmetric_eigen(n, a, values, vectors);
  uint32_t least = 0;
  double most = 0.0;
  for (uint32_t i = 0; i < n; i++) {
    if (values[i] < values[least]) least = i;
    most = fmax(most, values[i]);
  }
  double smallest = fmax(values[least], 0.0);
  result->condition = smallest > 0.0 ? sqrt(most / smallest) : HUGE_VAL;
  double variance = s->cost / (double)(fit->m - n);
  double covariance[FIT_PARAMETERS * FIT_PARAMETERS];
  double floor_value = most / (FIT_CONDITION * FIT_CONDITION);
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < n; k++) {
      double sum = 0.0;
      for (uint32_t j = 0; j < n; j++)
        sum += vectors[i * n + j] * vectors[k * n + j] / fmax(values[j], floor_value);
      covariance[i * n + k] = variance * sum * scale[i] * scale[k];
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    bool lost = is_lost(n, i, values, vectors, floor_value);
    SltFitParameter* out = &fit->out[i];
    out->value = s->p[i];
    out->deviation = lost ? HUGE_VAL : sqrt(covariance[i * n + i]);
    double half = student_95(fit->m - n) * out->deviation;
    out->interval[0] = s->p[i] - half;
    out->interval[1] = s->p[i] + half;
    if (result->weakest) result->weakest[i] = vectors[i * n + least];
    for (uint32_t k = 0; result->correlation && k < n; k++) {
      double size = sqrt(covariance[i * n + i] * covariance[k * n + k]);
      result->correlation[i * n + k] = size > 0.0 ? covariance[i * n + k] / size : 0.0;
    }
  }
  result->points = fit->m;
  result->left_out = fit->left_out;
  result->late = fit->late;
  result->rms = sqrt(s->cost / (double)fit->m);
  result->iterations = s->iterations;
  result->converged = s->converged;
}

// ---- beginnings ---------------------------------------------------------------------------------

static SltStatus take_parameters(Fit* fit, SltProblem* problem) {
  SltSim* sim = NULL;
  SLT_TRY(slt_sim_create(fit->model, &fit->sim, &sim));
  SltStatus status = slt_sim_start(sim);
  for (uint32_t i = 0; i < fit->n; i++) {
    SltFitParameter* p = &fit->out[i];
    SltQuantity q;
    status = parameter_find_next(fit->model, p->name, fit->parameters, i, problem);
    if (status < 0) break;
    if (!(p->lower < p->upper)) {
      status = problem_set(problem, SLT_ERR_ARGUMENT, "from the smaller to the larger",
                           "the bounds of `%s` cross", p->name);
      break;
    }
    if (!isnan(p->start)) continue;
    status = slt_sim_find(sim, fit->parameters[i].bare, &q);
    if (status < 0) break;
    p->start = slt_sim_get(sim, q);
  }
  slt_sim_free(sim);
  return status < 0 ? status : SLT_OK;
}

/// The k-th beginning: the one given, then one in every stratum of the bounds.
static bool begin_at(const Fit* fit, uint32_t k, double* p) {
  uint64_t starts = fit->options->starts;
  for (uint32_t i = 0; i < fit->n; i++) {
    const SltFitParameter* out = &fit->out[i];
    p[i] = clamp(fit, i, out->start);
    if (k == 0) continue;
    if (!isfinite(out->lower) || !isfinite(out->upper)) continue;
    uint64_t bits = hash_mix(hash_mix(fit->options->seed + 1, i + 1), k);
    // a stratum of its own per beginning, another order per parameter
    uint64_t stratum = (k - 1 + hash_mix(fit->options->seed + 7, i) % starts) % starts;
    if (i % 2) stratum = starts - 1 - stratum;
    double share = ((double)stratum + (double)(bits >> 11) * 0x1p-53) / (double)starts;
    p[i] = out->lower + share * (out->upper - out->lower);
  }
  return true;
}

static SltStatus search_all(Fit* fit, SltFitResult* result, SltProblem* problem) {
  Search s = {.fit = fit};
  uint64_t m = fit->m;
  double* room = calloc(m, (fit->n + 3) * sizeof *room);
  if (!room) return SLT_ERR_NOMEM;
  s.r = room;
  s.trial = room + m;
  s.weights = room + 2 * m;
  s.jacobian = room + 3 * m;
  double best = HUGE_VAL;
  SltStatus first = SLT_OK;
  SltStatus status = SLT_OK;
  for (uint32_t k = 0; k <= fit->options->starts; k++) {
    begin_at(fit, k, s.p);
    status = search(&s);
    if (k == 0) first = status;
    if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) break;
    if (status < 0 || !(s.cost < best)) continue;
    best = s.cost;
    describe(&s, result);
  }
  free(room);
  result->runs = fit->runs;
  if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) return status;
  if (best < HUGE_VAL) return SLT_OK;
  if (fit->failure.message[0]) {
    if (problem) *problem = fit->failure;
    return first;
  }
  return problem_set(problem, first, "other values to begin with may help",
                     "the run has no values to compare with the data: %s", slt_status_text(first));
}

SltStatus slt_fit_run(const SltModel* model, const SltFitData* data, uint32_t data_count,
                      SltFitParameter* parameters, uint32_t count, const SltFitOptions* options,
                      SltFitResult* result, SltProblem* problem) {
  if (!model || !data || !parameters || !options || !result || options->cookie != FIT_COOKIE ||
      data_count == 0) {
    return SLT_ERR_ARGUMENT;
  }
  if (problem) *problem = (SltProblem){.message = ""};
  SLT_TRY(parameter_some(count, problem));
  if (count > FIT_PARAMETERS) {
    return problem_set(problem, SLT_ERR_LIMIT, NULL, "more than %d parameters", FIT_PARAMETERS);
  }
  Fit fit = {.model = model,
             .options = options,
             .sim = options->sim,
             .out = parameters,
             .n = count,
             .set_count = data_count,
             .sets = calloc(data_count, sizeof *fit.sets),
             .parameters = calloc(count, sizeof *fit.parameters)};
  slt_sim_options_tighten(model, 1e-9, &fit.sim);
  SltStatus status = fit.sets && fit.parameters ? SLT_OK : SLT_ERR_NOMEM;
  for (uint32_t i = 0; status >= 0 && i < data_count; i++)
    fit.sets[i].data = &data[i];
  if (status >= 0) status = take_parameters(&fit, problem);
  if (status >= 0) status = fit_prepare(&fit, problem);
  if (status >= 0) status = search_all(&fit, result, problem);
  fit_clear(&fit);
  return status;
}
