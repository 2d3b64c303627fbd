// SPDX-License-Identifier: MIT
//
// The user's folder behind the workbench: models and tables in it, and nothing outside.
#define _XOPEN_SOURCE 700
#include "page.h"
#include "serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX    16
#define ENTRIES_MAX  2000u
/// Of file systems, less what a file is called while it is written.
#define NAME_LONGEST 230u

static bool is_wanted(const char* name) {
  return path_ends_with(name, ".lisma") || path_ends_with(name, ".rules.md") ||
         path_ends_with(name, ".csv");
}

typedef struct Listing {
  Text* out;
  uint32_t count;
  uint32_t left;  // files and folders that are there and not in the list
} Listing;

/// Whether the page can name it: UTF-8 without control characters and without backslashes.
static bool is_nameable(const char* name) {
  Text clean = {0};
  size_t length = strlen(name);
  slt_write_clean((SltWriter){text_keep, &clean}, name, length);
  bool same = clean.length == length && memcmp(clean.data, name, length) == 0;
  free(clean.data);
  return same && !strpbrk(name, "\\\t\n");
}

static int visible(const struct dirent* entry) {
  return entry->d_name[0] != '.';
}

static void list_below(const char* folder, const char* path, int depth, Listing* listing);

static void list_entry(const char* folder, const char* path, const char* name, int depth,
                       Listing* listing) {
  char below[4096];
  char full[4096];
  struct stat file;
  int size = snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "/" : "", name);
  int room = snprintf(full, sizeof full, "%s/%s", folder, below);
  bool fits = size > 0 && room > 0 && (size_t)size < sizeof below && (size_t)room < sizeof full;
  // links are not followed: they may lead out
  if (!fits || lstat(full, &file) != 0) return;
  bool wanted = S_ISREG(file.st_mode) && is_wanted(name);
  if (!wanted && !S_ISDIR(file.st_mode)) return;
  if (!is_nameable(name) || listing->count >= ENTRIES_MAX || depth > DEPTH_MAX) {
    listing->left++;
  } else if (wanted) {
    text_put_format(listing->out, "%s{\"path\":", listing->count++ ? "," : "");
    text_put_json(listing->out, below, strlen(below));
    text_put_format(listing->out, ",\"size\":%lld}", (long long)file.st_size);
  } else {
    list_below(folder, below, depth + 1, listing);
  }
}

static void list_below(const char* folder, const char* path, int depth, Listing* listing) {
  char full[4096];
  int length = snprintf(full, sizeof full, "%s/%s", folder, path);
  struct dirent** entries = NULL;
  if (length < 0 || (size_t)length >= sizeof full) return;
  int count = scandir(full, &entries, visible, alphasort);
  for (int i = 0; i < count; i++) {
    list_entry(folder, path, entries[i]->d_name, depth, listing);
    free(entries[i]);
  }
  free((void*)entries);
}

uint32_t folder_list(const char* folder, Text* out) {
  Listing listing = {.out = out};
  text_put_format(out, "[");
  list_below(folder, "", 0, &listing);
  text_put_format(out, "]");
  return listing.left;
}

static bool read_version(const char* path, char version[64]) {
  struct stat file;
  if (stat(path, &file) != 0 || !S_ISREG(file.st_mode)) return false;
  // files that are saved within one tick of the clock of the file system are different ones
  snprintf(version, 64, "%llx-%llx-%llx-%llx", (unsigned long long)file.st_ino,
           (unsigned long long)file.st_mtim.tv_sec, (unsigned long long)file.st_mtim.tv_nsec,
           (unsigned long long)file.st_size);
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
  if (!known) return FOLDER_NOT_THERE;
  if (status < 0) return status == SLT_ERR_LIMIT ? FOLDER_TOO_LARGE : FOLDER_NOT_OURS;
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
  // from the look at what is there until it is replaced nobody else may do the same: threads of
  // this server, and other servers of the folder
  int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR) {
  }
  bool exists = lstat(full, &file) == 0;
  const char* name = strrchr(full, '/') + 1;  // it is a whole path
  FolderStatus status = FOLDER_OK;
  if (exists ? !read_version(full, present) : name[0] == '.' || !is_nameable(name))
    status = FOLDER_REFUSED;
  if (!exists && strlen(name) > NAME_LONGEST) status = FOLDER_LONG_NAME;
  if (expected && strcmp(expected, present) != 0) status = FOLDER_CHANGED;
  if (status == FOLDER_OK && output_rewrite(full, data, length) != CLI_DONE)
    status = FOLDER_NOT_OURS;
  if (status == FOLDER_OK && !read_version(full, version)) status = FOLDER_NOT_OURS;
  if (lock >= 0) close(lock);
  free(full);
  return status;
}
