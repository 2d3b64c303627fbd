// SPDX-License-Identifier: MIT
//
// Lexer of LISMA: text to tokens, one at a time. It never fails: what it cannot read it reports and
// replaces by the token that was probably meant, or by TOK_BAD, about which the parser keeps
// silent.
//
// Two rules make the grammar LL(2) although brackets serve both names and events:
// * `[` directly behind a name (no white space) is TOK_INDEX, an index; any other `[` is
//   TOK_LBRACKET, an atom. Behind a word that can stand before an atom (`unilateral`, `and`, `not`,
//   `invariant`, ...) it is always TOK_LBRACKET.
// * A word or digits directly behind `]` are `glued`: the tail of the name `x[i]a`, if the bracket
//   closes an index.
#ifndef SALTUS_LISMA_LEXER_H
#define SALTUS_LISMA_LEXER_H

#include "base/base.h"

#define LEXER_SOURCE_MAX ((uint32_t)64 << 20)  // bytes of a model

/// Kinds of tokens: name, how messages show it ("" when its text is shown instead).
#define TOKEN_LIST(X) \
  X(TOK_END, "the end of the text") \
  X(TOK_BAD, "") \
  X(TOK_WORD, "") \
  X(TOK_QUOTED, "") \
  X(TOK_TAIL, "") \
  X(TOK_NUMBER, "") \
  X(TOK_STRING, "") \
  X(TOK_CONST, "'const'") \
  X(TOK_MACRO, "'macro'") \
  X(TOK_STATE, "'state'") \
  X(TOK_FROM, "'from'") \
  X(TOK_FOR, "'for'") \
  X(TOK_IF, "'if'") \
  X(TOK_ELSE, "'else'") \
  X(TOK_AT, "'at'") \
  X(TOK_AUTOMATON, "'automaton'") \
  X(TOK_SEMICOLON, "';'") \
  X(TOK_COMMA, "','") \
  X(TOK_COLON, "':'") \
  X(TOK_DOT, "'.'") \
  X(TOK_PRIME, "the derivative mark '") \
  X(TOK_LPAREN, "'('") \
  X(TOK_RPAREN, "')'") \
  X(TOK_INDEX, "'['") \
  X(TOK_LBRACKET, "'['") \
  X(TOK_RBRACKET, "']'") \
  X(TOK_LBRACE, "'{'") \
  X(TOK_RBRACE, "'}'") \
  X(TOK_ASSIGN, "'='") \
  X(TOK_GUESS, "'~='") \
  X(TOK_EQ, "'=='") \
  X(TOK_NE, "'!='") \
  X(TOK_LT, "'<'") \
  X(TOK_LE, "'<='") \
  X(TOK_GT, "'>'") \
  X(TOK_GE, "'>='") \
  X(TOK_PLUS, "'+'") \
  X(TOK_MINUS, "'-'") \
  X(TOK_STAR, "'*'") \
  X(TOK_SLASH, "'/'") \
  X(TOK_PERCENT, "'%'") \
  X(TOK_CARET, "'^'") \
  X(TOK_BANG, "'!'") \
  X(TOK_AND, "'&&'") \
  X(TOK_OR, "'||'")

typedef enum TokenKind {
#define X(name, text) name,
  TOKEN_LIST(X)
#undef X
} TokenKind;

/// Words with a meaning in some places and free as names in all others (except `not`, which is
/// always the operator). WORD_NONE is any other word.
#define WORD_LIST(X) \
  X(WORD_AND, "and") \
  X(WORD_OR, "or") \
  X(WORD_XOR, "xor") \
  X(WORD_IMPLIES, "implies") \
  X(WORD_NOT, "not") \
  X(WORD_MOD, "mod") \
  X(WORD_LIKE, "like") \
  X(WORD_EACH, "each") \
  X(WORD_REPEAT, "repeat") \
  X(WORD_PRIORITY, "priority") \
  X(WORD_SET, "set") \
  X(WORD_IC, "ic") \
  X(WORD_DELETE, "delete") \
  X(WORD_GOTO, "goto") \
  X(WORD_STOP, "stop") \
  X(WORD_DATA, "data") \
  X(WORD_CONTACT, "contact") \
  X(WORD_FRICTION, "friction") \
  X(WORD_FUNCTION, "function") \
  X(WORD_RETURN, "return") \
  X(WORD_PART, "part") \
  X(WORD_PORT, "port") \
  X(WORD_ACROSS, "across") \
  X(WORD_RANDOM, "random") \
  X(WORD_THROUGH, "through") \
  X(WORD_CONNECT, "connect") \
  X(WORD_INCLUDE, "include") \
  X(WORD_FMU, "fmu") \
  X(WORD_AFTER, "after") \
  X(WORD_EVERY, "every") \
  X(WORD_MEASURE, "measure") \
  X(WORD_CONTROL, "control") \
  X(WORD_PERSISTENT, "persistent") \
  X(WORD_TRIGGER, "trigger") \
  X(WORD_INVARIANT, "invariant") \
  X(WORD_UNILATERAL, "unilateral") \
  X(WORD_BILATERAL, "bilateral") \
  X(WORD_ORDINARY, "ordinary") \
  X(WORD_SHORTLIVING, "shortliving") \
  X(WORD_NO_EVENT, "noEvent")

typedef enum Word {
  WORD_NONE,
#define X(name, text) name,
  WORD_LIST(X)
#undef X
} Word;

typedef struct Token {
  TokenKind kind;
  Word word;        // of a TOK_WORD
  Span span;        // with quotes of any kind
  Span inner;       // without them
  double number;    // of a TOK_NUMBER
  bool line_start;  // the first token on its line
  bool glued;       // a word or tail directly behind ']'
} Token;

typedef struct Lexer {
  Str text;
  DiagList* diags;
  uint32_t at;         // next byte to read
  TokenKind previous;  // kind, word and end of the token before
  Word previous_word;
  uint32_t previous_end;
  bool line_start;         // no token yet on this line
  bool encoding_reported;  // these two would repeat for every character of a wrong file
  bool space_reported;
} Lexer;

/// A text longer than LEXER_SOURCE_MAX is reported and taken as empty.
void lexer_init(Lexer* lexer, const Source* source, DiagList* diags);

/// Go on at an offset where another file begins.
void lexer_start(Lexer* lexer, uint32_t offset);

/// The next token; TOK_END for ever at the end.
Token lexer_next(Lexer* lexer);

/// May a character outside ASCII stand in a name, or at its beginning?
bool lexer_is_letter(uint32_t code, bool first);

const char* token_kind_text(TokenKind kind);

/// Reserved words, including the operator `not`.
bool token_is_reserved(const Token* token);
bool word_is_event(Word word);
/// `and or xor implies mod`: operators behind an operand, names before one.
bool word_is_operator(Word word);

#endif
