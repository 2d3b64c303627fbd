// SPDX-License-Identifier: MIT
//
// The first crossings of all event indicators on a trial wait in a heap; each is carried out alone
// if it is plainly local (instant.c). Whatever is not is left to the instant of all states: then
// everything is brought to the present time.
#include "engine/local/parts.h"

#include <math.h>
#include <string.h>

// ---- crossings that wait ------------------------------------------------------------------------

/// The next crossing that still stands; NULL for none.
static const BaseDue* heap_top(EngSim* sim) {
  while (sim->core.local.count > 0) {
    const BaseDue* top = &sim->waiting.heap[0];
    const EngCrossing* c = &sim->waiting.crossing[top->id];
    if (sim->waiting.waits[top->id] && c->t == top->t) return top;
    base_due_drop(sim->waiting.heap, &sim->core.local.count);
  }
  return NULL;
}

/// Leave out what does not stand any more.
static void heap_renew(EngSim* sim) {
  uint32_t count = sim->core.local.count;
  sim->core.local.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    BaseDue w = sim->waiting.heap[i];
    if (sim->waiting.waits[w.id] && sim->waiting.crossing[w.id].t == w.t) {
      base_due_add(sim->waiting.heap, &sim->core.local.count, w.t, w.id);
    }
  }
}

void local_wait_for(EngSim* sim, const EngCrossing* crossing) {
  if (sim->core.local.count + LOCAL_ATOMS >= sim->waiting.capacity) heap_renew(sim);
  sim->waiting.crossing[crossing->index] = *crossing;
  sim->waiting.waits[crossing->index] = 1;
  base_due_add(sim->waiting.heap, &sim->core.local.count, crossing->t, crossing->index);
}

/// The trial before was short enough for its events, or too short.
static void adapt_bound(EngSim* sim) {
  EngCore* core = &sim->core;
  double error = core->local.error;
  core->local.error = 0.0;
  if (core->local.bound > 0.0 && core->local.spent < 0.25 * LOCAL_SHARE) {
    double growth = error > 0.0 ? fmin(1.5, local_step_for(1.0, error)) : 1.5;
    core->local.bound *= fmax(growth, 0.5);
  }
}

void eng_local_collect_slow(EngSim* sim) {
  EngCore* core = &sim->core;
  core->local.running = false;
  adapt_bound(sim);
  bool due = eng_queue_next(sim) < sim->stepper->trial.t;
  if ((sim->detect.crossing_count == 0 && !due) || !eng_local_is_prepared(sim)) return;
  core->local.count = 0;
  core->local.spent = 0.0;
  core->local.doubt = false;
  for (uint32_t k = 0; k < SLT_COUNT(core->local.wide_state); k++) {
    core->local.wide_state[k] = MODEL_NONE;
  }
  for (uint32_t i = 0; i < sim->active.indicator_count; i++) {
    sim->waiting.waits[sim->active.indicators[i]] = 0;
  }
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    // what is not proved is looked at in the usual way
    if (!sim->detect.crossings[i].certified) return;
    local_wait_for(sim, &sim->detect.crossings[i]);
  }
  memset(sim->waiting.drift, 0, core->mode->state_count * sizeof *sim->waiting.drift);
  core->local.running = true;
}

const BaseDue* local_first(EngSim* sim) {
  const BaseDue* top = heap_top(sim);
  while (top && sim->waiting.crossing[top->id].look) {
    local_look(sim, top->id);
    top = heap_top(sim);
  }
  return top;
}

/// Whether the next crossing that waits has its time for itself.
static bool is_alone(const EngSim* sim) {
  const BaseDue* heap = sim->waiting.heap;
  double last = heap[0].t + num_time_resolution(heap[0].t);
  for (uint32_t i = 1; i < 3 && i < sim->core.local.count; i++) {
    if (heap[i].t <= last) return false;
  }
  return true;
}

/// How far from the time of an instant a crossing may be that belongs to it; `due`: it is one of
/// time events.
static double reach_of(const EngSim* sim, const BaseDue* waiting, bool due) {
  double resolution = num_time_resolution(waiting->t);
  const EngCrossing* crossing = &sim->waiting.crossing[waiting->id];
  return due ? fmax(resolution, eng_half_bracket(sim, crossing)) : resolution;
}

const BaseDue* local_first_to_fire(EngSim* sim) {
  const BaseDue* top = local_first(sim);
  double end = sim->stepper->trial.t - num_time_resolution(sim->stepper->trial.t);
  while (top && top->t < end && is_alone(sim) &&
         local_is_silent(sim, &sim->waiting.crossing[top->id])) {
    local_pass(sim, top->id);
    top = local_first(sim);
  }
  return top;
}

bool eng_local_next_slow(EngSim* sim) {
  EngCore* core = &sim->core;
  if (!core->local.running || !core->segment.trial_pending) return false;
  const BaseDue* top = local_first_to_fire(sim);
  double end = sim->stepper->trial.t;
  double due = eng_queue_next(sim);
  if (top && due < end && top->t >= due - reach_of(sim, top, true)) top = NULL;
  bool ends = eng_held_ends_before(sim, top ? top->t : fmin(due, end));
  core->segment.t0 = core->t;
  core->segment.event = ends || top != NULL;
  core->segment.t1 = ends                                             ? core->t_event
                     : top && top->t < end - num_time_resolution(end) ? top->t
                     : top                                            ? end
                                                                      : fmin(due, end);
  core->t_event = core->segment.t1;
  return true;
}

void eng_local_sync_slow(EngSim* sim) {
  EngCore* core = &sim->core;
  core->local.running = false;
  core->local.stale = false;
  eng_local_settle_active(sim);
  // the crossings of this instant, for the instant
  sim->detect.crossing_count = 0;
  bool ends = core->exit.pending || core->contact.lifts;
  for (const BaseDue* top = local_first(sim);
       top && !ends && top->t <= core->t + reach_of(sim, top, core->segment.due);
       top = local_first(sim)) {
    sim->detect.crossings[sim->detect.crossing_count++] = sim->waiting.crossing[top->id];
    sim->waiting.waits[top->id] = 0;
    base_due_drop(sim->waiting.heap, &sim->core.local.count);
  }
  // atoms as a mesh point here would have left them
  for (uint32_t i = 0; i < sim->active.indicator_count; i++) {
    sim->atoms[core->mode->atoms[sim->active.indicators[i]]].end_known = false;
  }
  core->margins.stale = true;
  eng_atoms_mesh(sim);
  core->mesh_t = core->t;
}

bool local_take_crossings(EngSim* sim) {
  const EngCore* core = &sim->core;
  EngDetection* detect = &sim->detect;
  if (!core->local.running || core->segment.whole) return false;
  if (core->exit.pending || core->contact.lifts) return false;
  if (core->local.doubt || core->local.crowded || !eng_local_is_prepared(sim)) return false;
  const BaseDue* top = heap_top(sim);
  // both at once are for the instant of all states
  if (core->segment.due ? top && top->t <= core->t + reach_of(sim, top, true)
                        : !top || top->t != core->t)
    return false;
  if (sim->stepper->trial.t - core->t < LOCAL_REST * sim->stepper->trial.h) return false;
  double reach = core->t + num_time_resolution(core->t);
  bool plain = true;
  detect->crossing_count = 0;
  for (; plain && top && top->t <= reach; top = local_first(sim)) {
    const EngCrossing* crossing = &sim->waiting.crossing[top->id];
    plain = local_is_owned(sim, crossing->index) && detect->crossing_count < ENG_LOCAL_MOVED;
    if (!plain) break;
    detect->crossings[detect->crossing_count++] = *crossing;
    base_due_drop(sim->waiting.heap, &sim->core.local.count);
  }
  if (!plain) local_return_crossings(sim);
  return plain;
}

void local_return_crossings(EngSim* sim) {
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    base_due_add(sim->waiting.heap, &sim->core.local.count, sim->detect.crossings[i].t,
                 sim->detect.crossings[i].index);
  }
}
