// SPDX-License-Identifier: MIT
//
// Model exchange: the steps are those of the library's own methods, explicit ones and, where the
// motion turns out to be stiff, linearly implicit ones. Indicators of a foreign FMU can only be
// sampled: at the ends of steps and at points between them. An event is a change between z > 0 and
// z <= 0; it is located by bisection, which asks for signs alone and so takes indicators of any
// scale, and ends strictly on the new side.
#include "simulate.h"

#include "numeric/numeric.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES      4     // of the indicators inside a step
#define STILL_EVENTS 1000  // without time going on
#define STILL        64.0  // roundings of the time that count as none
#define SAME         1e-6  // relative
#define PROBE_STEPS  50    // between two probes
#define PROBE_STATES 50    // whose derivatives are looked at
#define JUMP         1e-3  // of its own size: an indicator that is no smaller beside its zero jumps
#define STIFF_STEPS  10    // suspicious steps in a row after which an implicit method takes over
#define EASY_STEPS   25    // steps in a row that an explicit one could have made, and does again
#define EASY_PRODUCT 2.5   // step times bound of the eigenvalues that it can take
#define STATES_MAX   1000  // of a motion whose Jacobian is taken by differences

typedef struct Solver {
  Foreign* f;
  const FmuRun* run;
  FmuSummary* summary;
  uint32_t n, m;
  double t, row_t;
  double event_t;  // time of the last event
  uint64_t row;    // number of the next row of the grid
  NumStepper* stepper;
  void* storage;  // of the stepper
  NumLinear* linear;
  uint32_t stiff_steps, easy_steps;
  bool broken;  // the FMU has failed within a step
  double* x;    // where the motion begins anew, or goes on
  double* at;   // somewhere
  double* rates;
  double* work;  // for the Jacobian
  double* z;     // domains are told from these
  double* z_at;
  double* z_size;  // largest magnitudes
  double* u;       // inputs
  double* memory;
  uint32_t still;
  uint32_t input_row;  // where the present stretch of the inputs begins
} Solver;

// ---- inputs -------------------------------------------------------------------------------------

static bool is_held(const FmuItem* item) {
  return item->held || item->type != FMU_REAL;
}

/// The stretch of the inputs from `row` on, at time t. `held`: those too that may be set at the
/// start and in events alone.
static bool set_inputs(Solver* s, double t, bool held) {
  const FmuInputs* in = s->run->inputs;
  uint32_t row = s->input_row;
  for (uint32_t i = 0; in && i < in->count; i++) {
    const double* v = in->columns[i];
    s->u[i] = v[row];
    if (!is_held(in->items[i]) && row + 1 < in->row_count && t > in->time[row]) {
      double part = (t - in->time[row]) / (in->time[row + 1] - in->time[row]);
      s->u[i] = part < 1.0 ? v[row] + part * (v[row + 1] - v[row]) : v[row + 1];
    }
  }
  return !in || foreign_set(s->f, in->items, s->u, in->count, held);
}

static double next_input(const Solver* s) {
  const FmuInputs* in = s->run->inputs;
  return in && s->input_row + 1 < in->row_count ? in->time[s->input_row + 1] : (double)INFINITY;
}

/// Time has come to t: go on to the stretch that begins there; whether something jumps.
static bool pass_inputs(Solver* s, double t) {
  const FmuInputs* in = s->run->inputs;
  bool jumps = false;
  for (; next_input(s) <= t; s->input_row++) {
    uint32_t row = s->input_row;
    bool at_once = in->time[row] == in->time[row + 1];
    for (uint32_t i = 0; i < in->count; i++) {
      bool differs = in->columns[i][row] != in->columns[i][row + 1];
      jumps |= differs && (at_once || is_held(in->items[i]));
    }
  }
  return jumps;
}

/// Tell the FMU a point, and the inputs there.
static bool go(Solver* s, double t, const double* x) {
  return foreign_set_point(s->f, t, x) && set_inputs(s, t, false);
}

static bool fail(Foreign* f, const char* text, double t) {
  if (!f->problem[0]) snprintf(f->problem, sizeof f->problem, "%s at t = %.9g", text, t);
  return false;
}

static double grid(const FmuRun* run, uint64_t k) {
  return run->start + (double)k * run->every;
}

static bool all_finite(const double* v, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (!isfinite(v[i])) return false;
  }
  return true;
}

// ---- rates --------------------------------------------------------------------------------------

/// A motion without states is one of nothing: the methods have something to step with.
static uint32_t size_of(const Solver* s) {
  return s->n ? s->n : 1;
}

static SltStatus get_rates(void* user, double t, const double* x, double* rates) {
  Solver* s = user;
  // a step that leaves all numbers is too long; the FMU need not see it
  if (s->broken || !all_finite(x, s->n)) return SLT_ERR_NOT_FINITE;
  rates[0] = 0.0;
  s->broken = !go(s, t, x) || !foreign_derivatives(s->f, rates);
  return s->broken || !all_finite(rates, s->n) ? SLT_ERR_NOT_FINITE : SLT_OK;
}

static void tame(double* values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) values[i] = 0.0;
  }
}

/// The Jacobian by differences: directional derivatives of an FMU need not be right.
static SltStatus linearize(void* user, double t, double* x, double* f, double* values, double* ft,
                           bool* timed) {
  Solver* s = user;
  const NumStepper* stepper = s->stepper;
  SLT_TRY(get_rates(s, t, x, f));
  double* scale = s->work;
  for (uint32_t i = 0; i < s->n; i++)
    scale[i] = fmax(1e-3 * stepper->scales.value[i], fabs(f[i]) * stepper->control.h_next);
  *timed = true;
  SLT_TRY(num_linear_differences(s->linear, get_rates, s, t, x, f, scale, stepper->control.h_next,
                                 s->work + s->n, ft));
  tame(values, (size_t)s->n * s->n);
  tame(ft, s->n);
  return SLT_OK;
}

static bool use_method(Solver* s, const char* name) {
  if (!s->linear) {
    SltAllocator usual = base_allocator(NULL);
    if (num_linear_create_full(&usual, s->n, &s->linear) < 0) {
      return fail(s->f, "out of memory", s->t);
    }
  }
  NumSystem system = {.linear = s->linear, .linearize = linearize, .user = s};
  num_stepper_switch(s->stepper, num_method_find(str_from_c(name)));
  num_stepper_set_system(s->stepper, &system);
  s->stiff_steps = s->easy_steps = 0;
  return true;
}

/// After a step: the method for the next ones.
static bool choose_method(Solver* s) {
  const NumStepper* stepper = s->stepper;
  if (s->n == 0 || s->n > STATES_MAX) return true;
  if (stepper->method->stiff) {
    double product = stepper->trial.h * num_linear_bound(s->linear, stepper->scales.value);
    s->summary->implicit++;
    s->easy_steps = product <= EASY_PRODUCT ? s->easy_steps + 1 : 0;
    return s->easy_steps < EASY_STEPS || use_method(s, "dp54");
  }
  s->stiff_steps = stepper->control.stiff_suspected ? s->stiff_steps + 1 : 0;
  return s->stiff_steps < STIFF_STEPS || use_method(s, "rodas5");
}

// ---- events -------------------------------------------------------------------------------------

/// Indicators at a time of the step, and whether one of them lies in another domain than at its
/// begin.
static bool look(Solver* s, double t, bool* crossed, uint32_t* which) {
  num_dense_eval(s->stepper, t, s->at);
  if (!go(s, t, s->at) || !foreign_indicators(s->f, s->z_at)) return false;
  *crossed = false;
  for (uint32_t i = 0; i < s->m && !*crossed; i++) {
    s->z_size[i] = fmax(s->z_size[i], fabs(s->z_at[i]));
    *crossed = (s->z[i] > 0.0) != (s->z_at[i] > 0.0);
    *which = i;
  }
  return true;
}

/// The first time found at which something has crossed: it lies behind the crossing, by rounding.
static bool locate(Solver* s, double* t, bool* found) {
  const NumTrial* trial = &s->stepper->trial;
  double low = trial->t0;
  double high = trial->t0;
  uint32_t which = 0;
  *found = false;
  for (int k = 1; k <= SAMPLES + 1 && !*found && s->m > 0; k++) {
    low = high;
    high = k <= SAMPLES ? trial->t0 + trial->h * (double)k / (SAMPLES + 1) : trial->t;
    if (!look(s, high, found, &which)) return false;
  }
  if (!*found) return true;
  double resolution = 2.0 * DBL_EPSILON * fmax(fabs(trial->t0), fabs(trial->t));
  for (double middle = low; high - low > resolution;) {
    bool crossed = false;
    middle = low + 0.5 * (high - low);
    if (middle <= low || middle >= high) break;
    if (!look(s, middle, &crossed, &which)) return false;
    *(crossed ? &high : &low) = middle;
  }
  bool again = false;
  if (!look(s, high, &again, &which)) return false;
  double beside = fabs(s->z_at[which]);
  if (again && beside > JUMP * s->z_size[which]) {
    s->summary->jumps = true;
    s->summary->jumping = which;
  }
  *t = high;
  return true;
}

static bool row_at(Solver* s, double t) {
  s->row_t = t;
  return s->run->on_row(s->run->user, s->f, t) || fail(s->f, "the rows cannot be written", t);
}

/// Rows of the grid inside the part of a step that is kept.
static bool rows_inside(Solver* s, double end) {
  while (grid(s->run, s->row) < end - 1e-12 * (end - s->t)) {
    double t = grid(s->run, s->row++);
    if (t <= s->row_t) continue;
    num_dense_eval(s->stepper, t, s->at);
    if (!go(s, t, s->at) || !row_at(s, t)) return false;
  }
  return true;
}

/// Name of the first state for which `values` has no finite number.
static bool fail_state(Solver* s, const char* what, const double* values) {
  char text[300];
  uint32_t i = 0;
  while (i + 1 < s->n && isfinite(values[i]))
    i++;
  const FmuItem* state = s->f->d->states && i < s->f->d->state_count ? s->f->d->states[i] : NULL;
  snprintf(text, sizeof text, "%s%s%.200s is not a finite number", what, state ? " " : "",
           state ? state->name : "");
  return fail(s->f, text, s->t);
}

static bool get_states(Solver* s) {
  if (!foreign_states(s->f, s->x)) return false;
  return all_finite(s->x, s->n) || fail_state(s, "the state", s->x);
}

/// Indicators where the motion goes on.
static bool take_indicators(Solver* s) {
  if (!foreign_indicators(s->f, s->z)) return false;
  for (uint32_t i = 0; i < s->m; i++) {
    if (isnan(s->z[i])) return fail(s->f, "an event indicator is not a number", s->t);
    s->z_size[i] = fmax(s->z_size[i], fabs(s->z[i]));
  }
  return true;
}

/// The motion begins anew: rates may be others, though states are not.
static bool begin_motion(Solver* s) {
  NumSystem system = s->stepper->system;
  if (!foreign_derivatives(s->f, s->rates)) return false;
  if (!all_finite(s->rates, s->n)) return fail_state(s, "the derivative of the state", s->rates);
  num_stepper_restart(s->stepper, s->t, size_of(s), s->x, s->rates);
  if (system.linear) num_stepper_set_system(s->stepper, &system);
  return take_indicators(s);
}

/// Beyond what equations that are solved by iteration may leave open.
static bool differs(double a, double b, double size) {
  return fabs(a - b) > SAME * size && !(isnan(a) && isnan(b));
}

/// After an event that is said to have changed no states: importers go on with those they had.
static bool hears_changes(Solver* s) {
  if (s->n == 0) return true;
  if (!foreign_states(s->f, s->at)) return false;
  for (uint32_t i = 0; i < s->n; i++)
    s->summary->unsaid |= differs(s->x[i], s->at[i], fabs(s->x[i]));
  return true;
}

static ForeignStatus handle_event(Solver* s) {
  bool changed = false;
  if (!row_at(s, s->t)) return FOREIGN_FAILED;
  s->summary->events++;
  if (s->t - s->event_t > STILL * DBL_EPSILON * fabs(s->t)) s->still = 0;
  s->event_t = s->t;
  if (++s->still > STILL_EVENTS) {
    fail(s->f, "events follow each other without time going on", s->t);
    return FOREIGN_FAILED;
  }
  if (!foreign_enter_event(s->f) || !set_inputs(s, s->t, true)) return FOREIGN_FAILED;
  ForeignStatus status = foreign_event(s->f, &changed);
  if (status == FOREIGN_FAILED) return status;
  if (status == FOREIGN_OK && changed && !get_states(s)) return FOREIGN_FAILED;
  if (status == FOREIGN_OK && !changed && !hears_changes(s)) return FOREIGN_FAILED;
  if (!row_at(s, s->t)) return FOREIGN_FAILED;
  return status;
}

/// Where a step has to end: at the end, at a time event, where an input turns or jumps.
static double step_end(const Solver* s) {
  return fmin(fmin(s->run->stop, s->f->next_event), next_input(s));
}

/// The longest step that may be tried.
static double longest(const Solver* s) {
  return fmax(step_end(s) - s->t, 0.0);
}

// ---- probing ------------------------------------------------------------------------------------

/// Bits of all single numbers of the FMU.
static bool hash_values(Foreign* f, uint64_t* hash) {
  *hash = 14695981039346656037u;
  double values[1024];
  uint32_t room = sizeof values / sizeof *values;
  for (uint32_t i = 0; i < f->d->count; i += room) {
    uint32_t count = f->d->count - i < room ? f->d->count - i : room;
    if (!foreign_get(f, f->d->by_reference + i, count, values)) return false;
    for (uint32_t k = 0; k < count; k++) {
      uint64_t bits = 0;
      memcpy(&bits, &values[k], sizeof bits);
      *hash = (*hash ^ bits) * 1099511628211u;
    }
  }
  return true;
}

/// Relations are frozen between events: at a point rates and indicators are the same whatever was
/// looked at in between. The values to compare with are those where the motion begins.
static bool probe_point(Solver* s, double h) {
  double* again = s->work;
  for (uint32_t i = 0; i < s->n; i++)
    s->at[i] = s->x[i] + h * s->rates[i];
  if (!go(s, s->t + h, s->at) || !foreign_derivatives(s->f, again) ||
      !foreign_indicators(s->f, s->z_at) || !go(s, s->t, s->x) ||
      !foreign_derivatives(s->f, again) || !foreign_indicators(s->f, s->z_at)) {
    return false;
  }
  for (uint32_t i = 0; i < s->n; i++)
    s->summary->remembers |= differs(s->rates[i], again[i], fabs(s->rates[i]));
  for (uint32_t i = 0; i < s->m; i++)
    s->summary->remembers |= differs(s->z[i], s->z_at[i], s->z_size[i]);
  return true;
}

/// Rates where state i lies further by about `reach` of its size, and how far it does.
static bool rates_beside(Solver* s, uint32_t i, double reach, double* rates, double* step) {
  memcpy(s->at, s->x, s->n * sizeof *s->at);
  s->at[i] += reach * fmax(fabs(s->x[i]), s->stepper->scales.value[i]);
  *step = s->at[i] - s->x[i];
  return go(s, s->t, s->at) && foreign_derivatives(s->f, rates) && go(s, s->t, s->x);
}

/// Derivatives that the FMU gives are those of its rates, as differences show them.
static bool probe_slopes(Solver* s) {
  const FmuDescription* d = s->f->d;
  double* near = s->work;
  double* said = near + s->n;
  double* far = said + s->n;
  if (!d->directional || !d->states || d->state_count != s->n) return true;
  for (uint32_t i = 0; i < s->n && i < PROBE_STATES; i++) {
    double step[2] = {0.0, 0.0};
    if (!rates_beside(s, i, FOREIGN_FAR * FOREIGN_NEAR, far, &step[1]) ||
        !rates_beside(s, i, FOREIGN_NEAR, near, &step[0])) {
      return false;
    }
    if (!(step[0] > 0.0)) continue;
    if (!foreign_direction(s->f, d->states[i], NULL, 0, said)) return false;
    for (uint32_t k = 0; k < s->n; k++) {
      double change[2] = {near[k] - s->rates[k], far[k] - s->rates[k]};
      s->summary->slopes |= foreign_belied(said[k], s->rates[k], change, step);
    }
  }
  return true;
}

/// Go away from the present point: a step of co-simulation, or a look at another one.
static bool go_away(Solver* s, double h) {
  double reached = 0.0;
  bool event = false;
  if (!s->f->exchange) return foreign_step(s->f, s->t, h, &reached, &event) != FOREIGN_FAILED;
  for (uint32_t i = 0; i < s->n; i++)
    s->at[i] = s->x[i] + h * s->rates[i];
  return go(s, s->t + h, s->at) && foreign_derivatives(s->f, s->work);
}

/// A state that is kept and put back: the values are what they were, and so is what follows.
static bool probe_state(Solver* s, double h) {
  const FmuDescription* d = s->f->d;
  if (!(s->f->exchange ? d->me_states : d->cs_states)) return true;
  uint64_t before = 0;
  uint64_t back = 0;
  uint64_t away = 0;
  uint64_t again = 0;
  void* state = NULL;
  s->f->returns = true;
  bool good = foreign_keep(s->f, &state) && hash_values(s->f, &before) && go_away(s, h) &&
              hash_values(s->f, &away) && foreign_put_back(s->f, state) &&
              hash_values(s->f, &back) && go_away(s, h) && hash_values(s->f, &again) &&
              foreign_put_back(s->f, state);
  s->f->returns = false;
  if (state) foreign_drop(s->f, &state);
  s->summary->forgets |= good && (before != back || away != again);
  return good;
}

// ---- steps --------------------------------------------------------------------------------------

/// No step is short enough.
static bool fail_step(Solver* s, bool finite) {
  if (s->broken) return false;
  return fail(s->f, finite ? "the step became too short" : "it gives no finite values any more",
              s->t);
}

/// Find a step that is accurate enough.
static bool make_step(Solver* s) {
  NumStepper* stepper = s->stepper;
  double end = step_end(s);
  for (;;) {
    double h = stepper->control.h_next;
    double left = end - s->t;
    // two equal steps instead of one and a crumb
    double target = h >= left ? end : s->t + (h > 0.5 * left ? 0.5 * left : h);
    if (!(target > s->t)) return fail_step(s, true);
    SltStatus status = num_stepper_attempt(stepper, target);
    bool good = status >= 0 && stepper->trial.error <= 1.0;
    if (good && num_dense_prepare(stepper) >= 0) return !s->broken;
    if (s->broken || num_stepper_reject(stepper) < 0) return fail_step(s, status >= 0);
  }
}

/// The step up to `t`, where something has happened or the step ends.
static bool take_step(Solver* s, double t) {
  NumStepper* stepper = s->stepper;
  if (t < stepper->trial.t) {
    if (num_stepper_accept_until(stepper, t) < 0) return fail_step(s, false);
  } else {
    num_stepper_accept(stepper);
  }
  s->t = stepper->t;
  memcpy(s->x, stepper->x, s->n * sizeof(double));
  s->summary->steps++;
  s->summary->stiff += stepper->control.stiff_suspected;
  return choose_method(s) && go(s, s->t, s->x);
}

static bool probe(Solver* s) {
  const double* rates = NULL;
  double h = fmin(s->stepper->control.h_next, longest(s));
  if (num_stepper_derivative(s->stepper, &rates) < 0) return false;
  memcpy(s->rates, rates, s->n * sizeof(double));
  return probe_point(s, h) && probe_slopes(s) && probe_state(s, h) && go(s, s->t, s->x);
}

static ForeignStatus advance(Solver* s) {
  bool crossed = false;
  bool wanted = false;
  if (longest(s) > 0.0) {
    if (!make_step(s)) return FOREIGN_FAILED;
    double t = s->stepper->trial.t;
    if (!locate(s, &t, &crossed) || !rows_inside(s, t) || !take_step(s, t)) return FOREIGN_FAILED;
    ForeignStatus status = foreign_step_done(s->f, &wanted);
    if (status != FOREIGN_OK) return status;
  }
  bool jumps = pass_inputs(s, s->t);
  bool event = crossed || wanted || jumps || s->t >= s->f->next_event;
  if (event) {
    ForeignStatus status = handle_event(s);
    if (status != FOREIGN_OK) return status;
  }
  if (!(event ? begin_motion(s) : take_indicators(s))) return FOREIGN_FAILED;
  bool probes = s->run->probe && s->summary->steps % PROBE_STEPS == 1 && longest(s) > 0.0;
  return probes && !probe(s) ? FOREIGN_FAILED : FOREIGN_OK;
}

/// Memory, and a stepper with room for both methods.
static bool take_memory(Solver* s) {
  size_t n = size_of(s);
  size_t m = s->m;
  const NumMethod* method = num_method_find(STR_LIT("dp54"));
  const NumMethod* implicit = num_method_find(STR_LIT("rodas5"));
  NumOptions options = num_options();
  options.rtol = s->run->tolerance;
  options.atol = 0.0;
  options.by_scale = true;
  options.norm = NUM_NORM_MAX;
  // indicators are looked at between the rows that are asked for, however smooth the motion is
  options.h_max = m ? s->run->every : 0.0;
  size_t size = num_stepper_size(method, (uint32_t)n);
  size_t other = num_stepper_size(implicit, (uint32_t)n);
  s->memory = calloc(7 * n + 3 * m + 1, sizeof(double));
  s->storage = calloc(1, size > other ? size : other);
  if (!s->memory || !s->storage) return fail(s->f, "out of memory", s->t);
  if (num_stepper_init(s->storage, method, (uint32_t)n, &options, &s->stepper) < 0) {
    return fail(s->f, "the tolerance must lie between 0 and 1", s->t);
  }
  num_stepper_set_rhs(s->stepper, get_rates, s);
  double* at = s->memory;
  s->x = at;
  s->at = at += n;
  s->rates = at += n;
  s->work = at += n;  // 3 n
  s->z = at += 4 * n;
  s->z_at = at += m;
  s->z_size = at + m;
  return true;
}

/// The first step.
static bool start_motion(Solver* s) {
  for (uint32_t i = 0; i < s->n; i++)
    s->at[i] = fabs(s->x[i]);
  num_stepper_set_scales(s->stepper, size_of(s), s->at, NULL);
  num_stepper_start(s->stepper, s->t, size_of(s), s->x, NULL);
  if (!begin_motion(s)) return false;
  if (num_stepper_choose_h(s->stepper, step_end(s), s->run->stop - s->run->start) < 0)
    return fail_step(s, false);
  return go(s, s->t, s->x);
}

static bool exchange(Solver* s) {
  bool changed = false;
  ForeignStatus status = foreign_event(s->f, &changed);
  if (status != FOREIGN_FAILED && (!get_states(s) || !row_at(s, s->t))) status = FOREIGN_FAILED;
  if (status == FOREIGN_OK && !start_motion(s)) status = FOREIGN_FAILED;
  s->row = 1;
  while (status == FOREIGN_OK && s->t < s->run->stop)
    status = advance(s);
  s->summary->t = s->t;
  if (status == FOREIGN_FAILED) return false;
  s->summary->ended = status == FOREIGN_ENDED;
  for (uint32_t i = 0; i < s->m; i++) {
    s->summary->most = fmax(s->summary->most, s->z_size[i]);
    s->summary->least = i ? fmin(s->summary->least, s->z_size[i]) : s->z_size[i];
  }
  return s->row_t >= s->t || row_at(s, s->t);
}

/// Inputs for the communication interval that begins: those that jump are an event where the FMU
/// has such.
static ForeignStatus feed(Solver* s) {
  bool jumps = pass_inputs(s, s->t);
  if (jumps && s->f->events) return handle_event(s);
  return set_inputs(s, s->t, !s->f->events) ? FOREIGN_OK : FOREIGN_FAILED;
}

static ForeignStatus step_once(Solver* s, double target) {
  double reached = 0.0;
  bool event = false;
  ForeignStatus status = foreign_step(s->f, s->t, target - s->t, &reached, &event);
  if (status == FOREIGN_FAILED) return status;
  s->summary->steps++;
  if (!isfinite(reached) || reached < s->t || reached > target) reached = target;
  if (reached > s->t) s->still = 0;
  bool stuck = !(reached > s->t) && !event && status == FOREIGN_OK;
  s->t = reached;
  if (stuck && ++s->still > STILL_EVENTS) {
    fail(s->f, "its steps do not get on", s->t);
    return FOREIGN_FAILED;
  }
  return event && status == FOREIGN_OK ? handle_event(s) : status;
}

static bool co_simulate(Solver* s) {
  bool changed = false;
  ForeignStatus status = s->f->events ? foreign_event(s->f, &changed) : FOREIGN_OK;
  if (status != FOREIGN_FAILED && !row_at(s, s->t)) status = FOREIGN_FAILED;
  for (s->row = 1; status == FOREIGN_OK && s->t < s->run->stop; s->row++) {
    double target = grid(s->run, s->row);
    if (target > s->run->stop * (1.0 - 1e-12) || target >= s->run->stop) target = s->run->stop;
    if (s->run->inputs) status = feed(s);
    bool probes = status == FOREIGN_OK && s->run->probe && s->row % PROBE_STEPS == 1;
    if (probes && !probe_state(s, target - s->t)) status = FOREIGN_FAILED;
    while (status == FOREIGN_OK && s->t < target)
      status = step_once(s, target);
    if (status != FOREIGN_FAILED && s->row_t < s->t && !row_at(s, s->t)) status = FOREIGN_FAILED;
  }
  s->summary->t = s->t;
  s->summary->ended = status == FOREIGN_ENDED;
  return status != FOREIGN_FAILED;
}

static bool prepare(Foreign* f, void* user) {
  Solver* s = user;
  const FmuRun* run = s->run;
  for (uint32_t i = 0; i < run->setting_count; i++) {
    const FmuSetting* setting = &run->settings[i];
    if (!foreign_set(f, &setting->item, &setting->value, 1, true)) return false;
  }
  pass_inputs(s, run->start);
  return set_inputs(s, run->start, true);
}

bool fmu_simulate(Foreign* foreign, const FmuRun* run, FmuSummary* out) {
  *out = (FmuSummary){.t = run->start};
  Solver s = {.f = foreign,
              .run = run,
              .summary = out,
              .t = run->start,
              .row_t = -(double)INFINITY,
              .event_t = -(double)INFINITY};
  if (run->early) {
    double reached = 0.0;
    bool event = false;
    foreign->quiet = true;
    out->early = foreign->exchange ? foreign_enter_event(foreign)
                                   : foreign_step(foreign, run->start, run->every, &reached,
                                                  &event) == FOREIGN_OK;
    foreign->problem[0] = '\0';
    return true;
  }
  s.u = calloc(run->inputs ? run->inputs->count + 1u : 1u, sizeof *s.u);
  bool good =
      s.u && foreign_initialize(foreign, run->start, run->stop, run->tolerance, prepare, &s);
  if (!s.u) fail(foreign, "out of memory", run->start);
  s.n = foreign->states;
  s.m = foreign->indicators;
  if (good) good = foreign->exchange ? take_memory(&s) && exchange(&s) : co_simulate(&s);
  num_linear_free(s.linear);
  free(s.storage);
  free(s.memory);
  free(s.u);
  return good;
}
