// SPDX-License-Identifier: MIT
//
// Measures of one run. The run is followed stretch by stretch; inside of one every quantity is
// smooth and can be looked at anywhere, so extrema and integrals are those of the motion itself.
#include "experiment/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double measuring_span(const Measuring* m, const Reading* reading) {
  return fmin(slt_sim_time(m->sim), reading->to) - fmax(m->t_start, reading->from);
}

void measuring_read(Measuring* m, const Reading* reading, bool before) {
  for (uint32_t i = 0; i < reading->leaf_count; i++) {
    uint32_t leaf = reading->leaves[i];
    SltQuantity q = m->measures->quantities[leaf];
    m->quantities[leaf] = before ? slt_sim_get_before(m->sim, q) : slt_sim_get(m->sim, q);
  }
}

double measuring_signal(Measuring* m, const Reading* reading, bool before) {
  measuring_read(m, reading, before);
  return formula_value(&reading->signal, m->quantities);
}

// ---- points -------------------------------------------------------------------------------------

/// Whether the value is the extremum so far.
static bool take_extremum(ReadingState* state, ReadingKind kind, double value) {
  bool better = kind == READING_MAX ? value > state->value : value < state->value;
  better |= isnan(state->value);
  if (better) state->value = value;
  return better;
}

/// The values of the run as they are at a point, or were just before the instant there.
static void take_point(Measuring* m, double t, SltWhen when) {
  bool before = when == SLT_WHEN_BEFORE;
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    ReadingState* state = &m->states[i];
    bool signal = reading->kind == READING_AT || reading->kind == READING_END;
    if (m->slopes && signal) {
      state->scale = fmax(state->scale, fabs(measuring_signal(m, reading, before)));
    }
    bool here = (reading->kind == READING_AT && t == reading->number) ||
                (reading->kind == READING_START && t == m->t_start);
    here &= !before;
    if (here) state->value = measuring_signal(m, reading, false);
    bool extremum = reading->kind == READING_MAX || reading->kind == READING_MIN;
    if (extremum && t >= reading->from && t <= reading->to) {
      here = take_extremum(state, reading->kind, measuring_signal(m, reading, before));
    }
    if (!here || !m->slopes) continue;
    // a reading at a time of its own stays there when the instant moves
    slopes_take(m, i, reading->kind == READING_AT ? SLT_WHEN_NOW : when);
  }
}

// ---- stretches ----------------------------------------------------------------------------------

/// The last time inside the stretch for one that rounding has taken to its end.
static double inside(const Measuring* m, double t) {
  return t < m->until ? t : nextafter(m->until, -HUGE_VAL);
}

SltStatus measuring_look(Measuring* m, double t) {
  return slt_sim_look(m->sim, inside(m, t));
}

/// The signal of the present reading at times inside the stretch: a CurveFn.
static SltStatus look_values(void* user, const double* times, uint32_t count, double* values) {
  Measuring* m = user;
  const Reading* reading = &m->measures->readings[m->reading];
  double t[CURVE_POINTS];
  for (uint32_t i = 0; i < count; i++)
    t[i] = inside(m, times[i]);
  for (uint32_t k = 0; k < reading->leaf_count; k++)
    m->wanted[k] = m->measures->quantities[reading->leaves[k]];
  bool plain = reading->signal.count == 1 && reading->leaf_count == 1;
  double* courses = plain ? values : m->courses;
  SLT_TRY(slt_sim_course(m->sim, m->wanted, reading->leaf_count, t, count, courses));
  if (plain) return SLT_OK;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < reading->leaf_count; k++)
      m->quantities[reading->leaves[k]] = courses[k * count + i];
    values[i] = formula_value(&reading->signal, m->quantities);
  }
  return SLT_OK;
}

/// What is read at a time inside the stretch is the value of the reading so far, with its slopes.
static SltStatus take_slopes(Measuring* m, double t) {
  if (!m->slopes) return SLT_OK;
  SLT_TRY(measuring_look(m, t));
  slopes_take(m, m->reading, SLT_WHEN_NOW);
  return SLT_OK;
}

/// A value inside the stretch may be the extremum.
static SltStatus take_candidate(Measuring* m, double t) {
  const Reading* reading = &m->measures->readings[m->reading];
  double value = 0.0;
  SLT_TRY(look_values(m, &t, 1, &value));
  bool better = take_extremum(&m->states[m->reading], reading->kind, value);
  return better ? take_slopes(m, t) : SLT_OK;
}

// Of what a piece leaves out at a kink or a jump, some four times as much as its last coefficients.
#define LEFT_OUT 10.0

/// Whether some value of a piece may be beyond the extremum so far.
static bool may_be_extremum(void* user, const CurvePiece* piece, double tail) {
  const Measuring* m = user;
  double spread = curve_spread(piece) + LEFT_OUT * tail;
  double so_far = m->states[m->reading].value;
  bool largest = m->measures->readings[m->reading].kind == READING_MAX;
  bool below = largest ? piece->c[0] + spread <= so_far : piece->c[0] - spread >= so_far;
  return !below;
}

/// Extrema inside of a piece; the ends are points of the run.
static SltStatus take_turns(Measuring* m, const CurvePiece* piece) {
  double times[CURVE_POINTS];
  if (!may_be_extremum(m, piece, 0.0)) return SLT_OK;
  uint32_t count = curve_turns(piece, times);
  for (uint32_t i = 0; i < count; i++) {
    if (times[i] > piece->a && times[i] < piece->b) SLT_TRY(take_candidate(m, times[i]));
  }
  return SLT_OK;
}

static SltStatus keep_piece(ReadingState* state, const CurvePiece* piece) {
  if (state->piece_count == state->piece_capacity) {
    size_t capacity = state->piece_capacity ? 2 * state->piece_capacity : 64;
    CurvePiece* pieces = realloc(state->pieces, capacity * sizeof *pieces);
    if (!pieces) return SLT_ERR_NOMEM;
    state->pieces = pieces;
    state->piece_capacity = capacity;
  }
  state->pieces[state->piece_count++] = *piece;
  return SLT_OK;
}

static SltStatus take_piece(void* user, const CurvePiece* piece) {
  Measuring* m = user;
  ReadingState* state = &m->states[m->reading];
  if (m->slopes) SLT_TRY(slopes_take_piece(m, m->reading, piece->a, piece->b));
  switch ((int)m->measures->readings[m->reading].kind) {
  case READING_MAX:
  case READING_MIN: return take_turns(m, piece);
  case READING_MEAN:
  case READING_INTEGRAL: state->value += curve_integral(piece); return SLT_OK;
  case READING_RMS: state->value += curve_square_integral(piece); return SLT_OK;
  default: return keep_piece(state, piece);
  }
}

/// The part of the motion from a to b that a reading is about.
static SltStatus take_part(Measuring* m, double a, double b) {
  const Reading* reading = &m->measures->readings[m->reading];
  double from = fmax(a, reading->from);
  double to = fmin(b, reading->to);
  if (from > to) return SLT_OK;
  // ends that are no points of the run
  bool extremum = reading->kind == READING_MAX || reading->kind == READING_MIN;
  if (extremum && from > a) SLT_TRY(take_candidate(m, from));
  if (extremum && to < b) SLT_TRY(take_candidate(m, to));
  bool kinks = !formula_is_smooth(&reading->signal);
  CurveReader reader = {look_values, take_piece, extremum ? may_be_extremum : NULL};
  return curve_walk(from, to, kinks, &m->states[m->reading].scale, &reader, m);
}

/// The motion from a to b, at which nothing has happened yet.
static SltStatus take_stretch(Measuring* m, double a, double b) {
  m->since = a;
  m->until = b;
  if (m->slopes) {
    SLT_TRY(slt_sensitivity_stretch(m->slopes->run, b));
    SLT_TRY(slopes_take_stretch(m));
  }
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    m->reading = i;
    if (reading->kind == READING_AT) {
      if (!(reading->number > a && reading->number < b)) continue;
      SLT_TRY(look_values(m, &reading->number, 1, &m->states[i].value));
      SLT_TRY(take_slopes(m, reading->number));
    } else if (reading_is_along(reading->kind)) {
      SLT_TRY(take_part(m, a, b));
    }
  }
  return SLT_OK;
}

// ---- states -------------------------------------------------------------------------------------

/// `event`: at an event, else because the run begins or ends.
static void enter_state(Measuring* m, uint32_t i, double t, bool event) {
  const Reading* reading = &m->measures->readings[i];
  ReadingState* state = &m->states[i];
  state->entries++;
  state->entered = t;
  if (reading->kind == READING_TIME && (double)state->entries == reading->number) state->value = t;
  if (m->slopes) slopes_enter(m, i, event);
}

static void leave_state(Measuring* m, uint32_t i, double t, bool event) {
  ReadingState* state = &m->states[i];
  if (m->measures->readings[i].kind == READING_DURATION) state->value += t - state->entered;
  if (m->slopes) slopes_leave(m, i, event);
  state->entered = (double)NAN;
}

static uint64_t text_hash(const char* text) {
  return text ? hash_bytes(text, strlen(text), 17) : 0;
}

/// Where a record leads, behind those before: `up b*3 rest`. What does not fit is cut.
static void spell(Track* track, const SltEvent* event) {
  static const char* const kinds[] = {[SLT_EVENT_SLIDE_IN] = "sliding",
                                      [SLT_EVENT_SLIDE_OUT] = "leaves",
                                      [SLT_EVENT_ZENO] = "accumulation",
                                      [SLT_EVENT_STOP] = "stop"};
  bool kind = !event->to && (size_t)event->kind < SLT_COUNT(kinds);
  const char* to = event->to ? event->to : kind ? kinds[event->kind] : NULL;
  if (!to) return;
  char word[TRACK_SPELLING];
  bool named = event->to && event->automaton && strcmp(event->automaton, "main") != 0;
  snprintf(word, sizeof word, "%.90s%s%.90s", named ? event->automaton : "", named ? "." : "", to);
  char* last = track->spelling + track->word;
  size_t length = strlen(word);
  bool again = track->repeats && strncmp(last, word, length) == 0 &&
               (last[length] == '\0' || last[length] == '*');
  if (again) {
    track->repeats++;
  } else {
    track->word = strlen(track->spelling);
    if (track->word && track->word + 1 < TRACK_SPELLING) track->spelling[track->word++] = ' ';
    track->repeats = 1;
  }
  last = track->spelling + track->word;
  size_t room = TRACK_SPELLING - track->word;
  if (track->repeats == 1) {
    snprintf(last, room, "%s", word);
  } else {
    snprintf(last, room, "%s*%u", word, track->repeats);
  }
}

/// Whether the last records are those before them once more.
static bool repeats(const Track* track, uint32_t period) {
  const uint64_t* end = track->kind + track->count - period;
  return memcmp(end, end - period, period * sizeof *end) == 0;
}

/// Cycles of events that accumulate count as one.
static void drop_cycles(Track* track) {
  uint32_t period = 1;
  while (2 * period <= track->count && period <= TRACK_CYCLE && !repeats(track, period))
    period++;
  if (2 * period > track->count || period > TRACK_CYCLE) return;
  while (track->count > period &&
         track->kind[track->count - 1] == track->kind[track->count - 1 - period])
    track->count--;
}

static uint64_t state_hash(const char* automaton, const char* state) {
  return hash_mix(text_hash(automaton), text_hash(state));
}

/// Which side a motion is on that slides is a matter of rounding, as where a body rests: switches
/// say nothing while it begins, and where they are when it ends says all.
static uint64_t forget_sides(Track* track, const SltEvent* event) {
  bool begins = event->kind == SLT_EVENT_SLIDE_IN;
  bool ends = event->kind == SLT_EVENT_SLIDE_OUT;
  while ((begins || ends) && track->loose && track->count &&
         track->t[track->count - 1] == event->t) {
    track->count--;
    track->loose--;
  }
  bool moves = event->automaton && event->to;
  bool switches = moves && strchr(event->automaton, '@') != NULL;
  track->loose = switches ? track->loose + 1 : 0;
  if (moves) {
    track->states += state_hash(event->automaton, event->to);
    track->states -= state_hash(event->automaton, event->from);
  }
  return ends ? track->states : 0;
}

/// Put a record behind those before. Impacts that accumulate count as one: how many of them come
/// before the limit point is a matter of rounding.
static void track_add(Track* track, const SltEvent* event) {
  uint64_t kind = hash_mix(state_hash(event->automaton, event->from),
                           hash_mix(text_hash(event->to), (uint64_t)event->kind + 1));
  kind = hash_mix(kind, forget_sides(track, event));
  if (track->spelling) spell(track, event);
  if (event->kind == SLT_EVENT_ZENO) {
    if (!track->accumulates) track->t_accumulation = event->t;
    track->accumulates = true;
    drop_cycles(track);
  }
  if (track->count == track->capacity) {
    uint32_t capacity = track->capacity ? 2 * track->capacity : 64;
    double* t = realloc(track->t, capacity * sizeof *t);
    if (t) track->t = t;
    uint64_t* hash = realloc(track->hash, capacity * sizeof *hash);
    if (hash) track->hash = hash;
    uint64_t* kinds = realloc(track->kind, capacity * sizeof *kinds);
    if (kinds) track->kind = kinds;
    track->failed |= !t || !hash || !kinds;
    if (track->failed) return;
    track->capacity = capacity;
  }
  uint64_t before = track->count ? track->hash[track->count - 1] : 0;
  track->t[track->count] = event->t;
  track->kind[track->count] = kind;
  track->hash[track->count++] = hash_mix(before, kind);
}

void track_clear(Track* track) {
  free(track->t);
  free(track->hash);
  free(track->kind);
  *track = (Track){.spelling = track->spelling};
}

uint64_t track_at(const Track* track, double t) {
  uint32_t count = track->count;
  while (count > 0 && track->t[count - 1] > t)
    count--;
  return count ? track->hash[count - 1] : 2;
}

double measure_horizon(const SltMeasures* measures, uint32_t measure, const double* values) {
  const Formula* formula = &measures->formulas[measure];
  double horizon = -HUGE_VAL;
  for (uint32_t i = 0; i < formula->count; i++) {
    uint32_t leaf = 0;
    if (!formula_reads(formula, i, &leaf)) continue;
    const Reading* reading = &measures->readings[leaf];
    if (reading->kind == READING_CONSTANT) continue;
    double own = HUGE_VAL;
    if (reading->kind == READING_AT) own = reading->number;
    if (reading_has_times(reading)) own = reading->to;
    // the measure is the time itself where nothing else stands in its formula
    if (reading->kind == READING_TIME && formula->count == 1) own = values[measure];
    if (reading->kind == READING_MEASURE) {
      own = measure_horizon(measures, reading->measure, values);
    }
    if (own > horizon) horizon = own;
  }
  return horizon;
}

/// An SltEventFn: entries into states, and the state the run began in.
static void take_event(void* user, const SltEvent* event) {
  Measuring* m = user;
  if (m->track && event->event_class != SLT_CLASS_MYTHICAL) track_add(m->track, event);
  bool moves = event->automaton && event->to && event->event_class != SLT_CLASS_MYTHICAL;
  if (!moves) return;
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    ReadingState* state = &m->states[i];
    if (!reading_is_of_state(reading->kind)) continue;
    if (strcmp(reading->automaton, event->automaton) != 0) continue;
    if (!state->seen && m->initial && strcmp(event->from, reading->state) == 0) {
      enter_state(m, i, event->t, false);
    }
    state->seen = true;
    if (!isnan(state->entered)) leave_state(m, i, event->t, true);
    if (strcmp(event->to, reading->state) == 0) enter_state(m, i, event->t, true);
  }
}

/// States that the run began in and has not left at its start.
static void take_first_states(Measuring* m) {
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    if (!reading_is_of_state(reading->kind) || m->states[i].seen) continue;
    for (uint32_t a = 0; a < slt_sim_automaton_count(m->sim); a++) {
      if (strcmp(slt_sim_automaton_name(m->sim, a), reading->automaton) != 0) continue;
      if (strcmp(slt_sim_automaton_state(m->sim, a), reading->state) != 0) continue;
      enter_state(m, i, m->t_start, false);
    }
  }
}

// ---- the run ------------------------------------------------------------------------------------

static void begin(Measuring* m) {
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    ReadingKind kind = m->measures->readings[i].kind;
    bool sum = kind == READING_MEAN || kind == READING_RMS || kind == READING_INTEGRAL ||
               kind == READING_DURATION;
    m->states[i] = (ReadingState){.value = sum ? 0.0 : (double)NAN, .entered = (double)NAN};
    m->along |= reading_is_along(kind);
  }
}

static SltStatus start(Measuring* m) {
  m->initial = true;
  SltStatus status = slt_sim_start(m->sim);
  m->initial = false;
  if (status < 0) return status;
  m->t_start = slt_sim_time(m->sim);
  if (m->t_end < m->t_start) return SLT_ERR_ARGUMENT;
  take_first_states(m);
  take_point(m, m->t_start, SLT_WHEN_AFTER);
  return status;
}

/// The next stretch, or where nobody asks for the motion itself, the next step; with `whole` all
/// steps up to the next event.
static SltStatus follow_stretch(Measuring* m, bool whole) {
  double t = slt_sim_time(m->sim);
  double until = m->t_end;
  SltStatus status = SLT_OK;
  if (m->along) {
    status = slt_sim_ahead(m->sim, &until);
    if (status < 0) return status;
    until = fmin(until, m->t_end);
    if (status == SLT_OK) SLT_TRY(take_stretch(m, t, until));
  }
  if (status == SLT_OK) {
    bool step = !whole && !m->along;
    status = step ? slt_sim_advance_step(m->sim, until, &t) : slt_sim_advance(m->sim, until, &t);
  }
  bool event = status == SLT_EVENT || status == SLT_END;
  bool point = event || m->along || t >= m->t_end;
  if (event) take_point(m, t, SLT_WHEN_BEFORE);
  if (status >= 0 && point) take_point(m, t, event ? SLT_WHEN_AFTER : SLT_WHEN_NOW);
  if (event && m->slopes) slopes_take_jump(m, status == SLT_END);
  return status;
}

bool measuring_go_on(Measuring* m, bool whole) {
  bool over = m->status < 0 || m->status == SLT_END || !(slt_sim_time(m->sim) < m->t_end);
  if (over) return false;
  m->status = follow_stretch(m, whole);
  return true;
}

/// The level that the value is below for a share of the time.
static double quantile(const ReadingState* state, double share) {
  if (state->piece_count == 0) return (double)NAN;
  double lo = HUGE_VAL;
  double hi = -HUGE_VAL;
  double time = 0.0;
  for (size_t i = 0; i < state->piece_count; i++) {
    const CurvePiece* piece = &state->pieces[i];
    if (!isfinite(piece->c[0])) return (double)NAN;
    lo = fmin(lo, piece->c[0] - curve_spread(piece));
    hi = fmax(hi, piece->c[0] + curve_spread(piece));
    time += piece->b - piece->a;
  }
  for (int step = 0; step < 100; step++) {
    double middle = 0.5 * (lo + hi);
    if (!(middle > lo && middle < hi)) break;
    double below = 0.0;
    for (size_t i = 0; i < state->piece_count; i++)
      below += curve_time_below(&state->pieces[i], middle);
    if (below == 0.0 || below < share * time) {  // a share of 0 is the least value
      lo = middle;
    } else {
      hi = middle;
    }
  }
  return hi;
}

/// What a reading has come to when the run is over.
static double result(Measuring* m, uint32_t i, const double* values) {
  const Reading* reading = &m->measures->readings[i];
  ReadingState* state = &m->states[i];
  double span = measuring_span(m, reading);
  bool summed = reading->kind == READING_MEAN || reading->kind == READING_INTEGRAL ||
                reading->kind == READING_RMS;
  if (summed && reading_has_times(reading) && !(span > 0.0)) return (double)NAN;
  switch (reading->kind) {
  case READING_END: return measuring_signal(m, reading, false);
  case READING_MEAN: return state->value / span;
  case READING_RMS: return sqrt(state->value / span);
  case READING_QUANTILE: return quantile(state, reading->number);
  case READING_COUNT: return (double)state->entries;
  case READING_DURATION:
    if (!isnan(state->entered)) leave_state(m, i, slt_sim_time(m->sim), m->stopped);
    return state->value;
  case READING_CONSTANT: return slt_sim_get(m->sim, m->measures->quantities[reading->measure]);
  case READING_MEASURE: return values[reading->measure];
  case READING_START:
  case READING_AT:
  case READING_MAX:
  case READING_MIN:
  case READING_INTEGRAL:
  case READING_TIME:
  default: return state->value;
  }
}

static void take_results(Measuring* m, double* values) {
  uint32_t done = 0;
  for (uint32_t k = 0; k < m->measures->count; k++) {
    const Formula* formula = &m->measures->formulas[k];
    for (uint32_t end = formula_leaf_end(formula); done < end; done++)
      m->values[done] = result(m, done, values);
    values[k] = formula_value(formula, m->values);
  }
  if (m->slopes) slopes_conclude(m);
}

SltStatus measuring_begin(const SltMeasures* measures, SltSim* sim, double t_end, Track* track,
                          Slopes* slopes, Measuring** out) {
  if (!isfinite(t_end)) return SLT_ERR_ARGUMENT;
  size_t readings = measures->reading_count;
  size_t quantities = measures->quantity_count;
  size_t leaves = measures->leaf_most;
  size_t numbers = 2 * (readings + quantities) + CURVE_POINTS * leaves;
  Measuring* m = calloc(1, sizeof *m + readings * sizeof *m->states + numbers * sizeof *m->values +
                               leaves * sizeof *m->wanted);
  *out = m;
  if (!m) return SLT_ERR_NOMEM;
  m->states = (ReadingState*)(m + 1);
  m->values = (double*)(m->states + readings);
  m->weights = m->values + readings;
  m->quantities = m->weights + readings;
  m->partials = m->quantities + quantities;
  m->courses = m->partials + quantities;
  m->wanted = (SltQuantity*)(m->courses + CURVE_POINTS * leaves);
  m->measures = measures;
  m->sim = sim;
  m->t_end = t_end;
  m->track = track;
  m->slopes = slopes;
  m->along = slopes != NULL;
  begin(m);
  slt_sim_on_event(sim, take_event, m);
  m->status = start(m);
  return SLT_OK;
}

SltStatus measuring_end(Measuring* m, double* values) {
  const SltMeasures* measures = m->measures;
  SltStatus status = m->status == SLT_EVENT ? SLT_OK : m->status;
  slt_sim_on_event(m->sim, NULL, NULL);
  for (uint32_t k = 0; k < measures->count; k++)
    values[k] = (double)NAN;
  m->stopped = status == SLT_END;
  if (status >= 0) take_results(m, values);
  for (uint32_t i = 0; i < measures->reading_count; i++)
    free(m->states[i].pieces);
  bool failed = m->track && m->track->failed;
  free(m);
  return failed ? SLT_ERR_NOMEM : status;
}

SltStatus measures_follow(const SltMeasures* measures, SltSim* sim, double t_end, double* values,
                          Track* track, Slopes* slopes) {
  Measuring* m = NULL;
  SLT_TRY(measuring_begin(measures, sim, t_end, track, slopes, &m));
  while (measuring_go_on(m, true)) {
  }
  return measuring_end(m, values);
}

SltStatus slt_measures_run(const SltMeasures* measures, SltSim* sim, double t_end, double* values) {
  if (!measures || !sim || !values) return SLT_ERR_ARGUMENT;
  return measures_follow(measures, sim, t_end, values, NULL, NULL);
}
