// SPDX-License-Identifier: MIT
//
// Public face of tables and pictures: argument checks, and the choice of a canvas.
#include "api/rt_table_png.h"
#include "record/record.h"

#include <math.h>

#define PLOT_COOKIE 0x506c6f74u

SltStatus slt_table_read_csv(const char* text, size_t length, SltTable** out, uint32_t* bad_line) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!text && length > 0) return SLT_ERR_ARGUMENT;
  uint32_t line = 0;
  SltStatus status = table_read_csv(text, length, out, &line);
  if (bad_line) *bad_line = line;
  return status;
}

void slt_table_free(SltTable* table) {
  table_free(table);
}

uint32_t slt_table_column_count(const SltTable* table) {
  return table ? table->column_count : 0;
}

uint32_t slt_table_row_count(const SltTable* table) {
  return table ? table->row_count : 0;
}

const char* slt_table_column_name(const SltTable* table, uint32_t column) {
  return table && column < table->column_count ? table->columns[column].name : NULL;
}

static bool has_cell(const SltTable* table, uint32_t row, uint32_t column) {
  return table && row < table->row_count && column < table->column_count;
}

const double* slt_table_column(const SltTable* table, uint32_t column) {
  return table && column < table->column_count && table->row_count ? table->columns[column].values
                                                                   : NULL;
}

double slt_table_value(const SltTable* table, uint32_t row, uint32_t column) {
  return has_cell(table, row, column) ? table->columns[column].values[row] : (double)NAN;
}

const char* slt_table_text(const SltTable* table, uint32_t row, uint32_t column) {
  uint32_t id = has_cell(table, row, column) ? table_text_id(table, row, column) : 0;
  return id ? table->texts[id].data : NULL;
}

SltPlotOptions slt_plot_options(void) {
  return (SltPlotOptions){.format = SLT_PLOT_SVG, .cookie = PLOT_COOKIE};
}

/// Out of memory leaves by the arena's jump to slt_table_plot().
static SltStatus plot(const SltTable* table, const SltPlotOptions* options, Sink* sink,
                      Arena* arena, const char** bad_name) {
  PlotSpec spec;
  SLT_TRY(plot_spec_prepare(&spec, arena, table, options, bad_name));
  switch (options->format) {
  case SLT_PLOT_SVG: {
    PlotCanvas canvas = plot_svg_canvas(sink);
    return plot_draw(&spec, &canvas, options->width, options->height);
  }
  case SLT_PLOT_TERMINAL: return plot_text(&spec, options, sink, arena);
  case SLT_PLOT_PNG: return table_png(&spec, options, sink);
  }
  return SLT_ERR_ARGUMENT;
}

SltStatus slt_table_plot(const SltTable* table, const SltPlotOptions* options, SltWriter writer,
                         const char** bad_name) {
  if (bad_name) *bad_name = NULL;
  if (!table || !options || options->cookie != PLOT_COOKIE || !writer.write) {
    return SLT_ERR_ARGUMENT;
  }
  if (!options->names && options->name_count > 0) return SLT_ERR_ARGUMENT;
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  jmp_buf on_oom;
  Arena arena;
  arena_init(&arena, NULL, &on_oom);
  SltStatus status = SLT_ERR_NOMEM;
  if (!setjmp(on_oom)) status = plot(table, options, &sink, &arena, bad_name);
  arena_free(&arena);
  sink_clear(&sink);
  return status;
}

SltStatus slt_table_write(const SltTable* table, SltFormatId format, SltWriter writer) {
  if (!table || !writer.write) return SLT_ERR_ARGUMENT;
  RowSink* sink = NULL;
  SLT_TRY(row_sink_create(format, writer, &sink));
  SltStatus status = table_write_rows(table, sink);
  sink->class->free(sink);
  return status;
}
