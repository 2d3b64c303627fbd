// SPDX-License-Identifier: MIT
//
// The user's folder behind the workbench: models and tables in it, and nothing outside.
#define _XOPEN_SOURCE 700
#include "page.h"
#include "serve.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX   6
#define ENTRIES_MAX 2000u

static bool is_wanted(const char* name) {
  return path_ends_with(name, ".lisma") || path_ends_with(name, ".rules.md") ||
         path_ends_with(name, ".csv");
}

typedef struct Listing {
  Text* out;
  uint32_t count;
} Listing;

static int visible(const struct dirent* entry) {
  return entry->d_name[0] != '.';
}

static void list_below(const char* folder, const char* path, int depth, Listing* listing) {
  char full[4096];
  int length = snprintf(full, sizeof full, "%s/%s", folder, path);
  struct dirent** entries = NULL;
  if (length < 0 || (size_t)length >= sizeof full) return;
  int count = scandir(full, &entries, visible, alphasort);
  for (int i = 0; i < count; i++) {
    char below[4096];
    struct stat file;
    int size =
        snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "/" : "", entries[i]->d_name);
    int room = snprintf(full, sizeof full, "%s/%s", folder, below);
    bool fits = size > 0 && room > 0 && (size_t)size < sizeof below && (size_t)room < sizeof full;
    // links are not followed: they may lead out
    bool known = fits && lstat(full, &file) == 0 && listing->count < ENTRIES_MAX;
    if (known && S_ISDIR(file.st_mode) && depth < DEPTH_MAX) {
      list_below(folder, below, depth + 1, listing);
    } else if (known && S_ISREG(file.st_mode) && is_wanted(entries[i]->d_name)) {
      text_put_format(listing->out, "%s{\"path\":", listing->count++ ? "," : "");
      text_put_json(listing->out, below, strlen(below));
      text_put_format(listing->out, ",\"size\":%lld}", (long long)file.st_size);
    }
    free(entries[i]);
  }
  free((void*)entries);
}

void folder_list(const char* folder, Text* out) {
  Listing listing = {.out = out};
  text_put_format(out, "[");
  list_below(folder, "", 0, &listing);
  text_put_format(out, "]");
}

static bool read_version(const char* path, char version[64]) {
  struct stat file;
  if (stat(path, &file) != 0 || !S_ISREG(file.st_mode)) return false;
  snprintf(version, 64, "%llx-%llx-%llx", (unsigned long long)file.st_mtim.tv_sec,
           (unsigned long long)file.st_mtim.tv_nsec, (unsigned long long)file.st_size);
  return true;
}

FolderStatus folder_read(const char* folder, const char* path, Text* out, char version[64]) {
  char* full = is_wanted(path) ? page_path_below(folder, path, false) : NULL;
  if (!full) return FOLDER_NOT_THERE;
  char* data = NULL;
  size_t length = 0;
  bool known = read_version(full, version);
  SltStatus status =
      known ? slt_file_read(full, false, SERVE_BODY_MAX, NULL, &data, &length) : SLT_ERR_NOT_FOUND;
  free(full);
  if (status < 0) return status == SLT_ERR_LIMIT ? FOLDER_REFUSED : FOLDER_NOT_THERE;
  text_put(out, data, length);
  free(data);
  return FOLDER_OK;
}

FolderStatus folder_write(const char* folder, const char* path, const char* data, size_t length,
                          const char* expected, char version[64]) {
  char* full = is_wanted(path) ? page_path_below(folder, path, true) : NULL;
  if (!full) return FOLDER_REFUSED;
  char present[64] = "";
  struct stat file;
  bool exists = lstat(full, &file) == 0;
  FolderStatus status = FOLDER_OK;
  if (exists && !read_version(full, present)) status = FOLDER_REFUSED;
  if (expected && strcmp(expected, present) != 0) status = FOLDER_CHANGED;
  if (status == FOLDER_OK && output_rewrite(full, data, length) != CLI_DONE)
    status = FOLDER_REFUSED;
  if (status == FOLDER_OK && !read_version(full, version)) status = FOLDER_REFUSED;
  free(full);
  return status;
}
