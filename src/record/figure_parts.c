// SPDX-License-Identifier: MIT
#include "record/figure_parts.h"

#include <math.h>
#include <stdio.h>

void draw_line(const Drawing* d, double x0, double y0, double x1, double y1, const PlotPen* pen) {
  const PlotCanvas* c = d->canvas;
  c->path_begin(c->user);
  c->path_move(c->user, x0, y0);
  c->path_line(c->user, x1, y1);
  c->path_end(c->user, pen);
}

void draw_text(const Drawing* d, double x, double y, PlotAnchor anchor, uint32_t rgb, Str text) {
  const PlotFont font = {.size = FONT, .rgb = rgb, .anchor = anchor};
  d->canvas->text(d->canvas->user, x, y, &font, text);
}

bool panel_has_right(const FigurePanel* panel) {
  for (uint32_t i = 0; i < panel->line_count; i++) {
    if (panel->lines[i].axis == AXIS_Y2) return true;
  }
  return false;
}

bool axis_is_labelled(const Drawing* d, const FigurePanel* panel, AxisId id) {
  Str label = panel->axes[id].label;
  double height = d->unit_height * (panel->kind == FIGURE_PHASE ? 2.0 : 1.0);
  return label.length && !panel->space && plot_text_width(label, FONT) <= height;
}

// ---- legends ------------------------------------------------------------------------------------

/// The only line of a panel is named by the axis beside it.
static bool has_legend(const Drawing* d, const FigurePanel* panel) {
  if (panel->legend == LEGEND_NONE) return false;
  bool alone = panel->line_count == 1 && panel->kind != FIGURE_HISTOGRAM;
  if (alone && (panel->space || axis_is_labelled(d, panel, panel->lines[0].axis))) return false;
  return panel->line_count > 0 && !(panel->kind == FIGURE_HISTOGRAM && panel->line_count == 1);
}

static double entry_width(const FigureLine* line) {
  return SWATCH + 6.0 + plot_text_width(line->label, FONT) + 16.0;
}

static void draw_entry(const Drawing* d, const FigureLine* line, double x, double y) {
  const PlotPen pen = {.rgb = d->theme->lines[line->colour], .width = 1.8, .dash = line->dash};
  if (line->points) {
    PlotBox point = {x + 0.5 * (SWATCH - PLOT_POINT), y - 4.0 - 0.5 * PLOT_POINT, PLOT_POINT,
                     PLOT_POINT};
    d->canvas->rect(d->canvas->user, point, pen.rgb, 1.0);
  } else {
    draw_line(d, x, y - 4.0, x + SWATCH, y - 4.0, &pen);
  }
  draw_text(d, x + SWATCH + 6.0, y, PLOT_START, d->theme->ink, line->label);
}

/// Names in rows above a panel; returns the height of the rows, draws when asked to.
static double flow_legend(const Drawing* d, const FigurePanel* panel, double top, bool draw) {
  double x = d->left;
  double y = top + 13.0;
  for (uint32_t i = 0; i < panel->line_count; i++) {
    double width = entry_width(&panel->lines[i]);
    if (x > d->left && x + width > d->right) {
      x = d->left;
      y += LEGEND_LINE;
    }
    if (draw) draw_entry(d, &panel->lines[i], x, y);
    x += width;
  }
  return y - 13.0 - top + LEGEND_LINE;
}

static bool has_factor(const FigurePanel* panel) {
  AxisTicks ticks;
  axis_ticks(&panel->axes[AXIS_Y], 2, false, &ticks);
  return ticks.factor != 0;
}

double legend_height(const Drawing* d, const FigurePanel* panel) {
  double height = has_factor(panel) && !panel->space ? 14.0 : 0.0;
  if (panel->legend != LEGEND_TOP || !has_legend(d, panel)) return height;
  return height + flow_legend(d, panel, 0.0, false);
}

static double list_width(const FigurePanel* panel) {
  double widest = 0.0;
  for (uint32_t i = 0; i < panel->line_count; i++)
    widest = fmax(widest, entry_width(&panel->lines[i]));
  return widest;
}

double legend_width(const Drawing* d) {
  double widest = 0.0;
  for (uint32_t p = 0; p < d->figure->panel_count; p++) {
    const FigurePanel* panel = &d->figure->panels[p];
    if (panel->legend == LEGEND_RIGHT && has_legend(d, panel)) {
      widest = fmax(widest, list_width(panel) + 8.0);
    }
  }
  return widest;
}

static void list_legend(const Drawing* d, const FigurePanel* panel, double x, double y) {
  for (uint32_t i = 0; i < panel->line_count; i++)
    draw_entry(d, &panel->lines[i], x, y + LEGEND_LINE * i);
}

void draw_legend(const Drawing* d, const FigurePanel* panel, PlotBox box) {
  if (!has_legend(d, panel)) return;
  double width = list_width(panel);
  double height = LEGEND_LINE * panel->line_count + 4.0;
  double x = box.x + 10.0;
  double y = box.y + 8.0;
  switch (panel->legend) {
  case LEGEND_TOP:
    flow_legend(d, panel,
                box.y - flow_legend(d, panel, 0.0, false) - (has_factor(panel) ? 12.0 : 0.0), true);
    return;
  case LEGEND_RIGHT:
    list_legend(d, panel, d->width - MARGIN - legend_width(d) + 4.0, box.y + 12.0);
    return;
  case LEGEND_NONE: return;
  case LEGEND_TOP_RIGHT:
  case LEGEND_BOTTOM_RIGHT: x = box.x + box.width - width - 2.0; break;
  case LEGEND_TOP_LEFT:
  case LEGEND_BOTTOM_LEFT: break;
  }
  bool bottom = panel->legend == LEGEND_BOTTOM_LEFT || panel->legend == LEGEND_BOTTOM_RIGHT;
  if (bottom) y = box.y + box.height - height - 6.0;
  if (height + 12.0 > box.height) {
    // no room for a list: in a row along the border
    double row = flow_legend(d, panel, 0.0, false);
    double top = bottom ? box.y + box.height - row - 1.0 : box.y + 1.0;
    PlotBox ground = {box.x + 1.0, top, fmin(width * panel->line_count, box.width - 2.0), row};
    d->canvas->rect(d->canvas->user, ground, d->theme->canvas, 0.85);
    flow_legend(d, panel, top, true);
    return;
  }
  d->canvas->rect(d->canvas->user, (PlotBox){x - 4.0, y - 2.0, width, height}, d->theme->canvas,
                  0.85);
  list_legend(d, panel, x, y + 12.0);
}

// ---- bands --------------------------------------------------------------------------------------

static uint64_t state_bit(uint32_t id) {
  return id < 64 ? UINT64_C(1) << id : 0;
}

static Str state_name(const SltTable* table, uint32_t id) {
  return (Str){table->texts[id].data, table->texts[id].length};
}

static uint64_t band_states(const FigureBand* band) {
  uint64_t set = 0;
  for (uint32_t row = 0; row < band->table->row_count; row++)
    set |= state_bit(table_text_id(band->table, row, band->column));
  return set & ~state_bit(0);
}

void choose_state_colours(const Figure* figure, StateSet* states) {
  uint32_t uses[FIGURE_COLOURS] = {0};  // by states of all bands
  uint64_t chosen = 0;
  for (uint32_t b = 0; b < figure->band_count; b++) {
    uint64_t own = band_states(&figure->bands[b]);
    uint32_t here[FIGURE_COLOURS] = {0};  // by states of this band
    for (uint32_t id = 1; id < 64; id++) {
      if (own & chosen & state_bit(id)) here[states->colours[id]]++;
    }
    for (uint32_t id = 1; id < 64; id++) {
      if (!(own & ~chosen & state_bit(id))) continue;
      uint8_t best = 0;
      for (uint8_t c = 1; c < FIGURE_COLOURS; c++) {
        bool fewer = here[c] == here[best] && uses[c] < uses[best];
        if (here[c] < here[best] || fewer) best = c;
      }
      states->colours[id] = best;
      here[best]++;
      uses[best]++;
    }
    chosen |= own;
  }
}

static uint32_t band_colour(const Drawing* d, const StateSet* states, uint32_t id) {
  return d->theme->bands[id < 64 ? states->colours[id] : id % FIGURE_COLOURS];
}

static void draw_interval(const Drawing* d, const SltTable* table, double from, double to,
                          double top, uint32_t id, StateSet* states) {
  from = fmax(from, d->left);
  to = fmin(to, d->right);
  if (id == 0 || to <= from) return;
  d->canvas->rect(d->canvas->user, (PlotBox){from, top, to - from, BAND_HEIGHT},
                  band_colour(d, states, id), 1.0);
  states->shown |= state_bit(id);
  Str name = state_name(table, id);
  if (plot_text_width(name, FONT) + 6.0 > to - from) return;
  states->labelled |= state_bit(id);
  draw_text(d, 0.5 * (from + to), top + 0.5 * BAND_HEIGHT + 4.0, PLOT_MIDDLE, d->theme->ink, name);
}

/// Intervals narrower than a pixel are joined and drawn grey: there is switching, too fast to show.
void draw_band(const Drawing* d, const FigureBand* band, double top, StateSet* states) {
  const SltTable* table = band->table;
  const Axis* axis = &d->figure->band_axis;
  const double* x = table->columns[0].values;
  double width = d->right - d->left;
  d->canvas->rect(d->canvas->user, (PlotBox){d->left, top, width, BAND_HEIGHT}, d->theme->fast,
                  1.0);
  double from = d->left + axis_position(axis, x[0]) * width;
  uint32_t id = table_text_id(table, 0, band->column);
  for (uint32_t row = 1; row < table->row_count; row++) {
    uint32_t next = table_text_id(table, row, band->column);
    if (next == id) continue;
    double to = d->left + axis_position(axis, x[row]) * width;
    if (to - from >= 1.0) draw_interval(d, table, from, to, top, id, states);
    from = to;
    id = next;
  }
  double end = d->left + axis_position(axis, x[table->row_count - 1]) * width;
  draw_interval(d, table, from, end, top, id, states);
  if (end < d->right - 1.0) {
    d->canvas->rect(d->canvas->user, (PlotBox){end, top, d->right - end, BAND_HEIGHT},
                    d->theme->canvas, 1.0);
  }
  Str name = band->label;
  while (name.length && plot_text_width(name, FONT) > d->left - MARGIN - 7.0)
    name = plot_clip(name, utf8_count(name) - 1);
  draw_text(d, d->left - 7.0, top + 0.5 * BAND_HEIGHT + 4.0, PLOT_END, d->theme->soft, name);
}

void draw_state_legend(const Drawing* d, const StateSet* states, double y) {
  if (d->figure->band_count == 0) return;
  const SltTable* table = d->figure->bands[0].table;
  double x = d->left;
  double limit = d->left + 0.42 * (d->right - d->left);  // the name of the axis is in the middle
  uint64_t wanted = states->shown & ~states->labelled;
  for (uint32_t id = 1; id < 64 && id < table->text_count; id++) {
    if (!(wanted & state_bit(id))) continue;
    Str name = state_name(table, id);
    double width = 16.0 + plot_text_width(name, FONT) + 10.0;
    if (x + width > limit) return;
    d->canvas->rect(d->canvas->user, (PlotBox){x, y - 10.0, 11.0, 11.0}, band_colour(d, states, id),
                    1.0);
    draw_text(d, x + 16.0, y, PLOT_START, d->theme->soft, name);
    x += width;
  }
}

// ---- marks --------------------------------------------------------------------------------------

/// Marks closer than two pixels become a stripe: there are many.
void draw_marks(const Drawing* d, const FigurePanel* panel, PlotBox box) {
  const PlotPen pen = {.rgb = d->theme->mark, .width = 1.0, .alpha = 0.4};
  for (uint32_t i = 0; i < d->figure->mark_count;) {
    double from = axis_position(&panel->axes[AXIS_X], d->figure->marks[i]) * box.width;
    double to = from;
    uint32_t next = i + 1;
    for (; next < d->figure->mark_count; next++) {
      double at = axis_position(&panel->axes[AXIS_X], d->figure->marks[next]) * box.width;
      if (!(at - to < 2.0)) break;
      to = at;
    }
    i = next;
    from = fmax(from, 0.0);
    to = fmin(to, box.width);
    if (!(from <= to)) continue;
    if (to - from < 1.0) {
      draw_line(d, box.x + from, box.y, box.x + from, box.y + box.height, &pen);
    } else {
      d->canvas->rect(d->canvas->user, (PlotBox){box.x + from, box.y, to - from, box.height},
                      d->theme->mark, 0.3);
    }
  }
}

void draw_mark_count(const Drawing* d, double y) {
  uint32_t count = d->figure->mark_count;
  if (count == 0) return;
  const PlotPen pen = {.rgb = d->theme->mark, .width = 1.0, .alpha = 0.4};
  char text[40];
  snprintf(text, sizeof text, "%u event%s", count, count == 1 ? "" : "s");
  Str told = str_from_c(text);
  draw_text(d, d->right, y, PLOT_END, d->theme->soft, told);
  double x = d->right - plot_text_width(told, FONT) - 10.0;
  draw_line(d, x, y - 11.0, x, y + 2.0, &pen);
}

// ---- space --------------------------------------------------------------------------------------

typedef struct Place {
  double x, y;
} Place;

/// A point of the box, its coordinates 0..1, on paper.
static Place place_of(const FigurePanel* panel, PlotBox box, const double p[3]) {
  const FigureSpace* s = panel->space;
  double x = 0.0;
  double y = 0.0;
  for (int a = 0; a < 3; a++) {
    x += (p[a] - 0.5) * s->across[a];
    y += (p[a] - 0.5) * s->up[a];
  }
  return (Place){box.x + plot_position(panel->axes[AXIS_X].range, x) * box.width,
                 box.y + (1.0 - plot_position(panel->axes[AXIS_Y].range, y)) * box.height};
}

static void draw_edge(const Drawing* d, const FigurePanel* panel, PlotBox box, const double a[3],
                      const double b[3], uint32_t rgb) {
  const PlotPen pen = {.rgb = rgb, .width = 1.0};
  Place from = place_of(panel, box, a);
  Place to = place_of(panel, box, b);
  draw_line(d, from.x, from.y, to.x, to.y, &pen);
}

/// Marks and name along an edge of the box; texts stand away from its middle.
static void draw_space_axis(const Drawing* d, const FigurePanel* panel, PlotBox box, int axis,
                            const double corner[3]) {
  double a[3] = {corner[0], corner[1], corner[2]};
  double b[3] = {corner[0], corner[1], corner[2]};
  a[axis] = 0.0;
  b[axis] = 1.0;
  draw_edge(d, panel, box, a, b, d->theme->frame);
  const double centre[3] = {0.5, 0.5, 0.5};
  Place middle = place_of(panel, box, centre);
  AxisTicks ticks;
  axis_ticks(&panel->space->axes[axis], 4, false, &ticks);
  double p[3] = {corner[0], corner[1], corner[2]};
  p[axis] = 0.5;
  Place half = place_of(panel, box, p);
  bool upright = axis == 2;
  PlotAnchor anchor = upright || half.x < middle.x - 20.0 ? PLOT_END
                      : half.x > middle.x + 20.0          ? PLOT_START
                                                          : PLOT_MIDDLE;
  double across = anchor == PLOT_END ? -7.0 : anchor == PLOT_START ? 7.0 : 0.0;
  double widest = 0.0;
  Place last = {-1e9, -1e9};
  for (uint32_t i = 0; i < ticks.count; i++) {
    if (ticks.ticks[i].minor) continue;
    p[axis] = ticks.ticks[i].at;
    Place at = place_of(panel, box, p);
    Str text = str_from_c(ticks.ticks[i].text);
    widest = fmax(widest, plot_text_width(text, FONT));
    // a number that would touch the one before is left out
    if (fabs(at.x - last.x) < widest + 3.0 && fabs(at.y - last.y) < FONT) continue;
    last = at;
    draw_text(d, at.x + across, at.y + (upright ? 4.0 : 14.0), anchor, d->theme->soft, text);
  }
  char power[48] = "";
  if (ticks.factor) axis_power_text(ticks.factor, power);
  Str name = str_format(d->arena, "%.*s%s%s", STR_ARGS(panel->space->axes[axis].label),
                        power[0] ? "  ×" : "", power);
  double away = across == 0.0 ? 0.0 : across / fabs(across) * (widest + 12.0);
  draw_text(d, half.x + across + away, half.y + (upright ? 4.0 : 30.0), anchor, d->theme->ink,
            name);
}

void draw_space(const Drawing* d, const FigurePanel* panel, PlotBox box) {
  const FigureSpace* s = panel->space;
  for (int axis = 0; axis < 3; axis++) {
    for (int corner = 0; corner < 4; corner++) {
      double a[3];
      a[(axis + 1) % 3] = corner & 1;
      a[(axis + 2) % 3] = corner >> 1;
      a[axis] = 0.0;
      double b[3] = {a[0], a[1], a[2]};
      b[axis] = 1.0;
      draw_edge(d, panel, box, a, b, d->theme->grid);
    }
  }
  draw_space_axis(d, panel, box, 0, (double[3]){0.0, s->edge_x, 0.0});
  draw_space_axis(d, panel, box, 1, (double[3]){s->edge_y, 0.0, 0.0});
  draw_space_axis(d, panel, box, 2, (double[3]){s->edge_z[0], s->edge_z[1], 0.0});
}
