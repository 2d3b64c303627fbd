// SPDX-License-Identifier: MIT
#include "json.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 200

typedef struct Reader {
  char* at;
  char* end;  // a NUL stands there
  Json* json;
} Reader;

static bool read_value(Reader* r, uint32_t depth, uint32_t* out);

/// Whether the next character is one of these.
static bool at_one_of(const Reader* r, const char* set) {
  return r->at < r->end && *r->at && strchr(set, *r->at);
}

static void skip_space(Reader* r) {
  while (at_one_of(r, " \t\r\n"))
    r->at++;
}

static bool accept(Reader* r, char c) {
  skip_space(r);
  if (*r->at != c || r->at == r->end) return false;
  r->at++;
  return true;
}

static bool add_node(Reader* r, JsonKind kind, uint32_t* out) {
  Json* json = r->json;
  if (json->count == json->capacity) {
    uint32_t capacity = json->capacity ? 2 * json->capacity : 64;
    JsonNode* nodes = realloc(json->nodes, capacity * sizeof *nodes);
    if (!nodes) return false;
    json->nodes = nodes;
    json->capacity = capacity;
  }
  *out = json->count++;
  json->nodes[*out] = (JsonNode){.kind = kind};
  return true;
}

// ---- strings ------------------------------------------------------------------------------------

uint32_t json_hex(char c) {
  if (c >= '0' && c <= '9') return (uint32_t)(c - '0');
  if (c >= 'a' && c <= 'f') return (uint32_t)(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return (uint32_t)(c - 'A') + 10;
  return 16;
}

static bool read_hex(Reader* r, uint32_t* out) {
  *out = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    uint32_t digit = json_hex(*r->at);
    if (digit == 16 || r->at >= r->end) return false;
    *out = *out * 16 + digit;
  }
  return true;
}

static char* put_utf8(char* to, uint32_t c) {
  if (c < 0x80) {
    *to++ = (char)c;
  } else if (c < 0x800) {
    *to++ = (char)(0xc0 | c >> 6);
    *to++ = (char)(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *to++ = (char)(0xe0 | c >> 12);
    *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    *to++ = (char)(0x80 | (c & 0x3f));
  } else {
    *to++ = (char)(0xf0 | c >> 18);
    *to++ = (char)(0x80 | (c >> 12 & 0x3f));
    *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    *to++ = (char)(0x80 | (c & 0x3f));
  }
  return to;
}

/// Behind "\u": a character, by two escapes if it is beyond the first plane. A half of a pair alone
/// becomes the replacement character.
static bool read_escape_u(Reader* r, char** to) {
  uint32_t c = 0;
  if (!read_hex(r, &c)) return false;
  if (c >= 0xd800 && c < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u') {
    char* back = r->at;
    uint32_t low = 0;
    r->at += 2;
    if (!read_hex(r, &low)) return false;
    if (low >= 0xdc00 && low < 0xe000) {
      *to = put_utf8(*to, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
      return true;
    }
    r->at = back;
  }
  *to = put_utf8(*to, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
  return true;
}

static bool read_escape(Reader* r, char** to) {
  static const char letters[] = "\"\\/bfnrt";
  static const char values[] = "\"\\/\b\f\n\r\t";
  char c = *r->at++;
  if (c == 'u') return read_escape_u(r, to);
  const char* found = c ? strchr(letters, c) : NULL;
  if (!found) return false;
  *(*to)++ = values[found - letters];
  return true;
}

/// Behind the opening quote. What is decoded is never longer than what was written.
static bool read_string(Reader* r, const char** text, size_t* length) {
  char* to = r->at;
  *text = to;
  while (r->at < r->end && *r->at != '"') {
    if ((unsigned char)*r->at < 0x20) return false;
    if (*r->at == '\\') {
      r->at++;
      if (!read_escape(r, &to)) return false;
    } else {
      *to++ = *r->at++;
    }
  }
  if (r->at >= r->end) return false;
  r->at++;
  *length = (size_t)(to - *text);
  *to = '\0';
  return true;
}

// ---- values -------------------------------------------------------------------------------------

static bool read_number(Reader* r, uint32_t node) {
  char room[64];
  char* begin = r->at;
  while (at_one_of(r, "+-.0123456789eE"))
    r->at++;
  size_t length = (size_t)(r->at - begin);
  if (length == 0 || length >= sizeof room) return false;
  memcpy(room, begin, length);
  room[length] = '\0';
  JsonNode* n = &r->json->nodes[node];
  n->text = begin;
  n->length = length;
  return cli_read_number(room, &n->number);
}

static bool read_word(Reader* r, const char* word, JsonKind kind, uint32_t* out) {
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
  r->at += length;
  return add_node(r, kind, out);
}

/// Behind the opening bracket of an array or object.
static bool read_members(Reader* r, JsonKind kind, uint32_t depth, uint32_t node) {
  char close = kind == JSON_ARRAY ? ']' : '}';
  if (accept(r, close)) return true;
  uint32_t before = 0;
  do {
    const char* key = NULL;
    size_t key_length = 0;
    if (kind == JSON_OBJECT &&
        (!accept(r, '"') || !read_string(r, &key, &key_length) || !accept(r, ':'))) {
      return false;
    }
    uint32_t member = 0;
    if (!read_value(r, depth + 1, &member)) return false;
    r->json->nodes[member].key = key;
    if (before) r->json->nodes[before].next = member;
    if (!before) r->json->nodes[node].child = member;
    before = member;
  } while (accept(r, ','));
  return accept(r, close);
}

static bool read_value(Reader* r, uint32_t depth, uint32_t* out) {
  if (depth > DEPTH_MAX) return false;
  if (accept(r, '{'))
    return add_node(r, JSON_OBJECT, out) && read_members(r, JSON_OBJECT, depth, *out);
  if (accept(r, '['))
    return add_node(r, JSON_ARRAY, out) && read_members(r, JSON_ARRAY, depth, *out);
  if (accept(r, '"')) {
    const char* text = NULL;
    size_t length = 0;
    if (!add_node(r, JSON_STRING, out) || !read_string(r, &text, &length)) return false;
    r->json->nodes[*out].text = text;
    r->json->nodes[*out].length = length;
    return true;
  }
  if (read_word(r, "null", JSON_NULL, out) || read_word(r, "true", JSON_TRUE, out) ||
      read_word(r, "false", JSON_FALSE, out)) {
    return true;
  }
  return add_node(r, JSON_NUMBER, out) && read_number(r, *out);
}

bool json_read(char* text, size_t length, Json* out) {
  *out = (Json){NULL, 0, 0};
  Reader r = {.at = text, .end = text + length, .json = out};
  uint32_t root = 0;
  if (!read_value(&r, 0, &root)) return false;
  skip_space(&r);
  return r.at == r.end;
}

void json_clear(Json* json) {
  free(json->nodes);
  *json = (Json){NULL, 0, 0};
}

// ---- asking -------------------------------------------------------------------------------------

const JsonNode* json_first(const Json* json, const JsonNode* node) {
  return node && node->child ? &json->nodes[node->child] : NULL;
}

const JsonNode* json_next(const Json* json, const JsonNode* node) {
  return node->next ? &json->nodes[node->next] : NULL;
}

const JsonNode* json_member(const Json* json, const JsonNode* node, const char* key) {
  if (!node || node->kind != JSON_OBJECT) return NULL;
  for (const JsonNode* m = json_first(json, node); m; m = json_next(json, m)) {
    if (strcmp(m->key, key) == 0) return m;
  }
  return NULL;
}

double json_number(const Json* json, const JsonNode* node, const char* key, double otherwise) {
  const JsonNode* member = json_member(json, node, key);
  return member && member->kind == JSON_NUMBER ? member->number : otherwise;
}

const char* json_text(const JsonNode* node) {
  return node && node->kind == JSON_STRING ? node->text : NULL;
}

uint32_t json_count(const JsonNode* node, uint32_t most) {
  if (!node || node->kind != JSON_NUMBER || !(node->number > 0.0)) return 0;
  return node->number < (double)most ? (uint32_t)node->number : most;
}
