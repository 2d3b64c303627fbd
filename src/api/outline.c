// SPDX-License-Identifier: MIT
//
// The declarations of a text as public records.
#include "api/compiled.h"
#include "lisma/lisma.h"

#include <saltus/saltus.h>

#include <setjmp.h>

static const char* zero_terminated(Arena* arena, Str text) {
  char* out = arena_alloc(arena, (size_t)text.length + 1, 1);
  for (uint32_t i = 0; i < text.length; i++) {
    out[i] = text.data[i];
  }
  out[text.length] = '\0';
  return out;
}

/// The part that may leave through the arena's exit.
static void outline_inside(Arena* arena, Str text, SltSymbolFn* visit, void* user) {
  Source source;
  LismaSymbols symbols = {0};
  source_init(&source, arena, STR_LIT("outline"), str_copy(arena, text));
  lisma_outline(arena, &source, &symbols);
  for (uint32_t i = 0; i < symbols.count; i++) {
    const LismaSymbol* s = &symbols.data[i];
    SltSymbol symbol = {.kind = s->kind,
                        .name = zero_terminated(arena, s->name),
                        .container =
                            s->container.length > 0 ? zero_terminated(arena, s->container) : NULL,
                        .part = s->part.length > 0 ? zero_terminated(arena, s->part) : NULL,
                        .type = s->type.length > 0 ? zero_terminated(arena, s->type) : NULL,
                        .begin = s->place.begin,
                        .end = s->place.end,
                        .whole_begin = s->whole.begin,
                        .whole_end = s->whole.end};
    visit(user, &symbol);
  }
}

static SltStatus outline(Str text, SltSymbolFn* visit, void* user) {
  SltAllocator allocator = base_allocator(NULL);
  Arena arena;
  jmp_buf oom;
  volatile SltStatus status = SLT_ERR_NOMEM;
  arena_init(&arena, &allocator, &oom);
  if (setjmp(oom) == 0) {
    outline_inside(&arena, text, visit, user);
    status = SLT_OK;
  }
  arena_free(&arena);
  return status;
}

SltStatus slt_outline(const char* text, size_t length, SltSymbolFn* visit, void* user) {
  if ((!text && length > 0) || !visit) return SLT_ERR_ARGUMENT;
  if (length > SOURCE_BYTES_MAX) return SLT_ERR_LIMIT;
  return outline((Str){text ? text : "", (uint32_t)length}, visit, user);
}
