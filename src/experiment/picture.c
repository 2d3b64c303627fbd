// SPDX-License-Identifier: MIT
//
// Pictures that are no lines over an axis: bars around zero, and the map of event sequences.
#include "experiment/design.h"
#include "record/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FONT    12.0
#define WIDTH   760.0
#define MARGIN  16.0
#define BAR     22.0  // a bar and the room below it
#define TITLE   34.0
#define AXIS    44.0  // ticks and the name of an axis
#define LEGEND  24u   // most lines of a legend
#define LETTERS 90u   // most letters of a name

typedef struct Picture {
  const PlotCanvas* canvas;
  const FigureTheme* theme;
  PlotBox box;  // inside of the axes
  Axis x, y;
} Picture;

static void put_text(const Picture* p, double x, double y, PlotAnchor anchor, const char* text) {
  PlotFont font = {.size = FONT, .rgb = p->theme->ink, .anchor = anchor};
  p->canvas->text(p->canvas->user, x, y, &font, plot_clip(str_from_c(text), LETTERS));
}

static void put_line(const Picture* p, double x0, double y0, double x1, double y1, uint32_t rgb) {
  PlotPen pen = {.rgb = rgb, .width = 1.0};
  p->canvas->path_begin(p->canvas->user);
  p->canvas->path_move(p->canvas->user, x0, y0);
  p->canvas->path_line(p->canvas->user, x1, y1);
  p->canvas->path_end(p->canvas->user, &pen);
}

static double x_at(const Picture* p, double value) {
  return p->box.x + axis_position(&p->x, value) * p->box.width;
}

static double y_at(const Picture* p, double value) {
  return p->box.y + (1.0 - axis_position(&p->y, value)) * p->box.height;
}

static void begin(const Picture* p, double height, const char* title) {
  p->canvas->begin(p->canvas->user, WIDTH, height, str_from_c(title));
  p->canvas->rect(p->canvas->user, (PlotBox){0.0, 0.0, WIDTH, height}, p->theme->canvas, 1.0);
  PlotFont font = {.size = 15.0, .rgb = p->theme->ink, .anchor = PLOT_MIDDLE, .bold = true};
  p->canvas->text(p->canvas->user, 0.5 * WIDTH, 22.0, &font, str_from_c(title));
}

static void draw_x_axis(const Picture* p, const char* name) {
  AxisTicks* ticks = calloc(1, sizeof *ticks);
  if (!ticks) return;
  axis_ticks(&p->x, 7, true, ticks);
  double bottom = p->box.y + p->box.height;
  for (uint32_t i = 0; i < ticks->count; i++) {
    double x = p->box.x + ticks->ticks[i].at * p->box.width;
    put_line(p, x, p->box.y, x, bottom + 4.0, p->theme->grid);
    put_text(p, x, bottom + 18.0, PLOT_MIDDLE, ticks->ticks[i].text);
  }
  put_text(p, p->box.x + 0.5 * p->box.width, bottom + 36.0, PLOT_MIDDLE, name);
  free(ticks);
}

static void draw_y_axis(const Picture* p, const char* name) {
  AxisTicks* ticks = calloc(1, sizeof *ticks);
  if (!ticks) return;
  axis_ticks(&p->y, 6, true, ticks);
  for (uint32_t i = 0; i < ticks->count; i++) {
    double y = p->box.y + (1.0 - ticks->ticks[i].at) * p->box.height;
    put_line(p, p->box.x - 4.0, y, p->box.x, y, p->theme->frame);
    put_text(p, p->box.x - 8.0, y + 4.0, PLOT_END, ticks->ticks[i].text);
  }
  put_text(p, p->box.x - 8.0, p->box.y - 8.0, PLOT_END, name);
  free(ticks);
}

// ---- bars ---------------------------------------------------------------------------------------

SltStatus slt_tornado_picture(const SltBar* bars, uint32_t count, const char* title,
                              SltWriter writer) {
  if (!bars || count == 0 || !title) return SLT_ERR_ARGUMENT;
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  PlotCanvas canvas = figure_svg_canvas(&sink);
  double widest = 0.0;
  PlotRange range = {0.0, 0.0};
  for (uint32_t i = 0; i < count; i++) {
    Str label = plot_clip(str_from_c(bars[i].label), LETTERS);
    widest = fmax(widest, plot_text_width(label, FONT));
    if (isfinite(bars[i].value)) range.lo = fmin(range.lo, bars[i].value);
    if (isfinite(bars[i].value)) range.hi = fmax(range.hi, bars[i].value);
  }
  if (!(range.hi > range.lo)) range = (PlotRange){-1.0, 1.0};
  double left = fmin(widest + 2.0 * MARGIN, 0.6 * WIDTH);
  Picture p = {.canvas = &canvas,
               .theme = figure_theme(false),
               .box = {left, TITLE, WIDTH - left - MARGIN, BAR * count},
               .x = {.range = range_padded(range)}};
  begin(&p, TITLE + BAR * count + AXIS + MARGIN, title);
  draw_x_axis(&p, "relative change of the measure per relative change of the parameter");
  for (uint32_t i = 0; i < count; i++) {
    double y = p.box.y + BAR * i;
    bool known = isfinite(bars[i].value);
    double zero = x_at(&p, 0.0);
    double end = x_at(&p, known ? bars[i].value : 0.0);
    PlotBox bar = {fmin(zero, end), y + 4.0, fabs(end - zero), BAR - 8.0};
    canvas.rect(canvas.user, bar, p.theme->lines[bars[i].value < 0.0], 1.0);
    put_text(&p, left - 8.0, y + 0.5 * BAR + 4.0, PLOT_END, bars[i].label);
    if (!known) put_text(&p, zero + 6.0, y + 0.5 * BAR + 4.0, PLOT_START, "none exists");
  }
  put_line(&p, x_at(&p, 0.0), p.box.y, x_at(&p, 0.0), p.box.y + p.box.height, p.theme->frame);
  SltStatus status = canvas.end(canvas.user);
  if (status >= 0) status = sink_flush(&sink);
  sink_clear(&sink);
  return status;
}

// ---- maps ---------------------------------------------------------------------------------------

static uint32_t sequence_colour(const Picture* p, uint32_t sequence) {
  if (sequence == UINT32_MAX) return p->theme->soft;
  uint32_t colour = sequence % (2 * FIGURE_COLOURS);
  return colour < FIGURE_COLOURS ? p->theme->bands[colour]
                                 : p->theme->lines[colour - FIGURE_COLOURS];
}

/// Half way to the neighbours, or the end of the axis.
static PlotRange cell_of(const SltDesign* design, uint32_t axis, uint64_t stride, uint64_t member) {
  double values[DESIGN_AXES];
  uint64_t count = design->axes[axis].count;
  uint64_t place = member / stride % count;
  slt_design_member(design, member, values);
  double own = values[axis];
  PlotRange cell = {own, own};
  if (place > 0) {
    slt_design_member(design, member - stride, values);
    cell.lo = 0.5 * (own + values[axis]);
  }
  if (place + 1 < count) {
    slt_design_member(design, member + stride, values);
    cell.hi = 0.5 * (own + values[axis]);
  }
  return cell.lo <= cell.hi ? cell : (PlotRange){cell.hi, cell.lo};
}

static Axis axis_of(const SltDesign* design, uint32_t axis) {
  double first[DESIGN_AXES];
  double last[DESIGN_AXES];
  slt_design_member(design, 0, first);
  slt_design_member(design, design->members - 1, last);
  PlotRange range = {fmin(first[axis], last[axis]), fmax(first[axis], last[axis])};
  return (Axis){.range = range.lo < range.hi ? range : range_padded(range)};
}

static void draw_cells(const Picture* p, const SltDesign* design, const uint32_t* sequences) {
  bool two = design->count == 2;
  uint64_t stride = two ? design->axes[1].count : 1;
  for (uint64_t i = 0; i < design->members; i++) {
    PlotRange x = cell_of(design, 0, stride, i);
    PlotRange y = two ? cell_of(design, 1, 1, i) : p->y.range;
    PlotBox box = {x_at(p, x.lo), y_at(p, y.hi), x_at(p, x.hi) - x_at(p, x.lo),
                   y_at(p, y.lo) - y_at(p, y.hi)};
    p->canvas->rect(p->canvas->user, box, sequence_colour(p, sequences[i]), 1.0);
  }
}

static void draw_legend(const Picture* p, double top, const char* const* spellings,
                        uint32_t count) {
  for (uint32_t i = 0; i < count && i < LEGEND; i++) {
    char text[240];
    double y = top + BAR * i;
    const char* name = spellings[i] && spellings[i][0] ? spellings[i] : "(no event)";
    snprintf(text, sizeof text, "%u: %.200s", i, name);
    p->canvas->rect(p->canvas->user, (PlotBox){MARGIN, y, 14.0, 14.0}, sequence_colour(p, i), 1.0);
    put_text(p, MARGIN + 22.0, y + 12.0, PLOT_START, text);
  }
}

SltStatus slt_map_picture(const SltDesign* design, const uint32_t* sequences,
                          const double* boundaries, uint64_t boundary_count,
                          const char* const* spellings, uint32_t sequence_count, SltWriter writer) {
  if (!design || !sequences || (boundary_count && !boundaries) || (sequence_count && !spellings) ||
      design->count < 1 || design->count > 2) {
    return SLT_ERR_ARGUMENT;
  }
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  PlotCanvas canvas = figure_svg_canvas(&sink);
  bool two = design->count == 2;
  uint32_t lines = sequence_count < LEGEND ? sequence_count : LEGEND;
  Picture p = {.canvas = &canvas,
               .theme = figure_theme(false),
               .box = {80.0, TITLE + 16.0, WIDTH - 80.0 - MARGIN, two ? 420.0 : 60.0},
               .x = axis_of(design, 0),
               .y = {.range = {0.0, 1.0}}};
  if (two) p.y = axis_of(design, 1);
  double below = p.box.y + p.box.height + AXIS + 12.0;
  begin(&p, below + BAR * lines + MARGIN, "sequences of events");
  draw_cells(&p, design, sequences);
  draw_x_axis(&p, design->axes[0].parameter.name);
  if (two) draw_y_axis(&p, design->axes[1].parameter.name);
  for (uint64_t i = 0; i < boundary_count; i++) {
    const double* at = boundaries + i * design->count;
    double x = x_at(&p, at[0]);
    if (!two) put_line(&p, x, p.box.y, x, p.box.y + p.box.height, p.theme->ink);
    if (!two) continue;
    canvas.rect(canvas.user, (PlotBox){x - 1.5, y_at(&p, at[1]) - 1.5, 3.0, 3.0}, p.theme->ink,
                1.0);
  }
  draw_legend(&p, below, spellings, sequence_count);
  SltStatus status = canvas.end(canvas.user);
  if (status >= 0) status = sink_flush(&sink);
  sink_clear(&sink);
  return status;
}
