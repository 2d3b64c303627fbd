// SPDX-License-Identifier: MIT
//
// A line of a million rows that goes up and down faster than pixels can show is a solid block. What
// it does can still be seen when each cell of a grid is as dark as the share of time spent there.
#include "record/figure.h"

#include <math.h>

#define BLOCK 4u    // cells by cells that are looked at together
#define FULL  0.85  // part of a block's cells that leaves nothing to see between them
#define SOLID 0.05  // part of the panel in such blocks that is too much
#define GAMMA 0.5   // shades follow the square root: what is rare stays visible

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

static DensityGrid make_grid(const FigurePanel* panel, const FigureLine* line, uint32_t width,
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

/// Cells of a block that the line runs through.
static uint32_t touched(const DensityGrid* grid, uint32_t left, uint32_t top) {
  uint32_t count = 0;
  for (uint32_t y = top; y < top + BLOCK; y++) {
    for (uint32_t x = left; x < left + BLOCK; x++)
      count += grid->weight[(size_t)y * grid->width + x] > 0.0;
  }
  return count;
}

/// Whether a good part of the panel would be nothing but ink.
static bool is_solid(const DensityGrid* grid) {
  double solid = 0.0;
  for (uint32_t y = 0; y + BLOCK <= grid->height; y += BLOCK) {
    for (uint32_t x = 0; x + BLOCK <= grid->width; x += BLOCK)
      solid += touched(grid, x, y) > FULL * BLOCK * BLOCK;
  }
  return solid * BLOCK * BLOCK > SOLID * (double)grid->width * (double)grid->height;
}

bool density_make(const Figure* figure, const FigurePanel* panel, const FigureLine* line,
                  uint32_t width, uint32_t height, Arena* arena, DensityGrid* out) {
  if (line->filled || figure->density == DENSITY_OFF) return false;
  uint32_t begin = 0;
  uint32_t end = 0;
  figure_window(panel, line, &begin, &end);
  // fewer rows than columns can be told apart
  if (figure->density == DENSITY_AUTO && end - begin < width) return false;
  *out = make_grid(panel, line, width, height, arena);
  return figure->density == DENSITY_ON || is_solid(out);
}

double density_shade(const DensityGrid* grid, uint32_t x, uint32_t y) {
  double weight = grid->weight[(size_t)y * grid->width + x];
  return weight > 0.0 ? pow(weight / grid->most, GAMMA) : 0.0;
}
