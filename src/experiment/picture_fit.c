// SPDX-License-Identifier: MIT
//
// The picture of a fit: the model with the interval that the uncertainty of its parameters leaves
// it, over it what was measured, and below what is left over.
#include "experiment/picture.h"

#include <math.h>

#define LEFT      90.0
#define OVERLAY   190.0  // height of data and model
#define RESIDUALS 80.0
#define GAP       26.0

typedef struct FitPicture {
  const SltFitPanel* panels;
  uint32_t count;
  const char* title;
} FitPicture;

static void widen(PlotRange* range, double value) {
  if (!isfinite(value)) return;
  range->lo = fmin(range->lo, value);
  range->hi = fmax(range->hi, value);
}

static PlotRange settled(PlotRange range) {
  return range.lo <= range.hi ? range_padded(range) : (PlotRange){0.0, 1.0};
}

static const PlotRange nothing = {HUGE_VAL, -HUGE_VAL};

static Axis times_of(const SltFitPanel* panel) {
  PlotRange range = nothing;
  for (uint32_t i = 0; i < panel->count; i++)
    widen(&range, panel->t[i]);
  for (uint32_t i = 0; i < panel->model_count; i++)
    widen(&range, panel->model_t[i]);
  return (Axis){.range = settled(range)};
}

static Axis values_of(const SltFitPanel* panel) {
  PlotRange range = nothing;
  for (uint32_t i = 0; i < panel->count; i++)
    widen(&range, panel->y[i]);
  for (uint32_t i = 0; i < panel->model_count; i++)
    widen(&range, panel->model[i]);
  return (Axis){.range = settled(range)};
}

static void draw_dots(const Picture* p, const double* x, const double* y, uint32_t count,
                      uint32_t rgb) {
  for (uint32_t i = 0; i < count; i++) {
    if (!isfinite(x[i]) || !isfinite(y[i])) continue;
    PlotBox dot = {picture_x(p, x[i]) - 2.5, picture_y(p, y[i]) - 2.5, 5.0, 5.0};
    p->canvas->rect(p->canvas->user, dot, rgb, 0.8);
  }
}

static double inside(const Picture* p, double value) {
  return fmax(p->y.range.lo, fmin(value, p->y.range.hi));
}

/// The model where it is known: the band of its interval, or (`sign` 0) the line in its middle.
static void draw_model(const Picture* p, const SltFitPanel* panel, bool band) {
  const PlotCanvas* canvas = p->canvas;
  uint32_t n = panel->model_count;
  bool open = false;
  canvas->path_begin(canvas->user);
  for (uint32_t k = 0; k < (band ? 2 * n : n); k++) {
    uint32_t i = k < n ? k : 2 * n - 1 - k;
    double half = band ? panel->spread[i] : 0.0;
    double y = panel->model[i] + (k < n ? half : -half);
    if (!isfinite(y)) continue;
    double x = picture_x(p, panel->model_t[i]);
    if (open) {
      canvas->path_line(canvas->user, x, picture_y(p, inside(p, y)));
    } else {
      canvas->path_move(canvas->user, x, picture_y(p, inside(p, y)));
    }
    open = true;
  }
  PlotPen pen = {.rgb = p->theme->lines[0], .width = 1.4};
  if (band) {
    canvas->path_fill(canvas->user, p->theme->lines[0], 0.25);
  } else {
    canvas->path_end(canvas->user, &pen);
  }
}

static void draw_frame(const Picture* p) {
  double bottom = p->box.y + p->box.height;
  picture_line(p, p->box.x, p->box.y, p->box.x, bottom, p->theme->frame);
  picture_line(p, p->box.x, bottom, p->box.x + p->box.width, bottom, p->theme->frame);
}

static void draw_panel(Picture* p, const SltFitPanel* panel, double top) {
  double width = PICTURE_WIDTH - LEFT - PICTURE_MARGIN;
  p->x = times_of(panel);
  p->y = values_of(panel);
  p->box = (PlotBox){LEFT, top, width, OVERLAY};
  draw_frame(p);
  picture_y_axis(p, panel->name);
  if (panel->spread) draw_model(p, panel, true);
  draw_model(p, panel, false);
  draw_dots(p, panel->t, panel->y, panel->count, p->theme->lines[1]);
  PlotRange range = {0.0, 0.0};
  for (uint32_t i = 0; i < panel->count; i++)
    widen(&range, panel->residual[i]);
  p->y = (Axis){.range = range_padded(range)};
  p->box = (PlotBox){LEFT, top + OVERLAY + GAP, width, RESIDUALS};
  draw_frame(p);
  double zero = picture_y(p, 0.0);
  picture_line(p, p->box.x, zero, p->box.x + p->box.width, zero, p->theme->frame);
  picture_y_axis(p, "residual");
  picture_x_axis(p, panel->over);
  draw_dots(p, panel->t, panel->residual, panel->count, p->theme->lines[1]);
}

static SltStatus draw_fit(void* user, const PlotCanvas* canvas) {
  const FitPicture* f = user;
  double step = OVERLAY + GAP + RESIDUALS + PICTURE_AXIS + GAP;
  Picture p = {.canvas = canvas, .theme = figure_theme(false)};
  picture_begin(&p, PICTURE_TITLE + 16.0 + step * f->count, f->title);
  for (uint32_t i = 0; i < f->count; i++)
    draw_panel(&p, &f->panels[i], PICTURE_TITLE + 16.0 + step * i);
  return canvas->end(canvas->user);
}

SltStatus slt_fit_picture(const SltFitPanel* panels, uint32_t count, const char* title,
                          SltPlotFormat format, SltWriter writer) {
  if (!panels || count == 0 || !title || !writer.write) return SLT_ERR_ARGUMENT;
  FitPicture picture = {panels, count, title};
  return picture_write(draw_fit, &picture, format, writer);
}
