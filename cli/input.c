// SPDX-License-Identifier: MIT
//
// Files that are read: models, the tables they name, results, checkpoints. Everything comes in
// through slt_file_read(). What a command has read and written is remembered, so that none of its
// outputs destroys it.
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- what was read and written
// -------------------------------------------------------------------

typedef struct InputFile {
  dev_t device;
  ino_t inode;
  bool stream;  // it is standard output, which goes on where it was
} InputFile;

typedef struct InputFiles {
  InputFile* files;
  size_t count;
} InputFiles;

// what models name: files they include, tables; kept for --watch
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
static CliNames named_files;

const CliNames* inputs_named(void) {
  return &named_files;
}

// one list for the whole program: a command that forgets to ask is refused by output_open()
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
static InputFiles inputs;

/// The regular file that an output goes to; false where it is none.
static bool find_file(const char* path, InputFile* out) {
  struct stat file;
  bool stream = strcmp(path, "-") == 0;
  int found = stream ? fstat(STDOUT_FILENO, &file) : stat(path, &file);
  if (found == 0) *out = (InputFile){file.st_dev, file.st_ino, stream};
  return found == 0 && S_ISREG(file.st_mode);
}

static bool remember(InputFile file) {
  InputFile* grown = realloc(inputs.files, (inputs.count + 1) * sizeof *grown);
  if (!grown) return false;
  inputs.files = grown;
  grown[inputs.count++] = file;
  return true;
}

bool inputs_add(const char* path) {
  InputFile file;
  return !find_file(path, &file) || remember(file);
}

/// A file that was read; what standard input leads to is one as well.
static bool remember_input(const char* path) {
  struct stat file;
  if (strcmp(path, "-") != 0) return inputs_add(path);
  bool regular = fstat(STDIN_FILENO, &file) == 0 && S_ISREG(file.st_mode);
  return !regular || remember((InputFile){file.st_dev, file.st_ino, false});
}

void inputs_clear(void) {
  free(inputs.files);
  inputs.files = NULL;
  inputs.count = 0;
}

bool inputs_spare(const char* path) {
  InputFile file;
  if (!path || !find_file(path, &file)) return true;
  for (size_t i = 0; i < inputs.count; i++) {
    const InputFile* used = &inputs.files[i];
    if (used->device != file.device || used->inode != file.inode) continue;
    if (used->stream && file.stream) continue;
    const char* name = file.stream ? "to standard output" : path;
    cli_error("writing %s would overwrite a file that is read or written here", name);
    cli_hint("name another file");
    return false;
  }
  return true;
}

// ---- reading ------------------------------------------------------------------------------------

/// The file the user may have meant: the same name with an ending.
static void suggest_file(const char* path) {
  static const char* const endings[] = {".lisma", ".csv"};
  char name[4096];
  for (size_t i = 0; i < 2; i++) {
    int length = snprintf(name, sizeof name, "%s%s", path, endings[i]);
    if (length > 0 && (size_t)length < sizeof name && access(name, F_OK) == 0) {
      cli_hint("did you mean %s?", name);
      return;
    }
  }
  cli_hint("check the name and the folder you are in");
}

/// Say why a file cannot be read and what to do about it.
static void cannot_read(const char* path, const char* what, bool streams, SltStatus status,
                        size_t limit) {
  struct stat file;
  bool stream = streams && strcmp(path, "-") == 0;
  bool there =
      stream ? fstat(STDIN_FILENO, &file) == 0 : stat(path, &file) == 0 && access(path, R_OK) == 0;
  int cause = there ? 0 : errno;
  if (stream) path = "standard input";
  if (cause == ENOENT) {
    cli_error("there is no file %s", path);
    suggest_file(path);
  } else if (cause) {
    cli_error("cannot read %s: %s", path, strerror(cause));
    if (cause == EACCES) {
      cli_hint("you lack the right to read it; `ls -l %s` shows whose it is", path);
    }
  } else if (S_ISDIR(file.st_mode)) {
    cli_error("%s is a folder, not a %s", path, what);
    cli_hint("name a file in it");
  } else if (status == SLT_ERR_ARGUMENT) {
    cli_error("%s is no file that a %s could be in", path, what);
    cli_hint("it is a device or a pipe; name a regular file");
  } else if (status == SLT_ERR_LIMIT) {
    cli_error("%s is larger than %zu MiB, too large for a %s", path, limit >> 20, what);
  } else {
    cli_error("cannot read %s: %s", path, slt_status_text(status));
  }
}

char* input_read(const char* path, const char* what, bool streams, size_t limit, size_t* length) {
  char* data = NULL;
  SltStatus status = slt_file_read(path, streams, limit, NULL, &data, length);
  if (status < 0) {
    cannot_read(path, what, streams, status, limit);
    return NULL;
  }
  if (*length > 0 && remember_input(path)) return data;
  free(data);
  if (*length > 0) {
    cli_error("out of memory");
    return NULL;
  }
  cli_error("%s is empty", strcmp(path, "-") == 0 ? "standard input" : path);
  if (strcmp(what, "model") == 0) cli_hint("`saltus new NAME` writes a model to start from");
  return NULL;
}

SltTable* input_table(const char* path) {
  size_t length = 0;
  uint32_t line = 0;
  SltTable* table = NULL;
  char* text = input_read(path, "table", true, TABLE_LIMIT, &length);
  if (!text) return NULL;
  SltStatus status = slt_table_read_csv(text, length, &table, &line);
  free(text);
  if (status >= 0) return table;
  cli_error("%s:%u: %s", path, line,
            status == SLT_ERR_SYNTAX ? "this line is no row of the table"
                                     : slt_status_text(status));
  if (status == SLT_ERR_SYNTAX) {
    cli_hint("a table is CSV: a line of names, then as many cells in every line, separated by "
             "commas; by semicolons or tabs where numbers have decimal commas");
  }
  return NULL;
}

// ---- models -------------------------------------------------------------------------------------

/// Whether a folder is a model of rule tables.
static bool holds_rules(const char* folder) {
  size_t size = strlen(folder) + sizeof "/rules.csv";
  char* path = malloc(size);
  struct stat table;
  if (!path) return false;
  snprintf(path, size, "%s/rules.csv", folder);
  bool found = stat(path, &table) == 0 && S_ISREG(table.st_mode) && access(path, R_OK) == 0;
  free(path);
  return found;
}

bool source_open(ModelSource* source, const char* path) {
  *source = (ModelSource){.path = path, .name = strcmp(path, "-") == 0 ? "stdin" : path};
  struct stat file;
  bool known = stat(path, &file) == 0;
  source->folder = known && S_ISDIR(file.st_mode) && holds_rules(path);
  // what came through a pipe has no folder of its own
  source->beside = known && S_ISREG(file.st_mode);
  if (source->folder) return true;
  source->text = input_read(path, "model", true, SOURCE_LIMIT, &source->length);
  return source->text != NULL;
}

void source_close(ModelSource* source) {
  free(source->text);
  free(source->elsewhere);
  cli_names_clear(&source->warnings);
  *source = (ModelSource){0};
}

/// Read a file for the library and remember that.
static SltStatus load_path(const char* path, const SltAllocator* allocator, char** content,
                           size_t* length) {
  SltStatus status = slt_file_read(path, false, SOURCE_LIMIT, allocator, content, length);
  // a file that is missing may be there the next time
  bool kept = cli_names_keep(&named_files, path);
  if (status < 0 || (kept && inputs_add(path))) return status;
  allocator->realloc_fn(allocator->user, *content, *length ? *length : 1, 0);
  *content = NULL;
  return SLT_ERR_NOMEM;
}

static SltStatus load_from(ModelSource* source, const char* folder, const char* name,
                           const SltAllocator* allocator, char** content, size_t* length) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char* path = malloc(size);
  if (!path) return SLT_ERR_NOMEM;
  snprintf(path, size, "%s/%s", folder, name);
  SltStatus status = load_path(path, allocator, content, length);
  source->elsewhere = status < 0 ? NULL : path;
  if (status < 0) free(path);
  return status;
}

const char* source_elsewhere(void* source) {
  return ((const ModelSource*)source)->elsewhere;
}

/// A file that a model names in one of the folders it may be in, beside the model's own: those that
/// were given, and for the library of parts the one that came with the program.
static SltStatus load_included(ModelSource* source, const char* name, const SltAllocator* allocator,
                               char** content, size_t* length) {
  for (uint32_t i = 0; i < source->includes.count; i++) {
    const char* folder = source->includes.items[i];
    SltStatus status = load_from(source, folder, name, allocator, content, length);
    if (status >= 0 || status == SLT_ERR_NOMEM) return status;
  }
  char root[PATH_MAX];
  char models[PATH_MAX + 8];
  bool part = strncmp(name, "parts/", strlen("parts/")) == 0 && !strstr(name, "..");
  if (!part || !shelf_data_root(root)) return SLT_ERR_NOT_FOUND;
  snprintf(models, sizeof models, "%s/models", root);
  return load_from(source, models, name, allocator, content, length);
}

SltStatus source_load(void* user, const char* name, const SltAllocator* allocator, char** content,
                      size_t* length) {
  ModelSource* source = user;
  free(source->elsewhere);
  source->elsewhere = NULL;
  size_t folder = source->folder   ? strlen(source->path) + 1
                  : source->beside ? (size_t)(path_base(source->path) - source->path)
                                   : 0;
  if (name[0] == '/') folder = 0;
  size_t size = folder + strlen(name) + 1;
  char* path = malloc(size);
  if (!path) return SLT_ERR_NOMEM;
  if (folder) memcpy(path, source->path, folder);
  if (folder && source->folder) path[folder - 1] = '/';
  memcpy(path + folder, name, size - folder);
  SltStatus status = load_path(path, allocator, content, length);
  free(path);
  if (status >= 0 || status == SLT_ERR_NOMEM || name[0] == '/') return status;
  SltStatus elsewhere = load_included(source, name, allocator, content, length);
  return elsewhere == SLT_ERR_NOT_FOUND ? status : elsewhere;
}
