// SPDX-License-Identifier: MIT
//
// Files that a model includes, as documents beside it. They are read while the model is compiled;
// of one that is open in the editor it is the text there that counts.
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "lsp.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_encoded(Text* out, const char* path) {
  for (const char* c = path; *c; c++) {
    bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (plain || strchr("/-._~", *c)) {
      text_put(out, c, 1);
    } else {
      text_put_format(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
  }
}

/// The URI of a file that a model includes: in the model's folder, or among the parts that came
/// with the program, where nothing is to be changed.
static char* included_uri(const Document* d, const char* name, bool* fixed) {
  Text uri = {0};
  char root[PATH_MAX];
  Text path = {0};
  const char* base = strrchr(d->path, '/');
  text_put(&path, d->path, base ? (size_t)(base - d->path) + 1 : 0);
  text_put(&path, name, strlen(name) + 1);
  bool file = strncmp(d->uri, "file:", strlen("file:")) == 0;
  bool beside = !file || (path.data && access(path.data, R_OK) == 0);
  free(path.data);
  *fixed = !beside;
  if (beside) {
    const char* end = strrchr(d->uri, '/');
    text_put(&uri, d->uri, end ? (size_t)(end - d->uri) + 1 : 0);
    put_encoded(&uri, name);
  } else if (shelf_data_root(root)) {
    text_put_format(&uri, "file://");
    put_encoded(&uri, root);
    text_put_format(&uri, "/models/");
    put_encoded(&uri, name);
  }
  text_put(&uri, "", 1);
  if (uri.failed) free(uri.data);
  return uri.failed ? NULL : uri.data;
}

/// The document of this URI that is open in the editor; NULL for none.
static const Document* find_open(const Document* d, const char* uri) {
  Document* probe = document_open(uri, "", 0, d->wide);
  const Document* found = NULL;
  for (size_t i = 0; probe && d->server && i < d->server->document_count; i++) {
    const Document* other = d->server->documents[i];
    if (strcmp(other->path, probe->path) == 0 && strcmp(other->path, d->path) != 0) found = other;
  }
  document_free(probe);
  return found;
}

static void keep_included(Document* d, const char* uri, const char* text, size_t length,
                          bool fixed) {
  Document** grown = realloc((void*)d->included, (d->included_count + 1) * sizeof *grown);
  if (!grown) return;
  d->included = grown;
  Document* file = document_open(uri, text, length, d->wide);
  if (!file) return;
  file->root = d;
  file->fixed = fixed;
  slt_outline(file->text, file->length, document_keep_symbol, file);
  lsp_index_symbols(file);
  d->included[d->included_count++] = file;
}

SltStatus lsp_load(void* user, const char* name, const SltAllocator* allocator, char** content,
                   size_t* length) {
  Document* d = user;
  bool fixed = false;
  char* uri = path_ends_with(name, ".lisma") ? included_uri(d, name, &fixed) : NULL;
  const Document* open = uri ? find_open(d, uri) : NULL;
  SltStatus status = SLT_OK;
  if (open) {
    *length = open->length;
    *content = allocator->realloc_fn(allocator->user, NULL, 0, open->length ? open->length : 1);
    if (!*content) status = SLT_ERR_NOMEM;
    if (status >= 0) memcpy(*content, open->text, open->length);
  } else {
    ModelSource source = {.path = d->path, .name = d->path, .beside = true};
    SltLoadFn* load = d->files.load ? d->files.load : source_load;
    status = load(d->files.load ? d->files.user : &source, name, allocator, content, length);
  }
  if (status >= 0 && uri) keep_included(d, open ? open->uri : uri, *content, *length, fixed);
  free(uri);
  return status;
}

const Document* document_family(const Document* d, size_t index) {
  const Document* root = d->root ? d->root : d;
  if (index == 0) return root;
  return index <= root->included_count ? root->included[index - 1] : NULL;
}

const Document* document_as_included(const LspServer* server, const Document* d) {
  for (size_t i = 0; i < server->document_count; i++) {
    const Document* other = server->documents[i];
    for (size_t k = 0; k < other->included_count; k++) {
      const Document* file = other->included[k];
      bool same = strcmp(file->path, d->path) == 0 && file->length == d->length;
      if (same && memcmp(file->text, d->text, d->length) == 0) return file;
    }
  }
  return d;
}
