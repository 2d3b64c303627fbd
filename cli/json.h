// SPDX-License-Identifier: MIT
//
// A reader of JSON (RFC 8259), for what editors send.
#ifndef SALTUS_CLI_JSON_H
#define SALTUS_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum JsonKind {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT
} JsonKind;

/// A value. Members of an array or object follow each other by `next`; 0 is the end.
typedef struct JsonNode {
  JsonKind kind;
  uint32_t child, next;
  const char* key;   // of a member of an object, NUL-terminated; NULL elsewhere
  const char* text;  // of a string, decoded and NUL-terminated; of a number as written
  size_t length;     // of `text`
  double number;
} JsonNode;

/// A document; nodes[0] is its value. Texts live in the buffer it was read from.
typedef struct Json {
  JsonNode* nodes;
  uint32_t count, capacity;
} Json;

/// Read `length` bytes followed by a NUL; strings are decoded in place. False when the text is no
/// JSON, nests deeper than 200, or memory is exhausted. json_clear() in any case.
bool json_read(char* text, size_t length, Json* out);
void json_clear(Json* json);

/// Member of an object by key, or NULL; `node` may be NULL.
const JsonNode* json_member(const Json* json, const JsonNode* node, const char* key);
/// A number among the members of an object, `otherwise` where there is none.
double json_number(const Json* json, const JsonNode* node, const char* key, double otherwise);
/// First member of an array or object, and the one after a member; NULL at the end.
const JsonNode* json_first(const Json* json, const JsonNode* node);
const JsonNode* json_next(const Json* json, const JsonNode* node);
/// Text of a string, NULL for anything else.
const char* json_text(const JsonNode* node);
/// A whole number from 0 to `most`, clamped; 0 for anything else.
uint32_t json_count(const JsonNode* node, uint32_t most);

/// Value of a hexadecimal digit; 16 for anything else.
uint32_t json_hex(char c);

#endif
