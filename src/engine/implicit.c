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
//     carried over from before the event last (implicit_settle.c);
//   - otherwise the equations are integrated over the instant (implicit_jump.c).
#include "engine/implicit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROJECT_MAX  12
#define PROJECT_TINY 1e-14  // distance from the constraints, relative: nothing is to be done
#define PROJECT_GOOD 1e-9   // ... acceptable when it cannot be made smaller

// ---- memory and programs ------------------------------------------------------------------------

static size_t work_size(const ModelMode* mode) {
  const ModelImplicit* implicit = mode->implicit;
  if (implicit->quantity_count == 0) return 64;
  size_t n = mode->state_count;
  size_t c = implicit->constraint_count;
  size_t project = implicit->constraint.output_count + implicit->project.output_count +
                   implicit->constraint_entry_count + 4 * c + 3 * n;
  size_t settle = imp_settle_size(implicit);
  size_t jump = c ? imp_jump_size(implicit) : 0;
  size_t largest = project > settle ? project : settle;
  return (largest > jump ? largest : jump) + 64;
}

SltStatus imp_normal(EngSim* sim, const ModelEntry* entries, uint32_t count, uint32_t rows,
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

EngNormals* imp_normals(EngSim* sim) {
  return &sim->implicit.normals[sim->core.mode->id];
}

static SltStatus make_normals(EngSim* sim, const ModelMode* mode) {
  EngImplicit* im = &sim->implicit;
  const ModelImplicit* implicit = mode->implicit;
  size_t known = im->normal_capacity;
  SLT_TRY(eng_grow(sim, (void**)&im->normals, &im->normal_capacity, (size_t)mode->id + 1,
                   sizeof *im->normals));
  for (size_t i = known; i < im->normal_capacity; i++) {
    im->normals[i] = (EngNormals){0};
  }
  if (implicit->constraint_count == 0) return SLT_OK;
  return imp_normal(sim, implicit->constraint_entries, implicit->constraint_entry_count,
                    implicit->constraint_count, mode->state_count,
                    &im->normals[mode->id].constraint);
}

SltStatus eng_implicit_room(EngSim* sim, const ModelMode* mode) {
  EngImplicit* im = &sim->implicit;
  const ModelImplicit* implicit = mode->implicit;
  size_t constraint = implicit->constraint.reg_count;
  size_t project = implicit->project.reg_count;
  size_t system = implicit->system.reg_count;
  size_t impulse = mode->impulse ? mode->impulse->slopes.reg_count : 0;
  size_t outputs = mode->impulse ? mode->impulse->slopes.output_count : 0;
  SLT_TRY(eng_grow(sim, (void**)&im->regs, &im->reg_capacity,
                   constraint + project + system + impulse + 1, sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&im->work, &im->work_capacity, work_size(mode) + outputs,
                   sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&im->impulse, &im->impulse_capacity,
                   (size_t)implicit->quantity_count + 1, sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&im->guard, &im->guard_capacity, (size_t)mode->atom_count + 1,
                   sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&im->entry, &im->entry_capacity,
                   (size_t)implicit->quantity_count + 1, sizeof(double)));
  SLT_TRY(
      eng_grow(sim, (void**)&im->marks, &im->mark_capacity, (size_t)implicit->row_count + 1, 1));
  SLT_TRY(make_normals(sim, mode));
  im->constraint_regs = im->regs;
  im->project_regs = im->constraint_regs + constraint;
  im->system_regs = im->project_regs + project;
  im->impulse_regs = im->system_regs + system;
  return SLT_OK;
}

void eng_implicit_bind(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngImplicit* im = &sim->implicit;
  model_program_bind(&mode->implicit->constraint, sim->env, im->constraint_regs);
  model_program_bind(&mode->implicit->project, sim->env, im->project_regs);
  model_program_bind(&mode->implicit->system, sim->env, im->system_regs);
  if (mode->impulse) model_program_bind(&mode->impulse->slopes, sim->env, im->impulse_regs);
}

void eng_implicit_note_guess(EngSim* sim, const ModelProgram* program) {
  for (uint32_t i = 0; i < program->solve_count; i++) {
    const ModelSolve* solve = &program->solves[i];
    for (uint32_t k = 0; !solve->linear && k < solve->count; k++) {
      uint32_t env = solve->guess_env[k];
      if (env != MODEL_NONE && isfinite(sim->env[env])) sim->guess[env] = sim->env[env];
    }
  }
}

void eng_implicit_guess(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->implicit && !mode->implicit->iterates && sim->core.slide.count == 0) return;
  const ModelProgram* programs[] = {&mode->rhs, &mode->full, &mode->g, &mode->g_flow, &mode->gdot};
  for (size_t i = 0; i < SLT_COUNT(programs); i++) {
    eng_implicit_note_guess(sim, programs[i]);
  }
  const EngSlide* slide = &sim->core.slide;
  // by value there are no modes beside the present one
  uint32_t sides = slide->count && !slide->by_value ? 1u << slide->count : 0;
  for (uint32_t side = 0; side < sides; side++) {
    eng_implicit_note_guess(sim, &slide->modes[side]->rhs);
    eng_implicit_note_guess(sim, &slide->modes[side]->full);
  }
  eng_implicit_use_guess(sim);
  for (uint32_t side = 0; side < sides; side++) {
    model_program_guess(&slide->modes[side]->rhs, sim->guess, sim->side_regs[side].rhs);
    model_program_guess(&slide->modes[side]->full, sim->guess, sim->side_regs[side].full);
  }
}

void eng_implicit_use_guess(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->implicit && !mode->implicit->iterates) return;
  const ModelProgram* programs[] = {&mode->rhs, &mode->full, &mode->g, &mode->g_flow, &mode->gdot};
  double* regs[] = {sim->rhs_regs, sim->full_regs, sim->g_regs, sim->g_flow_regs, sim->gdot_regs};
  for (size_t i = 0; i < SLT_COUNT(programs); i++) {
    model_program_guess(programs[i], sim->guess, regs[i]);
  }
  for (uint32_t i = 0; i < mode->g_flow.solve_count && mode->atom_count > 0; i++) {
    const ModelSolve* solve = &mode->g_flow.solves[i];
    for (uint32_t k = 0; !solve->linear && k < solve->count; k++) {
      if (solve->guess_env[k] == MODEL_NONE) continue;
      ModelInterval guess = model_interval_point(sim->guess[solve->guess_env[k]]);
      sim->dual_regs[solve->guesses[k]] = (ModelDual){guess, {0.0, 0.0}};
    }
  }
}

double* imp_take(double** at, size_t count) {
  double* piece = *at;
  *at += count;
  return piece;
}

// ---- projection ---------------------------------------------------------------------------------

typedef struct Projection {
  const ModelImplicit* im;
  NumNormal* normal;
  uint32_t n, c;
  double* out;  // of the program
  double* g;    // entries of the Jacobian by nominal values
  double* scale;
  double* lambda;
  double* work;
  double* change;
  double* row;  // sizes of the rows
  double* weight;
} Projection;

static Projection projection(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const ModelImplicit* im = mode->implicit;
  double* at = sim->implicit.work;
  Projection p = {.im = im,
                  .normal = imp_normals(sim)->constraint,
                  .n = mode->state_count,
                  .c = im->constraint_count};
  p.out = imp_take(&at, im->constraint.output_count);
  p.g = imp_take(&at, im->constraint_entry_count);
  p.scale = imp_take(&at, p.c);
  p.lambda = imp_take(&at, p.c);
  p.row = imp_take(&at, p.c);
  p.weight = imp_take(&at, p.n);
  p.work = imp_take(&at, p.n);
  p.change = imp_take(&at, p.n);
  for (uint32_t i = 0; i < p.n; i++) {
    p.weight[i] = eng_nominal(sim, mode->state_env[i]);
  }
  return p;
}

/// How far the constraints are from holding: the largest distance to one of them, by nominal
/// values. Negative when something is not a number.
static double constraint_distance(EngSim* sim, Projection* p, double t, const double* x) {
  const ModelContext* context = eng_context(sim);
  model_program_run(&p->im->constraint, context, sim->implicit.constraint_regs, t, x, p->out);
  memset(p->row, 0, p->c * sizeof *p->row);
  for (uint32_t i = 0; i < p->im->constraint_entry_count; i++) {
    const ModelEntry* entry = &p->im->constraint_entries[i];
    p->g[i] = p->out[entry->reg] * p->weight[entry->column];
    p->row[entry->row] += p->g[i] * p->g[i];
  }
  double distance = 0.0;
  for (uint32_t i = 0; i < p->c; i++) {
    double sum = p->row[i];
    p->row[i] = sqrt(sum);
    double part = p->row[i] > 0.0 ? fabs(p->out[i]) / p->row[i] : fabs(p->out[i]);
    if (!(part <= DBL_MAX) || !(sum <= DBL_MAX)) return -1.0;
    if (part > distance) distance = part;
  }
  return distance;
}

static double state_size(const EngSim* sim, const double* x) {
  const ModelMode* mode = sim->core.mode;
  double size = 1.0;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double part = fabs(x[i]) / eng_nominal(sim, mode->state_env[i]);
    if (part > size) size = part;
  }
  return size;
}

/// One step of Newton's method by the smallest change; x is changed.
static bool project_step(Projection* p, double* x) {
  // constraints that say the same twice; whether they agree, the distance left will tell
  bool repeats = p->im->repeats;
  if (num_normal_factor(p->normal, p->g, repeats ? 1e-13 : 0.0, repeats ? 0.0 : 1e-13) < 0) {
    return false;
  }
  for (uint32_t i = 0; i < p->c; i++) {
    p->lambda[i] = -p->out[i];
  }
  num_normal_solve(p->normal, p->lambda);
  memset(p->change, 0, p->n * sizeof *p->change);
  for (uint32_t i = 0; i < p->im->constraint_entry_count; i++) {
    const ModelEntry* entry = &p->im->constraint_entries[i];
    p->change[entry->column] += p->g[i] * p->lambda[entry->row];
  }
  for (uint32_t j = 0; j < p->n; j++) {
    x[j] += p->weight[j] * p->change[j];
  }
  return true;
}

/// Few constraints have a program for distance and step together; work space: its outputs.
static double straight_distance(EngSim* sim, double t, const double* x, double* out) {
  const ModelContext* context = eng_context(sim);
  const ModelProgram* project = &sim->core.mode->implicit->project;
  model_program_run(project, context, sim->implicit.project_regs, t, x, out);
  return out[0] <= DBL_MAX ? sqrt(out[0]) : -1.0;
}

static bool straight_step(const ModelImplicit* im, const double* out, double* x) {
  if (out[1] == 0.0) return false;
  for (uint32_t k = 0; k + 2 < im->project.output_count; k++) {
    x[im->project_states[k]] += out[k + 2];
  }
  return true;
}

bool eng_project(EngSim* sim, double t, double* x, bool* changed) {
  const ModelImplicit* im = sim->core.mode->implicit;
  *changed = false;
  if (im->constraint_count == 0 || sim->core.slide.count) return true;
  bool straight = im->project.output_count > 0;
  Projection p = straight ? (Projection){.n = 0} : projection(sim);
  double* out = sim->implicit.work;
  double size = state_size(sim, x);
  double last = (double)INFINITY;
  for (int pass = 0; pass < PROJECT_MAX; pass++) {
    double distance =
        straight ? straight_distance(sim, t, x, out) : constraint_distance(sim, &p, t, x);
    if (distance < 0.0) return false;
    if (distance <= PROJECT_TINY * size) return true;
    if (distance > 0.5 * last && distance <= PROJECT_GOOD * size) return true;
    if (pass > 2 && distance > 2.0 * last) return false;
    bool done = straight ? straight_step(im, out, x) : project_step(&p, x);
    if (!done) return distance <= PROJECT_GOOD * size;
    *changed = true;
    last = distance;
  }
  return last <= PROJECT_GOOD * size;
}

SltStatus eng_project_trial(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->implicit->constraint_count == 0) return SLT_OK;
  memcpy(sim->x, sim->stepper->trial.x, mode->state_count * sizeof *sim->x);
  bool changed = false;
  if (!eng_project(sim, sim->stepper->trial.t, sim->x, &changed)) {
    sim->implicit.drift_t = sim->stepper->trial.t;
    return SLT_ERR_STEP;
  }
  if (changed) num_stepper_correct(sim->stepper, sim->x);
  return SLT_OK;
}

/// Whether the constraints' directions, as they stand in p->g, have become dependent.
static bool constraints_meet(Projection* p) {
  for (uint32_t i = 0; i < p->im->constraint_entry_count; i++) {
    double size = p->row[p->im->constraint_entries[i].row];
    p->g[i] = size > 0.0 ? p->g[i] / size : 0.0;
  }
  return num_normal_factor(p->normal, p->g, 0.0, 1e-10) < 0;
}

bool eng_fail_drift(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  double ahead = sim->implicit.drift_t - sim->core.t;
  if (!im || im->constraint_count == 0 || sim->core.slide.count) return false;
  Projection p = projection(sim);
  constraint_distance(sim, &p, sim->core.t, sim->x);
  // steps may have become small before: what stopped larger ones from here is the reason
  bool drifted = ahead > 0.0 && ahead <= 1e-3 * fmax(1.0, fabs(sim->core.t));
  if (!drifted && !constraints_meet(&p)) return false;
  imp_fail_drift(sim, p.out);
  return true;
}

SltStatus eng_check_trial(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->full.solve_count <= mode->rhs.solve_count || sim->core.slide.count) return SLT_OK;
  const ModelContext* context = eng_context(sim);
  sim->implicit.failed = MODEL_NONE;
  model_program_run(&mode->full, context, sim->full_regs, sim->stepper->trial.t,
                    sim->stepper->trial.x, sim->full);
  return sim->implicit.failed == MODEL_NONE ? SLT_OK : SLT_ERR_NO_CONVERGENCE;
}

// ---- quantities ---------------------------------------------------------------------------------

double imp_nominal(const EngSim* sim, const ModelQuantity* quantity) {
  return sim->model->vars[quantity->var].nominal;
}

void imp_gather(const EngSim* sim, const ModelImplicit* im, double* q) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    uint32_t env = im->quantities[i].env;
    q[i] = env == MODEL_NONE ? 0.0 : sim->env[env];
    if (!isfinite(q[i])) q[i] = sim->guess[env];
  }
}

/// Into the environment and the state vector.
void imp_scatter(EngSim* sim, const ModelImplicit* im, const double* q, bool tops) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    const ModelQuantity* quantity = &im->quantities[i];
    if (quantity->env == MODEL_NONE || (!tops && quantity->state == MODEL_NONE)) continue;
    sim->env[quantity->env] = q[i];
    if (quantity->state != MODEL_NONE) sim->x[quantity->state] = q[i];
  }
}

void imp_run_system(EngSim* sim, const ModelImplicit* im, const double* q, double* out) {
  const ModelContext* context = eng_context(sim);
  model_program_run(&im->system, context, sim->implicit.system_regs, sim->core.t, q, out);
}

// ---- entering a mode ----------------------------------------------------------------------------

static bool has_guess(const EngSim* sim, const ModelImplicit* im) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    uint32_t env = im->quantities[i].env;
    if (env != MODEL_NONE && sim->given[env] == ENG_GIVEN_GUESS) return true;
  }
  return false;
}

/// What is left after the jump: small differences of lower levels are projected away.
static SltStatus close_rest(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  Projection p = projection(sim);
  double size = state_size(sim, sim->x);
  double distance = constraint_distance(sim, &p, sim->core.t, sim->x);
  if (distance >= 0.0 && distance <= PROJECT_TINY * size) return SLT_OK;
  double tolerable = fmax(1e3 * sim->options.rtol, 10.0 * sim->options.event_eps) * size;
  for (uint32_t i = 0; i < p.c; i++) {
    p.scale[i] = p.row[i] > 0.0 ? fabs(p.out[i]) / p.row[i] : fabs(p.out[i]);
  }
  bool changed = false;
  bool close = distance >= 0.0 && distance <= tolerable;
  if (!close || !eng_project(sim, sim->core.t, sim->x, &changed)) {
    // the values with which the mode was entered are what the user knows
    for (uint32_t i = 0; i < p.im->quantity_count; i++) {
      uint32_t state = p.im->quantities[i].state;
      if (state != MODEL_NONE) p.work[state] = sim->implicit.entry[i];
    }
    constraint_distance(sim, &p, sim->core.t, p.work);
    return imp_fail_rows(sim, p.scale, p.out, p.c);
  }
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->env[mode->state_env[i]] = sim->x[i];
  }
  return SLT_OK;
}

/// Distance to the constraints with the values in sim->x; for the records.
static double present_distance(EngSim* sim) {
  Projection p = projection(sim);
  return constraint_distance(sim, &p, sim->core.t, sim->x) / state_size(sim, sim->x);
}

static SltStatus make_consistent(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  bool initial = sim->implicit.initial;
  sim->implicit.failed = MODEL_NONE;
  sim->implicit.contradicts = false;
  if (im->quantity_count == 0) return SLT_OK;
  imp_gather(sim, im, sim->implicit.entry);
  if (im->constraint_count == 0) {
    // a first solution; where initial values fix what is computed, there may be none
    if (!initial || !im->settles) return SLT_OK;
    SltStatus status = imp_settle(sim);
    if (status < 0 && im->fixes_computed) return status;
    eng_bind(sim);
    return SLT_OK;
  }
  double before = initial ? (double)NAN : present_distance(sim);
  if (before >= 0.0 && before <= 8.0 * PROJECT_TINY) {
    eng_trace_residual(sim, before, before);
    return SLT_OK;
  }
  if (initial || has_guess(sim, im)) {
    SLT_TRY(imp_settle(sim));
  } else {
    SLT_TRY(imp_jump(sim, before));
  }
  SLT_TRY(close_rest(sim));
  if (sim->on_event && !initial) eng_trace_residual(sim, before, present_distance(sim));
  eng_bind(sim);
  return SLT_OK;
}

SltStatus eng_implicit_enter(EngSim* sim) {
  SltStatus status = make_consistent(sim);
  if (status != SLT_ERR_STRUCTURE || !sim->implicit.tentative) return status;
  // another position of the switches may do: the values as they are say which
  sim->implicit.contradicts = true;
  sim->error.status = SLT_OK;
  eng_bind(sim);
  return SLT_OK;
}

void eng_implicit_rescue(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  uint32_t failed = sim->implicit.failed;
  if (im->quantity_count == 0 || failed == MODEL_NONE) return;
  if (!imp_settle_tops(sim)) return;
  eng_bind(sim);
  sim->implicit.failed = MODEL_NONE;
  eng_evaluate_full(sim, sim->core.t);
}
