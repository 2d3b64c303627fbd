// SPDX-License-Identifier: MIT
//
// --checkpoint and --resume: the state of a run in a file. It is written beside the old one and
// takes its place when it is whole, so there always is one to go on from. It is sealed with a key
// of the user's own, for it becomes the memory of the run.
#define _DEFAULT_SOURCE
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// The mark as it is kept: numbers of one size each, so that every byte has a meaning.
typedef struct FileMark {
  double t_start, t_row, grid_start, grid_step, grid_span;
  uint64_t grid_count, columns;
  uint64_t csv_offset, csv_lines, events_offset, events_lines;
  uint64_t flags;
} FileMark;

// bits of `flags`
enum {
  FLAG_HAS_ROW = 1,
  FLAG_ALL_STEPS = 2,
  FLAG_END_ROW = 4,
  FLAG_CSV_REGULAR = 8,
  FLAG_EVENTS_REGULAR = 16,
  FLAG_HAS_EVENTS = 32,
  FLAGS_ALL = 63
};

static FileMark pack(const CheckpointMark* mark) {
  const SltRecorderMark* r = &mark->recorder;
  return (FileMark){
      .t_start = r->t_start,
      .t_row = r->t_row,
      .grid_start = r->grid_start,
      .grid_step = r->grid_step,
      .grid_span = r->grid_span,
      .grid_count = r->grid_count,
      .columns = r->columns,
      .csv_offset = mark->csv_offset,
      .csv_lines = mark->csv_lines,
      .events_offset = mark->events_offset,
      .events_lines = mark->events_lines,
      .flags = (r->has_row ? FLAG_HAS_ROW : 0u) | (r->all_steps ? FLAG_ALL_STEPS : 0u) |
               (r->end_row ? FLAG_END_ROW : 0u) | (mark->csv_regular ? FLAG_CSV_REGULAR : 0u) |
               (mark->events_regular ? FLAG_EVENTS_REGULAR : 0u) |
               (mark->has_events ? FLAG_HAS_EVENTS : 0u)};
}

static bool unpack(const FileMark* from, CheckpointMark* mark) {
  if (from->flags > FLAGS_ALL || from->grid_count > UINT32_MAX) return false;
  *mark = (CheckpointMark){.recorder = {.t_start = from->t_start,
                                        .t_row = from->t_row,
                                        .grid_start = from->grid_start,
                                        .grid_step = from->grid_step,
                                        .grid_span = from->grid_span,
                                        .grid_count = (uint32_t)from->grid_count,
                                        .has_row = (from->flags & FLAG_HAS_ROW) != 0,
                                        .all_steps = (from->flags & FLAG_ALL_STEPS) != 0,
                                        .end_row = (from->flags & FLAG_END_ROW) != 0,
                                        .columns = from->columns},
                           .csv_offset = from->csv_offset,
                           .csv_lines = from->csv_lines,
                           .events_offset = from->events_offset,
                           .events_lines = from->events_lines,
                           .csv_regular = (from->flags & FLAG_CSV_REGULAR) != 0,
                           .events_regular = (from->flags & FLAG_EVENTS_REGULAR) != 0,
                           .has_events = (from->flags & FLAG_HAS_EVENTS) != 0};
  return true;
}

// ---- the key ------------------------------------------------------------------------------------

/// $XDG_STATE_HOME/saltus or ~/.local/state/saltus, made when missing. False after a message.
static bool key_folder(char* out, size_t size) {
  const char* base = getenv("XDG_STATE_HOME");
  const char* home = getenv("HOME");
  bool own = base && base[0] == '/';
  if (!own && !(home && home[0] == '/')) {
    cli_error("there is no place for the key of checkpoints: neither XDG_STATE_HOME nor HOME is "
              "set");
    return false;
  }
  int length =
      snprintf(out, size, "%s%s", own ? base : home, own ? "/saltus" : "/.local/state/saltus");
  if (length < 0 || (size_t)length >= size || !folder_make(out)) {
    cli_error("cannot make the folder %s for the key of checkpoints: %s", out, strerror(errno));
    return false;
  }
  return true;
}

/// A key in a new file, which appears under its name when it is whole; one that is there stays.
static bool make_key(const char* folder, const char* path) {
  SltKey key;
  char fresh[4200];
  snprintf(fresh, sizeof fresh, "%s/.key-%ld", folder, (long)getpid());
  if (getentropy(key.bytes, sizeof key.bytes) != 0) return false;
  unlink(fresh);
  int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = write(fd, key.bytes, sizeof key.bytes) == (ssize_t)sizeof key.bytes && fsync(fd) == 0;
  if (close(fd) != 0) good = false;
  good = good && (link(fresh, path) == 0 || errno == EEXIST);
  unlink(fresh);
  return good;
}

/// The user's own key, made on the first occasion. False after a message.
static bool get_key(SltKey* key) {
  char folder[4096];
  char path[4200];
  struct stat info;
  if (!key_folder(folder, sizeof folder)) return false;
  snprintf(path, sizeof path, "%s/checkpoint.key", folder);
  int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int fd = open(path, flags);
  if (fd < 0 && errno == ENOENT && make_key(folder, path)) fd = open(path, flags);
  if (fd < 0) {
    cli_error("cannot read the key of checkpoints, %s: %s", path, strerror(errno));
    return false;
  }
  bool ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
              (info.st_mode & 077) == 0;
  bool whole = ours && read(fd, key->bytes, sizeof key->bytes) == (ssize_t)sizeof key->bytes;
  close(fd);
  if (!whole) {
    cli_error("%s is no key of your own", path);
    cli_hint("it must belong to you and be closed to others; remove it to get a new one");
  }
  return whole;
}

// ---- files --------------------------------------------------------------------------------------

int checkpoint_write(const char* path, const SltSim* sim, const CheckpointMark* mark) {
  FileMark kept = pack(mark);
  SltKey key;
  if (!get_key(&key)) return CLI_USAGE;
  size_t length = slt_sim_checkpoint_size(sim, sizeof kept);
  char* data = malloc(length);
  SltStatus status =
      data ? slt_sim_checkpoint_save(sim, &key, &kept, sizeof kept, data, length) : SLT_ERR_NOMEM;
  int exit = CLI_RUN;
  if (status < 0) {
    cli_error("cannot write the checkpoint %s: %s", path, slt_status_text(status));
  } else {
    exit = output_rewrite(path, data, length);
  }
  free(data);
  return exit;
}

SltStatus checkpoint_read(const char* path, SltSim* sim, CheckpointMark* mark, const char** why) {
  size_t length = 0;
  FileMark kept;
  SltKey key;
  *why = NULL;
  if (!get_key(&key)) return SLT_ERR_IO;
  char* data = input_read(path, "checkpoint", false, CHECKPOINT_LIMIT, &length);
  if (!data) return SLT_ERR_IO;
  SltStatus status = slt_sim_checkpoint_restore(sim, &key, data, length, &kept, sizeof kept, why);
  free(data);
  if (status < 0) return status;
  if (unpack(&kept, mark)) return SLT_OK;
  *why = "it is damaged";
  return SLT_ERR_ARGUMENT;
}
