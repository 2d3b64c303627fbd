// SPDX-License-Identifier: MIT
//
// From rows to a path. With an ordered axis all points of one column of pixels are reduced to
// first, lowest, highest and last, in their order; else points that fall on their predecessor are
// dropped. Either way the file's size follows the picture's, not the table's. What would cover
// everything it runs through is drawn as shades.
#include "record/figure.h"

#include <math.h>

#define FAR    4000.0  // pixels outside of a panel that are as good as infinity
#define SHADES 10u
#define CELL   2.0  // pixels of a shade

typedef struct Point {
  double x, y;
} Point;

typedef struct Trace {
  const FigurePanel* panel;
  const FigureLine* line;
  const PlotCanvas* canvas;
  PlotBox box;
} Trace;

bool figure_is_jump(const FigureLine* line, uint32_t row) {
  return line->time && row > 0 && line->time[row] == line->time[row - 1];
}

/// First row whose place on the axis is not before `limit`.
static uint32_t first_from(const FigurePanel* panel, const FigureLine* line, double limit) {
  uint32_t low = 0;
  uint32_t high = line->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (axis_position(&panel->axes[AXIS_X], line->x[middle]) >= limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void figure_window(const FigurePanel* panel, const FigureLine* line, uint32_t* begin,
                   uint32_t* end) {
  *begin = 0;
  *end = line->count;
  if (!panel->clipped || !line->ordered) return;
  uint32_t first = first_from(panel, line, 0.0);
  uint32_t last = first_from(panel, line, 1.0 + 1e-12);
  *begin = first ? first - 1 : 0;
  *end = last < line->count ? last + 1 : last;
}

static bool has_point(const Trace* t, uint32_t row) {
  return !isnan(axis_position(&t->panel->axes[AXIS_X], t->line->x[row])) &&
         !isnan(axis_position(&t->panel->axes[t->line->axis], t->line->y[row]));
}

static Point point_at(const Trace* t, uint32_t row) {
  double x = axis_position(&t->panel->axes[AXIS_X], t->line->x[row]) * t->box.width;
  double y = (1.0 - axis_position(&t->panel->axes[t->line->axis], t->line->y[row])) * t->box.height;
  return (Point){t->box.x + fmin(fmax(x, -FAR), t->box.width + FAR),
                 t->box.y + fmin(fmax(y, -FAR), t->box.height + FAR)};
}

/// Whether the line jumps on its way to `row`.
static bool jumps_to(const Trace* t, uint32_t row) {
  const FigureLine* line = t->line;
  return figure_is_jump(line, row) && has_point(t, row - 1) && has_point(t, row) &&
         (line->y[row] != line->y[row - 1] || line->x[row] != line->x[row - 1]);
}

// ---- the pen ------------------------------------------------------------------------------------

typedef struct Tracer {
  const PlotCanvas* canvas;
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
  const PlotCanvas* c = t->canvas;
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
  if (t->drawing && t->alone) t->canvas->path_line(t->canvas->user, t->pen.x, t->pen.y);
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

static void trace_curve(const Trace* t, uint32_t begin, uint32_t end, const PlotPen* pen) {
  double nearest = t->line->count > 100000 ? 1.0 : 0.3;
  Tracer tracer = {.canvas = t->canvas, .column = -1.0};
  t->canvas->path_begin(t->canvas->user);
  for (uint32_t row = begin; row < end; row++) {
    if (!has_point(t, row)) {
      tracer_lift(&tracer);
      continue;
    }
    Point p = point_at(t, row);
    bool cut = row > begin && jumps_to(t, row);
    if (cut && !(tracer.column_has_jump && floor(p.x) == tracer.column)) {
      // one gap per column of pixels; denser jumps could not be told apart
      tracer_lift(&tracer);
      tracer.column_has_jump = true;
      tracer.column = floor(p.x);
    }
    if (t->line->ordered) {
      tracer_add(&tracer, p);
    } else {
      tracer_add_free(&tracer, p, nearest);
    }
  }
  tracer_lift(&tracer);
  t->canvas->path_end(t->canvas->user, pen);
}

// ---- jumps --------------------------------------------------------------------------------------

/// Jumps of one column of pixels, drawn as one.
typedef struct JumpColumn {
  bool open;
  double x, low, high;
} JumpColumn;

static void flush_jumps(const PlotCanvas* c, const JumpColumn* jumps) {
  if (!jumps->open) return;
  c->path_move(c->user, jumps->x, jumps->low);
  c->path_line(c->user, jumps->x, jumps->high);
}

/// Thin dotted connections from before to after.
static void trace_jumps(const Trace* t, uint32_t begin, uint32_t end, const PlotPen* pen) {
  const PlotCanvas* c = t->canvas;
  JumpColumn jumps = {.open = false};
  bool any = false;
  for (uint32_t row = begin + 1; row < end; row++) {
    if (!jumps_to(t, row)) continue;
    if (!any) c->path_begin(c->user);
    any = true;
    Point a = point_at(t, row - 1);
    Point b = point_at(t, row);
    if (!t->line->ordered) {
      c->path_move(c->user, a.x, a.y);
      c->path_line(c->user, b.x, b.y);
    } else if (jumps.open && floor(a.x) == floor(jumps.x)) {
      jumps.low = fmax(jumps.low, fmax(a.y, b.y));
      jumps.high = fmin(jumps.high, fmin(a.y, b.y));
    } else {
      flush_jumps(c, &jumps);
      jumps = (JumpColumn){true, a.x, fmax(a.y, b.y), fmin(a.y, b.y)};
    }
  }
  if (!any) return;
  flush_jumps(c, &jumps);
  c->path_end(c->user, pen);
}

// ---- areas --------------------------------------------------------------------------------------

static void trace_area(const Trace* t, uint32_t rgb) {
  const PlotCanvas* c = t->canvas;
  double ground = t->box.y + t->box.height;
  if (t->line->count == 0) return;
  c->path_begin(c->user);
  c->path_move(c->user, point_at(t, 0).x, ground);
  for (uint32_t row = 0; row < t->line->count; row++) {
    Point p = point_at(t, row);
    c->path_line(c->user, p.x, has_point(t, row) ? p.y : ground);
  }
  c->path_fill(c->user, rgb, 0.25);
}

/// Cells of one shade after the other, neighbours in a column as one.
static void trace_shades(const Trace* t, const DensityGrid* grid, uint32_t rgb) {
  const PlotCanvas* c = t->canvas;
  uint32_t width = grid->width;
  uint32_t height = grid->height;
  double w = t->box.width / width;
  double h = t->box.height / height;
  for (uint32_t shade = 1; shade <= SHADES; shade++) {
    c->path_begin(c->user);
    for (uint32_t x = 0; x < width; x++) {
      for (uint32_t y = 0; y < height;) {
        uint32_t begin = y;
        while (y < height && (uint32_t)ceil(density_shade(grid, x, y) * SHADES) == shade)
          y++;
        if (y == begin) {
          y++;
          continue;
        }
        c->path_rect(c->user,
                     (PlotBox){t->box.x + x * w, t->box.y + begin * h, w, (y - begin) * h});
      }
    }
    c->path_fill(c->user, rgb, 0.1 + 0.9 * shade / SHADES);
  }
}

static void trace_points(const Trace* t, uint32_t begin, uint32_t end, uint32_t rgb) {
  const PlotCanvas* c = t->canvas;
  c->path_begin(c->user);
  for (uint32_t row = begin; row < end; row++) {
    if (!has_point(t, row)) continue;
    Point p = point_at(t, row);
    c->path_rect(c->user,
                 (PlotBox){p.x - 0.5 * PLOT_POINT, p.y - 0.5 * PLOT_POINT, PLOT_POINT, PLOT_POINT});
  }
  c->path_fill(c->user, rgb, 1.0);
}

void figure_trace(const Figure* figure, const FigurePanel* panel, const FigureLine* line,
                  PlotBox box, const PlotCanvas* canvas, Arena* arena) {
  const Trace trace = {panel, line, canvas, box};
  uint32_t rgb = figure_theme(figure->dark)->lines[line->colour];
  uint32_t begin = 0;
  uint32_t end = 0;
  figure_window(panel, line, &begin, &end);
  if (line->points) {
    trace_points(&trace, begin, end, rgb);
    return;
  }
  DensityGrid grid;
  if (density_make(figure, panel, line, (uint32_t)(box.width / CELL), (uint32_t)(box.height / CELL),
                   arena, &grid)) {
    trace_shades(&trace, &grid, rgb);
    return;
  }
  const PlotPen pen = {.rgb = rgb, .width = line->filled ? 1.2 : 1.8, .dash = line->dash};
  // jumps in a plane lie over each other: dots would fill each other's gaps
  const PlotPen thin = {.rgb = rgb,
                        .width = 1.0,
                        .dash = line->ordered ? PLOT_DOTTED : PLOT_SOLID,
                        .alpha = line->ordered ? 1.0 : 0.35};
  if (line->filled) trace_area(&trace, rgb);
  trace_jumps(&trace, begin, end, &thin);
  trace_curve(&trace, begin, end, &pen);
}
