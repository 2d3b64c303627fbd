// SPDX-License-Identifier: MIT
//
// Files that are written. Rows and records go to their place as they come, so that they are there
// whatever happens; what is made as a whole goes to a new file beside it, which takes its name when
// it is complete.
#define _XOPEN_SOURCE 700
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#define MARK      "user.saltus"
#define MARK_SIZE 80

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

bool output_is_foreign(const char* path) {
  struct stat file;
  return stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0 &&
         mark_get(path, &file) == MARK_FOREIGN;
}

bool output_implied(const char* path) {
  if (!output_is_foreign(path)) return true;
  cli_error("%s exists and was not written by saltus, or was changed since; it was left as it is",
            path);
  cli_hint("move it, or name another file");
  return false;
}

void output_claim(const char* path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat file;
  char mark[MARK_SIZE];
  if (fd < 0) return;
  if (fstat(fd, &file) == 0) {
    mark_text(&file, mark);
    mark_set(fd, mark);
  }
  close(fd);
}

// ---- signals ------------------------------------------------------------------------------------

// new files that have not taken their names yet; read by signal handlers
enum { FRESH_MOST = 8 };
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
static const char* volatile fresh_files[FRESH_MOST];

void output_drop_fresh(void) {
  for (size_t i = 0; i < FRESH_MOST; i++) {
    if (fresh_files[i]) unlink(fresh_files[i]);
  }
}

void output_on_signal(int signal_number) {
  output_drop_fresh();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void replace_fresh(const char* old, const char* new) {
  for (size_t i = 0; i < FRESH_MOST; i++) {
    if (fresh_files[i] != old) continue;
    fresh_files[i] = new;
    return;
  }
}

// ---- opening ------------------------------------------------------------------------------------

static bool cannot_write(const char* path, int cause) {
  cli_error("cannot write %s: %s", path, strerror(cause));
  if (cause == ENOENT) cli_hint("its folder does not exist");
  if (cause == EISDIR) cli_hint("it is a folder; name a file in it");
  if (cause == EACCES || cause == EROFS) cli_hint("choose another place for it");
  return false;
}

bool output_allowed(const char* path) {
  if (!inputs_spare(path)) return false;
  if (!path || strcmp(path, "-") == 0) return true;
  struct stat file;
  if (stat(path, &file) == 0) {
    if (S_ISDIR(file.st_mode)) return cannot_write(path, EISDIR);
    return access(path, W_OK) == 0 || cannot_write(path, errno);
  }
  const char* slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  char* folder = malloc(length + 2);
  if (!folder) return cannot_write(path, ENOMEM);
  snprintf(folder, length + 2, "%.*s", (int)(length ? length : 1), length ? path : ".");
  int cause = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
  free(folder);
  return cause == 0 || cannot_write(path, cause);
}

/// Whether a new file can take the place of what is at `path`; `mode` are its permissions. Devices,
/// pipes and links that lead nowhere are written to as they are; so are files that are protected
/// from writing, which refuse it: renaming would not ask them.
static bool is_replaceable(const char* path, mode_t* mode) {
  struct stat file;
  *mode = 0;
  if (stat(path, &file) == 0) {
    *mode = file.st_mode & 0777;
    return S_ISREG(file.st_mode) && access(path, W_OK) == 0;
  }
  return lstat(path, &file) != 0;
}

/// A new file in the folder of `path` under a name that no other process has.
static int open_fresh(Output* output, mode_t mode) {
  const char* path = output->target;
  size_t folder = (size_t)(path_base(path) - path);
  size_t size = folder + 64;
  output->fresh = malloc(size);
  if (!output->fresh) return -1;
  memcpy(output->fresh, path, folder);
  // no signal may come between the file and the note of it
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int fd = -1;
  for (unsigned attempt = 0; attempt < 1000; attempt++) {
    snprintf(output->fresh + folder, size - folder, ".saltus-%ld-%u.new", (long)getpid(), attempt);
    fd = open(output->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) break;
  }
  int cause = errno;
  if (fd >= 0) {
    replace_fresh(NULL, output->fresh);
    signals_tidy();
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (fd >= 0 && mode) fchmod(fd, mode);
  errno = cause;
  return fd;
}

static void forget_names(Output* output) {
  if (output->fresh) replace_fresh(output->fresh, NULL);
  free(output->fresh);
  free(output->target);
  output->fresh = NULL;
  output->target = NULL;
}

/// `path` with links followed: what is behind a link is replaced, not the link.
static char* target_of(const char* path) {
  char* found = realpath(path, NULL);
  if (found || errno != ENOENT) return found;
  size_t size = strlen(path) + 1;
  found = malloc(size);
  if (found) memcpy(found, path, size);
  return found;
}

static SltStatus write_bytes(void* user, const char* data, size_t length);

bool output_open(Output* output) {
  output->fd = -1;
  if (!output->path) return true;
  if (!output->again && !inputs_spare(output->path)) return false;
  if (strcmp(output->path, "-") == 0) {
    output->fd = STDOUT_FILENO;
    output->terminal = isatty(STDOUT_FILENO) == 1;
    output->seen = (StdoutText){.out = {write_bytes, output}};
    return inputs_add("-") || cannot_write("to standard output", ENOMEM);
  }
  mode_t mode = 0;
  if (output->whole && is_replaceable(output->path, &mode)) {
    output->target = target_of(output->path);
    if (output->target) output->fd = open_fresh(output, mode);
  } else {
    int empties = output->late ? 0 : O_TRUNC;
    output->fd = open(output->path, O_WRONLY | O_CREAT | O_CLOEXEC | empties, 0666);
  }
  if (output->fd < 0) {
    int cause = errno;
    forget_names(output);
    return cannot_write(output->path, cause);
  }
  struct stat file;
  output->regular = fstat(output->fd, &file) == 0 && S_ISREG(file.st_mode);
  if (output->regular && !output->late) mark_set(output->fd, "open");
  // a file that takes its name later is remembered then; one that is written again is known
  if (output->fresh || output->again || inputs_add(output->path)) return true;
  output_abandon(output, ENOMEM);
  return cannot_write(output->path, ENOMEM);
}

/// The end of the line, or NULL. In CSV a line end may stand inside of quotes.
static const char* find_line_end(Output* output, const char* data, const char* end) {
  for (; output->csv && data < end; data++) {
    if (*data == '"') output->quoted = !output->quoted;
    if (*data == '\n' && !output->quoted) return data;
  }
  return output->csv ? NULL : memchr(data, '\n', (size_t)(end - data));
}

static void count_written(Output* output, const char* data, size_t length) {
  output->offset += length;
  const char* end = data + length;
  if (output->packed) return;
  const char* line_end = find_line_end(output, data, end);
  while (line_end) {
    output->lines++;
    output->last = output->tail + (uint64_t)(line_end + 1 - data);
    output->tail = 0;
    data = line_end + 1;
    line_end = find_line_end(output, data, end);
  }
  output->tail += (uint64_t)(end - data);
}

/// Whether the first `offset` bytes are so many whole lines.
static bool holds_lines(const Output* output, uint64_t offset, uint64_t lines) {
  Output seen = {.csv = output->csv};
  char buffer[65536];
  while (seen.offset < offset) {
    uint64_t left = offset - seen.offset;
    ssize_t got = pread(output->fd, buffer, left < sizeof buffer ? (size_t)left : sizeof buffer,
                        (off_t)seen.offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    count_written(&seen, buffer, (size_t)got);
  }
  return seen.lines == lines && seen.tail == 0;
}

bool output_continue(Output* output, uint64_t offset, uint64_t lines, const char* header) {
  output->fd = open(output->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct stat file;
  if (output->fd < 0 || fstat(output->fd, &file) != 0) {
    int cause = errno;
    cli_error("cannot go on with %s: %s", output->path, strerror(cause));
    cli_hint("the results up to the checkpoint are needed; name the file they are in");
    return false;
  }
  bool fits = S_ISREG(file.st_mode) && (uint64_t)file.st_size >= offset;
  fits = fits && holds_lines(output, offset, lines);
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

// ---- writing ------------------------------------------------------------------------------------

/// Drop the unfinished line a failure left behind: what is on the disk stays readable.
static void drop_tail(Output* output) {
  if (!output->regular || output->tail == 0) return;
  if (ftruncate(output->fd, (off_t)(output->offset - output->tail)) != 0) return;
  output->offset -= output->tail;
  output->tail = 0;
}

static SltStatus write_bytes(void* user, const char* data, size_t length) {
  Output* output = user;
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

/// What was there makes room for what was kept back.
static SltStatus begin_late(Output* output) {
  char* held = output->held;
  output->held = NULL;
  output->late = false;
  if (output->regular && ftruncate(output->fd, 0) != 0) output->error = errno;
  if (output->regular) mark_set(output->fd, "open");
  SltStatus status = output_write(output, held, strlen(held));
  free(held);
  return status;
}

SltStatus output_write(void* user, const char* data, size_t length) {
  Output* output = user;
  if (output->error) return SLT_ERR_IO;
  if (output->terminal) return stdout_write_text(&output->seen, data, length);
  if (output->late && !output->held) {
    output->held = calloc(length + 1, 1);
    if (output->held) memcpy(output->held, data, length);
    if (!output->held) output->error = ENOMEM;
    return output->held ? SLT_OK : SLT_ERR_NOMEM;
  }
  if (output->late && begin_late(output) < 0) return SLT_ERR_IO;
  return write_bytes(output, data, length);
}

FILE* line_open(OutputLine* line, Output* output) {
  *line = (OutputLine){.output = output};
  line->file = open_memstream(&line->text, &line->size);
  if (!line->file && !output->error) output->error = ENOMEM;
  return line->file;
}

void line_close(OutputLine* line) {
  bool good = !ferror(line->file);
  good = fclose(line->file) == 0 && good && line->text;
  if (good) output_write(line->output, line->text, line->size);
  if (!good && !line->output->error) line->output->error = ENOMEM;
  free(line->text);
}

// ---- closing ------------------------------------------------------------------------------------

/// The new file takes the name of the old one, or goes.
static void put_in_place(Output* output) {
  if (!output->error && rename(output->fresh, output->target) != 0) output->error = errno;
  if (output->error) unlink(output->fresh);
  if (!output->error && !output->again && !inputs_add(output->target)) output->error = ENOMEM;
}

void output_close(Output* output) {
  free(output->held);
  output->held = NULL;
  if (output->fd < 0 || output->fd == STDOUT_FILENO) return;
  struct stat file;
  if (output->regular && !output->late && fstat(output->fd, &file) == 0) {
    char mark[MARK_SIZE];
    mark_text(&file, mark);
    mark_set(output->fd, mark);
  }
  // some file systems tell of a full disk only now
  if (output->fresh && !output->error && fsync(output->fd) != 0) output->error = errno;
  if (close(output->fd) != 0 && !output->error) output->error = errno;
  output->fd = -1;
  if (output->fresh) put_in_place(output);
  forget_names(output);
}

void output_abandon(Output* output, int cause) {
  if (!output->error) output->error = cause;
  output_close(output);
}

void output_leave(const Output* output) {
  if (output->fd < 0 || !output->regular || output->late) return;
  if (output->fresh) {
    unlink(output->fresh);
  } else if (!output->packed &&
             ftruncate(output->fd, (off_t)(output->offset - output->tail)) != 0) {
    return;
  }
}

uint64_t output_row_count(const Output* output) {
  uint64_t above = !output->csv ? 0 : output->units ? 2 : 1;
  return output->lines > above ? output->lines - above : 0;
}

int output_report(const Output* output, const char* what) {
  if (!output->error) return CLI_DONE;
  if (output->error == EPIPE) return CLI_PIPE;
  bool to_stdout = strcmp(output->path, "-") == 0;
  unsigned long long lines = output_row_count(output);
  cli_error("cannot write %s: %s", to_stdout ? "to standard output" : output->path,
            strerror(output->error));
  if (output->whole) {
    cli_hint("nothing was changed there; make room or write elsewhere");
  } else if (output->packed) {
    cli_hint("what was written before can be read; make room or write elsewhere");
  } else if (output->regular) {
    cli_hint("%llu %s are safe in %s; make room or write elsewhere", lines, what, output->path);
  } else if (lines > 0) {
    cli_hint("%llu %s were written before", lines, what);
  } else {
    cli_hint("no %s were written", what);
  }
  return CLI_RUN;
}

static int replace(Output output, const char* data, size_t length) {
  if (!output_open(&output)) return CLI_USAGE;
  output_write(&output, data, length);
  output_close(&output);
  return output_report(&output, "bytes");
}

int output_replace(const char* path, const char* data, size_t length) {
  return replace((Output){.path = path, .whole = true, .packed = true}, data, length);
}

int output_rewrite(const char* path, const char* data, size_t length) {
  Output output = {.path = path, .whole = true, .packed = true, .again = true};
  return replace(output, data, length);
}
