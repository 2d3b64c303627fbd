// SPDX-License-Identifier: MIT
//
// The recorder drives a run through the public functions only and decides which rows there are:
// one at the start, one per point of the grid, two around an instant that changes something, one at
// the end. Rows come from dense output, so the grid never influences the run.
#include "record/record.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RECORDER_COOKIE 0x5265636fu
#define GRID_MAX        9007199254740992.0  // 2^53: points beyond it cannot be numbered exactly
#define UNIT_TEXT_MAX   128
#define ROWS_MAX        1024  // written before it is asked again whether to go on
#define HIDDEN_MAX      16    // automata kept for a picture, which shows a few of them

/// Points `start + k * step`; with samples `start + k * span / count`, which rounds once and so
/// gives the decimals one expects.
typedef struct Grid {
  double start, end;
  double step;
  double span;
  uint32_t count;  // 0: by step
  double k;        // a whole number, the next point
} Grid;

/// A column and, where another unit was asked for, both.
typedef struct Column {
  SltQuantity quantity;
  bool converts;
  Unit from, to;
} Column;

struct SltRecorder {
  SltSim* sim;
  SltAllocator allocator;
  double every;
  uint32_t samples;
  bool all_steps;
  SltEventRows event_rows;
  Column* columns;  // the time first; hidden ones last
  uint32_t column_count, column_capacity;
  uint32_t visible_count;
  RowCell* before;
  RowCell* now;
  RowSink* rows;    // what the caller asked for; NULL: nothing
  RowSink* memory;  // rows for pictures, with the hidden columns; NULL: none
  uint64_t row_count;
  bool has_events;
  bool event_table;  // as CSV
  Sink events;
  SltEventFn* on_event;
  void* on_event_user;
  SltRowFn* on_row;
  void* on_row_user;

  Grid grid;             // of the present or the last run
  uint64_t header_hash;  // tells recordings with other columns apart
  bool started;
  bool begun;         // what stands before the rows is written
  bool continued;     // the run goes on from a checkpoint, and so does the grid
  bool mode_changed;  // by the records of the present advance
  bool jumped;        // ... of the instant: not only kinks
  bool recorded;      // there was a record in the present advance
  bool has_row;
  double t_start;  // of the run
  double t_row;    // of the last row
  double t_row_before;
  bool end_row;      // the last row is there because the run ended: a longer one would not have it
  SltStatus status;  // the first error of writing or keeping rows
};

SltRecorderOptions slt_recorder_options(void) {
  return (SltRecorderOptions){
      .every = (double)NAN, .samples = 500, .bands = true, .cookie = RECORDER_COOKIE};
}

// ---- creation -----------------------------------------------------------------------------------

/// Unit of a quantity; that of a model's time is always known.
static SltStatus unit_of(const SltRecorder* r, SltQuantity quantity, Unit* unit,
                         char text[UNIT_TEXT_MAX]) {
  SLT_TRY(slt_sim_unit(r->sim, quantity, text, UNIT_TEXT_MAX));
  const char* known = quantity.kind == SLT_KIND_TIME ? "s" : text;
  return unit_read(str_from_c(known), unit) ? SLT_OK : SLT_ERR_ARGUMENT;
}

/// `x in UNIT`. A quantity of that very name is looked for before.
static SltStatus find_converted(const SltRecorder* r, const char* name, Column* out,
                                char unit[UNIT_TEXT_MAX]) {
  const char* in = NULL;
  for (const char* at = strstr(name, " in "); at; at = strstr(at + 1, " in "))
    in = at;
  size_t length = in ? (size_t)(in - name) : 0;
  char* plain = in ? base_alloc(&r->allocator, length + 1) : NULL;
  if (!in) return SLT_ERR_NOT_FOUND;
  if (!plain) return SLT_ERR_NOMEM;
  memcpy(plain, name, length);
  plain[length] = '\0';
  SltStatus status = slt_sim_find(r->sim, plain, &out->quantity);
  base_free(&r->allocator, plain, length + 1);
  SLT_TRY(status);
  const char* wanted = in + sizeof " in " - 1;
  SLT_TRY(unit_of(r, out->quantity, &out->from, unit));
  if (strlen(wanted) >= UNIT_TEXT_MAX || !unit_read(str_from_c(wanted), &out->to)) {
    return SLT_ERR_ARGUMENT;
  }
  snprintf(unit, UNIT_TEXT_MAX, "%s", wanted);
  out->converts = true;
  return unit_same_dimension(out->from, out->to) ? SLT_OK : SLT_ERR_ARGUMENT;
}

static SltStatus find_column(const SltRecorder* r, const char* name, Column* out,
                             char unit[UNIT_TEXT_MAX]) {
  *out = (Column){.quantity.kind = SLT_KIND_TIME};
  SltStatus status = r->column_count ? slt_sim_find(r->sim, name, &out->quantity) : SLT_OK;
  if (status == SLT_ERR_NOT_FOUND) return find_converted(r, name, out, unit);
  SLT_TRY(status);
  return slt_sim_unit(r->sim, out->quantity, unit, UNIT_TEXT_MAX);
}

static SltStatus add_column(SltRecorder* r, const char* name, bool hidden) {
  char unit[UNIT_TEXT_MAX] = "";
  Column column;
  SLT_TRY(find_column(r, name, &column, unit));
  SLT_ASSERT(r->column_count < r->column_capacity);
  r->columns[r->column_count++] = column;
  if (r->memory) {
    SLT_TRY(table_add_column(memory_sink_table(r->memory), str_from_c(name), unit, hidden));
  }
  if (hidden) return SLT_OK;
  r->visible_count = r->column_count;
  r->header_hash = hash_bytes(name, strlen(name) + 1, r->header_hash);
  return r->rows ? r->rows->class->column(r->rows, name, unit) : SLT_OK;
}

/// The time column stands first and once, whether it was named or not. A model's own `time` is
/// another quantity and has a column like others.
static SltStatus add_named(SltRecorder* r, const SltRecorderOptions* options,
                           const char** bad_name) {
  for (uint32_t i = 0; i < options->name_count; i++) {
    const char* name = options->names[i];
    SltQuantity quantity;
    if (!name) return SLT_ERR_ARGUMENT;
    SltStatus status = slt_sim_find(r->sim, name, &quantity);
    if (status >= 0 && quantity.kind == SLT_KIND_TIME) continue;
    status = add_column(r, name, false);
    bool named = status == SLT_ERR_NOT_FOUND || status == SLT_ERR_ARGUMENT;
    if (named && bad_name) *bad_name = name;
    SLT_TRY(status);
  }
  return SLT_OK;
}

static SltStatus add_default(SltRecorder* r, const char** bad_name) {
  uint32_t count = slt_sim_column_count(r->sim);
  for (uint32_t i = 0; i < count; i++) {
    const char* name = slt_sim_column_name(r->sim, i);
    SltStatus status = add_column(r, name, false);
    if (status == SLT_ERR_NOT_FOUND && bad_name) *bad_name = name;
    SLT_TRY(status);
  }
  return SLT_OK;
}

static uint32_t hidden_count(const SltSim* sim) {
  uint32_t count = slt_sim_automaton_count(sim);
  return count < HIDDEN_MAX ? count : HIDDEN_MAX;
}

/// States of the automata, as hidden columns: pictures show them as a band.
static SltStatus add_automata(SltRecorder* r) {
  for (uint32_t i = 0; i < hidden_count(r->sim); i++) {
    const char* name = slt_sim_automaton_name(r->sim, i);
    size_t size = strlen(name) + sizeof ".state";
    char* column = base_alloc(&r->allocator, size);
    if (!column) return SLT_ERR_NOMEM;
    snprintf(column, size, "%s.state", name);
    SltStatus status = add_column(r, column, true);
    base_free(&r->allocator, column, size);
    // an automaton that cannot be named from outside has no band
    if (status < 0 && status != SLT_ERR_NOT_FOUND) return status;
  }
  return SLT_OK;
}

static SltStatus take_memory(SltRecorder* r, const SltRecorderOptions* options) {
  r->column_capacity = 1 + (options->names ? options->name_count : slt_sim_column_count(r->sim));
  if (options->keep && options->bands) r->column_capacity += hidden_count(r->sim);
  size_t count = r->column_capacity;
  r->columns = base_alloc(&r->allocator, base_mul_size(count, sizeof *r->columns));
  r->before = base_alloc(&r->allocator, base_mul_size(count, sizeof *r->before));
  r->now = base_alloc(&r->allocator, base_mul_size(count, sizeof *r->now));
  if (!r->columns || !r->before || !r->now) return SLT_ERR_NOMEM;
  if (options->keep) SLT_TRY(memory_sink_create(&r->memory));
  if (options->rows.write) SLT_TRY(row_sink_create(options->format, options->rows, &r->rows));
  if (r->rows) r->rows->unit_row = options->unit_row;
  return sink_init(&r->events, options->events);
}

static SltStatus set_up(SltRecorder* r, const SltRecorderOptions* options, const char** bad_name) {
  SLT_TRY(take_memory(r, options));
  r->header_hash =
      hash_mix(RECORDER_COOKIE, (uint64_t)options->format | (uint64_t)options->unit_row << 32);
  SLT_TRY(add_column(r, "time", false));
  SLT_TRY(options->names ? add_named(r, options, bad_name) : add_default(r, bad_name));
  return r->memory && options->bands ? add_automata(r) : SLT_OK;
}

static bool options_valid(const SltRecorderOptions* options) {
  if (options->cookie != RECORDER_COOKIE) return false;
  if (!isnan(options->every) && !(options->every > 0.0 && isfinite(options->every))) return false;
  if (isnan(options->every) && !options->all_steps && options->samples == 0) return false;
  return options->names || options->name_count == 0;
}

static void on_event(void* user, const SltEvent* event);

SltStatus slt_recorder_create(SltSim* sim, const SltRecorderOptions* options, SltRecorder** out,
                              const char** bad_name) {
  if (bad_name) *bad_name = NULL;
  if (out) *out = NULL;
  if (!sim || !options || !out || !options_valid(options)) return SLT_ERR_ARGUMENT;
  SltAllocator allocator = base_allocator(NULL);
  SltRecorder* r = base_alloc(&allocator, sizeof *r);
  if (!r) return SLT_ERR_NOMEM;
  *r = (SltRecorder){.sim = sim,
                     .allocator = allocator,
                     .every = options->every,
                     .samples = options->samples,
                     .all_steps = options->all_steps,
                     .event_rows = options->event_rows,
                     .has_events = options->events.write != NULL,
                     .event_table = options->event_table};
  SltStatus status = set_up(r, options, bad_name);
  if (status < 0) {
    slt_recorder_free(r);
    return status;
  }
  slt_sim_on_event(sim, on_event, r);
  *out = r;
  return SLT_OK;
}

void slt_recorder_free(SltRecorder* recorder) {
  SltRecorder* r = recorder;
  if (!r) return;
  slt_sim_on_event(r->sim, NULL, NULL);
  SltAllocator allocator = r->allocator;
  sink_clear(&r->events);
  if (r->rows) r->rows->class->free(r->rows);
  if (r->memory) r->memory->class->free(r->memory);
  base_free(&allocator, r->columns, r->column_capacity * sizeof *r->columns);
  base_free(&allocator, r->before, r->column_capacity * sizeof *r->before);
  base_free(&allocator, r->now, r->column_capacity * sizeof *r->now);
  base_free(&allocator, r, sizeof *r);
}

void slt_recorder_on_event(SltRecorder* recorder, SltEventFn* fn, void* user) {
  if (!recorder) return;
  recorder->on_event = fn;
  recorder->on_event_user = user;
}

void slt_recorder_on_row(SltRecorder* recorder, SltRowFn* fn, void* user) {
  if (!recorder) return;
  recorder->on_row = fn;
  recorder->on_row_user = user;
}

const SltTable* slt_recorder_table(const SltRecorder* recorder) {
  return recorder ? memory_sink_table(recorder->memory) : NULL;
}

SltTable* slt_recorder_take_table(SltRecorder* recorder) {
  if (!recorder || !recorder->memory) return NULL;
  SltTable* table = memory_sink_take(recorder->memory);
  recorder->memory->class->free(recorder->memory);
  recorder->memory = NULL;
  return table;
}

// ---- events -------------------------------------------------------------------------------------

/// Whether a record tells of a change of the mode. A discarded candidate is none, and neither is a
/// switch that only stands in an equation.
static bool changes_mode(const SltEvent* event) {
  switch (event->kind) {
  case SLT_EVENT_SLIDE_IN:
  case SLT_EVENT_SLIDE_OUT:
  case SLT_EVENT_ZENO: return true;
  case SLT_EVENT_INITIAL:
  case SLT_EVENT_TIME:
  case SLT_EVENT_STATE:
  case SLT_EVENT_REINIT:
  case SLT_EVENT_CHATTER:
  case SLT_EVENT_LIMIT:
  case SLT_EVENT_STOP: break;
  }
  if (event->event_class == SLT_CLASS_MYTHICAL || !event->automaton) return false;
  if (strncmp(event->automaton, "if@", 3) == 0) return false;
  return event->from && event->to && strcmp(event->from, event->to) != 0;
}

static void on_event(void* user, const SltEvent* event) {
  SltRecorder* r = user;
  r->recorded = true;
  r->jumped = r->jumped || !event->kink;
  r->mode_changed = r->mode_changed || changes_mode(event);
  if (r->has_events && r->event_table) {
    events_write_csv(&r->events, event);
  } else if (r->has_events) {
    events_write(&r->events, event);
  }
  if (r->on_event) r->on_event(r->on_event_user, event);
}

// ---- rows ---------------------------------------------------------------------------------------

static void read_cells(const SltRecorder* r, bool before, RowCell* out) {
  out[0] = (RowCell){.value = slt_sim_time(r->sim)};
  for (uint32_t i = 1; i < r->column_count; i++) {
    const Column* column = &r->columns[i];
    SltQuantity quantity = column->quantity;
    if (quantity.kind == SLT_KIND_MODE) {
      out[i].text =
          before ? slt_sim_mode_name_before(r->sim, quantity) : slt_sim_mode_name(r->sim, quantity);
      out[i].value = (double)NAN;
    } else {
      out[i].value = before ? slt_sim_get_before(r->sim, quantity) : slt_sim_get(r->sim, quantity);
      if (column->converts) out[i].value = unit_convert(column->from, column->to, out[i].value);
      out[i].text = NULL;
    }
  }
}

static void note_status(SltRecorder* r, SltStatus status) {
  if (status < 0 && r->status >= 0) r->status = status;
}

/// Hand a row on. One that shows nothing new but hidden columns is for pictures alone.
static void write_row(SltRecorder* r, double t, const RowCell* cells, bool hidden_only) {
  if (r->status < 0) return;
  if (r->memory) note_status(r, r->memory->class->row(r->memory, cells, r->column_count));
  if (hidden_only) return;
  if (r->on_row) r->on_row(r->on_row_user, t);
  if (r->rows) {
    note_status(r, r->rows->class->row(r->rows, cells, r->visible_count));
    if (r->on_row) note_status(r, r->rows->class->flush(r->rows));
  }
  if (r->has_events && r->on_row) sink_flush(&r->events);
  if (r->status >= 0) r->row_count++;
  r->t_row_before = r->t_row;
  r->has_row = true;
  r->t_row = t;
}

/// A row of the present values, unless the last one has this time already.
static void write_present(SltRecorder* r) {
  double t = slt_sim_time(r->sim);
  if (r->has_row && r->t_row == t) return;
  read_cells(r, false, r->now);
  write_row(r, t, r->now, false);
}

static bool cells_differ(const RowCell* a, const RowCell* b) {
  if (a->text || b->text) return !a->text || !b->text || strcmp(a->text, b->text) != 0;
  // undetermined before and after is no change
  return a->value != b->value && !(isnan(a->value) && isnan(b->value));
}

static bool any_differs(const SltRecorder* r, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    if (cells_differ(&r->before[i], &r->now[i])) return true;
  }
  return false;
}

/// Whether the instant just passed gets rows of its own.
static bool is_wanted(const SltRecorder* r) {
  switch (r->event_rows) {
  case SLT_EVENT_ROWS_NONE: return false;
  case SLT_EVENT_ROWS_CHANGES: break;
  case SLT_EVENT_ROWS_MODES:
    if (r->mode_changed) return true;
    break;
  case SLT_EVENT_ROWS_ALL: return r->recorded || r->mode_changed;
  }
  // at a kink values differ by rounding at most
  return (r->jumped || !r->recorded) && any_differs(r, 1, r->visible_count);
}

/// Rows before and after the instant just passed. The first is left out when a row with these
/// values stands there already.
static void write_instant(SltRecorder* r) {
  double t = slt_sim_time(r->sim);
  if (r->event_rows == SLT_EVENT_ROWS_NONE) return;
  read_cells(r, true, r->before);
  read_cells(r, false, r->now);
  bool wanted = is_wanted(r);
  bool band = r->memory && any_differs(r, r->visible_count, r->column_count);
  if (!wanted && !band) return;
  if (!(r->has_row && r->t_row == t)) write_row(r, t, r->before, !wanted);
  write_row(r, t, r->now, !wanted);
}

/// First error of any output.
static SltStatus output_status(const SltRecorder* r) {
  if (r->has_events) SLT_TRY(r->events.status);
  return r->status;
}

// ---- the grid -----------------------------------------------------------------------------------

static double grid_at(const Grid* grid, double k) {
  return grid->start + (grid->count ? k * grid->span / grid->count : k * grid->step);
}

/// Two times that differ by rounding only are one.
static double rounding(const Grid* grid, double t) {
  return 8.0 * DBL_EPSILON * fmax(fabs(t), fabs(grid->start));
}

static SltStatus grid_init(Grid* grid, SltRecorder* r, double t_end) {
  bool by_step = !isnan(r->every);
  double now = slt_sim_time(r->sim);
  if (r->continued) {
    // the grid that was begun with
    r->continued = false;
    *grid = r->grid;
    grid->end = t_end;
    grid->k = 0.0;
    return SLT_OK;
  }
  *grid = (Grid){.start = by_step ? r->t_start : now,
                 .end = t_end,
                 .step = r->every,
                 .span = t_end - now,
                 .count = by_step ? 0 : r->samples};
  if (!by_step) grid->step = grid->span / r->samples;
  if (isfinite(t_end) && !isfinite(grid->span)) return SLT_ERR_ARGUMENT;
  // k * span would overflow where k * step does not
  if (!isfinite(grid->span * grid->count)) grid->count = 0;
  if (by_step && (t_end - grid->start) / grid->step > GRID_MAX) return SLT_ERR_ARGUMENT;
  r->grid = *grid;
  return SLT_OK;
}

/// The next point after the last row; the end itself where the grid has none before it.
static double grid_next(Grid* grid, double t_row) {
  double passed = t_row + rounding(grid, t_row);
  if (!(grid->step > 0.0)) return grid->end;
  grid->k = fmax(grid->k, floor((passed - grid->start) / grid->step));
  while (grid_at(grid, grid->k) <= passed)
    grid->k++;
  double t = grid_at(grid, grid->k);
  double end = isfinite(grid->end) ? grid->end - rounding(grid, grid->end) : grid->end;
  return t < end ? t : grid->end;
}

/// Whether a run that goes on has a row at the present end too, the last row being that of t_row.
/// A point that lies before the end by rounding was passed: the row of the end is its row.
static bool is_on_grid(const SltRecorder* r, const Grid* grid, double t_row) {
  Grid longer = *grid;
  longer.end = HUGE_VAL;
  return !r->all_steps && grid_next(&longer, t_row) <= grid->end;
}

// ---- the run ------------------------------------------------------------------------------------

static SltStatus start(SltRecorder* r) {
  r->started = true;
  SLT_TRY(output_status(r));
  SltStatus status = slt_sim_start(r->sim);
  r->t_start = slt_sim_time(r->sim);
  if (status >= 0) write_present(r);
  return status;
}

/// One advance and its rows. `done` is set at the end of the run, by whatever cause.
static SltStatus advance(SltRecorder* r, Grid* grid, bool* done) {
  r->mode_changed = false;
  r->jumped = false;
  r->recorded = false;
  SltStatus status = r->all_steps ? slt_sim_advance_step(r->sim, grid->end, NULL)
                                  : slt_sim_advance(r->sim, grid_next(grid, r->t_row), NULL);
  *done = true;
  if (status < 0 || status == SLT_END) {
    // what was reached is recorded, even when it is not where one wanted to go
    if (status == SLT_END) write_instant(r);
    write_present(r);
    return status;
  }
  if (status == SLT_EVENT) {
    write_instant(r);
    *done = false;
    return SLT_OK;
  }
  double t_row = r->t_row;
  write_present(r);
  *done = slt_sim_time(r->sim) >= grid->end;
  if (*done && r->t_row != t_row) r->end_row = !is_on_grid(r, grid, t_row);
  return SLT_OK;
}

static SltStatus run(SltRecorder* r, double t_end) {
  if (!r->begun) {
    r->begun = true;
    if (r->rows) note_status(r, r->rows->class->begin(r->rows));
  }
  r->end_row = false;
  if (!r->started) {
    SltStatus status = start(r);
    if (status < 0 || status == SLT_END) return status;
  }
  if (!(t_end >= slt_sim_time(r->sim)) || !isfinite(t_end)) return SLT_ERR_ARGUMENT;
  Grid grid;
  SLT_TRY(grid_init(&grid, r, t_end));
  for (uint32_t rows = 1;; rows++) {
    bool done = false;
    SltStatus status = advance(r, &grid, &done);
    if (done) return status;
    SLT_TRY(output_status(r));
    // the run itself asks between its steps, one of which may have any number of rows
    if (rows % ROWS_MAX == 0 && slt_sim_is_cancelled(r->sim)) return SLT_ERR_CANCELLED;
  }
}

/// Both, whatever the first says: one full disk must not cost the other file its end.
static void flush(SltRecorder* r) {
  if (r->rows) note_status(r, r->rows->class->flush(r->rows));
  sink_flush(&r->events);
}

SltStatus slt_recorder_run(SltRecorder* recorder, double t_end) {
  if (!recorder) return SLT_ERR_ARGUMENT;
  SltStatus status = run(recorder, t_end);
  flush(recorder);
  if (status < 0) return status;
  SltStatus written = output_status(recorder);
  return written < 0 ? written : status;
}

SltStatus slt_recorder_flush(SltRecorder* recorder) {
  if (!recorder) return SLT_ERR_ARGUMENT;
  if (recorder->started) flush(recorder);
  return output_status(recorder);
}

SltStatus slt_recorder_finish(SltRecorder* recorder) {
  if (!recorder) return SLT_ERR_ARGUMENT;
  flush(recorder);
  if (recorder->rows && recorder->begun && recorder->status >= 0) {
    note_status(recorder, recorder->rows->class->finish(recorder->rows));
  }
  return output_status(recorder);
}

uint64_t slt_recorder_row_count(const SltRecorder* recorder) {
  return recorder ? recorder->row_count : 0;
}

// ---- checkpoints --------------------------------------------------------------------------------

SltStatus slt_recorder_mark(SltRecorder* recorder, SltRecorderMark* out) {
  SltRecorder* r = recorder;
  if (!r || !out || !r->started || r->memory) return SLT_ERR_ARGUMENT;
  flush(r);
  *out = (SltRecorderMark){.t_start = r->t_start,
                           .t_row = r->end_row ? r->t_row_before : r->t_row,
                           .end_row = r->end_row,
                           .grid_start = r->grid.start,
                           .grid_step = r->grid.step,
                           .grid_span = r->grid.span,
                           .grid_count = r->grid.count,
                           .has_row = r->has_row,
                           .all_steps = r->all_steps,
                           .columns = r->header_hash};
  return output_status(r);
}

SltStatus slt_recorder_continue(SltRecorder* recorder, const SltRecorderMark* mark,
                                const char** why) {
  SltRecorder* r = recorder;
  const char* problem = NULL;
  if (!r || !mark || r->started) return SLT_ERR_ARGUMENT;
  bool by_step = !isnan(r->every);
  if (r->memory) {
    problem = "rows of before are not in memory";
  } else if (mark->columns != r->header_hash) {
    problem = "the columns are not the same";
  } else if (mark->all_steps != r->all_steps ||
             (!r->all_steps && (by_step ? mark->grid_count != 0 || mark->grid_step != r->every
                                        : mark->grid_count != r->samples))) {
    problem = "the rows are not at the same distances";
  }
  if (why) *why = problem;
  if (problem) return SLT_ERR_ARGUMENT;
  r->started = true;
  r->continued = true;
  r->has_row = mark->has_row;
  r->t_start = mark->t_start;
  r->t_row = mark->t_row;
  r->grid = (Grid){.start = mark->grid_start,
                   .step = mark->grid_step,
                   .span = mark->grid_span,
                   .count = mark->grid_count};
  r->begun = true;
  return SLT_OK;
}
