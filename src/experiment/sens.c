// SPDX-License-Identifier: MIT
//
// Derivatives by extrapolated differences. A run on each side of the parameter, ever closer to it;
// quotients of runs with the same sequence of events are smooth in the distance, so that
// Richardson's extrapolation applies (Ridders, Adv. Eng. Software 4, 1982), and its tableau tells
// the error. Left and right are looked at separately: where they do not agree there is no
// derivative, whatever the central quotient says.
#include "experiment/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SENS_COOKIE  0x51a17008u
#define SENS_SEARCH  12   // distances tried, each a quarter of the one before
#define SENS_LEVELS  8    // of the tableau
#define SENS_RATIO   1.7  // of two distances of the tableau
#define SENS_PROBES  256
#define SENS_CLOSER  5     // times that an extrapolation begins anew nearer by
#define SENS_GOOD    1e-9  // relative error with which that ends
#define SENS_SETTLED 1e-3  // relative error above which nothing has been found
#define SENS_AGREE   20.0  // sides may differ by so many times their errors
#define SENS_BISECT  48

/// Runs at one distance from the parameter, below and above.
typedef struct Probe {
  double h;
  bool made[2];
  SltStatus status[2];
  double* values[2];
  Track track[2];
} Probe;

typedef struct Sens {
  const SltModel* model;
  const SltMeasures* measures;
  const SltSensOptions* options;
  SltSimOptions sim;
  double t_end;
  Parameter* parameters;
  double* at;
  bool* given;  // by the caller: to be set in every run
  uint32_t count;
  // of the present parameter
  uint32_t present;
  double scale;
  Probe nominal;  // its side 0
  Probe probes[SENS_PROBES];
  uint32_t probe_count;
  double changes_at[2];
} Sens;

SltSensOptions slt_sens_options(void) {
  return (SltSensOptions){
      .sim = slt_sim_options(), .t_end = (double)NAN, .reach = 0.02, .cookie = SENS_COOKIE};
}

// ---- runs ---------------------------------------------------------------------------------------

static bool ask_cancel(void* user, double t) {
  const Sens* s = user;
  (void)t;
  return s->options->cancel && s->options->cancel(s->options->user);
}

/// A run with one parameter moved to `value`.
static SltStatus run_at(Sens* s, double value, double* values, Track* track) {
  SltSimOptions options = s->sim;
  SltSim* sim = NULL;
  track_clear(track);
  SLT_TRY(slt_sim_create(s->model, &options, &sim));
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; status >= 0 && i < s->count; i++) {
    // what nobody has set keeps following the constants it is computed from
    if (i != s->present && !s->given[i]) continue;
    status = parameter_set(&s->parameters[i], sim, i == s->present ? value : s->at[i]);
  }
  slt_sim_on_step(sim, ask_cancel, s);
  if (status >= 0) status = measures_follow(s->measures, sim, s->t_end, values, track);
  slt_sim_free(sim);
  return status;
}

static SltStatus make_probe(Sens* s, double h, int side, Probe** out) {
  uint32_t i = 0;
  while (i < s->probe_count && s->probes[i].h != h)
    i++;
  if (i == SENS_PROBES) return SLT_ERR_LIMIT;
  Probe* probe = &s->probes[i];
  *out = probe;
  if (i == s->probe_count) {
    probe->h = h;
    s->probe_count++;
  }
  if (probe->made[side]) return SLT_OK;
  uint32_t count = slt_measures_count(s->measures);
  if (!probe->values[side]) probe->values[side] = calloc(count + 1, sizeof(double));
  if (!probe->values[side]) return SLT_ERR_NOMEM;
  double value = s->at[s->present] + (side ? h : -h);
  SltStatus status = run_at(s, value, probe->values[side], &probe->track[side]);
  if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) return status;
  probe->status[side] = status;
  probe->made[side] = true;
  return SLT_OK;
}

static void forget_probes(Sens* s) {
  for (uint32_t i = 0; i < s->probe_count; i++) {
    for (int side = 0; side < 2; side++) {
      free(s->probes[i].values[side]);
      track_clear(&s->probes[i].track[side]);
    }
    s->probes[i] = (Probe){0};
  }
  s->probe_count = 0;
}

// ---- sequences of events ------------------------------------------------------------------------

/// What the events were, as far as they came before the measure was taken.
static uint64_t signature(const Sens* s, const Probe* probe, int side, uint32_t measure) {
  if (probe->status[side] < 0 || isnan(probe->values[side][measure])) return 0;
  double horizon = measure_horizon(s->measures, measure, probe->values[side]);
  return track_at(&probe->track[side], horizon) | 1;
}

static uint64_t whole_signature(const Probe* probe, int side) {
  return probe->status[side] < 0 ? 0 : track_at(&probe->track[side], HUGE_VAL) | 1;
}

/// Where, going away from the parameter, the sequence changes first: between a distance at which it
/// is the same and one at which it is not.
static SltStatus locate_change(Sens* s, int side, double same, double other, uint64_t wanted,
                               double* out) {
  uint32_t count = slt_measures_count(s->measures);
  Probe probe = {0};
  probe.values[0] = calloc(count + 1, sizeof(double));
  if (!probe.values[0]) return SLT_ERR_NOMEM;
  double at = s->at[s->present];
  SltStatus status = SLT_OK;
  for (int i = 0; i < SENS_BISECT && status >= 0; i++) {
    double middle = 0.5 * (same + other);
    if (!(middle > same && middle < other) || at + middle == at) break;
    double value = at + (side ? middle : -middle);
    status = run_at(s, value, probe.values[0], &probe.track[0]);
    probe.status[0] = status;
    if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) break;
    status = SLT_OK;
    if (whole_signature(&probe, 0) == wanted) {
      same = middle;
    } else {
      other = middle;
    }
  }
  *out = at + (side ? other : -other);
  free(probe.values[0]);
  track_clear(&probe.track[0]);
  return status;
}

/// The nearest change of the sequence of events on one side, as far as the search has met one.
static SltStatus find_change(Sens* s, int side) {
  uint64_t wanted = whole_signature(&s->nominal, 0);
  double other = (double)NAN;
  s->changes_at[side] = (double)NAN;
  for (uint32_t k = 0; k < SENS_SEARCH; k++) {
    Probe* probe = NULL;
    double h = s->options->reach * s->scale * pow(0.25, k);
    SLT_TRY(make_probe(s, h, side, &probe));
    if (whole_signature(probe, side) == wanted) {
      return isnan(other) ? SLT_OK : locate_change(s, side, h, other, wanted, &s->changes_at[side]);
    }
    other = h;
  }
  return locate_change(s, side, 0.0, other, wanted, &s->changes_at[side]);
}

// ---- extrapolation ------------------------------------------------------------------------------

typedef struct Limit {
  double value;  // NaN: none was found
  double error;
} Limit;

/// The limit of quotients at distances h, h/ratio, h/ratio^2...; their error has powers of h that
/// are multiples of `step`.
static Limit extrapolate(const double* quotients, uint32_t count, int step) {
  double tableau[SENS_LEVELS][SENS_LEVELS];
  Limit best = {(double)NAN, HUGE_VAL};
  for (uint32_t i = 0; i < count; i++) {
    tableau[0][i] = quotients[i];
    for (uint32_t j = 1; j <= i; j++) {
      double factor = pow(SENS_RATIO, (double)(step * (int)j));
      tableau[j][i] = (tableau[j - 1][i] * factor - tableau[j - 1][i - 1]) / (factor - 1.0);
      double error = fmax(fabs(tableau[j][i] - tableau[j - 1][i]),
                          fabs(tableau[j][i] - tableau[j - 1][i - 1]));
      if (!(error < best.error)) continue;
      best = (Limit){tableau[j][i], error};
    }
  }
  return best;
}

/// The largest distance from which on, towards the parameter, the sequence on a side is that right
/// beside it; 0: there is none.
static SltStatus settled_distance(Sens* s, int side, uint32_t measure, double* out,
                                  uint64_t* beside) {
  *out = 0.0;
  *beside = 0;
  for (uint32_t k = SENS_SEARCH; k-- > 0;) {
    Probe* probe = NULL;
    double h = s->options->reach * s->scale * pow(0.25, k);
    SLT_TRY(make_probe(s, h, side, &probe));
    uint64_t here = signature(s, probe, side, measure);
    if (k == SENS_SEARCH - 1) *beside = here;
    if (here == 0 || here != *beside) return SLT_OK;
    *out = h;
  }
  return SLT_OK;
}

/// The limit from distances of at most h; side 0: left, 1: right, 2: central.
static SltStatus limit_from(Sens* s, int side, uint32_t measure, double h, Limit* out) {
  double quotients[SENS_LEVELS];
  double f = s->nominal.values[0][measure];
  for (uint32_t i = 0; i < SENS_LEVELS; i++) {
    Probe* below = NULL;
    Probe* above = NULL;
    if (side != 1) SLT_TRY(make_probe(s, h, 0, &below));
    if (side != 0) SLT_TRY(make_probe(s, h, 1, &above));
    double left = below ? below->values[0][measure] : f;
    double right = above ? above->values[1][measure] : f;
    quotients[i] = (right - left) / (side == 2 ? 2.0 * h : h);
    h /= SENS_RATIO;
  }
  *out = extrapolate(quotients, SENS_LEVELS, side == 2 ? 2 : 1);
  return SLT_OK;
}

/// The same from ever smaller distances as long as that helps: near a singularity (a grazing event
/// on the other side) only those are of use that are smaller than the distance to it.
static SltStatus limit_of(Sens* s, int side, uint32_t measure, double h, Limit* out) {
  *out = (Limit){(double)NAN, HUGE_VAL};
  for (int i = 0; h > 0.0 && i < SENS_CLOSER; i++, h *= 0.0625) {
    Limit limit;
    SLT_TRY(limit_from(s, side, measure, h, &limit));
    if (limit.error < out->error) *out = limit;
    if (out->error <= SENS_GOOD * fabs(out->value)) break;
  }
  return SLT_OK;
}

/// Whether a limit is one: its error is small beside it, or beside what the measure itself is.
static bool is_settled(const Sens* s, const Limit* limit, double value) {
  if (isnan(limit->value)) return false;
  return limit->error <= SENS_SETTLED * fabs(limit->value) ||
         limit->error * s->scale <= 1e-8 * fabs(value);
}

// ---- verdicts -----------------------------------------------------------------------------------

static void judge(const Sens* s, const Limit sides[2], const Limit* central, bool same,
                  SltDerivative* out) {
  bool left = is_settled(s, &sides[0], out->value);
  bool right = is_settled(s, &sides[1], out->value);
  out->left = left ? sides[0].value : (double)NAN;
  out->right = right ? sides[1].value : (double)NAN;
  out->derivative = (double)NAN;
  out->error = fmax(left ? sides[0].error : 0.0, right ? sides[1].error : 0.0);
  double apart = fabs(sides[0].value - sides[1].value);
  double slack = SENS_AGREE * out->error +
                 SENS_SETTLED * 0.01 * fmax(fabs(sides[0].value), fabs(sides[1].value)) +
                 1e-8 * fabs(out->value) / s->scale;
  if (left && right && apart <= slack) {
    bool better = same && central->error < out->error;
    out->verdict = SLT_DERIVATIVE_EXISTS;
    out->derivative = better ? central->value : 0.5 * (sides[0].value + sides[1].value);
    if (better) out->error = central->error;
    return;
  }
  out->verdict = left || right ? SLT_DERIVATIVE_ONE_SIDED : SLT_DERIVATIVE_NONE;
  out->reason = left && right ? "left and right differ"
                : left        ? "there is none to the right"
                : right       ? "there is none to the left"
                              : "the differences do not settle: a grazing event, a jump, or noise";
}

static SltStatus differentiate(Sens* s, uint32_t measure) {
  Limit sides[2];
  Limit central = {(double)NAN, HUGE_VAL};
  double distance[2];
  uint64_t beside[2];
  for (int side = 0; side < 2; side++) {
    SLT_TRY(settled_distance(s, side, measure, &distance[side], &beside[side]));
    SLT_TRY(limit_of(s, side, measure, distance[side], &sides[side]));
  }
  bool same = beside[0] != 0 && beside[0] == beside[1];
  if (same) SLT_TRY(limit_of(s, 2, measure, fmin(distance[0], distance[1]), &central));
  SltDerivative out = {.measure = slt_measures_name(s->measures, measure),
                       .parameter = s->parameters[s->present].name,
                       .at = s->at[s->present],
                       .value = s->nominal.values[0][measure],
                       .changes_at = {s->changes_at[0], s->changes_at[1]}};
  if (isnan(out.value)) {
    out.verdict = SLT_DERIVATIVE_NONE;
    out.derivative = out.left = out.right = out.error = (double)NAN;
    out.reason = "the measure has no value";
  } else {
    judge(s, sides, &central, same, &out);
  }
  if (s->options->on_derivative) s->options->on_derivative(s->options->user, &out);
  return SLT_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

/// The value a constant has without being set.
static SltStatus own_value(const Sens* s, uint32_t i, double* out, SltProblem* problem) {
  SltSim* sim = NULL;
  SltQuantity q;
  SLT_TRY(slt_sim_create(s->model, &s->sim, &sim));
  SltStatus status = slt_sim_find(sim, s->parameters[i].bare, &q);
  if (status >= 0) status = slt_sim_start(sim);
  if (status >= 0) *out = slt_sim_get(sim, q);
  slt_sim_free(sim);
  if (status < 0) {
    return problem_set(problem, status, NULL, "the model does not start: %s",
                       slt_status_text(status));
  }
  return SLT_OK;
}

static SltStatus prepare(Sens* s, const char* const* names, const double* at, SltProblem* problem) {
  uint32_t measures = slt_measures_count(s->measures);
  s->parameters = calloc(s->count, sizeof *s->parameters);
  s->at = calloc(s->count, sizeof *s->at);
  s->given = calloc(s->count, sizeof *s->given);
  s->nominal.values[0] = calloc(measures + 1, sizeof(double));
  if (!s->parameters || !s->at || !s->given || !s->nominal.values[0]) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < s->count; i++) {
    SLT_TRY(parameter_find(s->model, str_from_c(names[i]), &s->parameters[i], problem));
    if (s->parameters[i].kind == PARAMETER_SEED) {
      return problem_set(problem, SLT_ERR_ARGUMENT, NULL, "nothing depends smoothly on a seed");
    }
    s->at[i] = at ? at[i] : (double)NAN;
    s->given[i] = !isnan(s->at[i]);
    if (isnan(s->at[i])) SLT_TRY(own_value(s, i, &s->at[i], problem));
  }
  return SLT_OK;
}

static SltStatus run_nominal(Sens* s, SltProblem* problem) {
  s->present = s->count;  // nobody moves
  SltStatus status = run_at(s, 0.0, s->nominal.values[0], &s->nominal.track[0]);
  s->nominal.status[0] = status;
  if (status >= 0) return SLT_OK;
  return problem_set(problem, status, "`saltus run` tells more", "the run itself fails: %s",
                     slt_status_text(status));
}

static SltStatus follow_parameter(Sens* s) {
  double at = s->at[s->present];
  s->scale = at != 0.0 ? fabs(at) : 1.0;
  for (int side = 0; side < 2; side++)
    SLT_TRY(find_change(s, side));
  for (uint32_t m = 0; m < slt_measures_count(s->measures); m++)
    SLT_TRY(differentiate(s, m));
  return SLT_OK;
}

SltStatus slt_sens_run(const SltModel* model, const SltMeasures* measures,
                       const char* const* parameters, const double* at, uint32_t count,
                       const SltSensOptions* options, SltProblem* problem) {
  if (!model || !measures || !parameters || !options || options->cookie != SENS_COOKIE) {
    return SLT_ERR_ARGUMENT;
  }
  if (problem) *problem = (SltProblem){{0}, {0}};
  Sens* s = calloc(1, sizeof *s);
  if (!s) return SLT_ERR_NOMEM;
  double end = slt_model_experiment(model).end;
  s->model = model;
  s->measures = measures;
  s->options = options;
  s->sim = options->sim;
  s->count = count;
  s->t_end = !isnan(options->t_end) ? options->t_end : isnan(end) ? 10.0 : end;
  if (isnan(s->sim.rtol)) s->sim.rtol = 1e-11;
  if (isnan(s->sim.atol)) s->sim.atol = 1e-14;
  SltStatus status = prepare(s, parameters, at, problem);
  if (status >= 0) status = run_nominal(s, problem);
  for (uint32_t i = 0; status >= 0 && i < count; i++) {
    s->present = i;
    status = follow_parameter(s);
    forget_probes(s);
  }
  for (uint32_t i = 0; s->parameters && i < count; i++)
    parameter_clear(&s->parameters[i]);
  forget_probes(s);
  free(s->parameters);
  free(s->at);
  free(s->given);
  free(s->nominal.values[0]);
  track_clear(&s->nominal.track[0]);
  free(s);
  return status;
}
