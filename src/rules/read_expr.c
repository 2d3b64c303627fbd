// SPDX-License-Identifier: MIT
//
// What stands in a cell: values, relations, lists of names.
//
//   and  = rel { ("and" | "и" | "&") rel }
//   rel  = sum { ("<" | "<=" | ">" | ">=") sum }        a <= x < b is (a <= x) and (x < b)
//   sum  = term { ("+" | "-") term }
//   term = sign { ("*" | "/") sign }
//   sign = "-" sign | "(" and ")" | "|" sum "|" | "abs" "(" sum ")" | number | name
//
// A name is in backquotes, or is words separated by single blanks.
#include "rules/read.h"

#include <string.h>

typedef struct Parser {
  const CellScan* scan;
  Str text;
  uint32_t at;
  uint32_t depth;
  uint32_t nodes;
  bool failed;
} Parser;

static const RulesExpr* parse_and(Parser* p);

/// What to write instead, by what stands at the place that was not understood.
static const char* hint_at(const Parser* p) {
  char c = p->at < p->text.length ? p->text.data[p->at] : '\0';
  char next = p->at + 1 < p->text.length ? p->text.data[p->at + 1] : '\0';
  bool digit_before = p->at > 0 && p->text.data[p->at - 1] >= '0' && p->text.data[p->at - 1] <= '9';
  if (c == ',' && digit_before && next >= '0' && next <= '9') {
    return "a decimal number is written with a point: 0.25";
  }
  if (c == '=') return "a relation is one of <, <=, >, >=; a range is written 0 <= x < 5";
  if (c == '^') return "a power is a rule of its own, with the procedure 'power'";
  return "a name with blanks, operators or commas stands in backquotes: `h height` < 30";
}

static void fail(Parser* p, const char* what) {
  if (p->failed) return;
  p->failed = true;
  const CellScan* s = p->scan;
  Str rest = {p->text.data + p->at, p->text.length - p->at};
  if (rest.length > 40) {
    rest.length = 40;  // not within a character
    while (rest.length && ((unsigned char)rest.data[rest.length] & 0xc0) == 0x80)
      rest.length--;
  }
  Diag* diag =
      rules_report(s->r, DIAG_E1020, s->table, s->row, s->column, s->cell.span,
                   rest.length ? "%s at '%.*s'" : "%s at the end%.*s", what, STR_ARGS(rest));
  diag_hint(s->r->diags, diag, "%s", hint_at(p));
}

static void skip_blanks(Parser* p) {
  while (p->at < p->text.length && (unsigned char)p->text.data[p->at] <= ' ')
    p->at++;
}

/// Take one of the spellings (separated by a blank) of an operator.
static bool take(Parser* p, const char* spellings) {
  skip_blanks(p);
  while (*spellings) {
    size_t length = strcspn(spellings, " ");
    if (p->text.length - p->at >= length && memcmp(p->text.data + p->at, spellings, length) == 0) {
      p->at += (uint32_t)length;
      return true;
    }
    spellings += length;
    while (*spellings == ' ')
      spellings++;
  }
  return false;
}

static bool is_operator_here(const Parser* p) {
  static const char* const signs[] = {"≤", "≥", "−", "×", "·", "∧"};
  for (uint32_t i = 0; i < SLT_COUNT(signs); i++) {
    size_t length = strlen(signs[i]);
    if (p->text.length - p->at >= length && memcmp(p->text.data + p->at, signs[i], length) == 0) {
      return true;
    }
  }
  return false;
}

/// Bytes of a word: letters of any script, digits, `_`, `.`, `'`, `%`, `°`.
static uint32_t word_length(const Parser* p) {
  Parser q = *p;
  while (q.at < q.text.length) {
    unsigned char c = (unsigned char)q.text.data[q.at];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '.' || c == '\'' || c == '%' || c == '#';
    if (!letter && (c < 0x80 || is_operator_here(&q))) break;
    q.at++;
  }
  return q.at - p->at;
}

static bool take_word(Parser* p, const char* first, const char* second) {
  skip_blanks(p);
  uint32_t length = word_length(p);
  Str word = {p->text.data + p->at, length};
  if (!str_equal(word, str_from_c(first)) && !str_equal(word, str_from_c(second))) return false;
  p->at += length;
  return true;
}

static RulesExpr* make(Parser* p, RulesOp op, const RulesExpr* a, const RulesExpr* b) {
  if (++p->nodes > RULES_NODES_MAX) fail(p, "this is too long");
  RulesExpr* e = ARENA_NEW(p->scan->r->arena, RulesExpr);
  *e = (RulesExpr){.op = (uint8_t)op, .a = a, .b = b, .span = p->scan->cell.span};
  return e;
}

/// Words separated by single blanks are one name, except before `and`.
static Str read_name(Parser* p) {
  uint32_t begin = p->at;
  p->at += word_length(p);
  for (;;) {
    Parser next = *p;
    skip_blanks(&next);
    uint32_t length = word_length(&next);
    Str word = {next.text.data + next.at, length};
    if (next.at != p->at + 1 || length == 0) break;
    if (str_equal(word, STR_LIT("and")) || str_equal(word, STR_LIT("и"))) break;
    p->at = next.at + length;
  }
  return (Str){p->text.data + begin, p->at - begin};
}

static const RulesExpr* parse_bars(Parser* p) {
  const RulesExpr* inside = parse_and(p);
  if (!take(p, "|")) fail(p, "the second | of an absolute value is missing");
  return make(p, RULES_OP_ABS, inside, NULL);
}

static const RulesExpr* parse_bracket(Parser* p) {
  const RulesExpr* inside = parse_and(p);
  if (!take(p, ")")) fail(p, "a closing bracket is missing");
  return inside;
}

static const RulesExpr* parse_primary(Parser* p) {
  skip_blanks(p);
  if (p->at >= p->text.length) {
    fail(p, "a name or a number is missing");
    return NULL;
  }
  if (take(p, "(")) return parse_bracket(p);
  if (take(p, "|")) return parse_bars(p);
  Str rest = {p->text.data + p->at, p->text.length - p->at};
  double value = 0.0;
  uint32_t digits = number_read(rest, false, &value);
  uint32_t word = word_length(p);
  if (digits > 0 && digits >= word) {
    p->at += digits;
    RulesExpr* e = make(p, RULES_OP_NUMBER, NULL, NULL);
    e->value = value;
    if (value - value != 0.0) fail(p, "a number is too large");
    return e;
  }
  RulesExpr* e = make(p, RULES_OP_NAME, NULL, NULL);
  if (rest.data[0] == '`') {
    const char* end = rest.length > 1 ? memchr(rest.data + 1, '`', rest.length - 1) : NULL;
    if (!end) {
      fail(p, "the second backquote is missing");
      return NULL;
    }
    e->name = rules_trim((Str){rest.data + 1, (uint32_t)(end - rest.data) - 1});
    p->at += (uint32_t)(end - rest.data) + 1;
    return e;
  }
  if (word == 0) {
    fail(p, "a name or a number is missing");
    return NULL;
  }
  e->name = read_name(p);
  bool call = str_equal(e->name, STR_LIT("abs")) || str_equal(e->name, STR_LIT("модуль"));
  if (call && take(p, "(")) return make(p, RULES_OP_ABS, parse_bracket(p), NULL);
  return e;
}

static const RulesExpr* parse_sign(Parser* p) {
  if (++p->depth > RULES_DEPTH_MAX) {
    fail(p, "this is nested too deeply");
    p->depth--;
    return NULL;
  }
  const RulesExpr* e = NULL;
  if (take(p, "- −")) {
    e = make(p, RULES_OP_NEG, parse_sign(p), NULL);
  } else {
    take(p, "+");
    e = parse_primary(p);
  }
  p->depth--;
  return e;
}

static const RulesExpr* parse_term(Parser* p) {
  const RulesExpr* e = parse_sign(p);
  while (!p->failed) {
    if (take(p, "* × ·")) {
      e = make(p, RULES_OP_MUL, e, parse_sign(p));
    } else if (take(p, "/")) {
      e = make(p, RULES_OP_DIV, e, parse_sign(p));
    } else {
      break;
    }
  }
  return e;
}

static const RulesExpr* parse_sum(Parser* p) {
  const RulesExpr* e = parse_term(p);
  while (!p->failed) {
    if (take(p, "+")) {
      e = make(p, RULES_OP_ADD, e, parse_term(p));
    } else if (take(p, "- −")) {
      e = make(p, RULES_OP_SUB, e, parse_term(p));
    } else {
      break;
    }
  }
  return e;
}

static RulesOp take_relation(Parser* p) {
  if (take(p, "<= ≤")) return RULES_OP_LE;
  if (take(p, ">= ≥")) return RULES_OP_GE;
  if (take(p, "<")) return RULES_OP_LT;
  if (take(p, ">")) return RULES_OP_GT;
  return RULES_OP_NUMBER;
}

static const RulesExpr* parse_rel(Parser* p) {
  const RulesExpr* left = parse_sum(p);
  const RulesExpr* all = NULL;
  while (!p->failed) {
    RulesOp op = take_relation(p);
    if (op == RULES_OP_NUMBER) break;
    const RulesExpr* right = parse_sum(p);
    const RulesExpr* one = make(p, op, left, right);
    all = all ? make(p, RULES_OP_AND, all, one) : one;
    left = right;
  }
  return all ? all : left;
}

static const RulesExpr* parse_and(Parser* p) {
  const RulesExpr* e = parse_rel(p);
  while (!p->failed) {
    if (!take(p, "&& & ∧") && !take_word(p, "and", "и")) break;
    e = make(p, RULES_OP_AND, e, parse_rel(p));
  }
  return e;
}

// ---- types
// ----------------------------------------------------------------------------------------

static bool is_boolean(const RulesExpr* e) {
  return e->op >= RULES_OP_LT;
}

/// Relations compare numbers, AND joins relations.
static bool well_typed(const RulesExpr* e) {
  if (!e) return true;
  if (e->op == RULES_OP_AND) {
    return is_boolean(e->a) && is_boolean(e->b) && well_typed(e->a) && well_typed(e->b);
  }
  bool fine = (!e->a || !is_boolean(e->a)) && (!e->b || !is_boolean(e->b));
  return fine && well_typed(e->a) && well_typed(e->b);
}

static const RulesExpr* parse_cell(const CellScan* scan, bool relation) {
  // a column the table does not have gives a cell without any text
  Parser p = {.scan = scan, .text = scan->cell.text.length ? scan->cell.text : STR_LIT("")};
  const RulesExpr* e = parse_and(&p);
  skip_blanks(&p);
  if (!p.failed && p.at < p.text.length) fail(&p, "an operator is missing");
  if (p.failed) return NULL;
  if (!well_typed(e) || is_boolean(e) != relation) {
    rules_report(scan->r, DIAG_E1021, scan->table, scan->row, scan->column, scan->cell.span,
                 relation ? "'%.*s' is no relation such as 'x < 5'"
                          : "'%.*s' is a relation, and a number is wanted",
                 STR_ARGS(scan->cell.text));
    return NULL;
  }
  return e;
}

const RulesExpr* rules_parse_value(const CellScan* scan) {
  return parse_cell(scan, false);
}

const RulesExpr* rules_parse_relation(const CellScan* scan) {
  return parse_cell(scan, true);
}

// ---- lists of names
// -------------------------------------------------------------------------------

static Str unquote(Str s) {
  s = rules_trim(s);
  bool quoted = s.length >= 2 && s.data[0] == '`' && s.data[s.length - 1] == '`' &&
                !memchr(s.data + 1, '`', s.length - 2);
  return quoted ? rules_trim((Str){s.data + 1, s.length - 2}) : s;
}

Str rules_cell_name(RawCell cell) {
  return unquote(cell.text);
}

/// Length of a word that joins literals at `s`, which begins at a blank or a sign; 0 for none.
static uint32_t joiner_length(Str s) {
  static const char* const joiners[] = {",", ";", "&&", "&", "∧", " and ", " и "};
  for (uint32_t i = 0; i < SLT_COUNT(joiners); i++) {
    uint32_t length = (uint32_t)strlen(joiners[i]);
    if (s.length >= length && memcmp(s.data, joiners[i], length) == 0) return length;
  }
  return 0;
}

static bool take_not(Str* s) {
  static const char* const words[] = {"not ", "не ", "NOT ", "НЕ ", "!", "¬", "~"};
  for (uint32_t i = 0; i < SLT_COUNT(words); i++) {
    uint32_t length = (uint32_t)strlen(words[i]);
    if (s->length < length || memcmp(s->data, words[i], length) != 0) continue;
    *s = rules_trim((Str){s->data + length, s->length - length});
    return true;
  }
  return false;
}

bool rules_next_literal(Str* rest, Str* name, bool* negated) {
  *rest = rules_trim(*rest);
  if (rest->length == 0) return false;
  bool quoted = false;
  uint32_t depth = 0;
  uint32_t at = 0;
  uint32_t joiner = 0;
  for (; at < rest->length; at++) {
    char c = rest->data[at];
    if (c == '`') quoted = !quoted;
    if (quoted) continue;
    if (c == '(') depth++;
    if (c == ')' && depth > 0) depth--;
    joiner = depth ? 0 : joiner_length((Str){rest->data + at, rest->length - at});
    if (joiner) break;
  }
  *name = rules_trim((Str){rest->data, at});
  *rest = (Str){rest->data + at + joiner, rest->length - at - joiner};
  *negated = false;
  while (take_not(name))
    *negated = !*negated;
  *name = unquote(*name);
  return true;
}
