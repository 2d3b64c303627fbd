// SPDX-License-Identifier: MIT
//
// What a text declares and where, for editors. The tree of a text with mistakes is enough: what
// could be read is listed.
#include "lisma/lisma.h"

typedef struct Outline {
  Arena* arena;
  LismaSymbols* out;
  NameTable known;
  BASE_VEC(uint32_t)
  early;          // by key: the symbol + 1 that only an initial value has declared so far
  Str automaton;  // around the present statement; empty at the top level
  Str part;       // ... likewise
  bool initial;   // the present statement is an initial value or a reset
} Outline;

static void outline_block(Outline* o, const AstBlock* block);

/// A name with what it stands for, as one text: states of different automata may share a name.
static Str key_of(Outline* o, SltSymbolKind kind, Str name) {
  TextBuffer key = {.arena = o->arena};
  text_append_format(&key, "%d.%.*s.%.*s.%.*s", (int)kind, STR_ARGS(o->part),
                     STR_ARGS(o->automaton), STR_ARGS(name));
  return text_str(&key);
}

static void declare_typed(Outline* o, SltSymbolKind kind, const AstName* name, Str type,
                          Span whole) {
  Str key = key_of(o, kind, name->head);
  if (name->head.length == 0) return;
  uint32_t id = names_find(&o->known, key);
  if (id) {
    // an equation tells more than an initial value
    uint32_t symbol = id < o->early.count && !o->initial ? o->early.data[id] : 0;
    if (symbol == 0) return;
    o->early.data[id] = 0;
    o->out->data[symbol - 1].place = name->span;
    o->out->data[symbol - 1].whole = whole;
    return;
  }
  id = names_intern(&o->known, key);
  while (o->early.count <= id) {
    base_vec_push(o->arena, &o->early, 0);
  }
  if (o->initial) o->early.data[id] = o->out->count + 1;
  LismaSymbol symbol = {.kind = kind,
                        .name = name->head,
                        .container = o->automaton.length ? o->automaton : o->part,
                        .part = o->part,
                        .type = type,
                        .place = name->span,
                        .whole = whole};
  base_vec_push(o->arena, o->out, symbol);
}

static void declare(Outline* o, SltSymbolKind kind, const AstName* name, Span whole) {
  declare_typed(o, kind, name, STR_LIT(""), whole);
}

/// A variable belongs to the model, wherever it is first written down.
static void declare_variable(Outline* o, const AstName* name, Span whole) {
  Str automaton = o->automaton;
  o->automaton = STR_LIT("");
  bool constant = names_find(&o->known, key_of(o, SLT_SYMBOL_CONSTANT, name->head)) != 0;
  if (!constant) declare(o, SLT_SYMBOL_VARIABLE, name, whole);
  o->automaton = automaton;
}

/// The side of an equation that names what it determines: x, x', der(x).
static void outline_side(Outline* o, const AstExpr* side, Span whole) {
  if (side->kind == AST_NAME && !side->as.name.name.member) {
    declare_variable(o, &side->as.name.name, whole);
  }
  bool derivative =
      side->kind == AST_CALL && ast_name_is_word(side->as.call.callee, STR_LIT("der"));
  if (derivative && side->as.call.args.count > 0) {
    outline_side(o, side->as.call.args.data[0], whole);
  }
}

static void outline_definitions(Outline* o, SltSymbolKind kind, const AstStatement* s) {
  for (uint32_t i = 0; i < s->as.definitions.count; i++) {
    const AstDefinition* definition = &s->as.definitions.data[i];
    for (uint32_t k = 0; k < definition->names.count; k++) {
      declare(o, kind, &definition->names.data[k], definition->span);
    }
  }
}

static void outline_element(Outline* o, const AstStatement* s) {
  const AstElement* element = s->as.element;
  declare(o, SLT_SYMBOL_ELEMENT, &element->name, s->span);
  for (uint32_t i = 0; i < element->settings.count; i++) {
    const AstSetting* setting = &element->settings.data[i];
    bool force = str_equal(setting->key, STR_LIT("force")) && setting->values.count > 0;
    const AstExpr* value = force ? setting->values.data[0].expr : NULL;
    if (value) outline_side(o, value, s->span);
  }
}

static void outline_part(Outline* o, const AstStatement* s) {
  const AstPart* part = s->as.part;
  declare(o, SLT_SYMBOL_PART, &part->name, s->span);
  Str around = o->part;
  o->part = part->name.head;
  for (uint32_t i = 0; i < part->parameters.count; i++) {
    const AstArgument* parameter = &part->parameters.data[i];
    Span whole = parameter->name.span;
    if (parameter->value) whole.end = parameter->value->span.end;
    declare(o, SLT_SYMBOL_CONSTANT, &parameter->name, whole);
  }
  outline_block(o, &part->body);
  o->part = around;
}

static void outline_statement(Outline* o, const AstStatement* s) {
  switch (s->kind) {
  case AST_CONST: outline_definitions(o, SLT_SYMBOL_CONSTANT, s); break;
  case AST_MACRO: outline_definitions(o, SLT_SYMBOL_MACRO, s); break;
  case AST_DATA: declare(o, SLT_SYMBOL_TABLE, &s->as.data->name, s->span); break;
  case AST_EQUATION:
    if (s->as.equation.label) declare(o, SLT_SYMBOL_LABEL, s->as.equation.label, s->span);
    outline_side(o, s->as.equation.lhs, s->span);
    break;
  case AST_INIT:
    for (uint32_t i = 0; i < s->as.init.items.count; i++) {
      const AstName* name = &s->as.init.items.data[i].name;
      o->initial = true;
      if (!name->member) declare_variable(o, name, s->span);
      o->initial = false;
    }
    break;
  case AST_ELEMENT: outline_element(o, s); break;
  case AST_FOR: outline_block(o, &s->as.loop.body); break;
  case AST_IF:
    for (uint32_t i = 0; i < s->as.branches.count; i++) {
      outline_block(o, &s->as.branches.data[i].body);
    }
    break;
  case AST_STATE:
    declare(o, SLT_SYMBOL_STATE, &s->as.state->name, s->span);
    if (s->as.state->has_body) outline_block(o, &s->as.state->body);
    break;
  case AST_AUTOMATON: {
    declare(o, SLT_SYMBOL_AUTOMATON, s->as.automaton.name, s->span);
    Str around = o->automaton;
    o->automaton = s->as.automaton.name->head;
    outline_block(o, &s->as.automaton.body);
    o->automaton = around;
    break;
  }
  case AST_AT: outline_block(o, &s->as.at.body); break;
  case AST_AFTER: outline_block(o, &s->as.after->body); break;
  case AST_FUNCTION: declare(o, SLT_SYMBOL_FUNCTION, &s->as.function->name, s->span); break;
  case AST_PART: outline_part(o, s); break;
  case AST_PORT: declare(o, SLT_SYMBOL_PORT, &s->as.port.port->name, s->span); break;
  case AST_INSTANCE:
    for (uint32_t i = 0; i < s->as.instances.count; i++) {
      const AstInstance* instance = &s->as.instances.data[i];
      declare_typed(o, SLT_SYMBOL_INSTANCE, &instance->name, instance->type.head, s->span);
    }
    break;
  case AST_DELETE:
  case AST_ATTRIBUTES:
  case AST_ENERGY:
  case AST_EXPERIMENT:
  case AST_MEASURE:
  case AST_ANIMATE:
  case AST_CONTROL:
  case AST_INVARIANT:
  case AST_STOP:
  case AST_GOTO:
  case AST_CONNECT:
  case AST_INCLUDE: break;
  }
}

static void outline_block(Outline* o, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    outline_statement(o, &block->statements.data[i]);
  }
}

void lisma_outline(Arena* arena, const Source* source, LismaSymbols* out) {
  DiagList diags;
  diag_init(&diags, arena, source);
  const AstModel* model = lisma_parse(arena, source, &diags);
  Outline o = {.arena = arena, .out = out, .automaton = STR_LIT(""), .part = STR_LIT("")};
  names_init(&o.known, arena);
  outline_block(&o, &model->body);
}
