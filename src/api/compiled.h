// SPDX-License-Identifier: MIT
//
// A model compiled from text: the text, its IR and the builder of modes, in one arena.
#ifndef SALTUS_API_COMPILED_H
#define SALTUS_API_COMPILED_H

#include "api/handles.h"
#include "ir/ir.h"
#include "model/build.h"
#include "rules/rules.h"

#include <saltus/saltus.h>

typedef struct CompiledModel {
  SltModel base;  // first: an SltModel* made here is a CompiledModel*
  SltAllocator allocator;
  Arena arena;
  Source source;
  IrModel ir;
  ModelBuild* build;
  const char** out_names;  // of the experiment
  RulesModel* rules;       // the tables it comes from; NULL for equations
} CompiledModel;

/// Open a file for the compiler; sizes are limited. Free with base_free().
SltStatus compile_read_file(const char* path, const SltAllocator* allocator, char** content,
                            size_t* length);
/// SltLoadFn that looks beside the file named by `user`.
SltStatus compile_load_beside(void* user, const char* name, const SltAllocator* allocator,
                              char** content, size_t* length);
/// Whether a file holds rule tables, by its ending.
bool compile_is_rules(const char* name);
/// "FOLDER/rules.csv" when `path` is a folder of tables, else NULL. Free with base_free().
char* compile_rules_folder(const char* path, const SltAllocator* allocator, size_t* size);
/// Messages to the caller's sink.
void compile_send(const SltCompileOptions* options, DiagList* list, Arena* arena);
/// RulesLoadFn and its user data over the caller's `load`.
typedef struct CompileLoader {
  const SltCompileOptions* options;
  const SltAllocator* allocator;
} CompileLoader;
SltStatus compile_load(void* user, Str name, Arena* arena, Str* content);

#endif
