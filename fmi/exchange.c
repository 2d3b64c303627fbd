// SPDX-License-Identifier: MIT
//
// An instance whose importer integrates: model exchange. Time and states are kept as the importer
// sets them, one after the other, and told to the run when something is asked for.
#include "instance.h"

#include <math.h>

static bool fits(Instance* instance, size_t count) {
  return count == instance->variables.state_count ||
         instance_fail(instance, "there are %u continuous states, not %zu",
                       instance->variables.state_count, count);
}

/// What the model makes of a state: 0 while the mode computes it; one that nothing determines keeps
/// what it was.
static double state_value(const Instance* instance, uint32_t i) {
  SltQuantity state = instance->variables.moving[i];
  if (slt_sim_exchange_computes(instance->sim, state)) return 0.0;
  double value = slt_sim_get(instance->sim, state);
  return isfinite(value) ? value : instance->x[i];
}

static void take_states(Instance* instance, double* x) {
  for (uint32_t i = 0; i < instance->variables.state_count; i++)
    x[i] = state_value(instance, i);
}

/// A state with a name of the model has to be one in every mode: whoever integrates takes its value
/// for that of the name.
static bool check_mode(Instance* instance) {
  const FmuVariables* variables = &instance->variables;
  for (uint32_t i = 0; i < variables->state_count; i++) {
    const FmuVariable* v = &variables->items[variables->states[i]];
    if (v->role == FMU_HIDDEN) continue;
    if (!slt_sim_exchange_computes(instance->sim, variables->moving[i])) continue;
    instance->phase = PHASE_FAILED;
    return instance_fail(instance,
                         "the mode entered at t = %.9g computes %s, which was integrated in all "
                         "modes that were followed when the model was exported; export it for "
                         "co-simulation",
                         instance->t, v->name);
  }
  return true;
}

bool instance_exchange_begin(Instance* instance) {
  const FmuVariables* variables = &instance->variables;
  SltStatus status =
      slt_sim_exchange_begin(instance->sim, variables->moving, variables->state_count,
                             isnan(instance->rtol) ? 0.0 : instance->rtol);
  if (status < 0) {
    return instance_fail(instance, "model exchange is not possible: %s", slt_status_text(status));
  }
  instance->t = slt_sim_time(instance->sim);
  instance->moved = false;
  take_states(instance, instance->x);
  return check_mode(instance);
}

bool instance_move(Instance* instance) {
  instance->moved = false;
  SltStatus status = slt_sim_exchange_point(instance->sim, instance->t, instance->x);
  return status >= 0 || instance_fail(instance, "there is no such point");
}

bool instance_set_time(Instance* instance, double t) {
  if (!instance->sim || !isfinite(t)) return instance_fail(instance, "the time cannot be set");
  instance->t = t;
  instance->moved = true;
  return true;
}

bool instance_set_states(Instance* instance, const double* x, size_t count) {
  if (!fits(instance, count) || !instance->sim) return false;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) return instance_fail(instance, "continuous states must be finite");
  }
  for (size_t i = 0; i < count; i++)
    instance->x[i] = x[i];
  instance->moved = true;
  return true;
}

/// Begin the run in the midst of initialization, and tell it where the importer is.
static bool is_there(Instance* instance) {
  if (!instance->sim && !(instance->initializing && instance_start(instance))) {
    return instance_fail(instance, "the run has not begun");
  }
  return !instance->moved || instance_move(instance);
}

bool instance_get_states(Instance* instance, double* x, size_t count) {
  if (!fits(instance, count) || !is_there(instance)) return false;
  take_states(instance, x);
  return true;
}

bool instance_get_nominals(Instance* instance, double* x, size_t count) {
  if (!fits(instance, count)) return false;
  for (size_t i = 0; i < count; i++) {
    double start = instance->variables.items[instance->variables.states[i]].start;
    x[i] = isfinite(start) && start != 0.0 ? fabs(start) : 1.0;
  }
  return true;
}

InstanceAnswer instance_get_rates(Instance* instance, double* rates, size_t count) {
  if (!fits(instance, count) || !is_there(instance)) return ANSWER_FAILED;
  return slt_sim_exchange_rates(instance->sim, rates) < 0 ? ANSWER_DISCARD : ANSWER_GOOD;
}

InstanceAnswer instance_get_indicators(Instance* instance, double* z, size_t count) {
  if (!is_there(instance)) return ANSWER_FAILED;
  if (slt_sim_exchange_indicators(instance->sim, z, (uint32_t)count) < 0) {
    instance_fail(instance, "there are %u event indicators", instance->variables.indicator_count);
    return ANSWER_FAILED;
  }
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(z[i])) return ANSWER_DISCARD;
  }
  return ANSWER_GOOD;
}

bool instance_step_done(Instance* instance, bool* event) {
  *event = false;
  if (!is_there(instance)) return false;
  if (instance->phase != PHASE_RUNNING) return instance->phase == PHASE_STOPPED;
  return slt_sim_exchange_step(instance->sim, event) >= 0 || instance_fail_run(instance);
}

bool instance_exchange_event(Instance* instance, InstanceEvent* out) {
  *out = (InstanceEvent){.next = (double)INFINITY};
  if (!is_there(instance)) return false;
  out->stopped = instance->phase == PHASE_STOPPED;
  if (instance->phase != PHASE_RUNNING) return out->stopped;
  SltStatus status = slt_sim_exchange_event(instance->sim, &out->next, &out->changed);
  if (status == SLT_ERR_UNSUPPORTED && slt_sim_error(instance->sim).status >= 0) {
    instance->phase = PHASE_FAILED;
    return instance_fail(
        instance,
        "the mode entered at t = %.9g integrates what no mode did that was followed "
        "when the model was exported; export it for co-simulation",
        instance->t);
  }
  if (status < 0) return instance_fail_run(instance);
  out->stopped = status == SLT_END;
  if (out->stopped) instance->phase = PHASE_STOPPED;
  for (uint32_t i = 0; i < instance->variables.state_count; i++) {
    double value = state_value(instance, i);
    if (value == instance->x[i]) continue;
    instance->x[i] = value;
    out->changed = true;
  }
  return check_mode(instance);
}
