// SPDX-License-Identifier: MIT
//
// Where things stand in a picture: a title, panels one above the other with their names, bands of
// states, and an axis under what shares it.
#include "record/figure.h"
#include "record/figure_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AXIS_HEIGHT 46.0

static const FigureTheme light = {
    .canvas = 0xffffff,
    .ink = 0x1f2328,
    .soft = 0x57606a,
    .frame = 0x8c959f,
    .grid = 0xe6e8eb,
    .fast = 0xb8bcc2,
    .mark = 0x57606a,
    // told apart with any kind of colour blindness, and at least 3:1 against the ground
    .lines = {0x00417f, 0xe8590c, 0x2a8a62, 0xbf6fa8, 0x5e5a00, 0x1c97f0, 0x3a2a14, 0x6e2450},
    .bands = {0xd8e8f6, 0xfde3c8, 0xdcefd8, 0xeadff3, 0xf9d9d6, 0xd5eef0, 0xf3ecc9, 0xe9e4df},
};

static const FigureTheme dark = {
    .canvas = 0x16181d,
    .ink = 0xe6e8eb,
    .soft = 0xa9b1ba,
    .frame = 0x6b7480,
    .grid = 0x2b3038,
    .fast = 0x4a505a,
    .mark = 0xa9b1ba,
    .lines = {0x3d9bd6, 0xe0782e, 0x7ff0a8, 0xf7bdf5, 0xc4d92e, 0x9d7dff, 0xd5f5e6, 0xee4f72},
    .bands = {0x1d3a55, 0x553418, 0x25472d, 0x432f55, 0x552a2a, 0x1d4a4d, 0x4a4420, 0x3d3833},
};

const FigureTheme* figure_theme(bool is_dark) {
  return is_dark ? &dark : &light;
}

/// Advance of a letter in a sans-serif font, in parts of its size.
static double letter_width(uint32_t code) {
  if (code >= 0x80) return 0.58;
  if (strchr("iljI.,:;|'!", (int)code)) return 0.27;
  if (strchr("ft()[]{}/ r-", (int)code)) return 0.35;
  if (strchr("mwMW@%", (int)code)) return 0.85;
  if (code >= 'A' && code <= 'Z') return 0.69;
  return 0.56;
}

double plot_text_width(Str text, double size) {
  double width = 0.0;
  for (uint32_t i = 0; i < text.length;) {
    uint32_t code = 0;
    uint32_t length = utf8_decode(text.data + i, text.length - i, &code);
    width += letter_width(length && code ? code : 0xfffd);
    i += length ? length : 1;
  }
  return width * size;
}

Str plot_clip(Str text, uint32_t limit) {
  uint32_t at = 0;
  for (uint32_t count = 0; count < limit && at < text.length; count++) {
    uint32_t size = utf8_decode(text.data + at, text.length - at, NULL);
    at += size ? size : 1;
  }
  return (Str){text.data, at};
}

// ---- sizes --------------------------------------------------------------------------------------

static uint32_t x_tick_count(double width) {
  return (uint32_t)fmax(floor(width / 90.0), 2.0);
}

/// Low panels have few marks, but more to a length than high ones: two tell little of a scale.
static uint32_t y_tick_count(double height) {
  return (uint32_t)fmax(fmin(3.2 + height / 55.0, height / 20.0), 2.0);
}

/// Whether what follows a panel stands over the same axis.
static bool shares_axis_below(const Figure* figure, uint32_t panel) {
  if (panel + 1 >= figure->panel_count) return false;
  const FigurePanel* a = &figure->panels[panel];
  const FigurePanel* b = &figure->panels[panel + 1];
  const Axis* x = &a->axes[AXIS_X];
  const Axis* y = &b->axes[AXIS_X];
  return a->kind == FIGURE_PANEL && b->kind == FIGURE_PANEL && x->log == y->log &&
         x->range.lo == y->range.lo && x->range.hi == y->range.hi && str_equal(x->label, y->label);
}

/// The bands stand under the last panel over the time, or alone.
static bool bands_follow(const Figure* figure, uint32_t panel) {
  if (figure->panels[panel].kind != FIGURE_PANEL) return false;
  for (uint32_t p = panel + 1; p < figure->panel_count; p++) {
    if (figure->panels[p].kind == FIGURE_PANEL) return false;
  }
  return true;
}

static double bands_height(const Figure* figure) {
  return figure->band_count * (BAND_HEIGHT + BAND_GAP);
}

static double title_height(const Drawing* d) {
  return d->figure->title.length ? 34.0 : MARGIN;
}

/// A panel's weight in the height of the figure.
static double panel_weight(const FigurePanel* panel) {
  return panel->kind == FIGURE_PHASE ? 2.0 : 1.0;
}

/// Everything but the panels themselves.
static double fixed_height(const Drawing* d) {
  const Figure* f = d->figure;
  double height = title_height(d);
  for (uint32_t p = 0; p < f->panel_count; p++) {
    height += legend_height(d, &f->panels[p]);
    height += shares_axis_below(f, p) ? PANEL_GAP : AXIS_HEIGHT;
    if (p + 1 < f->panel_count && !shares_axis_below(f, p)) height += PANEL_GAP;
    if (bands_follow(f, p)) height += bands_height(f);
  }
  if (f->panel_count == 0) height += bands_height(f) + AXIS_HEIGHT;
  return height + (f->note.length ? LEGEND_LINE : 0.0);
}

static double widest_tick(const Drawing* d, AxisId id) {
  double widest = 0.0;
  for (uint32_t p = 0; p < d->figure->panel_count; p++) {
    const FigurePanel* panel = &d->figure->panels[p];
    if (panel->space || (id == AXIS_Y2 && !panel_has_right(panel))) continue;
    AxisTicks ticks;
    axis_ticks(&panel->axes[id], y_tick_count(d->unit_height * panel_weight(panel)), false, &ticks);
    for (uint32_t i = 0; i < ticks.count; i++)
      widest = fmax(widest, plot_text_width(str_from_c(ticks.ticks[i].text), FONT));
  }
  return widest;
}

static bool has_label(const Drawing* d, AxisId id) {
  for (uint32_t p = 0; p < d->figure->panel_count; p++) {
    const FigurePanel* panel = &d->figure->panels[p];
    if (axis_is_labelled(d, panel, id) && (id == AXIS_Y || panel_has_right(panel))) return true;
  }
  return false;
}

static void set_margins(Drawing* d) {
  double left = fmax(widest_tick(d, AXIS_Y), 24.0) + (has_label(d, AXIS_Y) ? 20.0 : 0.0);
  for (uint32_t b = 0; b < d->figure->band_count; b++) {
    left = fmax(left, fmin(plot_text_width(d->figure->bands[b].label, FONT), 160.0));
  }
  double right = widest_tick(d, AXIS_Y2);
  if (right > 0.0) right += 8.0 + (has_label(d, AXIS_Y2) ? 20.0 : 0.0);
  d->left = left + MARGIN + 8.0;
  d->right = d->width - MARGIN - 8.0 - right - legend_width(d);
  if (d->right < d->left + 60.0) d->right = d->left + 60.0;
}

static void layout(Drawing* d) {
  const Figure* f = d->figure;
  double weights = 0.0;
  for (uint32_t p = 0; p < f->panel_count; p++)
    weights += panel_weight(&f->panels[p]);
  d->width = isfinite(f->size[0]) && f->size[0] > 0.0 ? fmax(f->size[0], 200.0) : 900.0;
  d->unit_height = f->panel_count > 1 ? 160.0 : f->panel_count && weights > 1.0 ? 250.0 : 340.0;
  set_margins(d);
  if (isfinite(f->size[1]) && f->size[1] > 0.0 && weights > 0.0) {
    double room = (f->size[1] - fixed_height(d)) / weights;
    d->unit_height = fmax(room, 40.0);
    set_margins(d);
  }
  d->height = fixed_height(d) + weights * d->unit_height;
}

// ---- panels -------------------------------------------------------------------------------------

static void draw_grid(const Drawing* d, const FigurePanel* panel, PlotBox box) {
  AxisTicks x;
  AxisTicks y;
  axis_ticks(&panel->axes[AXIS_X], x_tick_count(box.width), false, &x);
  axis_ticks(&panel->axes[AXIS_Y], y_tick_count(box.height), false, &y);
  for (uint32_t i = 0; i < x.count; i++) {
    const PlotPen pen = {.rgb = d->theme->grid, .width = x.ticks[i].minor ? 0.5 : 1.0};
    double at = box.x + x.ticks[i].at * box.width;
    draw_line(d, at, box.y, at, box.y + box.height, &pen);
  }
  for (uint32_t i = 0; i < y.count; i++) {
    const PlotPen pen = {.rgb = d->theme->grid, .width = y.ticks[i].minor ? 0.5 : 1.0};
    double at = box.y + (1.0 - y.ticks[i].at) * box.height;
    draw_line(d, box.x, at, box.x + box.width, at, &pen);
  }
}

/// Marks, power of ten and name of a vertical axis.
static void draw_y_axis(const Drawing* d, const FigurePanel* panel, AxisId id, PlotBox box) {
  AxisTicks ticks;
  axis_ticks(&panel->axes[id], y_tick_count(box.height), false, &ticks);
  bool right = id == AXIS_Y2;
  double x = right ? box.x + box.width + 7.0 : box.x - 7.0;
  PlotAnchor anchor = right ? PLOT_START : PLOT_END;
  double above = HUGE_VAL;  // the text before, from below
  for (uint32_t i = 0; i < ticks.count; i++) {
    double y = box.y + (1.0 - ticks.ticks[i].at) * box.height + 0.35 * FONT;
    // in a low panel there is no room for the text of every mark
    if (ticks.ticks[i].minor || fabs(above - y) < FONT) continue;
    draw_text(d, x, y, anchor, d->theme->soft, str_from_c(ticks.ticks[i].text));
    above = y;
  }
  if (ticks.factor) {
    char text[48] = "×";
    axis_power_text(ticks.factor, text + strlen(text));
    draw_text(d, right ? box.x + box.width : box.x, box.y - 4.0, right ? PLOT_END : PLOT_START,
              d->theme->soft, str_from_c(text));
  }
  if (!axis_is_labelled(d, panel, id)) return;
  const PlotFont font = {.size = FONT, .rgb = d->theme->ink, .anchor = PLOT_MIDDLE, .upward = true};
  double across = right ? box.x + box.width + widest_tick(d, id) + 24.0
                        : box.x - 7.0 - widest_tick(d, id) - 12.0;
  d->canvas->text(d->canvas->user, across, box.y + 0.5 * box.height, &font, panel->axes[id].label);
}

/// Marks, power of ten and name of a horizontal axis.
static void draw_x_axis(const Drawing* d, const Axis* axis, double top) {
  const PlotPen mark = {.rgb = d->theme->frame, .width = 1.0};
  AxisTicks ticks;
  axis_ticks(axis, x_tick_count(d->right - d->left), false, &ticks);
  double end = -HUGE_VAL;  // of the text before
  for (uint32_t i = 0; i < ticks.count; i++) {
    double x = d->left + ticks.ticks[i].at * (d->right - d->left);
    draw_line(d, x, top, x, top + (ticks.ticks[i].minor ? 2.0 : 4.0), &mark);
    double half = 0.5 * plot_text_width(str_from_c(ticks.ticks[i].text), FONT);
    if (ticks.ticks[i].minor || x - half < end + 3.0) continue;
    end = x + half;
    draw_text(d, x, top + 17.0, PLOT_MIDDLE, d->theme->soft, str_from_c(ticks.ticks[i].text));
  }
  char power[48] = "";
  if (ticks.factor) axis_power_text(ticks.factor, power);
  Str name = str_format(d->arena, "%.*s%s%s", STR_ARGS(axis->label), power[0] ? "  ×" : "", power);
  draw_text(d, 0.5 * (d->left + d->right), top + 36.0, PLOT_MIDDLE, d->theme->ink, name);
}

static void draw_frame(const Drawing* d, PlotBox box) {
  const PlotPen frame = {.rgb = d->theme->frame, .width = 1.0};
  const PlotCanvas* c = d->canvas;
  c->path_begin(c->user);
  c->path_move(c->user, box.x, box.y);
  c->path_line(c->user, box.x + box.width, box.y);
  c->path_line(c->user, box.x + box.width, box.y + box.height);
  c->path_line(c->user, box.x, box.y + box.height);
  c->path_line(c->user, box.x, box.y - 0.5);
  c->path_end(c->user, &frame);
}

/// Widen a range about its middle.
static void widen(PlotRange* range, double factor) {
  double middle = 0.5 * range->lo + 0.5 * range->hi;
  double half = range_half(*range) * factor;
  *range = (PlotRange){middle - half, middle + half};
}

/// One scale for both axes: the range that has room gets more of it.
static FigurePanel equalised(const FigurePanel* panel, PlotBox box) {
  FigurePanel equal = *panel;
  if (!panel->equal) return equal;
  PlotRange* x = &equal.axes[AXIS_X].range;
  PlotRange* y = &equal.axes[AXIS_Y].range;
  double ratio = range_half(*x) / box.width / (range_half(*y) / box.height);
  if (ratio < 1.0) widen(x, 1.0 / ratio);
  if (ratio > 1.0) widen(y, ratio);
  return equal;
}

/// Returns where the box ends.
static double draw_panel(const Drawing* d, const FigurePanel* asked, double top, bool axis) {
  const PlotCanvas* c = d->canvas;
  top += legend_height(d, asked);
  PlotBox box = {d->left, top, d->right - d->left, d->unit_height * panel_weight(asked)};
  const FigurePanel equal = equalised(asked, box);
  const FigurePanel* panel = &equal;
  if (panel->space) {
    draw_space(d, panel, box);
  } else {
    draw_grid(d, panel, box);
    draw_y_axis(d, panel, AXIS_Y, box);
    if (panel_has_right(panel)) draw_y_axis(d, panel, AXIS_Y2, box);
  }
  if (panel->has_time) draw_marks(d, panel, box);
  if (panel->clipped) c->clip(c->user, box);
  for (uint32_t i = 0; i < panel->line_count; i++)
    figure_trace(d->figure, panel, &panel->lines[i], box, c, d->arena);
  if (panel->clipped) c->unclip(c->user);
  if (!panel->space) draw_frame(d, box);
  draw_legend(d, panel, box);
  if (axis && !panel->space) draw_x_axis(d, &panel->axes[AXIS_X], box.y + box.height);
  return box.y + box.height;
}

// ---- the whole ----------------------------------------------------------------------------------

static double draw_bands(const Drawing* d, double y) {
  StateSet states = {0};
  choose_state_colours(d->figure, &states);
  for (uint32_t b = 0; b < d->figure->band_count; b++) {
    y += BAND_GAP;
    draw_band(d, &d->figure->bands[b], y, &states);
    y += BAND_HEIGHT;
  }
  draw_x_axis(d, &d->figure->band_axis, y);
  draw_state_legend(d, &states, y + 36.0);
  return y;
}

SltStatus figure_draw(const Figure* figure, const PlotCanvas* canvas, Arena* arena) {
  Drawing d = {
      .figure = figure, .canvas = canvas, .arena = arena, .theme = figure_theme(figure->dark)};
  layout(&d);
  canvas->begin(canvas->user, d.width, d.height, figure->title);
  canvas->rect(canvas->user, (PlotBox){0.0, 0.0, d.width, d.height}, d.theme->canvas, 1.0);
  if (figure->title.length) {
    const PlotFont font = {
        .size = TITLE_FONT, .rgb = d.theme->ink, .anchor = PLOT_START, .bold = true};
    canvas->text(canvas->user, d.left, 22.0, &font, figure->title);
  }
  double y = title_height(&d);
  for (uint32_t p = 0; p < figure->panel_count; p++) {
    bool bands = figure->band_count && bands_follow(figure, p);
    bool shared = shares_axis_below(figure, p);
    y = draw_panel(&d, &figure->panels[p], y, !shared && !bands);
    if (bands) y = draw_bands(&d, y);
    if (bands_follow(figure, p)) draw_mark_count(&d, y + 36.0);
    y += shared ? PANEL_GAP : AXIS_HEIGHT + PANEL_GAP;
  }
  if (figure->panel_count == 0) draw_bands(&d, y);
  draw_text(&d, d.right, d.height - 8.0, PLOT_END, d.theme->soft, figure->note);
  return canvas->end(canvas->user);
}
