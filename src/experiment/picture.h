// SPDX-License-Identifier: MIT
//
// What the pictures of experiments share.
#ifndef SALTUS_EXPERIMENT_PICTURE_H
#define SALTUS_EXPERIMENT_PICTURE_H

#include "experiment/design.h"
#include "record/record.h"

#define PICTURE_FONT    12.0
#define PICTURE_WIDTH   760.0
#define PICTURE_MARGIN  16.0
#define PICTURE_BAR     22.0  // a bar, or a line of a legend, and the room below it
#define PICTURE_TITLE   34.0
#define PICTURE_AXIS    44.0  // ticks and the name of an axis
#define PICTURE_LETTERS 90u   // most letters of a name

typedef struct Picture {
  const PlotCanvas* canvas;
  const FigureTheme* theme;
  PlotBox box;  // inside of the axes
  Axis x, y;
} Picture;

void picture_begin(const Picture* p, double height, const char* title);
void picture_text(const Picture* p, double x, double y, PlotAnchor anchor, const char* text);
void picture_line(const Picture* p, double x0, double y0, double x1, double y1, uint32_t rgb);
/// Where a value stands on paper.
double picture_x(const Picture* p, double value);
double picture_y(const Picture* p, double value);
void picture_x_axis(const Picture* p, const char* name);
void picture_y_axis(const Picture* p, const char* name);
/// What a member of a grid stands for along one of its axes: half way to its neighbours.
PlotRange picture_cell(const SltDesign* design, uint32_t axis, uint64_t stride, uint64_t member);
Axis picture_axis_of(const SltDesign* design, uint32_t axis);
/// Draw in a format.
SltStatus picture_write(PlotDrawFn* draw, void* user, SltPlotFormat format, SltWriter writer);

#endif
