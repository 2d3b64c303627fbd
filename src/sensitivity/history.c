// SPDX-License-Identifier: MIT
//
// How the history of delayed variables moves. Rows of a stretch are kept for as long as somebody
// may read them, and the moving times of instants, since what jumped there arrives a delay later:
// at that time plus the delay, both of which move.
#include "sensitivity/internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define POINTS     (SENSITIVITY_NODES + 1)  // of a piece: its begin and the nodes
#define SLACK_ULPS 16.0                     // times of a jump, by the run and by its pieces

// ---- lists of times with rows -------------------------------------------------------------------

static size_t stride_of(const RowList* list, uint32_t count) {
  return 2 + (size_t)list->rows * count;
}

static double* entry_of(const RowList* list, uint32_t count, size_t i) {
  return list->room.data + i * stride_of(list, count);
}

/// A new entry at the end; those that end before `from` are forgotten, but for one.
static double* append(Sensitivity* s, RowList* list, double from) {
  size_t stride = stride_of(list, s->count);
  size_t old = 0;
  while (old + 1 < list->end && entry_of(list, s->count, old + 1)[1] < from)
    old++;
  if (old > list->end / 2) {
    list->end -= old;
    memmove(list->room.data, list->room.data + old * stride,
            list->end * stride * sizeof *list->room.data);
  }
  if ((list->end + 1) * stride > list->room.capacity) {
    if (!sensitivity_room(s, &list->room, 2 * (list->end + 1) * stride)) return NULL;
  }
  return entry_of(list, s->count, list->end++);
}

/// The last entry that begins at or before t, the first for earlier times.
static const double* find(const RowList* list, uint32_t count, double t) {
  size_t low = 0;
  size_t high = list->end;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (entry_of(list, count, middle)[0] <= t) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return entry_of(list, count, low);
}

// ---- reading ------------------------------------------------------------------------------------

/// The piece that the run itself reads at a time: at a jump that has not arrived yet the one before
/// it, and from then on the one behind it.
static const double* piece_at(const Sensitivity* s, const ModelHistory* view, const RowList* list,
                              double* at) {
  double lo = view->pieces[view->begin].t0;
  double hi = view->pieces[view->end - 1].t1;
  double slack = SLACK_ULPS * DBL_EPSILON * fmax(fabs(lo), fabs(hi));
  *at = fmin(fmax(*at, lo), hi);
  double look = *at;
  if (*at <= lo + slack) {
    look = lo + slack;
  } else if (*at >= hi - slack) {
    look = hi - 2.0 * slack;
  }
  return find(list, s->count, look);
}

static uint32_t delay_of(const Sensitivity* s, uint32_t table) {
  uint32_t i = 0;
  while (i < s->model->delay_count && s->model->delays[i].table != table)
    i++;
  return i;
}

bool sensitivity_history_row(void* user, uint32_t table, double at, int order, double* row) {
  const HistorySeeds* seeds = user;
  Sensitivity* s = seeds->s;
  uint32_t delay = delay_of(s, table);
  const ModelHistory* view = eng_flow_context(s->sim)->tables[table].history;
  if (delay == s->model->delay_count || order > 1 || view->end == view->begin) return false;
  const RowList* list = &s->history[delay];
  if (!list->end) return true;  // the run is about to start
  const double* piece = piece_at(s, view, list, &at);
  double length = piece[1] - piece[0];
  double weight[POINTS];
  double c = length > 0.0 ? (at - piece[0]) / length : 1.0;
  sensitivity_weights(&s->collocation, fmin(fmax(c, 0.0), 1.0), order, weight);
  for (uint32_t k = 0; k < s->count; k++) {
    double sum = 0.0;
    for (int j = 0; j < POINTS; j++)
      sum += weight[j] * piece[2 + (size_t)j * s->count + k];
    row[seeds->offset + k] = order && length > 0.0 ? sum / length : sum;
  }
  return true;
}

ModelSeeds sensitivity_seeds(Sensitivity* s, uint32_t width, uint32_t offset) {
  HistorySeeds* history = offset ? &s->history_behind : &s->history_seeds;
  *history = (HistorySeeds){s, offset};
  return (ModelSeeds){.count = width,
                      .env_count = s->model->env_count,
                      .history = s->model->delay_count ? sensitivity_history_row : NULL,
                      .user = history};
}

// ---- keeping ------------------------------------------------------------------------------------

/// Before the start a variable has one value, which may be computed from others of the kind.
static bool keep_start(Sensitivity* s, uint32_t delay) {
  const ModelDelay* model = &s->model->delays[delay];
  RowList* list = &s->history[delay];
  double* row = sensitivity_room(s, &s->x, s->count);
  double value = 0.0;
  if (!row) return false;
  bool known = model->before ? sensitivity_term(s, SENSITIVITY_BEFORE, model->before, &value, row)
                             : sensitivity_of_variable(s, SENSITIVITY_BEFORE, model->var, 0, row);
  if (!known) return false;
  list->end = 0;
  double* piece = append(s, list, -HUGE_VAL);
  if (!piece) return false;
  piece[0] = -HUGE_VAL;
  piece[1] = s->before.t;
  for (int j = 0; j < POINTS; j++)
    memcpy(piece + 2 + (size_t)j * s->count, row, s->count * sizeof *row);
  return true;
}

void sensitivity_history_start(Sensitivity* s) {
  bool known = true;
  for (uint32_t turn = 0; turn <= s->model->delay_count; turn++) {
    for (uint32_t i = 0; known && i < s->model->delay_count; i++) {
      s->before.full = false;
      known = keep_start(s, i);
      if (s->model->delays[i].linear) sensitivity_lose(s, "a delay with straight lines");
    }
  }
  if (!known) sensitivity_lose(s, "a delayed value without a derivative");
}

static double longest_delay(Sensitivity* s) {
  double longest = 0.0;
  for (uint32_t i = 0; i < s->model->delay_count; i++) {
    const ModelHistory* view = eng_flow_context(s->sim)->tables[s->model->delays[i].table].history;
    longest = fmax(longest, s->now.t - view->pieces[view->begin].t0);
  }
  return longest;
}

/// Rows of a variable that the mode computes, at a point of the stretch.
static bool computed_row(Sensitivity* s, uint32_t var, double t, double* row) {
  double end = s->stretch.a + s->stretch.h;
  bool seen = eng_look(s->sim, t) >= 0 || eng_look(s->sim, nextafter(end, s->stretch.a)) >= 0;
  return seen && sensitivity_of_variable(s, SENSITIVITY_NOW, var, 0, row);
}

static bool keep_stretch(Sensitivity* s, uint32_t delay, double from) {
  const ModelDelay* model = &s->model->delays[delay];
  const ModelMode* mode = eng_mode(s->sim);
  uint32_t place = s->model->vars[model->var].env;
  uint32_t state = 0;
  while (state < mode->state_count && mode->state_env[state] != place)
    state++;
  double* piece = append(s, &s->history[delay], from);
  if (!piece) return false;
  piece[0] = s->stretch.a;
  piece[1] = s->stretch.a + s->stretch.h;
  bool computed = mode->vars[model->var].role == MODEL_ROLE_ALGEBRAIC;
  size_t rows = (size_t)s->stretch.n * s->count;
  bool known = true;
  for (int j = 0; known && j < POINTS; j++) {
    double* row = piece + 2 + (size_t)j * s->count;
    double weight = 0.0;
    double t = j ? sensitivity_node(s, (uint32_t)j - 1, &weight) : s->stretch.a;
    const double* own = s->now.d + (size_t)place * s->count;
    if (state < mode->state_count)
      own = s->stretch.begin + (size_t)j * rows + (size_t)state * s->count;
    if (computed) {
      known = computed_row(s, model->var, t, row);
    } else {
      memcpy(row, own, s->count * sizeof *row);
    }
  }
  return known;
}

void sensitivity_history_keep(Sensitivity* s) {
  double from = s->now.t - 2.0 * longest_delay(s);
  for (uint32_t i = 0; !s->gap && i < s->model->delay_count; i++) {
    if (!keep_stretch(s, i, from)) sensitivity_lose(s, "a delayed value without a derivative");
  }
}

void sensitivity_history_instant(Sensitivity* s) {
  double from = s->after.t - 2.0 * longest_delay(s);
  double* entry = append(s, &s->instants, from);
  if (!entry) return;
  entry[0] = entry[1] = s->after.t;
  memcpy(entry + 2, s->time, s->count * sizeof *entry);
}

bool sensitivity_arrival_row(Sensitivity* s, uint32_t delay, double origin, double* row) {
  double value = 0.0;
  double* part = sensitivity_room(s, &s->matrix, s->count);
  const ModelDelay* model = &s->model->delays[delay];
  if (!part || !sensitivity_term(s, SENSITIVITY_BEFORE, &model->time, &value, row)) return false;
  double slack = SLACK_ULPS * DBL_EPSILON * fmax(fabs(origin), value);
  const double* entry = s->instants.end ? find(&s->instants, s->count, origin + slack) : NULL;
  if (!entry || fabs(entry[0] - origin) > slack) return false;
  for (uint32_t k = 0; k < s->count; k++)
    row[k] += entry[2 + k];
  return true;
}
