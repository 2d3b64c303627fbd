// SPDX-License-Identifier: MIT
#include "archive.h"

#include <stdio.h>

bool archive_open(Archive* archive, const char* path, int flags, char* problem, size_t size) {
  static const char* const names[] = {ZIP_LIST(LIBRARY_NAME)};
  ZipLibrary* f = &archive->f;
  archive->zip = NULL;
  if (!library_load(SALTUS_LIBRARY_LIBZIP, names, sizeof names / sizeof *names, f)) {
    snprintf(problem, size, "libzip cannot be loaded; install the package libzip4");
    return false;
  }
  int code = 0;
  archive->zip = f->zip_open(path, flags, &code);
  if (archive->zip) return true;
  zip_error_t error;
  f->zip_error_init_with_code(&error, code);
  snprintf(problem, size, "%s", f->zip_error_strerror(&error));
  f->zip_error_fini(&error);
  return false;
}
