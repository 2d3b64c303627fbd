// SPDX-License-Identifier: MIT
//
// Parse LISMA texts for the test scripts.
//
//   lisma_parse_tool [--name NAME]   one text from standard input; prints its diagnostics
//   lisma_parse_tool --print         also prints the canonical text when there is no error
//   lisma_parse_tool --batch         many texts, each preceded by a line with its length in bytes;
//                                    prints one line of error codes for each ("-" for none)
//
// Exit status 1 when there was an error, 2 for a wrong call, 0 otherwise.
#include "lisma/ast_print.h"
#include "lisma/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text {
  char* data;
  size_t length;
} Text;

static Text read_all(FILE* in) {
  Text text = {0};
  size_t capacity = 0;
  for (;;) {
    if (text.length == capacity) {
      capacity = capacity ? 2 * capacity : 65536;
      text.data = realloc(text.data, capacity);
      if (!text.data) exit(2);
    }
    size_t got = fread(text.data + text.length, 1, capacity - text.length, in);
    if (got == 0) return text;
    text.length += got;
  }
}

typedef enum Output { OUTPUT_MESSAGES, OUTPUT_PRINT, OUTPUT_CODES } Output;

static void print_codes(const DiagList* diags) {
  for (uint32_t i = 0; i < diags->items.count; i++) {
    printf("%s%s", i ? " " : "", diag_code_text(diags->items.data[i].code));
  }
  printf("%s\n", diags->items.count ? "" : "-");
  fflush(stdout);  // after a crash the last line tells which text it was
}

static void print_messages(Arena* arena, const DiagList* diags) {
  for (uint32_t i = 0; i < diags->items.count; i++) {
    Str rendered = diag_render(arena, diags->source, &diags->items.data[i], false);
    fwrite(rendered.data, 1, rendered.length, stdout);
  }
}

static bool parse_in(Arena* arena, const Text* text, const char* name, Output output) {
  Source source;
  DiagList diags;
  source_init(&source, arena, str_from_c(name), (Str){text->data, (uint32_t)text->length});
  diag_init(&diags, arena, &source);
  const AstModel* model = lisma_parse(arena, &source, &diags);
  if (output == OUTPUT_CODES) {
    print_codes(&diags);
  } else {
    print_messages(arena, &diags);
  }
  if (output == OUTPUT_PRINT && diags.error_count == 0) {
    TextBuffer out = {.arena = arena};
    ast_print_model(&out, model);
    Str canonical = text_str(&out);
    fwrite(canonical.data, 1, canonical.length, stdout);
  }
  return diags.error_count == 0;
}

/// True when the text has no errors.
static bool parse_one(const Text* text, const char* name, Output output) {
  Arena arena;
  jmp_buf oom;
  arena_init(&arena, NULL, &oom);
  if (setjmp(oom)) exit(2);
  bool right = parse_in(&arena, text, name, output);
  arena_free(&arena);
  return right;
}

static int run_batch(Text all) {
  size_t at = 0;
  while (at < all.length) {
    const char* line_end = memchr(all.data + at, '\n', all.length - at);
    if (!line_end) return 2;
    size_t length = strtoul(all.data + at, NULL, 10);
    at = (size_t)(line_end - all.data) + 1;
    if (length > all.length - at || length > UINT32_MAX) return 2;
    // an exact copy, so that AddressSanitizer sees every read behind the end
    char* copy = malloc(length ? length : 1);
    if (!copy) return 2;
    memcpy(copy, all.data + at, length);
    parse_one(&(Text){copy, length}, "batch", OUTPUT_CODES);
    free(copy);
    at += length;
  }
  return 0;
}

int main(int argc, char** argv) {
  const char* name = "model.lisma";
  Output output = OUTPUT_MESSAGES;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--print") == 0) {
      output = OUTPUT_PRINT;
    } else if (strcmp(argv[i], "--batch") == 0) {
      output = OUTPUT_CODES;
    } else if (strcmp(argv[i], "--name") == 0 && i + 1 < argc) {
      name = argv[++i];
    } else {
      fprintf(stderr, "usage: lisma_parse_tool [--print] [--batch] [--name NAME] < MODEL\n");
      return 2;
    }
  }
  Text text = read_all(stdin);
  int status = 0;
  if (output == OUTPUT_CODES) {
    status = run_batch(text);
  } else if (text.length > UINT32_MAX) {
    status = 2;
  } else {
    status = parse_one(&text, name, output) ? 0 : 1;
  }
  free(text.data);
  return status;
}
