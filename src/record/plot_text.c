// SPDX-License-Identifier: MIT
//
// A picture for the terminal: braille patterns give two by four dots per character. Where several
// lines share a panel and there are no colours, each line gets a mark of its own instead.
#include "record/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MIN   30
#define WIDTH_MAX   1000
#define HEIGHT_MAX  500
#define PANEL_LEAST 5
#define NO_SERIES   0xff

static const char marks[] = "*+ox#@%&=~";

typedef struct Cell {
  uint8_t dots;    // braille bits
  uint8_t series;  // the last line that passed here
  bool line;       // more than the dots of a jump
} Cell;

typedef struct TextPlot {
  const PlotSpec* spec;
  Sink* sink;
  bool colour;
  bool braille;           // else marks
  uint32_t label, width;  // characters of the labels on the left, and of the panel
  uint32_t height;        // of one panel
  Cell* cells;            // of one panel, row by row
  PlotTicks x_ticks;
} TextPlot;

typedef struct Dot {
  int32_t x, y;
} Dot;

static void repeat(Sink* sink, const char* text, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    sink_c(sink, text);
}

static void begin_colour(const TextPlot* p, uint32_t series) {
  static const char* const codes[PLOT_COLOURS] = {"34", "31", "32", "35", "33",
                                                  "36", "94", "95", "90", "92"};
  if (!p->colour) return;
  sink_c(p->sink, "\033[");
  sink_c(p->sink, codes[series % PLOT_COLOURS]);
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
  cell->series = (uint8_t)(series % NO_SERIES);
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

static Dot series_dot(const TextPlot* p, const PlotSeries* s, uint32_t row) {
  const SltTable* table = p->spec->table;
  double x = plot_position(p->spec->x_range, table->columns[p->spec->x].values[row]);
  double y = plot_position(p->spec->panels[s->panel], table->columns[s->column].values[row]);
  return (Dot){(int32_t)lround(x * (2.0 * p->width - 1.0)),
               (int32_t)lround((1.0 - y) * (4.0 * p->height - 1.0))};
}

static void draw_series(const TextPlot* p, uint32_t index) {
  const PlotSeries* s = &p->spec->series[index];
  const SltTable* table = p->spec->table;
  const double* x = table->columns[p->spec->x].values;
  const double* y = table->columns[s->column].values;
  Dot before = {0, 0};
  bool drawing = false;
  for (uint32_t row = 0; row < table->row_count; row++) {
    if (!isfinite(x[row]) || !isfinite(y[row])) {
      drawing = false;
      continue;
    }
    Dot dot = series_dot(p, s, row);
    if (drawing) {
      set_line(p, before, dot, index, plot_is_jump(p->spec, row));
    } else {
      set_dot(p, dot.x, dot.y, index, false);
    }
    before = dot;
    drawing = true;
  }
}

// ---- panels -------------------------------------------------------------------------------------

static void write_braille(Sink* sink, uint8_t dots) {
  // U+2800 + dots as UTF-8
  const char text[] = {(char)0xe2, (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 0x3f))};
  sink_bytes(sink, text, sizeof text);
}

static void write_cells(const TextPlot* p, const Cell* row) {
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
}

static void write_legend(const TextPlot* p, uint32_t panel) {
  repeat(p->sink, " ", p->label - 1);
  for (uint32_t i = 0; i < p->spec->series_count; i++) {
    if (p->spec->series[i].panel != panel) continue;
    sink_c(p->sink, "   ");
    begin_colour(p, i);
    if (p->braille) {
      sink_c(p->sink, "━━ ");
    } else {
      sink_char(p->sink, marks[i % (sizeof marks - 1)]);
      sink_char(p->sink, ' ');
    }
    end_colour(p);
    write_name(p->sink, str_from_c(p->spec->table->columns[p->spec->series[i].column].label));
  }
  sink_char(p->sink, '\n');
}

static uint32_t y_tick_count(uint32_t height) {
  return height < 8 ? 2 : height / 3;
}

/// Row of the panel that shows a mark of the axis.
static uint32_t tick_row(const TextPlot* p, PlotRange range, double value) {
  double y = (1.0 - plot_position(range, value)) * (4.0 * p->height - 1.0);
  return (uint32_t)(fmax(y, 0.0) / 4.0);
}

static uint32_t panel_lines(const PlotSpec* spec, uint32_t panel) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < spec->series_count; i++)
    count += spec->series[i].panel == panel;
  return count;
}

static void write_panel(TextPlot* p, uint32_t panel) {
  PlotRange range = p->spec->panels[panel];
  memset(p->cells, 0, (size_t)p->width * p->height * sizeof *p->cells);
  p->braille = p->colour || panel_lines(p->spec, panel) == 1;
  for (uint32_t i = 0; i < p->spec->series_count; i++) {
    if (p->spec->series[i].panel == panel) draw_series(p, i);
  }
  write_legend(p, panel);
  PlotTicks ticks = plot_ticks(range, y_tick_count(p->height));
  for (uint32_t row = 0; row < p->height; row++) {
    char text[NUMBER_TEXT_MAX];
    uint32_t length = 0;
    for (int64_t k = ticks.first; k <= ticks.last; k++) {
      if (tick_row(p, range, plot_tick_value(&ticks, k)) == row) {
        length = plot_tick_text(&ticks, k, text);
      }
    }
    write_label(p, (Str){text, length});
    sink_c(p->sink, length ? " ┤" : " │");
    write_cells(p, p->cells + (size_t)row * p->width);
    sink_char(p->sink, '\n');
  }
}

// ---- axis and bands -----------------------------------------------------------------------------

static uint32_t x_cell(const TextPlot* p, double value) {
  double x = plot_position(p->spec->x_range, value) * (p->width - 1.0);
  return (uint32_t)lround(fmin(fmax(x, 0.0), p->width - 1.0));
}

static void write_x_axis(const TextPlot* p) {
  repeat(p->sink, " ", p->label + 1);
  sink_c(p->sink, "└");
  int64_t k = p->x_ticks.first;
  for (uint32_t i = 0; i < p->width; i++) {
    bool mark = k <= p->x_ticks.last && x_cell(p, plot_tick_value(&p->x_ticks, k)) == i;
    sink_c(p->sink, mark ? "┬" : "─");
    if (mark) k++;
  }
  sink_char(p->sink, '\n');
  uint32_t at = 0;  // characters written behind the label
  repeat(p->sink, " ", p->label + 2);
  for (k = p->x_ticks.first; k <= p->x_ticks.last; k++) {
    char text[NUMBER_TEXT_MAX];
    uint32_t length = plot_tick_text(&p->x_ticks, k, text);
    uint32_t cell = x_cell(p, plot_tick_value(&p->x_ticks, k));
    uint32_t begin = cell > length / 2 ? cell - length / 2 : 0;
    if (at > 0 && begin < at + 1) continue;
    repeat(p->sink, " ", begin - at);
    sink_bytes(p->sink, text, length);
    at = begin + length;
  }
  Str name = str_from_c(p->spec->table->columns[p->spec->x].label);
  if (at + 2 + utf8_count(name) > p->width) {
    sink_char(p->sink, '\n');
    repeat(p->sink, " ", p->label + 2 + p->width / 2);
  } else {
    sink_c(p->sink, "  ");
  }
  write_name(p->sink, name);
  sink_char(p->sink, '\n');
}

/// State of each character of a band: the one that begins or lasts there, UINT32_MAX for several.
static void band_states(const TextPlot* p, uint32_t column, uint32_t* states) {
  const SltTable* table = p->spec->table;
  const double* x = table->columns[p->spec->x].values;
  uint32_t filled = 0;
  uint32_t changed_at = UINT32_MAX;
  uint32_t id = table_text_id(table, 0, column);
  for (uint32_t row = 1; row <= table->row_count; row++) {
    bool end = row == table->row_count;
    uint32_t next = end ? 0 : table_text_id(table, row, column);
    if (!end && next == id) continue;
    uint32_t cell = end ? p->width : x_cell(p, x[row]);
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

static void write_band(const TextPlot* p, uint32_t column, uint32_t* states) {
  const SltTable* table = p->spec->table;
  band_states(p, column, states);
  write_label(p, str_from_c(table->columns[column].label));
  sink_c(p->sink, "  ");
  for (uint32_t i = 0; i < p->width;) {
    uint32_t begin = i;
    while (i < p->width && states[i] == states[begin])
      i++;
    if (states[begin] == UINT32_MAX) {
      repeat(p->sink, "▒", i - begin);
      continue;
    }
    Str name = {0};
    if (states[begin]) {
      name = (Str){table->texts[states[begin]].data, table->texts[states[begin]].length};
    }
    name = plot_clip(name, i - begin - 1);
    sink_c(p->sink, "│");
    write_name(p->sink, name);
    repeat(p->sink, " ", i - begin - 1 - utf8_count(name));
  }
  sink_char(p->sink, '\n');
}

// ---- the whole ----------------------------------------------------------------------------------

static uint32_t label_width(const TextPlot* p) {
  uint32_t widest = 3;
  char text[NUMBER_TEXT_MAX];
  for (uint32_t i = 0; i < p->spec->panel_count; i++) {
    PlotTicks ticks = plot_ticks(p->spec->panels[i], y_tick_count(p->height));
    for (int64_t k = ticks.first; k <= ticks.last; k++) {
      uint32_t length = plot_tick_text(&ticks, k, text);
      if (length > widest) widest = length;
    }
  }
  for (uint32_t b = 0; b < p->spec->band_count; b++) {
    uint32_t length = utf8_count(str_from_c(p->spec->table->columns[p->spec->bands[b]].name));
    if (length > 14) length = 14;
    if (length > widest) widest = length;
  }
  return widest;
}

static void layout(TextPlot* p, const SltPlotOptions* options) {
  uint32_t width = options->width ? options->width : 80;
  uint32_t height = options->height ? options->height : 24;
  if (width < WIDTH_MIN) width = WIDTH_MIN;
  if (width > WIDTH_MAX) width = WIDTH_MAX;
  if (height > HEIGHT_MAX) height = HEIGHT_MAX;
  uint32_t panels = p->spec->panel_count;
  uint32_t taken = 2 + (p->spec->title ? 1u : 0u) + panels + p->spec->band_count;
  uint32_t room = height > taken && panels ? (height - taken) / panels : 0;
  p->height = room > PANEL_LEAST ? room : PANEL_LEAST;
  p->label = label_width(p);
  if (p->label > width / 3) p->label = width / 3;
  // two characters of axis on the left, one free on the right against wrapping terminals
  p->width = width - p->label - 3;
  uint32_t ticks = p->width / 14;
  p->x_ticks = plot_ticks(p->spec->x_range, ticks < 2 ? 2 : ticks);
}

SltStatus plot_text(const PlotSpec* spec, const SltPlotOptions* options, Sink* sink, Arena* arena) {
  TextPlot p = {.spec = spec, .sink = sink, .colour = options->colour};
  layout(&p, options);
  p.cells = ARENA_ARRAY(arena, Cell, (size_t)p.width * p.height);
  uint32_t* states = ARENA_ARRAY(arena, uint32_t, p.width);
  if (spec->title) {
    repeat(sink, " ", p.label + 2);
    write_name(sink, str_from_c(spec->title));
    sink_char(sink, '\n');
  }
  for (uint32_t i = 0; i < spec->panel_count; i++)
    write_panel(&p, i);
  write_x_axis(&p);
  for (uint32_t b = 0; b < spec->band_count; b++)
    write_band(&p, spec->bands[b], states);
  if (spec->left_out) {
    repeat(sink, " ", p.label + 2);
    sink_c(sink, "and ");
    sink_unsigned(sink, spec->left_out);
    sink_c(sink, " more columns not drawn\n");
  }
  return sink_flush(sink);
}
