// SPDX-License-Identifier: MIT
//
// The sources of the library that FMUs carry, from the archive that was built with the program.
#include "archive.h"
#include "export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 20)

/// The content of an entry; NULL where it cannot be read.
static char* read_entry(const Archive* archive, zip_uint64_t index, size_t* length) {
  zip_file_t* file = archive->f.zip_fopen_index(archive->zip, index, 0);
  if (!file) return NULL;
  char* text = NULL;
  size_t room = 0;
  zip_int64_t got = 1;
  *length = 0;
  while (got > 0 && room < FILE_MAX) {
    if (room - *length < 4096) {
      room = room ? 2 * room : 65536;
      char* grown = realloc(text, room);
      if (!grown) break;
      text = grown;
    }
    got = archive->f.zip_fread(file, text + *length, room - *length);
    if (got > 0) *length += (size_t)got;
  }
  archive->f.zip_fclose(file);
  if (got == 0) return text;
  free(text);
  return NULL;
}

bool fmu_sources_read(FmuSources* out, const char* path, char* problem, size_t size) {
  Archive archive;
  *out = (FmuSources){.names = NULL};
  if (!archive_open(&archive, path, ZIP_RDONLY, problem, size)) return false;
  zip_int64_t count = archive.f.zip_get_num_entries(archive.zip, 0);
  out->names = calloc((size_t)(count > 0 ? count : 1), sizeof *out->names);
  out->texts = calloc((size_t)(count > 0 ? count : 1), sizeof *out->texts);
  out->lengths = calloc((size_t)(count > 0 ? count : 1), sizeof *out->lengths);
  bool good = count > 0 && out->names && out->texts && out->lengths;
  for (zip_int64_t i = 0; good && i < count; i++) {
    const char* name = archive.f.zip_get_name(archive.zip, (zip_uint64_t)i, ZIP_FL_ENC_GUESS);
    size_t letters = name ? strlen(name) + 1 : 0;
    char* copy = malloc(letters ? letters : 1);
    char* text = name ? read_entry(&archive, (zip_uint64_t)i, &out->lengths[i]) : NULL;
    out->names[i] = copy;
    out->texts[i] = text;
    out->count++;
    good = copy && text;
    if (good) memcpy(copy, name, letters);
  }
  archive.f.zip_discard(archive.zip);
  if (!good) snprintf(problem, size, "%s cannot be read", path);
  if (!good) fmu_sources_free(out);
  return good;
}

void fmu_sources_free(FmuSources* sources) {
  for (uint32_t i = 0; sources->names && sources->texts && i < sources->count; i++) {
    free(sources->names[i]);
    free(sources->texts[i]);
  }
  free((void*)sources->names);
  free((void*)sources->texts);
  free(sources->lengths);
  *sources = (FmuSources){.names = NULL};
}

bool fmu_source_is_code(const char* name) {
  size_t length = strlen(name);
  return length > 2 && strcmp(name + length - 2, ".c") == 0;
}
