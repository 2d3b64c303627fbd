// SPDX-License-Identifier: MIT
//
// The first crossings of all event indicators on a trial wait in a heap; each is carried out alone
// if it is plainly local (instant.c). Whatever is not is left to the instant of all states: then
// everything is brought to the present time.
#include "engine/local/local.h"

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

/// The trial before was short enough for its events, or too short.
static void adapt_bound(EngSim* sim) {
  EngCore* core = &sim->core;
  double error = core->local_error;
  core->local_error = 0.0;
  if (core->local_bound > 0.0 && core->local_spent < 0.25 * LOCAL_SHARE) {
    double growth = error > 0.0 ? fmin(1.5, local_step_for(1.0, error)) : 1.5;
    core->local_bound *= fmax(growth, 0.5);
  }
}

void eng_local_collect_now(EngSim* sim) {
  EngCore* core = &sim->core;
  core->local = false;
  adapt_bound(sim);
  if (sim->crossing_count == 0) return;
  if (core->slide.count || core->contact.active || core->dwelling) return;
  if (!eng_local_is_prepared(sim)) return;
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

bool local_take_crossing(EngSim* sim, EngCrossing* crossing) {
  const EngCore* core = &sim->core;
  if (!core->local || core->seg_whole || core->seg_due) return false;
  if (core->local_doubt || core->local_crowded || !eng_local_is_prepared(sim)) return false;
  const EngWaiting* top = heap_top(sim);
  if (!top || top->t != core->t) return false;
  if (sim->stepper->trial.t - core->t < LOCAL_REST * sim->stepper->trial.h) return false;
  *crossing = sim->local_crossing[top->atom];
  bool owned = sim->local->index.owner[crossing->index] < LOCAL_SEVERAL;
  if (!owned || !crossing->rising || sim->model->atoms[crossing->index].bipolar) return false;
  heap_drop(sim);
  double reach = core->t + eng_time_resolution(core->t);
  const EngWaiting* next = heap_top(sim);
  while (next && next->t <= reach && sim->local_crossing[next->atom].look) {
    local_look(sim, next->atom);
    next = heap_top(sim);
  }
  bool alone = !next || next->t > reach;
  heap_add(sim, crossing->t, crossing->index);
  return alone;
}
