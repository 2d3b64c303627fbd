// SPDX-License-Identifier: MIT
//
// What to write instead: hints for words and signs of other languages, and for what beginners leave
// out. Nothing here decides whether a text is right.
#include "base/unit.h"
#include "lisma/parser_internal.h"

#include <string.h>

typedef struct Foreign {
  const char* word;
  const char* hint;
} Foreign;

#define EVENT_HINT    "an event is a state: state NAME [x > 1] { set x = 0; } from init, NAME;"
#define CONST_HINT    "a constant is written const k = 1;"
#define DECLARE_HINT  "variables need no declaration; a value at the start is written x(t0) = 1;"
#define FUNCTION_HINT "a function is written function f(x) = x*x;"
#define PART_HINT     "a part is written part Tank(A = 1) { ... }, and used by Tank upper(A = 2);"
#define FRAME_HINT    "a model has no frame around it; its statements stand at the top level"
#define OUTPUT_HINT   "what is recorded is chosen by experiment { out = x, y; }"

/// Words that begin a statement elsewhere.
static const Foreign statement_foreign[] = {
    {"when", EVENT_HINT},
    {"event", EVENT_HINT},
    {"whenever", EVENT_HINT},
    {"param", CONST_HINT},
    {"parameter", CONST_HINT},
    {"constant", CONST_HINT},
    {"define", CONST_HINT},
    {"let", CONST_HINT},
    {"var", DECLARE_HINT},
    {"variable", DECLARE_HINT},
    {"real", DECLARE_HINT},
    {"Real", DECLARE_HINT},
    {"double", DECLARE_HINT},
    {"float", DECLARE_HINT},
    {"int", DECLARE_HINT},
    {"initial", DECLARE_HINT},
    {"def", FUNCTION_HINT},
    {"component", PART_HINT},
    {"block", PART_HINT},
    {"model", FRAME_HINT},
    {"system", FRAME_HINT},
    {"class", FRAME_HINT},
    {"equation", FRAME_HINT},
    {"equations", FRAME_HINT},
    {"print", OUTPUT_HINT},
    {"plot", OUTPUT_HINT},
    {"output", OUTPUT_HINT},
    {"end", "a block ends with '}'"},
    {"elseif", "write 'else if'"},
    {"elif", "write 'else if'"},
    {"while", "equations that hold while a condition does are written if (x > 1) { ... }"},
    {"invariant", "write invariant [relation];"},
    {"include", "the name of the file stands in quotes: include \"parts/electrical.lisma\";"},
    {"after", "the delay stands first, a number or a name: after 0.5 [x > 1] { ... }"},
};

static const char* foreign_hint(const AstName* name) {
  for (size_t i = 0; i < SLT_COUNT(statement_foreign); i++) {
    const Foreign* f = &statement_foreign[i];
    if (ast_name_is_word(name, str_from_c(f->word))) return f->hint;
  }
  return NULL;
}

static const char* const statement_words[] = {
    "const",   "macro",   "state",     "for",     "automaton", "set",      "delete", "goto",
    "stop",    "data",    "invariant", "contact", "friction",  "function", "part",   "port",
    "include", "connect", "after",     "every",   "measure",   "control",  "fmu",
};

const char* parser_nearest(Str name, const char* const* words, size_t count) {
  const char* nearest = NULL;
  uint32_t best = UINT32_MAX;
  for (size_t i = 0; i < count; i++) {
    Str word = str_from_c(words[i]);
    uint32_t limit = word.length > 4 ? 2 : 1;
    uint32_t distance = str_distance(name, word, limit);
    if (distance == 0 || distance > limit || distance >= best) continue;
    best = distance;
    nearest = words[i];
  }
  return nearest;
}

/// A misspelt word at the start of a statement, as in `cosnt a = 1;`.
static const char* nearest_word(const AstName* name) {
  if (!ast_name_is_plain(name)) return NULL;
  return parser_nearest(name->head, statement_words, SLT_COUNT(statement_words));
}

/// The word that a statement read like a call may begin with: `conect(a.p, b.p);`, `iff (x > 1) {`.
static const char* nearest_call(const Parser* p, const AstName* name) {
  const char* word = p->tok.kind == TOK_SEMICOLON ? "connect" : "if";
  bool fits = p->tok.kind == TOK_SEMICOLON || p->tok.kind == TOK_LBRACE;
  return fits && ast_name_is_plain(name) ? parser_nearest(name->head, &word, 1) : NULL;
}

void parser_report_word(Parser* p, Span span, const char* word) {
  parser_hint_word(p, diag_add(p->diags, DIAG_E0101, span, "a word is misspelt"), span, word);
}

void parser_hint_word(Parser* p, Diag* diag, Span span, const char* word) {
  diag->span = span;
  diag->message = str_format(p->diags->arena, "no statement begins with '%.*s'",
                             (int)(span.end - span.begin), p->source->text.data + span.begin);
  diag_hint(p->diags, diag, "did you mean '%s'?", word);
}

/// A word that begins a statement together with a name.
static bool is_naming_word(const AstName* name) {
  static const char* const words[] = {"set", "ic", "delete", "goto", "data", "contact", "friction"};
  for (size_t i = 0; i < SLT_COUNT(words); i++) {
    if (ast_name_is_word(name, str_from_c(words[i]))) return true;
  }
  return false;
}

Str lisma_word_hint(Arena* arena, const AstName* name, bool behind_state) {
  static const char* const from = "from";
  const char* foreign = foreign_hint(name);
  const char* word = behind_state ? parser_nearest(name->head, &from, 1) : NULL;
  if (!word) word = nearest_word(name);
  if (foreign) return str_from_c(foreign);
  return word ? str_format(arena, "did you mean '%s'?", word) : STR_LIT("");
}

void parser_hint_statement(Parser* p, Diag* diag, const AstExpr* lhs) {
  bool called = lhs->kind == AST_CALL;
  if (!called && lhs->kind != AST_NAME) return;
  const AstName* name = called ? lhs->as.call.callee : &lhs->as.name.name;
  const char* foreign = foreign_hint(name);
  const char* word = called ? nearest_call(p, name) : nearest_word(name);
  if (foreign) {
    diag_hint(p->diags, diag, "%s", foreign);
  } else if (word) {
    parser_hint_word(p, diag, name->span, word);
  } else if (!called && p->tok.kind == TOK_LBRACKET) {
    diag_hint(p->diags, diag, "an index stands directly behind its name: no space before '['");
  } else if (!called && is_naming_word(name)) {
    diag_hint(p->diags, diag, "'%.*s' is followed by a name", STR_ARGS(name->head));
  }
}

// ---------------------------------------------------------------------------------------------
// the end of a statement

static bool is_digit_at(const Parser* p, uint32_t at) {
  return at < p->source->text.length && p->source->text.data[at] >= '0' &&
         p->source->text.data[at] <= '9';
}

/// `1,5` where 1.5 was meant.
static bool is_decimal_comma(const Parser* p) {
  if (p->tok.kind != TOK_COMMA || p->tok.span.begin == 0) return false;
  return is_digit_at(p, p->tok.span.begin - 1) && is_digit_at(p, p->tok.span.end);
}

/// The word that ends where the present token's predecessor does, if it names a function.
static Str function_before(const Parser* p) {
  static const char* const names[] = {"sin",  "cos",  "tan", "tg", "asin", "acos", "atan", "sinh",
                                      "cosh", "tanh", "exp", "ln", "sqrt", "abs",  "sign", "log10"};
  const char* text = p->source->text.data;
  for (size_t i = 0; i < SLT_COUNT(names); i++) {
    Str name = str_from_c(names[i]);
    uint32_t end = p->previous_end;
    if (name.length > end || memcmp(text + end - name.length, name.data, name.length) != 0)
      continue;
    bool whole = name.length == end || strchr(" \t\n\r(+-*/^=,;{", text[end - name.length - 1]);
    if (whole) return name;
  }
  return STR_LIT("");
}

/// `2000 W`.
static bool is_bare_unit(const Parser* p) {
  Unit unit;
  bool number = p->previous_end && is_digit_at(p, p->previous_end - 1);
  return number && p->tok.kind == TOK_WORD && unit_read(parser_token_text(p, &p->tok), &unit);
}

/// Whether the token before the present one is a number, not a name with digits.
static bool is_behind_number(const Parser* p) {
  uint32_t begin = p->previous_end;
  while (begin > 0 && !strchr(" \t\n\r(+-*/^=,;{", p->source->text.data[begin - 1]))
    begin--;
  return begin < p->previous_end && (is_digit_at(p, begin) || p->source->text.data[begin] == '.');
}

/// `10 [m]`: what stands in the brackets behind a number; empty: nothing of the kind.
static Str bracketed_unit(const Parser* p) {
  Unit unit;
  if (p->tok.kind != TOK_LBRACKET || !is_behind_number(p)) return STR_LIT("");
  const char* text = p->source->text.data;
  uint32_t begin = p->tok.span.begin + 1;
  uint32_t end = begin;
  while (end < p->source->text.length && text[end] != ']' && text[end] != '\n')
    end++;
  Str inside = {text + begin, end - begin};
  return unit_read(inside, &unit) ? inside : STR_LIT("");
}

void parser_hint_end(Parser* p, Diag* diag) {
  if (p->tok.line_start) return;
  Str bracketed = bracketed_unit(p);
  if (bracketed.length) {
    diag_hint(p->diags, diag, "a unit stands in quotes behind its number: \"%.*s\"",
              STR_ARGS(bracketed));
    return;
  }
  if (is_decimal_comma(p)) {
    diag_hint(p->diags, diag, "a decimal number is written with a point, as in 1.5");
    return;
  }
  Str function = function_before(p);
  switch ((int)p->tok.kind) {
  case TOK_LBRACKET:
    diag_hint(p->diags, diag, "an index stands directly behind its name: no space before '['");
    break;
  case TOK_WORD:
  case TOK_QUOTED:
  case TOK_NUMBER:
    if (function.length) {
      Str argument = parser_token_text(p, &p->tok);
      diag_hint(p->diags, diag, "the argument of a function stands in parentheses: %.*s(%.*s)",
                STR_ARGS(function), STR_ARGS(argument));
      break;
    }
    if (is_bare_unit(p)) {
      diag_hint(p->diags, diag, "a unit stands in quotes: \"%.*s\"",
                STR_ARGS(parser_token_text(p, &p->tok)));
      break;
    }
  // fall through
  case TOK_LPAREN: {
    Str found = parser_describe(p, &p->tok);
    diag_hint(p->diags, diag, "or is an operator or ',' missing before %.*s?", STR_ARGS(found));
    break;
  }
  case TOK_STRING:
    diag_hint(p->diags, diag,
              "a unit stands directly behind a number; that of a variable is given by "
              "x { unit = \"m\"; }");
    break;
  default: break;
  }
}

// ---------------------------------------------------------------------------------------------
// operands

void parser_hint_operand(Parser* p, Diag* diag) {
  switch ((int)p->tok.kind) {
  case TOK_INDEX: diag_hint(p->diags, diag, "an index stands directly behind a name"); break;
  case TOK_PRIME:
    diag_hint(p->diags, diag, "the derivative mark stands behind a name, as in x'");
    break;
  case TOK_PERCENT: diag_hint(p->diags, diag, "a comment begins with '//'"); break;
  case TOK_ASSIGN: {
    uint32_t begin = p->tok.span.begin;
    bool glued = begin > 0 && p->previous_end == begin;
    char sign = glued ? p->source->text.data[begin - 1] : ' ';
    if (!glued || !strchr("+-*/", sign)) break;
    diag_hint(p->diags, diag, "'%c=' is written out: set x = x %c ...", sign, sign);
    break;
  }
  default: break;
  }
}
