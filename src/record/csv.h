// SPDX-License-Identifier: MIT
//
// Rows as CSV: RFC 4180 quoting, LF, shortest decimals, empty cells for what is undetermined.
#ifndef SALTUS_RECORD_CSV_H
#define SALTUS_RECORD_CSV_H

#include "record/sink.h"

typedef struct CsvWriter {
  Sink sink;
  uint64_t rows;       // ended so far, the header included
  bool row_has_cells;  // the present row has begun
} CsvWriter;

/// Takes a buffer; csv_clear() frees it and drops what was not flushed.
SltStatus csv_init(CsvWriter* csv, SltWriter writer);
void csv_clear(CsvWriter* csv);

/// The next cell of the row. NaN gives an empty one.
void csv_number(CsvWriter* csv, double value);
/// Quoted where RFC 4180 asks for it; NULL gives an empty cell.
void csv_text(CsvWriter* csv, const char* text);
/// End the row. Returns the first error of any write so far.
SltStatus csv_end_row(CsvWriter* csv);
SltStatus csv_flush(CsvWriter* csv);

#endif
