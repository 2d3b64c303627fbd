// SPDX-License-Identifier: MIT
//
// Where things stand in a picture: a title, panels one above the other with their names on top,
// bands of states, and one horizontal axis for all.
#include "record/plot.h"

#include <math.h>
#include <stdio.h>

#define FONT        12.0
#define TITLE_FONT  15.0
#define MARGIN      14.0
#define LEGEND_LINE 19.0
#define PANEL_GAP   12.0
#define BAND_HEIGHT 20.0
#define BAND_GAP    6.0
#define SWATCH      22.0

#define INK    0x222222u
#define SOFT   0x555555u
#define FRAME  0x8a8a8au
#define GRID   0xe6e6e6u
#define CANVAS 0xffffffu

typedef struct Drawing {
  const PlotSpec* spec;
  const PlotCanvas* canvas;
  double width, height;
  double left, right;  // of the panels
  double panel_height;
  PlotTicks x_ticks;
} Drawing;

typedef struct Box {
  double x, y, width, height;
} Box;

uint32_t plot_colour(uint32_t series) {
  static const uint32_t colours[PLOT_COLOURS] = {0x1f6fb4, 0xd1351c, 0x23883b, 0x8a4fbf, 0xe08a00,
                                                 0x0f9aa8, 0x8c4a2f, 0xd457a0, 0x6b6b6b, 0x9a9a12};
  return colours[series % PLOT_COLOURS];
}

uint32_t plot_band_colour(uint32_t state) {
  static const uint32_t colours[8] = {0xd8e8f6, 0xfde3c8, 0xdcefd8, 0xeadff3,
                                      0xf9d9d6, 0xd5eef0, 0xf3ecc9, 0xe9e4df};
  return colours[state % 8];
}

double plot_text_width(Str text, double size) {
  return 0.58 * size * utf8_count(text);
}

Str plot_clip(Str text, uint32_t limit) {
  uint32_t at = 0;
  for (uint32_t count = 0; count < limit && at < text.length; count++) {
    uint32_t size = utf8_decode(text.data + at, text.length - at, NULL);
    at += size ? size : 1;
  }
  return (Str){text.data, at};
}

static void draw_line(const Drawing* d, double x0, double y0, double x1, double y1,
                      const PlotPen* pen) {
  const PlotCanvas* c = d->canvas;
  c->path_begin(c->user);
  c->path_move(c->user, x0, y0);
  c->path_line(c->user, x1, y1);
  c->path_end(c->user, pen);
}

static void draw_text(const Drawing* d, double x, double y, PlotAnchor anchor, uint32_t rgb,
                      Str text) {
  const PlotFont font = {.size = FONT, .rgb = rgb, .anchor = anchor};
  d->canvas->text(d->canvas->user, x, y, &font, text);
}

static double x_at(const Drawing* d, double value) {
  return d->left + plot_position(d->spec->x_range, value) * (d->right - d->left);
}

// ---- lines --------------------------------------------------------------------------------------

typedef struct Point {
  double x, y;
} Point;

/// Turns rows into a path. With an ordered axis all points of one column of pixels are reduced to
/// first, lowest, highest and last, in their order; else points that fall on their predecessor are
/// dropped. Either way the file's size follows the picture's, not the table's.
typedef struct Tracer {
  const Drawing* d;
  bool drawing;  // a subpath has begun
  bool alone;    // it has one point only
  Point pen;
  uint32_t count;  // points of the present column of pixels
  double column;
  bool column_has_jump;
  Point first, low, high, last;
  uint32_t low_at, high_at;
} Tracer;

static void tracer_emit(Tracer* t, Point p) {
  const PlotCanvas* c = t->d->canvas;
  if (!t->drawing) {
    c->path_move(c->user, p.x, p.y);
    t->drawing = true;
    t->alone = true;
  } else if (fabs(p.x - t->pen.x) >= 0.005 || fabs(p.y - t->pen.y) >= 0.005) {
    c->path_line(c->user, p.x, p.y);
    t->alone = false;
  }
  t->pen = p;
}

static void tracer_flush(Tracer* t) {
  if (t->count == 0) return;
  tracer_emit(t, t->first);
  if (t->count > 2) {
    bool low_first = t->low_at < t->high_at;
    tracer_emit(t, low_first ? t->low : t->high);
    tracer_emit(t, low_first ? t->high : t->low);
  }
  if (t->count > 1) tracer_emit(t, t->last);
  t->count = 0;
}

/// End the subpath; one that is a single point becomes a dot.
static void tracer_lift(Tracer* t) {
  tracer_flush(t);
  if (t->drawing && t->alone) t->d->canvas->path_line(t->d->canvas->user, t->pen.x, t->pen.y);
  t->drawing = false;
}

static void tracer_add(Tracer* t, Point p) {
  double column = floor(p.x);
  if (t->count > 0 && column != t->column) tracer_flush(t);
  if (t->count == 0) {
    t->first = t->low = t->high = p;
    t->low_at = t->high_at = 0;
    if (column != t->column) t->column_has_jump = false;
    t->column = column;
  }
  if (p.y > t->low.y) {
    t->low = p;
    t->low_at = t->count;
  }
  if (p.y < t->high.y) {
    t->high = p;
    t->high_at = t->count;
  }
  t->last = p;
  t->count++;
}

/// Points of an axis that turns back: near ones are dropped as they come.
static void tracer_add_free(Tracer* t, Point p, double nearest) {
  if (t->drawing && fabs(p.x - t->pen.x) < nearest && fabs(p.y - t->pen.y) < nearest) return;
  tracer_emit(t, p);
}

static Point series_point(const Drawing* d, const PlotSeries* s, Box box, uint32_t row) {
  const SltTable* table = d->spec->table;
  double y = plot_position(d->spec->panels[s->panel], table->columns[s->column].values[row]);
  return (Point){x_at(d, table->columns[d->spec->x].values[row]), box.y + (1.0 - y) * box.height};
}

static bool has_point(const Drawing* d, const PlotSeries* s, uint32_t row) {
  const SltTable* table = d->spec->table;
  return isfinite(table->columns[s->column].values[row]) &&
         isfinite(table->columns[d->spec->x].values[row]);
}

/// Whether the line jumps on its way to `row`.
static bool series_jumps(const Drawing* d, const PlotSeries* s, uint32_t row) {
  if (!plot_is_jump(d->spec, row) || !has_point(d, s, row - 1) || !has_point(d, s, row)) {
    return false;
  }
  const double* values = d->spec->table->columns[s->column].values;
  const double* x = d->spec->table->columns[d->spec->x].values;
  return values[row] != values[row - 1] || x[row] != x[row - 1];
}

static void draw_curve(const Drawing* d, const PlotSeries* s, Box box, const PlotPen* pen) {
  uint32_t rows = d->spec->table->row_count;
  double nearest = rows > 100000 ? 1.0 : 0.3;
  Tracer tracer = {.d = d, .column = -1.0};
  d->canvas->path_begin(d->canvas->user);
  for (uint32_t row = 0; row < rows; row++) {
    if (!has_point(d, s, row)) {
      tracer_lift(&tracer);
      continue;
    }
    Point p = series_point(d, s, box, row);
    if (series_jumps(d, s, row) && !(tracer.column_has_jump && floor(p.x) == tracer.column)) {
      // one gap per column of pixels; denser jumps could not be told apart
      tracer_lift(&tracer);
      tracer.column_has_jump = true;
      tracer.column = floor(p.x);
    }
    if (d->spec->x_ordered) {
      tracer_add(&tracer, p);
    } else {
      tracer_add_free(&tracer, p, nearest);
    }
  }
  tracer_lift(&tracer);
  d->canvas->path_end(d->canvas->user, pen);
}

/// Thin dotted connections from before to after; those of one column of pixels are drawn as one.
static void draw_jumps(const Drawing* d, const PlotSeries* s, Box box, const PlotPen* pen) {
  const PlotCanvas* c = d->canvas;
  Point low = {0.0, 0.0};
  Point high = {0.0, 0.0};
  bool open = false;
  bool any = false;
  for (uint32_t row = 1; row < d->spec->table->row_count && !any; row++) {
    any = series_jumps(d, s, row);
  }
  if (!any) return;
  c->path_begin(c->user);
  for (uint32_t row = 1; row < d->spec->table->row_count; row++) {
    if (!series_jumps(d, s, row)) continue;
    Point a = series_point(d, s, box, row - 1);
    Point b = series_point(d, s, box, row);
    if (!d->spec->x_ordered) {
      c->path_move(c->user, a.x, a.y);
      c->path_line(c->user, b.x, b.y);
      continue;
    }
    if (open && floor(a.x) == floor(low.x)) {
      low.y = fmax(low.y, fmax(a.y, b.y));
      high.y = fmin(high.y, fmin(a.y, b.y));
      continue;
    }
    if (open) {
      c->path_move(c->user, low.x, low.y);
      c->path_line(c->user, low.x, high.y);
    }
    low = (Point){a.x, fmax(a.y, b.y)};
    high = (Point){a.x, fmin(a.y, b.y)};
    open = true;
  }
  if (open) {
    c->path_move(c->user, low.x, low.y);
    c->path_line(c->user, low.x, high.y);
  }
  c->path_end(c->user, pen);
}

static PlotPen series_pen(uint32_t index) {
  static const PlotDash dashes[] = {PLOT_SOLID, PLOT_DASHED, PLOT_DASH_DOT};
  return (PlotPen){
      .rgb = plot_colour(index), .width = 1.8, .dash = dashes[index / PLOT_COLOURS % 3]};
}

static void draw_series(const Drawing* d, uint32_t index, Box box) {
  const PlotSeries* s = &d->spec->series[index];
  PlotPen pen = series_pen(index);
  PlotPen thin = {.rgb = pen.rgb, .width = 1.0, .dash = PLOT_DOTTED};
  draw_jumps(d, s, box, &thin);
  draw_curve(d, s, box, &pen);
}

// ---- panels -------------------------------------------------------------------------------------

static uint32_t y_tick_count(double height) {
  double count = floor(height / 42.0);
  return count < 2.0 ? 2 : (uint32_t)count;
}

/// Space the marks of all vertical axes and the names of the bands need on the left.
static double left_margin(const Drawing* d) {
  double widest = 24.0;
  char text[NUMBER_TEXT_MAX];
  for (uint32_t p = 0; p < d->spec->panel_count; p++) {
    PlotTicks ticks = plot_ticks(d->spec->panels[p], y_tick_count(d->panel_height));
    for (int64_t k = ticks.first; k <= ticks.last; k++) {
      uint32_t length = plot_tick_text(&ticks, k, text);
      widest = fmax(widest, plot_text_width((Str){text, length}, FONT));
    }
  }
  for (uint32_t b = 0; b < d->spec->band_count; b++) {
    Str name = str_from_c(d->spec->table->columns[d->spec->bands[b]].name);
    widest = fmax(widest, fmin(plot_text_width(name, FONT), 160.0));
  }
  return widest + MARGIN + 8.0;
}

static void draw_grid(const Drawing* d, Box box, PlotRange range) {
  const PlotPen grid = {.rgb = GRID, .width = 1.0};
  char text[NUMBER_TEXT_MAX];
  for (int64_t k = d->x_ticks.first; k <= d->x_ticks.last; k++) {
    double x = x_at(d, plot_tick_value(&d->x_ticks, k));
    draw_line(d, x, box.y, x, box.y + box.height, &grid);
  }
  PlotTicks ticks = plot_ticks(range, y_tick_count(box.height));
  for (int64_t k = ticks.first; k <= ticks.last; k++) {
    double y = box.y + (1.0 - plot_position(range, plot_tick_value(&ticks, k))) * box.height;
    draw_line(d, box.x, y, box.x + box.width, y, &grid);
    uint32_t length = plot_tick_text(&ticks, k, text);
    draw_text(d, box.x - 7.0, y + 0.35 * FONT, PLOT_END, SOFT, (Str){text, length});
  }
}

static void draw_frame(const Drawing* d, Box box) {
  const PlotPen frame = {.rgb = FRAME, .width = 1.0};
  const PlotCanvas* c = d->canvas;
  c->path_begin(c->user);
  c->path_move(c->user, box.x, box.y);
  c->path_line(c->user, box.x + box.width, box.y);
  c->path_line(c->user, box.x + box.width, box.y + box.height);
  c->path_line(c->user, box.x, box.y + box.height);
  c->path_line(c->user, box.x, box.y - 0.5);
  c->path_end(c->user, &frame);
}

/// Names of a panel's lines, in rows above it. Returns the height taken; draws when `draw`.
static double legend(const Drawing* d, uint32_t panel, double top, bool draw) {
  double x = d->left;
  double y = top + 13.0;
  for (uint32_t i = 0; i < d->spec->series_count; i++) {
    if (d->spec->series[i].panel != panel) continue;
    Str name = str_from_c(d->spec->table->columns[d->spec->series[i].column].label);
    double width = SWATCH + 6.0 + plot_text_width(name, FONT) + 16.0;
    if (x > d->left && x + width > d->right) {
      x = d->left;
      y += LEGEND_LINE;
    }
    if (draw) {
      PlotPen pen = series_pen(i);
      draw_line(d, x, y - 4.0, x + SWATCH, y - 4.0, &pen);
      draw_text(d, x + SWATCH + 6.0, y, PLOT_START, INK, name);
    }
    x += width;
  }
  return y - 13.0 - top + LEGEND_LINE;
}

static double draw_panel(const Drawing* d, uint32_t panel, double top) {
  top += legend(d, panel, top, true);
  Box box = {d->left, top, d->right - d->left, d->panel_height};
  draw_grid(d, box, d->spec->panels[panel]);
  draw_frame(d, box);
  for (uint32_t i = 0; i < d->spec->series_count; i++) {
    if (d->spec->series[i].panel == panel) draw_series(d, i, box);
  }
  return top + box.height;
}

// ---- bands --------------------------------------------------------------------------------------

/// States as bits; those beyond the last bit are left out of the legend.
typedef struct StateSet {
  uint64_t shown;     // drawn somewhere
  uint64_t labelled;  // with the name inside
} StateSet;

static uint64_t state_bit(uint32_t id) {
  return id < 64 ? UINT64_C(1) << id : 0;
}

static void draw_interval(const Drawing* d, double from, double to, double top, uint32_t id,
                          StateSet* states) {
  const PlotCanvas* c = d->canvas;
  if (id == 0 || to <= from) return;
  c->rect(c->user, from, top, to - from, BAND_HEIGHT, plot_band_colour(id - 1));
  states->shown |= state_bit(id);
  Str name = {d->spec->table->texts[id].data, d->spec->table->texts[id].length};
  if (plot_text_width(name, FONT) + 6.0 <= to - from) {
    states->labelled |= state_bit(id);
    draw_text(d, 0.5 * (from + to), top + 0.5 * BAND_HEIGHT + 4.0, PLOT_MIDDLE, INK, name);
  }
}

/// Intervals narrower than a pixel are joined and drawn grey: there is switching, too fast to show.
static void draw_band(const Drawing* d, uint32_t column, double top, StateSet* states) {
  const SltTable* table = d->spec->table;
  const double* x = table->columns[d->spec->x].values;
  const PlotCanvas* c = d->canvas;
  c->rect(c->user, d->left, top, d->right - d->left, BAND_HEIGHT, 0xb8b8b8);
  double from = x_at(d, x[0]);
  uint32_t id = table_text_id(table, 0, column);
  for (uint32_t row = 1; row < table->row_count; row++) {
    uint32_t next = table_text_id(table, row, column);
    if (next == id) continue;
    double to = x_at(d, x[row]);
    if (to - from >= 1.0) draw_interval(d, from, to, top, id, states);
    from = to;
    id = next;
  }
  draw_interval(d, from, d->right, top, id, states);

  Str name = str_from_c(table->columns[column].label);
  name = plot_clip(name, (uint32_t)((d->left - MARGIN) / (0.58 * FONT)));
  draw_text(d, d->left - 7.0, top + 0.5 * BAND_HEIGHT + 4.0, PLOT_END, SOFT, name);
}

/// Colours of the states whose intervals have no room for their names.
static void draw_state_legend(const Drawing* d, const StateSet* states, double y) {
  const PlotCanvas* c = d->canvas;
  double x = d->left;
  double limit =
      d->left + 0.45 * (d->right - d->left);  // the name of the axis stands in the middle
  uint64_t wanted = states->shown & ~states->labelled;
  for (uint32_t id = 1; id < 64; id++) {
    if (!(wanted & state_bit(id))) continue;
    Str name = {d->spec->table->texts[id].data, d->spec->table->texts[id].length};
    double width = 16.0 + plot_text_width(name, FONT) + 10.0;
    if (x + width > limit) return;
    c->rect(c->user, x, y - 10.0, 11.0, 11.0, plot_band_colour(id - 1));
    draw_text(d, x + 16.0, y, PLOT_START, SOFT, name);
    x += width;
  }
}

/// Marks and name of the horizontal axis.
static void draw_x_axis(const Drawing* d, double top) {
  const PlotPen mark = {.rgb = FRAME, .width = 1.0};
  char text[NUMBER_TEXT_MAX];
  for (int64_t k = d->x_ticks.first; k <= d->x_ticks.last; k++) {
    double x = x_at(d, plot_tick_value(&d->x_ticks, k));
    uint32_t length = plot_tick_text(&d->x_ticks, k, text);
    draw_line(d, x, top, x, top + 4.0, &mark);
    draw_text(d, x, top + 17.0, PLOT_MIDDLE, SOFT, (Str){text, length});
  }
  Str name = str_from_c(d->spec->table->columns[d->spec->x].label);
  draw_text(d, 0.5 * (d->left + d->right), top + 36.0, PLOT_MIDDLE, INK, name);
}

// ---- the whole ----------------------------------------------------------------------------------

static double title_height(const Drawing* d) {
  return d->spec->title ? 30.0 : MARGIN;
}

/// Everything but the panels themselves.
static double fixed_height(const Drawing* d) {
  double height = title_height(d) + 46.0 + d->spec->band_count * (BAND_HEIGHT + BAND_GAP);
  for (uint32_t p = 0; p < d->spec->panel_count; p++) {
    height += legend(d, p, 0.0, false) + (p ? PANEL_GAP : 0.0);
  }
  return height + (d->spec->left_out ? LEGEND_LINE : 0.0);
}

static void draw_left_out(const Drawing* d) {
  char text[64];
  snprintf(text, sizeof text, "and %u more columns not drawn", d->spec->left_out);
  draw_text(d, d->right, d->height - 8.0, PLOT_END, SOFT, str_from_c(text));
}

static void layout(Drawing* d, uint32_t width, uint32_t height) {
  const PlotSpec* spec = d->spec;
  d->width = width ? fmax(width, 200.0) : 900.0;
  d->panel_height = spec->panel_count > 1 ? 150.0 : 340.0;
  d->right = d->width - MARGIN - 8.0;
  d->left = left_margin(d);
  if (height && spec->panel_count) {
    double room = (height - fixed_height(d)) / spec->panel_count;
    d->panel_height = fmax(room, 40.0);
    d->left = left_margin(d);
  }
  d->height = fixed_height(d) + spec->panel_count * d->panel_height;
  double ticks = floor((d->right - d->left) / 90.0);
  d->x_ticks = plot_ticks(spec->x_range, ticks < 2.0 ? 2 : (uint32_t)ticks);
}

SltStatus plot_draw(const PlotSpec* spec, const PlotCanvas* canvas, uint32_t width,
                    uint32_t height) {
  Drawing d = {.spec = spec, .canvas = canvas};
  layout(&d, width, height);
  canvas->begin(canvas->user, d.width, d.height, spec->title);
  canvas->rect(canvas->user, 0.0, 0.0, d.width, d.height, CANVAS);
  if (spec->title) {
    const PlotFont font = {.size = TITLE_FONT, .rgb = INK, .anchor = PLOT_START, .bold = true};
    canvas->text(canvas->user, d.left, 20.0, &font, str_from_c(spec->title));
  }
  double y = title_height(&d);
  for (uint32_t p = 0; p < spec->panel_count; p++) {
    if (p) y += PANEL_GAP;
    y = draw_panel(&d, p, y);
  }
  StateSet states = {0, 0};
  for (uint32_t b = 0; b < spec->band_count; b++) {
    y += BAND_GAP;
    draw_band(&d, spec->bands[b], y, &states);
    y += BAND_HEIGHT;
  }
  draw_x_axis(&d, y);
  draw_state_legend(&d, &states, y + 36.0);
  if (spec->left_out) draw_left_out(&d);
  return canvas->end(canvas->user);
}
