// SPDX-License-Identifier: MIT
//
// Where rows go. A sink is a table of functions over its own state, and row_formats[] is the one
// list of formats that files can have: a new one is an entry there and a file with its functions.
#ifndef SALTUS_RECORD_ROW_SINK_H
#define SALTUS_RECORD_ROW_SINK_H

#include "record/sink.h"
#include "record/table.h"

/// A cell of a row. The text belongs to the model.
typedef struct RowCell {
  double value;      // NaN: undetermined
  const char* text;  // instead of a number: the state of an automaton
} RowCell;

typedef struct RowSink RowSink;

typedef struct RowSinkClass {
  /// One column after the other, the time first.
  SltStatus (*column)(RowSink* sink, const char* name, const char* unit);
  /// Write what stands before the rows. May be left out: a recording that goes on has it already.
  SltStatus (*begin)(RowSink* sink);
  /// One cell per column.
  SltStatus (*row)(RowSink* sink, const RowCell* cells, uint32_t count);
  /// Hand on what is complete.
  SltStatus (*flush)(RowSink* sink);
  /// No more rows: write what only the end makes possible.
  SltStatus (*finish)(RowSink* sink);
  void (*free)(RowSink* sink);
} RowSinkClass;

struct RowSink {
  const RowSinkClass* class;
  SltAllocator allocator;
  bool unit_row;  // a row with the units of the columns behind that with their names
};

typedef SltStatus RowSinkCreateFn(SltWriter writer, RowSink** out);

SltStatus csv_sink_create(SltWriter writer, RowSink** out);
SltStatus csv_gz_sink_create(SltWriter writer, RowSink** out);
/// Whether zlib can be used: the build knew it, and it can be loaded.
bool csv_has_gz(void);
SltStatus json_sink_create(SltWriter writer, RowSink** out);
SltStatus mat_sink_create(SltWriter writer, RowSink** out);
SltStatus hdf5_sink_create(SltWriter writer, RowSink** out);

/// Rows as a table in memory, for pictures and for formats that are written as a whole.
SltStatus memory_sink_create(RowSink** out);
SltTable* memory_sink_table(const RowSink* sink);
/// Take the table out of it: it is then only good for being freed.
SltTable* memory_sink_take(RowSink* sink);

/// The sink of a format; SLT_ERR_UNSUPPORTED where its library is not here.
SltStatus row_sink_create(SltFormatId format, SltWriter writer, RowSink** out);

/// All rows of a table, from the first column name to the end.
SltStatus table_write_rows(const SltTable* table, RowSink* sink);

#endif
