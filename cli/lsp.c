// SPDX-License-Identifier: MIT
//
// Messages of an editor and what is answered. Documents come whole with every change; a model of
// usual size compiles in a few milliseconds, so every change is answered with its messages at once.
#include "lsp.h"

#include <stdlib.h>
#include <string.h>

// numbers of the protocol
enum {
  ERROR_PARSE = -32700,
  ERROR_METHOD = -32601,
  ERROR_PARAMS = -32602,
  ERROR_NOT_READY = -32002
};

// ---- messages -----------------------------------------------------------------------------------

static void send_message(LspServer* server, Text* body) {
  if (body->failed || !server->send(server->user, body)) server->broken = true;
  free(body->data);
  *body = (Text){0};
}

/// {"jsonrpc":"2.0","id":...
static void begin_answer(const JsonNode* id, Text* out) {
  text_put_format(out, "{\"jsonrpc\":\"2.0\",\"id\":");
  if (id && id->kind == JSON_NUMBER) {
    text_put(out, id->text, id->length);
  } else if (id && id->kind == JSON_STRING) {
    text_put_json(out, id->text, id->length);
  } else {
    text_put_format(out, "null");
  }
}

static void send_error(LspServer* server, const JsonNode* id, int code, const char* message) {
  Text out = {0};
  begin_answer(id, &out);
  text_put_format(&out, ",\"error\":{\"code\":%d,\"message\":", code);
  text_put_json(&out, message, strlen(message));
  text_put_format(&out, "}}");
  send_message(server, &out);
}

// ---- documents ----------------------------------------------------------------------------------

static Document** find_document(LspServer* server, const char* uri) {
  for (size_t i = 0; uri && i < server->document_count; i++) {
    if (strcmp(server->documents[i]->uri, uri) == 0) return &server->documents[i];
  }
  return NULL;
}

static void publish(LspServer* server, Document* document) {
  Text out = {0};
  text_put_format(
      &out, "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/publishDiagnostics\",\"params\":");
  answer_diagnostics(document, &out);
  text_put_format(&out, "}");
  send_message(server, &out);
}

static void put_text(LspServer* server, const char* uri, const char* text, size_t length) {
  Document* fresh = document_open(uri, text, length, server->wide);
  Document** place = find_document(server, uri);
  if (fresh && !place) {
    size_t size = (server->document_count + 1) * sizeof(Document*);
    Document** grown = realloc((void*)server->documents, size);
    if (grown) {
      server->documents = grown;
      place = &grown[server->document_count++];
      *place = NULL;
    }
  }
  if (!fresh || !place) {
    document_free(fresh);
    server->broken = true;
    return;
  }
  fresh->files = server->files;
  fresh->server = server;
  document_free(*place);
  *place = fresh;
  publish(server, fresh);
}

static bool includes(const Document* d, const char* path) {
  for (size_t i = 0; i < d->included_count; i++) {
    if (strcmp(d->included[i]->path, path) == 0) return true;
  }
  return false;
}

/// A text was opened or has changed: it is compiled anew, and so is every open one that includes
/// it.
static void put_document(LspServer* server, const char* uri, const JsonNode* text) {
  if (!uri || !json_text(text)) return;
  put_text(server, uri, text->text, text->length);
  Document** changed = find_document(server, uri);
  for (size_t i = 0; changed && i < server->document_count && !server->broken; i++) {
    Document* other = server->documents[i];
    if (other == *changed || !includes(other, (*changed)->path)) continue;
    Text again = {0};
    Text name = {0};
    text_put(&again, other->text, other->length);
    text_put(&name, other->uri, strlen(other->uri) + 1);
    if (!name.failed && !again.failed) {
      put_text(server, name.data, again.data ? again.data : "", again.length);
    }
    free(again.data);
    free(name.data);
  }
}

static void close_document(LspServer* server, const char* uri) {
  Document** place = find_document(server, uri);
  if (!place) return;
  // its messages go with it
  Text out = {0};
  text_put_format(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/publishDiagnostics\","
                        "\"params\":{\"uri\":");
  text_put_json(&out, uri, strlen(uri));
  text_put_format(&out, ",\"diagnostics\":[]}}");
  send_message(server, &out);
  document_free(*place);
  *place = server->documents[--server->document_count];
}

// ---- requests -----------------------------------------------------------------------------------

static void initialize(LspServer* server, const Json* json, const JsonNode* params, Text* out) {
  const JsonNode* general = json_member(json, json_member(json, params, "capabilities"), "general");
  const JsonNode* encodings = json_member(json, general, "positionEncodings");
  for (const JsonNode* e = json_first(json, encodings); e; e = json_next(json, e)) {
    if (json_text(e) && strcmp(json_text(e), "utf-8") == 0) server->wide = true;
  }
  server->ready = true;
  text_put_format(
      out,
      "{\"capabilities\":{\"positionEncoding\":\"%s\",\"textDocumentSync\":1,"
      "\"documentSymbolProvider\":true,\"hoverProvider\":true,\"definitionProvider\":true,"
      "\"referencesProvider\":true,\"documentHighlightProvider\":true,"
      "\"completionProvider\":{\"triggerCharacters\":[\".\"]},"
      "\"documentFormattingProvider\":true,\"codeActionProvider\":true,"
      "\"renameProvider\":{\"prepareProvider\":true},\"foldingRangeProvider\":true,"
      "\"signatureHelpProvider\":{\"triggerCharacters\":[\"(\",\",\"]},"
      "\"semanticTokensProvider\":{\"legend\":{\"tokenTypes\":%s,\"tokenModifiers\":[]},"
      "\"full\":true}},"
      "\"serverInfo\":{\"name\":\"saltus\",\"version\":\"%s\"}}",
      server->wide ? "utf-8" : "utf-16", lsp_token_legend, slt_version());
}

/// A question about a document; false when there is no such question.
static bool answer_about(const Document* d, const char* method, const Json* json,
                         const JsonNode* params, Text* out) {
  const char* question = method + strlen("textDocument/");
  size_t byte = document_byte(d, json, json_member(json, params, "position"));
  const JsonNode* range = json_member(json, params, "range");
  if (strcmp(question, "documentSymbol") == 0) {
    answer_symbols(d, out);
  } else if (strcmp(question, "hover") == 0) {
    answer_hover(d, byte, out);
  } else if (strcmp(question, "definition") == 0) {
    answer_definition(d, byte, out);
  } else if (strcmp(question, "references") == 0) {
    answer_references(d, byte, true, out);
  } else if (strcmp(question, "documentHighlight") == 0) {
    answer_references(d, byte, false, out);
  } else if (strcmp(question, "completion") == 0) {
    answer_completion(d, byte, out);
  } else if (strcmp(question, "signatureHelp") == 0) {
    answer_signature(d, byte, out);
  } else if (strcmp(question, "foldingRange") == 0) {
    answer_folding(d, out);
  } else if (strcmp(question, "semanticTokens/full") == 0) {
    answer_tokens(d, out);
  } else if (strcmp(question, "prepareRename") == 0) {
    answer_prepare_rename(d, byte, out);
  } else if (strcmp(question, "formatting") == 0) {
    answer_formatting(d, out);
  } else if (strcmp(question, "codeAction") == 0) {
    Place asked = {document_byte(d, json, json_member(json, range, "start")),
                   document_byte(d, json, json_member(json, range, "end"))};
    answer_actions(d, asked, out);
  } else {
    return false;
  }
  return true;
}

static const char* uri_of(const Json* json, const JsonNode* params) {
  return json_text(json_member(json, json_member(json, params, "textDocument"), "uri"));
}

static void answer_request(LspServer* server, const Json* json, const char* method,
                           const JsonNode* id, const JsonNode* params) {
  Text out = {0};
  begin_answer(id, &out);
  text_put_format(&out, ",\"result\":");
  bool about_text = strncmp(method, "textDocument/", strlen("textDocument/")) == 0;
  bool known = true;
  if (strcmp(method, "initialize") == 0) {
    initialize(server, json, params, &out);
  } else if (strcmp(method, "shutdown") == 0) {
    server->stopping = true;
    text_put_format(&out, "null");
  } else if (about_text) {
    Document** document = find_document(server, uri_of(json, params));
    if (!document) {
      free(out.data);
      send_error(server, id, ERROR_PARAMS, "this document is not open");
      return;
    }
    if (strcmp(method, "textDocument/rename") == 0) {
      const Document* file = document_as_included(server, *document);
      size_t byte = document_byte(file, json, json_member(json, params, "position"));
      const char* name = json_text(json_member(json, params, "newName"));
      Text why = {0};
      bool done = answer_rename(file, byte, name ? name : "", &out, &why);
      text_put(&why, "", 1);
      if (!done) {
        free(out.data);
        send_error(server, id, ERROR_PARAMS, why.data ? why.data : "out of memory");
      }
      free(why.data);
      if (!done) return;
    } else {
      bool wide = strcmp(method, "textDocument/references") == 0 ||
                  strcmp(method, "textDocument/definition") == 0;
      const Document* file = wide ? document_as_included(server, *document) : *document;
      known = answer_about(file, method, json, params, &out);
    }
  } else {
    known = false;
  }
  if (!known) {
    free(out.data);
    send_error(server, id, ERROR_METHOD, "saltus does not know this method");
    return;
  }
  text_put_format(&out, "}");
  send_message(server, &out);
}

static void take_notification(LspServer* server, const Json* json, const char* method,
                              const JsonNode* params) {
  const JsonNode* document = json_member(json, params, "textDocument");
  const char* uri = uri_of(json, params);
  if (strcmp(method, "exit") == 0) {
    server->exit = true;
  } else if (strcmp(method, "textDocument/didOpen") == 0) {
    put_document(server, uri, json_member(json, document, "text"));
  } else if (strcmp(method, "textDocument/didChange") == 0) {
    const JsonNode* last = NULL;
    const JsonNode* changes = json_member(json, params, "contentChanges");
    for (const JsonNode* c = json_first(json, changes); c; c = json_next(json, c))
      last = c;
    put_document(server, uri, json_member(json, last, "text"));
  } else if (strcmp(method, "textDocument/didClose") == 0) {
    close_document(server, uri);
  }
}

void lsp_take_json(LspServer* server, const Json* json) {
  const JsonNode* root = &json->nodes[0];
  const JsonNode* id = json_member(json, root, "id");
  const char* method = json_text(json_member(json, root, "method"));
  const JsonNode* params = json_member(json, root, "params");
  if (method && id && !server->ready && strcmp(method, "initialize") != 0) {
    send_error(server, id, ERROR_NOT_READY, "initialize comes first");
  } else if (method && id) {
    answer_request(server, json, method, id, params);
  } else if (method) {
    take_notification(server, json, method, params);
  }  // else an answer, and we asked nothing
}

void lsp_take(LspServer* server, char* text, size_t length) {
  Json json;
  if (json_read(text, length, &json)) {
    lsp_take_json(server, &json);
  } else {
    send_error(server, NULL, ERROR_PARSE, "this is no JSON");
  }
  json_clear(&json);
}

void lsp_clear(LspServer* server) {
  while (server->document_count > 0)
    document_free(server->documents[--server->document_count]);
  free((void*)server->documents);
  server->documents = NULL;
}
