// SPDX-License-Identifier: MIT
//
// Where the compiler and the cache of compiled equations are, and `saltus cache`.
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_FILE "limit"  // in the folder: bytes, as a decimal number

/// Copy "FOLDER/NAME" if it fits.
static bool join(char* out, size_t size, const char* folder, size_t length, const char* name) {
  int written = snprintf(out, size, "%.*s/%s", (int)length, folder, name);
  return written > 0 && (size_t)written < size;
}

bool native_cache_folder(char* out, size_t size) {
  // relative paths are to be ignored, says the XDG specification
  const char* base = getenv("XDG_CACHE_HOME");
  if (base && base[0] == '/') return join(out, size, base, strlen(base), "saltus");
  const char* home = getenv("HOME");
  if (!home || home[0] != '/') return false;
  return join(out, size, home, strlen(home), ".cache/saltus");
}

static bool is_program(const char* path) {
  struct stat info;
  return path[0] == '/' && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
         access(path, X_OK) == 0;
}

static bool find_program(const char* name, char* out, size_t size) {
  if (name[0] == '/') {
    return is_program(name) && snprintf(out, size, "%s", name) < (int)size;
  }
  const char* path = strchr(name, '/') ? NULL : getenv("PATH");
  for (const char* at = path; at && *at;) {
    size_t length = strcspn(at, ":");
    if (length > 0 && join(out, size, at, length, name) && is_program(out)) return true;
    at += length + (at[length] == ':');
  }
  return false;
}

bool native_find_compiler(char* out, size_t size) {
  const char* chosen = getenv("SALTUS_CC");
  if (chosen && chosen[0]) return find_program(chosen, out, size);
  static const char* const names[] = {"cc", "gcc", "clang"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (find_program(names[i], out, size)) return true;
  }
  return false;
}

/// The limit as it was set for this folder.
static uint64_t read_limit(const char* folder) {
  uint64_t limit = slt_native_options().cache_limit;
  char path[4200];
  if (!join(path, sizeof path, folder, strlen(folder), LIMIT_FILE)) return limit;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return limit;
  char text[32] = "";
  ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  char* end = NULL;
  errno = 0;
  unsigned long long value = got > 0 && text[0] != '-' ? strtoull(text, &end, 10) : 0;
  return end && end != text && *end == '\n' && errno == 0 ? (uint64_t)value : limit;
}

SltStatus native_prepare(SltModel* model, SltNativeWhen when) {
  SltNativeOptions options = slt_native_options();
  char compiler[4096];
  char folder[4096];
  options.when = when;
  if (when == SLT_NATIVE_OFF) return SLT_OK;
  if (native_find_compiler(compiler, sizeof compiler)) options.compiler = compiler;
  if (native_cache_folder(folder, sizeof folder)) {
    options.cache = folder;
    options.cache_limit = read_limit(folder);
  }
  return slt_model_set_native(model, &options);
}

// ---- saltus cache -------------------------------------------------------------------------------

static void print_bytes(uint64_t bytes) {
  if (bytes < 1024) {
    printf("%llu bytes", (unsigned long long)bytes);
  } else if (bytes < UINT64_C(1024) * 1024) {
    printf("%.1f KiB", (double)bytes / 1024.0);
  } else {
    printf("%.1f MiB", (double)bytes / (1024.0 * 1024.0));
  }
}

static int cannot_use(const char* folder, const char* problem) {
  cli_error("%s: %s", folder, problem ? problem : "cannot be read");
  return CLI_USAGE;
}

static int show(const char* folder) {
  SltNativeCache cache;
  const char* problem = NULL;
  if (slt_native_cache_info(folder, &cache, &problem) < 0) return cannot_use(folder, problem);
  char compiler[4096];
  bool found = native_find_compiler(compiler, sizeof compiler);
  cli_print(stdout, "folder    %s\n", folder);
  printf("entries   %llu, ", (unsigned long long)cache.entries);
  print_bytes(cache.bytes);
  printf("\nlimit     ");
  print_bytes(read_limit(folder));
  cli_print(stdout, "\ncompiler  %s\n",
            found ? compiler : "none found (cc, gcc, clang; SALTUS_CC names one)");
  return CLI_DONE;
}

static int clear(const char* folder) {
  uint64_t removed = 0;
  const char* problem = NULL;
  if (slt_native_cache_trim(folder, 0, &removed, &problem) < 0) return cannot_use(folder, problem);
  cli_print(stdout, "%llu entr%s removed from %s\n", (unsigned long long)removed,
            removed == 1 ? "y" : "ies", folder);
  return CLI_DONE;
}

/// "100", "100K", "64M", "1G": bytes.
static bool parse_bytes(const char* text, uint64_t* out) {
  char* end = NULL;
  errno = 0;
  unsigned long long value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
  const char* units = "KMG";
  uint64_t unit = 1;
  const char* found = end && *end ? strchr(units, *end) : NULL;
  for (const char* at = units; found && at <= found; at++)
    unit *= 1024;
  bool good = end && errno == 0 && (*end == '\0' || (found && end[1] == '\0'));
  if (good && value <= UINT64_MAX / unit) {
    *out = value * unit;
    return true;
  }
  cli_error("a limit is a number of bytes, e.g. 64M, not `%s`", text);
  return false;
}

static int limit(const char* folder, const char* text) {
  uint64_t bytes = 0;
  if (!text) {
    printf("%llu\n", (unsigned long long)read_limit(folder));
    return CLI_DONE;
  }
  if (!parse_bytes(text, &bytes)) return CLI_USAGE;
  SltNativeCache cache;
  const char* problem = NULL;
  if (slt_native_cache_info(folder, &cache, &problem) < 0) return cannot_use(folder, problem);
  char path[4200];
  bool good = folder_make(folder) && join(path, sizeof path, folder, strlen(folder), LIMIT_FILE);
  int fd = good ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
  FILE* file = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (file) fprintf(file, "%llu\n", (unsigned long long)bytes);
  if (!file || fclose(file) != 0) {
    cli_error("cannot write to %s: %s", folder, strerror(errno));
    return CLI_RUN;
  }
  slt_native_cache_trim(folder, bytes, NULL, NULL);
  return CLI_DONE;
}

int command_cache(int argc, char** argv) {
  OptionParser parser = {.command = "cache", .argc = argc, .argv = argv};
  const char* words[2] = {NULL, NULL};
  size_t count = 0;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (count == 2 || (count == 1 && strcmp(words[0], "limit") != 0)) {
      cli_error("`%s` is too much", parser.value);
      cli_hint("`saltus help cache` shows how it is used");
      return CLI_USAGE;
    }
    words[count++] = parser.value;
  }
  static const char* const actions[] = {"show", "path", "clear", "limit"};
  int action = words[0] ? option_choice("cache", words[0], actions, 4) : 0;
  if (action < 0) return CLI_USAGE;
  char folder[4096];
  if (!native_cache_folder(folder, sizeof folder)) {
    cli_error("there is no place for a cache: neither XDG_CACHE_HOME nor HOME is set");
    return CLI_USAGE;
  }
  switch (action) {
  case 1: cli_print(stdout, "%s\n", folder); return CLI_DONE;
  case 2: return clear(folder);
  case 3: return limit(folder, words[1]);
  default: return show(folder);
  }
}
