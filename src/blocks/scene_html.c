// SPDX-License-Identifier: MIT
//
// The data of a run as JSON inside its page.
#include "blocks/blocks.h"
#include "blocks/scene_page.h"

#include <math.h>

static void json_number(Sink* sink, double value) {
  if (isfinite(value)) {
    sink_double(sink, value);
  } else {
    sink_c(sink, "null");
  }
}

/// A string literal that is safe inside <script> and inside text.
static void json_text(Sink* sink, const char* text) {
  static const char hex[] = "0123456789abcdef";
  sink_char(sink, '"');
  for (const char* c = text; *c; c++) {
    unsigned char byte = (unsigned char)*c;
    if (byte < 0x20 || byte == '"' || byte == '\\' || byte == '<' || byte == '>' || byte == '&') {
      sink_c(sink, "\\u00");
      sink_char(sink, hex[byte >> 4]);
      sink_char(sink, hex[byte & 15]);
    } else {
      sink_char(sink, *c);
    }
  }
  sink_char(sink, '"');
}

static void json_array(Sink* sink, const double* values, uint32_t count) {
  sink_char(sink, '[');
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) sink_char(sink, ',');
    json_number(sink, values[i]);
  }
  sink_char(sink, ']');
}

static void write_names(Sink* sink, const SltWorld* world) {
  const SltTable* table = world->record.table;
  sink_c(sink, "\"graphs\":[");
  for (uint32_t i = 0; table && i < world->record.watch_count; i++) {
    sink_c(sink, i > 0 ? ",{\"name\":" : "{\"name\":");
    json_text(sink, table->columns[i + 1].name);
    sink_c(sink, ",\"amplitude\":");
    json_number(sink, world->record.watches[i].amplitude);
    sink_char(sink, '}');
  }
  sink_char(sink, ']');
}

static void write_graphs(Sink* sink, const SltWorld* world) {
  const SltTable* table = world->record.table;
  uint32_t rows = table ? table->row_count : 0;
  sink_c(sink, ",\n");
  write_names(sink, world);
  sink_c(sink, ",\n\"t\":");
  json_array(sink, rows ? table->columns[0].values : NULL, rows);
  sink_c(sink, ",\n\"y\":[");
  for (uint32_t i = 0; i < world->record.watch_count; i++) {
    if (i > 0) sink_c(sink, ",\n");
    json_array(sink, rows ? table->columns[i + 1].values : NULL, rows);
  }
  sink_char(sink, ']');
}

static void write_place(Sink* sink, const BlkPlace* place) {
  sink_char(sink, '[');
  sink_unsigned(sink, place->shape);
  const double values[] = {place->x, place->y, place->angle};
  for (size_t i = 0; i < SLT_COUNT(values); i++) {
    sink_char(sink, ',');
    json_number(sink, isfinite(values[i]) ? values[i] : 0.0);
  }
  sink_char(sink, ']');
}

static void write_shape(Sink* sink, const BlkShape* shape) {
  sink_c(sink, "{\"object\":");
  sink_unsigned(sink, shape->object);
  sink_c(sink, ",\"a\":");
  json_array(sink, shape->points, shape->count);
  sink_c(sink, ",\"b\":");
  json_array(sink, shape->points + shape->count, shape->count);
  sink_char(sink, '}');
}

static void write_scene(Sink* sink, const BlkScene* scene) {
  double field_x = 1.0;
  double field_y = 1.0;
  for (uint32_t i = 0; i < scene->shape_count; i++) {
    const BlkShape* shape = &scene->shapes[i];
    field_x = i == 0 ? shape->field_x : fmax(field_x, shape->field_x);
    field_y = i == 0 ? shape->field_y : fmax(field_y, shape->field_y);
  }
  sink_c(sink, ",\n\"field\":[");
  json_number(sink, field_x);
  sink_char(sink, ',');
  json_number(sink, field_y);
  sink_c(sink, "],\n\"shapes\":[");
  for (uint32_t i = 0; i < scene->shape_count; i++) {
    const BlkShape* shape = &scene->shapes[i];
    if (i > 0) sink_c(sink, ",\n");
    write_shape(sink, shape);
  }
  sink_c(sink, "],\n\"fixed\":[");
  for (uint32_t i = 0; i < scene->fixed_count; i++) {
    if (i > 0) sink_char(sink, ',');
    write_place(sink, &scene->fixed[i]);
  }
  sink_c(sink, "],\n\"frames\":[");
  for (uint32_t i = 0; i < scene->frame_count; i++) {
    const BlkFrame* frame = &scene->frames[i];
    sink_c(sink, i > 0 ? ",\n[" : "[");
    json_number(sink, frame->t);
    for (uint32_t k = 0; k < frame->count; k++) {
      sink_char(sink, ',');
      write_place(sink, &scene->places[frame->first + k]);
    }
    sink_char(sink, ']');
  }
  sink_char(sink, ']');
}

static void write_places(Sink* sink, const BlkPlace* places, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    if (k > 0) sink_char(sink, ',');
    write_place(sink, &places[k]);
  }
}

// ---- while it runs ------------------------------------------------------------------------------

SltStatus slt_world_on_sample(SltWorld* world, SltWriter writer) {
  if (!world) return SLT_ERR_ARGUMENT;
  world->record.watcher = (BlkWatcher){.writer = writer};
  return SLT_OK;
}

/// Shapes and fixed places that are new.
static void tell_shapes(Sink* sink, const BlkScene* scene, BlkWatcher* watcher) {
  for (; watcher->shapes < scene->shape_count; watcher->shapes++) {
    const BlkShape* shape = &scene->shapes[watcher->shapes];
    sink_c(sink, "{\"shape\":");
    write_shape(sink, shape);
    sink_c(sink, ",\"field\":[");
    json_number(sink, shape->field_x);
    sink_char(sink, ',');
    json_number(sink, shape->field_y);
    sink_c(sink, "]}\n");
  }
  if (watcher->fixed == scene->fixed_count) return;
  watcher->fixed = scene->fixed_count;
  sink_c(sink, "{\"fixed\":[");
  write_places(sink, scene->fixed, scene->fixed_count);
  sink_c(sink, "]}\n");
}

static void tell_row(Sink* sink, const SltTable* table) {
  sink_c(sink, "{\"row\":[");
  for (uint32_t c = 0; c < table->column_count; c++) {
    if (c > 0) sink_char(sink, ',');
    json_number(sink, table->columns[c].values[table->row_count - 1]);
  }
  sink_c(sink, "]}\n");
}

void blk_watcher_tell(SltWorld* world) {
  BlkWatcher* watcher = &world->record.watcher;
  const BlkScene* scene = &world->record.scene;
  Sink sink;
  if (sink_init(&sink, watcher->writer) < 0) return;
  if (!watcher->begun) {
    sink_char(&sink, '{');
    write_names(&sink, world);
    sink_c(&sink, "}\n");
    watcher->begun = true;
  }
  tell_shapes(&sink, scene, watcher);
  if (world->record.watch_count > 0) tell_row(&sink, world->record.table);
  const BlkFrame* frame = scene->frame_count ? &scene->frames[scene->frame_count - 1] : NULL;
  if (frame && frame->t == world->t) {
    sink_c(&sink, "{\"frame\":[");
    json_number(&sink, frame->t);
    if (frame->count) sink_char(&sink, ',');
    write_places(&sink, scene->places + frame->first, frame->count);
    sink_c(&sink, "]}\n");
  }
  // a watcher that has gone is no error of the run
  if (sink_flush(&sink) < 0) *watcher = (BlkWatcher){0};
  sink_clear(&sink);
}

SltStatus slt_world_write_html(const SltWorld* world, const char* title, SltWriter writer) {
  if (!world || !writer.write) return SLT_ERR_ARGUMENT;
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  sink_c(&sink, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<title>Simulation</title>\n<style>\n");
  sink_c(&sink, blk_page_style);
  sink_c(&sink, "</style></head><body>\n");
  sink_c(&sink, blk_page_body);
  sink_c(&sink, "<script type=\"application/json\" id=\"data\">{\"title\":");
  json_text(&sink, title ? title : "Simulation");
  write_graphs(&sink, world);
  write_scene(&sink, &world->record.scene);
  sink_c(&sink, "}</script>\n<script>\n");
  for (const char* const* piece = blk_page_script; *piece; piece++) {
    sink_c(&sink, *piece);
  }
  sink_c(&sink, "</script></body></html>\n");
  SltStatus status = sink_flush(&sink);
  sink_clear(&sink);
  return status;
}
