// SPDX-License-Identifier: MIT
//
// Local events: an event in one of 10 000 rooms does not stop the other 9 999.
//
// A trial step of the whole system is kept as long as possible. The first crossings of all atoms on
// it wait in a heap. An event whose effect is small is carried out alone: its transition fires, the
// few states whose equations read what it changed are integrated anew from there to the end of the
// trial, with the same method and tolerance, and their polynomials take the place of the old ones;
// the atoms that read them are followed again, with the same proofs. Nothing else is touched.
//
// States that read what moves otherwise now, and are left alone, get an error from it. It is
// bounded by the integral of the change times the sensitivity of their equations, and summed up
// over the events of a trial; when it reaches a tenth of the tolerance, the trial ends.
//
// Only what is plainly local is handled here. Whatever is not (several crossings at once, switches,
// changed equations, guards that test other automata, a further transition, a truth in doubt) is
// left to the instant of instant.c: everything is brought to the present time, and nothing was
// changed before.
#include "engine/local.h"

#include "engine/detect.h"

#include <math.h>
#include <string.h>

// ---- crossings that wait ------------------------------------------------------------------------

static void heap_add(EngSim* sim, double t, uint32_t atom) {
  uint32_t at = sim->core.local_count++;
  while (at > 0 && sim->local_heap[(at - 1) / 2].t > t) {
    sim->local_heap[at] = sim->local_heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  sim->local_heap[at] = (EngWaiting){t, atom};
}

static void heap_drop(EngSim* sim) {
  EngWaiting last = sim->local_heap[--sim->core.local_count];
  uint32_t at = 0;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= sim->core.local_count) break;
    bool right = child + 1 < sim->core.local_count;
    if (right && sim->local_heap[child + 1].t < sim->local_heap[child].t) child++;
    if (sim->local_heap[child].t >= last.t) break;
    sim->local_heap[at] = sim->local_heap[child];
    at = child;
  }
  sim->local_heap[at] = last;
}

/// The next crossing that still stands; NULL for none.
static const EngWaiting* heap_top(EngSim* sim) {
  while (sim->core.local_count > 0) {
    const EngWaiting* top = &sim->local_heap[0];
    const EngCrossing* c = &sim->local_crossing[top->atom];
    if (sim->local_waits[top->atom] && c->t == top->t) return top;
    heap_drop(sim);
  }
  return NULL;
}

/// Leave out what does not stand any more.
static void heap_renew(EngSim* sim) {
  uint32_t count = sim->core.local_count;
  sim->core.local_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    EngWaiting w = sim->local_heap[i];
    if (sim->local_waits[w.atom] && sim->local_crossing[w.atom].t == w.t) {
      heap_add(sim, w.t, w.atom);
    }
  }
}

void local_wait_for(EngSim* sim, const EngCrossing* crossing) {
  if (sim->core.local_count + LOCAL_ATOMS >= sim->local_capacity) heap_renew(sim);
  sim->local_crossing[crossing->index] = *crossing;
  sim->local_waits[crossing->index] = 1;
  heap_add(sim, crossing->t, crossing->index);
}

/// Step for which the local integrations keep their tolerance, by the worst one so far.
static double step_for(double h, double error) {
  return 0.9 * h * pow(error, -0.2);
}

/// The trial before was short enough for its events, or too short.
static void adapt_bound(EngSim* sim) {
  EngCore* core = &sim->core;
  double error = core->local_error;
  core->local_error = 0.0;
  if (core->local_bound > 0.0 && core->local_spent < 0.25 * LOCAL_SHARE) {
    double growth = error > 0.0 ? fmin(1.5, step_for(1.0, error)) : 1.5;
    core->local_bound *= fmax(growth, 0.5);
  }
}

void eng_local_collect_now(EngSim* sim) {
  EngCore* core = &sim->core;
  core->local = false;
  adapt_bound(sim);
  if (sim->crossing_count == 0) return;
  if (core->slide.count || core->contact.active || core->dwelling) return;
  if (!local_is_prepared(sim)) return;
  core->local_count = 0;
  core->local_spent = 0.0;
  core->local_doubt = false;
  for (uint32_t k = 0; k < SLT_COUNT(core->wide_state); k++) {
    core->wide_state[k] = MODEL_NONE;
  }
  for (uint32_t i = 0; i < sim->active_count; i++) {
    sim->local_waits[sim->active[i]] = 0;
  }
  for (uint32_t i = 0; i < sim->crossing_count; i++) {
    // what is not proved is looked at in the usual way
    if (!sim->crossings[i].certified) return;
    local_wait_for(sim, &sim->crossings[i]);
  }
  memset(sim->local_drift, 0, core->mode->state_count * sizeof *sim->local_drift);
  core->local = true;
}

const EngWaiting* local_first(EngSim* sim) {
  const EngWaiting* top = heap_top(sim);
  while (top && sim->local_crossing[top->atom].look) {
    local_look(sim, top->atom);
    top = heap_top(sim);
  }
  return top;
}

bool eng_local_next_now(EngSim* sim) {
  EngCore* core = &sim->core;
  if (!core->local || !core->trial_pending) return false;
  const EngWaiting* top = local_first(sim);
  double end = sim->stepper->trial.t;
  double reach = eng_time_resolution(end);
  core->seg_t0 = core->t;
  core->seg_event = top != NULL;
  core->seg_t1 = !top || top->t >= end - reach ? end : top->t;
  core->t_event = core->seg_t1;
  return true;
}

void eng_local_sync_now(EngSim* sim) {
  EngCore* core = &sim->core;
  if (!core->local) return;
  core->local = false;
  core->local_stale = false;
  eng_local_settle_active(sim);
  // the crossings of this instant, for the instant
  sim->crossing_count = 0;
  double reach = eng_time_resolution(core->t);
  for (const EngWaiting* top = local_first(sim); top && top->t <= core->t + reach;
       top = local_first(sim)) {
    sim->crossings[sim->crossing_count++] = sim->local_crossing[top->atom];
    sim->local_waits[top->atom] = 0;
    heap_drop(sim);
  }
  // atoms as a mesh point here would have left them
  for (uint32_t i = 0; i < sim->active_count; i++) {
    sim->atoms[core->mode->atoms[sim->active[i]]].end_known = false;
  }
  core->margin_stale = true;
  // the instant that follows would compute the same
  sim->g_stands = !eng_atoms_mesh(sim) && !sim->has_pre && sim->active_count > 0;
  core->mesh_t = core->t;
}

// ---- one event ----------------------------------------------------------------------------------

void local_patch(EngSim* sim, uint32_t env) {
  const LocalIndex* index = &sim->local->index;
  double* regs[LOCAL_PROGRAMS] = {sim->rhs_regs, sim->full_regs, sim->g_regs, sim->g_flow_regs,
                                  sim->gdot_regs};
  double value = sim->env[env];
  for (uint32_t i = index->regs.begin[env]; i < index->regs.begin[env + 1]; i++) {
    uint32_t program = index->regs.list[i] >> LOCAL_REG_BITS;
    uint32_t reg = index->regs.list[i] & ((1u << LOCAL_REG_BITS) - 1);
    regs[program][reg] = value;
    if (local_program(index->mode, program) != &index->mode->g_flow) continue;
    sim->dual_regs[reg] = model_dual_fixed(value);
    sim->core.local_margins = false;
    sim->core.level_epoch++;
    sim->control_stamp++;
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
      sim->block_regs[(size_t)reg * MODEL_LANES + lane] = value;
    }
  }
}

static void set_env(EngSim* sim, uint32_t env, double value) {
  sim->env[env] = value;
  local_patch(sim, env);
}

/// A state at time t as the event in progress sees it.
typedef struct LocalPoint {
  const EngSim* sim;
  double t;
  const double* x;  // of local->states
} LocalPoint;

static double point_state(const void* user, uint32_t state) {
  const LocalPoint* point = user;
  const struct EngLocal* local = point->sim->local;
  for (uint32_t k = 0; k < local->state_count; k++) {
    if (local->states[k] == state) return point->x[k];
  }
  return num_dense_component(point->sim->stepper, state, point->t);
}

static bool add_state(struct EngLocal* local, uint32_t state) {
  for (uint32_t k = 0; k < local->state_count; k++) {
    if (local->states[k] == state) return true;
  }
  if (local->state_count == LOCAL_STATES) return false;
  local->states[local->state_count++] = state;
  return true;
}

static bool add_atom(struct EngLocal* local, uint32_t atom, bool fresh) {
  for (uint32_t k = 0; k < local->atom_count; k++) {
    if (local->atoms[k] == atom) return true;
  }
  if (local->atom_count == LOCAL_ATOMS) return false;
  local->fresh[local->atom_count] = fresh;
  local->atoms[local->atom_count++] = atom;
  return true;
}

/// Values of the actions; states that they read come from the trial.
static bool evaluate_actions(EngSim* sim, uint32_t begin, uint32_t count) {
  struct EngLocal* local = sim->local;
  const LocalIndex* index = &local->index;
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    if (action->guess || local->change_count == LOCAL_WRITES) return false;
    if (sim->env_computed[action->env]) return false;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      uint32_t env = model_term_input(&action->value, k);
      if (env == MODEL_NONE) continue;
      if (env >= sim->model->env_count || sim->env_computed[env]) return false;
      uint32_t state = index->state_of_env[env];
      if (state != MODEL_NONE) {
        sim->env[env] = num_dense_component(sim->stepper, state, sim->core.t);
      }
    }
    uint32_t target = index->state_of_env[action->env];
    if (target != MODEL_NONE) {
      sim->env[action->env] = num_dense_component(sim->stepper, target, sim->core.t);
    }
    for (uint32_t k = 0; k < local->change_count; k++) {
      if (local->changes[k].env == action->env) return false;
    }
    double value = eng_eval(sim, &action->value);
    if (!isfinite(value)) return false;
    local->changes[local->change_count++] = (LocalChange){
        .env = action->env, .before = sim->env[action->env], .after = value, .action = action};
  }
  return true;
}

/// What the equations know of the automaton's state.
static bool note_state(EngSim* sim, uint32_t env, double after) {
  struct EngLocal* local = sim->local;
  if (env == MODEL_NONE || sim->env[env] == after) return true;
  if (local->change_count == LOCAL_WRITES) return false;
  local->changes[local->change_count++] =
      (LocalChange){.env = env, .before = sim->env[env], .after = after, .action = NULL};
  return true;
}

/// States whose equations read what changes, and atoms that read it or them.
static bool find_touched(EngSim* sim, const ModelState* to) {
  struct EngLocal* local = sim->local;
  const LocalIndex* index = &local->index;
  uint32_t env_count = sim->model->env_count;
  for (uint32_t i = 0; i < local->change_count; i++) {
    if (local->changes[i].before == local->changes[i].after) continue;
    uint32_t env = local->changes[i].env;
    uint32_t state = index->state_of_env[env];
    uint32_t key = state == MODEL_NONE ? env : env_count + state;
    if (index->wide[key]) return false;
    if (state != MODEL_NONE && !add_state(local, state)) return false;
    for (uint32_t k = index->rhs.begin[key]; k < index->rhs.begin[key + 1]; k++) {
      if (!add_state(local, index->rhs.list[k])) return false;
    }
    for (uint32_t k = index->atoms.begin[key]; k < index->atoms.begin[key + 1]; k++) {
      uint32_t atom = index->atoms.list[k];
      if (sim->live[atom] && !add_atom(local, atom, false)) return false;
    }
  }
  for (uint32_t s = 0; s < local->state_count; s++) {
    uint32_t key = env_count + local->states[s];
    if (index->wide[key] & 2) return false;
    for (uint32_t k = index->atoms.begin[key]; k < index->atoms.begin[key + 1]; k++) {
      uint32_t atom = index->atoms.list[k];
      if (sim->live[atom] && !add_atom(local, atom, false)) return false;
    }
  }
  for (uint32_t i = 0; i < to->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[to->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      uint32_t atom = guard->atoms[k];
      if (!add_atom(local, atom, !sim->live[atom])) return false;
    }
  }
  return true;
}

/// Whether the guards of a state ask for an atom.
static bool state_asks(const EngSim* sim, const ModelState* state, uint32_t atom) {
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[state->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      if (guard->atoms[k] == atom) return true;
    }
  }
  return false;
}

/// Truths after the event; false where one is in doubt, or where somebody else's changes.
static bool find_truths(EngSim* sim, uint32_t located, const ModelState* to) {
  struct EngLocal* local = sim->local;
  const ModelMode* mode = sim->core.mode;
  LocalPoint point = {sim, sim->core.t, local->x};
  for (uint32_t k = 0; k < local->atom_count; k++) {
    uint32_t id = local->atoms[k];
    const ModelAtom* model = &sim->model->atoms[id];
    const EngAtom* atom = &sim->atoms[id];
    if (!model->continuous || model->relation == MODEL_REL_EQ) return false;
    if (!local->fresh[k] && isfinite(atom->t_linear)) return false;
    if (mode->slope_class[id] == MODEL_CLASS_FIXED) return false;
    if (!eng_output(sim, ENG_SINGLE_G, sim->core.t, point_state, &point, id, &local->g[k]) ||
        !eng_output(sim, ENG_SINGLE_SLOPE, sim->core.t, point_state, &point, id, &local->gdot[k])) {
      return false;
    }
    double zone = local->fresh[k] ? atom->eps : fmax(atom->zone, atom->eps);
    bool clear = fabs(local->g[k]) > zone;
    // the motion could go on along it
    if (atom->separates && !clear && (id != located || state_asks(sim, to, id))) return false;
    if (id == located) {
      // it stays where it was found, unless a reset has taken it far away
      local->truth[k] = clear ? local->g[k] > 0.0 : true;
      continue;
    }
    if (local->fresh[k]) {
      if (!clear) return false;
      local->truth[k] = local->g[k] > 0.0;
      continue;
    }
    local->truth[k] = atom->truth;
    if (clear && (local->g[k] > 0.0) != atom->truth) return false;
  }
  return true;
}

// ---- motion of the states that are touched ------------------------------------------------------

static SltStatus part_rhs(void* user, double t, const double* x, double* dx) {
  EngSim* sim = user;
  const struct EngLocal* local = sim->local;
  LocalPoint point = {sim, t, x};
  for (uint32_t k = 0; k < local->state_count; k++) {
    if (!eng_output(sim, ENG_SINGLE_RHS, t, point_state, &point, local->states[k], &dx[k])) {
      return SLT_ERR_STEP;
    }
  }
  return SLT_OK;
}

/// How much a unit of one state, over a unit of time, moves its readers, in their tolerances.
static double wide_sensitivity(EngSim* sim, uint32_t state) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  double t = sim->stepper->trial.t;
  double delta = 16.0 * local_tolerance(sim, state);
  double* x = sim->probe_x;
  memcpy(x, sim->stepper->trial.x, mode->state_count * sizeof *x);
  double* plain = sim->side_f;
  double* moved = sim->side_f + sim->n_max;
  model_program_run(&mode->rhs, context, sim->rhs_regs, t, x, plain);
  x[state] += delta;
  model_program_run(&mode->rhs, context, sim->rhs_regs, t, x, moved);
  double worst = 0.0;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double rate = fabs(moved[i] - plain[i]) / local_tolerance(sim, i);
    if (i != state && !(rate <= worst)) worst = rate;
  }
  return worst / delta;
}

/// Error of all readers of a widely read state, in their tolerances.
static double wide_drift(EngSim* sim, uint32_t state, double area) {
  EngCore* core = &sim->core;
  uint32_t k = 0;
  while (k < SLT_COUNT(core->wide_state) && core->wide_state[k] != state &&
         core->wide_state[k] != MODEL_NONE) {
    k++;
  }
  if (k == SLT_COUNT(core->wide_state)) return (double)INFINITY;
  if (core->wide_state[k] == MODEL_NONE) {
    core->wide_state[k] = state;
    core->wide_rate[k] = wide_sensitivity(sim, state);
  }
  return core->wide_rate[k] * area;
}

/// The error that events leave with others grows with the third power of the step: with its
/// square for each of them, and with their number. Aim at half of what is allowed.
static void shorten(EngSim* sim, double drift) {
  EngCore* core = &sim->core;
  double factor = isfinite(drift) ? cbrt(0.5 * LOCAL_SHARE / drift) : 0.1;
  double bound = fmax(factor, 0.1) * sim->stepper->trial.h;
  // steps that see few events would cost more than beginning anew at each of them
  core->local_bound = bound > LOCAL_EVENTS * core->local_spacing ? bound : 0.0;
}

/// What the change of the motion does to those that are left alone.
static bool drift_is_small(EngSim* sim) {
  struct EngLocal* local = sim->local;
  const LocalIndex* index = &local->index;
  const NumStepper* part = local->part;
  double t1 = part->trial.t;
  double rest = part->trial.h;
  double middle = part->trial.t0 + 0.5 * rest;
  double ends[LOCAL_STATES];
  double spent = sim->core.local_spent;
  local->shares = false;
  for (uint32_t k = 0; k < local->state_count; k++) {
    ends[k] = num_dense_component(sim->stepper, local->states[k], t1);
  }
  for (uint32_t k = 0; k < local->state_count; k++) {
    uint32_t state = local->states[k];
    uint32_t key = sim->model->env_count + state;
    double begin_change =
        fabs(local->x[k] - num_dense_component(sim->stepper, state, part->trial.t0));
    double middle_change = fabs(num_dense_component(part, k, middle) -
                                num_dense_component(sim->stepper, state, middle));
    double end_change = fabs(part->trial.x[k] - ends[k]);
    double area = fmax(begin_change, fmax(middle_change, end_change)) * rest;
    if (!(area > 0.0)) continue;
    if (state == index->shared && sim->core.local_reach > 0.0) {
      if (local_share_is_idle(sim, area, &spent)) continue;
      local->shares = true;
      if (local_share_next(sim, k)) continue;
      shorten(sim, 2.0 * LOCAL_SHARE);
      return false;
    }
    if (index->wide[key] & 1) {
      spent += wide_drift(sim, state, area);
      continue;
    }
    for (uint32_t r = index->rhs.begin[key]; r < index->rhs.begin[key + 1]; r++) {
      uint32_t reader = index->rhs.list[r];
      bool moves_along = false;
      for (uint32_t m = 0; m < local->state_count; m++) {
        moves_along |= local->states[m] == reader;
      }
      if (moves_along) continue;
      double rates[2] = {0.0, 0.0};
      for (int side = 0; side < 2; side++) {
        LocalPoint point = {sim, t1, side ? part->trial.x : ends};
        eng_output(sim, ENG_SINGLE_RHS, t1, point_state, &point, reader, &rates[side]);
      }
      double size = fmax(end_change, 1e-300);
      sim->local_drift[reader] +=
          fabs(rates[1] - rates[0]) / size * area / local_tolerance(sim, reader);
      // written so that NaN fails
      if (!(sim->local_drift[reader] <= LOCAL_SHARE)) {
        shorten(sim, sim->local_drift[reader]);
        return false;
      }
    }
  }
  if (!(spent <= LOCAL_SHARE)) {
    shorten(sim, spent);
    return false;
  }
  sim->core.local_spent = spent;
  return true;
}

static bool integrate_part(EngSim* sim) {
  struct EngLocal* local = sim->local;
  if (local->state_count == 0) return true;
  double t1 = sim->stepper->trial.t;
  for (uint32_t k = 0; k < LOCAL_STATES; k++) {
    local->atol[k] = k < local->state_count ? sim->atol[local->states[k]] : 1.0;
  }
  NumStepper* part = local->part;
  num_stepper_set_rhs(part, part_rhs, sim);
  num_stepper_set_tolerance(part, sim->options.rtol, sim->options.atol, local->atol);
  num_stepper_start(part, sim->core.t, local->state_count, local->x, NULL);
  if (num_stepper_attempt(part, t1) < 0) return false;
  // few states on their own ask for shorter steps than the mean of all
  double longer = sim->stepper->trial.h / part->trial.h;
  double error = part->trial.error * longer * longer * longer * longer * longer;
  if (!(part->trial.error <= 1.0)) {
    if (isfinite(error)) sim->core.local_bound = step_for(sim->stepper->trial.h, error);
    return false;
  }
  sim->core.local_error = fmax(sim->core.local_error, fmin(error, 100.0));
  return num_dense_prepare(part) >= 0 && drift_is_small(sim);
}

// ---- carrying it out ----------------------------------------------------------------------------

static void set_truth(EngSim* sim, uint32_t id, bool truth) {
  sim->atoms[id].truth = truth;
  set_env(sim, sim->model->atoms[id].env, truth ? 1.0 : 0.0);
}

/// The list of atoms that matter is put in order when it is next used.
static void activate(EngSim* sim, uint32_t atom, bool active) {
  sim->active_stale = true;
  sim->live[atom] = active;
  sim->atoms[atom].relevant_start = active;
}

void eng_local_settle_active_now(EngSim* sim) {
  if (!sim->active_stale) return;
  const ModelMode* mode = sim->core.mode;
  sim->active_stale = false;
  sim->fences_stale = true;
  sim->active_count = 0;
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    if (sim->live[mode->atoms[i]]) sim->active[sim->active_count++] = i;
  }
}

bool local_leaves_alone(const EngSim* sim, const ModelState* left, const ModelState* to) {
  for (uint32_t i = 0; i < left->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[left->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      uint32_t id = guard->atoms[k];
      if (sim->local->index.owner[id] == LOCAL_SEVERAL && !state_asks(sim, to, id)) return false;
    }
  }
  return true;
}

void local_leave_guards(EngSim* sim, const ModelState* left, const ModelState* to) {
  for (uint32_t i = 0; i < left->outgoing_count; i++) {
    const ModelGuard* guard = &sim->model->transitions[left->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      uint32_t id = guard->atoms[k];
      if (state_asks(sim, to, id)) continue;
      sim->live[id] = 0;
      sim->active_stale = true;
    }
  }
}

/// What of a transition may have to be undone.
typedef struct Undo {
  uint32_t automaton, from;
  ModelRandom random;
  bool located_truth;
} Undo;

static bool give_up(EngSim* sim, uint32_t located, const Undo* undo) {
  struct EngLocal* local = sim->local;
  for (uint32_t i = 0; i < local->change_count; i++) {
    set_env(sim, local->changes[i].env, local->changes[i].before);
  }
  for (uint32_t k = 0; k < local->atom_count; k++) {
    uint32_t id = local->atoms[k];
    set_env(sim, sim->model->atoms[id].env, sim->atoms[id].truth ? 1.0 : 0.0);
  }
  set_truth(sim, located, undo->located_truth);
  sim->atoms[located].located = false;
  sim->state[undo->automaton] = undo->from;
  sim->core.random = undo->random;
  return false;
}

/// The atom as an instant would leave it, and its next crossing.
static void settle_atom(EngSim* sim, uint32_t k, uint32_t located) {
  struct EngLocal* local = sim->local;
  uint32_t id = local->atoms[k];
  EngAtom* atom = &sim->atoms[id];
  const ModelAtom* model = &sim->model->atoms[id];
  set_truth(sim, id, local->truth[k]);
  bool was_armed = atom->armed;
  atom->g = local->g[k];
  atom->gdot = local->gdot[k];
  atom->h_previous = 0.0;
  atom->t_linear = (double)INFINITY;
  bool settled = local->fresh[k] || id == located;
  if (settled) {
    bool early = id == located && atom->g < -sim->margin[id];
    atom->zone = model->bipolar || early ? fmax(atom->eps, sim->margin[id]) : sim->margin[id];
  }
  atom->armed = fabs(atom->g) > atom->zone || (!settled && was_armed);
  atom->clear = atom->g < -atom->eps;
  atom->in_zone = false;
  atom->located = false;
  atom->fresh = false;
  atom->end_known = false;
  sim->local_waits[id] = 0;
  if (local->restart) return;
  EngCrossing crossing;
  local_come_near(sim, id);
  if (!local_watch(sim, id, sim->core.t, &crossing)) return;
  if (!crossing.certified) sim->core.local_doubt = true;
  local_wait_for(sim, &crossing);
}

/// The trial ends here: all values and all atoms as of now.
static void bring_all(EngSim* sim) {
  const struct EngLocal* local = sim->local;
  EngCore* core = &sim->core;
  eng_local_settle_active(sim);
  for (uint32_t i = 0; i < sim->active_count; i++) {
    sim->atoms[core->mode->atoms[sim->active[i]]].end_known = false;
  }
  eng_sample(sim, core->t);
  eng_atoms_mesh(sim);
  core->mesh_t = core->t;
  for (uint32_t i = 0; i < local->change_count; i++) {
    sim->env[local->changes[i].env] = local->changes[i].after;
  }
  core->local = false;
}

static void commit(EngSim* sim, uint32_t transition, uint32_t from, const EngCrossing* crossing) {
  struct EngLocal* local = sim->local;
  EngCore* core = &sim->core;
  const Model* model = sim->model;
  const ModelTransition* t = &model->transitions[transition];
  const ModelAutomaton* a = &model->automata[t->automaton];
  uint32_t located = crossing->index;
  // the record
  if (core->local_automaton != MODEL_NONE) {
    sim->state_before[core->local_automaton] = sim->state[core->local_automaton];
  }
  core->local_automaton = t->automaton;
  sim->state_before[t->automaton] = from;
  sim->entered_state[t->automaton] = t->to;  // relations follow it here
  core->mode_before = core->mode;
  sim->crossings[0] = *crossing;
  sim->crossing_count = 1;
  sim->atoms[located].truth = true;
  eng_warn_of_grazing(sim);
  eng_trace_begin(sim);
  uint32_t record = eng_trace_transition(sim, t->automaton, transition, from, t->to, 0);
  for (uint32_t i = 0; i < local->change_count; i++) {
    const LocalChange* c = &local->changes[i];
    if (!c->action) continue;
    if (c->before != c->after) core->changes++;
    eng_trace_change(sim, record, c->action, c->before, c->after);
  }
  if (local->restart) bring_all(sim);
  local_share(sim);
  for (uint32_t k = 0; !local->restart && k < local->state_count; k++) {
    num_dense_replace(sim->stepper, local->states[k], local->part, k);
    eng_control_state(sim, local->states[k]);
  }
  // relations of the state that is left do not matter any more
  const ModelState* left = &a->states[from];
  const ModelState* to = &a->states[t->to];
  for (uint32_t i = 0; i < left->outgoing_count; i++) {
    const ModelGuard* guard = &model->transitions[left->outgoing[i]].guard;
    for (uint32_t k = 0; k < guard->atom_count; k++) {
      uint32_t id = guard->atoms[k];
      if (state_asks(sim, to, id)) continue;
      sim->atoms[id].located = false;
      sim->local_waits[id] = 0;
      activate(sim, id, false);
    }
  }
  for (uint32_t k = 0; k < local->atom_count; k++) {
    if (local->fresh[k]) activate(sim, local->atoms[k], true);
  }
  for (uint32_t k = 0; k < local->atom_count; k++) {
    if (sim->live[local->atoms[k]]) settle_atom(sim, k, located);
  }
  if (!local->restart) local_follow_imminent(sim);
  sim->atoms[located].located = false;
  // self loops of the new state wait for an edge
  for (uint32_t i = 0; i < to->outgoing_count; i++) {
    EngTransition* edge = &sim->transitions[to->outgoing[i]];
    if (model->transitions[to->outgoing[i]].to != t->to) continue;
    edge->taken = false;
    edge->edge_seen = eng_guard(sim, &model->transitions[to->outgoing[i]].guard);
  }
  eng_zeno_note(sim, transition);
  core->instants++;
  core->local_spacing += 0.1 * (core->t - core->local_t - core->local_spacing);
  core->local_t = core->t;
  sim->sampled = false;
  core->local_stale = true;
  // records tell of computed values too
  if (sim->on_event && !sim->only_states) eng_local_refresh(sim);
  eng_trace_end(sim);
  sim->crossing_count = 0;
}

bool eng_local_event_now(EngSim* sim, bool* restart) {
  EngCore* core = &sim->core;
  struct EngLocal* local = sim->local;
  if (!core->local || core->seg_whole || core->seg_due) return false;
  if (core->local_doubt || core->local_crowded) return false;
  if (!local_is_prepared(sim)) return false;
  const EngWaiting* top = heap_top(sim);
  if (!top || top->t != core->t) return false;
  if (sim->stepper->trial.t - core->t < LOCAL_REST * sim->stepper->trial.h) return false;
  EngCrossing crossing = sim->local_crossing[top->atom];
  uint32_t located = crossing.index;
  const ModelAtom* model = &sim->model->atoms[located];
  uint32_t automaton = local->index.owner[located];
  if (automaton >= LOCAL_SEVERAL || !crossing.rising || model->bipolar) return false;
  // alone?
  heap_drop(sim);
  double reach = core->t + eng_time_resolution(core->t);
  const EngWaiting* next = heap_top(sim);
  while (next && next->t <= reach && sim->local_crossing[next->atom].look) {
    local_look(sim, next->atom);
    next = heap_top(sim);
  }
  bool alone = !next || next->t > reach;
  heap_add(sim, crossing.t, located);
  if (!alone) return false;

  local->shares = false;
  local->state_count = 0;
  local->atom_count = 0;
  local->change_count = 0;
  Undo undo = {automaton, sim->state[automaton], core->random, sim->atoms[located].truth};
  sim->atoms[located].located = true;
  sim->atoms[located].located_truth = true;
  set_env(sim, model->env, 1.0);
  uint32_t transition = eng_first_enabled(sim, automaton);
  const ModelTransition* t = transition == MODEL_NONE ? NULL : &sim->model->transitions[transition];
  if (!t || t->by_lot || eng_zeno_is_suspect(sim, transition)) return give_up(sim, located, &undo);
  if (sim->on_event) eng_trace_look(sim, &t->guard);
  const ModelState* to = &sim->model->automata[automaton].states[t->to];
  const ModelState* left = &sim->model->automata[automaton].states[undo.from];
  // a surface that the state behind it asks for could be slid along; others are crossed for good
  bool one_way = !sim->atoms[located].separates || !state_asks(sim, to, located);
  if (!one_way || !local_leaves_alone(sim, left, to) ||
      !evaluate_actions(sim, to->action_begin, to->action_count) ||
      !evaluate_actions(sim, t->action_begin, t->action_count) ||
      (to != left && !note_state(sim, left->test_env, 0.0)) ||
      !note_state(sim, to->test_env, 1.0) || !find_touched(sim, to)) {
    return give_up(sim, located, &undo);
  }
  for (uint32_t k = 0; k < local->state_count; k++) {
    local->x[k] = num_dense_component(sim->stepper, local->states[k], core->t);
  }
  for (uint32_t i = 0; i < local->change_count; i++) {
    uint32_t state = local->index.state_of_env[local->changes[i].env];
    for (uint32_t k = 0; k < local->state_count; k++) {
      if (local->states[k] == state) local->x[k] = local->changes[i].after;
    }
    set_env(sim, local->changes[i].env, local->changes[i].after);
  }
  if (!find_truths(sim, located, to)) return give_up(sim, located, &undo);
  // would something fire on?
  for (uint32_t k = 0; k < local->atom_count; k++) {
    set_env(sim, sim->model->atoms[local->atoms[k]].env, local->truth[k] ? 1.0 : 0.0);
  }
  sim->state[automaton] = t->to;
  for (uint32_t i = 0; i < to->outgoing_count; i++) {
    sim->transitions[to->outgoing[i]].edge_seen = true;
    sim->transitions[to->outgoing[i]].taken = true;
  }
  if (eng_first_enabled(sim, automaton) != MODEL_NONE) return give_up(sim, located, &undo);
  local->restart = !integrate_part(sim);
  *restart = local->restart;
  commit(sim, transition, undo.from, &crossing);
  return true;
}

bool eng_kept_value(const EngSim* sim, uint32_t env, bool before, double* value) {
  const struct EngLocal* local = sim->local;
  if (!sim->core.local_stale || sim->env_computed[env]) return false;
  for (uint32_t i = 0; i < local->change_count; i++) {
    const LocalChange* c = &local->changes[i];
    if (c->env != env) continue;
    *value = before ? c->before : c->after;
    return true;
  }
  uint32_t state = local->index.state_of_env[env];
  bool moves = state != MODEL_NONE;
  *value = moves ? num_dense_component(sim->stepper, state, sim->core.t) : sim->env[env];
  return true;
}

void eng_local_refresh(EngSim* sim) {
  EngCore* core = &sim->core;
  if (!core->local_stale) return;
  core->local_stale = false;
  struct EngLocal* local = sim->local;
  // values before the event, then those after it; resets are exact
  num_dense_eval(sim->stepper, core->t, sim->x);
  const ModelMode* mode = core->mode;
  for (int side = 0; side < 2; side++) {
    for (uint32_t i = 0; i < mode->state_count; i++) {
      sim->env[mode->state_env[i]] = sim->x[i];
    }
    for (uint32_t i = 0; i < local->change_count; i++) {
      const LocalChange* c = &local->changes[i];
      uint32_t state = local->index.state_of_env[c->env];
      set_env(sim, c->env, side ? c->after : c->before);
      if (state != MODEL_NONE) sim->x[state] = side ? c->after : c->before;
    }
    eng_evaluate_full(sim, core->t);
    if (side == 0) memcpy(sim->before, sim->env, sim->model->env_count * sizeof(double));
  }
}
