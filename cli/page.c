// SPDX-License-Identifier: MIT
#include "page.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---- answers ------------------------------------------------------------------------------------

void page_refuse(PageReply* reply, const char* format, ...) {
  char message[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  Text clean = {0};
  slt_write_clean((SltWriter){text_keep, &clean}, message, strlen(message));
  reply->json.length = 0;
  reply->number_count = 0;
  text_put_format(&reply->json, "{\"error\":");
  text_put_json(&reply->json, clean.data, clean.length);
  text_put_format(&reply->json, "}");
  free(clean.data);
}

void page_separate(Text* out, bool* any) {
  if (*any) text_put(out, ",", 1);
  *any = true;
}

void page_put_number(Text* out, double value) {
  if (isfinite(value)) {
    text_put_format(out, "%.17g", value);
  } else {
    text_put_format(out, "null");
  }
}

void page_reply_clear(PageReply* reply) {
  free(reply->json.data);
  free(reply->numbers);
  *reply = (PageReply){0};
}

char* page_reply_bytes(const PageReply* reply, size_t* size) {
  static const char exhausted[] = "{\"error\":\"out of memory\"}";
  bool whole = !reply->failed && !reply->json.failed;
  const char* json = whole && reply->json.data ? reply->json.data : exhausted;
  size_t length = whole && reply->json.data ? reply->json.length : sizeof exhausted - 1;
  size_t numbers = whole ? reply->number_count * sizeof(double) : 0;
  size_t begin = (4 + length + 7) / 8 * 8;
  char* bytes = malloc(begin + numbers);
  if (!bytes) return NULL;
  for (int i = 0; i < 4; i++)
    bytes[i] = (char)(length >> (8 * i) & 0xff);
  memcpy(bytes + 4, json, length);
  memset(bytes + 4 + length, ' ', begin - 4 - length);
  if (numbers) memcpy(bytes + begin, reply->numbers, numbers);
  *size = begin + numbers;
  return bytes;
}

// ---- the language server ------------------------------------------------------------------------

/// Messages of the language server are the members of an array.
static bool keep_message(void* user, const Text* body) {
  Page* page = user;
  Text* out = &page->reply->json;
  if (out->length > 1) text_put(out, ",", 1);
  text_put(out, body->data, body->length);
  return true;
}

static void take_editor_message(Page* page, const Json* json) {
  const JsonNode* params = json_member(json, &json->nodes[0], "params");
  const char* uri = json_text(json_member(json, json_member(json, params, "textDocument"), "uri"));
  char* path = uri ? lsp_path_of(uri) : NULL;
  if (path) page_set_base(page, path[0] == '/' ? path + 1 : path);
  free(path);
  text_put_format(&page->reply->json, "[");
  lsp_take_json(&page->lsp, json);
  text_put_format(&page->reply->json, "]");
}

// ---- requests -----------------------------------------------------------------------------------

static void take_structure(Page* page, const Json* json, const JsonNode* request) {
  (void)json;
  (void)request;
  page_structure(page);
}

static void take_graph(Page* page, const Json* json, const JsonNode* request) {
  (void)json;
  (void)request;
  page_graph(page);
}

static void take_file(Page* page, const Json* json, const JsonNode* request) {
  const char* path = json_text(json_member(json, request, "path"));
  if (path && page_put_file(page, path, json_member(json, request, "text"))) {
    text_put_format(&page->reply->json, "{}");
  } else {
    page_refuse(page->reply, "the file cannot be kept");
  }
}

typedef struct PageOp {
  const char* name;
  void (*take)(Page* page, const Json* json, const JsonNode* request);
} PageOp;

static const PageOp ops[] = {
    {"compile", page_compile}, {"run", page_start},           {"more", page_more},
    {"change", page_change},   {"back", page_back},           {"rows", page_rows},
    {"sweep", page_sweep},     {"sens", page_sens},           {"fit", page_fit},
    {"rules", page_rules},     {"structure", take_structure}, {"graph", take_graph},
    {"put", take_file},        {"export", page_export},
};

static void take_request(Page* page, const Json* json) {
  const JsonNode* request = &json->nodes[0];
  const char* op = json_text(json_member(json, request, "op"));
  for (size_t i = 0; op && i < sizeof ops / sizeof *ops; i++) {
    if (strcmp(op, ops[i].name) != 0) continue;
    ops[i].take(page, json, request);
    return;
  }
  if (op) {
    page_refuse(page->reply, "there is no op '%.40s'", op);
  } else {
    page_refuse(page->reply, "the request names no op");
  }
}

void page_take(Page* page, char* text, size_t length, PageReply* reply) {
  *reply = (PageReply){0};
  page->reply = reply;
  Json json;
  if (!json_read(text, length, &json) || json.nodes[0].kind != JSON_OBJECT) {
    page_refuse(reply, "this is no JSON");
  } else if (json_member(&json, &json.nodes[0], "jsonrpc")) {
    take_editor_message(page, &json);
  } else {
    take_request(page, &json);
  }
  json_clear(&json);
  page->reply = NULL;
}

// ---- life ---------------------------------------------------------------------------------------

Page* page_open(const char* folder) {
  Page* page = calloc(1, sizeof *page);
  if (!page) return NULL;
  page->folder = folder;
  page->lsp.send = keep_message;
  page->lsp.user = page;
  page->lsp.files = (LspFiles){page_load, page};
  return page;
}

void page_close(Page* page) {
  if (!page) return;
  page_run_clear(&page->run);
  slt_model_free(page->model);
  lsp_clear(&page->lsp);
  for (size_t i = 0; i < page->file_count; i++) {
    free(page->files[i].path);
    free(page->files[i].text);
  }
  free(page->files);
  free(page->base);
  free(page);
}
