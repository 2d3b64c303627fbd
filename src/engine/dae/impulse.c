// SPDX-License-Identifier: MIT
//
// The equations of an entered mode integrated over the instant: quantities one order below those
// solved for may jump, forces and voltages become impulses, and one system with the mode's own
// Jacobian says how large. Momentum, charge and flux are conserved because the equations say so.
//
// Equations of motion are integrated with the coefficients from before the jump, so the sum of all
// steps obeys them as each step does: they say along which directions the values may jump. What the
// constraints demand is looked for along these directions by Newton's method with damping, so they
// may be curved.
#include "engine/dae/parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define STEPS_MAX    60
#define HALVINGS_MAX 20
#define FULL_MAX     60u  // equations; more are eliminated as a sparse system
#define SINGULAR     1e-13
#define LAST_IMPACT  1e-5  // of the scale of what jumps: impulses that an arc within rounding leaves

/// Contacts that repeat each other need the whole matrix to find its rank.
static bool is_full(const ModelImplicit* im) {
  return im->equation_count <= FULL_MAX || im->repeats;
}

size_t dae_reinitialise_size(const ModelImplicit* im) {
  size_t e = im->equation_count;
  size_t matrix = is_full(im) ? e * e : 2 * (size_t)im->system_entry_count;
  size_t least = im->repeats ? e * e + e : 0;
  return 2 * (size_t)im->system.output_count + 4 * (size_t)im->system_entry_count + matrix + least +
         14 * e + 4 * (size_t)im->quantity_count;
}

typedef struct Jump {
  const ModelImplicit* im;
  uint32_t e;
  ModelEntry* tops;  // coefficients of what is solved for: equation, column, place in...
  uint32_t top_count;
  double* coefficient;  // ...these
  double* out;
  double* unmoved;  // the same for the values before what was assigned
  double* value;
  double* trial;
  double* before;
  double* matrix;    // rows and columns by their sizes: full, or the entries of...
  NumEntry* places;  // ...these places
  bool least;        // it has not full rank
  double* kept;      // as it is, then
  double* order;     // work space
  double* scale;     // per column: of what may jump, and of impulses
  double* row;       // per equation: size of its terms
  double* balance;   // per column: factor that makes its entries of one size
  double* lu_scale;
  double* delta;
  double* total;
  double* work;
  double* struck;   // per column: its part that resets demand
  bool written;     // balanced by the coefficients alone
  double distance;  // behind the last step
  double largest;   // distance so far: equations that repeat each other agree beside it
  bool* yields;     // forces that leave the load to others
  bool* stays;      // alone in an equation of motion: positions do not jump where speeds do
  uint32_t* pivot;
  uint32_t* column_quantity;
  NumSquare* square;     // factors of a large system
  uint32_t* hidden_row;  // per equation: its row one level below the top; MODEL_NONE for none
} Jump;

static void find_tops(Jump* s) {
  const ModelImplicit* im = s->im;
  for (uint32_t i = 0; i < im->system_entry_count; i++) {
    const ModelEntry* entry = &im->system_entries[i];
    // among those solved for, which ascend
    uint32_t column = base_find_sorted(s->column_quantity, s->e, entry->column);
    if (entry->row < im->constraint_count || column == MODEL_NONE) continue;
    s->tops[s->top_count] =
        (ModelEntry){.row = im->rows[entry->row].equation, .column = column, .reg = s->top_count};
    s->coefficient[s->top_count++] = s->out[entry->reg];
  }
}

static void find_what_stays(Jump* s) {
  for (uint32_t i = 0; i < s->top_count; i++) {
    uint32_t row = s->tops[i].row;  // rows ascend
    bool alone = (i == 0 || s->tops[i - 1].row != row) &&
                 (i + 1 == s->top_count || s->tops[i + 1].row != row);
    alone &= s->hidden_row[row] == MODEL_NONE && s->coefficient[i] != 0.0;
    s->stays[s->tops[i].column] |= alone;
  }
}

static Jump jump_begin(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  double* at = sim->dae.work;
  Jump s = {.im = im, .e = im->equation_count};
  s.out = dae_take(&at, im->system.output_count);
  s.unmoved = dae_take(&at, im->system.output_count);
  s.value = dae_take(&at, im->quantity_count);
  s.trial = dae_take(&at, im->quantity_count);
  s.before = dae_take(&at, im->quantity_count);
  s.tops = (ModelEntry*)dae_take(&at, 3 * (size_t)im->system_entry_count);
  s.coefficient = dae_take(&at, im->system_entry_count);
  s.matrix = dae_take(&at, is_full(im) ? (size_t)s.e * s.e : im->system_entry_count);
  s.places = (NumEntry*)dae_take(&at, is_full(im) ? 0 : im->system_entry_count);
  if (im->repeats) {
    s.kept = dae_take(&at, (size_t)s.e * s.e);
    s.order = dae_take(&at, s.e);
  }
  s.scale = dae_take(&at, s.e);
  s.row = dae_take(&at, s.e);
  s.balance = dae_take(&at, s.e);
  s.lu_scale = dae_take(&at, s.e);
  s.delta = dae_take(&at, s.e);
  s.total = dae_take(&at, s.e);
  s.struck = dae_take(&at, s.e);
  s.work = dae_take(&at, s.e);
  s.pivot = (uint32_t*)dae_take(&at, s.e);
  s.yields = (bool*)dae_take(&at, s.e);
  s.stays = s.yields + s.e;
  s.column_quantity = (uint32_t*)dae_take(&at, s.e);
  s.hidden_row = (uint32_t*)dae_take(&at, s.e);
  uint32_t column = 0;
  for (uint32_t v = 0; v < sim->model->var_count; v++)
    if (im->top[v] != MODEL_NONE && column < s.e) s.column_quantity[column++] = im->top[v];
  for (uint32_t k = 0; k < s.e; k++) {
    const ModelQuantity* top = &im->quantities[s.column_quantity[k]];
    s.yields[k] = top->order == 0 && sim->model->vars[top->var].yields;
    s.stays[k] = false;
    s.hidden_row[k] = MODEL_NONE;
    s.total[k] = s.struck[k] = 0.0;
  }
  // levels ascend: the last one below the top stays
  for (uint32_t i = 0; i < im->constraint_count; i++)
    s.hidden_row[im->rows[i].equation] = i;
  dae_gather(sim, im, s.value);
  memcpy(s.before, s.value, im->quantity_count * sizeof *s.value);
  dae_run_system(sim, im, s.value, s.out);
  find_tops(&s);
  find_what_stays(&s);
  return s;
}

/// A coefficient by the sizes of its row and its column.
static double by_size(const Jump* s, uint32_t i) {
  const ModelEntry* entry = &s->tops[i];
  double size = s->row[entry->row];
  return size > 0.0 ? s->coefficient[i] * s->balance[entry->column] / size : 0.0;
}

/// What may jump measures what it has been; impulses, what the equations of motion tell.
static void find_scales(EngSim* sim, Jump* s) {
  for (uint32_t k = 0; k < s->e; k++) {
    uint32_t top = s->column_quantity[k];
    s->scale[k] = 0.0;
    if (s->im->quantities[top].order == 0) continue;
    uint32_t env = s->im->quantities[top - 1].env;
    s->scale[k] = fmax(fabs(s->value[top - 1]), env == MODEL_NONE ? 0.0 : eng_scale(sim, env));
    if (s->scale[k] < DBL_MIN) s->scale[k] = 0.0;  // what is left of zero has no digits
  }
  DaeRows rows = {.entries = s->tops,
                  .entry_count = s->top_count,
                  .row_count = s->e,
                  .column_count = s->e,
                  .homogeneous = true};
  // constraints tell what has never been anything but zero
  for (uint32_t i = 0; i < s->top_count; i++) {
    const ModelEntry* entry = &s->tops[i];
    uint32_t hidden = s->hidden_row[entry->row];
    if (hidden == MODEL_NONE || s->coefficient[i] == 0.0 || s->stays[entry->column]) continue;
    double size = fabs(s->out[hidden] / s->coefficient[i]);
    if (size >= DBL_MIN && size <= DBL_MAX)
      s->scale[entry->column] = fmax(s->scale[entry->column], size);
  }
  dae_complete_scales(&rows, s->coefficient, s->row, s->work, s->scale);
}

/// Rows and columns to one size, so that ranks are seen whatever the scales: what has hardly moved
/// so far is no reason to call its equations dependent.
static void equilibrate(Jump* s) {
  for (int round = 0; round < 3; round++) {
    memset(s->row, 0, s->e * sizeof *s->row);
    memset(s->work, 0, s->e * sizeof *s->work);
    for (uint32_t i = 0; i < s->top_count; i++) {
      double* size = &s->row[s->tops[i].row];
      *size = fmax(*size, fabs(s->coefficient[i]) * s->balance[s->tops[i].column]);
    }
    for (uint32_t i = 0; i < s->top_count; i++) {
      double* size = &s->work[s->tops[i].column];
      *size = fmax(*size, fabs(by_size(s, i)));
    }
    for (uint32_t k = 0; k < s->e; k++)
      if (s->work[k] > 0.0 && s->work[k] <= DBL_MAX) s->balance[k] /= s->work[k];
  }
}

/// Evaluate at these values: the largest distance to a constraint; negative: not a number.
/// Equations of motion keep the coefficients that they had before the jump.
static double evaluate(EngSim* sim, Jump* s, const double* value) {
  const ModelImplicit* im = s->im;
  dae_run_system(sim, im, value, s->out);
  memset(s->row, 0, s->e * sizeof *s->row);
  uint32_t at = 0;
  for (uint32_t i = 0; i < im->system_entry_count; i++) {
    const ModelEntry* entry = &im->system_entries[i];
    if (entry->row < im->constraint_count) continue;
    if (at >= s->top_count || s->column_quantity[s->tops[at].column] != entry->column ||
        im->rows[entry->row].equation != s->tops[at].row) {
      continue;
    }
    if (s->hidden_row[s->tops[at].row] != MODEL_NONE) s->coefficient[at] = s->out[entry->reg];
    s->row[s->tops[at].row] += fabs(s->coefficient[at]) * s->scale[s->tops[at].column];
    at++;
  }
  double largest = 0.0;
  for (uint32_t i = 0; i < s->e; i++) {
    if (s->hidden_row[i] == MODEL_NONE) continue;
    double part = dae_row_distance(s->out[s->hidden_row[i]], s->row[i]);
    if (!(part <= DBL_MAX)) return -1.0;
    largest = fmax(largest, part);
  }
  return largest;
}

static SltStatus factor_full(Jump* s, uint32_t* bad) {
  memset(s->matrix, 0, (size_t)s->e * s->e * sizeof *s->matrix);
  for (uint32_t i = 0; i < s->top_count; i++)
    s->matrix[(size_t)s->tops[i].row * s->e + s->tops[i].column] += by_size(s, i);
  if (s->kept) memcpy(s->kept, s->matrix, (size_t)s->e * s->e * sizeof *s->matrix);
  SltStatus status = num_lu_factor(s->e, s->matrix, SINGULAR, s->lu_scale, s->pivot, bad);
  s->least = status < 0 && s->im->repeats;
  return s->least ? SLT_OK : status;
}

static SltStatus factor_sparse(EngSim* sim, Jump* s, uint32_t* bad) {
  num_square_free(s->square);
  s->square = NULL;
  for (uint32_t i = 0; i < s->top_count; i++) {
    s->places[i] = (NumEntry){s->tops[i].row, s->tops[i].column};
    s->matrix[i] = by_size(s, i);
  }
  SltStatus status =
      num_square_create(s->places, s->matrix, s->top_count, s->e, SINGULAR, bad, &s->square);
  if (status != SLT_ERR_NOMEM) return status;
  return eng_fail(sim, status, DIAG_E0811, NULL, "out of memory for the equations of a mode");
}

/// Factors of the mode's own Jacobian.
static SltStatus factor(EngSim* sim, Jump* s) {
  uint32_t bad = 0;
  for (uint32_t k = 0; k < s->e; k++)
    s->balance[k] = s->written ? 1.0 : s->scale[k];
  equilibrate(s);
  SltStatus status = is_full(s->im) ? factor_full(s, &bad) : factor_sparse(sim, s, &bad);
  if (status >= 0 || status == SLT_ERR_NOMEM) return status;
  return dae_fail_singular(sim, s->column_quantity[bad < s->e ? bad : 0]);
}

/// Whether the mode that is left had a value for a quantity; derivatives of what it computes are
/// known to modes that need them only.
static bool was_known(const EngSim* sim, uint32_t var, uint32_t order) {
  const ModelMode* from = sim->dae.from;
  if (!from) return true;
  const ModelVarMode* mode = &from->vars[var];
  if (order <= (mode->role == MODEL_ROLE_STATE ? mode->state_order : 0)) return true;
  return eng_output_place(from, sim->model->vars[var].env + order) != MODEL_NONE;
}

/// Whether a contact closes with the last of its impacts.
static bool ends_bouncing(const EngSim* sim) {
  for (uint32_t i = 0; sim->instant.has_instead && i < sim->model->transition_count; i++)
    if (sim->instant.transitions[i].fired_now && sim->model->transitions[i].instead) return true;
  return false;
}

/// s->work := how small an impulse is rounding: beside what its quantity measures, or beside what
/// it is in balance with. Forces at the last of many impacts, which leaves no arc that can be told
/// from rest, throw nothing off that is at rest. (A rope and a floor would take turns for ever.)
static void measure_rounding(const EngSim* sim, Jump* s) {
  double least = ends_bouncing(sim) ? LAST_IMPACT : ENG_IMPULSE_MIN;
  memset(s->row, 0, s->e * sizeof *s->row);
  for (uint32_t i = 0; i < s->top_count; i++) {
    double* size = &s->row[s->tops[i].row];
    *size = fmax(*size, fabs(s->coefficient[i] * s->total[s->tops[i].column]));
  }
  for (uint32_t k = 0; k < s->e; k++)
    s->work[k] = (double)INFINITY;
  for (uint32_t i = 0; i < s->top_count; i++) {
    double* balance = &s->work[s->tops[i].column];
    if (s->coefficient[i] == 0.0) continue;
    *balance = fmin(*balance, s->row[s->tops[i].row] / fabs(s->coefficient[i]));
  }
  for (uint32_t k = 0; k < s->e; k++) {
    double balance = s->work[k] <= DBL_MAX ? s->work[k] : 0.0;
    bool force = s->im->quantities[s->column_quantity[k]].order == 0;
    s->work[k] = (force ? least : ENG_IMPULSE_MIN) * fmax(s->scale[k], balance);
  }
}

/// Jumps and impulses into the trace and to the guards.
static void publish_jump(EngSim* sim, Jump* s) {
  const ModelImplicit* im = s->im;
  EngDae* dae = &sim->dae;
  memset(dae->impulse, 0, 2 * (size_t)im->quantity_count * sizeof *dae->impulse);
  measure_rounding(sim, s);
  dae->impulsive = false;
  for (uint32_t k = 0; k < s->e; k++) {
    const ModelQuantity* top = &im->quantities[s->column_quantity[k]];
    if (!(fabs(s->total[k]) > s->work[k])) continue;
    dae->impulse[s->column_quantity[k]] = s->total[k];
    if (fabs(s->struck[k]) > s->work[k])
      dae->impulse[im->quantity_count + s->column_quantity[k]] = s->struck[k];
    dae->impulsive = true;
    if (top->order == 0) eng_trace_impulse(sim, top->var, s->total[k]);
    if (top->order > 0 && was_known(sim, top->var, top->order - 1)) {
      uint32_t z = s->column_quantity[k] - 1;
      eng_trace_jump(sim, top->var, top->order - 1, s->before[z], s->value[z]);
    }
  }
  if (dae->impulsive) {
    sim->core.changes++;
    sim->instant.impulses++;
  }
}

/// Impulse parts of the guards' relations; those that are rounding are zero.
static void publish_guards(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngDae* dae = &sim->dae;
  for (uint32_t i = 0; i < mode->atom_count; i++)
    dae->guard[i] = 0.0;
  if (!mode->impulse || !dae->impulsive) return;
  const ModelImpulse* impulse = mode->impulse;
  double* q = dae->work;
  double* slopes = q + mode->implicit->quantity_count;
  double* rounding = slopes + impulse->slopes.output_count;
  dae_gather(sim, mode->implicit, q);
  const ModelContext* context = eng_context(sim);
  model_program_run(&impulse->slopes, context, dae->impulse_regs, sim->core.t, q, slopes);
  for (uint32_t i = 0; i < mode->atom_count; i++)
    rounding[i] = 0.0;
  for (uint32_t i = 0; i < impulse->entry_count; i++) {
    const ModelEntry* entry = &impulse->entries[i];
    bool struck = sim->atoms[mode->atoms[entry->row]].kind.struck;
    uint32_t column = entry->column + (struck ? mode->implicit->quantity_count : 0);
    double part = slopes[entry->reg] * dae->impulse[column];
    dae->guard[entry->row] += part;
    rounding[entry->row] += ENG_IMPULSE_MIN * fabs(part);
  }
  for (uint32_t i = 0; i < mode->atom_count; i++)
    if (!(fabs(dae->guard[i]) > rounding[i])) dae->guard[i] = 0.0;
}

bool eng_impulse_truth_slow(const EngSim* sim, uint32_t i, bool* truth) {
  if (!sim->dae.impulsive || !sim->core.mode->impulse) return false;
  double weight = sim->dae.guard[i];
  if (weight == 0.0) return false;
  *truth = weight > 0.0;
  return true;
}

/// The step to what the linearised constraints demand; false where the equations contradict each
/// other. Contacts that say the same twice leave their impulses open: the smallest ones are taken.
/// `beside`: only what the constraints are off by more than at these values counts.
static bool solve_step(Jump* s, const double* beside) {
  double size = s->largest;
  for (uint32_t i = 0; i < s->e; i++) {
    uint32_t row = s->hidden_row[i];
    double off = row == MODEL_NONE ? 0.0 : s->out[row] - (beside ? beside[row] : 0.0);
    s->delta[i] = off == 0.0 || !(s->row[i] > 0.0) ? 0.0 : -off / s->row[i];
    size = fmax(size, fabs(s->delta[i]));
  }
  s->largest = size;
  bool solved = true;
  if (s->square) {
    num_square_solve(s->square, s->delta);
  } else if (!s->least) {
    num_lu_solve(s->e, s->matrix, s->pivot, s->work, s->delta);
  } else {
    memcpy(s->matrix, s->kept, (size_t)s->e * s->e * sizeof *s->matrix);
    memcpy(s->work, s->delta, s->e * sizeof *s->work);
    solved = model_rank_solve(s->e, s->matrix, s->work, size, s->balance, s->yields, s->order,
                              s->delta) != MODEL_RANK_NONE;
  }
  for (uint32_t k = 0; k < s->e; k++)
    s->delta[k] = s->stays[k] ? 0.0 : s->delta[k] * s->balance[k];
  return solved;
}

/// s->trial := s->value after a part of the step.
static void move(Jump* s, double part) {
  memcpy(s->trial, s->value, s->im->quantity_count * sizeof *s->trial);
  for (uint32_t k = 0; k < s->e; k++) {
    uint32_t quantity = s->column_quantity[k];
    if (s->im->quantities[quantity].order > 0) s->trial[quantity - 1] += part * s->delta[k];
  }
}

/// The part of the impulses that follows from how far resets have moved the values off constraints
/// that held before: a closed contact is struck by it, and passes on those of impacts elsewhere.
static void solve_struck(EngSim* sim, Jump* s) {
  bool moved = false;
  for (uint32_t i = 0; i < s->im->quantity_count; i++) {
    const ModelQuantity* q = &s->im->quantities[i];
    bool state = q->env != MODEL_NONE && q->state != MODEL_NONE;
    s->trial[i] = state ? sim->env[sim->model->env_count + q->env] : s->value[i];
    moved |= s->trial[i] != s->value[i];
  }
  if (!moved) return;
  dae_run_system(sim, s->im, s->trial, s->unmoved);
  if (solve_step(s, s->unmoved)) memcpy(s->struck, s->delta, s->e * sizeof *s->delta);
}

/// Newton's method with damping, until rounding is left.
static SltStatus solve_jump(EngSim* sim, Jump* s) {
  double distance = evaluate(sim, s, s->value);
  for (int pass = 0; pass < STEPS_MAX && distance > 0.0; pass++) {
    SLT_TRY(factor(sim, s));
    if (pass == 0 && sim->instant.has_instead) solve_struck(sim, s);
    if (!solve_step(s, NULL)) {
      if (pass > 0) break;
      return dae_fail_singular(sim, s->column_quantity[0]);
    }
    bool close = distance <= DAE_CLOSE;
    double part = 1.0;
    double after = -1.0;
    for (int halving = 0; halving < HALVINGS_MAX; halving++, part *= 0.5) {
      move(s, part);
      after = evaluate(sim, s, s->trial);
      if ((after >= 0.0 && after <= (1.0 - 0.25 * part) * distance) || close) break;
    }
    if (!(after >= 0.0 && after < distance)) break;
    bool stagnates = close && after > 0.5 * distance;
    distance = after;
    memcpy(s->value, s->trial, s->im->quantity_count * sizeof *s->value);
    for (uint32_t k = 0; k < s->e; k++)
      s->total[k] += part * s->delta[k];
    if (stagnates) break;
  }
  s->distance = distance;
  return SLT_OK;
}

/// A jump that is no larger than errors are allowed to be is one: its pulses have signs by chance,
/// and no guard hears of them. (A body comes to rest where its speed is zero, up to the tolerance.)
/// The values it leads to are those that the instant goes on with, whatever becomes of the mode;
/// what is no more than rounding has not moved anything.
static void correct_values(EngSim* sim, bool rounding) {
  const ModelImplicit* im = sim->core.mode->implicit;
  sim->dae.impulsive = false;
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    const ModelQuantity* quantity = &im->quantities[i];
    if (quantity->env == MODEL_NONE || quantity->state == MODEL_NONE) continue;
    double change = sim->env[quantity->env] - sim->dae.entry[i];
    sim->env[sim->model->env_count + quantity->env] += change;
    if (rounding) sim->values.before[quantity->env] += change;
  }
}

/// Whether all that jumps by more than rounding is where it would be a moment earlier or later, as
/// exactly as times can be told apart: a zero is located no better, whatever the scales are.
static bool is_timing(const EngSim* sim, const Jump* s) {
  double moment = 4.0 * num_time_resolution(sim->core.t);
  for (uint32_t k = 0; k < s->e; k++) {
    uint32_t top = s->column_quantity[k];
    if (s->im->quantities[top].order == 0) continue;
    double jump = fabs(s->value[top - 1] - s->before[top - 1]);
    if (jump > fmax(moment * fabs(s->before[top]), s->work[k])) return false;
  }
  return true;
}

SltStatus dae_reinitialise(EngSim* sim, double distance) {
  Jump s = {0};
  SltStatus status = SLT_ERR_STRUCTURE;
  EngError none = sim->error;
  // scales that are rounding alone hide ranks: then the coefficients show them as they are written
  for (int written = 0; written < 2 && status != SLT_ERR_NOMEM; written++) {
    if (written && status >= 0 && s.distance <= DAE_CLOSE) break;
    sim->error = none;
    s = jump_begin(sim);
    s.written = written;
    find_scales(sim, &s);
    status = solve_jump(sim, &s);
    num_square_free(s.square);
  }
  if (status < 0) return status;
  dae_scatter(sim, s.im, s.value, false);
  publish_jump(sim, &s);
  // an impact is meant, however slow it is, and its memory is made from the speed before it
  bool meant = sim->events.assigned_count > 0;
  double tolerable = fmax(sim->options.rtol, sim->options.event_eps);
  if (!meant && (distance <= tolerable || is_timing(sim, &s)))
    correct_values(sim, distance <= DAE_ROUNDING);
  publish_guards(sim);
  return SLT_OK;
}

void dae_pull_apart(EngSim* sim) {
  EngDae* dae = &sim->dae;
  EngError contradiction = sim->error;
  Jump s = jump_begin(sim);
  // levels ascend: the first one stays
  for (uint32_t i = s.im->constraint_count; i-- > 0;)
    s.hidden_row[s.im->rows[i].equation] = i;
  find_scales(sim, &s);
  bool solved = evaluate(sim, &s, s.value) > 0.0 && factor(sim, &s) >= 0 && solve_step(&s, NULL);
  num_square_free(s.square);
  sim->error = contradiction;
  if (!solved) return;
  memcpy(s.total, s.delta, s.e * sizeof *s.total);
  measure_rounding(sim, &s);
  memset(dae->impulse, 0, 2 * (size_t)s.im->quantity_count * sizeof *dae->impulse);
  for (uint32_t k = 0; k < s.e; k++)
    if (fabs(s.total[k]) > s.work[k]) dae->impulse[s.column_quantity[k]] = s.total[k];
  dae->impulsive = true;
  publish_guards(sim);
}
