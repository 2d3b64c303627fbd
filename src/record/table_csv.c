// SPDX-License-Identifier: MIT
//
// Reading CSV: RFC 4180 with LF or CRLF, an optional byte order mark, blank lines ignored. Every
// line must have as many cells as the header; the first that has not is named. Spreadsheets of
// countries with a decimal comma separate cells by semicolons, others by tabs: the header tells.
#include "record/table.h"

#include <math.h>
#include <string.h>

typedef struct CsvReader {
  const char* at;
  const char* end;
  uint32_t line;       // of `at`
  uint32_t cell_line;  // where the last cell began
  char separator;      // of cells
  Arena* scratch;      // holds quoted cells, which lose their quotes
  TextBuffer unquoted;
} CsvReader;

typedef enum CellEnd { CELL_NEXT, CELL_LINE, CELL_FILE, CELL_BAD } CellEnd;

/// What follows a cell, and step over it.
static CellEnd read_cell_end(CsvReader* r) {
  if (r->at == r->end) return CELL_FILE;
  if (*r->at == r->separator) {
    r->at++;
    return CELL_NEXT;
  }
  if (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n') r->at++;
  if (*r->at != '\n') return CELL_BAD;
  r->at++;
  r->line++;
  return CELL_LINE;
}

static CellEnd read_quoted(CsvReader* r, Str* cell) {
  r->unquoted.length = 0;
  r->at++;
  for (;; r->at++) {
    if (r->at == r->end) return CELL_BAD;
    if (*r->at == '"') {
      if (r->at + 1 == r->end || r->at[1] != '"') break;
      r->at++;
    }
    if (*r->at == '\n') r->line++;
    if (*r->at == '\0') return CELL_BAD;
    text_append_char(&r->unquoted, *r->at);
  }
  r->at++;
  *cell = text_str(&r->unquoted);
  return read_cell_end(r);
}

static CellEnd read_cell(CsvReader* r, Str* cell, bool* quoted) {
  r->cell_line = r->line;
  *quoted = r->at < r->end && *r->at == '"';
  if (*quoted) return read_quoted(r, cell);
  const char* begin = r->at;
  while (r->at < r->end && *r->at != r->separator && *r->at != '\n') {
    if (*r->at == '"' || *r->at == '\0') return CELL_BAD;
    r->at++;
  }
  const char* last = r->at;
  if (last > begin && last[-1] == '\r' && (r->at == r->end || *r->at == '\n')) last--;
  if (last - begin > UINT32_MAX) return CELL_BAD;
  *cell = (Str){begin, (uint32_t)(last - begin)};
  return read_cell_end(r);
}

static Str trim(Str s) {
  while (s.length && (s.data[0] == ' ' || s.data[0] == '\t')) {
    s.data++;
    s.length--;
  }
  while (s.length && (s.data[s.length - 1] == ' ' || s.data[s.length - 1] == '\t'))
    s.length--;
  return s;
}

/// The words in which programs write what is no finite number.
static bool read_special(Str s, double* value) {
  static const struct {
    const char* text;
    double value;
  } words[] = {
      {"NaN", (double)NAN},        {"nan", (double)NAN},        {"NAN", (double)NAN},
      {"Inf", (double)INFINITY},   {"inf", (double)INFINITY},   {"+Inf", (double)INFINITY},
      {"-Inf", -(double)INFINITY}, {"-inf", -(double)INFINITY},
  };
  for (size_t i = 0; i < SLT_COUNT(words); i++) {
    if (!str_equal(s, str_from_c(words[i].text))) continue;
    *value = words[i].value;
    return true;
  }
  return false;
}

/// A number with a decimal comma.
static bool read_comma(Str s, double* value) {
  char text[64];
  const char* comma = s.length < sizeof text ? memchr(s.data, ',', s.length) : NULL;
  if (!comma) return false;
  memcpy(text, s.data, s.length);
  text[comma - s.data] = '.';
  return number_read((Str){text, s.length}, true, value) == s.length;
}

static SltStatus store_cell(SltTable* table, uint32_t column, Str cell, bool quoted,
                            bool decimal_comma) {
  Str bare = trim(cell);
  if (bare.length == 0 && !quoted) return SLT_OK;
  double value = 0.0;
  if (bare.length && (number_read(bare, true, &value) == bare.length ||
                      read_special(bare, &value) || (decimal_comma && read_comma(bare, &value)))) {
    table_set_number(table, column, value);
    return SLT_OK;
  }
  return table_set_text(table, column, cell);
}

/// No name has a semicolon or a tab in it, so a header that has one is separated by it.
static char find_separator(const CsvReader* r) {
  bool quoted = false;
  bool tab = false;
  for (const char* at = r->at; at < r->end && (quoted || *at != '\n'); at++) {
    if (*at == '"') quoted = !quoted;
    if (*at == ';' && !quoted) return ';';
    tab |= *at == '\t' && !quoted;
  }
  return tab ? '\t' : ',';
}

static SltStatus read_header(CsvReader* r, SltTable* table, uint32_t* bad_line) {
  if (r->end - r->at >= 3 && memcmp(r->at, "\xEF\xBB\xBF", 3) == 0) r->at += 3;
  r->separator = find_separator(r);
  CellEnd end = CELL_NEXT;
  while (end == CELL_NEXT) {
    Str cell = {0};
    bool quoted = false;
    end = read_cell(r, &cell, &quoted);
    *bad_line = r->cell_line;
    if (end == CELL_BAD) return SLT_ERR_SYNTAX;
    SLT_TRY(table_add_column(table, quoted ? cell : trim(cell), "", false));
  }
  // a file of nothing has no header either
  if (table->column_count == 1 && table->columns[0].name[0] == '\0') return SLT_ERR_SYNTAX;
  return SLT_OK;
}

/// Whether the line at the reader is blank; it is then stepped over.
static bool skip_blank(CsvReader* r) {
  const char* at = r->at;
  if (at < r->end && *at == '\r') at++;
  if (at < r->end && *at != '\n') return false;
  if (at == r->end && at == r->at) return false;
  r->at = at == r->end ? at : at + 1;
  r->line++;
  return true;
}

static SltStatus read_row(CsvReader* r, SltTable* table, uint32_t* bad_line) {
  *bad_line = r->line;
  SLT_TRY(table_add_row(table));
  CellEnd end = CELL_NEXT;
  uint32_t column = 0;
  for (; end == CELL_NEXT; column++) {
    Str cell = {0};
    bool quoted = false;
    end = read_cell(r, &cell, &quoted);
    if (end == CELL_BAD) *bad_line = r->cell_line;
    if (end == CELL_BAD || column == table->column_count) return SLT_ERR_SYNTAX;
    SLT_TRY(store_cell(table, column, cell, quoted, r->separator != ','));
  }
  return column == table->column_count ? SLT_OK : SLT_ERR_SYNTAX;
}

/// Whether a row of units stands here: behind the name of the time, a unit of time.
static bool at_units(const CsvReader* r, const SltTable* table) {
  CsvReader ahead = *r;
  Str cell = {0};
  bool quoted = false;
  Unit unit;
  Unit second = {.power[UNIT_SECOND] = 1.0};
  return strcmp(table->columns[0].name, "time") == 0 &&
         read_cell(&ahead, &cell, &quoted) != CELL_BAD && !quoted && unit_read(trim(cell), &unit) &&
         unit_same_dimension(unit, second);
}

static SltStatus read_units(CsvReader* r, SltTable* table, uint32_t* bad_line) {
  *bad_line = r->line;
  CellEnd end = CELL_NEXT;
  uint32_t column = 0;
  for (; end == CELL_NEXT; column++) {
    Str cell = {0};
    bool quoted = false;
    end = read_cell(r, &cell, &quoted);
    if (end == CELL_BAD || column == table->column_count) return SLT_ERR_SYNTAX;
    SLT_TRY(table_set_unit(table, column, trim(cell)));
  }
  return column == table->column_count ? SLT_OK : SLT_ERR_SYNTAX;
}

static SltStatus read_rows(CsvReader* r, SltTable* table, uint32_t* bad_line) {
  if (r->at < r->end && at_units(r, table)) SLT_TRY(read_units(r, table, bad_line));
  while (r->at < r->end) {
    // in a table of one column an empty line is an undetermined cell
    bool may_be_blank = table->column_count > 1 || r->at + 1 == r->end;
    if (may_be_blank && skip_blank(r)) continue;
    SLT_TRY(read_row(r, table, bad_line));
  }
  return SLT_OK;
}

SltStatus table_read_csv(const char* text, size_t length, SltTable** out, uint32_t* bad_line) {
  *out = NULL;
  *bad_line = 1;
  SltTable* table = table_create();
  if (!table) return SLT_ERR_NOMEM;
  jmp_buf on_oom;
  Arena scratch;
  arena_init(&scratch, &table->allocator, &on_oom);
  if (setjmp(on_oom)) {
    arena_free(&scratch);
    table_free(table);
    return SLT_ERR_NOMEM;
  }
  CsvReader reader = {.at = text,
                      .end = length ? text + length : text,
                      .line = 1,
                      .scratch = &scratch,
                      .unquoted = {.arena = &scratch}};
  SltStatus status = read_header(&reader, table, bad_line);
  if (status >= 0) status = read_rows(&reader, table, bad_line);
  arena_free(&scratch);
  if (status < 0) {
    table_free(table);
    return status;
  }
  *out = table;
  return SLT_OK;
}
