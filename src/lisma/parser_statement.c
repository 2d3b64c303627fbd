// SPDX-License-Identifier: MIT
//
// Statements without a body. Words such as `set` or `stop` are no keywords: they begin a statement
// only when the second token cannot continue an equation that begins with a variable of this name.
#include "lisma/parser_internal.h"

// ---------------------------------------------------------------------------------------------
// Definitions

/// `a = b = value`: all but the last must be names.
static void parse_definition(Parser* p, bool several, AstDefinition* out) {
  uint32_t begin = p->tok.span.begin;
  size_t mark = p->scratch_used;
  AstName name;
  *out = (AstDefinition){.value = NULL};
  if (parser_expect_name(p, "a name", &name)) {
    parser_note_declared(p, &name);
    parser_push(p, &name, sizeof name);
    parser_expect_assign(p, "the name");
  }
  out->value = p->recovering ? parser_error_expr(p) : parser_expr(p);
  while (several && !p->recovering && parser_accept(p, TOK_ASSIGN)) {
    const AstExpr* target = out->value;
    if (target->kind == AST_NAME && target->order == 0) {
      parser_note_declared(p, &target->as.name.name);
      parser_push(p, &target->as.name.name, sizeof(AstName));
    } else {
      Diag* diag = diag_add(p->diags, DIAG_E0123, target->span, "only a name can be given a value");
      diag_hint(p->diags, diag, "a comparison is written '=='");
    }
    out->value = parser_expr(p);
  }
  PARSER_TAKE(p, mark, AstName, out->names);
  out->span = parser_since(p, begin);
}

static bool parse_definitions(Parser* p, AstStatementKind kind, AstStatement* out) {
  parser_advance(p);
  size_t mark = p->scratch_used;
  do {
    AstDefinition definition;
    parse_definition(p, kind == AST_CONST, &definition);
    if (definition.names.count) parser_push(p, &definition, sizeof definition);
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  out->kind = kind;
  PARSER_TAKE(p, mark, AstDefinition, out->as.definitions);
  parser_end_statement(p, kind == AST_CONST ? "the constant" : "the macro");
  return out->as.definitions.count > 0;
}

static AstValue parse_value(Parser* p) {
  AstValue value = {.span = p->tok.span};
  if (p->tok.kind == TOK_STRING) {
    value.text = parser_token_text(p, &p->tok);
    parser_advance(p);
  } else {
    value.expr = parser_expr(p);
    value.span = value.expr->span;
  }
  return value;
}

/// Settings may be parted by ',' in error: `nominal = 10, unit = "m"`.
static bool at_setting(const Parser* p) {
  return p->tok.kind == TOK_WORD && p->next.kind == TOK_ASSIGN;
}

static bool parse_data(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_DATA;
  AstData* data = ARENA_NEW(p->arena, AstData);
  out->as.data = data;
  if (parser_expect_name(p, "the name of the data", &data->name)) {
    parser_note_declared(p, &data->name);
    parser_expect_assign(p, "the name of the data");
  }
  if (!p->recovering) {
    data->file = parser_token_text(p, &p->tok);
    data->file_span = p->tok.span;
    parser_expect(p, TOK_STRING, "expected the name of a file in quotation marks");
  }
  size_t mark = p->scratch_used;
  while (!p->recovering && parser_accept(p, TOK_COMMA)) {
    AstValue value = parse_value(p);
    parser_push(p, &value, sizeof value);
  }
  PARSER_TAKE(p, mark, AstValue, data->options);
  const AstExpr* only = data->options.count == 1 ? data->options.data[0].expr : NULL;
  data->foreign = only && only->kind == AST_NAME && only->order == 0 &&
                  ast_name_is_word(&only->as.name.name, STR_LIT("foreign"));
  parser_end_statement(p, "the data");
  return true;
}

// ---------------------------------------------------------------------------------------------
// Equations and initial values

/// `x(t0)` or `x(0)` on a left side.
static bool is_initial_form(const AstExpr* lhs, AstInitForm* form) {
  if (lhs->kind != AST_CALL || lhs->as.call.args.count != 1) return false;
  const AstExpr* arg = lhs->as.call.args.data[0];
  if (arg->kind == AST_NUMBER && arg->as.number == 0.0) {
    *form = AST_INIT_ZERO;
    return true;
  }
  bool name = arg->kind == AST_NAME && arg->order == 0;
  *form = AST_INIT_T0;
  return name && ast_name_is_word(&arg->as.name.name, STR_LIT("t0"));
}

/// Memory of a part that nobody has written: its names begin with a colon.
static bool is_hidden(const Parser* p, const AstName* name) {
  const SourcePart* part = source_part(p->source, name->span.begin);
  bool generated = part && part->generated;
  return generated && name->quoted && name->head.length && name->head.data[0] == ':';
}

static void make_initial(Parser* p, AstInitForm form, bool guess, const AstExpr* lhs, AstExpr* rhs,
                         AstStatement* out) {
  AstInit* item = ARENA_NEW(p->arena, AstInit);
  *item = (AstInit){.span = {lhs->span.begin, rhs->span.end},
                    .name = *lhs->as.call.callee,
                    .order = lhs->as.call.order,
                    .guess = guess,
                    .hidden = is_hidden(p, lhs->as.call.callee),
                    .value = rhs};
  parser_note_declared(p, &item->name);
  out->kind = AST_INIT;
  out->as.init.form = form;
  out->as.init.items.data = item;
  out->as.init.items.count = 1;
}

/// `x == y;` was meant as an equation: split the comparison at its first sign.
static bool split_comparison(Parser* p, AstExpr** lhs, AstExpr** rhs) {
  AstExpr* e = *lhs;
  if (e->kind != AST_CHAIN || e->as.chain.level != AST_LEVEL_EQUALITY || !parser_mend(p))
    return false;
  const AstLink* links = e->as.chain.links.data;
  if (links[1].op != AST_OP_EQ) return false;
  Diag* diag =
      diag_add(p->diags, DIAG_E0109, links[1].op_span, "an equation is written with one '='");
  diag_hint(p->diags, diag, "write '='");
  *lhs = links[0].operand;
  *rhs = links[1].operand;
  return true;
}

/// `delete upper.gear;`, `upper.gear: F = 0;`
static void report_path_label(Parser* p) {
  if (!parser_fail(p)) return;
  Diag* diag =
      diag_add(p->diags, DIAG_E0101, p->tok.span, "a label of a part is known inside only");
  diag_hint(p->diags, diag,
            "write the state in the part, or replace an equation by its left side: upper.q = 0;");
}

/// `Tank for;`
static bool report_reserved_instance(Parser* p, const AstExpr* lhs) {
  bool ends = p->next.kind == TOK_SEMICOLON || p->next.kind == TOK_COMMA;
  if (lhs->kind != AST_NAME || !token_is_reserved(&p->tok) || !ends) return false;
  parser_mend_reserved(p);
  p->recovering = true;
  return true;
}

static void report_no_equation(Parser* p, const AstExpr* lhs) {
  if (lhs->kind == AST_ERROR) p->recovering = true;
  if (report_reserved_instance(p, lhs)) return;
  bool path = lhs->kind == AST_QUALIFIED || (lhs->kind == AST_NAME && lhs->as.name.name.member);
  if (path && p->tok.kind == TOK_COLON) {
    report_path_label(p);
    return;
  }
  if (p->tok.kind == TOK_RPAREN || p->tok.kind == TOK_RBRACKET) {
    if (!parser_fail(p)) return;
    diag_add(p->diags, DIAG_E0107, p->tok.span, "this %s closes nothing",
             token_kind_text(p->tok.kind));
    return;
  }
  if (!parser_fail(p)) return;
  Str found = parser_describe(p, &p->tok);
  Diag* diag = diag_add(p->diags, DIAG_E0101, parser_here(p),
                        "expected '=' of an equation, found %.*s", STR_ARGS(found));
  const AstExpr* first = lhs->kind == AST_CHAIN ? lhs->as.chain.links.data[0].operand : NULL;
  bool named = first && first->kind == AST_NAME;
  TokenKind next = p->tok.kind;
  if (named && next == TOK_LBRACKET && ast_name_is_word(&first->as.name.name, STR_LIT("after"))) {
    diag_hint(p->diags, diag, "a delay is at least 0, and has no sign: after 0.5 [x > 1] { ... }");
  } else if (named && next == TOK_LBRACE &&
             ast_name_is_word(&first->as.name.name, STR_LIT("every"))) {
    diag_hint(p->diags, diag, "a period is greater than 0, and has no sign: every 0.5 { ... }");
  } else {
    parser_hint_statement(p, diag, lhs);
  }
}

/// The top level outside loops: there `energy = ...` is the declaration.
static bool is_energy(const BlockFrame* frame, const AstName* label, const AstExpr* lhs) {
  if (frame->place != PLACE_TOP || frame->in_loop || label) return false;
  bool name = lhs->kind == AST_NAME && lhs->order == 0;
  return name && ast_name_is_word(&lhs->as.name.name, STR_LIT("energy"));
}

static void classify_sides(Parser* p, const BlockFrame* frame, bool guess, AstName* label,
                           AstExpr* lhs, AstExpr* rhs, AstStatement* out) {
  AstInitForm form = AST_INIT_T0;
  if (is_initial_form(lhs, &form)) {
    if (label && parser_mend(p)) {
      diag_add(p->diags, DIAG_E0125, label->span, "only an equation can carry a label");
    }
    make_initial(p, form, guess, lhs, rhs, out);
    return;
  }
  if (guess && parser_mend(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0124, lhs->span, "'~=' gives a guess for a value x(t0)");
    diag_hint(p->diags, diag, "an equation is written with '='");
  }
  if (is_energy(frame, label, lhs)) {
    out->kind = AST_ENERGY;
    out->as.energy = rhs;
    return;
  }
  if (lhs->kind == AST_NAME) parser_note_declared(p, &lhs->as.name.name);
  parser_check_quotient(p, lhs);
  out->kind = AST_EQUATION;
  out->as.equation.label = label;
  out->as.equation.lhs = lhs;
  out->as.equation.rhs = rhs;
}

bool parser_sides(Parser* p, const BlockFrame* frame, uint32_t begin, AstName* label, AstExpr* lhs,
                  AstStatement* out) {
  AstExpr* rhs = NULL;
  if (p->recovering) return false;  // the left side is broken: what it was meant for is not known
  bool guess = p->tok.kind == TOK_GUESS;
  if (p->tok.kind == TOK_ASSIGN || guess) {
    p->after_gap = false;
    parser_advance(p);
    rhs = parser_expr(p);
  } else if (!split_comparison(p, &lhs, &rhs)) {
    report_no_equation(p, lhs);
    return false;
  }
  classify_sides(p, frame, guess, label, lhs, rhs, out);
  out->span = parser_since(p, begin);
  parser_end_statement(p, out->kind == AST_INIT ? "the initial value" : "the equation");
  return true;
}

// ---------------------------------------------------------------------------------------------
// Attributes and experiment

/// The values in braces of a text, "{T:.1f}", are read where they stand.
static void parse_text_values(Parser* p, Span text) {
  Parser outer = *p;
  const char* data = p->source->text.data;
  for (uint32_t at = text.begin; at < text.end && !p->recovering; at++) {
    if (data[at] != '{') continue;
    uint32_t close = at;
    while (close < text.end && data[close] != '}')
      close++;
    p->lexer.at = at + 1;
    p->lexer.text.length = ast_format_begin(p->source->text, at + 1, close);
    p->lexer.line_start = false;
    p->next = lexer_next(&p->lexer);
    parser_advance(p);
    AstValue value = {.in_text = true, .expr = parser_expr(p)};
    value.span = value.expr->span;
    if ((p->tok.kind != TOK_END || close == text.end) && parser_fail(p)) {
      diag_add(p->diags, DIAG_E0132, (Span){at, close},
               "a value in a text is written {x} or {x:.2f}");
    }
    parser_push(p, &value, sizeof value);
    at = close;
  }
  p->lexer = outer.lexer;
  p->tok = outer.tok;
  p->next = outer.next;
  p->previous_end = outer.previous_end;
}

/// `circle(x, y, 0.1);`
static void parse_shape(Parser* p, AstSetting* setting) {
  uint32_t begin = p->tok.span.begin;
  *setting = (AstSetting){.key = STR_LIT(""), .is_shape = true};
  size_t mark = p->scratch_used;
  parser_expect_word(p, "the name of a shape", &setting->key, &setting->key_span);
  Span open = p->tok.span;
  parser_expect(p, TOK_LPAREN, "expected '(' after the name of a shape");
  while (!p->recovering && p->tok.kind != TOK_RPAREN) {
    Span text = p->tok.inner;
    AstValue value = parse_value(p);
    parser_push(p, &value, sizeof value);
    if (!value.expr) parse_text_values(p, text);
    if (!parser_accept(p, TOK_COMMA)) break;
  }
  PARSER_TAKE(p, mark, AstValue, setting->values);
  if (!p->recovering) parser_close(p, TOK_RPAREN, open);
  parser_end_statement(p, "the shape");
  setting->span = parser_since(p, begin);
}

static void parse_setting(Parser* p, AstSetting* setting) {
  if (p->tok.kind == TOK_WORD && p->next.kind == TOK_LPAREN) {
    parse_shape(p, setting);
    return;
  }
  uint32_t begin = p->tok.span.begin;
  *setting = (AstSetting){.key = STR_LIT("")};
  size_t mark = p->scratch_used;
  if (parser_expect_word(p, "the name of a setting", &setting->key, &setting->key_span)) {
    parser_expect_assign(p, "the setting");
  }
  bool comma = false;  // ',' where ';' was meant
  if (!p->recovering) {
    do {
      comma = at_setting(p);
      if (comma) break;
      AstValue value = parse_value(p);
      parser_push(p, &value, sizeof value);
    } while (!p->recovering && parser_accept(p, TOK_COMMA));
  }
  PARSER_TAKE(p, mark, AstValue, setting->values);
  if (comma && parser_mend(p)) {
    diag_add(p->diags, DIAG_E0101, parser_here(p), "settings are parted by ';'");
  } else if (!comma) {
    parser_end_statement(p, "the setting");
  }
  setting->span = parser_since(p, begin);
}

AstSettingList parser_settings(Parser* p) {
  AstSettingList list = {0};
  Span open = p->tok.span;
  parser_advance(p);
  size_t mark = p->scratch_used;
  while (p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_END) {
    if (parser_accept(p, TOK_SEMICOLON)) continue;
    if (parser_starts_statement(&p->tok)) break;  // the '}' is missing
    AstSetting setting;
    uint32_t start = p->tok.span.begin;
    parse_setting(p, &setting);
    p->after_gap = false;
    if (p->recovering) parser_synchronise(p, start);
    if (setting.values.count || setting.is_shape) parser_push(p, &setting, sizeof setting);
  }
  PARSER_TAKE(p, mark, AstSetting, list);
  parser_close(p, TOK_RBRACE, open);
  return list;
}

void parser_check_settings(Parser* p, const AstSettingList* settings, bool shapes) {
  for (uint32_t i = 0; i < settings->count; i++) {
    const AstSetting* setting = &settings->data[i];
    if (setting->is_shape == shapes) continue;
    Diag* diag = diag_add(p->diags, DIAG_E0132, setting->key_span,
                          shapes ? "a drawing has no settings" : "no shape stands here");
    diag_hint(p->diags, diag,
              shapes ? "shapes are written: circle(x, y, 0.1);"
                     : "a drawing is written: animate { circle(x, y, 0.1); }");
  }
}

/// `experment { end = 1; }`: settings that no variable has, behind a word that is misspelt.
static bool is_misspelt_block(Parser* p, const AstName* name, const AstSettingList* settings) {
  static const char* const words[] = {"experiment", "animate", "else"};
  static const char* const attributes[] = {"nominal", "unit", "select", "inactive"};
  const char* word =
      ast_name_is_plain(name) ? parser_nearest(name->head, words, SLT_COUNT(words)) : NULL;
  if (!word || settings->count == 0) return false;
  for (size_t i = 0; i < SLT_COUNT(attributes); i++) {
    if (str_equal(settings->data[0].key, str_from_c(attributes[i]))) return false;
  }
  parser_report_word(p, name->span, word);
  return true;
}

static bool parse_attributes(Parser* p, const AstName* name, uint32_t begin, AstStatement* out) {
  bool experiment = ast_name_is_word(name, STR_LIT("experiment"));
  bool drawing = ast_name_is_word(name, STR_LIT("animate"));
  out->kind = experiment ? AST_EXPERIMENT : drawing ? AST_ANIMATE : AST_ATTRIBUTES;
  bool named = out->kind == AST_ATTRIBUTES;
  if (named) out->as.attributes.name = *name;
  out->as.attributes.settings = parser_settings(p);
  if (named && !p->recovering && is_misspelt_block(p, name, &out->as.attributes.settings)) {
    return false;
  }
  parser_check_settings(p, &out->as.attributes.settings, drawing);
  for (uint32_t i = 0; named && i < out->as.attributes.settings.count; i++) {
    Str key = out->as.attributes.settings.data[i].key;
    p->has_units = p->has_units || str_equal(key, STR_LIT("unit"));
  }
  out->span = parser_since(p, begin);
  return true;
}

// ---------------------------------------------------------------------------------------------
// Contextual words

/// `ic x = 1, y' ~ 2;` and `set x = 1;`
static bool parse_init_list(Parser* p, AstInitForm form, AstStatement* out) {
  parser_advance(p);
  size_t mark = p->scratch_used;
  do {
    AstInit item = {.span = p->tok.span};
    if (!parser_expect_path(p, "the name of a variable", &item.name)) break;
    parser_note_declared(p, &item.name);
    item.order = parser_primes(p);
    if (p->tok.kind == TOK_LPAREN && parser_fail(p)) {
      Diag* diag = diag_add(p->diags, DIAG_E0102, p->tok.span, "no '(t0)' stands here");
      diag_hint(p->diags, diag, "write either x(t0) = ... or %s x = ...",
                form == AST_INIT_SET ? "set" : "ic");
    }
    item.guess = p->tok.kind == TOK_GUESS;
    if (!parser_accept(p, TOK_GUESS)) parser_expect_assign(p, "the name");
    item.value = p->recovering ? parser_error_expr(p) : parser_expr(p);
    item.span = parser_since(p, item.span.begin);
    parser_push(p, &item, sizeof item);
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  out->kind = AST_INIT;
  out->as.init.form = form;
  PARSER_TAKE(p, mark, AstInit, out->as.init.items);
  parser_end_statement(p, "the value");
  return out->as.init.items.count > 0;
}

static bool parse_delete(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_DELETE;
  out->as.labels = parser_name_list(p, "a label");
  if (p->tok.kind == TOK_DOT) report_path_label(p);
  parser_end_statement(p, "the label");
  return out->as.labels.count > 0;
}

static bool parse_goto(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_GOTO;
  AstName* path = ARENA_NEW(p->arena, AstName);
  parser_expect_path(p, "the name of a state", path);
  // the last name is the state, those before it lead to the automaton
  AstName* before = NULL;
  AstName* state = path;
  while (state->member) {
    before = state;
    state = state->member;
  }
  if (before) {
    before->member = NULL;
    out->as.jump.automaton = path;
  }
  out->as.jump.state = state;
  parser_end_statement(p, "the name of the state");
  return true;
}

static bool parse_stop(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_STOP;
  if (p->tok.kind == TOK_STRING) {
    out->as.stop.text = parser_token_text(p, &p->tok);
    out->as.stop.text_span = p->tok.span;
    parser_advance(p);
  }
  parser_end_statement(p, "'stop'");
  return true;
}

static bool parse_invariant(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_INVARIANT;
  out->as.invariant = parser_condition(p);
  parser_end_statement(p, "the invariant");
  return true;
}

/// `measure peak = max(y);`
static bool parse_measure(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_MEASURE;
  if (!parser_expect_name(p, "the name of a measure", &out->as.measure.name)) return false;
  parser_expect_assign(p, "the name");
  p->measuring = true;
  out->as.measure.formula = p->recovering ? parser_error_expr(p) : parser_expr(p);
  p->measuring = false;
  parser_end_statement(p, "the measure");
  return true;
}

/// `control k = 0:10;`, `control on = 0, 1;`, `control m;`
static bool parse_control(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_CONTROL;
  if (!parser_expect_path(p, "the name of a constant or variable", &out->as.control.name))
    return false;
  size_t mark = p->scratch_used;
  if (!p->recovering && parser_accept(p, TOK_ASSIGN)) {
    do {
      AstValue value = {.span = p->tok.span, .expr = parser_expr(p)};
      value.span = value.expr->span;
      parser_push(p, &value, sizeof value);
      bool first = p->scratch_used - mark == sizeof value;
      if (!p->recovering && first && parser_accept(p, TOK_COLON)) {
        out->as.control.is_range = true;
        value.expr = parser_expr(p);
        value.span = value.expr->span;
        parser_push(p, &value, sizeof value);
        break;
      }
    } while (!p->recovering && parser_accept(p, TOK_COMMA));
  }
  PARSER_TAKE(p, mark, AstValue, out->as.control.values);
  parser_end_statement(p, "the control");
  return true;
}

static bool begins_invariant(const Parser* p) {
  switch ((int)p->next.kind) {
  case TOK_LBRACKET:
  case TOK_BANG:
  case TOK_IF:
  case TOK_NUMBER: return true;
  default: return p->next.word == WORD_NOT || parser_next_is_name(p);
  }
}

/// Whether the contextual word at hand begins a statement; otherwise it is a name.
static bool begins_statement(const Parser* p) {
  bool named = parser_next_is_name(p);
  TokenKind next = p->next.kind;
  switch ((int)p->tok.word) {
  case WORD_SET:
  case WORD_IC:
  case WORD_DELETE:
  case WORD_GOTO:
  case WORD_DATA:
  case WORD_CONTACT:
  case WORD_FRICTION:
  case WORD_FUNCTION:
  case WORD_PART:
  case WORD_PORT:
  case WORD_FMU:
  case WORD_MEASURE:
  case WORD_CONTROL: return named;
  case WORD_INCLUDE: return next == TOK_STRING;
  case WORD_AFTER: return next == TOK_NUMBER || (named && !word_is_event(p->next.word));
  case WORD_EVERY: return next == TOK_NUMBER || named;
  case WORD_STOP: return next == TOK_STRING || next == TOK_SEMICOLON;
  case WORD_INVARIANT: return begins_invariant(p);
  default: return false;
  }
}

/// A statement that begins with a contextual word. False: the word is a name.
static bool parse_word_statement(Parser* p, const BlockFrame* frame, AstStatement* out,
                                 bool* keep) {
  if (p->tok.kind != TOK_WORD || p->tok.word == WORD_NONE || !begins_statement(p)) return false;
  switch ((int)p->tok.word) {
  case WORD_SET: *keep = parse_init_list(p, AST_INIT_SET, out); break;
  case WORD_IC: *keep = parse_init_list(p, AST_INIT_IC, out); break;
  case WORD_DELETE: *keep = parse_delete(p, out); break;
  case WORD_GOTO: *keep = parse_goto(p, out); break;
  case WORD_DATA: *keep = parse_data(p, out); break;
  case WORD_CONTACT:
  case WORD_FRICTION: *keep = parser_element(p, out); break;
  case WORD_FUNCTION: *keep = parser_function(p, out); break;
  case WORD_PART: *keep = parser_part(p, frame, out); break;
  case WORD_PORT: *keep = parser_port(p, out); break;
  case WORD_MEASURE: *keep = parse_measure(p, out); break;
  case WORD_CONTROL: *keep = parse_control(p, out); break;
  case WORD_INCLUDE: *keep = parser_include(p, out); break;
  case WORD_FMU: *keep = parser_fmu(p, out); break;
  case WORD_AFTER: *keep = parser_after(p, frame, out); break;
  case WORD_EVERY: *keep = parser_every(p, frame, out); break;
  case WORD_STOP: *keep = parse_stop(p, out); break;
  case WORD_INVARIANT: *keep = parse_invariant(p, out); break;
  default: return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------

/// A statement that begins with an expression: equation, initial value, label, attributes.
static bool parse_expression_statement(Parser* p, const BlockFrame* frame, AstStatement* out) {
  uint32_t begin = p->tok.span.begin;
  bool parenthesis = p->tok.kind == TOK_LPAREN;
  AstExpr* lhs = parser_expr(p);
  bool name = lhs->kind == AST_NAME && lhs->order == 0 && !lhs->as.name.name.member &&
              !parenthesis && !p->recovering;
  if (p->tok.kind == TOK_LBRACE && !parenthesis && !p->recovering) {
    AstName path;
    if (name) return parse_attributes(p, &lhs->as.name.name, begin, out);
    if (ast_path(lhs, &path)) {
      p->has_parts = true;
      return parse_attributes(p, &path, begin, out);
    }
  }
  if (p->tok.kind == TOK_SEMICOLON && parser_is_connect(lhs)) return parser_connect(p, lhs, out);
  AstName* label = NULL;
  if (name && parser_accept(p, TOK_COLON)) {
    label = &lhs->as.name.name;
    p->after_gap = false;
    lhs = parser_expr(p);
  }
  return parser_sides(p, frame, begin, label, lhs, out);
}

/// `at = 5;`: a keyword in the place of a variable.
static bool is_keyword_variable(const Parser* p) {
  TokenKind next = p->next.kind;
  bool continues = next == TOK_ASSIGN || next == TOK_PRIME || next == TOK_EQ || next == TOK_GUESS;
  return token_is_reserved(&p->tok) && continues;
}

/// `else` and `from` without what they belong to.
static bool parse_stray(Parser* p) {
  if (p->tok.kind == TOK_ELSE) {
    if (parser_fail(p)) {
      diag_add(p->diags, DIAG_E0111, p->tok.span, "this 'else' belongs to no 'if'");
    }
  } else if (parser_fail(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0102, p->tok.span,
                          "'from' stands behind the body of a state only");
    diag_hint(p->diags, diag, "write state NAME [guard] { ... } from A, B;");
  }
  parser_advance(p);
  return false;
}

bool parser_statement(Parser* p, BlockFrame* frame, AstStatement* out) {
  uint32_t begin = p->tok.span.begin;
  bool keep = false;
  bool behind_state = p->behind_state;
  p->behind_state = false;
  if (is_keyword_variable(p)) parser_mend_reserved(p);
  if (token_is_reserved(&p->tok)) p->after_gap = false;
  switch ((int)p->tok.kind) {
  case TOK_CONST: keep = parse_definitions(p, AST_CONST, out); break;
  case TOK_MACRO: keep = parse_definitions(p, AST_MACRO, out); break;
  case TOK_FOR: keep = parser_for(p, frame, out); break;
  case TOK_IF: keep = parser_if(p, frame, out); break;
  case TOK_STATE: keep = parser_state(p, frame, out); break;
  case TOK_AUTOMATON: keep = parser_automaton(p, frame, out); break;
  case TOK_AT: keep = parser_at(p, frame, out); break;
  case TOK_ELSE:
  case TOK_FROM: keep = parse_stray(p); break;
  default:
    if (parser_at_instance(p)) {
      keep = parser_instance(p, behind_state, out);
    } else if (!parse_word_statement(p, frame, out, &keep)) {
      keep = parse_expression_statement(p, frame, out);
    }
    break;
  }
  out->span = parser_since(p, begin);
  return keep;
}
