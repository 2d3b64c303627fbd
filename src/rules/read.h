// SPDX-License-Identifier: MIT
//
// Shared by the read_*.c and build_*.c files only: raw tables of cells, words in two languages, and
// messages that name table, row and column.
#ifndef SALTUS_RULES_READ_H
#define SALTUS_RULES_READ_H

#include "rules/rules.h"

#define RULES_DEPTH_MAX   64u     // nesting of an expression
#define RULES_NODES_MAX   500u    // names, numbers and operations of a cell
#define RULES_INCLUDE_MAX 16u     // nesting of includes
#define RULES_FILES_MAX   64u     // files of one model
#define RULES_COLUMNS_MAX 64u     // of one table
#define RULES_ROWS_MAX    20000u  // of one model
#define RULES_NAME_MAX    1000u   // bytes of a name

typedef struct RawCell {
  Str text;  // trimmed, escapes resolved
  Span span;
} RawCell;

typedef struct RawRow {
  RawCell* cells;   // as many as the header has; missing ones are empty
  uint32_t number;  // 1-based inside its table
  Span span;
} RawRow;

typedef struct RawTable {
  uint8_t section;  // RulesSection
  Str title;        // of the section as written
  RawCell* header;
  uint8_t* columns;  // RulesColumn of each
  uint32_t column_count;
  BASE_VEC(RawRow) rows;
  uint32_t file;  // in Reader.files
} RawTable;

/// Columns of all sections.
typedef enum RulesColumn {
  COLUMN_COMMENT,  // ignored
  COLUMN_NAME,
  COLUMN_VALUE,
  COLUMN_UNIT,
  COLUMN_INITIAL,
  COLUMN_KIND,
  COLUMN_RELATION,
  COLUMN_X1,
  COLUMN_A,
  COLUMN_X2,
  COLUMN_X3,
  COLUMN_B,
  COLUMN_X4,
  COLUMN_STRICT,
  COLUMN_SITUATION,
  COLUMN_WHEN,
  COLUMN_THEN,
  COLUMN_NUMBER,
  COLUMN_VARIABLE,
  COLUMN_PROCEDURE,
  COLUMN_COEFFICIENT,
  COLUMN_ARGUMENT1,
  COLUMN_ARGUMENT2,
  COLUMN_PARAMETER,
  COLUMN_SHAPE,
  COLUMN_X,
  COLUMN_Y,
  COLUMN_Y2,
  COLUMN_Y3,
  COLUMN_Y4,
  COLUMN_SIZE,
  COLUMN_HEIGHT,
  COLUMN_ANGLE,
  COLUMN_TEXT,
  COLUMN_COLOUR,
  COLUMN_RANGE,
  COLUMN_COUNT
} RulesColumn;

/// One file of the model.
typedef struct RawFile {
  Str name;  // as shown
  Str path;  // as loaded: seen from the folder of the model
  Str text;
  uint32_t begin;        // in the whole text
  uint32_t included_by;  // RULES_NONE for the model itself
  uint8_t csv_section;   // RULES_SECTION_NONE: Markdown
} RawFile;

typedef struct Reader {
  RulesModel* model;
  Arena* arena;
  const RulesOptions* options;
  DiagList* diags;
  BASE_VEC(RawFile) files;
  BASE_VEC(RawTable) tables;
  uint32_t row_count;
} Reader;

// read_words.c
// --------------------------------------------------------------------------------------

/// Lower case (Latin, Cyrillic), spaces collapsed, ё as е, no full stop at the end.
Str rules_fold(Arena* arena, Str s);
Str rules_trim(Str s);
/// Whether folded `word` is in a list separated by |.
bool rules_in_list(const char* names, Str word);
RulesSection rules_find_section(Str folded_title);
const char* rules_section_title(RulesSection section);
/// COLUMN_COUNT when the section has no such column.
RulesColumn rules_find_column(RulesSection section, Str folded);
const char* rules_column_name(RulesColumn column);
/// Whether tables of this section have the column.
bool rules_section_has(RulesSection section, RulesColumn column);
/// RULES_PROCEDURE_COUNT when unknown; `near` receives the nearest known one.
RulesProcedure rules_find_procedure(Str folded, RulesProcedure* near);
RulesParam rules_find_param(Str folded, uint32_t allowed, RulesParam* near);
/// "smoothing: coefficient, argument 1, situation; time constant (required)".
Str rules_signature_text(Arena* arena, RulesProcedure procedure);
bool rules_word_true(Str folded);
bool rules_word_false(Str folded);

// read_*.c
// ------------------------------------------------------------------------------------------

void rules_read_markdown(Reader* r, uint32_t file);
void rules_read_csv(Reader* r, uint32_t file);
/// Add a table; the header is looked up and checked. NULL when it cannot be used.
RawTable* rules_add_table(Reader* r, uint32_t file, RulesSection section, Str title,
                          const RawCell* header, uint32_t count, Span span);
void rules_add_row(Reader* r, RawTable* table, const RawCell* cells, uint32_t count, Span span);

/// "table 'Rules', row 3, column 'procedure': ...". Never NULL.
Diag* rules_report(Reader* r, DiagCode code, const RawTable* table, const RawRow* row,
                   RulesColumn column, Span span, const char* format, ...)
    __attribute__((format(printf, 7, 8)));

// read_expr.c
// ---------------------------------------------------------------------------------------

/// Where a cell's text is read from, and whom to tell about mistakes.
typedef struct CellScan {
  Reader* r;
  const RawTable* table;
  const RawRow* row;
  RulesColumn column;
  RawCell cell;
} CellScan;

/// Arithmetic of names and numbers; NULL after an error.
const RulesExpr* rules_parse_value(const CellScan* scan);
/// Relations joined by `and`.
const RulesExpr* rules_parse_relation(const CellScan* scan);
/// A cell that is one name: backquotes around it are dropped.
Str rules_cell_name(RawCell cell);
/// Next part of a list separated by commas, `and`, `и`, `&`; false at the end. `negated` when
/// there is a `not` before it.
bool rules_next_literal(Str* rest, Str* name, bool* negated);

// build_drawing.c
// -----------------------------------------------------------------------------------

/// The column that holds a number of a shape.
RulesColumn rules_shape_column(uint32_t number);

// build_*.c
// -----------------------------------------------------------------------------------------

/// A name of the model.
typedef enum NameKind {
  NAME_NONE,
  NAME_CONSTANT,
  NAME_STATE,
  NAME_PREDICATE,
  NAME_SITUATION
} NameKind;

typedef struct NameEntry {
  uint8_t kind;
  uint32_t index;
} NameEntry;

/// A row that counts after replacement.
typedef struct MergedRow {
  const RawTable* table;
  const RawRow* row;
  Str key;
  uint32_t file;
  bool removed;
} MergedRow;

typedef struct MergedRows {
  MergedRow* data;
  uint32_t count;
  uint32_t capacity;
} MergedRows;

typedef struct Builder {
  Reader* r;
  RulesModel* m;
  NameTable names;
  BASE_VEC(NameEntry) entries;  // by name id
  MergedRows rows[RULES_SECTION_COUNT];
} Builder;

NameEntry rules_lookup(const Builder* b, Str name);
/// Text of the nearest name of the wanted kinds (mask of 1 << NameKind), or empty.
Str rules_nearest(const Builder* b, Str name, uint32_t kinds);
/// Names of an expression become constants, states and time. False after an error.
bool rules_resolve(Builder* b, const CellScan* scan, const RulesExpr* expr, bool constant);
RawCell rules_cell(const RawTable* table, const RawRow* row, RulesColumn column);
bool rules_parse_when(Builder* b, const CellScan* scan, RulesWhen* out);

void rules_build_declarations(Builder* b);
void rules_build_rules(Builder* b);
void rules_build_settings(Builder* b);
void rules_build_drawing(Builder* b);
void rules_build_controls(Builder* b);
void rules_check(Builder* b);

#endif
