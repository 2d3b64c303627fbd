// SPDX-License-Identifier: MIT
//
// The history of variables that are read with a delay.
//
// As time passes the end of a segment its motion is kept: of a state the polynomial of the dense
// output, of a computed value a polynomial through samples, cut finer until it fits within the
// tolerance. Equations read it through tables that belong to the run (model/history.c).
//
// Where a variable or one of its derivatives jumps at t_k, what is read jumps at t_k + T. Each
// piece knows the level of the jump at its begin: 0 the value, 1 the slope, and so on. Steps end at
// t_k + T for all levels that an integrator would feel, and for levels 0 and 1 that is an instant:
// up to it only the pieces before the jump are looked at, from it on only those behind it. So both
// limits are read exactly, whatever rounding does to t - T. A jump of level n in an input is one of
// level n + 1 in a state, so the list ends by itself.
//
// Steps are never longer than the shortest delay: what a step reads is over when it begins. The
// alternative, steps that read their own future by iteration, pays where delays are much shorter
// than the motion, and costs the proof of detection its ground.
//
// Where the lag varies, what is read at t is t - lag(t), and a jump at t_k arrives where that
// passes t_k. Steps end there by trial: one that reads beyond the next jump, or what it has not
// made itself yet, is made again, shorter. All pieces may be looked at; where a jump has arrived
// its place is moved, by rounding, to what is read at that time.
#include "engine/detect/follow.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define DELAY_MIN      1e-12  // of the time, or of the experiment: shorter steps would never end
#define HISTORY_NONE   UINT32_MAX
#define LEVEL_EVENT    1u  // levels up to this one arrive as instants
#define LEVEL_LAST     5u  // ... and up to this one steps end there
#define LEVEL_SMOOTH   (LEVEL_LAST + 1u)
#define JUMP_ULPS      64.0
#define JUMP_SHARE     1e-3  // of the absolute tolerance: a jump that nobody feels
#define SLOPE_RELATIVE 1e-9
#define FIT_SHARE      0.1  // of the tolerance that a computed value's polynomial may be off
#define FIT_DEPTH      6    // halvings until it is taken as it is
#define FIT_NODES      5
#define FIT_POINTS     7  // and two where it is checked
#define PIECES_FIRST   16
#define LAG_TRIALS     30   // of a step that is to end where a jump arrives
#define LAG_SHARE      0.9  // of the way that a step may read ahead of its begin, for the next trial
#define LAG_SLOPE      0.99  // the lag grows so fast that the next jump is not foreseen
#define LAG_SLACK      1e-6  // of the largest lag: how late it may be noticed that it is exceeded
#define REACH_ULPS     64.0  // of time: a jump that has as good as arrived

_Static_assert(MODEL_PIECE_DEGREE >= NUM_DENSE_DEGREE_MAX, "a step's polynomial fits into a piece");

// ---- creation -----------------------------------------------------------------------------------

SltStatus eng_history_create(EngSim* sim) {
  const Model* model = sim->model;
  const SltAllocator* a = &sim->options.allocator;
  sim->history.tables = model->tables;
  sim->history.shortest = (double)INFINITY;
  if (model->delay_count == 0) return SLT_OK;
  sim->history.delays = base_alloc(a, model->delay_count * sizeof *sim->history.delays);
  sim->history.own_tables = base_alloc(a, model->table_count * sizeof *sim->history.own_tables);
  sim->history.samples = base_alloc(a, (size_t)model->delay_count * FIT_POINTS * sizeof(double));
  if (!sim->history.delays || !sim->history.own_tables || !sim->history.samples)
    return SLT_ERR_NOMEM;
  memcpy(sim->history.own_tables, model->tables,
         model->table_count * sizeof *sim->history.own_tables);
  for (uint32_t i = 0; i < model->delay_count; i++) {
    sim->history.own_tables[model->delays[i].table].history = &sim->history.delays[i].view;
  }
  sim->history.tables = sim->history.own_tables;
  return SLT_OK;
}

// ---- pieces -------------------------------------------------------------------------------------

/// What may be looked at, after pieces were added or have moved.
static void refresh_view(EngDelay* delay) {
  bool held_back = delay->next_jump != HISTORY_NONE && !delay->varies;
  delay->view.pieces = delay->pieces;
  delay->view.end = held_back ? delay->next_jump : delay->end;
}

/// Places as they are once the pieces that count lie at the front.
static void count_from_begin(EngDelay* delay) {
  uint32_t by = delay->begin;
  delay->begin = 0;
  delay->end -= by;
  delay->view.begin -= by;
  delay->view.end -= by;
  if (delay->next_jump != HISTORY_NONE) delay->next_jump -= by;
  if (delay->next_break != HISTORY_NONE) delay->next_break -= by;
}

/// Room for one more piece at the end: by moving those that count to the front, or by growing.
static SltStatus make_piece(EngSim* sim, EngDelay* delay, ModelPiece** out) {
  if (delay->end == delay->capacity && delay->begin > delay->capacity / 2) {
    memmove(delay->pieces, delay->pieces + delay->begin,
            (delay->end - delay->begin) * sizeof *delay->pieces);
    count_from_begin(delay);
  }
  if (delay->end == delay->capacity) {
    uint32_t wanted = delay->capacity ? 2 * delay->capacity : PIECES_FIRST;
    if (wanted > HISTORY_NONE / 2) return SLT_ERR_NOMEM;
    SLT_TRY(ENG_GROW(sim, delay->pieces, wanted));
    delay->capacity = wanted;
  }
  *out = &delay->pieces[delay->end++];
  refresh_view(delay);
  return SLT_OK;
}

/// The first piece from `from` on with a jump of at most `level`; HISTORY_NONE for none.
static uint32_t find_level(const EngDelay* delay, uint32_t from, uint32_t level) {
  for (uint32_t i = from; i < delay->end; i++) {
    if (delay->pieces[i].level <= level) return i;
  }
  return HISTORY_NONE;
}

/// What a variable may jump by without a reason: values that cancel to zero (a sliding motion's)
/// are rounding noise, and an instant made of noise would make noise of its own, for each delay
/// one.
static double noise_of(EngSim* sim, uint32_t delay) {
  uint32_t env = sim->model->vars[sim->model->delays[delay].var].env;
  return fmax(JUMP_ULPS * DBL_EPSILON * eng_scale(sim, env), JUMP_SHARE * eng_absolute(sim, env));
}

/// `floor`: of the noise of values.
static double slope_at(const ModelPiece* piece, bool end, double floor, double* noise) {
  double length = piece->t1 - piece->t0;
  *noise = 0.0;
  if (piece->degree == 0 || !(length > 0.0)) return 0.0;
  uint32_t k = end ? piece->degree - 1 : 0;
  double scale = (double)piece->degree / length;
  *noise = fmax(JUMP_ULPS * DBL_EPSILON * model_piece_size(piece), floor) * scale;
  return (piece->c[k + 1] - piece->c[k]) * scale;
}

/// What jumps between two pieces, where an event may have made something jump.
static uint32_t level_between(const ModelPiece* left, const ModelPiece* right, uint32_t mark,
                              double floor) {
  if (mark > LEVEL_SMOOTH) return LEVEL_SMOOTH;
  double size = fmax(model_piece_size(left), model_piece_size(right));
  double jump = fabs(left->c[left->degree] - right->c[0]);
  if (!(jump <= fmax(JUMP_ULPS * DBL_EPSILON * size, floor))) return 0;
  double left_noise = 0.0;
  double right_noise = 0.0;
  double a = slope_at(left, true, floor, &left_noise);
  double b = slope_at(right, false, floor, &right_noise);
  double bound = SLOPE_RELATIVE * fmax(fabs(a), fabs(b)) + left_noise + right_noise;
  if (!(fabs(a - b) <= bound)) return 1;
  return mark < 2 ? 2 : mark;
}

/// Forget what nothing will ask for any more; one piece too many is kept.
static void forget(EngDelay* delay, double t) {
  while (delay->begin + 2 < delay->end && delay->pieces[delay->begin + 1].t1 < t - delay->delay) {
    delay->begin++;
  }
  if (delay->view.begin < delay->begin) delay->view.begin = delay->begin;
}

static SltStatus add_piece(EngSim* sim, EngDelay* delay, const ModelPiece* piece) {
  ModelPiece* room = NULL;
  SLT_TRY(make_piece(sim, delay, &room));
  *room = *piece;
  uint32_t index = delay->end - 1;
  room->level = LEVEL_SMOOTH;
  if (index > delay->begin) {
    double floor = noise_of(sim, (uint32_t)(delay - sim->history.delays));
    room->level = level_between(room - 1, room, delay->mark, floor);
  }
  delay->mark = HISTORY_NONE;
  if (room->level <= LEVEL_LAST && delay->next_break == HISTORY_NONE) delay->next_break = index;
  if (room->level <= LEVEL_EVENT && delay->next_jump == HISTORY_NONE) delay->next_jump = index;
  refresh_view(delay);
  return SLT_OK;
}

// ---- the start ----------------------------------------------------------------------------------

static double shortest_lag(const EngSim* sim, double t) {
  double span = eng_span(sim);
  double size = fmax(fabs(t), isfinite(span) ? span : 0.0);
  return fmax(DELAY_MIN * size, DBL_MIN / DBL_EPSILON);
}

SltStatus eng_history_start(EngSim* sim) {
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    const ModelDelay* model = &sim->model->delays[i];
    EngDelay* delay = &sim->history.delays[i];
    delay->delay = eng_eval(sim, &model->time);
    if (!(delay->delay > 0.0) || !isfinite(delay->delay) ||
        !(sim->core.t + delay->delay > sim->core.t)) {
      eng_fail(sim, SLT_ERR_ARGUMENT, DIAG_E0812, &model->span,
               "the time of %.*s is %s; it must be greater than 0", STR_ARGS(model->text),
               eng_number(delay->delay).text);
      return sim->error.status;
    }
    // no step is longer than the delay
    double shortest = shortest_lag(sim, sim->core.t);
    if (delay->delay < shortest) {
      return eng_fail(sim, SLT_ERR_ARGUMENT, DIAG_E0812, &model->span,
                      "the time of %.*s is %s; it must be at least %s", STR_ARGS(model->text),
                      eng_number(delay->delay).text, eng_number(shortest).text);
    }
    double before =
        model->before ? eng_eval(sim, model->before) : sim->env[sim->model->vars[model->var].env];
    if (!isfinite(before)) {
      return eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0812, &model->span,
                      "the value of %.*s before the start is not a finite number",
                      STR_ARGS(model->text));
    }
    delay->begin = delay->end = delay->view.begin = 0;
    delay->next_jump = delay->next_break = delay->mark = HISTORY_NONE;
    delay->varies = model->lag != MODEL_NONE;
    delay->lag = delay->delay;
    delay->slope = 0.0;
    ModelPiece first = {.t0 = sim->core.t - delay->delay, .t1 = sim->core.t, .c = {before}};
    SLT_TRY(add_piece(sim, delay, &first));
    delay->mark = 1;
    delay->t = sim->core.t;
    if (!delay->varies) sim->history.shortest = fmin(sim->history.shortest, delay->delay);
  }
  return SLT_OK;
}

bool eng_history_update_start(EngSim* sim) {
  bool changed = false;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    const ModelDelay* model = &sim->model->delays[i];
    if (model->before) continue;
    double value = sim->env[sim->model->vars[model->var].env];
    ModelPiece* first = &sim->history.delays[i].pieces[0];
    // a value that is no number is told of elsewhere
    if (value == first->c[0] || !isfinite(value)) continue;
    first->c[0] = value;
    changed = true;
  }
  return changed;
}

SltStatus eng_history_circular(EngSim* sim) {
  eng_fail(sim, SLT_ERR_NO_CONVERGENCE, DIAG_E0812, &sim->model->delays[0].span,
           "what delays read before the start depends on itself");
  return eng_hint(sim, "say what it is: delay(x, T, x0) reads x0 until T has passed");
}

// ---- keeping what has passed --------------------------------------------------------------------

static bool is_computed(const EngSim* sim, const ModelDelay* model) {
  const ModelVarMode* mode = &sim->core.mode->vars[model->var];
  return mode->role == MODEL_ROLE_ALGEBRAIC;
}

/// Values at both ends, and a straight line.
static void straighten(ModelPiece* piece) {
  piece->c[1] = piece->c[piece->degree];
  piece->degree = 1;
}

/// What the integrator knows of a variable between two times of the trial.
static ModelPiece known_piece(const EngSim* sim, const ModelDelay* model, double from, double to) {
  const NumStepper* s = sim->stepper;
  uint32_t env = sim->model->vars[model->var].env;
  ModelPiece piece = {.t0 = from, .t1 = to, .c = {sim->env[env]}};
  uint32_t state = eng_state_place(sim, env);
  if (state == MODEL_NONE) return piece;
  piece.degree = s->trial.degree;
  num_dense_bernstein(s, state, piece.c);
  double a = from > s->trial.t0 ? num_dense_theta(s, from) : 0.0;
  double b = to < s->trial.t ? num_dense_theta(s, to) : 1.0;
  num_bernstein_restrict(piece.c, piece.degree, a, b);
  return piece;
}

/// Whether the polynomial through the first samples meets the last two.
static bool fits(EngSim* sim, uint32_t delay, const ModelPiece* piece, const double* y) {
  const ModelVar* var = &sim->model->vars[sim->model->delays[delay].var];
  double allowed = FIT_SHARE * eng_weight(sim, var->env, model_piece_size(piece));
  ModelHistory one = {piece, 0, 1};
  double h = piece->t1 - piece->t0;
  double first = model_history_value(&one, piece->t0 + 0.125 * h, 0);
  double last = model_history_value(&one, piece->t0 + 0.875 * h, 0);
  return fabs(first - y[FIT_NODES]) <= allowed && fabs(last - y[FIT_NODES + 1]) <= allowed;
}

/// Computed values between two times of the trial, from samples.
static SltStatus append_computed(EngSim* sim, double from, double to, uint32_t depth) {
  static const double shares[FIT_POINTS] = {0.0, 0.25, 0.5, 0.75, 1.0, 0.125, 0.875};
  double h = to - from;
  for (uint32_t k = 0; k < FIT_POINTS; k++) {
    eng_sample(sim, shares[k] == 1.0 ? to : from + shares[k] * h);
    for (uint32_t i = 0; i < sim->model->delay_count; i++) {
      uint32_t env = sim->model->vars[sim->model->delays[i].var].env;
      sim->history.samples[(size_t)i * FIT_POINTS + k] = sim->env[env];
    }
  }
  bool good = true;
  for (uint32_t i = 0; i < sim->model->delay_count && good; i++) {
    const ModelDelay* model = &sim->model->delays[i];
    if (!is_computed(sim, model) || model->linear) continue;
    ModelPiece piece = {.t0 = from, .t1 = to, .degree = FIT_NODES - 1};
    num_bernstein_fit(&sim->history.samples[(size_t)i * FIT_POINTS], piece.c);
    good = fits(sim, i, &piece, &sim->history.samples[(size_t)i * FIT_POINTS]);
  }
  double middle = from + 0.5 * h;
  if (!good && depth < FIT_DEPTH && middle > from && middle < to) {
    SLT_TRY(append_computed(sim, from, middle, depth + 1));
    return append_computed(sim, middle, to, depth + 1);
  }
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    if (!is_computed(sim, &sim->model->delays[i])) continue;
    ModelPiece piece = {.t0 = from, .t1 = to, .degree = FIT_NODES - 1};
    num_bernstein_fit(&sim->history.samples[(size_t)i * FIT_POINTS], piece.c);
    if (sim->model->delays[i].linear) straighten(&piece);
    eng_scale_note(sim, sim->model->vars[sim->model->delays[i].var].env, model_piece_size(&piece));
    SLT_TRY(add_piece(sim, &sim->history.delays[i], &piece));
  }
  return SLT_OK;
}

// ---- lags that vary -----------------------------------------------------------------------------

/// The time that is read at the end of what is known.
static double read_time(const EngDelay* delay) {
  return delay->t - delay->lag;
}

/// What counts as having arrived.
static double reach(const EngDelay* delay) {
  return REACH_ULPS * DBL_EPSILON * fmax(fabs(delay->t), delay->delay);
}

/// The first piece with a jump of at most `level` that begins later than what is read now.
static uint32_t find_ahead(const EngDelay* delay, uint32_t level) {
  uint32_t low = delay->begin;
  uint32_t high = delay->end;
  double t = read_time(delay);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (delay->pieces[middle].t0 > t) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return find_level(delay, low, level);
}

/// Look for what comes next anew: the lag has changed.
static void aim(EngDelay* delay) {
  if (!delay->varies) return;
  delay->view.begin = delay->begin;
  delay->next_break = find_ahead(delay, LEVEL_LAST);
  delay->next_jump = find_ahead(delay, LEVEL_EVENT);
  refresh_view(delay);
}

static double lag_of(const EngSim* sim, uint32_t delay) {
  return sim->env[sim->model->vars[sim->model->delays[delay].lag].env];
}

static double longest_lag(const EngDelay* delay) {
  return delay->delay * (1.0 + REACH_ULPS * DBL_EPSILON);
}

static SltStatus check_lag(EngSim* sim, uint32_t delay, double t) {
  const ModelDelay* model = &sim->model->delays[delay];
  double lag = lag_of(sim, delay);
  double most = sim->history.delays[delay].delay;
  double shortest = shortest_lag(sim, t);
  if (lag >= shortest && lag <= longest_lag(&sim->history.delays[delay])) return SLT_OK;
  eng_fail(sim, SLT_ERR_ARGUMENT, DIAG_E0812, &model->span,
           lag > most ? "at t = %s the time of %.*s is %s; its largest value is given as %s"
                      : "at t = %s the time of %.*s is %s; it must be at least %s",
           eng_number(t).text, STR_ARGS(model->text), eng_number(lag).text,
           eng_number(lag > most ? most : shortest).text);
  return sim->error.status;
}

/// Lags at the end of what becomes known, and how they changed.
static SltStatus follow_lags(EngSim* sim, double from, double t) {
  bool sampled = false;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    EngDelay* delay = &sim->history.delays[i];
    if (!delay->varies) continue;
    if (!sampled) eng_sample(sim, t);
    sampled = true;
    SLT_TRY(check_lag(sim, i, t));
    delay->slope = (lag_of(sim, i) - delay->lag) / (t - from);
    delay->lag = lag_of(sim, i);
  }
  if (sampled) sim->values.sampled = false;
  return SLT_OK;
}

/// Lags after an instant, which may have changed them.
static void renew_lags(EngSim* sim) {
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    EngDelay* delay = &sim->history.delays[i];
    if (!delay->varies) continue;
    delay->lag = lag_of(sim, i);
    aim(delay);
  }
}

/// How much of a step of length h can stand, with the lag at its end: all of it, or the share where
/// it would read what has just been made, or just not the next jump.
static double usable_share(const EngDelay* delay, double h, double lag) {
  double begin = read_time(delay);
  double end = delay->t + h - lag;
  double share = 1.0;
  if (lag > longest_lag(delay) && h > LAG_SLACK * delay->delay) share = 0.5;
  if (end > delay->t + reach(delay)) share = LAG_SHARE * (delay->t - begin) / (end - begin);
  if (delay->next_break == HISTORY_NONE) return share;
  double jump = delay->pieces[delay->next_break].t0;
  if (end >= jump) share = fmin(share, (jump - 0.5 * reach(delay) - begin) / (end - begin));
  return share;
}

double eng_history_usable_slow(EngSim* sim, uint32_t trials) {
  double share = 1.0;
  if (trials >= LAG_TRIALS || num_dense_prepare(sim->stepper) < 0) return share;
  double t = sim->stepper->trial.t;
  bool sampled = false;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    if (!sim->history.delays[i].varies) continue;
    if (!sampled) eng_sample(sim, t);
    sampled = true;
    share = fmin(share, usable_share(&sim->history.delays[i], t - sim->stepper->t, lag_of(sim, i)));
  }
  if (sampled) sim->values.sampled = false;
  return share > 0.0 ? share : 0.5;
}

SltStatus eng_history_append_slow(EngSim* sim, double t) {
  const Model* model = sim->model;
  if (!sim->core.segment.trial_pending) return SLT_OK;
  double from = sim->history.delays[0].t;
  if (!(t > from)) return SLT_OK;
  SLT_TRY(num_dense_prepare(sim->stepper));
  SLT_TRY(follow_lags(sim, from, t));
  bool computed = false;
  for (uint32_t i = 0; i < model->delay_count; i++) {
    EngDelay* delay = &sim->history.delays[i];
    forget(delay, sim->stepper->trial.t0);
    delay->t = t;
    if (is_computed(sim, &model->delays[i])) {
      computed = true;
      continue;
    }
    ModelPiece piece = known_piece(sim, &model->delays[i], from, t);
    if (model->delays[i].linear && piece.degree > 0) straighten(&piece);
    SLT_TRY(add_piece(sim, delay, &piece));
  }
  SltStatus status = computed ? append_computed(sim, from, t, 0) : SLT_OK;
  if (computed) sim->values.sampled = false;
  for (uint32_t i = 0; i < model->delay_count; i++) {
    aim(&sim->history.delays[i]);
  }
  return status;
}

void eng_history_mark(EngSim* sim, uint32_t level) {
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    if (sim->history.delays[i].mark > level) sim->history.delays[i].mark = level;
  }
}

void eng_history_instant_slow(EngSim* sim, bool changed) {
  eng_history_mark(sim, changed ? 2 : LEVEL_SMOOTH);
  renew_lags(sim);
}

// ---- what arrives -------------------------------------------------------------------------------

/// When the begin of a piece arrives: foreseen, where the lag varies.
static double arrival(const EngDelay* delay, uint32_t piece) {
  if (piece == HISTORY_NONE) return (double)INFINITY;
  if (!delay->varies) return delay->pieces[piece].t0 + delay->delay;
  double left = delay->pieces[piece].t0 - read_time(delay);
  if (left <= reach(delay)) return delay->t;
  return delay->slope < LAG_SLOPE ? delay->t + left / (1.0 - delay->slope) : (double)INFINITY;
}

/// When a jump arrives for certain.
static double due(const EngDelay* delay) {
  double t = arrival(delay, delay->next_jump);
  return delay->varies && t > delay->t ? (double)INFINITY : t;
}

/// A jump has arrived: from now on what lies behind it is read.
static void pass_jump(EngDelay* delay) {
  uint32_t jump = delay->next_jump;
  if (delay->varies) {
    delay->pieces[jump].t0 = fmin(delay->pieces[jump].t0, read_time(delay));
    if (jump > delay->begin) delay->pieces[jump - 1].t1 = delay->pieces[jump].t0;
    aim(delay);
    return;
  }
  delay->view.begin = jump;
  delay->next_jump = find_level(delay, jump + 1, LEVEL_EVENT);
  delay->next_break = find_level(delay, jump + 1, LEVEL_LAST);
}

bool eng_history_arrives(const EngSim* sim, double t, uint32_t* which, double* origin) {
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    const EngDelay* delay = &sim->history.delays[i];
    if (!(arrival(delay, delay->next_jump) <= t)) continue;
    *which = i;
    *origin = delay->pieces[delay->next_jump].t0;
    return true;
  }
  return false;
}

double eng_history_next_jump_slow(const EngSim* sim) {
  double next = (double)INFINITY;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    next = fmin(next, due(&sim->history.delays[i]));
  }
  return next;
}

double eng_history_limit_slow(const EngSim* sim) {
  double next = sim->stepper->t + sim->history.shortest;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    const EngDelay* delay = &sim->history.delays[i];
    // a lag that makes no sense is told of at the end of the step
    double lag = fmax(delay->lag, shortest_lag(sim, sim->stepper->t));
    if (delay->varies) next = fmin(next, sim->stepper->t + lag);
    next = fmin(next, arrival(delay, delay->next_break));
  }
  return next;
}

void eng_history_pass_slow(EngSim* sim, double t) {
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    EngDelay* delay = &sim->history.delays[i];
    // slightly early does no harm to what is smooth
    double late = t + num_time_resolution(t);
    while (delay->next_break != HISTORY_NONE && arrival(delay, delay->next_break) <= late) {
      uint32_t level = delay->pieces[delay->next_break].level;
      if (level <= LEVEL_EVENT) break;
      eng_history_mark(sim, level + 1);
      delay->next_break = find_level(delay, delay->next_break + 1, LEVEL_LAST);
    }
  }
}

bool eng_history_break_slow(EngSim* sim, double t, bool* jumped) {
  bool any = false;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    EngDelay* delay = &sim->history.delays[i];
    bool jumps = false;
    while (delay->next_jump != HISTORY_NONE && due(delay) <= t) {
      jumps |= delay->pieces[delay->next_jump].level == 0;
      any = true;
      pass_jump(delay);
    }
    refresh_view(delay);
    if (jumps) eng_trace_arrival(sim, i);
    *jumped |= jumps;
  }
  if (any) eng_history_pass_slow(sim, t);
  return any;
}

// ---- snapshots ----------------------------------------------------------------------------------

size_t eng_history_snapshot_size(const EngSim* sim) {
  size_t size = 0;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    const EngDelay* delay = &sim->history.delays[i];
    size += sizeof *delay + (delay->end - delay->begin) * sizeof(ModelPiece);
  }
  return size;
}

void eng_history_save(const EngSim* sim, char* out) {
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    EngDelay delay = sim->history.delays[i];
    size_t bytes = (delay.end - delay.begin) * sizeof(ModelPiece);
    const ModelPiece* from = delay.pieces + delay.begin;
    count_from_begin(&delay);
    delay.capacity = 0;
    delay.pieces = NULL;
    delay.view.pieces = NULL;
    memcpy(out, &delay, sizeof delay);
    memcpy(out + sizeof delay, from, bytes);
    out += sizeof delay + bytes;
  }
}

SltStatus eng_history_restore(EngSim* sim, const char* in, size_t size) {
  sim->history.shortest = (double)INFINITY;
  for (uint32_t i = 0; i < sim->model->delay_count; i++) {
    EngDelay* delay = &sim->history.delays[i];
    EngDelay saved;
    if (size < sizeof saved) return SLT_ERR_ARGUMENT;
    memcpy(&saved, in, sizeof saved);
    if ((size - sizeof saved) / sizeof(ModelPiece) < saved.end) return SLT_ERR_ARGUMENT;
    bool places = saved.begin == 0 && saved.view.begin <= saved.view.end &&
                  saved.view.end <= saved.end &&
                  (saved.next_jump == HISTORY_NONE || saved.next_jump <= saved.end) &&
                  (saved.next_break == HISTORY_NONE || saved.next_break <= saved.end);
    if (!places) return SLT_ERR_ARGUMENT;
    size_t bytes = (size_t)saved.end * sizeof(ModelPiece);
    SLT_TRY(ENG_GROW(sim, delay->pieces, saved.end));
    saved.pieces = delay->pieces;
    saved.capacity = (uint32_t)ENG_ROOM(delay->pieces);
    memcpy(saved.pieces, in + sizeof saved, bytes);
    saved.varies = sim->model->delays[i].lag != MODEL_NONE;
    *delay = saved;
    refresh_view(delay);
    if (!delay->varies) sim->history.shortest = fmin(sim->history.shortest, delay->delay);
    in += sizeof saved + bytes;
    size -= sizeof saved + bytes;
  }
  return SLT_OK;
}
