// SPDX-License-Identifier: MIT
//
// A picture for the terminal: braille patterns give two by four dots per character. Where several
// lines share a panel and there are no colours, or only plain letters are wanted, each line gets a
// mark of its own instead.
#include "record/figure_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MIN   30
#define WIDTH_MAX   1000
#define HEIGHT_MAX  500
#define PANEL_LEAST 5
#define RIGHT_MAX   10  // characters of a number on the right
#define NO_SERIES   0xff

static const char marks[] = "*+ox#@%&=~";

typedef struct Cell {
  uint8_t dots;    // braille bits
  uint8_t series;  // the last line that passed here
  bool line;       // more than the dots of a jump
} Cell;

/// Letters of frames.
typedef struct Glyphs {
  const char *bar, *tick_left, *tick_right, *corner, *tick_down, *dash, *fast, *swatch;
} Glyphs;

static const Glyphs boxes = {"│", "┤", "├", "└", "┬", "─", "▒", "━━"};
static const Glyphs letters = {"|", "+", "+", "+", "+", "-", "%", "--"};

typedef struct TextPlot {
  const Figure* figure;
  const Glyphs* glyphs;
  Sink* sink;
  Arena* arena;
  bool colour;
  bool braille;           // else marks
  uint32_t label, width;  // characters of the labels on the left, and of the panel
  uint32_t height;        // of one panel
  Cell* cells;            // of one panel, row by row
  uint32_t right;         // characters of the axis on the right; 0 where no panel has one
  AxisTicks* ticks;       // scratch
  AxisTicks* right_ticks;
} TextPlot;

typedef struct Dot {
  int32_t x, y;
} Dot;

static void repeat(Sink* sink, const char* text, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    sink_c(sink, text);
}

static void begin_colour(const TextPlot* p, uint32_t series) {
  static const char* const codes[FIGURE_COLOURS] = {"34", "33", "32", "35", "36", "94", "90", "31"};
  if (!p->colour) return;
  sink_c(p->sink, "\033[");
  sink_c(p->sink, codes[series % FIGURE_COLOURS]);
  sink_char(p->sink, 'm');
}

static void end_colour(const TextPlot* p) {
  if (p->colour) sink_c(p->sink, "\033[0m");
}

/// Names come from files: control characters must not reach the terminal.
static void write_name(Sink* sink, Str name) {
  for (uint32_t i = 0; i < name.length;) {
    uint32_t code = 0;
    uint32_t size = utf8_decode(name.data + i, name.length - i, &code);
    bool plain = size && utf8_is_printable(code);
    sink_str(sink, plain ? (Str){name.data + i, size} : STR_LIT("?"));
    i += size ? size : 1;
  }
}

/// Right-aligned in the label's place.
static void write_label(const TextPlot* p, Str text) {
  text = plot_clip(text, p->label);
  repeat(p->sink, " ", p->label - utf8_count(text));
  write_name(p->sink, text);
}

// ---- lines --------------------------------------------------------------------------------------

static void set_dot(const TextPlot* p, int32_t x, int32_t y, uint32_t series, bool jump) {
  static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  if (x < 0 || y < 0 || x >= (int32_t)(2 * p->width) || y >= (int32_t)(4 * p->height)) return;
  Cell* cell = &p->cells[(uint32_t)(y / 4) * p->width + (uint32_t)(x / 2)];
  cell->dots |= bits[y % 4][x % 2];
  if (jump && cell->line && !p->braille) return;
  cell->series = (uint8_t)(series == NO_SERIES ? NO_SERIES : series % NO_SERIES);
  cell->line = cell->line || !jump;
}

/// Bresenham's line; a jump leaves out every other dot.
static void set_line(const TextPlot* p, Dot a, Dot b, uint32_t series, bool jump) {
  int32_t dx = abs(b.x - a.x);
  int32_t dy = -abs(b.y - a.y);
  int32_t step_x = a.x < b.x ? 1 : -1;
  int32_t step_y = a.y < b.y ? 1 : -1;
  int32_t error = dx + dy;
  for (int32_t n = 0;; n++) {
    if (!jump || n % 2 == 0) set_dot(p, a.x, a.y, series, jump);
    if (a.x == b.x && a.y == b.y) return;
    int32_t twice = 2 * error;
    if (twice >= dy) {
      error += dy;
      a.x += step_x;
    }
    if (twice <= dx) {
      error += dx;
      a.y += step_y;
    }
  }
}

static bool find_dot(const TextPlot* p, const FigurePanel* panel, const FigureLine* line,
                     uint32_t row, Dot* dot) {
  double x = axis_position(&panel->axes[AXIS_X], line->x[row]);
  double y = axis_position(&panel->axes[line->axis], line->y[row]);
  if (isnan(x) || isnan(y)) return false;
  // a line that leads far out of its panel is cut
  x = fmin(fmax(x, -2.0), 3.0);
  y = fmin(fmax(y, -2.0), 3.0);
  *dot = (Dot){(int32_t)lround(x * (2.0 * p->width - 1.0)),
               (int32_t)lround((1.0 - y) * (4.0 * p->height - 1.0))};
  return true;
}

/// Shades as dots that are the more the darker they are, in a pattern that does not catch the eye.
static void draw_shades(const TextPlot* p, const DensityGrid* grid, uint32_t mark) {
  static const uint8_t order[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
  for (uint32_t y = 0; y < grid->height; y++) {
    for (uint32_t x = 0; x < grid->width; x++) {
      if (density_shade(grid, x, y) * 16.0 > order[y % 4][x % 4] + 0.5) {
        set_dot(p, (int32_t)x, (int32_t)y, mark, false);
      }
    }
  }
}

static void draw_series(const TextPlot* p, const FigurePanel* panel, const FigureLine* line,
                        uint32_t mark) {
  DensityGrid grid;
  if (density_make(p->figure, panel, line, 2 * p->width, 4 * p->height, p->arena, &grid)) {
    draw_shades(p, &grid, mark);
    return;
  }
  uint32_t begin = 0;
  uint32_t end = 0;
  figure_window(panel, line, &begin, &end);
  Dot before = {0, 0};
  bool drawing = false;
  for (uint32_t row = begin; row < end; row++) {
    Dot dot;
    if (!find_dot(p, panel, line, row, &dot)) {
      drawing = false;
      continue;
    }
    if (drawing && !line->points) {
      set_line(p, before, dot, mark, figure_is_jump(line, row));
    } else {
      set_dot(p, dot.x, dot.y, mark, false);
    }
    before = dot;
    drawing = true;
  }
}

static void dot_marks(const TextPlot* p, const FigurePanel* panel) {
  for (uint32_t i = 0; panel->has_time && i < p->figure->mark_count; i++) {
    double x = axis_position(&panel->axes[AXIS_X], p->figure->marks[i]);
    if (!(x >= 0.0) || !(x <= 1.0)) continue;
    int32_t at = (int32_t)lround(x * (2.0 * p->width - 1.0));
    for (int32_t y = 0; y < (int32_t)(4 * p->height); y += 4)
      set_dot(p, at, y, NO_SERIES, true);
  }
}

// ---- panels -------------------------------------------------------------------------------------

static void write_braille(Sink* sink, uint8_t dots) {
  // U+2800 + dots as UTF-8
  const char text[] = {(char)0xe2, (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 0x3f))};
  sink_bytes(sink, text, sizeof text);
}

/// Returns how many characters were written.
static uint32_t write_cells(const TextPlot* p, const Cell* row) {
  uint32_t used = p->width;
  while (used > 0 && row[used - 1].dots == 0)
    used--;
  uint32_t colour = NO_SERIES;
  for (uint32_t i = 0; i < used; i++) {
    if (row[i].dots == 0) {
      sink_char(p->sink, ' ');
      continue;
    }
    if (row[i].series != colour) begin_colour(p, row[i].series);
    colour = row[i].series;
    if (p->braille) {
      write_braille(p->sink, row[i].dots);
    } else {
      char mark = ':';
      if (row[i].line) mark = marks[row[i].series % (sizeof marks - 1)];
      sink_char(p->sink, mark);
    }
  }
  if (colour != NO_SERIES) end_colour(p);
  return used;
}

/// What stands above a panel: the mark and the name of each line.
static void write_legend(const TextPlot* p, const FigurePanel* panel) {
  repeat(p->sink, " ", p->label - 1);
  // what several lines have in common stands at the axis of a picture; here there is no room for it
  Str common = panel->axes[AXIS_Y].label;
  if (panel->line_count > 1 && common.length && !str_equal(common, panel->lines[0].label)) {
    sink_c(p->sink, "   ");
    write_name(p->sink, common);
    sink_char(p->sink, ':');
  }
  for (uint32_t i = 0; i < panel->line_count; i++) {
    const FigureLine* line = &panel->lines[i];
    sink_c(p->sink, "   ");
    begin_colour(p, line->colour);
    if (p->braille || p->colour) {
      sink_c(p->sink, p->glyphs->swatch);
    } else {
      sink_char(p->sink, marks[i % (sizeof marks - 1)]);
    }
    end_colour(p);
    sink_char(p->sink, ' ');
    write_name(p->sink, line->label);
  }
  sink_char(p->sink, '\n');
}

static uint32_t y_tick_count(uint32_t height) {
  return height < 8 ? 2 : height / 3;
}

/// Row of the panel that shows a mark of the axis.
static uint32_t tick_row(const TextPlot* p, double at) {
  return (uint32_t)(fmax((1.0 - at) * (4.0 * p->height - 1.0), 0.0) / 4.0);
}

/// Text of the mark in a row; NULL: none is there.
static const char* row_text(const TextPlot* p, const AxisTicks* ticks, uint32_t row) {
  for (uint32_t i = 0; i < ticks->count; i++) {
    const AxisTick* tick = &ticks->ticks[i];
    if (!tick->minor && tick_row(p, tick->at) == row) return tick->text;
  }
  return NULL;
}

/// The axis on the right, behind a row of which `used` characters are written.
static void write_right(const TextPlot* p, uint32_t row, uint32_t used) {
  const char* text = row_text(p, p->right_ticks, row);
  repeat(p->sink, " ", p->width - used);
  sink_c(p->sink, text ? p->glyphs->tick_right : p->glyphs->bar);
  if (!text) return;
  sink_char(p->sink, ' ');
  write_name(p->sink, plot_clip(str_from_c(text), p->right - 2));
}

static void write_panel(TextPlot* p, const FigurePanel* panel) {
  memset(p->cells, 0, (size_t)p->width * p->height * sizeof *p->cells);
  p->braille = !p->figure->ascii && (p->colour || panel->line_count == 1);
  dot_marks(p, panel);
  for (uint32_t i = 0; i < panel->line_count; i++)
    draw_series(p, panel, &panel->lines[i], p->colour ? panel->lines[i].colour : i);
  write_legend(p, panel);
  p->ticks->count = 0;
  if (!panel->space) axis_ticks(&panel->axes[AXIS_Y], y_tick_count(p->height), true, p->ticks);
  bool right = panel_has_right(panel);
  if (right) axis_ticks(&panel->axes[AXIS_Y2], y_tick_count(p->height), true, p->right_ticks);
  for (uint32_t row = 0; row < p->height; row++) {
    const char* text = row_text(p, p->ticks, row);
    write_label(p, str_from_c(text ? text : ""));
    sink_char(p->sink, ' ');
    sink_c(p->sink, text ? p->glyphs->tick_left : p->glyphs->bar);
    uint32_t used = write_cells(p, p->cells + (size_t)row * p->width);
    if (right) write_right(p, row, used);
    sink_char(p->sink, '\n');
  }
}

// ---- axis and bands -----------------------------------------------------------------------------

static uint32_t x_cell(const TextPlot* p, double at) {
  return (uint32_t)lround(fmin(fmax(at * (p->width - 1.0), 0.0), p->width - 1.0));
}

static void write_x_axis(const TextPlot* p, const Axis* axis) {
  uint32_t wanted = p->width / 14;
  axis_ticks(axis, wanted < 2 ? 2 : wanted, true, p->ticks);
  repeat(p->sink, " ", p->label + 1);
  sink_c(p->sink, p->glyphs->corner);
  uint32_t k = 0;
  for (uint32_t i = 0; i < p->width; i++) {
    bool mark = false;
    for (; k < p->ticks->count && x_cell(p, p->ticks->ticks[k].at) == i; k++)
      mark = mark || !p->ticks->ticks[k].minor;
    sink_c(p->sink, mark ? p->glyphs->tick_down : p->glyphs->dash);
  }
  sink_char(p->sink, '\n');
  uint32_t at = 0;  // characters written behind the label
  repeat(p->sink, " ", p->label + 2);
  for (k = 0; k < p->ticks->count; k++) {
    if (p->ticks->ticks[k].minor) continue;
    Str text = str_from_c(p->ticks->ticks[k].text);
    uint32_t cell = x_cell(p, p->ticks->ticks[k].at);
    uint32_t begin = cell > text.length / 2 ? cell - text.length / 2 : 0;
    if (at > 0 && begin < at + 1) continue;
    if (begin + text.length > p->width) begin = p->width - text.length;
    if (begin < at) continue;
    repeat(p->sink, " ", begin - at);
    sink_str(p->sink, text);
    at = begin + text.length;
  }
  if (at + 2 + utf8_count(axis->label) > p->width) {
    sink_char(p->sink, '\n');
    repeat(p->sink, " ", p->label + 2 + p->width / 2);
  } else {
    sink_c(p->sink, "  ");
  }
  write_name(p->sink, axis->label);
  sink_char(p->sink, '\n');
}

/// State of each character of a band: the one that begins or lasts there, UINT32_MAX for several.
static void band_states(const TextPlot* p, const FigureBand* band, uint32_t* states) {
  const SltTable* table = band->table;
  uint32_t column = band->column;
  const double* x = table->columns[0].values;
  uint32_t filled = 0;
  uint32_t changed_at = UINT32_MAX;
  uint32_t id = table_text_id(table, 0, column);
  for (uint32_t row = 1; row <= table->row_count; row++) {
    bool end = row == table->row_count;
    uint32_t next = end ? 0 : table_text_id(table, row, column);
    if (!end && next == id) continue;
    uint32_t cell = end ? p->width : x_cell(p, axis_position(&p->figure->band_axis, x[row]));
    while (filled < cell)
      states[filled++] = id;
    if (!end && cell == changed_at && cell < p->width) {
      states[cell] = UINT32_MAX;
      filled = cell + 1;
    }
    changed_at = cell;
    id = next;
  }
}

static void write_band(const TextPlot* p, const FigureBand* band, uint32_t* states) {
  const SltTable* table = band->table;
  band_states(p, band, states);
  write_label(p, band->label);
  sink_c(p->sink, "  ");
  for (uint32_t i = 0; i < p->width;) {
    uint32_t begin = i;
    while (i < p->width && states[i] == states[begin])
      i++;
    if (states[begin] == UINT32_MAX) {
      repeat(p->sink, p->glyphs->fast, i - begin);
      continue;
    }
    Str name = {0};
    if (states[begin]) {
      name = (Str){table->texts[states[begin]].data, table->texts[states[begin]].length};
    }
    name = plot_clip(name, i - begin - 1);
    sink_c(p->sink, p->glyphs->bar);
    write_name(p->sink, name);
    repeat(p->sink, " ", i - begin - 1 - utf8_count(name));
  }
  sink_char(p->sink, '\n');
}

// ---- the whole ----------------------------------------------------------------------------------

static uint32_t label_width(const TextPlot* p) {
  uint32_t widest = 3;
  for (uint32_t i = 0; i < p->figure->panel_count; i++) {
    if (p->figure->panels[i].space) continue;
    axis_ticks(&p->figure->panels[i].axes[AXIS_Y], y_tick_count(p->height), true, p->ticks);
    for (uint32_t k = 0; k < p->ticks->count; k++) {
      uint32_t length = (uint32_t)strlen(p->ticks->ticks[k].text);
      if (length > widest) widest = length;
    }
  }
  for (uint32_t b = 0; b < p->figure->band_count; b++) {
    uint32_t length = utf8_count(p->figure->bands[b].label);
    if (length > 14) length = 14;
    if (length > widest) widest = length;
  }
  return widest;
}

/// Characters of the axis on the right: its line, a blank and the longest number.
static uint32_t right_width(const TextPlot* p) {
  uint32_t widest = 0;
  for (uint32_t i = 0; i < p->figure->panel_count; i++) {
    const FigurePanel* panel = &p->figure->panels[i];
    if (!panel_has_right(panel)) continue;
    axis_ticks(&panel->axes[AXIS_Y2], y_tick_count(p->height), true, p->right_ticks);
    for (uint32_t k = 0; k < p->right_ticks->count; k++) {
      uint32_t length = utf8_count(str_from_c(p->right_ticks->ticks[k].text));
      if (length > widest) widest = length;
    }
  }
  return widest ? 2 + (widest < RIGHT_MAX ? widest : RIGHT_MAX) : 0;
}

static uint32_t bounded(double wanted, uint32_t otherwise, uint32_t least, uint32_t most) {
  if (!isfinite(wanted) || wanted <= 0.0) return otherwise;
  return wanted < least ? least : wanted > most ? most : (uint32_t)wanted;
}

/// Panels over the time share one axis at the end; others have their own.
static bool has_own_axis(const FigurePanel* panel) {
  return panel->kind != FIGURE_PANEL && !panel->space;
}

static void layout(TextPlot* p) {
  uint32_t width = bounded(p->figure->size[0], 80, WIDTH_MIN, WIDTH_MAX);
  uint32_t height = bounded(p->figure->size[1], 24, 1, HEIGHT_MAX);
  uint32_t panels = p->figure->panel_count;
  uint32_t taken = 2 + (p->figure->title.length ? 1u : 0u) + panels + p->figure->band_count;
  uint32_t room = height > taken && panels ? (height - taken) / panels : 0;
  p->height = room > PANEL_LEAST ? room : PANEL_LEAST;
  p->label = label_width(p);
  if (p->label > width / 3) p->label = width / 3;
  // two characters of axis on the left, one free on the right against wrapping terminals
  p->right = right_width(p);
  p->width = width - p->label - 3 - p->right;
}

static void write_space_names(const TextPlot* p, const FigurePanel* panel) {
  repeat(p->sink, " ", p->label + 2);
  for (uint32_t a = 0; a < 3; a++) {
    if (a) sink_c(p->sink, ", ");
    write_name(p->sink, panel->space->axes[a].label);
  }
  sink_char(p->sink, '\n');
}

SltStatus figure_text(const Figure* figure, Sink* sink, Arena* arena) {
  TextPlot p = {.figure = figure,
                .glyphs = figure->ascii ? &letters : &boxes,
                .sink = sink,
                .arena = arena,
                .colour = figure->colour,
                .ticks = ARENA_NEW(arena, AxisTicks),
                .right_ticks = ARENA_NEW(arena, AxisTicks)};
  layout(&p);
  p.cells = ARENA_ARRAY(arena, Cell, (size_t)p.width * p.height);
  uint32_t* states = ARENA_ARRAY(arena, uint32_t, p.width);
  if (figure->title.length) {
    repeat(sink, " ", p.label + 2);
    write_name(sink, figure->title);
    sink_char(sink, '\n');
  }
  bool axis = figure->panel_count == 0;
  for (uint32_t i = 0; i < figure->panel_count; i++) {
    const FigurePanel* panel = &figure->panels[i];
    write_panel(&p, panel);
    if (has_own_axis(panel)) write_x_axis(&p, &panel->axes[AXIS_X]);
    if (panel->space) write_space_names(&p, panel);
    axis = axis || panel->kind == FIGURE_PANEL;
  }
  if (axis) write_x_axis(&p, &figure->band_axis);
  for (uint32_t b = 0; b < figure->band_count; b++)
    write_band(&p, &figure->bands[b], states);
  if (figure->note.length) {
    repeat(sink, " ", p.label + 2);
    write_name(sink, figure->note);
    sink_char(sink, '\n');
  }
  return sink_flush(sink);
}
