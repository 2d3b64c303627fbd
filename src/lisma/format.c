// SPDX-License-Identifier: MIT
//
// The layout of a model: white space alone is changed. Lines are those of the author; what is put
// in order is their indentation, the spaces between tokens, blank lines, the end of the text.
// Spaces that line things up (before '=', between statements, before a comment behind them) stay.
//
// White space has a meaning in two places: before '[' and behind ']' (see lexer.h). There it is
// left as it is, and in the end the new text is read again: its tokens and comments must be the
// same.
#include "lisma/lexer.h"
#include "lisma/lisma.h"

#define INDENT       2u
#define CONTINUATION 4u  // of a statement that goes on
#define BLANK_MAX    2u  // line ends in a row

typedef struct Piece {
  Token token;
  uint32_t spaces;  // before it, on its line
  bool breaks;      // a line begins with it
} Piece;

typedef struct Layout {
  Arena* arena;
  Str text;
  BASE_VEC(Piece) pieces;
  TextBuffer out;
  uint32_t depth;  // open braces
  uint32_t index;  // open index brackets
  bool inside;     // of a statement
  bool fresh;      // nothing is on the present line yet
} Layout;

// ---- what the author wrote ----------------------------------------------------------------------

/// Parts of the text between two tokens.
typedef struct Gap {
  Str text;
  uint32_t at;
} Gap;

typedef struct GapItem {
  uint32_t newlines, spaces;  // before it
  Str comment;                // empty at the end of the gap
} GapItem;

static bool at_comment(const Gap* gap) {
  bool room = gap->at + 1 < gap->text.length;
  char next = room ? gap->text.data[gap->at + 1] : '\0';
  return room && gap->text.data[gap->at] == '/' && (next == '/' || next == '*');
}

static Str read_comment(Gap* gap) {
  uint32_t begin = gap->at;
  bool block = gap->text.data[begin + 1] == '*';
  gap->at += 2;
  while (gap->at < gap->text.length) {
    char c = gap->text.data[gap->at];
    if (!block && c == '\n') break;
    gap->at++;
    if (block && c == '*' && gap->at < gap->text.length && gap->text.data[gap->at] == '/') {
      gap->at++;
      break;
    }
  }
  Str comment = {gap->text.data + begin, gap->at - begin};
  while (comment.length) {
    char c = comment.data[comment.length - 1];
    if (c != ' ' && c != '\t' && c != '\r') break;
    comment.length--;
  }
  return comment;
}

static GapItem next_item(Gap* gap) {
  GapItem item = {0};
  while (gap->at < gap->text.length && !at_comment(gap)) {
    char c = gap->text.data[gap->at++];
    if (c == '\n') {
      item.newlines++;
      item.spaces = 0;
    } else if (c != '\r') {
      item.spaces++;
    }
  }
  if (gap->at < gap->text.length) item.comment = read_comment(gap);
  return item;
}

static Gap gap_before(const Layout* l, uint32_t i) {
  uint32_t begin = i ? l->pieces.data[i - 1].token.span.end : 0;
  // a byte order mark is no white space
  if (i == 0 && l->text.length >= 3 && (uint8_t)l->text.data[0] == 0xef) begin = 3;
  uint32_t end = l->pieces.data[i].token.span.begin;
  return (Gap){{l->text.data + begin, end - begin}, 0};
}

static void read_pieces(Layout* l, const Source* source, DiagList* diags) {
  Lexer lexer;
  lexer_init(&lexer, source, diags);
  for (;;) {
    Piece piece = {.token = lexer_next(&lexer)};
    base_vec_push(l->arena, &l->pieces, piece);
    if (piece.token.kind == TOK_END) break;
  }
  for (uint32_t i = 0; i < l->pieces.count; i++) {
    Gap gap = gap_before(l, i);
    GapItem item = next_item(&gap);
    while (item.comment.length)
      item = next_item(&gap);
    l->pieces.data[i].spaces = item.spaces;
    l->pieces.data[i].breaks = item.newlines > 0 || i == 0;
  }
}

// ---- spaces between tokens ----------------------------------------------------------------------

static bool ends_operand(const Token* t) {
  switch ((int)t->kind) {
  case TOK_WORD:
    return t->word != WORD_AND && t->word != WORD_OR && t->word != WORD_NOT &&
           t->word != WORD_MOD && t->word != WORD_EACH && t->word != WORD_REPEAT &&
           t->word != WORD_PRIORITY;
  case TOK_QUOTED:
  case TOK_TAIL:
  case TOK_NUMBER:
  case TOK_STRING:
  case TOK_PRIME:
  case TOK_RPAREN:
  case TOK_RBRACKET: return true;
  default: return false;
  }
}

static bool is_relation(TokenKind kind) {
  return (kind >= TOK_ASSIGN && kind <= TOK_GE) || kind == TOK_AND || kind == TOK_OR;
}

static bool is_arithmetic(TokenKind kind) {
  return kind >= TOK_PLUS && kind <= TOK_CARET;
}

static bool is_unary(const Layout* l, uint32_t i) {
  TokenKind kind = l->pieces.data[i].token.kind;
  if (kind == TOK_BANG) return true;
  if (kind != TOK_PLUS && kind != TOK_MINUS) return false;
  return i == 0 || !ends_operand(&l->pieces.data[i - 1].token);
}

/// An operator of arithmetic has a space on both sides, or on none.
static bool is_wide(const Layout* l, uint32_t i) {
  const Piece* p = &l->pieces.data[i];
  return p->spaces > 0 || p->breaks || p[1].spaces > 0 || p[1].breaks;
}

static uint32_t spaces_before(const Layout* l, uint32_t i) {
  const Piece* piece = &l->pieces.data[i];
  TokenKind kind = piece->token.kind;
  TokenKind before = l->pieces.data[i - 1].token.kind;
  uint32_t some = piece->spaces > 0;
  uint32_t many = piece->spaces > 1 ? piece->spaces : 1;
  if (l->index > 0 || kind == TOK_INDEX || before == TOK_INDEX) return some;
  if (before == TOK_SEMICOLON) return kind == TOK_SEMICOLON ? 0 : many;
  if (kind == TOK_COMMA || kind == TOK_SEMICOLON || kind == TOK_PRIME) return 0;
  if (before == TOK_COMMA) return 1;
  if (kind == TOK_RPAREN || before == TOK_LPAREN) return 0;
  if (kind == TOK_RBRACKET || before == TOK_LBRACKET) return 0;
  if (before == TOK_LBRACE && kind == TOK_RBRACE) return 0;
  if (before == TOK_LBRACE || kind == TOK_RBRACE || kind == TOK_LBRACE || before == TOK_RBRACE) {
    return 1;
  }
  if (kind == TOK_ASSIGN || kind == TOK_GUESS) return many;
  if (is_relation(kind) || is_relation(before)) return 1;
  if (is_unary(l, i - 1)) return 0;
  if (is_arithmetic(kind) && !is_unary(l, i)) return is_wide(l, i);
  if (is_arithmetic(before)) return is_wide(l, i - 1);
  return some;
}

// ---- lines --------------------------------------------------------------------------------------

static void put_spaces(Layout* l, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    text_append_char(&l->out, ' ');
}

/// Begin a line, behind at most one that is empty. What goes on with a statement is further in; how
/// far is the author's choice.
static void put_line(Layout* l, uint32_t newlines, uint32_t spaces, bool brace, bool closes) {
  if (l->out.length > 0) {
    uint32_t count = newlines < BLANK_MAX ? newlines : BLANK_MAX;
    for (uint32_t i = 0; i < count; i++)
      text_append_char(&l->out, '\n');
  }
  uint32_t depth = closes && l->depth ? l->depth - 1 : l->depth;
  uint32_t base = INDENT * depth;
  bool goes_on = l->inside && !brace && !closes;
  put_spaces(l, !goes_on ? base : spaces > base ? spaces : base + CONTINUATION);
  l->fresh = true;
}

/// The comments before token i; how many line ends follow the last of them.
static uint32_t put_comments(Layout* l, uint32_t i) {
  Gap gap = gap_before(l, i);
  GapItem item = next_item(&gap);
  for (; item.comment.length; item = next_item(&gap)) {
    if (item.newlines > 0 || l->out.length == 0) {
      put_line(l, item.newlines, item.spaces, false, false);
    } else if (!l->fresh) {
      put_spaces(l, item.spaces ? item.spaces : 1);
    }
    text_append(&l->out, item.comment);
    l->fresh = false;
  }
  return item.newlines;
}

static void put_token(Layout* l, uint32_t i) {
  const Token* token = &l->pieces.data[i].token;
  uint32_t newlines = put_comments(l, i);
  bool closes = token->kind == TOK_RBRACE;
  if (newlines > 0 || l->out.length == 0) {
    put_line(l, newlines, l->pieces.data[i].spaces, token->kind == TOK_LBRACE, closes);
  } else if (!l->fresh) {
    Gap gap = gap_before(l, i);
    bool behind_comment = next_item(&gap).comment.length > 0;
    put_spaces(l, behind_comment ? 1 : spaces_before(l, i));
  }
  text_append(&l->out,
              (Str){l->text.data + token->span.begin, token->span.end - token->span.begin});
  l->fresh = false;
  if (token->kind == TOK_LBRACE) l->depth++;
  if (closes && l->depth) l->depth--;
  if (token->kind == TOK_INDEX) l->index++;
  if (token->kind == TOK_RBRACKET && l->index) l->index--;
  l->inside = token->kind != TOK_SEMICOLON && token->kind != TOK_LBRACE && !closes;
}

// ---- the same text ------------------------------------------------------------------------------

static bool same_comments(const Layout* a, uint32_t i, const Layout* b) {
  Gap left = gap_before(a, i);
  Gap right = gap_before(b, i);
  for (;;) {
    GapItem x = next_item(&left);
    GapItem y = next_item(&right);
    if (!str_equal(x.comment, y.comment)) return false;
    if (x.comment.length == 0) return true;
  }
}

/// The first token that is not the same in the new text; the number of all when there is none.
static uint32_t first_difference(const Layout* l, const Layout* written) {
  uint32_t i = 0;
  for (; i < l->pieces.count && i < written->pieces.count; i++) {
    const Token* a = &l->pieces.data[i].token;
    const Token* b = &written->pieces.data[i].token;
    Str x = {l->text.data + a->span.begin, a->span.end - a->span.begin};
    Str y = {written->text.data + b->span.begin, b->span.end - b->span.begin};
    bool word = a->kind >= TOK_WORD && a->kind <= TOK_AUTOMATON;
    if (a->kind != b->kind || (word && a->glued != b->glued) || !str_equal(x, y)) break;
    if (!same_comments(l, i, written)) break;
  }
  return i;
}

bool lisma_format(Arena* arena, const Source* source, DiagList* diags, Str* out) {
  uint32_t errors = diags->error_count;
  (void)lisma_parse(arena, source, diags);
  if (diags->error_count != errors) return false;
  Layout l = {.arena = arena, .text = source->text, .out = {.arena = arena}};
  read_pieces(&l, source, diags);
  for (uint32_t i = 0; i + 1 < l.pieces.count; i++) {
    put_token(&l, i);
  }
  put_comments(&l, l.pieces.count - 1);
  if (l.out.length > 0) text_append_char(&l.out, '\n');
  *out = text_str(&l.out);

  Source again;
  source_init(&again, arena, source->name, *out);
  Layout written = {.arena = arena, .text = *out};
  read_pieces(&written, &again, diags);
  uint32_t place = first_difference(&l, &written);
  if (place == l.pieces.count) return true;
  diag_add(diags, DIAG_E0799, l.pieces.data[place].token.span,
           "internal error: another layout would change the model here");
  return false;
}
