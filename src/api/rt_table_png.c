// SPDX-License-Identifier: MIT
#include "api/rt_table_png.h"

#ifdef SALTUS_LIBRARY_CAIRO

#include "base/library.h"

#include <cairo.h>
#include <math.h>
#include <string.h>

// clang-format off
#define CAIRO_LIST(X) \
  X(cairo_image_surface_create) X(cairo_surface_destroy) X(cairo_surface_write_to_png_stream) \
  X(cairo_create) X(cairo_destroy) X(cairo_status) X(cairo_scale) X(cairo_set_source_rgb) \
  X(cairo_rectangle) X(cairo_fill) X(cairo_new_path) X(cairo_move_to) X(cairo_line_to) \
  X(cairo_set_line_width) X(cairo_set_line_cap) X(cairo_set_line_join) X(cairo_set_dash) \
  X(cairo_stroke) X(cairo_select_font_face) X(cairo_set_font_size) X(cairo_text_extents) \
  X(cairo_show_text)
// clang-format on

typedef struct Cairo {
  CAIRO_LIST(LIBRARY_MEMBER)
} Cairo;

#define PNG_SCALE 2.0  // pixels per unit: sharp on today's screens and in print

typedef struct PngCanvas {
  const Cairo* cairo;
  Sink* sink;
  cairo_surface_t* surface;
  cairo_t* context;
} PngCanvas;

static bool cairo_load(Cairo* cairo) {
  static const char* const names[] = {CAIRO_LIST(LIBRARY_NAME)};
  return library_load(SALTUS_LIBRARY_CAIRO, names, SLT_COUNT(names), cairo);
}

static void set_colour(const PngCanvas* c, uint32_t rgb) {
  c->cairo->cairo_set_source_rgb(c->context, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                                 (rgb & 255) / 255.0);
}

static void png_begin(void* user, double width, double height, const char* title) {
  PngCanvas* c = user;
  (void)title;
  c->surface = c->cairo->cairo_image_surface_create(
      CAIRO_FORMAT_RGB24, (int)ceil(width * PNG_SCALE), (int)ceil(height * PNG_SCALE));
  c->context = c->cairo->cairo_create(c->surface);
  c->cairo->cairo_scale(c->context, PNG_SCALE, PNG_SCALE);
  c->cairo->cairo_set_line_cap(c->context, CAIRO_LINE_CAP_ROUND);
  c->cairo->cairo_set_line_join(c->context, CAIRO_LINE_JOIN_ROUND);
}

static void png_rect(void* user, double x, double y, double width, double height, uint32_t rgb) {
  PngCanvas* c = user;
  set_colour(c, rgb);
  c->cairo->cairo_rectangle(c->context, x, y, width, height);
  c->cairo->cairo_fill(c->context);
}

static void png_path_begin(void* user) {
  PngCanvas* c = user;
  c->cairo->cairo_new_path(c->context);
}

static void png_path_move(void* user, double x, double y) {
  PngCanvas* c = user;
  c->cairo->cairo_move_to(c->context, x, y);
}

static void png_path_line(void* user, double x, double y) {
  PngCanvas* c = user;
  c->cairo->cairo_line_to(c->context, x, y);
}

static void png_path_end(void* user, const PlotPen* pen) {
  static const double dashes[][4] = {[PLOT_SOLID] = {0.0},
                                     [PLOT_DOTTED] = {1.5, 3.0},
                                     [PLOT_DASHED] = {7.0, 4.0},
                                     [PLOT_DASH_DOT] = {7.0, 3.0, 1.5, 3.0}};
  static const int dash_counts[] = {
      [PLOT_SOLID] = 0, [PLOT_DOTTED] = 2, [PLOT_DASHED] = 2, [PLOT_DASH_DOT] = 4};
  PngCanvas* c = user;
  set_colour(c, pen->rgb);
  c->cairo->cairo_set_line_width(c->context, pen->width);
  c->cairo->cairo_set_dash(c->context, dashes[pen->dash], dash_counts[pen->dash], 0.0);
  c->cairo->cairo_stroke(c->context);
}

/// As much as fits; cairo refuses bytes that are no UTF-8.
static void copy_text(char* out, size_t capacity, Str text) {
  size_t length = 0;
  for (uint32_t i = 0; i < text.length;) {
    uint32_t size = utf8_decode(text.data + i, text.length - i, NULL);
    uint32_t step = size ? size : 1;
    if (length + step >= capacity) break;
    memcpy(out + length, size ? text.data + i : "?", step);
    length += step;
    i += step;
  }
  out[length] = '\0';
}

static void png_text(void* user, double x, double y, const PlotFont* font, Str text) {
  PngCanvas* c = user;
  char copy[256];
  copy_text(copy, sizeof copy, text);
  c->cairo->cairo_select_font_face(c->context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                                   font->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  c->cairo->cairo_set_font_size(c->context, font->size * 0.95);
  cairo_text_extents_t extents;
  c->cairo->cairo_text_extents(c->context, copy, &extents);
  if (font->anchor == PLOT_MIDDLE) x -= 0.5 * extents.x_advance;
  if (font->anchor == PLOT_END) x -= extents.x_advance;
  set_colour(c, font->rgb);
  c->cairo->cairo_move_to(c->context, x, y);
  c->cairo->cairo_show_text(c->context, copy);
  c->cairo->cairo_new_path(c->context);
}

static cairo_status_t png_write(void* user, const unsigned char* data, unsigned int length) {
  sink_bytes(user, (const char*)data, length);
  return CAIRO_STATUS_SUCCESS;  // the sink keeps its error
}

static SltStatus png_end(void* user) {
  PngCanvas* c = user;
  bool failed = c->cairo->cairo_status(c->context) != CAIRO_STATUS_SUCCESS ||
                c->cairo->cairo_surface_write_to_png_stream(c->surface, png_write, c->sink) !=
                    CAIRO_STATUS_SUCCESS;
  c->cairo->cairo_destroy(c->context);
  c->cairo->cairo_surface_destroy(c->surface);
  return failed ? SLT_ERR_NOMEM : sink_flush(c->sink);
}

SltStatus table_png(const PlotSpec* spec, const SltPlotOptions* options, Sink* sink) {
  Cairo cairo = {0};
  SltStatus status = SLT_ERR_UNSUPPORTED;
  if (cairo_load(&cairo)) {
    PngCanvas png = {.cairo = &cairo, .sink = sink};
    const PlotCanvas canvas = {.user = &png,
                               .begin = png_begin,
                               .rect = png_rect,
                               .path_begin = png_path_begin,
                               .path_move = png_path_move,
                               .path_line = png_path_line,
                               .path_end = png_path_end,
                               .text = png_text,
                               .end = png_end};
    status = plot_draw(spec, &canvas, options->width, options->height);
  }
  return status;
}

#else

SltStatus table_png(const PlotSpec* spec, const SltPlotOptions* options, Sink* sink) {
  (void)spec;
  (void)options;
  (void)sink;
  return SLT_ERR_UNSUPPORTED;
}

#endif
