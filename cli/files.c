// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#define MARK      "user.saltus"
#define MARK_SIZE 80

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

bool files_are_same(const char* a, const char* b) {
  struct stat left;
  struct stat right;
  bool has_left = stat(a, &left) == 0;
  bool has_right = stat(b, &right) == 0;
  if (has_left && has_right) return S_ISREG(left.st_mode) && is_same(&left, &right);
  if (strcmp(a, b) == 0) return true;
  if (has_left || has_right || strcmp(path_base(a), path_base(b)) != 0) return false;
  return stat_folder(a, &left) && stat_folder(b, &right) && is_same(&left, &right);
}

// ---- the mark of our own files ------------------------------------------------------------------

/// The mark holds the size and time of the file as we left it: a file changed by others since then
/// is no longer ours.
static void mark_text(const struct stat* file, char out[MARK_SIZE]) {
  snprintf(out, MARK_SIZE, "%lld bytes, %lld.%09ld", (long long)file->st_size,
           (long long)file->st_mtim.tv_sec, file->st_mtim.tv_nsec);
}

static void mark_set(int fd, const char* text) {
#ifdef __linux__
  // a file system without attributes is no error: output_is_ours() then looks at the content
  if (fsetxattr(fd, MARK, text, strlen(text), 0) != 0) return;
#else
  (void)fd;
  (void)text;
#endif
}

typedef enum Mark { MARK_OURS, MARK_FOREIGN, MARK_UNKNOWN } Mark;

static Mark mark_get(const char* path, const struct stat* file) {
#ifdef __linux__
  char mark[MARK_SIZE] = "";
  ssize_t length = getxattr(path, MARK, mark, sizeof mark - 1);
  if (length < 0) return errno == ENODATA ? MARK_FOREIGN : MARK_UNKNOWN;
  char expected[MARK_SIZE];
  mark_text(file, expected);
  // a run that was killed left "open" behind
  return strcmp(mark, "open") == 0 || strcmp(mark, expected) == 0 ? MARK_OURS : MARK_FOREIGN;
#else
  (void)path;
  (void)file;
  return MARK_UNKNOWN;
#endif
}

/// Whether the first line of the file is `header`.
static bool has_header(const char* path, const char* header) {
  FILE* file = fopen(path, "rb");
  if (!file) return false;
  bool same = true;
  for (const char* at = header; *at && same; at++)
    same = fgetc(file) == (unsigned char)*at;
  same = same && fgetc(file) == '\n';
  fclose(file);
  return same;
}

bool output_is_ours(const char* path, const char* header) {
  struct stat file;
  if (stat(path, &file) != 0) return errno == ENOENT;
  if (!S_ISREG(file.st_mode)) return false;
  if (file.st_size == 0) return true;
  Mark mark = mark_get(path, &file);
  return mark == MARK_UNKNOWN ? has_header(path, header) : mark == MARK_OURS;
}

// ---- output -------------------------------------------------------------------------------------

bool output_open(Output* output) {
  output->fd = -1;
  if (!output->path) return true;
  if (strcmp(output->path, "-") == 0) {
    output->fd = STDOUT_FILENO;
    return true;
  }
  output->fd = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (output->fd < 0) {
    int cause = errno;
    cli_error("cannot write %s: %s", output->path, strerror(cause));
    if (cause == ENOENT) cli_hint("its folder does not exist");
    if (cause == EISDIR) cli_hint("it is a folder; name a file in it");
    if (cause == EACCES || cause == EROFS) cli_hint("choose another place with -o");
    return false;
  }
  struct stat file;
  output->regular = fstat(output->fd, &file) == 0 && S_ISREG(file.st_mode);
  if (output->regular) mark_set(output->fd, "open");
  return true;
}

bool output_continue(Output* output, uint64_t offset, uint64_t lines, const char* header) {
  output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
  struct stat file;
  if (output->fd < 0 || fstat(output->fd, &file) != 0) {
    int cause = errno;
    cli_error("cannot go on with %s: %s", output->path, strerror(cause));
    cli_hint("the results up to the checkpoint are needed; name the file they are in");
    return false;
  }
  bool fits = S_ISREG(file.st_mode) && (uint64_t)file.st_size >= offset;
  if (!fits || (header && offset > 0 && !has_header(output->path, header))) {
    cli_error("%s does not hold the results up to the checkpoint", output->path);
    cli_hint("name the file that the interrupted run has written");
    return false;
  }
  if (ftruncate(output->fd, (off_t)offset) != 0 || lseek(output->fd, 0, SEEK_END) < 0) {
    cli_error("cannot go on with %s: %s", output->path, strerror(errno));
    return false;
  }
  output->regular = true;
  output->offset = offset;
  output->lines = lines;
  mark_set(output->fd, "open");
  return true;
}

bool outputs_are_same(const Output* a, const Output* b) {
  struct stat left;
  struct stat right;
  if (a->fd < 0 || b->fd < 0 || !a->regular || !b->regular) return false;
  if (fstat(a->fd, &left) != 0 || fstat(b->fd, &right) != 0) return false;
  return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

static void count_written(Output* output, const char* data, size_t length) {
  output->offset += length;
  const char* end = data + length;
  const char* line_end = memchr(data, '\n', length);
  while (line_end) {
    output->lines++;
    output->last = output->tail + (uint64_t)(line_end + 1 - data);
    output->tail = 0;
    data = line_end + 1;
    line_end = memchr(data, '\n', (size_t)(end - data));
  }
  output->tail += (uint64_t)(end - data);
}

/// Drop the unfinished line a failure left behind: what is on the disk stays readable.
static void drop_tail(Output* output) {
  if (!output->regular || output->tail == 0) return;
  if (ftruncate(output->fd, (off_t)(output->offset - output->tail)) != 0) return;
  output->offset -= output->tail;
  output->tail = 0;
}

SltStatus output_write(void* user, const char* data, size_t length) {
  Output* output = user;
  if (output->error) return SLT_ERR_IO;
  while (length > 0) {
    ssize_t written = write(output->fd, data, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      output->error = errno;
      drop_tail(output);
      return SLT_ERR_IO;
    }
    count_written(output, data, (size_t)written);
    data += written;
    length -= (size_t)written;
  }
  return SLT_OK;
}

void output_close(Output* output) {
  if (output->fd < 0 || output->fd == STDOUT_FILENO) return;
  struct stat file;
  if (output->regular && fstat(output->fd, &file) == 0) {
    char mark[MARK_SIZE];
    mark_text(&file, mark);
    mark_set(output->fd, mark);
  }
  // some file systems tell of a full disk only now
  if (close(output->fd) != 0 && !output->error) output->error = errno;
  output->fd = -1;
}

int output_report(const Output* output, const char* what) {
  if (!output->error) return CLI_DONE;
  if (output->error == EPIPE) return CLI_PIPE;
  bool to_stdout = strcmp(output->path, "-") == 0;
  unsigned long long lines = output->lines;
  if (strcmp(what, "rows") == 0 && lines > 0) lines--;  // the header is no row
  cli_error("cannot write %s: %s", to_stdout ? "to standard output" : output->path,
            strerror(output->error));
  if (output->regular) {
    cli_hint("%llu %s are safe in %s; make room or write elsewhere", lines, what, output->path);
  } else if (lines > 0) {
    cli_hint("%llu %s were written before", lines, what);
  } else {
    cli_hint("no %s were written", what);
  }
  return CLI_RUN;
}

// ---- input --------------------------------------------------------------------------------------

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

/// Whether a folder is a model of rule tables.
static bool holds_rules(const char* folder) {
  size_t size = strlen(folder) + sizeof "/rules.csv";
  char* path = malloc(size);
  if (!path) return false;
  snprintf(path, size, "%s/rules.csv", folder);
  bool found = access(path, R_OK) == 0;
  free(path);
  return found;
}

bool input_check(const char* path, const char* what) {
  struct stat file;
  if (stat(path, &file) != 0) {
    int cause = errno;
    if (cause == ENOENT) {
      cli_error("there is no file %s", path);
      suggest_file(path);
    } else {
      cli_error("cannot read %s: %s", path, strerror(cause));
    }
    return false;
  }
  if (S_ISDIR(file.st_mode) && strcmp(what, "model") == 0 && holds_rules(path)) return true;
  if (S_ISDIR(file.st_mode)) {
    cli_error("%s is a folder, not a %s", path, what);
    cli_hint("name a file in it");
    return false;
  }
  if (access(path, R_OK) != 0) {
    cli_error("cannot read %s: %s", path, strerror(errno));
    cli_hint("you lack the right to read it; `ls -l %s` shows whose it is", path);
    return false;
  }
  if (S_ISREG(file.st_mode) && file.st_size == 0) {
    cli_error("%s is empty", path);
    if (strcmp(what, "model") == 0) cli_hint("`saltus new NAME` writes a model to start from");
    return false;
  }
  return true;
}

char* input_read(const char* path, const char* what, size_t* length) {
  if (!input_check(path, what)) return NULL;
  FILE* file = fopen(path, "rb");
  char* data = NULL;
  size_t capacity = 0;
  size_t checked = 0;
  *length = 0;
  while (file && !feof(file) && !ferror(file)) {
    // text has no zero bytes; a device may have nothing else, without end
    if (*length > checked && memchr(data + checked, '\0', *length - checked)) {
      cli_error("%s is no %s: it contains zero bytes", path, what);
      fclose(file);
      free(data);
      return NULL;
    }
    checked = *length;
    if (*length == capacity) {
      capacity = capacity ? 2 * capacity : 65536;
      char* more = realloc(data, capacity);
      if (!more) break;
      data = more;
    }
    *length += fread(data + *length, 1, capacity - *length, file);
  }
  bool complete = file && feof(file) && !ferror(file);
  int cause = file && !ferror(file) ? ENOMEM : errno;
  if (file) fclose(file);
  if (complete) return data;
  cli_error("cannot read %s: %s", path, strerror(cause));
  free(data);
  return NULL;
}

// ---- standard output ----------------------------------------------------------------------------

int stdout_finish(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  if (errno == EPIPE) return CLI_PIPE;
  cli_error("cannot write to standard output: %s", strerror(errno));
  return CLI_RUN;
}

SltStatus stdout_write(void* user, const char* data, size_t length) {
  (void)user;
  return fwrite(data, 1, length, stdout) == length ? SLT_OK : SLT_ERR_IO;
}

uint32_t terminal_width(void) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = getenv("COLUMNS");
  long width = columns ? strtol(columns, NULL, 10) : 0;
  return width > 0 && width < 10000 ? (uint32_t)width : 80;
}
