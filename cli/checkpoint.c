// SPDX-License-Identifier: MIT
//
// --checkpoint and --resume: the state of a run in a file. It is written beside the old one and
// takes its place when it is whole, so there always is one to go on from.
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAGIC "saltus checkpoint 1\n"

/// What stands before the state of the run.
typedef struct FileHead {
  char magic[32];
  CheckpointMark mark;
  uint64_t size;  // of the state
} FileHead;

// ---- writing ------------------------------------------------------------------------------------

static bool write_whole(int fd, const char* data, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, data, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    length -= (size_t)written;
  }
  return true;
}

/// Into a new file that then takes the name of the old one. Returns 0 or errno.
static int replace_file(const char* path, const char* data, size_t length) {
  size_t size = strlen(path) + sizeof ".new";
  char* fresh = malloc(size);
  if (!fresh) return ENOMEM;
  snprintf(fresh, size, "%s.new", path);
  int error = 0;
  int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 || !write_whole(fd, data, length) || fsync(fd) != 0) error = errno;
  if (fd >= 0 && close(fd) != 0 && !error) error = errno;
  if (!error && rename(fresh, path) != 0) error = errno;
  if (error && fd >= 0) unlink(fresh);
  free(fresh);
  return error;
}

bool checkpoint_write(const char* path, const SltSim* sim, const CheckpointMark* mark) {
  size_t state = slt_sim_checkpoint_size(sim);
  size_t length = sizeof(FileHead) + state;
  char* data = calloc(1, length);
  int error = ENOMEM;
  if (data) {
    FileHead head = {.magic = FILE_MAGIC, .mark = *mark, .size = state};
    memcpy(data, &head, sizeof head);
    SltStatus status = slt_sim_checkpoint_save(sim, data + sizeof head, state);
    error = status < 0 ? EINVAL : replace_file(path, data, length);
  }
  free(data);
  if (!error) return true;
  cli_error("cannot write the checkpoint %s: %s", path, strerror(error));
  return false;
}

// ---- reading ------------------------------------------------------------------------------------

/// The whole file; NULL after a message.
static char* read_file(const char* path, size_t* length) {
  if (!input_check(path, "checkpoint")) return NULL;
  FILE* file = fopen(path, "rb");
  struct stat known;
  if (!file || fstat(fileno(file), &known) != 0 || !S_ISREG(known.st_mode)) {
    cli_error("cannot read the checkpoint %s: %s", path, file ? "it is no file" : strerror(errno));
    if (file) fclose(file);
    return NULL;
  }
  size_t size = (size_t)known.st_size;
  char* data = malloc(size + 1);
  *length = data ? fread(data, 1, size, file) : 0;
  fclose(file);
  if (data && *length == size) return data;
  cli_error("cannot read the checkpoint %s", path);
  free(data);
  return NULL;
}

char* checkpoint_read(const char* path, CheckpointMark* mark, size_t* length) {
  char* data = read_file(path, length);
  if (!data) return NULL;
  FileHead head = {.magic = ""};
  if (*length >= sizeof head) memcpy(&head, data, sizeof head);
  bool ours = memcmp(head.magic, FILE_MAGIC, sizeof FILE_MAGIC) == 0;
  if (!ours || head.size != *length - sizeof head) {
    cli_error(ours ? "the checkpoint %s is not whole" : "%s is no checkpoint", path);
    cli_hint("a checkpoint is written by `saltus run MODEL --checkpoint FILE`");
    free(data);
    return NULL;
  }
  *mark = head.mark;
  *length = head.size;
  memmove(data, data + sizeof head, head.size);
  return data;
}
