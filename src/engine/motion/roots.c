// SPDX-License-Identifier: MIT
//
// Motion near the end of a root. Right sides like k*sign(d)*sqrt(abs(d)) are not Lipschitz at d =
// 0, and the branch in force has no values beyond. Where a step fails for that, roots are replaced
// by chords within the tolerance of their arguments (model/roots.c) until no root is near its end.
#include "engine/run/run.h"

#include <math.h>

#define FAR_ENOUGH 16.0  // tolerances between the arguments of all roots and zero
#define PASSING    24    // steps after which a motion does not only pass the end of a root
#define WIDENING   10    // steps from then on, each with chords twice as wide as the one before

/// Chords are as wide as the tolerances in the end: what passes may be known better than that.
void eng_chords_use(EngSim* sim, uint32_t steps) {
  sim->core.step.chords = steps;
  int halves = steps < PASSING ? WIDENING : PASSING + WIDENING - (int)steps;
  sim->motion.roots.share = ldexp(1.0, -halves);
  sim->values.context.roots = steps ? &sim->motion.roots : NULL;
  sim->values.flow_context.roots = sim->values.context.roots;
}

SltStatus eng_chords_prepare_slow(EngSim* sim) {
  EngMethods* motion = &sim->motion;
  const ModelMode* mode = sim->core.mode;
  uint32_t n = mode->state_count;
  // for the largest of them, and for modes beside this one, which are not much larger
  size_t registers = (size_t)mode->rhs.reg_count + mode->full.reg_count + mode->gdot.reg_count;
  if (sim->stiff.ready && sim->stiff.present) registers += sim->stiff.present->jacobian.reg_count;
  SLT_TRY(ENG_GROW(sim, motion->tolerance, sim->values.n_max));
  SLT_TRY(ENG_GROW(sim, motion->roots.room, 2 * registers));
  for (uint32_t i = 0; i < n; i++) {
    motion->tolerance[i] = eng_state_weight(sim, i, sim->stepper->x[i]);
  }
  model_roots_share(&mode->rhs, motion->tolerance);
  motion->roots.tolerance = motion->tolerance;
  motion->roots.capacity = ENG_ROOM(motion->roots.room);
  motion->roots.state_count = n;
  uint32_t steps = sim->core.step.chords;
  eng_chords_use(sim, steps + (steps < PASSING + WIDENING));
  motion->roots.nearest = (double)INFINITY;
  SltStatus status = eng_rhs(sim, sim->stepper->t, sim->stepper->x, sim->probe.flow);
  if (status >= 0 && motion->roots.nearest > FAR_ENOUGH) eng_chords_use(sim, 0);
  return SLT_OK;
}

bool eng_chords_begin(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  NumStepper* stepper = sim->stepper;
  if (sim->core.step.chords || !model_program_has_roots(&mode->rhs)) return false;
  if (eng_chords_prepare_slow(sim) < 0 || !sim->core.step.chords) return false;
  num_stepper_restart(stepper, stepper->t, stepper->n, NULL, NULL);
  return true;
}

bool eng_chords_reach(EngSim* sim) {
  sim->motion.roots.strict = true;
  SltStatus status = eng_rhs(sim, sim->stepper->trial.t, sim->stepper->trial.x, sim->probe.flow);
  sim->motion.roots.strict = false;
  return status >= 0 && eng_all_finite(sim->probe.flow, sim->stepper->n);
}
