// SPDX-License-Identifier: MIT
//
// Where the parts of an automaton's picture stand.
#ifndef SALTUS_RECORD_GRAPH_LAYOUT_H
#define SALTUS_RECORD_GRAPH_LAYOUT_H

#include "record/graph.h"

#define GRAPH_SAMPLES     33  // points of a curve, for distances
#define GRAPH_LABEL_LINES 6
#define GRAPH_FONT        11.0
#define GRAPH_LINE_HEIGHT 14.0

typedef struct GraphPoint {
  double x, y;
} GraphPoint;

typedef struct GraphBox {
  double x, y, w, h;  // centre and size
} GraphBox;

/// Text at an arrow, broken into lines.
typedef struct GraphLabel {
  Str lines[GRAPH_LABEL_LINES];
  uint32_t line_count;
  uint32_t guard_lines;  // the first ones; then resets, then the count
  GraphBox box;
} GraphLabel;

/// An arrow as a cubic curve, cut at the boxes.
typedef struct GraphCurve {
  GraphPoint p[4];
  GraphPoint sample[GRAPH_SAMPLES];
  GraphLabel label;
} GraphCurve;

/// One automaton; coordinates are relative to the panel's upper left corner.
typedef struct GraphPanel {
  const GraphAutomaton* automaton;
  GraphBox* boxes;     // per state
  GraphCurve* curves;  // per arrow
  double width, height;
} GraphPanel;

/// Lay out one automaton.
void graph_layout(const GraphAutomaton* automaton, bool ran, Arena* arena, GraphPanel* out);
/// Width of a text in a sans-serif font of that size, roughly.
double graph_text_width(Str text, double size);

#endif
