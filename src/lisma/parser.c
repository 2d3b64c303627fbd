// SPDX-License-Identifier: MIT
#include "lisma/parser.h"

#include "lisma/parser_internal.h"

#include <string.h>

void parser_advance(Parser* p) {
  p->previous_end = p->tok.span.end;
  if (p->diags->error_count >= DIAG_LIMIT) {
    // enough is wrong: go to the end
    p->lexer.at = p->lexer.text.length;
    p->next = lexer_next(&p->lexer);
    p->recovering = true;
  }
  p->tok = p->next;
  if (p->tok.kind != TOK_END) p->next = lexer_next(&p->lexer);
}

bool parser_accept(Parser* p, TokenKind kind) {
  if (p->tok.kind != kind) return false;
  parser_advance(p);
  return true;
}

Span parser_here(const Parser* p) {
  return (Span){p->previous_end, p->previous_end};
}

Span parser_since(const Parser* p, uint32_t begin) {
  return (Span){begin, p->previous_end > begin ? p->previous_end : begin};
}

Str parser_token_text(const Parser* p, const Token* token) {
  return (Str){p->source->text.data + token->inner.begin, token->inner.end - token->inner.begin};
}

Str parser_describe(const Parser* p, const Token* token) {
  const char* fixed = token_kind_text(token->kind);
  if (fixed[0]) return str_from_c(fixed);
  Str text = parser_token_text(p, token);
  if (text.length > 60) text.length = 0;
  switch ((int)token->kind) {
  case TOK_NUMBER: return str_format(p->arena, "the number %.*s", STR_ARGS(text));
  case TOK_STRING: return STR_LIT("a text in quotation marks");
  default: break;
  }
  return str_format(p->arena, "'%.*s'", STR_ARGS(text));
}

// ---------------------------------------------------------------------------------------------
// Messages

bool parser_fail(Parser* p) {
  bool report = !p->recovering && !p->after_gap && p->tok.kind != TOK_BAD;
  p->recovering = true;
  p->after_gap = false;
  return report;
}

bool parser_mend(const Parser* p) {
  return !p->recovering;
}

bool parser_expect(Parser* p, TokenKind kind, const char* message) {
  if (parser_accept(p, kind)) return true;
  if (parser_fail(p)) diag_add(p->diags, DIAG_E0101, parser_here(p), "%s", message);
  return false;
}

bool parser_close(Parser* p, TokenKind kind, Span open) {
  if (parser_accept(p, kind)) return true;
  if (!parser_fail(p)) return false;
  const char* wanted = token_kind_text(kind);
  Diag* diag = diag_add(p->diags, DIAG_E0107, parser_here(p), "expected %s", wanted);
  diag_note(p->diags, diag, open, "to close this bracket");
  return false;
}

bool parser_expect_assign(Parser* p, const char* what) {
  if (parser_accept(p, TOK_ASSIGN)) return true;
  if (p->tok.kind == TOK_EQ && parser_mend(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0109, p->tok.span, "'==' compares; %s takes '='", what);
    diag_hint(p->diags, diag, "write '='");
    parser_advance(p);
    return true;
  }
  if (parser_fail(p)) {
    Str found = parser_describe(p, &p->tok);
    diag_add(p->diags, DIAG_E0101, parser_here(p), "expected '=' after %s, found %.*s", what,
             STR_ARGS(found));
  }
  return false;
}

/// Surplus ')' and ']' behind an otherwise complete statement.
static void skip_closers(Parser* p) {
  if (p->tok.kind != TOK_RPAREN && p->tok.kind != TOK_RBRACKET) return;
  if (parser_mend(p)) {
    diag_add(p->diags, DIAG_E0107, p->tok.span, "this %s closes nothing",
             token_kind_text(p->tok.kind));
  }
  while (p->tok.kind == TOK_RPAREN || p->tok.kind == TOK_RBRACKET) {
    parser_advance(p);
  }
}

static void report_end(Parser* p, const char* what) {
  if (p->tok.kind == TOK_ASSIGN) {
    Diag* diag = diag_add(p->diags, DIAG_E0109, p->tok.span, "a second '=' in one statement");
    diag_hint(p->diags, diag, "a comparison is written '=='");
    return;
  }
  Diag* diag = diag_add(p->diags, DIAG_E0101, parser_here(p), "expected ';' after %s", what);
  parser_hint_end(p, diag);
}

void parser_end_statement(Parser* p, const char* what) {
  if (p->recovering) return;  // the rest is skipped
  skip_closers(p);
  if (parser_accept(p, TOK_SEMICOLON)) return;
  if (parser_fail(p)) {
    report_end(p, what);
  }
  // on a new line the next statement has begun: go on as if the ';' were there
  const Token* t = &p->tok;
  bool ends = t->kind == TOK_RBRACE || t->kind == TOK_END || parser_starts_statement(t);
  bool begins = t->line_start && (t->kind == TOK_WORD || t->kind == TOK_QUOTED);
  if (ends || begins) p->recovering = false;
  if (begins) p->after_gap = true;
}

// ---------------------------------------------------------------------------------------------
// Recovery

bool parser_starts_statement(const Token* token) {
  switch ((int)token->kind) {
  case TOK_CONST:
  case TOK_MACRO:
  case TOK_STATE:
  case TOK_FOR:
  case TOK_AT:
  case TOK_AUTOMATON: return true;
  case TOK_IF: return token->line_start;  // elsewhere it may be the function
  default: return false;
  }
}

/// Step over a block whose heading was not understood.
void parser_skip_block(Parser* p) {
  uint32_t depth = 0;
  do {
    if (p->tok.kind == TOK_LBRACE) depth++;
    if (p->tok.kind == TOK_RBRACE) depth--;
    parser_advance(p);
  } while (depth > 0 && p->tok.kind != TOK_END);
}

void parser_synchronise(Parser* p, uint32_t begin) {
  p->after_gap = false;
  if (p->tok.kind == TOK_END) return;  // what the end lacks besides is the same mistake
  while (p->tok.kind != TOK_END && p->tok.kind != TOK_RBRACE) {
    if (parser_starts_statement(&p->tok) && p->tok.span.begin > begin) break;
    if (parser_accept(p, TOK_SEMICOLON)) break;
    if (p->tok.kind == TOK_LBRACE) {
      // the list of states behind a body belongs to it
      parser_skip_block(p);
      if (p->tok.kind != TOK_FROM) break;
    } else {
      parser_advance(p);
    }
  }
  // whatever stopped the reading, the same token must not stop it for ever
  bool stuck = p->tok.span.begin == begin && p->tok.kind != TOK_RBRACE;
  if (stuck) parser_advance(p);
  p->recovering = p->diags->error_count >= DIAG_LIMIT;
}

bool parser_seek_block(Parser* p) {
  while (p->tok.kind != TOK_LBRACE) {
    switch ((int)p->tok.kind) {
    case TOK_END:
    case TOK_SEMICOLON:
    case TOK_RBRACE:
    case TOK_FROM: return false;
    default: break;
    }
    if (parser_starts_statement(&p->tok)) return false;
    parser_advance(p);
  }
  p->recovering = p->diags->error_count >= DIAG_LIMIT;
  return true;
}

// ---------------------------------------------------------------------------------------------
// Lists

void parser_push(Parser* p, const void* item, size_t size) {
  size_t wanted = base_add_size(p->scratch_used, size);
  if (wanted > p->scratch_capacity) {
    size_t capacity = base_mul_size(wanted, 2);
    if (capacity < 4096) capacity = 4096;
    p->scratch = arena_grow(p->arena, p->scratch, p->scratch_capacity, capacity, 1);
    p->scratch_capacity = capacity;
  }
  memcpy(p->scratch + p->scratch_used, item, size);
  p->scratch_used += size;
}

void* parser_take(Parser* p, size_t mark, size_t size, size_t align, uint32_t* count) {
  size_t bytes = p->scratch_used - mark;
  *count = (uint32_t)(bytes / size);
  p->scratch_used = mark;
  if (bytes == 0) return NULL;
  void* list = arena_alloc(p->arena, bytes, align);
  memcpy(list, p->scratch + mark, bytes);
  return list;
}

// ---------------------------------------------------------------------------------------------

/// The statements of the model itself, or of a file that it includes.
static void parse_file(Parser* p, const Lexer* first, uint32_t index) {
  const Source* source = p->source;
  uint32_t end = index < source->part_count ? source->parts[index].begin : source->text.length;
  p->lexer = *first;
  p->lexer.text.length = end < first->text.length ? end : first->text.length;
  if (index > 0) lexer_start(&p->lexer, source->parts[index - 1].begin);
  p->tok = lexer_next(&p->lexer);
  p->next = p->tok.kind == TOK_END ? p->tok : lexer_next(&p->lexer);
  p->recovering = false;
  p->after_gap = false;
  BlockFrame frame = {.place = PLACE_TOP};
  AstBlock block = {0};
  parser_statements(p, &frame, &block);
  for (uint32_t i = 0; i < block.statements.count; i++) {
    parser_push(p, &block.statements.data[i], sizeof(AstStatement));
  }
}

const AstModel* lisma_parse(Arena* arena, const Source* source, DiagList* diags) {
  Parser p = {.arena = arena, .source = source, .diags = diags};
  lexer_init(&p.lexer, source, diags);
  Lexer first = p.lexer;
  size_t mark = p.scratch_used;
  for (uint32_t i = 0; i <= source->part_count; i++) {
    parse_file(&p, &first, i);
  }
  AstModel* model = ARENA_NEW(arena, AstModel);
  model->source = source;
  PARSER_TAKE(&p, mark, AstStatement, model->body.statements);
  model->body.span = (Span){0, source->text.length};
  model->name_count = p.name_count;
  model->has_parts = p.has_parts;
  model->has_units = p.has_units;
  parser_check_end(&p);
  diag_sort(diags);
  return model;
}
