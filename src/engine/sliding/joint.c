// SPDX-License-Identifier: MIT
//
// Surfaces that act on each other through sums, and through closed contacts.
//
// Surface j adds alpha_j e_j to the flow, the difference of the flows on its sides; closed contact
// k adds lambda_k d_k. Where all of them only add up, going on is one problem of complementarity:
//     alpha_j = 0 and g_j' <= 0,  or  0 < alpha_j < 1 and g_j' = 0,  or  alpha_j = 1 and g_j' >= 0,
//     lambda_k >= 0,  gap_k'' >= 0,  one of them 0.
// Its solution also tells who holds what two could hold (a block with dry friction at a wall): one
// of them carries, the other one stands at an end of its range, until the first one comes to its
// own end. While the motion goes on, the flow of every row has the reactions of the contacts that
// carry, and the coefficients follow from the rates of all surfaces in all rows.
#include "engine/contact/work.h"
#include "engine/sliding/sides.h"

#include <math.h>
#include <string.h>

#define ITERATIONS 30       // Newton, where some surfaces are more than sums
#define AT_END     0x1p-40  // of a coefficient: as good as 0 or 1
#define AHEAD      1e-4     // of a step: where the next moment is looked at
#define NO_RATE    0x1p-40  // of the terms of a rate: what rounding leaves of one that vanishes

// ---- rates in all rows --------------------------------------------------------------------------

static double* rates_of(const EngSim* sim, uint32_t surface) {
  return sim->sliding.sides.link + (size_t)surface * sim->core.slide.rows;
}

static double* reactions_of(const EngSim* sim, uint32_t row) {
  return sim->sliding.sides.reactions + (size_t)row * sim->core.contact.count;
}

/// Room for the rates of all surfaces and the reactions of all contacts in all rows.
static SltStatus room(EngSim* sim) {
  EngSliding* w = &sim->sliding;
  size_t rows = sim->core.slide.rows;
  SLT_TRY(ENG_GROW(sim, w->sides.link, rows * sim->core.slide.count));
  return ENG_GROW(sim, w->sides.reactions, rows * sim->core.contact.count + 1);
}

/// Rates of all surfaces along the flow of a row: the derivative that decides about each.
static void find_rates(EngSim* sim, uint32_t row, double t, const double* x) {
  EngSliding* w = &sim->sliding;
  const double* flow = side_flow(sim, row);
  bool second = false;
  side_rates_along(sim, model_time(t, t), x, flow);
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &w->value.surfaces[k];
    ModelInterval rate = sim->proof.g_dual[s->index].d;
    rates_of(sim, k)[row] = 0.5 * (rate.lo + rate.hi);
    if (!row) w->sides.speed[k] = rates_of(sim, k)[row];
    second |= s->order == 2;
  }
  if (!second) return;
  const ModelMode* mode = w->sides.regs[row].mode;
  model_program_enclose(&mode->gdot, eng_context(sim), w->sides.regs[row].gdot_dual,
                        model_time(t, t), w->sides.x, sim->proof.g_dual);
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &w->value.surfaces[k];
    uint32_t place = side_place(sim, k, mode);
    if (s->order != 2 || place == MODEL_NONE) continue;
    ModelInterval rate = sim->proof.g_dual[place / 2].d;
    rates_of(sim, k)[row] = (place & 1u ? -0.5 : 0.5) * (rate.lo + rate.hi);
  }
}

SltStatus side_evaluate_linked(EngSim* sim, double t, const double* x, bool pull) {
  SLT_TRY(room(sim));
  for (uint32_t row = 0; row < sim->core.slide.rows; row++) {
    const double* point = side_run_flow(sim, row, t, x);
    if (sim->core.contact.active) {
      double stiffness = pull ? sim->core.contact.stiffness : 0.0;
      SLT_TRY(eng_contact_push(sim, t, point, stiffness, side_flow(sim, row)));
      for (uint32_t i = 0; i < sim->core.contact.count; i++) {
        reactions_of(sim, row)[i] = sim->contact.work->rows[i].lambda;
      }
    }
    find_rates(sim, row, t, point);
  }
  return SLT_OK;
}

// ---- the motion ---------------------------------------------------------------------------------

/// Residuals of the rates for these coefficients, and their changes with each.
static void linearise(const EngSim* sim, const double* wanted, const double* alpha, double* a,
                      double* b) {
  const EngSlide* slide = &sim->core.slide;
  uint32_t n = slide->count;
  memset(a, 0, (size_t)n * n * sizeof *a);
  for (uint32_t j = 0; j < n; j++) {
    b[j] = wanted[j] - rates_of(sim, j)[0];
  }
  for (uint32_t group = 0; group < slide->group_count; group++) {
    uint32_t members[ENG_GROUP_MAX];
    double own[ENG_GROUP_MAX];
    uint32_t count = side_members(sim, group, members);
    uint32_t all = (1u << count) - 1u;
    for (uint32_t bit = 0; bit < count; bit++) {
      own[bit] = alpha[members[bit]];
    }
    for (uint32_t p = 1; p <= all; p++) {
      uint32_t row = side_row(&sim->sliding.value.surfaces[members[0]], p);
      double weight = num_multilinear_weight(p, all, own);
      for (uint32_t j = 0; j < n; j++) {
        double difference = rates_of(sim, j)[row] - rates_of(sim, j)[0];
        b[j] -= weight * difference;
        for (uint32_t bit = 0; bit < count; bit++) {
          double change = num_multilinear_weight(p, all & ~(1u << bit), own);
          a[(size_t)j * n + members[bit]] += (p >> bit & 1u ? change : -change) * difference;
        }
      }
    }
  }
}

/// Room for so many doubles that are used at once.
static double* numbers(EngSim* sim, size_t count) {
  EngSliding* w = &sim->sliding;
  SltStatus status = ENG_GROW(sim, w->sides.values, count);
  return status < 0 ? NULL : w->sides.values;
}

/// Divide rows by their largest entries: surfaces have units of their own.
static void scale_rows(uint32_t n, double* a, double* b) {
  for (uint32_t j = 0; j < n; j++) {
    double size = 0.0;
    for (uint32_t k = 0; k < n; k++) {
      size = fmax(size, fabs(a[(size_t)j * n + k]));
    }
    if (!(size > 0.0)) continue;
    for (uint32_t k = 0; k < n; k++) {
      a[(size_t)j * n + k] /= size;
    }
    b[j] /= size;
  }
}

SltStatus side_solve_linked(EngSim* sim, const double* wanted, double* alpha) {
  const EngSlide* slide = &sim->core.slide;
  uint32_t n = slide->count;
  double* a = numbers(sim, (size_t)n * n + 4 * (size_t)n);
  if (!a) return SLT_ERR_NOMEM;
  double* b = a + (size_t)n * n;
  double* scratch = b + n;
  double* scale = scratch + n;
  uint32_t* pivot = (uint32_t*)(scale + n);
  memcpy(alpha, sim->sliding.motion.alpha, n * sizeof *alpha);
  for (uint32_t iteration = 0; iteration < ITERATIONS; iteration++) {
    linearise(sim, wanted, alpha, a, b);
    scale_rows(n, a, b);
    if (num_lu_factor(n, a, 1e-14, scale, pivot, NULL) < 0) return SLT_ERR_NO_CONVERGENCE;
    num_lu_solve(n, a, pivot, scratch, b);
    double change = 0.0;
    for (uint32_t i = 0; i < n; i++) {
      alpha[i] += b[i];
      change = fmax(change, fabs(b[i]));
    }
    // surfaces that only add up have a linear system
    if (slide->group_count == n || change < 1e-14) return SLT_OK;
    if (!(change < 1e6)) break;
  }
  return SLT_ERR_NO_CONVERGENCE;
}

void side_combine_reactions(EngSim* sim) {
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    double sum = 0.0;
    for (uint32_t row = 0; row < sim->core.slide.rows; row++) {
      sum += side_row_weight(sim, row, MODEL_NONE) * reactions_of(sim, row)[i];
    }
    sim->contact.work->rows[i].lambda = sum;
  }
}

// ---- complementarity ----------------------------------------------------------------------------

/// The problem: n surfaces, m contacts. Unknowns are the coefficients, what is left of the rates of
/// surfaces that are left upward, and the reactions; everything in units of its own effect.
typedef struct Joint {
  double t;
  const double* x;  // where it is looked at
  uint32_t n, m, size;
  double *matrix, *q, *z, *w, *work;
  double* rate_unit;  // per surface: how much its own sides differ in its rate
  double* gap_unit;   // per contact: size of the accelerations of its gap
  double* push_unit;  // per contact: the reaction that gives it such an acceleration
} Joint;

static bool begin(EngSim* sim, Joint* p) {
  p->n = sim->core.slide.count;
  p->m = sim->core.contact.count;
  p->size = 2 * p->n + p->m;
  size_t square = (size_t)p->size * p->size;
  p->matrix =
      numbers(sim, square + 3 * (size_t)p->size + num_lcp_room(p->size) + p->n + 2 * (size_t)p->m);
  if (!p->matrix) return false;
  memset(p->matrix, 0, square * sizeof *p->matrix);
  p->q = p->matrix + square;
  p->z = p->q + p->size;
  p->w = p->z + p->size;
  p->rate_unit = p->w + p->size;
  p->gap_unit = p->rate_unit + p->n;
  p->push_unit = p->gap_unit + p->m;
  p->work = p->push_unit + p->m;
  return true;
}

static double* entry(const Joint* p, uint32_t row, uint32_t column) {
  return &p->matrix[(size_t)row * p->size + column];
}

static uint32_t row_above(const EngSim* sim, uint32_t surface) {
  return side_row(&sim->sliding.value.surfaces[surface], 1);
}

/// What the surfaces do to each other.
static bool enter_surfaces(EngSim* sim, Joint* p) {
  for (uint32_t j = 0; j < p->n; j++) {
    const double* rate = rates_of(sim, j);
    double unit = fabs(rate[row_above(sim, j)] - rate[0]);
    if (!(unit > 0.0) || !isfinite(unit)) return false;
    p->rate_unit[j] = unit;
    p->q[j] = -rate[0] / unit;
    for (uint32_t k = 0; k < p->n; k++) {
      *entry(p, j, k) = -(rate[row_above(sim, k)] - rate[0]) / unit;
    }
    *entry(p, j, p->n + j) = 1.0;
    *entry(p, p->n + j, j) = -1.0;
    p->q[p->n + j] = 1.0;
  }
  return true;
}

/// What contacts do to each other, and surfaces to contacts.
static void enter_gaps(EngSim* sim, Joint* p) {
  EngContactWork* w = sim->contact.work;
  for (uint32_t k = 0; k < p->m; k++) {
    const Row* row = &w->rows[k];
    double* across = entry(p, 2 * p->n + k, 0);
    p->gap_unit[k] = fabs(row->flow);
    for (uint32_t j = 0; j < p->n; j++) {
      double with =
          eng_gap_acceleration(sim, row->index, p->t, p->x, side_flow(sim, row_above(sim, j)));
      across[j] = -(with - row->flow);
      p->gap_unit[k] += fabs(across[j]);
    }
    if (!(p->gap_unit[k] > 0.0)) p->gap_unit[k] = 1.0;
    p->q[2 * p->n + k] = -row->flow / p->gap_unit[k];
    for (uint32_t j = 0; j < p->n; j++) {
      across[j] /= p->gap_unit[k];
    }
  }
}

/// What the reactions do to gaps and surfaces.
static bool enter_reactions(EngSim* sim, Joint* p) {
  EngContactWork* w = sim->contact.work;
  for (uint32_t k = 0; k < p->m; k++) {
    uint32_t column = 2 * p->n + k;
    eng_contact_spread(w, &w->rows[k], false);
    double own = eng_gap_effect(sim, w->rows[k].index, p->t, p->x, w->dx);
    p->push_unit[k] = p->gap_unit[k] / fabs(own);
    for (uint32_t i = 0; i < p->m; i++) {
      const Row* row = &w->rows[i];
      double effect = eng_gap_effect(sim, row->index, p->t, p->x, w->dx);
      *entry(p, 2 * p->n + i, column) = -effect * p->push_unit[k] / p->gap_unit[i];
    }
    side_rates_along(sim, (ModelDual){.v = {p->t, p->t}}, p->x, w->dx);
    for (uint32_t j = 0; j < p->n; j++) {
      double effect = sim->proof.g_dual[sim->sliding.value.surfaces[j].index].d.lo;
      *entry(p, j, column) = -effect * p->push_unit[k] / p->rate_unit[j];
    }
    eng_contact_spread(w, &w->rows[k], true);
    if (!isfinite(p->push_unit[k])) return false;
  }
  return true;
}

/// Size of the terms that a row of the solved problem sums.
static double terms_of(const Joint* p, uint32_t row) {
  double terms = fabs(p->q[row]);
  for (uint32_t k = 0; k < p->size; k++) {
    terms += fabs(*entry(p, row, k) * p->z[k]);
  }
  return terms;
}

static void take_surfaces(EngSim* sim, const Joint* p) {
  for (uint32_t j = 0; j < p->n; j++) {
    EngSurface* s = &sim->sliding.value.surfaces[j];
    double alpha = fmin(fmax(p->z[j], 0.0), 1.0);
    double rate = p->z[p->n + j] - p->w[j];
    s->slides = alpha > AT_END && alpha < 1.0 - AT_END;
    s->above = s->slides ? s->stands_above : alpha > 0.5;
    s->order = 1;
    s->open = false;
    s->tangent = !s->slides && fabs(rate) <= NO_RATE * terms_of(p, j);
    sim->sliding.motion.alpha[j] = alpha;
  }
}

static void take_contacts(EngSim* sim, const Joint* p) {
  for (uint32_t k = 0; k < p->m; k++) {
    uint32_t i = 2 * p->n + k;
    Row* row = &sim->contact.work->rows[k];
    row->lambda = p->z[i] * p->push_unit[k];
    row->falls = p->z[i] * p->gap_unit[k];
    row->opens = p->w[i] > NO_RATE * terms_of(p, i) ? p->w[i] * p->gap_unit[k] : 0.0;
    sim->contact.work->ambiguous |= !(*entry(p, i, i) > 0.0);
  }
}

static bool solve_at(EngSim* sim, Joint* p, double t, const double* x) {
  p->t = t;
  p->x = x;
  if (side_evaluate_linked(sim, t, x, false) < 0) return false;
  if (eng_contact_evaluate(sim, t, x, side_flow(sim, 0)) < 0) return false;
  if (!begin(sim, p) || !enter_surfaces(sim, p)) return false;
  enter_gaps(sim, p);
  if (!enter_reactions(sim, p)) return false;
  return num_lcp_solve(p->size, p->matrix, p->q, p->z, p->w, p->work);
}

/// Whether one of a pair could as well be the other: both are zero.
static bool is_degenerate(const Joint* p) {
  for (uint32_t i = 0; i < p->size; i++) {
    if (!(p->z[i] > AT_END) && !(p->w[i] > NO_RATE * terms_of(p, i))) return true;
  }
  return false;
}

/// A point a little further along the motion that the solution gives.
static const double* point_ahead(EngSim* sim, const Joint* p, double step) {
  EngSliding* w = &sim->sliding;
  uint32_t n = sim->core.mode->state_count;
  if (ENG_GROW(sim, w->sides.trial, sim->values.n_max) < 0) {
    return NULL;
  }
  const double* below = side_flow(sim, 0);
  for (uint32_t i = 0; i < n; i++) {
    double f = below[i];
    for (uint32_t j = 0; j < p->n; j++) {
      f += p->z[j] * (side_flow(sim, row_above(sim, j))[i] - below[i]);
    }
    w->sides.trial[i] = p->x[i] + step * f;
  }
  for (uint32_t k = 0; k < p->m; k++) {
    double lambda = p->z[2 * p->n + k] * p->push_unit[k];
    eng_contact_spread(sim->contact.work, &sim->contact.work->rows[k], false);
    for (uint32_t i = 0; i < n; i++) {
      w->sides.trial[i] += step * lambda * sim->contact.work->dx[i];
    }
    eng_contact_spread(sim->contact.work, &sim->contact.work->rows[k], true);
  }
  return w->sides.trial;
}

bool side_complementarity(EngSim* sim) {
  Joint p;
  double t = sim->core.t;
  if (sim->core.slide.group_count != sim->core.slide.count) return false;
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    if (eng_atom_place(sim->core.mode, sim->contact.closed[i].atom) == MODEL_NONE) return false;
  }
  if (eng_contact_structure(sim, sim->core.contact.count) < 0) return false;
  sim->contact.work->ambiguous = false;
  if (!solve_at(sim, &p, t, sim->x)) return false;
  if (is_degenerate(&p)) {
    // where one takes over from another the next moment decides
    double step = AHEAD * sim->stepper->control.h_next;
    const double* x = point_ahead(sim, &p, step);
    if (!x || (!solve_at(sim, &p, t + step, x) && !solve_at(sim, &p, t, sim->x))) return false;
  }
  take_surfaces(sim, &p);
  take_contacts(sim, &p);
  return true;
}
