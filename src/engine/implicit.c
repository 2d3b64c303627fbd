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
//     carried over from before the event last (settle_values);
//   - otherwise the equations are integrated over the instant: quantities one order below those
//     solved for may jump, forces and voltages become pulses, and one system with the mode's own
//     Jacobian says how large (jump). Momentum, charge and flux are conserved because the equations
//     say so.
#include "engine/internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROJECT_MAX    12
#define PROJECT_TINY   1e-14  // distance from the constraints, relative: nothing is to be done
#define PROJECT_GOOD   1e-9   // ... acceptable when it cannot be made smaller
#define JUMP_MAX       30
#define SETTLE_MAX     60
#define SETTLE_GOOD    1e-10
#define REGULAR        1e-13  // of the least squares problem
#define IMPULSE_MIN    1e-9   // relative: smaller pulses are rounding

// ---- memory and programs ------------------------------------------------------------------------

static size_t work_size(const ModelMode* mode) {
  const ModelImplicit* implicit = mode->implicit;
  if (implicit->constraint_count == 0) return 64;
  size_t n = mode->state_count;
  size_t c = implicit->constraint_count;
  size_t q = implicit->quantity_count;
  size_t r = implicit->row_count;
  size_t e = implicit->equation_count;
  size_t project = implicit->constraint.output_count + c * c + c * n + 4 * c + 2 * n;
  size_t settle = implicit->system.output_count + r * r + r * q + 6 * r + 6 * q;
  size_t jump = implicit->system.output_count + e * e + 8 * e + 4 * q;
  return project + settle + jump + 64;
}

SltStatus eng_implicit_room(EngSim* sim, const ModelMode* mode) {
  EngImplicit* im = &sim->implicit;
  const ModelImplicit* implicit = mode->implicit;
  size_t constraint = implicit->constraint.reg_count;
  size_t system = implicit->system.reg_count;
  size_t impulse = mode->impulse ? mode->impulse->slopes.reg_count : 0;
  size_t outputs = mode->impulse ? mode->impulse->slopes.output_count : 0;
  SLT_TRY(eng_grow(sim, (void**)&im->regs, &im->reg_capacity, constraint + system + impulse + 1,
                   sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&im->work, &im->work_capacity, work_size(mode) + outputs,
                   sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&im->impulse, &im->impulse_capacity,
                   (size_t)implicit->quantity_count + 1, sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&im->guard, &im->guard_capacity, (size_t)mode->atom_count + 1,
                   sizeof(double)));
  im->constraint_regs = im->regs;
  im->system_regs = im->constraint_regs + constraint;
  im->impulse_regs = im->system_regs + system;
  return SLT_OK;
}

void eng_implicit_bind(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngImplicit* im = &sim->implicit;
  model_program_bind(&mode->implicit->constraint, sim->env, im->constraint_regs);
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
  const ModelProgram* programs[] = {&mode->rhs, &mode->full, &mode->g, &mode->g_flow, &mode->gdot};
  for (size_t i = 0; i < SLT_COUNT(programs); i++) {
    eng_implicit_note_guess(sim, programs[i]);
  }
  const EngSlide* slide = &sim->core.slide;
  for (uint32_t side = 0; slide->count && side < 1u << slide->count; side++) {
    eng_implicit_note_guess(sim, &slide->modes[side]->rhs);
    eng_implicit_note_guess(sim, &slide->modes[side]->full);
  }
  eng_implicit_use_guess(sim);
  for (uint32_t side = 0; slide->count && side < 1u << slide->count; side++) {
    model_program_guess(&slide->modes[side]->rhs, sim->guess, sim->side_regs[side].rhs);
    model_program_guess(&slide->modes[side]->full, sim->guess, sim->side_regs[side].full);
  }
}

void eng_implicit_use_guess(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
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

static double* take(double** at, size_t count) {
  double* piece = *at;
  *at += count;
  return piece;
}

// ---- projection ---------------------------------------------------------------------------------

typedef struct Projection {
  const ModelImplicit* im;
  uint32_t n, c;
  double* out;    // of the program
  double* g;      // Jacobian, c rows of n, columns by nominal values
  double* a;      // g g^T
  double* scale;
  double* lambda;
  double* work;
  double* row;    // sizes of the rows
  uint32_t* pivot;
  double* weight;
} Projection;

static Projection projection(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const ModelImplicit* im = mode->implicit;
  double* at = sim->implicit.work;
  Projection p = {.im = im, .n = mode->state_count, .c = im->constraint_count};
  p.out = take(&at, im->constraint.output_count);
  p.g = take(&at, (size_t)p.c * p.n);
  p.a = take(&at, (size_t)p.c * p.c);
  p.scale = take(&at, p.c);
  p.lambda = take(&at, p.c);
  p.row = take(&at, p.c);
  p.weight = take(&at, p.n);
  p.work = take(&at, p.n);
  p.pivot = (uint32_t*)take(&at, p.c);
  for (uint32_t i = 0; i < p.n; i++) {
    p.weight[i] = sim->env_nominal[mode->state_env[i]];
  }
  return p;
}

/// How far the constraints are from holding: the largest distance to one of them, by nominal
/// values. Negative when something is not a number.
static double constraint_distance(EngSim* sim, Projection* p, double t, const double* x) {
  ModelContext context = eng_context(sim);
  model_program_run(&p->im->constraint, &context, sim->implicit.constraint_regs, t, x, p->out);
  memset(p->g, 0, (size_t)p->c * p->n * sizeof *p->g);
  for (uint32_t i = 0; i < p->im->constraint_entry_count; i++) {
    const ModelEntry* entry = &p->im->constraint_entries[i];
    p->g[(size_t)entry->row * p->n + entry->column] += p->out[entry->reg] * p->weight[entry->column];
  }
  double distance = 0.0;
  for (uint32_t i = 0; i < p->c; i++) {
    double sum = 0.0;
    for (uint32_t j = 0; j < p->n; j++) {
      double entry = p->g[(size_t)i * p->n + j];
      sum += entry * entry;
    }
    p->row[i] = sqrt(sum);
    double part = p->row[i] > 0.0 ? fabs(p->out[i]) / p->row[i] : fabs(p->out[i]);
    if (!(part <= DBL_MAX) || !(sum <= DBL_MAX)) return -1.0;
    if (part > distance) distance = part;
  }
  return distance;
}

static double state_size(const Projection* p, const double* x) {
  double size = 1.0;
  for (uint32_t i = 0; i < p->n; i++) {
    double part = fabs(x[i]) / p->weight[i];
    if (part > size) size = part;
  }
  return size;
}

/// One step of Newton's method by the smallest change; x is changed.
static bool project_step(Projection* p, double* x) {
  for (uint32_t i = 0; i < p->c; i++) {
    for (uint32_t k = 0; k < p->c; k++) {
      double sum = 0.0;
      for (uint32_t j = 0; j < p->n; j++) {
        sum += p->g[(size_t)i * p->n + j] * p->g[(size_t)k * p->n + j];
      }
      p->a[(size_t)i * p->c + k] = sum;
    }
    p->lambda[i] = -p->out[i];
  }
  if (num_lu_factor(p->c, p->a, 1e-13, p->scale, p->pivot, NULL) < 0) return false;
  num_lu_solve(p->c, p->a, p->pivot, p->scale, p->lambda);
  for (uint32_t j = 0; j < p->n; j++) {
    double sum = 0.0;
    for (uint32_t i = 0; i < p->c; i++) {
      sum += p->g[(size_t)i * p->n + j] * p->lambda[i];
    }
    x[j] += p->weight[j] * sum;
  }
  return true;
}

bool eng_project(EngSim* sim, double t, double* x, bool* changed) {
  *changed = false;
  if (sim->core.mode->implicit->constraint_count == 0 || sim->core.slide.count) return true;
  Projection p = projection(sim);
  double size = state_size(&p, x);
  double last = (double)INFINITY;
  for (int pass = 0; pass < PROJECT_MAX; pass++) {
    double distance = constraint_distance(sim, &p, t, x);
    if (distance < 0.0) return false;
    if (distance <= PROJECT_TINY * size) return true;
    if (distance > 0.5 * last && distance <= PROJECT_GOOD * size) return true;
    if (pass > 2 && distance > 2.0 * last) return false;
    if (!project_step(&p, x)) return distance <= PROJECT_GOOD * size;
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
  if (!eng_project(sim, sim->stepper->trial.t, sim->x, &changed)) return SLT_ERR_STEP;
  if (changed) num_stepper_correct(sim->stepper, sim->x);
  return SLT_OK;
}

SltStatus eng_check_trial(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (mode->full.solve_count <= mode->rhs.solve_count || sim->core.slide.count) return SLT_OK;
  ModelContext context = eng_context(sim);
  sim->implicit.failed = MODEL_NONE;
  model_program_run(&mode->full, &context, sim->full_regs, sim->stepper->trial.t,
                    sim->stepper->trial.x, sim->full);
  return sim->implicit.failed == MODEL_NONE ? SLT_OK : SLT_ERR_NO_CONVERGENCE;
}

// ---- messages -----------------------------------------------------------------------------------

static void append_text(char* out, size_t capacity, size_t* used, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

static void append_text(char* out, size_t capacity, size_t* used, const char* format, ...) {
  if (*used + 1 >= capacity) return;
  va_list args;
  va_start(args, format);
  int wrote = vsnprintf(out + *used, capacity - *used, format, args);
  va_end(args);
  if (wrote < 0) return;
  *used += (size_t)wrote;
  if (*used >= capacity) *used = capacity - 1;
}

static void quantity_name(const EngSim* sim, const ModelQuantity* quantity, char* out,
                          size_t capacity) {
  const ModelVar* var = &sim->model->vars[quantity->var];
  const char* marks = quantity->order == 0   ? ""
                      : quantity->order == 1 ? "'"
                      : quantity->order == 2 ? "''"
                                             : "'''";
  snprintf(out, capacity, "%.*s%s", STR_ARGS(var->name), marks);
}

bool eng_fail_solve(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  uint32_t block = sim->implicit.failed;
  if (!im || block >= im->block_count) return false;
  char text[600];
  size_t used = 0;
  text[0] = '\0';
  uint32_t begin = im->block_begin[block];
  uint32_t end = im->block_begin[block + 1];
  for (uint32_t i = begin; i < end && i < begin + 6; i++) {
    const ModelEquationText* equation = &im->equations[im->block_equations[i]];
    append_text(text, sizeof text, &used, "%s`%.*s` (line %u)", i > begin ? ", " : "",
                STR_ARGS(equation->text), equation->line);
  }
  if (end > begin + 6) append_text(text, sizeof text, &used, " and %u more", end - begin - 6);
  const Span* span = &im->equations[im->block_equations[begin]].span;
  eng_fail(sim, SLT_ERR_NO_CONVERGENCE, DIAG_E0822, span,
           "at t = %s no solution was found of %s", eng_number(sim->core.t).text, text);
  eng_hint(sim, "the equations may have no solution here, or a singular one; a guess closer to the "
                "solution helps when they have several: `x(t0) ~ ...`");
  return true;
}

/// An error that names the rows with the largest residuals.
static SltStatus fail_rows(EngSim* sim, const double* distance, const double* residual,
                           uint32_t row_count) {
  const ModelImplicit* im = sim->core.mode->implicit;
  bool initial = sim->implicit.initial;
  uint32_t worst = 0;
  for (uint32_t i = 1; i < row_count; i++) {
    if (distance[i] > distance[worst]) worst = i;
  }
  char text[800];
  size_t used = 0;
  text[0] = '\0';
  uint32_t shown = 0;
  for (uint32_t i = 0; i < row_count && shown < 4; i++) {
    if (!(distance[i] >= 0.01 * distance[worst])) continue;
    const ModelRow* row = &im->rows[i];
    const ModelEquationText* equation = &im->equations[row->equation];
    append_text(text, sizeof text, &used, "%s%s`%.*s` (line %u) is off by %s", shown ? ", " : "",
                row->level ? "the time derivative of " : "", STR_ARGS(equation->text),
                equation->line, eng_number(residual[i]).text);
    shown++;
  }
  char values[300];
  size_t value_used = 0;
  values[0] = '\0';
  uint32_t named = 0;
  for (uint32_t i = 0; i < im->system_entry_count && named < 6; i++) {
    const ModelEntry* entry = &im->system_entries[i];
    const ModelQuantity* quantity = &im->quantities[entry->column];
    if (entry->row != worst || quantity->env == MODEL_NONE) continue;
    char name[80];
    quantity_name(sim, quantity, name, sizeof name);
    append_text(values, sizeof values, &value_used, "%s%s = %s", named ? ", " : "", name,
                eng_number(sim->env[quantity->env]).text);
    named++;
  }
  const Span* span = &im->equations[im->rows[worst].equation].span;
  eng_fail(sim, SLT_ERR_STRUCTURE, initial ? DIAG_E0820 : DIAG_E0821, span,
           "%s t = %s %s: %s, with %s", initial ? "the initial values at" : "the values at",
           eng_number(sim->core.t).text,
           initial ? "contradict the equations" : "contradict the equations of the mode entered",
           text, values);
  if (initial) {
    eng_hint(sim, "change one of these values, or make it a guess with `~`");
  } else {
    eng_hint(sim, "a jump of these values would need an infinite velocity: reset them on entry, or "
                  "enter the mode where the equation holds");
  }
  return sim->error.status;
}

// ---- quantities ---------------------------------------------------------------------------------

static double quantity_nominal(const EngSim* sim, const ModelQuantity* quantity) {
  return sim->model->vars[quantity->var].nominal;
}

static void gather(const EngSim* sim, const ModelImplicit* im, double* q) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    double value = im->quantities[i].env == MODEL_NONE ? 0.0 : sim->env[im->quantities[i].env];
    q[i] = isfinite(value) ? value : 0.0;
  }
}

/// Into the environment and the state vector.
static void scatter(EngSim* sim, const ModelImplicit* im, const double* q, bool tops) {
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    const ModelQuantity* quantity = &im->quantities[i];
    if (quantity->env == MODEL_NONE || (!tops && quantity->state == MODEL_NONE)) continue;
    sim->env[quantity->env] = q[i];
    if (quantity->state != MODEL_NONE) sim->x[quantity->state] = q[i];
  }
}

static void run_system(EngSim* sim, const ModelImplicit* im, const double* q, double* out) {
  ModelContext context = eng_context(sim);
  model_program_run(&im->system, &context, sim->implicit.system_regs, sim->core.t, q, out);
}

// ---- R1: values from fixed ones and guesses -----------------------------------------------------

/// What moves first; the last never does.
typedef enum Mobility { MOVE_FREE, MOVE_GUESS, MOVE_DEFAULT, MOVE_KEPT, MOVE_NEVER } Mobility;

static const ModelStart* find_start(const EngSim* sim, const ModelQuantity* quantity) {
  for (uint32_t i = 0; i < sim->model->start_count; i++) {
    const ModelStart* start = &sim->model->starts[i];
    if (start->var == quantity->var && start->order == quantity->order) return start;
  }
  return NULL;
}

static Mobility initial_mobility(const EngSim* sim, const ModelQuantity* quantity) {
  const ModelStart* start = find_start(sim, quantity);
  if (start && start->fixed) return MOVE_NEVER;
  if (quantity->state == MODEL_NONE) return MOVE_FREE;
  if (start) return MOVE_GUESS;
  return quantity->order > 0 ? MOVE_FREE : MOVE_DEFAULT;
}

static Mobility event_mobility(const EngSim* sim, const ModelQuantity* quantity) {
  uint8_t given = quantity->env == MODEL_NONE ? 0 : sim->given[quantity->env];
  if (given == ENG_GIVEN_SET) return MOVE_NEVER;
  if (quantity->state == MODEL_NONE) return MOVE_FREE;
  if (given == ENG_GIVEN_GUESS) return MOVE_GUESS;
  const ModelMode* from = sim->implicit.from;
  bool kept = from && from->vars[quantity->var].role == MODEL_ROLE_STATE &&
              quantity->order < from->vars[quantity->var].state_order;
  // derivatives beside which the variable's own value stands follow what is kept
  if (kept && quantity->order == 0) return MOVE_KEPT;
  return quantity->order > 0 ? MOVE_FREE : MOVE_DEFAULT;
}

typedef struct Settle {
  const ModelImplicit* im;
  uint32_t r, q;
  double* out;
  double* value;     // of the quantities
  double* start;
  double* trial;
  double* jacobian;  // r rows of q, by nominal values
  double* matrix;
  double* scale;
  double* lambda;
  double* row;
  double* distance;
  double* step;
  uint32_t* pivot;
  uint8_t* mobility;
} Settle;

static Settle settle_space(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  double* at = sim->implicit.work;
  Settle s = {.im = im, .r = im->row_count, .q = im->quantity_count};
  s.out = take(&at, im->system.output_count);
  s.value = take(&at, s.q);
  s.start = take(&at, s.q);
  s.trial = take(&at, s.q);
  s.step = take(&at, s.q);
  s.mobility = (uint8_t*)take(&at, s.q);
  s.jacobian = take(&at, (size_t)s.r * s.q);
  s.matrix = take(&at, (size_t)s.r * s.r);
  s.scale = take(&at, s.r);
  s.lambda = take(&at, s.r);
  s.row = take(&at, s.r);
  s.distance = take(&at, s.r);
  s.pivot = (uint32_t*)take(&at, s.r);
  return s;
}

/// Distances of all equations, by the sizes of their rows; with the Jacobian at hand. Negative when
/// something is not a number.
static double settle_residual(EngSim* sim, Settle* s, const double* value) {
  run_system(sim, s->im, value, s->out);
  memset(s->jacobian, 0, (size_t)s->r * s->q * sizeof *s->jacobian);
  for (uint32_t i = 0; i < s->im->system_entry_count; i++) {
    const ModelEntry* entry = &s->im->system_entries[i];
    double nominal = quantity_nominal(sim, &s->im->quantities[entry->column]);
    s->jacobian[(size_t)entry->row * s->q + entry->column] += s->out[entry->reg] * nominal;
  }
  double sum = 0.0;
  for (uint32_t i = 0; i < s->r; i++) {
    double size = 0.0;
    for (uint32_t j = 0; j < s->q; j++) {
      size += fabs(s->jacobian[(size_t)i * s->q + j]);
    }
    s->row[i] = size > 1e-12 ? size : 1e-12;
    s->distance[i] = fabs(s->out[i]) / s->row[i];
    sum += s->distance[i] * s->distance[i];
    if (!(sum <= DBL_MAX)) return -1.0;
  }
  return sqrt(sum);
}

static double settle_size(const EngSim* sim, const Settle* s, const double* value) {
  double size = 1.0;
  for (uint32_t i = 0; i < s->q; i++) {
    double part = fabs(value[i]) / quantity_nominal(sim, &s->im->quantities[i]);
    if (part > size) size = part;
  }
  return size;
}

/// The smallest step of the quantities up to a mobility that lowers the residuals best.
static bool settle_step(const EngSim* sim, Settle* s, Mobility limit) {
  double largest = 0.0;
  for (uint32_t i = 0; i < s->r; i++) {
    for (uint32_t k = 0; k < s->r; k++) {
      double sum = 0.0;
      for (uint32_t j = 0; j < s->q; j++) {
        if (s->mobility[j] > limit) continue;
        sum += s->jacobian[(size_t)i * s->q + j] / s->row[i] *
               (s->jacobian[(size_t)k * s->q + j] / s->row[k]);
      }
      s->matrix[(size_t)i * s->r + k] = sum;
      if (i == k && sum > largest) largest = sum;
    }
    s->lambda[i] = -s->out[i] / s->row[i];
  }
  for (uint32_t i = 0; i < s->r; i++) {
    s->matrix[(size_t)i * s->r + i] += REGULAR * (largest > 0.0 ? largest : 1.0);
  }
  if (num_lu_factor(s->r, s->matrix, 0.0, s->scale, s->pivot, NULL) < 0) return false;
  num_lu_solve(s->r, s->matrix, s->pivot, s->scale, s->lambda);
  for (uint32_t j = 0; j < s->q; j++) {
    double sum = 0.0;
    for (uint32_t i = 0; i < s->r && s->mobility[j] <= limit; i++) {
      sum += s->jacobian[(size_t)i * s->q + j] / s->row[i] * s->lambda[i];
    }
    s->step[j] = sum * quantity_nominal(sim, &s->im->quantities[j]);
    if (!isfinite(s->step[j])) return false;
  }
  return true;
}

/// Gauss-Newton with damping from s->value; true when all equations hold.
static bool settle_stage(EngSim* sim, Settle* s, Mobility limit) {
  double norm = settle_residual(sim, s, s->value);
  bool polished = false;
  for (int pass = 0; pass < SETTLE_MAX && norm >= 0.0; pass++) {
    double size = settle_size(sim, s, s->value);
    bool good = norm <= SETTLE_GOOD * size;
    if (good && (polished || norm <= 1e-15 * size)) return true;
    if (!settle_step(sim, s, limit)) return good;
    double lambda = 1.0;
    double after = -1.0;
    double before = norm;
    for (int halving = 0; halving < 20; halving++, lambda *= 0.5) {
      for (uint32_t j = 0; j < s->q; j++) {
        s->trial[j] = s->value[j] + lambda * s->step[j];
      }
      after = settle_residual(sim, s, s->trial);
      if (after >= 0.0 && (after <= (1.0 - 0.1 * lambda) * norm)) break;
    }
    bool better = after >= 0.0 && after < before;
    if (better) memcpy(s->value, s->trial, s->q * sizeof *s->value);
    norm = settle_residual(sim, s, s->value);
    if (good) polished = true;
    if (!good && (!better || norm > 0.999999 * before)) return false;
  }
  return false;
}

/// Leave a point at which the equations say nothing about a quantity.
static void perturb(const EngSim* sim, Settle* s, Mobility limit) {
  for (uint32_t j = 0; j < s->q; j++) {
    if (s->mobility[j] > limit || s->value[j] != 0.0) continue;
    s->value[j] = 0.01 * quantity_nominal(sim, &s->im->quantities[j]);
  }
}

static SltStatus settle_values(EngSim* sim) {
  Settle s = settle_space(sim);
  gather(sim, s.im, s.start);
  for (uint32_t j = 0; j < s.q; j++) {
    const ModelQuantity* quantity = &s.im->quantities[j];
    Mobility mobility =
        sim->implicit.initial ? initial_mobility(sim, quantity) : event_mobility(sim, quantity);
    s.mobility[j] = (uint8_t)mobility;
  }
  for (int attempt = 0; attempt < 2; attempt++) {
    for (Mobility limit = MOVE_FREE; limit <= MOVE_KEPT; limit++) {
      memcpy(s.value, s.start, s.q * sizeof *s.value);
      if (attempt > 0) perturb(sim, &s, limit);
      if (!settle_stage(sim, &s, limit)) continue;
      scatter(sim, s.im, s.value, true);
      return SLT_OK;
    }
  }
  // the smallest residuals that can be had tell what contradicts what
  memcpy(s.value, s.start, s.q * sizeof *s.value);
  settle_stage(sim, &s, MOVE_KEPT);
  settle_residual(sim, &s, s.value);
  return fail_rows(sim, s.distance, s.out, s.r);
}

// ---- R2: jumps and impulses ---------------------------------------------------------------------

typedef struct JumpSpace {
  const ModelImplicit* im;
  uint32_t e;
  double* out;
  double* value;
  double* before;
  double* matrix;
  double* scale;
  double* delta;
  double* total;
  double* work;
  uint32_t* pivot;
  uint32_t* column_quantity;
  uint32_t* hidden_row;  // per equation: its row one level below the top; MODEL_NONE for none
} JumpSpace;

static JumpSpace jump_space(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  double* at = sim->implicit.work;
  JumpSpace s = {.im = im, .e = im->equation_count};
  s.out = take(&at, im->system.output_count);
  s.value = take(&at, im->quantity_count);
  s.before = take(&at, im->quantity_count);
  s.matrix = take(&at, (size_t)s.e * s.e);
  s.scale = take(&at, s.e);
  s.delta = take(&at, s.e);
  s.total = take(&at, s.e);
  s.work = take(&at, s.e);
  s.pivot = (uint32_t*)take(&at, s.e);
  s.column_quantity = (uint32_t*)take(&at, s.e);
  s.hidden_row = (uint32_t*)take(&at, s.e);
  uint32_t column = 0;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    if (im->top[v] != MODEL_NONE && column < s.e) s.column_quantity[column++] = im->top[v];
  }
  for (uint32_t i = 0; i < s.e; i++) {
    s.hidden_row[i] = MODEL_NONE;
  }
  // levels ascend: the last one below the top stays
  for (uint32_t i = 0; i < im->constraint_count; i++) {
    s.hidden_row[im->rows[i].equation] = i;
  }
  return s;
}

static void jump_matrix(JumpSpace* s) {
  const ModelImplicit* im = s->im;
  memset(s->matrix, 0, (size_t)s->e * s->e * sizeof *s->matrix);
  for (uint32_t i = 0; i < im->system_entry_count; i++) {
    const ModelEntry* entry = &im->system_entries[i];
    if (entry->row < im->constraint_count) continue;
    uint32_t equation = im->rows[entry->row].equation;
    for (uint32_t k = 0; k < s->e; k++) {
      if (s->column_quantity[k] != entry->column) continue;
      s->matrix[(size_t)equation * s->e + k] += s->out[entry->reg];
    }
  }
}

static SltStatus fail_singular(EngSim* sim, const JumpSpace* s, uint32_t bad) {
  const ModelQuantity* quantity = &s->im->quantities[s->column_quantity[bad < s->e ? bad : 0]];
  char name[80];
  char mode[400];
  quantity_name(sim, quantity, name, sizeof name);
  eng_describe_mode(sim, sim->state, mode, sizeof mode);
  eng_fail(sim, SLT_ERR_STRUCTURE, DIAG_E0823, NULL,
           "at t = %s the equations of the mode %s do not determine %s", eng_number(sim->core.t).text,
           mode, name);
  eng_hint(sim, "the coefficients vanish or cancel with the present values");
  return sim->error.status;
}

/// Jumps and pulses into the trace and to the guards.
static void publish_jump(EngSim* sim, const JumpSpace* s) {
  const ModelImplicit* im = s->im;
  EngImplicit* implicit = &sim->implicit;
  memset(implicit->impulse, 0, im->quantity_count * sizeof *implicit->impulse);
  double size = 0.0;
  for (uint32_t k = 0; k < s->e; k++) {
    double part = fabs(s->total[k]);
    if (part > size) size = part;
  }
  implicit->impulsive = false;
  for (uint32_t k = 0; k < s->e; k++) {
    const ModelQuantity* top = &im->quantities[s->column_quantity[k]];
    double nominal = quantity_nominal(sim, top);
    if (!(fabs(s->total[k]) > IMPULSE_MIN * (nominal + size))) continue;
    implicit->impulse[s->column_quantity[k]] = s->total[k];
    implicit->impulsive = true;
    if (top->order == 0) eng_trace_impulse(sim, top->var, s->total[k]);
    if (top->order > 0) {
      uint32_t z = s->column_quantity[k] - 1;
      eng_trace_jump(sim, top->var, top->order - 1, s->before[z], s->value[z]);
    }
  }
  if (implicit->impulsive) sim->core.changes++;
}

/// Impulse parts of the guards' relations.
static void publish_guards(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngImplicit* implicit = &sim->implicit;
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    implicit->guard[i] = 0.0;
  }
  if (!mode->impulse || !implicit->impulsive) return;
  double* q = implicit->work;
  double* slopes = q + mode->implicit->quantity_count;
  gather(sim, mode->implicit, q);
  ModelContext context = eng_context(sim);
  model_program_run(&mode->impulse->slopes, &context, implicit->impulse_regs, sim->core.t, q,
                    slopes);
  for (uint32_t i = 0; i < mode->impulse->entry_count; i++) {
    const ModelEntry* entry = &mode->impulse->entries[i];
    implicit->guard[entry->row] += slopes[entry->reg] * implicit->impulse[entry->column];
  }
}

bool eng_impulse_truth(const EngSim* sim, uint32_t i, bool* truth) {
  if (!sim->implicit.impulsive || !sim->core.mode->impulse) return false;
  double weight = sim->implicit.guard[i];
  if (!(fabs(weight) > IMPULSE_MIN)) return false;
  *truth = weight > 0.0;
  return true;
}

/// J delta = -r: what may jump jumps, the rest becomes pulses.
static SltStatus jump(EngSim* sim) {
  JumpSpace s = jump_space(sim);
  const ModelImplicit* im = s.im;
  gather(sim, im, s.value);
  memcpy(s.before, s.value, im->quantity_count * sizeof *s.value);
  memset(s.total, 0, s.e * sizeof *s.total);
  run_system(sim, im, s.value, s.out);
  jump_matrix(&s);
  uint32_t bad = 0;
  if (num_lu_factor(s.e, s.matrix, 1e-13, s.scale, s.pivot, &bad) < 0) {
    return fail_singular(sim, &s, bad);
  }
  double last = (double)INFINITY;
  for (int pass = 0; pass < JUMP_MAX; pass++) {
    double norm = 0.0;
    for (uint32_t i = 0; i < s.e; i++) {
      s.delta[i] = s.hidden_row[i] == MODEL_NONE ? 0.0 : -s.out[s.hidden_row[i]];
      norm = fmax(norm, fabs(s.delta[i]));
    }
    if (norm == 0.0 || !(norm < 0.9 * last)) break;
    last = norm;
    num_lu_solve(s.e, s.matrix, s.pivot, s.work, s.delta);
    for (uint32_t k = 0; k < s.e; k++) {
      uint32_t quantity = s.column_quantity[k];
      s.total[k] += s.delta[k];
      if (im->quantities[quantity].order > 0) s.value[quantity - 1] += s.delta[k];
    }
    run_system(sim, im, s.value, s.out);
  }
  scatter(sim, im, s.value, false);
  publish_jump(sim, &s);
  publish_guards(sim);
  return SLT_OK;
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
  double size = state_size(&p, sim->x);
  double distance = constraint_distance(sim, &p, sim->core.t, sim->x);
  if (distance >= 0.0 && distance <= PROJECT_TINY * size) return SLT_OK;
  double tolerable = fmax(1e3 * sim->options.rtol, 10.0 * sim->options.event_eps) * size;
  if (distance < 0.0 || distance > tolerable) {
    for (uint32_t i = 0; i < p.c; i++) {
      p.scale[i] = p.row[i] > 0.0 ? fabs(p.out[i]) / p.row[i] : fabs(p.out[i]);
    }
    return fail_rows(sim, p.scale, p.out, p.c);
  }
  bool changed = false;
  if (!eng_project(sim, sim->core.t, sim->x, &changed)) {
    return fail_rows(sim, p.scale, p.out, p.c);
  }
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->env[mode->state_env[i]] = sim->x[i];
  }
  return SLT_OK;
}

SltStatus eng_implicit_enter(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  sim->implicit.failed = MODEL_NONE;
  if (im->constraint_count == 0) return SLT_OK;
  if (!sim->implicit.initial) {
    Projection p = projection(sim);
    double size = state_size(&p, sim->x);
    double distance = constraint_distance(sim, &p, sim->core.t, sim->x);
    if (distance >= 0.0 && distance <= 8.0 * PROJECT_TINY * size) return SLT_OK;
  }
  if (sim->implicit.initial || has_guess(sim, im)) {
    SLT_TRY(settle_values(sim));
  } else {
    SLT_TRY(jump(sim));
  }
  SLT_TRY(close_rest(sim));
  eng_bind(sim);
  return SLT_OK;
}
