// SPDX-License-Identifier: MIT
//
// Blocks and the statements that have one. A mistake in a heading does not hide its body: reading
// goes on at the '{'.
#include "lisma/parser_internal.h"

void parser_statements(Parser* p, BlockFrame* frame, AstBlock* block) {
  size_t mark = p->scratch_used;
  while (p->tok.kind != TOK_END) {
    if (p->tok.kind == TOK_RBRACE) {
      if (frame->outer) break;
      if (parser_mend(p)) diag_add(p->diags, DIAG_E0107, p->tok.span, "this '}' closes nothing");
      parser_advance(p);
      continue;
    }
    if (parser_accept(p, TOK_SEMICOLON)) continue;
    uint32_t begin = p->tok.span.begin;
    AstStatement statement = {.kind = AST_CONST};
    if (parser_statement(p, frame, &statement)) {
      parser_check_placement(p, frame, &statement);
      parser_push(p, &statement, sizeof statement);
    }
    if (p->recovering) parser_synchronise(p, begin);
  }
  block->statements.data =
      parser_take(p, mark, sizeof(AstStatement), _Alignof(AstStatement), &block->statements.count);
}

static void close_block(Parser* p, const BlockFrame* frame) {
  if (parser_accept(p, TOK_RBRACE)) return;
  if (frame->unclosed) {
    // now it is certain that the message about a misplaced state was about a missing '}'
    parser_fail(p);
    if (frame->told >= p->diags->items.count) return;
    Diag* told = &p->diags->items.data[frame->told];
    told->code = DIAG_E0107;
    told->message = STR_LIT("expected '}' before this");
    told->hint = STR_LIT("");
    return;
  }
  if (!parser_fail(p)) return;
  Diag* diag =
      diag_add(p->diags, DIAG_E0107, parser_here(p), "expected '}' before the end of the text");
  diag_note(p->diags, diag, frame->open, "to close this block");
}

/// A misspelt word of a heading, as in `at 1 eech 2 {`; false when the present token is none.
static bool hint_clause(Parser* p, Diag* diag) {
  static const char* const words[] = {"each",       "repeat",  "priority", "like",
                                      "persistent", "trigger", "from"};
  bool written = p->tok.kind == TOK_WORD;
  Str text = written ? parser_token_text(p, &p->tok) : STR_LIT("");
  const char* word = written ? parser_nearest(text, words, SLT_COUNT(words)) : NULL;
  if (!word) return false;
  diag->span = p->tok.span;
  diag_hint(p->diags, diag, "did you mean '%s'?", word);
  return true;
}

bool parser_block(Parser* p, const BlockFrame* outer, Place place, const char* what,
                  AstBlock* block) {
  if (p->tok.kind != TOK_LBRACE && parser_fail(p)) {
    Str found = parser_describe(p, &p->tok);
    hint_clause(p, diag_add(p->diags, DIAG_E0101, parser_here(p),
                            "expected '{' after %s, found %.*s", what, STR_ARGS(found)));
  }
  if (p->recovering && !parser_seek_block(p)) return false;
  Span open = p->tok.span;
  if (p->block_depth >= AST_BLOCK_DEPTH_MAX) {
    if (parser_fail(p)) {
      diag_add(p->diags, DIAG_E0702, open, "blocks are nested too deeply; the limit is %d",
               AST_BLOCK_DEPTH_MAX);
    }
    parser_skip_block(p);
    return false;
  }
  parser_advance(p);
  BlockFrame frame = {.outer = outer, .place = place, .open = open};
  frame.in_loop = outer->in_loop && place == outer->place;
  p->block_depth++;
  parser_statements(p, &frame, block);
  p->block_depth--;
  close_block(p, &frame);
  block->span = parser_since(p, open.begin);
  return true;
}

// ---------------------------------------------------------------------------------------------
// for

/// `for (i = 1; ...)` of other languages: one message, then the body.
static void skip_foreign_heading(Parser* p) {
  if (parser_fail(p)) {
    Diag* diag =
        diag_add(p->diags, DIAG_E0102, p->tok.span, "a loop has no parentheses around its heading");
    diag_hint(p->diags, diag, "write for i = 1:N { ... }");
  }
  uint32_t depth = 0;
  do {
    if (p->tok.kind == TOK_LPAREN) depth++;
    if (p->tok.kind == TOK_RPAREN) depth--;
    parser_advance(p);
  } while (depth > 0 && p->tok.kind != TOK_END && p->tok.kind != TOK_LBRACE);
}

static AstRangeList parse_ranges(Parser* p) {
  AstRangeList list = {0};
  size_t mark = p->scratch_used;
  do {
    AstRange range = parser_range(p);
    parser_push(p, &range, sizeof range);
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  PARSER_TAKE(p, mark, AstRange, list);
  return list;
}

/// `=`, or the `in` of other languages, which is read like it.
static void expect_loop_assign(Parser* p) {
  bool foreign = p->tok.kind == TOK_WORD && str_equal(parser_token_text(p, &p->tok), STR_LIT("in"));
  if (!foreign) {
    parser_expect_assign(p, "the variable of the loop");
    return;
  }
  if (parser_mend(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0101, p->tok.span,
                          "expected '=' after the variable of the loop, found 'in'");
    diag_hint(p->diags, diag, "a loop is written: for i = 1:4 { ... }");
  }
  parser_advance(p);
}

bool parser_for(Parser* p, const BlockFrame* frame, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_FOR;
  if (p->tok.kind == TOK_LPAREN) {
    skip_foreign_heading(p);
  } else if (parser_expect_word(p, "the variable of the loop", &out->as.loop.variable,
                                &out->as.loop.variable_span)) {
    AstName name = {.head = out->as.loop.variable};
    parser_note_declared(p, &name);
    expect_loop_assign(p);
  }
  if (!p->recovering) out->as.loop.ranges = parse_ranges(p);
  BlockFrame loop = *frame;
  loop.in_loop = true;
  return parser_block(p, &loop, frame->place, "the range of the loop", &out->as.loop.body);
}

// ---------------------------------------------------------------------------------------------
// if

/// `(condition)`; `*open` is its parenthesis. Without parentheses it is read all the same.
static AstExpr* parse_head_condition(Parser* p, Span* open) {
  *open = p->tok.span;
  bool missing = p->tok.kind != TOK_LPAREN;
  if (missing && parser_mend(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0101, parser_here(p), "expected '(' after 'if'");
    diag_hint(p->diags, diag, "the condition stands in parentheses: if (x > 0) { ... }");
  }
  parser_accept(p, TOK_LPAREN);
  AstExpr* condition = parser_condition(p);
  if (missing) {
    parser_accept(p, TOK_RPAREN);
  } else if (p->tok.kind != TOK_COMMA) {
    parser_close(p, TOK_RPAREN, *open);
  }
  return condition;
}

/// The body of a branch. A single statement without braces is told once and read.
static void parse_branch_body(Parser* p, const BlockFrame* outer, bool* told, AstBlock* body) {
  bool single = p->tok.kind != TOK_LBRACE && p->next.kind != TOK_LBRACE && !p->recovering;
  if (!single || p->tok.kind == TOK_END || p->tok.kind == TOK_RBRACE) {
    parser_block(p, outer, PLACE_IF, "the condition", body);
    return;
  }
  if (!*told && p->tok.kind != TOK_BAD) {
    Diag* diag = diag_add(p->diags, DIAG_E0101, parser_here(p), "expected '{'");
    diag_hint(p->diags, diag, "a branch stands in braces: { ... }");
  }
  *told = true;
  BlockFrame frame = {.outer = outer, .place = PLACE_IF, .open = p->tok.span};
  uint32_t begin = p->tok.span.begin;
  if (p->block_depth >= AST_BLOCK_DEPTH_MAX) {
    p->recovering = true;
    return;
  }
  p->block_depth++;
  AstStatement statement = {.kind = AST_CONST};
  if (parser_statement(p, &frame, &statement)) {
    body->statements.data = ARENA_NEW(p->arena, AstStatement);
    body->statements.data[0] = statement;
    body->statements.count = 1;
  }
  p->block_depth--;
  body->span = parser_since(p, begin);
  if (p->recovering) parser_synchronise(p, begin);
}

bool parser_if(Parser* p, const BlockFrame* frame, AstStatement* out) {
  uint32_t begin = p->tok.span.begin;
  Span open;
  parser_advance(p);
  AstBranch branch = {.condition = parse_head_condition(p, &open)};
  if (p->tok.kind == TOK_COMMA && !p->recovering) {
    // an equation whose left side begins with the function
    AstExpr* value = parser_conditional_rest(p, open, begin, branch.condition);
    return parser_sides(p, frame, begin, NULL, parser_expr_from(p, value), out);
  }
  size_t mark = p->scratch_used;
  bool told = false;
  for (;;) {
    parse_branch_body(p, frame, &told, &branch.body);
    branch.span = parser_since(p, begin);
    parser_push(p, &branch, sizeof branch);
    bool last = branch.condition == NULL;
    begin = p->tok.span.begin;
    if (last || p->recovering || !parser_accept(p, TOK_ELSE)) break;
    branch = (AstBranch){.condition = NULL};
    if (parser_accept(p, TOK_IF)) branch.condition = parse_head_condition(p, &open);
  }
  out->kind = AST_IF;
  PARSER_TAKE(p, mark, AstBranch, out->as.branches);
  return true;
}

// ---------------------------------------------------------------------------------------------
// state, automaton

static bool at_like(const Parser* p) {
  if (p->tok.kind != TOK_WORD || p->tok.word != WORD_LIKE) return false;
  bool name = parser_next_is_name(p) && !token_is_reserved(&p->next);
  return name && p->next.word != WORD_LIKE && p->next.word != WORD_PRIORITY;
}

/// `priority 3` behind the guard of a state or the name of an automaton; before anything but a
/// number it is a variable.
static bool at_priority(const Parser* p) {
  return p->tok.kind == TOK_WORD && p->tok.word == WORD_PRIORITY && p->next.kind == TOK_NUMBER;
}

/// `priority random` behind the guard of a state.
static bool at_lot(const Parser* p) {
  return p->tok.kind == TOK_WORD && p->tok.word == WORD_PRIORITY && p->next.kind == TOK_WORD &&
         p->next.word == WORD_RANDOM;
}

static AstExpr* parse_priority(Parser* p) {
  if (!at_priority(p)) return NULL;
  parser_advance(p);
  return parser_number(p);
}

static bool is_comparison(const AstExpr* e) {
  if (e->kind == AST_ATOM) return true;
  return e->kind == AST_CHAIN && e->as.chain.level <= AST_LEVEL_RELATION;
}

/// `state fly[y <= 0]`: the guard was read as an index, since no space parts it from the name.
static void check_state_name(Parser* p, const AstName* name) {
  if (ast_name_is_plain(name) || !parser_mend(p)) return;
  const AstIndex* index = &name->indices.data[name->indices.count - 1];
  if (!is_comparison(index->subscripts.data[0])) return;
  Diag* diag = diag_add(p->diags, DIAG_E0128, index->span, "this guard is read as an index");
  diag_hint(p->diags, diag, "write a space between the name and '['");
}

static void parse_from(Parser* p, AstState* state) {
  state->from = parser_name_list(p, "the name of a state");
  parser_end_statement(p, "the list of states");
}

bool parser_state(Parser* p, const BlockFrame* frame, AstStatement* out) {
  parser_advance(p);
  AstState* state = ARENA_NEW(p->arena, AstState);
  out->kind = AST_STATE;
  out->as.state = state;
  bool named = parser_expect_name(p, "the name of the state", &state->name);
  if (named) check_state_name(p, &state->name);

  bool ends = p->tok.kind == TOK_LBRACE || p->tok.kind == TOK_FROM ||
              p->tok.kind == TOK_SEMICOLON || p->tok.kind == TOK_RBRACE || p->tok.kind == TOK_END;
  bool clause = at_like(p) || at_priority(p) || at_lot(p);
  if (!ends && !p->recovering && !clause) state->guard = parser_condition(p);
  if (!p->recovering && at_lot(p)) {
    state->by_lot = true;
    parser_advance(p);
    parser_advance(p);
  }
  if (!p->recovering) state->priority = parse_priority(p);
  if (!p->recovering && at_like(p)) {
    parser_advance(p);
    state->like = ARENA_NEW(p->arena, AstName);
    parser_expect_name(p, "the name of a state", state->like);
  }
  if (p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_FROM && parser_fail(p)) {
    Str found = parser_describe(p, &p->tok);
    Diag* diag = diag_add(p->diags, DIAG_E0112, parser_here(p),
                          "expected the body of the state, found %.*s", STR_ARGS(found));
    bool priority = p->tok.kind == TOK_WORD && p->tok.word == WORD_PRIORITY;
    if (!hint_clause(p, diag)) {
      diag_hint(p->diags, diag,
                priority
                    ? "behind 'priority' stands a number without a sign, or 'random'; the default "
                      "is 0, so give the others more"
                    : "write state NAME [guard] { ... } from A, B;");
    }
  }
  if (p->recovering) parser_seek_block(p);
  if (p->tok.kind == TOK_LBRACE) {
    state->has_body = parser_block(p, frame, PLACE_STATE, "the guard", &state->body);
  }
  if (state->has_body && p->tok.kind == TOK_SEMICOLON && p->next.kind == TOK_FROM) {
    if (parser_mend(p)) {
      Diag* diag =
          diag_add(p->diags, DIAG_E0102, p->tok.span, "this ';' parts the state from its list");
      diag_hint(p->diags, diag, "write } from A, B;");
    }
    parser_advance(p);
  }
  if (parser_accept(p, TOK_FROM)) {
    // a broken heading ends here: its list can be read
    p->recovering = p->diags->error_count >= DIAG_LIMIT;
    parse_from(p, state);
  } else {
    p->behind_state = state->has_body;
  }
  return named;
}

bool parser_automaton(Parser* p, const BlockFrame* frame, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_AUTOMATON;
  out->as.automaton.name = ARENA_NEW(p->arena, AstName);
  bool named = parser_expect_name(p, "the name of the automaton", out->as.automaton.name);
  if (named) out->as.automaton.priority = parse_priority(p);
  if (p->tok.kind == TOK_WORD && p->tok.word == WORD_PRIORITY && parser_fail(p)) {
    Str found = parser_describe(p, &p->next);
    diag_add(p->diags, DIAG_E0101, p->next.span, "expected a number behind 'priority', found %.*s",
             STR_ARGS(found));
    parser_seek_block(p);
  }
  parser_block(p, frame, PLACE_AUTOMATON, "the name of the automaton", &out->as.automaton.body);
  return named;
}

// ---------------------------------------------------------------------------------------------
// at

static void report_clause_twice(Parser* p) {
  if (!parser_mend(p)) return;
  Str word = parser_token_text(p, &p->tok);
  diag_add(p->diags, DIAG_E0129, p->tok.span, "'%.*s' is given twice", STR_ARGS(word));
}

/// One of `each P`, `repeat N`, `repeat *`, `priority K`; false when there is none.
static bool parse_clause(Parser* p, AstStatement* out) {
  if (p->tok.kind != TOK_WORD || p->recovering) return false;
  Word word = p->tok.word;
  if (word == WORD_EACH) {
    if (out->as.at.each) report_clause_twice(p);
    parser_advance(p);
    out->as.at.each = parser_expr(p);
    return true;
  }
  if (word == WORD_REPEAT) {
    if (out->as.at.repeat || out->as.at.repeat_forever) report_clause_twice(p);
    parser_advance(p);
    out->as.at.repeat_forever = parser_accept(p, TOK_STAR);
    if (!out->as.at.repeat_forever) out->as.at.repeat = parser_expr(p);
    return true;
  }
  if (word == WORD_PRIORITY) {
    if (out->as.at.priority) report_clause_twice(p);
    parser_advance(p);
    out->as.at.priority = parser_expr(p);
    return true;
  }
  return false;
}

/// `at time = 5`, `at 5 every 2`.
static void check_heading(Parser* p) {
  if (p->tok.kind == TOK_ASSIGN && parser_fail(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0102, p->tok.span, "'at' takes a time, not an equation");
    diag_hint(p->diags, diag, "write at 5 { ... }");
  }
  if (p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_END && parser_fail(p)) {
    Str found = parser_describe(p, &p->tok);
    Diag* diag = diag_add(p->diags, DIAG_E0101, parser_here(p),
                          "expected '{' after the time, found %.*s", STR_ARGS(found));
    if (!hint_clause(p, diag)) {
      diag_hint(p->diags, diag, "write at 5 each 2 repeat 10 { set x = 0; }");
    }
  }
}

/// `every P { ... }` is `at t0 each P repeat * { ... }`; `every P repeat N` ends.
bool parser_every(Parser* p, const BlockFrame* frame, AstStatement* out) {
  Span word = p->tok.span;
  parser_advance(p);
  out->kind = AST_AT;
  out->as.at.time = parser_node(p, AST_NAME, word, 0);
  out->as.at.time->as.name.name = (AstName){.span = word, .head = STR_LIT("t0")};
  out->as.at.each = parser_expr(p);
  while (parse_clause(p, out)) {
  }
  out->as.at.repeat_forever = !out->as.at.repeat;
  return parser_block(p, frame, PLACE_AT, "the period", &out->as.at.body);
}

/// `persistent` or `trigger`, behind the condition; false when there is none.
static bool parse_manner(Parser* p, AstAfter* after) {
  if (p->tok.kind != TOK_WORD || p->recovering) return false;
  bool* manner = p->tok.word == WORD_PERSISTENT ? &after->persistent
                 : p->tok.word == WORD_TRIGGER  ? &after->trigger
                                                : NULL;
  if (!manner) return false;
  if (*manner) report_clause_twice(p);
  *manner = true;
  parser_advance(p);
  return true;
}

bool parser_after(Parser* p, const BlockFrame* frame, AstStatement* out) {
  parser_advance(p);
  AstAfter* after = ARENA_NEW(p->arena, AstAfter);
  out->kind = AST_AFTER;
  out->as.after = after;
  after->delay = parser_delay(p);
  bool bracket = p->tok.kind == TOK_LBRACKET;
  bool typed = p->tok.kind == TOK_WORD && word_is_event(p->tok.word);
  if (!bracket && !typed && parser_fail(p)) {
    Str found = parser_describe(p, &p->tok);
    Diag* diag = diag_add(p->diags, DIAG_E0101, parser_here(p),
                          "expected '[' of the condition, found %.*s", STR_ARGS(found));
    diag_hint(p->diags, diag, "write after 0.5 [x > 1] { ... }");
  }
  after->condition = p->recovering ? parser_error_expr(p) : parser_condition(p);
  while (parse_manner(p, after)) {
  }
  return parser_block(p, frame, PLACE_AT, "the condition", &after->body);
}

bool parser_at(Parser* p, const BlockFrame* frame, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_AT;
  out->as.at.time = parser_expr(p);
  while (parse_clause(p, out)) {
  }
  check_heading(p);
  return parser_block(p, frame, PLACE_AT, "the time", &out->as.at.body);
}
