// SPDX-License-Identifier: MIT
//
// The values that resets read are known up to rounding, like those of guards: what they compare is
// judged accordingly, so that an `at` that falls on a crossing sees the truth of its instant.
#include "engine/run/run.h"

/// Half widths of everything that the equations compute from the states, for the present values.
static const double* computed_widths(EngSim* sim) {
  EventsRounding* r = &sim->events.rounding;
  const ModelMode* mode = sim->core.mode;
  bool known = r->mode == mode && r->t == sim->core.t && r->changes == sim->core.changes;
  if (known) return r->widths;
  r->mode = NULL;
  if (ENG_GROW(sim, r->widths, mode->full.output_count) < 0 ||
      ENG_GROW(sim, r->off, mode->state_count) < 0 ||
      ENG_GROW(sim, r->room, model_program_spread_room(&mode->full)) < 0) {
    return NULL;
  }
  for (uint32_t i = 0; i < mode->state_count; i++) {
    r->off[i] = eng_state_rounding(sim, i);
  }
  model_program_spread(&mode->full, eng_context(sim), sim->env, eng_rounded_time(sim), sim->x,
                       r->off, 0.0, r->widths, r->room);
  r->mode = mode;
  r->t = sim->core.t;
  r->changes = sim->core.changes;
  return r->widths;
}

/// By how much rounding may have moved a value of the environment.
static double rounding_of(void* user, uint32_t env) {
  EngSim* sim = user;
  if (env >= sim->model->env_count) env -= sim->model->env_count;             // pre(x)
  if (env < sim->values.var_begin || env >= sim->values.var_end) return 0.0;  // of no variable
  uint32_t state = eng_state_place(sim, env);
  if (state != MODEL_NONE) return eng_state_rounding(sim, state);
  if (!sim->values.computed[env]) return 0.0;
  const double* widths = computed_widths(sim);
  uint32_t i = widths ? eng_output_place(sim->core.mode, env) : MODEL_NONE;
  return i != MODEL_NONE && isfinite(widths[i]) ? widths[i] : 0.0;
}

double events_eval(EngSim* sim, const ModelTerm* term) {
  EventsRounding* r = &sim->events.rounding;
  uint32_t regs = sim->model->scratch_regs;
  // out of memory: the next allocation of the instant says so
  if (!term->shape->steps || ENG_GROW(sim, r->bounds, regs) < 0) {
    return eng_eval(sim, term);
  }
  ModelRounding rounding = {eng_rounded_time(sim), sim->values.var_begin, rounding_of, sim};
  return model_term_rounded(term, eng_context(sim), sim->model->numbers, sim->env, sim->core.t,
                            &rounding, sim->values.scratch, r->bounds);
}
