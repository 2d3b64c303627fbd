// SPDX-License-Identifier: MIT
//
// Settings of a figure, one after the other: those before the first panel are about all panels,
// those behind a panel about this one.
#include "record/figure.h"

#include <math.h>

void figure_init(FigureWish* wish, Arena* arena) {
  const AxisWish axis = {.lo = (double)NAN, .hi = (double)NAN};
  *wish = (FigureWish){.arena = arena,
                       .common = {.kind = FIGURE_PANEL, .axes = {axis, axis, axis}},
                       .size = {(double)NAN, (double)NAN},
                       .view = {(double)NAN, (double)NAN}};
}

static void set_log(PanelWish* panel, Str value) {
  static const char names[] = "x y y2";
  for (Str name; figure_next_name(&value, &name);) {
    int axis = figure_word(names, name);
    if (axis >= 0) panel->axes[axis].log = true;
    if (str_equal(name, STR_LIT("xy"))) panel->axes[AXIS_X].log = panel->axes[AXIS_Y].log = true;
  }
}

static void set_range(AxisWish* axis, Str value) {
  double pair[2];
  if (!figure_pair(value, pair)) return;
  axis->lo = pair[0];
  axis->hi = pair[1];
}

static void begin_panel(FigureWish* wish, FigureKeyId kind, Str names) {
  PanelWish panel = wish->common;
  panel.kind = kind;
  panel.names = names;
  base_vec_push(wish->arena, &wish->panels, panel);
}

/// What is said about a panel.
static void set_panel(PanelWish* panel, FigureKeyId key, Str value) {
  switch ((int)key) {
  case FIGURE_Y2: panel->right = value; return;
  case FIGURE_XRANGE: set_range(&panel->axes[AXIS_X], value); return;
  case FIGURE_YRANGE: set_range(&panel->axes[AXIS_Y], value); return;
  case FIGURE_Y2RANGE: set_range(&panel->axes[AXIS_Y2], value); return;
  case FIGURE_LOG: set_log(panel, value); return;
  case FIGURE_EQUAL: panel->equal = str_equal(value, STR_LIT("on")); return;
  case FIGURE_XLABEL: panel->axes[AXIS_X].label = value; return;
  case FIGURE_YLABEL: panel->axes[AXIS_Y].label = value; return;
  case FIGURE_Y2LABEL: panel->axes[AXIS_Y2].label = value; return;
  case FIGURE_LEGEND:
    panel->legend = (FigureLegend)figure_word(figure_keys[key].words, value);
    return;
  default: return;
  }
}

void figure_set(FigureWish* wish, FigureKeyId key, Str value) {
  value = str_copy(wish->arena, value);
  switch ((int)key) {
  case FIGURE_PANEL:
  case FIGURE_PHASE:
  case FIGURE_HISTOGRAM: begin_panel(wish, key, value); return;
  case FIGURE_X: figure_next_name(&value, &wish->x); return;
  case FIGURE_TITLE: wish->title = value; return;
  case FIGURE_MARKS: wish->marks = value; return;
  case FIGURE_BANDS: wish->bands = value; return;
  case FIGURE_POINTS: wish->points = value; return;
  case FIGURE_SIZE: figure_pair(value, wish->size); return;
  case FIGURE_VIEW: figure_pair(value, wish->view); return;
  case FIGURE_DENSITY:
    wish->density = (FigureDensity)figure_word(figure_keys[key].words, value);
    return;
  case FIGURE_THEME: wish->dark = str_equal(value, STR_LIT("dark")); return;
  case FIGURE_ASCII: wish->ascii = str_equal(value, STR_LIT("on")); return;
  default: break;
  }
  uint32_t count = wish->panels.count;
  set_panel(count ? &wish->panels.data[count - 1] : &wish->common, key, value);
}

bool figure_matches(Str pattern, Str name) {
  uint32_t p = 0;
  uint32_t n = 0;
  uint32_t star = UINT32_MAX;  // the last one, and what it stands for so far
  uint32_t taken = 0;
  while (n < name.length) {
    if (p < pattern.length && pattern.data[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.length && (pattern.data[p] == '?' || pattern.data[p] == name.data[n])) {
      p++;
      n++;
    } else if (star != UINT32_MAX) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.length && pattern.data[p] == '*')
    p++;
  return p == pattern.length;
}
