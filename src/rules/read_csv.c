// SPDX-License-Identifier: MIT
//
// A table out of a CSV file (RFC 4180; a semicolon or a tab as separator is recognised by the
// header, as spreadsheets of many countries write it, and then a decimal comma too).
#include "rules/read.h"

#include <string.h>

typedef struct CsvScan {
  Reader* r;
  Str text;
  uint32_t base;
  uint32_t at;
  char separator;
} CsvScan;

/// The separator that stands most often in the first line, outside of quotes.
static char find_separator(Str text) {
  static const char candidates[3] = {',', ';', '\t'};
  uint32_t counts[3] = {0};
  bool quoted = false;
  for (uint32_t i = 0; i < text.length && (quoted || text.data[i] != '\n'); i++) {
    if (text.data[i] == '"') quoted = !quoted;
    for (uint32_t k = 0; k < 3 && !quoted; k++)
      counts[k] += text.data[i] == candidates[k];
  }
  uint32_t best = 0;
  for (uint32_t k = 1; k < 3; k++) {
    if (counts[k] > counts[best]) best = k;
  }
  return candidates[best];
}

static RawCell read_quoted(CsvScan* s, const RawTable* table) {
  uint32_t begin = s->at++;
  char* out = ARENA_ARRAY(s->r->arena, char, (size_t)(s->text.length - begin) + 1);
  uint32_t length = 0;
  for (;;) {
    if (s->at >= s->text.length) {
      rules_report(s->r, DIAG_E1006, table, NULL, COLUMN_COUNT,
                   (Span){s->base + begin, s->base + begin + 1}, "the quotes are not closed");
      break;
    }
    char c = s->text.data[s->at++];
    if (c == '"') {
      if (s->at >= s->text.length || s->text.data[s->at] != '"') break;
      s->at++;
    }
    out[length++] = c;
  }
  return (RawCell){.text = rules_trim((Str){out, length}),
                   .span = {s->base + begin, s->base + s->at}};
}

static bool at_line_end(const CsvScan* s) {
  return s->at >= s->text.length || s->text.data[s->at] == '\n' || s->text.data[s->at] == '\r';
}

/// Where the comma does not separate cells it may stand for the decimal point: 0,25 is 0.25.
static Str with_decimal_point(const CsvScan* s, Str cell) {
  const char* comma =
      s->separator == ',' || cell.length < 3 ? NULL : memchr(cell.data, ',', cell.length);
  if (!comma) return cell;
  uint32_t at = (uint32_t)(comma - cell.data);
  char* out = ARENA_ARRAY(s->r->arena, char, (size_t)cell.length + 1);
  memcpy(out, cell.data, cell.length);
  out[at] = '.';
  double value = 0.0;
  Str number = {out, cell.length};
  return number_read(number, true, &value) == number.length ? number : cell;
}

static RawCell read_cell(CsvScan* s, const RawTable* table) {
  if (s->at < s->text.length && s->text.data[s->at] == '"') {
    RawCell cell = read_quoted(s, table);
    while (!at_line_end(s) && s->text.data[s->at] != s->separator)
      s->at++;
    return cell;
  }
  uint32_t begin = s->at;
  while (!at_line_end(s) && s->text.data[s->at] != s->separator)
    s->at++;
  Str inner = rules_trim((Str){s->text.data + begin, s->at - begin});
  uint32_t first = s->base + (inner.length ? (uint32_t)(inner.data - s->text.data) : begin);
  return (RawCell){.text = with_decimal_point(s, inner), .span = {first, first + inner.length}};
}

/// Cells of one line; `s->at` moves behind it.
static uint32_t read_line(CsvScan* s, const RawTable* table, RawCell* cells) {
  uint32_t count = 0;
  for (;;) {
    RawCell cell = read_cell(s, table);
    if (count < RULES_COLUMNS_MAX + 1) cells[count++] = cell;
    if (at_line_end(s)) break;
    s->at++;
  }
  if (s->at < s->text.length && s->text.data[s->at] == '\r') s->at++;
  if (s->at < s->text.length && s->text.data[s->at] == '\n') s->at++;
  return count;
}

void rules_read_csv(Reader* r, uint32_t file) {
  const RawFile* f = &r->files.data[file];
  CsvScan s = {.r = r, .text = f->text, .base = f->begin, .separator = find_separator(f->text)};
  // a byte order mark, as spreadsheets write it
  if (s.text.length >= 3 && memcmp(s.text.data, "\xef\xbb\xbf", 3) == 0) s.at = 3;
  RawCell cells[RULES_COLUMNS_MAX + 2];
  RulesSection section = (RulesSection)f->csv_section;
  Str title = str_from_c(rules_section_title(section));
  uint32_t begin = s.at;
  uint32_t count = read_line(&s, NULL, cells);
  uint32_t whole = count;  // spreadsheets write as many separators in every line
  while (count > 1 && cells[count - 1].text.length == 0)
    count--;
  RawTable* table =
      rules_add_table(r, file, section, title, cells, count, (Span){s.base + begin, s.base + s.at});
  while (table && s.at < s.text.length) {
    begin = s.at;
    count = read_line(&s, table, cells);
    bool blank = count == 1 && cells[0].text.length == 0;
    if (count < whole && !blank) {
      rules_report(r, DIAG_E1005, table, NULL, COLUMN_COUNT, (Span){s.base + begin, s.base + s.at},
                   "this row has %u cells and the heading %u", count, whole);
    }
    while (count > 1 && cells[count - 1].text.length == 0)
      count--;
    uint32_t end = s.at;
    while (end > begin && (unsigned char)s.text.data[end - 1] <= ' ')
      end--;
    rules_add_row(r, table, cells, count, (Span){s.base + begin, s.base + end});
  }
}
