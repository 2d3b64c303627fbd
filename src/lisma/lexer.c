// SPDX-License-Identifier: MIT
#include "lisma/lexer.h"

#include "lisma/ast.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------
// Tables

static const char* const kind_texts[] = {
#define X(name, text) text,
    TOKEN_LIST(X)
#undef X
};

static const char* const word_texts[] = {"",
#define X(name, text) text,
                                         WORD_LIST(X)
#undef X
};

#define WORD_LENGTH_MAX 11  // no word of the language is longer

typedef struct ReservedWord {
  const char* text;
  TokenKind kind;
} ReservedWord;

static const ReservedWord reserved_words[] = {
    {"const", TOK_CONST}, {"macro", TOK_MACRO}, {"state", TOK_STATE},
    {"from", TOK_FROM},   {"for", TOK_FOR},     {"if", TOK_IF},
    {"else", TOK_ELSE},   {"at", TOK_AT},       {"automaton", TOK_AUTOMATON},
};

/// A character of typeset text and the spelling of LISMA; TOK_BAD when no single token replaces it.
typedef struct Slip {
  uint32_t code;
  TokenKind kind;
  const char* spelling;
} Slip;

static const Slip character_slips[] = {
    {0x00d7, TOK_STAR, "*"},       // multiplication sign
    {0x00b7, TOK_STAR, "*"},       // middle dot
    {0x22c5, TOK_STAR, "*"},       // dot operator
    {0x2219, TOK_STAR, "*"},       // bullet operator
    {0x2217, TOK_STAR, "*"},       // asterisk operator
    {0x00f7, TOK_SLASH, "/"},      // division sign
    {0x2044, TOK_SLASH, "/"},      // fraction slash
    {0x2215, TOK_SLASH, "/"},      // division slash
    {0x2212, TOK_MINUS, "-"},      // minus sign
    {0x2010, TOK_MINUS, "-"},      // hyphen
    {0x2011, TOK_MINUS, "-"},      // non-breaking hyphen
    {0x2013, TOK_MINUS, "-"},      // en dash
    {0x2014, TOK_MINUS, "-"},      // em dash
    {0x2264, TOK_LE, "<="},        // less than or equal
    {0x2266, TOK_LE, "<="},        //
    {0x2a7d, TOK_LE, "<="},        //
    {0x2265, TOK_GE, ">="},        // greater than or equal
    {0x2267, TOK_GE, ">="},        //
    {0x2a7e, TOK_GE, ">="},        //
    {0x2260, TOK_NE, "!="},        // not equal
    {0x2248, TOK_GUESS, "~="},     // almost equal
    {0x2227, TOK_AND, "&&"},       // logical and
    {0x2228, TOK_OR, "||"},        // logical or
    {0x00ac, TOK_BANG, "!"},       // not sign
    {0x2019, TOK_PRIME, "'"},      // right single quotation mark
    {0x2018, TOK_PRIME, "'"},      // left single quotation mark
    {0x2032, TOK_PRIME, "'"},      // prime
    {0x00b4, TOK_PRIME, "'"},      // acute accent
    {0x2033, TOK_BAD, "''"},       // double prime
    {0x00b2, TOK_BAD, "^2"},       // superscripts
    {0x00b3, TOK_BAD, "^3"},       //
    {0x221a, TOK_BAD, "sqrt()"},   // square root
    {0x2211, TOK_BAD, "sum()"},    // n-ary sum
    {0xff08, TOK_LPAREN, "("},     // full-width forms
    {0xff09, TOK_RPAREN, ")"},     //
    {0xff0c, TOK_COMMA, ","},      //
    {0xff1a, TOK_COLON, ":"},      //
    {0xff1b, TOK_SEMICOLON, ";"},  //
    {0xff1d, TOK_ASSIGN, "="},     //
    {0x037e, TOK_SEMICOLON, ";"},  // Greek question mark
};

/// Signs that stand for themselves whatever follows.
static const uint8_t single_signs[128] = {
    [';'] = TOK_SEMICOLON, [','] = TOK_COMMA,   ['.'] = TOK_DOT,      ['\''] = TOK_PRIME,
    ['('] = TOK_LPAREN,    [')'] = TOK_RPAREN,  ['['] = TOK_LBRACKET, [']'] = TOK_RBRACKET,
    ['{'] = TOK_LBRACE,    ['}'] = TOK_RBRACE,  ['+'] = TOK_PLUS,     ['-'] = TOK_MINUS,
    ['/'] = TOK_SLASH,     ['%'] = TOK_PERCENT, ['^'] = TOK_CARET,
};

/// The others: operators of two bytes, then of one. Those with a spelling belong to other
/// languages.
typedef struct Symbol {
  char text[3];
  TokenKind kind;
  const char* spelling;  // NULL: right as it is
} Symbol;

static const Symbol symbols[] = {
    {"==", TOK_EQ, NULL},   {"!=", TOK_NE, NULL},    {"<=", TOK_LE, NULL},
    {">=", TOK_GE, NULL},   {"~=", TOK_GUESS, NULL}, {"&&", TOK_AND, NULL},
    {"||", TOK_OR, NULL},   {"=<", TOK_LE, "<="},    {"=>", TOK_GE, ">="},
    {"<>", TOK_NE, "!="},   {":=", TOK_ASSIGN, "="}, {"=~", TOK_GUESS, "~="},
    {"**", TOK_CARET, "^"}, {":", TOK_COLON, NULL},  {"=", TOK_ASSIGN, NULL},
    {"~", TOK_GUESS, NULL}, {"<", TOK_LT, NULL},     {">", TOK_GT, NULL},
    {"*", TOK_STAR, NULL},  {"!", TOK_BANG, NULL},   {"&", TOK_AND, "&&"},
    {"|", TOK_OR, "||"},
};

const char* token_kind_text(TokenKind kind) {
  return kind_texts[kind];
}

bool token_is_reserved(const Token* token) {
  bool keyword = token->kind >= TOK_CONST && token->kind <= TOK_AUTOMATON;
  return keyword || (token->kind == TOK_WORD && token->word == WORD_NOT);
}

bool word_is_operator(Word word) {
  return word >= WORD_AND && word <= WORD_MOD && word != WORD_NOT;
}

bool word_is_event(Word word) {
  return word >= WORD_UNILATERAL && word <= WORD_NO_EVENT;
}

// ---------------------------------------------------------------------------------------------
// Characters

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// The byte `ahead` places from here; NUL behind the end.
static char peek(const Lexer* l, uint32_t ahead) {
  if (ahead >= l->text.length - l->at) return '\0';
  return l->text.data[l->at + ahead];
}

static uint32_t decode(const Lexer* l, uint32_t* code) {
  return utf8_decode(l->text.data + l->at, l->text.length - l->at, code);
}

/// Length of the letter, mark, digit or '_' at the current place; 0 if there is none.
static uint32_t name_character(const Lexer* l, bool first) {
  if (l->at >= l->text.length) return 0;
  char c = l->text.data[l->at];
  if (is_ascii_letter(c) || (!first && is_digit(c))) return 1;
  if ((unsigned char)c < 0x80) return 0;
  uint32_t code = 0;
  uint32_t size = decode(l, &code);
  return size && lexer_is_letter(code, first) ? size : 0;
}

static void skip_name(Lexer* l) {
  for (uint32_t size = name_character(l, false); size; size = name_character(l, false)) {
    l->at += size;
  }
}

/// Step over bytes that are not UTF-8. Only the first place is told, here and for NUL bytes: the
/// rest is the same mistake.
static void skip_invalid(Lexer* l) {
  Span span = {l->at, l->at + 1};
  l->at++;
  if (l->encoding_reported) return;
  l->encoding_reported = true;
  Diag* diag = diag_add(l->diags, DIAG_E0104, span, "the text is not UTF-8 here");
  diag_hint(l->diags, diag, "save the file with the encoding UTF-8");
}

static void skip_nul(Lexer* l) {
  Span span = {l->at, l->at + 1};
  l->at++;
  if (l->encoding_reported) return;
  l->encoding_reported = true;
  Diag* diag = diag_add(l->diags, DIAG_E0104, span, "a NUL byte stands in the text");
  diag_hint(l->diags, diag, "is this a text file? save it with the encoding UTF-8");
}

/// Step over one character of a comment, text or quoted name.
static void skip_character(Lexer* l) {
  unsigned char c = (unsigned char)l->text.data[l->at];
  if (c == 0) {
    skip_nul(l);
  } else if (c < 0x80) {
    l->at++;
  } else {
    uint32_t size = decode(l, NULL);
    if (size) {
      l->at += size;
    } else {
      skip_invalid(l);
    }
  }
}

static bool is_special_space(uint32_t code) {
  return code == 0x00a0 || code == 0x0085 || (code >= 0x2000 && code <= 0x200d) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x2060 || code == 0x3000 ||
         code == 0xfeff;
}

/// A space of typeset text or web pages: white space, but told once, since it is invisible.
static bool skip_special_space(Lexer* l) {
  uint32_t code = 0;
  uint32_t size = decode(l, &code);
  if (!size || !is_special_space(code)) return false;
  Span span = {l->at, l->at + size};
  l->at += size;
  if (l->space_reported) return true;
  l->space_reported = true;
  Diag* diag = diag_add(l->diags, DIAG_E0103, span, "a special kind of space (U+%04X)", code);
  diag_hint(l->diags, diag, "replace all of them by ordinary spaces");
  return true;
}

static void skip_block_comment(Lexer* l) {
  Span open = {l->at, l->at + 2};
  l->at += 2;
  while (l->at < l->text.length) {
    if (peek(l, 0) == '*' && peek(l, 1) == '/') {
      l->at += 2;
      return;
    }
    if (peek(l, 0) == '\n') l->line_start = true;
    skip_character(l);
  }
  Diag* diag = diag_add(l->diags, DIAG_E0106, open, "this comment is never closed");
  diag_hint(l->diags, diag, "write '*/' at its end");
}

/// Step over white space and comments.
static void skip_blank(Lexer* l) {
  while (l->at < l->text.length) {
    char c = l->text.data[l->at];
    if (c == '\n' || c == '\r') {
      l->line_start = true;
      l->at++;
    } else if (c == ' ' || c == '\t' || c == '\f' || c == '\v') {
      l->at++;
    } else if (c == '/' && peek(l, 1) == '/') {
      while (l->at < l->text.length && peek(l, 0) != '\n') {
        skip_character(l);
      }
    } else if (c == '/' && peek(l, 1) == '*') {
      skip_block_comment(l);
    } else if ((unsigned char)c < 0x80 || !skip_special_space(l)) {
      return;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Tokens

static Str text_between(const Lexer* l, uint32_t begin, uint32_t end) {
  return (Str){l->text.data + begin, end - begin};
}

static void check_length(Lexer* l, Span span) {
  if (span.end - span.begin <= AST_NAME_MAX) return;
  diag_add(l->diags, DIAG_E0703, (Span){span.begin, span.begin + 1},
           "a name of %u bytes is too long; the limit is %d", span.end - span.begin, AST_NAME_MAX);
}

static void classify_word(Token* token, Str text) {
  token->kind = TOK_WORD;
  if (text.length < 2 || text.length > WORD_LENGTH_MAX) return;
  for (size_t i = 0; i < SLT_COUNT(reserved_words); i++) {
    if (reserved_words[i].text[0] != text.data[0]) continue;
    if (!str_equal(text, str_from_c(reserved_words[i].text))) continue;
    token->kind = reserved_words[i].kind;
    return;
  }
  for (size_t i = 1; i < SLT_COUNT(word_texts); i++) {
    if (word_texts[i][0] != text.data[0]) continue;
    if (str_equal(text, str_from_c(word_texts[i]))) token->word = (Word)i;
  }
}

static void lex_word(Lexer* l, Token* token) {
  uint32_t begin = l->at;
  skip_name(l);
  Str text = text_between(l, begin, l->at);
  check_length(l, (Span){begin, l->at});
  classify_word(token, text);
}

/// A decimal number that is not zero but reads as zero.
static bool is_underflow(Str digits, double value) {
  if (value != 0.0) return false;
  for (uint32_t i = 0; i < digits.length && (digits.data[i] | 0x20) != 'e'; i++) {
    if (digits.data[i] >= '1' && digits.data[i] <= '9') return true;
  }
  return false;
}

/// What follows a number without a space: `2x`, `1.2.3`, `1..4`, `0x1F`.
static void lex_number_rest(Lexer* l, uint32_t begin) {
  uint32_t end = l->at;
  while (name_character(l, false) || peek(l, 0) == '.') {
    uint32_t size = name_character(l, false);
    l->at += size ? size : 1;
  }
  if (l->at == end) return;
  Str all = text_between(l, begin, l->at);
  Str rest = text_between(l, end, l->at);
  Str number = text_between(l, begin, end);
  // a long run of letters would only fill the screen
  Str shown = all.length > 40 ? STR_LIT("this") : all;
  Diag* diag =
      diag_add(l->diags, DIAG_E0105, (Span){begin, l->at}, "%.*s is not a number", STR_ARGS(shown));
  bool dots = rest.data[0] == '.' && number.data[number.length - 1] == '.';
  if (dots) {
    diag_hint(l->diags, diag, "a range is written with a colon, as in 1:4");
  } else if (rest.data[0] == '_') {
    diag_hint(l->diags, diag, "digits are written without separators");
  } else if (rest.data[0] != '.' && rest.length < 40 && number.data[0] != '0') {
    diag_hint(l->diags, diag, "a product needs its sign: %.*s*%.*s", STR_ARGS(number),
              STR_ARGS(rest));
  }
}

static void lex_number(Lexer* l, Token* token) {
  uint32_t begin = l->at;
  Str rest = text_between(l, begin, l->text.length);
  uint32_t length = number_read(rest, false, &token->number);
  Str digits = {rest.data, length};
  token->kind = TOK_NUMBER;
  l->at += length;
  if (isinf(token->number)) {
    diag_add(l->diags, DIAG_E0105, (Span){begin, l->at},
             "this number is too large; the largest is about 1.8e308");
    token->number = 0.0;
  } else if (is_underflow(digits, token->number)) {
    diag_add(l->diags, DIAG_W0101, (Span){begin, l->at}, "this number is so small that it is 0");
  }
  lex_number_rest(l, begin);
}

/// Length of the quotation mark at the current place, plain or typographic; 0 if there is none.
static uint32_t quotation_mark(const Lexer* l) {
  if (peek(l, 0) == '"') return 1;
  uint32_t code = 0;
  uint32_t size = decode(l, &code);
  bool mark =
      code == 0x201c || code == 0x201d || code == 0x201e || code == 0x00ab || code == 0x00bb;
  return size && mark ? size : 0;
}

static void report_open_string(Lexer* l, Token* token) {
  // the statement probably ends where the line does
  uint32_t end = l->at;
  while (end > token->inner.begin && strchr(" \t\r;}", l->text.data[end - 1])) {
    end--;
  }
  l->at = end;
  token->inner.end = end;
  Span open = {token->span.begin, token->inner.begin};
  bool behind_name = l->previous == TOK_WORD && l->previous_end == token->span.begin;
  if (behind_name) token->kind = TOK_BAD;  // it was no text at all
  Diag* diag = diag_add(l->diags, DIAG_E0106, open, "this text is not closed on its line");
  diag_hint(l->diags, diag, "%s",
            behind_name ? "the second derivative is written with two marks: x''"
                        : "write '\"' at its end");
}

static void lex_string(Lexer* l, Token* token) {
  uint32_t open = quotation_mark(l);
  bool plain = open == 1;
  token->kind = TOK_STRING;
  l->at += open;
  token->inner.begin = l->at;
  while (l->at < l->text.length && peek(l, 0) != '\n') {
    uint32_t close = plain ? peek(l, 0) == '"' : quotation_mark(l);
    if (close) {
      token->inner.end = l->at;
      l->at += close;
      if (plain) return;
      Span span = {token->span.begin, l->at};
      Diag* diag = diag_add(l->diags, DIAG_E0103, span, "a text stands in plain quotation marks");
      diag_hint(l->diags, diag, "write \"%.*s\"", (int)(token->inner.end - token->inner.begin),
                l->text.data + token->inner.begin);
      return;
    }
    skip_character(l);
  }
  report_open_string(l, token);
}

static void lex_quoted(Lexer* l, Token* token) {
  token->kind = TOK_QUOTED;
  l->at++;
  token->inner.begin = l->at;
  while (l->at < l->text.length && peek(l, 0) != '\n' && peek(l, 0) != '`') {
    skip_character(l);
  }
  token->inner.end = l->at;
  if (peek(l, 0) != '`') {
    Diag* diag = diag_add(l->diags, DIAG_E0106, (Span){token->span.begin, token->span.begin + 1},
                          "this name in backquotes is not closed on its line");
    diag_hint(l->diags, diag, "write '`' at its end");
    token->kind = TOK_BAD;
    return;
  }
  l->at++;
  if (token->inner.begin == token->inner.end) {
    diag_add(l->diags, DIAG_E0103, (Span){token->span.begin, l->at}, "this name is empty");
  }
  check_length(l, token->inner);
}

/// `[` is an index directly behind a name, except behind words that can stand before an atom.
static bool is_index_bracket(const Lexer* l) {
  if (l->previous_end != l->at) return false;
  switch ((int)l->previous) {
  case TOK_QUOTED:
  case TOK_TAIL:
  case TOK_RBRACKET: return true;
  case TOK_WORD: break;
  default: return false;
  }
  Word word = l->previous_word;
  bool operator_word = word >= WORD_AND && word <= WORD_MOD;
  return !operator_word && word != WORD_INVARIANT && !word_is_event(word);
}

static void lex_symbol(Lexer* l, Token* token) {
  unsigned char c = (unsigned char)peek(l, 0);
  if (c < 128 && single_signs[c]) {
    token->kind = (TokenKind)single_signs[c];
    if (c == '[' && is_index_bracket(l)) token->kind = TOK_INDEX;
    l->at++;
    return;
  }
  if (peek(l, 0) == '*' && peek(l, 1) == '/') {
    diag_add(l->diags, DIAG_E0103, (Span){l->at, l->at + 2}, "no comment is open here");
    l->at += 2;
    return;
  }
  for (size_t i = 0; i < SLT_COUNT(symbols); i++) {
    const Symbol* symbol = &symbols[i];
    uint32_t size = symbol->text[1] ? 2 : 1;
    if (symbol->text[0] != peek(l, 0) || (size == 2 && symbol->text[1] != peek(l, 1))) continue;
    token->kind = symbol->kind;
    Span span = {l->at, l->at + size};
    l->at += size;
    if (!symbol->spelling) return;
    Diag* diag = diag_add(l->diags, DIAG_E0103, span, "'%s' is no operator here", symbol->text);
    diag_hint(l->diags, diag, "write '%s'", symbol->spelling);
    return;
  }
  Span span = {l->at, l->at + 1};
  if (c == 0) {
    skip_nul(l);
    return;
  }
  l->at++;
  if (c < 0x20 || c == 0x7f) {
    diag_add(l->diags, DIAG_E0103, span, "a control character (U+%04X)", (unsigned)c);
    return;
  }
  Diag* diag = diag_add(l->diags, DIAG_E0103, span, "the language has no character '%c'", c);
  if (c == '#') diag_hint(l->diags, diag, "a comment begins with '//'");
  if (c == '?') diag_hint(l->diags, diag, "a value by a condition is written if(x > 0, a, b)");
}

/// A character outside ASCII that is no letter.
static void lex_foreign(Lexer* l, Token* token) {
  uint32_t code = 0;
  uint32_t size = decode(l, &code);
  if (!size) {
    while (l->at < l->text.length && (unsigned char)peek(l, 0) >= 0x80 && !decode(l, NULL)) {
      skip_invalid(l);
    }
    return;
  }
  Span span = {l->at, l->at + size};
  Str text = text_between(l, l->at, l->at + size);
  l->at += size;
  for (size_t i = 0; i < SLT_COUNT(character_slips); i++) {
    const Slip* slip = &character_slips[i];
    if (slip->code != code) continue;
    token->kind = slip->kind;
    Diag* diag = diag_add(l->diags, DIAG_E0103, span, "the language has no character '%.*s'",
                          STR_ARGS(text));
    diag_hint(l->diags, diag, "write %s", slip->spelling);
    return;
  }
  diag_add(l->diags, DIAG_E0103, span, "the language has no character '%.*s' (U+%04X)",
           STR_ARGS(text), code);
}

/// Read one token at the current place. The kind stays TOK_BAD for what was reported and skipped.
static void lex_token(Lexer* l, Token* token) {
  char c = peek(l, 0);
  if (token->glued && is_digit(c)) {
    token->kind = TOK_TAIL;
    skip_name(l);
    check_length(l, (Span){token->span.begin, l->at});
  } else if (name_character(l, true)) {
    lex_word(l, token);
  } else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) {
    lex_number(l, token);
  } else if (quotation_mark(l)) {
    lex_string(l, token);
  } else if (c == '`') {
    lex_quoted(l, token);
  } else if ((unsigned char)c >= 0x80) {
    lex_foreign(l, token);
  } else {
    lex_symbol(l, token);
  }
}

void lexer_init(Lexer* lexer, const Source* source, DiagList* diags) {
  *lexer = (Lexer){.text = source->text, .diags = diags, .line_start = true};
  if (source->text.length > LEXER_SOURCE_MAX) {
    diag_add(diags, DIAG_E0704, (Span){0, 0}, "the text is longer than %u MiB",
             LEXER_SOURCE_MAX >> 20);
    lexer->text.length = 0;
  }
  lexer_start(lexer, 0);
}

void lexer_start(Lexer* lexer, uint32_t offset) {
  static const char mark[] = "\xef\xbb\xbf";  // of the byte order
  lexer->at = offset;
  lexer->line_start = true;
  lexer->previous = TOK_END;
  bool marked =
      lexer->text.length >= (uint64_t)offset + 3 && memcmp(lexer->text.data + offset, mark, 3) == 0;
  if (marked) lexer->at += 3;
}

Token lexer_next(Lexer* l) {
  skip_blank(l);
  Token token = {.kind = TOK_BAD, .span = {l->at, l->at}, .line_start = l->line_start};
  token.glued = l->previous == TOK_RBRACKET && l->previous_end == l->at;
  if (l->at >= l->text.length) {
    token.kind = TOK_END;
    token.inner = token.span;
    return token;
  }
  lex_token(l, &token);
  token.span.end = l->at;
  bool quoted = token.kind == TOK_STRING || token.kind == TOK_QUOTED;
  if (!quoted) token.inner = token.span;
  l->line_start = false;
  l->previous = token.kind;
  l->previous_word = token.word;
  l->previous_end = l->at;
  return token;
}
