// SPDX-License-Identifier: MIT
//
// SVG: one self-contained file, no scripts, no styles from elsewhere, readable as text.
#include "record/plot.h"

#include <string.h>

/// Text of an XML file: markup escaped; what XML 1.0 cannot hold becomes U+FFFD.
void plot_svg_escaped(Sink* sink, Str text) {
  for (uint32_t i = 0; i < text.length;) {
    uint32_t code = 0;
    uint32_t size = utf8_decode(text.data + i, text.length - i, &code);
    bool allowed = size > 0 && code >= 0x20 && code != 0xfffe && code != 0xffff;
    if (!allowed) {
      sink_c(sink, "\xEF\xBF\xBD");
    } else if (code == '<') {
      sink_c(sink, "&lt;");
    } else if (code == '>') {
      sink_c(sink, "&gt;");
    } else if (code == '&') {
      sink_c(sink, "&amp;");
    } else if (code == '"') {
      sink_c(sink, "&quot;");
    } else {
      sink_bytes(sink, text.data + i, size);
    }
    i += size ? size : 1;
  }
}

static void write_attribute(Sink* sink, const char* name, double value) {
  sink_char(sink, ' ');
  sink_c(sink, name);
  sink_c(sink, "=\"");
  sink_coordinate(sink, value);
  sink_char(sink, '"');
}

static void write_colour(Sink* sink, const char* name, uint32_t rgb) {
  static const char hex[] = "0123456789abcdef";
  sink_char(sink, ' ');
  sink_c(sink, name);
  sink_c(sink, "=\"#");
  for (int shift = 20; shift >= 0; shift -= 4)
    sink_char(sink, hex[rgb >> shift & 15]);
  sink_char(sink, '"');
}

static void svg_begin(void* user, double width, double height, const char* title) {
  Sink* sink = user;
  sink_c(sink, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
  write_attribute(sink, "width", width);
  write_attribute(sink, "height", height);
  sink_c(sink, " viewBox=\"0 0 ");
  sink_coordinate(sink, width);
  sink_char(sink, ' ');
  sink_coordinate(sink, height);
  sink_c(sink, "\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans',"
               " sans-serif\">\n");
  if (!title) return;
  sink_c(sink, "<title>");
  plot_svg_escaped(sink, str_from_c(title));
  sink_c(sink, "</title>\n");
}

static void svg_rect(void* user, double x, double y, double width, double height, uint32_t rgb) {
  Sink* sink = user;
  sink_c(sink, "<rect");
  write_attribute(sink, "x", x);
  write_attribute(sink, "y", y);
  write_attribute(sink, "width", width);
  write_attribute(sink, "height", height);
  write_colour(sink, "fill", rgb);
  sink_c(sink, "/>\n");
}

static void svg_path_begin(void* user) {
  sink_c(user, "<path d=\"");
}

static void svg_point(Sink* sink, char command, double x, double y) {
  sink_char(sink, command);
  sink_coordinate(sink, x);
  sink_char(sink, ' ');
  sink_coordinate(sink, y);
}

static void svg_path_move(void* user, double x, double y) {
  svg_point(user, 'M', x, y);
}

static void svg_path_line(void* user, double x, double y) {
  svg_point(user, 'L', x, y);
}

static const char* dash_text(PlotDash dash) {
  switch (dash) {
  case PLOT_SOLID: return NULL;
  case PLOT_DOTTED: return "1.5 3";
  case PLOT_DASHED: return "7 4";
  case PLOT_DASH_DOT: return "7 3 1.5 3";
  }
  return NULL;
}

static void svg_path_end(void* user, const PlotPen* pen) {
  Sink* sink = user;
  sink_c(sink, "\" fill=\"none\"");
  write_colour(sink, "stroke", pen->rgb);
  write_attribute(sink, "stroke-width", pen->width);
  if (dash_text(pen->dash)) {
    sink_c(sink, " stroke-dasharray=\"");
    sink_c(sink, dash_text(pen->dash));
    sink_char(sink, '"');
  }
  sink_c(sink, " stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n");
}

static void svg_text(void* user, double x, double y, const PlotFont* font, Str text) {
  static const char* const anchors[] = {"start", "middle", "end"};
  Sink* sink = user;
  sink_c(sink, "<text");
  write_attribute(sink, "x", x);
  write_attribute(sink, "y", y);
  write_attribute(sink, "font-size", font->size);
  write_colour(sink, "fill", font->rgb);
  if (font->anchor != PLOT_START) {
    sink_c(sink, " text-anchor=\"");
    sink_c(sink, anchors[font->anchor]);
    sink_char(sink, '"');
  }
  if (font->bold) sink_c(sink, " font-weight=\"bold\"");
  sink_char(sink, '>');
  plot_svg_escaped(sink, text);
  sink_c(sink, "</text>\n");
}

static SltStatus svg_end(void* user) {
  sink_c(user, "</svg>\n");
  return sink_flush(user);
}

PlotCanvas plot_svg_canvas(Sink* sink) {
  return (PlotCanvas){.user = sink,
                      .begin = svg_begin,
                      .rect = svg_rect,
                      .path_begin = svg_path_begin,
                      .path_move = svg_path_move,
                      .path_line = svg_path_line,
                      .path_end = svg_path_end,
                      .text = svg_text,
                      .end = svg_end};
}
