// SPDX-License-Identifier: MIT
//
// Functions, parts and what joins them: ports, instances, connections, included files.
#include "lisma/parser.h"
#include "lisma/parser_internal.h"

// ---------------------------------------------------------------------------------------------
// Functions

static AstNameList parse_parameters(Parser* p) {
  AstNameList list = {0};
  Span open = p->tok.span;
  parser_expect(p, TOK_LPAREN, "expected '(' after the name of the function");
  size_t mark = p->scratch_used;
  while (!p->recovering && p->tok.kind != TOK_RPAREN) {
    AstName name = {.number = ++p->name_count};
    if (!parser_expect_word(p, "the name of an argument", &name.head, &name.span)) break;
    parser_push(p, &name, sizeof name);
    if (!parser_accept(p, TOK_COMMA)) break;
  }
  PARSER_TAKE(p, mark, AstName, list);
  if (!p->recovering) parser_close(p, TOK_RPAREN, open);
  return list;
}

static bool at_return(const Parser* p) {
  bool word = p->tok.kind == TOK_WORD && p->tok.word == WORD_RETURN;
  return word && p->next.kind != TOK_ASSIGN;
}

/// Behind a mistake in the body of a function: its rest belongs to it, up to the '}'.
static void leave_function_body(Parser* p) {
  while (p->tok.kind != TOK_RBRACE && p->tok.kind != TOK_LBRACE && p->tok.kind != TOK_END) {
    if (parser_starts_statement(&p->tok)) return;
    parser_advance(p);
  }
  if (parser_accept(p, TOK_RBRACE)) p->recovering = p->diags->error_count >= DIAG_LIMIT;
}

static void close_function_body(Parser* p, Span open) {
  if (p->recovering || parser_accept(p, TOK_RBRACE) || !parser_fail(p)) return;
  Diag* diag = diag_add(p->diags, DIAG_E0107, parser_here(p), "expected '}' behind 'return ...;'");
  diag_note(p->diags, diag, open, "to close this bracket");
  diag_hint(p->diags, diag, "'return' ends a function: local names stand before it");
}

/// `{ a = expr; ... return expr; }`
static void parse_function_body(Parser* p, AstFunction* function) {
  Span open = p->tok.span;
  size_t mark = p->scratch_used;
  parser_advance(p);
  while (!p->recovering && !at_return(p)) {
    if (p->tok.kind == TOK_RBRACE) {
      Diag* diag = diag_add(p->diags, DIAG_E0101, p->tok.span,
                            "expected 'return' or a local name, found '}'");
      diag_hint(p->diags, diag, "a function ends with its value: return ...;");
      parser_advance(p);
      break;
    }
    AstName name = {.number = ++p->name_count};
    AstDefinition local = {.span = p->tok.span};
    if (!parser_expect_word(p, "'return' or a local name", &name.head, &name.span)) break;
    static const char* const result = "return";
    const char* word = p->tok.kind != TOK_ASSIGN ? parser_nearest(name.head, &result, 1) : NULL;
    if (word && parser_fail(p)) {
      parser_report_word(p, name.span, word);
    }
    parser_expect_assign(p, "the name");
    local.names.data = ARENA_NEW(p->arena, AstName);
    local.names.data[0] = name;
    local.names.count = 1;
    local.value = p->recovering ? parser_error_expr(p) : parser_expr(p);
    local.span = parser_since(p, local.span.begin);
    parser_push(p, &local, sizeof local);
    parser_end_statement(p, "the local name");
  }
  PARSER_TAKE(p, mark, AstDefinition, function->locals);
  if (!p->recovering && at_return(p)) {
    parser_advance(p);
    function->result = parser_expr(p);
    parser_end_statement(p, "the result");
    close_function_body(p, open);
  }
  if (p->recovering) leave_function_body(p);
}

bool parser_function(Parser* p, AstStatement* out) {
  AstFunction* function = ARENA_NEW(p->arena, AstFunction);
  parser_advance(p);
  out->kind = AST_FUNCTION;
  out->as.function = function;
  function->result = parser_error_expr(p);
  if (!parser_expect_name(p, "the name of the function", &function->name)) return false;
  function->parameters = parse_parameters(p);
  if (p->recovering) return false;
  if (p->tok.kind == TOK_LBRACE) {
    parse_function_body(p, function);
    return !p->recovering;
  }
  parser_expect_assign(p, "the arguments");
  if (p->recovering) return false;
  function->result = parser_expr(p);
  parser_end_statement(p, "the function");
  return true;
}

// ---------------------------------------------------------------------------------------------
// Parts

/// The rest of `y(t0) = 1`, an initial value of an FMU: the argument has the name `y(t0)`.
static void parse_argument_start(Parser* p, AstName* name) {
  Str word;
  Span span;
  parser_advance(p);
  if (!parser_expect_word(p, "t0", &word, &span)) return;
  parser_expect(p, TOK_RPAREN, "expected ')' behind 't0'");
  name->head = str_format(p->arena, "%.*s(%.*s)", STR_ARGS(name->head), STR_ARGS(word));
  name->span = parser_since(p, name->span.begin);
  name->quoted = true;
}

/// `A = 1` or, for a parameter, `A` alone.
static bool parse_part_argument(Parser* p, bool parameter, AstArgument* out) {
  *out = (AstArgument){.span = p->tok.span, .name = {.number = ++p->name_count}};
  if (p->tok.kind == TOK_QUOTED) {
    out->name.head = parser_token_text(p, &p->tok);
    out->name.span = p->tok.span;
    out->name.quoted = true;
    parser_advance(p);
  } else if (!parameter && p->tok.kind != TOK_WORD && parser_fail(p)) {
    Diag* diag =
        diag_add(p->diags, DIAG_E0101, p->tok.span, "expected the name of a parameter, found %.*s",
                 STR_ARGS(parser_describe(p, &p->tok)));
    diag_hint(p->diags, diag, "arguments are given by name: Tank upper(A = 2);");
    return false;
  } else if (!parser_expect_word(p, "the name of a parameter", &out->name.head, &out->name.span)) {
    return false;
  }
  if (!parameter && p->tok.kind == TOK_LPAREN) parse_argument_start(p, &out->name);
  if (!parameter || p->tok.kind == TOK_ASSIGN) {
    if (!p->recovering) parser_expect_assign(p, "the parameter");
    out->value = p->recovering ? parser_error_expr(p) : parser_expr(p);
  }
  out->span = parser_since(p, out->span.begin);
  return true;
}

/// `( ... )`, the parenthesis being the present token.
static AstArgumentList parse_part_arguments(Parser* p, bool parameters) {
  AstArgumentList list = {0};
  Span open = p->tok.span;
  size_t mark = p->scratch_used;
  parser_advance(p);
  while (!p->recovering && p->tok.kind != TOK_RPAREN) {
    AstArgument argument;
    if (!parse_part_argument(p, parameters, &argument)) break;
    parser_push(p, &argument, sizeof argument);
    if (!parser_accept(p, TOK_COMMA)) break;
  }
  PARSER_TAKE(p, mark, AstArgument, list);
  if (!p->recovering) parser_close(p, TOK_RPAREN, open);
  return list;
}

/// `port p[2]`, `part Q[2]`: what is declared is one; instances of a part make an array.
static void check_no_array(Parser* p, const AstName* name, const char* what) {
  if (p->recovering || ast_name_is_plain(name)) return;
  Diag* diag = diag_add(p->diags, DIAG_E0216, name->span, "a %s is no array", what);
  diag_hint(p->diags, diag, "an array is made of a part where it is used: Tank row[2];");
}

bool parser_part(Parser* p, const BlockFrame* frame, AstStatement* out) {
  AstPart* part = ARENA_NEW(p->arena, AstPart);
  parser_advance(p);
  p->has_parts = true;
  out->kind = AST_PART;
  out->as.part = part;
  part->is_word = p->tok.kind == TOK_WORD && p->tok.word != WORD_NONE;
  if (!parser_expect_name(p, "the name of the part", &part->name)) return false;
  check_no_array(p, &part->name, "part");
  if (p->tok.kind == TOK_LPAREN) part->parameters = parse_part_arguments(p, true);
  return parser_block(p, frame, PLACE_PART, "the name of the part", &part->body);
}

static AstNameList parse_quantities(Parser* p, AstNameList before) {
  size_t mark = p->scratch_used;
  for (uint32_t i = 0; i < before.count; i++) {
    parser_push(p, &before.data[i], sizeof before.data[i]);
  }
  do {
    AstName name = {.number = ++p->name_count};
    if (!parser_expect_word(p, "the name of a quantity", &name.head, &name.span)) break;
    parser_push(p, &name, sizeof name);
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  PARSER_TAKE(p, mark, AstName, before);
  parser_end_statement(p, "the quantity");
  return before;
}

/// No quantity of a port; where the word is just misspelt, reading goes on. Whether `across` is.
static bool report_quantity(Parser* p, const AstPort* port) {
  static const char* const words[] = {"across", "through"};
  if (!parser_fail(p)) return false;
  Str found = parser_describe(p, &p->tok);
  Diag* diag = diag_add(p->diags, DIAG_E0101, p->tok.span,
                        "expected 'across' or 'through', found %.*s", STR_ARGS(found));
  bool written = p->tok.kind == TOK_WORD;
  const char* word = written ? parser_nearest(parser_token_text(p, &p->tok), words, 2) : NULL;
  if (!word) {
    diag_hint(p->diags, diag, "write port %.*s { across v; through i; }",
              STR_ARGS(port->name.head));
    return false;
  }
  diag_hint(p->diags, diag, "did you mean '%s'?", word);
  p->recovering = false;
  return word == words[0];
}

/// A quantity is one of the port's, once.
static void check_quantities(Parser* p, const AstPort* port) {
  NameTable names;
  BASE_VEC(Span) places = {0};
  names_init(&names, p->arena);
  const AstNameList* lists[] = {&port->across, &port->through};
  for (uint32_t i = 0; i < 2; i++) {
    for (uint32_t k = 0; k < lists[i]->count; k++) {
      const AstName* name = &lists[i]->data[k];
      uint32_t known = names_find(&names, name->head);
      if (known) {
        Diag* diag = diag_add(p->diags, DIAG_E0201, name->span, "'%.*s' is declared twice",
                              STR_ARGS(name->head));
        diag_note(p->diags, diag, places.data[known], "first declared here");
        continue;
      }
      uint32_t id = names_intern(&names, name->head);
      while (places.count <= id) {
        base_vec_push(p->arena, &places, name->span);
      }
      places.data[id] = name->span;
    }
  }
}

bool parser_port(Parser* p, AstStatement* out) {
  AstPort* port = ARENA_NEW(p->arena, AstPort);
  parser_advance(p);
  out->kind = AST_PORT;
  out->as.port.port = port;
  if (!parser_expect_name(p, "the name of the port", &port->name)) return false;
  check_no_array(p, &port->name, "port");
  Span open = p->tok.span;
  if (!parser_expect(p, TOK_LBRACE, "expected '{' after the name of the port")) return false;
  while (!p->recovering && p->tok.kind != TOK_RBRACE) {
    bool across = p->tok.kind == TOK_WORD && p->tok.word == WORD_ACROSS;
    bool through = p->tok.kind == TOK_WORD && p->tok.word == WORD_THROUGH;
    if (!across && !through) across = report_quantity(p, port);
    if (p->recovering) return false;
    parser_advance(p);
    AstNameList* list = across ? &port->across : &port->through;
    *list = parse_quantities(p, *list);
  }
  if (port->across.count + port->through.count == 0 && parser_mend(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0101, p->tok.span, "a port has at least one quantity");
    diag_hint(p->diags, diag, "write port %.*s { across v; through i; }",
              STR_ARGS(port->name.head));
  }
  check_quantities(p, port);
  if (!p->recovering) parser_close(p, TOK_RBRACE, open);
  return !p->recovering;
}

// ---------------------------------------------------------------------------------------------
// Instances

bool parser_at_instance(const Parser* p) {
  bool type = p->tok.kind == TOK_QUOTED || (p->tok.kind == TOK_WORD && p->tok.word == WORD_NONE);
  bool next =
      p->next.kind == TOK_QUOTED ||
      (p->next.kind == TOK_WORD && !token_is_reserved(&p->next) && !word_is_operator(p->next.word));
  return type && next;
}

/// `10`, `2:9` or `k = 1:10` of an array of parts.
static AstIterator parse_size(Parser* p) {
  AstIterator size = {.span = p->tok.span};
  if (p->tok.kind == TOK_WORD && p->next.kind == TOK_ASSIGN) {
    parser_expect_word(p, "the name of the index", &size.variable, &size.variable_span);
    parser_advance(p);
  }
  size.range = parser_range(p);
  size.span = parser_since(p, size.span.begin);
  return size;
}

static AstIteratorList parse_sizes(Parser* p) {
  AstIteratorList list = {0};
  Span open = p->tok.span;
  size_t mark = p->scratch_used;
  parser_advance(p);
  do {
    AstIterator size = parse_size(p);
    parser_push(p, &size, sizeof size);
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  PARSER_TAKE(p, mark, AstIterator, list);
  if (!p->recovering) parser_close(p, TOK_RBRACKET, open);
  return list;
}

static bool parse_instance(Parser* p, const AstName* type, AstInstance* out) {
  *out = (AstInstance){.span = p->tok.span, .type = *type};
  bool name = p->tok.kind == TOK_QUOTED || (p->tok.kind == TOK_WORD && p->tok.word != WORD_NOT);
  if (!name) {
    if (parser_fail(p)) {
      Str found = parser_describe(p, &p->tok);
      diag_add(p->diags, DIAG_E0101, parser_here(p), "expected the name of a part, found %.*s",
               STR_ARGS(found));
    }
    return false;
  }
  out->name = (AstName){.span = p->tok.span,
                        .head = parser_token_text(p, &p->tok),
                        .quoted = p->tok.kind == TOK_QUOTED,
                        .number = ++p->name_count};
  parser_advance(p);
  if (p->tok.kind == TOK_INDEX) out->sizes = parse_sizes(p);
  if (!p->recovering && p->tok.kind == TOK_LPAREN) out->arguments = parse_part_arguments(p, false);
  out->span = parser_since(p, out->span.begin);
  return true;
}

/// `funtion f(x) = 2*x;`: what looks like an argument of a part is none.
static void hint_argument(Parser* p, const AstName* type) {
  Str hint = lisma_word_hint(p->arena, type, false);
  if (hint.length == 0 || p->diags->items.count == 0) return;
  Diag* diag = &p->diags->items.data[p->diags->items.count - 1];
  diag->span = type->span;
  diag->message =
      str_format(p->diags->arena, "no statement begins with '%.*s'", STR_ARGS(type->head));
  diag->hint = str_copy(p->diags->arena, hint);
}

/// Two names in a row that are no instance: something is missing between them.
static void report_two_names(Parser* p, const AstName* type, Span second) {
  if (!parser_fail(p)) return;
  Str found = {p->source->text.data + second.begin, second.end - second.begin};
  if (ast_name_is_word(type, STR_LIT("der"))) {
    Diag* derivative = diag_add(p->diags, DIAG_E0110, span_join(type->span, second),
                                "a derivative is written with a mark");
    diag_hint(p->diags, derivative, "write %.*s' or der(%.*s)", STR_ARGS(found), STR_ARGS(found));
    return;
  }
  Diag* diag = diag_add(p->diags, DIAG_E0101, (Span){type->span.end, type->span.end},
                        "expected '=' of an equation, found '%.*s'", STR_ARGS(found));
  AstExpr lhs = {.kind = AST_NAME, .span = type->span};
  lhs.as.name.name = *type;
  parser_hint_statement(p, diag, &lhs);
}

bool parser_instance(Parser* p, bool behind_state, AstStatement* out) {
  AstName type = {.span = p->tok.span,
                  .head = parser_token_text(p, &p->tok),
                  .quoted = p->tok.kind == TOK_QUOTED,
                  .number = ++p->name_count};
  Span second = p->next.span;
  out->kind = AST_INSTANCE;
  parser_advance(p);
  size_t mark = p->scratch_used;
  uint32_t errors = p->diags->error_count;
  do {
    AstInstance instance;
    bool read = parse_instance(p, &type, &instance);
    if (p->diags->error_count == errors + 1) hint_argument(p, &type);
    if (!read) break;
    instance.behind_state = behind_state;
    parser_push(p, &instance, sizeof instance);
  } while (!p->recovering && parser_accept(p, TOK_COMMA));
  PARSER_TAKE(p, mark, AstInstance, out->as.instances);
  bool first = out->as.instances.count == 1;
  if (!p->recovering && first && p->tok.kind != TOK_SEMICOLON) report_two_names(p, &type, second);
  p->has_parts = true;
  parser_end_statement(p, "the part");
  return out->as.instances.count > 0 && p->diags->error_count == errors;
}

// ---------------------------------------------------------------------------------------------
// Connections and files

bool parser_is_connect(const AstExpr* call) {
  return call->kind == AST_CALL && call->as.call.order == 0 &&
         ast_name_is_word(call->as.call.callee, STR_LIT("connect"));
}

bool parser_connect(Parser* p, AstExpr* call, AstStatement* out) {
  out->kind = AST_CONNECT;
  out->as.connect.ports = call->as.call.args;
  p->has_parts = true;
  if (out->as.connect.ports.count < 2 && parser_mend(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0131, call->span, "'connect' joins two ports or more");
    diag_hint(p->diags, diag, "write connect(a.p, b.p);");
  }
  parser_end_statement(p, "the connection");
  return true;
}

bool parser_include(Parser* p, AstStatement* out) {
  parser_advance(p);
  out->kind = AST_INCLUDE;
  out->as.include.file = parser_token_text(p, &p->tok);
  out->as.include.file_span = p->tok.span;
  parser_advance(p);
  parser_end_statement(p, "the name of the file");
  return true;
}

bool parser_fmu(Parser* p, AstStatement* out) {
  AstInstance* instance = ARENA_NEW(p->arena, AstInstance);
  parser_advance(p);
  *instance = (AstInstance){.span = p->tok.span, .fmu = true};
  out->kind = AST_INSTANCE;
  out->as.instances.data = instance;
  out->as.instances.count = 1;
  p->has_parts = true;
  if (!parser_expect_name(p, "the name of the FMU", &instance->name)) return false;
  parser_expect_assign(p, "the name of the FMU");
  if (p->recovering) return false;
  instance->type = (AstName){.span = p->tok.span,
                             .head = parser_token_text(p, &p->tok),
                             .quoted = true,
                             .number = ++p->name_count};
  parser_expect(p, TOK_STRING, "expected the name of a file in quotation marks");
  if (!p->recovering && p->tok.kind == TOK_LPAREN) {
    instance->arguments = parse_part_arguments(p, false);
  }
  instance->span = parser_since(p, instance->span.begin);
  parser_end_statement(p, "the FMU");
  return true;
}
