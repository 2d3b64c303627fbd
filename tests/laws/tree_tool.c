// SPDX-License-Identifier: MIT
//
// The syntax tree of LISMA texts as JSON, one line for each text.
//
//   laws_tree_tool < TEXTS     texts, each preceded by a line with its length in bytes
//
// A text with errors gives {"errors": "..."}. Nodes are arrays that begin with their kind; tree.py
// says what the kinds hold and prints such trees as texts again. Elements (`contact`, `friction`)
// are given as they were written, not as what they stand for.
#include "lisma/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_text(Str text) {
  putchar('"');
  for (uint32_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c == '"' || c == '\\') {
      printf("\\%c", c);
    } else if (c < 0x20) {
      printf("\\u%04x", c);
    } else {
      putchar(c);
    }
  }
  putchar('"');
}

static void put_expr(const AstExpr* e);

static void put_expr_or_null(const AstExpr* e) {
  if (e) {
    put_expr(e);
  } else {
    fputs("null", stdout);
  }
}

static void put_expr_list(const AstExprList* list) {
  putchar('[');
  for (uint32_t i = 0; i < list->count; i++) {
    if (i) putchar(',');
    put_expr(list->data[i]);
  }
  putchar(']');
}

static void put_name(const AstName* name) {
  putchar('[');
  put_text(name->head);
  printf(",%s,[", name->quoted ? "true" : "false");
  for (uint32_t i = 0; i < name->indices.count; i++) {
    fputs(i ? ",[" : "[", stdout);
    put_expr_list(&name->indices.data[i].subscripts);
    putchar(',');
    put_text(name->indices.data[i].tail);
    putchar(']');
  }
  fputs("]]", stdout);
}

static void put_name_or_null(const AstName* name) {
  if (name) {
    put_name(name);
  } else {
    fputs("null", stdout);
  }
}

static void put_names(const AstNameList* names) {
  putchar('[');
  for (uint32_t i = 0; i < names->count; i++) {
    if (i) putchar(',');
    put_name(&names->data[i]);
  }
  putchar(']');
}

static void put_range(const AstRange* range) {
  putchar('[');
  put_expr(range->first);
  putchar(',');
  put_expr_or_null(range->last);
  putchar(']');
}

static void put_chain(const AstExpr* e) {
  printf("[\"chain\",%d", (int)e->as.chain.level);
  for (uint32_t i = 0; i < e->as.chain.links.count; i++) {
    const AstLink* link = &e->as.chain.links.data[i];
    printf(",[\"%s\",", i ? ast_op_text(link->op) : "");
    put_expr(link->operand);
    putchar(']');
  }
  putchar(']');
}

static void put_reduction(const AstExpr* e) {
  printf("[\"reduction\",\"%s\",[", e->as.reduction.product ? "prod" : "sum");
  for (uint32_t i = 0; i < e->as.reduction.iterators.count; i++) {
    const AstIterator* iterator = &e->as.reduction.iterators.data[i];
    fputs(i ? ",[" : "[", stdout);
    put_text(iterator->variable);
    putchar(',');
    put_range(&iterator->range);
    putchar(']');
  }
  fputs("],", stdout);
  put_expr(e->as.reduction.body);
  putchar(']');
}

static void put_expr(const AstExpr* e) {
  switch ((int)e->kind) {
  case AST_NUMBER: printf("[\"number\",%.17g]", e->as.number); break;
  case AST_NAME:
    fputs("[\"name\",", stdout);
    put_name(&e->as.name.name);
    printf(",%u]", e->order);
    break;
  case AST_QUALIFIED:
    fputs("[\"qualified\",", stdout);
    put_name(e->as.qualified.automaton);
    putchar(',');
    put_name(e->as.qualified.state);
    putchar(']');
    break;
  case AST_CALL:
    fputs("[\"call\",", stdout);
    put_name(e->as.call.callee);
    printf(",%u,", e->as.call.order);
    put_expr_list(&e->as.call.args);
    putchar(']');
    break;
  case AST_REDUCTION: put_reduction(e); break;
  case AST_CONDITIONAL:
    fputs("[\"if\",", stdout);
    put_expr(e->as.conditional.condition);
    putchar(',');
    put_expr(e->as.conditional.then_value);
    putchar(',');
    put_expr(e->as.conditional.else_value);
    putchar(']');
    break;
  case AST_ATOM:
    printf("[\"atom\",\"%s\",", ast_event_text(e->as.atom.type));
    put_expr_or_null(e->as.atom.eps);
    putchar(',');
    put_expr_or_null(e->as.atom.gamma);
    putchar(',');
    put_expr(e->as.atom.condition);
    putchar(']');
    break;
  case AST_UNARY:
    printf("[\"unary\",\"%c\",", "+-!"[e->as.unary.op]);
    put_expr(e->as.unary.operand);
    putchar(']');
    break;
  case AST_POWER:
    fputs("[\"power\",", stdout);
    put_expr(e->as.power.base);
    putchar(',');
    put_expr(e->as.power.exponent);
    putchar(']');
    break;
  case AST_CHAIN: put_chain(e); break;
  default: fputs("[\"unknown\"]", stdout);
  }
}

static void put_values(const AstValueList* values) {
  putchar('[');
  for (uint32_t i = 0; i < values->count; i++) {
    if (i) putchar(',');
    if (values->data[i].expr) {
      put_expr(values->data[i].expr);
    } else {
      fputs("[\"text\",", stdout);
      put_text(values->data[i].text);
      putchar(']');
    }
  }
  putchar(']');
}

static void put_settings(const AstSettingList* settings) {
  putchar('[');
  for (uint32_t i = 0; i < settings->count; i++) {
    fputs(i ? ",[" : "[", stdout);
    put_text(settings->data[i].key);
    putchar(',');
    put_values(&settings->data[i].values);
    putchar(']');
  }
  putchar(']');
}

static void put_block(const AstBlock* block);

static void put_definitions(const char* kind, const AstDefinitionList* definitions) {
  printf("[\"%s\",[", kind);
  for (uint32_t i = 0; i < definitions->count; i++) {
    fputs(i ? ",[" : "[", stdout);
    put_names(&definitions->data[i].names);
    putchar(',');
    put_expr(definitions->data[i].value);
    putchar(']');
  }
  fputs("]]", stdout);
}

static void put_init(const AstStatement* s) {
  fputs("[\"init\",[", stdout);
  for (uint32_t i = 0; i < s->as.init.items.count; i++) {
    const AstInit* item = &s->as.init.items.data[i];
    fputs(i ? ",[" : "[", stdout);
    put_name(&item->name);
    printf(",%u,%s,", item->order, item->guess ? "true" : "false");
    put_expr(item->value);
    putchar(']');
  }
  fputs("]]", stdout);
}

static void put_loop(const AstStatement* s) {
  fputs("[\"for\",", stdout);
  put_text(s->as.loop.variable);
  fputs(",[", stdout);
  for (uint32_t i = 0; i < s->as.loop.ranges.count; i++) {
    if (i) putchar(',');
    put_range(&s->as.loop.ranges.data[i]);
  }
  fputs("],", stdout);
  put_block(&s->as.loop.body);
  putchar(']');
}

static void put_branches(const AstBranchList* branches) {
  fputs("[\"switch\",[", stdout);
  for (uint32_t i = 0; i < branches->count; i++) {
    fputs(i ? ",[" : "[", stdout);
    put_expr_or_null(branches->data[i].condition);
    putchar(',');
    put_block(&branches->data[i].body);
    putchar(']');
  }
  fputs("]]", stdout);
}

static void put_state(const AstState* state) {
  fputs("[\"state\",", stdout);
  put_name(&state->name);
  putchar(',');
  put_expr_or_null(state->guard);
  putchar(',');
  put_name_or_null(state->like);
  putchar(',');
  if (state->has_body) {
    put_block(&state->body);
  } else {
    fputs("null", stdout);
  }
  putchar(',');
  put_names(&state->from);
  putchar(']');
}

static void put_at(const AstStatement* s) {
  fputs("[\"at\",", stdout);
  put_expr(s->as.at.time);
  putchar(',');
  put_expr_or_null(s->as.at.each);
  putchar(',');
  if (s->as.at.repeat_forever) {
    fputs("\"*\"", stdout);
  } else {
    put_expr_or_null(s->as.at.repeat);
  }
  putchar(',');
  put_expr_or_null(s->as.at.priority);
  putchar(',');
  put_block(&s->as.at.body);
  putchar(']');
}

static void put_statement(const AstStatement* s) {
  switch ((int)s->kind) {
  case AST_CONST: put_definitions("const", &s->as.definitions); break;
  case AST_MACRO: put_definitions("macro", &s->as.definitions); break;
  case AST_DATA:
    fputs("[\"data\",", stdout);
    put_name(&s->as.data->name);
    putchar(',');
    put_text(s->as.data->file);
    putchar(',');
    put_values(&s->as.data->options);
    putchar(']');
    break;
  case AST_EQUATION:
    fputs("[\"equation\",", stdout);
    put_name_or_null(s->as.equation.label);
    putchar(',');
    put_expr(s->as.equation.lhs);
    putchar(',');
    put_expr(s->as.equation.rhs);
    putchar(']');
    break;
  case AST_INIT: put_init(s); break;
  case AST_DELETE:
    fputs("[\"delete\",", stdout);
    put_names(&s->as.labels);
    putchar(']');
    break;
  case AST_ATTRIBUTES:
    fputs("[\"attributes\",", stdout);
    put_name(&s->as.attributes.name);
    putchar(',');
    put_settings(&s->as.attributes.settings);
    putchar(']');
    break;
  case AST_ENERGY:
    fputs("[\"energy\",", stdout);
    put_expr(s->as.energy);
    putchar(']');
    break;
  case AST_EXPERIMENT:
  case AST_MEASURE:
  case AST_ANIMATE:
  case AST_CONTROL:
    fputs("[\"experiment\",", stdout);
    put_settings(&s->as.attributes.settings);
    putchar(']');
    break;
  case AST_ELEMENT:
    printf("[\"element\",\"%s\",",
           s->as.element->kind == AST_ELEMENT_CONTACT ? "contact" : "friction");
    put_name(&s->as.element->name);
    putchar(',');
    put_settings(&s->as.element->settings);
    putchar(']');
    break;
  case AST_FOR: put_loop(s); break;
  case AST_IF: put_branches(&s->as.branches); break;
  case AST_STATE: put_state(s->as.state); break;
  case AST_AUTOMATON:
    fputs("[\"automaton\",", stdout);
    put_name(s->as.automaton.name);
    putchar(',');
    put_block(&s->as.automaton.body);
    putchar(']');
    break;
  case AST_AT: put_at(s); break;
  case AST_INVARIANT:
    fputs("[\"invariant\",", stdout);
    put_expr(s->as.invariant);
    putchar(']');
    break;
  case AST_STOP:
    fputs("[\"stop\",", stdout);
    put_text(s->as.stop.text);
    putchar(']');
    break;
  case AST_GOTO:
    fputs("[\"goto\",", stdout);
    put_name_or_null(s->as.jump.automaton);
    putchar(',');
    put_name(s->as.jump.state);
    putchar(']');
    break;
  default: fputs("[\"unknown\"]", stdout);
  }
}

static void put_block(const AstBlock* block) {
  putchar('[');
  for (uint32_t i = 0; i < block->statements.count; i++) {
    if (i) putchar(',');
    put_statement(&block->statements.data[i]);
  }
  putchar(']');
}

static void put_model(Arena* arena, Str text) {
  Source source;
  DiagList diags;
  source_init(&source, arena, str_from_c("model.lisma"), text);
  diag_init(&diags, arena, &source);
  const AstModel* model = lisma_parse(arena, &source, &diags);
  if (diags.error_count == 0) {
    put_block(&model->body);
  } else {
    fputs("{\"errors\":", stdout);
    put_text(diag_render(arena, diags.source, &diags.items.data[0], false));
    putchar('}');
  }
  putchar('\n');
  fflush(stdout);
}

int main(void) {
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    size_t length = strtoul(line, NULL, 10);
    char* text = malloc(length + 1);
    if (!text || length > UINT32_MAX || fread(text, 1, length, stdin) != length) return 2;
    Arena arena;
    jmp_buf oom;
    arena_init(&arena, NULL, &oom);
    if (setjmp(oom)) return 2;
    put_model(&arena, (Str){text, (uint32_t)length});
    arena_free(&arena);
    free(text);
  }
  return 0;
}
