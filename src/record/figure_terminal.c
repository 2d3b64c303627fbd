// SPDX-License-Identifier: MIT
//
// A canvas of characters, for pictures that are more than lines over an axis. An area has the
// letter of its colour, so that a legend drawn with the same colours explains it.
#include "record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 100u
#define ROWS    400u
#define ASPECT  2.1  // height of a character by its width
#define COLOURS 40u

static const char letters[] = "#o+=x%*@&abcdefghijklmnpqrstuvwyzABCDEFGHIJKLMNOPQ";

typedef struct Terminal {
  Sink* sink;
  double scale;  // of a character's width
  uint32_t rows;
  char cells[ROWS][COLUMNS];
  uint32_t colours[COLOURS];
  uint32_t colour_count;
  uint32_t ground;  // colour of the paper
  bool begun;
  double x, y;  // pen
} Terminal;

static void put(Terminal* t, double x, double y, char c) {
  double column = x / t->scale;
  double row = y / (t->scale * ASPECT);
  if (!(column >= 0.0 && column < COLUMNS && row >= 0.0 && row < t->rows)) return;
  t->cells[(uint32_t)row][(uint32_t)column] = c;
}

static char letter_of(Terminal* t, uint32_t rgb) {
  uint32_t i = 0;
  while (i < t->colour_count && t->colours[i] != rgb)
    i++;
  if (i == t->colour_count && i < COLOURS) t->colours[t->colour_count++] = rgb;
  return letters[i % (sizeof letters - 1)];
}

static void terminal_begin(void* user, double width, double height, Str title) {
  Terminal* t = user;
  (void)title;
  t->scale = width / COLUMNS;
  t->rows = (uint32_t)fmin(ceil(height / (t->scale * ASPECT)), ROWS);
  memset(t->cells, ' ', sizeof t->cells);
}

static void terminal_rect(void* user, PlotBox box, uint32_t rgb, double alpha) {
  Terminal* t = user;
  if (!t->begun) t->ground = rgb;
  t->begun = true;
  char letter = rgb == t->ground ? ' ' : alpha < 0.6 ? '.' : letter_of(t, rgb);
  double line = t->scale * ASPECT;
  // what has a middle covers the characters whose middle it covers, what is smaller has one
  double first = fmax(ceil(box.y / line - 0.5), 0.0);
  for (double row = first; (row + 0.5) * line < box.y + box.height && row < ROWS; row++) {
    for (double x = (ceil(box.x / t->scale - 0.5) + 0.5) * t->scale; x < box.x + box.width;
         x += t->scale) {
      put(t, x, (row + 0.5) * line, letter);
    }
  }
  if (letter != ' ') put(t, box.x + 0.5 * box.width, box.y + 0.5 * box.height, letter);
}

static void terminal_path_begin(void* user) {
  (void)user;
}

static void terminal_path_move(void* user, double x, double y) {
  Terminal* t = user;
  t->x = x;
  t->y = y;
}

static void terminal_path_line(void* user, double x, double y) {
  Terminal* t = user;
  double length = fmax(fabs(x - t->x) / t->scale, fabs(y - t->y) / (t->scale * ASPECT));
  uint32_t steps = length < 1000.0 ? (uint32_t)ceil(length) : 1000;
  bool flat = fabs(y - t->y) < 0.1;
  bool steep = fabs(x - t->x) < 0.1;
  for (uint32_t i = 0; i <= steps; i++) {
    double share = steps ? (double)i / steps : 0.0;
    put(t, t->x + share * (x - t->x), t->y + share * (y - t->y), flat ? '-' : steep ? '|' : '*');
  }
  t->x = x;
  t->y = y;
}

static void terminal_path_rect(void* user, PlotBox box) {
  terminal_rect(user, box, 1, 1.0);
}

static void terminal_path_end(void* user, const PlotPen* pen) {
  (void)user;
  (void)pen;
}

static void terminal_path_fill(void* user, uint32_t rgb, double alpha) {
  (void)user;
  (void)rgb;
  (void)alpha;
}

static void terminal_clip(void* user, PlotBox box) {
  (void)user;
  (void)box;
}

static void terminal_unclip(void* user) {
  (void)user;
}

static void terminal_text(void* user, double x, double y, const PlotFont* font, Str text) {
  Terminal* t = user;
  double back = font->anchor == PLOT_MIDDLE ? 0.5 : font->anchor == PLOT_END ? 1.0 : 0.0;
  double left = fmax(x - back * text.length * t->scale, 0.0);
  for (uint32_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    put(t, left + (i + 0.01) * t->scale, y - 0.3 * font->size, c >= ' ' && c <= '~' ? c : '?');
  }
}

static SltStatus terminal_end(void* user) {
  Terminal* t = user;
  for (uint32_t row = 0; row < t->rows; row++) {
    size_t length = COLUMNS;
    while (length > 0 && t->cells[row][length - 1] == ' ')
      length--;
    sink_bytes(t->sink, t->cells[row], length);
    sink_bytes(t->sink, "\n", 1);
  }
  return sink_flush(t->sink);
}

SltStatus plot_terminal(PlotDrawFn* draw, void* user, Sink* sink) {
  Terminal* t = calloc(1, sizeof *t);
  if (!t) return SLT_ERR_NOMEM;
  t->sink = sink;
  const PlotCanvas canvas = {.user = t,
                             .begin = terminal_begin,
                             .rect = terminal_rect,
                             .path_begin = terminal_path_begin,
                             .path_move = terminal_path_move,
                             .path_line = terminal_path_line,
                             .path_rect = terminal_path_rect,
                             .path_end = terminal_path_end,
                             .path_fill = terminal_path_fill,
                             .clip = terminal_clip,
                             .unclip = terminal_unclip,
                             .text = terminal_text,
                             .end = terminal_end};
  SltStatus status = draw(user, &canvas);
  free(t);
  return status;
}

SltStatus plot_on(SltPlotFormat format, PlotDrawFn* draw, void* user, Sink* sink) {
  PlotCanvas svg = figure_svg_canvas(sink);
  switch (format) {
  case SLT_PLOT_SVG: return draw(user, &svg);
  case SLT_PLOT_TERMINAL: return plot_terminal(draw, user, sink);
  case SLT_PLOT_PNG: return plot_cairo(draw, user, false, sink);
  case SLT_PLOT_PDF: return plot_cairo(draw, user, true, sink);
  case SLT_PLOT_JSON:
  default: return SLT_ERR_ARGUMENT;
  }
}
