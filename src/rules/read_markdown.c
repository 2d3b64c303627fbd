// SPDX-License-Identifier: MIT
//
// Tables out of a Markdown document: headings select the section, everything else is prose.
#include "rules/read.h"

#include <string.h>

// ---- tables of any source
// -------------------------------------------------------------------------

Diag* rules_report(Reader* r, DiagCode code, const RawTable* table, const RawRow* row,
                   RulesColumn column, Span span, const char* format, ...) {
  TextBuffer text = {.arena = r->arena};
  if (table) {
    Str title = table->title.length ? table->title
                                    : str_from_c(rules_section_title((RulesSection)table->section));
    text_append_format(&text, "table '%.*s'", STR_ARGS(title));
    if (row) text_append_format(&text, ", row %u", row->number);
    if (column < COLUMN_COUNT) {
      Str shown = str_from_c(rules_column_name(column));
      for (uint32_t i = 0; i < table->column_count; i++) {
        if (table->columns[i] == column) shown = table->header[i].text;
      }
      text_append_format(&text, ", column '%.*s'", STR_ARGS(shown));
    }
    text_append_c(&text, ": ");
  }
  va_list args;
  va_start(args, format);
  text_append_format_va(&text, format, args);
  va_end(args);
  Str message = text_str(&text);
  return diag_add(r->diags, code, span, "%.*s", STR_ARGS(message));
}

/// Each column once, but pairs of parameter and value any number of times.
static bool is_repeated(const RawTable* table, uint32_t upto, RulesColumn column) {
  if (column == COLUMN_COMMENT || column == COLUMN_PARAMETER) return false;
  if (column == COLUMN_VALUE && table->section == RULES_SECTION_RULES) return false;
  for (uint32_t i = 0; i < upto; i++) {
    if (table->columns[i] == column) return true;
  }
  return false;
}

static void unknown_column(Reader* r, const RawTable* table, const RawCell* cell, Str word) {
  Diag* diag = rules_report(r, DIAG_E1003, table, NULL, COLUMN_COUNT, cell->span,
                            "there is no column '%.*s' in this table", STR_ARGS(cell->text));
  uint32_t best = 3;
  RulesColumn near = COLUMN_COUNT;
  for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
    if (!rules_section_has((RulesSection)table->section, (RulesColumn)i)) continue;
    uint32_t distance = str_distance(str_from_c(rules_column_name((RulesColumn)i)), word, best);
    if (distance >= best) continue;
    best = distance;
    near = (RulesColumn)i;
  }
  if (near < COLUMN_COUNT) {
    diag_hint(r->diags, diag, "did you mean '%s'?", rules_column_name(near));
  } else {
    TextBuffer list = {.arena = r->arena};
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
      if (!rules_section_has((RulesSection)table->section, (RulesColumn)i)) continue;
      text_append_format(&list, "%s%s", text_str(&list).length ? ", " : "",
                         rules_column_name((RulesColumn)i));
    }
    Str known = text_str(&list);
    diag_hint(r->diags, diag, "the columns of this table are %.*s", STR_ARGS(known));
  }
}

RawTable* rules_add_table(Reader* r, uint32_t file, RulesSection section, Str title,
                          const RawCell* header, uint32_t count, Span span) {
  RawTable table = {.section = (uint8_t)section, .title = title, .file = file};
  table.header = ARENA_ARRAY(r->arena, RawCell, count + 1);
  table.columns = ARENA_ARRAY(r->arena, uint8_t, count + 1);
  table.column_count = count;
  if (count > RULES_COLUMNS_MAX) {
    rules_report(r, DIAG_E1010, &table, NULL, COLUMN_COUNT, span,
                 "a table has at most %u columns; this one has %u", RULES_COLUMNS_MAX, count);
    return NULL;
  }
  for (uint32_t i = 0; i < count; i++) {
    table.header[i] = header[i];
    Str word = rules_fold(r->arena, header[i].text);
    RulesColumn column = word.length ? rules_find_column(section, word) : COLUMN_COMMENT;
    if (column == COLUMN_COUNT) {
      unknown_column(r, &table, &header[i], word);
      column = COLUMN_COMMENT;
    } else if (is_repeated(&table, i, column)) {
      rules_report(r, DIAG_E1004, &table, NULL, COLUMN_COUNT, header[i].span,
                   "the column '%.*s' stands here twice", STR_ARGS(header[i].text));
      column = COLUMN_COMMENT;
    }
    table.columns[i] = (uint8_t)column;
  }
  base_vec_push(r->arena, &r->tables, table);
  return &r->tables.data[r->tables.count - 1];
}

void rules_add_row(Reader* r, RawTable* table, const RawCell* cells, uint32_t count, Span span) {
  RawRow row = {.number = table->rows.count + 1, .span = span};
  if (++r->row_count > RULES_ROWS_MAX) {
    if (r->row_count == RULES_ROWS_MAX + 1) {
      rules_report(r, DIAG_E1010, table, &row, COLUMN_COUNT, span, "a model has at most %u rows",
                   RULES_ROWS_MAX);
    }
    return;
  }
  if (count > table->column_count) {
    rules_report(r, DIAG_E1005, table, &row, COLUMN_COUNT, cells[table->column_count].span,
                 "this row has %u cells and the table %u columns", count, table->column_count);
    count = table->column_count;
  }
  row.cells = ARENA_ARRAY(r->arena, RawCell, (size_t)table->column_count + 1);
  bool empty = true;
  for (uint32_t i = 0; i < table->column_count; i++) {
    row.cells[i] = i < count ? cells[i] : (RawCell){.span = {span.end, span.end}};
    empty = empty && row.cells[i].text.length == 0;
  }
  if (!empty) base_vec_push(r->arena, &table->rows, row);
}

// ---- Markdown
// -------------------------------------------------------------------------------------

typedef struct MdScan {
  Reader* r;
  uint32_t file;
  Str text;
  uint32_t base;  // of the file in the whole text
  RulesSection section;
  Str title;
  RawTable* table;  // the one being read
  bool fenced;
} MdScan;

static Str scan_line(Str text, uint32_t at) {
  uint32_t end = at;
  while (end < text.length && text.data[end] != '\n')
    end++;
  return (Str){text.data + at, end - at};
}

static bool is_punctuation(char c) {
  return c > ' ' && c < 127 &&
         !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
}

/// Trimmed text of a cell with backslash escapes resolved. Inside backquotes only \| is one.
static Str cell_text(Arena* arena, Str raw) {
  char* out = ARENA_ARRAY(arena, char, (size_t)raw.length + 1);
  uint32_t length = 0;
  bool quoted = false;
  for (uint32_t i = 0; i < raw.length; i++) {
    char c = raw.data[i];
    if (c == '`') quoted = !quoted;
    bool escape = c == '\\' && i + 1 < raw.length && is_punctuation(raw.data[i + 1]) &&
                  (!quoted || raw.data[i + 1] == '|');
    if (escape) c = raw.data[++i];
    out[length++] = c;
  }
  return rules_trim((Str){out, length});
}

/// Cells of a line; the empty ones outside of the outer bars do not count.
static uint32_t split_line(const MdScan* s, Str line, uint32_t begin, RawCell* cells) {
  Str rest = rules_trim(line);
  uint32_t at = begin + (uint32_t)(rest.data - line.data);
  uint32_t end = at + rest.length;
  const char* text = s->text.data;
  if (at < end && text[at] == '|') at++;
  uint32_t count = 0;
  while (at <= end && count < RULES_COLUMNS_MAX + 1) {
    uint32_t stop = at;
    while (stop < end && text[stop] != '|')
      stop += text[stop] == '\\' && stop + 1 < end ? 2 : 1;
    if (stop >= end && stop == at) break;  // behind the last bar
    Str raw = {text + at, stop - at};
    Str inner = rules_trim(raw);
    uint32_t first = s->base + (inner.length ? (uint32_t)(inner.data - text) : at);
    cells[count++] =
        (RawCell){.text = cell_text(s->r->arena, raw), .span = {first, first + inner.length}};
    at = stop + 1;
  }
  return count;
}

/// |---|:---:|---|
static bool is_delimiter(Str line) {
  line = rules_trim(line);
  bool dash = false;
  bool bar = false;
  for (uint32_t i = 0; i < line.length; i++) {
    char c = line.data[i];
    dash = dash || c == '-';
    bar = bar || c == '|';
    if (!strchr("|-: \t", c)) return false;
  }
  return dash && bar;
}

static bool has_bar(Str line) {
  for (uint32_t i = 0; i < line.length; i++) {
    if (line.data[i] == '\\') {
      i++;
    } else if (line.data[i] == '|') {
      return true;
    }
  }
  return false;
}

static void read_heading(MdScan* s, Str line) {
  Str title = rules_trim(line);
  while (title.length && title.data[0] == '#') {
    title.data++;
    title.length--;
  }
  title = rules_trim(title);
  while (title.length && title.data[title.length - 1] == '#')
    title.length--;
  title = rules_trim(title);
  s->section = rules_find_section(rules_fold(s->r->arena, title));
  s->title = title;
}

static Span line_span(const MdScan* s, Str line, uint32_t begin) {
  Str inner = rules_trim(line);
  uint32_t first = s->base + begin + (uint32_t)(inner.data - line.data);
  return (Span){first, first + inner.length};
}

/// The line at `at` is no part of a table yet: a heading, a table's first line, or prose. Returns
/// how many lines were used.
static uint32_t read_outside(MdScan* s, Str line, uint32_t at) {
  Str inner = rules_trim(line);
  uint32_t hashes = 0;
  while (hashes < inner.length && inner.data[hashes] == '#')
    hashes++;
  if (hashes > 0 && hashes <= 6 && (hashes == inner.length || inner.data[hashes] == ' ')) {
    read_heading(s, line);
    return 1;
  }
  uint32_t next = at + line.length + 1;
  if (!has_bar(line) || next > s->text.length) return 1;
  Str second = scan_line(s->text, next);
  if (!is_delimiter(second)) return 1;
  RawCell cells[RULES_COLUMNS_MAX + 2];
  uint32_t count = split_line(s, line, at, cells);
  if (s->section == RULES_SECTION_NONE) {
    s->table = NULL;
    return 2;  // a table that is prose: its rows are as well
  }
  s->table =
      rules_add_table(s->r, s->file, s->section, s->title, cells, count, line_span(s, line, at));
  return 2;
}

static void read_table_row(MdScan* s, Str line, uint32_t at) {
  RawCell cells[RULES_COLUMNS_MAX + 2];
  uint32_t count = split_line(s, line, at, cells);
  rules_add_row(s->r, s->table, cells, count, line_span(s, line, at));
}

void rules_read_markdown(Reader* r, uint32_t file) {
  MdScan s = {
      .r = r, .file = file, .text = r->files.data[file].text, .base = r->files.data[file].begin};
  uint32_t at = 0;
  while (at < s.text.length) {
    Str line = scan_line(s.text, at);
    Str inner = rules_trim(line);
    uint32_t used = 1;
    bool fence = inner.length >= 3 &&
                 (memcmp(inner.data, "```", 3) == 0 || memcmp(inner.data, "~~~", 3) == 0);
    if (fence) s.fenced = !s.fenced;
    if (fence || s.fenced) {
      s.table = NULL;
    } else if (s.table && has_bar(line)) {
      read_table_row(&s, line, at);
    } else {
      s.table = NULL;
      used = read_outside(&s, line, at);
    }
    for (uint32_t i = 0; i < used && at < s.text.length; i++) {
      at += scan_line(s.text, at).length + 1;
    }
  }
}
