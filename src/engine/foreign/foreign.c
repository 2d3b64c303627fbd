// SPDX-License-Identifier: MIT
//
// Blocks of the model that are computed outside of the library. Programs look their values up as in
// tables; what a value depends on is among its arguments, so all that the engine does with programs
// (trial steps, dense output, candidates that are dropped) may be done with them. Enclosures know
// nothing about them: their events are found by samples.
#include "engine/run/run.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define JUMP_ULPS 64.0

/// One block of a run.
typedef struct Block {
  ModelForeign function;
  const EngForeign* all;
  void* handle;      // NULL: not open
  uint32_t want;     // variable that asks for an event; MODEL_NONE: there is none
  uint32_t* inputs;  // variables whose jumps it has to be told of
  uint32_t input_count;
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

/// The rest of a name behind the one of a part; false where it is of something else.
static bool is_member(Str name, Str part, Str* rest) {
  if (name.length < part.length || memcmp(name.data, part.data, part.length) != 0) return false;
  *rest = (Str){name.data + part.length, name.length - part.length};
  return true;
}

static uint32_t find_member(const Model* model, Str part, Str wanted) {
  for (uint32_t v = 0; v < model->var_count; v++) {
    Str rest;
    if (is_member(model->vars[v].name, part, &rest) && str_equal(rest, wanted)) return v;
  }
  return MODEL_NONE;
}

/// What the part of a block tells by names: `:want` asks for an event; jumps of x are told where
/// there is an `:in x` beside it.
static SltStatus find_members(EngSim* sim, Block* block, Str data) {
  static const char ending[] = ":block";
  const Model* model = sim->model;
  block->want = MODEL_NONE;
  if (data.length < sizeof ending - 1) return SLT_OK;
  Str part = {data.data, data.length - (uint32_t)(sizeof ending - 1)};
  block->want = find_member(model, part, STR_LIT(":want"));
  block->inputs =
      base_alloc(&sim->options.allocator, (model->var_count + 1) * sizeof *block->inputs);
  if (!block->inputs) return SLT_ERR_NOMEM;
  for (uint32_t v = 0; v < model->var_count; v++) {
    Str rest;
    Str name;
    bool is_input = is_member(model->vars[v].name, part, &rest) && model->vars[v].hidden;
    if (!is_input || !is_member(rest, STR_LIT(":in "), &name)) continue;
    uint32_t input = find_member(model, part, name);
    if (input != MODEL_NONE) block->inputs[block->input_count++] = input;
  }
  return SLT_OK;
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
    *block = (Block){.function = {block_value, block, f->packs}, .all = f};
    SLT_TRY(find_members(sim, block, described->name));
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
  uint32_t length = name.length;
  while (length && name.data[length - 1] != '.')
    length--;
  return length ? (Str){name.data, length - 1} : name;
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

static bool jumps(const EngSim* sim, const Block* block) {
  for (uint32_t i = 0; i < block->input_count; i++) {
    uint32_t env = sim->model->vars[block->inputs[i]].env;
    double before = sim->values.before[env];
    double after = sim->env[env];
    double noise = JUMP_ULPS * DBL_EPSILON * fmax(fabs(before), fabs(after));
    if (fabs(after - before) > noise) return true;
  }
  return false;
}

void eng_foreign_instant_slow(EngSim* sim) {
  EngForeign* f = sim->foreign;
  for (uint32_t i = 0; i < f->count; i++) {
    const Block* block = &f->blocks[i];
    if (block->want == MODEL_NONE || !jumps(sim, block)) continue;
    sim->env[sim->model->vars[block->want].env] = 1.0;
    sim->core.touched = true;
  }
}
