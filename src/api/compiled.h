// SPDX-License-Identifier: MIT
//
// A model compiled from text: the text, its IR and the builder of modes, in one arena.
#ifndef SALTUS_API_COMPILED_H
#define SALTUS_API_COMPILED_H

#include "api/handles.h"
#include "ir/ir.h"
#include "model/build.h"

#include <saltus/saltus.h>

typedef struct CompiledModel {
  SltModel base;  // first: an SltModel* made here is a CompiledModel*
  SltAllocator allocator;
  Arena arena;
  Source source;
  IrModel ir;
  ModelBuild* build;
  const char** out_names;  // of the experiment
} CompiledModel;

#endif
