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

/// A hint that names what was meant is a replacement.
static void keep_fix(Document* d, Place place, const char* hint) {
  static const char before[] = "did you mean '";
  if (!hint || strncmp(hint, before, sizeof before - 1) != 0) return;
  const char* begin = hint + sizeof before - 1;
  const char* end = strstr(begin, "'?");
  Fix* fixes = end ? grow(d->fixes, d->fix_count, sizeof *fixes) : NULL;
  if (!fixes) return;
  d->fixes = fixes;
  char* text = strndup(begin, (size_t)(end - begin));
  if (text) d->fixes[d->fix_count++] = (Fix){place, text};
}

static void put_diagnostic(void* user, const SltDiagnostic* m) {
  Collector* c = user;
  Document* d = c->document;
  // what is said about another file stands at the top
  bool here = strcmp(m->file, d->path) == 0 && m->begin <= m->end && m->end <= d->length;
  Place place = here ? (Place){m->begin, m->end} : (Place){0, 0};
  if (here) keep_fix(d, place, m->hint);
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

static void keep_symbol(void* user, const SltSymbol* s) {
  Document* d = user;
  Symbol* symbols = grow(d->symbols, d->symbol_count, sizeof *symbols);
  if (!symbols) return;
  d->symbols = symbols;
  Symbol symbol = {.kind = s->kind,
                   .name = strdup(s->name),
                   .container = strdup(s->container ? s->container : ""),
                   .part = strdup(s->part ? s->part : ""),
                   .type = strdup(s->type ? s->type : ""),
                   .place = {s->begin, s->end},
                   .whole = {s->whole_begin, s->whole_end}};
  if (symbol.name && symbol.container && symbol.part && symbol.type) {
    d->symbols[d->symbol_count++] = symbol;
  } else {
    symbol_free(&symbol);
  }
}

void answer_diagnostics(Document* d, Text* out) {
  Collector collector = {.document = d, .out = out};
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = put_diagnostic;
  options.user = &collector;
  ModelSource source = {.path = d->path, .name = d->path, .beside = true};
  options.load = d->files.load ? d->files.load : source_load;
  options.load_user = d->files.load ? d->files.user : &source;
  options.structure = true;
  text_put_format(out, "{\"uri\":");
  text_put_json(out, d->uri, strlen(d->uri));
  text_put_format(out, ",\"diagnostics\":[");
  slt_model_compile(d->path, d->text, d->length, &options, &d->model);
  inputs_clear();
  if (d->lisma) slt_outline(d->text, d->length, keep_symbol, d);
  lsp_index_symbols(d);
  text_put_format(out, "]}");
}

// ---- declarations -------------------------------------------------------------------------------

/// What is shown of a declaration: its first lines.
static Place declaration_text(const Document* d, const Symbol* s) {
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

/// The unit of a quantity, as far as the model compiles.
static void put_unit(const Document* d, Place word, Text* content) {
  char name[256];
  char unit[128] = "";
  SltQuantity quantity;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  snprintf(name, sizeof name, "%.*s", (int)(word.end - word.begin), d->text + word.begin);
  if (!d->model || slt_sim_create(d->model, &options, &sim) < 0) return;
  bool known = slt_sim_find(sim, name, &quantity) >= 0 &&
               slt_sim_unit(sim, quantity, unit, sizeof unit) >= 0;
  if (known && unit[0]) text_put_format(content, ", in %s", unit);
  slt_sim_free(sim);
}

void answer_hover(const Document* d, size_t byte, Text* out) {
  Place word;
  Text content = {0};
  if (document_word_at(d, byte, &word)) {
    const Symbol* s = lsp_symbol_at(d, word);
    if (s) {
      Place shown = declaration_text(d, s);
      text_put_format(&content, "```lisma\n%.*s\n```\n%s", (int)(shown.end - shown.begin),
                      d->text + shown.begin, lsp_kind(s->kind)->text);
      put_unit(d, word, &content);
    }
    const LspWord* known = s ? NULL : lsp_word_find(d, word);
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

/// Behind "NAME.": the members of that part, or the states of that automaton.
static bool put_members(const Document* d, size_t dot, bool* any, Text* out) {
  Place automaton;
  if (!lsp_word_before(d, dot, &automaton)) return false;
  const Symbol* owner = lsp_symbol_at(d, automaton);
  if (owner && owner->kind == SLT_SYMBOL_INSTANCE) {
    for (size_t i = 0; i < d->symbol_count; i++) {
      const Symbol* s = &d->symbols[i];
      if (strcmp(s->part, owner->type) != 0) continue;
      put_item(s->name, lsp_kind(s->kind)->text, lsp_kind(s->kind)->complete, any, out);
    }
    return true;
  }
  bool main = document_is_word(d, automaton, "main");
  bool known = main;
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    if (s->kind == SLT_SYMBOL_AUTOMATON && document_is_word(d, automaton, s->name)) known = true;
    bool mine = s->container[0] ? document_is_word(d, automaton, s->container) : main;
    if (s->kind == SLT_SYMBOL_STATE && mine) put_item(s->name, "state", COMPLETE_CLASS, any, out);
  }
  if (known) put_item("state", "the state it is in", COMPLETE_KEYWORD, any, out);
  return known;
}

void answer_completion(const Document* d, size_t byte, Text* out) {
  bool any = false;
  Place word;
  if (!document_word_at(d, byte, &word)) word = (Place){byte, byte};
  text_put_format(out, "[");
  bool dotted = word.begin > 0 && d->text[word.begin - 1] == '.';
  if (!(dotted && put_members(d, word.begin - 1, &any, out))) {
    for (size_t i = 0; i < d->symbol_count; i++) {
      const LspKind* kind = lsp_kind(d->symbols[i].kind);
      put_item(d->symbols[i].name, kind->text, kind->complete, &any, out);
    }
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
