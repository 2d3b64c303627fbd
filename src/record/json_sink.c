// SPDX-License-Identifier: MIT
//
// Rows as JSON lines: an object each, names as they are, null where undetermined. JSON has no
// infinity; it is written as a number that is too large, which readers take for it.
#include "record/row_sink.h"

#include <math.h>
#include <string.h>

typedef struct JsonSink {
  RowSink base;
  Sink sink;
  char** names;  // quoted and escaped, with the colon
  size_t* sizes;
  uint32_t name_count, name_capacity, size_capacity;
} JsonSink;

typedef struct Quoted {
  char* text;
  size_t length, capacity;
  const SltAllocator* allocator;
} Quoted;

static SltStatus keep_quoted(void* user, const char* data, size_t length) {
  Quoted* q = user;
  size_t need = base_add_size(q->length, length);
  char* grown = base_realloc(q->allocator, q->text, q->capacity, need);
  if (!grown) return SLT_ERR_NOMEM;
  q->text = grown;
  q->capacity = need;
  memcpy(q->text + q->length, data, length);
  q->length = need;
  return SLT_OK;
}

static SltStatus add_name(JsonSink* s, const Quoted* quoted) {
  if (s->name_count == s->name_capacity) {
    uint32_t wanted = s->name_capacity ? 2 * s->name_capacity : 16;
    char** names = base_realloc(&s->base.allocator, (void*)s->names,
                                s->name_capacity * sizeof *names, wanted * sizeof *names);
    if (!names) return SLT_ERR_NOMEM;
    s->names = names;
    s->name_capacity = wanted;
    size_t* sizes = base_realloc(&s->base.allocator, s->sizes, s->size_capacity * sizeof *sizes,
                                 wanted * sizeof *sizes);
    if (!sizes) return SLT_ERR_NOMEM;
    s->sizes = sizes;
    s->size_capacity = wanted;
  }
  s->names[s->name_count] = quoted->text;
  s->sizes[s->name_count++] = quoted->capacity;
  return SLT_OK;
}

static SltStatus json_sink_column(RowSink* sink, const char* name, const char* unit) {
  (void)unit;  // a line has names and values only
  JsonSink* s = (JsonSink*)sink;
  Quoted quoted = {.allocator = &s->base.allocator};
  Sink writer;
  SltStatus status = sink_init(&writer, (SltWriter){keep_quoted, &quoted});
  sink_json(&writer, name);
  sink_char(&writer, ':');
  if (status >= 0) status = sink_flush(&writer);
  sink_clear(&writer);
  if (status >= 0) status = add_name(s, &quoted);
  if (status < 0) base_free(&s->base.allocator, quoted.text, quoted.capacity);
  return status;
}

static SltStatus json_sink_begin(RowSink* sink) {
  return ((JsonSink*)sink)->sink.status;
}

static void write_cell(Sink* sink, const RowCell* cell) {
  if (cell->text) {
    sink_json(sink, cell->text);
  } else if (isnan(cell->value)) {
    sink_c(sink, "null");
  } else if (isinf(cell->value)) {
    sink_c(sink, cell->value > 0.0 ? "1e999" : "-1e999");
  } else {
    sink_double(sink, cell->value);
  }
}

static SltStatus json_sink_row(RowSink* sink, const RowCell* cells, uint32_t count) {
  JsonSink* s = (JsonSink*)sink;
  for (uint32_t i = 0; i < count && i < s->name_count; i++) {
    sink_char(&s->sink, i ? ',' : '{');
    sink_bytes(&s->sink, s->names[i], s->sizes[i]);
    write_cell(&s->sink, &cells[i]);
  }
  sink_c(&s->sink, "}\n");
  sink_end_unit(&s->sink);
  return s->sink.status;
}

static SltStatus json_sink_flush(RowSink* sink) {
  return sink_flush(&((JsonSink*)sink)->sink);
}

static void json_sink_free(RowSink* sink) {
  JsonSink* s = (JsonSink*)sink;
  SltAllocator allocator = s->base.allocator;
  for (uint32_t i = 0; i < s->name_count; i++) {
    base_free(&allocator, s->names[i], s->sizes[i]);
  }
  base_free(&allocator, (void*)s->names, s->name_capacity * sizeof *s->names);
  base_free(&allocator, s->sizes, s->size_capacity * sizeof *s->sizes);
  sink_clear(&s->sink);
  base_free(&allocator, s, sizeof *s);
}

static const RowSinkClass json_class = {
    .column = json_sink_column,
    .begin = json_sink_begin,
    .row = json_sink_row,
    .flush = json_sink_flush,
    .finish = json_sink_flush,
    .free = json_sink_free,
};

SltStatus json_sink_create(SltWriter writer, RowSink** out) {
  SltAllocator allocator = base_allocator(NULL);
  JsonSink* s = base_alloc(&allocator, sizeof *s);
  if (!s) return SLT_ERR_NOMEM;
  s->base = (RowSink){.class = &json_class, .allocator = allocator};
  SltStatus status = sink_init(&s->sink, writer);
  if (status < 0) {
    json_sink_free(&s->base);
    return status;
  }
  *out = &s->base;
  return SLT_OK;
}
