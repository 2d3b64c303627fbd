// SPDX-License-Identifier: MIT
//
// A figure as data, for those who draw it themselves: which columns stand in which panel, over what
// and on which axis, and what was asked for. Names and patterns are resolved. Panels that are not
// made of columns (histograms, curves in space) come as pictures.
#include "record/figure.h"

#include <math.h>

static void write_key(Sink* sink, const char* key) {
  sink_json(sink, key);
  sink_char(sink, ':');
}

/// A text that was asked for, else null.
static void write_text(Sink* sink, Arena* arena, Str text) {
  sink_json(sink, text.data ? str_copy(arena, text).data : NULL);
}

/// A number that was asked for, else null.
static void write_number(Sink* sink, double value) {
  if (isfinite(value)) {
    sink_double(sink, value);
  } else {
    sink_c(sink, "null");
  }
}

static void write_flag(Sink* sink, const char* key, bool value) {
  sink_char(sink, ',');
  write_key(sink, key);
  sink_c(sink, value ? "true" : "false");
}

static void write_axis(Sink* sink, const FigurePanel* panel, AxisId id, Arena* arena) {
  const AxisWish* wish = &panel->wish->axes[id];
  sink_c(sink, "{\"label\":");
  // the horizontal axis has no legend that would tell what it shows
  write_text(sink, arena, id == AXIS_X ? panel->axes[id].label : wish->label);
  write_flag(sink, "log", wish->log);
  sink_c(sink, ",\"from\":");
  write_number(sink, wish->lo);
  sink_c(sink, ",\"to\":");
  write_number(sink, wish->hi);
  sink_char(sink, '}');
}

static SltStatus keep(void* user, const char* data, size_t length) {
  text_append(user, (Str){data, (uint32_t)length});
  return SLT_OK;
}

/// The panel alone as SVG.
static SltStatus write_picture(Sink* sink, const Figure* figure, uint32_t panel, Arena* arena) {
  Figure alone = *figure;
  alone.panels = &figure->panels[panel];
  alone.panel_count = 1;
  alone.band_count = alone.mark_count = 0;
  alone.title = alone.note = (Str){0};
  TextBuffer text = {.arena = arena};
  Sink svg;
  SLT_TRY(sink_init(&svg, (SltWriter){keep, &text}));
  PlotCanvas canvas = figure_svg_canvas(&svg);
  SltStatus status = figure_draw(&alone, &canvas, arena);
  sink_clear(&svg);
  sink_c(sink, ",\"svg\":");
  write_text(sink, arena, text_str(&text));
  return status;
}

static SltStatus write_panel(Sink* sink, const Figure* figure, uint32_t index, Arena* arena) {
  const FigurePanel* panel = &figure->panels[index];
  sink_c(sink, "{\"x\":");
  write_text(sink, arena, panel->across);
  write_flag(sink, "equal", panel->equal);
  write_flag(sink, "legend", panel->legend != LEGEND_NONE);
  sink_c(sink, ",\"axes\":[");
  for (int id = AXIS_X; id < AXIS_COUNT; id++) {
    if (id != AXIS_X) sink_char(sink, ',');
    write_axis(sink, panel, (AxisId)id, arena);
  }
  sink_c(sink, "],\"lines\":[");
  for (uint32_t i = 0; i < panel->line_count; i++) {
    sink_c(sink, i ? ",{\"name\":" : "{\"name\":");
    write_text(sink, arena, panel->lines[i].name);
    write_flag(sink, "right", panel->lines[i].axis == AXIS_Y2);
    write_flag(sink, "points", panel->lines[i].points);
    sink_char(sink, '}');
  }
  sink_char(sink, ']');
  bool columns = !panel->space && panel->kind != FIGURE_HISTOGRAM;
  SltStatus status = columns ? SLT_OK : write_picture(sink, figure, index, arena);
  sink_char(sink, '}');
  return status;
}

static void write_marks(Sink* sink, const Figure* figure) {
  sink_c(sink, ",\"marks\":");
  if (!figure->marks_asked) {
    sink_c(sink, "null");
    return;
  }
  sink_char(sink, '[');
  for (uint32_t i = 0; i < figure->mark_count; i++) {
    if (i) sink_char(sink, ',');
    sink_double(sink, figure->marks[i]);
  }
  sink_char(sink, ']');
}

static void write_bands(Sink* sink, const Figure* figure) {
  sink_c(sink, ",\"bands\":");
  if (!figure->bands_asked) {
    sink_c(sink, "null");
    return;
  }
  sink_char(sink, '[');
  for (uint32_t i = 0; i < figure->band_count; i++) {
    const FigureBand* band = &figure->bands[i];
    if (i) sink_char(sink, ',');
    sink_json(sink, band->table->columns[band->column].name);
  }
  sink_char(sink, ']');
}

SltStatus figure_json(const Figure* figure, Sink* sink, Arena* arena) {
  static const char* const densities[] = {"auto", "on", "off"};
  sink_c(sink, "{\"title\":");
  write_text(sink, arena, figure->title);
  sink_c(sink, ",\"note\":");
  write_text(sink, arena, figure->note);
  sink_c(sink, ",\"size\":[");
  write_number(sink, figure->size[0]);
  sink_char(sink, ',');
  write_number(sink, figure->size[1]);
  sink_c(sink, "],\"density\":");
  sink_json(sink, densities[figure->density]);
  write_flag(sink, "dark", figure->dark);
  write_marks(sink, figure);
  write_bands(sink, figure);
  sink_c(sink, ",\"panels\":[");
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; i < figure->panel_count && status >= 0; i++) {
    if (i) sink_char(sink, ',');
    status = write_panel(sink, figure, i, arena);
  }
  sink_c(sink, "]}\n");
  SltStatus written = sink_flush(sink);
  return status < 0 ? status : written;
}
