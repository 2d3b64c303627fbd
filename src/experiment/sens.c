// SPDX-License-Identifier: MIT
//
// Derivatives of measures by parameters: the run itself with all its derivatives, then for each
// parameter runs beside it, for the verdict and for the next change of the sequence of events.
#include "experiment/sens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SENS_COOKIE 0x51a17008u
#define SENS_BISECT 48
#define SENS_STEPS  200000  // after which a method of high order was the wrong one

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

static SltStatus set_others(const Sens* s, SltSim* sim) {
  for (uint32_t i = 0; i < s->options->setting_count; i++) {
    const SltOverride* setting = &s->options->settings[i];
    SLT_TRY(slt_sim_set_constant(sim, setting->name, setting->value));
  }
  return SLT_OK;
}

/// Set what is known of a run before its start.
static SltStatus set_parameters(const Sens* s, SltSim* sim, double value) {
  SLT_TRY(set_others(s, sim));
  for (uint32_t i = 0; i < s->count; i++) {
    bool moves = i == s->present || (s->direction && value != 0.0);
    double moved = s->direction ? s->at[i] + value * s->direction[i] : value;
    // what nobody has set keeps following the constants it is computed from
    if (!moves && !s->given[i]) continue;
    SLT_TRY(parameter_set(&s->parameters[i], sim, moves ? moved : s->at[i]));
  }
  return SLT_OK;
}

/// Derivatives along the direction in which all parameters move, from those by each of them.
static void project_rows(const Sens* s, const double* all, double* rows) {
  for (uint32_t m = 0; m < slt_measures_count(s->measures); m++) {
    rows[m] = 0.0;
    for (uint32_t i = 0; i < s->count; i++)
      rows[m] += all[(size_t)m * s->count + i] * s->direction[i];
  }
}

/// A run that is followed backwards, moved by `value` along the direction.
static SltStatus follow_back(Sens* s, SltSim* sim, double value, double* values, Track* track,
                             double* rows) {
  bool nominal = value == 0.0;
  size_t size = (size_t)slt_measures_count(s->measures) * s->count;
  double* all = nominal ? rows : calloc(size + 1, sizeof *all);
  const char* gap = NULL;
  if (!all) return SLT_ERR_NOMEM;
  SlopeRows out = {all, nominal ? s->sizes : NULL, &gap, true};
  SltStatus status = measures_follow_slopes(s->measures, sim, s->t_end, s->parameters, s->count,
                                            values, track, &out);
  if (nominal) {
    s->gap = gap;
    return status;
  }
  if (status >= 0) project_rows(s, all, rows);
  free(all);
  return status;
}

/// A run with one parameter moved to `value`; `rows`: with derivatives, else NULL.
static SltStatus run_once(Sens* s, const SltSimOptions* options, double value, double* values,
                          Track* track, double* rows) {
  SltSim* sim = NULL;
  track_clear(track);
  SLT_TRY(slt_sim_create(s->model, options, &sim));
  SltStatus status = set_parameters(s, sim, value);
  slt_sim_on_step(sim, ask_cancel, s);
  slt_sim_on_round(sim, ask_cancel, s);
  bool all = s->present == s->count;
  if (status >= 0 && rows && s->direction) {
    status = follow_back(s, sim, value, values, track, rows);
  } else if (status >= 0 && rows) {
    const char* gap = NULL;
    status = measures_follow_slopes(
        s->measures, sim, s->t_end, &s->parameters[all ? 0 : s->present], all ? s->count : 1,
        values, track, &(SlopeRows){rows, all ? s->sizes : NULL, &gap, false});
    if (all) s->gap = gap;
  } else if (status >= 0) {
    status = measures_follow(s->measures, sim, s->t_end, values, track, NULL);
  }
  if (status < 0 && all) problem_set_run(&s->failure, sim, status, "the run itself fails");
  slt_sim_free(sim);
  return status;
}

/// Tolerances are tight: a method of high order unless the model, or the user, has another, or it
/// turns out to be stiff.
static SltStatus run_at(Sens* s, double value, double* values, Track* track, double* rows) {
  SltSimOptions options = s->sim;
  const char* own = slt_model_experiment(s->model).method;
  bool free_choice = !options.method && (!own || !own[0]);
  if (free_choice && !s->stiff) {
    options.method = "dop853";
    if (options.max_steps == 0) options.max_steps = SENS_STEPS;
    SltStatus status = run_once(s, &options, value, values, track, rows);
    bool nominal = s->present == s->count && value == 0.0;
    bool ends = status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM;
    if (status >= 0 || ends || !nominal) return status;
    s->stiff = true;
  }
  return run_once(s, &s->sim, value, values, track, rows);
}

static SltStatus make_probe(Sens* s, double h, int side, bool slopes, Probe** out) {
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
  if (probe->made[side] && (!slopes || probe->slopes[side])) return SLT_OK;
  uint32_t count = slt_measures_count(s->measures);
  if (!probe->values[side]) probe->values[side] = calloc(count + 1, sizeof(double));
  if (slopes) probe->slopes[side] = calloc(count + 1, sizeof(double));
  if (!probe->values[side] || (slopes && !probe->slopes[side])) return SLT_ERR_NOMEM;
  double at = s->direction ? 0.0 : s->at[s->present];
  double value = at + (side ? h : -h);
  SltStatus status =
      run_at(s, value, probe->values[side], &probe->track[side], probe->slopes[side]);
  if (status == SLT_ERR_CANCELLED || status == SLT_ERR_NOMEM) return status;
  probe->status[side] = status;
  probe->made[side] = true;
  return SLT_OK;
}

SltStatus sens_probe(Sens* s, double h, int side, Probe** out) {
  return make_probe(s, h, side, false, out);
}

SltStatus sens_slope_probe(Sens* s, double h, int side, Probe** out) {
  return make_probe(s, h, side, true, out);
}

static void forget_probes(Sens* s) {
  for (uint32_t i = 0; i < s->probe_count; i++) {
    for (int side = 0; side < 2; side++) {
      free(s->probes[i].values[side]);
      free(s->probes[i].slopes[side]);
      track_clear(&s->probes[i].track[side]);
    }
    s->probes[i] = (Probe){0};
  }
  s->probe_count = 0;
}

// ---- sequences of events ------------------------------------------------------------------------

uint64_t sens_signature(const Sens* s, const Probe* probe, int side, uint32_t measure) {
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
    status = run_at(s, value, probe.values[0], &probe.track[0], NULL);
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
    double h = s->options->reach * s->scale * base_pow(0.25, k);
    SLT_TRY(sens_probe(s, h, side, &probe));
    if (whole_signature(probe, side) == wanted) {
      return isnan(other) ? SLT_OK : locate_change(s, side, h, other, wanted, &s->changes_at[side]);
    }
    other = h;
  }
  return locate_change(s, side, 0.0, other, wanted, &s->changes_at[side]);
}

static SltStatus differentiate(Sens* s, uint32_t measure) {
  SltDerivative out = {.measure = slt_measures_name(s->measures, measure),
                       .parameter = s->parameters[s->present].name,
                       .at = s->at[s->present],
                       .value = s->nominal.values[0][measure],
                       .changes_at = {s->changes_at[0], s->changes_at[1]}};
  bool found = isnan(out.value);
  if (found) {
    out.verdict = SLT_DERIVATIVE_NONE;
    out.derivative = out.left = out.right = out.error = (double)NAN;
    out.reason = "the measure has no value";
  } else if (!s->options->differences) {
    double slope = s->nominal.slopes[0][(size_t)measure * s->count + s->present];
    SLT_TRY(sens_along(s, measure, slope, &out, &found));
  }
  if (!found) {
    out.by_differences = s->options->differences ? "asked for"
                         : s->gap                ? s->gap
                                                 : "the measure is not differentiated along a run";
    SLT_TRY(sens_by_differences(s, measure, &out));
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
  if (status >= 0) status = set_others(s, sim);
  if (status >= 0) status = slt_sim_start(sim);
  if (status >= 0) *out = slt_sim_get(sim, q);
  if (status < 0) problem_set_run(problem, sim, status, "the model does not start");
  slt_sim_free(sim);
  return status < 0 ? status : SLT_OK;
}

static SltStatus prepare(Sens* s, const char* const* names, const double* at, SltProblem* problem) {
  uint32_t measures = slt_measures_count(s->measures);
  s->parameters = calloc(s->count, sizeof *s->parameters);
  s->at = calloc(s->count, sizeof *s->at);
  s->given = calloc(s->count, sizeof *s->given);
  s->nominal.values[0] = calloc(measures + 1, sizeof(double));
  s->nominal.slopes[0] = calloc((size_t)measures * s->count + 1, sizeof(double));
  s->sizes = calloc(measures + 1, sizeof(double));
  bool good = s->parameters && s->at && s->given && s->nominal.values[0] && s->nominal.slopes[0];
  good &= s->sizes != NULL;
  if (!good) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < s->count; i++) {
    SLT_TRY(parameter_find_next(s->model, names[i], s->parameters, i, problem));
    s->at[i] = at ? at[i] : (double)NAN;
    s->given[i] = !isnan(s->at[i]);
    if (isnan(s->at[i])) SLT_TRY(own_value(s, i, &s->at[i], problem));
  }
  return SLT_OK;
}

static SltStatus run_nominal(Sens* s, SltProblem* problem) {
  s->present = s->count;  // nobody moves
  SltStatus status =
      run_at(s, 0.0, s->nominal.values[0], &s->nominal.track[0], s->nominal.slopes[0]);
  s->nominal.status[0] = status;
  if (status >= 0) return SLT_OK;
  if (problem) *problem = s->failure;
  return status;
}

/// What counts as much of a parameter: its own size, and for one that is 0, as much as changes a
/// measure by its size.
static double parameter_scale(const Sens* s) {
  double scale = fabs(s->at[s->present]);
  if (scale > 0.0) return scale;
  for (uint32_t m = 0; m < slt_measures_count(s->measures); m++) {
    double slope = fabs(s->nominal.slopes[0][(size_t)m * s->count + s->present]);
    double own = s->sizes[m] / slope;
    if (isfinite(own) && own > 0.0 && (scale == 0.0 || own < scale)) scale = own;
  }
  return scale > 0.0 ? scale : 1.0;
}

// ---- backwards ----------------------------------------------------------------------------------

/// All parameters move, each by its own size, no two of them alike: an event that grazes or ties
/// shows itself whichever of them it depends on.
static void choose_direction(Sens* s) {
  for (uint32_t i = 0; i < s->count; i++) {
    double turn = 0.618033988749895 * (i + 1);
    double size = 0.5 + (turn - floor(turn));
    double scale = fabs(s->at[i]);
    s->direction[i] = (i % 2 ? -size : size) * (scale > 0.0 ? scale : 1.0);
  }
}

/// One verdict for all parameters, from runs beside them; false: another way has to be gone.
static SltStatus judge_together(Sens* s, SltDerivative* verdicts, bool* good) {
  uint32_t measures = slt_measures_count(s->measures);
  double* along = calloc(measures + 1, sizeof *along);
  if (!along) return SLT_ERR_NOMEM;
  project_rows(s, s->nominal.slopes[0], along);
  SltStatus status = SLT_OK;
  s->scale = 1.0;
  for (uint32_t m = 0; status >= 0 && *good && m < measures; m++) {
    bool found = false;
    status = sens_along(s, m, along[m], &verdicts[m], &found);
    *good = found && verdicts[m].verdict == SLT_DERIVATIVE_EXISTS;
  }
  free(along);
  return status;
}

/// What was found backwards, with the error that the common direction has.
static void give_all(const Sens* s, const SltDerivative* verdicts) {
  uint32_t measures = slt_measures_count(s->measures);
  for (uint32_t i = 0; i < s->count; i++) {
    for (uint32_t m = 0; m < measures; m++) {
      double slope = s->nominal.slopes[0][(size_t)m * s->count + i];
      SltDerivative out = {.measure = slt_measures_name(s->measures, m),
                           .parameter = s->parameters[i].name,
                           .at = s->at[i],
                           .value = s->nominal.values[0][m],
                           .derivative = slope,
                           .left = slope,
                           .right = slope,
                           .error = verdicts[m].error / fabs(s->direction[i]),
                           .verdict = SLT_DERIVATIVE_EXISTS,
                           .changes_at = {(double)NAN, (double)NAN}};
      if (s->options->on_derivative) s->options->on_derivative(s->options->user, &out);
    }
  }
}

/// `done` false: something is not differentiated backwards, or has no derivative.
static SltStatus follow_together(Sens* s, SltProblem* problem, bool* done) {
  uint32_t measures = slt_measures_count(s->measures);
  SltDerivative* verdicts = calloc(measures + 1, sizeof *verdicts);
  s->direction = calloc(s->count + 1, sizeof *s->direction);
  SltStatus status = verdicts && s->direction ? SLT_OK : SLT_ERR_NOMEM;
  if (status >= 0) {
    choose_direction(s);
    status = run_nominal(s, problem);
  }
  *done = status >= 0 && !s->gap;
  if (*done) status = judge_together(s, verdicts, done);
  if (status >= 0 && *done) give_all(s, verdicts);
  forget_probes(s);
  free(verdicts);
  free(s->direction);
  s->direction = NULL;
  return status;
}

static SltStatus follow_parameter(Sens* s) {
  s->scale = parameter_scale(s);
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
  if (problem) *problem = (SltProblem){.message = ""};
  SLT_TRY(parameter_some(count, problem));
  Sens* s = calloc(1, sizeof *s);
  if (!s) return SLT_ERR_NOMEM;
  double end = slt_model_experiment(model).end;
  s->model = model;
  s->measures = measures;
  s->options = options;
  s->sim = options->sim;
  s->count = count;
  s->t_end = !isnan(options->t_end) ? options->t_end : isnan(end) ? 10.0 : end;
  slt_sim_options_tighten(model, 1e-12, &s->sim);
  SltStatus status = prepare(s, parameters, at, problem);
  bool done = false;
  if (status >= 0 && options->adjoint) status = follow_together(s, problem, &done);
  if (status >= 0 && !done) status = run_nominal(s, problem);
  for (uint32_t i = 0; status >= 0 && !done && i < count; i++) {
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
  free(s->nominal.slopes[0]);
  free(s->sizes);
  track_clear(&s->nominal.track[0]);
  free(s);
  return status;
}
