// SPDX-License-Identifier: MIT
//
// A model compiled from text: the text, its IR and the builder of modes, in one arena.
#ifndef SALTUS_API_COMPILED_H
#define SALTUS_API_COMPILED_H

#include "api/handles.h"
#include "ir/ir.h"
#include "model/build.h"
#include "native/native.h"
#include "rules/rules.h"

#include <saltus/saltus.h>

#define SOURCE_BYTES_MAX (256u << 20)  // longer texts are refused

typedef struct CompiledModel {
  SltModel base;  // first: an SltModel* made here is a CompiledModel*
  SltAllocator allocator;
  Arena arena;
  Source source;
  IrModel ir;
  ModelBuild* build;
  const char** out_names;  // of the experiment
  SltExperimentSetting* plot;
  RulesModel* rules;   // the tables it comes from; NULL for equations
  NativeTier* native;  // NULL: the tape alone
  double unchecked_modes;
} CompiledModel;

/// Read a file, or a folder of tables, and hand its text on: `folder` is then true and the text
/// NULL. Further files are looked for beside it unless the options say how to load them.
typedef SltStatus CompileTextFn(const char* name, const char* text, size_t length, bool folder,
                                const SltCompileOptions* options, void* out);
SltStatus compile_from_file(const char* path, const SltCompileOptions* options, CompileTextFn* fn,
                            void* out);
/// Values given for constants that are not there: a message each, with the nearest name. `name_of`
/// is false behind the last name; an empty one is not offered. `variable`: no constant.
typedef bool CompileNameFn(const void* names, uint32_t index, Str* out, bool* variable);
SltStatus compile_report_unknown(DiagList* diags, const LismaOverride* overrides, uint32_t count,
                                 const bool* applied, CompileNameFn* name_of, const void* names);
/// Messages to the caller's sink.
void compile_send(const SltCompileOptions* options, DiagList* list, Arena* arena);
/// RulesLoadFn and its user data over the caller's `load`.
typedef struct CompileLoader {
  const SltCompileOptions* options;
  const SltAllocator* allocator;
  Str model;  // its name: foreign files are beside it
} CompileLoader;
SltStatus compile_load(void* user, Str name, Arena* arena, Str* content);
/// LismaOptions.place_file over a CompileLoader.
Str compile_place(void* user, Arena* arena);

#endif
