// SPDX-License-Identifier: MIT
//
// `saltus serve FOLDER --export OUT`: the page with the engine inside and the models of a folder in
// it, one file that can be handed to a class.
#define _GNU_SOURCE
#include "json.h"
#include "serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MODELS_MAX ((size_t)16 << 20)  // bytes of all models

/// {"a.lisma":"...", ...}; `left`: how many files and folders are not in it.
static bool gather(const char* folder, Text* out, uint32_t* left) {
  Text list = {0};
  *left = folder_list(folder, &list);
  text_put(&list, "", 1);
  Json json = {0};
  bool good = !list.failed && json_read(list.data, list.length - 1, &json);
  bool any = false;
  text_put_format(out, "{");
  const JsonNode* first = good ? json_first(&json, &json.nodes[0]) : NULL;
  for (const JsonNode* file = first; file; file = json_next(&json, file)) {
    const char* path = json_text(json_member(&json, file, "path"));
    char version[64];
    Text text = {0};
    bool read = path && folder_read(folder, path, &text, version) == FOLDER_OK;
    if (!read || out->length + text.length > MODELS_MAX) {
      (*left)++;
    } else {
      if (any) text_put(out, ",", 1);
      any = true;
      text_put_json(out, path, strlen(path));
      text_put(out, ":", 1);
      text_put_json(out, text.data ? text.data : "", text.length);
    }
    free(text.data);
  }
  text_put_format(out, "}");
  json_clear(&json);
  free(list.data);
  return good && !out->failed;
}

static void put_safely(Text* out, const Text* json) {
  for (size_t i = 0; i < json->length; i++) {
    if (json->data[i] == '<') {
      text_put_format(out, "\\u003c");
    } else {
      text_put(out, json->data + i, 1);
    }
  }
}

int serve_export(const char* folder, const char* to) {
  static const char mark[] = "<script id=\"own-models\" type=\"text/plain\">";
  const char* page = (const char*)serve_web;
  size_t size = (size_t)(serve_web_end - serve_web);
  const char* place = size ? memmem(page, size, mark, sizeof mark - 1) : NULL;
  if (!place) {
    cli_error("the page with the engine inside is not built into this program");
    cli_hint("`make web`, then `make workbench` in the sources build it in; they need emscripten, "
             "nodejs and npm");
    return CLI_USAGE;
  }
  if (mkdir(to, 0777) != 0 && errno != EEXIST) {
    cli_error("cannot make the folder %s: %s", to, strerror(errno));
    return CLI_RUN;
  }
  Text models = {0};
  Text out = {0};
  size_t before = (size_t)(place - page) + sizeof mark - 1;
  uint32_t left = 0;
  bool good = gather(folder, &models, &left);
  text_put(&out, page, before);
  put_safely(&out, &models);
  text_put(&out, page + before, size - before);
  Text path = {0};
  text_put_format(&path, "%s/workbench.html", to);
  text_put(&path, "", 1);
  int status = CLI_RUN;
  if (good && !out.failed && !path.failed) {
    status = output_replace(path.data, out.data, out.length);
    if (status == CLI_DONE) cli_print(stdout, "%s: the workbench in one file\n", path.data);
    if (status == CLI_DONE && left > 0) {
      cli_hint("%u files or folders of %s are not in it: too many, too large, or not readable",
               left, folder);
    }
  } else {
    cli_error("out of memory");
  }
  free(models.data);
  free(out.data);
  free(path.data);
  return status;
}
