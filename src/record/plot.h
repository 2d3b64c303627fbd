// SPDX-License-Identifier: MIT
//
// Pictures of tables. plot_spec_prepare() decides what is shown (columns, ranges, panels), the
// drawing code decides where, and a canvas turns lines and words into a file. The terminal picture
// shares the first part only.
#ifndef SALTUS_RECORD_PLOT_H
#define SALTUS_RECORD_PLOT_H

#include "record/sink.h"
#include "record/table.h"

#define PLOT_PANELS_MAX 6   // more are too low to read
#define PLOT_SERIES_MAX 24  // lines drawn when no names are given
#define PLOT_BANDS_MAX  6   // text columns drawn when no names are given
#define PLOT_COLOURS    10

typedef struct PlotRange {
  double lo, hi;  // lo > hi: empty
} PlotRange;

typedef struct PlotSeries {
  uint32_t column;
  uint32_t panel;
  PlotRange range;  // of its finite values
} PlotSeries;

typedef struct PlotSpec {
  const SltTable* table;
  const char* title;  // NULL for none
  uint32_t x;         // column of the horizontal axis
  uint32_t time;      // column in which equal neighbours mark an instant
  bool x_ordered;     // never decreases: the picture may be thinned to columns of pixels
  PlotRange x_range;
  PlotSeries* series;
  uint32_t series_count;
  uint32_t left_out;  // columns not drawn because there are too many
  uint32_t* bands;    // text columns
  uint32_t band_count;
  PlotRange panels[PLOT_PANELS_MAX];  // padded
  uint32_t panel_count;
} PlotSpec;

/// Choose what to draw. Memory comes from `arena`, which leaves through its own jump.
/// @return SLT_OK, SLT_ERR_NOT_FOUND with `bad_name`, SLT_ERR_ARGUMENT when nothing can be drawn.
SltStatus plot_spec_prepare(PlotSpec* spec, Arena* arena, const SltTable* table,
                            const SltPlotOptions* options, const char** bad_name);

/// The row is the second of two at one time.
bool plot_is_jump(const PlotSpec* spec, uint32_t row);
/// Position of a value in a range as 0..1.
double plot_position(PlotRange range, double value);

/// Marks of an axis: k * mantissa * 10^exponent for k = first..last.
typedef struct PlotTicks {
  int64_t first, last;
  int mantissa;  // 1, 2 or 5
  int exponent;
  bool scientific;
} PlotTicks;

/// About `count` marks; none (last < first) when the range is too narrow for its place.
PlotTicks plot_ticks(PlotRange range, uint32_t count);
double plot_tick_value(const PlotTicks* ticks, int64_t k);
/// Shortest text of a mark; returns its length, `out` holds NUMBER_TEXT_MAX bytes.
uint32_t plot_tick_text(const PlotTicks* ticks, int64_t k, char* out);

// ---- canvas -------------------------------------------------------------------------------------

typedef enum PlotDash { PLOT_SOLID, PLOT_DOTTED, PLOT_DASHED, PLOT_DASH_DOT } PlotDash;
typedef enum PlotAnchor { PLOT_START, PLOT_MIDDLE, PLOT_END } PlotAnchor;

typedef struct PlotPen {
  uint32_t rgb;
  double width;
  PlotDash dash;
} PlotPen;

typedef struct PlotFont {
  double size;
  uint32_t rgb;
  PlotAnchor anchor;
  bool bold;
} PlotFont;

/// Where a picture goes. Coordinates are pixels from the upper left corner; errors stay inside and
/// come out of `end`.
typedef struct PlotCanvas {
  void* user;
  void (*begin)(void* user, double width, double height, const char* title);
  void (*rect)(void* user, double x, double y, double width, double height, uint32_t rgb);
  void (*path_begin)(void* user);
  void (*path_move)(void* user, double x, double y);
  void (*path_line)(void* user, double x, double y);
  void (*path_end)(void* user, const PlotPen* pen);
  void (*text)(void* user, double x, double y, const PlotFont* font, Str text);
  SltStatus (*end)(void* user);
} PlotCanvas;

/// Draw on a canvas; `width` and `height` 0 mean the defaults.
SltStatus plot_draw(const PlotSpec* spec, const PlotCanvas* canvas, uint32_t width,
                    uint32_t height);
/// Canvas that writes SVG into a sink.
PlotCanvas plot_svg_canvas(Sink* sink);
/// Text of an XML file: markup escaped; what XML 1.0 cannot hold becomes U+FFFD.
void plot_svg_escaped(Sink* sink, Str text);
/// Terminal picture into a sink (plot_text.c).
SltStatus plot_text(const PlotSpec* spec, const SltPlotOptions* options, Sink* sink, Arena* arena);

uint32_t plot_colour(uint32_t series);
/// Colour of the background of a state in a band.
uint32_t plot_band_colour(uint32_t state);
/// Width a text will take, good enough for margins.
double plot_text_width(Str text, double size);
/// The first `limit` characters.
Str plot_clip(Str text, uint32_t limit);

#endif
