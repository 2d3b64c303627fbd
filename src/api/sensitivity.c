// SPDX-License-Identifier: MIT
//
// Sensitivities of a run through the public interface.
#include "api/handles.h"
#include "sensitivity/sensitivity.h"

#include <saltus/saltus_experiment.h>

#include <stdlib.h>
#include <string.h>

_Static_assert(SLT_SENSITIVITY_NODES == SENSITIVITY_NODES, "the same nodes");

struct SltSensitivity {
  Sensitivity* own;
  const Model* model;
  uint32_t count;
};

static SltStatus find_parameter(const SltSim* sim, const SltSensitivityParameter* given,
                                SensitivityParameter* out) {
  SltQuantity q;
  if (!given->name) return SLT_ERR_ARGUMENT;
  SLT_TRY(slt_sim_find(sim, given->name, &q));
  bool variable = q.kind == SLT_KIND_VARIABLE || q.kind == SLT_KIND_DERIVATIVE;
  if (given->initial ? !variable : q.kind != SLT_KIND_CONSTANT) return SLT_ERR_NOT_FOUND;
  *out = (SensitivityParameter){given->initial, q.index, given->initial ? q.order : 0};
  return SLT_OK;
}

SltStatus slt_sensitivity_create(SltSim* sim, const SltSensitivityParameter* parameters,
                                 uint32_t count, SltSensitivity** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!sim || !parameters || count == 0 || eng_is_started(sim->engine)) return SLT_ERR_ARGUMENT;
  SensitivityParameter* found = calloc(count, sizeof *found);
  SltSensitivity* s = calloc(1, sizeof *s);
  SltStatus status = found && s ? SLT_OK : SLT_ERR_NOMEM;
  for (uint32_t i = 0; status >= 0 && i < count; i++)
    status = find_parameter(sim, &parameters[i], &found[i]);
  if (status >= 0) status = sensitivity_create(sim->engine, found, count, &s->own);
  free(found);
  if (status < 0) {
    free(s);
    return status;
  }
  s->model = sim->model;
  s->count = count;
  *out = s;
  return SLT_OK;
}

void slt_sensitivity_free(SltSensitivity* sensitivity) {
  if (!sensitivity) return;
  sensitivity_free(sensitivity->own);
  free(sensitivity);
}

SltStatus slt_sensitivity_stretch(SltSensitivity* sensitivity, double until) {
  return sensitivity ? sensitivity_stretch(sensitivity->own, until) : SLT_ERR_ARGUMENT;
}

double slt_sensitivity_node(const SltSensitivity* sensitivity, uint32_t node, double* weight) {
  *weight = 0.0;
  if (!sensitivity || node >= SENSITIVITY_NODES) return 0.0;
  return sensitivity_node(sensitivity->own, node, weight);
}

SltStatus slt_sensitivity_get(SltSensitivity* sensitivity, SltWhen when, SltQuantity q,
                              double* out) {
  if (!sensitivity || !out || (unsigned)when > SLT_WHEN_AFTER) return SLT_ERR_ARGUMENT;
  Sensitivity* s = sensitivity->own;
  SensitivityWhen at = when == SLT_WHEN_NOW      ? SENSITIVITY_NOW
                       : when == SLT_WHEN_BEFORE ? SENSITIVITY_BEFORE
                                                 : SENSITIVITY_AFTER;
  bool known = false;
  memset(out, 0, sensitivity->count * sizeof *out);
  switch (q.kind) {
  case SLT_KIND_VARIABLE:
  case SLT_KIND_DERIVATIVE: known = sensitivity_of_variable(s, at, q.index, q.order, out); break;
  case SLT_KIND_CONSTANT: known = sensitivity_of_constant(s, q.index, out); break;
  case SLT_KIND_MACRO:
    known = sensitivity_of_term(s, at, &sensitivity->model->macros[q.index].value, out);
    break;
  case SLT_KIND_TIME:
    if (when != SLT_WHEN_NOW) return slt_sensitivity_time(sensitivity, out);
    known = true;
    break;
  case SLT_KIND_MODE:
  default: return SLT_ERR_ARGUMENT;
  }
  return known ? SLT_OK : SLT_ERR_UNSUPPORTED;
}

SltStatus slt_sensitivity_time(const SltSensitivity* sensitivity, double* out) {
  if (!sensitivity || !out) return SLT_ERR_ARGUMENT;
  memcpy(out, sensitivity_of_time(sensitivity->own), sensitivity->count * sizeof *out);
  return sensitivity_gap(sensitivity->own) ? SLT_ERR_UNSUPPORTED : SLT_OK;
}

const char* slt_sensitivity_gap(const SltSensitivity* sensitivity) {
  return sensitivity ? sensitivity_gap(sensitivity->own) : NULL;
}
