// SPDX-License-Identifier: MIT
//
// Boundaries that the motion tends to without reaching them.
//
// x' = -k x comes to zero in no finite time, but its numerical solution gets there by its errors,
// on either side, and would cross for ever. The rates of g tell such a crossing: at the distance of
// the tolerance they lead back to the boundary from both sides, and on it hardly any is left. The
// relation stays as it is, and is not watched until g has left what the tolerances explain.
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

#define HARDLY 0x1p-10  // of the rates beside the boundary: the rate on it

/// g, or its rate, with one state moved.
static double beside(EngSim* sim, bool rate, uint32_t index, uint32_t state, double way) {
  const ModelMode* mode = sim->core.mode;
  sim->probe.x[state] = sim->x[state] + way;
  double value = eng_output_at(sim, rate ? &mode->gdot : &mode->g_flow,
                               rate ? sim->programs.gdot : sim->programs.g_flow, index, sim->core.t,
                               sim->probe.x);
  sim->probe.x[state] = sim->x[state];
  return value;
}

static bool tends_to(EngSim* sim, const EngCrossing* c) {
  uint32_t n = sim->core.mode->state_count;
  uint32_t state = 0;
  double most = 0.0;
  memcpy(sim->probe.x, sim->x, n * sizeof *sim->x);
  // the state that moves g most for its tolerance
  for (uint32_t i = 0; i < n; i++) {
    double way = eng_state_weight(sim, i, sim->x[i]);
    double moves = beside(sim, false, c->index, i, way) - sim->detect.g[c->index];
    if (!(fabs(moves) > fabs(most))) continue;
    most = moves;
    state = i;
  }
  if (most == 0.0) return false;
  double way = copysign(eng_state_weight(sim, state, sim->x[state]), most);
  double above = beside(sim, true, c->index, state, way);
  double below = beside(sim, true, c->index, state, -way);
  // written so that a side without values, or without a rate, fails
  return fabs(c->slope) < -HARDLY * above && fabs(c->slope) < HARDLY * below;
}

/// All relations of the boundary: those whose g is the same, or its negative.
static void let_go(EngSim* sim, uint32_t index) {
  double g = fabs(sim->detect.g[index]);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    EngAtom* atom = &sim->atoms[sim->core.mode->atoms[i]];
    if (fabs(sim->detect.g[i]) != g) continue;
    atom->marks.tangential = true;
    atom->kind.asymptotic = true;
    atom->armed = false;
  }
}

void eng_drop_asymptotes(EngSim* sim) {
  EngDetection* detect = &sim->detect;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < detect->crossing_count; i++) {
    EngCrossing c = detect->crossings[i];
    uint32_t id = sim->core.mode->atoms[c.index];
    // a motion that crosses does so with about the speed that brought it there
    bool slow = fabs(c.slope) * sim->stepper->trial.h <= HARDLY * fabs(sim->atoms[id].g);
    if (slow && !sim->model->atoms[id].time_only && !eng_is_held(sim) && tends_to(sim, &c)) {
      let_go(sim, c.index);
    } else {
      detect->crossings[kept++] = c;
    }
  }
  detect->crossing_count = kept;
}
