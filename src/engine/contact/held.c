// SPDX-License-Identifier: MIT
//
// Relations that closed contacts and surfaces keep where they are.
//
// A contact keeps the rate of its gap at zero, a surface its g. A relation at its boundary stays
// there if its gradient is a combination of theirs, in states and in time: its changes along some
// directions are then the same combination of the changes of what is kept. Of a relation between
// places the rate is looked at.
#include "engine/contact/work.h"

#define SPARE 2     // directions more than there are things kept
#define PART  1e-9  // of a vector: what is left of one that is a combination of others

/// Changes of g and of its rate along the directions, by relation of the mode.
typedef struct Probe {
  uint32_t count, stride;
  double *g, *rate;  // per direction and relation; the last direction is time
  double* basis;     // vectors of what is kept, orthogonal
  uint32_t rank;
} Probe;

/// Derivatives of all relations and of their rates when the states move along dx, time going on.
static void derive(EngSim* sim, const double* dx, double* g, double* rate) {
  const ModelMode* mode = sim->core.mode;
  ModelDual now = model_time(sim->core.t, sim->core.t);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->proof.x_dual[i] = (ModelDual){{sim->x[i], sim->x[i]}, {dx[i], dx[i]}};
  }
  model_program_enclose(&mode->g_flow, &sim->values.flow_context, sim->programs.dual, now,
                        sim->proof.x_dual, sim->proof.g_dual);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    g[i] = 0.5 * (sim->proof.g_dual[i].d.lo + sim->proof.g_dual[i].d.hi);
  }
  model_program_enclose(&mode->gdot, &sim->values.flow_context, sim->contact.work->dual, now,
                        sim->proof.x_dual, sim->proof.g_dual);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    rate[i] = 0.5 * (sim->proof.g_dual[i].d.lo + sim->proof.g_dual[i].d.hi);
  }
}

static SltStatus look(EngSim* sim, Probe* p) {
  EngContactWork* w = sim->contact.work;
  const ModelMode* mode = sim->core.mode;
  uint32_t kept = sim->core.contact.count + sim->core.slide.count;
  p->count = kept + SPARE + 1;
  p->stride = mode->atom_count;
  size_t table = (size_t)p->count * p->stride;
  SLT_TRY(ENG_GROW(sim, w->held, 2 * table + ((size_t)kept + 1) * p->count));
  p->g = w->held;
  p->rate = p->g + table;
  p->basis = p->rate + table;
  p->rank = 0;
  // with nothing moving it is time that is left
  size_t last = (size_t)(p->count - 1) * p->stride;
  derive(sim, w->dx, p->g + last, p->rate + last);
  for (uint32_t d = 0; d + 1 < p->count; d++) {
    double* g = p->g + (size_t)d * p->stride;
    double* rate = p->rate + (size_t)d * p->stride;
    for (uint32_t i = 0; i < mode->state_count; i++) {
      double size = fmax(eng_scale(sim, mode->state_env[i]), fabs(sim->x[i]));
      w->flow[i] = base_wobble(i, d) * (size > 0.0 ? size : 1.0);
    }
    derive(sim, w->flow, g, rate);
    for (uint32_t i = 0; i < p->stride; i++) {
      g[i] -= p->g[last + i];
      rate[i] -= p->rate[last + i];
    }
  }
  return SLT_OK;
}

/// The vector of a relation, less what is a combination of the basis; of length 1 into the place
/// behind it. Its length before that, as a part of what it was; -1 for a vector that is zero.
static double reduce(const Probe* p, const double* table, uint32_t index) {
  double* v = p->basis + (size_t)p->rank * p->count;
  double whole = 0.0;
  for (uint32_t d = 0; d < p->count; d++) {
    v[d] = table[(size_t)d * p->stride + index];
    whole += v[d] * v[d];
  }
  if (!(whole > 0.0) || !isfinite(whole)) return whole > 0.0 ? 1.0 : -1.0;
  for (uint32_t pass = 0; pass < 2; pass++) {
    for (uint32_t b = 0; b < p->rank; b++) {
      const double* u = p->basis + (size_t)b * p->count;
      double along = 0.0;
      for (uint32_t d = 0; d < p->count; d++) {
        along += u[d] * v[d];
      }
      for (uint32_t d = 0; d < p->count; d++) {
        v[d] -= along * u[d];
      }
    }
  }
  double left = 0.0;
  for (uint32_t d = 0; d < p->count; d++) {
    left += v[d] * v[d];
  }
  for (uint32_t d = 0; left > 0.0 && d < p->count; d++) {
    v[d] /= sqrt(left);
  }
  return sqrt(left / whole);
}

static bool is_combination(const Probe* p, const double* table, uint32_t index) {
  double left = reduce(p, table, index);
  return left >= 0.0 && left <= PART;
}

static bool is_held(EngSim* sim, const Probe* p, uint32_t index) {
  if (!(fabs(sim->detect.g[index]) <= eng_sigma(sim, index))) return false;
  if (is_combination(p, p->g, index)) return true;
  // a place, whose speed is held
  bool rests = fabs(sim->detect.gdot[index]) <= eng_slope_rho(sim, index);
  return rests && is_combination(p, p->rate, index);
}

SltStatus eng_contact_mark_held(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  Probe p;
  SLT_TRY(look(sim, &p));
  for (uint32_t k = 0; k < sim->core.contact.count; k++) {
    if (reduce(&p, p.rate, sim->contact.work->rows[k].index) > PART) p.rank++;
  }
  for (uint32_t j = 0; j < sim->core.slide.count; j++) {
    if (reduce(&p, p.g, eng_atom_place(mode, eng_slide_atom(sim, j))) > PART) p.rank++;
  }
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t index = sim->active.indicators[place];
    EngAtom* atom = &sim->atoms[mode->atoms[index]];
    if (!sim->model->atoms[mode->atoms[index]].continuous) continue;
    atom->kind.constant = is_held(sim, &p, index);
  }
  for (uint32_t k = 0; k < sim->core.contact.count; k++) {
    const ModelGuard* guard = &sim->model->transitions[sim->contact.closed[k].transition].guard;
    for (uint32_t i = 0; i < guard->atom_count; i++) {
      uint32_t id = guard->atoms[i];
      sim->atoms[id].marks.kept_by_contact =
          id == sim->contact.closed[k].atom || sim->atoms[id].kind.constant;
    }
  }
  return SLT_OK;
}
