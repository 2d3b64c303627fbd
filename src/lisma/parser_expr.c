// SPDX-License-Identifier: MIT
//
// Names and expressions. Operators of one level become one chain node in a loop, so the recursion
// follows the nesting of the text, never the number of terms.
#include "lisma/parser_internal.h"

// ---------------------------------------------------------------------------------------------
// Nodes

AstExpr* parser_error_expr(Parser* p) {
  AstExpr* node = ARENA_NEW(p->arena, AstExpr);
  node->kind = AST_ERROR;
  node->depth = 1;
  node->span = parser_here(p);
  return node;
}

static AstExpr* report_depth(Parser* p, Span span) {
  if (parser_fail(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0701, (Span){span.begin, span.begin + 1},
                          "the expression is nested too deeply; the limit is %d", AST_DEPTH_MAX);
    diag_hint(p->diags, diag, "give parts of it a name with 'macro'");
  }
  return parser_error_expr(p);
}

AstExpr* parser_node(Parser* p, AstExprKind kind, Span span, uint32_t child_depth) {
  if (child_depth >= AST_DEPTH_MAX) return report_depth(p, span);
  AstExpr* node = ARENA_NEW(p->arena, AstExpr);
  node->kind = kind;
  node->depth = (uint16_t)(child_depth + 1);
  node->span = span;
  return node;
}

static uint32_t deeper(uint32_t depth, const AstExpr* child) {
  return child->depth > depth ? child->depth : depth;
}

static uint32_t name_depth(const AstName* name) {
  uint32_t depth = name->member ? name_depth(name->member) : 0;
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstExprList* subscripts = &name->indices.data[i].subscripts;
    for (uint32_t k = 0; k < subscripts->count; k++) {
      depth = deeper(depth, subscripts->data[k]);
    }
  }
  return depth;
}

// ---------------------------------------------------------------------------------------------
// Names

bool parser_next_is_name(const Parser* p) {
  const Token* next = &p->next;
  if (next->kind == TOK_QUOTED) return true;
  // a reserved word on the same line was meant as a name, and is told so
  if (token_is_reserved(next)) return !next->line_start;
  return next->kind == TOK_WORD && !word_is_operator(next->word);
}

/// A reserved word where a name is wanted. At the start of a line a keyword rather begins the next
/// statement, and something is missing before it.
static bool is_misused(const Token* token) {
  return token_is_reserved(token) && (!token->line_start || token->kind == TOK_WORD);
}

void parser_mend_reserved(Parser* p) {
  if (parser_mend(p)) {
    Str text = parser_token_text(p, &p->tok);
    Diag* diag = diag_add(p->diags, DIAG_E0108, p->tok.span,
                          "'%.*s' is a reserved word and cannot be a name", STR_ARGS(text));
    diag_hint(p->diags, diag, "choose another name, or write it in backquotes: `%.*s`",
              STR_ARGS(text));
  }
  p->tok.kind = TOK_WORD;
  p->tok.word = WORD_NONE;
}

static AstExprList parse_subscripts(Parser* p) {
  AstExprList list = {0};
  size_t mark = p->scratch_used;
  do {
    AstExpr* subscript = parser_expr(p);
    parser_push(p, &subscript, sizeof(AstExpr*));
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  PARSER_TAKE(p, mark, AstExpr*, list);
  return list;
}

/// `[` directly behind a name. Behind a tail the lexer cannot know it from an atom's bracket.
static bool at_index(const Parser* p, bool behind_tail) {
  if (p->tok.kind == TOK_INDEX) return true;
  return behind_tail && p->tok.kind == TOK_LBRACKET && p->tok.span.begin == p->previous_end;
}

static AstIndexList parse_indices(Parser* p) {
  AstIndexList list = {0};
  size_t mark = p->scratch_used;
  bool behind_tail = false;
  while (!p->recovering && at_index(p, behind_tail)) {
    AstIndex index = {0};
    Span open = p->tok.span;
    parser_advance(p);
    index.subscripts = parse_subscripts(p);
    if (!parser_close(p, TOK_RBRACKET, open)) {
      index.span = parser_since(p, open.begin);
      parser_push(p, &index, sizeof index);
      break;
    }
    index.span = parser_since(p, open.begin);

    // letters or digits glued to the bracket belong to the name, whatever word they form
    bool word = p->tok.kind == TOK_WORD || p->tok.kind == TOK_TAIL || token_is_reserved(&p->tok);
    behind_tail = word && p->tok.glued;
    if (behind_tail) {
      index.tail = parser_token_text(p, &p->tok);
      parser_advance(p);
    }
    parser_push(p, &index, sizeof index);
  }
  PARSER_TAKE(p, mark, AstIndex, list);
  return list;
}

/// The current token is known to be the head of a name.
static AstName parse_name(Parser* p) {
  AstName name = {.head = parser_token_text(p, &p->tok),
                  .quoted = p->tok.kind == TOK_QUOTED,
                  .number = ++p->name_count};
  uint32_t begin = p->tok.span.begin;
  parser_advance(p);
  name.indices = parse_indices(p);
  name.span = parser_since(p, begin);
  return name;
}

bool parser_expect_name(Parser* p, const char* what, AstName* name) {
  if (is_misused(&p->tok)) {
    parser_mend_reserved(p);
  } else if (p->tok.kind != TOK_WORD && p->tok.kind != TOK_QUOTED) {
    if (parser_fail(p)) {
      Str found = parser_describe(p, &p->tok);
      diag_add(p->diags, DIAG_E0101, parser_here(p), "expected %s, found %.*s", what,
               STR_ARGS(found));
    }
    *name = (AstName){.span = parser_here(p)};
    return false;
  }
  *name = parse_name(p);
  return true;
}

AstNameList parser_name_list(Parser* p, const char* what) {
  AstNameList list = {0};
  size_t mark = p->scratch_used;
  do {
    AstName name;
    if (!parser_expect_name(p, what, &name)) break;
    parser_push(p, &name, sizeof name);
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  PARSER_TAKE(p, mark, AstName, list);
  return list;
}

bool parser_expect_word(Parser* p, const char* what, Str* word, Span* span) {
  *word = STR_LIT("");
  *span = parser_here(p);
  if (is_misused(&p->tok)) {
    parser_mend_reserved(p);
  } else if (p->tok.kind != TOK_WORD) {
    if (parser_fail(p)) {
      Str found = parser_describe(p, &p->tok);
      diag_add(p->diags, DIAG_E0101, parser_here(p), "expected %s, found %.*s", what,
               STR_ARGS(found));
    }
    return false;
  }
  *word = parser_token_text(p, &p->tok);
  *span = p->tok.span;
  parser_advance(p);
  return true;
}

uint16_t parser_primes(Parser* p) {
  uint16_t count = 0;
  while (parser_accept(p, TOK_PRIME)) {
    if (count < UINT16_MAX) count++;
  }
  return count;
}

// ---------------------------------------------------------------------------------------------
// Operands

AstRange parser_range(Parser* p) {
  uint32_t begin = p->tok.span.begin;
  AstRange range = {.first = parser_expr(p)};
  if (!p->recovering && parser_accept(p, TOK_COLON)) range.last = parser_expr(p);
  if (range.last && p->tok.kind == TOK_COLON && parser_fail(p)) {
    diag_add(p->diags, DIAG_E0102, p->tok.span, "a range has two bounds, as in 1:N");
  }
  range.span = parser_since(p, begin);
  return range;
}

static Argument parse_argument(Parser* p) {
  Argument argument = {.span = p->tok.span};
  bool word = p->tok.kind == TOK_WORD || token_is_reserved(&p->tok);
  if (word && p->next.kind == TOK_ASSIGN) {
    parser_expect_word(p, "a name", &argument.name, &argument.name_span);
    parser_advance(p);
    argument.range = parser_range(p);
  } else {
    argument.range.first = parser_expr(p);
    argument.range.span = argument.range.first->span;
  }
  argument.span = parser_since(p, argument.span.begin);
  return argument;
}

/// `(a, b)` of a call; the current token is the parenthesis.
static ArgumentList parse_arguments(Parser* p) {
  ArgumentList list = {0};
  size_t mark = p->scratch_used;
  Span open = p->tok.span;
  parser_advance(p);
  if (p->tok.kind != TOK_RPAREN) {
    do {
      Argument argument = parse_argument(p);
      parser_push(p, &argument, sizeof argument);
    } while (!p->recovering && parser_accept(p, TOK_COMMA));
  }
  parser_close(p, TOK_RPAREN, open);
  PARSER_TAKE(p, mark, Argument, list);
  return list;
}

/// `[condition]`; the type words and parameters before it are read.
static AstExpr* parse_atom(Parser* p, uint32_t begin, AstEvent type, ArgumentList arguments) {
  Span open = p->tok.span;
  parser_advance(p);
  AstExpr* condition = parser_condition(p);
  parser_close(p, TOK_RBRACKET, open);
  uint32_t depth = condition->depth;
  AstExpr parameters = {0};
  parser_atom_parameters(p, arguments, &parameters, &depth);
  AstExpr* node = parser_node(p, AST_ATOM, parser_since(p, begin), depth);
  if (node->kind == AST_ERROR) return node;
  node->as.atom.type = type;
  node->as.atom.eps = parameters.as.atom.eps;
  node->as.atom.gamma = parameters.as.atom.gamma;
  node->as.atom.condition = condition;
  return node;
}

static AstEvent event_of_word(Word word) {
  SLT_ASSERT(word_is_event(word));
  return (AstEvent)(AST_EVENT_UNILATERAL + (int)word - WORD_UNILATERAL);
}

static AstExpr* make_name(Parser* p, const AstName* name, uint16_t order) {
  AstExpr* node = parser_node(p, AST_NAME, parser_since(p, name->span.begin), name_depth(name));
  if (node->kind == AST_ERROR) return node;
  node->as.name.name = *name;
  node->order = order;
  return node;
}

static AstExpr* make_qualified(Parser* p, AstName* path) {
  AstName* state = path->member;
  path->member = NULL;
  uint32_t depth = name_depth(path);
  uint32_t state_depth = name_depth(state);
  AstExpr* node = parser_node(p, AST_QUALIFIED, parser_since(p, path->span.begin),
                              depth > state_depth ? depth : state_depth);
  if (node->kind == AST_ERROR) return node;
  node->as.qualified.automaton = ARENA_NEW(p->arena, AstName);
  *node->as.qualified.automaton = *path;
  node->as.qualified.state = state;
  return node;
}

/// The names behind the '.' at hand, as a path from `name` on. False after an error.
static bool parse_members(Parser* p, AstName* name) {
  AstName* last = name;
  while (p->tok.kind == TOK_DOT) {
    parser_advance(p);
    // `A.state` is the state A is in, as a column of the results
    if (p->tok.kind == TOK_STATE) p->tok.kind = TOK_WORD;
    AstName* member = ARENA_NEW(p->arena, AstName);
    if (!parser_expect_name(p, "the name of a state or a member after '.'", member)) return false;
    last->member = member;
    last = member;
  }
  return true;
}

bool parser_expect_path(Parser* p, const char* what, AstName* name) {
  if (!parser_expect_name(p, what, name) || !parse_members(p, name)) return false;
  name->span = parser_since(p, name->span.begin);
  return true;
}

/// `der x`: the derivative as other languages write it.
static AstExpr* mend_derivative(Parser* p, const AstName* der) {
  AstName name = parse_name(p);
  if (parser_mend(p)) {
    Span span = {der->span.begin, name.span.end};
    Diag* diag = diag_add(p->diags, DIAG_E0110, span, "a derivative is written with a mark");
    diag_hint(p->diags, diag, "write %.*s' or der(%.*s)", (int)(name.span.end - name.span.begin),
              p->source->text.data + name.span.begin, (int)(name.span.end - name.span.begin),
              p->source->text.data + name.span.begin);
  }
  return make_name(p, &name, 1);
}

/// An operand that begins with a name: variable, derivative, call, typed atom, NAME.STATE.
static AstExpr* parse_name_operand(Parser* p) {
  Token head = p->tok;
  AstName name = parse_name(p);
  uint32_t begin = head.span.begin;
  bool event = head.kind == TOK_WORD && word_is_event(head.word);
  if (event && p->tok.kind == TOK_LBRACKET) {
    return parse_atom(p, begin, event_of_word(head.word), (ArgumentList){0});
  }
  bool other_name = p->tok.kind == TOK_WORD && p->tok.word == WORD_NONE && !p->tok.line_start;
  if (other_name && ast_name_is_word(&name, STR_LIT("der"))) return mend_derivative(p, &name);
  bool path = p->tok.kind == TOK_DOT;
  if (path && !parse_members(p, &name)) return parser_error_expr(p);
  bool ends = p->tok.kind != TOK_PRIME && p->tok.kind != TOK_LPAREN;
  if (path && ends && !name.member->member) return make_qualified(p, &name);
  if (path) name.span = parser_since(p, begin);

  uint16_t order = parser_primes(p);
  if (p->tok.kind != TOK_LPAREN || p->recovering) return make_name(p, &name, order);
  ArgumentList arguments = parse_arguments(p);
  if (event && order == 0 && p->tok.kind == TOK_LBRACKET && !p->recovering) {
    return parse_atom(p, begin, event_of_word(head.word), arguments);
  }
  return parser_make_call(p, &name, order, arguments, parser_since(p, begin));
}

static AstExpr* parse_parenthesis(Parser* p) {
  Span open = p->tok.span;
  parser_advance(p);
  AstExpr* inner = parser_condition(p);
  parser_close(p, TOK_RPAREN, open);
  inner->span = parser_since(p, open.begin);
  return inner;
}

AstExpr* parser_conditional_rest(Parser* p, Span open, uint32_t begin, AstExpr* condition) {
  static const char* const missing = "expected ',': the function is if(condition, value, value)";
  parser_expect(p, TOK_COMMA, missing);
  AstExpr* then_value = parser_expr(p);
  parser_expect(p, TOK_COMMA, missing);
  AstExpr* else_value = parser_expr(p);
  parser_close(p, TOK_RPAREN, open);
  uint32_t depth = deeper(deeper(condition->depth, then_value), else_value);
  AstExpr* node = parser_node(p, AST_CONDITIONAL, parser_since(p, begin), depth);
  if (node->kind == AST_ERROR) return node;
  node->as.conditional.condition = condition;
  node->as.conditional.then_value = then_value;
  node->as.conditional.else_value = else_value;
  return node;
}

/// `if(c, a, b)` inside an expression.
static AstExpr* parse_conditional(Parser* p) {
  uint32_t begin = p->tok.span.begin;
  parser_advance(p);
  Span open = p->tok.span;
  if (p->tok.kind != TOK_LPAREN && parser_fail(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0101, parser_here(p), "expected '(' after 'if'");
    diag_hint(p->diags, diag, "a value by a condition is written if(x > 0, a, b)");
  }
  parser_expect(p, TOK_LPAREN, "expected '(' after 'if'");
  AstExpr* condition = parser_condition(p);
  return parser_conditional_rest(p, open, begin, condition);
}

AstExpr* parser_number(Parser* p) {
  double value = p->tok.number;
  Span span = p->tok.span;
  parser_advance(p);
  AstExpr* node = parser_node(p, AST_NUMBER, span, 0);
  node->as.number = value;
  if (p->tok.kind == TOK_STRING) {
    p->has_units = true;
    node->as.unit = parser_token_text(p, &p->tok);
    node->as.unit_span = p->tok.span;
    parser_advance(p);
    node->span = parser_since(p, span.begin);
  }
  return node;
}

static AstExpr* parse_missing_operand(Parser* p) {
  // a reserved word in the middle of a line was meant as a name
  if (is_misused(&p->tok) && p->tok.kind != TOK_FROM) {
    parser_mend_reserved(p);
    return parse_name_operand(p);
  }
  if (parser_fail(p)) {
    Str found = parser_describe(p, &p->tok);
    Diag* diag =
        diag_add(p->diags, DIAG_E0102, p->tok.kind == TOK_END ? parser_here(p) : p->tok.span,
                 "expected an expression, found %.*s", STR_ARGS(found));
    parser_hint_operand(p, diag);
  }
  return parser_error_expr(p);
}

AstExpr* parser_operand(Parser* p) {
  if (p->measuring && p->tok.kind == TOK_AT && p->next.kind == TOK_LPAREN) p->tok.kind = TOK_WORD;
  switch ((int)p->tok.kind) {
  case TOK_NUMBER: return parser_number(p);
  case TOK_LPAREN: return parse_parenthesis(p);
  case TOK_LBRACKET: return parse_atom(p, p->tok.span.begin, AST_EVENT_PLAIN, (ArgumentList){0});
  case TOK_QUOTED: return parse_name_operand(p);
  case TOK_WORD:
    if (p->tok.word != WORD_NOT) return parse_name_operand(p);
    break;
  case TOK_IF:
    if (!p->tok.line_start || p->next.kind == TOK_LPAREN) return parse_conditional(p);
    break;
  default: break;
  }
  return parse_missing_operand(p);
}

// ---------------------------------------------------------------------------------------------
// Operators

static AstExpr* parse_unary(Parser* p);

static AstExpr* parse_power(Parser* p, AstExpr* base) {
  if (p->tok.kind == TOK_PRIME && parser_mend(p)) {
    Diag* diag =
        diag_add(p->diags, DIAG_E0110, p->tok.span, "only a name can have a derivative mark");
    diag_hint(p->diags, diag, "give the expression a name: y = ...; and write y'");
    parser_primes(p);
  }
  if (p->tok.kind != TOK_CARET || p->recovering) return base;
  parser_advance(p);
  AstExpr* exponent = parse_unary(p);
  Span span = span_join(base->span, exponent->span);
  AstExpr* node = parser_node(p, AST_POWER, span, deeper(base->depth, exponent));
  if (node->kind == AST_ERROR) return node;
  node->as.power.base = base;
  node->as.power.exponent = exponent;
  return node;
}

static bool unary_op(const Token* token, AstUnaryOp* op) {
  switch ((int)token->kind) {
  case TOK_PLUS: *op = AST_UNARY_PLUS; return true;
  case TOK_MINUS: *op = AST_UNARY_MINUS; return true;
  case TOK_BANG: *op = AST_UNARY_NOT; return true;
  case TOK_WORD: *op = AST_UNARY_NOT; return token->word == WORD_NOT;
  default: return false;
  }
}

/// Deeper nesting than the limit is an error; the caller must not recurse then.
static bool enter(Parser* p) {
  if (p->nesting >= AST_DEPTH_MAX) return false;
  p->nesting++;
  return true;
}

static AstExpr* parse_unary(Parser* p) {
  AstUnaryOp op = AST_UNARY_PLUS;
  if (!enter(p)) return report_depth(p, p->tok.span);
  AstExpr* result = NULL;
  if (unary_op(&p->tok, &op)) {
    uint32_t begin = p->tok.span.begin;
    parser_advance(p);
    AstExpr* operand = parse_unary(p);
    result = parser_node(p, AST_UNARY, (Span){begin, operand->span.end}, operand->depth);
    if (result->kind != AST_ERROR) {
      result->as.unary.op = op;
      result->as.unary.operand = operand;
    }
  } else {
    result = parse_power(p, parser_operand(p));
  }
  p->nesting--;
  return result;
}

static bool chain_op(const Token* token, AstOp* op) {
  switch ((int)token->kind) {
  case TOK_OR: *op = AST_OP_OR; return true;
  case TOK_AND: *op = AST_OP_AND; return true;
  case TOK_EQ: *op = AST_OP_EQ; return true;
  case TOK_NE: *op = AST_OP_NE; return true;
  case TOK_LT: *op = AST_OP_LT; return true;
  case TOK_LE: *op = AST_OP_LE; return true;
  case TOK_GT: *op = AST_OP_GT; return true;
  case TOK_GE: *op = AST_OP_GE; return true;
  case TOK_PLUS: *op = AST_OP_ADD; return true;
  case TOK_MINUS: *op = AST_OP_SUB; return true;
  case TOK_STAR: *op = AST_OP_MUL; return true;
  case TOK_SLASH: *op = AST_OP_DIV; return true;
  case TOK_PERCENT: *op = AST_OP_MOD; return true;
  case TOK_WORD: break;
  default: return false;
  }
  switch ((int)token->word) {
  case WORD_IMPLIES: *op = AST_OP_IMPLIES; return true;
  case WORD_OR: *op = AST_OP_OR; return true;
  case WORD_XOR: *op = AST_OP_XOR; return true;
  case WORD_AND: *op = AST_OP_AND; return true;
  case WORD_MOD: *op = AST_OP_MOD; return true;
  default: return false;
  }
}

/// The links pushed since `mark` become a chain.
static AstExpr* make_chain(Parser* p, AstLevel level, size_t mark) {
  AstLinkList links = {0};
  PARSER_TAKE(p, mark, AstLink, links);
  uint32_t depth = 0;
  for (uint32_t i = 0; i < links.count; i++) {
    depth = deeper(depth, links.data[i].operand);
  }
  Span span = span_join(links.data[0].operand->span, links.data[links.count - 1].operand->span);
  AstExpr* node = parser_node(p, AST_CHAIN, span, depth);
  if (node->kind == AST_ERROR) return node;
  node->as.chain.level = level;
  node->as.chain.links = links;
  return node;
}

/// Precedence climbing: operators of at least `weakest` behind `left`.
static AstExpr* parse_chains(Parser* p, AstExpr* left, AstLevel weakest) {
  AstOp op = AST_OP_OR;
  while (!p->recovering && chain_op(&p->tok, &op) && ast_op_level(op) >= weakest) {
    AstLevel level = ast_op_level(op);
    size_t mark = p->scratch_used;
    AstLink link = {.op = op, .operand = left};
    parser_push(p, &link, sizeof link);
    while (!p->recovering && chain_op(&p->tok, &op) && ast_op_level(op) == level) {
      link = (AstLink){.op = op, .op_span = p->tok.span};
      parser_advance(p);
      link.operand = parse_unary(p);
      if (level < AST_LEVEL_MULTIPLY) {
        link.operand = parse_chains(p, link.operand, (AstLevel)(level + 1));
      }
      parser_push(p, &link, sizeof link);
    }
    left = make_chain(p, level, mark);
  }
  return left;
}

AstExpr* parser_expr_from(Parser* p, AstExpr* operand) {
  return parse_chains(p, parse_power(p, operand), AST_LEVEL_IMPLIES);
}

AstExpr* parser_expr(Parser* p) {
  return parse_chains(p, parse_unary(p), AST_LEVEL_IMPLIES);
}

AstExpr* parser_delay(Parser* p) {
  size_t mark = p->scratch_used;
  AstLink link = {.operand = parser_operand(p)};
  if (p->tok.kind != TOK_STAR && p->tok.kind != TOK_SLASH) return link.operand;
  parser_push(p, &link, sizeof link);
  while (!p->recovering && (p->tok.kind == TOK_STAR || p->tok.kind == TOK_SLASH)) {
    link = (AstLink){.op_span = p->tok.span};
    link.op = p->tok.kind == TOK_STAR ? AST_OP_MUL : AST_OP_DIV;
    parser_advance(p);
    // a bracket begins the condition, also behind the word for its event
    bool word = p->tok.kind == TOK_WORD && p->tok.word != WORD_NOT && !word_is_event(p->tok.word);
    bool fits =
        word || p->tok.kind == TOK_NUMBER || p->tok.kind == TOK_LPAREN || p->tok.kind == TOK_QUOTED;
    link.operand = fits ? parser_operand(p) : parse_missing_operand(p);
    parser_push(p, &link, sizeof link);
  }
  return make_chain(p, AST_LEVEL_MULTIPLY, mark);
}

AstExpr* parser_condition(Parser* p) {
  AstExpr* left = parser_expr(p);
  while (!p->recovering && p->tok.kind == TOK_ASSIGN) {
    Diag* diag = diag_add(p->diags, DIAG_E0109, p->tok.span, "'=' does not compare");
    diag_hint(p->diags, diag, "write '=='");
    size_t mark = p->scratch_used;
    AstLink link = {.operand = left};
    parser_push(p, &link, sizeof link);
    link = (AstLink){.op = AST_OP_EQ, .op_span = p->tok.span};
    parser_advance(p);
    link.operand = parser_expr(p);
    parser_push(p, &link, sizeof link);
    left = make_chain(p, AST_LEVEL_EQUALITY, mark);
  }
  return left;
}
