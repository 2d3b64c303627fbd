// SPDX-License-Identifier: MIT
//
// The compiler as a child process: started without a shell, in a process group and an environment
// of its own, looked at between steps.
#define _POSIX_C_SOURCE 200809L
#include "native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The flags of the kernels (cmake/SaltusFlags.cmake): every operation is the IEEE operation or the
// call that is written. No flag names the processor: the cache may be in a shared home.
static const char* const flags[] = {"-x",
                                    "c",
                                    "-std=gnu11",
                                    "-w",
                                    "-O3",
                                    "-fPIC",
                                    "-shared",
                                    "-fno-builtin",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-fast-math",
                                    "-fvisibility=hidden",
                                    "-nostdlib",
                                    "-pipe"};
#define FLAG_COUNT  SLT_COUNT(flags)
#define PATIENCE_MS 300

static void hash_text(Sha256* hash, const char* text) {
  sha256_add(hash, text, strlen(text) + 1);
}

bool native_compiler_init(NativeCompiler* compiler, const char* path) {
  struct stat info;
  if (path[0] != '/' || stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (access(path, X_OK) != 0) return false;
  Sha256 hash;
  sha256_init(&hash);
  hash_text(&hash, slt_version());
  hash_text(&hash, path);
  uint64_t facts[] = {NATIVE_ABI, (uint64_t)info.st_size, (uint64_t)info.st_mtim.tv_sec,
                      (uint64_t)info.st_mtim.tv_nsec, (uint64_t)info.st_ino};
  sha256_add(&hash, facts, sizeof facts);
  for (size_t i = 0; i < FLAG_COUNT; i++) {
    hash_text(&hash, flags[i]);
  }
  compiler->path = path;
  compiler->identity = sha256_digest(&hash);
  return true;
}

static bool write_all(int fd, const char* data, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, data, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    length -= (size_t)written;
  }
  return true;
}

/// A new file for the text; no two jobs ever share a name.
static int new_source(NativeJob* job, const NativeCache* cache) {
  for (int attempt = 0; attempt < 100; attempt++) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(job->source, sizeof job->source, "tmp-%ld-%lld-%ld-%d.c", (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec, attempt);
    snprintf(job->object, sizeof job->object, "tmp-%ld-%lld-%ld-%d.o", (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec, attempt);
    int fd = openat(cache->fd, job->source, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/// Only what the compiler needs: variables of the user must not change the code.
static int spawn(const NativeJob* job, const NativeCompiler* compiler, const NativeCache* cache,
                 pid_t* pid) {
  char source[4096];
  char object[4096];
  char search[4096];
  char scratch[4096];
  const char* slash = strrchr(compiler->path, '/');
  int folder = (int)(slash - compiler->path);
  size_t room = sizeof source - NATIVE_NAME_MAX - 16;
  if (strlen(cache->path) > room || strlen(compiler->path) > room) return ENAMETOOLONG;
  snprintf(source, sizeof source, "%s/%s", cache->path, job->source);
  snprintf(object, sizeof object, "%s/%s", cache->path, job->object);
  snprintf(search, sizeof search, "PATH=%.*s:/usr/local/bin:/usr/bin:/bin", folder, compiler->path);
  snprintf(scratch, sizeof scratch, "TMPDIR=%s", cache->path);
  char* argv[FLAG_COUNT + 5];
  size_t count = 0;
  argv[count++] = (char*)compiler->path;
  for (size_t i = 0; i < FLAG_COUNT; i++) {
    argv[count++] = (char*)flags[i];
  }
  argv[count++] = (char*)"-o";
  argv[count++] = object;
  argv[count++] = source;
  argv[count] = NULL;
  char* environment[] = {search, scratch, (char*)"LC_ALL=C", NULL};

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  for (int fd = 0; fd <= 2 && !error; fd++) {
    error =
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
  }
  if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!error) {
    error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETSIGDEF);
  }
  if (!error) error = posix_spawn(pid, compiler->path, &actions, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static void remove_file(const NativeCache* cache, const char* name) {
  unlinkat(cache->fd, name, 0);
}

bool native_job_start(NativeJob* job, const NativeCompiler* compiler, const NativeCache* cache,
                      Str text) {
  job->pid = 0;
  int fd = new_source(job, cache);
  if (fd < 0) return false;
  bool written = write_all(fd, text.data, text.length);
  written = close(fd) == 0 && written;
  pid_t pid = 0;
  if (!written || spawn(job, compiler, cache, &pid) != 0) {
    remove_file(cache, job->source);
    return false;
  }
  job->pid = (int)pid;
  return true;
}

NativeJobState native_job_poll(NativeJob* job, const NativeCache* cache, bool wait) {
  int status = 0;
  pid_t got = 0;
  do {
    got = waitpid(job->pid, &status, wait ? 0 : WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return NATIVE_JOB_RUNS;
  // a program that collects children itself has taken the status: the object then tells
  bool good = got < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  job->pid = 0;
  remove_file(cache, job->source);
  if (good && faccessat(cache->fd, job->object, R_OK, 0) == 0) return NATIVE_JOB_DONE;
  remove_file(cache, job->object);
  return NATIVE_JOB_FAILED;
}

void native_job_cancel(NativeJob* job, const NativeCache* cache) {
  if (job->pid <= 0) return;
  // compilers remove their own files when asked to end; one that does not listen is made to
  kill(-job->pid, SIGTERM);
  NativeJobState state = native_job_poll(job, cache, false);
  for (int i = 0; state == NATIVE_JOB_RUNS && i < PATIENCE_MS; i++) {
    struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
    state = native_job_poll(job, cache, false);
  }
  if (state == NATIVE_JOB_RUNS) {
    kill(-job->pid, SIGKILL);
    state = native_job_poll(job, cache, true);
  }
  if (state == NATIVE_JOB_DONE) remove_file(cache, job->object);
}
