// SPDX-License-Identifier: MIT
//
// Making a model that runs out of an IR. Second public header of the module, for src/api only: the
// runtime library has everything but this and the build_*.c behind it.
//
// A ModelBuild owns the tables that do not depend on the mode and a locked cache of compiled modes.
// The IR is only read; several builds may share one.
#ifndef SALTUS_MODEL_BUILD_H
#define SALTUS_MODEL_BUILD_H

#include "ir/ir.h"
#include "model/model.h"

typedef struct ModelBuild ModelBuild;

/// `ir` is borrowed and must outlive the build. SLT_OK or SLT_ERR_NOMEM; `*out` is NULL on failure.
/// What is wrong with the model is told by model_build_check, and by the provider for every mode.
SltStatus model_build_create(const SltAllocator* allocator, const IrModel* ir, ModelBuild** out);
void model_build_free(ModelBuild* build);

/// Bytes that the tables and the modes compiled so far take.
size_t model_build_memory(ModelBuild* build);
const Model* model_build_model(const ModelBuild* build);
/// Compiles a mode when it is first asked for; failures are remembered too, except running out of
/// memory. May be used by several threads.
ModelProvider model_build_provider(ModelBuild* build);

/// Structural check of the first mode, whose failure is an error, and of up to `limit` modes one
/// step away: states of automata that edit equations, one of each family of automata, the others in
/// their first states (those around a nested one where it is active). What fails there is a
/// warning: no run may ever come to it. Returns how many modes were not looked at.
double model_build_check(ModelBuild* build, uint32_t limit, DiagList* diags);

/// Readable structure of one mode: unknowns, states, order of solution, what each equation
/// determines, shapes and the number of their instances.
void model_build_explain(ModelBuild* build, const uint32_t* mode, TextBuffer* out);
/// The same as members of a JSON object, each with a comma behind it; nothing for a mode that
/// fails.
void model_build_explain_json(ModelBuild* build, const uint32_t* mode, TextBuffer* out);

#endif
