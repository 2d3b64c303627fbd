// SPDX-License-Identifier: MIT
//
// Texts that are open in the editor, and places in them. An editor counts lines from 0 and, unless
// it agrees to bytes, characters in units of UTF-16.
#define _POSIX_C_SOURCE 200809L
#include "lsp.h"

#include <stdlib.h>
#include <string.h>

static char* copy_bytes(const char* data, size_t length) {
  char* out = malloc(length + 1);
  if (!out) return NULL;
  if (length) memcpy(out, data, length);
  out[length] = '\0';
  return out;
}

char* lsp_path_of(const char* uri) {
  if (strncmp(uri, "file://", 7) != 0) return copy_bytes(uri, strlen(uri));
  const char* at = uri + 7;
  while (*at && *at != '/')
    at++;  // the name of a machine
  char* path = copy_bytes(at, strlen(at));
  if (!path) return NULL;
  char* to = path;
  for (at = path; *at; at++) {
    uint32_t high = *at == '%' ? json_hex(at[1]) : 16;
    bool escaped = high < 16 && json_hex(at[2]) < 16;
    char byte = *at;
    if (escaped) byte = (char)(high * 16 + json_hex(at[2]));
    *to++ = byte;
    if (escaped) at += 2;
  }
  *to = '\0';
  return path;
}

Document* document_open(const char* uri, const char* text, size_t length, bool wide) {
  Document* document = calloc(1, sizeof *document);
  if (!document) return NULL;
  document->uri = copy_bytes(uri, strlen(uri));
  document->path = lsp_path_of(uri);
  document->text = copy_bytes(text, length);
  document->length = length;
  document->wide = wide;
  if (!document->uri || !document->path || !document->text) {
    document_free(document);
    return NULL;
  }
  document->lisma = !path_ends_with(document->path, ".rules.md");
  return document;
}

static void* grow(void* items, size_t count, size_t size) {
  bool full = (count & (count - 1)) == 0;  // capacities are powers of two
  return full ? realloc(items, (count ? 2 * count : 1) * size) : items;
}

void document_keep_symbol(void* user, const SltSymbol* s) {
  Document* d = user;
  Symbol* symbols = grow(d->symbols, d->symbol_count, sizeof *symbols);
  if (!symbols) return;
  d->symbols = symbols;
  Symbol symbol = {.document = d,
                   .kind = s->kind,
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

void symbol_free(Symbol* symbol) {
  free(symbol->name);
  free(symbol->container);
  free(symbol->part);
  free(symbol->type);
}

void document_free(Document* document) {
  if (!document) return;
  for (size_t i = 0; i < document->symbol_count; i++)
    symbol_free(&document->symbols[i]);
  for (size_t i = 0; i < document->fix_count; i++)
    free(document->fixes[i].text);
  for (size_t i = 0; i < document->included_count; i++)
    document_free(document->included[i]);
  free((void*)document->included);
  free(document->symbols);
  free((void*)document->by_name);
  slt_model_free(document->model);
  free(document->fixes);
  free(document->uri);
  free(document->path);
  free(document->text);
  free(document);
}

// ---- positions ----------------------------------------------------------------------------------

/// Bytes of the character that begins there, at least one.
static size_t character_bytes(const Document* d, size_t at) {
  size_t n = 1;
  while (at + n < d->length && ((unsigned char)d->text[at + n] & 0xc0) == 0x80)
    n++;
  return n;
}

/// What it counts for in a position.
static uint32_t character_units(const Document* d, size_t bytes) {
  return d->wide ? (uint32_t)bytes : bytes > 3 ? 2 : 1;
}

size_t document_letter(const Document* d, size_t at, uint32_t* characters) {
  size_t bytes = character_bytes(d, at);
  *characters = character_units(d, bytes);
  return bytes;
}

size_t document_byte(const Document* d, const Json* json, const JsonNode* position) {
  uint32_t line = json_count(json_member(json, position, "line"), UINT32_MAX);
  uint32_t character = json_count(json_member(json, position, "character"), UINT32_MAX);
  size_t at = 0;
  for (; line > 0 && at < d->length; line--) {
    const char* end = memchr(d->text + at, '\n', d->length - at);
    if (!end) return d->length;
    at = (size_t)(end - d->text) + 1;
  }
  for (uint32_t units = 0; units < character && at < d->length && d->text[at] != '\n';) {
    size_t bytes = character_bytes(d, at);
    units += character_units(d, bytes);
    at += bytes;
  }
  return at;
}

static void put_position(const Document* d, size_t byte, Text* out) {
  size_t line = 0;
  size_t begin = 0;
  if (byte > d->length) byte = d->length;
  for (size_t i = 0; i < byte; i++) {
    if (d->text[i] != '\n') continue;
    line++;
    begin = i + 1;
  }
  size_t units = 0;
  for (size_t at = begin; at < byte;) {
    size_t bytes = character_bytes(d, at);
    units += character_units(d, bytes);
    at += bytes;
  }
  text_put_format(out, "{\"line\":%zu,\"character\":%zu}", line, units);
}

void document_put_range(const Document* d, Place place, Text* out) {
  text_put_format(out, "{\"start\":");
  put_position(d, place.begin, out);
  text_put_format(out, ",\"end\":");
  put_position(d, place.end, out);
  text_put_format(out, "}");
}

// ---- words --------------------------------------------------------------------------------------

/// Letters of all scripts, digits, underscores.
static bool is_letter(const Document* d, size_t at) {
  unsigned char c = (unsigned char)d->text[at];
  return at < d->length && (c >= 0x80 || c == '_' || (c >= '0' && c <= '9') ||
                            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

/// The end of what begins at `at` and holds no words of the model; `at` itself where nothing does.
size_t document_skip_silent(const Document* d, size_t at) {
  const char* text = d->text + at;
  const char* end = NULL;
  if (strncmp(text, "//", 2) == 0) {
    end = strchr(text, '\n');
  } else if (strncmp(text, "/*", 2) == 0) {
    end = strstr(text + 2, "*/");
    if (end) end += 2;
  } else if (*text == '"') {
    end = strchr(text + 1, '"');
    if (end) end++;
  } else {
    return at;
  }
  return end ? (size_t)(end - d->text) : d->length;
}

/// A name in backquotes that begins at `at`: what is between them.
static bool quoted_name(const Document* d, size_t at, Place* out) {
  if (d->text[at] != '`') return false;
  size_t length = strcspn(d->text + at + 1, "`\n");
  *out = (Place){at + 1, at + 1 + length};
  return d->text[out->end] == '`';
}

/// Whether a byte stands in a text, which ends on its line.
static bool is_in_string(const Document* d, size_t at) {
  bool inside = false;
  for (; at > 0 && d->text[at - 1] != '\n'; at--)
    inside ^= d->text[at - 1] == '"';
  return inside;
}

/// Behind what is only text of a string: its end, or a brace that begins an expression.
static size_t skip_string(const Document* d, size_t at) {
  at += strcspn(d->text + at, "\"{\n");
  return at + (at < d->length);
}

bool document_next_word(const Document* d, size_t* at, Place* out) {
  while (*at < d->length) {
    char c = d->text[*at];
    bool string = c == '"' || (c == '}' && is_in_string(d, *at));
    size_t behind = string ? skip_string(d, *at + 1) : document_skip_silent(d, *at);
    if (behind > *at) {
      *at = behind;
    } else if (quoted_name(d, *at, out)) {
      *at = out->end + 1;
      return true;
    } else if (is_letter(d, *at)) {
      out->begin = *at;
      while (is_letter(d, *at))
        ++*at;
      out->end = *at;
      return true;
    } else {
      ++*at;
    }
  }
  return false;
}

bool document_word_at(const Document* d, size_t byte, Place* out) {
  if (byte > d->length) byte = d->length;
  size_t at = byte;
  while (at > 0 && d->text[at - 1] != '\n')
    at--;
  while (at <= byte && document_next_word(d, &at, out)) {
    bool quoted = out->begin > 0 && d->text[out->begin - 1] == '`';
    if (out->begin - quoted <= byte && byte <= out->end) return true;
  }
  return false;
}

bool document_is_word(const Document* d, Place place, const char* word) {
  size_t length = strlen(word);
  return place.end - place.begin == length && memcmp(d->text + place.begin, word, length) == 0;
}
