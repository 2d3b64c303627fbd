// SPDX-License-Identifier: MIT
//
// Rows in memory, column by column. A cell is a number, undetermined (NaN), or a text; texts are
// few and repeat (states of automata), so a column that holds any keeps one number per row into a
// pool of them.
#ifndef SALTUS_RECORD_TABLE_H
#define SALTUS_RECORD_TABLE_H

#include "record/sink.h"

typedef struct TableColumn {
  char* name;
  char* unit;   // "" when none
  char* label;  // for axes: the name, with the unit behind it
  size_t name_size, unit_size, label_size;
  double* values;
  uint32_t value_capacity;
  uint32_t* texts;  // NULL as long as the column holds numbers only; 0 where a cell is no text
  uint32_t text_capacity;
  bool hidden;  // kept for the picture's band, not asked for by the user
} TableColumn;

typedef struct TableText {
  char* data;  // NUL-terminated
  uint32_t length;
} TableText;

struct SltTable {
  SltAllocator allocator;
  TableColumn* columns;
  uint32_t column_count, column_capacity;
  uint32_t row_count;
  TableText* texts;  // entry 0 is "no text"
  uint32_t text_count, text_capacity;
  uint32_t* slots;  // hash table of texts; 0 is free
  uint32_t slot_count;
};

/// NULL when memory is exhausted.
SltTable* table_create(void);
void table_free(SltTable* table);

/// Columns come before rows. Invalid UTF-8 is kept as it is.
SltStatus table_add_column(SltTable* table, Str name, const char* unit, bool hidden);
/// Give a column its unit.
SltStatus table_set_unit(SltTable* table, uint32_t column, Str unit);
/// A new last row, undetermined everywhere.
SltStatus table_add_row(SltTable* table);
/// Cells of the last row.
void table_set_number(SltTable* table, uint32_t column, double value);
SltStatus table_set_text(SltTable* table, uint32_t column, Str text);

/// First column of that name, or UINT32_MAX.
uint32_t table_find(const SltTable* table, const char* name);
/// Pool index of the text of a cell; 0 for none.
uint32_t table_text_id(const SltTable* table, uint32_t row, uint32_t column);
/// Whether a column has at least one text.
bool table_is_text(const SltTable* table, uint32_t column);

/// Write a table through `write`, which may run out of memory by the arena's exit.
SltStatus table_write(const SltTable* table,
                      SltStatus (*write)(const SltTable* table, Sink* sink, Arena* arena),
                      SltWriter writer);

/// Read CSV (table_csv.c). `bad_line` receives the 1-based line of the first error; not NULL.
SltStatus table_read_csv(const char* text, size_t length, SltTable** out, uint32_t* bad_line);

#endif
