// SPDX-License-Identifier: MIT
//
// Names of files, and standard output.
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

const char* path_base(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

char* path_title(const char* model, const char* ending) {
  size_t end = strlen(model);
  while (end > 1 && model[end - 1] == '/')
    end--;  // a folder of tables
  size_t begin = end;
  while (begin > 0 && model[begin - 1] != '/')
    begin--;
  static const char* const endings[] = {".lisma", ".rules.md"};
  size_t length = end - begin;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t tail = strlen(endings[i]);
    bool has = length > tail && memcmp(model + end - tail, endings[i], tail) == 0;
    if (has) length -= tail;
    if (has) break;
  }
  char* out = malloc(length + strlen(ending) + 1);
  if (!out) return NULL;
  memcpy(out, model + begin, length);
  memcpy(out + length, ending, strlen(ending) + 1);
  return out;
}

bool path_ends_with(const char* path, const char* suffix) {
  size_t length = strlen(path);
  size_t wanted = strlen(suffix);
  return length > wanted && strcmp(path + length - wanted, suffix) == 0;
}

bool csv_path_check(const char* path) {
  const char* ending = strrchr(path_base(path), '.');
  bool hidden = ending == path_base(path);
  if (!ending || hidden || strcmp(ending, ".csv") == 0) return true;
  cli_error("-o %s: this table is written as CSV, not as %s", path, ending);
  cli_hint("name a file ending in .csv; - is standard output");
  return false;
}

bool folder_make(const char* path) {
  char part[4096];
  size_t length = strlen(path);
  if (length >= sizeof part) return false;
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

/// The folder a file that does not exist yet would be in.
static bool stat_folder(const char* path, struct stat* out) {
  size_t length = (size_t)(path_base(path) - path);
  char* folder = malloc(length + 2);
  if (!folder) return false;
  memcpy(folder, path, length);
  folder[length] = '.';
  folder[length + 1] = '\0';
  bool exists = stat(folder, out) == 0;
  free(folder);
  return exists;
}

static bool is_same(const struct stat* a, const struct stat* b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/// Where a chain of links leads, whether or not there is a file; a chain without an end stops
/// somewhere.
static void follow_links(const char* path, char out[PATH_MAX]) {
  char link[PATH_MAX];
  snprintf(out, PATH_MAX, "%s", path);
  for (int i = 0; i < 40; i++) {
    ssize_t length = readlink(out, link, sizeof link - 1);
    if (length <= 0) return;
    link[length] = '\0';
    size_t folder = link[0] == '/' ? 0 : (size_t)(path_base(out) - out);
    snprintf(out + folder, PATH_MAX - folder, "%s", link);
  }
}

bool files_are_same(const char* a, const char* b) {
  struct stat left;
  struct stat right;
  bool has_left = stat(a, &left) == 0;
  bool has_right = stat(b, &right) == 0;
  if (has_left && has_right) return S_ISREG(left.st_mode) && is_same(&left, &right);
  if (has_left || has_right) return false;
  char here[PATH_MAX];
  char there[PATH_MAX];
  follow_links(a, here);
  follow_links(b, there);
  if (strcmp(here, there) == 0) return true;
  if (strcmp(path_base(here), path_base(there)) != 0) return false;
  return stat_folder(here, &left) && stat_folder(there, &right) && is_same(&left, &right);
}

// ---- standard output ----------------------------------------------------------------------------

int stdout_finish(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  if (errno == EPIPE) return CLI_PIPE;
  // a slow reader, and a signal that did not wait for it
  if (errno == EINTR && status > CLI_SIGNAL) return status;
  cli_error("cannot write to standard output: %s", strerror(errno));
  return CLI_RUN;
}

SltStatus stdout_write(void* user, const char* data, size_t length) {
  (void)user;
  return fwrite(data, 1, length, stdout) == length ? SLT_OK : SLT_ERR_IO;
}

/// Bytes of an unfinished UTF-8 sequence at the end.
static size_t unfinished(const char* data, size_t length) {
  for (size_t n = 1; n <= 3 && n <= length; n++) {
    unsigned char c = (unsigned char)data[length - n];
    if ((c & 0xc0) == 0x80) continue;
    size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return whole > n ? n : 0;
  }
  return 0;
}

SltStatus stdout_write_text(void* user, const char* data, size_t length) {
  StdoutText* text = user;
  SltWriter out = text->out.write ? text->out : (SltWriter){stdout_write, NULL};
  SltStatus status = SLT_OK;
  while (text->length && length && status >= 0) {
    text->begun[text->length++] = *data++;
    length--;
    if (text->length < sizeof text->begun && unfinished(text->begun, text->length)) continue;
    status = slt_write_clean(out, text->begun, text->length);
    text->length = 0;
  }
  size_t rest = unfinished(data, length);
  if (status >= 0) status = slt_write_clean(out, data, length - rest);
  if (rest) {
    memcpy(text->begun, data + length - rest, rest);
    text->length = rest;
  }
  return status;
}

uint32_t terminal_width(void) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = getenv("COLUMNS");
  long width = columns ? strtol(columns, NULL, 10) : 0;
  return width > 0 && width < 10000 ? (uint32_t)width : 80;
}
