// SPDX-License-Identifier: MIT
//
// Any bytes are a message of an editor, and any bytes are a text that is open in it: every question
// is asked at several of its places, the text is changed and closed. What is answered is JSON.
#include "../cli/lsp.h"

#include <stdlib.h>
#include <string.h>

#define PLACES     5u
#define TEXT_BYTES 20000u

// what the server takes from the rest of the program
bool cli_read_number(const char* text, double* out) {
  char* end = NULL;
  *out = strtod(text, &end);
  return end != text && *end == '\0';
}

bool path_ends_with(const char* path, const char* suffix) {
  size_t length = strlen(path);
  size_t tail = strlen(suffix);
  return length >= tail && strcmp(path + length - tail, suffix) == 0;
}

void inputs_clear(void) {
}

bool shelf_data_root(char* root) {
  (void)root;
  return false;
}

static SltStatus no_file(void* user, const char* name, const SltAllocator* allocator,
                         char** content, size_t* length) {
  (void)user;
  (void)name;
  (void)allocator;
  (void)content;
  (void)length;
  return SLT_ERR_NOT_FOUND;
}

SltStatus source_load(void* source, const char* name, const SltAllocator* allocator, char** content,
                      size_t* length) {
  return no_file(source, name, allocator, content, length);
}

static bool take_answer(void* user, const Text* body) {
  (void)user;
  char* copy = malloc(body->length + 1);
  if (!copy) return false;
  memcpy(copy, body->data, body->length);
  copy[body->length] = '\0';
  Json json;
  if (!json_read(copy, body->length, &json)) __builtin_trap();
  json_clear(&json);
  free(copy);
  return true;
}

static void send(LspServer* server, const Text* message) {
  char* copy = malloc(message->length + 1);
  if (copy) {
    memcpy(copy, message->data, message->length);
    copy[message->length] = '\0';
    lsp_take(server, copy, message->length);
  }
  free(copy);
}

static void put_text(LspServer* server, const char* method, const char* uri, const uint8_t* data,
                     size_t size) {
  Text out = {0};
  text_put_format(&out,
                  "{\"method\":\"textDocument/%s\",\"params\":{\"textDocument\":{\"uri\":\"%s\"",
                  method, uri);
  bool change = strcmp(method, "didChange") == 0;
  text_put_format(&out, change ? "},\"contentChanges\":[{\"text\":" : ",\"text\":");
  text_put_json(&out, (const char*)data, size);
  text_put_format(&out, change ? "}]}}" : "}}}");
  send(server, &out);
  free(out.data);
}

static void ask(LspServer* server, const char* method, const char* uri, size_t line,
                size_t column) {
  Text out = {0};
  text_put_format(&out,
                  "{\"id\":1,\"method\":\"textDocument/%s\",\"params\":{\"textDocument\":{\"uri\":"
                  "\"%s\"},\"newName\":\"fresh\",\"position\":{\"line\":%zu,\"character\":%zu},"
                  "\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":%zu,"
                  "\"character\":%zu}}}}",
                  method, uri, line, column, line, column);
  send(server, &out);
  free(out.data);
}

static void ask_all(LspServer* server, const char* uri, const uint8_t* data, size_t size) {
  static const char* const questions[] = {
      "documentSymbol",      "hover",      "definition",    "references",
      "documentHighlight",   "completion", "signatureHelp", "foldingRange",
      "prepareRename",       "rename",     "formatting",    "codeAction",
      "semanticTokens/full", "nothing"};
  for (size_t place = 0; place < PLACES; place++) {
    size_t line = 0;
    size_t column = 0;
    for (size_t i = 0; i < place * size / PLACES; i++) {
      column = data[i] == '\n' ? 0 : column + 1;
      line += data[i] == '\n';
    }
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
      ask(server, questions[i], uri, line, column);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > TEXT_BYTES) return 0;
  LspServer server = {.send = take_answer, .files = {.load = no_file}};
  Text hello = {0};
  text_put_format(&hello, "{\"id\":0,\"method\":\"initialize\",\"params\":{}}");
  send(&server, &hello);
  free(hello.data);
  Text raw = {0};
  text_put(&raw, (const char*)data, size);
  if (raw.data) send(&server, &raw);
  free(raw.data);
  static const char* const uris[] = {"file:///model.lisma", "file:///model.rules.md"};
  for (size_t i = 0; i < 2; i++) {
    put_text(&server, "didOpen", uris[i], data, size);
    ask_all(&server, uris[i], data, size);
    put_text(&server, "didChange", uris[i], data, size / 2);
    ask_all(&server, uris[i], data, size);
  }
  put_text(&server, "didClose", uris[0], data, 0);
  lsp_clear(&server);
  return 0;
}
