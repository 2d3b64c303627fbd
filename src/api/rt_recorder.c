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
#define HIDDEN_MAX      16  // automata kept for a picture, which shows a few of them

typedef struct RecorderColumn {
  SltQuantity quantity;
  bool hidden;  // kept for pictures, not written
} RecorderColumn;

/// A cell as read from the run. The text is static as long as the model.
typedef struct Reading {
  double value;
  const char* text;
} Reading;

/// Points `start + k * step`; with samples `start + k * span / count`, which rounds once and so
/// gives the decimals one expects.
typedef struct Grid {
  double start, end;
  double step;
  double span;
  uint32_t count;  // 0: by step
  double k;        // a whole number, the next point
} Grid;

struct SltRecorder {
  SltSim* sim;
  SltAllocator allocator;
  double every;
  uint32_t samples;
  bool all_steps;
  RecorderColumn* columns;
  uint32_t column_count, column_capacity;
  Reading* before;
  Reading* now;
  bool has_csv, has_events;
  CsvWriter csv;
  CsvWriter heading;  // while the columns are found; into `header`
  char* header;       // waits for the run: nothing is written before
  size_t header_length, header_capacity;
  Sink events;
  SltTable* table;
  SltEventFn* on_event;
  void* on_event_user;
  SltRowFn* on_row;
  void* on_row_user;

  Grid grid;             // of the present or the last run
  uint64_t header_hash;  // tells recordings with other columns apart
  bool started;
  bool continued;     // the run goes on from a checkpoint, and so does the grid
  bool mode_changed;  // by the records of the present advance
  bool has_row;
  double t_start;  // of the run
  double t_row;    // of the last row
  double t_row_before;
  bool end_row;      // the last row is there because the run ended: a longer one would not have it
  SltStatus status;  // of keeping rows in memory
};

SltRecorderOptions slt_recorder_options(void) {
  return (SltRecorderOptions){.every = (double)NAN, .samples = 500, .cookie = RECORDER_COOKIE};
}

// ---- creation -----------------------------------------------------------------------------------

/// SltWriteFn of the header, which may be longer than the buffer of a sink.
static SltStatus keep_header(void* user, const char* data, size_t length) {
  SltRecorder* r = user;
  size_t need = base_add_size(r->header_length, length);
  if (need > r->header_capacity) {
    size_t capacity = need < SIZE_MAX / 2 ? 2 * need : need;
    char* grown = base_realloc(&r->allocator, r->header, r->header_capacity, capacity);
    if (!grown) return SLT_ERR_NOMEM;
    r->header = grown;
    r->header_capacity = capacity;
  }
  memcpy(r->header + r->header_length, data, length);
  r->header_length = need;
  return SLT_OK;
}

static void free_header(SltRecorder* r) {
  base_free(&r->allocator, r->header, r->header_capacity);
  r->header = NULL;
  r->header_capacity = 0;
}

static void write_header(SltRecorder* r) {
  if (!r->header) return;
  sink_bytes(&r->csv.sink, r->header, r->header_length);
  sink_end_unit(&r->csv.sink);
  r->csv.rows++;
  free_header(r);
}

static bool is_time(const char* name) {
  return strcmp(name, "time") == 0;
}

static SltStatus add_column(SltRecorder* r, const char* name, bool hidden) {
  SltQuantity quantity = {.kind = SLT_KIND_TIME};
  SLT_TRY(slt_sim_find(r->sim, name, &quantity));
  SLT_ASSERT(r->column_count < r->column_capacity);
  r->columns[r->column_count++] = (RecorderColumn){.quantity = quantity, .hidden = hidden};
  if (r->has_csv && !hidden) csv_text(&r->heading, name);
  if (r->table) return table_add_column(r->table, str_from_c(name), hidden);
  return SLT_OK;
}

/// The time column stands first and once, whether it was named or not.
static SltStatus add_named(SltRecorder* r, const SltRecorderOptions* options,
                           const char** bad_name) {
  for (uint32_t i = 0; i < options->name_count; i++) {
    if (!options->names[i]) return SLT_ERR_ARGUMENT;
    if (is_time(options->names[i])) continue;
    SltStatus status = add_column(r, options->names[i], false);
    if (status == SLT_ERR_NOT_FOUND && bad_name) *bad_name = options->names[i];
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
  r->column_capacity = options->names ? options->name_count : slt_sim_column_count(r->sim);
  if (options->keep) r->column_capacity += hidden_count(r->sim);
  size_t count = r->column_capacity;
  r->columns = base_alloc(&r->allocator, base_mul_size(count, sizeof *r->columns));
  r->before = base_alloc(&r->allocator, base_mul_size(count, sizeof *r->before));
  r->now = base_alloc(&r->allocator, base_mul_size(count, sizeof *r->now));
  if (options->keep) r->table = table_create();
  if (!r->columns || !r->before || !r->now || (options->keep && !r->table)) return SLT_ERR_NOMEM;
  SLT_TRY(csv_init(&r->csv, options->csv));
  SLT_TRY(sink_init(&r->events, options->events));
  return SLT_OK;
}

static SltStatus set_up(SltRecorder* r, const SltRecorderOptions* options, const char** bad_name) {
  SLT_TRY(take_memory(r, options));
  if (r->has_csv) {
    SLT_TRY(csv_init(&r->heading, (SltWriter){keep_header, r}));
    csv_text(&r->heading, "time");
  }
  if (r->table) SLT_TRY(table_add_column(r->table, STR_LIT("time"), false));
  SLT_TRY(options->names ? add_named(r, options, bad_name) : add_default(r, bad_name));
  if (r->table) SLT_TRY(add_automata(r));
  if (!r->has_csv) return SLT_OK;
  csv_end_row(&r->heading);
  SltStatus status = csv_flush(&r->heading);
  r->header_hash = hash_bytes(r->header, r->header_length, RECORDER_COOKIE);
  csv_clear(&r->heading);
  return status;
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
                     .has_csv = options->csv.write != NULL,
                     .has_events = options->events.write != NULL};
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
  free_header(r);
  csv_clear(&r->heading);
  csv_clear(&r->csv);
  sink_clear(&r->events);
  table_free(r->table);
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
  return recorder ? recorder->table : NULL;
}

// ---- events -------------------------------------------------------------------------------------

/// Whether a record tells of a change of the mode. A discarded candidate is none.
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
  return event->from && event->to && strcmp(event->from, event->to) != 0;
}

static void on_event(void* user, const SltEvent* event) {
  SltRecorder* r = user;
  r->mode_changed = r->mode_changed || changes_mode(event);
  if (r->has_events) events_write(&r->events, event);
  if (r->on_event) r->on_event(r->on_event_user, event);
}

// ---- rows ---------------------------------------------------------------------------------------

static void read_cells(const SltRecorder* r, bool before, Reading* out) {
  for (uint32_t i = 0; i < r->column_count; i++) {
    SltQuantity quantity = r->columns[i].quantity;
    if (quantity.kind == SLT_KIND_MODE) {
      out[i].text =
          before ? slt_sim_mode_name_before(r->sim, quantity) : slt_sim_mode_name(r->sim, quantity);
      out[i].value = (double)NAN;
    } else {
      out[i].value = before ? slt_sim_get_before(r->sim, quantity) : slt_sim_get(r->sim, quantity);
      out[i].text = NULL;
    }
  }
}

static void write_row(SltRecorder* r, double t, const Reading* cells) {
  if (r->on_row) r->on_row(r->on_row_user, t);
  if (r->has_csv) {
    csv_number(&r->csv, t);
    for (uint32_t i = 0; i < r->column_count; i++) {
      if (r->columns[i].hidden) continue;
      if (cells[i].text) {
        csv_text(&r->csv, cells[i].text);
      } else {
        csv_number(&r->csv, cells[i].value);
      }
    }
    csv_end_row(&r->csv);
    if (r->on_row) csv_flush(&r->csv);
  }
  if (r->has_events && r->on_row) sink_flush(&r->events);
  if (r->table && r->status >= 0) {
    r->status = table_add_row(r->table);
    if (r->status >= 0) table_set_number(r->table, 0, t);
    for (uint32_t i = 0; i < r->column_count && r->status >= 0; i++) {
      table_set_number(r->table, i + 1, cells[i].value);
      if (!cells[i].text) continue;
      r->status = table_set_text(r->table, i + 1, str_from_c(cells[i].text));
    }
  }
  r->t_row_before = r->t_row;
  r->has_row = true;
  r->t_row = t;
}

/// A row of the present values, unless the last one has this time already.
static void write_present(SltRecorder* r) {
  double t = slt_sim_time(r->sim);
  if (r->has_row && r->t_row == t) return;
  read_cells(r, false, r->now);
  write_row(r, t, r->now);
}

static bool cells_differ(const Reading* a, const Reading* b) {
  if (a->text || b->text) return !a->text || !b->text || strcmp(a->text, b->text) != 0;
  // undetermined before and after is no change
  return a->value != b->value && !(isnan(a->value) && isnan(b->value));
}

/// Rows before and after the instant just passed, if it changed anything that is recorded or the
/// mode. The first is left out when a row with these values stands there already.
static void write_instant(SltRecorder* r) {
  double t = slt_sim_time(r->sim);
  read_cells(r, true, r->before);
  read_cells(r, false, r->now);
  bool changed = r->mode_changed;
  for (uint32_t i = 0; i < r->column_count && !changed; i++) {
    changed = cells_differ(&r->before[i], &r->now[i]);
  }
  if (!changed) return;
  if (!(r->has_row && r->t_row == t)) write_row(r, t, r->before);
  write_row(r, t, r->now);
}

/// First error of any output.
static SltStatus output_status(const SltRecorder* r) {
  if (r->has_csv) SLT_TRY(r->csv.sink.status);
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
  write_header(r);
  r->end_row = false;
  if (!r->started) {
    SltStatus status = start(r);
    if (status < 0 || status == SLT_END) return status;
  }
  if (!(t_end >= slt_sim_time(r->sim)) || !isfinite(t_end)) return SLT_ERR_ARGUMENT;
  Grid grid;
  SLT_TRY(grid_init(&grid, r, t_end));
  for (;;) {
    bool done = false;
    SltStatus status = advance(r, &grid, &done);
    if (done) return status;
    SLT_TRY(output_status(r));
  }
}

SltStatus slt_recorder_run(SltRecorder* recorder, double t_end) {
  if (!recorder) return SLT_ERR_ARGUMENT;
  SltStatus status = run(recorder, t_end);
  // flush both before looking at either: one full disk must not cost the other file its end
  csv_flush(&recorder->csv);
  sink_flush(&recorder->events);
  if (status < 0) return status;
  SltStatus written = output_status(recorder);
  return written < 0 ? written : status;
}

// ---- checkpoints --------------------------------------------------------------------------------

SltStatus slt_recorder_mark(SltRecorder* recorder, SltRecorderMark* out) {
  SltRecorder* r = recorder;
  if (!r || !out || !r->started || r->table) return SLT_ERR_ARGUMENT;
  csv_flush(&r->csv);
  sink_flush(&r->events);
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
  if (r->table) {
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
  free_header(r);
  return SLT_OK;
}
