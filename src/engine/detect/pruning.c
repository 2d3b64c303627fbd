// SPDX-License-Identifier: MIT
//
// Relations in blocks: which of very many have to be looked at on a trial step.
//
// Of a million guards hardly one is near its boundary in any one step. Bounds of all of them over
// the step come from bounds of the states, the hull of the Bernstein form of their dense output, by
// interval arithmetic over blocks of relations of one shape (model/bound.c): a few nanoseconds
// each, with no more room than a block takes. One whose bounds stay on its side of zero, beyond its
// zone and the rounding of g, is passed over: neither its values at the ends of the step nor its
// control points are computed, and nothing is noted. The others are followed with the usual proof,
// each by its own slice of the programs, and have the same bits as if all had been followed.
//
// How far from zero a relation has to stay is its exclusion bound, made from what is latched about
// it and valid until that changes. A relation has one only if a whole step beyond it leaves
// everything that is latched as it is. g and slope at mesh points, which are not kept for what was
// passed over, are computed when somebody wants them (eng_pruned_show).
//
// Not here: motion along surfaces, closed contacts, steps that are bounded by where relations are
// expected or end at a time event, and models whose events are local, which have their own way of
// passing over relations (local/pruning.c).
#include "engine/detect/follow.h"

#include <math.h>
#include <string.h>

#define FAR_LEAST   256  // relations: fewer are followed one by one
#define FAR_SHARE   8    // more of them near than one in so many: all are followed
#define FAR_MARGINS 4.0

SltStatus eng_pruned_room(EngSim* sim, EngSlot* slot, const ModelMode* mode) {
  slot->has_bounds = mode->atom_count >= FAR_LEAST && mode->g_flow.slices && mode->gdot.slices &&
                     model_program_has_bounds(&mode->g_flow);
  if (!slot->has_bounds) return SLT_OK;
  return ENG_GROW(sim, sim->pruning.room, model_program_bound_room(&mode->g_flow));
}

void eng_pruned_show_slow(EngSim* sim, double t, const double* x) {
  const ModelMode* mode = sim->core.mode;
  memcpy(sim->x, x, mode->state_count * sizeof *x);
  eng_evaluate_g(sim, t, true);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    EngAtom* atom = &sim->atoms[mode->atoms[i]];
    atom->g = sim->detect.g[i];
    atom->gdot = sim->detect.gdot[i];
  }
  eng_pruned_forget(sim);
}

// ---- exclusion bounds ---------------------------------------------------------------------------

/// NaN: the relation is always looked at.
static double exclusion_of(const EngSim* sim, uint32_t index) {
  uint32_t id = sim->core.mode->atoms[index];
  const EngAtom* atom = &sim->atoms[id];
  double exclusion = fmax(atom->eps, atom->zone) + FAR_MARGINS * sim->proof.margin[index];
  bool settled = atom->armed && !atom->in_zone && !atom->undecided;
  bool plain = eng_is_followed(sim, index) && !isfinite(atom->t_linear);
  bool outside = atom->truth ? atom->g > exclusion : atom->g < -exclusion && atom->clear;
  return settled && plain && outside ? exclusion : (double)NAN;
}

static void make_exclusions(EngSim* sim) {
  uint32_t count = sim->core.mode->atom_count;
  eng_pruned_show(sim, sim->stepper->trial.t0, sim->stepper->trial.x0);
  // what does not matter now is as far from zero as can be
  for (uint32_t i = 0; sim->active.indicator_count < count && i < count; i++) {
    sim->pruning.exclusion[i] = -(double)INFINITY;
  }
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    sim->pruning.exclusion[sim->active.indicators[place]] =
        exclusion_of(sim, sim->active.indicators[place]);
  }
  sim->pruning.stale = false;
}

// ---- near ones ----------------------------------------------------------------------------------

typedef struct Search {
  EngSim* sim;
  uint32_t most;  // near relations beyond which all are followed
  bool ordered;
} Search;

static void note_near(void* user, uint32_t output, uint32_t count, const double* lo,
                      const double* hi) {
  Search* search = user;
  EngSim* sim = search->sim;
  double near[MODEL_BOUND_LANES];
  if (model_bounds_clear(count, lo, hi, sim->pruning.exclusion + output, near)) return;
  for (uint32_t k = 0; k < count && sim->core.pruned.candidate_count <= search->most; k++) {
    uint32_t index = output + k;
    if (near[k] == 0.0 || !sim->active.live[sim->core.mode->atoms[index]]) continue;
    uint32_t* at = &sim->pruning.candidates[sim->core.pruned.candidate_count++];
    if (sim->core.pruned.candidate_count > 1 && at[-1] > index) search->ordered = false;
    *at = index;
  }
}

/// g and slope of one relation where the states are `x`.
static void evaluate(EngSim* sim, uint32_t index, double t, const double* x, double* g,
                     double* gdot) {
  eng_output(sim, ENG_SINGLE_G, t, eng_point_state, x, index, g);
  eng_output(sim, ENG_SINGLE_SLOPE, t, eng_point_state, x, index, gdot);
}

/// Find the relations that may come near zero; false when they are too many, or cannot be followed
/// one by one.
static bool find_near(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const NumStepper* s = sim->stepper;
  Search search = {.sim = sim, .most = sim->active.indicator_count / FAR_SHARE, .ordered = true};
  sim->core.pruned.candidate_count = 0;
  model_program_bound(&mode->g_flow, eng_context(sim), sim->programs.g_flow,
                      (ModelInterval){s->trial.t0, s->trial.t}, sim->pruning.x_lo,
                      sim->pruning.x_hi, sim->pruning.room, note_near, &search);
  if (sim->core.pruned.candidate_count > search.most) return false;
  // shapes are bounded one after the other, but crossings are noted in the order of relations
  if (!search.ordered)
    base_sort_ascending(sim->pruning.candidates, sim->core.pruned.candidate_count);
  for (uint32_t k = 0; k < sim->core.pruned.candidate_count; k++) {
    uint32_t i = sim->pruning.candidates[k];
    if (mode->g_flow.slices->whole[i] || mode->gdot.slices->whole[i]) return false;
  }
  return true;
}

static bool is_suitable(const EngSim* sim, double t_from) {
  const EngCore* core = &sim->core;
  return sim->pruning.has_bounds && sim->active.indicator_count >= FAR_LEAST &&
         !core->slide.count && !core->contact.active && !core->dwell.any &&
         !sim->detect.extrapolates && !sim->detect.has_unilateral && !sim->stepper->shared.weight &&
         t_from == sim->stepper->trial.t0 && !isfinite(core->calendar.t_linear) &&
         !isfinite(core->calendar.t_passing) && eng_queue_next(sim) > sim->stepper->trial.t &&
         !eng_local_is_prepared(sim);
}

static void forget_ends(EngSim* sim) {
  if (!sim->core.pruned.ends_marked) return;
  sim->core.pruned.ends_marked = false;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    sim->atoms[sim->core.mode->atoms[sim->active.indicators[place]]].end_known = false;
  }
}

bool eng_pruned_find_slow(EngSim* sim, double t_from) {
  EngCore* core = &sim->core;
  const NumStepper* s = sim->stepper;
  core->pruned.lazy = false;
  if (!is_suitable(sim, t_from) || !eng_bound_states(sim)) return false;
  if (sim->pruning.stale) make_exclusions(sim);
  core->counts.guard_evaluations++;
  if (!find_near(sim)) return false;
  forget_ends(sim);
  sim->proof.stamp++;
  for (uint32_t k = 0; k < core->pruned.candidate_count; k++) {
    uint32_t i = sim->pruning.candidates[k];
    EngAtom* atom = &sim->atoms[core->mode->atoms[i]];
    atom->end_known = false;
    atom->crosses = false;
    eng_control_states_of(sim, i);
    if (core->pruned.stale) evaluate(sim, i, t_from, s->trial.x0, &atom->g, &atom->gdot);
    evaluate(sim, i, s->trial.t, s->trial.x, &sim->detect.end_g[i], &sim->detect.end_gdot[i]);
  }
  return true;
}

void eng_pruned_collect(EngSim* sim, double t_from) {
  for (uint32_t k = 0; k < sim->core.pruned.candidate_count; k++) {
    uint32_t i = sim->pruning.candidates[k];
    const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[i]];
    if (atom->end_known || atom->crosses) continue;
    if (eng_is_followed(sim, i)) eng_control_values(sim, i, t_from);
    eng_collect_atom(sim, i, t_from);
  }
}

void eng_pruned_mesh_slow(EngSim* sim) {
  EngCore* core = &sim->core;
  core->pruned.lazy = false;
  core->pruned.stale = true;
  core->counts.guard_evaluations++;
  sim->detect.g_epoch = 0;
  bool changed = false;
  for (uint32_t k = 0; k < core->pruned.candidate_count; k++) {
    uint32_t i = sim->pruning.candidates[k];
    evaluate(sim, i, core->t, sim->x, &sim->detect.g[i], &sim->detect.gdot[i]);
    changed |= eng_atom_mesh(sim, i);
    if (!sim->pruning.stale) sim->pruning.exclusion[i] = exclusion_of(sim, i);
  }
  if (changed) eng_edges_visit(sim, false);
}
