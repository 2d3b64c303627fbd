// SPDX-License-Identifier: MIT
//
// Files that a model includes. They are found by a look at the tokens, before anything is parsed,
// and put behind the text of the model as parts of one source: every place is then an offset into
// one text, whatever file it is in.
#include "lisma/lexer.h"
#include "lisma/lisma.h"

#include <string.h>

#define FILES_MAX  1000u
#define NAME_SHOWN 200u  // bytes of a name that are repeated in a message

typedef struct File {
  Str name;   // relative to the folder of the model, in its shortest form
  Str place;  // where it was found, if not there
  Str text;
  uint32_t begin;   // of its text in the whole
  uint32_t parent;  // that includes it; itself for the model
  bool foreign;     // a part for an FMU
  Span asked_at;    // ... and where it is named
} File;

typedef struct Includer {
  Arena* arena;
  const LismaOptions* options;
  DiagList* diags;
  BASE_VEC(File) files;  // 0 is the model
  uint64_t length;       // of the whole text
  bool failed;
} Includer;

static void report(Includer* in, Span span, const char* message, Str name, const char* hint) {
  bool shown = name.length <= NAME_SHOWN;
  Diag* diag =
      diag_add(in->diags, DIAG_E0214, span, shown ? "%s: '%.*s'" : "%s", message, STR_ARGS(name));
  if (hint) diag_hint(in->diags, diag, "%s", hint);
  in->failed = true;
}

// ---------------------------------------------------------------------------------------------
// names

/// The folder of a file, with its last '/'.
static Str folder_of(Str name) {
  while (name.length && name.data[name.length - 1] != '/') {
    name.length--;
  }
  return name;
}

static void drop_last(TextBuffer* path) {
  path->length--;
  while (path->length && path->data[path->length - 1] != '/') {
    path->length--;
  }
}

/// Take the next word of a path off it, and the '/' behind it; false when it holds what no name of
/// a file here does.
static bool take_word(Str* name, Str* word, bool* folder) {
  *word = (Str){name->data, 0};
  while (word->length < name->length && name->data[word->length] != '/') {
    if (strchr("\\:", name->data[word->length])) return false;  // and '\0'
    word->length++;
  }
  *folder = word->length < name->length;
  uint32_t taken = word->length + *folder;
  name->data += taken;
  name->length -= taken;
  return true;
}

/// `name` seen from `folder` without `.` and `..`. False when it leads out of the model's folder.
static bool join(Arena* arena, Str folder, Str name, Str* out) {
  TextBuffer path = {.arena = arena};
  text_append(&path, folder);
  if (name.length == 0 || name.data[0] == '/' || name.data[0] == '~') return false;
  while (name.length) {
    Str word;
    bool is_folder = false;
    if (!take_word(&name, &word, &is_folder)) return false;
    if (word.length == 0 || str_equal(word, STR_LIT("."))) continue;
    if (str_equal(word, STR_LIT(".."))) {
      if (path.length == 0) return false;
      drop_last(&path);
      continue;
    }
    text_append(&path, word);
    if (is_folder) text_append_char(&path, '/');
  }
  *out = text_str(&path);
  return out->length > 0 && out->data[out->length - 1] != '/';
}

// ---------------------------------------------------------------------------------------------
// files

/// Whether a file is there already, and is not one of those that lead to `parent`.
static bool is_known(Includer* in, Str name, uint32_t parent, Span span) {
  for (uint32_t at = parent;; at = in->files.data[at].parent) {
    if (str_equal(in->files.data[at].name, name)) {
      report(in, span, "this file includes itself", name, "take one of the 'include' away");
      return true;
    }
    if (at == 0) break;
  }
  for (uint32_t i = 1; i < in->files.count; i++) {
    if (str_equal(in->files.data[i].name, name)) return true;
  }
  return false;
}

static void load(Includer* in, uint32_t parent, Str written, Span span) {
  Str name = {NULL, 0};
  if (!join(in->arena, folder_of(in->files.data[parent].name), written, &name)) {
    report(
        in, span, "this file is not below the folder of the model", written,
        "files to include stand beside the model, below it, or in a folder that --include names");
    return;
  }
  if (is_known(in, name, parent, span)) return;
  Str text = {NULL, 0};
  bool readable = in->options && in->options->load_file &&
                  in->options->load_file(in->options->user, name, in->arena, &text) == SLT_OK;
  if (!readable) {
    report(in, span, "this file cannot be read", name,
           "its name is relative to the file that includes it; parts that come with saltus are in "
           "\"parts/...\"");
    return;
  }
  if (in->files.count > FILES_MAX || in->length + text.length > LEXER_SOURCE_MAX) {
    report(in, span, "with this file the text of the model is too long", name, NULL);
    return;
  }
  File file = {.name = name, .text = text, .begin = (uint32_t)in->length, .parent = parent};
  if (in->options->place_file) file.place = in->options->place_file(in->options->user, in->arena);
  in->length += text.length + 1;
  base_vec_push(in->arena, &in->files, file);
}

/// The part for an FMU, as a file behind the others.
static void describe(Includer* in, Str name, Span span) {
  Str text = {NULL, 0};
  Str problem = STR_LIT("FMUs cannot be read here");
  for (uint32_t i = 1; i < in->files.count; i++) {
    if (in->files.data[i].foreign && str_equal(in->files.data[i].name, name)) return;
  }
  bool named = name.length && !memchr(name.data, '`', name.length);
  if (!named) problem = STR_LIT("no file can have this name");
  if (!named || !in->options || !in->options->describe_foreign ||
      !in->options->describe_foreign(in->options->user, name, in->arena, &text, &problem)) {
    Diag* diag = diag_add(in->diags, DIAG_E0220, span, "the FMU '%.*s' cannot be used: %.*s",
                          STR_ARGS(name), STR_ARGS(problem));
    diag_hint(in->diags, diag, "it is looked for in the folder of the model");
    in->failed = true;
    return;
  }
  if (in->files.count > FILES_MAX || in->length + text.length > LEXER_SOURCE_MAX) {
    report(in, span, "with this file the text of the model is too long", name, NULL);
    return;
  }
  File file = {
      .name = name, .text = text, .begin = (uint32_t)in->length, .foreign = true, .asked_at = span};
  in->length += text.length + 1;
  base_vec_push(in->arena, &in->files, file);
}

/// Where the lexer stands in `fmu NAME = "file"`.
static uint32_t follow_fmu(uint32_t place, const Token* token) {
  if (token->kind == TOK_WORD && token->word == WORD_FMU && place != 1) return 1;
  bool name = token->kind == TOK_WORD || token->kind == TOK_QUOTED;
  if (place == 1 && name) return 2;
  if (place == 2 && token->kind == TOK_ASSIGN) return 3;
  return place == 3 && token->kind == TOK_STRING ? 4 : 0;
}

/// The `include "file";` at the top level of a file, and its FMUs.
static void scan(Includer* in, uint32_t index) {
  File file = in->files.data[index];
  Source source = {.name = file.name, .text = file.text};
  DiagList ignored;
  diag_init(&ignored, in->arena, &source);
  Lexer lexer;
  lexer_init(&lexer, &source, &ignored);
  uint32_t depth = 0;
  uint32_t place = 0;
  Token before = {.kind = TOK_SEMICOLON};
  for (Token token = lexer_next(&lexer); token.kind != TOK_END && !in->failed;
       token = lexer_next(&lexer)) {
    if (token.kind == TOK_LBRACE) depth++;
    if (token.kind == TOK_RBRACE && depth) depth--;
    bool include = before.kind == TOK_WORD && before.word == WORD_INCLUDE;
    if (include && depth == 0 && token.kind == TOK_STRING) {
      Span span = {file.begin + token.span.begin, file.begin + token.span.end};
      Str name = {file.text.data + token.inner.begin, token.inner.end - token.inner.begin};
      load(in, index, name, span);
    }
    place = follow_fmu(place, &token);
    if (place == 4) {
      Span span = {file.begin + token.span.begin, file.begin + token.span.end};
      Str name = {file.text.data + token.inner.begin, token.inner.end - token.inner.begin};
      describe(in, name, span);
    }
    before = token;
  }
}

static bool mentions(Str text, Str word) {
  for (uint32_t i = 0; i + word.length <= text.length; i++) {
    if (text.data[i] == word.data[0] && memcmp(text.data + i, word.data, word.length) == 0)
      return true;
  }
  return false;
}

static Str last_name(Str path) {
  Str folder = folder_of(path);
  return (Str){path.data + folder.length, path.length - folder.length};
}

bool lisma_include(Source* source, Arena* arena, const LismaOptions* options, DiagList* diags) {
  if (!mentions(source->text, STR_LIT("include")) && !mentions(source->text, STR_LIT("fmu"))) {
    return true;
  }
  Includer in = {.arena = arena, .options = options, .diags = diags};
  in.length = (uint64_t)source->text.length + 1;
  base_vec_push(arena, &in.files, ((File){.name = last_name(source->name), .text = source->text}));
  for (uint32_t i = 0; i < in.files.count && !in.failed; i++) {
    if (!in.files.data[i].foreign) scan(&in, i);
  }
  if (in.files.count == 1) return !in.failed;

  TextBuffer whole = {.arena = arena};
  SourcePart* parts = ARENA_ARRAY(arena, SourcePart, in.files.count - 1);
  Str folder = folder_of(source->name);
  for (uint32_t i = 0; i < in.files.count; i++) {
    text_append(&whole, in.files.data[i].text);
    text_append_char(&whole, '\n');
  }
  Str name = source->name;
  source_init(source, arena, name, text_str(&whole));
  for (uint32_t i = 1; i < in.files.count; i++) {
    const File* file = &in.files.data[i];
    uint32_t line = 1;
    uint32_t column = 1;
    source_place(source, file->begin, &line, &column);
    Str path = file->place;
    if (!path.length) {
      path = str_format(arena, "%.*s%.*s", STR_ARGS(folder), STR_ARGS(file->name));
    }
    parts[i - 1] = (SourcePart){.name = path,
                                .asked = file->name,
                                .begin = file->begin,
                                .first_line = line,
                                .generated = file->foreign,
                                .asked_at = file->asked_at};
  }
  source->parts = parts;
  source->part_count = in.files.count - 1;
  return !in.failed;
}
