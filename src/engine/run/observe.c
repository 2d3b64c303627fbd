// SPDX-License-Identifier: MIT
//
// What the sensitivities of a run ask of it.
#include "engine/run/run.h"

#include <string.h>

void eng_observe(EngSim* sim, const EngObserver* observer) {
  sim->report.observer = observer;
  // instants are looked at one by one, whatever they concern
  sim->local = NULL;
}

bool eng_cause(const EngSim* sim, uint32_t n, EngCause* out) {
  uint32_t located = sim->detect.crossing_count;
  uint32_t due = sim->events.due_count;
  if (n < located) {
    *out = (EngCause){.reason = ENG_REASON_LOCATED, .index = sim->detect.crossings[n].index};
  } else if (n < located + due) {
    uint32_t schedule = sim->events.due[n - located];
    // it is counted already
    *out = (EngCause){.reason = ENG_REASON_SCHEDULE,
                      .index = schedule,
                      .number = sim->instant.schedules[schedule].fired - 1};
  } else if (n == located + due && sim->core.exit.pending) {
    *out = (EngCause){.reason = ENG_REASON_EXIT, .index = sim->core.exit.surface};
  } else {
    *out = (EngCause){.reason = ENG_REASON_ARRIVAL};
    return n == located + due + sim->core.exit.pending &&
           eng_history_arrives(sim, sim->core.t, &out->index, &out->origin);
  }
  return true;
}

EngMotion eng_motion(const EngSim* sim) {
  if (sim->core.contact.active) return ENG_MOTION_CONTACT;
  return sim->core.slide.count ? ENG_MOTION_SLIDING : ENG_MOTION_MODE;
}

static SltStatus bind_motion(EngSim* sim) {
  eng_bind(sim);
  if (sim->core.contact.active) SLT_TRY(eng_contact_rebind(sim));
  return sim->core.slide.count ? eng_slide_rebind(sim) : SLT_OK;
}

/// The right side and convex coefficients with the environment as it is.
static SltStatus flow_here(EngSim* sim, double t, const double* x, double* dx, double* alpha) {
  SLT_TRY(eng_rhs(sim, t, x, dx));
  if (!alpha) return SLT_OK;
  double kept = sim->core.t;
  sim->core.t = t;
  if (sim->core.mode->state_count) memcpy(sim->x, x, sim->core.mode->state_count * sizeof *x);
  bool known = eng_slide_coefficients(sim, alpha);
  sim->core.t = kept;
  return known ? SLT_OK : SLT_ERR_STEP;
}

SltStatus eng_flow(EngSim* sim, double t, const double* x, const double* env, double* dx,
                   double* alpha) {
  if (!env) return flow_here(sim, t, x, dx, alpha);
  size_t size = sim->model->env_count * sizeof(double);
  double* kept = base_alloc(&sim->options.allocator, size);
  if (!kept) return SLT_ERR_NOMEM;
  memcpy(kept, sim->env, size);
  memcpy(sim->env, env, size);
  SltStatus status = bind_motion(sim);
  if (status >= 0) status = flow_here(sim, t, x, dx, alpha);
  memcpy(sim->env, kept, size);
  base_free(&sim->options.allocator, kept, size);
  SltStatus back = bind_motion(sim);
  return status < 0 ? status : back;
}

uint32_t eng_surface_count(const EngSim* sim) {
  return sim->core.slide.count;
}

uint32_t eng_surface_indicator(const EngSim* sim, uint32_t i) {
  return sim->sliding.value.surfaces[i].index;
}

const ModelContext* eng_flow_context(const EngSim* sim) {
  return &sim->values.flow_context;
}

bool eng_param_given(const EngSim* sim, uint32_t param) {
  return !isnan(sim->values.params_given[param]);
}

bool eng_start_given(const EngSim* sim, uint32_t start) {
  return sim->values.starts_given && !isnan(sim->values.starts_given[start]);
}
