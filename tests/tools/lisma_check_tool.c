// SPDX-License-Identifier: MIT
//
// lisma_check_tool [--ir] [--time] [--set NAME=VALUE]... FILE: compile a model, print the messages
// without colour and, with --ir, the model. Exit status 0 without errors, 1 with errors, 2 when
// used wrongly.
#include "lisma/lisma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OVERRIDE_MAX 16

static bool read_stream(FILE* file, Arena* arena, Str* content) {
  BASE_VEC(char) bytes = {0};
  for (;;) {
    base_vec_reserve(arena, &bytes, 65536);
    size_t got = fread(bytes.data + bytes.count, 1, 65536, file);
    bytes.count += (uint32_t)got;
    if (got < 65536) break;
  }
  *content = (Str){bytes.data, bytes.count};
  return !ferror(file);
}

static bool read_file(const char* path, Arena* arena, Str* content) {
  FILE* file = fopen(path, "rb");
  if (!file) return false;
  bool fine = read_stream(file, arena, content);
  fclose(file);
  return fine;
}

/// Data files stand beside the model.
static SltStatus load_file(void* user, Str name, Arena* arena, Str* content) {
  const char* model = user;
  const char* slash = strrchr(model, '/');
  int directory = slash ? (int)(slash - model) + 1 : 0;
  Str path = str_format(arena, "%.*s%.*s", directory, model, STR_ARGS(name));
  return read_file(path.data, arena, content) ? SLT_OK : SLT_ERR_IO;
}

typedef struct Arguments {
  const char* path;
  bool show_ir;
  bool show_time;
  LismaOverride overrides[OVERRIDE_MAX];
  uint32_t override_count;
} Arguments;

static bool parse_arguments(Arguments* a, int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--ir") == 0) {
      a->show_ir = true;
    } else if (strcmp(argv[i], "--time") == 0) {
      a->show_time = true;
    } else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && a->override_count < OVERRIDE_MAX) {
      const char* text = argv[++i];
      const char* equals = strchr(text, '=');
      if (!equals) return false;
      LismaOverride* override = &a->overrides[a->override_count++];
      override->name = (Str){text, (uint32_t)(equals - text)};
      Str number = str_from_c(equals + 1);
      if (number_read(number, true, &override->value) != number.length) return false;
    } else if (!a->path) {
      a->path = argv[i];
    } else {
      return false;
    }
  }
  return a->path != NULL;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int check(Arena* arena, const Arguments* a) {
  Str text;
  if (!read_file(a->path, arena, &text)) {
    fprintf(stderr, "%s: cannot be read\n", a->path);
    return 2;
  }
  // messages name the file alone, so that they do not depend on where the tests are run
  const char* slash = strrchr(a->path, '/');
  Source source;
  source_init(&source, arena, str_from_c(slash ? slash + 1 : a->path), text);
  DiagList diags;
  diag_init(&diags, arena, &source);
  bool applied[OVERRIDE_MAX] = {false};
  LismaOptions options = {.overrides = a->overrides,
                          .override_count = a->override_count,
                          .applied = applied,
                          .load_file = load_file,
                          .user = (void*)(uintptr_t)a->path};
  IrModel model;
  double begin = seconds();
  bool fine = lisma_include(&source, arena, &options, &diags) &&
              lisma_compile(&model, arena, &source, &options, &diags);
  double end = seconds();
  for (uint32_t i = 0; i < diags.items.count; i++) {
    Str rendered = diag_render(arena, &source, &diags.items.data[i], false);
    fwrite(rendered.data, 1, rendered.length, stdout);
  }
  for (uint32_t i = 0; i < a->override_count; i++) {
    if (!applied[i]) printf("not a constant: %.*s\n", STR_ARGS(a->overrides[i].name));
  }
  if (fine && a->show_ir) {
    TextBuffer out = {.arena = arena};
    ir_print_model(&out, &model);
    Str printed = text_str(&out);
    fwrite(printed.data, 1, printed.length, stdout);
  }
  if (a->show_time) {
    printf("%.3f s, %u MB, %u equations, %u variables, %u leaves, %u nodes\n", end - begin,
           (unsigned)(arena->total >> 20), model.equations.count, model.vars.count,
           model.leaves.count, model.pool.nodes.count);
  }
  return fine ? 0 : 1;
}

int main(int argc, char** argv) {
  static Arguments arguments;
  if (!parse_arguments(&arguments, argc, argv)) {
    fprintf(stderr, "usage: lisma_check_tool [--ir] [--time] [--set NAME=VALUE]... FILE\n");
    return 2;
  }
  jmp_buf oom;
  static Arena arena;
  arena_init(&arena, NULL, &oom);
  if (setjmp(oom)) {
    arena_free(&arena);
    fprintf(stderr, "out of memory\n");
    return 2;
  }
  int status = check(&arena, &arguments);
  arena_free(&arena);
  return status;
}
