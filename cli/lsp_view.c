// SPDX-License-Identifier: MIT
//
// What an editor shows beside the text: colours of names, blocks to fold, the form of the call
// around the cursor.
#include "lsp.h"

#include <stdlib.h>
#include <string.h>

const char lsp_token_legend[] = "[\"keyword\",\"function\",\"parameter\",\"variable\",\"class\","
                                "\"enumMember\",\"property\",\"interface\"]";
enum { TOKEN_KEYWORD, TOKEN_FUNCTION, TOKEN_NONE = -1 };

// ---- colours ------------------------------------------------------------------------------------

/// A place in the text as the editor counts it.
typedef struct Cursor {
  size_t byte;
  uint32_t line, character;
} Cursor;

static void move_to(const Document* d, Cursor* c, size_t byte) {
  while (c->byte < byte) {
    uint32_t characters = 0;
    bool end = d->text[c->byte] == '\n';
    c->byte += document_letter(d, c->byte, &characters);
    c->line += end;
    c->character = end ? 0 : c->character + characters;
  }
}

static int token_of(const Document* d, Place word) {
  const Symbol* s = lsp_symbol_at(d, word);
  if (s) return lsp_kind(s->kind)->token;
  const LspWord* known = lsp_word_find(d, word);
  if (!known) return TOKEN_NONE;
  return lsp_word_is_function(known) ? TOKEN_FUNCTION : TOKEN_KEYWORD;
}

void answer_tokens(const Document* d, Text* out) {
  Cursor cursor = {0};
  uint32_t line = 0;
  uint32_t character = 0;
  bool any = false;
  Place word;
  text_put_format(out, "{\"data\":[");
  for (size_t at = 0; d->lisma && document_next_word(d, &at, &word);) {
    int token = token_of(d, word);
    if (token == TOKEN_NONE) continue;
    move_to(d, &cursor, word.begin);
    Cursor end = cursor;
    move_to(d, &end, word.end);
    // each is given by its distance from the one before
    uint32_t lines = cursor.line - line;
    text_put_format(out, "%s%u,%u,%u,%d,0", any ? "," : "", lines,
                    lines ? cursor.character : cursor.character - character,
                    end.character - cursor.character, token);
    line = cursor.line;
    character = cursor.character;
    any = true;
  }
  text_put_format(out, "]}");
}

// ---- blocks -------------------------------------------------------------------------------------

#define FOLD_DEPTH 200

static void put_fold(uint32_t from, uint32_t to, bool comment, bool* any, Text* out) {
  if (to <= from) return;
  text_put_format(out, "%s{\"startLine\":%u,\"endLine\":%u%s}", *any ? "," : "", from, to,
                  comment ? ",\"kind\":\"comment\"" : "");
  *any = true;
}

static uint32_t lines_in(const Document* d, size_t from, size_t to) {
  uint32_t lines = 0;
  for (size_t i = from; i < to; i++)
    lines += d->text[i] == '\n';
  return lines;
}

void answer_folding(const Document* d, Text* out) {
  uint32_t open[FOLD_DEPTH];
  uint32_t depth = 0;
  uint32_t line = 0;
  bool any = false;
  text_put_format(out, "[");
  for (size_t at = 0; d->lisma && at < d->length;) {
    size_t behind = document_skip_silent(d, at);
    if (behind > at) {
      uint32_t lines = lines_in(d, at, behind);
      if (d->text[at] == '/') put_fold(line, line + lines, true, &any, out);
      line += lines;
      at = behind;
      continue;
    }
    char c = d->text[at++];
    line += c == '\n';
    if (c == '{') {
      if (depth < FOLD_DEPTH) open[depth] = line;
      depth++;
    }
    // the line with the closing brace stays
    if (c == '}' && depth > 0 && --depth < FOLD_DEPTH && line > open[depth]) {
      put_fold(open[depth], line - 1, false, &any, out);
    }
  }
  text_put_format(out, "]");
}

// ---- calls --------------------------------------------------------------------------------------

/// The parenthesis of the call around a byte and how many commas stand before it; false for none.
static bool find_call(const Document* d, size_t byte, size_t* open, uint32_t* commas) {
  size_t stack[FOLD_DEPTH];
  uint32_t counts[FOLD_DEPTH];
  uint32_t depth = 0;
  for (size_t at = 0; at < byte && at < d->length;) {
    size_t behind = document_skip_silent(d, at);
    if (behind > at) {
      at = behind;
      continue;
    }
    char c = d->text[at];
    if ((c == '(' || c == '[') && depth < FOLD_DEPTH) {
      stack[depth] = at;
      counts[depth++] = 0;
    }
    if ((c == ')' || c == ']') && depth > 0) depth--;
    if (c == ',' && depth > 0) counts[depth - 1]++;
    if (c == ';' || c == '{' || c == '}') depth = 0;
    at++;
  }
  if (depth == 0 || d->text[stack[depth - 1]] != '(') return false;
  *open = stack[depth - 1];
  *commas = counts[depth - 1];
  return true;
}

/// Put the form of a call with its arguments, which stand between its parentheses.
static void put_signature(const char* form, size_t length, const char* text, uint32_t active,
                          Text* out) {
  const char* begin = memchr(form, '(', length);
  const char* end = begin ? memchr(begin, ')', length - (size_t)(begin - form)) : NULL;
  text_put_format(out, "{\"signatures\":[{\"label\":");
  text_put_json(out, form, length);
  text_put_format(out, ",\"documentation\":");
  text_put_json(out, text, strlen(text));
  text_put_format(out, ",\"parameters\":[");
  bool any = false;
  for (const char* at = begin ? begin + 1 : NULL; at && end && at < end;) {
    const char* comma = memchr(at, ',', (size_t)(end - at));
    const char* stop = comma ? comma : end;
    while (at < stop && *at == ' ')
      at++;
    text_put_format(out, "%s{\"label\":", any ? "," : "");
    text_put_json(out, at, (size_t)(stop - at));
    text_put_format(out, "}");
    any = true;
    at = comma ? comma + 1 : NULL;
  }
  text_put_format(out, "]}],\"activeSignature\":0,\"activeParameter\":%u}", active);
}

/// Where the head of a declaration ends: behind its parentheses.
static size_t head_length(const Symbol* s) {
  const Document* d = s->document;
  size_t at = s->whole.begin;
  while (at < s->whole.end && d->text[at] != ')' && d->text[at] != '{')
    at++;
  return at - s->whole.begin + (at < s->whole.end && d->text[at] == ')');
}

void answer_signature(const Document* d, size_t byte, Text* out) {
  size_t open = 0;
  uint32_t commas = 0;
  Place word;
  bool call = d->lisma && find_call(d, byte, &open, &commas) && lsp_word_before(d, open, &word);
  const Symbol* s = call ? lsp_symbol_at(d, word) : NULL;
  // the arguments of an instance are the parameters of its part
  if (s && s->kind == SLT_SYMBOL_INSTANCE) s = lsp_part_named(d, s->type);
  bool own = s && (s->kind == SLT_SYMBOL_FUNCTION || s->kind == SLT_SYMBOL_PART);
  const LspWord* known = call && !s ? lsp_word_find(d, word) : NULL;
  if (own) {
    put_signature(s->document->text + s->whole.begin, head_length(s), "", commas, out);
  } else if (known && lsp_word_is_function(known)) {
    put_signature(known->form, strlen(known->form), known->text, commas, out);
  } else {
    text_put_format(out, "null");
  }
}
