// SPDX-License-Identifier: MIT
//
// The rows of a sweep as a picture. A grid of one parameter gives curves, one of two a map in
// colours, one of more a curve over the first with the spread that the others cause; what was drawn
// gives a matrix of scatter plots.
#include "experiment/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PANELS      6u     // most measures that are drawn
#define PANEL       220.0  // height of one
#define MAP         360.0
#define LEFT        90.0
#define SHADES      10u
#define POINTS      4000u  // most points of a scatter plot
#define BINS        20u
#define COLUMNS_MAX 6u    // of a matrix
#define SPREAD      0.05  // share of the members below and above the darker band

typedef struct SweepPicture {
  const SltDesign* design;
  const SltTable* rows;
  uint32_t parameters[COLUMNS_MAX];  // columns of the first ones
  uint32_t measures[PANELS];
  uint32_t measure_count;
} SweepPicture;

static bool is_other(const char* name) {
  return strcmp(name, "member") == 0 || strcmp(name, "status") == 0 || strcmp(name, "message") == 0;
}

/// Which columns are what; false: a parameter has none, or there is no measure.
static bool find_columns(SweepPicture* s) {
  uint32_t found = 0;
  for (uint32_t c = 0; c < slt_table_column_count(s->rows); c++) {
    const char* name = slt_table_column_name(s->rows, c);
    bool parameter = false;
    for (uint32_t i = 0; i < s->design->count; i++) {
      if (strcmp(s->design->axes[i].parameter.name, name) != 0) continue;
      if (i < COLUMNS_MAX) s->parameters[i] = c;
      parameter = true;
      found++;
    }
    bool measure = !parameter && !is_other(name) && s->measure_count < PANELS;
    if (measure) s->measures[s->measure_count++] = c;
  }
  return found == s->design->count && s->measure_count > 0;
}

static double value_at(const SweepPicture* s, uint64_t row, uint32_t column) {
  return slt_table_value(s->rows, (uint32_t)row, column);
}

static PlotRange column_range(const SweepPicture* s, uint32_t column) {
  PlotRange range = {HUGE_VAL, -HUGE_VAL};
  for (uint32_t i = 0; i < slt_table_row_count(s->rows); i++) {
    double value = value_at(s, i, column);
    if (!isfinite(value)) continue;
    range.lo = fmin(range.lo, value);
    range.hi = fmax(range.hi, value);
  }
  return range.lo <= range.hi ? range_padded(range) : (PlotRange){0.0, 1.0};
}

// ---- curves -------------------------------------------------------------------------------------

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a;
  double y = *(const double*)b;
  return (x > y) - (x < y);
}

/// Values of a measure at the i-th value of the first parameter, in order; their number.
static size_t gather(const SweepPicture* s, uint64_t place, uint32_t column, double* values) {
  uint64_t others = s->design->members / s->design->axes[0].count;
  size_t count = 0;
  for (uint64_t j = 0; j < others; j++) {
    double value = value_at(s, place * others + j, column);
    if (isfinite(value)) values[count++] = value;
  }
  qsort(values, count, sizeof *values, by_value);
  return count;
}

/// The area between two quantiles over the first parameter, or the line of one.
static void draw_quantiles(const Picture* p, uint64_t count, const double* levels, uint32_t first,
                           uint32_t last, double alpha) {
  const PlotCanvas* canvas = p->canvas;
  bool open = false;
  canvas->path_begin(canvas->user);
  for (uint64_t k = 0; k < (first == last ? count : 2 * count); k++) {
    uint64_t i = k < count ? k : 2 * count - 1 - k;
    const double* row = levels + i * 6;
    double y = row[k < count ? first : last];
    if (!isfinite(y)) {
      open &= first != last;
      continue;
    }
    if (open) {
      canvas->path_line(canvas->user, picture_x(p, row[0]), picture_y(p, y));
    } else {
      canvas->path_move(canvas->user, picture_x(p, row[0]), picture_y(p, y));
    }
    open = true;
  }
  PlotPen pen = {.rgb = p->theme->lines[0], .width = 1.6};
  if (first == last) {
    canvas->path_end(canvas->user, &pen);
  } else {
    canvas->path_fill(canvas->user, p->theme->lines[0], alpha);
  }
}

/// For each value of the first parameter: it, least, 5 %, median, 95 %, greatest.
static double* make_levels(const SweepPicture* s, uint32_t column) {
  uint64_t count = s->design->axes[0].count;
  uint64_t others = s->design->members / count;
  double* levels = malloc((size_t)(6 * count + others + 1) * sizeof *levels);
  if (!levels) return NULL;
  double* values = levels + 6 * count;
  for (uint64_t i = 0; i < count; i++) {
    double* row = levels + 6 * i;
    size_t n = gather(s, i, column, values);
    row[0] = value_at(s, i * others, s->parameters[0]);
    const double shares[5] = {0.0, SPREAD, 0.5, 1.0 - SPREAD, 1.0};
    for (int k = 0; k < 5; k++)
      row[1 + k] = n ? values[(size_t)(shares[k] * (double)(n - 1) + 0.5)] : (double)NAN;
  }
  return levels;
}

static SltStatus draw_curves(void* user, const PlotCanvas* canvas) {
  const SweepPicture* s = user;
  bool spread = s->design->count > 1;
  double step = PANEL + PICTURE_AXIS + 24.0;
  Picture p = {.canvas = canvas, .theme = figure_theme(false)};
  picture_begin(&p, PICTURE_TITLE + step * s->measure_count,
                spread ? "median, 5 to 95 %, least and greatest" : "");
  for (uint32_t m = 0; m < s->measure_count; m++) {
    p.box = (PlotBox){LEFT, PICTURE_TITLE + 16.0 + step * m, PICTURE_WIDTH - LEFT - PICTURE_MARGIN,
                      PANEL};
    p.x = (Axis){.range = column_range(s, s->parameters[0])};
    p.y = (Axis){.range = column_range(s, s->measures[m])};
    double* levels = make_levels(s, s->measures[m]);
    if (!levels) return SLT_ERR_NOMEM;
    picture_x_axis(&p, s->design->axes[0].parameter.name);
    picture_y_axis(&p, slt_table_column_name(s->rows, s->measures[m]));
    if (spread) draw_quantiles(&p, s->design->axes[0].count, levels, 1, 5, 0.18);
    if (spread) draw_quantiles(&p, s->design->axes[0].count, levels, 2, 4, 0.28);
    draw_quantiles(&p, s->design->axes[0].count, levels, 3, 3, 1.0);
    free(levels);
  }
  return canvas->end(canvas->user);
}

// ---- maps in colours ----------------------------------------------------------------------------

/// From light to dark.
static uint32_t shade(double share) {
  static const uint32_t ends[2] = {0xe7f0fa, 0x08306b};
  double at = floor(fmin(share, 0.999) * SHADES) / (SHADES - 1);
  uint32_t rgb = 0;
  for (int shift = 0; shift <= 16; shift += 8) {
    double a = ends[0] >> shift & 255;
    double b = ends[1] >> shift & 255;
    rgb |= (uint32_t)(a + at * (b - a) + 0.5) << shift;
  }
  return rgb;
}

static void draw_scale(const Picture* p, PlotRange range) {
  double x = p->box.x + p->box.width + 14.0;
  Picture own = *p;
  own.box = (PlotBox){x, p->box.y, 16.0, p->box.height};
  own.y = (Axis){.range = range};
  for (uint32_t i = 0; i < SHADES; i++) {
    double height = p->box.height / SHADES;
    PlotBox box = {x, p->box.y + p->box.height - (i + 1) * height, 16.0, height};
    p->canvas->rect(p->canvas->user, box, shade((i + 0.5) / SHADES), 1.0);
  }
  AxisTicks* ticks = calloc(1, sizeof *ticks);
  if (!ticks) return;
  axis_ticks(&own.y, 5, true, ticks);
  for (uint32_t i = 0; i < ticks->count; i++) {
    double y = own.box.y + (1.0 - ticks->ticks[i].at) * own.box.height;
    picture_text(p, x + 22.0, y + 4.0, PLOT_START, ticks->ticks[i].text);
  }
  free(ticks);
}

static SltStatus draw_heat(void* user, const PlotCanvas* canvas) {
  const SweepPicture* s = user;
  uint64_t stride = s->design->axes[1].count;
  double step = MAP + PICTURE_AXIS + 36.0;
  Picture p = {.canvas = canvas, .theme = figure_theme(false)};
  picture_begin(&p, 8.0 + step * s->measure_count, "");
  for (uint32_t m = 0; m < s->measure_count; m++) {
    p.box = (PlotBox){LEFT, 34.0 + step * m, PICTURE_WIDTH - LEFT - 110.0, MAP};
    p.x = picture_axis_of(s->design, 0);
    p.y = picture_axis_of(s->design, 1);
    PlotRange range = column_range(s, s->measures[m]);
    picture_x_axis(&p, s->design->axes[0].parameter.name);
    picture_y_axis(&p, s->design->axes[1].parameter.name);
    for (uint64_t i = 0; i < s->design->members; i++) {
      PlotRange x = picture_cell(s->design, 0, stride, i);
      PlotRange y = picture_cell(s->design, 1, 1, i);
      double value = value_at(s, i, s->measures[m]);
      PlotBox box = {picture_x(&p, x.lo), picture_y(&p, y.hi),
                     picture_x(&p, x.hi) - picture_x(&p, x.lo),
                     picture_y(&p, y.lo) - picture_y(&p, y.hi)};
      uint32_t rgb = isfinite(value) ? shade(plot_position(range, value)) : p.theme->canvas;
      canvas->rect(canvas->user, box, rgb, 1.0);
    }
    picture_text(&p, p.box.x + 0.5 * p.box.width, p.box.y - 8.0, PLOT_MIDDLE,
                 slt_table_column_name(s->rows, s->measures[m]));
    draw_scale(&p, range);
  }
  return canvas->end(canvas->user);
}

// ---- scatter plots ------------------------------------------------------------------------------

static void draw_histogram(const Picture* p, const SweepPicture* s, uint32_t column) {
  uint32_t bins[BINS] = {0};
  uint32_t most = 1;
  for (uint32_t i = 0; i < slt_table_row_count(s->rows); i++) {
    double at = plot_position(p->x.range, value_at(s, i, column));
    if (!(at >= 0.0 && at <= 1.0)) continue;
    uint32_t bin = at < 1.0 ? (uint32_t)(at * BINS) : BINS - 1;
    if (++bins[bin] > most) most = bins[bin];
  }
  double width = p->box.width / BINS;
  for (uint32_t i = 0; i < BINS; i++) {
    double height = 0.75 * p->box.height * bins[i] / most;
    PlotBox bar = {p->box.x + i * width, p->box.y + p->box.height - height, width - 1.0, height};
    if (bins[i]) p->canvas->rect(p->canvas->user, bar, p->theme->lines[0], 1.0);
  }
}

static void draw_points(const Picture* p, const SweepPicture* s, uint32_t x, uint32_t y) {
  uint32_t rows = slt_table_row_count(s->rows);
  uint32_t step = rows / POINTS + 1;
  for (uint32_t i = 0; i < rows; i += step) {
    double a = value_at(s, i, x);
    double b = value_at(s, i, y);
    if (!isfinite(a) || !isfinite(b)) continue;
    PlotBox dot = {picture_x(p, a) - 1.0, picture_y(p, b) - 1.0, 2.0, 2.0};
    p->canvas->rect(p->canvas->user, dot, p->theme->lines[0], 0.5);
  }
}

static SltStatus draw_matrix(void* user, const PlotCanvas* canvas) {
  const SweepPicture* s = user;
  uint32_t columns[COLUMNS_MAX];
  uint32_t n = 0;
  // a measure at least is among them
  for (uint32_t i = 0; i < s->design->count && n + 1 < COLUMNS_MAX; i++)
    columns[n++] = s->parameters[i];
  for (uint32_t i = 0; i < s->measure_count && n < COLUMNS_MAX; i++)
    columns[n++] = s->measures[i];
  double cell = (PICTURE_WIDTH - 2.0 * PICTURE_MARGIN) / n;
  Picture p = {.canvas = canvas, .theme = figure_theme(false)};
  picture_begin(&p, PICTURE_TITLE + cell * n + PICTURE_MARGIN, "");
  for (uint32_t row = 0; row < n; row++) {
    for (uint32_t column = 0; column < n; column++) {
      p.box = (PlotBox){PICTURE_MARGIN + cell * column + 4.0, PICTURE_TITLE + cell * row + 4.0,
                        cell - 8.0, cell - 8.0};
      p.x = (Axis){.range = column_range(s, columns[column])};
      p.y = (Axis){.range = column_range(s, columns[row])};
      double bottom = p.box.y + p.box.height;
      double right = p.box.x + p.box.width;
      picture_line(&p, p.box.x, bottom, right, bottom, p.theme->frame);
      picture_line(&p, p.box.x, p.box.y, p.box.x, bottom, p.theme->frame);
      if (row == column) {
        draw_histogram(&p, s, columns[row]);
        picture_text(&p, p.box.x + 0.5 * p.box.width, p.box.y + 14.0, PLOT_MIDDLE,
                     slt_table_column_name(s->rows, columns[row]));
      } else {
        draw_points(&p, s, columns[column], columns[row]);
      }
    }
  }
  return canvas->end(canvas->user);
}

SltStatus slt_sweep_picture(const SltDesign* design, const SltTable* rows, SltPlotFormat format,
                            SltWriter writer) {
  if (!design || !rows || !writer.write) return SLT_ERR_ARGUMENT;
  SweepPicture s = {.design = design, .rows = rows};
  bool grid = design->sampling == SLT_SAMPLE_GRID;
  bool whole = slt_table_row_count(rows) == design->members;
  if (!find_columns(&s) || slt_table_row_count(rows) == 0 || (grid && !whole)) {
    return SLT_ERR_ARGUMENT;
  }
  bool seeds = grid && design->count == 2 && design->axes[1].parameter.kind == PARAMETER_SEED;
  PlotDrawFn* draw = !grid ? draw_matrix : design->count == 2 && !seeds ? draw_heat : draw_curves;
  return picture_write(draw, &s, format, writer);
}
