// SPDX-License-Identifier: MIT
//
// Rows in memory: for pictures, and for formats of files that can only be written when all rows are
// there.
#include "record/row_sink.h"
#include "record/table_hdf5.h"
#include "record/table_mat.h"

typedef SltStatus WriteTableFn(const SltTable* table, Sink* sink, Arena* arena);

typedef struct MemorySink {
  RowSink base;
  SltTable* table;
  SltWriter writer;
  WriteTableFn* write;  // NULL: the table stays in memory
} MemorySink;

static SltStatus memory_sink_column(RowSink* sink, const char* name, const char* unit) {
  return table_add_column(((MemorySink*)sink)->table, str_from_c(name), unit, false);
}

static SltStatus memory_sink_ready(RowSink* sink) {
  (void)sink;
  return SLT_OK;
}

static SltStatus memory_sink_row(RowSink* sink, const RowCell* cells, uint32_t count) {
  SltTable* table = ((MemorySink*)sink)->table;
  SLT_TRY(table_add_row(table));
  for (uint32_t i = 0; i < count; i++) {
    table_set_number(table, i, cells[i].value);
    if (cells[i].text) SLT_TRY(table_set_text(table, i, str_from_c(cells[i].text)));
  }
  return SLT_OK;
}

static SltStatus memory_sink_finish(RowSink* sink) {
  MemorySink* s = (MemorySink*)sink;
  return s->write ? table_write(s->table, s->write, s->writer) : SLT_OK;
}

static void memory_sink_free(RowSink* sink) {
  MemorySink* s = (MemorySink*)sink;
  SltAllocator allocator = s->base.allocator;
  table_free(s->table);
  base_free(&allocator, s, sizeof *s);
}

static const RowSinkClass memory_class = {
    .column = memory_sink_column,
    .begin = memory_sink_ready,
    .row = memory_sink_row,
    .flush = memory_sink_ready,
    .finish = memory_sink_finish,
    .free = memory_sink_free,
};

static SltStatus create(SltWriter writer, WriteTableFn* write, RowSink** out) {
  SltAllocator allocator = base_allocator(NULL);
  MemorySink* s = base_alloc(&allocator, sizeof *s);
  SltTable* table = s ? table_create() : NULL;
  if (!table) {
    base_free(&allocator, s, sizeof *s);
    return SLT_ERR_NOMEM;
  }
  *s = (MemorySink){.base = {.class = &memory_class, .allocator = allocator},
                    .table = table,
                    .writer = writer,
                    .write = write};
  *out = &s->base;
  return SLT_OK;
}

SltStatus memory_sink_create(RowSink** out) {
  return create((SltWriter){NULL, NULL}, NULL, out);
}

SltTable* memory_sink_table(const RowSink* sink) {
  return sink ? ((const MemorySink*)sink)->table : NULL;
}

SltTable* memory_sink_take(RowSink* sink) {
  MemorySink* s = (MemorySink*)sink;
  SltTable* table = s->table;
  s->table = NULL;
  return table;
}

SltStatus mat_sink_create(SltWriter writer, RowSink** out) {
  return create(writer, table_write_mat, out);
}

SltStatus hdf5_sink_create(SltWriter writer, RowSink** out) {
  return table_has_hdf5() ? create(writer, table_write_hdf5, out) : SLT_ERR_UNSUPPORTED;
}
