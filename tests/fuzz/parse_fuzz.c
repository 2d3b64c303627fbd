// SPDX-License-Identifier: MIT
//
// Parser and printer of LISMA: nothing crashes, spans stay inside the text, trees keep their depth,
// and the canonical text of a model without errors is read without errors and printed the same.
#include "lisma/ast_print.h"
#include "lisma/parser.h"

#define CHECK(condition) ((condition) ? (void)0 : __builtin_trap())

static void check_span(Str text, Span span) {
  CHECK(span.begin <= span.end);
  CHECK(span.end <= text.length);
}

/// One parse; returns the canonical text, empty after errors.
static Str canonical(Arena* arena, Str text, uint32_t* errors) {
  Source source;
  DiagList diags;
  source_init(&source, arena, STR_LIT("fuzz"), text);
  diag_init(&diags, arena, &source);
  const AstModel* model = lisma_parse(arena, &source, &diags);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < diags.items.count; i++) {
    const Diag* diag = &diags.items.data[i];
    check_span(text, diag->span);
    CHECK(diag->message.length > 0);
    CHECK(diag_render(arena, &source, diag, false).length > 0);
    kept += diag_code_severity(diag->code) == SLT_ERROR;
  }
  CHECK(kept == diags.error_count || kept == DIAG_LIMIT);
  for (uint32_t i = 0; i < model->body.statements.count; i++) {
    check_span(text, model->body.statements.data[i].span);
  }

  // printing must survive broken trees too
  TextBuffer out = {.arena = arena};
  ast_print_model(&out, model);
  *errors = diags.error_count;
  return *errors ? STR_LIT("") : text_str(&out);
}

static void check_text(Arena* arena, const uint8_t* data, size_t size) {
  uint32_t errors = 0;
  Str first = canonical(arena, (Str){(const char*)data, (uint32_t)size}, &errors);
  if (errors) return;
  Str second = canonical(arena, first, &errors);
  CHECK(errors == 0);
  CHECK(str_equal(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 20) return 0;
  Arena arena;
  jmp_buf oom;
  arena_init(&arena, NULL, &oom);
  if (setjmp(oom) == 0) check_text(&arena, data, size);
  arena_free(&arena);
  return 0;
}
