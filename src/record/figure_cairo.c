// SPDX-License-Identifier: MIT
// PNG and PDF pictures through cairo. The library is loaded when the first picture is asked for: it
// brings a dozen others with it, and a program that draws none should not wait for them.
#include "record/record.h"

#ifdef SALTUS_LIBRARY_CAIRO

#include "base/library.h"

#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <string.h>

// clang-format off
#define CAIRO_LIST(X) \
  X(cairo_image_surface_create) X(cairo_pdf_surface_create_for_stream) \
  X(cairo_pdf_surface_set_metadata) X(cairo_surface_finish) X(cairo_surface_status) \
  X(cairo_surface_destroy) X(cairo_surface_write_to_png_stream) X(cairo_create) \
  X(cairo_destroy) X(cairo_status) X(cairo_scale) X(cairo_set_source_rgba) X(cairo_save) \
  X(cairo_restore) X(cairo_clip) X(cairo_rotate) X(cairo_rectangle) X(cairo_fill) \
  X(cairo_new_path) X(cairo_move_to) X(cairo_line_to) X(cairo_rel_move_to) \
  X(cairo_set_line_width) X(cairo_set_line_cap) X(cairo_set_line_join) X(cairo_set_dash) \
  X(cairo_stroke) X(cairo_select_font_face) X(cairo_set_font_size) X(cairo_text_extents) \
  X(cairo_show_text)
// clang-format on

typedef struct Cairo {
  CAIRO_LIST(LIBRARY_MEMBER)
} Cairo;

#define PNG_SCALE 2.0   // pixels per unit: sharp on today's screens and in print
#define PDF_SCALE 0.75  // points per unit

typedef struct CairoCanvas {
  const Cairo* cairo;
  Sink* sink;
  bool pdf;
  cairo_surface_t* surface;
  cairo_t* context;
} CairoCanvas;

static bool cairo_load(Cairo* cairo) {
  static const char* const names[] = {CAIRO_LIST(LIBRARY_NAME)};
  return library_load(SALTUS_LIBRARY_CAIRO, names, SLT_COUNT(names), cairo);
}

static void set_colour(const CairoCanvas* c, uint32_t rgb, double alpha) {
  c->cairo->cairo_set_source_rgba(c->context, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                                  (rgb & 255) / 255.0, alpha);
}

static cairo_status_t canvas_write(void* user, const unsigned char* data, unsigned int length) {
  sink_bytes(user, (const char*)data, length);
  return CAIRO_STATUS_SUCCESS;  // the sink keeps its error
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

static void begin_pdf(CairoCanvas* c, double width, double height, Str title) {
  char copy[256];
  copy_text(copy, sizeof copy, title);
  c->surface = c->cairo->cairo_pdf_surface_create_for_stream(canvas_write, c->sink,
                                                             width * PDF_SCALE, height * PDF_SCALE);
  if (copy[0]) c->cairo->cairo_pdf_surface_set_metadata(c->surface, CAIRO_PDF_METADATA_TITLE, copy);
}

static void canvas_begin(void* user, double width, double height, Str title) {
  CairoCanvas* c = user;
  double scale = c->pdf ? PDF_SCALE : PNG_SCALE;
  if (c->pdf) {
    begin_pdf(c, width, height, title);
  } else {
    c->surface = c->cairo->cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * scale),
                                                      (int)ceil(height * scale));
  }
  c->context = c->cairo->cairo_create(c->surface);
  c->cairo->cairo_scale(c->context, scale, scale);
  c->cairo->cairo_set_line_cap(c->context, CAIRO_LINE_CAP_ROUND);
  c->cairo->cairo_set_line_join(c->context, CAIRO_LINE_JOIN_ROUND);
}

static void canvas_rect(void* user, PlotBox box, uint32_t rgb, double alpha) {
  CairoCanvas* c = user;
  set_colour(c, rgb, alpha);
  c->cairo->cairo_rectangle(c->context, box.x, box.y, box.width, box.height);
  c->cairo->cairo_fill(c->context);
}

static void canvas_clip(void* user, PlotBox box) {
  CairoCanvas* c = user;
  c->cairo->cairo_save(c->context);
  c->cairo->cairo_rectangle(c->context, box.x, box.y, box.width, box.height);
  c->cairo->cairo_clip(c->context);
}

static void canvas_unclip(void* user) {
  CairoCanvas* c = user;
  c->cairo->cairo_restore(c->context);
}

static void canvas_path_rect(void* user, PlotBox box) {
  CairoCanvas* c = user;
  c->cairo->cairo_rectangle(c->context, box.x, box.y, box.width, box.height);
}

static void canvas_path_fill(void* user, uint32_t rgb, double alpha) {
  CairoCanvas* c = user;
  set_colour(c, rgb, alpha);
  c->cairo->cairo_fill(c->context);
}

static void canvas_path_begin(void* user) {
  CairoCanvas* c = user;
  c->cairo->cairo_new_path(c->context);
}

static void canvas_path_move(void* user, double x, double y) {
  CairoCanvas* c = user;
  c->cairo->cairo_move_to(c->context, x, y);
}

static void canvas_path_line(void* user, double x, double y) {
  CairoCanvas* c = user;
  c->cairo->cairo_line_to(c->context, x, y);
}

static void canvas_path_end(void* user, const PlotPen* pen) {
  static const double dashes[][4] = {[PLOT_SOLID] = {0.0},
                                     [PLOT_DOTTED] = {1.5, 3.0},
                                     [PLOT_DASHED] = {7.0, 4.0},
                                     [PLOT_DASH_DOT] = {7.0, 3.0, 1.5, 3.0}};
  static const int dash_counts[] = {
      [PLOT_SOLID] = 0, [PLOT_DOTTED] = 2, [PLOT_DASHED] = 2, [PLOT_DASH_DOT] = 4};
  CairoCanvas* c = user;
  set_colour(c, pen->rgb, pen->alpha > 0.0 ? pen->alpha : 1.0);
  c->cairo->cairo_set_line_width(c->context, pen->width);
  c->cairo->cairo_set_dash(c->context, dashes[pen->dash], dash_counts[pen->dash], 0.0);
  c->cairo->cairo_stroke(c->context);
}

static void canvas_text(void* user, double x, double y, const PlotFont* font, Str text) {
  CairoCanvas* c = user;
  char copy[256];
  copy_text(copy, sizeof copy, text);
  c->cairo->cairo_select_font_face(c->context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                                   font->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  c->cairo->cairo_set_font_size(c->context, font->size * 0.95);
  cairo_text_extents_t extents;
  c->cairo->cairo_text_extents(c->context, copy, &extents);
  double back = font->anchor == PLOT_MIDDLE ? 0.5 : font->anchor == PLOT_END ? 1.0 : 0.0;
  set_colour(c, font->rgb, 1.0);
  c->cairo->cairo_save(c->context);
  c->cairo->cairo_move_to(c->context, x, y);
  if (font->upward) c->cairo->cairo_rotate(c->context, -1.5707963267948966);
  c->cairo->cairo_rel_move_to(c->context, -back * extents.x_advance, 0.0);
  c->cairo->cairo_show_text(c->context, copy);
  c->cairo->cairo_restore(c->context);
  c->cairo->cairo_new_path(c->context);
}

static void release(CairoCanvas* c) {
  if (!c->context) return;
  c->cairo->cairo_destroy(c->context);
  c->cairo->cairo_surface_destroy(c->surface);
  c->context = NULL;
}

static SltStatus canvas_end(void* user) {
  CairoCanvas* c = user;
  bool failed = c->cairo->cairo_status(c->context) != CAIRO_STATUS_SUCCESS;
  if (c->pdf) {
    c->cairo->cairo_surface_finish(c->surface);
    failed |= c->cairo->cairo_surface_status(c->surface) != CAIRO_STATUS_SUCCESS;
  } else {
    failed |= c->cairo->cairo_surface_write_to_png_stream(c->surface, canvas_write, c->sink) !=
              CAIRO_STATUS_SUCCESS;
  }
  release(c);
  return failed ? SLT_ERR_NOMEM : sink_flush(c->sink);
}

SltStatus plot_cairo(PlotDrawFn* draw, void* user, bool pdf, Sink* sink) {
  Cairo cairo = {0};
  if (!cairo_load(&cairo)) return SLT_ERR_UNSUPPORTED;
  CairoCanvas own = {.cairo = &cairo, .sink = sink, .pdf = pdf};
  const PlotCanvas canvas = {.user = &own,
                             .begin = canvas_begin,
                             .rect = canvas_rect,
                             .path_begin = canvas_path_begin,
                             .path_move = canvas_path_move,
                             .path_line = canvas_path_line,
                             .path_rect = canvas_path_rect,
                             .path_end = canvas_path_end,
                             .path_fill = canvas_path_fill,
                             .clip = canvas_clip,
                             .unclip = canvas_unclip,
                             .text = canvas_text,
                             .end = canvas_end};
  SltStatus status = draw(user, &canvas);
  release(&own);
  return status;
}

#else

SltStatus plot_cairo(PlotDrawFn* draw, void* user, bool pdf, Sink* sink) {
  (void)draw;
  (void)user;
  (void)pdf;
  (void)sink;
  return SLT_ERR_UNSUPPORTED;
}

#endif
