// SPDX-License-Identifier: MIT
//
// Values that fulfil all equations of a mode at once: at the start of a run, where the entered
// state gives guesses, and where what is solved for cannot be found from the last values.
//
// Quantities are released in the order of Mobility, the later ones only where equations that are
// coupled to them cannot be fulfilled otherwise. Each stage tries Gauss-Newton steps with
// damping, then the same beside points where equations say nothing (zeros), then a homotopy that
// takes the residuals of the first values away little by little, then a few other beginnings. What
// was found is accepted by its residuals, never by the size of a step.
#include "engine/dae/parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define STEPS_MAX      60
#define HALVINGS_MAX   20
#define GOOD           1e-10  // residual of a solution, by the sizes of rows
#define REGULAR        1e-13  // of the least squares problem
#define PATH_FIRST     0.125  // steps along the homotopy
#define PATH_SMALLEST  1e-3
#define PATH_STEPS_MAX 60
#define BEGINNINGS     40  // other points to begin at where all else fails

/// What moves first; the last never does.
typedef enum Mobility {
  MOVE_TOP,   // solved for
  MOVE_FREE,  // derivatives that nobody gave
  MOVE_GUESS,
  MOVE_DEFAULT,  // values that nobody gave
  MOVE_KEPT,     // carried over from before the event
  MOVE_NEVER
} Mobility;

typedef struct Settle {
  const ModelImplicit* im;
  uint32_t r, q;
  double* out;
  double* value;  // of the quantities
  double* start;
  double* trial;
  NumNormal* normal;
  double* jacobian;  // entries, by nominal values
  double* moving;    // those of released quantities, by the sizes of rows
  double* lambda;
  double* row;
  double* scale;  // of the quantities
  double* distance;
  double* step;
  double* first;  // residuals of the first values
  double* path;   // quantities at the last point of the path
  double rest;    // share of them that is left
  uint8_t* mobility;
  uint8_t* moves;  // per quantity: released
} Settle;

size_t dae_initialise_size(const ModelImplicit* im) {
  size_t q = im->quantity_count;
  size_t r = im->row_count;
  return im->system.output_count + 2 * (size_t)im->system_entry_count + 8 * r + 10 * q + 8;
}

static Settle settle_space(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  double* at = sim->dae.work;
  Settle s = {.im = im, .r = im->row_count, .q = im->quantity_count};
  s.out = dae_take(&at, im->system.output_count);
  s.value = dae_take(&at, s.q);
  s.start = dae_take(&at, s.q);
  s.trial = dae_take(&at, s.q);
  s.step = dae_take(&at, s.q);
  s.path = dae_take(&at, s.q);
  s.scale = dae_take(&at, s.q);
  s.mobility = (uint8_t*)dae_take(&at, s.q);
  s.moves = (uint8_t*)dae_take(&at, s.q);
  s.normal = dae_normals(sim)->system;
  s.jacobian = dae_take(&at, im->system_entry_count);
  s.moving = dae_take(&at, im->system_entry_count);
  s.lambda = dae_take(&at, s.r);
  s.row = dae_take(&at, s.r);
  s.distance = dae_take(&at, s.r);
  s.first = dae_take(&at, s.r);
  dae_gather(sim, im, s.start);
  memset(s.moves, 0, s.q);
  return s;
}

/// The first values again, and scales from these.
static void begin_again(EngSim* sim, Settle* s) {
  memcpy(s->value, s->start, s->q * sizeof *s->value);
  dae_run_system(sim, s->im, s->start, s->out);
  dae_scales(sim, s->im, s->start, s->out, s->row, s->step, s->scale);
}

// ---- who may move -------------------------------------------------------------------------------

static const ModelStart* find_start(const EngSim* sim, const ModelQuantity* quantity) {
  for (uint32_t i = 0; i < sim->model->start_count; i++) {
    const ModelStart* start = &sim->model->starts[i];
    if (start->var == quantity->var && start->order == quantity->order) return start;
  }
  return NULL;
}

bool dae_is_fixed_start(const EngSim* sim, const ModelQuantity* quantity, uint32_t* line) {
  const ModelStart* start = find_start(sim, quantity);
  if (!start || !start->fixed) return false;
  if (line && sim->model->source) {
    uint32_t column = 0;
    source_place(sim->model->source, start->span.begin, line, &column);
  }
  return true;
}

static Mobility initial_mobility(const EngSim* sim, const ModelQuantity* quantity) {
  const ModelStart* start = find_start(sim, quantity);
  if (start && start->fixed) return MOVE_NEVER;
  if (quantity->state == MODEL_NONE) return MOVE_TOP;
  if (start) return MOVE_GUESS;
  return quantity->order > 0 ? MOVE_FREE : MOVE_DEFAULT;
}

static Mobility event_mobility(const EngSim* sim, const ModelQuantity* quantity) {
  uint8_t given = quantity->env == MODEL_NONE ? 0 : sim->values.given[quantity->env];
  if (given == ENG_GIVEN_SET) return MOVE_NEVER;
  if (quantity->state == MODEL_NONE) return MOVE_TOP;
  if (given == ENG_GIVEN_GUESS) return MOVE_GUESS;
  const ModelMode* from = sim->dae.from;
  bool kept = from && from->vars[quantity->var].role == MODEL_ROLE_STATE &&
              quantity->order < from->vars[quantity->var].state_order;
  // derivatives beside which the variable's own value stands follow what is kept
  if (kept && quantity->order == 0) return MOVE_KEPT;
  return quantity->order > 0 ? MOVE_FREE : MOVE_DEFAULT;
}

static void release_tops(Settle* s) {
  for (uint32_t j = 0; j < s->q; j++)
    s->moves[j] = s->mobility[j] == MOVE_TOP;
}

/// Release quantities up to a mobility that are coupled to equations that do not hold. False
/// when there are no more of them.
static bool release(Settle* s, Mobility limit, double tolerance) {
  const ModelImplicit* im = s->im;
  uint8_t* reached = (uint8_t*)s->trial;
  bool more = false;
  for (uint32_t i = 0; i < s->r; i++)
    reached[i] = !(s->distance[i] <= tolerance);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t k = 0; k < im->system_entry_count; k++) {
      const ModelEntry* entry = &im->system_entries[k];
      if (s->mobility[entry->column] > limit) continue;
      if (reached[entry->row] && !(s->moves[entry->column] & 2)) {
        more |= s->moves[entry->column] == 0;
        s->moves[entry->column] = 3;
        changed = true;
      }
      if ((s->moves[entry->column] & 2) && !reached[entry->row]) {
        reached[entry->row] = 1;
        changed = true;
      }
    }
  }
  for (uint32_t j = 0; j < s->q; j++) {
    s->moves[j] &= 1;
  }
  return more;
}

// ---- one stage ----------------------------------------------------------------------------------

/// Distances of all equations, by the sizes of their rows; with the Jacobian at hand. Negative when
/// something is not a number.
static double settle_residual(EngSim* sim, Settle* s, const double* value) {
  dae_run_system(sim, s->im, value, s->out);
  memset(s->row, 0, s->r * sizeof *s->row);
  for (uint32_t i = 0; i < s->im->system_entry_count; i++) {
    const ModelEntry* entry = &s->im->system_entries[i];
    s->jacobian[i] = s->out[entry->reg] * s->scale[entry->column];
    s->row[entry->row] += fabs(s->jacobian[i]);
  }
  double sum = 0.0;
  for (uint32_t i = 0; i < s->r; i++) {
    if (s->rest > 0.0) s->out[i] -= s->rest * s->first[i];
    s->distance[i] = dae_row_distance(s->out[i], s->row[i]);
    sum += s->distance[i] * s->distance[i];
    if (!(sum <= DBL_MAX) || !(s->row[i] <= DBL_MAX)) return -1.0;
  }
  return sqrt(sum);
}

/// Take over a trial; scales grow with the values. What rounding leaves of a zero is no value: it
/// would be taken for a scale the next time.
static void take_trial(Settle* s) {
  for (uint32_t j = 0; j < s->q; j++) {
    bool zero = s->moves[j] && fabs(s->trial[j]) <= DBL_EPSILON * s->scale[j];
    s->value[j] = zero ? 0.0 : s->trial[j];
    s->scale[j] = fmax(s->scale[j], fabs(s->trial[j]));
  }
}

/// The smallest step of the released quantities that lowers the residuals best.
static bool settle_step(Settle* s) {
  for (uint32_t i = 0; i < s->im->system_entry_count; i++) {
    const ModelEntry* entry = &s->im->system_entries[i];
    bool moves = s->moves[entry->column] && s->row[entry->row] > 0.0;
    s->moving[i] = moves ? s->jacobian[i] / s->row[entry->row] : 0.0;
  }
  for (uint32_t i = 0; i < s->r; i++) {
    s->lambda[i] = s->out[i] > 0.0 ? -s->distance[i] : s->distance[i];
  }
  if (num_normal_factor(s->normal, s->moving, REGULAR, 0.0) < 0) return false;
  num_normal_solve(s->normal, s->lambda);
  memset(s->step, 0, s->q * sizeof *s->step);
  for (uint32_t i = 0; i < s->im->system_entry_count; i++) {
    const ModelEntry* entry = &s->im->system_entries[i];
    s->step[entry->column] += s->moving[i] * s->lambda[entry->row];
  }
  for (uint32_t j = 0; j < s->q; j++) {
    s->step[j] *= s->scale[j];
    if (!isfinite(s->step[j])) return false;
  }
  return true;
}

/// What the whole step would leave of the residuals if the equations were linear.
static double predicted(Settle* s) {
  for (uint32_t i = 0; i < s->r; i++) {
    s->lambda[i] = s->out[i] > 0.0 ? s->distance[i] : -s->distance[i];
  }
  for (uint32_t i = 0; i < s->im->system_entry_count; i++) {
    const ModelEntry* entry = &s->im->system_entries[i];
    s->lambda[entry->row] += s->moving[i] * (s->step[entry->column] / s->scale[entry->column]);
  }
  double sum = 0.0;
  for (uint32_t i = 0; i < s->r; i++) {
    sum += s->lambda[i] * s->lambda[i];
  }
  return sqrt(sum);
}

/// Residual after a part of the step, halved until it promises what the equations do; `once`: the
/// whole step alone.
static double damped_trial(EngSim* sim, Settle* s, double norm, double gain, bool once) {
  double after = -1.0;
  double lambda = 1.0;
  for (int halving = 0; halving < HALVINGS_MAX; halving++, lambda *= 0.5) {
    for (uint32_t j = 0; j < s->q; j++) {
      s->trial[j] = s->value[j] + lambda * s->step[j];
    }
    after = settle_residual(sim, s, s->trial);
    if (once || (after >= 0.0 && after <= norm - 0.1 * lambda * gain)) break;
  }
  return after;
}

/// Gauss-Newton with damping from s->value, until rounding is left; true when all equations hold.
static bool settle_stage(EngSim* sim, Settle* s) {
  double norm = settle_residual(sim, s, s->value);
  for (int pass = 0; pass < STEPS_MAX && norm >= 0.0; pass++) {
    bool good = norm <= GOOD;
    if (norm == 0.0) return true;
    if (!settle_step(s)) return good;
    // equations that cannot hold must not keep the others from being fulfilled
    double gain = norm - predicted(s);
    if (!good && !(gain > 1e-9 * norm)) return false;
    double after = damped_trial(sim, s, norm, gain, good);
    bool better = after >= 0.0 && after < norm;
    bool stagnates = good && !(after <= 0.5 * norm);
    if (better) take_trial(s);
    norm = settle_residual(sim, s, s->value);
    if (stagnates) return true;
    if (!better) return false;
  }
  return false;
}

/// Leave a point at which the equations say nothing about a quantity.
static void perturb(Settle* s) {
  for (uint32_t j = 0; j < s->q; j++) {
    if (s->moves[j] && s->value[j] == 0.0) s->value[j] = 0.01 * s->scale[j];
  }
}

/// From the first values, whose residuals are taken as they are, to those without.
static bool settle_path(EngSim* sim, Settle* s) {
  s->rest = 0.0;
  if (settle_residual(sim, s, s->value) < 0.0) return false;
  memcpy(s->first, s->out, s->r * sizeof *s->first);
  memcpy(s->path, s->value, s->q * sizeof *s->path);
  double reached = 0.0;
  double length = PATH_FIRST;
  for (int k = 0; k < PATH_STEPS_MAX && reached < 1.0 && length >= PATH_SMALLEST; k++) {
    double next = fmin(1.0, reached + length);
    memcpy(s->value, s->path, s->q * sizeof *s->value);
    s->rest = 1.0 - next;
    if (settle_stage(sim, s)) {
      memcpy(s->path, s->value, s->q * sizeof *s->path);
      reached = next;
      length *= 2.0;
    } else {
      length *= 0.25;
    }
  }
  s->rest = 0.0;
  return reached >= 1.0;
}

/// Where the next attempt begins: on both sides of the first values, then farther and farther
/// around them, by a sequence that leaves no side out (Weyl).
static void begin_beside(Settle* s, int k) {
  double reach = k < 4 ? (k < 2 ? 1.0 : 10.0) : ldexp(1.0, k / 8);
  double place = 0.5;
  for (uint32_t j = 0; j < s->q; j++) {
    double offset = k % 2 ? -1.0 : 1.0;
    place += 0.6180339887498949;
    if (k >= 4) {
      double at = place * (double)(k + 1);
      offset = 2.0 * (at - floor(at)) - 1.0;
    }
    s->value[j] = s->start[j] + (s->mobility[j] == MOVE_TOP ? reach * offset * s->scale[j] : 0.0);
  }
}

/// All means, with what is released.
static bool settle_released(EngSim* sim, Settle* s) {
  begin_again(sim, s);
  if (settle_stage(sim, s)) return true;
  begin_again(sim, s);
  perturb(s);
  if (settle_stage(sim, s)) return true;
  begin_again(sim, s);
  perturb(s);
  if (settle_path(sim, s)) return true;
  // a minimum of the residuals stands in the way
  for (int k = 0; k < BEGINNINGS; k++) {
    begin_again(sim, s);
    begin_beside(s, k);
    if (settle_stage(sim, s)) return true;
  }
  return false;
}

/// As near as the released quantities come; distances are left for the next release.
static void settle_nearest(EngSim* sim, Settle* s) {
  begin_again(sim, s);
  settle_stage(sim, s);
  settle_residual(sim, s, s->value);
}

// ---- the whole ----------------------------------------------------------------------------------

/// Normal equations of all equations of the mode.
static SltStatus settle_room(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  return dae_normal(sim, im->system_entries, im->system_entry_count, im->row_count,
                    im->quantity_count, &dae_normals(sim)->system);
}

SltStatus dae_initialise(EngSim* sim) {
  SLT_TRY(settle_room(sim));
  Settle s = settle_space(sim);
  for (uint32_t j = 0; j < s.q; j++) {
    const ModelQuantity* quantity = &s.im->quantities[j];
    Mobility mobility =
        sim->dae.initial ? initial_mobility(sim, quantity) : event_mobility(sim, quantity);
    s.mobility[j] = (uint8_t)mobility;
  }
  release_tops(&s);
  for (Mobility limit = MOVE_TOP; limit <= MOVE_KEPT; limit++) {
    bool more = true;
    if (limit > MOVE_TOP) {
      settle_nearest(sim, &s);
      more = release(&s, limit, GOOD);
    }
    if (more && settle_released(sim, &s)) {
      dae_scatter(sim, s.im, s.value, true);
      return SLT_OK;
    }
  }
  // the smallest residuals that can be had tell what contradicts what; how far off it is, the
  // values that were given tell where nothing has to be solved for
  settle_nearest(sim, &s);
  memcpy(s.first, s.out, s.r * sizeof *s.first);
  dae_run_system(sim, s.im, s.start, s.out);
  for (uint32_t i = 0; i < s.im->constraint_count; i++) {
    if (isfinite(s.out[i])) s.first[i] = s.out[i];
  }
  return dae_fail_rows(sim, s.distance, s.first, s.r);
}

static Settle tops_space(EngSim* sim) {
  Settle s = settle_space(sim);
  for (uint32_t j = 0; j < s.q; j++) {
    s.mobility[j] = s.im->quantities[j].state == MODEL_NONE ? MOVE_TOP : MOVE_NEVER;
  }
  release_tops(&s);
  return s;
}

bool dae_solve_tops(EngSim* sim) {
  if (settle_room(sim) < 0) return false;
  Settle s = tops_space(sim);
  if (!settle_released(sim, &s)) return false;
  dae_scatter(sim, s.im, s.value, true);
  return true;
}

bool dae_nearest(EngSim* sim, const double** residual, const double** value) {
  if (settle_room(sim) < 0) return false;
  Settle s = tops_space(sim);
  settle_nearest(sim, &s);
  *residual = s.out;
  *value = s.value;
  return true;
}

// ---- initial values that read computed ones -----------------------------------------------------

#define TURNS_MAX 60

/// Evaluate all initial values that read something; whether one of them is another than in
/// `values`.
static bool starts_moved(EngSim* sim, double* values, uint32_t* which) {
  bool moved = false;
  for (uint32_t i = 0; i < sim->model->start_count; i++) {
    const ModelStart* start = &sim->model->starts[i];
    if (!start->reads) continue;
    double value = eng_start_value(sim, start);
    double size = fmax(fabs(value), fabs(values[i]));
    if (!(fabs(value - values[i]) <= 4.0 * DBL_EPSILON * size) && isfinite(value)) {
      moved = true;
      *which = i;
    }
    values[i] = value;
  }
  return moved;
}

SltStatus eng_dae_follow_starts(EngSim* sim) {
  const Model* model = sim->model;
  uint32_t which = 0;
  bool reads = false;
  for (uint32_t i = 0; i < model->start_count && !reads; i++) {
    reads = model->starts[i].reads;
  }
  if (!reads) return SLT_OK;
  size_t bytes = base_mul_size(model->start_count, sizeof(double));
  double* values = base_alloc(&sim->options.allocator, bytes);
  if (!values) return eng_fail(sim, SLT_ERR_NOMEM, DIAG_E0811, NULL, "out of memory at the start");
  for (uint32_t i = 0; i < model->start_count; i++) {
    const ModelStart* start = &model->starts[i];
    const ModelVar* var = &model->vars[start->var];
    values[i] = start->order < var->slots ? sim->env[var->env + start->order] : 0.0;
  }
  SltStatus status = SLT_OK;
  uint32_t turn = 0;
  while (status >= 0 && starts_moved(sim, values, &which) && turn++ < TURNS_MAX) {
    status = eng_start_values(sim, true);
    if (status >= 0) status = eng_enter_mode(sim);
  }
  base_free(&sim->options.allocator, values, bytes);
  if (status < 0 || turn <= TURNS_MAX) return status;
  const ModelStart* start = &model->starts[which];
  eng_fail(sim, SLT_ERR_SEMANTIC, DIAG_E0650, &start->span,
           "the initial value of '%.*s' depends on itself through the equations",
           STR_ARGS(model->vars[start->var].name));
  return eng_hint(
      sim, "solve for it, or make it a guess with `~` and write the condition as an equation");
}
