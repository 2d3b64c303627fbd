// SPDX-License-Identifier: MIT
//
// The archive. Its bytes depend on the model, the options and the library alone: entries are in a
// fixed order and have one date.
#include "export.h"

#include "archive.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINARY_MAX ((size_t)256 << 20)
#define DOS_DATE   0x0021u  // 1980-01-01: the first that archives know

__attribute__((format(printf, 2, 3))) static bool fail(char** problem, const char* format, ...) {
  char text[1000];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  *problem = malloc(strlen(text) + 1);
  if (*problem) memcpy(*problem, text, strlen(text) + 1);
  return false;
}

void fmu_identifier(const char* name, char* out, size_t size) {
  size_t used = 0;
  if (name[0] >= '0' && name[0] <= '9' && size > 1) out[used++] = '_';
  for (; *name && used + 1 < size; name++) {
    char c = *name;
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out[used++] = fits ? c : '_';
  }
  if (used == 0 && size > 1) out[used++] = '_';
  out[used] = '\0';
}

/// Platform names of the standards.
static const char* platform(uint32_t version) {
#if defined(__x86_64__)
  return version == 2 ? "linux64" : "x86_64-linux";
#elif defined(__aarch64__)
  return version == 2 ? "aarch64-linux" : "aarch64-linux";
#else
  return NULL;
#endif
}

static bool add_file(const Archive* archive, const char* name, const void* data, size_t length,
                     char** problem) {
  const ZipLibrary* f = &archive->f;
  zip_t* zip = archive->zip;
  zip_source_t* source = f->zip_source_buffer(zip, data, length, 0);
  zip_int64_t index = source ? f->zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0) {
    f->zip_source_free(source);
    return fail(problem, "cannot put %s into the archive: %s", name, f->zip_strerror(zip));
  }
  f->zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, 1);
  f->zip_file_set_dostime(zip, (zip_uint64_t)index, 0, DOS_DATE, 0);
  f->zip_file_set_external_attributes(zip, (zip_uint64_t)index, 0, ZIP_OPSYS_UNIX, 0100644u << 16);
  return true;
}

/// What the library reads first: the model's file, then the constants that were set.
static char* manifest(const FmuExport* e) {
  size_t size = strlen(e->file_names[0]) + 2;
  for (uint32_t i = 0; i < e->override_count; i++)
    size += strlen(e->overrides[i].name) + 40;
  char* text = malloc(size);
  if (!text) return NULL;
  size_t used = (size_t)snprintf(text, size, "%s\n", e->file_names[0]);
  for (uint32_t i = 0; i < e->override_count; i++) {
    used += (size_t)snprintf(text + used, size - used, "%s=%.17g\n", e->overrides[i].name,
                             e->overrides[i].value);
  }
  return text;
}

typedef struct Parts {
  char* manifest;
  char* description;
  size_t description_length;
  char* binary;
  size_t binary_length;
  FmuSources sources;
  char* build;  // its description
  size_t build_length;
  char* terminals;  // NULL: there are none
  size_t terminals_length;
  char token[33];
  char binary_name[256];
} Parts;

static void parts_free(Parts* parts) {
  free(parts->manifest);
  free(parts->description);
  free(parts->binary);
  free(parts->build);
  free(parts->terminals);
  fmu_sources_free(&parts->sources);
}

static bool fill(const Archive* archive, const FmuExport* e, const Parts* parts, char** problem) {
  bool good = add_file(archive, "modelDescription.xml", parts->description,
                       parts->description_length, problem) &&
              add_file(archive, parts->binary_name, parts->binary, parts->binary_length, problem) &&
              add_file(archive, "resources/saltus.txt", parts->manifest, strlen(parts->manifest),
                       problem) &&
              add_file(archive, "resources/token", parts->token, 32, problem);
  for (uint32_t i = 0; good && i < e->file_count; i++) {
    char name[512];
    snprintf(name, sizeof name, "resources/%s", e->file_names[i]);
    good = add_file(archive, name, e->file_texts[i], e->file_lengths[i], problem);
  }
  const FmuSources* sources = &parts->sources;
  for (uint32_t i = 0; good && i < sources->count; i++) {
    char name[512];
    snprintf(name, sizeof name, "sources/%s", sources->names[i]);
    good = add_file(archive, name, sources->texts[i], sources->lengths[i], problem);
  }
  if (good && parts->terminals) {
    good = add_file(archive, "terminalsAndIcons/terminalsAndIcons.xml", parts->terminals,
                    parts->terminals_length, problem);
  }
  return good && (!parts->build || add_file(archive, "sources/buildDescription.xml", parts->build,
                                            parts->build_length, problem));
}

static bool write_archive(const FmuExport* e, const Parts* parts, char** problem) {
  Archive archive;
  char why[300];
  if (!archive_open(&archive, e->out, ZIP_CREATE | ZIP_TRUNCATE, why, sizeof why))
    return fail(problem, "cannot write %s: %s", e->out, why);
  bool good = fill(&archive, e, parts, problem);
  if (good && archive.f.zip_close(archive.zip) == 0) return true;
  if (good) fail(problem, "cannot write %s: %s", e->out, archive.f.zip_strerror(archive.zip));
  archive.f.zip_discard(archive.zip);
  return false;
}

static bool make_parts(const FmuExport* e, Parts* parts, char** problem) {
  FmuVariables variables;
  if (!fmu_variables_init(&variables, e->model, problem)) return false;
  if ((e->kind & FMU_EXCHANGE) && !variables.exchangeable) {
    fmu_variables_free(&variables);
    return fail(problem, "model exchange is not possible for a model that reads the past (delay), "
                         "whose history only the one who integrates has; --kind cs is");
  }
  parts->manifest = manifest(e);
  if (parts->manifest) {
    size_t length = strlen(parts->manifest);
    char* all = malloc(length + e->file_lengths[0]);
    if (all) {
      memcpy(all, parts->manifest, length);
      memcpy(all + length, e->file_texts[0], e->file_lengths[0]);
      fmu_token(all, length + e->file_lengths[0], e->version, parts->token);
    }
    free(all);
  }
  char why[400];
  if (e->source_archive && !fmu_sources_read(&parts->sources, e->source_archive, why, sizeof why)) {
    fmu_variables_free(&variables);
    return fail(problem, "the sources for FMUs: %s", why);
  }
  parts->description =
      fmu_description(&variables, e, &parts->sources, parts->token, &parts->description_length);
  if (e->source_archive && e->version == 3)
    parts->build = fmu_build_description(e, &parts->sources, &parts->build_length);
  if (e->version == 3)
    parts->terminals = fmu_terminals(&variables, e->model, &parts->terminals_length);
  fmu_variables_free(&variables);
  if (!parts->manifest || !parts->description || !parts->token[0])
    return fail(problem, "out of memory");
  if (slt_file_read(e->binary, false, BINARY_MAX, NULL, &parts->binary, &parts->binary_length) <
      0) {
    return fail(problem, "cannot read the library %s", e->binary);
  }
  return true;
}

bool fmu_export(const FmuExport* e, char** problem) {
  *problem = NULL;
  Parts parts = {.manifest = NULL};
  char identifier[128];
  fmu_identifier(e->name, identifier, sizeof identifier);
  if (!platform(e->version)) return fail(problem, "this machine has no name in the standard");
  snprintf(parts.binary_name, sizeof parts.binary_name, "binaries/%s/%s.so", platform(e->version),
           identifier);
  bool good = make_parts(e, &parts, problem) && write_archive(e, &parts, problem);
  parts_free(&parts);
  return good;
}
