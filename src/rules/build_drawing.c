// SPDX-License-Identifier: MIT
//
// The tables of what is seen and touched beside a run. A drawing has a shape per row, its numbers
// in cells that are named after what they are; controls have a range or the values that can be
// chosen.
#include "rules/read.h"

#include <string.h>

#define TEXT_VALUES_MAX 100u

/// The columns of numbers, in the order in which a shape takes them.
static const RulesColumn number_columns[RULES_SHAPE_NUMBERS] = {
    COLUMN_X,  COLUMN_Y,  COLUMN_X2,   COLUMN_Y2,     COLUMN_X3,   COLUMN_Y3,
    COLUMN_X4, COLUMN_Y4, COLUMN_SIZE, COLUMN_HEIGHT, COLUMN_ANGLE};

RulesColumn rules_shape_column(uint32_t number) {
  return number_columns[number];
}

enum {
  POINT = 1u << 0 | 1u << 1,
  POINT2 = 1u << 2 | 1u << 3,
  POINT3 = 1u << 4 | 1u << 5,
  POINT4 = 1u << 6 | 1u << 7,
  SIZE = 1u << 8,
  HEIGHT = 1u << 9,
  ANGLE = 1u << 10
};

typedef struct ShapeForm {
  const char* kind;
  const char* names;
  uint32_t required, optional;  // masks of numbers
} ShapeForm;

static const ShapeForm forms[] = {
    {"circle", "circle|disc|круг|окружность", POINT | SIZE, 0},
    {"line", "line|линия|отрезок", POINT | POINT2, POINT3 | POINT4},
    {"polygon", "polygon|triangle|многоугольник|треугольник", POINT | POINT2 | POINT3, POINT4},
    {"rect", "rect|rectangle|прямоугольник", POINT | SIZE | HEIGHT, ANGLE},
    {"arrow", "arrow|стрелка", POINT | POINT2, 0},
    {"spring", "spring|пружина", POINT | POINT2, 0},
    {"trace", "trace|след", POINT, 0},
    {"text", "text|label|текст|надпись", POINT, 0},
};

static CellScan scan_cell(Builder* b, const MergedRow* row, RulesColumn column) {
  return (CellScan){.r = b->r,
                    .table = row->table,
                    .row = row->row,
                    .column = column,
                    .cell = rules_cell(row->table, row->row, column)};
}

static const ShapeForm* find_form(Builder* b, const MergedRow* row) {
  CellScan scan = scan_cell(b, row, COLUMN_SHAPE);
  Str word = rules_fold(b->r->arena, scan.cell.text);
  for (uint32_t i = 0; i < SLT_COUNT(forms); i++) {
    if (rules_in_list(forms[i].names, word)) return &forms[i];
  }
  if (word.length == 0) {
    rules_report(b->r, DIAG_E1011, row->table, row->row, COLUMN_SHAPE, scan.cell.span,
                 "the shape is missing");
    return NULL;
  }
  Diag* diag = rules_report(b->r, DIAG_E1016, row->table, row->row, COLUMN_SHAPE, scan.cell.span,
                            "'%.*s' is no shape", STR_ARGS(scan.cell.text));
  TextBuffer all = {.arena = b->r->arena};
  for (uint32_t i = 0; i < SLT_COUNT(forms); i++)
    text_append_format(&all, i ? ", %s" : "%s", forms[i].kind);
  diag_hint(b->r->diags, diag, "there are %.*s", STR_ARGS(text_str(&all)));
  return NULL;
}

/// "a circle takes x, y, size".
static void hint_form(Builder* b, Diag* diag, const ShapeForm* form, bool has_text) {
  TextBuffer all = {.arena = b->r->arena};
  for (uint32_t pass = 0; pass < 2; pass++) {
    uint32_t mask = pass ? form->optional : form->required;
    for (uint32_t k = 0; k < RULES_SHAPE_NUMBERS; k++) {
      if (!(mask & 1u << k)) continue;
      text_append_c(&all, text_str(&all).length ? ", " : "");
      text_append_format(&all, pass ? "[%s]" : "%s", rules_column_name(number_columns[k]));
    }
  }
  if (has_text) text_append_c(&all, ", text");
  diag_hint(b->r->diags, diag, "a %s takes %.*s and, if you like, a colour", form->kind,
            STR_ARGS(text_str(&all)));
}

/// Cells that are missing, and those that the shape has no use for.
static bool check_cells(Builder* b, const MergedRow* row, const ShapeForm* form, uint32_t given,
                        bool text_given) {
  bool has_text = strcmp(form->kind, "text") == 0;
  uint32_t missing = form->required & ~given;
  uint32_t useless = given & ~(form->required | form->optional);
  // points are pairs
  for (uint32_t k = 0; k < 8; k += 2) {
    uint32_t pair = given >> k & 3u;
    if (pair == 1u || pair == 2u) missing |= (pair ^ 3u) << k;
  }
  RulesColumn column = COLUMN_COUNT;
  for (uint32_t k = 0; k < RULES_SHAPE_NUMBERS && column == COLUMN_COUNT; k++) {
    if ((missing | useless) & 1u << k) column = number_columns[k];
  }
  bool lacks = column != COLUMN_COUNT ? missing != 0 : has_text && !text_given;
  if (column == COLUMN_COUNT && has_text != text_given) column = COLUMN_TEXT;
  if (column == COLUMN_COUNT) return true;
  RawCell cell = rules_cell(row->table, row->row, column);
  Diag* diag = rules_report(
      b->r, DIAG_E1048, row->table, row->row, column, cell.span.end ? cell.span : row->row->span,
      lacks ? "the %s lacks '%s'" : "a %s has no '%s'", form->kind, rules_column_name(column));
  hint_form(b, diag, form, has_text);
  return false;
}

static const RulesExpr* read_number(Builder* b, const CellScan* scan) {
  // a name fills its cell without backquotes, whatever is in it
  Str name = rules_cell_name(scan->cell);
  const RulesExpr* e = NULL;
  if (rules_lookup(b, name).kind != NAME_NONE) {
    RulesExpr* only = ARENA_NEW(b->r->arena, RulesExpr);
    *only = (RulesExpr){.op = RULES_OP_NAME, .name = name, .span = scan->cell.span};
    e = only;
  } else {
    e = rules_parse_value(scan);
  }
  return e && rules_resolve(b, scan, e, false) ? e : NULL;
}

/// Where the format of "{T:.1f}" begins between two places of a text.
static uint32_t format_begin(Str text, uint32_t begin, uint32_t end) {
  uint32_t at = end;
  while (at > begin && text.data[at - 1] != ':')
    at--;
  return at > begin && at < end && text.data[at] == '.' ? at - 1 : end;
}

/// The expressions in the braces of a text.
static bool read_text(Builder* b, const MergedRow* row, RulesShape* shape) {
  CellScan scan = scan_cell(b, row, COLUMN_TEXT);
  shape->text = scan.cell.text;
  if (shape->text.length && memchr(shape->text.data, '"', shape->text.length)) {
    Diag* diag = rules_report(b->r, DIAG_E1016, row->table, row->row, COLUMN_TEXT, scan.cell.span,
                              "a text of a drawing has no quotation marks");
    diag_hint(b->r->diags, diag, "write ' or “ instead");
    return false;
  }
  Str text = shape->text;
  for (uint32_t at = 0; at < text.length; at++) {
    if (text.data[at] != '{') continue;
    uint32_t end = at + 1;
    while (end < text.length && text.data[end] != '}')
      end++;
    uint32_t stop = format_begin(text, at + 1, end);
    CellScan inner = scan;
    inner.cell.text = rules_trim((Str){text.data + at + 1, stop - at - 1});
    RulesTextValue value = {.begin = at + 1, .end = stop, .expr = read_number(b, &inner)};
    if (!value.expr || shape->values.count >= TEXT_VALUES_MAX) return false;
    base_vec_push(b->r->arena, &shape->values, value);
    at = end;
  }
  return true;
}

static bool read_colour(Builder* b, const MergedRow* row, RulesShape* shape) {
  CellScan scan = scan_cell(b, row, COLUMN_COLOUR);
  shape->colour = scan.cell.text;
  for (uint32_t i = 0; i < shape->colour.length; i++) {
    char c = shape->colour.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool digit = c >= '0' && c <= '9' && shape->colour.data[0] == '#';
    if (letter || digit || (c == '#' && i == 0)) continue;
    Diag* diag = rules_report(b->r, DIAG_E1016, row->table, row->row, COLUMN_COLOUR, scan.cell.span,
                              "'%.*s' is no colour", STR_ARGS(shape->colour));
    diag_hint(b->r->diags, diag, "a colour is an English word or a number: tomato, #c33");
    return false;
  }
  return true;
}

void rules_build_drawing(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_DRAWING];
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    const ShapeForm* form = find_form(b, row);
    if (!form) continue;
    RulesShape shape = {.label = row->key, .kind = form->kind, .span = row->row->span};
    uint32_t given = 0;
    bool good = true;
    for (uint32_t k = 0; k < RULES_SHAPE_NUMBERS; k++) {
      CellScan scan = scan_cell(b, row, number_columns[k]);
      if (scan.cell.text.length == 0) continue;
      given |= 1u << k;
      shape.numbers[k] = read_number(b, &scan);
      good = good && shape.numbers[k];
    }
    bool text = rules_cell(row->table, row->row, COLUMN_TEXT).text.length > 0;
    good = good && check_cells(b, row, form, given, text) && read_text(b, row, &shape) &&
           read_colour(b, row, &shape);
    if (good) base_vec_push(b->r->arena, &b->m->shapes, shape);
  }
}

// ---- controls
// -------------------------------------------------------------------------------------

/// Where the next value of a list ends: at `separator` outside of backquotes.
static uint32_t part_end(Str text, uint32_t at, char separator) {
  bool quoted = false;
  for (; at < text.length; at++) {
    if (text.data[at] == '`') quoted = !quoted;
    if (text.data[at] == separator && !quoted) break;
  }
  return at;
}

/// "0 : 2" or "1, 2, 5", of constants; false after an error.
static bool read_range(Builder* b, const CellScan* scan, RulesControl* control) {
  Str text = scan->cell.text;
  control->range = part_end(text, 0, ':') < text.length;
  for (uint32_t at = 0; at < text.length;) {
    uint32_t end = part_end(text, at, control->range ? ':' : ',');
    CellScan part = *scan;
    part.cell.text = rules_trim((Str){text.data + at, end - at});
    const RulesExpr* e = rules_parse_value(&part);
    if (!e || !rules_resolve(b, &part, e, true)) return false;
    base_vec_push(b->r->arena, &control->values, rules_constant_value(b->m, e));
    at = end + 1;
  }
  const double* values = control->values.data;
  if (!control->range || (control->values.count == 2 && values[0] < values[1])) return true;
  Diag* diag = rules_report(b->r, DIAG_E1049, scan->table, scan->row, scan->column, scan->cell.span,
                            "this is no range");
  diag_hint(b->r->diags, diag, "write the lowest and the highest value, 0 : 10, or all: 0, 1");
  return false;
}

void rules_build_controls(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_CONTROLS];
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    CellScan scan = scan_cell(b, row, COLUMN_NAME);
    RulesControl control = {.name = rules_cell_name(scan.cell), .span = row->row->span};
    NameEntry entry = rules_lookup(b, control.name);
    bool logical = entry.kind == NAME_STATE && b->m->states.data[entry.index].logical;
    RulesExpr name = {.op = RULES_OP_NAME, .name = control.name, .span = scan.cell.span};
    if (!logical && !rules_resolve(b, &scan, &name, false)) continue;
    scan = scan_cell(b, row, COLUMN_RANGE);
    if (!read_range(b, &scan, &control)) continue;
    if (logical && control.values.count == 0) {
      base_vec_push(b->r->arena, &control.values, 0.0);
      base_vec_push(b->r->arena, &control.values, 1.0);
    }
    base_vec_push(b->r->arena, &b->m->controls, control);
  }
}
