// SPDX-License-Identifier: MIT
//
// Pictures that are no lines over an axis: bars around zero, and the map of event sequences.
#include "experiment/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEGEND 24u  // most lines of a legend

void picture_text(const Picture* p, double x, double y, PlotAnchor anchor, const char* text) {
  PlotFont font = {.size = PICTURE_FONT, .rgb = p->theme->ink, .anchor = anchor};
  p->canvas->text(p->canvas->user, x, y, &font, plot_clip(str_from_c(text), PICTURE_LETTERS));
}

void picture_line(const Picture* p, double x0, double y0, double x1, double y1, uint32_t rgb) {
  PlotPen pen = {.rgb = rgb, .width = 1.0};
  p->canvas->path_begin(p->canvas->user);
  p->canvas->path_move(p->canvas->user, x0, y0);
  p->canvas->path_line(p->canvas->user, x1, y1);
  p->canvas->path_end(p->canvas->user, &pen);
}

double picture_x(const Picture* p, double value) {
  return p->box.x + axis_position(&p->x, value) * p->box.width;
}

double picture_y(const Picture* p, double value) {
  return p->box.y + (1.0 - axis_position(&p->y, value)) * p->box.height;
}

void picture_begin(const Picture* p, double height, const char* title) {
  p->canvas->begin(p->canvas->user, PICTURE_WIDTH, height, str_from_c(title));
  p->canvas->rect(p->canvas->user, (PlotBox){0.0, 0.0, PICTURE_WIDTH, height}, p->theme->canvas,
                  1.0);
  PlotFont font = {.size = 15.0, .rgb = p->theme->ink, .anchor = PLOT_MIDDLE, .bold = true};
  p->canvas->text(p->canvas->user, 0.5 * PICTURE_WIDTH, 22.0, &font, str_from_c(title));
}

void picture_x_axis(const Picture* p, const char* name) {
  AxisTicks* ticks = calloc(1, sizeof *ticks);
  if (!ticks) return;
  axis_ticks(&p->x, 7, true, ticks);
  double bottom = p->box.y + p->box.height;
  for (uint32_t i = 0; i < ticks->count; i++) {
    double x = p->box.x + ticks->ticks[i].at * p->box.width;
    picture_line(p, x, p->box.y, x, bottom + 4.0, p->theme->grid);
    picture_text(p, x, bottom + 18.0, PLOT_MIDDLE, ticks->ticks[i].text);
  }
  picture_text(p, p->box.x + 0.5 * p->box.width, bottom + 36.0, PLOT_MIDDLE, name);
  free(ticks);
}

void picture_y_axis(const Picture* p, const char* name) {
  AxisTicks* ticks = calloc(1, sizeof *ticks);
  if (!ticks) return;
  axis_ticks(&p->y, 6, true, ticks);
  for (uint32_t i = 0; i < ticks->count; i++) {
    double y = p->box.y + (1.0 - ticks->ticks[i].at) * p->box.height;
    picture_line(p, p->box.x - 4.0, y, p->box.x, y, p->theme->frame);
    picture_text(p, p->box.x - 8.0, y + 4.0, PLOT_END, ticks->ticks[i].text);
  }
  picture_text(p, p->box.x - 8.0, p->box.y - 8.0, PLOT_END, name);
  free(ticks);
}

// ---- bars ---------------------------------------------------------------------------------------

typedef struct Tornado {
  const SltBar* bars;
  uint32_t count;
  const char* title;
} Tornado;

static SltStatus draw_tornado(void* user, const PlotCanvas* canvas) {
  const Tornado* t = user;
  double widest = 0.0;
  PlotRange range = {0.0, 0.0};
  for (uint32_t i = 0; i < t->count; i++) {
    const SltBar* bar = &t->bars[i];
    widest = fmax(
        widest, plot_text_width(plot_clip(str_from_c(bar->label), PICTURE_LETTERS), PICTURE_FONT));
    if (isfinite(bar->value)) range.lo = fmin(range.lo, bar->value);
    if (isfinite(bar->value)) range.hi = fmax(range.hi, bar->value);
  }
  if (!(range.hi > range.lo)) range = (PlotRange){-1.0, 1.0};
  double left = fmin(widest + 2.0 * PICTURE_MARGIN, 0.6 * PICTURE_WIDTH);
  double height = PICTURE_BAR * t->count;
  Picture p = {.canvas = canvas,
               .theme = figure_theme(false),
               .box = {left, PICTURE_TITLE, PICTURE_WIDTH - left - PICTURE_MARGIN, height},
               .x = {.range = range_padded(range)}};
  picture_begin(&p, PICTURE_TITLE + height + PICTURE_AXIS + PICTURE_MARGIN, t->title);
  picture_x_axis(&p, "relative change of the measure per relative change of the parameter");
  double zero = picture_x(&p, 0.0);
  for (uint32_t i = 0; i < t->count; i++) {
    const SltBar* bar = &t->bars[i];
    double y = p.box.y + PICTURE_BAR * i;
    bool known = isfinite(bar->value);
    double end = picture_x(&p, known ? bar->value : 0.0);
    PlotBox box = {fmin(zero, end), y + 4.0, fabs(end - zero), PICTURE_BAR - 8.0};
    canvas->rect(canvas->user, box, p.theme->lines[bar->value < 0.0], 1.0);
    picture_text(&p, left - 8.0, y + 0.5 * PICTURE_BAR + 4.0, PLOT_END, bar->label);
    if (known) continue;
    picture_text(&p, zero + 6.0, y + 0.5 * PICTURE_BAR + 4.0, PLOT_START, "none exists");
  }
  picture_line(&p, zero, p.box.y, zero, p.box.y + p.box.height, p.theme->frame);
  return canvas->end(canvas->user);
}

SltStatus slt_tornado_picture(const SltBar* bars, uint32_t count, const char* title,
                              SltPlotFormat format, SltWriter writer) {
  if (!bars || count == 0 || !title) return SLT_ERR_ARGUMENT;
  Tornado tornado = {bars, count, title};
  return picture_write(draw_tornado, &tornado, format, writer);
}

// ---- maps ---------------------------------------------------------------------------------------

static uint32_t sequence_colour(const Picture* p, uint32_t sequence) {
  if (sequence == UINT32_MAX) return p->theme->soft;
  uint32_t colour = sequence % (2 * FIGURE_COLOURS);
  return colour < FIGURE_COLOURS ? p->theme->bands[colour]
                                 : p->theme->lines[colour - FIGURE_COLOURS];
}

PlotRange picture_cell(const SltDesign* design, uint32_t axis, uint64_t stride, uint64_t member) {
  uint64_t count = design->axes[axis].count;
  uint64_t place = member / stride % count;
  double own = design_grid_value(design, member, axis);
  PlotRange cell = {own, own};
  if (place > 0) cell.lo = 0.5 * (own + design_grid_value(design, member - stride, axis));
  if (place + 1 < count) cell.hi = 0.5 * (own + design_grid_value(design, member + stride, axis));
  return cell.lo <= cell.hi ? cell : (PlotRange){cell.hi, cell.lo};
}

Axis picture_axis_of(const SltDesign* design, uint32_t axis) {
  double first = design_grid_value(design, 0, axis);
  double last = design_grid_value(design, design->members - 1, axis);
  PlotRange range = {fmin(first, last), fmax(first, last)};
  return (Axis){.range = range.lo < range.hi ? range : range_padded(range)};
}

static void draw_cells(const Picture* p, const SltDesign* design, const uint32_t* sequences) {
  bool two = design->count == 2;
  uint64_t stride = two ? design->axes[1].count : 1;
  for (uint64_t i = 0; i < design->members; i++) {
    PlotRange x = picture_cell(design, 0, stride, i);
    PlotRange y = two ? picture_cell(design, 1, 1, i) : p->y.range;
    PlotBox box = {picture_x(p, x.lo), picture_y(p, y.hi), picture_x(p, x.hi) - picture_x(p, x.lo),
                   picture_y(p, y.lo) - picture_y(p, y.hi)};
    p->canvas->rect(p->canvas->user, box, sequence_colour(p, sequences[i]), 1.0);
  }
}

static void draw_legend(const Picture* p, double top, const char* const* spellings,
                        uint32_t count) {
  for (uint32_t i = 0; i < count && i < LEGEND; i++) {
    char text[240];
    double y = top + PICTURE_BAR * i;
    const char* name = spellings[i] && spellings[i][0] ? spellings[i] : "(no event)";
    snprintf(text, sizeof text, "%u: %.200s", i, name);
    p->canvas->rect(p->canvas->user, (PlotBox){PICTURE_MARGIN, y, 14.0, 14.0},
                    sequence_colour(p, i), 1.0);
    picture_text(p, PICTURE_MARGIN + 22.0, y + 12.0, PLOT_START, text);
  }
}

typedef struct Map {
  const SltDesign* design;
  const uint32_t* sequences;
  const double* boundaries;
  uint64_t boundary_count;
  const char* const* spellings;
  uint32_t sequence_count;
} Map;

static void draw_boundaries(const Picture* p, const Map* map) {
  bool two = map->design->count == 2;
  for (uint64_t i = 0; i < map->boundary_count; i++) {
    const double* at = map->boundaries + i * map->design->count;
    double x = picture_x(p, at[0]);
    if (!two) picture_line(p, x, p->box.y, x, p->box.y + p->box.height, p->theme->ink);
    if (!two) continue;
    PlotBox dot = {x - 1.5, picture_y(p, at[1]) - 1.5, 3.0, 3.0};
    p->canvas->rect(p->canvas->user, dot, p->theme->ink, 1.0);
  }
}

static SltStatus draw_map(void* user, const PlotCanvas* canvas) {
  const Map* map = user;
  const SltDesign* design = map->design;
  bool two = design->count == 2;
  uint32_t lines = map->sequence_count < LEGEND ? map->sequence_count : LEGEND;
  Picture p = {.canvas = canvas,
               .theme = figure_theme(false),
               .box = {80.0, PICTURE_TITLE + 16.0, PICTURE_WIDTH - 80.0 - PICTURE_MARGIN,
                       two ? 420.0 : 60.0},
               .x = picture_axis_of(design, 0),
               .y = {.range = {0.0, 1.0}}};
  if (two) p.y = picture_axis_of(design, 1);
  double below = p.box.y + p.box.height + PICTURE_AXIS + 12.0;
  picture_begin(&p, below + PICTURE_BAR * lines + PICTURE_MARGIN, "sequences of events");
  draw_cells(&p, design, map->sequences);
  picture_x_axis(&p, design->axes[0].parameter.name);
  if (two) picture_y_axis(&p, design->axes[1].parameter.name);
  draw_boundaries(&p, map);
  draw_legend(&p, below, map->spellings, map->sequence_count);
  return canvas->end(canvas->user);
}

SltStatus slt_map_picture(const SltDesign* design, const uint32_t* sequences,
                          const double* boundaries, uint64_t boundary_count,
                          const char* const* spellings, uint32_t sequence_count,
                          SltPlotFormat format, SltWriter writer) {
  if (!design || !sequences || (boundary_count && !boundaries) || (sequence_count && !spellings) ||
      design->count < 1 || design->count > 2) {
    return SLT_ERR_ARGUMENT;
  }
  Map map = {design, sequences, boundaries, boundary_count, spellings, sequence_count};
  return picture_write(draw_map, &map, format, writer);
}

SltStatus picture_write(PlotDrawFn* draw, void* user, SltPlotFormat format, SltWriter writer) {
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  SltStatus status = plot_on(format, draw, user, &sink);
  if (status >= 0) status = sink_flush(&sink);
  sink_clear(&sink);
  return status;
}
