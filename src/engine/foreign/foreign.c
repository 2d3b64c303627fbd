// SPDX-License-Identifier: MIT
//
// Blocks of the model that are computed outside of the library. Programs look their values up as in
// tables; what a value depends on is among its arguments, so all that the engine does with programs
// (trial steps, dense output, candidates that are dropped) may be done with them. Enclosures know
// nothing about them: their events are found by samples.
#include "engine/run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// One block of a run.
typedef struct Block {
  ModelForeign function;
  const EngForeign* all;
  void* handle;   // NULL: not open
  uint32_t want;  // variable that asks for an event; MODEL_NONE: there is none
} Block;

struct EngForeign {
  SltForeign host;
  const char* folder;
  ModelTable* tables;
  ModelPacks* packs;
  Block* blocks;
  uint32_t count;
};

static double block_value(void* user, const double* args, uint32_t count, int order) {
  const Block* block = user;
  if (!block->handle) return (double)NAN;
  return block->all->host.value(block->handle, args, count, order);
}

/// The variable `:want` beside `:block` in the part of the block.
static uint32_t find_want(const Model* model, Str block) {
  static const char ending[] = ":block";
  uint32_t tail = sizeof ending - 1;
  if (block.length < tail) return MODEL_NONE;
  uint32_t head = block.length - tail;
  for (uint32_t v = 0; v < model->var_count; v++) {
    Str name = model->vars[v].name;
    bool same = name.length == head + 5 && memcmp(name.data, block.data, head) == 0;
    if (same && memcmp(name.data + head, ":want", 5) == 0) return v;
  }
  return MODEL_NONE;
}

SltStatus eng_foreign_create(EngSim* sim) {
  const Model* model = sim->model;
  const SltAllocator* a = &sim->options.allocator;
  if (model->foreign_count == 0) return SLT_OK;
  EngForeign* f = base_alloc(a, sizeof *f);
  if (!f) return SLT_ERR_NOMEM;
  sim->foreign = f;
  f->host = sim->options.foreign ? *sim->options.foreign : (SltForeign){.user = NULL};
  f->folder = sim->options.folder;
  f->count = model->foreign_count;
  f->tables = base_alloc(a, model->table_count * sizeof *f->tables);
  f->packs = base_alloc(a, sizeof *f->packs);
  f->blocks = base_alloc(a, f->count * sizeof *f->blocks);
  if (!f->tables || !f->packs || !f->blocks) return SLT_ERR_NOMEM;
  memcpy(f->tables, sim->history.tables, model->table_count * sizeof *f->tables);
  for (uint32_t i = 0; i < f->count; i++) {
    Block* block = &f->blocks[i];
    const ModelForeignBlock* described = &model->foreigns[i];
    *block = (Block){.function = {block_value, block, f->packs},
                     .all = f,
                     .want = find_want(model, described->name)};
    f->tables[described->table].foreign = &block->function;
  }
  sim->history.tables = f->tables;
  return SLT_OK;
}

ModelPacks* eng_foreign_packs(const EngSim* sim) {
  return sim->foreign ? sim->foreign->packs : NULL;
}

void eng_foreign_free(EngSim* sim) {
  EngForeign* f = sim->foreign;
  for (uint32_t i = 0; f && f->blocks && i < f->count; i++) {
    if (f->blocks[i].handle) f->host.close(f->blocks[i].handle);
    f->blocks[i].handle = NULL;
  }
}

/// The name of a block: `pump` of `pump.:block`.
static Str block_name(Str name) {
  while (name.length && name.data[name.length - 1] != '.')
    name.length--;
  if (name.length) name.length--;
  return name;
}

SltStatus eng_foreign_open_slow(EngSim* sim) {
  EngForeign* f = sim->foreign;
  for (uint32_t i = 0; i < f->count; i++) {
    const ModelForeignBlock* described = &sim->model->foreigns[i];
    char problem[600] = "nobody computes FMUs here";
    char path[4096];
    bool absolute = described->file.length && described->file.data[0] == '/';
    snprintf(path, sizeof path, "%s%.*s", absolute || !f->folder ? "" : f->folder,
             STR_ARGS(described->file));
    SltStatus status = SLT_ERR_UNSUPPORTED;
    if (f->host.open) {
      status = f->host.open(f->host.user, path, sim->options.t_start, sim->options.rtol,
                            &f->blocks[i].handle, problem, sizeof problem);
    }
    if (status >= 0) continue;
    return eng_fail(sim, status, DIAG_E0813, &described->span, "the FMU '%.*s' cannot be used: %s",
                    STR_ARGS(block_name(described->name)), problem);
  }
  return SLT_OK;
}

SltStatus eng_foreign_check_slow(EngSim* sim) {
  EngForeign* f = sim->foreign;
  for (uint32_t i = 0; i < f->count; i++) {
    const ModelForeignBlock* described = &sim->model->foreigns[i];
    void* handle = f->blocks[i].handle;
    const char* problem = handle && f->host.problem ? f->host.problem(handle) : NULL;
    if (!problem) continue;
    return eng_fail(sim, SLT_ERR_UNSUPPORTED, DIAG_E0813, &described->span,
                    "the FMU '%.*s' has failed at t = %s: %s",
                    STR_ARGS(block_name(described->name)), eng_number(sim->core.t).text, problem);
  }
  return SLT_OK;
}

SltStatus eng_foreign_step_slow(EngSim* sim, bool* wants) {
  EngForeign* f = sim->foreign;
  *wants = false;
  // blocks are told of the step at the point where it ends
  if (f->host.step) eng_evaluate_full(sim, sim->core.t);
  for (uint32_t i = 0; f->host.step && i < f->count; i++) {
    const Block* block = &f->blocks[i];
    if (!f->host.step(block->handle) || block->want == MODEL_NONE) continue;
    SLT_TRY(eng_set(sim, block->want, 0, 1.0));
    *wants = true;
  }
  return eng_foreign_check_slow(sim);
}
