// SPDX-License-Identifier: MIT
//
// What an instant did to things nobody asked it to change: variables that are left without an
// equation, and the energy that the model declares.
#include "engine/run/run.h"

#include <math.h>

#define ENERGY_GAIN 1e-6  // relative to the largest energy so far: less is rounding and location

static double energy_now(EngSim* sim) {
  return eng_eval(sim, sim->model->energy);
}

void eng_audit_begin(EngSim* sim) {
  EngAudit* audit = &sim->core.audit;
  audit->before = energy_now(sim);
  audit->motion += audit->before - audit->now;
}

static void warn_of_energy(EngSim* sim, double gain) {
  EngAudit* audit = &sim->core.audit;
  if (!sim->report.to.on_warning || audit->warned) return;
  audit->warned = true;
  char path[600];
  eng_trace_path(sim, 0, path, sizeof path);
  eng_warn(sim, DIAG_W0826, sim->model->energy_span,
           "at t = %s an event creates energy: %s becomes %s, %s more (%s)",
           eng_short(sim->core.t).text, eng_short(audit->before).text, eng_short(audit->now).text,
           eng_short(gain).text, path[0] ? path : "no transition");
}

static void audit_energy(EngSim* sim, bool initial) {
  EngAudit* audit = &sim->core.audit;
  audit->now = energy_now(sim);
  if (initial) {
    audit->start = audit->now;
    audit->before = audit->now;
  }
  audit->largest = fmax(audit->largest, fmax(fabs(audit->before), fabs(audit->now)));
  double gain = audit->now - audit->before;
  audit->events += gain;
  double tolerance = fmax(ENERGY_GAIN, 1e3 * sim->options.rtol) * audit->largest;
  if (!(gain > tolerance)) return;
  audit->gained += gain;
  warn_of_energy(sim, gain);
}

/// Whether a variable that nothing determines is read by equations, and not by intent: helpers of a
/// front end keep their last value because it says so.
static bool is_held(const EngSim* sim, uint32_t var) {
  const ModelVarMode* mode = &sim->core.mode->vars[var];
  return mode->role == MODEL_ROLE_UNDETERMINED && mode->loose && !sim->model->vars[var].hidden;
}

/// Equations go on to read what keeps its value: say so once for each mode.
static void warn_of_held(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (!sim->report.to.on_warning || mode->held_count == 0 || !eng_warn_once(sim, ENG_WARNED_HELD))
    return;
  EngNames held = {.count = 0};
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    if (is_held(sim, v)) eng_names_add(&held, &sim->model->vars[v]);
  }
  if (held.count == 0) return;
  char names[ENG_NAMES_LENGTH];
  char state[300];
  eng_names_text(&held, names);
  eng_describe_mode(sim, sim->state, state, sizeof state);
  eng_warn(sim, DIAG_W0825, held.first[0]->span,
           "from t = %s on nothing determines %s in mode %s; the equations that read %s use the "
           "last value",
           eng_short(sim->core.t).text, names, state, held.count == 1 ? "it" : "them");
}

void eng_audit_end(EngSim* sim, bool initial) {
  if (sim->model->energy) audit_energy(sim, initial);
  warn_of_held(sim);
}

double eng_energy_since(EngSim* sim) {
  return sim->core.started ? energy_now(sim) - sim->core.audit.now : 0.0;
}
