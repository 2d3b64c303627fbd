// SPDX-License-Identifier: MIT
//
// Parts of a picture on a canvas: legends, bands, marks of events, the box of a curve in space.
#ifndef SALTUS_RECORD_FIGURE_PARTS_H
#define SALTUS_RECORD_FIGURE_PARTS_H

#include "record/figure.h"

#define FONT        12.0
#define TITLE_FONT  15.0
#define MARGIN      14.0
#define LEGEND_LINE 19.0
#define PANEL_GAP   12.0
#define BAND_HEIGHT 20.0
#define BAND_GAP    6.0
#define SWATCH      22.0

typedef struct Drawing {
  const Figure* figure;
  const PlotCanvas* canvas;
  const FigureTheme* theme;
  Arena* arena;
  double width, height;
  double left, right;  // of the panels
  double unit_height;  // of a panel of weight 1
} Drawing;

/// States as bits; those beyond the last bit are left out of the legend.
typedef struct StateSet {
  uint64_t shown;     // drawn somewhere
  uint64_t labelled;  // with the name inside
  uint8_t colours[64];
} StateSet;

void draw_line(const Drawing* d, double x0, double y0, double x1, double y1, const PlotPen* pen);
void draw_text(const Drawing* d, double x, double y, PlotAnchor anchor, uint32_t rgb, Str text);

bool panel_has_right(const FigurePanel* panel);
/// Whether the name of a vertical axis stands beside it: it is there and fits.
bool axis_is_labelled(const Drawing* d, const FigurePanel* panel, AxisId id);

/// Room for a legend above a panel, and beside all of them.
double legend_height(const Drawing* d, const FigurePanel* panel);
double legend_width(const Drawing* d);
void draw_legend(const Drawing* d, const FigurePanel* panel, PlotBox box);

/// Colours of all states, different ones for the states of one automaton as far as there are
/// enough.
void choose_state_colours(const Figure* figure, StateSet* states);
/// States of an automaton as intervals.
void draw_band(const Drawing* d, const FigureBand* band, double top, StateSet* states);
/// Colours of the states whose intervals have no room for their names.
void draw_state_legend(const Drawing* d, const StateSet* states, double y);

/// Lines at the times of events, and how many there are.
void draw_marks(const Drawing* d, const FigurePanel* panel, PlotBox box);
void draw_mark_count(const Drawing* d, double y);

void draw_space(const Drawing* d, const FigurePanel* panel, PlotBox box);

#endif
