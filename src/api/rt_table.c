// SPDX-License-Identifier: MIT
//
// Public face of tables: argument checks.
#include "record/record.h"

#include <math.h>

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

const char* slt_table_column_unit(const SltTable* table, uint32_t column) {
  return table && column < table->column_count ? table->columns[column].unit : NULL;
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

SltStatus slt_table_write(const SltTable* table, SltFormatId format, SltWriter writer) {
  if (!table || !writer.write) return SLT_ERR_ARGUMENT;
  RowSink* sink = NULL;
  SLT_TRY(row_sink_create(format, writer, &sink));
  SltStatus status = table_write_rows(table, sink);
  sink->class->free(sink);
  return status;
}
