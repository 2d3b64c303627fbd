// SPDX-License-Identifier: MIT
//
// Detection in models of many automata: relations that are far from their boundary are told by a
// glance.
//
// Most of 10 000 thermostats are nowhere near a limit. A relation that is affine in the states, as
// most are, has known coefficients; with the Bernstein form of the dense output of the one or two
// states that it reads its largest value over the step is bounded by a handful of operations. What
// is proved to stay below its zone in this way is not looked at any more: neither its slope nor its
// control points are computed. The others, `near` their boundary, are followed as everywhere else
// (detect.c), each by its own slice of the programs.
//
// Of far relations nothing is kept: they are armed, false and clear of their zone. Whoever looks at
// one again computes what it needs from the states.
#include "engine/detect/follow.h"
#include "engine/local/parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FAR_MARGINS 4.0
#define FAR_ULPS    64.0

// ---- coefficients -------------------------------------------------------------------------------

/// How fast g grows as time passes, and one state with it.
static double slope_along(EngSim* sim, uint32_t id, uint32_t state) {
  ModelInterval slope = eng_enclose_along(sim, id, sim->core.t, sim->x, state).d;
  return 0.5 * (slope.lo + slope.hi);
}

void local_find_forms(EngSim* sim, LocalIndex* index, uint8_t* classes, uint8_t* work) {
  // affine in what events change, too: then the coefficients stay
  model_program_classes(&index->mode->g_flow, sim->values.moving, work, classes);
  for (uint32_t k = 0; k < index->mode->atom_count; k++) {
    const ModelAtom* atom = &sim->model->atoms[k];
    double by_time = slope_along(sim, k, MODEL_NONE);
    bool found = classes[k] == MODEL_CLASS_AFFINE && isfinite(by_time) && atom->continuous &&
                 atom->relation != MODEL_REL_EQ && atom->type != MODEL_ATOM_NOEVENT;
    index->has_form[k] = found;
    index->form_time[k] = by_time;
    for (uint32_t i = index->reads.begin[k]; found && i < index->reads.begin[k + 1]; i++) {
      index->form_coef[i] = slope_along(sim, k, index->reads.list[i]) - by_time;
    }
  }
}

// ---- far and near -------------------------------------------------------------------------------

/// The trial as all relations see it.
typedef struct Glance {
  const EngSim* sim;
  const LocalIndex* index;
  const NumStepper* stepper;
  double t_after;   // beyond its end by more than the resolution of time
  double h, slack;  // slack: slopes times the resolution of time
  bool timed;       // margins hold at the end of the trial
} Glance;

/// Whether the relation, armed, provably stays beyond its zone over the trial, on the side that its
/// truth says.
static inline bool stays_far(const Glance* glance, uint32_t id, double g, const EngAtom* atom) {
  const EngSim* sim = glance->sim;
  const LocalIndex* index = glance->index;
  double rise[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  double b[5];
  double size = fabs(g);
  double shared = 0.0;
  if (isfinite(atom->t_linear)) return atom->t_linear > glance->t_after;
  if (!index->has_form[id]) return false;
  for (uint32_t k = index->reads.begin[id]; k < index->reads.begin[id + 1]; k++) {
    uint32_t state = index->reads.list[k];
    double coef = index->form_coef[k];
    double largest = 0.0;
    num_dense_bernstein(glance->stepper, state, b);
    for (uint32_t j = 0; j < 5; j++) {
      double a = fabs(b[j]);
      largest = a > largest ? a : largest;
      rise[j] += coef * (b[j] - b[0]);
    }
    // written so that NaN fails
    if (!(largest <= 2.0 * sim->proof.margin_x[state])) return false;
    size += fabs(coef) * largest;
    shared += fabs(coef * sim->waiting.weight[state]);
  }
  double by_time = index->form_time[id] * glance->h;
  if (by_time != 0.0 && !glance->timed) return false;
  double top = 0.0;
  double bottom = 0.0;
  for (uint32_t j = 0; j < 5; j++) {
    double r = rise[j] + by_time * (0.25 * (double)j);
    top = r > top ? r : top;
    bottom = r < bottom ? r : bottom;
  }
  size += fabs(by_time) + fabs(index->form_time[id] * glance->stepper->trial.t);
  double pad = FAR_MARGINS * sim->proof.margin[id] + FAR_ULPS * DBL_EPSILON * size +
               glance->slack * (top - bottom);
  // what is shared may move it, from wherever that was
  pad += 2.0 * sim->core.local.reach * shared;
  return atom->truth ? g + bottom - pad > atom->eps : g + top + pad < -atom->eps;
}

void local_come_near(EngSim* sim, uint32_t id) {
  if (sim->waiting.mark[id] == LOCAL_NEAR) return;
  if (sim->waiting.mark[id] == LOCAL_FAR && !sim->atoms[id].truth) sim->atoms[id].clear = true;
  sim->waiting.mark[id] = LOCAL_NEAR;
  sim->core.local.marked = true;
  sim->waiting.candidates[sim->core.local.candidate_count++] = id;
}

bool local_value(EngSim* sim, uint32_t id, double t) {
  EngAtom* atom = &sim->atoms[id];
  EngTrialPoint at = {sim->stepper, t};
  return eng_output(sim, ENG_SINGLE_G, t, eng_trial_state, &at, id, &atom->g) &&
         eng_output(sim, ENG_SINGLE_SLOPE, t, eng_trial_state, &at, id, &atom->gdot);
}

bool eng_local_margin_holds(const EngSim* sim, uint32_t id) {
  const EngCore* core = &sim->core;
  if (!core->local.margins || !eng_local_is_prepared(sim)) return false;
  if (!(fabs(sim->stepper->trial.t) <= 2.0 * core->margins.t)) return false;
  const BaseLists* reads = &sim->local->index.reads;
  for (uint32_t k = reads->begin[id]; k < reads->begin[id + 1]; k++) {
    uint32_t state = reads->list[k];
    // control points along the trial have made it larger where they are
    double size = sim->proof.margin_size[core->mode->state_env[state]];
    if (!(sim->proof.margin_x[state] <= 2.0 * size)) return false;
  }
  return true;
}

void eng_local_control(EngSim* sim, uint32_t id, double t_from) {
  const LocalIndex* index = &sim->local->index;
  for (uint32_t k = index->reads.begin[id]; k < index->reads.begin[id + 1]; k++) {
    eng_control_state(sim, index->reads.list[k]);
  }
  eng_control_atom(sim, id, t_from);
}

static bool is_suitable(const EngSim* sim, double t_from) {
  const EngCore* core = &sim->core;
  return eng_local_is_prepared(sim) && !sim->local->held.any && t_from == sim->stepper->trial.t0 &&
         isinf(core->calendar.t_linear) && sim->stepper->trial.degree == 4;
}

/// Truth of a relation that crosses nothing at a time of the trial: one that is looked at, not
/// followed, or one whose becoming false interests nobody.
static void look_at(EngSim* sim, uint32_t id, double t) {
  EngAtom* atom = &sim->atoms[id];
  EngTrialPoint at = {sim->stepper, t};
  double g = 0.0;
  if (!atom->literal && (!atom->truth || atom->bipolar)) return;
  if (!eng_output(sim, ENG_SINGLE_G, t, eng_trial_state, &at, id, &g)) return;
  if (!atom->literal && !(g < -atom->zone)) return;
  atom->armed |= !atom->literal;
  atom->truth = atom->literal && eng_relation_holds(atom->relation, g);
  local_set_env(sim, atom->env, eng_atom_shows(atom));
}

static void look_at_guard(EngSim* sim, const ModelGuard* guard, const EngCrossing* c) {
  for (uint32_t k = 0; k < guard->atom_count; k++) {
    if (guard->atoms[k] != c->index) look_at(sim, guard->atoms[k], c->t);
  }
}

static void look_at_guards(EngSim* sim, uint32_t automaton, const EngCrossing* c) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  const ModelState* state = &a->states[sim->state[automaton]];
  if (a->condition) look_at_guard(sim, a->condition, c);
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    look_at_guard(sim, &sim->model->transitions[state->outgoing[i]].guard, c);
  }
}

bool local_is_silent(EngSim* sim, const EngCrossing* c) {
  uint32_t owner = sim->local->index.owner[c->index];
  if (!local_is_owned(sim, c->index)) return false;
  EngAtom* atom = &sim->atoms[c->index];
  double* truth = &sim->env[sim->model->atoms[c->index].env];
  double latched = *truth;
  look_at_guards(sim, owner, c);
  *truth = c->rising ? 1.0 : 0.0;
  atom->located = true;
  atom->located_truth = c->rising;
  bool is_switch = sim->model->automata[owner].kind == MODEL_AUTOMATON_SWITCH;
  bool enabled =
      is_switch ? eng_switch_flips(sim, owner) : eng_first_enabled(sim, owner) != MODEL_NONE;
  *truth = latched;
  atom->located = false;
  return !enabled;
}

void local_pass(EngSim* sim, uint32_t id) {
  const EngCrossing passed = sim->waiting.crossing[id];
  EngAtom* atom = &sim->atoms[id];
  EngCrossing crossing;
  sim->waiting.waits[id] = 0;
  if (!local_value(sim, id, passed.t)) {
    sim->core.local.crowded = true;
    return;
  }
  atom->truth = passed.rising;
  atom->equal = false;
  atom->armed = false;
  local_set_env(sim, atom->env, eng_atom_shows(atom));
  sim->core.counts.silent++;
  events_latch_edges(sim, sim->local->index.owner[id], false);
  if (local_watch(sim, id, passed.t, &crossing)) {
    if (!crossing.certified) sim->core.local.doubt = true;
    local_wait_for(sim, &crossing);
  }
}

/// Sort the relations into far and near ones; what the near ones wait for into
/// sim->detect.crossings.
static bool glance_at_all(EngSim* sim, double t_from) {
  EngCore* core = &sim->core;
  const NumStepper* s = sim->stepper;
  double resolution = num_time_resolution(s->trial.t);
  Glance glance = {.sim = sim,
                   .index = &sim->local->index,
                   .stepper = s,
                   .t_after = s->trial.t + 2.0 * resolution,
                   .h = s->trial.h,
                   .slack = 2.0 * 4.0 / s->trial.h * resolution,
                   .timed = fabs(s->trial.t) <= 2.0 * core->margins.t};
  sim->detect.crossing_count = 0;
  core->local.candidate_count = 0;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t id = sim->active.indicators[place];
    EngAtom* atom = &sim->atoms[id];
    if (atom->armed && stays_far(&glance, id, sim->waiting.g[id], atom)) {
      sim->waiting.mark[id] = LOCAL_FAR;
      core->local.marked = true;
      continue;
    }
    if (sim->waiting.mark[id] == LOCAL_NEAR) sim->waiting.mark[id] = LOCAL_UNKNOWN;
    local_come_near(sim, id);
  }
  // after the others: what is followed now is what events will ask for, and is still in the cache
  uint32_t near = core->local.candidate_count;
  for (uint32_t i = 0; i < near; i++) {
    uint32_t id = sim->waiting.candidates[i];
    if (!local_value(sim, id, t_from)) return false;
    EngCrossing crossing;
    if (local_watch(sim, id, t_from, &crossing))
      sim->detect.crossings[sim->detect.crossing_count++] = crossing;
  }
  return true;
}

/// Keep what was found, up to the first crossing. False: something is not plainly local, and looked
/// at in the usual way.
static bool begin_trial(EngSim* sim, bool* found) {
  EngCore* core = &sim->core;
  double t_end = sim->stepper->trial.t;
  uint32_t count = sim->detect.crossing_count;
  eng_local_collect_slow(sim);
  if (!core->local.running) return count == 0;
  const BaseDue* first = local_first(sim);
  if (core->local.doubt || core->local.crowded) return false;
  if (first && !local_is_owned(sim, first->id)) return false;
  first = local_first_to_fire(sim);
  if (!first) return true;
  *found = true;
  core->t_event = first->t >= t_end - num_time_resolution(first->t) ? t_end : first->t;
  return true;
}

bool eng_local_detect_slow(EngSim* sim, double t_from, bool* found) {
  EngCore* core = &sim->core;
  *found = false;
  core->local.lazy = false;
  core->local.reach = 0.0;
  if (!is_suitable(sim, t_from) || num_dense_prepare(sim->stepper) < 0) return false;
  memcpy(sim->x, sim->stepper->trial.x0, core->mode->state_count * sizeof *sim->x);
  eng_evaluate_g(sim, t_from, false);
  memcpy(sim->waiting.g, sim->detect.g, core->mode->atom_count * sizeof *sim->detect.g);
  eng_control_margin(sim);
  core->local.margins = true;
  sim->proof.stamp++;  // polynomials in time alone are others on every trial
  local_begin_sharing(sim);
  bool done = glance_at_all(sim, t_from) && begin_trial(sim, found);
  if (!done) core->local.reach = 0.0;
  if (done) eng_pruned_forget(sim);  // marks of this search tell what is not known
  core->local.lazy = done;
  return done;
}

void eng_local_forget_far_slow(EngSim* sim) {
  sim->core.local.lazy = false;
  sim->core.local.candidate_count = 0;
  if (!sim->core.local.marked) return;
  sim->core.local.marked = false;
  for (uint32_t i = 0; i < sim->model->atom_count; i++) {
    if (sim->waiting.mark[i] == LOCAL_FAR && !sim->atoms[i].truth) sim->atoms[i].clear = true;
    sim->waiting.mark[i] = LOCAL_UNKNOWN;
  }
}

void eng_local_show_far_slow(EngSim* sim, double t, const double* x) {
  uint32_t count = 0;
  if (!sim->core.local.marked) {
    eng_local_forget_far(sim);
    return;
  }
  for (uint32_t i = 0; i < sim->model->atom_count; i++) {
    count += sim->waiting.mark[i] == LOCAL_FAR;
  }
  if (count > 0) {
    memmove(sim->x, x, sim->core.mode->state_count * sizeof *x);
    eng_evaluate_g(sim, t, true);
    for (uint32_t i = 0; i < sim->model->atom_count; i++) {
      if (sim->waiting.mark[i] != LOCAL_FAR) continue;
      sim->atoms[i].g = sim->detect.g[i];
      sim->atoms[i].gdot = sim->detect.gdot[i];
    }
  }
  eng_local_forget_far(sim);
}

void eng_local_mesh_slow(EngSim* sim) {
  EngCore* core = &sim->core;
  core->local.lazy = false;
  sim->detect.g_epoch = 0;
  bool changed = false;
  for (uint32_t i = 0; i < core->local.candidate_count; i++) {
    uint32_t id = sim->waiting.candidates[i];
    sim->waiting.mark[id] = LOCAL_UNKNOWN;
    EngAtom* atom = &sim->atoms[id];
    if (!sim->active.live[id] || !local_value(sim, id, core->t)) continue;
    sim->detect.g[id] = atom->g;
    sim->detect.gdot[id] = atom->gdot;
    changed |= eng_atom_mesh(sim, id);
  }
  core->local.candidate_count = 0;
  if (changed) eng_edges_visit(sim, false);
  if (core->t < core->calendar.t_passing) return;
  // times that were passed are behind us; others are computed from values of now
  eng_local_show_far_slow(sim, core->t, sim->x);
  eng_schedule_linear(sim);
}
