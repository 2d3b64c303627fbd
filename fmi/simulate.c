// SPDX-License-Identifier: MIT
//
// Model exchange: Dormand and Prince 5(4) with its dense output. Indicators of a foreign FMU can
// only be sampled: at the ends of steps and at points between them. An event is a change between z
// > 0 and z <= 0; it is located by bisection, which asks for signs alone and so takes indicators of
// any scale, and ends strictly on the new side.
#include "simulate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGES       7
#define SAMPLES      4     // of the indicators inside a step
#define STILL_EVENTS 1000  // without time going on
#define SAME         1e-6  // relative
#define PROBE_STEPS  50    // between two probes
#define JUMP         1e-3  // of its own size: an indicator that is no smaller beside its zero jumps

static const double nodes[STAGES] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
static const double weights[STAGES][STAGES - 1] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
static const double error_weights[STAGES] = {
    71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
static const double dense_weights[STAGES] = {
    -12715105075.0 / 11282082432.0,  0,
    87487479700.0 / 32700410799.0,   -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0};

typedef struct Solver {
  Foreign* f;
  const FmuRun* run;
  FmuSummary* summary;
  uint32_t n, m;
  double t, h, row_t;
  uint64_t row;   // number of the next row of the grid
  double* x;      // at the begin of the step
  double* end;    // at its end
  double* at;     // somewhere
  double* scale;  // largest magnitudes
  double* k[STAGES];
  double* z;  // domains are told from these
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

static void dense(const Solver* s, double h, double theta, double* out) {
  for (uint32_t i = 0; i < s->n; i++) {
    double change = s->end[i] - s->x[i];
    double r3 = h * s->k[0][i] - change;
    double r4 = change - h * s->k[6][i] - r3;
    double r5 = 0.0;
    for (int j = 0; j < STAGES; j++)
      r5 += dense_weights[j] * s->k[j][i];
    r5 *= h;
    out[i] = s->x[i] + theta * (change + (1.0 - theta) * (r3 + theta * (r4 + (1.0 - theta) * r5)));
  }
}

/// One trial; the error relative to the tolerance, infinite where the equations have no values.
static bool trial(Solver* s, double h, double* error) {
  *error = (double)INFINITY;
  for (int stage = 1; stage < STAGES; stage++) {
    for (uint32_t i = 0; i < s->n; i++) {
      double sum = 0.0;
      for (int j = 0; j < stage; j++)
        sum += weights[stage][j] * s->k[j][i];
      s->end[i] = s->x[i] + h * sum;
    }
    // a step that leaves all numbers is too long; the FMU need not see it
    if (!all_finite(s->end, s->n)) return true;
    if (!go(s, s->t + nodes[stage] * h, s->end)) return false;
    if (!foreign_derivatives(s->f, s->k[stage])) return false;
    if (!all_finite(s->k[stage], s->n)) return true;
  }
  double worst = 0.0;
  for (uint32_t i = 0; i < s->n; i++) {
    double e = 0.0;
    for (int j = 0; j < STAGES; j++)
      e += error_weights[j] * s->k[j][i];
    double size = fmax(fabs(s->x[i]), fabs(s->end[i]));
    double weight = s->run->tolerance * (size + 1e-3 * fmax(s->scale[i], size));
    if (weight > 0.0) worst = fmax(worst, fabs(h * e) / weight);
  }
  *error = worst;
  return true;
}

/// Whether stability bounds the step: two stages at its end differ by more than the method bears
/// (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.2).
static bool is_stiff(const Solver* s) {
  double rates = 0.0;
  double values = 0.0;
  for (uint32_t i = 0; i < s->n; i++) {
    double apart = 0.0;
    for (int j = 0; j < STAGES - 1; j++)
      apart += (weights[STAGES - 1][j] - weights[STAGES - 2][j]) * s->k[j][i];
    double size = fmax(s->scale[i], fmax(fabs(s->x[i]), fabs(s->end[i])));
    if (!(size > 0.0)) continue;
    double change = (s->k[STAGES - 1][i] - s->k[STAGES - 2][i]) / size;
    rates += change * change;
    values += (apart / size) * (apart / size);
  }
  return values > 0.0 && rates > 3.25 * 3.25 * values;
}

/// Indicators at a part of the step, and whether one of them lies in another domain than at its
/// begin.
static bool look(Solver* s, double h, double theta, bool* crossed, uint32_t* which) {
  dense(s, h, theta, s->at);
  if (!go(s, s->t + theta * h, s->at) || !foreign_indicators(s->f, s->z_at)) return false;
  *crossed = false;
  for (uint32_t i = 0; i < s->m && !*crossed; i++) {
    s->z_size[i] = fmax(s->z_size[i], fabs(s->z_at[i]));
    *crossed = (s->z[i] > 0.0) != (s->z_at[i] > 0.0);
    *which = i;
  }
  return true;
}

/// The first point found at which something has crossed: `theta` lies behind it, by rounding.
static bool locate(Solver* s, double h, double* theta, bool* found) {
  double low = 0.0;
  double high = 0.0;
  uint32_t which = 0;
  *found = false;
  for (int k = 1; k <= SAMPLES + 1 && !*found && s->m > 0; k++) {
    low = high;
    high = (double)k / (SAMPLES + 1);
    if (!look(s, h, high, found, &which)) return false;
  }
  if (!*found) return true;
  for (int turn = 0; turn < 200; turn++) {
    double middle = low + 0.5 * (high - low);
    double resolution = 2.0 * DBL_EPSILON * fmax(fabs(s->t), fabs(s->t + h));
    if ((high - low) * h <= resolution || middle <= low || middle >= high) break;
    bool crossed = false;
    if (!look(s, h, middle, &crossed, &which)) return false;
    *(crossed ? &high : &low) = middle;
  }
  bool again = false;
  if (!look(s, h, high, &again, &which)) return false;
  double beside = fabs(s->z_at[which]);
  if (again && beside > JUMP * s->z_size[which]) {
    s->summary->jumps = true;
    s->summary->jumping = which;
  }
  *theta = high;
  return true;
}

static bool row_at(Solver* s, double t) {
  s->row_t = t;
  return s->run->on_row(s->run->user, s->f, t) || fail(s->f, "the rows cannot be written", t);
}

/// Rows of the grid inside the part of a step that is kept.
static bool rows_inside(Solver* s, double h, double theta) {
  while (grid(s->run, s->row) < s->t + theta * h * (1.0 - 1e-12)) {
    double t = grid(s->run, s->row++);
    if (t <= s->row_t) continue;
    dense(s, h, fmin((t - s->t) / h, theta), s->at);
    if (!go(s, t, s->at) || !row_at(s, t)) return false;
  }
  return true;
}

/// Derivatives and indicators where the motion goes on.
static bool begin_motion(Solver* s) {
  if (!foreign_derivatives(s->f, s->k[0]) || !foreign_indicators(s->f, s->z)) return false;
  if (!all_finite(s->k[0], s->n)) return fail(s->f, "a derivative is not a finite number", s->t);
  for (uint32_t i = 0; i < s->m; i++) {
    if (isnan(s->z[i])) return fail(s->f, "an event indicator is not a number", s->t);
    s->z_size[i] = fmax(s->z_size[i], fabs(s->z[i]));
  }
  for (uint32_t i = 0; i < s->n; i++)
    s->scale[i] = fmax(s->scale[i], fabs(s->x[i]));
  return true;
}

static ForeignStatus handle_event(Solver* s) {
  bool changed = false;
  if (!row_at(s, s->t)) return FOREIGN_FAILED;
  s->summary->events++;
  if (++s->still > STILL_EVENTS) {
    fail(s->f, "events follow each other without time going on", s->t);
    return FOREIGN_FAILED;
  }
  if (!foreign_enter_event(s->f) || !set_inputs(s, s->t, true)) return FOREIGN_FAILED;
  ForeignStatus status = foreign_event(s->f, &changed);
  if (status == FOREIGN_FAILED) return status;
  if (status == FOREIGN_OK && changed && !foreign_states(s->f, s->x)) return FOREIGN_FAILED;
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

/// Beyond what equations that are solved by iteration may leave open.
static bool differs(double a, double b, double size) {
  return fabs(a - b) > SAME * size && !(isnan(a) && isnan(b));
}

/// Relations are frozen between events: at a point rates and indicators are the same whatever was
/// looked at in between. The values to compare with are those where the motion begins.
static bool probe_point(Solver* s) {
  double h = fmin(s->h, longest(s));
  for (uint32_t i = 0; i < s->n; i++)
    s->at[i] = s->x[i] + h * s->k[0][i];
  if (!go(s, s->t + h, s->at) || !foreign_derivatives(s->f, s->k[1]) ||
      !foreign_indicators(s->f, s->z_at) || !go(s, s->t, s->x) ||
      !foreign_derivatives(s->f, s->k[1]) || !foreign_indicators(s->f, s->z_at)) {
    return false;
  }
  for (uint32_t i = 0; i < s->n; i++)
    s->summary->remembers |= differs(s->k[0][i], s->k[1][i], fabs(s->k[0][i]));
  for (uint32_t i = 0; i < s->m; i++)
    s->summary->remembers |= differs(s->z[i], s->z_at[i], s->z_size[i]);
  return true;
}

/// Go away from the present point: a step of co-simulation, or a look at another one.
static bool go_away(Solver* s, double h) {
  double reached = 0.0;
  bool event = false;
  if (!s->f->exchange) return foreign_step(s->f, s->t, h, &reached, &event) != FOREIGN_FAILED;
  return go(s, s->t + h, s->x) && foreign_derivatives(s->f, s->k[1]);
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

/// Find a step that is accurate enough; its length in `h`.
static bool make_step(Solver* s, double* h) {
  double limit = longest(s);
  *h = fmin(s->h, limit);
  for (;;) {
    double error = 0.0;
    if (!trial(s, *h, &error)) return false;
    if (error <= 1.0) {
      s->summary->stiff += is_stiff(s);
      double factor = error > 0.0 ? 0.9 * pow(error, -0.2) : 5.0;
      if (*h >= s->h || factor < 1.0) s->h = *h * fmin(fmax(factor, 0.2), 5.0);
      return true;
    }
    double factor = isfinite(error) ? fmax(0.9 * pow(error, -0.2), 0.1) : 0.1;
    *h *= factor;
    s->h = *h;
    if (!(s->t + *h > s->t)) return fail(s->f, "the step became too short", s->t);
  }
}

static ForeignStatus advance(Solver* s) {
  double h = 0.0;
  double theta = 1.0;
  bool crossed = false;
  bool wanted = false;
  if (longest(s) > 0.0) {
    if (!make_step(s, &h) || !locate(s, h, &theta, &crossed)) return FOREIGN_FAILED;
    if (!rows_inside(s, h, theta)) return FOREIGN_FAILED;
    // the end of a whole step is a sum with no rounding of its own where a time is to be met
    bool meets = theta == 1.0 && h == longest(s);
    double t = meets ? step_end(s) : s->t + theta * h;
    if (theta == 1.0) {
      memcpy(s->at, s->end, s->n * sizeof(double));
    } else {
      dense(s, h, theta, s->at);
    }
    if (t > s->t) s->still = 0;
    s->t = t;
    memcpy(s->x, s->at, s->n * sizeof(double));
    if (!go(s, s->t, s->x)) return FOREIGN_FAILED;
    s->summary->steps++;
    ForeignStatus status = foreign_step_done(s->f, &wanted);
    if (status != FOREIGN_OK) return status;
  }
  bool jumps = pass_inputs(s, s->t);
  if (crossed || wanted || jumps || s->t >= s->f->next_event) {
    ForeignStatus status = handle_event(s);
    if (status != FOREIGN_OK) return status;
  }
  if (!begin_motion(s)) return FOREIGN_FAILED;
  bool probes = s->run->probe && s->summary->steps % PROBE_STEPS == 1 && longest(s) > 0.0;
  if (probes && (!probe_point(s) || !probe_state(s, fmin(s->h, longest(s))))) return FOREIGN_FAILED;
  return FOREIGN_OK;
}

static bool take_memory(Solver* s) {
  size_t n = s->n;
  size_t m = s->m;
  s->memory = calloc(n * (4 + STAGES) + 3 * m + 1, sizeof(double));
  if (!s->memory) return fail(s->f, "out of memory", s->t);
  double* at = s->memory;
  double** arrays[] = {&s->x, &s->end, &s->at, &s->scale};
  for (size_t i = 0; i < 4; i++, at += n)
    *arrays[i] = at;
  for (int i = 0; i < STAGES; i++, at += n)
    s->k[i] = at;
  s->z = at;
  s->z_at = at + m;
  s->z_size = at + 2 * m;
  return true;
}

static bool exchange(Solver* s) {
  bool changed = false;
  ForeignStatus status = foreign_event(s->f, &changed);
  if (status != FOREIGN_FAILED && !foreign_states(s->f, s->x)) status = FOREIGN_FAILED;
  if (status != FOREIGN_FAILED && (!row_at(s, s->t) || !begin_motion(s))) status = FOREIGN_FAILED;
  s->row = 1;
  s->h = (s->run->stop - s->run->start) * 1e-4;
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
  Solver s = {
      .f = foreign, .run = run, .summary = out, .t = run->start, .row_t = -(double)INFINITY};
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
  free(s.memory);
  free(s.u);
  return good;
}
