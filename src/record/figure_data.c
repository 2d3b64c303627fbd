// SPDX-License-Identifier: MIT
//
// What a figure shows beside columns as they are: histograms, marks of events, curves in space.
#include "record/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS_MAX 80u

static int compare_numbers(const void* a, const void* b) {
  double x = *(const double*)a;
  double y = *(const double*)b;
  return (x > y) - (x < y);
}

// ---- histograms ---------------------------------------------------------------------------------

double* figure_intervals(const SltTable* table, uint32_t column, Arena* arena, uint32_t* count) {
  const double* time = table->columns[0].values;
  double* intervals = ARENA_ARRAY(arena, double, table->row_count);
  double last = (double)NAN;
  *count = 0;
  for (uint32_t row = 1; row < table->row_count; row++) {
    bool event = column ? table_text_id(table, row, column) != table_text_id(table, row - 1, column)
                        : time[row] == time[row - 1] && time[row] != last;
    if (!event) continue;
    if (!isnan(last)) intervals[(*count)++] = time[row] - last;
    last = time[row];
  }
  return intervals;
}

double* figure_record_intervals(const FigureWish* wish, Arena* arena, uint32_t* count) {
  double* intervals = ARENA_ARRAY(arena, double, wish->events.count + 1);
  *count = 0;
  for (uint32_t i = 1; i < wish->events.count; i++) {
    double interval = wish->events.data[i].t - wish->events.data[i - 1].t;
    if (interval != 0.0) intervals[(*count)++] = interval;  // records of one instant are one event
  }
  return intervals;
}

/// Freedman's and Diaconis's rule, which outliers do not spoil; `sorted` has no gaps.
static uint32_t bin_count(const double* sorted, uint32_t count) {
  double span = sorted[count - 1] - sorted[0];
  double middle = sorted[(uint64_t)count * 3 / 4] - sorted[count / 4];
  double bins = 1.0 + log2(count);
  if (middle > 0.0) bins = fmax(bins, ceil(span / (2.0 * middle / cbrt(count))));
  return bins < 1.0 ? 1 : bins > BINS_MAX ? BINS_MAX : (uint32_t)bins;
}

void figure_histogram(const double* values, uint32_t count, bool log, Arena* arena,
                      FigureLine* line) {
  double* sorted = ARENA_ARRAY(arena, double, count ? count : 1);
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    double value = log ? log10(values[i]) : values[i];
    if (isfinite(value)) sorted[used++] = value;
  }
  line->range = (PlotRange){1.0, 0.0};
  if (used == 0) return;
  qsort(sorted, used, sizeof *sorted, compare_numbers);
  PlotRange range = {sorted[0], sorted[used - 1]};
  if (range_is_flat(range)) range = range_padded(range);
  uint32_t bins = bin_count(sorted, used);
  double width = 2.0 * range_half(range) / bins;
  uint32_t* counts = ARENA_ARRAY(arena, uint32_t, bins);
  for (uint32_t i = 0; i < used; i++) {
    double at = (sorted[i] - range.lo) / width;
    counts[at < bins - 1.0 ? (uint32_t)at : bins - 1]++;
  }
  double* x = ARENA_ARRAY(arena, double, 2 * (size_t)bins + 2);
  double* y = ARENA_ARRAY(arena, double, 2 * (size_t)bins + 2);
  uint32_t n = 0;
  for (uint32_t i = 0; i <= bins; i++) {
    double edge = range.lo + width * i;
    if (log) edge = pow(10.0, edge);
    x[n] = x[n + 1] = edge;
    y[n++] = i ? counts[i - 1] : 0.0;
    y[n++] = i < bins ? counts[i] : 0.0;
  }
  line->x = x;
  line->y = y;
  line->count = n;
  line->range = range_of(y, n);
}

// ---- marks --------------------------------------------------------------------------------------

static bool event_is(const FigureEvent* event, Str word) {
  return (event->kind && str_equal(word, str_from_c(event->kind))) ||
         (event->class && str_equal(word, str_from_c(event->class))) ||
         figure_matches(word, event->automaton) || figure_matches(word, event->to);
}

/// Without records: where a text column changes, or to which state.
static bool row_is(const SltTable* table, uint32_t row, Str word) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    uint32_t id = table_text_id(table, row, i);
    if (id == 0 || id == table_text_id(table, row - 1, i)) continue;
    Str name = str_from_c(table->columns[i].name);
    bool state = name.length > 6 && strcmp(name.data + name.length - 6, ".state") == 0;
    Str automaton = {name.data, state ? name.length - 6 : name.length};
    Str text = {table->texts[id].data, table->texts[id].length};
    if (figure_matches(word, text) || figure_matches(word, name) ||
        figure_matches(word, automaton)) {
      return true;
    }
  }
  return false;
}

typedef BASE_VEC(double) TimeList;

static void mark_events(const FigureWish* wish, Str word, Arena* arena, TimeList* times) {
  bool all = str_equal(word, STR_LIT("all"));
  for (uint32_t i = 0; i < wish->events.count; i++) {
    const FigureEvent* event = &wish->events.data[i];
    if (all || event_is(event, word)) base_vec_push(arena, times, event->t);
  }
}

static void mark_rows(const SltTable* table, Str word, Arena* arena, TimeList* times) {
  bool all = str_equal(word, STR_LIT("all"));
  const double* time = table->columns[0].values;
  for (uint32_t row = 1; row < table->row_count; row++) {
    bool marked = all ? time[row] == time[row - 1] : row_is(table, row, word);
    if (marked && isfinite(time[row])) base_vec_push(arena, times, time[row]);
  }
}

void figure_marks(const FigureWish* wish, Arena* arena, Figure* figure) {
  TimeList times = {0};
  Str words = wish->marks;
  for (Str word; figure_next_name(&words, &word);) {
    if (str_equal(word, STR_LIT("none"))) continue;
    uint32_t before = times.count;
    if (wish->has_records) mark_events(wish, word, arena, &times);
    for (uint32_t t = 0; t < wish->tables.count && !wish->has_records; t++)
      mark_rows(wish->tables.data[t].table, word, arena, &times);
    if (times.count == before && !str_equal(word, STR_LIT("all"))) figure->unmarked = word;
  }
  if (times.count) qsort(times.data, times.count, sizeof *times.data, compare_numbers);
  figure->marks = times.data;
  for (uint32_t i = 0; i < times.count; i++) {
    bool again = figure->mark_count && times.data[i] == times.data[figure->mark_count - 1];
    if (!again) times.data[figure->mark_count++] = times.data[i];
  }
}

// ---- space --------------------------------------------------------------------------------------

#define DEGREE 0.017453292519943295

static double inside(const Axis* axis, double value) {
  return axis_position(axis, value) - 0.5;
}

const FigureSpace* figure_space(const FigureWish* wish, const PanelWish* panel, FigureLine* lines,
                                uint32_t count, const double* const* third, Arena* arena) {
  FigureSpace* space = ARENA_NEW(arena, FigureSpace);
  double turn = DEGREE * (isnan(wish->view[0]) ? -60.0 : wish->view[0]);
  double height = DEGREE * (isnan(wish->view[1]) ? 25.0 : wish->view[1]);
  space->across[0] = -sin(turn);
  space->across[1] = cos(turn);
  space->up[0] = -cos(turn) * sin(height);
  space->up[1] = -sin(turn) * sin(height);
  space->up[2] = cos(height);
  // the axes stand on the edges nearest to the eye, the third one at the left
  space->edge_y = cos(turn) > 0.0 ? 1.0 : 0.0;
  space->edge_x = sin(turn) > 0.0 ? 1.0 : 0.0;
  space->edge_z[0] = space->across[0] > 0.0 ? 0.0 : 1.0;
  space->edge_z[1] = space->across[1] > 0.0 ? 0.0 : 1.0;
  double wide = 0.5 * (fabs(space->across[0]) + fabs(space->across[1])) + 0.16;
  double high = 0.5 * (fabs(space->up[0]) + fabs(space->up[1]) + fabs(space->up[2])) + 0.14;
  space->across_range = (PlotRange){-wide, wide};
  space->up_range = (PlotRange){-high, high};
  PlotRange ranges[3] = {{1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}};
  for (uint32_t i = 0; i < count; i++) {
    ranges[0] = range_join(ranges[0], range_of(lines[i].x, lines[i].count));
    ranges[1] = range_join(ranges[1], range_of(lines[i].y, lines[i].count));
    ranges[2] = range_join(ranges[2], range_of(third[i], lines[i].count));
  }
  for (uint32_t a = 0; a < 3; a++)
    space->axes[a].range = range_padded(ranges[a]);
  if (panel->equal) {
    double half = 0.0;
    for (uint32_t a = 0; a < 3; a++)
      half = fmax(half, range_half(space->axes[a].range));
    for (uint32_t a = 0; a < 3; a++) {
      double middle = 0.5 * space->axes[a].range.lo + 0.5 * space->axes[a].range.hi;
      space->axes[a].range = (PlotRange){middle - half, middle + half};
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    double* x = ARENA_ARRAY(arena, double, lines[i].count);
    double* y = ARENA_ARRAY(arena, double, lines[i].count);
    for (uint32_t row = 0; row < lines[i].count; row++) {
      double p[3] = {inside(&space->axes[0], lines[i].x[row]),
                     inside(&space->axes[1], lines[i].y[row]),
                     inside(&space->axes[2], third[i][row])};
      x[row] = p[0] * space->across[0] + p[1] * space->across[1];
      y[row] = p[0] * space->up[0] + p[1] * space->up[1] + p[2] * space->up[2];
    }
    lines[i].x = x;
    lines[i].y = y;
    lines[i].ordered = false;
    lines[i].range = space->up_range;
  }
  return space;
}
