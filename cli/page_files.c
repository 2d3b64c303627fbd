// SPDX-License-Identifier: MIT
//
// Files that models of the workbench read: those the page has handed over, then those of the folder
// it was opened with, and no others.
#define _XOPEN_SOURCE 700
#include "page.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

char* page_clean_path(const char* path) {
  size_t length = strlen(path);
  if (path[0] == '/' || strchr(path, '\\')) return NULL;
  char* clean = malloc(length + 1);
  if (!clean) return NULL;
  size_t used = 0;
  for (const char* at = path; *at;) {
    size_t part = strcspn(at, "/");
    bool up = part == 2 && at[0] == '.' && at[1] == '.';
    if (up && used == 0) {
      free(clean);
      return NULL;
    }
    if (up) {
      while (used > 0 && clean[used - 1] != '/')
        used--;
      if (used > 0) used--;
    } else if (part > 0 && !(part == 1 && at[0] == '.')) {
      if (used > 0) clean[used++] = '/';
      memcpy(clean + used, at, part);
      used += part;
    }
    at += part;
    at += *at == '/';
  }
  clean[used] = '\0';
  return clean;
}

static char* join_path(const char* folder, const char* name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char* joined = malloc(size);
  if (joined) snprintf(joined, size, "%s/%s", folder, name);
  return joined;
}

/// A file in a folder that is there, with all links followed; NULL: there is no such folder.
static char* new_file_path(char* joined) {
  char* slash = strrchr(joined, '/');
  if (!slash) return NULL;
  *slash = '\0';
  char* above = realpath(joined, NULL);
  char* full = above ? join_path(above, slash + 1) : NULL;
  free(above);
  return full;
}

static bool is_below(const char* root, const char* full) {
  size_t prefix = strcmp(root, "/") == 0 ? 0 : strlen(root);
  return strncmp(full, root, prefix) == 0 && full[prefix] == '/';
}

char* page_path_below(const char* folder, const char* path, bool creates) {
  char* clean = page_clean_path(path);
  char* root = clean && clean[0] ? realpath(folder, NULL) : NULL;
  char* full = NULL;
  char* joined = root ? join_path(root, clean) : NULL;
  if (joined) full = realpath(joined, NULL);
  // of a new file the folder must be there and inside
  if (joined && !full && creates) full = new_file_path(joined);
  if (full && !is_below(root, full)) {
    free(full);
    full = NULL;
  }
  free(joined);
  free(root);
  free(clean);
  return full;
}

void page_set_base(Page* page, const char* path) {
  const char* slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  char* base = malloc(length + 1);
  if (!base) return;
  memcpy(base, path, length);
  base[length] = '\0';
  free(page->base);
  page->base = base;
}

static PageFile* find_file(Page* page, const char* path) {
  for (size_t i = 0; i < page->file_count; i++) {
    if (strcmp(page->files[i].path, path) == 0) return &page->files[i];
  }
  return NULL;
}

static PageFile* add_file(Page* page, char* path) {
  PageFile* grown = realloc(page->files, (page->file_count + 1) * sizeof *grown);
  if (!grown) return NULL;
  page->files = grown;
  grown[page->file_count] = (PageFile){.path = path};
  return &grown[page->file_count++];
}

bool page_put_file(Page* page, const char* path, const JsonNode* text) {
  char* clean = json_text(text) ? page_clean_path(path) : NULL;
  char* copy = clean ? malloc(text->length + 1) : NULL;
  PageFile* file = copy ? find_file(page, clean) : NULL;
  bool fresh = copy && !file;
  if (fresh) file = add_file(page, clean);
  if (!file) {
    free(copy);
    free(clean);
    return false;
  }
  if (!fresh) free(clean);
  memcpy(copy, text->text, text->length);
  copy[text->length] = '\0';
  free(file->text);
  file->text = copy;
  file->length = text->length;
  return true;
}

/// A file that the page has handed over.
static SltStatus load_kept(Page* page, const char* path, const SltAllocator* allocator,
                           char** content, size_t* length) {
  const PageFile* file = find_file(page, path);
  if (!file) return SLT_ERR_NOT_FOUND;
  *content = allocator->realloc_fn(allocator->user, NULL, 0, file->length ? file->length : 1);
  if (!*content) return SLT_ERR_NOMEM;
  memcpy(*content, file->text, file->length);
  *length = file->length;
  return SLT_OK;
}

SltStatus page_load(void* user, const char* name, const SltAllocator* allocator, char** content,
                    size_t* length) {
  Page* page = user;
  const char* base = page->base ? page->base : "";
  size_t size = strlen(base) + strlen(name) + 1;
  char* joined = malloc(size);
  if (!joined) return SLT_ERR_NOMEM;
  snprintf(joined, size, "%s%s", name[0] == '/' ? "" : base, name);
  char* clean = page_clean_path(joined);
  free(joined);
  if (!clean) return SLT_ERR_NOT_FOUND;
  SltStatus status = load_kept(page, clean, allocator, content, length);
  char* path = status == SLT_ERR_NOT_FOUND && page->folder
                   ? page_path_below(page->folder, clean, false)
                   : NULL;
  if (path) status = slt_file_read(path, false, SOURCE_LIMIT, allocator, content, length);
  free(path);
  free(clean);
  // what comes with the page, like the parts, as it comes with the program
  char* given = status == SLT_ERR_NOT_FOUND ? join_path(PAGE_GALLERY, name) : NULL;
  if (given) status = load_kept(page, given, allocator, content, length);
  free(given);
  if (page->reads && status >= 0) {
    if (page->reads->length) text_put(page->reads, ",", 1);
    text_put_json(page->reads, name, strlen(name));
  }
  return status;
}
