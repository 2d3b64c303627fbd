// SPDX-License-Identifier: MIT
#include "record/csv.h"

#include <math.h>
#include <string.h>

SltStatus csv_init(CsvWriter* csv, SltWriter writer) {
  *csv = (CsvWriter){0};
  return sink_init(&csv->sink, writer);
}

void csv_clear(CsvWriter* csv) {
  sink_clear(&csv->sink);
}

static void csv_begin_cell(CsvWriter* csv) {
  if (csv->row_has_cells) sink_char(&csv->sink, ',');
  csv->row_has_cells = true;
}

void csv_number(CsvWriter* csv, double value) {
  // separator and number in one piece: a file of numbers is made of nothing else
  char* begin = sink_room(&csv->sink, 1 + NUMBER_TEXT_MAX);
  if (!begin) return;
  char* at = begin;
  if (csv->row_has_cells) *at++ = ',';
  csv->row_has_cells = true;
  if (!isnan(value)) at += number_write(at, value);
  csv->sink.used += (size_t)(at - begin);
}

void csv_text(CsvWriter* csv, const char* text) {
  csv_begin_cell(csv);
  if (!text) return;
  size_t length = strlen(text);
  if (strcspn(text, ",\"\r\n") == length) {
    sink_bytes(&csv->sink, text, length);
    return;
  }
  sink_char(&csv->sink, '"');
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"') sink_char(&csv->sink, '"');
    sink_char(&csv->sink, text[i]);
  }
  sink_char(&csv->sink, '"');
}

SltStatus csv_end_row(CsvWriter* csv) {
  sink_char(&csv->sink, '\n');
  sink_end_unit(&csv->sink);
  csv->row_has_cells = false;
  csv->rows++;
  return csv->sink.status;
}

SltStatus csv_flush(CsvWriter* csv) {
  return sink_flush(&csv->sink);
}
