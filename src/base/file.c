// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "base/file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES ((size_t)64 << 10)

typedef struct FileText {
  SltAllocator allocator;
  char* data;
  size_t used, capacity;
  size_t limit;
} FileText;

const char* file_problem(SltStatus status) {
  switch ((int)status) {
  case SLT_ERR_ARGUMENT: return ": it is no regular file";
  case SLT_ERR_LIMIT: return ": it is too large";
  case SLT_ERR_NOMEM: return ": out of memory";
  case SLT_ERR_UNSUPPORTED: return ": files cannot be read here";
  default: return "";
  }
}

static SltStatus resize(FileText* t, size_t capacity) {
  char* data = base_realloc(&t->allocator, t->data, t->capacity, capacity);
  if (!data) return SLT_ERR_NOMEM;
  t->data = data;
  t->capacity = capacity;
  return SLT_OK;
}

/// Up to the end, whatever the size was said to be; one byte beyond the limit is too much.
static SltStatus read_all(FileText* t, int fd) {
  for (;;) {
    if (t->used > t->limit) return SLT_ERR_LIMIT;
    if (t->used == t->capacity) {
      SLT_TRY(resize(t, t->capacity > t->limit / 2 ? t->limit + 1 : 2 * t->capacity));
    }
    ssize_t got = read(fd, t->data + t->used, t->capacity - t->used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SLT_ERR_IO;
    if (got == 0) break;
    t->used += (size_t)got;
  }
  // the size is what the reader gives back with the memory
  return resize(t, t->used);
}

static bool is_stream(const struct stat* info, int fd) {
  return S_ISFIFO(info->st_mode) || S_ISSOCK(info->st_mode) || isatty(fd);
}

/// Open without waiting for anybody: a pipe without a writer, a terminal, a tape.
static SltStatus open_to_read(const char* path, bool streams, int* out, size_t* expected) {
  bool standard = streams && strcmp(path, "-") == 0;
  int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? SLT_ERR_NOT_FOUND : SLT_ERR_IO;
  struct stat info;
  SltStatus status = fstat(fd, &info) == 0 ? SLT_OK : SLT_ERR_IO;
  bool regular = status >= 0 && S_ISREG(info.st_mode);
  if (status >= 0 && !regular && !(streams && is_stream(&info, fd))) status = SLT_ERR_ARGUMENT;
  // from here on reading may wait for a stream that was asked for. Nothing else may: /proc has
  // files that say they are regular and wait for ever
  int flags = status >= 0 && !regular && !standard ? fcntl(fd, F_GETFL) : -1;
  if (flags >= 0) fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
  // a pipe that nobody has opened to write yet reads as if it were at its end
  struct pollfd writer = {.fd = fd, .events = POLLIN};
  while (status >= 0 && !standard && S_ISFIFO(info.st_mode) && poll(&writer, 1, -1) < 0) {
    if (errno != EINTR) status = SLT_ERR_IO;
  }
  if (status < 0) {
    close(fd);
    return status;
  }
  *out = fd;
  *expected = regular && info.st_size > 0 ? (size_t)info.st_size : FIRST_BYTES;
  return SLT_OK;
}

SltStatus slt_file_read(const char* path, bool streams, size_t limit, const SltAllocator* allocator,
                        char** content, size_t* length) {
  if (!path || !content || !length || limit > PTRDIFF_MAX / 2) return SLT_ERR_ARGUMENT;
  *content = NULL;
  *length = 0;
  SltAllocator own = base_allocator(allocator);
  FileText text = {.allocator = base_foreign_allocator(&own), .limit = limit};
  int fd = -1;
  size_t expected = 0;
  SLT_TRY(open_to_read(path, streams, &fd, &expected));
  SltStatus status = expected > limit && expected > FIRST_BYTES ? SLT_ERR_LIMIT : SLT_OK;
  // one byte more than the file has tells its end without another allocation
  if (status >= 0) status = resize(&text, (expected < limit ? expected : limit) + 1);
  if (status >= 0) status = read_all(&text, fd);
  close(fd);
  if (status < 0) {
    base_free(&text.allocator, text.data, text.capacity);
    return status;
  }
  *content = text.data;
  *length = text.used;
  return SLT_OK;
}
