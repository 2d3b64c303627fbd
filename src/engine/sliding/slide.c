// SPDX-License-Identifier: MIT
//
// Which way the motion goes on from a switching surface, and motion along one.
//
// After an instant the surfaces that the trajectory stands on are those of the relations located in
// it. Around them lie 2^k modes, one for each combination of sides, reached without resets. Let
// n_i(s) be the rate of g_i under the flow of the mode on sides s. Going on inside the region s is
// consistent when every n_i(s) points into it; going on along a subset of the surfaces is
// consistent when a convex combination of the flows keeps them at zero and every other n_j points
// off to its side (Filippov 1988; for two and more surfaces the multilinear combination of
// Alexander and Seidman). The smallest subset that is consistent is taken: where a motion can leave
// a surface it does. The present region comes first, so that an escaping point stays in its mode.
//
// Along one surface the share of side 1 is a = n(0)/(n(0) - n(1)). The share used adds a term that
// draws g to zero at a rate of about the step size, so that rounding cannot accumulate. A share
// that leaves [0, 1] ends the sliding: the flow of one side no longer points at the surface.
#include "engine/internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RATE_TOLERANCE   1e-9  // relative to the largest rate: smaller ones have no direction
#define SETTLE_LIMIT     20    // switches on the way to the mode of one side
#define PROBE            1e-3  // relative distance of the point that tells surfaces apart
#define SHARE_ITERATIONS 30    // Newton, two and more surfaces
#define REST_TOLERANCE   1e-4  // flows that cancel up to this part of their size

/// What is looked at while the continuation is searched.
typedef struct Search {
  EngSim* sim;
  EngSurface surfaces[ENG_SURFACES_MAX];
  uint32_t count;
  const ModelMode* base;
  uint32_t base_index[ENG_SURFACES_MAX];
  double probe_g[ENG_SURFACES_MAX];  // g of the surfaces at the probe point
  const ModelMode* modes[ENG_SIDES_MAX];
  double rate[ENG_SIDES_MAX][ENG_SURFACES_MAX];
  double tolerance;
  uint32_t present;  // sides of the present mode
  uint32_t one_way;  // surfaces that can be crossed, but not back
} Search;

// ---- evaluation in modes other than the present one ---------------------------------------------

static uint32_t* side_states(EngSim* sim, uint32_t side) {
  return sim->side_states + (size_t)side * sim->model->automaton_count;
}

/// Time beside the present one, for surfaces that move.
static double probe_time(const EngSim* sim) {
  return sim->core.t + 1.13 * PROBE * (1.0 + fabs(sim->core.t));
}

/// A point beside the present one, the same for every mode; not on any surface but by chance.
static void probe_point(const EngSim* sim, double* x) {
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    // no two states are moved alike, however many there are
    double turn = 0.6180339887498949 * (double)(i + 1);
    double wobble = 1.0 + 0.37 * (turn - floor(turn));
    x[i] = sim->x[i] + PROBE * wobble * (1.0 + fabs(sim->x[i]));
  }
}

/// g of a mode's atoms at a point; the mode's states are published.
static SltStatus g_values(EngSim* sim, const ModelMode* mode, double t, const double* x,
                          double* g) {
  const ModelContext* context = eng_context(sim);
  SLT_TRY(eng_grow(sim, (void**)&sim->side_g_regs, &sim->side_g_capacity, mode->g_flow.reg_count,
                   sizeof(double)));
  model_program_bind(&mode->g_flow, sim->env, sim->side_g_regs);
  model_program_run(&mode->g_flow, context, sim->side_g_regs, t, x, g);
  return SLT_OK;
}

SltStatus eng_probe(EngSim* sim, const ModelMode* mode) {
  probe_point(sim, sim->probe_x);
  SLT_TRY(g_values(sim, mode, sim->core.t, sim->x, sim->side_g));
  return g_values(sim, mode, probe_time(sim), sim->probe_x, sim->side_probe);
}

/// Registers for the programs of one side, bound to its states.
static SltStatus bind_side(EngSim* sim, uint32_t side, const ModelMode* mode) {
  sim->value_bound = NULL;
  EngSideRegs* regs = &sim->side_regs[side];
  SLT_TRY(
      eng_grow(sim, (void**)&regs->rhs, &regs->rhs_capacity, mode->rhs.reg_count, sizeof(double)));
  SLT_TRY(eng_grow(sim, (void**)&regs->full, &regs->full_capacity, mode->full.reg_count,
                   sizeof(double)));
  model_program_bind(&mode->rhs, sim->env, regs->rhs);
  model_program_bind(&mode->full, sim->env, regs->full);
  model_program_guess(&mode->rhs, sim->guess, regs->rhs);
  model_program_guess(&mode->full, sim->guess, regs->full);
  return SLT_OK;
}

/// Rates of the surfaces' g along a direction of motion.
static void surface_rates(EngSim* sim, const ModelMode* base, const uint32_t* index, uint32_t count,
                          double t, const double* x, const double* dx, double* rate) {
  const ModelContext* context = eng_context(sim);
  for (uint32_t i = 0; i < base->state_count; i++) {
    sim->x_dual[i] = (ModelDual){{x[i], x[i]}, {dx[i], dx[i]}};
  }
  model_program_enclose(&base->g_flow, context, sim->dual_regs, (ModelInterval){t, t}, sim->x_dual,
                        sim->g_dual);
  for (uint32_t k = 0; k < count; k++) {
    ModelInterval d = sim->g_dual[index[k]].d;
    rate[k] = 0.5 * (d.lo + d.hi);
  }
}

// ---- surfaces -----------------------------------------------------------------------------------

static bool on_surface(const EngSim* sim, uint32_t atom, double g) {
  return fabs(g) <= fmax(sim->atoms[atom].zone, sim->atoms[atom].eps);
}

/// The surface an atom belongs to, by its value at the probe point; MODEL_NONE for none.
static uint32_t surface_of(const Search* search, double probe_g, bool* same) {
  for (uint32_t k = 0; k < search->count; k++) {
    double reference = search->probe_g[k];
    double close = 1e-9 * fabs(reference);
    if (close == 0.0) continue;
    if (fabs(probe_g - reference) <= close) {
      *same = true;
      return k;
    }
    if (fabs(probe_g + reference) <= close) {
      *same = false;
      return k;
    }
  }
  return MODEL_NONE;
}

static void add_mirror(EngSurface* surface, uint32_t atom, bool same) {
  for (uint32_t i = 0; i < surface->mirror_count; i++) {
    if (surface->mirrors[i].atom == atom) return;
  }
  if (surface->mirror_count == ENG_MIRRORS_MAX) return;
  surface->mirrors[surface->mirror_count++] = (EngMirror){atom, same};
}

/// Sort the atoms of a mode that are at zero into the surfaces found so far.
static SltStatus recognise(Search* search, const ModelMode* mode) {
  EngSim* sim = search->sim;
  SLT_TRY(g_values(sim, mode, sim->core.t, sim->x, sim->side_g));
  SLT_TRY(g_values(sim, mode, probe_time(sim), sim->probe_x, sim->side_probe));
  if (mode->shared) eng_relevant_atoms(sim, mode, sim->relevant);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    uint32_t atom = mode->atoms[i];
    const ModelAtom* model = &sim->model->atoms[atom];
    if (mode->shared && !sim->relevant[atom]) continue;
    if (!model->continuous || model->type == MODEL_ATOM_NOEVENT) continue;
    if (model->relation == MODEL_REL_EQ || !on_surface(sim, atom, sim->side_g[i])) continue;
    bool same = true;
    uint32_t k = surface_of(search, sim->side_probe[i], &same);
    if (k != MODEL_NONE) add_mirror(&search->surfaces[k], atom, same);
  }
  return SLT_OK;
}

/// Surfaces from the atoms that were located in this instant or are slid along already.
static SltStatus find_surfaces(Search* search) {
  EngSim* sim = search->sim;
  const ModelMode* mode = sim->core.mode;
  search->base = mode;
  SLT_TRY(eng_probe(sim, mode));
  for (uint32_t place = 0; place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t atom = mode->atoms[i];
    const ModelAtom* model = &sim->model->atoms[atom];
    if (!sim->atoms[atom].surface || sim->atoms[atom].left_now) continue;
    if (!model->continuous || model->relation == MODEL_REL_EQ) continue;
    if (!on_surface(sim, atom, sim->side_g[i])) continue;
    bool same = true;
    if (surface_of(search, sim->side_probe[i], &same) != MODEL_NONE) continue;
    if (search->count == ENG_SURFACES_MAX) return SLT_ERR_LIMIT;
    search->base_index[search->count] = i;
    search->probe_g[search->count] = sim->side_probe[i];
    search->surfaces[search->count++] = (EngSurface){.atom = atom};
  }
  return SLT_OK;
}

// ---- modes around the point ---------------------------------------------------------------------

/// Truths of the relations that matter in `mode` but not in the present one: what is latched of
/// them is from another time. Their values are those that recognise() left.
static void judge_others(EngSim* sim, const ModelMode* mode) {
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    uint32_t atom = mode->atoms[i];
    const ModelAtom* model = &sim->model->atoms[atom];
    if (sim->live[atom] || (mode->shared && !sim->relevant[atom])) continue;
    sim->env[model->env] = eng_relation_holds(model->relation, sim->side_g[i]) ? 1.0 : 0.0;
  }
}

static void impose_sides(const Search* search, uint32_t side) {
  EngSim* sim = search->sim;
  for (uint32_t k = 0; k < search->count; k++) {
    const EngSurface* surface = &search->surfaces[k];
    bool above = (side >> k & 1u) != 0;
    for (uint32_t i = 0; i < surface->mirror_count; i++) {
      const EngMirror* mirror = &surface->mirrors[i];
      bool truth = above == mirror->same;
      sim->env[sim->model->atoms[mirror->atom].env] = truth ? 1.0 : 0.0;
    }
  }
}

/// Next state of one automaton on this side; false when a reset would be needed to get there.
static bool follow_side(EngSim* sim, uint32_t automaton, bool* moved) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  if (!eng_automaton_active(sim, automaton)) return true;
  uint32_t to = sim->state[automaton];
  if (a->kind == MODEL_AUTOMATON_SWITCH) {
    to = eng_guard(sim, a->condition) ? 1 : 0;
  } else {
    const ModelState* state = &a->states[to];
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      const ModelTransition* t = &sim->model->transitions[state->outgoing[i]];
      if (t->to == sim->state[automaton] || !eng_guard(sim, &t->guard)) continue;
      if (t->action_count > 0 || a->states[t->to].action_count > 0) return false;
      to = t->to;
      break;
    }
  }
  if (to == sim->state[automaton]) return true;
  memcpy(sim->side_work, sim->state, sim->model->automaton_count * sizeof *sim->state);
  sim->side_work[automaton] = to;
  eng_publish_states(sim, sim->side_work);
  *moved = true;
  return true;
}

/// The mode on one combination of sides; NULL when there is none without resets.
static SltStatus mode_of_side(Search* search, uint32_t side, const ModelMode** out) {
  EngSim* sim = search->sim;
  *out = NULL;
  for (uint32_t round = 0; round < SETTLE_LIMIT; round++) {
    const ModelMode* mode = NULL;
    const Diag* failure = NULL;
    if (eng_get_mode(sim, sim->state, &mode, &failure) < 0) return SLT_OK;
    if (mode->state_count != search->base->state_count ||
        memcmp(mode->state_env, search->base->state_env,
               mode->state_count * sizeof *mode->state_env) != 0) {
      return SLT_OK;
    }
    SLT_TRY(recognise(search, mode));
    judge_others(sim, mode);
    impose_sides(search, side);
    bool moved = false;
    for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
      if (!follow_side(sim, a, &moved)) return SLT_OK;
    }
    if (!moved) {
      *out = mode;
      return SLT_OK;
    }
  }
  return SLT_OK;
}

/// Modes and rates on all sides; `complete` false when some side has none: a side whose equations
/// have no values at this point says nothing about the motion.
static SltStatus survey(Search* search, bool* complete) {
  EngSim* sim = search->sim;
  const ModelContext* context = eng_context(sim);
  uint32_t sides = 1u << search->count;
  *complete = true;
  double largest = 0.0;
  for (uint32_t side = 0; side < sides && *complete; side++) {
    eng_publish_states(sim, sim->state_settled);
    SLT_TRY(mode_of_side(search, side, &search->modes[side]));
    if (!search->modes[side]) {
      *complete = false;
      break;
    }
    memcpy(side_states(sim, side), sim->state, sim->model->automaton_count * sizeof *sim->state);
    eng_dae_note_guess(sim, &search->modes[side]->rhs);
    eng_dae_note_guess(sim, &search->modes[side]->full);
    SLT_TRY(bind_side(sim, side, search->modes[side]));
    double* f = sim->side_f + (size_t)side * sim->n_max;
    model_program_run(&search->modes[side]->rhs, context, sim->side_regs[side].rhs, sim->core.t,
                      sim->x, f);
    eng_publish_states(sim, sim->state_settled);
    *complete = eng_all_finite(f, search->modes[side]->state_count);
    surface_rates(sim, search->base, search->base_index, search->count, sim->core.t, sim->x, f,
                  search->rate[side]);
    for (uint32_t k = 0; k < search->count; k++) {
      largest = fmax(largest, fabs(search->rate[side][k]));
    }
  }
  eng_publish_states(sim, sim->state_settled);
  search->tolerance = RATE_TOLERANCE * (1.0 + largest);
  return SLT_OK;
}

/// Mark the surfaces from one side of which no way without resets leads back to the other.
static SltStatus find_one_way(Search* search) {
  EngSim* sim = search->sim;
  size_t bytes = sim->model->automaton_count * sizeof *sim->state;
  for (uint32_t side = 0; side < 1u << search->count; side++) {
    for (uint32_t k = 0; k < search->count; k++) {
      uint32_t other = side ^ 1u << k;
      const ModelMode* mode = NULL;
      eng_publish_states(sim, side_states(sim, side));
      SLT_TRY(mode_of_side(search, other, &mode));
      if (!mode || memcmp(sim->state, side_states(sim, other), bytes) != 0) {
        search->one_way |= 1u << k;
      }
    }
  }
  eng_publish_states(sim, sim->state_settled);
  return SLT_OK;
}

// ---- shares -------------------------------------------------------------------------------------

/// Weight of one side in the multilinear combination; `mask` are the surfaces slid along.
static double weight(uint32_t side, uint32_t mask, const double* share) {
  double w = 1.0;
  for (uint32_t k = 0; k < ENG_SURFACES_MAX; k++) {
    if (!(mask >> k & 1u)) continue;
    w *= side >> k & 1u ? share[k] : 1.0 - share[k];
  }
  return w;
}

/// Rate of surface k under the combination, sides outside `mask` fixed to those of `fixed`.
static double combined_rate(const double rate[][ENG_SURFACES_MAX], uint32_t sides, uint32_t mask,
                            uint32_t fixed, const double* share, uint32_t k) {
  double sum = 0.0;
  for (uint32_t side = 0; side < sides; side++) {
    if ((side & ~mask) != (fixed & ~mask)) continue;
    sum += weight(side, mask, share) * rate[side][k];
  }
  return sum;
}

/// Shares for which every surface of `mask` moves at the wanted rate. One surface: closed form;
/// more: Newton with a numerical Jacobian, the system being multilinear.
static bool solve_shares(const double rate[][ENG_SURFACES_MAX], uint32_t sides, uint32_t mask,
                         uint32_t fixed, const double* wanted, double* share) {
  uint32_t index[ENG_SURFACES_MAX];
  uint32_t n = 0;
  for (uint32_t k = 0; k < ENG_SURFACES_MAX; k++) {
    if (mask >> k & 1u) index[n++] = k;
  }
  for (uint32_t iteration = 0; iteration < (n == 1 ? 1u : SHARE_ITERATIONS); iteration++) {
    double a[ENG_SURFACES_MAX * ENG_SURFACES_MAX];
    double b[ENG_SURFACES_MAX];
    double scale[ENG_SURFACES_MAX];
    double scratch[ENG_SURFACES_MAX];
    uint32_t pivot[ENG_SURFACES_MAX];
    for (uint32_t i = 0; i < n; i++) {
      b[i] = wanted[index[i]] - combined_rate(rate, sides, mask, fixed, share, index[i]);
      for (uint32_t j = 0; j < n; j++) {
        // exact: the combination is linear in each share
        double saved = share[index[j]];
        share[index[j]] = 1.0;
        double high = combined_rate(rate, sides, mask, fixed, share, index[i]);
        share[index[j]] = 0.0;
        double low = combined_rate(rate, sides, mask, fixed, share, index[i]);
        share[index[j]] = saved;
        a[i * n + j] = high - low;
      }
    }
    if (num_lu_factor(n, a, 1e-14, scale, pivot, NULL) < 0) return false;
    num_lu_solve(n, a, pivot, scratch, b);
    double change = 0.0;
    for (uint32_t i = 0; i < n; i++) {
      share[index[i]] += b[i];
      change = fmax(change, fabs(b[i]));
    }
    if (n == 1 || change < 1e-14) return true;
  }
  return false;
}

// ---- the continuation ---------------------------------------------------------------------------

/// Shares inside (0, 1) that keep the surfaces of `mask` at zero. The multilinear system may have
/// several solutions: Newton starts from different points until it finds one inside.
static bool solve_inside(const Search* search, uint32_t mask, uint32_t fixed, double* share) {
  static const double rest[ENG_SURFACES_MAX] = {0.0, 0.0, 0.0};
  static const double starts[] = {0.5, 0.15, 0.85};
  uint32_t tries = 1;
  for (uint32_t m = mask; m & (m - 1); m &= m - 1) {
    tries *= tries == 1 ? 9 : 3;
  }
  for (uint32_t attempt = 0; attempt < tries; attempt++) {
    uint32_t digits = attempt;
    for (uint32_t k = 0; k < search->count; k++) {
      share[k] = mask >> k & 1u ? starts[digits % 3] : 0.5;
      if (mask >> k & 1u) digits /= 3;
    }
    if (!solve_shares(search->rate, 1u << search->count, mask, fixed, rest, share)) continue;
    bool inside = true;
    for (uint32_t k = 0; k < search->count; k++) {
      if (mask >> k & 1u) inside &= share[k] > 0.0 && share[k] < 1.0;
    }
    if (inside) return true;
  }
  return false;
}

/// Whether the motion along `mask`, on sides `fixed` of the others, can go on.
static bool consistent(const Search* search, uint32_t mask, uint32_t fixed, double* share) {
  uint32_t sides = 1u << search->count;
  if (mask && !solve_inside(search, mask, fixed, share)) return false;
  for (uint32_t k = 0; k < search->count; k++) {
    if (mask >> k & 1u) continue;
    double n = combined_rate(search->rate, sides, mask, fixed, share, k);
    // no direction at all: stay on the side of the present mode
    uint32_t side = n > search->tolerance    ? 1u
                    : n < -search->tolerance ? 0u
                                             : search->present >> k & 1u;
    if (side != (fixed >> k & 1u)) return false;
  }
  if (!mask || search->count == 0) return true;
  // sliding along one surface needs both flows to point at it
  for (uint32_t k = 0; k < search->count; k++) {
    if (mask != 1u << k) continue;
    double below = search->rate[fixed & ~mask][k];
    double above = search->rate[(fixed & ~mask) | mask][k];
    if (!(below > search->tolerance && above < -search->tolerance)) return false;
  }
  return true;
}

/// At a point where both sides of a surface have no rate across it but flows that cancel each
/// other, the motion has come to rest (second-order sliding).
static bool rests(const Search* search, uint32_t* mask, double* share) {
  const EngSim* sim = search->sim;
  for (uint32_t k = 0; k < search->count; k++) {
    uint32_t low = search->present & ~(1u << k);
    uint32_t high = search->present | 1u << k;
    if (fabs(search->rate[low][k]) > REST_TOLERANCE ||
        fabs(search->rate[high][k]) > REST_TOLERANCE) {
      continue;
    }
    const double* f = sim->side_f + (size_t)low * sim->n_max;
    const double* h = sim->side_f + (size_t)high * sim->n_max;
    double dot = 0.0;
    double length = 0.0;
    for (uint32_t i = 0; i < search->base->state_count; i++) {
      dot += f[i] * (f[i] - h[i]);
      length += (f[i] - h[i]) * (f[i] - h[i]);
    }
    double a = length > 0.0 ? dot / length : -1.0;
    if (!(a > 0.0 && a < 1.0)) continue;
    double left = 0.0;
    for (uint32_t i = 0; i < search->base->state_count; i++) {
      left = fmax(left, fabs((1.0 - a) * f[i] + a * h[i]));
    }
    if (left > REST_TOLERANCE * (1.0 + sqrt(length))) continue;
    *mask = 1u << k;
    share[k] = a;
    return true;
  }
  return false;
}

static uint32_t bit_count(uint32_t x) {
  uint32_t n = 0;
  for (; x; x &= x - 1) {
    n++;
  }
  return n;
}

/// Smallest consistent subset; among its sides the present ones first.
static bool choose(const Search* search, uint32_t* mask, uint32_t* fixed, double* share) {
  uint32_t sides = 1u << search->count;
  for (uint32_t size = 0; size <= search->count; size++) {
    for (uint32_t m = 0; m < sides; m++) {
      if (bit_count(m) != size) continue;
      for (uint32_t turn = 0; turn < sides; turn++) {
        uint32_t f = search->present ^ turn;
        if ((f & m) != (search->present & m)) continue;
        if (!consistent(search, m, f, share)) continue;
        *mask = m;
        *fixed = f;
        return true;
      }
    }
  }
  return false;
}

static uint32_t present_sides(const Search* search) {
  EngSim* sim = search->sim;
  size_t bytes = sim->model->automaton_count * sizeof *sim->state;
  for (uint32_t i = 0; i < 1u << search->count; i++) {
    if (memcmp(side_states(sim, i), sim->state, bytes) == 0) return i;
  }
  uint32_t side = 0;
  for (uint32_t k = 0; k < search->count; k++) {
    if (sim->atoms[search->surfaces[k].atom].truth) side |= 1u << k;
  }
  return side;
}

/// Install the sliding motion found by the search.
static void install(Search* search, uint32_t mask, uint32_t fixed, const double* share) {
  EngSim* sim = search->sim;
  EngSlide slide = {.base = search->base};
  uint32_t map[ENG_SURFACES_MAX];
  for (uint32_t k = 0; k < search->count; k++) {
    if (!(mask >> k & 1u)) continue;
    map[slide.count] = k;
    slide.surfaces[slide.count] = search->surfaces[k];
    slide.base_index[slide.count] = search->base_index[k];
    slide.share[slide.count++] = share[k];
  }
  // compact the sides: bit i of the new number is surface map[i], the others as fixed
  uint32_t sides = 1u << slide.count;
  EngSideRegs regs[ENG_SIDES_MAX];
  memcpy(regs, sim->side_regs, sizeof regs);
  bool used[ENG_SIDES_MAX] = {false};
  uint32_t automata = sim->model->automaton_count;
  for (uint32_t side = 0; side < sides; side++) {
    uint32_t old = fixed & ~mask;
    for (uint32_t i = 0; i < slide.count; i++) {
      if (side >> i & 1u) old |= 1u << map[i];
    }
    slide.modes[side] = search->modes[old];
    sim->side_regs[side] = regs[old];
    used[old] = true;
    // old >= side: copying downwards in order loses nothing
    memmove(side_states(sim, side), side_states(sim, old), automata * sizeof *sim->state);
  }
  for (uint32_t old = 0, at = sides; old < ENG_SIDES_MAX; old++) {
    if (!used[old]) sim->side_regs[at++] = regs[old];
  }
  slide.stiffness = 0.0;
  sim->core.slide = slide;
}

/// Truths of the surfaces' relations as on one side; latched, so that nothing fires because of
/// them.
static void latch_sides(Search* search, uint32_t side) {
  EngSim* sim = search->sim;
  for (uint32_t k = 0; k < search->count; k++) {
    const EngSurface* surface = &search->surfaces[k];
    bool above = (side >> k & 1u) != 0;
    for (uint32_t i = 0; i < surface->mirror_count; i++) {
      EngAtom* atom = &sim->atoms[surface->mirrors[i].atom];
      atom->truth = above == surface->mirrors[i].same;
      atom->held = true;
      atom->held_changes = (uint32_t)sim->core.changes;
      atom->located = false;
      sim->env[sim->model->atoms[surface->mirrors[i].atom].env] = atom->truth ? 1.0 : 0.0;
    }
  }
}

/// Surfaces with the same mode on both sides separate nothing, and those that cannot be crossed
/// back are crossed.
static void drop_passive(Search* search) {
  EngSim* sim = search->sim;
  for (uint32_t k = search->count; k-- > 0;) {
    bool active = false;
    bool both_ways = !(search->one_way >> k & 1u);
    uint32_t sides = 1u << search->count;
    for (uint32_t side = 0; both_ways && side < sides; side++) {
      uint32_t other = side ^ 1u << k;
      active |= memcmp(side_states(sim, side), side_states(sim, other),
                       sim->model->automaton_count * sizeof *sim->state) != 0;
    }
    if (active) continue;
    // close the gap: bit k disappears from the numbers of the sides
    search->count--;
    for (uint32_t side = 0; side < sides / 2; side++) {
      uint32_t low = side & ((1u << k) - 1u);
      uint32_t old = (side >> k) << (k + 1) | low;
      search->modes[side] = search->modes[old];
      memcpy(search->rate[side], search->rate[old], sizeof search->rate[side]);
      for (uint32_t i = k; i < search->count; i++) {
        search->rate[side][i] = search->rate[side][i + 1];
      }
      EngSideRegs swap = sim->side_regs[side];
      sim->side_regs[side] = sim->side_regs[old];
      sim->side_regs[old] = swap;
      memmove(side_states(sim, side), side_states(sim, old),
              sim->model->automaton_count * sizeof *sim->state);
    }
    for (uint32_t i = k; i < search->count; i++) {
      search->surfaces[i] = search->surfaces[i + 1];
      search->base_index[i] = search->base_index[i + 1];
      search->probe_g[i] = search->probe_g[i + 1];
    }
  }
}

/// Both flows lead away from a surface the motion stands on: what follows is a choice.
static void warn_of_escaping(const Search* search, uint32_t fixed) {
  EngSim* sim = search->sim;
  for (uint32_t k = 0; k < search->count; k++) {
    uint32_t bit = 1u << k;
    EngAtom* atom = &sim->atoms[search->surfaces[k].atom];
    bool escaping = search->rate[fixed & ~bit][k] < -search->tolerance &&
                    search->rate[fixed | bit][k] > search->tolerance;
    if (!escaping || atom->warned_escaping || !sim->on_warning) continue;
    atom->warned_escaping = true;
    char message[300];
    snprintf(message, sizeof message,
             "at t = %s the motion stands on this boundary and could leave it to either side; it "
             "goes on where the relation %s",
             eng_number(sim->core.t).text, fixed & bit ? "holds" : "does not hold");
    sim->on_warning(sim->warning_user, DIAG_W0804,
                    sim->model->atoms[search->surfaces[k].atom].written->span, message);
  }
}

/// Whether any relation stands at a boundary along which the motion might go on.
static bool stands_at_surface(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    if (sim->atoms[mode->atoms[sim->active[place]]].surface) return true;
  }
  return false;
}

static SltStatus continue_from_surface(EngSim* sim, bool settled, EngSlideVerdict* verdict);

SltStatus eng_slide_continue_now(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  if (sim->narrow && eng_narrow_continue(sim, verdict)) return SLT_OK;
  if (sim->core.mode->state_count == 0 || !stands_at_surface(sim)) return SLT_OK;
  if (sim->options.sliding == SLT_SLIDING_OFF) return SLT_OK;
  uint32_t least = sim->dae.least;
  SltStatus status = continue_from_surface(sim, settled, verdict);
  sim->dae.least = least;  // what blocks of other modes leave open does not matter here
  return status;
}

static SltStatus continue_from_surface(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  Search search = {.sim = sim};
  SltStatus found = eng_value_many(sim) ? SLT_ERR_LIMIT : find_surfaces(&search);
  bool many = found == SLT_ERR_LIMIT;
  if (many || (found >= 0 && search.count && sim->options.sliding == SLT_SLIDING_UTKIN)) {
    if (eng_value_continue(sim, settled, verdict)) return SLT_OK;
  }
  if (found < 0 || search.count == 0) return SLT_OK;
  memcpy(sim->state_settled, sim->state, sim->model->automaton_count * sizeof *sim->state);
  bool complete = false;
  SltStatus status = survey(&search, &complete);
  if (status >= 0 && complete) status = find_one_way(&search);
  eng_publish_states(sim, sim->state_settled);
  eng_restore_truths(sim);
  if (status < 0 || !complete) return status;
  drop_passive(&search);
  if (search.count == 0) return SLT_OK;
  search.present = present_sides(&search);
  uint32_t mask = 0;
  uint32_t fixed = 0;
  double share[ENG_SURFACES_MAX];
  bool rest = rests(&search, &mask, share);
  if (rest) {
    fixed = search.present;
  } else if (!choose(&search, &mask, &fixed, share)) {
    return SLT_OK;
  }
  sim->slide_decided = true;
  if (!mask) warn_of_escaping(&search, fixed);
  // a plain crossing is left to the guards unless they have had their say
  if (!mask && !settled) return SLT_OK;
  latch_sides(&search, fixed);
  if (memcmp(side_states(sim, fixed), sim->state,
             sim->model->automaton_count * sizeof *sim->state) != 0) {
    // the flow leaves the mode at once: go on in the one it leads into
    memcpy(sim->side_work, side_states(sim, fixed),
           sim->model->automaton_count * sizeof *sim->state);
    *verdict = ENG_SLIDE_MOVES;
  }
  if (!mask) return SLT_OK;
  install(&search, mask, fixed, share);
  sim->core.slide.rest = rest;
  if (*verdict == ENG_SLIDE_NONE) *verdict = ENG_SLIDE_ALONG;
  return SLT_OK;
}

// ---- motion -------------------------------------------------------------------------------------

/// Flows and rates on all sides at (t, x).
static void evaluate_sides(EngSim* sim, double t, const double* x,
                           double rate[][ENG_SURFACES_MAX]) {
  EngSlide* slide = &sim->core.slide;
  const ModelContext* context = eng_context(sim);
  for (uint32_t side = 0; side < 1u << slide->count; side++) {
    double* f = sim->side_f + (size_t)side * sim->n_max;
    model_program_run(&slide->modes[side]->rhs, context, sim->side_regs[side].rhs, t, x, f);
    surface_rates(sim, slide->base, slide->base_index, slide->count, t, x, f, rate[side]);
  }
}

/// Shares of side 1 at (t, x); `pull` draws the surfaces to zero.
static bool shares_at(EngSim* sim, double t, const double* x, bool pull, double* share) {
  EngSlide* slide = &sim->core.slide;
  double rate[ENG_SIDES_MAX][ENG_SURFACES_MAX];
  memcpy(share, slide->share, sizeof slide->share);
  double wanted[ENG_SURFACES_MAX] = {0.0};
  evaluate_sides(sim, t, x, rate);
  for (uint32_t k = 0; k < slide->count; k++) {
    // the enclosure has left the values of g behind
    ModelInterval g = sim->g_dual[slide->base_index[k]].v;
    if (pull) wanted[k] = -slide->stiffness * 0.5 * (g.lo + g.hi);
  }
  if (slide->rest) return true;
  uint32_t all = (1u << slide->count) - 1u;
  return solve_shares((const double(*)[ENG_SURFACES_MAX])rate, 1u << slide->count, all, 0, wanted,
                      share);
}

SltStatus eng_slide_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) return eng_value_rhs(sim, t, x, dx);
  double share[ENG_SURFACES_MAX];
  if (!shares_at(sim, t, x, true, share)) return SLT_ERR_NO_CONVERGENCE;
  uint32_t n = slide->base->state_count;
  uint32_t all = (1u << slide->count) - 1u;
  for (uint32_t i = 0; i < n; i++) {
    dx[i] = 0.0;
  }
  for (uint32_t side = 0; side <= all; side++) {
    double w = weight(side, all, share);
    const double* f = sim->side_f + (size_t)side * sim->n_max;
    for (uint32_t i = 0; i < n; i++) {
      dx[i] += w * f[i];
    }
  }
  return SLT_OK;
}

void eng_slide_full(EngSim* sim, double t) {
  EngSlide* slide = &sim->core.slide;
  if (slide->by_value) {
    eng_value_full(sim, t);
    return;
  }
  const ModelContext* context = eng_context(sim);
  double share[ENG_SURFACES_MAX];
  if (!shares_at(sim, t, sim->x, false, share)) return;
  uint32_t all = (1u << slide->count) - 1u;
  const ModelMode* first = slide->modes[0];
  for (uint32_t i = 0; i < first->full.output_count; i++) {
    sim->env[first->full_env[i]] = 0.0;
  }
  for (uint32_t side = 0; side <= all; side++) {
    double w = weight(side, all, share);
    const ModelMode* mode = slide->modes[side];
    model_program_run(&mode->full, context, sim->side_regs[side].full, t, sim->x, sim->full);
    // quantities that only some sides compute keep the part those sides give
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      sim->env[mode->full_env[i]] += w * sim->full[i];
    }
  }
}

SltStatus eng_slide_rebind(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  if (slide->by_value) return eng_value_rebind(sim);
  memcpy(sim->state_settled, sim->state, sim->model->automaton_count * sizeof *sim->state);
  SltStatus status = SLT_OK;
  for (uint32_t side = 0; side < 1u << slide->count && status >= 0; side++) {
    eng_publish_states(sim, side_states(sim, side));
    status = bind_side(sim, side, slide->modes[side]);
  }
  eng_publish_states(sim, sim->state_settled);
  return status;
}

// ---- leaving ------------------------------------------------------------------------------------

/// Distance of a share from the end it leaves by: positive while sliding goes on.
typedef struct Exit {
  EngSim* sim;
  uint32_t surface;
  bool above;  // watches share = 1 instead of share = 0
} Exit;

static SltStatus exit_function(void* user, double t, double* value) {
  const Exit* e = user;
  double share[ENG_SURFACES_MAX];
  num_dense_eval(e->sim->stepper, t, e->sim->x);
  if (!shares_at(e->sim, t, e->sim->x, false, share)) return SLT_ERR_NO_CONVERGENCE;
  double a = share[e->surface];
  *value = e->above ? a - 1.0 : -a;
  return SLT_OK;
}

double eng_exit_time(NumFn* fn, void* user, const double t[3], const double g[3]) {
  double hi = g[1] > 0.0 ? t[1] : t[2];
  double g_hi = g[1] > 0.0 ? g[1] : g[2];
  if (!(g_hi > 0.0)) return (double)INFINITY;
  if (!(g[0] < 0.0)) return t[0];
  NumBracket bracket = {t[0], hi, g[0], g_hi};
  NumRootOptions options = {.t_tol = 4.0 * DBL_EPSILON * fmax(fabs(t[0]), fabs(hi)),
                            .g_window = (double)INFINITY,
                            .side = NUM_SIDE_HI,
                            .zero_is_positive = true,
                            .max_evaluations = 200};
  num_root_bracket(fn, user, &options, &bracket, NULL);
  return bracket.hi;
}

double eng_slide_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above) {
  EngSlide* slide = &sim->core.slide;
  double t_end = sim->stepper->trial.t;
  double first = (double)INFINITY;
  if (slide->rest) return first;
  if (slide->by_value) return eng_value_exit(sim, t_from, surface, above);
  for (uint32_t k = 0; k < 2 * slide->count; k++) {
    Exit e = {sim, k / 2, k % 2 == 1};
    double at_start = 0.0;
    double at_middle = 0.0;
    double at_end = 0.0;
    double middle = t_from + 0.5 * (t_end - t_from);
    if (exit_function(&e, t_from, &at_start) < 0 || exit_function(&e, middle, &at_middle) < 0 ||
        exit_function(&e, t_end, &at_end) < 0) {
      continue;
    }
    double t = eng_exit_time(exit_function, &e, (double[3]){t_from, middle, t_end},
                             (double[3]){at_start, at_middle, at_end});
    if (t >= first) continue;
    first = t;
    *surface = e.surface;
    *above = e.above;
  }
  return first;
}

bool eng_slides_along(const EngSim* sim, uint32_t atom, bool* leads) {
  const EngSlide* slide = &sim->core.slide;
  *leads = false;
  if (slide->by_value && slide->count) {
    uint32_t surface = sim->value_of_atom[atom];
    if (surface == MODEL_NONE) return false;
    *leads = sim->value_surfaces[surface].atom == atom;
    return true;
  }
  for (uint32_t k = 0; k < slide->count; k++) {
    for (uint32_t i = 0; i < slide->surfaces[k].mirror_count; i++) {
      if (slide->surfaces[k].mirrors[i].atom != atom) continue;
      *leads = slide->surfaces[k].atom == atom;
      return true;
    }
  }
  return false;
}

uint32_t eng_slide_atom(const EngSim* sim, uint32_t surface) {
  const EngSlide* slide = &sim->core.slide;
  return slide->by_value ? sim->value_surfaces[surface].atom : slide->surfaces[surface].atom;
}

bool eng_slide_shares(EngSim* sim, double* share) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) return eng_value_shares(sim, share);
  double found[ENG_SURFACES_MAX];
  if (!shares_at(sim, sim->core.t, sim->x, false, found)) return false;
  memcpy(share, found, slide->count * sizeof *share);
  return true;
}

void eng_slide_side(EngSim* sim, uint32_t surface, bool above, const double* share, double* values,
                    uint8_t* known) {
  const EngSlide* slide = &sim->core.slide;
  if (slide->by_value) {
    eng_value_side(sim, surface, above, share, values, known);
    return;
  }
  const ModelContext* context = eng_context(sim);
  uint32_t others = ((1u << slide->count) - 1u) & ~(1u << surface);
  for (uint32_t side = 0; side < 1u << slide->count; side++) {
    if ((side >> surface & 1u) != (above ? 1u : 0u)) continue;
    double w = weight(side, others, share);
    const ModelMode* mode = slide->modes[side];
    model_program_run(&mode->full, context, sim->side_regs[side].full, sim->core.t, sim->x,
                      sim->full);
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      values[mode->full_env[i]] += w * sim->full[i];
      known[mode->full_env[i]] = 1;
    }
  }
}

void eng_slide_leave(EngSim* sim, uint32_t surface, bool above) {
  EngSlide* slide = &sim->core.slide;
  if (slide->by_value) {
    eng_value_leave(sim, surface, above);
    return;
  }
  const EngSurface* left = &slide->surfaces[surface];
  for (uint32_t i = 0; i < left->mirror_count; i++) {
    EngAtom* atom = &sim->atoms[left->mirrors[i].atom];
    atom->truth = above == left->mirrors[i].same;
    atom->left_now = true;
    sim->env[sim->model->atoms[left->mirrors[i].atom].env] = atom->truth ? 1.0 : 0.0;
  }
  // of the remaining surfaces any side will do: what follows finds their continuation
  uint32_t side = above ? 1u << surface : 0u;
  memcpy(sim->side_work, side_states(sim, side), sim->model->automaton_count * sizeof *sim->state);
  slide->count = 0;
}
