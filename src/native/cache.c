// SPDX-License-Identifier: MIT
//
// The folder of compiled units. Any number of processes may use it at once: entries appear by
// rename and never change, and whatever is found is checked before it is believed. What is in the
// folder gets executed, so it must belong to the user and be closed to everybody else.
#define _XOPEN_SOURCE 700
#include "native/native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENDING          ".so"
#define ABANDONED_AFTER 3600  // seconds: work in progress of a process that is gone
#define CHUNK           65536

// Behind the object; loaders do not look beyond what the headers of an object speak of.
typedef struct Footer {
  char magic[8];
  uint64_t length;  // of the object
  Digest key;
  Digest content;
} Footer;

static const char magic[8] = {'S', 'L', 'T', 'U', 'N', 'I', 'T', '1'};

// ---------------------------------------------------------------------------------------------
// the folder

/// Make the folder and those above it.
static bool make_folder(const char* path) {
  char part[4096];
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof part) return false;
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

/// Whether nobody but the user and the system can put another folder in its place: all folders
/// above it are theirs, and closed to others or sticky.
static bool is_reached_safely(const char* path) {
  char* whole = realpath(path, NULL);
  bool safe = whole != NULL;
  for (char* slash = whole; safe && (slash = strchr(slash, '/')); slash++) {
    struct stat info;
    char kept = slash[1];
    slash[1] = '\0';
    safe = stat(whole, &info) == 0 && (info.st_uid == geteuid() || info.st_uid == 0);
    bool shared = (info.st_mode & 02) || ((info.st_mode & 020) && info.st_gid != getegid());
    safe = safe && (!shared || (info.st_mode & S_ISVTX));
    slash[1] = kept;
  }
  free(whole);
  return safe;
}

const char* native_cache_open(NativeCache* cache, const char* path, uint64_t limit, bool make) {
  *cache = (NativeCache){.fd = -1, .path = path, .limit = limit};
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = open(path, flags);
  if (fd < 0 && errno == ENOENT && !make) return NULL;
  if (fd < 0 && errno == ENOENT && make_folder(path)) fd = open(path, flags);
  if (fd < 0) return "the cache folder cannot be opened";
  struct stat info;
  const char* problem = NULL;
  if (fstat(fd, &info) != 0) {
    problem = "the cache folder cannot be opened";
  } else if (info.st_uid != geteuid()) {
    problem = "the cache folder belongs to someone else";
  } else if (info.st_mode & 022) {
    problem = "others may write to the cache folder";
  } else if (!is_reached_safely(path)) {
    problem = "others may write to a folder above the cache folder";
  } else if ((info.st_mode & 0777) != 0700 && fchmod(fd, 0700) != 0) {
    problem = "the cache folder cannot be closed to others";
  }
  if (problem) {
    close(fd);
    return problem;
  }
  cache->fd = fd;
  return NULL;
}

void native_cache_close(NativeCache* cache) {
  if (cache->fd >= 0) close(cache->fd);
  cache->fd = -1;
}

// ---------------------------------------------------------------------------------------------
// entries

static void entry_name(const Digest* key, char* name) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < DIGEST_BYTES; i++) {
    *name++ = digits[key->bytes[i] >> 4];
    *name++ = digits[key->bytes[i] & 15];
  }
  memcpy(name, ENDING, sizeof ENDING);
}

static bool is_entry(const char* name) {
  size_t length = 2 * (size_t)DIGEST_BYTES;
  return strspn(name, "0123456789abcdef") == length && strcmp(name + length, ENDING) == 0;
}

/// Hash of the first `length` bytes of a file.
static bool hash_file(int fd, uint64_t length, Digest* out) {
  unsigned char chunk[CHUNK];
  Sha256 hash;
  sha256_init(&hash);
  if (lseek(fd, 0, SEEK_SET) != 0) return false;
  while (length > 0) {
    ssize_t got = read(fd, chunk, length < sizeof chunk ? (size_t)length : sizeof chunk);
    if (got <= 0) return false;
    sha256_add(&hash, chunk, (size_t)got);
    length -= (uint64_t)got;
  }
  *out = sha256_digest(&hash);
  return true;
}

/// Whether the file is an entry for `key` as it was stored.
static bool is_sound(int fd, const Digest* key) {
  struct stat info;
  Footer footer;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid()) return false;
  if (info.st_size < (off_t)sizeof footer) return false;
  off_t length = info.st_size - (off_t)sizeof footer;
  if (pread(fd, &footer, sizeof footer, length) != (ssize_t)sizeof footer) return false;
  Digest content;
  return memcmp(footer.magic, magic, sizeof magic) == 0 && footer.length == (uint64_t)length &&
         memcmp(&footer.key, key, sizeof *key) == 0 && hash_file(fd, footer.length, &content) &&
         memcmp(&footer.content, &content, sizeof content) == 0;
}

bool native_cache_find(const NativeCache* cache, const Digest* key, char* name) {
  entry_name(key, name);
  int fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  bool sound = is_sound(fd, key);
  if (sound) {
    futimens(fd, NULL);  // used now: the last to go
  } else {
    unlinkat(cache->fd, name, 0);
  }
  close(fd);
  return sound;
}

/// Add the footer to a finished object.
static bool seal(int fd, const Digest* key) {
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_size <= 0) return false;
  Footer footer = {.length = (uint64_t)info.st_size, .key = *key};
  memcpy(footer.magic, magic, sizeof magic);
  return hash_file(fd, footer.length, &footer.content) &&
         pwrite(fd, &footer, sizeof footer, info.st_size) == (ssize_t)sizeof footer &&
         fchmod(fd, 0600) == 0 && fsync(fd) == 0;
}

bool native_cache_store(const NativeCache* cache, const Digest* key, const char* from, char* name) {
  entry_name(key, name);
  int fd = openat(cache->fd, from, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  bool done = fd >= 0 && seal(fd, key) && renameat(cache->fd, from, cache->fd, name) == 0;
  if (fd >= 0) close(fd);
  if (!done) unlinkat(cache->fd, from, 0);
  return done;
}

void native_cache_remove(const NativeCache* cache, const char* name) {
  unlinkat(cache->fd, name, 0);
}

// ---------------------------------------------------------------------------------------------
// all of it

typedef struct Found {
  char name[NATIVE_NAME_MAX];
  uint64_t bytes;
  struct timespec used;
} Found;

typedef struct Listing {
  Found* items;
  size_t count, capacity;
} Listing;

static bool add_found(Listing* list, const Found* found) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    Found* grown = realloc(list->items, capacity * sizeof *grown);
    if (!grown) return false;
    list->items = grown;
    list->capacity = capacity;
  }
  list->items[list->count++] = *found;
  return true;
}

/// Entries of the folder; abandoned work is removed on the way, any work with `all`.
static void list_entries(const NativeCache* cache, bool all, Listing* list) {
  if (cache->fd < 0) return;
  int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = fd >= 0 ? fdopendir(fd) : NULL;
  if (!folder) {
    if (fd >= 0) close(fd);
    return;
  }
  time_t now = time(NULL);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  for (const struct dirent* item = NULL; (item = readdir(folder)) != NULL;) {
    struct stat info;
    // "cc...": compilers' own, for they are told to work here
    bool work = strncmp(item->d_name, "tmp-", 4) == 0 || strncmp(item->d_name, "cc", 2) == 0;
    work = work && !is_entry(item->d_name);
    if (!work && !is_entry(item->d_name)) continue;
    if (fstatat(cache->fd, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (work) {
      bool abandoned = now - info.st_mtime > ABANDONED_AFTER;
      if (all || abandoned) unlinkat(cache->fd, item->d_name, 0);
      continue;
    }
    Found found = {.bytes = (uint64_t)info.st_size, .used = info.st_mtim};
    memcpy(found.name, item->d_name, strlen(item->d_name) + 1);
    if (!add_found(list, &found)) break;
  }
  closedir(folder);
}

static int by_use(const void* left, const void* right) {
  const Found* a = left;
  const Found* b = right;
  if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  return strcmp(a->name, b->name);
}

NativeCacheInfo native_cache_info(const NativeCache* cache) {
  Listing list = {0};
  NativeCacheInfo info = {0};
  list_entries(cache, false, &list);
  for (size_t i = 0; i < list.count; i++) {
    info.entries++;
    info.bytes += list.items[i].bytes;
  }
  free(list.items);
  return info;
}

uint64_t native_cache_trim(const NativeCache* cache, uint64_t limit) {
  Listing list = {0};
  uint64_t bytes = 0;
  uint64_t removed = 0;
  list_entries(cache, limit == 0, &list);
  for (size_t i = 0; i < list.count; i++) {
    bytes += list.items[i].bytes;
  }
  if (bytes > limit) qsort(list.items, list.count, sizeof *list.items, by_use);
  for (size_t i = 0; i < list.count && bytes > limit; i++) {
    if (unlinkat(cache->fd, list.items[i].name, 0) == 0) removed++;
    bytes -= list.items[i].bytes;
  }
  free(list.items);
  return removed;
}
