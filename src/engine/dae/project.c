// SPDX-License-Identifier: MIT
//
// Projection: states are brought back to the constraints of their mode by the smallest change.
#include "engine/dae/parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define PROJECT_MAX  12
#define PROJECT_GOOD 1e-9    // distance that is acceptable when it cannot be made smaller
#define UNMOVED      1e-100  // weight of what has been zero so far

typedef struct Projection {
  const ModelImplicit* im;
  NumNormal* normal;
  uint32_t n, c;
  double* out;  // of the program
  double* g;    // entries of the Jacobian by weights
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
  double* at = sim->dae.work;
  Projection p = {.im = im,
                  .normal = dae_normals(sim)->constraint,
                  .n = mode->state_count,
                  .c = im->constraint_count};
  p.out = dae_take(&at, im->constraint.output_count);
  p.g = dae_take(&at, im->constraint_entry_count);
  p.scale = dae_take(&at, p.c);
  p.lambda = dae_take(&at, p.c);
  p.row = dae_take(&at, p.c);
  p.weight = dae_take(&at, p.n);
  p.work = dae_take(&at, p.n);
  p.change = dae_take(&at, p.n);
  return p;
}

/// Changes are small beside what the states measure; what has never been anything but zero moves
/// last.
static void weigh(EngSim* sim, const double* x, double* weight) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double size = fmax(eng_scale(sim, mode->state_env[i]), fabs(x[i]));
    weight[i] = size > UNMOVED && size <= DBL_MAX ? size : UNMOVED;
  }
}

/// How far the constraints are from holding: the largest distance to one of them, by the weights of
/// the states. Negative when something is not a number.
static double constraint_distance(EngSim* sim, Projection* p, double t, const double* x) {
  const ModelContext* context = eng_context(sim);
  weigh(sim, x, p->weight);
  model_program_run(&p->im->constraint, context, sim->dae.constraint_regs, t, x, p->out);
  memset(p->row, 0, p->c * sizeof *p->row);
  for (uint32_t i = 0; i < p->im->constraint_entry_count; i++) {
    const ModelEntry* entry = &p->im->constraint_entries[i];
    p->g[i] = p->out[entry->reg] * p->weight[entry->column];
    p->row[entry->row] += p->g[i] * p->g[i];
  }
  double distance = 0.0;
  for (uint32_t i = 0; i < p->c; i++) {
    p->row[i] = sqrt(p->row[i]);
    double part = dae_row_distance(p->out[i], p->row[i]);
    if (!(part <= DBL_MAX) || !(p->row[i] <= DBL_MAX)) return -1.0;
    distance = fmax(distance, part);
  }
  // rows are of one size, so that ranks are seen
  for (uint32_t i = 0; i < p->im->constraint_entry_count; i++) {
    double size = p->row[p->im->constraint_entries[i].row];
    p->g[i] = size > 0.0 ? p->g[i] / size : 0.0;
  }
  return distance;
}

/// One step of Newton's method by the smallest change; x is changed.
static bool project_step(Projection* p, double* x) {
  // constraints that say the same twice; whether they agree, the distance left will tell
  bool repeats = p->im->repeats;
  if (num_normal_factor(p->normal, p->g, repeats ? 1e-13 : 0.0, repeats ? 0.0 : 1e-13) < 0) {
    return false;
  }
  for (uint32_t i = 0; i < p->c; i++)
    p->lambda[i] = p->row[i] > 0.0 ? -p->out[i] / p->row[i] : 0.0;
  num_normal_solve(p->normal, p->lambda);
  memset(p->change, 0, p->n * sizeof *p->change);
  for (uint32_t i = 0; i < p->im->constraint_entry_count; i++) {
    const ModelEntry* entry = &p->im->constraint_entries[i];
    p->change[entry->column] += p->g[i] * p->lambda[entry->row];
  }
  for (uint32_t j = 0; j < p->n; j++)
    x[j] += p->weight[j] * p->change[j];
  return true;
}

/// Few constraints have a program for distance and step together, of the states and their weights;
/// work space: these, and its outputs first.
static double straight_distance(EngSim* sim, double t, const double* x, double* out) {
  const ModelContext* context = eng_context(sim);
  const ModelProgram* project = &sim->core.mode->implicit->project;
  double* weighted = out + project->output_count;
  uint32_t n = sim->core.mode->state_count;
  memcpy(weighted, x, n * sizeof *x);
  weigh(sim, x, weighted + n);
  model_program_run(project, context, sim->dae.project_regs, t, weighted, out);
  return out[0] <= DBL_MAX ? sqrt(out[0]) : -1.0;
}

static bool straight_step(const ModelImplicit* im, const double* out, double* x) {
  if (out[1] == 0.0) return false;
  for (uint32_t k = 0; k + 2 < im->project.output_count; k++)
    x[im->project_states[k]] += out[k + 2];
  return true;
}

bool eng_project(EngSim* sim, double t, double* x, bool* changed) {
  const ModelImplicit* im = sim->core.mode->implicit;
  *changed = false;
  if (im->constraint_count == 0 || sim->core.slide.count) return true;
  bool straight = im->project.output_count > 0;
  Projection p = straight ? (Projection){.n = 0} : projection(sim);
  double* out = sim->dae.work;
  double last = (double)INFINITY;
  for (int pass = 0; pass < PROJECT_MAX; pass++) {
    double distance =
        straight ? straight_distance(sim, t, x, out) : constraint_distance(sim, &p, t, x);
    if (distance < 0.0) return false;
    if (distance <= DAE_TINY) return true;
    if (distance > 0.5 * last && distance <= PROJECT_GOOD) return true;
    if (pass > 2 && distance > 2.0 * last) return false;
    bool done = straight ? straight_step(im, out, x) : project_step(&p, x);
    if (!done) return distance <= PROJECT_GOOD;
    *changed = true;
    last = distance;
  }
  return last <= PROJECT_GOOD;
}

SltStatus eng_project_trial(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->implicit->constraint_count == 0) return SLT_OK;
  memcpy(sim->x, sim->stepper->trial.x, mode->state_count * sizeof *sim->x);
  bool changed = false;
  if (!eng_project(sim, sim->stepper->trial.t, sim->x, &changed)) {
    sim->dae.drift_from = sim->core.t;
    return SLT_ERR_STEP;
  }
  if (changed) num_stepper_correct(sim->stepper, sim->x);
  return SLT_OK;
}

bool eng_fail_drift(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  if (!im || im->constraint_count == 0 || sim->core.slide.count) return false;
  Projection p = projection(sim);
  constraint_distance(sim, &p, sim->core.t, sim->x);
  // steps may have become small before: what stopped larger ones from here is the reason
  bool drifted = sim->dae.drift_from == sim->core.t;
  bool dependent = num_normal_factor(p.normal, p.g, 0.0, 1e-10) < 0;  // the constraints
  if (!drifted && !dependent) return false;
  dae_fail_drift(sim, p.out);
  return true;
}

SltStatus eng_check_trial(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->relaxed) dae_check_constant(sim);
  if (mode->full.solve_count <= mode->rhs.solve_count || sim->core.slide.count) return SLT_OK;
  const ModelContext* context = eng_context(sim);
  sim->dae.failed = MODEL_NONE;
  model_program_run(&mode->full, context, sim->programs.full, sim->stepper->trial.t,
                    sim->stepper->trial.x, sim->values.full);
  return sim->dae.failed == MODEL_NONE ? SLT_OK : SLT_ERR_NO_CONVERGENCE;
}

SltStatus dae_close_rest(EngSim* sim) {
  Projection p = projection(sim);
  double distance = constraint_distance(sim, &p, sim->core.t, sim->x);
  if (distance >= 0.0 && distance <= DAE_TINY) return SLT_OK;
  double tolerable = fmax(1e3 * sim->options.rtol, 10.0 * sim->options.event_eps);
  for (uint32_t i = 0; i < p.c; i++)
    p.scale[i] = dae_row_distance(p.out[i], p.row[i]);
  bool changed = false;
  bool close = distance >= 0.0 && distance <= tolerable;
  if (!close || !eng_project(sim, sim->core.t, sim->x, &changed)) {
    // the values with which the mode was entered are what the user knows
    for (uint32_t i = 0; i < p.im->quantity_count; i++) {
      uint32_t state = p.im->quantities[i].state;
      if (state != MODEL_NONE) p.work[state] = sim->dae.entry[i];
    }
    constraint_distance(sim, &p, sim->core.t, p.work);
    return dae_fail_rows(sim, p.scale, p.out, p.c);
  }
  eng_place_states(sim, sim->x);
  return SLT_OK;
}

double dae_distance(EngSim* sim) {
  Projection p = projection(sim);
  return constraint_distance(sim, &p, sim->core.t, sim->x);
}
