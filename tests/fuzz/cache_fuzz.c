// SPDX-License-Identifier: MIT
//
// An entry of the cache of compiled code gets executed: none is believed that was not stored there.
#define _XOPEN_SOURCE 700
#include "native/native.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char folder[] = "/tmp/saltus-fuzz-XXXXXX";
  if (!mkdtemp(folder)) return 0;
  NativeCache cache;
  char name[NATIVE_NAME_MAX];
  Digest key = {{0}};
  memcpy(key.bytes, data, size < sizeof key.bytes ? size : sizeof key.bytes);
  if (!native_cache_open(&cache, folder, 1 << 20, true)) {
    // a name that the cache would ask for, and the bytes as its content
    native_cache_find(&cache, &key, name);
    int fd = openat(cache.fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
        native_cache_find(&cache, &key, name)) {
      __builtin_trap();
    }
    if (fd >= 0) close(fd);
    native_cache_trim(&cache, 0);
    native_cache_close(&cache);
  }
  rmdir(folder);
  return 0;
}
