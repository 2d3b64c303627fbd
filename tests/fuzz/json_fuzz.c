// SPDX-License-Identifier: MIT
//
// Any bytes are a message of an editor or none; what is read can be walked through.
#include "../cli/json.c"  // NOLINT(bugprone-suspicious-include): the command line is no library

bool cli_read_number(const char* text, double* out) {
  char* end = NULL;
  *out = strtod(text, &end);
  return end != text && *end == '\0';
}

static size_t walk(const Json* json, const JsonNode* node, unsigned depth) {
  size_t count = 1;
  if (depth > DEPTH_MAX + 1) __builtin_trap();
  json_text(node);
  json_count(node, 1000);
  json_member(json, node, "method");
  for (const JsonNode* child = json_first(json, node); child; child = json_next(json, child)) {
    count += walk(json, child, depth + 1);
  }
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char* text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  Json json;
  if (json_read(text, size, &json) && walk(&json, &json.nodes[0], 0) > json.count) {
    __builtin_trap();
  }
  json_clear(&json);
  free(text);
  return 0;
}
