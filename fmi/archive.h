// SPDX-License-Identifier: MIT
//
// libzip, which writes and reads the archives. It is loaded when the first one is asked for.
#ifndef SALTUS_FMI_ARCHIVE_H
#define SALTUS_FMI_ARCHIVE_H

#include "base/library.h"

#include <zip.h>

// clang-format off
#define ZIP_LIST(X) \
  X(zip_open) X(zip_close) X(zip_discard) X(zip_strerror) X(zip_error_init_with_code) \
  X(zip_error_strerror) X(zip_error_fini) X(zip_source_buffer) X(zip_source_free) \
  X(zip_file_add) X(zip_set_file_compression) X(zip_file_set_dostime) \
  X(zip_file_set_external_attributes) X(zip_get_num_entries) X(zip_get_name) X(zip_fopen_index) \
  X(zip_fread) X(zip_fclose)
// clang-format on

typedef struct ZipLibrary {
  ZIP_LIST(LIBRARY_MEMBER)
} ZipLibrary;

/// An archive and the functions for it.
typedef struct Archive {
  ZipLibrary f;
  zip_t* zip;
} Archive;

/// Opens `path` with flags of zip_open(). False with a text that names what is wrong.
bool archive_open(Archive* archive, const char* path, int flags, char* problem, size_t size);

#endif
