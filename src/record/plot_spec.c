// SPDX-License-Identifier: MIT
#include "record/plot.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SCALE_RATIO 20.0  // a line that uses less of its axis gets a panel of its own
#define FLAT        1e-9  // a span this small against the values is rounding, not movement

static const PlotRange empty_range = {1.0, 0.0};

static bool is_empty(PlotRange r) {
  return r.lo > r.hi;
}

static PlotRange join(PlotRange a, PlotRange b) {
  if (is_empty(a)) return b;
  if (is_empty(b)) return a;
  return (PlotRange){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
}

static PlotRange column_range(const SltTable* table, uint32_t column) {
  PlotRange range = empty_range;
  const double* values = table->columns[column].values;
  for (uint32_t i = 0; i < table->row_count; i++) {
    if (isfinite(values[i])) range = join(range, (PlotRange){values[i], values[i]});
  }
  return range;
}

static double magnitude(PlotRange r) {
  return is_empty(r) ? 0.0 : fmax(fabs(r.lo), fabs(r.hi));
}

/// Half the span; the halves keep a range over all doubles finite.
static double half_span(PlotRange r) {
  return 0.5 * r.hi - 0.5 * r.lo;
}

static bool is_flat(PlotRange r) {
  return is_empty(r) || half_span(r) <= FLAT * magnitude(r);
}

double plot_position(PlotRange range, double value) {
  double span = half_span(range);
  return span > 0.0 ? (0.5 * value - 0.5 * range.lo) / span : 0.5;
}

bool plot_is_jump(const PlotSpec* spec, uint32_t row) {
  if (row == 0) return false;
  const double* time = spec->table->columns[spec->time].values;
  return time[row] == time[row - 1];
}

/// A little room above and below; something to look at around a constant.
static PlotRange padded(PlotRange r) {
  if (is_empty(r)) return (PlotRange){0.0, 1.0};
  double room = 0.04 * 2.0 * half_span(r);
  if (is_flat(r)) room = magnitude(r) > 0.0 ? 0.1 * magnitude(r) : 1.0;
  double lo = r.lo - room;
  double hi = r.hi + room;
  return (PlotRange){isfinite(lo) ? lo : r.lo, isfinite(hi) ? hi : r.hi};
}

// ---- columns ------------------------------------------------------------------------------------

/// Whether a text column has more than one state: a band that never changes tells nothing.
static bool band_changes(const SltTable* table, uint32_t column) {
  for (uint32_t row = 1; row < table->row_count; row++) {
    if (table_text_id(table, row, column) != table_text_id(table, row - 1, column)) return true;
  }
  return false;
}

static void add_series(PlotSpec* spec, uint32_t column) {
  spec->series[spec->series_count++] =
      (PlotSeries){.column = column, .range = column_range(spec->table, column)};
}

/// The columns the caller names: numbers become lines, texts bands.
static SltStatus choose_named(PlotSpec* spec, const SltPlotOptions* options,
                              const char** bad_name) {
  for (uint32_t i = 0; i < options->name_count; i++) {
    uint32_t column = table_find(spec->table, options->names[i]);
    if (column == UINT32_MAX) {
      if (bad_name) *bad_name = options->names[i];
      return SLT_ERR_NOT_FOUND;
    }
    if (table_is_text(spec->table, column)) {
      spec->bands[spec->band_count++] = column;
    } else {
      add_series(spec, column);
    }
  }
  return SLT_OK;
}

/// All columns but the axis, as far as they fit.
static void choose_all(PlotSpec* spec) {
  const SltTable* table = spec->table;
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (i == spec->x || i == spec->time || table_is_text(table, i) || table->columns[i].hidden) {
      continue;
    }
    if (spec->series_count == PLOT_SERIES_MAX) {
      spec->left_out++;
    } else {
      add_series(spec, i);
    }
  }
}

/// Text columns nobody named: the hidden ones always, the others when no names were given.
static void choose_bands(PlotSpec* spec, bool all) {
  const SltTable* table = spec->table;
  uint32_t limit = spec->band_count + PLOT_BANDS_MAX;
  for (uint32_t i = 0; i < table->column_count && spec->band_count < limit; i++) {
    if (!table_is_text(table, i) || !(all || table->columns[i].hidden)) continue;
    bool known = false;
    for (uint32_t b = 0; b < spec->band_count; b++) {
      known = known || strcmp(table->columns[spec->bands[b]].name, table->columns[i].name) == 0;
    }
    if (!known && band_changes(table, i)) spec->bands[spec->band_count++] = i;
  }
}

static bool is_ordered(const SltTable* table, uint32_t column) {
  const double* values = table->columns[column].values;
  for (uint32_t i = 1; i < table->row_count; i++) {
    if (!(values[i] >= values[i - 1])) return false;
  }
  return true;
}

// ---- panels -------------------------------------------------------------------------------------

/// Whether one axis serves all lines: each that moves must use a fair part of it.
static bool share_axis(const PlotSpec* spec) {
  PlotRange all = empty_range;
  double least = (double)INFINITY;
  for (uint32_t i = 0; i < spec->series_count; i++) {
    PlotRange range = spec->series[i].range;
    all = join(all, range);
    if (!is_flat(range)) least = fmin(least, half_span(range));
  }
  return !isfinite(least) || half_span(all) <= SCALE_RATIO * least;
}

/// More lines than panels: lines of like size share one, counted in powers of SCALE_RATIO from the
/// smallest; what lies above the last panel joins it.
static void group_by_size(PlotSpec* spec) {
  double least = (double)INFINITY;
  for (uint32_t i = 0; i < spec->series_count; i++) {
    double size = magnitude(spec->series[i].range);
    if (size > 0.0) least = fmin(least, size);
  }
  uint32_t group_panel[PLOT_PANELS_MAX];
  memset(group_panel, 0xff, sizeof group_panel);
  for (uint32_t i = 0; i < spec->series_count; i++) {
    double size = magnitude(spec->series[i].range);
    double group = size > 0.0 ? floor(log(size / least) / log(SCALE_RATIO)) : 0.0;
    uint32_t index = group < PLOT_PANELS_MAX ? (uint32_t)group : PLOT_PANELS_MAX - 1;
    // panels stand in the order in which their first lines were named
    if (group_panel[index] == UINT32_MAX) group_panel[index] = spec->panel_count++;
    spec->series[i].panel = group_panel[index];
  }
}

static void assign_panels(PlotSpec* spec) {
  if (share_axis(spec)) {
    spec->panel_count = 1;
  } else if (spec->series_count <= PLOT_PANELS_MAX) {
    for (uint32_t i = 0; i < spec->series_count; i++)
      spec->series[i].panel = i;
    spec->panel_count = spec->series_count;
  } else {
    group_by_size(spec);
  }
  for (uint32_t p = 0; p < spec->panel_count; p++) {
    PlotRange range = empty_range;
    for (uint32_t i = 0; i < spec->series_count; i++) {
      if (spec->series[i].panel == p) range = join(range, spec->series[i].range);
    }
    spec->panels[p] = padded(range);
  }
}

static SltStatus choose_axis(PlotSpec* spec, const SltPlotOptions* options, const char** bad_name) {
  if (options->x) spec->x = table_find(spec->table, options->x);
  if (spec->x == UINT32_MAX) {
    if (bad_name) *bad_name = options->x;
    return SLT_ERR_NOT_FOUND;
  }
  spec->x_range = column_range(spec->table, spec->x);
  if (is_empty(spec->x_range)) return SLT_ERR_ARGUMENT;
  spec->x_ordered = is_ordered(spec->table, spec->x);
  // time fills the width; a curve in a plane gets room on all sides
  if (!spec->x_ordered || is_flat(spec->x_range)) spec->x_range = padded(spec->x_range);
  return SLT_OK;
}

static bool has_something(const PlotSpec* spec) {
  if (spec->band_count > 0) return true;
  for (uint32_t i = 0; i < spec->series_count; i++) {
    if (!is_empty(spec->series[i].range)) return true;
  }
  return false;
}

SltStatus plot_spec_prepare(PlotSpec* spec, Arena* arena, const SltTable* table,
                            const SltPlotOptions* options, const char** bad_name) {
  *spec = (PlotSpec){.table = table};
  if (options->title && options->title[0]) spec->title = options->title;
  if (table->column_count == 0 || table->row_count == 0) return SLT_ERR_ARGUMENT;
  SLT_TRY(choose_axis(spec, options, bad_name));
  uint32_t room = table->column_count + options->name_count;
  spec->series = ARENA_ARRAY(arena, PlotSeries, room);
  spec->bands = ARENA_ARRAY(arena, uint32_t, room);
  if (options->names) {
    SLT_TRY(choose_named(spec, options, bad_name));
  } else {
    choose_all(spec);
  }
  // intervals need an axis that goes one way
  if (!spec->x_ordered) spec->band_count = 0;
  if (spec->x_ordered) choose_bands(spec, !options->names);
  if (!has_something(spec)) return SLT_ERR_ARGUMENT;
  if (spec->series_count) assign_panels(spec);
  return SLT_OK;
}

// ---- marks of an axis ---------------------------------------------------------------------------

static double power_of_ten(int exponent) {
  return pow(10.0, exponent);
}

/// The multiples of the step that lie in the range.
static bool place_ticks(PlotTicks* ticks, PlotRange range) {
  double step = ticks->mantissa * power_of_ten(ticks->exponent);
  double first = ceil(range.lo / step - 1e-9);
  double last = floor(range.hi / step + 1e-9);
  if (!(fabs(first) < 1e14) || !(fabs(last) < 1e14)) return false;
  ticks->first = (int64_t)first;
  ticks->last = (int64_t)last;
  return true;
}

/// 10, 5, 2, 1, 0.5 ...
static void refine_ticks(PlotTicks* ticks) {
  if (ticks->mantissa == 1) {
    ticks->mantissa = 5;
    ticks->exponent--;
  } else {
    ticks->mantissa = ticks->mantissa == 5 ? 2 : 1;
  }
}

PlotTicks plot_ticks(PlotRange range, uint32_t count) {
  const PlotTicks none = {.first = 0, .last = -1, .mantissa = 1};
  double span = 2.0 * half_span(range);
  if (!(span > 0.0) || !isfinite(span) || count == 0) return none;
  double raw = span / count;
  if (raw < DBL_MIN) return none;  // powers of ten between denormal numbers are none
  int exponent = (int)floor(log10(raw));
  double part = raw / power_of_ten(exponent) * (1.0 - 1e-6);  // rounding must not double the step
  PlotTicks ticks = {.exponent = exponent};
  ticks.mantissa = part <= 1.0 ? 1 : part <= 2.0 ? 2 : part <= 5.0 ? 5 : 1;
  if (part > 5.0) ticks.exponent++;
  if (!place_ticks(&ticks, range)) return none;
  // one mark alone does not tell the scale
  if (count >= 2 && ticks.last <= ticks.first) {
    PlotTicks finer = ticks;
    refine_ticks(&finer);
    if (place_ticks(&finer, range)) ticks = finer;
  }
  double largest = magnitude(range);
  ticks.scientific = largest >= 1e6 || largest < 1e-3;
  return ticks;
}

double plot_tick_value(const PlotTicks* ticks, int64_t k) {
  double whole = (double)(k * ticks->mantissa);
  // dividing by a power of ten rounds once, multiplying by a negative one would round twice
  return ticks->exponent < 0 ? whole / power_of_ten(-ticks->exponent)
                             : whole * power_of_ten(ticks->exponent);
}

uint32_t plot_tick_text(const PlotTicks* ticks, int64_t k, char* out) {
  if (!ticks->scientific || k == 0) {
    return number_write(out, k == 0 ? 0.0 : plot_tick_value(ticks, k));
  }
  // digits and exponent are known exactly: write them as d.ddde±x
  int64_t whole = k * ticks->mantissa;
  int exponent = ticks->exponent;
  while (whole % 10 == 0) {
    whole /= 10;
    exponent++;
  }
  char digits[NUMBER_TEXT_MAX];
  uint32_t count = number_write(digits, fabs((double)whole));
  uint32_t length = 0;
  if (whole < 0) out[length++] = '-';
  out[length++] = digits[0];
  if (count > 1) {
    out[length++] = '.';
    memcpy(out + length, digits + 1, count - 1);
    length += count - 1;
  }
  exponent += (int)count - 1;
  if (exponent != 0) {
    out[length++] = 'e';
    length += number_write(out + length, exponent);
  }
  out[length] = '\0';
  return length;
}
