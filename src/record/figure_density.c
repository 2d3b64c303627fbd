// SPDX-License-Identifier: MIT
//
// A line of a million rows that goes up and down faster than pixels can show is a solid block. What
// it does can still be seen when each cell of a grid is as dark as the share of time spent there.
#include "record/figure.h"

#include <math.h>

#define COVERED 1.6  // length of a line per cell of its surroundings that is too much to see it
#define GAMMA   0.5  // shades follow the square root: what is rare stays visible

typedef struct Spot {
  double x, y;  // in cells
  bool known;
} Spot;

static Spot spot_at(const FigurePanel* panel, const FigureLine* line, uint32_t row, double width,
                    double height) {
  double x = axis_position(&panel->axes[AXIS_X], line->x[row]) * width;
  double y = (1.0 - axis_position(&panel->axes[line->axis], line->y[row])) * height;
  bool known = isfinite(x) && isfinite(y);
  return (Spot){x, y, known};
}

static double clamped(double value, double limit) {
  return fmin(fmax(value, 0.0), limit);
}

bool density_is_wanted(const Figure* figure, const FigurePanel* panel, const FigureLine* line,
                       double width, double height) {
  if (figure->density != DENSITY_AUTO) return figure->density == DENSITY_ON && !line->filled;
  uint32_t begin = 0;
  uint32_t end = 0;
  figure_window(panel, line, &begin, &end);
  if (line->filled || end - begin < 4.0 * width) return false;
  double length = 0.0;
  PlotRange x = {1.0, 0.0};
  PlotRange y = {1.0, 0.0};
  Spot before = {0.0, 0.0, false};
  for (uint32_t row = begin; row < end; row++) {
    Spot spot = spot_at(panel, line, row, width, height);
    if (!spot.known) continue;
    spot.x = clamped(spot.x, width);
    spot.y = clamped(spot.y, height);
    x = range_join(x, (PlotRange){spot.x, spot.x});
    y = range_join(y, (PlotRange){spot.y, spot.y});
    if (before.known && !figure_is_jump(line, row))
      length += fabs(spot.x - before.x) + fabs(spot.y - before.y);
    before = spot;
  }
  double area = fmax(2.0 * range_half(x), 1.0) * fmax(2.0 * range_half(y), 8.0);
  return length > COVERED * area;
}

/// Spread a weight along a straight way.
static void spread(DensityGrid* grid, Spot a, Spot b, double weight) {
  double cells = fmax(fabs(b.x - a.x), fabs(b.y - a.y));
  uint32_t steps = (uint32_t)fmin(ceil(cells), 4096.0);
  if (steps == 0) steps = 1;
  for (uint32_t i = 0; i < steps; i++) {
    double part = (i + 0.5) / steps;
    double x = floor(a.x + part * (b.x - a.x));
    double y = floor(a.y + part * (b.y - a.y));
    if (!(x >= 0.0) || !(y >= 0.0) || x >= grid->width || y >= grid->height) continue;
    grid->weight[(size_t)y * grid->width + (size_t)x] += weight / steps;
  }
}

DensityGrid density_make(const FigurePanel* panel, const FigureLine* line, uint32_t width,
                         uint32_t height, Arena* arena) {
  DensityGrid grid = {.width = width, .height = height};
  grid.weight = ARENA_ARRAY(arena, double, (size_t)width* height);
  uint32_t begin = 0;
  uint32_t end = 0;
  figure_window(panel, line, &begin, &end);
  Spot before = {0.0, 0.0, false};
  for (uint32_t row = begin; row < end; row++) {
    Spot spot = spot_at(panel, line, row, width, height);
    double time = line->time && row > begin ? line->time[row] - line->time[row - 1] : 1.0;
    if (spot.known && before.known && time > 0.0) spread(&grid, before, spot, time);
    before = spot;
  }
  for (size_t i = 0; i < (size_t)width * height; i++)
    grid.most = fmax(grid.most, grid.weight[i]);
  return grid;
}

double density_shade(const DensityGrid* grid, uint32_t x, uint32_t y) {
  double weight = grid->weight[(size_t)y * grid->width + x];
  return weight > 0.0 ? pow(weight / grid->most, GAMMA) : 0.0;
}
