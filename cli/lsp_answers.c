// SPDX-License-Identifier: MIT
//
// What the language server knows: messages of the compiler, declarations, the words of the
// language.
#define _POSIX_C_SOURCE 200809L
#include "lsp.h"

#include <stdlib.h>
#include <string.h>

#define HOVER_BYTES 400  // of a declaration that is shown

// numbers of the protocol
enum { SEVERITY_ERROR = 1, SEVERITY_WARNING = 2, SEVERITY_INFORMATION = 3 };
enum { COMPLETE_FUNCTION = 3, COMPLETE_CLASS = 7, COMPLETE_KEYWORD = 14 };

// ---- compiling ----------------------------------------------------------------------------------

typedef struct Collector {
  Document* document;
  Text* out;
  bool any;
} Collector;

static void* grow(void* items, size_t count, size_t size) {
  bool full = (count & (count - 1)) == 0;  // capacities are powers of two
  return full ? realloc(items, (count ? 2 * count : 1) * size) : items;
}

static void keep_fix(Document* d, Place place, const char* begin, size_t length) {
  Fix* fixes = grow(d->fixes, d->fix_count, sizeof *fixes);
  if (!fixes) return;
  d->fixes = fixes;
  char* text = strndup(begin, length);
  if (text) d->fixes[d->fix_count++] = (Fix){place, text};
}

/// A hint that names what was meant is a replacement; a ';' that a line lacks is put at its end.
static void find_fix(Document* d, Place place, const SltDiagnostic* m) {
  static const char before[] = "did you mean '";
  if (m->hint && strncmp(m->hint, before, sizeof before - 1) == 0) {
    const char* begin = m->hint + sizeof before - 1;
    const char* end = strstr(begin, "'?");
    if (end) keep_fix(d, place, begin, (size_t)(end - begin));
  } else if (strncmp(m->message, "expected ';'", 12) == 0) {
    const char* rest = d->text + place.begin;
    rest += strspn(rest, " \t\r");
    if (*rest == '\n' || *rest == '\0' || strncmp(rest, "//", 2) == 0)
      keep_fix(d, (Place){place.begin, place.begin}, ";", 1);
  }
}

/// Where a text names a file that it includes, itself or through others; the top if it does not.
static Place include_of(const Document* d, const char* file) {
  const char* base = strrchr(file, '/');
  base = base ? base + 1 : file;
  size_t length = strlen(base);
  for (const char* at = strstr(d->text, base); at && length; at = strstr(at + 1, base)) {
    if (at[length] != '"') continue;
    size_t end = (size_t)(at - d->text) + length;
    return (Place){end - length, end};
  }
  return (Place){0, 0};
}

static void put_diagnostic(void* user, const SltDiagnostic* m) {
  Collector* c = user;
  Document* d = c->document;
  // what is said about another file stands where it is included, or at the top
  bool here = strcmp(m->file, d->path) == 0 && m->begin <= m->end && m->end <= d->length;
  Place place = here ? (Place){m->begin, m->end} : include_of(d, m->file);
  if (here) find_fix(d, place, m);
  int severity = m->severity == SLT_ERROR     ? SEVERITY_ERROR
                 : m->severity == SLT_WARNING ? SEVERITY_WARNING
                                              : SEVERITY_INFORMATION;
  Text message = {0};
  if (!here) text_put_format(&message, "%s:%u: ", m->file, m->line);
  text_put(&message, m->message, strlen(m->message));
  if (m->hint) text_put_format(&message, "\n%s", m->hint);
  text_put_format(c->out, "%s{\"range\":", c->any ? "," : "");
  document_put_range(d, place, c->out);
  text_put_format(c->out,
                  ",\"severity\":%d,\"code\":\"%s\",\"source\":\"saltus\",\"message\":", severity,
                  m->code);
  text_put_json(c->out, message.data ? message.data : "", message.length);
  text_put_format(c->out, "}");
  free(message.data);
  c->any = true;
}

void answer_diagnostics(Document* d, Text* out) {
  Collector collector = {.document = d, .out = out};
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = put_diagnostic;
  options.user = &collector;
  options.load = lsp_load;
  options.load_user = d;
  options.structure = true;
  text_put_format(out, "{\"uri\":");
  text_put_json(out, d->uri, strlen(d->uri));
  text_put_format(out, ",\"diagnostics\":[");
  slt_model_compile(d->path, d->text, d->length, &options, &d->model);
  inputs_clear();
  if (d->lisma) slt_outline(d->text, d->length, document_keep_symbol, d);
  lsp_index_symbols(d);
  text_put_format(out, "]}");
}

// ---- declarations -------------------------------------------------------------------------------

/// What is shown of a declaration: its first lines.
static Place declaration_text(const Symbol* s) {
  const Document* d = s->document;
  Place shown = s->whole;
  if (shown.end - shown.begin > HOVER_BYTES) {
    shown.end = shown.begin + HOVER_BYTES;
    while (shown.end > shown.begin && d->text[shown.end - 1] != '\n')
      shown.end--;
    if (shown.end == shown.begin) shown.end = s->place.end;
  }
  return shown;
}

static void put_hover(const Document* d, Place word, const Text* content, Text* out) {
  text_put_format(out, "{\"contents\":{\"kind\":\"markdown\",\"value\":");
  text_put_json(out, content->data ? content->data : "", content->length);
  text_put_format(out, "},\"range\":");
  document_put_range(d, word, out);
  text_put_format(out, "}");
}

/// The unit and the value of a quantity at the start, as far as the model compiles.
static void put_quantity(const Document* d, Place word, const Symbol* s, Text* content) {
  char unit[128] = "";
  SltQuantity quantity;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  const SltModel* model = document_family(d, 0)->model;
  Text name = {0};
  lsp_put_path(d, word, s, &name);
  bool known = !name.failed && name.data && model && slt_sim_create(model, &options, &sim) >= 0 &&
               slt_sim_find(sim, name.data, &quantity) >= 0;
  free(name.data);
  if (known && slt_sim_unit(sim, quantity, unit, sizeof unit) >= 0 && unit[0]) {
    text_put_format(content, ", in %s", unit);
  }
  bool valued = s->kind == SLT_SYMBOL_CONSTANT || s->kind == SLT_SYMBOL_VARIABLE ||
                s->kind == SLT_SYMBOL_MACRO || s->kind == SLT_SYMBOL_PORT;
  if (known && valued && slt_sim_start(sim) >= 0) {
    const char* when = s->kind == SLT_SYMBOL_CONSTANT ? "" : " at the start";
    text_put_format(content, ", %.10g%s", slt_sim_get(sim, quantity), when);
  }
  slt_sim_free(sim);
}

void answer_hover(const Document* d, size_t byte, Text* out) {
  Place word;
  Text content = {0};
  if (document_word_at(d, byte, &word)) {
    const Symbol* s = lsp_symbol_at(d, word);
    if (s) {
      Place shown = declaration_text(s);
      text_put_format(&content, "```lisma\n%.*s\n```\n%s", (int)(shown.end - shown.begin),
                      s->document->text + shown.begin, lsp_kind(s->kind)->text);
      put_quantity(d, word, s, &content);
    }
    const Symbol* function = s ? NULL : lsp_function_around(d, word);
    if (function) {
      Place shown = declaration_text(function);
      text_put_format(&content, "```lisma\n%.*s\n```\na name of this function",
                      (int)(shown.end - shown.begin), d->text + shown.begin);
    }
    const LspWord* known = s || function ? NULL : lsp_word_find(d, word);
    if (known) text_put_format(&content, "```lisma\n%s\n```\n%s", known->form, known->text);
  }
  if (content.length) {
    put_hover(d, word, &content, out);
  } else {
    text_put_format(out, "null");
  }
  free(content.data);
}

// ---- completion ---------------------------------------------------------------------------------

static void put_item(const char* label, const char* detail, int kind, bool* any, Text* out) {
  text_put_format(out, "%s{\"label\":", *any ? "," : "");
  text_put_json(out, label, strlen(label));
  text_put_format(out, ",\"kind\":%d,\"detail\":", kind);
  text_put_json(out, detail, strlen(detail));
  text_put_format(out, "}");
  *any = true;
}

/// Whether a word stands in a text for the first time, and nowhere as the index of a loop.
static bool is_first(const Document* d, Place whole, Place word) {
  size_t at = whole.begin;
  bool loop = false;
  Place other;
  while (document_next_word(d, &at, &other) && other.end <= whole.end) {
    bool same = other.end - other.begin == word.end - word.begin &&
                memcmp(d->text + other.begin, d->text + word.begin, word.end - word.begin) == 0;
    if (same && (loop || other.begin < word.begin)) return false;
    loop = document_is_word(d, other, "for");
  }
  return true;
}

/// The names that a part reads and leaves to the model.
static void put_open(const Symbol* part, bool* any, Text* out) {
  const Document* d = part->document;
  Place body = {part->place.end, part->whole.end};
  size_t at = body.begin;
  Place word;
  while (document_next_word(d, &at, &word) && word.end <= body.end) {
    char first = d->text[word.begin];
    bool name = !(first >= '0' && first <= '9') && d->text[word.begin - 1] != '.';
    if (!name || lsp_symbol_at(d, word) || lsp_word_find(d, word)) continue;
    if (lsp_function_around(d, word) || lsp_is_key(d, word) || !is_first(d, body, word)) continue;
    static const char* const others[] = {"e", "g", "t", "t0", "return", "persistent", "trigger"};
    bool means = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
      means = means || document_is_word(d, word, others[i]);
    }
    if (means) continue;
    Text label = {0};
    text_put_format(&label, "%.*s", (int)(word.end - word.begin), d->text + word.begin);
    if (label.data)
      put_item(label.data, "left open", lsp_kind(SLT_SYMBOL_VARIABLE)->complete, any, out);
    free(label.data);
  }
}

/// Behind "NAME.": the members of that part, or the states of that automaton.
static bool put_members(const Document* d, size_t dot, bool* any, Text* out) {
  Place before;
  if (!lsp_word_before(d, dot, &before)) return false;
  const Symbol* owner = lsp_symbol_at(d, before);
  bool instance = owner && owner->kind == SLT_SYMBOL_INSTANCE;
  bool main = document_is_word(d, before, "main");
  bool known = main || instance;
  const Document* file = NULL;
  for (size_t k = 0; (file = document_family(d, k)) != NULL; k++) {
    for (size_t i = 0; i < file->symbol_count; i++) {
      const Symbol* s = &file->symbols[i];
      if (instance && strcmp(s->part, owner->type) == 0) {
        put_item(s->name, lsp_kind(s->kind)->text, lsp_kind(s->kind)->complete, any, out);
      }
      if (instance || file != d) continue;
      if (s->kind == SLT_SYMBOL_AUTOMATON && document_is_word(d, before, s->name)) known = true;
      bool mine = s->container[0] ? document_is_word(d, before, s->container) : main;
      if (s->kind == SLT_SYMBOL_STATE && mine) put_item(s->name, "state", COMPLETE_CLASS, any, out);
    }
  }
  const Symbol* part = instance ? lsp_part_named(d, owner->type) : NULL;
  if (part) put_open(part, any, out);
  if (known && !instance) put_item("state", "the state it is in", COMPLETE_KEYWORD, any, out);
  return known;
}

/// All names of a model; of included files what they declare outside of their parts.
static void put_names(const Document* d, bool* any, Text* out) {
  const Document* file = NULL;
  for (size_t k = 0; (file = document_family(d, k)) != NULL; k++) {
    for (size_t i = 0; i < file->symbol_count; i++) {
      const Symbol* s = &file->symbols[i];
      const LspKind* kind = lsp_kind(s->kind);
      if (file == d || !s->part[0]) put_item(s->name, kind->text, kind->complete, any, out);
    }
  }
}

void answer_completion(const Document* d, size_t byte, Text* out) {
  bool any = false;
  Place word;
  if (!document_word_at(d, byte, &word)) word = (Place){byte, byte};
  text_put_format(out, "[");
  bool dotted = word.begin > 0 && d->text[word.begin - 1] == '.';
  if (!(dotted && put_members(d, word.begin - 1, &any, out))) {
    put_names(d, &any, out);
    for (size_t i = 0; d->lisma && lsp_word_get(i); i++) {
      const LspWord* known = lsp_word_get(i);
      put_item(known->word, known->form,
               lsp_word_is_function(known) ? COMPLETE_FUNCTION : COMPLETE_KEYWORD, &any, out);
    }
  }
  text_put_format(out, "]");
}

// ---- changes ------------------------------------------------------------------------------------

void answer_formatting(const Document* d, Text* out) {
  Text formatted = {0};
  SltStatus status =
      d->lisma ? slt_format(d->path, d->text, d->length, NULL, (SltWriter){text_keep, &formatted})
               : SLT_ERR_UNSUPPORTED;
  bool same = formatted.length == d->length &&
              (d->length == 0 || memcmp(formatted.data, d->text, d->length) == 0);
  text_put_format(out, "[");
  if (status >= 0 && !same) {
    text_put_format(out, "{\"range\":");
    document_put_range(d, (Place){0, d->length}, out);
    text_put_format(out, ",\"newText\":");
    text_put_json(out, formatted.data ? formatted.data : "", formatted.length);
    text_put_format(out, "}");
  }
  text_put_format(out, "]");
  free(formatted.data);
}

void answer_actions(const Document* d, Place asked, Text* out) {
  bool any = false;
  text_put_format(out, "[");
  for (size_t i = 0; i < d->fix_count; i++) {
    const Fix* fix = &d->fixes[i];
    if (fix->place.begin > asked.end || fix->place.end < asked.begin) continue;
    Text title = {0};
    text_put_format(&title, "write '%s'", fix->text);
    text_put_format(out, "%s{\"title\":", any ? "," : "");
    text_put_json(out, title.data ? title.data : "", title.length);
    free(title.data);
    text_put_format(out, ",\"kind\":\"quickfix\",\"edit\":{\"changes\":{");
    text_put_json(out, d->uri, strlen(d->uri));
    text_put_format(out, ":[{\"range\":");
    document_put_range(d, fix->place, out);
    text_put_format(out, ",\"newText\":");
    text_put_json(out, fix->text, strlen(fix->text));
    text_put_format(out, "}]}}}");
    any = true;
  }
  text_put_format(out, "]");
}
