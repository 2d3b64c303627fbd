// SPDX-License-Identifier: MIT
//
// Parameters for which a measure is smallest. The search is NLopt's; here a point becomes a run,
// and gradients become differences of runs. Parameters are passed in units of their own size.
#include "experiment/fit.h"
#include "experiment/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIMIZE_COOKIE 0x51a1700au

SltOptimizeOptions slt_optimize_options(void) {
  return (SltOptimizeOptions){.sim = slt_sim_options(),
                              .t_end = (double)NAN,
                              .evaluations = 1000,
                              .tolerance = 1e-8,
                              .cookie = OPTIMIZE_COOKIE};
}

static SltStatus no_search(SltProblem* problem) {
  return problem_set(problem, SLT_ERR_UNSUPPORTED,
                     "install the package libnlopt-dev; a build without it has to be made again",
                     "NLopt, which searches, is not here");
}

#ifdef SALTUS_LIBRARY_NLOPT

#include "base/library.h"

#include <nlopt.h>

// clang-format off
#define NLOPT_LIST(X) \
  X(nlopt_create) X(nlopt_destroy) X(nlopt_force_stop) X(nlopt_add_inequality_constraint) \
  X(nlopt_optimize) X(nlopt_set_ftol_rel) X(nlopt_set_xtol_rel) X(nlopt_set_lower_bounds) \
  X(nlopt_set_upper_bounds) X(nlopt_set_maxeval) X(nlopt_set_min_objective) X(nlopt_srand)
// clang-format on

typedef struct Nlopt {
  NLOPT_LIST(LIBRARY_MEMBER)
} Nlopt;

static bool nlopt_load(Nlopt* nlopt) {
  static const char* const names[] = {NLOPT_LIST(LIBRARY_NAME)};
  return library_load(SALTUS_LIBRARY_NLOPT, names, SLT_COUNT(names), nlopt);
}

#define OPTIMIZE_STEP 1e-5  // of differences, relative

typedef struct Optimize {
  Nlopt nlopt;
  const SltModel* model;
  const SltMeasures* measures;
  const SltOptimizeOptions* options;
  SltSimOptions sim;
  double t_end;
  Parameter* parameters;
  SltFitParameter* out;
  uint32_t n, measure_count;
  double scale[FIT_PARAMETERS];
  nlopt_opt search;
  // the point that was looked at last
  bool known, slopes_known;
  double at[FIT_PARAMETERS];
  double* values;
  double* slopes;  // measure by measure
  double *below, *above;
  double* size;  // of each measure: what the search sees is without units
  // the best so far
  bool any;
  double best, best_violation;
  double best_at[FIT_PARAMETERS];
  uint64_t runs, evaluations;
  SltStatus failure;  // of the last run that failed
  SltProblem first;   // ...and what the first one said
} Optimize;

/// What a constraint says of a point: at most 0 where it holds.
typedef struct ConstraintOf {
  Optimize* o;
  const SltConstraint* constraint;
} ConstraintOf;

static bool is_cancelled(void* user, double t) {
  const SltOptimizeOptions* options = ((const Optimize*)user)->options;
  (void)t;
  return options->cancel && options->cancel(options->user);
}

static void run_at(Optimize* o, const double* u, double* values) {
  SltSim* sim = NULL;
  SltStatus status = slt_sim_create(o->model, &o->sim, &sim);
  for (uint32_t i = 0; status >= 0 && i < o->n; i++)
    status = parameter_set(&o->parameters[i], sim, u[i] * o->scale[i]);
  if (sim) slt_sim_on_step(sim, is_cancelled, o);
  if (sim) slt_sim_on_round(sim, is_cancelled, o);
  if (status >= 0) status = slt_measures_run(o->measures, sim, o->t_end, values);
  if (status < 0 && sim && !o->first.message[0]) {
    problem_set_run(&o->first, sim, status, "no run gave a value of the measure");
  }
  slt_sim_free(sim);
  o->runs++;
  if (status >= 0) return;
  if (o->failure != SLT_ERR_NOMEM) o->failure = status;
  bool ends = status == SLT_ERR_NOMEM || status == SLT_ERR_CANCELLED;
  if (ends && o->search) o->nlopt.nlopt_force_stop(o->search);
  for (uint32_t k = 0; k < o->measure_count; k++)
    values[k] = (double)NAN;
}

/// By how much the constraints are broken in sum, each beside the size of its measure.
static double violation(const Optimize* o, const double* values) {
  double sum = 0.0;
  for (uint32_t i = 0; i < o->options->constraint_count; i++) {
    const SltConstraint* c = &o->options->constraints[i];
    double excess = c->at_least ? c->bound - values[c->measure] : values[c->measure] - c->bound;
    if (!(excess <= 0.0)) sum += isnan(excess) ? HUGE_VAL : excess / o->size[c->measure];
  }
  return sum;
}

static void note_best(Optimize* o, const double* u) {
  double sign = o->options->maximize ? -1.0 : 1.0;
  double value = sign * o->values[0];
  double excess = violation(o, o->values);
  double slack = 1e-8 * (1.0 + fabs(o->best_violation));
  if (isnan(value)) return;
  bool better = !o->any || excess < o->best_violation - slack ||
                (excess <= o->best_violation + slack && value < o->best);
  if (!better) return;
  o->any = true;
  o->best = value;
  o->best_violation = excess;
  memcpy(o->best_at, u, o->n * sizeof *u);
}

static void look_at(Optimize* o, const double* u) {
  const SltOptimizeOptions* options = o->options;
  if (o->known && memcmp(u, o->at, o->n * sizeof *u) == 0) return;
  run_at(o, u, o->values);
  memcpy(o->at, u, o->n * sizeof *u);
  o->known = true;
  o->slopes_known = false;
  note_best(o, u);
  if (!options->on_evaluation) return;
  double p[FIT_PARAMETERS];
  for (uint32_t i = 0; i < o->n; i++)
    p[i] = u[i] * o->scale[i];
  SltEvaluation evaluation = {.number = o->evaluations++,
                              .parameters = p,
                              .values = o->values,
                              .feasible = violation(o, o->values) <= 0.0};
  options->on_evaluation(options->user, &evaluation);
}

/// Derivatives along one run; false where it does something that is not differentiated.
static bool follow_slopes(Optimize* o, const double* u) {
  SltSim* sim = NULL;
  SltStatus status = slt_sim_create(o->model, &o->sim, &sim);
  for (uint32_t i = 0; status >= 0 && i < o->n; i++)
    status = parameter_set(&o->parameters[i], sim, u[i] * o->scale[i]);
  if (sim) slt_sim_on_step(sim, is_cancelled, o);
  if (sim) slt_sim_on_round(sim, is_cancelled, o);
  if (status >= 0) {
    status = measures_follow_slopes(o->measures, sim, o->t_end, o->parameters, o->n, o->above, NULL,
                                    &(SlopeRows){.rows = o->slopes});
  }
  slt_sim_free(sim);
  o->runs++;
  bool known = status >= 0;
  for (uint32_t i = 0; known && i < o->measure_count * o->n; i++) {
    o->slopes[i] *= o->scale[i % o->n];
    known = isfinite(o->slopes[i]);
  }
  return known;
}

/// Derivatives along the run, or central differences, one-sided at bounds.
static void take_slopes(Optimize* o, const double* u) {
  if (o->slopes_known) return;
  o->slopes_known = true;
  if (follow_slopes(o, u)) return;
  for (uint32_t i = 0; i < o->n; i++) {
    double moved[FIT_PARAMETERS];
    memcpy(moved, u, o->n * sizeof *u);
    double h = OPTIMIZE_STEP * fmax(fabs(u[i]), 1e-3);
    moved[i] = fmin(u[i] + h, o->out[i].upper / o->scale[i]);
    double span = moved[i];
    run_at(o, moved, o->above);
    moved[i] = fmax(u[i] - h, o->out[i].lower / o->scale[i]);
    span -= moved[i];
    run_at(o, moved, o->below);
    for (uint32_t k = 0; k < o->measure_count; k++) {
      double slope = (o->above[k] - o->below[k]) / span;
      o->slopes[k * o->n + i] = isfinite(slope) ? slope : 0.0;
    }
  }
}

static double objective(unsigned n, const double* u, double* gradient, void* user) {
  Optimize* o = user;
  double sign = o->options->maximize ? -1.0 : 1.0;
  look_at(o, u);
  if (gradient) {
    take_slopes(o, u);
    for (unsigned i = 0; i < n; i++)
      gradient[i] = sign * o->slopes[i] / o->size[0];
  }
  return isnan(o->values[0]) ? HUGE_VAL : sign * o->values[0] / o->size[0];
}

static double constrained(unsigned n, const double* u, double* gradient, void* user) {
  const ConstraintOf* c = user;
  Optimize* o = c->o;
  double sign = c->constraint->at_least ? -1.0 : 1.0;
  uint32_t k = c->constraint->measure;
  look_at(o, u);
  if (gradient) {
    take_slopes(o, u);
    for (unsigned i = 0; i < n; i++)
      gradient[i] = sign * o->slopes[k * o->n + i] / o->size[k];
  }
  double value = sign * (o->values[k] - c->constraint->bound) / o->size[k];
  return isnan(value) ? HUGE_VAL : value;
}

/// Sizes of the measures: the largest of their bounds and of their values where the search begins;
/// of what is 0 there, what the parameters make of it.
static void take_sizes(Optimize* o, const double* u) {
  run_at(o, u, o->values);
  for (uint32_t i = 0; i < o->options->constraint_count; i++) {
    const SltConstraint* c = &o->options->constraints[i];
    o->size[c->measure] = fmax(o->size[c->measure], fabs(c->bound));
  }
  for (uint32_t k = 0; k < o->measure_count; k++) {
    if (isfinite(o->values[k])) o->size[k] = fmax(o->size[k], fabs(o->values[k]));
    if (o->size[k] > 0.0) continue;
    take_slopes(o, u);
    for (uint32_t i = 0; i < o->n; i++)
      o->size[k] = fmax(o->size[k], fabs(o->slopes[k * o->n + i]));
    if (!(o->size[k] > 0.0)) o->size[k] = 1.0;
  }
}

/// One search from u, which it moves.
static nlopt_result search_with(Optimize* o, nlopt_algorithm algorithm, uint32_t evaluations,
                                ConstraintOf* constraints, double* u) {
  double lower[FIT_PARAMETERS];
  double upper[FIT_PARAMETERS];
  double value = 0.0;
  for (uint32_t i = 0; i < o->n; i++) {
    lower[i] = o->out[i].lower / o->scale[i];
    upper[i] = o->out[i].upper / o->scale[i];
  }
  o->search = o->nlopt.nlopt_create(algorithm, o->n);
  if (!o->search) return NLOPT_OUT_OF_MEMORY;
  o->nlopt.nlopt_set_min_objective(o->search, objective, o);
  o->nlopt.nlopt_set_lower_bounds(o->search, lower);
  o->nlopt.nlopt_set_upper_bounds(o->search, upper);
  for (uint32_t i = 0; i < o->options->constraint_count; i++) {
    constraints[i] = (ConstraintOf){o, &o->options->constraints[i]};
    o->nlopt.nlopt_add_inequality_constraint(o->search, constrained, &constraints[i], 1e-10);
  }
  o->nlopt.nlopt_set_xtol_rel(o->search, o->options->tolerance);
  // two points of a simplex with the same value are no sign of a minimum
  if (algorithm == NLOPT_LD_SLSQP)
    o->nlopt.nlopt_set_ftol_rel(o->search, 0.01 * o->options->tolerance);
  o->nlopt.nlopt_set_maxeval(o->search, (int)(evaluations < INT32_MAX ? evaluations : INT32_MAX));
  nlopt_result result = o->nlopt.nlopt_optimize(o->search, u, &value);
  o->nlopt.nlopt_destroy(o->search);
  o->search = NULL;
  return result;
}

static SltStatus search_all(Optimize* o, SltOptimum* out, SltProblem* problem) {
  const SltOptimizeOptions* options = o->options;
  ConstraintOf* constraints = calloc(options->constraint_count + 1, sizeof *constraints);
  double u[FIT_PARAMETERS];
  if (!constraints) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < o->n; i++)
    u[i] = fmin(fmax(o->out[i].start, o->out[i].lower), o->out[i].upper) / o->scale[i];
  nlopt_result result = NLOPT_SUCCESS;
  take_sizes(o, u);
  if (options->search == SLT_SEARCH_GLOBAL) {
    o->nlopt.nlopt_srand((unsigned long)options->seed + 1);
    result = search_with(o, NLOPT_GN_ISRES, options->evaluations / 2, constraints, u);
    if (o->any) memcpy(u, o->best_at, sizeof u);
  }
  if (result != NLOPT_FORCED_STOP && result != NLOPT_OUT_OF_MEMORY) {
    bool gradient = options->search == SLT_SEARCH_GRADIENT;
    result = search_with(o, gradient ? NLOPT_LD_SLSQP : NLOPT_LN_COBYLA, options->evaluations,
                         constraints, u);
  }
  free(constraints);
  for (uint32_t i = 0; i < o->n; i++)
    o->out[i].value = (o->any ? o->best_at[i] : u[i]) * o->scale[i];
  *out = (SltOptimum){.value = o->any ? (options->maximize ? -o->best : o->best) : (double)NAN,
                      .evaluations = o->runs,
                      .feasible = o->any && o->best_violation <= 1e-8,
                      .converged = result > 0 && result != NLOPT_MAXEVAL_REACHED};
  if (o->failure == SLT_ERR_NOMEM) return SLT_ERR_NOMEM;
  if (result == NLOPT_FORCED_STOP) return SLT_ERR_CANCELLED;
  if (result == NLOPT_OUT_OF_MEMORY) return SLT_ERR_NOMEM;
  if (o->any) return SLT_OK;
  if (o->first.message[0]) {
    if (problem) *problem = o->first;
    return o->failure;
  }
  return problem_set(problem, o->failure < 0 ? o->failure : SLT_ERR_NOT_FINITE,
                     "`saltus run` tells more; other values to begin with may help",
                     "no run gave a value of the measure");
}

static SltStatus take_parameters(Optimize* o, SltProblem* problem) {
  SltSim* sim = NULL;
  SLT_TRY(slt_sim_create(o->model, &o->sim, &sim));
  slt_sim_start(sim);
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; i < o->n && status >= 0; i++) {
    SltFitParameter* p = &o->out[i];
    SltQuantity q;
    status = parameter_find_next(o->model, p->name, o->parameters, i, problem);
    if (status < 0) break;
    bool bounded = isfinite(p->lower) && isfinite(p->upper);
    if (!(p->lower < p->upper)) {
      status = problem_set(problem, SLT_ERR_ARGUMENT, "from the smaller to the larger",
                           "the bounds of `%s` cross", p->name);
    } else if (o->options->search == SLT_SEARCH_GLOBAL && !bounded) {
      status = problem_set(problem, SLT_ERR_ARGUMENT, "--bounds NAME=LOW:HIGH",
                           "a global search needs bounds of `%s`", p->name);
    } else if (isnan(p->start) && slt_sim_find(sim, o->parameters[i].bare, &q) >= 0) {
      p->start = slt_sim_get(sim, q);
    }
    double width = p->upper - p->lower;
    o->scale[i] = p->start != 0.0 ? fabs(p->start) : isfinite(width) ? width : 1.0;
  }
  slt_sim_free(sim);
  return status;
}

static SltStatus check_options(const Optimize* o, SltProblem* problem) {
  if (!(o->options->tolerance > 0.0 && isfinite(o->options->tolerance))) {
    return problem_set(problem, SLT_ERR_ARGUMENT, NULL, "the tolerance must be greater than 0");
  }
  for (uint32_t i = 0; i < o->options->constraint_count; i++) {
    const SltConstraint* c = &o->options->constraints[i];
    if (c->measure >= o->measure_count) return SLT_ERR_ARGUMENT;
    if (isfinite(c->bound)) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, NULL, "the bound of a constraint must be finite");
  }
  return SLT_OK;
}

SltStatus slt_optimize_run(const SltModel* model, const SltMeasures* measures,
                           SltFitParameter* parameters, uint32_t count,
                           const SltOptimizeOptions* options, SltOptimum* out,
                           SltProblem* problem) {
  if (!model || !measures || !parameters || !options || !out ||
      options->cookie != OPTIMIZE_COOKIE || slt_measures_count(measures) == 0) {
    return SLT_ERR_ARGUMENT;
  }
  if (problem) *problem = (SltProblem){.message = ""};
  SLT_TRY(parameter_some(count, problem));
  if (count > FIT_PARAMETERS) {
    return problem_set(problem, SLT_ERR_LIMIT, NULL, "more than %d parameters", FIT_PARAMETERS);
  }
  double end = slt_model_experiment(model).end;
  Optimize o = {.model = model,
                .measures = measures,
                .options = options,
                .sim = options->sim,
                .t_end = !isnan(options->t_end) ? options->t_end
                         : isnan(end)           ? 10.0
                                                : end,
                .out = parameters,
                .n = count,
                .measure_count = slt_measures_count(measures),
                .parameters = calloc(count, sizeof *o.parameters),
                .best = HUGE_VAL,
                .best_violation = HUGE_VAL};
  slt_sim_options_tighten(model, 1e-9, &o.sim);
  if (!nlopt_load(&o.nlopt)) {
    free(o.parameters);
    return no_search(problem);
  }
  double* room = calloc((size_t)o.measure_count * (count + 4), sizeof *room);
  SltStatus status = room && o.parameters ? check_options(&o, problem) : SLT_ERR_NOMEM;
  if (status >= 0) {
    o.values = room;
    o.below = room + o.measure_count;
    o.above = o.below + o.measure_count;
    o.size = o.above + o.measure_count;
    o.slopes = o.size + o.measure_count;
    status = take_parameters(&o, problem);
  }
  if (status >= 0) status = search_all(&o, out, problem);
  for (uint32_t i = 0; o.parameters && i < count; i++)
    parameter_clear(&o.parameters[i]);
  free(o.parameters);
  free(room);
  return status;
}

#else

SltStatus slt_optimize_run(const SltModel* model, const SltMeasures* measures,
                           SltFitParameter* parameters, uint32_t count,
                           const SltOptimizeOptions* options, SltOptimum* out,
                           SltProblem* problem) {
  (void)model;
  (void)measures;
  (void)parameters;
  (void)count;
  (void)options;
  if (out) *out = (SltOptimum){.value = (double)NAN};
  return no_search(problem);
}

#endif
