// SPDX-License-Identifier: MIT
//
// The parts of a model as a list in the order of a walk through their tree, from the text alone:
// what is repeated by an array stands there once.
#include "lisma/lisma.h"

#define DEPTH_MAX 64u
#define PARTS_MAX 1000u  // parts inside of parts multiply

typedef struct Walk {
  Arena* arena;
  const AstModel* model;
  LismaParts* out;
} Walk;

static const AstPart* find_part(const Walk* w, Str name) {
  for (uint32_t i = 0; i < w->model->body.statements.count; i++) {
    const AstStatement* s = &w->model->body.statements.data[i];
    if (s->kind == AST_PART && str_equal(s->as.part->name.head, name)) return s->as.part;
  }
  return NULL;
}

static void print_range(TextBuffer* out, const AstRange* range) {
  ast_print_expr(out, range->first);
  if (!range->last) return;
  text_append_char(out, ':');
  ast_print_expr(out, range->last);
}

/// `cascade[1000]`, `grid[10, 20]`.
static Str name_text(const Walk* w, const AstInstance* instance) {
  TextBuffer text = {.arena = w->arena};
  text_append(&text, instance->name.head);
  for (uint32_t i = 0; i < instance->sizes.count; i++) {
    text_append_c(&text, i ? ", " : "[");
    print_range(&text, &instance->sizes.data[i].range);
  }
  if (instance->sizes.count) text_append_char(&text, ']');
  return text_str(&text);
}

/// `Tank(A = 2)`.
static Str type_text(const Walk* w, const AstInstance* instance) {
  TextBuffer text = {.arena = w->arena};
  text_append(&text, instance->type.head);
  for (uint32_t i = 0; i < instance->arguments.count; i++) {
    const AstArgument* argument = &instance->arguments.data[i];
    text_append_c(&text, i ? ", " : "(");
    text_append(&text, argument->name.head);
    text_append_c(&text, " = ");
    if (argument->value) ast_print_expr(&text, argument->value);
  }
  if (instance->arguments.count) text_append_char(&text, ')');
  return text_str(&text);
}

static void walk_block(const Walk* w, const AstBlock* block, uint32_t depth);

static void walk_instance(const Walk* w, const AstInstance* instance, uint32_t depth) {
  if (w->out->count >= PARTS_MAX || depth > DEPTH_MAX) return;
  LismaPart part = {.name = name_text(w, instance),
                    .type = type_text(w, instance),
                    .depth = depth,
                    .place = instance->name.span};
  base_vec_push(w->arena, w->out, part);
  const AstPart* type = find_part(w, instance->type.head);
  if (type) walk_block(w, &type->body, depth + 1);
}

static void walk_block(const Walk* w, const AstBlock* block, uint32_t depth) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    for (uint32_t k = 0; s->kind == AST_INSTANCE && k < s->as.instances.count; k++) {
      walk_instance(w, &s->as.instances.data[k], depth);
    }
  }
}

void lisma_parts(Arena* arena, const Source* source, LismaParts* out) {
  DiagList ignored;
  diag_init(&ignored, arena, source);
  Walk w = {.arena = arena, .model = lisma_parse(arena, source, &ignored), .out = out};
  walk_block(&w, &w.model->body, 0);
}
