// SPDX-License-Identifier: MIT
//
// The equations of an entered mode integrated over the instant: quantities one order below those
// solved for may jump, forces and voltages become pulses, and one system with the mode's own
// Jacobian says how large. Momentum, charge and flux are conserved because the equations say so.
#include "engine/dae/parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define JUMP_MAX    30
#define IMPULSE_MIN 1e-9  // relative: smaller pulses are rounding
#define FULL_MAX    60u   // equations; more are eliminated as a sparse system
#define SINGULAR    1e-13

/// Contacts that repeat each other need the whole matrix to find its rank.
static bool is_full(const ModelImplicit* im) {
  return im->equation_count <= FULL_MAX || im->repeats;
}

size_t dae_reinitialise_size(const ModelImplicit* im) {
  size_t e = im->equation_count;
  size_t matrix = is_full(im) ? e * e : 2 * (size_t)im->system_entry_count;
  size_t least = im->repeats ? e * e + e : 0;
  return im->system.output_count + matrix + least + 8 * e + 4 * (size_t)im->quantity_count;
}

typedef struct JumpSpace {
  const ModelImplicit* im;
  uint32_t e;
  double* out;
  double* value;
  double* before;
  double* matrix;    // full, or the entries of...
  NumEntry* places;  // ...these places
  bool least;        // it has not full rank
  double* kept;      // as it is, then
  double* order;     // work space
  double* scale;
  double* delta;
  double* total;
  double* work;
  bool* yields;  // forces that leave the load to others
  uint32_t* pivot;
  uint32_t* column_quantity;
  NumSquare* square;     // factors of a large system
  uint32_t* hidden_row;  // per equation: its row one level below the top; MODEL_NONE for none
} JumpSpace;

static JumpSpace jump_space(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  double* at = sim->dae.work;
  JumpSpace s = {.im = im, .e = im->equation_count};
  s.out = dae_take(&at, im->system.output_count);
  s.value = dae_take(&at, im->quantity_count);
  s.before = dae_take(&at, im->quantity_count);
  s.matrix = dae_take(&at, is_full(im) ? (size_t)s.e * s.e : im->system_entry_count);
  s.places = (NumEntry*)dae_take(&at, is_full(im) ? 0 : im->system_entry_count);
  if (im->repeats) {
    s.kept = dae_take(&at, (size_t)s.e * s.e);
    s.order = dae_take(&at, s.e);
  }
  s.scale = dae_take(&at, s.e);
  s.delta = dae_take(&at, s.e);
  s.total = dae_take(&at, s.e);
  s.work = dae_take(&at, s.e);
  s.pivot = (uint32_t*)dae_take(&at, s.e);
  s.yields = (bool*)dae_take(&at, s.e);
  s.column_quantity = (uint32_t*)dae_take(&at, s.e);
  s.hidden_row = (uint32_t*)dae_take(&at, s.e);
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

/// Number of a quantity among those solved for, which ascend; MODEL_NONE for others.
static uint32_t top_column(const JumpSpace* s, uint32_t quantity) {
  uint32_t lo = 0;
  uint32_t hi = s->e;
  while (lo < hi) {
    uint32_t middle = lo + (hi - lo) / 2;
    if (s->column_quantity[middle] < quantity) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo < s->e && s->column_quantity[lo] == quantity ? lo : MODEL_NONE;
}

static SltStatus factor_full(JumpSpace* s, const ModelVar* vars, uint32_t* bad) {
  const ModelImplicit* im = s->im;
  memset(s->matrix, 0, (size_t)s->e * s->e * sizeof *s->matrix);
  for (uint32_t i = 0; i < im->system_entry_count; i++) {
    const ModelEntry* entry = &im->system_entries[i];
    uint32_t column = top_column(s, entry->column);
    if (entry->row < im->constraint_count || column == MODEL_NONE) continue;
    uint32_t equation = im->rows[entry->row].equation;
    s->matrix[(size_t)equation * s->e + column] += s->out[entry->reg];
  }
  for (uint32_t k = 0; k < s->e; k++) {
    const ModelQuantity* top = &im->quantities[s->column_quantity[k]];
    s->yields[k] = top->order == 0 && vars[top->var].yields;
  }
  if (s->kept) memcpy(s->kept, s->matrix, (size_t)s->e * s->e * sizeof *s->matrix);
  SltStatus status = num_lu_factor(s->e, s->matrix, SINGULAR, s->scale, s->pivot, bad);
  s->least = status < 0 && im->repeats;
  return s->least ? SLT_OK : status;
}

static SltStatus factor_sparse(EngSim* sim, JumpSpace* s, uint32_t* bad) {
  const ModelImplicit* im = s->im;
  uint32_t count = 0;
  for (uint32_t i = 0; i < im->system_entry_count; i++) {
    const ModelEntry* entry = &im->system_entries[i];
    uint32_t column = top_column(s, entry->column);
    if (entry->row < im->constraint_count || column == MODEL_NONE) continue;
    s->places[count] = (NumEntry){im->rows[entry->row].equation, column};
    s->matrix[count++] = s->out[entry->reg];
  }
  SltStatus status =
      num_square_create(s->places, s->matrix, count, s->e, SINGULAR, bad, &s->square);
  if (status != SLT_ERR_NOMEM) return status;
  return eng_fail(sim, status, DIAG_E0811, NULL, "out of memory for the equations of a mode");
}

/// Factors of the mode's own Jacobian.
static SltStatus factor(EngSim* sim, JumpSpace* s) {
  uint32_t bad = 0;
  SltStatus status =
      is_full(s->im) ? factor_full(s, sim->model->vars, &bad) : factor_sparse(sim, s, &bad);
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
  for (uint32_t i = 0; i < from->full.output_count; i++) {
    if (from->full_env[i] == sim->model->vars[var].env + order) return true;
  }
  return false;
}

/// Jumps and pulses into the trace and to the guards.
static void publish_jump(EngSim* sim, const JumpSpace* s) {
  const ModelImplicit* im = s->im;
  EngDae* implicit = &sim->dae;
  memset(implicit->impulse, 0, im->quantity_count * sizeof *implicit->impulse);
  double size = 0.0;
  for (uint32_t k = 0; k < s->e; k++) {
    double part = fabs(s->total[k]);
    if (part > size) size = part;
  }
  implicit->impulsive = false;
  for (uint32_t k = 0; k < s->e; k++) {
    const ModelQuantity* top = &im->quantities[s->column_quantity[k]];
    double nominal = dae_nominal(sim, top);
    if (!(fabs(s->total[k]) > IMPULSE_MIN * (nominal + size))) continue;
    implicit->impulse[s->column_quantity[k]] = s->total[k];
    implicit->impulsive = true;
    if (top->order == 0) eng_trace_impulse(sim, top->var, s->total[k]);
    if (top->order > 0 && was_known(sim, top->var, top->order - 1)) {
      uint32_t z = s->column_quantity[k] - 1;
      eng_trace_jump(sim, top->var, top->order - 1, s->before[z], s->value[z]);
    }
  }
  if (implicit->impulsive) sim->core.changes++;
}

/// Impulse parts of the guards' relations.
static void publish_guards(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngDae* implicit = &sim->dae;
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    implicit->guard[i] = 0.0;
  }
  if (!mode->impulse || !implicit->impulsive) return;
  double* q = implicit->work;
  double* slopes = q + mode->implicit->quantity_count;
  dae_gather(sim, mode->implicit, q);
  const ModelContext* context = eng_context(sim);
  model_program_run(&mode->impulse->slopes, context, implicit->impulse_regs, sim->core.t, q,
                    slopes);
  for (uint32_t i = 0; i < mode->impulse->entry_count; i++) {
    const ModelEntry* entry = &mode->impulse->entries[i];
    implicit->guard[entry->row] += slopes[entry->reg] * implicit->impulse[entry->column];
  }
}

bool eng_impulse_truth_now(const EngSim* sim, uint32_t i, bool* truth) {
  if (!sim->dae.impulsive || !sim->core.mode->impulse) return false;
  double weight = sim->dae.guard[i];
  if (!(fabs(weight) > IMPULSE_MIN)) return false;
  *truth = weight > 0.0;
  return true;
}

/// Delta from the right side in it; false where the equations contradict each other. Contacts that
/// say the same twice leave their pulses open: the smallest ones are taken.
static bool solve_jump(JumpSpace* s, double size) {
  if (s->square) {
    num_square_solve(s->square, s->delta);
    return true;
  }
  if (!s->least) {
    num_lu_solve(s->e, s->matrix, s->pivot, s->work, s->delta);
    return true;
  }
  memcpy(s->matrix, s->kept, (size_t)s->e * s->e * sizeof *s->matrix);
  memcpy(s->work, s->delta, s->e * sizeof *s->work);
  return model_rank_solve(s->e, s->matrix, s->work, size, s->yields, s->order, s->delta) !=
         MODEL_RANK_NONE;
}

/// A jump that is no larger than errors are allowed to be is one: its pulses have signs by chance,
/// and no guard hears of them. (A body comes to rest where its speed is zero, up to the tolerance.)
/// The values it leads to are those that the instant goes on with, whatever becomes of the mode.
static void correct_values(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  sim->dae.impulsive = false;
  for (uint32_t i = 0; i < im->quantity_count; i++) {
    const ModelQuantity* quantity = &im->quantities[i];
    if (quantity->env == MODEL_NONE || quantity->state == MODEL_NONE) continue;
    double change = sim->env[quantity->env] - sim->dae.entry[i];
    sim->env[sim->model->env_count + quantity->env] += change;
  }
}

/// J delta = -r: what may jump jumps, the rest becomes pulses.
SltStatus dae_reinitialise(EngSim* sim, double distance) {
  JumpSpace s = jump_space(sim);
  const ModelImplicit* im = s.im;
  dae_gather(sim, im, s.value);
  memcpy(s.before, s.value, im->quantity_count * sizeof *s.value);
  memset(s.total, 0, s.e * sizeof *s.total);
  dae_run_system(sim, im, s.value, s.out);
  SLT_TRY(factor(sim, &s));
  double last = (double)INFINITY;
  double size = 0.0;
  for (int pass = 0; pass < JUMP_MAX; pass++) {
    double norm = 0.0;
    for (uint32_t i = 0; i < s.e; i++) {
      s.delta[i] = s.hidden_row[i] == MODEL_NONE ? 0.0 : -s.out[s.hidden_row[i]];
      norm = fmax(norm, fabs(s.delta[i]));
    }
    if (norm == 0.0 || !(norm < 0.9 * last)) break;
    if (s.least && pass > 0 && norm < DBL_EPSILON * size) break;
    last = norm;
    if (pass == 0) size = norm;
    if (!solve_jump(&s, size)) {
      num_square_free(s.square);
      return dae_fail_singular(sim, s.column_quantity[0]);
    }
    for (uint32_t k = 0; k < s.e; k++) {
      uint32_t quantity = s.column_quantity[k];
      s.total[k] += s.delta[k];
      if (im->quantities[quantity].order > 0) s.value[quantity - 1] += s.delta[k];
    }
    dae_run_system(sim, im, s.value, s.out);
  }
  num_square_free(s.square);
  dae_scatter(sim, im, s.value, false);
  publish_jump(sim, &s);
  // an impact is meant, however slow it is, and its memory is made from the speed before it
  bool meant = sim->events.assigned_count > 0;
  if (!meant && distance <= fmax(sim->options.rtol, sim->options.event_eps)) correct_values(sim);
  publish_guards(sim);
  return SLT_OK;
}
