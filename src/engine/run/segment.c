// SPDX-License-Identifier: MIT
//
// Segments: pieces of continuous motion. A segment is a trial step of the integrator, or the part
// of one up to the first event. It is only committed when time passes its end, so whatever is asked
// inside it is answered from dense output and changes nothing.
#include "engine/run/run.h"

#include <float.h>
#include <math.h>

#define LANDING           1.01  // a step that ends this close to a time event lands on it
#define FAILURE_REDUCTION 0.25
#define SMALLEST          16.0   // roundings of the time that a step has to move it by
#define NUDGE             4e-12  // of the time or the step: nudge of a motion without values ahead
#define NUDGE_GROWTH      16.0   // ... longer where rounding hides so short a way
#define NUDGE_TRIALS      3
#define IDLE_SHARE        0.125    // of the way to the next boundary, where there are no states
#define FAR               0x1p900  // a step that nothing limits
#define QUIET_SHORTEST    (-300)   // exponents of times looked at there
#define QUIET_STEPS       64       // halvings of the experiment to begin with
#define QUIET_LONGEST     900

/// Trials of one step: bounds beside the integrator's own proposal.
typedef struct Attempt {
  double bound;         // from failed trials
  uint32_t overshoots;  // of a unilateral boundary
  uint32_t aims;        // trials that were to end just before a boundary
  uint32_t lags;        // trials that read too much of a past
  SltStatus failure;    // why the last trial was given up, SLT_OK if it was not
  bool raised;          // weights have been compared with rounding
  bool arrived;         // the model has no values ahead: the trial is a drift to an event
  bool drifted;         // ... or to a point from which it has
} Attempt;

static double smallest_step(const EngSim* sim) {
  if (sim->options.h_min > 0.0) return sim->options.h_min;
  return fmax(SMALLEST * DBL_EPSILON * fabs(sim->stepper->t), DBL_MIN);
}

/// A time over which the motion hardly goes on, but farther than rounding.
static double boundary_nudge(const EngSim* sim) {
  const NumStepper* stepper = sim->stepper;
  double h = fmax(stepper->control.h_next, stepper->h_wanted);
  return fmax(NUDGE * fmax(fabs(stepper->t), h), smallest_step(sim));
}

/// Whether g of every relation keeps its sign and its size, about, up to a time ahead.
static bool stays_until(EngSim* sim, double t) {
  eng_evaluate_g(sim, t, false);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    double g = sim->atoms[sim->core.mode->atoms[i]].g;
    if (!(fabs(sim->detect.g[i] - g) <= 0.5 * fabs(g))) return false;
  }
  return true;
}

/// A power of two over which no relation changes much, where slopes tell nothing; from below, since
/// what comes and goes (cos(time)) is back where it was at some later times.
static double quiet_time(EngSim* sim) {
  double span = eng_horizon(sim);
  int last = span > 0.0 ? ilogb(span) : QUIET_LONGEST;
  int power = span > 0.0 ? last - QUIET_STEPS : QUIET_SHORTEST;
  while (power < last && stays_until(sim, sim->stepper->t + ldexp(1.0, power + 1))) {
    power++;
  }
  return ldexp(1.0, power);
}

/// Without states nothing moves but time. Relations are looked at over steps that grow, beginning
/// with part of the way to the next boundary.
static double idle_step(EngSim* sim) {
  double before = sim->core.step.idle;
  if (sim->active.indicator_count == 0) return FAR;
  // all that waits is known: no need to look
  if (sim->core.calendar.t_last > sim->core.t) {
    return fmin(fmax(sim->core.calendar.t_last - sim->core.t, 2.0 * before), FAR);
  }
  double way = eng_next_boundary(sim);
  if (!isfinite(way)) way = before > 0.0 ? 0.0 : quiet_time(sim);
  // where a slope all but vanishes its boundary seems to be beyond the run
  if (eng_horizon(sim) > 0.0) way = fmin(way, eng_horizon(sim));
  return fmin(fmax(IDLE_SHARE * way, 2.0 * before), FAR);
}

uint32_t eng_fastest_state(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  uint32_t fastest = mode->state_env[0];
  double most = -1.0;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    uint32_t env = mode->state_env[i];
    double speed = fabs(sim->env[env + 1]) / eng_state_weight(sim, i, sim->env[env]);
    if (!(speed > most)) continue;
    most = speed;
    fastest = env;
  }
  return fastest;
}

#define AHEAD_TRIES 24  // steps, each four times as long as the one before

/// Look a little ahead, along the tangent, for a value that is not finite. The values of now are
/// back in their places afterwards.
static const ModelVar* find_ahead(EngSim* sim, bool* derivative, EngCulprit* culprit) {
  const ModelMode* mode = sim->core.mode;
  const ModelVar* lost = NULL;
  double* now = sim->probe.x;
  double* rate = sim->probe.flow;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    now[i] = sim->env[mode->state_env[i]];
    rate[i] = sim->env[mode->state_env[i] + 1];
  }
  double h = smallest_step(sim);
  for (uint32_t k = 0; k < AHEAD_TRIES && !lost; k++, h *= 4.0) {
    for (uint32_t i = 0; i < mode->state_count; i++)
      sim->env[mode->state_env[i]] = now[i] + h * rate[i];
    eng_bind(sim);
    eng_evaluate_full(sim, sim->core.t + h);
    lost = eng_not_finite(sim, derivative);
  }
  if (lost) *culprit = eng_culprit(sim, sim->core.t + h / 4.0, &lost->span);
  eng_place_states(sim, now);
  eng_bind(sim);
  eng_evaluate_full(sim, sim->core.t);
  return lost;
}

static SltStatus tell_failure(EngSim* sim, SltStatus cause) {
  bool derivative = false;
  sim->core.t = sim->stepper->t;
  eng_bind(sim);
  eng_evaluate_full(sim, sim->core.t);
  if (eng_fail_solve(sim) || eng_fail_drift(sim)) return sim->error.status;
  const ModelVar* lost = eng_not_finite(sim, &derivative);
  EngNumber t = eng_number(sim->core.t);
  if (lost) {
    EngCulprit culprit = eng_culprit(sim, sim->core.t, &lost->span);
    eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0802, &culprit.span,
             "at t = %s %s '%.*s' is not a finite number%s", t.text,
             derivative ? "the derivative of" : "the value of", STR_ARGS(lost->name), culprit.text);
    return eng_hint(sim,
                    "look for a division by zero, a root or logarithm of a negative number, or a "
                    "solution that grows without bound; a unilateral event keeps a model from "
                    "leaving the region where it is defined");
  }
  if (cause == SLT_ERR_NOT_FINITE) {
    EngCulprit culprit = {.text = ""};
    lost = find_ahead(sim, &derivative, &culprit);
    eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0802, lost ? &culprit.span : NULL,
             "just after t = %s the model gives no finite values%s", t.text, culprit.text);
    return eng_hint(sim,
                    "the solution grows without bound, or leaves the region where the model is "
                    "defined; a unilateral event can stop it at the boundary");
  }
  uint32_t order = 0;
  uint32_t env = eng_fastest_state(sim);
  const ModelVar* var = eng_var_at(sim, env, &order);
  eng_fail(sim, SLT_ERR_STEP, DIAG_E0801, var ? &var->span : NULL,
           "at t = %s the step size fell below %s and still misses the tolerance; '%.*s%.*s' moves "
           "fastest, it is %s and changes at a rate of %s",
           t.text, eng_number(eng_rounded(smallest_step(sim), 2.0)).text,
           STR_ARGS(var ? var->name : STR_LIT("")), (int)order, "''''''''",
           eng_number(eng_rounded(sim->env[env], 3.0)).text,
           eng_number(eng_rounded(sim->env[env + 1], 3.0)).text);
  return eng_hint(sim,
                  "the solution may be singular or discontinuous here without an event to say so; "
                  "try a larger --rtol, or a smaller --hmin");
}

/// What failed is told without chords; values are what they were with them.
static SltStatus fail_step(EngSim* sim, SltStatus cause) {
  uint32_t chords = sim->core.step.chords;
  eng_chords_use(sim, 0);
  SltStatus status = tell_failure(sim, cause);
  eng_chords_use(sim, chords);
  if (chords) eng_evaluate_full(sim, sim->core.t);
  return status;
}

/// Where the next trial should end, and whether extrapolation decided it.
static double choose_target(EngSim* sim, const Attempt* attempt, double limit) {
  NumStepper* stepper = sim->stepper;
  double t = stepper->t;
  double h = stepper->method->adaptive ? stepper->control.h_next : sim->options.step;
  if (sim->core.mode->state_count == 0) h = idle_step(sim);
  if (sim->options.h_max > 0.0) h = fmin(h, sim->options.h_max);
  if (sim->core.local.bound > 0.0) h = fmin(h, sim->core.local.bound);
  double extrapolated =
      ENG_UNLIKELY(sim->detect.extrapolates) ? eng_extrapolate_slow(sim) : (double)INFINITY;
  bool bounded = extrapolated < h || attempt->bound < h;
  h = fmin(h, fmin(extrapolated, attempt->bound));
  h = fmax(h, smallest_step(sim));
  double landing = bounded ? h : LANDING * h;
  if (t + landing >= limit) return limit;
  double target = t + h;
  // a crossing that is passed lies inside the step or at its end, not within rounding of that
  const double passed[] = {sim->core.calendar.t_passing, sim->core.calendar.t_last};
  for (size_t i = 0; i < SLT_COUNT(passed); i++) {
    if (passed[i] > target - (LANDING - 1.0) * h && passed[i] <= t + landing) return passed[i];
  }
  return target > t ? target : nextafter(t, (double)INFINITY);
}

/// The model has no values just ahead. Where a relation changes there, that is its event: the
/// motion drifts over the boundary along its tangent, which asks for no values beyond.
/// (sqrt(abs(x)) at x = 0 has none with either branch on the wrong side.)
static bool drifts_to_event(EngSim* sim) {
  double nudge = boundary_nudge(sim);
  for (uint32_t i = 0; i < NUDGE_TRIALS; i++, nudge *= NUDGE_GROWTH) {
    double target = fmin(sim->stepper->t + nudge, eng_queue_next(sim));
    if (num_stepper_drift(sim->stepper, target, NULL) >= 0 && eng_detect_drift(sim)) return true;
  }
  return false;
}

/// The equations just entered have no values at the present point, but may have them just ahead.
static bool drifts_into_region(EngSim* sim) {
  if (!sim->core.step.nudged) return false;
  sim->core.step.nudged = false;
  double target = fmin(sim->stepper->t + boundary_nudge(sim), eng_queue_next(sim));
  return num_stepper_drift(sim->stepper, target, sim->values.tangent) >= 0;
}

/// The motion is followed to where events accumulate, past the events that do; `found`: others come
/// before.
static SltStatus drift_to_limit(EngSim* sim, bool* found) {
  double target = fmin(sim->core.step.limit, eng_queue_next(sim));
  SLT_TRY(num_stepper_drift(sim->stepper, target, sim->values.tangent));
  return eng_detect(sim, sim->stepper->t, found);
}

/// Stages of a step have no values, however short it is, but the tangent leads to a point that has:
/// a rod that has always been at zero is heated, one cell more in each step.
static bool drifts_off(EngSim* sim) {
  NumStepper* stepper = sim->stepper;
  double target = stepper->t + boundary_nudge(sim);
  const EngStep* step = &sim->core.step;
  if (step->chords || step->drifts > stepper->n || target >= eng_queue_next(sim)) return false;
  if (num_stepper_drift(stepper, target, NULL) < 0) return false;
  sim->core.step.drifts++;
  return eng_rhs(sim, target, stepper->trial.x, sim->probe.flow) >= 0 &&
         eng_all_finite(sim->probe.flow, stepper->n);
}

/// The trial cannot be used: try again with a smaller step, if there is a relation whose boundary
/// may be the reason then with one that ends just before it.
static SltStatus shrink(EngSim* sim, Attempt* attempt, double h, double factor, SltStatus cause) {
  static const double aims[] = {1.0 - 1e-6, 0.98};
  attempt->failure = cause;
  if (cause != SLT_ERR_STEP && eng_chords_begin(sim)) return SLT_OK;
  double bound = h * factor;
  if (cause == SLT_ERR_NOT_FINITE) {
    double distance = eng_next_boundary(sim);
    double aimed = bound;
    if (distance < h && attempt->aims < 2) aimed = distance * aims[attempt->aims++];
    if (aimed < boundary_nudge(sim) && drifts_to_event(sim)) {
      attempt->arrived = true;
      return SLT_OK;
    }
    attempt->drifted = aimed < boundary_nudge(sim) && drifts_off(sim);
    if (attempt->drifted) return SLT_OK;
    if (aimed >= smallest_step(sim)) bound = aimed;
  }
  attempt->bound = bound;
  return bound >= smallest_step(sim) ? SLT_OK : fail_step(sim, cause);
}

static SltStatus try_step(EngSim* sim, Attempt* attempt, double limit) {
  NumStepper* stepper = sim->stepper;
  double target = choose_target(sim, attempt, limit);
  double h = target - stepper->t;
  attempt->failure = SLT_OK;
  sim->dae.failed = MODEL_NONE;
  eng_choose_stages(sim);
  SltStatus status = num_stepper_attempt(stepper, target);
  if (status < 0) {
    double factor = status == SLT_ERR_STEP ? sim->options.gamma / 2.0 : FAILURE_REDUCTION;
    return shrink(sim, attempt, h, factor, status);
  }
  if (stepper->method->adaptive && sim->core.mode->state_count > 0 &&
      !(stepper->trial.error <= 1.0)) {
    attempt->failure = SLT_ERR_STEP;
    if (stepper->control.after_rejection && !attempt->raised) {
      attempt->raised = true;
      if (eng_scales_raise(sim)) return SLT_OK;
    }
    if (eng_chords_begin(sim)) return SLT_OK;
    // the integrator's own proposal rules from here on
    if (num_stepper_reject(stepper) < 0 || stepper->control.h_next < smallest_step(sim)) {
      return fail_step(sim, SLT_ERR_STEP);
    }
    return SLT_OK;
  }
  if (ENG_UNLIKELY(sim->core.mode->implicit)) {
    status = eng_project_trial(sim);
    if (status >= 0) status = eng_check_trial(sim);
    if (status < 0) return shrink(sim, attempt, h, FAILURE_REDUCTION, status);
  }
  bool overshoots = sim->detect.has_unilateral && attempt->overshoots < ENG_UNILATERAL_RETRIES;
  if (overshoots && eng_beyond_boundary(sim, stepper->trial.t, stepper->trial.x)) {
    attempt->overshoots++;
    return shrink(sim, attempt, h, sim->options.gamma / 2.0, SLT_ERR_STEP);
  }
  double usable = sim->history.delays ? eng_history_usable_slow(sim, attempt->lags++) : 1.0;
  if (usable < 1.0) return shrink(sim, attempt, h, usable, SLT_ERR_STEP);
  return SLT_OK;
}

double eng_span(const EngSim* sim) {
  double span = sim->options.t_end - sim->options.t_start;
  return span > 0.0 ? span : (double)INFINITY;
}

double eng_horizon(const EngSim* sim) {
  double span = eng_span(sim);
  if (!isfinite(span)) span = sim->motion.t_stop - sim->core.t;
  return isfinite(span) ? span : 0.0;
}

static SltStatus first_step_size(EngSim* sim, double limit) {
  NumStepper* stepper = sim->stepper;
  if (stepper->control.h_next > 0.0 || sim->core.mode->state_count == 0) return SLT_OK;
  if (!stepper->method->adaptive) return SLT_OK;
  stepper->control.h_next = sim->options.h0;
  if (sim->options.h0 > 0.0) return SLT_OK;
  SltStatus status = eng_is_held(sim)
                         ? num_stepper_choose_h_held(stepper, limit, eng_span(sim), eng_free_flow)
                         : num_stepper_choose_h(stepper, limit, eng_span(sim));
  return status < 0 ? fail_step(sim, SLT_OK) : SLT_OK;
}

/// Draw the motion to its surfaces within a few steps. Steps that have to be shorter for this very
/// attraction do not make it stronger.
static void set_attraction(EngSim* sim) {
  EngCore* core = &sim->core;
  if (!(sim->stepper->control.h_next > 0.0)) return;
  double rate = 1.0 / fmax(sim->stepper->control.h_next, smallest_step(sim));
  bool weaker = core->step.attraction > 0.0 && !core->contact.active;
  core->step.attraction = weaker ? fmin(core->step.attraction, rate) : rate;
  core->slide.stiffness = 0.5 * core->step.attraction;
  core->contact.stiffness = 0.25 * rate;
  if (ENG_UNLIKELY(core->contact.active)) eng_contact_soften(sim);
}

static double trial_limit(EngSim* sim) {
  double limit = fmin(eng_dwell_end(sim), sim->core.calendar.t_linear);
  if (!(sim->local && eng_local_takes_next(sim))) limit = fmin(limit, eng_queue_next(sim));
  return sim->history.delays ? fmin(limit, eng_history_limit_slow(sim)) : limit;
}

/// Events tend to come at similar distances: a first step far beyond the last one sees nothing of a
/// motion that is small beside it. Where times are all that is waited for nothing moves.
static Attempt first_attempt(const EngSim* sim) {
  bool moves = sim->core.mode->state_count > 0 || !(sim->core.calendar.t_last > sim->core.t);
  double bound = moves ? sim->core.step.first_bound : 0.0;
  return (Attempt){.bound = bound > 0.0 ? bound : (double)INFINITY};
}

bool eng_trial_ahead(EngSim* sim, EngTrialAhead* out) {
  const EngCore* core = &sim->core;
  bool goes_on = core->started && !core->failed && !core->ended && !core->touched &&
                 !core->leaves && !core->segment.valid && !core->segment.trial_pending;
  bool plain = goes_on && eng_is_plain(sim) && !core->mode->implicit && !core->local.running &&
               !sim->foreign && sim->model->delay_count == 0 && !core->step.nudged &&
               !core->step.chords;
  if (!plain || !num_ahead_possible(sim->stepper) || !(sim->stepper->control.h_next > 0.0)) {
    return false;
  }
  Attempt attempt = first_attempt(sim);
  *out = (EngTrialAhead){.mode = core->mode,
                         .context = &sim->values.flow_context,
                         .regs = sim->programs.rhs,
                         .stepper = sim->stepper,
                         .target = choose_target(sim, &attempt, trial_limit(sim))};
  return out->target > sim->stepper->t;
}

/// The step is made again, up to where detection wants to look.
static void bound_attempt(EngSim* sim, Attempt* attempt) {
  attempt->bound = sim->core.t_event - sim->stepper->t;
  // a run as old as this does not move in far longer steps
  double longest = fmax(attempt->bound, sim->stepper->t - sim->options.t_start);
  sim->stepper->control.h_next = fmin(sim->stepper->control.h_next, longest);
}

static SltStatus check_steps(EngSim* sim) {
  uint64_t most = sim->options.max_steps;
  if (!most || sim->stepper->counters.steps < most) return SLT_OK;
  return eng_fail(sim, SLT_ERR_LIMIT, DIAG_E0806, NULL, "the limit of %s steps is reached",
                  eng_number((double)most).text);
}

static void note_trial(EngSim* sim) {
  sim->core.step.drifts = 0;
  if (sim->core.mode->state_count == 0) sim->core.step.idle = sim->stepper->trial.h;
  eng_stiff_note_trial(sim);
}

/// A trial that is accurate enough and, with its dense output, usable.
static SltStatus new_trial(EngSim* sim, bool* found) {
  double limit = trial_limit(sim);
  Attempt attempt = first_attempt(sim);
  sim->core.step.first_bound = 0.0;
  sim->core.step.blurred = 0.0;
  sim->detect.last_place = sim->stepper->t;
  SLT_TRY(eng_stiff_prepare(sim));
  if (ENG_UNLIKELY(sim->core.step.chords)) SLT_TRY(eng_chords_prepare_slow(sim));
  SLT_TRY(first_step_size(sim, limit));
  set_attraction(sim);
  eng_scales_hold(sim);
  for (;;) {
    SLT_TRY(check_steps(sim));
    SLT_TRY(try_step(sim, &attempt, limit));
    if (attempt.failure < 0 && !attempt.arrived && !attempt.drifted) {
      if (attempt.failure != SLT_ERR_STEP) limit = fmin(limit, eng_queue_next(sim));
      continue;
    }
    *found = attempt.arrived;
    if (attempt.arrived || attempt.drifted) return SLT_OK;
    note_trial(sim);
    bool beyond = ENG_UNLIKELY(sim->core.step.chords) && !eng_chords_reach(sim);
    SltStatus status = eng_detect(sim, sim->stepper->t, found);
    if (status >= 0 && (*found || !beyond)) return SLT_OK;
    if (status >= 0) status = SLT_ERR_NOT_FINITE;
    if (sim->error.status < 0) return status;
    if (status == SLT_ERR_STEP) {
      bound_attempt(sim, &attempt);
      continue;
    }
    double h = sim->stepper->trial.h;
    SLT_TRY(shrink(sim, &attempt, h, FAILURE_REDUCTION, status));
    *found = attempt.arrived;
    if (attempt.arrived || attempt.drifted) return SLT_OK;
  }
}

SltStatus eng_next_segment(EngSim* sim) {
  EngCore* core = &sim->core;
  sim->values.sampled = false;
  bool found = false;
  bool local = ENG_UNLIKELY(sim->core.local.running) && eng_local_next_slow(sim);
  if (local) {
    // the next crossing of this trial has been found already
  } else if (core->segment.trial_pending) {
    // an event that changed nothing lies behind us: the rest of the trial is still good
    eng_local_settle_active(sim);
    SLT_TRY(eng_detect(sim, core->t, &found));
  } else {
    eng_local_settle_active(sim);
    if (ENG_UNLIKELY(core->step.to_limit)) {
      SLT_TRY(drift_to_limit(sim, &found));
    } else if (!drifts_into_region(sim)) {
      SLT_TRY(new_trial(sim, &found));
    }
    core->segment.trial_pending = true;
    local = ENG_UNLIKELY(core->local.running) && eng_local_next_slow(sim);
  }
  double due = fmin(eng_queue_next(sim), eng_dwell_end(sim));
  double end = found ? core->t_event : sim->stepper->trial.t;
  if (!local) {
    core->segment.t0 = core->t;
    core->segment.t1 = fmin(end, due);
    core->segment.event = found && end - due <= num_time_resolution(end);
  }
  core->segment.whole = core->segment.t1 == sim->stepper->trial.t;
  core->segment.due = due <= core->segment.t1;
  core->segment.valid = true;
  return eng_foreign_check(sim);  // a block that has failed tells of no motion
}
