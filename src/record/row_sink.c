// SPDX-License-Identifier: MIT
#include "record/row_sink.h"

#include "record/table_hdf5.h"

#include <string.h>

typedef struct RowFormat {
  SltFormat face;
  RowSinkCreateFn* create;
  bool (*can_be_used)(void);  // NULL: needs no library
} RowFormat;

// `missing` is the package; who asks for the format gets it only where the library cannot be used

// in the order of SltFormatId
static const RowFormat row_formats[] = {
    {{SLT_FORMAT_CSV, ".csv", "comma-separated values", false, true, NULL}, csv_sink_create, NULL},
    {{SLT_FORMAT_CSV_GZ, ".csv.gz", "the same, compressed", false, false, "zlib1g-dev"},
     csv_gz_sink_create,
     csv_has_gz},
    {{SLT_FORMAT_JSON_LINES, ".jsonl", "a JSON object a line", false, true, NULL},
     json_sink_create,
     NULL},
    {{SLT_FORMAT_MAT, ".mat", "MATLAB, Octave, SciPy", true, false, NULL}, mat_sink_create, NULL},
    {{SLT_FORMAT_HDF5, ".h5", "HDF5", true, false, "libhdf5-dev"},
     hdf5_sink_create,
     table_has_hdf5},
};

uint32_t slt_format_count(void) {
  return (uint32_t)SLT_COUNT(row_formats);
}

SltFormat slt_format_get(uint32_t index) {
  const RowFormat* format = &row_formats[index < SLT_COUNT(row_formats) ? index : 0];
  SltFormat face = format->face;
  if (format->can_be_used && format->can_be_used()) face.missing = NULL;
  return face;
}

SltStatus slt_format_find(const char* path, SltFormat* out) {
  if (!path || !out) return SLT_ERR_ARGUMENT;
  size_t length = strlen(path);
  for (size_t i = 0; i < SLT_COUNT(row_formats); i++) {
    const char* ending = row_formats[i].face.ending;
    size_t tail = strlen(ending);
    if (length < tail || strcmp(path + length - tail, ending) != 0) continue;
    *out = slt_format_get((uint32_t)i);
    return SLT_OK;
  }
  return SLT_ERR_NOT_FOUND;
}

SltStatus row_sink_create(SltFormatId format, SltWriter writer, RowSink** out) {
  *out = NULL;
  if ((uint32_t)format >= SLT_COUNT(row_formats)) return SLT_ERR_ARGUMENT;
  return row_formats[format].create(writer, out);
}

SltStatus table_write_rows(const SltTable* table, RowSink* sink) {
  SltAllocator allocator = base_allocator(NULL);
  RowCell* cells = base_alloc(&allocator, base_mul_size(table->column_count, sizeof *cells));
  if (!cells) return SLT_ERR_NOMEM;
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; i < table->column_count && status >= 0; i++) {
    if (!table->columns[i].hidden)
      status = sink->class->column(sink, table->columns[i].name, table->columns[i].unit);
  }
  if (status >= 0) status = sink->class->begin(sink);
  for (uint32_t row = 0; row < table->row_count && status >= 0; row++) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
      if (table->columns[i].hidden) continue;
      uint32_t id = table_text_id(table, row, i);
      cells[count++] = (RowCell){table->columns[i].values[row], id ? table->texts[id].data : NULL};
    }
    status = sink->class->row(sink, cells, count);
  }
  if (status >= 0) status = sink->class->finish(sink);
  base_free(&allocator, cells, table->column_count * sizeof *cells);
  return status;
}
