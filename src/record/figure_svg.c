// SPDX-License-Identifier: MIT
//
// SVG: one self-contained file, no scripts, no styles from elsewhere, readable as text.
#include "record/figure.h"

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

static void svg_begin(void* user, double width, double height, Str title) {
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
  if (title.length == 0) return;
  sink_c(sink, "<title>");
  plot_svg_escaped(sink, title);
  sink_c(sink, "</title>\n");
}

static void write_fill(Sink* sink, uint32_t rgb, double alpha) {
  write_colour(sink, "fill", rgb);
  if (alpha < 1.0) write_attribute(sink, "fill-opacity", alpha);
  sink_c(sink, "/>\n");
}

static void svg_rect(void* user, PlotBox box, uint32_t rgb, double alpha) {
  Sink* sink = user;
  sink_c(sink, "<rect");
  write_attribute(sink, "x", box.x);
  write_attribute(sink, "y", box.y);
  write_attribute(sink, "width", box.width);
  write_attribute(sink, "height", box.height);
  write_fill(sink, rgb, alpha);
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

static void svg_path_rect(void* user, PlotBox box) {
  Sink* sink = user;
  svg_point(sink, 'M', box.x, box.y);
  sink_char(sink, 'h');
  sink_coordinate(sink, box.width);
  sink_char(sink, 'v');
  sink_coordinate(sink, box.height);
  sink_char(sink, 'h');
  sink_coordinate(sink, -box.width);
  sink_char(sink, 'z');
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
  if (pen->alpha > 0.0 && pen->alpha < 1.0) write_attribute(sink, "stroke-opacity", pen->alpha);
  if (dash_text(pen->dash)) {
    sink_c(sink, " stroke-dasharray=\"");
    sink_c(sink, dash_text(pen->dash));
    sink_char(sink, '"');
  }
  sink_c(sink, " stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n");
}

static void svg_path_fill(void* user, uint32_t rgb, double alpha) {
  sink_char(user, '"');
  write_fill(user, rgb, alpha);
}

/// A picture within the picture: what leads out of it is not shown, and no names are needed that
/// could be those of another picture on the same page.
static void svg_clip(void* user, PlotBox box) {
  Sink* sink = user;
  sink_c(sink, "<svg");
  write_attribute(sink, "x", box.x);
  write_attribute(sink, "y", box.y);
  write_attribute(sink, "width", box.width);
  write_attribute(sink, "height", box.height);
  sink_c(sink, " viewBox=\"");
  const double numbers[] = {box.x, box.y, box.width, box.height};
  for (int i = 0; i < 4; i++) {
    if (i) sink_char(sink, ' ');
    sink_coordinate(sink, numbers[i]);
  }
  sink_c(sink, "\">\n");
}

static void svg_unclip(void* user) {
  sink_c(user, "</svg>\n");
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
  if (font->upward) {
    sink_c(sink, " transform=\"rotate(-90 ");
    sink_coordinate(sink, x);
    sink_char(sink, ' ');
    sink_coordinate(sink, y);
    sink_c(sink, ")\"");
  }
  sink_char(sink, '>');
  plot_svg_escaped(sink, text);
  sink_c(sink, "</text>\n");
}

static SltStatus svg_end(void* user) {
  sink_c(user, "</svg>\n");
  return sink_flush(user);
}

PlotCanvas figure_svg_canvas(Sink* sink) {
  return (PlotCanvas){.user = sink,
                      .begin = svg_begin,
                      .rect = svg_rect,
                      .path_begin = svg_path_begin,
                      .path_move = svg_path_move,
                      .path_line = svg_path_line,
                      .path_rect = svg_path_rect,
                      .path_end = svg_path_end,
                      .path_fill = svg_path_fill,
                      .clip = svg_clip,
                      .unclip = svg_unclip,
                      .text = svg_text,
                      .end = svg_end};
}
