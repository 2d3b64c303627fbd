// SPDX-License-Identifier: MIT
//
// The start, instants, and what is read from outside.
#include "sensitivity/internal.h"

#include <math.h>
#include <string.h>

#define SAME 1e-10  // values that differ by less, relative, are one

void sensitivity_lose(Sensitivity* s, const char* why) {
  if (!s->gap) s->gap = why;
}

double* sensitivity_room(Sensitivity* s, Room* room, size_t need) {
  if (need <= room->capacity) return room->data;
  SltAllocator allocator = base_allocator(NULL);
  double* grown = base_realloc(&allocator, room->data, room->capacity * sizeof *grown,
                               base_mul_size(need, sizeof *grown));
  if (!grown) {
    sensitivity_lose(s, "more than there is memory for");
    return NULL;
  }
  room->data = grown;
  room->capacity = need;
  return grown;
}

static double* row_of(const Sensitivity* s, const SensitivityPoint* point, uint32_t place) {
  return point->d + (size_t)place * s->count;
}

static void set_row(const Sensitivity* s, const SensitivityPoint* point, uint32_t place,
                    const double* row) {
  double* to = row_of(s, point, place);
  for (uint32_t k = 0; k < s->count; k++)
    to[k] = row ? row[k] : 0.0;
}

static bool is_computed(const ModelMode* mode, uint32_t var, uint32_t order) {
  const ModelVarMode* role = &mode->vars[var];
  if (role->role == MODEL_ROLE_STATE) return order >= role->state_order;
  return role->role == MODEL_ROLE_ALGEBRAIC;
}

static bool same(double a, double b) {
  return a == b || fabs(a - b) <= SAME * (fabs(a) + fabs(b));
}

// ---- what a mode computes -----------------------------------------------------------------------

const double* sensitivity_values(const Sensitivity* s, const SensitivityPoint* point) {
  return point->env ? point->env : eng_env_states(s->sim);
}

/// Rows of what the mode computes at a point; `time`: the row of its time, NULL where that stands.
/// Values as they are in `check` (NULL: unseen) have to come out too.
static bool differentiate_computed(Sensitivity* s, SensitivityPoint* point, const double* time,
                                   const double* check) {
  const ModelMode* mode = point->mode;
  const ModelProgram* full = &mode->full;
  uint32_t n = mode->state_count;
  size_t rows = (size_t)n * s->count;
  size_t out = (size_t)full->output_count * (1 + (size_t)s->count);
  double* x = sensitivity_room(s, &s->shifted, n + rows + out + 1);
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(full, s->count));
  if (!x || !regs) return false;
  const double* env = sensitivity_values(s, point);
  for (uint32_t i = 0; i < n; i++) {
    x[i] = env[mode->state_env[i]];
    memcpy(x + n + (size_t)i * s->count, row_of(s, point, mode->state_env[i]),
           s->count * sizeof *x);
  }
  ModelSeeds seeds = sensitivity_seeds(s, s->count, 0);
  seeds.time = time;
  seeds.states = x + n;
  seeds.env = point->d;
  double* values = x + n + rows;
  double* d = values + full->output_count;
  if (!model_program_tangent(full, eng_flow_context(s->sim), env, point->t, x, &seeds, regs, values,
                             d)) {
    return false;
  }
  for (uint32_t i = 0; check && i < full->output_count; i++) {
    if (!same(values[i], check[mode->full_env[i]])) return false;
  }
  for (uint32_t i = 0; i < full->output_count; i++)
    set_row(s, point, mode->full_env[i], d + (size_t)i * s->count);
  if (s->trail) trail_program(s, point, time != NULL, x, env);
  return true;
}

static bool complete(Sensitivity* s, SensitivityPoint* point, const double* time) {
  if (point->full || !point->known) return point->full;
  point->full = differentiate_computed(s, point, time, NULL);
  point->known = point->full;
  return point->full;
}

// ---- the start ----------------------------------------------------------------------------------

/// With a trail the row is number `reg` there.
static bool term_row(Sensitivity* s, const SensitivityPoint* point, const ModelTerm* term,
                     const double* time, uint32_t reg, double* value, double* row) {
  ModelSeeds seeds = sensitivity_seeds(s, s->count, 0);
  seeds.time = time;
  seeds.env = point->d;
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(&term->shape->program, s->count));
  ModelContext context = *eng_flow_context(s->sim);
  context.random = s->trail ? NULL : s->random;
  bool known =
      regs && model_term_tangent(term, &context, s->model->numbers, sensitivity_values(s, point),
                                 point->t, &seeds, regs, value, row);
  if (known && s->trail)
    trail_term(s, reg, point, term, time != NULL, sensitivity_values(s, point));
  return known;
}

/// Which parameter something is; count: none.
static uint32_t parameter_of(const Sensitivity* s, bool initial, uint32_t index, uint32_t order) {
  uint32_t k = 0;
  while (k < s->parameter_count &&
         (s->parameters[k].initial != initial || s->parameters[k].index != index ||
          (initial && s->parameters[k].order != order))) {
    k++;
  }
  return k;
}

/// Row of a constant or an initial value: it is a parameter, or given, or computed from others.
static bool start_row(Sensitivity* s, uint32_t parameter, bool given, const ModelTerm* term,
                      uint32_t place, double* value, double* row) {
  uint32_t reg = trail_place(s, &s->after, place);
  memset(row, 0, s->count * sizeof *row);
  if (parameter < s->parameter_count) {
    if (s->trail) {
      trail_seed(s, reg, parameter);
    } else {
      row[parameter] = 1.0;
    }
    return true;
  }
  return given || term_row(s, &s->after, term, NULL, reg, value, row);
}

static void start_constants(Sensitivity* s, double* row) {
  for (uint32_t p = 0; p < s->model->param_count; p++) {
    const ModelParam* param = &s->model->params[p];
    double value = 0.0;
    uint32_t k = parameter_of(s, false, p, 0);
    if (!start_row(s, k, eng_param_given(s->sim, p), &param->value, param->env, &value, row)) {
      sensitivity_lose(s, "a constant without a derivative");
    }
    set_row(s, &s->after, param->env, row);
  }
}

static void start_values(Sensitivity* s, double* row) {
  const ModelMode* mode = eng_mode(s->sim);
  const double* env = eng_env_states(s->sim);
  bool constrained = sensitivity_is_constrained(mode);
  for (uint32_t i = 0; i < s->model->start_count; i++) {
    const ModelStart* start = &s->model->starts[i];
    const ModelVar* var = &s->model->vars[start->var];
    if (start->order >= var->slots) continue;
    double value = env[var->env + start->order];
    uint32_t k = parameter_of(s, true, start->var, start->order);
    bool given = eng_start_given(s->sim, i);
    uint32_t place = var->env + start->order;
    ModelRandom random;
    eng_start_random(s->sim, start, &random);
    s->random = &random;
    if (!start_row(s, k, given, &start->value, place, &value, row)) {
      sensitivity_lose(s, "an initial value without a derivative");
    }
    s->random = NULL;
    set_row(s, &s->after, var->env + start->order, row);
    s->assigned.is[var->env + start->order] = 1;
    bool kept = (constrained && !start->fixed) || is_computed(mode, start->var, start->order) ||
                same(value, env[var->env + start->order]);
    if (!kept) sensitivity_lose(s, "initial values that the equations determine");
  }
  if (constrained && s->trail) sensitivity_lose(s, "constraints of the states, on the way back");
  if (constrained && !s->gap && !sensitivity_start_constrained(s)) {
    sensitivity_lose(s, "initial values that the equations leave open");
  }
  for (uint32_t i = 0; !constrained && i < mode->state_count; i++) {
    uint32_t place = mode->state_env[i];
    if (s->assigned.is[place] || env[place] == 0.0) continue;
    sensitivity_lose(s, "initial values that the equations determine");
  }
}

static void keep_values(Sensitivity* s, SensitivityPoint* point) {
  point->t = eng_time(s->sim);
  point->mode = eng_mode(s->sim);
  point->full = false;
  point->known = eng_motion(s->sim) == ENG_MOTION_MODE;
  memcpy(point->env, eng_env_states(s->sim), 2 * (size_t)s->model->env_count * sizeof(double));
  for (uint32_t i = 0; i < s->model->env_count; i++) {
    if (fabs(point->env[i]) > s->size[i]) s->size[i] = fabs(point->env[i]);
  }
}

static void copy_rows(Sensitivity* s, SensitivityPoint* to, const SensitivityPoint* from) {
  if (s->trail) trail_copy(s, to, from);
  memcpy(to->d, from->d, (size_t)s->model->env_count * s->count * sizeof(double));
}

static void begin_run(Sensitivity* s) {
  s->begun = true;
  if (s->trail && s->model->delay_count) sensitivity_lose(s, "a delay, on the way back");
  double* row = sensitivity_room(s, &s->rows, (size_t)s->count + 1);
  keep_values(s, &s->after);
  if (!row) return;
  start_constants(s, row);
  start_values(s, row);
}

// ---- the time of an instant ---------------------------------------------------------------------

/// From g(tau, x(tau)) = 0; the last direction is that of time.
static bool crossing_row(Sensitivity* s, uint32_t index, const double* x, const double* f,
                         double* row) {
  const ModelMode* mode = s->before.mode;
  uint32_t width = s->count + 1;
  uint32_t n = mode->state_count;
  uint32_t places = s->model->env_count;
  size_t seeds_size = (size_t)(n + places) * width;
  size_t out = (size_t)mode->g_flow.output_count * (1 + (size_t)width);
  double* states = sensitivity_room(s, &s->matrix, seeds_size + width + out);
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(&mode->g_flow, width));
  if (!states || !regs) return false;
  double* env = states + (size_t)n * width;
  double* time = env + (size_t)places * width;
  double* g = time + width;
  double* d = g + mode->g_flow.output_count;
  memset(states, 0, (seeds_size + width) * sizeof *states);
  time[s->count] = 1.0;
  for (uint32_t i = 0; i < places; i++)
    memcpy(env + (size_t)i * width, row_of(s, &s->now, i), s->count * sizeof *env);
  for (uint32_t i = 0; i < n; i++) {
    memcpy(states + (size_t)i * width, row_of(s, &s->now, mode->state_env[i]),
           s->count * sizeof *states);
    states[(size_t)i * width + s->count] = f[i];
  }
  ModelSeeds seeds = sensitivity_seeds(s, width, 0);
  seeds.time = time;
  seeds.states = states;
  seeds.env = env;
  if (!model_program_tangent(&mode->g_flow, eng_flow_context(s->sim), s->before.env, s->before.t, x,
                             &seeds, regs, g, d)) {
    return false;
  }
  const double* moves = d + (size_t)index * width;
  for (uint32_t k = 0; k < s->count; k++)
    row[k] = -moves[k] / moves[s->count];
  if (s->trail) trail_crossing(s, index, moves[s->count], x);
  return moves[s->count] != 0.0;
}

static bool schedule_row(Sensitivity* s, const EngCause* cause, double* row) {
  const ModelSchedule* schedule = &s->model->schedules[cause->index];
  double* period = sensitivity_room(s, &s->matrix, (size_t)s->count + 1);
  double value = 0.0;
  uint32_t time = trail_time(s);
  uint32_t scratch = trail_scratch(s);
  if (!period || !term_row(s, &s->before, &schedule->start, NULL, time, &value, row)) return false;
  if (!schedule->periodic) return true;
  if (!term_row(s, &s->before, &schedule->period, NULL, scratch, &value, period)) return false;
  if (s->trail) trail_add(s, time, (double)cause->number, scratch);
  for (uint32_t k = 0; k < s->count; k++)
    row[k] += (double)cause->number * period[k];
  return true;
}

/// A surface is left where its convex coefficient comes to an end of its range.
static bool exit_row(Sensitivity* s, uint32_t surface, const double* x, const double* f,
                     double* row) {
  uint32_t n = s->before.mode->state_count;
  uint32_t m = eng_surface_count(s->sim);
  uint32_t places = s->model->env_count;
  double* d_x = sensitivity_room(s, &s->matrix, 2 * (size_t)n + m + places);
  if (!d_x) return false;
  double* d_f = d_x + n;
  double* d_alpha = d_f + n;
  double* d_env = d_alpha + m;
  double t = s->before.t;
  if (!sensitivity_sliding(s, t, x, 1.0, f, NULL, d_f, d_alpha)) return false;
  double along = d_alpha[surface];
  for (uint32_t k = 0; k < s->count; k++) {
    for (uint32_t i = 0; i < places; i++) {
      double d = row_of(s, &s->now, i)[k];
      d_env[i] = isnan(d) ? 0.0 : d;
    }
    for (uint32_t i = 0; i < n; i++) {
      d_x[i] = row_of(s, &s->now, s->before.mode->state_env[i])[k];
      d_env[s->before.mode->state_env[i]] = 0.0;
    }
    if (!sensitivity_sliding(s, t, x, 0.0, d_x, d_env, d_f, d_alpha)) return false;
    row[k] = -d_alpha[surface] / along;
  }
  return along != 0.0;
}

/// Derivative of the time of the instant that begins.
static bool time_row(Sensitivity* s, const double* x, const double* f) {
  EngCause cause;
  bool known = false;
  for (uint32_t i = 0; !known && eng_cause(s->sim, i, &cause); i++) {
    switch (cause.reason) {
    case ENG_REASON_LOCATED: known = crossing_row(s, cause.index, x, f, s->time); break;
    case ENG_REASON_SCHEDULE: known = schedule_row(s, &cause, s->time); break;
    case ENG_REASON_EXIT: known = !s->trail && exit_row(s, cause.index, x, f, s->time); break;
    case ENG_REASON_ARRIVAL:
      known = sensitivity_arrival_row(s, cause.index, cause.origin, s->time);
      break;
    default: break;
    }
  }
  return known;
}

/// The motion has come to an instant: everything along its moving time.
static void arrive(Sensitivity* s) {
  const ModelMode* mode = s->before.mode;
  uint32_t n = mode->state_count;
  double* x = sensitivity_room(s, &s->x, 2 * (size_t)n + 1);
  if (!x) return;
  double* f = x + n;
  for (uint32_t i = 0; i < n; i++)
    x[i] = s->before.env[mode->state_env[i]];
  if (s->now.t != s->before.t || !sensitivity_flow(s, s->before.t, x, f)) {
    sensitivity_lose(s, "motion whose flow has no derivative that is known");
    return;
  }
  copy_rows(s, &s->before, &s->now);
  if (!time_row(s, x, f)) {
    sensitivity_lose(s, "an event whose time has no derivative that is known");
    return;
  }
  if (s->trail) trail_flow(s, &s->before, 1.0, mode, f);
  for (uint32_t i = 0; i < n; i++) {
    double* row = row_of(s, &s->before, mode->state_env[i]);
    for (uint32_t k = 0; k < s->count; k++)
      row[k] += f[i] * s->time[k];
  }
}

// ---- what an instant does -----------------------------------------------------------------------

/// What the mode computes has no rows that are known.
static void forget_computed(Sensitivity* s, SensitivityPoint* point) {
  for (uint32_t i = 0; i < point->mode->full.output_count; i++) {
    double* row = row_of(s, point, point->mode->full_env[i]);
    if (s->trail) trail_unknown(s, trail_place(s, point, point->mode->full_env[i]));
    for (uint32_t k = 0; k < s->count; k++)
      row[k] = (double)NAN;
  }
}

static void begins(void* user) {
  Sensitivity* s = user;
  if (s->gap) return;
  memset(s->assigned.is, 0, s->model->env_count);
  s->assigned.count = 0;
  if (!s->begun) {
    begin_run(s);
    memset(s->assigned.is, 0, s->model->env_count);
    keep_values(s, &s->before);
    copy_rows(s, &s->before, &s->after);
    if (s->model->delay_count) sensitivity_history_start(s);
  } else {
    bool goes_on = s->open && s->after.t == eng_time(s->sim);
    keep_values(s, &s->before);
    if (goes_on) {
      copy_rows(s, &s->before, &s->after);
    } else {
      if (s->open) sensitivity_take_over(s);
      arrive(s);
    }
  }
  if (s->gap) return;
  if (!complete(s, &s->before, s->time)) forget_computed(s, &s->before);
  copy_rows(s, &s->after, &s->before);
  s->stale = false;
}

/// After assignments: rows of what the present mode computes, if the run has computed it anew.
static void refresh_computed(Sensitivity* s) {
  s->stale = false;
  SensitivityPoint point = {
      .mode = eng_mode(s->sim), .t = eng_time(s->sim), .d = s->after.d, .known = true};
  differentiate_computed(s, &point, s->time, eng_env_states(s->sim));
}

static void evaluates(void* user, uint32_t action, double value, const ModelRandom* random) {
  Sensitivity* s = user;
  const ModelAction* model = &s->model->actions[action];
  if (s->gap || model->guess) return;
  if (s->stale) refresh_computed(s);
  Assigned* assigned = &s->assigned;
  if (assigned->count == assigned->capacity) {
    sensitivity_lose(s, "an instant with too many assignments");
    return;
  }
  double* row = assigned->rows + (size_t)assigned->count * s->count;
  double check = 0.0;
  SensitivityPoint point = {.t = eng_time(s->sim), .d = s->after.d};
  uint32_t reg = trail_assigned(s, assigned->count);
  ModelRandom stream = *random;
  s->random = &stream;
  bool known = term_row(s, &point, &model->value, s->time, reg, &check, row) && same(check, value);
  s->random = NULL;
  for (uint32_t k = 0; known && k < s->count; k++)
    known = !isnan(row[k]);
  if (!known) sensitivity_lose(s, "an assignment without a derivative");
  assigned->value[model->env] = value;
  assigned->place[assigned->count++] = model->env;
}

static void assigns(void* user) {
  Sensitivity* s = user;
  for (uint32_t i = 0; !s->gap && i < s->assigned.count; i++) {
    set_row(s, &s->after, s->assigned.place[i], s->assigned.rows + (size_t)i * s->count);
    s->assigned.is[s->assigned.place[i]] = 1;
    if (!s->trail) continue;
    trail_move(s, trail_place(s, &s->after, s->assigned.place[i]), trail_assigned(s, i));
  }
  s->stale |= s->assigned.count > 0;
  s->assigned.count = 0;
}

static void discards(void* user) {
  sensitivity_lose(user, "a configuration that is discarded");
}

/// What was assigned, or nothing, has to be what the instant leaves: else the equations of the new
/// mode, impulses or contacts had a say.
static void check_place(Sensitivity* s, uint32_t place, bool zero) {
  double value = s->after.env[place];
  double expected = s->assigned.is[place] ? s->assigned.value[place] : s->before.env[place];
  if (same(value, expected)) return;
  if (zero && value == 0.0) {
    set_row(s, &s->after, place, NULL);
    if (s->trail) trail_zero(s, trail_place(s, &s->after, place));
    return;
  }
  sensitivity_lose(s, "values that the equations of a mode determine when it is entered");
}

static void ends(void* user) {
  Sensitivity* s = user;
  if (s->gap) return;
  const Model* model = s->model;
  keep_values(s, &s->after);
  for (uint32_t v = 0; v < model->var_count; v++) {
    const ModelVar* var = &model->vars[v];
    bool zero = var->inactive_zero && s->after.mode->vars[v].role == MODEL_ROLE_UNDETERMINED;
    for (uint32_t order = 0; order < var->slots; order++) {
      if (!is_computed(s->after.mode, v, order)) check_place(s, var->env + order, zero);
    }
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    uint32_t place = model->automata[a].entry_env;
    bool entered = place != MODEL_NONE && s->after.env[place] != s->before.env[place];
    if (entered) set_row(s, &s->after, place, s->time);
    if (entered && s->trail) {
      trail_zero(s, trail_place(s, &s->after, place));
      trail_add(s, trail_place(s, &s->after, place), 1.0, trail_time(s));
    }
  }
  if (model->delay_count) sensitivity_history_instant(s);
  s->open = true;
}

/// A row at a time that stands, from the one along the moving time of the instant. What goes
/// through the instant as if there were none keeps the row it had: of an event that all but grazes,
/// whose time moves a lot, adding and taking away would leave nothing but rounding.
static void stand_still(const Sensitivity* s, uint32_t place, double flow, double* out) {
  const double* now = row_of(s, &s->now, place);
  const double* after = row_of(s, &s->after, place);
  for (uint32_t k = 0; k < s->count; k++) {
    double shift = flow * s->time[k];
    out[k] = now[k] + shift == after[k] ? now[k] : after[k] - shift;
  }
}

void sensitivity_take_over(Sensitivity* s) {
  s->open = false;
  const ModelMode* mode = s->after.mode;
  uint32_t n = mode->state_count;
  double* x = sensitivity_room(s, &s->x, 2 * (size_t)n + 1);
  if (!x) return;
  for (uint32_t i = 0; i < n; i++)
    x[i] = s->after.env[mode->state_env[i]];
  if (!sensitivity_flow(s, s->after.t, x, x + n)) {
    sensitivity_lose(s, "motion whose flow has no derivative that is known");
    return;
  }
  double* rows = sensitivity_room(s, &s->rows, (size_t)n * s->count + 1);
  if (!rows) return;
  for (uint32_t i = 0; i < n; i++)
    stand_still(s, mode->state_env[i], x[n + i], rows + (size_t)i * s->count);
  copy_rows(s, &s->now, &s->after);
  for (uint32_t i = 0; i < n; i++)
    set_row(s, &s->now, mode->state_env[i], rows + (size_t)i * s->count);
  if (s->trail) trail_flow(s, &s->now, -1.0, mode, x + n);
  s->now.t = s->after.t;
  s->now.mode = mode;
  s->look.t = (double)NAN;
}

// ---- what is read -------------------------------------------------------------------------------

/// The point that is looked at, at a time that stands.
static SensitivityPoint* look_here(Sensitivity* s) {
  double t = eng_time(s->sim);
  SensitivityPoint* look = &s->look;
  if (s->open) sensitivity_take_over(s);
  if (look->t == t) return look;
  const ModelMode* mode = s->now.mode;
  double* rows = sensitivity_room(s, &s->rows, (size_t)s->stretch.n * s->count + 1);
  if (!rows) return look;
  copy_rows(s, look, &s->now);
  if (t != s->now.t) sensitivity_interpolate(s, t, rows);
  for (uint32_t i = 0; t != s->now.t && i < s->stretch.n; i++)
    set_row(s, look, mode->state_env[i], rows + (size_t)i * s->count);
  look->t = t;
  look->mode = mode;
  look->full = false;
  look->known = eng_motion(s->sim) == ENG_MOTION_MODE;
  return look;
}

static SensitivityPoint* point_at(Sensitivity* s, SensitivityWhen when) {
  switch (when) {
  case SENSITIVITY_BEFORE: return &s->before;
  case SENSITIVITY_AFTER: return &s->after;
  case SENSITIVITY_NOW:
  default: return look_here(s);
  }
}

static const double* time_at(const Sensitivity* s, SensitivityWhen when) {
  return when == SENSITIVITY_NOW ? NULL : s->time;
}

static bool is_known(const Sensitivity* s, const double* row) {
  for (uint32_t k = 0; k < s->count; k++) {
    if (!isfinite(row[k])) return false;
  }
  return !s->gap;
}

bool sensitivity_of_variable(Sensitivity* s, SensitivityWhen when, uint32_t var, uint32_t order,
                             double* out) {
  if (s->gap || s->trail) return false;
  SensitivityPoint* point = point_at(s, when);
  if (order >= s->model->vars[var].slots) return false;
  if (is_computed(point->mode, var, order) && !complete(s, point, time_at(s, when))) return false;
  memcpy(out, row_of(s, point, s->model->vars[var].env + order), s->count * sizeof *out);
  return is_known(s, out);
}

bool sensitivity_of_constant(const Sensitivity* s, uint32_t param, double* out) {
  memcpy(out, row_of(s, &s->after, s->model->params[param].env), s->count * sizeof *out);
  return is_known(s, out);
}

bool sensitivity_term(Sensitivity* s, SensitivityWhen when, const ModelTerm* term, double* value,
                      double* row) {
  return term_row(s, point_at(s, when), term, time_at(s, when), trail_scratch(s), value, row);
}

bool sensitivity_of_term(Sensitivity* s, SensitivityWhen when, const ModelTerm* term, double* out) {
  if (s->gap) return false;
  SensitivityPoint* point = point_at(s, when);
  double value = 0.0;
  if (!point->env) eng_env(s->sim);
  return complete(s, point, time_at(s, when)) && sensitivity_term(s, when, term, &value, out) &&
         is_known(s, out);
}

bool sensitivity_mark_variable(Sensitivity* s, SensitivityWhen when, uint32_t var, uint32_t order,
                               uint32_t* mark) {
  if (s->gap || !s->trail || order >= s->model->vars[var].slots) return false;
  SensitivityPoint* point = point_at(s, when);
  if (is_computed(point->mode, var, order) && !complete(s, point, time_at(s, when))) return false;
  *mark = trail_mark(s, trail_place(s, point, s->model->vars[var].env + order));
  return true;
}

bool sensitivity_mark_constant(Sensitivity* s, uint32_t param, uint32_t* mark) {
  if (s->gap || !s->trail) return false;
  *mark = trail_mark(s, trail_place(s, &s->after, s->model->params[param].env));
  return true;
}

bool sensitivity_mark_term(Sensitivity* s, SensitivityWhen when, const ModelTerm* term,
                           uint32_t* mark) {
  double value = 0.0;
  if (!s->trail || !sensitivity_of_term(s, when, term, &value)) return false;
  *mark = trail_mark(s, trail_scratch(s));
  return true;
}

bool sensitivity_mark_time(Sensitivity* s, uint32_t* mark) {
  if (s->gap || !s->trail) return false;
  *mark = trail_mark(s, trail_time(s));
  return true;
}

const double* sensitivity_of_time(const Sensitivity* s) {
  return s->time;
}

const char* sensitivity_gap(const Sensitivity* s) {
  return s->gap;
}

// ---- creation -----------------------------------------------------------------------------------

static void* take(size_t count, size_t size, bool* good) {
  SltAllocator allocator = base_allocator(NULL);
  void* data = base_alloc(&allocator, base_mul_size(count ? count : 1, size));
  *good &= data != NULL;
  if (data) memset(data, 0, (count ? count : 1) * size);
  return data;
}

static void give(void* data, size_t count, size_t size) {
  SltAllocator allocator = base_allocator(NULL);
  base_free(&allocator, data, (count ? count : 1) * size);
}

static void give_room(const Room* room) {
  if (room->data) give(room->data, room->capacity, sizeof(double));
}

/// Every pointer to memory of known size: for taking it and giving it back.
static void each_block(Sensitivity* s, bool* good, bool back) {
  size_t places = s->model->env_count;
  size_t rows = base_mul_size(places, s->count);
  struct {
    void** at;
    size_t count, size;
  } blocks[] = {
      {(void**)&s->parameters, s->parameter_count, sizeof *s->parameters},
      {(void**)&s->now.d, rows, sizeof(double)},
      {(void**)&s->look.d, rows, sizeof(double)},
      {(void**)&s->before.d, rows, sizeof(double)},
      {(void**)&s->after.d, rows, sizeof(double)},
      {(void**)&s->before.env, 2 * places, sizeof(double)},
      {(void**)&s->after.env, 2 * places, sizeof(double)},
      {(void**)&s->time, s->count, sizeof(double)},
      {(void**)&s->size, places, sizeof(double)},
      {(void**)&s->rate, places, sizeof(double)},
      {(void**)&s->assigned.value, places, sizeof(double)},
      {(void**)&s->assigned.is, places, 1},
      {(void**)&s->assigned.place, s->assigned.capacity, sizeof(uint32_t)},
      {(void**)&s->assigned.rows, (size_t)s->assigned.capacity * s->count, sizeof(double)},
      {(void**)&s->history, s->model->delay_count, sizeof *s->history},
  };
  for (size_t i = 0; i < SLT_COUNT(blocks); i++) {
    if (!back) {
      *blocks[i].at = take(blocks[i].count, blocks[i].size, good);
    } else if (*blocks[i].at) {
      give(*blocks[i].at, blocks[i].count, blocks[i].size);
    }
  }
}

SltStatus sensitivity_create(EngSim* sim, const SensitivityParameter* parameters, uint32_t count,
                             bool backwards, Sensitivity** out) {
  bool good = true;
  *out = NULL;
  Sensitivity* s = take(1, sizeof *s, &good);
  if (!s) return SLT_ERR_NOMEM;
  s->sim = sim;
  s->model = eng_model(sim);
  s->parameter_count = count;
  s->count = backwards ? 0 : count;
  s->assigned.capacity = 2 * s->model->action_count + 16;
  s->look.t = (double)NAN;
  each_block(s, &good, false);
  if (good && backwards) good = trail_create(s);
  if (!good) {
    sensitivity_free(s);
    return SLT_ERR_NOMEM;
  }
  memcpy(s->parameters, parameters, count * sizeof *parameters);
  s->instants.rows = 1;
  for (uint32_t i = 0; i < s->model->delay_count; i++)
    s->history[i].rows = SENSITIVITY_NODES + 1;
  sensitivity_collocation(&s->collocation);
  s->observer = (EngObserver){s, begins, evaluates, assigns, discards, ends};
  eng_observe(sim, &s->observer);
  *out = s;
  return SLT_OK;
}

void sensitivity_free(Sensitivity* s) {
  if (!s) return;
  eng_observe(s->sim, NULL);
  Room rooms[] = {s->regs,         s->x,       s->rows,
                  s->matrix,       s->shifted, {s->stretch.begin, s->stretch.capacity},
                  s->instants.room};
  for (size_t i = 0; i < SLT_COUNT(rooms); i++)
    give_room(&rooms[i]);
  for (uint32_t i = 0; s->history && i < s->model->delay_count; i++)
    give_room(&s->history[i].room);
  each_block(s, NULL, true);
  trail_free(s);
  give(s, 1, sizeof *s);
}
