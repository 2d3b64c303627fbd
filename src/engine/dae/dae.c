// SPDX-License-Identifier: MIT
//
// Modes whose equations constrain their states.
//
// Every derivative below those solved for is a state, and the motion follows the differentiated
// equations. What they were differentiated from holds only as well as the integrator keeps it, so
// the end of each step is brought back to it by the smallest change (Newton's method on all levels
// of all constraints at once). No choice of independent states has to be made, so none can become
// singular on the way.
//
// When a mode is entered its constraints need not hold. Two ways lead to values for which they do:
//   - at the start of a run, and where the model gives guesses: fixed values stay, what is solved
//     for and derivatives move first, then guesses, then what has no value of its own, and what was
//     carried over from before the event last (initialise.c);
//   - otherwise the equations are integrated over the instant (impulse.c).
#include "engine/dae/parts.h"

#include <math.h>
#include <string.h>

// ---- memory and programs ------------------------------------------------------------------------

static size_t work_size(const ModelMode* mode) {
  const ModelImplicit* implicit = mode->implicit;
  if (implicit->quantity_count == 0) return 64;
  size_t n = mode->state_count;
  size_t c = implicit->constraint_count;
  size_t project = implicit->constraint.output_count + implicit->project.output_count +
                   implicit->constraint_entry_count + 4 * c + 5 * n;
  size_t settle = dae_initialise_size(implicit);
  size_t jump = c ? dae_reinitialise_size(implicit) : 0;
  size_t largest = project > settle ? project : settle;
  return (largest > jump ? largest : jump) + 64;
}

SltStatus dae_normal(EngSim* sim, const ModelEntry* entries, uint32_t count, uint32_t rows,
                     uint32_t columns, NumNormal** normal) {
  if (*normal) return SLT_OK;
  const SltAllocator* allocator = &sim->options.allocator;
  size_t bytes = base_mul_size((size_t)count + 1, sizeof(NumEntry));
  NumEntry* places = base_alloc(allocator, bytes);
  SltStatus status = SLT_ERR_NOMEM;
  if (places) {
    for (uint32_t i = 0; i < count; i++) {
      places[i] = (NumEntry){entries[i].row, entries[i].column};
    }
    status = num_normal_create(allocator, places, count, rows, columns, normal);
    base_free(allocator, places, bytes);
  }
  if (status == SLT_ERR_NOMEM) {
    return eng_fail(sim, status, DIAG_E0811, NULL, "out of memory for the equations of a mode");
  }
  if (status < 0) {
    eng_fail(sim, SLT_ERR_LIMIT, DIAG_E0525, NULL,
             "%u equations of a mode are tied together so closely that they do not fit into memory",
             rows);
  }
  return status;
}

EngDaeNormals* dae_normals(EngSim* sim) {
  return &sim->dae.normals[sim->core.mode->id];
}

static SltStatus make_normals(EngSim* sim, const ModelMode* mode) {
  EngDae* im = &sim->dae;
  const ModelImplicit* implicit = mode->implicit;
  SLT_TRY(ENG_GROW(sim, im->normals, (size_t)mode->id + 1));
  if (implicit->constraint_count == 0) return SLT_OK;
  return dae_normal(sim, implicit->constraint_entries, implicit->constraint_entry_count,
                    implicit->constraint_count, mode->state_count,
                    &im->normals[mode->id].constraint);
}

SltStatus eng_dae_room(EngSim* sim, const ModelMode* mode) {
  EngDae* im = &sim->dae;
  const ModelImplicit* implicit = mode->implicit;
  size_t constraint = implicit->constraint.reg_count;
  size_t project = implicit->project.reg_count;
  size_t system = implicit->system.reg_count;
  size_t impulse = mode->impulse ? mode->impulse->slopes.reg_count : 0;
  size_t outputs = mode->impulse ? mode->impulse->slopes.output_count : 0;
  SLT_TRY(ENG_GROW(sim, im->regs, constraint + project + system + impulse + 1));
  SLT_TRY(ENG_GROW(sim, im->work, work_size(mode) + outputs + mode->atom_count));
  SLT_TRY(ENG_GROW(sim, im->impulse, 2 * (size_t)implicit->quantity_count + 1));
  SLT_TRY(ENG_GROW(sim, im->guard, (size_t)mode->atom_count + 1));
  SLT_TRY(ENG_GROW(sim, im->entry, (size_t)implicit->quantity_count + 1));
  SLT_TRY(ENG_GROW(sim, im->marks, (size_t)implicit->row_count + 1));
  SLT_TRY(make_normals(sim, mode));
  if (mode->relaxed) {
    SLT_TRY(ENG_GROW(sim, im->relations, (size_t)2 * ENG_DAE_PIECES * mode->atom_count));
    memset(im->points, 0, sizeof im->points);
  }
  im->constraint_regs = im->regs;
  im->project_regs = im->constraint_regs + constraint;
  im->system_regs = im->project_regs + project;
  im->impulse_regs = im->system_regs + system;
  return SLT_OK;
}

void eng_dae_bind(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngDae* im = &sim->dae;
  model_program_bind(&mode->implicit->constraint, sim->env, im->constraint_regs);
  model_program_bind(&mode->implicit->project, sim->env, im->project_regs);
  model_program_bind(&mode->implicit->system, sim->env, im->system_regs);
  if (mode->impulse) model_program_bind(&mode->impulse->slopes, sim->env, im->impulse_regs);
}

void eng_dae_note_guess(EngSim* sim, const ModelProgram* program) {
  for (uint32_t i = 0; i < program->solve_count; i++) {
    const ModelSolve* solve = &program->solves[i];
    for (uint32_t k = 0; !solve->linear && k < solve->count; k++) {
      uint32_t env = solve->guess_env[k];
      if (env != MODEL_NONE && isfinite(sim->env[env])) sim->values.guess[env] = sim->env[env];
    }
  }
}

void eng_dae_guess(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->implicit && !mode->implicit->iterates && sim->core.slide.count == 0) return;
  const ModelProgram* programs[] = {&mode->rhs, &mode->full, &mode->g, &mode->g_flow, &mode->gdot};
  for (size_t i = 0; i < SLT_COUNT(programs); i++) {
    eng_dae_note_guess(sim, programs[i]);
  }
  const EngSlide* slide = &sim->core.slide;
  // by value there are no modes beside the present one
  uint32_t rows = slide->count && !slide->by_value ? slide->rows : 0;
  for (uint32_t row = 0; row < rows; row++) {
    eng_dae_note_guess(sim, &sim->sliding.sides.regs[row].mode->rhs);
    eng_dae_note_guess(sim, &sim->sliding.sides.regs[row].mode->full);
  }
  eng_dae_use_guess(sim);
  for (uint32_t row = 0; row < rows; row++) {
    EngSideRegs* r = &sim->sliding.sides.regs[row];
    model_program_guess(&r->mode->rhs, sim->values.guess, r->rhs);
    model_program_guess(&r->mode->full, sim->values.guess, r->full);
    model_program_guess(&r->mode->gdot, sim->values.guess, r->gdot);
  }
}

void eng_dae_use_guess(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->implicit && !mode->implicit->iterates) return;
  const ModelProgram* programs[] = {&mode->rhs, &mode->full, &mode->g, &mode->g_flow, &mode->gdot};
  double* regs[] = {sim->programs.rhs, sim->programs.full, sim->programs.g, sim->programs.g_flow,
                    sim->programs.gdot};
  for (size_t i = 0; i < SLT_COUNT(programs); i++) {
    model_program_guess(programs[i], sim->values.guess, regs[i]);
  }
  for (uint32_t i = 0; i < mode->g_flow.solve_count && mode->atom_count > 0; i++) {
    const ModelSolve* solve = &mode->g_flow.solves[i];
    for (uint32_t k = 0; !solve->linear && k < solve->count; k++) {
      if (solve->guess_env[k] == MODEL_NONE) continue;
      ModelInterval guess = model_interval_point(sim->values.guess[solve->guess_env[k]]);
      sim->programs.dual[solve->guesses[k]] = (ModelDual){guess, {0.0, 0.0}};
    }
  }
}

double* dae_take(double** at, size_t count) {
  double* piece = *at;
  *at += count;
  return piece;
}

// ---- quantities ---------------------------------------------------------------------------------

void dae_gather(const EngSim* sim, const ModelImplicit* im, double* q) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    uint32_t env = im->quantities[i].env;
    q[i] = env == MODEL_NONE ? 0.0 : sim->env[env];
    if (!isfinite(q[i])) q[i] = sim->values.guess[env];
  }
}

void dae_scatter(EngSim* sim, const ModelImplicit* im, const double* q, bool tops) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    const ModelQuantity* quantity = &im->quantities[i];
    if (quantity->env == MODEL_NONE || (!tops && quantity->state == MODEL_NONE)) continue;
    sim->env[quantity->env] = q[i];
    if (quantity->state != MODEL_NONE) sim->x[quantity->state] = q[i];
  }
}

void dae_run_system(EngSim* sim, const ModelImplicit* im, const double* q, double* out) {
  const ModelContext* context = eng_context(sim);
  model_program_run(&im->system, context, sim->dae.system_regs, sim->core.t, q, out);
}

void eng_dae_create(EngSim* sim) {
  sim->dae.failed = MODEL_NONE;
  sim->dae.least = MODEL_NONE;
  sim->dae.contradicted = MODEL_NONE;
  sim->dae.drift_from = (double)NAN;
}

void eng_dae_free(EngSim* sim) {
  EngDae* dae = &sim->dae;
  for (size_t i = 0; i < ENG_ROOM(dae->normals); i++) {
    num_normal_free(dae->normals[i].constraint);
    num_normal_free(dae->normals[i].system);
  }
}

// ---- entering a mode ----------------------------------------------------------------------------

static bool has_guess(const EngSim* sim, const ModelImplicit* im) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    uint32_t env = im->quantities[i].env;
    if (env != MODEL_NONE && sim->values.given[env] == ENG_GIVEN_GUESS) return true;
  }
  return false;
}

static SltStatus make_consistent(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  bool initial = sim->dae.initial;
  sim->dae.failed = MODEL_NONE;
  sim->dae.contradicts = false;
  if (im->quantity_count == 0) return SLT_OK;
  dae_gather(sim, im, sim->dae.entry);
  if (im->constraint_count == 0) {
    // a first solution; where initial values fix what is computed, there may be none
    if (!initial || !im->settles) return SLT_OK;
    SltStatus status = dae_initialise(sim);
    if (status < 0 && im->fixes_computed) return status;
    eng_bind(sim);
    return SLT_OK;
  }
  double before = initial ? (double)NAN : dae_distance(sim);
  bool rounding = before > 0.0 && before <= DAE_ROUNDING;
  if (before == 0.0 || (im->repeats && rounding)) {
    eng_trace_residual(sim, before, before);
    return SLT_OK;
  }
  if (initial || has_guess(sim, im)) {
    SLT_TRY(dae_initialise(sim));
  } else {
    SltStatus status = dae_reinitialise(sim, before);
    // a mode may hold for an instant, in passing to another, and determine no correction: values
    // that satisfy it but for rounding stay as they are
    if (status == SLT_ERR_STRUCTURE && rounding) {
      sim->error.status = SLT_OK;
      eng_trace_residual(sim, before, before);
      eng_bind(sim);
      return SLT_OK;
    }
    SLT_TRY(status);
  }
  SLT_TRY(dae_close_rest(sim));
  if (sim->report.to.on_event && !initial) eng_trace_residual(sim, before, dae_distance(sim));
  eng_bind(sim);
  return SLT_OK;
}

SltStatus eng_dae_enter(EngSim* sim) {
  dae_release_complementary(sim);
  SltStatus status = make_consistent(sim);
  if (status != SLT_ERR_STRUCTURE || !sim->dae.tentative) return status;
  // another position of the switches or another state may do: the values as they are say which
  sim->dae.contradicts = true;
  sim->error.status = SLT_OK;
  if (!sim->dae.initial) dae_pull_apart(sim);
  eng_bind(sim);
  return SLT_OK;
}

void eng_dae_rescue(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  uint32_t failed = sim->dae.failed;
  if (im->quantity_count == 0 || failed == MODEL_NONE) return;
  if (!dae_solve_tops(sim)) return;
  eng_bind(sim);
  sim->dae.failed = MODEL_NONE;
  eng_evaluate_full(sim, sim->core.t);
}
