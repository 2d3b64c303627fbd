// SPDX-License-Identifier: MIT
//
// Variance-based sensitivity: two independent samples A and B of the parameters, and for each
// parameter the sample A with that one taken from B.
#include "experiment/design.h"
#include "experiment/measure.h"
#include "experiment/parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VARIANCE_COOKIE 0x51a1700cu
#define VARIANCE_RUNS   100000000.0
#define BOOTSTRAPS      200

typedef struct Variance {
  const SltModel* model;
  SltDesign* design;
  const SltMeasures* measures;
  const SltVarianceOptions* options;
  double t_end;
  uint32_t d, m;      // parameters, measures
  uint64_t n;         // samples
  double* points[2];  // of A and B, d numbers each
  double* values;     // sample by sample: A, B, A with parameter 1 of B...; m numbers each
  Parallel parallel;
} Variance;

SltVarianceOptions slt_variance_options(void) {
  return (SltVarianceOptions){
      .sim = slt_sim_options(), .t_end = (double)NAN, .samples = 1024, .cookie = VARIANCE_COOKIE};
}

/// Value of measure k for sample i, of the c-th kind.
static double value_at(const Variance* v, uint64_t i, uint32_t c, uint32_t k) {
  return v->values[(i * (v->d + 2) + c) * v->m + k];
}

static void run_one(void* user, uint64_t number) {
  Variance* v = user;
  uint64_t i = number / (v->d + 2);
  uint32_t kind = (uint32_t)(number % (v->d + 2));
  const double* p = v->points[kind == 1] + i * v->d;
  const double* other = v->points[1] + i * v->d;  // of a single one, from the third kind on
  double* out = v->values + number * v->m;
  SltSim* sim = NULL;
  SltStatus status = slt_sim_create(v->model, &v->options->sim, &sim);
  for (uint32_t a = 0; status >= 0 && a < v->d; a++)
    status = parameter_set(&v->design->axes[a].parameter, sim, a + 2 == kind ? other[a] : p[a]);
  if (status >= 0) {
    slt_sim_on_step(sim, parallel_cancelled, &v->parallel);
    slt_sim_on_round(sim, parallel_cancelled, &v->parallel);
    status = slt_measures_run(v->measures, sim, v->t_end, out);
  }
  if (status == SLT_ERR_NOMEM) atomic_store(&v->parallel.failed, true);
  for (uint32_t k = 0; status < 0 && k < v->m; k++)
    out[k] = (double)NAN;
  slt_sim_free(sim);
}

// ---- estimates ----------------------------------------------------------------------------------

typedef struct Estimate {
  double mean, variance, first, total;
  uint64_t used;
} Estimate;

/// Number of the sample that a draw of the bootstrap takes; the sample itself without one.
static uint64_t drawn(const Variance* v, uint32_t round, uint64_t i) {
  if (round == 0) return i;
  uint64_t bits = hash_mix(hash_mix(v->options->seed + 1, round), i + 1);
  return (bits >> 11) % v->n;
}

/// Mean and variance of all values of A and B; then shares from the pairs that are whole.
static Estimate estimate(const Variance* v, uint32_t parameter, uint32_t k, uint32_t round) {
  Estimate e = {0};
  double sum = 0.0;
  uint64_t count = 0;
  for (uint64_t i = 0; i < 2 * v->n; i++) {
    double f = value_at(v, drawn(v, round, i / 2), i % 2, k);
    if (!isfinite(f)) continue;
    sum += f;
    count++;
  }
  e.mean = sum / (double)count;
  for (uint64_t i = 0; i < 2 * v->n; i++) {
    double f = value_at(v, drawn(v, round, i / 2), i % 2, k) - e.mean;
    if (isfinite(f)) e.variance += f * f;
  }
  e.variance /= (double)count - 1.0;
  for (uint64_t i = 0; i < v->n; i++) {
    uint64_t at = drawn(v, round, i);
    double a = value_at(v, at, 0, k) - e.mean;
    double b = value_at(v, at, 1, k) - e.mean;
    double ab = value_at(v, at, 2 + parameter, k) - e.mean;
    if (!isfinite(a) || !isfinite(b) || !isfinite(ab)) continue;
    e.first += b * (ab - a);
    e.total += 0.5 * (a - ab) * (a - ab);
    e.used++;
  }
  e.first /= (double)e.used * e.variance;
  e.total /= (double)e.used * e.variance;
  return e;
}

static void tell(const Variance* v, uint32_t parameter, uint32_t k) {
  Estimate best = estimate(v, parameter, k, 0);
  double sums[4] = {0.0};
  for (uint32_t round = 1; round <= BOOTSTRAPS; round++) {
    Estimate e = estimate(v, parameter, k, round);
    sums[0] += e.first;
    sums[1] += e.first * e.first;
    sums[2] += e.total;
    sums[3] += e.total * e.total;
  }
  double errors[2];
  for (size_t i = 0; i < 2; i++) {
    double mean = sums[2 * i] / BOOTSTRAPS;
    errors[i] = 1.96 * sqrt(fmax(0.0, sums[2 * i + 1] / BOOTSTRAPS - mean * mean));
  }
  SltVarianceShare share = {.measure = slt_measures_name(v->measures, k),
                            .parameter = v->design->axes[parameter].parameter.name,
                            .mean = best.mean,
                            .variance = best.variance,
                            .first = best.first,
                            .total = best.total,
                            .first_error = errors[0],
                            .total_error = errors[1],
                            .used = best.used};
  for (uint64_t i = 0; i < v->n * (v->d + 2); i++)
    share.failed += isfinite(v->values[i * v->m + k]) ? 0u : 1u;
  if (v->options->on_share) v->options->on_share(v->options->user, &share);
}

// ---- all of it ----------------------------------------------------------------------------------

/// Two samples that know nothing of each other.
static SltStatus draw_points(Variance* v, SltProblem* problem) {
  for (int s = 0; s < 2; s++) {
    uint64_t seed = hash_mix(v->options->seed + 7, (uint64_t)s + 1);
    SLT_TRY(slt_design_sample(v->design, SLT_SAMPLE_RANDOM, v->n, seed, problem));
    v->points[s] = calloc(v->n * v->d + 1, sizeof(double));
    if (!v->points[s]) return SLT_ERR_NOMEM;
    for (uint64_t i = 0; i < v->n; i++)
      slt_design_member(v->design, i, v->points[s] + i * v->d);
  }
  return SLT_OK;
}

static SltStatus check(const Variance* v, SltProblem* problem) {
  if (v->d == 0 || v->m == 0) {
    return problem_set(problem, SLT_ERR_ARGUMENT, "--vary 'k~normal(1, 0.1)' -m 'max(x)'",
                       "variances need parameters with distributions, and measures");
  }
  for (uint32_t i = 0; i < v->d; i++) {
    if (v->design->axes[i].parameter.kind != PARAMETER_SEED) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, NULL, "a seed has no share of a variance");
  }
  if ((double)v->n * (v->d + 2) > VARIANCE_RUNS || v->n < 8) {
    return problem_set(problem, SLT_ERR_LIMIT, "some thousand samples give two digits",
                       "between 8 samples and a hundred million runs are possible");
  }
  return SLT_OK;
}

SltStatus slt_variance_run(const SltModel* model, SltDesign* design, const SltMeasures* measures,
                           const SltVarianceOptions* options, SltProblem* problem) {
  bool given = model && design && measures && options;
  if (!given || options->cookie != VARIANCE_COOKIE) return SLT_ERR_ARGUMENT;
  if (problem) *problem = (SltProblem){.message = ""};
  double end = slt_model_experiment(model).end;
  Variance v = {.model = model,
                .design = design,
                .measures = measures,
                .options = options,
                .d = design->count,
                .m = slt_measures_count(measures),
                .n = options->samples,
                .t_end = !isnan(options->t_end) ? options->t_end
                         : isnan(end)           ? 10.0
                                                : end};
  v.parallel.user = &v;
  v.parallel.cancel = options->cancel;
  v.parallel.cancel_user = options->user;
  SLT_TRY(check(&v, problem));
  SltStatus status = draw_points(&v, problem);
  v.values = calloc(v.n * (v.d + 2) * v.m + 1, sizeof *v.values);
  if (status >= 0 && !v.values) status = SLT_ERR_NOMEM;
  if (status >= 0) status = parallel_run(&v.parallel, options->jobs, run_one, v.n * (v.d + 2));
  for (uint32_t k = 0; status >= 0 && k < v.m; k++) {
    for (uint32_t p = 0; p < v.d; p++)
      tell(&v, p, k);
  }
  free(v.points[0]);
  free(v.points[1]);
  free(v.values);
  return status;
}
