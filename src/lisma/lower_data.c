// SPDX-License-Identifier: MIT
//
// Tables from CSV files: the first column is the argument, another one the value.
#include "lisma/lower.h"

#include <math.h>
#include <string.h>

#define DATA_COLUMN_MAX 10000u
#define DATA_ROW_MAX    50000000u

uint32_t lower_add_data(Lower* l, uint32_t name, const double* x, const double* y, uint32_t count,
                        uint8_t interpolation, Span span) {
  IrData data = {
      .name = name, .x = x, .y = y, .count = count, .interpolation = interpolation, .span = span};
  base_vec_push(l->arena, &l->m->data, data);
  return l->m->data.count - 1;
}

// ---------------------------------------------------------------------------------------------
// options

typedef struct DataOptions {
  uint32_t column;  // 1-based; 0: by name
  Str column_name;
  Span column_span;
  uint8_t interpolation;
} DataOptions;

static void report_option(Lower* l, Span span) {
  Diag* diag = lower_report(l, DIAG_E0213, span, "this is no option of a table");
  diag_hint(l->diags, diag, "a column by number or name, and 'linear' or 'cubic'");
}

static void read_option(Lower* l, const AstValue* value, DataOptions* options) {
  const AstExpr* expr = value->expr;
  if (expr && expr->kind == AST_NUMBER) {
    double number = expr->as.number;
    bool fits = number >= 1.0 && number <= DATA_COLUMN_MAX && number == floor(number);
    if (!fits) {
      lower_report(l, DIAG_E0213, value->span, "a column is counted from 1; here it is %.*s",
                   STR_ARGS(lower_number_text(l, number)));
      return;
    }
    options->column = (uint32_t)number;
    options->column_span = value->span;
    return;
  }
  Str word = value->text;
  if (expr) {
    bool plain =
        expr->kind == AST_NAME && expr->order == 0 && ast_name_is_plain(&expr->as.name.name);
    if (!plain) {
      report_option(l, value->span);
      return;
    }
    word = expr->as.name.name.head;
    bool quoted = expr->as.name.name.quoted;
    bool linear = !quoted && str_equal(word, STR_LIT("linear"));
    bool cubic = !quoted && str_equal(word, STR_LIT("cubic"));
    if (linear || cubic) {
      options->interpolation = cubic ? IR_CUBIC : IR_LINEAR;
      return;
    }
  }
  options->column = 0;
  options->column_name = word;
  options->column_span = value->span;
}

// ---------------------------------------------------------------------------------------------
// contents

typedef struct DataReader {
  Str text;
  uint32_t at;
  uint32_t line;  // 1-based
} DataReader;

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static Str trim_blanks(Str s) {
  while (s.length && is_blank(s.data[0])) {
    s.data++;
    s.length--;
  }
  while (s.length && is_blank(s.data[s.length - 1])) {
    s.length--;
  }
  return s;
}

/// Without blanks, and without the quotes around it: one alone is the rest of a cell that was cut.
static Str trim(Str s) {
  s = trim_blanks(s);
  bool quoted = s.length >= 2 && s.data[0] == '"' && s.data[s.length - 1] == '"';
  return quoted ? trim_blanks((Str){s.data + 1, s.length - 2}) : s;
}

/// Next line that is neither empty nor a comment.
static bool next_line(DataReader* r, Str* line) {
  while (r->at < r->text.length) {
    uint32_t begin = r->at;
    while (r->at < r->text.length && r->text.data[r->at] != '\n') {
      r->at++;
    }
    *line = (Str){r->text.data + begin, r->at - begin};
    if (line->length && line->data[line->length - 1] == '\r') line->length--;
    if (r->at < r->text.length) r->at++;
    r->line++;
    Str words = trim(*line);
    if (words.length && words.data[0] != '#') return true;
  }
  return false;
}

/// What parts the cells: a semicolon or a tabulator where the first line has one, as spreadsheets
/// write them where the comma is the decimal sign; else the comma.
static char separator_of(Str line) {
  if (memchr(line.data, ';', line.length)) return ';';
  return memchr(line.data, '\t', line.length) ? '\t' : ',';
}

/// Cell `column` (1-based) of a line; false when the line is too short.
static bool cell_of(Str line, char separator, uint32_t column, Str* cell) {
  uint32_t begin = 0;
  for (uint32_t k = 1;; k++) {
    uint32_t end = begin;
    while (end < line.length && line.data[end] != separator) {
      end++;
    }
    if (k == column) {
      *cell = trim((Str){line.data + begin, end - begin});
      return true;
    }
    if (end == line.length) return false;
    begin = end + 1;
  }
}

static uint32_t cell_count(Str line, char separator) {
  uint32_t count = 1;
  for (uint32_t i = 0; i < line.length; i++) {
    count += line.data[i] == separator;
  }
  return count;
}

/// A table as it is read.
typedef struct DataTable {
  char separator;
  char decimal;      // the sign that was met first in a number: a point or a comma; 0: none yet
  uint32_t columns;  // of the first line
  uint32_t column;   // of the values
  Str no_number;     // a cell that should be one
  BASE_VEC(double) x, y;
} DataTable;

/// A number with a point, or with a comma where that parts no cells.
static bool cell_number(const DataTable* table, Str cell, char* decimal, double* value) {
  char text[64];
  const char* comma = cell.length ? memchr(cell.data, ',', cell.length) : NULL;
  const char* point = cell.length ? memchr(cell.data, '.', cell.length) : NULL;
  *decimal = (char)(point ? '.' : comma ? ',' : '\0');
  if (comma && (point || table->separator == ',' || cell.length >= sizeof text)) return false;
  if (comma) {
    memcpy(text, cell.data, cell.length);
    text[comma - cell.data] = '.';
    cell.data = text;
  }
  return cell.length && number_read(cell, true, value) == cell.length && isfinite(*value);
}

/// How many columns have this heading, and the last one of them.
static uint32_t find_column(Str heading, char separator, Str name, uint32_t* column) {
  uint32_t count = 0;
  Str cell;
  for (uint32_t k = 1; cell_of(heading, separator, k, &cell); k++) {
    if (!str_equal(cell, name)) continue;
    *column = k;
    count++;
  }
  return count;
}

/// A cell of a row as a number; what is wrong with it, or NULL.
static const char* read_cell(DataTable* table, Str line, uint32_t column, double* value) {
  static const char* const wrong[] = {"the value is not a number",
                                      "the first column is not a number"};
  Str cell;
  char decimal = '\0';
  if (!cell_of(line, table->separator, column, &cell)) return "there are not so many columns";
  if (!cell_number(table, cell, &decimal, value)) {
    table->no_number = cell;
    return wrong[column == 1];
  }
  // 1.234 beside 0,5 may mean a thousand and more: nobody can tell
  if (decimal && table->decimal && decimal != table->decimal) {
    return "decimal points and decimal commas are mixed";
  }
  if (decimal) table->decimal = decimal;
  return NULL;
}

/// One row of numbers behind those before it; what is wrong with it, or NULL.
static const char* read_row(Lower* l, DataTable* table, Str line) {
  double x = 0.0;
  double y = 0.0;
  uint32_t cells = cell_count(line, table->separator);
  if (cells != table->columns) {
    return cells < table->columns ? "there are fewer cells than in the first line"
                                  : "there are more cells than in the first line";
  }
  const char* wrong = read_cell(table, line, 1, &x);
  if (!wrong) wrong = read_cell(table, line, table->column, &y);
  if (wrong) return wrong;
  if (table->x.count) {
    double run = x - table->x.data[table->x.count - 1];
    double rise = y - table->y.data[table->y.count - 1];
    if (run <= 0.0) return "the first column does not increase";
    if (!isfinite(run) || !isfinite(rise / run)) return "the value changes too steeply for numbers";
  }
  if (table->x.count >= DATA_ROW_MAX) return "there are too many rows";
  base_vec_push(l->arena, &table->x, x);
  base_vec_push(l->arena, &table->y, y);
  return NULL;
}

/// Whether the first line holds names.
static bool is_heading(const DataTable* table, Str line) {
  Str cell;
  char decimal = '\0';
  double number = 0.0;
  return cell_of(line, table->separator, 1, &cell) && !cell_number(table, cell, &decimal, &number);
}

/// A line that cannot be used, and what stands there.
static void report_line(Lower* l, const DataTable* table, uint32_t line, Span span,
                        const char* wrong) {
  Diag* diag = lower_report(l, DIAG_E0212, span, "line %u of the file: %s", line, wrong);
  uint32_t length = table->no_number.length < 40 ? table->no_number.length : 40;
  if (length > 0) {
    diag_hint(l->diags, diag,
              "the cell says `%.*s`; numbers are written 1234.5, or 1234,5 where no commas "
              "separate cells",
              (int)length, table->no_number.data);
  }
}

static bool read_rows(Lower* l, DataReader* r, const DataOptions* options, Span span,
                      DataTable* table) {
  Str line;
  Str heading_line = {NULL, 0};
  table->column = options->column;
  while (next_line(r, &line)) {
    bool first = table->columns == 0;
    if (line.length && memchr(line.data, '\0', line.length)) {
      Diag* diag = lower_report(l, DIAG_E0212, span, "line %u of the file: a NUL byte stands there",
                                r->line);
      diag_hint(l->diags, diag, "is this a text file? save it with the encoding UTF-8");
      return false;
    }
    if (first) {
      table->separator = separator_of(line);
      table->columns = cell_count(line, table->separator);
    }
    bool heading = first && (table->column == 0 || is_heading(table, line));
    if (heading && table->column == 0) {
      uint32_t found = find_column(line, table->separator, options->column_name, &table->column);
      if (found > 1) {
        lower_report(l, DIAG_E0212, options->column_span, "the file has %u columns '%.*s'", found,
                     STR_ARGS(options->column_name));
        return false;
      }
      heading_line = line;
      if (found == 0) break;
    }
    const char* wrong = heading ? NULL : read_row(l, table, line);
    if (!wrong) continue;
    report_line(l, table, r->line, span, wrong);
    return false;
  }
  if (table->column == 0) {
    Diag* diag = lower_report(l, DIAG_E0212, options->column_span, "the file has no column '%.*s'",
                              STR_ARGS(options->column_name));
    uint32_t length = heading_line.length < 100 ? heading_line.length : 100;
    if (length > 0) {
      diag_hint(l->diags, diag, "its first line is `%.*s`", (int)length, heading_line.data);
    }
    return false;
  }
  if (table->x.count >= 2) return true;
  lower_report(l, DIAG_E0212, span, "the file has fewer than two rows of numbers");
  return false;
}

/// The folder of an included file, as seen from the model's; empty for the model itself.
static Str included_folder(const Lower* l, uint32_t offset) {
  const SourcePart* part = source_part(l->source, offset);
  if (!part) return (Str){0};
  Str folder = part->asked;
  while (folder.length && folder.data[folder.length - 1] != '/') {
    folder.length--;
  }
  return folder;
}

static bool load(Lower* l, const AstData* data, Str* content) {
  if (!l->options->load_file) {
    lower_report(l, DIAG_E0211, data->file_span, "data files cannot be read here");
    return false;
  }
  Str folder = included_folder(l, data->file_span.begin);
  if (folder.length && data->file.length && data->file.data[0] != '/') {
    Str beside = str_format(l->scratch, "%.*s%.*s", STR_ARGS(folder), STR_ARGS(data->file));
    if (l->options->load_file(l->options->user, beside, l->scratch, content) >= 0) return true;
  }
  Str file = str_copy(l->scratch, data->file);
  SltStatus status = l->options->load_file(l->options->user, file, l->scratch, content);
  if (status >= 0) return true;
  Diag* diag = lower_report(l, DIAG_E0211, data->file_span, "the file '%.*s' cannot be read%s",
                            STR_ARGS(file), file_problem(status));
  bool searched = status == SLT_ERR_IO || status == SLT_ERR_NOT_FOUND;
  const char* where = folder.length ? "it is looked for beside this file and beside the model"
                                    : "it is looked for in the folder of the model";
  if (searched) diag_hint(l->diags, diag, "%s", where);
  return false;
}

/// A function from outside: a table of nothing, which a run fills.
static uint32_t lower_foreign(Lower* l, const AstData* data, uint32_t name) {
  static const double points[2] = {0.0, 1.0};
  uint32_t index = lower_add_data(l, name, points, points, 2, IR_LINEAR, data->name.span);
  l->m->data.data[index].foreign = names_intern(&l->m->names, data->file);
  return index;
}

uint32_t lower_data(Lower* l, const AstStatement* statement, uint32_t name) {
  const AstData* data = statement->as.data;
  if (data->foreign) return lower_foreign(l, data, name);
  DataOptions options = {.column = 2};
  for (uint32_t i = 0; i < data->options.count; i++) {
    read_option(l, &data->options.data[i], &options);
  }
  Str content = {0};
  DataTable table = {0};
  bool fine = load(l, data, &content);
  DataReader reader = {.text = content};
  // a byte order mark, as spreadsheets write it
  if (content.length >= 3 && memcmp(content.data, "\xef\xbb\xbf", 3) == 0) reader.at = 3;
  fine = fine && read_rows(l, &reader, &options, data->file_span, &table);
  if (!fine) {
    // something valid, so that the uses of the table are checked as well
    table.x.count = table.y.count = 0;
    for (uint32_t i = 0; i < 2; i++) {
      base_vec_push(l->arena, &table.x, (double)i);
      base_vec_push(l->arena, &table.y, 0.0);
    }
  }
  return lower_add_data(l, name, table.x.data, table.y.data, table.x.count, options.interpolation,
                        data->name.span);
}
