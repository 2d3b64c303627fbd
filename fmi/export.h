// SPDX-License-Identifier: MIT
//
// A model as an FMU: description, library and text in one archive.
#ifndef SALTUS_FMI_EXPORT_H
#define SALTUS_FMI_EXPORT_H

#include "variables.h"

/// Interfaces of an FMU: one of them or both.
typedef enum FmuKind { FMU_EXCHANGE = 1, FMU_CO_SIMULATION = 2, FMU_BOTH = 3 } FmuKind;

/// Files that the library is built from, by their places in the folder `sources`.
typedef struct FmuSources {
  char** names;
  char** texts;
  size_t* lengths;
  uint32_t count;
} FmuSources;

/// Read them from an archive. False with a text that names what is wrong.
bool fmu_sources_read(FmuSources* out, const char* path, char* problem, size_t size);
void fmu_sources_free(FmuSources* sources);
/// Whether a file is compiled, not only included.
bool fmu_source_is_code(const char* name);

typedef struct FmuExport {
  FmuKind kind;
  uint32_t version;            // 2 or 3
  const char* name;            // of the model
  const char* binary;          // path of the library that runs models
  const char* out;             // path of the FMU
  const char* source_archive;  // path of the sources that it carries; NULL for none
  const SltModel* model;
  // the files of the model: the first is the model itself
  const char* const* file_names;  // without folders
  const char* const* file_texts;
  const size_t* file_lengths;
  uint32_t file_count;
  const SltOverride* overrides;
  uint32_t override_count;
} FmuExport;

/// Write the FMU. False with what is wrong in `problem`; free() it.
bool fmu_export(const FmuExport* export, char** problem);

/// A name that C and file systems take: letters, digits, '_'.
void fmu_identifier(const char* name, char* out, size_t size);

/// The file modelDescription.xml; free() it. NULL when memory is exhausted.
char* fmu_description(const FmuVariables* variables, const FmuExport* export,
                      const FmuSources* sources, const char* token, size_t* length);

/// The file terminalsAndIcons/terminalsAndIcons.xml of version 3: ports that the model leaves to
/// others; free() it. NULL for none.
char* fmu_terminals(const FmuVariables* variables, const SltModel* model, size_t* length);

/// The file sources/buildDescription.xml of version 3; free() it. NULL when memory is exhausted.
char* fmu_build_description(const FmuExport* export, const FmuSources* sources, size_t* length);

#endif
