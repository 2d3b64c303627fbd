// SPDX-License-Identifier: MIT
//
// Figures of tables, in three steps: what is asked for (FigureWish, from settings), what is drawn
// (Figure: panels with axes, lines and bands, made of the wish and the data by figure_plan()), and
// where it goes (a canvas for files, or the terminal).
#ifndef SALTUS_RECORD_FIGURE_H
#define SALTUS_RECORD_FIGURE_H

#include "base/figure_keys.h"
#include "record/sink.h"
#include "record/table.h"

#define FIGURE_PANELS_MAX 6   // chosen by itself: more are too low to read
#define FIGURE_LINES_MAX  24  // drawn when no names are given
#define FIGURE_BANDS_MAX  6   // text columns drawn when no names are given
#define FIGURE_COLOURS    8
#define PLOT_POINT        5.0  // width of a point

typedef struct PlotRange {
  double lo, hi;  // lo > hi: empty
} PlotRange;

// ---- what is asked for (figure_set.c) -----------------------------------------------------------

typedef enum AxisId { AXIS_X, AXIS_Y, AXIS_Y2, AXIS_COUNT } AxisId;
typedef enum FigureLegend {
  LEGEND_TOP,
  LEGEND_RIGHT,
  LEGEND_TOP_LEFT,
  LEGEND_TOP_RIGHT,
  LEGEND_BOTTOM_LEFT,
  LEGEND_BOTTOM_RIGHT,
  LEGEND_NONE
} FigureLegend;
typedef enum FigureDensity { DENSITY_AUTO, DENSITY_ON, DENSITY_OFF } FigureDensity;

typedef struct AxisWish {
  double lo, hi;  // NaN: by the data
  bool log;
  Str label;  // data NULL: by the data
} AxisWish;

typedef struct PanelWish {
  FigureKeyId kind;  // FIGURE_PANEL, FIGURE_PHASE or FIGURE_HISTOGRAM
  Str names;         // of its columns
  Str right;         // of those on the right axis
  AxisWish axes[AXIS_COUNT];
  bool equal;
  FigureLegend legend;
} PanelWish;

typedef struct FigureTable {
  const SltTable* table;
  Str name;
} FigureTable;

/// What marks are chosen by.
typedef struct FigureEvent {
  double t;
  const char* kind;
  const char* class;
  Str automaton, to;
} FigureEvent;

typedef struct FigureWish {
  Arena* arena;
  BASE_VEC(FigureTable) tables;
  BASE_VEC(FigureEvent) events;
  bool has_records;  // `events` are all that happened; else rows tell some of them
  PanelWish common;  // what was set before the first panel
  BASE_VEC(PanelWish) panels;
  Str title, x, marks, bands, points;  // empty: not given
  Str names;                           // columns when there are no panels; empty: all
  double size[2], view[2];
  FigureDensity density;
  bool dark, ascii, colour;
} FigureWish;

void figure_init(FigureWish* wish, Arena* arena);
/// Take a setting; its value fits (figure_value_fits).
void figure_set(FigureWish* wish, FigureKeyId key, Str value);
/// Whether a name is meant by a pattern: `*` stands for any letters, `?` for one.
bool figure_matches(Str pattern, Str name);

// ---- axes (figure_axis.c) -----------------------------------------------------------------------

typedef struct Axis {
  PlotRange range;  // of the values, or with `log` of their decimal logarithms
  bool log;
  Str label;
} Axis;

/// Where a value stands on its axis: 0..1 inside, NaN where it has no place.
double axis_position(const Axis* axis, double value);
/// Position of a value in a range as 0..1.
double plot_position(PlotRange range, double value);

#define AXIS_TICKS_MAX 96

typedef struct AxisTick {
  double at;  // position
  bool minor;
  char text[40];
} AxisTick;

typedef struct AxisTicks {
  AxisTick ticks[AXIS_TICKS_MAX + 1];  // the last one is spare
  uint32_t count;
  int factor;  // power of ten by which all texts are to be multiplied
} AxisTicks;

/// About `count` marks with texts; `plain`: in the letters of a terminal, without a factor.
void axis_ticks(const Axis* axis, uint32_t count, bool plain, AxisTicks* out);
/// A power of ten in small raised digits: "10⁻³"; returns the length.
uint32_t axis_power_text(int exponent, char* out);
/// The unit at the end of a label as it is printed: `q [m^3/s]` with a raised 3.
Str axis_unit_text(Arena* arena, Str label);

/// Marks of a linear axis: k * mantissa * 10^exponent for k = first..last.
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

// ---- what is drawn (figure_plan.c) --------------------------------------------------------------

typedef enum PlotDash { PLOT_SOLID, PLOT_DOTTED, PLOT_DASHED, PLOT_DASH_DOT } PlotDash;

typedef struct FigureLine {
  const double *x, *y;
  const double* time;  // equal neighbours are an instant; NULL: there are none
  uint32_t count;
  bool ordered;  // x never decreases
  bool filled;   // down to the axis
  bool points;   // without a line through them
  AxisId axis;   // AXIS_Y or AXIS_Y2
  uint32_t quantity, table, colour;
  PlotDash dash;
  Str name;  // of its column
  Str label;
  PlotRange range;  // of what is drawn of y, on its axis
} FigureLine;

typedef struct FigurePanel {
  const PanelWish* wish;
  FigureKeyId kind;
  Str across;  // column of the horizontal axis; data NULL: the time
  Axis axes[AXIS_COUNT];
  FigureLine* lines;
  uint32_t line_count;
  bool clipped;   // a range was asked for: lines may lead out of it
  bool has_time;  // over the time: events can be marked
  bool equal;
  const struct FigureSpace* space;  // of a curve in space, else NULL
  FigureLegend legend;
} FigurePanel;

typedef struct FigureBand {
  const SltTable* table;
  uint32_t column;
  Str label;
} FigureBand;

typedef struct Figure {
  Str title;
  FigurePanel* panels;
  uint32_t panel_count;
  FigureBand* bands;
  uint32_t band_count;
  Axis band_axis;
  double* marks;  // times, in order
  uint32_t mark_count;
  Str unmarked;    // a word of the marks that no event is; empty: there is none
  Str note;        // what is not drawn, and why; empty: everything is
  double size[2];  // NaN: by itself
  FigureDensity density;
  bool dark, ascii, colour;
  bool marks_asked, bands_asked;
} Figure;

/// Choose what is drawn. Memory comes from `arena`, which leaves through its own jump.
/// @return SLT_OK, SLT_ERR_NOT_FOUND with `bad` the name, SLT_ERR_ARGUMENT when nothing can be
///         drawn.
SltStatus figure_plan(const FigureWish* wish, Arena* arena, Figure* out, Str* bad);

/// Empty when there are no finite numbers.
PlotRange range_of(const double* values, uint32_t count);
PlotRange range_join(PlotRange a, PlotRange b);
/// A little room above and below; something to look at around a constant.
PlotRange range_padded(PlotRange r);
bool range_is_flat(PlotRange r);
double range_half(PlotRange r);

/// A histogram of numbers as the outline of its bars (figure_data.c).
void figure_histogram(const double* values, uint32_t count, bool log, Arena* arena,
                      FigureLine* line);
/// Intervals between instants of a table, or between the changes of a text column.
double* figure_intervals(const SltTable* table, uint32_t column, Arena* arena, uint32_t* count);
/// Intervals between the instants of the records.
double* figure_record_intervals(const FigureWish* wish, Arena* arena, uint32_t* count);
/// Times that are marked, in order.
void figure_marks(const FigureWish* wish, Arena* arena, Figure* figure);

/// The box around a curve in space, seen from a direction.
typedef struct FigureSpace {
  Axis axes[3];
  double across[3], up[3];  // directions on paper of the three axes
  double edge_z[2];         // corner (0 or 1 of x and y) over which the third axis is drawn
  double edge_x, edge_y;    // y of the edge along x, x of the edge along y
  PlotRange across_range, up_range;  // of the box and its texts
} FigureSpace;

/// Turn three columns into a line on paper; `lines` share one box.
const FigureSpace* figure_space(const FigureWish* wish, const PanelWish* panel, FigureLine* lines,
                                uint32_t count, const double* const* third, Arena* arena);

// ---- canvas -------------------------------------------------------------------------------------

typedef enum PlotAnchor { PLOT_START, PLOT_MIDDLE, PLOT_END } PlotAnchor;

typedef struct PlotPen {
  uint32_t rgb;
  double width;
  PlotDash dash;
  double alpha;  // 0 stands for 1
} PlotPen;

typedef struct PlotFont {
  double size;
  uint32_t rgb;
  PlotAnchor anchor;
  bool bold;
  bool upward;  // turned by a quarter
} PlotFont;

typedef struct PlotBox {
  double x, y, width, height;
} PlotBox;

/// Where a picture goes. Coordinates are pixels from the upper left corner; errors stay inside and
/// come out of `end`.
typedef struct PlotCanvas {
  void* user;
  void (*begin)(void* user, double width, double height, Str title);
  void (*rect)(void* user, PlotBox box, uint32_t rgb, double alpha);
  void (*path_begin)(void* user);
  void (*path_move)(void* user, double x, double y);
  void (*path_line)(void* user, double x, double y);
  void (*path_rect)(void* user, PlotBox box);
  void (*path_end)(void* user, const PlotPen* pen);
  void (*path_fill)(void* user, uint32_t rgb, double alpha);
  void (*clip)(void* user, PlotBox box);
  void (*unclip)(void* user);
  void (*text)(void* user, double x, double y, const PlotFont* font, Str text);
  SltStatus (*end)(void* user);
} PlotCanvas;

typedef struct FigureTheme {
  uint32_t canvas, ink, soft, frame, grid, fast, mark;
  uint32_t lines[FIGURE_COLOURS];
  uint32_t bands[FIGURE_COLOURS];
} FigureTheme;

const FigureTheme* figure_theme(bool dark);

/// Draw on a canvas.
SltStatus figure_draw(const Figure* figure, const PlotCanvas* canvas, Arena* arena);
/// Draw a line of a panel in its box (figure_trace.c).
void figure_trace(const Figure* figure, const FigurePanel* panel, const FigureLine* line,
                  PlotBox box, const PlotCanvas* canvas, Arena* arena);
/// Rows of a line that can be seen, and one more on either side.
void figure_window(const FigurePanel* panel, const FigureLine* line, uint32_t* begin,
                   uint32_t* end);
/// The row is the second of two at one time.
bool figure_is_jump(const FigureLine* line, uint32_t row);

/// How much of its time a line spends in each cell of a grid (figure_density.c).
typedef struct DensityGrid {
  uint32_t width, height;
  double* weight;
  double most;
} DensityGrid;

/// The grid where shades are wanted: they were asked for, or the line, as thick as a cell, would be
/// a solid block.
bool density_make(const Figure* figure, const FigurePanel* panel, const FigureLine* line,
                  uint32_t width, uint32_t height, Arena* arena, DensityGrid* out);
/// Shade of a cell, 0..1.
double density_shade(const DensityGrid* grid, uint32_t x, uint32_t y);

/// Canvas that writes SVG into a sink.
PlotCanvas figure_svg_canvas(Sink* sink);
/// Draw something on a canvas.
typedef SltStatus PlotDrawFn(void* user, const PlotCanvas* canvas);
/// PNG or PDF through cairo; SLT_ERR_UNSUPPORTED when it was absent at build time or cannot be
/// loaded now. `draw` may fail half way.
SltStatus plot_cairo(PlotDrawFn* draw, void* user, bool pdf, Sink* sink);
/// The same in characters (figure_terminal.c): areas of one colour have one letter.
SltStatus plot_terminal(PlotDrawFn* draw, void* user, Sink* sink);
/// In the format that is asked for.
SltStatus plot_on(SltPlotFormat format, PlotDrawFn* draw, void* user, Sink* sink);
/// Text of an XML file: markup escaped; what XML 1.0 cannot hold becomes U+FFFD.
void plot_svg_escaped(Sink* sink, Str text);
/// The figure as data, for a program that draws it itself (figure_json.c).
SltStatus figure_json(const Figure* figure, Sink* sink, Arena* arena);
/// Terminal picture into a sink (figure_text.c).
SltStatus figure_text(const Figure* figure, Sink* sink, Arena* arena);

/// Width a text will take, good enough for margins.
double plot_text_width(Str text, double size);
/// The first `limit` characters.
Str plot_clip(Str text, uint32_t limit);

#endif
