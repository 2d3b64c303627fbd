// SPDX-License-Identifier: MIT
#include "base/library.h"

#include <string.h>

#ifdef __EMSCRIPTEN__

bool library_load(const char* file, const char* const* names, size_t count, void* table) {
  (void)file;
  (void)names;
  memset(table, 0, count * sizeof(void*));
  return false;
}

#else

#include <dlfcn.h>

bool library_load(const char* file, const char* const* names, size_t count, void* table) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  for (size_t i = 0; i < count; i++) {
    void* address = dlsym(library, names[i]);
    if (!address) return false;
    // a pointer to an object; POSIX guarantees that it holds a function's address
    memcpy((char*)table + i * sizeof address, &address, sizeof address);
  }
  return true;
}

#endif
